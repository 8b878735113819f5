"""Shared by the PyTorch rivals of ffn-train: tasks, the transformer block, the training loop, the closing JSON line.

The models are those of configs/xor.json, configs/sequence-xor.json and configs/text.json: same layers, biases, initial
distributions, losses, AdamW with decay on matrices only, and spacing of evaluations. Import this before torch.
"""
import os

THREADS = int(os.environ.setdefault("OPENBLAS_NUM_THREADS", "1"))  # of BLAS and of PyTorch's own loops
os.environ["TORCHINDUCTOR_FORCE_DISABLE_CACHES"] = "1"  # a process is measured as the first one that compiles its model

import json
import math
import time

import torch
import torch.nn.functional as F
from torch import nn

torch.set_num_threads(THREADS)

ACTIVATIONS = {"relu": nn.ReLU, "gelu": nn.GELU, "silu": nn.SiLU}
COMPILE_SECONDS = []  # of torch.compile: the first evaluation and step of a training


def xor_data(seed, steps, batch):
    """All batches of a run: inputs (steps, batch, 2) of -1 and +1, labels (steps, batch)."""
    generator = torch.Generator().manual_seed(seed)
    pattern = torch.randint(4, (steps, batch), generator=generator)
    return XOR_INPUTS[pattern], XOR_LABELS[pattern]


XOR_INPUTS = torch.tensor([[-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]])
XOR_LABELS = torch.tensor([0, 1, 1, 0])


def xor_model(activation, d_ff, seed, d_model=8):
    torch.manual_seed(seed)
    return nn.Sequential(
        nn.Linear(2, d_model), nn.Linear(d_model, d_ff), ACTIVATIONS[activation](), nn.Linear(d_ff, d_model), nn.Linear(d_model, 2)
    )


def sequence_xor_data(generator, *shape):
    """Bits (..., T); the label at t is the XOR of the bits at t-1 and t-2, and -1 (not scored) before there are two."""
    bits = torch.randint(2, shape, generator=generator)
    labels = torch.full_like(bits, -1)
    labels[..., 2:] = bits[..., 1:-1] ^ bits[..., :-2]
    return bits, labels


class Attention(nn.Module):
    def __init__(self, d_model, heads, length):
        super().__init__()
        self.heads, self.scale = heads, (d_model // heads) ** -0.5
        self.qkv = nn.Linear(d_model, 3 * d_model, bias=False)
        self.output = nn.Linear(d_model, d_model, bias=False)
        self.register_buffer("mask", torch.full((length, length), -math.inf).triu(1))

    def forward(self, x):
        b, t, d = x.shape
        qkv = self.qkv(x).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4).reshape(3, b * self.heads, t, -1)
        q, k, v = qkv.unbind(0)  # each (B·H, T, D/H)
        scores = torch.baddbmm(self.mask, q, k.transpose(1, 2), alpha=self.scale)
        mixed = torch.bmm(scores.softmax(-1), v)
        return self.output(mixed.view(b, self.heads, t, -1).transpose(1, 2).reshape(b, t, d))


class Block(nn.Module):
    """x + attention(norm(x)), then x + ffn(norm(x))."""

    def __init__(self, d_model, d_ff, heads, length, activation, dropout):
        super().__init__()
        self.attention = nn.Sequential(nn.LayerNorm(d_model), Attention(d_model, heads, length))
        inner = [ACTIVATIONS[activation]()] + ([nn.Dropout(dropout)] if dropout else [])
        self.ffn = nn.Sequential(nn.LayerNorm(d_model), nn.Linear(d_model, d_ff), *inner, nn.Linear(d_ff, d_model))

    def forward(self, x):
        x = x + self.attention(x)
        return x + self.ffn(x)


class Transformer(nn.Module):
    def __init__(self, vocabulary, length, d_model, blocks, heads, activation, dropout=0.0):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, d_model)
        self.position = nn.Parameter(torch.randn(length, d_model))
        self.blocks = nn.Sequential(*[Block(d_model, 4 * d_model, heads, length, activation, dropout) for _ in range(blocks)])
        self.norm = nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, vocabulary)

    def forward(self, tokens):
        return self.head(self.norm(self.blocks(self.embedding(tokens) + self.position)))


def adamw(parameters, lr, weight_decay=0.01, matrices_from=2):
    """matrices_from: dimensions of a matrix, 3 where models are stacked."""
    parameters = list(parameters)
    matrices = [p for p in parameters if p.dim() >= matrices_from]
    vectors = [p for p in parameters if p.dim() < matrices_from]
    groups = [{"params": matrices}, {"params": vectors, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=lr, weight_decay=weight_decay, foreach=True)


def loss_of(logits, labels):
    return F.cross_entropy(logits.flatten(0, -2), labels.flatten(), ignore_index=-1)


def train(model, optimizer, inputs, labels, validation, eval_every, clip=None, schedule=None, compiled=False):
    """One step per entry of inputs; evaluates before the first, every eval_every steps and after the last."""
    history, began = [], time.perf_counter()
    forward = torch.compile(model, dynamic=False) if compiled else model
    dropout = any(isinstance(module, nn.Dropout) for module in model.modules())

    def evaluate():
        if dropout:
            model.eval()
        with torch.no_grad():
            logits = forward(validation[0])
            correct = (logits.argmax(-1) == validation[1]).sum()  # a label of -1 is never right
            history.append((loss_of(logits, validation[1]), correct))
        if dropout:
            model.train()

    for step, (x, y) in enumerate(zip(inputs, labels)):
        if step % eval_every == 0:
            evaluate()
        optimizer.zero_grad(set_to_none=True)
        loss_of(forward(x), y).backward()
        if clip:
            nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        if schedule:
            schedule.step()
        if compiled and step == 0:
            COMPILE_SECONDS.append(time.perf_counter() - began)
    evaluate()
    return history[-1][0].item()


def train_runs(runs, lr, eval_every, ensemble, compiled):
    """The final validation loss of each run, (model, inputs, labels, validation), one after the other or all at once with torch.func."""
    if not ensemble:
        return [train(model, adamw(model.parameters(), lr), *data, eval_every, compiled=compiled) for model, *data in runs]
    from ensemble import train_together  # Debian's PyTorch has no torch.func

    models, inputs, labels, validation = zip(*runs)
    validation = [torch.stack(part) for part in zip(*validation)]
    return train_together(models, lr, torch.stack(inputs, 1), torch.stack(labels, 1), validation, eval_every, compiled)


def report(losses, steps, loop_s):
    """losses: {variant: [final validation loss of each run]}; loop_s: seconds of training, start-up left out."""
    runs = sum(len(values) for values in losses.values())
    print(json.dumps({"runs": runs, "steps": steps, "threads": torch.get_num_threads(), "loop_s": loop_s,
                      "compile_s": sum(COMPILE_SECONDS), "val_loss": losses}))  # fmt: skip
