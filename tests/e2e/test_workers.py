"""Steps in worker processes: the same losses and state as on one device."""

import json
import os
import re
import signal
import subprocess
import time

import numpy as np
import pytest
import scripts
from conftest import BINARY, HERE, ROOT
from process_ids import await_gone
from safetensors.numpy import load_file

GPT = ROOT / "testdata/gpt_tiny.hlo.pb.zst"
SMALL = HERE / "small_step.hlo"
TOLERANCE = 2e-5


@pytest.fixture(scope="module")
def train(cli, tmp_path_factory):
    """train(module, ...flags): losses, and the state after the steps."""

    def run(module, *flags, steps=3):
        saved = tmp_path_factory.mktemp("state") / "state.safetensors"
        ran = cli.json("run", module, "--steps", steps, "--save", saved, *flags)
        return ran["loss"], load_file(saved), ran

    return run


@pytest.fixture(scope="module")
def one_device(train):
    cache = {}

    def run(module):
        if module not in cache:
            cache[module] = train(module)
        return cache[module]

    return run


def assert_same(got, want):
    losses, state, _ = got
    wanted_losses, wanted_state, _ = want
    np.testing.assert_allclose(losses, wanted_losses, rtol=TOLERANCE)
    assert state.keys() == wanted_state.keys()
    for name, wanted in wanted_state.items():
        scale = max(1e-3, float(np.max(np.abs(wanted))))
        np.testing.assert_allclose(
            state[name], wanted, rtol=TOLERANCE, atol=TOLERANCE * scale, err_msg=name
        )


def test_sums_of_types_narrower_than_a_byte(cli, tmp_path):
    """Over two processes: their programs make wider types of them on the way."""
    narrow, plan = HERE / "narrow_step.hlo", tmp_path / "plan.json"
    flags = ("--cluster", "cpu:2", "--mesh", "data=2", "--strategy", "dp", "--assumed")
    made = cli.json("plan", narrow, *flags, "-o", plan)
    assert [one["kind"] for one in made["collectives"]].count("all-reduce") == 5
    one = cli.json("run", narrow, "--steps", 3)
    two = cli.json("run", narrow, "--plan", plan, "--workers", 2, "--steps", 3)
    assert two["loss"] == one["loss"]
    assert any(one["loss"])


# Workers, and what they run; devices are shared out evenly.
QUICK = [
    (1, "--mesh data=2 --strategy dp"),
    (2, "--mesh data=2 --strategy dp"),
    (4, "--mesh data=2,model=2 --strategy megatron"),
    (2, "--mesh data=4 --strategy zero3"),
    (2, "--stages 2 --micro-batches 4"),
    (4, "--stages 2 --devices-per-stage 2 --micro-batches 4"),
]
# Columns of one weight, rows of the other: their product is a sum over devices.
TENSOR = {"state/params/up": "[-, model]", "state/params/down": "[model, -]"}
PLANS = {
    "dp": "--strategy dp",
    "zero3": "--strategy zero3",
    "megatron": "--strategy megatron",
    "stages": "--stages 2",
    "mixed": "--stages 2 --mesh data={data},model={model} --strategy megatron",
    "auto": "--strategy auto",
}


def flags_of(plan, devices):
    """For a cluster of so many devices; mixed are stages x data x tensor."""
    model = 2 if devices < 16 else 4
    sizes = {"devices": devices, "data": devices // model // 2, "model": model}
    return f"--cluster cpu:{devices} " + PLANS[plan].format(**sizes)


LONG = [
    (workers, devices, plan)
    for workers in (1, 2, 4, 8)
    for devices in (1, 2, 4)
    for plan in PLANS
    if workers * devices >= (8 if plan == "mixed" else 2)
]


def plan_flags(cli, flags, folder, module=GPT):
    """A plan where flags ask for one; else the flags themselves."""
    words = flags.split()
    if "--strategy" not in words and "--cluster" not in words:
        return words
    if "--cluster" not in words:
        sizes = [int(size) for size in re.findall(r"=(\d+)", words[1])]
        words += ["--cluster", f"cpu:{np.prod(sizes)}"]
    plan = folder / "plan.json"
    done = cli("plan", module, *words, "-o", plan, "--assumed")
    assert done.returncode == 0, done.stderr
    return ["--plan", plan]


def data_parallel(folder, devices):
    """A plan of the small step."""
    plan = folder / "plan.json"
    cluster = ["--cluster", f"cpu:{devices}", "--strategy", "dp", "--assumed"]
    subprocess.run(
        [BINARY, "plan", SMALL, *cluster, "-o", plan],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return plan


@pytest.mark.parametrize(("workers", "flags"), QUICK)
def test_same_as_one_device(cli, train, one_device, tmp_path, workers, flags):
    flags = plan_flags(cli, flags, tmp_path)
    got = train(GPT, *flags, "--workers", workers)
    assert got[2]["workers"] == workers
    assert_same(got, one_device(GPT))


@pytest.mark.parametrize(
    ("devices", "plan"), [(8, "dp"), (8, "zero3"), (16, "zero3"), (16, "stages")]
)
def test_eight_workers(cli, train, one_device, mlp, tmp_path, devices, plan):
    flags = plan_flags(cli, flags_of(plan, devices), tmp_path, mlp)
    assert_same(train(mlp, *flags, "--workers", 8), one_device(mlp))


@pytest.mark.parametrize("devices", [8, 16])
def test_tensors_across_eight_workers(cli, train, one_device, mlp, tmp_path, devices):
    pins = tmp_path / "pins.json"
    pins.write_text(json.dumps({"parameters": TENSOR}))
    flags = f"--cluster cpu:{devices} --mesh model={devices} --pin {pins}"
    flags = plan_flags(cli, flags, tmp_path, mlp)
    sent = json.loads(flags[1].read_text())["collectives"]
    assert [one["kind"] for one in sent] == ["all-reduce"]
    assert_same(train(mlp, *flags, "--workers", 8), one_device(mlp))


def test_stages_of_tensors_across_eight_workers(cli, train, one_device, tmp_path):
    """Two stages, on two shards of the batch and two of tensors: one device each."""
    flags = plan_flags(cli, flags_of("mixed", 8), tmp_path)
    sent = json.loads(flags[1].read_text())["collectives"]
    assert {one["axes"] for one in sent} >= {"data", "model"}
    assert_same(train(GPT, *flags, "--workers", 8), one_device(GPT))


@pytest.mark.long
@pytest.mark.parametrize(("workers", "devices", "plan"), LONG)
def test_same_as_one_device_long(
    cli, train, one_device, tmp_path, workers, devices, plan
):
    flags = plan_flags(cli, flags_of(plan, workers * devices), tmp_path)
    assert_same(train(GPT, *flags, "--workers", workers), one_device(GPT))


def test_devices_are_shared_out_unevenly(train, one_device, tmp_path):
    plan = data_parallel(tmp_path, 4)
    got = train(SMALL, "--plan", plan, "--workers", 3)
    assert_same(got, one_device(SMALL))


def test_more_workers_than_devices(cli):
    line = cli.refuses("run", SMALL, "--mesh", "data=2", "--workers", 3)
    assert "--workers 3: the step is for 2 devices" in line


class Job:
    """Data parallel steps that go on until something happens to them."""

    def __init__(self, folder, devices, workers):
        plan = data_parallel(folder, devices)
        flags = ["--plan", plan, "--workers", workers, "--steps", 1_000_000_000]
        self.process = subprocess.Popen(
            [BINARY, "run", SMALL, *map(str, flags)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def await_step(self):
        """The first step has run."""
        if not self.process.stdout.readline().startswith("step 0"):
            pytest.fail(f"no step: {self.end(limit=60)}")

    def workers(self):
        """Their process ids, by rank."""
        own = str(self.process.pid)
        found = {}
        for entry in os.listdir("/proc"):
            if not entry.isdigit():
                continue
            try:
                with open(f"/proc/{entry}/stat") as file:
                    parent = file.read().rsplit(")", 1)[1].split()[1]
                with open(f"/proc/{entry}/cmdline") as file:
                    words = file.read().split("\0")
            except OSError:
                continue
            if parent == own and "worker" in words:
                found[int(words[words.index("--rank") + 1])] = int(entry)
        return found

    def end(self, limit):
        """Exit code and stderr, within so many seconds."""
        reader = self.process.communicate
        try:
            _, errors = reader(timeout=limit)
        except subprocess.TimeoutExpired:
            self.process.kill()
            _, errors = reader()
            pytest.fail(f"hung; stderr: {errors}")
        return self.process.returncode, errors


def kill_one(seed, folder):
    """A worker, or the coordinator, is killed some time into a job."""
    random = np.random.default_rng(seed)
    workers = int(random.integers(2, 5))
    job = Job(folder, workers * (1 + seed % 2), workers)
    job.await_step()
    pids = job.workers()
    assert sorted(pids) == list(range(workers))
    time.sleep(float(random.uniform(0, 0.3)))
    if random.uniform() < 0.2:
        job.process.send_signal(signal.SIGKILL)
        job.end(limit=60)
    else:
        victim = int(random.integers(0, workers))
        os.kill(pids[victim], signal.SIGKILL)
        code, errors = job.end(limit=60)
        assert code == 3, errors
        assert f"worker {victim} (pid {pids[victim]} on " in errors, errors
        assert "was killed by signal 9" in errors, errors
        assert re.search(r"all workers completed step \d+|no step was", errors)
    await_gone(pids.values())


@pytest.mark.parametrize("seed", range(20))
def test_killed(seed, tmp_path):
    kill_one(seed, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 300))
def test_killed_long(seed, tmp_path):
    kill_one(seed, tmp_path)


def test_interrupted(tmp_path):
    job = Job(tmp_path, 2, 2)
    job.await_step()
    pids = job.workers()
    job.process.send_signal(signal.SIGINT)
    code, _ = job.end(limit=20)
    assert code != 0
    await_gone(pids.values())


def test_nobody_to_join(cli):
    done = cli("worker", "--join", "127.0.0.1:1", "--connect-timeout", 1)
    assert done.returncode == 3
    assert len(done.stderr.splitlines()) == 1
    assert "127.0.0.1:1" in done.stderr


def test_no_coordinator_named(cli):
    assert "--join HOST:PORT" in cli.refuses("worker")


def test_json_is_one_object(cli):
    done = cli("run", SMALL, "--mesh", "data=2", "--workers", 2, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["workers"] == 2


@pytest.fixture(scope="module")
def initialised(tmp_path_factory):
    """A step, and the function that makes its state."""
    folder = tmp_path_factory.mktemp("init")
    paths = [folder / "step.hlo.pb", folder / "init.hlo.pb"]
    scripts.run(HERE / "init_step.py", *paths)
    return paths


@pytest.mark.parametrize(
    "flags",
    [
        "--mesh data=4",
        "--mesh data=4 --workers 2",
        "--mesh data=8 --workers 4",
        "--stages 2 --micro-batches 2",
        "--stages 2 --micro-batches 2 --workers 2",
        "--stages 2 --devices-per-stage 2 --micro-batches 2 --workers 4",
    ],
)
def test_state_is_made_where_it_lives(train, initialised, flags):
    step, init = initialised
    want = train(step, "--init", init)
    assert_same(train(step, "--init", init, *flags.split()), want)


def test_state_is_made_in_shards(cli, train, initialised, tmp_path):
    step, init = initialised
    plan = tmp_path / "plan.json"
    flags = ["--cluster", "cpu:4", "--strategy", "zero3", "--assumed"]
    assert cli("plan", step, *flags, "-o", plan).returncode == 0
    want = train(step, "--init", init)
    got = train(step, "--init", init, "--plan", plan, "--workers", 4)
    assert_same(got, want)


def test_state_of_another_step(cli, initialised):
    step, init = initialised
    line = cli.refuses("run", SMALL, "--init", init, "--mesh", "data=2")
    assert "it returns 4 arrays; the state of the step has 1" in line
    assert str(init) in line
    line = cli.refuses("run", step, "--init", SMALL)
    assert "it returns 2 arrays; the state of the step has 4" in line
