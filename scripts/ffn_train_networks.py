"""The networks that ffn-train trains, as torch.nn.Module, and what is done with them: see ffn_train.py, which has them by its name.

Shapes: B batch, T sequence, D d_model, F d_ff, H heads, E experts, K top-k, V vocabulary.
"""
import ast
import csv
import json
import math
import operator
import re
from fractions import Fraction
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

from ffn_train import NOT_OURS, RunError, check_as_trained, flat, named_directory, read_record, unlike

# ---- activations and norms

# The catalogue, `ffn-train list activations`, without what torch.nn.functional has under the same name.
ACTIVATIONS = {
    "identity": lambda z: z,
    "leaky_relu": lambda z: F.leaky_relu(z, 0.01),
    "gelu_tanh": lambda z: F.gelu(z, approximate="tanh"),
    "quick_gelu": lambda z: z * torch.sigmoid(1.702 * z),
    "relu2": lambda z: F.relu(z).square(),
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "softplus": lambda z: F.softplus(z, threshold=100),  # PyTorch's own is z itself from 20 on
}


def layer_norm(x, epsilon):
    return F.layer_norm(x, x.shape[-1:], eps=epsilon)


def rms_norm(x, epsilon):
    """Not torch.nn.RMSNorm, which 1.13 lacks."""
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + epsilon)


def require(name, known, what):
    if name not in known:
        raise RunError(f"unknown {what} {name!r}; this ffn_train.py knows {', '.join(known)}")


# Functions of formulas beside the activations, element by element: `ffn-train list functions`.
FUNCTIONS = {
    "sin": torch.sin, "cos": torch.cos, "tan": torch.tan, "exp": torch.exp, "log": torch.log, "log1p": torch.log1p, "sqrt": torch.sqrt, "abs": torch.abs,
    "sign": torch.sign, "floor": torch.floor, "stop": torch.detach, "erf": torch.erf, "min": torch.minimum, "max": torch.maximum,
    "pow": torch.pow, "clip": lambda x, low, high: torch.where(x < low, low, torch.where(x > high, high, x)),
    "where": lambda c, a, b: torch.where(c != 0, a, b),
}
COMPARISONS = {ast.Lt: torch.lt, ast.LtE: torch.le, ast.Gt: torch.gt, ast.GtE: torch.ge, ast.Eq: torch.eq, ast.NotEq: torch.ne}


def element_by_element(node, value):
    """The value of an operator, a comparison or a function; None for another node. value: a node → its value, a tensor."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -value(node.operand)
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        return OPERATORS[type(node.op)](value(node.left), value(node.right))
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in COMPARISONS:
        left, right = value(node.left), value(node.comparators[0])
        return COMPARISONS[type(node.ops[0])](left, right).to(left.dtype)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args and not node.keywords:
        name = dotted(node.func)
        function = FUNCTIONS.get(name) or activation(name, "function")
        if name not in FUNCTIONS and len(node.args) != 1:
            raise RunError(f"{name} takes one value, not {len(node.args)}")
        return function(*(value(part) for part in node.args))
    return None


def value_of_z(node, z, text):
    """An activation's formula, such as "z * sin(z)"."""
    if is_number(node):
        return torch.full_like(z, node.value)
    if isinstance(node, ast.Name) and dotted(node) in ("z", "pi"):
        return z if dotted(node) == "z" else torch.full_like(z, math.pi)
    result = element_by_element(node, lambda part: value_of_z(part, z, text))
    if result is None:
        raise RunError(f"{text!r}: {shown(node)} is no part of a formula in z")
    return result


def activation(name, what="activation"):
    """φ: a tensor → one of its shape."""
    if name in ACTIVATIONS:
        return ACTIVATIONS[name]
    if not name.isidentifier():
        tree = parse(name)
        return lambda z: value_of_z(tree, z, name)
    phi = getattr(F, name, None)
    try:
        if phi(torch.zeros(2)).shape == (2,):
            return phi
    except (TypeError, RuntimeError, AttributeError):
        pass
    raise RunError(f"unknown {what} {name!r}: neither this ffn_train.py nor torch.nn.functional has it")


class Activation(nn.Module):
    def __init__(self, name):
        super().__init__()
        self.name, self.phi = name, activation(name)

    def forward(self, z):
        return self.phi(z)

    def extra_repr(self):
        return self.name


class Norm(nn.Module):
    def __init__(self, d_model, config):
        super().__init__()
        self.kind, self.epsilon = config["kind"], config["epsilon"]
        require(self.kind, ("layer", "rms"), "norm")
        self.weight = nn.Parameter(torch.ones(d_model))
        if self.kind == "layer":
            self.bias = nn.Parameter(torch.zeros(d_model))

    def forward(self, x):
        if self.kind == "rms":
            return rms_norm(x, self.epsilon) * self.weight
        return layer_norm(x, self.epsilon) * self.weight + self.bias

    def extra_repr(self):
        return f"{self.kind}, {self.weight.numel()}, epsilon={self.epsilon}"


# ---- feed-forward layers: (B, T, D) → (B, T, D)

class Positionwise(nn.Module):
    """φ(x W_up + b_up) W_down + b_down"""

    def __init__(self, d_model, d_ff, config):
        super().__init__()
        self.up = nn.Linear(d_model, d_ff, bias=config["bias"])
        self.phi = Activation(config["activation"])
        self.dropout = nn.Dropout(config["dropout"])
        self.down = nn.Linear(d_ff, d_model, bias=config["bias"])

    def forward(self, x):
        return self.down(self.dropout(self.phi(self.up(x))))


class Gated(Positionwise):
    """(φ(x W_gate) ⊙ x W_up) W_down"""

    def __init__(self, d_model, d_ff, config):
        super().__init__(d_model, d_ff, config)
        self.gate = nn.Linear(d_model, d_ff, bias=config["bias"])

    def forward(self, x):
        return self.down(self.dropout(self.phi(self.gate(x)) * self.up(x)))


class Conv1x1(Positionwise):
    """The positionwise layer, its matrices as kernels of width 1 over the sequence."""

    def forward(self, x):
        def convolve(matrix, h):
            return F.conv1d(h, matrix.weight.unsqueeze(-1), matrix.bias)

        return convolve(self.down, self.dropout(self.phi(convolve(self.up, x.transpose(1, 2))))).transpose(1, 2)


def top_k_of(score, k):
    """The K largest of the last dimension; of equals, the first."""
    return score.sort(dim=-1, descending=True, stable=True).indices[..., :k]


class TopK(nn.Module):
    """The K largest scores, divided by their sum (K = 1 and raw weights: as they are), 0 for all others. (B, T, D) → (B, T, E)"""

    def __init__(self, d_model, config):
        super().__init__()
        router = config["router"]
        self.top_k, self.scale = config["top_k"], router.get("scale", 1.0)
        self.normalizes = router.get("weights", "normalized") == "normalized" and self.top_k > 1
        if router.get("bias_step", 0) > 0:  # chooses, and is in no weight
            self.bias = nn.Parameter(torch.zeros(config["num_experts"]), requires_grad=False)
        self.gate = nn.Linear(d_model, config["num_experts"], bias=False)

    def score(self, x):
        return self.gate(x).softmax(-1)

    def forward(self, x):
        score = self.score(x)
        expert = top_k_of(score + self.bias if hasattr(self, "bias") else score, self.top_k)
        value = score.gather(-1, expert)
        if self.normalizes:
            value = value / value.sum(-1, keepdim=True)
        return torch.zeros_like(score).scatter(-1, expert, value * self.scale)


class SigmoidTopK(TopK):
    """The same with s = σ(x W)."""

    def score(self, x):
        return torch.sigmoid(self.gate(x))


class NoisyTopK(TopK):
    """After training, without its noise."""

    def __init__(self, d_model, config):
        super().__init__(d_model, config)
        self.noise = nn.Parameter(torch.zeros(config["num_experts"], d_model))


class ExpertChoice(nn.Module):
    """p = softmax(x W); each expert takes the N·K/E tokens of the batch with its largest p. (B, T, D) → (B, T, E)"""

    def __init__(self, d_model, config):
        super().__init__()
        self.share = config["top_k"] / config["num_experts"]
        self.gate = nn.Linear(d_model, config["num_experts"], bias=False)

    def forward(self, x):
        probability = self.gate(x).softmax(-1)
        by_expert = probability.flatten(0, -2).t()  # (E, N)
        each = min(by_expert.shape[1], max(1, math.floor(by_expert.shape[1] * self.share + 1e-9)))
        token = top_k_of(by_expert, each)
        return torch.zeros_like(by_expert).scatter(-1, token, by_expert.gather(-1, token)).t().reshape(probability.shape)


class ProductKeyMemory(nn.Module):
    """y = Σ w V[slot]: each head's query, in halves, against half keys; the K best of the n² sums of their scores, softmax over those."""

    def __init__(self, d_model, d_ff, config):
        super().__init__()
        self.heads, self.keys_of_a_half, self.top_k, half = config["heads"], config["keys"], config["top_k"], config["key_width"] // 2
        self.query = nn.Linear(d_model, self.heads * 2 * half, bias=config["bias"])
        if config["query_norm"]:
            self.query_norm = Norm(2 * half, {"kind": "layer", "epsilon": 1e-5})
        self.keys = nn.Parameter(torch.zeros(self.heads, 2, self.keys_of_a_half, half))
        self.values = nn.Parameter(torch.zeros(self.keys_of_a_half ** 2, d_model))

    def find(self, x):
        """Weights and slots, (…, H, K)"""
        query = self.query(x).unflatten(-1, (self.heads, -1))  # (…, H, d_k)
        if hasattr(self, "query_norm"):
            query = self.query_norm(query)
        first, second = (torch.einsum("...hd,hnd->...hn", half, self.keys[:, i]) for i, half in enumerate(query.chunk(2, -1)))
        score = (first.unsqueeze(-1) + second.unsqueeze(-2)).flatten(-2)  # all n² slots
        slot = top_k_of(score, self.top_k)
        return score.gather(-1, slot).softmax(-1), slot

    def forward(self, x):
        weight, slot = self.find(x)
        return (weight.unsqueeze(-1) * self.values[slot]).sum((-2, -3))


class Peer(ProductKeyMemory):
    """y = Σ w φ(u[slot]·x) v[slot]"""

    def __init__(self, d_model, d_ff, config):
        super().__init__(d_model, d_ff, config)
        self.phi = Activation(config["activation"])
        self.up = nn.Parameter(torch.zeros_like(self.values))

    def forward(self, x):
        weight, slot = self.find(x)
        hidden = self.phi(torch.einsum("...d,...hkd->...hk", x, self.up[slot]))
        return ((weight * hidden).unsqueeze(-1) * self.values[slot]).sum((-2, -3))


ROUTERS = {"softmax_top_k": TopK, "sigmoid_top_k": SigmoidTopK, "noisy_top_k": NoisyTopK, "expert_choice": ExpertChoice}


class Mixture(nn.Module):
    """Σ weight · expert(x), and the shared experts. Every expert sees every token, which costs time and gives the same sum."""

    def __init__(self, d_model, d_ff, config):
        super().__init__()
        router = config["router"]["kind"]
        require(router, ROUTERS, "router")
        self.router = ROUTERS[router](d_model, config)
        formula = config.get("expert")
        kind = Formula if formula else Gated if config["gated"] else Positionwise
        self.experts = nn.ModuleList(kind(d_model, d_ff, {**config, **(formula or {})}) for _ in range(config["num_experts"]))
        shared = config.get("shared_experts", 0)
        width = round_half_up(config["shared_expansion"] * d_model) if "shared_expansion" in config else d_ff
        self.shared = kind(d_model, shared * width, config) if shared else None

    def forward(self, x):
        weight = self.router(x)
        y = sum(weight[..., e, None] * expert(x) for e, expert in enumerate(self.experts))
        return y + self.shared(x) if self.shared else y


# ---- a feed-forward layer given as text

def parse(text):
    """The syntax tree of a formula or a size; names in it are dotted() ones. Precedences are Python's."""
    # `up.weight` and `in` have to be one name each for Python's parser: a prefix, and a dot that it takes for a letter.
    names = re.compile(r"(?<![\w.])[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*", re.ASCII)
    try:
        return ast.parse("(" + names.sub(lambda name: "_" + name.group().replace(".", "·"), str(text)) + "\n)", mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise RunError(f"cannot parse {text!r}: {error}") from None


def dotted(name):
    return name.id[1:].replace("·", ".")


def shown(node):
    return re.sub(r"\b_([A-Za-z_])", r"\1", ast.unparse(node)).replace("·", ".")


def is_number(node):
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


SIZE_OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}
OPERATORS = {**SIZE_OPERATORS, ast.Mod: torch.remainder}


def size_value(node, sizes):
    """An expression of numbers, D and F, exactly."""
    if is_number(node):
        return Fraction(node.value)
    if isinstance(node, ast.Name) and dotted(node) in sizes:
        return Fraction(sizes[dotted(node)])
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -size_value(node.operand, sizes)
    if isinstance(node, ast.BinOp) and type(node.op) in SIZE_OPERATORS:
        try:
            return SIZE_OPERATORS[type(node.op)](size_value(node.left, sizes), size_value(node.right, sizes))
        except ZeroDivisionError:
            pass
    raise RunError(f"{shown(node)} is no size, which is made of numbers, D, F, + - * / and parentheses")


def whole(value, what):
    if value.denominator != 1 or value < 0:
        raise RunError(f"{what} is {value}, which is no size")
    return int(value)


class Formula(nn.Module):
    """A feed-forward layer given as text, as run.json has it. Its matrices [A, B] are kept as (B, A), as nn.Linear does."""

    OWN_FUNCTIONS = {
        "softmax": lambda layer, a: a.softmax(-1),
        "sum": lambda layer, a: a.sum(-1, keepdim=True),
        "mean": lambda layer, a: a.mean(-1, keepdim=True),
        "mean_all": lambda layer, a: a.mean(),
        "layer_norm": lambda layer, a: layer_norm(a, layer.epsilon),
        "rms_norm": lambda layer, a: rms_norm(a, layer.epsilon),
        "dropout": lambda layer, a: F.dropout(a, layer.dropout, layer.training),
        "phi": lambda layer, a: layer.phi(a),
    }

    def __init__(self, d_model, d_ff, config):
        super().__init__()
        self.text, self.sizes = config["formula"], {"D": d_model, "F": d_ff}
        self.phi, self.epsilon = activation(config.get("activation", "identity")), config.get("epsilon", 1e-5)
        self.dropout = config.get("dropout", 0.0)
        self.expressions = {name: parse(text) for name, text in (config.get("let") or {}).items()}
        self.tree = parse(self.text)
        self.places = {}  # parameter → the module that holds it and its name there
        for name, shape in config["parameters"].items():
            shape = [whole(size_value(parse(size), self.sizes), f"{size!r} of the parameter {name}") for size in shape]
            self.hold(name, nn.Parameter(torch.zeros(shape[::-1])))
        self.try_out(torch.zeros(2, 3, d_model))

    def hold(self, name, parameter):
        holder, *parts = self, *name.split(".")
        for part in parts[:-1]:
            if part not in holder._modules:
                holder._modules[part] = nn.Module()
            holder = holder._modules[part]
        # Not register_parameter(), which refuses names that a module has already, such as `half`.
        holder._parameters[parts[-1]] = parameter
        self.places[name] = parts

    def parameter(self, name):
        holder, parts = self, self.places[name]
        for part in parts[:-1]:
            holder = holder._modules[part]
        return holder._parameters[parts[-1]]

    @torch.no_grad()
    def try_out(self, x):
        """Finds what is wrong with the formula when it is loaded."""
        try:
            y = self(x)
        except (RuntimeError, IndexError, TypeError) as error:
            raise RunError(f"{self.text!r} cannot be computed: {error}") from None
        if y.shape != x.shape:
            raise RunError(f"{self.text!r} gives {tuple(y.shape)} for {tuple(x.shape)}")

    def forward(self, x):
        return self.value(self.tree, {"x": x})

    def value(self, node, known):
        """known: name → value, of those that are worked out."""
        if is_number(node):
            return known["x"].new_full((), node.value)
        if isinstance(node, ast.Name):
            return self.named(dotted(node), known)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            left, right = self.value(node.left, known), self.value(node.right, known)
            if right.dim() != 2:
                raise RunError(f"{self.text!r}: the right side of @ is no matrix but has the shape {tuple(right.shape)}")
            return left @ right
        if isinstance(node, ast.Subscript):
            return self.sliced(self.value(node.value, known), node.slice)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and dotted(node.func) in (*self.OWN_FUNCTIONS, "concat", "top_k"):
            if dotted(node.func) == "top_k":
                return self.top_k(*node.args, known)
            return self.called(dotted(node.func), [self.value(a, known) for a in node.args])
        result = element_by_element(node, lambda part: self.value(part, known))
        if result is None:
            raise RunError(f"{self.text!r}: {shown(node)} is no part of a formula")
        return result

    def named(self, name, known):
        if name in self.places:
            parameter = self.parameter(name)
            return parameter.t() if parameter.dim() == 2 else parameter
        if name.endswith(".T") and name[:-2] in self.places:
            return self.parameter(name[:-2])
        if name.endswith(".T") and name[:-2] in self.expressions:
            return self.named(name[:-2], known).t()
        if name == "pi" and name not in self.expressions:
            return known["x"].new_full((), math.pi)
        if name in self.sizes:
            return known["x"].new_full((), self.sizes[name])
        if name not in known:
            if name not in self.expressions:
                raise RunError(f"{self.text!r}: unknown name {name!r}")
            known[name] = None  # being worked out
            known[name] = self.value(self.expressions[name], known)
        if known[name] is None:
            raise RunError(f"{self.text!r}: `let` goes in a circle at {name!r}")
        return known[name]

    def sliced(self, a, bounds):
        width = a.shape[-1]

        def size(bound):
            return whole(size_value(bound, self.sizes), "a bound of a slice")
        if isinstance(bounds, ast.Slice):
            low, high = size(bounds.lower) if bounds.lower else 0, size(bounds.upper) if bounds.upper else width
        else:
            low = size(bounds)
            high = low + 1
        if not low < high <= width:
            raise RunError(f"{self.text!r}: the slice [{low}:{high}] of a width of {width}")
        return a[..., low:high]

    def top_k(self, of, kept, known):
        a = self.value(of, known)
        k = whole(size_value(kept, self.sizes), "what top_k keeps")
        if not 0 < k <= a.shape[-1]:
            raise RunError(f"{self.text!r}: top_k keeps {k} of a width of {a.shape[-1]}")
        kept = top_k_of(a, k)
        return torch.zeros_like(a).scatter(-1, kept, a.gather(-1, kept))

    def called(self, name, arguments):
        if name == "concat":
            lead = torch.broadcast_shapes(*(a.shape[:-1] for a in arguments))
            return torch.cat([a.expand(*lead, a.shape[-1]) for a in arguments], -1)
        if len(arguments) != 1:
            raise RunError(f"{self.text!r}: {name} takes one value, not {len(arguments)}")
        return self.OWN_FUNCTIONS[name](self, *arguments)

    def extra_repr(self):
        return "\n".join([self.text, *(f"{name} = {shown(tree)}" for name, tree in self.expressions.items())])


# ---- the network

def round_half_up(width):
    return max(1, math.floor(width + 0.5))


def position_angles(length, width, base):
    """t / base^(2i/width): (T, ⌈width/2⌉) float64"""
    return torch.arange(length, dtype=torch.float64)[:, None] / base ** (torch.arange(0, width, 2, dtype=torch.float64) / width)


def sinusoids(length, d_model):
    angle = position_angles(length, d_model, 10000)
    return torch.stack((angle.sin(), angle.cos()), -1).flatten(1)[:, :d_model]


# Added to the embedded tokens: (T, D)
FIXED_POSITIONS = {
    "sinusoidal": sinusoids,
}


def rotate(x, base, layout):
    """Turns pairs of numbers by angles that grow with the position: "halves" (i, i + d/2) or "pairs" (2i, 2i + 1). x: (…, T, d)"""
    require(layout, ("halves", "pairs"), "rotary layout")
    turn = torch.polar(torch.tensor(1.0, dtype=torch.float64), position_angles(x.shape[-2], x.shape[-1], base)).to(x.device)
    a, b = x.chunk(2, -1) if layout == "halves" else (x[..., 0::2], x[..., 1::2])
    turned = torch.complex(a.double(), b.double()) * turn
    y = torch.cat((turned.real, turned.imag), -1) if layout == "halves" else torch.view_as_real(turned).flatten(-2)
    return y.to(x.dtype)


class Attention(nn.Module):
    """softmax(q k / √d_head) v per head; with scores by position, softmax of a learned (T, T) matrix per head.

    rotary: q and k are turned by their positions."""

    def __init__(self, d_model, length, config, rotary=False):
        super().__init__()
        self.rotary = (config["rotary_base"], config["rotary_layout"]) if rotary else None
        self.heads, self.causal, self.kind = config["heads"], config["causal"], config["scores"]
        require(self.kind, ("content", "position"), "kind of scores")

        def linear():
            return nn.Linear(d_model, d_model, bias=config["bias"])

        if self.kind == "position":
            self.scores = nn.Parameter(torch.zeros(self.heads, length, length))
        else:
            self.query, self.key = linear(), linear()
        if config.get("qk_norm"):
            self.query_norm, self.key_norm = (Norm(d_model // self.heads, {"kind": "rms", "epsilon": 1e-5}) for _ in range(2))
        self.value, self.output = linear(), linear()

    def forward(self, x):
        t = x.shape[1]

        def split(y):  # (B, T, D) → (B, H, T, D/H)
            return y.reshape(*y.shape[:2], self.heads, -1).transpose(1, 2)

        if self.kind == "position":
            scores = self.scores[:, :t, :t]  # (H, T, T)
        else:
            query, key = split(self.query(x)), split(self.key(x))
            if hasattr(self, "query_norm"):
                query, key = self.query_norm(query), self.key_norm(key)
            if self.rotary:
                query, key = rotate(query, *self.rotary), rotate(key, *self.rotary)
            scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])  # (B, H, T, T)
        if self.causal:
            scores = scores.masked_fill(torch.ones(t, t, dtype=torch.bool, device=x.device).triu(1), -math.inf)
        return self.output((scores.softmax(-1) @ split(self.value(x))).transpose(1, 2).flatten(2))

    def extra_repr(self):
        return f"heads={self.heads}, causal={self.causal}, scores={self.kind}"


# A sub-layer f computes after_sum(x + on_output(f(before(x)))).
PLACEMENTS = {"pre": {"before", "at_end"}, "post": {"after_sum"}, "sandwich": {"before", "on_output", "at_end"}}


def norm_places(config):
    require(config["placement"], PLACEMENTS, "placement of norms")
    return set() if config["kind"] == "none" else PLACEMENTS[config["placement"]]


FFNS = {"positionwise": Positionwise, "gated": Gated, "moe": Mixture, "formula": Formula, "conv1x1": Conv1x1, "pkm": ProductKeyMemory, "peer": Peer}


def of_block(model, b):
    """The model's config with what holds for block b as what holds for all."""
    ffn = dict(model["ffn"])
    if model.get("block_activation"):
        ffn["activation"] = model["block_activation"][b]
    if model.get("block_expansion"):
        ffn["expansion"] = model["block_expansion"][b]
        ffn = ffn if ffn["expansion"] else {"kind": "none"}
    return {**model, "ffn": ffn, "parallel": model.get("parallel", False) and b >= model.get("parallel_from", 0)}


class Block(nn.Module):
    """shared: the FFN of another block, in place of one of its own."""

    def __init__(self, config, d_ff, length, shared=None):
        super().__init__()
        self.residual, self.places, self.parallel = config["residual"], norm_places(config["norm"]), config.get("parallel", False)
        if self.parallel and self.places:
            self.input_norm = Norm(config["d_model"], config["norm"])
        self.dropout = nn.Dropout(config.get("residual_dropout", 0))
        if config["attention"]:
            self.add("attention", Attention(config["d_model"], length, config["attention"], config["positions"] == "rotary"), config)
        if config["ffn"]["kind"] != "none":
            require(config["ffn"]["kind"], FFNS, "kind of FFN")
            self.add("ffn", shared or FFNS[config["ffn"]["kind"]](config["d_model"], d_ff, config["ffn"]), config)

    def add(self, name, layer, config):
        if "before" in self.places and not self.parallel:
            self.add_module(name + "_norm", Norm(config["d_model"], config["norm"]))
        self.add_module(name, layer)
        if self.places & {"on_output", "after_sum"}:
            self.add_module(name + "_post_norm", Norm(config["d_model"], config["norm"]))

    def sublayer(self, name, x):
        if not hasattr(self, name):
            return x
        y = self.dropout(getattr(self, name)(getattr(self, name + "_norm")(x) if "before" in self.places else x))
        if "on_output" in self.places:
            y = getattr(self, name + "_post_norm")(y)
        if self.residual:
            y = x + y
        return getattr(self, name + "_post_norm")(y) if "after_sum" in self.places else y

    def forward(self, x):
        if not self.parallel:
            return self.sublayer("ffn", self.sublayer("attention", x))
        normed = self.input_norm(x) if self.places else x
        y = sum(self.dropout(getattr(self, name)(normed)) for name in ("attention", "ffn") if hasattr(self, name))
        return x + y if self.residual else y


class Network(nn.Module):
    """tokens (B, T) int64 → outputs (B, T, classes); vectors (B, width) → (B, classes), of a target of numbers those (B, outputs).

    config: the run's whole config. shapes: of the weights, by name; they tell the task's. alphabet: the characters in the order of their ids, of a text run.
    table: of a table task, its "inputs" and "output" as the weights describe them: columns with mean and deviation, or values.
    """

    def __init__(self, config, shapes, d_ff=None, alphabet=None, table=None):
        super().__init__()
        self.config, self.alphabet, self.table = config, alphabet, table
        model, task = config["model"], config["task"]
        d_model, self.task = model["d_model"], {"tokens": "embedding" in shapes, "length": task.get("context", task.get("length", 1))}
        if self.task["tokens"]:
            self.embedding = nn.Parameter(torch.zeros(shapes["embedding"][0], d_model))
            require(model["positions"], ("learned", "rotary", "none", *FIXED_POSITIONS), "position encoding")
            if model["positions"] == "learned":
                self.position = nn.Parameter(torch.zeros(self.task["length"], d_model))
            elif model["positions"] in FIXED_POSITIONS:
                self.register_buffer("position", FIXED_POSITIONS[model["positions"]](self.task["length"], d_model).float(), persistent=False)
        else:
            self.projection = nn.Linear(shapes["projection.weight"][1], d_model)
        for b in range(model["blocks"]):
            shared = getattr(self.block0, "ffn", None) if b > 0 and model.get("share_ffn") else None
            own = of_block(model, b)
            width = hidden_width(own, shapes) if model.get("block_expansion") else d_ff
            self.add_module(f"block{b}", Block(own, width, self.task["length"], shared))
        if "at_end" in norm_places(model["norm"]):
            self.final_norm = Norm(d_model, model["norm"])
        self.head = nn.Linear(d_model, shapes["embedding" if model.get("tie") else "head.weight"][0])
        if model.get("tie"):  # one parameter, under its first name
            self.head.weight = self.embedding

    def forward(self, inputs):
        if self.task["tokens"]:
            if inputs.shape[1] > self.task["length"]:
                raise ValueError(f"{inputs.shape[1]} tokens in a sequence; the run was trained on {self.task['length']}")
            x = F.embedding(inputs, self.embedding)
            if hasattr(self, "position"):
                x = x + self.position[: inputs.shape[1]]
        else:
            x = self.projection(inputs).unsqueeze(1)
        for b in range(self.config["model"]["blocks"]):
            x = getattr(self, f"block{b}")(x)
        if hasattr(self, "final_norm"):
            x = self.final_norm(x)
        outputs = self.head(x)
        return outputs if self.task["tokens"] else outputs.squeeze(1)


# ---- loading

SIZE_KEYS = {"kind", "d_ff", "expansion", "activation", "activation_parameters", "bias", "dropout", "match", "match_tolerance", "match_multiple_of"}
FORMULA_KEYS = {"name", "formula", "parameters", "let", "init", "epsilon", "formulas", "written_from"}
MEMORY_KEYS = {"kind", "keys", "key_width", "heads", "top_k", "bias", "query_norm"}
FFN_KEYS = {
    "pkm": MEMORY_KEYS, "peer": MEMORY_KEYS | {"activation"},
    "positionwise": SIZE_KEYS, "gated": SIZE_KEYS, "conv1x1": SIZE_KEYS, "none": {"kind"}, "formula": SIZE_KEYS | FORMULA_KEYS,
    "moe": SIZE_KEYS | {"num_experts", "top_k", "router", "gated", "balance_weight", "z_loss_weight", "importance_weight",
                        "sequence_balance_weight", "capacity_factor", "shared_experts", "shared_expansion", "expert"},
}
MODEL_KEYS = {"d_model", "blocks", "positions", "init", "init_scale", "base_d_ff", "init_from", "init_hash", "attention", "norm", "residual", "parallel", "parallel_from", "share_ffn", "residual_dropout", "tie",
              "ffn", "block_expansion", "block_activation", "match_expansion"}


def refuse_unknown_keys(model):
    """A key that is not known here may change what is computed."""
    require(model["ffn"]["kind"], FFN_KEYS, "kind of FFN")
    known = [("model", model, MODEL_KEYS), ("model.norm", model["norm"], {"kind", "placement", "epsilon"}),
             ("model.attention", model["attention"] or {}, {"heads", "causal", "scores", "bias", "qk_norm", "rotary_base", "rotary_layout"}),
             ("model.ffn", model["ffn"], FFN_KEYS[model["ffn"]["kind"]]),
             ("model.ffn.router", model["ffn"].get("router", {}),
              {"kind", "weights", "scale", "bias_step", "center_bias", "jitter", "load_weight"}),
             ("model.ffn.expert", model["ffn"].get("expert") or {}, FORMULA_KEYS)]
    unknown = [f"{path}.{key}" for path, section, keys in known for key in section if key not in keys]
    if unknown:
        raise RunError(f"this ffn_train.py does not know {', '.join(unknown)}; use the one of the ffn-train that trained the run")


def with_solved_width(model, shapes):
    """With the d_model that `match_expansion` solved, as the weights have it (the config does not say), and heads of the same width."""
    if not model.get("match_expansion"):
        return model
    d_model, attention = shapes["embedding" if model.get("tie") else "head.weight"][1], model["attention"]
    return {**model, "d_model": d_model, "attention": attention and {**attention, "heads": d_model * attention["heads"] // model["d_model"]}}


def hidden_width(model, shapes):
    """F: d_ff, or expansion · D; where `match` solved it, as the weights have it (the config does not say)."""
    ffn = model["ffn"]
    if "match" not in ffn:  # no width
        return None
    if ffn["match"] == "none":
        return ffn["d_ff"] if "d_ff" in ffn else round_half_up(ffn.get("expansion", 4.0) * model["d_model"])
    prefix = "block0.ffn." + ("experts.0." if ffn["kind"] == "moe" else "")
    formula = ffn if ffn["kind"] == "formula" else ffn.get("expert") or {}
    for name, sizes in formula.get("parameters", {"up.weight": ["D", "F"]}).items():
        for size, found in zip(reversed(sizes), shapes.get(prefix + name, ())):
            at_1, at_2 = (size_value(parse(size), {"D": model["d_model"], "F": f}) for f in (1, 2))
            if at_1 != at_2:
                return whole(1 + (found - at_1) / (at_2 - at_1), f"the hidden width by {prefix}{name}")
    raise RunError("no tensor of the weights tells the hidden width, which `match` solved")


DTYPES = {"F32": torch.float32, "F64": torch.float64, "I32": torch.int32, "I64": torch.int64, "U8": torch.uint8}


def read_safetensors(path):
    """→ {name: tensor}, {key: text}. Debian 12 has no python3-safetensors."""
    data = Path(path).read_bytes()
    begin = 8 + int.from_bytes(data[:8], "little")
    try:
        if len(data) < 8 or begin > len(data):
            raise ValueError(f"the file ends within its header ({len(data)} bytes)")
        header = json.loads(data[8:begin])
        metadata, tensors, end = header.pop("__metadata__", {}), {}, begin
        for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
            dtype, shape = DTYPES[entry["dtype"]], entry["shape"]
            low, high = (begin + offset for offset in entry["data_offsets"])
            count = math.prod(shape)
            if low != end or high - low != count * torch.empty((), dtype=dtype).element_size() or high > len(data):
                raise ValueError(f"data_offsets {entry['data_offsets']} of {name} do not fit its shape, its neighbours or the file")
            flat = torch.frombuffer(bytearray(data[low:high]), dtype=dtype) if count else torch.empty(0, dtype=dtype)
            tensors[name], end = flat.reshape(shape), high
        if end != len(data):
            raise ValueError(f"{len(data) - end} bytes behind the last tensor")
    except (*NOT_OURS, RecursionError, RuntimeError) as error:
        raise RunError(f"{path}: no safetensors file that can be read: {error}") from None
    return tensors, metadata


def check_same_model(config, metadata):
    """The weights carry the config that they were trained with."""
    here, there = flat(config["model"], "model"), flat(json.loads(metadata["config"])["model"], "model")
    keys = [key for key in sorted({*here, *there}) if here.get(key) != there.get(key)]
    differ = [f"{key}: {there.get(key)!r} there, {here.get(key)!r} here" for key in keys]
    if differ:
        raise RunError("not the config that the weights were trained with: " + "; ".join(differ))


def fill(model, tensors):
    """Every parameter from the tensor of its name. Lists all that differs."""
    parameters = dict(model.named_parameters())
    problems = [f"{name} {tuple(p.shape)}: missing" for name, p in parameters.items() if name not in tensors]
    problems += [f"{name} {tuple(t.shape)}: the model has no such parameter" for name, t in tensors.items() if name not in parameters]
    for name in parameters.keys() & tensors.keys():
        have, want = tensors[name], parameters[name]
        if have.shape != want.shape:
            problems.append(f"{name}: {tuple(have.shape)}, the model has {tuple(want.shape)}")
        elif have.dtype != want.dtype:
            problems.append(f"{name}: {have.dtype}, the model has {want.dtype}")
    if problems:
        raise RunError("the weights do not fit the model:\n  " + "\n  ".join(sorted(problems)))
    with torch.no_grad():
        for name, parameter in parameters.items():
            parameter.copy_(tensors[name])


def load(run, best=False):
    """The trained network of a run's directory, as a torch.nn.Module in eval mode, by its run.json and model.safetensors.

    `best`: by best.safetensors, which keep=best keeps, instead. Parameters have the names of the weight file. In train mode dropout is that of the config. Raises RunError.
    """
    run = named_directory(run)
    record = read_record(run)
    weights = run / ("best.safetensors" if best else "model.safetensors")
    try:
        config = record["config"]
        if not record["summary"]:
            raise RunError(f"{run} has no trained weights yet; finish the training first, with the command that started it")
        check_as_trained(record, weights)
    except OSError as error:
        raise RunError(f"{weights}: {error.strerror}") from None
    except NOT_OURS as error:
        raise error if isinstance(error, RunError) else RunError(unlike(run / "run.json", error)) from None
    tensors, metadata = read_safetensors(weights)
    try:
        if "config" in metadata:
            check_same_model(config, metadata)
        refuse_unknown_keys(config["model"])
        shapes = {name: tensor.shape for name, tensor in tensors.items()}
        with torch.random.fork_rng(devices=[]):  # nn.Linear draws weights, which are overwritten
            config = {**config, "model": with_solved_width(config["model"], shapes)}
            model = Network(config, shapes, hidden_width(config["model"], shapes), metadata.get("alphabet"), json.loads(metadata["table"]) if "table" in metadata else None)
        fill(model, tensors)
    except RunError as error:
        raise RunError(f"{run}: {error}") from None
    except NOT_OURS as error:
        raise RunError(f"{unlike(run / 'run.json', error)}; is its config a run's?") from None
    return model.eval()


def finite(number, place):
    """`number`, a cell or an output, as a finite float."""
    try:
        if "_" not in str(number) and math.isfinite(float(number)):
            return float(number)
    except (TypeError, ValueError, OverflowError):
        pass
    raise RunError(f"{place}: {number!r} is not a finite number")


MISSING = {"", "NA", "N/A", "n/a", "<NA>", "#N/A", "NaN", "nan", "NULL", "null", "None", "?"}  # as the program reads files


def is_missing(cell):
    return str(cell) in MISSING  # None, NaN and pandas.NA among them


def rows_of(table, columns=()):
    """Rows of a DataFrame, of a CSV file, or what was given, as a list of dicts. columns: names for a file without a line of them."""
    if hasattr(table, "to_dict"):
        return table.to_dict("records")
    if not isinstance(table, (str, Path)):
        return list(table)
    with open(table, newline="", encoding="utf-8-sig") as file:
        first = file.readline()
        above = re.fullmatch("sep=(.)[\r\n]*", first)  # as Excel writes it
        if not above:
            file.seek(0)
        unquoted = re.sub('"[^"]*"', "", first)
        reader = csv.reader(file, delimiter=above[1] if above else max(",;\t", key=unquoted.count), skipinitialspace=True)
        lines = [(reader.line_num + bool(above), [cell.strip() for cell in row]) for row in reader]
    lines = [(line, row) for line, row in lines if row not in ([], [""])]
    names = list(columns) or (lines.pop(0)[1] if lines else [])
    if not columns and all(len(row) == len(names) + 1 for _, row in lines) and any(row[-1] for _, row in lines):
        names.insert(0, "")  # R's write.table has row names without a name
    for line, row in lines:
        if len(row) != len(names):
            raise RunError(f"{table}:{line}: {len(row)} cells in a table of {len(names)} columns")
    return [dict(zip(names, row)) for _, row in lines]


def category_of(cell, values):
    """The value that the program reads where a file has this cell: True as "True" or "TRUE", 1 as "1" or "1.0". None of an unknown one."""
    def is_it(value):
        if str(cell) in ("True", "False"):
            return value.lower() == str(cell).lower()
        try:
            return float(value) == float(cell)
        except (TypeError, ValueError):
            return False
    if isinstance(cell, str) or str(cell) in values:
        return str(cell) if str(cell) in values else None
    found = [value for value in values if is_it(value)]
    return found[0] if len(found) == 1 else None


def table_inputs(model, rows):
    """(rows, inputs): what the network of a table run reads of rows such as {"width": 1.5, "color": "red"}."""
    def numbers(column, row, place):
        if column["column"] not in row:
            raise RunError(f"{place}: the row has no such column; it has {', '.join(map(str, row))}")
        cell, gap, is_number = row[column["column"]], is_missing(row[column["column"]]), "values" not in column
        if gap and not (column.get("missing") if is_number else "" in column["values"]):
            raise RunError(f"{place}: {cell!r} is a missing value, and the run was trained without any in this column")
        if is_number:
            x = 0.0 if gap else (finite(cell, place) - column["mean"]) / column["deviation"]
            return [x, float(gap)] if column.get("missing") else [x]
        cell = "" if gap else cell
        value = category_of(cell, column["values"])
        if value is None:
            raise RunError(f"{place}: {cell!r} is none of {column['values']}")
        return [float(value == other) for other in column["values"]]

    return torch.tensor([[x for c in model.table["inputs"] for x in numbers(c, row, f"row {i}, column {c['column']}")] for i, row in enumerate(rows)])


@torch.no_grad()
def predict(model, rows, probabilities=False):
    """The class, or the number in the column's unit, that a table run predicts for each row: of a DataFrame, a CSV file, or dicts {column: cell}.

    model: what load() gave for a table run, or its directory. probabilities: of classes, a dict {class: probability} in place of each class.
    `ffn-train predict` does the same for functions and images, too. Rows are counted from 0 in what RunError says of cells that are missing, no
    finite number or no known value, and of outputs that are not finite.
    """
    model = model if isinstance(model, nn.Module) else load(model)
    if model.table is None:
        raise ValueError("only table runs predict from rows; this run's task is something else")
    rows = rows_of(rows, model.config["task"].get("columns", ()))
    if not rows:
        return []
    outputs, column = model(table_inputs(model, rows)), model.table["output"]
    for i, output in enumerate(outputs.tolist()):
        for x in output:
            finite(x, f"row {i}, output {column['column']}")
    if probabilities and ("values" not in column or model.config["train"].get("loss", "auto") == "hinge"):
        raise ValueError("only classes that were trained with cross-entropy have probabilities")
    if probabilities:
        return [dict(zip(column["values"], row)) for row in outputs.double().softmax(-1).tolist()]
    if "values" in column:
        return [column["values"][i] for i in outputs.argmax(-1)]
    return [x * column["deviation"] + column["mean"] for x in outputs[:, 0].tolist()]


@torch.no_grad()
def generate(model, prompt="", length=200, temperature=0.0, seed=0):
    """`length` characters that go on with the prompt; temperature 0 takes the most probable, as `ffn-train sample` does.

    model: what load() gave for a text run, or its directory. At other temperatures the draws are not those of the program.
    """
    model = model if isinstance(model, nn.Module) else load(model)
    if model.alphabet is None:
        raise ValueError("only text runs go on with a text; this run's task is something else")
    of_bytes = model.config["task"].get("alphabet") == "bytes"
    alphabet = bytes(range(256)).decode("latin-1") if of_bytes else model.alphabet
    given = prompt.encode().decode("latin-1") if of_bytes else prompt
    unknown = sorted(set(given) - set(alphabet))
    if unknown:
        raise ValueError(f"the prompt's {unknown[0]!r} does not occur in the training text; known: {alphabet!r}")
    # Without a prompt a line begins; a text without lines begins with its first character in order.
    begin = given or ("\n" if "\n" in alphabet else alphabet[0])
    ids = [alphabet.index(c) for c in begin]
    draws = torch.Generator().manual_seed(seed)
    for _ in range(length):
        logits = model(torch.tensor([ids[-model.task["length"]:]]))[0, -1]
        if not logits.isfinite().all():
            raise RunError("the logits of this model are not finite: its training diverged, or its weights were changed")
        if temperature == 0:
            ids.append(int(logits.argmax()))
        else:
            ids.append(int(torch.multinomial((logits / temperature).softmax(-1), 1, generator=draws)))
    return prompt + (bytes(ids[len(begin):]).decode(errors="replace") if of_bytes else "".join(alphabet[i] for i in ids[len(begin):]))
