import argparse
import sys
import warnings

import keras_elmo
from keras_elmo.commands import embed
from keras_elmo.commands import embed_arguments


def main(argv=None):
    """Runs the command `keras-elmo`; returns its exit status."""
    arguments = _make_parser().parse_args(argv)
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        try:
            arguments.run(arguments)
        except KeyboardInterrupt:
            _say("interrupted; run the same command again to go on.")
            return 130
        except (ValueError, OSError, ImportError) as error:
            _say(f"error: {error}")
            return 1
    return 0


def _make_parser():
    parser = argparse.ArgumentParser(
        prog="keras-elmo", description="ELMo on the command line."
    )
    parser.add_argument(
        "--version", action="version", version=keras_elmo.__version__
    )
    commands = parser.add_subparsers(
        title="commands", metavar="COMMAND", required=True
    )
    embed_arguments.add_parser(commands, embed.run)
    return parser


def _show_warning(message, *_):
    _say(f"warning: {message}")


def _say(text):
    text = str(text).replace("\n", " ")
    print(f"keras-elmo: {text}", file=sys.stderr)
