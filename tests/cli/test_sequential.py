#!/usr/bin/env python3
"""Sequential designs: verdicts depend on the seeds, the interim analyses and the declared maxima alone."""
import json
import os
import signal
import subprocess
import time

from program import ProgramTest, main, record, run_at

STUDY = {
    "name": "s", "seeds": {"until": "settled", "max": 32},
    "task": {"kind": "xor", "bits": 2}, "model": {"d_model": 8, "ffn": {"kind": "positionwise", "activation": "relu"}},
    "train": {"steps": 40, "eval_every": 40, "optimizer": {"lr": 0.01}},
    "sweep": {"grid": {"model.ffn.activation": ["relu", "gelu", "identity"]}},
    "compare": {"metric": "val/loss"},
}
# One expert is a dense layer with an initialisation of its own: variants that differ in nothing but luck.
CLOSE = {**STUDY, "sweep": {"include": [{"model.ffn.kind": "positionwise"}, {"model.ffn.kind": "moe", "model.ffn.num_experts": 1, "model.ffn.top_k": 1}]},
         "compare": {"by": "model.ffn.kind", "metric": "val/loss"}}
# Runs that are equal to the bit: nothing balances one expert, so they tie with every seed.
TIED = {**STUDY, "seeds": {"until": "settled", "max": 12},
        "sweep": {"include": [{"model.ffn.kind": "moe", "model.ffn.num_experts": 1, "model.ffn.top_k": 1, "model.ffn.balance_weight": weight} for weight in (0.0, 0.5)]},
        "compare": {"by": "model.ffn.balance_weight", "metric": "val/loss"}}


def without_times(value):
    """compare.json is the same whoever trained the runs, but for how long they took."""
    if isinstance(value, dict):
        return {k: without_times(v) for k, v in value.items() if k not in ("train_seconds", "seconds_to_target")}
    return [without_times(v) for v in value] if isinstance(value, list) else value


class Sequential(ProgramTest):
    def train(self, *arguments):
        return self.ok(self.path, *arguments)

    def setUp(self):
        super().setUp()
        self.path = self.write("study.json", STUDY)

    def record(self, study="runs/s"):
        return json.loads((self.tmp / study / "study.json").read_text())

    def comparison(self, study="runs/s"):
        return without_times(json.loads((self.tmp / study / "compare.json").read_text()))

    def verdicts(self, comparison):
        return {pair["value"]: pair["verdict"] for facet in comparison["facets"] for pair in facet["pairs"]}

    def test_the_study_is_judged_by_its_analyses_whatever_way_its_runs_are_named(self):
        self.train()
        whole = self.compared("runs/s")
        self.assertEqual(whole["sequential"]["comparisons"], 2)
        variants = sorted(str(p.relative_to(self.tmp)) for p in (self.tmp / "runs/s").iterdir() if p.is_dir())
        self.assertEqual(len(variants), 3)
        for names in (["runs"], ["runs/s/"], variants, variants[::-1], [self.tmp / "runs/s"], ["runs/s", *variants]):
            self.assertEqual(self.compared(*names), whole, names)

    def test_runs_of_a_settled_study_beside_others_or_in_part_are_suggestive(self):
        self.train()
        fixed = {**STUDY, "name": "fixed", "seeds": 8, "sweep": {"grid": {"model.ffn.activation": ["relu", "tanh"]}}}
        self.ok(self.write("fixed.json", fixed))
        variants = [f"runs/s/activation={value}" for value in ("relu", "gelu", "identity")]
        alone = "This study adds seeds until its own question is decided"
        for names, said in ((["runs/s", "runs/fixed"], "Runs of several studies"), (["runs"], "Runs of several studies"),
                            (variants[:2], alone + "; a part of the study"), ([*variants, "--all"], alone)):
            comparison = self.compared(*names)
            self.assertNotIn("sequential", comparison)
            self.assertEqual(comparison["qualification"], said + ": suggestive.")
            self.assertIn("suggestive", " ".join(self.ok("compare", *names).stdout.split()))
        self.assertEqual(self.compared("runs/fixed")["qualification"], "")

    def compared(self, *names):
        return without_times(json.loads(self.ok("compare", *names, "--json").stdout))

    def test_a_clear_study_is_decided_early_and_says_after_how_many_seeds(self):
        result = self.train()
        self.assertIn("from 8 to at most 32", result.stderr)
        self.assertRegex(result.stderr, r"interim analysis at 8 seeds: \d of 2 comparisons decided")
        self.assertIn("without compare.min_effect", result.stderr)
        seeds = len(self.record()["seeds"])
        self.assertLess(seeds, 32)
        self.assertIn(f"Decided after {seeds} seeds of at most 32.", " ".join(result.stdout.split()))
        analyses = [n for n in (8, 12, 16, 24) if n <= seeds]
        self.assertEqual(self.record()["sequential"], {"maxima": [32], "comparisons": 2, "looks": analyses})
        comparison = self.comparison()
        self.assertEqual(comparison["sequential"], {"maxima": [32], "comparisons": 2, "looks": analyses, "open": 0})
        self.assertEqual(set(self.verdicts(comparison)), {"gelu", "identity"})
        for pair in comparison["facets"][0]["pairs"]:
            interval, verdict = pair["effect"]["interval"], pair["verdict"]
            self.assertTrue(interval["high"] < 0 if verdict == "better" else interval["low"] > 0, pair)
            self.assertIn(pair["sequential"]["different_at"], analyses)
            self.assertIsNone(pair["p_holm"])

    def test_compare_says_what_the_study_said(self):
        trained = self.train().stdout
        again = self.ok("compare", "runs/s")
        self.assertEqual(again.stdout.split("note:")[0].split(), trained.split("note:")[0].split())
        self.assertEqual(without_times(json.loads(self.ok("compare", "runs/s", "--json").stdout)), self.comparison())
        details = " ".join(self.ok("compare", "runs/s", "--details").stdout.split())
        self.assertIn("stands since", details)
        self.assertIn("interim analyses with 8", details)
        self.assertIn("declared maximum: 32", details)

    def test_another_question_is_no_declared_design(self):
        self.train()
        for option in (["--metric", "train/loss"], ["--reference", "gelu"], ["--alpha", "0.1"], ["--min-effect", "0.1"], ["--all"]):
            comparison = json.loads(self.ok("compare", "runs/s", "--json", *option).stdout)
            self.assertNotIn("sequential", comparison, option)
            self.assertIn("its own question", comparison["qualification"], option)
        text = " ".join(self.ok("compare", "runs/s", "--metric", "train/loss").stdout.split())
        self.assertIn("A study of fresh seeds", text)  # the study's command asks another
        self.assertIn("sequential", json.loads(self.ok("compare", "runs/s", "--json", "--metric", "val/loss").stdout))

    def test_variants_that_tie_with_every_seed_are_the_same_at_the_maximum_and_not_before(self):
        self.path = self.write("study.json", TIED)
        result = self.train()
        self.assertIn("0 of 1 comparison", result.stderr)
        self.assertIn("12 seeds of at most 12", " ".join(result.stdout.split()))
        self.train("seeds.max=16")  # from a larger maximum, too
        for comparison in (self.comparison(), self.compared("runs/s")):
            self.assertEqual((self.verdicts(comparison), comparison["sequential"]["looks"]), ({"0.5": "same"}, [8, 12, 16]))

    def test_killed_at_any_moment_and_restarted_it_ends_as_if_nothing_had_been(self):
        slow = {**CLOSE, "train": {**CLOSE["train"], "steps": 4000, "eval_every": 4000}}
        self.path = self.write("study.json", slow)
        self.train("-o", "whole", "seeds.max=16")
        killed = 0
        for wait in (0.15, 0.3, 0.5, 0.7, 0.3, 0.4):
            process = subprocess.Popen(self.command(self.path, "-o", "killed", "seeds.max=16", "-q"), cwd=self.tmp, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL, start_new_session=True)
            time.sleep(wait)
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                killed += 1
            process.wait()
        self.assertGreater(killed, 0)
        self.train("-o", "killed", "seeds.max=16")
        self.assertEqual(self.comparison("killed/s"), self.comparison("whole/s"))
        for key in ("sequential", "seeds"):
            self.assertEqual(self.record("killed/s")[key], self.record("whole/s")[key])

    def test_seeds_beyond_the_last_analysis_wait_for_the_next(self):
        self.train("seeds.min=24")
        # As if 24 were being trained: two runs are not finished yet.
        for seed in (18, 21):
            run = run_at(self.tmp / "runs/s/activation=gelu" / f"seed-{seed}")
            for file in sorted(run.rglob("*"), reverse=True):
                file.unlink() if file.is_file() else file.rmdir()
            run.rmdir()
        comparison = json.loads(self.ok("compare", "runs/s", "--json").stdout)
        pairs = {pair["value"]: pair for pair in comparison["facets"][0]["pairs"]}
        self.assertEqual((pairs["gelu"]["sequential"]["looked_at"], pairs["gelu"]["seeds"]), (16, 16))
        self.assertEqual(pairs["identity"]["sequential"]["looked_at"], 24)
        self.assertIn("at 16 seeds; up to 6", " ".join(comparison["notes"]))
        self.train("seeds.min=24")
        self.assertEqual(set(pair["sequential"]["looked_at"] for pair in self.comparison()["facets"][0]["pairs"]), {24})

    def test_a_failed_run_ends_its_comparison_before_it(self):
        self.train("seeds.min=24")
        run = run_at(self.tmp / "runs/s/activation=identity/seed-9")
        self.assertEqual(record(run)["state"], "done")
        (run / "run.json").write_text("{")
        comparison = json.loads(self.ok("compare", "runs/s", "--json").stdout)
        pairs = {pair["value"]: pair["sequential"]["looked_at"] for pair in comparison["facets"][0]["pairs"]}
        self.assertEqual(pairs, {"gelu": 24, "identity": 8})

    def test_shards_are_refused_and_slurm_does_without(self):
        self.assertIn("--shard takes", self.fails(2, self.path, "--shard", "1/2"))
        self.assertIn("shards are equal parts", self.fails(2, "slurm", self.path, "--shards"))
        self.assertNotIn("--shard", self.ok("slurm", self.path).stdout)

    def test_plan_tells_the_least_and_the_most(self):
        plan = json.loads(self.ok("plan", self.path, "--json", "--no-probe").stdout)
        self.assertEqual(plan["until_settled"], {"min_seeds": 8, "max_seeds": 32, "min_runs": 24, "max_runs": 96})
        self.assertEqual(plan["runs"], 24)
        self.assertIn("24 to 96 runs", " ".join(self.ok("plan", self.path, "--no-probe").stdout.split()))
        self.assertEqual(json.loads(self.ok("plan", self.path, "seeds=5", "--json", "--no-probe").stdout)["until_settled"], None)

    def test_without_its_record_nothing_is_analysed_and_whoever_compares_is_told(self):
        self.train()
        file = self.tmp / "runs/s/study.json"
        content = file.read_text()
        for how in ("missing", "damaged"):
            file.unlink() if how == "missing" else file.write_text(content.replace('"comparisons": 2', '"comparisons": 1'))
            for arguments in ((), ("seeds=12",)):
                error = " ".join(self.fails(3, self.path, *arguments).split())
                for said in (f"runs/s/study.json: {how}", "put the file back", "--fresh"):
                    self.assertIn(said, error)
            for text in (self.ok("compare", "runs/s").stdout, self.ok("report", "runs/s", "-o", "/dev/stdout").stdout):
                self.assertIn(f"study.json: {how}", " ".join(text.split()))
            file.write_text(content)
        self.train()


if __name__ == "__main__":
    main()
