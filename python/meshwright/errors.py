"""The one exception of this package, and its warnings."""

import sys
import warnings


class MeshwrightError(ValueError):
    """The caller's mistake, told in one line: what, where, got what."""


class MeshwrightWarning(UserWarning):
    """What a user should know of a call that did succeed."""


def warn(text: str) -> None:
    """A MeshwrightWarning at the line of whoever called the package."""
    level, frame = 1, sys._getframe()
    while frame.f_back and frame.f_globals.get("__name__", "").startswith("meshwright"):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, MeshwrightWarning, stacklevel=level)


def in_one_line(error: BaseException) -> str:
    """The kind of an error and the first paragraph of its message, unwrapped.

    A last sentence that introduces what follows is left out, unless it is all.

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
