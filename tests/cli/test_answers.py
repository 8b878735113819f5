#!/usr/bin/env python3
"""What a comparison answers: with which runs, against what, in which words."""
import csv
import io
import json
import math
import os
import re
import shutil

from program import ProgramTest, main, run_at

STUDY = {
    "name": "study", "seeds": 6,
    "task": {"kind": "xor", "bits": 2}, "model": {"d_model": 8, "ffn": {"kind": "positionwise", "activation": "relu"}},
    "train": {"steps": 200, "eval_every": 20, "optimizer": {"lr": 0.005}},
    "sweep": {"grid": {"model.ffn.activation": ["relu", "gelu", "silu"]}},
}


def table(comparison):
    """(facet, value) → verdict and p of every pair, of a comparison as JSON."""
    return {(json.dumps(f["keys"]), p["value"]): (p["reference"], p["verdict"], p["p"], p["p_holm"]) for f in comparison["facets"] for p in f["pairs"]}


class Questions(ProgramTest):
    def test_a_loss_that_still_falls_is_seen_in_the_last_steps_alone(self):
        for every, says in ((2, True), (1000, False)):  # without an evaluation between there is the whole training's fall alone
            said = self.ok("xor", "seeds=6", f"name=every-{every}", "model.ffn.activation=relu,gelu", "train.steps=20", "train.target=null",
                           f"train.eval_every={every}").stdout
            self.assertEqual("still falls in the last fifth" in " ".join(said.split()), says, said)

    def test_a_section_is_refused_in_the_same_words_by_all_that_read_a_study(self):
        path = self.write("study.json", {**STUDY, "compare": {"by": "model.ffn"}})
        errors = {self.fails(2, *command, path).replace(f"{path}: ", "") for command in (["validate"], ["plan", "--no-probe"], ["--config"])}
        self.assertEqual(len(errors), 1, errors)
        self.assertIn("is a section", errors.pop())

    def test_a_key_that_does_not_vary_is_named(self):
        self.ok("--config", self.write("study.json", STUDY), "-q")
        out = " ".join(self.ok("compare", "runs/study", "--by", "train.steps").stdout.split())
        self.assertIn("vary here: model.ffn", out)
        self.assertNotIn("does not vary (", self.ok("compare", "runs/study", "--by", "model.ffn.activation").stdout)

    def test_variants_that_come_to_the_same_config_are_named(self):
        study = {**STUDY, "sweep": {"grid": {"model.ffn.match": ["none", "params"], "model.ffn.activation": ["relu", "silu"]}}}
        study["model"] = {"d_model": 8, "ffn": {"kind": "positionwise", "activation": "relu", "expansion": 4}}
        self.ok("--config", self.write("study.json", study), "-q")
        notes = json.loads(self.ok("compare", "runs/study", "--json").stdout)["notes"]
        self.assertIn("12 runs were found twice and are counted once: match=none+activation=relu and match=params+activation=relu; "
                      "match=none+activation=silu and match=params+activation=silu come to the same config each", notes)

    def test_one_form_of_output_at_a_time(self):
        self.ok("--config", self.write("study.json", {**STUDY, "seeds": 1}), "-q")
        for two in (("--json", "--markdown"), ("--csv", "--json"), ("--markdown", "--csv")):
            error = self.fails(2, "compare", "runs/study", *two)
            self.assertIn(two[0], error)
            self.assertIn(two[1], error)

    def test_flops_to_target_are_those_of_forward_and_backward_passes_over_all_tokens_up_to_the_hit(self):
        target, batch, length = 0.74, 32, 6
        study = {"name": "study", "seeds": 4, "task": {"kind": "sequence_xor", "length": length},
                 "model": {"d_model": 16, "attention": {"heads": 2}, "residual": True, "ffn": {"kind": "positionwise", "activation": "relu"}},
                 "train": {"steps": 200, "eval_every": 10, "batch_size": batch, "optimizer": {"lr": 0.01}, "target": {"metric": "val/accuracy", "at_least": target}},
                 "sweep": {"grid": {"model.ffn.d_ff": [2, 48]}}}
        self.ok("--config", self.write("study.json", study), "-q")
        groups = json.loads(self.ok("compare", "runs/study", "--metric", "flops_to_target", "--json").stdout)["facets"][0]["groups"]
        hits = set()
        for group in groups:
            expected = []
            for seed in range(4):
                run = run_at(self.tmp / f"runs/study/d_ff={group['value']}/seed-{seed}")
                evaluations = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
                hit = min((e["step"] for e in evaluations if e["val/accuracy"] >= target), default=None)
                hits.add(hit)
                # a step back costs twice a step forward
                expected.append("inf" if hit is None else 3 * hit * batch * length * group["flops_per_token"])
            self.assertEqual(group["values"], expected)
        self.assertGreater(len(hits), 3, hits)


class Membership(ProgramTest):
    def compared(self, *args):
        return json.loads(self.ok("compare", *args, "--json").stdout)

    def test_alpha_and_min_effect_are_the_studys_own(self):
        self.ok("--config", self.write("study.json", {**STUDY, "compare": {"metric": "val/loss", "alpha": 0.2, "min_effect": 0.5}}), "-q")
        afterwards = self.compared("runs/study")
        self.assertEqual((afterwards["alpha"], afterwards["min_effect"]), (0.2, 0.5))
        self.assertEqual(self.compared("runs/study", "--alpha", "0.01")["alpha"], 0.01)
        self.assertEqual(self.compared("runs/study", "--metric", "val/accuracy")["min_effect"], 0)  # in another metric's units

    def test_runs_that_the_study_does_not_list_are_no_part_of_it(self):
        path = self.write("study.json", STUDY)
        self.ok("--config", path, "-q")
        alone = self.compared("runs/study")
        self.ok("--config", path, "-q", "-o", "other", "model.ffn.activation=tanh,relu2")
        for run in (self.tmp / "other/study").iterdir():
            if run.is_dir() and not (self.tmp / "runs/study" / run.name).exists():
                shutil.copytree(run, self.tmp / "runs/study" / run.name)
        beside = self.compared("runs/study")
        self.assertEqual(table(beside), table(alone))
        self.assertIn("12 runs are left out", " ".join(beside["notes"]))
        everything = self.compared("runs/study", "--all")
        self.assertEqual(len(everything["facets"][0]["pairs"]), 4)
        self.assertEqual(everything["facets"][0]["pairs"][0]["comparisons"], 4)

    def test_different_tasks_are_refused_with_the_list(self):
        self.ok("--config", self.write("a.json", {**STUDY, "name": "a", "seeds": 2}), "-q")
        self.ok("--config", self.write("b.json", {**STUDY, "name": "b", "seeds": 2, "task": {"kind": "sequence_xor", "length": 4}}), "-q")
        error = self.fails(2, "compare", "runs")
        self.assertIn("different tasks", error)
        self.assertIn("xor: runs/a", error)
        self.assertIn("sequence_xor: runs/b", error)
        for name, steps in (("single", 20), ("other", 30)):
            self.ok("xor", f"train.steps={steps}", f"name={name}", "-q")
        self.assertIn("\n  xor: runs/a, runs/other, runs/single\n", self.fails(2, "compare", "runs"))


class Notes(ProgramTest):
    def test_what_goes_along_with_the_compared_key_is_named(self):
        study = {**STUDY, "sweep": {"zip": [{"model.ffn.activation": ["relu", "gelu", "silu"], "train.optimizer.lr": [0.01, 0.002, 0.002]}]}}
        self.ok("--config", self.write("study.json", study), "-q")
        notes = " ".join(json.loads(self.ok("compare", "runs/study", "--json").stdout)["notes"])
        self.assertIn("goes train.optimizer.lr", notes)

    def test_a_metric_that_a_variant_does_not_log_is_not_measured(self):
        study = {**STUDY, "compare": {"by": "model.ffn.kind", "metric": "train/balance_loss"},
                 "sweep": {"grid": {"model.ffn.kind": ["moe", "positionwise"]}}}
        study["model"] = {"d_model": 8, "ffn": {"kind": "moe", "num_experts": 2, "top_k": 1}}
        result = self.run_program("--config", self.write("study.json", study), "-q")
        comparison = json.loads(self.ok("compare", "runs/study", "--json").stdout) if result.returncode == 0 else None
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(comparison["facets"][0]["pairs"], [])
        self.assertIn("is not measured with", " ".join(comparison["notes"]))


class VerdictWords(ProgramTest):
    WORDS = ("better", "worse", "no meaningful difference", "same", "undecided", "too few seeds")

    def places(self, *args):
        """The verdict of the only pair, in every place that names it."""
        pair, = json.loads(self.ok("compare", *args, "--json").stdout)["facets"][0]["pairs"]
        row = list(csv.DictReader(io.StringIO(self.ok("compare", *args, "--csv").stdout)))[1]
        out = {"json": pair["verdict"], "sentence": pair["sentence"].partition(":")[0], "csv": row["verdict"]}
        wide = {"env": {**os.environ, "COLUMNS": "250"}}
        tables = {"short": ((), 0), "details": (("--details",), -1), "markdown": (("--markdown",), -1)}
        for name, (flags, which) in tables.items():
            blocks = [b for b in self.ok("compare", *args, *flags, **wide).stdout.split("\n\n") if re.search(r"(?m)^.*\bverdict\b *\|?$", b)]
            last = [line for line in blocks[which].splitlines() if "gelu" in line and not line.startswith("note")][-1].replace("*", "").rstrip(" |")
            out[name] = next((word for word in self.WORDS if last.endswith(" " + word)), last)
        return out

    def test_a_verdict_has_one_name_in_every_place(self):
        two = {**STUDY, "sweep": {"grid": {"model.ffn.activation": ["relu", "gelu"]}}}
        tied = {**two, "train": {**STUDY["train"], "eval_every": 200, "target": {"metric": "val/loss", "at_most": 0.4}}}
        cases = {"no meaningful difference": {**two, "compare": {"metric": "val/loss", "scale": "difference", "min_effect": 5}},
                 "same": {**tied, "compare": {"metric": "steps_to_target"}},
                 "too few seeds": {**two, "seeds": 2}}
        explained = " ".join(self.ok("compare", self.trained("first", cases["same"]), "--explain").stdout.split())
        for word in self.WORDS:
            self.assertIn(f'"{word}": ', explained)
        for word, study in cases.items():
            places = self.places(self.trained(word.replace(" ", "-"), study))
            self.assertEqual(set(places.values()), {word}, places)

    def trained(self, name, study):
        self.ok("--config", self.write(name + ".json", {**study, "name": name}), "-q")
        return f"runs/{name}"

    def test_expectations_and_fail_if_take_the_same_words(self):
        claim = {"claim": "c", "check": {"value": "gelu", "verdict": "tied"}}
        error = self.fails(2, "validate", self.write("study.json", {**STUDY, "expect": [claim]}))
        self.assertIn('has to be one of: better, worse, no meaningful difference, same, undecided', " ".join(error.split()))
        self.assertIn("VERDICT:{worse,undecided}", self.ok("compare", "--help").stdout)


class EmptyInterval(ProgramTest):
    def test_it_is_said_in_every_form_and_contradicts_no_verdict(self):
        rates = ["xor", "train.optimizer.lr=0.01,0.014", "train.eval_every=10", "compare.metric=steps_to_target", "-q"]
        self.ok(*rates, "seeds=240", "name=many")
        groups = json.loads(self.ok("compare", "runs/many", "--json").stdout)["facets"][0]["groups"]
        quicker, tied = ([seed for seed, (slow, fast) in enumerate(zip(groups[0]["values"], groups[1]["values"])) if (fast < slow, fast == slow)[same]] for same in (0, 1))
        self.ok(*rates, "seeds=" + ",".join(map(str, tied[:34] + quicker[:6])), "name=ties")  # six wins of six, and just above 0 the ties are losses
        pair, = json.loads(self.ok("compare", "runs/ties", "--json").stdout)["facets"][0]["pairs"]
        self.assertEqual((pair["verdict"], pair["effect"]["interval"]["empty"], pair["effect"]["value"]), ("better", True, 0))
        for form in (["compare"], ["compare", "--details"], ["compare", "--markdown"], ["report", "-o", "/dev/stdout"]):
            text = self.ok(form[0], "runs/ties", *form[1:]).stdout
            self.assertIn("0.00 (empty interval)", " ".join(text.split()))
            self.assertNotRegex(text, r"[\[(]0\.00?, 0\.00?[\])]")
        row = list(csv.DictReader(io.StringIO(self.ok("compare", "runs/ties", "--csv").stdout)))[1]
        self.assertEqual((float(row["difference"]), row["low"], row["high"]), (0, "", ""))


class Sentences(ProgramTest):
    def test_many_activations_make_a_short_answer_its_conditions_and_a_table_in_order(self):
        activations = "relu,sigmoid,gelu,silu,tanh,softplus,elu,mish"
        self.ok("xor", "name=eight", f"model.ffn.activation={activations}", "seeds=10", "-q")
        text = self.ok("compare", "eight").stdout  # found below runs/
        answer, _, table = text.partition("\n\n")
        lines = answer.splitlines()
        conditions = next(k for k, line in enumerate(lines) if line.startswith("XOR of 2 bits"))
        self.assertLessEqual(conditions, 3, answer)
        self.assertIn("Sure: all 7 others are worse than relu, by ", " ".join(lines))
        shared = "XOR of 2 bits · until accuracy ≥ 0.99 · d_model 8 · 594 parameters · AdamW 0.01 · 1,000 steps"
        self.assertEqual(" ".join(lines[conditions:]), shared)
        self.assertEqual(json.loads(self.ok("compare", "runs/eight", "--json").stdout)["conditions"], shared)
        self.assertIn(shared, self.ok("report", "eight", "-o", "/dev/stdout").stdout)
        steps = [float(x) for x in re.findall(r"(?m)^[a-z]+ +(\d+\.\d) ±", table)]
        self.assertEqual((len(steps), steps), (8, sorted(steps)), table)
        self.assertIn("after 1,000 steps: ", " ".join(self.ok("compare", "eight", "--metric", "val/loss").stdout.split()))
        for columns in ("24", "36", "50", "60"):
            narrow = self.ok("compare", "eight", env={**os.environ, "COLUMNS": columns}).stdout
            self.assertRegex(narrow, r"(?m)^softplus +24\.4 ± 4\.6", narrow)  # columns go, rows stay
        self.assertIn('did you mean "eight"?', self.fails(3, "compare", "runs/eigt"))

    def test_a_run_ends_with_what_it_learned_a_picture_and_what_to_do_next(self):
        text = self.ok("xor").stdout
        self.assertIn("\nLearned: all 4 patterns right from step 7 on.\n", text)
        self.assertEqual(len(re.findall(r"(?m)^│.{24}│$", text)), 12, text)
        self.assertRegex(text.splitlines()[-1], r"^next: ffn-train inspect runs/xor/seed-0\.")
        self.assertIn("50.0 % of the valid", self.ok("xor", "train.steps=3", "name=short").stdout)

    def test_layers_that_are_spelt_alike_are_named_by_what_differs(self):
        layers = [{"kind": "positionwise", "activation": "relu", "expansion": 2}, {"kind": "positionwise", "activation": "relu", "d_ff": 2}]
        self.ok("--config", self.write("study.json", {**STUDY, "seeds": 2, "sweep": {"grid": {"model.ffn": layers}}, "compare": {"by": "variant"}}), "-q")
        text = self.ok("compare", "study").stdout
        self.assertRegex(text, r"(?m)^expansion 2(\.0)? ")
        self.assertRegex(text, r"(?m)^d_ff 2 ")

    def test_what_is_typed_is_a_list_or_refused_with_a_form_that_works(self):
        self.write("t.csv", "id,a,y\n" + "".join(f"r{i},{i * 7 % 13},{i % 2}\n" for i in range(20)))
        self.write("u.csv", "a,y\n" + "".join(f"{i * 7 % 13},{i % 2}\n" for i in range(20)))
        words = ["table", "task.file=t.csv", "task.label=y"]
        for typed in ("id", "[id]", '["id"]', " id ", "[ id ]"):
            self.assertEqual(json.loads(self.ok(*words, f"task.ignore={typed}", "--dry-run").stdout)["task"]["ignore"], ["id"])
        for typed in ("id, y", "[id, y]", '["id","y"]', '"id", y'):
            self.assertEqual(json.loads(self.ok(*words[:-1], "task.label=a", f"task.ignore={typed}", "--dry-run").stdout)["task"]["ignore"], ["id", "y"])
        for typed in ("", "[]", "[ ]"):
            self.assertEqual(json.loads(self.ok("table", "task.file=u.csv", "task.label=y", f"task.ignore={typed}", "--dry-run").stdout)["task"]["ignore"], [])
        self.assertIn('there is no column "x"', self.fails(3, *words, "task.ignore=[x]"))
        self.assertIn("seeds is given twice", self.fails(2, "xor", "seeds=5", "seeds=6"))
        error = self.fails(2, "xor", "train.optimizer.lr=choice(0.1,0.2)")
        self.assertIn("=0.1,0.2,0.4", error)
        self.ok("xor", "train.optimizer.lr=0.1,0.2,0.4", "seeds=1", "--dry-run")


class Words(ProgramTest):
    def test_details_have_every_column_at_every_width(self):
        study = {**STUDY, "sweep": {"grid": {"model.ffn.activation": ["relu", "silu"], "model.ffn.expansion": [1, 4]}}}
        study["train"] = {**STUDY["train"], "target": {"metric": "val/loss", "at_most": 0.05}}
        self.ok("--config", self.write("study.json", study), "-q")
        for width in (40, 80, 200):
            text = self.ok("compare", "runs/study", "--details", env={**os.environ, "COLUMNS": str(width)}).stdout
            self.assertLessEqual(max(map(len, text.splitlines())), width, text)
            for column in ("runs", "IQM", "hits", "mediansteps", "parameters", "FLOPs/token", "time/run", "timetotarget", "P(better)", "won/tied/lost", "p(corrected)", "verdict"):
                self.assertIn(column, re.sub(r"\s", "", text), f"{width} columns")

    def test_the_bars_stand_on_one_axis(self):
        out = self.ok("--config", self.write("study.json", STUDY), "-q").stdout
        bars = re.findall(r"[├←●][─┼●]*[●┤→]", out)
        self.assertEqual(len(bars), 2, out)

    def test_a_study_in_which_every_run_diverged_has_nothing_to_compare(self):
        study = ("xor", "name=div", "model.ffn.activation=relu,gelu", "train.optimizer.kind=sgd", "train.optimizer.lr=1e30", "train.steps=60", "seeds=3")
        for _ in range(2):  # found finished, too
            said = self.fails(1, *study)
            self.assertIn("every run diverged", said)
            self.assertIn("train.optimizer.lr such as 1e+29", said)
            self.assertNotIn("ffn-train report", said)
        self.assertIn("such as 1e+29 may help", self.fails(1, study[0], "name=clipped", *study[2:], "train.clip_norm=1"))
        self.assertIn("no run has a value", " ".join(json.loads(self.ok("compare", "runs/div", "--metric", "val/loss", "--json").stdout)["notes"]))

    def lost(self, reference, *overrides):
        """The answer and the comparison of relu² at a rate at which it loses runs, against `reference`."""
        shutil.rmtree(self.tmp / "runs", ignore_errors=True)  # a study that was moved aside was looked at
        self.ok("xor", "seeds=14", "name=lost", f"model.ffn.activation={reference},relu2", "train.optimizer.kind=sgd", *overrides, "-q")
        return (" ".join(self.ok("compare", "runs/lost").stdout.split("\n\n")[0].split()),
                json.loads(self.ok("compare", "runs/lost", "--json").stdout)["facets"][0]["groups"])

    def test_a_variant_that_lost_a_run_is_placed_by_all_of_its_runs(self):
        rate, short = "train.optimizer.lr=0.5", "train.steps=30"
        text, groups = self.lost("identity", rate, short)
        self.assertEqual((groups[1]["diverged"], groups[1]["hits"]), (1, 14))  # it hit before it diverged
        self.assertRegex(text, r"^relu2 gets there first: median \d\.\d steps \(1 run diverged or failed\); identity never\. Sure: relu2 is better")
        self.assertRegex(self.lost("sigmoid", rate, "train.steps=300")[0], r"^relu2 gets there first: \d+\.\d steps \(1 run diverged or failed\); sigmoid \d+\.")
        self.assertRegex(self.lost("identity", rate, short, "compare.metric=val/loss")[0], r"^relu2 has the lowest median val/loss after 30 steps: ")
        text, groups = self.lost("identity", "train.optimizer.lr=0.6", short, "compare.metric=val/accuracy")
        self.assertRegex(text, r"^relu2 has the highest median val/accuracy after \d+ steps: 1\.00 \(\d runs diverged or failed\); identity 0\.500\.")

    def test_what_is_said_of_a_variant_that_lost_runs_is_not_of_the_survivors(self):
        text, groups = self.lost("relu", "train.optimizer.lr=0.8", "train.steps=100", "compare.metric=val/accuracy")
        self.assertEqual(groups[1]["diverged"], 6)
        self.assertRegex(text, r"^relu has the highest median val/accuracy after \d+ steps: 1\.00; relu2 1\.00 \(6 runs diverged or failed\)\.")  # fewer lost: first
        self.assertEqual([groups[1][key] for key in ("mean", "half_width", "iqm")], [None, None, "-inf"])
        self.assertIn("1.00 [−∞, 1.00]", self.ok("compare", "runs/lost").stdout)
        row = [r for r in csv.DictReader(io.StringIO(self.ok("compare", "runs/lost", "--csv").stdout)) if r["model.ffn.activation"] == "relu2"][0]
        self.assertEqual((row["mean"], row["half_width"], row["iqm"]), ("", "", "-inf"))

    def test_variants_that_tie_for_the_first_place_share_it(self):
        text = " ".join(self.ok("xor", "name=tie", "seeds=20", "model.ffn.activation=silu,gelu_tanh,gelu", "-q").stdout.split())
        self.assertRegex(text, r"^gelu_tanh and gelu get there first: 6\.5 steps; silu 9\.7\.")
        text = " ".join(self.ok("xor", "name=rates", "train.optimizer.lr=0.001,0.01,0.1", "train.eval_every=10", "-q").stdout.split())
        self.assertRegex(text, r"^lr 0\.01 and 0\.1 get there first: 10\.0 steps \(0\.001: 40\.0\)\.")

    def test_variants_that_tie_over_all_groups_alone_are_not_said_to_tie_in_each(self):
        out = " ".join(self.ok("xor", "name=tie", "seeds=6", "train.steps=100", "train.eval_every=100", "train.target.at_least=0.2",
                               "model.ffn.activation=relu,gelu", "model.ffn.expansion=2,4", "-q").stdout.split())
        self.assertIn("at the same time", out)

    def test_one_run_of_a_variant_has_no_interval(self):
        out = self.ok("xor", "name=solo", "model.ffn.activation=relu,gelu", "compare.metric=val/loss", "-q").stdout
        self.assertNotIn("∞", out)

    def test_a_test_is_called_exact_where_it_is(self):
        for seeds, exact in ((20, True), (25, False)):
            self.ok("xor", "name=seeds", f"seeds={seeds}", "model.ffn.activation=relu,gelu", "-q")
            details = " ".join(self.ok("compare", "runs/seeds", "--details").stdout.split())
            pair = json.loads(self.ok("compare", "runs/seeds", "--json").stdout)["facets"][0]["pairs"][0]
            self.assertEqual((pair["p_exact"], "exact" in details, "by random sign flips" in details), (exact, exact, not exact))

    def test_numbers_stand_in_the_order_of_the_study(self):
        self.ok("--config", self.write("study.json", {**STUDY, "sweep": {"grid": {"model.ffn.expansion": [4, 0.5, 1]}}}), "-q")
        comparison = json.loads(self.ok("compare", "runs/study", "--json").stdout)
        self.assertEqual(comparison["reference"], "4")
        self.assertEqual([g["value"] for g in comparison["facets"][0]["groups"]], ["4", "0.5", "1"])

    def test_a_target_that_is_met_before_the_first_step_takes_0_steps(self):
        study = {**STUDY, "train": {**STUDY["train"], "target": {"metric": "val/loss", "at_most": 50}}}
        out = self.ok("--config", self.write("study.json", study), "-q").stdout
        self.assertIn("get there at the same time: 0.00 steps", " ".join(out.split()))

    def test_times_over_different_budgets_crown_nobody(self):
        study = {**STUDY, "sweep": {"grid": {"train.steps": [20, 40]}}, "train": {**STUDY["train"], "eval_every": 5, "target": {"metric": "val/loss", "at_most": 0.1}}}
        out = self.ok("--config", self.write("study.json", study), "-q").stdout
        self.assertNotIn("gets there first", out)
        self.assertIn("budgets differ", " ".join(out.split()))


class Scale(ProgramTest):
    def compared(self, *args):
        return json.loads(self.ok("compare", "runs/study", *args, "--json").stdout)

    def test_a_loss_is_compared_as_ratios_and_everything_says_the_same_numbers(self):
        self.ok("--config", self.write("study.json", {**STUDY, "seeds": 10}), "-q")
        comparison = self.compared()
        self.assertEqual((comparison["metric"], comparison["scale"], comparison["shown"]), ("val/loss", "log_ratio", "geometric_mean"))
        groups = {g["value"]: g for g in comparison["facets"][0]["groups"]}
        texts = [self.ok("compare", "runs/study", *form, env={**os.environ, "COLUMNS": "200"}).stdout for form in ((), ("--details",))]
        rows = {row["model.ffn.activation"]: row for row in csv.DictReader(io.StringIO(self.ok("compare", "runs/study", "--csv").stdout))}
        for pair in comparison["facets"][0]["pairs"]:
            logs = [math.log(a / b) for a, b in zip(groups[pair["value"]]["values"], groups["relu"]["values"])]
            self.assertAlmostEqual(pair["ratio"]["value"], math.exp(sum(logs) / len(logs)))
            self.assertAlmostEqual(float(rows[pair["value"]]["ratio"]), pair["ratio"]["value"], places=8)
            shown = re.search(r": (.*?\]),", pair["sentence"])[1]
            for text in texts:
                self.assertIn(shown, text)

    def test_a_scale_of_ones_own_comes_from_the_study_or_the_command_line(self):
        self.ok("--config", self.write("study.json", {**STUDY, "compare": {"metric": "val/loss", "scale": "difference", "min_effect": 0.5}}), "-q")
        study = self.compared()
        self.assertEqual((study["scale"], study["min_effect"], study["facets"][0]["pairs"][0]["ratio"]), ("difference", 0.5, None))
        other = self.compared("--scale", "ratio")
        self.assertEqual((other["scale"], other["min_effect"]), ("log_ratio", 0))  # 0.5 was on the other scale
        ranks = self.compared("--scale", "ranks")
        self.assertEqual({p["test"] for p in ranks["facets"][0]["pairs"]}, {"signed_rank"})
        self.assertEqual(self.compared("--metric", "val/accuracy")["scale"], "difference")
        self.assertIn("need not be positive", self.fails(2, "compare", "runs/study", "--metric", "val/accuracy", "--scale", "ratio"))
        self.assertIn("--scale", self.fails(2, "compare", "runs/study", "--scale", "log"))

    def test_a_scale_that_cannot_be_is_found_before_training(self):
        target = {"metric": "val/loss", "at_most": 0.1}
        for compare, train, error in [({"metric": "val/accuracy", "scale": "ratio"}, {}, "val/accuracy need not be positive"),
                                      ({"metric": "steps_to_target", "scale": "ratio"}, {"target": target}, "steps_to_target is compared by ranks"),
                                      ({"scale": "difference"}, {"target": target}, "steps_to_target is compared by ranks"),
                                      ({"scale": "percent"}, {}, "/compare/scale")]:
            path = self.write("study.json", {**STUDY, "compare": compare, "train": {**STUDY["train"], **train}})
            self.assertIn(error, self.fails(2, "--config", path))
            self.assertFalse((self.tmp / "runs").exists())

    def test_bad_runs_are_counted_beside_the_verdict(self):
        study = {**STUDY, "seeds": 8, "compare": {"metric": "val/loss"}, "sweep": {"grid": {"train.optimizer.lr": [0.3, 2.5]}}}
        study["train"] = {"steps": 60, "eval_every": 5, "optimizer": {"kind": "sgd", "lr": 0.3}}
        study["model"] = {"d_model": 8, "ffn": {"kind": "positionwise", "activation": "relu2"}}
        self.ok("--config", self.write("study.json", study), "-q")
        comparison = self.compared()
        pair, = comparison["facets"][0]["pairs"]
        diverged = comparison["facets"][0]["groups"][1]["diverged"]
        self.assertGreaterEqual(pair["bad_runs"]["value"], diverged)
        self.assertIn(f"because {diverged} of 16 runs", " ".join(comparison["notes"]))
        self.assertIn("McNemar", self.ok("compare", "runs/study", "--details").stdout)
        rows = list(csv.DictReader(io.StringIO(self.ok("compare", "runs/study", "--csv").stdout)))
        self.assertEqual((rows[1]["bad_runs"], rows[1]["test"]), (str(pair["bad_runs"]["value"]), "signed_rank"))


if __name__ == "__main__":
    main()
