"""Files that cannot be read now, links that somebody planted, and numbers that ffn-train never writes."""
import json
import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request

from program import ProgramTest, main, run_at

STUDY = {
    "name": "study", "seeds": 3,
    "task": {"kind": "xor", "bits": 2}, "model": {"d_model": 8, "ffn": {"activation": "relu"}},
    "train": {"steps": 60, "eval_every": 20, "target": {"metric": "val/accuracy", "at_least": 0.99}},
    "sweep": {"grid": {"model.ffn.activation": ["relu", "gelu"]}},
}
RUN = "runs/study/activation=relu/seed-1"


class HostileTest(ProgramTest):
    def train(self, study=None, *more, **options):
        self.write("study.json", study or STUDY)
        return self.run_program("--config", "study.json", "-q", *more, **options)

    def trained(self, study=None):
        result = self.train(study)
        self.assertEqual(result.returncode, 0, result.stderr)

    def compared(self, *more):
        return json.loads(self.ok("compare", "runs/study", "--json", *more).stdout)

    def test_a_run_that_cannot_be_read_ends_the_command_and_is_named(self):
        self.trained()
        file = run_at(self.tmp / RUN) / "run.json"
        file.unlink()
        file.symlink_to(file.name)  # to itself: nobody can read it, root neither
        for command in (("compare", "runs/study"), ("report", "runs/study"), ("export", "runs/study", "--csv"), ("--config", "study.json", "-q")):
            self.assertIn(str(file.relative_to(self.tmp)), self.fails(3, *command), command)

    def test_a_group_can_share_a_study(self):
        self.train(preexec_fn=lambda: os.umask(0o002))
        for file in (self.tmp / "runs").rglob("*"):
            if file.is_file():
                self.assertEqual(oct(file.stat().st_mode & 0o777), "0o664", file)

    def test_a_link_in_the_place_of_a_result_is_replaced_and_what_it_leads_to_stays(self):
        self.trained()
        thesis = self.write("thesis.txt", "the only copy\n")
        run = run_at(self.tmp / RUN)
        for name in ("metrics.jsonl", "model.safetensors", "run.json"):
            (run / name).unlink()
            (run / name).symlink_to(thesis)
        (self.tmp / "runs/study/compare.json").unlink()
        (self.tmp / "runs/study/compare.json").symlink_to(thesis)
        self.train()
        self.assertEqual(thesis.read_text(), "the only copy\n")

    # ---- numbers

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
