#!/usr/bin/python3
"""Holds predictions against a real, if small, network: `./dev netlab` (root only; docs/calibration.md).

Makes network namespaces joined by a bridge, shapes every link in both directions (tc tbf), calibrates there with messages,
runs `sparsync exec` there over TCP, one rank a namespace, and prints what was predicted and what was measured as Markdown.
Everything it makes is named after its process and removed in the end, however it ends.
"""
import argparse
import json
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
IDLE_LEAST = 0.2  # points with less of the CPU idle measure the CPU
DIFFERENT = 1.15  # predictions that are farther apart than this must be ranked right
GOAL = (0.10, 0.25)  # median, worst
# Open MPI's yielding ranks ask again and again, and leave no CPU idle: here to yield is to sleep for 20 us, so that what is
# idle can be told, and many ranks share few cores. Calibration and runs alike have it.
SLEEPY = """#include <sys/prctl.h>
#include <time.h>
int sched_yield(void);
int sched_yield(void) {
  static int told;
  if (!told) told = prctl(PR_SET_TIMERSLACK, 1UL) == 0;
  return nanosleep(&(struct timespec){.tv_nsec = 20000}, 0);
}
"""
# What TCP buffers of a message counts as sent, and the word that a next one may be sent waits behind it. This much is some
# round trips' worth; with 128 KiB, which is a message, ranks fall out of step, and links idle.
BUFFER = 16384
# Left alone, Open MPI lets the receiver of a large message ask for its parts, on the connection that carries what it sends
# itself: two ranks that exchange then take turns, each at half the rate. So the sender sends on.
PROTOCOL = "send"
CONTROL = "reno"  # BBR paces by what it makes of a link, and makes half of one that both ends fill
# A server lives in a rank's process, and what goes to that rank crosses no link: that is `ps` with its servers among the ranks.
PLACED = {"ps": {"name": "ps", "colocated": True}}

def call(*command, check=True, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    if check and done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}: {done.stderr.strip()[-600:]}")
    return done


def idle_now():
    """Ticks of all CPUs since the machine started: idle, all."""
    ticks = [int(x) for x in pathlib.Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
    return ticks[3] + ticks[4], sum(ticks)


class Lab:
    """`ranks` namespaces 10.77.0.1 and on behind a bridge that is 10.77.0.254."""

    def __init__(self, ranks, rate, folder):
        self.ranks, self.rate, self.folder = ranks, rate, folder
        self.name = f"ssl{os.getpid()}"  # an interface's name has at most 15 characters

    def __enter__(self):
        try:
            self.make()
        except BaseException:
            self.remove()
            raise
        return self

    def __exit__(self, *_):
        self.remove()

    def make(self):
        call("ip", "link", "add", self.name, "type", "bridge")
        call("ip", "address", "add", "10.77.0.254/24", "dev", self.name)
        call("ip", "link", "set", self.name, "up")
        for r in range(self.ranks):
            space, port = f"{self.name}-{r}", f"{self.name}v{r}"
            call("ip", "netns", "add", space)
            call("ip", "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", space)
            call("ip", "link", "set", port, "master", self.name, "up")
            call("ip", "-n", space, "address", "add", f"10.77.0.{r + 1}/24", "dev", "eth0")
            for device in ("lo", "eth0"):
                call("ip", "-n", space, "link", "set", device, "up")
            shape = ["root", "tbf", "rate", self.rate, "burst", "16kb", "latency", "400ms"]
            call("tc", "qdisc", "add", "dev", port, *shape)
            call("tc", "-n", space, "qdisc", "add", "dev", "eth0", *shape)
            call("ip", "netns", "exec", space, "sysctl", "-w", f"net.ipv4.tcp_congestion_control={CONTROL}")
        source, self.sleepy = self.folder / "sleepy.c", self.folder / "sleepy.so"
        source.write_text(SLEEPY)
        call("cc", "-O2", "-shared", "-fPIC", "-o", self.sleepy, source)
        self.wrapper = self.folder / "in_namespace"
        self.wrapper.write_text(f'#!/bin/sh\nexec ip netns exec "{self.name}-$OMPI_COMM_WORLD_RANK" env LD_PRELOAD={self.sleepy} "$@"\n')
        self.wrapper.chmod(0o755)

    def remove(self):
        for r in range(self.ranks):  # deleting a namespace would take its link along, but some time later
            call("ip", "link", "delete", f"{self.name}v{r}", check=False)
            call("ip", "netns", "delete", f"{self.name}-{r}", check=False)
        call("ip", "link", "delete", self.name, check=False)

    def run(self, program, *arguments, timeout):
        """`sparsync ARGUMENTS` on all ranks: the process, and which share of the CPUs was idle meanwhile."""
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "SPARSYNC_DATA": str(ROOT)}
        # Ranks find mpirun through the bridge: its loopback is not theirs.
        for key in ("ptl_tcp_if_include", "ptl_base_if_include"):
            environment[f"PMIX_MCA_{key}"] = self.name
        for key in ("ptl_tcp_remote_connections", "ptl_base_remote_connections"):
            environment[f"PMIX_MCA_{key}"] = "1"
        options = ["--allow-run-as-root", "--oversubscribe", "-n", self.ranks]
        for key, value in (("btl", "tcp,self"), ("pml", "ob1"), ("btl_tcp_if_include", "10.77.0.0/24"), ("mpi_yield_when_idle", "1"),
                           ("btl_tcp_flags", PROTOCOL), ("btl_tcp_sndbuf", BUFFER), ("btl_tcp_rcvbuf", BUFFER)):
            options += ["--mca", key, value]
        before = idle_now()
        done = call("mpirun", *options, self.wrapper, program, *arguments, check=False, timeout=timeout, env=environment)
        after = idle_now()
        return done, (after[0] - before[0]) / max(1, after[1] - before[1])


def calibrate(lab, arguments):
    path = lab.folder / f"lab-{lab.ranks}.json"
    done, idle = lab.run(arguments.program, "calibrate", "network", "--sizes", arguments.sizes, "--repeats", "7", "--name",
                         f"netlab-{lab.ranks}", "-o", path, timeout=600)
    if done.returncode:
        raise RuntimeError(f"calibrating: {done.stderr[-600:]}")
    cluster = json.loads(path.read_text())
    cluster["gpus_per_node"] = 1  # one kernel runs all namespaces, which MPI takes for one machine
    path.write_text(json.dumps(cluster))
    return path, cluster, idle


def measure(lab, cluster, scheme, arguments):
    done, idle = lab.run(arguments.program, "exec", "--trace", arguments.trace, "--set", f"schemes={json.dumps([PLACED.get(scheme, scheme)])}",
                         "--set", f'iterations="{arguments.iterations}"', "--repeats", "3", "--cluster", cluster, "--format", "json", timeout=900)
    if done.returncode:
        lines = [line for line in done.stderr.split("\n") if line.startswith("sparsync")] or [done.stderr.strip()[-200:]]
        return {"scheme": scheme, "ranks": lab.ranks, "why": lines[0]}
    points = json.loads(done.stdout)["points"]
    return {"scheme": f"{scheme}, colocated" if scheme in PLACED else scheme, "ranks": lab.ranks, "why": None, "idle": idle, "predicted": sum(p["time_s"] for p in points),
            "measured": sum(p["measured_s"] for p in points)}


def told(point):
    return point["why"] or f"{point['measured'] / point['predicted'] - 1:+.1%}, {point['idle']:.0%} of the CPU idle"


def schemes_of(program):
    listed = json.loads(call(program, "list", "schemes", "--format", "json", env={**os.environ, "SPARSYNC_DATA": str(ROOT)}).stdout)["schemes"]
    return [s["name"] for s in listed if s.get("lossless", True) or s["name"] == "spardl"]


def wrong_ranks(points):
    """Pairs at one rank count that the prediction puts clearly apart, and how many of them came out the other way."""
    pairs = wrong = 0
    for i, a in enumerate(points):
        for b in points[i + 1:]:
            low, high = sorted((a, b), key=lambda p: p["predicted"])
            if a["ranks"] == b["ranks"] and high["predicted"] > DIFFERENT * low["predicted"]:
                pairs += 1
                wrong += high["measured"] <= low["measured"]
    return pairs, wrong


def table(points, labs, arguments):
    lines = [f"Links {arguments.rate}, trace {pathlib.Path(arguments.trace).name}, iterations {arguments.iterations}; calibrated with "
             f"messages of {arguments.sizes}.", "", "| P | latency | bandwidth | CPU idle |", "|---|---|---|---|"]
    for ranks, cluster, idle in labs:
        lines.append(f"| {ranks} | {cluster['latency'] * 1e6:.0f} us | {cluster['bandwidth'] * 8e-6:.1f} Mbit/s | {idle:.0%} |")
    lines += ["", "| P | scheme | predicted | measured | error | CPU idle |", "|---|---|---|---|---|---|"]
    for p in points:
        if p["why"]:
            lines.append(f"| {p['ranks']} | {p['scheme']} | | | | not run: {p['why'].replace('|', '/')} |")
            continue
        mark = "" if p["idle"] >= IDLE_LEAST else " (invalid)"
        lines.append(f"| {p['ranks']} | {p['scheme']} | {p['predicted'] * 1e3:.2f} ms | {p['measured'] * 1e3:.2f} ms | "
                     f"{p['measured'] / p['predicted'] - 1:+.1%} | {p['idle']:.0%}{mark} |")
    valid = [p for p in points if not p["why"] and p["idle"] >= IDLE_LEAST]
    lines += ["", f"{len(valid)} of {len(points)} points are valid."]
    if valid:
        errors = [abs(p["measured"] / p["predicted"] - 1) for p in valid]
        lines.append(f"Error: median {statistics.median(errors):.1%} (goal {GOAL[0]:.0%}), worst {max(errors):.1%} (goal {GOAL[1]:.0%}). "
                     "Of {} pairs predicted more than 15% apart, {} came out the other way.".format(*wrong_ranks(valid)))
    return "\n".join(lines) + "\n"


def run(arguments):
    points, labs = [], []
    try:
        with tempfile.TemporaryDirectory() as folder:
            for ranks in arguments.ranks:
                with Lab(ranks, arguments.rate, pathlib.Path(folder)) as lab:
                    path, cluster, idle = calibrate(lab, arguments)
                    labs.append((ranks, cluster, idle))
                    for scheme in arguments.scheme or schemes_of(arguments.program):
                        points.append(measure(lab, path, scheme, arguments))
                        print(f"{ranks} ranks, {scheme}: {told(points[-1])}", file=sys.stderr)
    finally:  # what was measured is worth something, also when the rest could not be
        text = table(points, labs, arguments)
        if arguments.o:
            pathlib.Path(arguments.o).write_text(text)
        else:
            print(text, end="")


def missing():
    if os.geteuid() != 0:
        return "namespaces need root"
    for tool in ("ip", "tc", "mpirun", "cc"):
        if not shutil.which(tool):
            return f"{tool} is not installed (Debian: iproute2 openmpi-bin gcc)"
    if "Open MPI" not in call("mpirun", "--version", check=False).stdout:
        return "mpirun is not Open MPI's: how other launchers reach into namespaces is not known here"
    return None


def main():
    parser = argparse.ArgumentParser(prog="./dev netlab", description=__doc__.split("\n")[0])
    parser.add_argument("--program", default=str(ROOT / "build" / "sparsync"), help=argparse.SUPPRESS)
    parser.add_argument("--ranks", type=lambda text: [int(x) for x in text.split(",")], default=[2, 3, 4, 6, 8], help="2,3,4,6,8")
    parser.add_argument("--rate", default="50mbit", help="of each link, as tc has it: 50mbit to 200mbit (50mbit)")
    parser.add_argument("--scheme", type=lambda text: text.split(","), help="default: all lossless ones and spardl")
    parser.add_argument("--trace", default=str(ROOT / "traces" / "bible-kjv-16.safetensors"))
    parser.add_argument("--iterations", default="0:3")
    parser.add_argument("--sizes", default="64KiB:4MiB",
                        help="of the messages that calibrate (64KiB:4MiB: tbf lets 16 kB pass at once, which smaller ones would measure)")
    parser.add_argument("-o", metavar="FILE", help="write the table there instead of to standard output")
    arguments = parser.parse_args()
    why = missing()
    if why:
        print(f"netlab: {why}", file=sys.stderr)
        return 3
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(3))
    try:
        run(arguments)
    except (RuntimeError, subprocess.TimeoutExpired) as reason:
        print(f"netlab: {reason}", file=sys.stderr)
        return 3
    return 0


sys.exit(main())
