import argparse
import importlib
import sys
import warnings

import keras_elmo
from keras_elmo.commands import convert_arguments
from keras_elmo.commands import embed_arguments
from keras_elmo.commands import export_arguments
from keras_elmo.commands import inspect_arguments
from keras_elmo.commands import perplexity_arguments
from keras_elmo.commands import pretrain_arguments
from keras_elmo.commands.short_text import shorten

_COMMANDS = {
    "embed": embed_arguments,
    "pretrain": pretrain_arguments,
    "perplexity": perplexity_arguments,
    "convert": convert_arguments,
    "export": export_arguments,
    "inspect": inspect_arguments,
}


def main(argv=None):
    """Runs the command `keras-elmo`; returns its exit status."""
    arguments = _parse(argv)
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        try:
            return arguments.run(arguments) or 0
        except KeyboardInterrupt:
            _say("interrupted; run the same command again to go on.")
            return 130
        except (ValueError, OSError, ImportError) as error:
            _say(f"error: {error}")
            return 1


def _parse(argv):
    parser, commands = _make_parser()
    arguments, unknown = parser.parse_known_args(argv)
    if unknown:  # With the usage of the command that was meant.
        commands.choices[arguments.command].error(
            f"unrecognized arguments: {' '.join(unknown)}"
        )
    return arguments


def _make_parser():
    parser = argparse.ArgumentParser(
        prog="keras-elmo", description="ELMo on the command line."
    )
    parser.add_argument(
        "--version", action="version", version=keras_elmo.__version__
    )
    commands = parser.add_subparsers(
        title="commands", dest="command", metavar="COMMAND", required=True
    )
    for name, module in _COMMANDS.items():
        module.add_parser(commands, _runner(name))
    return parser, commands


def _runner(name):
    """Returns a function that runs a command, whose module it imports."""

    def run(arguments):
        importlib.import_module("keras_elmo.quiet_start")
        module = importlib.import_module(f"keras_elmo.commands.{name}")
        return module.run(arguments)

    return run


def _show_warning(message, *_):
    _say(f"warning: {message}")


def _say(text):
    text = shorten(str(text).replace("\n", " "))
    print(f"keras-elmo: {text}", file=sys.stderr)
