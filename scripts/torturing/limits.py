"""What a machine may refuse: space, descriptors, memory, directories, a place to write to."""
import os
import shutil
import subprocess
import time

from torturing.bench import Failure, bits, differences

NOBODY = 65534
REFUSALS = (1, 2, 3, 4, 75)  # exit codes that say that something was in the way


def judge_refusal(result, what, must_say=()):
    """Through, or refused with a reason."""
    if result.code not in (0, *REFUSALS):
        raise Failure(f"{what}: {result.tail()}")
    if result.code != 0 and not result.err.strip():
        raise Failure(f"{what}: exit code {result.code} without a word")
    if result.code != 0 and must_say and not any(word in result.said() for word in must_say):
        raise Failure(f"{what}: exit code {result.code}, but no reason among {', '.join(must_say)}: {result.tail()}")


def full_disk(t, random):
    """A small file system of its own where root may mount one, a limit on the size of files elsewhere."""
    study = random.choice(("xor", "sequence", "xor"))
    base = t.take(study, random.choice(("none", "half")))
    out = t.place / "out"
    if os.geteuid() == 0 and shutil.which("mount"):
        space = random.randint(8, 500)
        kept = t.place / "kept"
        if out.exists():
            out.rename(kept)
        out.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={space}k", "torture", out], capture_output=True).returncode == 0:
            try:
                if kept.exists():
                    copied = subprocess.run(["cp", "-a", f"{kept}/.", out], capture_output=True).returncode == 0
                    if not copied:
                        return  # does not even hold what was there
                result = t.train("-j", random.choice((1, 2)))
                judge_refusal(result, f"{space} kB of space", ("space", "disk"))
                subprocess.run(["mount", "-o", "remount,size=64m", out], check=True)
                t.restart_and_judge(base.name, note=f"after {space} kB of space: ")
            finally:
                t.clean_up()
                subprocess.run(["umount", "-l", out])
            return
        out.rmdir()
        if kept.exists():
            kept.rename(out)
    file_size(t, random, base)


def file_size(t, random, base=None):
    """RLIMIT_FSIZE: writing past it is an error of the file, not the end of the process."""
    base = base or t.take(random.choice(("xor", "sequence")), random.choice(("none", "half")))
    limit = random.choice((0, 1, 100, 1000, 2500, 4096, 6000, 10000))
    result = t.train("-j", random.choice((1, 2)), wrap=("prlimit", f"--fsize={limit}"))
    if limit >= 1000:  # below, not even the message has a file to go to
        judge_refusal(result, f"files of at most {limit} bytes", ("large", "big", "File", "limit", "space"))
    t.restart_and_judge(base.name, note=f"after files of at most {limit} bytes: ")


def descriptors(t, random):
    """RLIMIT_NOFILE."""
    base = t.take(random.choice(("xor", "sequence", "text")), random.choice(("none", "half", "finished")))
    limit = random.randint(4, 40)
    result = t.train("-j", random.choice((1, 2, 4)), wrap=("prlimit", f"--nofile={limit}"))
    judge_refusal(result, f"{limit} descriptors")
    t.restart_and_judge(base.name, note=f"after {limit} descriptors: ")


def memory(t, random):
    """RLIMIT_AS."""
    base = t.take(random.choice(("xor", "sequence", "text")), random.choice(("none", "half", "finished")))
    limit = int(10 ** random.uniform(6.9, 8.6))
    result = t.train("-j", random.choice((1, 2)), wrap=("prlimit", f"--as={limit}"), killed=limit < 20_000_000)  # the loader's own end
    if result.code == 127 or "error while loading shared libraries" in result.err or result.code < 0:
        return
    judge_refusal(result, f"{limit >> 20} MiB of memory")
    t.restart_and_judge(base.name, note=f"after {limit >> 20} MiB of memory: ")


def processes(t, random):
    """No process or thread may be started (RLIMIT_NPROC binds nobody but root)."""
    base = t.take("xor")
    wrap = ("prlimit", f"--nproc={random.randint(0, 3)}")
    if os.geteuid() == 0:
        give_away(t.place)
        wrap = (*wrap, "setpriv", "--reuid", str(60000 + t.seed % 5000), "--clear-groups")
        os.chmod(t.place, 0o777)
    result = t.train("-j", "2", wrap=wrap)
    judge_refusal(result, "no processes")
    t.restart_and_judge(base.name, note="after a start without processes: ")


def give_away(place):
    for path in [place, *place.rglob("*")]:
        if not path.is_symlink():
            os.chown(path, NOBODY, NOBODY)


def as_nobody():
    return ("setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups") if os.geteuid() == 0 else ()


def read_only(t, random):
    """Directories and files that may be read and not written; then everything is allowed again."""
    base = t.take(random.choice(("xor", "sequence")), random.choice(("none", "half", "finished")))
    (t.place / "out").mkdir(exist_ok=True)
    if os.geteuid() == 0:
        give_away(t.place)
    everything = [p for p in (t.place / "out").rglob("*")] + [t.place / "out"]
    chosen = random.sample(everything, min(len(everything), random.choice((1, 1, 3, len(everything)))))
    modes = {path: path.stat().st_mode for path in chosen}
    lock = random.choice((0o555, 0o555, 0o111, 0))
    for path in chosen:
        path.chmod(lock if path.is_dir() else lock & 0o444)
    try:
        result = t.train("-j", random.choice((1, 2)), wrap=as_nobody())
        judge_refusal(result, "read-only places")
        compared = t.run("compare", "out/study", "--json", wrap=as_nobody())
        judge_refusal(compared, "compare over read-only places")
        if result.code == 0 and not result.err.strip():
            silent_result(t, base)
    finally:
        for path, mode in modes.items():
            if path.exists():
                path.chmod(mode)
        for path in [t.place / "out", *(t.place / "out").rglob("*")]:
            if path.is_dir():
                path.chmod(0o755)
    t.restart_and_judge(base.name, note="after read-only places: ")


def silent_result(t, base):
    """Nothing was said: then everything has to be there, whoever reads it."""
    for path in [t.place / "out", *(t.place / "out").rglob("*")]:
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() else 0o644)
    t.same_bits(base.name)


def vanish(t, random):
    """Directories and files are removed or moved while the study runs."""
    base = t.take("long", random.choice(("none", "none", "half")))
    process = t.start("--config", "study.json", "-o", "out", "-q", "-j", random.choice((1, 2)))
    time.sleep(random.uniform(0.01, base.seconds))
    out = t.place / "out"
    choices = [out, out / "study", *(out / "study").glob("*/"), *(out / "study").glob("*/seed-*"), *(out / "study").glob("*/*/checkpoint")]
    target = random.choice([c for c in choices if c.exists()] or [out])
    action = random.choice(("remove", "move", "move and back", "replace"))
    aside = t.place / "aside"
    try:
        if action == "remove":
            shutil.rmtree(target, ignore_errors=True)
        elif target.exists():
            target.rename(aside)
            if action == "replace" and not target.exists():
                target.mkdir()
            if action == "move and back":
                time.sleep(random.uniform(0, 0.2))
                if not target.exists():
                    aside.rename(target)
    except OSError:
        pass
    result = t.end(process, limit=30)
    judge_refusal(result, f"{action} {target.relative_to(t.place)} while it ran")
    what = f"after {action} of {target.relative_to(t.place)}: "
    if result.code == 0 and not result.err.strip() and out.exists():  # what vanished after its end may be gone, what is there must be right
        wrong = [problem for run, problem in differences(base.runs, bits(out)) if "gone" not in problem]
        if wrong:
            raise Failure(f"{what}{wrong[0]} and nobody said so")
    t.restart_and_judge("long", note=what)


def closed(t, random):
    """Standard descriptors that are closed, or lead to a full device."""
    base = t.take(random.choice(("xor", "sequence")))
    which = [c for c in ("<&-", ">&-", "2>&-") if random.random() < 0.5]
    full = random.random() < 0.4
    if full:
        which = [w for w in which if w == "<&-"] + [">/dev/full"]
    if random.random() < 0.3:
        which = [w for w in which if w != "2>&-"] + ["2>/dev/full"]
    result = t.train("-j", "2", wrap=("sh", "-c", 'exec "$@" ' + " ".join(which), "sh"))
    unprinted = full or ">&-" in which  # the table cannot be printed, and nothing else is lost by it
    if unprinted and result.code != 1:
        raise Failure(f"the table cannot be printed with {' '.join(which)}, and the exit code is {result.code}")
    if not unprinted and result.code != 0:
        raise Failure(f"with {' '.join(which)}: exit code {result.code} {result.tail()}")
    for path in (t.place / "out").rglob("*"):
        if path.is_file() and path.name.endswith(".lock") and path.stat().st_size > 100:
            raise Failure(f"{path.relative_to(t.place)} holds what was meant for the terminal")
    t.restart_and_judge(base.name, note=f"after a start with {' '.join(which) or 'nothing closed'}: ")
    for arguments in (("compare", "out/study", "--json"), ("compare", "out/study"), ("schema",), ("list", "keys"), ("--help",),
                      ("--config", "study.json", "--dry-run"), ("params", "--d-model", "8", "--d-ff", "16")):
        if random.random() < 0.3:
            with open("/dev/full", "w") as device:
                if t.run(*arguments, stdout=device).code == 0:
                    raise Failure(f"`{' '.join(arguments)} > /dev/full` ends with 0")
