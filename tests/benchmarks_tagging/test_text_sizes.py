"""`text_sizes.py`, on scores as `experiments.py` writes them."""

import json

import pytest
import text_sizes


def write_scores(path, **trainings):
    """Writes two seeds for each training, the second with twice the score."""
    runs = {
        name.replace("_", "-"): [
            {"seed": 1, "test": {"score": score}},
            {"seed": 2, "test": {"score": 2 * score}},
        ]
        for name, score in trainings.items()
    }
    path.write_text(json.dumps({"measure": "f1", "trainings": runs}))
    return path


@pytest.fixture
def names(tmp_path):
    return [
        write_scores(tmp_path / "names_5.json", elmo_both=0.2),
        write_scores(tmp_path / "names_20.json", elmo_both=0.3, baseline=0.1),
    ]


@pytest.fixture
def parts_of_speech(tmp_path):
    with_elmo = {"elmo_1": 0.35, "elmo_10": 0.4, "elmo_100": 0.45}
    without = {"baseline_1": 0.3, "baseline_10": 0.35, "baseline_100": 0.4}
    return [
        write_scores(tmp_path / "pos_5.json", **with_elmo),
        write_scores(tmp_path / "pos_20.json", **with_elmo, **without),
    ]


def test_seeds_are_read_and_the_last_file_has_the_baseline(names):
    curves, baselines = text_sizes.panel(names, text_sizes.NAMES)
    assert curves == {"entities": [[0.2, 0.4], [0.3, 0.6]]}
    assert baselines == {"entities": [0.1, 0.2]}


def test_a_training_that_a_file_lacks_is_not_drawn(parts_of_speech, tmp_path):
    first = write_scores(tmp_path / "pos_1.json", elmo_1=0.2, elmo_10=0.3)
    files = [first, *parts_of_speech]
    curves, baselines = text_sizes.panel(files, text_sizes.PARTS_OF_SPEECH)
    assert [*curves] == [*baselines] == ["10%", "1%"]


def test_the_picture(names, parts_of_speech, tmp_path):
    pytest.importorskip(
        "matplotlib", reason="matplotlib, of `benchmarks`, is not installed."
    )
    picture = tmp_path / "text_sizes.png"
    files = ["--names", *names, "--parts-of-speech", *parts_of_speech]
    text_sizes.main([str(picture), "--tokens", "5", "20", *map(str, files)])
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_missing_file_is_told(names, capsys):
    arguments = ["p.png", "--tokens", "5", "20", "--names", *map(str, names)]
    with pytest.raises(SystemExit):
        text_sizes.main([*arguments, "--parts-of-speech", str(names[0])])
    message = "one value for each biLM. Received: 2, 2 and 1"
    assert message in " ".join(capsys.readouterr().err.split())
