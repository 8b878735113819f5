#!/usr/bin/env python3
"""A verdict is sure of runs that were first trained for its question; claims are frozen before the first run."""
import json
import shutil

from program import ROOT, ProgramTest, main, run_at

PAIR = ("xor", "model.ffn.activation=relu,gelu", "train.eval_every=1", "train.steps=60", "-q")


def words(text):
    return " ".join(text.split())


class LooksTest(ProgramTest):
    def study(self, name="runs/s"):
        return json.loads((self.tmp / name / "study.json").read_text())

    def train(self, *arguments, code=0):
        given = {word.partition("=")[0] for word in arguments}
        result = self.run_program(*(word for word in PAIR if "=" not in word or word.partition("=")[0] not in given), *arguments)
        self.assertEqual(result.returncode, code, result.stderr + result.stdout)
        return words(result.stdout)

    def assert_sure(self, text):
        self.assertIn("Sure: gelu is ", text)
        self.assertNotIn("uggestive", text)

    def assert_suggestive(self, text, *parts):
        self.assertNotIn("Sure", text)
        self.assertIn("uggestive", text)
        for part in parts:
            self.assertIn(part.lower(), text.lower())

    def test_seeds_that_are_added_to_a_study_make_it_suggestive_and_taken_away_it_is_sure_again(self):
        self.assert_sure(self.train("name=s", "seeds=8"))
        for seeds in (10, 6):
            self.assert_suggestive(self.train("name=s", f"seeds={seeds}"), "seeds seen before, in s: suggestive.")
        self.assert_suggestive(words(self.ok("compare", "runs/s", "--metric", "val/loss").stdout), "Other question than declared: metric; seeds seen before, in s")
        self.assert_sure(self.train("name=s", "seeds=8"))
        for directory in ("runs/s", "runs", "runs/s/."):
            self.assert_sure(words(self.ok("compare", directory).stdout))
        self.assert_sure(words(self.ok("compare", "runs/s", "--metric", "steps_to_target", "--reference", "relu").stdout))
        self.ok("report", "runs/s")
        self.assertIn("Sure: gelu", (self.tmp / "runs/s/report.html").read_text())

    def test_pilots_are_spent_whatever_they_said(self):
        for seeds in (1, 5):
            self.assertIn("too few", self.train("name=pilot", f"seeds={seeds}", "model.ffn.activation=relu,gelu,silu"))
        self.assert_suggestive(self.train("name=chosen", "seeds=8"), "seeds seen before, in pilot: suggestive.")
        self.assertNotIn("uggestive", self.train("name=fresh", "seeds=" + json.dumps(list(range(8, 20)))))  # seeds of its own, after whatever others showed

    def test_a_run_that_nothing_was_shown_of_is_seen_and_rm_keeps_the_record(self):
        self.train("name=part", "--shard", "1/2", "seeds=16")
        self.assert_suggestive(words(self.ok("compare", "runs/part").stdout), "are not finished", "The study's command trains the rest")
        self.ok("rm", "runs/part", "--yes")
        self.assert_suggestive(self.train("name=other", "seeds=12"), "seeds seen before, in part")
        self.assert_sure(self.train("name=part", "seeds=16"))  # what was declared first

    def test_what_merge_brings_is_judged_by_its_own_declaration_and_not_recorded(self):
        for shard in ("1/2", "2/2"):
            self.ok(*PAIR, "name=s", "seeds=12", "--shard", shard, "-o", f"part{shard[0]}", "-q")
        self.ok("merge", "part1/s", "part2/s", "-o", "runs/s")
        self.assert_sure(words(self.ok("compare", "runs/s").stdout))
        self.assert_suggestive(words(self.ok("compare", "runs/s", "--metric", "val/loss").stdout), "Other question than declared")
        self.assert_sure(self.train("name=t", "seeds=14"))
        self.assert_suggestive(words(self.ok("compare", "runs/s").stdout), "seeds seen before, in t")

    def test_a_level_above_5_percent_is_said(self):
        self.assertIn("Sure at 20 %: gelu is", self.train("name=s", "seeds=8", "compare.alpha=0.2").replace("\u00a0", " "))

    def test_another_grid_on_the_same_seeds_is_another_question(self):
        study = ("xor", "model.ffn.activation=relu,identity", "seeds=6", "train.steps=60", "compare.metric=val/loss", "tune.seeds=1", "-q")
        for name, grid, is_seen in (("first", "0.01,0.011", False), ("second", "0.02,0.021", True)):
            self.ok(*study, f"name={name}", f"tune.train.optimizer.lr={grid}")
            qualification = json.loads(self.ok("compare", f"runs/{name}", "--json").stdout)["qualification"]
            self.assertEqual("Seeds seen before, in first" in qualification, is_seen, qualification)

    def test_a_stretch_within_seen_seeds_may_be_picked_by_one_variant(self):
        self.train("name=alone", "seeds=14", "model.ffn.activation=relu")
        self.assertNotIn("uggestive", self.train("name=longer", "seeds=16"))
        self.assert_suggestive(self.train("name=picked", "model.ffn.activation=relu,silu", "seeds=[5,6,7,8,9,10,11,12]"), "seeds seen before, in alone, longer")

    def test_another_tuned_key_on_the_same_seeds_is_another_question(self):
        study = ("xor", "model.ffn.activation=relu,identity", "seeds=6", "train.steps=60", "compare.metric=val/loss", "tune.seeds=1", "tune.retune=per_seed", "-q")
        self.ok(*study, "name=first", "tune.train.optimizer.weight_decay=0.01,0.010001")
        self.ok(*study, "name=second", "tune.train.optimizer.beta2=0.999,0.9990001")
        self.assertIn("seen before, in first", json.loads(self.ok("compare", "runs/second", "--json").stdout)["qualification"])

    def test_a_key_without_effect_makes_no_new_data(self):
        self.assert_sure(self.train("name=s", "seeds=8"))
        self.assert_suggestive(self.train("name=u", "seeds=8", "train.clip_norm=1e9", "train.eval_every=3", "compare.min_effect=1"), "seeds seen before, in s")
        self.assert_suggestive(self.train("name=t", "seeds=8", "train.clip_norm=1e9", "compare.min_effect=1"), "seeds seen before, in s")

    def test_a_study_of_other_runs_changes_nothing(self):
        self.train("name=s", "seeds=8")
        self.assertNotIn("uggestive", self.train("name=rate", "seeds=8", "train.optimizer.lr=0.02"))
        shared_reference = self.train("name=reference", "seeds=8", "model.ffn.activation=relu,identity")
        self.assertNotIn("uggestive", shared_reference)
        (self.tmp / "runs/s/study.json").write_text("{")
        self.assert_suggestive(self.train("name=more", "seeds=12"), "seeds seen before, in s")

    def test_a_damaged_record_leaves_nothing_sure_until_it_is_moved_away(self):
        self.train("name=s", "seeds=8")
        record = self.tmp / "runs/.seen.json"
        record.write_bytes(record.read_bytes()[:300])
        for command in (("compare", "runs/s"), (*PAIR, "name=t", "seeds=12")):
            result = self.run_program(*command)
            self.assert_suggestive(words(result.stdout), "it is not known which seeds were seen")
            self.assertIn("runs/.seen.json", result.stderr)
            self.assertIn("moved away", words(result.stderr))
        record.rename(self.tmp / "lost.json")
        self.assert_sure(words(self.ok("compare", "runs/s").stdout))

    def test_another_question_about_the_same_runs_is_suggestive_in_every_format(self):
        self.train("name=s", "seeds=8")
        for question in (["--metric", "val/loss"], ["--reference", "gelu"], ["--alpha", "0.1"], ["--min-effect", "5"], ["--metric", "val/loss", "--scale", "ranks"],
                         ["--by", "variant"]):
            self.assert_suggestive(words(self.ok("compare", "runs/s", *question).stdout), "other question than declared")
        other = ("compare", "runs/s", "--metric", "val/loss")
        for form in ("--details", "--markdown"):
            self.assert_suggestive(words(self.ok(*other, form).stdout))
        self.assertIn(",qualification,scope,answer\n", self.ok(*other, "--csv").stdout.splitlines(True)[0])
        self.assertIn("suggestive", self.ok(*other, "--csv").stdout)
        answer = json.loads(self.ok(*other, "--json").stdout)
        self.assertIn("suggestive", answer["qualification"])
        self.ok("report", "runs/s", "--metric", "val/loss")
        for text in ((self.tmp / "runs/s/report.html").read_text(), self.ok(*other, "--latex").stdout):
            self.assertIn("suggestive", text)
            self.assertNotIn("Sure", text)
        self.assert_sure(words(self.ok("compare", "runs/s").stdout))

    def test_the_same_runs_under_another_name_are_the_same_runs(self):
        self.assert_sure(self.train("name=s", "seeds=8"))
        self.assert_sure(self.train("name=copy", "seeds=8"))
        for name, *change in (("more", "seeds=12"), ("other", "seeds=8", "compare.metric=val/loss"), ("target", "seeds=8", "train.target.at_least=0.95"),
                              ("wider", "seeds=8", "model.ffn.activation=relu,gelu,silu")):
            self.assert_suggestive(self.train(f"name={name}", *change), "seeds seen before, in s")
        self.assert_sure(words(self.ok("compare", "runs/copy").stdout))
        self.assert_sure(self.train("name=third", "seeds=[7,6,5,4,3,2,1,0]"))
        self.assert_sure(self.train("name=s", "seeds=8", "-o", "elsewhere"))
        self.assert_suggestive(self.train("name=s", "seeds=10", "-o", "elsewhere", "--fresh"), "seeds seen before, in s")

    def test_parts_of_a_study_and_runs_of_several_are_never_sure(self):
        self.train("name=s", "seeds=8")
        self.train("name=b", "seeds=8", "train.optimizer.lr=0.02")
        self.assert_suggestive(words(self.ok("compare", *(f"runs/s/activation={a}/seed-{s}" for a in ("relu", "gelu") for s in range(6))).stdout))
        self.assert_suggestive(words(self.ok("compare", "runs/s", "runs/b").stdout), "runs of several studies")
        shutil.copytree(self.tmp / "runs/s/activation=gelu", self.tmp / "loose/gelu")
        shutil.copytree(self.tmp / "runs/s/activation=relu", self.tmp / "loose/relu")
        self.assert_suggestive(words(self.ok("compare", "loose").stdout), "belong to no study's plan")

    def test_a_study_that_is_not_complete_is_never_sure(self):
        self.train("name=s", "seeds=12")
        for activation in ("relu", "gelu"):
            shutil.rmtree(run_at(self.tmp / f"runs/s/activation={activation}/seed-11"))
        self.assert_suggestive(words(self.ok("compare", "runs/s").stdout), "2 of 24 runs are not finished")
        self.assert_sure(self.train("name=s", "seeds=12"))

    def test_a_shard_prints_counts_and_no_verdicts(self):
        result = self.run_program(*PAIR[:-1], "name=s", "seeds=16", "--shard", "1/2")
        self.assertEqual((result.returncode, result.stdout), (0, ""), result.stderr)
        self.assertIn("shard 1 of 2", result.stderr)
        document = json.loads(self.ok(*PAIR, "name=s", "seeds=16", "--shard", "2/2", "--json").stdout)
        self.assertEqual((document["runs"], document["planned"], document["part"]), (16, 32, "shard 2 of 2"))
        self.assertFalse((self.tmp / "runs/s/compare.json").exists())
        self.assert_sure(words(self.ok("compare", "runs/s").stdout))

    def test_a_sequential_design_pays_for_its_own_analyses_and_for_no_others(self):
        self.assert_sure(self.train("name=s", "seeds=auto"))
        self.assert_sure(words(self.ok("compare", "runs/s").stdout))
        self.assert_suggestive(words(self.ok("compare", "runs/s", "--metric", "val/loss").stdout), "adds seeds until its own question is decided")
        self.assert_suggestive(self.train("name=again", "seeds=auto", "compare.alpha=0.1"), "seeds seen before, in s")
        self.assert_suggestive(self.train("name=fixed", "seeds=8"), "seeds seen before, in s")

    def test_a_link_from_elsewhere_does_not_hide_what_lies_beside_a_study(self):
        self.train("name=s", "seeds=12")
        for part in ("1/2", "2/2"):
            self.train("name=other", "seeds=14", "--shard", part)
        (self.tmp / "elsewhere").mkdir()
        (self.tmp / "elsewhere/other").symlink_to(self.tmp / "runs/other")
        self.assert_suggestive(words(self.ok("compare", "elsewhere/other").stdout), "seeds seen before, in s")

class ClaimsTest(ProgramTest):
    STUDY = {"extends": str(ROOT / "configs/xor.json"), "seeds": 8, "train": {"eval_every": 1, "steps": 60}, "sweep": {"grid": {"model.ffn.activation": ["relu", "gelu", "silu"]}}}

    def config(self, *claims, **more):
        return self.write("s.json", {**self.STUDY, **more, "expect": [{"claim": text, "check": check} for text, check in claims]})

    def outcomes(self, name="s"):
        answer = json.loads(self.ok("compare", f"runs/{name}", "--json").stdout)
        return [(e["claim"], e["outcome"], e["after_results"]) for e in answer["expect"]]

    def test_a_claim_holds_is_refuted_or_is_not_shown(self):
        config = self.config(("worse", {"value": "gelu", "verdict": "worse"}), ("better", {"value": "gelu", "verdict": "better"}),
                             ("not better", {"value": "gelu", "verdict_not": "better"}), ("not worse", {"value": "gelu", "verdict_not": "worse"}),
                             ("equal", {"value": "gelu", "verdict": "no meaningful difference"}),
                             ("at most 100", {"value": "relu", "mean_at_most": 100}), ("at most 1", {"value": "relu", "mean_at_most": 1}),
                             ("at most its mean", {"value": "relu", "mean_at_most": 6.6}), ("at least 100", {"value": "relu", "mean_at_least": 100}))
        result = self.run_program("--config", config, "name=s", "-q")
        self.assertEqual(result.returncode, 5, result.stderr)
        self.assertEqual([(claim, outcome) for claim, outcome, late in self.outcomes()],
                         [("worse", "holds"), ("better", "refuted"), ("not better", "holds"), ("not worse", "refuted"), ("equal", "refuted"),
                          ("at most 100", "holds"), ("at most 1", "refuted"), ("at most its mean", "not shown"), ("at least 100", "refuted")])

    def test_too_few_and_undecided_show_nothing_and_exit_with_5(self):
        for check in ({"value": "gelu", "verdict_not": "better"}, {"value": "gelu", "verdict": "worse"}):
            config = self.config(("c", check), seeds=3)
            name = "a" if "verdict" in check else "b"
            self.assertEqual(self.run_program("--config", config, f"name={name}", "-q", "-o", f"runs/{name}").returncode, 5)
            self.assertEqual(self.outcomes(f"{name}/{name}"), [("c", "not shown", False)])

    def test_a_claim_may_name_a_variant_by_its_label(self):
        sweep = {"include": [{"label": "plain", "model.ffn.activation": "relu"}, {"label": "smooth", "model.ffn.activation": "gelu"}]}
        path = self.config(("smooth is better", {"value": "smooth", "verdict": "better"}), sweep=sweep)
        self.run_program("--config", path, "name=s", "-q")
        self.assertIn(self.outcomes()[0][1], ("holds", "refuted"))
        self.assertIn("has no verdict", " ".join(self.fails(2, "validate", self.config(("no", {"value": "plain", "verdict": "better"}), sweep=sweep)).split()))

    def test_claims_are_frozen_before_the_first_run(self):
        claims = [("gelu is worse", {"value": "gelu", "verdict": "worse"})]
        self.ok("--config", self.config(*claims), "name=s", "-q")
        frozen = json.loads((self.tmp / "runs/s/study.json").read_text())["claims"]
        self.assertEqual([(c["claim"], c["check"]) for c in frozen], claims)
        self.assertRegex(frozen[0]["date"], r"^\d{4}-\d\d-\d\dT")
        later = self.config(*claims, ("gelu is no better", {"value": "gelu", "verdict_not": "better"}), ("GELU is worse", claims[0][1]))
        text = words(self.ok("--config", later, "name=s", "-q").stdout)
        self.assertIn("claim: gelu is worse: holds", text)
        self.assertIn("claim: gelu is no better (after the results): holds", text)
        self.assertIn("claim: GELU is worse (after the results): holds", text)
        self.assertEqual([late for _, _, late in self.outcomes()], [False, True, True])
        self.assertEqual(json.loads((self.tmp / "runs/s/study.json").read_text())["claims"], frozen)
        self.ok("report", "runs/s")
        self.assertIn("GELU is worse (after the results)", (self.tmp / "runs/s/report.html").read_text())

    def test_claims_about_runs_that_were_looked_at_under_another_name_come_after_the_results(self):
        self.ok("--config", self.config(), "name=first", "-q")
        self.ok("--config", self.config(("gelu is worse", {"value": "gelu", "verdict": "worse"})), "name=s", "-q")
        self.assertEqual(self.outcomes(), [("gelu is worse", "holds", True)])

    def test_expect_is_documented_with_an_example_of_each_check(self):
        for text in (self.ok("list", "keys", "expect").stdout, self.ok("schema").stdout):
            for check in ("verdict", "verdict_not", "mean_at_least", "mean_at_most", "facet"):
                self.assertIn(check, text)


if __name__ == "__main__":
    main()
