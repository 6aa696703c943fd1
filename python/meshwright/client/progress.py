"""What goes on, on stderr, at a terminal or in a notebook: planning and compiling that
take a while, and steps as a bar (tqdm)."""

import contextlib
import sys
import threading
import time
import warnings
from collections.abc import Iterable, Iterator

from meshwright.metrics.lines import main_figures
from meshwright.metrics.recorder import Recorder
from meshwright.metrics.sink import Record, Sink

_SHOWN_AFTER = 0.5


class Progress:
    """`with progress("planning"): ...` shows what goes on and for how long."""

    def __init__(self, shown: bool | None = None):
        """None: where somebody looks."""
        self._shown = shown
        self._bar = None  # Of the steps that are under way.

    @contextlib.contextmanager
    def __call__(self, what: str):
        tqdm = self._tqdm()
        if tqdm is None:
            yield
            return
        over = threading.Event()
        thread = threading.Thread(
            target=self._show, args=(tqdm, what, over), daemon=True
        )
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def over(
        self, batches: Iterable, total: int | None, recorder: Recorder
    ) -> Iterator:
        """The batches, with a bar of the steps that are done with them."""
        tqdm = self._tqdm()
        if tqdm is None:
            yield from batches
            return
        if total is None:
            with contextlib.suppress(TypeError):
                total = len(batches)
        bar = tqdm(total=total, unit="step", dynamic_ncols=True)
        sink, outer = _BarSink(bar), self._bar
        recorder.attach(sink)
        self._bar = bar
        try:
            for batch in batches:
                yield batch
                bar.update()
        finally:
            self._bar = outer
            recorder.detach(sink)
            bar.close()

    def _tqdm(self):
        """None: nothing is shown."""
        shown = self._shown
        if shown is None:
            shown = sys.stderr.isatty() or _in_notebook()
        if not shown:
            return None
        with warnings.catch_warnings(), contextlib.suppress(ModuleNotFoundError):
            warnings.simplefilter("ignore")  # Of widgets that are not there.
            from tqdm.auto import tqdm

            return tqdm
        return None

    def _show(self, tqdm, what: str, over: threading.Event) -> None:
        start = time.monotonic()
        if over.wait(_SHOWN_AFTER):
            return
        inside = self._bar is not None
        bar = self._bar if inside else tqdm(bar_format="{desc}", dynamic_ncols=True)
        waits = True
        while waits:
            waits = not over.wait(0.1)
            bar.set_description_str(f"{what}: {time.monotonic() - start:.1f} s")
        if inside:
            bar.set_description_str(None)
        else:
            bar.close()


class _BarSink(Sink):
    """The last step's figures, right of a bar."""

    def __init__(self, bar):
        self._bar = bar

    def write(self, record: Record) -> None:
        self._bar.set_postfix_str(", ".join(main_figures([record])), refresh=False)


def _in_notebook() -> bool:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"
