"""Network namespaces with shaped links, real-time ranks, and how what was measured there is judged: what the labs share.

Everything is named after the process that makes it, and removed in the end, however it ends."""
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import typing

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
IDLE_LEAST = 0.2  # points with less of the CPU idle measure the CPU
DIFFERENT = 1.10  # predictions that are farther apart than this must be ranked right
CONTROL = "reno"  # BBR paces by what it makes of a link, and makes half of one that both ends fill
# tbf lets so much pass at once after a pause, as no link would: little, but some packets, since what the kernel is late
# for beyond it is lost to the rate.
BURST = "4kb"
# Ranks in the real-time class run when they want to, whatever else the machine does; and so must the kernel's threads
# that carry packets when there are many.
FIRST = "chrt --rr 1"


class Shape(typing.NamedTuple):
    """How many nodes, and ranks on each: rank r lives on node r / per_node."""

    nodes: int
    per_node: int

    @property
    def ranks(self):
        return self.nodes * self.per_node

    def __str__(self):
        return f"{self.nodes}x{self.per_node}"


def call(*command, check=True, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    if check and done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}: {done.stderr.strip()[-600:]}")
    return done


def busy_now():
    """Ticks of all CPUs since the machine started: of the kernel's network and of what this program started; and all.

    Whatever else runs, niced or not, gives way to ranks in the real-time class: what it takes counts as idle."""
    ticks = [int(x) for x in pathlib.Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
    own = resource.getrusage(resource.RUSAGE_CHILDREN)
    return sum(ticks[5:]) + (own.ru_utime + own.ru_stime) * os.sysconf("SC_CLK_TCK"), sum(ticks)


def idle_since(before):
    """The share of the CPUs that was idle since `busy_now` gave `before`."""
    after = busy_now()
    return 1 - (after[0] - before[0]) / max(1, after[1] - before[1])


def remove_lab(name):
    spaces = [line.split()[0] for line in call("ip", "netns", "list").stdout.splitlines()]
    for space in spaces:
        if space.startswith(f"{name}-"):
            # deleting a namespace would take its link along, but some time later
            call("ip", "link", "delete", space.replace("-", "v"), check=False)
            call("ip", "netns", "delete", space, check=False)
    call("ip", "link", "delete", name, check=False)


def hurry_packets(hurry):
    for thread in call("pgrep", "ksoftirqd", check=False).stdout.split():
        call("chrt", *(("--fifo", "-p", 2) if hurry else ("--other", "-p", 0)), thread, check=False)


def clear_lost_labs():
    """Removes what a killed lab left: with two bridges of one address no message arrives. A lab that runs is an error."""
    for link in json.loads(call("ip", "-json", "link", "show", "type", "bridge").stdout or "[]"):
        found = re.fullmatch(r"ssl(\d+)", link.get("ifname", ""))
        if not found:
            continue
        started = pathlib.Path(f"/proc/{found[1]}/cmdline")
        # else the number is another program's by now
        if found[1] != str(os.getpid()) and started.exists() and re.search(rb"(net|train)lab", started.read_bytes()):
            raise RuntimeError(f"another lab runs (process {found[1]}): labs have the same addresses")
        remove_lab(found[0])


class Spaces:
    """`nodes` namespaces 10.77.0.1 and on behind a bridge that is 10.77.0.254; each has one link for all its ranks."""

    def __init__(self, nodes, rate, mtu=1500, burst=BURST, queued=None):
        """`queued`: bytes of a connection that stand in the link's queue at most (default: the kernel's)."""
        self.nodes, self.rate, self.mtu, self.burst, self.queued = nodes, rate, mtu, burst, queued
        self.name = f"ssl{os.getpid()}"  # an interface's name has at most 15 characters

    def __enter__(self):
        clear_lost_labs()
        try:
            hurry_packets(True)
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
        for n in range(self.nodes):
            space, port = f"{self.name}-{n}", f"{self.name}v{n}"
            call("ip", "netns", "add", space)
            call("ip", "link", "add", port, "mtu", self.mtu, "type", "veth", "peer", "name", "eth0", "mtu", self.mtu, "netns", space)
            call("ip", "link", "set", port, "master", self.name, "up")
            call("ip", "-n", space, "address", "add", f"10.77.0.{n + 1}/24", "dev", "eth0")
            for device in ("lo", "eth0"):
                call("ip", "-n", space, "link", "set", device, "up")
            shape = ["root", "tbf", "rate", self.rate, "burst", self.burst, "latency", "400ms"]
            call("tc", "qdisc", "add", "dev", port, *shape)
            call("tc", "-n", space, "qdisc", "add", "dev", "eth0", *shape)
            settings = [f"tcp_congestion_control={CONTROL}"]
            if self.queued:
                settings += [f"tcp_limit_output_bytes={self.queued}", "tcp_slow_start_after_idle=0"]
            call("ip", "netns", "exec", space, "sysctl", "-w", *(f"net.ipv4.{setting}" for setting in settings))

    def remove(self):
        remove_lab(self.name)
        hurry_packets(False)


def wrong_ranks(points, alike, apart):
    """Pairs alike in `alike` of which one is clearly more than the other in `apart`, "predicted" or "measured", and how many
    of them came out the other way."""
    other, pairs, wrong = {"predicted": "measured", "measured": "predicted"}[apart], 0, 0
    for i, a in enumerate(points):
        for b in points[i + 1:]:
            low, high = sorted((a, b), key=lambda p: p[apart])
            if alike(a) == alike(b) and high[apart] > DIFFERENT * low[apart]:
                pairs += 1
                wrong += high[other] <= low[other]
    return pairs, wrong


def verdict(points, alike, goal, off=lambda p: p["measured"] / p["predicted"] - 1, apart="predicted"):
    """The sentences under a table: how many `points` are valid, how far `off` these are, and how they were ranked."""
    valid = [p for p in points if not p["why"] and p["idle"] >= IDLE_LEAST]
    lines = [f"{len(valid)} of {len(points)} points are valid."]
    if valid:
        errors = [abs(off(p)) for p in valid]
        pairs, wrong = wrong_ranks(valid, alike, apart)
        lines.append(f"Error: median {statistics.median(errors):.1%} (goal {goal[0]:.0%}), worst {max(errors):.1%} "
                     f"(goal {goal[1]:.0%}). Of {pairs} pairs {apart} more than {DIFFERENT - 1:.0%} apart, {wrong} "
                     "came out the other way.")
    return lines, valid


def missing(**tools):
    """Why a lab cannot be here, which wants these programs of these packages, too; None: nothing is missing."""
    if os.geteuid() != 0:
        return "namespaces need root"
    for tool in ("ip", "tc", "chrt", *tools):
        if not shutil.which(tool):
            return f"{tool} is not installed (Debian: {' '.join(['iproute2 util-linux', *tools.values()])})"
    return None


def run_lab(name, run, arguments, why):
    """The status that a lab ends with: 0, or 3 where it cannot run (`why`) or broke. What ends it lets it clear up."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(3))
    try:
        if not why:
            run(arguments)
    except (RuntimeError, subprocess.TimeoutExpired) as reason:
        why = reason
    if why:
        print(f"{name}: {why}", file=sys.stderr)
    return 3 if why else 0
# SPDX-License-Identifier: Apache-2.0
