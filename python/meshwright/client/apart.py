"""Calls that Ctrl-C does not strike within.

An exception that comes up inside of gRPC, at any instruction, can leave a lock of its
channel held: whatever is called next, even to close it, then waits forever. Python
raises KeyboardInterrupt in the main thread alone, so that one only waits for answers.
"""

import functools
import threading
from collections.abc import Callable
from queue import SimpleQueue


def apart(method: Callable) -> Callable:
    """A method that runs in another thread when the main thread calls it. If that is
    interrupted, the call goes on there, and its answer is dropped."""

    @functools.wraps(method)
    def called(*args, **kwargs):
        if threading.current_thread() is not threading.main_thread():
            return method(*args, **kwargs)
        calls = _idle.pop() if _idle else _new_thread()
        answer = SimpleQueue()
        calls.put((method, args, kwargs, answer))
        value, error = answer.get()
        _idle.append(calls)
        if error is not None:
            raise error
        return value

    return called


_idle: list[SimpleQueue] = []  # Of threads that wait for calls.


def _new_thread() -> SimpleQueue:
    calls = SimpleQueue()
    threading.Thread(
        target=_answer, args=(calls,), name="meshwright-calls", daemon=True
    ).start()
    return calls


def _answer(calls: SimpleQueue) -> None:
    while True:
        method, args, kwargs, answer = calls.get()
        try:
            answer.put((method(*args, **kwargs), None))
        except BaseException as error:
            answer.put((None, error))
        del method, args, kwargs, answer  # Not kept until the next call.
