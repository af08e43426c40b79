"""What a file or folder is, which need not be a good one."""

from keras_elmo.inspection.finding import Finding
from keras_elmo.inspection.inspect_path import inspect_path

__all__ = ["Finding", "inspect_path"]
