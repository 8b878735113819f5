#!/usr/bin/env python3
"""All XOR runs of one width as one program, stacked by hand along a run axis: the strongest rival of `xor-study`.

One baddbmm per layer for 3 activations x 20 seeds, each activation on its slice of the runs, one AdamW over flat tensors.
Tried and slower or no faster: grouped convolutions, broadcast products, splitting activations before the wide layer,
torch.jit, two threads; with PyTorch 2.15 torch.compile (7 % less time in steps, some 25 s to compile each width).
"""
import argparse
import time

from common import ACTIVATIONS, F, XOR_INPUTS, XOR_LABELS, report, torch, xor_data

parser = argparse.ArgumentParser()
parser.add_argument("--expansions", nargs="+", type=int, default=[1, 2, 4, 8])
parser.add_argument("--seeds", type=int, default=20)
parser.add_argument("--steps", type=int, default=2000)
args = parser.parse_args()
D, BATCH, LR, EVAL_EVERY = 8, 64, 0.002, 5
NAMES, PHI = list(ACTIVATIONS), [F.relu, F.gelu, F.silu]
RUNS = len(NAMES) * args.seeds


def flat_leaves(shapes):
    """A flat tensor and one leaf per shape (rows, columns, d_in), views of it and of its gradient: AdamW sees one tensor."""
    sizes = [RUNS * rows * columns for rows, columns, _ in shapes]
    flat = torch.empty(sum(sizes))
    flat.grad = torch.zeros_like(flat)
    leaves = []
    for value, gradient, (rows, columns, d_in) in zip(flat.split(sizes), flat.grad.split(sizes), shapes):
        leaves.append(value.uniform_(-(d_in**-0.5), d_in**-0.5).view(RUNS, rows, columns).requires_grad_())
        leaves[-1].grad = gradient.view(RUNS, rows, columns)
    return flat, leaves


def forward(weight, bias, x):
    """x: (R, B, 2) -> logits (R, 2, B): with the classes in the middle cross_entropy is five times as fast."""
    x = torch.baddbmm(bias[0], x, weight[0])
    x = torch.baddbmm(bias[1], x, weight[1])
    x = torch.cat([phi(part) for phi, part in zip(PHI, x.split(args.seeds))])
    x = torch.baddbmm(bias[2], x, weight[2])
    return torch.baddbmm(bias[3], x, weight[3]).transpose(1, 2)


def train(d_ff, inputs, labels):
    """Final validation loss of each run, (R,)."""
    torch.manual_seed(d_ff)
    widths = [2, D, d_ff, D, 2]
    flat_weight, weight = flat_leaves([(d_in, d_out, d_in) for d_in, d_out in zip(widths, widths[1:])])
    flat_bias, bias = flat_leaves([(1, d_out, d_in) for d_in, d_out in zip(widths, widths[1:])])
    groups = [{"params": [flat_weight]}, {"params": [flat_bias], "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=LR, weight_decay=0.01)
    valid_x, valid_y = XOR_INPUTS.repeat(RUNS, 1, 1), XOR_LABELS.repeat(RUNS, 1)
    history = []

    def evaluate():
        with torch.no_grad():
            logits = forward(weight, bias, valid_x)
            correct = (logits.argmax(1) == valid_y).sum(1)
            history.append((F.cross_entropy(logits, valid_y, reduction="none").mean(1), correct))

    for step, (x, y) in enumerate(zip(inputs, labels)):
        if step % EVAL_EVERY == 0:
            evaluate()
        flat_weight.grad.zero_()
        flat_bias.grad.zero_()
        loss = F.cross_entropy(forward(weight, bias, x), y, reduction="none").mean(1)  # (R,)
        loss.sum().backward()
        optimizer.step()
    evaluate()
    return history[-1][0]


began = time.perf_counter()
data = [xor_data(seed, args.steps, BATCH) for seed in range(args.seeds)]
inputs = torch.stack([x for x, _ in data] * len(NAMES), 1)  # (steps, R, B, 2)
labels = torch.stack([y for _, y in data] * len(NAMES), 1)  # (steps, R, B)
losses = {}
for expansion in args.expansions:
    final = train(D * expansion, inputs, labels).split(args.seeds)
    losses.update({f"{name} {expansion}": part.tolist() for name, part in zip(NAMES, final)})
report(losses, args.steps, time.perf_counter() - began)
