#!/usr/bin/env python3
"""scripts/ffn_train.py: what a run computes, computed again from its files; its tables; what it refuses.

Three judges: the values of PyTorch's own functions in tests/golden (written by scripts/generate/golden), the metrics that the program
measured itself on validation data that this test makes anew, and the text that the program samples.
"""
import collections
import csv
import json
import math
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import unittest
import unittest.mock
import warnings

import torch
import torch.nn.functional as F

from program import PROGRAM, ROOT, ProgramTest, main, record, run_at

sys.path.insert(0, str(ROOT / "scripts"))
sys.dont_write_bytecode = True
import ffn_train  # noqa: E402

torch.set_num_threads(1)
# Of val/loss, by the largest logit: what float32 rounds on the way. The largest seen in the 106 runs of this file is 1.6e-7.
TOLERANCE = 1e-6
TEXT = "the cat sat on the mat; the dog sat on the log. " * 40 + "a frog, a bog, a cat: the frog sat in the bog. " * 40


def catalogue(name, column):
    text = subprocess.run([str(PROGRAM), "list", name, "--json"], check=True, capture_output=True, text=True).stdout
    return [row[column] for row in json.loads(text) if "parameter" not in row]


def defaults(kind):
    """Of the FFN or router of this kind, where its own keys have some."""
    def found(schema):
        if isinstance(schema, dict):
            own = schema.get("properties", {})
            if own.get("kind", {}).get("const") == kind:
                return own
        parts = schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ()
        return next((own for own in map(found, parts) if own), None)

    schema = json.loads((ROOT / "configs/schema.json").read_text())
    return {key: value["default"] for key, value in found(schema["else"]["properties"]["model"]).items() if "default" in value and key != "kind"}


# ---- validation data, by lib/ffn/base/random.hpp and lib/ffn/tasks

def philox(counter, key):
    k0, k1 = key & 0xFFFFFFFF, key >> 32
    for _ in range(10):
        p0, p1 = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = [p1 >> 32 ^ counter[1] ^ k0, p1 & 0xFFFFFFFF, p0 >> 32 ^ counter[3] ^ k1, p0 & 0xFFFFFFFF]
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return counter


def sub_seed(seed, role):
    h = 0xCBF29CE484222325
    for byte in role.encode():
        h = (h ^ byte) * 0x100000001B3 % 2**64
    block = philox([h & 0xFFFFFFFF, h >> 32, 0, 0], seed)
    return block[1] << 32 | block[0]


def random_words(key, stream=0):
    index = 0
    while True:
        yield from philox([index, 0, stream & 0xFFFFFFFF, stream >> 32], key)
        index += 1


def xor_data(task, train, seed):
    assert task["jitter"] == 0 and 2 ** task["bits"] <= train["eval_examples"]
    patterns = [[i >> b & 1 for b in range(task["bits"])] for i in range(2 ** task["bits"])]
    return torch.tensor(patterns, dtype=torch.float64) * 2 - 1, torch.tensor([sum(p) % 2 for p in patterns])


def sequence_xor_data(task, train, seed):
    assert task["length"] <= 32
    first, second = task["first_offset"], task["second_offset"]
    words = random_words(sub_seed(seed, "validation"))
    x = [[word >> t & 1 for t in range(task["length"])] for word, _ in zip(words, range(train["eval_examples"]))]
    labels = [[-1 if t < max(first, second) else row[t - first] ^ row[t - second] for t in range(task["length"])] for row in x]
    return torch.tensor(x), torch.tensor(labels)


def sequence_data(task, train, seed):
    """The named sequences without their formulas."""
    name, a, length, first = task["name"], task["alphabet"], task["length"], task["length"] // 2
    words, fixed = random_words(sub_seed(seed, "validation")), random_words(sub_seed(seed, "data"), 2**64 - 1)
    fixed = [below(fixed, 2**24) for _ in range(a)]
    draws = [[below(words, 2**24 if task["tokens"] else a) for _ in range(length)] for _ in range(train["eval_examples"])]
    keys = {"recall": a // 2, "memorization": (a - 1) // 2}.get(name)
    tokens, labels = [], []
    for r in draws:
        s = [draw % keys if keys else draw for draw in r]
        for t in range(1, length, 2) if keys else ():
            s[t] = a - 1 if name == "memorization" else keys + (r[s[t - 1] % length] >> 12) % (a // 2)
        seen, followed = {}, [-1] * length
        for t in range(1, length):
            seen[s[t - 1]] = s[t]
            followed[t] = seen.get(s[t], -1)
        labels.append({"copy": [-1] * first + s[:first], "reverse": [-1] * first + s[:first][::-1], "sort": [-1] * first + sorted(s[:first]),
                       "induction": followed, "recall": [-1 if t % 2 else f for t, f in enumerate(followed)],
                       "memorization": [keys + fixed[s[t - 1]] % (a // 2) if t % 2 else -1 for t in range(length)] if name == "memorization" else None,
                       "sequence_xor": [-1, -1] + [x ^ y for x, y in zip(s[1:], s)][:-1]}[name])
        tokens.append(s)
    return torch.tensor(tokens), torch.tensor(labels)


def text_data(task, train, seed):
    text, context = pathlib.Path(task["file"]).read_text(encoding="utf-8"), task["context"]
    alphabet = sorted(set(text))
    begin, count = len(text) - math.floor(len(text) * task["validation_fraction"]), math.floor(len(text) * task["validation_fraction"])
    if task["split"] == "per_seed":  # the first word of the split's stream, spread over all places
        begin = next(random_words(sub_seed(sub_seed(seed, "data"), "split"))) * (begin + 1) >> 32
    held_out = [alphabet.index(c) for c in text[begin:begin + count]]
    windows = (len(held_out) - 1) // context
    count = min(windows, train["eval_examples"])
    starts = [i * windows // count * context for i in range(count)]
    return tuple(torch.tensor([held_out[s + moved:s + moved + context] for s in starts]) for moved in (0, 1))


def table_data(task, train, seed):
    """The rows that a seed holds out, standardised by those that it trains on; read by Python's csv."""
    with open(task["file"], newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    words, order = random_words(sub_seed(sub_seed(seed, "data"), "split")), list(range(len(rows)))
    for i in range(len(order)):
        j = i + below(words, len(order) - i)
        order[i], order[j] = order[j], order[i]
    order = [i for first in order if rows.index(rows[first]) == first for i in range(len(rows)) if rows[i] == rows[first]]  # equal rows together
    held_out = math.floor(0.2 * len(rows) + 1e-6)
    shown = order[:held_out][:train["eval_examples"]]
    output = header.index(task["label"])
    columns = []
    for c in (c for c in range(len(header)) if c != output):
        cells = torch.tensor([float(row[c]) for row in rows], dtype=torch.float64)
        trained = cells[[i for i in order[held_out:] if rows[i] != rows[order[held_out - 1]]]]
        columns.append(((cells - trained.mean()) / trained.std(unbiased=False))[shown])
    classes = sorted({row[output] for row in rows})
    return torch.stack(columns, 1), torch.tensor([classes.index(rows[i][output]) for i in shown])


def facts_data(task, train, seed):
    words = random_words(sub_seed(seed, "data"))
    values = torch.tensor([below(words, task["values"]) for _ in range(task["facts"])]).unsqueeze(-1)
    return tuple(all_facts[:train["eval_examples"]] for all_facts in (torch.arange(len(values)).unsqueeze(-1), values))


def below(words, n):
    return next(words) * n >> 32


def function_data(task, train, seed):
    """A grid of one number, or the patterns of integers that are held out."""
    formula, inputs = task["label"] or task["target"], task["inputs"]
    formula = re.sub(r"\b(sin|pi)\b", r"math.\1", formula)
    if "x" in inputs:
        count, (low, high) = train["eval_examples"], inputs["x"]["uniform"]
        x = torch.tensor([low + (high - low) * i / (count - 1) for i in range(count)], dtype=torch.float32).to(torch.float64)
        return x.unsqueeze(-1), torch.tensor([[eval(formula, {"math": math, "x": float(v)})] for v in x], dtype=torch.float32).to(torch.float64)
    sizes = [drawn["integer"] for drawn in inputs.values()]
    order, words = list(range(math.prod(sizes))), random_words(sub_seed(seed, "validation"))
    held_out = math.floor(task["held_out"] * len(order))
    for i in range(held_out):
        j = i + below(words, len(order) - i)
        order[i], order[j] = order[j], order[i]
    x, labels = [], []
    for pattern in order[:min(held_out, train["eval_examples"])]:
        values = {}
        for name, size in zip(inputs, sizes):
            pattern, values[name] = divmod(pattern, size)
        x.append([float(values[name] == v) for name, size in zip(inputs, sizes) for v in range(size)])
        labels.append(eval(formula, values))
    return torch.tensor(x, dtype=torch.float64), torch.tensor(labels)


DATA = {"xor": xor_data, "sequence_xor": sequence_xor_data, "text": text_data, "function": function_data, "table": table_data,
        "facts": facts_data, "sequence": sequence_data}

# ---- golden values

GOLDEN = json.loads((ROOT / "tests/golden/layers.json").read_text())
SHAPE = collections.namedtuple("Shape", GOLDEN["shape"])(**GOLDEN["shape"])
FFN = {"activation": "gelu", "bias": True, "dropout": 0.0, "match": "none"}


def by_formula(name, shape):
    values = [0.5 * math.sin(i * 1.3 + len(name)) for i in range(math.prod(shape))]
    return torch.tensor(values, dtype=torch.float64).reshape(tuple(shape))


def write_run(directory, config, tensors, metadata):
    """A run as the program writes it: float32, names sorted, without checksums."""
    directory.mkdir(parents=True, exist_ok=True)
    header, data = {"__metadata__": metadata}, b""
    for name, tensor in sorted(tensors.items()):
        raw = struct.pack(f"<{tensor.numel()}f", *tensor.flatten().tolist())
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    (directory / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)
    data = (directory / "model.safetensors").read_bytes()
    files = {"model.safetensors": {"bytes": len(data), "checksum": f"xxh3:{ffn_train.xxhash.xxh3_128_hexdigest(data)}" if ffn_train.xxhash else ""}}
    (directory / "run.json").write_text(json.dumps({"config": config, "summary": {"files": files}}))


class Layers(unittest.TestCase):
    """Each layer alone, in float64, against PyTorch's functions."""

    def setUp(self):
        self.seen = set()

    def check(self, case, layer, names=lambda name: name):
        """names: parameter of the module → name in the golden file."""
        layer = layer.double().eval()
        x = by_formula("input", (SHAPE.B, SHAPE.T, SHAPE.D))
        with torch.no_grad():
            for name, parameter in layer.named_parameters():
                parameter.copy_(by_formula(names(name), parameter.shape))
            y = layer(x)
        expected = torch.tensor(GOLDEN["cases"][case]["y"], dtype=torch.float64).reshape(x.shape)
        self.assertLess((y - expected).abs().max(), 1e-14 * max(1, expected.abs().max()), case)
        self.assertEqual({names(name) for name, _ in layer.named_parameters()}, set(GOLDEN["cases"][case]["gradients"]), case)
        self.seen.add(case)

    def test_every_layer_of_the_golden_file(self):
        for case in GOLDEN["cases"]:
            kind, *rest = case.split("/")
            if kind == "moe":
                router, expert = rest
                self.assertIn(router, ffn_train.ROUTERS, "a new router: write its module in scripts/ffn_train_networks.py")
                config = {**FFN, **defaults("moe"), "num_experts": SHAPE.E, "top_k": SHAPE.K, "router": {"kind": router, **defaults(router)},
                          "gated": expert == "gated", "activation": "silu" if expert == "gated" else "gelu"}
                self.check(case, ffn_train.Mixture(SHAPE.D, SHAPE.F, config))
            elif kind not in ("attention", "norm"):
                self.assertIn(kind, ffn_train.FFNS, "a new kind of FFN: write its module in scripts/ffn_train_networks.py")
                change = {"bias": False} if rest == ["no_bias"] else {"activation": rest[0]}  # a formula has its own biases
                config = {**FFN, **defaults(kind), **(self.NORMED if kind == "formula" else {}), **change}
                if kind in ("pkm", "peer"):
                    config.update(keys=3, key_width=4, heads=SHAPE.H, top_k=2)
                self.check(case, ffn_train.FFNS[kind](SHAPE.D, SHAPE.F, config))
        for causal in (True, False):
            for scores in ("position", "content"):
                config = {"heads": SHAPE.H, "causal": causal, "scores": scores, "bias": False}
                self.check(f"attention/{scores}{'/causal' if causal else ''}", ffn_train.Attention(SHAPE.D, SHAPE.T, config))
        self.check("attention/qk_norm", ffn_train.Attention(SHAPE.D, SHAPE.T, {"heads": SHAPE.H, "causal": True, "scores": "content", "bias": False, "qk_norm": True}))
        for layout in ("halves", "pairs"):
            config = {"heads": 1, "causal": True, "scores": "content", "bias": False, "rotary_base": 50, "rotary_layout": layout}
            self.check(f"attention/rotary/{layout}", ffn_train.Attention(SHAPE.D, SHAPE.T, config, rotary=True))
        for kind in ("layer", "rms"):
            self.check(f"norm/{kind}", ffn_train.Norm(SHAPE.D, {"kind": kind, "epsilon": 1e-5}))
        self.assertEqual(self.seen, set(GOLDEN["cases"]), "a new layer: write its module in scripts/ffn_train_networks.py, and try it here")

    def test_activations_from_0_to_1e30(self):
        golden = json.loads((ROOT / "tests/golden/activations.json").read_text())
        z = torch.tensor(golden["z"], dtype=torch.float64)
        self.assertEqual(set(golden["cases"]), set(catalogue("activations", "activation")))
        self.assertLessEqual(set(ffn_train.ACTIVATIONS), set(golden["cases"]))
        for name in golden["cases"]:
            phi = ffn_train.activation(name)  # where there is none: write its row in ACTIVATIONS of scripts/ffn_train_networks.py
            expected = torch.tensor(golden["cases"][name]["value"], dtype=torch.float64)
            self.assertTrue(((phi(z) - expected).abs() <= 1e-14 * expected.abs()).all(), name)

    # A formula that says the same as a kind has to give the same, with the same tensors.
    PLAIN = {"formula": "phi(x @ up.weight + up.bias) @ down.weight + down.bias", "activation": "gelu",
             "parameters": {"up.weight": ["D", "F"], "up.bias": ["F"], "down.weight": ["F", "D"], "down.bias": ["D"]}}
    GATED = {"formula": "(silu(g) * u) @ down.weight + down.bias",
             "parameters": {**PLAIN["parameters"], "gate.weight": ["D", "F"], "gate.bias": ["F"]},
             "let": {"g": "x @ gate.weight + gate.bias", "u": "x @ up.weight + up.bias"}}

    # scripts/generate/golden has it, too.
    NORMED = {"formula": "dropout(layer_norm(phi(x @ up + b)) * s + t) @ down + e", "activation": "gelu",
              "parameters": {"up": ["D", "F"], "b": ["F"], "s": ["F"], "t": ["F"], "down": ["F", "D"], "e": ["D"]}}

    def test_formulas_and_convolutions_that_say_the_same_give_the_same(self):
        self.check("positionwise/gelu", ffn_train.Formula(SHAPE.D, SHAPE.F, self.PLAIN))
        self.check("gated/silu", ffn_train.Formula(SHAPE.D, SHAPE.F, self.GATED))
        self.check("positionwise/gelu", ffn_train.Conv1x1(SHAPE.D, SHAPE.F, FFN))
        self.check("positionwise/no_bias", ffn_train.Conv1x1(SHAPE.D, SHAPE.F, {**FFN, "bias": False}))
        mixture = {**FFN, "num_experts": SHAPE.E, "top_k": SHAPE.K, "router": {"kind": "softmax_top_k"}, "gated": False}
        for router in ffn_train.ROUTERS:
            for gated in (False, True):
                config = {**mixture, "router": {"kind": router}, "gated": gated, "activation": "silu" if gated else "gelu"}
                self.check(f"moe/{router}/{'gated' if gated else 'plain'}", ffn_train.Mixture(SHAPE.D, SHAPE.F, config))
        self.check("moe/softmax_top_k/plain", ffn_train.Mixture(SHAPE.D, SHAPE.F, {**mixture, "expert": self.PLAIN}))
        self.check("moe/softmax_top_k/gated", ffn_train.Mixture(SHAPE.D, SHAPE.F, {**mixture, "expert": self.GATED}))
        norm = {"formula": "layer_norm(x) * weight + bias", "parameters": {"weight": ["D"], "bias": ["D"]}, "epsilon": 1e-5}
        self.check("norm/layer", ffn_train.Formula(SHAPE.D, SHAPE.F, norm))
        self.check("norm/rms", ffn_train.Formula(SHAPE.D, SHAPE.F, {"formula": "rms_norm(x) * weight", "parameters": {"weight": ["D"]}}))

    def test_every_part_of_the_grammar(self):
        """formula → the same in Python, on the same tensors."""
        d, f = 4, 6
        x, a, b, v = (by_formula(name, shape) for name, shape in (("x", (2, 3, d)), ("aa", (d, f)), ("bbb", (f, d)), ("v", (f,))))
        cases = {
            "-x @ a @ b": (-x) @ a @ b,
            "x - 1 - 2": x - 3,
            "x / 2 / 4 * 2": x / 4,
            "2 * x + 3 * (x - .5e1)": 2 * x + 3 * (x - 5),
            "x @ a * v @ b": ((x @ a) * v) @ b,
            "x @ (a @ b)": x @ (a @ b),
            "x * sum(x) - mean(x)": x * x.sum(-1, keepdim=True) - x.mean(-1, keepdim=True),
            "softmax(x @ a) @ b": (x @ a).softmax(-1) @ b,
            "top_k(x @ a, F/2 - 1) @ b": torch.zeros(2, 3, f, dtype=torch.float64).scatter(-1, *(x @ a).topk(2, -1)[::-1]) @ b,
            "top_k(x * 0 + 1, 2)": torch.tensor([1.0, 1, 0, 0], dtype=torch.float64),
            "top_k(x, D)": x,
            "dropout(quick_gelu(x))": x * torch.sigmoid(1.702 * x),
            "rms_norm(x)": x / ((x * x).mean(-1, keepdim=True) + 0.25).sqrt(),
            "layer_norm(x)": (x - x.mean(-1, keepdim=True)) / (x.var(-1, unbiased=False, keepdim=True) + 0.25).sqrt(),
            "phi(x)": torch.tanh(x),
            "concat(x[D/2:], x[:2])": torch.cat([x[..., 2:], x[..., :2]], -1),
            "concat((x @ a)[F/2:F - 1], x[3:4], mean(v))": torch.cat([(x @ a)[..., 3:5], x[..., 3:], v.mean().expand(2, 3, 1)], -1),
            "z * y": torch.relu(x) * torch.relu(x + 1),
            "x * in": x * v[:4],
            "x * D / F": x * 4 / 6,
            "x @ a @ a.T": x @ a @ a.t(),
            "x @ (a * stop(a) / mean_all(abs(a))) @ q.T": x @ (a * a / a.abs().mean()) @ (2 * a).t(),
            "x[D/2] * x": x[..., 2:3] * x,
            "min(x, 0.1) - max(x[0], x) % 0.3 + clip(x, -pi / 9, v[:4])": torch.minimum(x, torch.tensor(0.1, dtype=torch.float64)) - torch.maximum(x[..., :1], x) % 0.3
                + torch.where(x < -math.pi / 9, torch.tensor(-math.pi / 9, dtype=torch.float64), torch.where(x > v[:4], v[:4], x)),
            "where(x > 0, sin(x), exp(x)) * (x != v[:4])": torch.where(x > 0, x.sin(), x.exp()) * (x != v[:4]),
            "pow(abs(x), v[1]) + sqrt(x * x) + log1p(x * x)": x.abs() ** v[1] + x.abs() + (x * x).log1p(),
        }
        for text, expected in cases.items():
            config = {"formula": text, "parameters": {"a": ["D", "F"], "b": ["F", 4], "v": ["3*D/2"], "in": ["F - 2"]}, "epsilon": 0.25,
                      "activation": "tanh", "let": {"y": "relu(w)", "z": "relu(x)", "w": "x + 1", "q": "2 * a"}}
            layer = ffn_train.Formula(d, f, config).double().eval()
            with torch.no_grad():
                for name, value in (("a", a.t()), ("b", b.t()), ("v", v), ("in", v[:4])):
                    self.assertEqual(dict(layer.named_parameters())[name].shape, value.shape)
                    dict(layer.named_parameters())[name].copy_(value)
                self.assertLess((layer(x) - expected).abs().max(), 1e-14, text)
        names = {"up": ["D"], "up.weight": ["D"], "half": ["D"], "type": ["D"]}
        awkward = ffn_train.Formula(d, f, {"formula": "x * up.weight * up * half * type", "parameters": names})
        self.assertEqual({name for name, _ in awkward.named_parameters()}, set(names))
        awkward.load_state_dict(awkward.state_dict())

    def test_formulas_that_are_refused(self):
        cases = {
            "x @ w": "unknown name 'w'", "relux(x)": "unknown function 'relux'", "linear(x)": "unknown function 'linear'",
            "x ** 2": ": x ** 2 is no part", "x if x else x": "cannot parse",
            "__import__('os')": "unknown function '__import__'", "x.shape": "unknown name 'x.shape'", "[x][0]": "is no part", "x[0]": "gives (2, 3, 1)", "x & x": ": x & x is no part", "min(x)": "min", "top_k(x, D + 1)": "keeps 5 of a width of 4", "top_k(x, 0)": "keeps 0",
            "x[0:9]": "slice [0:9] of a width of 4", "x[F:]": "slice [6:4]", "x[D/3:]": "4/3, which is no size", "x +": "cannot parse",
            "x[-1:]": "is -1, which is no size", "x[D/0:]": "D / 0 is no size", "x[x:]": "x is no size", "relu(x, x)": "takes one value, not 2", "a": "circle at 'a'", "x @ v": "is no matrix",
            "sum(x)": "gives (2, 3, 1) for (2, 3, 4)", "x @ m": "cannot be computed", "relu(z=x)": ": relu(z=x) is no part", "+x": ": +x is no part",
            "x * 'a'": ": 'a' is no part", "x * True": "unknown name 'True'", "x * 1j": ": 1j is no part", "x @ m if": "cannot parse",
            "(" * 300 + "x" + ")" * 300: "cannot parse", "-" * 5000 + "x": "",  # from Python 3.13 on it is parsed, and too deep to compute
        }
        for text, reason in cases.items():
            config = {"formula": text, "parameters": {"v": ["D"], "m": ["F", "D"]}, "let": {"a": "b + x", "b": "2 * a"}}
            with self.assertRaises(ffn_train.RunError, msg=text) as caught:
                ffn_train.Formula(4, 6, config)
            self.assertIn(reason, str(caught.exception))


class Runs(ProgramTest):
    """Whole runs: the program trains, evaluates and samples; load() has to come to the same."""

    def train(self, name, config, *more):
        self.write("text.txt", TEXT)
        self.write(f"{name}.json", {"name": name, **config})
        self.ok("--config", f"{name}.json", "-j", "1", "-q", *more)
        return ffn_train.find_runs(self.tmp / "runs" / name)

    def check(self, run):
        """val/loss and val/accuracy (of a target of numbers val/rmse) as the program measured them."""
        config = record(run)["config"]
        measured = record(run)["summary"]["metrics"]
        if config["task"]["kind"] == "text":
            config["task"]["file"] = run / config["task"]["file"]
        x, labels = DATA[config["task"]["kind"]](config["task"], config["train"], config["seed"])
        model = ffn_train.load(run).double()  # what rounds is the program alone
        with torch.no_grad():
            logits = model(x)
        if config["task"].get("target"):
            loss = float(F.mse_loss(logits, labels))
            self.assertGreater(loss, 1e-4, f"{run} has learned so much that its loss tells little of its outputs")
            for name, value in (("val/loss", loss), ("val/rmse", math.sqrt(loss))):
                self.assertLess(abs(value - measured[name]["final"]), TOLERANCE, f"{run}: {name} {value} here, {measured[name]['final']} there")
            return
        self.assertEqual(logits.shape, (*x.shape, logits.shape[-1]) if model.task["tokens"] else (len(x), logits.shape[-1]))
        logits, labels = logits.reshape(-1, logits.shape[-1]), labels.reshape(-1)
        loss = F.cross_entropy(logits, labels, ignore_index=-1)
        self.assertGreater(loss, 0.1, f"{run} has learned so much that its loss tells little of its logits")
        # A logit that is off by d moves the loss by 2 d at most.
        error = abs(float(loss) - measured["val/loss"]["final"]) / float(logits.abs().max())
        self.assertLess(error, TOLERANCE, f"{run}: val/loss {loss} here, {measured['val/loss']['final']} there")
        # Logits that are equal but for rounding may change places.
        top = logits.topk(2, -1)
        scored = labels >= 0
        sure = scored & (top.values[:, 0] - top.values[:, 1] > 1e-5 * logits.abs().max())
        right = int((sure & (top.indices[:, 0] == labels)).sum())
        counted = measured["val/accuracy"]["final"] * int(scored.sum())
        self.assertTrue(right - 0.01 <= counted <= right + int((scored & ~sure).sum()) + 0.01, f"{run}: {right} right here, {counted} there")

    def check_all(self, runs, count):
        self.assertEqual(len(runs), count)
        for run in runs:
            self.check(run)

    def test_every_shipped_config(self):
        configs = [path for path in sorted((ROOT / "configs").glob("*.json")) if path.name != "schema.json"]
        self.assertGreaterEqual(len(configs), 5)
        for path in configs:
            self.ok("--config", path, "-o", path.stem, "-q", "train.steps=6", "train.optimizer.lr=0.01", "train.eval_examples=16")
            for run in ffn_train.find_runs(self.tmp / path.stem):
                self.check(run)
                shutil.rmtree(self.tmp / path.stem)
                break
            else:
                self.fail(f"{path} left no run")

    # With labels that nobody can learn: where all is right, the loss is near 0 whatever the logits are.
    XOR = {"task": {"kind": "xor", "bits": 3, "label_noise": 0.3}, "model": {"d_model": 6, "ffn": {"expansion": 1.5}},
           "train": {"steps": 60, "batch_size": 16, "optimizer": {"lr": 0.05}}}
    BITS = {"task": {"kind": "sequence_xor", "length": 7}, "train": {**XOR["train"], "eval_examples": 40},
            "model": {"d_model": 8, "blocks": 2, "residual": True, "attention": {"heads": 2},
                      "norm": {"kind": "layer", "epsilon": 0.3}, "ffn": {"d_ff": 8, "activation": "relu"}}}

    def test_every_named_sequence(self):
        names = re.findall(r"^(\w+) \(sequence\)$", self.ok("list", "tasks").stdout, re.M)
        self.assertGreaterEqual(len(names), 6)
        for name in names:
            task = {"kind": "sequence", "name": name, "alphabet": 16, "length": 12}
            self.check_all(self.train(name, {**self.BITS, "task": task}, "train.steps=20"), 1)

    def test_every_activation(self):
        activations = catalogue("activations", "activation")
        runs = self.train("phi", self.XOR, "model.ffn.activation=" + ",".join(activations), "model.ffn.kind=positionwise,gated")
        self.check_all(runs, 2 * len(activations))

    def test_every_norm_and_placement(self):
        runs = self.train("norm", self.BITS, "model.norm.kind=layer,rms,none", "model.norm.placement=pre,post,sandwich", "model.residual=true,false")
        self.check_all(runs, 18)
        self.check_all(self.train("shared", self.BITS, "model.norm.kind=layer,none", "model.blocks=3", "model.share_ffn=true"), 2)
        self.check_all(self.train("parallel", self.BITS, "model.norm.kind=rms,none", "model.residual=true,false", "model.parallel=true"), 4)

    def test_every_attention(self):
        runs = self.train("attention", self.BITS, "model.attention.scores=content,position", "model.attention.causal=true,false",
                          "model.attention.bias=true,false", "model.positions=learned,none")
        self.check_all(runs, 16)

    def test_every_position_encoding(self):
        encodings = dict(zip(catalogue("keys", "key"), catalogue("keys", "allowed")))["model.positions"]
        runs = self.train("positions", self.BITS, "model.positions=" + encodings.replace(" ", ""), "model.d_model=8,12")
        self.check_all(runs, 2 * len(encodings.split(", ")))
        self.check_all(self.train("normed", self.BITS, "model.positions=learned,rotary", "model.attention.qk_norm=true",
                                  "train.steps=20"), 2)
        self.check_all(self.train("pairs", self.BITS, "model.positions=rotary", "model.attention.rotary_layout=pairs", "model.attention.rotary_base=100"), 1)

    # What each kind of FFN that the program lists is tried with.
    def kinds(self):
        named = [row for row in json.loads(self.ok("list", "ffns", "--json").stdout) if "ffn.name" in row]
        self.assertGreater(len(named), 20)
        return {**self.KINDS, "formula": self.KINDS["formula"] + [
            {"name": row["ffn.name"], "activation": "silu" if "phi(" in row["what it computes"] else None} for row in named]}

    MEMORY = {"d_ff": None, "keys": 5, "key_width": 6, "heads": 2, "top_k": 3}
    KINDS = {
        "positionwise": [{}, {"bias": False}, {"match": "params", "expansion": 2, "d_ff": None}],
        "gated": [{}, {"bias": False}, {"match": "flops", "expansion": 4, "d_ff": None, "match_tolerance": 1}],
        "moe": [{"num_experts": 5, "top_k": k, "gated": gated, "bias": bias} for k in (1, 3, 5) for gated in (True, False) for bias in (True, False)]
        + [{"num_experts": 2, "top_k": 1, "match": "active_params", "expansion": 4, "d_ff": None, "match_tolerance": 1}],
        "none": [{"d_ff": None, "activation": None}],
        "conv1x1": [{}, {"bias": False}],
        "pkm": [{**MEMORY, "activation": None}, {**MEMORY, "activation": None, "bias": False, "query_norm": True, "top_k": 1}],
        "peer": [MEMORY, {**MEMORY, "bias": False, "query_norm": True, "top_k": 5}],
        "formula": [Layers.PLAIN, {**Layers.GATED, "activation": None, "dropout": 0.2, "formula": "dropout(silu(g) * u) @ down.weight + down.bias"},
                    {**Layers.PLAIN, "match": "params", "expansion": 2, "d_ff": None, "match_tolerance": 1}],
    }

    def test_every_kind_of_ffn(self):
        kinds = dict(zip(catalogue("keys", "key"), catalogue("keys", "allowed")))["model.ffn.kind"].split(", ")
        self.assertGreaterEqual(len(kinds), 4)
        tried = self.kinds()
        for kind in kinds:
            self.assertIn(kind, tried, "a new kind: write its module in scripts/ffn_train_networks.py, and configs for it here")
            for i, ffn in enumerate(tried[kind]):
                ffn = {k: v for k, v in {**self.BITS["model"]["ffn"], **ffn, "kind": kind}.items() if v is not None}
                model = {**self.BITS["model"], "ffn": ffn}
                self.check_all(self.train(f"{kind}-{i}", {**self.BITS, "model": model}), 1)
                self.check_all(self.train(f"{kind}-bare-{i}", {**self.XOR, "model": {"d_model": 8, "ffn": ffn}}), 1)
        blocks = {"blocks": 3, "block_expansion": [2, 0, 1.3], "block_activation": ["silu", "relu", "tanh"], "parallel": True, "parallel_from": 1}
        self.check_all(self.train("blocks", {**self.BITS, "model": {**self.BITS["model"], **blocks, "ffn": {"kind": "gated"}}}), 1)
        solved = {"d_model": 8, "attention": {"heads": 2}, "match_expansion": 4, "ffn": {"expansion": 1, "match_tolerance": 0.2}}
        self.check_all(self.train("solved", {**self.BITS, "model": {**self.BITS["model"], **solved}}), 1)
        shared = {"kind": "moe", "d_ff": 8, "num_experts": 3, "top_k": 2, "shared_experts": 2, "shared_expansion": 0.7}
        self.check_all(self.train("shared", {**self.BITS, "model": {**self.BITS["model"], "ffn": shared}}), 1)
        ffn = {"kind": "moe", "d_ff": 8, "num_experts": 3, "top_k": 2, "expert": Layers.GATED}
        self.check_all(self.train("experts", {**self.BITS, "model": {**self.BITS["model"], "ffn": ffn}}), 1)

    def text_run(self, *more, name="text"):
        model = {**self.BITS["model"], "d_model": 16, "ffn": {"kind": "moe", "num_experts": 3, "top_k": 2, "d_ff": 16}}
        task = {"kind": "text", "file": "text.txt", "context": 12}
        train = {"steps": 80, "batch_size": 8, "optimizer": {"lr": 0.01}, "eval_examples": 30}
        (run,) = self.train(name, {"task": task, "model": model, "train": train}, *more)
        return run

    def test_rows_of_a_table_are_predicted_as_the_program_validates_them(self):
        rows = [{"x": str(i % 10), "color": ("red", "blue", "green")[i * i % 3], "kind": "ab"[(i % 10 > 4) ^ (i * i % 3 == 0)], "y": str(1000 + 50 * (i % 10) + 7 * (i * i % 3))}
                for i in range(80)]
        with open(self.tmp / "t.csv", "w", newline="") as file:
            writer = csv.DictWriter(file, ["x", "color", "kind", "y", "part"], delimiter=";")
            writer.writeheader()
            writer.writerows({**row, "part": "validation" if i % 4 == 0 else "train"} for i, row in enumerate(rows))
        held_out = rows[::4]
        for key, column, other in (("label", "kind", "y"), ("target", "y", "kind")):
            task = {"kind": "table", "file": "t.csv", key: column, "split": "part", "ignore": [other]}
            (run,) = self.train(key, {"task": task, "model": {"d_model": 8}, "train": {"steps": 60, "optimizer": {"lr": 0.01}}})
            predicted, measured = ffn_train.predict(run, held_out), record(run)["summary"]["metrics"]
            if key == "label":
                self.assertAlmostEqual(sum(a == row["kind"] for a, row in zip(predicted, held_out)) / 20, measured["val/accuracy"]["final"], places=6)
            else:
                squares = [(a - float(row["y"])) ** 2 for a, row in zip(predicted, held_out)]
                self.assertAlmostEqual(math.sqrt(sum(squares) / 20) / measured["val/rmse"]["final"], 1, places=4)
                self.assertLess(measured["val/rmse"]["final"], measured["val/mean_rmse"]["final"])
        self.assertEqual(ffn_train.predict(run, []), [])
        with open(self.tmp / "gaps.csv", "w", newline="") as file:
            writer = csv.DictWriter(file, ["x", "color", "kind", "part"])
            writer.writeheader()
            gaps = [{**{key: row[key] for key in ("x", "color", "kind")}, **[{"x": "NA"}, {"color": ""}, {}][i % 3]} for i, row in enumerate(rows)]
            writer.writerows({**row, "part": "validation" if i % 4 == 0 else "train"} for i, row in enumerate(gaps))
        task = {"kind": "table", "file": "gaps.csv", "label": "kind", "split": "part", "missing": "mean"}
        (with_gaps,) = self.train("gaps", {"task": task, "model": {"d_model": 8}, "train": {"steps": 60, "optimizer": {"lr": 0.01}}})
        predicted = ffn_train.predict(with_gaps, [{**row, "color": row["color"] or None} for row in gaps[::4]])
        self.assertAlmostEqual(sum(a == row["kind"] for a, row in zip(predicted, gaps[::4])) / 20, record(with_gaps)["summary"]["metrics"]["val/accuracy"]["final"], places=6)
        self.assertEqual(ffn_train.predict(run, self.tmp / "t.csv"), ffn_train.predict(run, rows))
        good = {"x": 1, "color": "red"}
        for cells, what in (({"color": "pink"}, "row 1, column color: 'pink' is none of"), ({"x": "NaN"}, "row 1, column x: 'NaN' is a missing value, and the run was trained without any"), ({"x": "1_0"}, "row 1, column x: '1_0' is not a finite number"),
                            ({"x": math.inf}, "row 1, column x: inf is not"), ({"x": "1,5"}, "row 1, column x: '1,5' is not"), ({"x": None}, "row 1, column x: None is a missing"),
                            ({"x": "1e300"}, "row 0, output y: ")):
            with self.assertRaisesRegex(ffn_train.RunError, what):
                ffn_train.predict(run, [good, {**good, **cells}][cells == {"x": "1e300"}:])
        with self.assertRaisesRegex(ffn_train.RunError, "has no such column"):
            ffn_train.predict(run, [{"color": "red"}])
        with self.assertRaisesRegex(ValueError, "only table runs"):
            ffn_train.predict(self.text_run(), held_out)

    def test_tables_as_r_excel_and_pandas_write_them_are_read_as_the_program_reads_them(self):
        rows = [(("", "NA", 1, 2, 5, 7, 8, 9)[i % 8], ("red", "blue", "")[i % 3], "ab"[i % 2]) for i in range(48)]
        self.write("t.csv", "x,color,kind\n" + "".join(f"{x},{color},{kind}\n" for x, color, kind in rows))
        task = {"kind": "table", "file": "t.csv", "label": "kind", "missing": "mean"}
        (run,) = self.train("gaps", {"task": task, "model": {"d_model": 8}, "train": {"steps": 60, "optimizer": {"lr": 0.01}}})
        expected = ffn_train.predict(run, [{"x": x, "color": color} for x, color, _ in rows], probabilities=True)
        written = {"r.csv": '"x" "color" "kind"\n'.replace(" ", ",") + "".join(f'"car {i}",{x},"{color}","{kind}"\n' for i, (x, color, kind) in enumerate(rows)),
                   "excel.csv": "sep=;\r\nx;color;kind\r\n" + "".join(f"{x};{color};{kind}\r\n" for x, color, kind in rows),
                   "quoted.csv": '"color";"a,b,c";x\n \n' + "".join(f'"{color}"; "1,2" ; {x}\n' for x, color, _ in rows),
                   "labelled.csv": "x,color,kind\n" + "".join(f"{x},{color},{kind if i == 3 else ''}\n" for i, (x, color, kind) in enumerate(rows))}
        for name, text in written.items():
            self.assertEqual(ffn_train.predict(run, self.write(name, text), probabilities=True), expected, name)
        for name in ("r.csv", "excel.csv", "quoted.csv"):
            program = json.loads(self.ok("predict", run, name, "--json").stdout)["rows"]
            for ours, theirs in zip(expected, program, strict=True):
                self.assertAlmostEqual(ours["a"], theirs["probabilities"]["a"], places=5)
        with self.assertRaisesRegex(ffn_train.RunError, "3 cells in a table of 2"):
            ffn_train.predict(run, self.write("wide.csv", "x,color\n1,red\n1,red,a\n"))

        import pandas
        frame = pandas.read_csv(self.tmp / "t.csv")
        for types in ({}, {"x": "Int64"}, {"x": "Float64", "color": "string"}, {"color": "category"}):
            self.assertEqual(ffn_train.predict(run, frame.astype(types), probabilities=True), expected, types)

    def test_numbers_and_booleans_of_a_table_are_predicted_as_the_program_reads_them(self):
        import pandas

        (self.tmp / "t.csv").write_text("paid,zip,x,kind\n" + "".join(f"{i % 2 == 0},{10 + i % 3},{i},{'ab'[i % 2 and i % 3 == 0]}\n" for i in range(40)))
        task = {"kind": "table", "file": "t.csv", "label": "kind", "types": {"zip": "category", "x": "number"}}
        (run,) = self.train("typed", {"task": task, "model": {"d_model": 8}, "train": {"steps": 60, "optimizer": {"lr": 0.01}}})
        frame = pandas.read_csv(self.tmp / "t.csv")
        self.assertEqual([str(kind) for kind in frame.dtypes[:2]], ["bool", "int64"])
        predicted = ffn_train.predict(run, frame)
        self.assertEqual(predicted, ffn_train.predict(run, self.tmp / "t.csv"))
        self.assertEqual(predicted, list(frame["kind"]))
        program = json.loads(self.ok("predict", run, "t.csv", "--json").stdout)["rows"]
        for ours, theirs in zip(ffn_train.predict(run, frame, probabilities=True), program):
            self.assertAlmostEqual(ours["a"], theirs["probabilities"]["a"], places=5)
        with self.assertRaisesRegex(ffn_train.RunError, "column zip: 13"):
            ffn_train.predict(run, [{"paid": True, "zip": 13, "x": 1}])

    def test_a_model_whose_logits_are_not_finite_is_not_sampled(self):
        model = ffn_train.load(self.text_run())
        with torch.no_grad():
            next(model.parameters()).fill_(math.nan)
        for temperature in (0, 1):
            with self.assertRaisesRegex(ffn_train.RunError, "not finite"):
                ffn_train.generate(model, "the ", 5, temperature=temperature)

    def test_text_goes_on_as_the_program_writes_it(self):
        run = self.text_run()
        self.check(run)
        model = ffn_train.load(run)
        self.assertNotIn("\n", model.alphabet)  # a text without lines begins with its first character
        for prompt in ("", "t", "the frog sat on the mat; a "):
            there = json.loads(self.ok("sample", run, "--prompt", prompt, "--temperature", 0, "--length", 60, "--json").stdout)["text"]
            self.assertEqual(ffn_train.generate(model, prompt, 60), prompt + there)
            self.assertGreater(len(set(there)), 5)
        of_bytes = self.text_run("task.alphabet=bytes", name="bytes")
        for prompt in ("", "t", "é: "):
            there = json.loads(self.ok("sample", of_bytes, "--prompt", prompt, "--temperature", 0, "--length", 60, "--json").stdout)["text"]
            self.assertEqual(ffn_train.generate(of_bytes, prompt, 60), prompt + there)
            self.assertGreater(len(set(there)), 5)
        self.assertIn("bytes of the text", self.ok("inspect", of_bytes).stdout)
        self.assertEqual(ffn_train.generate(run, "the ", 20, temperature=0.8, seed=3), ffn_train.generate(model, "the ", 20, temperature=0.8, seed=3))
        with self.assertRaisesRegex(ValueError, "'Q' does not occur"):
            ffn_train.generate(model, "Q")
        with self.assertRaisesRegex(ValueError, "trained on 12"):
            model(torch.zeros(1, 13, dtype=torch.int64))

    def test_a_tied_head_is_the_embedding_and_residual_dropout_acts_in_train_mode_alone(self):
        run = self.text_run("model.tie=true", "model.residual_dropout=0.4")
        self.check(run)
        model = ffn_train.load(run)
        names = {name.removeprefix("model.") for name in ffn_train.read_safetensors(run / "model.safetensors")[0]}
        self.assertTrue({"embedding", "head.bias"} < names and "head.weight" not in names, names)
        self.assertIs(model.head.weight, model.embedding)
        self.assertEqual(sum(p.numel() for p in model.parameters()), record(run)["summary"]["parameters"])
        there = json.loads(self.ok("sample", run, "--prompt", "the ", "--temperature", 0, "--length", 40, "--json").stdout)["text"]
        self.assertEqual(ffn_train.generate(model, "the ", 40), "the " + there)
        x = torch.randint(0, len(model.alphabet), (2, 12))
        self.assertTrue(torch.equal(model(x), model(x)))
        model.train()
        self.assertFalse(torch.equal(model(x), model(x)))

    def test_each_seed_of_a_text_is_judged_by_its_own_window_and_all_variants_by_the_same(self):
        task = {"kind": "text", "file": "text.txt", "context": 12, "split": "per_seed"}
        train = {"steps": 20, "batch_size": 8, "optimizer": {"lr": 0.01}}
        runs = self.train("windows", {"task": task, "model": self.BITS["model"], "train": train}, "seeds=3", "model.ffn.activation=relu,gelu", "train.eval_examples=9")
        self.check_all(runs, 6)  # against the window that text_data draws from the seed alone
        starts = {seed: text_data({**task, "file": self.tmp / "text.txt", "validation_fraction": 0.1}, {"eval_examples": 1}, seed)[0] for seed in range(3)}
        self.assertFalse(torch.equal(starts[0], starts[1]) and torch.equal(starts[1], starts[2]))

    def test_a_module_like_any_other(self):
        run = self.text_run()
        torch.manual_seed(1)
        before = torch.get_rng_state()
        model = ffn_train.load(run)
        self.assertTrue(torch.equal(torch.get_rng_state(), before), "loading draws from the user's random numbers")
        self.assertFalse(model.training)
        x = torch.randint(0, len(model.alphabet), (2, 12))
        y = model(x)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the check of the length becomes a constant
            traced = torch.jit.trace(model, x)
        self.assertTrue(torch.allclose(traced(x), y, atol=1e-6))
        model.load_state_dict(model.state_dict())
        model(x).square().sum().backward()
        self.assertTrue(all(p.grad is not None for p in model.parameters()))

    # ---- what is refused

    def refused(self, run):
        with self.assertRaises(ffn_train.RunError) as caught:
            ffn_train.load(run)
        return str(caught.exception)

    def test_files_that_do_not_fit_are_refused_with_all_that_differs(self):
        (run,) = self.train("x", self.XOR)
        config, (tensors, metadata) = record(run)["config"], ffn_train.read_safetensors(run / "model.safetensors")
        changed = self.tmp / "changed"

        def write(config=config, metadata=metadata, **more):
            write_run(changed, config, {k: v for k, v in {**tensors, **more}.items() if v is not None}, metadata)
            return changed

        self.assertTrue(torch.equal(ffn_train.load(write()).head.weight, ffn_train.load(run).head.weight))
        text = self.refused(write(**{"head.bias": None, "head.weight": torch.zeros(2, 7), "more": torch.zeros(1), "block0.ffn.up.weight": torch.zeros(6, 9)}))
        self.assertEqual(text.splitlines(), [
            f"{changed}: the weights do not fit the model:",
            "  block0.ffn.up.weight: (6, 9), the model has (9, 6)",
            "  head.bias (2,): missing",
            "  head.weight: (2, 7), the model has (2, 6)",
            "  more (1,): the model has no such parameter"])

        other = json.loads(json.dumps(config))
        other["model"]["ffn"]["activation"] = "gelu_tanh"
        self.assertIn("'gelu_tanh' here", self.refused(write(other)))
        other["model"]["ffn"]["power"] = 2
        self.assertIn("not know model.ffn.power", self.refused(write(other, {})))
        del other["model"]["ffn"]["power"]
        other["model"]["ffn"]["activation"] = "gelu2"
        self.assertIn("activation 'gelu2'", self.refused(write(other, {})))
        del other["model"]["blocks"]
        self.assertIn("no key 'blocks'", self.refused(write(other, {})))

        data = (run / "model.safetensors").read_bytes()
        for cut in (0, 4, 200, len(data) - 1):
            (changed / "model.safetensors").write_bytes(data[:cut])
            self.assertIn(f"model.safetensors: damaged: {cut} bytes instead of", self.refused(changed))
        (changed / "model.safetensors").write_bytes(data + b"\0")
        self.assertIn(f"model.safetensors: damaged: {len(data) + 1} bytes instead of", self.refused(changed))
        (changed / "model.safetensors").unlink()
        self.assertIn("safetensors: No such", self.refused(changed))
        (changed / "run.json").write_text("[")
        self.assertIn("run.json: Expecting value", self.refused(changed))
        self.assertIn("run.json: No such file", self.refused(self.tmp / "nowhere"))

    def test_weights_that_the_summary_does_not_vouch_for_are_refused(self):
        (run,) = self.train("x", self.XOR)
        weights, data = run / "model.safetensors", (run / "model.safetensors").read_bytes()
        for at in (len(data) - 1, len(data) // 2):
            weights.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1:])
            text = self.refused(run)
            self.assertIn(f"{weights}: damaged: its checksum", text)
        weights.write_bytes(data[:-1])
        self.assertIn(f"{weights}: damaged: {len(data) - 1} bytes instead of {len(data)}", self.refused(run))
        weights.write_bytes(data)
        ffn_train.load(run)
        whole = record(run)
        (run / "run.json").write_text(json.dumps({**whole, "summary": {**whole["summary"], "files": {weights.name: 1}}}))
        self.assertIn("run.json", self.refused(run))
        (run / "run.json").write_text(json.dumps({**whole, "summary": {**whole["summary"], "files": {}}}))
        self.assertIn("kept no model.safetensors", self.refused(run))

    def test_without_the_library_of_checksums_a_warning_says_so(self):
        (run,) = self.train("x", self.XOR)
        with unittest.mock.patch.object(ffn_train, "xxhash", None), self.assertWarnsRegex(UserWarning, "python3-xxhash"):
            ffn_train.load(run)

    # ---- tables

    def test_a_run_that_diverged_has_no_final_value(self):
        subprocess.run([PROGRAM, "--config", self.write("xor.json", self.XOR), "-q", "name=gone", "train.optimizer.kind=sgd", "train.optimizer.lr=1e30",
                        "model.ffn.activation=relu2"], cwd=self.tmp, capture_output=True)
        (row,) = ffn_train.runs(self.tmp / "runs/gone").to_dict("records")
        self.assertEqual(row["state"], "diverged")
        self.assertTrue(math.isnan(row["val/loss"]))
        self.assertTrue(math.isfinite(row["best val/loss"]))

    def test_tables_say_what_the_files_say(self):
        runs = self.train("study", self.XOR, "model.ffn.activation=relu,gelu", "train.optimizer.lr=0.01,0.05", "seeds=11", "train.eval_every=20")
        table, curves = ffn_train.runs(self.tmp / "runs"), ffn_train.metrics(self.tmp / "runs")
        self.assertEqual(list(table["run"]), [str(run) for run in runs])
        self.assertEqual(list(table.columns[:6]), ["run", "seed", "state", "label", "model.ffn.activation", "train.optimizer.lr"])
        self.assertEqual(list(table["seed"])[:11], list(range(11)))
        for row in table.to_dict("records"):
            summary = record(pathlib.Path(row["run"]))["summary"]
            config = record(pathlib.Path(row["run"]))["config"]
            self.assertEqual((row["seed"], row["model.ffn.activation"], row["train.optimizer.lr"], row["state"]),
                             (config["seed"], config["model"]["ffn"]["activation"], config["train"]["optimizer"]["lr"], "done"))
            self.assertEqual((row["steps"], row["parameters"], row["train_seconds"]), (60, summary["parameters"], summary["train_seconds"]))
            for metric, value in summary["metrics"].items():
                self.assertEqual([row[metric], row["best " + metric], row["best step " + metric]], [value["final"], value["best"], value["best_step"]])
        self.assertEqual(list(curves.columns), ["run", "seed", "state", "label", "model.ffn.activation", "train.optimizer.lr", "step", "metric", "value"])
        # Evaluations at 0, 20, 40 and 60; at 0 nothing is trained yet.
        self.assertEqual(len(curves), 44 * (2 + 3 * 4))
        last = curves[(curves["step"] == 60) & (curves["metric"] == "val/loss")]
        self.assertEqual(list(last["value"]), list(table["val/loss"]))
        self.assertEqual(ffn_train.runs_as_dicts(self.tmp / "runs"), json.loads(json.dumps(ffn_train.runs_as_dicts(self.tmp / "runs"))))

    def test_what_diverged_is_there_and_what_is_damaged_is_named(self):
        runs = self.train("study", self.XOR, "seeds=5")
        whole = record(runs[0])
        whole["summary"]["metrics"]["val/loss"]["final"] = "nan"
        (runs[0] / "run.json").write_text(json.dumps(whole))
        (runs[1] / "run.json").write_text("{")
        shutil.rmtree(runs[2])
        runs[3].rename(runs[3].with_name(runs[3].name + ".damaged-1"))
        (runs[4] / "run.json").write_text("{}")
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            (row,) = ffn_train.runs_as_dicts(self.tmp / "runs")
        self.assertTrue(math.isnan(row["val/loss"]))
        self.assertEqual(len(said), 3)
        self.assertRegex(str(said[0].message), "^2 runs are not there, but listed in .*study.json: .*seed-2[.]\\w+, .*seed-3[.]\\w+$")
        self.assertRegex(str(said[1].message), "^left out: .*seed-1[.]\\w+/run.json: Expecting property name")
        self.assertRegex(str(said[2].message), "^left out: .*seed-4[.]\\w+/run.json: no key")
        with self.assertRaisesRegex(ffn_train.RunError, "no directory"):
            ffn_train.runs(self.tmp / "nowhere")

    def test_one_damaged_file_costs_its_run_alone_and_is_named(self):
        runs = self.train("study", self.XOR, "seeds=2")
        metric = {"final": 1, "best": 1, "best_step": 1}
        whole = record(runs[0])
        summaries = ([], {"metrics": []}, {"metrics": {"val/loss": 1}}, {"metrics": {"val/loss": {}}}, {"hit": "x"}, {"hit": [1]},
                     {"metrics": {"val/loss": {**metric, "final": "x"}}}, {"metrics": {"val/loss": {**metric, "best": []}}})
        damages = {"run.json": (*({**whole, "summary": summary} for summary in summaries if summary), {}, [], {**whole, "state": []}, {**whole, "state": None}),
                   "metrics.jsonl": ([], 1, {"val/loss": 1}, {"step": 1, "val/loss": "x"}, {"step": 1, "val/loss": []})}
        for name, values in damages.items():
            text = (runs[0] / name).read_text()
            for value in (*map(json.dumps, values), "{", "[" * 100_000, "\x00"):
                (runs[0] / name).write_text(value)
                with warnings.catch_warnings(record=True) as said:
                    warnings.simplefilter("always")
                    rows = ffn_train.metrics(self.tmp / "runs").to_dict("records") if name == "metrics.jsonl" else ffn_train.runs_as_dicts(self.tmp / "runs")
                self.assertEqual({row["run"] for row in rows}, {str(runs[1])}, (name, value[:50]))
                self.assertRegex(str(said[0].message), f"^left out: .*{name}: ")
            (runs[0] / name).write_text(text)
        config = whole["config"]
        for key, value in (("model", 1), ("model", []), ("task", "xor"), ("model", {**config["model"], "d_model": "x"}), ("model", {**config["model"], "ffn": 3})):
            (runs[0] / "run.json").write_text(json.dumps({**whole, "config": {**config, key: value}}))
            self.assertIn(str(runs[0]), self.refused(runs[0]), (key, value))

    def said_by(self, call, *arguments, **options):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            result = call(*arguments, **options)
        self.assertEqual({pathlib.Path(warning.filename).name for warning in said} - {"test_python.py"}, set())  # where it was called
        return result, [str(warning.message) for warning in said]

    def test_runs_that_are_no_part_of_the_study_are_left_out_with_a_warning(self):
        self.train("study", self.XOR)
        runs, _ = self.said_by(self.train, "study", self.XOR, "model.ffn.activation=relu,gelu", "seeds=3")
        self.assertEqual(len(runs), 6)
        table, said = self.said_by(ffn_train.runs, self.tmp / "runs/study")
        self.assertEqual(list(table["run"]), [str(run) for run in runs])
        single = run_at(self.tmp / "runs/study/seed-0")
        self.assertEqual(said, [f"1 of 7 runs left out, no part of the study (study.json): {single}; all=True takes them in"])
        curves, said = self.said_by(ffn_train.metrics, self.tmp / "runs")
        self.assertEqual((set(curves["run"]), len(said)), (set(table["run"]), 1))
        everything, said = self.said_by(ffn_train.runs_as_dicts, self.tmp / "runs/study", all=True)
        self.assertEqual(({row["run"] for row in everything}, said), ({str(run) for run in [single, *runs]}, []))
        self.assertEqual(len(self.said_by(ffn_train.metrics, self.tmp / "runs", all=True)[0]["run"].unique()), 7)
        # The same runs as the program compares.
        compared = json.loads(self.ok("compare", "runs/study", "--json").stdout)
        self.assertEqual(sum(group["runs"] for facet in compared["facets"] for group in facet["groups"]), 6)
        # Named itself, a run is taken; and without a study's file nothing is known not to belong.
        self.assertEqual([row["run"] for row in ffn_train.runs_as_dicts(single)], [str(single)])
        (self.tmp / "runs/study/study.json").write_text("{")
        rows, said = self.said_by(ffn_train.runs_as_dicts, self.tmp / "runs")
        self.assertEqual((len(rows), len(said)), (7, 1))
        self.assertIn("Expecting property name", said[0])

    def test_a_run_in_the_directory_of_another_is_none(self):
        runs = self.train("study", self.XOR, "seeds=2")
        shutil.rmtree(runs[0])
        shutil.copytree(runs[1], runs[0])
        rows, said = self.said_by(ffn_train.runs_as_dicts, self.tmp / "runs")
        self.assertEqual([row["run"] for row in rows], [str(runs[1])])
        self.assertRegex(said[0], "^left out: .*run.json: of another run .identity")
        with self.assertRaisesRegex(ffn_train.RunError, "of another run"):
            ffn_train.load(runs[0])

    def test_tuning_runs_are_found_where_they_are_named_alone(self):
        runs = self.train("study", self.XOR, "model.ffn.activation=relu,gelu", "seeds=3", "tune.train.optimizer.lr=0.01,0.05", "tune.seeds=2")
        table, said = self.said_by(ffn_train.runs, self.tmp / "runs")
        self.assertEqual(list(table["run"]), [str(run) for run in runs])
        self.assertEqual(said, [])
        tuned = ffn_train.find_runs(self.tmp / "runs/study/tuning")
        self.assertGreaterEqual(len(tuned), 8)
        self.assertEqual(self.said_by(ffn_train.metrics, self.tmp / "runs/study/tuning")[1], [])  # they keep none

    def test_the_command(self):
        (run,) = self.train("x", self.XOR)

        def command(*arguments):
            return subprocess.run([sys.executable, "-B", str(ROOT / "scripts/ffn_train.py"), *map(str, arguments)], capture_output=True, text=True)

        shown = command(run)
        self.assertEqual(shown.returncode, 0, shown.stderr)
        self.assertIn("(up): Linear(in_features=6, out_features=9, bias=True)", shown.stdout)
        parameters = record(run)["summary"]["parameters"]
        self.assertEqual(shown.stdout.splitlines()[-1], f"{parameters:,} parameters")
        nowhere = command(self.tmp / "nowhere")
        self.assertEqual((nowhere.returncode, nowhere.stdout), (1, ""))
        self.assertIn("ffn_train.py: ", nowhere.stderr)
        self.assertNotIn("Traceback", nowhere.stderr)
        self.assertIn("usage: ffn_train.py RUN", command().stderr)

    def test_results_and_answers_do_without_torch(self):
        self.train("two", self.XOR, "model.ffn.activation=relu,gelu", "seeds=6")
        code = f"""if 1:
            import sys; sys.modules["torch"] = sys.modules["pandas"] = None
            import ffn_train
            print(len(ffn_train.runs_as_dicts("runs/two")))
            print(ffn_train.compare("runs/two", program={str(PROGRAM)!r})["answer"])
            try: ffn_train.compare("nowhere", program={str(PROGRAM)!r})
            except ffn_train.RunError as error: print(error)"""
        said = subprocess.run([sys.executable, "-B", "-c", code], cwd=self.tmp, env={**os.environ, "PYTHONPATH": str(ROOT / "scripts")}, capture_output=True, text=True)
        self.assertEqual(said.returncode, 0, said.stderr)
        count, answer, *refused = said.stdout.splitlines()
        self.assertEqual(count, "12")
        self.assertIn(" ".join(answer.split()), " ".join(self.ok("compare", "runs/two").stdout.split()))
        self.assertIn("no directory nowhere", refused[0])


if __name__ == "__main__":
    main()
