"""Pages of searches: what the program says of them, and a picture of the verdicts."""
import json
import os
import re
import shlex
import subprocess

# Title, config below experiments/, changes.
SEARCHES = [("What does a search find?", "search-facts", [])]


def picture(found, path):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    tasks = found["judgement"]
    layers = [row["layer"] for row in tasks[0]["layers"]]
    figure, axes = plt.subplots(1, len(tasks), figsize=(3.1 * len(tasks), 0.9 + 0.4 * len(layers)), sharey=True, squeeze=False)
    for axis, task in zip(axes[0], tasks):
        for row in task["layers"]:
            if "ratio" in row:
                x, (low, high), y = row["ratio"], row["interval"], layers.index(row["layer"])
                axis.errorbar(x, y, xerr=[[x - low], [high - x]], fmt="o" if task["seen"] else "s", mfc=None if task["seen"] else "white", color="C0", capsize=3)
        axis.axvline(1, color="gray", lw=1)
        axis.set(xscale="log", title=task["task"].split()[0] + ("" if task["seen"] else " (unseen)"), xlabel=f"loss / loss of {found['reference']}")
        axis.set_yticks(range(len(layers)), layers)
    figure.tight_layout()
    figure.savefig(path, dpi=90, metadata={"Software": None})


def page(program, root, out, pages, number, title, config, changes, jobs):
    """Searches, or finds it done; writes NN-title.png and returns the page's name and text."""
    command = [program, "search", f"experiments/{config}.json", *changes, "-o", str(out), *jobs, "-q"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, env={**os.environ, "COLUMNS": "170"})
    if done.returncode:
        raise SystemExit(f"{config}: exit code {done.returncode}\n{done.stderr}")
    found = json.loads((out / config.rpartition("/")[2] / "search.json").read_text())
    name = f"{number:02}-" + re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
    picture(found, pages / f"{name}.png")
    subprocess.run([program, "report", str(out / found["search"]), "-o", str(pages / f"{name}.html")], cwd=root, capture_output=True)
    said, _, tables = done.stdout.partition("\n\n")
    sentences = re.sub(r"\n  +", " ", said).split("\n")
    text = f"# {number}. {title}\n\n`{shlex.join(['ffn-train', 'search', f'experiments/{config}.json', *changes])}`\n\n"
    text += f"![Loss of the judged layers against {found['reference']}, by task]({name}.png)\n\n" + "\n\n".join(sentences) + "\n\n"
    return name, text + "```\n" + tables.rstrip() + "\n```\n"
