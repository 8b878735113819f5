#!/usr/bin/env python3
"""XOR runs with torch.func: the seeds of a variant are one vmap, variants follow each other; a rival of `xor-study`."""
import argparse
import time

from common import ACTIVATIONS, XOR_INPUTS, XOR_LABELS, report, torch, xor_data, xor_model
from ensemble import train

parser = argparse.ArgumentParser()
parser.add_argument("--expansions", nargs="+", type=int, default=[1, 2, 4, 8])
parser.add_argument("--seeds", type=int, default=20)
parser.add_argument("--steps", type=int, default=2000)
parser.add_argument("--compile", action="store_true")
args = parser.parse_args()
D, BATCH, LR, EVAL_EVERY = 8, 64, 0.002, 5

began = time.perf_counter()
data = [xor_data(seed, args.steps, BATCH) for seed in range(args.seeds)]
inputs = torch.stack([x for x, _ in data], 1)  # (steps, R, B, 2)
labels = torch.stack([y for _, y in data], 1)  # (steps, R, B)
validation = XOR_INPUTS.repeat(args.seeds, 1, 1), XOR_LABELS.repeat(args.seeds, 1)
losses = {}
for activation in ACTIVATIONS:
    for expansion in args.expansions:
        models = [xor_model(activation, D * expansion, seed) for seed in range(args.seeds)]
        losses[f"{activation} {expansion}"] = train(models, LR, inputs, labels, validation, EVAL_EVERY, args.compile)
report(losses, args.steps, time.perf_counter() - began)
