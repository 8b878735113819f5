"""The table of speeds in scripts/README.md: the main works of RIVALS.md, each against its best rival."""
from .instruction_sets import INSTRUCTION_SETS, RIVALS, ROOT
from .results import HEADER, markdown_table, split_sections

README, RESULTS = ROOT / "scripts/README.md", ROOT / "scripts/measure/RIVALS.md"
BEGIN, END = "<!-- scripts/measure/against-rivals writes from here -->", "<!-- to here -->"
# Work in RIVALS.md, and what the table calls it.
ROWS = {
    "xor-study": "240 XOR runs of 2,000 steps",
    "block-study": "24 runs of an attention + FFN block, 500 steps",
    "xor-once": "one XOR run of 2,000 steps",
    "char": "a step of a character model, 4 blocks, d_model 128",
}


def rows_of(section):
    """The first table of a section, as dictionaries."""
    table = []
    for line in section[section.index("| " + HEADER[0]) :].splitlines():
        if not line.startswith("|"):
            break
        table.append([cell.strip() for cell in line[1:-1].split("|")])
    return [dict(zip(table[0], row)) for row in table[2:]]


def ratio(row):
    return float(row[HEADER[6]].split()[0])


def without_compilation(row):
    return float(row.get(HEADER[7]) or ratio(row))


def of_text(results):
    """The table, from the text of RIVALS.md: of its best instruction set, each work against the rival that takes the least time."""
    sections = split_sections(results)
    isa = next(isa for isa in reversed(list(INSTRUCTION_SETS.values())) if isa.title in sections)
    rows = [row for row in rows_of(sections[isa.title]) if row[HEADER[6]]]
    table = []
    for work, words in ROWS.items():
        of_work = [row for row in rows if row["work"] == work]
        if of_work:
            best = min(of_work, key=ratio)
            table.append([words, best["ours"], best["rival"], *(best[name] for name in HEADER[4:7]), f"{min(map(without_compilation, of_work)):.3g}"])
    return markdown_table(["work", f"ffn-train, {isa.title.split(' (')[0]}", "best rival", *HEADER[4:7], "ratio without compilation"], table)


def with_table(readme, results):
    """scripts/README.md with this table between its marks; ValueError where it has none."""
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"scripts/README.md has no '{BEGIN}' and '{END}'")
    return f"{before}{BEGIN}\n\n{of_text(results)}\n\n{END}{after}"


def write():
    README.write_text(with_table(README.read_text(encoding="utf-8"), RESULTS.read_text(encoding="utf-8")), encoding="utf-8")
