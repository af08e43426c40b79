import contextlib
import os

import keras

from keras_elmo.checks import check_choice
from keras_elmo.choices import SIGNATURES
from keras_elmo.files.atomic import check_folder
from keras_elmo.files.atomic import write_folder_atomically
from keras_elmo.layers.elmo_layer import ElmoLayer
from keras_elmo.models.word_model import TagNames
from keras_elmo.models.word_model import refuse_tag_names
from keras_elmo.ops.backends import backend
from keras_elmo.ops.private_keras import sublayers
from keras_elmo.serving.elmo_outputs import ElmoOutputs
from keras_elmo.serving.model_outputs import ModelOutputs


def export_saved_model(
    model: keras.layers.Layer,
    path: str | os.PathLike,
    *,
    serving_default: str = "default",
    tag_names: TagNames | None = None,
    overwrite: bool = False,
) -> None:
    """Exports a SavedModel that takes strings, for TensorFlow Serving.

    It has three signatures with different inputs:

    - `default`: `strings` `(batch,)`, sentences, each split on runs of
      ASCII's white space.
    - `tokens`: `tokens` `(batch, max_len)`, words; and `sequence_len`, int32
      `(batch,)`, the number of words in each sentence. Everything after them is
      padding; a `""` among them is an empty word.
    - `character_ids`: `ids`, int32 `(batch, time, chars)`, as returned by
      `batch_to_ids`; or, for token encoders other than `CharCNNEmbedding`, as
      returned by their `make_vectorization()`.

    The outputs of an `ElmoLayer` have the names of TF-Hub's `google/elmo/3`:
    `word_emb` `(batch, time, projection)`, the words' vectors without context;
    `lstm_outputs1`, `lstm_outputs2` and so on, the biLM's layers; `elmo`, their
    learned mix, each `(batch, time, 2 * projection)`; and `default` `(batch, 2
    * projection)`, the mean of `elmo` over the words. All are zero at padding.
    Further representations are `elmo_1`, `elmo_2` and so on. For a layer with
    `return_all_layers`, `elmo` is the average of the layers.

    Other models return their own outputs under their own names (a second output
    of the same layer gets the suffix `_1`). Their signature `default` also
    returns `tokens`, the words, with `""` at padding. At padding, the outputs
    are whatever the model returns there.

    Floats are returned in float32. Any number of sentences and words is
    allowed, including none. Nothing is kept between requests: stateful layers
    are exported as stateless. Invalid requests (wrong dtype or rank, a
    `sequence_len` that is negative or greater than `max_len`, ids out of range)
    get an error.

    Args:
        model: An `ElmoLayer`; or a Keras model with one input, character ids of
            shape `(batch, time, chars)`, or the ids of another token encoder in
            it.
        path: Path of the folder to write, atomically. TensorFlow Serving takes
            folders whose names are version numbers, such as `served/elmo/1`.
        serving_default: The signature for requests that name none: `"default"`,
            `"tokens"` or `"character_ids"`.
        tag_names: List of strings, the labels or classes that the
            model returns, in order; for a model with several outputs, a
            dictionary from an output's name to such a list. The output must be
            integers `(batch, time)` or `(batch,)`, or scores (one more axis):
            then the tag with the highest score is returned. The predicted names
            are returned as `<output>_labels`, with `""` at padding. Not needed
            for a model that ends in a `CRFDecoder` with `tag_names`.
        overwrite: Boolean, whether to replace a SavedModel at `path`, once the
            new one is written.

    Raises:
        FileExistsError: If there is a folder with files, and `overwrite` is not
            set.
        ValueError: If the model takes anything other than ids as described, or
            an argument is not as described.
        OSError: If it cannot be written, for example on a full disk.
        RuntimeError: On Keras' JAX or PyTorch backend.

    Example:

    >>> elmo = ElmoLayer.from_bilm("options.json", "weights.hdf5")
    >>> export_saved_model(elmo, "served/elmo/1")
    >>> import tensorflow as tf
    >>> served = tf.saved_model.load("served/elmo/1").signatures["default"]
    >>> vectors = served(strings=tf.constant(["First sentence .", "Another ."]))
    >>> tuple(vectors["elmo"].shape)
    (2, 3, 12)
    """
    if not backend().has_strings:
        raise RuntimeError(
            "A SavedModel can only be exported on Keras' TensorFlow backend. "
            f"Received: backend='{backend().name}'"
        )
    check_choice("serving_default", serving_default, SIGNATURES)
    check_folder(path, overwrite)
    # They need TensorFlow.
    import tensorflow as tf

    from keras_elmo.serving.endpoints import make_endpoints

    endpoints = make_endpoints(_outputs(model, tag_names))

    def write(temporary):
        archive = keras.export.ExportArchive()
        with _stateless(model):
            # The first signature becomes the default.
            for name in sorted(SIGNATURES, key=serving_default.__ne__):
                archive.add_endpoint(name, *endpoints[name])
            # `archive.track` would store the variables a second time.
            try:
                archive.write_out(temporary, verbose=False)
            except tf.errors.OpError as error:
                raise OSError(
                    f"'{path}' cannot be written: {error.message}"
                ) from error

    write_folder_atomically(path, write, ("saved_model.pb",), overwrite)


@contextlib.contextmanager
def _stateless(layer):
    """Context in which `layer` and its stateful sublayers are stateless."""
    with contextlib.ExitStack() as stack:
        for part in (layer, *sublayers(layer)):
            if getattr(part, "stateful", False) is True:
                stack.callback(setattr, part, "stateful", True)
                part.stateful = False
        yield


def _outputs(model, tag_names):
    if isinstance(model, ElmoLayer):
        refuse_tag_names(tag_names)
        return ElmoOutputs(model)
    if isinstance(model, keras.Model):
        return ModelOutputs(model, tag_names)
    raise ValueError(
        "`model` must be an `ElmoLayer` or a Keras model, such as "
        "`ElmoLayer.from_preset(name)` or `Tagger.load(path).model`. "
        f"Received: {model!r}"
    )
