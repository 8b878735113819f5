"""Power cuts and disks that fail.

A study is trained once while the shim writes down every change that it asks of the disk. From that record follow the states
in which a power cut at any moment could leave the disk: what was flushed is there; of the rest, each write may be lost or
torn and each change of a directory may be missing. Two kinds of file system are played: one that keeps the order of
directory changes (ext4, XFS, btrfs) and one that promises nothing (POSIX). Each state is built, and the program is started
on it: what it had called finished must not be trained again; anything else it must bring to the undisturbed bits.
"""
import errno
import os
import pathlib
import threading

from torturing.bench import Failure, Try, born


class Record:
    """The shim's log as changes to inodes."""

    def __init__(self, log, root):
        self.inodes = 1  # 0 is the root's own directory
        self.root = str(root)
        self.names = {self.root: 0}  # live paths → inode
        self.directories = {0}
        self.changes = []
        data = log.read_bytes()
        at = 0
        while at < len(data):
            end = data.index(b"\n", at)
            operation, path, other, length = data[at:end].decode("utf-8", "surrogateescape").split("\t")
            at = end + 1 + int(length)
            self.take(operation, path, other, data[end + 1:at])

    def new(self, path):
        inode, self.inodes = self.inodes, self.inodes + 1
        self.names[path] = inode
        return inode

    def entry(self, path, inode, and_also=()):
        parent = self.names.get(os.path.dirname(path))
        if parent is not None:
            self.changes.append(("entries", parent, ((os.path.basename(path), inode), *and_also)))

    def take(self, operation, path, other, data):
        path, other = os.path.normpath(path), other and (os.path.normpath(other) if operation == "rename" else other)
        if operation == "mkdir":
            inode = self.new(path)
            if path != self.root:
                self.directories.add(inode)
                self.entry(path, inode)
            else:
                self.names[path] = 0
        elif operation == "create":
            self.entry(path, self.new(path))
        elif operation == "write" and path in self.names:
            self.changes.append(("write", self.names[path], int(other), data))
        elif operation == "truncate" and path in self.names:
            self.changes.append(("truncate", self.names[path], int(other)))
        elif operation == "fsync" and path in self.names:
            self.changes.append(("flush", self.names[path]))
        elif operation == "unlink" and path in self.names:
            self.names.pop(path)
            self.entry(path, None)
        elif operation == "rename" and path in self.names:
            inode = self.names.pop(path)
            if inode in self.directories:
                for name in [n for n in self.names if n.startswith(path + "/")]:
                    self.names[other + name[len(path):]] = self.names.pop(name)
            self.names[other] = inode
            if os.path.dirname(path) == os.path.dirname(other):
                self.entry(other, inode, ((os.path.basename(path), None),))
            else:
                self.entry(path, None)
                self.entry(other, inode)

    def state_after(self, count, ordered, random, root):
        """Builds below `root` a possible state of the disk after `count` changes."""
        flushed_until = {}  # inode → the last flush of it among these
        for number, change in enumerate(self.changes[:count]):
            if change[0] == "flush":
                flushed_until[change[1]] = number
        directory_changes = [n for n in range(count) if self.changes[n][0] == "entries"]
        safe = [n for n in directory_changes if n < flushed_until.get(self.changes[n][1], -1)]
        if ordered:  # a flush of any directory commits every change before it
            last = max((f for inode, f in flushed_until.items()), default=-1)
            loose = [n for n in directory_changes if n > last]
            kept = {n for n in directory_changes if n <= last} | set(loose[:random.randint(0, len(loose))])
        else:
            keep = random.choice((0, 0.5, 0.9, 1))
            kept = set(safe) | {n for n in directory_changes if random.random() < keep}
        keep_data = random.choice((0, 0, 0.5, 1))
        entries, content = {}, {}
        for number, change in enumerate(self.changes[:count]):
            kind, inode = change[0], change[1]
            if kind == "entries":
                if number in kept:
                    for name, target in change[2]:
                        if target is None:
                            entries.setdefault(inode, {}).pop(name, None)
                        else:
                            entries.setdefault(inode, {})[name] = target
            elif kind == "flush":
                continue
            elif number < flushed_until.get(inode, -1) or random.random() < keep_data:
                file = content.setdefault(inode, bytearray())
                if kind == "truncate":
                    del file[change[2]:]
                    file.extend(bytes(change[2] - len(file)))
                else:
                    data = change[3] if number < flushed_until.get(inode, -1) or random.random() < 0.8 else change[3][:random.randrange(len(change[3]) + 1)]
                    file.extend(bytes(max(0, change[2] - len(file))))
                    file[change[2]:change[2] + len(data)] = data
        self.build(0, pathlib.Path(root), entries, content)

    def build(self, inode, path, entries, content):
        path.mkdir()
        for name, target in entries.get(inode, {}).items():
            if target in self.directories:
                if not (path / name).exists():
                    self.build(target, path / name, entries, content)
            else:
                (path / name).write_bytes(bytes(content.get(target, b"")))


records = {}
recording = threading.Lock()


def record_of(t, study, jobs):
    """The changes of an undisturbed study; of one that was resumed, too."""
    key = (study, jobs)
    with recording:
        if key in records:
            return records[key]
        base = t.bench.undisturbed(study)
        place = base.place / f"power-{jobs}"
        place.mkdir()
        log = base.place / f"power-{jobs}.log"
        work = Try(t.bench, "power", 0, base.place)
        result = work.run("--config", "study.json", "-o", place.name + "/out", "-q", "-j", jobs, limit=60,
                          environment={"LD_PRELOAD": t.bench.shim, "FFN_SHIM_ROOT": str(place), "FFN_SHIM_LOG": str(log)})
        if result.code != 0:
            raise Failure(f"under the shim: {result.tail()}")
        records[key] = Record(log, place)
        if len(records[key].changes) < 50:
            raise Failure(f"the shim wrote down {len(records[key].changes)} changes only; is the program linked statically?")
    return records[key]


def power(t, random):
    """A power cut after a random change, on a file system that keeps the order of directory changes or one that does not."""
    study = random.choice(("xor", "tiny", "sequence"))
    record = record_of(t, study, random.choice(("1", "2")))
    total = len(record.changes)
    count = total if random.random() < 0.25 else random.randint(1, total)
    ordered = random.random() < 0.5
    t.take(study)
    disk = t.place / "disk"
    record.state_after(count, ordered, random, disk)
    if (disk / "out").exists():
        (disk / "out").rename(t.place / "out")
    t.note = f"power cut after change {count} of {total}, {'ordered' if ordered else 'unordered'} directory changes"
    wanted = t.bench.undisturbed(study).runs
    kept = {run: born(t.place / "out" / run / "run.json") for run in wanted} if count == total else {}
    try:
        t.restart_and_judge(study)
        if again := [run for run, before in kept.items() if before is None or born(t.place / "out" / run / "run.json") != before]:
            raise Failure(f"the study had ended, and {again[0]} was trained again ({len(again)} such)")
    except Failure as failure:
        raise Failure(f"{t.note}: {failure}") from None


KINDS = (("write", 60), ("fsync", 40), ("rename", 40), ("open", 60), ("read", 40), ("mkdir", 12), ("unlink", 8), ("close", 60))
ERRORS = ("EIO", "ENOSPC", "EDQUOT", "EROFS", "EACCES", "EMFILE", "ESTALE")


def faults(t, random):
    """The n-th request of a kind fails, once or from then on; then the disk is well again."""
    kind, most = random.choice(KINDS)
    n = random.randint(1, most)
    for_ever = random.random() < 0.3
    error = random.choice(("EIO", "EIO", *ERRORS))
    study, state = random.choice(("xor", "tiny", "sequence")), random.choice(("none", "half", "finished"))
    t.take(study, state)
    finished = {}
    if state == "finished":
        finished = {p: born(p) for p in (t.place / "out").rglob("model.safetensors")}
    t.note = f"{kind} number {n}{' and all after it' if for_ever else ''}: {error}, study {state}"
    environment = {"LD_PRELOAD": t.bench.shim, "FFN_SHIM_ROOT": str(t.place / "out"),
                   "FFN_SHIM_FAIL": f"{kind}:{n}{'+' if for_ever else ''}:{getattr(errno, error)}"}
    try:
        result = t.train("-j", random.choice(("1", "2")), environment=environment)
        if result.code not in (0, 1, 2, 3, 4, 75):
            raise Failure(result.tail())
        if result.code != 0 and not result.err.strip():
            raise Failure(f"exit code {result.code} without a word")
        if result.code == 0:
            t.same_bits(study)
        t.restart_and_judge(study)
        for path, before in finished.items():
            if born(path) != before:
                raise Failure(f"the intact finished run {path.parent.relative_to(t.place)} was {'trained again' if path.exists() else 'lost'}")
    except Failure as failure:
        raise Failure(f"{t.note}: {failure}") from None
