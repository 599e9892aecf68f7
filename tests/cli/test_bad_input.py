#!/usr/bin/python3
"""Bad input through the whole program: each case ends with its exit status and one line that a person can act on,
prints no result, leaves no file behind and touches no old one. Arguments: the program, the source tree. Prints TAP.

Also run with sanitizers, and under Valgrind, which starts but once: SPARSYNC_CALLS names calls.c's program, whose
children make the calls: every second case, of those that need no program of their own. A case is one call, and no more of
them than say something new. What is wrong with single bytes of traces is for tests/unit/test_trace.c."""
import json
import os
import pathlib
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile

import tap

PROGRAM, ROOT = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
BIBLE = str(ROOT / "traces" / "bible-kjv-16.safetensors")
FLAT = {"latency": "10us", "bandwidth": "1GB/s"}
UNIFORM = {"uniform": {"rows": 64, "row_width": 4, "density": "1/4", "overlap": "full"}}
# Under valgrind, the threads that OpenMP keeps for later are "possibly lost": only what is definitely lost is a finding.
ENVIRONMENT = {**os.environ, "SPARSYNC_DATA": str(ROOT), "VALGRIND_OPTS": "--show-leak-kinds=definite"}
CASES = []


class Server:
    """calls.c's program, under what PROGRAM stands for. What it says of its own is shown when a call ends badly."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.said = open(self.folder / "said", "w+", encoding="utf-8", errors="backslashreplace")
        self.process = subprocess.Popen([PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.said, text=True,
                                        env={**ENVIRONMENT, "SPARSYNC_PROGRAM": os.environ["SPARSYNC_CALLS"]})

    def call(self, arguments, folder):
        out, err = self.folder / "out", self.folder / "err"
        before = self.said.seek(0, os.SEEK_END)
        self.process.stdin.write("\x1f".join(map(str, [folder, out, err, *arguments])) + "\n")
        self.process.stdin.flush()
        status = int(self.process.stdout.readline())
        self.said.seek(before)
        return status, out.read_bytes(), err.read_bytes().decode(errors="backslashreplace") + self.said.read()

    def close(self):
        self.process.stdin.close()
        status = self.process.wait()
        self.said.close()
        shutil.rmtree(self.folder)
        return status


SERVER = Server() if "SPARSYNC_CALLS" in os.environ else None


def make_call(arguments, folder, options):
    """The status, what it printed, what it said."""
    if SERVER and not options:
        return SERVER.call(arguments, folder)
    done = subprocess.run([PROGRAM, *arguments], stdin=subprocess.DEVNULL, capture_output=True, cwd=folder, timeout=tap.HANG, env=ENVIRONMENT,
                          **options)
    return done.returncode, done.stdout, done.stderr.decode(errors="backslashreplace")


class Bad:
    """One call: `arguments` behind the program's name, the exit status, and what the message must say."""

    def __init__(self, name, arguments, *says, status=2, prints=False, lines=1, prepare=None, **options):
        self.name, self.arguments, self.says, self.status = name, [str(a) for a in arguments], says, status
        self.prints, self.lines, self.prepare, self.options = prints, lines, prepare, options
        CASES.append(self)

    def run(self, folder):
        before = contents(folder)
        status, out, err = make_call(self.arguments, folder, self.options)
        assert "Sanitizer" not in err and "runtime error" not in err and "==ERROR" not in err, err[:2000]
        assert status == self.status, f"status {status}, not {self.status}: {err[:600]!r} {out[:300]!r}"
        assert err.count("\n") == self.lines and err.endswith("\n"), f"not {self.lines} lines: {err[:600]!r}"
        assert len(err) < 1500, f"{len(err)} bytes of message: {err[:300]!r}..."
        assert self.prints or out == b"", f"wrote {out[:200]!r}"
        for word in self.says:
            assert word in err, f"says {err!r}, without {word!r}"
        assert not (changed := restore(folder, before)), f"changed {changed}"


def contents(folder):
    return {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def restore(folder, before):
    """Undoes what a call has changed, so that the next case starts clean; returns the names of what it was."""
    after = contents(folder)
    changed = [p for p in before.keys() | after.keys() if before.get(p) != after.get(p)]
    for path in changed:
        path.unlink(missing_ok=True)
        if path in before:
            path.write_bytes(before[path])
    return sorted(p.name for p in changed)


# --- traces ---------------------------------------------------------------------------------------------------------

TRACES = {}


def entry(dtype, count, begin, end):
    return {"dtype": dtype, "shape": [count], "data_offsets": [begin, end]}


def trace_bytes(ids=(1, 2, 3, 9), offsets=(0, 1, 2, 3, 4), change=None, tail=b""):
    """A file of one tensor of 10 rows, two iterations, two ranks; `change` edits the header."""
    data = struct.pack(f"<{len(offsets)}q", *offsets)
    split = len(data)
    data += struct.pack(f"<{len(ids)}q", *ids)
    header = {
        "__metadata__": {"sparsync.version": "1", "iterations": "2", "ranks": "2",
                         "tensors": json.dumps([{"name": "T", "rows": 10, "row_width": 4, "dtype": "F32"}])},
        "T.offsets": entry("I64", len(offsets), 0, split),
        "T.rows": entry("I64", len(ids), split, len(data)),
    }
    if change:
        change(header)
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data + tail


def edit(key, value):
    return lambda header: header.__setitem__(key, value)


def trace_case(name, data, *says, both=False):
    """The bad file through `run` and, a kind of each, also through `trace stats`."""
    file = name.replace(" ", "-") + ".safetensors"
    if data is not None:
        TRACES[file] = data
    Bad(f"run: trace {name}", ["run", "--trace", file, "--cluster", "p3.16xlarge-25g", "-o", "result"], file, *says)
    if both:
        Bad(f"trace stats: {name}", ["trace", "stats", file, "-o", "result"], file, *says)


GOOD = trace_bytes()
trace_case("missing", None, "No such file", both=True)
trace_case("a directory", "directory", "directory", both=True)
trace_case("cut in the data", GOOD[:-1], "data", both=True)
trace_case("header beyond the file", struct.pack("<Q", len(GOOD)) + GOOD[8:], "header")
trace_case("header beyond the cap", struct.pack("<Q", (4 << 20) + 1) + b" " * ((4 << 20) + 99), "header")
trace_case("overflowing shape", trace_bytes(change=edit("T.rows", entry("I64", 2**61 + 4, 40, 72))), "T.rows", both=True)
trace_case("decreasing offsets", trace_bytes(offsets=(0, 2, 1, 3, 4)), "T.offsets", both=True)
trace_case("id of rows", trace_bytes(ids=(1, 2, 10, 3)), "T.rows", "10", both=True)
trace_case("unknown dtype", trace_bytes(change=edit("T.rows", entry("I63", 4, 40, 72))), "T.rows", "I63")


def valued(*values):
    """A good trace whose 4 rows of 4 elements end with those values."""
    numbers = [1.0] * (16 - len(values)) + list(values)
    return trace_bytes(change=edit("T.values", {"dtype": "F32", "shape": [16], "data_offsets": [72, 136]}), tail=struct.pack("<16f", *numbers))


for number, value in enumerate((float("nan"), float("-inf"))):
    TRACES[f"value-{number}.safetensors"] = valued(value)
    Bad(f"trace info: a value of {value}", ["trace", "info", f"value-{number}.safetensors"], f"value-{number}", "rank 1 in iteration 1", "not finite")

# --- scenarios --------------------------------------------------------------------------------------------------------

SCENARIOS = {}


def scenario(change=None, **fields):
    document = {"trace": UNIFORM, "cluster": dict(FLAT), "ranks": 4, "schemes": ["allgather", "ps"], **fields}
    if change:
        change(document)
    return document


def scenario_case(name, text, *says, verb="run", **options):
    file = name.replace(" ", "-").replace("/", "-") + ".json"
    SCENARIOS[file] = text if isinstance(text, (str, bytes)) else json.dumps(text)
    Bad(f"scenario: {name}", [verb, file, "-o", "result"] if verb == "run" else [verb, file], file, *says, **options)


def without(key):
    return lambda document: document.pop(key)


scenario_case("not JSON", "ranks: 4\n", "byte 0", "JSON")
scenario_case("nested 100000 deep", '{"sweep": ' + "[" * 100000 + "]" * 100000 + "}", "1000 deep", "byte")
scenario_case("not UTF-8", b'{"name": "\xff"}', "byte 10", "UTF-8")
scenario_case("NaN", '{"cluster": {"latency": NaN}}', "byte 24")
scenario_case("bad unit", scenario(cluster={**FLAT, "bandwidth": "25 Gb/z"}), 'cluster.bandwidth: "25 Gb/z" is not a rate',
              "25Gbps")
scenario_case("unknown key", scenario(rank=[4]), 'rank: unknown key', '"ranks"')
scenario_case("unknown cluster key", scenario(cluster={**FLAT, "bandwith": 1}), 'cluster.bandwith', '"bandwidth"')
scenario_case("wrong type of schemes", scenario(schemes="allgather"), "schemes", "list")
scenario_case("wrong type of a scheme", scenario(schemes=["ps", 7]), "schemes[1]")
GRADIENT = {"gradient": {"elements": 600}}
for text, says in (("rank", "is no count"), ("ranks/x", "is no count"), ("ranks/0", "is no count"), ("nodes7", "is no count"), ("ranks/3", "4 is no multiple of 3")):
    scenario_case(f"servers {text}", scenario(schemes=[{"name": "ps", "servers": text}]), f'"{text}"', says)
scenario_case("gtopk on six ranks", scenario(trace=GRADIENT, ranks=6, schemes=["gtopk"]), "gtopk", "power of two", "8")
scenario_case("teams that do not divide", scenario(trace=GRADIENT, ranks=6, schemes=[{"name": "spardl", "teams": 4}]),
              "spardl", "4 teams", "6 ranks")
scenario_case("sag for other teams",
              scenario(trace=GRADIENT, ranks=6, schemes=[{"name": "spardl", "teams": 3, "sag": "recursive"}]),
              "spardl", "power of two", "bruck")
scenario_case("k above n", scenario(trace=GRADIENT, schemes=[{"name": "topka", "k": 601}]), "k 601", "600")
scenario_case("k and density", scenario(trace=GRADIENT, schemes=[{"name": "oktopk", "k": 6, "density": 0.1}]), "oktopk",
              "give one")
scenario_case("values of a trace without", scenario(schemes=["ps", "spardl"], trace={"synth": {"ranks": 4}}), "schemes[1]",
              "spardl", "values", "gradient")
scenario_case("selection without values", scenario(select={"topk": "5%"}, trace={"synth": {"ranks": 4}}), "select",
              "values")
scenario_case("selection twice", scenario(trace=GRADIENT, select={"topk": "5%"}, schemes=["topka"]), "topka", "select")
scenario_case("selection of two kinds", scenario(trace=GRADIENT, select={"topk": "5%", "k": 3}), "select", "one of")
scenario_case("hierarchy of single GPUs", scenario(hierarchy="shard"), "hierarchy", "gpus_per_node")
scenario_case("hierarchy of a cut table", scenario(hierarchy="leader", schemes=["alltoall"],
                                                   cluster={**FLAT, "gpus_per_node": 2}), "alltoall", "hierarchy")
scenario_case("hierarchy of parts of nodes", scenario(hierarchy="shard", ranks=6, cluster={**FLAT, "gpus_per_node": 4}),
              "shard", "multiple of 4")
scenario_case("sparse sums of a whole tensor", scenario(hierarchy="sparse-shard", schemes=["allreduce"], cluster={**FLAT, "gpus_per_node": 2}),
              "sparse-shard", "say \"shard\"")
scenario_case("point outside the design space", scenario(schemes=["design:p2p/one-shot/parallel/even/hash-bitmap"]),
              "hash bitmap", "balanced")
scenario_case("design of no such part", scenario(schemes=["design:star/one-shot/central/coo"]), "star", "communication")
scenario_case("rest of a name", scenario(schemes=["zen:fast"]), "schemes[0]", "zen:fast")
scenario_case("unknown scheme", scenario(schemes=["allgater"]), "schemes[0]", '"allgater"', '"allgather"')
scenario_case("unknown value of an option", scenario(schemes=[{"name": "allgather", "algorithm": "brook"}]),
              "schemes[0].algorithm", '"brook"', "bruck")
scenario_case("servers above ranks", scenario(schemes=[{"name": "ps", "servers": 5}]), "5", "4")
scenario_case("unknown cluster", scenario(cluster="p3.16xlarge-25"), "cluster", "p3.16xlarge-25g")
scenario_case("more ranks than the trace", scenario(trace=BIBLE, ranks=[4, 17]), "ranks", "17", "16")
scenario_case("iterations of 2^63", scenario(trace=BIBLE, iterations=f"0:{2**63}"), "iterations", str(2**63), "50")
scenario_case("iterations in words", scenario(trace=BIBLE, iterations="all"), "iterations", '"all"')
scenario_case("iterations backwards", scenario(trace=BIBLE, iterations="9:3"), "iterations", '"9:3"')
scenario_case("iterations of nothing", scenario(iterations=""), "iterations", '""')
scenario_case("iterations of nowhere", scenario(trace=BIBLE, iterations="5:5"), "iterations", '"5:5"')
scenario_case("iterations beyond a uniform trace", scenario(iterations="5:"), "iterations", '"5:"')
for name, latency in (("a time out of all proportion", 1e308), ("a time that a sum puts out of all proportion", 1e30)):
    SCENARIOS[f"{latency}.json"] = json.dumps(scenario(cluster={"latency": latency, "bandwidth": 1}, expect=[
        {"that": "time_s", "of": "ps", "is": "<=", "than": "allgather"}]))
    Bad(name, ["run", f"{latency}.json", "-o", "result"], "allgather, 4 ranks", "out of all proportion", "longer than any network's", lines=2)
scenario_case("uniform that does not divide", scenario(ranks=3), "next", "72")
scenario_case("uniform of 2^63 rows", scenario(trace={"uniform": {"rows": 2**63, "density": 1}}), "trace.uniform.rows")
scenario_case("sweep of wrong values", scenario(sweep={"cluster.bandwidth": ["1GB/s", True]}), "cluster.bandwidth", "true")
scenario_case("sweep of an unknown key", scenario(sweep={"cluster.band": ["1GB/s"]}), 'cluster.band:')
scenario_case("sweep that undoes another axis", scenario(sweep={
    "cluster.bandwidth": ["1GB/s", "2GB/s"], "cluster": ["p3.16xlarge-25g", "rtx3090-1gbe"]}), "sweep")
scenario_case("sweep of itself", scenario(sweep={"sweep": [{"ranks": [1]}]}), "sweep")
scenario_case("two schemes with one label", scenario(schemes=["ps", {"name": "ps", "pull": "rows"}]), '"ps"', "label")
scenario_case("line break in a name", scenario(schemes=["a\nb\x1b[2J"]), "schemes[0]")

# --- expectations -----------------------------------------------------------------------------------------------------


def expecting(**fields):
    return scenario(expect=[{"that": "time_s", "of": "allgather", "is": "<", "than": "ps", **fields}])


for verb in ("run", "check"):
    SCENARIOS["fails.json"] = json.dumps(expecting(**{"is": ">"}))
    Bad(f"{verb}: an expectation that fails", [verb, "fails.json"], "fails.json", "expect[0]", "time_s", "allgather",
        status=1, prints=True, lines=3)
scenario_case("expectation of no point", expecting(at={"ranks": 5}), "expect[0]", "no point", status=1, verb="check", prints=True, lines=2)
scenario_case("expectation of no label", expecting(of="psx"), "expect[0].of", '"psx"', 'did you mean "ps"', verb="check")
scenario_case("expectation against no quantity", expecting(than="1xms"), "expect[0].than", '"1xms"', "10us")
scenario_case("expectation of an unknown number", expecting(that="times"), "expect[0]", '"times"', "time_s")
scenario_case("expectation against nothing", expecting(than="pss"), "expect[0]", '"pss"')

# --- closed forms -----------------------------------------------------------------------------------------------------

FORMS = {}
GRID = {"P": [2], "d": [0.5], "M": ["1kB"], "row_width": 4, "alpha": ["1us"], "beta": ["1/1000000000"]}


def form_case(name, document, *says, check=True, cost=True):
    file = "form-" + name.replace(" ", "-") + ".json"
    FORMS[file] = json.dumps(document)
    if cost:
        Bad(f"cost: {name}", ["cost", "--M", "1MB", "--density", "1%", "--file", file, "-o", "result"], file, *says)
    if check:
        Bad(f"check: {name}", ["check", file, "-o", "result"], file, *says)


def form(exact, **fields):
    return {"scheme": "allreduce", "exact": exact, "grid": GRID, **fields}


form_case("syntax error", form("2*(P-1*alpha"), "2*(P-1*alpha", check=False)
form_case("unknown symbol", form("2*(P-1)*alhpa"), "alhpa", check=False)
form_case("not finite", form("alpha/(P-P)"), "finite", cost=False)
form_case("without a grid", {"scheme": "allreduce", "exact": "alpha"}, "grid", cost=False)

# --- usage ------------------------------------------------------------------------------------------------------------

HERE = ["--trace", BIBLE, "--cluster", "p3.16xlarge-25g"]
Bad("unknown command", ["rnu"], '"rnu"', '"run"')
Bad("unknown option", ["run", "--rank", "4"], '"--rank"', "--ranks")
Bad("option without a value", ["run", "--scheme", "--ranks", "4"], "--scheme", "value")
Bad("flag with a value", ["run", *HERE, "--quiet=1"], "--quiet")
Bad("jobs of 0", ["run", *HERE, "--jobs", "0"], "--jobs", '"0"')
Bad("format of xml", ["run", *HERE, "--format", "xml"], "--format", '"xml"', "json")
Bad("set without a value", ["run", *HERE, "--set", "ranks"], "--set", "PATH=VALUE")
Bad("set of an unknown key", ["run", *HERE, "--set", "cluster.bandwith=1"], "cluster", '"bandwidth"')
Bad("set into a number", ["run", *HERE, "--set", "ranks=4", "--set", "ranks.x=1"], "ranks")
Bad("two scenarios", ["run", "tiny.json", "tiny.json"], "one scenario is enough")
Bad("scenario that is missing", ["run", "none.json"], "none.json", "No such file")
Bad("scenario that is a directory", ["run", "folder"], "folder", "directory")
Bad("no trace", ["run", "--cluster", "p3.16xlarge-25g"], "--trace")
Bad("no cluster", ["run", "--trace", BIBLE], "--cluster", "rtx3090-1gbe")
Bad("bandwidth without a unit", ["run", *HERE, "--bandwidth", "100"], "\"100\" has no unit", "25Gbps")
Bad("a size without a unit", ["cost", "zen", "--M", "856", "--density", "1%"], "--M: \"856\" has no unit", "856MB")
Bad("a name that calls take", ["run", *HERE, "--set", "model_paralel=true"], "model_paralel: unknown key", "\"model_parallel\", which calls take")
scenario_case("options as command lines write them", scenario(schemes=["s2:bitmap=bytes,lambda=0.5"]), '{"name": "s2", "bitmap": "bytes", "lambda": 0.5}')
Bad("several rates", ["plan", *HERE, "--bandwidth", "10Gbps,25Gbps"], "one alone", "\"sweep\" of run and plan")
Bad("several clusters of a training", ["train", "--workload", "s2-lstm", "--cluster", "p3.16xlarge-25g,two-sites"], "a training takes one cluster", "run and plan")
Bad("several clusters of forms", ["cost", "zen", "--M", "1MB", "--density", "1%", "--cluster", "p3.16xlarge-25g,two-sites"], "one alone", "run and plan")
Bad("a scenario as figure", ["plot", "demo", "-o", "x.svg"], "\"demo\" is one of the scenarios", "figures is wanted")
Bad("a page of a scenario that is missing", ["report", "nosuch.json", "-o", "x.html"], "nosuch.json: cannot open", "a scenario is a .json file, or one of demo, llm-8x8")
Bad("--set of a rate without a unit", ["run", *HERE, "--set", "cluster.bandwidth=100"], "cluster.bandwidth: \"100\" has no unit", "25Gbps")
Bad("--set of a time without a unit", ["run", *HERE, "--set", "cluster.latency=1e-5"], "cluster.latency: \"1e-05\" has no unit", "10us")
for name, fields in (("a sweep", 'sweep={"cluster.bandwidth": [100, "25Gbps"]}'), ("an object", 'cluster.intra={"latency": "5us", "bandwidth": 100}')):
    Bad(f"--set of a rate without a unit in {name}", ["run", *HERE, "--set", fields], "bandwidth: \"100\" has no unit", "25Gbps")
Bad("--set of a size without a unit in a list", ["train", "--workload", "s2-lstm", "--cluster", "p3.16xlarge-25g", "--ranks", "2", "--set",
    'systems=[{"name": "x", "sparse": "allgather", "dense": "allreduce", "schedule": "fifo", "bucket": 64}]'], "bucket: \"64\" has no unit", "856MB")
FORMS["formul.json"] = json.dumps({"formul": "M*beta", "latency": "1us", "bandwidth": "1GB/s", "M": "1MB", "schedules": ["x.json"]})
Bad("a form of one's own that is misspelt", ["check", "formul.json"], "formul: unknown key", "\"formula\"")
FORMS["points.csv"] = "scheme,label\nzen,zen\n"
Bad("results as CSV", ["plot", "points.csv", "-o", "x.svg"], "points.csv: pictures are drawn of what --format json writes")
Bad("a scheme as JSON", ["run", *HERE, "--scheme", '{"name": "zen"}'], "options are written behind a colon: zen:format=coo")
FORMS["beside.json"] = json.dumps(FLAT)
for name, text, told in (("results", '{"sparsync": "1", "points": []}', "results, which sparsync plot draws"), ("a cluster", json.dumps(FLAT), "a cluster: say --cluster"),
                         ("a workload", '{"name": "w", "modules": []}', "a workload of sparsync train: say --workload")):
    FORMS[f"{name}.json"] = text
    Bad(f"{name} as scenario", ["run", f"{name}.json"], f"{name}.json: no scenario, but {told}")
Bad("a trace as scenario", ["run", "t.safetensors", "--cluster", "p3.16xlarge-25g"], "t.safetensors is a trace, not a scenario: say --trace")
Bad("a file of one's own by its bare name", ["run", *HERE[:2], "--cluster", "beside"], "beside.json is here: say ./beside.json")
Bad("schemes with commas", ["cost", "zen,ps", "--M", "1MB", "--density", "1%"], "with spaces between")
Bad("ranks twice", ["run", *HERE, "--ranks", "4,2..4"], "ranks: 4 is there twice")
Bad("a scheme against itself", ["crossover", "zen:format=coo", "zen:format=coo", "--over", "ranks", "--M", "1MB", "--density", "1%"], "one scheme", "zen:OPTION=VALUE")
Bad("ranks as a ratio", ["run", *HERE, "--ranks", "5:2"], "ranks: \"5:2\" is no count", "4..64 doubles")
Bad("ranks that end below their beginning", ["run", *HERE, "--ranks", "4..2"], "\"4..2\" ends below its beginning: say 2..4")
Bad("a scenario of schemes to train", ["train", "demo"], "a scenario of schemes, which sparsync run takes")
Bad("a file of results that is missing", ["plot", "nosuch.csv", "-o", "x.svg"], "nosuch.csv: cannot open: No such file")
Bad("an option twice", ["run", *HERE, "--scheme", "ps", "--scheme", "zen"], "--scheme is given twice")
Bad("an option of a scheme twice", ["run", *HERE, "--scheme", "zen:format=coo,format=bitmap"], "format", "twice")
Bad("places of a placement", ["plan", "--place", *HERE, "--placement", "p.json"], "--placement and --place do not go together")
Bad("places of lossy schemes", ["plan", "--place", *HERE, "--lossy"], "--lossy", "--place")
scenario_case("hot rows of no lookups", scenario(trace={"synth": {"rows": 64, "ranks": 2, "hot_rows": 4}}), "hot_rows", "share 0")
FORMS["half-a-byte.json"] = json.dumps({"segments": [{"up_to": 1.5, **FLAT}, FLAT]})
Bad("a segment of half a byte", ["collective", "allreduce", "--cluster", "./half-a-byte.json"], "up_to: 1.5 B", "whole bytes")
Bad("places of what is offered", ["plan", "--place", *HERE, "--offered"], "--offered and --place do not go together")
Bad("no value by another name", ["trace", "import", "clicks.csv", "--ranks", "2", "--missing", "", "-o", "result"], "--missing: does nothing", "an empty field")
Bad("no value twice", ["trace", "import", "clicks.csv", "--ranks", "2", "--missing", "x", "--missing", "x", "-o", "result"], '--missing x is said twice')
for option in ("--width", "wide"), ("--title", "x"), ("--style", "a=dashed"), ("--log", "x"), ("--log2", "x"):
    Bad(f"{option[0]} of a table", ["plot", "points.json", "--data", "result", *option], f"{option[0]} does nothing without -o FILE")
for kind, idle in (("lines", "z"), ("bars", "z"), ("heat", "log log2"), ("map", "log log2"), ("traffic", "x y z each relative"),
                   ("links", "y z series each relative log log2")):
    for option in idle.split():
        Bad(f"--{option} of {kind}", ["plot", "points.json", "--kind", kind, f"--{option}", "x", "-o", "result.svg"],
            f"--{option} does nothing in a picture of the kind \"{kind}\"")
Bad("a choice that no result has", ["plot", "points.json", "--where", "ranks=2", "--where", "ranks=3", "-o", "result.svg"], "--where ranks: no result has 3 (there are: 2, 4)")
Bad("a choice twice", ["plot", "points.json", "--where", "ranks=2", "--where", "ranks=2", "-o", "result.svg"], "--where ranks=2 is said twice")
TRAINED = ["train", "--workload", "s2-lstm", "--cluster", "p3.16xlarge-25g", "--ranks", "2"]
for outputs, arguments in (("-o and --save-baseline", ["run", "tiny.json", "-o", "result", "--save-baseline", "result"]),
                           ("-o and --save-baseline", ["run", "tiny.json", "-o", "result", "--save-baseline", "./result"]),
                           ("--save-baseline and -o", ["run", "tiny.json", "--save-baseline", "old", "-o", "folder/../old"]),
                           ("-o and --timeline", [*TRAINED, "-o", "result", "--timeline", "result"]), ("--timeline and --gantt", [*TRAINED, "--timeline", "x.svg", "--gantt", "x.svg"]),
                           ("--capture and --plot-data", ["learn", "--text", "clicks.csv", "--capture", "result", "--plot-data", "result"]),
                           ("--data and -o", ["plot", "points.json", "--data", "x.svg", "-o", "x.svg"]), ("--data and -o", ["plot", "points.json", "--data", "-", "-o", "-"]),
                           ("--figure and -o", ["calibrate", "network", "clicks.csv", "--validate", "--figure", "x.svg", "-o", "x.svg"]),
                           ("--device-output and -o", ["calibrate", "network", "clicks.csv", "--device-output", "result", "-o", "result"])):
    Bad(f"one file for two outputs: {' '.join(arguments)}", arguments, f"{outputs} would both write ")
for again in (["check", "allgather-ring", "allgather-ring"], ["check", "tiny.json", "./tiny.json"], ["claims", "zen-fig16a", "zen-fig16a"]):
    Bad(f"twice: {' '.join(again)}", again, "is named twice")
Bad("twice: a scheme of costs", ["cost", "zen", "zen", "--M", "1MB", "--density", "1%"], '"zen" is there twice')
Bad("twice: a form", ["cost", "zen", "--M", "1MB", "--density", "1%", "--file", "x.json", "--file", "x.json"], "--file x.json is said twice")
Bad("twice: a choice of rows", ["calibrate", "network", "clicks.csv", "--where", "nodes=2", "--where", "nodes=2"], "--where nodes=2 is said twice")
Bad("twice: a flag", ["run", *HERE, "--wide", "--wide"], "--wide is given twice")
Bad("twice: a field of the same value", ["run", *HERE, "--set", "ranks=4", "--set", "ranks=4"], "--set ranks=4 is said twice")
Bad("twice: a cluster", ["run", "tiny.json", "--cluster", "p3.16xlarge-25g,p3.16xlarge-25g"], '"p3.16xlarge-25g" is there twice')
scenario_case("a value of a sweep twice", scenario(sweep={"cluster.bandwidth": ["1GB/s", "2GB/s", "1GB/s"]}), '"1GB/s" is there twice')
scenario_case("a value of a sweep in two units", scenario(sweep={"cluster.bandwidth": ["1GB/s", "8Gbit/s"]}), '"8Gbit/s" is there twice')
Bad("a sensitivity as CSV", ["train", "--workload", "s2-lstm", "--cluster", "p3.16xlarge-25g", "--ranks", "2", "--sensitivity", "--format", "csv"], "--sensitivity is for tables")
Bad("some steps as JSON", ["learn", "--text", "clicks.csv", "--every", "3", "--format", "json"], "--every is for tables")
Bad("a schema as CSV", ["list", "schema", "scenario", "--format", "csv"], "--format: a schema is JSON")
Bad("a tolerance of no baseline", ["run", *HERE, "--tolerance", "1%"], "--tolerance does nothing without --baseline FILE")
Bad("no journal of no file", ["run", *HERE, "--no-partial"], "--no-partial does nothing without -o FILE")
Bad("lookups by both names", ["trace", "synth", "--lookups", "4", "--tokens", "4", "-o", "result"], "--lookups and --tokens do not go together")
Bad("a field set twice", ["run", *HERE, "--set", "cluster.latency=1us", "--set", "cluster.latency=2us"], "cluster.latency is said twice")
Bad("a field set beside its option", ["run", *HERE, "--set", "cluster.latency=1us", "--latency", "2us"], "--latency: cluster.latency is said twice")
SCENARIOS["clicks.csv"] = "a,b\nx,y\nz,y\nx,w\nq,w\n"
Bad("rows of hashed tables", ["trace", "import", "clicks.csv", "--ranks", "2", "--batch", "1", "--vocab", "5", "--hash-rows", "5", "-o", "result"],
    "--vocab: does nothing")
Bad("collective: no such algorithm", ["collective", "allreduce", "--algorithm", "nope"], "ring, recursive_doubling, rabenseifner, trees")
Bad("bandwidth of 0", ["run", *HERE, "--bandwidth", "0"], "bandwidth")
Bad("cost: density above 1", ["cost", "--M", "1MB", "--density", "101%"], "--density")
Bad("cost: negative size", ["cost", "--M", "-1MB", "--density", "1%"], "--M", "-1MB")
COST = ["cost", "allgather", "--M", "1MB", "--density", "1%", "--cluster"]
FORMS["one-gpu.json"] = json.dumps(FLAT)
FORMS["in-turn.json"] = json.dumps({**FLAT, "model": "alpha-beta", "gpus_per_node": 4, "nic": "per-node"})
Bad("cost: more cards than GPUs", [*COST, "rtx3090-100g-ib", "--nics", "5"], "5 cards for the 4 GPUs of a node")
Bad("cost: links inside a node of one GPU", [*COST, "./one-gpu.json", "--intra-bandwidth", "8GB/s"], "one GPU a node", "say how many")
Bad("cost: number of cards of ordered ports", [*COST, "./in-turn.json", "--nics", "2"], "alpha-beta", "cards")
Bad("cost: no bandwidth inside a node", [*COST, "rtx3090-100g-ib", "--intra-bandwidth", "0B/s"], "--intra-bandwidth")
Bad("cost: no GPU on a node", [*COST, "rtx3090-100g-ib", "--gpus-per-node", "0"], "--gpus-per-node")
GAMMA = ["cost", "allgather", "--M", "1MB", "--density", "1%", "--ranks", "4", "--gamma"]
Bad("cost: gamma above the ranks", [*GAMMA, "1,2,3,4.1"], "gamma", "4.1 for 4 ranks", "from 3 to 4")
Bad("cost: gamma below 1", [*GAMMA, "0.9,1"], "gamma", "0.9 for 1 ranks", "from 1 to 1")
Bad("cost: a union that shrinks", [*GAMMA, "1,1.5,1.4"], "gamma", "1.4 for 3 ranks", "from 1.5 to 3")
Bad("cost: fewer lookups than rows", ["cost", "alltoall", "--M", "1MB", "--density", "10%", "--lookups", "9%"], "lookups", "0.09", "0.1")
FORMS["no-time.json"] = json.dumps({"name": "flat", "latency": 0, "bandwidth": 1e308})
Bad("collective: an endless time", ["collective", "allreduce", "--cluster", "h100-8x8-400g", "--latency", "1e300s"], "out of all proportion", "longer than any network's", lines=2)
Bad("collective: a rate of which a byte takes for ever", ["collective", "allreduce", "--ranks", "16", "--bandwidth", "1e-310B/s"],
    "--bandwidth", "1e-310 B/s is out of range")
Bad("collective: no time", ["collective", "allgather", "--cluster", "./no-time.json"], "out of all proportion")
Bad("cost: an endless time", ["cost", "alltoall", "--M", "1e300B", "--density", "10%"], "alltoall-both.json", "out of all proportion")
Bad("crossover: fewer lookups than rows", ["crossover", "alltoall", "zen", "--over", "M", "--density", "10%", "--lookups", "9%"], "lookups", "0.09")
SCENARIOS["points.json"] = json.dumps({"sparsync": "1", "points": [
    {"label": "a", "ranks": r, "tensor": "T", "at": {}, "time_s": r, "messages": 0, "bytes_total": 0} for r in (2, 4)]})
SCENARIOS["misspelt.json"] = SCENARIOS["points.json"].replace("bytes_total", "byte_stotal").replace('"messages"', '"bytes_total": 0, "messages"')
Bad("a baseline with a misspelt number", ["run", "tiny.json", "--baseline", "misspelt.json"], "points[0].byte_stotal: unknown key", '"bytes_total"')
for option in ("--log", "--log2"):
    Bad(f"plot: {option} of no axis", ["plot", "points.json", option, "xyz", "-o", "result.svg"], option, '"xyz"', "x, y, xy or none")
Bad("cost: no form at these ranks", ["cost", "gtopk", "--M", "1MB", "--density", "1%", "--ranks", "5"], "no closed form holds")
Bad("cost: unknown scheme", ["cost", "alltoal", "--M", "1MB", "--density", "1%"], '"alltoal"', '"alltoall"')
Bad("check: missing file", ["check", "none.json"], "none.json")
Bad("list: unknown thing", ["list", "cluster"], "clusters")

# --- output -----------------------------------------------------------------------------------------------------------


def no_growth():
    """A file that may not grow stands for a disk that fills up half-way."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))


TINY = ["run", "tiny.json", "--format", "json", "-o"]
SCENARIOS["tiny.json"] = json.dumps(scenario())
Bad("ranks 0", ["run", "tiny.json", "--ranks", "0"], "tiny.json: ranks: \"0\" is not a whole number")
Bad("full disk", [*TINY, "/dev/full"], "/dev/full", status=3)
Bad("disk that fills up", [*TINY, "old"], "old", status=3, preexec_fn=no_growth)
Bad("disk that fills up before the end", ["list", "claims", "--format", "json", "-o", "old"], "old: cannot write: File too large", status=3, preexec_fn=no_growth)
for command in (TINY, ["train", "--workload", "s2-lstm", "--cluster", "p3.16xlarge-25g", "--ranks", "2", "-o"], ["list", "costs", "-o"],
                ["run", "tiny.json", "--save-baseline"], ["plot", "zen-fig16", "-o"], ["report", "tiny.json", "-o"],
                ["train", "--workload", "s2-lstm", "--cluster", "p3.16xlarge-25g", "--ranks", "2", "--gantt"]):
    Bad(f"output of {command[0]} {command[-1]} into a missing folder", [*command, "nowhere/result"],
        "nowhere/result: cannot write: there is no folder nowhere")
for name, arguments in (("a scenario", ["run", "tiny.json", "-o", "tiny.json"]), ("a scenario by another name", ["run", "tiny.json", "-o", "link"]),
                        ("a baseline", ["run", "tiny.json", "--baseline", "points.json", "-o", "points.json"]),
                        ("a scenario as baseline", ["run", "tiny.json", "--save-baseline", "tiny.json"]),
                        ("a cluster", ["cost", "zen", "--M", "1MB", "--density", "1%", "--cluster", "./one-gpu.json", "-o", "one-gpu.json"]),
                        ("a trace", ["trace", "merge", "good.safetensors", "-o", "good.safetensors"]),
                        ("results", ["plot", "points.json", "--data", "points.json"])):
    Bad(f"output over {name}", arguments, arguments[-1], "was read in this run")
Bad("output over a folder", [*TINY, "folder"], "folder", "directory")
Bad("output over a read-only file", [*TINY, "locked"], "locked", status=3, prepare="not root")
Bad("output into a read-only folder", [*TINY, "sealed/result"], "sealed/result", status=3, prepare="not root")
Bad("output through a file", [*TINY, "old/result"], "old/result")


def furnish(folder):
    for name, data in TRACES.items():
        if data == "directory":
            (folder / name).mkdir()
        else:
            (folder / name).write_bytes(data)
    for name, text in {**SCENARIOS, **FORMS}.items():
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    (folder / "good.safetensors").write_bytes(GOOD)
    (folder / "link").symlink_to("tiny.json")
    (folder / "folder").mkdir()
    (folder / "old").write_text("what was here before\n")
    (folder / "locked").write_text("what was here before\n")
    (folder / "sealed").mkdir()
    os.chmod(folder / "locked", 0o444)
    os.chmod(folder / "sealed", 0o555)


def main():
    failed = 0
    if SERVER:
        CASES[:] = [case for case in CASES if not case.options and not case.prepare][::2]
    print(f"1..{len(CASES)}")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        furnish(folder)
        for number, case in enumerate(CASES, 1):
            if case.prepare:
                case.options["preexec_fn"] = tap.give_up_privileges
            try:
                case.run(folder)
                print(f"ok {number} - {case.name}")
            except Exception as reason:  # a case that breaks has failed; the others still run
                if case.prepare and type(reason) is subprocess.SubprocessError:
                    print(f"ok {number} - {case.name} # SKIP root could not give up its privileges")
                    continue
                failed += 1
                print(f"not ok {number} - {case.name}")
                print("\n".join(f"# {line}" for line in f"{type(reason).__name__}: {reason}".split("\n")))
            sys.stdout.flush()
    if SERVER and SERVER.close() != 0:
        failed += 1
    return failed > 0


sys.exit(main())
# SPDX-License-Identifier: Apache-2.0
