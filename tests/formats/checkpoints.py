"""Checkpoints as TensorFlow 1 writes them."""

import numpy as np


def write_checkpoint(folder, arrays, name="model.ckpt-7", state=None):
    """Writes arrays by name, and the file `checkpoint` of the folder."""
    import tensorflow as tf

    folder.mkdir(exist_ok=True)
    names = sorted(arrays)
    tf.raw_ops.SaveV2(
        prefix=str(folder / name),
        tensor_names=names,
        shape_and_slices=[""] * len(names),
        tensors=[np.asarray(arrays[name]) for name in names],
    )
    text = f'model_checkpoint_path: "{state or name}"\n'
    (folder / "checkpoint").write_text(text)
    return folder / name
