#!/usr/bin/python3
"""Holds predictions with kernels against runs through this machine's memory: `./dev memlab` (docs/validation.md).

Ranks pass messages through memory, where what kernels take is most of the time. Kernels are timed on all cores at once, one
thread on each, since ranks compute at once and share caches and memory; messages between ranks; with nothing else but
`sparsync calibrate`. Then `sparsync exec` runs schemes on a trace, and those that choose among values on made-up gradients:
each several times, since one process may take half as long again as the next, all its life; the run of median time counts.
What was predicted with kernels and without, and what was measured, is printed as Markdown.

More ranks than cores share these evenly: one that waits gives its core away, and each kernel is predicted to take as
many times as long as ranks share a core, as if all always computed at once.
"""
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

import netlab

ROOT = netlab.ROOT
GOAL = 0.15  # median


def call(program, ranks, *arguments):
    """`PROGRAM ARGUMENTS` on so many ranks, in the real-time class: whatever else runs gives way, and a rank that yields
    stands behind all others of its core."""
    done = netlab.call("mpirun", "--allow-run-as-root", "--oversubscribe", "-n", ranks, "--map-by", "core", "--bind-to", "core:overload-allowed",
                       "--mca", "mpi_yield_when_idle", "1", *netlab.FIRST.split(), program,
                       *arguments, "--quiet", check=False, timeout=1200,
                       env={**os.environ, "OMP_NUM_THREADS": "1", "SPARSYNC_DATA": str(ROOT)})
    if done.returncode:
        raise RuntimeError(netlab.reason(done))
    return done.stdout


def time_kernels(program, ranks, folder):
    """On so many cores at once; a device file, the first core's."""
    command = f"exec '{program}' calibrate kernels --device cpu --max 64MiB --name core --quiet -o '{folder}'/core.$OMPI_COMM_WORLD_RANK.json"
    call("sh", ranks, "-c", command)
    return folder / "core.0.json"


def schemes_of(program):
    """Of sums, and of chosen values."""
    listed = netlab.call(program, "list", "schemes", "--format", "json", env={**os.environ, "SPARSYNC_DATA": str(ROOT)})
    schemes = json.loads(listed.stdout)["schemes"]
    return [[{"name": s["name"]} for s in schemes if s["lossless"]],
            [{"name": s["name"], **({} if s["name"] == "s2" else {"density": 0.01})} for s in schemes if not s["lossless"]]]


def make_trace(arguments, folder):
    path = folder / "trace.safetensors"
    netlab.call(arguments.program, "trace", "synth", "--ranks", arguments.ranks, "--iterations", 2, "--rows", arguments.rows,
                "--row-width", arguments.width, "--tokens", arguments.tokens, "--zipf", 0.6, "-o", path, "--quiet")
    return str(path)


def measure(arguments, trace, schemes, cluster, device, folder):
    scenario, found = folder / "scenario.json", []
    for scheme in schemes:
        scenario.write_text(json.dumps({"name": "memlab", "trace": trace, "ranks": arguments.ranks, "iterations": "0:2",
                                        "schemes": [scheme]}))
        launches = [json.loads(call(arguments.program, arguments.ranks, "exec", scenario, "--cluster", cluster, "--device",
                                    device, "--repeats", arguments.repeats, "--format", "json"))["points"][0]
                    for _ in range(arguments.launches)]
        launches.sort(key=lambda point: point["measured_s"])
        point = {**launches[len(launches) // 2], "least_s": launches[0]["measured_s"], "most_s": launches[-1]["measured_s"]}
        found.append(point)
        print(f"{scheme['name']}: {point['measured_s'] / point['time_s'] - 1:+.1%}", file=sys.stderr)
        for name, kernel in point["kernels"].items():
            print(f"    {name}: {kernel['measured_s'] * 1e3:.3f} ms, {kernel['predicted_s'] * 1e3:.3f} predicted", file=sys.stderr)
    return found


def segments_of(cluster):
    """Of messages, by size; a fit that needs but one has none."""
    return cluster.get("segments") or [cluster]


def run(arguments, folder):
    cluster, device = folder / "memory.json", arguments.device
    print("calibrating", file=sys.stderr)
    call(arguments.program, arguments.ranks, "calibrate", "network", "--sizes", "1:32MiB", "-o", cluster)
    if not arguments.device:
        device = time_kernels(arguments.program, min(arguments.ranks, cores()), folder)
    if arguments.ranks > cores():
        core, device = json.loads(pathlib.Path(device).read_text()), folder / "shared.json"
        device.write_text(json.dumps({**core, "slower": arguments.ranks // cores()}))
    sums, values = schemes_of(arguments.program)
    made = {"gradient": {"elements": arguments.elements}}
    return (measure(arguments, make_trace(arguments, folder), sums, cluster, device, folder) +
            measure(arguments, made, values, cluster, device, folder), segments_of(json.loads(cluster.read_text())))


def table(points, segments, arguments):
    rates = ", ".join(f"{s['latency'] * 1e6:.1f} us and {s['bandwidth'] * 8e-9:.0f} Gbit/s" for s in segments)
    shared = f" on {cores()} cores" if arguments.ranks > cores() else ""
    lines = [f"{arguments.ranks} ranks{shared}. Messages, by size: {rates}. Sums of {arguments.tokens} lookups a rank in a table of "
             f"{arguments.rows} x {arguments.width}; values of {arguments.elements} elements, 1% chosen. Medians of "
             f"{arguments.repeats} runs, and of {arguments.launches} launches (least to most).", "",
             "| scheme | measured | launches | predicted | error | without kernels | error |", "|---|---|---|---|---|---|---|"]
    for p in points:
        lines.append(f"| {p['label']} | {p['measured_s'] * 1e3:.2f} ms | {p['least_s'] * 1e3:.2f} to {p['most_s'] * 1e3:.2f} | "
                     f"{p['time_s'] * 1e3:.2f} ms | "
                     f"{p['measured_s'] / p['time_s'] - 1:+.0%} | {p['network_s'] * 1e3:.2f} ms | "
                     f"{p['measured_s'] / p['network_s'] - 1:+.0%} |")
    errors = {key: [abs(p[key] / p["measured_s"] - 1) for p in points] for key in ("time_s", "network_s")}
    lines += ["", f"Of what was measured the prediction misses {statistics.median(errors['time_s']):.0%} in the median (goal "
              f"{GOAL:.0%}), {max(errors['time_s']):.0%} at most; without kernels {statistics.median(errors['network_s']):.0%} "
              f"and {max(errors['network_s']):.0%}."]
    return "\n".join(lines) + "\n"


def cores():
    return len(os.sched_getaffinity(0))


def missing(arguments):
    if os.geteuid() != 0:
        return "the real-time class needs root"
    if arguments.ranks < 2 or (arguments.ranks > cores() and arguments.ranks % cores() != 0):
        return f"--ranks {arguments.ranks}: 2 or more, each on one of {cores()} cores, or as many on each"
    return None if shutil.which("mpirun") else "mpirun is not installed (Debian: openmpi-bin)"


def main():
    parser = netlab.Parser(prog="./dev memlab", description=__doc__.split("\n")[0])
    parser.add_argument("--program", default=str(ROOT / "build" / "sparsync"), help="(build/sparsync)")
    parser.add_argument("--ranks", type=int, default=2, help="one a core, or as many on each (2)")
    parser.add_argument("--rows", type=int, default=400000, help="of the table (400000)")
    parser.add_argument("--width", type=int, default=1, help="elements of a row (1)")
    parser.add_argument("--tokens", type=int, default=60000, help="lookups of a rank in an iteration (60000)")
    parser.add_argument("--elements", type=int, default=4000000, help="of gradients among which values are chosen (4000000)")
    parser.add_argument("--repeats", type=int, default=9, help="timed runs, whose median counts (9)")
    parser.add_argument("--launches", type=int, default=5, help="of each scheme, the median of which counts (5)")
    parser.add_argument("--device", help="a file of `sparsync calibrate kernels` with a thread on each core, instead of timing them")
    parser.add_argument("-o", metavar="FILE", help="write the table there instead of to standard output")
    arguments = parser.parse_args()
    why = missing(arguments)
    try:
        if why:
            raise RuntimeError(why)
        with tempfile.TemporaryDirectory() as name:
            text = table(*run(arguments, pathlib.Path(name)), arguments)
        pathlib.Path(arguments.o or "/dev/stdout").write_text(text)
    except (RuntimeError, OSError, subprocess.TimeoutExpired) as reason:
        print(f"memlab: {reason}", file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
# SPDX-License-Identifier: Apache-2.0
