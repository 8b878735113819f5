#!/usr/bin/env python3
"""Layers in a line of JSON, from the config to the verdict."""
import json
import sys

import torch

from program import ROOT, ProgramTest, main, record

sys.path.insert(0, str(ROOT / "scripts"))
sys.dont_write_bytecode = True
import ffn_train  # noqa: E402

XOR = {"name": "xor", "task": {"kind": "xor"}, "train": {"steps": 60, "eval_every": 5, "target": {"metric": "val/accuracy", "at_least": 0.99}, "optimizer": {"lr": 0.02}}}
MINE = {"kind": "formula", "name": "mine", "formula": "(relu(x @ a) * b) @ c", "parameters": {"a": ["D", "F"], "b": ["F"], "c": ["F", "D"]}, "init": {"b": 1}}


PATTERNS = torch.tensor([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]])


def by_hand(t):
    """Outputs for PATTERNS of a plain or gated layer with an activation of one trained parameter."""
    def mapped(x, name):
        return x @ t[name + ".weight"].T + t.get(name + ".bias", torch.zeros(1))
    x = mapped(PATTERNS, "projection")
    z = mapped(x, "gate" if "gate.weight" in t else "up")
    hidden = z * torch.sigmoid(t["beta"] * z) if "beta" in t else torch.where(z > 0, z, t["a"] * z)
    return mapped(mapped(hidden * mapped(x, "up") if "gate.weight" in t else hidden, "down"), "head")


def config(ffn, **more):
    return {**XOR, "model": {"d_model": 8, "ffn": ffn}, **more}


class Formulas(ProgramTest):
    def test_a_layer_of_ones_own_is_trained_resumed_compared_and_agrees_on_both_engines(self):
        path = self.write("mine.json", config(MINE, sweep={"grid": {"model.ffn": [MINE, {"kind": "gated", "activation": "silu"}]}}, seeds=8))
        self.ok("--config", path, "-q")
        first = self.ok("compare", "runs/xor", "--json").stdout
        comparison = json.loads(first)
        self.assertEqual([group["value"] for group in comparison["facets"][0]["groups"]], ["ffn=mine", "ffn=gated-silu"])
        self.ok("--config", path, "-q")
        self.assertEqual(self.ok("compare", "runs/xor", "--json").stdout, first)
        self.assertIn("the engines agree", self.ok("verify", path).stdout)

    def test_named_formulas_are_compared_by_their_names(self):
        path = self.write("named.json", config({"kind": "formula", "name": "swiglu"}, seeds=6))
        self.ok("--config", path, "model.ffn.name=swiglu,two_hidden", "-q")
        comparison = json.loads(self.ok("compare", "runs/xor", "--json").stdout)
        self.assertEqual(comparison["by"], "model.ffn.name")
        self.assertEqual([group["value"] for group in comparison["facets"][0]["groups"]], ["swiglu", "two_hidden"])
        self.assertEqual([note for note in comparison["notes"] if "parameters" in note or "formula" in note], ["sizes differ: swiglu has 810 parameters, two_hidden has 1578"])

    def test_an_activation_of_ones_own_is_compared_with_a_named_one_in_every_kind_of_layer(self):
        path = self.write("phi.json", config({"kind": "positionwise"}, seeds=6))
        self.ok("--config", path, "model.ffn.activation=gelu,z * sin(z)", "-q")
        comparison = json.loads(self.ok("compare", "runs/xor", "--json").stdout)
        self.assertEqual([group["value"] for group in comparison["facets"][0]["groups"]], ["gelu", "z * sin(z)"])
        for kind in ("positionwise", "gated", "moe"):
            self.ok("verify", path, f"model.ffn.kind={kind}", "model.ffn.activation=where(z > 0, z, tanh(z)) + 0.1 * sin(z)")

    def test_an_activation_with_trained_parameters_makes_any_layer_the_formula_that_it_is(self):
        path = self.write("phi.json", config({"kind": "positionwise"}))
        swish = ["model.ffn.activation=z * sigmoid(beta * z)", "model.ffn.activation_parameters.beta=1"]
        prelu = ["model.ffn.activation=prelu", 'model.ffn.activation_parameters={"a": {"start": 0.1, "size": "F"}}']
        layers = (["kind=positionwise"], ["kind=positionwise", "bias=false"], ["kind=gated"], ["kind=moe", "gated=true"])
        for layer in layers:
            for activation in (swish, prelu):
                keys = [path, *("model.ffn." + key for key in layer), *activation, f"name={'-'.join(layer)}-{'swish' if activation is swish else 'prelu'}"]
                self.ok(*keys, "-q")
                self.assertIn("the engines agree", self.ok("verify", *keys).stdout)
                run = next((self.tmp / "runs" / keys[-1][5:]).glob("seed-*"))
                tensors = {name.split("ffn.")[-1]: tensor for name, tensor in ffn_train.read_safetensors(run / "model.safetensors")[0].items()}
                trained = next(tensor for name, tensor in tensors.items() if name.split(".")[-1] in ("beta", "a"))
                start = 1 if activation is swish else 0.1
                self.assertTrue((trained != start).any() and trained.shape[-1] == (1 if activation is swish else 32), keys)
                if "kind=moe" not in layer:
                    with torch.no_grad():
                        self.assertLess((ffn_train.load(run)(PATTERNS) - by_hand(tensors)).abs().max(), 1e-5)

    def test_an_activation_with_trained_parameters_is_written_out_at_every_call_of_phi(self):
        layer = {"kind": "formula", "formula": "phi(phi(x @ p) * (x @ q) + g) @ r", "let": {"g": "phi(x @ q)"}, "activation": "snake",
                 "parameters": {"p": ["D", "F"], "q": ["D", "F"], "r": ["F", "D"]}}
        path = self.write("snake.json", config(layer))
        self.ok(path, "-q")
        run = next((self.tmp / "runs/xor").glob("seed-*"))
        t = {name.split("ffn.")[-1]: tensor for name, tensor in ffn_train.read_safetensors(run / "model.safetensors")[0].items()}
        snake = lambda z: z + torch.sin(t["a"] * z) ** 2 / t["a"]  # noqa: E731
        x = PATTERNS @ t["projection.weight"].T + t["projection.bias"]
        y = snake(snake(x @ t["p"].T) * (x @ t["q"].T) + snake(x @ t["q"].T)) @ t["r"].T
        with torch.no_grad():
            self.assertLess((ffn_train.load(run)(PATTERNS) - (y @ t["head.weight"].T + t["head.bias"])).abs().max(), 1e-5)
        self.ok(run, "-o", "again", "-q")
        self.assertEqual((run / "model.safetensors").read_bytes(), next((self.tmp / "again/xor").glob("seed-*")).joinpath("model.safetensors").read_bytes())

    def test_parameters_of_activations_are_obeyed_or_refused(self):
        path = self.write("phi.json", config({"kind": "positionwise"}))
        clash = {"kind": "formula", "formula": "phi(x @ a) @ c", "parameters": {"a": ["D", "F"], "c": ["F", "D"]}, "activation": "prelu"}
        for keys, expected in (
                (["activation=z * sigmoid(beta * z)"], "column 13: nothing is called 'beta'; an activation is a formula in z. A trained parameter needs a "
                                                       'start: activation_parameters={"beta": 1}'),
                (["activation=gelu", "activation_parameters.beta=1"], "the activation \"gelu\" has no parameter 'beta'"),
                (["activation=prelu", "activation_parameters.alpha=1"], "has no parameter 'alpha'"),
                (["kind=conv1x1", "activation=prelu"], "a convolution takes no activation with trained parameters; kind positionwise is the same function"),
                (["activation=prelu", 'activation_parameters={"a": {"size": "F"}}'], 'expected a number, or {"start": number, "size": "F"} for one per unit'),
                (["activation=prelu", "activation_parameters.a=often"], "/model/ffn/init/a: expected a number"),
                (["=" + json.dumps(clash)], "the layer has a value called 'a', too; choose another name")):
            keys = ["model.ffn" + ("" if key[0] == "=" else ".") + key for key in keys]
            self.assertIn(expected, " ".join(self.fails(2, "validate", path, *keys).split()))

    def test_trained_and_fixed_activations_are_compared_by_their_names(self):
        path = self.write("phi.json", config({"kind": "positionwise"}, seeds=6))
        self.ok("--config", path, "model.ffn.activation=relu,prelu,z * sin(z)", "-q")
        comparison = json.loads(self.ok("compare", "runs/xor", "--json").stdout)
        self.assertEqual([group["value"] for group in comparison["facets"][0]["groups"]], ["relu", "prelu", "z * sin(z)"])
        self.assertIn("with a trained parameter", self.ok("list", "activations").stdout)
        self.assertIn("z * sin(z)", self.ok("list", "activations", "z * sin(z)", "--plot").stdout)

    def test_a_study_whose_activation_is_trained_varies_any_key_or_none(self):
        path = self.write("phi.json", config({"kind": "positionwise"}, seeds=2))
        swish = "activation=z * sigmoid(beta * z)"
        for i, (keys, count) in enumerate((
                (["activation=prelu"], 1), (["activation=prelu", "d_ff=4,8"], 2), (["activation=swish_beta", "match=none,params"], 2),
                (["activation=prelu", "kind=positionwise,gated"], 2), ([swish, "activation_parameters.beta=0.5,1"], 2))):
            self.ok(path, *("model.ffn." + key for key in keys), f"name=s{i}", "-q")
            trained = [record(run)["config"]["model"]["ffn"]["kind"] for run in (self.tmp / f"runs/s{i}").glob("*/seed-0*/run.json")]
            self.assertEqual(trained, ["formula"] * count)
        ffn = {"kind": "positionwise", "activation": "gelu", "activation_parameters": {"beta": 1, "betta": 1, "x": 1}}
        misspelled = self.write("betta.json", config(ffn, sweep={"grid": {"model.ffn.activation": ["relu", "swish_beta"]}}))
        error = self.fails(2, "validate", misspelled)
        self.assertIn('did you mean "beta"?', error)
        self.assertIn("a parameter 'x'", error)
        self.assertNotIn("'beta'", error)

    def test_a_layer_calls_every_function_and_a_transposed_matrix_alone_and_as_an_expert(self):
        tied = {"formula": "max(x @ W, 0.1 * (x @ W)) * s @ W.T + clip(b, -1, 1) + where(x > 0, sin(x), log1p(abs(x))) % 0.7 + pow(abs(x) + 1, k)",
                "parameters": {"W": ["D", "F"], "b": ["D"], "s": ["F"], "k": [1]}, "init": {"b": 0.1, "s": 1, "k": 1.5}}
        for ffn in ({"kind": "formula", **tied}, {"kind": "moe", "expert": tied}):
            self.assertIn("the engines agree", self.ok("verify", self.write("tied.json", config({**ffn, "d_ff": 16}))).stdout)

    def test_matrices_are_computed_from_parameters_and_gradients_stopped(self):
        # Weights of two values a column scale, straight through; a rounding may fall either way in float32, so sign() alone jumps.
        binary = {"formula": "gelu(x @ (up + stop(sign(up) * mean_all(abs(up)) - up))) @ (down / sqrt(0.1 + mean_all(down * down)))",
                  "parameters": {"up": ["D", "F"], "down": ["F", "D"]}}
        for ffn in ({"kind": "formula", **binary}, {"kind": "moe", "expert": binary}):
            self.assertIn("the engines agree", self.ok("verify", self.write("binary.json", config({**ffn, "d_ff": 16}))).stdout)
        self.ok(self.write("trained.json", config({"kind": "formula", **binary, "d_ff": 16}, name="binary")), "-q")
        self.ok("inspect", "runs/binary/seed-0")

    def test_a_mistake_is_shown_where_it_stands(self):
        wrong = {**MINE, "formula": "(relu(x @ c) * b) @ c"}
        error = self.fails(2, "validate", self.write("wrong.json", config(wrong)))
        self.assertIn("column 9: '@'", error)
        lines = error.splitlines()
        at = next(i for i, line in enumerate(lines) if "(relu(x @ c)" in line)
        self.assertEqual(lines[at].index("@"), lines[at + 1].index("^"))

    def test_unknown_keys_of_a_file_of_formulas_are_named_where_they_stand(self):
        formula = {"formula": "(h * h * h) @ d", "let": {"h": "x @ a"}, "parameters": {"a": ["D", "F"], "d": ["F", "D"]}, "source": "mine", "epsilon": 1e-6}
        path = self.write("cube.json", config({"kind": "formula", "formulas": "ours.json", "name": "cube"}))
        self.write("ours.json", json.dumps({"cube": formula, "other": formula}, indent=1))
        self.ok("validate", path)
        for key, near in (("d_ff", ""), ("dropout", ""), ("kind", ""), ("init_", "init"), ("parameter", "parameters")):
            self.write("ours.json", json.dumps({"cube": {**formula, key: 1}}, indent=1))
            error = self.fails(2, "validate", path)
            self.assertRegex(error, rf'ours.json:\d+  /cube/{key}: unknown key "{key}"' + (f'; did you mean "{near}"' if near else ""))

    def test_mixtures_are_told_apart_by_their_experts(self):
        mixture = {"kind": "moe", "num_experts": 4, "top_k": 2}
        layers = [mixture, *({**mixture, "expert": expert} for expert in ({"name": "swiglu"}, {"name": "reglu"}))]
        path = self.write("mixtures.json", config({"kind": "positionwise"}, sweep={"grid": {"model.ffn": layers}}, seeds=1))
        variants = [line["name"] for line in json.loads(self.ok("plan", path, "--json", "--no-probe").stdout)["variants"]]
        self.assertEqual(variants, ["ffn=moe-4-2", "ffn=moe-4-2-swiglu", "ffn=moe-4-2-reglu"])

    def test_params_shows_a_formula_step_by_step(self):
        out = self.ok("params", self.write("mine.json", config(MINE))).stdout
        for piece in (r"relu\(x @ a\) +\(N, 32\)", r"x @ a +\(N, 32\) +a \(8, 32\)", r"D = 8, F = 32"):
            self.assertRegex(out, piece)
        counts = json.loads(self.ok("params", self.write("mine.json", config(MINE)), "--json").stdout)
        self.assertEqual(counts["ffn"]["parameters"], 8 * 32 + 32 + 32 * 8)

    def test_the_list_of_layers_has_formulas_with_their_sources(self):
        rows = {row["ffn.name"]: row for row in json.loads(self.ok("list", "ffns", "--json").stdout) if "ffn.name" in row}
        self.assertGreaterEqual(len(rows), 25)
        self.assertIn("arXiv:2002.05202", rows["swiglu"]["source"])
        self.assertTrue(all(row["source"] for row in rows.values()))
        self.assertAlmostEqual(rows["three_hidden"]["F/D"], 1.5616, delta=0.01)
        self.assertIn("(silu(x @ gate) * (x @ up)) @ down", self.ok("list", "ffns").stdout)

    def test_a_file_of_formulas_is_not_needed_once_a_run_has_begun(self):
        self.write("ours.json", {"cube": {"formula": "(h * h * h) @ d", "let": {"h": "x @ a"}, "parameters": {"a": ["D", "F"], "d": ["F", "D"]}}})
        path = self.write("cube.json", config({"kind": "formula", "formulas": "ours.json", "name": "cube"}))
        self.ok("--config", path, "-q")
        (self.tmp / "ours.json").unlink()
        self.assertIn("cube", self.fails(2, "--config", path))
        again = self.ok("--config", "runs/xor/seed-0", "-o", "again", "-q")
        self.assertEqual(again.returncode, 0)
        one, two = (record(self.tmp / d / "xor/seed-0")["summary"] for d in ("runs", "again"))
        self.assertEqual(one["metrics"]["val/loss"], two["metrics"]["val/loss"])

    def test_a_file_of_formulas_that_is_not_there_is_called_that(self):
        path = self.write("sub/cube.json", config({"kind": "formula", "formulas": "ours.json", "name": "cube"}))
        error = " ".join(self.fails(2, "validate", path).split())
        self.assertIn(f"/model/ffn/formulas: no file of formulas at {self.tmp}/sub/ours.json; a relative path starts at the directory of the config", error)
        self.assertNotIn("no config at", error)
        (self.tmp / "sub/ours.json").mkdir()
        self.assertIn("a regular file", " ".join(self.fails(2, "validate", path).split()))

    def test_a_convolution_of_kernel_1_is_libtorchs_and_learns(self):
        path = self.write("conv.json", config({"kind": "conv1x1", "activation": "relu"}))
        out = self.ok("--config", path).stdout
        self.assertIn("conv1x1", self.ok("plan", path).stdout)
        self.assertRegex(out, r"target val/accuracy ≥ 0.990: reached")


if __name__ == "__main__":
    main()
