#!/usr/bin/python3
"""sparsync train against a second implementation of its timelines, against `run` for how long tasks last, and against
wrong input. Arguments: the program, the source tree. Prints TAP."""
import json
import math
import random
import re
import statistics
import shutil
import subprocess
import sys

import second_train
import tap
import traces
from asking import ENVIRONMENT, PROGRAM, ROOT, ask
from hashes import mix, xxh64
from tap import test

BIBLE = str(ROOT / "traces" / "bible-kjv-16.safetensors")
FLAT = {"name": "flat", "latency": "10us", "bandwidth": "10Gbps"}


def train(folder, scenario, *arguments, **options):
    path = folder / "scenario.json"
    path.write_text(json.dumps(scenario))
    return ask("train", path, *arguments, **options)


def write(folder, name, document):
    path = folder / name
    path.write_text(json.dumps(document))
    return path


def results(folder, scenario, *arguments):
    return json.loads(train(folder, scenario, "--format", "json", "--per-iteration", *arguments).stdout)["training"]


def close(a, b, relative=1e-12):
    if a is None or b is None:
        return a is None and b is None
    return abs(a - b) <= relative * max(abs(a), abs(b), 1e-30)


def all_close(a, b):
    return len(a) == len(b) and all(close(x, y) for x, y in zip(a, b))


# --- the timeline ------------------------------------------------------------------------------------------------------

def random_module(dice, i, earlier):
    times = {"forward_s": dice.choice([0, 0.0005, 0.001, dice.uniform(0, 0.004)]), "backward_s": dice.choice([0, 0.001, dice.uniform(0, 0.006)])}
    if dice.random() < 0.4:
        rows = dice.randint(20, 4000)
        module = {"name": f"table{i}", "kind": "embedding", "rows": rows, "row_width": dice.choice([1, 8, 33, 64]), **times}
        if dice.random() < 0.5:
            module["synth"] = {"lookups": dice.randint(1, 400), "zipf": 1, "seed": dice.randint(1, 99)}
        else:
            coalesced = dice.randint(1, rows)
            module["counts"] = {"lookups": coalesced + dice.randint(0, 50), "coalesced": coalesced, "prior": dice.randint(0, coalesced)}
        return module
    module = {"name": f"dense{i}", "kind": "dense", **times}
    if dice.random() < 0.85:
        module["bytes"] = 4 * dice.randint(1, 400000)
    after = [name for name in earlier if dice.random() < (0.7 if name.startswith("table") else 0.3)]
    if after:
        module["after"] = after
    return module


def random_workload(dice):
    modules = []
    for i in range(dice.randint(1, 7)):
        modules.append(random_module(dice, i, [m["name"] for m in modules]))
    dice.shuffle(modules)
    return {"name": "random", "iterations": dice.randint(1, 5), "modules": modules}


def random_system(dice, i):
    schedule = dice.choice(["fifo", "priority", "horizontal", "2d"])
    sparse = dice.choice(["alltoall", "allgather", "zen"] + ([] if schedule == "2d" else ["allreduce", {"name": "ps", "dense": True}]))
    system = {"name": f"system{i}", "sparse": sparse, "dense": "allreduce", "schedule": schedule}
    if schedule == "fifo" and dice.random() < 0.6:
        system["bucket"] = dice.randint(1, 2000000)
        if dice.random() < 0.5:
            system["first_bucket"] = dice.randint(1, 1000000)
    if schedule == "priority" and dice.random() < 0.6:
        system["partition"] = 4 * dice.randint(20000, 300000)
    return system


def random_lists(dice, workload, system):
    """Some of the modules with gradients, in any order; rows of tables alone."""
    left = [m["name"] for m in workload["modules"] if m.get("bytes") or m["kind"] == "embedding"]
    alone = {m["name"] for m in workload["modules"] if m["kind"] == "embedding" and system["sparse"] != system["dense"]}
    dice.shuffle(left)
    lists = [[]]
    for name in left[:dice.randint(1, len(left))] if left else []:
        if lists[-1] and (name in alone or lists[-1][0] in alone or dice.random() < 0.4):
            lists.append([])
        lists[-1].append(name)
    return lists if lists[0] else 0


def durations_of(point):
    return {(t["kind"], tuple(t["modules"]), t["part"]): t["times_s"] for t in point["tasks"]}


def compare(scenario, point):
    workload = scenario["workload"]
    system = next(s for s in scenario["systems"] if s["name"] == point["system"])
    jitter = scenario.get("jitter", {})
    gradients, lookups = second_train.list_tasks(workload, system, point["ranks"])
    durations = durations_of(point)
    assert sorted(t.key() for t in gradients + lookups) == sorted(durations), f"tasks {sorted(durations)}"
    played = second_train.play(workload, system, point["ranks"], durations, point["splits_s"] or [0.0], scenario["iterations"],
                               scenario.get("compute", 1.0), jitter.get("lognormal", 0.0), jitter.get("seed", 1), scenario.get("accumulation", 1))
    accuracy = 1e-9 if jitter or "interference" in system else 1e-12
    for t, (ours, theirs) in enumerate(zip(played[0], point["ends_s"])):
        assert close(ours, theirs, accuracy), f"{system}: iteration {t} ends at {theirs!r}, here at {ours!r}"
    for name, value in second_train.summarise(*played, point["warmup"]).items():
        scale = point["iteration_s"] if name != "hidden" else 1
        assert (value is None) == (point[name] is None), name
        assert value is None or abs(value - point[name]) <= 1e-9 * scale, f"{system}: {name} is {point[name]!r}, here {value!r}"
    path = sum(p["time_s"] for p in point["critical_path"]) * point["warmup"]
    spent = point["ends_s"][-1] - point["ends_s"][-1 - point["warmup"]]
    assert close(path, spent, 1e-9), f"{system}: the critical path is {path!r} of {spent!r} s"


def random_scenario(dice, jitter):
    scenario = {"workload": random_workload(dice), "systems": [random_system(dice, i) for i in range(4)], "cluster": FLAT,
                "ranks": [dice.randint(1, 5)], "iterations": 16, "compute": dice.choice([1.0, 0.3])}
    if dice.random() < 0.5:
        scenario["device"] = "quick"
    for system in scenario["systems"]:
        if system["schedule"] == "fifo" and dice.random() < 0.5:
            system["bucket"] = random_lists(dice, scenario["workload"], system)
            system.pop("first_bucket", None)
    if jitter:
        scenario["jitter"] = {"lognormal": dice.choice([0.05, 0.5]), "seed": dice.randint(1, 99)}
    return scenario


@test
def a_second_implementation_agrees(folder):
    for seed in range(60):
        scenario = random_scenario(random.Random(seed), False)
        for point in results(folder, scenario):
            try:
                compare(scenario, point)
            except AssertionError as wrong:
                raise AssertionError(f"seed {seed}: {wrong}; {json.dumps(scenario)[:1500]}") from None


@test
def lists_say_what_goes_together_and_when(folder):
    """Backward of c [0, 3], b [3, 5], a [5, 6] ms; e is rows. A list waits for those before it; what no list names goes alone."""
    modules = [{"name": "a", "kind": "dense", "bytes": 4000, "forward_s": 0.001, "backward_s": 0.001},
               {"name": "b", "kind": "dense", "bytes": 400000, "forward_s": 0.001, "backward_s": 0.002},
               {"name": "c", "kind": "dense", "bytes": 40000, "forward_s": 0.001, "backward_s": 0.003}]
    system = {"sparse": "allgather", "dense": "allreduce", "schedule": "fifo"}
    systems = [system | {"name": "late", "bucket": [["c", "a"], ["b"]]}, system | {"name": "early", "bucket": [["b"], ["a", "c"]]},
               system | {"name": "one", "bucket": [["b"]]}]
    points = results(folder, {"workload": {"name": "w", "modules": modules}, "systems": systems, "cluster": FLAT, "ranks": 4, "certain": True})
    late, early, one = ({"+".join(t["modules"]): t["time_s"] for t in p["tasks"]} for p in points)
    assert list(late) == ["c+a", "b"] and list(early) == ["b", "c+a"] and list(one) == ["b", "c", "a"]
    wanted = [0.006 + late["c+a"] + late["b"], max(0.006, 0.005 + early["b"]) + early["c+a"],
              max(0.006, max(0.005, 0.003 + one["c"]) + one["b"]) + one["a"]]
    for point, sent in zip(points, wanted):
        assert close(point["iteration_s"], sent + 0.003, 1e-9), (point["system"], point["iteration_s"], sent + 0.003)


def random_software(dice, tables):
    software = {"call": dice.uniform(0, 0.001), "copy": dice.uniform(1e8, 1e9), "cycle": dice.uniform(0.0001, 0.003), "step": dice.uniform(0, 0.01)}
    if not tables:
        software["step_per_byte"] = dice.uniform(0, 1e-9)
    return {key: value for key, value in software.items() if dice.random() < 0.6}


@test
def and_with_software_and_interference(folder):
    for seed in range(2000, 2040):
        dice = random.Random(seed)
        scenario = random_scenario(dice, dice.random() < 0.3)
        scenario["accumulation"] = dice.randint(1, 3)
        modules = scenario["workload"]["modules"]
        for system in scenario["systems"]:
            system["software"] = random_software(dice, any(m["kind"] == "embedding" for m in modules))
            system["interference"] = dice.uniform(0, 1)
        for module in modules:  # of no round length: who comes first must not depend on rounding
            module.update({"forward_s": dice.uniform(0, 0.004), "backward_s": dice.uniform(0, 0.006), "optimizer_s": dice.uniform(0, 0.001)})
        for point in results(folder, scenario):
            try:
                compare(scenario, point)
            except AssertionError as wrong:
                raise AssertionError(f"seed {seed}: {wrong}; {json.dumps(scenario)[:1500]}") from None


@test
def and_with_jitter(folder):
    for seed in range(1000, 1020):
        scenario = random_scenario(random.Random(seed), True)
        for point in results(folder, scenario):
            try:
                compare(scenario, point)
            except AssertionError as wrong:
                raise AssertionError(f"seed {seed}: {wrong}; {json.dumps(scenario)[:1500]}") from None


# --- how long tasks last ------------------------------------------------------------------------------------------------

def read_trace(path):
    return traces.lookups(path)


def write_trace(path, tensor, lists):
    traces.write(path, [(tensor, sum(lists, []))], len(lists[0]))


def table_workload(tensor):
    return {"name": "one table", "modules": [{"name": "table", "kind": "embedding", "rows": tensor["rows"], "row_width": tensor["row_width"],
                                              "tensor": "embedding", "backward_s": 0.001, "forward_s": 0.001}]}


def by_run(trace, scheme, ranks, *arguments):
    out = ask("run", "--trace", trace, "--cluster", "rtx3090-100g-ib", "--ranks", ranks, "--set", f"schemes={json.dumps([scheme])}",
               "--per-iteration", "--no-verify", "--format", "json", *arguments).stdout
    return json.loads(out)["points"][0]["iteration_s"]


def scenario_of(tensor, trace, scheme, schedule, ranks):
    return {"workload": table_workload(tensor), "systems": [{"name": "s", "sparse": scheme, "dense": "allreduce", "schedule": schedule}],
            "trace": str(trace), "cluster": "rtx3090-100g-ib", "ranks": [ranks]}


@test
def offered_systems_alone(folder):
    """--offered leaves out the systems that say nobody offers them; the others are as they were."""
    scenario = {"workload": "spardl-lstm-imdb", "cluster": FLAT, "ranks": 4, "certain": True}
    every = results(folder, scenario)
    files = {path.stem: json.loads(path.read_text()).get("offered") for path in (ROOT / "models" / "systems").glob("*.json")}
    assert all(p["offered"] == files[p["system"]] for p in every)
    some = [p for p in results(folder, scenario, "--offered")]
    assert {p["system"] for p in some} == {name for name, offered in files.items() if offered} & {p["system"] for p in every}
    before = {p["system"]: p["iteration_s"] for p in every}
    assert some and all(p["iteration_s"] == before[p["system"]] for p in some)
    gloo = {name for name, offered in files.items() if offered and offered.get("over") == "gloo"}
    others = {p["system"] for p in results(folder, {**scenario, "cluster": {**FLAT, "library": {"name": "openmpi"}}}, "--offered")}
    assert gloo & {p["system"] for p in some} and others == {p["system"] for p in some} - gloo, others
    best = min(some, key=lambda p: p["iteration_s"])
    assert f"In PyTorch: {best['system']} is {best['offered']['by']}'s: {best['offered']['how']}{'; over gloo alone, and this cluster names no library' if best['offered'].get('over') else ''}." in train(folder, scenario, "--offered").stdout
    scenario["systems"] = ["oktopk", "embrace"]
    assert "nobody offers" in train(folder, scenario, "--offered", status=2).stderr
    assert "In PyTorch: nobody offers " in train(folder, scenario).stdout


@test
def tasks_last_as_long_as_their_scheme(folder):
    tensor, _ = read_trace(BIBLE)
    for scheme in ("allgather", "zen", {"name": "allgather", "coalesce": False}, {"name": "ps", "pull": "rows"}):
        [point] = results(folder, scenario_of(tensor, BIBLE, scheme, "fifo", 8))
        [task] = point["tasks"]
        assert all_close(task["times_s"], by_run(BIBLE, scheme, 8)), scheme
    [point] = results(folder, scenario_of(tensor, BIBLE, "alltoall", "fifo", 8))
    found = {task["kind"]: task["times_s"] for task in point["tasks"]}
    for kind, exchange in (("gradient", "gradients"), ("lookups", "lookups")):
        assert all_close(found[kind], by_run(BIBLE, {"name": "alltoall", "exchange": exchange}, 8)), kind


@test
def coalescing_is_charged_as_in_run(folder):
    """Who sends each row once coalesced its lookups before, whoever sends them as they are did not; parameters that were looked up
    are sent as they are."""
    tensor, _ = read_trace(BIBLE)
    for scheme in ("sparcml-rd", {"name": "zen", "granularity": "element"}, {"name": "allgather", "coalesce": False}):
        [point] = results(folder, scenario_of(tensor, BIBLE, scheme, "fifo", 4), "--device", "quick")
        assert all_close(point["tasks"][0]["times_s"], by_run(BIBLE, scheme, 4, "--device", "quick")), scheme
    [point] = results(folder, scenario_of(tensor, BIBLE, "alltoall", "fifo", 4), "--device", "quick")
    found = {task["kind"]: task["times_s"] for task in point["tasks"]}
    for kind, exchange in (("gradient", "gradients"), ("lookups", "lookups")):
        assert all_close(found[kind], by_run(BIBLE, {"name": "alltoall", "exchange": exchange}, 4, "--device", "quick")), kind
        out = ask("run", "--trace", BIBLE, "--cluster", "rtx3090-100g-ib", "--ranks", 4, "--device", "quick", "--iterations", "0:1",
                   "--set", f'schemes=[{{"name":"alltoall","exchange":"{exchange}"}}]', "--format", "json").stdout
        assert ("coalesce" in json.loads(out)["points"][0]["kernels"]) == (exchange == "gradients"), exchange


@test
def algorithm_1_splits_the_traces_own_rows(folder):
    tensor, lists = read_trace(BIBLE)
    ranks, period = 4, 6
    lists = [iteration[:ranks] for iteration in lists[:period]]
    write_trace(folder / "whole.safetensors", tensor, lists)
    shares = {"prior": [], "delayed": []}
    for t in range(period):
        wanted = {row for rank in lists[(t + 1) % period] for row in rank}
        shares["prior"].append([sorted(set(rank) & wanted) for rank in lists[t]])
        shares["delayed"].append([sorted(set(rank) - wanted) for rank in lists[t]])
    [point] = results(folder, scenario_of(tensor, folder / "whole.safetensors", "alltoall", "2d", ranks), "--device", "quick")
    found = {task["kind"]: task["times_s"] for task in point["tasks"]}
    for kind, share in shares.items():
        write_trace(folder / f"{kind}.safetensors", tensor, share)
        again = by_run(folder / f"{kind}.safetensors", {"name": "alltoall", "exchange": "gradients", "coalesce": False}, ranks,
                       "--device", "quick")  # the split has coalesced them
        assert all_close(found[kind], again), f"{kind}: {found[kind][:3]} {again[:3]}"
    # the split, of the rank that moves most, at the device's speed (docs/training.md)
    row, index = 4 * tensor["row_width"], 4
    for t in range(period):
        gathered = sum(len(rank) for rank in lists[(t + 1) % period])
        moved = max((len(rank) + len(set(rank))) * (row + index) + (2 * len(set(rank)) + gathered) * index + 2 * len(set(rank)) * row
                    for rank in lists[t])
        assert close(point["splits_s"][t], 5e-6 + moved / (3.35e12 * 0.5)), t


@test
def dense_tasks_follow_the_closed_form(folder):
    workload = {"name": "dense", "modules": [{"name": "a", "kind": "dense", "bytes": 4000000}, {"name": "b", "kind": "dense", "bytes": 8000000}]}
    system = {"name": "ddp", "sparse": "allreduce", "dense": "allreduce", "schedule": "fifo", "bucket": "1GB"}
    scenario = {"workload": workload, "systems": [system], "cluster": FLAT, "ranks": [4]}
    [point] = results(folder, {**scenario, "all_reduces": "ring"})
    [task] = point["tasks"]
    assert task["modules"] == ["b", "a"] and close(task["time_s"], 2 * 3 * (10e-6 + 3e6 / 1.25e9))
    assert close(point["bytes_total"], 2 * 3 * 12e6) and "algorithm" not in task
    [task] = results(folder, scenario)[0]["tasks"]  # as many bytes in two steps each way
    assert task["algorithm"] == "rabenseifner" and close(task["time_s"], 2 * (2 * 10e-6 + 9e6 / 1.25e9))


def factor(spread, of, draw):
    """docs/ranges.md, "Ranges"."""
    if spread[1] <= 1:
        return 1
    u, half, most = 2 * ((mix(mix(1, of), draw) >> 11) * 2.0**-53) - 1, *map(math.log, spread)
    x = abs(u)
    return math.exp(math.copysign(half * x / 0.5 if x < 0.5 else half + (most - half) * (x - 0.5) / 0.4, u))


@test
def ranges_are_those_of_what_an_iteration_is_made_of(folder):
    """One module: backward, its all-reduce, forward. Passes are the same in all systems, and the model is off in messages alone."""
    spreads, P, M = {"estimated": (1.33, 2), "measured": (1.1, 1.3), "sheet": (1.14, 1.5), None: (1, 1)}, 4, 4e6
    forms = {"ring": (6, 6 / 4), "rabenseifner": (4, 6 / 4)}  # starts, and bytes as shares of the vector
    systems = [{"name": name, "sparse": "allreduce", "dense": {"name": "allreduce", "algorithm": name}, "schedule": "fifo"} for name in forms]
    decided = set()
    for latency, bandwidth, passes, alpha in (("estimated", "sheet", "estimated", 1e-3), ("sheet", "estimated", None, 1e-3), (None, None, None, 2e-4), ("measured", None, "estimated", 1e-5)):
        module = {"name": "a", "kind": "dense", "bytes": M, "forward_s": 3e-3, "backward_s": 6e-3, **({"source": {"forward_s": "estimated: a guess"}} if passes else {})}
        source = {k: v for k, v in (("latency", latency), ("bandwidth", bandwidth)) if v}
        scenario = {"workload": {"name": "w", "modules": [module], "tokens": 100}, "systems": systems, "cluster": {"name": "c", "latency": alpha, "bandwidth": 1.25e9, "source": source}, "ranks": [2, P], "baselines": ["ring"]}
        points = {p["system"]: p for p in results(folder, scenario) if p["ranks"] == P}
        draws, passing, told = {}, [9e-3 * factor(spreads[passes or "measured"], 7, d) for d in range(1000)], {}
        for name, (starts, shares) in forms.items():
            own = mix(xxh64(name.encode()), 7)
            parts = [(starts * alpha, spreads[latency], 0, True), (shares * M / 1.25e9, spreads[bandwidth], 1, True), (9e-3, spreads[passes or "measured"], 7, False)]
            assert close(points[name]["iteration_s"], sum(p[0] for p in parts), 1e-9), (name, points[name]["iteration_s"])
            drawn = lambda parts: [sum(time * factor(spread, k, d) * (factor((1.03, 1.1), own, d) if sent else 1) for time, spread, k, sent in parts) for d in range(1000)]
            draws[name], few = drawn(parts), drawn([(2 * alpha, *parts[0][1:]), (M / 1.25e9, *parts[1][1:]), parts[2]])  # of two ranks, by either
            sent = [all_ - own_ for all_, own_ in zip(draws[name], passing)]
            for field, values in (("iteration%s_s", draws[name]), ("compute%s_s", passing), ("stall%s_s", sent), ("communication%s_s", sent), ("split%s_s", [0] * 1000), ("hidden%s", [0] * 1000),
                                  ("tokens_per_s%s", [P * 100 / x for x in draws[name]]), ("scaling%s", [a / b for a, b in zip(few, draws[name])])):
                at = sorted(values)
                assert all(close(points[name][field % end], at[k], 1e-9) for end, k in (("_low", 50), ("_high", 949))), (name, field, points[name], at[50], at[949])
            told[name] = sorted(all_ / own_ for all_, own_ in zip(draws[name], passing))
        best = [min(draws, key=lambda name: draws[name][d]) for d in range(1000)]
        assert all(points[name]["wins"] == best.count(name) / 1000 for name in forms), [(p["wins"], best.count(n)) for n, p in points.items()]
        ahead = sorted(a / b for a, b in zip(draws["ring"], draws["rabenseifner"]))
        assert close(points["rabenseifner"]["speedup_low"], ahead[50], 1e-9) and close(points["rabenseifner"]["speedup_high"], ahead[949], 1e-9)
        assert points["ring"]["speedup_low"] == points["ring"]["speedup_high"] == 1
        decided.add(max(p["wins"] for p in points.values()) >= 0.95)
        sure = [p for p in results(folder, scenario, "--certain") if p["ranks"] == P]
        fastest = min(points.values(), key=lambda p: p["iteration_s"])
        [helped] = [p.pop("would_help") for p in points.values() if "would_help" in p]
        [help] = [h for h in helped if h["what"] == "with links that take no time"]
        at = told[fastest["system"]]
        assert close(help["speedup"], fastest["iteration_s"] / 9e-3) and close(help["speedup_low"], at[50], 1e-9) and close(help["speedup_high"], at[949], 1e-9), (help, at[50])
        assert close(help["iteration_low_s"], sorted(passing)[50], 1e-9)
        assert all(set(h) == {"what", "iteration_s", "speedup"} for p in sure for h in p.pop("would_help", [])), sure
        assert sure == [{k: v for k, v in p.items() if not re.search("_(low|high)(_s)?$|^wins$", k)} for p in points.values()]
    assert decided == {False, True}


@test
def few_iterations_widen_their_mean(folder):
    """Of two, Student's t with one degree of freedom is 6.31 at 0.95; a trace that is played again tells nothing more."""
    tensor, _ = read_trace(BIBLE)
    quick = {**scenario_of(tensor, BIBLE, "zen", "fifo", 8), "cluster": {"name": "c", "latency": "1us", "bandwidth": "1MB/s"}}
    short, dice = folder / "short.safetensors", random.Random(5)
    of_two = traces.tensor("embedding", tensor["rows"], tensor["row_width"])
    traces.write(short, [(of_two, [[dice.randrange(tensor["rows"]) for _ in range(n)] for n in 8 * [300] + 8 * [400]])], 8)
    for trace, iterations in ((BIBLE, 52), (BIBLE, 100), (BIBLE, 150), (short, 8)):
        (point,) = results(folder, {**quick, "trace": str(trace), "iterations": iterations}, "--device", "none")
        ends = point["ends_s"][point["warmup"] - 1:]
        times = [b - a for a, b in zip(ends, ends[1:])]
        deviation = statistics.stdev(times)
        differ, t = {2: (2, 6.3138), 50: (50, 1.6766), 100: (50, 1.6766), 4: (2, 6.3138)}[len(times)]  # the traces have 50, and 2
        off = t * deviation / math.sqrt(differ) / point["iteration_s"]
        width = math.log(point["iteration_high_s"] / point["iteration_low_s"]) / 2
        assert abs(width / math.hypot(off, math.log(1.1)) - 1) < 0.1, (off, width)  # the model, and next to nothing of passes
        assert (off > 0.2) == (differ == 2), (off, times)


@test
def kernels_and_links_inside_nodes_have_their_parts(folder):
    """Ranges widen with each number that is not certain, and where a trace feeds tables; processes that share the work say the same."""
    base = {**LM, "ranks": [8]}
    for more in ((), ("--set", "cluster.source.intra=given"), ("--set", "cluster.source.bandwidth=given", "--set", "cluster.source.latency=given", "--set", "cluster.source.intra=given")):
        points = results(folder, base, "--device", "none", *more)
        width = [math.log(p["iteration_high_s"] / p["iteration_low_s"]) for p in points]
        assert all(p["iteration_low_s"] < p["iteration_s"] < p["iteration_high_s"] for p in points) and abs(sum(p["wins"] for p in points) - 1) < 1e-9
        assert not more or all(a <= b + 0.02 for a, b in zip(width, last)), (more, width, last)
        last = width


@test
def dense_tasks_take_the_fastest_way_as_run_does(folder):
    """Each bucket its own: what `run` calls the dense baseline of a tensor of that size. Who names an option keeps to it."""
    cluster = {"name": "nodes", "latency": "20us", "bandwidth": "10Gbps", "gpus_per_node": 4, "nic": "per-node",
               "intra": {"latency": "1us", "bandwidth": "50GB/s"}}
    sizes = [400, 40_000, 4_000_000]
    workload = {"name": "dense", "modules": [{"name": f"m{n}", "kind": "dense", "bytes": n} for n in sizes]}
    schemes = {"any": "allreduce", "rings": {"name": "allreduce", "algorithm": "ring"}, "leaders": {"name": "allreduce", "hierarchy": "leader"}}
    systems = [{"name": name, "sparse": "allreduce", "dense": scheme, "schedule": "fifo"} for name, scheme in schemes.items()]
    scenario = {"workload": workload, "systems": systems, "cluster": cluster, "ranks": [8, 10]}
    chosen = set()
    for point in results(folder, scenario):
        assert len(point["tasks"]) == len(sizes)
        for task, size in zip(sorted(point["tasks"], key=lambda task: task["bytes_total"]), sizes):
            if point["system"] != "any":
                assert "algorithm" not in task
                continue
            out = ask("run", "--cluster", write(folder, "cluster.json", cluster), "--scheme", "allreduce", "--ranks", point["ranks"], "--no-verify",
                      "--set", f'trace={{"uniform": {{"rows": {size // 4}, "row_width": 1, "density": "1/2"}}}}', "--format", "json").stdout
            [found] = json.loads(out)["points"]
            assert close(task["time_s"], found["dense_s"]) and task["algorithm"] == found["dense"], (task, found["dense_s"], found["dense"])
            chosen.add(task["algorithm"])
    assert len(chosen) > 1, chosen
    assert '\nall-reduce as a library would take it: "' in train(folder, scenario).stdout


@test
def a_part_of_a_large_selected_tensor_takes_as_long(folder):
    """8 ranks simulate 2^16 entries of a tensor: one of four times as many takes four times the bytes' time."""
    def run(entries, k):
        workload = {"name": "large", "modules": [{"name": "a", "kind": "dense", "bytes": 4 * entries}]}
        system = {"name": "s", "sparse": "allgather", "dense": {"name": "allgather"}, "select": {"k": k}, "schedule": "fifo"}
        [point] = results(folder, {"workload": workload, "systems": [system], "cluster": FLAT, "ranks": [8]})
        return point
    small, large = run(1 << 16, 4096), run(1 << 18, 4 * 4096)
    assert small["sampled"] == 1 and large["sampled"] == 4
    assert close(small["tasks"][0]["time_s"], 7 * (10e-6 + 4096 * 8 / 1.25e9))
    assert close(large["tasks"][0]["time_s"], 7 * (10e-6 + 4 * 4096 * 8 / 1.25e9))
    assert large["bytes_total"] == 4 * small["bytes_total"]
    # a fraction of an entry is rounded: 4096.5 are 4097, 4096.25 are 4096
    for k, selected in ((4 * 4096 + 2, 4097), (4 * 4096 + 1, 4096)):
        assert close(run(1 << 18, k)["tasks"][0]["time_s"], 7 * (10e-6 + 4 * selected * 8 / 1.25e9)), k


# --- what is printed ----------------------------------------------------------------------------------------------------

LM = {"workload": "embrace-lm-rtx3090", "systems": ["horovod-allreduce", "horovod-allgather", "embrace"], "cluster": "rtx3090-100g-ib",
      "ranks": [4, 16]}


@test
def a_rank_holds_parameters_gradients_and_tasks(folder):
    """Sums by hand: a dense module and a table of one iteration's rows, with and without channels of their own."""
    rows, width, ranks, dense = 50, 8, 4, 4 * 1000
    draw = random.Random(5)
    lists = [[sorted(draw.sample(range(rows), draw.randint(1, 20))) for _ in range(ranks)]]
    trace = str(folder / "t.safetensors")
    write_trace(folder / "t.safetensors", traces.tensor("t", rows, width), lists)
    table_bytes, x = rows * width * 4, [len(ids) * (width * 4 + 4) for ids in lists[0]]
    fetched = [len(ids) * 3 * width // ranks * 4 for ids in lists[0]]
    pushed = [(sum(map(len, lists[0])) - len(ids)) * (width // ranks * 4 + 4) for ids in lists[0]]
    ring, k = dense // ranks, 30
    alone = {"allgather": max(x) + max(ring, max(sum(x) - one for one in x)),
             "allreduce": table_bytes + max(ring, -(-rows // ranks) * width * 4),
             "alltoall": max(x) + max(ring, *fetched, *pushed)}
    # two groups of two ranks, half of the columns each: a partner's lookups and gradients, then half of the piece as a buffer
    half = width // 2 * 4
    alone["replicas"] = max(x) + max(ring, *(len(ids) * half for ids in lists[0]), *(len(ids) * (half + 4) for ids in lists[0]), rows // 2 * half)
    for states in (0, 2):
        workload = {"name": "w", "optimizer_states": states, "modules": [
            {"name": "d", "kind": "dense", "bytes": dense}, {"name": "e", "kind": "embedding", "rows": rows, "row_width": width, "tensor": "t"}]}
        scenario = {"trace": trace, "cluster": FLAT, "ranks": ranks, "workload": workload,
                    "systems": [{"name": s, "sparse": {"name": s, "group": 2} if s == "replicas" else s, "dense": {"name": "allreduce", "algorithm": "ring"}, "schedule": "fifo"} for s in alone]}
        for point in results(folder, scenario):
            parameters = dense + table_bytes / {"alltoall": ranks, "replicas": 2}.get(point["system"], 1)
            wanted = parameters * (1 + states) + dense + alone[point["system"]]
            assert point["peak_bytes"] == wanted and point["device_memory_bytes"] is None, (point["system"], point["peak_bytes"], wanted)
    two = [{"name": "two", "sparse": "allgather", "dense": {"name": "allreduce", "algorithm": "ring"}, "schedule": "fifo",
            "channels": [["dense"], ["lookups", "gradient"]]}]
    [point] = results(folder, {**scenario, "systems": two})
    assert point["peak_bytes"] == 3 * (dense + table_bytes) + dense + max(x) + ring + max(sum(x) - one for one in x), point["peak_bytes"]
    served = [{"name": "ps", "sparse": {"name": "ps", "servers": 2}, "dense": {"name": "allreduce", "algorithm": "ring"}, "schedule": "fifo"}]
    [point], path = results(folder, {**scenario, "systems": served}), folder / "run.json"
    path.write_text(json.dumps({"trace": trace, "cluster": FLAT, "ranks": [ranks], "schemes": [{"name": "ps", "servers": 2}]}))
    [run] = json.loads(ask("run", path, "--format", "json").stdout)["points"]
    assert point["server_peak_bytes"] == run["server_peak_bytes"] > 0, (point["server_peak_bytes"], run["server_peak_bytes"])
    select = [{"name": "topka", "sparse": "allgather", "dense": {"name": "topka", "k": k}, "schedule": "fifo"}]
    [point] = results(folder, {**scenario, "systems": select})
    besides = max(k * 8 * ranks, max(sum(x) - one for one in x))
    assert point["peak_bytes"] == 3 * (dense + table_bytes) + 2 * dense + max(x) + besides, point["peak_bytes"]
    device = {"name": "d", "memory_bandwidth": "1TB/s", "efficiency": 1, "launch": 0, "memory_size": point["peak_bytes"] - 1}
    said = train(folder, {**scenario, "systems": select, "device": device}).stdout
    assert "Does not fit into" in said and "topka (" in said, said


@test
def the_table_answers_in_words(folder):
    drawn = train(folder, LM, "--device", "none").stdout
    assert re.search(r"\n4 ranks: \S+ (\(needs model parallelism\) )?is fastest in \d+ of 100 draws, \S+ \S+ \(\S+ \S+ to \S+ \S+\); \S+ (\(needs model parallelism\) )?takes \S+ to \S+ times as long\. "
                     r"Of an iteration \S+ \S+ \(\S+ \S+ to \S+ \S+\) stall\.\n", drawn) and "iteration (90%)" in drawn and "fastest in" in drawn, drawn[:3000]
    text = train(folder, LM, "--device", "none", "--certain").stdout
    assert "90%" not in text and "draws" not in text, text
    assert re.search(r"\n16 ranks: \S+ (\(needs model parallelism\) )?is fastest, \S+ \S+; \S+ (\(needs model parallelism\) )?takes \S+ times as long\. "
                     r"Of an iteration \S+ \S+ stall\.\n", text), text[:3000]
    for part in ("Critical path, as numbers are given: ", "vs best *", "horovod-allgather *", "kernels and Algorithm 1 not counted (--device NAME counts them)",
                 ": estimated: "):
        assert part in text, f"{part!r} is not in {text[:3000]}"
    assert re.search(r"  Of the time of \S.*, bytes on \S.* alone take \d+%", text), text[:3000]
    for shares in (paths := re.findall(r"as numbers are given: (.*%) communication;", text)):
        assert 98 <= sum(map(int, re.findall(r"(\d+)%", shares))) <= 102 and "software" not in shares, f"nobody here has software: {shares}"
    assert paths
    one = train(folder, {**LM, "ranks": [1]}, "--device", "quick", "--certain").stdout
    assert "vs best *" in one and "scaling" not in one, "one number of ranks"
    alone = train(folder, {**LM, "systems": LM["systems"][:1]}, "--device", "none").stdout
    assert "scaling (90%)" in alone and not any(word in alone for word in ("vs best", "fastest in")), alone[:3000]
    assert max(map(len, drawn.split("--wide")[0].split("system  ")[1].splitlines()[:4])) <= 120, drawn
    assert "\n1 rank: " in one and "kernels and Algorithm 1 as on quick (estimated; --device none leaves them out)\n" in one, one[:3000]


@test
def systems_that_are_dense_inside_a_node_say_so(folder):
    """Two ranks on one node of two, and four on two: only there anything sparse is sent."""
    systems = [{"name": n, "sparse": {"name": n, "hierarchy": "shard"}, "dense": "allreduce", "schedule": "fifo"} for n in ("zen", "sparcml-rd")]
    systems += [{"name": n, "sparse": n, "dense": "allreduce", "schedule": "fifo"} for n in ("allgather", "allreduce")]
    scenario = {**with_modules(table(), dense("d")), "systems": systems, "cluster": {**FLAT, "gpus_per_node": 2}, "ranks": [2, 4]}
    said = "All 2 ranks are in one node, where zen, sparcml-rd send tables densely"
    text = train(folder, scenario).stdout
    assert said in text and "All 4" not in text, text
    points = results(folder, scenario)
    assert [(p["system"], p["ranks"]) for p in points if p["all_dense"]] == [("zen", 2), ("sparcml-rd", 2)]
    times = {(p["system"], p["ranks"]): p["iteration_s"] for p in points}
    assert times["zen", 2] == times["sparcml-rd", 2] and times["zen", 4] != times["sparcml-rd", 4]
    assert "in one node" not in train(folder, {**scenario, "cluster": FLAT, "systems": systems[2:]}).stdout


@test
def rows_alone_move_inside_nodes(folder):
    """A twentieth of LM's rows is looked up: sums of whole tables inside nodes cost more than ZEN saves between them, sums of rows do not."""
    own = json.loads((ROOT / "models" / "systems" / "embrace-zen.json").read_text())
    systems = [own] + [{**own, "name": kind, "sparse": {"name": "zen", "hierarchy": kind}} for kind in ("none", "shard")]
    points = results(folder, {"workloads": ["embrace-lm-rtx3090"], "systems": systems, "cluster": "rtx3090-100g-ib", "ranks": [16], "certain": True})
    time, sent = ({p["system"]: p[key] for p in points} for key in ("iteration_s", "bytes_total"))
    assert time["embrace-zen"] < time["none"] < time["shard"] / 5, time
    assert sent["embrace-zen"] < 1.05 * sent["none"] < sent["shard"] / 20, sent


@test
def speedups_are_over_the_best_baseline(folder):
    points = results(folder, LM)
    tokens = json.loads((ROOT / "models" / "workloads" / "embrace-lm-rtx3090.json").read_text())["tokens"]
    for ranks in (4, 16):
        mean = {p["system"]: p["iteration_s"] for p in points if p["ranks"] == ranks}
        best = min(mean["horovod-allreduce"], mean["horovod-allgather"])
        for p in points:
            if p["ranks"] == ranks:
                assert close(p["speedup"], best / mean[p["system"]])
                assert close(p["tokens_per_s"], tokens * ranks / p["iteration_s"])
                assert close(p["scaling"], next(q["iteration_s"] for q in points if q["system"] == p["system"] and q["ranks"] == 4) / p["iteration_s"])
    points = results(folder, {**LM, "baselines": ["embrace"]})
    assert all(p["speedup"] == 1 for p in points if p["system"] == "embrace")


@test
def one_rank_sends_nothing(folder):
    shipped = ask("train", "--workload", "zen-lstm", "--cluster", "h100-8x8-400g", "--ranks", "1", "--system", "horovod-allreduce,embrace", "--format", "json")
    assert [point["stall_s"] for point in json.loads(shipped.stdout)["training"]] == [0, 0]  # a difference of equal sums
    for point in results(folder, {**LM, "ranks": [1]}):
        assert point["tasks"] == [] and point["stall_s"] <= 1e-12 and point["hidden"] is None and point["bytes_total"] == 0


@test
def parts_of_a_path_that_last_alike_are_in_order(folder):
    """Backward passes before forward passes, each in the order of the workload; seconds are exact in binary."""
    names = ["c", "a", "e", "b", "d"]
    modules = [{"name": name, "kind": "dense", "bytes": 0, "forward_s": 2.0 ** -10, "backward_s": 2.0 ** -10} for name in names]
    scenario = {"workload": {"name": "w", "modules": modules}, "cluster": FLAT, "device": "none", "ranks": [2], "systems": ["ddp"], "certain": True}
    path = results(folder, scenario)[0]["critical_path"]
    assert [p["what"] for p in path] == [f"{kind} of {name}" for kind in ("backward", "forward") for name in names], path
    assert all(p["time_s"] == 2.0 ** -10 for p in path)


@test
def timelines_open_in_perfetto(folder):
    path = folder / "timeline.json"
    train(folder, {**LM, "systems": ["embrace"], "ranks": [4]}, "--timeline", path)
    events = json.loads(path.read_text())["traceEvents"]
    complete = [e for e in events if e["ph"] == "X"]
    threads = {e["args"]["name"]: e["tid"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    assert set(threads) == {"compute (all ranks alike)", "communication"}
    for e in complete:
        assert e["ts"] >= 0 and e["dur"] >= 0 and e["name"] and e["pid"] == 1
    tasks = [e for e in complete if e["tid"] == threads["communication"]]
    assert {e["args"]["kind"] for e in tasks} == {"gradient", "lookups", "prior", "delayed"}
    assert all({"bytes", "priority", "iteration"} <= set(e["args"]) for e in tasks)
    for thread in threads.values():  # one thing at a time
        spans = sorted((e["ts"], e["dur"]) for e in complete if e["tid"] == thread)
        for (a, lasts), (b, _) in zip(spans, spans[1:]):
            assert a + lasts <= b + 1e-6, (a, lasts, b)


@test
def the_last_iteration_is_drawn(folder):
    if not shutil.which("gnuplot"):
        raise tap.Skip("gnuplot is not installed")
    for ending, begin in (("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF")):
        path = folder / f"gantt.{ending}"
        train(folder, {**LM, "workload": hostile_names()}, "--gantt", path)
        assert path.read_bytes().startswith(begin), ending
    text = (folder / "gantt.svg").read_text()
    for name in ("embrace", "horovod-allgather", "16 ranks", "looked-up rows", "bl`touch pwned`"):
        assert name in text, name
    assert not list(folder.glob("pwned*")) and not (ROOT / "pwned").exists()
    assert "does not end in .svg" in train(folder, LM, "--gantt", folder / "gantt.jpg", status=2).stderr
    bare = subprocess.run([PROGRAM, "train", tap.write_json(folder, LM), "--gantt", folder / "g.svg"], capture_output=True, text=True, check=False,
                          cwd=ROOT, timeout=tap.HANG, env={**ENVIRONMENT, "PATH": str(folder)})
    assert bare.returncode == 3 and "gnuplot is not on the PATH" in bare.stderr and bare.stdout == train(folder, LM).stdout, "no picture, all results"


def hostile_names():
    return {"name": "it's \"odd\"", "modules": [{"name": "bl`touch pwned`", "kind": "dense", "bytes": "40MB", "forward_s": "20ms", "backward_s": "40ms"},
                                                {"name": "t\"\\'\n", "kind": "embedding", "rows": 1000, "row_width": 64, "forward_s": "9ms",
                                                 "counts": {"lookups": 900, "coalesced": 800, "prior": 70}}]}


@test
def results_do_not_depend_on_threads(folder):
    one, two = (train(folder, {**LM, "jitter": {"lognormal": 0.2}}, "--format", "json", "--jobs", n).stdout for n in (1, 2))
    assert one == two


@test
def sensitivity_names_the_fastest(folder):
    points = json.loads(train(folder, LM, "--format", "json", "--sensitivity").stdout)["training"]
    for point in points:
        assert [f["compute"] for f in point["fastest"]] == [0.5, 1, 2]
    half = results(folder, {**LM, "compute": 0.5})
    for ranks in (4, 16):
        best = min((p for p in half if p["ranks"] == ranks), key=lambda p: p["iteration_s"])["system"]
        assert all(p["fastest"][0]["system"] == best for p in points if p["ranks"] == ranks)


# --- wrong input --------------------------------------------------------------------------------------------------------

@test
def factors_scale_what_is_estimated(folder):
    """Each factor against the same change made by hand."""
    cluster = {"name": "c", "latency": 1e-5, "bandwidth": 1e9, "gpus_per_node": 2, "intra": {"latency": 3e-6, "bandwidth": 5e7}}
    device = {"name": "d", "memory_bandwidth": 1e12, "efficiency": 0.5, "launch": 1e-5}
    modules = [{"name": "t", "kind": "embedding", "rows": 500, "row_width": 16, "counts": {"lookups": 90, "coalesced": 60, "prior": 20}, "forward_s": 0.001, "backward_s": 0.002},
               {"name": "z", "kind": "embedding", "rows": 500, "row_width": 16, "synth": {"lookups": 80, "hot": 0.4, "hot_rows": 40}, "forward_s": 0.001, "backward_s": 0.002},
               {"name": "b", "kind": "dense", "bytes": 400000, "forward_s": 0.004, "backward_s": 0.007, "after": ["t", "z"]},
               {"name": "a", "kind": "dense", "bytes": 600000, "forward_s": 0.004, "backward_s": 0.007, "after": ["b"]}]
    base = {"workload": {"name": "w", "modules": modules}, "cluster": cluster, "device": device, "ranks": 4, "iterations": 20,
            "systems": [{"name": "two", "sparse": "alltoall", "dense": "allreduce", "schedule": "2d"},
                        {"name": "guess", "sparse": "zen", "dense": "allreduce", "schedule": "fifo", "bucket": 500000, "source": {"bucket": "estimated: a guess"}},
                        {"name": "known", "sparse": "zen", "dense": "allreduce", "schedule": "fifo", "bucket": 500000, "source": {"bucket": "its default"}}]}

    def by_hand(change):
        other = json.loads(json.dumps(base))
        change(other)
        return other

    def compute(s):
        for module in s["workload"]["modules"]:
            module["forward_s"] *= 2
            module["backward_s"] *= 2

    changes = {"compute": compute,
               "latency": lambda s: (s["cluster"].update(latency=2e-5), s["cluster"]["intra"].update(latency=6e-6)),
               "intra_bandwidth": lambda s: s["cluster"]["intra"].update(bandwidth=1e8),
               "kernels": lambda s: s["device"].update(memory_bandwidth=2e12, launch=5e-6),
               "lookups": lambda s: (s["workload"]["modules"][0]["counts"].update(lookups=180, coalesced=120, prior=40), s["workload"]["modules"][1]["synth"].update(lookups=160)),
               "prior": lambda s: s["workload"]["modules"][0]["counts"].update(prior=40),
               "skew": lambda s: s["workload"]["modules"][1]["synth"].update(zipf=2, hot_rows=20),
               "buckets": lambda s: s["systems"][1].update(bucket=1000000)}
    plain = [p["iteration_s"] for p in results(folder, base)]
    for name, change in changes.items():
        document = json.loads(train(folder, base, "--set", f"scale.{name}=2", "--format", "json").stdout)
        assert document["scale"] == {name: 2}
        found, expected = [p["iteration_s"] for p in document["training"]], [p["iteration_s"] for p in results(folder, by_hand(change))]
        assert all_close(found, expected), f"{name}: {found}, not {expected}"
        assert found != plain, f"{name} changes nothing"
    assert "scaled     latency, by 2" in train(folder, base, "--set", "scale.latency=2").stdout
    most = json.loads(train(folder, base, "--set", "scale.lookups=100", "--format", "json").stdout)
    assert all_close([p["iteration_s"] for p in most["training"]], [p["iteration_s"] for p in results(folder, by_hand(
        lambda s: (s["workload"]["modules"][0]["counts"].update(lookups=9000, coalesced=500, prior=500), s["workload"]["modules"][1]["synth"].update(lookups=8000))))])
    for scale, where in (({"latncy": 2}, "scale"), ({"latency": 0}, "scale.latency"), ({"latency": 1e9}, "scale.latency"), ([], "scale")):
        assert where in train(folder, {**base, "scale": scale}, status=2).stderr
    assert "scale.kernels" in train(folder, {**{k: v for k, v in base.items() if k != "device"}, "scale": {"kernels": 2}}, status=2).stderr


@test
def spans_cover_the_last_iteration(folder):
    """One module: it computes backward, sends, computes forward, and no second is left out."""
    scenario = {"workload": {"name": "w", "modules": [{"name": "all", "kind": "dense", "bytes": 4096, "forward_s": 0.25, "backward_s": 0.5}]},
                "systems": [{"name": "ring", "sparse": "allreduce", "dense": "allreduce", "schedule": "fifo"}], "cluster": FLAT, "ranks": 2, "iterations": 8}
    point = results(folder, scenario)[0]
    spans = sorted(point["spans"], key=lambda s: s["start_s"])
    assert [(s["lane"], s["kind"], s["name"]) for s in spans] == [("compute", "backward", "all"), ("channel", "dense gradients", "all"), ("compute", "forward", "all")]
    ends = [s["end_s"] for s in spans]
    assert all_close(ends, [0.5, point["iteration_s"] - 0.25, point["iteration_s"]]) and all_close([s["start_s"] for s in spans][1:], ends[:-1])
    assert "spans" not in json.loads(train(folder, scenario, "--format", "json").stdout)["training"][0]


def dense(name, **fields):
    return {"name": name, "kind": "dense", "bytes": 4, **fields}


def table(name="t", **fields):
    return {"name": name, "kind": "embedding", "rows": 100, "row_width": 4, "counts": {"lookups": 9, "coalesced": 8, "prior": 7}, **fields}


def with_modules(*modules, **fields):
    return {"workload": {"name": "w", "modules": list(modules), **fields}, "systems": ["embrace"], "cluster": FLAT, "ranks": [2]}


def with_system(**fields):
    return {**with_modules(table(), dense("d")), "systems": [{"name": "s", "sparse": "alltoall", "dense": "allreduce", "schedule": "fifo", **fields}]}


def fed(module, trace=BIBLE, **fields):
    plain = {k: v for k, v in table().items() if k != "counts"}
    return {**with_modules({**plain, "rows": 12546, **module}), "trace": trace, **fields}


WRONG = [
    (with_modules(dense("a", after=["b"]), dense("b", after=["c"]), dense("c", after=["a"])), '"after" has a cycle: a after b after c after a'),
    (with_modules(dense("a", after=["a"])), '"after" has a cycle: a after a'),
    (with_modules(dense("x"), dense("a", after=["x", "b"]), dense("b", after=["a"])), "has a cycle: b after a after b"),
    (with_modules(dense("encoder"), dense("b", after=["encodr"])), 'modules[1].after[0]: no module is called "encodr" (did you mean "encoder"?)'),
    (with_modules(dense("a"), dense("a")), 'two modules are called "a"'),
    (with_modules({"name": "a", "kind": "dense", "bytes": 6}), "modules[0].bytes: 6 bytes are not a whole number of F32 elements"),
    (with_modules(table(after=["t"])), "an embedding looks up ids"),
    (with_modules(table(counts={"lookups": 9, "coalesced": 8, "prior": 9})), '9 prior rows, but only 8 rows ("coalesced")'),
    (with_modules(table(counts={"lookups": 900, "coalesced": 101, "prior": 9})), "101 distinct rows of a table of 100"),
    (with_modules(table(counts={"lookups": 7, "coalesced": 8, "prior": 7})), "8 distinct rows in 7 lookups"),
    (with_modules(table(counts={"lookups": 90, "coalesced": 80, "prior": 7, "overlap": "none"})), "none shared, need more than 100 rows"),
    (with_modules(table(bytes=4)), "100 rows of 4 elements of 4 bytes are 1600 bytes, not 4"),
    (with_modules(table(tensor="x")), 'one of "tensor" (of the trace), "synth" and "counts"'),
    (with_modules(table(rows=4294967295, row_width=4294967295)), "more than 2^53 bytes"),
    (fed({"tensor": "words"}), 'is fed by tensor "words", which'),
    (fed({"tensor": "embedding", "rows": 100}), "looks up 12546"),
    ({**with_modules(table()), "trace": BIBLE}, "the trace's tensor \"embedding\" feeds no module of w"),
    (fed({"tensor": "embedding"}, ranks=[32]), "32 ranks, but"),
    (fed({"tensor": "embedding"}, feeds={"u": "embedding"}), 'no embedding called "u"'),
    ({**fed({"tensor": "embedding"}), "trace": {"uniform": {"rows": 10, "density": 1}}}, "training takes looked-up rows"),
    (with_modules({k: v for k, v in table(tensor="x").items() if k != "counts"}), "and there is none (--trace FILE)"),
    (with_system(partition=4), 'only the schedule "priority" cuts tensors, not "fifo"'),
    (with_system(first_bucket=4), 'say "bucket" too'),
    (with_system(channels=[]), "expected a list of 1 to 8 channels"),
    (with_system(channels=[["dense"], []]), 'channels[1]: expected a list of what the channel carries'),
    (with_system(channels=[["dense"], ["dense"]]), 'channels[1][0]: "dense" has a channel already'),
    (with_system(channels=[["denze"]]), 'did you mean "dense"?'),
    (with_system(software={"cycle": 1e300}), "out of all proportion"),
    (with_system(software={"copy": 1e-308}), "out of all proportion"),
    (with_system(interference=-1), "interference: -1 is below zero"),
    (with_system(software={"copy": 0}), "software.copy: 0 is not above zero"),
    ({**with_system(channels=[["dense"], ["gradient"]]), "cluster": {**FLAT, "model": "alpha-beta"}}, "has several channels"),
    (with_system(schedule="2d", bucket=4), 'only the schedule "fifo" fuses tensors, not "2d"'),
    (with_system(schedule="2d", bucket=[["d"]]), 'only the schedule "fifo" fuses tensors, not "2d"'),
    (with_system(bucket=[]), "systems[0].bucket: expected bytes, or a list of 1 to 4096 lists of modules"),
    (with_system(bucket=[["d"], []]), "systems[0].bucket[1]: expected a list of names of modules"),
    (with_system(bucket=["d"]), "systems[0].bucket[0]: expected a list of names of modules"),
    (with_system(bucket=[["d"], ["e"]]), 'systems[0].bucket[1][0]: "e" is no module of w'),
    (with_system(bucket=[["d"], ["d"]]), 'systems[0].bucket[1][0]: "d" is in two lists (or twice in one) of w'),
    (with_system(bucket=[["d", "t"]]), 'systems[0].bucket[0][1]: "t" is a table whose rows go alone, in w'),
    (with_system(bucket=[["d", "t"]], sparse={"name": "ps", "dense": True}), 'systems[0].bucket[0][1]: "t" goes by another scheme'),
    ({**with_system(bucket=[["d", "n"]]), **{"workload": {"name": "w", "modules": [table(), dense("d"), dense("n", bytes=0)]}}}, '"n" has no gradient in w'),
    (with_system(bucket=[["d"] * 5000]), "5000 names: a workload has at most 4096 modules"),
    (with_system(schedule="2d", sparse="allreduce"), "allreduce sends every row"),
    (with_system(schedule="2d", sparse="s2"), "s2 is lossy"),
    (with_system(schedule="2d", sparse={"name": "allgather", "coalesce": False}), 'leave "coalesce" out'),
    (with_system(sparse={"name": "alltoall", "exchange": "lookups"}), "both exchanges are played"),
    (with_system(sparse={"name": "alltoall", "gather_ids": True}), "ids are prefetched"),
    (with_system(dense="alltoall"), "alltoall is for looked-up rows"),
    (with_system(select={"topk": "5%"}), "allreduce sends every element"),
    (with_system(dense="spardl", select={"topk": "5%"}), "spardl selects by itself"),
    (with_system(dense="zen", select={"topk": 2}), "2 is above 1"),
    (with_system(sparse="gtopk"), None),
    ({**with_system(sparse="gtopk"), "ranks": [3]}, "s at 3 ranks: "),
    ({**with_system(), "systems": ["embrase"]}, 'did you mean "embrace"'),
    ({**with_system(), "baselines": ["x"]}, 'no system of this scenario is called "x"'),
    ({**with_system(), "iterations": 4}, "4 iterations, of which the first 4 are warm-up"),
    ({**with_system(), "jitter": 0.1}, 'expected {"lognormal": 0.1}'),
    ({**with_system(), "ranks": [2, 2]}, "ranks: 2 is there twice"),
    ({k: v for k, v in with_system().items() if k != "ranks"}, 'say how many "ranks"'),
    ({k: v for k, v in with_system().items() if k != "cluster"}, "no cluster given"),
    ({k: v for k, v in with_system().items() if k != "workload"}, 'say which "workload" to train'),
    ({**with_system(schedule="priority", partition=4), "workload": {"name": "w", "modules": [dense("a", bytes="1GB")]}}, "more than 1048576 tasks"),
]


# --- beside the wire ---------------------------------------------------------------------------------------------------

def busy_system(**fields):
    return {"name": "busy", "sparse": "allgather", "dense": {"name": "allreduce", "algorithm": "ring"}, "schedule": "fifo", **fields}


def busy_scenario(*systems, ranks=(4,), **fields):
    modules = [{"name": "head", "kind": "dense", "bytes": 4000000, "forward_s": 0.001, "backward_s": 0.002},
               {"name": "table", "kind": "embedding", "rows": 4000, "row_width": 64, "synth": {"lookups": 900, "zipf": 1, "seed": 3},
                "forward_s": 0.0005, "backward_s": 0.001}]
    return {"workload": {"name": "two", "modules": modules}, "cluster": {**FLAT, "gpus_per_node": 2, "nics": 1}, "device": "none",
            "ranks": list(ranks), "systems": list(systems), "certain": True, "iterations": 16, **fields}


@test
def messages_cross_the_path_to_the_host(folder):
    """A ring of 4 ranks on 2 nodes: at each of 6 steps both ranks of a node send at once, over one path of 1.5 GB/s. Alone
    they have 0.75 GB/s each; with paths of their own the link's 1 GB/s. Each end adds its latency."""
    cluster = {"name": "c", "latency": "10us", "bandwidth": "1GB/s", "gpus_per_node": 2}
    module = {"name": "a", "kind": "dense", "bytes": 4000000, "forward_s": 0.001, "backward_s": 0.002}
    scenario = {"workload": {"name": "one", "modules": [module]}, "device": "none", "ranks": [4], "certain": True,
                "systems": [busy_system(staging="host")]}
    for shared, rate in ((2, 0.75e9), (1, 1e9)):
        host = {"latency": "5us", "bandwidth": "1.5GB/s", "shared": shared}
        [point] = results(folder, {**scenario, "cluster": {**cluster, "host": host}})
        expected = 6 * (10e-6 + 2 * 5e-6 + 1e6 / rate)
        assert close(point["tasks"][0]["time_s"], expected, 1e-9), (shared, point["tasks"][0]["time_s"], expected)
    path = {"host": {"latency": "5us", "bandwidth": "3GB/s"}}
    apart = busy_system(name="apart", staging="host", channels=[["dense"], ["gradient"]])
    both = busy_scenario(busy_system(staging="host"), apart)
    one, two = results(folder, {**both, "cluster": {**both["cluster"], **path}})
    assert one["communication_s"] > 0 and 0.5 * one["iteration_s"] < two["iteration_s"] < 1.5 * one["iteration_s"], (one, two)
    told = train(folder, {**scenario, "cluster": cluster})
    assert 'say how fast in the "host" of cluster c' in told.stderr, told.stderr


@test
def tables_alone_cross_the_path_to_the_host(folder):
    """What staging "tables" adds is what "host" adds to a table; dense gradients take what they take on the device."""
    dense = {"name": "a", "kind": "dense", "bytes": 4000000, "forward_s": 0.001, "backward_s": 0.002}
    cluster = {"name": "c", "latency": "10us", "bandwidth": "1GB/s", "gpus_per_node": 2, "host": {"latency": "5us", "bandwidth": "0.5GB/s"}}
    scenario = {"workload": {"name": "one", "modules": [dense, table()]}, "device": "none", "ranks": [4], "certain": True, "cluster": cluster}
    device, tables, host = ({task["modules"][0]: task["time_s"] for task in results(folder, {**scenario, "systems": [
        {**busy_system(staging=staging), "bucket": 0}]})[0]["tasks"]} for staging in ("device", "tables", "host"))
    assert device["a"] == tables["a"] < host["a"] and device["t"] < tables["t"] == host["t"], (device, tables, host)
    # at once, in channels of their own: over a host that takes no time as on the device, over a slow one longer
    apart = [busy_system(name=staging, staging=staging, channels=[["dense"], ["gradient"]]) for staging in ("device", "tables")]
    for speed, longer in (("1e6GB/s", 0), ("0.1GB/s", 0.001)):
        both = busy_scenario(*apart)
        one, two = results(folder, {**both, "cluster": {**both["cluster"], "host": {"latency": 0, "bandwidth": speed}}})
        assert one["iteration_s"] * (1 + longer) <= two["iteration_s"] * (1 + 1e-6) and (longer or close(one["iteration_s"], two["iteration_s"], 1e-6)), (one, two)


@test
def micro_batches_compute_and_send_nothing_more(folder):
    """Each further micro-batch adds its passes; the optimizer and the gradients stay one an iteration."""
    scenario = busy_scenario(busy_system())
    for module in scenario["workload"]["modules"]:
        module["optimizer_s"] = 0.00025
    [one] = results(folder, scenario)
    [four] = results(folder, {**scenario, "accumulation": 4})
    passes = 0.001 + 0.002 + 0.0005 + 0.001
    assert close(four["iteration_s"], one["iteration_s"] + 3 * passes, 1e-9), (one["iteration_s"], four["iteration_s"])
    assert close(one["step_s"], 0.0005, 1e-9) and close(four["step_s"], 0.0005, 1e-9)
    assert four["bytes_total"] == one["bytes_total"]


@test
def selecting_reads_the_whole_gradient(folder):
    """A system that selects is charged for it: at least one reading of the gradient through the device's memory."""
    system = {"name": "s", "sparse": {"name": "allgather"}, "dense": {"name": "allgather"}, "schedule": "fifo", "select": {"topk": "1%"}}
    scenario = {"workload": "embrace-gnmt-8-rtx3090", "cluster": "rtx3090-100g-ib", "ranks": 4, "systems": [system], "certain": True}
    rate = 936e9
    assert json.loads((ROOT / "models" / "devices" / "rtx3090.json").read_text())["memory_bandwidth"] == "936GB/s"
    sizes = {m["name"]: m["bytes"] for m in json.loads((ROOT / "models/workloads/embrace-gnmt-8-rtx3090.json").read_text())["modules"] if "bytes" in m}
    took = []
    for device in ("rtx3090", "none"):
        [point] = results(folder, {**scenario, "device": device})
        took.append({t["modules"][0]: t["time_s"] for t in point["tasks"] if t["kind"] == "gradient"})
    for name, size in sizes.items():
        assert took[0][name] - took[1][name] >= size / rate, name


@test
def spans_say_what_sharing_links_costs(folder):
    """Two channels over one card: both tasks are slowed, neither by more than the other's time; on one channel none is."""
    system = {"name": "s", "sparse": "allgather", "dense": "allreduce", "schedule": "fifo", "bucket": 1}
    modules = [{"name": name, "kind": "dense", "bytes": 4 << 20, "forward_s": 1e-6, "backward_s": 1e-6} for name in ("a", "b")]
    table = {"name": "t", "kind": "embedding", "rows": 10000, "row_width": 64, "synth": {"lookups": 9000, "zipf": 0.2, "seed": 1},
             "forward_s": 1e-6, "backward_s": 1e-6}
    scenario = {"workload": {"name": "w", "modules": [table, *modules]}, "cluster": FLAT, "ranks": 4, "certain": True}
    for channels in (None, [["dense"], ["gradient"]]):
        said = {**system, **({"channels": channels} if channels else {})}
        [point] = results(folder, {**scenario, "systems": [said]})
        tasks = [span for span in point["spans"] if span["lane"] == "channel"]
        slowed = {span["name"]: span["slowed_s"] for span in tasks}
        whole = sum(t["time_s"] for t in point["tasks"])
        assert tasks and all(0 <= s < whole for s in slowed.values()), slowed
        assert (slowed["t"] > 1e-5 and max(slowed["a"], slowed["b"]) > 1e-5) if channels else not any(slowed.values()), (channels, slowed)


@test
def what_would_help_is_what_happens_then(folder):
    costs = {"interference": 0.3, "software": {"call": "100us", "copy": "2GB/s", "step": "1ms", "step_per_byte": 1e-10}}
    scenario = {**busy_scenario(busy_system(**costs)), "certain": False}
    scenario["workload"]["modules"][0]["backward_s"] = 0.02
    scenario["workload"]["modules"][1].update(row_width=512, synth={"lookups": 3000, "zipf": 1, "seed": 3})
    [point] = results(folder, scenario)
    told, ranged = ({x["what"]: x[f"iteration_{end}"] for x in point["would_help"]} for end in ("s", "high_s"))
    changed = {"without interference": {**costs, "interference": 0}, "without software": {"interference": 0.3},
               "with a second channel, for rows": {**costs, "channels": [["dense"], ["gradient"]]}}
    for what, fields in changed.items():
        [then] = results(folder, {**scenario, "systems": [busy_system(**fields)]})
        assert what not in told or close(told[what], then["iteration_s"], 1e-9), (what, told[what], then["iteration_s"])
        # what few iterations leave open is the share of this point
        assert what not in told or close(ranged[what], then["iteration_high_s"], 1e-3), (what, ranged[what], then["iteration_high_s"])
        assert what in told or then["iteration_s"] > 0.99 * point["iteration_s"], what
    assert {"without interference", "without software"} <= set(told), told
    assert list(told.values()) == sorted(told.values()), told


@test
def halves_are_no_bound(folder):
    """One module, one task: passes and task follow each other. Where both take as long none bounds it, and both are said to."""
    module = {"name": "a", "kind": "dense", "bytes": 4000000, "forward_s": 0.001, "backward_s": 0.002}
    scenario = {"workload": {"name": "one", "modules": [module]}, "device": "none", "ranks": [4], "certain": True, "cluster": FLAT,
                "systems": [busy_system()]}
    [point] = results(folder, scenario)
    whole = point["tasks"][0]["time_s"]
    for times, bound, beside in ((1, "compute", "link"), (0.9, "link", "compute"), (0.5, "link", None), (2, "compute", None)):
        [point] = results(folder, {**scenario, "compute": times * whole / 0.003})
        assert close(point["path_compute"], times / (1 + times), 1e-6), (times, point["path_compute"])
        assert times == 1 or (point["bound"], point["bound_beside"]) == (bound, beside), (times, point["bound"], point["bound_beside"])
        assert {point["bound"], point["bound_beside"]} == {bound, beside}, times
        words = train(folder, {**scenario, "compute": times * whole / 0.003}).stdout
        assert (" take nearly as much each. " in words) == (beside is not None), words


@test
def what_bounds_an_iteration_is_named(folder):
    """Each of four costs made the largest in turn; without it, an iteration takes what it would without."""
    cluster = {"name": "c", "latency": "10us", "bandwidth": "1GB/s", "gpus_per_node": 1, "host": {"latency": "5us", "bandwidth": "10GB/s"}}
    slow_host = {**cluster, "host": {"latency": "5us", "bandwidth": "250MB/s"}}
    apart = {"channels": [["dense"], ["gradient"]]}
    cases = (("compute", 1, cluster, {}, "compute", None, None), ("software", 0.01, cluster, {"software": {"step": "60ms"}}, "software", "without software", {}),
             ("link", 0.01, cluster, {}, "a link", "with a second channel, for rows", apart),
             ("start-ups", 0.01, {**cluster, "latency": "20ms", "bandwidth": "1TB/s"}, {}, "start-ups", None, None),
             ("host path", 0.01, slow_host, {"staging": "host"}, "the host path", "without the copies through host memory", {}))
    for bound, passes, on, fields, words, what, instead in cases:
        scenario = busy_scenario(busy_system(**fields), compute=passes, cluster=on, device="t4")
        scenario["workload"]["modules"][0].update(backward_s=0.05)
        scenario["workload"]["modules"][1].update(row_width=512, synth={"lookups": 3000, "zipf": 1, "seed": 3})
        [point] = results(folder, scenario)
        shares = [point["path_" + name] for name in ("compute", "software", "communication")]
        assert point["bound"] == bound and close(sum(shares), 1, 1e-9), (bound, point["bound"], shares)
        assert max(shares) == shares[{"compute": 0, "software": 1}.get(bound, 2)], (bound, shares)
        assert f"Bound by {words}. " in train(folder, scenario).stdout, bound
        told = {x["what"]: x["iteration_s"] for x in point["would_help"]}
        if what:
            [then] = results(folder, {**scenario, "systems": [busy_system(**instead)]})
            assert close(told[what], then["iteration_s"], 1e-9), (bound, told, then["iteration_s"])


@test
def what_does_not_fit_is_never_the_fastest(folder):
    """The device has a byte less than the fastest system needs, and more than the next."""
    systems = [busy_system(name="cut", sparse="alltoall"), busy_system(name="gathered")]
    scenario = busy_scenario(*systems, ranks=(8,))
    scenario["workload"]["modules"][1].update(rows=400, forward_s=0, backward_s=0, synth={"lookups": 400, "zipf": 0.1, "seed": 3})
    first, second = sorted(results(folder, scenario), key=lambda p: p["iteration_s"])
    assert first["peak_bytes"] > second["peak_bytes"], (first["system"], first["peak_bytes"], second["peak_bytes"])
    device = {"name": "d", "memory_bandwidth": "1000TB/s", "efficiency": 1, "launch": 0, "memory_size": first["peak_bytes"] - 1}
    small = {**scenario, "device": device, "certain": False}
    told = train(folder, small).stdout
    assert f"8 ranks: {second['system']}{' (needs model parallelism)' if second['system'] == 'cut' else ''} takes" in told and f"memory: {first['system']} (" in told, told
    wins = {p["system"]: p["wins"] for p in results(folder, small)}
    assert wins == {first["system"]: 0, second["system"]: 1}, wins
    assert [p["system"] for p in results(folder, small) if p.get("would_help")] in ([], [second["system"]])
    neither = train(folder, {**small, "device": {**device, "memory_size": 1000}}).stdout
    assert re.search(f"8 ranks: {first['system']}", neither), neither


@test
def ranges_follow_steps(folder):
    """Where a cycle makes time go in steps, about 5 of 100 independent plays lie on either side of the range."""
    def factor(dice, half, most):
        u = 2 * dice.random() - 1
        size = math.log(half) * abs(u) / 0.5 if abs(u) < 0.5 else math.log(half) + math.log(most / half) * (abs(u) - 0.5) / 0.4
        return math.exp(math.copysign(size, u))

    modules = [{"name": name, "kind": "dense", "bytes": bytes, "forward_s": s, "backward_s": 2 * s}
               for name, bytes, s in (("a", 4000000, 0.001), ("b", 9000000, 0.002), ("c", 6000000, 0.0015), ("d", 2500000, 0.003))]
    source = {"latency": "estimated", "bandwidth": "estimated"}
    for fields in ({"software": {"cycle": "20ms"}}, {"software": {"cycle": "4ms"}, "schedule": "priority", "partition": 1000000}):
        def asked(latency, rate, compute, certain):
            cluster = {"name": "c", "latency": 20e-6 * latency, "bandwidth": 1.25e9 / rate, "gpus_per_node": 1, "source": source}
            scenario = {"workload": {"name": "w", "modules": modules}, "cluster": cluster, "device": "none", "ranks": [4], "iterations": 20,
                        "systems": [busy_system(**fields)], "compute": compute, "certain": certain}
            return results(folder, scenario)[0]
        told, dice, times = asked(1, 1, 1, False), random.Random(11), []
        for _ in range(50):
            own = factor(dice, 1.03, 1.1)
            times.append(asked(factor(dice, 1.33, 2) * own, factor(dice, 1.33, 2) * own, factor(dice, 1.1, 1.3), True)["iteration_s"])
        low, high = told["iteration_low_s"], told["iteration_high_s"]
        below, above = sum(t < low * (1 - 1e-9) for t in times), sum(t > high * (1 + 1e-9) for t in times)
        assert below <= 7 and above <= 7, (fields, low, high, below, above)  # of 50 at 5%, more are 1 in 200
        assert all(any(close(t, end, 1e-6) for t in times) for end in (low, high)), (fields, low, high, sorted(times))  # whole steps


@test
def steps_draw_a_window_only_where_nobody_knows_it(folder):
    """A server's card takes the longer the fewer messages are under way. One window that is given is in all plays; of one that is not, ranges reach
    from the other's to its own."""
    modules = [{"name": name, "kind": "dense", "bytes": size, "forward_s": 1e-4, "backward_s": 1e-4} for name, size in (("a", 4000000), ("b", 9000000))]
    found = {}
    for window in (1, 2, None):
        said = {} if window is None else {"window": window}
        cluster = {"name": "c", "latency": "20us", "bandwidth": "1.25GB/s", "gpus_per_node": 2, "nic": "per-node", "intra": {"latency": "4us", "bandwidth": "40GB/s"},
                   "source": {key: "measured" for key in ("latency", "bandwidth", "intra.latency", "intra.bandwidth", *said)}, **said}
        scenario = {"workload": {"name": "w", "modules": modules}, "cluster": cluster, "device": "none", "ranks": [4],
                    "systems": [busy_system(dense={"name": "ps"}, software={"cycle": "1us"})]}
        p, = results(folder, scenario)
        found[window] = p["iteration_low_s"], p["iteration_s"], p["iteration_high_s"]
        assert p["iteration_low_s"] < 0.9 * p["iteration_s"] < 1.1 * p["iteration_s"] < p["iteration_high_s"], (window, found[window])
    assert found[2][1] < 0.75 * found[1][1] == 0.75 * found[None][1], found
    assert close(found[None][0], found[2][0], 0.05) and close(found[None][2], found[1][2], 0.1), found


@test
def shared_kernels_wait_for_the_pass_under_way(folder):
    """Two ranks sum halves of `head` while the pass of `long` is under way, which hides it all; where kernels are shared, the
    sum waits for the pass, and with it the second half of the ring."""
    modules = [{"name": "long", "kind": "dense", "bytes": 0, "forward_s": 0.001, "backward_s": 0.05},
               {"name": "head", "kind": "dense", "bytes": 4000000, "forward_s": 0.001, "backward_s": 0.002}]
    cluster = {"name": "c", "latency": "10us", "bandwidth": "1GB/s", "gpus_per_node": 1}
    systems = [busy_system(name="own", kernels="own"), busy_system(name="shared", kernels="shared")]
    scenario = {"workload": {"name": "w", "modules": modules}, "cluster": cluster, "device": "t4", "ranks": [2], "systems": systems, "certain": True}
    own, shared = results(folder, scenario)
    step = 10e-6 + 2e6 / 1e9
    [kernel] = [task["time_s"] - 2 * step for task in own["tasks"]]
    assert kernel > 1e-6 and close(own["iteration_s"], 0.054, 1e-9), (kernel, own["iteration_s"])
    assert close(shared["iteration_s"], 0.054 + kernel + step, 1e-9), (shared["iteration_s"], kernel)
    told = {x["what"]: x["iteration_s"] for x in results(folder, {**scenario, "systems": systems[1:]})[0]["would_help"]}
    assert close(told["with kernels on a stream of their own"], own["iteration_s"], 1e-9), told
    own, shared = results(folder, {**scenario, "device": "none"})
    assert close(own["iteration_s"], shared["iteration_s"], 1e-9), "without kernels nothing is shared"
    assert "shared kernels" in train(folder, {**scenario, "cluster": {**cluster, "model": "alpha-beta"}}, status=2).stderr


@test
def systems_that_are_the_same_win_the_same_draws(folder):
    scenario = {**busy_scenario(busy_system(name="one"), busy_system(name="two"), busy_system(name="slow", interference=4)), "certain": False}
    scenario["workload"]["modules"][0]["backward_s"] = 0.02
    one, two, slow = results(folder, scenario)
    assert one["wins"] == two["wins"] > 0.5 > slow["wins"], (one["wins"], two["wins"], slow["wins"])
    assert " 0 of 100" not in train(folder, scenario).stdout


@test
def long_runs_of_channels_leave_out_what_repeats(folder):
    """Jitter too small to change a double makes every iteration be played."""
    systems = [busy_system(name="fifo", channels=[["dense"], ["gradient"]], interference=0.2),
               {"name": "2d", "sparse": "alltoall", "dense": "allreduce", "schedule": "2d", "channels": [["gradient", "prior", "delayed"], ["dense", "lookups"]]}]
    scenario = busy_scenario(*systems, iterations=301)
    jitter = {"lognormal": 1e-40, "seed": 1}
    played = results(folder, {**scenario, "jitter": jitter})
    for long, short in zip(played, results(folder, scenario)):
        for name in ("iteration_s", "iteration_max_s", "stall_s", "communication_s", "hidden", "step_s", "split_s"):
            assert close(long[name], short[name], 1e-8), (long["system"], name, long[name], short[name])
        assert all(close(a, b, 1e-9) for a, b in zip(long["ends_s"], short["ends_s"]))
    for system in systems:  # where and how long the last iteration's spans stand in a timeline; without jitter all ranks are one
        drawn = []
        for more in ({"jitter": jitter}, {}):
            train(folder, {**scenario, "systems": [system], **more}, "--timeline", folder / "t.json")
            spans = [e for e in json.loads((folder / "t.json").read_text())["traceEvents"] if e["ph"] == "X" and e["args"]["iteration"] == 300]
            drawn.append({(e["cat"], e["name"]): (e["ts"] - spans[0]["ts"], e["dur"]) for e in spans})
        assert drawn[0].keys() == drawn[1].keys() and len(drawn[0]) > 5, drawn
        for name, (at, lasts) in drawn[0].items():
            assert abs(at - drawn[1][name][0]) < 1e-3 and abs(lasts - drawn[1][name][1]) < 1e-3, (name, at, lasts, drawn[1][name])


@test
def a_path_goes_through_what_held_prior_rows(folder):
    """Delayed rows share a channel with dense gradients, and prior rows on another wait for them: the path's parts still add up to the time that
    passed."""
    for dense, forward in ((200000, 1e-5), (1000000, 1e-3)):
        modules = [{"name": "table", "kind": "embedding", "rows": 4000, "row_width": 64, "forward_s": forward, "backward_s": 1e-5,
                    "counts": {"lookups": 2000, "coalesced": 2000, "prior": 400, "overlap": "random"}},
                   {"name": "head", "kind": "dense", "bytes": dense, "forward_s": 1e-5, "backward_s": 1e-5, "after": ["table"]}]
        system = {"name": "2d", "sparse": "alltoall", "dense": "allreduce", "schedule": "2d", "channels": [["prior", "lookups"], ["dense", "delayed"]]}
        for iterations in range(6, 14):
            p, = results(folder, {**busy_scenario(system, iterations=iterations), "workload": {"name": "w", "modules": modules}})
            path = {part["what"]: part["time_s"] for part in p["critical_path"]}
            spent = p["ends_s"][-1] - p["ends_s"][-1 - p["warmup"]]
            assert min(path.get(f"{kind} of table", 0) for kind in ("delayed", "prior")) > 0 and close(sum(path.values()) * p["warmup"], spent, 1e-9), (path, spent)


@test
def a_lossy_winner_is_said_to_be_lossy_and_who_is_not(folder):
    """The sentence names the fastest of the lossless systems beside it, as the table has it."""
    module = {"name": "d", "kind": "dense", "bytes": 4_000_000, "forward_s": 0.001, "backward_s": 0.001}
    scenario = {"workload": {"name": "w", "modules": [module]}, "cluster": FLAT, "ranks": [4], "certain": True,
                "systems": ["spardl", "horovod-allreduce", "ddp"]}
    words = train(folder, scenario).stdout.split("\n\n")[1]
    best, *others = sorted(results(folder, scenario), key=lambda p: p["iteration_s"])
    first = others[0]
    assert best["system"] == "spardl", "the test shows nothing"
    assert f". spardl is lossy: it leaves out or estimates a part of the gradient; the fastest lossless system is {first['system']}, " in words, words
    lossless = train(folder, {**scenario, "systems": ["horovod-allreduce", "ddp"]}).stdout
    assert "lossy" not in lossless and "lossless" not in lossless, lossless
    alone = train(folder, {**scenario, "systems": ["spardl"]}).stdout
    assert "a part of the gradient. Of an iteration" in alone, alone


@test
def wrong_input_is_refused_in_words(folder):
    for scenario, message in WRONG:
        done = train(folder, scenario, status=0 if message is None else 2)
        if message is None:
            continue
        assert message in done.stderr, f"{message!r} is not in {done.stderr!r}"
        assert done.stdout == "" and done.stderr.count("\n") == 1, done.stderr


def no_edit_is_dropped(folder):
    base = with_system()
    write(folder, "other.json", {**base["workload"], "name": "other"})
    named = ["--workload", folder / "other.json"]
    train(folder, base, *named)  # in place of the scenario's
    for edits, says in ((["--set", "workload.nope=1"], "workload.nope"), ([*named, "--set", "workload.nope=1"], "leave one of the two out"),
                        ([*named, "--set", "workload.workers=1"], "leave one of the two out"), ([*named, "--set", "workloads[5].a=1"], "workloads"),
                        (["--system", "embrace", "--set", "systems.nope=1"], "systems"),
                        (["--set", "systems.0.nope=1"], "systems[0].nope"),
                        (["--set", "cluster.latency=1us", "--set", "cluster=polaris"], "cluster.latency would be undone by cluster"),
                        (["--set", "workload.summary=a", "--set", "workloads=[]"], "workload.summary would be undone by workloads")):
        done = train(folder, base, *edits, status=2)
        assert says in done.stderr and done.stdout == "", (edits, done.stderr)


sys.exit(tap.run())
# SPDX-License-Identifier: Apache-2.0
