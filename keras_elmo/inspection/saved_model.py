"""SavedModels: this package's, TF-Hub's and others."""

import os

from keras_elmo.formats.saved_models import read_signatures


def inspect_saved_model(inspection, path):
    """Reports on a SavedModel's folder."""
    inspection.what = "a SavedModel"
    try:
        found = read_signatures(path)
    except Exception as error:  # Errors of protocol buffers and of the disk.
        raise ValueError(f"saved_model.pb cannot be read: {error}") from error
    signatures = {
        name: list(signature.outputs)
        for name, signature in found.items()
        if signature.outputs and name != "serving_default"
    }
    outputs = sorted({key for keys in signatures.values() for key in keys})
    inspection.facts["signatures"] = ", ".join(signatures) or "none"
    inspection.facts["outputs"] = ", ".join(outputs) or "none"
    if set(signatures) >= {"default", "tokens", "character_ids"}:
        inspection.what = "a SavedModel of keras-elmo export"
    elif set(signatures) >= {"default", "tokens"} and "elmo" in outputs:
        inspection.what = "a SavedModel with the signatures of TF-Hub's elmo"
    if os.path.exists(os.path.join(path, "tfhub_module.pb")):
        raise ValueError(
            "It is for TensorFlow 1's hub library, and its weights cannot be "
            "read: use the same model from keras_elmo.PRESETS."
        )
    if not os.path.isfile(os.path.join(path, "variables", "variables.index")):
        raise ValueError("Its folder 'variables' is missing or empty.")
    for name in list(signatures)[-1:]:
        inspection.uses += [
            f'tf.saved_model.load("{path}").signatures["{name}"]',
            "TensorFlow Serving, on its parent folder, if its own name is a "
            "number",
        ]
