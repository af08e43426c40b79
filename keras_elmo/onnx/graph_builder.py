"""Builds an ONNX graph, operator by operator."""

import numpy as np
import onnx
from keras import ops
from onnx import helper
from onnx import numpy_helper

OPSET = 18
"""Version of the standard operators, supported by onnxruntime since 1.14."""
MICROSOFT = "com.microsoft"
"""Domain of onnxruntime's own operators, which other runtimes may lack."""


class GraphBuilder:
    """Creates nodes; values are identified by their names.

    Arrays, numbers and Keras variables among a node's inputs become constants.
    The bodies of loops are builders too. Constants belong to the whole model,
    so that a body can use constants created outside of it.

    Args:
        outer: For the body of a loop, the builder of the graph around it.
    """

    def __init__(self, outer=None):
        self._operators = []
        self._model = self if outer is None else outer._model
        if outer is None:
            self._constants = {}
            self._num_names = 0
            self._domains = set()

    def add(self, operator, *inputs, domain="", num_outputs=1, **attributes):
        """Adds a node; returns the name of its output, or a list of names."""
        outputs = [self._name(operator) for _ in range(num_outputs)]
        self._operators.append(
            helper.make_node(
                operator,
                [x if isinstance(x, str) else self.constant(x) for x in inputs],
                outputs,
                domain=domain,
                **attributes,
            )
        )
        self._model._domains.add(domain)
        return outputs[0] if num_outputs == 1 else outputs

    def cast(self, x, dtype):
        """Casts a value to a dtype, such as `"int64"`."""
        element_type = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return self.add("Cast", x, to=element_type)

    def constant(self, x):
        """Adds an array or a Keras variable to the model; returns its name."""
        name = self._name("constant")
        is_array = isinstance(x, (np.ndarray, np.generic))
        x = np.asarray(x) if is_array else as_array(x)
        self._model._constants[name] = x
        return name

    def sizes(self, x, begin, end):
        """The sizes of axes `begin` to `end - 1`: int64 `(axes,)`."""
        shape = self.add("Shape", x)
        return self.add("Slice", shape, np.array([begin]), np.array([end]))

    def positions(self, x):
        """0, 1, ... for `x` `(batch, time, ...)`: int64 `(time,)`."""
        time = self.add("Squeeze", self.sizes(x, 1, 2))
        return self.add("Range", np.int64(0), time, np.int64(1))

    def zero_state(self, x, size):
        """Zeros `(batch, size)`, for `x` `(time, batch, ...)`."""
        batch = self.sizes(x, 1, 2)
        shape = self.add("Concat", batch, np.array([size]), axis=0)
        return self.add("Expand", np.float32([[0]]), shape)

    def cut(self, x, begin, end, axis=1):
        """Drops `begin` slices at the start and `end` at the end of an axis."""
        if not begin and not end:
            return x
        stop = -end if end else np.iinfo("int64").max
        return self.add(
            "Slice", x, np.array([begin]), np.array([stop]), np.array([axis])
        )

    def scan(self, step, states, inputs, reverse=False):
        """Runs a step along the first axis of `inputs`.

        Args:
            step: From a builder, the list of states and the list of one step's
                inputs to the lists of the next states and of the step's
                outputs.
            states: List of float32 values, the initial states.
            inputs: List of float32 values `(time, ...)`.
            reverse: Boolean, whether to start from the end. The outputs are in
                the order of the inputs.

        Returns:
            The list of the last states and the list of the outputs
            `(time, ...)`.
        """
        body = GraphBuilder(self)
        taken = [self._name("step_input") for _ in [*states, *inputs]]
        new_states, outputs = step(
            body, taken[: len(states)], taken[len(states) :]
        )
        # A body must not return the same value twice.
        outputs = [body.add("Identity", x) for x in outputs]
        results = [*new_states, *outputs]
        found = self.add(
            "Scan",
            *states,
            *inputs,
            num_outputs=len(results),
            num_scan_inputs=len(inputs),
            scan_input_directions=[int(reverse)] * len(inputs),
            scan_output_directions=[int(reverse)] * len(outputs),
            body=body._graph(
                "step", map(_declared, taken), map(_declared, results)
            ),
        )
        found = [found] if isinstance(found, str) else found
        return found[: len(states)], found[len(states) :]

    def model(self, name, inputs, outputs, metadata=None):
        """Checks and returns the model.

        Args:
            name: String, the graph's name.
            inputs: Dictionary from names to pairs of a dtype and a shape, a
                list of integers, or of names for unknown sizes.
            outputs: Dictionary from names to triples of a value, its dtype and
                its shape.
            metadata: Dictionary of strings to store with the model, or `None`.

        Raises:
            ValueError: If the model is too large for a file.
        """
        for output, (value, *_) in outputs.items():
            self._operators.append(
                helper.make_node("Identity", [value], [output])
            )
        size = sum(array.nbytes for array in self._constants.values())
        if size >= onnx.checker.MAXIMUM_PROTOBUF:
            raise ValueError(
                "An ONNX file holds at most 2 GB: export with "
                '`quantize="int8"`, or a smaller model. '
                f"Received: weights of {size / 2**30:.1f} GiB"
            )
        graph = self._graph(
            name,
            [_declared(name, *spec) for name, spec in inputs.items()],
            [_declared(name, *spec) for name, (_, *spec) in outputs.items()],
        )
        graph.initializer.extend(
            numpy_helper.from_array(array, key)
            for key, array in self._constants.items()
        )
        versions = {"": OPSET, MICROSOFT: 1}
        model = helper.make_model(
            graph,
            producer_name="keras-elmo",
            ir_version=8,  # As old as the operators.
            opset_imports=[
                helper.make_opsetid(domain, versions[domain])
                for domain in sorted(self._domains | {""})
            ],
        )
        helper.set_model_props(model, metadata or {})
        onnx.checker.check_model(model)
        return model

    def _graph(self, name, inputs, outputs):
        return helper.make_graph(self._operators, name, inputs, outputs)

    def _name(self, op_type):
        self._model._num_names += 1
        # No layer of Keras has a slash in its name, which an output may have.
        return f"{op_type}/{self._model._num_names}"


def as_array(variable):
    """The value of a Keras variable, or of a tensor, in float32."""
    return ops.convert_to_numpy(ops.cast(variable, "float32"))


def _declared(name, dtype="float32", shape=None):
    """The declaration of a graph's input or output."""
    element_type = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    return helper.make_tensor_value_info(name, element_type, shape)
