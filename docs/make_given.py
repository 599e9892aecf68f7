#!/usr/bin/python3
"""Prints how many exchanges of measured NCCL machines are within their ranges, where only what rings take is given, as of a
machine that nobody measured (docs/ranges.md, "Exchanges that nobody measured"). Arguments: the program, the source tree.

Each setup of models/measured/nccl.csv between nodes is fitted without its exchanges; latency, bandwidth and links inside nodes
of that fit are given as measured elsewhere, and `collective` is asked for the exchanges."""
import concurrent.futures
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
EXCHANGES, AMD = ("alltoall", "sendrecv"), {"cpu": "amd", "ll128": False}
LIBRARY, NICS = {"polaris": AMD, "sirius": AMD, "h100x8": {"gpu": "hopper"}}, {"polaris": ["--nics", "2"], "sirius": ["--nics", "2"]}
INSIDE = {"latency": "4us", "bandwidth": "200GB/s"}  # no run stayed inside a node


def ask(*arguments):
    return json.loads(subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, check=True).stdout)


def given(system, setup, rows, folder):
    path = folder / "rings.csv"
    with open(path, "w", encoding="utf-8") as file:
        table = csv.DictWriter(file, rows[0].keys())
        table.writeheader()
        table.writerows(row for row in rows if row["collective"] not in EXCHANGES)
    fit = ask("calibrate", "network", path, "--leave-out", "nothing", "--quiet", *NICS.get(system, []))
    cluster = {key: fit[key] for key in ("latency", "bandwidth", "segments", "gpus_per_node", "nics", "intra") if key in fit}
    version = "2.18" if "2_18" in setup else "2.21"
    return {"intra": INSIDE, **cluster, "name": "given", "library": {"name": "nccl", "version": version, **LIBRARY[system]},
            "source": dict.fromkeys(("latency", "bandwidth", "intra"), "measured elsewhere")}


def judge(system, setup, rows):
    """Of each exchange: measured over predicted, and whether it is within its range."""
    with tempfile.TemporaryDirectory() as name:
        folder, found = pathlib.Path(name), []
        cluster = given(system, setup, rows, folder)
        (folder / "given.json").write_text(json.dumps(cluster))
        for row in rows:
            per_node = int(row["gpus_per_node"])
            if row["collective"] in EXCHANGES and int(row["nodes"]) > 1 and per_node == cluster["gpus_per_node"]:
                told = ask("collective", row["collective"], "--cluster", folder / "given.json", "--ranks", int(row["nodes"]) * per_node,
                           "--sizes", row["bytes"], "--format", "json")["times"][0]
                seconds = float(row["seconds"])
                found.append((seconds / told["time_s"], told["time_low_s"] <= seconds <= told["time_high_s"]))
        return found


def main():
    setups = {}
    with open(ROOT / "models" / "measured" / "nccl.csv", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            setups.setdefault((row["system"], row["setup"]), []).append(row)
    setups = {key: rows for key, rows in setups.items() if any(r["collective"] in EXCHANGES and int(r["nodes"]) > 1 for r in rows)}
    systems = {}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as several:
        for (system, _), found in zip(setups, several.map(lambda item: judge(*item[0], item[1]), setups.items())):
            systems.setdefault(system, []).append(found)
    for system, parts in systems.items():
        off = sorted(abs(math.log(ratio)) for found in parts for ratio, _ in found)
        inside = statistics.mean(sum(within for _, within in found) / len(found) for found in parts if found)
        print(f"{system}: {len(off)} exchanges; half are off by more than {math.exp(off[len(off) // 2]):.2f} times, a tenth by more than "
              f"{math.exp(off[9 * len(off) // 10]):.2f}; within their 90% ranges {inside:.0%}, a mean of {len(parts)} setups")


if __name__ == "__main__":
    main()
# SPDX-License-Identifier: Apache-2.0
