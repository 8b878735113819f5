#!/usr/bin/env python3
"""Studies survive anything: kills, interruptions, two starts at once; and the comparison that comes out."""
import csv
import io
import json
import math
import os
import pathlib
import random
import resource
import signal
import subprocess
import time

from program import ProgramTest, main

STUDY = {
    "name": "study", "seeds": 3,
    "task": {"kind": "xor", "bits": 2}, "model": {"d_model": 8, "ffn": {"kind": "positionwise", "activation": "relu", "dropout": 0.1}},
    "train": {"steps": 1500, "eval_every": 100, "checkpoint_every": 40, "optimizer": {"lr": 0.005}, "target": {"metric": "val/accuracy", "at_least": 0.99}},
    "sweep": {"grid": {"model.ffn.activation": ["relu", "silu"]}},
}


def run_bits(root):
    """Everything that has to be equal: weights as they are, metrics without times."""
    out = {}
    for weights in sorted(root.rglob("model.safetensors")):
        if ".old-" in str(weights):
            continue
        run = weights.parent
        metrics = [{k: v for k, v in json.loads(line).items() if k != "time_s"} for line in (run / "metrics.jsonl").read_text().splitlines()]
        out[str(run.relative_to(root))] = (weights.read_bytes(), json.dumps(metrics))
    return out


class Survival(ProgramTest):
    def start(self, out, *more):
        return subprocess.Popen(self.command("--config", self.tmp / "study.json", "-o", out, "-q", *more), cwd=self.tmp,
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True)

    def state_of(self, pid):
        """R, S, D, Z …; nothing for a process that is gone."""
        stat = pathlib.Path("/proc", pid, "stat")
        return stat.read_text().rpartition(")")[2].split()[:1] if stat.exists() else []

    def test_sigkill_at_20_random_moments_costs_nothing_but_time(self):
        self.write("study.json", {**STUDY, "train": {**STUDY["train"], "steps": 400000, "eval_every": 20000, "checkpoint_every": 2000}})
        began = time.perf_counter()
        self.ok("--config", "study.json", "-o", "whole", "-q")
        undisturbed = time.perf_counter() - began
        whole = run_bits(self.tmp / "whole")
        self.assertEqual(len(whole), 6)
        generator = random.Random(7)
        killed = 0
        for _ in range(20):
            process = self.start("killed")
            time.sleep(generator.uniform(0.02, undisturbed / 14))  # so that it is still at work at the twentieth kill
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                killed += 1
            process.communicate()
        self.assertGreaterEqual(killed, 15)
        self.ok("--config", "study.json", "-o", "killed", "-q")
        self.assertEqual(run_bits(self.tmp / "killed"), whole)
        self.assertEqual(list((self.tmp / "killed").glob("**/seed-*/**/*.tmp-*")), [])

    def test_ctrl_c_checkpoints_and_ends_with_75_and_the_same_command_goes_on(self):
        self.write("study.json", STUDY)
        self.ok("--config", "study.json", "-o", "whole", "-q")
        for stop in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1):
            out = f"stopped-{stop}"
            process = self.start(out, "train.steps=6000", "train.eval_every=1000")
            deadline = time.time() + 30
            while time.time() < deadline and not list((self.tmp / out).rglob("checkpoint/*")):
                time.sleep(0.02)
            os.kill(process.pid, stop)
            _, errors = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 75, errors)
            states = [json.loads(p.read_text())["state"] for p in (self.tmp / out).rglob("status.json")]
            self.assertIn("interrupted", states)
            self.assertNotIn("running", states)

    def test_two_starts_on_one_directory_train_every_run_once(self):
        self.write("study.json", {**STUDY, "seeds": 6})
        both = [self.start("shared", "--json"), self.start("shared", "--json")]
        for process in both:
            _, errors = process.communicate(timeout=200)
            self.assertEqual(process.returncode, 0, errors)
        lines = [line for line in (self.tmp / "shared/study/log.txt").read_text().splitlines() if "training " in line]
        runs = [line.split("training ")[1].split(" from")[0] for line in lines]
        self.assertEqual(len(runs), 12)
        self.assertEqual(len(set(runs)), 12)

    def wait_for(self, pattern, seconds=30):
        deadline = time.time() + seconds
        while time.time() < deadline and not list(self.tmp.rglob(pattern)):
            time.sleep(0.02)
        self.assertTrue(list(self.tmp.rglob(pattern)), pattern)

    def long_study(self, **train):
        self.write("study.json", {**STUDY, "train": {**STUDY["train"], "steps": 200000, "eval_every": 10000, "checkpoint_every": 100000, **train}})

    def test_a_signal_to_the_whole_group_loses_no_step(self):
        self.long_study()
        for stop in (signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP):
            out = f"group-{stop}"
            process = self.start(out)
            self.wait_for(f"{out}/**/metrics.jsonl")
            time.sleep(0.5)
            os.killpg(process.pid, stop)
            _, errors = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 75, errors)
            states = [json.loads(p.read_text()) for p in (self.tmp / out).rglob("status.json")]
            self.assertTrue(states)
            for state in states:
                self.assertEqual(state["state"], "interrupted")
                self.assertGreater(state["step"], 0)

    def test_a_second_request_ends_the_workers_too(self):
        self.write("a.txt", "the rain in spain stays mainly in the plain\n" * 100)
        self.write("study.json", {"name": "study", "task": {"kind": "text", "file": "a.txt", "context": 64}, "seeds": 2,
                                  "model": {"d_model": 512, "blocks": 4, "attention": {"heads": 8}}, "train": {"steps": 100, "batch_size": 256, "eval_examples": 1}})
        process = self.start("twice", "--threads", "1", "-j", "2")
        self.wait_for("twice/**/metrics.jsonl")
        workers = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True).stdout.split()
        self.assertEqual(len(workers), 2)
        time.sleep(0.5)
        for wait in (0.8, 0.5):  # a step takes longer than that
            os.kill(process.pid, signal.SIGTERM)
            time.sleep(wait)
        self.assertEqual(process.wait(timeout=60), 128 + signal.SIGTERM)
        time.sleep(0.5)
        still = [worker for worker in workers if any(state in ("R", "S", "D") for state in self.state_of(worker))]
        process.communicate(timeout=60)
        self.assertEqual(still, [])

    def test_a_stop_before_anything_began_ends_with_75(self):
        self.long_study()
        process = self.start("early", "--json")
        time.sleep(0.05)
        os.kill(process.pid, signal.SIGINT)
        process.communicate(timeout=60)
        self.assertIn(process.returncode, (75, -signal.SIGINT))  # the latter if it came before the program listened

    def test_nobody_moves_or_mixes_a_study_that_is_at_work(self):
        self.long_study()
        process = self.start("busy")
        self.wait_for("busy/**/metrics.jsonl")
        fresh = self.run_program("--config", "study.json", "-o", "busy", "--fresh")
        wider = self.run_program("--config", "study.json", "-o", "busy", "seeds=4")
        other = self.run_program("--config", "study.json", "-o", "busy", "train.steps=500")
        os.kill(process.pid, signal.SIGTERM)
        process.communicate(timeout=60)
        self.assertEqual((fresh.returncode, wider.returncode, other.returncode), (75, 75, 2))
        self.assertIn("at work", fresh.stderr)
        self.assertIn("another study of this name", wider.stderr)
        self.assertIn("train.steps: 200000 → 500", other.stderr)
        self.assertEqual([p for p in (self.tmp / "busy").rglob("*") if ".old-" in p.name], [])

    def test_a_damaged_checkpoint_costs_its_run_a_restart_and_its_neighbours_nothing(self):
        self.write("study.json", {**STUDY, "train": {**STUDY["train"], "steps": 3000}})
        self.ok("--config", "study.json", "-o", "whole", "-q")
        process = self.start("damaged")
        self.wait_for("damaged/**/state.safetensors")
        os.kill(process.pid, signal.SIGTERM)
        process.communicate(timeout=60)
        checkpoints = sorted((self.tmp / "damaged").rglob("state.safetensors"))
        if checkpoints:
            checkpoints[0].write_bytes(checkpoints[0].read_bytes()[:-8])
        result = self.ok("--config", "study.json", "-o", "damaged")
        self.assertEqual(run_bits(self.tmp / "damaged"), run_bits(self.tmp / "whole"))

    def poem_study(self, **sweep):
        text = self.write("poem.txt", "the rain in spain stays mainly in the plain\n" * 60)
        self.write("study.json", {"name": "poem", "seeds": 2, "task": {"kind": "text", "file": "poem.txt", "context": 16},
                                  "model": {"d_model": 16, "residual": True}, "train": {"steps": 3000, "eval_every": 1000, "batch_size": 32}, **sweep})
        return text

    def poem_states(self, out="text"):
        return sorted(json.loads(p.read_text())["state"] for p in (self.tmp / out).rglob("status.json"))

    def test_a_text_that_is_edited_meanwhile_trains_no_run_under_the_old_identity(self):
        text = self.poem_study(sweep={"grid": {"model.ffn.expansion": [2, 8, 32]}})  # a cohort each
        before = text.read_text()
        self.ok("--config", "study.json", "-o", "whole", "-q")
        for kept in (False, True):  # the file's size and time, by which it could pass for the same
            out = "kept" if kept else "text"
            process = self.start(out, "-j", "1")
            self.wait_for(f"{out}/**/metrics.jsonl")
            time_of = text.stat()
            text.write_text(before.replace("rain", "hail") if kept else "the cat sat on the mat and looked at the rat\n" * 60)
            if kept:
                os.utime(text, ns=(time_of.st_atime_ns, time_of.st_mtime_ns))
            _, said = process.communicate(timeout=120)
            self.assertEqual(process.returncode, 4)
            self.assertIn("put the text back, or start with --fresh", said)  # the cause, where it is looked for
            states = self.poem_states(out)
            self.assertIn("failed", states)
            self.assertIn(f"{states.count('failed')} failed", (self.tmp / out / "poem/log.txt").read_text())
            if not kept:
                self.assertIn("task.file: its text changed", self.fails(2, "--config", "study.json", "-o", out, "-q"))
            text.write_text(before)  # the remedy that is named
            said = self.ok("--config", "study.json", "-o", out).stderr
            self.assertIn(f"6 runs: {states.count('failed')} trained now, {states.count('done')} found finished", said)
            self.assertEqual(run_bits(self.tmp / out), run_bits(self.tmp / "whole"))
        text.write_text("the cat sat on the mat and looked at the rat\n" * 60)
        self.ok("--config", "study.json", "-o", "text", "-q", "--fresh")

    def test_a_worker_that_dies_costs_one_retry(self):
        self.write("study.json", {**STUDY, "seeds": 1, "train": {**STUDY["train"], "steps": 20000}})
        process = subprocess.Popen(self.command("--config", "study.json", "-j", "1"), cwd=self.tmp, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        deadline = time.time() + 30
        while time.time() < deadline and not list(self.tmp.rglob("checkpoint/*")):
            time.sleep(0.02)
        children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        self.assertEqual(len(children), 1)
        os.kill(int(children[0]), signal.SIGKILL)
        _, errors = process.communicate(timeout=200)
        self.assertEqual(process.returncode, 0, errors)
        self.assertIn("trained again", errors)


class Refusing(ProgramTest):
    def test_what_could_not_be_compared_is_found_before_training(self):
        for change, text in (({"compare": {"reference": "tanh"}}, "no run has model.ffn.activation = tanh"), ({"compare": {"metric": "val/acc"}}, "did you mean"),
                             ({"expect": [{"claim": "c", "check": {"value": "swish", "verdict": "better"}}]}, "no variant has"),
                             ({"expect": [{"claim": "c", "check": {"value": "silu"}}]}, "asks nothing")):
            path = self.write("study.json", {**STUDY, **change})
            self.assertIn(text, self.fails(2, "--config", path))
            self.assertIn(text, self.fails(2, "validate", path))
        self.assertEqual(self.files(), ["study.json"])


class Widths(ProgramTest):
    """model.ffn.d_ff and model.ffn.expansion are one width."""

    def refused(self, said, *arguments):
        self.assertIn(said, " ".join(self.fails(2, *arguments).split()))

    def widths(self, *arguments):
        plan = json.loads(self.ok("plan", *arguments, "--no-probe", "--json").stdout)
        return [variant["parameters"] for variant in plan["variants"]]

    def test_overrides_of_one_command_that_contradict_each_other_are_refused(self):
        for order in (1, -1):
            for command in (["params", "xor"], ["plan", "xor"], ["xor"]):
                self.refused("/model/ffn/expansion: both d_ff (20) and expansion are set; remove one",
                             *command, *["model.ffn.d_ff=20", "model.ffn.expansion=2"][::order])
            self.refused("/model/ffn/expansion: both d_ff (24) and expansion are set; remove one",
                         "plan", "xor", *["model.ffn.expansion=1,2", "model.ffn.d_ff=24"][::order])
        self.refused("both d_ff (20) and expansion are set", "plan", "xor", 'model.ffn={"kind": "positionwise", "d_ff": 20}', "model.ffn.expansion=2")
        self.assertFalse((self.tmp / "runs").exists())

    def test_what_is_written_later_replaces_what_a_file_says(self):
        self.ok("cp", "xor", "xor.json")  # expansion 4 of d_model 8
        (narrow,) = self.widths("xor.json", "model.ffn.expansion=2")
        self.assertEqual(self.widths("xor.json", "model.ffn.d_ff=16"), [narrow])
        self.assertEqual(self.widths("xor.json", "model.ffn.d_ff=99", "model.ffn.d_ff=16"), [narrow])
        self.assertEqual(self.widths("xor.json", "model.ffn.d_ff=16", "model.ffn.expansion=null"), [narrow])
        self.write("base.json", {"extends": "xor.json", "model": {"ffn": {"d_ff": 24}}, "seeds": 2, "sweep": {"grid": {"model.ffn.expansion": [2]}}})
        self.assertEqual(self.widths("base.json"), [narrow])

    def test_a_study_over_both_widths_is_told_that_they_exclude_each_other(self):
        said = '"model.ffn.expansion" and "model.ffn.d_ff" are one width and exclude each other; vary one of them'
        both = {"model.ffn.expansion": [1, 2], "model.ffn.d_ff": [8, 16]}
        self.ok("cp", "xor", "xor.json")
        for sweep in ({"grid": both}, {"zip": [both]}, {"include": [{"model.ffn.expansion": 1, "model.ffn.d_ff": 8}]}):
            path = self.write("both.json", {"extends": "xor.json", "seeds": 2, "sweep": sweep})
            error = " ".join(self.run_program("validate", path).stderr.split())
            self.assertTrue(said in error or 'both.json:1 /sweep/include/0/model.ffn.d_ff: "model.ffn.d_ff" and "model.ffn.expansion" are one width' in error, error)
        path = self.write("grid.json", {"extends": "xor.json", "seeds": 2, "sweep": {"grid": {"model.ffn.expansion": [1, 2]}}})
        self.refused(said, "plan", path, "model.ffn.d_ff=8,16")
        self.refused(said, "plan", path, "tune.model.ffn.d_ff=8,16")
        self.refused("override 'model.ffn.d_ff=8' would have no effect: the file sweeps model.ffn.expansion, which is the same width", "plan", path, "model.ffn.d_ff=8")
        self.assertEqual(len(self.widths(self.write("each.json", {"extends": "xor.json", "seeds": 2, "sweep": {"include": [{"model.ffn.expansion": 1}, {"model.ffn.d_ff": 16}]}}))), 2)


class Extending(ProgramTest):
    def study(self, *more):
        return self.ok("--config", self.write("study.json", {**STUDY, "train": {**STUDY["train"], "steps": 60}}), *more)

    def test_a_wider_study_trains_only_what_is_new(self):
        self.assertIn("6 trained now, 0 found finished", self.study().stderr)
        self.assertIn("0 trained now, 6 found finished", self.study().stderr)
        self.assertIn("2 trained now, 6 found finished", self.study("seeds=4").stderr)
        self.assertIn("4 trained now, 8 found finished", self.study("seeds=4", "model.ffn.activation=relu,silu,gelu").stderr)

    def test_another_study_of_the_name_is_refused_and_moves_nothing_without_fresh(self):
        self.study()
        before = self.files()
        for changes, says in ((("train.steps=80",), "and 5 more hold a run of another config:\n  train.steps: 60 → 80\n"),
                              (("train.steps=80", "model.ffn.activation=gelu,tanh"), "runs/study holds another study of this name:\n  train.steps: 60 → 80\n")):
            error = self.fails(2, "--config", "study.json", *changes)
            for piece in (says, "name=", "-o", "--fresh"):
                self.assertIn(piece, error)
            self.assertEqual(self.files(), before)
        self.study("train.steps=80", "--fresh")
        self.assertEqual([p.name for p in (self.tmp / "runs").iterdir() if ".old-" in p.name], ["study.old-1"])

    def test_variants_that_left_a_study_stay_where_they_are(self):
        self.study()
        self.assertIn("3 trained now, 3 found finished", self.study("model.ffn.activation=relu,gelu").stderr)
        self.assertIn("3 trained now, 0 found finished", self.study("model.ffn.activation=tanh").stderr)
        self.assertIn("12 trained now, 0 found finished", self.study("model.ffn.expansion=1,2").stderr)
        self.assertIn("6 trained now, 0 found finished", self.study("model.ffn.activation=sigmoid", "model.ffn.kind=gated,moe").stderr)
        self.assertEqual([p for p in self.files() if ".old-" in p], [])

    def test_a_second_start_prints_the_same_table(self):
        self.assertEqual(self.study().stdout, self.study().stdout)


class Comparing(ProgramTest):
    def test_verdicts_in_every_form(self):
        study = {**STUDY, "seeds": 8, "train": {**STUDY["train"], "steps": 150, "eval_every": 5}}
        study["sweep"] = {"grid": {"model.ffn.activation": ["relu", "silu"], "model.ffn.expansion": [1, 4]}}
        self.ok("--config", self.write("study.json", study))
        out = json.loads(self.ok("compare", "runs/study", "--by", "model.ffn.activation", "--json").stdout)
        self.assertEqual(len(out["facets"]), 2)
        self.assertEqual(out["facets"][0]["pairs"][0]["seeds"], 8)
        self.assertIn("| expansion |", self.ok("compare", "runs/study", "--by", "model.ffn.activation", "--markdown").stdout.replace("  ", " "))
        rows = list(csv.DictReader(io.StringIO(self.ok("compare", "runs/study", "--by", "model.ffn.activation", "--csv").stdout)))
        self.assertEqual(len(rows), 4)
        self.assertEqual(rows[1]["reference"], "relu")
        self.assertLess(float(rows[1]["low"]), float(rows[1]["high"]))
        self.ok("compare", "runs/study", "--metric", "val/loss", "--reference", "silu", "--by", "model.ffn.activation")
        seconds = self.ok("compare", "runs/study", "--metric", "seconds_to_target", "--by", "model.ffn.expansion").stdout
        self.assertIn("shown, not judged", seconds)
        self.assertIn("did you mean", self.fails(2, "compare", "runs/study", "--metric", "val/los"))
        self.assertIn("values here", self.fails(2, "compare", "runs/study", "--by", "model.ffn.activation", "--reference", "tanh"))

    def over_texts(self, *more, texts=4, seeds=8):
        files = []
        for i in range(texts):
            words = ["the", "cat", "sat", "on", f"mat{i}", "and", "saw", "a", "dog", "run"]
            files.append(f"t{i}.txt")
            self.write(files[-1], " ".join(words[(j * j + i * j) % 10] for j in range(400)))
        study = {"name": "texts", "seeds": seeds, "task": {"kind": "text", "file": files[0], "context": 8}, "model": {"d_model": 8, "ffn": {"d_ff": 8}},
                 "train": {"steps": 30, "batch_size": 4, "optimizer": {"lr": 0.01}},
                 "sweep": {"grid": {"task.file": files, "model.ffn.activation": ["relu", "gelu"]}},
                 "compare": {"metric": "val/loss", "over": "task.file"}}
        return self.run_program("--config", self.write("study.json", study), "-q", *more)

    def test_texts_are_pooled_as_a_sample_and_crossed_with_the_seeds(self):
        self.assertEqual(self.over_texts().returncode, 0)
        out = json.loads(self.ok("compare", "runs/texts", "--json").stdout)
        (facet,) = out["facets"]
        (pair,) = facet["pairs"]
        self.assertEqual((facet["keys"], out["over"], pair["seeds"], len(facet["groups"][0]["values"])), ({}, "task.file", 8, 8))
        # By another route: the log ratios of each text and seed, their means, and the variance of two crossed samples.
        loss = {}
        for path in (self.tmp / "runs/texts").glob("*/seed-*/summary.json"):
            config = json.loads((path.parent / "config.json").read_text())
            loss[config["model"]["ffn"]["activation"], config["task"]["file"], config["seed"]] = json.loads(path.read_text())["metrics"]["val/loss"]["final"]
        texts, seeds = sorted({t for _, t, _ in loss}), range(8)
        self.assertEqual(len(loss), 2 * 4 * 8)
        d = [[math.log(loss["gelu", t, s] / loss["relu", t, s]) for s in seeds] for t in texts]
        mean = sum(map(sum, d)) / 32
        row, column = [sum(r) / 8 for r in d], [sum(c) / 4 for c in zip(*d)]
        rows, columns = 8 * sum((x - mean) ** 2 for x in row) / 3, 4 * sum((x - mean) ** 2 for x in column) / 7
        rest = sum((d[t][s] - row[t] - column[s] + mean) ** 2 for t in range(4) for s in seeds) / 21
        variance = max(rows, columns, rows + columns - rest) / 32
        self.assertAlmostEqual(pair["effect"]["value"], mean, places=12)
        self.assertAlmostEqual(pair["crossed"]["mean"], mean, places=12)
        width = pair["crossed"]["interval"]["high"] - mean
        self.assertAlmostEqual(mean - pair["crossed"]["interval"]["low"], width, places=12)
        self.assertTrue(1.96 * variance ** 0.5 < width < 3.19 * variance ** 0.5)  # t of infinitely many and of 3 degrees of freedom
        text = " ".join(self.ok("compare", "runs/texts").stdout.split())
        self.assertIn("each seed counts by its mean over task.file, and the verdicts are about these values of it alone", text)
        self.assertIn("intervals that cover other values like these, too (variant against relu): gelu ", text)
        self.assertIn(", 4 × 8 seeds", text)
        # Without it each text is judged by itself.
        self.assertEqual(len(json.loads(self.ok("compare", "runs/texts", "--by", "model.ffn.activation", "--json").stdout)["facets"]), 4)

    def test_of_two_texts_no_interval_covers_others(self):
        self.assertEqual(self.over_texts(texts=2, seeds=6).returncode, 0)
        self.assertNotIn("crossed", json.loads(self.ok("compare", "runs/texts", "--json").stdout)["facets"][0]["pairs"][0])
        self.assertIn("gelu none (fewer than 3 values or 2 seeds, or a run without a value)", " ".join(self.ok("compare", "runs/texts").stdout.split()))

    def test_what_cannot_be_pooled_is_refused_before_anything_trains(self):
        for more, words in ((["compare.by=task.file"], "must be another key"), (["compare.over=train.steps"], "one value only"),
                            (["compare.metric=steps_to_target", 'train.target={"metric":"val/loss","at_most":2}'], "needs a logged metric"),
                            (["seeds=auto"], "needs a fixed number of seeds"), (["compare.over=task.fil"], "task.file")):
            result = self.over_texts(*more)
            self.assertEqual(result.returncode, 2, result.stdout + result.stderr)
            self.assertIn(words, result.stderr)
            self.assertFalse((self.tmp / "runs/texts/study.json").exists())

    def test_too_few_seeds_give_no_verdict_and_say_how_many_would(self):
        self.ok("--config", self.write("study.json", {**STUDY, "train": {**STUDY["train"], "steps": 60}}))
        text = self.ok("compare", "runs/study").stdout
        self.assertIn("3 seeds are too few for a verdict; at least 6 are needed", " ".join(text.split()))
        self.fails(5, "compare", "runs/study", "--fail-if", "undecided")

    def test_plan_finds_a_single_run_and_says_what_would_be_refused(self):
        def planned(*more):
            plan = json.loads(self.ok("plan", "xor", *more, "--no-probe", "--json").stdout)
            return plan["pending"], plan["refused"]

        self.assertEqual(planned("seed=4"), (1, None))
        self.ok("xor", "seed=4", "-q")
        self.assertEqual(planned("seed=4"), (0, None))
        self.assertEqual(planned(), (1, None))
        pending, refused = planned("seed=4", "train.steps=500")
        self.assertEqual((pending, refused), (1, "runs/xor/seed-4 holds a run of another config:\n  train.steps: 1000 → 500"))
        self.assertIn(refused, self.fails(2, "xor", "seed=4", "train.steps=500"))
        two = ["xor", "name=two", "seeds=2", "model.ffn.activation=relu,gelu"]
        self.ok(*two, "-q")
        for more in (["train.steps=500"], ["train.steps=500", "model.ffn.activation=silu,tanh"]):
            pending, refused = planned(*two[1:], *more)
            self.assertEqual(pending, 4)
            self.assertIn(refused, self.fails(2, *two, *more))
        self.assertEqual(planned(*two[1:], "seeds=3"), (2, None))

    def test_plan_lists_the_runs_and_trains_nothing(self):
        path = self.write("study.json", STUDY)
        out = json.loads(self.ok("plan", "--config", path, "--json").stdout)
        self.assertEqual((out["runs"], out["pending"]), (6, 6))
        self.assertGreater(out["seconds"], 0)
        self.assertEqual(self.files(), ["study.json"])


class Adopted(ProgramTest):
    def test_a_key_that_joins_or_leaves_the_sweep_trains_nothing_again(self):
        common = ("xor", "name=mix", "seeds=4", "train.steps=60")
        self.ok(*common)
        broken = self.tmp / "runs/mix/base/seed-3/model.safetensors"
        broken.write_bytes(broken.read_bytes()[:-8])
        said = self.ok(*common, "model.ffn.activation=relu,gelu").stderr
        self.assertIn("3 runs were trained before", said)
        self.assertIn("8 runs: 5 trained now, 3 found finished", said)
        said = self.ok(*common, "model.ffn.activation=relu,gelu", "train.optimizer.lr=0.01,0.03").stderr
        self.assertIn("16 runs: 8 trained now, 8 found finished", said)
        (self.tmp / "runs/mix/activation=gelu+lr=0.01/seed-3").rename(self.tmp / "runs/mix/activation=gelu+lr=0.01/seed-3.tmp-7")  # of a killed copy
        (self.tmp / "runs/mix/activation=gelu+lr=0.01/seed-3.tmp-7/summary.json").unlink()
        self.assertIn("1 missing", self.run_program("check", "runs/mix").stdout)
        self.assertIn("1 run was trained before", self.ok(*common, "model.ffn.activation=relu,gelu", "train.optimizer.lr=0.01,0.03").stderr)
        self.assertEqual(list((self.tmp / "runs").rglob("*.tmp-*")), [])
        self.ok(*common, "model.ffn.activation=gelu", "train.optimizer.lr=0.03", "-o", "alone")
        for name in ("config.json", "model.safetensors"):
            one, other = (self.tmp / place / "seed-1" / name for place in ("runs/mix/activation=gelu+lr=0.03", "alone/mix/activation=gelu+lr=0.03"))
            if not other.exists():
                other = next((self.tmp / "alone").rglob("seed-1/" + name))
            self.assertEqual(one.read_bytes(), other.read_bytes())
        for name in ("config.json", "summary.json", "model.safetensors", "metrics.jsonl"):
            paths = [self.tmp / "runs/mix" / variant / "seed-0" / name for variant in ("base", "activation=relu", "activation=relu+lr=0.01")]
            self.assertEqual(len({path.read_bytes() for path in paths}), 1, name)
        self.assertIn("0 trained now, 16 found finished", self.ok(*common, "model.ffn.activation=relu,gelu", "train.optimizer.lr=0.01,0.03").stderr)

    def trained(self, seeds):
        """Trains a study without a sweep. Returns the config of the same with one."""
        study = {**STUDY, "name": "many", "seeds": seeds, "train": {"steps": 2}, "sweep": {"grid": {"model.ffn.activation": ["relu"]}}}
        plain, swept = self.write("plain.json", {**study, "sweep": {}}), self.write("swept.json", study)
        self.ok(plain, "-q")
        return swept

    def contents(self, variant):
        root = self.tmp / "runs/many" / variant
        return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file() and p.name != ".lock" and ".tmp-" not in str(p)}

    def test_of_many_copies_that_are_killed_each_is_whole_or_not_there_and_the_next_start_copies_the_rest(self):
        swept = self.trained(seeds=400)
        before = self.contents("base")
        for whole in (False, True):  # what is there when the kill comes
            process = subprocess.Popen(self.command(swept), cwd=self.tmp, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            while process.poll() is None and not [p for p in (self.tmp / "runs/many/activation=relu").glob("seed-*") if (".tmp-" in p.name) != whole]:
                time.sleep(0.001)
            process.kill()
            process.wait(60)
        arrived = self.contents("activation=relu")
        self.assertTrue(0 < len(arrived) < len(before), len(arrived))
        self.assertEqual(arrived, {name: before[name] for name in arrived})
        runs = {name.split("/")[0] for name in arrived}
        self.assertEqual(set(arrived), {name for name in before if name.split("/")[0] in runs})
        said = self.ok(swept).stderr
        self.assertIn(f"{400 - len(runs)} runs were trained before", said)
        self.assertIn("400 runs: 0 trained now, 400 found finished", said)
        self.assertEqual(self.contents("activation=relu"), before)
        self.assertEqual(list((self.tmp / "runs").rglob("*.tmp-*")), [])

    def test_one_that_cannot_be_copied_keeps_no_other_from_it(self):
        swept = self.trained(seeds=5)
        (self.tmp / "runs/many/base/seed-2/notes").write_bytes(b"x" * 300_000)
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
        said = self.ok(swept, preexec_fn=limit).stderr
        self.assertRegex(said, "runs/many/base/seed-2 is what runs/many/activation=relu/seed-2 will be, and could not be copied: .*; the run is trained again")
        self.assertIn("4 runs were trained before", said)
        self.assertIn("5 runs: 1 trained now, 4 found finished", said)
        self.assertEqual(list((self.tmp / "runs").rglob("*.tmp-*")), [])

    def test_of_many_that_cannot_be_copied_a_few_are_named_and_the_others_counted(self):
        swept = self.trained(seeds=6)
        for seed in range(5):
            (self.tmp / f"runs/many/base/seed-{seed}/notes").write_bytes(b"x" * 300_000)
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
        said = self.ok(swept, preexec_fn=limit).stderr
        self.assertEqual(said.count("the run is trained again"), 3, said)
        self.assertIn("2 more runs could not be copied and are trained again", said)
        self.assertIn("6 runs: 5 trained now, 1 found finished", said)

    def test_where_few_descriptors_are_allowed_all_are_copied(self):
        swept = self.trained(seeds=80)
        few = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))
        said = self.ok(swept, preexec_fn=few).stderr
        self.assertNotIn("could not be copied", said)
        self.assertIn("80 runs: 0 trained now, 80 found finished", said)

    def test_a_file_of_somebody_else_in_what_looks_like_a_killed_copy_stays(self):
        swept = self.trained(seeds=2)
        mine = self.write("runs/many/activation=relu/seed-1.tmp-77/thesis.txt", "mine")
        self.assertIn("2 runs were trained before", self.ok(swept).stderr)
        self.assertEqual(mine.read_text(), "mine")

    def test_a_file_or_a_link_in_the_place_of_a_run_is_named_with_what_to_do(self):
        swept = self.trained(seeds=3)
        places = [self.tmp / "runs/many/activation=relu" / f"seed-{seed}" for seed in (1, 2)]
        places[0].parent.mkdir()
        places[0].write_text("mine")
        places[1].symlink_to("nowhere")
        result = self.run_program(swept, "-q")
        self.assertEqual(result.returncode, 4, result.stderr)
        for text in ("runs/many/activation=relu/seed-1 is no directory; move it away",
                     "runs/many/activation=relu/seed-2 is a link that leads nowhere; move it away"):
            self.assertIn(text, result.stderr)
        self.assertNotIn("filesystem error", result.stderr)
        self.assertEqual((places[0].read_text(), os.readlink(places[1])), ("mine", "nowhere"))

    def test_what_another_engine_computed_is_not_taken_where_one_is_asked_for(self):
        common = ("xor", "name=mix", "seeds=2", "train.steps=20", "model.ffn.activation=relu,gelu")
        self.ok(*common)
        more = (*common, "train.optimizer.lr=0.01,0.03")
        self.assertIn("8 runs, 4 to train", self.ok("plan", *more).stdout)
        self.assertIn("8 runs, 8 to train", self.ok("plan", *more, "compute.engine=libtorch").stdout)
        self.assertIn("8 trained now", self.ok(*more, "--engine", "libtorch").stderr)
        self.assertIn("0 trained now", self.ok(*more, "--engine", "libtorch").stderr)


if __name__ == "__main__":
    main()
