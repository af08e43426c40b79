import os

import keras

from keras_elmo.choices import QUANTIZATIONS
from keras_elmo.files.atomic import write_atomically
from keras_elmo.layers.elmo_layer import ElmoLayer
from keras_elmo.ops.arguments import check_choice


def export_onnx(
    model: keras.layers.Layer,
    path: str | os.PathLike,
    quantize: str | None = None,
) -> None:
    """Writes an `ElmoLayer` or a tagger to an ONNX file, for onnxruntime.

    The file takes `ids`, int32 `(batch, time, chars)`, as `batch_to_ids` makes
    them: padding is zero, and on the right. Any number of sentences and words
    is taken, none included; ids out of range get an error. Nothing else than
    onnxruntime and NumPy is needed to run it.

    What comes out of an `ElmoLayer` is what the `character_ids` signature of
    `export_saved_model` gives, in float32 and under the same names: `word_emb`,
    `lstm_outputs1`, `lstm_outputs2` and so on, `elmo`, and `default`, the mean
    of `elmo` over the words. Further representations are `elmo_1`, `elmo_2` and
    so on; of a layer with `return_all_layers`, `elmo` is the layers' average. A
    stateful layer is exported stateless.

    A tagger is a Functional or Sequential model that starts with an `ElmoLayer`
    and goes on with `Dense`, `LSTM`, `Bidirectional`, `Concatenate` and dropout
    layers, `CRF` and `CRFDecoder`. Its own outputs come out, under the names of
    their layers. All outputs are zero at padding.

    With `quantize="int8"` ELMo's large kernels, those of the highways, the
    projections and the LSTMs, have 8 bits, in blocks of 128 that share a scale,
    and so have the vectors that they are multiplied with. It is for single
    sentences and small batches on processors that multiply 8-bit integers
    (AVX-512 VNNI, for one). It uses `MatMulNBits`, an operator of onnxruntime's
    own; all others are of the ONNX standard, operator set 18.

    Args:
        model: An `ElmoLayer` with a `CharCNNEmbedding`, or a tagger with one.
        path: Path of the file to write, such as `"elmo.onnx"`. It is written
            whole or not at all; one that is there is replaced.
        quantize: `None` for float32, or `"int8"`.

    Raises:
        ValueError: If the model is no such one, ELMo has an activation other
            than `"relu"`, `"sigmoid"` and `"tanh"`, or there are weights of 2
            GB or more, which no ONNX file holds.
        ImportError: If the package `onnx` is not installed.
        OSError: If it cannot be written, as on a full disk.

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
            "`model` must be an `ElmoLayer` or a Keras model. "
            f"Received: model={model!r}"
        )
    try:
        import onnx
    except ImportError as error:
        raise ImportError(
            "`export_onnx` needs the package onnx: pip install onnx"
        ) from error
    from keras_elmo.onnx import products
    from keras_elmo.onnx.elmo_model import elmo_model
    from keras_elmo.onnx.tagger_model import tagger_model

    make_model = elmo_model if isinstance(model, ElmoLayer) else tagger_model
    exported = make_model(
        model, products.block_product if quantize else products.float_product
    )
    write_atomically(path, lambda temporary: onnx.save(exported, temporary))
