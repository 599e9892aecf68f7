#!/usr/bin/python3
"""`sparsync exec` under mpirun, on 1 to 6 ranks. Arguments: the program, the source tree. Prints TAP.

Every scheme with every option must end exact on every rank, with the bytes of its simulation at every endpoint; input
that is wrong must end all ranks, with status 2 and without waiting for each other.
"""
import functools
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import zlib

import mpi
import tap
import traces

PROGRAM, ROOT = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
PROGRAMS = pathlib.Path(PROGRAM).parent / "tests"
BIBLE = ROOT / "traces" / "bible-kjv-16.safetensors"
ENVIRONMENT = mpi.environment(ROOT)
# Two ranks a node, so that `ps` has several servers unless told otherwise.
CLUSTER = {"name": "pairs", "model": "alpha-beta", "latency": "10us", "bandwidth": "10Gbps", "gpus_per_node": 2}
ROWS, WIDTH, RANKS, ITERATIONS = 61, 9, 6, 2
TESTS = []


def test(function):
    TESTS.append((function.__name__.replace("_", " "), function))
    return function


def lookups(iteration, rank):
    """Ragged, with duplicates; rank 0 has nothing in iteration 0."""
    draw = random.Random(100 * iteration + rank)
    count = 0 if rank == iteration else draw.choice([3, 17, 40])
    return [min(ROWS - 1, int(draw.expovariate(0.1))) for _ in range(count)]


def write_trace(path, dtype="F32"):
    return traces.write(path, [(traces.tensor("T", ROWS, WIDTH, dtype), [lookups(t, r) for t in range(ITERATIONS) for r in range(RANKS)])], RANKS)


def execute(ranks, *arguments, status=0):
    """Runs `sparsync exec ARGUMENTS` on so many ranks (0: without mpirun) and returns stdout, stderr."""
    command = [*(mpi.with_mpirun(ranks) if ranks else []), PROGRAM, "exec", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=tap.HANG, env=ENVIRONMENT)
    assert done.returncode == status, f"status {done.returncode}, not {status}: {done.stderr[-2000:]}"
    return done.stdout, done.stderr


@test
def memory_is_estimated_before_it_is_taken(folder):
    """2^24 lists' entries, and 9 B for each of 2^26 rows of the proof, before any is made: of all processes that share a machine."""
    big = tap.write_json(folder, {"trace": {"uniform": {"rows": 1 << 26, "row_width": 1, "density": "1/4", "overlap": "full"}}, "cluster": "rtx3090-10gbe",
                                  "iterations": 1, "schemes": ["zen"]})
    told = execute(0, big, "--memory", "100MB", status=3)[1]
    assert "zen on 1 ranks, of which 1 share this memory, takes at least 671 MB of memory, 100 MB may be taken" in told, told


def scenario(folder, schemes, name="scenario.json", **more):
    trace = folder / "trace.safetensors"
    if not trace.exists():
        write_trace(trace)
    path = folder / name
    path.write_text(json.dumps({"trace": str(trace), "cluster": CLUSTER, "schemes": schemes, **more}))
    return path


def every_ninth(settings, begin):
    """Options that all schemes have in common are not tried with each other option on each number of ranks."""
    return settings[begin % 9::9]


def a_third(settings, which):
    """The same settings are in the same third of any list; None: all of them."""
    def third_of(setting):
        return zlib.crc32(json.dumps({**setting, "label": ""}).encode()) % 3

    return [s for s in settings if which is None or third_of(s) == which % 3]


def labelled(settings):
    """By what was chosen."""
    return [{**s, "label": f"{i} " + " ".join(str(v) for v in s.values())} for i, s in enumerate(settings)]


def own_options(ranks):
    """Each scheme with each of its options."""
    settings = [{"name": "allreduce", "algorithm": a} for a in ("ring", "rabenseifner", "tree", "trees")]
    settings.append({"name": "allreduce", "algorithm": "trees", "chunks": 3})
    for algorithm in ("ring", "recursive-doubling", "bruck", "direct"):
        for more in ({}, {"separate": True}, {"coalesce": False}, {"separate": True, "coalesce": False}):
            settings.append({"name": "allgather", "algorithm": algorithm, **more})
    settings += [{"name": "ps"}, {"name": "ps", "dense": True}, {"name": "ps", "dense": True, "colocated": True}]
    for servers in range(1, ranks + 1):
        settings += [{"name": "ps", "servers": servers, "pull": pull} for pull in ("union", "rows")]
        settings.append({"name": "ps", "servers": servers, "dense": True})
        settings += [{"name": "ps", "servers": servers, "pull": pull, "coalesce": False} for pull in ("union", "rows")]
    for pull in ("union", "rows", "broadcast-binomial", "broadcast-scatter"):
        settings += [{"name": "ps", "colocated": True, "pull": pull, "coalesce": more} for more in (True, False)]
    for partition in ("column", "row", "table"):
        for exchange in ("both", "lookups", "gradients", "tokens"):
            settings.append({"name": "alltoall", "exchange": exchange, "partition": partition})
        settings.append({"name": "alltoall", "coalesce": False, "partition": partition})
        settings.append({"name": "alltoall", "gather_ids": True, "partition": partition})
        settings.append({"name": "alltoall", "coalesce": False, "exchange": "gradients", "partition": partition})
    for group in [g for g in range(1, ranks + 1) if ranks % g == 0]:
        for partition in ("column", "row"):
            cut = {"name": "replicas", "group": group, "partition": partition}
            settings += [{**cut, "sums": sums, "neighbours": near} for sums in ("dense", "rows") for near in ("group", "replicas")]
            settings += [{**cut, "exchange": "gradients"}] + [{**cut, "exchange": "lookups"}] * (group > 1)
    settings += [{"name": name} for name in ("sparcml-rd", "sparcml-split", "sparcml-dsar")]
    for form in ("hash-bitmap", "coo", "bitmap", "block", "smallest"):
        for balance in ("hash", "even", "sorted"):
            settings.append({"name": "zen", "format": form, "balance": balance})
    settings += [{"name": "zen", "seed": 77}, {"name": "zen", "hashing": "partition"}, {"name": "zen", "balance": "sorted", "refresh": 1}, {"name": "zen", "plan": "auto"},
                 {"name": "zen", "plan": "auto", "format": "block"}]
    settings += [{"name": "omnireduce", "block": block} for block in (1, 10, 18, 256)]
    settings += [{"name": "omnireduce", "block": 12, "aggregators": n} for n in range(1, ranks + 1)]
    settings.append({"name": "omnireduce", "block": 12, "aggregators": ranks, "stream": 3})
    for how in ("p2p", "ring", "hierarchy"):
        for aggregation in ("one-shot", "incremental"):
            for form in ("coo", "bitmap", "block"):
                settings.append({"name": f"design:{how}/{aggregation}/central/{form}"})
                settings.append({"name": f"design:{how}/{aggregation}/parallel/even/{form}"})
                settings.append({"name": f"design:{how}/{aggregation}/parallel/balanced/{form}"})
            settings.append({"name": f"design:{how}/{aggregation}/parallel/balanced/hash-bitmap"})
    return settings


def only_sends(setting):
    """Messages of unlike lengths are neither of gathers nor of exchanges of ranks: `ragged` would do nothing."""
    name = setting["name"]
    return (name in ("sparcml-rd", "gtopk") or name.startswith(("design:ring/incremental/central", "design:hierarchy/incremental/central"))
            or name == "ps" and not setting.get("colocated") or "aggregators" in setting)


def all_options(ranks):
    """Each scheme with each of its options, and those that all have in common."""
    own = own_options(ranks)
    settings = list(own)
    for turn, (more, never) in enumerate((({"sizes": "exchanged"}, {"allreduce", "s2"}), ({"ragged": "padded"}, {"allreduce", "s2"}),
                                          ({"ragged": "broadcasts"}, {"allreduce", "allgather", "s2"}), ({"index_bytes": 8}, {"allreduce"}),
                                          ({"granularity": "element"}, {"allgather", "alltoall", "replicas"}))):
        settings += [{**s, **more} for s in every_ninth(own, 3 * turn + ranks) if s["name"] not in never and not (s.get("dense") and "s2" in never) and not ("ragged" in more and only_sends(s))]
    return labelled(settings)


def check_point(point, ranks, iterations=ITERATIONS):
    assert point["exact"] is True and point["mismatch"] is None, f"{point['label']}: {point['mismatch']}"
    assert point["equal"] is True, f"{point['label']}: {point['endpoints']}"
    assert point["ranks"] == ranks and point["iterations"] == iterations
    ends = point["endpoints"]
    for end in ends:
        for what in ("sent", "received"):
            assert end[f"bytes_{what}"] == end[f"simulated_bytes_{what}"], f"{point['label']}: {end}"
    sent, received = (sum(end[f"bytes_{what}"] for end in ends) for what in ("sent", "received"))
    assert sent == received and (sent > 0) == (ranks > 1), f"{point['label']}: {sent} sent, {received} received"
    assert 0 <= point["measured_min_s"] <= point["measured_s"] <= point["measured_max_s"]
    assert point["announced_s"] > 0
    assert (point["time_s"] > 0) == (ranks > 1)
    return sent


@functools.cache
def points_of_every_option(ranks):
    with tempfile.TemporaryDirectory() as folder:
        out, _ = execute(ranks, scenario(pathlib.Path(folder), all_options(ranks), ranks=ranks), "--format", "json")
        return json.loads(out)["points"]


def every_option(ranks, which=None):
    def function(folder):
        settings = a_third(all_options(ranks), which)
        if which is None:
            points = points_of_every_option(ranks)
        else:
            points = json.loads(execute(ranks, scenario(folder, settings, ranks=ranks), "--format", "json")[0])["points"]
        assert [p["label"] for p in points] == [s["label"] for s in settings]
        sent = [check_point(point, ranks) for point in points]
        # Bytes reckoned here, from the trace alone.
        dense = ITERATIONS * ROWS * WIDTH * 4
        rows = sum(len(set(lookups(t, r))) for t in range(ITERATIONS) for r in range(ranks))
        seen = sum(len(lookups(t, r)) for t in range(ITERATIONS) for r in range(ranks))
        for setting, total in zip(settings, sent):
            if setting["name"] == "allreduce" and setting["algorithm"] != "rabenseifner":
                assert total == 2 * (ranks - 1) * dense, setting
            if setting["name"] == "allgather" and "sizes" not in setting:
                index = setting.get("index_bytes", 4)
                each = rows if setting.get("coalesce", True) else seen
                if setting.get("ragged") == "padded":
                    entries = (lambda ids: len(set(ids))) if setting.get("coalesce", True) else len
                    each = sum(ranks * max(entries(lookups(t, r)) for r in range(ranks)) for t in range(ITERATIONS))
                assert total == (ranks - 1) * each * (4 * WIDTH + index), setting

    return function


# All of them on three and on four; of others a third each, since what messages carry is proven without processes.
for count, third in enumerate((0, 1, None, None, 2, 0), 1):
    TESTS.append((f"every option on {count} ranks", every_option(count, third)))


def all_among(nodes):
    """The options that a hierarchy admits, for so many nodes."""
    return [s for s in all_options(nodes) if s["name"] not in ("alltoall", "replicas") and s.get("pull") != "rows" and s.get("algorithm") != "trees"]


def sends_rows(setting):
    return setting["name"] != "allreduce" and not setting.get("dense")


def check_points(points, settings, ranks, iterations=ITERATIONS):
    assert [p["label"] for p in points] == [s["label"] for s in settings]
    for point in points:
        check_point(point, ranks, iterations)


def in_hierarchy(hierarchy, ranks, per_node, which):
    """A third of the options on each number of ranks: all of them by each kind of hierarchy."""
    def function(folder):
        settings = [s for s in a_third(all_among(-(-ranks // per_node)), which) if hierarchy != "sparse-shard" or sends_rows(s)]
        path = scenario(folder, settings, hierarchy=hierarchy, cluster={**CLUSTER, "gpus_per_node": per_node})
        out, _ = execute(ranks, path, "--format", "json")
        check_points(json.loads(out)["points"], settings, ranks)

    return function


for turn, (kind, count, each) in enumerate((("shard", 2, 2), ("shard", 4, 2), ("shard", 6, 3), ("shard", 6, 2), ("leader", 1, 2),
                                            ("leader", 3, 2), ("leader", 4, 2), ("leader", 5, 2), ("leader", 6, 3), ("sparse-shard", 2, 2), ("sparse-shard", 4, 2), ("sparse-shard", 6, 3))):
    TESTS.append((f"options by {kind} on {count} ranks, {each} a node", in_hierarchy(kind, count, each, turn)))


def selected(select, which, **more):
    def function(folder):
        settings = [s for s in a_third(all_among(2 if "hierarchy" in more else 4), which) if s.get("coalesce", True)]
        if "granularity" in more:
            settings = [s for s in settings if s["name"] != "allgather"]
        path = scenario(folder, settings, trace={"gradient": {"elements": 331, "seed": 7}}, select=select, iterations=3, **more)
        out, _ = execute(4, path, "--format", "json")
        check_points(json.loads(out)["points"], settings, 4, 3)

    return function


TESTS.append(("selected entries", selected({"topk": "10%"}, None)))
TESTS.append(("selected entries, by shard", selected({"topk": "10%"}, 0, hierarchy="shard")))
TESTS.append(("selected blocks", selected({"blocks": "1/4", "block": 12}, 1)))
TESTS.append(("elements of selected blocks, by leader",
              selected({"blocks": "1/4", "block": 12}, 2, hierarchy="leader", granularity="element")))


def all_values(ranks):
    """Schemes of values, with each of their options, for so many ranks (or nodes)."""
    few = [{"density": "10%"}, {"k": 5}, {"k": 80}]
    settings = [{"name": name, **k} for name in ("topka", "topkdsa") for k in [*few, {"density": "90%"}, {}]]
    if ranks & (ranks - 1) == 0:
        settings += [{"name": "gtopk", **k} for k in few]
    settings += [{"name": "oktopk", "thresholds": t, **k} for t in ("exact", "reused") for k in few]
    settings += [{"name": name, "folds": True, **k} for name in ("topkdsa", "oktopk") for k in [*few, {"density": "90%"}]]
    for teams in [d for d in range(1, ranks + 1) if ranks % d == 0]:
        for sag in ["auto", "bruck"] + ["recursive"] * (teams & (teams - 1) == 0):
            spardl = {"name": "spardl", "teams": teams, "sag": sag, "density": "10%"}
            settings += [{**spardl, "residuals": kept} for kept in ("global", "partial", "local")]
            settings.append({**spardl, "timing": "after-sum"})
    settings += [{"name": "s2", **o} for o in ({}, {"hashes": 2}, {"hashes": 3, "lambda": 1.5, "seed": 9}, {"hashes": 4, "buckets": 17},
                                                 {"bitmap": "bytes"}, {"bitmap": "gathered", "hashes": 2}, {"residuals": "sketch"},
                                                 {"residuals": "sketch", "hashes": 3, "bitmap": "bytes"})]
    settings += [{**s, **more} for turn, more in enumerate(({"sizes": "exchanged"}, {"index_bytes": 8}, {"sizes": "exchanged", "index_bytes": 8},
                                                            {"ragged": "padded"}, {"ragged": "padded", "sizes": "exchanged"},
                                                            {"ragged": "broadcasts", "sizes": "exchanged"}))
                 for s in every_ninth(settings, 3 * turn + ranks) if (s["name"] != "s2" or list(more) == ["index_bytes"]) and not ("ragged" in more and only_sends(s))]
    return labelled(settings)


def with_values(ranks, iterations, gradient, per_node=None, which=None, only=None, **more):
    def function(folder):
        settings = a_third(all_values(-(-ranks // per_node) if per_node else ranks), which)
        settings = [s for s in settings if not only or only(s)]
        path = scenario(folder, settings, trace={"gradient": gradient}, iterations=iterations,
                        cluster={**CLUSTER, "gpus_per_node": per_node or 1}, **more)
        out, _ = execute(ranks, path, "--format", "json")
        check_points(json.loads(out)["points"], settings, ranks, iterations)

    return function


NORMAL = {"elements": 331, "seed": 7}
LAPLACE = {"elements": 400, "seed": 2, "rho": 0.9, "sigma": 2, "layers": 5, "distribution": "laplace", "scale": 3}
SKEWED = {"elements": 240, "sigma": 4, "rho": 0}
TESTS += [(f"values on {ranks} ranks", with_values(ranks, 4, gradient, which=third))
          for ranks, gradient, third in ((1, NORMAL, 0), (2, LAPLACE, None), (3, NORMAL, None), (4, LAPLACE, None), (5, NORMAL, 1), (6, SKEWED, 2))]
# Ok-Topk evaluates its thresholds anew in the 33rd iteration; B-SAG's h has climbed by then.
TESTS.append(("values over 36 iterations", with_values(3, 36, {"elements": 96, "seed": 4, "iterations": 36},
                                                       only=lambda s: s.get("thresholds") == "reused" or s.get("sag") == "bruck")))
TESTS += [(f"values by {kind} on {ranks} ranks, {each} a node", with_values(ranks, 3, NORMAL, each, turn, hierarchy=kind))
          for turn, (kind, ranks, each) in enumerate((("shard", 4, 2), ("shard", 6, 3), ("leader", 4, 2), ("leader", 5, 2), ("sparse-shard", 6, 3)))]


@test
def sketches_of_what_is_selected(folder):
    for select in ({"topk": "10%"}, {"blocks": "25%", "block": 12}):
        path = scenario(folder, ["s2", {"name": "s2", "hashes": 2, "label": "two"},
                                 {"name": "s2", "bitmap": "bytes", "label": "bytes"}, {"name": "s2", "bitmap": "gathered", "label": "gathered"}],
                        trace={"gradient": NORMAL},
                        iterations=3, select=select)
        out, _ = execute(3, path, "--format", "json")
        for point in json.loads(out)["points"]:
            check_point(point, 3, 3)


@test
def shipped_trace_in_a_table(_folder):
    out, _ = execute(4, "--trace", BIBLE, "--scheme", "allreduce,allgather,ps,alltoall", "--iterations", "4:5", "--device", "none")
    lines = out.splitlines()
    assert "4 ranks" in out and "4:5" in out and "p3.16xlarge-25g" in out
    for name in ("allreduce", "allgather", "ps", "alltoall"):
        (line,) = [x for x in lines if x.split()[:1] == [name]]
        assert line.split()[-2:] == ["yes", "yes"], line


@test
def help_without_mpi(_folder):
    out, _ = execute(0, "--help")
    assert out.startswith("usage: mpirun") and "--iterations" in out


@test
def without_mpirun(folder):
    out, _ = execute(0, scenario(folder, ["allgather", "ps"]), "--format", "json")
    for point in json.loads(out)["points"]:
        check_point(point, 1)


@test
def simulated_as_by_run(folder):
    path = scenario(folder, all_options(3), ranks=3)
    done = subprocess.run([PROGRAM, "run", path, "--format", "json"], capture_output=True, timeout=tap.HANG, env=ENVIRONMENT)
    assert done.returncode == 0, done.stderr
    for ours, theirs in zip(points_of_every_option(3), json.loads(done.stdout)["points"], strict=True):
        assert ours["label"] == theirs["label"]
        for key in ("time_s", "bytes_sent_max", "bytes_received_max"):
            assert abs(ours[key] - theirs[key]) <= 1e-9 * abs(theirs[key]), (ours["label"], key, ours[key], theirs[key])


@test
def headers_are_counted_an_iteration(folder):
    """A ring of 3 ranks sends 6 parts an iteration, each with a header of its own, however many iterations are played."""
    counted = []
    for iterations in ("0:1", f"0:{ITERATIONS}"):
        out, _ = execute(3, scenario(folder, ["allgather"]), "--iterations", iterations, "--format", "json")
        point, = json.loads(out)["points"]
        counted.append(point["header_bytes"])
    assert counted[0] == counted[1] > 0 and counted[0] % 6 == 0, counted


@test
def predictions_have_the_ranges_of_run(folder):
    """Of one iteration to the digit; of several, whose components are those of all, nearly. What is certain has none."""
    source = {"latency": "estimated", "bandwidth": "a paper", "intra": "measured"}
    fields = {"cluster": {**CLUSTER, "gpus_per_node": 2, "source": source}}
    schemes = ["allgather", "alltoall", "ps", "zen", "sparcml-rd"]
    for iterations, tolerance in (("0:1", 1e-9), (f"0:{ITERATIONS}", 0.05)):
        path = scenario(folder, schemes, ranks=4, iterations=iterations, **fields)
        done = subprocess.run([PROGRAM, "run", path, "--format", "json"], capture_output=True, timeout=tap.HANG, env=ENVIRONMENT, check=True)
        for ours, theirs in zip(json.loads(execute(4, path, "--format", "json")[0])["points"], json.loads(done.stdout)["points"], strict=True):
            for key in ("time_low_s", "time_high_s"):
                assert abs(ours[key] - theirs[key]) <= tolerance * theirs[key], (ours["label"], key, ours[key], theirs[key])
            assert ours["within_range"] == (ours["time_low_s"] <= ours["measured_s"] <= ours["time_high_s"])
    (point,) = json.loads(execute(4, scenario(folder, ["allgather"], ranks=4, **fields), "--format", "json", "--certain")[0])["points"]
    assert not {"time_low_s", "time_high_s", "within_range"} & point.keys()


@test
def rings_by_cards_of_their_own(folder):
    """Full nodes, and a small one; adds of a step are one launch in the simulation, and one a ring here."""
    schemes = labelled([{"name": "allreduce"}, {"name": "allreduce", "chunks": 2}, {"name": "allgather"}, {"name": "allgather", "separate": True}])
    for ranks in (4, 5):
        out, _ = execute(ranks, scenario(folder, schemes, cluster={**CLUSTER, "gpus_per_node": 2, "nics": 2, "model": "fair"}), "--format", "json")
        check_points(json.loads(out)["points"], schemes, ranks)


@test
def timed_several_times(folder):
    """Runs begin with the memory that the first one found: residuals and thresholds too. Exchanged sizes
    and wider indices are there among the schemes of values."""
    for settings, iterations, more in ((labelled(own_options(3)), ITERATIONS, {}), (all_values(3), 3, {"trace": {"gradient": NORMAL}, "iterations": 3})):
        path = scenario(folder, settings, **more)
        out, _ = execute(3, path, "--repeats", "3", "--format", "json")
        points = json.loads(out)["points"]
        check_points(points, settings, 3, iterations)
        assert {p["repeats"] for p in points} == {3}
    assert "each timed 3 times" in execute(2, scenario(folder, ["allgather"]), "--repeats", "3")[0]


@test
def kernels_as_run_counts_them(folder):
    path = scenario(folder, ["allgather", "ps", "zen", {"name": "zen", "hashing": "partition", "label": "partition"}], ranks=3)
    out, _ = execute(3, path, "--device", "quick", "--format", "json")
    assert ["hierarchical_hashing" in p["kernels"] for p in json.loads(out)["points"]] == [False, False, True, False]
    wanted, without = (subprocess.run([PROGRAM, "run", path, *more, "--format", "json"], capture_output=True, timeout=tap.HANG, env=ENVIRONMENT, check=True)
                       for more in (["--device", "quick"], []))
    for ours, theirs, less in zip(*(json.loads(text)["points"] for text in (out, wanted.stdout, without.stdout)), strict=True):
        # exec begins with coalesced gradients: two launches less of 5 us, and what they move
        coalescing = theirs["time_s"] - ours["time_s"]
        assert abs(ours["network_s"] - less["time_s"]) <= 1e-9 * less["time_s"], (ours, less)
        assert -1e-12 < coalescing < 1.1e-5 and ours["time_s"] > less["time_s"], (ours, theirs, less)
        assert ours["device"] == theirs["device"] != less["device"]
    assert "kernels as on quick" in execute(2, path, "--device", "quick")[0]


@test
def kernels_are_timed_beside_what_the_device_says(folder):
    """All ranks of allgather add up the same, so that each has a third of the calls and elements."""
    line, plain = {"t0": 1e-3, "per_element": 1e-5, "per_byte": 0, "valid": [1, 1e9]}, {"t0": 0, "per_byte": 1e-12, "valid": [1, 1e9]}
    (folder / "d.json").write_text(json.dumps({"name": "d", "measured": "made for this test", "kernels": {"merge_sum": line, "dense_add": plain}}))
    path = scenario(folder, ["allgather", "allreduce"], ranks=3)
    gather, reduce = json.loads(execute(3, path, "--device", folder / "d.json", "--format", "json")[0])["points"]
    merge = gather["kernels"]["merge_sum"]
    assert merge["calls"] == 3 and abs(merge["predicted_s"] - (1e-3 + merge["elements"] / 3 * 1e-5)) < 1e-12, merge
    for point in (gather, reduce):
        assert 0 < sum(kernel["measured_s"] for kernel in point["kernels"].values()) < 3 * point["measured_max_s"], point
        assert all(kernel["measured_s"] > 0 for kernel in point["kernels"].values()), point
    table = execute(3, path, "--device", folder / "d.json")[0].split("\n\n")[-1]
    assert re.search(r"allgather +merge_sum +3 ", table) and re.search(r"allreduce +dense_add +6 ", table), table
    assert "merge_sum" not in execute(3, path)[0]


@test
def seconds_of_kernels_are_those_of_who_takes_longest(folder):
    """Each rank hashes its own rows, 10 us each: whichever has most of them."""
    line, plain = {"t0": 1e-3, "per_element": 1e-5, "per_byte": 0, "valid": [1, 1e9]}, {"t0": 0, "per_byte": 1e-12, "valid": [1, 1e9]}
    kernels = {"hierarchical_hashing": line, "merge_sum": plain, "dense_add": plain}
    (folder / "d.json").write_text(json.dumps({"name": "d", "measured": "made for this test", "kernels": kernels}))
    for counts in ((5, 80), (80, 5)):
        trace = traces.write(folder / "t.safetensors", [(traces.tensor("T", 90, 4, "F32"), [range(count) for count in counts])], 2)
        (folder / "s.json").write_text(json.dumps({"trace": str(trace), "cluster": CLUSTER, "schemes": ["zen"]}))
        point, = json.loads(execute(2, folder / "s.json", "--device", folder / "d.json", "--format", "json", "--repeats", 1)[0])["points"]
        hashing = point["kernels"]["hierarchical_hashing"]
        assert (hashing["calls"], hashing["elements"]) == (2, 85) and abs(hashing["predicted_s"] - (1e-3 + 80 * 1e-5)) < 1e-12, hashing


@test
def output_file(folder):
    execute(2, scenario(folder, ["allgather"]), "--format", "json", "-o", folder / "out.json")
    check_point(json.loads((folder / "out.json").read_text())["points"][0], 2)


@test
def merged_ranks(folder):
    out, _ = execute(3, scenario(folder, ["allgather", "alltoall"], merge=2), "--format", "json")
    for point in json.loads(out)["points"]:
        check_point(point, 3)


@test
def tables_that_are_placed(folder):
    """Two tables in one exchange: one cut by rows over two ranks, the other whole; a rank has a piece of each, another none."""
    tables = {"encoder.weight": {"partition": "row", "ranks": [3, 1]}, "lstm.weight_hh_l0.grad": {"partition": "table", "ranks": [1]}}
    place = {"ranks": 4, "tables": tables}
    for exchange in ("both", "tokens"):
        scheme = {"name": "alltoall", "partition": "placed", "exchange": exchange}
        path = scenario(folder, [scheme], trace=str(ROOT / "traces" / "lstm-bible-4.safetensors"), placement=place, iterations="0:2")
        out, _ = execute(4, path, "--format", "json")
        [*points] = json.loads(out)["points"]
        assert points
        for point in points:
            check_point(point, 4)


@test
def bags_that_are_pooled(folder):
    """Two tables, 5 bags a rank of each, empty ones too: vectors of bags one way, their gradients back."""
    sizes = [(3 * i + i // 7) % 5 for i in range(2 * 4 * 5)]
    offsets = [sum(sizes[:i]) for i in range(len(sizes) + 1)]
    (folder / "i.npy").write_bytes(tap.npy([(7 * i) % 11 for i in range(offsets[-1])]))
    (folder / "o.npy").write_bytes(tap.npy(offsets))
    subprocess.run([PROGRAM, "trace", "import", "--from", "bags", folder / "i.npy", folder / "o.npy", "--tables", "2", "--ranks", "4", "--batch",
                    "5", "--row-width", "6", "-o", folder / "bags.safetensors"], check=True, capture_output=True, timeout=tap.HANG)
    place = {"ranks": 4, "tables": {"t0": {"partition": "row", "ranks": [3, 1]}, "t1": {"partition": "column", "ranks": [1, 0]}}}
    schemes = labelled([{"name": "alltoall", "partition": partition, "pooling": pooling, "exchange": exchange}
                        for partition in ("column", "row", "table", "placed") for pooling in ("sum", "padded")
                        for exchange in (["both"] if pooling == "sum" else ["lookups"])] +
                       [{"name": "alltoall", "partition": "row", "pooling": "sum", "route": "node", "exchange": exchange} for exchange in ("both", "tokens")] +
                       [{"name": "replicas", "group": 2, "partition": partition, "pooling": pooling, "sums": sums, "neighbours": near}
                        for partition in ("column", "row") for pooling, sums, near in (("sum", "dense", "replicas"), ("padded", "rows", "group"))])
    out, _ = execute(4, scenario(folder, schemes, trace=str(folder / "bags.safetensors"), placement=place, iterations="0:1"), "--format", "json")
    [*points] = json.loads(out)["points"]
    assert len(points) >= len(schemes)
    for point in points:
        check_point(point, 4, 1)


@test
def uniform_tensor(folder):
    uniform = {"uniform": {"rows": 120, "row_width": 8, "density": "10%", "overlap": "random"}}
    out, _ = execute(3, scenario(folder, ["allreduce", "allgather", "alltoall"], trace=uniform, iterations="0:1"),
                     "--format", "json")
    for point in json.loads(out)["points"]:
        assert point["exact"] and point["equal"], point


# --- bad input: all ranks end, with status 2 ------------------------------------------------------------------


def refused(ranks, *arguments, says, status=2):
    out, err = execute(ranks, *arguments, status=status)
    assert out == "", f"wrote {out[:80]!r}"
    assert says in err, f"said {err!r}, not {says!r}"
    assert sum(line.startswith("sparsync exec: ") and ": warning: " not in line for line in err.splitlines()) == 1, f"several ranks spoke: {err!r}"


@test
def more_ranks_than_the_trace(folder):
    refused(RANKS + 1, scenario(folder, ["allgather"]), says=str(RANKS))


@test
def repeats_that_are_none(folder):
    for text in ("0", "102", "-1", "x"):
        refused(2, scenario(folder, ["allgather"]), "--repeats", text, says="--repeats")
    refused(2, scenario(folder, ["allgather"]), "--device", "quik", says="quick")


@test
def unknown_scheme(_folder):
    refused(2, "--trace", BIBLE, "--scheme", "allgater", says="allgather")


@test
def unknown_option(_folder):
    refused(2, "--trase", BIBLE, says="--trace")


@test
def ranks_are_those_of_mpirun(folder):
    for said in (("--ranks", 2), ("--set", "ranks=2")):
        refused(2, scenario(folder, ["allgather"]), *said, says="mpirun says how many")


@test
def no_trace(folder):
    refused(2, "--trace", folder / "none", "--scheme", "allgather", says="none")


@test
def trace_on_one_rank_only(folder):
    """Only rank 0 finds its trace: the others must not leave it waiting."""
    write_trace(folder / "trace.safetensors")
    script = folder / "as_rank"
    script.write_text('#!/bin/sh\n[ "${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}" = 0 ] && cd "$0.good"\nexec "$@"\n')
    script.chmod(0o755)
    good = folder / "as_rank.good"
    good.mkdir()
    write_trace(good / "here")
    command = [*mpi.with_mpirun(3), script, PROGRAM, "exec", "--trace", "here", "--scheme", "allgather"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=tap.HANG, env=ENVIRONMENT, cwd=folder)
    assert done.returncode == 2 and done.stdout == "", done
    assert "rank 1 of 3" in done.stderr and "here" in done.stderr, done.stderr


def as_ranks(folder, ranks, others, *arguments):
    """`sparsync exec ARGUMENTS`, but rank 1 runs what the shell's lines `others` make of it."""
    script = folder / "as_rank"
    script.write_text(f'#!/bin/sh\nif [ "${{OMPI_COMM_WORLD_RANK:-${{PMI_RANK:-0}}}}" = 1 ]; then\n{others}\nfi\nexec "$@"\n')
    script.chmod(0o755)
    command = [*mpi.with_mpirun(ranks), script, PROGRAM, "exec", *arguments]
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=tap.HANG, env=ENVIRONMENT, cwd=folder)


@test
def ranks_that_disagree(folder):
    write_trace(folder / "trace.safetensors")
    (folder / "other").mkdir()
    other = write_trace(folder / "other" / "trace.safetensors")
    data = bytearray(other.read_bytes())
    data[-4] ^= 1  # another row
    other.write_bytes(data)
    for others in ('cd other', 'set -- "$@" --iterations 0:1', 'set -- "$@" --repeats 2', 'set -- "$@" --set sizes=free',
                   'set -- "$1" exec --trace trace.safetensors --scheme allgather',
                   'set -- "$1" exec --trace trace.safetensors --scheme allgather,ps,allreduce'):
        done = as_ranks(folder, 3, others, "--trace", "trace.safetensors", "--scheme", "allgather,ps")
        assert done.returncode == 2 and done.stdout == "", (others, done)
        assert "rank 1 of 3: this rank was given another scenario" in done.stderr, (others, done.stderr)


@test
def a_rank_that_never_starts(folder):
    write_trace(folder / "trace.safetensors")
    done = as_ranks(folder, 3, "kill -KILL $$", "--trace", "trace.safetensors", "--scheme", "allgather")
    assert done.returncode != 0 and "allgather" not in done.stdout, done  # MPICH's words are on stdout


@test
def a_rank_that_is_killed(folder):
    """In the middle of hours of work: the run cannot be over first."""
    path = scenario(folder, ["allreduce", "topka"], trace={"gradient": {"elements": 300000, "iterations": 1 << 20}}, iterations=1 << 20)
    command = [*mpi.with_mpirun(3), PROGRAM, "exec", path, "--format", "json", "-o", folder / "out.json"]
    with subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT) as run:
        ranks = tap.wait_for(lambda: len(found := mpi.children(run.pid, PROGRAM)) == 3 and found)
        tap.wait_for(lambda: mpi.seconds(ranks[1]) > 0.5)  # more than it takes to start: in the middle of an iteration
        assert run.poll() is None, run.poll()
        os.kill(ranks[1], signal.SIGKILL)
        out, err = run.communicate(timeout=tap.HANG)
    assert run.returncode != 0 and re.search("signal 9|Killed", out + err), (run.returncode, out, err)
    assert not (folder / "out.json").exists()
    tap.wait_for(lambda: not any(mpi.alive(rank) for rank in ranks))


@test
def too_many_servers(folder):
    refused(2, scenario(folder, [{"name": "ps", "servers": 3}]), says="servers")


@test
def broadcasts_go_in_pieces(folder):
    """Blocks of up to 2.6 MB: pieces are passed on before all are there."""
    draw = random.Random(5)
    lookups_of = [[draw.randrange(90) for _ in range(count)] for count in (150, 0, 20, 60)]
    trace = traces.write(folder / "wide.safetensors", [(traces.tensor("T", 90, 8192, "F32"), lookups_of)], 4)
    path = folder / "wide.json"
    settings = labelled([{"name": name, "sizes": sizes} for name in ("allgather", "sparcml-split") for sizes in ("free", "exchanged")])
    path.write_text(json.dumps({"trace": str(trace), "cluster": CLUSTER, "schemes": settings, "ragged": "broadcasts"}))
    out, _ = execute(4, path, "--format", "json", "--repeats", 2)
    check_points(json.loads(out)["points"], settings, 4, 1)


@test
def what_the_wire_cannot_carry(folder):
    refused(2, scenario(folder, [{"name": "allgather", "index_bytes": 0}]), says="index_bytes")
    refused(2, scenario(folder, [{"name": "alltoall", "granularity": "element"}]), says="granularity")
    write_trace(folder / "half.safetensors", "F16")
    refused(2, "--trace", folder / "half.safetensors", "--scheme", "allgather", says="single-precision")


STAND_IN = PROGRAMS / "gpu_stand_in"


def on_gpus(ranks, path, status=0, **environment):
    """exec --gpu-buffers by the program whose GPU is loops, and whose MPI takes payloads from that memory alone."""
    command = [*mpi.with_mpirun(ranks), STAND_IN, "exec", path, "--gpu-buffers", "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=tap.HANG, env={**ENVIRONMENT, **environment})
    assert done.returncode == status, f"status {done.returncode}, not {status}: {done.stderr[-2000:]}"
    return json.loads(done.stdout)["points"] if status == 0 else done.stderr


def sums_on_gpus(point):
    """Every sum but those of lookups as they are, of boundaries (oktopk), of sketches (s2), of residuals and of dense pieces, for which
    lists stand (replicas); no other kernel. Residuals are dense: a scheme that keeps them makes dense sums of both sorts."""
    assert point["copies_s"] > 0, point
    for name, kernel in point["kernels"].items():
        theirs = name == "merge_sum" or name == "dense_add" and point["scheme"] not in ("oktopk", "s2", "replicas")
        held = name == "dense_add" and point["scheme"] in ("topka", "topkdsa", "gtopk", "spardl")
        assert kernel["on_gpu"] == (kernel["calls"] if theirs else 0) or theirs and "False" in point["label"] or (
            held and kernel["on_gpu"] <= kernel["calls"]), point
    return sum(kernel["on_gpu"] for kernel in point["kernels"].values())


@test
def messages_in_memory_of_gpus(folder):
    """What comes is exact, and each payload was in the GPU's memory; sums are made there."""
    settings = a_third(all_options(3), 1)
    points = on_gpus(3, scenario(folder, settings))
    check_points(points, settings, 3)
    assert sum(map(sums_on_gpus, points)) > 0
    settings = a_third(all_values(3), 1)
    points = on_gpus(3, scenario(folder, settings, "values.json", trace={"gradient": NORMAL}, iterations=2))
    check_points(points, settings, 3)
    assert sum(map(sums_on_gpus, points)) > 0


@test
def gpus_add_more_operands_than_their_kernels_take(folder):
    settings = labelled([{"name": "allgather"}, {"name": "ps", "servers": 1}])
    points = on_gpus(10, scenario(folder, settings, trace={"uniform": {"rows": 400, "row_width": 3, "density": "20%"}}, iterations=1))
    check_points(points, settings, 10, 1)
    assert all(sums_on_gpus(point) > 0 for point in points)


@test
def gpus_add_no_rows_that_come_twice(folder):
    """Their kernels take distinct rows: who finds the place of a row that comes twice adds to what another writes."""
    point, = on_gpus(3, scenario(folder, labelled([{"name": "allgather", "coalesce": False}]), trace=str(BIBLE), iterations=1))
    check_point(point, 3, 1)
    assert point["kernels"]["merge_sum"]["calls"] > 0 == point["kernels"]["merge_sum"]["on_gpu"], point


@test
def gpu_buffers_that_cannot_be(folder):
    path = scenario(folder, ["allreduce"])
    told = on_gpus(2, path, 3, SPARSYNC_MPI_WITHOUT_CUDA="1")
    assert "does not take pointers to a GPU's memory" in told and "rank" not in told.split("--gpu-buffers")[0], told
    told = execute(2, path, "--gpu-buffers", status=2)[1] if "built without CUDA" in subprocess.run(
        [PROGRAM, "calibrate", "kernels", "--device", "cuda"], capture_output=True, text=True, check=False).stderr else None
    assert told is None or "--gpu-buffers: this sparsync was built without CUDA" in told, told


@test
def patterns_of_broadcasts_and_reductions_carry_what_they_say(folder):
    """patterns.c's program plays their rounds with data."""
    for ranks in (2, 3, 4, 5, 6, 8):
        done = subprocess.run([*mpi.with_mpirun(ranks), PROGRAMS / "patterns"], capture_output=True, text=True, timeout=tap.HANG, env=ENVIRONMENT)
        assert done.returncode == 0, done.stderr[-2000:]


@test
def what_a_rank_sends_wrong_is_seen(folder):
    """wrong.c harms one message of one rank: a value of the run that is timed (other runs are not proven), or its time."""
    trace = {"uniform": {"rows": 64, "row_width": 4, "density": "1/4", "overlap": "full"}}

    def harmed(scheme, rank, message, how):
        command = [*mpi.with_mpirun(2), "env", f"LD_PRELOAD={PROGRAMS / 'wrong.so'}", f"SPARSYNC_WRONG={rank} {message} {how}", PROGRAM, "exec",
                   scenario(folder, [scheme], trace=trace), "--format", "json"]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=tap.HANG, env=ENVIRONMENT)
        if how == "size":
            return "announced what cannot be sent" not in done.stderr
        point, = json.loads(done.stdout)["points"]
        assert done.returncode == (0 if point["exact"] else 1), done.stderr[-500:]
        assert point["exact"] or f"{scheme} is not exact: rows [" in done.stderr, done.stderr[-500:]
        return point["exact"]

    for scheme in ("allgather", "sparcml-rd") if (PROGRAMS / "wrong.so").exists() else ():
        for rank in (0, 1):
            assert not all(harmed(scheme, rank, message, "value") for message in (2, 3, 1, 4, 0)), (scheme, rank)
            assert not all(harmed(scheme, rank, message, "size") for message in (0, 1)), (scheme, rank)
        assert harmed(scheme, 1, 2, "late"), scheme


@test
def full_disk(folder):
    refused(2, scenario(folder, ["allgather"]), "-o", "/dev/full", status=3, says="/dev/full")


mpi.on_one_core()
sys.exit(tap.run(TESTS, mpi.why_not(PROGRAM)))
# SPDX-License-Identifier: Apache-2.0
