"""Datasets that steps read where they run: the batches of the Python iterator."""

import json

import numpy as np
import pytest
from conftest import HERE
from safetensors.numpy import save_file
from test_workers import GPT, data_parallel, plan_flags

from meshwright import data

SMALL = HERE / "small_step.hlo"
TOKENS = {"batch/tokens": "inputs", "batch/targets": "targets"}
STEPS = 6
TOLERANCE = 2e-5


def token_files(folder, count=4, dtype="uint16"):
    """Files of different lengths; the last has a tail that makes no sample."""
    random = np.random.default_rng(3)
    for i in range(count):
        ids = random.integers(0, 128, 64 * (5 + i) + 1 + i)
        data.write_tokens(folder / f"train-{i}.bin", ids, dtype)
    return str(folder / "train-*.bin")


def gpt_data(files, **options):
    return data.tokens(files, sequence=64, batch=16, **options)


def by_hand(dataset, folder, parameters, steps):
    """`--data` for each step, of what the iterator gives."""
    flags = []
    for step in range(steps):
        batch = next(dataset)
        path = folder / f"step-{step}.safetensors"
        save_file(
            {name: batch[field].copy() for name, field in parameters.items()}, path
        )
        flags += ["--data", path]
    return flags


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return token_files(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module")
def fed_by_hand(cli, corpus, tmp_path_factory):
    """Losses of steps that are given the iterator's batches, on one device."""
    cache = {}

    def run(**options):
        key = json.dumps(options, sort_keys=True)
        if key not in cache:
            folder = tmp_path_factory.mktemp("steps")
            flags = by_hand(gpt_data(corpus, **options), folder, TOKENS, STEPS)
            cache[key] = cli.json("run", GPT, "--steps", STEPS, *flags)["loss"]
        return cache[key]

    return run


PLANS = [
    "",
    "--mesh data=8 --strategy dp",
    "--mesh data=8 --strategy zero3",
    "--mesh data=4,model=2 --strategy megatron",
    "--stages 2 --micro-batches 4",
    "--mesh data=4 --strategy dp --workers 2",
    "--mesh data=4 --strategy zero3 --workers 4",
    "--stages 2 --devices-per-stage 2 --micro-batches 4 --workers 2",
]


def planned(cli, flags, folder):
    """A plan where flags ask for one; `--workers` stay."""
    words, _, workers = flags.partition("--workers")
    plan = plan_flags(cli, words, folder)
    return [*plan, "--workers", workers] if workers else plan


@pytest.mark.parametrize("flags", PLANS)
def test_same_batches_on_any_plan(cli, corpus, fed_by_hand, tmp_path, flags):
    plan = planned(cli, flags, tmp_path)
    gpt_data(corpus, shuffle=7).save(tmp_path / "train.json", TOKENS)
    ran = cli.json(
        "run", GPT, *plan, "--steps", STEPS, "--data", tmp_path / "train.json"
    )
    np.testing.assert_allclose(ran["loss"], fed_by_hand(shuffle=7), rtol=TOLERANCE)
    assert ran["position"] == STEPS * 16


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"shuffle": 1, "shard_by": "sample"},
        {"shuffle": 1, "shard_by": "file"},
        {"shuffle": 1, "sink": 2},
    ],
)
@pytest.mark.parametrize("flags", ["", "--mesh data=4 --strategy dp --workers 2"])
def test_orders(cli, corpus, fed_by_hand, tmp_path, options, flags):
    gpt_data(corpus, **options).save(tmp_path / "train.json", TOKENS)
    plan = planned(cli, flags, tmp_path)
    ran = cli.json(
        "run", GPT, *plan, "--steps", STEPS, "--data", tmp_path / "train.json"
    )
    np.testing.assert_allclose(ran["loss"], fed_by_hand(**options), rtol=TOLERANCE)


def test_resumes_at_a_position(cli, corpus, fed_by_hand, tmp_path):
    gpt_data(corpus, shuffle=7).save(tmp_path / "train.json", TOKENS)
    feed = ["--data", tmp_path / "train.json"]
    saved = tmp_path / "state.safetensors"
    first = cli.json("run", GPT, "--steps", 2, *feed, "--save", saved)
    assert first["position"] == 32
    plan = plan_flags(cli, "--mesh data=2 --strategy dp", tmp_path)
    flags = ["--inputs", saved, "--position", first["position"], *plan]
    rest = cli.json("run", GPT, "--steps", STEPS - 2, *feed, *flags)
    got = first["loss"] + rest["loss"]
    np.testing.assert_allclose(got, fed_by_hand(shuffle=7), rtol=TOLERANCE)


def test_metrics_say_the_position(cli, corpus, tmp_path):
    gpt_data(corpus).save(tmp_path / "train.json", TOKENS)
    lines = tmp_path / "metrics.jsonl"
    flags = ["--data", tmp_path / "train.json", "--position", 160]
    done = cli("run", GPT, "--steps", 3, *flags, "--metrics", lines)
    assert done.returncode == 0, done.stderr
    positions = [json.loads(line)["position"] for line in lines.open()]
    assert positions == [176, 192, 208]
    assert "the dataset goes on at --position 208" in done.stdout


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_files_of_arrays(cli, tmp_path, workers):
    random = np.random.default_rng(5)
    for i in range(3):
        x, y = random.normal(size=(2, 40 + 9 * i, 48)).astype(np.float32)
        np.savez(tmp_path / f"shard-{i}.npz", x=x, y=y)
    names = {"x": "x", "y": "y"}
    dataset = data.npz(str(tmp_path / "shard-*.npz"), batch=48, shuffle=11)
    dataset.save(tmp_path / "train.json", names)
    feed = ["--data", tmp_path / "train.json"]
    flags = ["--plan", data_parallel(tmp_path, 4)]
    if workers:
        flags += ["--workers", workers]
    got = cli.json("run", SMALL, "--steps", 5, *feed, *flags)
    want = cli.json("run", SMALL, "--steps", 5, *by_hand(dataset, tmp_path, names, 5))
    np.testing.assert_allclose(got["loss"], want["loss"], rtol=TOLERANCE)


def test_arrays_of_other_formats(cli, tmp_path):
    random = np.random.default_rng(5)
    x, y = random.normal(size=(2, 60, 48))
    save_file({"x": x, "y": y}, tmp_path / "shard.safetensors")
    np.savez(tmp_path / "shard.npz", x=x.astype(np.float32), y=y.astype(np.float32))
    losses = []
    for file in ("shard.safetensors", "shard.npz"):  # f64 becomes f32.
        dataset = data.npz(tmp_path / file, batch=48)
        dataset.save(tmp_path / "train.json", {"x": "x", "y": "y"})
        flags = ["--steps", 3, "--data", tmp_path / "train.json"]
        losses.append(cli.json("run", SMALL, *flags)["loss"])
    assert losses[0] == losses[1]


def test_relative_paths_are_beside_the_dataset(cli, tmp_path):
    token_files(tmp_path)
    spec = gpt_data(str(tmp_path / "train-*.bin")).spec(TOKENS)
    spec["files"] = ["train-*.bin"]
    (tmp_path / "train.json").write_text(json.dumps(spec))
    assert cli("run", GPT, "--data", tmp_path / "train.json").returncode == 0


class Mistakes:
    """One thing wrong with a dataset of three files, and the line it gives."""

    def __init__(self, cli, folder):
        self.cli, self.folder = cli, folder
        token_files(folder, count=3)
        self.spec = gpt_data(str(folder / "train-*.bin")).spec(TOKENS)

    def line(self, *flags, **changes):
        spec = {**self.spec, **changes}
        spec = {key: value for key, value in spec.items() if value is not None}
        path = self.folder / "train.json"
        path.write_text(json.dumps(spec))
        line = self.cli.refuses("run", GPT, "--steps", 2, "--data", path, *flags)
        prefix = "meshwright run: "
        assert line.startswith(prefix)
        return line[len(prefix) :].replace(f"{self.folder}/", "")


@pytest.fixture
def mistakes(cli, tmp_path):
    return Mistakes(cli, tmp_path)


@pytest.mark.parametrize(
    ("changes", "want"),
    [
        ({"kind": "tfrecord"}, '"kind" is one of "tokens", "npz", not "tfrecord"'),
        ({"files": ["none-*.bin"]}, 'no file matches "none-*.bin"'),
        ({"files": ["train-0.bin", "gone.bin"]}, "gone.bin: No such file"),
        ({"files": []}, '"files" is a list of paths or patterns'),
        ({"sequense": 3}, 'unknown key "sequense"; did you mean sequence?'),
        ({"sequence": None}, 'lacks "sequence"'),
        ({"sequence": 32}, 'is s32[16,64]; "targets" are integers [batch,32]'),
        ({"dtype": "uint32"}, "its 642 bytes are no multiple of the 4 of a token"),
        ({"dtype": "float32"}, '"dtype" is one of "uint8", "uint16", "uint32"'),
        ({"vocabulary": 20}, '"vocabulary" is 20'),
        ({"shuffle": -1}, '"shuffle" is a whole number of at least 0, not -1'),
        (
            {"shard_by": "file"},
            "3 files cannot be shared out evenly over a batch of 16",
        ),
        ({"parameters": {"batch/x": "inputs"}}, 'the step has no parameter "batch/x"'),
        ({"parameters": {"batch/tokens": "words"}}, '"words" is none of inputs'),
        (
            {"files": ["train-0.bin"], "sink": 9},
            "have 5 samples, fewer than a batch of 16",
        ),
    ],
)
def test_mistakes(mistakes, changes, want):
    assert want in mistakes.line(**changes)


def test_mistakes_of_workers(mistakes):
    want = "gone.bin: No such file"
    assert want in mistakes.line("--mesh", "data=2", "--workers", 2, files=["gone.bin"])


def test_positions_that_are_none(mistakes, cli):
    line = mistakes.line("--position", 8, sink=2)
    assert "position 8 is no multiple of the 16 samples of a batch" in line
    assert "--position is of a dataset" in cli.refuses("run", GPT, "--position", 8)


def test_files_for_other_splits(cli, mistakes):
    """8 devices share 4 files: a file would be read by two of them."""
    token_files(mistakes.folder, count=4)
    plan = plan_flags(cli, "--mesh data=8 --strategy dp", mistakes.folder)
    line = mistakes.line(*plan, shard_by="file")
    assert "4 files cannot be shared out to the 8 parts" in line


def test_damaged_arrays(cli, tmp_path):
    spec = {"kind": "npz", "files": ["a.npz"], "parameters": {"x": "x", "y": "y"}}
    path = tmp_path / "train.json"
    path.write_text(json.dumps(spec))
    good = np.zeros((60, 48), np.float32)

    def line():
        return cli.refuses("run", SMALL, "--data", path)

    np.savez(tmp_path / "a.npz", x=good)
    assert 'a.npz: has no array "y"; it has "x"' in line()
    np.savez(tmp_path / "a.npz", x=good, y=good[:, :40])
    assert 'array "y" is [60,40]; its samples do not fit parameter y' in line()
    np.savez(tmp_path / "a.npz", x=good, y=good[:50])
    assert 'array "x" has 60 samples, "y" 50' in line()
    np.savez(tmp_path / "a.npz", x=good, y=good.astype(np.int32))
    assert "a.npz: s32 does not convert to parameter y" in line()
    np.savez_compressed(tmp_path / "a.npz", x=good, y=good)
    assert "compressed, so that no sample can be read alone" in line()
    np.savez(tmp_path / "a.npz", x=good, y=good)
    whole = (tmp_path / "a.npz").read_bytes()
    for size in (0, 3, 100, len(whole) // 2, len(whole) - 1):
        (tmp_path / "a.npz").write_bytes(whole[:size])
        assert "a.npz: " in line()


def test_not_a_dataset(cli, corpus, tmp_path):
    plan = tmp_path / "plan.json"
    flags = ["--cluster", "cpu:2", "--strategy", "dp", "--assumed", "-o", plan]
    assert cli("plan", GPT, *flags).returncode == 0
    line = cli.refuses("run", GPT, "--data", plan)
    assert "plan.json: this is a plan, not a dataset" in line
    gpt_data(corpus).save(tmp_path / "train.json", TOKENS)
    line = cli.refuses("run", GPT, "--data", tmp_path / "train.json", "--data", GPT)
    assert "this is a dataset, not a file of tensors" in line
    line = cli.refuses("run", tmp_path / "train.json")
    assert "this is a dataset, not an HLO module" in line
