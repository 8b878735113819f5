"""Files that are not what they were: flipped, cut, swapped, emptied, replaced by what is no file."""
import json
import os
import re
import shutil

from torturing.bench import Failure, bits, content, verdict_of

NAMES = ("config.json", "study.json", "status.json", "summary.json", "metrics.jsonl", "meta.json", "state.safetensors", "model.safetensors")
HUGE = (b"1e300", b"-5", b"9223372036854775808", b"100000", b"-0.0", b"1e-400", b"18446744073709551615", b"null", b"\"0\"", b"[]", b"{}", b"true",
        b"0.5", b"NaN", b"-1", b"\"x\"", b"0")


def at(random, size):
    return min(int(random.random() * size), max(size - 1, 0))


def flip(data, random):
    data = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 8))):
        if data:
            data[at(random, len(data))] ^= 1 << random.randrange(8)
    return bytes(data)


def random_bytes(data, random):
    begin, data = at(random, len(data)), bytearray(data)
    data[begin:begin + random.choice((1, 4, 64))] = random.randbytes(random.choice((1, 4, 64)))
    return bytes(data)


def truncate(data, random):
    return data[:at(random, len(data))]


def cut_out(data, random):
    begin = at(random, len(data))
    return data[:begin] + data[begin + random.choice((1, 2, 16, 512)):]


def zero(data, random):
    begin = at(random, len(data))
    length = random.choice((1, 16, 512, len(data)))
    return data[:begin] + bytes(len(data[begin:begin + length])) + data[begin + length:]


def all_zero(data, random):
    return bytes(len(data))


def empty(data, random):
    return b""


def append(data, random):
    return data + random.choice((b"\n", b"{}", b"\0" * 9, random.randbytes(20), data))


def double_line(data, random):
    lines = data.split(b"\n")
    line = at(random, len(lines))
    return b"\n".join(lines[:line] + [lines[line]] + lines[line:])


def drop_line(data, random):
    lines = data.split(b"\n")
    del lines[at(random, len(lines))]
    return b"\n".join(lines)


def swap_lines(data, random):
    lines = data.split(b"\n")
    a, b = at(random, len(lines)), at(random, len(lines))
    lines[a], lines[b] = lines[b], lines[a]
    return b"\n".join(lines)


def odd_number(data, random):
    numbers = list(re.finditer(rb"(?<=[:\[, ])-?\d[\d.eE+-]*", data[:100000]))
    if not numbers:
        return flip(data, random)
    found = random.choice(numbers)
    return data[:found.start()] + random.choice(HUGE) + data[found.end():]


def odd_digit(data, random):
    """The most treacherous: still a number, still a file, another value."""
    digits = [m.start() for m in re.finditer(rb"\d", data[:100000])]
    if not digits:
        return flip(data, random)
    where = random.choice(digits)
    return data[:where] + str((data[where] - 48 + random.randint(1, 9)) % 10).encode() + data[where + 1:]


def other_word(data, random):
    pairs = [(b"relu", b"silu"), (b"silu", b"relu"), (b"done", b"failed"), (b"done", b"diverged"), (b"running", b"done"), (b"interrupted", b"done"),
             (b"true", b"false"), (b"false", b"true"), (b"null", b"0"), (b"xor", b"text"), (b"gelu", b"relu"), (b"adamw", b"sgd")]
    pairs = [p for p in pairs if p[0] in data]
    return data.replace(*random.choice(pairs)) if pairs else odd_digit(data, random)


MUTATIONS = (flip, flip, flip, random_bytes, truncate, truncate, cut_out, zero, all_zero, empty, append, double_line, drop_line, swap_lines,
             odd_number, odd_number, odd_digit, odd_digit, other_word)


def candidates(t):
    out = t.place / "out"
    return sorted(p for p in out.rglob("*") if p.is_file() and p.name in NAMES)


def place_of(t, path):
    """How a message may name the damage: the run's directory, or the study's file."""
    relative = path.relative_to(t.place / "out" / "study")
    return f"{relative.parts[0]}/{relative.parts[1]}" if len(relative.parts) > 1 else relative.name


def by_name(files, random):
    """Every kind of file as often as any other."""
    name = random.choice(sorted({p.name for p in files}))
    return random.choice([p for p in files if p.name == name])


def damaged(t, random):
    """Mutated, deleted, swapped files in studies that have ended, were killed, or have just begun; then start again and compare."""
    study = random.choice(("xor", "xor", "sequence", "text"))
    state = random.choice(("finished", "finished", "half"))
    t.take(study, state)
    files = candidates(t)
    touched, did = [], []
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        path = by_name(files, random)
        if not path.exists():
            continue
        action = random.random()
        if action < 0.8:
            mutation = random.choice(MUTATIONS)
            before = path.read_bytes()
            after = mutation(before, random)
            if after == before:
                continue
            path.write_bytes(after)
            did.append(f"{mutation.__name__} {path.relative_to(t.place)}")
        elif action < 0.9:
            path.unlink()
            did.append(f"unlink {path.relative_to(t.place)}")
        else:
            others = [p for p in files if p.name == path.name and p != path and p.exists()]
            if not others:
                continue
            other = random.choice(others)
            both = path.read_bytes(), other.read_bytes()
            if both[0] == both[1]:
                continue
            path.write_bytes(both[1])
            other.write_bytes(both[0] if random.random() < 0.5 else both[1])
            did.append(f"swap {path.relative_to(t.place)} {other.relative_to(t.place)}")
            touched.append(other)
        touched.append(path)
    judge(t, study, touched, ", ".join(did))


def judge(t, study, touched, did):
    """Restarted and compared: the undisturbed results, or a message that names the place; untouched finished runs untouched."""
    places = [place_of(t, path) for path in touched]
    untouched = intact(t, study, places)
    t.note = did
    results = []
    try:
        if t.seed % 3 == 0:  # compare before anything had the chance to repair it
            first = t.run("compare", "out/study", "--json")
            if first.code == 0 and not any(p in first.said() for p in places):
                wanted = t.bench.undisturbed(study).verdict
                if len(untouched) + len(set(places)) == len(wanted_runs(t, study)) and verdict_of(first) != wanted:
                    raise Failure("compare comes to another result without a word")
        results.append(t.train())
        results.append(t.run("compare", "out/study", "--json"))
        if results[-1].code not in (0, 2, 3) or results[0].code not in (0, 1, 2, 3, 4):
            raise Failure(f"exit codes {[r.code for r in results]}: {results[0].tail()}")
        if touched:
            t.same_or_said(study, results, places)
        else:
            t.same_bits(study)
        for path, (inode, modified) in untouched.items():
            now = path.stat() if path.exists() else None
            if now is None or (now.st_ino, now.st_mtime_ns) != (inode, modified):
                raise Failure(f"the intact finished run {path.parent.relative_to(t.place)} was {'lost' if now is None else 'trained again'}")
        # What could not be repaired at once is found finished, or said again, the next time; and the bits stay right.
        again = t.train()
        if again.code not in (0, 1, 2, 3, 4):
            raise Failure(f"the second start: {again.tail()}")
        if again.code == 0 and results[0].code == 0 and touched:
            t.same_or_said(study, [again, t.run("compare", "out/study", "--json")], places)
    except Failure as failure:
        raise Failure(f"{did}: {failure}") from None


def wanted_runs(t, study):
    return t.bench.undisturbed(study).runs


def intact(t, study, places):
    """Weights of finished runs that nobody touched, and what they look like on disk."""
    out = {}
    for run in t.bench.undisturbed(study).runs:
        status = t.place / "out" / run / "status.json"
        if not any(run.endswith(p) for p in places) and status.is_file() and b'"done"' in content(status):
            weights = t.place / "out" / run / "model.safetensors"
            out[weights] = (weights.stat().st_ino, weights.stat().st_mtime_ns)
    return out


DEEP = (b"[" * 300_000, b"[" * 5_000 + b"]" * 5_000, b'{"a":' * 200_000 + b"1" + b"}" * 200_000, b'{"a":[' * 100_000)


def odd(t, random):
    """Where a file was: a directory, a FIFO, a device, a loop of links, text of great depth, a file of many zeros."""
    study = random.choice(("xor", "sequence"))
    t.take(study, random.choice(("finished", "half")))
    path = by_name(candidates(t), random)
    before = path.read_bytes()
    path.unlink()
    what = random.choice(("directory", "fifo", "zero", "random", "loop", "dangling", "link", "deep", "deep", "big"))
    if what == "directory":
        path.mkdir()
        (path / "file").write_text("not ours")
    elif what == "fifo":
        os.mkfifo(path)
    elif what in ("zero", "random"):
        path.symlink_to(f"/dev/{what}")
    elif what == "loop":
        path.symlink_to(path.name)
    elif what == "dangling":
        path.symlink_to("nowhere/at/all")
    elif what == "link":  # a link to what was there: as good as the file
        (t.place / "elsewhere").write_bytes(before)
        path.symlink_to(t.place / "elsewhere")
    elif what == "big":
        with open(path, "wb") as file:
            file.write(before)
            file.truncate(random.choice((1 << 27, 1 << 32)))
    else:
        path.write_bytes(insert_deep(before, random))
    judge(t, study, [path], f"{what} at {path.relative_to(t.place)}")
    if what == "link" and (t.place / "elsewhere").read_bytes() != before and path.is_symlink():
        raise Failure(f"wrote through the link {path.relative_to(t.place)}")


def insert_deep(data, random):
    deep = random.choice(DEEP)
    numbers = list(re.finditer(rb"(?<=[:\[, ])-?\d[\d.eE+-]*", data[:100000]))
    if not numbers or random.random() < 0.4:
        return deep
    found = random.choice(numbers)
    return data[:found.start()] + deep + data[found.end():]


def strangers(t, random):
    """Directories and links with our names, files that are not ours: nothing of them may go, nothing may be written through."""
    t.take("xor", random.choice(("none", "half", "finished")))
    precious = t.place / "precious"
    (precious / "checkpoint").mkdir(parents=True)
    for name in ("thesis.txt", "model.safetensors", "metrics.jsonl", "checkpoint/state.safetensors", "summary.json"):
        (precious / name).write_text("the only copy\n")
    before = {p.relative_to(precious): p.read_bytes() for p in precious.rglob("*") if p.is_file()}
    study = t.place / "out" / "study"
    run = study / random.choice(("activation=relu", "activation=silu")) / f"seed-{random.randrange(3)}"
    place = random.choice((run, run, run / "checkpoint", run.parent, study, t.place / "out" / ".study.lock", run.parent / ".lock"))
    place.parent.mkdir(parents=True, exist_ok=True)
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    elif place.exists():
        place.unlink()
    linked = random.random() < 0.6 or place.name.endswith(".lock")
    if place.name.endswith(".lock"):
        place.symlink_to(precious / "thesis.txt")
    elif linked:
        place.symlink_to(precious)
    else:
        shutil.copytree(precious, place)
    t.note = f"{'a link' if linked else 'a directory'} of somebody else's at {place.relative_to(t.place)}"
    result = t.train()
    if result.code not in (0, 2, 3, 4, 1, 75):
        raise Failure(f"{t.note}: {result.tail()}")
    after = {p.relative_to(precious): p.read_bytes() for p in precious.rglob("*") if p.is_file()}
    lost = [str(name) for name in before if after.get(name) != before[name]]
    if lost:
        raise Failure(f"{t.note}: {lost[0]} was {'removed' if lost[0] not in map(str, after) else 'written over'}")
    if not linked:
        kept = [p for p in (t.place / "out").rglob("thesis.txt") if p.read_text() == "the only copy\n"]
        others = [p for p in (t.place / "out").rglob("model.safetensors") if p.read_bytes() == b"the only copy\n"]
        if not kept or not others:
            raise Failure(f"{t.note}: {'thesis.txt' if not kept else 'model.safetensors'} is gone")


def single(t, random):
    """One run instead of a study: a damaged file costs at most the run's training, and never a wrong result."""
    t.take("xor")
    config = {k: v for k, v in json.loads((t.place / "study.json").read_text()).items() if k not in ("sweep", "seeds")}
    (t.place / "study.json").write_text(json.dumps(config))
    whole = t.run("--config", "study.json", "-o", "whole", "-q")
    half = random.random() < 0.5
    if half:
        environment = {"LD_PRELOAD": t.bench.shim, "FFN_SHIM_ROOT": str(t.place / "out"), "FFN_SHIM_KILL": str(random.randint(30, 60))}
        t.run("--config", "study.json", "-o", "out", "-q", environment=environment, killed=True)
    else:
        shutil.copytree(t.place / "whole", t.place / "out")
    files = candidates(t)
    if not files:
        return
    path = by_name(files, random)
    before = path.read_bytes()
    if random.random() < 0.15:
        path.unlink()
        t.note = f"unlink {path.relative_to(t.place)}"
    else:
        mutation = random.choice(MUTATIONS)
        after = mutation(before, random)
        if after == before:
            return
        path.write_bytes(after)
        t.note = f"{mutation.__name__} {path.relative_to(t.place)}"
    result = t.train()
    if result.code not in (0, 1, 2, 3):
        raise Failure(f"{t.note}: {result.tail()}")
    if path.name in result.said() or "seed-0" in result.err:
        return
    if result.code != 0 or whole.code != 0:
        raise Failure(f"{t.note}: {result.tail()}")
    found, wanted = bits(t.place / "out"), bits(t.place / "whole")
    if found != wanted:
        raise Failure(f"{t.note}: the result differs from the undisturbed run's and nobody said so")
