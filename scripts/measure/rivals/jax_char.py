#!/usr/bin/env python3
"""The character model of char.py with JAX: all steps in one scan; a rival of `char`."""
import argparse
import time
from functools import partial
from pathlib import Path

from jax import random
from jax_common import adamw, init_transformer, np, optax, report, run, train, transformer

parser = argparse.ArgumentParser()
parser.add_argument("--file", type=Path, default="/usr/share/common-licenses/GPL-3")
parser.add_argument("--steps", type=int, default=100)
args = parser.parse_args()
D_MODEL, BLOCKS, BATCH, LENGTH, LR, EVAL_EVERY, EVAL_EXAMPLES, WARMUP, FINAL_FRACTION = 128, 4, 12, 64, 0.003, 100, 512, 50, 0.1

began = time.perf_counter()
text = args.file.read_text(encoding="utf-8")
alphabet = {character: i for i, character in enumerate(sorted(set(text)))}
ids = np.array([alphabet[character] for character in text], np.int32)
train_ids, valid_ids = np.split(ids, [len(ids) - len(ids) // 10])
windows = np.lib.stride_tricks.sliding_window_view(train_ids, LENGTH + 1)
rng = np.random.default_rng(0)
batches = windows[rng.integers(len(windows), size=(args.steps, BATCH))]  # (steps, B, T + 1)
valid = np.lib.stride_tricks.sliding_window_view(valid_ids, LENGTH + 1)[::LENGTH][:EVAL_EXAMPLES]
first = init_transformer(rng, len(alphabet), LENGTH, D_MODEL, BLOCKS)
rate = optax.warmup_cosine_decay_schedule(LR / WARMUP, LR, WARMUP, max(args.steps, WARMUP + 1), end_value=FINAL_FRACTION * LR)
optimizer = optax.chain(optax.clip_by_global_norm(1.0), adamw(rate, weight_decay=0.1))


def one_run(params, batches, valid, key):
    return train(
        partial(transformer, dropout=0.1), params, optimizer, batches[..., :-1], batches[..., 1:], (valid[:, :-1], valid[:, 1:]), EVAL_EVERY, key
    )


final, _ = run(one_run, first, batches, valid, random.key(0))
report({"gelu 4": [final.item()]}, args.steps, time.perf_counter() - began)
