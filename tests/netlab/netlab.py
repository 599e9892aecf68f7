#!/usr/bin/python3
"""Holds predictions against a real, if small, network: `./dev netlab` (root only; docs/calibration.md).

Makes network namespaces joined by a bridge, shapes the link of each in both directions (tc tbf), calibrates there with
messages, runs `sparsync exec` there over TCP, one rank or several in a namespace, and prints what was predicted and
what was measured as Markdown.
Everything it makes is named after its process and removed in the end, however it ends.
"""
import argparse
import json
import math
import os
import pathlib
import re
import statistics
import sys
import tempfile

from spaces import FIRST, IDLE_LEAST, ROOT, Shape, Spaces, busy_now, call, idle_since, missing, run_lab, verdict

GOAL = (0.05, 0.15)  # median, worst
MODEL_HALF = 1.03  # docs/ranges.md, "Ranges": what half of the times are off where links are given
# Open MPI's yielding ranks ask again and again, and leave no CPU idle: here to yield is to sleep for 100 us, a sixth of
# a packet's time on a link, so that 16 ranks leave two cores something. Calibration and runs alike have it.
SLEEPY = """#include <sys/prctl.h>
#include <time.h>
int sched_yield(void);
int sched_yield(void) {
  static int told;
  if (!told) told = prctl(PR_SET_TIMERSLACK, 1UL) == 0;
  return nanosleep(&(struct timespec){.tv_nsec = 100000}, 0);
}
"""
# What TCP buffers of a message counts as sent, and the word that a next one may be sent waits behind it. This much is
# some round trips' worth; with 128 KiB, which is a message, ranks fall out of step, and links idle.
BUFFER = 16384
# Left alone, Open MPI lets the receiver of a large message ask for its parts, on the connection that carries what it
# sends itself: two ranks that exchange then take turns, each at half the rate. So the sender sends on.
PROTOCOL = "send"
# In the model a message begins when both ends have come to its round. Open MPI sends up to 64 KiB without asking (eagerly):
# a message whose receiver is still in an earlier round then shares that receiver's link with what it waits for. Asking
# waits behind data that goes the same way, which is no link's property: calibration is left alone.
ASKED = (("btl_tcp_eager_limit", 1024), ("btl_tcp_rndv_eager_limit", 1024))
# A server lives in a rank's process, and what goes to that rank crosses no link: that is `ps` with its servers among
# the ranks.
PLACED = {"ps": {"name": "ps", "colocated": True}}
SMALL, LARGE = "1:1MiB", "256KiB:4MiB"  # messages whose first fit tells the latency, and those that tell the bandwidth


def shape(text):
    found = re.fullmatch("([0-9]{1,3})x([0-9]{1,3})", text)
    if not found or not 2 <= int(found[1]) <= 250 or int(found[2]) < 1:
        raise argparse.ArgumentTypeError(f'"{text}" is not NODESxRANKS, such as 4x2, of 2 to 250 nodes')
    return Shape(int(found[1]), int(found[2]))


def shapes(text):
    return [shape(part) for part in text.split(",")]


def flat(text):
    return [shape(f"{part}x1") for part in text.split(",")]


class Parser(argparse.ArgumentParser):
    def error(self, message):
        self.exit(2, f"netlab: {message}\n")


class Lab(Spaces):
    """Namespaces in which Open MPI starts ranks."""

    def __init__(self, nodes, rate, folder):
        super().__init__(nodes, rate)
        self.folder = folder

    def make(self):
        super().make()
        source, self.sleepy = self.folder / "sleepy.c", self.folder / "sleepy.so"
        source.write_text(SLEEPY)
        call("cc", "-O2", "-shared", "-fPIC", "-o", self.sleepy, source)
        self.wrapper = self.folder / "in_namespace"
        self.wrapper.write_text(f'''#!/bin/sh
space={self.name}-$((OMPI_COMM_WORLD_RANK / $1))
shift
exec ip netns exec "$space" env LD_PRELOAD={self.sleepy} {FIRST} "$@"
''')
        self.wrapper.chmod(0o755)

    def run(self, ranks, per_node, program, *arguments, timeout, more=()):
        """`PROGRAM ARGUMENTS` on `ranks` ranks, `per_node` in a namespace: the process, and the share of CPUs idle."""
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "SPARSYNC_DATA": str(ROOT)}
        # Ranks find mpirun through the bridge: its loopback is not theirs.
        for key in ("ptl_tcp_if_include", "ptl_base_if_include"):
            environment[f"PMIX_MCA_{key}"] = self.name
        for key in ("ptl_tcp_remote_connections", "ptl_base_remote_connections"):
            environment[f"PMIX_MCA_{key}"] = "1"
        options = ["--allow-run-as-root", "--oversubscribe", "-n", ranks]
        for key, value in (("btl", "tcp,self"), ("pml", "ob1"), ("btl_tcp_if_include", "10.77.0.0/24"),
                           ("mpi_yield_when_idle", "1"), ("btl_tcp_flags", PROTOCOL), ("btl_tcp_sndbuf", BUFFER),
                           ("btl_tcp_rcvbuf", BUFFER), *more):
            options += ["--mca", key, value]
        before = busy_now()
        done = call("mpirun", *options, self.wrapper, per_node, program, *arguments, check=False, timeout=timeout,
                    env=environment)
        return done, idle_since(before)

def reason(failed):
    lines = [line for line in failed.stderr.split("\n") if line.startswith("sparsync")]
    return (lines or [failed.stderr.strip()[-200:]])[0].replace(f"{ROOT}/", "")


def calibrate(arguments, folder):
    """The links' latency and bandwidth, between nodes and inside one, as keys of a cluster file: measured once, in a
    lab of its own. Of three nodes, so that acknowledgements travel as they do among many: two that exchange put them on
    the data."""
    with Lab(3, arguments.rate, folder) as lab:

        def fit(ranks, per_node, *options):
            path = folder / "calibrated.json"
            done, _ = lab.run(ranks, per_node, arguments.program, "calibrate", "network", *options, "-o", path,
                              timeout=600)
            if done.returncode:
                raise RuntimeError(f"calibrating: {reason(done)}")
            return json.loads(path.read_text())

        # Small messages tell the latency and large ones the bandwidth: of the latter a latency would be all noise.
        latency = fit(3, 1, "--sizes", SMALL)["notes"]["fit"][0]["latency"]
        links = fit(3, 1, "--sizes", LARGE, "--latency", f"{latency}s")
        inside = fit(2, 2)
    keys = ("latency", "bandwidth")
    return {**{key: links[key] for key in keys}, "intra": {key: inside[key] for key in keys}}


def cluster_of(shape, links, folder):
    """The lab as a cluster file: what was calibrated, and how many ranks have a link together. In a round a rank posts
    one message in each direction, and waits for both before the next (exec/mpi_player.c): that is window 1."""
    path = folder / f"lab-{shape}.json"
    path.write_text(json.dumps({"name": f"netlab-{shape}", "model": "fair", **links, "gpus_per_node": shape.per_node,
                                "nic": "per-node", "window": 1}))
    return path


def measure(lab, shape, cluster, name, arguments):
    scheme, _, hierarchy = name.partition("/")
    setting = {**PLACED.get(scheme, {"name": scheme}), **({"hierarchy": hierarchy} if hierarchy else {})}
    done, idle = lab.run(shape.ranks, shape.per_node, arguments.program, "exec", "--trace", arguments.trace, "--set",
                         f"schemes={json.dumps([setting])}", "--set", f'iterations="{arguments.iterations}"',
                         "--repeats", arguments.repeats, "--cluster", cluster,
                         *(("--device", arguments.device) if arguments.device else ()), "--format", "json", timeout=1800,
                         more=() if arguments.eager else ASKED)
    point = {"scheme": f"{name}, colocated" if scheme in PLACED else name, "shape": shape, "idle": idle, "why": None}
    if done.returncode:
        return {**point, "why": reason(done)}
    points = json.loads(done.stdout)["points"]
    return {**point, "predicted": sum(p["time_s"] for p in points), "within": all(p["within_range"] for p in points), "network": sum(p["network_s"] for p in points),
            "measured": sum(p["measured_s"] for p in points)}


def told(point):
    return point["why"] or f"{point['measured'] / point['predicted'] - 1:+.1%}, {point['idle']:.0%} of the CPU idle"


def schemes_of(program):
    listed = call(program, "list", "schemes", "--format", "json", env={**os.environ, "SPARSYNC_DATA": str(ROOT)})
    return [s["name"] for s in json.loads(listed.stdout)["schemes"] if s.get("lossless", True) or s["name"] == "spardl"]


def table(points, links, arguments):
    lines = [f"Links {arguments.rate}, trace {pathlib.Path(arguments.trace).name}, iterations {arguments.iterations}, "
             f"medians of {arguments.repeats} runs. Calibrated:", "", "| | latency | bandwidth |", "|---|---|---|"]
    for name, link in (("between nodes", links), ("inside a node", links["intra"])):
        lines.append(f"| {name} | {link['latency'] * 1e6:.0f} us | {link['bandwidth'] * 8e-6:.1f} Mbit/s |")
    lines += ["", "| nodes | scheme | predicted | measured | error | CPU idle |" + " without kernels | error |" * bool(arguments.device),
              "|---|---|---|---|---|---|" + "---|---|" * bool(arguments.device)]
    for p in points:
        if p["why"]:
            lines.append(f"| {p['shape']} | {p['scheme']} | | | | not run: {p['why'].replace('|', '/')} |")
            continue
        mark = "" if p["idle"] >= IDLE_LEAST else " (invalid)"
        lines.append(f"| {p['shape']} | {p['scheme']} | {p['predicted'] * 1e3:.2f} ms | {p['measured'] * 1e3:.2f} ms | "
                     f"{p['measured'] / p['predicted'] - 1:+.1%} | {p['idle']:.0%}{mark} |" + bool(arguments.device) *
                     f" {p['network'] * 1e3:.2f} ms | {p['measured'] / p['network'] - 1:+.1%} |")
    told, valid = verdict(points, lambda p: p["shape"], GOAL)
    lines += ["", *told]
    if valid:
        half = sum(abs(math.log(p["measured"] / p["predicted"])) <= math.log(MODEL_HALF) for p in valid)
        lines.append(f"Of the measured times {half / len(valid):.0%} are within 50% ranges (goal 40 to 60%), "
                     f"{sum(p['within'] for p in valid) / len(valid):.0%} within 90% ranges (85 to 95%).")
    if valid and arguments.device:
        without = [abs(p["measured"] / p["network"] - 1) for p in valid]
        lines.append(f"Without kernels: median {statistics.median(without):.1%}, worst {max(without):.1%}.")
    return "\n".join(lines) + "\n"


def run(arguments):
    points, links = [], None
    try:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            print("calibrating", file=sys.stderr)
            links = calibrate(arguments, folder)
            print(f"calibrated: {links}", file=sys.stderr)
            for shape in arguments.shapes:
                with Lab(shape.nodes, arguments.rate, folder) as lab:
                    cluster = cluster_of(shape, links, folder)
                    for scheme in arguments.scheme or schemes_of(arguments.program):
                        points.append(measure(lab, shape, cluster, scheme, arguments))
                        print(f"{shape}, {scheme}: {told(points[-1])}", file=sys.stderr)
    finally:  # what was measured is worth something, also when the rest could not be
        if links:
            text = table(points, links, arguments)
            if arguments.o:
                pathlib.Path(arguments.o).write_text(text)
            else:
                print(text, end="")


def unlaunched():
    if "Open MPI" not in call("mpirun", "--version", check=False).stdout:
        return "mpirun is not Open MPI's: how other launchers reach into namespaces is not known here"
    return None


def unfit(arguments):
    """Why the trace will not do."""
    told = call(arguments.program, "trace", "info", arguments.trace, "--format", "json", check=False)
    if told.returncode:
        return told.stderr.strip()
    ranks, most = json.loads(told.stdout)["ranks"], max(arguments.shapes, key=lambda shape: shape.ranks)
    return f"{most} is {most.ranks} ranks: {arguments.trace} has {ranks}" if most.ranks > ranks else None


def main():
    parser = Parser(prog="./dev netlab", description=__doc__.split("\n")[0])
    parser.add_argument("--program", default=str(ROOT / "build" / "sparsync"), help=argparse.SUPPRESS)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--ranks", type=flat, dest="shapes", default=flat("2,3,4,6,8"), metavar="P,...",
                       help="one a node (2,3,4,6,8)")
    which.add_argument("--nodes", type=shapes, dest="shapes", metavar="NxK,...",
                       help="nodes x ranks on each, which share its link: 2x2,2x4,4x2,4x4")
    parser.add_argument("--rate", default="20mbit", help="of each link, as tc has it (20mbit)")
    parser.add_argument("--scheme", type=lambda text: text.split(","),
                        help="default: all lossless ones and spardl; zen/shard, zen/leader: behind a hierarchy")
    parser.add_argument("--trace", default=str(ROOT / "traces" / "bible-kjv-16.safetensors"))
    parser.add_argument("--iterations", default="0:1", help="of the trace (0:1)")
    parser.add_argument("--repeats", type=int, default=3, help="timed runs, whose median counts (3)")
    parser.add_argument("--device", metavar="FILE", help="count kernels: of `sparsync calibrate kernels --device cpu` with "
                        "OMP_NUM_THREADS=1, as ranks have it")
    parser.add_argument("--eager", action="store_true", help="leave to Open MPI which messages are sent without asking")
    parser.add_argument("-o", metavar="FILE", help="write the table there instead of to standard output")
    arguments = parser.parse_args()
    return run_lab("netlab", run, arguments, missing(mpirun="openmpi-bin", cc="gcc") or unlaunched() or unfit(arguments))


if __name__ == "__main__":
    sys.exit(main())
# SPDX-License-Identifier: Apache-2.0
