#!/usr/bin/env python3
"""Tuned comparisons: each variant at its own best values, chosen on other seeds."""
import json
import re
import signal
import statistics
import subprocess
import time

from program import ROOT, ProgramTest, main, record, run_at

STUDY = {
    "name": "study", "seeds": 6,
    "task": {"kind": "xor", "bits": 2}, "model": {"d_model": 8, "ffn": {"kind": "positionwise", "activation": "relu"}},
    "train": {"steps": 60, "eval_every": 20},
    "sweep": {"grid": {"model.ffn.activation": ["relu", "gelu"]}},
    "compare": {"metric": "val/loss"},
    "tune": {"train.optimizer.lr": [0.003, 0.01, 0.03], "seeds": 3},
}


def finals(directory, metric="val/loss"):
    """seed → the metric at the end."""
    out = {}
    for run in directory.glob("seed-*"):
        summary = record(run)["summary"]
        out[int(run.name[5:].split(".")[0])] = summary["metrics"][metric]["final"]
    return out


class Tuning(ProgramTest):
    def trained(self, study, *args):
        self.ok("--config", self.write("study.json", study), "-q", *args)
        return json.loads((self.tmp / "runs/study/study.json").read_text())["tuning"]

    def refused(self, said, *args):
        result = self.run_program(*args)
        self.assertIn(result.returncode, (2, 3), result.stderr)
        self.assertIn(said, " ".join(result.stderr.split()))

    def rate_of(self, run):
        return record(run)["config"]["train"]["optimizer"]["lr"]

    def test_a_matched_width_is_said_once_by_the_label_of_the_study(self):
        study = {**STUDY, "model": {"d_model": 8, "ffn": {"match": "params"}},
                 "sweep": {"zip": [{"model.ffn.kind": ["positionwise", "gated"], "label": ["plain", "GLU"]}]}}
        said = self.ok("--config", self.write("study.json", study)).stderr
        self.assertEqual(re.findall("(?m)^(.*): d_ff .* matches", said), ["plain", "GLU"])

    def test_the_note_on_one_choice_says_how_many_seeds_chose(self):
        for seeds, said in ((1, "a verdict (more with tune.seeds=1); tune.retune=per_seed, or 20 seeds and"), (5, "up to 23 % of studies give equal variants a verdict; tune")):
            self.trained({**STUDY, "tune": {"train.optimizer.lr": [0.003, 0.01], "seeds": seeds}}, "--fresh")
            self.assertIn(said, " ".join(self.ok("compare", "runs/study").stdout.split()))
            self.assertIn(said, " ".join(self.ok("plan", "study.json", "--no-probe").stdout.split()))  # before hours of training, too

    def test_sensitivity_is_what_the_grid_costs_beyond_its_best_value_and_paired_by_seed(self):
        tuning = self.trained({**STUDY, "tune": {"train.optimizer.lr": [0.003, 0.03, 30], "seeds": 3}})
        expected = []
        for variant in tuning["variants"]:
            rates = [p["values"][0] for p in variant["curve"]]
            runs = [{int(run.name[5:].split(".")[0]): record(run)["summary"]["metrics"]["val/loss"] for run in (self.tmp / f"runs/study/tuning/{variant['name']}+lr={rate}").glob("seed-*")} for rate in rates]
            expected.append([sum(min(of[seed]["final"], of[seed]["first"]) for of in runs) / len(runs) - min(min(of[seed]["final"], of[seed]["first"]) for of in runs) for seed in sorted(runs[0])])
            for found, wanted in zip(variant["sensitivity"], expected[-1], strict=True):
                self.assertAlmostEqual(found, wanted, places=12)
        said = json.loads(self.ok("compare", "runs/study", "--json").stdout)["tuning"]["variants"]
        more = [b - a for a, b in zip(*expected)]
        self.assertAlmostEqual(said[1]["more_sensitive_than_first"]["centre"], statistics.mean(more), places=12)
        half = 4.302652729911275 * statistics.stdev(more) / 3**.5  # t of 2 degrees of freedom at 97.5 %
        self.assertAlmostEqual(said[1]["more_sensitive_than_first"]["high"] - said[1]["more_sensitive_than_first"]["centre"], half, places=9)
        self.assertNotIn("more_sensitive_than_first", said[0])
        text = " ".join(self.ok("compare", "runs/study", "--details").stdout.split())
        self.assertIn("sensitivity to train.optimizer.lr: val/loss over the grid (no worse than before training)", text)

    def test_values_are_chosen_by_what_is_compared_and_another_metric_gets_a_note(self):
        target = {"steps": 60, "eval_every": 20, "target": {"metric": "val/accuracy", "at_least": 0.99}}
        plain = {k: v for k, v in STUDY.items() if k != "compare"}
        note = "values were chosen by val/loss and are compared by steps_to_target, which other values may suit better; tune.metric=steps_to_target chooses by what is compared"
        for number, (study, chosen, noted) in enumerate((
                (STUDY, "val/loss", False),
                (plain, "val/loss", False),
                ({**plain, "train": target}, "steps_to_target", False),
                ({**plain, "train": target, "compare": {"metric": "val/accuracy"}}, "val/accuracy", False),
                ({**plain, "train": target, "compare": {"metric": "seconds_to_target"}}, "steps_to_target", False),
                ({**plain, "train": target, "tune": {**STUDY["tune"], "metric": "val/loss"}}, "val/loss", True))):
            with self.subTest(number=number):
                self.assertEqual(self.trained(study, "--fresh")["metric"], chosen)
                said = " ".join(self.ok("compare", "runs/study").stdout.split())
                self.assertEqual("values were chosen by" in said, noted)
                if noted:
                    self.assertIn(note, said)

    def test_a_grid_whose_end_is_best_grows_for_all_variants_at_most_twice(self):
        study = {**STUDY, "tune": {**STUDY["tune"], "train.optimizer.lr": [0.00001, 0.00002]}}
        tuning = self.trained(study)
        for variant in tuning["variants"]:
            self.assertEqual([p["values"][0] for p in variant["curve"]], [1e-05, 2e-05, 4e-05, 8e-05, 0.00016, 0.00032])
            self.assertEqual(variant["edge"], ["train.optimizer.lr"])
        self.assertIn("lowest or highest", " ".join(self.ok("compare", "runs/study").stdout.split()))

    def test_tuned_anew_for_every_seed(self):
        tuning = self.trained({**STUDY, "tune": {"train.optimizer.lr": [0.003, 0.01, 0.03, 0.1, 0.3], "retune": "per_seed"}})
        for variant in tuning["variants"]:
            self.assertEqual(sum(p["chosen"] for p in variant["curve"]), 6)
            curves = {p["values"][0]: finals(self.tmp / f"runs/study/tuning/{variant['name']}+lr={json.dumps(p['values'][0])}") for p in variant["curve"]}
            for seed in range(6):
                best = min(curves, key=lambda lr: curves[lr][1000000 + seed])
                self.assertEqual(self.rate_of(run_at(self.tmp / f"runs/study/{variant['name']}/seed-{seed}")), best)
        comparison = json.loads(self.ok("compare", "runs/study", "--json").stdout)
        self.assertEqual(len(comparison["facets"]), 1)  # the rates make no groups
        self.assertEqual(comparison["facets"][0]["pairs"][0]["seeds"], 6)
        self.assertIn("anew for every seed", " ".join(self.ok("compare", "runs/study").stdout.split()))

    def test_tuned_anew_for_every_seed_until_settled(self):
        study = {**STUDY, "seeds": {"until": "settled", "max": 16}, "sweep": {"grid": {"model.ffn.activation": ["relu", "identity"]}},
                 "tune": {"train.optimizer.lr": [0.003, 0.01, 0.03], "retune": "per_seed"}}
        self.trained(study)
        record = json.loads((self.tmp / "runs/study/study.json").read_text())
        self.assertEqual(len(record["seeds"]), 8)  # no line separates XOR
        self.assertEqual(sum(p["chosen"] for p in record["tuning"]["variants"][0]["curve"]), 8)
        comparison = json.loads(self.ok("compare", "runs/study", "--json").stdout)
        self.assertEqual(comparison["facets"][0]["pairs"][0]["verdict"], "worse")
        self.assertEqual(comparison["sequential"]["looks"], [8])

    def test_killed_and_started_again_it_ends_as_undisturbed(self):
        longer = {**STUDY, "train": {"steps": 4000, "eval_every": 20}, "tune": {**STUDY["tune"], "train.optimizer.lr": [0.003, 0.01]}}
        path = self.write("study.json", longer)
        self.ok("--config", path, "-q", "-o", "whole")
        for delay in (0.05, 0.3, 0.6):
            process = subprocess.Popen(self.command("--config", path, "-q"), cwd=self.tmp, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(delay)
            process.send_signal(signal.SIGKILL)
            process.wait()
        two = [subprocess.Popen(self.command("--config", path, "-q"), cwd=self.tmp, stdout=subprocess.DEVNULL) for _ in range(2)]
        self.assertEqual([process.wait() for process in two], [0, 0])
        for run in (self.tmp / "whole").glob("*/*/seed-*"):
            name = "model.safetensors"
            self.assertEqual((run / name).read_bytes(), (self.tmp / "runs" / run.relative_to(self.tmp / "whole") / name).read_bytes())
        said = [json.loads((self.tmp / out / "study/study.json").read_text())["tuning"] for out in ("whole", "runs")]
        self.assertEqual(said[0], said[1])

    def test_what_cannot_be_tuned_is_said_before_anything_is_trained(self):
        for tune, said in [({"train.optimizer.lrr": [1, 2]}, 'unknown key "lrr"; did you mean "lr"?'),
                           ({"train.optimizer.lr": 3}, "expected a list of values"),
                           ({"train.optimizer.lr": [-1, 1]}, "-1 is out of range"),
                           ({"train.optimizer.lr": {"logspace": [0.01, 0.01001, 3]}}, "0.01 occurs twice (values are rounded"),
                           ({"model.ffn.activation": ["relu"]}, "is swept already"),
                           ({"seeds": 3}, "names no key to tune"),
                           ({"train.optimizer.lr": [1], "retune": "often"}, '"once" or "per_seed"'),
                           ({"train.optimizer.lr": [1], "metric": "val/los"}, 'unknown metric "val/los"'),
                           ({"train.optimizer.lr": [1], "seeds": 0}, "between 1 and 1000")]:
            with self.subTest(tune=tune):
                self.refused(said, "--config", self.write("study.json", {**STUDY, "tune": tune}))
        self.refused("kept for tuning", "--config", self.write("study.json", STUDY), "seeds=1000000,2")
        self.refused("--shard", "--config", "study.json", "--shard", "1/2")
        self.assertFalse((self.tmp / "runs").exists())

    def planned(self, *args):
        plan = json.loads(self.ok("plan", *args, "--no-probe", "--json").stdout)
        return plan["runs"], plan["pending"], plan["tuning_runs"], plan["tuning_pending"], plan["refused"]

    def test_plan_counts_what_is_there(self):
        for retune, seeds, tuning in (("once", 3, 18), ("per_seed", 1, 36)):
            with self.subTest(retune=retune):
                study = {**STUDY, "name": retune, "tune": {"train.optimizer.lr": [0.003, 0.01, 0.03], "retune": retune, "seeds": seeds}}
                path = self.write("study.json", study)
                before = self.planned(path)
                self.assertEqual(before, (12, 12, tuning, tuning, None))
                self.ok("--config", path, "-q")
                # A grid that has grown is planned as it is.
                tuned = len(list((self.tmp / f"runs/{retune}/tuning").glob("*/seed-*")))
                self.assertEqual(self.planned(path), (12, 0, tuned, 0, None))
                self.assertIn("trained now", self.ok("--config", path).stderr)
                runs, pending, _, tuning_pending, refused = self.planned(path, "seeds=8")
                # What tuning has not chosen yet may be any of the grid.
                self.assertEqual((runs, pending, refused), (16, 16 if retune == "per_seed" else 4, None))
                self.assertEqual(tuning_pending, 12 if retune == "per_seed" else 0)
                said = self.ok("--config", path, "seeds=8").stderr
                self.assertIn("4 trained now, 12 found", said)

    def test_plan_counts_the_costs_of_tuning(self):
        path = self.write("study.json", STUDY)
        plain = json.loads(self.ok("plan", self.write("plain.json", {k: v for k, v in STUDY.items() if k != "tune"}), "--no-probe", "--json").stdout)
        tuned = json.loads(self.ok("plan", path, "--no-probe", "--json").stdout)
        # 18 runs are tuned, 12 judge; those that tune keep run.json alone.
        self.assertAlmostEqual(tuned["train_flops"], plain["train_flops"] * (18 + 12) / 12, delta=plain["train_flops"] / 1e6)
        self.assertEqual(tuned["disk_bytes"], plain["disk_bytes"] + 18 * 8192)
        self.assertIn("on disk, tuning included", " ".join(self.ok("plan", path, "--no-probe").stdout.split()))

    def test_what_is_said_of_a_grids_end_is_what_the_seeds_chose(self):
        tuning = self.trained({**STUDY, "seeds": 12, "tune": {"train.optimizer.lr": [0.02, 0.05, 0.12], "retune": "per_seed"}})
        at_an_end = [v["name"] for v in tuning["variants"] if 2 * max(v["curve"][0]["chosen"], v["curve"][-1]["chosen"]) >= 12]
        self.assertEqual(at_an_end, [v["name"] for v in tuning["variants"] if v["edge"]])
        self.assertEqual((len(at_an_end), len(tuning["variants"][0]["curve"])), (1, 3))  # the first five together do not choose an end
        said = " ".join(self.ok("compare", "runs/study").stdout.split())
        self.assertIn(f"half of the seeds or more chose the lowest train.optimizer.lr that was tried, or the highest, for {at_an_end[0]}: a wider grid "
                      "may do better (by itself it grows where the first 5 seeds together do best at its end)", said)

    def test_keys_that_a_tuned_kind_brings_along_split_no_comparison(self):
        self.trained({**STUDY, "seeds": 10, "tune": {"train.optimizer.kind": ["adamw", "lion"], "retune": "per_seed"}})
        compared = json.loads(self.ok("compare", "runs/study", "--json").stdout)
        self.assertEqual([(facet["keys"], [pair["seeds"] for pair in facet["pairs"]]) for facet in compared["facets"]], [({}, [10])])

    def test_files_within_swept_sections_are_found_beside_the_config(self):
        for table, sign in (("rising", 1), ("falling", -1)):
            self.write(f"below/{table}.csv", "x,y\n" + "".join(f"{x},{sign * x * x}\n" for x in range(-20, 20)))
        tasks = [{"kind": "table", "file": f"{table}.csv", "target": "y"} for table in ("rising", "falling")]
        path = self.write("below/study.json", {**STUDY, "task": tasks[0], "sweep": {"grid": {"task": tasks, "model.ffn.kind": ["none", "positionwise"]}},
                                               "compare": {"by": "model.ffn.kind", "metric": "val/loss"}, "tune": {**STUDY["tune"], "retune": "per_seed", "seeds": 1}})
        self.ok("plan", path)
        for _ in range(2):
            self.ok("--config", path, "-q")
        tuned = self.write("below/tuned.json", {**STUDY, "name": "t", "task": tasks[0], "tune": {"task": tasks, "retune": "per_seed"}, "compare": {"metric": "val/loss"}})
        self.ok("plan", tuned)

    def test_from_the_command_line(self):
        path = self.write("plain.json", {k: v for k, v in STUDY.items() if k != "tune"})
        shown = json.loads(self.ok("--config", path, "tune.train.optimizer.lr=0.01,0.1", "tune.seeds=2", "--dry-run").stdout)
        self.assertEqual(shown["tune"], {"train.optimizer.lr": [0.01, 0.1], "seeds": 2})
        plan = self.ok("plan", path, "tune.train.optimizer.lr=0.01,0.1", "tune.seeds=2", "--no-probe").stdout
        self.assertIn("tuned before: 8 runs", plan)
        self.assertIn("retune per_seed, with 1 seed each: 24 runs", " ".join(plan.split()))


class Readme(ProgramTest):
    def test_the_command_for_fair_tuning_ends_well_and_that_of_other_claims_as_it_says(self):
        text = " ".join(" ".join((ROOT / file).read_text(encoding="utf-8") for file in ("experiments/README.md", "configs/README.md")).split())
        tuned = re.search(r"`(tune[^`]*)`, SiLU is worse on three of four sets of 20 seeds", text)[1].split()  # the sets after the first are not run here
        fair = json.loads(self.ok("xor", "model.ffn.activation=relu,gelu,silu", "seeds=20", *tuned, "-q", "--json").stdout)
        verdicts = {pair["value"]: pair["verdict"] for pair in fair["facets"][0]["pairs"]}
        self.assertEqual(verdicts, {"gelu": "undecided", "silu": "worse"})
        self.assertIn("neither claim holds, and it ends with exit code 5", text)
        changed = re.search(r"`ffn-train (activations name=tuned [^`]*)`", text)[1].split()
        result = self.run_program(*changed, "-q")
        outcomes = " ".join(result.stdout.split())
        self.assertEqual(outcomes.count(": refuted (") + outcomes.count(": not shown ("), 2)
        self.assertEqual(result.returncode, 5)


if __name__ == "__main__":
    main()
