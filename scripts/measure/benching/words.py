"""How a value is written."""


def duration(seconds):
    for factor, unit in ((1, "s"), (1e3, "ms")):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}" if seconds < 100 else f"{seconds:.0f} s"
    return f"{seconds * 1e6:.3g} µs"


def verdict(met):
    return "yes" if met else "NO"
