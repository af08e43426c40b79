"""Reports what a file or folder is, even if it is corrupt."""

from keras_elmo.inspection.inspect_path import inspect_path
from keras_elmo.inspection.inspection import Inspection

__all__ = ["Inspection", "inspect_path"]
