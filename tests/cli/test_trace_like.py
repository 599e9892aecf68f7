#!/usr/bin/python3
"""Laws from statistics (`trace synth --like`, "like" in documents): what is made is measured by `trace stats`, which shares no
code with the fit. Arguments: the program, the source tree. Prints TAP."""
import json
import math
import random
import sys

import tap
from asking import ask
from tap import test

RANKS, ITERATIONS, ROWS = 16, 6, 30000
# The fit's own 2%, and three times what chance does to six iterations of these sizes.
WITHIN = 0.045


def make(folder, *options):
    path = folder / "t.safetensors"
    return path, ask("trace", "synth", "--row-width", "1", "--ranks", RANKS, "--iterations", ITERATIONS, "-o", path, *options).stdout


def measured(path):
    tensor = json.loads(ask("trace", "stats", path, "--format", "json").stdout)["tensors"][0]
    found = {"density": tensor["density"], "coalescing": tensor["lookups"] / tensor["coalesced"],
             "repeat@16": tensor["prior"] / tensor["coalesced"]}
    found.update({f"gamma@{k + 1}": value for k, value in enumerate(tensor["gamma"])})
    found.update({f"skewness@{parts}": value for parts, value in tensor["skewness"].items()})
    return found


def listed(wanted):
    return ",".join(f"{name}={value:.6g}" for name, value in wanted.items())


def near(found, wanted):
    for name, value in wanted.items():
        assert abs(math.log(found[name] / value)) < WITHIN, f"{listed(wanted)}: {name} is {found[name]}"


def some_law(rng):
    """Options of a law of its own, so that its statistics are within reach."""
    law = ["--rows", ROWS, "--lookups", rng.randrange(800, 6000), "--ids", "popularity", "--seed", rng.randrange(1000)]
    kind = rng.randrange(4)
    if kind != 1:
        law += ["--zipf", f"{rng.uniform(0.3, 1.3):.3f}"]
    if kind in (1, 2):
        law += ["--zipf", "0"] if kind == 1 else []
        law += ["--hot", f"{rng.uniform(0.3, 0.9):.3f}", "--hot-rows", rng.randrange(300, 3000)]
    if kind == 3:
        law += ["--shared", f"{rng.uniform(0.2, 0.7):.3f}"]
    return [*law, "--scatter", f"{rng.uniform(0, 0.7):.3f}"]


@test
def what_is_asked_is_made(folder):
    rng = random.Random(36)
    for _ in range(6):
        path, _ = make(folder, *some_law(rng))
        found = measured(path)
        names = rng.sample(["density", "gamma@16", "gamma@4", "skewness@8", "coalescing", "repeat@16"], rng.randrange(2, 5))
        wanted = {name: found[name] for name in names}
        path, said = make(folder, "--rows", ROWS, "--seed", "7", "--like", listed(wanted))
        near(measured(path), wanted)
        lines = [line.split() for line in said.splitlines()]
        assert [line[0] for line in lines] == ["statistic", *wanted]
        for line in lines[1:]:
            assert abs(float(line[1]) / wanted[line[0]] - 1) < 1e-3 and abs(math.log(float(line[2]) / float(line[1]))) < 0.021


@test
def one_statistic_decides(folder):
    """Of two tables that differ in one statistic only that one differs."""
    base = {"density": 0.04, "gamma@16": 5}
    for name, one, two in (("skewness@8", 2, 5), ("coalescing", 2, 4), ("repeat@16", 0.75, 0.9)):
        for value in (one, two):
            path, _ = make(folder, "--rows", ROWS, "--like", listed({**base, name: value}))
            near(measured(path), {**base, name: value})


@test
def lookups_are_held(folder):
    path, _ = make(folder, "--rows", ROWS, "--lookups", 1777, "--like", "density=3%")
    found = measured(path)
    assert abs(found["coalescing"] * found["density"] * ROWS - 1777) < 1e-6
    near(found, {"density": 0.03})


def reach(text):
    """The number that a refusal says could be had, and on which side."""
    words = text.split(": about ")[1].split()
    return float(words[0]), " ".join(words[1:])


@test
def what_no_law_has(folder):
    """Independent ranks overlap by the density at least: gamma(k) is (1 - (1 - d)^k)/d at most, and lookups a distinct row
    -log(1 - d)/d at least. A range of a P-th of the rows holds 1/d of the mean at most."""
    d = 0.1
    for statistic, limit, side in (("gamma@8=7", (1 - (1 - d) ** 8) / d, "at most"), ("coalescing=1.01", -math.log1p(-d) / d, "at least"),
                                   ("skewness@16=15", 1 / d, "at most"), ("repeat@16=0.05", d, "at least")):
        error = ask("trace", "synth", "-o", folder / "t", "--rows", ROWS, "--like", f"density=0.1,{statistic}", status=2).stderr
        assert error.count("\n") == 1 and f"--like: {statistic}: no law of lookups has it beside the others" in error, error
        value, where = reach(error)
        assert where == side and abs(math.log(value / limit)) < 0.06, (error, limit)
    assert not (folder / "t").exists()


@test
def bad_lists(folder):
    for text, says in (("", "is no list"), ("density", "is no list"), ("densty=1%", "is no statistic"), ("gamma=2", "say gamma@16"),
                       ("density@4=2%", "say density alone"), ("gamma@0=2", "gamma"), ("gamma@x=2", "gamma"), ("gamma@16=17", "from 1 to 16"),
                       ("density=0", "above 0"), ("density=1%,density=2%", "said twice"), ("density=a", "ratio"),
                       (",".join(f"gamma@{k}=2" for k in range(2, 20)), "more than 16"), ("density=1%,", "is no list"),
                       ("gamma@" + "9" * 30 + "=2", "gamma")):
        error = ask("trace", "synth", "-o", folder / "t", "--like", text, status=2).stderr
        assert error.count("\n") == 1 and says in error, (text, error)
    error = ask("trace", "synth", "-o", folder / "t", "--like", "density=1%", "--zipf", "0.9", status=2).stderr
    assert "leave --zipf" in error, error


@test
def documents_take_the_same(folder):
    like = {"density": "3%", "gamma@16": 6, "skewness@8": 3}
    path, _ = make(folder, "--rows", ROWS, "--like", listed({"density": 0.03, "gamma@16": 6, "skewness@8": 3}))
    scenario = {"trace": {"synth": {"rows": ROWS, "row_width": 1, "ranks": RANKS, "iterations": ITERATIONS, "like": like}},
                "cluster": {"latency": 0, "bandwidth": "1GB/s"}, "ranks": RANKS, "schemes": ["allgather", "zen"]}
    name = folder / "s.json"

    def points(trace, status=0):
        name.write_text(json.dumps({**scenario, "trace": trace}))
        return ask("run", name, "--format", "json", status=status)

    def times(answer):
        return [point["time_s"] for point in json.loads(answer.stdout)["points"]]
    assert times(points(scenario["trace"])) == times(points(str(path)))
    for wrong, says in (({"zipf": 0.9}, "trace.synth.zipf"), ({"ids": "shuffled"}, "trace.synth.ids"), ({"like": {"gamma": 2}}, "trace.synth.like"),
                        ({"like": {}}, "names no statistic"), ({"like": {"density": "10%", "gamma@8": 7}}, "gamma@8=7: no law")):
        error = points({"synth": {**scenario["trace"]["synth"], **wrong}}, 2).stderr
        assert error.count("\n") == 1 and says in error, error


@test
def laws_that_are_remembered_are_those_of_all_that_was_asked(folder):
    """One process finds a law once for each question: a sweep takes what runs of their own take, whatever changes, and both ways round."""
    synth = {"rows": 20000, "row_width": 1, "ranks": 4, "iterations": 1, "tokens": 600, "like": {"density": "2%", "gamma@4": 2.5}}
    scenario = {"trace": {"synth": synth}, "cluster": {"latency": 0, "bandwidth": "1GB/s"}, "ranks": 4, "schemes": ["allgather"]}

    def times(document, *options):
        (folder / "s.json").write_text(json.dumps(document))
        return [point["time_s"] for point in json.loads(ask("run", folder / "s.json", "--no-verify", "--format", "json", *options).stdout)["points"]]
    for key, values in (("rows", [20000, 15000]), ("tokens", [600, 900]), ("like.gamma@4", [2.5, 3]), ("like.density", ["2%", "3%"])):
        alone = [times(scenario, "--set", f"trace.synth.{key}={json.dumps(value)}")[0] for value in values]
        for swept, wanted in ((values, alone), (values[::-1], alone[::-1])):
            assert times({**scenario, "sweep": {f"trace.synth.{key}": swept}}) == wanted, (key, swept)


@test
def workloads_take_the_same(folder):
    like = {"density": "3%", "gamma@4": 2.5}

    def iteration(feed, *options):
        module = {"name": "table", "kind": "embedding", "rows": 50000, "row_width": 8, "forward_s": 1e-3, "backward_s": 1e-3, "synth": feed}
        document = {"workload": {"name": "w", "modules": [module]}, "cluster": {"latency": "10us", "bandwidth": "10MB/s"},
                    "ranks": 4, "systems": [{"name": "s", "sparse": "allgather", "dense": "allreduce", "schedule": "fifo"}]}
        (folder / "t.json").write_text(json.dumps(document))
        return json.loads(ask("train", folder / "t.json", *options, "--format", "json").stdout)["training"][0]["iteration_s"]
    # 1500 rows of 36 bytes of three others at 10 MB/s: 16.2 ms, beside 2 ms of computation
    found = iteration({"like": like})
    assert iteration({"like": like}, "--set", "scale.skew=2") == found, "no other law has these statistics"
    assert abs(found / (2e-3 + 3 * 1500 * 36 * 1e-7 + 3e-5) - 1) < 0.05, found


sys.exit(tap.run())
# SPDX-License-Identifier: Apache-2.0
