"""All uses of the private API of Keras and its backends, with the reasons.

None of these has an equivalent in the public API. Tests cover all of them,
to detect versions of Keras that change one.
"""

import contextlib
import functools
import importlib
import inspect
import operator

import keras

# The versions of tests/oldest.txt, `make test-newest` and `make test-next`.
_TRIED = (
    "It works with Keras 3.12 to 3.15, and with the pre-release of 3.16 of "
    "October 2026: pip install 'keras>=3.12,<3.16'"
)


def get_mask(x):
    """Returns the mask attached to a tensor, or `None`.

    Keras passes it to `call` only for the first argument, and only if no other
    argument is a tensor. It is not always an attribute: JAX's traced tensors
    cannot have any.
    """
    return _private("backend.common.masking", "get_keras_mask")(x)


def in_stateless_scope():
    """Whether the variables' values are replaced.

    A graph compiled now would keep the replacements.
    """
    return _private("backend.common.stateless_scope", "in_stateless_scope")()


def sublayers(layer, recursive=True):
    """Returns the layers inside a layer, without the layer itself.

    In the public API, only models have this, as `Model.layers`.

    Args:
        layer: A Keras layer or model.
        recursive: Boolean, whether to include the layers inside those.
    """
    flatten = _private("layers.layer", "Layer._flatten_layers")
    return flatten(layer, include_self=False, recursive=recursive)


def layer_of(x):
    """Returns the layer that created a symbolic tensor.

    `Model.output_names` gives the names of these layers, not the layers.
    """
    return call_of(x)[0]


def call_of(x):
    """Returns the call that created a symbolic tensor.

    `Layer.input` and `Layer.output` are those of the layer's first call only.

    Returns:
        A tuple: the layer, or the operation of `keras.ops`; the dictionary of
        its arguments; all symbolic tensors in these, with their masks; and its
        outputs.
    """
    with _errors_name_the_version():
        layer, node_index, _ = x._keras_history
        node = layer._inbound_nodes[node_index]
        given = node.arguments
        call = inspect.signature(layer.call).bind(*given.args, **given.kwargs)
        return layer, call.arguments, node.input_tensors, node.outputs


def calls_above(x):
    """Yields the symbolic tensors that led to one, with the calls they are of.

    The public API has no way from a tensor to the calls above it.

    Args:
        x: Symbolic tensor.

    Yields:
        Tuples of a tensor, and what `call_of` returns for it; those nearest to
        `x` first, and those inside a model that was called, too.
    """
    tensors, seen = [x], set()
    for tensor in tensors:  # Grows in the loop.
        if id(tensor) in seen or not hasattr(tensor, "_keras_history"):
            continue
        seen.add(id(tensor))
        layer, given, inputs, outputs = call_of(tensor)
        tensors += inputs
        # A model inside the model has calls of its own.
        i = list(map(id, outputs)).index(id(tensor))
        tensors += getattr(layer, "outputs", ())[i : i + 1]
        yield tensor, layer, given, inputs, outputs


def masks_above(x):
    """Yields the masks of all layer calls that led to a symbolic tensor.

    These are the masks that the calls were given and those of their outputs.

    Args:
        x: Symbolic tensor. Without a Functional model around it, there are no
            masks.

    Yields:
        Pairs of a mask and the layer's name, those nearest to `x` first.
    """
    for tensor, layer, given, *_ in calls_above(x):
        for mask in keras.tree.flatten([given.get("mask"), get_mask(tensor)]):
            if mask is not None:
                yield mask, layer.name


def refuse_h5(layer):
    """Raises `ValueError` if Keras is saving an .h5 file, its former format.

    Keras cannot load operations from it, and masks are made by operations. To
    be called by `get_config` of layers that make or need a mask.
    """
    attribute = _private("backend.common.global_state", "get_global_attribute")
    if attribute("use_legacy_config", False):
        raise ValueError(
            f"A model with layer '{layer.name}' cannot be saved as .h5, "
            "because Keras cannot load the operations that compute masks "
            'from such a file: use `model.save("model.keras")`. To save '
            "the weights alone, use `model.save_weights`."
        )


def more_is_better(metric):
    """Tells `EarlyStopping` and `ModelCheckpoint` that a metric should rise.

    With `mode="auto"`, they guess it only from the names of Keras' metrics.
    """
    metric._direction = "up"


def has_started_threads(backend):
    """Whether a backend of this process would wait for them after a fork.

    The public API of TensorFlow only raises errors for settings that then come
    too late. PyTorch has no such threads.

    Args:
        backend: `"tensorflow"`, `"jax"` or another name.
    """
    if backend == "tensorflow":
        from tensorflow.python.eager import context

        return context.context()._context_handle is not None
    if backend == "jax":
        from jax._src import xla_bridge

        return bool(xla_bridge._backends)
    return False


def is_tracing_for_xla():
    """Whether a `tf.function` with `jit_compile=True` is being traced.

    The public API does not tell.
    """
    import tensorflow as tf
    from tensorflow.python.ops import control_flow_util

    graph = tf.compat.v1.get_default_graph()
    return control_flow_util.GraphOrParentsInXlaContext(graph)


@functools.cache
def _private(module, name):
    """Imports a name when it is first used.

    The rest of the package works if another version of Keras lacks it.
    """
    with _errors_name_the_version():
        module = importlib.import_module(f"keras.src.{module}")
        return operator.attrgetter(name)(module)


@contextlib.contextmanager
def _errors_name_the_version():
    try:
        yield
    except (ImportError, AttributeError) as error:
        raise ImportError(
            f"This version of keras_elmo does not work with Keras "
            f"{keras.__version__}, whose internals differ ({error}). {_TRIED}"
        ) from error
