"""The one exception of this package."""


class MeshwrightError(ValueError):
    """The caller's mistake, told in one line: what, where, got what."""


class MeshwrightWarning(UserWarning):
    """What a user should know of a call that did succeed."""


def in_one_line(error: BaseException) -> str:
    """The kind of an error and the first paragraph of its message, unwrapped.

    >>> in_one_line(TypeError("a bad\\nargument\\n\\nat line 3"))
    'TypeError: a bad argument'
    """
    paragraph = str(error).strip().split("\n\n")[0]
    kind = type(error).__name__
    return f"{kind}: {' '.join(paragraph.split())}" if paragraph else kind
