import gzip
import json
import math
import os
import random
import resource
import shutil
import signal

import h5py
import numpy as np
import pytest
from hdf5_arrays import all_arrays
from pretraining.small_trainings import OPTIONS
from pretraining.small_trainings import Losses
from pretraining.small_trainings import check_same
from pretraining.small_trainings import make_settings
from pretraining.small_trainings import options_of
from pretraining.small_trainings import read_log
from pretraining.small_trainings import snapshot
from pretraining.small_trainings import train
from pretraining.small_trainings import write_corpus

from keras_elmo import BidirectionalLanguageModel
from keras_elmo.pretraining.corpus_shards import read_sentences
from keras_elmo.pretraining.model_files import load_language_model
from keras_elmo.pretraining.perplexity import Evaluator
from keras_elmo.pretraining.perplexity import Perplexity
from keras_elmo.pretraining.training import Training
from keras_elmo.pretraining.training_folder import STATE_FILE
from keras_elmo.pretraining.training_folder import TEXT_FILE

PLAN = dict(evaluate_every=4, checkpoint_every=5, log_every=5)


class At(Losses):
    """Calls a function after a given step."""

    def __init__(self, step, act):
        super().__init__()
        self._step, self._act = step, act

    def stepped(self, step, loss):
        super().stepped(step, loss)
        if step == self._step:
            self._act()


pytestmark = pytest.mark.usefixtures("little_to_compile")


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory, corpus, little_to_compile):
    """The folder and the losses of an uninterrupted training."""
    folder = tmp_path_factory.mktemp("unbroken") / "out"
    losses = Losses()
    random.seed(5)
    assert train(corpus, folder, plan=PLAN, report=losses)
    return folder, losses.of


def step_of(output):
    with h5py.File(output / STATE_FILE) as store:
        return json.loads(store["progress"][()])["step"]


def test_it_learns_and_keeps_the_best_model(tmp_path):
    corpus = write_corpus(tmp_path / "corpus", words=16, sentences=60)
    settings = make_settings(
        options={
            **OPTIONS,
            "lstm": {**OPTIONS["lstm"], "dim": 32, "projection_dim": 16},
        },
        batch_size=16,
        steps=60,
        optimizer="adam",
        learning_rate=0.03,
    )
    plan = dict(evaluate_every=15, checkpoint_every=60)
    assert train(corpus, tmp_path / "out", settings, plan=plan)
    log = read_log(tmp_path / "out")
    found = [e["heldout_perplexity"] for e in log if "heldout_perplexity" in e]
    assert len(found) == 4
    assert 15 < found[0] < 20
    assert min(found) < 12
    model, vocabulary = load_language_model(
        BidirectionalLanguageModel, tmp_path / "out"
    )
    sentences = read_sentences(corpus / "heldout")
    evaluator = Evaluator(model, vocabulary, rows=len(sentences))
    perplexity = evaluator.evaluate(sentences).perplexity
    assert perplexity == pytest.approx(min(found), rel=1e-6)
    options = options_of(tmp_path / "out")
    assert (options["batch_size"], options["unroll_steps"]) == (16, 5)


def test_the_log(unbroken):
    output, losses = unbroken
    assert list(losses) == list(range(1, 11))
    log = read_log(output)
    assert [entry["step"] for entry in log] == [4, 5, 8, 10, 10]
    assert [e["tokens"] for e in log] == [20 * e["step"] for e in log]
    means = [e["training_loss"] for e in log if "training_loss" in e]
    for mean, steps in zip(means, [range(1, 6), range(6, 11)], strict=True):
        assert mean == math.fsum(losses[i] for i in steps) / 5


@pytest.mark.exhaustive
def test_initial_values_depend_on_the_seed_alone(corpus, tmp_path, unbroken):
    losses = {}
    for seed in (0, 1):
        losses[seed] = Losses()
        settings = make_settings(steps=1, seed=seed)
        random.seed(seed + 10)
        train(
            corpus,
            tmp_path / str(seed),
            settings,
            heldout=False,
            report=losses[seed],
        )
    assert losses[0].of[1] == unbroken[1][1] != losses[1].of[1]


@pytest.mark.parametrize(
    "number",
    [
        signal.SIGTERM,
        pytest.param(signal.SIGINT, marks=pytest.mark.exhaustive),
    ],
)
def test_a_request_to_stop_makes_a_checkpoint(
    corpus, tmp_path, unbroken, number
):
    before = signal.getsignal(number)
    # In the middle of the interval whose mean loss is logged next; the loss of
    # a step is known when the next one has begun.
    report = At(6, lambda: signal.raise_signal(number))
    assert not train(corpus, tmp_path, plan=PLAN, report=report)
    assert signal.getsignal(number) is before
    assert max(report.of) == step_of(tmp_path) == 7
    losses = Losses()
    random.seed(6)
    assert train(corpus, tmp_path, plan=PLAN, report=losses)
    assert {**report.of, **losses.of} == unbroken[1]
    assert min(losses.of) == 8
    check_same(tmp_path, unbroken[0])


def test_a_request_that_comes_while_a_model_is_written(corpus, tmp_path):
    class Stop(Losses):
        def evaluated(self, step, perplexity, is_best):
            signal.raise_signal(signal.SIGTERM)

    report = Stop()
    assert not train(corpus, tmp_path, plan=PLAN, report=report)
    assert max(report.of) == step_of(tmp_path) == 4


def test_a_training_that_is_over_stays_as_it_is(corpus, tmp_path, unbroken):
    shutil.copytree(unbroken[0], tmp_path / "out")
    losses = Losses()
    assert train(corpus, tmp_path / "out", plan=PLAN, report=losses)
    assert losses.of == {}
    assert snapshot(tmp_path / "out") == snapshot(unbroken[0])


def test_more_steps_go_on(corpus, tmp_path, unbroken):
    settings = make_settings(steps=6)
    assert train(corpus, tmp_path, settings, plan=PLAN)
    losses = Losses()
    assert train(corpus, tmp_path, plan=PLAN, report=losses)
    assert losses.of == {i: unbroken[1][i] for i in range(7, 11)}
    arrays = all_arrays(tmp_path / STATE_FILE)
    for key, array in all_arrays(unbroken[0] / STATE_FILE).items():
        if key != "progress":
            np.testing.assert_array_equal(arrays[key], array)


SCHEDULE = {
    "learning_rate_schedule": "linear",
    "warmup_steps": 3,
    "learning_rate": 0.01,
}
ALL_AT_ONCE = {
    "dtype": "mixed_bfloat16",
    "optimizer": "adam",
    "unroll_steps": 4,
    **SCHEDULE,
}


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({"optimizer": "muon", **SCHEDULE}, id="muon"),
        pytest.param(
            ALL_AT_ONCE, marks=pytest.mark.exhaustive, id="all at once"
        ),
        pytest.param(
            {"options": {**OPTIONS, "dropout": 0.0}, **ALL_AT_ONCE},
            marks=pytest.mark.exhaustive,
            id="all at once, without dropout",
        ),
    ],
)
def test_other_settings_go_on_too(corpus, tmp_path, settings):
    settings = make_settings(**settings)
    first, second = Losses(), Losses()
    plan = dict(checkpoint_every=100)
    assert train(
        corpus, tmp_path / "a", settings, False, plan=plan, report=first
    )
    report = At(5, lambda: signal.raise_signal(signal.SIGTERM))
    assert not train(
        corpus, tmp_path / "b", settings, False, plan=plan, report=report
    )
    assert train(
        corpus, tmp_path / "b", settings, False, plan=plan, report=second
    )
    assert {**report.of, **second.of} == first.of
    check_same(tmp_path / "b", tmp_path / "a")


def evaluations(monkeypatch, perplexities):
    """Makes successive evaluations return these perplexities."""
    left = iter(perplexities)

    def evaluate(self, sentences):
        return Perplexity(next(left), 1.0, 1.0, 1)

    monkeypatch.setattr(Evaluator, "evaluate", evaluate)


def test_patience(corpus, tmp_path, monkeypatch):
    evaluations(monkeypatch, [9.0, 5.0, 5.0, math.inf, 6.0, 4.0, 3.0])
    plan = dict(evaluate_every=2, checkpoint_every=100, patience=2)
    weights = {}

    class Keep(Losses):
        def evaluated(self, step, perplexity, is_best):
            content = (tmp_path / "weights.hdf5").read_bytes()
            weights[step, is_best] = content

    settings = make_settings(steps=14)
    assert train(corpus, tmp_path, settings, plan=plan, report=Keep())
    assert list(weights) == [(2, True), (4, True), (6, False), (8, False)]
    first, best, *rest = weights.values()
    assert first != best
    assert rest == [best, best]
    assert step_of(tmp_path) == 8
    # A finished training stays finished unless it gets more patience.
    assert train(corpus, tmp_path, settings, plan=plan, report=Keep())
    assert step_of(tmp_path) == 8
    plan["patience"] = 4
    assert train(corpus, tmp_path, settings, plan=plan, report=Keep())
    assert list(weights)[4:] == [(10, False), (12, True), (14, True)]
    log = read_log(tmp_path)
    found = [e["heldout_perplexity"] for e in log if "heldout_perplexity" in e]
    assert found == [9.0, 5.0, 5.0, math.inf, 6.0, 4.0, 3.0]


@pytest.mark.exhaustive
def test_a_long_training_soon_shows_what_it_has_learned(tmp_path, monkeypatch):
    evaluations(monkeypatch, [9.0, 9.5, 8.0])
    done = []

    class Note(Losses):
        def working(self, what):
            if not what.startswith("measuring"):
                done.append(what)
            return super().working(what)

        def evaluated(self, step, perplexity, is_best):
            assert os.path.exists(tmp_path / "weights.hdf5")
            done.append((step, is_best))

    corpus = write_corpus(tmp_path / "corpus", sentences=80)
    settings = make_settings(steps=101)
    # The second evaluation is early and does not count.
    assert train(
        corpus, tmp_path, settings, plan=dict(patience=1), report=Note()
    )
    assert done == [
        "reading the held-out text",
        "building the model",
        "compiling the first step",
        (10, True), "saving a checkpoint",
        (100, False), "saving a checkpoint",
        (101, True), "saving a checkpoint",
    ]  # fmt: skip


@pytest.fixture(scope="module")
def first_steps(corpus, tmp_path_factory, little_to_compile):
    """A folder with the first five steps of the training."""
    folder = tmp_path_factory.mktemp("first") / "out"
    report = At(5, lambda: signal.raise_signal(signal.SIGTERM))
    assert not train(corpus, folder, plan=PLAN, report=report)
    return folder


@pytest.fixture
def begun(first_steps, tmp_path):
    return shutil.copytree(first_steps, tmp_path / "begun")


def without_log(files):
    return {name: files[name] for name in files if name != "log.jsonl"}


@pytest.mark.parametrize(
    "checkpoint_every, heldout",
    [
        (1, True),
        (100, False),
        pytest.param(1, False, marks=pytest.mark.exhaustive),
        pytest.param(100, True, marks=pytest.mark.exhaustive),
    ],
)
def test_what_diverges_leaves_the_last_good_state(
    corpus, begun, unbroken, checkpoint_every, heldout, tmp_path
):
    if not heldout:
        begun = tmp_path / "without"
        report = At(4, lambda: signal.raise_signal(signal.SIGTERM))
        train(corpus, begun, heldout=False, report=report)
        assert step_of(begun) == 5
    before = snapshot(begun)
    settings = make_settings(learning_rate=1e30)
    plan = dict(checkpoint_every=checkpoint_every)
    with pytest.raises(ValueError, match="so training stopped") as info:
        train(corpus, begun, settings, heldout, plan)
    message = str(info.value)
    assert "in step 7" in message or "in step 6" in message
    assert f"'{begun}', if any, is unchanged" in message
    assert "without `restart=True`, with a lower `learning_rate`" in message
    # The weights may be those of a diverging model, but never NaN.
    after = snapshot(begun)
    assert all(
        np.isfinite(array).all()
        for array in all_arrays(begun / "weights.hdf5").values()
    )
    if checkpoint_every == 100:
        assert without_log(after) == without_log(before)
        assert after["log.jsonl"].startswith(before["log.jsonl"])
        losses = Losses()
        assert train(corpus, begun, None, heldout, PLAN, report=losses)
        assert losses.of == {i: unbroken[1][i] for i in range(6, 11)}


def test_a_loss_that_is_no_number(corpus, begun, unbroken, monkeypatch):
    on_end = Training.on_train_batch_end

    def end_badly(self, batch, logs=None):
        is_bad = batch == 2  # The training has begun with step 6.
        on_end(self, batch, {"window_loss": math.nan} if is_bad else logs)

    before = snapshot(begun)
    with monkeypatch.context() as patch:
        patch.setattr(Training, "on_train_batch_end", end_badly)
        plan = dict(checkpoint_every=100)
        with pytest.raises(ValueError, match="The loss is nan in step 8"):
            train(corpus, begun, plan=plan)
    assert snapshot(begun)[STATE_FILE] == before[STATE_FILE]
    assert train(corpus, begun, plan=PLAN)
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

    before = snapshot(begun)
    monkeypatch.setattr(Training, "_check_values", spoil)
    with pytest.raises(ValueError, match=f"'{where}/.* in step 8, so"):
        train(corpus, begun, plan=PLAN)
    assert snapshot(begun) == before


def test_a_perplexity_that_is_no_number(corpus, begun, monkeypatch):
    evaluations(monkeypatch, [math.nan])
    before = snapshot(begun)
    with pytest.raises(ValueError, match="perplexity is nan in step 8"):
        train(corpus, begun, plan=PLAN)
    assert snapshot(begun) == before


def test_shards_that_go_missing(corpus, begun, unbroken, tmp_path):
    shards = tmp_path / "shards"
    shutil.copytree(corpus, shards)
    (tmp_path / "gone").mkdir()

    def hide():
        for path in shards.glob("shard-*"):
            shutil.move(path, tmp_path / "gone")

    # While it trains, it reads only the numbers of the words.
    report = At(6, hide)
    assert train(shards, begun, plan=PLAN, report=report)
    check_same(begun, unbroken[0])
    with pytest.raises(FileNotFoundError, match="no corpus file"):
        train(shards, begun, plan=PLAN)


@pytest.mark.parametrize("cut", [None, 7])
def test_the_text_as_numbers_can_be_made_again(corpus, begun, unbroken, cut):
    path = begun / TEXT_FILE
    content = path.read_bytes()
    path.unlink()
    if cut:
        path.write_bytes(content[:-cut])
    assert train(corpus, begun, plan=PLAN)
    check_same(begun, unbroken[0])
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    "limit", [15_000, pytest.param(100, marks=pytest.mark.exhaustive)]
)
def test_a_full_disk(corpus, begun, unbroken, limit):
    before = snapshot(begun)

    def fill_up():
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, old_limit[1]))

    old_limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    old_handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        with pytest.raises(
            OSError, match="no space left on the device to write"
        ) as info:
            train(corpus, begun, plan=PLAN, report=At(7, fill_up))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old_limit)
        signal.signal(signal.SIGXFSZ, old_handler)
    assert f"'{begun}'" in str(info.value)
    assert "make room and resume" in str(info.value)
    after = snapshot(begun)
    assert set(after) == set(before)
    assert after[STATE_FILE] == before[STATE_FILE]
    assert train(corpus, begun, plan=PLAN)
    check_same(begun, unbroken[0])


def check_refused(begun, match, *arguments, **kwargs):
    before = snapshot(begun)
    with pytest.raises(ValueError, match=match) as info:
        train(*arguments, **kwargs)
    assert snapshot(begun) == before
    return str(info.value)


def test_another_number_of_devices_is_refused(corpus, begun, monkeypatch):
    from keras_elmo.pretraining import pretrain as module

    monkeypatch.setattr(module, "_num_devices", lambda: 2)
    message = check_refused(begun, "number of devices", corpus, begun)
    assert "'state/" in message
    assert "must have the shape (8, " in message


def test_another_held_out_text_is_refused(corpus, begun, tmp_path):
    other = shutil.copytree(corpus, tmp_path / "other")
    text = (other / "heldout").read_text()
    (other / "heldout").write_text(text.replace("w1", "w2", 1))
    match = "must have the `heldout` that it started with"
    message = check_refused(begun, match, other, begun, plan=PLAN)
    assert "To start over" in message
    message = check_refused(begun, match, corpus, begun, None, False)
    assert "Received: None" in message
    # Only its words count.
    (other / "heldout").write_bytes(
        gzip.compress(text.replace(" ", "  ").encode())
    )
    report = At(6, lambda: signal.raise_signal(signal.SIGTERM))
    assert not train(other, begun, plan=PLAN, report=report)


def test_an_equal_vocabulary_may_be_elsewhere(corpus, begun, tmp_path):
    vocabulary = tmp_path / "vocab.txt"
    vocabulary.write_text((begun / "vocab.txt").read_text())
    report = At(6, lambda: signal.raise_signal(signal.SIGTERM))
    train(corpus, begun, plan=PLAN, vocabulary=vocabulary, report=report)
    assert list(report.of) == [6, 7]


def test_a_folder_in_use_is_refused(corpus, begun):
    def again():
        with pytest.raises(BlockingIOError, match="Another process"):
            train(corpus, begun)

    report = At(6, again)
    assert train(corpus, begun, plan=PLAN, report=report)
    assert len(report.of) == 5


def test_restart(corpus, begun, tmp_path):
    settings = make_settings(seed=1)
    fresh = tmp_path / "fresh"
    for output in (begun, fresh):
        assert train(corpus, output, settings, plan=PLAN, restart=True)
    check_same(begun, fresh)
