#!/usr/bin/python3
"""sparsync plan against the least of what `sparsync run` finds. Arguments: the program, the source tree. Prints TAP."""
import csv
import io
import json
import re
import sys

import tap
import traces
from asking import ROOT, call, fits
from tap import test

BIBLE = ROOT / "traces" / "bible-kjv-16.safetensors"
FLAT = {"name": "flat", "latency": "10us", "bandwidth": "1GB/s"}
NODES = {**FLAT, "name": "nodes", "gpus_per_node": 4, "nic": "per-node", "intra": {"latency": "1us", "bandwidth": "50GB/s"}}
GRADIENT = {"gradient": {"elements": 4096, "iterations": 2}}


def once(pairs):
    """JSON objects name a key once."""
    assert len({key for key, _ in pairs}) == len(pairs), f"a key stands twice in {[key for key, _ in pairs]}"
    return dict(pairs)


def plan(*arguments):
    document = json.loads(call("plan", *arguments, "--format", "json")[0], object_pairs_hook=once)
    fits("plan", document)
    return document["plan"]


def points(*arguments):
    return json.loads(call("run", *arguments, "--format", "json")[0], object_pairs_hook=once)["points"]


def scenario(folder, name="s.json", **fields):
    (folder / name).write_text(json.dumps({"trace": str(BIBLE), "cluster": FLAT, "ranks": 4, "iterations": "0:3", **fields}))
    return folder / name


SCHEMES = [s for s in json.loads(call("list", "schemes", "--format", "json")[0])["schemes"] if s["name"] != "design"]
LOSSY = {s["name"] for s in SCHEMES if not s["lossless"]}


COUNTS = (2, 4, 8, 16)
HIERARCHIES = (None, "shard", "leader", "sparse-shard")


def variants():
    """What plan is to try when nobody names schemes: (scheme, its option, choices)."""
    for scheme in SCHEMES:
        if not scheme["lossless"] or scheme["model_parallel"]:
            continue
        options = {name: choices for name, choices in (re.match(r"(\w+): (\S+)", option).groups() for option in scheme["options"])}
        varied = [option for option in ("algorithm", "format") if option in options]
        # two trees are NCCL's alone, which has no other way where it is the library
        yield from ((scheme["name"], option, [c for c in options[option].split("|") if c not in ("trees", "switch")]) for option in varied)
        if not varied:
            yield scheme["name"], None, (None,)
        if "colocated" in options:
            yield scheme["name"], "colocated", (True,)
        yield from ((scheme["name"], option, COUNTS) for option, tried in scheme["tries"].items() if tried == "2..")


VARIANTS = list(variants())
assert ("allgather", "algorithm", ["ring", "recursive-doubling", "bruck", "direct"]) in VARIANTS
assert ("ps", "colocated", (True,)) in VARIANTS and ("sparcml-rd", None, (None,)) in VARIANTS


def candidates(hierarchies=(None,), ranks=4):
    """On so many ranks, or three nodes, which no count divides."""
    # sparse-shard sums rows, and an all-reduce sends the tensor
    return [{"name": name, "label": f"{name} {option} {choice} {hierarchy}", **({option: choice} if option else {}),
             **({"hierarchy": hierarchy} if hierarchy else {})}
            for hierarchy in hierarchies for name, option, choices in VARIANTS for choice in choices
            if (choices is not COUNTS or (not hierarchy and ranks % choice == 0)) and (name, hierarchy) != ("allreduce", "sparse-shard")]


def same(left, right, what):
    assert left == right, f"{what}: {left!r}, not {right!r}"


def agrees(rows, found, what):
    """Each row is the least of the points at its place; labels are not compared, ties make them a matter of order."""
    places = {(r["ranks"], json.dumps(r["at"]), r["tensor"]) for r in rows}
    assert len(places) == len(rows), f"{what}: a place stands twice"
    same(places, {(p["ranks"], json.dumps(p["at"]), p["tensor"]) for p in found}, f"{what}: places")
    for row in rows:
        here = [p for p in found if (p["ranks"], p["at"], p["tensor"]) == (row["ranks"], row["at"], row["tensor"])]
        times = sorted(p["time_s"] for p in here)
        if row["tensor"] == "*":
            parts = [r for r in rows if (r["ranks"], r["at"]) == (row["ranks"], row["at"]) and r is not row]
            assert abs(row["time_s"] - sum(r["time_s"] for r in parts)) <= 1e-12 * row["time_s"], f"{what}: the sum"
            same((row["scheme"], row["label"], row["options"]), (None, None, {}), f"{what}: tensor *")
            times = [row["time_s"], *times]
        else:
            assert any(p["time_s"] == times[0] and p["scheme"] == row["scheme"] and p["options"] == row["options"]
                       for p in here), f"{what}: no such point was the cheapest: {row}"
        same(row["time_s"], times[0], f"{what}: time")
        same(row["next_time_s"], times[1] if len(times) > 1 else None, f"{what}: the next")
        same(row["candidates"], len(here), f"{what}: candidates")
        same((row["dense_s"], row["dense"]), (here[0]["dense_s"], here[0]["dense"]), f"{what}: dense")
        if len(times) > 1 and times[0] > 0:
            assert abs(row["margin"] - (times[1] / times[0] - 1)) <= 1e-12, f"{what}: margin {row['margin']}"
        else:
            same(row["margin"], None, f"{what}: margin")


@test
def dense_baseline_is_what_a_library_would_take(folder):
    """The fastest of rings, tree, Rabenseifner, shards and leaders, played as schemes; which that is depends on size and nodes."""
    ways = {"ring": {}, "tree": {"algorithm": "tree"}, "rabenseifner": {"algorithm": "rabenseifner"},
            "ring, shard": {"hierarchy": "shard"}, "ring, leader": {"hierarchy": "leader"}}
    schemes = [{"name": "allreduce", "label": name, **options} for name, options in ways.items()]
    file = scenario(folder, cluster=NODES, ranks=[1, 8, 12], iterations=1, schemes=schemes,
                    sweep={"cluster.latency": ["0s", "1us", "10ms"]})
    flat = scenario(folder, "f.json", ranks=[5, 8], iterations=1, schemes=schemes[:3], sweep={"cluster.latency": ["0s", "1ms"]})
    chosen = set()
    cards = points(file, "--ranks", 12, "--set", 'sweep={"cluster.nics": [1, 2], "cluster.bandwidth": ["1Gbps", "400Gbps"]}')
    one_node = points(file, "--ranks", 3, "--set", f"schemes={json.dumps(schemes[:3])}")
    for found in (points(file), points(flat), cards, one_node):
        for place in {(p["ranks"], json.dumps(p["at"])) for p in found}:
            here = [p for p in found if (p["ranks"], json.dumps(p["at"])) == place]
            best = min(here, key=lambda p: p["time_s"])
            for point in here:
                same(point["dense_s"], best["time_s"], f"{place}: dense_s")
                same(point["dense"], best["label"] if place[0] > 1 else None, f"{place}: dense")
            chosen.add(best["label"])
    assert {"ring, shard", "rabenseifner"} <= chosen and len(chosen) >= 3, chosen
    # of counts alone, which a uniform tensor without proof has, sums inside nodes take as long
    counts = ("--ranks", 8, "--set", 'trace={"uniform": {"rows": 256, "row_width": 4, "density": "1/4"}}')
    same(*([p["time_s"] for p in points(file, *counts, *proof)] for proof in ((), ("--no-verify",))), "without proof")
    named = plan(file, "--scheme", "ps", "--ranks", 12)
    assert all(row["dense_s"] == p["dense_s"] for row, p in zip(named, points(file, "--scheme", "ps", "--ranks", 12)))


@test
def choice_that_depends_on_the_window(folder):
    """Small blocks: start-ups one after the other favour doubling, all at once direct messages (2, 3 and 1 of 100 us)."""
    (folder / "s.json").write_text(json.dumps({
        "trace": {"uniform": {"rows": 100, "row_width": 10, "density": 0.1, "overlap": "full"}}, "ranks": 4,
        "cluster": {"latency": "100us", "bandwidth": "1GB/s", "window": 1},
        "schemes": [{"name": "allgather", "algorithm": a, "label": a} for a in ("direct", "recursive-doubling")]}))
    wire = 3 * 10 * 44 / 1e9
    row, = plan(folder / "s.json")
    assert (row["label"], row["other_window"], row["other_best"]) == ("recursive-doubling", "all", "direct"), row
    for key, wanted in (("time_s", 200e-6 + wire), ("placed_s", 200e-6 + wire), ("other_best_s", 100e-6 + wire),
                        ("other_time_s", 200e-6 + wire)):
        assert abs(row[key] - wanted) < 1e-12, (key, row[key], wanted)
    assert row["placed"] == "exact"
    out, err = call("plan", folder / "s.json")
    assert "4 ranks on inline, tensor tensor: the cheapest depends on the cluster's window: with window 1 recursive-doubling takes" in err, err
    assert "tensor: under the cluster's window recursive-doubling is " in out and "; under window all direct is, 101 us, and recursive-doubling takes 201 us" in out
    for form in ((), ("--wide",)):
        told, known = (call("run", folder / "s.json", *form, "--set", f"cluster.source.window={how}")[0] for how in ("given", "estimated"))
        assert "sparsync plan tells where another window would turn" in told and "another window" not in known, (told, known)
    silent = json.loads((folder / "s.json").read_text())
    del silent["cluster"]["window"]
    (folder / "silent.json").write_text(json.dumps(silent))
    for file, *how in ((folder / "s.json", "--ranks", 2), (folder / "silent.json", "--certain")):  # nothing to turn; nothing said
        assert "another window" not in call("run", file, *how)[0], how
    swept = call("plan", folder / "s.json", "--set", 'sweep={"cluster.latency": ["100us"]}')[1]
    assert "4 ranks on inline at cluster.latency = 100 us, tensor tensor: " in swept, swept
    near = ["1.0001us", "1.0002us", "1us", "0.9995us"]
    long = [{"segments": [{"up_to": "1kB", "latency": "5us", "bandwidth": f"{g}GB/s"}, {"latency": "6us", "bandwidth": "9GB/s"}]} for g in (1, 2)]
    for path, values, shown in (("cluster.latency", near, ["1.0001 us", "1.0002 us", "1 us", "999.5 ns"]), ("cluster.bandwidth", ["1.0001Gbps"], ["1.0001 Gbit/s"]),
                                ("cluster.intra", [{"latency": "5us", "bandwidth": "10GB/s"}], ['{"latency":"5us","bandwidth":"10GB/s"}']), ("cluster.intra", long, None)):
        found = re.findall(f"^4 ranks on inline, {path} = (.*)$", call("plan", folder / "s.json", "--set", "sweep=" + json.dumps({path: values}))[0], re.M)
        assert found == shown or (not shown and len(set(found)) == 2), found
    row, = plan(folder / "s.json", "--set", 'cluster.window="all"')
    assert (row["label"], row["other_window"], row["other_best"]) == ("direct", "1", "recursive-doubling"), row
    row, = plan(folder / "s.json", "--latency", "0s")
    assert row["other_window"] is None and row["other_best"] is None
    schemes = [{"name": "allgather", "algorithm": "ring", "label": "ring"}, {"name": "allgather", "algorithm": "direct", "index_bytes": 8, "label": "direct"}]
    row, = plan(folder / "s.json", "--ranks", 64, "--set", f"schemes={json.dumps(schemes)}")  # all under way would take too long to play
    assert (row["label"], row["other_window"], row["other_best"]) == ("ring", "4", "direct"), row
    sent = call("plan", folder / "s.json", "--ranks", 64, "--set", f"schemes={json.dumps(schemes)}")
    assert "under window 4 direct is" in sent[0] and "with window 4" in sent[1], sent
    assert call("plan", folder / "s.json", "--latency", "0s")[1] == ""
    out, err = call("plan", folder / "s.json", "--set", 'cluster={"latency": "100us", "bandwidth": "1GB/s"}')
    assert "measuring how many messages a port has under way would tell most" in out and not err, (out, err)


@test
def named_schemes_are_the_candidates(folder):
    file = scenario(folder, ranks=[1, 3, 16], schemes=["allreduce", "allgather", {"name": "zen", "format": "coo", "label": "z"}],
                    sweep={"cluster.bandwidth": ["1MB/s", "1GB/s", "100GB/s"]})
    rows, found = plan(file), points(file)
    agrees(rows, found, "named")
    for row in rows:
        if row["margin"]:
            at_place = [p for p in found if (p["ranks"], p["at"]) == (row["ranks"], row["at"])]
            same(row["label"], min(at_place, key=lambda p: p["time_s"])["label"], "label")
            same(row["next"], sorted(at_place, key=lambda p: p["time_s"])[1]["label"], "next")
    assert len({row["label"] for row in rows if row["ranks"] == 16}) > 1, "one scheme wins everywhere: the test shows nothing"
    same(plan(file, "--scheme", "ps")[0]["next"], None, "the next of one")


@test
def nobody_names_schemes(folder):
    flat, nodes = scenario(folder), scenario(folder, "n.json", cluster=NODES, ranks=[3, 12])
    agrees(plan(flat), points(flat, "--set", f"schemes={json.dumps(candidates())}"), "flat")
    rows = plan(nodes)
    every = json.dumps(candidates(HIERARCHIES, 12))
    agrees(rows[:1], points(nodes, "--ranks", 3, "--set", f"schemes={json.dumps(candidates(ranks=3))}"), "one node")
    agrees(rows[1:], points(nodes, "--ranks", 12, "--set", f"schemes={every}"), "nodes")
    same(rows[1]["options"]["hierarchy"] != "none", True, "a shared card asks for a hierarchy")
    assert rows[1]["label"].endswith(", " + rows[1]["options"]["hierarchy"]), rows[1]["label"]
    fixed = plan(nodes, "--ranks", 12, "--set", "hierarchy=leader")
    same((fixed[0]["options"]["hierarchy"], fixed[0]["candidates"]), ("leader", len(candidates(ranks=3))), "the scenario's hierarchy")
    assert plan(nodes, "--no-verify")[1]["time_s"] == rows[1]["time_s"]
    library = {"name": "nccl", "version": "2.21"}
    own = [c for c in candidates(HIERARCHIES, 12) if c["name"] != "allreduce" or "hierarchy" in c] + ["allreduce"]
    agrees(plan(nodes, "--ranks", 12, "--set", f"cluster.library={json.dumps(library)}"),
           points(nodes, "--ranks", 12, "--set", f"cluster.library={json.dumps(library)}", "--set", f"schemes={json.dumps(own)}"), "nccl")


@test
def switches_that_add(folder):
    """What each rank sends it gets the sum of at the same time: one start-up and the tensor, exactly, and plan finds it."""
    flat = scenario(folder, cluster={**FLAT, "switch_sums": True}, device="none")
    for point in points(flat, "--scheme", "allreduce:algorithm=switch", "--ranks", "2..8"):
        dense = point["bytes_sent_max"]
        assert abs(point["time_s"] - (10e-6 + dense / 1e9)) < 1e-12 and point["exact"] is True, point
        assert point["bytes_total"] == point["ranks"] * dense and dense == point["bytes_received_max"], point
    ring, = points(flat, "--scheme", "allreduce", "--ranks", 8)
    assert abs(ring["bytes_sent_max"] / (2 * 7 / 8 * dense) - 1) < 1e-3, ring  # its parts are not all as long
    full = scenario(folder, "full.json", trace={"uniform": {"rows": 4096, "density": 1}}, cluster={**FLAT, "switch_sums": True}, ranks=8, iterations=1)
    best, = plan(full)
    same((best["scheme"], best["options"]["algorithm"]), ("allreduce", "switch"), "of a full tensor")
    for more, says in (({"cluster": FLAT}, "no switch of this cluster adds"), ({"cluster": {**NODES, "switch_sums": True}}, "switches add what nodes send")):
        wrong = scenario(folder, "wrong.json", **more, schemes=[{"name": "allreduce", "algorithm": "switch"}])
        assert says in call("run", wrong, status=2)[1]
    behind = scenario(folder, "behind.json", cluster={**NODES, "switch_sums": True}, ranks=12, hierarchy="leader",
                      schemes=[{"name": "allreduce", "algorithm": "switch"}])
    assert points(behind)[0]["exact"] is True


def sent_by_replicas(rows, group, near, sums, partition, width=512):
    """Bytes that each rank sends, from the lookups alone (4 B an element and an index; all divide): what is asked of its piece, its own
    gradients of others' pieces, and of its piece 2(N-1) N-ths, or what its ring passes on."""
    ranks, n, table = len(rows), len(rows) // group, 53948
    at = lambda k, i: i * n + k if near else k * group + i
    low = [i * table // group for i in range(group + 1)]
    owned = (lambda ids, i: ids) if partition == "column" else (lambda ids, i: [row for row in ids if low[i] <= row < low[i + 1]])
    share, extent = (width // group, lambda i: table) if partition == "column" else (width, lambda i: low[i + 1] - low[i])
    sent = [0] * ranks
    for k in range(n):
        for i in range(group):
            others = [j for j in range(group) if j != i]
            sent[at(k, i)] += sum(len(owned(rows[at(k, j)], i)) * share * 4 for j in others)
            sent[at(k, i)] += sum(len(owned(set(rows[at(k, i)]), j)) * (share * 4 + 4) for j in others)
    for i in range(group):
        parts = [(j + 1) * extent(i) // n - j * extent(i) // n for j in range(n)]
        unions = [len(set().union(*(owned(rows[at(k, j)], i) for j in range(group)))) for k in range(n)]
        for k in range(n):
            if sums == "rows":  # a ring passes on all blocks but the next one's
                sent[at(k, i)] += (sum(unions) - unions[(k + 1) % n]) * (share * 4 + 4)
            else:  # the reduce-scatter passes on all parts but its own, the all-gather all but the next one's
                sent[at(k, i)] += (2 * sum(parts) - parts[k] - parts[(k + 1) % n]) * share * 4
    return sent


@test
def replicas_bound_the_exchange(folder):
    """TorchRec's 2D parallelism: bytes of each rank as the lookups say, and the table of docs/model.md, by which it pays."""
    cuts, sums = ("column", "row"), (("dense", "group"), ("dense", "replicas"), ("rows", "group"), ("rows", "replicas"))
    schemes = [{"name": "alltoall", "partition": cut, "label": f"all {cut}"} for cut in cuts]
    schemes += [{"name": "replicas", "partition": cut, "sums": kind, "neighbours": near, "label": f"{cut} {kind} {near}"}
                for kind, near in sums for cut in cuts]
    file = scenario(folder, trace=str(ROOT / "traces" / "wordnet-64.safetensors"), cluster="h100-8x8-400g", iterations="0:2", device="none", schemes=schemes)
    _, lookups = traces.lookups(ROOT / "traces" / "wordnet-64.safetensors")
    found = {p["label"]: p for p in points(file, "--ranks", 16, "--iterations", "0:1", "--per-rank", "--set", "sizes=free", "--set", "ragged=v")}
    for kind, near in sums:
        for cut in cuts:
            wanted = sent_by_replicas(lookups[0][:16], 8, near == "replicas", kind, cut)
            same(found[f"{cut} {kind} {near}"]["rank_bytes_sent"], wanted, (cut, kind, near))
    page, margin = (ROOT / "docs/model.md").read_text(), 0
    for ranks in (16, 32, 64):
        us = {p["label"]: 1e6 * p["time_s"] for p in points(file, "--ranks", ranks)}
        told = [tuple(us[f"{cut} {way}"] for cut in cuts) for way in ("dense group", "dense replicas", "rows group", "rows replicas")]
        row = f"| {ranks} | " + " | ".join(f"{a:.0f} ({b:.0f})" for a, b in ((us["all column"], us["all row"]), *told)) + " |"
        assert row in page, row
        assert margin < us["all column"] / told[1][0] and told[0][0] > us["all column"], "TorchRec's default pays, its other order does not"
        margin = us["all column"] / told[1][0]
        assert min(told[2][0], told[3][0]) < min(us["all column"], told[1][0]), "sums of rows"


@test
def auto_counts_bytes_as_they_travel(folder):
    """8 ranks of 1,840 rows of one float, none shared: lists alone would make zen the dearer (Eqs. 1 and 2 count so), hash bitmaps do not."""
    push, hashed, doubling = 7 * 1840, 7 * 8 * 1840, 1840 * 8 * (1 + 2 + 4) * 1e-9
    file = scenario(folder, trace={"uniform": {"rows": 80000, "row_width": 1, "density": "2.3%", "overlap": "none"}}, ranks=8, iterations=8, device="none",
                    cluster={**FLAT, "latency": 0}, schemes=["zen", {"name": "zen", "plan": "auto", "label": "auto"}, "sparcml-rd",
                                                             {"name": "zen", "format": "coo", "plan": "auto", "label": "lists"}])
    zen, auto, rd, lists = (p["time_s"] for p in points(file))
    assert (push + hashed) * 8 / 8 * 1e-9 > doubling and abs(rd - doubling) < 1e-12, rd
    assert zen == auto < rd < lists, (zen, auto, rd, lists)


@test
def figures_of_the_model_page_hold(folder):
    page = " ".join((ROOT / "docs/model.md").read_text().split())
    added = points("--trace", ROOT / "traces/lstm-bible-4.safetensors", "--cluster", "rtx2080ti-1gbe", "--set", "cluster.switch_sums=true", "--set",
                   "cluster.gpus_per_node=1", "--device", "none", "--certain", "--scheme", "allreduce:algorithm=switch,allreduce,zen")
    switch, ring, zen = (f"{1e3 * p['time_s']:.1f}" for p in added if p["tensor"] == "*")
    assert f"{switch} ms where a ring takes {ring} and `zen` {zen} " in page, (switch, ring, zen)
    lookups, ranks, nodes = (f"{1e3 * p['time_s']:.2f}" for p in points(ROOT / "scenarios/moe-route.json", "--certain", "--no-verify"))
    assert f"{lookups} ms lookup by lookup, {ranks} ms once a rank, {nodes} ms by nodes" in page, (lookups, ranks, nodes)


@test
def model_parallel(folder):
    file = scenario(folder, ranks=16)
    without, with_it = plan(file)[0], plan(file, "--model-parallel")[0]
    groups = [{"name": "replicas", "sums": sums, "neighbours": near, "label": f"{sums} {near} {more}", **more} for sums in ("dense", "rows")
              for near in ("group", "replicas") for more in ({}, *({"group": n} for n in (2, 4, 8)))]  # 16 are all ranks: alltoall
    same(with_it["candidates"], without["candidates"] + 1 + len(groups), "alltoall and replicas are admitted")
    same(without["scheme"] != "alltoall", True, "not asked for")
    agrees([with_it], points(file, "--set", f"schemes={json.dumps([*candidates(ranks=16), 'alltoall', *groups])}"), "alltoall")
    named = scenario(folder, ranks=16, schemes=["allreduce", "alltoall"])
    same([plan(named)[0]["scheme"], plan(named, "--model-parallel")[0]["scheme"]], ["allreduce", "alltoall"], "named")


@test
def lossy(folder):
    file = scenario(folder, trace=GRADIENT, cluster={**FLAT, "bandwidth": "1MB/s"}, iterations=2)
    without, with_it = plan(file)[0], plan(file, "--lossy")[0]
    same((without["lossless"], without["energy"]), (True, 1), "lossless by default")
    same((with_it["lossless"], with_it["scheme"] in LOSSY), (False, True), "the cheapest of all")
    teams = [{"name": "spardl", "teams": n, "label": f"teams {n}"} for n in (2, 4)]
    agrees([with_it], points(file, "--set", f"schemes={json.dumps(candidates() + sorted(LOSSY) + teams)}"), "lossy")
    same((with_it["label"], with_it["options"]["teams"]), ("spardl teams=2", 2), "counts that a scheme says are worth a try")
    chosen = points(file, "--scheme", "spardl:teams=2")[0]
    assert chosen["energy"] is not None and with_it["energy"] == chosen["energy"], (with_it["energy"], chosen["energy"])
    text = call("plan", file, "--lossy")[0]
    assert "LOSSY: " in text and "energy" in text and "--model-parallel" in text and "(--lossy)" not in text, text
    same(with_it["next_lossless"], with_it["next"].split()[0] not in LOSSY, "the next")
    for beside in ("topka", "allgather"):
        named = (file, "--lossy", "--certain", "--scheme", f"spardl,{beside}")
        row, table = plan(*named)[0], call("plan", *named)[0]
        same({row["label"], row["next"]}, {"spardl", beside}, "who is there")
        same(row["next_lossless"], row["next"] not in LOSSY, "of two")
        last = next(line for line in table.splitlines() if line.startswith(row["label"] + "  "))
        assert (f"  {row['next']} (lossy)  " in last) == (row["next"] in LOSSY), table


@test
def candidates_that_cannot_run_are_left_out(folder):
    """1000 rows do not divide over 7 ranks: even ranges drop out; hashing needs none."""
    file = scenario(folder, trace={"uniform": {"rows": 1000, "density": "1/10"}}, ranks=7, iterations=1)
    assert 0 < plan(file)[0]["candidates"] < len(candidates())


def two_tensors(path):
    """A wide tensor and a narrow one with all its rows."""
    traces.write(path, [(traces.tensor("wide", 100000, 8), [[1, 2, 2], [3]]), (traces.tensor("full", 8, 64), [list(range(8))] * 2)], 2)


@test
def several_tensors(folder):
    """Each has its own winner, and all together cost less than with any one scheme. Merged from parts, it is the same."""
    two_tensors(folder / "two.safetensors")
    file = scenario(folder, trace=str(folder / "two.safetensors"), ranks=2, iterations=1, cluster={**FLAT, "latency": 0},
                    schemes=["allreduce", "allgather", {"name": "ps", "colocated": True, "label": "ps"}])
    rows = plan(file)
    agrees(rows, points(file), "two tensors")
    same([r["tensor"] for r in rows], ["wide", "full", "*"], "tensors")
    same([r["scheme"] for r in rows], ["allgather", "allreduce", None], "winners")
    same(["offered_best" in r for r in rows], [r["offered"] is None and r["label"] is not None for r in rows], "each has its own")
    assert rows[2]["margin"] > 0, "choosing by tensor gains nothing: the test shows nothing"
    text = call("plan", file)[0]
    assert "all tensors: each with its own" in text and "wide: allgather" in text and "full: allreduce" in text, text
    cut = [{"name": "alltoall"}, "allreduce"]
    rows = plan(file, "--model-parallel", "--set", f"schemes={json.dumps(cut)}")
    same([(r["label"], r["model_parallel"]) for r in rows], [("alltoall", True), ("allreduce", False), (None, True)], "what needs the table cut")
    text = call("plan", file, "--model-parallel", "--set", f"schemes={json.dumps(cut)}")[0]
    assert re.search(r"all tensors: each with its own \(needs model parallelism\).*Lossless\.$", text, re.M), text
    whole = folder / "whole.safetensors"
    call("trace", "merge", folder / "two.safetensors", folder / "two.safetensors", "-o", whole)
    agrees(plan(file, "--trace", whole, "--ranks", "2,4"), points(file, "--trace", whole, "--ranks", "2,4"), "merged")


@test
def synthetic(folder):
    call("trace", "synth", "--rows", 5000, "--row-width", 16, "--ranks", 8, "--iterations", 3, "--lookups", 200, "-o",
         folder / "z.safetensors")
    file = scenario(folder, trace=str(folder / "z.safetensors"), ranks=8)
    agrees(plan(file), points(file, "--set", f"schemes={json.dumps(candidates())}"), "synthetic")


@test
def a_rival_that_needs_the_table_cut_is_said_to(_):
    question = ["--trace", BIBLE, "--ranks", "16", "--model-parallel", "--scheme", "allgather,alltoall", "--cluster", "rtx3090-100g-ib", "--bandwidth", "70Gbps"]
    row, = plan(*question)
    same((row["label"], row["rival"], row["model_parallel"], row["rival_model_parallel"]), ("allgather", "alltoall", False, True), "rival")
    same((row["rival_lossless"], row["next_lossless"]), (True, True), "both are lossless")
    assert re.search(r"; alltoall \(needs model parallelism\), \S+ to \S+ times as long, ", call("plan", *question)[0])
    row, = plan(*question[:-2], "--latency", "1us")
    same((row["label"], row["rival"], row["model_parallel"], row["rival_model_parallel"]), ("alltoall", "allgather", True, False), "the other way round")


@test
def ranks_that_merging_leaves_over_are_told(_):
    question = ["--trace", BIBLE, "--cluster", "p3.16xlarge-25g", "--scheme", "allgather,zen", "--iterations", ":2", "--no-verify"]
    assert "16 ranks merged 3 at a time leave 1 over, which is not played" in call("plan", *question, "--merge", "3")[1]
    assert "leave" not in call("plan", *question, "--merge", "3", "--ranks", "4")[1] + call("plan", *question, "--merge", "4")[1]


@test
def formats_tell_the_same(folder):
    file = scenario(folder, ranks=[2, 16], schemes=["allreduce", "allgather"])
    rows = plan(file)
    lines = list(csv.DictReader(io.StringIO(call("plan", file, "--format", "csv")[0])))
    same([(l["tensor"], l["label"], l["next"], l["lossless"]) for l in lines],
         [(r["tensor"], r["label"], r["next"], "true") for r in rows], "csv")
    for line, row in zip(lines, rows):  # CSV has more digits
        for key in ("time_s", "next_time_s", "margin", "dense_s"):
            assert abs(float(line[key]) - row[key]) <= 1e-14 * row[key], f"csv: {key} {line[key]}, not {row[key]!r}"
    text = call("plan", file, "--certain")[0]
    first = re.split("\n(at|scheme) ", text)[0]
    for word in ("16 ranks" if "16 ranks" in first else "2 ranks", rows[0]["label"], rows[0]["next"], "times as long", "Lossless"):
        assert word in first, f"the table does not answer first: {word} is missing in\n{text}"
    assert "dense all-reduce" in text
    assert "kernels not counted" in text and "(--lossy)" in text and "(--model-parallel)" in text
    same(*(call("plan", file, "--jobs", jobs)[0] for jobs in (1, 7)), "--jobs")
    call("plan", file, "--certain", "--quiet", "-o", folder / "plan.txt")
    same((folder / "plan.txt").read_text(), text, "-o")


@test
def of_one_rank_nothing_is_dense_or_as_fast(folder):
    """Where the best takes no time a ratio says nothing: the next has a time of its own, and no "0.00x" stands there."""
    one = ("--trace", BIBLE, "--cluster", "h100-8x8-400g", "--ranks", 1, "--iterations", "0:1")
    text = call("plan", *one)[0]
    assert re.search(r": allreduce is fastest, 0 s; allgather ring takes [1-9]\S* us \(of \d+ candidates\)\.", text), text
    assert "(estimated; --device none" in text and "that a library would take there\n" in text and "Rabenseifner" not in text, text
    ran = call("run", *one)[0]
    assert " 0.00x " not in ran, ran
    for protocol in ("ll128", "simple"):
        [point] = points(*one, "--scheme", f"allreduce:protocol={protocol}")
        assert point["time_s"] == 0 and not point["formula_s"], point


@test
def what_does_not_fit_is_left_out(folder):
    """For every memory between what two candidates need: the cheapest is that of those that fit, and run says what does
    not; of none that fits the cheapest; a device without a size says nothing."""
    schemes = [{"name": "sparcml-rd"}, {"name": "allgather"}, {"name": "ps"}, {"name": "allreduce"}]
    device = {"name": "d", "memory_bandwidth": "1TB/s", "efficiency": 1, "launch": 0}
    free = points(scenario(folder, schemes=schemes, device=device))
    assert all(p["device_memory_bytes"] is None for p in free)
    needs = sorted(p["peak_bytes"] for p in free)
    assert needs == sorted(set(needs)), needs
    for size in [needs[0] - 1, *needs]:
        for certain in (True, False):
            file = scenario(folder, schemes=schemes, device={**device, "memory_size": size}, certain=certain)
            [row] = plan(file)
            small = [p for p in free if p["peak_bytes"] <= size] or free
            assert row["label"] == min(small, key=lambda p: p["time_s"])["label"], (size, row)
            assert {u["label"]: u["peak_bytes"] for u in row["unfit"]} == {p["label"]: p["peak_bytes"] for p in free
                                                                          if p["peak_bytes"] > size}
            assert (row["next"] is None) == (len(small) == 1) and row["device_memory_bytes"] == size, row
            assert certain or row["wins"] is None or len(small) > 1 or row["wins"] == 1, row
            for said in (call("run", file)[0], call("plan", file)[0]):
                assert ("Does not fit into" in said) == bool(row["unfit"]), said
                assert all(f"{u['label']} (" in said for u in row["unfit"]), said
    assert "fit into" not in call("run", scenario(folder, schemes=schemes, device=device))[0]


def offer_of(point):
    """What `list schemes` says of a point's options: the first entry of its scheme that stands so, or nothing."""
    [scheme] = [s for s in SCHEMES if s["name"] == point["scheme"]]
    said = {"hierarchy": "none", **point["options"]}
    for offer in scheme["offered"]:
        wanted = {"hierarchy": "none", **offer["options"]}
        if all(said[name] == (value == "true" if value in ("true", "false") else value) for name, value in wanted.items()):
            return {key: offer[key] for key in ("by", "how", "url", "over") if key in offer}
    return None


@test
def offered_is_what_a_library_has(folder):
    """All ways are tried, in `run`; with `offered` those that nobody has are missing, and the rest is as before."""
    ways = [f"{s}:{o}={c}" if o else s for s, o, choices in VARIANTS for c in choices]
    ways += ["allgather:coalesce=false", "ps:dense=true", "alltoall:partition=row", "alltoall"]
    seen = set()
    for hierarchy in ("none", "shard", "leader"):
        schemes = []
        for i, way in enumerate(ways):
            name, _, options = way.partition(":")
            fields = dict(o.split("=") for o in options.split(",")) if options else {}
            schemes.append({"name": name, **{k: {"true": True, "false": False, "True": True}.get(v, v) for k, v in fields.items()},
                            "label": f"w{i}"})
        schemes = [s for s in schemes if hierarchy == "none" or s["name"] not in ("alltoall",)]
        file = scenario(folder, cluster=NODES, ranks=8, schemes=schemes, hierarchy=hierarchy, certain=True)
        every = points(file)
        for p in every:
            assert p["offered"] == offer_of(p), (p["scheme"], p["options"], p["offered"])
        some = [p for p in every if p["offered"]]
        seen |= {p["offered"]["by"] for p in some}
        assert not some or len(some) < len(every)
        if not some:
            assert "nobody offers" in call("run", file, "--offered", status=2)[1]
            continue
        assert [p["label"] for p in points(file, "--offered")] == [p["label"] for p in some]
        [row] = plan(file, "--offered", "--model-parallel")
        assert row["label"] == min(some, key=lambda p: p["time_s"])["label"] and row["offered"] == offer_of(row)
        by = row["offered"]["by"]
        assert f"In PyTorch: {row['label']} is {by}'s: " in call("plan", file, "--offered", "--model-parallel")[0]
    assert {"DDP", "Horovod", "BytePS", "TorchRec"} <= seen, seen
    [row] = plan(scenario(folder, schemes=["zen", "ps"], offered=False))
    assert row["offered"] is None and "offered_best" not in row, row
    file = scenario(folder, schemes=["zen", "allreduce", {"name": "ps", "dense": True, "label": "byteps"}])
    [row], some = plan(file), [p for p in points(file) if p["offered"]]
    best = min(some, key=lambda p: p["time_s"])
    assert len(some) == 2 and row["label"] == "zen", (row, some)
    taken = best["dense_s"]  # by the algorithm that its library takes, not the ring that is asked for
    assert best["label"] == "allreduce" and taken < best["time_s"], best
    assert (row["offered_best"], row["offered_best_s"], row["offered_best_by"]) == ("allreduce", taken, best["offered"]["by"]), (row, best)
    assert row["offered_best_low_s"] < taken < row["offered_best_high_s"], row
    for command in ("run", "plan"):
        assert f". Of the candidates that are offered {best['label']} takes least as numbers are given, " in call(command, file)[0], command
    ring = {"name": "allgather", "algorithm": "ring"}  # which DDP plays over gloo, and over nothing else
    for library, offered, told in ((None, "gloo", "; over gloo alone, and this cluster names no library."), ("gloo", None, "(NCCL refuses it; Horovod has the nearest there)."),
                                   ("openmpi", False, "nobody offers ")):
        file = scenario(folder, cluster={**NODES, **({"library": {"name": library}} if library else {})}, schemes=[ring])
        for p in (*points(file), *plan(file)):
            assert not p["offered"] if offered is False else p["offered"].get("over") == offered, (library, p["offered"])
        assert all(told in call(command, file)[0] for command in ("run", "plan")), library
        assert offered is not False or "nobody offers" in call("run", file, "--offered", status=2)[1]
    assert f"nobody offers {row['label']}" in call("plan", scenario(folder, schemes=["zen", "ps"]))[0]


@test
def what_is_offered_is_tried_and_nothing_twice(folder):
    """With `offered` also settings that options do not try: Horovod's rows as they were looked up. Groups of as many ranks as a node
    has, or as there are, are other candidates under another name."""
    asked = ("plan", "--trace", "traces/bible-kjv-16.safetensors", "--cluster", "p3.16xlarge-25g", "--ranks", "16", "--iterations", "0:1", "--certain", "--device", "none")
    [row] = json.loads(call(*asked, "--offered", "--format", "json")[0])["plan"]
    assert (row["label"], row["offered"]["by"]) == ("allgather coalesce=false", "Horovod"), row
    node, groups, rows = {"gpus_per_node": 4, "nics": 1}, ("", " group=2", " group=8"), ("", " rows")  # 4 are a node's, 16 all ranks
    file = scenario(folder, cluster={**NODES, **node}, ranks=16, certain=True)
    few, every = (plan(file, *more)[0]["candidates"] for more in ((), ("--model-parallel",)))
    assert every - few == 1 + 2 * len(groups) * len(rows), (few, every)  # and alltoall


@test
def wrong_inputs(folder):
    for arguments, says in (
            ((scenario(folder), "--scheme", "alltoall"), ("nothing is left", "--model-parallel admits alltoall")),
            ((scenario(folder, trace=GRADIENT), "--scheme", "s2,topka", "--iterations", "1"), ("--lossy admits s2, topka",)),
            ((scenario(folder, trace=GRADIENT), "--scheme", "s2,alltoall", "--iterations", "1"),
             ("--lossy admits s2; --model-parallel admits alltoall",)),
            ((scenario(folder), "--lossless"), ("--lossless",)),
            ((scenario(folder), "two.json"), ("one scenario is enough",)),
            ((scenario(folder), "--scheme", "topka", "--lossy"), ("topka aggregates values",)),
            ((scenario(folder, "size.json", device={"like": "v100", "memory_size": 0}),), ("device.memory_size", "above zero")),
            ((scenario(folder), "--ranks", "99"), ("99 ranks, but",)),
            (("--trace", BIBLE), ("no cluster given", "p3.16xlarge-25g"))):
        out, err = call("plan", *arguments, status=2)
        assert out == "" and all(part in err for part in says), f"{arguments}: {err}"


sys.exit(tap.run())
# SPDX-License-Identifier: Apache-2.0
