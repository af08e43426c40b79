import functools
import gzip
import itertools
import json
import os
import pathlib
import re
import shlex
import shutil
from unittest import mock

import h5py
import numpy as np
import pytest
from doc_snippets import read_blocks
from doc_snippets import run_blocks
from small_models import make_elmo

import keras_elmo
from keras_elmo.commands.progress import ProgressDisplay
from keras_elmo.embedding import corpus_job
from keras_elmo.embedding import embedding_files
from keras_elmo.embedding.elmo_embedder import ElmoEmbedder
from keras_elmo.models.find_model import find_model

pytestmark = pytest.mark.usefixtures("portable_module")
TEXT = "The cat sat .\n\n\u00c9t\u00e9  \u4e2d\u6587\u4e2d\u6587\nThe end\n"
TOKENS = [line.split() for line in TEXT.splitlines()]
CONLLU = "1-2\tdu\t_\n1\tde\t_\n2\tle\t_\n\n1\tchat\t_\n"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """The folder of a small model's files."""
    folder = tmp_path_factory.mktemp("model")
    make_elmo().save_to_bilm(folder / "options.json", folder / "weights.hdf5")
    return folder


@pytest.fixture(scope="module")
def expected(model):
    """The vectors of `TOKENS`, each (3, tokens, 12)."""
    return list(ElmoEmbedder.from_preset(model).embed_sentences(TOKENS))


@pytest.fixture
def corpus(folder):
    """The file of `TEXT` in the current folder."""
    (folder / "corpus.txt").write_bytes(TEXT.encode())
    return folder / "corpus.txt"


@pytest.fixture
def embed(run):
    """A function that runs the command; returns what it prints."""

    def embed(model, *arguments, source="corpus.txt", output="out.hdf5"):
        return run("embed", model, source, output, *arguments).out

    return embed


def read(path="out.hdf5"):
    opened = np.load(path) if str(path).endswith("npz") else h5py.File(path)
    with opened as file:
        return [file[str(i)][...] for i in range(len(file) - 1)]


def check(arrays, expected, **tolerance):
    for array, vectors in zip(arrays, expected, strict=True):
        np.testing.assert_allclose(array, vectors, **tolerance)


def test_hdf5_as_allennlp_writes_it(model, corpus, expected, embed):
    out = embed(model)
    assert "4 sentences, 8 tokens in 'out.hdf5' (0.0 MB), " in out
    check(read(), expected)
    with h5py.File("out.hdf5") as file:
        index = json.loads(file["sentence_to_index"][0])
        texts = TEXT.splitlines()
        assert index == {text: str(i) for i, text in enumerate(texts)}
        assert file["1"].shape == (3, 0, 12)
        assert file["0"].dtype == "float32"
    assert sorted(os.listdir()) == ["corpus.txt", "out.hdf5"]


def test_layers_are_chosen(model, corpus, expected, embed):
    for layers, select in [
        ("0,2", lambda v: v[[0, 2]]),
        ("1", lambda v: v[1]),
        ("mix", lambda v: v.mean(0)),  # These files have no learned one.
    ]:
        embed(model, "--layers", layers, "--overwrite")
        check(read(), [select(v) for v in expected], rtol=1e-6, atol=1e-6)


def test_dtypes_and_a_model_of_two_files(model, corpus, expected, embed):
    names = model / "options.json", "--weights", model / "weights.hdf5"
    embed(*names, "--output-dtype", "float16")
    assert {array.dtype.name for array in read()} == {"float16"}
    check(read(), expected, rtol=1e-3, atol=1e-3)
    embed(*names, "--dtype", "mixed_bfloat16", output="half.npz")
    half = ElmoEmbedder.from_preset(model, dtype="mixed_bfloat16")
    check(read("half.npz"), half.embed_sentences(TOKENS))
    assert (read("half.npz")[0] != expected[0]).any()


def test_conllu_and_gzip(model, folder, embed):
    (folder / "dev").write_bytes(gzip.compress(CONLLU.encode()))
    embed(model, "--format", "conllu", source="dev")
    assert [array.shape for array in read()] == [(3, 2, 12), (3, 1, 12)]


def test_cropped_words_are_counted(model, corpus, embed, run):
    assert "1 tokens are too long and were cropped." in embed(model)
    corpus.write_text("short\n")
    assert "cropped" not in embed(model, "--overwrite")
    names = "embed", model, "corpus.txt", "out.hdf5"
    assert not any(run(*names, "--overwrite", "--quiet"))


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["latin.txt", "o.npz"], "in line 2, at byte 6"),
        (["corpus.txt", "old.npz"], "To replace it, pass --overwrite."),
        (["corpus.txt", "o.npz", "--layers", "7"], "--layers must be"),
    ],
)
def test_a_mistake_leaves_nothing(
    model, folder, corpus, fails, arguments, message
):
    (folder / "latin.txt").write_bytes(b"fine\nb\xffd\n")
    (folder / "old.npz").write_text("mine")
    before = sorted(os.listdir())
    assert message in fails("embed", model, *arguments)
    assert sorted(os.listdir()) == before


def fingerprint(*paths):
    return find_model(*paths).fingerprint()


def swap(content):
    """Gives the last two words of a list each other's numbers."""
    last = rb"(\S+)\t(\S+)\n(\S+)\t(\S+)\s*$"
    return re.sub(last, rb"\3\t\2\n\1\t\4\n", content)


@pytest.fixture(scope="module")
def models(model, shared, tmp_path_factory):
    """Folders of models, by their kind."""
    preset = tmp_path_factory.mktemp("preset") / "elmo"
    make_elmo().save_to_preset(preset)
    many_langs = shared / "reference/elmo_for_many_langs/char_and_word"
    return {"bilm": model, "many_langs": many_langs, "preset": preset}


@pytest.mark.parametrize(
    ("kind", "name", "change", "matters"),
    [
        ("bilm", "weights.hdf5", lambda x: x + b"x", True),
        ("bilm", "options.json", lambda x: x.replace(b"relu", b"tanh"), True),
        ("bilm", "options.json", lambda x: b"\n " + x, False),
        ("many_langs", "encoder.pkl", lambda x: b"other", True),
        ("many_langs", "token_embedder.pkl", lambda x: b"other", True),
        ("many_langs", "word.dic", swap, True),
        (
            "many_langs",
            "cnn_config.json",
            lambda x: x.replace(b"3", b"4"),
            True,
        ),
        ("preset", "config.json", lambda x: x + b" ", True),
        ("preset", "model.weights.h5", lambda x: x + b"x", True),
        ("preset", "metadata.json", lambda x: b"{}", False),
    ],
)
def test_a_fingerprint_is_of_all_that_is_read(
    models, folder, kind, name, change, matters
):
    before = fingerprint(models[kind])
    shutil.copytree(models[kind], "model", copy_function=shutil.copyfile)
    os.chmod("model", 0o755)
    assert fingerprint("model") == before
    path = folder / "model" / name
    content = path.read_bytes()
    assert change(content) != content
    path.write_bytes(change(content))
    assert (fingerprint("model") != before) == matters


def test_settings_tell_what_the_vectors_depend_on(
    model, corpus, monkeypatch, fails
):
    embed_corpus = mock.Mock(side_effect=ValueError("recorded"))
    monkeypatch.setattr(corpus_job, "embed_corpus", embed_corpus)

    def settings(*flags):
        fails("embed", model, "corpus.txt", "out.hdf5", *flags)
        passed = embed_corpus.call_args.kwargs
        return {**passed["settings"], "output_dtype": passed["output_dtype"]}

    defaults = settings("--quiet")
    how = {"layers": "all", "dtype": "float32", "quantize": None}
    text = {"format": "text", "language": None}
    others = {"model": fingerprint(model), "output_dtype": "float32"}
    assert defaults == {**how, **text, **others}
    for key, value in [
        ("layers", "top"),
        ("output_dtype", "float16"),
        ("dtype", "mixed_bfloat16"),
        ("quantize", "int8"),
        ("format", "conllu"),
    ]:
        found = settings(f"--{key.replace('_', '-')}", value)
        assert found == {**defaults, key: value}
    raw = {"format": "raw", "language": "de"}
    assert settings("--raw", "--language", "de") == {**defaults, **raw}


def test_the_page_of_the_docs(monkeypatch, run, capfd):
    """Runs its commands, the first with an interruption, and its code."""
    page = "docs/corpus.md"
    text, read, embedded = read_blocks(page, "text")
    pathlib.Path("corpus.txt").write_text(text)
    first, second = (
        shlex.split(block.replace("\\\n", ""))[1:]
        for block in read_blocks(page, "sh")
        if block.startswith("keras-elmo ")
    )
    blocks = read_blocks(page)[:3]

    embed_all = ElmoEmbedder.embed_sentences

    def embed_two(*arguments):
        yield from itertools.islice(embed_all(*arguments), 2)
        raise KeyboardInterrupt

    save_each = functools.partial(corpus_job.embed_corpus, save_tokens=1)
    with monkeypatch.context() as patch:
        patch.setattr(corpus_job, "embed_corpus", save_each)
        patch.setattr(ElmoEmbedder, "embed_sentences", embed_two)
        assert run(*first, status=130).err.endswith(
            "run the same command again to resume.\n"
        )
    assert os.path.isdir("corpus.hdf5.parts")
    assert run(*first).out.endswith("\n2 sentences were already embedded.\n")

    names = run_blocks(blocks[:1])
    assert capfd.readouterr().out == read
    run(*second, "--quiet")
    run_blocks(blocks[1:2], names)
    stated = blocks[1].partition("# ")[2]
    assert capfd.readouterr().out == stated
    run_blocks(blocks[2:3], names)
    assert capfd.readouterr().out == embedded
    # As the command, it divides at ASCII white space only.
    pathlib.Path("corpus.txt").write_text("a\u00a0b c\u3000d\n", "utf-8")
    run_blocks(blocks[2:3], names)
    assert capfd.readouterr().out == "(2, 512)\n"


@pytest.mark.parametrize("layers", ["bottom", "0,", "1.5"])
def test_layers_must_be_names_or_numbers(run, layers):
    shown = run("embed", "a", "b", "c", "--layers", layers, status=2)
    assert f"Received: {layers!r}" in shown.err


def test_a_model_that_is_not_needed_is_not_loaded(
    model, corpus, expected, monkeypatch, embed, run
):
    def stop(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setitem(embedding_files._WRITERS, ".hdf5", stop)
        run("embed", model, "corpus.txt", "out.hdf5", status=130)
    assert not os.path.exists("out.hdf5")
    monkeypatch.setattr(keras_elmo.ElmoLayer, "from_bilm", stop)
    out = embed(model)
    check(read(), expected)
    assert "4 sentences were already embedded." in out
    assert "tokens/s" not in out


def test_progress_knows_the_length_of_a_file(model, corpus, monkeypatch, run):
    show = functools.partial(ProgressDisplay, interval=0)
    monkeypatch.setattr("keras_elmo.commands.embed.ProgressDisplay", show)
    lines = run("embed", model, "corpus.txt", "o.npz").err.splitlines()
    shown = [line.split(" left, ")[-1] for line in lines if "sentence" in line]
    assert [line.split(",")[0] for line in shown] == [
        *(f"{i}/4 sentences" for i in range(1, 5)),
        *(f"{i} sentences written" for i in range(1, 5)),
    ]
