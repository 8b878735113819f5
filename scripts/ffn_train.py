#!/usr/bin/env python3
"""Results of ffn-train in Python: networks as torch.nn.Module, results as pandas tables, answers as dicts.

    import ffn_train
    model = ffn_train.load("runs/text/seed-0")              # the trained network, in eval mode
    logits = model(tokens)                                  # (B, T) int64 → (B, T, classes); vectors (B, width) → (B, classes)
    ffn_train.generate(model, "The ", length=100)           # a text run goes on with the text
    ffn_train.predict(model, "new.csv")                     # a table run: classes, or numbers in the column's unit; also of a DataFrame
    ffn_train.runs("runs")                                  # one row for each run below a directory
    ffn_train.metrics("runs")                               # their learning curves: one row per run, step and metric
    ffn_train.compare("runs/three")["answer"]               # what `ffn-train compare --json` says
    ffn_train.judge(frame, by="act", seed="seed", metric="val_loss")  # the same of runs that another trainer made: a DataFrame, rows or a file
    ffn_train.figures("runs/three", out="paper")            # its charts as PDF, SVG or PGF, and as figures of matplotlib to restyle

    scripts/ffn_train.py RUN                                prints the network of a run

Networks need torch 1.13 or later (Debian: python3-torch), runs() and metrics() pandas, compare(), judge() and figures()
the program, and figures() matplotlib; the rest needs none of them.
load() holds the weights against their checksum if there is xxhash (python3-xxhash); `ffn-train check` does so with every file. Networks are
in ffn_train_networks.py, figures in ffn_train_figures.py.
"""
import html
import json
import re
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

try:
    import xxhash
except ImportError:
    xxhash = None

class RunError(ValueError):
    """A run that cannot be read, with the file and the reason."""

# ---- files

def read_json(path):
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RunError(f"{path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise RunError(f"{path}: {error}") from None
    if not isinstance(value, dict):
        raise RunError(f"{path}: no JSON object")
    return value


# Errors from reading JSON that the program did not write.
NOT_OURS = (KeyError, TypeError, ValueError, AttributeError, IndexError, ZeroDivisionError)


def unlike(file, error):
    return f"{file}: no key {error}" if isinstance(error, KeyError) else f"{file}: {error}"


def flat(value, prefix=""):
    """{"a": {"b": 1}} → {"a.b": 1}"""
    if not isinstance(value, dict):
        return {prefix: value}
    return {k: v for key, inner in value.items() for k, v in flat(inner, f"{prefix}.{key}" if prefix else key).items()}


# ---- checksums

def check_as_trained(record, path):
    """The file's size and checksum are those that the run's record lists."""
    facts = record["summary"]["files"].get(path.name)
    if facts is None:
        raise RunError(f"{path.parent} kept no {path.name} (its config has keep: {record['config'].get('keep', 'all')})")
    data = path.read_bytes()
    if len(data) != facts["bytes"]:
        problem = f"{len(data)} bytes instead of {facts['bytes']}"
    elif xxhash is None:
        warn(f"{path} is not held against its checksum, for which Python's xxhash is missing (Debian: python3-xxhash)")
        return
    elif f"xxh3:{xxhash.xxh3_128_hexdigest(data)}" != facts["checksum"]:
        problem = "its checksum is not that of run.json"
    else:
        return
    raise RunError(f"{path}: damaged: {problem}; the command that trained the run trains it again")


def named_directory(path):
    """The directory that is meant by a path without the identity: runs/xor/seed-0 → runs/xor/seed-0.1a2b3c4d."""
    path = Path(path)
    if path.exists():
        return path
    found = sorted(p for p in path.parent.glob(path.name + ".*") if re.fullmatch("[0-9a-f]{8}", p.name[len(path.name) + 1:]))
    if len(found) > 1:
        raise RunError(f"{path} may be any of {len(found)} runs, of different configs: {', '.join(map(str, found))}")
    return found[0] if found else path


def read_record(run):
    """run.json of a run's directory, whose name ends in the first digits of the run's identity."""
    record = read_json(run / "run.json")
    name = re.fullmatch(r"seed-.*\.([0-9a-f]{8})", run.absolute().name)
    if name and "identity" in record and not str(record["identity"]).startswith(name[1]):
        raise RunError(f"{run / 'run.json'}: of another run (identity {record['identity']})")
    return record

# ---- tables

def warn(text):
    """Seen from the line that called these files."""
    level, frame = 1, sys._getframe()
    while frame and Path(frame.f_code.co_filename).stem.startswith("ffn_train"):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, stacklevel=level)


NO_OTHER_RUN = {"seed", "name", "label", "keep", "train.checkpoint_every", "log.layers"}  # config keys that do not make another variant


def listed_runs(study):
    """Directories of the runs that belong to a study: those that its study.json lists. None where it cannot be read."""
    try:
        content = read_json(study / "study.json")
        listed = [study / variant["name"] / f"seed-{seed}.{identity[:8]}" for variant in content["variants"]
                  for seed, identity in zip(content["seeds"], variant["identities"])]
    except (RunError, KeyError, TypeError) as error:
        problem = error if isinstance(error, RunError) else f"{study / 'study.json'}: no study's file"
        warn(f"{problem}; every run below it is taken (starting the study once more writes the file again)")
        return None
    # One that is not there may be under the name that its variant had before the sweep gained or lost a key.
    places = {path.name: path for path in study.glob("*/seed-*") if path not in set(listed)} if any(not path.is_dir() for path in listed) else {}
    return [path if path.is_dir() else places.get(path.name, path) for path in listed]


def some(paths):
    return ", ".join(map(str, paths[:5])) + (", …" if len(paths) > 5 else "")


def in_order(paths):
    """seed-10 behind seed-9"""
    return sorted(paths, key=lambda path: [[int(p) if p.isdigit() else p for p in re.split(r"(\d+)", part)] for part in path.parts])


def find_runs(directory, all=False):
    """Directories of runs at and below one, without earlier results (NAME.old-1) and damaged runs.

    Left out unless `all`: those that tune a study, and with a warning runs that its study.json does not list. Warns of runs that a study lacks.
    """
    directory = named_directory(directory)
    if not directory.is_dir():
        raise RunError(f"no directory {directory}")
    found, extra, stack = [], [], [(directory, None)]
    while stack:
        path, around = stack.pop()  # around: the runs of the study that this lies in
        if (path / "run.json").exists():
            (found if around is None or path in around else extra).append(path)
            continue
        is_study = (path / "study.json").exists()
        if is_study and (listed := listed_runs(path)) is not None:
            around = set(listed)
            if lost := [run for run in listed if not run.is_dir()]:
                warn(f"{len(lost)} runs are not there, but listed in {path / 'study.json'}: {some(lost)}")
        stack += [(child, around) for child in path.iterdir() if child.is_dir() and not re.search(r"\.(old|damaged|tmp)-", child.name)
                  and (all or not (is_study and child.name == "tuning"))]
    if all:
        return in_order(found + extra)
    if extra:
        warn(f"{len(extra)} of {len(found + extra)} runs left out, no part of the study (study.json): {some(in_order(extra))}; all=True takes them in")
    return in_order(found)


def number(value):
    """Numbers that are not finite are texts in the files: "nan", "inf", "-inf"."""
    if isinstance(value, (list, dict)):
        raise TypeError("a list or an object in the place of a number")
    return float(value) if isinstance(value, str) else value


def read_runs(directory, all):
    """→ (directory of a run, the columns that identify it, summary). Runs that cannot be read are named and left out."""
    runs = []
    for path in find_runs(directory, all):
        file = path / "run.json"
        try:
            record = read_record(path)
            if not isinstance(record["state"], str):
                raise TypeError("its state is no text")
            runs.append((path, flat(record["config"]), record, summary_columns(record["summary"] or {}, file)))
        except (RunError, *NOT_OURS) as error:
            warn(f"left out: {error if isinstance(error, RunError) else unlike(file, error)}")
    keys = dict.fromkeys(key for _, config, _, _ in runs for key in config if key not in NO_OTHER_RUN)
    varying = [key for key in keys if len({json.dumps(config.get(key)) for _, config, _, _ in runs}) > 1]
    for path, config, record, summary in runs:
        columns = {"run": str(path), "seed": config.get("seed"), "state": record["state"]}
        columns["label"] = config.get("label", "")
        yield path, {**columns, **{key: config.get(key) for key in varying}}, summary


def summary_columns(summary, file):
    """The columns of a run's summary."""
    try:
        row = {key: summary.get(key) for key in ("steps", "parameters", "active_parameters", "flops_per_token", "train_seconds")}
        row["hit_step"] = (summary.get("hit") or {}).get("step")
        for metric, value in summary.get("metrics", {}).items():
            final = number(value["final"])  # of a run that diverged the last one before: compare has no value of it, either
            row[metric] = float("nan") if summary.get("end") == "diverged" else final
            row[f"best {metric}"] = number(value["best"])
            row[f"best step {metric}"] = value["best_step"]
        return row
    except NOT_OURS as error:
        raise RunError(unlike(file, error)) from None


def runs_as_dicts(directory, all=False):
    """runs() without pandas: a list of dicts."""
    return [{**row, **summary} for _, row, summary in read_runs(directory, all)]


def runs(directory, all=False):
    """A DataFrame with a row for each run at and below a directory: run (its directory, for load()), seed, state, label, the config keys
    in which the runs differ, costs, hit_step, and of each metric the final value ("val/loss"; NaN of a run that diverged) and the
    best ("best val/loss").

    Of a study, its runs: others in its directory (of another config or sweep under its name) are left out with a warning, its tuning
    runs without one. all=True takes the others in.
    """
    import pandas

    return pandas.DataFrame(runs_as_dicts(directory, all))


def metrics(directory, all=False):
    """The learning curves of the same runs as a tidy DataFrame: run, seed, state, label, the config keys in which they differ,
    step, metric, value."""
    import pandas

    rows = []
    for path, row, _ in read_runs(directory, all):
        if not (path / "metrics.jsonl").exists():  # keep: summary
            continue
        try:
            lines = (path / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
            entries = [json.loads(line) for line in lines]
            rows += [{**row, "step": entry["step"], "metric": name, "value": number(value)}
                     for entry in entries for name, value in entry.items() if "/" in name]
        except (OSError, RecursionError, *NOT_OURS) as error:
            warn(f"left out: {unlike(path / 'metrics.jsonl', error)}")
    return pandas.DataFrame(rows)


def compare(*words, program="ffn-train"):
    """The JSON of `ffn-train compare WORDS --json` as a Judgement, such as compare("runs/three", "--metric", "val/loss"). `program` is looked for on the path,
    then beside this Python. Raises RunError with what the program says."""
    return Judgement(program_json(program, "compare", *words))


class Judgement(dict):
    """What `ffn-train compare --json` or `judge --json` says; printed it is the answer in words, and in a notebook also its numbers."""

    @property
    def verdicts(self):
        return [{**facet["keys"], **pair} for facet in self["facets"] for pair in facet["pairs"]]

    def __str__(self):
        return self["answer"]

    def _repr_html_(self):
        def cells(tag, values):
            return "<tr>" + "".join(f"<{tag}>{html.escape(str(value))}</{tag}>" for value in values) + "</tr>"
        keys = list(self["facets"][0]["keys"])
        rows = [cells("td", [*(pair[key] for key in keys), pair["value"], pair["reference"], pair["verdict"], pair["sentence"].partition(": ")[2]]) for pair in self.verdicts]
        notes = "".join(f"<li>{html.escape(note)}</li>" for note in self["notes"])
        return (f"<p>{html.escape(self['answer'])}</p><table>{cells('th', [*keys, self['by'], 'reference', 'verdict', self['metric']])}{''.join(rows)}</table>"
                f"<ul>{notes}</ul>")


def judge(runs, by=None, seed=None, metric=None, *words, record=None, program="ffn-train", **options):
    """Verdicts on runs that another trainer made, as a Judgement. `runs`: a DataFrame or a list of dicts with a row for each run, or a file.
    Columns that are not named are inferred. Further options as `ffn-train judge` has them: judge(frame, facet="size", min_effect=0.001,
    higher=True). A file's looks are recorded beside it, those of a DataFrame in the directory `record` if there is one.
    """
    options = {"by": by, "seed": seed, "metric": metric, "out": record, **options}
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        for one in value if isinstance(value, (list, tuple)) else [value]:
            words += (flag,) if one is True else () if one in (None, False) else (flag, one)
    if isinstance(runs, (str, Path)):
        return Judgement(program_json(program, "judge", runs, *words))
    rows = runs.to_dict("records") if hasattr(runs, "to_dict") else runs
    text = "\n".join(json.dumps({str(key): plain(value) for key, value in row.items()}) for row in rows)
    return Judgement(program_json(program, "judge", "-", *words, input=text + "\n"))


def plain(value):
    """A cell as JSON has it: numbers of NumPy as Python's; what is missing as null."""
    value = value.item() if hasattr(value, "item") else value
    return value if value is None or isinstance(value, (bool, int, float, str)) else None if str(value) in ("<NA>", "NaT") else str(value)


def program_json(program, *words, **options):
    command = [shutil.which(program) or str(Path(sys.executable).parent / program), *map(str, words), "--json"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, **options)
    except OSError as error:
        raise RunError(f"cannot start {program} ({error.strerror}): put its directory on the PATH, or name the program with program=") from None
    if done.returncode not in (0, 5):  # 5: a claim that does not hold
        raise RunError(done.stderr.strip())
    return json.loads(done.stdout)


def __getattr__(name):
    """Networks, with torch, and figures, with matplotlib, once they are asked for."""
    if name.startswith("__"):
        raise AttributeError(name)
    if name == "figures":
        from ffn_train_figures import figures

        return figures
    import ffn_train_networks

    return getattr(ffn_train_networks, name)


def main(arguments):
    if len(arguments) != 1 or arguments[0].startswith("-"):
        sys.exit("usage: ffn_train.py RUN     prints the network of a run, for example runs/xor/seed-0")
    import ffn_train  # as networks know it: this file is __main__

    try:
        model = ffn_train.load(arguments[0])
    except ffn_train.RunError as error:
        sys.exit(f"ffn_train.py: {error}")
    print(model)
    print(f"{sum(p.numel() for p in model.parameters()):,} parameters")


if __name__ == "__main__":
    main(sys.argv[1:])
