import signal
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from keras_elmo.stop_request import StopRequest

NUMBERS = [signal.SIGINT, signal.SIGTERM]


class Handled(Exception):
    pass


@pytest.fixture(params=NUMBERS)
def number(request):
    """A signal for which this process already has a handler."""

    def handle(number, frame):
        raise Handled

    before = signal.signal(request.param, handle)
    yield request.param
    signal.signal(request.param, before)


def test_the_first_signal_is_noted_and_answered_and_the_second_raised(number):
    answered = threading.Event()
    with StopRequest(answered.set) as stop:
        assert not stop.is_made
        signal.raise_signal(number)
        assert stop.is_made and answered.wait(60)
        with pytest.raises(Handled):
            signal.raise_signal(number)


def test_an_error_leaves_the_handlers_as_they_were(number):
    before = [signal.getsignal(n) for n in NUMBERS]
    with pytest.raises(KeyError), StopRequest(print):
        raise KeyError
    assert [signal.getsignal(n) for n in NUMBERS] == before


def test_in_another_thread_there_are_no_signals():
    before = [signal.getsignal(n) for n in NUMBERS]

    def work():
        with StopRequest(print) as stop:
            assert not stop.is_made
            return [signal.getsignal(n) for n in NUMBERS]

    with ThreadPoolExecutor() as pool:
        assert pool.submit(work).result() == before
