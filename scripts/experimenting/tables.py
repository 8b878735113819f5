"""Tables and images for the studies that need them, from Debian's python3-sklearn and dataset-fashion-mnist, unpacked, not installed:

    python3 scripts/experimenting/tables.py
"""
import gzip
import pathlib
import shutil
import subprocess
import tempfile

TABLES = {"iris": "iris.csv", "wine": "wine_data.csv", "breast_cancer": "breast_cancer.csv", "digits": "digits.csv.gz"}


def unpacked(package, directory):
    subprocess.run(["apt-get", "download", "-qq", package], cwd=directory, check=True, stderr=subprocess.DEVNULL)
    subprocess.run(["dpkg-deb", "-x", *directory.glob(package + "_*.deb"), directory], check=True)
    return directory


def rows_of(path):
    opened = gzip.open(path, "rt") if path.suffix == ".gz" else open(path, encoding="utf-8")
    with opened as file:
        return [line.replace(",", " ").split() for line in file]


def write_table(path, rows, last):
    names = [f"x{i}" for i in range(1, len(rows[0]))] + [last]
    path.write_text("".join(",".join(row) + "\n" for row in [names, *rows]), encoding="utf-8")


def prepare(target):
    """Writes `target`: iris, wine, breast_cancer, digits, diabetes as CSV, and fashion-mnist; nothing where it is there."""
    if target.is_dir():
        return
    with tempfile.TemporaryDirectory(prefix="tables-", dir=target.parent) as name:
        directory = pathlib.Path(name)
        data = unpacked("python3-sklearn", directory) / "usr/lib/python3/dist-packages/sklearn/datasets/data"
        made = directory / "made"
        made.mkdir()
        for table, file in TABLES.items():
            rows = rows_of(data / file)
            if table != "digits":
                rows = rows[1:]  # numbers of rows and columns, names of classes: no header
            write_table(made / f"{table}.csv", rows, "class")
        inputs, targets = rows_of(data / "diabetes_data_raw.csv.gz"), rows_of(data / "diabetes_target.csv.gz")
        write_table(made / "diabetes.csv", [x + y for x, y in zip(inputs, targets)], "target")
        shutil.move(unpacked("dataset-fashion-mnist", directory) / "usr/share/datasets/fashion-mnist", made / "fashion-mnist")
        made.rename(target)


if __name__ == "__main__":
    prepare(pathlib.Path(__file__).resolve().parents[2] / "experiments/tables/data")
