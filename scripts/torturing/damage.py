"""Files that are damaged, lost, or another run's: named, and what they were is trained again."""
import json
import shutil

from torturing.bench import Failure, bits, born

STUDY_FILES = ("study.json", "compare.json")


def spoil(path, random, others):
    """Changes a file somehow; the words for it."""
    data = path.read_bytes()
    how = random.choice(("flip", "flip", "cut", "empty", "remove", "append", "zeros", "directory", "another's"))
    if how == "flip" and data:
        at = random.randrange(len(data))
        path.write_bytes(data[:at] + bytes([data[at] ^ 1 << random.randrange(8)]) + data[at + 1:])
    elif how == "cut":
        path.write_bytes(data[:random.randrange(len(data) + 1)])
    elif how == "append":
        path.write_bytes(data + random.randbytes(random.choice((1, 100))))
    elif how == "zeros":
        path.write_bytes(bytes(len(data)))
    elif how in ("remove", "directory"):
        path.unlink()
        if how == "directory":
            path.mkdir()
    elif how == "another's" and others:
        shutil.copyfile(random.choice(others), path)
    else:
        path.write_bytes(b"")
    return f"{how} {path.name}"


def is_changed(path, before):
    """True if the content of a file has changed; spaces in JSON do not count."""
    if not path.is_file():
        return True
    data = path.read_bytes()
    try:
        return data != before and not (path.suffix == ".json" and json.loads(data) == json.loads(before))
    except (ValueError, RecursionError):
        return True


def damage(t, random):
    """Damaged, lost and swapped files of runs: each finished run is named and trained again, the intact ones are not."""
    study = random.choice(("xor", "sequence", "text", "tuned", "sequential"))
    t.take(study, random.choice(("finished", "finished", "half")))
    out = t.place / "out"
    found = bits(out)
    finished = [run for run in found if found[run].get("state") == "done"]
    files = [p for run in found for p in (out / run).iterdir() if p.is_file()]
    damaged, unread, words = set(), set(), []
    for path in random.sample(files, min(len(files), random.randint(1, 4))):
        before = path.read_bytes()
        words.append(spoil(path, random, [p for p in files if p.name == path.name and p != path and p.is_file()]))
        run = str(path.parent.relative_to(out))
        if not any((out / run).iterdir()):  # nothing is left to tell by
            finished = [other for other in finished if other != run]
            damaged.discard(run)
        elif run in finished and is_changed(path, before):
            damaged.add(run)
            if path.name == "run.json":
                unread.add(run)
    t.note = ", ".join(words)
    kept = {run: born(out / run / "run.json") for run in finished if run not in damaged}
    checked = t.run("check", "out")
    compared = t.run("compare", "out/study", "--json")
    for run in damaged:
        if run not in checked.said():
            raise Failure(f"check does not name the damaged {run}: {checked.tail()}")
    for run in unread:  # compare rests on these alone
        if compared.code == 0 and "/tuning/" not in run and run not in compared.said():
            raise Failure(f"compare does not name the damaged {run}")
    result = t.restart_and_judge(study)
    for run in damaged:
        if run not in result.err:
            raise Failure(f"the damaged {run} was trained again, and nobody said so")
    again = [run for run, before in kept.items() if born(out / run / "run.json") != before]
    if again:
        raise Failure(f"the intact finished run {again[0]} was trained again")
    if t.run("check", "out").code != 0:
        raise Failure("check finds fault with the study after its repair")


def study_files(t, random):
    """A study's own files, damaged: no run is lost or trained again, and a sequential design goes on or says why not."""
    study = random.choice(("xor", "tuned", "sequential"))
    t.take(study, "finished")
    folder = t.place / "out/study"
    kept = {run: born(t.place / "out" / run / "run.json") for run in bits(t.place / "out")}
    chosen = random.sample(STUDY_FILES, random.randint(1, 2))
    t.note = ", ".join(spoil(folder / name, random, []) for name in chosen)
    for _ in range(2):
        result = t.train()
        if result.code == 3 and study == "sequential" and "study.json" in result.err:
            return  # what its interim analyses have used up is not known
        if result.code != 0 and not any(name in result.err for name in chosen):
            raise Failure(result.tail())
        for path in [folder / name for name in STUDY_FILES if (folder / name).is_dir()]:
            path.rmdir()  # the person's answer to what was said
    t.restart_and_judge(study)
    if again := [run for run, before in kept.items() if born(t.place / "out" / run / "run.json") != before]:
        raise Failure(f"the intact finished run {again[0]} was trained again")


def beside(t, random):
    """Another config under the same name, files of a person's and copies of runs change nothing of the study."""
    study = random.choice(("xor", "sequence"))
    t.take(study, random.choice(("none", "half", "finished")))
    out = t.place / "out"
    other = t.run("--config", "study.json", "-o", "out", "-q", "train.steps=40", limit=30)
    if other.code not in (0, 5):
        raise Failure(f"another config under the same name: {other.tail()}")
    runs = sorted(bits(out))
    for run in random.sample(runs, min(2, len(runs))):
        where = random.choice((out / run, out / "study", out))
        (where / random.choice(("notes.txt", "x.old-1", "seed-0"))).mkdir(exist_ok=True)
        shutil.copytree(out / run, (out / run).with_name("copy of mine"), dirs_exist_ok=True)
    result = t.train()
    if result.code != 0:
        raise Failure(f"the restart beside others fails: {result.tail()}")
    t.same_bits(study, with_verdict=False)  # its notes name the runs beside
