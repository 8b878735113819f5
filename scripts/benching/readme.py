"""The README's table of speeds: three rows of RESULTS.md, instruction sets side by side."""
from .instruction_sets import INSTRUCTION_SETS, RIVALS, ROOT
from .results import HEADER, markdown_table, split_sections

README, RESULTS = ROOT / "README.md", RIVALS / "RESULTS.md"
BEGIN, END = "<!-- scripts/bench-vs-pytorch writes from here -->", "<!-- to here -->"
# Work and beginning of a rival's name in RESULTS.md, and what the README calls it.
ROWS = [
    ("xor-study", "PyTorch, one run after the other", "240 XOR runs, 2,000 steps each; PyTorch: one run after the other *"),
    ("xor-study", "PyTorch, stacked by hand", "the same; PyTorch: runs stacked by hand into one program"),
    ("char", "PyTorch, 1 thread", "character model, 4 blocks, d_model 128, one thread, per step"),
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
    header = ["work", "cores: ours / PyTorch's"]
    for isa in sets:
        header += [f"{isa.title.split(' (')[0]}: ffn-train", "PyTorch", "ratio"]
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
