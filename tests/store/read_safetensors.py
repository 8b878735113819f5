#!/usr/bin/env python3
"""Reads a safetensors file with nothing but the standard library, written from the format's specification
(https://github.com/huggingface/safetensors, README, "Format"), to show that our files load elsewhere.

Prints the metadata's keys, then name, dtype, shape and the first values of every tensor.
Exits with 1 and a message for a file that breaks the specification, with 2 for wrong usage.

    python3 read_safetensors.py FILE [--metadata KEY]     --metadata prints one metadata value and nothing else
"""
import array
import json
import struct
import sys

# dtype: bytes per element, and the array module's type code where it has one.
DTYPES = {
    "BOOL": (1, "B"), "U8": (1, "B"), "I8": (1, "b"), "U16": (2, "H"), "I16": (2, "h"), "F16": (2, None),
    "BF16": (2, None), "U32": (4, "I"), "I32": (4, "i"), "F32": (4, "f"), "U64": (8, "Q"), "I64": (8, "q"),
    "F64": (8, "d"), "F8_E4M3": (1, None), "F8_E5M2": (1, None),
}
MAX_HEADER = 100_000_000


class Malformed(Exception):
    pass


def require(holds, message):
    if not holds:
        raise Malformed(message)


def unique(pairs):
    names = {}
    for name, value in pairs:
        require(name not in names, f"duplicate key {name!r}")
        names[name] = value
    return names


def reject_constant(text):
    raise Malformed(f"{text} is no JSON")


def is_count(value):
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def read_header(data):
    require(len(data) >= 8, f"{len(data)} bytes are too few for a header length")
    (length,) = struct.unpack("<Q", data[:8])
    require(length <= MAX_HEADER, f"header length {length} exceeds {MAX_HEADER}")
    require(8 + length <= len(data), f"header length {length} exceeds the file ({len(data)} bytes)")
    text = data[8:8 + length]
    require(text.startswith(b"{"), "the header does not start with '{'")
    require(text.rstrip(b" ").endswith(b"}"), "the header is padded with something else than spaces")
    try:
        header = json.loads(text.decode("utf-8"), object_pairs_hook=unique, parse_constant=reject_constant)
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise Malformed(f"the header is no UTF-8 JSON: {error}") from error
    return header, 8 + length


def check_metadata(metadata):
    require(isinstance(metadata, dict), "__metadata__ is no object")
    for key, value in metadata.items():
        require(isinstance(value, str), f"__metadata__[{key!r}] is no string")
    return metadata


def check_tensor(name, entry, available):
    require(isinstance(entry, dict), f"{name}: no object")
    require(set(entry) == {"dtype", "shape", "data_offsets"}, f"{name}: keys {sorted(entry)}")
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    require(isinstance(dtype, str) and dtype in DTYPES, f"{name}: unknown dtype {dtype!r}")
    require(isinstance(shape, list) and all(map(is_count, shape)), f"{name}: shape {shape!r}")
    require(isinstance(offsets, list) and len(offsets) == 2 and all(map(is_count, offsets)), f"{name}: data_offsets {offsets!r}")
    begin, end = offsets
    require(begin <= end <= available, f"{name}: data_offsets {offsets} outside the data ({available} bytes)")
    size = DTYPES[dtype][0]
    for dimension in shape:
        size *= dimension
    require(size == end - begin, f"{name}: {dtype} {shape} takes {size} bytes, data_offsets span {end - begin}")
    return begin, end


def read(path):
    """(metadata, [(name, dtype, shape, bytes)]) in the order of the data."""
    with open(path, "rb") as file:
        data = file.read()
    header, start = read_header(data)
    metadata = check_metadata(header.pop("__metadata__", {}))
    spans = sorted((check_tensor(name, entry, len(data) - start), name) for name, entry in header.items())
    reached = 0
    for (begin, end), name in spans:
        require(begin == reached, f"{name}: begins at {begin}, the tensor before it ends at {reached}")
        reached = end
    require(reached == len(data) - start, f"{len(data) - start - reached} bytes behind the last tensor")
    tensors = [(name, header[name]["dtype"], header[name]["shape"], data[start + begin:start + end]) for (begin, end), name in spans]
    return metadata, tensors


def first_values(dtype, raw, count=4):
    size, code = DTYPES[dtype]
    if code is None:
        return raw[:count * size].hex()
    values = array.array(code, raw[:count * size])
    require(values.itemsize == size, f"this Python's array({code!r}) has {values.itemsize} bytes")
    if sys.byteorder == "big":
        values.byteswap()
    return ", ".join(f"{value:.9g}" if isinstance(value, float) else str(value) for value in values) + (", ..." if len(raw) > count * size else "")


def main(arguments):
    if len(arguments) not in (1, 3) or (len(arguments) == 3 and arguments[1] != "--metadata"):
        print(__doc__, file=sys.stderr)
        return 2
    try:
        metadata, tensors = read(arguments[0])
        if len(arguments) == 3:
            require(arguments[2] in metadata, f"no metadata {arguments[2]!r}")
            print(metadata[arguments[2]])
            return 0
        print("metadata:", ", ".join(sorted(metadata)) or "none")
        for name, dtype, shape, raw in tensors:
            print(f"{name}  {dtype}  {shape}  [{first_values(dtype, raw)}]")
    except (Malformed, OSError) as error:
        print(f"{arguments[0]}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
