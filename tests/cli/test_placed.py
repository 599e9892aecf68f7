#!/usr/bin/python3
"""Closed forms on nodes and cards: of uniform tensors, what is called exact is the simulated time, and no time is below what is
called a bound. Arguments: the program, the source tree. Prints TAP."""
import json
import math
import os
import pathlib
import subprocess
import sys

import tap
from tap import write_json

PROGRAM, ROOT = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
TESTS = []
CARD = {"model": "fair", "latency": "25us", "bandwidth": "25Gbps", "gpus_per_node": 4, "nic": "per-node",
        "intra": {"latency": "5us", "bandwidth": "130GB/s"}}
CLUSTERS = {"one card": CARD, "two cards": {**CARD, "nics": 2}, "three cards for four": {**CARD, "nics": 3},
            "cards of their own": {**CARD, "nic": "per-rank"},
            "slow inside": {**CARD, "intra": {"latency": "30us", "bandwidth": "2GB/s"}},
            "slow to start inside": {**CARD, "intra": {"latency": "90us", "bandwidth": "130GB/s"}},
            "one card, in turn": {**CARD, "model": "alpha-beta"}, "all messages at once": {**CARD, "window": "all"},
            "all messages at once, far away": {**CARD, "window": "all", "latency": "5ms"},
            "a fabric above": {**CARD, "fabric": [{"nodes": 8, "oversubscription": 4}]},
            "one GPU a node": {**CARD, "gpus_per_node": 1}}
GATHERS = {"allgather": "ring", "doubling": "recursive-doubling", "direct": "direct"}
RUNNING = {"sparcml-rd": "sparcml-rd", "bitmaps": "design:hierarchy/incremental/central/bitmap",
           "along a ring": "design:ring/incremental/central/coo"}
SERVERS = ("ps", "three servers", "omnireduce")
RINGS = ("allreduce", "allgather")
SCHEMES = (["allreduce", "alltoall", {"name": "zen", "balance": "even", "format": "coo"}, "ps",
            {"name": "ps", "servers": 3, "dense": True, "label": "three servers"}, {"name": "omnireduce", "aggregators": 4},
            {"name": "allreduce", "algorithm": "rabenseifner", "label": "halving"}] +
           [{"name": "allgather", "algorithm": a, "label": label} for label, a in GATHERS.items()] +
           [{"name": name, "label": label} for label, name in RUNNING.items()])


def play(folder, name, overlap):
    scenario = {"name": "placed", "trace": {"uniform": {"rows": 101376, "density": "1/33", "row_width": 192, "overlap": overlap}},
                "cluster": CLUSTERS[name], "ranks": [4, 6, 8, 16, 32], "schemes": SCHEMES}
    done = subprocess.run([PROGRAM, "run", write_json(folder, scenario), "--format", "json", "--quiet", "--no-verify"],
                          capture_output=True, text=True, timeout=tap.HANG, env={**os.environ, "SPARSYNC_DATA": str(ROOT)})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["points"]


def kind(name, label, ranks):
    """What the form is called: in one node, on whole nodes, and on 6 ranks that fill one and a half."""
    per_node = CLUSTERS[name]["gpus_per_node"]
    if ranks == per_node and CLUSTERS[name].get("window") == "all":
        return None
    if label == "along a ring":  # of two classes, which union meets the slower one is not known
        return "bound" if per_node == 1 or ranks == per_node else None
    if per_node == 1 or ranks == per_node:
        return "bound" if label in RUNNING or (label in SERVERS and per_node == 1) else "exact"
    cards = CLUSTERS[name].get("nics", per_node if CLUSTERS[name]["nic"] == "per-rank" else 1)
    if ranks % per_node and (label not in RINGS or cards > 1):
        return None  # rings side by side meet unequal nodes
    if name == "slow to start inside" and label in RINGS:
        return "bound"
    return "exact" if label in RINGS or label in ("doubling", "halving") else "bound"


def check(point, overlap):
    label, took, form = point["label"], point["time_s"], point["placed_s"]
    where = f"{label} on {point['ranks']}, overlap {overlap}: {took} against {form}, {point['placed']}"
    alike = overlap != "random"  # the unions of equally many ranks, and their parts
    if point["placed"] == "exact" and (alike or label not in ("zen", *SERVERS)):
        assert math.isclose(took, form, rel_tol=1e-9), where
    elif point["placed"] == "bound":
        assert took >= form * (1 - 1e-12), where
    if point["placed"] == "bound" and label in RUNNING and alike:
        assert math.isclose(took, form, rel_tol=1e-9), where


def test_of(name):
    def test(folder):
        for overlap in ("random", "full", "none"):
            for point in play(folder, name, overlap):
                said = kind(name, point["label"], point["ranks"])
                assert point["placed"] == said, f"{point['label']} on {point['ranks']}: {point['placed']}, not {said}"
                assert (point["placed_s"] is None) == (said is None)
                check(point, overlap)
    return test


def sums_differ(folder):
    """Unions of neighbours are not alike in a random tensor: the largest sets the pace of each round."""
    rd = [p for p in play(folder, "one card", "random") if p["label"] == "sparcml-rd" and p["ranks"] > 6]
    assert all(p["time_s"] > p["placed_s"] * (1 + 1e-6) for p in rd), rd


for which in CLUSTERS:
    one = test_of(which)
    one.__name__ = which
    TESTS.append((which, one))
sys.exit(tap.run(TESTS + [sums_differ]))
# SPDX-License-Identifier: Apache-2.0
