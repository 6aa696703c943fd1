"""Batches of an iterator, drawn and transferred while steps run.

    for batch in step.prefetch(batches):
        state, loss = step(state, batch)

A thread draws them, and stages those that are large with the job that took the one
before (LoadedStep.stage). What is given out are the trees of the iterator, with arrays
that nobody changes any more: what was staged and what the caller sees are the same.
"""

import contextlib
import operator
import threading
import weakref
from collections import deque
from collections.abc import Iterable, Mapping, Sequence

from meshwright.arrays import is_array
from meshwright.errors import MeshwrightError


class Item:
    """A batch that was drawn. `staged` is what the job knows of it, if anything."""

    def __init__(self, batch):
        import jax

        leaves, structure = jax.tree_util.tree_flatten(batch)
        self.leaves = [_frozen(leaf) for leaf in leaves]
        self.batch = structure.unflatten(self.leaves)
        self.staged = None
        self._places = {
            id(leaf): i for i, leaf in enumerate(self.leaves) if is_array(leaf)
        }

    def place(self, leaf) -> int | None:
        """Of an argument among the leaves of the batch."""
        return self._places.get(id(leaf))

    def form(self) -> list:
        """Equal for batches that one job takes."""
        return [
            (leaf.shape, leaf.dtype) if is_array(leaf) else None for leaf in self.leaves
        ]


class Prefetch:
    """An iterator; passed in place of a batch, it stands for its next one."""

    def __init__(self, batches: Iterable, size: int):
        if size < 1:
            raise MeshwrightError(f"{size} batches cannot be prefetched")
        self._length = operator.length_hint(batches)
        self._ahead = _Ahead(iter(batches), size)
        # Those that were given out last: steps tell by them what is staged.
        self._given: deque[Item] = deque(maxlen=size)
        self.close = weakref.finalize(self, self._ahead.close)

    def __iter__(self) -> "Prefetch":
        return self

    def __next__(self):
        item = self._ahead.take()
        self._given.append(item)
        self._length = max(0, self._length - 1)
        return item.batch

    def __length_hint__(self) -> int:
        return self._length

    def find(self, leaves: Sequence) -> Item | None:
        """Of which these arguments have arrays."""
        for item in reversed(self._given):
            if any(item.place(leaf) is not None for leaf in leaves):
                return item
        return None

    def stage_for(self, job, item: Item, names: Mapping[str, int]) -> None:
        """From now on, batches like this one are staged with that job; `names`: which
        leaf each of its parameters is."""
        self._ahead.target = job, names, item.form()


class _Ahead:
    """What has been drawn; shared by the thread that draws, which ends when nobody has
    the Prefetch any more."""

    def __init__(self, source, size: int):
        self._size = size
        self._changed = threading.Condition()
        self._ready: deque[Item] = deque()
        self._end: BaseException | None = None  # After these.
        self._is_over = False
        self.target: tuple | None = None  # A job, parameters, and what they are like.
        threading.Thread(
            target=self._draw, args=(source,), name="meshwright-batches", daemon=True
        ).start()

    def take(self) -> Item:
        with self._changed:
            self._changed.wait_for(lambda: self._ready or self._end is not None)
            if not self._ready:
                raise self._end
            item = self._ready.popleft()
            self._changed.notify_all()
            return item

    def close(self) -> None:
        with self._changed:
            self._is_over = True
            self._end = self._end or StopIteration()
            self._ready.clear()
            self._changed.notify_all()

    def _has_room(self) -> bool:
        with self._changed:
            self._changed.wait_for(
                lambda: self._is_over or len(self._ready) < self._size
            )
            return not self._is_over

    def _draw(self, source) -> None:
        end: BaseException = StopIteration()
        try:
            while self._has_room():
                item = Item(next(source))
                self._stage(item)
                with self._changed:
                    if not self._is_over:
                        self._ready.append(item)
                    self._changed.notify_all()
        except StopIteration:
            pass
        except BaseException as error:  # Whoever takes the batch gets it.
            end = error
        with self._changed:
            self._end = self._end or end
            self._changed.notify_all()

    def _stage(self, item: Item) -> None:
        target = self.target
        if target is None:
            return
        job, names, form = target
        if item.form() == form:
            arrays = {name: item.leaves[place] for name, place in names.items()}
            with contextlib.suppress(MeshwrightError):
                item.staged = job.stage(arrays)


def _frozen(leaf):
    """An array that does not change: jax's own, or a copy."""
    import numpy as np

    if not (is_array(leaf) and isinstance(leaf, np.ndarray)):
        return leaf
    if leaf.flags.writeable or not leaf.flags.owndata:
        leaf = leaf.copy()
        leaf.flags.writeable = False
    return leaf
