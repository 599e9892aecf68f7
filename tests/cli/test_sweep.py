#!/usr/bin/python3
"""Sweeps: what is computed together equals what is computed alone; runs go on after a kill; results are held against
stored ones. Arguments: the program, the source tree. Prints TAP."""
import csv
import fcntl
import io
import json
import os
import pathlib
import pty
import random
import re
import resource
import signal
import subprocess
import sys
import time

import tap
import traces
from asking import ENVIRONMENT, PROGRAM, ROOT, call
from tap import test, write_json

BIBLE, WORDNET = (str(ROOT / "traces" / f"{name}.safetensors") for name in ("bible-kjv-16", "wordnet-64"))
# Names and places: they differ by what a run says of itself.
PLACE = ("at", "point_hash", "result_hash", "wins", "next_ratio_low", "next_ratio_high")  # the last three: of who is beside it


def fails(*arguments, says, status=2, cwd=ROOT):
    out, err = call(*arguments, status=status, cwd=cwd)
    err = "".join(line for line in err.splitlines(True) if ": warning: " not in line)
    assert out == "" and err.count("\n") == 1, f"{arguments}: {out[:200]!r} {err!r}"
    for word in (says,) if isinstance(says, str) else says:
        assert word in err, f"{arguments}: {err!r} does not say {word!r}"


def points(*arguments):
    return json.loads(call("run", *arguments, "--format", "json", "--quiet")[0])["points"]


def small(**fields):
    return {"name": "small", "trace": BIBLE, "cluster": "p3.16xlarge-25g", "ranks": [2, 8, 16], "iterations": "0:2",
            "schemes": ["allreduce", "allgather", "ps", "zen"],
            "sweep": {"cluster.bandwidth": ["10Gbps", "25Gbps", "100Gbps"]}, **fields}


def large(**fields):
    """Points that take much longer than what comes before them."""
    synth = {"synth": {"rows": 20000, "row_width": 64, "ranks": 32, "iterations": 2, "tokens": 12000, "seed": 3}}
    return {"name": "large", "trace": synth, "cluster": "rtx3090-1gbe", "ranks": [2, 4, 8, 16, 32],
            "schemes": ["allreduce", "allgather", "ps", "sparcml-rd", "omnireduce", "zen"], **fields}


def plain(point):
    return {key: value for key, value in point.items() if key not in PLACE}


# --- together and alone -----------------------------------------------------------------------------------------------


def equals_single_runs(folder, document, *options):
    """Every place of the sweep alone, one rank count and one scheme at a time, on one thread: no two points of such a
    run can share anything."""
    swept = points(write_json(folder, document), *options)
    axes, alone, places = document["sweep"], [], 1
    paths = list(axes)
    grid = [()]
    for path in paths:
        grid = [chosen + (value,) for chosen in grid for value in axes[path]]
    for chosen in grid:
        for ranks in document["ranks"]:
            for scheme in document["schemes"]:
                one = {**document, "ranks": [ranks], "schemes": [scheme]}
                del one["sweep"]
                sets = []
                for path, value in zip(paths, chosen):
                    sets += ["--set", f"{path}={value if isinstance(value, str) else json.dumps(value)}"]
                alone += points(write_json(folder, one, "one.json"), *options, *sets, "--jobs", "1")
    assert len(swept) == len(alone) > 1, f"{len(swept)} and {len(alone)}"

    def order(point):
        return json.dumps([point[key] for key in ("label", "ranks", "tensor", "time_s", "cluster", "trace", "iterations")])

    for a, b in zip(sorted(map(plain, swept), key=order), sorted(map(plain, alone), key=order)):
        for key in a:
            assert a[key] == b[key], f"{a['label']} on {a['ranks']} ranks: {key} {a[key]!r} in the sweep, {b[key]!r} alone"
    return swept


@test
def no_option_is_overridden_without_a_word(folder):
    """An option of a field that the sweep sets at every place would change nothing; --cluster takes the place of the swept ones."""
    cases = {"cluster.bandwidth": (["1Gbps", "2Gbps"], ["--bandwidth", "10Gbps"]), "cluster.latency": (["1us", "2us"], ["--latency", "3us"]),
             "device": (["none", "quick"], ["--device", "quick"]), "ranks": ([2, 4], ["--ranks", "8"]), "merge": ([1, 2], ["--merge", "4"]),
             "iterations": (["0:1", "1:2"], ["--iterations", "0:2"]), "trace": ([BIBLE, WORDNET], ["--trace", BIBLE]),
             "schemes": ([["ps"], ["zen"]], ["--scheme", "allgather"]), "verify": ([True, False], ["--no-verify"]),
             "index_bytes": ([0, 4], ["--set", "index_bytes=8"])}
    for path, (values, option) in cases.items():
        scenario = write_json(folder, small(sweep={path: values}))
        for command in ("run", "plan"):
            if not (command == "plan" and option[0] in ("--scheme", "--no-verify")):
                fails(command, scenario, *option, says=("sweep", path, f"{option[0]} would change nothing"))
    for option in (["--cluster", "rtx3090-1gbe"], ["--set", 'sweep={"cluster": ["rtx3090-1gbe"]}']):
        out = call("run", "demo", *option, "--format", "csv", "--scheme", "ps")[0]
        assert [row["cluster"] for row in csv.DictReader(io.StringIO(out))] == ["rtx3090-1gbe"]
    # What lies inside a swept field holds at every place, and a swept field may lie inside what an option gives.
    scenario = write_json(folder, small(sweep={"cluster": ["rtx3090-100g-ib", "rtx3090-10gbe"]}, ranks=2, schemes=["ps"]))
    assert len({p["time_s"] for p in points(scenario, "--set", "cluster.latency=0", "--bandwidth", "1Gbps")}) == 1
    scenario = write_json(folder, small(sweep={"cluster.bandwidth": ["1Gbps", "2Gbps"]}, ranks=2, schemes=["ps"]))
    assert {p["cluster"] for p in points(scenario, "--cluster", "rtx3090-10gbe")} == {"rtx3090-10gbe"}


@test
def networks_share_payloads(folder):
    found = equals_single_runs(folder, small(sweep={"cluster.bandwidth": ["1Gbps", "25Gbps"], "cluster.latency": ["0us", "1ms"]}))
    assert len({p["time_s"] for p in found if p["label"] == "zen" and p["ranks"] == 16}) == 4


@test
def clusters_with_other_nodes_do_not(folder):
    clusters = ["p3.16xlarge-25g", "rtx3090-1gbe", "h100-8x8-400g",
                {"latency": "5us", "bandwidth": "1GB/s", "gpus_per_node": 3, "nic": "per-node"},
                {"latency": "5us", "bandwidth": "1GB/s", "gpus_per_node": 3, "intra": {"latency": "1us", "bandwidth": "9GB/s"}}]
    equals_single_runs(folder, small(sweep={"cluster": clusters}, ranks=[6, 16], schemes=[
        "ps", "allgather", {"name": "zen", "hierarchy": "leader", "label": "h"}]))


@test
def values_and_residuals(folder):
    gradient, rates = {"gradient": {"elements": 900, "iterations": 3}}, {"cluster.bandwidth": ["10Gbps", "100Gbps"]}
    equals_single_runs(folder, small(trace=gradient, ranks=[4, 8], iterations=3, cluster="rtx3090-1gbe", sweep=rates, schemes=[
        "topka", "oktopk", {"name": "spardl", "teams": 2}, "s2"]), "--per-rank", "--per-iteration")
    equals_single_runs(folder, small(trace=gradient, ranks=[4], iterations=3, select={"topk": "5%"}, schemes=["allgather", "zen"],
                                     sweep={"cluster.bandwidth": ["1Gbps", "9Gbps"], "select.topk": ["5%", "10%"]}))
    # what these want to know of a gradient differs, and all start from the same one
    equals_single_runs(folder, small(trace=gradient, ranks=[4], iterations=3, select={"blocks": "1/8", "block": 16}, device="quick",
                                     sweep={"cluster.bandwidth": ["1Gbps", "9Gbps"]},
                                     schemes=["allgather", "alltoall", "sparcml-rd", "omnireduce", "s2"]))


@test
def shapes_that_few_inputs_have(folder):
    """Drawn often here: one rank more than nodes hold, a window of 1, parts that do not divide, exactly two rows, ranks without lookups,
    several tensors under jitter, rank counts whose nodes change from one place of the sweep to the next. All is proven exact."""
    for seed in range(4):
        draw = random.Random(seed)
        nodes, path = draw.choice([1, 2, 3]), folder / f"{seed}.safetensors"
        ranks = sorted({nodes + 1, 2 * nodes + draw.choice([0, 1]), 7})
        traces.write(path, [(traces.tensor(name, rows, draw.choice([1, 3, 7])), [
            [draw.randrange(rows) for _ in range(draw.choice([0, 1, rows + 1, 40]))] for _ in range(2 * 7)])
                            for name, rows in (("two", 2), ("odd", draw.choice([31, 97])))], 7)
        cluster = {"latency": "5us", "bandwidth": "1GB/s", "gpus_per_node": nodes, "intra": {"latency": "1us", "bandwidth": "9GB/s"},
                   "window": 1, "nic": draw.choice(["per-node", "per-rank"]),
                   "jitter": {"per": draw.choice(["pair", "message"]), "draws": 2, "bandwidth": [[0, 0.5], [1, 1]]}}
        found = equals_single_runs(folder, small(
            trace=str(path), ranks=ranks, cluster=cluster, sweep={"cluster.window": [1, 2], "cluster.gpus_per_node": [nodes, nodes + 1]},
            schemes=draw.sample(["allreduce", "allgather", "ps", "zen", "sparcml-split", "omnireduce", "alltoall", {"name": "ps", "servers": 2, "label": "two"}], 3)))
        assert {p["tensor"] for p in found} >= {"two", "odd"} and all(p["exact"] is True for p in found), seed


@test
def everything_else_that_is_swept(folder):
    equals_single_runs(folder, small(ranks=[3], schemes=["allgather", "ps"], device="quick", sweep={
        "trace": [BIBLE, WORDNET], "index_bytes": [0, 8], "iterations": ["0:2", "1:2"], "cluster.nic": ["per-rank", "per-node"]}))


@test
def threads_do_not_matter(folder):
    scenario = write_json(folder, small(sweep={"cluster.bandwidth": ["10Gbps", "25Gbps"], "trace": [BIBLE, WORDNET]}))
    for form in ("json", "csv", "table"):
        one = call("run", scenario, "--format", form, "--jobs", "1")[0]
        for jobs in (2, 5):
            assert call("run", scenario, "--format", form, "--jobs", jobs)[0] == one, f"{form}, {jobs} threads"
        call("run", scenario, "--format", form, "-o", folder / "out")
        assert (folder / "out").read_text() == one, f"{form}: the file is not what standard output gets"
        assert sorted(os.listdir(folder)) == ["out", "s.json"], os.listdir(folder)


@test
def results_appear_before_the_end(folder):
    """A run whose output may not grow beyond its first lines dies when it writes them, and not after all of its work."""
    scenario, used = write_json(folder, large(sweep={"cluster.gpus_per_node": [1, 2, 4, 8, 16, 32]})), []
    for most in (resource.RLIM_INFINITY, 3000):
        with open(folder / "out", "wb") as out:
            run = subprocess.Popen([PROGRAM, "run", scenario, "--format", "csv", "--jobs", "1"], env=ENVIRONMENT, stdout=out,
                                   stderr=subprocess.DEVNULL, preexec_fn=lambda most=most: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)))
            _, status, usage = os.wait4(run.pid, 0)
            run.returncode = os.waitstatus_to_exitcode(status)
        rows = list(csv.DictReader((folder / "out").read_text().splitlines()))
        assert run.returncode == (0 if most == resource.RLIM_INFINITY else -signal.SIGXFSZ), run.returncode
        assert len(rows) == 180 or most == 3000 and 1 < len(rows) < 12, len(rows)
        whole = len(rows) if most == resource.RLIM_INFINITY else len(rows) - 1  # the last may be torn
        assert [row["label"] for row in rows[:min(whole, 6)]] == large()["schemes"][:whole]
        used.append(usage.ru_utime)
    assert used[1] < 0.6 * used[0], f"of {used[0]} s of processor time, the first lines took {used[1]} s"


@test
def progress_on_a_terminal(folder):
    """Of a run that holds for more than a second after 10 of 36 points: what takes less shows no bar."""
    for terminal in (True, False):
        ours, theirs = pty.openpty() if terminal else os.pipe()
        shown = b""
        with subprocess.Popen([PROGRAM, "run", write_json(folder, small()), "--format", "json", "-o", folder / "out.json", "--jobs", "1"], stderr=theirs,
                              env={**ENVIRONMENT, "SPARSYNC_HOLD": "10"}) as run:
            os.close(theirs)
            tap.wait_for(lambda: tap.state(run.pid) in "TZX")
            assert tap.state(run.pid) == "T", run.poll()
            time.sleep(1.05)
            run.send_signal(signal.SIGCONT)
            while True:
                try:
                    if not (more := os.read(ours, 4096)):
                        break
                    shown += more
                except OSError:  # the terminal is gone
                    break
        os.close(ours)
        assert run.returncode == 0, shown
        if terminal:
            assert b" of 36 points, about " in shown and b" left" in shown and shown.endswith(b"\r\x1b[K"), shown[:200]
        else:
            assert shown == b"", "a bar where there is no terminal"


# --- stopped and gone on ----------------------------------------------------------------------------------------------


def killed(scenario, output, form, size, *options):
    """Starts a run that the kernel kills in the middle of the write that would make a file longer than `size` bytes, as abruptly
    as by SIGKILL: its journal ends in a torn line. Returns how many lines are whole."""
    def limit():
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    done = subprocess.run([PROGRAM, "run", scenario, "--format", form, "-o", output, "--jobs", "1", *options], env=ENVIRONMENT,
                          capture_output=True, preexec_fn=limit, timeout=tap.HANG)
    journal = pathlib.Path(f"{output}.partial")
    assert done.returncode == -signal.SIGXFSZ and journal.exists() and not output.exists(), (done.returncode, done.stderr[:300])
    text = journal.read_bytes()
    assert len(text) == size and not text.endswith(b"\n"), len(text)
    return text.count(b"\n")


@test
def goes_on_after_a_kill(folder):
    scenario = write_json(folder, small())
    for form, size in (("json", 9000), ("csv", 9100)):
        whole = call("run", scenario, "--format", form)[0]
        output = folder / f"out.{form}"
        known = killed(scenario, output, form, size)
        assert 3 <= known < 36, known
        err = call("run", scenario, "--format", form, "-o", output, "--resume")[1]
        assert f"{known} points were known" in err, err
        assert output.read_text() == whole, f"{form}: not what an uninterrupted run writes"
        assert sorted(os.listdir(folder)) == sorted({"s.json", "out.json", output.name}), os.listdir(folder)


@test
def an_interrupt_says_how_to_go_on(folder):
    """Ctrl-C after the second of three points: how many are kept, where, and what goes on. The third takes hours, so that the
    run cannot be over first; the second may be written and not yet be counted."""
    output, journal = folder / "out.json", folder / "out.json.partial"
    scenario = write_json(folder, small(trace={"gradient": {"elements": 100000, "iterations": 1 << 20}}, ranks=[4], schemes=["allgather"],
                                        sweep={"iterations": ["0:1", "0:2", f"0:{1 << 20}"]}))
    with subprocess.Popen([PROGRAM, "run", scenario, "--format", "json", "-o", output, "--jobs", "1"], env=ENVIRONMENT, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as run:
        while run.poll() is None and not (journal.exists() and journal.read_bytes().count(b"\n") == 2):
            time.sleep(0.002)
        run.send_signal(signal.SIGINT)
        told = run.communicate(timeout=tap.HANG)[1]
    kept = re.search(r"sparsync run: interrupted: [12] finished points? (?:is|are) kept in (\S+): the same command with --resume", told)
    assert run.returncode == -signal.SIGINT and kept and kept[1] == str(journal), (run.returncode, told)
    assert journal.read_bytes().count(b"\n") == 2


@test
def an_interrupt_before_the_first_point_leaves_nothing(folder):
    """Of points that take hours. From the moment that its file stands, a run answers."""
    scenario = write_json(folder, small(trace={"gradient": {"elements": 100000, "iterations": 1 << 20}}, iterations=1 << 20, ranks=[4],
                                        schemes=["allgather"]))
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        with subprocess.Popen([PROGRAM, "run", scenario, "--format", "json", "-o", folder / "out.json"], env=ENVIRONMENT, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as run:
            tap.wait_for((folder / "out.json.partial").exists)
            run.send_signal(number)
            told = run.communicate(timeout=tap.HANG)[1]
        assert run.returncode == -number and ("interrupted: no point is finished" in told) == (number == signal.SIGINT), (run.returncode, told)
        assert [path.name for path in folder.iterdir()] == [scenario.name], number


@test
def what_the_killed_left_is_removed(folder):
    """Beside a file that is written: what nobody holds. What another process still writes stays, as does what only looks like it."""
    left, held, others = folder / "out.json.12-0.part", folder / "out.json.13-0.part", [folder / "out.json.x-0.part", folder / "out.json.12-0.part2"]
    for path in (left, held, *others):
        path.write_text("half")
    with held.open("w") as writing:
        fcntl.flock(writing, fcntl.LOCK_EX)
        call("run", write_json(folder, small(ranks=[2], schemes=["allgather"])), "--format", "json", "-o", folder / "out.json")
    assert not left.exists() and held.exists() and all(path.exists() for path in others), os.listdir(folder)


@test
def a_slower_link_gains_little(folder):
    """docs/model.md: fair shares with a window are not monotone, as its example shows, and are nearly so."""
    cluster = {"latency": "7us", "bandwidth": "1GB/s", "exchange": {"latency": "14us", "bandwidth": "1GB/s"}, "window": 3}
    gains = []
    for lookups in (60, 100):
        document = small(trace={"synth": {"rows": 2000, "ranks": 6, "iterations": 1, "lookups": lookups, "row_width": 64}}, cluster=cluster,
                         ranks=[3, 4, 5, 6], iterations=1, schemes=["ps"], certain=True, verify=False,
                         sweep={"cluster.bandwidth": [1e9 * (1 - 0.02 * i) for i in range(12)]})
        found = json.loads(call("run", write_json(folder, document), "--format", "json")[0])["points"]
        for ranks in (3, 4, 5, 6):
            times = [p["time_s"] for p in found if p["ranks"] == ranks]
            gains += [1 - slower / faster for faster, slower in zip(times, times[1:])]
    assert 0.003 < max(gains) < 0.005, gains


@test
def goes_on_after_two_kills(folder):
    scenario, output = write_json(folder, small()), folder / "out.json"
    whole = call("run", scenario, "--format", "json")[0]
    first = killed(scenario, output, "json", 9000)
    assert killed(scenario, output, "json", 18000, "--resume") > first
    journal = pathlib.Path(f"{output}.partial")
    for line in journal.read_bytes().splitlines(keepends=True):
        assert not line.endswith(b"\n") or json.loads(line)["point_hash"], "the torn line was left in"
    call("run", scenario, "--format", "json", "-o", output, "--resume")
    assert output.read_text() == whole and not journal.exists()


@test
def a_wider_scenario_computes_what_is_new(folder):
    for form in ("json", "csv"):
        output = folder / f"out.{form}"
        narrow, wide = small(ranks=[2, 8]), small(sweep={"cluster.bandwidth": ["5Gbps", "10Gbps", "25Gbps", "100Gbps"]})
        call("run", write_json(folder, narrow), "--format", form, "-o", output)
        fresh = call("run", write_json(folder, wide), "--format", form)[0]
        err = call("run", write_json(folder, wide), "--format", form, "-o", output, "--resume")[1]
        assert "24 points were known" in err and output.read_text() == fresh, form


def changed(document, change):
    """The points of a result file, each as `change` leaves it."""
    return json.dumps({**document, "points": [change(json.loads(json.dumps(point))) for point in document["points"]]})


@test
def what_was_changed_is_computed_again(folder):
    """A file is believed no further than its hashes; and they hold for a file that was only written another way."""
    def lie(point):
        return {**point, "time_s": -1, "exact": False}

    def misplace(point):
        point["links"]["ingress"]["bytes_max"] += 1
        return point

    def spare(point):
        return {key: value for key, value in point.items() if key != "result_hash"}

    def iterate(point):
        point["iteration_s"].reverse()
        return point

    narrow = small(sweep={"cluster.bandwidth": ["10Gbps"]}, schemes=["allgather", "zen"], expect=[{"that": "time_s", "of": "zen", "is": "<", "than": 0}])
    scenario, output, plain = write_json(folder, narrow), folder / "out.json", write_json(folder, {**narrow, "expect": []}, "plain.json")
    whole = call("run", plain, "--format", "json", "--per-iteration")[0]
    document = json.loads(whole)
    for change, more, known in ((dict, [], 6), (lie, [], 0), (misplace, [], 0), (spare, [], 0), (iterate, [], 0), (iterate, ["--per-iteration"], 0)):
        output.write_text(changed(document, change))
        err = call("run", plain, "--format", "json", "-o", output, "--resume", *more)[1]
        assert f"{known} points were known" in err, f"{change.__name__}: {err}"
        assert output.read_text() == call("run", plain, "--format", "json", *more)[0], change.__name__
    output.write_text(changed(document, lie))
    assert "expect" in call("run", scenario, "--format", "json", "-o", output, "--resume", status=1)[1]
    table = call("run", plain, "--format", "csv")[0]
    for text, known in ((table, 6), (table.replace("true", "false"), 0), (re.sub(r"(?<=,)(0\.0\d+|\d\.\d+e-0\d)", "-1", table), 0)):
        output.write_text(text)
        assert f"{known} points were known" in call("run", plain, "--format", "csv", "-o", output, "--resume")[1], text[:2000]
        assert output.read_text() == table
    assert "0 points were known" in call("run", plain, "--format", "json", "-o", output, "--resume")[1], "CSV has no links"
    assert json.loads(output.read_text())["points"][0]["links"]


def two_tensors(path):
    """Two tensors of ragged lists: 3 iterations of 4 ranks."""
    traces.write(path, [(traces.tensor(name, rows, width), [[(7 * i * i + 13 * s) % rows for i in range(5 + 9 * s % 23)] for s in range(12)])
                        for name, rows, width in (("wide", 5000, 8), ("narrow", 70, 3))], 4)


@test
def several_tensors_and_arrays(folder):
    """The sums over tensors are made again, of known points as of new ones; arrays that a file lacks are computed."""
    two_tensors(folder / "two.safetensors")
    document = small(trace=str(folder / "two.safetensors"), ranks=[2, 4], iterations=3)
    equals_single_runs(folder, document, "--per-iteration")
    scenario, output, all_points = write_json(folder, document), folder / "out.json", ["--per-rank", "--per-iteration"]
    whole, lean = (call("run", scenario, "--format", "json", *more)[0] for more in (all_points, []))
    assert {p["tensor"] for p in json.loads(lean)["points"]} == {"wide", "narrow", "*"}
    for text, more, known in ((whole, [], 48), (lean, all_points, 0), (whole, all_points, 48)):
        output.write_text(text)
        err = call("run", scenario, "--format", "json", *more, "-o", output, "--resume")[1]
        assert f"{known} points were known" in err and output.read_text() == (whole if more else lean), (err, more)
    narrow = call("run", write_json(folder, {**document, "ranks": [4]}), "--format", "csv")[0]
    output.write_text(narrow)
    err = call("run", scenario, "--format", "csv", "-o", output, "--resume")[1]
    assert "24 points were known" in err and output.read_text() == call("run", scenario, "--format", "csv")[0]


@test
def what_changes_a_point_is_noticed(folder):
    """A result under the same name is not taken for that of another input."""
    output = folder / "out.json"
    base = small(ranks=[16], trace={"synth": {"rows": 3000, "ranks": 16, "iterations": 4, "tokens": 500, "seed": 1}})
    cluster = json.loads((ROOT / "models" / "clusters" / "p3.16xlarge-25g.json").read_text())
    changes = [["--latency", "30us"], ["--set", "cluster.nic=per-rank"], ["--set", "cluster.intra.bandwidth=99GB/s"],
               ["--set", "trace.synth.seed=2"], ["--iterations", "1:3"], ["--no-verify"], ["--set", "index_bytes=8"],
               ["--set", "granularity=element"], ["--set", "sizes=free"], ["--device", "quick"], ["--merge", "1"]]
    write_json(folder, {**cluster, "latency": "31us"}, "p3.json")
    for change in changes:
        call("run", write_json(folder, base), "--format", "json", "-o", output)
        err = call("run", write_json(folder, base), *change, "--format", "json", "-o", output, "--resume")[1]
        known = {"1": 12, "sizes=free": 3}.get(change[-1], 0)  # all; those of dense sums, whose sizes are known
        assert f"{known} points were known" in err, f"{change}: {err}"
        assert output.read_text() == call("run", write_json(folder, base), *change, "--format", "json")[0], change


@test
def an_edited_formula_is_noticed(folder):
    data = folder / "data"
    for part in ("clusters", "costs", "devices", "libraries"):
        (data / "models" / part).mkdir(parents=True)
        for path in (ROOT / "models" / part).glob("*.json"):
            (data / "models" / part / path.name).write_text(path.read_text())
    form = data / "models" / "costs" / "allreduce-ring.json"

    def run(*more):
        done = subprocess.run([PROGRAM, "run", folder / "s.json", "--format", "json", "-o", folder / "out.json", *more], capture_output=True,
                              text=True, timeout=tap.HANG, env={**ENVIRONMENT, "SPARSYNC_DATA": str(data)}, check=True)
        return done.stderr

    write_json(folder, small(schemes=[{"name": "allreduce", "algorithm": "ring"}, "allgather"]))
    run()
    document = json.loads(form.read_text())
    form.write_text(json.dumps({**document, "exact": f"2*({document['exact']})"}))
    assert "9 points were known" in run("--resume")
    found = json.loads((folder / "out.json").read_text())["points"]
    ratios = {round(p["formula_s"] / p["paper_s"], 9) for p in found if p["label"] == "allreduce"}
    assert ratios == {2.0}, ratios


@test
def a_journal_is_begun_anew_without_resume(folder):
    scenario, output = write_json(folder, small()), folder / "out.json"
    known = killed(scenario, output, "json", 9000)
    err = call("run", scenario, "--format", "json", "-o", output)[1]
    assert f"held {known} finished points" in err and "--resume" in err, err
    assert output.read_text() == call("run", scenario, "--format", "json")[0]


@test
def a_run_that_keeps_no_journal(folder):
    scenario, out = write_json(folder, small(ranks=[2])), folder / "out.json"
    (folder / "out.json.partial").mkdir()  # where a journal would be
    run = ["run", scenario, "--format", "json", "-o", out]
    fails(*run, says="out.json.partial", status=3)
    call(*run, "--no-partial")
    assert out.read_text() == call("run", scenario, "--format", "json")[0] and (folder / "out.json.partial").is_dir()
    fails(*run, "--resume", "--no-partial", says=["--resume", "--no-partial"])


@test
def wrong_ways_to_resume(folder):
    scenario = write_json(folder, small(ranks=[2]))
    out, journal = folder / "out.json", folder / "out.json.partial"
    call("run", scenario, "--format", "json", "-o", out)
    whole = out.read_text()
    good = json.dumps(json.loads(whole)["points"][0])
    run = ["run", scenario, "--resume"]
    fails(*run, says=["--resume", "-o FILE"])
    fails(*run, "--format", "json", says="-o FILE")
    fails(*run, "--format", "json", "-o", "-", says="-o FILE")
    fails(*run, "--format", "json", "-o", "/dev/null", says="-o FILE")
    fails(*run, "-o", out, says=["--format json or csv"])
    fails(*run, "--format", "json", "-o", out, "--baseline", out, says="--baseline")
    for text, says in (("[1]\n", "not a point"), (good + "\n{\n", "line 2"), ("\0\0\0\n", "line 1"), (good[:-1] + "\n" + good + "\n", "line 1"),
                       ("\n", "line 1"), (json.dumps({**json.loads(good), "time_s": "x"}) + "\n", "time_s"),
                       (json.dumps({**json.loads(good), "exact": 3}) + "\n", "exact"), (good.replace('"time_s"', '"time"') + "\n", "time_s"),
                       (good.replace("xxh128:", "xxh64:") + "\n", "not a point")):
        journal.write_text(text)
        fails(*run, "--format", "json", "-o", out, says=[str(journal), says])
        assert journal.read_text() == text and out.read_text() == whole, "a bad journal was changed"
    journal.unlink()
    for text, says in (("scheme,label,ranks\na,b\n", "line 2"), ("scheme,label,ranks\na,b,3,4\n", "line 2"), ("a table\n", "out.json"),
                       ("{}", "not what"), ('{"points": 3}', "not what"), ('{"points": [3]}', "object"), (whole[:-200], "out.json"),
                       ("scheme,label,\0\n", "NUL")):
        out.write_text(text)
        fails(*run, "--format", "json", "-o", out, says=["--resume", says])
        assert out.read_text() == text and not journal.exists()
    out.unlink()
    journal.mkdir()
    fails(*run, "--format", "json", "-o", out, says=str(journal), status=3)
    journal.rmdir()
    journal.write_text("")
    with open(journal, "r+", encoding="utf-8") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        fails("run", scenario, "--format", "json", "-o", out, says="another run")


# --- baselines --------------------------------------------------------------------------------------------------------


@test
def nothing_moves_by_itself(folder):
    scenario, stored = write_json(folder, small()), folder / "b.json"
    out = call("run", scenario, "--save-baseline", stored)[0]
    document = json.loads(stored.read_text())
    inputs = document.pop("inputs")
    assert "zen" in out and document == json.loads(call("run", scenario, "--format", "json")[0])
    assert inputs["scenario"]["ranks"] == [2, 8, 16] and inputs["clusters"]["p3.16xlarge-25g"]["gpus_per_node"] == 8, inputs
    out, err = call("run", scenario, "--baseline", stored)
    assert out == f"small against {stored}: 36 points the same, 0 moved, 0 new, 0 missing.\n" and err == "", (out, err)
    diff = json.loads(call("run", scenario, "--baseline", stored, "--format", "json")[0])
    assert (diff["same"], diff["moved"], diff["new"], diff["missing"], diff["changes"]) == (36, 0, 0, 0, [])


@test
def files_of_results_have_at_most_a_gibibyte(folder):
    with open(folder / "large.json", "wb") as large:  # it has a size, and nothing on the disk
        large.truncate(2**30 + 1)
    err = call("run", write_json(folder, small()), "--baseline", folder / "large.json", status=2)[1]
    assert f"large.json: larger than {2**30} bytes" in err, err


@test
def what_moved_is_shown(folder):
    scenario, stored = write_json(folder, small()), folder / "b.json"
    call("run", scenario, "--save-baseline", stored)
    document = json.loads(stored.read_text())
    changes = [(3, "time_s", 1 + 2e-9), (7, "bytes_total", 1 + 1e-12), (9, "formula_s", 1.5), (11, "time_s", 1 + 1e-10)]
    was = [(document["points"][i][field], factor) for i, field, factor in changes]
    for (i, field, factor), (value, _) in zip(changes, was):
        document["points"][i][field] = value * factor
    stored.write_text(json.dumps(document))
    out, err = call("run", scenario, "--baseline", stored, "--format", "json", status=1)
    diff = json.loads(out)
    assert (diff["same"], diff["moved"]) == (33, 3) and "3 points moved" in err, (out, err)
    for change, (i, field, factor), (value, _) in zip(diff["changes"], changes, was):
        point = document["points"][i]
        assert change["change"] == "moved" and all(change[key] == point[key] for key in ("label", "ranks", "tensor", "at"))
        [moved] = change["fields"]
        assert moved["field"] == field and moved["now"] == value and moved["was"] == value * factor, moved
        assert abs(moved["relative"] - (1 / factor - 1)) < 1e-9
    rows = list(csv.DictReader(io.StringIO(call("run", scenario, "--baseline", stored, "--format", "csv", status=1)[0])))
    assert [(row["change"], row["field"]) for row in rows] == [("moved", field) for _, field, _ in changes[:3]]
    table = call("run", scenario, "--baseline", stored, status=1)[0]
    assert "33 points the same, 3 moved" in table and "formula_s" in table and "-33.3%" in table, table
    loose = json.loads(call("run", scenario, "--baseline", stored, "--tolerance", "1e-6", "--format", "json", status=1)[0])
    assert loose["moved"] == 2, "bytes move at any tolerance, times by more than it"
    assert json.loads(call("run", scenario, "--baseline", stored, "--tolerance", "50%", "--format", "json", status=1)[0])["moved"] == 1


@test
def a_diff_begins_with_what_changed(folder):
    """Another latency and another list of ranks moves all points: the inputs stand first, then the largest movements."""
    cluster = {"name": "own", "latency": "10us", "bandwidth": "1GB/s", "source": {"latency": "guessed"}}
    scenario, stored = write_json(folder, small(cluster=cluster)), folder / "b.json"
    call("run", scenario, "--save-baseline", stored)
    other = {**cluster, "latency": "20us", "source": {"latency": "measured"}, "window": "all"}
    scenario = write_json(folder, small(cluster=other, ranks=[2, 8], notes="for a review", expect=[]))
    table = call("run", scenario, "--baseline", stored, status=1)[0]
    head, inputs, rows = table.split("\n\n")[:3]
    assert "24 moved, 0 new, 12 missing" in head and inputs.splitlines() == [
        "inputs that changed:", "  scenario.ranks: [2,8,16] is now [2,8]", '  clusters.own.latency: "10us" is now "20us"',
        '  clusters.own.window: nothing is now "all"'], table
    moved = [float(row) for row in re.findall(r" ([+-][\d.]+)%", rows)]
    assert len(rows.splitlines()) == 2 + 20 + 1 and "... and 16 more" in rows and moved == sorted(moved, key=abs, reverse=True), rows
    diff = json.loads(call("run", scenario, "--baseline", stored, "--format", "json", status=1)[0])
    assert [(i["input"], i["was"], i["now"]) for i in diff["inputs"]][1] == ("clusters.own.latency", "10us", "20us")
    document = json.loads(stored.read_text())
    del document["inputs"]
    stored.write_text(json.dumps(document))
    assert "Its inputs are not stored" in call("run", scenario, "--baseline", stored, status=1)[0]


@test
def inputs_that_differ_are_named_once_a_scheme(folder):
    scenario, stored = write_json(folder, small()), folder / "b.json"
    call("run", scenario, "--save-baseline", stored)
    document = json.loads(stored.read_text())
    for point in document["points"]:
        if point["label"] in ("zen", "ps"):
            point.update(trace_hash="xxh64:" + "0" * 16, time_s=2 * point["time_s"])
    stored.write_text(json.dumps(document))
    table = call("run", scenario, "--baseline", stored, status=1)[0]
    assert "\n\nnot what they were:\n  ps: trace_hash\n  zen: trace_hash\n" in table and table.count(": trace_hash") == 2, table


@test
def a_diff_tells_where_points_come_from(folder):
    """Where no number moved, and each once for all points."""
    scenario, stored = write_json(folder, small(trace={"synth": {"rows": 64, "row_width": 4, "ranks": 16, "lookups": 9}})), folder / "b.json"
    call("run", scenario, "--save-baseline", stored)
    document = json.loads(stored.read_text())
    for field, other in (("trace_hash", "xxh128:0"), ("seed", 7), ("iterations", 99)):
        changed = json.loads(json.dumps(document))
        for point in changed["points"]:
            was, point[field] = point[field], other
        (folder / "c.json").write_text(json.dumps(changed))
        out = call("run", scenario, "--baseline", folder / "c.json")[0]
        shown = "nothing" if was is None else json.dumps(was)
        assert "36 points the same" in out and out.count(f"points.{field}: ") == 1 and f"points.{field}: {json.dumps(other)} is now {shown}" in out, out
    assert "points." not in call("run", scenario, "--baseline", stored)[0]


@test
def the_table_shows_what_moved_most(folder):
    scenario, stored = write_json(folder, small(ranks=[2], sweep={"cluster.bandwidth": ["10Gbps"]})), folder / "b.json"
    call("run", scenario, "--save-baseline", stored)
    document = json.loads(stored.read_text())
    for field, factor in (("messages", 1.5), ("bytes_total", 4), ("bytes_sent_max", 2)):
        document["points"][1][field] *= factor
    stored.write_text(json.dumps(document))
    row = [line.split() for line in call("run", scenario, "--baseline", stored, status=1)[0].splitlines() if line.startswith("moved")]
    assert [r[1] for r in row] == ["allgather"] and "bytes_total" in row[0] and row[0][-2:] == ["-75%", "2"], row


@test
def new_and_missing_points(folder):
    scenario, stored = write_json(folder, small()), folder / "b.json"
    call("run", scenario, "--save-baseline", stored)
    diff = json.loads(call("run", scenario, "--baseline", stored, "--ranks", "2,8,16,4", "--format", "json")[0])
    assert (diff["same"], diff["new"], diff["missing"]) == (36, 12, 0), "new points alone are no failure"
    out, err = call("run", scenario, "--baseline", stored, "--ranks", "2,8", "--format", "json", status=1)
    diff = json.loads(out)
    assert (diff["same"], diff["new"], diff["missing"]) == (24, 0, 12) and "12 are missing" in err
    assert {c["ranks"] for c in diff["changes"]} == {16} and {c["change"] for c in diff["changes"]} == {"missing"}


@test
def why_it_moved(folder):
    scenario, stored = write_json(folder, small(trace=BIBLE)), folder / "b.json"
    call("run", scenario, "--save-baseline", stored)
    change = json.loads(call("run", scenario, "--baseline", stored, "--trace", WORDNET, "--format", "json", status=1)[0])["changes"][0]
    assert {"trace", "trace_hash"} <= set(change["differs"]), change["differs"]
    document = json.loads(stored.read_text())
    document["points"][0]["exact"] = None
    document["points"][1].pop("gamma")  # a field that the stored points do not have is no move
    stored.write_text(json.dumps(document))
    diff = json.loads(call("run", scenario, "--baseline", stored, "--format", "json", status=1)[0])
    assert diff["moved"] == 1 and diff["changes"][0]["differs"] == ["exact"]
    table = call("run", scenario, "--baseline", stored, status=1)[0]
    assert re.search(r"^moved .* exact +- +- +- ", table, re.M), table


@test
def wrong_baselines(folder):
    scenario = write_json(folder, small(ranks=[2]))
    bad = folder / "bad.json"
    for text, says in (("{}", "not what"), ('{"sparsync": "1", "points": [{}]}', "label"), ("scheme,label,ranks\na,b,3\n", "CSV"), ('{"points": []}', "is no baseline"),
                       ('{"sparsync": "1", "points": [{"label": "a", "ranks": 0, "tensor": "t", "at": {}}]}', "ranks"),
                       ('{"sparsync": "1", "points": [{"label": "a", "ranks": 2, "tensor": "t", "at": 3}]}', "at"),
                       ('{"sparsync": "1", "points": []}', "no points")):
        bad.write_text(text)
        fails("run", scenario, "--baseline", bad, says=["bad.json", says])
    call("run", scenario, "--save-baseline", bad)
    document = json.loads(bad.read_text())
    document["points"][0]["time_s"] = "1 ms"
    bad.write_text(json.dumps(document))
    fails("run", scenario, "--baseline", bad, says=["bad.json", "time_s"])
    names = [{key: p[key] for key in ("label", "ranks", "tensor", "at")} for p in document["points"]]
    for value in ("time_s", "messages", "bytes_total"):  # names alone agree with anything
        bad.write_text(json.dumps({**document, "points": [{**p, "time_s": 0, "messages": 0, "bytes_total": 0} for p in names]}).replace(f'"{value}": 0', '"none": 0'))
        fails("run", scenario, "--baseline", bad, says=["bad.json", value])
    fails("run", scenario, "--baseline", folder / "none.json", says="none.json")
    fails("run", scenario, "--tolerance", "1%", says="--baseline")
    for share in ("-1", "51%", "1e308"):
        fails("run", scenario, "--baseline", bad, "--tolerance", share, says="--tolerance")
    fails("run", scenario, "--baseline", bad, "--tolerance", "much", says="--tolerance")


# --- the table --------------------------------------------------------------------------------------------------------


@test
def forms_that_are_bounds(folder):
    scenario = write_json(folder, small(trace={"gradient": {"elements": 20000}}, ranks=[4], cluster="rtx3090-1gbe", device="none", sizes="free", ragged="v", schemes=["topka", "topkdsa"]))
    for p in points(scenario):
        low, high = p["formula_low_s"], p["formula_high_s"]
        assert (p["formula_s"] is None) == (p["label"] == "topkdsa") and (low is None) == (high is None) == (p["label"] == "topka")
        assert low is None or 0 < low < high
        assert low is None or (p["formula_low"] and p["formula_high"])
    table = call("run", scenario, "--wide")[0]
    assert any(re.search(r" (within|outside) ", line) for line in table.splitlines() if line.startswith("topkdsa")), table
    assert "topka is lossy: it applies" in table and "% of the energy" in table and "; topkdsa (lossy) takes " in table, table
    few = small(trace={"gradient": {"elements": 20000}}, select={"topk": "5%"}, ranks=[4], cluster="rtx3090-1gbe", device="none", schemes=["allgather", "zen"])
    assert re.search(r"(allgather|zen) is lossless for what the scenario selects, \S+% of the energy", call("run", write_json(folder, few))[0])
    plan = call("plan", write_json(folder, few))[0]
    assert " of selected" in plan and " yes" not in plan, plan
    assert "energy of what" not in call("run", write_json(folder, small()))[0], "lossless schemes apply all"


# What a shell starts in the background ignores interrupts, and so would all that is started here.
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.exit(tap.run())
# SPDX-License-Identifier: Apache-2.0
