"""Fine-tunes a LLaMA on text: weights from a safetensors file, and back into one.

python examples/llama_finetune.py model.safetensors --heads 32 --cluster h200:8
"""

import argparse
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
from safetensors.numpy import load_file, save_file

import meshwright

parser = argparse.ArgumentParser(usage=__doc__)
parser.add_argument("weights")
parser.add_argument("--output", default="tuned.safetensors")
parser.add_argument("--cluster")
for name, size in {"steps": 100, "batch": 8, "length": 64, "heads": 4}.items():
    parser.add_argument(f"--{name}", type=int, default=size)
args = parser.parse_args()
optimizer = optax.adamw(optax.cosine_decay_schedule(1e-4, args.steps))


def norm(x, scale):
    return scale * x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-5)


def rotate(x):
    half = x.shape[-1] // 2
    angle = jnp.arange(x.shape[1])[:, None, None] / 10_000 ** (jnp.arange(half) / half)
    (a, b), sin, cos = jnp.split(x, 2, -1), jnp.sin(angle), jnp.cos(angle)
    return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], -1)


def loss_fn(params, tokens):
    x = params["model.embed_tokens.weight"][tokens[:, :-1]]
    heads = (*x.shape[:2], -1, x.shape[2] // args.heads)
    for i in range(sum("q_proj" in name for name in params)):
        p = {k.split(".", 3)[3]: w.T for k, w in params.items() if f".{i}." in k}
        y = norm(x, p["input_layernorm.weight"])
        q, k, v = ((y @ p[f"self_attn.{n}_proj.weight"]).reshape(heads) for n in "qkv")
        y = jax.nn.dot_product_attention(rotate(q), rotate(k), v, is_causal=True)
        x += y.reshape(x.shape) @ p["self_attn.o_proj.weight"]
        y = norm(x, p["post_attention_layernorm.weight"])
        gate = jax.nn.silu(y @ p["mlp.gate_proj.weight"])
        x += (gate * (y @ p["mlp.up_proj.weight"])) @ p["mlp.down_proj.weight"]
    logits = norm(x, params["model.norm.weight"]) @ params["lm_head.weight"].T
    cross_entropy = optax.softmax_cross_entropy_with_integer_labels
    return cross_entropy(logits, tokens[:, 1:]).mean()


def train_step(state, tokens):
    loss, grads = jax.value_and_grad(loss_fn)(state[0], tokens)
    updates, moments = optimizer.update(grads, state[1], state[0])
    return (optax.apply_updates(state[0], updates), moments), loss


step = meshwright.parallelize(train_step, cluster=args.cluster, log_every=10)
state = step.init(lambda p: (p, optimizer.init(p)), load_file(args.weights))
text = np.fromfile(Path(__file__).parents[1] / "testdata/text.txt", np.uint8)
rng = np.random.default_rng(0)
for _ in step.progress(range(args.steps)):
    starts = rng.integers(0, len(text) - args.length, (args.batch, 1))
    tokens = text[starts + np.arange(args.length + 1)].astype(np.int32)
    state, loss = step(state, tokens)
save_file(state[0].fetch(), args.output)
