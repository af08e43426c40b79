"""SavedModels: this package's, TF-Hub's and others."""

import os

from keras_elmo.inspection.finding import Finding
from keras_elmo.inspection.finding import size_of

_OURS = {"default", "tokens", "character_ids"}
_HUB = {"default", "tokens"}


def inspect_saved_model(path, names=None):
    """Returns the `Finding` of a SavedModel's folder."""
    names = os.listdir(path) if names is None else names
    finding = Finding(path, "a SavedModel")
    finding.facts["size"] = size_of(
        sum(
            os.path.getsize(os.path.join(place, name))
            for place, _, files in os.walk(path)
            for name in files
        )
    )
    if "saved_model.pb" not in names:
        finding.problems.append("Missing beside the rest: ['saved_model.pb']")
        return finding
    try:
        signatures = _read_signatures(os.path.join(path, "saved_model.pb"))
    except Exception as error:  # Those of protocol buffers and of the disk.
        finding.problems.append(f"saved_model.pb cannot be read: {error}")
        return finding
    finding.facts["signatures"] = ", ".join(signatures) or "none"
    outputs = sorted({key for keys in signatures.values() for key in keys})
    finding.facts["outputs"] = ", ".join(outputs) or "none"
    variables = os.path.join(path, "variables")
    if not os.path.isfile(os.path.join(variables, "variables.index")):
        finding.problems.append("Its folder 'variables' is not there or empty.")
    if "tfhub_module.pb" in names:
        finding.what = "a module of TF-Hub, a SavedModel of TensorFlow 1"
        finding.problems.append(
            "It is for TensorFlow 1's hub library, and its weights are not "
            "read: take the same model from keras_elmo.PRESETS."
        )
    elif set(signatures) >= _OURS:
        finding.what = "a SavedModel of keras-elmo export"
    elif set(signatures) >= _HUB and "elmo" in outputs:
        finding.what = "a SavedModel with the signatures of TF-Hub's elmo"
    if signatures and not finding.problems:
        name = "tokens" if "tokens" in signatures else next(iter(signatures))
        finding.uses += [
            f'tf.saved_model.load("{path}").signatures["{name}"]',
            "TensorFlow Serving, on the folder above it, if its own name is a "
            "number",
        ]
    return finding


def _read_signatures(path):
    """Returns the outputs' names of each signature, by its name."""
    from tensorflow.core.protobuf import saved_model_pb2

    with open(path, "rb") as file:
        saved = saved_model_pb2.SavedModel.FromString(file.read())
    return {
        name: list(signature.outputs)
        for name, signature in sorted(
            saved.meta_graphs[0].signature_def.items()
        )
        if signature.outputs and name != "serving_default"
    }
