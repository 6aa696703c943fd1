"""Trains until somebody stops it, or for so many steps: endless_training.py DIR STEPS"""

import itertools
import sys
from pathlib import Path

import jax

import meshwright
from conftest import Regression

folder, steps = Path(sys.argv[1]), int(sys.argv[2])
model = Regression()
step = meshwright.parallelize(
    model.train_step,
    cluster="cpu:2",
    log_every=5,
    sinks=[
        meshwright.metrics.JsonLines(folder / "metrics.jsonl"),
        meshwright.metrics.Plot(folder / "loss.svg"),
    ],
)
state = step.init(model.init, jax.random.key(0))
batches = itertools.cycle(model.batches(4))
for batch in step.progress(itertools.islice(batches, steps), steps):
    state, metrics = step(state, batch)
