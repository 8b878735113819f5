#!/usr/bin/env python3
"""`ffn_train.figures`: what its axes hold is what `compare --json` and `curves --json` say, and it is saved in the formats of papers."""
import importlib.util
import json
import math
import sys
import unittest
from unittest import mock

from program import PROGRAM, ROOT, ProgramTest, main

sys.path.insert(0, str(ROOT / "scripts"))
sys.dont_write_bytecode = True
import ffn_train  # noqa: E402


@unittest.skipUnless(importlib.util.find_spec("matplotlib"), "no matplotlib is installed (Debian: apt-get install python3-matplotlib)")
class Figures(ProgramTest):
    def figures(self, study, **more):
        return ffn_train.figures(self.tmp / "runs" / study, program=str(PROGRAM), **more)

    def said(self, *words):
        return json.loads(self.ok(*words, "--json").stdout)

    def test_the_numbers_of_a_sweep_over_two_keys(self):
        self.ok("xor", "name=study", "seeds=6", "train.steps=100", "model.ffn.activation=relu,gelu", "model.ffn.expansion=1,8", "-q")
        drawn, answer = self.figures("study", out=self.tmp / "paper", formats=("pdf", "svg")), self.said("compare", "runs/study")
        self.assertEqual(sorted(drawn), ["cost-flops", "cost-parameters", "curves-val-loss", "effects", "heat-map", "levels-expansion", "reached", "runs"])
        self.assertEqual(sorted(p.name for p in (self.tmp / "paper").iterdir()), sorted(f"{name}.{form}" for name in drawn for form in ("pdf", "svg")))
        self.assertTrue((self.tmp / "paper/effects.pdf").read_bytes().startswith(b"%PDF"))
        pairs = [pair for facet in answer["facets"] for pair in facet["pairs"]]
        lines = drawn["effects"].axes[0].get_lines()
        self.assertEqual([line.get_xdata()[0] for line in lines if line.get_marker() == "s"], [pair["effect"]["value"] for pair in pairs])
        self.assertEqual([list(line.get_xdata()) for line in lines if line.get_marker() == "None" and line.get_color() == "C1"],
                         [[pair["effect"]["interval"]["low"], pair["effect"]["interval"]["high"]] for pair in pairs])
        self.assertEqual([label.get_text() for label in drawn["effects"].axes[0].get_yticklabels()], ["expansion 1, gelu", "expansion 8, gelu"])
        for facet, ax in zip(answer["facets"], drawn["reached"].axes):
            self.assertEqual((ax.get_title(), len(ax.get_lines())), (facet["title"], 2))
            for group, line in zip(facet["groups"], ax.get_lines()):
                self.assertEqual(list(line.get_ydata())[1:-1], [step["share"] for step in group["reached"]["steps"]])
        for group, line in zip(self.said("curves", "runs/study", "--metric", "val/loss")["facets"][1]["groups"], drawn["curves-val-loss"].axes[1].get_lines()):
            self.assertEqual(list(line.get_ydata()), [point["centre"] for point in group["points"]])
        points = [line for line in drawn["runs"].axes[0].get_lines() if line.get_marker() == "o"][0]
        self.assertEqual(sorted(points.get_ydata()), sorted(answer["facets"][0]["groups"][0]["values"]))

    def test_a_ladder_shows_the_law_and_the_differences_at_each_size(self):
        self.ok("ladder-spiral", "name=study", "seeds=8", "train.steps=50", "tune={}", "expect=[]", 'ladder={"values":[2,4,8],"hold_out":[16]}', "-q")
        drawn, answer = self.figures("study"), self.said("compare", "runs/study")
        self.assertIn("curves-val-loss", drawn)
        figure = drawn["ladder"]
        left, right = figure.axes
        held_out = [line for line in left.get_lines() if line.get_marker() in "os" and line.get_fillstyle() == "none"]
        self.assertEqual([line.get_xdata()[0] for line in held_out], 2 * [answer["ladder"]["sizes"][3]["flops"]])
        law = answer["ladder"]["law"]
        for line, scale in zip((line for line in left.get_lines() if len(line.get_xdata()) == 4), law["log_scale"], strict=True):
            for flops, loss in zip(line.get_xdata(), line.get_ydata()):
                self.assertAlmostEqual(loss, law["floor"] + math.exp(scale) * flops ** -law["exponent"], places=12)
        differences = [100 * math.expm1(facet["pairs"][0]["effect"]["value"]) for facet in answer["facets"]]
        self.assertIn(differences, [list(line.get_ydata()) for line in right.get_lines()])
        bars = [segment[:, 1].tolist() for container in right.containers if container.has_yerr for segment in container[2][0].get_segments()]
        for facet, (low, high) in zip(answer["facets"], bars, strict=True):
            interval = facet["pairs"][0]["effect"]["interval"]
            self.assertAlmostEqual(low, 100 * math.expm1(interval["low"]), places=9)
            self.assertAlmostEqual(high, 100 * math.expm1(interval["high"]), places=9)

    def test_pgf_without_tex_is_an_error_before_anything_is_drawn(self):
        with mock.patch("shutil.which", return_value=None), self.assertRaisesRegex(ffn_train.RunError, "is not installed"):
            self.figures("study", out=self.tmp / "paper", formats=("pdf", "pgf"))
        self.assertFalse((self.tmp / "paper").exists())

    def test_what_there_is_none_of_is_left_out(self):
        self.run_program("xor", "name=study", "seeds=3", "train.steps=60", "train.optimizer.kind=sgd", "train.optimizer.lr=300", "model.ffn.activation=relu,gelu", "keep=summary", "-q")
        with self.assertWarnsRegex(UserWarning, "no learning curves of val/loss"):
            drawn = self.figures("study")
        self.assertNotIn("effects", drawn)
        self.assertIn("\n(3 lost)", drawn["runs"].axes[0].get_xticklabels()[0].get_text())
        with self.assertRaisesRegex(ffn_train.RunError, "no directory"):
            self.figures("nowhere")


if __name__ == "__main__":
    main()
