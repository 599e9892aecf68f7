#!/usr/bin/python3
"""`sparsync trace` as its users call it. Arguments: the program, the source tree. Prints TAP."""
import csv
import io
import json
import math
import os
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys

import tap
from asking import PROGRAM, ROOT, fits
from tap import test

BIBLE, WORDNET, CLICKS = (ROOT / "traces" / f"{name}.safetensors" for name in ("bible-kjv-16", "wordnet-64", "clicks-4"))


def trace(*arguments, status=0, **options):
    """Runs `sparsync trace ARGUMENTS` and returns (stdout, stderr) as bytes."""
    done = subprocess.run([PROGRAM, "trace", *map(str, arguments)], capture_output=True, timeout=tap.HANG, **options)
    assert done.returncode == status, f"status {done.returncode}, not {status}: {arguments} {done.stderr!r}"
    return done.stdout, done.stderr


def refused(folder, *arguments, says="", status=2, **options):
    """The command fails with one line that says so, and leaves the folder as it was."""
    before = {p: p.read_bytes() for p in folder.iterdir() if p.is_file()}
    out, err = trace(*arguments, status=status, **options)
    assert out == b"", f"wrote {out[:80]!r}"
    assert err.count(b"\n") == 1 and says in err.decode(), f"said {err!r}, not {says!r}"
    after = {p: p.read_bytes() for p in folder.iterdir() if p.is_file()}
    assert before == after, f"changed {before.keys() ^ after.keys()}"


def write_trace(path, header, data):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def small(ids, dtype="I32", letter="i"):
    """Header and data of a trace with one tensor of 10 rows, one iteration and one rank."""
    offsets, rows = struct.pack("<2q", 0, len(ids)), struct.pack(f"<{len(ids)}{letter}", *ids)
    tensor = [{"name": "T", "rows": 10, "row_width": 4, "dtype": "BF16"}]
    header = {
        "__metadata__": {"sparsync.version": "1", "iterations": "1", "ranks": "1", "tensors": json.dumps(tensor)},
        "T.offsets": {"dtype": "I64", "shape": [2], "data_offsets": [0, 16]},
        "T.rows": {"dtype": dtype, "shape": [len(ids)], "data_offsets": [16, 16 + len(rows)]},
    }
    return header, offsets + rows


# --- what it prints -----------------------------------------------------------------------------------------


@test
def help_of_each(folder):
    for verb in ([], ["import"], ["synth"], ["fit"], ["merge"], ["stats"], ["info"]):
        out, err = trace(*verb, "--help")
        assert b"usage: sparsync trace" in out and b"example" in out and err == b""


@test
def info_of_shipped(folder):
    for path, ranks, iterations in ((BIBLE, 16, 50), (WORDNET, 64, 12)):
        document = json.loads(trace("info", path, "--format", "json")[0])
        fits("trace-info", document)
        assert document["ranks"] == ranks and document["iterations"] == iterations
        assert document["pad_id"] == 0 and document["dense"] == []
        assert document["tensors"][0]["bytes"] == document["tensors"][0]["rows"] * 512 * 4
        table = trace("info", path)[0].decode()
        assert document["trace_hash"] in table and document["source"] in table
    for path in (BIBLE, WORDNET, CLICKS):  # each column has what JSON has: of the tensor, or of the trace
        document = json.loads(trace("info", path, "--format", "json")[0])
        lines = list(csv.DictReader(io.StringIO(trace("info", path, "--format", "csv")[0].decode())))
        assert len(lines) == len(document["tensors"])
        for line, tensor in zip(lines, document["tensors"]):
            of_trace = {key: document[key] for key in ("trace", "trace_hash", "iterations", "ranks", "source")}
            wanted = {"tensor" if key == "name" else key: value for key, value in {**of_trace, **tensor}.items()}
            assert line == {key: "" if value is None else f"{value:g}" if isinstance(value, float) else str(value) for key, value in wanted.items()}, (line, wanted)


@test
def a_trace_may_be_of_one_rank_and_one_iteration(folder):
    """The smallest that there is, with its values: each reader takes it."""
    header, data = small([7])
    values = struct.pack("<4f", 1, 0, -2, 0.5)
    header["T.values"] = {"dtype": "F32", "shape": [4], "data_offsets": [len(data), len(data) + len(values)]}
    write_trace(folder / "one.safetensors", header, data + values)
    [tensor] = json.loads(trace("info", folder / "one.safetensors", "--format", "json")[0])["tensors"]
    assert (tensor["rows"], tensor["lookups"], tensor["values"]) == (10, 1, "F32")
    [tensor] = json.loads(trace("stats", folder / "one.safetensors", "--format", "json")[0])["tensors"]
    assert tensor["rows"] == 10
    for verb in ("info", "stats"):
        assert b"T " in trace(verb, folder / "one.safetensors")[0]


@test
def stats_of_shipped(folder):
    for path in (BIBLE, WORDNET):
        document = json.loads(trace("stats", path, "--format", "json")[0])
        fits("trace-stats", document)
        tensor = document["tensors"][0]
        assert len(tensor["gamma"]) == document["ranks"] and tensor["prior"] < tensor["coalesced"] < tensor["lookups"]
        assert tensor["coalesced_bytes"] == tensor["coalesced"] * 2048
        lines = list(csv.DictReader(io.StringIO(trace("stats", path, "--format", "csv")[0].decode())))
        line = lines[15]
        assert [int(l["k"]) for l in lines] == list(range(1, document["ranks"] + 1)), "a line for each k"
        assert all(math.isclose(float(l["gamma"]), g, rel_tol=1e-14) for l, g in zip(lines, tensor["gamma"]))
        assert {l["k"]: float(l["skewness"]) for l in lines if l["skewness"]} == tensor["skewness"]
        for field in ("density", "overlap", "lookups", "coalesced", "prior", "prior_bytes"):
            assert abs(float(line[field]) / tensor[field] - 1) < 1e-14
        assert f"{tensor['prior']:.1f}" in trace("stats", path)[0].decode()
        assert f"{tensor['prior']:.1f}" in (ROOT / "traces" / "README.md").read_text()


@test
def stats_of_part(folder):
    document = json.loads(trace("stats", BIBLE, "--iterations", "10:20", "--ranks", "5", "--format", "json")[0])
    assert (document["first_iteration"], document["iterations"], document["ranks"]) == (10, 10, 5)
    assert list(document["tensors"][0]["skewness"]) == ["1", "2", "4", "5"]
    one = json.loads(trace("stats", BIBLE, "--iterations=49:", "--ranks=1", "--format=json")[0])
    fits("trace-stats", one)
    assert one["tensors"][0]["overlap"] is None and one["tensors"][0]["prior"] is None
    first = [trace("stats", BIBLE, "--iterations", part, "--format", "json")[0] for part in (":5", "5", "0:5")]
    assert first[0] == first[1] == first[2]


@test
def stats_into_file(folder):
    trace("stats", BIBLE, "--format", "json", "-o", folder / "s.json")
    assert (folder / "s.json").read_bytes() == trace("stats", BIBLE, "--format", "json")[0]


# --- making -------------------------------------------------------------------------------------------------


@test
def synth_on_any_threads(folder):
    for threads in "13":
        trace("synth", "--rows", "5000", "--hot", "20%", "--hot-rows", "9", "-o", folder / threads,
              env={**os.environ, "OMP_NUM_THREADS": threads})
    assert (folder / "1").read_bytes() == (folder / "3").read_bytes()
    assert b"common hot set of 9 rows, ids shuffled, seed 1" in trace("info", folder / "1")[0]


@test
def import_from_stdin(folder):
    text = b"the cat and the dog\nthe end\n" * 4
    (folder / "text").write_bytes(text)
    options = ["--ranks", "2", "--layout", "sentence", "--batch", "2", "--source", "cats"]
    out, err = trace("import", "-", *options, "-o", "-", input=text)
    trace("import", folder / "text", *options, "-o", folder / "t")
    assert out == (folder / "t").read_bytes() and err == b""
    document = json.loads(trace("info", folder / "t", "--format", "json")[0])
    assert document["source"] == "cats" and document["iterations"] == 2 and document["tokens"] == 28
    assert document["tensors"][0]["rows"] == 7 and document["tensors"][0]["lookups"] == 40


@test
def merge_of_halves(folder):
    for name, seed in (("a", 1), ("b", 2)):
        trace("synth", "--ranks", "2", "--seed", str(seed), "--tokens", "9", "-o", folder / name)
    refused(folder, "merge", folder / "a", folder / "b", "-o", folder / "c", says="source")
    trace("merge", folder / "a", folder / "b", "--source", "both", "-o", folder / "c")
    document = json.loads(trace("info", folder / "c", "--format", "json")[0])
    assert document["ranks"] == 4 and document["source"] == "both" and document["tokens"] == 360
    refused(folder, "merge", folder / "a", BIBLE, "-o", folder / "d", says="iterations")


@test
def shipped_traces_as_told(folder):
    """The lines of traces/README.md make the shipped files, bit for bit."""
    if not (shutil.which("bible") and os.path.exists("/usr/share/dictd/wn.dict.dz")):
        raise tap.Skip("needs the packages bible-kjv and dict-wn")
    block = re.search(r"```sh\n(.*?)```", (ROOT / "traces" / "README.md").read_text(), re.S).group(1)
    script = "set -e\n" + "\n".join(line for line in block.split("\n") if not line.startswith("apt-get"))
    (folder / "bin").mkdir()
    (folder / "bin" / "sparsync").symlink_to(PROGRAM)
    shutil.copy(ROOT / "traces" / "glosses.awk", folder)
    path = f"{folder / 'bin'}:{os.environ['PATH']}"
    subprocess.run(["bash", "-c", script], cwd=folder, env={**os.environ, "PATH": path}, check=True)
    for shipped in (BIBLE, WORDNET):
        assert (folder / shipped.name).read_bytes() == shipped.read_bytes(), shipped.name


@test
def traces_of_others(folder):
    for dtype, letter in (("I64", "q"), ("I32", "i"), ("U32", "I")):
        write_trace(folder / dtype, *small([9, 0, 9, 3], dtype, letter))
        document = json.loads(trace("stats", folder / dtype, "--format", "json")[0])
        assert document["tensors"][0]["coalesced"] == 3 and document["tensors"][0]["lookups"] == 4


# --- bad input ----------------------------------------------------------------------------------------------


@test
def bad_usage(folder):
    out = folder / "out"
    for arguments, says in (
        ([], "import, synth"),
        (["stat", BIBLE], 'did you mean "stats"'),
        (["stats"], "name a trace"),
        (["stats", BIBLE, WORDNET], "left over"),
        (["stats", BIBLE, "--formt", "json"], "--format"),
        (["stats", BIBLE, "--format", "xml"], "xml"),
        (["stats", BIBLE, "--iterations", "5-7"], "range"),
        (["stats", BIBLE, "--iterations", "7:3"], "7:3"),
        (["stats", BIBLE, "--iterations", "0:51"], "0:50"),
        (["stats", BIBLE, "--ranks", "17", "-o", out], "16 ranks"),
        (["info", BIBLE, "-o"], "-o"),
        (["import", BIBLE, "-o", out], "--ranks"),
        (["import", "--ranks", "2", "-o", out], "text"),
        (["import", BIBLE, "--ranks", "2"], "-o FILE"),
        (["import", BIBLE, "--ranks", "0", "-o", out], "--ranks"),
        (["import", BIBLE, "--ranks", "2", "--batch", "9999999", "-o", out], "one iteration of 2 ranks takes"),
        (["import", BIBLE, "--ranks", "2", "--layout", "page", "-o", out], "page"),
        (["import", BIBLE, "--ranks", "2", "--layout", "sentence", "--seq", "3", "-o", out], "--seq"),
        (["import", BIBLE, "--ranks", "2", "--vocab", "1", "-o", out], "--vocab"),
        (["import", folder / "none", "--ranks", "2", "-o", out], "none"),
        (["synth"], "-o FILE"),
        (["synth", "--zipf", "nan", "-o", out], "--zipf"),
        (["synth", "--zipf", "-1", "-o", out], "--zipf"),
        (["synth", "--hot", "0.5", "-o", out], "--hot-rows"),
        (["synth", "--hot", "0.5", "--hot-rows", "1000000", "-o", out], "hot_rows"),
        (["synth", "--rows", "4294967296", "-o", out], "--rows"),
        (["synth", "--dtype", "F64", "-o", out], "F64"),
        (["synth", "--lookups", "4611686018427387904", "-o", out], "lookups"),
        (["merge", "-o", out], "name the traces"),
        (["merge", BIBLE], "-o FILE"),
    ):
        refused(folder, *arguments, says=says)


@test
def bad_files(folder):
    header, data = small([1, 2, 3])
    write_trace(folder / "good", header, data)
    good = (folder / "good").read_bytes()
    (folder / "empty").write_bytes(b"")
    (folder / "text").write_bytes(b"this is not a trace, but a text that is long enough")
    (folder / "cut").write_bytes(good[:-1])
    (folder / "long").write_bytes(good + b"\0")
    (folder / "cap").write_bytes(struct.pack("<Q", (4 << 20) + 1) + good[8:])
    write_trace(folder / "json", b"{", data)
    write_trace(folder / "deep", b"[" * 100000, data)
    write_trace(folder / "id", *small([1, 10, 3]))
    write_trace(folder / "negative", *small([1, -1, 3]))
    (folder / "dir").mkdir()
    for name, says in (("none", "none"), ("empty", "0 bytes"), ("dir", "directory"), ("text", "header"), ("cut", "data"),
                       ("long", "data"), ("cap", "header"), ("json", "JSON"), ("deep", "nested"), ("id", "is 10, not"),
                       ("negative", "is -1, not")):
        for verb in (["info"], ["stats", "-o", folder / "out"], ["merge", "-o", folder / "out"]):
            refused(folder, verb[0], folder / name, *verb[1:], says=says)


# --- a machine that fails -----------------------------------------------------------------------------------


@test
def full_disk(folder):
    refused(folder, "stats", BIBLE, "-o", "/dev/full", status=3, says="/dev/full")
    refused(folder, "synth", "-o", "/dev/full", status=3, says="/dev/full")
    with open("/dev/full", "wb") as full:
        for arguments in (["info", BIBLE], ["stats", BIBLE], ["synth", "-o", "-"]):
            done = subprocess.run([PROGRAM, "trace", *map(str, arguments)], stdout=full, stderr=subprocess.PIPE)
            assert done.returncode == 3 and b"standard output" in done.stderr, (arguments, done)


@test
def old_file_stands(folder):
    """A file that may not grow stands for a disk that fills up half-way."""

    def no_growth():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000))

    (folder / "old").write_text("old")
    refused(folder, "synth", "-o", folder / "old", status=3, says="old", preexec_fn=no_growth)
    refused(folder, "merge", BIBLE, "-o", folder / "old", status=3, says="old", preexec_fn=no_growth)
    trace("synth", "-o", folder / "old")
    assert (folder / "old").stat().st_size > 100000


@test
def no_place_to_write(folder):
    done = subprocess.run([PROGRAM, "trace", "synth", "-o", folder / "none" / "out"], capture_output=True)
    assert done.returncode in (2, 3) and b"none/out" in done.stderr
    refused(folder, "stats", BIBLE, "-o", folder, says="directory")


sys.exit(tap.run())
# SPDX-License-Identifier: Apache-2.0
