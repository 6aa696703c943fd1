"""What takes over two seconds is shown: on stderr, at a terminal or in a notebook."""

import contextlib
import sys
import threading
import time

_SHOWN_AFTER = 0.5


class Progress:
    """`with progress("planning"): ...` shows what goes on and for how long."""

    def __init__(self, shown: bool | None = None):
        """None: where somebody looks."""
        self.shown = sys.stderr.isatty() or _in_notebook() if shown is None else shown

    @contextlib.contextmanager
    def __call__(self, what: str):
        if not self.shown:
            yield
            return
        over = threading.Event()
        thread = threading.Thread(target=self._show, args=(what, over), daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def _show(self, what: str, over: threading.Event) -> None:
        start = time.monotonic()
        if over.wait(_SHOWN_AFTER):
            return
        from tqdm.auto import tqdm

        with tqdm(bar_format="{desc}") as bar:
            while not over.wait(0.2):
                seconds = time.monotonic() - start
                bar.set_description_str(f"{what}: {seconds:.1f} s")


def _in_notebook() -> bool:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"
