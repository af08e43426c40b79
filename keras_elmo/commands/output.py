"""OUTPUT of the commands that write text."""

import sys

from keras_elmo.choices import STANDARD_STREAM


def write_output(arguments, write):
    """Writes OUTPUT as text, then prints a summary of it.

    A file is written atomically, and the summary names it. Beside standard
    output, the summary is on standard error.

    Args:
        arguments: Those of the command, with `output`, `overwrite` and `quiet`.
        write: Function that takes the open file and returns the summary.
    """
    from keras_elmo.files.atomic import write_atomically

    to, summaries = arguments.output, []
    is_file = to != STANDARD_STREAM

    def open_and_write(path):
        with open(
            path, "w", encoding="utf-8", newline="\n", closefd=is_file
        ) as file:
            summaries.append(write(file))

    if is_file:
        write_atomically(to, open_and_write, arguments.overwrite)
    else:
        open_and_write(sys.stdout.fileno())
    if not arguments.quiet:
        where = f" in '{to}'" if is_file else ""
        stream = sys.stdout if is_file else sys.stderr
        print(f"{summaries[0]}{where}", file=stream)
