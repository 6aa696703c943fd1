"""Datasets that steps read where they run: the batches of the Python iterator."""

import json

import numpy as np
import pytest
from conftest import HERE
from safetensors.numpy import save_file
from test_workers import GPT, data_parallel, plan_flags

from meshwright import data

SMALL = HERE / "small_step.hlo"
# A step of one layer; with as many tokens as the gpt, for which there are stages.
STEP = HERE / "token_step.hlo"
NAMES = {"tokens": "inputs", "targets": "targets"}
TOKENS = {
    STEP: NAMES,
    GPT: {f"batch/{name}": field for name, field in NAMES.items()},
}
STEPS = 6
TOLERANCE = 2e-5


def token_files(folder, count=4, dtype="uint16"):
    """Files of different lengths; the last has a tail that makes no sample."""
    random = np.random.default_rng(3)
    for i in range(count):
        ids = random.integers(0, 128, 64 * (5 + i) + 1 + i)
        data.write_tokens(folder / f"train-{i}.bin", ids, dtype)
    return str(folder / "train-*.bin")


def token_data(files, **options):
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

    def run(module, **options):
        key = f"{module} {options}"
        if key not in cache:
            folder = tmp_path_factory.mktemp("steps")
            given = by_hand(
                token_data(corpus, **options), folder, TOKENS[module], STEPS
            )
            cache[key] = cli.json("run", module, "--steps", STEPS, *given)["loss"]
        return cache[key]

    return run


def planned(cli, module, flags, folder):
    """A plan where flags ask for one; `--workers` stay."""
    words, _, workers = flags.partition("--workers")
    plan = plan_flags(cli, words, folder, module)
    return [*plan, "--workers", workers] if workers else plan


PLANS = [
    (STEP, ""),
    (STEP, "--mesh data=8 --strategy dp"),
    (STEP, "--mesh data=4 --strategy dp --workers 2"),
    (STEP, "--mesh data=4 --strategy zero3 --workers 4"),
    (GPT, "--mesh data=8 --strategy zero3"),
    (GPT, "--stages 2 --micro-batches 4"),
    (GPT, "--stages 2 --devices-per-stage 2 --micro-batches 4 --workers 2"),
]


@pytest.mark.parametrize(("module", "flags"), PLANS)
def test_same_batches_on_any_plan(cli, corpus, fed_by_hand, tmp_path, module, flags):
    plan = planned(cli, module, flags, tmp_path)
    token_data(corpus, shuffle=7).save(tmp_path / "train.json", TOKENS[module])
    feed = ["--steps", STEPS, "--data", tmp_path / "train.json"]
    ran = cli.json("run", module, *plan, *feed)
    want = fed_by_hand(module, shuffle=7)
    np.testing.assert_allclose(ran["loss"], want, rtol=TOLERANCE)
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
    token_data(corpus, **options).save(tmp_path / "train.json", NAMES)
    plan = planned(cli, STEP, flags, tmp_path)
    feed = ["--steps", STEPS, "--data", tmp_path / "train.json"]
    ran = cli.json("run", STEP, *plan, *feed)
    want = fed_by_hand(STEP, **options)
    np.testing.assert_allclose(ran["loss"], want, rtol=TOLERANCE)


def test_resumes_at_a_position(cli, corpus, fed_by_hand, tmp_path):
    token_data(corpus, shuffle=7).save(tmp_path / "train.json", NAMES)
    feed = ["--data", tmp_path / "train.json"]
    saved = tmp_path / "state.safetensors"
    first = cli.json("run", STEP, "--steps", 2, *feed, "--save", saved)
    assert first["position"] == 32
    plan = plan_flags(cli, "--mesh data=2 --strategy dp", tmp_path, STEP)
    flags = ["--inputs", saved, "--position", first["position"], *plan]
    rest = cli.json("run", STEP, "--steps", STEPS - 2, *feed, *flags)
    got = first["loss"] + rest["loss"]
    np.testing.assert_allclose(got, fed_by_hand(STEP, shuffle=7), rtol=TOLERANCE)


def test_metrics_say_the_position(cli, corpus, tmp_path):
    token_data(corpus).save(tmp_path / "train.json", NAMES)
    lines = tmp_path / "metrics.jsonl"
    flags = ["--data", tmp_path / "train.json", "--position", 160]
    done = cli("run", STEP, "--steps", 3, *flags, "--metrics", lines)
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
    spec = token_data(str(tmp_path / "train-*.bin")).spec(NAMES)
    spec["files"] = ["train-*.bin"]
    (tmp_path / "train.json").write_text(json.dumps(spec))
    assert cli("run", STEP, "--data", tmp_path / "train.json").returncode == 0


class Mistakes:
    """One thing wrong with a dataset of three files, and the line it gives."""

    def __init__(self, cli, folder):
        self.cli, self.folder = cli, folder
        token_files(folder, count=3)
        self.spec = token_data(str(folder / "train-*.bin")).spec(NAMES)

    def line(self, *flags, **changes):
        spec = {**self.spec, **changes}
        spec = {key: value for key, value in spec.items() if value is not None}
        path = self.folder / "train.json"
        path.write_text(json.dumps(spec))
        line = self.cli.refuses("run", STEP, "--steps", 2, "--data", path, *flags)
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
        ({"parameters": {"x": "inputs"}}, 'the step has no parameter "x"'),
        ({"parameters": {"tokens": "words"}}, '"words" is none of inputs'),
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


@pytest.mark.parametrize("workers", [0, 2])
def test_mistakes_among_steps(cli, tmp_path, workers):
    """A token that is none, rows of one worker, some steps on: all of them end."""
    ids = np.zeros(64 * 80 + 1, int)
    ids[64 * (16 * 4 + 14)] = 128  # Row 14 of step 4.
    data.write_tokens(tmp_path / "train.bin", ids)
    dataset = token_data(tmp_path / "train.bin", vocabulary=128)
    dataset.save(tmp_path / "train.json", NAMES)
    flags = plan_flags(cli, "--mesh data=2 --strategy dp", tmp_path, STEP)
    if workers:
        flags += ["--workers", workers]
    feed = ["--steps", 50, "--data", tmp_path / "train.json", "--json"]
    line = cli.refuses("run", STEP, *feed, *flags)
    assert "train.bin: sample 78 has token 128" in line
    if workers:
        assert "all workers completed step 3" in line


def test_positions_that_are_none(mistakes, cli):
    line = mistakes.line("--position", 8, sink=2)
    assert "position 8 is no multiple of the 16 samples of a batch" in line
    assert "--position is of a dataset" in cli.refuses("run", STEP, "--position", 8)


def test_files_for_other_splits(cli, mistakes):
    """8 devices share 4 files: a file would be read by two of them."""
    token_files(mistakes.folder, count=4)
    plan = plan_flags(cli, "--mesh data=8 --strategy dp", mistakes.folder, STEP)
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
    assert cli("plan", STEP, *flags).returncode == 0
    line = cli.refuses("run", STEP, "--data", plan)
    assert "plan.json: this is a plan, not a dataset" in line
    token_data(corpus).save(tmp_path / "train.json", NAMES)
    line = cli.refuses("run", STEP, "--data", tmp_path / "train.json", "--data", STEP)
    assert "this is a dataset, not a file of tensors" in line
    line = cli.refuses("run", tmp_path / "train.json")
    assert "this is a dataset, not an HLO module" in line
