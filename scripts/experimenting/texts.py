"""Texts for the studies that need more than a licence, from Debian's r-cran-janeaustenr and dict-gcide, unpacked, not installed.

    python3 scripts/experimenting/texts.py      both, into experiments/texts/data, with the bits per byte that compressors need
"""
import bz2
import gzip
import lzma
import pathlib
import sys
import tempfile
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
sys.dont_write_bytecode = True
from experimenting.tables import unpacked  # noqa: E402

DATA = pathlib.Path(__file__).resolve().parents[2] / "experiments/texts/data"


def lines_of(serialized):
    """The strings of R's serialized character vector (version 3, XDR): a header, their number, then for each a type, a length, bytes."""
    place = 18 + int.from_bytes(serialized[14:18], "big")  # behind the name of the encoding
    count = int.from_bytes(serialized[place + 4:place + 8], "big")
    place += 8
    for _ in range(count):
        length = int.from_bytes(serialized[place + 4:place + 8], "big")
        yield serialized[place + 8:place + 8 + length]
        place += 8 + length


def austen(directory):
    """The six novels, one after the other: R keeps each as its length in four bytes and zlib's stream."""
    chunks = (unpacked("r-cran-janeaustenr", directory) / "usr/lib/R/site-library/janeaustenr/data/Rdata.rdb").read_bytes()
    text = b""
    while chunks:
        stream = zlib.decompressobj()
        novel = stream.decompress(chunks[4:])
        chunks = stream.unused_data
        text += b"".join(line + b"\n" for line in lines_of(novel))
    return text


def gcide(directory):
    """Webster's dictionary of 1913, in UTF-8 but for three characters."""
    text = gzip.decompress((unpacked("dict-gcide", directory) / "usr/share/dictd/gcide.dict.dz").read_bytes())
    while True:
        try:
            text.decode()
            return text
        except UnicodeDecodeError as error:
            text = text[:error.start] + text[error.start:error.end].decode("cp1252").encode() + text[error.end:]


TEXTS = {"austen": austen, "gcide": gcide}


def prepare(target=DATA, names=("austen",)):
    """Writes `target`/NAME.txt for each of TEXTS; nothing where it is there."""
    target.mkdir(parents=True, exist_ok=True)
    for name in names:
        path = target / f"{name}.txt"
        if not path.is_file():
            with tempfile.TemporaryDirectory(prefix="texts-", dir=target) as directory:
                made = pathlib.Path(directory) / path.name
                made.write_bytes(TEXTS[name](pathlib.Path(directory)))
                made.rename(path)


def bits_per_byte(text, held_out=0.1):
    """By compressor: how many bits a byte of the last part adds to the file of what stands before."""
    before = text[:len(text) - int(len(text) * held_out)]
    sizes = {"gzip": lambda x: len(zlib.compress(x, 9)), "bzip2": lambda x: len(bz2.compress(x)), "xz": lambda x: len(lzma.compress(x, preset=9))}
    return {name: 8 * (size(text) - size(before)) / (len(text) - len(before)) for name, size in sizes.items()}


if __name__ == "__main__":
    prepare(names=TEXTS)
    for name in TEXTS:
        text = (DATA / f"{name}.txt").read_bytes()
        print(f"{name}: {len(text):,} bytes; its last tenth takes", ", ".join(f"{bits:.3f} ({by})" for by, bits in bits_per_byte(text).items()))
