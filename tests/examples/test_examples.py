"""The examples at tiny size: the losses of plain JAX on one device."""

import math
import re
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import meshwright
from meshwright.client.channel import Service
from plain_jax import PlainStep

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
STEPS = 50
SCRIPTS = {
    "gpt": "--width 32 --length 16 --batch 8 --layers 1",
    "gpt_nnx": "--width 32 --length 16 --batch 8 --layers 1",
    "mixer_equinox": "--width 16 --batch 16 --layers 1",
    "llama_finetune": "{folder}/tiny.safetensors --output {folder}/{where} --length 16",
    "moe": "--width 16 --length 16 --experts 4 --layers 1",
    "wide_resnet": "--pixels 4 --batch 8",
    "same_script": "",
}
parallelize = meshwright.parallelize


def test_all_examples_are_here_and_short():
    found = {path.stem: path.read_text().splitlines() for path in EXAMPLES.glob("*.py")}
    assert found.keys() == SCRIPTS.keys()
    assert {name for name, lines in found.items() if len(lines) >= 70} == set()


def run(name: str, words: str, make, monkeypatch) -> list[float]:
    """The losses of a script whose `parallelize` is `make`."""
    losses, steps = [], []

    def recorded(fn, **options):
        step = make(fn, **options)
        steps.append(step)
        call = type(step).__call__

        def called(self, *args):
            result = call(self, *args)
            last = result[-1] if isinstance(result, tuple) else result
            losses.append(float(last["loss"] if isinstance(last, dict) else last))
            return result

        monkeypatch.setattr(type(step), "__call__", called)
        return step

    monkeypatch.setattr(meshwright, "parallelize", recorded)
    monkeypatch.setattr(sys, "argv", [name, *words.split(), "--steps", str(STEPS)])
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    for step in steps:
        step.close()
    monkeypatch.undo()
    return losses


@pytest.mark.parametrize("name", SCRIPTS)
def test_losses_are_those_of_one_device(name, tmp_path, monkeypatch):
    save_file(tiny_llama(), tmp_path / "tiny.safetensors")
    words = SCRIPTS[name]
    here = words.format(folder=tmp_path, where="one")
    want = run(name, here, lambda fn, **_: PlainStep(fn), monkeypatch)
    there = words.format(folder=tmp_path, where="many") + " --cluster cpu:4"
    got = run(name, there, parallelize, monkeypatch)
    assert len(want) == STEPS
    assert want[-1] < want[0]
    np.testing.assert_allclose(got, want, rtol=1e-4)
    if name == "llama_finetune":
        one, many = load_file(tmp_path / "one"), load_file(tmp_path / "many")
        assert one.keys() == many.keys() == tiny_llama().keys()
        for key, array in one.items():
            np.testing.assert_allclose(many[key], array, rtol=1e-3, atol=1e-5)


def test_the_same_script_on_two_workers(coordinator, monkeypatch, capsys):
    want = run("same_script", "", lambda fn, **_: PlainStep(fn), monkeypatch)
    got = run("same_script", f"--cluster {coordinator}", parallelize, monkeypatch)
    assert len(got) == STEPS
    np.testing.assert_allclose(got, want, rtol=1e-4)
    workers = Service(coordinator).status()["workers"]
    assert [worker["devices"] for worker in workers] == [2, 2]
    mesh = re.search(r"mesh ([\w=,]+), micro-batches", capsys.readouterr().out)[1]
    assert math.prod(map(int, re.findall(r"=(\d+)", mesh))) == 4  # Of both.


def tiny_llama(width=32, layers=2, heads=4, kv_heads=2, hidden=64) -> dict:
    """As HuggingFace's files have it."""
    rng = np.random.default_rng(0)
    kv = width // heads * kv_heads
    shapes = {
        "self_attn.q_proj": (width, width),
        "self_attn.k_proj": (kv, width),
        "self_attn.v_proj": (kv, width),
        "self_attn.o_proj": (width, width),
        "mlp.gate_proj": (hidden, width),
        "mlp.up_proj": (hidden, width),
        "mlp.down_proj": (width, hidden),
        "input_layernorm": (width,),
        "post_attention_layernorm": (width,),
    }
    weights = {"model.embed_tokens": (256, width), "model.norm": (width,)}
    weights["lm_head"] = (256, width)
    for i in range(layers):
        weights |= {f"model.layers.{i}.{name}": s for name, s in shapes.items()}
    return {
        f"{name}.weight": (rng.normal(size=s) / 8 if len(s) > 1 else np.ones(s)).astype(
            np.float32
        )
        for name, s in weights.items()
    }


def test_as_a_program():
    words = [sys.executable, EXAMPLES / "same_script.py", "--cluster", "cpu:2"]
    done = subprocess.run(
        [*words, "--steps", "20"], capture_output=True, text=True, check=True
    )
    # The script's own print and the last line may meet.
    lines = re.findall(r"step \d+: .*", done.stdout)
    assert [line.split(":")[0] for line in lines] == ["step 10", "step 20"]
    assert all(text in lines[0] for text in ("loss ", " samples/s", "MFU ", " ms a"))
