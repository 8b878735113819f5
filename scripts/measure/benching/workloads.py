"""The timed work: the same by ffn-train and by the scripts in scripts/measure/rivals."""
from dataclasses import dataclass, field, replace
from pathlib import Path

from .instruction_sets import CORES, PYTHON, RIVALS, ROOT


@dataclass
class Side:
    """One way to do the work: commands that start together; "{out}" becomes a fresh directory."""

    label: str
    commands: list
    bar: float = None  # we must be so many times as fast
    threads: int = 1  # of each command
    workers: int = None  # processes of ours, which are one command
    scale: int = 1  # the commands do 1/scale of the work: seconds in loops are multiplied, start-up is not
    fewer_steps: str = None  # per step: the commands run again with this in place of {steps}, the difference counts
    steps: str = None

    def is_script(self):
        return Path(self.commands[0][1]).parent == RIVALS

    def cores(self):
        processes = self.workers or len(self.commands)
        return f"{processes} × {self.threads}" if processes > 1 else str(self.threads)


@dataclass
class Workload:
    name: str
    what: str
    ours: Side
    rivals: list = field(default_factory=list)
    rounds: int = 5


ALL = f"all {CORES} cores"


class Catalogue:
    """The workloads, of their full length or `quick`.

    `python`: an interpreter with scripts/measure/rivals/requirements.txt, for rivals beside Debian's PyTorch.
    """

    def __init__(self, program, quick, python=None):
        self.program, self.quick, self.python = str(program), quick, python

    def all(self):
        return [self.xor_study(), self.xor_once(), self.block_study(), self.char(1), *([self.char(CORES)] if CORES > 1 else [])]

    def ours(self, *args):
        return [self.program, "--quiet", *args]

    def rival(self, script, *args):
        return [PYTHON, str(RIVALS / script), *args]

    def newer(self, bar, again, *others):
        """Rivals that need --python: `again`, which are Debian's PyTorch, as PyTorch 2, and `others`."""
        sides = [replace(side, label=side.label.replace("Debian's PyTorch", "PyTorch 2")) for side in again]
        sides += [replace(other, steps=again[0].steps, fewer_steps=again[0].fewer_steps) for other in others]
        return [replace(side, bar=bar, commands=[[self.python, *c[1:]] for c in side.commands]) for side in sides] if self.python else []

    def steps(self, full):
        return str(full // (10 if self.quick else 1))

    def xor_study(self):
        steps = self.steps(2000)

        def sequential(first, end):
            return self.rival("xor.py", "--steps", steps, "--seeds", first, end)

        def of_widths(script, *more):
            return lambda *expansions: self.rival(script, *more, "--steps", steps, "--expansions", *expansions)

        stacked, ensemble, jax = of_widths("xor_stacked.py"), of_widths("xor.py", "--ensemble"), of_widths("jax_xor.py")
        one = Side("Debian's PyTorch, one run after the other (12 of 240 runs, scaled)", [sequential("0", "1")], bar=100, scale=20)
        two = Side("Debian's PyTorch, one run after the other, two processes (24 of 240 runs, scaled)",
                   [sequential("0", "1"), sequential("1", "2")], scale=10)  # fmt: skip
        rivals = [one, two, Side("Debian's PyTorch, stacked by hand", [stacked("1", "2", "4", "8")], bar=4),
                  Side("Debian's PyTorch, stacked by hand, two processes", [stacked("1", "8"), stacked("2", "4")])]  # fmt: skip
        if CORES > 1:
            rivals.append(Side(f"Debian's PyTorch, stacked by hand, {ALL}", [stacked("1", "2", "4", "8")], threads=CORES))
        study = self.ours("--config", str(ROOT / "experiments/activations.json"), f"train.steps={steps}", "train.target.stop=false", "-o", "{out}",
                          "-j", "2", "--threads", "1")  # fmt: skip
        return Workload(
            "xor-study",
            f"240 XOR runs: 3 activations, 4 widths, 20 seeds, d_model 8, batch 64, {steps} steps; ours with 2 workers",
            Side("ffn-train -j 2", [study], workers=2),
            rivals
            + self.newer(
                10, [rivals[0], *rivals[2:4]],
                Side("PyTorch 2, torch.func over seeds", [ensemble("1", "2", "4", "8")]),
                Side("PyTorch 2, torch.func over seeds, torch.compile (60 of 240 runs, scaled)", [[*ensemble("4"), "--compile"]], scale=4),
                Side("JAX, scan, vmap over seeds", [jax("1", "2", "4", "8")]),
                Side("JAX, scan, vmap over seeds, two processes", [jax("1", "8"), jax("2", "4")]),
            ),
        )

    def xor_once(self):
        steps = self.steps(2000)
        # At the config's rate the loss is exactly 0 long before the end: gradients of nothing, and losses that compare nothing.
        ours = self.ours("--config", str(ROOT / "configs/xor.json"), f"train.steps={steps}", "train.eval_every=10", "train.optimizer.lr=1e-5", "-o", "{out}",
                         "-j", "1", "--threads", "1")  # fmt: skip
        same = ["--activations", "relu", "--expansions", "4", "--seeds", "0", "1", "--steps", steps, "--eval-every", "10", "--lr", "1e-5"]
        pytorch, jax = self.rival("xor.py", *same), self.rival("jax_xor.py", *same)
        debian = Side("Debian's PyTorch, 1 thread", [pytorch], bar=10)
        return Workload(
            "xor-once",
            f"one XOR run, d_model 8, d_ff 32, batch 64, {steps} steps, whole processes; ours with one thread",
            Side("ffn-train --threads 1", [ours]),
            [debian] + self.newer(10, [debian], Side("PyTorch 2, torch.compile", [[*pytorch, "--compile"]]), Side("JAX, scan", [jax])),
        )

    def block_study(self):
        steps = self.steps(500)
        study = self.ours("--config", str(ROOT / "configs/sequence-xor.json"), "task.length=16", "model.d_model=32", "model.norm.kind=layer",
                          "model.ffn.activation=relu,gelu,silu", "seeds=8", "train.batch_size=32", f"train.steps={steps}", "-o", "{out}",
                          "-j", "2", "--threads", "1")  # fmt: skip

        def of_seeds(script, *more):
            return lambda first, end: self.rival(script, *more, "--steps", steps, "--seeds", first, end)

        block, ensemble, jax = of_seeds("block.py"), of_seeds("block.py", "--ensemble"), of_seeds("jax_block.py")
        rivals = [Side("Debian's PyTorch, one run after the other", [block("0", "8")], bar=8),
                  Side("Debian's PyTorch, one run after the other, two processes", [block("0", "4"), block("4", "8")], bar=4)]  # fmt: skip
        return Workload(
            "block-study",
            f"24 runs of one attention + FFN block: 3 activations, 8 seeds, d_model 32, T 16, batch 32, {steps} steps; ours with 2 workers",
            Side("ffn-train -j 2", [study], workers=2),
            rivals
            + self.newer(
                3, rivals,
                Side("PyTorch 2, torch.func over seeds", [ensemble("0", "8")]),
                Side("PyTorch 2, torch.func over seeds, torch.compile", [[*ensemble("0", "8"), "--compile"]]),
                Side("JAX, scan, vmap over seeds", [jax("0", "8")]),
                Side("JAX, scan, vmap over seeds, two processes", [jax("0", "4"), jax("4", "8")]),
                *([Side(f"JAX, scan, vmap over seeds, {ALL}", [jax("0", "8")], threads=CORES)] if CORES > 1 else []),
            ),
            rounds=3,
        )

    def char(self, threads):
        """A step of configs/text.json at another size with as many threads on both sides, and with many threads against one."""
        long, short = ("30", "10") if self.quick else ("200", "20")
        many = "1 thread" if threads == 1 else ALL

        def ours(threads):
            command = self.ours("--config", str(ROOT / "configs/text.json"), "model.blocks=4", "model.d_model=128", "train.batch_size=12", "train.steps={steps}",
                                "-o", "{out}", "-j", "1", "--threads", str(threads))  # fmt: skip
            return Side(f"ffn-train --threads {threads}", [command], threads=threads, steps=long, fewer_steps=short)

        pytorch = self.rival("char.py", "--steps", "{steps}")
        debian = Side(f"Debian's PyTorch, {many}", [pytorch], bar=2 if threads == 1 else None, threads=threads, steps=long, fewer_steps=short)
        rivals = [debian] + self.newer(
            1.5 if threads == 1 else None, [debian],
            Side(f"PyTorch 2, torch.compile, {many}", [[*pytorch, "--compile"]], threads=threads),
            Side(f"JAX, scan, {many}", [self.rival("jax_char.py", "--steps", "{steps}")], threads=threads),
        )  # fmt: skip
        if threads > 1:
            rivals.append(replace(ours(1), bar=1.8 if threads == 2 else None))
        return Workload(
            "char" if threads == 1 else "char-all",
            f"character model, 4 blocks, d_model 128, T 64, batch 12, per step ({long} less {short} steps); both sides with {many}",
            ours(threads),
            rivals,
        )
