#!/usr/bin/env python3
"""Runs of one causal attention + FFN block on the XOR of earlier bits, one after the other or the seeds of an activation as one vmap: a rival of
`block-study`."""
import argparse
import time

from common import ACTIVATIONS, Transformer, report, sequence_xor_data, torch, train_runs

parser = argparse.ArgumentParser()
parser.add_argument("--seeds", nargs=2, type=int, default=[0, 8], metavar=("FIRST", "END"))
parser.add_argument("--steps", type=int, default=300)
parser.add_argument("--ensemble", action="store_true")
parser.add_argument("--compile", action="store_true")
args = parser.parse_args()
LENGTH, BATCH, LR, EVAL_EVERY, EVAL_EXAMPLES = 16, 32, 0.003, 100, 512


def one_run(activation, seed):
    generator = torch.manual_seed(seed)
    model = Transformer(vocabulary=2, length=LENGTH, d_model=32, blocks=1, heads=4, activation=activation)
    validation = sequence_xor_data(generator, EVAL_EXAMPLES, LENGTH)
    return model, *sequence_xor_data(generator, args.steps, BATCH, LENGTH), validation


began = time.perf_counter()
losses = {f"{activation} 4": train_runs((one_run(activation, seed) for seed in range(*args.seeds)), LR, EVAL_EVERY, args.ensemble, args.compile)
          for activation in ACTIVATIONS}  # fmt: skip
report(losses, args.steps, time.perf_counter() - began)
