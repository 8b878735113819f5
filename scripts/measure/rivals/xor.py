#!/usr/bin/env python3
"""XOR runs, one after the other or the seeds of a variant as one vmap: a rival of `xor-study` and `xor-once`."""
import argparse
import time

from common import ACTIVATIONS, XOR_INPUTS, XOR_LABELS, report, train_runs, xor_data, xor_model

parser = argparse.ArgumentParser()
parser.add_argument("--activations", nargs="+", default=list(ACTIVATIONS))
parser.add_argument("--expansions", nargs="+", type=int, default=[1, 2, 4, 8])
parser.add_argument("--seeds", nargs=2, type=int, default=[0, 20], metavar=("FIRST", "END"))
parser.add_argument("--steps", type=int, default=2000)
parser.add_argument("--eval-every", type=int, default=5)
parser.add_argument("--lr", type=float, default=0.002)
parser.add_argument("--ensemble", action="store_true")
parser.add_argument("--compile", action="store_true")
args = parser.parse_args()
D, BATCH = 8, 64


def variant(activation, d_ff):
    runs = ((xor_model(activation, d_ff, seed), *xor_data(seed, args.steps, BATCH), (XOR_INPUTS, XOR_LABELS)) for seed in range(*args.seeds))
    return train_runs(runs, args.lr, args.eval_every, args.ensemble, args.compile)


began = time.perf_counter()
losses = {f"{activation} {expansion}": variant(activation, D * expansion) for activation in args.activations for expansion in args.expansions}
report(losses, args.steps, time.perf_counter() - began)
