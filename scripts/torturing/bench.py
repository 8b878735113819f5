"""The basis of every try: the program under limits, small studies, and their undisturbed results."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

XOR = {
    "name": "study", "seeds": 3,
    "task": {"kind": "xor", "bits": 2}, "model": {"d_model": 8, "ffn": {"kind": "positionwise", "activation": "relu", "dropout": 0.1}},
    "train": {"steps": 300, "eval_every": 20, "checkpoint_every": 25, "optimizer": {"lr": 0.005}, "target": {"metric": "val/accuracy", "at_least": 0.99}},
    "sweep": {"grid": {"model.ffn.activation": ["relu", "silu"]}},
}
SEQUENCE = {
    "name": "study", "seeds": 2,
    "task": {"kind": "sequence_xor", "length": 6, "first_offset": 1, "second_offset": 2},
    "model": {"d_model": 8, "blocks": 1, "attention": {"heads": 2, "causal": True}, "residual": True, "ffn": {"kind": "gated", "activation": "silu"}},
    "train": {"steps": 60, "batch_size": 8, "eval_every": 10, "checkpoint_every": 15},
    "sweep": {"grid": {"train.optimizer.lr": [0.003, 0.01]}},
}
TEXT = {
    "name": "study", "seeds": 2,
    "task": {"kind": "text", "file": "text.txt", "context": 16},
    "model": {"d_model": 8, "blocks": 1, "attention": {"heads": 2, "causal": True}, "norm": {"kind": "layer"}, "residual": True,
              "ffn": {"kind": "positionwise", "activation": "gelu"}},
    "train": {"steps": 40, "batch_size": 4, "eval_every": 10, "checkpoint_every": 10},
    "sweep": {"grid": {"model.ffn.activation": ["relu", "gelu"]}},
}


def changed(study, **train):
    return {**study, "train": {**study["train"], **train}}


STUDIES = {
    "xor": XOR,
    "sequence": SEQUENCE,
    "text": TEXT,
    "long": changed(XOR, steps=16000, eval_every=1000, checkpoint_every=250),  # long enough to be killed a few times
    "tiny": changed({**XOR, "seeds": 2}, steps=60, eval_every=20, checkpoint_every=20),
    "sequential": changed({**XOR, "seeds": {"until": "settled", "max": 24}}, steps=60, eval_every=20, checkpoint_every=20),
    "tuned": changed({**XOR, "seeds": 4, "tune": {"train.optimizer.lr": [0.003, 0.01], "seeds": 2}}, steps=60, eval_every=20, checkpoint_every=20),
}

SUMMARY = ("end", "steps", "tokens", "parameters", "flops_per_token", "computed_by", "metrics", "hit", "divergence")
WORDS_OF_A_BUG = re.compile(r"this is a bug|terminate called|Assertion .* failed|Sanitizer|runtime error:|std::\w+|map::at|basic_string|json\.exception")


class Failure(Exception):
    """The program did what it must not do."""


class Result:
    def __init__(self, arguments, code, out, err, seconds):
        self.arguments, self.code, self.out, self.err, self.seconds = arguments, code, out, err, seconds

    def said(self):
        return self.err + self.out

    def tail(self):
        lines = [line for line in self.err.splitlines() if line.strip()] or ["(nothing on stderr)"]
        return f"exit code {self.code}; " + " | ".join(lines[-4:])[:600]


class Bench:
    """Shared by all tries: where the program, the shim and the undisturbed results are."""

    def __init__(self, program, root, patience, shim):
        self.program, self.root, self.patience, self.shim = program, root, patience, shim
        self.base = {}
        text = "".join(f"line {i} of a text: {i * i % 97} and {i * 7 % 13} more.\n" for i in range(120))
        (root / "text.txt").write_text(text)
        for name, study in STUDIES.items():
            place = root / "undisturbed" / name
            place.mkdir(parents=True)
            if study["task"]["kind"] == "text":  # one place for all tries: a study that moved says another path
                study = {**study, "task": {**study["task"], "file": str(root / "text.txt")}}
            (place / "study.json").write_text(json.dumps(study))
            self.base[name] = Undisturbed(self, name, place)

    def undisturbed(self, name):
        return self.base[name].ready()


class Undisturbed:
    """A study as it comes out when nobody disturbs it; computed on first use."""

    def __init__(self, bench, name, place):
        self.bench, self.name, self.place = bench, name, place
        self.runs = None

    def ready(self):
        if self.runs is None:
            result = Try(self.bench, "undisturbed", 0, self.place).run("--config", "study.json", "-o", "out", "-q", limit=120)
            if result.code != 0:
                raise SystemExit(f"the undisturbed study {self.name} failed: {result.tail()}")
            self.seconds = result.seconds
            self.runs = bits(self.place / "out")
            self.verdict = verdict_of(Try(self.bench, "undisturbed", 0, self.place).run("compare", "out/study", "--json"))
        return self

    def half(self):
        """A copy that was killed in the middle, at the same place each time."""
        self.ready()
        half = self.place / "half"
        if not half.exists():
            log = self.place / "log"
            environment = {"LD_PRELOAD": self.bench.shim, "FFN_SHIM_ROOT": str(self.place / "half.new")}
            work = Try(self.bench, "undisturbed", 0, self.place)
            work.run("--config", "study.json", "-o", "half.new", "-q", "-j", "1", limit=120, environment={**environment, "FFN_SHIM_LOG": str(log)})
            changes = sum(line.startswith((b"create", b"write", b"fsync", b"rename", b"mkdir", b"unlink")) for line in log.read_bytes().split(b"\n"))
            shutil.rmtree(self.place / "half.new")
            work.run("--config", "study.json", "-o", "half.new", "-q", "-j", "1", limit=120, killed=True,
                     environment={**environment, "FFN_SHIM_KILL": str(changes * 6 // 10)})
            os.rename(self.place / "half.new", half)
        return half


class Try:
    """One attempt at breaking something, in a directory of its own."""

    def __init__(self, bench, kind, seed, place):
        self.bench, self.kind, self.seed, self.place = bench, kind, seed, place
        self.started = []
        self.number = 0

    def at(self, place):
        return Try(self.bench, self.kind, self.seed, place)

    def take(self, study, state="none"):
        """The study's files, and its results in a state: none, half or finished."""
        base = self.bench.base[study].ready()
        shutil.copy(base.place / "study.json", self.place)
        if state == "finished":
            shutil.copytree(base.place / "out", self.place / "out", symlinks=True)
        if state == "half":
            shutil.copytree(base.half(), self.place / "out", symlinks=True)
        return base

    def start(self, *arguments, wrap=(), environment=None, **options):
        """A process group of its own, with its output in files: a worker that outlives its parent holds no pipe of ours."""
        self.number += 1
        out, err = (open(self.place / f".{name}-{self.number}", "w+b") for name in ("out", "err"))
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("FFN_SHIM", "LD_PRELOAD"))} | (environment or {})
        words = [*wrap, str(self.bench.program), *map(str, arguments)]
        options.setdefault("stdin", subprocess.DEVNULL)
        options.setdefault("stdout", out)
        options.setdefault("stderr", err)
        process = subprocess.Popen(words, cwd=self.place, start_new_session=True, env=environment, **options)
        process.files, process.words, process.began = (out, err), words, time.monotonic()
        self.started.append(process)
        return process

    def end(self, process, limit=None, killed=False):
        """Waits; nobody may hang, die of a signal that was not ours, or call the user's trouble a bug."""
        limit = (limit or 10) * self.bench.patience
        try:
            process.wait(max(0.1, process.began + limit - time.monotonic()))
        except subprocess.TimeoutExpired:
            kill_group(process)
            raise Failure(f"hangs: `{command(process.words)}` did not end within {limit:.0f} s") from None
        texts = []
        for file in process.files:
            file.seek(0)
            texts.append(file.read().decode("utf-8", "replace"))
            file.close()
        result = Result(process.words, process.returncode, *texts, time.monotonic() - process.began)
        died = -result.code if result.code < 0 else result.code - 128 if result.code in (134, 135, 136, 137, 139, 152, 153, 159) else 0
        if died and not killed:
            raise Failure(f"`{command(process.words)}` died of {signal.Signals(died).name}: {result.tail()}")
        if found := WORDS_OF_A_BUG.search(result.err):
            line = next(line for line in result.err.splitlines() if found.group() in line)
            raise Failure(f"`{command(process.words)}` speaks of its own insides: {line[:300]}")
        return result

    def run(self, *arguments, limit=None, killed=False, **options):
        return self.end(self.start(*arguments, **options), limit, killed)

    def train(self, *more, limit=30, **options):
        return self.run("--config", "study.json", "-o", "out", "-q", *more, limit=limit, **options)

    def clean_up(self):
        for process in self.started:
            if process.poll() is None:
                kill_group(process)
            for file in process.files:
                file.close()

    # ---- verdicts

    def restart_and_judge(self, study, note=""):
        """Start again without disturbance: it ends well, in the undisturbed bits."""
        result = self.train()
        if result.code != 0:
            raise Failure(f"{note}the restart fails: {result.tail()}")
        self.same_bits(study, note)
        return result

    def same_bits(self, study, note="", with_verdict=True):
        found = bits(self.place / "out")
        wanted = self.bench.undisturbed(study).runs
        if problems := differences(wanted, found):
            raise Failure(f"{note}{problems[0][1]} and nobody said so" + (f" ({len(problems)} such)" if len(problems) > 1 else ""))
        verdict = verdict_of(self.run("compare", "out/study", "--json"))
        if with_verdict and verdict != self.bench.undisturbed(study).verdict:
            raise Failure(f"{note}compare comes to another result, though every file is as it should be")


def kill_group(process, with_signal=signal.SIGKILL):
    try:
        os.killpg(process.pid, with_signal)
    except ProcessLookupError:
        pass
    if with_signal == signal.SIGKILL:
        process.wait()


def children_of(pid):
    """Direct children, through /proc."""
    try:
        return [int(word) for task in pathlib.Path(f"/proc/{pid}/task").iterdir() for word in (task / "children").read_text().split()]
    except (OSError, ValueError):
        return []


def command(words):
    return " ".join(str(word) if " " not in str(word) else repr(str(word)) for word in words)


def without_times(value):
    if isinstance(value, dict):
        return {k: without_times(v) for k, v in value.items() if k not in ("time_s", "train_seconds", "seconds_to_target", "files")}
    return [without_times(v) for v in value] if isinstance(value, list) else value


def bits(root):
    """Run → everything that has to be equal: tensors byte for byte, metrics and summary without times. What was renamed is not looked at."""
    out = {}
    for path in sorted(root.rglob("run.json")):
        run = path.parent
        name = str(run.relative_to(root))
        if ".old-" in name or ".damaged-" in name or "copy of mine" in name:
            continue
        try:
            record = json.loads(content(path))
            out[name] = {
                "summary": {k: v for k, v in without_times(record["summary"] or {}).items() if k in SUMMARY},
                "config": without_place(record["config"]), "state": record["state"],
            }
            if record["config"]["keep"] == "all" and record["summary"]:
                out[name]["model.safetensors"] = tensors(content(run / "model.safetensors"))
                out[name]["metrics.jsonl"] = [without_times(json.loads(line)) for line in content(run / "metrics.jsonl").splitlines()]
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            out[name] = {"unreadable": f"{type(error).__name__}: {error}"}
    return out


def born(path):
    try:
        return path.stat().st_ino, path.stat().st_mtime_ns
    except (FileNotFoundError, NotADirectoryError):
        return None


def without_place(config):
    """A text's path depends on where the study was started."""
    config.get("task", {}).pop("file", None)
    return config


def content(path):
    """The bytes of a regular file, not of an endless one."""
    if not path.is_file() or path.stat().st_size > 1 << 26:
        raise OSError(f"{path.name} is missing or no plain file")
    return path.read_bytes()


def tensors(data):
    """The header without checksums and the like, and the numbers."""
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + length])
    return {k: v for k, v in header.items() if k != "__metadata__"}, data[8 + length:]


def differences(wanted, found):
    """(run, what is wrong with it)."""
    out = []
    for run, files in wanted.items():
        if run not in found:
            out.append((run, f"the run {run} is gone"))
        elif "unreadable" in found[run]:
            out.append((run, f"the run {run} is counted though {found[run]['unreadable'][:160]}"))
        else:
            out += [(run, f"{name} of {run} differs from the undisturbed study's") for name, content in files.items() if found[run].get(name) != content]
    return out


def verdict_of(result):
    """The comparison as numbers, without times; None where there is none."""
    if result.code != 0:
        return None
    try:
        return without_times(json.loads(result.out))
    except ValueError:
        return None
