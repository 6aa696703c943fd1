"""Datasets in Python: orders, positions, the files that hold tokens, mistakes."""

import json

import numpy as np
import pytest

import meshwright
from meshwright import MeshwrightError, data
from meshwright.sample_order import SampleOrder, permuted

pytestmark = pytest.mark.one_jax


@pytest.fixture
def files(tmp_path):
    """Tokens 0, 1, 2, ... in three files of 41, 50 and 59; in fours they are 36 samples."""
    first = 0
    for i, count in enumerate((41, 50, 59)):
        data.write_tokens(tmp_path / f"t-{i}.bin", np.arange(first, first + count))
        first += count
    return tmp_path / "t-*.bin"


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 16, 17, 63, 64, 65, 1000, 4097])
def test_orders_are_permutations(size):
    for key in (0, 7, 2**64 - 1):
        assert sorted(permuted(i, size, key) for i in range(size)) == list(range(size))


def test_an_epoch_has_every_sample_once(files):
    dataset = data.tokens(files, sequence=4, batch=9, shuffle=3)
    assert len(dataset) == 4
    epochs = []
    for _ in range(2):
        rows = np.concatenate([next(dataset)["inputs"] for _ in range(4)])
        epochs.append(rows[:, 0].tolist())
        assert len(set(epochs[-1])) == 36
    assert epochs[0] != epochs[1] and set(epochs[0]) == set(epochs[1])


def test_targets_are_one_token_further_on(files):
    batch = next(data.tokens(files, sequence=4, batch=12))
    assert batch["inputs"].dtype == np.int32
    assert batch["inputs"][10].tolist() == [41, 42, 43, 44]
    assert batch["targets"][10].tolist() == [42, 43, 44, 45]
    assert batch["tokens"][10].tolist() == [41, 42, 43, 44, 45]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"shuffle": 5},
        {"shuffle": 5, "sink": 3},
        {"shuffle": 5, "shard_by": "file"},
        {"shard_by": "file"},
    ],
)
def test_a_position_is_all_there_is_to_resume(files, options):
    undisturbed = data.tokens(files, sequence=4, batch=6, **options)
    wanted = [next(undisturbed)["tokens"] for _ in range(20)]
    first = data.tokens(files, sequence=4, batch=6, **options)
    for _ in range(7):
        next(first)
    assert first.state() == {"position": 42} and first.position == 42
    second = data.tokens(files, sequence=4, batch=6, **options).seek(42)
    for batch in wanted[7:]:
        np.testing.assert_array_equal(next(second)["tokens"], batch)


def test_batches_may_have_other_sizes(files):
    """By sample, the size of a batch does not change the order."""
    small = data.tokens(files, sequence=4, batch=3, shuffle=1, shard_by="sample")
    large = data.tokens(files, sequence=4, batch=12, shuffle=1)
    rows = np.concatenate([next(small)["tokens"] for _ in range(8)])
    np.testing.assert_array_equal(
        rows, np.concatenate([next(large)["tokens"] for _ in range(2)])
    )


@pytest.mark.parametrize(("files", "batch"), [(2, 8), (8, 8), (24, 8)])
def test_by_file_rows_keep_their_files(files, batch):
    order = SampleOrder([20] * files, batch, shuffle=1, shard_by="file")
    for readers in (1, 2):
        seen = [set() for _ in range(readers)]
        for step in range(3 * files):
            for row in range(batch):
                file, _ = order.locate(step * batch, row)
                seen[row * readers // batch].add(file)
        assert sum(map(len, seen)) == files


def test_arrays(tmp_path):
    images = np.arange(60, dtype=np.float32).reshape(20, 3)
    np.savez(tmp_path / "a.npz", images=images[:8], labels=np.arange(8))
    np.savez(tmp_path / "b.npz", images=images[8:], labels=np.arange(8, 20))
    dataset = data.npz([tmp_path / "a.npz", tmp_path / "b.npz"], batch=5, shuffle=2)
    seen = []
    for _ in range(len(dataset)):
        batch = next(dataset)
        np.testing.assert_array_equal(batch["images"], images[batch["labels"]])
        seen += batch["labels"].tolist()
    assert sorted(seen) == list(range(20))


def test_specs_are_what_was_asked_for(files, tmp_path):
    options = {"shuffle": 7, "shard_by": "sample", "sink": 2, "vocabulary": 200}
    dataset = meshwright.data.tokens(files, sequence=4, batch=6, **options)
    dataset.save(tmp_path / "train.json", {"x": "inputs"})
    spec = json.loads((tmp_path / "train.json").read_text())
    assert spec == dataset.spec({"x": "inputs"})
    assert spec == {
        "kind": "tokens",
        "dtype": "uint16",
        "sequence": 4,
        "files": [str(files)],
        "parameters": {"x": "inputs"},
        **options,
    }


def test_text_is_tokens_of_bytes(tmp_path):
    assert data.write_text(tmp_path / "t.bin", "häh" * 10) == 40
    batch = next(data.tokens(tmp_path / "t.bin", sequence=3, batch=1, dtype="uint8"))
    assert bytes(batch["tokens"][0].tolist()).decode() == "häh"


def test_mistakes(files, tmp_path):
    def why(make, *args, **options):
        with pytest.raises(MeshwrightError) as error:
            make(*args, **options)
        assert "\n" not in str(error.value)
        return str(error.value)

    tokens = data.tokens
    cut = {"sequence": 4, "batch": 6}
    assert "no file matches" in why(tokens, tmp_path / "none*", **cut)
    assert "no such file" in why(tokens, tmp_path / "none", **cut)
    assert "36 samples" in why(tokens, files, sequence=4, batch=40)
    assert "shorter than one sample" in why(tokens, files, sequence=50, batch=1)
    assert "dtype 'int32'" in why(tokens, files, dtype="int32", **cut)
    assert "shard_by 'row'" in why(tokens, files, shard_by="row", **cut)
    assert "3 files" in why(tokens, files, sequence=4, batch=8, shard_by="file")
    sunk = tokens(files, sink=2, **cut)
    assert "position 3" in why(sunk.seek, 3)
    assert "do not fit uint8" in why(data.write_tokens, tmp_path / "x", [300], "uint8")
    (tmp_path / "odd.bin").write_bytes(b"123")
    assert "no multiple of 2" in why(tokens, tmp_path / "odd.bin", **cut)
