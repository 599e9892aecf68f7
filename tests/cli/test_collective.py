#!/usr/bin/python3
"""`sparsync collective` against closed forms. Arguments: the program, the source tree. Prints TAP."""
import csv
import functools
import io
import json
import math
import random
import subprocess
import sys

import tap
from asking import ENVIRONMENT, PROGRAM, ROOT, ask

ALPHA, RATE = 5e-6, 10e9
call = functools.partial(ask, "collective")


def flat(folder):
    path = folder / "c.json"
    path.write_text(json.dumps({"name": "flat", "latency": ALPHA, "bandwidth": RATE}))
    return path


def times_are_those_of_closed_forms(folder):
    """8 ranks, powers of two: rings, doublings and halvings; busbw as nccl-tests has it."""
    path, P = flat(folder), 8
    forms = {("allreduce", "ring"): lambda M: 2 * 7 * (ALPHA + M / 8 / RATE), ("allreduce", "recursive_doubling"): lambda M: 3 * (ALPHA + M / RATE),
             ("allreduce", "rabenseifner"): lambda M: 6 * ALPHA + 2 * M * 7 / 8 / RATE, ("allgather", "bruck"): lambda M: 3 * ALPHA + M * 7 / 8 / RATE,
             ("alltoall", "pairwise"): lambda M: 7 * (ALPHA + M / 8 / RATE), ("reduce_scatter", "recursive_halving"): lambda M: 3 * ALPHA + M * 7 / 8 / RATE,
             ("broadcast", "binomial"): lambda M: 3 * (ALPHA + M / RATE), ("broadcast", "scatter_allgather"): lambda M: 10 * ALPHA + 14 / 8 * M / RATE,
             ("reduce", "rabenseifner"): lambda M: 6 * ALPHA + 14 / 8 * M / RATE, ("reduce", "ring"): lambda M: (6 + max(1, M / 2**19)) * (ALPHA + min(M, 2**19) / RATE),
             ("ping_pong", "message"): lambda M: ALPHA + M / RATE}
    for (collective, algorithm), form in forms.items():
        answer = json.loads(call(collective, "--cluster", path, "--ranks", P, "--sizes", "1KiB:1MiB", "--format", "json").stdout)
        mine = [t for t in answer["times"] if t["algorithm"] == algorithm]
        assert [t["bytes"] for t in mine] == [1 << e for e in range(10, 21)] and answer["ranks"] == P
        for t in mine:
            factor = {"allreduce": 2 * 7 / 8, "ping_pong": 1, "broadcast": 1, "reduce": 1}.get(collective, 7 / 8)
            assert abs(t["time_s"] / form(t["bytes"]) - 1) < 1e-9, (collective, algorithm, t)
            assert abs(t["busbw_bytes_per_s"] * t["time_s"] / t["bytes"] / factor - 1) < 1e-9, t


def in_every_format(folder):
    path = flat(folder)
    table = call("all_reduce", "--cluster", path, "--sizes", "1MiB").stdout
    assert "8 ranks on 1 node\n" in ask("collective", "allreduce", "--cluster", "h100-8x8-400g", "--ranks", "8", "--sizes", "1KiB:1KiB").stdout
    assert "allreduce on flat, 16 ranks on 16 nodes" in table and all(name in table for name in ("ring", "recursive_doubling", "rabenseifner", "trees"))
    rows = list(csv.DictReader(io.StringIO(call("allgather", "--cluster", path, "--algorithm", "ring", "--sizes", "1KiB:4KiB", "--format", "csv").stdout)))
    assert [row["bytes"] for row in rows] == ["1024", "2048", "4096"] and rows[0]["algorithm"] == "ring" and float(rows[0]["time_s"]) > 0
    call("allgather", "--format", "json", "-o", folder / "a.json")
    assert json.loads((folder / "a.json").read_text())["cluster"] == "p3.16xlarge-25g"


def rings_and_chunks(folder):
    """As many rings as cards are as many times as fast; chunks make trees fast for large vectors."""
    path = folder / "c.json"
    path.write_text(json.dumps({"name": "cards", "latency": 1e-9, "bandwidth": RATE, "gpus_per_node": 4, "nics": 4, "intra": {"bandwidth": 100 * RATE, "latency": 0}}))

    def seconds(*options):
        return json.loads(call("allreduce", "--cluster", path, "--ranks", 16, "--sizes", "1GiB", "--format", "json", *options).stdout)["times"][0]["time_s"]

    assert abs(seconds("--algorithm", "ring", "--rings", 1) / seconds("--algorithm", "ring") / 4 - 1) < 1e-3
    trees = [json.loads(call("allreduce", "--algorithm", "trees", "--chunks", chunks, "--cluster", flat(folder), "--ranks", 64, "--sizes", "1GiB",
                             "--format", "json").stdout)["times"][0]["time_s"] for chunks in (1, 64)]
    assert trees[1] < trees[0] / 2, trees


def rings_are_as_many_as_cards(folder):
    """Between nodes that no MPI connects; what is played says so, also where NCCL chooses."""
    path = folder / "c.json"
    cluster = {"name": "cards", "latency": 1e-6, "bandwidth": RATE, "gpus_per_node": 4, "nics": 2, "intra": {"bandwidth": 100 * RATE, "latency": 0}}

    def times(collective, ranks, more, *options, form="json"):
        path.write_text(json.dumps({k: v for k, v in {**cluster, **more}.items() if v is not None}))
        return call(collective, "--cluster", path, "--ranks", ranks, "--sizes", "64MiB", "--format", form, *options).stdout

    nccl = {"library": {"name": "nccl", "version": "2.21", "cpu": "amd"}}
    for ranks, more, rings in ((16, {}, 2), (7, {}, 2), (4, {}, None), (16, {"model": "alpha-beta", "nics": None}, None), (16, {"library": {"name": "openmpi"}}, None),
                               (16, {"library": {"name": "cray-mpich"}}, None), (16, {"library": {"name": "gloo"}}, 2),
                               (16, {"memory": {"sum_per_byte": 1e-10}}, None), (16, nccl, 2)):
        for t in json.loads(times("allreduce", ranks, more, "--algorithm", "all", "--chunks", 3))["times"]:
            several = t["algorithm"] in ("ring", "trees")
            assert t.get("rings") == (rings if several else None) and t.get("chunks") == (3 if t["algorithm"] == "trees" else None), (ranks, more, t)
        said = [json.loads(times("allreduce", ranks, more, "--algorithm", "ring", *how))["times"] for how in ((), ("--rings", rings or 1))]
        assert said[0] == said[1], said
    assert "rings" in times("allreduce", 16, {}, form="table") and "rings" not in times("allreduce", 4, {}, form="table")
    assert [row["rings"] for row in csv.DictReader(io.StringIO(times("allgather", 16, {}, form="csv")))] == ["2", "", "", "", ""]
    (chosen,) = json.loads(times("allreduce", 16, nccl))["times"]
    assert chosen["rings"] == 2 and (chosen["algorithm"] == "ring") == ("chunks" not in chosen), chosen


def nccl_exchanges_as_a_group(folder):
    """Its alltoall is linear alone, and rings and chunks are of algorithms that one names."""
    nccl = ("--cluster", "h100-8x8-400g", "--sizes", "1MiB", "--format", "json")
    (alone,) = json.loads(call("alltoall", *nccl).stdout)["times"]
    (linear,) = json.loads(call("alltoall", *nccl, "--algorithm", "linear").stdout)["times"]
    assert alone == linear and alone["algorithm"] == "linear"
    assert [t["algorithm"] for t in json.loads(call("alltoall", *nccl, "--algorithm", "all").stdout)["times"]] == ["pairwise", "linear", "bruck"]
    assert len(json.loads(call("alltoall", "--cluster", flat(folder), "--sizes", "1MiB", "--format", "json").stdout)["times"]) == 3
    for collective in ("broadcast", "reduce"):  # of pieces of 512 KiB, a card's share in each ring
        (ring,) = json.loads(call(collective, "--cluster", "h100-8x8-400g", "--sizes", "64MiB", "--format", "json").stdout)["times"]
        assert (ring["algorithm"], ring["rings"], ring["chunks"]) == ("ring", 8, 16), ring
    for option in ("--rings", "--chunks"):
        for number in (1, 2):
            assert f"{option} needs --algorithm" in call("allreduce", *nccl, option, number, status=2).stderr
        call("allreduce", *nccl, option, 2, "--algorithm", "all")


def options_that_do_nothing_are_refused(folder):
    path = flat(folder)
    for said, option in (("allreduce", ("--algorithm", "rabenseifner", "--rings", 2)), ("allreduce", ("--algorithm", "rabenseifner", "--rings", 1)),
                         ("alltoall", ("--rings", 2)), ("sendrecv", ("--rings", 2)), ("ping_pong", ("--chunks", 2)), ("allreduce", ("--algorithm", "ring", "--chunks", 2)),
                         ("allgather", ("--chunks", 2)), ("allgather", ("--algorithm", "bruck", "--rings", 2))):
        done = call(said, "--cluster", path, *option, status=2)
        assert f"{option[-2]}: " in done.stderr and "has none; these have: " in done.stderr and "trees of allreduce" in done.stderr, (said, option, done.stderr)
        assert ("ring of allgather" in done.stderr) == (option[-2] == "--rings"), done.stderr
    call("allreduce", "--cluster", path, "--ranks", 4, "--sizes", "1KiB", "--rings", 2, "--chunks", 2, "--algorithm", "all")


def schemes_play_the_same_rings(folder):
    """On several clusters, numbers of ranks and cards, and windows: the scheme takes what the collective takes. Every rank has 64 rows."""
    trace, path = folder / "t.safetensors", folder / "cards.json"
    for name, ranks, nics, window in (("h100-8-measured", 64, 8, 2), ("h100-8-measured", 20, 8, 1), ("polaris", 32, 2, 1), ("polaris", 8, 2, "all"),
                                      ("h100-8x8-400g", 32, 8, 1), ("h100-8x8-400g", 16, 8, 4), ("p3.16xlarge-25g", 16, 1, 1),
                                      ("p3.16xlarge-25g", 24, 2, 1), ("p3.16xlarge-25g", 32, 4, 2), ("p3.16xlarge-25g", 16, 8, "all")):
        cluster = json.loads((ROOT / "models/clusters" / f"{name}.json").read_text())
        path.write_text(json.dumps({**cluster, "nics": nics, "window": window}))
        ask("trace", "synth", "--rows", 64 * ranks, "--ranks", ranks, "--iterations", 1, "--tokens", 64, "--distinct", 64, "--row-width", 63, "-o", trace)
        algorithm = ("--algorithm", "ring") if "library" in cluster else ()
        sizes = {"allreduce": 64 * ranks * 252, "allgather": 64 * ranks * 256}
        for rings in {1, nics}:
            said = ":algorithm=ring" if rings == nics else ":algorithm=ring,rings=1"
            points = json.loads(ask("run", "--trace", trace, "--cluster", path, "--ranks", ranks, "--format", "json", "--quiet",
                                    "--device", "none", "--set", "sizes=free", "--scheme", f"allreduce{said},allgather{said}").stdout)["points"]
            for point in points:
                how = algorithm if rings == nics else ("--algorithm", "ring", "--rings", rings)
                timed = json.loads(call(point["scheme"], "--cluster", path, "--ranks", ranks, *how, "--format", "json",
                                        "--sizes", sizes[point["scheme"]]).stdout)["times"][0]
                assert timed["algorithm"] == "ring" and timed.get("rings", 1) == rings, (name, ranks, nics, timed)
                assert point["exact"] and abs(point["time_s"] / timed["time_s"] - 1) < 1e-9, (name, ranks, nics, window, rings, point["time_s"], timed)


def hosts_wait_once_for_sizes(folder):
    """Of all rings together, and not for a scheme whose sizes are known; forms hold for lengths as they are and free sizes, of dense schemes always."""
    trace = folder / "t.safetensors"
    ask("trace", "synth", "--rows", 4096, "--ranks", 16, "--iterations", 1, "--tokens", 64, "-o", trace)
    said = ("run", "--trace", trace, "--cluster", "h100-8x8-400g", "--device", "none", "--format", "json", "--quiet", "--scheme", "allgather,zen,allreduce:algorithm=ring")
    (a, b, dense), (a1, b1, dense1) = ([p["time_s"] for p in json.loads(ask(*said, *more).stdout)["points"]] for more in ((), ("--set", "cluster.library.call=10ms")))
    assert abs(a1 - a - 10e-3) < 1e-3 and abs(b1 - b - 20e-3) < 1e-3 and dense1 == dense, (a1 - a, b1 - b)
    for lengths in ("sizes=free", "sizes=exchanged", "ragged=padded", "ragged=broadcasts"):
        points = json.loads(ask("run", "--trace", trace, "--cluster", flat(folder), "--format", "json", "--quiet", "--scheme", "allgather,zen,sparcml-rd,alltoall,allreduce,ps:dense=true",
                                "--set", lengths).stdout)["points"]
        assert [p["formula"] is not None for p in points] == 4 * [lengths == "sizes=free"] + 2 * [True], [p["formula"] for p in points]


def trainings_play_what_nccl_chooses(folder):
    """A training's dense all-reduce takes as long as the collective of its bytes; rings where the scenario says so."""
    cluster = {"name": "n", "latency": "30us", "bandwidth": "24GB/s", "gpus_per_node": 4, "nics": 2, "intra": {"latency": "3us", "bandwidth": "200GB/s"},
               "library": {"name": "nccl", "version": "2.21", "cpu": "amd"}}
    (folder / "n.json").write_text(json.dumps(cluster))
    said = ("train", "--workload", "spardl-resnet-20", "--system", "horovod-allreduce", "--ranks", 16, "--cluster", folder / "n.json", "--format", "json")
    tasks = [t for t in json.loads(ask(*said).stdout)["training"][0]["tasks"] if t["kind"] == "gradient"]
    assert tasks
    for task in tasks:
        size = round(task["bytes_total"] / 30)  # of either way: 2(P - 1) times the vector
        timed = json.loads(call("allreduce", "--cluster", folder / "n.json", "--ranks", 16, "--sizes", size, "--format", "json").stdout)["times"][0]
        assert task["algorithm"] == f"nccl {timed['algorithm']} {timed['protocol']}", (task, timed)
        assert abs(task["time_s"] / timed["time_s"] - 1) < 1e-3, (task, timed)
    rings = json.loads(ask(*said, "--set", "all_reduces=ring").stdout)["training"][0]["tasks"][0]
    assert "nccl" not in str(rings.get("algorithm")) and rings["time_s"] != tasks[0]["time_s"], rings


def within_memory(draw):
    """A cluster's costs by the size of the vector, and the function that has them."""
    limits = sorted(draw.sample(range(18, 29), draw.randrange(3)))
    pieces = [{"sum_per_byte": draw.uniform(1e-11, 1e-9), "page_per_byte": draw.uniform(0, 1e-9)} for _ in range(len(limits) + 1)]
    for piece, limit in zip(pieces, limits):
        piece["up_to"] = 2**limit

    def costs(bytes_):
        piece = next(p for p in pieces if bytes_ <= p.get("up_to", bytes_))
        return piece["sum_per_byte"], piece["page_per_byte"] * (bytes_ >= 2**25)

    return pieces[0] if not limits else {"pieces": pieces}, costs


def sums_copies_and_pages_take_their_time(folder):
    """On 8 ranks with links that take next to nothing: a copy is two of a sum's three accesses, buffers of 32 MiB come anew,
    and of those that halves are received in, half is written."""
    draw, path, P = random.Random(3), folder / "m.json", 8
    forms = {("allreduce", "ring"): lambda M, s, p: s * (2 / 3 + 7 / 8) * M, ("allreduce", "recursive_doubling"): lambda M, s, p: (p + s * (4 / 3 + 3)) * M,
             ("allreduce", "rabenseifner"): lambda M, s, p: (p / 2 + s * (2 / 3 + 7 / 8)) * M, ("allgather", "bruck"): lambda M, s, p: (p + s * 4 / 3) * M,
             ("reduce", "rabenseifner"): lambda M, s, p: (1.5 * p + s * (2 / 3 + 7 / 8)) * M,
             ("reduce_scatter", "recursive_halving"): lambda M, s, p: (1.5 * p + s * (2 / 3 + 7 / 8)) * M}
    for _ in range(5):
        memory, costs = within_memory(draw)
        path.write_text(json.dumps({"name": "m", "latency": 0, "bandwidth": 1e24, "memory": memory}))
        for (collective, algorithm), form in forms.items():
            for t in json.loads(call(collective, "--cluster", path, "--ranks", P, "--algorithm", algorithm, "--sizes", "48KiB:1GiB", "--format", "json").stdout)["times"]:
                assert abs(t["time_s"] / form(t["bytes"], *costs(t["bytes"])) - 1) < 1e-6, (collective, algorithm, memory, t)


def schemes_and_trainings_play_the_same_memory(folder):
    """Of vectors whose sums are in the last piece: a run's dense all-reduces take what collectives take, by rings of one card and of several; the
    memory is a device like others, which another takes the place of."""
    draw, path, trace = random.Random(4), folder / "m.json", folder / "t.safetensors"
    for per_node, ranks, rows in ((1, 8, 4096), (1, 16, 2048), (4, 8, 8192)):
        memory, _ = within_memory(draw)
        last = memory.get("pieces", [memory])[-1]
        memory = {"pieces": [{"sum_per_byte": 1, "up_to": 1e6}, last]} if "pieces" in memory else memory
        cluster = {"name": "m", "latency": 2e-6, "bandwidth": 9e9, "gpus_per_node": per_node, "nics": per_node, "memory": memory}
        path.write_text(json.dumps(cluster))
        ask("trace", "synth", "--rows", rows, "--ranks", ranks, "--iterations", 1, "--tokens", 64, "--distinct", 64, "--row-width", 4096, "-o", trace)
        said = ("run", "--trace", trace, "--ranks", ranks, "--format", "json", "--quiet", "--scheme")
        ways = "allreduce,allreduce:algorithm=rabenseifner"
        points = json.loads(ask(*said, ways, "--cluster", path).stdout)["points"]
        for point, algorithm in zip(points, ("ring", "rabenseifner")):
            played = json.loads(call("allreduce", "--cluster", path, "--ranks", ranks, "--algorithm", algorithm, "--format", "json", "--sizes", rows * 16384).stdout)["times"][0]["time_s"]
            assert point["exact"] and point["device"] == "m" and point["options"].get("rings", 1) == 1 and abs(point["time_s"] / played - 1) < 1e-9, (per_node, algorithm, point["time_s"], played)
            assert {name: kernel["estimated"] for name, kernel in point["kernels"].items()} == {"dense_add": False, "pack": True}
        del cluster["memory"]
        without = folder / "w.json"
        without.write_text(json.dumps(cluster))
        (folder / "d.json").write_text(json.dumps({"name": "d", "memory": memory}))
        times = [[p["time_s"] for p in json.loads(ask(*said, "allreduce:rings=1,allreduce:algorithm=rabenseifner", *where).stdout)["points"]] for where in
                 (("--cluster", path), ("--cluster", without, "--device", folder / "d.json"), ("--cluster", path, "--device", "none"), ("--cluster", without))]
        assert times[0] == times[1] and times[2] == times[3] and all(a > b for a, b in zip(times[0], times[2])), times
    trained = [json.loads(ask("train", "--workload", "spardl-resnet-20", "--system", "horovod-allreduce", "--ranks", 4, "--format", "json", "--cluster", "leonardo", *device).stdout)["training"][0]
               for device in ((), ("--device", "none"))]
    assert [t["device"] for t in trained] == ["leonardo", "none"] and trained[0]["communication_s"] > 1.2 * trained[1]["communication_s"], trained


def every_swept_cluster_has_its_own_device(folder):
    """Its memory, one that it names, one that it describes, or none: what one cell's cluster brings is gone in the next one's."""
    plain = {"name": "p", "latency": ALPHA, "bandwidth": RATE}
    for name, said in (("a", {}), ("b", {"device": "v100"}), ("c", {"device": {"like": "v100", "name": "slow", "slower": 9}}), ("d", {"device": "none", "memory": {"sum_per_byte": 1e-9}})):
        (folder / f"{name}.json").write_text(json.dumps({**plain, **said}))
    clusters = ["leonardo", *(str(folder / f"{name}.json") for name in "abcd"), "lumi"]
    ask("trace", "synth", "--rows", 4096, "--ranks", 8, "--iterations", 1, "--tokens", 64, "--row-width", 64, "-o", folder / "t.safetensors")
    said = ("run", "--trace", folder / "t.safetensors", "--scheme", "allreduce,ps", "--format", "json", "--quiet", "--cluster")
    told = lambda points: [(p["cluster"], p["device"], p["time_s"]) for p in points]
    together = told(json.loads(ask(*said, ",".join(clusters)).stdout)["points"])
    assert together == [p for name in clusters for p in told(json.loads(ask(*said, name).stdout)["points"])]
    assert [device for _, device, _ in together[::2]] == ["leonardo", "none", "v100", "slow (9 times slower)", "none", "lumi"]
    assert together[2:4] == together[8:10] and together[4][2] > together[2][2]
    for device, cluster in (("v100", clusters[2]), ("v100", "leonardo")):
        named = told(json.loads(ask(*said, cluster, "--device", device).stdout)["points"])
        assert [t for *_, t in named] == [t for *_, t in together[4:6]] or cluster == "leonardo", named
        assert {d for _, d, _ in named} == {"v100"}
    words = ask(*said[:5], "--quiet", "--cluster", clusters[2]).stdout
    assert "kernels as on v100 (estimated; --device none leaves them out)" in words, words
    assert "v100s" in call_of_nobody(folder, plain), "the file is named"


def call_of_nobody(folder, plain):
    (folder / "e.json").write_text(json.dumps({**plain, "device": "v100s"}))
    return ask("run", "--trace", folder / "t.safetensors", "--cluster", folder / "e.json", status=2).stderr


def memory_must_make_sense(folder):
    path = folder / "m.json"
    for memory, says in (({}, "sum_per_byte"), ({"sum_per_byte": -1}, "sum_per_byte"), ({"sum_per_byte": 1e-10, "pages": 1}, "page_per_byte"),
                         ({"pieces": []}, "1 to 4 pieces"), ({"pieces": [{"sum_per_byte": 1e-10}] * 2}, "up_to"), (3, "object"),
                         ({"pieces": [{"sum_per_byte": 1e-10, "up_to": 4}]}, "all larger vectors"), ({"pieces": [{"sum_per_byte": 1e-10}], "page_per_byte": 0}, "leave one of the two out"),
                         ({"pieces": [{"sum_per_byte": 1, "up_to": 4}, {"sum_per_byte": 1, "up_to": 4}, {"sum_per_byte": 1}]}, "not above the piece before")):
        path.write_text(json.dumps({"name": "m", "latency": 0, "bandwidth": 1e9, "memory": memory}))
        assert says in call("allreduce", "--cluster", path, status=2).stderr, memory
    (folder / "d.json").write_text(json.dumps({"name": "d", "memory": {"sum_per_byte": 1e-10}, "launch": 0}))
    assert '"launch"' in ask("run", "--trace", ROOT / "traces/bible-kjv-16.safetensors", "--cluster", "leonardo", "--device", folder / "d.json", status=2).stderr


def long_work_is_told_before_it_begins(folder):
    """P/2 rounds of P messages: of 16,384 ranks 1.3e8, as many for each size."""
    command = [PROGRAM, "collective", "allgather", "--algorithm", "neighbor_exchange", "--cluster", flat(folder), "--ranks", "16384", "--sizes", "1MiB:2MiB"]
    with subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as run:
        told = run.stderr.readline()
        run.kill()
    assert "about 2.7e+08 messages are to be played, most of them of neighbor_exchange" in told, told
    assert call("allgather", "--cluster", flat(folder), "--ranks", 64, "--sizes", "1MiB").stderr == ""


def jitter_is_left_out_with_a_word(folder):
    path, jitter = folder / "j.json", {"per": "pair", "bandwidth": [[0, 0.5], [1, 0.5]]}
    path.write_text(json.dumps({"name": "flat", "latency": ALPHA, "bandwidth": RATE, "jitter": jitter}))
    uneven, even = (call("allreduce", "--cluster", cluster, "--sizes", "1MiB") for cluster in (path, flat(folder)))
    assert uneven.stdout == even.stdout and "jitter" in uneven.stderr and not even.stderr


def drawn(dice, spread):
    """A factor of docs/ranges.md, "Ranges"."""
    u, half, most = dice.uniform(-1, 1), *map(math.log, spread)
    x = abs(u)
    return math.exp(math.copysign(half * x / .5 if x < .5 else half + (most - half) * (x - .5) / .4, u))


def part(spread, variance):
    return tuple(f**math.sqrt(variance) for f in spread)


def held(said, law):
    """A range that 1,000 draws gave, against the law: its 5% is where 1,000 draws have theirs, up to four deviations of that share."""
    law, off = sorted(law), 4 * math.sqrt(.05 * .95 / 1000)
    at = lambda share: law[round(share * (len(law) - 1))]
    assert at(.05 - off) <= said["time_low_s"] <= at(.05 + off), (said, at(.05))
    assert at(.95 - off) <= said["time_high_s"] <= at(.95 + off), (said, at(.95))


SOURCE = {"data sheet": (1.14, 1.5), "measured here": (1.1, 1.3), "estimated": (1.33, 2), None: (1, 1)}


def ranges_are_those_of_sources(folder):
    """On flat links of uncertain latency and bandwidth, by the parts that closed forms give; the model is each algorithm's own."""
    dice, path, P, seen = random.Random(5), folder / "u.json", 8, set()
    forms = {"ring": (14, 14 / 8), "recursive_doubling": (3, 3), "rabenseifner": (6, 14 / 8)}
    for latency, bandwidth in (("estimated", "data sheet"), ("measured here", None), (None, None), (None, "estimated")):
        source = {k: v for k, v in (("latency", latency), ("bandwidth", bandwidth)) if v}
        path.write_text(json.dumps({"name": "u", "latency": ALPHA, "bandwidth": RATE, "source": source}))
        said = ("allreduce", "--cluster", path, "--ranks", P, "--sizes", "32KiB:512KiB", "--format", "json")
        answer = json.loads(call(*said).stdout)["times"]
        sure = json.loads(call(*said, "--certain").stdout)["times"]
        assert [{k: v for k, v in t.items() if not k.endswith(("_low_s", "_high_s")) and not k.startswith(("busbw_low", "busbw_high", "wins"))} for t in answer] == sure
        shared = [(drawn(dice, SOURCE[latency]), drawn(dice, SOURCE[bandwidth])) for _ in range(20000)]
        for size in {t["bytes"] for t in answer}:
            rows = [t for t in answer if t["bytes"] == size]
            assert abs(sum(t["wins"] for t in rows) - 1) < 1e-9
            laws = {}
            for t in (t for t in rows if t["algorithm"] in forms):
                starts, shares = forms[t["algorithm"]]
                laws[t["algorithm"]] = [(starts * ALPHA * a + shares * size / RATE * b) * drawn(dice, (1.03, 1.1)) for a, b in shared]
                held(t, laws[t["algorithm"]])
            one = json.loads(call(*said[:5], "--sizes", size, "--format", "json", "--algorithm", "ring").stdout)["times"][0]
            assert "wins" not in one and (one["time_low_s"], one["time_high_s"]) == tuple(rows[0][k] for k in ("time_low_s", "time_high_s"))
            best = [min(laws, key=lambda a: laws[a][d]) for d in range(20000)]
            for t in (t for t in rows if t["algorithm"] in forms and not next(r for r in rows if r["algorithm"] == "trees")["wins"]):
                share = best.count(t["algorithm"]) / 20000
                assert abs(share - t["wins"]) < .01 + 4 * math.sqrt(share * (1 - share) / 1000), (size, t, share)
                seen.add(0 < t["wins"] < 1)
    assert seen == {False, True}, "some are decided, some are not"


def ranges_are_those_of_classes(folder):
    """Of a cluster that was measured: the whole is off as its class says, farther beyond the nodes and sizes that were measured."""
    dice, path = random.Random(6), folder / "a.json"
    classes = {"measured": (1.06, 1.3), "collective": (1.2, 1.7), "kind": (1.4, 3), "doubling": (1.1, 1.4), "sizes": (1.05, 1.2)}
    accuracy = {"collectives": ["allreduce"], "kinds": ["chain"], "nodes": [2, 8], "bytes": [1 << 20, 1 << 24],
                **{name: dict(zip(("half", "most"), spread)) for name, spread in classes.items()}}
    cluster = {"name": "a", "latency": ALPHA, "bandwidth": RATE, "window": 1, "accuracy": accuracy, "source": {"latency": "a log", "bandwidth": "a log"}}
    path.write_text(json.dumps(cluster))
    for collective, algorithm, ranks, size, of, nodes, sizes in (
            ("allreduce", "ring", 8, 1 << 20, "measured", 0, 0), ("allreduce", "trees", 2, 1 << 24, "measured", 0, 0), ("allreduce", "ring", 32, 1 << 22, "measured", 2, 0),
            ("allgather", "ring", 8, 1 << 22, "collective", 0, 0), ("alltoall", "linear", 8, 1 << 22, "kind", 0, 0), ("alltoall", "pairwise", 8, 1 << 22, "collective", 0, 0),
            ("allgather", "bruck", 16, 1 << 27, "collective", 1, 3), ("allreduce", "ring", 4, 1 << 18, "measured", 0, 2)):
        said = (collective, "--cluster", path, "--ranks", ranks, "--sizes", size, "--algorithm", algorithm, "--format", "json")
        (t,) = json.loads(call(*said).stdout)["times"]
        spread = tuple(math.exp(math.sqrt(math.log(classes[of][i])**2 + (nodes * math.log(classes["doubling"][i]))**2 + (sizes * math.log(classes["sizes"][i]))**2))
                       for i in (0, 1))
        held(t, [t["time_s"] * drawn(dice, part(spread, .21)) * drawn(dice, part(spread, .79)) for _ in range(20000)])
        (given,) = json.loads(call(*said, "--latency", f"{ALPHA}s", "--bandwidth", f"{RATE}B/s").stdout)["times"]
        held(given, [t["time_s"] * drawn(dice, (1.03, 1.1)) for _ in range(20000)])
    table, sure = (call("allreduce", "--cluster", path, "--sizes", "1MiB", *more).stdout for more in ((), ("--certain",)))
    assert all(word in table and word not in sure for word in ("time (90%)", "fastest in", "--certain")), table
    rows = list(csv.DictReader(io.StringIO(call("allreduce", "--cluster", path, "--sizes", "1MiB", "--format", "csv").stdout)))
    assert all(float(row["time_low_s"]) < float(row["time_s"]) < float(row["time_high_s"]) and 0 <= float(row["wins"]) <= 1 for row in rows), rows


def wrong_usage(folder):
    for arguments, says in (([], "say which"), (["gossip"], "no collective"), (["allreduce", "--algorithm", "rings"], 'did you mean "ring"'),
                            (["allreduce", "--sizes", "4:2"], "no range"), (["allreduce", "--sizes", "x"], "--sizes"), (["allreduce", "--sizes", "0"], "no range"),
                            (["allreduce", "--ranks", "1"], "--ranks"), (["allreduce", "--cluster", "nowhere"], "nowhere"), (["allreduce", "--rings", "0"], "--rings")):
        done = call(*arguments, status=2)
        assert says in done.stderr and not done.stdout, (arguments, done.stderr)


# NCCL's tuner once more, from its source (src/graph/tuning.cc of v2.7.8-1, v2.18.5-1, v2.21.5-1), in microseconds and GB/s: nothing here
# is read from models/libraries. By protocol: LL, LL128, Simple; by nodes: 1, 2, more.
PROTOCOLS, GPUS = ("ll", "ll128", "simple"), ("volta", "ampere", "hopper")
BASE = {"trees": (6.8, 14, 0), "ring": (6.6, 14, 8.4)}
STEP = {"nvlink": {"trees": (.6, 1.25, None), "ring": (.6, 1.9, 3.4)}, "pci": {"trees": (1, 1.9, None), "ring": (1, 2.5, 5.7)},
        "net": {"trees": (5, 8.5, None), "ring": (2.7, 4, 14)}}
TREES_IN_SIMPLE = {"2.18": {"nvlink": 4, "pci": 6, "net": 14}, "2.21": {"nvlink": 28, "pci": 28, "net": 28}}
LL_MOST = {"2.18": (39, 87.7, 87.7), "2.21": (39, 87.7, 141)}
TREE_MOST = ((26.5, 18.5, 10), (24, 23.6, 17.8), (38.7, 41.4, 36))
TREE_LL128_MOST = ((20, 20, 20), (20, 20, 20), (36.7, 36.7, 29))
CORRECTION = ("1 1 1 1 .9 .8 .7 .7 .7 .7 .6 .5 .4 .4 .5 .6 .7 .8 .9 1 1 1 1", "1 1 1 1 1 .9 .8 .8 .8 .7 .6 .6 .6 .6 .6 .6 .8 .9 .9 .9 .9 1 1",
              ".9 .9 .9 .9 .9 .9 .9 .8 .7 .6 .6 .5 .5 .5 .5 .6 .7 .8 .7 .7 .8 .9 .9")
OLD_CORRECTION = ("1 1 1 1 .9 .8 .7 .7 .7 .7 .6 .5 .4 .4 .5 .6 .7 .8 .9 1 1 1", "1 1 1 1 1 .9 .8 .8 .8 .7 .6 .6 .6 .5 .6 .6 .7 .7 .8 .9 .9 1",
                  ".9 .9 .9 .9 .9 .9 .9 .8 .7 .6 .6 .5 .5 .5 .5 .5 .5 .6 .6 .7 .8 .9")


def believed_by_old(m, collective, way, p, size):
    """2.7.8, of GPUs that are not of compute capability 8.0; LL128 of all-reduces alone, as its other calls have other bounds."""
    N, P, all_reduce, total = m["nodes"], m["nodes"] * m["per_node"], collective == "allreduce", m["channels"] * m["rate"]
    steps, crossing = (2 if all_reduce else 1) * (P - 1), (2 if all_reduce else 1) * (N - 1)
    base = {"trees": (4.4, 4.4, 0), "ring": (3.6, 10, 8.4)}[way][p]
    step = {"nvlink": {"trees": (.52, 1.2, 28), "ring": (.47, 1.9, 3.4)}, "pci": {"trees": (1, 1.9, 28), "ring": (1, 2.5, 5.7)}}[m["inside"]][way][p]
    net = {"trees": (5, 8.5, 50), "ring": (2.7, 4, 9.6)}[way][p]
    if N > 1 and p == 0:
        step *= 1.8
    if way == "trees":
        rate = min(total * .9, 80 if N > 2 else 110)
        rate = (rate / 3.8, min(rate * (7 / 9 if N == 1 else .915), 16.7 * m["channels"] * 7 / 9), rate)[p] / 2
        at = int(math.log2(size >> 6)) if size >= 64 else 0
        rate *= float(OLD_CORRECTION[p].split()[at]) if at < 22 else 1
        latency = base + 2 * ((P // N - 1) * step + int(math.log2(N)) * net)
    else:
        rate = (total / (4 if N > 1 or all_reduce else 3), min(total * (.7 if m["per_node"] < 2 else .92), 16.7 * m["channels"]), total)[p] * P / steps
        latency = base + (steps - crossing) * step + crossing * net
        if p == 2 and N > 1 and all_reduce and size >= P / 16 * 65536:
            latency *= 1.9
    return (latency + size / (1000 * rate)) / 1e6


def bus(m, way, p, all_reduce):
    at, gpu, total = min(m["nodes"], 3) - 1, GPUS.index(m["gpu"]), m["channels"] * m["rate"]
    ll = LL_MOST[m["version"]][gpu] if at == 0 else {"amd": (22.5, 19), "intel": (39, 20.4)}[m["cpu"]][at - 1]
    tree = min(total * .92, m["channels"] * TREE_MOST[gpu][at])
    if way == "trees":
        return (min(tree / 3.8, ll), min(tree * (7 / 9 if at == 0 else 120 / 128), m["channels"] * TREE_LL128_MOST[gpu][at]), tree)[p]
    share = .5 if m["version"] == "2.21" else 1 / 4 if at > 0 or all_reduce else 1 / 3
    return (min(ll, total * share), min(total * (.7 if m["per_node"] < 2 else .92), m["channels"] * (20, 20, 36.7)[gpu]), total)[p]


def believed(m, collective, way, p, size):
    if m["version"] == "2.7.8":
        return believed_by_old(m, collective, way, p, size)
    N, P, all_reduce = m["nodes"], m["nodes"] * m["per_node"], collective == "allreduce"
    inside, between = ((STEP[k][way][p] if STEP[k][way][p] is not None else TREES_IN_SIMPLE[m["version"]][k]) for k in (m["inside"], "net"))
    rate, latency, steps = bus(m, way, p, all_reduce), BASE[way][p], (2 if all_reduce else 1) * (P - 1)
    if way == "trees":
        latency += 2 * ((P // N - 1) * inside + math.floor(math.log2(N)) * between)
        at = math.floor(math.log2(size >> 6)) if size >= 64 else 0
        rate *= .5 * (float(CORRECTION[p].split()[at]) if at < 23 else 1)
    else:
        crossing = 0 if N == 1 else 2 * N if all_reduce else N - 1
        post = 0 if N == 1 else {"amd": 2, "intel": 1}[m["cpu"]] * (3 if p == 2 else 1)
        latency += (steps - crossing) * max(inside, post) + crossing * between
        rate *= P / steps
        if p == 2 and N > 1 and all_reduce and size // (2 * m["channels"] * P) >= 64:
            latency *= 1.9 if m["gpu"] == "volta" else 1.4
    return (latency + size / (1000 * rate)) / 1e6


def nccl_chooses_as_its_source_says(folder):
    dice, seen = random.Random(11), set()
    for _ in range(80):
        m = {"version": dice.choice(("2.7.8", "2.18", "2.21")), "gpu": dice.choice(GPUS), "cpu": dice.choice(("intel", "amd")), "nodes": dice.randint(2, 9),
             "per_node": dice.randint(1, 8), "channels": dice.choice((1, 2, 4, 8, 16)), "rate": dice.choice((1.2, 3, 12, 24, 48)),
             "inside": dice.choice(("nvlink", "pci")), "ll128": dice.random() < .5}
        if m["per_node"] == 8 and dice.random() < .5:  # in one node channels follow from the GPU's links: 6 x 20, 12 x 20, 12 x 30 GB/s
            m.update(nodes=1, inside="nvlink", channels=6 if m["gpu"] == "volta" else 12, rate=30 if m["gpu"] == "hopper" else 20)
            if m["version"] == "2.7.8":  # 3 x 42, halved
                m.update(gpu="volta", channels=6, rate=21)
        library = {"name": "nccl", **{k: m[k] for k in ("version", "gpu", "cpu", "inside", "ll128", "channels")}, "channel_bandwidth": m["rate"] * 1e9}
        (folder / "n.json").write_text(json.dumps({"latency": 1e-5, "bandwidth": 1e10, "gpus_per_node": m["per_node"], "library": library}))
        for collective in ("allreduce", "allgather", "reduce_scatter")[: 1 if m["version"] == "2.7.8" and m["ll128"] else 3]:
            times = json.loads(call(collective, "--cluster", folder / "n.json", "--ranks", m["nodes"] * m["per_node"], "--sizes", "32:1GiB",
                                    "--format", "json").stdout)["times"] if m["nodes"] * m["per_node"] > 1 else []
            for t in times:
                ways = {(way, p): believed(m, collective, way, p, t["bytes"]) for way in (("trees", "ring") if collective == "allreduce" else ("ring",))
                        for p in range(3) if p != 1 or m["ll128"]}
                best = min(ways, key=ways.get)  # of equals the first
                assert (t["algorithm"], t["protocol"]) == (best[0], PROTOCOLS[best[1]]), (m, collective, t, ways)
                assert abs(t["believed_s"] / ways[best] - 1) < 1e-9, (m, collective, t, ways)
                seen.add(best)
    assert len(seen) == 6, seen


def step(p, ranks, channels, size, latency, rate, measured):
    """Of a ring between nodes of one rank, once more from NCCL's source: getChannnelThreadInfo (threads by bytes a thread), genericOp (two
    slices, or one up to 32 KiB; of LL chunks of 32 KiB), and what of starts hides behind bytes."""
    used, least = channels, (512 * 8 * ranks, 640 * 8, 512 * 64)[p]
    while size < used * least and used >= 2:
        used -= 1
    chunk = math.ceil(size / (used * ranks))
    messages, whole = {0: (max(1, math.ceil(chunk / 32768)), 1), 2: (2 if chunk > 32768 else 1, 2)}[p]
    starts = latency * (used * messages / (channels * whole) if measured else 1)
    return max(size / ranks / rate, starts + size / ranks / rate / 2)


def nccl_plays_what_it_chooses(folder):
    """Rings on cards of their own: steps of the protocol's link, and the call's start."""
    dice, seen = random.Random(3), set()
    for number in range(24):
        nodes, version, collective = dice.randint(2, 9), dice.choice(("2.18", "2.21")), dice.choice(("allreduce", "allgather", "reduce_scatter"))
        channels, measured = dice.choice((1, 2, 4, 16)), number % 4 != 3
        ring = {p: {"latency": dice.choice((0, 2e-6, 2e-5, 2e-4)), "bandwidth": dice.choice((2e9, 1e10))} for p in ("ll", "simple")}
        library = {"name": "nccl", "version": version, "cpu": "amd", "ll128": False, "channels": channels, "channel_bandwidth": 24e9}
        library["costs"] = {"start": {"ll": 1e-5, "simple": 3e-5}, **({"ring": ring} if measured else {})}
        cluster = {"name": "n", "latency": 1 if measured else ring["simple"]["latency"], "bandwidth": ring["simple"]["bandwidth"], "library": library}
        (folder / "n.json").write_text(json.dumps(cluster))
        answer = json.loads(call(collective, "--cluster", folder / "n.json", "--ranks", nodes, "--sizes", "1008:1GiB", "--format", "json").stdout)
        for t in answer["times"]:
            if t["algorithm"] != "ring" or (t["protocol"] == "ll" and not measured):
                continue
            cost, start = ring[t["protocol"]], library["costs"]["start"][t["protocol"]]
            each = step(PROTOCOLS.index(t["protocol"]), nodes, 2 * channels, t["bytes"], cost["latency"], cost["bandwidth"], measured)
            wanted = (2 if collective == "allreduce" else 1) * (nodes - 1) * each + start
            rounding = 1e-9 if t["bytes"] % nodes == 0 else nodes / t["bytes"]
            assert abs(t["time_s"] / wanted - 1) < rounding, (cluster, collective, nodes, t, wanted)
            seen.add((t["protocol"], measured, each > cost["latency"] + t["bytes"] / nodes / cost["bandwidth"] * .501, t["bytes"] < 1 << 20))
    assert len(seen) >= 9, seen
    ring = {"ll": {"latency": 2e-6, "bandwidth": 2e9}, "simple": {"latency": 2e-5, "bandwidth": 1e10}}
    library = {"name": "nccl", "version": "2.21", "cpu": "amd", "ll128": False, "costs": {"ring": ring, "start": {"ll": 1e-5, "simple": 3e-5}}}
    (folder / "n.json").write_text(json.dumps({"name": "n", "latency": 1, "bandwidth": 24e9, "library": library}))
    answer = json.loads(call("allreduce", "--cluster", folder / "n.json", "--ranks", 8, "--sizes", "1KiB:1GiB", "--format", "json").stdout)
    assert {t["protocol"] for t in answer["times"] if t["algorithm"] == "ring"} == {"ll", "simple"}, answer
    table = call("allreduce", "--cluster", folder / "n.json", "--ranks", 8, "--sizes", "1KiB").stdout
    assert "protocol" in table and "trees" in table, table
    for algorithm in ("ring", "all"):  # as the cluster says, in no protocol
        times = json.loads(call("allreduce", "--algorithm", algorithm, "--cluster", folder / "n.json", "--ranks", 8, "--sizes", "1KiB", "--format", "json").stdout)
        assert len(times["times"]) == (1 if algorithm == "ring" else 4) and "protocol" not in times["times"][0], times


def schemes_play_what_nccl_chooses(folder):
    """allreduce with payloads takes as long as the collective of that size, sums exactly, and is the dense baseline."""
    dice, seen = random.Random(5), set()
    for number in range(24):
        g, cards, nodes = dice.choice(((1, 1), (2, 1), (3, 3), (4, 2))) + (dice.randint(2, 5),)
        library = {"name": "nccl", "version": dice.choice(("2.18", "2.21")), "cpu": "amd", "ll128": dice.random() < .5}
        cluster = {"latency": dice.choice((5e-6, 3e-5)), "bandwidth": "24GB/s", "gpus_per_node": g, "nics": cards, "library": library,
                   **({"intra": {"latency": 3e-6, "bandwidth": 2e11}} if g > 1 else {})}
        ranks, rows = g * nodes, g * nodes * 4 * dice.choice((16, 128, 1024, 8192, 65536))
        if number % 8 == 7:
            ranks -= g > 1  # the last node is not full
        (folder / "n.json").write_text(json.dumps(cluster))
        (folder / "s.json").write_text(json.dumps({"trace": {"uniform": {"rows": rows, "row_width": 8, "density": "1/4"}}, "cluster": cluster,
                                                   "ranks": ranks, "schemes": ["allreduce", {"name": "allreduce", "algorithm": "trees", "chunks": 3, "label": "flat"}]}))
        first, flat_trees = json.loads(ask("run", folder / "s.json", "--format", "json").stdout)["points"]
        timed = json.loads(call("allreduce", "--cluster", folder / "n.json", "--ranks", ranks, "--sizes", rows * 32, "--format", "json").stdout)["times"][0]
        assert (first["options"]["algorithm"], first["options"]["protocol"]) == (timed["algorithm"], timed["protocol"]), (first, timed)
        assert first["exact"] and flat_trees["exact"] and "protocol" not in flat_trees["options"], (first, flat_trees)
        assert first["dense_s"] == first["time_s"] and first["dense"] == f"nccl {timed['algorithm']} {timed['protocol']}", first
        parts = cards * (ranks if timed["algorithm"] == "ring" else 2 * first["options"].get("chunks", 1))
        rounding = 1e-9 if rows % parts == 0 else parts / rows  # whole rows are cut here, bytes there
        assert abs(first["time_s"] / timed["time_s"] - 1) < rounding, (cluster, ranks, rows, first["options"], first["time_s"], timed)
        seen.add(first["dense"])
        ways = ("ll", *["ll128"] * library["ll128"], "simple")
        rings = [{"name": "allreduce", "algorithm": "ring", "protocol": p, "label": p} for p in ways]
        least = min(json.loads(ask("run", folder / "s.json", "--set", f"schemes={json.dumps(rings)}", "--no-verify", "--format", "json").stdout)["points"],
                    key=lambda p: p["time_s"])
        faster = timed.get("faster_s", timed["time_s"])
        assert faster < timed["time_s"] / 1.2 or "faster_s" not in timed, timed
        assert faster / 1.2 < least["time_s"] * (1 + rounding), (timed, least)
        if timed.get("faster_algorithm") == "ring" and rows % (cards * ranks) == 0:
            assert timed["faster_protocol"] == least["label"] and abs(faster / least["time_s"] - 1) < 1e-9, (timed, least)
            seen.add("faster " + least["label"])
    assert len(seen) >= 7 and any(s.startswith("faster") for s in seen), seen
    done = ask("run", folder / "s.json", "--set", 'schemes=[{"name":"allreduce","protocol":"ll"}]', "--set", 'cluster.library={"name":"gloo"}', status=2)
    assert "whose \"library\" is nccl" in done.stderr, done.stderr


sys.exit(tap.run([schemes_play_what_nccl_chooses, trainings_play_what_nccl_chooses, nccl_chooses_as_its_source_says, nccl_plays_what_it_chooses, times_are_those_of_closed_forms, ranges_are_those_of_sources, ranges_are_those_of_classes, in_every_format, rings_and_chunks, rings_are_as_many_as_cards, nccl_exchanges_as_a_group, schemes_play_the_same_rings, sums_copies_and_pages_take_their_time,
                  schemes_and_trainings_play_the_same_memory, every_swept_cluster_has_its_own_device, memory_must_make_sense, long_work_is_told_before_it_begins,
                  jitter_is_left_out_with_a_word, wrong_usage]))
# SPDX-License-Identifier: Apache-2.0
