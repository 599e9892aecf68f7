#!/usr/bin/python3
"""`sparsync calibrate network` of several logs at once, and `--validate`: machines are made up here, by closed forms of
their own and with noise; the fit must find them again, and tell how good it is. Arguments: the program, the source
tree. Prints TAP."""
import csv
import functools
import io
import json
import math
import random
import statistics
import sys

import tap
from asking import PROGRAM, ROOT, ask
from tap import test

NOISE = 0.03

# A machine of one task a node: links by pieces, (up to, latency, bandwidth); s a byte that is added; s a byte of new pages.
PIECES = [(8192, 2e-6, 1.5e9), (math.inf, 9e-6, 12e9)]
SUM, PAGE, GIVEN_BACK = 1.5e-10, 4e-10, 32 << 20
call = functools.partial(ask, "calibrate", "network")


# --- what the machine would take --------------------------------------------------------------------------------------


def message(size):
    _, alpha, bandwidth = next(p for p in PIECES if size <= p[0])
    return alpha + size / bandwidth


def pages(buffers, size):
    return PAGE * buffers * size if size >= GIVEN_BACK else 0


def halves(size, ranks):
    return [math.ceil(size / 2**t) for t in range(1, int(math.log2(ranks)) + 1)]


def takes(collective, algorithm, ranks, size):
    """Of powers of two; copies take 2/3 of a sum, buffers of 32 MiB are new, doubling copies twice, and what halves receive fills half of one."""
    block, rounds, copied = math.ceil(size / ranks), int(math.log2(ranks)), size * SUM * 2 / 3
    ring = (ranks - 1) * message(block)
    doubling = sum(map(message, halves(size, ranks)))
    sums = sum(halves(size, ranks)) * SUM
    return {("allgather", "ring"): ring, ("allgather", "recursive_doubling"): doubling,
            ("allreduce", "ring"): copied + 2 * ring + (ranks - 1) * block * SUM,
            ("allreduce", "recursive_doubling"): 2 * copied + pages(1, size) + rounds * (message(size) + size * SUM),
            ("allreduce", "rabenseifner"): copied + pages(0.5, size) + 2 * doubling + sums,
            ("reduce_scatter", "ring"): copied + pages(1, size) + ring + (ranks - 1) * block * SUM,
            ("reduce_scatter", "recursive_halving"): copied + pages(1.5, size) + doubling + sums}[collective, algorithm]


ALGORITHMS = [("allgather", "ring"), ("allgather", "recursive_doubling"), ("allreduce", "ring"), ("allreduce", "recursive_doubling"),
              ("allreduce", "rabenseifner"), ("reduce_scatter", "ring"), ("reduce_scatter", "recursive_halving")]
HEAD = "system,nodes,tasks_per_node,collective,algorithm,library,vector_bytes,median_s\n"


def rows(seed, nodes=(4, 16, 64), outliers=6, system="made"):
    draw, lines = random.Random(seed), []
    for ranks in nodes:
        for collective, algorithm in ALGORITHMS:
            for exponent in range(12, 29, 2):
                time = takes(collective, algorithm, ranks, 1 << exponent) * math.exp(draw.gauss(0, NOISE))
                lines.append([system, ranks, 1, collective, algorithm, "made", 1 << exponent, time])
    for line in draw.sample(lines, outliers):
        line[-1] *= 4
    return lines


def table(folder, lines, name="t.csv"):
    path = folder / name
    path.write_text(HEAD + "".join(",".join(map(str, line)) + "\n" for line in lines))
    return path


# --- fits -------------------------------------------------------------------------------------------------------------


def within(value, truth, share, what):
    assert abs(value / truth - 1) <= share, f"{what}: {value}, not {truth}"


@test
def one_cluster_of_many_collectives(folder):
    path = table(folder, rows(1))
    cluster = json.loads(call(path, "--device-output", folder / "d.json", "--name", "made").stdout)
    assert cluster["name"] == "made" and cluster["model"] == "fair" and cluster["gpus_per_node"] == 1
    small, large = cluster["segments"]
    assert 4096 <= small["up_to"] <= 8192, small
    for segment, (_, alpha, bandwidth) in zip((small, large), PIECES):
        within(segment["latency"], alpha, 0.1, "latency")
        within(segment["bandwidth"], bandwidth, 0.05, "bandwidth")
    memory = cluster["notes"]["memory"][-1]
    within(memory["sum_per_byte"], SUM, 0.1, "sums")
    within(memory["page_per_byte"], PAGE, 0.15, "pages")
    far = {line["line"] for line in cluster["notes"]["outliers"]}
    lines = rows(1)
    planted = {i + 2 for i, line in enumerate(lines) if line[-1] > 2 * takes(line[3], line[4], line[1], line[6])}
    assert planted <= far and len(far) < 3 * len(planted), f"outliers {far}, planted {planted}"
    device = json.loads((folder / "d.json").read_text())
    within(3 * device["kernels"]["dense_add"]["per_byte"], SUM, 0.1, "the device's sums")
    (folder / "c.json").write_text(json.dumps(cluster))
    ask("run", "--trace", ROOT / "traces" / "bible-kjv-16.safetensors", "--scheme", "allgather", "--iterations", 1, "--cluster", folder / "c.json",
        "--device", folder / "d.json")


@test
def what_is_predicted_alike_is_not_ranked(folder):
    """Of 15 ranks, which exchange with no neighbours but play the ring: whichever was faster, no pair is right."""
    for slower in ("ring", "neighbor_exchange"):
        lines = [["made", 15, 1, "allgather", algorithm, "made", 1 << e, 14 * message(2**e / 15) * (3 if algorithm == slower else 1)]
                 for algorithm in ("ring", "neighbor_exchange") for e in range(14, 26)]
        report = json.loads(call(table(folder, lines), "--validate", "--leave-out", "nothing", "--format", "json").stdout)
        assert report["pairs"] == 12 and report["pairs_right"] == 0, (slower, report["pairs"], report["pairs_right"])


CARDS, CARD, EXCHANGE = 4, 25e9, (20e-6, 11e9)


def nccl(collective, tool, nodes, per_node, seed, hardware="NVIDIA H100"):
    """A ring for each card that is used; exchanges one message after the other, each at a rate of its own."""
    draw, ranks = random.Random(seed), nodes * per_node
    lines = [f"# nThread 1 nGpus 1 minBytes 1024\n# Collective test starting: {tool}"]
    lines += [f"#  Rank {r:2d} Group  0 Pid 1 on node{r // per_node:03d} device {r % per_node} [0x0{r % per_node}] {hardware}" for r in range(ranks)]
    lines.append("#       size  count  type  redop  root  time  algbw  busbw #wrong  time  algbw  busbw #wrong")
    for exponent in range(12, 31):
        size = 1 << exponent
        hop = 6e-6 + size / ranks / per_node / CARD
        seconds = {"allreduce": 2 * (ranks - 1) * hop, "allgather": (ranks - 1) * hop,
                   "alltoall": (ranks - 1) * (EXCHANGE[0] + size / ranks / EXCHANGE[1])}[collective]
        seconds *= math.exp(draw.gauss(0, NOISE))
        bus = (2 if collective == "allreduce" else 1) * (ranks - 1) / ranks * size / seconds / 1e9
        cells = f"{seconds * 1e6:.2f} {size / seconds / 1e9:.4f} {bus:.4f} 0"
        lines.append(f"{size} {size // 4} float none -1 {cells} {cells}")
    return "\n".join([*lines, "# Avg bus bandwidth : 1", f"# Collective test concluded: {tool}", ""])


@test
def cards_are_found_by_runs_that_use_some_gpus(folder):
    """Several runs in a file, several files, nodes used in part."""
    (folder / "a.log").write_text("".join(nccl("allgather", "all_gather_perf", 8, g, g) for g in (1, 2, 4)))
    (folder / "b.log").write_text(nccl("allreduce", "all_reduce_perf", 4, 4, 5) + nccl("alltoall", "alltoall_perf", 8, 1, 6))
    done = call(folder / "a.log", folder / "b.log", "-o", folder / "c.json")
    cluster = json.loads((folder / "c.json").read_text())
    assert cluster["nics"] == CARDS and cluster["gpus_per_node"] == 4 and cluster["window"] == 1, cluster
    within(cluster["bandwidth"], CARD, 0.03, "a card")
    within(cluster["latency"], 6e-6, 0.06, "a start-up")
    within(cluster["exchange"]["bandwidth"], EXCHANGE[1], 0.03, "exchanges")
    within(cluster["exchange"]["latency"], EXCHANGE[0], 0.06, "start-ups of exchanges")
    assert set(cluster["notes"]["assumes"]) == {"allgather: ring", "allreduce: ring", "alltoall: linear"}
    assert "4 GPUs with 4 cards" in done.stderr and "supposed" in done.stderr
    assert "estimated" in cluster["source"]["intra"]
    said = cluster["accuracy"]
    assert said["collective"]["groups"] > 0 and not said["pooled"], said
    assert (f"half of the times of a collective that was not are within a factor of {said['collective']['half']:.3g}, "
            f"90% within {said['collective']['most']:.3g}") in done.stderr, (said, done.stderr)


@test
def a_file_of_runs_is_as_many_files(folder):
    parts = [nccl("allgather", "all_gather_perf", 8, 1, 1), nccl("allreduce", "all_reduce_perf", 8, 1, 2)]
    (folder / "both.log").write_text("".join(parts))
    for i, part in enumerate(parts):
        (folder / f"{i}.log").write_text(part)
    one = json.loads(call(folder / "both.log").stdout)
    two = json.loads(call(folder / "0.log", folder / "1.log").stdout)
    assert one["latency"] == two["latency"] and one["bandwidth"] == two["bandwidth"] and one["notes"]["fit"] == two["notes"]["fit"]


NODES, GPUS = 4, 8
MACHINE = {"name": "made", "model": "fair", "latency": "10us", "bandwidth": "89.7Gbit/s", "gpus_per_node": GPUS, "nics": 1, "window": "all",
           "intra": {"latency": "3us", "bandwidth": "600Gbit/s"}}


def played(folder, machine, seed, library="NCCL"):
    """What an all-reduce by a ring and an alltoall, posted at once, take on the machine, with noise, as a table of NCCL's times."""
    (folder / "machine.json").write_text(json.dumps(machine))
    draw, lines = random.Random(seed), ["system,library,nodes,gpus_per_node,collective,bytes,seconds"]
    for collective, algorithm in (("allreduce", "ring"), ("alltoall", "linear")):
        done = ask("collective", collective, "--algorithm", algorithm, "--cluster", folder / "machine.json", "--ranks", NODES * GPUS, "--sizes",
                   "1KiB:256MiB", "--format", "csv")
        for row in csv.DictReader(io.StringIO(done.stdout)):
            seconds = float(row["time_s"]) * math.exp(draw.gauss(0, NOISE))
            lines.append(f"Made Up 1,{library},{NODES},{GPUS},{collective},{row['bytes']},{seconds}")
    (folder / "played.csv").write_text("\n".join(lines) + "\n")
    return json.loads(call(folder / "played.csv", "--leave-out", "nothing").stdout)


@test
def exchanges_have_costs_only_where_times_tell(folder):
    """Eight ranks share a card, so that each has an eighth of it in a ring and in an exchange alike: an eighth of the card is no
    exchange's own rate. Where exchanges are slower than that, their rate and start-up are found."""
    for seed in (1, 2):
        cluster = played(folder, MACHINE, seed)
        assert "exchange" not in cluster and cluster["window"] == "all" and "exchange" in cluster["notes"]["tied"], cluster
        within(cluster["bandwidth"], 89.7e9 / 8, 0.03, "the card")
        within(cluster["latency"], 10e-6, 0.03, "a start-up")
        cluster = played(folder, {**MACHINE, "window": 1, "exchange": {"latency": "15us", "bandwidth": "4Gbit/s"}}, seed)
        assert "tied" not in cluster["notes"]
        window = {"all": math.inf}.get(cluster["window"], cluster["window"])  # so many at once, each so much slower, are the same
        within(cluster["exchange"]["bandwidth"] * window, 4e9 / 8, 0.03, "exchanges")
        within(cluster["exchange"]["latency"] / window, 15e-6, 0.03, "start-ups of exchanges")


COSTS = {"ring": {"ll": {"latency": 4e-6, "bandwidth": 2.7e9}, "simple": {"latency": 20e-6, "bandwidth": 19e9}},
         "tree": {"ll": {"latency": 9e-6, "bandwidth": 2e9}, "simple": {"latency": 11e-6, "bandwidth": 13e9}}, "start": {"ll": 12e-6, "simple": 50e-6}}
LIBRARY = {"name": "nccl", "version": "2.21", "cpu": "amd", "ll128": False, "channels": 2, "channel_bandwidth": "24GB/s"}
TUNED = {"name": "tuned", "model": "fair", "latency": "20us", "bandwidth": "19GB/s", "gpus_per_node": 4, "nics": 2, "window": 1,
         "exchange": {"latency": "6us", "bandwidth": "5GB/s"}, "intra": {"latency": "10us", "bandwidth": "152GB/s"}, "library": {**LIBRARY, "costs": COSTS}}


def tuned(folder, seed):
    """What calls take on a cluster of known costs by way and protocol, where the library's tuner chooses, with noise."""
    (folder / "tuned.json").write_text(json.dumps(TUNED))
    draw, lines = random.Random(seed), ["library,nodes,gpus_per_node,collective,bytes,seconds"]
    for nodes in (2, 8):
        for collective in ("allreduce", "allgather", "alltoall"):
            algorithm = ["--algorithm", "linear"] if collective == "alltoall" else []
            done = ask("collective", collective, *algorithm, "--cluster", folder / "tuned.json", "--ranks", 4 * nodes, "--sizes", "1KiB:256MiB",
                       "--format", "csv")
            for row in csv.DictReader(io.StringIO(done.stdout)):
                lines.append(f"NCCL,{nodes},4,{collective},{row['bytes']},{float(row['time_s']) * math.exp(draw.gauss(0, NOISE))}")
    (folder / "t.csv").write_text("\n".join(lines) + "\n")


@test
def a_tuner_says_what_was_played(folder):
    """With the library named, what each way and protocol costs is found again, and times of a collective that was left out are
    predicted as well as noise and priors allow; without it, no sizes tell what changes with the way."""
    tuned(folder, 1)
    named = ["--nics", "2", "--library", "nccl=2.21,cpu=amd,ll128=false"]
    cluster = json.loads(call(folder / "t.csv", *named, "--leave-out", "nothing", "-o", "-").stdout)
    library = cluster["library"]
    assert (library["channels"], library["channel_bandwidth"], library["version"]) == (2, 24e9, "2.21") and "tuner" in cluster["notes"]["chosen"]
    for way, protocol, cost, share in (("ring", "simple", "bandwidth", .03), ("ring", "simple", "latency", .1), ("ring", "ll", "bandwidth", .1),
                                       ("ring", "ll", "latency", .15), ("tree", "ll", "latency", .25)):
        within(library["costs"][way][protocol][cost], COSTS[way][protocol][cost], share, f"{way} {protocol} {cost}")
    within(library["costs"]["start"]["simple"], 50e-6, 0.25, "a call in Simple")
    within(cluster["exchange"]["bandwidth"], 5e9, 0.03, "exchanges")
    rings = json.loads(call(folder / "t.csv", "--nics", "2", "--leave-out", "nothing").stdout)
    assert cluster["notes"]["residual_median"] < rings["notes"]["residual_median"] / 4
    for wish, says in (("nccl", "NAME=VERSION"), ("openmpi=5", "nothing is known"), ("nccl=2.21,gpu=turing", "gpu")):
        assert says in call(folder / "t.csv", "--library", wish, status=2).stderr
    (folder / "c.json").write_text(json.dumps(cluster))
    ask("collective", "allreduce", "--cluster", folder / "c.json", "--ranks", 32, "--sizes", "16MiB:16MiB")


@test
def a_tuners_links_have_one_piece(folder):
    """What bends with the size is told by protocols: pings that bend split the links of others, not of NCCL with its tuner."""
    tuned(folder, 1)
    lines, draw = (folder / "t.csv").read_text(), random.Random(3)
    for size in (2 ** k for k in range(4, 29)):
        seconds = 6e-6 + size / 5e8 if size <= 32768 else 60e-6 + size / 19e9
        lines += f"NCCL,2,1,ping_pong,{size},{seconds * math.exp(draw.gauss(0, NOISE))}\n"
    (folder / "t.csv").write_text(lines)
    for named in (["--library", "nccl=2.21,cpu=amd,ll128=false"], []):
        cluster = json.loads(call(folder / "t.csv", "--nics", "2", *named, "--leave-out", "nothing").stdout)
        assert ("segments" in cluster) == (not named), cluster


@test
def tables_say_their_library_and_system(folder):
    """NCCL's alltoall is posted at once, MPI's goes pair by pair; and a cluster has its system's name."""
    for library, algorithm in (("NCCL", "linear"), ("nccl 2.21", "linear"), ("ompi", "pairwise")):
        cluster = played(folder, MACHINE, 1, library)
        assert f"alltoall: {algorithm}" in cluster["notes"]["assumes"] and cluster["name"] == "made-up-1", cluster


# --- validation -------------------------------------------------------------------------------------------------------


@test
def what_was_left_out_is_predicted(folder):
    path = table(folder, rows(2, outliers=0))
    for left, most in (("nothing", 0.04), ("collectives", 0.08), ("nodes", 0.06)):
        report = json.loads(call(path, "--validate", "--leave-out", left, "--format", "json").stdout)
        errors = {e["of"]: e for e in report["errors"]}
        everything = [abs(t["predicted_s"] / t["measured_s"] - 1) for t in report["times"]]
        assert len(everything) == errors["all"]["count"] == 3 * 7 * 9
        assert abs(statistics.median(everything) - errors["all"]["median_error"]) < 1e-12
        assert abs(max(everything) - errors["all"]["worst_error"]) < 1e-12
        assert errors["all"]["median_error"] <= most, f"{left}: {errors['all']}"
        assert report["pairs"] > 50 and report["pairs_right"] >= 0.97 * report["pairs"], report
        assert errors["allreduce ring"]["count"] == 27 and errors["16 nodes of 1"]["count"] == 63


@test
def all_from_a_few(folder):
    """Fitted to all-reduces of 4 nodes, everything else is predicted; what was fitted to is not among it."""
    path = table(folder, rows(9, outliers=0))
    report = json.loads(call(path, "--validate", "--fit-on", "collective=allreduce,nodes=4", "--fit-on", "collective=allgather,nodes=4",
                             "--format", "json").stdout)
    known = [t for t in report["times"] if t["predicted_s"] is not None]
    assert len(known) == 189 - 45 and not any(t["nodes"] == 4 and t["collective"] != "reduce_scatter" for t in known)
    assert report["errors"][0]["count"] == len(known) and report["errors"][0]["median_error"] < 0.15, report["errors"][0]
    for wish, says in (("colour=red", "colour"), ("a=b", '"a"'), ("zeal=b", "zeal"), ("nodes", "nodes"), ("collective=none", "could not"),
                       ("algorithm=none", "could not"), ("gpus_per_node=9", "could not")):
        done = call(path, "--validate", "--fit-on", wish, status=0 if says == "could not" else 2)
        assert says in done.stderr + done.stdout, done


@test
def what_was_left_out_was_not_seen(folder):
    """A collective that takes four times what the others say is off by as much, and draws nothing towards itself."""
    lines = rows(3, outliers=0)
    for line in lines:
        line[-1] *= 4 if line[3] == "allgather" else 1
    errors = {e["of"]: e for e in json.loads(call(table(folder, lines), "--validate", "--format", "json").stdout)["errors"]}
    within(1 - errors["allgather"]["median_error"], 0.25, 0.1, "predicted of measured")


@test
def one_collective_does_not_tell_sums(folder):
    """By three algorithms of an all-reduce it would, if each took what it is known to; beside all-gathers it does."""
    for collectives, told in ((["allreduce"], False), (["allreduce", "allgather"], True)):
        lines = [line for line in rows(21, outliers=0) if line[3] in collectives]
        cluster = json.loads(call(table(folder, lines), "--leave-out", "nothing", "-o", "-").stdout)
        assert ("supposed" in cluster["notes"]) != told, cluster["notes"]
        within(cluster["memory"]["sum_per_byte"], SUM if told else 1e-10, 0.1, collectives)


@test
def boundaries_do_not_follow_an_algorithm(folder):
    """Where algorithms differ from what they are known to take, pieces end at 4 and 64 KiB and 1 MiB; where none does, at the machine's own 8 KiB."""
    by = {"recursive_doubling": 1.3, "ring": 0.8}
    for differ, ends in ((False, {8192}), (True, {4096, 65536, 1048576})):
        lines = rows(22, outliers=0)
        for line in lines:
            line[-1] *= by.get(line[4], 1) if differ else 1
        segments = json.loads(call(table(folder, lines), "--leave-out", "nothing", "-o", "-").stdout)["segments"]
        assert {s["up_to"] for s in segments[:-1]} == ends, segments


def docs_module(name):
    sys.argv = [f"{name}.py", PROGRAM, str(ROOT)]
    sys.path.insert(0, str(ROOT / "docs"))
    return __import__(name)


@test
def ranges_are_those_of_a_second_program(folder):
    """Factors of each time that was left out, out of the errors of the part that it is predicted by: docs/make_coverage.py."""
    coverage = docs_module("make_coverage")
    priors = json.loads((ROOT / "models" / "measured" / "priors.json").read_text())["accuracy"]
    path = table(folder, rows(11, nodes=(4, 8, 32)))
    for way in ("collectives", "nodes", "sizes", "rows"):
        report = json.loads(call(path, "--validate", "--ranges", "--leave-out", way, "--format", "json").stdout)
        told = [t for t in report["times"] if t["predicted_s"] is not None]
        assert len(told) == 189, (way, len(told))
        both = [0, 0]
        for time, (error, factors) in zip(told, coverage.held(report, priors, priors["groups"])):
            for i, name in enumerate(("half", "most")):
                within(math.log(time[name]), factors[i], 1e-9, f"{way}, {time}: {name}")
                both[i] += error <= factors[i]
        for name, n in zip(("within_half", "within_most"), both):
            assert abs(report["errors"][0][name] - n / 189) < 1e-9, (way, name, report["errors"][0], n)
        of = {"collectives": {"collective"}, "nodes": {"measured"}, "sizes": {"measured"}, "rows": {"measured"}}[way]
        assert {t["class"] for t in told} == of, way
        doubled = {(t["nodes"], t["nodes_doubled"]) for t in told if way == "nodes"}
        assert doubled == ({(4, 1), (8, 0), (32, 2)} if way == "nodes" else set()), doubled


@test
def doublings_have_what_is_beyond_measured(folder):
    """What was measured is as far off as rows that are left out; the fewest nodes left out, one doubling away, add what their
    errors are beyond those of equal rank."""
    def levels(values):
        at = [(i + 0.5) / 20 * (len(values) - 1) for i in range(20)]
        return [values[int(x)] + (values[int(x) + 1] - values[int(x)]) * (x % 1) for x in at]

    def errors(*ways):
        return [[abs(math.log(t["predicted_s"] / t["measured_s"])) for t in reports[way]["times"]] for way in ways]
    lines = rows(15, nodes=(4, 8, 32), outliers=0)
    for line in lines:
        line[-1] *= 1.3 if line[1] == 4 else 1
    path = table(folder, lines)
    reports = {way: json.loads(call(path, "--validate", "--ranges", "--leave-out", way, "--format", "json").stdout) for way in ("nothing", "rows", "nodes")}
    seen = [t["class"] == "measured" and not t["nodes_doubled"] and not t["size_doubled"] for t in reports["rows"]["times"]]
    measured = levels(sorted(left if inside else fitted for fitted, left, inside in zip(*errors("nothing", "rows"), seen)))
    left = levels(sorted(e for e, t in zip(*errors("nodes"), reports["nodes"]["times"]) if t["nodes"] == 4))
    (part,) = reports["nothing"]["parts"]
    (group,) = (g for g in part if g["class"] == "measured")
    assert sum(seen) > 150 and group["times"] == len(lines) and sum(measured) > 1.02 * sum(levels(sorted(*errors("nothing"))))
    for got, all_ in zip(group["errors"], measured):
        within(got + 1, all_ + 1, 1e-9, f"{group}, {measured}")
    group = next(g for g in part if g["class"] == "doubling" and g["distance"] == 1)
    for got, all_, least in zip(group["errors"], left, measured):
        within(got + 1, math.sqrt(max(all_**2 - least**2, 0)) + 1, 1e-3, f"{group}, {left}, {measured}")


@test
def errors_are_found_by_class(folder):
    """Noise of 3% is what a fit as measured leaves; a collective that takes four times what others say is off by that much when it
    is left out; more nodes than were measured add nothing where the model is right."""
    lines = rows(12, outliers=0)
    for line in lines:
        line[-1] *= 4 if line[3] == "allgather" else 1
    report = json.loads(call(table(folder, lines), "--validate", "--ranges", "--leave-out", "nothing", "--format", "json").stdout)
    (part,) = report["parts"]
    assert {group["class"] for group in part} == {"measured", "collective", "doubling", "sizes"}, part
    medians = sorted(group["errors"][10] for group in part if group["class"] == "collective")
    within(medians[-1], math.log(4), 0.1, "allgather left out")
    quiet = json.loads(call(table(folder, rows(13, outliers=0)), "-o", "-").stdout)["accuracy"]
    within(math.log(quiet["measured"]["half"]), 0.6745 * NOISE, 0.2, "half of the times")
    within(math.log(quiet["measured"]["most"]), 1.645 * NOISE, 0.2, "90% of the times")
    assert quiet["collectives"] == ["allreduce", "allgather", "reduce_scatter"] and quiet["kinds"] == ["chain"]
    assert quiet["nodes"] == [4, 64] and quiet["bytes"] == [1 << 12, 1 << 28] and not quiet["pooled"]
    assert quiet["measured"]["times"] == 189 and quiet["collective"]["groups"] == 3 and quiet["doubling"]["groups"] == 4, quiet  # 16 from 4; 64 from 16 and from 4; 4 from 16


@test
def what_was_not_judged_takes_others_errors(folder):
    """One collective alone, or nothing left out: classes are those that all machines have in common."""
    coverage = docs_module("make_coverage")
    priors = json.loads((ROOT / "models" / "measured" / "priors.json").read_text())["accuracy"]
    path = table(folder, rows(14))
    for options in (["--leave-out", "nothing"], ["--where", "collective=allgather", "--where", "tasks_per_node=1"]):
        accuracy = json.loads(call(path, *options, "-o", "-").stdout)["accuracy"]
        for name in ("collective", "kind"):
            for i, key in enumerate(("half", "most")):
                factor = math.exp(coverage.classes([], priors, 1)[name][i])
                within(accuracy[name][key], factor, 1e-3, f"{options}: {name} {key}")
        assert accuracy["pooled"] == (options[0] == "--leave-out"), options
    for option in (["--ranges"], ["--leave-out", "rows"], ["--leave-out", "sizes"], ["--leave-out", "nodes"]):
        assert "--validate" in call(path, *option, status=2).stderr, option
    assert "in 90% ranges" not in call(path, "--validate").stdout and "in 90% ranges" in call(path, "--validate", "--ranges").stdout


@test
def in_every_format(folder):
    path = table(folder, rows(4, nodes=(4, 16)))
    done = call(path, "--validate", "--figure", folder / "f.svg")
    assert "each collective predicted from the others" in done.stdout and "ranked right" in done.stdout
    assert "<svg" in (folder / "f.svg").read_text() and "reduce_scatter" in (folder / "f.svg").read_text()
    assert "| allgather | 36 |" in call(path, "--validate", "--format", "markdown").stdout
    read = list(csv.DictReader(io.StringIO(call(path, "--validate", "--format", "csv").stdout)))
    assert len(read) == 126 and float(read[0]["predicted_s"]) > 0 and read[0]["collective"] == "allgather"
    call(path, "--validate", "--format", "json", "-o", folder / "v.json")
    assert json.loads((folder / "v.json").read_text())["left_out"] == "collectives"


@test
def what_cannot_be_told_is_said(folder):
    """One number of nodes: nothing is left to fit to."""
    done = call(table(folder, rows(5, nodes=(16,))), "--validate", "--leave-out", "nodes")
    assert "could not be predicted" in done.stdout and "too few" in done.stdout


@test
def shipped_clusters_are_what_their_measurements_make(folder):
    """Each cluster that docs/make_validation.py makes, fitted again; the docs name each machine."""
    make_validation = docs_module("make_validation")
    links = ("latency", "bandwidth", "segments", "exchange", "intra", "nics", "window", "gpus_per_node")
    for name, (arguments, _) in make_validation.CLUSTERS.items():
        shipped = json.loads((ROOT / "models" / "clusters" / f"{name}.json").read_text())
        made = make_validation.rounded(json.loads(make_validation.call(*arguments, "--name", name, "--quiet", "--leave-out", "nothing")))
        for key in (*links, *(["library"] if "--library" in arguments else [])):
            alike(shipped.get(key), made.get(key), f"{name}: {key}")
        assert made["accuracy"]["pooled"], "judged unasked"
        assert not shipped["accuracy"]["pooled"] and name in shipped["notes"]["made_by"]


def falls(link):
    """Whether a message takes longer than one of a byte more."""
    pieces = link.get("segments", [])
    return any(one["latency"] + one["up_to"] / one["bandwidth"] > then["latency"] + (one["up_to"] + 1) / then["bandwidth"]
               for one, then in zip(pieces, pieces[1:]))


@test
def longer_messages_take_no_less(folder):
    """Neither where times fall, as at a change of protocol, nor in any cluster that is shipped: none warns."""
    hop = lambda size: 40e-6 + size / 1e9 if size <= 8192 else 4e-6 + size / 10e9
    path = table(folder, [["made", n, 1, "allgather", "ring", "made", 1 << e, (n - 1) * hop((1 << e) / n)] for n in (4, 16) for e in range(12, 29)])
    call(path, "-o", folder / "falls.json")
    cluster = json.loads((folder / "falls.json").read_text())
    assert len(cluster["segments"]) > 1 and not falls(cluster), cluster
    for name in [folder / "falls.json", *sorted(path.stem for path in (ROOT / "models" / "clusters").glob("*.json"))]:
        heard = ask("collective", "ping_pong", "--cluster", name, "--sizes", "1KiB:1KiB").stderr
        assert not [line for line in heard.splitlines() if "warning" in line and "fitted on" not in line and "half of the times" not in line], heard


@test
def estimated_latencies_name_a_kin_that_was_measured(folder):
    """What the sources of the papers' clusters say of their nearest measured kin is what its measurements make."""
    clusters = {path.stem: json.loads(path.read_text()) for path in (ROOT / "models" / "clusters").glob("*.json")}
    call(ROOT / "models" / "measured" / "nccl.csv", "--where", "system=h100x8", "--leave-out", "nothing", "-o", folder / "h.json")
    kin = json.loads((folder / "h.json").read_text())
    last = kin["intra"]["segments"][0] if "segments" in kin["intra"] else kin["intra"]
    assert clusters["h100-8x8-400g"]["latency"] == f"{kin['latency'] * 1e6:.1f}us"
    assert clusters["h100-8x8-400g"]["intra"]["latency"] == f"{last['latency'] * 1e6:.1f}us"
    for name in ("rtx3090-100g-ib", "rtx2080-100g-ib"):
        said = clusters[name]["source"]["latency"]
        assert f"{kin['latency'] * 1e6:.1f} us a message of a ring, {kin['exchange']['latency'] * 1e6:.0f} us of an exchange" in said, said
    made = {}
    for setup in ("nccl_2_18.2024-04-29.setup1", "nccl_2_18.2024-04-29.setup5"):
        call(ROOT / "models" / "measured" / "nccl.csv", "--where", "system=polaris", "--where", f"setup={setup}", "--leave-out", "nothing", "-o", folder / "c.json")
        made[setup] = json.loads((folder / "c.json").read_text())
    first = lambda link: link["segments"][0]["latency"] if "segments" in link else link["latency"]
    tcp = 1e6 * first(made["nccl_2_18.2024-04-29.setup1"]["exchange"])
    for name in ("p3.16xlarge-25g", "rtx3090-10gbe", "rtx3090-1gbe"):
        assert f"{tcp:.0f} us a small message of an exchange" in clusters[name]["source"]["latency"], (name, tcp)
    plug_in = made["nccl_2_18.2024-04-29.setup5"]
    said = f"{1e6 * plug_in['latency']:.0f} us a message of a ring, {1e6 * plug_in['exchange']['latency']:.0f} us of an exchange"
    assert said in clusters["p3dn.24xlarge-100g"]["source"]["latency"], said


def alike(a, b, what):
    if isinstance(a, dict):
        assert a.keys() == b.keys(), what
        for key in a:
            alike(a[key], b[key], f"{what}.{key}")
    elif isinstance(a, list):
        assert len(a) == len(b), what
        for one, other in zip(a, b):
            alike(one, other, what)
    else:
        assert a == b or isinstance(a, float) and abs(a - b) <= 1e-5 * abs(b), f"{what}: {a}, not {b}"


# --- tables and logs that are not ---------------------------------------------------------------------------------------


def refused(folder, text, says, *options):
    path = folder / "bad.csv"
    path.write_text(text)
    done = call(path, *options, status=2)
    assert says in done.stderr and not done.stdout, f"said {done.stderr!r}, not {says!r}"


@test
def tables_that_cannot_be(folder):
    good = HEAD + "".join(",".join(map(str, line)) + "\n" for line in rows(6, outliers=0))
    second = good.split("\n")[1]
    refused(folder, good.replace("collective,", "collectives,"), '"collective"')
    refused(folder, good.replace("vector_bytes", "size"), "no column")
    refused(folder, good.replace(second, second.replace("allgather", "gossip")), 'line 2: no collective that is known: "gossip"')
    refused(folder, good.replace(second, second.replace("ring", "loop")), 'line 2: no such algorithm can be played: "loop"')
    refused(folder, good.replace(second, second[:-30]), "line 2: ")
    refused(folder, good.replace(second, second + ",x"), "more fields than the 8")
    refused(folder, good.replace(second, second.rsplit(",", 1)[0] + ",fast"), "expected seconds")
    refused(folder, good.replace(second, second.replace("made,4", "made,0")), "line 2")
    refused(folder, good.replace(second, second.replace("made,4", "other,4")), "--where system=other")
    refused(folder, good.replace(second, second.replace("made,4", "made,5000")), "line 2: 5000 ranks are more than can be played")
    refused(folder, good, "no column", "--where", "sytem=made")
    refused(folder, good, "COLUMN=VALUE", "--where", "made")
    refused(folder, good, "no times are left", "--where", "system=none")
    refused(folder, good, "no times are left", "--messages", "1TB")
    refused(folder, good.replace(second, '"' + second), "line 2")


@test
def quotes_and_conditions(folder):
    lines = rows(7) + rows(8, system="another")
    text = HEAD + "".join(",".join(map(str, line)) + "\n" for line in lines).replace("made,4", '"made",4').replace("\n", "\r\n")
    (folder / "t.csv").write_text(text)
    assert len(json.loads(call(folder / "t.csv", "--where", "system=made", "--where", "nodes=16", "--validate", "--format", "json").stdout)["times"]) == 63
    times = [json.loads(call(folder / "t.csv", "--where", "system=made", *least, "--validate", "--format", "json").stdout)["times"] for least in ([], ["--messages", "1MiB"])]
    assert 0 < len(times[1]) == sum(time["message_bytes"] >= 1 << 20 for time in times[0]) < len(times[0])


@test
def sizes_without_a_time_are_told(folder):
    log = nccl("allgather", "all_gather_perf", 8, 1, 1)
    row = next(line for line in log.split("\n") if line.startswith("4096 "))
    cells = row.split()
    for time in ("0.00", "N/A"):
        (folder / "x.log").write_text(log.replace(row, " ".join([*cells[:5], time, *cells[6:]])))
        done = call(folder / "x.log", "-o", folder / "c.json")
        number = 1 + log.split("\n").index(row)
        assert f"x.log: line {number}: no time of 4096 B: left out" in done.stderr, done.stderr
        assert json.loads((folder / "c.json").read_text())["notes"]["samples"] == 18


@test
def other_units_are_refused(folder):
    log = nccl("allgather", "all_gather_perf", 8, 1, 1)
    heads = next(line for line in log.split("\n") if line.startswith("#       size"))
    number = 2 + log.split("\n").index(heads)
    for unit in ("us", "ms"):
        (folder / "u.log").write_text(log.replace(heads, f"{heads}\n#        (B)    (elements)    ({unit})  (GB/s)  (GB/s)"))
        done = call(folder / "u.log", "-o", folder / "c.json", status=0 if unit == "us" else 2)
        assert unit == "us" or f'u.log: line {number}: the unit "(ms)"' in done.stderr, done.stderr
    (folder / "o.log").write_text("# OSU MPI Allreduce Latency Test v7.3\n# Size       Avg Latency(ms)\n4096 0.01\n8192 0.02\n")
    assert 'o.log: line 2: the unit "(ms)"' in call(folder / "o.log", "--ranks", 4, status=2).stderr


@test
def one_size_determines_nothing(folder):
    one = "".join(line + "\n" for line in nccl("allreduce", "all_reduce_perf", 8, 1, 1).split("\n") if not line[:1].isdigit() or line.startswith("4096 "))
    (folder / "x.log").write_text(one)
    assert "latency and bandwidth are not determined" in call(folder / "x.log", status=2).stderr


@test
def what_hardly_can_be_is_doubted(folder):
    fast = HEAD + "".join(f"made,8,1,allgather,ring,made,{1 << e},{7 * (1e-6 + (1 << e) / 8 / 900e9)}\n" for e in range(12, 31))
    (folder / "fast.csv").write_text(fast)
    assert "doubtful: no card between nodes has 7.2 Tbit/s" in call(folder / "fast.csv").stderr
    slow = HEAD + "".join(f"made,8,1,allgather,ring,made,{1 << e},{0.09 + 7 * (1 << e) / 8 / 9e9}\n" for e in range(12, 31))
    (folder / "slow.csv").write_text(slow)
    assert "doubtful: a start-up of 12.9 ms is no link's" in call(folder / "slow.csv").stderr
    wild = HEAD + "".join(f"made,8,1,allgather,ring,made,{1 << e},{(1 + 9 * (e % 2)) * 7 * (1e-6 + (1 << e) / 8 / 9e9)}\n" for e in range(12, 31))
    (folder / "wild.csv").write_text(wild)
    assert "doubtful: half of the times" in call(folder / "wild.csv").stderr


@test
def no_cost_is_below_zero(folder):
    """Times that grow faster than sizes would have a start-up below 0: it is held at 0."""
    text = HEAD + "".join(f"made,8,1,allgather,ring,made,{1 << e},{7 * ((1 << e) / 8) ** 1.03 / 9e9}\n" for e in range(14, 31))
    (folder / "t.csv").write_text(text)
    cluster = json.loads(call(folder / "t.csv").stdout)
    found = [link["latency"] for link in cluster.get("segments", [cluster])]
    assert min(found) == 0, found


@test
def suppositions_can_be_said(folder):
    (folder / "x.log").write_text(nccl("allreduce", "all_reduce_perf", 8, 1, 1))
    assert json.loads(call(folder / "x.log", "--suppose", "allreduce=rabenseifner").stdout)["notes"]["assumes"] == ["allreduce: rabenseifner"]
    for wish, says in (("allreduce=best", 'no algorithm "best"'), ("gather=tree", "COLLECTIVE=ALGORITHM")):
        assert says in call(folder / "x.log", "--suppose", wish, status=2).stderr


sys.exit(tap.run())
# SPDX-License-Identifier: Apache-2.0
