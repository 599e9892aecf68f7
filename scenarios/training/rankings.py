#!/usr/bin/python3
"""Prints what halving and doubling each estimated input does to the ranking of systems, for the scenarios of this folder;
docs/workloads.md has the short of it.

usage: rankings.py PROGRAM [NAME...]      (all but -select, which takes a quarter of an hour, and the small copies -thin and zen-fig11-blocks)
"""
import copy
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TIE = 0.005  # systems nearer than this are in no order


def model(kind, name):
    return json.loads((ROOT / "models" / kind / f"{name}.json").read_text(encoding="utf-8"))


def estimated(source, *fields):
    text = " ".join(str(source.get(field, "")) for field in fields)
    return "estimated" in text


# --- the estimates: name -> function that changes a scenario whose models are inline ---------------------------------------

def scaled(what):
    return lambda scenario, factor: scenario.setdefault("scale", {}).update({what: factor})


def embeddings(scenario):
    for workload in scenario["workloads"]:
        for module in workload["modules"]:
            if module["kind"] == "embedding":
                yield module


def guessed_rows(scenario):
    return any(estimated({**workload.get("source", {}), **module.get("source", {})}, "counts", "synth")
               for workload in scenario["workloads"] for module in workload["modules"] if module["kind"] == "embedding")


def scale_overlap(scenario, factor):
    for module in embeddings(scenario):
        if "counts" in module:
            apart = max(scenario["ranks"]) * module["counts"]["coalesced"] <= module["rows"]
            module["counts"]["overlap"] = "full" if factor > 1 else "none" if apart else "random"


def fused_by_guess(system):
    return "bucket" in system and estimated(system.get("source", {}), "bucket")


ESTIMATES = (
    ("compute times", scaled("compute"), lambda s: True),
    ("latency", scaled("latency"), lambda s: True),
    ("bandwidth inside a node", scaled("intra_bandwidth"), lambda s: "intra" in s["cluster"]),
    ("speed of kernels", scaled("kernels"), lambda s: isinstance(s.get("device"), dict)),
    ("rows looked up", scaled("lookups"), guessed_rows),
    ("prior rows", scaled("prior"), lambda s: any("counts" in m for m in embeddings(s))),
    ("overlap (none, full)", scale_overlap, lambda s: any("counts" in m for m in embeddings(s))),
    ("buckets", scaled("buckets"), lambda s: any(fused_by_guess(system) for system in s["systems"])),
)


# --- playing ----------------------------------------------------------------------------------------------------------------

def inline(path):
    scenario = json.loads(path.read_text(encoding="utf-8"))
    scenario["workloads"] = [model("workloads", w) if isinstance(w, str) else w for w in scenario["workloads"]]
    scenario["systems"] = [model("systems", s) if isinstance(s, str) else s for s in scenario["systems"]]
    for kind in ("cluster", "device"):
        if isinstance(scenario.get(kind), str):
            scenario[kind] = model(f"{kind}s", scenario[kind])
    return scenario


def play(program, scenario):
    """(workload, ranks) -> [(seconds, system)], fastest first."""
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
        json.dump(scenario, file)
        file.flush()
        done = subprocess.run([program, "train", file.name, "--format", "json"], capture_output=True, text=True,
                              env={**os.environ, "SPARSYNC_DATA": str(ROOT)})
    if done.returncode:
        raise SystemExit(f"{scenario['name']}: {done.stderr.strip()}")
    result = {}
    for point in json.loads(done.stdout)["training"]:
        result.setdefault((point["workload"], point["ranks"]), []).append((point["iteration_s"], point["system"]))
    return {key: sorted(times) for key, times in result.items()}


def flips(normal, other):
    """Pairs of systems whose order turned, both times by more than a tie."""
    before, after = {s: t for t, s in normal}, {s: t for t, s in other}
    return [(a, b) for a in before for b in before
            if before[a] < before[b] * (1 - TIE) and after[b] < after[a] * (1 - TIE)]


def duration(seconds):
    return f"{seconds:.3g} s" if seconds >= 1 else f"{seconds * 1e3:.3g} ms"


def cell(normal, other):
    """What became of the ranking, in few words."""
    turned = flips(normal, other)
    if not turned:
        return ""
    words = "; ".join(f"{b} passes {a}" for a, b in turned[:3]) + (f"; {len(turned) - 3} more" if len(turned) > 3 else "")
    return (f"**winner: {other[0][1]}**; " if (normal[0][1], other[0][1]) in turned else "") + words


def table(program, path):
    base = inline(path)
    most = max(base["ranks"]) if isinstance(base["ranks"], list) else base["ranks"]
    base["ranks"] = [most]  # scale_overlap reads it
    normal = play(program, base)
    turned = {key: [] for key in normal}
    for name, change, applies in ESTIMATES:
        if not applies(base):
            continue
        for factor, word in ((0.5, "halved"), (2, "doubled")):
            scenario = copy.deepcopy(base)
            change(scenario, factor)
            played = play(program, scenario)
            print(f"{path.stem}: {name} x {factor}", file=sys.stderr)
            for key, ranking in normal.items():
                what = cell(ranking, played[key])
                turned[key] += [f"{name} {word}: {what}"] if what else []
    lines = [f"### {path.stem}", "", f"{base['summary']}; {most} ranks.", "", "| workload | fastest | what turns |", "|---|---|---|"]
    for (workload, ranks), ranking in normal.items():
        first = ", ".join(f"{s} {duration(t)}" for t, s in ranking[:2])
        lines.append(f"| {workload} | {first} | {'. '.join(turned[workload, ranks])} |")
    return "\n".join(lines)


def main():
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    program = os.path.abspath(sys.argv[1])
    names = sys.argv[2:] or [path.stem for path in sorted(HERE.glob("*.json")) if not path.stem.endswith(("-select", "-thin", "fig11-blocks"))]
    for name in names:
        print(table(program, HERE / f"{name}.json"), end="\n\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
# SPDX-License-Identifier: Apache-2.0
