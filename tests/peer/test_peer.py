#!/usr/bin/env python3
"""The model "fair" against SimGrid 3.32, on the same messages; prints TAP.

usage: test_peer.py DUMP_ROUNDS SOURCE_TREE [--quick | --all]

Every lossless scheme on the shipped traces (16 and 64 ranks), on clusters with every key. 64 ranks take SimGrid seconds: each
scheme is played there on one cluster, another sixth of them on each, unless --all is said. What takes 10 ms and more must
agree to 1e-6; below, to 10 ns, since SimGrid snaps times to 1 ns. Long ragged exchanges through an oversubscribed fabric
are chaotic: each round enlarges what rounding did in those before. How much shows when all times are scaled by hardly more
than 1 and scaled back; ten times that is allowed too. Five cases play two or three schemes at once, on 16 ranks, where
rounding does not grow. Skipped where SimGrid or a C++ compiler is missing.
"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

GBPS = {"latency": "25us", "bandwidth": "25Gbps"}
NVLINK = {"latency": "3us", "bandwidth": "100GB/s"}
CLUSTERS = {
    "one card": {**GBPS, "gpus_per_node": 8, "nic": "per-node", "intra": NVLINK},
    "two cards": {"latency": "8us", "bandwidth": "100Gbps", "gpus_per_node": 8, "nics": 2, "intra": NVLINK},
    "fabric": {"latency": "5us", "bandwidth": "25Gbps", "gpus_per_node": 2, "nic": "per-node",
               "fabric": [{"nodes": 2, "oversubscription": 2}, {"nodes": 6, "bandwidth": "20Gbps", "latency": "50us"}]},
    "bus": {"latency": "5us", "bandwidth": "25Gbps", "gpus_per_node": 4, "nic": "per-node",
            "intra": {"latency": "2us", "bandwidth": "12GB/s", "shared": True}},
    "window 4": {**GBPS, "gpus_per_node": 8, "nic": "per-node", "intra": NVLINK, "window": 4},
    "window all": {**GBPS, "gpus_per_node": 8, "nic": "per-node", "intra": NVLINK, "window": "all"},
    "segments": {"segments": [{"up_to": "8KiB", "latency": "5us", "bandwidth": "10Gbps"},
                              {"up_to": "64KiB", "latency": "9us", "bandwidth": "20Gbps"},
                              {"latency": "20us", "bandwidth": "25Gbps"}], "gpus_per_node": 4, "nics": 2,
                 "exchange": {"latency": "12us", "bandwidth": "15Gbps"}},
}
SCHEMES = ["allreduce", {"name": "allreduce", "algorithm": "rabenseifner"}, {"name": "allreduce", "algorithm": "tree"},
           "allgather", {"name": "allgather", "algorithm": "recursive-doubling"}, {"name": "allgather", "algorithm": "bruck"},
           {"name": "allgather", "algorithm": "direct"}, "ps", {"name": "ps", "colocated": True}, "alltoall", "sparcml-rd",
           "sparcml-split", "sparcml-dsar", "omnireduce", {"name": "omnireduce", "aggregators": 3}, "zen",
           {"name": "zen", "hierarchy": "shard"}, {"name": "zen", "hierarchy": "leader"},
           {"name": "design:ring/incremental/parallel/even/coo"}]
TRACES = ["bible-kjv-16", "wordnet-64"]
# Plays at once: the cluster, and which begins when (s).
CARD_FOR_4 = {**GBPS, "gpus_per_node": 4, "nic": "per-node", "intra": NVLINK}
TOGETHER = [(CARD_FOR_4, ["allreduce", 5e-3, "allgather"]), (CARD_FOR_4, ["alltoall", 8e-4, "allreduce"]),
            ({**CARD_FOR_4, "nic": "per-rank"}, ["alltoall", 5e-4, "alltoall"]),
            (CLUSTERS["fabric"], ["ps", 3e-3, "allgather"]), (CLUSTERS["fabric"], ["allreduce", 6e-3, "alltoall", 8e-3, "zen"])]
# SimGrid takes minutes for an exchange in which 64 x 63 flows share cards at once.
FEW_AT_ONCE = ["allreduce", {"name": "allgather", "algorithm": "bruck"}, "ps", "sparcml-rd"]


def schemes_on(trace, label, everything):
    """What is played of a trace on that cluster."""
    if trace != "wordnet-64":
        return SCHEMES
    if label == "window all":
        return FEW_AT_ONCE
    place = [name for name in CLUSTERS if name != "window all"].index(label)
    return SCHEMES if everything else SCHEMES[place % 6::6]


def build(source, folder):
    program = folder / "simgrid_rounds"
    found = shutil.which("g++") and subprocess.run(["pkg-config", "--exists", "simgrid"], check=False).returncode == 0
    if found:
        subprocess.run(["g++", "-std=c++17", "-O2", "-o", program, source, "-lsimgrid"], check=True)
    return program if found else None


def rounds_of(dump, trace, cluster, scheme, slower=1.0):
    return subprocess.run([dump, trace, cluster, json.dumps(scheme), repr(slower), "--kernels"], stdout=subprocess.PIPE,
                          check=True).stdout


def apart(dump, peer, trace, cluster, scheme):
    """The peer's answer, and whether the two are further apart than rounding, of which SimGrid's is known and the engine's own
    is tried only where that does not do."""
    rounds = rounds_of(dump, trace, cluster, scheme)
    times = json.loads(subprocess.run([peer], input=rounds, stdout=subprocess.PIPE, check=True).stdout)
    ours, distance = times["engine_s"], abs(times["engine_s"] - times["simulated_s"])
    if distance <= max(1e-8, 1e-6 * ours):
        return times, False
    others = [float(rounds_of(dump, trace, cluster, scheme, 1 + k * 1e-15).split()[-1]) for k in (1, 3, 100)]
    return times, distance > 10 * max(abs(other - ours) for other in others)


def together(dump, peer, trace, cluster, first, *others):
    """What SimGrid says of plays at once, and whether one ends elsewhere, or before all were under way."""
    words = [json.dumps(word) for word in others]
    rounds = subprocess.run([dump, trace, cluster, json.dumps(first), "1", "--kernels", *words], stdout=subprocess.PIPE,
                            check=True).stdout
    times = json.loads(subprocess.run([peer], input=rounds, stdout=subprocess.PIPE, check=True).stdout)
    wrong = any(abs(ours - theirs) > max(1e-8, 1e-6 * ours) for ours, theirs in times["ends"])
    return times, wrong or max(others[::2]) >= min(ours for ours, _ in times["ends"])


def main():
    quick = "--quick" in sys.argv
    dump, root = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        peer = build(root / "tests/peer/simgrid_rounds.cpp", folder)
        if not peer:
            print("1..0 # SKIP no SimGrid, or no C++ compiler")
            return 0
        traces = TRACES[:1] if quick else TRACES
        print(f"1..{len(traces) * len(CLUSTERS) + len(TOGETHER)}")
        bad = number = 0
        for trace in traces:
            for label, cluster in CLUSTERS.items():
                file, wrong, worst = folder / "cluster.json", [], 0
                file.write_text(json.dumps(cluster), encoding="utf-8")
                for scheme in schemes_on(trace, label, "--all" in sys.argv):
                    times, differ = apart(dump, peer, root / "traces" / f"{trace}.safetensors", file, scheme)
                    worst = max(worst, times["off"])
                    if differ:
                        wrong.append(f"# {json.dumps(scheme)}: {times['engine_s']} s, SimGrid {times['simulated_s']} s")
                number += 1
                bad += bool(wrong)
                print(f"{'not ok' if wrong else 'ok'} {number} - {trace}, {label}: at most {worst:.1e} off", *wrong, sep="\n",
                      flush=True)
        for cluster, plays in TOGETHER:
            file.write_text(json.dumps(cluster), encoding="utf-8")
            times, differ = together(dump, peer, root / "traces" / f"{TRACES[0]}.safetensors", file, *plays)
            number += 1
            bad += differ
            print(f"{'not ok' if differ else 'ok'} {number} - {plays} at once: at most {times['off']:.1e} off", flush=True)
        return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
# SPDX-License-Identifier: Apache-2.0
