"""The one exception of this package."""


class MeshwrightError(ValueError):
    """The caller's mistake, told in one line: what, where, got what."""


def first_line(error: BaseException) -> str:
    """The kind of an error and the first line of its message.

    >>> first_line(TypeError("bad argument\\nat line 3"))
    'TypeError: bad argument'
    """
    lines = str(error).strip().splitlines()
    kind = type(error).__name__
    return f"{kind}: {lines[0]}" if lines else kind
