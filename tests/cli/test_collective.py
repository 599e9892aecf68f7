#!/usr/bin/python3
"""`sparsync collective` against closed forms. Arguments: the program, the source tree. Prints TAP."""
import csv
import functools
import io
import json
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
             ("ping_pong", "message"): lambda M: ALPHA + M / RATE}
    for (collective, algorithm), form in forms.items():
        answer = json.loads(call(collective, "--cluster", path, "--ranks", P, "--sizes", "1KiB:1MiB", "--format", "json").stdout)
        mine = [t for t in answer["times"] if t["algorithm"] == algorithm]
        assert [t["bytes"] for t in mine] == [1 << e for e in range(10, 21)] and answer["ranks"] == P
        for t in mine:
            factor = {"allreduce": 2 * 7 / 8, "ping_pong": 1}.get(collective, 7 / 8)
            assert abs(t["time_s"] / form(t["bytes"]) - 1) < 1e-9, (collective, algorithm, t)
            assert abs(t["busbw_bytes_per_s"] * t["time_s"] / t["bytes"] / factor - 1) < 1e-9, t


def in_every_format(folder):
    path = flat(folder)
    table = call("all_reduce", "--cluster", path, "--sizes", "1MiB").stdout
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

    assert abs(seconds("--algorithm", "ring") / seconds("--algorithm", "ring", "--rings", 4) / 4 - 1) < 1e-3
    trees = [json.loads(call("allreduce", "--algorithm", "trees", "--chunks", chunks, "--cluster", flat(folder), "--ranks", 64, "--sizes", "1GiB",
                             "--format", "json").stdout)["times"][0]["time_s"] for chunks in (1, 64)]
    assert trees[1] < trees[0] / 2, trees


def schemes_play_the_same_rings(folder):
    """On several clusters, numbers of ranks and cards, and windows: the scheme takes what the collective takes. Every rank has 64 rows."""
    trace, path = folder / "t.safetensors", folder / "cards.json"
    for name, ranks, nics, window in (("h100-8-measured", 64, 8, 2), ("h100-8-measured", 20, 8, 1), ("polaris", 32, 2, 1), ("polaris", 8, 2, "all"),
                                      ("h100-8x8-400g", 32, 8, 1), ("h100-8x8-400g", 16, 8, 4), ("p3.16xlarge-25g", 16, 1, 1),
                                      ("p3.16xlarge-25g", 24, 2, 1), ("p3.16xlarge-25g", 32, 4, 2), ("p3.16xlarge-25g", 16, 8, "all")):
        cluster = json.loads((ROOT / "models/clusters" / f"{name}.json").read_text())
        path.write_text(json.dumps({**cluster, "nics": nics, "window": window}))
        ask("trace", "synth", "--rows", 64 * ranks, "--ranks", ranks, "--iterations", 1, "--tokens", 64, "--distinct", 64, "--row-width", 63, "-o", trace)
        sizes = {"allreduce": 64 * ranks * 252, "allgather": 64 * ranks * 256}
        for rings in {1, nics}:
            said = "" if rings == nics else ":rings=1"
            points = json.loads(ask("run", "--trace", trace, "--cluster", path, "--ranks", ranks, "--format", "json", "--quiet",
                                    "--scheme", f"allreduce{said},allgather{said}").stdout)["points"]
            for point in points:
                played = json.loads(call(point["scheme"], "--cluster", path, "--ranks", ranks, "--algorithm", "ring", "--rings", rings, "--format", "json",
                                         "--sizes", sizes[point["scheme"]]).stdout)["times"][0]["time_s"]
                assert point["exact"] and abs(point["time_s"] / played - 1) < 1e-9, (name, ranks, nics, window, rings, point["time_s"], played)


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


def wrong_usage(folder):
    for arguments, says in (([], "say which"), (["gossip"], "no collective"), (["allreduce", "--algorithm", "rings"], 'did you mean "ring"'),
                            (["allreduce", "--sizes", "4:2"], "no range"), (["allreduce", "--sizes", "x"], "--sizes"), (["allreduce", "--sizes", "0"], "no range"),
                            (["allreduce", "--ranks", "1"], "--ranks"), (["allreduce", "--cluster", "nowhere"], "nowhere"), (["allreduce", "--rings", "0"], "--rings")):
        done = call(*arguments, status=2)
        assert says in done.stderr and not done.stdout, (arguments, done.stderr)


sys.exit(tap.run([times_are_those_of_closed_forms, in_every_format, rings_and_chunks, schemes_play_the_same_rings, long_work_is_told_before_it_begins, jitter_is_left_out_with_a_word, wrong_usage]))
