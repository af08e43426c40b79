import errno
import functools
import itertools
import json
import os
import shutil
import warnings

import numpy as np
import pytest
from embedding.small_corpus import SETTINGS
from embedding.small_corpus import Embedder
from embedding.small_corpus import check
from embedding.small_corpus import make_sentences
from embedding.small_corpus import num_finished
from embedding.small_corpus import read
from embedding.small_corpus import run
from embedding.small_corpus import vectors_of

from keras_elmo.embedding import job_folder
from keras_elmo.embedding.job_folder import JobFolder
from keras_elmo.text.corpora import Sentence

SUFFIXES = [".hdf5", ".npz"]


@pytest.fixture
def output(tmp_path):
    return tmp_path / "vectors.hdf5"


def broken(sentences, after=0):
    """Embeds some sentences, and fails."""
    yield from itertools.islice(Embedder(ahead=1)(sentences), after)
    raise KeyboardInterrupt


def break_off(output, after=25):
    """Runs a job that fails in the middle; returns how much it keeps."""
    with pytest.raises(KeyboardInterrupt):
        run(output, embed=functools.partial(broken, after=after))
    return num_finished(output)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("ahead", [1, 7, 1000])
def test_every_sentence_gets_its_own_vectors(output, suffix, ahead):
    output = output.with_suffix(suffix)
    embed, calls, merged = Embedder(ahead), [], []

    def watch(*call):
        calls.append(call)
        # The memory does not grow with the corpus.
        assert embed.num_read - call[0] < ahead

    done, kept = run(
        output, embed=embed, on_progress=watch, on_merge=merged.append
    )
    check(output)
    lengths = [len(s.tokens) for s in make_sentences()]
    assert calls == [(i + 1, sum(lengths[: i + 1]), False) for i in range(40)]
    assert merged == list(range(1, 41))
    assert done[:2] == (40, sum(lengths))
    assert kept[:2] == (0, 0)
    assert os.listdir(output.parent) == [output.name]


EMPTY, WORD = Sentence(" ", []), Sentence("a", ["a"])


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("sentences", [[], [EMPTY], [EMPTY] * 50, [WORD]])
def test_hardly_anything(output, suffix, sentences):
    output = output.with_suffix(suffix)
    done, _ = run(output, iter(sentences))
    check(output, sentences)
    assert done[:2] == (len(sentences), sum(len(s.tokens) for s in sentences))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_odd_text_in_half_precision(output, suffix):
    output = output.with_suffix(suffix)
    texts = ["\0a\0", "\udfff\ud800", "\u2028\x85 c\r", '"\\\U0001f600', "a\tb"]
    sentences = [Sentence(text, text.split(" ")) for text in texts]
    run(output, sentences, output_dtype="float16")
    check(output, sentences)
    assert {array.dtype for array in read(output)[0]} == {np.dtype("float16")}


def test_what_is_done_is_saved_after_the_tokens_asked(output):
    lengths = [len(s.tokens) + 1 for s in make_sentences()]
    saved = set()
    run(output, on_progress=lambda *_: saved.add(num_finished(output)))
    assert len(saved) > 5
    for start, end in itertools.pairwise(sorted(saved)):
        assert sum(lengths[start:end]) >= 14 > sum(lengths[start : end - 1])


def test_float16_may_overflow_and_then_warns_once(output):
    def large(sentences):
        return (vectors_of(tokens) * 1000 for tokens in sentences)

    with pytest.warns(UserWarning, match="65504") as record:
        run(output, embed=large, output_dtype="float16")
    assert len(record) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(output, embed=large, overwrite=True)


@pytest.mark.parametrize("number", [40, 60])
def test_a_broken_job_goes_on_where_it_was(output, number):
    """More sentences may come at the end."""
    kept = break_off(output)
    assert 15 < kept <= 25 and not output.exists()
    # What a kill left after the finished part is cut off.
    with open(f"{output}.parts/vectors", "ab") as file:
        file.write(b'["half a sen')
    # The folder may be moved with its job.
    moved = output.with_name("moved.hdf5")
    shutil.move(f"{output}.parts", f"{moved}.parts")
    embed, calls = Embedder(), []
    sentences = make_sentences(number)
    done, found = run(
        moved, sentences, embed, on_progress=lambda *c: calls.append(c)
    )
    check(moved, sentences)
    assert embed.num_read == number - kept
    totals = [0, *itertools.accumulate(len(s.tokens) for s in sentences)]
    assert done[:2] == (number, totals[number])
    assert found[:2] == (kept, totals[kept])
    assert calls == [(i, totals[i], i == kept) for i in range(kept, number + 1)]
    assert os.listdir(output.parent) == ["moved.hdf5"]


VECTOR = vectors_of(["w1.0"]).tobytes()


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: content.replace(b"w", b"v"),
        lambda content: content.replace(VECTOR, bytes(len(VECTOR))),
    ],
)
def test_a_damaged_file_is_told_before_it_spreads(output, damage):
    break_off(output)
    path = output.with_name("vectors.hdf5.parts") / "vectors"
    path.write_bytes(damage(path.read_bytes()))
    told = rf"'{path}' is corrupt.*`restart=True`"
    with pytest.raises(ValueError, match=told):
        run(output)
    assert not output.exists()
    _, kept = run(output, settings={}, restart=True)
    assert kept.sentences == 0
    check(output)


def test_another_text_is_refused(output):
    break_off(output)
    *start, last = make_sentences(4)
    for rest in (
        [Sentence("other", last.tokens), *make_sentences()[4:]],
        [Sentence(last.text, ["w3.0 w3.1", "w3.2"]), *make_sentences()[4:]],
        [],
    ):
        told = rf"sentences must be those.*{output}.parts.*`restart=True`"
        with pytest.raises(ValueError, match=told):
            run(output, [*start, *rest])
    run(output)
    check(output)


def test_other_settings_are_refused_by_name(output):
    break_off(output)
    other = output.with_suffix(".npz")
    shutil.copytree(f"{output}.parts", f"{other}.parts")
    settings = {**SETTINGS, "model": "large"}
    with pytest.raises(ValueError, match=r"is resumed in .* must have") as info:
        run(other, settings=settings, output_dtype="float16")
    for told in (
        "the `output_dtype` that it started with, 'float32'. Received: 'float1",
        "the `suffix` that it started with, '.hdf5'. Received: '.npz'",
        "the `model` that it started with, 'small'. Received: 'large'",
        "`restart=True`",
    ):
        assert told in str(info.value)
    run(output, settings={"layers": (0, 2), "model": "small"})
    check(output)


def test_settings_of_a_job_that_got_nowhere_do_not_matter(output):
    assert break_off(output, after=1) == 0
    assert os.listdir(output.parent) == []
    os.mkdir(f"{output}.parts")
    job = {"version": 3, "settings": {"layers": 1}, "is_complete": False}
    with open(f"{output}.parts/job.json", "w") as file:
        json.dump({**job, "finished": [0, 0, 0, ""]}, file)
    run(output)
    check(output)


def test_a_file_at_the_output_is_not_touched_unless_asked(output):
    output.write_text("old")
    told = rf"'{output}' exists.*`overwrite=True`"
    for restart in (False, True):
        with pytest.raises(FileExistsError, match=told):
            run(output, embed=broken, restart=restart)
    assert os.listdir(output.parent) == ["vectors.hdf5"]
    output.unlink()
    kept = break_off(output)
    output.write_text("old")
    with pytest.raises(FileExistsError, match=told):
        run(output)
    assert output.read_text() == "old"
    embed = Embedder()
    run(output, embed=embed, overwrite=True)
    check(output)
    assert embed.num_read == 40 - kept


KILLS = [(job_folder, "replace_file"), (JobFolder, "_remove_files")]


@pytest.fixture(params=KILLS, ids=["to be moved", "moved"])
def complete(request, output, monkeypatch):
    """A job that was killed at the end, before or after it moved its file."""

    def kill(*_):
        raise KeyboardInterrupt

    break_off(output)
    owner, name = request.param
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, kill)
        with pytest.raises(KeyboardInterrupt):
            run(output)
    assert output.exists() == (owner is JobFolder)
    assert num_finished(output) == 40
    return output


def test_a_finished_job_of_another_text_or_settings(complete):
    with pytest.raises(ValueError, match="sentences must be those"):
        run(complete, make_sentences(41))
    with pytest.raises(ValueError, match="the `output_dtype` that it started"):
        run(complete, output_dtype="float16")
    if complete.exists():
        with pytest.raises(FileExistsError):
            run(complete, settings={}, restart=True)
        check(complete)
    run(complete, make_sentences(41), restart=True, overwrite=True)
    check(complete, make_sentences(41))


def test_a_finished_file_that_was_moved_is_made_again(complete):
    complete.unlink(missing_ok=True)
    run(complete)
    check(complete)


def test_files_of_others_in_the_folder_stay(output):
    folder = output.with_name("vectors.hdf5.parts")
    folder.mkdir()
    names = [".hidden", ".vectors.12345678", "notes"]
    for name in names:
        (folder / name).write_text(name)
    run(output)
    check(output)
    assert sorted(os.listdir(folder)) == names
    (folder / "vectors").write_text("mine")
    for restart in (False, True):
        with pytest.raises(ValueError, match=r"has no 'job\.json'"):
            run(output, overwrite=True, restart=restart)
    assert "vectors" in os.listdir(folder)


def test_two_at_a_time_are_refused(output):
    def second(sentences):
        with pytest.raises(BlockingIOError, match="Another process is running"):
            run(output)
        return Embedder()(sentences)

    run(output, embed=second)
    check(output)


@pytest.mark.parametrize(
    ("done", "told"),
    [(25, "The finished part is kept in '"), (1, "so nothing is kept.")],
)
def test_a_full_disk_keeps_what_is_finished(output, done, told):
    def full(sentences):
        yield from (vectors_of(next(sentences)) for _ in range(done))
        raise OSError(errno.ENOSPC, "what the system says")

    with pytest.raises(OSError, match="no space left on the device") as info:
        run(output, embed=full)
    assert info.value.errno == errno.ENOSPC
    assert "what the system says" in str(info.value)
    assert told in str(info.value)
    kept = num_finished(output)
    assert (kept > 15) == (done == 25) == os.path.exists(f"{output}.parts")
    embed = Embedder()
    run(output, embed=embed)
    check(output)
    assert embed.num_read == 40 - kept


def test_the_output_must_have_a_folder_and_be_a_file(output):
    with pytest.raises(ValueError, match=r"`output_dtype` .*'float64'"):
        run(output, output_dtype="float64")
    with pytest.raises(FileNotFoundError, match="There is no folder"):
        run(output / "a.hdf5")
    output.symlink_to(os.devnull)
    with pytest.raises(ValueError, match=f"must be a file.*'{output}'"):
        run(output, embed=broken, overwrite=True)
    assert os.listdir(output.parent) == ["vectors.hdf5"]


def test_links_are_followed(output, tmp_path):
    target = tmp_path / "elsewhere" / "target.hdf5"
    target.parent.mkdir()
    output.symlink_to(target)
    break_off(output)
    assert num_finished(target)
    run(output)
    check(target)
    assert output.is_symlink()
    assert os.listdir(target.parent) == ["target.hdf5"]
