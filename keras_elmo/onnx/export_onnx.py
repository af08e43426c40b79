import os

import keras

from keras_elmo.checks import check_choice
from keras_elmo.checks import needs_packages
from keras_elmo.choices import QUANTIZATIONS
from keras_elmo.files.atomic import write_atomically
from keras_elmo.layers.elmo_layer import ElmoLayer
from keras_elmo.models.word_model import TagNames
from keras_elmo.models.word_model import refuse_tag_names


def export_onnx(
    model: keras.layers.Layer,
    path: str | os.PathLike,
    *,
    quantize: str | None = None,
    tag_names: TagNames | None = None,
    overwrite: bool = False,
) -> None:
    """Exports an `ElmoLayer` or a model with one as an ONNX file.

    The exported model takes `ids`, int32 `(batch, time, chars)`, as returned by
    `batch_to_ids`: rows of zeros are padding, wherever they are. Any number of
    sentences and words is allowed, including none; ids out of range raise an
    error. To run it, only onnxruntime and NumPy are needed.

    The outputs of an `ElmoLayer` are those of the `character_ids` signature of
    `export_saved_model`, in float32 and with the same names: `word_emb`,
    `lstm_outputs1`, `lstm_outputs2` and so on, `elmo`, and `default`, the mean
    of `elmo` over the words. Further representations are `elmo_1`, `elmo_2` and
    so on. For a layer with `return_all_layers`, `elmo` is the average of the
    layers.

    A tagger or a classifier is a Functional or Sequential model that starts
    with an `ElmoLayer`, alone or next to `WordVectors`, and continues with
    `Dense`, `LSTM`, `Bidirectional`, `Concatenate` and dropout layers,
    `SentencePooling`, `CRF` and `CRFDecoder`. The outputs are those of the
    model, named after their layers: label ids from a `CRFDecoder`, floats from
    the others, which after a `SentencePooling` have the shape `(batch, n)`. All
    others are zero at padding. The labels are in the file's metadata, as a JSON
    list named `<output>_tag_names`. Each layer must have the mask of the ids.
    This is checked on random words.

    With `quantize="int8"`, ELMo's large kernels (of the highways, projections
    and LSTMs) have 8 bits, with one scale per block of 128, and so have the
    vectors they are multiplied with. This is for single sentences and small
    batches on processors with 8-bit integer multiplication (such as AVX-512
    VNNI). It uses `MatMulNBits`, a custom operator of onnxruntime; all other
    operators belong to the ONNX standard, operator set 18.

    Args:
        model: An `ElmoLayer` with a `CharCNNEmbedding`, or a tagger or a
            classifier with one.
        path: Path of the file to write, atomically, such as `"elmo.onnx"`.
        quantize: `None` for float32, or `"int8"`.
        tag_names: List of strings, the labels that the model
            returns, in order; for a model with several outputs, a dictionary
            from an output's name to such a list. Not needed for a `CRFDecoder`
            with `tag_names`.
        overwrite: Boolean, whether to replace a file at `path`, once the new
            one is written.

    Raises:
        FileExistsError: If there is a file, and `overwrite` is not set.
        ValueError: If the model is not as described, a layer has another mask
            or none, ELMo has an activation other than `"relu"`, `"sigmoid"` and
            `"tanh"`, or the weights take 2 GB or more, the limit of an ONNX
            file.
        ImportError: If the package `onnx` is not installed.
        OSError: If the file cannot be written, for example on a full disk.

    Example:

    >>> elmo = ElmoLayer(
    ...     CharCNNEmbedding(8, filters=[(1, 4), (2, 12)]),
    ...     BiLMEncoder(units=16, projection_dim=8),
    ... )
    >>> export_onnx(elmo, "elmo.onnx", quantize="int8")
    >>> import onnxruntime
    >>> session = onnxruntime.InferenceSession("elmo.onnx")
    >>> ids = batch_to_ids([["First", "sentence", "."]])
    >>> session.run(["elmo"], {"ids": ids})[0].shape
    (1, 3, 16)
    """
    check_choice("quantize", quantize, QUANTIZATIONS)
    if not isinstance(model, (ElmoLayer, keras.Model)):
        raise ValueError(
            "`model` must be an `ElmoLayer` or a Keras model, such as "
            "`ElmoLayer.from_preset(name)` or `Tagger.load(path).model`. "
            f"Received: model={model!r}"
        )
    with needs_packages("`export_onnx`", "onnx"):
        import onnx
    from keras_elmo.onnx import products
    from keras_elmo.onnx.elmo_model import elmo_model
    from keras_elmo.onnx.tagger_model import tagger_model

    product = products.block_product if quantize else products.float_product

    def write(temporary):
        if isinstance(model, ElmoLayer):
            refuse_tag_names(tag_names)
            exported = elmo_model(model, product)
        else:
            exported = tagger_model(model, product, tag_names)
        onnx.save(exported, temporary)

    write_atomically(path, write, overwrite)
