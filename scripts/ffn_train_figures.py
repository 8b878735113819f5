"""Figures of a study for papers, with matplotlib: see ffn_train.py, which has figures() by its name.

What is drawn comes from `ffn-train compare --json` and `ffn-train curves --json`; nothing is estimated here. Colours, fonts and sizes are
those of matplotlib.rcParams ("C0" is the reference), so style sheets apply, and what figures() returns can be changed before it is saved.
"""
import itertools
import math
import shutil
from pathlib import Path

import matplotlib
from matplotlib import ticker
from matplotlib.figure import Figure

from ffn_train import RunError, number, program_json, warn

MARKERS, DASHES = "os^DXvP*", ("-", "--", ":", "-.")


def figures(*words, out=None, formats=("pdf",), program="ffn-train"):
    """The charts of a comparison: {name: matplotlib Figure}, such as figures("runs/three")["effects"]. `words` are those of `ffn-train compare`,
    directories first.

    Names: effects (differences from the reference), reached (share of runs at the target), curves-val-loss, …, levels-KEY (the metric over
    a numeric key), runs (every run), cost-parameters, cost-flops, heat-map, ladder. `out`: a directory that they are saved in, once per format
    (pdf, svg, pgf, png). Raises RunError with what the program says.
    """
    tex = matplotlib.rcParams["pgf.texsystem"]
    if out is not None and "pgf" in formats and shutil.which(tex) is None:
        raise RunError(f"formats: pgf is written by {tex}, which is not installed (Debian: texlive-xetex); pdf and svg need no TeX")
    answer = Answer(program_json(program, "compare", *words))
    drawn = {"effects": effects(answer), "reached": reached(answer), "runs": every_run(answer), "heat-map": heat_map(answer), "ladder": ladder(answer),
             "cost-parameters": cost(answer, "parameters", "parameters"), "cost-flops": cost(answer, "flops_per_token", "forward FLOPs per token")}
    for key in answer.numeric_keys():
        drawn[f"levels-{answer.names['keys'][key]}"] = levels(answer, key)
    for metric in dict.fromkeys(metric for metric in (answer.metric, "val/loss") if not answer.is_time or metric != answer.metric):
        try:
            curves = program_json(program, "curves", *itertools.takewhile(lambda word: not str(word).startswith("-"), words), "--by", answer.by, "--metric", metric)
        except RunError as error:  # without curves (keep: summary) the rest is drawn
            warn(f"no learning curves of {metric}: {error}")
        else:
            drawn["curves-" + metric.replace("/", "-")] = learning_curves(answer, curves)
    drawn = {name: figure for name, figure in drawn.items() if figure is not None}
    if out is not None:
        Path(out).mkdir(parents=True, exist_ok=True)
        for name, figure in drawn.items():
            for form in formats:
                figure.savefig(Path(out) / f"{name.replace('/', '-')}.{form}")
    return drawn


class Answer:
    """`compare --json` with what charts ask of it."""

    def __init__(self, json):
        self.json, self.facets, self.names = json, json["facets"], json["names"]
        self.by, self.metric, self.is_time = json["by"], json["metric"], json["metric"].endswith("_to_target")
        self.groups = [(facet, group) for facet in self.facets for group in facet["groups"]]
        values = list(dict.fromkeys(group["value"] for _, group in self.groups))
        self.series = {value: i for i, value in enumerate(values)}

    def style(self, value):
        i = self.series[value]
        return {"color": f"C{i}", "marker": MARKERS[i % len(MARKERS)], "linestyle": DASHES[i % len(DASHES)]}

    def label(self, group):
        bare = group["label"] == group["value"] and is_number(group["value"])
        return f"{self.names['keys'][self.by]} {group['label']}" if bare else group["label"]

    def numeric_keys(self):
        keys = [key for key in self.facets[0]["keys"] if all(is_number(facet["keys"][key]) for facet in self.facets) and len({f["keys"][key] for f in self.facets}) > 1]
        return keys or ([self.by] if len(self.series) > 2 and all(map(is_number, self.series)) else [])

    def panels(self, facets=None):
        """Axes that share y, one per facet: (figure, [(facet, axes)])."""
        facets = facets or self.facets
        columns = len(facets) if len(facets) < 4 else 2 if len(facets) == 4 else 3
        rows = math.ceil(len(facets) / columns)
        figure = Figure(figsize=(max(3.6, 2.9 * columns), 2.6 * rows), layout="constrained")
        axes = figure.subplots(rows, columns, sharey=True, squeeze=False).ravel()
        for ax in axes[len(facets):]:
            ax.remove()
        for facet, ax in zip(facets, axes):
            ax.set_title(facet["title"], fontsize="medium")
        return figure, list(zip(facets, axes))


def is_number(text):
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def estimate(group):
    """(centre, low, high), or None."""
    found = group["estimate"] and tuple(number(group["estimate"][key]) for key in ("centre", "low", "high"))
    return found if found and all(map(math.isfinite, found)) else None


def error_bars(ax, answer, group, x, at, **more):
    centre, low, high = at
    style = {**answer.style(group["value"]), **more}
    ax.errorbar(x, centre, [[centre - low], [high - centre]], capsize=3, **style)


def effects(answer):
    rows = [(facet, pair) for facet in answer.facets for pair in facet["pairs"] if pair["reference"] == answer.json["reference"] and pair["effect"] and math.isfinite(number(pair["effect"]["value"]))]
    if not rows:
        return None
    figure = Figure(figsize=(5, 0.8 + 0.3 * len(rows)), layout="constrained")
    ax = figure.subplots()
    ratios = answer.json["scale"] == "log_ratio"
    shown = math.exp if ratios else float
    for y, (_, pair) in enumerate(rows):
        value, low, high = (number(x) for x in (pair["effect"]["value"], pair["effect"]["interval"]["low"], pair["effect"]["interval"]["high"]))
        style = answer.style(pair["value"])
        decided = pair["verdict"] in ("better", "worse", "no meaningful difference")
        if math.isfinite(low) and math.isfinite(high):
            ax.plot([shown(low), shown(high)], [y, y], color=style["color"])
        ax.plot(shown(value), y, linestyle="none", marker=style["marker"], color=style["color"], fillstyle="full" if decided else "none")
    ax.set_yticks(range(len(rows)), [", ".join(t for t in (facet["title"], pair["label"]) if t) for facet, pair in rows])
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.axvline(1 if ratios else 0, color=matplotlib.rcParams["text.color"], linewidth=0.8)
    if ratios:
        ax.set_xscale("log")
        if ax.get_xlim()[1] < 2 * ax.get_xlim()[0]:  # within a decade it labels minor ticks, with powers
            ax.xaxis.set_major_locator(ticker.MaxNLocator(5, steps=[1, 2, 5, 10]))
            ax.xaxis.set_major_formatter(ticker.FormatStrFormatter("%g"))
            ax.xaxis.set_minor_locator(ticker.NullLocator())
    way = "higher" if answer.json["direction"] == "higher" else "lower"
    ax.set_xlabel(f"{answer.metric}: {'ratio to' if ratios else 'difference from'} {answer.names['reference']}\n{way} is better")
    return figure


def reached(answer):
    facets = [facet for facet in answer.facets if any(group["reached"] for group in facet["groups"])]
    if not facets:
        return None
    figure, panels = answer.panels(facets)
    for facet, ax in panels:
        for group in facet["groups"]:
            if not group["reached"]:
                continue
            style, steps = answer.style(group["value"]), group["reached"]["steps"]
            times = [0, *[step["time"] for step in steps], group["reached"]["follow_up"]]
            shares = [0, *[step["share"] for step in steps]]
            ax.step(times, [*shares, shares[-1]], where="post", color=style["color"], linestyle=style["linestyle"], label=answer.label(group))
            banded = [step for step in steps if "low" in step]
            if banded:
                ax.fill_between([step["time"] for step in banded], [step["low"] for step in banded], [step["high"] for step in banded], step="post", color=style["color"], alpha=0.15, linewidth=0)
        ax.set_xlabel({"flops_to_target": "FLOPs", "seconds_to_target": "seconds"}.get(answer.metric, "steps"))
    panels[0][1].set_ylabel("share of runs at the target")
    panels[0][1].legend()
    return figure


def learning_curves(answer, curves):
    figure, panels = answer.panels(answer.facets)
    positive = True
    for (facet, ax), drawn in zip(panels, curves["facets"]):
        for group, line in zip(facet["groups"], drawn["groups"]):
            points = [{key: number(value) for key, value in point.items()} for point in line["points"]]
            points = [point for point in points if math.isfinite(point["centre"])]
            if not points:
                continue
            style, steps = answer.style(group["value"]), [point["step"] for point in points]
            positive = positive and min(point["centre"] for point in points) > 0
            ax.plot(steps, [point["centre"] for point in points], color=style["color"], linestyle=style["linestyle"], label=answer.label(group))
            ax.fill_between(steps, [point["low"] for point in points], [point["high"] for point in points], color=style["color"], alpha=0.15, linewidth=0)
        ax.set_xlabel("step")
    if curves["metric"].endswith("loss") and positive:
        panels[0][1].set_yscale("log")
    panels[0][1].set_ylabel(curves["metric"])
    panels[0][1].legend()
    return figure


def levels(answer, key):
    figure = Figure(figsize=(4, 3), layout="constrained")
    ax = figure.subplots()
    xs = [float(facet["keys"].get(key, group["value"])) for facet, group in answer.groups]
    for value in [None] if key == answer.by else answer.series:
        points = sorted((float(facet["keys"].get(key, group["value"])), group["label"], group, estimate(group)) for facet, group in answer.groups if estimate(group) and value in (None, group["value"]))
        if not points:
            continue
        group = points[0][2]
        centres = [at[0] for *_, at in points]
        spread = [[at[0] - at[1] for *_, at in points], [at[2] - at[0] for *_, at in points]]
        ax.errorbar([x for x, *_ in points], centres, spread, capsize=3, label=value and answer.label(group), **answer.style(group["value"]))
    if min(xs) > 0 and max(xs) >= 8 * min(xs):
        ax.set_xscale("log", base=2)
    ax.set_xlabel(answer.names["keys"][key])
    ax.set_ylabel(answer.metric)
    if key != answer.by:
        ax.legend()
    return figure


def every_run(answer):
    if max(len(group["each"]) for _, group in answer.groups) < 2:
        return None
    figure, panels = answer.panels()
    for facet, ax in panels:
        for x, group in enumerate(facet["groups"]):
            values = [number(run["value"]) for run in group["each"] if run["value"] is not None]
            style = answer.style(group["value"])
            ax.plot([x] * len(values), values, linestyle="none", marker=style["marker"], color=style["color"], alpha=0.5, markersize=4)
            if estimate(group):
                error_bars(ax, answer, group, x, estimate(group), color=matplotlib.rcParams["text.color"], marker="_", markersize=18)
        lost = [group["diverged"] + group["failed"] for group in facet["groups"]]
        ax.set_xticks(range(len(lost)), [answer.label(group) + (f"\n({n} lost)" if n else "") for group, n in zip(facet["groups"], lost)])
        ax.margins(x=0.2)
    panels[0][1].set_ylabel(answer.metric)
    return figure


def cost(answer, key, label):
    groups = [(facet, group) for facet, group in answer.groups if estimate(group) and group[key] > 0]
    if len({group[key] for _, group in groups}) < 2:
        return None
    figure = Figure(figsize=(4, 3), layout="constrained")
    ax = figure.subplots()
    named = set()
    for _, group in groups:
        error_bars(ax, answer, group, group[key], estimate(group), linestyle="none", label=None if group["value"] in named else answer.label(group))
        named.add(group["value"])
    ax.set_xscale("log")
    ax.xaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    ax.xaxis.set_major_formatter(ticker.EngFormatter(sep=""))
    ax.xaxis.set_minor_formatter(ticker.NullFormatter())
    ax.set_xlabel(label)
    ax.set_ylabel(answer.metric)
    ax.legend()
    return figure


def heat_map(answer):
    keys = list(answer.facets[0]["keys"])
    if len(keys) != 1 or len(answer.facets) < 2 or len(answer.series) < 2:
        return None
    cells = {(group["value"], facet["keys"][keys[0]]): estimate(group) for facet, group in answer.groups}
    rows, columns = list(answer.series), list(dict.fromkeys(facet["keys"][keys[0]] for facet in answer.facets))
    labels = {group["value"]: group["label"] for _, group in answer.groups}
    values = [[(cells.get((row, column)) or (math.nan,))[0] for column in columns] for row in rows]
    figure = Figure(figsize=(1.6 + 0.7 * len(columns), 1 + 0.45 * len(rows)), layout="constrained")
    ax = figure.subplots()
    image = ax.imshow(values, aspect="auto", cmap="Blues" if answer.json["direction"] == "higher" else "Blues_r")
    for r, row in enumerate(values):
        for k, value in enumerate(row):
            if math.isfinite(value):
                dark = (image.norm(value) > 0.6) == (answer.json["direction"] == "higher")
                ax.text(k, r, f"{value:.3g}", ha="center", va="center", color="white" if dark else "black")
    ax.set_xticks(range(len(columns)), [facet["labels"][keys[0]] for facet in answer.facets][:len(columns)])
    ax.set_yticks(range(len(rows)), [labels[row] for row in rows])
    ax.set_xlabel(answer.names["keys"][keys[0]])
    ax.set_ylabel(answer.names["keys"][answer.by])
    figure.colorbar(image, label=answer.metric)
    return figure


def ladder(answer):
    """Left the metric over training FLOPs, with the law and hollow marks for sizes held out; right the differences over the size."""
    found = answer.json.get("ladder")
    if not found:
        return None
    figure = Figure(figsize=(8, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    sizes = {str(size["value"]): size for size in found["sizes"]}
    ratios, ends = answer.json["scale"] == "log_ratio", []
    for i, variant in enumerate(found["variants"]):
        mine = [(sizes[str(facet["keys"][found["key"]])], group) for facet, group in answer.groups if group["value"] == variant["value"] and estimate(group)]
        style = answer.style(variant["value"])
        for size, group in mine:
            error_bars(left, answer, group, size["flops"], estimate(group), linestyle="none", fillstyle="none" if size["held_out"] else "full")
        if found["law"]:
            at = [size["flops"] for size, _ in mine]
            law = [found["law"]["floor"] + math.exp(found["law"]["log_scale"][i] - found["law"]["exponent"] * math.log(flops)) for flops in at]
            left.plot(at, law, color=style["color"], linestyle=style["linestyle"])
        pairs = [(float(facet["keys"][found["key"]]), pair) for facet in answer.facets for pair in facet["pairs"] if pair["value"] == variant["value"] and pair["effect"]]
        shown = [[number(n) for n in (pair["effect"]["value"], pair["effect"]["interval"]["low"], pair["effect"]["interval"]["high"])] for _, pair in pairs]
        shown = [[at[0], *(end if math.isfinite(end) else at[0] for end in at[1:])] for at in shown]  # too few seeds have no interval
        shown = [[100 * math.expm1(n) if ratios else n for n in at] for at in shown]
        spread = [[y - low for y, low, _ in shown], [high - y for y, _, high in shown]]
        right.errorbar([x for x, _ in pairs], [y for y, *_ in shown], spread, capsize=3, label=variant["label"], **style)
        ends.append((shown[-1][0] if shown else 0, variant["label"], style["color"]))
    left.set_xscale("log")
    left.set_xlabel("training FLOPs")
    left.set_ylabel(answer.metric)
    right.set_xscale("log", base=2)
    right.axhline(0, color=matplotlib.rcParams["text.color"], linewidth=0.8)
    right.set_xticks([float(size) for size in sizes], list(sizes))
    right.set_xlabel(answer.names["keys"][found["key"]])
    right.set_ylabel(f"{'percent of' if ratios else 'difference from'} {answer.names['reference']}")
    if len(found["variants"]) <= len(MARKERS):
        right.legend()
    else:  # names at the ends of their lines, apart
        (low, high), at = right.get_ylim(), -1
        for end, label, color in sorted(ends):
            at = max((end - low) / (high - low), at + 0.05)
            right.annotate(label, (1.03, at), xycoords="axes fraction", va="center", fontsize="x-small", color=color)
    return figure
