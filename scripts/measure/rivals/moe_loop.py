#!/usr/bin/env python3
"""Forward + backward of a mixture of experts as PyTorch code usually has it, a masked loop over experts.

Beside it the dense FFN of equal active FLOPs (d_ff = k x the expert's). Prints one JSON line, microseconds.
"""
import argparse
import json
import time

from common import nn, torch

EXPERTS, TOP_K, D, D_FF, TOKENS = 8, 2, 64, 256, 512
REPEATS, ROUNDS = 20, 15
MODELS = {"moe_us": lambda: MoE(), "masked_us": lambda: MaskedMoE(), "dense_us": lambda: ffn(TOP_K * D_FF)}
parser = argparse.ArgumentParser()
parser.add_argument("--only", choices=list(MODELS), help="one of them, instead of all in turn")
args = parser.parse_args()


def ffn(d_ff):
    return nn.Sequential(nn.Linear(D, d_ff), nn.GELU(), nn.Linear(d_ff, D))


class MoE(nn.Module):
    def __init__(self):
        super().__init__()
        self.router = nn.Linear(D, EXPERTS, bias=False)
        self.experts = nn.ModuleList([ffn(D_FF) for _ in range(EXPERTS)])

    def forward(self, x):
        top, expert = self.router(x).softmax(-1).topk(TOP_K)
        weight = top / top.sum(-1, keepdim=True)
        y = torch.zeros_like(x)
        for e, layer in enumerate(self.experts):
            token, choice = (expert == e).nonzero(as_tuple=True)
            y.index_add_(0, token, layer(x[token]) * weight[token, choice, None])
        return y


class MaskedMoE(MoE):
    """Every expert on every token, times a weight that is mostly zero: four times the arithmetic."""

    def forward(self, x):
        top, expert = self.router(x).softmax(-1).topk(TOP_K)
        weight = torch.zeros(TOKENS, EXPERTS).scatter(1, expert, top / top.sum(-1, keepdim=True))
        return sum(layer(x) * weight[:, e : e + 1] for e, layer in enumerate(self.experts))


def microseconds(model, x, dy):
    began = time.perf_counter()
    for _ in range(REPEATS):
        model.zero_grad(set_to_none=True)
        x.grad = None
        model(x).backward(dy)
    return (time.perf_counter() - began) / REPEATS * 1e6


torch.manual_seed(0)
models = {name: make() for name, make in MODELS.items() if args.only in (None, name)}
x, dy = torch.randn(TOKENS, D, requires_grad=True), torch.randn(TOKENS, D)
times = {name: [] for name in models}
for _ in range(ROUNDS):
    for name, model in models.items():
        times[name].append(microseconds(model, x, dy))
medians = {name: sorted(values)[ROUNDS // 2] for name, values in times.items()}
print(json.dumps({**medians, "threads": torch.get_num_threads()}))
