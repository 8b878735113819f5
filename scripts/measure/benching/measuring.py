"""Runs the sides of a workload in turn: seconds, and the losses that they left or printed."""
import itertools
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

from .instruction_sets import ROOT, environment

# Results stay until the end: ext4 does not give the inodes of deleted files out again for a minute or more, and looks for
# others the longer, so that what is measured after a deletion creates files ten times as slowly.
KEPT = tempfile.TemporaryDirectory(prefix="bench-")
EXPECTATION_NOT_MET = 5  # exit code of a study that ran and whose claim did not hold, as with --quick


def run_together(commands, replace, env, pinned=False):
    """Starts all commands, waits for all: seconds on the clock, and what each printed. `pinned`: to a core each."""
    filled = [[arg.format(**replace) for arg in command] for command in commands]
    if pinned:
        filled = [["taskset", "-c", str(core), *command] for core, command in zip(itertools.cycle(sorted(os.sched_getaffinity(0))), filled)]
    began = time.perf_counter()
    running = [subprocess.Popen(c, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env, cwd=ROOT) for c in filled]
    printed = [process.communicate() for process in running]
    seconds = time.perf_counter() - began
    for process, command, (_, errors) in zip(running, filled, printed):
        if process.returncode not in (0, EXPECTATION_NOT_MET):
            raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}:\n{errors[-2000:]}")
    return seconds, [out for out, _ in printed]


def losses_of_runs(directory):
    """Final validation losses per variant ("relu 4"), from the run directories that we left."""
    losses = {}
    for path in sorted(directory.glob("**/run.json")):
        record = json.loads(path.read_text())
        ffn, final = record["config"]["model"]["ffn"], record["summary"]["metrics"]["val/loss"]["final"]
        losses.setdefault(f"{ffn['activation']} {ffn['expansion']:g}", []).append(final)
    return losses


def losses_of_scripts(reports):
    losses = {}
    for report in reports:
        for variant, values in report.get("val_loss", {}).items():
            losses.setdefault(variant, []).extend(values)
    return losses


class Measuring:
    """Under one instruction set."""

    def __init__(self, isa):
        self.isa = isa

    def once(self, side, steps):
        out = tempfile.mkdtemp(dir=KEPT.name)
        seconds, printed = run_together(side.commands, {"out": out, "steps": steps}, environment(self.isa, side.threads),
                                        pinned=side.threads == 1 and not side.workers)  # fmt: skip
        if not side.is_script():
            return seconds, losses_of_runs(Path(out)), 0
        reports = [json.loads(text.splitlines()[-1]) for text in printed]
        threads = {report["threads"] for report in reports}
        if threads != {side.threads}:
            raise RuntimeError(f"{side.label} had {threads} threads, not {side.threads}")
        loop = max(report["loop_s"] for report in reports)
        return seconds + (side.scale - 1) * loop, losses_of_scripts(reports), side.scale * max(report["compile_s"] for report in reports)

    def side(self, side):
        """(seconds, final validation losses per variant, seconds of compilation: part of the seconds, unless those are per step)"""
        seconds, losses, compile_s = self.once(side, side.steps)
        if side.fewer_steps:
            fewer, _, fewer_compile_s = self.once(side, side.fewer_steps)
            longer = (seconds - compile_s) - (fewer - fewer_compile_s)
            if longer <= 0:
                raise RuntimeError(f"{side.label}: {side.steps} steps took no longer than {side.fewer_steps}; is the machine busy?")
            seconds = longer / (int(side.steps) - int(side.fewer_steps))
        return seconds, losses, compile_s

    def workload(self, workload, rounds, say):
        """Seconds of every round, losses of the last one, and seconds of compilation of every round, by side."""
        sides = [workload.ours, *workload.rivals]
        seconds, losses, compile_s = {id(side): [] for side in sides}, {}, {id(side): [] for side in sides}
        for number in range(rounds):
            for side in sides:
                value, losses[id(side)], compiling = self.side(side)
                seconds[id(side)].append(value)
                compile_s[id(side)].append(compiling)
                say(f"{workload.name} {number + 1}/{rounds}  {side.label}", value)
        return seconds, losses, compile_s
