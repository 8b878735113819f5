#!/usr/bin/env python3
"""A task of numbers through the whole program, and a loss and a start of weights other than the usual ones."""
import json
import math
import pathlib
import signal
import subprocess
import sys
import time

import torch

from program import ROOT, ProgramTest, main, record, run_at

sys.path.insert(0, str(ROOT / "scripts"))
import ffn_train  # noqa: E402

NUMBERS = {"name": "numbers", "task": {"kind": "function", "inputs": {"x": {"uniform": [-1, 1]}}, "target": "sin(2 * pi * x)", "noise": 0.1}, "model": {"d_model": 8, "ffn": {"activation": "tanh"}},
           "train": {"steps": 400, "eval_every": 40, "checkpoint_every": 40, "optimizer": {"lr": 0.01}}}


class Regression(ProgramTest):
    def setUp(self):
        super().setUp()
        self.config = self.write("numbers.json", NUMBERS)

    def weights(self, out):
        return [path.read_bytes() for path in sorted((self.tmp / out).rglob("model.safetensors"))]

    def study(self, *more):
        return self.ok(self.config, "model.ffn.activation=relu,tanh", "seeds=6", "-q", *more)

    def test_both_engines_agree_and_measure_the_same_error(self):
        self.assertIn("the engines agree", self.ok("verify", self.config, "model.ffn.activation=relu,tanh").stdout)
        for engine in ("cpu", "torch"):
            self.ok(self.config, "--engine", engine, f"name={engine}", "-q")
        cpu, libtorch = (record(self.tmp / f"runs/{name}/seed-0") for name in ("cpu", "torch"))
        for name in ("val/loss", "val/rmse", "val/r2"):
            a, b = (run["summary"]["metrics"][name]["final"] for run in (cpu, libtorch))
            self.assertTrue(abs(a - b) < 1e-3, f"{name}: {a}, {b}")
        loss, rmse = (cpu["summary"]["metrics"][name]["final"] for name in ("val/loss", "val/rmse"))
        self.assertTrue(abs(math.sqrt(loss) - rmse) < 1e-12)
        self.assertNotIn("val/accuracy", cpu["summary"]["metrics"])

    def test_a_killed_study_resumes_to_the_same_bits_on_both_engines(self):
        for engine, steps in (("cpu", 20000), ("torch", 1000)):
            command = (self.config, "--engine", engine, f"train.steps={steps}", "-q", "-o")
            self.ok(*command, f"whole-{engine}")
            process = subprocess.Popen(self.command(*command, f"killed-{engine}"), cwd=self.tmp, stderr=subprocess.DEVNULL)
            while process.poll() is None and not list((self.tmp / f"killed-{engine}").rglob("checkpoint.safetensors")):
                time.sleep(0.005)
            process.send_signal(signal.SIGKILL)
            self.assertEqual(process.wait(), -signal.SIGKILL, "it ended before it could be killed")
            self.ok(*command, f"killed-{engine}")
            self.assertEqual(self.weights(f"killed-{engine}"), self.weights(f"whole-{engine}"))
            self.assertEqual(len(self.weights(f"whole-{engine}")), 1)

    def test_a_study_is_compared_by_its_error_and_reported_without_words_of_classes(self):
        self.study("compare.metric=val/rmse")
        answer = json.loads(self.ok("compare", "runs/numbers", "--json").stdout)
        self.assertEqual(answer["metric"], "val/rmse")
        self.assertIn("val/r2", self.ok("compare", "runs/numbers", "--metric", "val/r2").stdout)
        self.assertIn("no run has logged", self.fails(2, "compare", "runs/numbers", "--metric", "val/accuracy"))
        self.ok("report", "runs/numbers", "-q")
        page = (self.tmp / "runs/numbers/report.html").read_text()
        self.assertIn("val/rmse", page)
        self.assertNotIn("accuracy", page)
        self.ok("export", "runs/numbers", "--csv", "-o", "tables")
        self.assertIn("val/rmse", (self.tmp / "tables/runs.csv").read_text().splitlines()[0])

    def test_label_smoothing_trains_towards_the_smoothed_label_and_is_measured_without(self):
        self.assertIn("the engines agree", self.ok("verify", "sequence-xor", "train.label_smoothing=0.1").stdout)
        self.ok("xor", "train.label_smoothing=0.1", "train.steps=2000", "-q")
        metrics = record(self.tmp / "runs/xor/seed-0")["summary"]["metrics"]
        least = -(0.95 * math.log(0.95) + 0.05 * math.log(0.05))  # the entropy of (0.95, 0.05)
        self.assertTrue(abs(metrics["train/loss"]["final"] - least) < 1e-4, metrics["train/loss"])
        self.assertTrue(abs(metrics["val/loss"]["final"] + math.log(0.95)) < 1e-3, metrics["val/loss"])
        self.assertIn("for cross-entropy", self.fails(2, "xor", "train.loss=hinge", "train.label_smoothing=0.1"))

    def test_huber_is_trained_on_and_measured_and_rmse_and_r2_stay_those_of_squared_errors(self):
        self.assertIn("the engines agree", self.ok("verify", self.config, "train.loss=huber").stdout)
        # Targets from -4 to 4, of which little is learned: errors on either side of 1.
        more = ("task.target=4 * sin(2 * pi * x)", "train.loss=huber", "train.steps=40")
        for engine in ("cpu", "torch"):
            self.ok(self.config, *more, f"name={engine}", "--engine", engine, "-q")
            run = run_at(self.tmp / f"runs/{engine}/seed-0")
            metrics = {name: value["final"] for name, value in record(run)["summary"]["metrics"].items()}
            x = torch.linspace(-1, 1, 512, dtype=torch.float64).unsqueeze(1)
            y, output = 4 * torch.sin(2 * math.pi * x), ffn_train.load(run).double()(x).detach()
            self.assertTrue(0.1 < float((output - y).abs().gt(1).double().mean()) < 0.9)
            squared = float(torch.nn.functional.mse_loss(output, y))
            for name, value in (("val/loss", float(torch.nn.functional.huber_loss(output, y))), ("val/rmse", math.sqrt(squared)),
                                ("val/r2", 1 - squared / float(y.var(unbiased=False)))):
                self.assertTrue(abs(metrics[name] - value) < 1e-5, f"{engine} {name}: {value} here, {metrics[name]} there")

    def test_inspect_speaks_of_outputs_not_of_classes(self):
        self.ok(self.config, "-q")
        run = run_at(self.tmp / "runs/numbers/seed-0")
        text = " ".join(self.ok("inspect", run).stdout.split())
        self.assertIn("the value vector adds", text)
        self.assertNotIn("logits", text)
        self.assertIn("output 0: ", self.ok("inspect", run, "--trace", "0.25").stdout)
        self.ok("inspect", run, "--trace", "0.25", "-o", "trace.html")
        self.assertNotIn("classes behind", (self.tmp / "trace.html").read_text())

    def test_what_belongs_to_classes_is_refused_with_what_there_is_instead(self):
        error = self.fails(2, self.config, "train.target.at_most=0.1")
        self.assertIn("val/rmse, val/r2", error)
        self.assertIn("a loss of classes", self.fails(2, self.config, "train.loss=hinge"))
        self.ok(self.config, "-q")
        self.assertIn("only text runs", self.fails(2, "sample", "runs/numbers/seed-0"))


class LossesAndStarts(ProgramTest):
    def test_hinge_and_zero_out_train_and_agree_on_both_engines(self):
        more = ("train.loss=hinge", "model.init=zero_out")
        for config in ("xor", "sequence-xor"):
            self.assertIn("the engines agree", self.ok("verify", config, *more).stdout)
        self.assertIn("reached at step", self.ok("xor", *more).stdout)

    def test_a_tied_head_and_residual_dropout_agree_on_both_engines_and_are_refused_where_they_do_nothing(self):
        for more in (("model.tie=true",), ("model.residual_dropout=0.3", "model.residual=true")):
            self.assertIn("the engines agree", self.ok("verify", "sequence-xor", *more).stdout)
        apart, tied = (json.loads(self.ok("params", "--config", "text", tie, "--json").stdout)["total"]["parameters"] for tie in ("model.tie=false", "model.tie=true"))
        characters = set(pathlib.Path("/usr/share/common-licenses/GPL-3").read_text(encoding="utf-8"))
        self.assertEqual(apart - tied, len(characters) * 64)
        for config, why in (("xor", "inputs are vectors, which have no embedding"), ("facts", "it has 512 tokens and 32 classes")):
            error = self.fails(2, "validate", config, "model.tie=true")
            self.assertIn("model.tie", error)
            self.assertIn(why, " ".join(error.split()))
        self.assertIn("residual=true", " ".join(self.fails(2, "validate", "xor", "model.residual_dropout=0.1").split()))

    def test_named_tasks_are_listed_trained_side_by_side_and_read_in_again(self):
        shown = self.ok("list", "tasks", "moons").stdout
        self.assertIn("about 87 %", shown)
        self.assertEqual(len(shown.split("the network sees")[1].splitlines()), 4)
        path = self.write("moons.json", {"name": "moons", "task": {"kind": "function", "name": "moons"}, "train": {"steps": 20, "eval_every": 20}})
        self.ok(path, "task.name=moons,circle", "model.ffn.activation=relu,gelu", "seeds=6", "name=shapes", "-q")
        comparison = self.ok("compare", "runs/shapes", "--metric", "val/accuracy", "--by", "model.ffn.activation").stdout
        self.assertNotIn("does not vary alone", comparison)
        self.assertIn("all 2 values of name" if "all 2" in comparison else "both values of name", comparison)
        self.ok(path, "-q")
        written_out = json.loads(self.ok("list", "tasks", "moons", "--json").stdout)["task"]
        same = self.write("same.json", {"name": "moons", "task": {"kind": "function", **written_out}, "train": {"steps": 20, "eval_every": 20}})
        self.assertIn("already trained", self.ok(same).stderr)
        self.assertIn('"moons" is what', self.fails(2, "validate", path, "task.label=1 - c"))


if __name__ == "__main__":
    main()
