#!/usr/bin/python3
"""Writes "accuracy" of models/measured/priors.json, what errors of all measured machines have in common, and "Ranges" of
docs/validation.md, with docs/coverage.csv: how many times that were left out are within their ranges. Arguments: the program, the source tree;
--keep FOLDER: what the program says of each machine is kept there, and taken from there; --as-shipped: priors.json and its weight
stay, and are judged.

Machines are those of docs/make_validation.py and all 19 transports of Polaris and Sirius. Each is judged by what all other
systems have in common, never by what was learned of its own, and by what is left out of the fit that predicts. This is a
second program for what src/calibration/accuracy.c does of groups of errors; tests hold the one against the other."""
import concurrent.futures
import csv
import json
import math
import os
import pathlib
import random
import re
import statistics
import sys
import textwrap

import make_validation
from make_validation import ROOT, call, judging, tuned

LEVELS, WAYS = 20, ("collectives", "nodes", "sizes", "rows")
CLASSES = ("collective", "kind", "doubling", "sizes")
GROUPS = (1, 2, 4, 8, 16)  # how much others' errors may weigh
BEGIN, END = "<!-- made by docs/make_coverage.py: begin -->", "<!-- made by docs/make_coverage.py: end -->"


def machines():
    """Title to its system and what the program is asked."""
    found = {}
    for title, (arguments, _) in make_validation.MACHINES.items():
        if title != make_validation.SEVERAL and not title.startswith(("Polaris", "Sirius")):
            found[title] = next(word[7:] for word in arguments if word.startswith("system=")), arguments
    with open(ROOT / make_validation.NCCL) as file:
        setups = {(r["system"], r["setup"]) for r in csv.DictReader(file) if "2024-04-29" in r["setup"]}
    for system, setup in setups:
        version, number = setup[5:9].replace("_", "."), setup[-1]
        found[f"{system.capitalize()}, NCCL {version}, setup{number}"] = system, tuned(system, version, number)
    return dict(sorted(found.items()))


def ask(title, arguments, keep):
    """What the program says of each way to leave something out, and of nothing."""
    path = keep / (re.sub("[ ,/]+", "_", title) + ".json") if keep else None
    if path and path.exists():
        return json.loads(path.read_text())
    said = {way: json.loads(call(*arguments, "--validate", "--ranges", "--leave-out", way, "--format", "json", data=judging(arguments)))
            for way in (*WAYS, "nothing")}
    if path:
        path.write_text(json.dumps(said))
    return said


def error(time):
    return abs(math.log(time["predicted_s"] / time["measured_s"]))


def quantile(points, share):
    """Of (error, weight): between the middles of points."""
    points, before, last = sorted(points), 0, None
    total = sum(weight for _, weight in points)
    for value, weight in points:
        middle = (before + weight / 2) / total
        if middle >= share:
            return value if last is None else last[1] + (value - last[1]) * (share - last[0]) / (middle - last[0])
        last, before = (middle, value), before + weight
    return points[-1][0] if points else 0


def points(part, name, weight=1):
    """Residuals count by their times, what was left out by its groups."""
    return [(e, weight * (group["times"] if name == "measured" else 1) / LEVELS) for group in part if group["class"] == name for e in group["errors"]]


def pooled(said, systems):
    """Class to levels of the errors of all: systems count alike, in each its machines, of each its groups."""
    out = {}
    for name in CLASSES:
        parts = {title: [g for g in of["nothing"]["parts"][0] if g["class"] == name] for title, of in said.items()}
        parts = {title: part for title, part in parts.items() if part}
        alike = {title: sum(systems[other] == systems[title] for other in parts) for title in parts}
        mixed = [p for title, part in parts.items() for p in points(part, name, 1 / len(part) / alike[title])]
        if mixed:
            out[name] = [float(f"{quantile(mixed, (i + 0.5) / LEVELS):.4g}") for i in range(LEVELS)]
    return out


def classes(part, common, groups):
    """Class to the logarithms of its two factors."""
    out = {}
    for name in ("measured", *CLASSES):
        mixed = points(part, name) + [(e, groups / LEVELS) for e in common.get(name, ())]
        out[name] = [quantile(mixed, share) for share in (0.5, 0.9)]
    for nearer, name in zip(("measured", "collective"), ("collective", "kind")):  # none is better known than what is nearer
        out[name] = [max(both) for both in zip(out[name], out[nearer])]
    return out


def held(report, common, groups):
    """Of each time that was left out: its error, and the logarithms of the factors that should hold it."""
    factors = [classes(part, common, groups) for part in report["parts"]]
    for time in report["times"]:
        if time["predicted_s"] is not None:
            of = factors[time["part"]]
            terms = of[time["class"]], [time["nodes_doubled"] * f for f in of["doubling"]], [time["size_doubled"] * f for f in of["sizes"]]
            yield error(time), [math.hypot(*(term[i] for term in terms)) for i in (0, 1)]


def loss(times):
    """How well factors tell quantiles: the mean of both check functions, least where they are right (Koenker 1978)."""
    return sum(max(share * (e - f), (share - 1) * (e - f)) for e, of in times for f, share in zip(of, (0.5, 0.9))) / max(len(times), 1)


def choose_groups(said, systems):
    """By every second machine alone, judged by what all others of them in other systems have in common."""
    half = list(said)[::2]

    def total(groups):
        sums = 0
        for title in half:
            common = pooled({t: said[t] for t in half if systems[t] != systems[title]}, systems)
            sums += sum(loss(list(held(said[title][way], common, groups))) for way in WAYS)
        return sums
    return min(GROUPS, key=total)


def share(times):
    return [sum(e <= of[i] for e, of in times) / len(times) for i in (0, 1)]


def shown(times):
    """Shares in percent; a star: not in its band."""
    if not times:
        return "-"
    return ", ".join(f"{100 * x:.0f}%{'' if low <= x <= high else '*'}" for x, (low, high) in zip(share(times), ((0.4, 0.6), (0.85, 0.95))))


def table(said, systems, groups):
    """A line a machine, for docs/coverage.csv; those of halves of the machines, for the page; and what they amount to."""
    machine = []
    lines = ["| machines | a collective left out | nodes | sizes | a fifth of the rows | all |", "|---|---|---|---|---|---|"]
    everything = {0: {way: [] for way in WAYS}, 1: {way: [] for way in WAYS}}
    within = {0: [0, 0, 0], 1: [0, 0, 0]}
    for i, title in enumerate(said):
        common = pooled({t: of for t, of in said.items() if systems[t] != systems[title]}, systems)
        ways = {way: list(held(said[title][way], common, groups)) for way in WAYS}
        times = [time for way in WAYS for time in ways[way]]
        half, most = share(times)
        for way in WAYS:
            everything[i % 2][way] += ways[way]
        within[i % 2] = [n + more for n, more in zip(within[i % 2], (0.4 <= half <= 0.6, 0.85 <= most <= 0.95, 1))]
        machine.append([title, len(said[title]["nothing"]["times"]), *(shown(ways[way]) for way in WAYS), shown(times)])
    for i, what in enumerate(("that the weight was chosen by", "others")):
        times = [time for way in WAYS for time in everything[i][way]]
        lines.append(f"| the {within[i][2]} {what} | " + " | ".join(shown(everything[i][way]) for way in WAYS) + f" | {shown(times)} |")
    told = " and ".join(f"{w[0]} and {w[1]} of the {w[2]} {what}" for w, what in zip(within.values(), ("that the weight was chosen by", "others")))
    return machine, "\n".join(lines) + "\n", f"All ways together, 50% ranges hold 40 to 60%, and 90% ranges 85 to 95%, on {told}."


def by_chance(said, systems, groups, draws=1000):
    """On how many machines ranges would be within their bands if these did not differ: each machine's groups of times, left out
    together, drawn anew from those of all machines. Mean and standard deviation, of 50% and of 90% ranges."""
    pool, shape, dice = {way: [] for way in WAYS}, [], random.Random(1)
    for title, of in said.items():
        common = pooled({t: other for t, other in said.items() if systems[t] != systems[title]}, systems)
        for way in WAYS:
            told = [t for t in of[way]["times"] if t["predicted_s"] is not None]
            group = {}
            for time, judged in zip(told, held(of[way], common, groups)):
                group.setdefault(time["collective"] if way == "rows" else time["part"], []).append(judged)
            pool[way] += [share(g) for g in group.values()]
            shape += [(title, way, len(g)) for g in group.values()]
    counts = []
    for _ in range(draws):
        sums = {title: [0, 0, 0] for title in said}
        for title, way, size in shape:
            half, most = dice.choice(pool[way])
            sums[title] = [a + size * b for a, b in zip(sums[title], (half, most, 1))]
        counts.append([sum(low <= s[i] / s[2] <= high for s in sums.values()) for i, (low, high) in enumerate(((0.4, 0.6), (0.85, 0.95)))])
    return [(statistics.mean(c), statistics.stdev(c)) for c in zip(*counts)]


def by_pair(said):
    """How far errors of two collectives, each left out of its own fit, are from one another at the same nodes and bytes, over
    what independent ones are; and how errors of small and of large calls of one go together: a correlation."""
    apart, alone, both = 0, 0, []
    for of in said.values():
        errors = {}
        for t in of["collectives"]["times"]:
            if t["predicted_s"] is not None:
                errors.setdefault(t["collective"], {})[t["nodes"], t["gpus_per_node"], t["bytes"]] = math.log(t["predicted_s"] / t["measured_s"])
        names = sorted(errors)
        for a, b in ((a, b) for i, a in enumerate(names) for b in names[i + 1:]):
            same = errors[a].keys() & errors[b].keys()
            if len(same) > 4:
                apart += sum((errors[a][k] - errors[b][k]) ** 2 for k in same) / len(same)
                alone += sum(errors[a][k] ** 2 + errors[b][k] ** 2 for k in same) / len(same)
        for name in names:
            ordered = [errors[name][k] for k in sorted(errors[name], key=lambda k: k[-1])]
            n = len(ordered) // 2
            if n > 3:
                both.append((sum(ordered[:n]) / n, sum(ordered[n:]) / len(ordered[n:])))
    together = sum(x * y for x, y in both) / math.sqrt(sum(x * x for x, _ in both) * sum(y * y for _, y in both))
    return math.sqrt(apart / alone), together


def main():
    keep = pathlib.Path(sys.argv[sys.argv.index("--keep") + 1]) if "--keep" in sys.argv else None
    asked = machines()
    systems = {title: system for title, (system, _) in asked.items()}
    for _, arguments in asked.values():
        judging(arguments)  # the data of each system is made once, before many want it
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as several:
        said = dict(zip(asked, several.map(lambda title: ask(title, asked[title][1], keep), asked)))
    path = ROOT / "models" / "measured" / "priors.json"
    priors, shipped = json.loads(path.read_text()), "--as-shipped" in sys.argv
    groups = priors["accuracy"]["groups"] if shipped else choose_groups(said, systems)
    priors["accuracy"] = {"source": "models/measured, by docs/make_coverage.py", "groups": groups, **pooled(said, systems)}
    shipped or path.write_text(re.sub(r"\[[^\]]*\]", lambda m: re.sub(r"\s+", " ", m[0]), json.dumps(priors, indent=2)) + "\n")
    apart, together = by_pair(said)
    page = ROOT / "docs" / "validation.md"
    rows, lines, told = table(said, systems, groups)
    with (ROOT / "docs" / "coverage.csv").open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([["machine", "times", *WAYS, "all"], *rows])
    (halves, halves_sd), (mosts, mosts_sd) = by_chance(said, systems, groups)
    told += (f" If machines did not differ (each one's groups of times, left out together, drawn from those of all), it would be {halves:.0f} ± "
             f"{halves_sd:.0f} and {mosts:.0f} ± {mosts_sd:.0f} of the {len(said)}. Others' errors weigh as much as {groups} groups. Errors of two collectives that were left out are {apart:.2f} times as far apart "
             f"as independent ones are; those of small and of large calls of one have a correlation of {together:.2f}.")
    section = f"{lines}\n{textwrap.fill(told, 125, break_on_hyphens=False)}\n"
    page.write_text(re.sub(f"{BEGIN}.*{END}", lambda _: f"{BEGIN}\n\n{section}\n{END}", page.read_text(), flags=re.S))


if __name__ == "__main__":
    main()
# SPDX-License-Identifier: Apache-2.0
