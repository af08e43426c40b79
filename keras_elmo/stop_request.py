"""Ends a training after the current step."""

import contextlib
import signal
import threading


class StopRequest(contextlib.ExitStack):
    """Records the first SIGINT or SIGTERM instead of ending the process.

    Args:
        on_request: Function to call, in a thread, when it is recorded.
    """

    def __init__(self, on_request):
        super().__init__()
        self.is_made = False
        self._on_request = on_request

    def __enter__(self):
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                before = signal.signal(number, self._note)
                # `None` is a handler that was not set by Python.
                self.callback(signal.signal, number, before or signal.SIG_DFL)
        return self

    def _note(self, number, frame):
        self.is_made = True
        self.close()  # A second signal takes effect at once.
        # In a thread, as the signal may have interrupted other output.
        threading.Thread(target=self._on_request, daemon=True).start()
