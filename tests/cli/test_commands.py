#!/usr/bin/python3
"""What each command does, as its users see it. Arguments: the program, the source tree. Prints TAP."""
import csv
import io
import json
import math
import os
import pathlib
import re
import shutil
import resource
import signal
import subprocess
import sys
import threading
from xml.etree import ElementTree

import tap
import traces
from asking import ENVIRONMENT, PROGRAM, ROOT, call
from tap import near, test

BIBLE = ROOT / "traces" / "bible-kjv-16.safetensors"
COMMANDS = ("run", "plan", "train", "learn", "cost", "crossover", "check", "trace", "exec", "calibrate", "export", "plot", "report",
            "claims", "list")
FLAT = {"name": "flat", "latency": "10us", "bandwidth": "1GB/s"}
ALPHA, BETA = 10e-6, 1e-9


def points(*arguments, **options):
    return json.loads(call(*arguments, "--format", "json", **options)[0])["points"]


def write(folder, name, document):
    (folder / name).write_text(json.dumps(document))
    return folder / name


def uniform(rows=1536, width=64, density="1/16", overlap="full"):
    return {"uniform": {"rows": rows, "row_width": width, "density": density, "overlap": overlap}}


def on_bible(folder, **fields):
    return write(folder, "s.json", {"trace": str(BIBLE), "cluster": FLAT, "ranks": 4, "iterations": "0:3",
                                    "schemes": ["allreduce", "allgather", "ps", "alltoall"], **fields})


# --- the program ------------------------------------------------------------------------------------------------------


@test
def ranks_of_one_node_are_told(folder):
    """Who asks about a network hears where no message crosses it; not of sweeps that leave the node, nor of clusters without nodes."""
    def told(*arguments):
        return [line.split(": warning: ")[1] for line in call(*arguments)[1].splitlines() if "network between nodes" in line]

    nodes = {**FLAT, "name": "nodes", "gpus_per_node": 4, "intra": {"latency": "1us", "bandwidth": "50GB/s"}}
    many, flat = on_bible(folder, cluster=nodes, ranks=[2, 4, 8], schemes=["allgather"]), write(folder, "flat.json", FLAT)
    says = ["4 ranks are one node of nodes: the network between nodes is not used (more --ranks use it)"]
    for command in (("run",), ("plan",), ("run", "--certain")):
        assert told(*command, many, "--ranks", "2,4") == says, command
        assert ("one rank alone sends nothing" in call(*command, many, "--ranks", 1)[1]) and "alone" not in call(*command, many, "--ranks", "1,2")[1]
        assert told(*command, many) == told(*command, many, "--cluster", flat) == told(*command, many, "--ranks", 1) == [], command
    workload = ("train", "--workload", "spardl-vgg-16", "--system", "ddp", "--cluster", write(folder, "nodes.json", nodes))
    assert told(*workload, "--ranks", 4) == says and told(*workload, "--ranks", 8) == []
    assert told("collective", "allgather", "--cluster", folder / "nodes.json", "--ranks", 4, "--sizes", "1MiB") == says


@test
def what_does_nothing_is_told(folder):
    """By exactly those calls that it does nothing in: the other of each pair says nothing."""
    trace = {"synth": {"rows": 64, "row_width": 4, "ranks": 4, "iterations": 4, "lookups": 9}}
    scenario = write(folder, "s.json", {"trace": trace, "cluster": {"latency": "5us", "bandwidth": "1GB/s"}, "schemes": ["allreduce", "ps"], "iterations": "0:1"})
    text, flat, tuned = folder / "text", write(folder, "flat.json", {"latency": "5us", "bandwidth": "1GB/s"}), "p3.16xlarge-25g"
    text.write_text("one two three four five six seven\n" * 60)
    learn = ("learn", "--text", text, "--ranks", 2, "--batch", 1, "--seq", 4, "--vocab", 9, "--width", 2, "--steps", 12)
    goal = ("export", "goal", scenario, "-o", folder / "s.goal")
    train = ("train", "--workload", "s2-lstm", "--system", "ddp", "--cluster", flat, "--ranks", 2)
    for says, idle, active in (
            ("\"extrapolate\" does nothing", ("run", scenario, "--extrapolate"), ("run", scenario, "--extrapolate", "--ranks", 8)),
            ("\"extrapolate\" does nothing", ("plan", scenario, "--extrapolate"), ("plan", scenario, "--extrapolate", "--ranks", "4,8")),
            ("\"extrapolate\" does nothing", (*train, "--extrapolate"), train),
            ("cluster.host does nothing here", ("run", scenario, "--set", 'cluster.host={"latency": "1us", "bandwidth": "9GB/s"}'), ("run", scenario, "--set", "cluster.window=2")),
            ("--lossy does nothing", ("report", scenario, "--no-sliders", "-o", folder / "s.html", "--lossy"), ("report", scenario, "--no-sliders", "-o", folder / "s.html")),
            ("--model-parallel does nothing", ("report", scenario, "--no-sliders", "-o", folder / "s.html", "--model-parallel"),
             ("report", write(folder, "any.json", {"trace": trace, "cluster": {"latency": "5us", "bandwidth": "1GB/s"}, "iterations": "0:1", "ranks": 2}), "--no-sliders", "-o",
              folder / "s.html", "--model-parallel", "--lossy")),
            ("--patience does nothing", ("run", scenario, "--patience", "10s"), ("run", scenario)),
            ("--patience does nothing", (*train, "--patience", "10s"), (*train, "--patience", "30s")),
            ("the latency does nothing", (*goal, "--scheme", "ps", "--latency", "1us"), (*goal, "--scheme", "ps")),
            ("the bandwidth does nothing", (*goal, "--scheme", "ps", "--set", "cluster.bandwidth=2GB/s"), (*goal, "--scheme", "ps", "--ranks", 4)),
            ("the latency does nothing", (*goal, "--scheme", "allreduce", "--latency", "1us"), (*goal, "--scheme", "allreduce", "--cluster", tuned, "--latency", "9us")),
            ("no mean of ten losses came down to the target, 0.001, in 12 steps", (*learn, "--target", 0.001), (*learn, "--target", 99)),
            ("GPUs of a node do nothing", (*learn, "--gpus-per-node", 2), (*learn, "--gpus-per-node", 2, "--scheme", '{"name": "ps", "hierarchy": "leader"}'))):
        assert says in call(*idle)[1], (idle, call(*idle)[1])
        assert "nothing" not in call(*active)[1] and "no mean" not in call(*active)[1], active
    shown = call(*learn, "--target", 99, "--format", "json")[0]
    assert json.loads(shown)["curves"][0]["steps_to_target"] == 10, "the first ten losses"
    whole = write(folder, "nodes.json", {"latency": "5us", "bandwidth": "1GB/s", "gpus_per_node": 4, "intra": {"latency": "1us", "bandwidth": "9GB/s"}})
    call("trace", "synth", "--rows", 64, "--ranks", 4, "--iterations", 2, "--lookups", 9, "-o", folder / "t.safetensors")
    place = ("plan", "--place", "--trace", folder / "t.safetensors", "--cluster")
    assert ["are one node of" in call(*place, cluster)[1] for cluster in (whole, flat)] == [True, False]
    for nic, nics, idle in (("per-node", 1, False), ("per-node", 2, True), ("per-rank", 4, False), ("per-rank", 2, True), (None, 2, False)):
        cluster = {"latency": "5us", "bandwidth": "1GB/s", "gpus_per_node": 4, "intra": {"latency": "1us", "bandwidth": "9GB/s"}, "nics": nics, **({"nic": nic} if nic else {})}
        said = call("cost", "ps", "--M", "1MB", "--density", "1%", "--cluster", write(folder, "nics.json", cluster))[1]
        assert (f'"nic", "{nic}", does nothing beside "nics", {nics}' in said) == idle, (nic, nics, said)


@test
def version_and_help(folder):
    assert call("--version")[0].startswith("sparsync 0.")
    out = call("--help")[0]
    assert call("-V") == call("--version") and call("-h") == call("help") == call("--help")
    for name in COMMANDS:
        assert f"  {name} " in out, f"--help does not list {name}"
        text, err = call(name, "--help")
        first = text.split("\n")[0]
        assert first.startswith("usage: ") and f"sparsync {name}" in first, f"{name}: {first}"
        assert f"sparsync {name}" in text.split("examples:")[1] and err == "", f"{name} --help has no example"
        assert all(text.count(a) == text.count(b) for a, b in ("()", "[]", "{}")) and text.count('"') % 2 == 0, f"{name} --help breaks off"
        assert call("help", name) == call("--help", name) == (text, ""), name
    assert call("help", "trace", "stats") == call("trace", "stats", "--help")
    for words, told in ((("help", "nope"), "nope"), (("help", "run", "plan"), '"plan" is left over'), (("help", "trace", "nope"), "nope"),
                        (("help", "trace", "stats", "x"), '"x" is left over'), (("--version", "run"), '"run" is left over')):
        out, err = call(*words, status=2)
        assert out == "" and told in err and err.count("\n") == 1, (words, err)
    out, err = call(status=2)
    assert out == "" and "usage:" in err


@test
def commands_are_alike(folder):
    verbs = {"trace": ("import", "synth", "fit", "merge", "stats", "info"), "calibrate": ("network", "training", "kernels"), "export": ("goal", "chakra")}
    for words in [(name, *verb) for name in COMMANDS for verb in ([(v,) for v in verbs[name]] if name in verbs else [()])]:
        text = call(*words, "--help")[0]
        assert call(*words, "-h") == (text, ""), words
        assert f"\n  -o {'PREFIX' if words[-1] == 'chakra' else 'FILE'}  " in text and (words == ("plot",) or "\n  --quiet  " in text), words
        if words[0] not in ("calibrate", "export", "plot", "report") and words[-1] not in ("import", "synth", "merge"):
            assert "\n  --format table|json|csv" in text, words
        assert 'unknown option "--quite" (did you mean --quiet?)' in call(*words, "--quite", status=2)[1], words
        for option, value in re.findall(r"^  (--?[\w-]+) ([^ \n]+)", text, re.M):  # NUMBER, table|json|csv, in|out
            assert re.search("[A-Z|]", value), (words, option, value)
    for name, those in verbs.items():
        assert f"usage: sparsync {name} {'|'.join(those)} ..." in call(name, "--help")[0], name
    assert "mpirun -n" in call("exec", "--ranks", 4, status=2)[1]
    assert "--system" in call("train", "--scheme", "zen", status=2)[1]
    assert "ending of -o" in call("plot", "zen-fig8", "--format", "svg", status=2)[1]


@test
def warnings_are_told_once(folder):
    """1 KiB at 20 us and 1 GB/s takes 21.024 us, a byte more at 5 us and 2 GB/s 5.5125 us."""
    falling = {**FLAT, "name": "falling", "segments": [{"up_to": "1KiB", "latency": "20us", "bandwidth": "1GB/s"},
                                                       {"latency": "5us", "bandwidth": "2GB/s"}]}
    del falling["latency"], falling["bandwidth"]
    path = write(folder, "falling.json", falling)
    flat = write(folder, "flat.json", FLAT)
    text = "warning: cluster falling: a message of 1024 B takes longer (2.1024e-05 s) than one of a byte more (5.5125e-06 s)"
    scenario = write(folder, "s.json", {"trace": uniform(), "cluster": falling, "ranks": [2, 4], "schemes": ["allgather"],
                                        "sweep": {"index_bytes": [4, 8]}})
    figure = write(folder, "figure.json", {"panels": [{"kind": "bars", "x": "label", "y": "time_s", "data": [{"run": str(scenario)}]}]})
    claims = write(folder, "claims.json", {"paper": "own", "title": "Own", "inputs": {"r": {"run": str(scenario)}}, "claims": [
        {"id": "own", "source": "nowhere", "class": "A", "claim": "it takes time", "printed": 1, "tolerance": "100%",
         "let": {"t": {"from": "r", "of": "allgather", "ranks": 4, "at": {"index_bytes": 4}}}, "ours": "t/t", "verdict": "reproduced",
         "why": "because"}]})
    for arguments in (["run", scenario], ["run", scenario, "--quiet"], ["plan", scenario], ["check", scenario, "--quiet"],
                      ["plot", figure, "-o", folder / "f.svg"], ["claims", claims, "--quiet"],
                      ["report", scenario, "-o", folder / "p.html"], ["cost", "--M", "1MB", "--density", "1%", "--cluster", path],
                      ["crossover", "allgather", "allreduce", "--over", "density", "--M", "1MB", "--ranks", "4", "--cluster", path],
                      ["train", "--workload", "s2-lstm", "--system", "horovod-allgather", "--ranks", "4", "--cluster", path, "--quiet"]):
        told = call(*arguments)[1]
        assert told.count("warning") == 1 and f"sparsync {arguments[0]}: {text}" in told, (arguments, told)
        assert told.count("\n") == 1 or "expectations hold" in told, told
    times = folder / "times.csv"
    times.write_text("workload,system,cluster,ranks,quantity,value\n" + "".join(f"s2-lstm,horovod-allgather,{path},{n},iteration,100ms\n" for n in (2, 4, 8)))
    told = call("calibrate", "training", times, "--fit", "compute", "--quiet")[1]
    assert told.count("warning") == 1 and f"sparsync calibrate training: {text}" in told, told
    assert "warning" not in call("run", scenario, "--set", "cluster=" + json.dumps(FLAT))[1]
    assert "warning" not in call("cost", "--M", "1MB", "--density", "1%", "--cluster", flat)[1]


@test
def numbers_that_no_machine_has_are_told(folder):
    cluster = FLAT | {"intra": {"latency": "5us", "bandwidth": "10GB/s"}, "fabric": [{"nodes": 2, "bandwidth": "1GB/s"}],
                      "host": {"bandwidth": "10GB/s"}}
    device = {"name": "d", "memory_bandwidth": "1TB/s", "efficiency": 1, "launch": "5us"}
    path = write(folder, "s.json", {"trace": uniform(), "cluster": cluster, "device": device, "ranks": [4], "schemes": ["allgather"]})
    assert "warning" not in call("run", path)[1]
    for field, value, told in (("cluster.latency", "5s", "a latency of 5 s between nodes"), ("cluster.bandwidth", "100B/s", "a bandwidth of 800 bit/s between nodes"),
                               ("cluster.intra.latency", "5s", "a latency of 5 s inside nodes"), ("cluster.fabric.0.bandwidth", "1PB/s", "8 Pbit/s of uplinks of level 1"),
                               ("cluster.intra", '{"segments": [{"up_to": "1kB", "latency": "9s", "bandwidth": "1GB/s"}, {"latency": "1us", "bandwidth": "1GB/s"}]}', "a latency of 9 s inside nodes, in messages of at most 1 kB,"),
                               ("cluster.library", '{"name": "nccl", "version": "2.21", "costs": {"ring": {"simple": {"latency": "9s", "bandwidth": "1GB/s"}}}}', "a latency of 9 s of the library's ring in simple,"),
                               ("cluster.host.bandwidth", "1kB/s", "a bandwidth of 8 kbit/s to the memory of machines"),
                               ("device.launch", "2s", "device d: kernels start in 2 s"), ("device.memory_bandwidth", "1kB/s", "take 16.7 min a MB")):
        assert told in call("run", path, "--set", f"{field}={value}")[1], field
    for field, value in (("bandwidth", "2GB/s"), ("latency", "2us"), ("exchange.bandwidth", "2GB/s")):
        err = call("run", path, "--set", 'cluster.exchange={"latency": "9us", "bandwidth": "1GB/s"}', "--set", f"cluster.{field}={value}")[1]
        assert (f"another {field} does not change its exchanges (--set cluster.exchange.{field}=...)" in err) == ("." not in field), (field, err)
    for field in ("cluster.bandwidth", "device.memory_bandwidth"):  # meant to cost nothing
        assert "warning" not in call("run", path, "--set", f"{field}=1e30B/s")[1], field
    whole = (ROOT / "models/workloads/zen-lstm.json").read_text()  # its keys say their units
    assert call("train", "--set", f"workload={whole}", "--cluster", "rtx3090-1gbe", "--ranks", "2", "--system", "ddp", "--format", "json", "--quiet")[0]
    supposed = ["--M", "1MB", "--density", "1%", "--bandwidth", "100B/s"]
    for command in (["cost", "zen", *supposed], ["crossover", "zen", "allreduce", "--over", "latency", *supposed], ["collective", "allreduce", "--bandwidth", "100B/s"]):
        assert "a bandwidth of 800 bit/s between nodes, which no network has" in call(*command)[1], command


@test
def starting_is_not_sending(folder):
    """A link that waits while messages start is told as such: of P-1 messages a port their latencies, and bytes by the rate;
    with all of an exchange under way starts overlap, and the bytes alone bound it. A shared card has bytes alone."""
    near = {**FLAT, "latency": "20us", "gpus_per_node": 2, "nics": 2, "intra": {"latency": "20us", "bandwidth": "1GB/s"}}
    for cluster, starts in (({**FLAT, "latency": "20us"}, True), ({**near, "latency": 0, "intra": {"latency": 0, "bandwidth": "9GB/s"}, "window": 1, "nics": 1}, False), ({**near, "window": "all"}, False),
                            ({**near, "window": 1, "nics": 1}, True),
                            ({**FLAT, "latency": "20us", "model": "alpha-beta"}, True)):
        scenario = write(folder, "s.json", {"trace": uniform(), "cluster": cluster, "ranks": [8], "schemes": ["zen"], "certain": True})
        [p] = points("run", scenario)
        startup = 2 * 7 * 20e-6 if starts else 0
        assert abs(p["bound_startup_s"] - startup) <= 1e-12, (cluster, p["bound_startup_s"], startup)
        told = f"bytes take {100 * (p['bound_s'] - startup) / p['time_s']:.0f}% of the time" + (f", start-ups of messages {100 * startup / p['time_s']:.0f}%" if starts else "")
        waits = 100 * (1 - p["bound_s"] / p["time_s"])
        told += " (numbers as given)" + (f"; the other {waits:.0f}% it waits for other ranks" if waits >= 5 else ".")
        assert f"{p['bound_by']}: {told}" in call("run", scenario)[0], told
        if starts:
            sent = max(p["bytes_sent_max"], p["bytes_received_max"])
            assert abs(p["bound_s"] - startup - sent / 1e9) <= 1e-9 * p["time_s"], p


@test
def a_form_that_cannot_be_read_stops_no_other(folder):
    """A newer program's, say: it is left out of what asks for others, which is told; check, which looks at all, and who names it, fail."""
    shutil.copytree(ROOT / "models" / "costs", folder / "models" / "costs")
    for kind in ("clusters", "devices", "libraries"):
        (folder / "models" / kind).symlink_to(ROOT / "models" / kind)
    there, asked = {**ENVIRONMENT, "SPARSYNC_DATA": str(folder)}, ("cost", "zen", "--M", "1MB", "--density", "1%", "--ranks", 4)
    scenario = write(folder, "s.json", {"trace": uniform(), "cluster": FLAT, "ranks": [4], "schemes": ["zen"]})
    mine, usual = folder / "models" / "costs" / "mine.json", {"scheme": "zen", "grid": {"P": [4], "d": ["1/64"], "M": ["1MB"], "alpha": ["1us"], "beta": ["1/1e9"]}}
    for form, why in (({"scheme": "mine", "exact": "alpha"}, 'scheme: no scheme is called "mine"'), ({**usual, "exact": "alpha", "shiny": 1}, "shiny: unknown key"),
                      ({**usual, "exact": "2*alpha + omega*beta"}, 'unknown symbol "omega"')):
        mine.write_text(json.dumps(form))
        for words in (asked, ("run", scenario)):
            with_it, without = call(*words, environment=there), call(*words)
            assert with_it[0] == without[0] and "left out: " in with_it[1] and "mine.json" in with_it[1] and why in with_it[1], with_it[1]
        for named in ((), (mine,)):
            out, err = call("check", *named, environment=there, status=2)
            assert "mine.json" in out + err and why in out + err, (out, err)
        assert why in call("cost", "--file", mine, "--M", "1MB", "--density", "1%", environment=there, status=2)[1]


@test
def what_was_not_tried_is_said(folder):
    """Where nobody names schemes `run` takes each as it is."""
    chosen = "sparsync plan tries their algorithms, formats and"
    for named in (False, True):
        told = {"trace": uniform(rows=1536), "cluster": FLAT, "ranks": [4], "verify": False, **({"schemes": ["zen"]} if named else {})}
        for wide in ((), ("--wide",)):
            text = call("run", write(folder, "s.json", told), *wide)[0]
            assert (chosen in text) == (not named), (named, text)


@test
def hierarchies_in_one_node_are_told(folder):
    scenario = write(folder, "s.json", {"trace": uniform(), "cluster": {**FLAT, "gpus_per_node": 2}, "hierarchy": "shard", "ranks": [2],
                                        "schemes": ["allgather", "zen"]})
    out, err = call("run", scenario, "--certain")
    assert "allgather and zen alike are fastest, " in out and err.count("warning") == 1 and '2 ranks are one node of flat: of hierarchy "shard" only the dense sum' in err, err
    assert "one node" not in call("run", scenario, "--ranks", "4")[1]
    assert "one node" not in call("run", scenario, "--set", "hierarchy=none")[1]


@test
def links_are_told_on_request(folder):
    """A ring on two nodes of two ranks without latency: each rank sends 2 (P-1) parts of 1/P all the time, and as much leaves
    each node through its card."""
    cluster = {**FLAT, "gpus_per_node": 2, "nic": "per-node", "model": "fair", "latency": 0}
    scenario = write(folder, "s.json", {"trace": uniform(), "cluster": cluster, "ranks": [4], "schemes": ["allreduce", "zen"]})
    point = json.loads(call("run", scenario, "--format", "json")[0])["points"][0]
    out = call("run", scenario, "--links")[0]
    assert out.startswith(call("run", scenario, "--wide")[0].split("\n\ntime ")[0]), out
    rows = {tuple(line[:21].split(None, 1)): line[21:].split("  ") for line in out.splitlines() if line.startswith("allreduce")}
    rows = {kind.strip(): [cell.strip() for cell in cells if cell.strip()] for (_, kind), cells in rows.items()}
    names = {"egress": "egress", "ingress": "ingress", "NIC out": "nic-out", "NIC in": "nic-in"}
    assert set(rows) >= set(names), rows
    dense = 2 * 3 / 4 * 1536 * 64 * 4
    for name, key in names.items():
        count, busiest, mean, most, all_of_them = rows[name]
        assert int(count) == point["links"][key]["count"] == (2 if "NIC" in name else 4), rows
        assert most == all_of_them and point["links"][key]["bytes_max"] == dense, (most, dense)
        assert busiest == mean == "100.0%", rows
    assert "busiest      of the links" in out and "carries most" not in call("run", scenario)[0]
    assert "--links adds" in call("run", scenario, "--links", "--format", "csv", status=2)[1]


@test
def learn_has_an_older_spelling(folder):
    (folder / "t.txt").write_text("the quick brown fox jumps over the lazy dog\n" * 100)
    text = ("--text", folder / "t.txt", "--ranks", 2, "--steps", 2, "--batch", 1, "--seq", 8, "--format", "json", "--quiet")
    assert call("learn", *text) == call("train", "--learn", *text)
    assert call("train", "--learn", "--help") == call("learn", "--help")
    assert "--learn" in call("run", "--learn", *text, status=2)[1], "of train alone"


@test
def check_may_be_quiet(folder):
    assert call("check", "allgather-ring", "--quiet") == ("", "")
    assert "allgather-ring" in call("check", "allgather-ring")[0]
    assert call("check", "allgather-ring", "--quiet", "-o", folder / "t.txt") == ("", "")
    assert "allgather-ring" in (folder / "t.txt").read_text()
    assert json.loads(call("check", "allgather-ring", "--quiet", "--format", "json")[0])["checks"]


@test
def list_everything(folder):
    for things, some in (("schemes", "alltoall"), ("costs", "ps-union"), ("clusters", "rtx3090-1gbe"),
                         ("devices", "quick"), ("workloads", None), ("systems", None), ("claims", "zen-fig8-gamma")):
        document = json.loads(call("list", things, "--format", "json")[0])
        names = [item["name"] for item in document[things]]
        assert all("summary" in item for item in document[things])
        assert some is None or some in names, f"{things}: {names}"
        rows = list(csv.reader(io.StringIO(call("list", things, "--format", "csv")[0])))
        assert [row[0] for row in rows[1:]] == names
        listed = call("list", things)[0]
        assert all(name in listed for name in names)
    shipped = {path.stem for path in (ROOT / "models" / "clusters").glob("*.json")}
    assert {item["name"] for item in json.loads(call("list", "clusters", "--format", "json")[0])["clusters"]} == shipped
    assert len(shipped) >= 8


@test
def list_costs_says_formulas(folder):
    """Of a pair of bounds both; of a form that no schedule has, the paper's."""
    for item in json.loads(call("list", "costs", "--format", "json")[0])["costs"]:
        form = json.loads((ROOT / "models" / "costs" / f"{item['name']}.json").read_text())
        said = [form.get(name) for name in ("exact", "exact_low", "exact_high", "paper", "paper_low", "paper_high") if form.get(name)]
        assert item["summary"] == (said[0] if form.get("exact") or not form.get("exact_low") and form.get("paper") else " .. ".join(said[:2])), item


@test
def unknown_names_get_suggestions(folder):
    assert 'did you mean "run"' in call("urn", status=2)[1]
    assert "did you mean" in call("list", "scheme", status=2)[1]
    assert 'did you mean "zen"' in call("list", "schemes", "zenn", status=2)[1]
    error = call("check", "nothing-near", status=2)[1]
    assert "(sparsync list costs shows what there is; or give a path)" in error, error
    assert "did not" not in error and "are JSON" in call("check", ROOT / "README.md", status=2)[1]
    assert 'ranks: "4.." has no end: say both ends' in call("run", "demo", "--ranks", "4..", status=2)[1]
    assert 'ranks: "..4" has no beginning' in call("run", "demo", "--ranks", "..4", status=2)[1]


@test
def what_is_listed_fits_a_line(folder):
    """Prose below its own head, where a line is too short for it; nothing is lost."""
    for things in ("schemes", "costs", "systems", "figures", "claims", "clusters"):
        listed = call("list", things)[0]
        assert max(map(len, listed.split("\n"))) <= (121 if things == "claims" else 120), things
        words = " ".join(listed.split())
        rows = json.loads(call("list", things, "--format", "json")[0])[things]
        for row in rows if things in ("schemes", "costs") else []:
            assert " ".join(row["summary"].split()) in words, row
    costs = call("cost", "s2", "--M", "1GB", "--density", "1%")[0].split("\n\nflat")[0]
    assert max(map(len, costs.split("\n"))) <= 120 and "ceil(rows/8))/P*beta)" in costs, costs
    one = json.loads(call("list", "schemes", "zen", "--format", "json")[0])["schemes"]
    assert [item["name"] for item in one] == ["zen"]


@test
def a_dispatch_of_tokens_is_no_sum(folder):
    """No all-reduce stands in for it: nothing is said of one."""
    question = ["run", "moe-route", "--certain", "--no-verify", "--quiet"]
    assert "dense" not in call(*question)[0]
    assert all(p["dense_s"] is None and p["dense"] is None for p in points(*question))


@test
def one_scheme_by_two_labels_is_told(folder):
    question = ["run", "--trace", ROOT / "traces" / "bible-kjv-16.safetensors", "--iterations", ":1", "--cluster", "rtx2080ti-1gbe", "--no-verify", "--quiet"]
    assert '"allgather" and "allgather:index_bytes=4" are one scheme' in call(*question, "--scheme", "allgather,allgather:index_bytes=4,ps")[1]
    assert "are one scheme" not in call(*question, "--scheme", "allgather,allgather:index_bytes=8,ps")[1]


# --- run: what is run -------------------------------------------------------------------------------------------------


@test
def run_without_a_scenario(folder):
    found = points("run", "--trace", BIBLE, "--cluster", "p3.16xlarge-25g", "--iterations", "0:2")
    known = json.loads(call("list", "schemes", "--format", "json")[0])["schemes"]  # design is a space, not a scheme to try
    assert [p["label"] for p in found] == [s["name"] for s in known if s["lossless"] and s["name"] != "design"]
    assert {"allreduce", "alltoall", "zen"} < {p["label"] for p in found}
    assert {p["ranks"] for p in found} == {16} and {p["iterations"] for p in found} == {2}
    out, err = call("run", "--trace", BIBLE, status=2)
    assert out == "" and all(name in err for name in ("p3.16xlarge-25g", "rtx3090-1gbe", "h100-8x8-400g"))


@test
def options_are_edits(folder):
    """Each option equals the scenario that says the same."""
    base = on_bible(folder)
    for options, fields in (
            (["--set", "cluster.bandwidth=100Gbps"], {"cluster": {**FLAT, "bandwidth": "100Gbps"}}),
            (["--bandwidth", "100Gbps"], {"cluster": {**FLAT, "bandwidth": 12.5e9}}),
            (["--latency", "1ms"], {"cluster": {**FLAT, "latency": 0.001}}),
            (["--set", "schemes.1={\"name\": \"allgather\", \"algorithm\": \"bruck\"}"],
             {"schemes": ["allreduce", {"name": "allgather", "algorithm": "bruck"}, "ps", "alltoall"]}),
            (["--set", "index_bytes=8"], {"index_bytes": 8}),
            (["--set", "sweep.index_bytes=[0, 4]"], {"sweep": {"index_bytes": [0, 4]}}),
            (["--scheme", "ps,alltoall"], {"schemes": ["ps", "alltoall"]}),
            (["--ranks", "2,5"], {"ranks": [2, 5]}),
            (["--ranks", "3..16"], {"ranks": [3, 6, 12, 16]}),
            (["--iterations", "10:12"], {"iterations": "10:12"}),
            (["--merge", "4"], {"merge": 4}),
            (["--cluster", "rtx3090-1gbe"], {"cluster": "rtx3090-1gbe"}),
            (["--device", "quick"], {"device": "quick"}),
            (["--no-verify"], {"verify": False})):
        edited = points("run", base, *options)
        said = points("run", on_bible(folder, **fields))
        base = on_bible(folder)
        assert edited == said, f"{options}: not what {fields} gives"
        assert edited != points("run", base), f"{options} changed nothing"


@test
def ranks_and_iterations(folder):
    assert [p["ranks"] for p in points("run", on_bible(folder), "--scheme", "ps", "--ranks", "1..8,16")] == [1, 2, 4, 8, 16]
    whole = points("run", on_bible(folder), "--scheme", "allgather", "--iterations", "0:4", "--per-iteration")[0]
    halves = [points("run", on_bible(folder), "--scheme", "allgather", "--iterations", part)[0] for part in ("0:2", "2:4")]
    near(whole["time_s"], (halves[0]["time_s"] + halves[1]["time_s"]) / 2, "mean over iterations")
    near(whole["bytes_total"], (halves[0]["bytes_total"] + halves[1]["bytes_total"]) / 2, "mean of bytes")
    assert points("run", on_bible(folder), "--set", "iterations=4", "--scheme", "allgather")[0]["time_s"] == whole["time_s"]
    assert points("run", on_bible(folder), "--iterations", "47:", "--scheme", "ps")[0]["iterations"] == 3


@test
def sweeps(folder):
    """The first axis outermost; `at` holds plain numbers and each place stands for itself."""
    found = points("run", on_bible(folder, schemes=["allgather", "ps"], sweep={
        "cluster": ["rtx3090-1gbe", "rtx3090-10gbe"], "cluster.bandwidth": ["10Gbps", "2.5GB/s"], "index_bytes": [4, 8]}))
    places = [(p["cluster"], p["at"]["cluster.bandwidth"], p["at"]["index_bytes"], p["label"]) for p in found]
    assert places == [(c, b, i, s) for c in ("rtx3090-1gbe", "rtx3090-10gbe") for b in (1.25e9, 2.5e9) for i in (4, 8)
                      for s in ("allgather", "ps")], places
    assert all(p["at"]["cluster"] == p["cluster"] and p["options"]["index_bytes"] == p["at"]["index_bytes"] for p in found)
    alone = points("run", on_bible(folder, schemes=["allgather"], cluster="rtx3090-10gbe", index_bytes=8), "--bandwidth",
                   "2.5GB/s")[0]
    assert alone["time_s"] == next(p["time_s"] for p in found if p["at"] == {
        "cluster": "rtx3090-10gbe", "cluster.bandwidth": 2.5e9, "index_bytes": 8} and p["label"] == "allgather")
    inner = points("run", on_bible(folder, schemes=["ps"], sweep={"schemes.0": [
        {"name": "ps", "servers": n, "label": f"ps {n}"} for n in (1, 2)], "ranks": [2, 4]}))
    assert [(p["label"], p["ranks"]) for p in inner] == [("ps 1", 2), ("ps 1", 4), ("ps 2", 2), ("ps 2", 4)]


@test
def labels_and_options(folder):
    found = points("run", on_bible(folder, schemes=[
        "allgather", {"name": "allgather", "algorithm": "bruck", "label": "Bruck"}, {"name": "ps", "servers": 2, "index_bytes": 8}]))
    assert [p["label"] for p in found] == ["allgather", "Bruck", "ps"]
    assert [p["scheme"] for p in found] == ["allgather", "allgather", "ps"]
    assert [p["options"].get("algorithm") for p in found] == ["ring", "bruck", None]
    assert found[2]["options"]["servers"] == 2 and [p["options"]["index_bytes"] for p in found] == [4, 4, 8]
    assert found[0]["bytes_total"] == found[1]["bytes_total"] and found[0]["rounds"] == 3 and found[1]["rounds"] == 2


@test
def models_by_name_path_and_inline(folder):
    shipped = ROOT / "models" / "clusters" / "p3.16xlarge-25g.json"
    same = [points("run", on_bible(folder, cluster=cluster, ranks=16, schemes=["ps"]))
            for cluster in ("p3.16xlarge-25g", str(shipped), json.loads(shipped.read_text()))]
    assert same[0] == same[1] == same[2] and same[0][0]["cluster"] == "p3.16xlarge-25g"


@test
def files_beside_the_scenario(folder):
    """Names of files count from the working folder or from the scenario's."""
    (folder / "sub").mkdir()
    (folder / "sub" / "t.safetensors").write_bytes(BIBLE.read_bytes())
    write(folder / "sub", "c.json", FLAT)
    write(folder / "sub", "s.json", {"trace": "t.safetensors", "cluster": "c.json", "ranks": 2, "iterations": 1, "schemes": ["ps"]})
    here = points("run", "s.json", cwd=folder / "sub")
    assert here == points("run", "sub/s.json", cwd=folder)


# --- run: what comes out ----------------------------------------------------------------------------------------------


@test
def jobs_do_not_matter(folder):
    scenario = on_bible(folder, sweep={"ranks": [2, 5, 16], "cluster": ["p3.16xlarge-25g", "rtx3090-1gbe"]})
    for how in ("table", "json", "csv"):
        one, two, many = (call("run", scenario, "--jobs", n, "--format", how)[0] for n in (1, 2, 7))
        assert one == two == many, f"--jobs changes the {how}"


@test
def what_is_not_proven_is_null(folder):
    for a, b in zip(points("run", on_bible(folder)), points("run", on_bible(folder), "--no-verify")):
        assert (a["exact"], a["error_l2"], a["energy"]) == (True, 0, 1) and a["time_s"] == b["time_s"], a["label"]
        assert (b["exact"], b["error_l2"], b["energy"]) == (None, None, None), b["label"]


@test
def csv_and_table_tell_the_same(folder):
    scenario = on_bible(folder, sweep={"cluster.bandwidth": ["1Gbps", "100Gbps"]}, ranks=[1, 8])
    found = points("run", scenario)
    lines = list(csv.DictReader(io.StringIO(call("run", scenario, "--format", "csv")[0])))
    assert len(lines) == len(found) == 16
    for line, point in zip(lines, found):
        flat = {key: value for key, value in point.items() if not isinstance(value, (dict, list)) and key not in ("result_hash", "offered")}
        flat.update({f"{outer}.{key}": value for outer in ("at", "options") for key, value in point[outer].items()})
        for key, value in flat.items():
            if isinstance(value, bool):
                assert line[key] == str(value).lower(), key
            elif isinstance(value, (int, float)):
                near(float(line[key]), value, key, 1e-15 * 4)
            else:
                assert line[key] == (value or ""), f"{key}: {line[key]!r}, not {value!r}"
    table = call("run", scenario, "--wide")[0]
    for label in ("allreduce", "allgather", "ps", "alltoall"):
        assert table.count(f"\n{label} ") + table.count(f"\n  {label} ") >= 4, f"no rows of {label}:\n{table}"


@test
def tables_are_told_as_markdown(folder):
    """The same cells, row by row; what Markdown would read as its own is escaped."""
    scenario = on_bible(folder, iterations="0:2")
    for arguments in (("run", scenario), ("run", scenario, "--wide"), ("plan", scenario), ("list", "schemes"),
                      ("cost", "--M", "100MB", "--density", "1%", "--ranks", "4,8"), ("crossover", "zen", "allreduce", "--over", "density", "--M", "100MB", "--ranks", "16"),
                      ("trace", "info", "traces/bible-kjv-16.safetensors"), ("check", scenario)):
        text, told = call(*arguments)[0], call(*arguments, "--format", "markdown")[0]
        rows = [line for line in told.splitlines() if line.startswith("|") and not line.startswith(("|---", "|--:"))]
        cells = [re.sub(r"\\(.)", r"\1", cell.strip()) for row in rows for cell in re.split(r"(?<!\\)\|", row)[1:-1]]
        plain = [line for line in told.splitlines() if line and not line.startswith("|")]
        assert not re.search(r"(?<!\\)[_*`<\[]", "".join(rows)), told
        if arguments[0] in ("list", "cost"):  # prose is broken into lines
            assert all(word in text for cell in cells for word in cell.split()) and len(rows) > 20, text
            continue
        if "--wide" in arguments:  # folded as text
            assert all(cell in text for cell in cells) and len(re.findall("^-[- ]+$", text, re.M)) == 2, text
            continue
        assert "".join("".join(cells).split()) in "".join("".join(
            line for line in text.splitlines() if line not in plain and not re.fullmatch("[- ]+", line)).split()), told
        assert bool(rows) == bool(re.search("^-[- ]+$", text, re.M)), (arguments, told)
        heads = re.findall(r"\n\n\|[^\n]*\|\n\|(?:--[-:]\|)+\n", "\n" + told)
        assert len(heads) == len(re.findall("^-[- ]+$", text, re.M)), told


@test
def csv_has_the_same_columns_whatever_is_run(folder):
    """But those of the sweep, which come last; and the cluster's numbers, of each place."""
    def rows(*arguments):
        reader = csv.DictReader(io.StringIO(call("run", *arguments, "--format", "csv")[0]))
        return reader.fieldnames, list(reader)

    heads, lines = rows(on_bible(folder, ranks=2, iterations="0:1", schemes=["ps"]))
    others, _ = rows(on_bible(folder, ranks=2, trace={"gradient": {"elements": 4096}}, device="quick", hierarchy="shard",
                              cluster={**FLAT, "gpus_per_node": 2}, iterations="0:1", schemes=["topka", "zen"]))
    swept, places = rows(on_bible(folder, ranks=2, iterations="0:1", schemes=["zen"], sweep={
        "cluster.bandwidth": ["10Gbps", "1GB/s"], "cluster.latency": ["1us"]}))
    assert heads == others == swept[:len(heads)] and swept[len(heads):] == ["at.cluster.bandwidth", "at.cluster.latency"], (heads, swept)
    known = {o.split(":")[0] for s in json.loads(call("list", "schemes", "--format", "json")[0])["schemes"] for o in s["options"]}
    assert {f"options.{name}" for name in known} < set(heads)
    for place, rate in zip(places, (1.25e9, 1e9)):
        near(float(place["cluster_bandwidth"]), rate, "bandwidth")
        near(float(place["cluster_latency_s"]), 1e-6, "latency")
    assert (lines[0]["cluster_gpus_per_node"], lines[0]["cluster_nics"], lines[0]["cluster_model"]) == ("1", "1", "fair")
    cluster = {**FLAT, "gpus_per_node": 4, "nic": "per-node", "intra": {"latency": "2us", "bandwidth": "8GB/s"}, "window": "all"}
    line = rows(on_bible(folder, ranks=2, iterations="0:1", schemes=["ps"], cluster=cluster))[1][0]
    assert (line["cluster_nics"], line["cluster_window"]) == ("1", "") and line["cluster_gpus_per_node"] == "4"
    near(float(line["cluster_intra_bandwidth"]), 8e9, "bandwidth inside a node")
    near(float(line["cluster_intra_latency_s"]), 2e-6, "latency inside a node")


@test
def arrays_are_refused_where_there_is_no_room(folder):
    for option in ("--per-rank", "--per-iteration"):
        for how in ("csv", "table"):
            assert f"{option} adds arrays" in call("run", on_bible(folder), option, "--format", how, status=2)[1]
    assert "adds arrays" in call("train", "--workload", "s2-lstm", "--system", "zen", "--ranks", "2", "--cluster", "rtx3090-1gbe",
                                 "--per-iteration", "--format", "csv", status=2)[1]


@test
def means_are_exact(folder):
    """What is the same in every iteration is the same in the mean, to the last bit (CSV has them all)."""
    text = call("run", on_bible(folder, iterations="0:7"), "--format", "csv")[0]
    for line in csv.DictReader(io.StringIO(text)):
        for key in ("messages", "rounds", "bytes_total", "bytes_sent_max") if line["scheme"] == "allreduce" else ("messages", "rounds"):
            assert float(line[key]).is_integer(), f"{line['label']}: {key} is {line[key]}"
        assert float(line["time_min_s"]) <= float(line["time_s"]) <= float(line["time_max_s"]), line["label"]


@test
def arrays(folder):
    scenario = on_bible(folder, ranks=5, iterations="0:7")
    plain = points("run", scenario)
    for p, without in zip(points("run", scenario, "--per-rank", "--per-iteration"), plain):
        times, sent, received = p["iteration_s"], p["rank_bytes_sent"], p["rank_bytes_received"]
        assert (len(times), len(sent), len(received)) == (7, 5, 5)
        near(sum(times) / 7, p["time_s"], "mean of iteration_s")
        assert min(times) == p["time_min_s"] and max(times) == p["time_max_s"]
        if p["scheme"] != "ps":  # all that is sent is sent by ranks
            near(sum(sent), p["bytes_total"], "sum of rank_bytes_sent")
            near(sum(received), p["bytes_total"], "sum of rank_bytes_received")
        assert max(sent) <= p["bytes_sent_max"] * (1 + 1e-12) and max(received) <= p["bytes_received_max"] * (1 + 1e-12)
        more = ("iteration_s", "rank_bytes_sent", "rank_bytes_received", "result_hash")
        assert {k: v for k, v in p.items() if k not in more} == {k: v for k, v in without.items() if k not in more}
        assert p["result_hash"] != without["result_hash"]
    one = points("run", scenario, "--per-rank", "--iterations", "3:4", "--scheme", "alltoall")[0]
    assert max(one["rank_bytes_sent"]) == one["bytes_sent_max"]


@test
def output_appears_whole(folder):
    scenario = on_bible(folder)
    for how in ("table", "json", "csv"):
        out, err = call("run", scenario, "--format", how, "-o", folder / "out")
        assert out == "" and (folder / "out").read_text() == call("run", scenario, "--format", how)[0]
    for arguments in (["list", "schemes"], ["cost", "--M", "1MB", "--density", "1%"], ["check", "allreduce-ring"]):
        call(*arguments, "-o", folder / "out")
        assert (folder / "out").read_text() == call(*arguments)[0] != ""
    assert sorted(p.name for p in folder.iterdir()) == ["out", "s.json"]


@test
def where_nothing_can_be_written_is_known_before_the_work(folder):
    """By its name, of every file that a command writes; what would take hours has not begun."""
    hours = {"trace": {"gradient": {"elements": 1 << 20, "iterations": 1 << 20}}, "cluster": FLAT, "ranks": 16, "schemes": ["topka"]}
    scenario, locked = write(folder, "s.json", hours), folder / "locked"
    locked.mkdir()
    (locked / "link").symlink_to(folder / "none" / "x")
    locked.chmod(0o555)
    log = ROOT / "tests" / "cli" / "data" / "all_reduce_perf.log"
    train = ("train", "--workload", "embrace-lm-rtx3090", "--system", "embrace", "--cluster", "rtx3090-100g-ib", "--ranks", "4", "--iterations", str(10**7))
    learn = ("learn", "--trace", BIBLE, "--batch", "16", "--steps", "10000000", "--scheme", "allgather")
    for arguments in (("run", scenario, "--format", "json", "-o"), ("run", scenario, "--save-baseline"), ("plan", scenario, "-o"), ("check", scenario, "-o"),
                      ("report", scenario, "-o"), (*train, "-o"), (*train, "--timeline"), (*learn, "-o"), (*learn, "--capture"), (*learn, "--plot-data"),
                      ("claims", "-o"), ("plot", "embrace-fig7", "--data"), ("export", "goal", scenario, "-o"), ("trace", "synth", "-o"),
                      ("calibrate", "network", log, "--device-output")):
        done = subprocess.run([PROGRAM, *map(str, arguments), locked / "x.svg"], capture_output=True, text=True, timeout=tap.HANG, cwd=ROOT, env=ENVIRONMENT,
                              preexec_fn=tap.give_up_privileges)
        assert done.returncode == 3 and f"{locked}/x.svg: cannot write: Permission denied" in done.stderr, (arguments, done)
    told = call("report", scenario, "-o", locked / "link", status=2)[1]
    assert f"there is no folder {folder}/none" in told, told
    call("list", "schemes", "-o", "/dev/null")


@test
def nothing_is_left_when_a_signal_ends_the_program(folder):
    """The kernel sends it in the middle of a write: no time is measured. A signal that is ignored stays ignored."""
    def limit(ignored):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN if ignored else signal.SIG_DFL)

    for ignored, status in ((False, -signal.SIGXFSZ), (True, 3)):
        (folder / "out").write_text("old")
        done = subprocess.run([PROGRAM, "list", "schemes", "-o", folder / "out"], env=ENVIRONMENT, capture_output=True, timeout=tap.HANG,
                              preexec_fn=lambda ignored=ignored: limit(ignored), restore_signals=False)
        assert done.returncode == status, (done.returncode, done.stderr)
        assert [p.name for p in folder.iterdir()] == ["out"] and (folder / "out").read_text() == "old"


@test
def nothing_is_left_when_a_signal_ends_a_drawing(folder):
    """A gnuplot that ends who called it: what it was given has no name that could be left."""
    for name in ("bin", "temporary"):
        (folder / name).mkdir()
    fake = folder / "bin" / "gnuplot"
    fake.write_text(f"#!/bin/sh\ncat > {folder}/seen\nkill -TERM $PPID\n")
    fake.chmod(0o755)
    results = write(folder, "r.json", {"points": [{"label": "a", "ranks": r, "time_s": r} for r in (2, 4)]})
    done = subprocess.run([PROGRAM, "plot", results, "-o", folder / "out.svg"], capture_output=True, timeout=tap.HANG,
                          env={**ENVIRONMENT, "PATH": f"{folder}/bin:{os.environ['PATH']}", "TMPDIR": str(folder / "temporary")})
    assert done.returncode == -signal.SIGTERM, (done.returncode, done.stderr)
    assert "set multiplot" in (folder / "seen").read_text()
    assert not list((folder / "temporary").iterdir()) and not (folder / "out.svg").exists()


@test
def help_that_nobody_gets_is_a_failure(folder):
    for arguments in (["--help"], ["--version"], ["run", "--help"], ["trace", "--help"], ["list", "schemes"]):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([PROGRAM, *arguments], stdout=full, stderr=subprocess.PIPE, env=ENVIRONMENT, timeout=tap.HANG)
        assert done.returncode == 3 and b"write" in done.stderr, (arguments, done.returncode, done.stderr)


@test
def chunks_hide_sums(folder):
    """Of a step's sums only the last chunk's is waited for: 4 ranks, a part of 1 MB, 1 GB/s, sums of 0.6 ns a byte."""
    device = {"name": "d", "memory_bandwidth": "5GB/s", "efficiency": 1, "launch": 0}
    trace = {"uniform": {"rows": 15360, "row_width": 64, "density": "1/4", "overlap": "none"}}
    cluster = {"latency": "1us", "bandwidth": "1GB/s"}
    path = write(folder, "c.json", {"trace": trace, "cluster": cluster, "device": device, "ranks": 4,
                                    "schemes": [{"name": "allreduce", "chunks": c, "label": str(c)} for c in (1, 2, 5, 20)]})
    part = 15360 * 64 * 4 / 4
    for p in json.loads(call("run", path, "--format", "json")[0])["points"]:
        c = int(p["label"])
        message, add = 1e-6 + part / c / 1e9, 3 * part / c / 5e9
        assert add < message and abs(p["time_s"] / (3 * (c * message + add) + 3 * c * message) - 1) < 1e-9, (c, p["time_s"])
        assert abs(p["formula_s"] / (6 * (c * 1e-6 + part / 1e9)) - 1) < 1e-9 and p["exact"] is True
    for options, says in (({"algorithm": "tree"}, "of the ring"), ({"hierarchy": "shard"}, "hierarchy"), ({"chunks": 1025}, "chunks"), ({"chunks": 0}, "chunks")):
        bad = write(folder, "bad.json", {"trace": trace, "cluster": {**cluster, "gpus_per_node": 2}, "ranks": 4,
                                         "schemes": [{"name": "allreduce", "chunks": 2, **options}]})
        assert says in call("run", bad, status=2)[1], options


@test
def work_that_hardly_ends_is_told_before_it_begins(folder):
    """2 (P-1) P messages of all pairs; but even rounds of a ring, of as many messages, are one each where ranks share nothing, and are played."""
    for ranks, scheme, messages, cluster in ((1 << 20, "alltoall", "2.2e+12", FLAT), (16384, "zen", "5.4e+08", FLAT),
                                             (1 << 20, "allgather", "1.1e+12", "h100-8x8-400g")):
        scenario = on_bible(folder, cluster=cluster, trace=uniform(rows=1 << 20, width=1, density=1), ranks=ranks, schemes=[scheme], verify=False, iterations=1)
        with subprocess.Popen([PROGRAM, "run", scenario, "--quiet", "--memory", "1e6GB"], env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as run:
            told = run.stderr.readline()
            run.kill()
        assert f"about {messages} messages are to be played, most of them of {scheme} on {ranks} ranks" in told and "sparsync cost" in told, told
    assert not call("run", on_bible(folder, trace=uniform(rows=1 << 14, width=1, density=1), ranks=1 << 14, schemes=["allgather"], verify=False, iterations=1))[1]


@test
def one_rank_sends_nothing(folder):
    schemes = ["allreduce", "allgather", "ps", "alltoall", {"name": "ps", "colocated": True, "label": "c"}]
    for trace in (str(BIBLE), uniform()):
        for p in points("run", on_bible(folder, trace=trace, ranks=1, schemes=schemes, iterations=2)):
            assert (p["time_s"], p["messages"], p["rounds"], p["bytes_total"]) == (0, 0, 0, 0), p["label"]
            assert p["exact"] is True and p["formula_s"] is None


@test
def disjoint_rows_that_just_fit(folder):
    """4 ranks of a quarter of the rows each; a fifth has none left."""
    trace = uniform(rows=64, density="1/4", overlap="none")
    [point] = points("run", on_bible(folder, trace=trace, ranks=4, schemes=["allgather"], iterations=1))
    near(point["gamma"], 4, "gamma")
    assert "8" in call("run", on_bible(folder, trace=trace, ranks=8, schemes=["allgather"], iterations=1), status=2)[1]


def sums_of(point):
    """How many sums the endpoint that computes longest makes, mean over iterations."""
    return sum(point["kernels"].get(kernel, {"calls": 0})["calls"] for kernel in ("merge_sum", "dense_add"))


@test
def what_ranks_compute_before_is_counted(folder):
    """By hand: 4096 elements that all ranks have, of which each selects a 16th, in two iterations. Values are read and indices of
    256 written; a residual of 3840 is added to 4096 in the second; all lies dense, 4 B an element."""
    gradient = {"trace": {"gradient": {"elements": 4096, "iterations": 2}}, "cluster": FLAT, "ranks": 4, "device": "quick", "schemes": ["allgather"]}
    [point] = points("run", write(folder, "s.json", {**gradient, "select": {"topk": "1/16"}}))
    top_k = point["kernels"]["top_k"]
    assert (top_k["calls"], top_k["elements"], top_k["bytes"]) == (1, 256, 4 * 4096 + 4 * 256), top_k
    assert point["kernels"]["merge_sum"]["elements"] == 4 * 256, point["kernels"]  # after the all-gather
    residual = {"calls": 0.5, "elements": 4096 / 2, "bytes": 3 * 4 * 4096 / 2}
    for schemes, k in (("allgather", {"select": {"topk": "1/16"}}), ({"name": "topka", "density": "1/16"}, {})):
        [point] = points("run", write(folder, "s.json", {**gradient, "schemes": [schemes], **k}))
        assert residual.items() <= point["kernels"]["dense_add"].items(), point["kernels"]
    # what stays is copied, and zeros put where something was sent; the message is 256 indices and values, read and written
    assert [point["kernels"]["pack"][name] for name in ("calls", "elements", "bytes")] == [2, 4096 + 256, 2 * 4 * 4096 + 2 * 8 * 256], point["kernels"]
    for scheme in ("topkdsa", "oktopk"):  # who pulled one part joins nothing
        [point] = points("run", write(folder, "s.json", {**gradient, "ranks": 1, "iterations": 1, "schemes": [scheme]}))
        assert "merge_sum" not in point["kernels"], point["kernels"]
    [plain] = points("run", write(folder, "s.json", gradient))
    assert "top_k" not in plain["kernels"] and "coalesce" not in plain["kernels"]  # a gradient has no lookups
    for scheme, coalesces in (("allgather", True), ({"name": "allgather", "coalesce": False}, False), ("allreduce", False)):
        [point] = points("run", on_bible(folder, device="quick", schemes=[scheme]))
        assert ("coalesce" in point["kernels"]) == coalesces, scheme


@test
def folds_are_a_message_each_way_around_a_power_of_two(folder):
    """Where all ranks select the same k entries of 8 B, P ranks with folds take as long as Q = 2^floor(log2 P) without, and a message of
    k entries in and one out, less what the longest of Q's uneven parts does meanwhile; where all of it is sent the result is the dense sum."""
    def played(ranks, folds, k, rho=1):
        document = {"trace": {"gradient": {"elements": 1200, "rho": rho}}, "cluster": FLAT, "iterations": 1, "device": "none", "ranks": ranks,
                    "schemes": [{"name": name, "k": k, **({"folds": True} if folds else {})} for name in ("topkdsa", "oktopk")]}
        return points("run", tap.write_json(folder, document, "folds.json"))

    for ranks in range(3, 14):
        core = 1 << ranks.bit_length() - 1
        message = 48 * 8 * BETA
        most = 2 * (ALPHA + message) if ranks > core else 0
        for with_folds, without in zip(played(ranks, True, 48), played(core, False, 48)):
            around = with_folds["time_s"] - without["time_s"]
            assert most - (message if ranks > core else 0) - 1e-15 <= around <= most + 1e-15, (ranks, with_folds["label"], around)
    for whole in played(6, True, 1200, rho=0.5):
        assert whole["exact"] is not False and (whole["energy"], whole["energy_lost"]) == (1, 0), whole["label"]


@test
def what_dgc_computes_is_counted(folder):
    """By hand: of every 16th of 4096 elements the 16 largest give a threshold; all pass it, with 8 B for each that stays; then what was
    not sent is kept, 16 KiB read and written, and of velocities as much. Less passed than may be sent: nothing is selected of it."""
    scenario = {"trace": {"gradient": {"elements": 4096, "iterations": 1}}, "cluster": FLAT, "ranks": 1, "device": "quick", "schemes": ["allgather"]}
    for momentum in (0, 1):
        select = {"topk": "1/16", "sample": "1/16", **({"momentum": 0.5} if momentum else {})}
        [point] = points("run", write(folder, "s.json", {**scenario, "select": select}))
        sent, kernels = round(point["density"] * 4096), point["kernels"]
        assert 100 < sent < 256 and [kernels["top_k"][k] for k in ("calls", "elements", "bytes")] == [1, 16, 4 * 256 + 4 * 16], kernels
        assert [kernels["pack"][k] for k in ("calls", "bytes")] == [2 + momentum, 4 * 4096 + 8 * sent + (1 + momentum) * 2 * 4 * 4096], kernels
    for select, says in (({"blocks": "1/4", "sample": 0.1}, "single entries"), ({"k": 5, "warm_up": 2}, "topk"),
                         ({"topk": 0.1, "momentum": 0.9, "residual": False}, "kept for later")):
        assert says in call("run", write(folder, "s.json", {**scenario, "select": select}), status=2)[1], select


@test
def a_device_like_another(folder):
    """A tensor of a tenth on a device that is ten times slower takes as long, and so on links as much slower, but for the starts; what
    is said beside "like" is in place of what that file says."""
    def point(rows, device, bandwidth=1e9):
        [it] = points("run", write(folder, "s.json", {"trace": uniform(rows, 1, "1/10"), "ranks": 2, "device": device,
                                                      "cluster": {"latency": 0, "bandwidth": bandwidth}, "schemes": ["allgather"]}))
        return it
    whole, tenth = point(200000, "quick"), point(20000, {"like": "quick", "slower": 10}, 1e8)
    near(tenth["kernel_s"], whole["kernel_s"], "kernels")
    assert tenth["device"] == "quick (10 times slower)" and tenth["kernels"].keys() == whole["kernels"].keys()
    own = json.loads((ROOT / "models/devices/quick.json").read_text())
    assert point(200000, {"like": str(ROOT / "models/devices/quick.json")}) == whole
    assert point(200000, {"like": "quick", "launch": "1s"})["kernel_s"] == point(200000, {**own, "launch": "1s"})["kernel_s"] > 1
    path = write(folder, "s.json", {**json.loads((folder / "s.json").read_text()), "device": {"like": "quick", "slower": 2}})
    [set_after] = points("run", path, "--set", "device.slower=1")
    near(set_after["kernel_s"], whole["kernel_s"], "--set reaches into it")
    refused = call("run", write(folder, "s.json", {**json.loads(path.read_text()), "device": {"like": "quik"}}), status=2)[1]
    assert "quick" in refused and "device.like" in refused, refused


@test
def kernels_are_counted(folder):
    none, quick = (points("run", on_bible(folder, device=d)) for d in ("none", "quick"))
    for a, b in zip(none, quick):
        assert a["kernel_s"] == 0 and a["device"] == "none" and b["device"] == "quick"
        assert b["kernel_s"] > 0 and b["time_s"] > a["time_s"] and b["bytes_total"] == a["bytes_total"], b["label"]


@test
def sums_are_counted(folder):
    """The sums of the busiest rank: one for each part that a round brings, one at the end where all is added at once. (Halving: of
    8 parts 4, 2 and 1; of 6, who stands for a pair adds its 6, then 4 and 2.)
    SparDL adds each block that comes (of q = 8: 4, 2, 1; of 6: 2, 2, 1; of teams of 4: 2, 1; of 3: 1, 1), a sum more where teams
    gather, joins, and sums what it dropped, twice; from the second of the two iterations on it adds its residual, as gTopk does."""
    device = {"name": "one second a kernel", "memory_bandwidth": 1e300, "efficiency": 1, "launch": "1s"}
    point = "design:{}/{}/{}/coo".format
    sums = {  # by scheme: of 8 ranks, of 6 (a core of 4, of which two stand for a pair)
        point("ring", "incremental", "parallel/even"): (7, 5), point("ring", "one-shot", "parallel/even"): (1, 1),
        point("hierarchy", "incremental", "parallel/even"): (7, 12),
        point("hierarchy", "one-shot", "parallel/even"): (1, 2),
        point("ring", "incremental", "central"): (7, 5), point("hierarchy", "incremental", "central"): (3, 3),
        point("p2p", "one-shot", "parallel/even"): (1, 1), "sparcml-rd": (3, 3), "zen": (1, 1), "allgather": (1, 1), "ps": (1, 1),
        "allreduce": (7, 5), "allreduce, tree": (3, 3)}
    selecting = {"spardl": (10.5, 8.5), "spardl, R-SAG": (7.5, 6.5), "spardl, B-SAG": (7.5, 6.5), "gtopk": (3.5, None)}
    options = {"spardl, R-SAG": {"teams": 2, "sag": "recursive"}, "spardl, B-SAG": {"teams": 2, "sag": "bruck"},
               "allreduce, tree": {"algorithm": "tree"}}
    for place, ranks in enumerate((8, 6)):
        for wanted in (sums, selecting):
            schemes = [{"name": s.split(",")[0], "label": s, **options.get(s, {})} for s in wanted if ranks == 8 or s != "gtopk"]
            for p in points("run", on_bible(folder, trace={"gradient": {"elements": 4800}}, ranks=ranks, schemes=schemes, iterations=2,
                                            device=device)):
                assert abs(sums_of(p) - wanted[p["label"]][place]) < 1e-9, (p["label"], ranks, p["kernels"])
                near(p["kernel_s"], sum(k["calls"] for k in p["kernels"].values()), p["label"])


@test
def merged_ranks(folder):
    """16 ranks merged by 4 are 4 ranks that hold the unions."""
    merged = points("run", on_bible(folder, ranks=4, merge=4, schemes=["allgather", "allreduce"]))
    plain = points("run", on_bible(folder, ranks=16, schemes=["allgather", "allreduce"]))
    assert merged[0]["ranks"] == 4 and merged[0]["exact"] is True
    assert merged[0]["density"] > plain[0]["density"]
    near(merged[0]["density"] * merged[0]["gamma"], plain[0]["density"] * plain[0]["gamma"], "the union", 0.02)
    near(merged[1]["bytes_total"], plain[1]["bytes_total"] * 3 / 15, "dense traffic")


def write_trace(path, tensors):
    """Of tensors (name, rows, row width, segments), two ranks."""
    traces.write(path, [(traces.tensor(*table), segments) for *table, segments in tensors], 2)


def two_tensors(path):
    write_trace(path, [("A", 10, 4, [[1, 2, 2], [3]]), ("B", 6, 8, [[], [5, 0]])])


@test
def iterations_without_rows(folder):
    """They have no balance, and are not in its mean. Halves of 16 rows: all pushed to one (2), 1 and 2 of 3 (4/3); the
    unions lie 5 + 0 (2) and 2 + 2 (1)."""
    write_trace(folder / "ragged.safetensors", [("T", 16, 4, [[1, 2, 3], [4, 5], [], [], [1], [7, 8, 9]])])
    p, = points("run", on_bible(folder, trace=str(folder / "ragged.safetensors"), ranks=2, iterations=3,
                                schemes=["sparcml-split"]))
    assert (p["push_imbalance"], p["pull_imbalance"]) == (2, 1.5), p
    p, = points("run", on_bible(folder, trace=str(folder / "ragged.safetensors"), ranks=2, iterations="1:2",
                                schemes=["sparcml-split"]))
    assert p["push_imbalance"] is None and p["pull_imbalance"] is None and p["exact"] is True


@test
def data_belong_to_the_program_that_is_run(folder):
    """A program that was installed elsewhere reads what was installed with it, and no checkout; a scenario is found by name."""
    def installed(*arguments, **environment):
        return subprocess.run([folder / "bin" / "sparsync", *arguments], capture_output=True, text=True, timeout=tap.HANG, cwd=folder,
                              env={k: v for k, v in {**os.environ, **environment}.items() if v}, check=False)

    (folder / "bin").mkdir()
    shutil.copy(PROGRAM, folder / "bin" / "sparsync")
    for data in ("share/sparsync", "other"):
        for things in ("models", "scenarios", "traces"):
            shutil.copytree(ROOT / things, folder / data / things)
        write(folder / data / "models" / "clusters", f"only-{data[:5]}.json", {**FLAT, "name": "x"})
    for wanted, lists, environment in (("share/sparsync", "only-share", {"SPARSYNC_DATA": ""}), ("other", "only-other", {"SPARSYNC_DATA": "other"})):
        told = installed("--version", **environment).stdout
        assert told.startswith("sparsync 0.") and f"{wanted} (" in told and str(ROOT) not in told, told
        clusters = installed("list", "clusters", **environment).stdout
        assert lists in clusters and clusters.count("only-") == 1, clusters
    for name in ("shared-nic", "scenarios/shared-nic.json"):
        done = installed("check", name, SPARSYNC_DATA="")
        assert done.stdout == f"{name}: 6 points, 3 expectations hold\n", done
        assert "allgather:rings=1 is likely fastest" in installed("run", name, SPARSYNC_DATA="").stdout
    wrong = installed("run", "shared-nick", SPARSYNC_DATA="")
    assert wrong.returncode == 2 and 'did you mean "shared-nic"?' in wrong.stderr, wrong
    shutil.rmtree(folder / "share")
    assert str(ROOT) not in installed("--version", SPARSYNC_DATA="").stdout, "the checkout is none of its business"
    build = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=True, env={k: v for k, v in os.environ.items() if k != "SPARSYNC_DATA"})
    assert f"data: {ROOT} (" in build.stdout, build


@test
def terminals_have_colours_and_files_the_same_bytes(folder):
    """Heads of tables, warnings and errors; never where NO_COLOR says not to, the terminal is dumb, or nobody looks on."""
    def shown(*arguments, **environment):
        """What a terminal gets."""
        here, there = os.openpty()
        process = subprocess.Popen([PROGRAM, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=there, stderr=there, cwd=ROOT,
                                   env={**ENVIRONMENT, "TERM": "xterm", **environment})
        waiting = threading.Thread(target=lambda: (process.wait(tap.HANG), os.write(there, b"\0")))  # while a side is open nothing is cut off
        waiting.start()
        parts = [os.read(here, 65536)]
        while not parts[-1].endswith(b"\0"):
            parts.append(os.read(here, 65536))
        waiting.join()
        os.close(here)
        os.close(there)
        return b"".join(parts)[:-1].decode().replace("\r\n", "\n")

    plain = {key: value for key, value in ENVIRONMENT.items() if key != "NO_COLOR"}
    ENVIRONMENT.clear()
    ENVIRONMENT.update(plain)
    listed = ("list", "devices")
    text, bare = shown(*listed), call(*listed)[0]
    assert text.startswith("\33[1mname ") and re.sub("\33" + r"\[[0-9;]*m", "", text) == bare and "\33" not in bare, text[:200]
    assert shown(*listed, NO_COLOR="1") == shown(*listed, TERM="dumb") == bare
    assert shown(*listed, OMPI_COMM_WORLD_RANK="0", OMPI_COMM_WORLD_SIZE="1") == bare, "mpirun's terminal may be a file in the end"
    assert "\33" in shown(*listed, NO_COLOR="")
    assert shown("run", "demoo").startswith("\33[1;31msparsync run:\33[0m ") and "\33" not in call("run", "demoo", status=2)[1]
    inside = ("collective", "allgather", "--cluster", "p3.16xlarge-25g", "--ranks", 2, "--sizes", "1MiB")
    assert ": \33[33mwarning:\33[0m 2 ranks are" in shown(*inside) and "\33" not in "".join(call(*inside))


@test
def manual_and_documents_are_there(folder):
    """The manual page has every command, and an installation the documents."""
    page = (ROOT / "docs" / "sparsync.1").read_text()
    verbs = {name: re.findall(r"^  ([a-z]+)  ", call(name, "--help")[0].split("examples:")[0], re.M)
             for name in re.findall(r"^  ([a-z]+)  ", call("--help")[0], re.M)}
    assert len(verbs) >= 16 and len(verbs["trace"]) == 6, verbs
    for name, inner in verbs.items():
        for verb in inner or [""]:
            wanted = f"{name} {verb}".strip()
            assert re.search(rf"^\.It Cm {wanted}\b", page, re.M) or re.search(rf"^\.It Cm {name} .*\b{verb}\b", page, re.M), wanted
    if shutil.which("meson") and (pathlib.Path(PROGRAM).parent / "meson-info").exists():
        plan = json.loads(subprocess.run(["meson", "introspect", pathlib.Path(PROGRAM).parent, "--install-plan"], capture_output=True, check=True).stdout)
        places = {pathlib.Path(to["destination"]).name for kind in ("data", "install_subdirs", "man") for to in plan.get(kind, {}).values()}
        assert {"README.md", "CHANGELOG.md", "LICENSE", "docs", "examples", "sparsync.1", "models"} <= places, places


@test
def one_process_of_exec_hears_how_to_start_several(folder):
    _, err = call("exec", on_bible(folder, ranks=1, iterations="0:1", schemes=["allgather"]))
    assert "one process has nobody to send to (mpirun -n 4 sparsync exec ..." in err, err
    assert ("--allow-run-as-root" in err) == (os.geteuid() == 0), err
    assert "--allow-run-as-root" in call("exec", "--help")[0]


@test
def answers_come_first_in_brief(folder):
    """A sentence a place, then a row a scheme with the busiest rank's bytes and a bar as long as its time; README shows this."""
    out = call("run", "scenarios/demo.json")[0]
    assert f"```\n{out}```\n" in (ROOT / "README.md").read_text(), "the README's first screen is not what the program says"
    found = points("run", "scenarios/demo.json")
    head, table, notes = out.split("\n\n")
    assert "kernels as on several devices (estimated; --device none leaves them out)" in notes and "--wide" in notes
    head, offers = head.split("\n")[:3], head.split("\n")[3:]
    assert [re.match("In PyTorch: nobody offers (\\w+): ", line)[1] for line in offers] == ["allgather"], "gloo has it, these have NCCL"
    assert [re.split("[ ,]", line.split(": ")[1])[0] for line in head] == ["allgather"] * 3, head
    rows = table.splitlines()[2:]
    assert len(rows) == len(found) == 12 and all(p["exact"] is True and p["iterations"] == 50 for p in found)
    for row, p in zip(rows, found):
        most = max(q["time_s"] for q in found if q["cluster"] == p["cluster"])
        assert f" {p['label']} " in row and row.count("#") == max(1, int(12 * p["time_s"] / most)), (row, p)
        assert f" {max(p['bytes_sent_max'], p['bytes_received_max']) / 1e6:.3g} MB " in row, (row, p)
    assert "--wide" in call("run", "scenarios/demo.json", "--wide", "--format", "json", status=2)[1]
    wide = call("run", "scenarios/demo.json", "--wide")[0]
    assert all(line in wide for line in head) and "closed form" in wide and "closed form" not in table
    one = call("run", on_bible(folder))[0]
    assert one.split("\n\n")[1].startswith("scheme "), "one place needs no name in the table"


@test
def brief_tables_tell_what_is_left_out(folder):
    scenario = on_bible(folder, trace={"gradient": {"elements": 4096}}, ranks=2, schemes=["allreduce", "topka"])
    header = call("run", scenario)[0].split("\n\n")[1].splitlines()[0]
    assert "energy" in header and "energy" not in call("run", on_bible(folder))[0], header


@test
def options_are_everywhere_where_they_make_sense(folder):
    """Commands by options: + it is there, - it is not, r it is refused with what to do instead."""
    options = ("-o", "--quiet", "--format", "--jobs", "--memory", "--tensor", "--scheme", "--cluster", "--ranks", "--iterations")
    matrix = """
        run            + + + + + + + + + +        plan           + + + + + + + + + +
        train          + + + + + r r + + +        learn          + + + + + - + - + -
        cost           + + + - - - r + + -        crossover      + + + + + - r + + -
        collective     + + + - - - - + + -        check          + + + + + - r - r -
        exec           + + + r + + + + r +        plot           + + r - + + + - + -
        report         + + r + + + + + + +        claims         + + + + + - - - - -
        list           + + + - - - - - - -        trace import   + + r - + + - - + +
        trace synth    + + r - + + - - + +        trace fit      + + + - + + - - + +
        trace merge    + + r - + + - - - -        trace stats    + + + - + + - - + +
        trace info     + + + - - + - - - -        calibrate network + + + - - - - - + -
        calibrate training + + + + + - - - - -    calibrate kernels + + r - - - - - - -
        export goal    + + r - + + + + + +        export chakra  + + r - + + + + + +"""
    for row in re.findall(r"((?:\w+ )?\w+) +((?:[-+r] ?){10})", matrix):
        command, wanted = row[0].split(), row[1].split()
        for option, want in zip(options, wanted):
            value = [] if option == "--quiet" else ["1"]
            said = call(*command, option, *value, "--no-such", status=2)[1]
            found = "-" if f'unknown option "{option}"' in said else "r" if f"no {option} here: " in said else "+"
            assert found == want, (command, option, said)
            assert said.startswith(f"sparsync {' '.join(command)}: "), said
    for command in COMMANDS:
        assert call(command, "-h")[0].startswith("usage: ")


def with_input(text, *arguments):
    done = subprocess.run([PROGRAM, *map(str, arguments)], input=text, capture_output=True, timeout=tap.HANG, cwd=ROOT, env=ENVIRONMENT)
    assert done.returncode == 0, (arguments, done.stderr)
    return done.stdout.decode()


@test
def whatever_is_read_may_come_from_standard_input(folder):
    """A pipe, and a file: the same answers as from the file by its name, however often it is read."""
    scenario = on_bible(folder, ranks=2, iterations="0:1", expect=[{"that": "time_s", "of": "ps", "is": ">", "than": 0}])
    flat, results = write(folder, "flat.json", FLAT), folder / "r.json"
    call("run", scenario, "--format", "json", "-o", results)
    small = ("--iterations", "0:1", "--ranks", "2", "--scheme", "ps")
    for file, arguments in ((scenario, ("run", "@")), (scenario, ("plan", "@")), (scenario, ("check", "@")),
                            (BIBLE, ("trace", "info", "@", "--format", "json")), (BIBLE, ("trace", "stats", "@", "--ranks", "2", "--format", "json")),
                            (BIBLE, ("run", "--trace", "@", "--cluster", flat, *small)),
                            (flat, ("run", "--trace", BIBLE, "--cluster", "@", *small)), (results, ("run", scenario, "--baseline", "@")),
                            (results, ("plot", "@", "--data", "-")), (ROOT / "models" / "costs" / "zen-coo.json",
                             ("cost", "--file", "@", "zen", "--M", "1MB", "--density", "1%", "--ranks", "4", "--format", "csv"))):
        named = call(*(file if a == "@" else a for a in arguments))[0]
        piped = with_input(file.read_bytes(), *("-" if a == "@" else a for a in arguments))
        assert piped == named.replace(str(file), "-").replace("zen,zen-coo,", "zen,-,"), (arguments, piped, named)
    with open(scenario) as stream:
        done = subprocess.run([PROGRAM, "run", "-"], stdin=stream, capture_output=True, text=True, cwd=ROOT, env=ENVIRONMENT, timeout=tap.HANG)
    assert done.stdout == call("run", scenario)[0]


@test
def tensors_are_chosen(folder):
    """As the whole run has them; "*" is of those that are left."""
    lstm = ROOT / "traces" / "lstm-bible-4.safetensors"
    run = ("--trace", lstm, "--cluster", write(folder, "flat.json", FLAT), "--iterations", "0:2", "--scheme", "ps,zen:format=coo")
    names = ("lstm.weight_hh_l0.grad", "encoder.weight")
    every = points("run", *run)
    assert {p["tensor"] for p in every} == {*names, "*"}
    for name in names:
        assert points("run", *run, "--tensor", name) == [p for p in every if p["tensor"] == name]
        assert points("run", *run, "--set", f"tensors={name}") == [p for p in every if p["tensor"] == name]
    both = points("run", *run, "--tensor", names[0], "--tensor", names[1])
    assert [p["tensor"] for p in both] == [names[0]] * 2 + [names[1]] * 2 + ["*"] * 2
    assert sorted((p["label"], p["tensor"], p["time_s"]) for p in both) == sorted((p["label"], p["tensor"], p["time_s"]) for p in every)
    assert points("run", *run[:-1], "topka", "--tensor", names[0])[0]["label"] == "topka", "its values are all that is needed"
    assert 'did you mean "encoder.weight"' in call("run", *run, "--tensor", "encoder.weigt", status=2)[1]
    assert f"--tensor {names[0]} is said twice" in call("run", *run, "--tensor", names[0], "--tensor", names[0], status=2)[1]
    assert "only a captured" in call("run", on_bible(folder, trace=uniform(), tensors="x"), status=2)[1]
    for command in (("trace", "stats", lstm), ("trace", "info", lstm), ("trace", "fit", lstm, "--ranks", "8")):
        document = json.loads(call(*command, "--tensor", names[0], "--format", "json")[0])
        whole = json.loads(call(*command, "--format", "json")[0])
        assert document["tensors"] == [t for t in whole["tensors"] if t["name"] == names[0]], command
        assert 'no tensor "x"' in call(*command, "--tensor", "x", status=2)[1]


@test
def several_clusters_are_a_sweep(folder):
    names = ["rtx3090-10gbe", "rtx3090-1gbe"]
    one = on_bible(folder, iterations="0:1")
    swept = points("run", one, "--set", "sweep=" + json.dumps({"cluster": names, "index_bytes": [4, 8]}))
    assert points("run", one, "--cluster", ",".join(names), "--set", "sweep.index_bytes=[4, 8]") == swept and len(swept) == 16
    assert points("run", on_bible(folder, iterations="0:1", sweep={"index_bytes": [4, 8]}), "--cluster", ",".join(names)) == swept
    of_three = on_bible(folder, iterations="0:1", sweep={"cluster": [FLAT, *names], "index_bytes": [4, 8]})
    assert points("run", of_three, "--cluster", ",".join(names)) == swept, "what is named counts, not what the scenario sweeps"
    assert points("run", of_three, "--cluster", names[1]) == swept[8:]
    told = call("run", one, "--cluster", ",".join(names))[0]
    assert all(name in told and f"cluster {name}" not in told for name in names), told
    cells = re.findall(r"^\d+ ranks on (\S+), (.*)", told, re.M)
    assert {name for name, _ in cells} == set(names) and not any("cluster = " in rest for _, rest in cells), cells


@test
def costs_take_schemes_with_options(folder):
    cost = ("--M", "1MB", "--density", "1%", "--ranks", "4")
    by_form = {p["form"]: p for p in points("cost", *cost)}
    assert points("cost", "zen:format=coo", *cost) == points("cost", "zen-coo", *cost) == [by_form["zen-coo"]]
    spardl = points("cost", "spardl", "--teams", "2", *cost)
    assert points("cost", "spardl:teams=2", *cost)[0]["formula_s"] in [p["formula_s"] for p in spardl]
    assert 'called "zenn"' in call("cost", "zenn:format=coo", *cost, status=2)[1]


@test
def schemes_have_options_on_the_command_line(folder):
    """As in a scenario: the same points, labelled as they were written."""
    written = "zen:format=coo,balance=even,allgather,design:ring/incremental/central/coo,ps:servers=2"
    schemes = [{"name": "zen", "format": "coo", "balance": "even", "label": "zen:format=coo,balance=even"}, "allgather",
               "design:ring/incremental/central/coo", {"name": "ps", "servers": 2, "label": "ps:servers=2"}]
    assert points("run", on_bible(folder), "--scheme", written) == points("run", on_bible(folder, schemes=schemes))
    assert "zen:format=coo" in call("plan", on_bible(folder), "--scheme", "zen:format=coo")[0]
    for scheme, key in (("allreduce:sizes=exchanged", "sizes"), ("ps:dense=true,ragged=padded", "ragged"), ("s2:sizes=exchanged", "sizes")):
        assert f"schemes[0].{key}: how long messages" in call("run", on_bible(folder), "--scheme", scheme, status=2)[1]
    assert "schemes[0].formt: unknown key" in call("run", on_bible(folder), "--scheme", "zen:formt=coo", status=2)[1]


@test
def memory_beyond_what_may_be_taken_is_refused(folder):
    """16 lists of a quarter of 4 Mi ids are 64 MiB."""
    scenario = write(folder, "s.json", {"trace": uniform(rows=1 << 22, width=1, density="1/4"), "cluster": FLAT, "ranks": 16, "verify": False,
                                        "schemes": ["sparcml-rd"]})
    told = call("run", scenario, "--memory", "60MB", "--jobs", "1", status=3)[1]
    assert "sparcml-rd on 16 ranks takes at least 67.1 MB of memory, 60 MB may be taken" in told and "--memory says otherwise" in told, told
    # the lists alone would have room: what else is needed has none, and is found out later
    told = call("run", scenario, "--memory", "80MB", "--jobs", "1", status=3)[1]
    assert "out of memory while " in told and "80 MB may be taken: --memory says otherwise" in told, told
    # nothing of a sweep is played when its last place cannot be; the proof's sum has 9 bytes a row, and 2^32 - 1 rows
    huge = write(folder, "h.json", {"trace": uniform(rows=(1 << 32) - 1, width=1, density="1/65537"), "cluster": FLAT, "ranks": 2, "schemes": ["sparcml-rd"]})
    assert "takes at least 38.7 GB" in call("run", huge, "--memory", "4GB", status=3)[1]
    swept = write(folder, "w.json", {**json.loads(pathlib.Path(scenario).read_text()), "sweep": {"trace.uniform.density": [1 / 1024, 0.25]}})
    assert 'at trace.uniform.density = 0.25: ' in call("run", swept, "--memory", "60MB", status=3)[1]
    crossed = ("crossover", "zen", "allreduce", "--over", "density", "--M", "1GB", "--ranks", "64", "--simulate")
    told = call(*crossed, "--memory", "2GB", status=3)[1]
    assert "density = 1: zen on 64 ranks takes at least 64 GB of memory" in told, told
    call("run", scenario, "--memory", "2GB", "--jobs", "1")
    call("run", scenario)


@test
def memory_is_estimated_before_it_is_taken(folder):
    """By hand. Of a gradient: one list, values of 16 ranks and, as a hundredth is sent, the rest with its places, thrice: of the
    iteration before, in the sum, and for the next; of a lossless scheme also 9 B a row of the proof. Of a learner: two tables, their elements and Adagrad's sums. Of a training: 4
    iterations of 2^14 entries of each rank, as many as stand for a tensor."""
    elements, ranks = 1 << 20, 16
    kept = ranks * (elements - math.ceil(elements / 100)) * 12
    gradient = {"trace": {"gradient": {"elements": elements}}, "cluster": FLAT, "ranks": ranks, "schemes": [{"name": "topka", "density": "1/100"}]}
    two = write(folder, "g.json", {**gradient, "iterations": 2})
    one = write(folder, "one.json", {**gradient, "iterations": 1})
    selected = write(folder, "s.json", {**gradient, "schemes": ["allgather"], "iterations": 2, "select": {"topk": "1/100"}})
    plain = 4 * elements + ranks * elements * 8
    uniform_lists = write(folder, "u.json", {"trace": uniform(rows=1 << 22, width=1, density="1/4"), "cluster": FLAT, "ranks": 16, "schemes": ["sparcml-rd"]})
    learn = ("learn", "--trace", BIBLE, "--batch", "16", "--vocab", "1000", "--width", "65536", "--scheme", "allgather")
    (folder / "words.txt").write_text("one two " * 20000)  # of 8 ranks a sequence each; for each word three of state, cell and gradient, and four gates
    lstm = ("learn", "--model", "lstm", "--text", folder / "words.txt", "--seq", "4096", "--batch", "1", "--width", "512", "--steps", "1", "--scheme", "allgather")
    train = ("train", "--workload", "spardl-vgg-16", "--system", "spardl", "--cluster", "rtx3090-10gbe", "--ranks", "256")
    for arguments, who, need in (
            (("run", two), "topka on 16 ranks", plain + 3 * kept), (("run", one), "topka on 16 ranks", plain + kept),
            (("plan", two, "--scheme", "topka:density=0.01", "--lossy"), "topka:density=0.01 on 16 ranks", plain + 3 * kept),
            (("run", selected), "allgather on 16 ranks", plain + 3 * (kept + ranks * 12 * (math.ceil(elements / 100) - round(elements / 100))) + 9 * elements),
            (("export", "goal", uniform_lists, "-o", folder / "x"), "sparcml-rd on 16 ranks", 16 << 22), (learn, "a training of two tables of 1000 rows of 65536 elements", 1000 * 65536 * 2 * 2 * 8),
            (lstm, "a training of two tables of 4 rows of 512 elements", 8 * 512 * (2 * (2 * 4 + 4 * 1025) + 8 * 7 * 4096)),
            (train, "spardl on 256 ranks", 256 * 4 * (1 << 14) * 8), (("trace", "synth", "--tokens", 10**8, "-o", folder / "t"), "a synthetic trace", 160 * 4 * 10**8)):
        told = call(*arguments, "--memory", "60MB", status=3)[1]
        found = re.search(r" takes at least ([0-9.]+) ([kMG])B of memory, 60 MB may be taken: .* takes? less.*; --memory says otherwise", told)
        assert found and told[:found.start()].endswith(f": {who}"), (arguments, told)
        near(float(found[1]) * {"k": 1e3, "M": 1e6, "G": 1e9}[found[2]], need, told, 0.005)


@test
def several_tensors(folder):
    two_tensors(folder / "two.safetensors")
    found = points("run", on_bible(folder, trace=str(folder / "two.safetensors"), ranks=2, iterations=1,
                                   schemes=["allgather", "ps"]))
    assert [(p["tensor"], p["label"]) for p in found] == [(t, s) for t in ("A", "B", "*") for s in ("allgather", "ps")]
    a, b, both = found[0], found[2], found[4]
    near(a["time_s"], ALPHA + 2 * 20 * BETA, "A: the longer message")
    near(b["time_s"], ALPHA + 2 * 36 * BETA, "B: one rank is empty")
    assert (a["bytes_total"], b["bytes_total"]) == (60, 72) and both["exact"] is True
    for key in ("time_s", "bytes_total", "messages", "rounds"):
        near(both[key], a[key] + b[key], key)
    assert "all tensors together" in call("run", folder / "s.json")[0]
    expect = [{"that": "bytes_total", "of": "allgather", "is": "=", "than": 132, "within": 0},
              {"that": "bytes_total", "of": "allgather", "is": "=", "than": 60, "within": 0, "tensor": "A"}]
    call("check", on_bible(folder, trace=str(folder / "two.safetensors"), ranks=2, iterations=1, schemes=["allgather"],
                           expect=expect))


@test
def synthetic_traces(folder):
    synth = {"synth": {"rows": 1000, "row_width": 8, "ranks": 4, "iterations": 2, "tokens": 50, "seed": 7}}
    found = points("run", on_bible(folder, trace=synth, iterations=2))
    assert all(p["exact"] is True and p["seed"] == 7 and p["ranks"] == 4 for p in found)
    assert found == points("run", on_bible(folder, trace=synth, iterations=2))
    # an edit by one name of the lookups replaces the other, also where an axis makes it
    sent = [(p["time_s"], p["bytes_total"]) for p in found]
    for name, old in (("lookups", "tokens"), ("tokens", "lookups")):
        other = {"synth": {**{k: v for k, v in synth["synth"].items() if k != "tokens"}, old: 9}}
        for more, edits in (({}, ["--set", f"trace.synth.{name}=50"]), ({"sweep": {f"trace.synth.{name}": [50]}}, [])):
            again = points("run", on_bible(folder, trace=other, iterations=2, **more), *edits)
            assert [(p["time_s"], p["bytes_total"]) for p in again] == sent


# --- cost -------------------------------------------------------------------------------------------------------------


def costs(*arguments):
    return {(p["form"], p["ranks"]): p for p in points("cost", *arguments)}


@test
def cost_is_arithmetic(folder):
    """The forms that `check` plays, with the numbers of the command line."""
    found = costs("--M", "1MiB", "--density", "1/16", "--row-width", "64", "--ranks", "4..16", "--servers", "2", "--gamma", "none",
                  "--latency", "10us", "--bandwidth", "1GB/s")
    sparse, x = 2**20 / 16, 256 * 260
    for p in (4, 8, 16):
        near(found["allreduce-ring", p]["formula_s"], 2 * (p - 1) * (ALPHA + 2**20 / p * BETA), f"ring on {p} ranks")
        near(found["ps-union", p]["formula_s"], 2 * p * ALPHA + p / 2 * (1 + p) * x * BETA, f"ps on {p} ranks")
    assert {ranks for _, ranks in found} == {4, 8, 16}
    # As EmbRace's Table 2 prints them: no indices, d*M everywhere.
    near(found["allgather-ring", 8]["paper_s"], 7 * (ALPHA + sparse * BETA), "AllGather as printed")
    near(found["alltoall-both", 8]["paper_s"], 2 * 7 * (sparse / 8 * BETA + ALPHA), "AlltoAll as printed")
    assert "EmbRace" in found["alltoall-both", 8]["printed_in"] and found["alltoall-both", 8]["erratum"]


@test
def cost_gamma(folder):
    arguments = ["ps", "--M", "1MB", "--density", "1%", "--ranks", "4", "--servers", "1", "--latency", "1us", "--bandwidth", "1GB/s"]
    x = 2500 * 8
    for text, gamma in (("random", (1 - 0.99**4) / 0.01), ("full", 1), ("none", 4), ("1,1.5,2,3", 3), ("1,1.5", 1.5)):
        point = costs(*arguments, "--gamma", text)["ps-union", 4]
        near(point["gamma"], gamma, text)
        near(point["formula_s"], 8e-6 + 4 * (1 + gamma) * x * 1e-9, f"gamma {text}")
    near(costs(*arguments)["ps-union", 4]["gamma"], (1 - 0.99**4) / 0.01, "default")


@test
def cost_examples(folder):
    found = costs("--M", "856MB", "--density", "2.8%", "--row-width", "64", "--ranks", "4..64")
    assert {ranks for _, ranks in found} == {4, 8, 16, 32, 64}
    near(found["allreduce-ring", 4]["formula_s"], 6 * (25e-6 + 856e6 / 4 / 3.125e9), "on the default cluster")
    table = call("cost", "allgather", "--M", "1MB", "--density", "1%", "--ranks", "4")[0]
    assert "allgather-ring" in table and "alltoall" not in table
    rows = list(csv.DictReader(io.StringIO(call("cost", "--M", "856MB", "--density", "2.8%", "--row-width", "64", "--ranks",
                                                "4..64", "--format", "csv")[0])))
    assert len(rows) == len(found)
    for row in rows:
        point = found[row["form"], int(row["ranks"])]
        for key in ("formula_s", "paper_s", "gamma", "density"):
            assert (row[key] == "") == (point[key] is None), key
            if row[key]:
                near(float(row[key]), point[key], key)
        assert row["scheme"] == point["scheme"] and row["formula"] == (point["formula"] or "")


@test
def cost_on_nodes(folder):
    """Two cards for four ranks of a node, by hand."""
    nodes = ["--gpus-per-node", "4", "--nics", "2", "--intra-latency", "2us", "--intra-bandwidth", "8GB/s"]
    found = costs("--M", "1MiB", "--density", "1/16", "--row-width", "64", "--ranks", "2,4,6,8,16", "--gamma", "none",
                  "--latency", "10us", "--bandwidth", "1GB/s", *nodes)
    far, near_, inside, outside = 10e-6, 2e-6, 1 / 8e9, 1 / 1e9
    x, steps = 256 * 260, {8: 1, 16: 2}  # bytes; rounds of a doubling that leave a node of four

    def holds(form, p, seconds, kind):
        point = found[form, p]
        near(point["placed_s"], seconds, f"{form} on {p} ranks")
        assert point["placed"] == kind and (point["gpus_per_node"], point["nics"]) == (4, 2), point

    for p in (8, 16):
        # of a ring a card, each step waits for the one message that leaves a node by it
        holds("allgather-ring", p, (p - 1) * (far + x / 2 * outside), "exact")
        holds("allgather-recursive-doubling", p, 2 * near_ + 3 * x * inside + steps[p] * far + (p - 4) * x * 2 * outside, "exact")
        # without overlap a rank sends sums of 1, 2, 4, ... ranks, so as many bytes
        holds("sparcml-rd", p, 2 * near_ + 3 * x * inside + steps[p] * far + (p - 4) * x * 2 * outside, "bound")
        share = 256 * (256 / p + 4)
        port = 3 * (near_ + share * inside) + (p - 4) * (far + share * outside)
        holds("alltoall-gradients", p, max(port, 2 * (p - 4) * share * outside), "bound")
    for p in (2, 4):  # one node: the flat form of its own links
        holds("alltoall-gradients", p, (p - 1) * (near_ + 256 * (256 / p + 4) * inside), "exact")
    for cards, servers in ((1, 2), (1, 8), (2, 8), (4, 8)):
        # all 8 ranks to each server and back, half of them from the other node; a card has one way of all its servers, at least
        away = costs("--M", "1MiB", "--density", "1/16", "--row-width", "64", "--ranks", "8", "--gamma", "none", "--latency", "10us",
                     "--bandwidth", "1GB/s", "--servers", servers, *nodes[:3], cards, *nodes[4:])
        share = 2 ** 20 / servers
        port = 8 * (far + share * outside) + 8 * (near_ + share * inside)
        near(away["ps-dense", 8]["placed_s"], max(port, servers / 2 / cards * 4 * share * outside), f"{servers} servers, {cards} cards")
    assert found["allgather-recursive-doubling", 6]["placed_s"] is found["allgather-ring", 6]["placed_s"] is None
    near(found["allgather-ring", 8]["formula_s"], 7 * (far + x * outside), "the flat form stays as it is")
    out, _ = call("cost", "alltoall", "--M", "1MiB", "--density", "1/16", "--row-width", "64", "--ranks", "4,16", *nodes)
    assert ">= " in out and "4 GPUs and 2 cards a node; inside a node 2 us, 64 Gbit/s" in out, out


@test
def cost_of_a_form_of_ones_own(folder):
    write(folder, "mine.json", {"scheme": "ps", "exact": "P*alpha + S*x*beta + max(d, gamma(2))*0 + floor(2.5) - 2"})
    point, = points("cost", "--file", folder / "mine.json", "--M", "8kB", "--density", "10%", "--ranks", "3", "--servers", "2",
                    "--latency", "1s", "--bandwidth", "1B/s")
    near(point["formula_s"], 3 + 2 * 200 * 8, "P*alpha + S*x*beta")


# --- check ------------------------------------------------------------------------------------------------------------


@test
def check_holds(folder):
    checks = json.loads(call("check", "--format", "json")[0])["checks"]
    assert len(checks) > 1000 and all(c["ok"] and c["relative"] <= 1e-9 for c in checks)
    forms = {path.stem: json.loads(path.read_text()) for path in (ROOT / "models" / "costs").glob("*.json")}
    shipped = {name for name, form in forms.items() if form.get("exact") or form.get("exact_low")}
    assert {c["point"]["form"] for c in checks} == shipped
    assert {c["point"]["P"] for c in checks} >= {2, 3, 4, 6, 8, 16, 24, 64}
    for c in checks:
        if c["exact_s"] is not None:
            near(c["simulated_s"], c["exact_s"], str(c["point"]))
        else:
            assert c["low_s"] * (1 - 1e-9) <= c["simulated_s"] <= c["high_s"] * (1 + 1e-9), str(c["point"])
        if c["touches"]:
            near(c["simulated_s"], c[f"{c['touches']}_s"], str(c["point"]))
    assert {c["touches"] for c in checks} == {None, "low", "high"}


@test
def forms_hold_in_all_ways(folder):
    """What `steps` promises is checked; and padded to the longest rank's rows, a form holds on a trace whose ranks differ."""
    checks = json.loads(call("check", "zen-coo", "topka", "ps-dense", "allgather-bruck", "--format", "json")[0])["checks"]
    ways = {(c["point"]["form"], c["point"]["sizes"], c["point"]["ragged"]) for c in checks}
    told = {(form, "exchanged", ragged) for form in ("zen-coo", "topka", "allgather-bruck") for ragged in ("v", "broadcasts", "padded")}
    assert ways == told - {("allgather-bruck", "exchanged", "broadcasts")} | {(form, "free", "v") for form in ("zen-coo", "topka", "ps-dense", "allgather-bruck")}
    for sizes in ("free", "exchanged"):
        flat = {"name": "flat", "latency": "5us", "bandwidth": "10Gbps", "model": "alpha-beta"}
        scenario = {"trace": str(BIBLE), "cluster": flat, "ranks": [16], "iterations": "0:1", "device": "none", "sizes": sizes,
                    "schemes": [{"name": "allgather", "label": ragged, "ragged": ragged} for ragged in ("v", "padded")]}
        v, padded = points("run", write(folder, "s.json", scenario))
        near(padded["time_s"], padded["formula_s"], sizes)
        assert v["formula_s"] < 0.9 * padded["formula_s"]


@test
def ragged_that_would_do_nothing_is_refused(folder):
    scenario = {"trace": str(BIBLE), "ranks": [4], "iterations": "0:1", "cluster": "h100-8x8-400g"}
    for scheme in ({"name": "sparcml-rd"}, {"name": "gtopk"}, {"name": "ps"}, {"name": "omnireduce", "aggregators": 2}, {"name": "design:ring/incremental/central/coo"}):
        for way in ("padded", "broadcasts"):
            err = call("run", write(folder, "s.json", {**scenario, "schemes": [{**scheme, "ragged": way}]}), status=2)[1]
            assert "schemes[0].ragged: " in err and "no gathers and exchanges of ranks" in err, err
    said = points("run", write(folder, "s.json", {**scenario, "ragged": "padded", "schemes": ["sparcml-rd", {"name": "ps", "ragged": "v"}, "zen"]}))
    assert [point["options"].get("ragged", "v") for point in said] == ["v", "v", "padded"]


@test
def check_notices_a_digit(folder):
    for name, old, new in (("allreduce-ring", "2*(P-1)", "3*(P-1)"), ("alltoall-both", "(P-1)*(lookups", "(P-2)*(lookups"),
                           ("ps-union", "(1+gamma)", "(1.0000001+gamma)")):
        form = json.loads((ROOT / "models" / "costs" / f"{name}.json").read_text())
        assert old in form["exact"]
        call("check", write(folder, "same.json", form))
        form["exact"] = form["exact"].replace(old, new, 1)
        out, err = call("check", write(folder, "other.json", form), status=1)
        assert "other.json" in err and "NO" in out and form["exact"] in err
        checks = json.loads(call("check", folder / "other.json", "--format", "json", status=1)[0])["checks"]
        assert not all(c["ok"] for c in checks)


@test
def check_says_where_papers_differ(folder):
    out = call("check", "alltoall-both", "allgather-ring")[0]
    assert "paper" in out and "EmbRace" in out
    checks = json.loads(call("check", "allgather-ring", "--format", "json")[0])["checks"]
    assert any(c["paper_s"] < c["exact_s"] * 0.999 for c in checks)


@test
def check_csv(folder):
    checks = json.loads(call("check", "ps-union", "--format", "json")[0])["checks"]
    rows = list(csv.DictReader(io.StringIO(call("check", "ps-union", "--format", "csv")[0])))
    assert len(rows) == len(checks), f"{len(rows)} lines for {len(checks)} checks"
    for row, check in zip(rows, checks):
        near(float(row["simulated_s"]), check["simulated_s"], "simulated_s")
        assert row["ok"] == "true" and int(row["point.P"]) == check["point"]["P"] and row["scheme"] == "ps"


@test
def expectations(folder):
    def expecting(*expect, verb="check", status=0, **fields):
        return call(verb, on_bible(folder, expect=list(expect), **fields), status=status)

    fast = {"that": "time_s", "of": "allgather", "is": "<", "than": "allreduce"}
    for verb in ("check", "run"):
        expecting(fast, verb=verb)
        out, err = expecting({**fast, "is": ">"}, verb=verb, status=1)
        assert "allgather" in err and "allreduce" in err and "4 ranks" in err
        assert verb == "check" or "fastest" in out, "a failed expectation hides the result"
    number = points("run", on_bible(folder))[1]["bytes_total"]
    equal = {"that": "bytes_total", "of": "allgather", "is": "=", "than": number * 1.009, "within": "1%"}
    expecting(equal)
    expecting({**equal, "within": 0.001}, status=1)
    expecting({**equal, "is": "<="}, {**equal, "is": ">=", "than": number})
    # Only where it is asked for; nothing to compare is a failure.
    grid = {"ranks": [2, 16], "sweep": {"cluster.bandwidth": ["1Mbps", "1Tbps"]}}
    slow = {"that": "time_s", "of": "allgather", "is": ">", "than": 0.05}
    expecting(slow, status=1, **grid)
    expecting({**slow, "at": {"cluster.bandwidth": "1Mbps"}}, {**slow, "is": "<", "at": {"cluster.bandwidth": 1.25e11, "ranks": 2}}, **grid)
    expecting({**slow, "at": {"ranks": 4}}, status=1, **grid)
    expecting({**slow, "at": {"cluster.latency": "1us"}}, status=1, **grid)
    expecting({**slow, "tensor": "other"}, status=1, **grid)
    # Other fields of the results, several values, and a sweep that has ranks of its own.
    by_length = [{"name": "allgather", "index_bytes": n, "label": f"of {n}"} for n in (4, 8)]
    for index_bytes, status in ((4, 0), (8, 1), ([8, 4], 0)):
        expecting({**fast, "of": "of 4", "than": "of 8", "at": {"index_bytes": index_bytes}}, schemes=by_length, status=status)
    drawn = {"synth": {"rows": 64, "row_width": 1, "ranks": 16, "iterations": 1, "tokens": 100, "seed": 1}}
    swept = {"trace": drawn, "sweep": {"trace.synth.ranks": [8, 16]}, "iterations": "0:1"}
    expecting({**fast, "at": {"ranks": 4}}, **swept)
    expecting({**fast, "at": {"ranks": 16}}, status=1, **swept)


@test
def all_expectations_are_told(folder):
    """Of a file that fails, one that holds and one that is none: each expectation, and each point at which it fails, as
    text, JSON, CSV and JUnit's XML."""
    fast = {"that": "time_s", "of": "allgather", "is": "<", "than": "allreduce"}
    swept = {"ranks": [2, 4], "sweep": {"cluster.bandwidth": ["1Mbps", "1Gbps"]}}
    expect = [{**fast, "is": ">"}, fast, {**fast, "than": "1ms", "at": {"cluster.bandwidth": "1Mbps"}}, {**fast, "at": {"ranks": 3}}]
    fails = write(folder, "fails.json", json.loads(on_bible(folder, expect=expect, **swept).read_text()))
    holds = write(folder, "holds.json", json.loads(on_bible(folder, expect=[{**fast, "than": "1h"}, {**fast, "than": 3600}]).read_text()))
    gone = folder / "gone.json"
    for verb in ("check", "run", "report"):
        arguments = ["-o", folder / "p.html"] if verb == "report" else []
        told = call(verb, fails, *arguments, status=1)[1]
        assert "expect[0]: expected time_s of allgather > allreduce: fails at 4 of 4 points" in told, told
        assert "expect[2]: expected time_s of allgather < 1ms at cluster.bandwidth = 1Mbps: fails at 2 of 2 points" in told
        assert "expect[3]" in told and "no point is at such a place" in told and "expect[1]" not in told, told
        places = re.findall(r"  (\d) ranks on .*, cluster.bandwidth = (1 [MG]bit/s), tensor \S+: found (\S+) against 0.001\n", told)
        assert [(p[0], p[1]) for p in places] == [("2", "1 Mbit/s"), ("4", "1 Mbit/s")], told
        assert "3 of 4 expectations fail" in told, told
    found = {p["ranks"]: p["time_s"] for p in points("run", on_bible(folder, **{**swept, "schemes": ["allgather"]})) if p["at"]["cluster.bandwidth"] == 125000}
    silent = on_bible(folder)
    files = [fails, gone, silent, holds]
    out, told = call("check", *files, status=2)
    assert out.splitlines() == [f"{fails}: 16 points, 3 of 4 expectations FAIL", f'{silent}: 4 points, none expected to be anything: the scenario has no "expect"',
                                f"{holds}: 4 points, 2 expectations hold"], out
    assert "gone.json" in told and "expect[3]" in told, told
    report = json.loads(call("check", *files, "--format", "json", status=2)[0])
    assert [e["ok"] for e in report["expectations"]] == [False, True, False, False, True, True] and report["checks"] == []
    missed = {m["ranks"]: m["found"] for m in report["expectations"][2]["misses"]}
    assert missed == found and "gone.json" in report["errors"][0]["error"]
    rows = list(csv.DictReader(io.StringIO(call("check", fails, "--format", "csv", status=1)[0])))
    assert [(r["ok"], r["ranks"]) for r in rows] == [("false", "2"), ("false", "4")] * 2 + [("true", ""), ("false", "2"), ("false", "4"), ("false", "")]
    suites = ElementTree.fromstring(call("check", *files, "ps-union", "--format", "junit", status=2)[0])
    assert [[s.get(k) for k in ("tests", "failures", "errors")] for s in suites] == [["4", "3", "0"], ["0", "0", "0"], ["2", "0", "0"], ["1", "0", "1"], ["1", "0", "0"]]
    assert [len(s.findall("testcase")) for s in suites] == [4, 0, 2, 1, 1]
    assert [c.find("failure") is None for c in suites[0]] == [False, True, False, False] and "cluster.bandwidth = 1 Mbit/s" in suites[0][2][0].text
    assert "one by one" in call("check", holds, "ps-union", "--format", "csv", status=2)[1]
    assert call("check", holds, "--quiet") == ("", "")


@test
def shipped_scenarios_hold(folder):
    for path in sorted((ROOT / "scenarios").glob("*.json")):
        call("check", path)


sys.exit(tap.run())
# SPDX-License-Identifier: Apache-2.0
