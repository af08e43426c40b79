"""Named entity recognition (NER): a BiLSTM-CRF tagger on frozen ELMo vectors.

    python examples/ner.py
    python examples/ner.py --text "Ann Lee works for Acme Tools in Paris ."
    python examples/ner.py --train train.conll --dev dev.conll --output my_ner

Reads files in CoNLL format: one word per line, with its tag in the last column,
and a blank line after each sentence. Tags are BIO, or IOB1 as in CoNLL-2003.
The vectors are computed once; then the layers after ELMo are trained on them.
Prints the entity F1 on --dev, tags --text, and writes to the folder --output:

    ner.keras    the tagger, for keras_elmo.Tagger.load and keras-elmo tag
    served/1     a SavedModel for TensorFlow Serving, from sentences to words
                 and the names of their tags

Without arguments it uses examples/ner_data: 329 sentences with persons (PER),
places (LOC) and organizations (ORG). This takes a minute on two cores.
"""

import argparse
import pathlib
import re
import sys

import keras_elmo.quiet_start  # First, so that TensorFlow imports quietly.

# isort: split

import keras
import tensorflow as tf

import keras_elmo

DATA = pathlib.Path(__file__).parent / "ner_data"


def main(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--train", default=DATA / "train.conll", help="training file")
    add("--dev", default=DATA / "dev.conll", help="held-out file to score on")
    add("--elmo", default="english_mini", help="name or folder of a preset; "
        "default: english_mini, which ships with the package")  # fmt: skip
    add("--epochs", type=int, default=15, help="default: 15")
    add("--output", default="ner", help="folder to write to; default: ner")
    add("--text", default="Theresa Okafor left Acme Tools for Lisbon .",
        help="sentence to tag, split on spaces")  # fmt: skip
    options = parser.parse_args(argv)

    words, tags = read_conll(options.train)
    dev_words, dev_tags = read_conll(options.dev)
    names = {name for sentence in tags + dev_tags for name in sentence}
    names = ["O", *sorted(names - {"O"})]
    elmo = keras_elmo.ElmoLayer.from_preset(options.elmo, name="elmo")
    embedder = keras_elmo.ElmoEmbedder(elmo, layers="mix")
    keras.utils.set_random_seed(1)
    head, tagger = build(elmo, names)
    head.fit(
        batches(embedder, words, tags, names),
        validation_data=batches(embedder, dev_words, dev_tags, names),
        epochs=options.epochs,
        shuffle=False,  # `batches` does.
    )

    predict = keras_elmo.Tagger(tagger).predict
    print(f"{options.dev}:", score_entities(dev_tags, predict(dev_words)))
    sentence = options.text.split()
    (found,) = predict([sentence])
    print(*(f"{word}/{name}" for word, name in zip(sentence, found)))

    output = pathlib.Path(options.output)
    output.mkdir(parents=True, exist_ok=True)
    tagger.save(output / "ner.keras")
    served = output / "served/1"
    keras_elmo.export_saved_model(tagger, served)
    print(f"written: {output / 'ner.keras'} and {served}")


def build(elmo, names):
    """Builds two models that share the layers after ELMo.

    The first is trained: from ELMo's vectors to the scores of the CRF. The
    second is used: from ids of words to the best tags.
    """
    dropout = keras.layers.Dropout(0.5)
    lstm = keras.layers.LSTM(100, return_sequences=True)
    bilstm = keras.layers.Bidirectional(lstm)
    dense = keras.layers.Dense(len(names))
    crf = keras_elmo.CRF(len(names), tag_names=names, scheme="BIO")

    def scores(vectors, mask):
        x = dropout(bilstm(dropout(vectors), mask=mask))
        return crf(dense(x), mask=mask)

    ids = keras.Input((None, *elmo.token_encoder.token_shape), dtype="int32")
    decoder = keras_elmo.CRFDecoder(tag_names=names, name="tags")
    tags = decoder(scores(elmo(ids), elmo.compute_mask(ids)))
    tagger = keras.Model(ids, tags)

    vectors = keras.Input((None, 2 * elmo.encoder.output_dim))
    mask = keras.Input((None,), dtype="bool")
    head = keras.Model([vectors, mask], scores(vectors, mask))
    head.compile(
        keras.optimizers.Adam(0.003),
        loss=keras_elmo.CRFLoss(),
        metrics=[keras_elmo.CRFAccuracy()],
    )
    return head, tagger


def batches(embedder, words, tags, names, size=16):
    """Embeds sentences, and returns batches of sentences of similar length.

    ELMo is frozen, so its vectors are computed once, not in every epoch.

    Returns:
        A `tf.data.Dataset` of `((vectors, mask), tags)`, of shapes `(batch,
        time, width)`, `(batch, time)` and `(batch, time)`.
    """
    vectors = list(embedder.embed_sentences(words))
    numbers = [[names.index(name) for name in sentence] for sentence in tags]
    masks = [[True] * len(sentence) for sentence in words]
    rows = sorted(zip(vectors, masks, numbers), key=lambda row: len(row[1]))
    sentences = tf.data.Dataset.from_generator(
        lambda: (((vectors, mask), tags) for vectors, mask, tags in rows),
        output_signature=(
            (
                tf.TensorSpec((None, vectors[0].shape[-1]), tf.float32),
                tf.TensorSpec((None,), tf.bool),
            ),
            tf.TensorSpec((None,), tf.int32),
        ),
    )
    number = tf.data.experimental.assert_cardinality(len(rows))
    return sentences.apply(number).padded_batch(size).shuffle(len(rows), seed=1)


def read_conll(path):
    """Returns the words of each sentence, and their BIO tags."""
    words, tags = [[]], [[]]
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        columns = line.split()
        if not columns:
            words.append([])
            tags.append([])
            continue
        where = f"'{path}', line {number}:"
        if len(columns) == 1:
            raise ValueError(
                f"{where} a word must be followed by its tag. Received a row "
                f"with one column: {line!r}"
            )
        if not re.fullmatch(r"O|[BI]-.+", columns[-1]):
            raise ValueError(
                f"{where} the last column must be a tag: O, or a type after "
                f"B- or I-. Is this a comment? Received: {line!r}"
            )
        words[-1].append(columns[0])
        tags[-1].append(columns[-1])
    if not any(words):
        raise ValueError(f"'{path}' contains no sentences.")
    return [s for s in words if s], [as_bio(s) for s in tags if s]


def read_text(path):
    """Returns the text of a file in UTF-8."""
    content = pathlib.Path(path).read_bytes()
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"'{path}', line {line}: the text must be UTF-8. If it is Latin-1, "
            f"convert it with: iconv -f latin1 -t utf-8 {path} > utf8.conll"
        ) from error


def as_bio(tags):
    """Converts IOB1 tags, which have `B-` only between adjacent entities."""
    return [
        f"B-{name[2:]}" if name[:2] == "I-" and name[2:] != before[2:] else name
        for before, name in zip(["O", *tags], tags)
    ]


def score_entities(tags, predicted):
    """Returns the entity F1, and the numbers of entities."""
    gold, found = entities(tags), entities(predicted)
    right = len(gold & found)
    return {
        "f1": round(2 * right / max(1, len(gold) + len(found)), 3),
        "entities": len(gold),
        "found": len(found),
        "correct": right,
    }


def entities(tags):
    """Returns the entities of BIO tags: (sentence, start, end, type)."""
    return {
        (number, *entity)
        for number, sentence in enumerate(tags)
        for entity in keras_elmo.Tagger.entities(sentence)
    }


if __name__ == "__main__":
    try:
        main()
    except (OSError, ValueError) as error:
        sys.exit(f"error: {error}")
