#!/usr/bin/env python3
"""`ffn-train curves`: what it draws, its numbers, and what it survives."""
import json
import os
import shutil
import signal
import subprocess
import time

from program import ProgramTest, main, record, run_at

STUDY = {
    "name": "study", "seeds": 4, "task": {"kind": "xor", "bits": 2}, "model": {"d_model": 8, "ffn": {"kind": "positionwise", "activation": "relu"}},
    "train": {"steps": 100, "eval_every": 10, "optimizer": {"lr": 0.01}, "target": {"metric": "val/loss", "at_most": 0.1}},
    "sweep": {"grid": {"model.ffn.activation": ["relu", "gelu"]}}, "compare": {"by": "model.ffn.activation", "metric": "val/loss"},
}


def environment(**changes):
    plain = {k: v for k, v in os.environ.items() if k not in ("LC_ALL", "LC_CTYPE", "LANG", "COLUMNS", "NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE")}
    return {**plain, "LANG": "C.UTF-8", **changes}


def has_braille(text):
    return any("\u2800" < c <= "\u28ff" for c in text)


class Curves(ProgramTest):
    def study(self, **changes):
        return self.run_program(self.write("study.json", {**STUDY, **changes}), "-q")

    def drawn(self, *arguments, **changes):
        return self.ok("curves", *(arguments or ("runs/study",)), env=environment(**changes)).stdout

    def test_the_lines_end_where_compare_has_them(self):
        self.study()
        curves = json.loads(self.ok("curves", "runs/study", "--json").stdout)
        compared = json.loads(self.ok("compare", "runs/study", "--json").stdout)
        self.assertEqual((curves["metric"], curves["by"]), ("val/loss", "model.ffn.activation"))
        for group, judged in zip(curves["facets"][0]["groups"], compared["facets"][0]["groups"]):
            self.assertEqual(group["value"], judged["value"])
            steps = [p["step"] for p in group["points"]]
            self.assertEqual(steps, sorted(steps))
            self.assertEqual(steps[-1], 100)
            finals = [record(p)["summary"]["metrics"]["val/loss"]["final"] for p in sorted((self.tmp / "runs/study").glob(f"*={group['value']}/seed-*/run.json"))]
            self.assertEqual(len(finals), 4)
            product = 1
            for x in finals:
                product *= x
            self.assertAlmostEqual(group["points"][-1]["centre"] / product ** 0.25, 1, 9)  # a loss: the geometric mean

    def test_the_chart_has_axes_letters_a_key_and_the_target(self):
        self.study()
        text = self.drawn()
        self.assertTrue(has_braille(text))
        self.assertIn("val/loss", text)
        self.assertIn("level dots: the target", text)
        chart, _, key = text.rpartition("\n\n")
        for letter, name in (("a", "relu"), ("b", "gelu")):
            self.assertIn(letter, chart.partition("\n\n")[2])
            self.assertRegex(key, rf"(?m)^{letter}  {name} +100 +\S+ \[\S+, \S+\] +4$")
        self.assertIn("└", chart)
        self.assertNotIn("\033", text)

    def test_it_fits_the_width(self):
        self.study()
        for width in (60, 80, 200):
            for line in self.drawn(COLUMNS=str(width)).splitlines():
                self.assertLessEqual(len(line), width, line)
        self.assertEqual(self.drawn(LANG="C"), self.drawn())  # UTF-8 in every locale
        self.assertIn("\033[36m", self.drawn("runs/study", "--color", "always"))

    def test_metrics(self):
        self.study()
        self.assertIn("higher is better", self.drawn("runs/study", "--metric", "val/accuracy"))
        self.assertIn("train/grad_norm", self.drawn("runs/study", "--metric", "train/grad_norm"))
        self.assertIn("has no curve", self.fails(2, "curves", "runs/study", "--metric", "steps_to_target"))
        self.assertIn("val/loss", self.fails(2, "curves", "runs/study", "--metric", "val/los"))
        self.assertIn("no directory nowhere", self.fails(3, "curves", "nowhere"))

    def test_runs_that_kept_no_curves_are_said_to(self):
        self.ok("xor", "train.steps=20", "keep=summary", "-q")
        self.assertIn("kept no curves", self.fails(3, "curves", "runs/xor"))

    def test_seeds_are_those_behind_the_points(self):
        self.study()
        damaged = (run_at(self.tmp / "runs/study/activation=relu/seed-0") / "metrics.jsonl")
        damaged.write_text(damaged.read_text().replace("0", "1", 1))
        text = self.drawn()
        self.assertIn("note: not drawn: ", text)
        self.assertRegex(text, r"(?m)^a  relu .* 3 of 4$")
        self.assertRegex(text, r"(?m)^b  gelu .* 4$")

    def test_one_run(self):
        self.study()
        text = self.drawn("runs/study/activation=relu/seed-0")
        self.assertTrue(has_braille(text))
        self.assertNotIn("interval", text)

    def test_runs_of_different_lengths(self):
        self.study(sweep={"grid": {"train.steps": [50, 200]}}, compare={"by": "train.steps", "metric": "val/loss"})
        groups = json.loads(self.ok("curves", "runs/study", "--json").stdout)["facets"][0]["groups"]
        self.assertEqual([g["points"][-1]["step"] for g in groups], [50, 200])
        self.assertRegex(self.drawn(), r"(?m)^a  50 +50 .*\nb  200 +200 ")

    def test_runs_that_have_not_come_to_their_end(self):
        slow = {**STUDY, "name": "slow", "train": {**STUDY["train"], "steps": 1000000, "eval_every": 1000}}
        training = subprocess.Popen(self.command(self.write("slow.json", slow), "-q", "-j", "1"), cwd=self.tmp, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + 60
        while not any(len(p.read_bytes().splitlines()) > 3 for p in self.tmp.glob("runs/slow/*/seed-*/metrics.jsonl")) and time.monotonic() < end:
            time.sleep(0.05)
        self.assertTrue(has_braille(self.drawn("runs/slow")))  # while it trains
        training.send_signal(signal.SIGINT)
        self.assertEqual(training.wait(60), 75)
        text = self.drawn("runs/slow")
        self.assertTrue(has_braille(text))
        self.assertIn("of 4", text)

    def test_diverged_runs_do_not_flatter(self):
        self.study(train={**STUDY["train"], "optimizer": {"kind": "sgd", "lr": 1e6}})
        result = self.run_program("curves", "runs/study", env=environment())
        self.assertIn(result.returncode, (0, 3), result.stderr)
        if result.returncode == 0:
            self.assertIn("diverged", result.stdout)
        else:
            self.assertIn("val/loss yet", result.stderr)

    def test_facets_stand_beside_each_other_where_there_is_room(self):
        self.study(sweep={"grid": {"model.ffn.activation": ["relu", "gelu"], "model.ffn.expansion": [1, 4]}})
        self.assertEqual(sum("└" in line for line in self.drawn(COLUMNS="80").splitlines()), 2)
        self.assertEqual(sum("└" in line for line in self.drawn(COLUMNS="200").splitlines()), 1)

    def test_names_cannot_speak_to_the_terminal(self):
        self.study()
        hostile = self.tmp / "runs/hostile\033[2J"
        shutil.copytree(self.tmp / "runs/study/activation=relu", hostile)
        self.assertNotIn("\033", self.drawn("runs", "--by", "variant", "--all"))


if __name__ == "__main__":
    main()
