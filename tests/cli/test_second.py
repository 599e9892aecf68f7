#!/usr/bin/python3
"""The program against the second model: every point of small scenarios, for every scheme that the program knows.

First the second model is held against itself: known hashes, a printed figure, an estimate without
bias; and, wherever it plays, sums that are the dense sum, mass that is kept. Arguments: the program, the source tree. Prints TAP."""
import functools
import json
import math
import os
import pathlib
import random
import re
import subprocess
import sys

import second_model as model
import tap
import traces

PROGRAM, ROOT = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
ALPHA, RATE = 25e-6, 25e9 / 8
CLUSTERS = {
    "flat": {"latency": ALPHA, "bandwidth": RATE},
    "nodes": {"latency": ALPHA, "bandwidth": RATE, "gpus_per_node": 2, "nic": "per-node",
              "intra": {"latency": 5e-6, "bandwidth": 130e9}},
    "in turn": {"model": "alpha-beta", "latency": ALPHA, "bandwidth": RATE, "gpus_per_node": 2, "nic": "per-node",
                "intra": {"latency": 5e-6, "bandwidth": 130e9}},
    "cards": {"latency": ALPHA, "bandwidth": RATE, "gpus_per_node": 4, "nic": "per-rank"},
}
COMPARED = ("time_s", "bytes_total", "bytes_sent_max", "bytes_received_max", "server_bytes_max", "peak_bytes",
            "server_peak_bytes", "messages", "energy",
            "error_l2", "error_mean")
DESIGNS = ([f"design:{c}/{a}/central/{f}" for c in ("p2p", "ring", "hierarchy") for a in ("one-shot", "incremental")
            for f in ("coo", "bitmap", "block")] +
           [f"design:{c}/{a}/parallel/{b}/{f}" for c in ("p2p", "ring", "hierarchy") for a in ("one-shot", "incremental")
            for b, f in [("balanced", f) for f in ("coo", "bitmap", "block", "hash-bitmap")] +
            [("even", f) for f in ("coo", "bitmap", "block")]])


def cluster_of(name):
    about = CLUSTERS[name]
    intra = about.get("intra")
    return model.Cluster(about["latency"], about["bandwidth"], about.get("gpus_per_node", 1), about.get("nic") == "per-node",
                         intra and (intra["latency"], intra["bandwidth"]), fair=name == "nodes",
                         cards=about.get("gpus_per_node", 1) if about.get("nic") == "per-rank" else 1)


# --- traces ----------------------------------------------------------------------------------------------------------------


def write_trace(path, rows, width, lookups, values=False, seed=1):
    """A trace of the lookups; values are drawn."""
    draw, segments, more = random.Random(seed), [ids for iteration in lookups for ids in iteration], {}
    if values:
        count = sum(map(len, segments)) * width
        more["emb.values"] = "F32", [draw.gauss(0, 1) * math.exp(draw.gauss(0, 1)) for _ in range(count)]
    traces.write(path, [(traces.tensor("emb", rows, width), segments)], len(lookups[0]), more)


def ragged(rows, ranks, iterations, seed=3):
    """Zipf-like lookups with duplicates; in iteration 0 rank 2 has none, in iteration 1 rank 0 looks up every row."""
    draw = random.Random(seed)
    order = list(range(rows))
    draw.shuffle(order)
    lookups = []
    for t in range(iterations):
        lookups.append([[order[min(int(draw.paretovariate(0.7)) - 1, rows - 1)] if draw.random() < 0.7 else draw.randrange(rows)
                         for _ in range(draw.randrange(5, max(8, rows // 6)))] for _ in range(ranks)])
    lookups[0][2] = []
    if iterations > 1:
        lookups[1][0] = list(range(rows))
    return lookups


# --- the second model against itself ------------------------------------------------------------------------------------------


def known_hashes(folder):
    assert model.xxh64(b"", 0) == 0xef46db3751d8e999
    assert model.xxh64(b"a", 0) == 0xd24ec4f1a98c6e5b
    assert model.xxh64(b"abc", 0) == 0x44bc2cf5ad770999
    assert model.hash64(42, 1) == 0x602f275014cd5d53  # libxxhash 0.8


def golden_case(folder):
    """Fig. 3: six ranks; rank 1 sends bags {5, 6}, {3, 4}, {2} and receives from 3, 5, 6 (numbered from 1)."""
    source = model.Gradient(600, seed=2)
    problem = model.Problem([source.units(0, r) for r in range(6)], 0, 600, 1, 4, 4, model.Sizes(False), {}, 0, 1)
    rounds = model.spardl(problem, {"k": 60})[0]
    to_first = [[a[1] + 1 for a, b, _ in messages if b[1] == 0] for _, messages in rounds[:3]]
    assert to_first == [[3], [5], [6]], to_first
    sizes = [[size // 80 for a, _, size in messages if a[1] == 0] for _, messages in rounds[:3]]
    assert sizes == [[2], [2], [1]], sizes


def unbiased(folder):
    """s2: E[error_l2^2] = (n_union - 1)/c for one hash, half for two."""
    source = model.Gradient(120, seed=3)
    for hashes in (1, 2):
        squares = [model.expected(source, cluster_of("flat"), {"name": "s2", "hashes": hashes, "buckets": 40, "seed": 1 + 1000 * s},
                                  2, [0], {"select": {"topk": "50%"}})["error_l2"]**2 for s in range(60)]
        problem = [set(model.top(source.units(0, r), 60)) for r in range(2)]
        form = (len(problem[0] | problem[1]) - 1) / 40 / hashes
        spread = (sum((s - model.mean(squares))**2 for s in squares) / 59 / 60)**0.5
        assert abs(model.mean(squares) - form) < 4 * spread, f"{hashes}: {model.mean(squares)}, {form}"


def alltoall_holds(folder):
    """Gradients in COO, and what comes of the exchange that brings more; with and without lists of rows."""
    width, rows, ranks, iterations = 7, 60, 5, 3
    lookups = ragged(rows, ranks, iterations)
    write_trace(folder / "t.safetensors", rows, width, lookups)
    cut, own = model.shares(width, ranks), lambda ids: len(set(ids)) * (width * 4 + 4)
    for verify in (True, False):
        points = simulate(folder, {"name": "a", "trace": str(folder / "t.safetensors"), "cluster": CLUSTERS["flat"], "ranks": ranks,
                                   "iterations": iterations, "verify": verify,
                                   "schemes": [{"name": "alltoall", "exchange": e, "label": e} for e in ("both", "lookups", "gradients")]})
        for point in points:
            peak = 0
            for ids in lookups:
                for r in range(ranks):
                    fetched = len(ids[r]) * (width - cut[r]) * 4 if point["label"] != "gradients" else 0
                    pushed = sum(len(set(ids[o])) * (cut[r] * 4 + 4) for o in range(ranks) if o != r and cut[r])
                    kept = own(ids[r]) if point["label"] != "lookups" else 0
                    peak = max(peak, kept + max(fetched, pushed if point["label"] != "lookups" else 0))
            assert point["peak_bytes"] == peak, (point["label"], verify, point["peak_bytes"], peak)


# --- the program against the second model ----------------------------------------------------------------------------------------


def known_schemes():
    done = subprocess.run([PROGRAM, "list", "schemes", "--format", "json"], capture_output=True, check=True)
    return {one["name"] for one in json.loads(done.stdout)["schemes"]}


def simulate(folder, scenario):
    path = folder / "scenario.json"
    path.write_text(json.dumps(scenario))
    done = subprocess.run([PROGRAM, "run", path, "--format", "json", "--quiet"], capture_output=True, timeout=tap.HANG,
                          env={**os.environ, "SPARSYNC_DATA": str(ROOT)}, cwd=folder)
    problem = done.stderr.decode().strip()
    if re.search(r": (trace\.gradient|gradient|select|hierarchy): unknown key", problem):
        raise tap.Skip("the program does not know this field yet")
    assert done.returncode == 0, f"status {done.returncode}: {problem}"
    return json.loads(done.stdout)["points"]


def compare(points, source, scenario, cluster):
    points, wrong = iter(points), []
    iterations = range(scenario["iterations"])
    for p in scenario["ranks"]:
        for scheme in scenario["schemes"]:
            point = next(points)
            fields = model.expected(source, cluster, scheme, p, iterations, scenario)
            if scheme["name"].split(":")[0] in model.LOSSLESS and point["exact"] is not True:
                wrong.append(f"{json.dumps(scheme)} on {p}: exact is {point['exact']}")
            for key in COMPARED:
                if fields[key] is None or fields[key] == 0 == point[key]:
                    continue
                if not math.isclose(point[key], fields[key], rel_tol=1e-9, abs_tol=1e-12 if key.startswith("error") else 0):
                    wrong.append(f"{json.dumps(scheme)} on {p}: {key} is {point[key]!r}, the second model says {fields[key]!r}")
    assert not wrong, f"{len(wrong)} differ\n" + "\n".join(wrong[:12])
    assert next(points, None) is None


def label(schemes):
    """Objects with labels that tell them apart."""
    made = [{"name": one} if isinstance(one, str) else dict(one) for one in schemes]
    return [{**one, "label": f"{number} {one['name']}"} for number, one in enumerate(made)]


RANKS = [1, 2, 3, 4, 5, 6, 8, 12]
BIG, SMALL, WIDE = "rows 400", "rows 60", "rows 90 of 32 KiB"
ZENS = [{"name": "zen", "format": f, "balance": b} for f in ("hash-bitmap", "coo", "bitmap", "block", "smallest") for b in ("hash", "even", "sorted")]
SPARCML = ["sparcml-rd", "sparcml-split", "sparcml-dsar"]
OMNI = ["omnireduce", {"name": "omnireduce", "block": 12}, {"name": "omnireduce", "block": 10, "aggregators": 1}]
FIRST = ["allreduce", {"name": "allreduce", "algorithm": "rabenseifner"}, "allgather", {"name": "allgather", "algorithm": "bruck"},
         {"name": "ps", "colocated": True}, {"name": "ps", "dense": True, "servers": 1}]
WITH_SERVERS = ["ps", {"name": "omnireduce", "block": 8, "aggregators": 2}, {"name": "omnireduce", "block": 8, "aggregators": 2, "stream": 3}]
GRADIENT = {"elements": 331, "seed": 7}
LAPLACE = {"elements": 400, "seed": 2, "rho": 0.9, "sigma": 2, "layers": 5, "distribution": "laplace", "scale": 3, "iterations": 6}
FEW = {"elements": 96, "seed": 4, "iterations": 40}
SPARDLS = [{"name": "spardl", "density": "10%", **more} for more in (
    {}, {"timing": "after-sum"}, {"residuals": "partial"}, {"residuals": "local"}, {"residuals": "partial", "timing": "after-sum"})]
TEAMS = [{"name": "spardl", "k": 37, "teams": d, "sag": sag, **more} for d in (2, 4) for sag in ("auto", "recursive", "bruck")
         for more in ({}, {"timing": "after-sum"}, {"residuals": "local"}, {"residuals": "partial"})]
S2S = ["s2", {"name": "s2", "hashes": 2}, {"name": "s2", "hashes": 3, "lambda": 1.5, "seed": 9}, {"name": "s2", "hashes": 4, "buckets": 17},
       {"name": "s2", "bitmap": "bytes"}, {"name": "s2", "bitmap": "gathered", "hashes": 2}]
EVERY = SPARCML + OMNI + ["zen", {"name": "zen", "format": "coo", "balance": "even"}, {"name": "zen", "format": "block"},
                          {"name": "zen", "format": "bitmap", "balance": "sorted"}] + FIRST
LISTED = [one for one in EVERY if one != "allreduce" and not (isinstance(one, dict) and (one["name"] == "allreduce" or one.get("dense")))]


@functools.lru_cache(None)
def gradient(of):
    """Drawn once for all cases."""
    return model.Gradient(**dict(of))


def case(name, schemes, cluster="flat", trace=BIG, ranks=RANKS, iterations=2, **more):
    return name, schemes, cluster, trace, ranks, iterations, more


CASES = [
    case("first", FIRST + [{"name": "allreduce", "algorithm": "tree"}, {"name": "allgather", "algorithm": "direct"},
                           {"name": "allgather", "algorithm": "recursive-doubling"}, {"name": "allgather", "separate": True},
                           "ps", {"name": "ps", "servers": 1, "pull": "rows"}]),
    case("sparcml", SPARCML), case("sparcml, shared cards", SPARCML, "nodes"),
    case("sparcml, zen, cards in turn", SPARCML + ZENS, "in turn"),
    case("sparcml, sizes exchanged", SPARCML, sizes="exchanged"),
    case("sparcml, elements", SPARCML, trace=SMALL, granularity="element", index_bytes=8),
    case("omnireduce", OMNI), case("omnireduce, shared cards", OMNI, "nodes"), case("omnireduce, sizes exchanged", OMNI, sizes="exchanged"),
    case("omnireduce, elements", OMNI, trace=SMALL, granularity="element", index_bytes=8),
    case("omnireduce, aggregators", WITH_SERVERS, ranks=[2, 3, 4, 5, 8, 12], cluster="nodes"),
    case("zen", ZENS), case("zen, shared cards", ZENS, "nodes"), case("zen, sizes exchanged, index of 8", ZENS, sizes="exchanged", index_bytes=8),
    case("zen, elements", ZENS, trace=SMALL, granularity="element"),
    case("zen, refreshed", [{"name": "zen", "balance": "sorted", "refresh": 2}, {"name": "zen", "balance": "sorted", "refresh": 1}],
         iterations=4),
    case("zen, planned", [{**one, "plan": "auto"} for one in ZENS], iterations=8),
    case("zen, planned, elements", [{**one, "plan": "auto"} for one in ZENS], trace=SMALL, granularity="element", iterations=8),
    case("zen, seed", [{"name": "zen", "seed": 12345}]),
    case("design", DESIGNS), case("design, shared cards", DESIGNS, "nodes", ranks=[2, 3, 6, 8], iterations=2),
    case("design, cards in turn", DESIGNS, "in turn", ranks=[2, 3, 6, 8], iterations=2),
    case("design, sizes exchanged", DESIGNS, sizes="exchanged", ranks=[2, 3, 6, 8], iterations=2),
    case("design, elements", DESIGNS, trace=SMALL, granularity="element", index_bytes=8, ranks=[2, 5, 6, 8], iterations=2),
    case("shard", EVERY, "nodes", hierarchy="shard", ranks=[1, 2, 4, 6, 8, 12]),
    case("shard, cards of their own, elements", EVERY, "cards", trace=SMALL, hierarchy="shard", granularity="element", ranks=[1, 2, 3, 4, 8, 12]),
    case("shard, sizes exchanged", EVERY, "nodes", hierarchy="shard", sizes="exchanged", ranks=[2, 4, 6, 12]),
    case("shard, servers", ["ps"], "nodes", hierarchy="shard", ranks=[4, 6, 12]),
    case("shard, two servers", [{"name": "ps", "servers": 2}, {"name": "omnireduce", "aggregators": 2, "block": 8}], "nodes",
         hierarchy="shard", ranks=[4, 6, 12]),
    case("sparse shards", LISTED, "nodes", hierarchy="sparse-shard", ranks=[1, 2, 4, 6, 8, 12]),
    case("sparse shards, padded, elements", LISTED, "cards", trace=SMALL, hierarchy="sparse-shard", granularity="element", ragged="padded",
         sizes="exchanged", ranks=[2, 3, 4, 12]),
    case("sparse shards, broadcasts, servers", ["allgather", {"name": "ps", "servers": 2}], "nodes", hierarchy="sparse-shard", ragged="broadcasts",
         sizes="exchanged", ranks=[4, 6, 12]),
    case("leader", EVERY, "nodes", hierarchy="leader"), case("leader, cards of their own", EVERY, "cards", hierarchy="leader"),
    case("leader, servers", ["ps"], "nodes", hierarchy="leader", ranks=[3, 4, 5, 12]),
    case("hierarchies inside schemes", [{"name": n, "hierarchy": h} for n in ("zen", "sparcml-rd", "allreduce")
                                        for h in ("none", "shard", "leader")], "cards", ranks=[2, 4, 8, 12]),
    case("a ring a card", ["allreduce", "allgather", {"name": "allgather", "separate": True}, {"name": "allgather", "algorithm": "bruck"}], "cards",
         ranks=[3, 4, 8, 12]),
    case("design in shards", DESIGNS, "nodes", hierarchy="shard", ranks=[4, 6, 8, 12], iterations=1),
    case("padded", EVERY + DESIGNS[::5], ragged="padded"), case("broadcasts", SPARCML + ["allgather", *DESIGNS[::5]], ragged="broadcasts"),
    case("padded, sizes exchanged", EVERY, "in turn", ragged="padded", sizes="exchanged"),
    case("padded, servers, sizes exchanged", WITH_SERVERS, ranks=[2, 3, 5, 12], ragged="padded", sizes="exchanged"),
    case("padded in shards", EVERY, "nodes", hierarchy="shard", ragged="padded", sizes="exchanged", ranks=[2, 4, 6, 12]),
    case("broadcasts a ring a card", ["allgather", {"name": "allgather", "separate": True}], "cards", ranks=[3, 4, 8, 12], ragged="broadcasts"),
    case("broadcasts in pieces", ["allgather", "sparcml-split"], trace=WIDE, ragged="broadcasts", sizes="exchanged", ranks=[1, 2, 3, 5, 8]),
    case("padded selections", ["topka", "topkdsa", *SPARDLS[:1], {"name": "spardl", "k": 37, "teams": 2, "sag": "bruck"}, {"name": "oktopk", "k": 20}],
         trace={"elements": 240, "sigma": 4, "rho": 0, "iterations": 3}, ranks=[2, 6, 8], ragged="padded", sizes="exchanged", iterations=3),
    case("topka, topkdsa", [{"name": n, **o} for n in ("topka", "topkdsa") for o in ({"density": "5%"}, {"k": 40}, {})], trace=GRADIENT,
         iterations=4),
    case("folds", [{"name": "topkdsa", "density": "30%", "folds": True}, {"name": "oktopk", "k": 20, "folds": True},
                   {"name": "oktopk", "k": 20, "folds": True, "thresholds": "reused"}], trace=GRADIENT, ranks=[1, 3, 4, 5, 6, 7], iterations=4),
    case("folds, shared cards, sizes exchanged", [{"name": n, "k": 40, "folds": True} for n in ("topkdsa", "oktopk")], "nodes", trace=LAPLACE,
         ranks=[2, 3, 6, 12], sizes="exchanged", iterations=6),
    case("topka, topkdsa, shared cards, sizes exchanged", ["topka", "topkdsa", {"name": "topkdsa", "density": "30%"}], "nodes",
         trace=LAPLACE, sizes="exchanged", iterations=4),
    case("gtopk", [{"name": "gtopk", **o} for o in ({"density": "5%"}, {"k": 40}, {})], trace=GRADIENT, ranks=[1, 2, 4, 8], iterations=4),
    case("gtopk, sizes exchanged", ["gtopk"], trace=LAPLACE, ranks=[2, 4, 8], sizes="exchanged", iterations=2),
    case("spardl", SPARDLS, trace=GRADIENT, iterations=4), case("spardl, shared cards", SPARDLS, "nodes", trace=LAPLACE, iterations=6),
    case("spardl, sizes exchanged", SPARDLS[:1], trace=GRADIENT, sizes="exchanged", iterations=2),
    case("spardl, 2 and 4 teams", TEAMS, trace=GRADIENT, ranks=[4, 8, 12], iterations=4),
    case("spardl, teams, shared cards", TEAMS[:12], "nodes", trace=LAPLACE, ranks=[2, 6, 8], iterations=6),
    case("spardl, 3 and 6 teams", [{"name": "spardl", "k": 40, "teams": d} for d in (3, 6)], trace=FEW, ranks=[6, 12], iterations=40),
    case("spardl, h reaches 21 by steps of 1/5", [{"name": "spardl", "k": 40, "teams": 2, "sag": "bruck"}], trace={"elements": 200, "seed": 1, "rho": 1},
         ranks=[2], iterations=4),
    case("spardl, 8 teams", [{"name": "spardl", "k": 30, "teams": 8}], trace=LAPLACE, ranks=[8], iterations=6),
    case("spardl, teams, sizes exchanged", TEAMS[:9], trace=GRADIENT, ranks=[4, 8], sizes="exchanged", iterations=2),
    case("select topk, lossless", EVERY, trace=GRADIENT, select={"topk": "5%"}, iterations=4, ranks=[1, 2, 3, 5, 8]),
    case("select topk, no residual", ["allgather", "zen"], trace=GRADIENT, select={"k": 30, "residual": False}, iterations=4),
    case("select blocks, lossless", EVERY, trace=LAPLACE, select={"blocks": "1/8", "block": 12}, iterations=4, ranks=[1, 2, 3, 5, 8]),
    case("select blocks, elements, shard", EVERY, "nodes", trace=LAPLACE, select={"blocks": "1/8", "block": 12}, iterations=2,
         granularity="element", hierarchy="shard", ranks=[2, 4, 12]),
    case("select as DGC does", ["zen", "sparcml-rd", "s2"], trace=LAPLACE,
         select={"topk": "5%", "momentum": 0.9, "sample": "10%", "warm_up": 2}, iterations=6),
    case("select by a threshold of few", ["allgather"], trace=GRADIENT, select={"k": 9, "sample": "3%", "residual": False}, iterations=4),
    case("select by a threshold of one", ["allgather"], trace=GRADIENT, select={"k": 9, "sample": 1e-25, "residual": False}, iterations=4),
    case("s2 of selected elements", S2S, trace=GRADIENT, select={"topk": "10%"}, iterations=4),
    case("s2 and bitmaps of selected elements of rows", [*S2S, {"name": "zen", "format": "bitmap"}], trace="values", select={"topk": "10%"}, iterations=3),
    case("s2 of selected blocks", S2S, "nodes", trace=LAPLACE, select={"blocks": "25%", "block": 12}, iterations=4),
    case("s2 of selected blocks, elements", S2S, trace=LAPLACE, select={"blocks": "25%", "block": 12}, granularity="element", iterations=2),
    case("s2 of a trace with values", S2S, trace="values", iterations=3),
    case("s2 that feeds back its errors", [{"name": "s2", "residuals": "sketch", "lambda": 3}, {"name": "s2", "residuals": "sketch", "buckets": 90, "bitmap": "bytes"}],
         trace=GRADIENT, iterations=4),
    case("values of a trace", [{"name": "topka", "density": "10%"}, {"name": "spardl", "density": "10%"}, "sparcml-rd"], trace="values",
         iterations=3),
    case("oktopk", [{"name": "oktopk", "density": "10%"}, {"name": "oktopk", "density": "10%", "thresholds": "reused"}], trace=FEW,
         ranks=[1, 2, 3, 5, 8], iterations=36),
    case("oktopk, sizes exchanged", [{"name": "oktopk", "k": 12}], "nodes", trace=LAPLACE, sizes="exchanged", iterations=4),
    case("oktopk, reused for long", [{"name": "oktopk", "k": 8, "thresholds": "reused"}], trace={"elements": 60, "iterations": 70},
         ranks=[3, 6], iterations=70),
    case("oktopk, skewed regions", [{"name": "oktopk", "k": 20}], trace={"elements": 240, "sigma": 4, "rho": 0, "iterations": 3},
         ranks=[6, 8, 12], iterations=3),
]


def judged(name, schemes, cluster, trace, ranks, iterations, more, known):
    def check(folder):
        mine = [one for one in label(schemes) if one["name"].split(":")[0] in known]
        if not mine:
            raise tap.Skip("the program does not know these schemes")
        if isinstance(trace, dict):
            source, said = gradient(tuple(trace.items())), {"gradient": trace}
        else:
            path = folder / "trace.safetensors"
            rows, width = {BIG: (400, 12), WIDE: (90, 8192)}.get(trace, (60, 5))
            write_trace(path, rows, width, ragged(rows, 12, max(4, iterations)), trace == "values")
            source, said = model.Rows(path), str(path)
        scenario = {"name": "second", "trace": said, "cluster": {"name": cluster, **CLUSTERS[cluster]}, "ranks": ranks,
                    "iterations": iterations, "schemes": mine, **more}
        compare(simulate(folder, scenario), source, scenario, cluster_of(cluster))
    return name, check


def main():
    known = known_schemes()
    itself = [known_hashes, golden_case, unbiased, alltoall_holds]
    return tap.run(itself + [judged(*one, known) for one in CASES])


if __name__ == "__main__":
    sys.exit(main())
# SPDX-License-Identifier: Apache-2.0
