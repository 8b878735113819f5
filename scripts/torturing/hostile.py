"""Text and configs from somebody who means harm, or who made a mistake."""
import json
import os
import pty
import re
import select
import time

from torturing.bench import Failure
from torturing.damage import DEEP

# None of them is ever the program's own: a title, a report, C1 forms, a bell, overprinting, text that runs backwards.
CONTROLS = ("\x1b]0;torture\x07", "\x1b[5n", "\x9b31m", "\u202etorture", "\u2066torture", "\x08\x08\x08", "\x07", "\x1bP1$r\x1b\\", "\u200ftorture", "\x85")
RAW = re.compile(r"\x1b\][^m]|\x1b\[5n|\x1bP|[\x80-\x9f\u202a-\u202e\u2066-\u2069\u200e\u200f\x07\x08]")


def on_terminal(t, arguments, limit=10, environment=None):
    """What a terminal of the user's would receive."""
    parent, child = pty.openpty()
    process = t.start(*arguments, stdin=child, stdout=child, stderr=child, environment={"TERM": "xterm", **(environment or {})})
    os.close(child)
    seen, deadline = b"", time.monotonic() + limit * t.bench.patience
    while time.monotonic() < deadline:
        ready, _, _ = select.select([parent], [], [], 0.05)
        if ready:
            try:
                piece = os.read(parent, 1 << 16)
            except OSError:
                break
            if not piece:
                break
            seen += piece
        elif process.poll() is not None:
            break
    os.close(parent)
    t.end(process, limit)
    return seen.decode("utf-8", "replace")


def escapes(t, random):
    """Control sequences in every text that a config, a result or a path may hold: none reaches a terminal raw."""
    control = random.choice(CONTROLS)
    t.take("tiny")
    study = json.loads((t.place / "study.json").read_text())
    place = random.choice(("question", "claim", "source", "by", "metric", "unknown key", "value", "override", "out", "path", "status", "config",
                           "zip", "study", "seed", "file", "environment", "weights"))
    arguments = ["--config", "study.json", "-o", "out"]
    after = ["compare", "out/study"]
    if place == "question":
        study["compare"] = {"question": control}
        study["question"] = f"is it {control}?"
        study.pop("compare")
    elif place in ("claim", "source"):
        study["expect"] = [{"claim": "c", "source": "s", "check": {"verdict": {"silu": "better"}}}]
        study["expect"][0][place] = f"it {control} is"
    elif place in ("by", "metric"):
        study["compare"] = {place: f"val/{control}"}
        after = ["compare", "out/study", f"--{place}", control]
    elif place == "unknown key":
        study["train"][f"steps{control}"] = 1
    elif place == "value":
        study["train"]["optimizer"] = {"kind": control}
    elif place == "override":
        arguments.append(f"train.{control}=1")
    elif place == "out":
        arguments[3] = f"out{control}"
        after = ["compare", f"out{control}/study"]
    elif place == "path":
        arguments[1] = f"no{control}.json"
    elif place == "zip":
        study["sweep"] = {"zip": [{f"model.{control}": [1, 2]}]}
    elif place == "file":
        study["task"] = {"kind": "text", "file": f"no{control}.txt"}
    (t.place / "study.json").write_text(json.dumps(study))
    environment = {}
    if place == "environment":
        environment["FFN_TRAIN_ENGINE"] = f"/no/{control}.so"
        arguments += ["--engine", "libtorch"]
    t.note = f"{control!r} in {place}"
    seen = on_terminal(t, arguments, 30, environment)
    runs = sorted((t.place / "out" / "study").glob("*/seed-*")) if (t.place / "out" / "study").is_dir() else []
    if runs and place in ("status", "config", "study", "seed", "weights"):
        run = random.choice(runs)
        name = {"status": "status.json", "config": "config.json", "seed": "config.json"}.get(place)
        if name:
            content = json.loads((run / name).read_text())
            if place == "status":
                content["state"] = random.choice(("failed", control))
                content["reason"] = f"because {control}"
            elif place == "seed":
                content["seed"] = control
            else:
                content["model"]["ffn"]["activation"] = control
            (run / name).write_text(json.dumps(content, ensure_ascii=random.random() < 0.5))
        elif place == "study":
            content = json.loads((t.place / "out/study/study.json").read_text())
            content["name"] = content["variants"][0]["name"] = control
            (t.place / "out/study/study.json").write_text(json.dumps(content, ensure_ascii=False))
        else:
            weights = run / "model.safetensors"
            weights.write_bytes(weights.read_bytes().replace(b'"identity"', control.encode()[:9].ljust(10, b"x")))
        seen += on_terminal(t, arguments, 30)
    seen += on_terminal(t, after)
    if found := RAW.search(seen):
        raise Failure(f"{t.note}: {found.group()!r} reaches the terminal: {seen[max(0, found.start() - 60):found.end() + 60]!r}")


def configs(t, random):
    """Configs that block, are endless, deep, circular, or extend each other a billion times."""
    t.take("tiny")
    what = random.choice(("fifo", "zero", "random", "kmsg", "doubling", "chain", "circle", "deep", "big", "nul", "self", "task file", "overflow", "pipe"))
    t.note = what
    place = t.place / "odd.json"
    code = (2, 3)
    if what in ("fifo", "zero", "random", "kmsg"):
        device = t.place / "fifo" if what == "fifo" else {"zero": "/dev/zero", "random": "/dev/urandom", "kmsg": "/proc/kmsg"}[what]
        if what == "fifo":
            os.mkfifo(device)
        key = random.choice(("extends", "file", "config"))
        place.write_text(json.dumps({"extends": str(device)} if key == "extends" else
                                    {"name": "x", "task": {"kind": "text", "file": str(device)}, "model": {"d_model": 8}}))
        if key == "config" and what != "fifo":  # a FIFO as the config may be a pipe that somebody fills
            place = device
    elif what == "doubling":
        for i in range(40):
            (t.place / f"d{i}.json").write_text(json.dumps({"extends": [f"d{i + 1}.json"] * 2 if i % 2 else f"d{i + 1}.json"}))
        (t.place / "d40.json").write_text("{}")
        place.write_text('{"extends": ["d0.json", "d0.json"]}')
        code = (0, 2, 3)
    elif what == "chain":
        count = random.choice((100, 3000, 20000))
        for i in range(count):
            (t.place / f"c{i}.json").write_text('{"extends": "c%d.json"}' % (i + 1))
        (t.place / f"c{count}.json").write_text((t.place / "study.json").read_text())
        place.write_text('{"extends": "c0.json"}')
        code = (0, 2, 3)
    elif what in ("circle", "self"):
        place.write_text('{"extends": "%s"}' % ("odd.json" if what == "self" else "other.json"))
        (t.place / "other.json").write_text('{"extends": "odd.json"}')
    elif what == "deep":
        deep = random.choice(DEEP)
        place.write_bytes(random.choice((deep, b'{"model":' + deep, b'{"name":' + deep + b"}")))
    elif what == "big":
        with open(place, "wb") as file:
            file.truncate(random.choice((1 << 24, 1 << 31, 3 << 30)))
    elif what == "nul":
        text = (t.place / "study.json").read_text()
        cut = random.randrange(len(text) + 1)
        place.write_text(text[:cut] + "\0" + text[cut:])
    elif what == "task file":
        with open(t.place / "huge.txt", "wb") as file:
            file.truncate(3 << 30)
        place.write_text(json.dumps({"name": "x", "task": {"kind": "text", "file": "huge.txt"}, "model": {"d_model": 8}}))
    elif what == "overflow":
        study = json.loads((t.place / "study.json").read_text())
        key, value = random.choice((("steps", 1 << 62), ("batch_size", 1 << 40), ("eval_every", 1 << 63), ("steps", -1), ("batch_size", 0)))
        study["train"][key] = value
        study["train"]["steps"] = study["train"]["steps"] if key == "steps" and value < 0 else min(study["train"]["steps"], 100)
        place.write_text(json.dumps(study))
        code = (0, 1, 2, 3, 4)
    elif what == "pipe":
        code = (0,)
        os.mkfifo(t.place / "pipe")
        writer = os.fork()
        if writer == 0:
            try:
                with open(t.place / "pipe", "wb") as file:
                    file.write((t.place / "study.json").read_bytes())
            finally:
                os._exit(0)
        try:
            result = t.run("validate", "pipe")
        finally:
            try:
                os.kill(writer, 9)
            except ProcessLookupError:
                pass
            os.waitpid(writer, 0)
        if result.code != 0:
            raise Failure(f"a config through a pipe: {result.tail()}")
        return
    for arguments in (("validate", place), ("--config", place, "-o", "out", "-q")):
        process = t.start(*arguments, wrap=("prlimit", f"--as={4 << 30}"))
        result = t.end(process, limit=10)
        if result.code not in code:
            raise Failure(f"{what}: `{' '.join(map(str, arguments))}`: {result.tail()}")


def json_suite(t, random):
    """A file of JSONTestSuite, as a config and in the place of each file that is read back."""
    cases = sorted(t.bench.json_suite.rglob("*.json"))
    case = cases[t.seed % len(cases)]
    content = case.read_bytes()
    t.note = case.name
    (t.place / "case.json").write_bytes(content)
    for arguments in (("validate", "case.json"), ("--config", "case.json", "-o", "none", "-q")):
        result = t.run(*arguments)
        if result.code not in ((0,) if content.removeprefix(b"\xef\xbb\xbf").strip() == b"{}" else (2, 3)):  # nothing said is the default run
            raise Failure(f"{case.name} as a config: {result.tail()}")
    t.take("tiny", "finished")
    files = sorted(p for p in (t.place / "out").rglob("*.json*") if p.name != "compare.json")
    path = random.choice(files)
    path.write_bytes(content)
    results = [t.run("compare", "out/study", "--json"), t.train(), t.run("compare", "out/study", "--json")]
    for result in results:
        if result.code not in (0, 2, 3, 4):
            raise Failure(f"{case.name} as {path.relative_to(t.place)}: {result.tail()}")
    run = path.relative_to(t.place / "out/study")
    t.same_or_said("tiny", results, [f"{run.parts[0]}/{run.parts[1]}" if len(run.parts) > 1 else run.name])
