#!/usr/bin/python3
"""Golden results, each number of which a second program vouches for.

That second program is below: written from the description of the model alone (docs/model.md), slow, and sharing nothing
with the first but the trace file. `golden/NAME.json` is a scenario, `golden/NAME.result.json` what `sparsync run` made of
it; the test holds the program's output of today against the recorded one, and against the model below.
Arguments: the program, the source tree; a third, "--write", records anew. Prints TAP."""
import json
import math
import os
import pathlib
import struct
import subprocess
import sys

import second_network
import tap

PROGRAM, ROOT = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
GOLDEN = ROOT / "tests" / "cli" / "golden"
CLOSE = 1e-9
UNTOLD = ("formula", "placed", "paper", "erratum", "push_", "pull_", "bound_", "links", "point_hash", "result_hash")


# --- the trace --------------------------------------------------------------------------------------------------------


class Trace:
    """`lookups[t][r]`: the row ids that rank r looks up in iteration t, duplicates kept."""

    def __init__(self, path):
        data = path.read_bytes()
        size, = struct.unpack("<Q", data[:8])
        header, body = json.loads(data[8:8 + size]), data[8 + size:]
        about = header["__metadata__"]
        tensor, = json.loads(about["tensors"])
        self.name, self.rows, self.width = tensor["name"], tensor["rows"], tensor["row_width"]
        self.bytes = {"F32": 4, "F16": 2, "BF16": 2}[tensor["dtype"]]
        ranks, iterations = int(about["ranks"]), int(about["iterations"])
        offsets = self.numbers(header, body, "offsets")
        ids = self.numbers(header, body, "rows")
        self.lookups = [[ids[offsets[t * ranks + r]:offsets[t * ranks + r + 1]] for r in range(ranks)]
                        for t in range(iterations)]

    def numbers(self, header, body, which):
        entry = header[f"{self.name}.{which}"]
        begin, end = entry["data_offsets"]
        letter = {"I64": "q", "I32": "i", "U32": "I"}[entry["dtype"]]
        return struct.unpack(f"<{entry['shape'][0]}{letter}", body[begin:end])


def share(n, parts, j):
    return j * n // parts


def shares(n, parts):
    return [share(n, parts, j + 1) - share(n, parts, j) for j in range(parts)]


# --- time: ordered ports; where ranks share a card, second_network.py ------------------------------------------------------------------------------------


class Cluster:
    def __init__(self, alpha, rate, per_node=1, nic=False, intra=None, fair=False, **shared):
        self.fair = fair
        self.link, self.per_node, self.nic, self.intra = (alpha, rate), per_node, nic, intra or (alpha, rate)
        self.about = {"gpus_per_node": per_node, "nic": "per-node" if nic else "per-rank", "latency": alpha, "bandwidth": rate,
                      "intra": self.intra if isinstance(self.intra, dict) else dict(zip(("latency", "bandwidth"), self.intra)), **shared}

    def nodes(self, ranks):
        return -(-ranks // self.per_node)


CLUSTERS = {
    "flat": Cluster(25e-6, 25e9 / 8),
    "nodes": Cluster(25e-6, 25e9 / 8, 8, True, (5e-6, 130e9), fair=True),
    "racks": Cluster(25e-6, 25e9 / 8, 4, True, fair=True, nics=2, intra={"latency": 5e-6, "bandwidth": 130e9, "shared": True},
                     fabric=[{"nodes": 2, "oversubscription": 3, "latency": 2e-6}]),
    "ahead": Cluster(40e-6, 25e9 / 8, 4, True, (5e-6, 130e9), fair=True, window=4,
                     segments=[{"up_to": 64000, "latency": 25e-6, "bandwidth": 10e9 / 8}, {"latency": 40e-6, "bandwidth": 25e9 / 8}]),
}


def play(cluster, ranks, rounds):
    """rounds: (dependent, [(from, to, bytes)]); endpoints are ("rank", r) and ("server", s). Returns the time and what
    each endpoint sent and received."""
    nodes = cluster.nodes(ranks)
    free, done, ready = {}, {}, {}
    sent, received = {}, {}
    for dependent, messages in rounds:
        if dependent:
            ready = dict(done)
        for source, target, size in messages:
            home = [number // cluster.per_node if kind == "rank" else number % nodes for kind, number in (source, target)]
            inside = home[0] == home[1]
            alpha, rate = cluster.intra if inside and not cluster.fair else cluster.link
            ports = [("out", source), ("in", target)]
            if cluster.nic and not inside:
                ports += [("nic out", home[0]), ("nic in", home[1])]
            start = max([ready.get(source, 0.0), ready.get(target, 0.0)] + [free.get(port, 0.0) for port in ports])
            end = start + alpha + size / rate
            for port in ports:
                free[port] = end
            for endpoint in (source, target):
                done[endpoint] = max(done.get(endpoint, 0.0), end)
            sent[source] = sent.get(source, 0) + size
            received[target] = received.get(target, 0) + size
    time = second_network.play(cluster.about, ranks, rounds) if cluster.fair else max(done.values(), default=0.0)
    return time, sent, received


# --- building blocks: lists of rounds -----------------------------------------------------------------------------------


def rank(r):
    return "rank", r


def ring_gather(size):
    """Step s: r sends block r-s+1 to r+1."""
    p = len(size)
    return [(True, [(rank(r), rank((r + 1) % p), size[(r - s + 1) % p]) for r in range(p)]) for s in range(1, p)]


def ring_reduce_scatter(size):
    """Step s: r sends part r-s to r+1."""
    p = len(size)
    return [(True, [(rank(r), rank((r + 1) % p), size[(r - s) % p]) for r in range(p)]) for s in range(1, p)]


def pairwise(p, size):
    """Round s: r sends to r+s; size(from, to)."""
    return [(s == 1, [(rank(r), rank((r + s) % p), size(r, (r + s) % p)) for r in range(p)]) for s in range(1, p)]


def bruck(size):
    p, t, rounds = len(size), 0, []
    while 2**t < p:
        blocks = min(2**t, p - 2**t)
        rounds.append((True, [(rank(r), rank((r - 2**t) % p), sum(size[(r + i) % p] for i in range(blocks)))
                              for r in range(p)]))
        t += 1
    return rounds


class Fold:
    """Powers of two on any P: ranks 0..2q-1 pair up, the odd one goes on."""

    def __init__(self, p):
        self.levels = p.bit_length() - 1
        self.positions = 2**self.levels
        self.pairs = p - self.positions
        self.ranks = [2 * i + 1 for i in range(self.pairs)] + list(range(2 * self.pairs, p))

    def inwards(self, size):
        return [(True, [(rank(2 * i), rank(2 * i + 1), size(2 * i)) for i in range(self.pairs)])] if self.pairs else []

    def outwards(self, size):
        return [(True, [(rank(2 * i + 1), rank(2 * i), size(2 * i)) for i in range(self.pairs)])] if self.pairs else []


def doubling_gather(size):
    fold = Fold(len(size))
    held = [size[r] + (size[r - 1] if i < fold.pairs else 0) for i, r in enumerate(fold.ranks)]
    rounds = fold.inwards(lambda even: size[even])
    for t in range(fold.levels):
        rounds.append((True, [(rank(r), rank(fold.ranks[i ^ 2**t]), held[i]) for i, r in enumerate(fold.ranks)]))
        held = [held[i] + held[i ^ 2**t] for i in range(fold.positions)]
    return rounds + fold.outwards(lambda even: sum(size) - size[even])


def rabenseifner(rows, row_bytes, p):
    """Recursive halving (r and r xor Q/2^(t+1), t rising), then doubling, over Q even parts; folds carry everything."""
    fold = Fold(p)
    part = [n * row_bytes for n in shares(rows, fold.positions)]
    low, high = [0] * fold.positions, [fold.positions] * fold.positions
    rounds = fold.inwards(lambda even: rows * row_bytes)
    for t in range(fold.levels):
        bit = fold.positions >> t + 1
        messages = []
        for i, r in enumerate(fold.ranks):
            middle = (low[i] + high[i]) // 2
            away = (low[i], middle) if i & bit else (middle, high[i])
            messages.append((rank(r), rank(fold.ranks[i ^ bit]), sum(part[slice(*away)])))
        for i in range(fold.positions):
            middle = (low[i] + high[i]) // 2
            low[i], high[i] = (middle, high[i]) if i & bit else (low[i], middle)
        rounds.append((True, messages))
    for t in range(fold.levels):
        rounds.append((True, [(rank(r), rank(fold.ranks[i ^ 2**t]), sum(part[low[i]:high[i]]))
                              for i, r in enumerate(fold.ranks)]))
        partner = [(low[i ^ 2**t], high[i ^ 2**t]) for i in range(fold.positions)]
        low, high = ([min(low[i], partner[i][0]) for i in range(fold.positions)],
                     [max(high[i], partner[i][1]) for i in range(fold.positions)])
    return rounds + fold.outwards(lambda even: rows * row_bytes)


def binomial(size, p):
    """Reduce: in step t, r with r mod 2^(t+1) = 2^t sends to r-2^t; broadcast is its reverse."""
    steps = [[(rank(r), rank(r - 2**t), size) for r in range(p) if r % 2**(t + 1) == 2**t]
             for t in range((p - 1).bit_length())]
    return ([(True, step) for step in steps] +
            [(True, sorted((target, source, size) for source, target, size in step)) for step in reversed(steps)])


def servers(p, s, inward, size):
    """Round t: server j and worker (j+t) mod P; size(worker, server)."""
    rounds = []
    for t in range(p):
        pairs = [((j + t) % p, j) for j in range(s)]
        rounds.append((t == 0, [(rank(r), ("server", j), size(r, j)) if inward else (("server", j), rank(r), size(r, j))
                                for r, j in pairs]))
    return rounds


# --- schemes --------------------------------------------------------------------------------------------------------------


class Step:
    """One iteration of the trace on the first `p` ranks."""

    def __init__(self, trace, t, p):
        self.p, self.rows, self.width, self.value = p, trace.rows, trace.width, trace.bytes
        self.lookups = [len(ids) for ids in trace.lookups[t][:p]]
        self.ids = [sorted(set(ids)) for ids in trace.lookups[t][:p]]
        self.nnz = [len(ids) for ids in self.ids]
        self.union = sorted(set().union(*self.ids))
        self.row_bytes = self.width * self.value

    def within(self, ids, parts, j):
        low, high = share(self.rows, parts, j), share(self.rows, parts, j + 1)
        return sum(low <= i < high for i in ids)

    def dense_parts(self, parts):
        return [n * self.row_bytes for n in shares(self.rows, parts)]


def allreduce(step, options, cluster):
    if options.get("algorithm") == "tree":
        return binomial(step.rows * step.row_bytes, step.p)
    if options.get("algorithm") == "rabenseifner":
        return rabenseifner(step.rows, step.row_bytes, step.p)
    part = step.dense_parts(step.p)
    return ring_reduce_scatter(part) + ring_gather(part)


def allgather(step, options, cluster):
    entries = step.nnz if options.get("coalesce", True) else step.lookups
    gather = {"ring": ring_gather, "bruck": bruck, "recursive-doubling": doubling_gather,
              "direct": lambda size: pairwise(step.p, lambda r, to: size[r])}[options.get("algorithm", "ring")]
    if options.get("separate"):
        return gather([4 * n for n in entries]) + gather([step.row_bytes * n for n in entries])
    return gather([(step.row_bytes + 4) * n for n in entries])


def ps(step, options, cluster):
    p, entry = step.p, step.row_bytes + 4
    if options.get("colocated"):
        pushed = [[step.within(ids, p, j) * entry for j in range(p)] for ids in step.ids]
        summed = [step.within(step.union, p, j) * entry for j in range(p)]
        return pairwise(p, lambda r, to: pushed[r][to]) + pairwise(p, lambda r, to: summed[r])
    s = options.get("servers", cluster.nodes(p))
    if options.get("dense"):
        part = step.dense_parts(s)
        return servers(p, s, True, lambda r, j: part[j]) + servers(p, s, False, lambda r, j: part[j])
    pushed = [[step.within(ids, s, j) * entry for j in range(s)] for ids in step.ids]
    summed = [step.within(step.union, s, j) * entry for j in range(s)]
    rows = options.get("pull") == "rows"
    return (servers(p, s, True, lambda r, j: pushed[r][j]) +
            servers(p, s, False, lambda r, j: pushed[r][j] if rows else summed[j]))


def alltoall(step, options, cluster):
    columns = shares(step.width, step.p)
    index = options.get("index_bytes", 4)
    entries = step.nnz if options.get("coalesce", True) else step.lookups
    ids = ring_gather([8 * n for n in step.lookups]) if options.get("gather_ids") else []
    return (ids + pairwise(step.p, lambda r, to: step.lookups[to] * columns[r] * step.value) +
            pairwise(step.p, lambda r, to: entries[r] * (columns[to] * step.value + index)))


SCHEMES = {"allreduce": allreduce, "allgather": allgather, "ps": ps, "alltoall": alltoall}


def mean(values):
    return sum(values) / len(values)


def largest(amounts, kind):
    return max((amount for (of, _), amount in amounts.items() if of == kind), default=0)


def expected(trace, cluster, scheme, ranks, iterations):
    """The fields of a point, by the model."""
    scheme = {"name": scheme} if isinstance(scheme, str) else scheme
    played = []
    for t in iterations:
        step = Step(trace, t, ranks)
        rounds = SCHEMES[scheme["name"]](step, scheme, cluster) if ranks > 1 else []
        time, sent, received = play(cluster, ranks, rounds)
        played.append({
            "time_s": time,
            "messages": sum(len(messages) for _, messages in rounds),
            "rounds": len(rounds),
            "bytes_total": sum(sent.values()),
            "bytes_sent_max": largest(sent, "rank"),
            "bytes_received_max": largest(received, "rank"),
            "server_bytes_max": max(largest(sent, "server"), largest(received, "server")),
            "density": mean(step.nnz) / step.rows,
            "gamma": len(step.union) / mean(step.nnz),
        })
    fields = {key: mean([iteration[key] for iteration in played]) for key in played[0]}
    fields["time_min_s"] = min(iteration["time_s"] for iteration in played)
    fields["time_max_s"] = max(iteration["time_s"] for iteration in played)
    return fields


# --- the test ---------------------------------------------------------------------------------------------------------------


def run(name):
    done = subprocess.run([PROGRAM, "run", GOLDEN / f"{name}.json", "--format", "json", "--quiet"], capture_output=True,
                          env={**os.environ, "SPARSYNC_DATA": str(ROOT)}, cwd=ROOT, timeout=tap.HANG)
    assert done.returncode == 0, f"status {done.returncode}: {done.stderr.decode()}"
    return json.loads(done.stdout)


def record(name):
    """A point a line, without the numbers and the prose of models/costs and what else the model below does not tell."""
    document = run(name)
    points = [{key: value for key, value in point.items() if not key.startswith(UNTOLD)} for point in document["points"]]
    lines = ",\n".join(json.dumps(point) for point in points)
    (GOLDEN / f"{name}.result.json").write_text(f'{{"scenario": {json.dumps(document["scenario"])}, "points": [\n{lines}\n]}}\n')


def same(golden, found, path):
    """What was recorded is there still; fields may be added."""
    if isinstance(golden, dict):
        for key in golden:
            assert key in found, f"{path}.{key} is gone"
            same(golden[key], found[key], f"{path}.{key}")
    elif isinstance(golden, list):
        assert len(golden) == len(found), f"{path}: {len(found)}, not {len(golden)} entries"
        for i, (a, b) in enumerate(zip(golden, found)):
            same(a, b, f"{path}[{i}]")
    elif isinstance(golden, float) and isinstance(found, (int, float)) and not isinstance(found, bool):
        assert math.isclose(golden, found, rel_tol=1e-12), f"{path}: {found!r}, recorded {golden!r}"
    else:
        assert type(golden) is type(found) and golden == found, f"{path}: {found!r}, recorded {golden!r}"


def verify(point, fields):
    where = f"{point['label']} on {point['ranks']} ranks"
    for key, value in fields.items():
        assert math.isclose(point[key], value, rel_tol=CLOSE, abs_tol=0), f"{where}: {key} is {point[key]!r}, the model says {value!r}"
    assert point["exact"] is True, f"{where}: exact is {point['exact']}"


def nothing(rest):
    assert (point := next(rest, None)) is None, f"unexpected {point['label']} on {point['ranks']}"


def main():
    if sys.argv[3:] == ["--write"]:
        for name in CLUSTERS:
            record(name)
        return 0
    trace = Trace(ROOT / "traces" / "bible-kjv-16.safetensors")
    cases = []
    for name, cluster in CLUSTERS.items():
        scenario = json.loads((GOLDEN / f"{name}.json").read_text())
        recorded = json.loads((GOLDEN / f"{name}.result.json").read_text())
        found = run(name)
        cases.append((f"{name}: as recorded", lambda a=recorded, b=found: same(a, b, "result")))
        points = iter(found["points"])
        for ranks in scenario["ranks"]:
            for scheme in scenario["schemes"]:
                label = scheme if isinstance(scheme, str) else scheme["label"]

                def check(ranks=ranks, scheme=scheme, label=label, cluster=cluster, point=next(points)):
                    assert (point["label"], point["ranks"]) == (label, ranks), f"order: {point['label']}, {point['ranks']}"
                    verify(point, expected(trace, cluster, scheme, ranks, range(2)))

                cases.append((f"{name}: {label} on {ranks}", check))
        cases.append((f"{name}: nothing else", lambda rest=points: nothing(rest)))
    failed = 0
    print(f"1..{len(cases)}")
    for number, (name, check) in enumerate(cases, 1):
        try:
            check()
            print(f"ok {number} - {name}")
        except Exception as reason:  # a case that breaks has failed; the others still run
            failed += 1
            print(f"not ok {number} - {name}\n# {type(reason).__name__}: {reason}")
    return failed > 0


sys.exit(main())
