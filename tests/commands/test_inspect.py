import json

import numpy as np
import pytest
from small_models import make_elmo

from keras_elmo.commands import inspect_vectors
from keras_elmo.commands.main import main

pytestmark = pytest.mark.usefixtures("portable_module")


@pytest.fixture
def model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model").mkdir()
    write()
    return "model"


def write(**lstm):
    elmo = make_elmo(lstm=lstm)
    elmo.save_to_bilm("model/options.json", "model/weights.hdf5")
    return elmo


def inspect(capsys, *arguments, status=0):
    assert main(["inspect", *arguments]) == status
    out, err = capsys.readouterr()
    assert not err
    return out


def test_what_is_told(model, capsys):
    lines = inspect(capsys, model).splitlines()
    assert (
        lines[0]
        == "'model': a biLM in the format of bilm-tf, AllenNLP and NLPL."
    )
    assert '  keras_elmo.ElmoLayer.from_preset("model")' in lines
    assert "What is wrong:" not in lines
    told = json.loads(inspect(capsys, model, "--json"))
    assert told["problems"] == []
    assert told["facts"]["vectors"] == "3 layers, 12 wide"
    files = "model/options.json", "model/weights.hdf5"
    assert "from_bilm(" in inspect(capsys, *files)


def test_what_is_wrong(model, capsys):
    with open("model/weights.hdf5", "r+b") as file:
        file.truncate(1000)
    lines = inspect(capsys, model, status=1).splitlines()
    (line,) = lines[lines.index("What is wrong:") + 1 :]
    assert "'model/weights.hdf5' cannot be read" in line
    assert "it is truncated: 1,000 bytes of " in line
    assert json.loads(inspect(capsys, model, "--json", status=1))["problems"]
    inspect(capsys, "nowhere", status=1)


def test_vectors_are_written_and_verified(model, capsys):
    told = inspect(capsys, model, "--vectors", "vectors.npz")
    assert "The vectors of three sentences are in 'vectors.npz'" in told
    with np.load("vectors.npz") as stored:
        assert [stored[str(i)].shape for i in range(3)] == [
            (3, 7, 12), (3, 5, 12), (3, 5, 12)
        ]  # fmt: skip
    told = inspect(capsys, model, "--verify", "vectors.npz")
    assert "The vectors are those in 'vectors.npz'" in told
    told = inspect(capsys, model, "--vectors", "vectors.npz", status=1)
    assert "'vectors.npz', which exists. To compare with it" in told
    # One weight differs slightly.
    elmo = make_elmo()
    kernel = elmo.encoder.forward_cells[0].kernel
    value = np.array(kernel)
    value[0, 0] += 0.05
    kernel.assign(value)
    elmo.save_to_bilm("model/options.json", "model/weights.hdf5")
    told = inspect(capsys, model, "--verify", "vectors.npz", status=1)
    assert "The vectors are not those in 'vectors.npz': the largest" in told
    told = json.loads(
        inspect(capsys, model, "--verify", "vectors.npz", "--json", status=1)
    )
    assert told["largest_difference"] > 1e-4
    write(num_layers=1)
    told = inspect(capsys, model, "--verify", "vectors.npz", status=1)
    assert "shape is (2, 7, 12), the file's is (3, 7, 12)" in told


def test_vectors_that_overflow_are_not_verified(model, capsys, monkeypatch):
    inspect(capsys, model, "--vectors", "vectors.npz")
    embed = inspect_vectors._embed

    def overflow(inspection):
        *vectors, last = embed(inspection)
        last[1, 0] = np.nan
        return [*vectors, last]

    monkeypatch.setattr(inspect_vectors, "_embed", overflow)
    told = inspect(capsys, model, "--verify", "vectors.npz", status=1)
    assert "The vectors are not those" in told
    assert "the largest difference is nan" in told


def test_vectors_of_a_model_of_many_langs(shared, tmp_path, capsys):
    path = str(shared / "reference/elmo_for_many_langs/char_and_word")
    vectors = str(tmp_path / "vectors.npz")
    inspect(capsys, path, "--vectors", vectors)
    told = inspect(capsys, path, "--verify", vectors)
    assert "The vectors are those in" in told


def test_vectors_that_cannot_be_had(model, capsys):
    for arguments, told in [
        ((model, "--verify", "nowhere.npz"), "--verify must be a file that"),
        ((model, "--verify", "model/options.json"), "--verify must be a file"),
        (
            ("model/options.json", "--vectors", "v"),
            "it is not a model that embeds words",
        ),
        (("nowhere", "--vectors", "v"), "see above"),
    ]:
        assert told in inspect(capsys, *arguments, status=1)


@pytest.mark.parametrize("arguments", [(), ("a", "--vectors"), ("a", "--no")])
def test_wrong_usage(arguments, capsys):
    with pytest.raises(SystemExit) as info:
        main(["inspect", *arguments])
    assert info.value.code == 2


def test_help_teaches(capsys):
    with pytest.raises(SystemExit):
        main(["inspect", "--help"])
    shown = " ".join(capsys.readouterr().out.split())
    assert "keras-elmo inspect my_elmo --verify vectors.npz" in shown
    assert "1e-4 of the largest value in its layer" in shown
