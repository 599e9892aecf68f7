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
CLUSTERS = {"one card": CARD, "two cards": {**CARD, "nics": 2}, "cards of their own": {**CARD, "nic": "per-rank"},
            "slow inside": {**CARD, "intra": {"latency": "30us", "bandwidth": "2GB/s"}}}
SCHEMES = ["allreduce", "allgather", {"name": "allgather", "algorithm": "recursive-doubling", "label": "doubling"},
           {"name": "allgather", "algorithm": "direct", "label": "direct"}, "alltoall", "zen"]
EXACT = {"allreduce", "allgather", "doubling"}


def test_of(name):
    def test(folder):
        scenario = {"name": "placed", "trace": {"uniform": {"rows": 7168, "density": "1/7", "row_width": 64}}, "cluster": CLUSTERS[name],
                    "ranks": [8, 16, 32], "schemes": SCHEMES}
        done = subprocess.run([PROGRAM, "run", write_json(folder, scenario), "--format", "json", "--quiet"], capture_output=True, text=True,
                              timeout=tap.HANG, env={**os.environ, "SPARSYNC_DATA": str(ROOT)})
        assert done.returncode == 0, done.stderr
        found = {}
        for p in json.loads(done.stdout)["points"]:
            where = f"{p['label']} on {p['ranks']}: {p['time_s']} against {p['placed_s']}"
            found.setdefault(p["label"], set()).add(p["placed"])
            if p["placed"] == "exact":
                assert math.isclose(p["time_s"], p["placed_s"], rel_tol=1e-9), where
            elif p["placed"] == "bound":
                assert p["time_s"] >= p["placed_s"] * (1 - 1e-9), where
        for label in EXACT:
            assert found[label] == {"exact"}, (label, found[label])
        for label in ("direct", "alltoall", "zen"):
            assert found[label] == {"bound"}, (label, found[label])
    return test


for which in CLUSTERS:
    one = test_of(which)
    one.__name__ = which
    TESTS.append((which, one))
sys.exit(tap.run(TESTS))
