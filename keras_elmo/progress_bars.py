"""Where Keras' progress bars can be shown."""

import sys


def shows_bars() -> bool:
    """Whether standard output is a terminal or a notebook.

    A bar is rewritten in place, which only these can show. Elsewhere, such as
    in a file, Keras writes each of its states, with control characters.
    """
    import keras  # All may use this module, also before Keras is imported.

    is_terminal = getattr(sys.stdout, "isatty", bool)()
    is_shown = keras.config.is_interactive_logging_enabled()
    return is_shown and (is_terminal or "ipykernel" in sys.modules)
