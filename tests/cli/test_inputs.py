#!/usr/bin/env python3
"""Files and arguments that are damaged, hostile or not what they seem; output that cannot be written; what reaches a terminal."""
import json
import os
import pathlib
import pty
import re
import select
import resource
import shutil
import socket
import subprocess
import time
import unittest

from program import PROGRAM, ProgramTest, main, record, run_at

XOR = {"name": "xor", "task": {"kind": "xor"}, "model": {"d_model": 8, "ffn": {"activation": "relu"}},
       "train": {"steps": 20, "eval_every": 10, "target": {"metric": "val/accuracy", "at_least": 0.99}}}
STUDY = {**XOR, "seeds": 2, "sweep": {"grid": {"model.ffn.activation": ["relu", "gelu"]}}}
BUG = "this is a bug"
HOSTILE = "\x1b[2J\x1b]0;title\x07\x9b31m\x85\u202egnp.\u200f\x7f\x08"
FULL = pathlib.Path("/dev/full")


def computed():
    """Seconds of cores that this test's commands took: no more on a busy machine."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Program(ProgramTest):
    def refused(self, code, *arguments, says="", **options):
        """Ends with the code, soon, with a message that is the user's and not ours."""
        began = computed()
        result = self.run_program(*arguments, timeout=60, errors="replace", **options)
        self.assertEqual(result.returncode, code, result.stderr[-2000:] + result.stdout[-2000:])
        self.assertLess(computed() - began, 10)
        self.assertIn("error: ", result.stderr)
        self.assertIn(says, result.stderr)
        self.assertNotIn(BUG, result.stderr)
        return result.stderr

    def trained(self):
        self.ok("--config", self.write("study.json", STUDY), "-q")
        return self.tmp / "runs/xor"


class Unwritable(Program):
    @unittest.skipUnless(FULL.exists(), "no /dev/full")
    def test_every_command_says_that_stdout_is_full_and_fails(self):
        study = self.trained()
        config = self.write("xor.json", XOR)
        self.ok("--config", config)
        text = self.write("t.txt", "the rain in spain\n" * 60)
        self.ok("--config", self.write("text.json", {"name": "t", "task": {"kind": "text", "file": text.name, "context": 8}, "model": {"d_model": 8},
                                                     "train": {"steps": 2, "eval_every": 2}}))
        commands = [("check", study), ("check", study, "--json"), ("slurm", "study.json"), ("merge", study, "-o", "merged"), ("compare", study), ("compare", study, "--json"), ("compare", study, "--csv"), ("schema",),
                    ("--config", config, "--dry-run"), ("--config", config), ("--config", config, "--json"), ("--config", config, "--fast-dev-run"),
                    ("--config", "study.json"), ("list", "keys"), ("list", "--json"), ("plan", "--config", config, "--no-probe"),
                    ("params", "--d-model", 8), ("validate", config), ("sample", "runs/t/seed-0", "--length", 1 << 22), ("--help",), ("--version",)]
        for command in commands:
            with self.subTest(command=command), FULL.open("w") as full:
                began = time.monotonic()
                result = subprocess.run(self.command(*command), cwd=self.tmp, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
                self.assertLess(time.monotonic() - began, 10)
                self.assertEqual(result.returncode, 1, result.stderr)
                self.assertIn("No space left", result.stderr)

    @unittest.skipUnless(FULL.exists(), "no /dev/full")
    def test_an_error_that_cannot_be_printed_keeps_its_exit_code(self):
        with FULL.open("w") as full:
            refused = subprocess.run(self.command("--config", "no.json"), cwd=self.tmp, stdout=subprocess.PIPE, stderr=full, timeout=60)
            self.assertEqual(refused.returncode, 2)
            trained = subprocess.run(self.command("--config", self.write("study.json", STUDY)), cwd=self.tmp, stdout=subprocess.PIPE, stderr=full, timeout=60)
            self.assertEqual(trained.returncode, 0)

    def test_closed_descriptors_do_not_become_the_lock(self):
        self.write("study.json", STUDY)
        for closing in ("<&-", ">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"):
            out = "out" + "".join(c for c in closing if c in "<>2")
            line = " ".join(["exec"] + [f"'{word}'" for word in self.command("--config", "study.json", "-o", out)]) + " " + closing
            for _ in range(2):
                result = subprocess.run(["bash", "-c", line], cwd=self.tmp, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120)
                self.assertEqual(result.returncode, 1 if ">&-" in closing.replace("2>&-", "") else 0, closing)  # its comparison could not be printed
            self.assertEqual(len(list((self.tmp / out).rglob("run.json"))), 4, closing)
            for lock in (self.tmp / out).rglob("*.lock"):
                self.assertLess(lock.stat().st_size, 100, closing)
                self.assertNotIn(b"activation", lock.read_bytes(), closing)

    def test_closed_stdout_is_an_error_of_commands_that_print_alone(self):
        closed = lambda *arguments: subprocess.run(["bash", "-c", '"$@" >&-', "bash", *self.command(*arguments)], cwd=self.tmp, stderr=subprocess.PIPE, text=True, timeout=60)
        study = self.trained()
        for command in (("compare", study), ("list", "keys"), ("--help",), ("inspect", next(study.glob("*/seed-0.*")))):
            result = closed(*command)
            self.assertEqual(result.returncode, 1, command)
            self.assertIn("Bad file descriptor", result.stderr)
            self.assertNotIn("trained", result.stderr)
        result = closed("plan", "--config", "no.json")
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertEqual(closed("--config", self.write("quiet.json", {**XOR, "name": "quiet"}), "-q").returncode, self.run_program("--config", "quiet.json", "-q").stdout != "")

    def test_a_limit_of_the_file_size_is_an_error_and_no_signal(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))
        self.refused(1, "--config", self.write("xor.json", XOR), preexec_fn=limit, says="File too large")
        with open(self.tmp / "out.txt", "w") as out:
            result = subprocess.run(self.command("schema"), stdout=out, stderr=subprocess.PIPE, text=True, preexec_fn=limit)
        self.assertEqual(result.returncode, 1)
        self.assertIn("File too large", result.stderr)


class Reading(Program):
    def test_a_config_may_come_through_a_pipe_or_stdin(self):
        for name in ("-", "/dev/stdin"):
            out = self.ok("--config", name, "--dry-run", input=json.dumps(XOR)).stdout
            self.assertEqual(json.loads(out)["name"], "xor")
        self.refused(2, "--config", "-", input="{", says="-:1:")
        self.refused(2, "--config", "-", input=" " * (5 << 20), says="larger than 4 MiB")
        self.ok("validate", "-", input=json.dumps(XOR))
        self.refused(2, "slurm", "-", input=json.dumps(STUDY), says="config from stdin")

    def test_what_is_no_regular_file_is_refused_at_once_where_a_file_names_it(self):
        os.mkfifo(self.tmp / "fifo")
        server = socket.socket(socket.AF_UNIX)
        self.addCleanup(server.close)
        server.bind(str(self.tmp / "socket"))
        for path, kind in (("fifo", "pipe"), ("socket", "socket"), ("/dev/zero", "device"), ("/dev/random", "device"), (".", "directory")):
            self.refused(2, "--config", self.write("e.json", {"extends": path}), says=kind)
            self.refused(3, "--config", self.write("t.json", {"task": {"kind": "text", "file": path}}), says=kind)
        study = self.trained()
        run = next(study.glob("*/seed-0.*"))
        for name, command, says in (("model.safetensors", "sample", "no regular file"), ("run.json", "compare", "pipe")):
            (run / name).unlink()
            os.mkfifo(run / name)
            result = self.run_program(command, run if command == "sample" else study, timeout=20)
            self.assertIn(says, result.stdout + result.stderr)


class Users(Program):
    """What a user wrote is never our bug."""

    def test_odd_arguments(self):
        long = "x" * 300
        config = self.write("x.json", XOR)
        self.refused(2, "--config", "", says="--config is empty")
        self.refused(2, "--config", long, says="File name too long")
        self.refused(2, "--config", config, long)
        self.refused(2, long)
        self.refused(2, "--config", config, "name=" + long, says="is not a directory name")
        self.refused(1, "--config", config, "-o", long, says="File name too long")
        self.refused(3, "--config", self.write("study.json", STUDY), "-o", long, says="File name too long")
        self.refused(2, "sample", long)
        self.refused(3, "compare", long)
        self.refused(2, "verify", long)
        self.refused(2, "--config", self.write("e.json", {"extends": ""}), says="a path or a list")
        self.refused(2, "--config", self.write("e.json", {"extends": "a\0b"}), says="NUL")
        self.refused(2, "--config", self.write("e.json", {**STUDY, "expect": [{"claim": "x", "source": 3, "check": {"value": "gelu", "verdict": "better"}}]}),
                     says="to be a text, got 3")

    def test_a_directory_that_was_removed(self):
        config = self.write("x.json", XOR)
        gone = self.tmp / "gone"
        gone.mkdir()
        study = self.write("study.json", STUDY)
        for arguments in (f"--config {config}", "--config x.json", f"slurm {study}", "validate x.json", "--config - seed=1,2", f"--config {config} seed=3"):
            result = subprocess.run(["bash", "-c", f"mkdir -p {gone} && cd {gone} && rmdir {gone} && exec {PROGRAM} {arguments}"], cwd=self.tmp,
                                    capture_output=True, text=True, input="{}", timeout=60)
            self.assertNotIn(BUG, result.stderr)
            self.assertNotEqual(result.returncode, 0, arguments)
            self.assertIn("director", result.stderr, arguments)

    def test_bytes_that_are_not_utf_8(self):
        config = self.write("x.json", XOR)
        out = os.fsencode(self.tmp) + b"/caf\xe9"
        result = subprocess.run([*map(os.fsencode, self.command("--config", config, "--json", "-o")), out], cwd=self.tmp, capture_output=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("caf\ufffd", json.loads(result.stdout)["directory"])
        for command in ([b"validate", b"--json", b"caf\xe9.json"], [b"compare", out, b"--json"], [b"--config", b"caf\xe9.json"],
                        [b"plan", b"--no-probe", b"--json", b"--config", os.fsencode(config), b"-o", out]):
            result = subprocess.run([os.fsencode(PROGRAM), *command], cwd=self.tmp, capture_output=True)
            self.assertNotIn(BUG.encode(), result.stderr, command)
        os.mkdir(out + b"-in")
        shutil.copy(self.write("t.json", {"task": {"kind": "text", "file": "x.txt"}}), out + b"-in/t.json")
        result = subprocess.run([os.fsencode(PROGRAM), b"--config", out + b"-in/t.json"], cwd=self.tmp, capture_output=True)
        self.assertEqual(result.returncode, 2)
        self.assertIn(b"not named in UTF-8", result.stderr)

    def test_odd_things_below_compare(self):
        study = self.trained()
        os.symlink(study, study / "round")
        self.ok("compare", study)
        os.symlink("loop", study / "loop")  # cannot be read: it might be anything
        self.assertIn("loop", self.fails(3, "compare", study))
        os.unlink(study / "loop")
        good = json.loads((study / "study.json").read_text())
        for variants in (3, "x", [3], [[]], {"a": 1}, [{"assignments": 3}], [{"assignments": []}], None):
            (study / "study.json").write_text(json.dumps({**good, "variants": variants, "document": variants}))
            self.ok("compare", study)
        (study / "study.json").write_text("3")
        self.ok("compare", study)

    def test_a_size_that_cannot_be_read_is_not_given_as_a_small_one(self):
        study = self.trained()
        alone = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
        for path in (self.tmp, *study.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
        closed = run_at(study / "activation=gelu/seed-1") / "tensorboard"
        closed.mkdir(mode=0)
        try:
            said = json.loads(self.ok("runs", study.parent, "--json", **alone).stdout)
            text = self.run_program("runs", study.parent, **alone).stdout  # and then says what it cannot read
        finally:
            closed.rmdir()
        self.assertEqual([entry["bytes"] for entry in said], [None])
        self.assertRegex(text, r"(?m) \?$")

    def test_a_dev_run_that_diverges_tells(self):
        command = ("--config", self.write("x.json", XOR), "--fast-dev-run", 10, "train.eval_every=1", "train.optimizer.lr=65536")
        result = self.run_program(*command)
        self.assertEqual(result.returncode, 1)
        self.assertNotIn(BUG, result.stderr)
        self.assertIn("nothing was kept", result.stdout)
        self.assertRegex(" ".join(result.stdout.split()), "diverged at step [1-9]; a lower train.optimizer.lr such as 6.55e\\+03 or train.clip_norm=1 may help")
        self.assertIsInstance(json.loads(self.run_program(*command, "--json").stdout)["val/loss"], str)

    def test_validate_goes_on_after_a_bad_file(self):
        good = self.write("x.json", XOR)
        bad = ["", "x" * 300, "missing.json", self.write("syntax.json", "{"), self.write("e.json", {"extends": ""}), "/proc/self/mem",
               self.write("source.json", {**STUDY, "expect": [{"claim": "x", "source": 3, "check": {"value": "gelu", "verdict": "better"}}]})]
        result = self.run_program("validate", *bad, good)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn(f"{good}: ok", result.stdout)
        self.assertEqual(result.stderr.count("error: "), len(bad), result.stderr)
        report = json.loads(self.run_program("validate", "--json", *bad, good).stdout)
        self.assertEqual([entry["ok"] for entry in report], [False] * len(bad) + [True])

    def test_a_list_of_configs_survives_odd_ones(self):
        for odd in ({"task": 3}, {"task": {"kind": 3}}):
            self.write("configs/xor.json", odd)
            self.assertIn("xor", self.ok("list", "configs").stdout)


class Planning(Program):
    def test_more_comparisons_than_can_be_judged_are_refused_before_training(self):
        wide = {**XOR, "seeds": 1, "sweep": {"grid": {"train.optimizer.lr": {"logspace": [1e-5, 1, 5100]}}}, "compare": {"metric": "val/loss"}}
        self.refused(2, "--config", self.write("wide.json", wide), says="at most 4999")
        self.refused(2, "plan", "--no-probe", "--config", "wide.json", says="at most 4999")
        self.assertIn("over 5099 comparisons", " ".join(self.ok("plan", "--no-probe", "--config", "wide.json", "compare.alpha=0.2").stdout.split())[-300:])
        self.refused(2, "compare", self.trained(), "--alpha", "1e-6", says="can be judged")

    def test_what_needs_more_memory_than_there_is_is_refused_as_training_is(self):
        huge = ("xor", "model.d_model=65536", "model.ffn.expansion=1024")
        training, planning = (self.run_program(*command, *huge) for command in ((), ("plan",)))
        self.assertEqual((planning.returncode, planning.stderr), (2, training.stderr))
        self.assertIn("a smaller model.d_model", planning.stderr)
        self.assertIn("of memory at least", json.loads(self.ok("plan", *huge, "--no-probe", "--json").stdout)["refused"])

    def test_fewer_workers_where_the_memory_does_not_hold_a_run_for_each(self):
        cores = json.loads(self.ok("plan", "xor", "seeds=8", "--no-probe", "--json").stdout)["jobs"]
        if cores == 1:
            self.skipTest("one core")
        with open("/proc/meminfo") as lines:
            available = next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")) * 1024
        # Two matrices of 1024 rows; four numbers of four bytes each (weight, gradient, moments): two thirds of what is free.
        large = ("xor", "seeds=8", "model.d_model=1024", f"model.ffn.d_ff={int(available * 2 / 3 / 16 / 2048)}")
        self.assertEqual(json.loads(self.ok("plan", *large, "--no-probe", "--json").stdout)["jobs"], 1)
        said = " ".join(self.ok("plan", *large, "--no-probe").stdout.split())
        self.assertRegex(said, f"1 worker for {cores} cores: a run takes [0-9.]+ GB of memory at least, and [0-9.]+ GB are free [(]--jobs asks for more[)]")
        asked = " ".join(self.ok("plan", *large, "--no-probe", "-j", "2").stdout.split())
        self.assertIn("on 2 workers;", asked)
        self.assertNotIn("are free", asked)

    def test_no_more_workers_are_told_than_have_something_to_do(self):
        self.assertIn("1 cohort on 1 worker", " ".join(self.ok("plan", "xor", "-j", "3", "--no-probe").stdout.split()))
        self.assertIn("on 3 workers;", " ".join(self.ok("plan", "xor", "seeds=6", "-j", "3", "--no-probe").stdout.split()))

    def test_a_key_that_has_gone_names_what_stands_in_its_place(self):
        self.refused(2, "validate", "xor", "compute.tf32=true", says="; compute.precision=tf32 asks for it")
        self.refused(2, "validate", "xor", "log.tensorboard=true", says="; scripts/to_tensorboard DIR LOGDIR")

    def test_an_override_is_shown_with_the_codes_of_what_cannot_be_shown(self):
        self.refused(2, "plan", "xor", "name=a\033[31mb", says=r"override 'name=a\x1b[31mb'")


class Library(Program):
    def bench(self, **environment):
        return self.refused(1, "bench", "steps", "--seconds", "0.001", env={**os.environ, **environment})

    def test_a_library_that_is_cut_off_is_refused_and_a_relative_path_never_used(self):
        whole = PROGRAM.parent / "libffn_torch.so"
        if not whole.exists():
            self.skipTest("no libffn_torch.so beside the program")
        data = whole.read_bytes()
        cut = self.tmp / "libffn_torch.so"
        for size in (len(data) - 1, len(data) * 3 // 4, len(data) // 2, 5000, 100):
            cut.write_bytes(data[:size])
            self.assertIn("is cut off", self.bench(FFN_TRAIN_ENGINE=str(cut)))
        cut.write_bytes(data[:10])
        self.bench(FFN_TRAIN_ENGINE=str(cut))
        self.assertIn("no absolute path", self.bench(FFN_TRAIN_ENGINE="libffn_torch.so"))

    def test_layers_that_fit_no_memory_are_refused_before_they_are_made(self):
        if not (PROGRAM.parent / "libffn_torch.so").exists():
            self.skipTest("no libffn_torch.so beside the program")
        self.refused(1, "bench", "ffn", "--d-model", str(1 << 18), says="not enough memory: ")

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("unshare"), "needs root, to do without /proc")
    def test_without_proc_the_library_is_not_taken_from_the_current_directory(self):
        self.write("planted.c", '#include <fcntl.h>\n__attribute__((constructor)) static void loaded(void) { open("loaded", O_CREAT | O_WRONLY, 0644); }\n')
        (self.tmp / "lib").mkdir()
        subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-o", "lib/libffn_torch.so", "planted.c"], cwd=self.tmp, check=True)
        (self.tmp / "bin").mkdir()
        shutil.copy(PROGRAM, self.tmp / "bin/ffn-train")  # nothing beside it
        without = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /proc || exit 77; exec bin/ffn-train bench steps --seconds 0.001']
        result = subprocess.run(without, cwd=self.tmp, capture_output=True, text=True, timeout=60)
        if result.returncode == 77:
            self.skipTest("cannot mount here")
        self.assertNotEqual(result.returncode, 0)
        self.assertFalse((self.tmp / "loaded").exists(), result.stderr)


class Terminal(Program):
    def shown(self, *arguments, stderr=None, **environment):
        """What a terminal gets as stdout (and stderr, if not given)."""
        parent, child = pty.openpty()
        process = subprocess.Popen(self.command(*arguments), cwd=self.tmp, stdin=subprocess.DEVNULL, stdout=child, stderr=stderr or child,
                                   env={**os.environ, "TERM": "dumb", **environment})
        out = b""
        # Our own end of the terminal stays open: with the last one the kernel may drop what nobody has read yet.
        while True:
            ended = process.poll() is not None
            if select.select([parent], [], [], 0.1)[0]:
                out += os.read(parent, 65536)
            elif ended:
                break
        os.close(child)
        os.close(parent)
        return out

    def assert_harmless(self, out, where):
        text = out.decode()  # well-formed, too
        allowed = text.replace("\r\n", "\n").replace("\r\n", "\n")  # CSV's own, and the terminal's for it
        for color in ("0", "1", "2", "31", "32", "33", "34", "35", "36", "1;31", "1;33"):
            allowed = allowed.replace(f"\x1b[{color}m", "")
        bad = [c for c in allowed if (ord(c) < 0x20 and c not in "\n\t") or 0x7F <= ord(c) < 0xA0 or c in "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"]
        self.assertEqual(bad, [], (where, out[-500:]))

    def test_nothing_from_outside_speaks_to_the_terminal(self):
        hostile = {**STUDY, "question": "why " + HOSTILE, "compare": {"metric": "val/loss"},
                   "expect": [{"claim": "claim " + HOSTILE, "check": {"value": "gelu", "verdict_not": "better"}}]}
        config = self.write("hostile.json", hostile)
        name = f"dir{HOSTILE}".replace("/", "")
        cases = {
            "train": ("--config", config), "out": ("--config", self.write("x.json", XOR), "-o", name), "missing": ("--config", name),
            "override": ("--config", config, "train." + HOSTILE + "=3"), "key": ("--config", self.write("key.json", {HOSTILE: 1})),
            "value": ("--config", self.write("value.json", {"task": {"kind": HOSTILE}})), "validate": ("validate", name),
            "compare by": ("compare", "runs/xor", "--by", HOSTILE), "option": ("--color", HOSTILE), "command": (HOSTILE,),
            "zip": ("--config", self.write("zip.json", {**XOR, "seeds": 1, "sweep": {"zip": [{HOSTILE: [1], "seed" + HOSTILE: [1, 2]}]}})),
            "dry run": ("--config", config, "--dry-run"),
        }
        for where, arguments in cases.items():
            for extra in ((), ("--color", "always")):
                out = self.shown(*arguments, *extra, TERM="xterm")
                if where in ("train", "out"):  # the movements of our own display
                    out = re.sub(rb"\r\x1b\[K|\x1b\[\d+A\x1b\[J", b"", out)
                self.assertGreater(len(out), 20, where)
                self.assert_harmless(out, where)
        out = self.shown("bench", FFN_TRAIN_ENGINE="/no" + HOSTILE)
        self.assert_harmless(out, "environment")
        study = self.tmp / "runs/xor"
        document = json.loads((study / "study.json").read_text())
        document["document"]["compare"] = {"by": HOSTILE}
        (study / "study.json").write_text(json.dumps(document))
        self.assert_harmless(self.shown("compare", study), "compare.by")
        self.assert_harmless(self.shown("compare", study, "--by", "model.ffn.activation", "--csv"), "csv")
        self.assert_harmless(self.shown("compare", study, "--by", "model.ffn.activation", "--json"), "json")

    def test_sampled_text_is_shown_harmless_and_piped_as_it_is(self):
        text = self.write("t.txt", "\x1b\x9b\u202e\x08" * 400)
        self.ok("--config", self.write("text.json", {"name": "t", "task": {"kind": "text", "file": text.name, "context": 4},
                                                     "model": {"d_model": 8}, "train": {"steps": 2, "eval_every": 2}}))
        arguments = ("sample", "runs/t/seed-0", "--prompt", "\x1b", "--length", 50)
        self.assert_harmless(self.shown(*arguments), "sample")
        self.assertIn("\x1b", self.ok(*arguments).stdout)

    def test_errors_are_harmless_in_a_pipe_too(self):
        result = subprocess.run(self.command("--config", HOSTILE), cwd=self.tmp, capture_output=True)
        self.assert_harmless(result.stderr, "stderr")


class Texts(Program):
    def test_bits_per_byte_are_bits_per_char_over_the_bytes_of_what_was_validated(self):
        text = "".join("aé€😀\n"[i * i % 7 % 5] if i > 150 else "ab\n"[i % 3] for i in range(400))  # the last 40 are held out, in windows of 12 with the character behind each
        config = self.write("bytes.json", {"name": "bytes", "task": {"kind": "text", "file": self.write("t.txt", text).name, "context": 12},
                                           "model": {"d_model": 8}, "train": {"steps": 3, "eval_every": 3}})
        for split, seeds in (("fixed", 1), ("per_seed", 2)):
            self.ok("--config", config, f"task.split={split}", f"seeds={seeds}", f"name={split}", "-q")
        validated = text[361:397].encode()
        bits = [[record(run)["summary"]["metrics"][f"val/bits_per_{unit}"]["final"] for unit in ("char", "byte")]
                for split in ("fixed", "per_seed") for run in sorted((self.tmp / "runs" / split).rglob("seed-*"))]
        self.assertEqual(len(bits), 3)
        self.assertAlmostEqual(bits[0][0] / bits[0][1], len(validated) / 36, places=6)
        self.assertGreater(abs(bits[1][0] / bits[1][1] - bits[2][0] / bits[2][1]), 1e-3)

    def test_a_program_is_no_text_of_any_encoding(self):
        self.assertNotIn("UTF-", self.refused(3, "text", "task.file=/bin/ls", says="/bin/ls is no text").split("hint")[0])


if __name__ == "__main__":
    main()
