"""A notebook, in a kernel as Jupyter starts it: training, its bar, an interrupt."""

import asyncio
import re
import time
from pathlib import Path

import nbclient
import nbformat
import pytest

START = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
import itertools
import jax
import meshwright
from conftest import Regression
model = Regression()
step = meshwright.parallelize(model.train_step, cluster="cpu:2", log_every=2)
state = step.init(model.init, jax.random.key(0))
batches = list(model.batches(4))
for batch in step.progress(batches):
    state, metrics = step(state, batch)
print("trained", step.steps, int(state.fetch("steps")))
"""
TRAIN_ON = """
try:
    for batch in itertools.cycle(batches):
        state, metrics = step(state, batch)
        if step.steps == 8:
            print("under way", flush=True)
except KeyboardInterrupt:
    print("interrupted", step.steps, int(state.fetch("steps")))
    raise
"""
AFTERWARDS = """
before = step.steps
state, metrics = step(state, batches[0])
print("goes on", step.steps - before, int(state.fetch("steps")) == step.steps)
print("loss", float(metrics["loss"]))
step.close()
"""


def text_of(cell) -> str:
    """What the cell has shown, on stdout and stderr and as displays."""
    shown = []
    for output in cell.outputs:
        shown += [output.get("text", ""), *output.get("data", {}).values()]
    return "".join(map(str, shown))


async def interrupt_when_under_way(client, cell):
    end = time.monotonic() + 120
    while "under way" not in text_of(cell) and time.monotonic() < end:
        await asyncio.sleep(0.05)
    await client.km.interrupt_kernel()


@pytest.mark.filterwarnings("ignore")
def test_a_notebook_trains_is_interrupted_and_goes_on(tmp_path):
    cells = [nbformat.v4.new_code_cell(text) for text in (START, TRAIN_ON, AFTERWARDS)]
    notebook = nbformat.v4.new_notebook(cells=cells)
    client = nbclient.NotebookClient(
        notebook,
        timeout=240,
        kernel_name="python3",
        resources={"metadata": {"path": str(tmp_path)}},
    )

    async def run():
        async with client.async_setup_kernel():
            first, second, third = cells
            await client.async_execute_cell(first, 0)
            interrupt = asyncio.create_task(interrupt_when_under_way(client, second))
            with pytest.raises(nbclient.exceptions.CellExecutionError) as error:
                await client.async_execute_cell(second, 1)
            await interrupt
            assert error.value.ename == "KeyboardInterrupt"
            await client.async_execute_cell(third, 2)

    asyncio.run(run())
    first, second, third = map(text_of, cells)
    assert "trained 4 4" in first
    assert re.search(r"step 2: loss .*\n(?s:.*)step 4: loss ", first)
    assert "4/4" in first  # The bar.
    steps, own = re.search(r"interrupted (\d+) (\d+)", second).groups()
    assert steps == own and int(steps) >= 8
    assert "goes on 1 True" in third and "loss " in third
