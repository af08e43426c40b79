"""Trainings on several devices and in several processes."""

import json
import os
import pathlib
import socket
import subprocess
import sys
import types

import numpy as np
import pytest
import tensorflow as tf
from hdf5_arrays import all_arrays
from pretraining.small_trainings import OPTIONS
from pretraining.small_trainings import Losses
from pretraining.small_trainings import make_settings
from pretraining.small_trainings import read_log
from pretraining.small_trainings import train
from tiers import is_quick

from keras_elmo.pretraining.settings import Plan
from keras_elmo.pretraining.workers import is_chief
from keras_elmo.pretraining.workers import make_any

TESTS = pathlib.Path(__file__).parent.parent
PLAN = Plan(evaluate_every=4, checkpoint_every=2, log_every=1)
SETTINGS = {
    "options": {**OPTIONS, "dropout": 0.0},
    "full_softmax": True,
    # Less than the norm of most gradients.
    "clip_norm": 0.5,
    "batch_size": 2,
    "steps": 5,
}
pytestmark = pytest.mark.usefixtures("little_to_compile")


def run_workers(folder, task, count):
    """Runs `training_worker` in several processes; returns their results."""
    ports = free_ports(count)
    processes = []
    for i in range(count):
        (folder / f"task{i}").write_text(json.dumps(task[i]))
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(TESTS), str(TESTS.parent)]),
        }
        if count > 1:
            cluster = {"worker": [f"localhost:{port}" for port in ports]}
            environment["TF_CONFIG"] = json.dumps(
                {"cluster": cluster, "task": {"type": "worker", "index": i}}
            )
        script = pathlib.Path(__file__).with_name("training_worker.py")
        paths = [folder / f"task{i}", folder / f"result{i}"]
        processes.append(
            subprocess.Popen(
                [sys.executable, script, *paths],
                env=environment,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
    try:
        errors = [process.communicate(timeout=300)[1] for process in processes]
    finally:
        for process in processes:
            process.kill()
    for process, error in zip(processes, errors):
        assert process.returncode == 0, error
    return [
        json.loads((folder / f"result{i}").read_text()) for i in range(count)
    ]


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("localhost", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def check_close(found, losses, corpus):
    """Asserts that a folder has the weights of one process with all rows."""
    report = Losses()
    folder = found.with_name(f"{found.name}-alone")
    settings = make_settings(**{**SETTINGS, "batch_size": 4})
    assert train(corpus, folder, settings, plan=PLAN, report=report)
    np.testing.assert_allclose(losses, list(report.of.values()), atol=1e-5)
    for name in ("weights.hdf5", "softmax.hdf5", "training_state.hdf5"):
        arrays = all_arrays(found / name)
        for key, array in all_arrays(folder / name).items():
            if key != "progress":
                np.testing.assert_allclose(
                    arrays[key], array, rtol=0, atol=1e-5, err_msg=key
                )
    for one, other in zip(read_log(found), read_log(folder), strict=True):
        assert one == pytest.approx(other, rel=1e-5)


@pytest.fixture(scope="module")
def workers(tmp_path_factory, corpus, request):
    """The folder and the results of two processes that train together."""
    folder = tmp_path_factory.mktemp("workers")
    task = {
        "strategy": "multi-worker",
        "corpus": str(corpus),
        "folder": str(folder),
        "settings": SETTINGS,
        "runs": [
            {"output": "whole"},
            {"output": "broken", "stop": 3},
            {"output": "broken"},
            {"output": "whole", "restart": True},
        ],
    }
    if is_quick(request.config):
        del task["runs"][1:]
    # Only the second worker is told to stop.
    chief_runs = [{**run, "stop": None} for run in task["runs"]]
    return folder, run_workers(folder, [{**task, "runs": chief_runs}, task], 2)


def losses_of(result):
    return [run["losses"] for run in result["runs"]]


@pytest.mark.exhaustive
def test_two_processes_are_one_with_all_rows(workers, corpus):
    folder, (chief, other) = workers
    assert losses_of(chief) == losses_of(other)
    check_close(folder / "whole", losses_of(chief)[0], corpus)


def test_a_step_is_compiled_once(workers):
    for result in workers[1]:
        assert result["compiled"] == 1


@pytest.mark.exhaustive
def test_two_processes_go_on(workers):
    folder, results = workers
    for result in results:
        whole, first, second, _ = result["runs"]
        assert (first["is_over"], second["is_over"]) == (False, True)
        assert len(first["losses"]) == 3
        assert first["losses"] + second["losses"] == whole["losses"]
    assert read_log(folder / "broken") == read_log(folder / "whole")
    for name in ("weights.hdf5", "training_state.hdf5"):
        arrays = all_arrays(folder / "broken" / name)
        for key, array in all_arrays(folder / "whole" / name).items():
            np.testing.assert_array_equal(arrays[key], array)


@pytest.mark.exhaustive
def test_two_processes_begin_anew(workers):
    for result in workers[1]:
        first, *_, second = result["runs"]
        assert first == second


def test_only_the_chief_writes(workers):
    _, (chief, other) = workers
    written = {os.path.basename(path) for _, path in chief["files"]}
    assert {"log.jsonl", ".lock"} <= written
    assert other["files"] == []


@pytest.mark.exhaustive
def test_two_devices_are_one_with_all_rows(tmp_path, corpus):
    task = {
        "strategy": "mirrored",
        "corpus": str(corpus),
        "folder": str(tmp_path),
        "settings": SETTINGS,
        "runs": [{"output": "whole"}],
    }
    (result,) = run_workers(tmp_path, [task], 1)
    check_close(tmp_path / "whole", losses_of(result)[0], corpus)


def test_gradients_of_several_windows_need_one_device(tmp_path, corpus):
    strategy = types.SimpleNamespace(num_replicas_in_sync=2)
    settings = make_settings(accumulation_steps=3)
    match = "`accumulation_steps` must be 1 .* Received: 3, with 2 devices"
    with pytest.raises(ValueError, match=match):
        train(corpus, tmp_path / "out", settings, strategy=strategy)
    assert not (tmp_path / "out").exists()


def resolver(cluster, task_type, task_id):
    return tf.distribute.cluster_resolver.SimpleClusterResolver(
        tf.train.ClusterSpec(cluster), task_type=task_type, task_id=task_id
    )


@pytest.mark.parametrize(
    "jobs, chief",
    [({"worker": 2}, ("worker", 0)), ({"chief": 1, "worker": 2}, ("chief", 0))],
)
def test_there_is_one_chief(jobs, chief):
    cluster = {
        job: [f"{job}{i}:1" for i in range(count)]
        for job, count in jobs.items()
    }
    for job, count in jobs.items():
        for i in range(count):
            strategy = types.SimpleNamespace(
                cluster_resolver=resolver(cluster, job, i)
            )
            assert is_chief(strategy) == ((job, i) == chief)


def test_alone_one_is_the_chief():
    for strategy in (
        tf.distribute.get_strategy(),
        tf.distribute.OneDeviceStrategy("CPU:0"),
        tf.distribute.MirroredStrategy(["CPU:0"]),
    ):
        assert is_chief(strategy)
        is_any = make_any(strategy)
        assert is_any(True) is True
        assert is_any(False) is False
