"""Names of trained biLMs, published ones and those inside the package."""

import os
from typing import NamedTuple

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_BASE = "https://s3-us-west-2.amazonaws.com/allennlp/models/elmo"


class Preset(NamedTuple):
    """A trained model, on the web or inside the package."""

    options_url: str | None
    """`None` for a model inside the package."""
    weights_url: str | None
    """`None` for a model inside the package."""
    megabytes: int
    """Size of the weight file; for models on the web, computed from the number
    of parameters in float32."""
    license: str
    description: str
    path: str | None = None
    """The folder of a model inside the package: `options.json`,
    `weights.hdf5`, and for the language model `softmax.hdf5` and
    `vocab.txt`."""
    sha256: str | None = None
    """Checksum of the weight file, where it is known."""


class TaggerPreset(NamedTuple):
    """A tagger inside the package."""

    head: str
    """The `.keras` file of the layers after ELMo: a Functional model of the
    vectors `(batch, time, width)` and their mask `(batch, time)`."""
    elmo: str
    """The ELMo that the vectors come from, a key of `PRESETS`."""


# The projects that published the files, bilm-tf and AllenNLP, are Apache 2.0;
# the pages that list the weights state no licence for them.
_ALLENNLP = "none stated for the weights; published by AllenNLP (Apache 2.0)"
_CONTRIBUTED = "none stated for the weights; contributed to AllenNLP"


def _published(
    path, megabytes, description, suffix="", license=_ALLENNLP, sha256=None
):
    return Preset(
        f"{_BASE}/{path}_options.json",
        f"{_BASE}/{path}_weights{suffix}.hdf5",
        megabytes,
        license,
        description,
        sha256=sha256,
    )


PRESETS = {
    "english_mini": Preset(
        None,
        None,
        11,
        "Apache 2.0; the text's licences are in the model's card",
        "English novels, encyclopedia, talk, textbooks, chat and web, 60 M "
        "tokens; 5.4 M parameters, 512 wide",
        os.path.join(_PACKAGE, "presets/english_mini"),
    ),
    "original": _published(
        "2x4096_512_2048cnn_2xhighway/elmo_2x4096_512_2048cnn_2xhighway",
        374,
        "English, 1 Billion Word Benchmark; 93.6 M parameters, 1024 wide",
    ),
    "5.5B": _published(
        "2x4096_512_2048cnn_2xhighway_5.5B/"
        "elmo_2x4096_512_2048cnn_2xhighway_5.5B",
        374,
        "English, Wikipedia and news, 5.5 B tokens; 93.6 M parameters, "
        "1024 wide",
    ),
    "medium": _published(
        "2x2048_256_2048cnn_1xhighway/elmo_2x2048_256_2048cnn_1xhighway",
        112,
        "English, 1 Billion Word Benchmark; 28.0 M parameters, 512 wide",
    ),
    "small": _published(
        "2x1024_128_2048cnn_1xhighway/elmo_2x1024_128_2048cnn_1xhighway",
        54,
        "English, 1 Billion Word Benchmark; 13.6 M parameters, 256 wide",
        # From the Git LFS pointer in why2011btv/tf_1.2.0_event on GitHub.
        sha256="747ba97abce8a5f446558369e10bb0f7931437a46867476fdd156f5d7f576229",
    ),
    "portuguese": _published(
        "contributed/pt/elmo_pt",
        374,
        "Portuguese; 93.6 M parameters, 1024 wide",
        license=_CONTRIBUTED,
    ),
    "pubmed": _published(
        "contributed/pubmed/elmo_2x4096_512_2048cnn_2xhighway",
        374,
        "English, PubMed abstracts; 93.6 M parameters, 1024 wide",
        "_PubMed_only",
        _CONTRIBUTED,
    ),
}

TAGGERS = {
    name: TaggerPreset(f"{_PACKAGE}/presets/{name}/head.keras", "english_mini")
    for name in ("english_pos", "english_names")
}
"""The taggers inside the package, by name."""


def download_preset(name):
    """Downloads a published model, unless it has been downloaded already.

    Args:
        name: A key of `PRESETS`.

    Returns:
        The path of its folder.

    Raises:
        OSError: If a download fails.
    """
    preset = PRESETS[name]
    if preset.path is not None:
        return preset.path
    # Imports Keras, which the table above does not need.
    from keras_elmo.files.fetch import download

    download(preset.options_url, name, "options.json")
    file = preset.weights_url, name, "weights.hdf5", preset.sha256
    return os.path.dirname(download(*file))
