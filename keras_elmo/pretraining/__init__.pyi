# The one list of the public names of this package: `__init__.py` reads it.
from keras_elmo.pretraining.language_model_trainer import (
    LanguageModelTrainer as LanguageModelTrainer,
)
from keras_elmo.pretraining.language_model_windows import (
    LanguageModelWindows as LanguageModelWindows,
)
