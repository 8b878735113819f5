#!/usr/bin/env python3
"""Runs of one attention + FFN block with torch.func: the seeds of an activation are one vmap; a rival of `block-study`."""
import argparse
import time

from common import ACTIVATIONS, Transformer, report, sequence_xor_data, torch
from ensemble import train

parser = argparse.ArgumentParser()
parser.add_argument("--seeds", nargs=2, type=int, default=[0, 8], metavar=("FIRST", "END"))
parser.add_argument("--steps", type=int, default=300)
parser.add_argument("--compile", action="store_true")
args = parser.parse_args()
LENGTH, BATCH, LR, EVAL_EVERY, EVAL_EXAMPLES = 16, 32, 0.003, 100, 512


def member(activation, seed):
    """(model, validation, batches) of a run"""
    generator = torch.manual_seed(seed)
    model = Transformer(vocabulary=2, length=LENGTH, d_model=32, blocks=1, heads=4, activation=activation)
    return model, sequence_xor_data(generator, EVAL_EXAMPLES, LENGTH), sequence_xor_data(generator, args.steps, BATCH, LENGTH)


began = time.perf_counter()
losses = {}
for activation in ACTIVATIONS:
    models, validation, batches = zip(*[member(activation, seed) for seed in range(*args.seeds)])
    inputs, labels = (torch.stack(part, 1) for part in zip(*batches))
    validation = [torch.stack(part) for part in zip(*validation)]
    losses[f"{activation} 4"] = train(models, LR, inputs, labels, validation, EVAL_EVERY, args.compile)
report(losses, args.steps, time.perf_counter() - began)
