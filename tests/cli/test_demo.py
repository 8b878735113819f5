#!/usr/bin/env python3
"""`ffn-train demo`: every claim worked out again from the numbers that it shows."""
import json
import math
import os
import re
import time

from program import ROOT, ProgramTest, main

NAMES = ("linear", "position", "conv", "walk", "count", "activations")


def product(a, b):
    return [[sum(x * y for x, y in zip(row, column)) for column in zip(*b)] for row in a]


def plus(a, b):
    return [[x + y for x, y in zip(row, b[0])] for row in a]


def relu(a):
    return [[max(0.0, x) for x in row] for row in a]


def apart(a, b):
    return max(abs(x - y) for r, s in zip(a, b) for x, y in zip(r, s))


class Demo(ProgramTest):
    def numbers(self, name):
        return json.loads(self.ok("demo", name, "--json").stdout)

    def text(self, name, width=80, **changes):
        environment = {**{k: v for k, v in os.environ.items() if k not in ("LC_ALL", "LC_CTYPE")}, "LANG": "C.UTF-8", "COLUMNS": str(width), **changes}
        return self.ok("demo", name, env=environment).stdout

    def layer(self, n, x, phi=relu):
        return plus(product(phi(plus(product(x, n["W1"]), n["b1"])), n["W2"]), n["b2"])

    def test_a_minus_is_a_minus_sign_in_numbers_and_at_axes(self):
        for words in (*(("demo", name) for name in NAMES), ("list", "activations", "--plot")):
            text = self.ok(*words, env={**{k: v for k, v in os.environ.items() if not k.startswith("LC_")}, "LANG": "C.UTF-8"}).stdout
            self.assertNotRegex(text, r"(?<![\w^])-[0-9]", words)  # a power is 1e-16
        self.assertRegex(text, r"(?m)^ +−2 +0 +2")
        ascii_text = self.ok("demo", "activations", env={**{k: v for k, v in os.environ.items() if not k.startswith("LC_")}, "LANG": "C"}).stdout
        self.assertTrue(ascii_text.isascii())

    def test_each_takes_less_than_a_second_fits_and_says_what_comes_next(self):
        self.assertEqual([row["demo"] for row in json.loads(self.ok("demo", "--json").stdout)], list(NAMES))
        for name in NAMES:
            self.assertIn(f"\n{name} ", self.ok("demo").stdout)
            started = time.monotonic()
            text = self.text(name)
            self.assertLess(time.monotonic() - started, 1)
            for width in (60, 80, 200):
                for line in self.text(name, width).splitlines():
                    self.assertTrue(len(line) <= width or len(line.split()) == 1, f"{name}: {line}")
            self.assertNotIn("\033", text)
            self.assertTrue(self.text(name, LANG="C").isascii(), name)
            self.assertRegex(" ".join(text.split()), r" next: ffn-train \S.*$")
        self.assertEqual(self.files(), [])

    def test_what_comes_next_can_be_started(self):
        for name in NAMES:
            words = self.numbers(name)["next"].split()
            self.assertEqual(words[0], "ffn-train")
            trains = words[1] not in ("demo", "list", "params")
            self.ok(*words[1:], *(["--dry-run"] if trains else []))

    def test_slips(self):
        self.assertIn('did you mean "linear"', self.fails(2, "demo", "liner"))

    def test_two_linear_layers_are_one(self):
        n = self.numbers("linear")
        self.assertLess(apart(n["W"], product(n["W1"], n["W2"])), 1e-12)
        self.assertLess(apart(n["b"], plus(product(n["b1"], n["W2"]), n["b2"])), 1e-12)
        self.assertLess(apart(n["two_layers"], self.layer(n, n["x"], lambda a: a)), 1e-12)
        self.assertLess(apart(n["one_matrix"], plus(product(n["x"], n["W"]), n["b"])), 1e-12)
        self.assertLess(n["largest_difference"], 1e-14)
        self.assertLess(apart(n["with_relu"], self.layer(n, n["x"])), 1e-12)
        self.assertGreater(n["largest_difference_with_relu"], 0.1)
        self.assertLess(n["off_the_middle"], 1e-14)
        self.assertGreater(n["off_the_middle_with_relu"], 0.05)

    def test_positions_do_not_see_each_other(self):
        n = self.numbers("position")

        def gelu(a):
            return [[z * 0.5 * (1 + math.erf(z / math.sqrt(2))) for z in row] for row in a]
        self.assertLess(apart(n["batched"], self.layer(n, n["x"], gelu)), 1e-5)  # float32
        self.assertEqual(n["largest_difference"], 0)
        self.assertEqual([d > 0 for d in n["moved_by_token_3"]], [False, False, True] + 5 * [False])
        self.assertEqual(n["x"][1], n["x"][6])
        self.assertEqual(n["twins_apart"], 0)

    def test_kernel_1_is_the_layer_and_kernel_3_is_not(self):
        n = self.numbers("conv")
        self.assertLess(apart(n["ffn"], self.layer(n, n["x"])), 1e-12)
        one, three = n["convolutions"]
        self.assertLess(one["largest_difference"], 1e-14)
        self.assertEqual((one["kernel"], one["parameters"], one["token_4_reaches"]), (1, 2 * 8 * 32 + 32 + 8, [4]))
        self.assertGreater(three["largest_difference"], 0.1)
        self.assertEqual((three["kernel"], three["parameters"], three["token_4_reaches"]), (3, 3 * 2 * 8 * 32 + 32 + 8, [2, 3, 4, 5, 6]))

    def test_the_walk_expands_activates_and_compresses(self):
        n = self.numbers("walk")
        self.assertEqual(len(n["tokens"]), 4)
        for token in n["tokens"]:
            self.assertEqual([len(token[k]) for k in "xzay"], [8, 32, 32, 8])
            self.assertLess(apart([token["y"]], self.layer(n, [token["x"]])), 1e-12)
            self.assertEqual(token["a"], [max(0.0, z) for z in token["z"]])
            self.assertEqual(token["zeros"], sum(a == 0 for a in token["a"]))
            self.assertIn(f"a is 0 for {token['zeros']} of 32", self.text("walk"))
        self.assertEqual(n["alone_differs_by"], 0)
        self.assertEqual(n["parameters"], 552)

    def test_the_counts_are_those_of_params_and_of_the_papers(self):
        n = self.numbers("count")
        for model in n["models"]:
            d, f = model["d_model"], model["d_ff"]
            self.assertEqual(model["together"], model["layers"] * (model["attention"] + model["ffn"]))
            if model["published"]:
                published = float(model["published"][:-1]) * {"M": 1e6, "B": 1e9}[model["published"][-1]]
                self.assertTrue(0.6 < model["together"] / published <= 1.005, model)  # the rest are embeddings
        by = {model["model"]: model for model in n["models"]}
        self.assertEqual(by["GPT-3"]["ffn"], 2 * 12288 * 49152 + 49152 + 12288)
        self.assertEqual(by["LLaMA 7B"]["ffn"], 3 * 4096 * 11008)
        self.assertEqual(by["Mixtral 8x7B"]["ffn"], 8 * 3 * 4096 * 14336 + 8 * 4096)
        self.assertEqual(by["Mixtral 8x7B"]["attention"], 2 * 4096 * 4096 + 2 * 4096 * 1024)
        params = json.loads(self.ok("params", "--d-model", 768, "--sequence", 1024, "--json").stdout)
        row = next(row for row in n["flops_per_token"] if row["tokens"] == 1024)
        self.assertEqual((row["attention"], row["ffn"]), (params["attention"]["flops_per_token"], params["ffn"]["flops_per_token"]))
        equal = next(row for row in n["flops_per_token"] if row["tokens"] == 1536)
        self.assertEqual(equal["attention"], equal["ffn"])
        self.assertEqual((n["ffn_512_2048"], n["ffn_1024_2048"]), (2099712, 4197376))

    def test_activations_and_their_derivatives(self):
        n = self.numbers("activations")
        rows = {row["activation"]: row for row in n["activations"]}
        self.assertEqual(len(rows), sum("parameter" not in row for row in json.loads(self.ok("list", "activations", "--json").stdout)))

        def sigmoid(z):
            return 1 / (1 + math.exp(-z))
        known = {"relu": lambda z: max(0.0, z), "gelu": lambda z: z * 0.5 * (1 + math.erf(z / math.sqrt(2))), "silu": lambda z: z * sigmoid(z), "sigmoid": sigmoid, "tanh": math.tanh}
        for name, phi in known.items():
            for z, value, slope in zip(rows[name]["z"], rows[name]["value"], rows[name]["derivative"]):
                self.assertAlmostEqual(value, phi(z), 12)
                if name != "relu" or z != 0:
                    self.assertAlmostEqual(slope, (phi(z + 1e-6) - phi(z - 1e-6)) / 2e-6, 6)
        # Minima: GELU -0.16997 at -0.7518, SiLU -0.27846 at -1.2785.
        for name, z, value in (("gelu", -0.7518, -0.16997), ("silu", -1.2785, -0.27846)):
            self.assertAlmostEqual(n["lowest"][name][0], z, 2)
            self.assertAlmostEqual(n["lowest"][name][1], value, 4)
        self.assertEqual(n["steepest_sigmoid"], 0.25)

    def test_all_activations_are_drawn(self):
        names = [row["activation"] for row in json.loads(self.ok("list", "activations", "--json").stdout) if "parameter" not in row]
        for width in (60, 80, 200):
            environment = {**{k: v for k, v in os.environ.items() if k not in ("LC_ALL", "LC_CTYPE")}, "LANG": "C.UTF-8", "COLUMNS": str(width)}
            text = self.ok("list", "activations", "--plot", env=environment).stdout
            titles = " ".join(line for line in text.splitlines() if not re.search("[│┤└\u2801-\u28ff]", line))
            for name in names:
                self.assertIn(f"{name}  ", titles)
            self.assertEqual(text.count("└"), len(names))
            self.assertLessEqual(max(map(len, text.splitlines())), width)
        self.assertTrue(self.ok("list", "activations", "--plot", env={**os.environ, "LC_ALL": "C"}).stdout.isascii())
        self.assertIn("no pictures", self.fails(2, "list", "tasks", "--plot"))

    def test_every_demo_is_in_the_lessons(self):
        lessons = (ROOT / "experiments/LESSONS.md").read_text()
        for name in NAMES:
            self.assertIn(f"`ffn-train demo {name}`", lessons)


if __name__ == "__main__":
    main()
