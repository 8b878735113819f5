#!/usr/bin/env python3
"""A network of two numbers over their plane, or of one over its range: in the terminal, as JSON, in pictures."""
import json
import math
import re
import unittest

import browser
from program import ProgramTest, main, run_at
from test_inspect import tensors

CIRCLE = {"name": "circle", "task": {"kind": "function", "inputs": {"x": {"uniform": [-1, 1]}, "y": {"uniform": [-1, 1]}}, "label": "x*x + y*y < 0.5"},
          "model": {"d_model": 2, "ffn": {"activation": "relu", "d_ff": 8}}, "train": {"steps": 300, "eval_every": 100, "optimizer": {"lr": 0.02}}}
SINE = {"name": "sine", "task": {"kind": "function", "inputs": {"x": {"uniform": [-1, 1]}}, "target": "sin(2 * pi * x)", "noise": 0.1},
        "model": {"d_model": 4, "ffn": {"activation": "relu", "d_ff": 16}}, "train": {"steps": 300, "eval_every": 100, "optimizer": {"lr": 0.02}}}


def affine(tensors, name, x):
    (rows, columns), weight = tensors[name + ".weight"]
    return [sum(weight[r * columns + c] * x[c] for c in range(columns)) + tensors[name + ".bias"][1][r] for r in range(rows)]


def pre_activations(tensors, x):
    return affine(tensors, "block0.ffn.up", affine(tensors, "projection", x))


def outputs(tensors, x):
    return affine(tensors, "head", affine(tensors, "block0.ffn.down", [max(0, z) for z in pre_activations(tensors, x)]))


class Surfaces(ProgramTest):
    def trained(self, config, *overrides):
        self.ok(self.write("config.json", config), *overrides, "-q")
        run = run_at(self.tmp / f"runs/{config['name']}/seed-0")
        return run, tensors(run / "model.safetensors")

    def surface(self, run):
        return json.loads(self.ok("inspect", run, "--json").stdout).get("surface")

    def test_the_probabilities_over_the_plane_are_what_the_weights_say(self):
        run, weights = self.trained(CIRCLE)
        surface = self.surface(run)
        self.assertEqual((surface["kind"], surface["inputs"], surface["shape"]), ("classes", ["x", "y"], [100, 100, 2]))
        for k in range(2):
            self.assertTrue(-1.3 < surface["low"][k] < -1 and 1 < surface["high"][k] < 1.3)
        place = [[surface["low"][k] + (surface["high"][k] - surface["low"][k]) * (i + 0.5) / 100 for i in range(100)] for k in range(2)]
        sure = 0
        for row in range(0, 100, 7):
            for column in range(0, 100, 7):
                logits = outputs(weights, [place[0][column], place[1][row]])
                probability = 1 / (1 + math.exp(logits[0] - logits[1]))
                found = surface["values"][(row * 100 + column) * 2:][:2]
                self.assertTrue(abs(found[1] - probability) < 1e-4 and abs(sum(found) - 1) < 1e-9, (row, column, found, probability))
                sure += probability > 0.9
        self.assertGreater(sure, 20)
        for example in surface["examples"]:
            x, y = example["at"]
            self.assertEqual(example["class"], int(x * x + y * y < 0.5))
        self.assertEqual([sum(e["for"] == what for e in surface["examples"]) for what in ("training", "validation")], [60, 60])

    def test_lines_lie_where_a_hidden_unit_is_zero(self):
        for config, ends in ((CIRCLE, 2), (SINE, 1)):
            run, weights = self.trained(config)
            zeros = self.surface(run)["zeros"]
            self.assertGreater(len(zeros), 1)
            for line in zeros:
                self.assertEqual(len(line), ends)
                at_ends = [pre_activations(weights, place[:ends]) for place in line]
                self.assertLess(min(max(abs(z[unit]) for z in at_ends) for unit in range(len(at_ends[0]))), 1e-4)

    def test_a_curve_is_what_the_weights_say_beside_the_tasks_values(self):
        run, weights = self.trained(SINE)
        surface = self.surface(run)
        self.assertEqual((surface["kind"], surface["inputs"], surface["shape"]), ("curve", ["x"], [400, 1]))
        for i in range(0, 400, 13):
            x = surface["low"][0] + (surface["high"][0] - surface["low"][0]) * (i + 0.5) / 400
            self.assertTrue(abs(surface["values"][i] - outputs(weights, [x])[0]) < 1e-4)
        noise = {}
        for example in surface["examples"]:
            x, y = example["at"]
            noise.setdefault(example["for"], []).append(abs(y - math.sin(2 * math.pi * x)))
        self.assertLess(max(noise["validation"]), 1e-5)
        self.assertTrue(0.02 < sum(noise["training"]) / 60 < 0.2)

    def test_the_terminal_shows_the_plane_in_blocks_and_the_validation_examples(self):
        run, _ = self.trained(CIRCLE)
        rows = [line for line in self.ok("inspect", run, env={"PATH": ""}).stdout.splitlines() if line.startswith("│")]
        self.assertEqual((len(rows), {len(row) for row in rows}), (24, {50}))
        self.assertTrue({"█", "0", "1", " "} <= set("".join(rows)))
        self.assertIn("█", rows[12][15:35])     # class 1 lies in the middle
        self.assertNotIn("█", rows[1] + rows[22])
        self.assertIn("\x1b[", self.ok("inspect", run, "--color", "always").stdout)

    def test_other_numbers_of_inputs_and_classes(self):
        three = {**CIRCLE, "name": "three", "task": {**CIRCLE["task"], "label": "(x > 0) + (y > 0)", "classes": 3}}
        text = " ".join(self.ok("inspect", self.trained(three)[0]).stdout.split())
        self.assertTrue("example: 0 class 0, 1 class 1, 2 class 2." in text and "0000" in text and "2222" in text)
        signs = {**CIRCLE, "name": "signs", "task": {"kind": "function", "inputs": {"x": {"normal": [0, 1], "size": 2}}, "target": "x[0] * x[1]"}}
        run, _ = self.trained(signs)
        self.assertEqual((self.surface(run)["kind"], self.surface(run)["inputs"]), ("numbers", ["x[0]", "x[1]"]))
        self.assertIn("+ above 0, - below 0", " ".join(self.ok("inspect", run).stdout.split()))
        self.assertEqual(self.surface(self.trained({**CIRCLE, "name": "xor", "task": {"kind": "xor"}})[0])["shape"], [100, 100, 2])
        moons = self.surface(self.trained({**CIRCLE, "name": "moons", "task": {"kind": "function", "name": "moons"}})[0])  # of features
        self.assertEqual(moons["shape"], [100, 100, 2])
        self.assertTrue(all(-3 < low < -1 and 1 < high < 4 for low, high in zip(moons["low"], moons["high"])), moons["low"] + moons["high"])
        for name, task in (("bits", {"kind": "xor", "bits": 3}), ("one-hot", {"kind": "function", "inputs": {"n": {"integer": 2}}, "label": "n"}),
                           ("many", {**CIRCLE["task"], "classes": 21}), ("wide", {**SINE["task"], "inputs": {"x": {"uniform": [-1, 1], "size": 3}}, "target": "sum(x)"})):
            self.assertIsNone(self.surface(self.trained({**CIRCLE, "name": name, "task": task})[0]), name)

    def test_a_table_has_its_names_and_is_the_one_that_was_trained_on(self):
        rows = [f"{x},{y},{('low', 'high')[x + y > 5]}" for x in range(10) for y in range(10)]
        table = self.write("t.csv", "\n".join(["width,height,size", *rows]))
        config = {**CIRCLE, "name": "table", "task": {"kind": "table", "file": "t.csv", "label": "size"}}
        run, _ = self.trained(config)
        surface = self.surface(run)
        self.assertEqual((surface["inputs"], surface["kinds"]), (["width (standardised)", "height (standardised)"], ["high", "low"]))
        corner = surface["values"][:2], surface["values"][-2:]
        self.assertTrue(corner[0][1] > 0.9 and corner[1][0] > 0.9, corner)
        self.assertIn("examples: 0 high, 1 low", " ".join(self.ok("inspect", run).stdout.split()))
        surface = self.report(config, "seeds=2")[0]["surfaces"][0]
        self.assertEqual((surface["inputs"], surface["kinds"]), (["width (standardised)", "height (standardised)"], ["high", "low"]))
        table.write_text("\n".join(["width,height,size", *rows[1:]]))
        self.assertEqual(self.drawn("table")["panels"], [])
        self.assertIn("is not the table", self.fails(3, "inspect", run))

    def drawn(self, study):
        self.ok("report", f"runs/{study}")
        page = (self.tmp / f"runs/{study}/report.html").read_text()
        return json.loads(re.search('id="data">(.*?)</script>', page)[1])["surfaces"]

    def report(self, config, *overrides):
        self.ok(self.write("config.json", config), *overrides, "-q")
        return self.drawn(config["name"])["panels"]

    def test_a_report_has_a_panel_per_variant_with_three_seeds(self):
        panels = self.report(CIRCLE, "model.ffn.activation=relu,tanh", "seeds=4")
        self.assertEqual([(panel["title"], panel["names"]) for panel in panels], [(name, ["seed 0", "seed 1", "seed 2"]) for name in ("relu", "tanh")])
        for panel in panels:
            for surface in panel["surfaces"]:
                self.assertEqual((surface["kind"], len(surface["marks"])), ("classes", 120))
        values = self.surface(run_at(self.tmp / "runs/circle/activation=relu/seed-0"))["values"]
        cells = panels[0]["surfaces"][0]["cells"]
        codes = [code for code, count in zip(cells["runs"][::2], cells["runs"][1::2]) for _ in range(count)]
        self.assertEqual(len(codes), cells["side"] ** 2)
        for at, code in enumerate(codes):  # a row after the other from below, the second input's
            column, row = ((2 * x + 1) * 100 // (2 * cells["side"]) for x in (at % cells["side"], at // cells["side"]))
            probability = values[2 * (100 * row + column) + 1]
            self.assertEqual(code // 9, probability > 0.5)
            self.assertAlmostEqual(code % 9 / 8, abs(2 * probability - 1), delta=0.0626)

    def test_a_report_has_curves_of_numbers_and_nothing_of_other_tasks(self):
        panels = self.report(SINE, "model.ffn.d_ff=8,16", "seeds=2")
        self.assertEqual([[surface["kind"] for surface in panel["surfaces"]] for panel in panels], [["curve"] * 2] * 2)
        values = self.surface(run_at(self.tmp / "runs/sine/d_ff=16/seed-1"))["values"]
        for drawn, value in zip(panels[1]["surfaces"][1]["values"], values, strict=True):
            self.assertAlmostEqual(drawn, value, delta=6e-4 * abs(value))
        self.assertEqual(self.report({**CIRCLE, "name": "bits", "task": {"kind": "xor", "bits": 3}}, "seeds=2"), [])
        # Without weights there is nothing to draw.
        self.assertEqual(self.report({**CIRCLE, "name": "brief", "keep": "summary"}, "seeds=2"), [])

    @unittest.skipUnless(browser.PROGRAM, "no Chromium is installed (Debian: apt-get install chromium)")
    def test_pictures_fit_at_every_width_light_and_dark(self):
        for config in (CIRCLE, SINE):
            self.report(config, "model.ffn.d_ff=8,16", "seeds=3")
        with browser.Browser() as chromium:
            for name in ("circle", "sine"):
                for width, dark in ((400, False), (400, True), (1600, False), (1600, True)):
                    _, said = chromium.open(self.tmp / f"runs/{name}/report.html", width=width, dark=dark)
                    self.assertEqual(said, [])
                    shapes = chromium.evaluate("[...document.querySelectorAll('#decision-regions .cells, #fitted-curve svg[role=img] path.l')].length")
                    self.assertEqual(shapes, 2 * 3)
                    self.assertEqual(chromium.evaluate("document.querySelectorAll('#decision-regions path.m, #fitted-curve svg[role=img] path.m').length") > 100, True)
                    self.assertLessEqual(chromium.evaluate("document.documentElement.scrollWidth"), width)


if __name__ == "__main__":
    main()
