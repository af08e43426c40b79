"""A biLM: its options, its weights, and whether the two fit."""

import json
import os

from keras_elmo.files.hdf5_files import open_hdf5
from keras_elmo.formats.bilm_files import bilm_shapes
from keras_elmo.formats.bilm_files import read_options
from keras_elmo.formats.bilm_options import parse_language_model_options
from keras_elmo.formats.weight_files import read_arrays
from keras_elmo.inspection.damage import tell_damage
from keras_elmo.inspection.finding import count_of
from keras_elmo.inspection.finding import size_of


def add_options(finding, path, label=None):
    """Adds what an options file says to a finding.

    Returns:
        The options as `parse_language_model_options` has them, or `None` if
        there is something wrong with them.
    """
    damage = tell_damage(path)
    if damage is not None:
        finding.problems.append(f"{os.path.basename(path)} {damage}")
        return None
    try:
        options = parse_language_model_options(read_options(path))
    except ValueError as error:
        finding.problems.append(str(error))
        return None
    _add_model_facts(finding, options, path)
    return options


def add_weights(finding, path, options, label=None):
    """Adds what a weight file holds, and whether it fits its options."""
    finding.facts["weights"] = (
        f"{os.path.basename(path)}, {size_of(os.path.getsize(path))}"
    )
    damage = tell_damage(path)
    if damage is not None:
        finding.problems.append(f"{os.path.basename(path)} {damage}")
        return
    if options is None:
        return
    shapes = bilm_shapes(options.token_encoder, options.encoder)
    try:
        arrays = read_arrays(path, shapes, label)
    except (ValueError, OSError) as error:
        finding.problems.append(str(error) + _remedy(path))
        return
    dtypes = ", ".join(sorted({str(a.dtype) for a in arrays.values()}))
    number = count_of(sum(array.size for array in arrays.values()))
    finding.facts["parameters"] = f"{number} ({dtypes})"


def _add_model_facts(finding, options, path):
    encoder = options.encoder
    with open(path, "rb") as file:
        text = json.load(file)
    if options.is_word_input:
        number = options.token_encoder["num_tokens"]
        finding.facts["input"] = f"numbers of words, of {number:,}"
    else:
        cnn = options.token_encoder
        number = text["char_cnn"]["n_characters"]
        finding.facts["input"] = (
            f"characters of words, {cnn['max_characters_per_token']} ids a "
            f"word (n_characters {number}: 261 and 262 are the same weights)"
        )
        finding.facts["character CNN"] = (
            f"{sum(n for _, n in cnn['filters']):,} filters, "
            f"highway layers: {cnn['num_highways']}, {cnn['activation']}"
        )
    finding.facts["LSTMs"] = (
        f"{encoder['num_layers']} layers in each direction, "
        f"{encoder['units']:,} units, projection {encoder['projection_dim']}"
        + (", skip connections" if encoder["use_skip_connections"] else "")
    )
    finding.facts["vectors"] = (
        f"{encoder['num_layers'] + 1} layers, "
        f"{2 * encoder['projection_dim']:,} wide"
    )


def _remedy(path):
    """A hint at a convention that a weight file does not keep to."""
    try:
        with open_hdf5(path) as (_, shapes):
            shape = shapes.get("char_embed")
    except (OSError, RuntimeError, KeyError, ValueError):
        return ""
    if shape and shape[0] == 262:
        return (
            " A weight file holds 261 rows of characters, whatever "
            "n_characters says: the 262nd, of padding, is zero and is added "
            "in front on loading. To mend it, leave out row 0 if it is zeros."
        )
    return ""
