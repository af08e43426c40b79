"""A corpus of a few hundred words, and tiny models to train on it."""

import contextlib
import dataclasses
import gzip
import json
import signal

import numpy as np
import pytest
from hdf5_arrays import all_arrays

from keras_elmo.models.find_model import find_model
from keras_elmo.pretraining import pretrain as pretrain_module
from keras_elmo.pretraining import training as module
from keras_elmo.pretraining.pretrain import pretrain
from keras_elmo.pretraining.report import TrainingReport
from keras_elmo.pretraining.settings import Settings
from keras_elmo.pretraining.training_folder import LOG_FILE

OPTIONS = {
    "char_cnn": {
        "activation": "relu",
        "embedding": {"dim": 4},
        "filters": [[1, 4], [2, 8]],
        "max_characters_per_token": 8,
        "n_characters": 261,
        "n_highway": 1,
    },
    "dropout": 0.1,
    "lstm": {
        "cell_clip": 3,
        "dim": 8,
        "n_layers": 1,
        "proj_clip": 3,
        "projection_dim": 4,
        "use_skip_connections": True,
    },
    "n_negative_samples_batch": 8,
}
PLAN = {"evaluate_every": 7, "checkpoint_every": 3, "log_every": 1}


def make_settings(**kwargs):
    """Returns the settings of a training with a few steps."""
    sizes = {"batch_size": 4, "unroll_steps": 5, "steps": 10}
    return Settings(**{"options": OPTIONS, **sizes, **kwargs})


def write_corpus(folder, words=97, sentences=12):
    """Writes shards, the last one gzipped, and a held-out text.

    A word determines the next one, with some exceptions.
    """
    folder.mkdir(exist_ok=True)
    generator = np.random.default_rng(0)

    def lines(count):
        for _ in range(count):
            numbers = [int(generator.integers(words))]
            for _ in range(generator.integers(2, 9)):
                step = 1 if generator.random() < 0.9 else 5
                numbers.append((numbers[-1] * 7 + step) % words)
            yield " ".join(f"w{i}" for i in numbers) + "\n"

    for name in ("0.txt", "1.txt", "2.txt", "3.txt", "4.txt.gz"):
        text = "".join(lines(sentences)).encode()
        text = gzip.compress(text, mtime=0) if name.endswith("gz") else text
        (folder / f"shard-{name}").write_bytes(text)
    (folder / "heldout").write_text("".join(lines(20)))
    return folder


class Losses(TrainingReport):
    """A report that keeps the loss of each step."""

    def __init__(self):
        self.of = {}

    def stepped(self, step, loss):
        self.of[step] = loss


class At(Losses):
    """Calls a function after a given step; by default, asks to stop."""

    def __init__(self, step, act=None):
        super().__init__()
        self._step = step
        self._act = act or (lambda: signal.raise_signal(signal.SIGTERM))

    def stepped(self, step, loss):
        super().stepped(step, loss)
        if step == self._step:
            self._act()


def train(corpus, output, settings=None, heldout=True, plan=PLAN, **kwargs):
    """Trains a tiny model; returns whether training is over.

    `plan` has further settings, those that do not affect the losses.
    """
    return pretrain(
        f"{corpus}/shard-*",
        output,
        dataclasses.replace(settings or make_settings(), **plan),
        heldout=corpus / "heldout" if heldout else None,
        **{"min_count": 1, "report": Losses(), **kwargs},
    ).is_finished


def options_of(path):
    """Returns the options in a model's files."""
    return find_model(path).open_language_model().content


def read_log(output):
    lines = (output / LOG_FILE).read_text().splitlines(True)
    # The last line is incomplete if the process was killed.
    return [json.loads(line) for line in lines if line.endswith("\n")]


def snapshot(folder):
    """Returns the content of each file in a folder."""
    return {
        path.name: path.read_bytes()
        for path in folder.iterdir()
        if path.name != ".lock"
    }


def check_same(found, expected):
    """Asserts that two folders have bitwise equal content."""
    names = {path.name for path in expected.iterdir()}
    assert {path.name for path in found.iterdir()} == names
    for name in names - {"training.json"}:
        if name.endswith(".hdf5"):
            arrays, others = (all_arrays(x / name) for x in (found, expected))
            np.testing.assert_equal(arrays, others, name)
        else:
            content = (found / name).read_bytes()
            assert content == (expected / name).read_bytes(), name


@contextlib.contextmanager
def compiled_once(kept=None):
    """Lets trainings with equal settings share their compiled functions.

    Everything else is created anew, and all values are as in a new process.

    Args:
        kept: Dictionary of shared objects; a new one by default.
    """
    kept = {} if kept is None else kept

    def make_trainer(make_model, settings, rows, total_steps):
        new = real_trainer(make_model, settings, rows, total_steps)
        values = dataclasses.asdict(settings)
        # These are stored in a variable, or not at all.
        left_out = [*PLAN, "patience"]
        if settings.learning_rate_schedule == "constant":
            left_out += ["learning_rate", "steps", "epochs"]
        for name in left_out:
            del values[name]
        words = new.language_model.vocabulary_size
        key = (json.dumps(values), rows, words)
        old = kept.setdefault(key, new)
        if old is not new:
            variables, others = (
                [*x.variables, *x.optimizer.variables] for x in (old, new)
            )
            for variable, other in zip(variables, others, strict=True):
                variable.assign(other)
        return old

    def make_evaluator(model, vocabulary, rows):
        key = (id(model), tuple(vocabulary.words), rows)
        new = real_evaluator(model, vocabulary, rows=rows)
        return kept.setdefault(key, new)

    real_trainer, real_evaluator = module.make_trainer, module.Evaluator
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pretrain_module, "make_trainer", make_trainer)
        patch.setattr(module, "Evaluator", make_evaluator)
        yield
