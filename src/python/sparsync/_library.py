"""libsparsync as ctypes sees it: <sparsync.h> says what each function does."""
import ctypes
import operator
import os
import pathlib
import re
import sys
import warnings
from ctypes import POINTER, byref, c_bool, c_char, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint, c_uint32, c_uint64, c_void_p

BAD_INPUT, MACHINE, CANCELLED = 2, 3, 4
STATUS = {1: "unproven", BAD_INPUT: "bad input", MACHINE: "machine", CANCELLED: "cancelled"}


def arguments(text):
    """What is said of options of the command, said of arguments: --row-width is row_width."""
    return re.sub(r"(?<![\w-])--([a-z]\w*(?:-\w+)*)", lambda m: m[1].replace("-", "_"), text).replace(
        "unknown option", "unknown argument").replace("-o: ", "path: ")


class Error(Exception):
    """What the library refuses or fails at, in its own words. `status`: "bad input", "unproven" (a scheme's sum was found
    wrong), "machine" (memory or disk) or "cancelled". `field`: the path of the field that is wrong, or ""."""

    def __init__(self, text, status="bad input", field=""):
        super().__init__(arguments(text))
        self.status = status
        self.field = field

    def _render_traceback_(self):
        """In notebooks: one line, as the command says it; where it came from is the cell."""
        return [f"sparsync.Error: {self}"]


class Notice(UserWarning):
    """What a user should know of an input though it can be used."""


def tell(text):
    """Warns where the caller of this package stands."""
    frame, level, package = sys._getframe(1), 2, __name__.split(".")[0]
    while frame.f_back and frame.f_globals.get("__name__", "").split(".")[0] == package:
        frame, level = frame.f_back, level + 1
    warnings.warn(arguments(text), Notice, stacklevel=level)


class ErrorValue(ctypes.Structure):
    _fields_ = [("status", c_int), ("text", c_char * 872), ("field", c_char * 128)]

    def raised(self):
        return Error(self.text.decode("utf-8", "replace"), STATUS.get(self.status, "machine"),
                     self.field.decode("utf-8", "replace"))


class TensorIds(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("rows", c_uint64), ("row_width", c_uint32), ("value_bytes", c_uint32),
                ("offsets", POINTER(c_uint64)), ("ids", POINTER(c_int64)), ("bags", POINTER(c_uint64)), ("bag_offsets", POINTER(c_uint64))]


class ProgressValue(ctypes.Structure):
    _fields_ = [("what", c_char_p), ("done", c_size_t), ("all", c_size_t), ("share", c_double)]


class SyncTensor(ctypes.Structure):
    _fields_ = [("scheme", c_char_p), ("rows", c_uint64), ("row_width", c_uint32), ("ranks", c_uint32), ("gpus_per_node", c_uint32),
                ("select", c_double)]


class RankGradient(ctypes.Structure):
    _fields_ = [("count", c_uint64), ("rows", c_void_p), ("values", c_void_p)]


class SyncedValue(ctypes.Structure):
    _fields_ = [("count", c_uint64), ("element", c_void_p), ("value", c_void_p), ("sent_bytes", c_uint64), ("energy", c_double),
                ("energy_lost", c_double), ("error_l2", c_double)]


TOLD = ctypes.CFUNCTYPE(None, c_void_p, POINTER(ProgressValue))
HEARD = ctypes.CFUNCTYPE(None, c_void_p, c_char_p)

# What is asked of a request.
KINDS = ("run", "plan", "place", "check", "train", "cost", "crossover", "learn", "stats", "calibrate")


def _load():
    """$SPARSYNC_LIBRARY, else the one that came with this package, else the system's."""
    told, beside = os.environ.get("SPARSYNC_LIBRARY"), pathlib.Path(__file__).with_name("libsparsync.so")
    path = told or (str(beside) if beside.exists() else "libsparsync.so.0")
    try:
        return ctypes.CDLL(path)
    except OSError as reason:
        raise ImportError(f"cannot load libsparsync ({reason}): install it, or name it in SPARSYNC_LIBRARY") from None


def _declare(lib):
    error = POINTER(ErrorValue)
    for name, result, *arguments in [
        ("ss_version", c_char_p),
        ("ss_trace_open", c_bool, c_char_p, POINTER(c_void_p), error),
        ("ss_trace_of_ids", c_bool, c_uint64, c_uint32, c_size_t, POINTER(TensorIds), POINTER(c_void_p), error),
        ("ss_trace_save", c_bool, c_char_p, c_void_p, error),
        ("ss_trace_close", None, c_void_p),
        ("ss_trace_iterations", c_uint64, c_void_p),
        ("ss_trace_ranks", c_uint32, c_void_p),
        ("ss_trace_tensors", c_size_t, c_void_p),
        ("ss_request_new", c_void_p),
        ("ss_request_free", None, c_void_p),
        ("ss_request_open", c_bool, c_void_p, c_char_p, error),
        ("ss_request_parse", c_bool, c_void_p, c_char_p, error),
        ("ss_request_set", c_bool, c_void_p, c_char_p, c_char_p, error),
        ("ss_request_lend_trace", c_bool, c_void_p, c_char_p, c_void_p, error),
        ("ss_request_use_threads", None, c_void_p, c_uint),
        ("ss_request_watch", None, c_void_p, TOLD, c_void_p),
        ("ss_request_hear", None, c_void_p, HEARD, c_void_p),
        ("ss_request_cancel", None, c_void_p),
        *((f"ss_request_{kind}", c_bool, c_void_p, POINTER(c_void_p), error) for kind in KINDS),
        ("ss_request_export", c_bool, c_void_p, c_char_p, c_char_p, error),
        ("ss_request_import", c_bool, c_void_p, c_char_p, POINTER(c_void_p), error),
        ("ss_sync_open", c_bool, POINTER(SyncTensor), POINTER(c_void_p), error),
        ("ss_sync_step", c_bool, c_void_p, POINTER(RankGradient), POINTER(SyncedValue), error),
        ("ss_sync_close", None, c_void_p),
        ("ss_answer_free", None, c_void_p),
        ("ss_answer_json", c_char_p, c_void_p),
    ]:
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    return lib


lib = _declare(_load())


def check(function, *arguments):
    """Calls a function that can fail, with an error of its own behind the arguments."""
    error = ErrorValue()
    if not function(*arguments, byref(error)):
        raise error.raised()


def whole(value, bits, what):
    """A whole number that C's type of so many bits holds; ctypes would cut it off."""
    try:
        number = operator.index(None if isinstance(value, bool) else value)
    except TypeError:
        raise Error(f"{what}: {value!r} is no whole number") from None
    if not 0 <= number < 2**bits:
        raise Error(f"{what}: {number} is not from 0 to {2**bits - 1}")
    return number


def text(value, what="text"):
    """As C takes it."""
    if not isinstance(value, (str, os.PathLike)):
        raise Error(f"{what}: {value!r} is no text")
    data = os.fsencode(value) if isinstance(value, os.PathLike) else value.encode("utf-8", "surrogateescape")
    if b"\0" in data:
        raise Error(f"{what}: {value!r} has a zero byte")
    return data
# SPDX-License-Identifier: Apache-2.0
