"""The names of a biLM's files in a folder or a zip."""

OPTIONS = "options.json"
WEIGHTS = "weights.hdf5"
SOFTMAX = "softmax.hdf5"
VOCABULARY = "vocab.txt"
CHECKPOINT = "checkpoint"
TRAINING = "training.json"
VOCABULARIES = (VOCABULARY, f"{VOCABULARY}.gz")
