"""The command `keras-elmo`."""
