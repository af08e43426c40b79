"""The largest memory that a program has taken, for programs that tests start.

`resource.getrusage` does not tell it, because Linux counts the memory of the
parent there, too, until the child executes its own program. With tests in
that parent, it can be gigabytes.
"""

import sys

import pytest

ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="Reads /proc")
DEFINE_PEAK = r"""
import pathlib, re
def peak():
    status = pathlib.Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) << 10
"""
