"""The table of RIVALS-v3.md and RIVALS-v4.md."""
import statistics

HEADER = ["work", "bar", "ours", "rival", "rival's time", "cores: ours / rival", "ratio (range over rounds)", "without compilation", "met",
          "loss ours: mean, median", "loss rival: mean, median"]  # fmt: skip
INTRODUCTION = """Written by `scripts/measure/against-rivals`. Whole processes in turn, medians; ratio: rival's time / ours. Cores: threads, or processes × threads.
Compilation (`torch.compile`, JAX's `jit`) is part of a process's time, but not of a time per step. A loss is the final validation loss, mean and
median over runs; seeds draw other numbers on every side, so losses agree in size, not in digits."""


def duration(seconds):
    for factor, unit in ((1, "s"), (1e3, "ms")):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}" if seconds < 100 else f"{seconds:.0f} s"
    return f"{seconds * 1e6:.3g} µs"


def verdict(met):
    return "yes" if met else "NO"


def mean_and_median(values):
    """Both, where they can differ."""
    mean = f"{statistics.fmean(values):.3g}"
    return mean if len(values) < 3 else f"{mean}, {statistics.median(values):.3g}"


def loss_cell(losses):
    """Over all runs of a side; {variant: [loss of each run]}"""
    pooled = [loss for values in (losses or {}).values() for loss in values]
    return mean_and_median(pooled) if pooled else ""


def table_rows(workload, seconds, losses, compile_s):
    ours = seconds[id(workload.ours)]
    ours_text = duration(statistics.median(ours))
    rows = []
    for rival in workload.rivals:
        theirs = seconds[id(rival)]
        value = statistics.median(theirs) / statistics.median(ours)
        paired = [b / a for a, b in zip(ours, theirs)]
        time, without, compiling = duration(statistics.median(theirs)), "", statistics.median(compile_s[id(rival)])
        if compiling:
            time += f", compilation {duration(compiling)}"
            if not rival.fewer_steps:
                without = f"{statistics.median(b - c for b, c in zip(theirs, compile_s[id(rival)])) / statistics.median(ours):.3g}"
        rows.append([workload.name, f"≥ {rival.bar:g}×" if rival.bar else "for information", ours_text, rival.label,
                     time, f"{workload.ours.cores()} / {rival.cores()}",
                     f"{value:.3g} ({min(paired):.3g}–{max(paired):.3g})", without, verdict(value >= rival.bar) if rival.bar else "",
                     loss_cell(losses.get(id(workload.ours))), loss_cell(losses.get(id(rival)))])  # fmt: skip
    return rows


def failed_row(workload):
    return [workload.name, "", "failed", *[""] * 5, "NO", "", ""]


def markdown_table(header, rows):
    return "\n".join("| " + " | ".join(row) + " |" for row in [header, ["---"] * len(header), *rows])
