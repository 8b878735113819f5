"""The best fit of straight pieces: the ceiling of a ReLU layer of one input, which makes one more than it has units."""
import math


def r2_of_pieces(y, most):
    """The largest R² of 1, 2, … `most` straight pieces, not joined, at evenly spaced points: a dynamic programme."""
    n, infinity = len(y), math.inf
    sums = [(0.0, 0.0, 0.0)]
    for x, value in enumerate(y):
        sums.append((sums[-1][0] + value, sums[-1][1] + x * value, sums[-1][2] + value * value))

    def error(i, j):
        count, (s, sx, ss) = j - i, (b - a for a, b in zip(sums[i], sums[j]))
        middle, spread = (i + j - 1) / 2, (count**3 - count) / 12
        slope = (sx - middle * s) ** 2 / spread if spread else 0
        return max(0.0, ss - s * s / count - slope)

    errors = [[error(i, j) if i < j else infinity for i in range(n)] for j in range(n + 1)]
    best, found = [0.0] + [infinity] * n, []
    for _ in range(most):
        best = [min((a + b for a, b in zip(best, errors[j])), default=infinity) for j in range(n + 1)]
        found.append(1 - best[n] / error_about_mean(y))
    return found


def error_about_mean(y):
    mean = sum(y) / len(y)
    return sum((value - mean) ** 2 for value in y)


def of_sine(units, points=256):
    """Likewise, of sin(2πx) over [-1, 1], for as many units."""
    y = [math.sin(2 * math.pi * (2 * i / (points - 1) - 1)) for i in range(points)]
    found = r2_of_pieces(y, max(units) + 1)
    return {unit: found[unit] for unit in units}
