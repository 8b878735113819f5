#!/usr/bin/env python3
"""Results that are there: finding runs, telling them apart, removing them, and notes about them."""
import calendar
import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import time

from program import ProgramTest, main, record, run_at

XOR = {"name": "xor", "task": {"kind": "xor"}, "model": {"d_model": 8, "ffn": {"activation": "relu", "expansion": 4}},
       "train": {"steps": 20, "eval_every": 10, "optimizer": {"lr": 0.01}, "target": {"metric": "val/accuracy", "at_least": 0.99}}}
STUDY = {**XOR, "name": "study", "seeds": 2, "sweep": {"grid": {"model.ffn.activation": ["relu", "gelu"]}}}


class ResultsTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.ok(self.write("xor.json", XOR), "train.optimizer.lr=0.02", "-q")
        self.ok(self.write("study.json", STUDY), "-q")

    def json(self, *arguments):
        return json.loads(self.ok(*arguments, "--json").stdout)

    def name(self, path):
        """As commands print a run that is named without its identity."""
        return str(run_at(self.tmp / path).relative_to(self.tmp))


class Runs(ResultsTest):
    def found(self, *conditions, where=()):
        return [one["path"] for one in self.json("runs", *where, *(word for condition in conditions for word in ("--where", condition)))]

    def test_where_finds_runs_by_their_config_and_state(self):
        relu = [self.name(f"runs/study/activation=relu/seed-{seed}") for seed in (0, 1)]
        alone = self.name("runs/xor/seed-0")
        self.assertEqual(self.found("model.ffn.activation=relu"), [*relu, alone])
        self.assertEqual(self.found("activation=relu", "seed=1"), relu[1:])
        self.assertEqual(self.found("model.ffn.activation=relu", where=["runs/study"]), relu)
        for same in ("0.02", "2e-2", "0.020"):
            self.assertEqual(self.found(f"train.optimizer.lr={same}"), [alone])
        self.assertEqual(self.found("variant=activation=relu"), relu)
        run_at(self.tmp / relu[0]).joinpath("run.json").write_text("{")
        self.assertEqual(self.found("state=damaged"), relu[:1])
        self.assertEqual(self.found("state=done", "seed=0"), [self.name("runs/study/activation=gelu/seed-0"), alone])

    def test_where_says_what_there_is(self):
        self.assertIn('did you mean "model', self.fails(2, "runs", "--where", "model.ffn.activaton=relu"))
        self.assertIn('did you mean "state"', self.fails(2, "runs", "--where", "status=done"))
        self.assertIn("is a section", self.fails(2, "runs", "--where", "model.ffn=relu"))
        for words in ("relu", "=relu"):
            self.assertIn("--where needs key=value", self.fails(2, "runs", "--where", words))
        result = self.ok("runs", "--where", "model.ffn.activation=silu")
        self.assertIn("no such runs below runs", result.stdout)
        self.assertIn("is gelu, relu", result.stderr)
        self.assertEqual(self.found("model.ffn.activation=silu"), [])

    def test_a_named_study_is_listed_run_by_run(self):
        rows = [line.split()[0] for line in self.ok("runs", "runs/study", env={**os.environ, "COLUMNS": "200"}).stdout.splitlines()[1:]]
        runs = [f"runs/study/activation={name}/seed-{seed}" for name in ("gelu", "relu") for seed in (0, 1)]
        self.assertEqual(rows, ["runs/study", *runs])
        self.assertEqual([one["runs"] for one in self.json("runs", "runs/study")], [4, 1, 1, 1, 1])
        self.assertEqual(len(self.json("runs", "runs/study", "runs/xor")), 6)
        self.assertEqual(len(self.json("runs")), 2)
        self.ok("xor.json", "-q")
        self.assertEqual(len(re.findall(r"runs/xor/seed-0\.\w{8} ", self.ok("runs", "runs/xor").stdout)), 2)  # two runs of that path

    def test_dates_are_local_time(self):
        updated = time.strptime(record(self.tmp / "runs/xor/seed-0")["updated"], "%Y-%m-%dT%H:%M:%SZ")
        for zone, hours in (("UTC", 0), ("UTC-5", 5)):
            shown = time.strftime("%b %e %H:%M", time.gmtime(calendar.timegm(updated) + hours * 3600))
            self.assertIn(shown, self.ok("runs", "runs/xor", env={**os.environ, "TZ": zone, "COLUMNS": "200"}).stdout)
        path = run_at(self.tmp / "runs/xor/seed-0") / "run.json"
        path.write_text("{")
        os.utime(path, (1e9, 1e9))
        self.assertRegex(self.ok("runs", "runs/xor").stdout, "damaged .* 2001-09-09")


class Diff(ResultsTest):
    def keys(self, *sides):
        return {row["key"]: (row["a"], row["b"]) for row in self.json("diff", *sides)["config"]}

    def test_two_runs_differ_in_keys_and_results(self):
        sides = ("runs/study/activation=relu/seed-0", "runs/xor/seed-0")
        told = self.json("diff", *sides)
        self.assertEqual(told["config"], [{"key": "train.optimizer.lr", "a": "0.01", "b": "0.02"}])
        for side, run in zip("ab", sides):
            loss = record(self.tmp / run)["summary"]["metrics"]["val/loss"]
            self.assertEqual(told["results"][side]["metrics"]["val/loss"], {"final": loss["final"], "best": loss["best"]})
        text = self.ok("diff", *sides).stdout
        self.assertRegex(text, r"train\.optimizer\.lr +0\.01 +0\.02\n")
        self.assertRegex(text, r"val/loss( +[\d.e-]+){4}\n")

    def test_studies_and_configs_are_sides_too(self):
        self.assertEqual(self.keys("runs/study", "study.json"), {})
        self.assertIn("the same", self.ok("diff", "xor.json", "xor.json").stdout)
        self.assertEqual(self.keys("xor.json", "runs/study"), {"seed": ("0", ["0", "1"]), "model.ffn.activation": ("relu", ["relu", "gelu"])})
        self.write("other.json", {**STUDY, "compare": {"min_effect": 2}})
        self.assertEqual(self.keys("study.json", "other.json"), {"compare.min_effect": (None, "2")})
        self.write("many.json", {**XOR, "seeds": 20})
        self.assertIn("(20 values)", self.ok("diff", "xor.json", "many.json").stdout)

    def test_what_is_neither_is_refused(self):
        self.assertIn('did you mean "xor"', self.fails(2, "diff", "xor.json", "xorr"))
        (self.tmp / "empty").mkdir()
        self.assertIn("no run below empty", self.fails(3, "diff", "xor.json", "empty"))
        self.assertIn("diff needs", self.fails(2, "diff", "xor.json"))


class Rm(ResultsTest):
    def test_it_removes_its_own_files_and_names_the_others(self):
        self.ok("export", "runs/study", "--csv")
        self.ok("report", "runs/study")
        mine = [self.write(f"runs/study/{name}", "mine") for name in ("my-notes.md", "mine/log.txt", "activation=relu/plot.png", "slurm/thesis.tex", "runs.csv", "model.safetensors", "activation=relu/metrics.jsonl")]
        mine.append(self.write("runs/study/compare.json", {"of": "mine"}))
        self.write("runs/study/slurm/41_2.log", "a task's")
        self.assertIn("is not a comparison", self.ok("study.json").stderr)
        mine.append(self.write("runs/study/configs/study.json", STUDY))
        os.symlink(self.tmp / "runs/xor", self.tmp / "runs/study/link")
        before = self.files()
        result = self.run_program("rm", "runs/study")
        self.assertEqual((result.returncode, self.files()), (2, before), result.stderr)
        self.assertIn("removed: 4 runs (", result.stderr)
        self.assertIn("--yes", result.stderr)
        for name in ("my-notes.md", "mine", "configs", "activation=relu/plot.png", "link", "slurm/thesis.tex", "runs.csv", "compare.json", "model.safetensors", "activation=relu/metrics.jsonl"):
            self.assertRegex(" ".join(result.stdout.split()), rf"stays: \S*runs/study/{name},")
        self.assertIn("removed 4 runs", self.ok("rm", "runs/study", "--yes").stdout)
        self.assertEqual({f for f in self.files() if f.startswith("runs/study/")}, {str(p.relative_to(self.tmp)) for p in mine})
        self.assertTrue((self.tmp / "runs/study/link").is_symlink())
        self.ok("runs/xor/seed-0", "--dry-run")
        self.assertEqual([one["kind"] for one in self.json("runs")], ["run"])

    def test_nothing_is_left_of_a_run_and_of_a_study(self):
        told = self.json("rm", "runs/xor/seed-0", "runs/study/activation=gelu/", "--yes")
        self.assertEqual([(one["runs"], one["removed"], one["others"]) for one in told], [(1, True, []), (2, True, [])])
        self.assertEqual([f for f in self.files() if f.startswith(("runs/xor/seed", "runs/study/activation=gelu"))], [])
        self.assertFalse((self.tmp / "runs/xor").exists())
        self.ok("rm", "runs/study", "runs/study", "--yes")
        self.assertEqual(self.files(), ["runs/.seen.json", "runs/.study.lock", "study.json", "xor.json"])

    def test_other_directories_links_and_those_in_use_are_refused(self):
        before = self.files()
        os.symlink(self.tmp / "runs/xor", self.tmp / "link")
        for link in ("link", "link/"):
            self.assertIn("is a link", self.fails(2, "rm", link, "--yes"))
        self.write("mine/log.txt", "mine")
        for around in ("runs", "."):  # where a config is called study.json
            self.assertIn("name those below it", self.fails(2, "rm", around, "--yes"))
        self.assertIn("no study's directory", self.fails(2, "rm", "runs/xor/seed-0", "mine", "--yes"))
        self.assertIn("no directory", self.fails(2, "rm", "nowhere", "--yes"))
        inside = subprocess.run(self.command("rm", ".", "--yes"), cwd=self.tmp / "runs/study", capture_output=True, text=True)
        self.assertEqual(inside.returncode, 2)
        self.assertIn("this shell is in .", inside.stderr)
        locks = [(self.tmp / "runs/.study.lock", "runs/study"), (self.tmp / "runs/.study.lock", "runs/study/activation=relu/seed-0")]
        for file, place in locks:
            with open(file, "r+") as lock:
                fcntl.fcntl(lock, 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 1, 0))  # F_OFD_SETLK
                self.assertIn("another process", self.fails(75, "rm", place, "--yes"))
        self.assertEqual([f for f in self.files() if f != "mine/log.txt"], before)

    def test_a_run_that_trains_stays(self):
        self.write("long.json", {**XOR, "name": "long", "train": {**XOR["train"], "steps": 100_000_000, "eval_every": 1000}})
        process = subprocess.Popen(self.command("long.json", "-q"), cwd=self.tmp, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            while not list(self.tmp.glob("runs/long/seed-0.*/run.json")):
                time.sleep(0.05)
            for place in ("runs/long", "runs/long/seed-0"):
                self.assertIn("another process", self.fails(75, "rm", place, "--yes"))
        finally:
            process.terminate()
            process.wait(timeout=60)
        self.ok("rm", "runs/long", "--yes")
        self.assertFalse((self.tmp / "runs/long").exists())

    def test_it_asks_where_somebody_can_answer(self):
        for answer in ("n", "y"):
            leader, follower = pty.openpty()
            process = subprocess.Popen(self.command("rm", "runs/xor"), cwd=self.tmp, stdin=follower, stdout=follower, stderr=follower)
            os.write(leader, (answer + "\n").encode())
            self.assertEqual(process.wait(timeout=60), 0)
            os.close(follower)
            os.close(leader)
            self.assertEqual((self.tmp / "runs/xor").exists(), answer == "n")


class Notes(ResultsTest):
    def test_a_note_is_added_shown_and_removed(self):
        for place in ("runs/xor/seed-0", "runs/xor", "runs/study"):
            self.assertIn("no note", self.ok("note", place).stdout)
            self.ok("note", place, "overfits")
            self.assertEqual(self.ok("note", place, "from step 20").stdout, "overfits\nfrom step 20\n")
            self.assertEqual(self.json("note", place)["note"], ["overfits", "from step 20"])
            if place != "runs/study":
                self.ok("note", place, "")
        self.ok("note", "runs/xor", "alone")
        self.assertEqual([one["note"] for one in self.json("runs")], [["overfits", "from step 20"], ["alone"]])
        self.assertRegex(" ".join(self.ok("runs").stdout.split()), "overfits; from step 20.*alone")
        self.assertIn("is no run and no study", self.fails(2, "note", "runs", "words"))
        self.assertIn("no directory", self.fails(2, "note", "nowhere", "words"))

    def test_results_stay_as_they_were(self):
        run, before = run_at(self.tmp / "runs/xor/seed-0"), {}
        for place in ("runs/xor", "runs/study"):
            before[place] = {p: p.read_bytes() for p in (self.tmp / place).rglob("*") if p.is_file()}
            self.ok("note", place, "words")
        self.ok("check", "runs")
        self.assertIn("found finished", self.ok("study.json").stderr)
        self.ok("xor.json", "train.optimizer.lr=0.02", "-q")
        for files in before.values():
            for path, content in files.items():
                if path.suffix in (".safetensors", ".jsonl") or path.parent == run:
                    self.assertEqual(path.read_bytes(), content, path)

    def test_other_commands_know_them(self):
        self.ok("study.json", "-o", "there", "-q")
        relu = "study/activation=relu/seed-0"
        for place, words in (("runs/study", "ours"), ("there/study", "theirs"), (f"runs/{relu}", "same"), (f"there/{relu}", "same"), (f"there/{relu}", "other")):
            self.ok("note", place, words)
        self.ok("merge", "runs/study", "there/study", "-o", "whole")
        self.assertEqual(self.json("note", "whole")["note"], ["ours", "theirs"])
        self.assertEqual(self.json("note", relu.replace("study", "whole"))["note"], ["same", "other"])
        self.ok("study.json", "--fresh", "-q")
        self.ok("clean", "--yes")
        self.assertFalse((self.tmp / "runs/study.old-1").exists())
        self.ok("rm", "whole", "--yes")
        self.assertFalse((self.tmp / "whole").exists())


if __name__ == "__main__":
    main()
