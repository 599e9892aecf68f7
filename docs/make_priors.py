#!/usr/bin/python3
"""Writes models/measured/priors.json: what costs of NCCL's ways and protocols are to one another, out of the measured setups of
models/measured/nccl.csv between nodes. Arguments: the program, the source tree; --without SYSTEM: of all others alone, to
judge that one; -o FILE.

Each setup is fitted by `calibrate network --library`, with one message of an exchange under way, all costs in ratio to rings in
Simple but for these and what starts a call. A ratio counts where its standard error is below a fifth, which no prior makes it. Setups whose cards
carry at least 5 GB/s are fast, others are slow: on Polaris and Sirius those are the ones over TCP sockets, where one
connection is slower than a card. A prior is the median over setups; its spread is the root mean square of the logarithms about
it, but at least 0.5, and 0.7 where fewer than three setups tell it. A fit takes priors itself: those learned from are next to
neutral (all equal to rings), and it is made once, since priors made with themselves confirm themselves."""
import csv
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

PROGRAM, ROOT = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
KINDS = ["ring_simple", "start_ll", "start_ll128", "start_simple", "ring_ll", "ring_ll128", "tree_ll", "tree_ll128", "tree_simple", "exchange"]
FAST, KNOWN, LEAST, FEW, TIMES = 5e9, 0.2, 0.5, 0.7, 1
SYSTEMS = {"polaris": ["--nics", "2"], "sirius": ["--nics", "2"], "h100x8": []}
MACHINE = {"polaris": ",cpu=amd,ll128=false", "sirius": ",cpu=amd,ll128=false", "h100x8": ",gpu=hopper"}


def library(system, setup):
    """Which version it was: that of the ten H100 nodes is not said; 2.21 knows Hopper."""
    return ["--library", f"nccl={'2.18' if '2_18' in setup else '2.21'}{MACHINE[system]}"]


def fit(system, setup, data):
    done = subprocess.run([PROGRAM, "calibrate", "network", ROOT / "models" / "measured" / "nccl.csv", "--where", f"system={system}", "--where",
                           f"setup={setup}", *SYSTEMS[system], *library(system, setup), "--window", "1", "--leave-out", "nothing", "--quiet"],
                          capture_output=True, text=True, check=True, env={**os.environ, "SPARSYNC_DATA": str(data)})
    return json.loads(done.stdout)["notes"]


def ratios(notes):
    """(kind, cost) to its value, of those that are known."""
    base, found = notes["fit"][-1], {}
    for kind in KINDS:
        cost = base if kind == "ring_simple" else notes.get(kind, [{}])[-1]
        for key, name in (("latency", "latency"), ("seconds_per_byte", "byte_time")):
            if kind == "ring_simple" and name == "byte_time" or kind.startswith("start") and name == "byte_time":
                continue
            if cost.get(key, 0) > 0 and 0 < cost[f"{key}_error"] < KNOWN * cost[key] and base[key] > 0:
                found[kind, name] = cost[key] / (1 if kind == "ring_simple" or kind.startswith("start") else base[key])
    return base["seconds_per_byte"] <= 1 / FAST, found


def learn(fits, old):
    out = {}
    for name, fast in (("fast", True), ("slow", False)):
        out[name] = {}
        for kind in KINDS:
            entry = {}
            for cost in ("latency", "byte_time"):
                values = [found[kind, cost] for is_fast, found in fits if is_fast == fast and (kind, cost) in found]
                if not values:
                    values = [found[kind, cost] for _, found in fits if (kind, cost) in found]
                before = old.get(name, {}).get(kind, {})
                if values:
                    middle = statistics.median(values)
                    off = math.sqrt(statistics.mean(math.log(v / middle) ** 2 for v in values))
                    entry |= {cost: float(f"{middle:.3g}"), f"{cost}_spread": float(f"{max(off, LEAST if len(values) > 2 else FEW):.2g}")}
                elif cost in before:
                    entry |= {cost: before[cost], f"{cost}_spread": before[f"{cost}_spread"]}
            if entry:
                out[name][kind] = entry
    return out


def begin():
    """Before anything is known: equal to rings in Simple, and 20 us of what has no ratio, give or take a factor of e."""
    one = {"latency": 1, "latency_spread": 1, "byte_time": 1, "byte_time_spread": 1}
    start = {"latency": 2e-5, "latency_spread": 1}
    return {name: {k: start if k == "ring_simple" or k.startswith("start") else one for k in KINDS} for name in ("fast", "slow")}


def main():
    without = sys.argv[sys.argv.index("--without") + 1] if "--without" in sys.argv else None
    path = pathlib.Path(sys.argv[sys.argv.index("-o") + 1]) if "-o" in sys.argv else ROOT / "models" / "measured" / "priors.json"
    with open(ROOT / "models" / "measured" / "nccl.csv") as file:
        setups = sorted({(r["system"], r["setup"]) for r in csv.DictReader(file) if int(r["nodes"]) > 1 and r["system"] != without})
    head = {"source": "models/measured/nccl.csv, fitted by docs/make_priors.py", "fast_from": FAST}
    priors = begin()
    with tempfile.TemporaryDirectory() as data:
        for folder in ("libraries", "clusters"):
            (pathlib.Path(data) / "models").mkdir(exist_ok=True)
            (pathlib.Path(data) / "models" / folder).symlink_to(ROOT / "models" / folder)
        (pathlib.Path(data) / "models" / "measured").mkdir()
        for _ in range(TIMES):
            (pathlib.Path(data) / "models" / "measured" / "priors.json").write_text(json.dumps(head | priors))
            priors = learn([ratios(fit(*setup, data)) for setup in setups], priors)
    kept = json.loads(path.read_text()) if path.exists() else {}  # accuracy is of docs/make_coverage.py
    path.write_text(json.dumps(head | priors | {key: kept[key] for key in ("accuracy",) if key in kept}, indent=2) + "\n")


if __name__ == "__main__":
    main()
# SPDX-License-Identifier: Apache-2.0
