"""Tables of what `ffn-train bench` says: figures with bars, layers against LibTorch's, products against BLAS's.

`bench` is {group: {name: {key: median over whole runs}}} throughout.
"""
from .words import duration, verdict

FIGURE_HEADER = ["own figure (`ffn-train bench`)", "bar", "median", "met"]
PRODUCT_HEADER = ["product", "layout", "ours, GFLOP/s", "BLAS, GFLOP/s", "ours / BLAS"]
LAYOUTS = {"": "NN", "A transposed": "TN", "B transposed": "NT"}


def per_run_and_step(bench, runs):
    return bench["steps"][f"FFN 2-8-2, batch 4, {runs}"]


# What, bar, whether a value meets it, the value, how it is written.
FIGURES = [
    *[(f"FFN forward + backward, {kind}, d_model {d}, 512 tokens: its rate over that of a BLAS product", "≥ 75 %", lambda v: v >= 0.75,
       lambda bench, name=f"{kind} {d}": bench["ffn"][name]["share_of_blas_product"], lambda v: f"{v:.0%}")
      for kind in ("positionwise", "gated") for d in (128, 256, 512)],
    ("mixture of experts, E 8, k 2, d_model 64: dense FFN of equal active FLOPs over it", "≥ 80 %", lambda v: v >= 0.8,
     lambda bench: bench["ffn"]["wide 64"]["us"] / bench["ffn"]["moe 64"]["us"], lambda v: f"{v:.0%}"),
    *[(f"FFN 2-8-2 with input and output maps, batch 4, {runs}: per run and step", "≤ 0.6 µs" if "1000" in runs else "", lambda v: v <= 0.6,
       lambda bench, runs=runs: per_run_and_step(bench, runs)["us_per_run_and_step"], lambda v: f"{v:.2f} µs")
      for runs in ("1 run", "10 runs", "100 runs", "1000 runs")],
    ("the same: memory per run, of 100 runs", "", None, lambda bench: per_run_and_step(bench, "100 runs")["bytes_per_run"],
     lambda v: f"{v / 1e3:.1f} kB"),
    ("the same: memory per run of 1000 over that of 100", "≤ 1.25: linear", lambda v: v <= 1.25,
     lambda bench: per_run_and_step(bench, "1000 runs")["bytes_per_run"] / per_run_and_step(bench, "100 runs")["bytes_per_run"],
     lambda v: f"{v:.2f}"),
]  # fmt: skip


def figure_rows(bench):
    values = [value(bench) for _, _, _, value, _ in FIGURES]
    return [[what, bar, text(v), verdict(good(v)) if bar else ""] for (what, bar, good, _, text), v in zip(FIGURES, values)]


def libtorch_table(bench):
    """(header, rows): kinds down, d_model across, LibTorch's time over ours in the cells."""
    kinds, sizes = [], []
    for name in bench["ffn"]:
        kind, size = name.rsplit(" ", 1)
        kinds += [kind] if kind not in kinds else []
        sizes += [size] if size not in sizes else []
    rows = []
    for kind in kinds:
        values = [bench["ffn"][f"{kind} {size}"] for size in sizes]
        cells = [f"{v['times_libtorch']:.2f} ({duration(v['us'] * 1e-6)})" for v in values]
        rows.append([kind, *cells, verdict(all(v["times_libtorch"] >= 1 for v in values))])
    return ["kind \\ d_model", *sizes, "≥ 1× everywhere"], rows


def product_rows(bench):
    rows = []
    for name, v in bench["product"].items():
        shape, _, transposed = name.partition(", ")
        rows.append([shape, LAYOUTS[transposed], f"{v['gflops']:.3g}", f"{v['blas_gflops']:.3g}", f"{v['gflops'] / v['blas_gflops']:.2f}"])
    return rows


def figure_sections(bench):
    """[(title, sentence beneath it, header, rows)]"""
    header, rows = libtorch_table(bench)
    return [
        ("Own figures", "", FIGURE_HEADER, figure_rows(bench)),
        ("Feed-forward layers against LibTorch's modules",
         "Forward + backward of 512 tokens on one thread: LibTorch's time over ours, and our time in brackets.", header, rows),
        ("Matrix products against BLAS", "One thread; N: as it lies in memory, T: transposed, A first.", PRODUCT_HEADER, product_rows(bench)),
    ]  # fmt: skip
