"""The names of a biLM's files in a folder or a zip, and of unsupported ones."""

OPTIONS = "options.json"
WEIGHTS = "weights.hdf5"
SOFTMAX = "softmax.hdf5"
VOCABULARY = "vocab.txt"
CHECKPOINT = "checkpoint"
TRAINING = "training.json"
MODEL_FILES = (OPTIONS, WEIGHTS, SOFTMAX, VOCABULARY)
VOCABULARIES = (VOCABULARY, f"{VOCABULARY}.gz")

# The array of a biLM that has a vector for each word of a vocabulary.
WORD_VECTORS = "embedding"
WORD_INPUT_IS_REFUSED = (
    "A model that looks up whole words in a vocabulary (word input) is not "
    "supported. Supported are models that compute a word's vector from its "
    "characters, as all published ones do: their options have 'char_cnn', and "
    "their weights 'char_embed'."
)
