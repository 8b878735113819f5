#!/usr/bin/env python3
"""Files that are damaged, lost, moved or another run's: named, and what they were is trained again; nothing else is moved or deleted."""
import json
import shutil
import subprocess
import time

from program import ProgramTest, main, run_at
from test_studies import STUDY, run_bits

RUNS = [f"activation={a}/seed-{s}" for a in ("relu", "silu") for s in range(3)]


class Damage(ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("study.json", {**STUDY, "train": {**STUDY["train"], "steps": 600}})

    def train(self, out="runs", *more):
        return self.ok("--config", "study.json", "-o", out, *more).stderr

    def run_path(self, run=RUNS[0], out="runs"):
        return run_at(self.tmp / out / "study" / run)

    def words(self, *arguments):
        result = self.run_program(*arguments)
        return result.returncode, " ".join((result.stdout + result.stderr).split())


class Runs(Damage):
    def test_each_damaged_file_is_named_and_its_run_trained_again_and_no_other(self):
        self.train()
        whole = run_bits(self.tmp / "runs")
        intact = {p: p.stat().st_mtime_ns for p in (self.tmp / "runs").rglob("run.json")}
        for name in ("run.json", "metrics.jsonl", "model.safetensors"):
            run = self.run_path()
            shown = str(run.relative_to(self.tmp))
            data = (run / name).read_bytes()
            (run / name).write_bytes(data[:-3] + bytes([data[-3] ^ 1]) + data[-2:])
            code, said = self.words("check", "runs")
            self.assertEqual(code, 3)
            for text in (shown, name + ": ", "renames the run's directory and trains it anew", "1 damaged, 5 whole"):
                self.assertIn(text, said)
            said = self.train()
            self.assertIn(f"{shown} is damaged: {name}: ", said)
            self.assertIn(f"renamed to {run.name}.damaged-", said)
            self.assertIn("1 trained now, 5 found", said)
            self.assertEqual(run_bits(self.tmp / "runs"), whole)
        self.assertEqual({p.name for p in run.parent.glob("*.damaged-*")}, {f"{run.name}.damaged-{n}" for n in (1, 2, 3)})
        self.assertEqual([p for p, time_ns in intact.items() if p.parent != run and p.stat().st_mtime_ns != time_ns], [])
        self.ok("clean", "runs", "--yes")
        self.assertEqual(list(run.parent.glob("*.damaged-*")), [])

    def test_compare_counts_no_run_that_was_changed_and_names_what_is_missing(self):
        self.train()
        path = self.run_path() / "run.json"
        path.write_text(path.read_text().replace('"activation": "relu"', '"activation": "gelu"'))
        shutil.rmtree(self.run_path(RUNS[4]))
        _, text = self.words("compare", "runs/study")
        self.assertNotIn("gelu", text)
        self.assertIn("1 run is left out", text)
        self.assertIn("activation=relu/seed-0.", text)
        self.assertIn("1 run is not there, but listed in study.json: runs/study/activation=silu/seed-1.", text)
        groups = json.loads(self.ok("compare", "runs/study", "--json").stdout)["facets"][0]["groups"]
        self.assertEqual([(g["runs"], g["pending"]) for g in groups], [(3, 1), (3, 1)])

    def test_a_run_that_cannot_be_read_ends_the_command_and_is_named(self):
        self.train()
        file = self.run_path() / "run.json"
        file.unlink()
        file.symlink_to(file.name)  # to itself: nobody can read it, root neither
        for command in (("compare", "runs/study"), ("report", "runs/study"), ("export", "runs/study", "--csv"), ("study.json", "-q")):
            self.assertIn(str(file.relative_to(self.tmp)), self.fails(3, *command), command)

    def test_a_link_in_the_place_of_a_result_is_replaced_and_what_it_leads_to_stays(self):
        self.train()
        thesis = self.write("thesis.txt", "the only copy\n")
        for file in [self.tmp / "runs/study/compare.json", *(self.run_path() / name for name in ("metrics.jsonl", "model.safetensors", "run.json"))]:
            file.unlink()
            file.symlink_to(thesis)
        self.run_program("study.json", "-q")
        self.assertEqual(thesis.read_text(), "the only copy\n")

    def test_a_damaged_study_file_of_the_tuning_runs_is_written_anew_by_the_command(self):
        tuned = ("study.json", "tune.train.optimizer.lr=0.01,0.02", "tune.seeds=1")
        self.run_program(*tuned, "-q")
        (self.tmp / "runs/study/tuning/study.json").write_text("{")
        self.assertEqual(self.run_program("check", "runs").returncode, 3)
        self.assertIn("written again", self.run_program(*tuned, "-q").stderr)
        self.assertEqual(self.run_program("check", "runs").returncode, 0)

    def test_a_study_whose_directory_vanishes_while_it_runs_fails_and_the_next_start_is_whole(self):
        for how in ("removed", "moved"):
            process = subprocess.Popen(self.command("--config", "study.json", "-o", how, "-j", "1", "train.steps=200000", "train.eval_every=2000", "train.checkpoint_every=2000"),
                                       cwd=self.tmp, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            deadline = time.time() + 60
            while time.time() < deadline and not list((self.tmp / how).rglob("checkpoint.safetensors")):
                time.sleep(0.01)
            study = self.tmp / how / "study"
            while study.exists() and time.time() < deadline + 30:
                try:
                    shutil.rmtree(study) if how == "removed" else study.rename(self.tmp / (how + "-away"))
                except OSError:  # the workers are writing
                    time.sleep(0.01)
            _, errors = process.communicate(timeout=120)
            self.assertIn(process.returncode, (1, 3, 4), errors)
            self.assertIn("No such file", errors)
            self.assertEqual(list(study.rglob("model.safetensors")), [])
            self.train(how)
            self.assertEqual(self.ok("check", how).stdout.strip().splitlines()[-1], "6 runs: 6 whole")


class Beside(Damage):
    def test_another_config_under_the_same_name_trains_beside_the_first(self):
        self.train()
        first = run_bits(self.tmp / "runs")
        said = self.train("runs", "train.steps=300")
        self.assertIn("6 trained now, 0 found", said)
        both = run_bits(self.tmp / "runs")
        self.assertEqual(len(both), 12)
        self.assertEqual({run: both[run] for run in first}, first)
        self.assertIn("6 runs are left out", self.words("compare", "runs/study")[1])
        self.assertNotIn("seen before", self.words("compare", "runs/study")[1])  # at other runs
        self.assertIn("0 trained now, 6 found", self.train())
        self.assertIn("may be any of 2 runs", self.words("inspect", "runs/study/activation=relu/seed-0")[1])

    def test_fresh_renames_results_and_no_directory_of_a_persons(self):
        self.train()
        self.assertIn("runs/study.old-1", self.train("runs", "--fresh"))
        self.assertEqual(len(list((self.tmp / "runs/study.old-1").rglob("model.safetensors"))), 6)
        self.write("mine/study/thesis.txt", "mine")
        self.assertIn("thesis.txt", self.fails(3, "--config", "study.json", "-o", "mine", "--fresh"))
        self.assertEqual((self.tmp / "mine/study/thesis.txt").read_text(), "mine")


class StudyFiles(Damage):
    def test_a_study_file_that_is_lost_or_damaged_is_named_set_aside_and_written_again(self):
        self.train()
        study = self.tmp / "runs/study"
        path = study / "study.json"
        content = path.read_bytes()
        for n, damage in enumerate((None, b"", content[:-9], content.replace(b'"relu"', b'"rela"', 1), "directory")):
            path.unlink()
            if damage == "directory":
                (path / "mine").mkdir(parents=True)
            elif damage is not None:
                path.write_bytes(damage)
            for command in ("check", "compare"):
                code, said = self.words(command, "runs/study")
                self.assertEqual(code, 3 if command == "check" else 0, said)
                for part in ("runs/study/study.json", "not known without it: which runs are the study's, its reference", "every run below it counts instead",
                             "start the study's command again"):
                    self.assertIn(part, said)
            again = self.train()
            self.assertIn("6 found finished", again)
            self.assertEqual(f"renamed to study.json.damaged-{n} and written again" in " ".join(again.split()), n > 0, again)
            self.assertEqual(path.read_bytes(), content)
            self.assertEqual(len(list(study.glob("study.json.damaged-*"))), n)
            self.assertIn("6 whole", self.ok("check", "runs").stdout)
            self.assertNotIn("not known", self.words("compare", "runs/study")[1])
        self.assertTrue((study / "study.json.damaged-4/mine").is_dir())
        self.ok("clean", "runs", "--yes")
        self.assertEqual([p.name for p in study.glob("study.json.*")], ["study.json.damaged-4"])


class OtherVersions(ProgramTest):
    def test_results_of_another_schema_version_are_refused_and_left_alone(self):
        self.ok("xor", "train.steps=20", "seeds=2", "-q")
        files = sorted((self.tmp / "runs").rglob("*.json"))
        for path in files:
            path.write_text(path.read_text().replace('"schema_version": 4', '"schema_version": 3'))
        before = {p: p.read_bytes() for p in files}
        for command in (("compare", "runs/xor"), ("xor", "train.steps=20", "seeds=2")):
            self.assertIn("schema_version 3, this ffn-train reads 4; use the one that wrote it, or train again in another directory", " ".join(self.fails(3, *command).split()))
        listed = self.ok("runs", "runs/xor").stdout
        self.assertIn("another version's", listed)
        self.assertNotIn("damaged", listed)
        self.assertEqual({p: p.read_bytes() for p in files}, before)
        self.ok("xor", "train.steps=20", "seeds=2", "-q", "--fresh")


class NoRoom(Damage):
    def test_a_log_that_cannot_be_written_costs_no_line(self):
        log = self.tmp / "runs/study/log.txt"
        log.parent.mkdir(parents=True)
        log.symlink_to("/dev/full")
        result = self.run_program("--config", "study.json")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotIn("LOG ERROR", result.stderr)
        self.assertIn("6 trained now", result.stderr)


if __name__ == "__main__":
    main()
