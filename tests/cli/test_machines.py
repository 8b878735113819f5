#!/usr/bin/env python3
"""A study beyond one process: locks that hold, lie or lack, parts on several machines, merging them, Slurm's script."""
import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import time
import unittest

from program import ProgramTest, main
from test_studies import STUDY, run_bits

SHORT = {**STUDY, "train": {**STUDY["train"], "steps": 60, "eval_every": 20}}
LONG = {**STUDY, "train": {**STUDY["train"], "steps": 2000000, "eval_every": 100000, "checkpoint_every": 20000}}


def mounted_by_fuse():
    return os.geteuid() == 0 and os.path.exists("/dev/fuse") and shutil.which("bindfs") and shutil.which("fusermount3")


def is_running(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


class MachinesTest(ProgramTest):
    def study(self, content=SHORT):
        return self.write("study.json", content)

    def start(self, out, *more):
        return subprocess.Popen(self.command("--config", "study.json", "-o", out, *more), cwd=self.tmp, stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, text=True)

    def wait_for(self, pattern, seconds=60):
        deadline = time.time() + seconds
        while time.time() < deadline and not list(self.tmp.rglob(pattern)):
            time.sleep(0.02)
        self.assertTrue(list(self.tmp.rglob(pattern)), pattern)

    def preloaded(self, file_system):
        """The environment of a machine with such a file system."""
        shim = self.tmp / "file_system.so"
        if not shim.exists():
            source = pathlib.Path(__file__).with_name("file_system.c")
            subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-o", shim, source, "-ldl"], check=True)
        return {**os.environ, "LD_PRELOAD": str(shim), "FILE_SYSTEM": file_system}

    def refused(self, code, text, *arguments, **options):
        result = self.run_program("--config", "study.json", *arguments, **options)
        self.assertEqual(result.returncode, code, result.stderr + result.stdout)
        self.assertIn(text, result.stderr)
        return result.stderr


class Locks(MachinesTest):
    def test_a_planted_link_in_place_of_a_lock_is_not_followed(self):
        self.study()
        precious = self.write("precious.txt", "years of work\n")
        for lock in ("runs/.study.lock", "runs/study/activation=relu/.lock"):
            (self.tmp / lock).parent.mkdir(parents=True, exist_ok=True)
            (self.tmp / lock).symlink_to(precious)
            result = self.run_program("--config", "study.json")
            self.assertNotEqual(result.returncode, 0)
            self.assertIn("symbolic link", result.stderr)
            self.assertEqual(precious.read_text(), "years of work\n")
            (self.tmp / lock).unlink()
        self.ok("--config", "study.json")

    def test_a_file_of_somebody_else_in_place_of_a_lock_stays_as_it_is(self):
        self.study()
        lock = self.write("runs/.study.lock", "years of work\n")
        self.refused(1, "something else wrote to it")
        self.assertEqual(lock.read_text(), "years of work\n")
        lock.unlink()
        os.link(self.write("precious.txt", "years of work\n"), lock)
        self.refused(1, "something else wrote to it")
        self.assertEqual((self.tmp / "precious.txt").read_text(), "years of work\n")
        lock.unlink()
        lock.mkdir()
        self.refused(1, ".study.lock")
        lock.rmdir()
        os.mkfifo(lock)
        self.refused(1, "no regular file")

    def test_each_reason_has_its_own_message_and_only_another_process_invites_a_retry(self):
        self.study()
        full = self.refused(1, "No space left", env=self.preloaded("full-disk"))
        self.assertNotIn("at work", full)
        without = self.refused(1, "has no locks", "-o", "b", env=self.preloaded("without-locks"))
        self.assertNotIn("at work", without)
        self.assertIn("--shard", without)
        self.assertEqual(list(self.tmp.glob("b/study")), [])

    def test_copying_ends_at_the_first_write_to_a_full_disk(self):
        study = {**SHORT, "seeds": 12, "train": {"steps": 2}, "sweep": {}}
        self.study(study)
        self.ok("--config", "study.json", "-q")
        self.study({**study, "sweep": {"grid": {"model.ffn.activation": ["relu"]}}})
        said = self.refused(1, "No space left", env=self.preloaded("no-room-for-copies"))
        self.assertEqual(said.count("No space left"), 1, said)
        self.assertIn("free some disk space and start again", said)
        self.assertNotIn("trained again", said)
        self.assertEqual(list(self.tmp.rglob("*.tmp-*")), [])
        self.assertIn("12 runs: 0 trained now, 12 found finished", self.ok("--config", "study.json").stderr)

    def test_locks_that_are_granted_to_everybody_are_found_out(self):
        self.study()
        error = self.refused(1, "locks do not hold", env=self.preloaded("lying-locks"))
        self.assertIn("--shard", error)
        self.assertEqual(list(self.tmp.glob("runs/study")), [])

    def test_a_shard_needs_no_locks(self):
        self.study()
        self.ok("--config", "study.json", "-o", "whole", "-q")
        for file_system in ("without-locks", "lying-locks"):
            for shard in ("1/2", "2/2"):
                self.ok("--config", "study.json", "-o", file_system, "-q", "--shard", shard, env=self.preloaded(file_system))
            self.assertEqual(run_bits(self.tmp / file_system), run_bits(self.tmp / "whole"))
        run = self.write("run.json", {k: v for k, v in SHORT.items() if k not in ("seeds", "sweep")})
        self.assertIn("--shard 1/1", self.run_program("--config", run, env=self.preloaded("without-locks")).stderr)
        self.ok("--config", run, "--shard", "1/1", env=self.preloaded("without-locks"))

    @unittest.skipUnless(mounted_by_fuse(), "needs root, /dev/fuse and bindfs")
    def test_on_a_real_file_system_whose_locks_do_not_hold(self):
        # bindfs forwards locks from one process of its own: they never exclude each other.
        self.study()
        (self.tmp / "source").mkdir(), (self.tmp / "mount").mkdir()
        mounted = subprocess.run(["bindfs", "--multithreaded", "--enable-lock-forwarding", "source", "mount"], cwd=self.tmp)
        if mounted.returncode != 0:
            self.skipTest("bindfs cannot mount here")
        try:
            self.refused(1, "locks do not hold", "-o", "mount")
            self.ok("--config", "study.json", "-o", "mount", "--shard", "1/1")
        finally:
            subprocess.run(["fusermount3", "-u", "-z", "mount"], cwd=self.tmp)
        self.ok("--config", "study.json", "-o", "whole", "-q")
        self.assertEqual(run_bits(self.tmp / "source"), run_bits(self.tmp / "whole"))


    @unittest.skipUnless(mounted_by_fuse(), "needs root, /dev/fuse and bindfs")
    def test_another_machine_whose_locks_are_not_seen_is_noticed(self):
        # Two mounts of one directory, each with locks of its own: what two machines are where locks stay on the machine.
        self.study(LONG)
        for name in ("source", "here", "there"):
            (self.tmp / name).mkdir()
        try:
            for mount in ("here", "there"):
                if subprocess.run(["bindfs", "source", mount], cwd=self.tmp).returncode != 0:
                    self.skipTest("bindfs cannot mount here")
            process = self.start("here", "-j", "1")
            self.wait_for("source/**/metrics.jsonl")
            error = self.refused(1, "its locks are not seen here", "-o", "there")
            self.assertIn("--shard", error)
            partner = self.start("here", "-j", "1")  # one that does see them takes part
            time.sleep(1)
            self.assertIsNone(partner.poll())
            for p in (process, partner):
                os.kill(p.pid, signal.SIGTERM)
                p.communicate(timeout=60)
                self.assertEqual(p.returncode, 75)
            self.assertEqual(list((self.tmp / "source/study").glob(".at-work-*")), [])
            # What a kill left is no sign of life.
            killed = self.start("here", "-j", "1")
            self.wait_for("source/study/.at-work-*")
            killed.kill()
            killed.communicate()
            time.sleep(1)
            self.write("source/study/.at-work-far-1", "another machine\n1\n7\n")
            for variant in (self.tmp / "source/study").glob("activation=*"):
                shutil.rmtree(variant)  # a short study in its place
            began = time.time()
            self.study(SHORT)
            self.ok("--config", "study.json", "-o", "there")
            self.assertGreater(time.time() - began, 9)
            self.assertEqual(list((self.tmp / "source/study").glob(".at-work-*")), [])
        finally:
            for mount in ("here", "there"):
                subprocess.run(["fusermount3", "-u", "-z", mount], cwd=self.tmp, stderr=subprocess.DEVNULL)


class Workers(MachinesTest):
    def children(self, process):
        return [int(pid) for pid in pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]

    def test_a_stopped_worker_does_not_keep_a_study_from_ending(self):
        self.study(LONG)
        process = self.start("runs", "-j", "2")
        self.wait_for("**/metrics.jsonl")
        workers = self.children(process)
        self.assertEqual(len(workers), 2)
        for worker in workers:
            os.kill(worker, signal.SIGSTOP)
        os.kill(process.pid, signal.SIGTERM)
        _, errors = process.communicate(timeout=40)
        self.assertEqual(process.returncode, 75, errors)
        states = [json.loads(p.read_text())["state"] for p in self.tmp.rglob("status.json")]
        self.assertNotIn("running", states)
        self.assertNotIn("are killed", errors)

    @unittest.skipUnless(os.getuid() == 0, "needs a user without processes of its own")
    def test_where_processes_are_limited_a_study_goes_on_with_the_workers_that_can_be_started(self):
        self.study()
        os.chmod(self.tmp, 0o777)
        user = 100_000 + os.getpid()

        def limited(most):
            def limit():
                os.setgroups([])
                os.setgid(user)
                os.setuid(user)
                resource.setrlimit(resource.RLIMIT_NPROC, (most, most))
            return limit

        said = {}
        for most in range(1, 13):  # the parent's own threads count, too
            result = self.run_program("--config", "study.json", "-o", f"out-{most}", "-j", "4", preexec_fn=limited(most))
            said[most] = (result.returncode, result.stderr)
        self.assertEqual(said[1][0], 1, said[1])
        self.assertRegex(said[1][1], r"error: cannot start a worker: Resource temporarily unavailable\nhint: .*ulimit -u.*-j")
        self.assertEqual(said[12][0], 0, said[12])
        fewer = [code for code, errors in said.values() if "the study goes on with" in errors]
        self.assertEqual(fewer, [0, 0, 0], said)
        self.assertIn("cannot start a worker: Resource temporarily unavailable; the study goes on with 1 of 4 workers", "".join(errors for _, errors in said.values()))

    def test_stopped_workers_end_when_their_parent_is_killed(self):
        self.study(LONG)
        process = self.start("runs", "-j", "2")
        self.wait_for("**/metrics.jsonl")
        workers = self.children(process)
        self.assertEqual(len(workers), 2)
        try:
            for worker in workers:
                os.kill(worker, signal.SIGSTOP)
            process.kill()
            process.wait()
            deadline = time.time() + 20
            while time.time() < deadline and any(is_running(worker) for worker in workers):
                time.sleep(0.05)
            self.assertEqual([worker for worker in workers if is_running(worker)], [])
        finally:
            for worker in workers:
                if is_running(worker):
                    os.kill(worker, signal.SIGKILL)
            process.stderr.close()
        states = [json.loads(p.read_text())["state"] for p in self.tmp.rglob("status.json")]
        self.assertIn("interrupted", states)  # and not merely dead
        self.assertNotIn("running", states)

    def test_what_a_kill_left_of_the_study_files_is_removed_and_nothing_else(self):
        self.study()
        self.ok("--config", "study.json")
        ours = [self.write(f"runs/study/{name}.tmp-4242-0", "{") for name in ("study.json", "compare.json")]
        theirs = self.write("runs/study/notes.tmp-1", "mine")
        self.ok("--config", "study.json")  # all is finished
        self.assertEqual([p for p in ours if p.exists()], [])
        self.write("runs/study/study.json.tmp-4242-0", "{")
        self.ok("--config", "study.json", "seeds=4")
        self.assertEqual(list((self.tmp / "runs/study").glob("*.json.tmp-*")), [])
        self.assertEqual(theirs.read_text(), "mine")

    def test_nobody_removes_a_temporary_while_another_is_at_work(self):
        self.study(LONG)
        process = self.start("runs")
        self.wait_for("**/metrics.jsonl")
        file = self.write("runs/study/study.json.tmp-4242-0", "{")
        other = self.start("runs")
        time.sleep(1)
        self.assertTrue(file.exists())
        for p in (process, other):
            os.kill(p.pid, signal.SIGTERM)
            p.communicate(timeout=60)


class Shards(MachinesTest):
    def runs_of(self, out):
        return {str(p.parent.relative_to(self.tmp / out / "study")) for p in (self.tmp / out).rglob("model.safetensors")}

    def test_shards_have_whole_seeds_and_together_every_run_once(self):
        self.study({**SHORT, "seeds": 5})
        all_runs = []
        for i in (1, 2, 3):
            result = self.ok("--config", "study.json", "-o", f"part-{i}", "--shard", f"{i}/3")
            runs = 2 if i == 3 else 4
            self.assertIn(f"shard {i} of 3: {runs} of 10 runs; the others are trained elsewhere", result.stderr)
            self.assertIn(f"shard {i} of 3: {runs} of 10 runs: {runs} trained now, 0 found finished", result.stderr)
            self.assertEqual({run.replace("relu", "silu") for run in self.runs_of(f"part-{i}")}, {run for run in self.runs_of(f"part-{i}") if "silu" in run})
            all_runs += self.runs_of(f"part-{i}")
        self.assertEqual((len(all_runs), len(set(all_runs))), (10, 10))
        self.assertIn("0 trained now, 2 found finished", self.ok("--config", "study.json", "-o", "part-3", "--shard", "3/3").stderr)

    def test_with_fewer_seeds_than_shards_runs_are_dealt_out(self):
        self.study()
        for i in range(1, 7):
            self.ok("--config", "study.json", "-o", "all", "-q", "--shard", f"{i}/7")
            self.assertEqual(len(self.runs_of("all")), i)
        self.assertIn("0 of 6 runs", self.ok("--config", "study.json", "-o", "all", "--shard", "7/7").stderr)

    def test_what_is_no_shard_is_refused(self):
        self.study()
        for text in ("0/2", "3/2", "1", "1/", "/2", "a/b", "1/2/3", "-1/2", "1/99999999999999999999999"):
            self.assertIn("expected i/n", self.fails(2, "--config", "study.json", f"--shard={text}"))
        self.fails(2, "--config", "study.json", "--shard", "1/2", "--fresh")
        single = {k: v for k, v in SHORT.items() if k not in ("seeds", "sweep")}
        self.assertIn("single run", self.fails(2, "--config", self.write("run.json", single), "--shard", "1/2"))


class Merging(MachinesTest):
    def setUp(self):
        super().setUp()
        self.study({**SHORT, "seeds": 4})
        for i in (1, 2):
            self.ok("--config", "study.json", "-o", f"machine-{i}", "-q", "--shard", f"{i}/2")

    def merge(self, *more, sources=("machine-1/study", "machine-2/study"), out="merged/study"):
        return self.ok("merge", *sources, "-o", out, *more)

    def contents(self, root):
        return {str(p.relative_to(self.tmp)): p.read_bytes() for p in (self.tmp / root).rglob("*") if p.is_file()}

    def test_two_machines_give_the_bits_of_one(self):
        self.ok("--config", "study.json", "-o", "whole", "-q")
        before = {**self.contents("machine-1"), **self.contents("machine-2")}
        report = json.loads(self.merge("--json").stdout)
        self.assertEqual((report["planned"], report["finished"], report["unfinished"]), (8, 8, 0))
        self.assertEqual(report["copied"], {"machine-1/study": 4, "machine-2/study": 4})
        self.assertEqual(run_bits(self.tmp / "merged"), run_bits(self.tmp / "whole"))
        self.assertEqual({**self.contents("machine-1"), **self.contents("machine-2")}, before)
        whole = self.ok("compare", "whole/study", "--metric", "val/loss", "--csv").stdout
        self.assertEqual(self.ok("compare", "merged/study", "--metric", "val/loss", "--csv").stdout.splitlines()[0], whole.splitlines()[0])
        self.assertIn("0 trained now, 8 found finished", self.ok("--config", "study.json", "-o", "merged").stderr)
        self.assertIn("8 finished", self.merge().stdout)  # once more: nothing to do
        self.assertNotIn("copied", self.merge().stdout)

    def test_a_slash_at_the_end_and_a_target_that_has_some_of_it(self):
        self.merge(sources=("machine-1/study/",), out="merged/study/")
        self.assertEqual(len(run_bits(self.tmp / "merged")), 4)
        self.assertIn("copied from machine-2/study: 4 runs", self.merge().stdout)

    def test_another_study_is_refused(self):
        self.ok("--config", "study.json", "-o", "other", "-q", "train.steps=80")
        error = self.fails(3, "merge", "machine-1/study", "other/study", "-o", "merged/study")
        for text in ("machine-1/study", "other/study", "train.steps"):
            self.assertIn(text, error)
        self.assertFalse((self.tmp / "merged").exists())
        self.merge()
        self.assertIn("holds another study", self.fails(3, "merge", "other/study", "-o", "merged/study"))
        self.assertIn("no study.json", self.fails(3, "merge", "machine-1", "-o", "c"))
        self.assertIn("no directory", self.fails(3, "merge", "nowhere", "-o", "c"))
        self.assertIn("lie in each other", self.fails(2, "merge", "machine-1/study", "-o", "machine-1/study"))

    def test_two_results_of_one_run_are_refused(self):
        self.ok("--config", "study.json", "-o", "machine-3", "-q", "--shard", "1/2", "--engine", "libtorch")  # other last bits
        error = self.fails(3, "merge", "machine-1/study", "machine-3/study", "-o", "merged/study")
        run = "study/activation=relu/seed-0"
        for text in (f"machine-1/{run}", f"machine-3/{run}", "differ", "fused", "libtorch", "nothing was copied"):
            self.assertIn(text, error)
        self.assertFalse((self.tmp / "merged").exists())

    def test_the_same_result_twice_is_no_contradiction_and_a_damaged_one_no_result(self):
        shutil.copytree(self.tmp / "machine-1", self.tmp / "machine-3")
        run = self.tmp / "machine-3/study/activation=relu/seed-0"
        both = ("machine-1/study", "machine-3/study")
        self.assertIn("4 finished", self.merge(sources=both, out="equal/study").stdout)
        weights = (run / "model.safetensors").read_bytes()
        (run / "model.safetensors").write_bytes(weights[:-1] + bytes([weights[-1] ^ 1]))
        for sources in (both, both[::-1]):
            result = self.merge(sources=sources, out=f"of-{sources[0]}")
            self.assertIn("4 finished", result.stdout)
            self.assertIn(str(run.relative_to(self.tmp)), result.stderr)
            self.assertEqual((self.tmp / f"of-{sources[0]}/activation=relu/seed-0/model.safetensors").read_bytes(), weights)

    def test_a_finished_copy_beats_an_unfinished_one_and_the_further_checkpoint_the_nearer(self):
        self.study({**LONG, "seeds": 1})
        for i in (1, 2):  # the second goes further
            process = self.start(f"long-{i}", "-j", "2")
            self.wait_for(f"long-{i}/**/state.safetensors")
            time.sleep(0.1 if i == 1 else 1)
            os.kill(process.pid, signal.SIGTERM)
            process.communicate(timeout=60)
        def steps(out):
            return {p.parent.name + p.parent.parent.name: json.loads(p.read_text())["step"] for p in (self.tmp / out).rglob("status.json")}
        one, two = steps("long-1"), steps("long-2")
        for sources in (("long-1/study", "long-2/study"), ("long-2/study", "long-1/study")):
            shutil.rmtree(self.tmp / "merged", ignore_errors=True)
            self.merge(sources=sources)
            self.assertEqual(steps("merged"), {run: max(one[run], two[run]) for run in one})
        self.merge(sources=("long-1/study",), out="over/study")
        self.merge(sources=("long-2/study",), out="over/study")
        self.assertEqual({run: step for run, step in steps("over").items() if ".old-" not in run}, {run: max(one[run], two[run]) for run in one})
        self.assertEqual(list((self.tmp / "over").rglob("*.tmp-*")), [])
        self.assertEqual(len([p for p in (self.tmp / "over").rglob("state.safetensors") if ".old-" not in str(p)]), 2)

    def test_what_is_moved_aside_locks_and_temporaries_stay_behind(self):
        run = self.tmp / "machine-1/study/activation=relu/seed-0"
        shutil.copytree(run, run.with_name("seed-0.old-1"))
        self.write("machine-1/study/activation=relu/seed-0/status.json.tmp-1-1", "{")
        self.merge()
        names = [p.name for p in (self.tmp / "merged/study").rglob("*")]
        self.assertEqual([n for n in names if ".old-" in n or ".tmp-" in n or n == ".lock"], [])

    def test_a_damaged_copy_is_said_and_left_out(self):
        (self.tmp / "machine-1/study/activation=relu/seed-0/metrics.jsonl").write_text("{")
        result = self.merge()
        self.assertIn("machine-1/study/activation=relu/seed-0", result.stderr)
        self.assertIn("7 finished, 0 begun, 1 not begun of 8 runs", result.stdout)

    def test_of_a_run_whose_files_but_meta_are_lost_the_loss_is_said(self):
        lost = self.tmp / "machine-1/study/activation=relu/seed-0"
        for name in ("status.json", "summary.json"):
            (lost / name).unlink()
        result = self.merge()
        self.assertIn("machine-1/study/activation=relu/seed-0: status.json: missing; this copy is left out", result.stderr)
        self.assertIn("7 finished, 0 begun, 1 not begun of 8 runs", result.stdout)

    def test_what_is_in_the_target_is_moved_aside_if_it_is_ours_and_refused_if_not(self):
        self.merge()
        run = self.tmp / "merged/study/activation=relu/seed-0"
        keep = self.contents("merged")
        shutil.rmtree(run)
        for place, content in ((run / "notes.txt", {"notes.txt": "mine"}), (run, "mine")):
            place.parent.mkdir(exist_ok=True)
            place.write_text("mine")
            error = " ".join(self.fails(3, "merge", "machine-1/study", "machine-2/study", "-o", "merged/study").split())
            self.assertIn("merged/study/activation=relu/seed-0 is no ", error)
            self.assertIn("nothing was copied", error)
            self.assertEqual(place.read_text(), "mine")
            shutil.rmtree(run, ignore_errors=True) if place != run else run.unlink()
        elsewhere = self.tmp / "elsewhere"
        shutil.copytree(self.tmp / "machine-1/study/activation=relu/seed-0", elsewhere)
        (elsewhere / "metrics.jsonl").write_text("{")  # so that it is the lesser one
        run.symlink_to(elsewhere)
        self.assertIn("seed-0 is a link", self.fails(3, "merge", "machine-1/study", "machine-2/study", "-o", "merged/study"))
        run.unlink()
        self.merge()
        self.assertEqual(self.contents("merged"), keep)
        (run / "metrics.jsonl").write_text("{")
        (run / "notes.txt").write_text("mine")
        self.assertIn("moved to merged/study/activation=relu/seed-0.old-1", " ".join(self.merge().stderr.split()))
        self.assertEqual((run.with_name("seed-0.old-1") / "notes.txt").read_text(), "mine")
        self.assertIn("8 whole", self.ok("check", "merged").stdout)

    def test_a_merge_that_ends_early_leaves_a_study_that_lacks_runs_and_goes_on(self):
        self.merge()
        whole = self.contents("merged")
        shutil.rmtree(self.tmp / "merged")
        (self.tmp / "machine-2/study/activation=silu/seed-3/log.txt").write_text("x" * 1_000_000)
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
        result = self.run_program("merge", "machine-1/study", "machine-2/study", "-o", "merged/study", preexec_fn=limit)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertEqual(list((self.tmp / "merged").rglob("*.tmp-*")), [])
        shutil.copytree(self.tmp / "merged", self.tmp / "looked-at")  # a look is recorded where it is taken
        self.assertIn("not there, but listed in study.json", " ".join(self.ok("compare", "looked-at/study").stdout.split()))
        self.assertIn("1 missing", self.run_program("check", "merged/study").stdout)
        # What a kill leaves: the run that was being copied. The next merge takes it away, and so does clean.
        (self.tmp / "machine-2/study/activation=silu/seed-3/log.txt").unlink()
        for command in (("clean", "merged", "--yes"), ("merge", "machine-1/study", "machine-2/study", "-o", "merged/study")):
            left = [self.tmp / f"merged/study/activation=silu/seed-3.tmp-{pid}" for pid in (98, 99)]
            for directory in left:
                directory.mkdir()
                (directory / "config.json.tmp-99-0").write_text("{")
            self.ok(*command)
            self.assertEqual([d for d in left if d.exists()], [], command)
        self.assertEqual({k: v for k, v in self.contents("merged").items() if "log.txt" not in k}, {k: v for k, v in whole.items() if "log.txt" not in k})
        mine = self.write("merged/study/activation=silu/seed-3.tmp-77/thesis.txt", "mine")
        self.merge()
        self.assertEqual(mine.read_text(), "mine")
        shutil.rmtree(self.tmp / "merged/study")
        self.write("merged/study/study.json.tmp-99-0", "{")
        self.merge()
        self.assertEqual({k: v for k, v in self.contents("merged").items() if "log.txt" not in k}, {k: v for k, v in whole.items() if "log.txt" not in k})

    def test_runs_in_each_others_directories_are_named_and_not_merged(self):
        study = self.tmp / "machine-1/study"
        places = {"seeds": ("activation=relu/seed-0", "activation=relu/seed-2"), "variants": ("activation=relu/seed-0", "activation=silu/seed-0")}
        said = {"seeds": ("the run of seed 2", "the run of seed 0"), "variants": ("a run of activation=silu", "a run of activation=relu")}
        for kind, (a, b) in places.items():
            swap = lambda: ((study / a).rename(study / "x"), (study / b).rename(study / a), (study / "x").rename(study / b))
            swap()
            result = self.run_program("check", "machine-1")
            self.assertEqual(result.returncode, 3)
            self.assertIn("2 in another run's directory", result.stdout)
            error = self.fails(3, "merge", "machine-1/study", "machine-2/study", "-o", "merged/study")
            for text in said[kind]:
                self.assertIn(text, result.stdout)
                self.assertIn(text, " ".join(error.split()))
            self.assertIn("of another config", self.fails(2, "study.json", "-o", "machine-1", "--shard", "1/2"))
            swap()
        self.assertIn("missing", self.run_program("check", "machine-1").stdout)  # the other shard's, and nothing else
        self.assertNotIn("another run's", self.run_program("check", "machine-1").stdout)

    def test_the_order_of_keys_and_what_makes_no_other_run_make_no_other_study(self):
        def part(i, *more):
            self.ok("--config", "study.json", "-q", "-o", f"part-{i}", "--shard", f"{i}/2", *more)
        self.study({**SHORT, "seeds": 4, "train": {**SHORT["train"], "steps": 4}})
        part(1, "model.ffn.dropout=0.1", "model.ffn.bias=false")
        part(2, "model.ffn.bias=false", "model.ffn.dropout=0.1")
        sources = ("part-1/study", "part-2/study")
        self.assertNotIn("differs in their study.json", self.merge(sources=sources).stderr)
        self.assertIn("8 whole", self.ok("check", "merged").stdout)
        self.merge(sources=sources[::-1])  # into what the other order gave
        shutil.rmtree(self.tmp / "part-2")
        part(2, "model.ffn.bias=false", "model.ffn.dropout=0.1", "train.checkpoint_every=7", "question=why", "compare.alpha=0.1")
        self.assertIn("part-1/study and part-2/study train the same runs, but", " ".join(self.merge(sources=sources, out="others").stderr.split()))
        self.assertIn("8 whole", self.ok("check", "others").stdout)
        for other in ("seeds=5", "train.steps=5", "model.ffn.activation=relu,gelu"):
            shutil.rmtree(self.tmp / "part-2")
            part(2, "model.ffn.bias=false", "model.ffn.dropout=0.1", other)
            self.assertIn("are different studies", self.fails(3, "merge", *sources, "-o", "more"))

    def test_links_to_runs_and_variants_are_followed(self):
        study = self.tmp / "machine-1/study"
        (self.tmp / "disk").mkdir()
        for place, to in (("activation=relu", "variant"), ("activation=silu/seed-0", "run"), ("activation=silu/seed-2/model.safetensors", "weights")):
            shutil.move(study / place, self.tmp / "disk" / to)
            (study / place).symlink_to(self.tmp / "disk" / to)
        for place, to in (("activation=relu/again", ".."), ("all", "."), ("root", "/"), ("activation=silu/seed-0/root", "/")):
            (study / place).symlink_to(to)
        result = self.merge()
        self.assertIn("8 finished, 0 begun, 0 not begun of 8 runs", result.stdout)
        self.assertIn("machine-1/study/root: a link", result.stderr)
        self.assertIn("8 whole", self.ok("check", "merged").stdout)
        self.assertEqual([p for p in (self.tmp / "merged").rglob("*") if p.is_symlink()], [])

    def test_runs_in_places_that_the_study_does_not_list_are_named_and_not_counted(self):
        run = self.tmp / "machine-1/study/activation=relu/seed-0"
        for name in "uvwx":
            shutil.copytree(run, self.tmp / f"machine-1/study/{name}/seed-0")
        result = self.merge(sources=("machine-1/study",))
        self.assertIn("4 finished, 0 begun, 4 not begun of 8 runs", result.stdout)
        self.assertIn("4 runs in places that study.json does not list: u/seed-0, v/seed-0, w/seed-0, …; taken along and not counted", " ".join(result.stderr.split()))
        report = json.loads(self.merge("--json").stdout)
        self.assertEqual([report[key] for key in ("planned", "finished", "unfinished", "beside")], [8, 8, 0, 4])

    def test_a_whole_copy_beats_a_damaged_one(self):
        shutil.copytree(self.tmp / "machine-1", self.tmp / "mendable")
        shutil.copytree(self.tmp / "machine-1", self.tmp / "marred")
        (self.tmp / "mendable/study/activation=relu/seed-0/config.json").unlink()
        (self.tmp / "marred/study/activation=relu/seed-0/meta.json").write_text("{")
        for name, parts in (("a", ("mendable", "machine-1")), ("b", ("marred", "machine-1")), ("c", ("mendable", "marred", "machine-1"))):
            self.merge(sources=[f"{part}/study" for part in parts], out=name)
            self.assertIn("4 whole", self.run_program("check", name).stdout)
        self.merge(sources=("mendable/study", "marred/study"), out="d")
        self.assertIn("1 whole but for meta.json", self.run_program("check", "d").stdout)
        self.assertIn("4 whole", self.run_program("check", "a").stdout)
        self.assertIn("moved to mendable/study/activation=relu/seed-0.old-1", " ".join(self.merge(sources=("machine-1/study",), out="mendable/study").stderr.split()))
        self.assertIn("4 whole", self.run_program("check", "mendable").stdout)

    def test_a_target_learns_the_texts_from_its_parts(self):
        self.write("a.txt", "the rain in spain stays\n" * 60)
        self.study({"name": "study", "task": {"kind": "text", "context": 8, "file": "a.txt"}, "model": {"d_model": 8, "blocks": 1}, "seeds": 2,
                    "train": {"steps": 4, "eval_every": 2, "batch_size": 4}, "sweep": {"grid": {"model.ffn.activation": ["relu", "gelu"]}}})
        for i in (1, 2):
            self.ok("--config", "study.json", "-q", "-o", f"text-{i}", "--shard", f"{i}/2")
        whole = json.loads((self.tmp / "text-1/study/study.json").read_text())
        old = {key: value for key, value in whole.items() if key not in ("texts", "checksum")} | {"schema_version": 1}
        for name in ("study.json", "study.json.bak"):  # as an older program wrote it
            self.write(f"text-1/study/{name}", old)
        self.merge(sources=("text-2/study",), out="text-1/study")
        for name in ("study.json", "study.json.bak"):
            self.assertEqual(json.loads((self.tmp / "text-1/study" / name).read_text())["texts"], whole["texts"])
        self.assertIn("4 whole", self.ok("check", "text-1").stdout)

    def test_parts_whose_configs_resolved_to_others_are_refused(self):
        def says(part, configs):
            study = json.loads((self.tmp / f"machine-{part}/study/study.json").read_text())
            study = {key: value for key, value in study.items() if key not in ("configs", "checksum")} | {"schema_version": 1}
            for name in ("study.json", "study.json.bak"):
                self.write(f"machine-{part}/study/{name}", {**study, "configs": configs} if configs else study)
        says(1, {"activation=relu": "a", "activation=silu": "b"})
        says(2, {"activation=silu": "b", "activation=relu": "c"})  # another file of formulas
        self.assertIn("configs.activation=relu differs", self.fails(3, "merge", "machine-1/study", "machine-2/study", "-o", "merged/study"))

    def test_a_target_that_holds_files_of_somebody_else_is_refused_and_keeps_them(self):
        self.ok("--config", "study.json", "-o", "other", "-q", "train.steps=80")
        (self.tmp / "merged/study").mkdir(parents=True)
        shutil.copy(self.tmp / "other/study/study.json", self.tmp / "merged/study/study.json.bak")
        before = self.contents("merged")
        self.assertIn("holds another study", self.fails(3, "merge", "machine-1/study", "-o", "merged/study"))
        self.assertEqual(self.contents("merged"), before)
        (self.tmp / "merged/study/study.json.bak").unlink()
        mine = {"study.json.tmp-7": "{mine", "study.json.tmp-7-0": "mine", "study.json.txt": "{", "study.json.tmp-7-0.gz": "{"}
        for name, text in mine.items():
            file = self.write(f"merged/study/{name}", text)
            self.assertIn("no study.json", self.fails(3, "merge", "machine-1/study", "-o", "merged/study"))
            self.assertEqual(file.read_text(), text)
            file.unlink()
        self.merge()
        for name, text in mine.items():
            self.write(f"merged/study/{name}", text)
        self.merge()
        self.ok("--config", "study.json", "-o", "merged", "-q", "seeds=4")
        self.assertEqual({name: (self.tmp / "merged/study" / name).read_text() for name in mine}, mine)

    def test_of_a_target_whose_study_file_had_not_appeared_the_copy_is_known(self):
        self.merge(sources=("machine-1/study",))
        (self.tmp / "merged/study/study.json").unlink()  # killed between the two
        self.assertIn("8 finished", self.merge().stdout)
        self.assertIn("8 whole", self.ok("check", "merged").stdout)

    def test_an_interrupted_run_in_anothers_place_is_named_and_not_merged(self):
        self.study(LONG)
        process = self.start("parts")
        self.wait_for("parts/**/state.safetensors")
        os.kill(process.pid, signal.SIGTERM)
        process.communicate(timeout=60)
        shutil.copytree(self.tmp / "parts", self.tmp / "moved")
        run = next(p.parent for p in sorted((self.tmp / "moved").rglob("status.json")) if json.loads(p.read_text())["state"] == "interrupted")
        seed = json.loads((run / "config.json").read_text())["seed"]
        run.rename(run.with_name("seed-77"))
        error = self.fails(3, "merge", "moved/study", "parts/study", "-o", "merged/study")
        self.assertIn(f"seed-77 is the run of seed {seed}", " ".join(error.split()))
        self.assertFalse((self.tmp / "merged").exists())

    def test_a_part_whose_runs_cannot_be_read_is_not_merged_without_them(self):
        lost = self.tmp / "machine-1/study/activation=relu/seed-0/status.json"
        lost.unlink()
        lost.symlink_to("status.json")  # to itself
        self.assertIn("activation=relu/seed-0/status.json", self.fails(3, "merge", "machine-1/study", "machine-2/study", "-o", "merged/study"))
        self.assertFalse((self.tmp / "merged").exists())

    def test_equal_results_are_equal_whatever_path_their_text_had_and_whatever_was_logged(self):
        self.study({"name": "study", "task": {"kind": "text", "context": 8, "file": "t.txt"}, "model": {"d_model": 8, "blocks": 1}, "seeds": 2,
                    "train": {"steps": 4, "eval_every": 2, "batch_size": 4}, "sweep": {"grid": {"model.ffn.activation": ["relu", "gelu"]}}})
        for place, more in (("a", ()), ("b", ("log.tensorboard=true",))):
            shutil.copy(self.tmp / "study.json", self.write(f"{place}/study.json", ""))
            self.write(f"{place}/t.txt", "the rain in spain stays\n" * 60)
            self.ok("--config", f"{place}/study.json", "-q", "-o", f"text-{place}", *more)
        parts = ("text-a/study", "text-b/study")
        weights = [(self.tmp / part / "activation=relu/seed-0/model.safetensors").read_bytes() for part in parts]
        self.assertNotEqual(*weights)
        self.assertIn("4 finished, 0 begun, 0 not begun of 4 runs", self.merge(sources=parts).stdout)

    def test_a_meta_file_that_cannot_be_read_hinders_no_merge(self):
        runs = sorted((self.tmp / "machine-1/study/activation=relu").glob("seed-*"))
        for run, make in zip(runs, (lambda path: path.mkdir(), lambda path: path.write_bytes(bytes(65 << 20))), strict=True):
            meta = run / "meta.json"
            meta.unlink()
            make(meta)
        self.assertIn("8 finished, 0 begun, 0 not begun of 8 runs", self.merge().stdout)

    def test_other_versions_and_machines_are_said(self):
        run = self.tmp / "machine-1/study/activation=relu/seed-0"
        meta = json.loads((run / "meta.json").read_text())
        (run / "meta.json").write_text(json.dumps({**meta, "version": "9.9"}))
        self.assertIn("different versions", self.merge().stderr)

    def test_a_study_that_is_at_work_is_left_alone(self):
        self.study({**LONG, "seeds": 1})
        process = self.start("busy")
        self.wait_for("busy/**/metrics.jsonl")
        error = self.fails(75, "merge", "busy/study", "-o", "merged/study")
        os.kill(process.pid, signal.SIGTERM)
        process.communicate(timeout=60)
        self.assertIn("at work in busy/study", error)


class Slurm(MachinesTest):
    def script(self, *more, cwd=None):
        text = self.ok("slurm", "study.json", *more).stdout
        path = self.write("job.sh", text)
        subprocess.run(["bash", "-n", path], check=True)
        if shutil.which("shellcheck"):
            checked = subprocess.run(["shellcheck", "-S", "warning", "-s", "bash", path], capture_output=True, text=True)
            self.assertEqual(checked.returncode, 0, checked.stdout)
        return text

    def test_the_script_is_one_that_bash_and_shellcheck_take(self):
        self.study()
        text = self.script("--tasks", "3", "--time", "1:00:00", "--partition", "gpu", "--gres", "gpu:1", "-j", "2", "--sbatch=--account=ml --mem=4G", "seeds=9")
        for line in ("--array=1-3", "--time=1:00:00", "--partition=gpu", "--gres=gpu:1", "--account=ml", "--mem=4G", "--cpus-per-task=2", "--requeue",
                     "--signal=B:USR1@60", "--open-mode=append", f"--output={self.tmp}/runs/study/slurm/%A_%a.log", f"--chdir={self.tmp}"):
            self.assertIn(f"#SBATCH {line}\n", text)
        self.assertIn(f"--config {self.tmp}/study.json -o {self.tmp}/runs -j 2 seeds=9 &", text)
        self.assertNotIn("--shard", text)
        self.assertIn('--shard "$SLURM_ARRAY_TASK_ID/4" ', self.script("--shards").replace(" &", " "))
        self.assertEqual(self.files(), ["job.sh", "study.json"])

    def test_a_task_gets_a_core_for_each_thread_of_its_workers(self):
        self.study()
        self.assertIn("--cpus-per-task=6\n", self.script("-j", "3", "--threads", "2"))
        self.assertIn("--cpus-per-task=4\n", self.script("compute.threads=4"))

    def test_no_more_tasks_than_runs(self):
        self.study()
        self.assertIn("--array=1-6\n", self.script("--tasks", "50"))

    def test_strange_paths_are_quoted_for_both_readers(self):
        self.study()
        text = self.script("-o", "it's \"50%\" $HOME; x", "name=study", "question=a 'b' $c")
        self.assertIn(r'''it's \"50%%\" $HOME; x/study/slurm/%A_%a.log"''', text)
        self.assertIn("control character", self.fails(2, "slurm", "study.json", "-o", "a\n#SBATCH --uid=0"))

    def test_a_wrong_config_is_refused_before_anything_is_printed(self):
        self.write("study.json", {**SHORT, "train": {"stepz": 1}})
        self.assertIn("stepz", self.fails(2, "slurm", "study.json"))
        self.write("study.json", {k: v for k, v in SHORT.items() if k not in ("seeds", "sweep")})
        self.assertIn("single run", self.fails(2, "slurm", "study.json"))

    def test_submitting_sends_an_array_and_a_comparison_and_says_how_to_follow(self):
        self.study()
        fake = self.tmp / "bin/sbatch"
        self.write("bin/sbatch", '#!/bin/bash\nprintf "%s\\n" "$*" >> "$(dirname "$0")/calls"\necho "$((40 + $(wc -l < "$(dirname "$0")/calls")));here"\n')
        fake.chmod(0o755)
        result = self.ok("slurm", "study.json", "--submit", "-o", "a b", env={**os.environ, "PATH": f"{fake.parent}:{os.environ['PATH']}"})
        array, after = (self.tmp / "bin/calls").read_text().splitlines()
        self.assertEqual(array, f"--parsable {self.tmp}/a b/study/slurm/study.sh")
        self.assertIn("--dependency=afterany:41 ", after)
        self.assertIn(f"compare '{self.tmp}/a b/study'", after)
        for text in ("array job 41", "squeue -j 41,42", f"tail -F '{self.tmp}/a b/study/slurm/'41_*.log"):
            self.assertIn(text, result.stdout)
        fake.write_text("#!/bin/sh\necho 'sbatch: error: invalid partition' >&2; exit 1\n")
        failed = self.run_program("slurm", "study.json", "--submit", env={**os.environ, "PATH": f"{fake.parent}:{os.environ['PATH']}"})
        self.assertEqual(failed.returncode, 1)
        self.assertIn("invalid partition", failed.stderr)


if __name__ == "__main__":
    main()
