"""Trains up to a step, with a checkpoint of each: saving_training.py DIR LAST

Goes on from the newest checkpoint, and prints the loss of every step.
"""

import sys
from pathlib import Path

import jax

import meshwright
from conftest import Regression

folder, last = Path(sys.argv[1]), int(sys.argv[2])
model = Regression()
step = meshwright.parallelize(
    model.train_step, cluster="cpu:2", strategy="zero3", assumed=True
)
state = step.init(model.init, jax.random.key(0))
if any(folder.glob("step_*")):
    state = step.restore(folder, state)
step.save_every(folder, steps=1, keep=2)
while step.steps < last:
    (batch,) = model.batches(1, seed=step.steps)
    state, metrics = step(state, batch)
    print(step.steps, float(metrics["loss"]), flush=True)
step.close()
