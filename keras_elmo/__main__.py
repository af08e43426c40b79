"""`python -m keras_elmo` is `keras-elmo`."""

import sys

from keras_elmo.commands.main import main

sys.exit(main())
