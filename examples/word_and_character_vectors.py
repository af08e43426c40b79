"""Tags words by their ELMo vectors combined with pretrained word vectors.

    python examples/word_and_character_vectors.py
    python examples/word_and_character_vectors.py --elmo FOLDER --vectors FILE

ELMo sees a word's characters and its sentence. Word vectors (GloVe, word2vec or
fastText) were trained on more text than any biLM. Here both are frozen and
concatenated, and a BiLSTM reads them. The model takes strings, so the saved
model is self-contained.

FILE is text: a word and its numbers in each line. To make one of word2vec's
binary file, use gensim: `KeyedVectors.load_word2vec_format(file, binary=True)`
and `save_word2vec_format(text)`.

The data is a few sentences in Chinese, with the part-of-speech tags of the
Chinese Treebank: for real use, pass a Chinese model and Chinese vectors. By
default, the model is English and the vectors are random. The model takes
strings, so it needs the TensorFlow backend.
"""

import argparse

import keras_elmo.quiet_start  # First, so that TensorFlow imports quietly.

# isort: split

import keras
import numpy as np
import tensorflow as tf

import keras_elmo

TAGGED = """\
我/PN 今天/NT 去/VV 天津/NR 上学/VV
他/PN 昨天/NT 去/VV 北京/NR
我/PN 明天/NT 上学/VV
她/PN 今天/NT 来/VV 上海/NR
他/PN 来/VV 天津/NR 上学/VV
北京/NR 明天/NT 下雨/VV"""
SENTENCE = "我 今天 去 天津 上学"


def main(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--elmo", default="english_mini", help="name or folder of a preset; "
        "default: english_mini, which ships with the package")  # fmt: skip
    add("--vectors", metavar="FILE", help="text file of word vectors")
    add("--limit", type=int, help="how many words to read from the file")
    add("--epochs", type=int, default=40, help="default: 40")
    add("--seed", type=int, default=0, help="default: 0")
    add("--save", help=".keras file to save the trained model to")
    options = parser.parse_args(argv)

    keras.utils.set_random_seed(options.seed)
    pairs = [
        [token.split("/") for token in line.split()]
        for line in TAGGED.splitlines()
    ]
    tags = sorted({tag for sentence in pairs for _, tag in sentence})
    if options.vectors:
        words, vectors = read_vectors(options.vectors, options.limit)
    else:
        words = sorted({word for sentence in pairs for word, _ in sentence})
        generator = np.random.default_rng(0)
        vectors = generator.normal(size=(len(words), 100)).astype("float32")
    print(f"{len(words):,} words have vectors of size {vectors.shape[1]}.")

    elmo = keras_elmo.ElmoLayer.from_preset(options.elmo)
    model = build(elmo, words, vectors, len(tags))
    # Padding has the tag -1.
    loss = keras.losses.SparseCategoricalCrossentropy(ignore_class=-1)
    model.compile("adam", loss)
    x = padded([[word for word, _ in s] for s in pairs])
    y = np.full(x.shape, -1)
    for i, sentence in enumerate(pairs):
        y[i, : len(sentence)] = [tags.index(tag) for _, tag in sentence]
    model.fit(x, y, epochs=options.epochs, verbose=0)

    tokens = padded([SENTENCE.split()])
    for layer in ("elmo", "word_vectors", "side_by_side", "bilstm"):
        part = keras.Model(model.input, model.get_layer(layer).output)
        print(f"{layer:12}  {tuple(part(tokens).shape)}")
    best = np.argmax(model(tokens)[0], axis=-1)
    found = zip(SENTENCE.split(), best)
    print(" ".join(f"{word}/{tags[tag]}" for word, tag in found))
    if options.save:
        model.save(options.save)


def read_vectors(path, limit=None):
    """Reads a text file of GloVe, word2vec or fastText.

    Args:
        path: Path of the file: a word and its numbers in each line.
        limit: Integer, how many words to read. All by default.

    Returns:
        The list of words, and their vectors, a float32 array `(words, dim)`.
    """
    vectors, dim = {}, 0
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            fields = line.rstrip().split(" ")
            if number == 1 and len(fields) == 2:
                continue  # word2vec's first line: how many words, which size.
            dim = dim or len(fields) - 1
            word = " ".join(fields[:-dim])  # GloVe has words with spaces.
            try:
                vector = np.array(fields[-dim:], "float32").reshape(dim)
            except ValueError as error:
                raise ValueError(f"'{path}', line {number}: {error}") from error
            vectors.setdefault(word, vector)
            if len(vectors) == limit:
                break
    return list(vectors), np.stack(list(vectors.values()))


def build(elmo, words, vectors, num_tags, units=64):
    """Builds a tagger that reads ELMo and pretrained word vectors.

    Args:
        elmo: An `ElmoLayer`. Its output is named `elmo` in the model.
        words: List of strings, the words that have vectors.
        vectors: Array `(words, dim)`.
        num_tags: Integer, the number of tags.
        units: Integer, the units of the LSTM in each direction.

    Returns:
        A model from tokens, strings `(batch, time)` padded with "", to tag
        probabilities `(batch, time, num_tags)`.
    """
    tokens = keras.Input((None,), dtype="string", name="tokens")
    vectorization = elmo.token_encoder.make_vectorization()
    from_characters = keras.layers.Identity(name="elmo")(
        elmo(vectorization(tokens))
    )  # (batch, time, 2 * projection)

    # 0 is padding, 1 any word without a vector, which gets the mean vector.
    numbers = keras.layers.StringLookup(vocabulary=words, mask_token="")
    table = np.concatenate(
        [np.zeros_like(vectors[:1]), vectors.mean(0, keepdims=True), vectors]
    )
    embedding = keras.layers.Embedding(
        *table.shape, mask_zero=True, trainable=False, name="word_vectors"
    )
    embedding.build()
    embedding.set_weights([table])
    from_words = embedding(numbers(tokens))  # (batch, time, dim)

    x = keras.layers.Concatenate(name="side_by_side")(
        [from_words, from_characters]
    )
    lstm = keras.layers.LSTM(units, return_sequences=True)
    x = keras.layers.Bidirectional(lstm, name="bilstm")(x)
    outputs = keras.layers.Dense(num_tags, "softmax", name="tags")(x)
    return keras.Model(tokens, outputs)


def padded(sentences):
    """Lists of words as a string tensor `(batch, time)`, padded with ""."""
    return tf.ragged.constant(sentences, dtype=tf.string).to_tensor("")


if __name__ == "__main__":
    main()
