#!/usr/bin/env python3
"""XOR runs one after the other, as a plain PyTorch script does them: the rival of `xor-study` and `xor-run`."""
import argparse
import time

from common import ACTIVATIONS, XOR_INPUTS, XOR_LABELS, adamw, nn, report, torch, train, xor_data

parser = argparse.ArgumentParser()
parser.add_argument("--activations", nargs="+", default=list(ACTIVATIONS))
parser.add_argument("--expansions", nargs="+", type=int, default=[1, 2, 4, 8])
parser.add_argument("--seeds", nargs=2, type=int, default=[0, 20], metavar=("FIRST", "END"))
parser.add_argument("--steps", type=int, default=2000)
parser.add_argument("--eval-every", type=int, default=5)
parser.add_argument("--lr", type=float, default=0.002)
args = parser.parse_args()
D, BATCH = 8, 64


def one_run(activation, d_ff, seed):
    torch.manual_seed(seed)
    model = nn.Sequential(
        nn.Linear(2, D), nn.Linear(D, d_ff), ACTIVATIONS[activation](), nn.Linear(d_ff, D), nn.Linear(D, 2)
    )
    inputs, labels = xor_data(seed, args.steps, BATCH)
    return train(model, adamw(model, args.lr), inputs, labels, (XOR_INPUTS, XOR_LABELS), args.eval_every)


began = time.perf_counter()
losses = {
    f"{activation} {expansion}": [one_run(activation, D * expansion, seed) for seed in range(*args.seeds)]
    for activation in args.activations
    for expansion in args.expansions
}
report(losses, args.steps, time.perf_counter() - began)
