import sys


def calling_frames():
    """Yields the frames of the callers, the nearest first."""
    frame = sys._getframe(1)
    while frame is not None:
        yield frame
        frame = frame.f_back
