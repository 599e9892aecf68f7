#!/usr/bin/python3
"""sparsync claims: every printed number of the papers against ours. Arguments: the program, the source tree. Prints TAP."""
import copy
import csv
import io
import json
import math
import re
import subprocess
import sys

import tap
from asking import ENVIRONMENT, PROGRAM, ROOT, ask, fits, jsonschema
from tap import near, test

SHIPPED = sorted((ROOT / "scenarios" / "claims").glob("*.json"))
VERDICTS = {"reproduced", "reproduced, depends on estimate", "predicted", "direction only", "not reproduced", "depends on estimate",
            "paper inconsistent", "arithmetic holds", "input"}


def claims(*arguments, **options):
    document = json.loads(ask("claims", *arguments, "--format", "json", **options).stdout)
    fits("claims", document)
    return {claim["id"]: claim for claim in document["claims"]}


ALL, ASKED = {}, []


def everything():
    """All shipped claims, computed once for all tests."""
    if not ASKED:
        ASKED.append("once, also where it fails")
        ALL.update(claims())
    assert ALL, "sparsync claims failed before"
    return ALL


def own(folder, name="own.json", inputs=None, **fields):
    """A file with one claim, which is reproduced unless the fields say otherwise."""
    claim = {"id": "own-claim", "source": "nowhere", "class": "A", "claim": "two and two", "printed": 4, "tolerance": "0.5",
             "ours": "2+2", "verdict": "arithmetic holds", "why": "because", **fields}
    claim = {key: value for key, value in claim.items() if value is not None}
    (folder / name).write_text(json.dumps({"paper": "own", "title": "Own", "inputs": inputs or {}, "claims": [claim]}))
    return folder / name


def verdict(folder, **fields):
    """The verdict of one claim, whatever is pinned."""
    path = own(folder, **fields)
    done = subprocess.run([PROGRAM, "claims", str(path), "--format", "json"], capture_output=True, text=True, timeout=tap.HANG, cwd=ROOT, env=ENVIRONMENT)
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout)["claims"][0]


# --- what is shipped ----------------------------------------------------------------------------------------------------


@test
def pinned_verdicts_hold(folder):
    found = everything()
    assert len(found) >= 100, f"{len(found)} claims"
    for claim in found.values():
        assert claim["verdict"] == claim["pinned"] and claim["verdict"] in VERDICTS, claim["id"]
        assert claim["why"] and claim["source"] and "{" not in claim["why"], claim["id"]
        assert claim["runs"] or claim["verdict"] not in ("reproduced", "reproduced, depends on estimate", "direction only"), claim["id"]
    assert {claim["paper"] for claim in found.values()} == {json.loads(path.read_text())["paper"] for path in SHIPPED} == {"embrace", "s2", "spardl", "zen"}


@test
def spoilt_files_do_not_fit_their_schema(folder):
    """That those that are shipped do is for test_schemas.py."""
    if not jsonschema:
        raise tap.Skip("python3-jsonschema is not installed")
    for path in SHIPPED:
        whole = json.loads(path.read_text())
        document = {**whole, "inputs": {}, "claims": whole["claims"][:1]}
        fits("claims-file", document)
        for spoil in (lambda d: d["claims"][0].pop("why"), lambda d: d["claims"][0].update(verdict="maybe"),
                      lambda d: d.update(papers=1), lambda d: d["claims"][0].update({"class": "D"})):
            wrong = copy.deepcopy(document)
            spoil(wrong)
            try:
                fits("claims-file", wrong)
            except jsonschema.ValidationError:
                continue
            raise AssertionError("the schema takes a spoilt file")


@test
def estimates_are_tried_at_half_and_double(folder):
    found = everything()
    for claim in found.values():
        assert claim["class"] != "B" or claim["estimates"], f"{claim['id']} has hardware in it and no estimate"
        for estimate in claim["estimates"]:
            odd = estimate["input"] == "hashes of S2's sketch" and estimate["value"] == 1  # one becomes three and five
            assert (estimate["halved"] <= estimate["value"] or odd) and estimate["halved"] < estimate["doubled"], claim["id"]
            assert estimate["value"] <= estimate["doubled"] and (not odd or (estimate["halved"], estimate["doubled"]) == (3, 5)), claim["id"]
        assert bool(claim["estimates"]) == (claim["over"] is not None), claim["id"]
        if claim["estimates"]:
            tried = [claim["ours"]] + [e[k] for e in claim["estimates"] for k in ("ours_halved", "ours_doubled") if e[k] is not None]
            ends = [[t, t] if not isinstance(t, list) else t for t in tried]
            over = claim["over"] if isinstance(claim["over"], list) else [claim["over"]] * 2
            assert over == [min(low for low, high in ends), max(high for low, high in ends)], claim["id"]
    for name in [n for n in found if "depends on estimate" in found[n]["verdict"]]:
        assert found[name]["estimates"], name


@test
def docs_are_up_to_date(folder):
    with (ROOT / "docs" / "claims.csv").open() as stream:
        rows = {row["id"]: row["verdict"] for row in csv.DictReader(stream)}
    assert rows == {name: claim["verdict"] for name, claim in everything().items()}, "scenarios/claims/replay.py makes docs/claims.csv"
    counted = {verdict: [sum(claim["verdict"] == verdict and claim["paper"] == paper for claim in everything().values())
                         for paper in ("embrace", "s2", "spardl", "zen")] for verdict in VERDICTS}
    page = (ROOT / "docs" / "claims.md").read_text()
    for verdict, counts in counted.items():
        assert f"| **{verdict}** | {' | '.join(map(str, counts))} | {sum(counts)} |" in page, f"docs/claims.md: {verdict} {counts}"
    assert f"The four papers print {len(rows)} " in page and f"{sum(c['loose'] is not None for c in everything().values())} of them are *loose*" in page


def zen_seconds(name):
    """What the reason says first: ZEN's iteration."""
    return float(re.match(r"[0-9.]+", everything()[name]["why"])[0])


@test
def hand_arithmetic(folder):
    """Numbers worked out here from what the papers print, beside the program's."""
    ours = {name: claim["ours"] for name, claim in everything().items()}
    # EmbRace: Table 1 and Table 3
    near(ours["embrace-t1-ratio-bert"], 100 * 89.4 / 417.7)
    near(ours["embrace-t1-size-lm"], 2 * 793471 * 512 * 4 / 1024**2)
    for model, gradient, embedding, printed in (("lm", 8.7, 3099.5, 99.7), ("gnmt", 26.0, 252.5, 89.7),
                                                ("transformer", 35.2, 263.4, 86.6), ("bert", 36.0, 89.4, 59.7)):
        near(ours[f"embrace-sparsity-{model}"], 100 - 100 * gradient / embedding)
        assert round(ours[f"embrace-sparsity-{model}"], 1) == printed
    # AlltoAll with indices at density 1, 64 ranks, rows of 64 F32 (one element, 4 B, of each on a rank), 10 us, 1 GB/s:
    # lookups 4 B and gradients 8 B a row and partner, against twice the tensor's 1/64
    rows, alpha, beta = 4096, 10e-6, 1e-9
    alltoall = 63 * (2 * alpha + rows * (4 + 8) * beta)
    near(ours["embrace-alltoall-allreduce-indices"], alltoall / (2 * 63 * (alpha + rows * 256 / 64 * beta)))
    # AlltoAll below AllGather iff dM*beta*(1-2/P) > alpha, dM = 256 rows of 256 B, P = 4
    for measured, start in zip(ours["embrace-alltoall-allgather"], (3.2440e-05, 3.3096e-05)):
        near(measured, 6 * (start + 65536 / 4 * 1e-9) / (3 * (start + 65536e-9)))
    # ZEN: d + d^128 of AllReduce; n = 16; batch 1
    d, gamma = 0.0247, everything()["zen-fig8-gamma"]["ours"]
    near(ours["zen-fig8-balanced-parallelism"], 100 * (1 - d - d * gamma), within=1e-3)
    near(ours["zen-n16-full-overlap"], 4 / (15 / 16 * 2))
    near(ours["zen-n16-no-overlap"], 15 / (15 / 16 * 17))
    independent = [(1 - 0.95**k) / 0.05 for k in range(17)]
    near(ours["zen-n16-overlap-independent"], sum(independent[2**i] for i in range(4)) / (15 / 16 * (independent[16] + 1)))
    near(ours["zen-n16-overlap-hot-set"], sum(0.05 + 0.95 * 2**i for i in range(4)) / (15 / 16 * (0.05 + 0.95 * 16 + 1)))
    near(ours["zen-batch1-balanced-gamma-k"], 100 * (1 - 7 / (7 / 8 * 9)))
    near(ours["zen-batch1-allgather-hot"], 100 * (1 - (1 + 1.93 + 3.79) / 7), within=1e-6)
    near(ours["zen-batch1-balanced-hot"], 100 * (1 - (1 + 1.93 + 3.79) / (7 / 8 * (1 + 7.51))), within=1e-6)
    # 856 MB at 16 x 25 Gbit/s, 2.10 times faster; 6 ms of hashing at 100 Gbit/s
    dense = 2 * 15 * (856e6 / 16 / 3.125e9)
    near(ours["zen-saving-25g"], 1000 * dense * (1 - 1 / 2.1))
    assert 265 < ours["zen-saving-25g"] < 275
    near(ours["zen-hashing-share-100g"], 100 * 0.006 / (2 * 15 * (856e6 / 16 / 12.5e9) * (1 - 1 / 2.1)))
    near(ours["zen-theorem2-example"][0], math.sqrt(128 * math.log(128) / 5e6))
    near(ours["zen-loss"][1], 100 * (1 - (1 - math.exp(-0.1)) / 0.1), within=0.01)
    near(ours["zen-collisions"], 100 * 0.5**4 / 5, within=0.05)  # one after the other; rounds of probes differ a little
    near(ours["zen-deepfm-bitmap"], 856 / 32)
    near(ours["zen-deepfm-bitmap-naive"], 16 * 856 / 32)
    for name, expected in (("hash-bitmap-95", 0.95 + 1 / 32), ("coo-above-50", 1.1), ("bitmap-above-50", 0.55 + 16 / 32)):
        near(ours[f"zen-fig17a-{name}"], expected, within=1e-4)
    # SparDL: Eqs. 1 and 6 add up to another lower end; S2: 2*lambda/W and the bitmap's bit a row
    near(ours["spardl-t1-bsag-low"], 2 * (12 - 3) / 12 + 2 * 2 / 12 + 2 * (12 - 3) / 36)
    near(ours["spardl-t1-bsag-latency"][0], 2 - math.log2(3), within=1e-6)
    near(ours["spardl-oktopk-twice-topka"], 2 * (6 + math.log2(6)) / math.log2(6))
    near(ours["s2-traffic"], 2 * 15 / 16 * (0.5 * 512 * 512 * 4 + 51200 / 8) / (15 * 512 * 512 * 4), within=1e-3)
    assert 6 < ours["s2-fig6"][0] < ours["s2-fig6"][1] < 10  # the limit of rings is P/2; NCCL broadcasts each rank's part
    # SparDL's updates of VGG-16 at 6 workers, 1 Gbit/s: its computation, then R-SAG of 2 teams (Eq. 5: 10/3 k words, 5 start-ups) and
    # sums; or TopkA with its folds, 12 selections of k entries of 8 B in 5 messages (one in, two or three exchanges, one out)
    modules = json.loads((ROOT / "models" / "workloads" / "spardl-vgg-16.json").read_text())["modules"]
    compute, k = sum(m["forward_s"] + m["backward_s"] for m in modules), 147283
    # ... and kernels, at 308 GB/s and 10 us a launch: a pass over the gradient reads or writes 4 B an element. Selecting takes 4 of
    # them (the residual is added: 3; top-k), what is left 2; SparDL goes over what it dropped 6 to 9 times more to keep it
    n = sum(m["bytes"] for m in modules) / 4
    for method, network, least, most in (("spardl", 10 / 3 * k * 4 / 125e6, 6, 15), ("topka", 12 * k * 8 / 125e6, 4, 7)):
        kernels = ours[f"spardl-table3-vgg-16-{method}"] - compute - network - 5 * 50e-6
        assert least * 4 * n / 308e9 < kernels < most * 4 * n / 308e9 + 60 * 10e-6 + 0.05 * network, (method, kernels)
    # ZEN's language models: nothing but communication and what of 0.4 s is not hidden; AllReduce moves 2*15/16 of an eighth of the weights
    weights = sum(m["bytes"] for m in json.loads((ROOT / "models" / "workloads" / "zen-opt-2.7b.json").read_text())["modules"])
    ring = 2 * 15 / 16 * weights / (3.125e9 / 8)
    assert ring < ours["zen-fig13-opt-allreduce"] * zen_seconds("zen-fig13-opt-allreduce") < ring + 0.38
    # the two steps of Fig. 17b make the whole of Fig. 11 and 13
    for whole, part in (("zen-fig11-lstm-allreduce", "zen-fig17b-lstm"), ("zen-fig13-llama-allreduce", "zen-fig17b-llama")):
        near(ours[f"{part}-hashing"] * (1 + ours[f"{part}-bitmap"] / 100), ours[whole])
    assert ours["zen-fig18a"] == ours["zen-fig18b"] == 0
    assert 0 < ours["spardl-fig8"][0] and 0 < ours["spardl-fig8"][1]


@test
def a_changed_verdict_ends_with_1(folder):
    document = json.loads((ROOT / "scenarios" / "claims" / "embrace.json").read_text())
    flipped = next(claim for claim in document["claims"] if claim["id"] == "embrace-t1-ratio-lm")
    document["claims"] = [flipped] + [c for c in document["claims"] if c["id"].startswith("embrace-t1-")][:2]
    document["claims"] = list({c["id"]: c for c in document["claims"]}.values())
    flipped["verdict"] = "direction only"
    (folder / "embrace.json").write_text(json.dumps(document))
    done = ask("claims", folder / "embrace.json", "--format", "json", status=1)
    assert 'embrace-t1-ratio-lm is "arithmetic holds" and pinned as "direction only"' in done.stderr and "1 verdict has changed" in done.stderr
    assert len(json.loads(done.stdout)["claims"]) == len(document["claims"])
    assert "arithmetic holds (CHANGED)" in ask("claims", folder / "embrace.json", status=1).stdout
    flipped["verdict"] = "arithmetic holds"
    (folder / "embrace.json").write_text(json.dumps(document))
    ask("claims", folder / "embrace.json")


# --- choosing and printing ------------------------------------------------------------------------------------------------


@test
def words_choose(folder):
    one = claims("embrace-t1-ratio-lm")
    assert list(one) == ["embrace-t1-ratio-lm"] and one["embrace-t1-ratio-lm"]["ours"] == 100 * 3099.5 / 3186.5
    both = claims("s2-table1-sparsity", "embrace-t1-ratio-lm")
    assert list(both) == ["embrace-t1-ratio-lm", "s2-table1-sparsity"], "the order is that of the files"
    assert set(claims(own(folder))) == {"own-claim"}
    assert set(claims(own(folder), "embrace-t1-ratio-lm")) == {"own-claim", "embrace-t1-ratio-lm"}
    listed = ask("claims", "--list", "s2").stdout.splitlines()
    assert listed and all(line.startswith("s2-") for line in listed)


@test
def many_requests_are_answered_side_by_side(folder):
    """As one by one, to the last bit; errors and warnings, too."""
    inputs, entries, scheme = {}, [], ["allgather", "zen"]
    for i in range(9):
        law = {"rows": 3000, "tokens": (300, 150, 700)[i % 3], "ranks": (4, 8)[i % 2], "zipf": 1, "seed": 1 + i // 6}
        inputs[f"in-{i}"] = {"run": {"trace": {"synth": law}, "cluster": {"name": f"c-{i}", "latency": "1us", "bandwidth": "1GB/s", "gpus_per_node": 3, "nics": 2},
                                     "ranks": 4, "iterations": i % 3 + 1, "schemes": scheme, "verify": False}}
        entries.append({"id": f"own-{i}", "source": "nowhere", "class": "A", "claim": "a time", "printed": "some", "order": "x > 0", "verdict": "reproduced",
                        "let": {"x": {"from": f"in-{i}", "of": scheme[i % 2], "value": "1e6*time_s"}}, "ours": "x", "why": "because"})
    path = folder / "own.json"

    def run(*options, status=0):
        path.write_text(json.dumps({"paper": "own", "title": "Own", "inputs": inputs, "claims": entries}))
        done = ask("claims", path, "--format", "json", *options, status=status)
        return done.stdout, done.stderr

    alone = {}
    for i in (1, 5, 8):
        alone.update(claims(own(folder, "one.json", inputs, tolerance=None, **entries[i])))
    together = run("--jobs", "2")
    assert together == run("--jobs", "1") and together[1].count("do not divide") == 9, together[1]
    found = {claim["id"]: claim for claim in json.loads(together[0])["claims"]}
    assert len(found) == len({claim["ours"] for claim in found.values()}) == 9
    for name, claim in alone.items():
        assert {**claim, "title": ""} == {**found[name], "title": ""}, name
    inputs["in-4"]["run"]["schemes"] = ["nothing"]
    one, two = run("--jobs", "1", status=2), run("--jobs", "2", status=2)
    assert one[0] == two[0] == "" and one[1].splitlines()[-1] == two[1].splitlines()[-1] and "in-4: run: schemes" in two[1], two


@test
def list_claims(folder):
    document = json.loads(ask("list", "claims", "--format", "json").stdout)
    fits("list", document)
    assert {entry["name"]: entry["verdict"] for entry in document["claims"]} == {n: c["verdict"] for n, c in everything().items()}


@test
def formats(folder):
    one = "zen-breakdown-llama"
    rows = list(csv.DictReader(io.StringIO(ask("claims", one, "--format", "csv").stdout)))
    assert rows[0]["id"] == one and rows[0]["verdict"] == "paper inconsistent" and rows[0]["printed"] == "2.02 times"
    table = ask("claims", one).stdout
    assert "1 claim: 1 paper inconsistent" in table and "1.53·1.34 = 2.05" in table
    page = ask("claims", one, "--format", "markdown").stdout
    assert f"| `{one}` |" in page and "## ZEN (OSDI 2025)" in page and "**paper inconsistent**" in page
    ask("claims", one, "--format", "markdown", "-o", folder / "page.md")
    assert (folder / "page.md").read_text() == page
    assert ask("claims", one, "--jobs", "1").stdout == table == ask("claims", one, "--jobs", "2", "--quiet").stdout


# --- verdicts ---------------------------------------------------------------------------------------------------------------


@test
def rules(folder):
    cases = (({"ours": 4.5}, "arithmetic holds"), ({"ours": 4.51}, "not reproduced"), ({"ours": 4.51, "order": "ours > 1"}, "direction only"),
             ({"ours": 4.2, "order": "ours > 5"}, "not reproduced"), ({"ours": 4.41, "tolerance": "10%"}, "not reproduced"),
             ({"ours": 4.4, "tolerance": "10%"}, "arithmetic holds"), ({"ours": [3.6, 4.4], "tolerance": "10%"}, "arithmetic holds"),
             ({"ours": [3.5, 4.4], "tolerance": "10%"}, "not reproduced"), ({"printed": [3, None], "ours": 1e9}, "arithmetic holds"),
             ({"printed": [3, None], "ours": 2.4}, "not reproduced"), ({"printed": "small", "expect": [None, 3], "ours": 3.5}, "arithmetic holds"),
             ({"printed": "grows", "tolerance": None, "order": "1 < 2"}, "arithmetic holds"),
             ({"printed": "grows", "tolerance": None, "order": "2 < 1"}, "not reproduced"),
             ({"input": True}, "input"), ({"input": False}, "arithmetic holds"), ({"inconsistent": "ours == 4"}, "paper inconsistent"),
             ({"inconsistent": "ours == 5"}, "arithmetic holds"))
    for fields, expected in cases:
        assert verdict(folder, **fields)["verdict"] == expected, (fields, verdict(folder, **fields)["verdict"])
    asked = {"h": {"hash": {"kernel": "lossy", "nnz": 100, "parts": 1, "slots_per_row": 1000}}}
    model = {"inputs": asked, "let": {"y": {"from": "h", "path": "lost"}, "x": 2}, "ours": "2*x"}
    claim = verdict(folder, **model)
    assert (claim["verdict"], claim["runs"], claim["over"], claim["loose"]) == ("reproduced", ["h"], None, None)
    read = verdict(folder, inputs={"w": {"file": str(ROOT / "models/devices/v100.json")}}, let={"y": {"from": "w", "path": "efficiency"}})
    assert read["verdict"] == "arithmetic holds" and read["runs"] == ["w"], "a file that is read is no model"
    turning = [{"input": "x", "set": "x", "value": 2}]
    claim = verdict(folder, **model, order="x > 1.5", estimated=turning, tolerance="100%")
    assert claim["verdict"] == "reproduced, depends on estimate" and claim["ours"] == 4 and claim["over"] == [2, 8]
    assert (claim["estimates"][0]["ours_halved"], claim["estimates"][0]["ours_doubled"]) == (2, 8)
    claim = verdict(folder, **model, order="x > 0.5", estimated=turning)
    assert claim["verdict"] == "reproduced, depends on estimate", "2 and 8 are not 4"
    claim = verdict(folder, **model, order="x > 0.5", estimated=turning, tolerance="100%")
    assert claim["verdict"] == "reproduced", "2 and 8 lie within 100%"
    claim = verdict(folder, **{**model, "ours": "3*x"}, order="x > 1.5", estimated=turning)
    assert claim["verdict"] == "depends on estimate", "6 is not 4, and the ranking turns"
    claim = verdict(folder, **{**model, "ours": "3*x"}, order="x > 0.5", estimated=turning)
    assert claim["verdict"] == "direction only"
    claim = verdict(folder, **model, order="x > 1.5", tolerance="50%", estimated=[{**turning[0], "halved": 1.6, "doubled": 3}])
    assert claim["verdict"] == "reproduced" and claim["estimates"][0]["ours_halved"] == 3.2


@test
def open_inputs_are_tried_in_every_class(folder):
    """Rates, hashes and laws that no file lists: each at half and double, as the same request with other numbers gives it."""
    (folder / "text.txt").write_text("in the beginning was the word and the word was with us " * 200)
    learn = {"text": str(folder / "text.txt"), "ranks": 2, "steps": 9, "batch": 2, "seq": 8, "optimizer": "sgd", "schemes": [{"name": "s2"}]}
    law = {"rows": 4096, "ranks": 4, "iterations": 2, "lookups": 500, "zipf": 0, "hot": 0.6, "hot_rows": 50}
    rows = {"trace": {"synth": law}, "cluster": {"latency": 0, "bandwidth": 1e9}, "ranks": 4, "schemes": ["zen"]}
    hashing = {"kernel": "hierarchical", "nnz": 5000, "parts": 4, "slots_per_row": 1, "probes": 3}
    gradient = {**rows, "trace": {"gradient": {"elements": 4096, "sigma": 0.5}}, "schemes": [{"name": "spardl", "density": 0.1}]}
    zen, spardl, serial = {"of": "zen"}, {"of": "spardl"}, {"path": "serial"}
    cases = (({"learn": learn}, {"of": "s2"}, {"lr": (1, .5, 2), "schemes.0.hashes": (1, 3, 5)}),
             ({"run": rows}, zen, {"trace.synth.zipf": (0, 0, 1), "trace.synth.hot": (.6, .3, 1), "trace.synth.hot_rows": (50, 25, 100)}),
             ({"run": gradient}, spardl, {"trace.gradient.rho": (.5, .25, 1), "trace.gradient.sigma": (.5, .25, 1)}), ({"hash": hashing}, serial, {"probes": (3, 1, 6)}))
    for request, pick, tried in cases:
        for kind in "ABC":
            claim = verdict(folder, inputs={"i": request}, let={"v": {"from": "i", **pick}}, ours="v", order="v > 0", **{"class": kind})
            assert [(e["value"], e["halved"], e["doubled"]) for e in claim["estimates"]] == list(tried.values()), (kind, claim["estimates"])
        for (path, (_, half, twice)), estimate in zip(tried.items(), claim["estimates"]):
            for number, found in ((half, estimate["ours_halved"]), (twice, estimate["ours_doubled"])):
                edited = {"i": {**request, "set": {path: number}}}
                near(verdict(folder, inputs=edited, let={"v": {"from": "i", **pick}}, ours="v", order="v > 0")["ours"], found, within=1e-14)
    # what only the reason quotes is not tried
    quoted = {"inputs": {"i": {"hash": hashing}, "r": {"run": rows}}, "let": {"t": {"from": "r", **zen}, "v": {"from": "i", **serial}, "w": "2*v"}, "ours": "w", "why": "{t} s"}
    assert [e["value"] for e in verdict(folder, **quoted)["estimates"]] == [3]
    # listed by hand, it is tried once; given, not at all; of what was fitted, neither
    asked = {"inputs": {"i": {"hash": hashing}}, "let": {"v": {"from": "i", **serial}}, "ours": "v", "order": "v > 0"}
    listed = [{"input": "k", "set": "probes", "of": ["i"], "value": 3, "halved": 2, "doubled": 4}]
    assert [e["halved"] for e in verdict(folder, **asked, estimated=listed)["estimates"]] == [2]
    assert verdict(folder, **asked, input=True)["estimates"] == [] != verdict(folder, **asked)["estimates"]
    path = own(folder, **asked, verdict="not reproduced")
    document = json.loads(path.read_text())
    document["claims"][0]["verdict"] = "direction only"
    for given, wrong in (({"i": {"probes": "printed"}}, None), ({"x": {"probes": "printed"}}, "given.x"), ({"i": {"lr": "printed"}}, "given.i.lr"), ({"i": {"probes": 3}}, "given.i.probes")):
        path.write_text(json.dumps({**document, "given": given}))
        done = ask("claims", path, "--format", "json", status=2 if wrong else 0)
        assert wrong in done.stderr if wrong else json.loads(done.stdout)["claims"][0]["estimates"] == [], done.stderr


@test
def what_other_numbers_foretell(folder):
    """Times with 30 ms that the model knows nothing of: each is foretold from the others, unless it is another than they say."""
    modules = [{"name": "m", "kind": "dense", "bytes": 4000000, "forward_s": 0.01, "backward_s": 0.02}]
    scenario = {"workloads": [{"name": "w", "modules": modules}], "systems": ["horovod-allreduce"], "cluster": {"name": "c", **FLAT}, "device": "none", "iterations": 8}
    (folder / "s.json").write_text(json.dumps({**scenario, "ranks": [2, 3, 4, 6, 8, 12]}))
    ideal = {p["ranks"]: p["iteration_s"] for p in json.loads(ask("train", folder / "s.json", "--format", "json", "--quiet").stdout)["training"]}
    fit = {"times": str(folder / "times.csv"), "fit": ["software.step"]}

    def judged(printed, without=(), states=("own-claim",), others=(12,), **fields):
        lines = ["workload,system,cluster,ranks,quantity,value,unit,scenario,claim"]
        for ranks, time in ideal.items():
            value, claim = (printed, " ".join(states)) if ranks == 8 else (time + 0.03, "other" if ranks in others else "")
            lines.append(f"w,horovod-allreduce,,{ranks},iteration,{value!r},s,{folder / 's.json'},{claim}")
        (folder / "times.csv").write_text("\n".join(lines) + "\n")
        path = own(folder, inputs={"t": {"train": str(folder / "s.json")}}, let={"v": {"from": "t", "ranks": 8}}, ours="v", order="v > 0", **{
            "class": "B", "printed": printed, "tolerance": "1%", "predicted": {"fit": "mine", **({"without": without} if without else {})}, **fields})
        document = json.loads(path.read_text())
        path.write_text(json.dumps({**document, "fits": {"mine": fit}}))
        done = subprocess.run([PROGRAM, "claims", str(path), "--format", "json"], capture_output=True, text=True, timeout=tap.HANG, cwd=ROOT, env=ENVIRONMENT)
        return json.loads(done.stdout)["claims"][0] if done.returncode in (0, 1) else done.stderr

    truth = ideal[8] + 0.03
    claim = judged(truth)
    assert isinstance(claim, dict), claim
    assert claim["verdict"] == "predicted" and (claim["predicted"]["numbers"], claim["predicted"]["unknowns"]) == (5, 1), claim
    found, = claim["predicted"]["foretold"]
    assert abs(found["value"] / truth - 1) < 0.02 and found["low"] <= truth <= found["high"] and abs(claim["ours"] / ideal[8] - 1) < 1e-9
    other = judged(1.4 * truth)
    assert other["verdict"] == "direction only", other
    near(other["predicted"]["foretold"][0]["value"], found["value"], within=2e-3)  # it was left out, whatever it says
    assert judged(truth, without=["other"])["predicted"]["numbers"] == 4
    assert judged(truth, without=["other"], others=(6, 12))["predicted"]["numbers"] == 3, "three numbers for an unknown are just enough"
    assert "1 unknowns are more than a third of the 2 numbers that are left" in judged(truth, without=["other"], others=(4, 6, 12))
    assert "none of the table's numbers" in judged(truth, states=("x",)), "the table does not say that the claim states a number"
    assert judged(ideal[8])["verdict"] == "reproduced", "by the model alone"


@test
def factors(folder):
    for fields, expected in (({"ours": 2}, 2), ({"ours": 12}, 3), ({"ours": 4.4}, None), ({"ours": -4}, None), ({"ours": 0}, None),
                             ({"printed": [2, 6], "ours": [1, 7]}, 2), ({"printed": [2, 6], "ours": [3, 12]}, 2),
                             ({"printed": [2, 6], "ours": [3, 4], "ends": True}, 1.5), ({"printed": [3, None], "ours": 1}, 3),
                             ({"printed": "4", "tolerance": None, "order": "0"}, None), ({"ours": 2, "input": True}, None)):
        claim = verdict(folder, **fields)
        if expected is None:
            assert claim["factor"] is None, fields
        else:
            near(claim["factor"], expected)
    for fields, expected in (({"printed": [3, None], "ours": 4.5}, 1.5), ({"printed": "x", "expect": [None, 3], "ours": 2}, 1.5),
                             ({"printed": [3, None], "ours": 3}, 1), ({"printed": [3, None], "ours": [6, 9]}, 2), ({"printed": [3, None], "ours": 1}, None),
                             ({"printed": [3, 6], "ours": 4}, None), ({"printed": "x", "expect": [None, 0], "ours": -1}, None)):
        margin = verdict(folder, **fields)["margin"]
        assert margin == expected if expected is None else abs(margin - expected) < 1e-12, (fields, margin)
    ids = [f"{name}-claim" for name in ("twice", "thrice")]
    document = json.loads(own(folder, verdict="not reproduced", loose="anything goes").read_text())
    document["claims"] = [{**document["claims"][0], "id": name, "ours": ours} for name, ours in zip(ids, (2, 12))]
    (folder / "own.json").write_text(json.dumps(document))
    page = ask("claims", folder / "own.json", "--format", "markdown").stdout
    assert "2 claims, of which 2 are *loose*" in page
    for name, factor in zip(ids, (2, 3)):
        row = next(line for line in page.splitlines() if line.startswith(f"| `{name}` |"))
        assert f"| **not reproduced**, loose, off by {factor} times: " in row, row
    assert "not reproduced (3 times) (loose)" in ask("claims", folder / "own.json").stdout


FLAT = {"latency": 1e-5, "bandwidth": 1e9}
RUN = {"r": {"run": {
    "trace": {"uniform": {"rows": 1024, "density": "1/16", "overlap": "full"}}, "cluster": FLAT, "ranks": [2, 4, 8],
    "schemes": ["allreduce", {"name": "allgather", "label": "all of it"}], "sweep": {"cluster.bandwidth": [1e9, 2e9]}}}}


@test
def picks(folder):
    def ours(pick, **fields):
        return verdict(folder, inputs=RUN, let={"v": pick}, ours="v", **fields)["ours"]

    def ring(ranks, rate=1e9):
        return 2 * (ranks - 1) * (1e-5 + 4096 / ranks / rate)

    def gather(ranks, rate=1e9):
        return (ranks - 1) * (1e-5 + 64 * 8 / rate)

    at = {"cluster.bandwidth": 2e9}
    near(ours({"from": "r", "of": "allreduce", "ranks": 4, "at": at}), ring(4, 2e9))
    near(ours({"from": "r", "of": "allreduce", "at": at, "reduce": "max"}), ring(8, 2e9))
    near(ours({"from": "r", "of": "allreduce", "at": at, "reduce": "mean"}), sum(ring(p, 2e9) for p in (2, 4, 8)) / 3)
    near(ours({"from": "r", "of": "allreduce", "at": at, "reduce": "deviation", "value": "ranks"}), math.sqrt(28 / 3))
    assert ours({"from": "r", "reduce": "count"}) == 12 and ours({"from": "r", "reduce": "count", "where": "ranks > 2"}) == 8
    near(ours({"from": "r", "of": "all of it", "ranks": 8, "at": at, "beside": {"dense": "allreduce"}, "value": "time_s/dense"}),
         gather(8, 2e9) / ring(8, 2e9))
    assert ours({"from": "r", "of": "allreduce", "ranks": 2, "at": at, "value": "cluster_bandwidth"}) == 2e9
    assert ours({"from": "r", "path": "points.0.ranks"}) == 2
    changed = verdict(folder, inputs=RUN, let={"v": {"from": "r", "of": "allreduce", "ranks": 2, "at": at}}, ours="v", order="v > 0",
                      estimated=[{"input": "latency", "set": "cluster.latency", "of": ["r"], "value": 1e-5}])
    near(changed["estimates"][0]["ours_halved"], 2 * (5e-6 + 2048 / 2e9))
    near(changed["estimates"][0]["ours_doubled"], 2 * (2e-5 + 2048 / 2e9))


TRAIN = {"t": {"train": {
    "workloads": [{"name": name, "tokens": 10, "modules": [{"name": "all", "kind": "dense", "bytes": 4096, "forward_s": 0.25, "backward_s": back}]}
                  for name, back in (("short", 0.5), ("long", 1.5))],
    "systems": [{"name": "ring", "sparse": "allreduce", "dense": "allreduce", "schedule": "fifo", "baseline": True},
                {"name": "servers", "sparse": {"name": "ps", "dense": True}, "dense": {"name": "ps", "dense": True}, "schedule": "fifo"}],
    "cluster": FLAT, "ranks": [2, 4], "iterations": 8, "all_reduces": "ring"}}}


@test
def trainings(folder):
    """A module that computes 0.75 s and then sends 4096 B in a ring."""
    def ours(pick, **fields):
        return verdict(folder, inputs=TRAIN, let={"v": {"from": "t", **pick}}, ours="v", **fields)

    def ring(ranks, latency=1e-5):
        return 2 * (ranks - 1) * (latency + 4096 / ranks / 1e9)

    at = {"of": "ring", "ranks": 4, "at": {"workload": "short"}}
    near(ours(at)["ours"], 0.75 + ring(4))
    near(ours({**at, "value": "stall_s"})["ours"], ring(4))
    near(ours({**at, "at": {"workload": "long"}, "value": "tokens_per_s"})["ours"], 40 / (1.75 + ring(4)))
    near(ours({"at": {"workload": "short"}, "where": "baseline", "reduce": "max"})["ours"], 0.75 + ring(4))
    near(ours({**at, "of": "servers", "beside": {"dense": "ring"}, "value": "dense", "reduce": "max"})["ours"], 0.75 + ring(4))
    assert ours({**at, "at": {"workload": "shot"}, "reduce": "count"})["ours"] == 0
    scaled = [{"input": "compute times", "set": "scale.compute", "of": ["t"], "value": 1}, {"input": "latency", "set": "scale.latency", "of": ["t"], "value": 1}]
    found = ours(at, order="v > 0.7", estimated=scaled)
    near(found["ours"], 0.75 + ring(4))
    assert found["verdict"] == "depends on estimate", "it is 0.375 s at half the compute times"
    near(found["estimates"][0]["ours_halved"], 0.375 + ring(4))
    near(found["estimates"][0]["ours_doubled"], 1.5 + ring(4))
    near(found["estimates"][1]["ours_halved"], 0.75 + ring(4, 5e-6))
    near(found["estimates"][1]["ours_doubled"], 0.75 + ring(4, 2e-5))
    document = json.loads((folder / "own.json").read_text())
    document["estimates"], document["claims"][0]["estimated"] = {"both": scaled}, "both"
    document["claims"][0]["verdict"] = "depends on estimate"
    (folder / "own.json").write_text(json.dumps(document))
    fits("claims-file", document)
    assert claims(folder / "own.json")["own-claim"]["estimates"] == found["estimates"]


def training_of(folder, scenario, **scale):
    (folder / "t.json").write_text(json.dumps(scenario))
    sets = [word for name, factor in scale.items() for word in ("--set", f"scale.{name}={factor}")]
    return json.loads(ask("train", folder / "t.json", *sets, "--format", "json", "--quiet").stdout)["training"]


@test
def trainings_that_are_simulated_at_once(folder):
    """Estimates at half and double share simulations; each must be what `train` says of it alone, to the last bit."""
    scenario = {"workloads": [{"name": "w", "tokens": 10, "iterations": 2, "modules": [
        {"name": "table", "kind": "embedding", "rows": 4096, "row_width": 16, "synth": {"lookups": 300, "zipf": 1, "ids": "popularity", "seed": 1},
         "forward_s": 1e-4, "backward_s": 1e-4},
        {"name": "dense", "kind": "dense", "bytes": 262144, "forward_s": 1e-3, "backward_s": 2e-3, "after": ["table"]}]}],
        "systems": [{"name": "a", "sparse": "zen", "dense": "allreduce", "schedule": "fifo", "bucket": "64kB", "source": {"bucket": "estimated"}},
                    {"name": "b", "sparse": {"name": "alltoall"}, "dense": "allreduce", "schedule": "2d"},
                    {"name": "c", "sparse": {"name": "spardl", "density": 0.1}, "dense": {"name": "spardl", "density": 0.1}, "schedule": "fifo"}],
        "cluster": "rtx3090-10gbe", "device": "rtx3090", "ranks": 8, "iterations": 10}
    names = ("compute", "latency", "intra_bandwidth", "kernels", "lookups", "buckets")
    estimated = [{"input": name, "set": f"scale.{name}", "of": ["t"], "value": 1} for name in names]
    alone = {(name, factor): {p["system"]: p["iteration_s"] for p in training_of(folder, scenario, **{name: factor})}
             for name, factor in [("compute", 1), *((name, factor) for name in names for factor in (0.5, 2))]}
    for system in "abc":
        claim = verdict(folder, inputs={"t": {"train": scenario}}, let={"v": {"from": "t", "of": system}}, ours="v", order="v > 0", estimated=estimated)
        near(claim["ours"], alone["compute", 1][system], within=1e-14)
        for name, estimate in zip(names, claim["estimates"]):
            near(estimate["ours_halved"], alone[name, 0.5][system], within=1e-14)
            near(estimate["ours_doubled"], alone[name, 2][system], within=1e-14)


@test
def runs_that_are_simulated_at_once(folder):
    """So do those of a run, of one tensor or several and in a sweep or not; and each has its own rows."""
    several = {"trace": "traces/lstm-bible-4.safetensors", "cluster": FLAT, "iterations": 2, "schemes": ["allgather", "zen"], "ranks": 4}
    drawn = {"trace": {"synth": {"rows": 4096, "ranks": 4, "iterations": 2, "tokens": 500, "zipf": 1}}, "cluster": FLAT, "ranks": [2, 4],
             "schemes": ["allgather", "zen"], "sweep": {"index_bytes": [4, 8]}}
    for scenario, edits in ((several, [("cluster.latency", 1e-5), ("cluster.bandwidth", 1e9)]), (drawn, [("cluster.latency", 1e-5), ("trace.synth.zipf", 1)])):
        estimated = [{"input": path, "set": path, "of": ["r"], "value": number} for path, number in edits]
        (folder / "r.json").write_text(json.dumps(scenario))
        times = {}
        for edit in [None, *((path, number * factor) for path, number in edits for factor in (0.5, 2))]:
            unit = {"cluster.latency": "s", "cluster.bandwidth": "B/s"}
            sets = ["--set", f"{edit[0]}={edit[1]!r}{unit.get(edit[0], '')}"] if edit else []
            points = json.loads(ask("run", folder / "r.json", *sets, "--format", "json", "--quiet").stdout)["points"]
            times[edit] = {(p["label"], p["ranks"], p["tensor"], json.dumps(p["at"] or {})): p["time_s"] for p in points}
        for label, ranks, tensor, at in times[None]:
            pick = {"from": "r", "of": label, "ranks": ranks, "at": {"tensor": tensor, **json.loads(at)}}
            claim = verdict(folder, inputs={"r": {"run": scenario}}, let={"v": pick}, ours="v", order="v > 0", estimated=estimated)
            near(claim["ours"], times[None][label, ranks, tensor, at], within=1e-14)
            for (path, number), estimate in zip(edits, claim["estimates"]):
                for factor, key in ((0.5, "ours_halved"), (2, "ours_doubled")):
                    near(estimate[key], times[path, number * factor][label, ranks, tensor, at], within=1e-14)


@test
def what_is_learned(folder):
    (folder / "text.txt").write_text("in the beginning was the word and the word was with us " * 200)
    learn = {"l": {"learn": {"text": str(folder / "text.txt"), "ranks": 2, "steps": 9, "batch": 2, "seq": 8, "schemes": ["allgather", "topka"],
                             "optimizer": "sgd"}}}
    points = json.loads(ask("train", "--learn", "--text", folder / "text.txt", "--ranks", 2, "--steps", 9, "--batch", 2, "--seq", 8,
                             "--scheme", "allgather,topka", "--optimizer", "sgd", "--format", "json").stdout)["curves"]
    losses = next(p["loss"] for p in points if p["label"] == "allgather")
    for pick, value in (({"array": "loss", "reduce": "sum"}, math.fsum(losses)), ({"array": "loss", "range": [0, 1]}, losses[0]), ({"value": "loss_end"}, losses[-1]),
                        ({}, losses[-1])):
        claim = verdict(folder, inputs=learn, let={"v": {"from": "l", "of": "allgather", **pick}}, ours="v", **{"class": "C"})
        near(claim["ours"], value)
        assert claim["class"] == "C"


# --- wrong input ------------------------------------------------------------------------------------------------------------


@test
def wrong_words(folder):
    assert 'no paper or claim is called "zenn" (did you mean "zen"?)' in ask("claims", "zenn", status=2).stderr
    assert 'did you mean "zen-fig8-gamma"' in ask("claims", "zen-fig8-gama", status=2).stderr
    assert "--format" in ask("claims", "--format", "xml", status=2).stderr
    assert "sparsync list claims" in ask("claims", "--list", "--format", "json", status=2).stderr
    assert "did you mean --list" in ask("claims", "--lst", status=2).stderr
    assert "absent.json" in ask("claims", folder / "absent.json", status=2).stderr
    (folder / "models").mkdir()
    bare = subprocess.run([PROGRAM, "claims"], capture_output=True, text=True, timeout=tap.HANG, cwd=ROOT, env={**ENVIRONMENT, "SPARSYNC_DATA": str(folder)})
    assert bare.returncode == 2 and "no scenarios/claims" in bare.stderr, bare.stderr


@test
def wrong_files(folder):
    one = {"from": "r", "of": "allreduce", "ranks": 2}
    hash_input = {"h": {"hash": {"kernel": "lossy", "nnz": 10, "parts": 2, "slots_per_row": 0}}}
    for fields, where, what in (
            ({"verdict": "maybe"}, "claims[0].verdict", "not reproduced"), ({"class": "D"}, "claims[0].class", "A, B, C"),
            ({"why": None}, "claims[0]", "why"), ({"id": None}, "claims[0]", "id"), ({"prnted": 4}, "claims[0]", "printed"),
            ({"tolerance": None}, "claims[0]", "tolerance"), ({"tolerance": "-1"}, "claims[0].tolerance", "-1"),
            ({"printed": "much"}, "claims[0]", "tolerance"), ({"printed": "much", "tolerance": None}, "claims[0]", "order"),
            ({"class": "B"}, "claims[0]", "order"), ({"printed": [5, 4]}, "claims[0].printed", "above"),
            ({"printed": [None, None]}, "claims[0].printed", "[low, high]"), ({"expect": 4}, "claims[0].expect", "printed"),
            ({"ours": "2+"}, "claims[0].ours", "2+"), ({"ours": "2+y"}, "claims[0].ours", "y"), ({"ours": "1/0"}, "claims[0].ours", "finite"),
            ({"ours": [1]}, "claims[0].ours", "[low, high]"), ({"ours": [1, "z"]}, "claims[0].ours[1]", "z"),
            ({"order": "ours >"}, "claims[0].order", "ours >"), ({"why": "it is {x}"}, "claims[0].why", '"x"'),
            ({"let": {"v": {"from": "s"}}}, "claims[0].let.v.from", 'no input is called "s"'),
            ({"let": {"v": {"of": "allreduce"}}}, "claims[0].let.v", "from"), ({"let": {"v": one}}, "claims[0].let.v", "2 points fit"),
            ({"let": {"v": {**one, "of": "zen"}}}, "claims[0].let.v", "no point"), ({"let": {"v": {**one, "off": 1}}}, "claims[0].let.v", "of"),
            ({"let": {"v": {**one, "value": "tme_s", "reduce": "min"}}}, "claims[0].let.v.value", "tme_s"),
            ({"let": {"v": {**one, "reduce": "least"}}}, "claims[0].let.v.reduce", "min"),
            ({"let": {"v": {**one, "beside": {"b": "zen"}, "reduce": "min"}}}, "claims[0].let.v.beside.b", "zen"),
            ({"let": {"v": {"from": "r", "path": "points.x"}}}, "claims[0].let.v.path", "x"),
            ({"let": {"v": {"from": "r", "path": "points.99.ranks"}}}, "claims[0].let.v.path", "points.99"),
            ({"let": {"v": 2}, "estimated": [{"input": "x", "set": "v", "value": 0}]}, "claims[0].estimated[0].value", "0"),
            ({"let": {"v": {"from": "h", "path": "lost"}}, "inputs": hash_input}, "inputs.h: hash: slots_per_row", "0"),
            ({"predicted": {"fit": "none"}}, "claims[0].predicted.fit", "none"), ({"predicted": {"without": []}}, "claims[0].predicted", "fit"),
            ({"predicted": {"fit": "none", "value": 4}}, "claims[0].predicted", "value"),
            ({"let": {"v": 2}, "estimated": "mine"}, "claims[0].estimated", '"mine"'),
            ({"let": {"v": {"from": "e", "path": "x"}}, "inputs": {"e": {"command": ["run"]}}}, "inputs.e.command", "cost"),
            ({"let": {"v": {"from": "e", "path": "x"}}, "inputs": {"e": {}}}, "inputs.e", '"run", "plan", "rounds", "place", "check", "train"'),
            ({"let": {"v": {"from": "e", "path": "x"}}, "inputs": {"e": {"run": "a.json", "train": "b.json"}}}, "inputs.e", "several things"),
            ({"let": {"v": {"from": "e", "path": "x"}}, "inputs": {"e": {"run": 4}}}, "inputs.e", "expected a scenario"),
            ({"let": {"v": {"from": "e", "path": "x"}}, "inputs": {"e": {"run": "absent.json"}}}, "inputs.e", "absent.json"),
            ({"let": {"v": {"from": "e", "path": "x"}}, "inputs": {"e": {"run": {"rnks": 4}}}}, "inputs.e", "ranks"),
            ({"let": {"v": {"from": "e", "path": "x"}}, "inputs": {"e": {"train": {}, "set": 4}}}, "inputs.e.set", "by path"),
            ({"let": {"v": {"from": "e", "path": "x"}}, "inputs": {"e": {"cost": {"schemes": ["zzz"], "M": "1MB", "density": "1%"}}}}, "inputs.e", "zzz"),
            ({"let": {"v": {"from": "e", "path": "x"}}, "inputs": {"e": {"learn": {"schemes": ["zen"]}}}}, "inputs.e", '"text"'),
            ({"let": {"v": {"from": "e", "path": "x"}}, "inputs": {"e": {"learn": {"text": "x", "schemes": ["zen"], "stps": 4}}}}, "inputs.e", "steps"),
            ({"let": {"v": {"from": "e", "path": "x"}}, "inputs": {"e": {"stats": {"trace": {"uniform": {"rows": 4, "density": 1}}}}}}, "inputs.e", "no lookups")):
        inputs = fields.pop("inputs", RUN)
        done = ask("claims", own(folder, inputs=inputs, **fields), status=2)
        assert "own.json: " + where in done.stderr and what in done.stderr, f"{fields}: {done.stderr!r}"
        assert done.stdout == "", "nothing is printed of a file that is wrong"
    (folder / "list.json").write_text('{"paper": "own", "title": "Own", "claims": {}}')
    assert "claims: expected a list" in ask("claims", folder / "list.json", status=2).stderr
    twice = json.loads(own(folder).read_text())
    twice["claims"] *= 2
    (folder / "own.json").write_text(json.dumps(twice))
    assert 'two claims are called "own-claim"' in ask("claims", folder / "own.json", status=2).stderr
    assert list(folder.glob("x")) == []


sys.exit(tap.run())
# SPDX-License-Identifier: Apache-2.0
