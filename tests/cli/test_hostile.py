"""Files that cannot be read now, links that somebody planted, and numbers that ffn-train never writes."""
import errno
import json
import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request

from program import ROOT, ProgramTest, main

STUDY = {
    "name": "study", "seeds": 3,
    "task": {"kind": "xor", "bits": 2}, "model": {"d_model": 8, "ffn": {"activation": "relu"}},
    "train": {"steps": 60, "eval_every": 20, "target": {"metric": "val/accuracy", "at_least": 0.99}},
    "sweep": {"grid": {"model.ffn.activation": ["relu", "gelu"]}},
}
RUN = "runs/study/activation=relu/seed-1"


def unsealed(file, change):
    """As version 0.1 wrote it, without a checksum, and changed."""
    content = {key: value for key, value in json.loads(file.read_text()).items() if key != "checksum"} | {"schema_version": 1}
    change(content)
    file.write_text(json.dumps(content))


class HostileTest(ProgramTest):
    def train(self, study=None, *more, **options):
        self.write("study.json", study or STUDY)
        return self.run_program("--config", "study.json", "-q", *more, **options)

    def trained(self, study=None):
        result = self.train(study)
        self.assertEqual(result.returncode, 0, result.stderr)

    def compared(self, *more):
        return json.loads(self.ok("compare", "runs/study", "--json", *more).stdout)

    def failing(self, fail):
        """The program in which a look at the results fails: see shim.c."""
        shim = self.tmp / "shim.so"
        if not shim.exists():
            subprocess.run([os.environ.get("CC", "cc"), "-x", "c", "-shared", "-fPIC", "-o", shim, ROOT / "scripts/torturing/shim.c"], check=True)
        return {**os.environ, "LD_PRELOAD": str(shim), "FFN_SHIM_ROOT": str(self.tmp / "runs"), "FFN_SHIM_FAIL": fail}

    # ---- what cannot be read

    def test_a_run_that_cannot_be_read_ends_the_command_and_is_named(self):
        self.trained()
        for name in ("summary.json", "status.json", "config.json"):
            file = self.tmp / RUN / name
            content = file.read_bytes()
            file.unlink()
            file.symlink_to(file.name)  # to itself: nobody can read it, root neither
            for command in (("compare", "runs/study"), ("report", "runs/study"), ("export", "runs/study", "--csv"), ("--config", "study.json", "-q")):
                self.assertIn(f"{RUN}/{name}", self.fails(3, *command), command)
            file.unlink()
            file.write_bytes(content)
        self.assertEqual(self.train().returncode, 0)

    def test_a_study_that_cannot_be_looked_at_is_not_a_study_without_runs(self):
        self.trained()
        saved = (self.tmp / "runs/study/compare.json").read_bytes()
        refused = 0
        for at in range(1, 12):
            result = self.train(env=self.failing(f"stat:{at}:{errno.EIO}"))
            if result.returncode == 3:
                self.assertIn("runs/", result.stderr)
                refused += 1
            else:  # what lies beside the study is looked at as far as it can be
                self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual((self.tmp / "runs/study/compare.json").read_bytes(), saved)
        self.assertGreaterEqual(refused, 10)

    def test_a_growing_study_does_not_go_on_without_a_run_that_cannot_be_read(self):
        study = {**STUDY, "seeds": {"until": "settled", "max": 12}}
        self.trained(study)
        before = self.compared()
        file = self.tmp / RUN / "summary.json"
        content = file.read_bytes()
        file.unlink()
        file.symlink_to(file.name)
        self.assertEqual(self.train({**study, "seeds": {"until": "settled", "max": 24}}).returncode, 3)
        file.unlink()
        file.write_bytes(content)
        self.assertEqual(self.compared(), before)

    def test_where_statx_is_forbidden_all_runs_are_counted(self):
        """As in containers whose profile is older than the call."""
        self.trained()
        wanted = self.compared()
        forbidden = self.failing(f"statx:1+:{errno.EPERM}")
        self.assertEqual(json.loads(self.ok("compare", "runs/study", "--json", env=forbidden).stdout), wanted)
        self.assertEqual(self.train({**STUDY, "name": "other"}, env=forbidden).returncode, 0)

    # ---- what others share and prepare

    def test_a_group_can_share_a_study(self):
        self.train(preexec_fn=lambda: os.umask(0o002))
        for file in (self.tmp / "runs").rglob("*"):
            if file.is_file():
                self.assertEqual(oct(file.stat().st_mode & 0o777), "0o664", file)

    def test_a_link_in_the_place_of_a_result_is_replaced_and_what_it_leads_to_stays(self):
        self.trained()
        thesis = self.write("thesis.txt", "the only copy\n")
        for name in ("metrics.jsonl", "model.safetensors", "summary.json"):
            (self.tmp / RUN / name).unlink()
            (self.tmp / RUN / name).symlink_to(thesis)
        (self.tmp / "runs/study/compare.json").unlink()
        (self.tmp / "runs/study/compare.json").symlink_to(thesis)
        self.train()
        self.assertEqual(thesis.read_text(), "the only copy\n")

    # ---- numbers

    def test_a_run_with_impossible_numbers_is_left_out_and_named(self):
        self.trained()

        def changed(*path, value):
            def change(summary):
                place = summary
                for key in path[:-1]:
                    place = place[key]
                place[path[-1]] = value
            return change

        file = self.tmp / RUN / "summary.json"
        whole = file.read_bytes()
        hit = {"step": 20, "time_s": 0.1, "tokens": 80}
        for change in (changed("hit", value={**hit, "step": 61}), changed("hit", value={**hit, "step": -1}), changed("hit", value={**hit, "time_s": -1}),
                       changed("steps", value=-5), changed("steps", value=1e300), changed("steps", value=2**64 - 1), changed("steps", value=61),
                       changed("tokens", value=2**63), changed("train_seconds", value=-1), changed("train_seconds", value="nan"), changed("parameters", value=-1),
                       changed("metrics", "val/loss", "final", value=1e308), changed("metrics", "val/loss", "best_step", value=1000)):
            unsealed(file, change)
            for metric in ("steps_to_target", "val/loss", "flops_to_target", "seconds_to_target"):
                found = self.compared("--metric", metric)
                self.assertIn("1 run is left out, for damage: " + RUN, " ".join(found["notes"]))
            file.write_bytes(whole)

    def test_curves_of_impossible_steps_are_named_and_not_drawn(self):
        self.trained()
        for step in ("-5", "1e300", "9223372036854775808"):
            for run in (self.tmp / "runs/study/activation=relu").glob("seed-*"):
                unsealed(run / "summary.json", lambda summary: summary.pop("files", None))
                metrics = run / "metrics.jsonl"
                lines = [json.dumps({**json.loads(line), "step": "STEP"}).replace('"STEP"', step) for line in metrics.read_text().splitlines()]
                metrics.write_text("\n".join(lines[:3]) + "\n")
            result = self.run_program("curves", "runs/study")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("seed-0/metrics.jsonl:1: no evaluation", " ".join((result.stdout + result.stderr).split()))

    def test_a_study_file_with_impossible_numbers_is_damaged(self):
        self.trained({**STUDY, "seeds": {"until": "settled", "max": 8}})
        files = [self.tmp / "runs/study" / name for name in ("study.json", "study.json.bak")]
        whole = [file.read_bytes() for file in files]
        for record in ({"comparisons": 10**9}, {"comparisons": -1}, {"maxima": [2**62]}, {"maxima": [-8]}, {"looks": [-8]}):
            for file, content in zip(files, whole):
                file.write_bytes(content)
                unsealed(file, lambda study: study["sequential"].update(record))
            began = time.monotonic()
            self.assertIn("study.json: ", " ".join(self.compared()["notes"]), record)
            self.assertLess(time.monotonic() - began, 60)

    def test_tuning_curves_with_other_points_are_damaged(self):
        self.trained({**STUDY, "tune": {"train.optimizer.lr": [0.003, 0.01], "seeds": 1}})
        for name in ("study.json", "study.json.bak"):
            unsealed(self.tmp / "runs/study" / name, lambda study: study["tuning"]["variants"][1]["curve"].pop())
        self.assertIn("tuning: ", " ".join(self.compared()["notes"]))
        self.ok("compare", "runs/study")
        self.ok("report", "runs/study")

    def test_no_size_in_a_formula_overflows(self):
        for size in ("4294967296*4294967296", "0-1e300*1e300", "1/(0-4294967296)"):
            layer = {"kind": "formula", "formula": "x @ a", "parameters": {"a": ["D", size]}}
            config = self.write("formula.json", {"task": {"kind": "xor"}, "model": {"d_model": 8, "ffn": layer}})
            self.assertIn("it has to lie between 1 and 1048576", " ".join(self.fails(2, "validate", config).split()), size)

    # ---- watch

    def watch(self, **options):
        process = subprocess.Popen(self.command("watch", "runs/study", "--json"), cwd=self.tmp, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, **options)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdout.close)
        text = ""
        while "}" not in text:
            text += process.stdout.readline()
        return process, json.loads(text)["address"]

    def test_watch_outlives_a_fork_that_fails(self):
        self.trained()
        shim = self.tmp / "fork.so"
        source = self.write("fork.c", """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <unistd.h>
pid_t fork(void) {
  if (access("no-fork", F_OK) == 0) return errno = EAGAIN, -1;
  return ((pid_t (*)(void))dlsym(RTLD_NEXT, "fork"))();
}
""")
        subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-o", shim, source], check=True)
        self.write("no-fork", "")
        process, address = self.watch(env={**os.environ, "LD_PRELOAD": str(shim)})
        self.trained({**STUDY, "seeds": 4})
        state = {}
        until = time.monotonic() + 60
        while "problem" not in state and time.monotonic() < until:
            state = self.state(address, 0)
            time.sleep(0.1)
        self.assertIn("cannot start a process", state["problem"])
        self.assertIsNone(process.poll())
        (self.tmp / "no-fork").unlink()
        while state["version"] == 1 and time.monotonic() < until:
            state = self.state(address, 0)
            time.sleep(0.1)
        self.assertEqual(state["version"], 2)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(30), 0)

    @staticmethod
    def state(address, version):
        with urllib.request.urlopen(f"{address}state?v={version}", timeout=30) as answer:
            return json.loads(answer.read())

    def test_watch_rests_where_it_has_no_descriptors(self):
        self.trained()
        process, address = self.watch(preexec_fn=lambda: __import__("resource").setrlimit(__import__("resource").RLIMIT_NOFILE, (24, 24)))
        port = int(address.split(":")[2].split("/")[0])
        connections = []
        for _ in range(30):  # more than it may have open, fewer than it would take
            connections.append(socket.create_connection(("127.0.0.1", port), timeout=10))
        try:
            time.sleep(0.5)
            before = self.ticks(process.pid)
            time.sleep(2)
            self.assertLess((self.ticks(process.pid) - before) / os.sysconf("SC_CLK_TCK"), 0.5)
        finally:
            for connection in connections:
                connection.close()
        until = time.monotonic() + 60
        while True:
            try:
                self.assertEqual(self.state(address, 0)["version"], 1)
                break
            except (urllib.error.URLError, OSError):
                self.assertLess(time.monotonic(), until)
                time.sleep(0.2)
        self.assertIsNone(process.poll())

    @staticmethod
    def ticks(pid):
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return int(fields[11]) + int(fields[12])


if __name__ == "__main__":
    main()
