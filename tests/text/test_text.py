"""The text tests, one for each file of this folder."""

from collections import Counter

import pytest
import runner


@pytest.mark.parametrize("path", runner.files(), ids=runner.shown)
def test_file(path):
    failures = runner.run_test(path)
    assert not failures, "\n".join(map(str, failures))


def test_there_are_many_of_each_kind():
    kinds = Counter(path.parent.name for path in runner.files())
    assert set(kinds) == {"partition", "plan", "inspect", "errors", "run"}
    assert min(kinds.values()) >= 4
