#!/usr/bin/env python3
"""First sentences: who leads, and what no run has."""
import csv
import io
import json

from program import ProgramTest, main, record

DIVERGES = ("train.optimizer.kind=sgd", "train.optimizer.lr=1e30")
WORDS = {"name": "words", "task": {"kind": "text", "file": "words.txt", "context": 8}, "model": {"d_model": 8, "ffn": {"kind": "positionwise"}},
         "train": {"steps": 20, "eval_every": 5, "batch_size": 4}}


class Leaders(ProgramTest):
    def test_a_variant_that_never_gets_there_leads_nothing(self):
        out = self.ok("xor", "name=tie", "train.optimizer.lr=1e-5,0.1", "train.steps=10", "train.eval_every=10", "seeds=8", "-q").stdout
        said = " ".join(out.split())
        groups = json.loads(self.ok("compare", "runs/tie", "--json").stdout)["facets"][0]["groups"]
        self.assertEqual([(g["mean"], g["hits"], g["place"]) for g in groups], [(10, 0, 1), (10, 8, 0)])
        self.assertTrue(said.startswith("lr 0.1 gets there first: median 10.0 steps (1e-05: never). Sure: lr 0.1 is better than 1e-05"), said)
        page = self.ok("report", "runs/tie", "-o", "/dev/stdout").stdout
        self.assertIn("lr 0.1 gets there first", page)

    def test_runs_that_all_diverged_are_not_called_the_same(self):
        study = ("xor", "name=gone", "model.ffn.activation=relu,gelu", "train.steps=60", "seeds=8", "train.target=null", *DIVERGES)
        for more in ((), ("compare.min_effect=0.1",)):
            self.fails(1, *study, *more, "-q")
            for form in ((), ("--details",), ("--markdown",)):
                said = " ".join(self.ok("compare", "runs/gone", *form).stdout.split())
                self.assertNotRegex(said, "The same|no meaningful difference|Sure")
                self.assertIn("No run has a value of val/loss.", said[:200])  # behind what is said of an earlier look

    def test_a_run_that_hits_and_then_diverges_got_there(self):
        self.ok("xor", "name=late", "seeds=8", "model.ffn.activation=relu2", "train.optimizer.kind=sgd", "train.optimizer.lr=0.3,0.6", "train.steps=600", "train.eval_every=1", "-q")
        comparison = json.loads(self.ok("compare", "runs/late", "--json").stdout)
        groups = {g["value"]: g for g in comparison["facets"][0]["groups"]}
        late = groups["0.6"]
        self.assertGreater(late["diverged"], 0)
        hits = sum(record(path)["summary"]["hit"] is not None for path in self.tmp.glob("runs/late/*0.6*/seed-*/run.json"))
        self.assertEqual(late["hits"], hits)
        self.assertGreater(hits, late["done"])
        self.assertIn("diverged later; their hits count (0.6: ", " ".join(comparison["notes"]))
        row = list(csv.DictReader(io.StringIO(self.ok("compare", "runs/late", "--csv").stdout)))[1]
        self.assertEqual((int(row["hits"]), int(row["diverged"])), (hits, late["diverged"]))


class BestValues(ProgramTest):
    RUN = ("xor", "train.optimizer.lr=1e30", "train.steps=20", "train.eval_every=1")

    def summary(self):
        [path] = self.tmp.glob("runs/**/run.json")
        return record(path)["summary"]["metrics"]

    def test_a_best_value_comes_from_an_evaluation_with_a_finite_loss(self):
        self.fails(1, *self.RUN)
        best = self.summary()["val/accuracy"]
        self.assertEqual((best["best"], best["best_step"]), (0.25, 0))
        [metrics] = self.tmp.glob("runs/**/metrics.jsonl")
        rows = [json.loads(line) for line in metrics.read_text().splitlines()]
        self.assertTrue(any(row["val/accuracy"] > 0.25 for row in rows), "no evaluation whose accuracy would have been taken")

    def test_a_diverged_text_run_is_not_offered_for_sampling_and_cannot_be_sampled(self):
        self.write("words.txt", "the cat sat on the mat. " * 40)
        path = self.write("words.json", WORDS)
        self.assertIn("next: ffn-train sample", self.ok("--config", path).stdout)
        result = self.run_program("--config", path, "name=lost", *DIVERGES)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertNotIn("sample", result.stdout + result.stderr)
        for form in ((), ("--temperature", 0), ("--json",)):
            result = self.run_program("sample", "runs/lost/seed-0", *form)
            self.assertEqual((result.returncode, result.stdout), (3, ""), result.stderr)
            self.assertIn("the logits of this model are not finite: its training diverged", result.stderr)


class Mixtures(ProgramTest):
    WARNING = "the task has 4 distinct inputs for 8 experts: moe/max_violation, moe/load_entropy and train/balance_loss measure the task"

    def test_a_mixture_of_more_experts_than_the_task_has_inputs_is_warned_of_once(self):
        mixture = ("xor", "model.ffn.kind=moe", "train.steps=2", "train.eval_every=2")
        for command in (("validate", *mixture), ("plan", "--no-probe", *mixture), ("plan", "--no-probe", *mixture, "seeds=2"), mixture,
                        (*mixture, "name=two", "seeds=2", "model.ffn.top_k=1,2")):
            said = self.ok(*command).stderr
            self.assertEqual(" ".join(said.split()).count(self.WARNING), 1, said)
        for fewer in ("task.bits=3", "task.jitter=0.1", "model.ffn.num_experts=4"):
            self.assertNotIn("distinct inputs", self.ok("validate", *mixture, fewer).stderr)


if __name__ == "__main__":
    main()
