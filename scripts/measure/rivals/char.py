#!/usr/bin/env python3
"""A character model of four blocks: the rival of `char`, with the training of configs/text.json."""
import argparse
import math
import time
from pathlib import Path

from common import Transformer, adamw, report, torch, train

parser = argparse.ArgumentParser()
parser.add_argument("--file", type=Path, default="/usr/share/common-licenses/GPL-3")
parser.add_argument("--steps", type=int, default=100)
parser.add_argument("--compile", action="store_true")
args = parser.parse_args()
D_MODEL, BLOCKS, BATCH, LENGTH, LR, EVAL_EVERY, EVAL_EXAMPLES, WARMUP, FINAL_FRACTION = 128, 4, 12, 64, 0.003, 100, 512, 50, 0.1


def rate_factor(step):
    if step < WARMUP:
        return (step + 1) / WARMUP
    progress = (step - WARMUP) / max(1, args.steps - WARMUP)
    return FINAL_FRACTION + (1 - FINAL_FRACTION) * 0.5 * (1 + math.cos(math.pi * progress))


began = time.perf_counter()
torch.manual_seed(0)
text = args.file.read_text(encoding="utf-8")
alphabet = {character: i for i, character in enumerate(sorted(set(text)))}
ids = torch.tensor([alphabet[character] for character in text])
train_ids, valid_ids = ids.split([len(ids) - len(ids) // 10, len(ids) // 10])

windows = train_ids.unfold(0, LENGTH + 1, 1)
batches = windows[torch.randint(len(windows), (args.steps, BATCH))]
valid = valid_ids.unfold(0, LENGTH + 1, LENGTH)[:EVAL_EXAMPLES]

model = Transformer(len(alphabet), LENGTH, D_MODEL, BLOCKS, heads=4, activation="gelu", dropout=0.1)
optimizer = adamw(model.parameters(), LR, weight_decay=0.1)
schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, rate_factor)
final = train(
    model, optimizer, batches[..., :-1], batches[..., 1:], (valid[:, :-1], valid[:, 1:]), EVAL_EVERY, clip=1.0, schedule=schedule,
    compiled=args.compile,
)
report({"gelu 4": [final]}, args.steps, time.perf_counter() - began)
