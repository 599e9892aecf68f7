"""Trace files (docs/traces.md), written and read by a few lines of Python alone."""
import itertools
import json
import pathlib
import struct

LETTERS = {"I64": "q", "I32": "i", "U32": "I", "F32": "f"}


def save(path, about, entries):
    """`about`: the metadata; `entries`: (dtype, numbers) by name. Returns the path."""
    header, body = {"__metadata__": about}, b""
    for name, (dtype, numbers) in entries.items():
        data = struct.pack(f"<{len(numbers)}{LETTERS[dtype]}", *numbers)
        header[name] = {"dtype": dtype, "shape": [len(numbers)], "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)
    return path


def tensor(name, rows, width, dtype="F32"):
    return {"name": name, "rows": rows, "row_width": width, "dtype": dtype}


def about(tensors, ranks, iterations):
    return {"sparsync.version": "1", "iterations": str(iterations), "ranks": str(ranks), "tensors": json.dumps(tensors), "source": "a test"}


def write(path, tensors, ranks, more=()):
    """`tensors`: pairs of what `tensor` makes and lists of row ids, rank by rank in each iteration; `more`: other entries."""
    entries = {}
    for one, segments in tensors:
        entries[f"{one['name']}.offsets"] = "I64", list(itertools.accumulate(map(len, segments), initial=0))
        entries[f"{one['name']}.rows"] = "I32", [row for segment in segments for row in segment]
    return save(path, about([one for one, _ in tensors], ranks, len(tensors[0][1]) // ranks), entries | dict(more))


def load(path):
    """The metadata, with its tensors as a list and counts as numbers; and the numbers of each entry."""
    data = pathlib.Path(path).read_bytes()
    size, = struct.unpack_from("<Q", data)
    header, body = json.loads(data[8:8 + size]), data[8 + size:]
    metadata = header.pop("__metadata__")
    metadata |= {"tensors": json.loads(metadata["tensors"]), "ranks": int(metadata["ranks"]), "iterations": int(metadata["iterations"])}
    return metadata, {name: struct.unpack(f"<{entry['shape'][0]}{LETTERS[entry['dtype']]}", body[slice(*entry["data_offsets"])])
                      for name, entry in header.items()}


def parts(numbers, bounds):
    return [list(numbers[a:b]) for a, b in zip(bounds, bounds[1:])]


def lookups(path):
    """Of a trace of one tensor: the tensor, and lists of row ids by iteration and rank."""
    metadata, entries = load(path)
    one, = metadata["tensors"]
    segments = parts(entries[f"{one['name']}.rows"], entries[f"{one['name']}.offsets"])
    return one, [segments[t * metadata["ranks"]:(t + 1) * metadata["ranks"]] for t in range(metadata["iterations"])]
# SPDX-License-Identifier: Apache-2.0
