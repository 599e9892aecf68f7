#!/usr/bin/python3
"""docs/schemas against the program: what it prints fits them, what it takes fits them, what it refuses does not.
Arguments: the program, the source tree. Prints TAP."""
import copy
import functools
import json
import re
import sys

import tap
from asking import ROOT, ask
from tap import test

try:
    import jsonschema
except ImportError:
    print("1..0 # SKIP python3-jsonschema is not installed")
    sys.exit(0)

SCHEMAS = ROOT / "docs" / "schemas"
BIBLE = str(ROOT / "traces" / "bible-kjv-16.safetensors")


def output(*arguments, **options):
    return json.loads(ask(*arguments, "--format", "json", **options).stdout)


@functools.cache
def validator(name):
    schema = json.loads((SCHEMAS / f"{name}.schema.json").read_text())
    kind = jsonschema.validators.validator_for(schema)
    kind.check_schema(schema)
    return kind(schema)


def fits(name, document, what):
    for error in validator(name).iter_errors(document):
        raise AssertionError(f"{what} against {name}: {'.'.join(map(str, error.absolute_path))}: {error.message[:300]}")


def misfits(name, document, what):
    assert not validator(name).is_valid(document), f"{name} takes {what}"


def changed(document, path, value=None, drop=False):
    """A copy in which the field at the path has the value, or is gone."""
    result = at = copy.deepcopy(document)
    for step in path[:-1]:
        at = at[step]
    if drop:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return result


def texts(node):
    """All texts of a document."""
    if isinstance(node, str):
        yield node
    for item in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from texts(item)


def properties(node):
    """Each key that a schema has at any depth, and its field."""
    if isinstance(node, dict) and "type" in node:
        yield from node.get("properties", {}).items()
    for item in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from properties(item)


# --- results ----------------------------------------------------------------------------------------------------------

@test
def schemas_are_the_programs(folder):
    """Those of docs/schemas are what the program writes, one file a document."""
    listed = [schema["name"] for schema in output("list", "schemas")["schemas"]]
    for name in listed:
        validator(name)
        written = (SCHEMAS / f"{name}.schema.json").read_text()
        assert ask("list", "schema", name).stdout == written, f"{name}: write it anew: ./dev schemas"
    assert {path.name.removesuffix(".schema.json") for path in SCHEMAS.glob("*.json")} >= set(listed)
    assert "did you mean" in ask("list", "schema", "clustr", status=2).stderr


@test
def docs_name_every_key(folder):
    """Of the documents that are read; names that only still work need no word."""
    docs = "\n".join(path.read_text() for path in (ROOT / "docs").glob("*.md"))
    for name in (schema["name"] for schema in output("list", "schemas")["schemas"]):
        for key, field in properties(validator(name).schema):
            named = field.get("deprecated") or re.search(rf"[`\"'.·]{key}\b", docs)
            assert named, f"no page of docs names {key} of {name}"


@test
def no_schema_lists_schemes(folder):
    """Who adds a scheme changes no schema: names are looked up in the registry, by the program."""
    named = {scheme["name"] for scheme in output("list", "schemes")["schemes"]}
    assert "zen" in named
    for path in SCHEMAS.glob("*.json"):
        listed = named & set(texts(json.loads(path.read_text())))
        assert not listed, f"{path.name} lists {listed}"


SHORT = ("run", "--trace", BIBLE, "--cluster", "p3.16xlarge-25g", "--iterations", "0:2")
COST = ("cost", "--M", "1MB", "--density", "1%")
TRAIN = ("train", "--workload", "embrace-lm-rtx3090", "--cluster", "rtx3090-100g-ib")
CROSSOVER = ("crossover", "zen-coo", "allreduce", "--M", "1MB", "--row-width", "4", "--over")
UNIFORM = {"trace": {"uniform": {"rows": 64, "density": "1/4", "overlap": "none"}}, "cluster": {"latency": 0, "bandwidth": 1},
           "ranks": [2, 4], "sweep": {"index_bytes": [0, 8], "cluster.bandwidth": ["1Gbps"], "device": ["none", "quick"]},
           "schemes": ["ps", {"name": "ps", "label": "2", "servers": 2, "pull": "rows"}]}
# A schema, commands whose JSON fits it, where the fields stand of which none may be missing, and what may not stand.
PRINTED = (
    ("run", [[*SHORT, *more] for more in ((), ("--ranks", "1..16"), ("--no-verify",), ("--per-rank", "--per-iteration"),
                                          ("--merge", "2", "--device", "quick"), ("--set", "granularity=element", "--set", "sizes=exchanged"))]
     + [["run", *more] for more in (("scenarios/demo.json",), ("u.json",), ("v.json",), ("v.json", "--no-verify"),
                                    ("v.json", "--set", 'select={"topk":"5%"}', "--scheme", "zen,s2"))]
     + [["run", "--trace", ROOT / "traces" / "wordnet-64.safetensors", "--cluster", "rtx3090-1gbe", "--ranks", "3,64", "--iterations", "1"]]
     + [["run", "--trace", BIBLE, "--cluster", "rtx3090-1gbe", "--iterations", "1", "--scheme", "ps"]],
     ["points", 0], """kernels scheme label options ranks tensor at cluster device trace trace_hash seed iterations time_s time_min_s
     time_max_s kernel_s messages rounds bytes_total bytes_sent_max bytes_received_max server_bytes_max peak_bytes server_peak_bytes device_memory_bytes density gamma push_imbalance
     pull_imbalance lossless exact error_l2 error_mean energy energy_lost k formula_s formula paper_s paper_low_s paper_high_s""",
     [(["points", 0, field], value) for field, value in (
         ("time_s", "1"), ("time_s", None), ("exact", 1), ("ranks", 0), ("ranks", 2.5), ("trace_hash", "xxh64:12"), ("at", None),
         ("messages", -1), ("options", {}), ("label", ""))] + [(["points"], [])]),
    ("cost", [COST, [*COST, "allgather", "--index-bytes", "0", "--cluster", "h100-8x8-400g", "--gamma", "1,2,2.5"],
              [*COST, "ps", "--servers", "3"]],
     ["points", 0], "scheme ranks cluster density gamma formula_s formula paper_s printed_in erratum", [(["points", 0, "formula_s"], "1 s")]),
    ("check", [["check", "ps-union", "allreduce-tree"]], ["checks", 0], "scheme point simulated_s exact_s relative ok",
     [(["checks", 0, "ok"], "yes")]),
    ("train", [[*TRAIN, *more] for more in (("--ranks", "1,4"), ("--ranks", "4", "--per-iteration", "--sensitivity"),
                                            ("--ranks", "3", "--set", "jitter.lognormal=0.1", "--device", "quick", "--system", "embrace"))],
     ["training", 0], "workload system ranks iteration_s stall_s hidden speedup tasks critical_path",
     [(["training", 0, "iteration_s"], "1 s"), (["training", 0, "tasks", 0, "kind"], "late"), (["estimates"], 1)]),
    ("list", [["list", things] for things in "costs clusters devices libraries workloads systems figures claims scenarios schemas schemes".split()],
     ["schemes", 0], "name", [(["schemes", 0, "options"], "none")]),
    ("crossover", [[*CROSSOVER, *more] for more in (("density", "--simulate", "--probes", "3"), ("ranks", "--density", "1"),
                                                    ("latency", "--density", "1", "--form", "paper"), ("density",))],
     [], "a b over", [(["winner_below"], 1)]),
    *((f"trace-{verb}", [["trace", verb, BIBLE]], [], "trace", []) for verb in ("stats", "info", "fit")),
    ("collective", [["collective", "alltoall", "--sizes", "1KiB:4KiB"]], [], "times", [(["times", 0, "time_s"], 0)]),
)


@test
def commands_print_what_they_say(folder):
    (folder / "u.json").write_text(json.dumps(UNIFORM))
    (folder / "v.json").write_text(json.dumps({**VALUES, "expect": []}))
    for name, commands, place, needed, wrong in PRINTED:
        for command in commands:
            document = output(*(folder / word if word in ("u.json", "v.json") else word for word in command))
            fits(name, document, command)
        for field in needed.split():
            misfits(name, changed(document, [*place, field], drop=True), f"{place} without {field}")
        for path, value in wrong:
            misfits(name, changed(document, path, value), f"{path} = {value!r}")
    misfits("list", {"things": []}, "unknown things")


@test
def baselines_print_what_they_say(folder):
    run = ["run", "--trace", BIBLE, "--cluster", "p3.16xlarge-25g", "--iterations", "1", "--scheme", "ps,zen"]
    ask(*run, "--ranks", "2,16", "--save-baseline", folder / "b.json")
    fits("run", json.loads((folder / "b.json").read_text()), "a stored baseline")
    fits("baseline", output(*run, "--ranks", "2,16", "--baseline", folder / "b.json"), "nothing moved")
    document = output(*run, "--ranks", "16,4", "--latency", "1ms", "--baseline", folder / "b.json", status=1)
    fits("baseline", document, "moved, new and missing points")
    assert {c["change"] for c in document["changes"]} == {"moved", "new", "missing"}
    for field in ("change", "label", "ranks", "tensor", "at", "fields", "differs"):
        misfits("baseline", changed(document, ["changes", 0, field], drop=True), f"a change without {field}")
    misfits("baseline", changed(document, ["changes", 0, "change"], "gone"), "change = gone")
    misfits("baseline", changed(document, ["moved"], "1"), "text for a count")


@test
def failed_checks_print_what_they_say(folder):
    expecting = {"trace": {"uniform": {"rows": 64, "row_width": 8, "density": "1/4"}}, "cluster": "p3.16xlarge-25g", "ranks": [4],
                 "schemes": ["allgather"], "expect": [{"that": "time_s", "of": "allgather", "is": "<", "than": 0}]}
    (folder / "expecting.json").write_text(json.dumps(expecting))
    document = output("check", folder / "expecting.json", folder / "gone.json", status=2)
    fits("check", document, "an expectation that fails, and a file that is not there")
    misfits("check", changed(document, ["expectations", 0, "ok"], drop=True), "an expectation without ok")
    misfits("check", changed(document, ["errors", 0, "file"], drop=True), "an error without file")
    form = json.loads((ROOT / "models" / "costs" / "allreduce-ring.json").read_text())
    (folder / "wrong.json").write_text(json.dumps({**form, "exact": "P*alpha"}))
    fits("check", output("check", folder / "wrong.json", status=1), "a check that fails")


@test
def calibrate_writes_a_cluster(folder):
    for log in ("all_reduce_perf", "osu_latency"):
        done = ask("calibrate", "network", ROOT / "tests" / "cli" / "data" / f"{log}.log")
        fits("cluster", json.loads(done.stdout), f"calibrate network {log}")


# --- inputs -----------------------------------------------------------------------------------------------------------


@test
def shipped_files_fit(folder):
    for name, files in (("cluster", "models/clusters"), ("device", "models/devices"), ("library", "models/libraries"),
                        ("cost-model", "models/costs"), ("scenario", "scenarios"), ("scenario", "tests/bench"), ("figure", "scenarios/figures"),
                        ("workload", "models/workloads"), ("system", "models/systems"), ("train-scenario", "scenarios/training")):
        paths = [p for p in sorted((ROOT / files).glob("*.json")) if p.name != "instructions.json"]
        assert paths or files == "tests/bench", f"no files in {files}"
        for path in paths:
            fits(name, json.loads(path.read_text()), path.relative_to(ROOT))
    requests = []
    kinds = {next(iter(way["required"])) for way in validator("request").schema["oneOf"]}
    for path in (ROOT / "scenarios" / "figures").glob("*.json"):
        document = json.loads(path.read_text())
        entries = [{key: entry[key] for key in entry if key in validator("request").schema["properties"]}
                   for panel in document["panels"] for entry in panel["data"] if kinds & set(entry)]
        requests += [(path.name, request) for request in [*document.get("inputs", {}).values(), *entries]]
    for path in (ROOT / "scenarios" / "claims").glob("*.json"):
        document = json.loads(path.read_text())
        fits("claims-file", document, path.name)
        requests += [(path.name, request) for request in document.get("inputs", {}).values()]
    assert len(requests) > 100
    for name, request in requests:
        fits("request", request, name)
        for kind, schema in (("run", "scenario"), ("train", "train-scenario")):
            if isinstance(request.get(kind), dict):
                fits(schema, request[kind], name)


SCENARIO = {
    "name": "all", "summary": "every key", "notes": ["any", 1], "trace": {"uniform": {
        "rows": 64, "row_width": 8, "density": "1/4", "overlap": "full", "dtype": "F16", "seed": 3}},
    "cluster": {"name": "c", "summary": "s", "model": "alpha-beta", "latency": "10us", "bandwidth": "25Gbps", "gpus_per_node": 2,
                "nic": "per-node", "intra": {"latency": 1e-6, "bandwidth": "0.1 TB/s"}, "source": {"any": "thing"}, "notes": ""},
    "device": {"name": "d", "memory_bandwidth": "900GB/s", "efficiency": "50%", "launch": "5us"},
    "ranks": [1, 2, 4], "index_bytes": 4, "granularity": "row", "verify": True, "sizes": "free", "iterations": "0:2", "merge": 1,
    "schemes": ["allreduce", {"name": "allgather", "algorithm": "bruck", "separate": True, "coalesce": False, "label": "x"},
                {"name": "ps", "servers": 1, "pull": "rows", "index_bytes": 8, "granularity": "element", "sizes": "exchanged"},
                {"name": "alltoall", "exchange": "both", "gather_ids": True, "partition": "column", "pooling": "none"}],
    "sweep": {"cluster.bandwidth": ["1Gbps", 5e8], "index_bytes": [0, 4]},
    "expect": [{"that": "time_s", "of": "ps", "is": ">", "than": 0, "at": {"ranks": 4}, "tensor": "tensor", "notes": ""},
               {"that": "time_s", "of": "x", "is": "=", "than": "x", "within": "1%"}],
}
SELECTING = [{"name": "topka", "k": 5}, {"name": "topkdsa", "density": "2%"}, "gtopk", {"name": "oktopk", "thresholds": "reused"},
             {"name": "spardl", "teams": 2, "sag": "bruck", "residuals": "partial", "timing": "after-sum"}]
VALUES = {"trace": {"gradient": {"elements": 600, "seed": 2, "rho": "30%", "scale": 2, "sigma": 0, "layers": 3, "distribution": "laplace",
                                 "iterations": 2}}, "cluster": "p3.16xlarge-25g", "ranks": [16, 32], "hierarchy": "none",
          "schemes": [*SELECTING, {"name": "s2", "lambda": 2, "hashes": 2, "seed": 0, "hierarchy": "leader"}, "sparcml-rd",
                      {"name": "zen", "format": "coo", "balance": "sorted", "refresh": 2, "seed": 3, "hierarchy": "shard"},
                      {"name": "omnireduce", "block": 16, "aggregators": 1}, "design:ring/incremental/central/bitmap",
                      {"name": "design:p2p/one-shot/parallel/balanced/hash-bitmap", "label": "a point"}],
          "expect": [{"that": "energy_lost", "of": "topka", "is": "=", "than": 0, "within": 0}]}
PLAIN = ["sparcml-split", "s2"]  # with "select"
VALUES_TAKEN = [(["schemes", 0], "sparcml-dsar"), (["schemes", 0, "k"], "5"), (["hierarchy"], "shard"), (["trace", "gradient", "rho"], 1),
                (["schemes", 0], {"name": "zen", "label": "auto", "plan": "auto"}), (["schemes", 0], {"name": "design", "partition": "central"})]
VALUES_REFUSED = [(["schemes", 0, "k"], 0), (["schemes", 0, "density"], "1%"), (["schemes", 0, "teams"], 2), (["schemes", 4, "sag"], "ring"),
                  (["schemes", 4, "teams"], 0), (["schemes", 5, "lambda"], 0), (["schemes", 5, "buckets"], 9),
                  (["schemes", 5, "hashes"], 33), (["schemes", 7, "balance"], "hash"), (["schemes", 7, "format"], "dense"),
                  (["schemes", 8, "block"], 0), (["schemes", 9], "design:ring"), (["schemes", 9], "design:p2p/one-shot/central/even/coo"),
                  (["schemes", 9], "design:p2p/one-shot/parallel/even/hash-bitmap"), (["hierarchy"], "nodes"),
                  (["schemes", 0, "hierarchy"], True), (["trace", "gradient", "elements"], 0), (["trace", "gradient", "mean"], 0),
                  (["trace", "gradient", "distribution"], "cauchy"), (["trace", "gradient", "layers"], 0), (["trace", "gradient", "rho"], -1)]
SELECT_TAKEN = [{"topk": "5%"}, {"k": 7, "residual": False}, {"blocks": 0.5}, {"blocks": "1/4", "block": 16}]
SELECT_REFUSED = ["5%", {}, {"topk": 0}, {"k": 0}, {"topk": "5%", "k": 7}, {"block": 16}, {"topk": "5%", "block": 16},
                  {"blocks": 0.5, "block": 0}, {"k": 7, "residual": 1}, {"top": 1}]
# What scenarios may say, and may not: program and schema are of one mind, but for schemes' names and options, which only
# the program knows.
TAKEN = [(["ranks"], 4), (["ranks"], "1..4"), (["iterations"], 2), (["iterations"], ":2"), (["device"], "none"),
         (["device"], {"name": "m", "kernels": {k: {"t0": "4us", "per_byte": 1e-9} for k in ("merge_sum", "dense_add")}, "measured": 1}),
         (["device"], "quick"), (["cluster"], "rtx3090-1gbe"), (["cluster", "latency"], 0), (["cluster", "latency"], "0.5 ms"),
         (["cluster", "bandwidth"], "3.1GB/s"), (["cluster", "bandwidth"], "1e9B/s"), (["cluster", "bandwidth"], "100 Mibit/s"),
         (["trace", "uniform", "density"], "25%"), (["trace", "uniform", "density"], 0.25), (["index_bytes"], "8"),
         (["trace"], {"synth": {"rows": 100, "ranks": 4, "iterations": 2, "lookups": 9, "zipf": 1.1, "hot": "10%", "hot_rows": 5,
                                "ids": "popularity"}}), (["trace"], {"synth": {"ranks": 4, "tokens": 9}}),
         (["expect", 0, "at"], {"cluster.bandwidth": "1Gbps", "ranks": 4})]
REFUSED = [(["rank"], 4), (["ranks"], []), (["ranks"], 0), (["ranks"], "few"), (["ranks"], [4, "x"]), (["ranks"], True),
           (["iterations"], 0), (["iterations"], "all"), (["iterations"], [1]), (["merge"], 0), (["verify"], 1), (["name"], 7),
           (["index_bytes"], 17), (["index_bytes"], -1), (["granularity"], "rows"), (["sizes"], "none"), (["schemes"], []),
           (["schemes"], "ps"), (["schemes", 0], "zen2"), (["schemes", 0], {"algorithm": "ring"}), (["schemes", 1, "separate"], 1),
           (["schemes", 1, "algorithm"], "fast"), (["schemes", 1, "servers"], 2), (["schemes", 2, "servers"], 0),
           (["schemes", 1, "label"], ""), (["schemes", 1, "label"], "x" * 96), (["sweep"], {}), (["sweep"], {"ranks": 4}),
           (["sweep"], {"ranks": []}), (["sweep"], []), (["cluster", "bandwidth"], 0), (["cluster", "bandwidth"], "-1Gbps"),
           (["cluster", "bandwidth"], "1e9"), (["cluster", "bandwidth"], "1Gb/z"), (["cluster", "bandwidth"], "10us"), (["cluster", "latency"], -1),
           (["cluster", "latency"], "1 minute"), (["cluster", "nic"], "both"), (["cluster", "gpus_per_node"], 0),
           (["cluster", "model"], "loggp"), (["cluster", "intra"], {"latency": 1}), (["cluster", "intra", "nic"], "per-rank"),
           (["cluster"], []), (["device", "efficiency"], 0), (["device"], {"name": "m", "kernels": {}}), (["device", "speed"], 1), (["trace"], 7), (["trace"], {}),
           (["trace"], {"uniform": {"rows": 64}}), (["trace", "uniform", "density"], 0), (["trace", "uniform", "dtype"], "F64"),
           (["trace", "uniform", "rows"], 2**32), (["trace", "uniform", "overlap"], "some"), (["expect"], {}),
           (["expect", 0, "is"], "=="), (["expect", 0, "is"], "="), (["expect", 0, "that"], "times"), (["expect", 0, "of"], 1),
           (["expect", 0, "at"], 4), (["expect", 0, "than"], True), (["expect", 1, "within"], "-1%"), (["expect", 0, "when"], 1)]


def schemes_own(path, value):
    """Schemes, their options and their names behind a colon are the registry's to judge, not the schema's."""
    return path[0] == "schemes" and (
        len(path) == 3 and path[2] not in ("label", "index_bytes", "granularity", "sizes", "hierarchy")
        or len(path) == 2 and isinstance(value, str))


def program_takes(folder, document):
    (folder / "s.json").write_text(json.dumps(document))
    done = ask("run", folder / "s.json", status=None)
    assert done.returncode in (0, 1, 2), done
    return done.returncode != 2, done.stderr


@test
def scenarios_alike(folder):
    fits("scenario", SCENARIO, "the sample")
    taken, why = program_takes(folder, SCENARIO)
    assert taken, why
    wrong = []
    for wanted, changes in ((True, TAKEN), (False, REFUSED)):
        for path, value in changes:
            document = changed(SCENARIO, path, value)
            if path[0] not in ("sweep", "expect"):  # it may hide the change
                document.pop("sweep")
            if path[0] in ("sweep", "trace"):
                document["expect"] = []
            taken, why = program_takes(folder, document)
            if taken != wanted:
                wrong.append(f"the program {'takes' if taken else 'refuses'} {'.'.join(map(str, path))} = {value!r} {why.strip()}")
            if validator("scenario").is_valid(document) != (wanted or schemes_own(path, value)):
                wrong.append(f"the schema {'refuses' if wanted else 'takes'} {'.'.join(map(str, path))} = {value!r}")
    assert not wrong, "\n".join(wrong)


@test
def value_scenarios_alike(folder):
    cases = [(True, False, VALUES)]
    cases += [(wanted, schemes_own(path, value), changed(VALUES, path, value)) for wanted, changes in ((True, VALUES_TAKEN), (False, VALUES_REFUSED))
              for path, value in changes]
    cases += [(wanted, False, {**VALUES, "schemes": PLAIN, "select": value}) for wanted, values in ((True, SELECT_TAKEN), (False, SELECT_REFUSED))
              for value in values]
    wrong = []
    for wanted, own, document in cases:
        document = {**document, "expect": VALUES["expect"] if document is VALUES else []}
        taken, why = program_takes(folder, document)
        if taken != wanted:
            wrong.append(f"the program {'takes' if taken else 'refuses'} {json.dumps(document)} {why.strip()}")
        if validator("scenario").is_valid(document) != (wanted or own):
            wrong.append(f"the schema {'refuses' if wanted else 'takes'} {json.dumps(document)}")
    assert not wrong, "\n".join(wrong)


LINE = {"t0": "4us", "per_byte": 1e-9, "valid": [1, "1MB"], "samples": 9, "outliers": 0, "residual_median": 0, "residual_max": 0}
MEASURED = {"name": "m", "summary": "", "kernels": {"merge_sum": LINE, "dense_add": LINE, "top_k": LINE}, "measured": "by hand", "notes": {}}
BARE = {"name": "d", "memory_bandwidth": "5GB/s", "efficiency": 0.5, "launch": 0}
TRAINING = {"workload": "embrace-lm-rtx3090", "systems": ["embrace"], "cluster": "rtx3090-100g-ib", "ranks": "2..4", "iterations": 12,
            "jitter": {"lognormal": "5%"}, "compute": 0.5, "baselines": ["embrace"], "device": "quick", "verify": True,
            "scale": {"compute": 2, "latency": "50%", "kernels": 0.5, "prior": 1}}
GONE = object()
RUN = ("run", "--trace", BIBLE, "--iterations", "1", "--scheme", "ps", "--cluster")
TO_TRAIN = ("train", "--cluster", "rtx3090-100g-ib", "--ranks", "1")
SCHEMES_OWN = (["scheme"], "pss"), (["when", "pulls"], "rows"), (["when", "pull"], "row")  # the registry's to judge, not the schema's
# A schema, a document that fits it, what reads it ("m.json"), changes that are taken, and changes that are not.
ALIKE = (
    ("device", MEASURED, [*RUN, "rtx3090-1gbe", "--device", "m.json"],
     [(["notes"], 1), (["kernels", "pack"], {"t0": 0, "per_element": "1ns"})],
     [(["kernels", "other"], LINE), (["kernels", "pack"], {"t0": 0}), (["kernels", "merge_sum", "t0"], -1), (["kernels", "top_k", "per_byte"], 0),
      (["kernels", "top_k", "rate"], 1), (["launch"], 1), (["kernels"], {"merge_sum": LINE}), (["kernels", "top_k"], 3),
      (["kernels", "top_k", "valid"], [1])]),
    ("device", "devices/quick", [*RUN, "rtx3090-1gbe", "--device", "m.json"], [],
     [(["launch"], GONE), (["efficiency"], -1), (["kernel"], {})]),
    ("cluster", "clusters/p3.16xlarge-25g", [*RUN, "m.json"], [],
     [(["latency"], GONE), (["bandwith"], 1), (["bandwidth"], 0), (["intra", "bandwidth"], "fast")]),
    ("cost-model", "costs/ps-rows", ["check", "m.json"], [],
     [(["scheme"], "pss"), (["scheme"], GONE), (["grid"], GONE), (["exact"], 7), (["formula"], "x"), (["grid", "P"], []), (["grid", "P"], [1]),
      (["grid", "d"], ["much"]), (["grid", "step"], 1), (["when"], []), (["when", "pulls"], "rows"), (["when", "pull"], "row")]),
    ("workload", "workloads/embrace-lm-rtx3090", [*TO_TRAIN, "--workload", "m.json", "--system", "embrace"], [],
     [(["modules"], []), (["modules", 0, "rows"], 0), (["modules", 0, "forward_s"], -1), (["modules", 0, "forward_s"], "-1ms"),
      (["modules", 0, "tensor"], "embedding"), (["modules", 0, "after"], ["lstm"]), (["modules", 0, "kind"], "sparse"),
      (["modules", 0, "byte"], 1), (["dtype"], "F64"), (["source"], "a paper")]),
    ("system", "systems/horovod-allreduce", [*TO_TRAIN, "--workload", "embrace-lm-rtx3090", "--system", "m.json"], [],
     [(["schedule"], "lifo"), (["bucket"], -1), (["bucket"], "-1MB"), (["sparse"], {"teams": 2}), (["baseline"], 1), (["dense"], GONE),
      (["select"], {"topk": "5%", "k": 3})]),
    ("train-scenario", TRAINING, ["train", "m.json"],
     [(["device"], {"like": "quick", "slower": 8}), (["device"], {"like": "quick", "efficiency": "25%", "kernels": {}}),
      (["device"], {**BARE, "slower": 0.5})],
     [(["device"], {"like": "quick", "slower": 0}), (["device"], {"like": "quick", "faster": 2}), (["device"], {"like": 3}),
      (["device"], {"slower": 2}), (["device"], {**BARE, "slower": 1e10}), (["schemes"], ["zen"]), (["iterations"], "0:50"), (["iterations"], 1),
      (["jitter"], 0.1), (["jitter", "lognormal"], -1), (["scale"], 2), (["scale", "latncy"], 2), (["scale", "latency"], 0),
      (["scale", "latency"], "fast"), (["workload"], 3), (["systems"], []), (["trace"], {"uniform": {"rows": 4, "density": 1}})]),
)


@test
def documents_alike(folder):
    """Program and schema are of one mind."""
    wrong = []
    for kind, document, command, taken, refused in ALIKE:
        if isinstance(document, str):
            document = json.loads((ROOT / "models" / f"{document}.json").read_text())
        fits(kind, document, kind)
        for wanted, path, value in [(True, *case) for case in taken] + [(False, *case) for case in refused]:
            other = changed(document, path, value, drop=value is GONE)
            (folder / "m.json").write_text(json.dumps(other))
            done = ask(*(folder / word if word == "m.json" else word for word in command), status=None)
            if (done.returncode == 0) != wanted or not wanted and (done.returncode != 2 or "m.json" not in done.stderr):
                wrong.append(f"the program: status {done.returncode} for a {kind} with {path} = {value!r}: {done.stderr.strip()}")
            if validator(kind).is_valid(other) != (wanted or (path, value) in SCHEMES_OWN):
                wrong.append(f"the schema {'refuses' if wanted else 'takes'} a {kind} with {path} = {value!r}")
    assert not wrong, "\n".join(wrong)


sys.exit(tap.run())
# SPDX-License-Identifier: Apache-2.0
