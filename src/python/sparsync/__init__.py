"""How long synchronising sparse gradients takes, under which scheme, on which cluster, and why.

    import sparsync
    points = sparsync.run("demo", ranks=[4, 8, 16])          # a shipped scenario, a file, or a dict
    points.to_frame()                                        # with pandas; points itself is a list of dicts
    points.plot(x="ranks")                                   # with gnuplot
    trace = sparsync.Trace({"emb": [[[3, 5, 5], [5, 9]]]})   # ids of two ranks in one iteration
    sparsync.plan(trace=trace, cluster="p3.16xlarge-25g")

Every function takes fields of its document by name, and these:

    set       {"cluster.bandwidth": "100Gbps"}: fields by path, as --set of the command
    threads   that work at once (0: one a core); answers do not depend on it
    progress  None: a bar in terminals and notebooks; True, False, or a function of what is done and how far (0 to 1)

Ctrl-C ends a request. Errors are sparsync.Error; what a user should know of an answer is a sparsync.Notice, a warning.
Times are in s, sizes in B, rates in B/s (docs/python.md)."""
import builtins
import ctypes
import json
import os
import threading
import time
from types import NoneType

from . import _library
from ._library import Error, Notice, lib
from ._progress import Progress
from ._rows import Rows
from ._sync import Sync, Synced
from ._trace import Trace

__all__ = ["Error", "Notice", "Picture", "Rows", "Sync", "Synced", "Trace", "calibrate", "check", "collective", "cost", "crossover", "export",
           "import_trace", "learn", "list", "place", "plan", "plot", "report", "run", "stats", "synth", "trace_fit", "train"]
__version__ = lib.ss_version().decode()


class _Request:
    """A request of the library, with what it points to."""

    def __init__(self, document, fields):
        self.handle, self.kept = ctypes.c_void_p(lib.ss_request_new()), []
        if not self.handle:
            raise Error("out of memory while making a request", "machine")
        if isinstance(document, (str, os.PathLike)):
            _library.check(lib.ss_request_open, self.handle, _library.text(document, "scenario"))
        elif document is not None:
            if not isinstance(document, dict):
                raise Error(f"scenario: {document!r} is no name, no file, and no dict")
            _library.check(lib.ss_request_parse, self.handle, _json(document))
        for path, value in fields.items():
            self.set(path, value)

    def set(self, path, value):
        if isinstance(value, Trace):
            self.kept.append(value)
            name = f"trace {len(self.kept)}" if len(self.kept) > 1 else "trace"
            _library.check(lib.ss_request_lend_trace, self.handle, name.encode(), value._handle)
            value = name
        elif isinstance(value, os.PathLike):
            value = os.fspath(value)
        elif path == "cluster" and isinstance(value, (tuple, builtins.list)) and not value:
            raise Error("cluster: an empty list names no cluster")
        elif path == "cluster" and isinstance(value, (tuple, builtins.list)) and all(isinstance(one, str) for one in value):
            value = ",".join(value)
        data = value.encode() if path in ("scheme", "schemes") and isinstance(value, str) else _json(value)
        _library.check(lib.ss_request_set, self.handle, _library.text(path, "path"), data)

    def __del__(self):
        if getattr(self, "handle", None):
            lib.ss_request_free(self.handle)


def _json(value):
    try:
        return json.dumps(value, allow_nan=False, default=_plain).encode()
    except (TypeError, ValueError) as reason:
        raise Error(f"{value!r} is no JSON: {reason}") from None


def _plain(value):
    """Numbers and arrays of NumPy, and paths."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


def _say_once(said, again, where):
    """Of two values one would count for nothing."""
    for key in said:
        if key in again:
            raise Error(f"{key}: is said twice, {where}")


def _carry_out(call, give_up, document, fields, set=None, threads=0, progress=None):
    """What `call` does with a request and an error. The library works in a thread of its own, so that this one hears of
    Ctrl-C; then `give_up` frees what came all the same."""
    threads = _library.whole(threads, 32, "threads")
    _say_once(fields, set or {}, "both as an argument and in set")
    request, error = _Request(document, {**fields, **(set or {})}), _library.ErrorValue()
    shown, heard, done, good = Progress(progress), [], threading.Event(), []
    told = _library.TOLD(lambda _, now: shown.told(now.contents.what.decode(), now.contents.share))
    hear = _library.HEARD(lambda _, text: heard.append(text.decode("utf-8", "replace")))
    lib.ss_request_use_threads(request.handle, threads)
    lib.ss_request_watch(request.handle, told, None)
    lib.ss_request_hear(request.handle, hear, None)

    def work():
        try:
            good.append(call(request.handle, ctypes.byref(error)))
        finally:
            done.set()

    worker = threading.Thread(target=work, name="sparsync", daemon=True)
    try:
        worker.start()
        while not done.wait(0.05 if shown.call else 0.2):
            shown.show()
        shown.show()
    except BaseException:  # Ctrl-C, or what a progress function raised
        lib.ss_request_cancel(request.handle)
        _wait(worker, done)
        give_up()
        raise
    finally:
        shown.end()
    for text in dict.fromkeys(heard):
        _library.tell(text)
    if not good or not good[0]:
        raise error.raised()


def _ask(kind, document, **how):
    """The answer's document."""
    answer, ask = ctypes.c_void_p(), getattr(lib, f"ss_request_{kind}")
    _carry_out(lambda request, error: ask(request, ctypes.byref(answer), error), lambda: lib.ss_answer_free(answer), document, **how)
    try:
        written = lib.ss_answer_json(answer)
        if written is None:
            raise Error("out of memory while writing an answer", "machine")
        return json.loads(written)
    finally:
        lib.ss_answer_free(answer)


def _wait(worker, done):
    """Until the library has heard: what it works with must not go before. (Ctrl-C may even have come before the thread.)"""
    until = time.monotonic() + 1
    while not done.is_set() and (worker.ident is not None or time.monotonic() < until):
        try:
            done.wait(0.1)
        except KeyboardInterrupt:
            pass


def _rows(kind, key, document, fields):
    answer = _ask(kind, document, **fields)
    return Rows(answer.get(key, []), answer, kind)


def _split(fields):
    """What says how to ask, and what is asked."""
    for option, meant in (("jobs", "threads"), ("quiet", "progress")):
        if option in fields:
            raise Error(f'{option}: unknown argument (did you mean "{meant}"?)')
    if not isinstance(fields.get("set"), (dict, NoneType)):
        raise Error(f'set: {fields["set"]!r} is no dict (say {{"cluster.bandwidth": "100Gbps"}})')
    how = {key: fields.pop(key) for key in ("set", "threads", "progress") if key in fields}
    return {**how, "fields": fields}


def run(scenario=None, /, **fields):
    """Simulates every point of a scenario (docs/scenarios.md). A row a point: label, ranks, tensor, time_s, ...
    per_rank=True, per_iteration=True: with arrays."""
    return _rows("run", "points", scenario, _split(fields))


def plan(scenario=None, /, **fields):
    """The cheapest scheme of each tensor, and by what margin. lossy=True, model_parallel=True: such schemes, too."""
    return _rows("plan", "plan", scenario, _split(fields))


def place(scenario=None, /, **fields):
    """Where the tables of a trace might live, each candidate played. A row a candidate: placement, time_s, ...; `document`
    is the best one, as `placement` takes it. One place, one rank count."""
    return _rows("place", "plan", scenario, _split(fields))


def check(scenario=None, /, **fields):
    """Holds a scenario against its own "expect", or a form of your own ("formula") against schedules and times. A row an expectation: expectation, ok, points, misses; `document` has
    "ok", whether all hold, and "points", as run() gives them. What fails is no error."""
    return _rows("check", "expectations", scenario, _split(fields))


def export(scenario, path, format="goal", **fields):
    """Writes the schedule of a scenario's one point for other simulators (docs/export.md): "goal" makes a file at `path`,
    "chakra" one for each rank, PATH.0.et, PATH.1.et, ..."""
    told, to = _library.text(format, "format"), _library.text(path, "path")
    _carry_out(lambda request, error: lib.ss_request_export(request, told, to, error), lambda: None, scenario, **_split(fields))


def import_trace(files, path, /, **fields):
    """Makes a trace of data (docs/traces.md), written to `path`: ranks, batch, from_ ("csv", "criteo", ...), columns,
    hash_rows, ... (docs/library.md). `files`: a path, also of Parquet or Arrow (with pyarrow), or pairs of indices and offsets."""
    if not isinstance(files, (str, os.PathLike, tuple, builtins.list)):
        raise Error(f"files: {files!r} is no path, and no list of paths")
    files = [_library.text(f, "files").decode("utf-8", "surrogateescape") for f in ([files] if isinstance(files, (str, os.PathLike)) else files)]
    _say_once(fields, ("files", *(("from",) if "from_" in fields else ())), "as an argument too")
    if len(files) == 1 and files[0].endswith((".parquet", ".arrow", ".feather")) and "from_" not in fields:
        return import_columns(files[0], path, fields)
    if "from_" in fields:
        fields["from"] = fields.pop("from_")
    trace, to = ctypes.c_void_p(), _library.text(path, "path")
    _carry_out(lambda request, error: lib.ss_request_import(request, to, ctypes.byref(trace), error), lambda: lib.ss_trace_close(trace),
               {"files": files}, **_split(fields))
    return Trace._of(trace)


def train(scenario=None, /, **fields):
    """Iteration time and stall of training systems (docs/training.md): workload, systems, cluster, ranks, ...; of a `capture`
    document["capture"] has what was measured, what is predicted, and what the fastest systems would make of it."""
    return _rows("train", "training", scenario, _split(fields))


def cost(*schemes, **fields):
    """Closed forms: M, density, ranks, cluster, ... (docs/library.md). A row a form and rank count; without schemes, of
    all of them."""
    _say_once(fields, ("schemes", "scheme") if schemes else (), "as an argument too")
    return _rows("cost", "points", {"schemes": [*schemes]} if schemes else None, _split(fields))


def crossover(a, b, over, **fields):
    """Where two schemes cost the same over density, ranks, bandwidth, latency or M. A row a range: from, to, winner;
    `document` has "crossings": at, and from at_low to at_high in 90 of 100 draws of what is not certain."""
    return _rows("crossover", "ranges", {"a": a, "b": b, "over": over}, _split(fields))


def learn(**fields):
    """Trains a small model under each of `schemes` on a `text`, or a `trace` of one (docs/learning.md). A row a scheme,
    with the loss of every step."""
    return _rows("learn", "curves", None, _split(fields))


def stats(trace, **fields):
    """How sparse a trace is (docs/traces.md). A row a tensor: density, overlap, gamma, ..."""
    return _rows("stats", "tensors", None, _split({"trace": trace, **fields}))


def calibrate(*logs, **fields):
    """A cluster out of benchmarks' logs (docs/calibration.md), as a dict that `cluster` takes. With validate=True how well
    each collective is predicted from the others instead: a dict of "errors", "times" and more. Without logs, and with
    times="times.csv" and fit=[...], what trainings take beside the wire, as a dict that `software` takes."""
    _say_once(fields, ("logs",) if logs else (), "as an argument too")
    return _ask("calibrate", {"logs": [os.fspath(log) for log in logs]} if logs else {}, **_split(fields))


from ._command import Picture, collective, import_columns, list, plot, report, synth, trace_fit  # noqa: E402: `list` is a list until here
# SPDX-License-Identifier: Apache-2.0
