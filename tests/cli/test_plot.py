#!/usr/bin/python3
"""sparsync plot: the numbers of figures against closed forms and hand calculation, the pictures against XML and hostile
texts. Arguments: the program, the source tree. Prints TAP."""
import csv
import functools
import io
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

import tap
from asking import ENVIRONMENT, GNUPLOT, ROOT, call, need_gnuplot
from tap import near, test

FIGURES = ROOT / "scenarios" / "figures"
KJV = ROOT / "traces" / "bible-kjv-16.safetensors"


@functools.cache
def made(figure):
    """The data of a shipped figure, and its picture in a column where there is gnuplot; made once for all tests."""
    with tempfile.TemporaryDirectory() as folder:
        data, picture = pathlib.Path(folder) / "f.csv", pathlib.Path(folder) / "f.svg"
        call("plot", figure, "--data", data, *(["-o", picture, "--width", "column"] if GNUPLOT else []))
        return data.read_text(), texts_of(picture) if GNUPLOT else None


def table(figure):
    """(panel's first letters, series, x) -> the row, numbers as numbers; of a shipped figure by its name, or of a file."""
    text = made(figure)[0] if isinstance(figure, str) else call("plot", figure, "--data", "-")[0]
    rows = list(csv.DictReader(io.StringIO(text)))
    assert rows, f"{figure} has no data"
    found = {}
    for row in rows:
        for key in ("x", "y", "low", "high", "z"):
            try:
                row[key] = float(row[key]) if row[key] else None
            except ValueError:
                pass
        x = round(row["x"], 9) if isinstance(row["x"], float) else row["x"]
        key = (row["panel"][:3], row["series"], x)
        assert key not in found or row["panel"][:3] == "(a)", f"{figure}: {key} stands twice"
        found[key] = row
    return found


def shrunk(name, folder, elements=None, iterations=None, row_width=None, hashing=None):
    """The figure with a smaller gradient so that its making is tested in seconds."""
    document = json.loads((FIGURES / f"{name}.json").read_text())
    for entries in [list(document.get("inputs", {}).values()), *(panel["data"] for panel in document["panels"])]:
        for entry in entries:
            trace = entry["run"].get("trace") if isinstance(entry.get("run"), dict) else None
            if isinstance(trace, dict):
                for kind in trace.values():
                    if elements and "elements" in kind:
                        kind["elements"] = elements
                    if iterations:
                        kind["iterations"] = iterations
                    if row_width and "row_width" in kind:
                        kind["row_width"] = row_width
            if hashing and "measure" in entry:
                entry["measure"].update(hashing)
    path = folder / f"{name}.json"
    path.write_text(json.dumps(document))
    return path


# --- numbers ----------------------------------------------------------------------------------------------------------


@test
def zen_fig2_is_a_distribution_and_has_the_overlap_of_trace_stats(folder):
    rows = table("zen-fig2")
    for series, file in (("KJV verses", KJV), ("WordNet stream", ROOT / "traces" / "wordnet-64.safetensors")):
        stats = json.loads(call("trace", "stats", file, "--format", "json")[0])["tensors"][0]
        density = [(x, row["y"]) for (panel, s, x), row in rows.items() if panel == "(a)" and s == series]
        near(sum(y for _, y in density) / 50, 1, f"{series}: the integral")
        mean = sum(x * y for x, y in density) / 50
        assert abs(mean - stats["overlap"]) < 0.01, f"{series}: mean overlap {mean}, not {stats['overlap']}"
        near(rows["(b)", series, 8]["y"], stats["gamma"][7], f"{series}: gamma(8)")
    near(rows["(b)", "NMT-like", 128]["y"], 24.9, "what NMT-like was fitted to", 0.02)
    near(rows["(b)", "DeepFM-like", 8]["y"], 5.2 / 2.8, "what DeepFM-like was fitted to", 0.03)


@test
def parts_that_do_not_divide_rows(folder):
    """All of 10 rows in 8 parts, of which part j has [floor(10 j / 8), floor(10 (j + 1) / 8)): two in the fourth and the last."""
    rows = {"rows": 10, "row_width": 1, "ranks": 2, "iterations": 1, "tokens": 2000, "zipf": 0, "seed": 1}
    entry = {"measure": {"name": "shares", "trace": {"synth": rows}, "parts": 8}, "series": {"text": "all"}}
    (folder / "f.json").write_text(json.dumps({"figure": "f", "title": "t", "source": "s", "summary": "s", "panels": [
        {"title": "p", "kind": "lines", "x": {"field": "part"}, "y": {"field": "share"}, "data": [entry]}]}))
    shares = [float(row["y"]) for row in csv.DictReader(io.StringIO(call("plot", folder / "f.json", "--data", "-")[0]))]
    assert [round(10 * share) for share in shares] == [1, 1, 1, 2, 1, 1, 1, 2], shares


@test
def s2_error_falls_with_the_root_of_lambda(folder):
    rows = table(shrunk("s2-lambda", folder, elements=16384, iterations=6))
    errors = {x: row["y"] * math.sqrt(x) for (panel, _, x), row in rows.items() if panel == "(a)"}
    assert len(errors) == 11
    mean = sum(errors.values()) / len(errors)
    for x, value in errors.items():
        assert abs(value / mean - 1) < 0.1, f"lambda {x}: {value} against {mean}"
    assert all(abs(row["y"]) < 0.3 for (panel, _, _), row in rows.items() if panel == "(b)"), "there is a bias"


@test
def other_figures_can_be_made(folder):
    speed_ups = table(shrunk("zen-fig15", folder, elements=40000, iterations=1, row_width=64))
    for workload in {x for _, _, x in speed_ups}:
        group = {s: row["y"] for (_, s, x), row in speed_ups.items() if x == workload and s != "ZEN (printed)"}
        assert set(group) == {"AGsparse", "Sparse PS", "SparCML", "OmniReduce", "ZEN"}, group
        assert max(group, key=group.get) == "ZEN" or workload.startswith("LLM"), f"{workload}: {group}"
    times = table(shrunk("zen-fig16", folder, hashing={"elements": 100000, "repeats": 1}))
    assert {s for _, s, _ in times} == {"|G|d", "2|G|d", "4|G|d", "k = 1", "k = 2", "k = 3", "k = 4"}
    assert all(row["y"] > 0 for row in times.values())
    bars = table(shrunk("s2-fig7", folder, elements=32768))
    assert all(bars["", "S2", x]["y"] < bars["", "AllGather", x]["y"] for _, _, x in bars)


@test
def maps_name_the_winner_and_its_margin(folder):
    results = json.loads(call("run", "--trace", KJV, "--cluster", "p3.16xlarge-25g", "--ranks", "4,16", "--iterations", "2", "--scheme",
                              "allreduce,allgather,sparcml-rd", "--set", 'sweep={"cluster.bandwidth":["1Gbps","25Gbps"]}', "--format", "json")[0])
    (folder / "r.json").write_text(json.dumps(results))
    text = call("plot", folder / "r.json", "--kind", "map", "--x", "ranks", "--y", "bandwidth", "--data", "-")[0]
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == 4
    for row in rows:
        times = sorted((p["time_s"], p["label"]) for p in results["points"]
                       if p["ranks"] == int(row["x"]) and 8 * p["at"]["cluster.bandwidth"] == float(row["y"]))
        assert row["series"] == times[0][1], f"{row} against {times}"
        near(float(row["z"]), 100 * (times[1][0] / times[0][0] - 1), f"margin of {row}")


@test
def ties_are_nobodys_on_a_map(folder):
    """As fast as the next in the digits shown, or best in fewer than 66 of 100 draws: neither scheme has the cell."""
    points = [{"label": label, "ranks": ranks, "at": {"c": c}, "time_s": time, "bytes_total": time, "wins": wins} for ranks, c, pair in (
        (2, 1, [(1, None), (1, None)]), (2, 2, [(1, None), (1.004, None)]), (2, 3, [(1, None), (1.006, None)]),
        (4, 1, [(1, 0.65), (2, 0.35)]), (4, 2, [(1, 0.66), (2, 0.34)]), (4, 3, [(1, 0.3), (2, 0.7)])) for label, (time, wins) in zip("ab", pair)]
    (folder / "r.json").write_text(json.dumps({"points": points}))
    options = ["plot", folder / "r.json", "--kind", "map", "--x", "ranks", "--y", "c"]
    for z, ties in (("time_s", {("2", "1"), ("2", "2"), ("4", "1"), ("4", "3")}), ("bytes_total", {("2", "1"), ("2", "2")})):  # draws are of times
        found = {(row["x"], row["y"]): row["series"] for row in csv.DictReader(io.StringIO(call(*options, "--z", z, "--data", "-")[0]))}
        assert len(found) == 6 and {at for at, series in found.items() if series == "no clear winner"} == ties and set(found.values()) == {"a", "no clear winner"}, found
    need_gnuplot()
    call(*options, "-o", folder / "f.svg")
    assert texts_of(folder / "f.svg").count("no clear winner") == 1 and "<pattern" in (folder / "f.svg").read_text() and "66 of 100" in " ".join(texts_of(folder / "f.svg"))


@test
def traffic_is_that_of_every_rank(folder):
    call("run", "--trace", KJV, "--cluster", "p3.16xlarge-25g", "--scheme", "zen,allgather", "--iterations", "2", "--per-rank", "--format", "json",
         "-o", folder / "r.json")
    points = json.loads((folder / "r.json").read_text())["points"]
    text = call("plot", folder / "r.json", "--kind", "traffic", "--data", "-")[0]
    rows = list(csv.DictReader(io.StringIO(text)))
    for point in points:
        for way in ("sent", "received"):
            found = [float(r["y"]) for r in rows if r["panel"] == way and r["series"] == point["label"]]
            assert found == point[f"rank_bytes_{way}"], f"{point['label']} {way}"


@test
def busy_links_are_those_of_run(folder):
    """Messages of 440 B take 1 us, 440 ns of which they flow. A ring's ports have them without a pause. A server takes P and then sends P:
    half of the time its egress has one, 1 / 2P of it that of each of P ranks; the mean over the P + 1 ports is 1 / (P + 1)."""
    flat = {"name": "flat", "latency": "560ns", "bandwidth": "1GB/s"}
    scenario = {"trace": {"uniform": {"rows": 100, "row_width": 10, "density": 0.1, "overlap": "full"}}, "cluster": flat, "ranks": [2, 4],
                "schemes": ["allgather", {"name": "ps", "servers": 1}]}
    (folder / "s.json").write_text(json.dumps(scenario))
    call("run", folder / "s.json", "--format", "json", "-o", folder / "r.json")
    rows = list(csv.DictReader(io.StringIO(call("plot", folder / "r.json", "--kind", "links", "--where", "ranks=4", "--data", "-")[0])))
    busiest, mean = "the busiest link of its kind", "mean of all links of the kind"
    found = {(r["panel"], r["x"], r["y"]): float(r["z"]) for r in rows}
    assert len(found) == len(rows) == 8 and {r["series"] for r in rows} == {"allgather", "ps"}, rows
    for kind in ("egress", "ingress"):
        for panel, scheme, share in ((busiest, "allgather", 0.44), (mean, "allgather", 0.44), (busiest, "ps", 0.44 / 2), (mean, "ps", 0.44 / 5)):
            near(found[panel, scheme, kind], share, (panel, scheme, kind))
    only = call("plot", folder / "r.json", "--kind", "links", "--where", "label=ps", "--where", "key=egress", "--x", "ranks", "--data", "-")[0]
    assert [(r["x"], r["y"]) for r in csv.DictReader(io.StringIO(only))] == [("2", "egress"), ("4", "egress")] * 2
    both = list(csv.DictReader(io.StringIO(call("plot", folder / "r.json", "--kind", "links", "--data", "-")[0])))
    assert {r["panel"] for r in both} == {f"{panel}, ranks = {n}" for panel in (busiest, mean) for n in (2, 4)}, both
    if GNUPLOT:
        call("plot", folder / "r.json", "--kind", "links", "--where", "ranks=4", "-o", folder / "l.svg")
        texts = texts_of(folder / "l.svg")
        assert {"busy (%)", busiest, mean, "egress", "allgather", "44", "22", "8.8"} <= set(texts), texts


@test
def busy_shared_links(folder):
    shown = {(panel[:3], y) for panel, y in ((r["panel"], r["y"]) for r in csv.DictReader(io.StringIO(call("plot", "link-heat", "--data", "-")[0])))}
    assert shown == {(p, y) for p in ("(a)", "(b)") for y in ("egress", "ingress", "NIC, out", "NIC, in", "uplink", "downlink", "bus")}, shown


# --- trainings --------------------------------------------------------------------------------------------------------


@test
def printed_points_stand_beside_ours(folder):
    (folder / "ours.json").write_text(json.dumps([{"label": "A", "ranks": 4, "v": 10.0}, {"label": "Z", "ranks": 4, "v": 30.0}]))
    (folder / "claims.json").write_text(json.dumps({"paper": "p", "claims": [{"id": "one", "printed": 7.5}, {"id": "two", "printed": 2}]}))
    claim = lambda i, **more: {"file": str(folder / "claims.json"), "where": {"id": i}, "x": {"value": 4}, "y": "printed", "series": {"text": "A"}, **more}
    figure = {"panels": [{"kind": kind, "x": "ranks", "y": "v", "series": "label", "data": [{"file": str(folder / "ours.json")},
              claim("one", printed=True), claim("two", printed="Z")]} for kind in ("lines", "bars")]}
    (folder / "f.json").write_text(json.dumps(figure))
    rows = list(csv.DictReader(io.StringIO(call("plot", folder / "f.json", "--data", "-")[0])))
    assert sorted((r["series"], float(r["y"])) for r in rows) == sorted(2 * [("A", 10), ("Z", 30), ("A (printed)", 7.5), ("A (printed)", 15)]), rows
    figure["panels"][0]["data"][2]["printed"] = "B"
    (folder / "g.json").write_text(json.dumps(figure))
    assert '"B" has no value' in call("plot", folder / "g.json", "--data", "-", status=2)[1]
    shipped = [(p.stem, e) for p in FIGURES.glob("*.json") for panel in json.loads(p.read_text())["panels"] for e in panel["data"] if "printed" in e]
    assert len(shipped) > 25
    for path in FIGURES.glob("*.json"):  # and what "let" picks from claims
        document = json.loads(path.read_text())
        for pick in [p for p in document.get("let", {}).values() if isinstance(p, dict) and "id" in p.get("at", {})]:
            (found,) = [c for c in json.loads((ROOT / document["inputs"][pick["from"]]["file"]).read_text())["claims"] if c["id"] == pick["at"]["id"]]
            assert isinstance(found[pick["value"]], (int, float)), f"{path.stem}: {found['id']} is no number"
    for name, entry in shipped:
        if "file" not in entry:
            continue
        (found,) = [c for c in json.loads((ROOT / entry["file"]).read_text())["claims"] if c["id"] == entry["where"]["id"]]
        assert isinstance(found[entry["y"]["field"]], (int, float)), f"{name}: {found['id']} is no number"
    need_gnuplot()
    call("plot", folder / "f.json", "-o", folder / "f.svg")
    assert texts_of(folder / "f.svg").count("printed") == 2
    assert texts_of(folder / "f.svg").count("A") == 2, "a printed mark has an entry of its own in the key"
    told = " ".join(texts_of(folder / "f.svg"))
    assert "a factor of 1.5 apart" in told and "claims" not in told, told  # 10 and 15, of claims without a verdict
    for verdicts, says in ((["predicted", "direction only"], 'Of the claims drawn 1 is "predicted", 1 is "direction only" (docs/claims.md)'),
                           (["not reproduced"] * 2, 'Of the claims drawn 2 are "not reproduced" (docs/claims.md)'), (["predicted", "reproduced"], None)):
        claims = [{"id": i, "printed": 9.9, "verdict": v} for i, v in zip(("one", "two"), verdicts)] + [{"id": "three", "printed": 1, "verdict": "not reproduced"}]
        (folder / "claims.json").write_text(json.dumps({"paper": "p", "claims": claims}))
        figure["note"], figure["panels"] = "Ours", [{**figure["panels"][-1], "data": [figure["panels"][-1]["data"][0], claim("one", printed=True), claim("two", printed=True)]}]
        (folder / "f.json").write_text(json.dumps(figure))
        call("plot", folder / "f.json", "-o", folder / "f.svg", "--width", "wide")
        told = " ".join(texts_of(folder / "f.svg"))
        assert told.count("Ours. " + says if says else "Ours") == 1 and ("Ours." in told) == bool(says) and ("docs/claims.md" in told) == bool(says) and "apart" not in told, told


@test
def numbers_are_picked_from_inputs(folder):
    """Losses of one answer over the times of another, by hand; a point of its own; and what is wrong is said."""
    (folder / "times.json").write_text(json.dumps([{"label": "A", "ranks": 4, "time_s": 0.5}, {"label": "B", "ranks": 4, "time_s": 2.0}]))
    (folder / "losses.json").write_text(json.dumps([{"label": "A", "loss": [9.0, 7.0, 6.0]}]))
    figure = {"inputs": {"times": {"file": str(folder / "times.json")}, "losses": {"file": str(folder / "losses.json"), "notes": "any"}},
              "let": {"step": {"from": "times", "of": "B"}, "both": {"from": "times", "value": "2*time_s*step", "reduce": "sum"}, "twice": "2*both"},
              "panels": [{"kind": "lines", "x": {"label": "time", "unit": "s", "from": 0}, "y": {"field": "value"}, "where": {"index": [0, 2]},
                          "data": [{"from": "losses", "each": "loss", "x": {"field": "index", "factor": "step", "offset": "1/4"}, "series": {"text": "A"}},
                                   {"x": {"value": "twice", "factor": 3}, "y": {"value": 5, "offset": "both"}, "series": {"text": "A"}, "printed": True}]}]}

    def drawn(change=lambda f: None, status=0):
        changed = json.loads(json.dumps(figure))
        change(changed)
        (folder / "f.json").write_text(json.dumps(changed))
        text, message = call("plot", folder / "f.json", "--data", "-", status=status)
        return message if status else [(r["series"], float(r["x"]), float(r["y"])) for r in csv.DictReader(io.StringIO(text))]

    # both = 2*(0.5 + 2)*2 = 10
    assert drawn() == [("A", 0.25, 9), ("A", 4.25, 6), ("A (printed)", 60, 15)], drawn()
    entry = lambda f, i=0: f["panels"][0]["data"][i]
    for change, words in ((lambda f: entry(f).update({"from": "loses"}), 'no input is called "loses" (did you mean "losses"?)'),
                          (lambda f: entry(f).update(file="x.json"), "asks something itself"), (lambda f: entry(f).pop("from"), "asks nothing"),
                          (lambda f: entry(f)["x"].update(factor="stop"), "stop"), (lambda f: f["let"].update(step={"of": "B"}), '"from"'),
                          (lambda f: f["let"].update(step={"from": "times"}), "2 points fit, not one"), (lambda f: f["let"].update(both="twice"), "twice"),
                          (lambda f: f.update(let=[]), "numbers by name"), (lambda f: f.update(inputs=3), "requests by name"),
                          (lambda f: f["inputs"]["times"].update(color="red"), "color"), (lambda f: entry(f, 1)["y"].pop("value"), "asks nothing")):
        message = drawn(change, 2)
        assert words in message, f"{words!r} is not in {message!r}"


@test
def what_was_measured_on_a_busy_machine_says_so(folder):
    for busy, wanted in ((0.43, True), (0.05, False)):
        (folder / "r.json").write_text(json.dumps([{"label": "A", "ranks": r, "v": r, "busy": busy} for r in (2, 4)]))
        (folder / "f.json").write_text(json.dumps({"note": "N.", "panels": [{"kind": "lines", "x": "ranks", "y": "v", "series": "label", "data": [{"file": str(folder / "r.json")}]}]}))
        told = call("plot", folder / "f.json", "--data", folder / "d.csv")[1]
        assert ("busy: up to 43%" in told) == wanted, told
        if GNUPLOT:
            call("plot", folder / "f.json", "-o", folder / "f.svg")
            assert any("Beware" in t for t in texts_of(folder / "f.svg")) == wanted
    busy = hashing_answer(folder)
    assert busy and all(0 <= b <= 1 for b in busy), busy


def hashing_answer(folder):
    (folder / "h.json").write_text(json.dumps({"panels": [{"kind": "lines", "x": "density", "y": "busy", "data": [
        {"measure": {"name": "hashing", "elements": 100000, "servers": 4, "repeats": 1, "densities": [0.1], "memories": [2], "probes": [3]}}]}]}))
    return [float(r["y"]) for r in csv.DictReader(io.StringIO(call("plot", folder / "h.json", "--data", "-")[0]))]


# --- who sends what to whom ---------------------------------------------------------------------------------------------


def messages(*arguments):
    rows = list(csv.DictReader(io.StringIO(call("plot", *arguments, "--data", "-")[0])))
    return [(r["panel"], r["scheme"], int(r["round"]), int(r["phase"]), r["from"], r["to"], int(r["bytes"])) for r in rows]


def scenario(folder, schemes, ranks, **more):
    document = {"trace": {"uniform": {"rows": 64, "row_width": 4, "density": 0.25}}, "cluster": {"latency": "1us", "bandwidth": "8Gbps"},
                "ranks": ranks, "schemes": schemes, **more}
    (folder / "s.json").write_text(json.dumps(document))
    return folder / "s.json"


@test
def rounds_of_doubling_are_as_by_hand(folder):
    # ranks exchange with those at a distance of 1, then of 2; 16 rows of 16 + 4 bytes each, then twice as many
    path = scenario(folder, [{"name": "allgather", "algorithm": "recursive-doubling", "label": "AG"}], 4)
    wanted = [("AG, 4 ranks", "AG", t + 1, t + 1, str(r), str(r ^ 1 << t), 320 << t) for t in range(2) for r in range(4)]
    assert sorted(messages(path, "--kind", "rounds")) == sorted(wanted), messages(path, "--kind", "rounds")
    # a pairwise exchange: nobody waits for anybody, so all rounds are one phase
    assert {m[3] for m in messages(scenario(folder, [{"name": "allgather", "algorithm": "direct"}], 5), "--kind", "rounds")} == {1}
    # servers stand behind the ranks: first all to the server, then back, which waits
    ps = messages(scenario(folder, [{"name": "ps", "servers": 1}], 3), "--kind", "rounds")
    assert {(m[3], m[4], m[5]) for m in ps} == {(1, str(r), "server 0") for r in range(3)} | {(2, "server 0", str(r)) for r in range(3)}, ps


@test
def rounds_have_the_bytes_of_run(folder):
    """Summed over its messages, what a rank sends and receives is what `run` says, of all schemes that there are."""
    schemes = [s["name"] for s in json.loads(call("list", "schemes", "--format", "json")[0])["schemes"] if s["name"] not in ("gtopk", "design")]
    path = folder / "s.json"
    path.write_text(json.dumps({"trace": {"gradient": {"elements": 4000}}, "cluster": "rtx3090-100g-ib", "ranks": 6, "iterations": 1, "verify": False}))
    ran = json.loads(call("run", path, "--scheme", ",".join(schemes), "--per-rank", "--format", "json")[0])["points"]
    sent = {p["label"]: (p["rank_bytes_sent"], p["rank_bytes_received"], p["rounds"], p["messages"]) for p in ran}
    assert len(sent) == len(schemes) > 10
    for at in range(0, len(schemes), 6):
        found = messages(path, "--kind", "rounds", "--scheme", ",".join(schemes[at:at + 6]))
        for scheme in schemes[at:at + 6]:
            own = [m for m in found if m[1] == scheme]
            for rank in range(6):
                assert sum(m[6] for m in own if m[4] == str(rank)) == sent[scheme][0][rank], (scheme, rank, "sent")
                assert sum(m[6] for m in own if m[5] == str(rank)) == sent[scheme][1][rank], (scheme, rank, "received")
            assert (max(m[2] for m in own), len(own)) == sent[scheme][2:], scheme
            assert [m[2:4] for m in own] == sorted(m[2:4] for m in own), f"{scheme}: phases fall"


@test
def rounds_over_other_links_stand_once(folder):
    path = scenario(folder, ["allgather"], [2, 4], sweep={"cluster.bandwidth": ["10Gbps", "25Gbps"]})
    assert {m[0] for m in messages(path, "--kind", "rounds")} == {"allgather, 2 ranks", "allgather, 4 ranks"}
    path = scenario(folder, ["allgather"], 4, sweep={"trace.uniform.density": [0.25, 0.5]})
    panels = {m[0]: m[6] for m in messages(path, "--kind", "rounds")}
    assert {"0.25" in p: b for p, b in panels.items()} == {True: 320, False: 640}, panels


@test
def rounds_that_cannot_be_read_are_refused(folder):
    for arguments, words in ((["--ranks", "17"], "at most 16 (--ranks 8)"), (["--ranks", "2,4,8", "--scheme", "allgather,allreduce,zen"], "choose with --scheme"),
                             (["--where", "ranks=4"], "--where is for result files"), (["--x", "ranks"], "--x is for result files"), (["--ranks", "1"], "nothing to draw")):
        _, message = call("plot", scenario(folder, ["allgather"], 4), "--kind", "rounds", *arguments, status=2)
        assert words in message, f"{arguments}: {message!r}"
    assert "--kind rounds plays" in call("plot", "zen-fig17a", "--ranks", "4", status=2)[1]
    call("plot", scenario(folder, ["allgather"], 16), "--kind", "rounds", "--data", folder / "d.csv")
    figure = {"panels": [{"kind": "rounds", "data": [{"run": {}}]}]}
    (folder / "f.json").write_text(json.dumps(figure))
    assert "asks {\"rounds\"" in call("plot", folder / "f.json", status=2)[1]


@test
def rounds_are_drawn(folder):
    need_gnuplot()
    path = scenario(folder, [{"name": "ps", "servers": 1}, "allgather"], [2, 5])
    for ending in ("svg", "pdf", "png"):
        call("plot", path, "--kind", "rounds", "-o", folder / f"f.{ending}")
    texts = texts_of(folder / "f.svg")
    for wanted in ("ps, 5 ranks", "allgather, 2 ranks", "server 0", "320 B"):
        assert wanted in texts, f"no {wanted!r} in {texts}"
    assert (folder / "f.svg").read_text().count("<path") > 2 * (2 + 2 + 5 + 20), "arrows are missing"
    fall = {f: messages(f) for f in ("zen-fig4", "zen-fig5", "zen-fig6", "zen-fig7", "spardl-fig1", "spardl-fig2", "spardl-fig3", "embrace-fig3")}
    even = [m for m in fall["zen-fig7"] if m[0].startswith("(a)")]
    assert sum(m[6] for m in even if m[5] == "0" and m[3] == 1) > 10 * sum(m[6] for m in even if m[5] in "12" and m[3] == 1), "not skewed"
    ring = [max(m[6] for m in fall["spardl-fig1"] if m[0].startswith("(a)") and m[2] == r) for r in (1, 2, 3)]
    assert ring[0] < ring[1] < ring[2], "entries do not grow"


@test
def a_round_says_its_sizes_from_its_least_message_to_its_largest(folder):
    """One unit for both where it is the same; one size where all are alike."""
    need_gnuplot()
    path = scenario(folder, ["zen", "sparcml-split"], 4, trace={"uniform": {"rows": 64, "row_width": 64, "density": 0.25}})
    call("plot", path, "--kind", "rounds", "-o", folder / "f.svg")
    texts, rounds, kinds = texts_of(folder / "f.svg"), {}, set()
    for panel, _, number, _, _, _, size in messages(path, "--kind", "rounds"):
        rounds.setdefault((panel, number), []).append(size)
    for sizes in rounds.values():
        (least, unit), (most, other) = ((f"{n / 1e3:.3g}", "kB") if n >= 1000 else (f"{n}", "B") for n in (min(sizes), max(sizes)))
        kinds.add((least == most, unit == other))
        wanted = [f"{most} {other}"] if least == most else [f"{least} to" if unit == other else f"{least} {unit} to", f"{most} {other}"]
        assert any(texts[i:i + len(wanted)] == wanted for i in range(len(texts))), (wanted, texts)
    assert kinds == {(True, True), (False, True), (False, False)}, "the test shows too little"


def training(*arguments):
    return json.loads(call("train", *arguments, "--quiet", "--format", "json")[0])["training"]


@test
def spans_of_a_timeline(folder):
    """Lanes hold what train says: the last forward pass ends the iteration, and all backward passes take what they are said to."""
    rows = list(csv.DictReader(io.StringIO(call("plot", "embrace-fig6", "--data", "-")[0])))
    scenario = json.loads((FIGURES / "embrace-fig6.json").read_text())["panels"][0]["data"][0]["train"]
    (folder / "s.json").write_text(json.dumps(scenario))
    points = {p["system"]: p for p in training(folder / "s.json")}
    modules = json.loads((ROOT / "models" / "workloads" / "embrace-gnmt-8-rtx2080.json").read_text())["modules"]
    for system, name in (("embrace-hybrid-only", "FIFO"), ("embrace-horizontal", "horizontal"), ("embrace", "2D")):
        lane = [r for r in rows if r["y"] == f"{name}: compute"]
        near(max(float(r["high"]) for r in lane), points[system]["iteration_s"], system)
        near(sum(float(r["high"]) - float(r["low"]) for r in lane if r["series"] == "backward"), sum(m["backward_s"] for m in modules), system)
        ends = sorted((float(r["low"]), float(r["high"])) for r in lane)
        assert all(a[1] <= b[0] + 1e-12 for a, b in zip(ends, ends[1:])), "one thing at a time"
    assert any(r["x"] == "E1" for r in rows), "names are those of the figure"
    figure = {"panels": [{"kind": "spans", "x": {"label": "time"}, "y": {"label": ""}, "series": "kind",
                          "data": [{"train": scenario, "per_iteration": True, "each": "spans", "y": "lane", "low": "start_s"}]}]}
    (folder / "f.json").write_text(json.dumps(figure))
    assert '"low" and "high"' in call("plot", folder / "f.json", "--data", "-", status=2)[1]
    figure["panels"][0]["data"][0].update(x="name", high="end")
    (folder / "f.json").write_text(json.dumps(figure))
    assert 'no result has a value for "end"' in call("plot", folder / "f.json", "--data", "-", status=2)[1]


# --- pictures ---------------------------------------------------------------------------------------------------------


def texts_of(path):
    root = xml.parse(path).getroot()
    assert root.tag == "{http://www.w3.org/2000/svg}svg", root.tag
    return ["".join(node.itertext()).strip() for node in root.iter("{http://www.w3.org/2000/svg}text")]


@test
def quick_figures_are_drawn_with_their_labels(folder):
    need_gnuplot()
    for name in ("embrace-fig4", "s2-fig6", "spardl-table1", "zen-fig17a", "winner-map", "crossover-map", "rank-traffic", "link-heat",
                 "embrace-fig6", "embrace-fig8", "embrace-table3", "zen-fig13", "zen-fig17b"):
        document = json.loads((FIGURES / f"{name}.json").read_text())
        drawn = [made(name)[1]]
        if name not in ("zen-fig13", "zen-fig17b"):  # seconds of simulation, and bars like embrace-fig8's
            call("plot", name, "-o", folder / f"{name}.svg", "--width", "wide")
            drawn.append(texts_of(folder / f"{name}.svg"))
        if name == "zen-fig17b":  # all six models of the paper
            assert {"LSTM", "DeepFM", "NMT", "Llama3.2-3B", "OPT-2.7B", "Gemma2-2B"} <= set(drawn[0]), drawn[0]
        for texts in drawn:
            for panel in document["panels"]:
                for axis in ("x", "y"):
                    label = panel[axis].get("label", "").replace("'", "\u2019")
                    assert any(t.startswith(label) for t in texts), f"{name}: no {label!r} in {texts}"
            note = "After " + document["source"] if "source" in document else document["note"]
            assert any(t.startswith(note[:20].replace("'", "\u2019")) for t in texts), f"{name} has no note: {texts}"


@test
def small_margins_are_per_cent(folder):
    """b takes 0.9% longer everywhere: what is compared is in ms, its margin is not."""
    need_gnuplot()
    points = [{"label": label, "ranks": ranks, "at": {"cluster.bandwidth": rate}, "time_s": 1e-3 * more}
              for ranks in (2, 4) for rate in (1e9, 2e9) for label, more in (("a", 1), ("b", 1.009))]
    (folder / "r.json").write_text(json.dumps({"points": points}))
    call("plot", folder / "r.json", "--kind", "map", "-o", folder / "map.svg")
    texts = texts_of(folder / "map.svg")
    assert texts.count("1") == 4 and "900" not in texts, texts


@test
def keys_stand_below_the_middle(folder):
    """Four entries in two rows: names begin as far left of the middle as right of it, nearly."""
    need_gnuplot()
    names = ["abcdefgh1", "abcdefgh2", "abcdefgh3", "abcdefgh4"]
    for kind in ("lines", "bars"):
        (folder / "r.json").write_text(json.dumps([{"label": n, "ranks": r, "time_s": r} for n in names for r in (2, 4)]))
        call("plot", folder / "r.json", "--kind", kind, "--x", "ranks", "-o", folder / "f.svg")
        places = [tuple(map(float, re.match(r"translate\(([\d.]+),([\d.]+)\)", g.get("transform")).groups())) for g in xml.parse(folder / "f.svg").iter("{http://www.w3.org/2000/svg}g")
                  if g.get("transform") and "".join(g.itertext()).strip() in names]
        columns = sorted({x for x, _ in places})
        assert len(places) == 4 and len(columns) == 2, (kind, places)
        assert abs(sum(columns) / 2 - 317 / 2) < 25, (kind, columns)  # marks stand before the names


@test
def samples_in_keys_show_their_dashes(folder):
    """A whole period of each line's dashes, inside the picture; and numbers stand at their tics, without a space in front."""
    need_gnuplot()
    names = ["allreduce", "allgather", "alltoall", "ps", "zen, a name that is long"]
    (folder / "r.json").write_text(json.dumps([{"label": n, "ranks": r, "time_s": r} for n in names for r in (2, 4)]))
    for width in ("column", "wide"):
        call("plot", folder / "r.json", "--x", "ranks", "--kind", "lines", "--width", width, "-o", folder / "f.svg")
        text = (folder / "f.svg").read_text()
        samples = [(sum(map(float, dash.split(","))), float(left), float(right)) for dash, left, right in
                   re.findall(r"stroke-dasharray='([\d.,]+)'\s+d='M([\d.]+),[\d.]+ L([\d.]+),[\d.]+\s*'", text)]
        samples = [s for s in samples if s[2] - s[1] < 60]
        assert len(samples) == 4 and all(right - left >= period for period, left, right in samples), samples
        assert min(left for _, left, _ in samples) > 0
        ends = [float(x) + 5 * len(name) for x, name in re.findall(r"translate\(([\d.]+),[^>]*>\s*<text>([^<]*)<", text) if name in names]
        assert len(ends) == 5 and max(ends) < (317 if width == "column" else 672), ends
        assert "<text>4</text>" in text and "<text> 4</text>" not in text


@test
def notes_are_sentences(folder):
    """What is estimated ends with a full stop, and no line with a number whose unit begins the next."""
    need_gnuplot()
    (folder / "r.json").write_text(json.dumps([{"label": "zen", "ranks": r, "time_s": r} for r in (2, 4)]))
    for n in range(6):
        (folder / "f.json").write_text(json.dumps({"note": "x" * n + " It took" + " 25 Gbit/s" * 30 + ".", "estimated": ["latency 25 us", "the rest"], "panels": [
            {"kind": "lines", "x": {"field": "ranks"}, "y": {"field": "time_s"}, "series": "label", "data": [{"file": str(folder / "r.json")}]}]}))
        call("plot", folder / "f.json", "-o", folder / "f.svg")
        lines = [text for text in texts_of(folder / "f.svg") if "Gbit/s" in text or "Estimated" in text or "rest" in text]
        assert " ".join(lines).endswith("Estimated: latency 25 us; the rest.") and not any(line[-1].isdigit() for line in lines), lines


@test
def bars_on_a_logarithm_are_their_ends(folder):
    """There is no zero for them to stand on."""
    need_gnuplot()
    (folder / "r.json").write_text(json.dumps([{"label": n, "ranks": 4, "time_s": t} for n, t in (("a", 1e-3), ("b", 1e-1))]))
    for more, dots in ((["--log", "none"], 0), ([], 2)):
        call("plot", folder / "r.json", "--kind", "bars", "--x", "label", "--series", "ranks", *more, "-o", folder / "f.svg")
        drawn = re.findall("href='#gpPt[0-9]+' transform='translate", (folder / "f.svg").read_text())
        assert len(drawn) == dots, (more, drawn)


@test
def endings_choose_the_format(folder):
    need_gnuplot()
    for ending, begin in (("svg", b"<?xml"), ("pdf", b"%PDF"), ("png", b"\x89PNG"), ("tex", b"\\leavevmode")):
        call("plot", "spardl-table1", "-o", folder / f"f.{ending}")
        assert (folder / f"f.{ending}").read_bytes().startswith(begin), ending
    assert call("plot", "spardl-table1")[0].startswith("<?xml"), "no SVG on standard output"
    call("plot", "spardl-table1", "-o", folder / "f.svg", "--data", folder / "f.tsv")
    assert (folder / "f.tsv").read_text().startswith("panel\tseries\tx\ty\tlow\thigh\tz\n")


@test
def hostile_labels_stay_labels(folder):
    need_gnuplot()
    mark = folder / "pwned"
    nasty = [f"'; system('touch {mark}'); '", f'`touch {mark}`', f"'.system(\"touch {mark}\").'", "</text><script>x</script>&amp;\"'",
             f"\'\'\'\'; system('touch {mark}') \'\'", "\'\'", "'", "a\'\' \'\'b", "{{{", "}", "a\\", "a\\'", '"', "#", "x]]>", "%s%n%d {/Symbol a}_b^c",
             f"a\\nb\n!touch {mark}\n", f"\"; !touch {mark}", "@mouse $HOME \u202e \u00e9 100%"]
    points = [{"label": label, "ranks": ranks, "time_s": 0.001 * (i + 1) * ranks, "name": label} for i, label in enumerate(nasty) for ranks in (2, 4)]
    (folder / "r.json").write_text(json.dumps({"points": points}))
    for arguments in ([], ["--kind", "bars", "--x", "label", "--series", "ranks"], ["--kind", "map", "--x", "label", "--y", "ranks", "--z", "time_s"],
                      ["--title", nasty[0] + nasty[1]], ["--kind", "heat", "--x", "ranks", "--y", "label", "--z", "time_s"]):
        for ending in ("svg", "pdf", "png", "tex"):
            call("plot", folder / "r.json", "-o", folder / f"f.{ending}", *arguments)
        texts = texts_of(folder / "f.svg")
        assert any("%s%n%d {/Symbol a}_b^c" in t for t in texts) or "map" in arguments, texts
        assert not mark.exists(), f"a label was run: {arguments}"
    # a figure's own texts, and the name of its file
    figure = {"title": nasty[0], "note": nasty[1], "panels": [{"kind": "lines", "title": nasty[2], "x": {"field": "ranks", "label": nasty[3], "unit": nasty[0]},
              "y": {"field": "time_s", "label": nasty[4]}, "series": "label", "data": [{"file": str(folder / "r.json")}]}]}
    path = folder / f"f'; system('touch x'); '.json"
    path.write_text(json.dumps(figure))
    call("plot", path, "-o", folder / "g'`x`.svg")
    texts_of(folder / "g'`x`.svg")
    assert not mark.exists() and not (ROOT / "x").exists()


@test
def tex_takes_labels_for_letters(folder):
    """No command of a label's reaches TeX; what is special there is escaped, and braces close."""
    need_gnuplot()
    nasty = ["\\input{/etc/passwd}", "a_b^c", "50%", "#1 & $x$", "~{}", "{", "plain"]
    points = [{"label": label, "ranks": ranks, "time_s": 0.001 * (i + 1) * ranks} for i, label in enumerate(nasty) for ranks in (2, 4)]
    (folder / "r.json").write_text(json.dumps({"points": points}))
    call("plot", folder / "r.json", "-o", folder / "f.tex", "--title", "100% \\write18{x}", "--kind", "bars", "--x", "label", "--series", "ranks")
    text = (folder / "f.tex").read_text()
    for wanted in (r"\textbackslash{}input\{/etc/passwd\}", r"a\_b\textasciicircum{}c", r"50\%", r"\#1 \& \$x\$", r"\textasciitilde{}\{\}",
                   r"100\% \textbackslash{}write18\{x\}", "plain"):
        assert wanted in text, (wanted, [line for line in text.splitlines() if "node" in line])
    assert "\\input" not in text and "\\write" not in text
    told = re.sub(r"^%.*$", "", text, flags=re.M).replace(r"\{", "").replace(r"\}", "")
    assert told.count("{") == told.count("}"), "braces that do not close"
    if shutil.which("pdflatex"):
        subprocess.run(["gnuplot", "-e", "set terminal tikz createstyle"], cwd=folder, check=True, capture_output=True, timeout=tap.HANG)
        (folder / "doc.tex").write_text("\\documentclass{article}\\usepackage{gnuplot-lua-tikz}\\begin{document}"
                                      "\\input{f.tex}\\newpage\\parbox{4cm}{\\input{f.tex}}\\end{document}")
        done = subprocess.run(["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "doc.tex"], cwd=folder, capture_output=True, text=True, timeout=tap.HANG)
        assert done.returncode == 0 and (folder / "doc.pdf").read_bytes().startswith(b"%PDF"), done.stdout[-600:]
        assert "Overfull" not in done.stdout, done.stdout  # in a column of 4 cm
    call("plot", folder / "r.json", "-o", folder / "q.tex", "--title", 'what is "predicted"')
    assert "what is \u201cpredicted\u201d" in (folder / "q.tex").read_text()
    fake = folder / "bin" / "gnuplot"
    fake.parent.mkdir()
    fake.write_text("#!/bin/sh\necho 'line 2: unknown or ambiguous terminal type; type just set terminal for a list' >&2\nexit 1\n")
    fake.chmod(0o755)
    _, message = call("plot", folder / "r.json", "-o", folder / "g.tex", status=3, environment={**ENVIRONMENT, "PATH": f"{fake.parent}:{os.environ['PATH']}"})
    assert "this gnuplot cannot draw that format" in message and "gnuplot-nox" in message and not (folder / "g.tex").exists(), message


@test
def names_under_bars_are_their_legend(folder):
    """Bars that stand over their names have no key and no word "label"; names that are turned begin inside the picture."""
    need_gnuplot()
    labels = ["allreduce:algorithm=tree", "zen", "ps", "allgather", "omnireduce"]
    (folder / "r.json").write_text(json.dumps({"points": [{"label": label, "time_s": 0.003 * 2 ** i} for i, label in enumerate(labels)]}))
    call("plot", folder / "r.json", "-o", folder / "f.svg")
    texts = texts_of(folder / "f.svg")
    assert [texts.count(label) for label in labels] == [1] * 5 and "label" not in texts, texts
    begins = re.search(r'translate\(([\d.]+),[^>]*rotate\(-35[^>]*>\s*<text>allreduce', (folder / "f.svg").read_text())
    assert float(begins[1]) > 4.9 * len(labels[0]), begins[0]  # where it ends: a letter is 4.9 wide at that angle
    # less than two decades: ones, twos and fives
    call("plot", folder / "r.json", "--log", "y", "-o", folder / "f.svg")
    assert {"5 ms", "10 ms", "20 ms", "50 ms", "2 ms"} <= set(texts_of(folder / "f.svg")) and "1 ms" not in texts_of(folder / "f.svg"), texts_of(folder / "f.svg")


@test
def tex_has_room_and_marks_that_differ(folder):
    """Lines of its legend lie apart, the label of y beside its tics; labels of one's own differ by mark and dash."""
    need_gnuplot()
    own = ["ours", "ours without hashing", "baseline A", "baseline B", "zen"]
    points = [{"label": label, "ranks": ranks, "time_s": 0.001 * (i + 1) * ranks} for i, label in enumerate(own) for ranks in (2, 4, 8)]
    (folder / "r.json").write_text(json.dumps({"points": points}))
    for title in ((), ("--title", "a title changes the letters that gnuplot reckons with")):
        call("plot", folder / "r.json", "-o", folder / "f.tex", "--log", "none", *title)
        text = (folder / "f.tex").read_text()
        nodes = {name: (float(x), float(y)) for x, y, name in re.findall(r"\\node\[.*\] at \((\S+),(\S+)\) \{(.*)\};", text)}
        heights = sorted(nodes[label][1] for label in own)
        assert min(b - a for a, b in zip(heights, heights[1:])) > 0.3, heights  # cm; a line of 8 points takes 0.28
        tics = [x for name, (x, _) in nodes.items() if re.fullmatch(r"\$\d+\$", name) and nodes["time (ms)"][0] < x < 1.5]
        assert tics and min(tics) - nodes["time (ms)"][0] > 0.6, (tics, nodes["time (ms)"])
        dashes, marks = (set(re.findall(what, text)) for what in (r"gpsetdashtype\{(.*)\}", r"gp mark (\d+)"))
        assert len(dashes) >= 3 and len(marks) >= 4, (dashes, marks)


# The last eight colours of plots/style.gp, as gnuplot writes them: of labels that are no scheme's.
OTHERS = {"rgb({},{},{})".format(*bytes.fromhex(c)) for c in re.findall(r"'#([0-9a-f]{6})'", (ROOT / "plots" / "style.gp").read_text().split("array mark")[0])[-8:]}


@test
def labels_keep_colours_and_dashes(folder):
    """The user's own label is drawn alike in lines, bars and maps, beside whatever schemes; `style` says otherwise."""
    need_gnuplot()
    colours = set()
    for schemes in (["zen", "ps"], ["allreduce", "oktopk", "s2"]):
        points = [{"label": label, "ranks": r, "cell": "c", "time_s": (1 if label == "ours" else 2) * r} for label in (*schemes, "ours") for r in (2, 4)]
        (folder / "r.json").write_text(json.dumps({"points": points}))
        for kind in (["lines"], ["bars"], ["map", "--y", "cell", "--z", "time_s"]):
            call("plot", folder / "r.json", "-o", folder / "f.svg", "--x", "ranks", "--kind", *kind)
            text = (folder / "f.svg").read_text()
            colours |= {c for c in re.findall(r"rgb\([ \d,]+\)", text) if c.replace(" ", "") in OTHERS}
    assert len(colours) == 1, colours
    call("plot", folder / "r.json", "-o", folder / "f.svg", "--style", "ours=#12ab34,dotted", "--style", "s2=dashed")
    text = (folder / "f.svg").read_text().replace(" ", "")
    assert "rgb(18,171,52)" in text , "no such colour"
    for wrong, says in (("mine=#12ab34", 'no series is called "mine"'), ("ours=red", 'red" is not a colour'), ("ours", "expected LABEL=STYLE"),
                        ("ours=#12ab34,#12ab35", "each once"), ("ours=", 'is not a colour')):
        assert says in call("plot", folder / "r.json", "-o", folder / "g.svg", "--style", wrong, status=2)[1], wrong
    figure = {"style": {"ours": "#12ab34"}, "panels": [{"kind": "lines", "x": {"field": "ranks"}, "y": {"field": "time_s"}, "series": "label",
              "data": [{"file": str(folder / "r.json")}]}]}
    (folder / "figure.json").write_text(json.dumps(figure))
    call("plot", folder / "figure.json", "-o", folder / "h.svg")
    text = (folder / "h.svg").read_text().replace(" ", "")
    assert "rgb(18,171,52)" in text , "a figure's style"
    (folder / "figure.json").write_text(json.dumps({**figure, "style": {"nobody": "dashed"}}))
    assert 'no series is called "nobody"' in call("plot", folder / "figure.json", "-o", folder / "h.svg", status=2)[1]


@test
def panels_share_a_legend(folder):
    """Panels with a series in common have one key, below all, with each name once; others have their own."""
    need_gnuplot()
    def drawn(first, second, width="wide"):
        points = [{"label": label, "ranks": r, "cluster": cluster, "time_s": r} for cluster, labels in (("one", first), ("two", second))
                  for label in labels for r in (2, 4)]
        (folder / "r.json").write_text(json.dumps({"points": points}))
        call("plot", folder / "r.json", "-o", folder / "f.svg", "--x", "ranks", "--kind", "lines", "--width", width)
        return texts_of(folder / "f.svg")

    same = drawn(["aaa", "bbb", "ccc"], ["aaa", "bbb", "ccc"])
    assert [same.count(name) for name in ("aaa", "bbb", "ccc")] == [1, 1, 1], same
    fewer = drawn(["aaa", "bbb", "ccc"], ["aaa", "ccc"])
    assert [fewer.count(name) for name in ("aaa", "bbb", "ccc")] == [1, 1, 1], fewer
    other = drawn(["aaa", "bbb"], ["aaa", "ddd"])
    assert [other.count(name) for name in ("aaa", "bbb", "ddd")] == [1, 1, 1], other
    drawn(["aaa", "bbb"], ["aaa", "ddd"], "column")
    places = {name: y for name in ("aaa", "bbb", "ccc", "ddd") for y in key_heights(folder / "f.svg", name)}
    drawn(["aaa", "bbb"], ["ccc", "ddd"], "column")
    apart = {name: y for name in ("aaa", "bbb", "ccc", "ddd") for y in key_heights(folder / "f.svg", name)}
    assert len(set(places.values())) == 1 and len(set(apart.values())) == 2, (places, apart)
    bars = [{"label": label, "ranks": r, "cluster": c, "time_s": 1} for c, labels in (("one", "ab"), ("two", "ac")) for label in labels for r in (2, 4)]
    (folder / "r.json").write_text(json.dumps(bars))
    call("plot", folder / "r.json", "-o", folder / "f.svg", "--x", "ranks", "--kind", "bars", "--width", "wide")
    assert [texts_of(folder / "f.svg").count(name) for name in "abc"] == [1, 1, 1]
    (folder / "r.json").write_text(json.dumps([{"label": label, "tensor": t, "time_s": 1} for label in "ab" for t in ("*", "t")]))
    titles = {row["panel"] for row in csv.DictReader(io.StringIO(call("plot", folder / "r.json", "--data", "-")[0]))}
    long = [{"label": label, "workload": f"a-workload-whose-name-is-long-{w}", "ranks": r, "time_s": r} for label in "ab" for w in range(4) for r in (1, 2)]
    (folder / "r.json").write_text(json.dumps(long))
    call("plot", folder / "r.json", "-o", folder / "f.svg", "--x", "ranks", "--kind", "lines")
    drawn = [text for text in texts_of(folder / "f.svg") if text.startswith("a-workload")]
    assert len(drawn) == 4 and all(text.endswith("...") and len(text) * 5.9 < 672 / 4 for text in drawn), drawn
    assert titles == {"all tensors", "t"}, titles


def key_heights(path, name):
    return [float(re.search(r",([\d.]+)\)", g.get("transform"))[1]) for g in xml.parse(path).iter("{http://www.w3.org/2000/svg}g")
            if g.get("transform") and "".join(g.itertext()).strip() == name]


@test
def equal_lines_are_all_seen(folder):
    """Of lines that are the same each lower one is wider, and no two have the same dash and mark; a long line shows its dashes between few marks."""
    need_gnuplot()
    labels = ["spardl", "oktopk", "topka", "topkdsa", "gtopk"]
    (folder / "r.json").write_text(json.dumps([{"label": label, "bytes": x, "time_s": x} for label in labels for x in range(1, 41)]))
    call("plot", folder / "r.json", "-o", folder / "f.tex", "--x", "bytes", "--kind", "lines", "--log", "xy")
    text = (folder / "f.tex").read_text()
    curves = re.findall(r"gpsetdashtype\{(.*)\}\n.gpsetlinewidth\{([\d.]+)\}\n((?:.draw\[gp path\] .*\n(?:  --.*\n)*)+)", text)
    curves = [(dash, float(width)) for dash, width, path in curves if path.count("--") >= 39]
    marks = re.findall(r"gp mark (\d+)\}\{\}\{\((\S+),", text)
    assert len(curves) == 5 and len({dash for dash, _ in curves}) == 5, curves
    widths = [width for _, width in curves]
    assert widths == sorted(widths, reverse=True) and widths[0] > 1.5 * widths[-1], widths
    assert len({mark for mark, _ in marks}) == 5 and len({x for _, x in marks}) >= 40 and len(marks) < 60, marks  # each at places of its own


@test
def panels_beside_each_other_have_one_axis(folder):
    """What is 1 and 10 s on one cluster and a thousandth on the other stands on the same tics, in the same unit."""
    need_gnuplot()
    points = [{"label": label, "ranks": r, "cluster": cluster, "time_s": s * r} for cluster, s in (("slow", 1), ("fast", 1e-3)) for label in "ab" for r in (1, 10)]
    (folder / "r.json").write_text(json.dumps({"points": points}))
    for more in (["--kind", "bars"], ["--kind", "lines"], ["--kind", "lines", "--log", "y"]):
        call("plot", folder / "r.json", "-o", folder / "f.svg", "--x", "ranks", "--width", "wide", *more)
        tics = [t for t in texts_of(folder / "f.svg") if re.fullmatch(r"[\d.]+( .?s)?", t) and t not in ("1", "10")]
        double = {t for t in tics if tics.count(t) == 2}
        assert len(double) >= 2 and (len(double) * 2 == len(tics)), (more, tics)


@test
def what_is_spread_stands_on_logarithms(folder):
    """Over more than a factor of ten, ends of ranges too, as on pages; --log none says otherwise."""
    need_gnuplot()
    for most, high, rate, options, log in ((9, None, 9, [], ""), (11, None, 9, [], "y"), (9, 11, 9, [], "y"), (9, None, 11, [], "x"), (11, 12, 11, ["--log", "none"], ""),
                                           (11, 12, 11, ["--log", "x"], "x")):
        points = [{"label": label, "at": {"cluster.bandwidth": rate * 1e9 / 8}, "cluster": c, "time_s": time, "time_low_s": time, "time_high_s": high and time * high / most}
                  for label, c, time, rate in (("a", "c", 1, 1), ("b", "c", 2, 1), ("a", "c", 1, rate), ("b", "c", most, rate))]
        (folder / "r.json").write_text(json.dumps({"points": points}))
        call("plot", folder / "r.json", "-o", folder / "f.svg", *options)
        texts = texts_of(folder / "f.svg")
        assert (("y" if "time" in texts else "") + ("x" if "bandwidth" in texts else "")) == log and ("time (s)" in texts) == ("y" not in log), (most, high, rate, options, texts)


# --- what goes wrong --------------------------------------------------------------------------------------------------


@test
def odd_data_are_drawn_or_refused(folder):
    need_gnuplot()
    points = [{"label": "a", "ranks": x, "time_s": y} for x, y in ((1, 0), (2, 0))]
    for data, arguments, status in ((points, [], 0), (points[:1], [], 0), (points, ["--log", "y"], 2), (points, ["--log", "x"], 0),
                                    ([{**points[0], "ranks": 0}, points[1]], ["--log2", "x"], 0), ([{**points[0], "ranks": -1}], ["--x", "ranks", "--log2", "x"], 2),
                                    ([{**p, "time_s": -1e200} for p in points], [], 0), (points[:1], ["--kind", "map", "--x", "ranks", "--y", "label"], 0),
                                    ([{**points[0], "time_s": None}, points[1]], ["--kind", "bars"], 0)):
        (folder / "r.json").write_text(json.dumps({"points": data}))
        call("plot", folder / "r.json", "-o", folder / "f.svg", *arguments, status=status)
        if status == 0:
            texts_of(folder / "f.svg")


@test
def without_gnuplot_the_data_are_saved(folder):
    bare = {**ENVIRONMENT, "PATH": str(folder)}
    _, message = call("plot", "spardl-table1", "-o", folder / "f.pdf", status=3, environment=bare)
    assert "apt-get install gnuplot" in message and str(folder / "f.csv") in message, message
    assert (folder / "f.csv").read_text().startswith("panel,series,x,y,low,high,z\n") and not (folder / "f.pdf").exists()
    call("plot", "spardl-table1", "-o", folder / "g.pdf", "--data", folder / "d.csv", status=3, environment=bare)
    assert (folder / "d.csv").exists() and not (folder / "g.csv").exists()
    assert call("plot", "spardl-table1", "--data", "-", environment=bare)[0].startswith("panel,")


@test
def points_of_other_places_are_not_joined(folder):
    """What varies and is on no axis makes panels, or is refused by name: a line never joins points of two places."""
    flat = {"name": "flat", "latency": "560ns", "bandwidth": "1GB/s", "gpus_per_node": 2}
    rates, scenario = [1.25e9, 3.125e9], folder / "s.json"
    scenario.write_text(json.dumps({"trace": {"uniform": {"rows": 800, "row_width": 10, "density": 0.1}}, "cluster": flat, "ranks": [2, 4],
                                    "schemes": ["allgather", "ps"], "sweep": {"cluster.bandwidth": rates, "cluster.nic": ["per-node", "per-rank"]}}))
    results = folder / "r.json"
    call("run", scenario, "--format", "json", "--per-rank", "-o", results)
    points = json.loads(results.read_text())["points"]
    truth = {(p["label"], p["at"]["cluster.bandwidth"], p["at"]["cluster.nic"], p["ranks"]): p["time_s"] for p in points}

    def drawn(*arguments):
        return list(csv.DictReader(io.StringIO(call("plot", results, *arguments, "--data", "-")[0])))

    rows = drawn()
    assert len(rows) == 16 and {r["panel"] for r in rows} == {f"cluster.nic = {nic}, ranks = {n}" for nic in ("per-node", "per-rank") for n in (2, 4)}
    for r in rows:
        nic, ranks = re.fullmatch(r"cluster.nic = (.*), ranks = (\d)", r["panel"]).groups()
        near(float(r["y"]), truth[r["series"], float(r["x"]) / 8, nic, int(ranks)], r)
    assert {r["panel"] for r in drawn("--where", "ranks=4")} == {"cluster.nic = per-node", "cluster.nic = per-rank"}
    assert {r["panel"] for r in drawn("--where", "ranks=4", "--where", "nic=per-rank")} == {""}
    assert {r["panel"] for r in drawn("--kind", "map", "--x", "ranks", "--y", "bandwidth")} == {"cluster.nic = per-node", "cluster.nic = per-rank"}
    one = drawn("--where", "ranks=4", "--where", "label=ps")
    assert {(r["panel"], r["series"]) for r in one} == {("", "per-node"), ("", "per-rank")}, "the one field that varies is the series"
    rated = drawn("--x", "ranks", "--series", "bandwidth", "--where", "label=ps", "--where", "nic=per-rank")
    assert {r["series"] for r in rated} == {"10 Gbit/s", "25 Gbit/s"}, rated
    traffic = drawn("--kind", "traffic", "--where", "nic=per-rank", "--where", "bandwidth=10Gbps")
    assert {r["panel"] for r in traffic} == {f"{way}, ranks = {n}" for way in ("sent", "received") for n in (2, 4)}, traffic
    _, told = call("plot", results, "--kind", "traffic", "--data", "-", status=2)
    assert "8 places would be drawn as if they were one, cluster.bandwidth, cluster.nic, ranks vary" in told and "--where" in told, told
    if GNUPLOT:
        call("plot", results, "--kind", "bars", "--where", "ranks=4", "--where", "nic=per-rank", "--x", "bandwidth", "--log", "y", "-o", folder / "b.svg")
        assert any(text.endswith(" us") for text in texts_of(folder / "b.svg")), "a logarithmic axis has its tics with units"
        call("plot", results, "--kind", "map", "--x", "ranks", "--y", "bandwidth", "-o", folder / "m.svg")
        assert any("by how many %" in text for text in texts_of(folder / "m.svg"))


@test
def wrong_usage_says_what_would_do(folder):
    call("run", "--trace", KJV, "--cluster", "p3.16xlarge-25g", "--scheme", "allgather", "--iterations", "1", "--format", "json", "-o", folder / "r.json")
    (folder / "empty.json").write_text('{"points": []}')
    (folder / "text.json").write_text("not JSON")
    results = folder / "r.json"
    for arguments, status, words in (
            ([], 2, "name a figure"), (["zen-fg8"], 2, 'did you mean "zen-fig8"'), (["zen-fig8", "-o", "f.jpg"], 2, ".svg, .pdf, .png, or of PGF .tex or .pgf"),
            (["zen-fig8", "-o", "f"], 2, ".svg, .pdf, .png, or of PGF .tex or .pgf"), (["zen-fig8", "extra"], 2, "left over"), (["zen-fig8", "--x", "ranks"], 2, "is for result files"),
            (["zen-fig17a", "--width", "3in"], 2, "column or wide"), ([results, "--y", "tim_s"], 2, 'did you mean "time_s"'),
            ([results, "--kind", "pie"], 2, "lines, bars, heat, map, traffic, links or rounds"), ([results, "--kind", "traffic"], 2, "rank_bytes_sent"),
            ([results, "--where", "ranks"], 2, "FIELD=VALUE"), ([results, "--where", "ranks=3"], 2, '--where ranks: no result is left (there are: 16)'),
            ([results, "--relative", "zen"], 2, "no time at every place"), ([folder / "empty.json"], 2, "no list of results"),
            ([folder / "text.json"], 2, "not JSON"), ([folder / "absent.json"], 2, "cannot open"), ([results, "-o", folder / "no" / "f.svg"], 2, "cannot write"),
            ([results, "--data", folder / "no" / "d.csv"], 2, "cannot write")):
        if "-o" in arguments and status == 3 and not GNUPLOT:
            continue
        _, message = call("plot", *arguments, status=status)
        assert words in message, f"{arguments}: {message!r} has no {words!r}"


@test
def figures_that_are_wrong_are_refused(folder):
    good = {"panels": [{"kind": "lines", "x": "ranks", "y": "formula_s", "series": "form",
                        "data": [{"cost": {"schemes": ["allgather"], "M": "1MB", "density": "1%"}}]}]}

    def refused(change, words, status=2):
        document = json.loads(json.dumps(good))
        change(document)
        (folder / "f.json").write_text(json.dumps(document))
        _, message = call("plot", folder / "f.json", "--data", "-", status=status)
        assert words in message, f"{message!r} has no {words!r}"

    (folder / "f.json").write_text(json.dumps(good))
    assert "allgather-ring,4," in call("plot", folder / "f.json", "--data", "-")[0]
    entry = lambda document: document["panels"][0]["data"][0]
    refused(lambda d: entry(d).update(command=["run"]), 'command')
    refused(lambda d: entry(d).update(run={}), "asks several things")
    refused(lambda d: entry(d).pop("cost"), "asks nothing")
    refused(lambda d: entry(d).update(cost="zen"), "expected an object")
    refused(lambda d: (entry(d).pop("cost"), entry(d).update(run="../../../etc/nothing")), "nothing")
    refused(lambda d: entry(d).update(cots=1), 'did you mean "cost"')
    refused(lambda d: entry(d)["cost"].update(density=2), "above 1")
    refused(lambda d: d["panels"][0].update(kind="pie"), "kind")
    refused(lambda d: d.update(panels=[]), "1 to 6 panels")
    refused(lambda d: d.update(panels=d["panels"] * 7), "1 to 6 panels")
    refused(lambda d: d["panels"][0].update(data=[]), "no list of entries")
    refused(lambda d: d["panels"][0].update(x={"field": "ranks", "scale": "cubic"}), "scale")
    refused(lambda d: (entry(d).pop("cost"), entry(d).update(measure={"name": "hashing", "elements": 1e18})), "elements")
    refused(lambda d: entry(d)["cost"].update(schemes=["zzz"]), "panels[0].data[0]")
    assert not (ROOT / "x").exists()


@test
def trainings_have_what_is_inferred_beside_them(folder):
    """But for what a paper prints no time of: shares of no clock leave S2's computing open by factors of ten."""
    def trains(document):
        return isinstance(document, dict) and (str(document.get("train", "")).startswith("scenarios/training/") or any(map(trains, document.values()))) or \
            isinstance(document, list) and any(map(trains, document))
    without = {name for path in FIGURES.glob("*.json") if trains(json.loads(text := path.read_text())) and '"software": "models/measured/' not in text
               for name in (path.stem,)}
    assert without == {"s2-fig3", "spardl-fig6"}, without  # whose updates spardl-table3 has inferred
    assert not [row for row in csv.DictReader((ROOT / "models/measured/papers.csv").open()) if row["testbed"] == "s2" and row["unit"] in ("s", "ms")]
    compute, = (one for one in json.loads((ROOT / "models/measured/inferred-s2.json").read_text())["inferred"] if one["what"] == "compute")
    assert compute["low"] <= 0.11 and compute["high"] >= 9, compute
    assert "No panel is inferred" in json.loads((FIGURES / "s2-fig3.json").read_text())["differs"]


@test
def what_was_inferred_is_found_from_anywhere(folder):
    assert "inferred" in call("plot", "embrace-fig8", "--data", "-", cwd=folder)[0]


@test
def every_figure_has_what_lists_need(folder):
    listed = json.loads(call("list", "figures", "--format", "json")[0])["figures"]
    assert [f["name"] for f in listed] == sorted(p.stem for p in FIGURES.glob("*.json"))
    assert all(figure["summary"] for figure in listed)
    named = {"embrace-fig4", "s2-fig6", "s2-fig7", "s2-lambda", "zen-fig2", "zen-fig3", "zen-fig8", "zen-fig15", "zen-fig16", "zen-fig17a", "spardl-table1",
             "spardl-fig5", "spardl-fig7", "zen-fig11", "zen-fig12", "zen-fig13", "zen-fig14", "zen-fig17b", "zen-fig18", "spardl-table3", "spardl-fig6", "spardl-fig8"}
    assert named <= {f["name"] for f in listed}
    assert all(f["source"] for f in listed if f["name"] in named)
    # of each paper's figures and tables (of S2 those that its text shows) the rest is said to show no communication, or to be no claim
    none = {"embrace": {"fig1", "fig2", "fig5"}, "zen": {"fig1", "fig9", "fig10", "table4"}, "spardl": {"fig4"}, "s2": {"fig1", "fig2", "table1", "table2"}}
    for paper, figures, tables in (("embrace", range(1, 12), 3), ("zen", range(1, 19), 4), ("spardl", range(1, 9), 3), ("s2", (1, 2, 3, 6, 7, 8), 2)):
        every = {f"fig{n}" for n in figures} | {f"table{n}" for n in range(1, tables + 1)}
        drawn = {name for name in every if any(re.fullmatch(f"{paper}-{name}([a-z]|-[a-z0-9]+)?", f["name"]) for f in listed)}
        assert every - drawn == none[paper], (paper, every - drawn)
    pages = " ".join((ROOT / "docs/claims.md").read_text().split()) + " ".join((ROOT / "docs/figures.md").read_text().split())
    for text in ("(EmbRace Fig. 1, S2 Figs. 1 and 2, ZEN Figs. 1 and 10) and lists of inputs (S2 Tables 1 and 2, ZEN Table 4) are no claims",
                 "EmbRace's Figs. 2 and 5, ZEN's Fig. 9 and SparDL's Fig. 4 show no communication"):
        assert text in pages, text


sys.exit(tap.run())
# SPDX-License-Identifier: Apache-2.0
