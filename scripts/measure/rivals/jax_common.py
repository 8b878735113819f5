"""Shared by the JAX rivals of ffn-train: layers as dictionaries of arrays, the training as one jitted scan, the closing JSON line.

Layers, initial distributions, losses, AdamW and evaluations are those of common.py. `lax.scan` goes over steps, `vmap` over runs.
Data and first weights come from NumPy: jax.random compiles its generators for every shape, which takes longer than all else.
"""
import json
import os
import time

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax, random

ACTIVATIONS = {"relu": jax.nn.relu, "gelu": lambda x: jax.nn.gelu(x, approximate=False), "silu": jax.nn.silu}
COMPILE_SECONDS = []


def xor_data(rng, steps, batch):
    """All batches of a run: inputs (steps, batch, 2), labels (steps, batch)."""
    pattern = rng.integers(4, size=(steps, batch))
    return XOR_INPUTS[pattern], XOR_LABELS[pattern]


XOR_INPUTS = np.array([[-1, -1], [1, -1], [-1, 1], [1, 1]], np.float32)
XOR_LABELS = np.array([0, 1, 1, 0], np.int32)


def sequence_xor_data(rng, *shape):
    """Bits (..., T) and labels: -1, which is not scored, before there are two bits."""
    bits = rng.integers(2, size=shape, dtype=np.int32)
    labels = np.full_like(bits, -1)
    labels[..., 2:] = bits[..., 1:-1] ^ bits[..., :-2]
    return bits, labels


def init_linear(rng, d_in, d_out, bias=True):
    bound = d_in**-0.5
    layer = {"weight": rng.uniform(-bound, bound, (d_in, d_out)).astype(np.float32)}
    return {**layer, "bias": rng.uniform(-bound, bound, d_out).astype(np.float32)} if bias else layer


def linear(layer, x):
    return x @ layer["weight"] + layer.get("bias", 0)


def init_norm(d):
    return {"scale": np.ones(d, np.float32), "shift": np.zeros(d, np.float32)}


def norm(layer, x):
    return jax.nn.standardize(x, epsilon=1e-5) * layer["scale"] + layer["shift"]


def init_transformer(rng, vocabulary, length, d_model, blocks):
    return {
        "embedding": rng.standard_normal((vocabulary, d_model), np.float32),
        "position": rng.standard_normal((length, d_model), np.float32),
        "head": init_linear(rng, d_model, vocabulary),
        "norm": init_norm(d_model),
        "blocks": [
            {
                "norm1": init_norm(d_model),
                "qkv": init_linear(rng, d_model, 3 * d_model, bias=False),
                "output": init_linear(rng, d_model, d_model, bias=False),
                "norm2": init_norm(d_model),
                "up": init_linear(rng, d_model, 4 * d_model),
                "down": init_linear(rng, 4 * d_model, d_model),
            }
            for _ in range(blocks)
        ],
    }


def attention(block, x, heads):
    b, t, d = x.shape
    q, k, v = linear(block["qkv"], x).reshape(b, t, 3, heads, d // heads).transpose(2, 0, 3, 1, 4)  # each (B, H, T, D/H)
    scores = jnp.where(jnp.tri(t, dtype=bool), q @ k.swapaxes(-1, -2) * (d // heads) ** -0.5, -jnp.inf)
    mixed = jax.nn.softmax(scores) @ v
    return linear(block["output"], mixed.swapaxes(1, 2).reshape(b, t, d))


def transformer(params, tokens, key=None, heads=4, activation="gelu", dropout=0.0):
    """tokens: (B, T) -> logits (B, T, V); key: of dropout, none when evaluating"""
    x = params["embedding"][tokens] + params["position"]
    for i, block in enumerate(params["blocks"]):
        x = x + attention(block, norm(block["norm1"], x), heads)
        hidden = ACTIVATIONS[activation](linear(block["up"], norm(block["norm2"], x)))
        if dropout and key is not None:
            kept = random.bernoulli(random.fold_in(key, i), 1 - dropout, hidden.shape)
            hidden = jnp.where(kept, hidden / (1 - dropout), 0)
        x = x + linear(block["down"], hidden)
    return linear(params["head"], norm(params["norm"], x))


def adamw(lr, weight_decay=0.01):
    return optax.adamw(lr, weight_decay=weight_decay, mask=lambda params: jax.tree.map(lambda p: p.ndim > 1, params))


def loss_of(logits, labels):
    losses = optax.softmax_cross_entropy_with_integer_labels(logits, jnp.maximum(labels, 0))
    return jnp.mean(losses, where=labels >= 0)


def train(forward, params, optimizer, inputs, labels, validation, eval_every, key=None):
    """One step per entry of inputs; evaluates before the first, every eval_every steps and after the last. The final loss."""
    eval_every = min(eval_every, len(inputs))
    keys = None if key is None else random.split(key, len(inputs))

    def evaluate(params):
        logits = forward(params, validation[0])
        correct = (logits.argmax(-1) == validation[1]).sum()  # a label of -1 is never right
        return loss_of(logits, validation[1]), correct

    def step(carry, batch):
        params, state = carry
        x, y, key = batch
        gradient = jax.grad(lambda p: loss_of(forward(p, x) if key is None else forward(p, x, key), y))(params)
        updates, state = optimizer.update(gradient, state, params)
        return (optax.apply_updates(params, updates), state), None

    def steps_between_evaluations(carry, batches):
        evaluated = evaluate(carry[0])
        return lax.scan(step, carry, batches)[0], evaluated

    batches = jax.tree.map(lambda x: x.reshape(-1, eval_every, *x.shape[1:]), (inputs, labels, keys))
    (params, _), history = lax.scan(steps_between_evaluations, (params, optimizer.init(params)), batches)
    final = evaluate(params)
    return final[0], jax.tree.map(lambda all, last: jnp.append(all, last), history, final)


def stack(runs):
    """Trees of arrays of many runs as one tree, runs in front: what vmap takes."""
    return jax.tree.map(lambda *each: np.stack(each), *runs)


def run(function, *args):
    """The result of jit(function)(*args); the seconds of compilation are kept for the report."""
    began = time.perf_counter()
    compiled = jax.jit(function).lower(*args).compile()
    COMPILE_SECONDS.append(time.perf_counter() - began)
    return jax.block_until_ready(compiled(*args))


def report(losses, steps, loop_s):
    """The last line of common.py's scripts. Threads are the cores that the process may use: XLA's pool has as many."""
    runs = sum(len(values) for values in losses.values())
    print(json.dumps({"runs": runs, "steps": steps, "threads": len(os.sched_getaffinity(0)), "loop_s": loop_s,
                      "compile_s": sum(COMPILE_SECONDS), "val_loss": losses}))  # fmt: skip
