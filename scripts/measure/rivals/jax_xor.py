#!/usr/bin/env python3
"""XOR runs with JAX: training is a scan, the seeds of a variant one vmap; a rival of `xor-study` and `xor-once`."""
import argparse
import time

from jax import vmap
from jax_common import ACTIVATIONS, XOR_INPUTS, XOR_LABELS, adamw, init_linear, linear, np, report, run, stack, train, xor_data

parser = argparse.ArgumentParser()
parser.add_argument("--activations", nargs="+", default=list(ACTIVATIONS))
parser.add_argument("--expansions", nargs="+", type=int, default=[1, 2, 4, 8])
parser.add_argument("--seeds", nargs=2, type=int, default=[0, 20], metavar=("FIRST", "END"))
parser.add_argument("--steps", type=int, default=2000)
parser.add_argument("--eval-every", type=int, default=5)
parser.add_argument("--lr", type=float, default=0.002)
args = parser.parse_args()
D, BATCH = 8, 64


def first_weights_and_data(d_ff, seed):
    widths, rng = [2, D, d_ff, D, 2], np.random.default_rng(seed)
    return [init_linear(rng, *shape) for shape in zip(widths, widths[1:])], xor_data(rng, args.steps, BATCH)


def variant(activation, d_ff):
    """Final validation losses of the seeds."""

    def forward(params, x):
        x = linear(params[1], linear(params[0], x))
        return linear(params[3], linear(params[2], ACTIVATIONS[activation](x)))

    def one_run(params, data):
        return train(forward, params, adamw(args.lr), *data, (XOR_INPUTS, XOR_LABELS), args.eval_every)

    runs = [first_weights_and_data(d_ff, seed) for seed in range(*args.seeds)]
    return run(one_run, *runs[0])[0][None] if len(runs) == 1 else run(vmap(one_run), *stack(runs))[0]


began = time.perf_counter()
losses = {
    f"{activation} {expansion}": variant(activation, D * expansion).tolist() for activation in args.activations for expansion in args.expansions
}
report(losses, args.steps, time.perf_counter() - began)
