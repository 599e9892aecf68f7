#!/usr/bin/python3
"""`sparsync trace fit`: held out against ranks that it has not seen, against closed forms, and wrong inputs. Arguments:
the program, the source tree. Prints TAP."""
import csv
import io
import json
import math
import os
import pathlib
import re
import shlex
import shutil
import statistics
import subprocess
import sys

import tap
import traces
from asking import ask
from tap import test

PROGRAM, ROOT = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
BIBLE, WORDNET = (ROOT / "traces" / name for name in ("bible-kjv-16.safetensors", "wordnet-64.safetensors"))


def fit(trace, *options):
    document = json.loads(ask("trace", "fit", trace, "--format", "json", *options).stdout)
    return document["tensors"][0]


def estimate(trace, start, ranks, *options):
    """The extrapolated quantities at a rank count, fitted on the first `start` ranks."""
    point, = fit(trace, "--from", start, "--ranks", ranks, *options)["points"]
    assert point["ranks"] == ranks and point["measured"] is None
    return point["extrapolated"]


def stats(trace, ranks):
    return json.loads(ask("trace", "stats", trace, "--ranks", ranks, "--format", "json").stdout)["tensors"][0]


def held_out(trace, start, ranks, within, misses=()):
    """The relative error of gamma, which must be within a share, and inside the bar; the bars of the others too."""
    truth, guess = stats(trace, ranks), estimate(trace, start, ranks)
    true = {"gamma": truth["gamma"][ranks - 1], "nnz": truth["coalesced"], "density": truth["density"], "bytes": truth["coalesced_bytes"]}
    true["union_rows"] = true["gamma"] * true["nnz"]
    true["union_density"] = true["union_rows"] / truth["rows"]
    true["union_bytes"] = true["union_rows"] * true["bytes"] / true["nnz"]
    error = guess["gamma"]["value"] / true["gamma"] - 1
    assert abs(error) < within, f"{trace}: gamma({ranks}) from {start} ranks is {100 * error:+.1f}% off"
    for name, value in true.items():
        bar = guess[name]
        assert bar["low"] <= bar["value"] <= bar["high"], f"{name}: {bar}"
        if name not in misses:
            assert bar["low"] <= value <= bar["high"], f"{trace}: {name} is {value}, not in {bar}"
    return error


def read_segments(path):
    """Rows of the table, and [iteration][rank] sets of row ids, of a trace with one tensor."""
    tensor, segments = traces.lookups(path)
    return tensor["rows"], [[set(ids) for ids in iteration] for iteration in segments]


def write_trace(path, rows, segments):
    """A trace of [iteration][rank] lists of row ids."""
    return traces.write(path, [(traces.tensor("T", rows, 4), sum(segments, []))], len(segments[0]))


def plug_in(path, start, ranks):
    """What the seen popularities alone make of gamma(ranks): rows that nobody has seen are left out."""
    _, segments = read_segments(path)
    seen, total = {}, 0
    for iteration in segments:
        for rows in iteration[:start]:
            total += len(rows)
            for row in rows:
                seen[row] = seen.get(row, 0) + 1
    samples = len(segments) * start
    return sum(1 - (1 - count / samples) ** ranks for count in seen.values()) / (total / samples)


# --- held out ---------------------------------------------------------------------------------------------------------


@test
def a_dictionary_whose_ranks_draw_alike(folder):
    error = held_out(WORDNET, 16, 64, 0.05)
    true = stats(WORDNET, 64)["gamma"][63]
    plain = plug_in(WORDNET, 16, 64) / true - 1
    assert abs(error) < 0.5 * abs(plain), f"no better than the plug-in: {error} against {plain}"
    held_out(WORDNET, 8, 32, 0.05)
    held_out(WORDNET, 32, 64, 0.05)


@test
def verses_whose_ranks_read_their_own_book(folder):
    held_out(BIBLE, 4, 16, 0.10)


@test
def a_book_on_64_ranks(folder):
    if not shutil.which("bible"):
        raise tap.Skip("Debian's bible-kjv is not installed")
    said = subprocess.run(["bible", "-f", "Genesis1:1-Revelation22:21"], stdin=subprocess.DEVNULL, capture_output=True, timeout=tap.HANG).stdout
    text = folder / "book.txt"
    text.write_bytes(b"\n".join(line.split(b" ", 1)[-1] for line in said.split(b"\n")))
    for layout in (["sentence", "--batch", "16", "--iterations", "30"], ["stream", "--batch", "16", "--seq", "32", "--iterations", "20"]):
        trace = folder / "book.safetensors"
        ask("trace", "import", text, "--layout", *layout, "--ranks", 64, "-o", trace)
        error = held_out(trace, 16, 64, 0.10)
        plain = plug_in(trace, 16, 64) / stats(trace, 64)["gamma"][63] - 1
        assert abs(error) < 0.7 * abs(plain), f"no better than the plug-in: {error} against {plain}"


@test
def rows_drawn_evenly_follow_the_closed_form(folder):
    trace = folder / "even.safetensors"
    ask("trace", "synth", "--zipf", 0, "--rows", 20000, "--tokens", 2000, "--ranks", 16, "--iterations", 6, "-o", trace)
    chance = 1 - (1 - 1 / 20000) ** 2000
    for ranks in (32, 128):
        wanted = (1 - (1 - chance) ** ranks) / chance
        found = estimate(trace, 16, ranks)["gamma"]["value"]
        assert abs(found / wanted - 1) < 0.02, f"gamma({ranks}) is {found}, not {wanted}"


@test
def extremes(folder):
    apart = write_trace(folder / "apart.safetensors", 100000, [[[1000 * r + 50 * t + i for i in range(50)] for r in range(8)] for t in range(3)])
    found = estimate(apart, 8, 32)["gamma"]
    assert abs(found["value"] / 32 - 1) < 0.03 and found["high"] <= 32, found
    same = write_trace(folder / "same.safetensors", 1000, [[list(range(50))] * 8] * 3)
    found = estimate(same, 8, 64)["gamma"]
    assert abs(found["value"] - 1) < 0.02 and found["low"] >= 1, found
    once = write_trace(folder / "once.safetensors", 1000, [[[r, r + 1, 9] for r in range(0, 40, 5)]])
    tensor = fit(once, "--ranks", 16)
    assert tensor["model"]["phi"] is None and tensor["points"][0]["extrapolated"]["gamma"]["value"] > 1
    full = write_trace(folder / "full.safetensors", 20, [[[(7 * r + i) % 20 for i in range(5)] for r in range(8)] for t in range(2)])
    found = estimate(full, 8, 4096)["union_rows"]
    assert 19 < found["value"] <= 20 and found["high"] <= 20, f"more rows than the table has: {found}"


@test
def bars_are_those_of_student(folder):
    """95 of 100, of five errors of gamma (four backtests and the misfit), by a printed table of Student's t; of a rank's rows by the
    trace's quarters of the ranks; the union's are both together."""
    tensor = fit(WORDNET, "--from", 16, "--ranks", 64)
    found = tensor["points"][0]["extrapolated"]
    errors = [math.log1p(e) for e in (tensor["model"]["misfit"], *(b["gamma"] for b in tensor["backtests"]))]
    assert len(errors) == 5
    gamma = 2.570582 * math.sqrt(sum(e * e for e in errors) / 5)  # from 16 to 64 ranks as from 4 to 16
    _, segments = read_segments(WORDNET)
    nnz = [statistics.fmean(len(iteration[r]) for iteration in segments for r in range(*ranks)) for ranks in ((0, 16), (0, 4), (4, 8), (8, 12), (12, 16))]
    rows = 3.182446 * math.sqrt(sum(math.log(n / nnz[0]) ** 2 for n in nnz[1:]) / 3)
    for name, width in (("gamma", gamma), ("nnz", rows), ("union_rows", math.hypot(gamma, rows))):
        for end, sign in (("low", -1), ("high", 1)):
            got = math.log(found[name][end] / found[name]["value"])
            assert abs(got - sign * width) < 1e-5 * width, f"{name}.{end}: {got}, not {sign * width}"


@test
def nobody_looks_anything_up(folder):
    trace = write_trace(folder / "none.safetensors", 10, [[[]] * 4] * 2)
    tensor = fit(trace, "--ranks", "4,8")
    assert tensor["model"] is None and tensor["points"][0]["measured"]["gamma"] is None
    assert tensor["points"][1]["extrapolated"]["gamma"] == {"value": None, "low": None, "high": None}
    assert "nothing to extrapolate" in ask("trace", "fit", trace).stdout


# --- what it prints ---------------------------------------------------------------------------------------------------


@test
def measured_and_extrapolated_never_look_alike(folder):
    points = fit(BIBLE, "--ranks", "64,4,16,8")["points"]
    assert [p["ranks"] for p in points] == [4, 8, 16, 64]
    for p in points:
        assert (p["measured"] is None) == (p["ranks"] > 16) and (p["extrapolated"] is None) == (p["ranks"] <= 16)
        if p["measured"]:
            wanted = stats(BIBLE, p["ranks"])
            assert abs(p["measured"]["gamma"] / wanted["gamma"][p["ranks"] - 1] - 1) < 1e-12
            assert abs(p["measured"]["nnz"] / wanted["coalesced"] - 1) < 1e-12
            assert abs(p["measured"]["density"] / wanted["density"] - 1) < 1e-12
    table = ask("trace", "fit", BIBLE, "--ranks", "4,16,64").stdout
    assert re.search(r"^ *~64 +~\d", table, re.M) and re.search(r"^ *16 +\d", table, re.M) and "low..high" in table
    rows = list(csv.DictReader(io.StringIO(ask("trace", "fit", BIBLE, "--ranks", "16,64", "--format", "csv").stdout)))
    assert rows[0]["gamma"] and not rows[0]["gamma.extrapolated"] and not rows[0]["gamma.low"]
    assert rows[1]["gamma.extrapolated"] and rows[1]["gamma.low"] and not rows[1]["gamma"]


@test
def defaults_parts_and_places(folder):
    out = folder / "fit.json"
    ask("trace", "fit", BIBLE, "--iterations", "0:10", "--format", "json", "-o", out)
    document = json.loads(out.read_text())
    assert document["iterations"] == 10 and document["from_ranks"] == 16
    tensor, = document["tensors"]
    assert [p["ranks"] for p in tensor["points"]] == [16, 32, 64, 128]
    assert [b["first_rank"] for b in tensor["backtests"]] == [0, 4, 8, 12] and tensor["backtests"][0]["ranks"] == 4
    assert fit(BIBLE, "--tensor", tensor["name"], "--iterations", "0:10") == tensor
    wide = [p["extrapolated"]["gamma"] for p in tensor["points"][1:]]
    assert all(a["high"] / a["low"] < b["high"] / b["low"] for a, b in zip(wide, wide[1:])), "bars do not widen"
    one = {**os.environ, "OMP_NUM_THREADS": "1"}
    assert json.loads(ask("trace", "fit", BIBLE, "--iterations", "0:10", "--format", "json", environment=one).stdout) == document


@test
def the_error_of_run_names_a_command_that_works(folder):
    said = ask("run", "--trace", BIBLE, "--cluster", "rtx3090-10gbe", "--scheme", "zen", "--ranks", "64", status=2, cwd=ROOT).stderr
    command = re.search(r"sparsync (trace fit \S+ --ranks \d+)", said)
    assert command, said
    found = json.loads(ask(*shlex.split(command.group(1)), "--format", "json", cwd=ROOT).stdout)
    assert found["tensors"][0]["points"][0]["extrapolated"]["gamma"]["value"] > 10
    made = re.search(r"sparsync (trace synth --ranks \d+)", said)
    assert made, said
    ask(*shlex.split(made.group(1)), "--iterations", 1, "-o", folder / "wide.safetensors")
    assert json.loads(ask("trace", "info", folder / "wide.safetensors", "--format", "json").stdout)["ranks"] == 64


@test
def wrong_inputs(folder):
    few = write_trace(folder / "few.safetensors", 10, [[[1], [2], [3]]])
    for arguments, says in (
            ([], "name a trace"), ([BIBLE, "more"], "one file is enough"), ([BIBLE, "--from", "17"], "has 16 ranks, not 17"),
            ([BIBLE, "--from", "3"], "too few"), ([few], "too few"), ([BIBLE, "--ranks", "0"], "ranks"),
            ([BIBLE, "--iterations", "40:60"], "not within its 0:50"), ([BIBLE, "--iterations", "5"], "is not a range"),
            ([BIBLE, "--tensor", "embeding"], "did you mean \"embedding\""), ([BIBLE, "--format", "xml"], "not table, json, csv or markdown"),
            ([folder / "absent"], "absent"), ([BIBLE, "--form", "json"], "--form")):
        done = ask("trace", "fit", *arguments, status=2)
        assert says in done.stderr and done.stderr.count("\n") == 1 and not done.stdout, f"{arguments}: {done.stderr!r}"


sys.exit(tap.run())
# SPDX-License-Identifier: Apache-2.0
