#!/usr/bin/python3
"""Writes "Machines that others measured" of docs/validation.md, its figures, and the clusters of models/clusters that come
from models/measured. Arguments: the program, the source tree; --clusters FOLDER: only the clusters, into it; --later: only
the table of runs that no fit saw."""
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import textwrap

PROGRAM, ROOT = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
MPI, NCCL = "models/measured/mpi.csv", "models/measured/nccl.csv"
LARGE = ["--sizes", "16385:", "--messages", "1KiB"]
LATER, CHOSEN = "models/measured/mpi-later.csv", "models/measured/nccl-later.csv"


def where(**conditions):
    return [word for column, value in conditions.items() for word in ("--where", f"{column}={value}")]


def argonne(system, version, setup):
    """Of Polaris, whose nodes have two cards, and of Sirius, which is supposed to have as many."""
    return [NCCL, *where(system=system, setup=f"nccl_{version.replace('.', '_')}.2024-04-29.setup{setup}"), "--nics", "2"]


def tuned(system, version, setup):
    """With the library's tuner, as it is judged."""
    return [*argonne(system, version, setup), "--library", f"nccl={version},cpu=amd,ll128=false"]


# System, NCCL's version, settings: of 19 that were measured, some.
SETUPS = [("polaris", "2.18", "1"), ("polaris", "2.18", "3"), ("polaris", "2.18", "5"), ("polaris", "2.21", "5"), ("sirius", "2.18", "5")]
FEW = {"polaris": ["collective=allreduce", "collective=alltoall,nodes=2"], "sirius": ["collective=allreduce"]}
SEVERAL = "Leonardo (MPI, several tasks a node)"

# What is judged: title, its rows, the smallest useful set to fit to. Some ran on one number of nodes alone.
MACHINES = {
    "Leonardo (MPI, one task a node)": ([MPI, *where(system="leonardo", tasks_per_node="1")], ["nodes=200"]),
    SEVERAL: ([MPI, *where(system="leonardo"), "--gpus-per-node", "32", "--nics", "1"], ["gpus_per_node=1"]),
    "LUMI (MPI)": ([MPI, *where(system="lumi")], ["nodes=16"]),
    "MareNostrum 5 (MPI)": ([MPI, *where(system="mare_nostrum")], ["collective=allreduce", "collective=alltoall,algorithm=pairwise"]),
    "Ten nodes of 8 H100 (NCCL)": ([NCCL, *where(system="h100x8", setup="multi"), "--library", "nccl=2.21,gpu=hopper"],
                                   ["collective=allreduce,gpus_per_node=1", "collective=allreduce,gpus_per_node=4", "collective=sendrecv,gpus_per_node=1"]),
    "8 H100 of one node (NCCL)": ([NCCL, *where(system="h100x8", setup="single")], ["collective=allreduce"]),
    **{f"{system.capitalize()}, NCCL {version}, setup{setup}": (tuned(system, version, setup), FEW[system])
       for system, version, setup in SETUPS},
}

# Runs that no fit saw: title, the rows of its system, tasks a node of what is judged, those that are fitted.
LEONARDO = [f"nodes={n},gpus_per_node=1" for n in (4, 8, 16, 32, 64, 128, 200, 254, 512)]
UNSEEN = {
    "LUMI": (where(system="lumi", tasks_per_node="1"), 1, ["nodes=8", "nodes=16", "nodes=32"]),
    "Leonardo": (where(system="leonardo", tasks_per_node="1"), 1, LEONARDO),
    "Leonardo, 4 tasks a node": ([*where(system="leonardo"), "--gpus-per-node", "32", "--nics", "1"], 4, LEONARDO),
    "MareNostrum 5": (where(system="mare_nostrum", tasks_per_node="1"), 1, ["nodes=32"]),
}
# 4 H100 and 4 cards of 200 Gbit/s a node, as data sheets have them: what NCCL's tuner knows of a machine.
ACCELERATED = {"name": "mare-nostrum-5-acc", "model": "fair", "latency": "5us", "bandwidth": "25GB/s", "gpus_per_node": 4, "nics": 4,
               "intra": {"latency": "1us", "bandwidth": "450GB/s"}, "library": {"name": "nccl", "version": "2.21", "gpu": "hopper"}}

# Shipped clusters: name, arguments, what it is.
CLUSTERS = {
    "leonardo": ([MPI, *where(system="leonardo", tasks_per_node="1")], "Leonardo, MPI on CPU buffers, one task a node"),
    "lumi": ([MPI, *where(system="lumi")], "LUMI, MPI on CPU buffers, one task a node"),
    "mare-nostrum-5": ([MPI, *where(system="mare_nostrum")], "MareNostrum 5, MPI on CPU buffers, one rail, one task a node"),
    "h100-8-measured": ([NCCL, *where(system="h100x8"), "--library", "nccl=2.21,gpu=hopper"], "ten nodes of 8 H100 and 8 cards of 400 Gbit/s, NCCL"),
    "polaris": (tuned("polaris", "2.21", "5"), "Polaris, 4 A100 and 2 Slingshot cards a node, NCCL 2.21 over libfabric"),
}


# Data without what was learned of a system: priors of all other systems alone judge it.
BLIND = pathlib.Path(tempfile.mkdtemp())


def blind(system):
    """A folder of data whose priors never saw the system."""
    models = BLIND / system / "models"
    if not models.exists():
        (models / "measured").mkdir(parents=True)
        for folder in ("libraries", "clusters"):
            (models / folder).symlink_to(ROOT / "models" / folder)
        subprocess.run([ROOT / "docs" / "make_priors.py", PROGRAM, ROOT, "--without", system, "-o", models / "measured" / "priors.json"], check=True)
    return BLIND / system


def call(*arguments, data=ROOT):
    done = subprocess.run([PROGRAM, "calibrate", "network", *arguments], capture_output=True, text=True, cwd=ROOT, check=True,
                          env={**os.environ, "SPARSYNC_DATA": str(data)})
    return done.stdout


def said(arguments):
    return "sparsync calibrate network " + " ".join(arguments)


def judging(arguments):
    """The data that judges: of a system that is fitted with priors, those of all others alone."""
    return blind(next(word[7:] for word in arguments if word.startswith("system="))) if "--library" in arguments else ROOT


def judge(arguments, *options):
    return json.loads(call(*arguments, *LARGE, "--validate", "--format", "json", *options, data=judging(arguments)))


def error(report, name="all"):
    found = next((e for e in report["errors"] if e["of"] == name), None)
    if not found or found["median_error"] is None:
        return "-", "-"
    return f"{100 * found['median_error']:.1f}%", f"{100 * found['p90_error']:.0f}%"


def pairs(report):
    return f"{report['pairs_right']} of {report['pairs']}" if report["pairs"] else "-"


def short(number):
    """Seven digits: what differs between machines' arithmetic is behind them."""
    return float(f"{number:.7g}") if isinstance(number, float) else number


def rounded(value):
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    return [rounded(item) for item in value] if isinstance(value, list) else short(value)


def keep_unmeasured(cluster, shipped):
    """No measurement names the device, nor an MPI's library: what the shipped cluster says of them stays, before its source."""
    kept = [key for key in ("library", "device") if key in shipped and key not in cluster]
    if kept:
        source, notes = cluster.pop("source"), cluster.pop("notes")
        cluster |= {key: shipped[key] for key in kept}
        cluster |= {"source": {**source, **{key: shipped["source"][key] for key in kept if key in shipped["source"]}}, "notes": notes}


def write_clusters(folder):
    for name, (arguments, what) in CLUSTERS.items():
        cluster = rounded(json.loads(call(*arguments, "--name", name, "--quiet")))
        cluster["summary"] = f"measured: {what}"
        del cluster["notes"]["outliers"]
        cluster["notes"]["made_by"] = said([*arguments, "--name", name])
        keep_unmeasured(cluster, json.loads((ROOT / "models" / "clusters" / f"{name}.json").read_text()))
        (folder / f"{name}.json").write_text(json.dumps(cluster, indent=2) + "\n")


def judged(figure, title, arguments, few):
    """A line of the table, and the figure. Of several tasks a node there is too little to leave some out: all is predicted from
    one task a node."""
    fitted = [word for what in few for word in ("--fit-on", what)]
    from_few = judge(arguments, *fitted)
    alone = title == SEVERAL
    left, nodes = (None, None) if alone else (judge(arguments, "--leave-out", way) for way in ("collectives", "nodes"))
    known = sum(t["predicted_s"] is not None for t in from_few["times"])
    call(*arguments, *LARGE, "--validate", *(fitted if alone else []), "--name", title, "--figure", str(ROOT / "docs" / figure),
         data=judging(arguments))
    return (f"| [{title}]({figure}) | {known if alone else len(left['times'])} | {'-' if alone else ', '.join([*error(left), pairs(left)])} | "
            f"{'-' if alone else ', '.join(error(nodes))} | {known}: {', '.join(error(from_few))} | {error(from_few, 'alltoall')[0]} |")


def section():
    lines = ["| machine (predicted against measured) | times | a collective left out: median, 90% within, pairs ranked right | a number of nodes left out | "
             "fitted to a few: predicted, median, 90% within | of these, alltoall |", "|---|--:|---|---|---|--:|"]
    lines += [judged(f"validation-{number}.svg", title, arguments, few) for number, (title, (arguments, few)) in enumerate(MACHINES.items(), 1)]
    return "\n".join(lines) + "\n"


def unseen():
    """Of each machine, what its other runs say of runs on other numbers of nodes, and of collectives that they did not have."""
    lines = ["| machine | nodes | times | median, 90% within | by collective |", "|---|---|--:|---|---|"]
    for title, (rows, tasks, fitted) in UNSEEN.items():
        report = json.loads(call(MPI, LATER, *rows, *LARGE, "--validate", "--format", "json", *(word for what in fitted for word in ("--fit-on", what))))
        times = [t for t in report["times"] if t["predicted_s"] is not None and t["source"] == LATER and t["gpus_per_node"] == tasks]
        off = {}
        for t in times:
            for of in ("all", t["collective"]):
                off.setdefault(of, []).append(abs(t["predicted_s"] / t["measured_s"] - 1))
        medians = {of: f"{100 * statistics.median(errors):.1f}%" for of, errors in off.items()}
        most = sorted(off["all"])[math.ceil(0.9 * len(times)) - 1]
        lines.append(f"| {title} | {', '.join(f'{n:,}' for n in sorted({t['nodes'] for t in times}))} | {len(times)} | {medians.pop('all')}, {100 * most:.0f}% | "
                     f"{', '.join(f'{of} {error}' for of, error in sorted(medians.items()))} |")
    return "\n".join(lines)


def chosen():
    """Rows of rings, of trees and of NCCL's own choice, which took the time of one of both, where those differ by 5%: does the tuner say so?"""
    rows, right, told = [line.split(",") for line in (ROOT / CHOSEN).read_text().splitlines()[1:]], [], []
    took = {(int(nodes), way, int(size)): float(seconds) for _, way, nodes, _, _, _, size, seconds in rows}
    cluster = BLIND / "cluster.json"
    cluster.write_text(json.dumps(ACCELERATED))
    for nodes in sorted({nodes for nodes, _, _ in took}):
        done = subprocess.run([PROGRAM, "collective", "allreduce", "--cluster", cluster, "--ranks", str(4 * nodes), "--sizes", "256:512MiB", "--certain",
                               "--format", "json", "--quiet"], capture_output=True, text=True, check=True, cwd=ROOT, env={**os.environ, "SPARSYNC_DATA": str(ROOT)})
        says = {t["bytes"]: t["algorithm"] for t in json.loads(done.stdout)["times"]}
        for n, way, size in took:
            if n != nodes or way != "own" or size not in says:
                continue
            ring, tree, own = (took[nodes, name, size] for name in ("ring", "tree", "own"))
            if max(ring, tree) < 1.05 * min(ring, tree):
                continue
            measured = "ring" if abs(own - ring) < abs(own - tree) else "trees"
            (right if says[size] == measured else told).append(f"{size:,} B on {nodes} nodes ({measured})")
    return right, told


def later():
    right, wrong = chosen()
    said_of = textwrap.fill(f"NCCL's choice between ring and trees on 4 to 64 nodes of 4 H100 (MareNostrum 5), of {len(right) + len(wrong)} all-reduces in which the two "
                            f"differ by 5% or more: as measured in {len(right)}; not so {'; '.join(wrong) or 'in none'}.", 125)
    return f"{unseen()}\n\n{said_of}\n"


def put(text, mark, part):
    begin, end = f"<!-- made by docs/make_validation.py{mark}: begin -->", f"<!-- made by docs/make_validation.py{mark}: end -->"
    return re.sub(f"{begin}.*{end}", lambda _: f"{begin}\n\n{part}\n{end}", text, flags=re.S)


if __name__ == "__main__":
    if "--clusters" in sys.argv:
        write_clusters(pathlib.Path(sys.argv[sys.argv.index("--clusters") + 1]))
        sys.exit(0)
    page = ROOT / "docs" / "validation.md"
    if "--later" not in sys.argv:
        write_clusters(ROOT / "models" / "clusters")
        page.write_text(put(page.read_text(), "", section()))
    page.write_text(put(page.read_text(), ", later", later()))
# SPDX-License-Identifier: Apache-2.0
