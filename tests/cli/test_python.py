#!/usr/bin/python3
"""The Python package over the library of the build, and the notebook of docs/. Arguments: the program, the source tree.
Prints TAP."""
import array
import contextlib
import copy
import gc
import importlib.util
import io
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import warnings

import captures
import tap

PROGRAM, ROOT = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
os.environ["SPARSYNC_LIBRARY"] = str(PROGRAM.parent / "src" / "libsparsync.so")
os.environ["SPARSYNC_DATA"] = str(ROOT)
sys.path.insert(0, str(ROOT / "src" / "python"))
sys.dont_write_bytecode = True
import sparsync  # noqa: E402

UNIFORM = {"uniform": {"rows": 4096, "row_width": 16, "density": 0.0625}}
SMALL = {"trace": UNIFORM, "cluster": {"name": "flat", "latency": "10us", "bandwidth": "1GB/s"}, "ranks": [2, 4],
         "schemes": ["allreduce", "allgather"]}
# A minute of work and more, of which Ctrl-C must not wait for the end.
LONG = {**SMALL, "trace": {"gradient": {"elements": 1 << 18, "iterations": 100000}}, "schemes": ["oktopk"], "ranks": 16}


def command(*arguments):
    done = subprocess.run([PROGRAM, *arguments, "--format", "json"], capture_output=True, text=True, timeout=tap.HANG, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def fails(says, function, *arguments, **fields):
    try:
        function(*arguments, **fields)
    except sparsync.Error as reason:
        assert says in str(reason), f"{reason} does not say {says!r}"
        return reason
    raise AssertionError(f"{function.__name__} took {arguments} {fields}")


def near(a, b, path=""):
    """The same but for the digits that printing drops."""
    if isinstance(a, dict):
        assert a.keys() == b.keys(), f"{path}: {a.keys() ^ b.keys()}"
        for key in a:
            near(a[key], b[key], f"{path}.{key}")
    elif isinstance(a, list):
        assert len(a) == len(b), path
        for place, pair in enumerate(zip(a, b)):
            near(*pair, f"{path}.{place}")
    elif isinstance(a, float) or isinstance(b, float):
        assert a is not None and b is not None and abs(a - b) <= 1e-12 * abs(b), f"{path}: {a} {b}"
    else:
        assert a == b, f"{path}: {a!r} {b!r}"


def answers_are_those_of_the_command(folder):
    near(sparsync.run("demo", iterations="0:2", ranks=8).document, command("run", "demo", "--iterations", "0:2", "--ranks", "8"))
    plan = ["--cluster", "rtx3090-10gbe", "--ranks", "4", "--iterations", "0:1"]
    bible = "traces/bible-kjv-16.safetensors"
    near(sparsync.plan(trace=ROOT / bible, cluster="rtx3090-10gbe", ranks=4, iterations="0:1", schemes="zen,ps,allgather",
                       model_parallel=True).document["plan"],
         command("plan", "--trace", str(ROOT / bible), *plan, "--scheme", "zen,ps,allgather", "--model-parallel")["plan"])
    near(sparsync.cost("zen", "allgather", M="856MB", density="2.8%", row_width=64, ranks=[4, 8]).document,
         command("cost", "zen", "allgather", "--M", "856MB", "--density", "2.8%", "--row-width", "64", "--ranks", "4,8"))
    near(sparsync.crossover("allreduce", "sparcml-rd", "ranks", M="856MB", density="2.8%", row_width=64).document,
         command("crossover", "allreduce", "sparcml-rd", "--over", "ranks", "--M", "856MB", "--density", "2.8%", "--row-width", "64"))
    near(sparsync.train(workload="embrace-lm-rtx3090", cluster="rtx3090-100g-ib", ranks=4, systems=["embrace"], iterations=8).document,
         command("train", "--workload", "embrace-lm-rtx3090", "--cluster", "rtx3090-100g-ib", "--ranks", "4", "--system", "embrace",
                 "--iterations", "8"))
    (folder / "text").write_text("the cat sat on the mat and the dog sat on the log " * 40)
    near(sparsync.learn(text=folder / "text", schemes=["allgather,zen:format=coo", {"name": "ps"}], steps=3, ranks=2, batch=1, seq=8).document,
         command("learn", "--text", str(folder / "text"), "--scheme", "allgather,zen:format=coo", "--scheme", '{"name": "ps"}', "--steps", "3", "--ranks", "2", "--batch", "1",
                 "--seq", "8"))
    log = folder / "times.csv"
    log.write_text("collective,nodes,gpus_per_node,bytes,seconds\n" +
                   "".join(f"ping-pong,2,1,{1 << k},{1e-5 + 1e-9 * (1 << k)}\n" for k in range(4, 24)))
    for fields, options in (({}, []), ({"sizes": "1KiB:", "messages": "2KiB", "leave_out": "nothing", "latency": "9us", "name": "mine"},
                                      ["--sizes", "1KiB:", "--messages", "2KiB", "--leave-out", "nothing", "--latency", "9us", "--name", "mine"])):
        near(sparsync.calibrate(log, **fields), json.loads(subprocess.run(
            [PROGRAM, "calibrate", "network", log, "--quiet", *options], capture_output=True, text=True, check=True).stdout))
    assert len(sparsync.calibrate(log, sizes="1KiB:", leave_out="nothing")["notes"]["fit"]) > 0
    near(sparsync.calibrate(log, validate=True, fit_on=["nodes=2"]), json.loads(subprocess.run(
        [PROGRAM, "calibrate", "network", log, "--validate", "--fit-on", "nodes=2", "--format", "json"],
        capture_output=True, text=True, check=True).stdout))
    fails("fit_on: does nothing without \"validate\"", sparsync.calibrate, log, fit_on=["nodes=2"])
    near(sparsync.stats(str(ROOT / bible), iterations="3:9", ranks=4, tensors="embedding").document,
         json.loads(subprocess.run([PROGRAM, "trace", "stats", ROOT / bible, "--iterations", "3:9", "--ranks", "4", "--tensor", "embedding",
                                    "--format", "json"], capture_output=True, text=True, check=True).stdout))


def captures_are_judged_as_by_the_command(folder):
    """By their file, or as a trace that is open."""
    path = captures.save(folder / "run.safetensors", captures.lookups(random.Random(2), 2), 2, captures.training(2))
    cluster = {"name": "flat", "latency": "10us", "bandwidth": "1GB/s"}
    wanted = command("train", "--capture", path, "--cluster", tap.write_json(folder, cluster), "--system", "embrace", "--quiet")["capture"]
    for given in (str(path), sparsync.Trace.open(path)):
        found = sparsync.train(capture=given, cluster=cluster, systems=["embrace"]).document["capture"]
        near({**wanted, "trace": None}, {**found, "trace": None})
        assert sparsync.run(capture=given, cluster=cluster, schemes=["zen"])[0]["ranks"] == 2
    fails("no capture", sparsync.train, capture=str(ROOT / "traces" / "bible-kjv-16.safetensors"), cluster=cluster)
    fails("calibrate network", sparsync.train, capture=str(path))


def placements_checks_exports_and_imports_are_the_commands(folder):
    """Files byte by byte, answers number by number."""
    flights, where = folder / "flights.csv", folder / "flights.safetensors"
    flights.write_text("carrier,dest,seat\n" + "".join(f"{'ABC'[i * i % 3]},{i * 7 % 11 or 'NA'},{i * i % 23}\n" for i in range(64)))
    trace = sparsync.import_trace(flights, where, ranks=4, batch=4, columns="carrier,2", missing="NA", hash_rows={"dest": 9}, row_width=16)
    assert (trace.ranks, trace.iterations, trace.tensors) == (4, 4, 2), repr(trace)
    subprocess.run([PROGRAM, "trace", "import", flights, "--ranks", "4", "--batch", "4", "--columns", "carrier,2", "--missing", "NA",
                    "--hash-rows", "dest=9", "--row-width", "16", "-o", folder / "again"], check=True)
    assert where.read_bytes() == (folder / "again").read_bytes()
    sparsync.import_trace(flights, folder / "words", ranks=4, batch=4, columns=["carrier", 2], missing=["NA"], hash_rows=["dest=9"], row_width="16")
    assert where.read_bytes() == (folder / "words").read_bytes()
    kept = sparsync.import_trace([flights], folder / "kept", from_="csv", ranks=2, batch=8, set={"header": False})
    assert kept.tensors == 3 and kept.ranks == 2

    candidates = sparsync.place(trace=where, cluster="rtx3090-10gbe")
    assert f"{candidates[0]['bytes_imbalance']:.4g}" in str(candidates), "a ratio is no size"
    near(candidates.document, command("plan", "--place", "--trace", str(where), "--cluster", "rtx3090-10gbe"))
    [point] = sparsync.run(trace=trace, cluster="rtx3090-10gbe", placement=candidates.document, schemes="alltoall:partition=placed")
    assert len(candidates) == 5 and point["time_s"] == min(row["time_s"] for row in candidates)

    document = {**SMALL, "ranks": [2], "expect": [{"that": "time_s", "of": "allreduce", "is": "<", "than": t} for t in ("1s", "1us")]}
    judged = sparsync.check(document)
    assert [row["ok"] for row in judged] == [True, False] and judged.document["ok"] is False
    assert judged.document["points"] == list(sparsync.run({k: v for k, v in document.items() if k != "expect"}))
    (folder / "s.json").write_text(json.dumps(document))
    done = subprocess.run([PROGRAM, "check", folder / "s.json", "--format", "json"], capture_output=True, text=True)
    near([{**row, "file": ""} for row in judged], [{**row, "file": ""} for row in json.loads(done.stdout)["expectations"]])

    (folder / "t.csv").write_text("ranks,bytes,seconds\n4,1MB,0.00101\n8,2MB,0.0031\n")
    form = {"formula": "M*beta", "latency": "1us", "bandwidth": "1GB/s", "measured": {"file": str(folder / "t.csv"), "within": "3%"}}
    (folder / "form.json").write_text(json.dumps(form))
    for judged in (sparsync.check(form), sparsync.check(folder / "form.json"), sparsync.check(**form)):
        assert [(row["ok"], row["points"], len(row["misses"])) for row in judged] == [(False, 2, 1)], judged
        assert [(p["ranks"], p["time_s"], p["formula_s"]) for p in judged.document["points"]] == [(4, 0.00101, 0.001), (8, 0.0031, 0.002)]
    fails('unknown symbol "zebra"', sparsync.check, form, formula="M*zebra")

    one = {"ranks": 4, "schemes": "allgather"}
    assert sparsync.export(SMALL, folder / "ring.goal", **one) is None
    (folder / "one.json").write_text(json.dumps({**SMALL, "ranks": 4, "schemes": ["allgather"]}))
    subprocess.run([PROGRAM, "export", "goal", folder / "one.json", "-o", folder / "again.goal"], check=True)
    assert (folder / "ring.goal").read_bytes() == (folder / "again.goal").read_bytes()
    fails("2 schemes (scheme)", sparsync.export, SMALL, folder / "two.goal", ranks=4)
    fails("goal or chakra", sparsync.export, SMALL, folder / "x", format="dot", **one)
    fails("program's own", sparsync.export, SMALL, "-", **one)
    fails("no-such.csv", sparsync.import_trace, folder / "no-such.csv", folder / "x", ranks=2)
    assert not (folder / "x").exists() and not (folder / "two.goal").exists()


def calibrated_clusters_and_rows_are_plain_data(folder):
    log = folder / "times.csv"
    log.write_text("collective,nodes,gpus_per_node,bytes,seconds\n" +
                   "".join(f"ping-pong,2,1,{1 << k},{1e-5 + 1e-9 * (1 << k)}\n" for k in range(4, 24)))
    cluster = sparsync.calibrate(log, name="mine")
    assert abs(cluster["latency"] - 1e-5) < 1e-8 and abs(cluster["bandwidth"] - 1e9) < 1e6, cluster
    points = sparsync.run({**SMALL, "cluster": cluster, "ranks": 2, "schemes": ["allreduce"]})
    # alpha and bytes over the bandwidth, twice: halves of 4096 x 16 x 4 bytes
    assert abs(points[0]["time_s"] - 2 * (1e-5 + 131072e-9)) < 1e-3 * points[0]["time_s"], points[0]["time_s"]
    assert points[0]["cluster"] == "mine" and isinstance(points, list) and len(points) == 1


def traces_of_lists_and_arrays(folder):
    ids = [[[3, 5, 5], [5, 9]], [[1], []]]
    trace = sparsync.Trace({"emb": ids}, rows=10, row_width={"emb": 4})
    assert (trace.iterations, trace.ranks, trace.tensors) == (2, 2, 1), repr(trace)
    [row] = sparsync.stats(trace)
    assert (row["rows"], row["row_width"], row["lookups"]) == (10, 4, 1.5), row
    # distinct rows over 10: 2 and 2, then 1 and 0
    assert abs(row["density"] - (0.2 + 0.2 + 0.1) / 4) < 1e-15, row
    trace.save(folder / "t.safetensors")
    again = sparsync.Trace.open(folder / "t.safetensors")
    typed = sparsync.Trace({"emb": [[array.array("q", segment) for segment in iteration] for iteration in ids]}, rows=10, row_width=4)
    fields = {"cluster": "rtx3090-10gbe", "schemes": ["allgather", "zen"]}
    one, two, three = (sparsync.run(trace=t, **fields) for t in (trace, again, typed))
    for a, b, c in zip(one, two, three):
        assert a["time_s"] == b["time_s"] == c["time_s"] and a["bytes_total"] == b["bytes_total"], (a, b)
    two_tables = sparsync.Trace({"a": [[[1], [2]]], "b": [[[7, 7], []]]}, row_width={"a": 2, "b": 3})
    assert [(r["name"], r["rows"], r["row_width"]) for r in sparsync.stats(two_tables)] == [("a", 3, 2), ("b", 8, 3)]
    # bags {3, 5}, {} and {5} of rank 0, {5, 9} of rank 1, whose table lies on rank 0: a vector of 16 bytes there, a gradient back
    bagged = sparsync.Trace({"emb": ids[:1]}, rows=10, row_width=4, lengths={"emb": [[[2, 0, 1], [2]]]})
    assert sparsync.stats(bagged)[0]["bags"] == 2 and sparsync.stats(trace)[0]["bags"] is None
    [point] = sparsync.run(trace=bagged, cluster="rtx3090-10gbe", device="none", schemes="alltoall:partition=table,pooling=sum")
    assert point["bytes_total"] == 32, point["bytes_total"]
    placed = sparsync.place(trace=bagged, cluster="rtx3090-10gbe", device="none", schemes="alltoall:pooling=sum")
    assert min(row["time_s"] for row in placed) == point["time_s"], placed  # one table: whole on a rank is the best
    fails("emb.bag_offsets[2] is 4", sparsync.Trace, {"emb": ids[:1]}, lengths={"emb": [[[2, 2], [1]]]})
    fails("no number of ids", sparsync.Trace, {"emb": ids[:1]}, lengths={"emb": [[[2, -1], [1]]]})
    fails("one list a rank", sparsync.Trace, {"emb": ids}, lengths={"emb": [[[3], [2]]]})
    fails("no table 'emp'", sparsync.Trace, {"emb": ids}, lengths={"emp": ids})
    fails("whole numbers", sparsync.Trace, {"emb": [[[1.5]]]})
    fails("whole numbers", sparsync.Trace, {"emb": [[[1 << 70]]]})
    fails("id -1 at place 0 is not from 0", sparsync.Trace, {"emb": [[[-1]]]})
    fails("one list a rank", sparsync.Trace, {"emb": [[[1], [2]], [[1]]]})
    for wrong, says in (({"rows": 2**64 + 10}, "rows of emb: 18446744073709551626 is not from 0 to"), ({"row_width": -3}, "row_width of emb: -3"),
                        ({"row_width": 2**32}, "row_width of emb"), ({"value_bytes": {"emb": 2.5}}, "value_bytes of emb: 2.5 is no whole number"),
                        ({"rows": {"emp": 9}}, "rows: there is no table 'emp'"), ({"row_width": {"emp": 9}}, "row_width: there is no table 'emp'"),
                        ({"value_bytes": {"emp": 2}}, "value_bytes: there is no table 'emp'")):
        fails(says, sparsync.Trace, {"emb": ids}, **wrong)
    for same in (copy.copy(trace), copy.deepcopy({"trace": trace})["trace"]):
        assert sparsync.stats(same) == sparsync.stats(trace)
        del same  # frees nothing that the trace still has
    gc.collect()
    assert trace.ranks == 2
    fails("at least one", sparsync.Trace, {})
    fails("at least one iteration", sparsync.Trace, {"emb": []})
    fails("no/such", sparsync.Trace.open, "no/such.safetensors")


def gradients_end_as_a_scheme_leaves_them(_):
    """A tensor of 3 rows of 2, of which two ranks send one element: the larger magnitude first, what is left waits."""
    sync = sparsync.Sync("topka:k=1", rows=3, row_width=2, ranks=2)
    first = sync.step([[5, -1, 0, 0, 3, 0], ([1, 2], array.array("d", [1, 2, -7, 4]))])
    assert list(first.elements) == [0, 4] and list(first.values) == [5, -7] and first.energy == (25 + 49) / (25 + 1 + 1 + 4 + 16 + 16)
    second = sync.step([([], []), ([0], [0, 1])])  # of -1 and 3; of 1, 2 and 4, and 1 on -1
    assert list(second.elements) == [4, 5] and list(second.values) == [3, 4] and second.sent_bytes == 8
    exact = sparsync.Sync({"name": "zen", "format": "coo"}, 3, 2, 2, select=0.5).step([[5, -1, 0, 0, 3, 0], ([1, 2], [1, 2, -7, 4])])
    assert dict(zip(exact.elements, exact.values)) == {0: 5, 1: -1, 3: 2, 4: -4, 5: 4}
    fails("1 gradients of 2 ranks", sync.step, [[0] * 6])
    fails("gradient of rank 1: 5 values of 3 rows of 2", sync.step, [[0] * 6, [0] * 5])
    fails("gradient of rank 0: 2 values of 2 rows of 2", sync.step, [([0, 1], [0, 1]), [0] * 6])
    fails("row ids of rank 0: ", sync.step, [([0.5], [0, 1]), [0] * 6])
    fails("rank 0: row 3 at place 0", sync.step, [([3], [0, 1]), [0] * 6])
    fails("gradients are not finite", sync.step, [[float("nan")] * 6, [0] * 6])
    fails('did you mean "topka"?', sparsync.Sync, "topk", 6)
    fails("ranks: -1", sparsync.Sync, "topka", 6, ranks=-1)
    fails("one of each", copy.deepcopy, sync)
    assert list(sync.step([[0] * 6, [0] * 6]).values) == [-1, 2]  # what was refused changed nothing


def what_a_sketch_errs_is_applied_in_the_end(_):
    """Of 40 elements, of which ten are sent at a step by sketches of 16 times as many buckets: after a gradient and many steps without
    one, all that ranks had has been applied, once."""
    draw, total = random.Random(1), [0.0] * 40
    gradients = [[draw.uniform(-8, 8) for _ in total] for _ in range(2)]
    sync = sparsync.Sync({"name": "s2", "lambda": 16, "residuals": "sketch"}, 40, 1, 2, select=0.25)
    for step in range(60):
        found = sync.step([g if step == 0 else [0.0] * 40 for g in gradients])
        for element, value in zip(found.elements, found.values):
            total[element] += value
    assert all(abs(a + b - c) < 1e-6 for a, b, c in zip(*gradients, total)), total


def errors_have_the_words_of_the_program(_):
    reason = fails('no scheme is called "zenn"', sparsync.run, SMALL, schemes=["zenn"])
    assert (reason.status, reason.field) == ("bad input", "schemes[0]"), reason.field
    fails("no/such.json", sparsync.run, "no/such.json")
    fails('did you mean "demo"?', sparsync.run, "demoo")
    fails("unknown key", sparsync.run, {**SMALL, "rank": 3})
    fails("is no JSON", sparsync.run, {**SMALL, "ranks": float("nan")})
    fails("is no JSON", sparsync.run, SMALL, ranks=object())
    fails("over: unknown key", sparsync.cost, over="density")
    fails('"100" has no unit', sparsync.cost, "zen", M="1MB", density=0.1, ranks=4, latency="10us", bandwidth=100)
    fails('"856" has no unit', sparsync.cost, "zen", M=856, density=0.1)
    for typo, meant in (("model_paralel", "model_parallel"), ("thread", "threads"), ("bandwith", "bandwidth"), ("latencies", "latency"), ("rank", "ranks")):
        fails(f'{typo}: unknown key (did you mean "{meant}"', sparsync.run, SMALL, **{typo: True})
    for told in ({"bandwidth": 100}, {"latency": 5}):
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            sparsync.run({**SMALL, "cluster": {**SMALL["cluster"], **told}})
        assert any("network" in str(h.message) and "without a unit" in str(h.message) for h in heard), (told, heard)
    fails('cluster.latency: "1e-06" has no unit', sparsync.run, SMALL, set={"cluster.latency": 1e-6})
    sparsync.cost("zen", M="1MB", density=0.1, ranks=4, cluster={"latency": 1e-5, "bandwidth": 100})  # a document says SI
    fails("M: varies", sparsync.crossover, "zen", "ps", over="M", M="3B")
    fails("no/such.log", sparsync.calibrate, "no/such.log")
    fails("zero byte", sparsync.run, "a\0b")
    for threads in (-1, 2**32, 1.5, "2"):
        fails("threads: ", sparsync.run, SMALL, threads=threads)


def nothing_is_said_twice_or_in_vain(folder):
    (folder / "t.csv").write_text("a,b\nx,y\nz,y\n")
    table, made = folder / "t.csv", folder / "t.safetensors"
    for says, ask in (("ranks: is said twice", lambda: sparsync.run(SMALL, ranks=2, set={"ranks": 4})),
                      ("schemes: is said twice", lambda: sparsync.cost("zen", M="1MB", density=0.01, schemes=["ps"])),
                      ("scheme: is said twice", lambda: sparsync.cost("zen", M="1MB", density=0.01, scheme="ps")),
                      ("logs: is said twice", lambda: sparsync.calibrate("a.log", logs=["b.log"])),
                      ("files: is said twice", lambda: sparsync.import_trace(table, made, files=[str(table)], ranks=1, batch=1)),
                      ("from: is said twice", lambda: sparsync.import_trace(table, made, ranks=1, batch=1, from_="csv", **{"from": "tsv"})),
                      ("threads: True is no whole number", lambda: sparsync.run(SMALL, threads=True)),
                      ("progress: 'no' is neither", lambda: sparsync.run(SMALL, progress="no")), ("progress: 1 is neither", lambda: sparsync.run(SMALL, progress=1)),
                      ("row_width of e: is at least 1", lambda: sparsync.Trace({"e": [[[1]]]}, row_width=0)),
                      ("value_bytes of e: is at least 1", lambda: sparsync.Trace({"e": [[[1]]]}, value_bytes={"e": 0}))):
        fails(says, ask)
    for flag, kind, ask in (("lossy", "run", sparsync.run), ("model_parallel", "check", sparsync.check), ("per_rank", "plan", sparsync.plan),
                            ("per_iteration", "plan", sparsync.plan), ("lossy", None, sparsync.plan), ("per_iteration", None, sparsync.check)):
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            ask({**SMALL, "expect": [{"that": "time_s", "of": "allgather", "is": ">", "than": 0}]}, **{flag: True})
        assert [str(w.message) for w in heard if "does nothing" in str(w.message)] == ([f'{flag} does nothing: "{kind}" does not read it'] if kind else []), (flag, kind)
    assert sparsync.run(SMALL, lossy=False) and sparsync.run(SMALL, ranks=2, set={"cluster.window": 2}) and "rank_bytes_sent" in sparsync.run(SMALL, per_rank=True)[0]
    checked = sparsync.check({**SMALL, "expect": [{"that": "time_s", "of": "allgather", "is": ">", "than": 0}]}, per_iteration=True)
    assert "iteration_s" in checked.document["points"][0]


def words_of_options_are_those_of_fields(_):
    """What the command calls --bandwidth or --scheme is called so here, too, wherever it stands among the arguments."""
    fast = sparsync.run(bandwidth="2GB/s", latency="20us", scheme="allgather", no_verify=True, **{k: v for k, v in SMALL.items() if k != "schemes"})
    said = sparsync.run({**SMALL, "schemes": ["allgather"], "verify": False}, set={"cluster.bandwidth": "2GB/s", "cluster.latency": "20us"})
    near([r["time_s"] for r in fast], [r["time_s"] for r in said])
    assert fast[0]["time_s"] != sparsync.run(SMALL, scheme="allgather")[0]["time_s"] and fast[0]["exact"] is None
    assert {r["scheme"] for r in sparsync.cost(scheme="zen", M="1MB", density=0.1, ranks=4)} == {"zen"}
    fails("expected a list of schemes", sparsync.cost, schemes=5, M="1MB", density=0.1, ranks=4)
    for fields in ({"schemes": "ps", "scheme": "zen"}, {"bandwidth": "1GB/s", "set": {"cluster.bandwidth": "2GB/s"}}):
        fails("is another name of", sparsync.run, SMALL, **fields)
    fails('"100" has no unit', sparsync.run, SMALL, bandwidth=100)
    fails('bandwidth: takes one value ("sweep": {"cluster.bandwidth": [...]} takes several)', sparsync.run, SMALL, bandwidth=["1GB/s", "2GB/s"])
    fails("no_verify: expected true or false", sparsync.run, SMALL, no_verify="yes")
    fails('jobs: unknown argument (did you mean "threads"?)', sparsync.run, SMALL, jobs=2)
    fails("set: 'a=b' is no dict", sparsync.run, SMALL, set="a=b")
    fails("scenario: 5 is no name", sparsync.run, 5)
    trace = sparsync.Trace({"a": [[[1], [2]]], "b": [[[7, 7], []]]})
    assert [r["name"] for r in sparsync.stats(trace, tensor="b")] == ["b"]
    two = sparsync.train(workload="spardl-vgg-16", cluster="rtx2080ti-1gbe", ranks=2, system="ddp", bandwidth="10Gbps")
    assert [r["system"] for r in two] == ["ddp"] and two[0]["iteration_s"] < sparsync.train(workload="spardl-vgg-16", cluster="rtx2080ti-1gbe", ranks=2, systems=["ddp"])[0]["iteration_s"]
    for wrong, says in (([[1]], "tables: a dict is wanted"), ({"emb": [1, 2]}, "emb: a list of iterations is wanted"), ({"emb": [[1, 2]]}, "iteration 0, rank 0: a list of row ids is wanted, whole numbers, not 1"),
                        ({"emb": [[["a"]]]}, "whole numbers, not 'a'"), ({5: [[[1]]]}, "tables: a dict")):
        assert "\n" not in str(fails(says, sparsync.Trace, wrong))
    fails("lengths: a dict is wanted", sparsync.Trace, {"emb": [[[1]]]}, lengths=[[[1]]])
    fails("files: 5 is no path", sparsync.import_trace, 5, "x", ranks=2)


def notices_are_warnings_and_settings_are_taken(_):
    jitter = {**SMALL["cluster"], "model": "fair", "jitter": {"per": "pair", "draws": 2, "bandwidth": [[0, 0.9], [1, 1.1]]}}
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        sparsync.cost("allgather", M="1MB", density=0.1, ranks=[4], cluster=jitter)
    told = [str(w.message) for w in heard if issubclass(w.category, sparsync.Notice)]
    assert len(told) == 1, told
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        sparsync.run(SMALL, set={"cluster.gpus_per_node": 4, "cluster.intra": {"latency": 1e-6, "bandwidth": 1e10}}, ranks=2)
    assert ["are one node of" in str(w.message) for w in heard if w.category is sparsync.Notice] == [True], heard
    points = sparsync.run(SMALL, set={"cluster.bandwidth": "2GB/s"}, ranks=2, threads=1, per_rank=True)
    assert abs(points[0]["time_s"] - 2 * (1e-5 + 131072e-9 / 2)) < 1e-12, points[0]["time_s"]


def progress_is_told_and_what_it_raises_ends_the_request(_):
    told = []
    sparsync.run({**SMALL, "trace": {"gradient": {"elements": 1 << 14, "iterations": 40}}, "schemes": ["topka", "oktopk"]},
                 progress=lambda what, done: told.append((what, done)))
    assert told and told[-1] == ("points", 1.0), told
    assert all(a[1] <= b[1] for a, b in zip(told, told[1:])), told

    def enough(what, done):
        raise RuntimeError("enough")

    try:
        sparsync.run(LONG, progress=enough)
    except RuntimeError as reason:
        assert str(reason) == "enough"
    else:
        raise AssertionError("what a progress function raises is lost")


def control_c_ends_a_request(_):
    script = ("import sparsync, json, sys\n"
              "try:\n"
              "    print('begins', flush=True)\n"
              "    sparsync.run(json.loads(sys.argv[1]), progress=lambda what, done: print('works', flush=True))\n"
              "except KeyboardInterrupt:\n"
              "    print('ended', len(sparsync.run(json.loads(sys.argv[2]))))\n")
    process = subprocess.Popen([sys.executable, "-c", script, json.dumps(LONG), json.dumps(SMALL)], stdout=subprocess.PIPE, text=True,
                               env={**os.environ, "PYTHONPATH": str(ROOT / "src" / "python"), "PYTHONDONTWRITEBYTECODE": "1"},
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
    assert process.stdout.readline() == "begins\n" and process.stdout.readline() == "works\n"
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=tap.HANG)
    assert process.returncode == 0 and out.splitlines()[-1] == "ended 4", (process.returncode, out)


def frames_where_pandas_is(_):
    if not importlib.util.find_spec("pandas"):
        raise tap.Skip("there is no pandas")
    import numpy

    points = sparsync.run({**SMALL, "sweep": {"cluster.bandwidth": ["1GB/s", "2GB/s"]}})
    frame = points.to_frame()
    assert list(frame["at.cluster.bandwidth"]) == [1e9] * 4 + [2e9] * 4 and list(frame["label"][:2]) == ["allreduce", "allgather"]
    ids = numpy.array([3, 5, 5], dtype=numpy.uint32)
    assert sparsync.stats(sparsync.Trace({"emb": [[ids, ids[:1]]]}))[0]["lookups"] == 2
    fails("whole numbers", sparsync.Trace, {"emb": [[ids * 0.5]]})
    assert sparsync.run(SMALL, ranks=numpy.array([2]))[0]["ranks"] == 2


def plans_have_the_columns_of_the_command(_):
    """Where the next by time is not who may be the fastest instead."""
    fields = {"trace": str(ROOT / "traces/bible-kjv-16.safetensors"), "cluster": "p3.16xlarge-25g", "ranks": 16, "iterations": "0:5"}
    words = [word for key, value in fields.items() for word in ("--" + key, str(value))]
    told = subprocess.run([PROGRAM, "plan", *words, "--quiet", "--format", "markdown"], capture_output=True, text=True, timeout=tap.HANG)
    head, _, row = [[cell.strip() for cell in line.split("|")] for line in told.stdout.splitlines() if line.startswith("|")]
    table, columns = dict(zip(head, row)), sparsync.plan(**fields).columns()
    assert columns["next"] != columns["rival"], "this shows nothing"
    assert [table["scheme"], table["next"], table["rival"]] == [columns[name][0] for name in ("label", "next", "rival")], (table, columns)


def tables_name_and_measure(_):
    """All tensors together have a name, rates their units; several clusters may be a list."""
    two = sparsync.Trace({"a": [[[k % 97 for k in range(300)]] * 4], "b": [[[1], [2], [3], [4]]]}, rows={"a": 100, "b": 1 << 20}, row_width=64)
    plan = sparsync.plan(trace=two, cluster=["rtx3090-10gbe", "rtx3090-1gbe"], ranks=4, no_verify=True)
    assert {row["cluster"] for row in plan} == {"rtx3090-10gbe", "rtx3090-1gbe"}
    assert plan[2]["tensor"] == "*" and plan[2]["label"] is None, "this shows nothing"
    assert plan.columns()["label"][2] == "each with its own" and "each with its own" in repr(plan) and "each with its own" in plan._repr_html_()
    swept = sparsync.run(SMALL, ranks=2, sweep={"cluster.bandwidth": ["1Gbps"], "cluster.latency": ["20us"]})
    assert "1 Gbit/s" in repr(swept) and "20 µs" in repr(swept), repr(swept)
    assert "GB/s" in repr(sparsync.collective("allreduce", "p3.16xlarge-25g", ranks=16, sizes="1GiB"))
    for answer in (sparsync.stats(two), sparsync.place(trace=two, cluster="rtx3090-10gbe"), sparsync.list("systems")):
        assert 2 <= len(answer.columns()) <= 10 < len(answer.columns(all=True)), [*answer.columns()]


def without_pandas_one_line_says_what_to_install(_):
    points = sparsync.run(SMALL, ranks=2)
    before = sys.modules.get("pandas")
    sys.modules["pandas"] = None  # then importing it fails
    try:
        error = fails("pip install pandas", points.to_frame)
        assert "\n" not in str(error) and error.status == "machine"
    finally:
        if before:
            sys.modules["pandas"] = before
        else:
            del sys.modules["pandas"]
    assert points.columns()["ranks"] == [2, 2]


def frames_are_short_and_have_no_objects(_):
    """About ten columns and what is swept; all of them on demand; nothing that arithmetic stumbles over."""
    if not importlib.util.find_spec("pandas"):
        raise tap.Skip("there is no pandas")
    points = sparsync.run("demo", iterations="0:1", set={"sweep": {"cluster.latency": ["5us", "10us"]}})
    short, whole = points.to_frame(), points.to_frame(all=True)
    assert list(short.columns[:3]) == ["at.cluster.latency", "label", "ranks"] and 8 <= len(short.columns) <= 12, list(short.columns)
    assert len(whole.columns) > 71 and set(short.columns) < set(whole.columns) and len(whole) == len(points) == 8
    cells = [cell for column in whole for cell in whole[column]]
    assert not any(cell is None or isinstance(cell, dict) for cell in cells)
    assert not any(isinstance(inner, dict) for cell in cells if isinstance(cell, list) for inner in cell)
    assert whole["push_imbalance"].dtype == float and whole["push_imbalance"].isna().any(), "absent numbers are NaN"
    assert whole["links.egress.count"].sum() > 0, "objects in objects are columns"
    assert len(sparsync.train(workload="spardl-vgg-16", cluster="rtx2080ti-1gbe", ranks=2, systems=["ddp"]).to_frame().columns) == 10


def notebooks_show_tables_and_one_line_of_an_error(_):
    points = sparsync.run(SMALL, schemes=[{"name": "allgather", "label": "<b>&"}], ranks=2)
    shown = points._repr_html_()
    assert "<td>&lt;b&gt;&amp;</td>" in shown and "<b>" not in shown and shown.count("<tr>") == 2, shown
    time = points[0]["time_s"]
    assert f"<td>{1e6 * time:.3g} µs</td>" in shown, (time, shown)
    long = sparsync.cost(M="1MB", density=0.1, ranks=[2, 4, 8])
    assert long._repr_html_().count("<tr>") == 61 and f"{len(long)} rows, 60 shown" in long._repr_html_()
    assert str(points).splitlines()[0].split()[:3] == ["label", "ranks", "cluster"] and len(str(points).splitlines()) == 2, str(points)
    assert f"{1e6 * time:.3g} µs" in str(points) and "{" not in str(points) and f"{len(long)} rows, 60 shown" in str(long)
    assert str(points[:0]) == "[]" and str(sparsync.Rows([], {})) == "[]"
    error = fails('did you mean "ranks"?', sparsync.run, "demo", rank=3)
    assert error._render_traceback_() == [f"sparsync.Error: {error}"] and "\n" not in str(error)


def what_the_command_alone_has_is_asked_of_it(folder):
    names = [thing["name"] for thing in sparsync.list("clusters")]
    assert names == [c["name"] for c in command("list", "clusters")["clusters"]] and "p3.16xlarge-25g" in names
    trace = sparsync.synth(rows=1000, ranks=4, iterations=3, lookups=100, zipf=0.5)
    assert (trace.ranks, trace.iterations) == (4, 3)
    kept = sparsync.synth(folder / "kept.safetensors", rows=1000, ranks=4, iterations=3, lookups=100, zipf=0.5)
    fits = sparsync.trace_fit(trace, ranks=[4, 8])
    assert [r["ranks"] for r in fits] == [4, 8] and list(fits) == list(sparsync.trace_fit(folder / "kept.safetensors", ranks=[4, 8])), fits
    del kept
    times = sparsync.collective("allreduce", {"name": "own", "latency": "1us", "bandwidth": "1GB/s"}, ranks=2, sizes="1MB")
    near(next(t for t in times if t["algorithm"] == "ring")["time_s"], 2 * (1e-6 + 5e-4))
    page = sparsync.report(SMALL, folder / "page.html", ranks=2, trace=trace, schemes="allgather", no_sliders=True, set={"cluster.latency": "1us"})
    cluster = {"name": "own", "latency": 1e-6, "bandwidth": 1e9}  # in SI, as in a file
    own = sparsync.report(None, folder / "own.html", cluster=cluster, sweep={"cluster.bandwidth": [1e9, 2e9]}, scheme=["allgather"], tensor=["embedding"],
                          trace=trace, ranks=2, no_verify=True, no_sliders=True)
    assert "16 Gbit/s" in own.read_text() and "8 Gbit/s" in own.read_text()
    fails("has no unit", sparsync.report, SMALL, folder / "no.html", trace=trace, bandwidth=1e9)
    fails("a page goes to a file", sparsync.report, SMALL, None)
    fails("scenario: 5 is no name", sparsync.report, 5, folder / "no.html")
    fails("path: None is no text", sparsync.import_trace, "x.parquet", None, ranks=2)
    fails("cluster: an empty list names no cluster", sparsync.run, SMALL, cluster=[])
    fails("no figure begins with -", sparsync.plot, "--help")
    fails("path: None is no text", sparsync.plot, None)
    fails("a list of row ids is wanted", sparsync.Trace, {"e": [[iter(["x"]), [1]]]})
    assert page == folder / "page.html" and "allgather" in page.read_text() and "zen" not in page.read_text().split("<h2")[1]
    fails('no collective is called "allredce" (did you mean "allreduce"?)', sparsync.collective, "allredce", "p3.16xlarge-25g", ranks=2)
    assert fails('unknown argument "zipff" (did you mean zipf?)', sparsync.synth, zipff=1).status == "bad input"
    fails('rows: "-5" is not', sparsync.synth, rows=-5)
    fails("path: 5 is no text", sparsync.synth, 5)
    assert sparsync.synth(rows=1e3, ranks=2, iterations=1).ranks == 2, "a whole number all the same"
    fails("scenario: rank: unknown key", sparsync.report, SMALL, folder / "p.html", rank=2)
    like = sparsync.synth(rows=2000, ranks=4, iterations=3, like={"density": "5%", "gamma@4": 2})
    assert abs(sparsync.stats(like)[0]["density"] / 0.05 - 1) < 0.1
    if shutil.which("gnuplot"):
        points = sparsync.run(SMALL, ranks=[2, 4])
        assert points.plot(x="ranks")._repr_svg_().rstrip().endswith("</svg>")
        assert points.plot(folder / "p.pdf", x="label", where={"ranks": 4}).read_bytes().startswith(b"%PDF")
        fails("no result is left", points.plot, x="ranks", where={"ranks": 5})
        for style in ("#12ab34,dotted", ("#12ab34", "dotted")):
            drawn = points.plot(x="ranks", kind="lines", style={"allgather": style}).svg.replace(" ", "")
            assert "rgb(18,171,52)" in drawn and "stroke-dasharray" in drawn, style
        fails('"red" is not a colour', points.plot, style={"allgather": "red"})
        assert "ring" in times.plot()._repr_svg_() and len(sparsync.collective("allreduce", "p3.16xlarge-25g", ranks=16, sizes="1KiB:1MiB").plot().svg) > 5000
        ranges = sparsync.crossover("allgather", "allreduce", "density", M="856MB", row_width=64, ranks=16)
        assert "density" in ranges.plot()._repr_svg_() and [r["winner"] for r in ranges] == ["allgather", "allreduce"]
        two = sparsync.Trace({"left": [[[3, 5], [5]]], "right": [[[1], [2, 3]]]})
        assert "left" in sparsync.stats(two).plot()._repr_svg_()
    os.environ["SPARSYNC_COMMAND"] = "/bin/true"  # no sparsync, or another version's
    try:
        sparsync._command._program.cache_clear()
        fails("name its own command in SPARSYNC_COMMAND", sparsync.list, "schemes")
    finally:
        del os.environ["SPARSYNC_COMMAND"]
        sparsync._command._program.cache_clear()


def notebook_runs_and_shows_what_it_says(_):
    notebook = json.loads((ROOT / "docs" / "notebook.ipynb").read_text())
    assert notebook["nbformat"] == 4 and len(json.dumps(notebook)) < 60000
    assert any("image/svg+xml" in output.get("data", {}) for cell in notebook["cells"] for output in cell.get("outputs", ())), "a figure is shown"
    assert str(ROOT) not in json.dumps(notebook) and "/home/" not in json.dumps(notebook)
    names = {"__name__": "__main__"}
    before = os.getcwd()
    os.chdir(ROOT / "docs")
    try:
        for cell in notebook["cells"]:
            if cell["cell_type"] != "code" or (".plot(" in "".join(cell["source"]) and not shutil.which("gnuplot")):
                continue
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile("".join(cell["source"]), "notebook", "exec"), names)
            kept = "".join("".join(output.get("text", "")) for output in cell["outputs"])
            assert printed.getvalue() == kept, f"the notebook shows\n{kept}\nbut now it is\n{printed.getvalue()}"
    finally:
        os.chdir(before)


def pip_installs_the_package(folder):
    """With ccache it compiles little; what it compiles is what ./dev build does."""
    if not importlib.util.find_spec("mesonpy") or not importlib.util.find_spec("pip"):
        raise tap.Skip("there is no meson-python (./dev setup python)")
    build = PROGRAM.parent.name + "-python"  # beside ours, so that ccache finds what we compiled
    # what meson-python leaves in the tree makes it take an old build folder for granted
    left = ROOT / ".mesonpy-native-file.ini"
    left.unlink(missing_ok=True)
    shutil.rmtree(ROOT / build, ignore_errors=True)
    done = subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-build-isolation", "--no-deps", "--no-index",
                           "--disable-pip-version-check", f"--config-settings=builddir={build}", "--target", folder / "site", ROOT],
                          capture_output=True, text=True, timeout=tap.HANG, cwd=ROOT)
    shutil.rmtree(ROOT / build, ignore_errors=True)
    left.unlink(missing_ok=True)
    assert done.returncode == 0, done.stderr[-2000:] + done.stdout[-2000:]
    plain = {name: value for name, value in os.environ.items() if not name.startswith("SPARSYNC_")}
    out = subprocess.run([sys.executable, "-c", "import sparsync; print(sparsync.__file__, len(sparsync.run('demo', iterations='0:1')))"],
                         capture_output=True, text=True, env={**plain, "PYTHONPATH": str(folder / "site")}, cwd=folder)
    assert out.stdout.split()[1:] == ["12"] and str(folder) in out.stdout, out.stdout + out.stderr


TESTS = [answers_are_those_of_the_command, captures_are_judged_as_by_the_command, placements_checks_exports_and_imports_are_the_commands, calibrated_clusters_and_rows_are_plain_data, traces_of_lists_and_arrays,
         gradients_end_as_a_scheme_leaves_them, what_a_sketch_errs_is_applied_in_the_end, errors_have_the_words_of_the_program, nothing_is_said_twice_or_in_vain, words_of_options_are_those_of_fields, notices_are_warnings_and_settings_are_taken,
         progress_is_told_and_what_it_raises_ends_the_request, control_c_ends_a_request, frames_where_pandas_is, plans_have_the_columns_of_the_command, tables_name_and_measure, without_pandas_one_line_says_what_to_install, frames_are_short_and_have_no_objects,
         notebooks_show_tables_and_one_line_of_an_error, what_the_command_alone_has_is_asked_of_it,
         notebook_runs_and_shows_what_it_says, pip_installs_the_package]
sys.exit(tap.run(TESTS))
# SPDX-License-Identifier: Apache-2.0
