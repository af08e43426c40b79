import contextlib
import functools
import json
import math
import random
import shutil
import signal
import threading

import h5py
import numpy as np
import pytest
from full_disk import no_file_over
from pretraining import small_trainings
from pretraining.small_trainings import OPTIONS
from pretraining.small_trainings import At
from pretraining.small_trainings import Losses
from pretraining.small_trainings import check_same
from pretraining.small_trainings import make_settings
from pretraining.small_trainings import read_log
from pretraining.small_trainings import snapshot
from tiers import quick_first

from keras_elmo import BidirectionalLanguageModel
from keras_elmo.pretraining import pretrain as pretrain_module
from keras_elmo.pretraining import settings as settings_module
from keras_elmo.pretraining.corpus_shards import read_sentences
from keras_elmo.pretraining.model_files import load_language_model
from keras_elmo.pretraining.perplexity import Evaluator
from keras_elmo.pretraining.perplexity import Perplexity
from keras_elmo.pretraining.training import Training
from keras_elmo.pretraining.training_folder import STATE_FILE
from keras_elmo.pretraining.training_folder import TEXT_FILE

PLAN = dict(evaluate_every=4, checkpoint_every=5, log_every=5)
train = functools.partial(small_trainings.train, plan=PLAN)
pytestmark = pytest.mark.usefixtures("little_to_compile")


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory, corpus, little_to_compile):
    """The folder and the losses of an uninterrupted training."""
    folder = tmp_path_factory.mktemp("unbroken") / "out"
    losses = Losses()
    random.seed(5)
    assert train(corpus, folder, report=losses)
    return folder, losses.of


@pytest.fixture(scope="module")
def first_steps(corpus, tmp_path_factory, little_to_compile):
    """A folder with the first five steps of the training."""
    folder = tmp_path_factory.mktemp("first") / "out"
    assert not train(corpus, folder, report=At(5))
    return folder


@pytest.fixture
def begun(first_steps, tmp_path):
    return shutil.copytree(first_steps, tmp_path / "begun")


def step_of(output):
    with h5py.File(output / STATE_FILE) as store:
        return json.loads(store["progress"][()])["step"]


def perplexities_of(output):
    log = read_log(output)
    return [e["heldout_perplexity"] for e in log if "heldout_perplexity" in e]


@pytest.mark.filterwarnings("ignore:.* sentences of the held-out text are in")
def test_it_learns_and_keeps_the_best_model(tmp_path):
    corpus, output = tmp_path / "corpus", tmp_path / "out"
    small_trainings.write_corpus(corpus, words=16, sentences=60)
    lstm = {**OPTIONS["lstm"], "dim": 32, "projection_dim": 16}
    settings = make_settings(
        options={**OPTIONS, "lstm": lstm},
        batch_size=16,
        steps=60,
        optimizer="adam",
        learning_rate=0.03,
    )
    assert train(corpus, output, settings, plan=dict(evaluate_every=15))
    found = perplexities_of(output)
    assert 15 < found[0] < 20 and min(found) < 12 and len(found) == 4
    loaded = load_language_model(BidirectionalLanguageModel, output)
    sentences = read_sentences(corpus / "heldout")
    evaluator = Evaluator(*loaded, rows=len(sentences))
    perplexity = evaluator.evaluate(sentences).perplexity
    assert perplexity == pytest.approx(min(found), rel=1e-6)
    options = small_trainings.options_of(output)
    assert (options["batch_size"], options["unroll_steps"]) == (16, 5)


def test_the_log(unbroken):
    output, losses = unbroken
    log = read_log(output)
    assert [entry["step"] for entry in log] == [4, 5, 8, 10, 10]
    assert [e["tokens"] for e in log] == [20 * e["step"] for e in log]
    means = [e["training_loss"] for e in log if "training_loss" in e]
    for mean, steps in zip(means, [range(1, 6), range(6, 11)], strict=True):
        assert mean == math.fsum(losses[i] for i in steps) / 5


def test_a_request_to_stop_makes_a_checkpoint(corpus, tmp_path, unbroken):
    before = signal.getsignal(signal.SIGTERM)
    # In the middle of the interval whose mean loss is logged next; the loss of
    # a step is known when the next one has begun.
    report, losses, stopping = At(6), Losses(), threading.Event()
    report.stopping = stopping.set
    assert not train(corpus, tmp_path, report=report)
    assert signal.getsignal(signal.SIGTERM) is before
    assert stopping.wait(60)
    assert max(report.of) == step_of(tmp_path) == 7
    random.seed(6)
    assert train(corpus, tmp_path, report=losses)
    assert {**report.of, **losses.of} == unbroken[1]
    assert min(losses.of) == 8
    check_same(tmp_path, unbroken[0])


def evaluations(monkeypatch, perplexities):
    """Makes successive evaluations return these perplexities."""
    left = iter(perplexities)

    def evaluate(self, sentences):
        return Perplexity(next(left), 1.0, 1.0, 1)

    monkeypatch.setattr(Evaluator, "evaluate", evaluate)


def test_patience(corpus, tmp_path, monkeypatch):
    expected = [9.0, 5.0, 5.0, math.inf, 6.0, 4.0, 3.0]
    evaluations(monkeypatch, expected)
    plan = dict(evaluate_every=2, checkpoint_every=100, patience=2)
    weights = {}

    class Keep(Losses):
        def evaluated(self, step, perplexity, is_best):
            content = (tmp_path / "weights.hdf5").read_bytes()
            weights[step, is_best] = content

    settings = make_settings(steps=14)
    # A finished training stays finished unless it gets more patience.
    for _ in range(2):
        assert train(corpus, tmp_path, settings, plan=plan, report=Keep())
        assert step_of(tmp_path) == 8
        assert list(weights) == [(2, True), (4, True), (6, False), (8, False)]
    first, best, *rest = weights.values()
    assert first != best
    assert rest == [best, best]
    plan["patience"] = 4
    assert train(corpus, tmp_path, settings, plan=plan, report=Keep())
    assert list(weights)[4:] == [(10, False), (12, True), (14, True)]
    assert perplexities_of(tmp_path) == expected


def test_early_evaluations_do_not_exhaust_the_patience(
    corpus, tmp_path, monkeypatch
):
    monkeypatch.setattr(settings_module, "_EARLY_STEPS", (2, 4))
    evaluations(monkeypatch, [9.0, 9.5, 8.0])
    settings = make_settings(steps=5)
    assert train(corpus, tmp_path, settings, plan=dict(patience=1))
    assert [entry["step"] for entry in read_log(tmp_path)] == [2, 4, 5, 5]


def test_what_diverges_leaves_the_last_good_state(corpus, begun, unbroken):
    before = snapshot(begun)
    settings = make_settings(learning_rate=1e30)
    match = f"loss is nan in step 7, so .*'{begun}'.* `restart=True`, with a lo"
    with pytest.raises(ValueError, match=match):
        train(corpus, begun, settings, plan={"checkpoint_every": 100})
    assert snapshot(begun)[STATE_FILE] == before[STATE_FILE]
    assert train(corpus, begun)
    check_same(begun, unbroken[0])


@pytest.mark.parametrize("where", ["model", "optimizer", "state"])
def test_a_value_that_is_no_number(corpus, begun, monkeypatch, where):
    check = Training._check_values

    def spoil(self):
        variable = {
            "model": self.model.trainable_variables,
            "optimizer": self.model.optimizer.variables,
            "state": self.model.states,
        }[where][-1]
        variable.assign(np.full(variable.shape, np.inf))
        check(self)

    monkeypatch.setattr(Training, "_check_values", spoil)
    check_refused(begun, f"'{where}/.* in step 8, so", corpus, begun)


def test_a_perplexity_that_is_no_number(corpus, begun, monkeypatch):
    evaluations(monkeypatch, [math.nan])
    check_refused(begun, "perplexity is nan in step 8", corpus, begun)


def test_the_text_as_numbers_can_be_made_again(corpus, begun, unbroken):
    path = begun / TEXT_FILE
    content = path.read_bytes()
    path.write_bytes(bytes(40) + content[40:])
    assert train(corpus, begun)
    check_same(begun, unbroken[0])
    assert path.read_bytes() == content


@pytest.mark.parametrize("limit", quick_first([15_000, 100]))
def test_a_full_disk(corpus, begun, unbroken, limit):
    before = snapshot(begun)
    told = f"no space left on the device.*'{begun}'.*make room and resume"
    with pytest.raises(OSError, match=told), contextlib.ExitStack() as stack:
        report = At(7, lambda: stack.enter_context(no_file_over(limit)))
        train(corpus, begun, report=report)
    after = snapshot(begun)
    assert set(after) == set(before)
    assert after[STATE_FILE] == before[STATE_FILE]
    assert train(corpus, begun)
    check_same(begun, unbroken[0])


def check_refused(begun, match, *arguments):
    before = snapshot(begun)
    with pytest.raises(ValueError, match=match):
        train(*arguments)
    assert snapshot(begun) == before


def test_another_number_of_devices_is_refused(corpus, begun, monkeypatch):
    monkeypatch.setattr(pretrain_module, "_num_devices", lambda: 2)
    match = r"'state/.* shape \(8, .* number of devices"
    check_refused(begun, match, corpus, begun)


def test_another_held_out_text_is_refused(corpus, begun, tmp_path):
    other = shutil.copytree(corpus, tmp_path / "other")
    text = (other / "heldout").read_text()
    (other / "heldout").write_text(text.replace("w1", "w2", 1))
    match = "must have the `heldout` that it started with"
    check_refused(begun, match, other, begun)
    match = f"{match}.*Received: None.*To start over"
    check_refused(begun, match, corpus, begun, None, False)
    # Only its words count.
    (other / "heldout").write_text(text.replace(" ", "  "))
    assert not train(other, begun, report=At(6))


def test_another_vocabulary_is_refused(corpus, begun, tmp_path):
    words = (begun / "vocab.txt").read_text()
    (tmp_path / "words").write_text(words + "more\n")
    with pytest.raises(ValueError, match="another vocabulary"):
        train(corpus, begun, vocabulary=tmp_path / "words")


def test_a_folder_in_use_is_refused(corpus, begun):
    def again():
        with pytest.raises(BlockingIOError, match="Another process"):
            train(corpus, begun)

    assert train(corpus, begun, report=At(6, again))


def test_restart(corpus, begun, tmp_path, unbroken):
    settings, fresh = make_settings(seed=1), tmp_path / "fresh"
    for output in (begun, fresh):
        losses = Losses()
        random.seed(f"{output}")
        assert train(corpus, output, settings, restart=True, report=losses)
        assert losses.of[1] != unbroken[1][1]
    check_same(begun, fresh)
