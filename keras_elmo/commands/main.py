import argparse
import importlib
import os
import re
import sys
import warnings

import keras_elmo
from keras_elmo.checks import named_by_flags
from keras_elmo.choices import STANDARD_STREAM

# Characters of a message: some libraries print a whole vocabulary.
_LONGEST = 1000
# As the backends call it, by the name of the error or in its message.
_OUT_OF_MEMORY = re.compile(
    "MemoryError|ResourceExhausted|OutOfMemory|RESOURCE_EXHAUSTED"
)
# The docstring of a command is its `--help`. This stands for its options there.
_OPTIONS = "[options]"
# The commands whose result is what they print.
_PRINTING = "inspect", "perplexity", "evaluate"
# Their modules have `SUMMARY`, `add_arguments` and `run`, which alone imports
# Keras.
_COMMANDS = (
    "embed",
    "tag",
    "train-tagger",
    "check-labels",
    "evaluate",
    "pretrain",
    "perplexity",
    "convert",
    "export",
    "inspect",
)


def main(argv=None):
    """Runs the command `keras-elmo`; returns its exit status."""
    arguments, flags = _parse(argv)
    # A word that the terminal cannot show must not end a finished job.
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")
    with warnings.catch_warnings(), named_by_flags(flags):
        warnings.showwarning = lambda message, *_: _say(f"warning: {message}")
        try:
            _open_standard_streams(arguments)
            importlib.import_module("keras_elmo.quiet_start")
            status = arguments.run(arguments) or 0
            sys.stdout.flush()  # A closed pipe raises its error here.
            return status
        except BrokenPipeError:  # For example, `head` has read enough.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 1
        except KeyboardInterrupt:
            _say(f"interrupted{_how_to_resume(arguments)}.")
            return 130
        except (ValueError, OSError, ImportError) as error:
            text = _without_tensorflow(error) or _without_number(error)
            _say(f"error: {text}")
            return 1
        except Exception as error:
            # TensorFlow has an error of its own for this.
            if not _OUT_OF_MEMORY.search(repr(error)):
                raise
            has_flag = hasattr(arguments, "batch_size")
            batches = (
                "a smaller --batch-size" if has_flag else "smaller batches"
            )
            _say(
                f"error: there is not enough memory. Use {batches} or a "
                f"smaller model. {error}"
            )
            return 1


def _parse(argv):
    """Returns the arguments, and what they are called on the command line."""
    argv = sys.argv[1:] if argv is None else argv
    parser, verbs = make_parser(argv)
    arguments, unknown = parser.parse_known_args(argv)
    verb = verbs.choices.get(arguments.verb, parser)
    if unknown:  # Show the usage of the subcommand, not of `keras-elmo`.
        verb.error(f"unrecognized arguments: {' '.join(unknown)}")
    if arguments.verb is None:
        parser.print_help()
        # As in git, it is not a success: a script may have lost its command.
        raise SystemExit(2)
    # argparse has no public list of them.
    flags = {a.dest: (*a.option_strings, a.metavar)[0] for a in verb._actions}
    return arguments, flags


def make_parser(argv=None):
    """Returns the parser, and the object whose `choices` are its commands.

    Args:
        argv: List of arguments: only the commands among them get theirs. By
            default, all do.
    """
    parser = argparse.ArgumentParser(
        prog="keras-elmo", description="ELMo on the command line."
    )
    parser.add_argument(
        "--version", action="version", version=keras_elmo.__version__
    )
    verbs = parser.add_subparsers(
        title="commands", dest="verb", metavar="COMMAND"
    )
    for name in _COMMANDS:
        module = f"keras_elmo.commands.{name.replace('-', '_')}"
        verb = importlib.import_module(module)
        above, _, below = (verb.__doc__ or "").partition(_OPTIONS)
        verb_parser = verbs.add_parser(
            name, help=verb.SUMMARY, description=above, epilog=below
        )
        verb_parser.formatter_class = argparse.RawDescriptionHelpFormatter
        verb_parser.set_defaults(run=verb.run)
        if argv is None or name in argv:
            verb.add_arguments(verb_parser)
    return parser, verbs


def _open_standard_streams(arguments):
    """Opens the null device in place of standard streams that are closed.

    Otherwise, the next file that is opened would get the number of one, and
    with it what TensorFlow writes there.

    Raises:
        ValueError: If the command needs one that was closed.
    """
    given = vars(arguments)
    writes = given.get("output") == STANDARD_STREAM
    needed = {
        "stdin": given.get("input") == STANDARD_STREAM,
        "stdout": writes or given["verb"] in _PRINTING,
        "stderr": False,
    }
    for name in [name for name in needed if getattr(sys, name) is None]:
        setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        if needed[name]:
            raise ValueError(f"{name} must be open. Received: closed")


def _without_tensorflow(error):
    """Returns what to do if TensorFlow is what could not be imported."""
    if getattr(error, "name", None) != "tensorflow":
        return None
    return (
        "TensorFlow is not installed. Install it (pip install tensorflow), or "
        "use another backend: set the environment variable KERAS_BACKEND to "
        "jax or torch. SavedModels need TensorFlow."
    )


def _how_to_resume(arguments):
    if not hasattr(arguments, "restart"):
        return ""
    change = ", without --restart," if arguments.restart else ""
    return f"; run the same command again{change} to resume"


def _without_number(error):
    """An error's message, without the number that Python puts before it."""
    number = getattr(error, "errno", None)
    return str(error).removeprefix(f"[Errno {number}] ")


def _say(text):
    text = str(text).replace("\n", " ")
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST // 2]} ... {text[-_LONGEST // 2 :]}"
    print(f"keras-elmo: {text}", file=sys.stderr)
