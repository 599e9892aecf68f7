#!/usr/bin/python3
"""Captured trainings: predicted as they would be from their parts, held against what was measured, joined, refused. Arguments: the
program, the source tree. Prints TAP."""
import copy
import json
import math
import pathlib
import random
import statistics
import sys

import captures
import tap
from asking import ROOT, ask, fits, told
from tap import near, test, write_json


def capture(folder, said=None, seed=1, ranks=4, iterations=4, name="run.safetensors"):
    return captures.save(folder / name, captures.lookups(random.Random(seed), ranks, iterations), ranks, captures.training() if said is None else said)


def cluster(folder, **fields):
    return write_json(folder, captures.CLUSTER | fields, "cluster.json")


def answer(*arguments):
    return json.loads(told(*arguments, "--format", "json", "--quiet"))


@test
def a_capture_is_its_parts(folder):
    """The points are those of its trace under its workload and system, of run those of its trace."""
    dice = random.Random(7)
    for seed in range(4):
        said = captures.training(system=captures.system(schedule="fifo", bucket=dice.choice([0, "100kB", "25MiB"]), interference=dice.choice([0, 0.3])),
                                 accumulation=1 + seed % 3)
        run, links = capture(folder, said, seed), cluster(folder)
        plain = captures.save(folder / "plain.safetensors", captures.lookups(random.Random(seed), 4), 4, None)
        by_capture = answer("train", "--capture", run, "--cluster", links, "--system", "as-captured")["training"]
        workload, system = write_json(folder, said["workload"], "workload.json"), write_json(folder, said["system"], "system.json")
        by_parts = answer("train", "--trace", plain, "--workload", workload, "--system", system, "--cluster", links,
                          "--set", f"accumulation={said['accumulation']}")["training"]
        for a, b in zip(by_capture, by_parts, strict=True):
            a, b = ({k: v for k, v in p.items() if k not in ("trace", "baseline") and not k.startswith("speedup")} for p in (a, b))
            assert a == b, (seed, a, b)
        points = [answer("run", option, path, "--cluster", links, "--scheme", "allgather,zen", "--ranks", "2,4")["points"]
                  for option, path in (("--capture", run), ("--trace", plain))]
        for a, b in zip(*points, strict=True):
            a, b = ({k: v for k, v in p.items() if not k.startswith("trace") and not k.endswith("hash")} for p in (a, b))
            assert a == b, [(k, a[k], b[k]) for k in a if a[k] != b[k]]
    assert "allgather" in told("plan", "--capture", run, "--cluster", links)


@test
def measured_and_predicted(folder):
    """The median of the steps and their 5% and 95% quantiles, as statistics has them; the range holds them or does not."""
    said = captures.training()
    run, links = capture(folder, said), cluster(folder)
    for factor, holds in ((1, True), (0.5, False), (3, False)):
        own = captures.training(measured=said["measured"] | {"iteration_s": [factor * t for t in said["measured"]["iteration_s"]]})
        whole = answer("train", "--capture", capture(folder, own), "--cluster", links)
        fits("train", whole)
        judged, point = whole["capture"], whole["training"][0]
        times = own["measured"]["iteration_s"]
        twentieths = statistics.quantiles(times, n=20, method="inclusive")
        near(judged["measured_s"], statistics.median(times))
        near(judged["measured_low_s"], twentieths[0])
        near(judged["measured_high_s"], twentieths[-1])
        assert (judged["steps"], judged["run"], judged["ranks"]) == (len(times), captures.RUN, 4)
        assert (judged["predicted_s"], judged["predicted_low_s"], judged["predicted_high_s"]) == tuple(
            point[k] for k in ("iteration_s", "iteration_low_s", "iteration_high_s")) and point["system"] == judged["system"] == "as-captured"
        near(judged["off"], judged["predicted_s"] / judged["measured_s"] - 1)
        near(judged["predicted_quiet_s"], point["compute_s"] + point["step_s"])
        assert judged["holds"] == holds == (judged["predicted_low_s"] <= judged["measured_s"] <= judged["predicted_high_s"])
        assert all((f["time_s"] is not None) == holds for f in judged["fastest"])
        words = told("train", "--capture", run.with_name("run.safetensors"), "--cluster", links)
        assert ("The range does not hold it" in words) != holds
        assert f"{100 * judged['off']:+.0f}%." in words and "over 21 steps" in words and "not known: how long the optimizer takes" in words
    certain = answer("train", "--capture", run, "--cluster", links, "--certain")["capture"]
    assert certain["holds"] is None and certain["predicted_low_s"] is None


@test
def what_runs_has_one_name(folder):
    """The system that somebody offers and that is as captured is left out, unless it is named."""
    offer = {"offered": {"by": "DDP", "how": "as it runs", "url": "https://docs.pytorch.org"}}
    for rows, twin, other in (("allgather", "ddp-sparse", "ddp"), ("allreduce", "ddp", "ddp-sparse")):
        said = captures.training(system=captures.system(sparse={"name": rows}, dense={"name": "allreduce", "algorithm": "ring"}, schedule="fifo", **offer))
        run, links = capture(folder, said), cluster(folder)
        names = {p["system"] for p in answer("train", "--capture", run, "--cluster", links)["training"]}
        assert {"as-captured", other} < names and twin not in names, (rows, names)
        assert {p["system"] for p in answer("train", "--capture", run, "--cluster", links, "--system", twin)["training"]} == {"as-captured", twin}


@test
def no_draw_takes_less_than_computing(folder):
    """Where exchanges are wide, straight lines through them go below what nothing is sent for: passes, of which stall is the rest, and software."""
    whole = answer("train", "--capture", ROOT / "traces" / "clicks-4.safetensors", "--cluster", "p3dn.24xlarge-100g", "--ranks", "32")
    for p in whole["training"]:  # but for what a mean over few iterations is off
        assert p["stall_low_s"] >= 0.99 * p["step_s"] > 0 and p["iteration_low_s"] >= 0.99 * (p["compute_low_s"] + p["step_s"]), p["system"]
    wide = {p["system"]: p["iteration_high_s"] / p["iteration_low_s"] for p in whole["training"] if p["ranks"] == 32}
    assert wide["embrace"] > 5, "the case has exchanges that nobody measured"


@test
def ranks_share_cores(folder):
    """What is computed takes its share of a core: as captured where a node has as many ranks, else by ranks over cores; what is
    waited for stays."""
    links = cluster(folder, gpus_per_node=4, intra={"latency": "5us", "bandwidth": "50Gbps"})
    wide = write_json(folder, captures.CLUSTER | {"gpus_per_node": 8}, "wide.json")
    for busy, cores, nodes in ((1, 2, 4), (0.6, 2, 4), (0.6, 3, 4), (0.5, 8, 4), (0.6, 2, None)):
        said = captures.training(gpus_per_node=nodes, shared_cores={"ranks": 4, "cores": cores, "busy": busy})
        if nodes is None:
            del said["gpus_per_node"]
        plain = {k: v for k, v in said.items() if k != "shared_cores"}
        for on, counts in ((links, (1, 2, 4, 8)), (wide, (2, 4, 8))):
            run = [answer("train", "--capture", capture(folder, own, iterations=8), "--cluster", on, "--system", "as-captured", "--certain",
                          "--ranks", ",".join(map(str, counts)))["training"] for own in (said, plain)]
            for shared, alone in zip(*run, strict=True):
                here = min(shared["ranks"], 8 if on == wide else 4)
                near(shared["compute_s"], alone["compute_s"] * (1 - busy + busy * max(here, cores) / max(4, cores)))
    spaces = captures.training(gpus_per_node=1, shared_cores={"ranks": 4, "cores": 2, "busy": 1})  # four "nodes" of one machine
    points = answer("train", "--capture", capture(folder, spaces), "--cluster", cluster(folder), "--system", "as-captured", "--certain")["training"]
    near(points[0]["compute_s"], 0.0105)
    for wrong, word in (({"ranks": 4, "cores": 0, "busy": 1}, "cores"), ({"ranks": 4, "cores": 2, "busy": 1.5}, "busy"), ({"ranks": 4, "cores": 2}, "busy"),
                        ({"ranks": 5, "cores": 2, "busy": 1}, "shared_cores.ranks: 5 shared a machine, but 4 ran"), ({"ranks": 3, "cores": 2, "busy": 1}, "4 on each node")):
        said = captures.training(gpus_per_node=4 if "node" in word else 1, shared_cores=wrong)
        refused = ask("train", "--capture", capture(folder, said), "--cluster", links, status=2).stderr
        assert f"training.shared_cores" in refused and word in refused, refused


@test
def what_is_off_most(folder):
    """Computing where an iteration without communication is; else communication; unknown where it was not measured."""
    links = cluster(folder)
    for quiet, said in ((0.030, "computing"), (0.0115, "communication"), (None, None)):
        measured = {"iteration_s": [0.040], "quiet_iteration_s": quiet}
        if quiet is None:
            del measured["quiet_iteration_s"]
        run = capture(folder, captures.training(measured=measured))
        assert answer("train", "--capture", run, "--cluster", links)["capture"]["off_most"] == said
        words = told("train", "--capture", run, "--cluster", links)
        assert (f"most of all {said} is off" in words) if said else "the largest part of what is predicted" in words
        assert "over 1 step)" in words
        assert "By themselves" not in words
    said = captures.training(measured={"iteration_s": [0.040], "quiet_iteration_s": 0.0115, "bucket_s": [0.001]})
    tasks = answer("train", "--capture", capture(folder, said), "--cluster", links, "--system", "as-captured")["training"][0]["tasks"]
    predicted = sum(t["time_s"] for t in tasks)
    for times, far in ((1, False), (1.4, False), (1.6, True), (0.6, True)):
        said = captures.training(measured={"iteration_s": [0.040], "quiet_iteration_s": 0.0115, "bucket_s": [times * predicted / len(tasks)] * len(tasks)})
        run = capture(folder, said)
        judged, words = answer("train", "--capture", run, "--cluster", links)["capture"], told("train", "--capture", run, "--cluster", links)
        near(judged["sums_s"], times * predicted)
        near(judged["predicted_sums_s"], predicted)
        assert "By themselves the sums of its buckets took" in words and ("measure both again" in words) == far and ("capture again" in words) != far


@test
def what_others_would_make_of_it(folder):
    """Speed-ups are over the captured system in the same draws; the measured time shrinks by as much, at the ranks that ran alone."""
    links, run = cluster(folder), capture(folder, iterations=8)
    whole = answer("train", "--capture", run, "--cluster", links, "--ranks", "8")
    judged = whole["capture"]
    assert whole["training"][0]["ranks"] == 8, "what is asked comes first"
    assert {p["ranks"] for p in whole["training"]} == {4, 8} and len({p["system"] for p in whole["training"]}) > 8
    for ranks in (4, 8):
        points = [p for p in whole["training"] if p["ranks"] == ranks]
        assert [p["system"] for p in points if p["baseline"]] == ["as-captured"]
        told_of = [f for f in judged["fastest"] if f["ranks"] == ranks]
        best = min(points, key=lambda p: p["iteration_s"])
        assert told_of[0]["system"] == best["system"] and len(told_of) == 1 + told_of[0]["lossy"] and not told_of[-1]["lossy"]
        for f in told_of:
            own = next(p for p in points if p["system"] == f["system"])
            near(f["speedup"], points[0]["iteration_s"] / own["iteration_s"])
            assert (f["speedup"], f["speedup_low"], f["speedup_high"]) == tuple(own[k] for k in ("speedup", "speedup_low", "speedup_high"))
            if ranks == 8:
                assert f["time_s"] is f["time_low_s"] is f["time_high_s"] is None
            else:
                near(f["time_s"], judged["measured_s"] / f["speedup"])
                near(f["time_low_s"], judged["measured_s"] / f["speedup_high"])
                near(f["time_high_s"], judged["measured_s"] / f["speedup_low"])
    words = told("train", "--capture", run, "--cluster", links)
    first = next(f for f in judged["fastest"] if f["ranks"] == 4)
    needs = [text for key, text in (("lossy", "lossy"), ("model_parallel", "needs model parallelism")) if first[key]]
    assert f"{first['system']}{' (' * bool(needs)}{'; '.join(needs)}{')' * bool(needs)} would be {first['speedup']:.2f} times as fast as as-captured" in words
    # one that does not fit is no answer where another does
    card = json.loads((pathlib.Path(sys.argv[2]) / "models" / "devices" / "a100.json").read_text())
    large = answer("train", "--capture", run, "--cluster", links, "--device", write_json(folder, card, "large.json"))
    first = large["capture"]["fastest"][0]["system"]
    room = next(p["peak_bytes"] for p in large["training"] if p["system"] == first) - 1
    small = answer("train", "--capture", run, "--cluster", links, "--device", write_json(folder, card | {"memory_size": room}, "small.json"))
    fitting = [p for p in small["training"] if p["peak_bytes"] <= room]
    assert fitting and small["capture"]["fastest"][0]["system"] == min(fitting, key=lambda p: p["iteration_s"])["system"] != first
    alone = told("train", "--capture", run, "--cluster", links, "--system", "as-captured")
    assert "Nothing here is faster than as-captured." in alone


@test
def overheads_carry_over(folder):
    """To each member that another system does not say itself: the same as if its file said it."""
    links, run = cluster(folder), capture(folder)
    plain = {"name": "other", "sparse": "zen", "dense": "allreduce", "schedule": "fifo"}
    captured = captures.system()
    spelt = plain | {"name": "spelt", "interference": captured["interference"], "software": captured["software"]}
    own = plain | {"name": "own", "interference": 0.5, "software": captured["software"] | {"call": "1ms"}}
    partly = plain | {"name": "partly", "interference": 0.5, "software": {"call": "1ms"}}
    free = plain | {"name": "free", "interference": 0, "software": {"call": 0, "step": 0, "step_per_byte": 0, "copy": "1000TB/s"}}
    times = {p["system"]: p["iteration_s"] for p in answer("train", write_json(folder, {"capture": str(run), "cluster": str(links), "systems": [
        plain, spelt, own, partly, free]}))["training"]}
    assert times["other"] == times["spelt"] and times["own"] == times["partly"] and times["free"] < times["other"] < times["own"]


@test
def parts_are_joined(folder):
    """A file of each process makes the whole; what does not belong together is refused in a line."""
    said, segments = captures.training(), captures.lookups(random.Random(3), 4)
    whole = captures.save(folder / "whole.safetensors", segments, 4, said)
    parts = [captures.save(folder / f"run-rank{r:04}.safetensors", segments[r::4], 1, said) for r in range(4)]
    ask("trace", "merge", *parts, "-o", folder / "joined.safetensors", "--quiet")
    seen = [answer("trace", "info", path) for path in (whole, folder / "joined.safetensors")]
    for one in seen:
        fits("trace-info", one)
    assert seen[0]["training"] == seen[1]["training"] and seen[0]["training"]["workload"] == "mine"
    assert "mine under as-captured on 4 ranks, gloo: 12 ms an iteration (median of 21)" in told("trace", "info", whole)
    links = cluster(folder)
    both = [answer("train", "--capture", path, "--cluster", links)["training"] for path in (whole, folder / "joined.safetensors")]
    for one in both[0] + both[1]:
        del one["trace"]
    assert both[0] == both[1]

    def refuses(says, *which):
        text = told("trace", "merge", *which, "-o", folder / "no.safetensors", status=2)
        assert says in text and text.count("\n") == 1, text

    def other(said, segments=segments[3::4]):
        return captures.save(folder / "other.safetensors", segments, 1, said)

    refuses("the training ran on 4 ranks, the parts have 3", *parts[:3])
    refuses("the training ran on 4 ranks, the parts have 5", *parts, other(said))
    refuses("run-rank0000.safetensors is given twice", *parts[:3], parts[0])
    refuses("other.safetensors is of another run (" + "f" * 32, *parts[:3], other(said | {"run": "f" * 32}))
    refuses("is captured from a training", *parts[:3], other(None))
    refuses("iterations is 3", *parts[:3], other(said, segments[3::4][:3]))
    changed = copy.deepcopy(said)
    changed["workload"]["modules"][1]["bytes"] = 8
    refuses("training.workload.modules", *parts[:3], other(changed))
    refuses("__metadata__.training", *parts[:3], other("{"))
    refuses("world", other("{}"))
    text = told("train", "--capture", parts[0], "--cluster", links, status=2)
    assert "has 1 of the 4 ranks that ran: join all of them first" in text


@test
def layouts_that_differ_are_told(folder):
    for per_node, differs in ((1, False), (2, True)):
        done = ask("train", "--capture", capture(folder), "--cluster", cluster(folder, gpus_per_node=per_node), "--system", "as-captured")
        assert ("another layout" in done.stderr) == differs, done.stderr
        of = answer("train", "--capture", capture(folder), "--cluster", cluster(folder, gpus_per_node=per_node))["capture"]
        assert of["elsewhere"] == differs and (of["off"] is None) == (of["holds"] is None) == differs and of["predicted_s"] > 0
        assert all((one["time_s"] is None) == differs for one in of["fastest"]), of["fastest"]
        assert ("on another layout than where it ran" in done.stdout) == differs and ("%." in done.stdout.split("\n")[2]) != differs


@test
def what_lags_is_a_line(folder):
    """A table of 3.2 MB, of which ranks look up some rows: systems that send it densely are named, not listed, but where one asks."""
    said = captures.training() | {"workload": captures.workload(rows=50000)}
    run = captures.save(folder / "run.safetensors", captures.lookups(random.Random(1), 4), 4, said, rows=50000)
    links = cluster(folder, bandwidth="1Gbps")
    times = {p["system"]: p["iteration_s"] for p in answer("train", "--capture", run, "--cluster", links)["training"]}
    text = told("train", "--capture", run, "--cluster", links, "--quiet")
    rows = {line.split()[0] for line in text.split("-\n", 1)[1].split("\n\n")[0].split("\n")}
    folded = [line for line in text.split("\n") if line.startswith("Not in the table (--wide): ")]
    names = set(folded[0].split(": ")[1].split(", "))
    assert len(folded) == 1 and {"ddp", "horovod-allreduce"} <= names and not names & rows and names | rows == set(times), text
    assert all(times[name] >= 2 * min(times.values()) for name in names) and "as-captured" in rows
    ratios = [f"{f(times[name] for name in names) / min(times.values()):.3g}" for f in (min, max)]
    assert f" take {' to '.join(dict.fromkeys(ratios))} times as long as {min(times, key=times.get)}." in folded[0], folded
    wide = told("train", "--capture", run, "--cluster", links, "--quiet", "--wide")
    assert "Not in the table" not in wide and all(f"\n{name} " in wide for name in names)
    assert "hidden     of the time" in wide and "hidden     of the time" not in text


@test
def sizes_noise_and_doubts_reach_the_answer(folder):
    """A fit's all-reduces were measured to 16 KiB, the gradients have 440 kB; calls scatter; the fit is doubtful."""
    spread = {"half": 1.02, "most": 1.05}
    sure = {"kinds": ["chain"], "collectives": ["allreduce", "allgather"], "bytes": [1, 1 << 26], "measured": spread, "collective": spread,
            "sizes": {"half": 1.05, "most": 1.3}}
    widths = []
    for more in ({}, {"calls": {"allreduce": [1, 1 << 14]}}, {"noise": {"half": 1.5, "most": 2.5}}, {"doubtful": ["a start-up of 9 ms", "odd"]}):
        links = cluster(folder, accuracy=sure | more, source={"latency": "measured", "bandwidth": "measured"})
        done = ask("train", "--capture", capture(folder), "--cluster", links, "--system", "as-captured", "--format", "json")
        point = json.loads(done.stdout)["training"][0]
        widths.append(math.log(point["stall_high_s"] / point["stall_low_s"]))
        assert done.stderr.count("fitted on allreduce of 1 B to 16.4 kB; 440 kB asked") == ("calls" in more), done.stderr
        if "doubtful" in more:
            for command in ("train", "run", "plan"):
                said = ask(command, "--capture", capture(folder), "--cluster", links)
                assert said.stderr.count("its fit is doubtful: a start-up of 9 ms") == 1, said.stderr
                assert "only a run of both" not in said.stdout, said.stdout
            assert "measuring the network again, on a machine at rest, would tell most" in said.stdout or "cannot be told apart" not in said.stdout
    # most of what is sent is the all-reduce, log2(440000 / 16384) doublings too large: 1.3 to that power for 90%, either way
    assert widths[3] == widths[0] < widths[1] < 2 * math.log(1.3) * math.log2(440000 / 16384), widths
    assert widths[1] > math.log(1.3) * math.log2(440000 / 16384) and widths[2] > math.log(2.5), widths


@test
def wrong_input_is_refused_in_words(folder):
    links, good = cluster(folder), captures.training()

    def refused(says, said=good, *arguments, commands=("train", "run", "plan")):
        run = capture(folder, said)
        for command in commands:
            text = told(command, "--capture", run, *(arguments or ("--cluster", links)), status=2)
            assert says in text and text.count("\n") == 1, (command, text)

    def without(key):
        return {k: v for k, v in good.items() if k != key}

    def changed(path, value):
        said = copy.deepcopy(good)
        node = said
        for key in path[:-1]:
            node = node[key]
        node[path[-1]] = value
        return said

    for key in ("run", "world", "workload", "system", "measured"):
        refused(key, without(key))
    refused("run.safetensors: training.workload.modules[1].bytes", changed(("workload", "modules", 1, "bytes"), 3))
    refused("run.safetensors: training.workload.modules[0].rows", changed(("workload", "modules", 0, "rows"), -1))
    refused("run.safetensors: training.system.schedule", changed(("system", "schedule"), "lifo"))
    refused("run.safetensors: training.measured.iteration_s", changed(("measured", "iteration_s"), []))
    refused("run.safetensors: training.measured.iteration_s[1]", changed(("measured", "iteration_s"), [0.1, -1]))
    refused("training.measured.steps: 20, but iteration_s has 21 times", changed(("measured", "steps"), 20))
    refused("run.safetensors: training.run: expected 32", changed(("run",), "abc"))
    refused("run.safetensors: training.world", changed(("world",), 0))
    refused("has 4 of the 5 ranks that ran", changed(("world",), 5))
    refused("expected an object", "[]")
    refused("\"training\": ", "{")
    refused("calibrate network", good, "--ranks", "4")
    trace = captures.save(folder / "plain.safetensors", captures.lookups(random.Random(1), 4), 4, None)
    assert "is a trace, but no capture" in told("train", "--capture", trace, "--cluster", links, status=2)
    (folder / "times.csv").write_text("collective,algorithm,nodes,bytes,seconds\nall_reduce,ring,2,1024,0.001\n")
    clicks = folder / "clicks.csv"
    clicks.write_text("user,item\r\n1,2\r\n")
    for wrong, says in ((folder / "times.csv", "no .safetensors file: it is a table of measured times, of which `sparsync calibrate network` makes a cluster (--cluster)"),
                        (links, "it is JSON, as clusters (--cluster)"),
                        (clicks, "it is text, as tables of lookups are: `sparsync trace import` makes a trace of one")):
        for command in ("train", "run", "plan"):
            text = told(command, "--capture", wrong, "--cluster", links, status=2)
            assert says in text and text.count("\n") == 1, text
    for other in (trace, folder / "run.safetensors"):
        refused("a capture is a trace: leave this one out", good, "--cluster", links, "--trace", other)
    refused('does nothing beside "capture": leave one of the two out', good, "--cluster", links, "--workload", "embrace-lm-rtx3090", commands=["train"])
    refused("a capture's ranks are those that ran", good, "--cluster", links, "--merge", "2", commands=["train"])
    refused("over the system that was captured", good, "--cluster", links, "--set", 'baselines=["zen"]', commands=["train"])
    said = changed(("system", "channels"), [["dense"], ["gradient"]])
    refused("as-captured has several channels", said, "--cluster", cluster(folder, model="alpha-beta"), commands=["train"])
    cluster(folder)
    for what, says in (("accumulation=2", "accumulation: the capture ran with 1"), ("compute=0.5", "compute times are those of the capture"),
                       ("scale.compute=2", "compute times are those of the capture"), ('feeds={"emb": "emb"}', 'feeds: does nothing beside "capture"')):
        refused(says, good, "--cluster", links, "--set", what, commands=["train"])
    assert "as-captured" in told("train", "--capture", capture(folder), "--cluster", links, "--set", "accumulation=1", "--system", "as-captured")
    swept = write_json(folder, {"capture": str(capture(folder)), "cluster": str(links), "sweep": {"capture": ["x"]}})
    assert "\"capture\" cannot be swept" in told("run", swept, status=2)


sys.exit(tap.run())
# SPDX-License-Identifier: Apache-2.0
