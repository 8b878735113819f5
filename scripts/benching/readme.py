"""The README's table of speeds: the rows of RESULTS.md that a reader wants first, instruction sets side by side."""
from .instruction_sets import INSTRUCTION_SETS, RIVALS, ROOT
from .results import HEADER, markdown_table, split_sections

README, RESULTS = ROOT / "README.md", RIVALS / "RESULTS.md"
BEGIN, END = "<!-- scripts/bench-vs-pytorch writes from here -->", "<!-- to here -->"
# Work and beginning of a rival's name in RESULTS.md, and what the README calls it.
ROWS = [
    ("xor-study", "PyTorch, one run after the other", "240 XOR runs, 2,000 steps each; PyTorch: one run after the other *"),
    ("xor-study", "the same in two processes (", "the same; PyTorch in two processes *"),
    ("xor-study", "PyTorch, stacked by hand", "the same; PyTorch with runs stacked by hand into one program"),
    ("xor-study", "the same in two processes", "the same; two such programs"),
    ("block-study", "PyTorch, one run after the other", "24 runs of an attention + FFN block, d_model 32; PyTorch: one run after the other"),
    ("block-study", "the same in two processes", "the same; PyTorch in two processes"),
    ("xor-run", "PyTorch, 1 thread", "one XOR run, per step"),
    ("char", "PyTorch", "character model, 4 blocks, d_model 128, per step"),
    ("char-all", "PyTorch", "the same, every core"),
    ("char-all", "ffn-train --threads 1", "the same, ours on every core and on one"),
    ("block256", "PyTorch", "one attention + FFN block, d_model 256, per step"),
    ("block256-all", "PyTorch", "the same, every core"),
    ("block256-all", "ffn-train --threads 1", "the same, ours on every core and on one"),
    ("moe", "PyTorch, loop over experts, each on the tokens of its mask", "mixture of 8 experts, d_model 64, 512 tokens, forward + backward"),
]


def rows_of(section):
    """The first table of a section, as dictionaries."""
    table = []
    for line in section[section.index("| " + HEADER[0]) :].splitlines():
        if not line.startswith("|"):
            break
        table.append([cell.strip() for cell in line[1:-1].split("|")])
    return [dict(zip(table[0], row)) for row in table[2:]]


def find(rows, work, rival):
    of_work = [row for row in rows if row["work"] == work]
    exact = [row for row in of_work if row["rival"] == rival]
    return next(iter(exact + [row for row in of_work if row["rival"].startswith(rival)]), None)


def of_text(results):
    """The table, from the text of RESULTS.md; an instruction set that it lacks is left out."""
    sections = split_sections(results)
    sets = [isa for isa in reversed(list(INSTRUCTION_SETS.values())) if isa.title in sections]
    measured = {isa.title: rows_of(sections[isa.title]) for isa in sets}
    header = ["work", "cores: ours / rival's"]
    for isa in sets:
        header += [f"{isa.title.split(' (')[0]}: ffn-train", "rival", "ratio"]
    table = []
    for work, rival, words in ROWS:
        found = [find(measured[isa.title], work, rival) for isa in sets]
        if not any(found):
            continue
        cores = next(row.get(HEADER[5], "") for row in found if row)
        cells = [[row[HEADER[2]], row[HEADER[4]], row.get(HEADER[6], "")] if row else ["", "", ""] for row in found]
        table.append([words, cores, *(cell for each in cells for cell in each)])
    return markdown_table(header, table)


def with_table(readme, results):
    """README.md with this table between its marks; ValueError where it has none."""
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"README.md has no '{BEGIN}' and '{END}'")
    return f"{before}{BEGIN}\n\n{of_text(results)}\n\n{END}{after}"


def write():
    README.write_text(with_table(README.read_text(encoding="utf-8"), RESULTS.read_text(encoding="utf-8")), encoding="utf-8")
