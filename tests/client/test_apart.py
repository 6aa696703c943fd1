"""Calls that Ctrl-C does not strike within."""

import signal
import threading
import time

import pytest

from meshwright.client.apart import apart


@apart
def where():
    return threading.current_thread()


def test_the_main_thread_only_waits():
    first = where()
    assert first is not threading.main_thread()
    assert where() is first  # No thread for each call.


def test_other_threads_call_themselves():
    found = []
    thread = threading.Thread(target=lambda: found.append(where()))
    thread.start()
    thread.join()
    assert found == [thread]


def test_errors_are_raised_where_the_call_is():
    @apart
    def failing(text):
        raise ValueError(text)

    with pytest.raises(ValueError, match="no"):
        failing("no")
    assert where() is not threading.main_thread()


def test_a_call_that_is_interrupted_goes_on():
    ended = threading.Event()
    let_go = threading.Event()

    @apart
    def long():
        let_go.wait(60)
        ended.set()

    main = threading.main_thread().ident
    timer = threading.Timer(0.2, signal.pthread_kill, (main, signal.SIGINT))
    timer.start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        long()
    assert time.monotonic() - start < 30
    assert where() is not threading.main_thread()  # Another takes calls meanwhile.
    assert not ended.is_set()
    let_go.set()
    assert ended.wait(60)
