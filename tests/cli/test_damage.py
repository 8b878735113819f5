#!/usr/bin/env python3
"""Files that are damaged, lost, moved or somebody else's: never a wrong result without a word, never lost work that is intact."""
import json
import os
import resource
import shutil
import signal
import struct
import subprocess
import time

from program import ProgramTest, main
from test_studies import STUDY, run_bits

RUNS = [f"activation={a}/seed-{s}" for a in ("relu", "silu") for s in range(3)]


class Damage(ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("study.json", {**STUDY, "train": {**STUDY["train"], "steps": 600}})

    def train(self, out="runs", *more):
        return self.ok("--config", "study.json", "-o", out, *more).stderr

    def whole(self):
        self.train("whole")
        return run_bits(self.tmp / "whole")

    def run_path(self, run=RUNS[0], out="runs"):
        return self.tmp / out / "study" / run

    def half_finished(self, out="runs"):
        """Interrupted with a checkpoint of every run."""
        process = subprocess.Popen(self.command("--config", "study.json", "-o", out, "-j", "6", "train.steps=20000", "train.eval_every=100"), cwd=self.tmp,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        deadline = time.time() + 60
        while time.time() < deadline and len(list((self.tmp / out).rglob("state.safetensors"))) < 6:
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGTERM)
        _, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 75, errors)

    def go_on(self, out="runs"):
        return self.ok("--config", "study.json", "-o", out, "train.steps=20000", "train.eval_every=100").stderr


class Strangers(Damage):
    def stranger(self):
        """A finished run of another config and seed."""
        self.ok("xor", "name=mine", "seed=7", "train.steps=60", "-o", "other", "-q")
        return self.tmp / "other/mine/seed-7"

    def bytes_below(self, place):
        return {str(p.relative_to(place)): p.read_bytes() for p in sorted(place.rglob("*")) if p.is_file()}

    def test_results_of_another_run_beside_a_failed_status_step_aside(self):
        whole = self.whole()
        self.train()
        stranger, place = self.stranger(), self.run_path()
        own = {name: (place / name).read_bytes() for name in ("config.json", "status.json")}
        shutil.rmtree(place)
        shutil.copytree(stranger, place)
        (place / "config.json").write_bytes(own["config.json"])
        failed = json.loads(own["status.json"])
        place.joinpath("status.json").write_text(json.dumps({**{k: v for k, v in failed.items() if k != "checksum"}, "state": "failed", "schema_version": 1}))
        said = self.train()
        self.assertIn("summary.json: of another run; moved to", " ".join(said.split()))
        aside = self.bytes_below(place.with_name(place.name + ".old-1"))
        self.assertEqual({n: aside[n] for n in ("summary.json", "model.safetensors", "metrics.jsonl", "meta.json")},
                         {n: c for n, c in self.bytes_below(stranger).items() if n in ("summary.json", "model.safetensors", "metrics.jsonl", "meta.json")})
        shutil.rmtree(place.with_name(place.name + ".old-1"))
        self.assertEqual(run_bits(self.tmp / "runs"), whole)

    def test_a_run_that_came_into_a_place_of_a_study_is_not_marked_as_failed(self):
        stranger = self.stranger()
        before = self.bytes_below(stranger)
        text = self.write("poem.txt", "the rain in spain stays mainly in the plain\n" * 60)
        process = subprocess.Popen(self.command("text", "name=e", "task.file=poem.txt", "task.context=16", "model.d_model=16", "model.blocks=1", "train.steps=3000",
                                                "train.eval_every=500", "model.ffn.activation=relu,gelu", "seeds=3", "-j", "1"),
                                   cwd=self.tmp, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        deadline = time.time() + 60
        while time.time() < deadline and not list((self.tmp / "runs/e").rglob("metrics.jsonl")):
            time.sleep(0.01)
        place = self.tmp / "runs/e/activation=gelu/seed-2"
        place.parent.mkdir(exist_ok=True)
        stranger.rename(place)
        text.write_text("the cat sat on the mat and looked at the rat\n" * 60)  # makes the cohorts that have not begun fail
        process.communicate(timeout=120)
        self.assertEqual(process.returncode, 4)
        self.assertEqual(self.bytes_below(place), before)


class Finished(Damage):
    def test_what_a_finished_run_lost_is_said_and_made_good(self):
        whole = self.whole()
        self.train()
        for name, expected in (("status.json", "written again"), ("config.json", "written again"), ("summary.json", "trained again"),
                               ("metrics.jsonl", "trained again"), ("model.safetensors", "trained again")):
            for damage in ("deleted", "empty", "flipped", "a directory", "a link that leads nowhere"):
                path = self.run_path() / name
                content = bytearray(path.read_bytes())
                if damage in ("deleted", "a directory", "a link that leads nowhere"):
                    path.unlink()
                    if damage == "a directory":
                        path.mkdir()
                    elif damage != "deleted":
                        path.symlink_to("/nowhere/" + name)
                elif damage == "empty":
                    path.write_bytes(b"")
                else:
                    content[len(content) // 2] ^= 1
                    path.write_bytes(content)
                checked = self.run_program("check", "runs")
                self.assertEqual(checked.returncode, 3, (name, damage, checked.stdout))
                self.assertIn(name, checked.stdout)
                said = self.train()
                self.assertIn(name, said, (name, damage))
                self.assertIn(expected, said, (name, damage))
                self.assertEqual(run_bits(self.tmp / "runs"), whole)
                self.assertIn("6 runs: 6 whole", self.ok("check", "runs").stdout)
                self.assertIn("0 trained now, 6 found finished", self.train())

    def test_a_study_file_is_read_from_its_copy_whatever_stands_in_its_place(self):
        self.train()
        study = self.tmp / "runs/study"
        for name in ("study.json", "study.json.bak"):
            path = study / name
            content = path.read_bytes()
            for place in (path.mkdir, lambda path=path: path.symlink_to("/nowhere/study.json")):
                path.unlink()
                place()
                checked = self.run_program("check", "runs")
                self.assertEqual(checked.returncode, 3, checked.stdout)
                self.assertIn(name, checked.stdout)
                self.assertNotIn("no study file", checked.stdout)
                self.ok("compare", "runs/study")
                said = self.train()
                self.assertNotIn("cannot replace", said)
                self.assertIn("6 found finished", said)
                self.assertFalse(path.is_symlink())
                self.assertEqual(path.read_bytes(), content)
                self.ok("check", "runs")

    def test_check_names_what_a_comparison_does_without(self):
        self.train()
        study = self.tmp / "runs/study"
        for file in (study / "study.json.bak", study / "compare.json", self.run_path() / "meta.json"):
            whole = file.read_bytes()
            for damage in (None, b"", whole.replace(b'"seeds"', b'"seedz"').replace(b'"host"', b'"hast"')):
                file.unlink() if damage is None else file.write_bytes(damage)
                harmless = damage == whole or (damage != b"" and file.name == "compare.json")
                result = self.run_program("check", "runs")
                self.assertEqual(result.returncode, 0 if harmless else 3, (file, damage, result.stdout))
                self.assertEqual(file.name + ":" in result.stdout, not harmless, result.stdout)
                if file.name != "meta.json":  # the remedy that is named
                    self.train()
                    self.ok("check", "runs")
            file.write_bytes(whole)

    def test_compare_believes_no_config_that_was_changed_and_names_what_is_missing(self):
        self.train()
        path = self.run_path() / "config.json"
        path.write_text(path.read_text().replace("relu", "gelu"))
        odd = self.run_path(RUNS[1]) / "config.json"
        config = json.loads(odd.read_text())
        odd.write_text(json.dumps({**config, "seed": "0"}))
        shutil.rmtree(self.run_path(RUNS[4]))
        text = " ".join(self.ok("compare", "runs/study").stdout.split())
        self.assertNotIn("gelu", text)
        self.assertIn("2 runs are left out, for damage", text)
        self.assertIn("activation=relu/seed-0/config.json", text)
        self.assertIn("1 run is not there, but listed in study.json: runs/study/activation=silu/seed-1", text)
        groups = json.loads(self.ok("compare", "runs/study", "--json").stdout)["facets"][0]["groups"]
        self.assertEqual([(g["runs"], g["pending"]) for g in groups], [(3, 2), (3, 1)])

    def test_a_run_of_version_0_1_whose_config_was_changed_is_left_out(self):
        """Its files have no checksums; the identity tells."""
        self.train()
        for run in RUNS:
            for name in ("status.json", "summary.json"):
                path = self.run_path(run) / name
                content = json.loads(path.read_text())
                for key in ("checksum", "config_checksum", "files"):
                    content.pop(key, None)
                path.write_text(json.dumps({**content, "schema_version": 1}))
        self.assertIn("0 trained now, 6 found finished", self.train())
        self.assertNotIn("left out", self.ok("compare", "runs/study").stdout)
        path = self.run_path() / "config.json"
        path.write_text(path.read_text().replace("relu", "gelu"))
        said = self.ok("compare", "runs/study").stdout
        self.assertIn("not the config that was trained", said)
        self.assertNotIn("gelu ", said)

    def test_a_summary_that_lost_its_way_makes_no_other_run(self):
        # Found by scripts/torture: summaries of two runs exchanged, and the status of one damaged.
        whole = self.whole()
        self.train()
        one, other = (self.run_path(run) / "summary.json" for run in RUNS[:2])
        texts = one.read_text(), other.read_text()
        one.write_text(texts[1]), other.write_text(texts[0])
        (one.parent / "status.json").write_text("{}")
        said = self.train()
        for run in RUNS[:2]:
            self.assertIn(run, said)
        self.assertEqual(run_bits(self.tmp / "runs"), whole)

    def test_compare_takes_no_result_from_another_runs_summary(self):
        self.train()
        one, other = (self.run_path(run) / "summary.json" for run in (RUNS[0], RUNS[3]))
        texts = one.read_text(), other.read_text()
        one.write_text(texts[1]), other.write_text(texts[0])
        self.assertEqual(self.run_program("check", "runs").returncode, 3)
        compared = json.loads(self.ok("compare", "runs/study", "--json").stdout)
        said = " ".join(compared["notes"])
        for run in (RUNS[0], RUNS[3]):
            self.assertIn(f"{run}/summary.json: of another config", said)
        self.assertIn("2 runs are left out, for damage", said)
        groups = compared["facets"][0]["groups"]
        self.assertEqual([(g["value"], g["runs"], g["done"], len(g["values"])) for g in groups], [("relu", 3, 2, 2), ("silu", 3, 2, 2)])

    def test_a_damaged_config_is_no_other_study(self):
        # Found by scripts/torture: with damage in every run, a config that had lost a line was taken for another study's.
        whole = self.whole()
        self.train()
        for run in RUNS:
            config = self.run_path(run) / "config.json"
            config.write_text("".join(line for line in config.read_text().splitlines(True) if '"residual"' not in line))
            (self.run_path(run) / "model.safetensors").write_bytes(b"")
        said = self.train()
        for run in RUNS:
            self.assertIn(run, said)
        self.assertEqual(run_bits(self.tmp / "runs"), whole)


class HalfFinished(Damage):
    def test_damage_costs_the_run_a_restart_and_its_neighbours_nothing(self):
        self.ok("--config", "study.json", "-o", "whole", "train.steps=20000", "train.eval_every=100")
        whole = run_bits(self.tmp / "whole")
        self.half_finished()
        for number, (name, damage) in enumerate([("metrics.jsonl", "deleted"), ("metrics.jsonl", "a bad line"), ("checkpoint/state.safetensors", "flipped"),
                                                 ("status.json", "a directory"), ("status.json", "deleted")]):
            path = self.run_path(RUNS[number]) / name
            if damage in ("deleted", "a directory"):
                path.unlink()
                if damage == "a directory":
                    path.mkdir()
            elif damage == "a bad line":
                path.write_text("{}\n" + path.read_text())
            else:
                content = bytearray(path.read_bytes())
                content[-3] ^= 64
                path.write_bytes(content)
        said = self.go_on()
        for run, text in zip(RUNS, ("starts again", "starts again", "starts again", "goes on from its checkpoint", "goes on from its checkpoint")):
            self.assertTrue([line for line in said.splitlines() if run in line and text in line], (run, text, said))
        self.assertNotIn(RUNS[5] + ":", said)
        self.assertEqual(run_bits(self.tmp / "runs"), whole)
        self.assertEqual(len(list((self.tmp / "runs").rglob("seed-*.old-1"))), 3)  # nothing that was there is gone

    def test_a_checkpoint_of_impossible_content_costs_the_run_a_restart(self):
        """As version 0.1 wrote them, without checksums: the content has to tell."""
        self.ok("--config", "study.json", "-o", "whole", "train.steps=20000", "train.eval_every=100")
        self.half_finished()
        for run, change in zip(RUNS, ({"step": 100000}, {"step": -5}, {"step": 2**63}, {"step": 1e300}, {"step": None}, {"numbers": None})):
            path = self.run_path(run) / "checkpoint/state.safetensors"
            data = path.read_bytes()
            length, = struct.unpack("<Q", data[:8])
            header = json.loads(data[8:8 + length])
            header["__metadata__"].pop("ffn_checksum", None)
            state = {**json.loads(header["__metadata__"]["state"]), "schema_version": 1, **change}
            state.pop("metrics", None)
            header["__metadata__"]["state"] = json.dumps({key: value for key, value in state.items() if value is not None})
            text = json.dumps(header).encode()
            path.write_bytes(struct.pack("<Q", len(text)) + text + data[8 + length:])
        said = self.go_on()
        for run in RUNS:
            self.assertTrue([line for line in said.splitlines() if run in line and "starts again" in line], (run, said))
        self.assertNotIn("map::at", said)
        self.assertEqual(run_bits(self.tmp / "runs"), run_bits(self.tmp / "whole"))

    def test_deep_json_in_a_checkpoint_costs_the_run_a_restart(self):
        self.half_finished()
        text = json.dumps({"__metadata__": {"state": "[" * 300_000}}).encode()
        (self.run_path() / "checkpoint/state.safetensors").write_bytes(struct.pack("<Q", len(text)) + text)
        self.assertIn("starts again", self.go_on())

    def test_a_study_whose_directory_is_removed_or_moved_while_it_runs_fails_and_says_so(self):
        for how in ("removed", "moved", "replaced"):
            process = subprocess.Popen(self.command("--config", "study.json", "-o", how, "-j", "1", "train.steps=200000", "train.eval_every=2000", "train.checkpoint_every=2000"),
                                       cwd=self.tmp, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            deadline = time.time() + 60
            while time.time() < deadline and not list((self.tmp / how).rglob("state.safetensors")):
                time.sleep(0.01)
            study = self.tmp / how / "study"
            while study.exists() and time.time() < deadline + 30:
                try:
                    shutil.rmtree(study) if how == "removed" else study.rename(self.tmp / (how + "-away"))
                except OSError:  # the workers are writing
                    time.sleep(0.01)
            if how == "replaced":
                for run in RUNS:
                    self.run_path(run, how).mkdir(parents=True)
            _, errors = process.communicate(timeout=120)
            self.assertIn(process.returncode, (1, 4), errors)
            self.assertTrue("was removed or replaced while it was trained in" in errors or "No such file" in errors, errors)
            self.assertEqual([p for p in study.rglob("*") if p.is_file()], [], how)
            self.train(how)
            self.assertEqual(self.ok("check", how).stdout.strip().splitlines()[-1], "6 runs: 6 whole")


class Strangers(Damage):
    """Whole runs, each in the place of another."""

    def notes(self, *arguments):
        return " ".join(self.run_program(*arguments).stdout.split())

    def test_a_run_of_another_config_in_a_place_of_the_study_is_named_and_left_out(self):
        self.train()
        self.train("others", "train.optimizer.lr=0.001")
        for run in (RUNS[0], RUNS[3]):
            shutil.rmtree(self.run_path(run))
            shutil.copytree(self.run_path(run, "others"), self.run_path(run))
        checked = self.run_program("check", "runs")
        self.assertEqual(checked.returncode, 3, checked.stdout)
        said = " ".join(checked.stdout.split())
        self.assertIn("is a run of another config (train.optimizer.lr: 0.001 → 0.005)", said)
        self.assertIn("4 whole", said)
        self.assertIn("is a run of another config", " ".join(self.fails(3, "merge", "runs/study", "-o", "merged").split()))
        text = self.notes("compare", "runs/study")
        self.assertIn("2 runs are not what the study trains in that place, and left out: runs/study/activation=relu/seed-0 is a run of another config", text)
        groups = json.loads(self.ok("compare", "runs/study", "--json").stdout)["facets"][0]["groups"]
        self.assertEqual([(g["runs"], g["done"]) for g in groups], [(3, 2), (3, 2)])
        for arguments in (("export", "--csv", "runs/study", "-o", "tables"), ("curves", "runs/study")):
            result = self.ok(*arguments)
            self.assertIn("is a run of another config", " ".join((result.stderr + result.stdout).split()))
        self.assertEqual(len((self.tmp / "tables/runs.csv").read_text().splitlines()), 1 + 4)

    def test_a_copy_of_one_run_in_anothers_place_is_no_second_run(self):
        self.train()
        shutil.rmtree(self.run_path(RUNS[2]))
        shutil.copytree(self.run_path(RUNS[4]), self.run_path(RUNS[2]))
        text = self.notes("compare", "runs/study")
        self.assertIn("1 run is not what the study trains in that place, and left out: runs/study/activation=relu/seed-2 is a run of activation=silu", text)
        self.assertNotIn("found twice", text)
        shutil.rmtree(self.run_path(RUNS[2]))
        shutil.copytree(self.run_path(RUNS[1]), self.run_path(RUNS[2]))
        self.assertIn("runs/study/activation=relu/seed-2 is the run of seed 1", self.notes("compare", "runs/study"))
        self.ok("export", "--csv", "runs/study", "-o", "tables")
        self.assertEqual(len((self.tmp / "tables/runs.csv").read_text().splitlines()), 1 + 5)

    def test_tuned_studies_and_other_names_of_values_are_no_strangers(self):
        self.ok("--config", "study.json", "tune.train.optimizer.lr=0.003,0.01", "tune.retune=per_seed", "seeds=2", "train.steps=60", "train.eval_every=20")
        self.ok("--config", "study.json", "name=again", "model.ffn.d_ff=16,24", "train.optimizer.lr=5e-3", "seeds=2", "train.steps=60")
        for study in ("study", "study-tuning", "again"):
            result = self.ok("compare", "runs/" + study, "--json")
            self.assertNotIn("not what the study trains", result.stdout, study)
            self.assertIn(" whole", self.ok("check", "runs/" + study).stdout)

    def test_objects_texts_and_widths_that_vary_are_no_strangers(self):
        xor = {"task": {"kind": "xor"}, "train": {"steps": 60, "eval_every": 5, "target": {"metric": "val/accuracy", "at_least": 0.99}}}
        self.write("sub/b.txt", "the rain in spain stays\n" * 60)
        self.write("a.txt", "mainly in the plain, they say\n" * 60)
        text = {"task": {"kind": "text", "context": 8, "file": "a.txt"}, "model": {"d_model": 8, "blocks": 1},
                "train": {"steps": 4, "eval_every": 2, "batch_size": 4}, "seeds": 2}
        objects = [{"kind": "adamw", "lr": 0.01, "weight_decay": 0.1}, {"kind": "adamw", "lr": 0.05}, {"kind": "adamw"}]
        for name, study in (("tuned", {**xor, "seeds": 3, "sweep": {"grid": {"train.optimizer": objects}}, "tune": {"train.optimizer.lr": [0.01, 0.05, 0.1], "retune": "per_seed"}}),
                            ("once", {**xor, "seeds": 3, "sweep": {"grid": {"train.optimizer": objects[1:]}}, "tune": {"train.optimizer.lr": [0.02, 0.05, 0.1]}}),
                            ("include", {**text, "sweep": {"include": [{"task.file": "a.txt"}, {"train.optimizer.lr": 0.003}, {"model.ffn.activation": "gelu"}]}}),
                            ("files", {**text, "sweep": {"grid": {"task.file": ["a.txt", "sub/b.txt"]}, "include": [{"model.ffn.activation": "gelu"}]}})):
            self.ok("--config", self.write(name + ".json", {"name": name, **study}))
            whole = self.ok("check", "runs/" + name).stdout
            self.assertNotIn("another", whole, name)
            self.assertNotIn("not what the study trains", self.ok("compare", "runs/" + name, "--json").stdout, name)
        files = self.tmp / "runs/files"
        one, other = sorted(path for path in files.iterdir() if path.name.startswith("file="))
        for start, end in ((one, files / "x"), (other, one), (files / "x", other)):
            start.rename(end)
        self.assertIn("4 in another run's directory", " ".join(self.run_program("check", files).stdout.split()))
        self.train()
        self.ok("--config", "study.json", "name=wide", "model.ffn.d_ff=64")
        shutil.rmtree(self.run_path())
        shutil.copytree(self.tmp / "runs/wide" / RUNS[0], self.run_path())
        self.assertIn("model.ffn.", self.notes("compare", "runs/study"))
        self.assertEqual(self.run_program("check", "runs/study").returncode, 3)

    def test_one_width_in_other_words_is_one_run(self):
        common = ("xor", "train.steps=20", "seeds=3", "-q")
        for name, first, second in (("widths", "model.ffn.d_ff=16,32", "model.ffn.expansion=2,4"),
                                    ("gated", "model.ffn.match_tolerance=0.01", "model.ffn.match_tolerance=0.02")):
            more = ("model.ffn.kind=gated", "model.ffn.match=params", "model.ffn.activation=relu,gelu") if name == "gated" else ()
            self.ok(*common, *more, "name=" + name, first)
            self.ok(*common, *more, "name=" + name, second)
            self.assertIn(" whole", self.ok("check", "runs/" + name).stdout.strip().splitlines()[-1])
            result = json.loads(self.ok("compare", "runs/" + name, "--json").stdout)
            self.assertEqual([(g["runs"], g["done"]) for g in result["facets"][0]["groups"]], [(3, 3), (3, 3)], name)

    def test_beside_a_tuned_key_the_others_count(self):
        for name, swept, tuned in (("batches", "train.batch_size=16,64", "tune.train.optimizer.lr=0.01,0.03"),
                                   ("shapes", "model.ffn.activation=relu,gelu", "tune.model.ffn.expansion=2,4")):
            self.ok("xor", "train.steps=30", "seeds=2", "tune.retune=per_seed", "-q", "name=" + name, swept, tuned)
            self.assertIn("4 runs: 4 whole", self.ok("check", "runs/" + name).stdout)
            one, other = sorted(path for path in (self.tmp / "runs" / name).iterdir() if path.is_dir())
            shutil.rmtree(one / "seed-0")
            shutil.copytree(other / "seed-0", one / "seed-0")
            self.assertIn("3 whole, 1 in another run's directory", self.run_program("check", "runs/" + name).stdout)

    def test_what_was_tuned_decides_what_else_a_run_has(self):
        for name, tuned in (("kinds", "tune.train.optimizer.kind=adamw,sgd,adam"), ("schedules", "tune.train.schedule.kind=wsd,cosine"),
                            ("layers", "tune.model.ffn.name=swiglu,maxout")):
            more = ('model.ffn={"kind":"formula","name":"glu"}',) if name == "layers" else ()
            self.ok("xor", "train.steps=20", "seeds=2", "tune.retune=per_seed", "tune.seeds=1", "-q", "name=" + name, "model.d_model=8,16", tuned, *more)
            self.assertIn("4 runs: 4 whole", self.ok("check", "runs/" + name).stdout)
            self.assertNotIn("not what the study trains", self.ok("compare", "runs/" + name, "--json").stdout)

    def test_a_value_that_was_not_chosen_is_another_run(self):
        common = ("xor", "train.steps=20", "seeds=2", "-q", "model.ffn.activation=relu,gelu")
        self.ok(*common, "name=once", "tune.train.optimizer.lr=0.001,0.01,0.1", "tune.seeds=2")
        self.ok(*common, "name=each", "tune.train.optimizer.lr=0.001,0.01,0.1", "tune.retune=per_seed", "tune.seeds=1")
        self.ok(*common, "name=own", "train.optimizer.lr=0.0033")
        for name in ("once", "each"):
            place = self.tmp / "runs" / name / "activation=relu/seed-0"
            shutil.rmtree(place)
            shutil.copytree(self.tmp / "runs/own/activation=relu/seed-0", place)
            self.assertIn("lr: 0.0033 →", self.run_program("check", "runs/" + name).stdout)
            self.assertIn("1 run is not what the study trains", self.notes("compare", "runs/" + name))

    def test_a_seed_has_the_choice_that_was_made_for_it(self):
        study = ("xor", "train.steps=20", "train.eval_every=10", "-q", "tune.retune=per_seed", "tune.train.optimizer.kind=adamw,sgd,adam",
                 "tune.train.optimizer.lr=0.01,0.03,0.1", "name=each", "model.ffn.activation=relu,gelu")
        self.ok(*study, "seeds=7")
        own = json.loads((self.tmp / "runs/each/study.json").read_text())["configs"]["activation=relu"]
        self.assertEqual(len(own), 7)
        one, other = next((a, b) for a in own for b in own if own[a] != own[b])
        self.ok(*study, "seeds=5")  # seeds that are not the study's any more are no strangers
        self.assertIn("14 runs: 14 whole", self.ok("check", "runs/each").stdout)
        grown = ("xor", "train.steps=20", "train.eval_every=10", "-q", "name=grown", "train.clip_norm=0,2,1", "tune.seeds=1",
                 "tune.retune=per_seed", "tune.train.batch_size=8,16,32", "tune.train.optimizer.lr=0.001,0.1")
        self.ok(*grown, "seeds=2")
        self.ok(*grown, "seeds=1")  # whose grid grows to the other end
        self.assertIn("6 runs: 6 whole", self.ok("check", "runs/grown").stdout)
        self.assertIn("10 finished", self.ok("merge", "runs/each", "-o", "merged").stdout)
        self.ok(*study, "seeds=7")
        config = json.loads((self.tmp / f"runs/each/activation=relu/seed-{one}/config.json").read_text())
        optimizer = config["train"]["optimizer"]
        self.ok("xor", "train.steps=20", "train.eval_every=10", "-q", "name=other", "model.ffn.activation=relu,gelu", f"seeds=[{other}]",
                f"train.optimizer.kind={optimizer['kind']}", f"train.optimizer.lr={optimizer['lr']}")
        place = self.tmp / f"runs/each/activation=relu/seed-{other}"
        shutil.rmtree(place)
        shutil.copytree(self.tmp / f"runs/other/activation=relu/seed-{other}", place)
        self.assertIn("1 in another run's directory", self.run_program("check", "runs/each").stdout)

    def test_a_tuned_study_is_found_by_its_own_command(self):
        common = ("xor", "train.steps=20", "train.eval_every=10", "-q", "seeds=2")
        for name, tuned in (("width", ("tune.model.ffn.expansion=2,4", "tune.seeds=1")),
                            ("both", ("tune.model.ffn.expansion=2,4", "tune.train.optimizer.lr=0.01,0.1", "tune.retune=per_seed")),
                            ("kinds", ("tune.train.optimizer.kind=sgd,adamw", "tune.train.optimizer.lr=0.001,0.002"))):
            self.ok(*common, *tuned, "name=" + name, "model.ffn.activation=relu,gelu")
            self.ok(*common, *tuned, "name=" + name, "model.ffn.activation=relu,gelu")
            self.ok(*common, *tuned, "name=" + name, "model.ffn.activation=relu,gelu", "train.batch_size=64,32")  # that adds a key
            self.assertIn(" whole", self.ok("check", "runs/" + name).stdout.strip().splitlines()[-1])

    def test_a_place_that_leads_to_another_lacks_its_run(self):
        self.train()
        place = self.tmp / "runs/study" / RUNS[1]
        shutil.rmtree(place)
        place.symlink_to("seed-0")
        self.assertIn("1 missing", self.run_program("check", "runs/study").stdout)

    def test_formulas_of_a_file_are_what_they_were_when_they_were_trained(self):
        formulas = {name: {"formula": f"({name}) @ down", "parameters": {"up": ["D", "F"], "down": ["F", "D"]}, "let": {"h": "x @ up"}} for name in ("h*h", "h*h*h")}
        formulas = {"square": formulas["h*h"], "cube": formulas["h*h*h"]}
        self.write("mine.json", formulas)
        self.ok("--config", self.write("study.json", {"name": "file", "task": {"kind": "xor"}, "train": {"steps": 20}, "seeds": 2,
                                                      "model": {"ffn": {"kind": "formula", "formulas": "mine.json", "name": "cube"}},
                                                      "sweep": {"grid": {"model.ffn.name": ["cube", "square"]}}}))
        for text in ({**formulas, "cube": {**formulas["cube"], "formula": "(h*h*h*h) @ down"}}, None):
            self.write("mine.json", text) if text else (self.tmp / "mine.json").unlink()
            self.assertIn("4 runs: 4 whole", self.ok("check", "runs/file").stdout)
        shutil.rmtree(self.tmp / "runs/file/name=square/seed-0")
        shutil.copytree(self.tmp / "runs/file/name=cube/seed-0", self.tmp / "runs/file/name=square/seed-0")
        for named in ("runs/file", "runs/file/name=square/seed-0", "runs/file/name=square/seed-0/", "runs/file/name=square/seed-0/."):
            self.assertIn("is a run of name=cube", " ".join(self.run_program("check", named).stdout.split()), named)
        (self.tmp / "link").symlink_to(self.tmp / "runs/file/name=square/seed-0")
        self.assertIn("is a run of name=cube", self.run_program("check", "link").stdout)
        self.assertIn("is a run of name=cube", self.notes("compare", "runs/file/name=square", "runs/file/name=cube"))

    def test_two_texts_under_one_path_are_two_tasks(self):
        self.write("a.txt", "the rain in spain stays\n" * 60)
        config = {"task": {"kind": "text", "context": 8, "file": "a.txt"}, "model": {"d_model": 8, "blocks": 1}, "seeds": 2,
                  "train": {"steps": 4, "eval_every": 2, "batch_size": 4}, "sweep": {"grid": {"model.ffn.activation": ["relu", "gelu"]}}}
        self.ok("--config", self.write("first.json", {**config, "name": "first"}))
        self.write("a.txt", "mainly in the plain, they say\n" * 60)
        self.ok("--config", self.write("second.json", {**config, "name": "second"}))
        facets = json.loads(self.ok("compare", "runs/first", "runs/second", "--json").stdout)["facets"]
        self.assertEqual([[g["runs"] for g in facet["groups"]] for facet in facets], [[2, 2], [2, 2]])
        self.assertIn("task.file: another text", self.fails(2, "--config", "first.json", "model.ffn.activation=silu,tanh"))

    def test_a_sweep_that_says_its_kinds_in_another_order_goes_on(self):
        common = ("xor", "train.steps=20", "seeds=2", "-q", "name=kinds")
        self.ok(*common, "train.optimizer.kind=sgd,adamw")
        self.ok(*common)
        self.ok(*common, "train.optimizer.kind=adamw,sgd", "model.ffn.activation=relu,gelu")
        self.assertIn(" whole", self.ok("check", "runs/kinds").stdout.strip().splitlines()[-1])

    def test_a_key_that_only_one_config_has_makes_another_run(self):
        layer = {"kind": "formula", "formula": "relu(x @ up + b) @ down", "parameters": {"up": ["D", "F"], "down": ["F", "D"], "b": ["F"]}}
        study = {"task": {"kind": "xor"}, "train": {"steps": 20}, "seeds": 2, "sweep": {"grid": {"train.optimizer.lr": [0.01, 0.02]}}}
        for name, ffn in (("one", {**layer, "init": {"b": 1}}), ("other", layer)):
            self.ok("--config", self.write(name + ".json", {**study, "name": name, "model": {"d_model": 8, "ffn": ffn}}))
        for there, taken in (("one", "other"), ("other", "one")):
            copy = self.tmp / "runs" / ("of-" + there)
            shutil.copytree(self.tmp / "runs" / there, copy)
            shutil.rmtree(copy / "lr=0.02/seed-1")
            shutil.copytree(self.tmp / "runs" / taken / "lr=0.02/seed-1", copy / "lr=0.02/seed-1")
            checked = self.run_program("check", copy)
            self.assertEqual(checked.returncode, 3, checked.stdout)
            self.assertIn("model.ffn.init.b", checked.stdout)

    def test_a_text_counts_by_what_stands_in_it(self):
        config = {"task": {"kind": "text", "context": 8, "file": "a.txt"}, "model": {"d_model": 8, "blocks": 1}, "seeds": 2,
                  "train": {"steps": 4, "eval_every": 2, "batch_size": 4}, "sweep": {"grid": {"model.ffn.activation": ["relu", "gelu"]}}}
        text = "the rain in spain stays\n" * 60
        self.write("a.txt", text)
        self.write("sub/b.txt", text)
        for file, seeds in (("a.txt", 2), ("sub/b.txt", 3)):  # the same text under another name
            self.ok("--config", self.write("texts.json", {**config, "name": "texts", "seeds": seeds}), f"task.file={file}")
            self.assertIn("%d whole" % (2 * seeds), self.ok("check", "runs/texts").stdout)
            facets = json.loads(self.ok("compare", "runs/texts", "--json").stdout)["facets"]
            self.assertEqual([(g["runs"], g["done"]) for facet in facets for g in facet["groups"]], [(seeds, seeds)] * 2)
        self.ok("--config", self.write("first.json", {**config, "name": "first"}), "--shard", "1/2", "-o", "one")
        self.write("a.txt", text.upper())
        self.ok("--config", "texts.json", "name=changed", "seeds=3")
        self.ok("--config", "first.json", "--shard", "2/2", "-o", "two")
        place = "activation=gelu/seed-1"
        shutil.rmtree(self.tmp / "runs/texts" / place)
        shutil.copytree(self.tmp / "runs/changed" / place, self.tmp / "runs/texts" / place)
        self.assertIn(f"{place} is a run of another config (task.file: another text)", self.notes("compare", "runs/texts"))
        self.assertIn("1 in another run's directory", self.run_program("check", "runs/texts").stdout)
        self.assertIn("texts.activation=relu differs", self.fails(3, "merge", "one/first", "two/first", "-o", "both"))
        for name in ("study.json", "study.json.bak"):  # as an older program wrote it
            study = json.loads((self.tmp / "two/first" / name).read_text())
            (self.tmp / "two/first" / name).write_text(json.dumps({key: value for key, value in study.items() if key not in ("texts", "schema_version", "checksum")} | {"schema_version": 1}))
        for parts in (("one/first", "two/first"), ("two/first", "one/first")):
            self.assertIn("task.file: another text", self.fails(3, "merge", *parts, "-o", "both"))

    def test_a_study_file_of_another_study_is_said_to_be_one(self):
        self.train()
        self.write("second.json", {**STUDY, "name": "second", "seeds": [7, 8]})
        self.ok("--config", "second.json", "train.steps=60")
        for name in ("study.json", "study.json.bak"):
            shutil.copy(self.tmp / "runs/second" / name, self.tmp / "runs/study" / name)
        for run in (self.tmp / "runs/study").glob("*/seed-*"):
            if run.name in ("seed-7", "seed-8"):
                shutil.rmtree(run)
        said = " ".join(self.fails(3, "compare", "runs/study").split())
        self.assertIn("4 runs are not there, but listed in study.json", said)
        self.assertIn("no part of the study", said)

    def test_weights_of_another_run_are_not_inspected_where_the_summary_is_lost(self):
        self.train()
        shutil.copy(self.run_path(RUNS[3]) / "model.safetensors", self.run_path() / "model.safetensors")
        (self.run_path() / "summary.json").unlink()
        self.assertIn("model.safetensors: of another run", self.fails(3, "inspect", self.run_path()))
        self.assertIn("1 damaged", self.ok("runs").stdout)

    def test_a_search_for_runs_ends(self):
        self.train()
        (self.tmp / "runs/study/loop").symlink_to("..")
        self.assertIn("activation", self.ok("compare", "runs").stdout)
        for i in range(50_010):
            os.mkdir(self.tmp / f"runs/study/{i}")
        self.assertIn("more than 50000 directories to search", self.fails(3, "compare", "runs/study"))


class NoRoom(Damage):
    def test_a_limit_on_the_size_of_files_is_said_as_such(self):
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))
        result = self.run_program("--config", "study.json", "train.steps=3000", "train.eval_every=1", preexec_fn=limit)
        self.assertIn("metrics.jsonl: File too large", " ".join((result.stderr + "".join(p.read_text() for p in self.tmp.rglob("status.json"))).split()))
        self.assertNotIn("No space left", result.stderr)

    def test_a_stack_that_is_too_small_is_said_before_anything_begins(self):
        limit = lambda: resource.setrlimit(resource.RLIMIT_STACK, (64 << 10, 64 << 10))
        result = self.run_program("--config", "study.json", preexec_fn=limit)
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn("the stack is limited to 64 KiB; 256 are needed", result.stderr)

    def test_a_log_that_cannot_be_written_costs_no_line(self):
        log = self.tmp / "runs/study/log.txt"
        log.parent.mkdir(parents=True)
        log.symlink_to("/dev/full")
        result = self.run_program("--config", "study.json")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotIn("LOG ERROR", result.stderr)
        self.assertIn("6 trained now", result.stderr)


class Foreign(Damage):
    def test_a_pipe_or_link_under_a_name_of_ours_is_neither_waited_for_nor_written_through(self):
        mine = self.write("mine.txt", "mine")
        for place, make in (("pipe", lambda path: os.mkfifo(path)), ("link", lambda path: path.symlink_to(mine)), ("directory", lambda path: path.mkdir())):
            for log, arguments in ((self.tmp / place / "study/log.txt", ("--config", "study.json", "-o", place)),
                                   (self.tmp / place / "xor/seed-0/log.txt", ("xor", "train.steps=20", "-o", place))):
                log.parent.mkdir(parents=True)
                make(log)
                self.assertIn("no log is kept: " + str(log.relative_to(self.tmp)) + " is no regular file", " ".join(self.ok(*arguments, timeout=60).stderr.split()))
        self.assertEqual(mine.read_text(), "mine")
        self.train()
        os.mkfifo(self.tmp / "runs/study/report.html")
        self.assertIn("is a pipe", self.fails(2, "report", "runs/study"))
        (self.tmp / "tables").mkdir()
        os.mkfifo(self.tmp / "tables/curves.csv")
        self.assertIn("is a pipe", self.fails(2, "export", "--csv", "runs/study", "-o", "tables"))

    def test_what_merely_has_a_runs_name_is_not_touched(self):
        for place in ("directory", "symlink"):
            mine = self.tmp / ("mine-" + place)
            (mine / "checkpoint").mkdir(parents=True)
            (mine / "checkpoint/state.safetensors").write_text("mine")
            (mine / "model.safetensors").write_text("mine")
            for run, arguments in ((self.tmp / place / "xor/seed-0", ("--config", "xor", "train.steps=20", "-o", place)),
                                   (self.run_path(RUNS[0], place), ("--config", "study.json", "-o", place))):
                run.parent.mkdir(parents=True)
                if place == "directory":
                    shutil.copytree(mine, run)
                else:
                    run.symlink_to(mine)
                result = self.run_program(*arguments)
                self.assertIn(result.returncode, (3, 4), result.stderr)
                self.assertIn("is no run of ffn-train", result.stderr)
                self.assertEqual((run / "model.safetensors").read_text(), "mine")
                self.assertEqual((run / "checkpoint/state.safetensors").read_text(), "mine")
            self.assertIn("5 whole", self.run_program("check", place).stdout)

    def test_a_new_beginning_moves_nothing_aside_that_is_no_result(self):
        for name in ("one/seed-0", "study"):
            self.write(f"runs/{name}/x.c", "mine")
            (self.tmp / "runs" / name / "empty").mkdir()
        self.write("file/study", "mine")
        self.write("file/one/seed-0", "mine")
        single = self.write("one.json", {"name": "one", "task": {"kind": "xor"}, "train": {"steps": 20}})
        tuned = self.write("tuned.json", {**STUDY, "tune": {"train.optimizer.lr": [0.01, 0.03], "seeds": 2}})
        before = self.files()
        self.assertIn("runs/one/seed-0 is no run of ffn-train", self.fails(3, "--config", single, "--fresh"))
        for study in ("study.json", tuned):
            error = self.fails(3, "--config", study, "--fresh")
            self.assertIn("runs/study holds x.c and no results of ffn-train: it is not moved aside", " ".join(error.split()))
            self.assertIn("move it away, or choose another name= or -o", error)
        for config in (single, "study.json"):
            self.assertIn("is no directory", self.fails(3, "--config", config, "--fresh", "-o", "file"))
        self.assertEqual([name for name in self.files() if not name.endswith("lock")], before)
        # Nor a person's project that has runs somewhere in it.
        self.write("proj/study/thesis.txt", "mine")
        self.ok("xor", "train.steps=20", "-o", "proj/study/work/runs", "-q")
        self.assertIn("it is not moved aside", self.fails(3, "--config", "study.json", "--fresh", "-o", "proj"))
        # A person's notes beside results go with them, and so do results of which little can be read.
        self.train("noted")
        self.write("noted/study/notes.txt", "mine")
        for name in ("study.json", "study.json.bak"):
            self.write(f"noted/study/{name}", "{")
        self.train("noted", "--fresh")
        self.assertTrue((self.tmp / "noted/study.old-1/notes.txt").exists())
        self.ok("--config", single, "-o", "one")
        for name in ("status.json", "summary.json", "meta.json"):
            (self.tmp / "one/one/seed-0" / name).unlink()
        self.assertIn("is no run of ffn-train", self.fails(3, "--config", single, "-o", "one", "train.steps=30"))
        self.ok("--config", single, "-o", "one", "train.steps=30", "--fresh")
        self.assertTrue((self.tmp / "one/one/seed-0.old-1/model.safetensors").exists())

    def test_clean_leaves_what_is_only_named_as_ours(self):
        for name, text in (("config.json", '{"my": "app"}'), ("status.json", '{"up": true}'), ("meta.json", '{"schema_version": 2}'), ("log.txt", "mine")):
            self.write(f"s.old-1/{name}", text)
        self.write("t.old-1/study.json", '{"name": "mine", "seeds": [1], "variants": []}')
        self.write("u.old-2/v/seed-0/summary.json", "[]")
        self.write("w/config.json.old-1", '{"my": "app"}')
        self.write("w/status.json", '{"up": true}')
        before = self.files()
        said = self.ok("clean", ".", "--yes").stdout
        self.assertIn("./s.old-1 stays: nothing in it can be read as ffn-train's, config.json neither", " ".join(said.split()))
        self.assertIn("nothing that was moved aside", said)
        self.assertEqual([(entry["path"], entry["removed"], entry["foreign"]) for entry in json.loads(self.ok("clean", ".", "--yes", "--json").stdout)],
                         [("./s.old-1", False, "config.json"), ("./t.old-1", False, "study.json"), ("./u.old-2", False, "v/seed-0/summary.json")])
        self.assertEqual(self.files(), before)
        # One file that is whole is enough.
        self.train()
        whole = self.run_path()
        for name in ("status.json", "summary.json", "config.json", "meta.json"):
            for number, other in enumerate(("status.json", "summary.json", "config.json", "meta.json")):
                self.write(f"kept/{name}/seed-0.old-1/{other}", (whole / other).read_text() if other == name else "{")
        shutil.copy(self.tmp / "runs/study/study.json", self.write("kept/study.old-1/study.json.bak", ""))
        self.write("kept/study.old-1/study.json", "{")
        self.assertIn("removed 5 (", self.ok("clean", "kept", "--yes").stdout)

    def test_a_meta_file_that_cannot_be_read_is_no_reason_not_to_train(self):
        places = {"directory": lambda path: path.mkdir(), "device": lambda path: path.symlink_to("/dev/zero"), "pipe": lambda path: os.mkfifo(path),
                  "nothing": lambda path: path.symlink_to("nowhere"), "large": lambda path: path.write_bytes(bytes(65 << 20))}
        self.half_finished()
        for run, make in zip(RUNS, places.values()):
            meta = self.run_path(run) / "meta.json"
            meta.unlink()
            make(meta)
        self.go_on()
        for run in RUNS:
            meta = self.run_path(run) / "meta.json"
            self.assertFalse(meta.is_symlink())
            self.assertGreater(json.loads(meta.read_text())["resumed_at_step"], 0)
        self.assertTrue((self.run_path(RUNS[0]) / "meta.json.old-1").is_dir())
        self.assertIn("6 whole", self.ok("check", "runs").stdout)

    def test_a_single_run_takes_damage_as_a_study_does(self):
        self.write("run.json", {"name": "one", "task": {"kind": "xor"}, "train": {"steps": 300, "eval_every": 50}})
        self.ok("--config", "run.json")
        (self.tmp / "runs/one/seed-0/status.json").write_text("")
        said = self.ok("--config", "run.json").stderr
        self.assertIn("written again from what is intact", said)
        self.assertIn("already trained", said)
        (self.tmp / "runs/one/seed-0/metrics.jsonl").unlink()
        said = self.ok("--config", "run.json").stderr
        self.assertIn("metrics.jsonl: missing; moved to runs/one/seed-0.old-1, the run is trained again", said)


if __name__ == "__main__":
    main()
