"""Trainings on JAX."""

import json
import os
import pathlib
import re
import subprocess
import sys

import keras
import numpy as np
import pytest
from pretraining.small_trainings import OPTIONS
from pretraining.small_trainings import At
from pretraining.small_trainings import Losses
from pretraining.small_trainings import check_same
from pretraining.small_trainings import make_settings
from pretraining.small_trainings import train
from pretraining.test_kills import KILLS
from pretraining.test_kills import SETTINGS
from pretraining.test_kills import check_killed_processes

pytestmark = pytest.mark.skipif(
    keras.backend.backend() != "jax", reason="TensorFlow has tests of its own."
)
PLAN = dict(evaluate_every=3, checkpoint_every=2, log_every=2)
TESTS = pathlib.Path(__file__).parent.parent


@pytest.mark.parametrize("optimizer", ["adagrad", "adam", "muon"])
def test_a_stopped_training_resumes_bit_for_bit(corpus, tmp_path, optimizer):
    settings = make_settings(steps=6, reset_rate=0.1, optimizer=optimizer)
    for name, report in (("a", Losses()), ("b", At(4)), ("b", Losses())):
        output, plan = tmp_path / name, {"plan": PLAN, "report": report}
        is_over = train(corpus, output, settings, **plan)
        assert is_over == (type(report) is Losses)
    check_same(tmp_path / "b", tmp_path / "a")


@pytest.mark.exhaustive
def test_processes_that_are_killed(corpus, tmp_path):
    assert train(corpus, tmp_path / "whole", SETTINGS)
    output = tmp_path / "out"
    check_killed_processes(corpus, output, tmp_path / "whole", KILLS[::3])


def test_two_devices_are_one_with_all_rows(corpus, tmp_path):
    code = """
import json, pathlib, sys
import keras
from pretraining.small_trainings import Losses, make_settings, train
keras.distribution.set_distribution(keras.distribution.DataParallel())
report = Losses()
train(*map(pathlib.Path, sys.argv[1:]), make_settings(steps=4), report=report)
print(json.dumps([len(keras.distribution.list_devices()), report.of]))
"""
    paths = os.pathsep.join([str(TESTS), str(TESTS.parent)])
    flags = (
        "--xla_force_host_platform_device_count=2 --xla_dump_hlo_as_text "
        f"--xla_dump_hlo_module_re=train_step --xla_dump_to={tmp_path}"
    )
    # What is loaded from a cache is not dumped.
    own = {"JAX_COMPILATION_CACHE_DIR": "", "XLA_FLAGS": flags}
    process = subprocess.run(
        [sys.executable, "-c", code, corpus, tmp_path / "two"],
        env={**os.environ, "PYTHONPATH": paths, **own},
        capture_output=True,
        text=True,
    )
    assert process.returncode == 0, process.stderr
    devices, losses = json.loads(process.stdout.splitlines()[-1])
    one = Losses()
    settings = make_settings(steps=4, batch_size=8)
    assert train(corpus, tmp_path / "one", settings, report=one)
    assert devices == 2
    # Each device computes the gates of its own rows, four of eight.
    (compiled,) = tmp_path.glob("*.cpu_after_optimizations.txt")
    units = 4 * OPTIONS["lstm"]["dim"]
    shapes = {*re.findall(r"f32\[\d+,\d+\]", compiled.read_text())}
    assert f"f32[4,{units}]" in shapes and f"f32[8,{units}]" not in shapes
    np.testing.assert_allclose([*losses.values()], [*one.of.values()], 1e-4)
