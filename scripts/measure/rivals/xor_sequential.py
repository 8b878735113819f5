#!/usr/bin/env python3
"""XOR runs one after the other, as a plain PyTorch script does them: the rival of `xor-study` and `xor-once`."""
import argparse
import time

from common import ACTIVATIONS, XOR_INPUTS, XOR_LABELS, adamw, report, train, xor_data, xor_model

parser = argparse.ArgumentParser()
parser.add_argument("--activations", nargs="+", default=list(ACTIVATIONS))
parser.add_argument("--expansions", nargs="+", type=int, default=[1, 2, 4, 8])
parser.add_argument("--seeds", nargs=2, type=int, default=[0, 20], metavar=("FIRST", "END"))
parser.add_argument("--steps", type=int, default=2000)
parser.add_argument("--eval-every", type=int, default=5)
parser.add_argument("--lr", type=float, default=0.002)
parser.add_argument("--compile", action="store_true")
args = parser.parse_args()
D, BATCH = 8, 64


def one_run(activation, d_ff, seed):
    model = xor_model(activation, d_ff, seed)
    inputs, labels = xor_data(seed, args.steps, BATCH)
    return train(model, adamw(model.parameters(), args.lr), inputs, labels, (XOR_INPUTS, XOR_LABELS), args.eval_every, compiled=args.compile)


began = time.perf_counter()
losses = {
    f"{activation} {expansion}": [one_run(activation, D * expansion, seed) for seed in range(*args.seeds)]
    for activation in args.activations
    for expansion in args.expansions
}
report(losses, args.steps, time.perf_counter() - began)
