"""Traces: files, or the ids that a program has in its lists, arrays and tensors."""
import array
import ctypes
import operator

from . import _library
from ._library import Error, check, lib


def _append(ids, segment, where):
    """A rank's ids: any sequence of integers, a NumPy array or a torch tensor of them."""
    if hasattr(segment, "detach"):
        segment = segment.detach().cpu().numpy()
    if hasattr(segment, "dtype"):
        if segment.dtype.kind not in "iu" or (segment.dtype.kind == "u" and segment.size and segment.max() > 2**63 - 1):
            raise Error(f"{where}: row ids are whole numbers, not {segment.dtype}")
        ids.frombytes(segment.ravel().astype("int64").tobytes())
        return
    try:
        ids.extend(segment if isinstance(segment, array.array) and segment.typecode == "q" else map(operator.index, segment))
    except (TypeError, OverflowError):
        if hasattr(segment, "__next__"):
            raise Error(f"{where}: a list of row ids is wanted, whole numbers, not an iterator of others") from None
        wrong = [one for one in segment if not hasattr(one, "__index__") or not -2**63 <= one < 2**63] if hasattr(segment, "__iter__") else [segment]
        raise Error(f"{where}: a list of row ids is wanted, whole numbers, not {wrong[0]!r}") from None


def _of(options, what, name, usual, bits):
    """An option for all tensors, or by their names."""
    option = options[what]
    number = _library.whole(option.get(name, usual) if isinstance(option, dict) else option, bits, f"{what} of {name}")
    if usual and not number:
        raise Error(f"{what} of {name}: is at least 1")
    return number


def _bags(name, lengths, iterations, ranks):
    """Bags before each rank's, and ids before each bag; nothing where nobody says."""
    if lengths is None:
        return ()
    if _shape(lengths, f"lengths of {name}") != (iterations, ranks) or any(len(iteration) != ranks for iteration in lengths):
        raise Error(f"lengths of {name}: one list a rank and iteration, as its ids have")
    every, bags, offsets = array.array("q"), array.array("Q", [0]), array.array("Q", [0])
    for t, iteration in enumerate(lengths):
        for r, segment in enumerate(iteration):
            _append(every, segment, f"lengths of {name}: iteration {t}, rank {r}")
            bags.append(len(every))
    for length in every:
        if not 0 <= length < 2**53:
            raise Error(f"lengths of {name}: {length} is no number of ids")
        offsets.append(offsets[-1] + length)
    return tuple((ctypes.c_uint64 * len(numbers)).from_buffer(numbers) for numbers in (bags, offsets))


def _named(tables, what):
    if not isinstance(tables, dict) or not all(isinstance(name, str) for name in tables):
        raise Error(f'{what}: a dict is wanted, {{"emb": [[ids of rank 0, ids of rank 1, ...], ...]}}, an entry an iteration')
    return tables


def _shape(table, name):
    """How many iterations and ranks: lists of lists of ids, however they are held."""
    try:
        return len(table), len(table[0]) if len(table) and all(len(iteration) >= 0 for iteration in table) else 0
    except TypeError:
        raise Error(f"{name}: a list of iterations is wanted, each a list of its ranks' ids: [[[3, 5], [5]]] is one of two ranks") from None


class Trace:
    """Which rows of each table each rank looked up, iteration by iteration, duplicates kept.

    `tables`: {"emb": [[ids of rank 0, ids of rank 1, ...], ...]}, an entry an iteration. `rows` of the table (one more
    than the largest id), elements of a row (`row_width`) and bytes of an element (`value_bytes`, 4 or 2): one for all
    tables, or {"emb": ...}. `lengths`: {"emb": ...} in the shape of the tables, of each rank not its ids but how many of
    them, one after the other, make a bag, whose rows are pooled."""

    def __init__(self, tables, rows=0, row_width=1, value_bytes=4, lengths=None):
        self._handle = None
        shapes = {name: _shape(table, name) for name, table in _named(tables, "tables").items()}
        if not shapes:
            raise Error("a trace has at least one table")
        iterations, ranks = next(iter(shapes.values()))
        if lengths is not None:
            _named(lengths, "lengths")
        options = {"rows": rows, "row_width": row_width, "value_bytes": value_bytes, "lengths": lengths}
        for what, option in options.items():
            if unknown := [name for name in option if name not in tables] if isinstance(option, dict) else ():
                raise Error(f"{what}: there is no table {unknown[0]!r}")
        kept, tensors = [], (_library.TensorIds * len(tables))()
        for place, (name, table) in enumerate(tables.items()):
            if shapes[name] != (iterations, ranks) or any(len(iteration) != ranks for iteration in table):
                raise Error(f"{name}: all iterations of all tables have one list a rank, as many as the first ({ranks})")
            ids, offsets = array.array("q"), array.array("Q", [0])
            for t, iteration in enumerate(table):
                for r, segment in enumerate(iteration):
                    _append(ids, segment, f"{name}: iteration {t}, rank {r}")
                    offsets.append(len(ids))
            whole = (ctypes.c_uint64 * len(offsets)).from_buffer(offsets), (ctypes.c_int64 * len(ids)).from_buffer(ids)
            whole += _bags(name, (lengths or {}).get(name), iterations, ranks)
            kept += whole
            tensors[place] = _library.TensorIds(_library.text(name, "name"), _of(options, "rows", name, 0, 64),
                                                _of(options, "row_width", name, 1, 32),
                                                _of(options, "value_bytes", name, 4, 32), *whole)
        handle = ctypes.c_void_p()
        check(lib.ss_trace_of_ids, iterations, ranks, len(tables), tensors, ctypes.byref(handle))
        self._handle = handle

    @classmethod
    def open(cls, path):
        """A .safetensors file, as `sparsync trace import` and captures write it."""
        handle = ctypes.c_void_p()
        check(lib.ss_trace_open, _library.text(path, "path"), ctypes.byref(handle))
        return cls._of(handle)

    @classmethod
    def _of(cls, handle):
        trace = cls.__new__(cls)
        trace._handle = handle
        return trace

    def save(self, path):
        """As a .safetensors file, whole or not at all."""
        check(lib.ss_trace_save, _library.text(path, "path"), self._handle)

    def __copy__(self):
        return self  # nothing changes it, and the library frees it once

    def __deepcopy__(self, memo):
        return self

    def __del__(self):
        if getattr(self, "_handle", None):
            lib.ss_trace_close(self._handle)
            self._handle = None

    @property
    def iterations(self):
        return lib.ss_trace_iterations(self._handle)

    @property
    def ranks(self):
        return lib.ss_trace_ranks(self._handle)

    @property
    def tensors(self):
        return lib.ss_trace_tensors(self._handle)

    def __repr__(self):
        return f"<sparsync.Trace of {self.tensors} tensors, {self.iterations} iterations of {self.ranks} ranks>"
# SPDX-License-Identifier: Apache-2.0
