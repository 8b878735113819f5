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


def is_running(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


class MachinesTest(ProgramTest):
    def study(self, content=SHORT):
        return self.write("study.json", content)

    def start(self, out, *more, **options):
        return subprocess.Popen(self.command("--config", "study.json", "-o", out, *more), cwd=self.tmp, stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, text=True, **options)

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

    def test_processes_that_see_no_locks_of_each_other_waste_time_and_the_next_start_ends_in_the_same_bits(self):
        self.study({**STUDY, "train": {**STUDY["train"], "steps": 2000, "eval_every": 20, "checkpoint_every": 200}})
        self.ok("--config", "study.json", "-o", "whole", "-q")
        for file_system in ("without-locks", "lying-locks"):
            processes = [self.start(file_system, env=self.preloaded(file_system)) for _ in range(3)]
            for process in processes:
                errors = process.communicate(timeout=120)[1]
                self.assertIn(process.returncode, (0, 4), errors)  # 4: its run was set aside by one that saw files of two
            self.ok("--config", "study.json", "-o", file_system, "-q", env=self.preloaded(file_system))
            self.assertIn("6 whole", self.ok("check", file_system).stdout)
            self.ok("clean", file_system, "--yes")
            self.assertEqual(run_bits(self.tmp / file_system), run_bits(self.tmp / "whole"))

    def test_shards_need_no_locks(self):
        self.study()
        self.ok("--config", "study.json", "-o", "whole", "-q")
        for shard in ("1/2", "2/2"):
            self.ok("--config", "study.json", "-o", "parts", "-q", "--shard", shard, env=self.preloaded("without-locks"))
        self.assertEqual(run_bits(self.tmp / "parts"), run_bits(self.tmp / "whole"))


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
        states = [json.loads(p.read_text())["state"] for p in self.tmp.rglob("run.json")]
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
        states = [json.loads(p.read_text())["state"] for p in self.tmp.rglob("run.json")]
        self.assertIn("interrupted", states)  # and not merely dead
        self.assertNotIn("running", states)

class Shards(MachinesTest):
    def test_what_is_no_shard_is_refused(self):
        self.study()
        self.assertIn("expected i/n", self.fails(2, "--config", "study.json", "--shard=0/2"))
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
        self.assertIn("4 of 8 runs finished, 4", self.merge(sources=("machine-1/study/",), out="merged/study/").stdout.replace("study/:", "study:"))
        report = json.loads(self.merge("--json").stdout)
        self.assertEqual(report, {"directory": "merged/study", "planned": 8, "finished": 8, "copied": 4, "notes": []})
        self.assertEqual(run_bits(self.tmp / "merged"), run_bits(self.tmp / "whole"))
        self.assertEqual({**self.contents("machine-1"), **self.contents("machine-2")}, before)
        whole = self.ok("compare", "whole/study", "--metric", "val/loss", "--csv").stdout
        self.assertEqual(self.ok("compare", "merged/study", "--metric", "val/loss", "--csv").stdout.splitlines()[0], whole.splitlines()[0])
        self.assertIn("0 trained now, 8 found", self.ok("--config", "study.json", "-o", "merged").stderr)
        self.assertIn("8 of 8 runs finished, 0", self.merge().stdout)


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
