"""The only exception of this package, and its warnings."""

import sys
import warnings


class MeshwrightError(ValueError):
    """A mistake of the caller, described in one line: what, where, got what."""


class MeshwrightWarning(UserWarning):
    """What a user should know about a call that succeeded."""


def warn(text: str) -> None:
    """Issues a MeshwrightWarning for the line that called the package."""
    level, frame = 1, sys._getframe()
    while frame.f_back and frame.f_globals.get("__name__", "").startswith("meshwright"):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, MeshwrightWarning, stacklevel=level)


def in_one_line(error: BaseException) -> str:
    """The kind of an error and the first paragraph of its message as one line.

    A last sentence that introduces what follows is omitted, unless it is the only one.

    >>> in_one_line(TypeError("a bad\\nargument. See:\\n\\nline 3"))
    'TypeError: a bad argument.'
    """
    first, *others = str(error).strip().split("\n\n")
    text = " ".join(first.split())
    if others and text.endswith(":"):
        whole, _, _ = text.rpartition(". ")
        text = f"{whole}." if whole else " ".join(f"{text} {others[0]}".split())
    kind = type(error).__name__
    return f"{kind}: {text}" if text else kind
