"""Kills, starts at once, stops, machines that sleep, directories that vanish."""
import os
import shutil
import signal
import time

from torturing.bench import Failure, children_of, kill_group


def signal_worker(worker, name):
    """Nothing if it has ended by itself."""
    try:
        os.kill(worker, name)
    except ProcessLookupError:
        pass


def kill(t, random):
    """SIGKILL at random moments for the parent, a worker or all of them, until the study gets through."""
    base = t.take("long")
    jobs = random.choice((1, 2, 3))
    for _ in range(random.randint(1, 5)):
        process = t.start("--config", "study.json", "-o", "out", "-q", "-j", jobs)
        time.sleep(random.uniform(0.002, base.seconds * 0.7))
        target = random.choice(("parent", "worker", "worker", "group"))
        workers = children_of(process.pid)
        if target == "parent":
            process.kill()
        elif target == "worker" and workers:
            signal_worker(random.choice(workers), signal.SIGKILL)
        else:
            kill_group(process)
        t.kills = getattr(t, "kills", 0) + 1
        result = t.end(process, limit=30, killed=True)
        if result.code not in (0, 4, -9, 137):  # 4: a worker was killed twice over the same runs
            raise Failure(f"after the kill of its {target}: {result.tail()}")
        wait_for_orphans(workers, t)
    t.restart_and_judge("long")


def wait_for_orphans(workers, t):
    """Workers whose parent died checkpoint and end by themselves."""
    deadline = time.monotonic() + 10 * t.bench.patience
    for worker in workers:
        while is_alive(worker):
            if time.monotonic() > deadline:
                raise Failure("a worker outlives its parent by more than 10 s")
            time.sleep(0.01)


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def stop(t, random):
    """Requests to stop, alone and in pairs: 75, or done; and the same command goes on."""
    base = t.take("long")
    for _ in range(random.randint(1, 4)):
        process = t.start("--config", "study.json", "-o", "out", "-q", "-j", random.choice((1, 2)))
        time.sleep(random.uniform(0.002, base.seconds * 0.7))
        name = random.choice((signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP))
        whole = random.random() < 0.5
        (kill_group(process, name) if whole else process.send_signal(name))
        result = t.end(process, limit=30, killed=True)
        if result.code not in (0, 75, -name):  # -name: before it listened
            raise Failure(f"after {name.name} to {'the group' if whole else 'the parent'}: {result.tail()}")
    t.restart_and_judge("long")


def stopped_worker(t, random):
    """A worker that was stopped (Ctrl-Z, a debugger) keeps nobody from ending: not its parent, which is asked to, nor itself, when its parent is killed."""
    base = t.take("long")
    process = t.start("--config", "study.json", "-o", "out", "-q", "-j", "2")
    time.sleep(random.uniform(0.05, base.seconds * 0.5))
    workers = children_of(process.pid)
    asked = random.choice((signal.SIGTERM, signal.SIGKILL))
    try:
        for worker in workers[:random.randint(1, 2)]:
            signal_worker(worker, signal.SIGSTOP)
        process.send_signal(asked)
        result = t.end(process, killed=True)
        wait_for_orphans(workers, t)
    finally:
        for worker in workers:
            signal_worker(worker, signal.SIGCONT)
    if result.code not in (0, 75, -asked):
        raise Failure(f"after {asked.name} with a stopped worker: {result.tail()}")
    t.restart_and_judge("long")


def simultaneous(t, random):
    """Two to six starts of one study at once, some of them killed: every run is trained, in the same bits."""
    base = t.take(random.choice(("xor", "long")))
    processes = []
    for _ in range(random.randint(2, 6)):
        processes.append(t.start("--config", "study.json", "-o", "out", "-q", "-j", random.choice((1, 2))))
        time.sleep(random.choice((0, 0, random.uniform(0, 0.1))))
    victims = [p for p in processes if random.random() < 0.25]
    for victim in victims:
        time.sleep(random.uniform(0, base.seconds))
        kill_group(victim)
    for process in processes:
        result = t.end(process, limit=60, killed=process in victims)
        if process not in victims and result.code != 0:
            raise Failure(f"one of {len(processes)} starts at once: {result.tail()}")
    t.restart_and_judge(base.name)


def sleep(t, random):
    """The machine sleeps for a while: everybody stands still, then goes on."""
    base = t.take("long")
    process = t.start("--config", "study.json", "-o", "out", "-q", "-j", "2")
    time.sleep(random.uniform(0.005, base.seconds * 0.8))
    kill_group(process, signal.SIGSTOP)
    time.sleep(random.uniform(0.2, 1.5))
    kill_group(process, signal.SIGCONT)
    result = t.end(process, limit=30)
    if result.code != 0:
        raise Failure(f"after a sleep: {result.tail()}")
    t.same_bits("long")


def vanish(t, random):
    """Directories are removed or moved while the study runs: no wrong result, and the same command ends in the undisturbed bits."""
    base = t.take("long", random.choice(("none", "none", "half")))
    process = t.start("--config", "study.json", "-o", "out", "-q", "-j", random.choice((1, 2)))
    time.sleep(random.uniform(0.01, base.seconds))
    out = t.place / "out"
    choices = [out, out / "study", *(out / "study").glob("*/"), *(out / "study").glob("*/seed-*")]
    target = random.choice([c for c in choices if c.exists()] or [out])
    action = random.choice(("remove", "move", "move and back", "replace"))
    try:
        if action == "remove":
            shutil.rmtree(target, ignore_errors=True)
        else:
            target.rename(t.place / "aside")
            if action == "replace":
                target.mkdir()
            if action == "move and back":
                time.sleep(random.uniform(0, 0.2))
                (t.place / "aside").rename(target)
    except OSError:
        pass
    result = t.end(process, limit=60)
    if result.code not in (0, 1, 3, 4) or (result.code != 0 and not result.err.strip()):
        raise Failure(f"{action} {target.relative_to(t.place)} while it ran: {result.tail()}")
    t.restart_and_judge("long", note=f"after {action} of {target.relative_to(t.place)}: ")
