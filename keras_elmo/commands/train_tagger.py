"""Trains a tagger on your own labelled sentences, for example for named
entities or parts of speech. ELMo is frozen and embeds the text once; a BiLSTM
and a CRF are trained on its vectors.

TRAIN has a word and its label in each line, separated by tabs or spaces, and
an empty line after each sentence; or it is CoNLL-U (.conllu). Before a
sentence, a line that begins with # is a comment, unless it has a word and a
label like the other lines. TRAIN may also be annotated text: .jsonl as doccano
and Prodigy write it, an object in each line, with "text" and "label", "labels",
"entities" or "spans", each of which is a list of objects or of [START, END,
TYPE], counted in characters; or .json, what Label Studio exports as JSON or
JSON-MIN. TRAIN is in UTF-8, plain or .gz.

Labels may be of any kind. If they mark entities in the scheme BIO, BIOES or
BIOUL, only labels of that scheme can be predicted; IOB1, as in CoNLL-2003, is
converted to BIO. Labels without a type, such as B and I, are BIO, too.

The command first prints what it has read. Compare the first sentence and the
labels with your file. After each epoch, the sentences of --dev are scored, by
entity F1 or by the accuracy of other labels. Training ends when the score has
not risen for six epochs, or for 200 updates if these are more epochs; or after
50 epochs. OUTPUT is the tagger of the best epoch. Ctrl-C ends the training. The
best tagger so far is then calibrated and written to OUTPUT.

The file of --word-vectors is a text file of GloVe, word2vec or fastText (.vec),
or a binary file of word2vec, plain or .gz. The first 400,000 words are read,
and OUTPUT contains their vectors: 106 MB if they have 100 numbers each. To keep
50,000, the most frequent ones, which take 13 MB, pass the result of
head -n 50000 glove.6B.100d.txt.

OUTPUT is one .keras file with everything that is needed: ELMo, the layers
after it, and the labels. It is written atomically.

[options]

examples:
  keras-elmo train-tagger train.conll ner.keras --dev dev.conll
  keras-elmo train-tagger NER-de-train.tsv ner.keras --word-column 2 --column 3
  keras-elmo train-tagger annotated.jsonl ner.keras
  keras-elmo evaluate ner.keras test.conll
  keras-elmo tag ner.keras corpus.txt tagged.conll
  keras-elmo export ner.keras ner.onnx

In Python, keras_elmo.Tagger.train does the same, and has more settings, such as
`epochs`.
"""

import os

from keras_elmo.commands import labelled_files

SUMMARY = "train a tagger on labelled sentences"


def add_arguments(parser):
    """Adds the arguments of `keras-elmo train-tagger`."""
    add = parser.add_argument
    add("train", metavar="TRAIN", help="the file of labelled sentences")
    add("output", metavar="OUTPUT", help="the .keras file to write")
    add(
        "--dev",
        metavar="FILE",
        help="labelled sentences to score after each epoch. Default: a tenth "
        "of TRAIN, on which the tagger is then not trained",
    )
    add("--test", metavar="FILE", help="labelled sentences to score at the end")
    labelled_files.add_arguments(add)
    labelled_files.add_training_arguments(add)
    add("--overwrite", action="store_true", help="replace OUTPUT if it exists")
    add("--quiet", action="store_true", help="show no progress or scores")


def run(arguments):
    """Runs `keras-elmo train-tagger`."""
    import keras

    from keras_elmo.tagging.tagger import Tagger
    from keras_elmo.tagging.tagger import writable_path
    from keras_elmo.tagging.tagger import write_tagger
    from keras_elmo.text.repeated_sentences import are_all_in
    from keras_elmo.text.repeated_sentences import warn_of_repeated

    say = (lambda _: None) if arguments.quiet else print
    # An error after the training would lose it.
    writable_path(arguments.output, arguments.overwrite)
    text, scheme = labelled_files.read(arguments.train, arguments)
    labelled_files.check_labels(text)
    say(labelled_files.describe(text, scheme))
    scored = {}
    for name in ("dev", "test"):
        if path := getattr(arguments, name):
            other, its_scheme = labelled_files.read(path, arguments)
            # The training itself compares those of --dev.
            labels = text.counts() if name == "test" else ()
            labelled_files.check_known(other, its_scheme, labels, scheme)
            its_scheme = scheme and (its_scheme or scheme)
            say(labelled_files.describe(other, its_scheme))
            scored[name] = other.words, other.tags
    dev, test = (scored.get(name, ((), ()))[0] for name in ("dev", "test"))
    warn_of_repeated(test, text.words, "test sentences", "TRAIN")
    warn_of_repeated(test, dev, "test sentences", "--dev")
    keras.utils.set_random_seed(arguments.seed)
    tagger = Tagger.train(
        text.words,
        text.tags,
        scored.get("dev"),
        elmo=arguments.elmo,
        word_vectors=arguments.word_vectors,
        max_labels=arguments.max_labels,
        verbose=0 if arguments.quiet else 1,
    )
    write_tagger(tagger, arguments.output, arguments.overwrite)
    for name, tagged in {} if arguments.quiet else scored.items():
        scores = tagger.evaluate(*tagged)
        title = getattr(arguments, name)
        if are_all_in(tagged[0], text.words):
            title = f"{title} (training sentences)"
        say(labelled_files.describe_scores(title, scores))
    size = os.path.getsize(arguments.output) / 1e6
    say(f"'{arguments.output}' ({size:,.1f} MB)")
