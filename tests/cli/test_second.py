#!/usr/bin/python3
"""The program against the second model: every point of small scenarios, for every scheme that the program knows.

First the second model is held against itself: known hashes, the closed forms under their conditions, sums
that are the dense sum, mass that is kept. Arguments: the program, the source tree. Prints TAP."""
import functools
import json
import math
import os
import pathlib
import random
import re
import struct
import subprocess
import sys

import second_model as model
import tap

PROGRAM, ROOT = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
ALPHA, RATE = 25e-6, 25e9 / 8
BETA = 1 / RATE
CLUSTERS = {
    "flat": {"latency": ALPHA, "bandwidth": RATE},
    "nodes": {"latency": ALPHA, "bandwidth": RATE, "gpus_per_node": 2, "nic": "per-node",
              "intra": {"latency": 5e-6, "bandwidth": 130e9}},
    "in turn": {"model": "alpha-beta", "latency": ALPHA, "bandwidth": RATE, "gpus_per_node": 2, "nic": "per-node",
                "intra": {"latency": 5e-6, "bandwidth": 130e9}},
    "cards": {"latency": ALPHA, "bandwidth": RATE, "gpus_per_node": 4, "nic": "per-rank"},
}
COMPARED = ("time_s", "bytes_total", "bytes_sent_max", "bytes_received_max", "server_bytes_max", "messages", "energy",
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
                         intra and (intra["latency"], intra["bandwidth"]), fair=name == "nodes")


# --- traces ----------------------------------------------------------------------------------------------------------------


def write_trace(path, rows, width, lookups, values=False, seed=1):
    """A trace of the lookups; values are drawn."""
    draw = random.Random(seed)
    segments = [ids for iteration in lookups for ids in iteration]
    offsets = [0]
    for ids in segments:
        offsets.append(offsets[-1] + len(ids))
    flat = [i for ids in segments for i in ids]
    parts = {"emb.offsets": ("I64", struct.pack(f"<{len(offsets)}q", *offsets), len(offsets)),
             "emb.rows": ("I32", struct.pack(f"<{len(flat)}i", *flat), len(flat))}
    if values:
        numbers = [draw.gauss(0, 1) * math.exp(draw.gauss(0, 1)) for _ in range(len(flat) * width)]
        parts["emb.values"] = ("F32", struct.pack(f"<{len(numbers)}f", *numbers), len(numbers))
    header, body = {"__metadata__": {"sparsync.version": "1", "iterations": str(len(lookups)), "ranks": str(len(lookups[0])),
                                     "tensors": json.dumps([{"name": "emb", "rows": rows, "row_width": width, "dtype": "F32"}])}}, b""
    for name, (dtype, data, length) in parts.items():
        header[name] = {"dtype": dtype, "shape": [length], "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)


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


class Uniform:
    """The idealised tensor of the closed forms: one row in each of nnz even strata."""
    bytes, lookups, ranks, iterations = 4, None, 10**6, 1

    def __init__(self, rows, width, nnz, overlap):
        self.rows, self.width, self.nnz, self.overlap = rows, width, nnz, overlap

    def row_ids(self, t, r):
        return [i * self.rows // self.nnz + (r if self.overlap == "none" else 0) for i in range(self.nnz)]

    def units(self, t, r):
        return None


class Given:
    """Gradients given element by element."""
    width, bytes = 1, 4

    def __init__(self, rows, values):
        self.rows, self.values = rows, values

    def units(self, t, r):
        return {i: value for i, value in enumerate(self.values(t, r)) if value}


# --- the second model against itself ------------------------------------------------------------------------------------------


def known_hashes(folder):
    assert model.xxh64(b"", 0) == 0xef46db3751d8e999
    assert model.xxh64(b"a", 0) == 0xd24ec4f1a98c6e5b
    assert model.xxh64(b"abc", 0) == 0x44bc2cf5ad770999
    assert model.hash64(42, 1) == 0x602f275014cd5d53  # libxxhash 0.8


def near(found, form, what):
    assert math.isclose(found, form, rel_tol=1e-9), f"{what}: {found!r}, closed form {form!r}"


def closed_forms(folder):
    """Closed forms (models/costs) under their conditions: the same nnz everywhere, overlap full or none."""
    flat, w, v, ib = cluster_of("flat"), 4, 4, 4
    for p in (2, 3, 4, 6, 8):
        for overlap in ("full", "none"):
            nnz, rows = 16 * 3 * p, 16 * 3 * p * 16 * 8
            source = Uniform(rows, w, nnz, overlap)
            x, y, big = nnz * (w * v + ib), nnz * w * v, rows * w * v
            gamma = lambda k: k if overlap == "none" else 1
            logc, logf = math.ceil(math.log2(p)), p.bit_length() - 1
            power = p & p - 1 == 0
            ring = sum(gamma(s) for s in range(1, p))
            tree = sum(gamma(2**(i - 1)) / 2**i for i in range(1, logf + 1))
            pull = gamma(p) * x / p * (p - 1)
            forms = {
                "sparcml-split": (p - 1 + logc) * ALPHA + (p - 1) / p * (1 + gamma(p)) * x * BETA,
                "sparcml-dsar": (p - 1 + logc) * ALPHA + (p - 1) / p * (x + min(gamma(p) * x, big)) * BETA,
                "design:p2p/incremental/parallel/even/coo": 2 * (p - 1) * ALPHA + (p - 1) / p * (1 + gamma(p)) * x * BETA,
                "design:ring/one-shot/central/coo": (p - 1) * (ALPHA + x * BETA),
                "design:p2p/one-shot/central/coo": (p - 1) * (ALPHA + x * BETA),
                "design:ring/incremental/central/coo": (p - 1) * ALPHA + ring * x * BETA,
                "design:ring/incremental/parallel/even/coo": 2 * (p - 1) * ALPHA + (ring * x / p + pull) * BETA,
                "design:ring/one-shot/parallel/even/coo": 2 * (p - 1) * ALPHA + (sum(range(1, p)) * x / p + pull) * BETA,
            }
            if power:
                forms |= {
                    "sparcml-rd": logf * ALPHA + sum(gamma(2**(i - 1)) for i in range(1, logf + 1)) * x * BETA,
                    "design:hierarchy/incremental/central/coo":
                        logf * ALPHA + sum(gamma(2**(i - 1)) for i in range(1, logf + 1)) * x * BETA,
                    "design:hierarchy/one-shot/central/coo": logf * ALPHA + (p - 1) * x * BETA,
                    "design:hierarchy/incremental/parallel/even/coo": (logf + p - 1) * ALPHA + (tree * x + pull) * BETA,
                    "design:hierarchy/one-shot/parallel/even/coo": (logf + p - 1) * ALPHA + (logf * x / 2 + pull) * BETA,
                }
            for name, form in forms.items():
                near(model.expected(source, flat, name, p, [0], {})["time_s"], form, f"{name}, {p} ranks, {overlap}")
            at = f"{p} ranks, {overlap}"
            for form in ("hash-bitmap", "bitmap"):
                found = model.expected(source, flat, {"name": "zen", "balance": "even", "format": form}, p, [0], {})["time_s"]
                near(found, 2 * (p - 1) * ALPHA + (p - 1) / p * (x + gamma(p) * y + rows / 8) * BETA, f"zen {form}, {at}")
            b = 16  # elements: 4 rows, and the non-zero rows are 128 rows apart
            blocks = nnz * (1 if overlap == "full" else len({r // 4 for r in range(p)}))
            found = model.expected(source, flat, {"name": "omnireduce", "block": b}, p, [0], {})["time_s"]
            near(found, 2 * (p - 1) * ALPHA + (p - 1) / p * (nnz + blocks) * (b * v + 4) * BETA, f"omnireduce, {at}")
            found = model.expected(source, flat, {"name": "omnireduce", "block": b, "aggregators": 2}, p, [0], {})["time_s"]
            near(found, 2 * p * ALPHA + p / 2 * (nnz + blocks) * (b * v + 4) * BETA, f"omnireduce, 2 aggregators, {at}")
            c = 48 * p
            found = model.expected(WithValues(source), flat, {"name": "s2", "buckets": c}, p, [0], {})["time_s"]
            near(found, 2 * (p - 1) * (ALPHA + (c * v + rows / 8) / p * BETA), f"s2, {at}")


class WithValues(Uniform):
    """A uniform tensor whose values are all 1."""

    def __init__(self, source):
        Uniform.__init__(self, source.rows, source.width, source.nnz, source.overlap)

    def units(self, t, r):
        return {i * self.width + column: 1 for i in self.row_ids(t, r) for column in range(self.width)}


def closed_forms_of_values(folder):
    """gtopk, topka, topkdsa, spardl, oktopk."""
    flat, unit = cluster_of("flat"), 4 * BETA
    for p in (2, 3, 4, 6, 8, 12):
        n, k = 48 * 4 * p, 48 * p
        same = Given(n, lambda t, r: [1 + i * 7919 % n for i in range(n)])
        own = model.Gradient(n, seed=5)
        run = lambda source, scheme: model.expected(source, flat, scheme, p, [0], {})["time_s"]
        logc, logf = math.ceil(math.log2(p)), p.bit_length() - 1
        if p & p - 1 == 0:
            near(run(own, {"name": "gtopk", "k": k}), 2 * logf * (ALPHA + 2 * k * unit), f"gtopk, {p}")
        q = p - 2**logf
        f = q > 0
        bulk = f + 2**logf - 1 + sum(min(q, 2**i) for i in range(logf)) + f * (p - 1)
        near(run(own, {"name": "topka", "k": k}), (logf + 2 * f) * ALPHA + bulk * 2 * k * unit, f"topka, {p}")
        for timing in ("before-send", "after-sum"):
            near(run(own, {"name": "spardl", "k": k, "timing": timing}), 2 * logc * ALPHA + 4 * k * (p - 1) / p * unit,
                 f"spardl, {p}, {timing}")
        for d in (d for d in range(2, p + 1) if p % d == 0):
            team, steps = math.ceil(math.log2(p / d)), math.ceil(math.log2(d))
            if d & d - 1 == 0:
                near(run(own, {"name": "spardl", "k": k, "teams": d}),
                     (2 * team + steps) * ALPHA + 2 * k * ((2 * p - 2 * d) / p + d / p * steps) * unit, f"R-SAG, {p}, {d}")
            low = (2 * team + steps) * ALPHA + 2 * k * (p * d + p - 2 * d) / (p * d) * unit
            # In iteration 1 of identical gradients h = k/P.
            near(run(same, {"name": "spardl", "k": k, "teams": d, "sag": "bruck"}), low, f"B-SAG, {p}, {d}")


def bruck_sag_climbs(folder):
    """B-SAG's h settles at Dk/P under full overlap: the high end of Eq. 7."""
    for p, d in ((4, 2), (8, 4), (6, 3)):
        k, n, states, residuals = 24 * p, 24 * 8 * p, {}, [{}] * p
        whole = {i: 1 + i * 7919 % n << 20 for i in range(n)}
        for t in range(50):
            problem = model.Problem([model.add(whole, rest) for rest in residuals], 0, n, 1, 4, 4, False, states, t, 1)
            rounds, _, residuals = model.spardl(problem, {"k": k, "teams": d, "sag": "bruck"})
        assert all(state["h"] == d * k / p for state in states.values()), states
        form = ((2 * math.ceil(math.log2(p / d)) + math.ceil(math.log2(d))) * ALPHA +
                2 * k * (d * d + 2 * p - 3 * d) / p * 4 * BETA)
        near(model.play(cluster_of("flat"), p, rounds)[0], form, f"B-SAG, {p}, {d}")


def golden_case(folder):
    """Fig. 3: six ranks; rank 1 sends bags {5, 6}, {3, 4}, {2} and receives from 3, 5, 6 (numbered from 1)."""
    source = model.Gradient(600, seed=2)
    problem = model.Problem([source.units(0, r) for r in range(6)], 0, 600, 1, 4, 4, False, {}, 0, 1)
    rounds = model.spardl(problem, {"k": 60})[0]
    to_first = [[a[1] + 1 for a, b, _ in messages if b[1] == 0] for _, messages in rounds[:3]]
    assert to_first == [[3], [5], [6]], to_first
    sizes = [[size // 80 for a, _, size in messages if a[1] == 0] for _, messages in rounds[:3]]
    assert sizes == [[2], [2], [1]], sizes


def points_of_the_space(folder):
    """Named schemes that are points give the same time as their point."""
    path = folder / "t.safetensors"
    write_trace(path, 300, 8, ragged(300, 12, 2))
    source = model.Rows(path)
    pairs = [("sparcml-rd", "design:hierarchy/incremental/central/coo"),
             ({"name": "allgather"}, "design:ring/one-shot/central/coo"),
             ({"name": "allgather", "algorithm": "direct"}, "design:p2p/incremental/central/coo"),
             ({"name": "allgather", "algorithm": "recursive-doubling"}, "design:hierarchy/one-shot/central/coo"),
             ({"name": "ps", "colocated": True}, "design:p2p/one-shot/parallel/even/coo"),
             ("omnireduce", "design:p2p/incremental/parallel/even/block"),
             ("zen", "design:p2p/incremental/parallel/balanced/hash-bitmap"),
             ({"name": "zen", "format": "coo"}, "design:p2p/incremental/parallel/balanced/coo")]
    for cluster in CLUSTERS:
        for p in (2, 3, 5, 8):
            for sizes in ("free", "exchanged"):
                for one, other in pairs:
                    a, b = (model.expected(source, cluster_of(cluster), scheme, p, [0, 1], {"sizes": sizes}) for scheme in (one, other))
                    if sizes == "free" or "sparcml" not in str(one):
                        assert a == b, f"{one} and {other} at {p} on {cluster}: {a}, {b}"


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
BIG, SMALL = "rows 400", "rows 60"
ZENS = [{"name": "zen", "format": f, "balance": b} for f in ("hash-bitmap", "coo", "bitmap", "block") for b in ("hash", "even", "sorted")]
SPARCML = ["sparcml-rd", "sparcml-split", "sparcml-dsar"]
OMNI = ["omnireduce", {"name": "omnireduce", "block": 12}, {"name": "omnireduce", "block": 10, "aggregators": 1}]
FIRST = ["allreduce", {"name": "allreduce", "algorithm": "rabenseifner"}, "allgather", {"name": "allgather", "algorithm": "bruck"},
         {"name": "ps", "colocated": True}, {"name": "ps", "dense": True, "servers": 1}]
WITH_SERVERS = ["ps", {"name": "omnireduce", "block": 8, "aggregators": 2}]
GRADIENT = {"elements": 331, "seed": 7}
LAPLACE = {"elements": 400, "seed": 2, "rho": 0.9, "sigma": 2, "layers": 5, "distribution": "laplace", "scale": 3, "iterations": 6}
FEW = {"elements": 96, "seed": 4, "iterations": 40}
SPARDLS = [{"name": "spardl", "density": "10%", **more} for more in (
    {}, {"timing": "after-sum"}, {"residuals": "partial"}, {"residuals": "local"}, {"residuals": "partial", "timing": "after-sum"})]
TEAMS = [{"name": "spardl", "k": 37, "teams": d, "sag": sag, **more} for d in (2, 4) for sag in ("auto", "recursive", "bruck")
         for more in ({}, {"timing": "after-sum"}, {"residuals": "local"}, {"residuals": "partial"})]
S2S = ["s2", {"name": "s2", "hashes": 2}, {"name": "s2", "hashes": 3, "lambda": 1.5, "seed": 9}, {"name": "s2", "hashes": 4, "buckets": 17}]
EVERY = SPARCML + OMNI + ["zen", {"name": "zen", "format": "coo", "balance": "even"}, {"name": "zen", "format": "block"},
                          {"name": "zen", "format": "bitmap", "balance": "sorted"}] + FIRST


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
    case("zen, planned", [{"name": "zen", "plan": "auto"}], iterations=8),
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
    case("leader", EVERY, "nodes", hierarchy="leader"), case("leader, cards of their own", EVERY, "cards", hierarchy="leader"),
    case("leader, servers", ["ps"], "nodes", hierarchy="leader", ranks=[3, 4, 5, 12]),
    case("hierarchies inside schemes", [{"name": n, "hierarchy": h} for n in ("zen", "sparcml-rd", "allreduce")
                                        for h in ("none", "shard", "leader")], "cards", ranks=[2, 4, 8, 12]),
    case("design in shards", DESIGNS, "nodes", hierarchy="shard", ranks=[4, 6, 8, 12], iterations=1),
    case("topka, topkdsa", [{"name": n, **o} for n in ("topka", "topkdsa") for o in ({"density": "5%"}, {"k": 40}, {})], trace=GRADIENT,
         iterations=4),
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
    case("s2 of selected elements", S2S, trace=GRADIENT, select={"topk": "10%"}, iterations=4),
    case("s2 and bitmaps of selected elements of rows", [*S2S, {"name": "zen", "format": "bitmap"}], trace="values", select={"topk": "10%"}, iterations=3),
    case("s2 of selected blocks", S2S, "nodes", trace=LAPLACE, select={"blocks": "25%", "block": 12}, iterations=4),
    case("s2 of selected blocks, elements", S2S, trace=LAPLACE, select={"blocks": "25%", "block": 12}, granularity="element", iterations=2),
    case("s2 of a trace with values", S2S, trace="values", iterations=3),
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
            rows, width = (400, 12) if trace == BIG else (60, 5)
            write_trace(path, rows, width, ragged(rows, 12, max(4, iterations)), trace == "values")
            source, said = model.Rows(path), str(path)
        scenario = {"name": "second", "trace": said, "cluster": {"name": cluster, **CLUSTERS[cluster]}, "ranks": ranks,
                    "iterations": iterations, "schemes": mine, **more}
        compare(simulate(folder, scenario), source, scenario, cluster_of(cluster))
    return name, check


def main():
    known = known_schemes()
    itself = [known_hashes, closed_forms, closed_forms_of_values, bruck_sag_climbs, golden_case, points_of_the_space, unbiased]
    return tap.run(itself + [judged(*one, known) for one in CASES])


if __name__ == "__main__":
    sys.exit(main())
