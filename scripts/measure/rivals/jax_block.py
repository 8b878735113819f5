#!/usr/bin/env python3
"""Runs of one attention + FFN block with JAX: training is a scan, the seeds of an activation one vmap; a rival of `block-study`."""
import argparse
import time
from functools import partial

from jax import vmap
from jax_common import ACTIVATIONS, adamw, init_transformer, np, report, run, sequence_xor_data, stack, train, transformer

parser = argparse.ArgumentParser()
parser.add_argument("--seeds", nargs=2, type=int, default=[0, 8], metavar=("FIRST", "END"))
parser.add_argument("--steps", type=int, default=300)
args = parser.parse_args()
LENGTH, BATCH, LR, EVAL_EVERY, EVAL_EXAMPLES = 16, 32, 0.003, 100, 512


def first_weights_and_data(seed):
    rng = np.random.default_rng(seed)
    params = init_transformer(rng, vocabulary=2, length=LENGTH, d_model=32, blocks=1)
    return params, sequence_xor_data(rng, args.steps, BATCH, LENGTH), sequence_xor_data(rng, EVAL_EXAMPLES, LENGTH)


def one_run(activation, params, data, validation):
    return train(partial(transformer, activation=activation), params, adamw(LR), *data, validation, EVAL_EVERY)


began = time.perf_counter()
runs = stack([first_weights_and_data(seed) for seed in range(*args.seeds)])
losses = {f"{activation} 4": run(vmap(partial(one_run, activation)), *runs)[0].tolist() for activation in ACTIVATIONS}
report(losses, args.steps, time.perf_counter() - began)
