"""Runs exported ONNX files."""

import onnxruntime


def open_session(file):
    """Opens a file, given by its path or its bytes."""
    onnxruntime.set_default_logger_severity(4)  # Errors are raised anyway.
    return onnxruntime.InferenceSession(file)


def answer(session, **inputs):
    """Returns a dictionary of the outputs."""
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, inputs)))
