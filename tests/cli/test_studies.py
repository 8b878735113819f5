#!/usr/bin/env python3
"""Studies survive anything: kills, interruptions, two starts at once; and the comparison that comes out."""
import json
import math
import os
import pathlib
import random
import signal
import subprocess
import time

from program import ProgramTest, main, record

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
        if ".old-" in str(weights) or ".damaged-" in str(weights):
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

    def test_what_killed_commands_left_half_written_goes_with_the_next_training(self):
        self.write("study.json", STUDY)
        self.ok("--config", "study.json", "-q")
        study = next((self.tmp / "runs").glob("*/study.json")).parent
        old, young = [study / f"{name}.tmp-99999999-1" for name in ("study.json", "compare.json", "report.html")], study / "report.html.tmp-99999998-1"
        for file in (*old, young, study.parent / ".seen.json.tmp-99999999-1"):
            file.write_text("{")
        for file in old:
            os.utime(file, (0, time.time() - 7200))
        self.ok("--config", "study.json", "seeds=4", "-q")
        self.assertEqual(list((self.tmp / "runs").rglob("*.tmp-*")), [young])

    def test_ctrl_c_checkpoints_and_ends_with_75_and_the_same_command_goes_on(self):
        self.write("study.json", STUDY)
        self.ok("--config", "study.json", "-o", "whole", "-q")
        for stop in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1):
            out = f"stopped-{stop}"
            process = self.start(out, "train.steps=6000", "train.eval_every=1000")
            deadline = time.time() + 30
            while time.time() < deadline and not list((self.tmp / out).rglob("checkpoint.safetensors")):
                time.sleep(0.02)
            os.kill(process.pid, stop)
            _, errors = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 75, errors)
            states = [json.loads(p.read_text())["state"] for p in (self.tmp / out).rglob("run.json")]
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
            states = [json.loads(p.read_text()) for p in (self.tmp / out).rglob("run.json")]
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

    def test_nobody_moves_a_study_that_is_at_work(self):
        self.long_study()
        process = self.start("busy")
        self.wait_for("busy/**/metrics.jsonl")
        fresh = self.run_program("--config", "study.json", "-o", "busy", "--fresh")
        other = self.run_program("--config", "study.json", "-o", "busy", "train.steps=500", "name=long")  # beside it
        os.kill(process.pid, signal.SIGTERM)
        process.communicate(timeout=60)
        self.assertEqual((fresh.returncode, other.returncode), (75, 0))
        self.assertIn("at work", fresh.stderr)
        self.assertEqual([p for p in (self.tmp / "busy").rglob("*") if ".old-" in p.name], [])

    def poem_study(self, **sweep):
        text = self.write("poem.txt", "the rain in spain stays mainly in the plain\n" * 60)
        self.write("study.json", {"name": "poem", "seeds": 2, "task": {"kind": "text", "file": "poem.txt", "context": 16},
                                  "model": {"d_model": 16, "residual": True}, "train": {"steps": 3000, "eval_every": 1000, "batch_size": 32}, **sweep})
        return text

    def poem_states(self, out="text"):
        return sorted(json.loads(p.read_text())["state"] for p in (self.tmp / out).rglob("run.json"))

    def test_a_text_that_is_edited_meanwhile_trains_no_run_under_the_old_identity(self):
        text = self.poem_study(sweep={"grid": {"model.ffn.expansion": [2, 8, 32]}})  # a cohort each
        before = text.read_text()
        self.ok("--config", "study.json", "-o", "whole", "-q")
        for kept in (False, True):  # the file's size and time: then the text in memory is taken, which is that of the identity
            out = "kept" if kept else "text"
            process = self.start(out, "-j", "1")
            self.wait_for(f"{out}/**/metrics.jsonl")
            time_of = text.stat()
            text.write_text(before.replace("rain", "hail") if kept else "the cat sat on the mat and looked at the rat\n" * 60)
            if kept:
                os.utime(text, ns=(time_of.st_atime_ns, time_of.st_mtime_ns))
            _, said = process.communicate(timeout=120)
            self.assertEqual(process.returncode, 0 if kept else 4, said)
            if kept:
                self.assertEqual(run_bits(self.tmp / out), run_bits(self.tmp / "whole"))
                continue
            self.assertIn("put the file back", said)  # the cause, where it is looked for
            states = self.poem_states(out)
            self.assertIn("failed", states)
            self.assertIn(f"{states.count('failed')} failed", (self.tmp / out / "poem/log.txt").read_text())
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
        while time.time() < deadline and not list(self.tmp.rglob("checkpoint.safetensors")):
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

    def test_null_drops_what_an_extended_file_says(self):
        self.write("base.json", {"extends": "configs/xor.json", "seeds": 2, "sweep": {"grid": {"model.ffn.activation": ["relu", "gelu"]}}, "compare": {"reference": "gelu"}})
        path = self.write("mine.json", {"extends": "base.json", "sweep": {"grid": {"model.ffn.activation": None, "model.ffn.d_ff": [4, 8]}}, "compare": {"reference": None}})
        self.assertEqual(json.loads(self.ok("--config", path, "--dry-run").stdout)["sweep"], {"grid": {"model.ffn.d_ff": [4, 8]}})
        self.refused("a list of values", "validate", self.write("base.json", {"seeds": 2, "sweep": {"grid": {"model.ffn.activation": None}}}))

    def test_a_key_that_no_kind_of_the_sweep_has_is_refused(self):
        self.refused('has "top_k"', "plan", "moe", "model.ffn.kind=gated,none", "model.ffn.top_k=1")
        self.ok("plan", "moe", "model.ffn.kind=gated,moe", "model.ffn.top_k=1", "model.ffn.activation=relu", "--no-probe")
        self.ok("plan", "moe", "model.ffn.kind=gated,none", "model.ffn.d_ff=24", "--no-probe")


class Extending(ProgramTest):
    def study(self, *more):
        return self.ok("--config", self.write("study.json", {**STUDY, "train": {**STUDY["train"], "steps": 60}}), *more)

    def test_a_wider_study_trains_only_what_is_new(self):
        self.assertIn("6 trained now, 0 found", self.study().stderr)
        self.assertIn("0 trained now, 6 found", self.study().stderr)
        self.assertIn("2 trained now, 6 found", self.study("seeds=4").stderr)
        self.assertIn("4 trained now, 8 found", self.study("seeds=4", "model.ffn.activation=relu,silu,gelu").stderr)

    def test_variants_that_left_a_study_stay_where_they_are(self):
        self.study()
        self.assertIn("3 trained now, 3 found", self.study("model.ffn.activation=relu,gelu").stderr)
        self.assertIn("3 trained now, 0 found", self.study("model.ffn.activation=tanh").stderr)
        self.assertIn("12 trained now, 0 found", self.study("model.ffn.expansion=1,2").stderr)
        self.assertIn("6 trained now, 0 found", self.study("model.ffn.activation=sigmoid", "model.ffn.kind=gated,moe").stderr)
        self.assertEqual([p for p in self.files() if ".old-" in p], [])

    def test_a_second_start_prints_the_same_table(self):
        self.assertEqual(self.study().stdout, self.study().stdout)


class Comparing(ProgramTest):
    def test_seconds_are_shown_and_not_judged(self):
        self.ok("--config", self.write("study.json", {**STUDY, "train": {**STUDY["train"], "steps": 150, "eval_every": 5}}))
        self.assertIn("shown, not judged", self.ok("compare", "runs/study", "--metric", "seconds_to_target").stdout)
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
        for path in (self.tmp / "runs/texts").glob("*/seed-*/run.json"):
            config = record(path)["config"]
            loss[config["model"]["ffn"]["activation"], config["task"]["file"], config["seed"]] = record(path)["summary"]["metrics"]["val/loss"]["final"]
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
        self.assertIn("of it alone", text)
        self.assertIn("intervals that cover other values like these, too (variant against relu): gelu ", text)
        self.assertIn(", 4 × 8 seeds", text)
        # Without it each text is judged by itself.
        self.assertEqual(len(json.loads(self.ok("compare", "runs/texts", "--by", "model.ffn.activation", "--json").stdout)["facets"]), 4)

    def test_of_two_texts_no_interval_covers_others(self):
        self.assertEqual(self.over_texts(texts=2, seeds=6).returncode, 0)
        self.assertNotIn("crossed", json.loads(self.ok("compare", "runs/texts", "--json").stdout)["facets"][0]["pairs"][0])
        self.assertIn("fewer than 3 values", " ".join(self.ok("compare", "runs/texts").stdout.split()))

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
        self.assertIn("at least 6 are needed", " ".join(text.split()))
        self.fails(5, "compare", "runs/study", "--fail-if", "undecided")

    def test_plan_lists_the_runs_and_trains_nothing(self):
        path = self.write("study.json", STUDY)
        out = json.loads(self.ok("plan", "--config", path, "--json").stdout)
        self.assertEqual((out["runs"], out["pending"]), (6, 6))
        self.assertGreater(out["seconds"], 0)
        self.assertEqual(self.files(), ["study.json"])


if __name__ == "__main__":
    main()
