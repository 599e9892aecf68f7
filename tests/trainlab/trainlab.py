#!/usr/bin/python3
"""Holds predictions of trainings against real PyTorch trainings: `./dev trainlab` (root only; docs/validation.md).

Ranks live in network namespaces with shaped links, one or several in each, and train over gloo: dense gradients, sparse
ones, a hook that all-gathers the largest entries, a table cut by columns, tables in a process group of their own; what
modules compute is slept, or computed. Links and the CPU's kernels are measured at one rate, and one training of each kind
of computation is recorded; everything else is predicted by `sparsync train`, and printed beside what was measured as
Markdown."""
import argparse
import bisect
import itertools
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "netlab"))
from spaces import IDLE_LEAST, Shape, Spaces, call, missing, run_lab, verdict  # noqa: E402

GOAL = (0.05, 0.15)  # median, worst
# Frames as data centres have them: with packets of 1,500 B two cores carry no 500 Mbit/s of four ranks. A bucket of tbf holds
# one. Of a connection no more than two frames stand in the link's queue, as behind a card with queue limits: gloo's word that
# the next message may come waits there behind data of other connections, which made a sparse all-reduce 1.7 times as long.
LINKS = {"mtu": 9000, "burst": "12kb", "queued": 20000}
# What ranks of the real-time class compute at once takes turns of 100 ms, if nobody says otherwise: two of four ranks end before
# the others begin. Ordinary processes share cores.
SLICE = pathlib.Path("/proc/sys/kernel/sched_rr_timeslice_ms")
ROWS, WIDTH, TOKENS, ROUNDS = 8000, 128, 512, 4
LAYERS = [[128, 1024], [1024, 128], [128, 1024], [1024, 128]]
SLEPT = {"table_s": [0.001, 0.002], "layer_s": [0.004, 0.008]}
DENSITY = 0.01  # of what the hook keeps
JOB = {"do": "train", "density": DENSITY, "rows": ROWS, "width": WIDTH, "layers": LAYERS, "bucket_mb": 1, "warmup": 5, **SLEPT}
KINDS = ("slept", "real")  # what computing is
SYSTEMS = {"dense": "dense gradients", "sparse": "sparse=True", "topk": "top-k hook", "hybrid": "table cut by columns",
           "groups": "table in a group of its own"}


def ids_of(ranks):
    """Of each rank and iteration, by Zipf's law."""
    draw, sums = random.Random(1), list(itertools.accumulate(1 / (i + 1) ** 0.8 for i in range(ROWS)))
    one = [bisect.bisect(sums, draw.random() * sums[-1]) for _ in range(ranks * ROUNDS * TOKENS)]
    return [[one[(r * ROUNDS + t) * TOKENS:][:TOKENS] for t in range(ROUNDS)] for r in range(ranks)]


class Lab(Spaces):
    """Namespaces in which ranks of PyTorch play jobs."""

    def __init__(self, shape, rate, arguments, folder):
        super().__init__(shape.nodes, f"{rate}mbit", **LINKS)
        self.shape, self.arguments, self.folder = shape, arguments, folder

    def make(self):
        super().make()
        self.slice = SLICE.read_text()
        SLICE.write_text("1")

    def remove(self):
        super().remove()
        SLICE.write_text(getattr(self, "slice", "100"))

    def play(self, jobs, timeout=500):
        """What each rank says of each job."""
        given, came, ranks = self.folder / "jobs.json", self.folder / "came.json", []
        given.write_text(json.dumps(jobs))
        came.unlink(missing_ok=True)
        try:
            for r in range(self.shape.ranks):
                node, local = divmod(r, self.shape.per_node)
                environment = {**os.environ, "RANK": str(r), "WORLD_SIZE": str(self.shape.ranks), "GROUP_RANK": str(node),
                               "LOCAL_RANK": str(local), "LOCAL_WORLD_SIZE": str(self.shape.per_node),
                               "MASTER_ADDR": "10.77.0.1", "MASTER_PORT": "29500", "GLOO_SOCKET_IFNAME": "eth0",
                               "OMP_NUM_THREADS": "1", "TORCH_CPP_LOG_LEVEL": "ERROR", "PYTHONWARNINGS": "ignore",
                               "PYTHONPATH": str(ROOT / "src/python"),
                               "SPARSYNC_DATA": str(ROOT), "SPARSYNC_LIBRARY": str(ROOT / "build/src/libsparsync.so.0")}
                ranks.append(subprocess.Popen(["ip", "netns", "exec", f"{self.name}-{node}", self.arguments.torch,
                                               str(ROOT / "tests/trainlab/worker.py"), str(given), str(came)], env=environment))
            failed = [rank.wait(timeout) for rank in ranks]
        finally:
            for rank in ranks:
                rank.kill()
        if any(failed):
            raise RuntimeError(f"ranks ended with {failed}")
        return json.loads(came.read_text())


def idle_of(everyone):
    busy = sum(mine["cpu"] for mine in everyone) + everyone[0]["kernel"]
    return 1 - busy / (os.cpu_count() * max(mine["wall"] for mine in everyone))


def line(points):
    """t0 and per_byte, both at least 0, by least relative squares through (bytes, seconds)."""
    def fit(t0):
        """The best slope for a start, and the sum of squares."""
        slope = max(0.0, sum(b * (s - t0) / s ** 2 for b, s in points) / sum((b / s) ** 2 for b, s in points))
        return sum(((t0 + slope * b) / s - 1) ** 2 for b, s in points), t0, slope

    _, t0, slope = min(fit(i / 1000 * min(s for _, s in points)) for i in range(1001))
    return {"t0": t0, "per_byte": slope}


def device_of(everyone):
    """The CPU's kernels as PyTorch has them, of all ranks at once: medians over ranks, a line each."""
    of = {}
    for same in zip(*(mine["kernels"] for mine in everyone)):
        of.setdefault(same[0][0], []).append((same[0][2], statistics.median(k[3] for k in same)))
    return {"name": "torch-cpu", "kernels": {name: line(points) for name, points in of.items()}}


def read_training(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    return json.loads(header["__metadata__"]["training"])


def calibrate(arguments, folder):
    """Links and kernels, measured at one rate, and one training of each kind of computation, recorded there."""
    found, tables = {}, [folder / "nodes.csv", folder / "inside.csv"]
    for shape, table in zip((Shape(4, 1), Shape(1, 2)), tables):
        jobs = [{"do": "collectives", "path": str(table), "seconds": arguments.seconds, "name": "collectives"}]
        if shape.nodes == 4:
            jobs += [{**JOB, "do": "kernels", "slept": kind == "slept", "ids": ids_of(4), "name": f"kernels, {kind}"} for kind in KINDS]
            for kind in KINDS:
                jobs.append({**JOB, "system": "sparse", "slept": kind == "slept", "ids": ids_of(4), "steps": 32,
                             "capture": str(folder / kind), "name": f"recording, {kind}"})
        with Lab(shape, arguments.at, arguments, folder) as lab:
            came = lab.play(jobs)
        if shape.nodes == 4:
            found["device"] = {kind: device_of(came[1 + i]) for i, kind in enumerate(KINDS)}
    for kind in KINDS:
        ranks = sorted(folder.glob(f"{kind}-rank*.safetensors"))
        found[kind] = read_training(ranks[0])
        call(arguments.program, "trace", "merge", *ranks, "-o", folder / f"{kind}.safetensors")
    path = folder / "cluster.json"
    # A burst goes unshaped: a line through small messages, too, says 206 Mbit/s of a link of 200.
    done = call(arguments.program, "calibrate", "network", *tables, "--sizes", "128KiB:", "--leave-out", "nothing",
                "--name", "trainlab", "-o", path, check=False)
    if done.returncode:
        raise RuntimeError(f"calibrating: {done.stderr.strip()[-400:]}")
    found["cluster"] = {key: value for key, value in json.loads(path.read_text()).items()
                        if key not in ("accuracy", "notes", "memory", "summary", "source")}
    return found


def cluster_at(found, shape, rate, at):
    """The calibrated links, at another rate."""
    cluster = {**json.loads(json.dumps(found["cluster"])), "gpus_per_node": shape.per_node, "nics": 1}
    for kind in (cluster, cluster.get("exchange", {})):
        for link in (kind, *kind.get("segments", [])):
            if "bandwidth" in link:
                link["bandwidth"] *= rate / at
    return cluster


def crowd_of(captured, ranks, faster):
    """How many times as long computing takes as it did, kernels take, and what interferes, where so many ranks share the cores
    and links are so many times as fast: what sending takes of the CPU time is in proportion to what is sent."""
    shared, cores = captured["shared_cores"], os.cpu_count()
    busy, before, now = shared["busy"], max(1, shared["ranks"] / cores), max(1, ranks / cores)
    own = captured["system"]["interference"]
    sending = min(0.95, own / (busy + own) * faster * ranks / shared["ranks"])
    return 1 - busy + busy * now / before, now / before, busy * (max(1, ranks / cores / (1 - sending)) / now - 1)


def system_of(name, captured, interference):
    """The recorded system, but for what a training does otherwise than that."""
    own, measured, modules = captured["system"], captured["measured"], captured["workload"]["modules"]
    system = {**own, "name": name, "channels": [["dense"], ["gradient", "lookups"]], "bucket": "1MiB", "interference": interference}
    dense, cut = {"name": "allreduce", "algorithm": "ring"}, {"name": "alltoall", "coalesce": False, "index_bytes": 0}
    largest = {"name": "allgather", "algorithm": "ring"}
    system |= {"dense": dense, "sparse": {"dense": dense, "hybrid": cut}.get(name, own["sparse"])}
    if name == "topk":  # the hook selects in the thread of the backward pass
        system |= {"dense": largest, "sparse": largest, "kernels": "shared", "select": {"topk": DENSITY, "residual": True}}
        del system["bucket"]
    if name in ("dense", "topk"):  # a table's dense gradient is copied into a bucket and out of it, too, at the recorded rate
        rate = sum(m["bytes"] for m in modules if "bytes" in m) / (measured["fill_s"] + measured["empty_s"])
        system["software"] = {**own["software"], "step": own["software"]["step"] + 4 * ROWS * WIDTH / rate}
    return system


def workload_of(captured, as_dense):
    """The recorded one; `as_dense`: a table is a parameter like others, as a hook on its dense gradient finds it."""
    modules = captured["workload"]["modules"]
    if as_dense:
        own = ("rows", "row_width", "tensor")
        modules = [m if m["kind"] == "dense" else
                   {**{k: v for k, v in m.items() if k not in own}, "kind": "dense", "bytes": 4 * ROWS * WIDTH} for m in modules]
    return {**captured["workload"], "modules": modules}


def predict(found, kind, shape, rate, arguments, folder):
    captured, path, told = found[kind], folder / "scenario.json", {}
    compute, kernels, interference = crowd_of(captured, shape.ranks, rate / arguments.at)
    for names in (["topk"], [name for name in SYSTEMS if name != "topk"]):
        alone = names == ["topk"]
        path.write_text(json.dumps({
            "workloads": [workload_of(captured, alone)], "systems": [system_of(name, captured, interference) for name in names],
            **({} if alone else {"trace": str(folder / f"{kind}.safetensors")}),
            "cluster": cluster_at(found, shape, rate, arguments.at),
            "device": {**found["device"][kind], "slower": kernels}, "compute": compute,
            "ranks": [shape.ranks], "certain": True, "all_reduces": "ring"}))
        done = call(arguments.program, "train", path, "--format", "json", check=False,
                    env={**os.environ, "SPARSYNC_DATA": str(ROOT)})
        if done.returncode:
            raise RuntimeError(f"predicting: {done.stderr.strip()[-600:]}")
        told |= {point["system"]: point["iteration_s"] for point in json.loads(done.stdout)["training"]}
    return told


def measure(shape, rate, arguments, folder):
    kinds = [(kind, name) for kind in KINDS for name in SYSTEMS]
    jobs = [{**JOB, "system": name, "slept": kind == "slept", "ids": ids_of(shape.ranks), "steps": arguments.steps,
             "name": f"{rate} Mbit/s, {shape}, {kind}, {name}"} for kind, name in kinds]
    with Lab(shape, rate, arguments, folder) as lab:
        came = lab.play(jobs)
    return [{"kind": kind, "shape": shape, "rate": rate, "system": name, "why": None, "idle": idle_of(everyone),
             "measured": statistics.median(statistics.mean(each) for each in zip(*(mine["seconds"] for mine in everyone)))}
            for (kind, name), everyone in zip(kinds, came)]


def off(point):
    return point["predicted"] / point["measured"] - 1


def table(points, found, arguments):
    links = found["cluster"].get("segments", [found["cluster"]])[-1]
    lines = [f"Calibrated at {arguments.at} Mbit/s: latency {links['latency'] * 1e6:.0f} us, "
             f"bandwidth {links['bandwidth'] * 8e-6:.1f} Mbit/s. Medians of {arguments.steps} iterations.", "",
             "| links | nodes | computation | training | measured | predicted | off | CPU idle |", "|---|---|---|---|--:|--:|--:|--:|"]
    for p in points:
        mark = "" if p["idle"] >= IDLE_LEAST else " (void)"
        lines.append(f"| {p['rate']} Mbit/s | {p['shape']} | {p['kind']} | {SYSTEMS[p['system']]} | {p['measured'] * 1e3:.1f} ms | "
                     f"{p['predicted'] * 1e3:.1f} ms | {off(p):+.1%} | {p['idle']:.0%}{mark} |")
    for kind in KINDS:
        told, _ = verdict([p for p in points if p["kind"] == kind], lambda p: (p["shape"], p["rate"]), GOAL, off, "measured")
        lines += ["", f"{kind.capitalize()}: {' '.join(told)}"]
    return "\n".join(lines) + "\n"


def run(arguments):
    points, found = [], None
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(arguments.keep or name)
        folder.mkdir(exist_ok=True)
        try:
            found = calibrate(arguments, folder)
            for rate, shape in itertools.product(arguments.rates, (Shape(2, 1), Shape(4, 1), Shape(2, 2))):
                points += measure(shape, rate, arguments, folder)
        finally:  # what was measured is worth something, also when the rest could not be
            (folder / "measured.json").write_text(json.dumps({"found": found, "points": points}))
            if points:
                tell(points, found, arguments, folder)


def tell(points, found, arguments, folder):
    for kind, shape, rate in dict.fromkeys((p["kind"], p["shape"], p["rate"]) for p in points):
        predicted = predict(found, kind, shape, rate, arguments, folder)
        for p in points:
            if (p["kind"], p["shape"], p["rate"]) == (kind, shape, rate):
                p["predicted"] = predicted[p["system"]]
    text = table(points, found, arguments)
    if arguments.o:
        pathlib.Path(arguments.o).write_text(text)
    else:
        print(text, end="")


def main():
    parser = argparse.ArgumentParser(prog="./dev trainlab", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--program", default=str(ROOT / "build" / "sparsync"), help=argparse.SUPPRESS)
    parser.add_argument("--torch", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--rates", type=lambda text: [int(rate) for rate in text.split(",")], default=[100, 200, 500],
                        help="of links, in Mbit/s (100,200,500)")
    parser.add_argument("--at", type=int, default=200, help="the rate that is calibrated at, in Mbit/s (200)")
    parser.add_argument("--steps", type=int, default=12, help="iterations that are timed (12)")
    parser.add_argument("--seconds", type=float, default=20, help="that measuring collectives may take (20)")
    parser.add_argument("--keep", metavar="FOLDER", help="leave what was measured there")
    parser.add_argument("-o", metavar="FILE", help="write the table there instead of to standard output")
    arguments = parser.parse_args()
    return run_lab("trainlab", run, arguments, missing())


if __name__ == "__main__":
    sys.exit(main())
# SPDX-License-Identifier: Apache-2.0
