#!/usr/bin/env python3
"""Which pairs are compared, and whether the answer depends on a second key: in every form of output."""
import csv
import io
import json
import shlex

from program import ProgramTest, main

STUDY = {
    "name": "study", "seeds": 10,
    "task": {"kind": "xor", "bits": 2}, "model": {"d_model": 8, "ffn": {"kind": "positionwise", "activation": "relu"}},
    "train": {"steps": 600, "eval_every": 5, "optimizer": {"lr": 0.002}, "target": {"metric": "val/loss", "at_most": 0.05}},
    "sweep": {"grid": {"model.ffn.activation": ["relu", "gelu", "identity"], "model.ffn.expansion": [1, 8]}},
    "compare": {"by": "model.ffn.activation", "reference": "relu"},
}


def with_compare(study, **keys):
    return {**study, "compare": {**study["compare"], **keys}}


class Pairs(ProgramTest):
    def setUp(self):
        super().setUp()
        self.ok("--config", self.write("study.json", STUDY), "-q")

    def compared(self, *options):
        return json.loads(self.ok("compare", "runs/study", "--json", *options).stdout)

    def test_all_pairs_have_a_verdict_in_every_form(self):
        reference, pairs = self.compared(), self.compared("--pairs", "all")
        self.assertEqual([p["comparisons"] for p in reference["facets"][0]["pairs"]], [4, 4])
        for facet in pairs["facets"]:
            self.assertEqual([(p["value"], p["reference"]) for p in facet["pairs"]], [("gelu", "relu"), ("identity", "relu"), ("identity", "gelu")])
            self.assertEqual({p["comparisons"] for p in facet["pairs"]}, {6})
        verdict = pairs["facets"][0]["pairs"][2]["verdict"]
        self.assertEqual(verdict, "worse")  # a linear layer never learns XOR
        text = self.ok("compare", "runs/study", "--pairs", "all").stdout
        self.assertIn("identity is worse than gelu at every expansion", " ".join(text.split()))
        self.assertRegex(text, r"1 +identity +gelu .* worse")
        self.assertIn("| **1** | **identity** | **gelu** |", self.ok("compare", "runs/study", "--pairs", "all", "--markdown").stdout)
        rows = list(csv.DictReader(io.StringIO(self.ok("compare", "runs/study", "--pairs", "all", "--csv").stdout)))
        self.assertEqual([r["verdict"] for r in rows if r["reference"] == "gelu"], ["worse", "worse"])
        self.assertEqual(len(rows), 8)
        self.ok("report", "runs/study", "--pairs", "all", "-o", "page.html")
        self.assertRegex((self.tmp / "page.html").read_text(), r'<td>identity</td><td>gelu</td>')

    def test_main_effects_and_interactions_are_shown_in_every_form(self):
        result = self.compared("--interaction")["interaction"]
        self.assertEqual((result["key"], len(result["contrasts"]), {x["comparisons"] for x in result["contrasts"]}), ("model.ffn.expansion", 4, {8}))
        text = " ".join(self.ok("compare", "runs/study", "--interaction").stdout.split())
        for part in ("Does the answer depend on expansion?", "gelu expansion 8 against 1", "times cut at 600 steps"):
            self.assertIn(part, text)
        self.assertIn("mean over expansion", self.ok("compare", "runs/study", "--interaction", "--markdown").stdout)
        rows = list(csv.DictReader(io.StringIO(self.ok("compare", "runs/study", "--interaction", "--csv").stdout)))
        self.assertEqual([r["contrast"] for r in rows if r["model.ffn.activation"] == "gelu"], ["", "", "main effect", "against 1"])
        self.ok("report", "runs/study", "--interaction", "-o", "page.html")
        self.assertIn("mean over expansion", (self.tmp / "page.html").read_text())

    def test_an_answer_that_depends_on_a_sure_interaction_says_so(self):
        text = " ".join(self.ok("compare", "runs/study", "--interaction").stdout.split())
        sure = [x["value"] for x in self.compared("--interaction")["interaction"]["contrasts"] if x["contrast"] == "interaction" and x["verdict"] in ("better", "worse")]
        self.assertTrue(sure)
        self.assertIn(f"how {' and '.join(sure)} differ", text)
        self.assertIn("depends on expansion", text)

    def test_the_study_declares_pairs_and_interaction_and_compare_takes_them_over(self):
        self.ok("--config", self.write("study.json", with_compare(STUDY, pairs="all", interaction=True)), "-q")
        result = self.compared()
        self.assertEqual(result["facets"][0]["pairs"][0]["comparisons"], 10)
        self.assertEqual(result["facets"], json.loads((self.tmp / "runs/study/compare.json").read_text())["facets"])
        self.assertEqual(result["interaction"], json.loads((self.tmp / "runs/study/compare.json").read_text())["interaction"])


class Refusals(ProgramTest):
    def test_an_interaction_needs_exactly_one_further_key_before_anything_is_trained(self):
        one = {**STUDY, "sweep": {"grid": {"model.ffn.activation": ["relu", "gelu"]}}}
        self.assertIn("there is none", self.fails(2, "--config", self.write("study.json", with_compare(one, interaction=True))))
        three = {**STUDY, "sweep": {"grid": {**STUDY["sweep"]["grid"], "train.optimizer.lr": [0.001, 0.002]}}}
        error = self.fails(2, "--config", self.write("study.json", with_compare(three, interaction=True)))
        self.assertIn("model.ffn.expansion and train.optimizer.lr", error)
        self.assertFalse((self.tmp / "runs").exists())

    def test_a_sequential_design_takes_all_pairs_and_refuses_the_best_and_interactions(self):
        sequential = {**STUDY, "seeds": {"until": "settled", "max": 8}}
        error = self.fails(2, "--config", self.write("study.json", with_compare(sequential, pairs="best")))
        self.assertIn("/compare/pairs", error)
        self.assertIn('"all"', error)
        self.assertIn("/compare/interaction", self.fails(2, "--config", self.write("study.json", with_compare(sequential, interaction=True))))
        self.ok("--config", self.write("study.json", with_compare(sequential, pairs="all")), "-q")
        result = json.loads(self.ok("compare", "runs/study", "--json").stdout)
        self.assertEqual(result["sequential"]["comparisons"], 6)
        self.assertEqual([len(f["pairs"]) for f in result["facets"]], [3, 3])
        self.assertTrue(all("sequential" in p for f in result["facets"] for p in f["pairs"]))

    def test_a_plan_detects_less_the_more_comparisons_share_the_error(self):
        def detectable(**keys):
            path = self.write("study.json", with_compare({**STUDY, "seeds": 20}, **keys))
            return json.loads(self.ok("plan", path, "--no-probe", "--json").stdout)["smallest_detectable_difference_sd"]
        alone, four = detectable(alpha=0.0125), detectable()
        self.assertLess(detectable(alpha=0.2), four)
        self.assertLess(four, alone)
        self.assertLess(four, detectable(pairs="all"))
        self.assertEqual(detectable(pairs="all"), detectable(pairs="best"))
        self.assertLess(detectable(pairs="all"), detectable(pairs="all", interaction=True))
        # SciPy's noncentral t at 20 seeds and 0.05 / 4; at 0.05 it is 0.660.
        text = self.ok("plan", self.write("study.json", {**STUDY, "seeds": 20}), "--no-probe").stdout
        self.assertIn("(4 comparisons at 5 %", " ".join(text.split()))
        self.assertAlmostEqual(four, 0.81459, places=4)

    def test_the_command_that_decides_leaves_out_what_a_sequential_design_does_not_take(self):
        study = with_compare({**STUDY, "seeds": 5}, pairs="best", interaction=True)
        error = self.ok("--config", self.write("study.json", study)).stderr
        command = shlex.split(error[error.index("next, for what is not sure: ") :].splitlines()[0].split(": ", 1)[1])
        self.assertIn("compare.interaction=false", command)
        self.assertIn("compare.pairs=all", command)
        self.ok("plan", "--no-probe", "study.json", *(word for word in command if "=" in word))


class Headlines(ProgramTest):
    def test_no_variant_is_the_first_of_all_where_verdicts_differ_between_groups(self):
        self.ok("why-ffn", "-q", "seeds=7")
        text = " ".join(self.ok("compare", "runs/why-ffn").stdout.split())
        verdicts = {json.dumps(f["keys"]): [p["verdict"] for p in f["pairs"]] for f in json.loads(self.ok("compare", "runs/why-ffn", "--json").stdout)["facets"]}
        self.assertEqual(sorted(map(str, verdicts.values())), ["['better']", "['same']", "['undecided']"])
        self.assertTrue(text.startswith("positionwise has the highest val/accuracy at scores position; no sure difference at no attention and content."), text)
        self.assertNotIn("taken together", text)


if __name__ == "__main__":
    main()
