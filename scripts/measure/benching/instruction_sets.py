"""The instruction sets that can be measured, what holds both sides to them, and on what machine it was."""
import json
import os
import subprocess
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
RIVALS = ROOT / "scripts/measure/rivals"
PYTHON = "/usr/bin/python3"  # the one that Debian's python3-torch is installed for
CORES = len(os.sched_getaffinity(0))
# Prefixes of variables that change how a side computes; a shell may have set them.
CLEARED = ("OMP_", "OPENBLAS_", "MKL_", "FFN_", "ATEN_", "DNNL_", "ONEDNN_", "TORCH", "JAX_", "XLA_")
# Debian's PyTorch has two pools of threads, OpenMP's and OpenBLAS's. While one works the other waits in a loop and takes its
# cores: with two threads on two cores `char` takes twice as long without this (8.5 and 17 s for 60 steps, medians of three in turn).
MANY_THREADS = {"OMP_WAIT_POLICY": "passive"}


@dataclass
class InstructionSet:
    """`name`: as FFN_ISA has it; `flags`: what /proc/cpuinfo says of a processor that has it."""

    name: str
    title: str
    flags: set
    rivals: dict  # environment of PyTorch, OpenBLAS, MKL, oneDNN and XLA
    aten: str  # what PyTorch then says of itself
    note: str


# OpenBLAS goes by the model of the processor, and PyTorch by its own preference: an OpenBLAS 0.3.21 that is older than the
# processor takes AVX2 for it, and a third of its rate. So the rivals are told with AVX-512 as well.
INSTRUCTION_SETS = {
    "v3": InstructionSet(
        "v3", "AVX2 (x86-64-v3)", {"avx2", "fma", "bmi2"},
        {"OPENBLAS_CORETYPE": "Zen", "ATEN_CPU_CAPABILITY": "avx2", "DNNL_MAX_CPU_ISA": "AVX2", "ONEDNN_MAX_CPU_ISA": "AVX2",
         "MKL_ENABLE_INSTRUCTIONS": "AVX2", "XLA_FLAGS": "--xla_cpu_max_isa=AVX2"},
        "AVX2", "Both sides are held to AVX2.",
    ),
    "v4": InstructionSet(
        "v4", "AVX-512 (x86-64-v4)", {"avx512f", "avx512bw", "avx512vl", "avx512dq", "avx512cd"},
        {"OPENBLAS_CORETYPE": "SkylakeX", "ATEN_CPU_CAPABILITY": "avx512"},
        "AVX512", "Both sides are told to use AVX-512; MKL, oneDNN and XLA do so by themselves.",
    ),
}  # fmt: skip


def processor_flags():
    line = next((line for line in open("/proc/cpuinfo") if line.startswith("flags")), "")
    return set(line.split(":", 1)[-1].split())


def available():
    """Names of those that this processor has, the best one last."""
    flags = processor_flags()
    return [name for name, isa in INSTRUCTION_SETS.items() if isa.flags <= flags]


def environment(isa, threads):
    """The environment of every measured process."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(CLEARED)}
    env = {**kept, **isa.rivals, "FFN_ISA": isa.name, "OPENBLAS_NUM_THREADS": str(threads)}
    return env if threads == 1 else {**env, **MANY_THREADS}


def check_held(isa, program, python):
    """Properties of Debian's PyTorch, and the versions of `python`; RuntimeError if a side does not compute with the instruction set."""
    held = environment(isa, 1)
    own = json.loads(output_of(program, "bench", "product", "--json", "--seconds", "0.001", env=held))["kernels"]
    if own != f"x86-64-{isa.name}":
        raise RuntimeError(f"{program} computes with {own} although FFN_ISA={isa.name}; is it older than FFN_ISA?")
    said = json.loads(output_of(PYTHON, RIVALS / "held.py", env=held))
    if (said["aten"], said["openblas"]) != (isa.aten, isa.rivals["OPENBLAS_CORETYPE"]):
        raise RuntimeError(f"the rivals are not held to {isa.title}: ATen says {said['aten']}, OpenBLAS {said['openblas']}")
    newer = json.loads(output_of(python, RIVALS / "held.py", env=held)) if python else None
    if newer and newer["aten"] != isa.aten:
        raise RuntimeError(f"{python} is not held to {isa.title}: ATen says {newer['aten']}")
    said["beside"] = newer["versions"] if newer else "only Debian's PyTorch: no --python was given"
    return said


def output_of(*command, env=None):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, cwd=ROOT, env=env)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return done.stdout.strip()


def value_in(file, key):
    return next((line.split("=" if "=" in line else ":", 1)[1].strip().strip('"') for line in open(file) if line.startswith(key)), "unknown")


def machine_lines(isa, program, said, load_before):
    package = output_of("dpkg-query", "--show", "--showformat=${Package} ${Version}", "python3-torch")
    blas = Path("/etc/alternatives", "libblas.so.3-" + os.uname().machine + "-linux-gnu").resolve().parent.name
    dirty = output_of("git", "status", "--porcelain", "--", ".", ":!scripts/measure/RIVALS-*.md")
    commit = output_of("git", "rev-parse", "--short=12", "HEAD") + (" (dirty)" if dirty else "")
    load = [f"{value:.2f}" for value in (load_before, os.getloadavg()[0])]
    settings = " ".join(f"{key}={value}" for key, value in isa.rivals.items())
    cores = "1 core" if CORES == 1 else f"{CORES} cores"
    caution = "These are figures of the AVX2 code on a processor that has AVX-512, and not of a processor that ends at AVX2: " \
              "clock, caches and ports are those of the former."  # fmt: skip
    many = " ".join(f"{key}={value}" for key, value in MANY_THREADS.items())
    return [
        isa.note + (" " + caution if isa.name == "v3" and "v4" in available() else ""),
        "",
        f"- machine: {value_in('/proc/cpuinfo', 'model name')}, {cores}; {value_in('/etc/os-release', 'PRETTY_NAME')}, kernel {os.uname().release}",
        f"- Debian's PyTorch: {said['versions']} ({package}; BLAS {blas})",
        f"- other rivals: {said['beside']}",
        f"- rivals told by `{settings}`; Debian's PyTorch says {said['aten']}, OpenBLAS {said['openblas']}; those with all cores by `{many}` besides",
        f"- ours: {output_of(program, '--version')}; kernels x86-64-{isa.name} (`FFN_ISA={isa.name}`); repository at {commit}",
        f"- {datetime.now(timezone.utc):%Y-%m-%d %H:%M} UTC; load average {load[0]} before, {load[1]} after",
    ]
