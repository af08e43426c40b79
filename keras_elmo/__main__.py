"""Makes `python -m keras_elmo` the same as `keras-elmo`."""

import sys

from keras_elmo.commands.main import main

sys.exit(main())
