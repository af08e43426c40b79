"""Published biLMs, by name."""

from typing import NamedTuple

from keras_elmo.formats.downloads import download

_BASE = "https://s3-us-west-2.amazonaws.com/allennlp/models/elmo"


class Preset(NamedTuple):
    """A published model."""

    options_url: str
    weights_url: str
    megabytes: int
    """Size of the weight file, by its parameter count in float32."""
    licence: str
    description: str


def _preset(path, suffix, megabytes, description, licence):
    return Preset(
        f"{_BASE}/{path}_options.json",
        f"{_BASE}/{path}_weights{suffix}.hdf5",
        megabytes,
        licence,
        description,
    )


# bilm-tf and AllenNLP, whose project published the files, are Apache 2.0; the
# pages that list the weights name no licence for them.
_ALLENNLP = "none stated for the weights; published by AllenNLP (Apache 2.0)"
_CONTRIBUTED = "none stated for the weights; contributed to AllenNLP"

PRESETS = {
    "original": _preset(
        "2x4096_512_2048cnn_2xhighway/elmo_2x4096_512_2048cnn_2xhighway",
        "",
        375,
        "English, 1 Billion Word Benchmark; 93.6 M parameters, 1024 wide",
        _ALLENNLP,
    ),
    "5.5B": _preset(
        "2x4096_512_2048cnn_2xhighway_5.5B/"
        "elmo_2x4096_512_2048cnn_2xhighway_5.5B",
        "",
        375,
        "English, Wikipedia and news, 5.5 B tokens; 93.6 M parameters, "
        "1024 wide",
        _ALLENNLP,
    ),
    "medium": _preset(
        "2x2048_256_2048cnn_1xhighway/elmo_2x2048_256_2048cnn_1xhighway",
        "",
        112,
        "English, 1 Billion Word Benchmark; 28.0 M parameters, 512 wide",
        _ALLENNLP,
    ),
    "small": _preset(
        "2x1024_128_2048cnn_1xhighway/elmo_2x1024_128_2048cnn_1xhighway",
        "",
        55,
        "English, 1 Billion Word Benchmark; 13.6 M parameters, 256 wide",
        _ALLENNLP,
    ),
    "portuguese": _preset(
        "contributed/pt/elmo_pt",
        "",
        375,
        "Portuguese; 93.6 M parameters, 1024 wide",
        _CONTRIBUTED,
    ),
    "pubmed": _preset(
        "contributed/pubmed/elmo_2x4096_512_2048cnn_2xhighway",
        "_PubMed_only",
        375,
        "English, PubMed abstracts; 93.6 M parameters, 1024 wide",
        _CONTRIBUTED,
    ),
}


def download_preset(name):
    """Downloads a published model, unless it is there already.

    Args:
        name: A key of `PRESETS`.

    Returns:
        The paths of the options file and of the weight file.

    Raises:
        ValueError: If there is no such name.
        OSError: If a download fails.
    """
    if not isinstance(name, str) or name not in PRESETS:
        raise ValueError(
            f"There is no preset of that name. Expected one of "
            f"{sorted(PRESETS)}. Received: {name!r}"
        )
    preset = PRESETS[name]
    return (
        download(preset.options_url, name, "options.json"),
        download(preset.weights_url, name, "weights.hdf5"),
    )
