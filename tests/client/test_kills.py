"""A script that trains and saves is killed at any moment, or its engine is."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import jax

from conftest import ROOT
from meshwright.client.engine import find_program

sys.path.insert(0, str(ROOT / "tests" / "e2e"))
from process_ids import await_gone, children_of

SCRIPT = Path(__file__).with_name("saving_training.py")
KILLS = 12
VICTIMS = ("script", "engine", "both")
ENDLESS = 10**9


def newest_in(folder):
    return max((int(path.name[5:]) for path in folder.glob("step_*")), default=0)


def verify(folder):
    words = [find_program(), "checkpoint", "verify", folder]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


class Training:
    """The script, its losses by step, and what it says on stderr."""

    def __init__(self, folder, last, log):
        self._log, self._errors = log, log.with_suffix(".err")
        with log.open("w") as out, self._errors.open("w") as errors:
            words = [sys.executable, SCRIPT, folder, last]
            self.process = subprocess.Popen(
                list(map(str, words)), stdout=out, stderr=errors
            )

    @property
    def errors(self):
        return self._errors.read_text()

    @property
    def losses(self):
        # Of the last line there may be a part.
        lines = [line.split() for line in self._log.read_text().split("\n")[:-1]]
        return {int(step): float(loss) for step, loss in lines}


def kill(training, victim):
    """With SIGKILL; gives the ids of what must be gone soon."""
    script = training.process
    engine = children_of(script.pid)
    if victim in ("script", "both") or not engine:
        script.kill()
    if victim in ("engine", "both"):
        for pid in engine:
            os.kill(pid, signal.SIGKILL)
    code = script.wait(60)
    if code != -signal.SIGKILL:
        assert code == 1
        assert "NoAnswer: the engine" in training.errors.splitlines()[-1]
    return engine


def test_killed_at_any_moment_it_goes_on_as_if_undisturbed(
    regression, parallelize, tmp_path
):
    """Each run goes on from where the one before was killed."""
    folder = tmp_path / "checkpoints"
    moments, newest, losses, in_saves = random.Random(21), 0, {}, 0
    for number in range(KILLS):
        training = Training(folder, ENDLESS, tmp_path / f"{number}.log")
        try:
            if number % 6 == 3:  # While it starts.
                time.sleep(moments.uniform(0.5, 4))
            else:  # In the midst of steps and saves.
                latest = time.monotonic() + 120
                while newest_in(folder) <= newest and time.monotonic() < latest:
                    time.sleep(0.01)
                time.sleep(moments.uniform(0, 0.1))
            await_gone(kill(training, VICTIMS[number % len(VICTIMS)]))
        finally:
            training.process.kill()
        for step, loss in training.losses.items():
            assert losses.setdefault(step, loss) == loss, step
        assert newest_in(folder) >= newest
        newest = newest_in(folder)
        in_saves += any(folder.glob(".saving-*"))
        verify(folder)
    assert newest >= KILLS // 2 and in_saves > 0
    # And to the end.
    training = Training(folder, newest + 5, tmp_path / "end.log")
    assert training.process.wait(120) == 0, training.errors
    assert list(training.losses) == list(range(newest + 1, newest + 6))
    losses |= training.losses
    assert sorted(path.name for path in folder.iterdir()) == [
        f"step_{step:08}" for step in (newest + 4, newest + 5)
    ]
    step = parallelize(
        regression.train_step, cluster="cpu:2", strategy="zero3", assumed=True
    )
    state = step.init(regression.init, jax.random.key(0))
    while step.steps < newest + 5:
        (batch,) = regression.batches(1, seed=step.steps)
        state, metrics = step(state, batch)
        loss = float(metrics["loss"])
        # What a killed script had no time to print was trained on from.
        assert losses.get(step.steps, loss) == loss, step.steps
