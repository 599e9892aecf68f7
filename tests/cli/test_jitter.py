#!/usr/bin/python3
"""Uneven links: a cluster's "jitter", the fan of its draws in results, and what is refused. Arguments: the program, the
source tree. Prints TAP."""
import csv
import io
import json
import re
import subprocess
import sys

import mpi
import tap
from asking import PROGRAM, ROOT, call
from hashes import mix
from tap import test, write_json

SLOW = [[0, 0.36], [0.06, 0.43], [0.06, 0.99], [1, 1.01]]
FAN = ("time_p5_s", "time_p50_s", "time_p95_s")


def scenario(folder, jitter, name="s.json", **fields):
    cluster = {"name": "c", "latency": "2us", "bandwidth": "1GB/s", **({"jitter": jitter} if jitter else {})}
    trace = {"uniform": {"rows": 4096, "density": "1/4", "overlap": "none"}}
    return write_json(folder, {"name": "s", "trace": trace, "cluster": cluster, "ranks": [2, 4], "schemes": ["allreduce", "allgather"],
                               **fields}, name)


def points(*arguments):
    return json.loads(call("run", *arguments, "--format", "json", "--quiet")[0])["points"]


# --- what follows from the hash of base/random.h ----------------------------------------------------------------

def slowness(seed, draw, a, b):
    """The factor on the bandwidth between two nodes: below 0.06 a straight line, above another."""
    u = (mix(mix(mix(seed, draw), 1), min(a, b) << 32 | max(a, b)) >> 11) * 2.0**-53
    return 0.36 + 0.07 * u / 0.06 if u < 0.06 else 0.99 + 0.02 * (u - 0.06) / 0.94


def quantile(times, share):
    times, at = sorted(times), share * (len(times) - 1)
    return times[int(at)] + (at - int(at)) * (times[min(int(at) + 1, len(times) - 1)] - times[int(at)])


@test
def two_ranks_take_what_their_pair_allows(folder):
    """Of two ranks an all-gather is one message each way, of equal size: alpha + n / (f B)."""
    jitter = {"per": "pair", "bandwidth": SLOW, "draws": 200, "seed": 3}
    for model in ("fair", "alpha-beta"):
        point = points(scenario(folder, jitter), "--ranks", 2, "--scheme", "allgather", "--set", f"cluster.model={model}")[0]
        sent = point["bytes_sent_max"]
        assert abs(point["time_s"] - 2e-6 - sent / 1e9) < 1e-15
        times = [2e-6 + sent / (1e9 * slowness(3, draw, 0, 1)) for draw in range(1, 201)]
        assert len(point["draw_s"]) == 200 and all(abs(a - b) < 1e-12 * b for a, b in zip(point["draw_s"], times))
        assert min(times) < point["time_s"] * 1.02 < 2 * point["time_s"] < max(times)
        for name, share in zip(FAN, (0.05, 0.5, 0.95)):
            assert abs(point[name] - quantile(times, share)) < 1e-12 * point[name], name


@test
def a_ring_is_as_slow_as_its_slowest_pair(folder):
    """Of an even ring of long messages the slowest pair decides: every round waits for it, in the end."""
    jitter = {"per": "pair", "bandwidth": SLOW, "draws": 50}
    point = points(scenario(folder, jitter), "--ranks", 4, "--scheme", "allreduce", "--set", "cluster.latency=0")[0]
    ring = [(0, 1), (1, 2), (2, 3), (3, 0)]
    for draw, time in enumerate(point["draw_s"], 1):
        slowest = min(slowness(1, draw, *pair) for pair in ring)
        assert time >= point["time_s"] / slowest * (1 - 0.5) and time <= point["time_s"] / slowest * (1 + 1e-9)
        if min(slowness(1, draw, *pair) for pair in ring) > 0.9:
            assert abs(time / point["time_s"] - 1) < 0.02


@test
def even_links_say_nothing_of_draws(folder):
    plain, drawn = scenario(folder, None), scenario(folder, {"per": "message", "latency": [[0, 1], [1, 9]]}, "j.json")
    even, uneven = points(plain), points(drawn)
    same = [{k: v for k, v in p.items() if k not in (*FAN, "draw_s", "point_hash", "result_hash")} for p in even]
    assert same == [{k: v for k, v in p.items() if k not in (*FAN, "draw_s", "point_hash", "result_hash")} for p in uneven]
    assert all(p[name] is None for p in even for name in FAN) and all("draw_s" not in p for p in even)
    assert all(p["time_s"] < p["time_p5_s"] < p["time_p50_s"] < p["time_p95_s"] for p in uneven)
    table = call("run", drawn, "--wide")[0]
    assert "5%..95%" in table and "On uneven links" in table and "5%..95%" not in call("run", plain, "--wide")[0]
    rows = list(csv.DictReader(io.StringIO(call("run", drawn, "--format", "csv")[0])))
    assert [float(r["time_p50_s"]) for r in rows] == [p["time_p50_s"] for p in uneven]
    assert "On uneven links" in call("run", drawn)[0]


@test
def draws_depend_on_no_order(folder):
    """Threads, processes, the schemes beside and the sizes of groups change no draw; another seed does, another count adds."""
    for per in ("pair", "message"):
        path = scenario(folder, {"per": per, "bandwidth": SLOW, "latency": [[0, 0.5], [1, 3]], "draws": 12})
        wanted = points(path, "--jobs", 1)
        assert points(path, "--jobs", 2) == wanted
        assert points(path, "--scheme", "allgather", "--ranks", 4)[0]["draw_s"] == wanted[3]["draw_s"]
        assert points(path, "--set", "cluster.jitter.draws=13")[3]["draw_s"][:12] == wanted[3]["draw_s"]
        assert points(path, "--set", "cluster.jitter.seed=2")[3]["draw_s"] != wanted[3]["draw_s"]
    if mpi.MPIRUN:
        together = call("run", path, "--format", "json", "--quiet", before=mpi.with_mpirun(2), environment=mpi.environment(ROOT))[0]
        assert json.loads(together)["points"] == wanted


@test
def finished_points_keep_their_draws(folder):
    path, out = scenario(folder, {"per": "pair", "bandwidth": SLOW, "draws": 5}), folder / "o.json"
    call("run", path, "--format", "json", "-o", out)
    before = json.loads(out.read_text())["points"]
    assert "4 points were known" in call("run", path, "--format", "json", "-o", out, "--resume")[1]
    assert json.loads(out.read_text())["points"] == before
    changed = json.loads(out.read_text())
    changed["points"][0]["draw_s"][2] *= 2
    out.write_text(json.dumps(changed))
    assert "3 points were known" in call("run", path, "--format", "json", "-o", out, "--resume")[1]
    assert json.loads(out.read_text())["points"] == before


@test
def tensors_follow_each_other_on_the_links_of_a_draw(folder):
    found = points(scenario(folder, {"per": "pair", "bandwidth": SLOW, "draws": 9}, trace=str(ROOT / "traces" / "learn-kjv-8.safetensors")),
                   "--ranks", 4, "--scheme", "allgather", "--iterations", "0:2")
    a, b, both = (next(p for p in found if p["tensor"] == name) for name in ("input", "output", "*"))
    times = [x + y for x, y in zip(a["draw_s"], b["draw_s"])]
    assert "draw_s" not in both
    for name, share in zip(FAN, (0.05, 0.5, 0.95)):
        assert abs(both[name] - quantile(times, share)) < 1e-12, name


@test
def the_fastest_by_its_median_is_named(folder):
    """On links of a fifth to a third of the bandwidth start-ups weigh less, so whoever sends least in more messages is named in the
    sentence of the draws, with its fan; on links whose latency is drawn it is who is fastest anyway."""
    unit, names = {"us": 1e-6, "ms": 1e-3, "s": 1}, set()
    for what, factors in (("bandwidth", [[0, 0.2], [1, 0.3]]), ("latency", [[0, 1], [1, 9]])):
        cluster = {"name": "c", "latency": "50us", "bandwidth": "25Gbps", "gpus_per_node": 2, "intra": {"latency": "2us", "bandwidth": "50GB/s"},
                   "jitter": {"per": "message", "draws": 5, what: factors}}
        path = scenario(folder, None, trace=str(ROOT / "traces" / "bible-kjv-16.safetensors"), ranks=16, iterations="0:2", cluster=cluster,
                        schemes=["allreduce", "allgather", "alltoall", "zen"])
        found, told = points(path, "--certain"), call("run", path, "--certain")[0]
        best, drawn = (min(found, key=lambda p: p[key]) for key in ("time_s", "time_p50_s"))
        said = re.search(r"On uneven links (\S+)(?: \(needs model parallelism\))? takes ([\d.]+) (\S+), from ([\d.]+) (\S+) to ([\d.]+) (\S+) in 90% of the draws(, and is fastest)?", told)
        assert said[1] == drawn["label"] and (said[8] is not None) == (drawn is not best), (said, best["label"])
        for at, key in ((2, "time_p50_s"), (4, "time_p5_s"), (6, "time_p95_s")):
            assert abs(float(said[at]) * unit[said[at + 1]] / drawn[key] - 1) < 0.006, (said, key)
        names.add(drawn is best)
    assert names == {True, False}


@test
def training_has_a_fan(folder):
    train = ["train", "--workload", "embrace-lm-rtx3090", "--cluster", "rtx3090-100g-ib", "--ranks", 4, "--iterations", 10,
             "--system", "horovod-allreduce", "--quiet"]
    jitter = json.dumps({"per": "pair", "bandwidth": [[0, 0.5], [1, 0.5]], "draws": 3})
    plain = json.loads(call(*train, "--format", "json")[0])["training"][0]
    drawn = json.loads(call(*train, "--format", "json", "--set", f"cluster.jitter={jitter}")[0])["training"][0]
    assert plain["iteration_p50_s"] is None and plain["iteration_s"] == drawn["iteration_s"]
    # All pairs at half their bandwidth: as on a cluster of half the bandwidth, where nothing but links between nodes is used.
    slow = json.loads(call(*train, "--format", "json", "--set", "cluster.gpus_per_node=1", "--bandwidth", "50Gbps")[0])["training"][0]
    flat = json.loads(call(*train, "--format", "json", "--set", "cluster.gpus_per_node=1", "--bandwidth", "100Gbps",
                           "--set", f"cluster.jitter={jitter}")[0])["training"][0]
    for name in ("iteration_p5_s", "iteration_p50_s", "iteration_p95_s"):
        assert abs(flat[name] / slow["iteration_s"] - 1) < 1e-9, name
    assert slow["iteration_s"] > 1.2 * flat["iteration_s"]
    assert "5%..95%" in call(*train, "--set", f"cluster.jitter={jitter}")[0] and "5%..95%" not in call(*train)[0]


@test
def pictures_have_ranges(folder):
    path, out = scenario(folder, {"per": "pair", "bandwidth": SLOW, "draws": 30}), folder / "r.json"
    call("run", path, "--format", "json", "-o", out)
    rows = list(csv.DictReader(io.StringIO(call("plot", out, "--data", "-")[0])))
    wanted = {(p["label"], p["ranks"]): p for p in json.loads(out.read_text())["points"]}
    for r in rows:
        p = wanted[r["series"], int(float(r["x"]))]
        assert (float(r["y"]), float(r["low"]), float(r["high"])) == (p["time_s"], p["time_p5_s"], p["time_p95_s"])


@test
def what_is_printed_of_pairs_was_measured(folder):
    """docs/model.md's quantiles against models/measured/pairs.csv."""
    text = (ROOT / "docs" / "model.md").read_text()
    first, second = (json.loads(text[at : text.index("]]", at) + 2]) for at in (text.index("[[0, 0.36]"), text.index("[[0, 0.985]")))
    assert first == SLOW
    measured = {}
    for row in csv.DictReader((ROOT / "models" / "measured" / "pairs.csv").open()):
        measured.setdefault((row["system"], row["collective"]), {})[row["node_a"], row["node_b"]] = float(row["busbw_avg_GBps"])
    for (system, _), pairs in measured.items():
        quantiles, values = (first, second)[system == "h100x8"], sorted(pairs.values())
        for share in (0, 0.02, 0.1, 0.25, 0.5, 0.75, 1):
            (a, x), (b, y) = next(pair for pair in zip(quantiles, quantiles[1:]) if pair[0][0] <= share <= pair[1][0])
            wanted = x + (y - x) * (share - a) / (b - a)
            assert abs(quantile(values, share) / quantile(values, 0.5) - wanted) < 0.03, (system, share, wanted)
    slow = [{pair for pair, value in measured["cluster00", name].items() if value < 6} for name in ("alltoall", "sendrecv")]
    assert slow[0] == slow[1] and len(slow[0]) == 8 and len(measured["cluster00", "alltoall"]) == 134


@test
def who_plays_no_draws_says_so(folder):
    jitter, says = {"per": "pair", "bandwidth": SLOW, "draws": 3}, 'the cluster\'s "jitter" is left out'
    for uneven in (jitter, None):
        path = scenario(folder, uneven, schemes=["allgather"], ranks=[2])
        told = [call("export", "goal", path, "-o", folder / "x.goal")[1]]
        if not mpi.why_not(PROGRAM):
            told.append(subprocess.run([*mpi.with_mpirun(2), PROGRAM, "exec", path], capture_output=True, text=True,
                                       timeout=tap.HANG, check=True, env=mpi.environment(ROOT)).stderr)
        assert all((says in text) == (uneven is not None) for text in told), told


@test
def a_baseline_with_a_misspelt_quantile_is_refused(folder):
    path, stored = scenario(folder, {"per": "pair", "bandwidth": SLOW, "draws": 3}), folder / "b.json"
    call("run", path, "--save-baseline", stored)
    call("run", path, "--baseline", stored)
    stored.write_text(stored.read_text().replace("time_p95_s", "time_pp95_s"))
    out, err = call("run", path, "--baseline", stored, status=2)
    assert not out and 'points[0].time_pp95_s: unknown key (did you mean "time_p95_s"?)' in err, err


@test
def bad_jitter_is_refused(folder):
    good = {"per": "pair", "bandwidth": SLOW}
    for jitter, says in (({**good, "bandwidth": [[0, 1], [0.5, 0.4], [1, 1]]}, "a larger share has no smaller factor"),
                         ({**good, "bandwidth": [[0, 0.1], [0.6, 0.4], [0.5, 1], [1, 1]]}, "ascending order"),
                         ({**good, "bandwidth": [[0, -1], [1, 1]]}, "not above zero"), ({**good, "bandwidth": [[0, 0], [1, 1]]}, "not above zero"),
                         ({**good, "bandwidth": [[0.1, 1], [1, 1]]}, "the first share is 0"),
                         ({**good, "bandwidth": [[0, 1], [0.9, 1]]}, "not 1"), ({**good, "bandwidth": [[0, 1], [1.5, 1]]}, "from 0 to 1"),
                         ({**good, "bandwidth": [[0, 1]]}, "2 to 16"), ({**good, "bandwidth": [[0, 1, 2], [1, 1]]}, "[share, factor]"),
                         ({**good, "bandwidth": [[i / 16, 1] for i in range(17)]}, "2 to 16"), ({**good, "bandwidth": [[0, 1], [1, 1e9]]}, "1e6"),
                         ({"bandwidth": SLOW}, "per"), ({"per": "pair"}, "say what is uneven"), ({**good, "per": "rank"}, "pair"),
                         ({**good, "draws": 0}, "draws"), ({**good, "draws": 1001}, "draws"), ({**good, "seed": -1}, "seed"),
                         ({**good, "sead": 1}, "seed"), (0.5, "expected {"), ({**good, "bandwidth": 0.5}, "expected 2 to 16")):
        out, err = call("run", scenario(folder, jitter), status=2)
        assert not out and err.count("\n") == 1 and says in err and "jitter" in err, f"{jitter}: {err!r}"
    many = scenario(folder, {**good, "draws": 1000}, ranks=[8192], schemes=["allgather"])
    out, err = call("run", many, status=2)
    assert "at most 511" in err and not out, err


if __name__ == "__main__":
    sys.exit(tap.run())
# SPDX-License-Identifier: Apache-2.0
