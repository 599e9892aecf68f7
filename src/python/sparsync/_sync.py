"""What ranks of a training end with when a scheme synchronises their gradients."""
import array
import collections
import ctypes
import json

from . import _library
from ._library import Error, check, lib

Synced = collections.namedtuple("Synced", "elements values sent_bytes energy energy_lost error_l2")
Synced.__doc__ = """A step: `elements` (row * row_width + column, ascending) have the sums over ranks in `values`, all others are zero.
`sent_bytes`: the most that a rank sent, values of 4 B. Energies and errors: docs/model.md, "Values"; NaN where the scheme has none."""


def _numbers(values, kind, where):
    """Numbers as C has them: what keeps them, their address, and how many they are. `kind`: "d", or "q" of ids."""
    if hasattr(values, "data_ptr"):  # torch
        kept = values.detach().cpu()
        kept = (kept.double() if kind == "d" else kept.long()).contiguous()
        return kept, kept.data_ptr(), kept.numel()
    if hasattr(values, "ctypes"):  # NumPy
        kept = values.astype("float64" if kind == "d" else "int64", order="C")
        return kept, kept.ctypes.data, kept.size
    try:
        kept = values if isinstance(values, array.array) and values.typecode == kind else array.array(kind, values)
    except (TypeError, OverflowError) as reason:
        raise Error(f"{where}: {reason}") from None
    return kept, *kept.buffer_info()


class Sync:
    """A tensor of `rows` rows of `row_width` elements, whose gradients a scheme ("spardl:density=0.01", or a dict) synchronises
    on `ranks` ranks, step by step. What ranks keep for the next step is kept here. `select`: the share of its elements that each
    rank sends of schemes that do not select by themselves."""

    def __init__(self, scheme, rows, row_width=1, ranks=1, gpus_per_node=1, select=0):
        self._handle = None
        self.rows, self.row_width, self.ranks = (_library.whole(n, bits, what) for n, bits, what in (
            (rows, 64, "rows"), (row_width, 32, "row_width"), (ranks, 32, "ranks")))
        text = scheme if isinstance(scheme, str) else json.dumps(scheme)
        tensor = _library.SyncTensor(_library.text(text, "scheme"), self.rows, self.row_width, self.ranks,
                                     _library.whole(gpus_per_node, 32, "gpus_per_node"), float(select))
        handle = ctypes.c_void_p()
        check(lib.ss_sync_open, ctypes.byref(tensor), ctypes.byref(handle))
        self._handle = handle

    def step(self, gradients):
        """What each rank ends with, of what each has: all values of the tensor, or a pair of the ids of its rows (ascending) and
        their values. Lists, `array.array`, NumPy arrays or torch tensors."""
        if len(gradients) != self.ranks:
            raise Error(f"{len(gradients)} gradients of {self.ranks} ranks")
        given, kept = (_library.RankGradient * self.ranks)(), []
        for r, one in enumerate(gradients):
            ids = _numbers(one[0], "q", f"row ids of rank {r}") if isinstance(one, tuple) else None
            values, at, size = _numbers(one[1] if ids else one, "d", f"gradient of rank {r}")
            count = ids[2] if ids else self.rows
            if size != count * self.row_width:
                raise Error(f"gradient of rank {r}: {size} values of {count} rows of {self.row_width}")
            kept += ids, values
            given[r] = _library.RankGradient(count, ids and ids[1], at)
        out = _library.SyncedValue()
        check(lib.ss_sync_step, self._handle, given, ctypes.byref(out))
        elements, values = array.array("I"), array.array("d")
        if out.count:
            elements.frombytes(ctypes.string_at(out.element, 4 * out.count))
            values.frombytes(ctypes.string_at(out.value, 8 * out.count))
        return Synced(elements, values, out.sent_bytes, out.energy, out.energy_lost, out.error_l2)

    def __copy__(self):
        raise Error("a Sync keeps what ranks did not send: there is one of each")

    __deepcopy__ = __reduce__ = lambda self, *_: self.__copy__()

    def __del__(self):
        if getattr(self, "_handle", None):
            lib.ss_sync_close(self._handle)
            self._handle = None
# SPDX-License-Identifier: Apache-2.0
