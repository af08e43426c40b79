"""What a file or folder is, which need not be a good one."""

from keras_elmo.inspection.inspect_path import inspect_path
from keras_elmo.inspection.inspection import Inspection

__all__ = ["Inspection", "inspect_path"]
