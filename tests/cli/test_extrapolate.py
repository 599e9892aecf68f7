#!/usr/bin/python3
"""Ranks beyond those captured: every command answers as it does of a trace that a second program, here, wrote out by the rule of
docs/model.md; and what half of the captured ranks say of them all is computed from traces written out likewise. Arguments: the
program, the source tree. Prints TAP."""
import itertools
import json
import math
import random
import sys

import tap
import traces
from asking import refused, told
from tap import test, write_json

CLUSTER = "h100-8x8-400g"
WORDS = ("trace", "trace_hash", "point_hash", "result_hash", "extrapolated_from", "time_low_s", "time_high_s", "captured_s",
         "captured_by_half_s", "error_factor")
ROWS = "allreduce,allgather,ps,alltoall,sparcml-rd,sparcml-split,sparcml-dsar,omnireduce,zen,zen:balance=sorted,zen:plan=auto"


# --- traces -----------------------------------------------------------------------------------------------------------


def some_trace(dice, ranks, iterations, tables=1, valued=False):
    """Of each table: what it is, and [iteration][rank] a list of bags of (row, values). Ranks differ in what they like, and so do iterations."""
    def segment(rows, width, rank, t):
        likes = [(dice.randrange(rows) * (1 + rank) + t) % rows for _ in range(dice.choice((0, 3, 12)))]
        listed = sorted(set(likes)) if valued else likes
        listed = [(row, [dice.randrange(-64, 65) / 64 for _ in range(width)] if valued else None) for row in listed]
        cut = sorted(dice.randrange(len(listed) + 1) for _ in range(2))
        return [listed[:cut[0]], listed[cut[0]:cut[1]], listed[cut[1]:]]
    shapes = [traces.tensor(f"t{k}", dice.randrange(2, 60), dice.choice((1, 4, 9))) for k in range(tables)]
    return [(one, [[segment(one["rows"], one["row_width"], r, t) for r in range(ranks)] for t in range(iterations)]) for one in shapes]


def write(path, trace, bags=True, valued=False):
    entries = {}
    for one, iterations in trace:
        segments = [segment for ranks in iterations for segment in ranks]
        lookups = [[entry for bag in segment for entry in bag] for segment in segments]
        all_bags = [bag for segment in segments for bag in segment]
        entries[f"{one['name']}.offsets"] = "I64", list(itertools.accumulate(map(len, lookups), initial=0))
        entries[f"{one['name']}.rows"] = "I32", [row for segment in lookups for row, _ in segment]
        if bags:
            entries[f"{one['name']}.bags"] = "I64", list(itertools.accumulate(map(len, segments), initial=0))
            entries[f"{one['name']}.bag_offsets"] = "I64", list(itertools.accumulate(map(len, all_bags), initial=0))
        if valued:
            entries[f"{one['name']}.values"] = "F32", [x for segment in lookups for _, values in segment for x in values]
    ranks, iterations = len(trace[0][1][0]), len(trace[0][1])
    return traces.save(path, traces.about([one for one, _ in trace], ranks, iterations), entries)


def widened(trace, captured, ranks):
    """The rule: the first so many ranks of it as `ranks` ranks."""
    blocks = -(-ranks // captured)
    count = len(trace[0][1]) // blocks
    return [(one, [[iterations[t + r // captured * count][r % captured] for r in range(ranks)] for t in range(count)]) for one, iterations in trace]


def between(trace, first, end):
    return [(one, iterations[first:end]) for one, iterations in trace]


# --- answers ----------------------------------------------------------------------------------------------------------


def ask(trace, *more, schemes=ROWS, command="run", status=0):
    return told(command, "--trace", trace, "--cluster", CLUSTER, "--scheme", schemes, *more, "--certain", "--quiet", status=status)


def points(trace, *more, **options):
    return json.loads(ask(trace, *more, "--format", "json", **options))["points"]


def same(ours, theirs):
    def without(point):
        return {key: value for key, value in point.items() if key not in WORDS}
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs):
        assert without(a) == without(b), f"{a['label']}, {a['tensor']}: " + str({k: (a.get(k), b.get(k)) for k in {**a, **b} if k not in WORDS and a.get(k) != b.get(k)})


@test
def later_iterations_are_further_ranks(folder):
    """Bit for bit, in all fields, with what schemes keep from iteration to iteration."""
    dice = random.Random(1)
    for captured, ranks, iterations, tables in ((4, 8, 6, 1), (3, 7, 10, 2), (2, 9, 11, 1), (1, 5, 5, 2), (8, 16, 3, 3)):
        trace = some_trace(dice, captured, iterations, tables)
        ours = points(write(folder / "a", trace), "--ranks", ranks, "--extrapolate", "--per-rank", "--per-iteration")
        theirs = points(write(folder / "b", widened(trace, captured, ranks)), "--per-rank", "--per-iteration")
        same(ours, theirs)
        assert all(p["extrapolated_from"] == captured and p["exact"] and p["iterations"] == iterations // -(-ranks // captured) for p in ours)
        assert not any("error_factor" in p for p in theirs)


@test
def values_and_residuals_too(folder):
    dice = random.Random(2)
    for captured, ranks, iterations in ((4, 8, 6), (2, 8, 9)):
        trace = some_trace(dice, captured, iterations, valued=True)
        a, b = write(folder / "a", trace, False, True), write(folder / "b", widened(trace, captured, ranks), False, True)
        for schemes, select in (("topka:k=3,oktopk:k=3,gtopk:k=3,spardl:k=3", ()), ("allgather,zen", ("--set", "select.k=2"))):
            more = "--per-iteration", *select
            same(points(a, "--ranks", ranks, "--extrapolate", *more, schemes=schemes), points(b, *more, schemes=schemes))


@test
def bags_merged_ranks_and_capacity_too(folder):
    dice = random.Random(3)
    trace = some_trace(dice, 4, 8, 2)
    a, b = write(folder / "a", trace), write(folder / "b", widened(trace, 4, 12))
    for schemes in ("alltoall:pooling=sum", "alltoall:partition=table", "alltoall:pooling=padded,partition=table"):
        same(points(a, "--ranks", 12, "--extrapolate", schemes=schemes), points(b, schemes=schemes))
    same(points(a, "--ranks", 12, "--extrapolate", "--set", "capacity=1.5"), points(b, "--set", "capacity=1.5"))
    same(points(a, "--ranks", 6, "--merge", 2, "--extrapolate"), points(b, "--merge", 2))
    odd = some_trace(dice, 5, 6)  # of which four make two: the fifth is left out
    ours = points(write(folder / "a", odd), "--ranks", 5, "--merge", 2, "--extrapolate")
    same(ours, points(write(folder / "b", widened(odd, 4, 10)), "--merge", 2))
    assert {p["extrapolated_from"] for p in ours} == {2}


@test
def half_of_the_captured_ranks_judge(folder):
    """The range, out of times and bytes of traces that are written out."""
    dice = random.Random(4)
    for captured, ranks, iterations, window in ((8, 16, 6, ""), (8, 24, 8, ""), (5, 9, 9, ""), (8, 32, 12, "1:2"), (9, 20, 14, "0:2"), (4, 16, 16, "3:")):
        trace = some_trace(dice, captured, iterations)
        ours = points(write(folder / "a", trace), "--ranks", ranks, "--extrapolate", *(["--iterations", window] if window else []))
        half = captured // 2
        blocks, wide = -(-captured // half), -(-ranks // captured)
        there, played = iterations // blocks, iterations // wide
        first, end = [int(n) if n else played for n in window.split(":")] if window else (0, played)
        count = min(there, -(-(end - first) * wide // blocks))
        begin = min(first, there - count)
        by_half = points(write(folder / "half", between(widened(trace, half, captured), begin, begin + count)))
        parts = [points(write(folder / "part", between(trace, begin + k * there, begin + k * there + count))) for k in range(blocks)]
        for p, h, *parts_of in zip(ours, by_half, *parts):
            truth = {field: sum(q[field] for q in parts_of) / blocks for field in ("time_s", "bytes_sent_max", "bytes_received_max")}
            off = max(max(h[f] / truth[f], truth[f] / h[f]) for f in truth)
            steps = math.log(ranks / captured) / math.log(captured / half)
            expected = {"captured_s": truth["time_s"], "captured_by_half_s": h["time_s"], "error_factor": off,
                        "time_low_s": p["time_s"] / off ** steps, "time_high_s": p["time_s"] * off ** steps}
            for field, value in expected.items():
                assert math.isclose(p[field], value, rel_tol=1e-12), f"{captured} to {ranks}, {p['label']}: {field} {p[field]}, not {value}"


@test
def all_tensors_together_add_their_ranges(folder):
    trace = write(folder / "a", some_trace(random.Random(5), 4, 4, 3))
    ours = points(trace, "--ranks", 8, "--extrapolate", schemes="ps")
    *each, together = ours
    assert together["tensor"] == "*" and together["error_factor"] is None
    for field in "time_high_s", "captured_s", "captured_by_half_s":
        assert math.isclose(together[field], sum(p[field] for p in each), rel_tol=1e-12)
    assert math.isclose(together["time_low_s"], together["time_s"] ** 2 / together["time_high_s"], rel_tol=1e-12)


@test
def where_half_cannot_play_there_is_no_range(folder):
    dice = random.Random(6)
    single = points(write(folder / "a", some_trace(dice, 1, 4)), "--ranks", 4, "--extrapolate")
    few = points(write(folder / "b", some_trace(dice, 3, 2)), "--ranks", 4, "--extrapolate")  # one rank of three takes three iterations
    servers = points(write(folder / "c", some_trace(dice, 4, 4)), "--ranks", 8, "--extrapolate", schemes="ps:servers=6")
    for p in single + few + servers:
        assert p["time_low_s"] is p["time_high_s"] is p["captured_s"] is p["error_factor"] is None and p["time_s"] >= 0
    assert "were captured, too few to say how far off" in ask(folder / "a", "--ranks", 4, "--extrapolate")


@test
def captured_rank_counts_stay_as_they_are(folder):
    trace = write(folder / "a", some_trace(random.Random(7), 4, 6))
    plain, ours = points(trace, "--ranks", "2,4"), points(trace, "--ranks", "2,4,8", "--extrapolate")
    same(ours[:len(plain)], plain)
    assert [p["point_hash"] for p in plain] == [p["point_hash"] for p in ours[:len(plain)]]  # --resume knows them
    assert not any("extrapolated_from" in p for p in ours[:len(plain)]) and all("time_low_s" in p for p in ours[len(plain):])
    head, *rows = [line.split(",") for line in ask(trace, "--ranks", "2,8", "--extrapolate", "--format", "csv", schemes="ps").splitlines()]
    assert [row[head.index("extrapolated_from")] for row in rows] == ["", "4"] and rows[1][head.index("error_factor")]
    assert "extrapolated_from" not in ask(trace, "--ranks", "2", "--extrapolate", "--format", "csv").splitlines()[0]
    table = ask(trace, "--ranks", "2,8", "--extrapolate")
    assert "mean over 3 to 6 iterations" in table and "4 of the ranks were captured; half of them predict all within a factor of " in table
    for more in (), ("--wide",):
        heading, *_ = (line.split() for line in ask(trace, "--ranks", 8, "--extrapolate", *more, schemes="ps").splitlines() if line.startswith("scheme"))
        assert heading[1:4] == ["time", "(90%)", "by"]


@test
def results_are_known_again(folder):
    trace, out, base = write(folder / "a", some_trace(random.Random(8), 4, 6)), folder / "out.json", folder / "base.json"
    ask(trace, "--ranks", 8, "--extrapolate", "--format", "json", "-o", out, "--save-baseline", base)
    before = out.read_bytes()
    done = json.loads(before)["points"]
    ask(trace, "--ranks", 8, "--extrapolate", "--format", "json", "-o", out, "--resume")
    assert out.read_bytes() == before
    ask(trace, "--ranks", 8, "--extrapolate", "--baseline", base)
    assert all(p["error_factor"] >= 1 and p["time_low_s"] <= p["time_s"] <= p["time_high_s"] for p in done)


@test
def what_iterations_do_not_give_is_refused(folder):
    trace = write(folder / "a", some_trace(random.Random(9), 4, 6))
    plain = ask(trace, "--ranks", 8, status=2)
    assert "8 ranks, but" in plain and "--extrapolate plays later iterations as further ranks, up to 24" in plain
    assert "up to 24" in ask(trace, "--ranks", 25, "--extrapolate", status=2)
    assert len(points(trace, "--ranks", 24, "--extrapolate", schemes="ps")) == 1
    assert "up to 12" in ask(trace, "--ranks", 13, "--merge", 2, "--extrapolate", status=2)
    window = ask(trace, "--ranks", 12, "--iterations", ":3", "--extrapolate", status=2)
    assert "leave 2 of the 6 iterations" in window and "3 iterations are enough for 8 ranks" in window
    assert {p["iterations"] for p in points(trace, "--ranks", 12, "--iterations", "1:", "--extrapolate")} == {1}
    assert "--extrapolate" not in ask(write(folder / "b", some_trace(random.Random(9), 4, 1)), "--ranks", 8, status=2)
    made = write_json(folder, {"trace": {"uniform": {"rows": 64, "density": 0.5}}, "cluster": CLUSTER, "ranks": 4, "extrapolate": True, "schemes": ["ps"]})
    refused("only a captured or synthesised trace", "run", made)


@test
def plan_and_export_take_it(folder):
    dice = random.Random(10)
    trace = some_trace(dice, 4, 6, 2)
    a, b = write(folder / "a", trace), write(folder / "b", widened(trace, 4, 12))
    ours, theirs = (json.loads(told("plan", "--trace", path, "--cluster", CLUSTER, *more, "--certain", "--format", "json", "--quiet"))["plan"]
                    for path, more in ((a, ("--ranks", 12, "--extrapolate")), (b, ())))
    same(ours, theirs)
    assert all(row["extrapolated_from"] == 4 and row["time_low_s"] <= row["time_s"] <= row["time_high_s"] for row in ours)
    texts = []
    for path, more in (a, ("--ranks", 12, "--extrapolate")), (b, ()):
        told("export", "goal", "--trace", path, "--cluster", CLUSTER, "--scheme", "zen", "--tensor", "t0", "--iterations", "1", *more, "-o", folder / "x.goal", "--quiet")
        texts.append((folder / "x.goal").read_text().split("\nnum_ranks")[1])
    assert texts[0] == texts[1]


@test
def trainings_take_it(folder):
    """All rank counts play the first ranks of the largest."""
    trace = some_trace(random.Random(11), 4, 12)
    trace[0][0].update(name="emb", rows=60, row_width=8)
    times = {"forward_s": 1e-5, "backward_s": 2e-5}
    workload = {"name": "w", "modules": [{"name": "table", "kind": "embedding", "rows": 60, "row_width": 8, "tensor": "emb", **times},
                                         {"name": "body", "kind": "dense", "bytes": 1e6, "after": ["table"], **times}]}
    scenario = {"workload": workload, "cluster": CLUSTER, "systems": ["horovod-allgather", "embrace"], "iterations": 12}
    done = []
    for path, more in ((write(folder / "a", trace), {"extrapolate": True}), (write(folder / "b", widened(trace, 4, 12)), {})):
        asked = write_json(folder, {**scenario, "trace": str(path), "ranks": [2, 4, 12], **more})
        done.append(json.loads(told("train", asked, "--format", "json", "--quiet"))["training"])
    for point in done[0] + done[1]:
        point.pop("trace", None)
    assert done[0] == done[1]
    few = write_json(folder, {**scenario, "trace": str(folder / "a"), "ranks": 12})
    refused("--extrapolate plays later iterations as further ranks, up to 48", "train", few)


sys.exit(tap.run())
# SPDX-License-Identifier: Apache-2.0
