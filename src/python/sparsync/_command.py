"""What the command does and the library does not, asked of the command: pages, pictures, lists, made traces.

It is $SPARSYNC_COMMAND, else the one that came with this package, else the PATH's; of the library's version."""
import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile

from . import _library
from ._library import Error
from ._rows import Rows
from ._trace import Trace

PAIRS = ("where", "style", "hash_rows", "row_width", "vocab")  # options that take KEY=VALUE
OPTIONS = {"schemes": "scheme", **{name: name for name in ("trace", "cluster", "scheme", "tensor", "bandwidth", "latency")}}
FLAGS = ("lossy", "model_parallel", "per_rank", "per_iteration", "no_sliders", "no_verify")
STATUS = {1: "unproven", 2: "bad input"}


def _places():
    package, library = pathlib.Path(__file__).parent, os.environ.get("SPARSYNC_LIBRARY")
    yield os.environ.get("SPARSYNC_COMMAND")
    if library:  # in a build folder
        yield pathlib.Path(library).resolve().parent.parent / "sparsync"
    yield package.parent / "bin" / "sparsync"  # pip install --target
    yield pathlib.Path(sysconfig.get_path("scripts")) / "sparsync"
    yield shutil.which("sparsync")


@functools.cache
def _program():
    program = next((str(path) for path in _places() if path and os.access(path, os.X_OK) and os.path.isfile(path)), None)
    if not program:
        raise Error("there is no command sparsync: name it in SPARSYNC_COMMAND", "machine")
    version = subprocess.run([program, "--version"], capture_output=True, text=True).stdout.split("\n")[0]
    if version != f"sparsync {_library.lib.ss_version().decode()}":
        raise Error(f"{program} is {version or 'no sparsync'}, and the library {_library.lib.ss_version().decode()}: "
                    "name its own command in SPARSYNC_COMMAND", "machine")
    return program


def _call(*words):
    """What it prints, as bytes; its warnings are ours. Files that hold what was handed over have its names."""
    done = subprocess.run([_program(), *map(_word, words)], capture_output=True, stdin=subprocess.DEVNULL)
    said = done.stderr.decode("utf-8", "replace").splitlines()
    for line in said:
        if ": warning: " in line:
            _library.tell(line.split(": warning: ", 1)[1])
    if done.returncode != 0:
        text = said[-1].split(": ", 1)[-1] if said else f"sparsync ended with status {done.returncode}"
        text = re.sub(r"[^\s\"]*/sparsync-[^/\s]*/(\w+)\.\w+", r"\1", text)
        raise Error(text, STATUS.get(done.returncode, "machine"))
    return done.stdout


def _word(value):
    return _library.text(value if isinstance(value, (str, os.PathLike)) else str(value), "argument")


def _path(value):
    """Where an answer goes: judged before anything is written."""
    return _library.text(value, "path").decode("utf-8", "surrogateescape")


def _plain(value):
    """As an option takes it: lists with commas, objects as JSON."""
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, dict):
        return json.dumps(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return ",".join(map(str, value)) if isinstance(value, (list_type, tuple)) else value


list_type = list  # `list` is a function of this package


def _options(folder, fields):
    """{"row_width": 64, "in_place": True}: --row-width 64 --in-place. Objects and traces become files."""
    words = []
    for name, value in fields.items():
        option = "--" + name.rstrip("_").replace("_", "-")
        if value is None or value is False:
            continue
        if isinstance(value, Trace):
            value = _saved(folder, value)
        elif isinstance(value, dict) and name == "like":
            words += [option, ",".join(f"{statistic}={one}" for statistic, one in value.items())]
            continue
        elif isinstance(value, dict) and name not in PAIRS:
            value = folder / f"{name}.json"
            value.write_text(json.dumps(fields[name]))
        if value is True:
            words.append(option)
        elif isinstance(value, dict):
            for key, one in value.items():  # either value of a field; a style is both, its colour and its dash
                for each in one if name != "style" and isinstance(one, (list_type, tuple)) else [one]:
                    words += [option, f"{key}={_plain(each)}"]
        else:
            words += [option, _plain(value)]
    return words


def _saved(folder, trace):
    path = folder / f"trace{sum(1 for _ in folder.iterdir())}.safetensors"
    trace.save(path)
    return path


def _scenario(folder, scenario, fields):
    """A document and edits of it, as the library takes them, for the command."""
    words, named = [], isinstance(scenario, (str, os.PathLike))
    if not named and scenario is not None and not isinstance(scenario, dict):
        raise Error(f"scenario: {scenario!r} is no name, no file, and no dict")
    document = {} if named or scenario is None else dict(scenario)
    for path, value in fields.items():
        value = value.tolist() if hasattr(value, "tolist") else os.fspath(value) if isinstance(value, os.PathLike) else value
        several = isinstance(value, (list_type, tuple)) and all(isinstance(one, str) for one in value)
        if isinstance(value, bool) and path in FLAGS:
            words += ["--" + path.replace("_", "-")] if value else []
        elif path in OPTIONS and several and value:
            for one in value if path == "tensor" else [",".join(value)]:
                words += ["--" + OPTIONS[path], one]
        elif path in OPTIONS and isinstance(value, (str, int, float, Trace)):
            words += ["--" + OPTIONS[path], _saved(folder, value) if isinstance(value, Trace) else value]
        elif isinstance(value, (dict, list_type, tuple)) and not named and "." not in path:
            document[path] = value  # whose numbers are SI, as a file's are
        else:
            words += ["--set", f"{path}={json.dumps(value)}"]
    if document or (scenario is not None and not named):
        (folder / "scenario.json").write_text(json.dumps(document))
        scenario, named = folder / "scenario.json", True
    return ([scenario] if named else []) + words


def _folder():
    return tempfile.TemporaryDirectory(prefix="sparsync-")


class Picture:
    """What gnuplot drew, as SVG, which notebooks show."""

    def __init__(self, svg):
        self.svg = svg

    def _repr_svg_(self):
        return self.svg

    def save(self, path):
        pathlib.Path(path).write_text(self.svg)

    def __repr__(self):
        return f"<sparsync.Picture of {len(self.svg)} bytes>"


def plot(what, path=None, **options):
    """Draws a figure (a name of list("figures"), a file, or a dict), a file of results, or an answer: a Picture, or the file at
    `path` (.svg, .pdf, .png, .tex). Options are the command's: kind="map", x="ranks", where={"cluster": [...]},
    style={"ours": "#cc3311,dashed"}."""
    with _folder() as name:
        folder = pathlib.Path(name)
        if not isinstance(what, (Rows, dict)) and _path(what).startswith("-"):
            raise Error(f"{what}: no figure begins with -", "bad input")
        if isinstance(what, (Rows, dict)):
            (folder / "results.json").write_text(json.dumps(what if isinstance(what, dict) else what.document))
            what = folder / "results.json"
        drawn = _call("plot", what, *_options(folder, options), *(["-o", _path(path)] if path is not None else []))
    return pathlib.Path(path) if path is not None else Picture(drawn.decode())


def report(scenario=None, path="report.html", /, set=None, **fields):
    """Writes the page of a scenario, one file, and returns its path (`sparsync report --help`)."""
    with _folder() as name:
        folder = pathlib.Path(name)
        if path is None:
            raise Error("path: a page goes to a file", "bad input")
        _call("report", *_scenario(folder, scenario, {**fields, **(set or {})}), "-o", _path(path))
    return pathlib.Path(path)


def trace_fit(trace, **options):
    """Gamma, density and bytes on more ranks than a trace has, with ranges: a row a tensor and rank count (docs/traces.md).
    ranks=[16, 64], from_=8, iterations="0:10"."""
    with _folder() as name:
        folder = pathlib.Path(name)
        file = _saved(folder, trace) if isinstance(trace, Trace) else trace
        answer = json.loads(_call("trace", "fit", file, *_options(folder, options), "--format", "json"))
    rows = [{"tensor": t["name"], **point} for t in answer["tensors"] for point in t["points"]]
    return Rows(rows, answer, "fit")


def synth(path=None, /, **options):
    """A trace of lookups by Zipf's law or a histogram of reuse: rows=10**6, ranks=64, zipf=1.1, ... (docs/traces.md).
    Without `path` no file is kept."""
    with _folder() as name:
        folder = pathlib.Path(name)
        to = folder / "synth.safetensors" if path is None else _path(path)
        _call("trace", "synth", "-o", to, *_options(folder, options))
        return Trace.open(to)  # mapped: it outlives the file's name


def import_columns(file, path, fields):
    """Of Parquet and Arrow, which the command reads with this Python's pyarrow."""
    os.environ.setdefault("SPARSYNC_PYTHON", sys.executable)
    with _folder() as name:
        _call("trace", "import", file, "-o", _path(path), *_options(pathlib.Path(name), fields))
    return Trace.open(path)


def collective(name, cluster, **options):
    """What a library's collective takes on a cluster: a row an algorithm and size. ranks=64, sizes="1KiB:1GiB"."""
    with _folder() as temporary:
        folder = pathlib.Path(temporary)
        answer = json.loads(_call("collective", name, *_options(folder, {"cluster": cluster, **options}), "--format", "json"))
    return Rows(answer["times"], answer)


def list(things):
    """What there is: schemes, costs, clusters, devices, workloads, systems, figures, claims or scenarios; a row a thing."""
    answer = json.loads(_call("list", things, "--format", "json"))
    return Rows(answer[things], answer, "list")
# SPDX-License-Identifier: Apache-2.0
