"""Saved state: `run --checkpoint`, `--resume`, and `meshwright checkpoint`."""

import json
import os
import random
import resource
import shutil
import signal
import subprocess
import time

import numpy as np
import pytest
from conftest import BINARY
from process_ids import await_gone, children_of


def steps_in(folder):
    return sorted(int(path.name[5:]) for path in folder.glob("step_*"))


@pytest.fixture(scope="module")
def saved(cli, mlp, tmp_path_factory):
    """Ten steps of a module, and the checkpoints of some of them."""
    folder = tmp_path_factory.mktemp("saved") / "checkpoints"
    run = cli.json(
        "run", mlp, "--steps", 10, "--checkpoint", folder, "--checkpoint-every", 2
    )
    assert steps_in(folder) == [2, 4, 6, 8, 10]
    return folder, run["loss"]


def test_a_resumed_run_goes_on_as_if_undisturbed(cli, mlp, saved, tmp_path):
    folder, losses = saved
    for devices in (1, 4):
        words = ["run", mlp]
        if devices > 1:
            plan = tmp_path / "plan.json"
            flags = ("--cluster", f"cpu:{devices}", "--strategy", "zero3", "--assumed")
            cli.json("plan", mlp, *flags, "-o", plan)
            words += ["--plan", plan, "--workers", 2]
        here = tmp_path / str(devices)
        shutil.copytree(folder / "step_00000004", here / "step_00000004")
        flags = ("--steps", 10, "--resume", "--checkpoint", here, "--keep", 1)
        run = cli.json(*words, *flags, "--checkpoint-every", 3)
        assert run["first_step"] == 4
        assert run["loss"] == pytest.approx(losses[4:], rel=1e-5 * (devices > 1))
        assert steps_in(here) == [10]
    # Nothing is left to do.
    again = cli("run", mlp, "--steps", 10, "--resume", "--checkpoint", here)
    assert again.returncode == 0, again.stderr
    assert "all steps were run before" in again.stdout


def test_others_read_the_files(cli, saved, tmp_path):
    safetensors = pytest.importorskip("safetensors.numpy")
    folder, _ = saved
    listed = cli.json("checkpoint", "ls", folder)["checkpoints"]
    assert [one["step"] for one in listed] == [2, 4, 6, 8, 10]
    assert cli.json("checkpoint", "verify", folder)["ok"]
    one = cli.json("checkpoint", "ls", folder / "step_00000004")["checkpoints"][0]
    out = tmp_path / "out"
    made = cli.json("checkpoint", "export", folder / "step_00000004", "-o", out)
    index = json.loads((out / "model.safetensors.index.json").read_text())
    tensors = safetensors.load_file(out / made["files"][0])
    assert set(index["weight_map"]) == set(tensors)
    shards = safetensors.load_file(folder / "step_00000004" / "shard-00000.safetensors")
    assert {t["name"]: t["shape"] for t in one["contents"]} == {
        name: list(array.shape) for name, array in tensors.items()
    }
    for name, array in tensors.items():
        np.testing.assert_array_equal(array, shards[name])
    # And what they write is taken.
    safetensors.save_file(tensors, tmp_path / "theirs.safetensors")
    theirs = tmp_path / "theirs"
    cli.json("checkpoint", "import", tmp_path / "theirs.safetensors", "-o", theirs)
    same = cli.json("checkpoint", "diff", folder / "step_00000004", theirs)
    assert same["same"] and same["equal"] == len(tensors)
    other = cli.json("checkpoint", "diff", folder / "step_00000004", folder)
    assert other["different"] and other["different"][0]["max_abs"] > 0


def test_damage_is_refused_and_nothing_is_overwritten(cli, mlp, saved, tmp_path):
    folder, _ = saved
    here = tmp_path / "checkpoints"
    shutil.copytree(folder, here)
    shard = here / "step_00000010" / "shard-00000.safetensors"
    whole = shard.read_bytes()
    run = ("run", mlp, "--steps", 20, "--resume", "--checkpoint", here)
    for damaged in (whole[:-1], whole[:-9] + b"\0\1\2" + whole[-6:], b""):
        shard.write_bytes(damaged)
        for words in (("checkpoint", "verify", here / "step_00000010"), run):
            assert str(shard) in cli.refuses(*words)
    shard.unlink()
    assert str(shard) in cli.refuses(*run)
    verified = cli("checkpoint", "verify", here, "--json")
    assert verified.returncode == 2
    oks = [one["ok"] for one in json.loads(verified.stdout)["checkpoints"]]
    assert oks == [True, True, True, True, False]
    assert steps_in(here) == [2, 4, 6, 8, 10]


def test_mistakes(cli, mlp, saved, tmp_path):
    folder, _ = saved
    assert "--checkpoint DIR" in cli.refuses("run", mlp, "--resume")
    (tmp_path / "file").write_text("")
    line = cli.refuses("run", mlp, "--checkpoint", tmp_path / "file" / "x")
    assert str(tmp_path / "file") in line
    assert "no complete checkpoint" in cli.refuses("checkpoint", "ls", tmp_path)
    assert "ls, verify" in cli.refuses("checkpoint", "list", folder)
    assert "needs -o" in cli.refuses("checkpoint", "export", folder)
    assert "two checkpoints" in cli.refuses("checkpoint", "diff", folder)
    line = cli.refuses("checkpoint", "import", mlp, "-o", tmp_path / "x")
    assert str(mlp) in line and "safetensors" in line
    out = ("-o", tmp_path / "none")
    assert '"q"' in cli.refuses("checkpoint", "export", folder, "--prefix", "q", *out)


def test_a_full_disk_does_not_stop_training(cli, mlp, saved, tmp_path):
    folder, losses = saved
    here = tmp_path / "checkpoints"
    shutil.copytree(folder / "step_00000002", here / "step_00000002")

    def small_files():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (8192, resource.RLIM_INFINITY))

    words = ["run", mlp, "--steps", 10, "--resume", "--json", "--checkpoint", here]
    done = subprocess.run(
        [BINARY, *map(str, words), "--checkpoint-every", "2"],
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
        preexec_fn=small_files,
    )
    assert json.loads(done.stdout)["loss"] == losses[2:]
    assert done.stderr.count("was not saved") >= 3, done.stderr
    assert done.returncode == 2 and "No space left" in done.stderr.splitlines()[-1]
    assert [path.name for path in here.iterdir()] == ["step_00000002"]
    assert cli.json("checkpoint", "verify", here)["ok"]


# Kills: of one process; of a coordinator of two workers and of one of these, which
# save shards of one checkpoint together.
KILLS = {"alone": 26, "coordinator": 12, "worker": 12}


@pytest.mark.parametrize("victim", KILLS)
def test_killed_at_any_moment_the_newest_checkpoint_is_whole(
    cli, mlp, tmp_path, victim
):
    """Each run goes on from where the one before was killed."""
    here, words = tmp_path / "checkpoints", ["run", mlp]
    if victim != "alone":
        plan = tmp_path / "plan.json"
        flags = ("--cluster", "cpu:4", "--strategy", "zero3", "--assumed")
        cli.json("plan", mlp, *flags, "-o", plan)
        words += ["--plan", plan, "--workers", 2]
    saving = ["--checkpoint", here, "--checkpoint-every", 1, "--keep", 2]
    moments, newest = random.Random(21), 0
    for kill in range(KILLS[victim]):
        run = subprocess.Popen(
            [BINARY, *map(str, words + saving), "--steps", "100000", "--resume"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        # Most in the midst of steps and saves, some before the first.
        latest = time.monotonic() + 120
        while kill % 8 != 0 and time.monotonic() < latest:
            if (steps_in(here) or [0])[-1] > newest:
                break
            time.sleep(0.01)
        time.sleep(moments.uniform(0, 0.1))
        workers = sorted(children_of(run.pid))
        if victim == "worker" and workers:
            os.kill(moments.choice(workers), signal.SIGKILL)
            _, errors = run.communicate(timeout=60)
            assert run.returncode == 3 and "killed by signal 9" in errors, errors
        else:
            run.kill()
            run.communicate()
        await_gone(workers)
        steps = steps_in(here)
        if not steps:
            continue
        assert steps[-1] >= newest and len(steps) <= 4
        newest = steps[-1]
        assert cli.json("checkpoint", "verify", here)["ok"]
    assert newest >= KILLS[victim] * 3 // 4, newest
    # It restores, and trains on as if nothing had happened.
    end = newest + 5
    resumed = cli.json(
        *(*words, "--steps", end, "--resume", "--checkpoint", here, "--keep", 1)
    )
    assert resumed["first_step"] == newest
    whole = cli.json(*words, "--steps", end)
    assert resumed["loss"] == whole["loss"][newest:]
    assert [path.name for path in here.iterdir()] == [f"step_{end:08}"]
