"""Replaces names with values by few patterns with the same values.

as_patterns({"a/x/w": 1, "a/y/w": 1, "b/w": 2, "a/b": None})
# {"a/*/w": 1, "b/w": 2}
"""

import re
from collections.abc import Iterator


def as_patterns(values: dict[str, object]) -> dict[str, object]:
    """For each name with a value, the shortest pattern that matches only names with an
    equal value.

    Names whose value is None match no pattern. `*` stands for any characters.
    """
    found: dict[str, object] = {}
    for name, value in values.items():
        if value is not None and not any(_matches(p, name) for p in found):
            found[_pattern(name, values)] = value
    return found


def _pattern(name: str, values: dict[str, object]) -> str:
    """The pattern that keeps the fewest components of the name; among those, the one
    that matches most names."""
    parts = name.split("/")
    for kept in range(1, len(parts)):
        matched = {
            pattern: [n for n in values if _matches(pattern, n)]
            for pattern in _patterns_of(parts, kept)
        }
        only_equals = [
            pattern
            for pattern, names in matched.items()
            if all(values[n] == values[name] for n in names)
        ]
        if only_equals:
            return max(only_equals, key=lambda pattern: len(matched[pattern]))
    return name


def _patterns_of(parts: list[str], kept: int) -> Iterator[str]:
    """`a/b/*`, `a/*/c` and `*/b/c` for a/b/c, with two components kept."""
    for last in range(kept + 1):
        start, end = parts[: kept - last], parts[len(parts) - last :]
        yield "/".join([*start, "*", *end])


def _matches(pattern: str, name: str) -> bool:
    parts = (re.escape(part) for part in pattern.split("*"))
    return re.fullmatch(".*".join(parts), name) is not None
