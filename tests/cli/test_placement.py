#!/usr/bin/python3
"""Tables on ranks: what alltoall sends under any placement is held against a count, pair by pair, from the lookups
alone; so is what a mixture of experts drops. Arguments: the program, the source tree. Prints TAP."""
import fcntl
import json
import math
import os
import pty
import random
import re
import struct
import subprocess
import sys
import termios

import tap
import traces
from asking import ENVIRONMENT, PROGRAM, ROOT, told, points, refused
from placements import agrees, owners, some_placement
from tap import test, write_json

CLUSTER = "rtx3090-100g-ib"


# --- traces -----------------------------------------------------------------------------------------------------------


def make_trace(path, ranks, tables, lookups, iterations=1, dtypes=None):
    """`tables`: (name, rows, width); lookups[name][t][r] lists rows."""
    return traces.write(path, [(traces.tensor(*table, (dtypes or {}).get(table[0], "F32")), sum(lookups[table[0]][:iterations], []))
                               for table in tables], ranks)


def some_lookups(dice, ranks, tables, iterations=1):
    """Ragged: some ranks have none of a table, some rows come often."""
    def of(rows):
        return [min(dice.randrange(rows), dice.randrange(rows)) for _ in range(dice.choice((0, dice.randrange(40))))]
    return {name: [[of(rows) for _ in range(ranks)] for _ in range(iterations)] for name, rows, _ in tables}


def some_tables(dice):
    return [(f"t{k}", dice.randrange(1, 60), dice.randrange(1, 20)) for k in range(dice.randrange(1, 6))]


# --- the count --------------------------------------------------------------------------------------------------------


def count(ranks, tables, lookups, placement, t=0, exchange="both", ids=False, index_bytes=4):
    """bytes[i][j] from rank i to rank j, and messages."""
    sent = [[0] * ranks for _ in range(ranks)]
    for name, rows, width in tables:
        for owner, mine, columns in owners(placement["tables"][name], rows, width):
            for r in range(ranks):
                if r == owner:
                    continue
                all_of = [row for row in lookups[name][t][r] if row in mine]
                back = all_of if exchange == "tokens" else set(all_of)
                if exchange != "gradients":
                    sent[owner][r] += 4 * columns * len(all_of)
                if exchange != "lookups":
                    sent[r][owner] += (4 * columns + index_bytes) * len(back)
                if ids:
                    sent[r][owner] += 8 * len(all_of)
    phases = (exchange in ("both", "tokens")) + 1 + ids
    return sent, phases * ranks * (ranks - 1)


def spread(ranks, tables):
    return {"ranks": ranks, "tables": {name: {"partition": "table", "ranks": [k * ranks // len(tables)]}
                                       for k, (name, _, _) in enumerate(tables)}}


@test
def any_placement_sends_what_a_count_of_pairs_says(folder):
    for seed in range(27):
        dice = random.Random(seed)
        ranks, tables = seed % 9 + 1, some_tables(dice)
        lookups, placement = some_lookups(dice, ranks, tables), some_placement(dice, ranks, tables)
        path = make_trace(folder / f"{seed}.safetensors", ranks, tables, lookups)
        schemes = [{"name": "alltoall", "label": f"{partition} {exchange}{' ids' * ids}", "partition": partition,
                    "exchange": exchange, "gather_ids": ids}
                   for partition in ("placed", "table") for exchange in ("both", "lookups", "gradients", "tokens")
                   for ids in ((False, True) if exchange in ("both", "lookups") else (False,))]
        scenario = write_json(folder, {"name": "s", "trace": str(path), "cluster": CLUSTER, "schemes": schemes,
                                       "placement": placement, "sizes": "free"})
        found = points(scenario)
        assert [p["label"] for p in found] == [s["label"] for s in schemes], [p["label"] for p in found]
        for point, scheme in zip(found, schemes):
            assert point["tensor"] == ("*" if len(tables) > 1 else "t0"), point["tensor"]
            where = placement if scheme["partition"] == "placed" else spread(ranks, tables)
            agrees(point, *count(ranks, tables, lookups, where, exchange=scheme["exchange"], ids=scheme["gather_ids"]),
                   (seed, scheme["label"]))


@test
def a_table_alone_placed_by_columns_or_rows_is_the_default(folder):
    dice = random.Random(5)
    tables = [("t", 50, 13)]
    path = make_trace(folder / "t.safetensors", 4, tables, some_lookups(dice, 4, tables, 3), 3)
    for partition in ("column", "row"):
        placement = {"ranks": 4, "tables": {"t": {"partition": partition}}}
        scenario = write_json(folder, {"name": "s", "trace": str(path), "cluster": CLUSTER, "placement": placement, "schemes": [
            {"name": "alltoall", "partition": partition}, {"name": "alltoall", "label": "placed", "partition": "placed"}]})
        one, other = points(scenario)
        for key in ("time_s", "bytes_total", "rank_bytes_sent", "rank_bytes_received", "messages", "kernel_s"):
            assert one[key] == other[key], (partition, key)


@test
def tables_together_take_one_exchange(folder):
    """Start-ups are paid once: with bytes that hardly take time, all tables together take as long as one of them."""
    dice = random.Random(1)
    tables = [("a", 40, 8), ("b", 30, 4), ("c", 20, 16)]
    path = make_trace(folder / "t.safetensors", 4, tables, some_lookups(dice, 4, tables))
    placement = {"ranks": 4, "tables": {name: {"partition": "column"} for name, _, _ in tables}}
    flat = {"name": "flat", "model": "alpha-beta", "gpus_per_node": 1, "bandwidth": 1e15, "latency": 1e-3}
    found = points(write_json(folder, {
        "name": "s", "trace": str(path), "cluster": flat, "placement": placement,
        "schemes": ["alltoall", {"name": "alltoall", "label": "placed", "partition": "placed"}]}))
    times = {(p["label"], p["tensor"]): p["time_s"] for p in found}
    assert list(times) == [("alltoall", "a"), ("alltoall", "b"), ("alltoall", "c"), ("alltoall", "*"), ("placed", "*")]
    assert math.isclose(times["placed", "*"], 6e-3, rel_tol=1e-6), times
    assert math.isclose(times["alltoall", "*"], 18e-3, rel_tol=1e-6), times


@test
def links_of_one_exchange_are_told(folder):
    """Tables that follow each other keep no link busy together; those of one exchange do."""
    dice = random.Random(1)
    tables = [("a", 40, 8), ("b", 30, 4)]
    path = make_trace(folder / "t.safetensors", 4, tables, some_lookups(dice, 4, tables))
    table = told("run", "--trace", path, "--cluster", CLUSTER, "--scheme", "alltoall,alltoall:partition=table", "--links")
    busy = [line.split()[:2] for line in table.split("all tensors together")[1].splitlines() if re.search("  [ei]n?gress  ", line)]
    assert busy == [["alltoall:partition=table", "egress"], ["alltoall:partition=table", "ingress"]], (busy, table)
    alone = told("run", "--trace", path, "--cluster", CLUSTER, "--scheme", "alltoall", "--links").split("all tensors together")[1]
    assert not re.search("  [ei]n?gress  ", alone), alone


@test
def plan_weighs_one_exchange_of_all_against_each_table_with_its_own(folder):
    """Where start-ups count one exchange wins, where all lives on one rank and bytes count it loses; no margin is below 0."""
    dice = random.Random(1)
    tables = [("a", 40, 8), ("b", 30, 4), ("c", 20, 16)]
    path = make_trace(folder / "t.safetensors", 4, tables, some_lookups(dice, 4, tables))
    placement = {"ranks": 4, "tables": {name: {"partition": "table", "ranks": [0]} for name, _, _ in tables}}
    schemes = ["alltoall", {"name": "alltoall", "label": "placed", "partition": "placed"}]
    flat = {"name": "flat", "model": "alpha-beta", "gpus_per_node": 1, "bandwidth": 1e15, "latency": 1e-3}
    scenario = {"name": "s", "trace": str(path), "cluster": flat, "placement": placement, "schemes": schemes}

    def plan(**changes):
        file = write_json(folder, {**scenario, **changes})
        rows = json.loads(told("plan", file, "--model-parallel", "--format", "json"))["plan"]
        assert all(row["margin"] is None or row["margin"] >= 0 for row in rows), rows
        assert len(rows) == 1 or [row["tensor"] for row in rows] == ["a", "b", "c", "*"], rows
        return rows[-1], told("plan", file, "--model-parallel", "--certain")

    row, text = plan()
    assert (row["label"], row["next"]) == ("placed", "alltoall") and row["lossless"] is True, row
    assert math.isclose(row["time_s"], 6e-3, rel_tol=1e-6) and math.isclose(row["margin"], 2, rel_tol=1e-6), row
    assert "all tensors together: placed (needs model parallelism) is fastest, 6 ms; alltoall (needs model parallelism) takes 3.00 times as long" in text, text
    # by rows or by columns: each table takes what is better for it, which is less than either for all
    both = [*schemes, {"name": "alltoall", "label": "rows", "partition": "row"}]
    row, text = plan(cluster={**flat, "latency": 0, "bandwidth": 1e9}, schemes=both)
    best = {t: min(p["time_s"] for p in points(folder / "s.json") if p["tensor"] == t) for t in "abc*"}
    own = best["a"] + best["b"] + best["c"]
    assert row["label"] is None and math.isclose(row["time_s"], own, rel_tol=1e-12) and row["next_time_s"] == best["*"] > own, (row, best)
    assert "all tensors: each with its own (needs model parallelism) is fastest, " in text, text
    # between the two: start-ups of two exchanges are worth as much as one rank's bytes
    row, text = plan(cluster={**flat, "latency": 1e-6, "bandwidth": 1e9}, schemes=both)
    best = {t: min(p["time_s"] for p in points(folder / "s.json") if p["tensor"] == t) for t in "abc"}
    assert (row["label"], row["next"]) == ("placed", None), row
    assert math.isclose(row["next_time_s"], sum(best.values()), rel_tol=1e-12), (row, best)
    assert "all tensors together: placed (needs model parallelism) is fastest, " in text and "; each with its own (needs model parallelism) " in text, text
    row, text = plan(schemes=schemes[1:])
    assert (row["tensor"], row["label"], row["next"], row["next_time_s"], row["candidates"]) == ("*", "placed", None, None, 1), row
    assert math.isclose(row["time_s"], 6e-3, rel_tol=1e-6) and "the only candidate" in text, (row, text)


@test
def plan_tries_whole_tables_where_there_are_several(folder):
    """With start-ups alone, one exchange of two phases of three rounds: 6 ms for all. Recursive doubling of each takes 10."""
    dice = random.Random(1)
    tables = [(name, 40, 8) for name in "abcde"]
    flat = write_json(folder, {"name": "flat", "model": "alpha-beta", "gpus_per_node": 1, "bandwidth": 1e15, "latency": 1e-3}, "flat.json")

    def plan(tables, *options, dtypes=None):
        path = make_trace(folder / "t.safetensors", 4, tables, some_lookups(dice, 4, tables), dtypes=dtypes)
        return json.loads(told("plan", "--trace", path, "--cluster", flat, "--format", "json", "--quiet", *options))["plan"]
    row = plan(tables, "--model-parallel")[-1]
    assert (row["tensor"], row["scheme"], row["label"]) == ("*", "alltoall", "alltoall table"), row
    assert math.isclose(row["time_s"], 6e-3, rel_tol=1e-6), row
    assert plan(tables)[-1]["label"] != "alltoall table"
    for rows in (plan(tables[:1], "--model-parallel"), plan(tables, "--model-parallel", dtypes={"b": "F16"})):
        assert all("alltoall table" not in (row["label"], row["next"]) for row in rows), rows


# --- mixtures of experts ------------------------------------------------------------------------------------------------


def admitted(rows, experts, capacity):
    room, load, kept = math.ceil(capacity * len(rows) / experts - 1e-9), {}, []
    for row in rows:
        load[row] = load.get(row, 0) + 1
        if load[row] <= room:
            kept.append(row)
    return kept


@test
def tokens_beyond_the_capacity_are_dropped_and_counted(folder):
    dice = random.Random(9)
    for ranks, experts, capacity in ((4, 8, 1), (3, 7, 1.25), (8, 16, 0.5), (2, 4, 8)):
        tables = [("experts", experts, 6)]
        lookups = {"experts": [[[min(dice.randrange(experts), dice.randrange(experts)) for _ in range(40)]
                                for _ in range(ranks)] for _ in range(2)]}
        path = make_trace(folder / "moe.safetensors", ranks, tables, lookups, 2)
        schemes = [{"name": "alltoall", "partition": "row", "exchange": "tokens", "index_bytes": 0}]
        point, = points(write_json(folder, {"name": "s", "trace": str(path), "cluster": CLUSTER, "capacity": capacity,
                                            "schemes": schemes, "sizes": "free"}))
        kept = {"experts": [[admitted(rows, experts, capacity) for rows in part] for part in lookups["experts"]]}
        placement = {"ranks": ranks, "tables": {"experts": {"partition": "row", "ranks": list(range(ranks))}}}
        sent = [count(ranks, tables, kept, placement, t, "tokens", index_bytes=0)[0] for t in range(2)]
        mean = [sum(sum(sent[t][r]) for t in range(2)) / 2 for r in range(ranks)]
        assert point["rank_bytes_sent"] == mean, (capacity, point["rank_bytes_sent"], mean)
        lost = [1 - sum(map(len, part)) / (40 * ranks) for part in kept["experts"]]
        assert math.isclose(point["dropped"], sum(lost) / 2, abs_tol=1e-12), (capacity, point["dropped"], lost)
        assert point["exact"] is True
        if capacity == 8:
            assert point["dropped"] == 0
    point, = points(write_json(folder, {"name": "s", "trace": str(path), "cluster": CLUSTER, "schemes": schemes}))
    assert point["dropped"] is None


# --- plans --------------------------------------------------------------------------------------------------------------


def greedy(ranks, weights, cuts=None):
    """Largest first to the rank with least, of tables cut into so many even shards (one): (bytes, held) in shares of all."""
    load, homes = [(0.0, 0.0)] * ranks, {}
    for name, whole in sorted(weights.items(), key=lambda item: -max(item[1])):
        count = cuts[name] if cuts else 1
        w, homes[name] = (whole[0] / count, whole[1] / count), []
        for _ in range(count):
            r = min((r for r in range(ranks) if r not in homes[name]),
                    key=lambda r: (max(load[r][0] + w[0], load[r][1] + w[1]), load[r][0] + load[r][1], r))
            load[r] = (load[r][0] + w[0], load[r][1] + w[1])
            homes[name].append(r)
    return homes, load


def weigh(tables, lookups):
    """Of each table the bytes that travel in the first iteration, there and back, and that are held; of all; shares of these."""
    weights = {name: (sum(4 * width * len(part) + (4 * width + 4) * len(set(part)) for part in lookups[name][0]), 4 * rows * width)
               for name, rows, width in tables}
    total = [sum(w[i] for w in weights.values()) for i in (0, 1)]
    return weights, total, {name: (w[0] / total[0], w[1] / total[1]) for name, w in weights.items()}


def mixed(ranks, tables, weights):
    """Held bytes of each rank when no shard is of more than an even share (docs/scenarios.md): exact shares of what is cut."""
    cuts = {}
    for name, rows, width in tables:
        wanted = min(ranks, math.ceil(max(weights[name]) * ranks - 1e-9))
        cuts[name] = wanted if wanted > 1 and wanted <= max(rows, width) else 1
    homes, held = greedy(ranks, weights, cuts)[0], [0] * ranks
    for name, rows, width in tables:
        by = "table" if cuts[name] == 1 else "column" if cuts[name] <= width else "row"
        for rank, mine, columns in owners({"partition": by, "ranks": homes[name]}, rows, width):
            held[rank] += 4 * len(mine) * columns
    return cuts, held


@test
def plan_places_largest_first_and_run_takes_what_it_writes(folder):
    dice = random.Random(3)
    ranks = 4
    tables = [(f"t{k}", rows, width) for k, (rows, width) in enumerate(((900, 16), (37, 64), (411, 8), (5, 4), (120, 32), (77, 3)))]
    lookups = {name: [[[dice.randrange(rows) for _ in range(20 + 7 * k)] for _ in range(ranks)]]
               for k, (name, rows, _) in enumerate(tables)}
    path = make_trace(folder / "t.safetensors", ranks, tables, lookups)
    common = ("--trace", path, "--cluster", CLUSTER)
    told("plan", "--place", *common, "--format", "json", "-o", folder / "place.json")
    plan = json.loads((folder / "place.json").read_text())
    by_name = {row["placement"]: row for row in plan["plan"]}
    assert list(by_name) == ["columns", "rows", "tables", "greedy", "mixed"]
    assert plan["chosen"] == min(by_name, key=lambda name: by_name[name]["time_s"])
    point, = points(*common, "--placement", folder / "place.json", "--scheme", "alltoall:partition=placed")
    for key in ("time_s", "time_low_s", "time_high_s", "bytes_total", "bytes_sent_max", "bytes_received_max", "bound_by"):
        assert point[key] == by_name[plan["chosen"]][key], key
    assert sum(row["wins"] for row in plan["plan"]) == 1 and by_name[plan["chosen"]]["wins"] > 0.5, plan["plan"]
    certain = json.loads(told("plan", "--place", *common, "--format", "json", "--certain"))["plan"]
    assert all(row["time_s"] == by_name[row["placement"]]["time_s"] and "wins" not in row and "time_low_s" not in row for row in certain)
    moved = [a + b for a, b in zip(point["rank_bytes_sent"], point["rank_bytes_received"])]
    assert math.isclose(by_name[plan["chosen"]]["bytes_imbalance"], max(moved) * ranks / sum(moved))
    weights, total, shares = weigh(tables, lookups)
    home, load = greedy(ranks, shares)
    cuts, held = mixed(ranks, tables, shares)
    assert set(cuts.values()) == {1, 2, 3}, cuts
    assert math.isclose(by_name["mixed"]["held_imbalance"], ranks * max(held) / sum(held)), (by_name["mixed"], held)
    assert math.isclose(by_name["greedy"]["served_imbalance"], ranks * max(l[0] for l in load))
    assert math.isclose(by_name["greedy"]["held_imbalance"], ranks * max(l[1] for l in load))
    for i, key in enumerate(("served", "held")):
        ordered = sorted((w[i] for w in weights.values()), reverse=True)
        bound = max(total[i] / ranks, ordered[0], ordered[ranks - 1] + ordered[ranks]) * ranks / total[i]
        assert math.isclose(by_name["greedy"][f"whole_{key}_bound"], bound), key
        assert by_name["greedy"][f"{key}_imbalance"] >= bound * (1 - 1e-12)
    greedy_place = {"ranks": ranks, "tables": {name: {"partition": "table", "ranks": ranks_of} for name, ranks_of in home.items()}}
    point, = points(*common, "--placement", write_json(folder, greedy_place, "greedy.json"), "--scheme", "alltoall:partition=placed")
    assert point["time_s"] == by_name["greedy"]["time_s"]
    text = told("plan", "--place", *common)
    for word in ("is fastest", "bottleneck", "max/mean", *(name for name, _, _ in tables), *by_name):
        assert word in text, word
    told_ranks_are_the_placements(folder, path, len(tables))
    # lookups are means over iterations: of t0 80 in the first, 160 in the second
    twice = {name: [part, [segment * 2 for segment in part]] for name, (part,) in lookups.items()}
    path = make_trace(folder / "two.safetensors", ranks, tables, twice, 2)
    [line] = [line.split() for line in told("plan", "--place", "--trace", path, "--cluster", CLUSTER).splitlines() if line.startswith("t0 ")]
    assert line[1:4] == ["900", "16", "120"], line


@test
def what_is_a_whole_number_of_even_shares_is_cut_into_so_many(folder):
    """98 of 175 values are 14 of 25 shares, though 98/175 * 25 is more in doubles; there are no 15 columns to cut."""
    ranks, tables = 25, [("a", 7, 14), ("b", 1, 77)]
    lookups = {"a": [[[0] for _ in range(ranks)]], "b": [[[0, 0] for _ in range(ranks)]]}
    path = make_trace(folder / "t.safetensors", ranks, tables, lookups)
    plan = json.loads(told("plan", "--place", "--trace", path, "--cluster", CLUSTER, "--format", "json"))["plan"]
    [found] = [row for row in plan if row["placement"] == "mixed"]
    cuts, held = mixed(ranks, tables, weigh(tables, lookups)[2])
    assert 98 / 175 * 25 > 14 == cuts["a"], cuts
    assert math.isclose(found["held_imbalance"], ranks * max(held) / sum(held)), (found, held)
    told_ranks_are_the_placements(folder, path, 2)


def told_ranks_are_the_placements(folder, path, tables):
    """The last column of each table: "all", or its ranks, of many the first eight."""
    common = ("plan", "--place", "--trace", path, "--cluster", CLUSTER)
    told(*common, "--format", "json", "-o", folder / "place.json")
    place = json.loads((folder / "place.json").read_text())
    assert len(place["tables"]) == tables
    lines = told(*common).splitlines()
    for name, shards in place["tables"].items():
        words = [str(rank) for rank in shards["ranks"]]
        wanted = "all" if 1 < len(words) == place["ranks"] else " ".join(words[:8] + ["..."] * (len(words) > 8))
        [line] = [line for line in lines if line.split()[:1] == [name]]
        assert re.search(rf" {shards['partition']} +{re.escape(wanted)}$", line), (line, shards)


def in_terminal(columns, *arguments):
    """What the command prints to a terminal so wide, without colours."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    process = subprocess.Popen([PROGRAM, *map(str, arguments)], stdout=follower, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
                               cwd=ROOT, env={**ENVIRONMENT, "NO_COLOR": "1"})
    os.close(follower)
    shown = b""
    while True:
        try:
            more = os.read(leader, 1 << 16)
        except OSError:  # the other end is closed
            break
        if not more:
            break
        shown += more
    os.close(leader)
    assert process.wait(timeout=tap.HANG) == 0
    return shown.decode().replace("\r\n", "\n")


def cells(text):
    """{(row's name, head): cell} of all tables of the text, by the columns that their rules mark; and the widest line of them."""
    found, lines, widest = {}, text.split("\n"), 0
    for at, rule in enumerate(lines):
        if not re.fullmatch("-+(  -+)+", rule):
            continue
        spans = [match.span() for match in re.finditer("-+", rule)]
        heads = [lines[at - 1][a:b].strip() for a, b in spans]
        for line in [lines[at - 1], *lines[at + 1:]]:
            if not line:
                break
            widest = max(widest, len(line))
            row = [line[a:b].strip() for a, b in spans]
            found.update({(row[0], head): cell for head, cell in zip(heads, row)})
    return found, widest


@test
def tables_keep_to_the_width_of_a_terminal(folder):
    dice = random.Random(4)
    tables = [("user", 60, 8), ("an item with a long name", 20, 4)]
    path = make_trace(folder / "t.safetensors", 4, tables, some_lookups(dice, 4, tables))
    command = ("plan", "--place", "--trace", path, "--cluster", CLUSTER)
    whole, wide = cells(told(*command))
    assert wide > 100 and len(whole) > 50, (wide, whole)
    for columns in (60, 80, wide - 1):
        narrow, width = cells(in_terminal(columns, *command))
        assert width <= columns and narrow == whole, (columns, width, set(narrow.items()) ^ set(whole.items()))
    for columns in (wide, 300):
        assert in_terminal(columns, *command) == told(*command)
    assert cells(in_terminal(12, *command))[0].keys() == whole.keys(), "a column at least stands in each piece"


# --- what cannot be -----------------------------------------------------------------------------------------------------


@test
def a_placement_that_nothing_uses_is_told(folder):
    trace, place = ROOT / "traces" / "lstm-bible-4.safetensors", folder / "place.json"
    place.write_text(json.dumps({"ranks": 4, "tables": {"encoder.weight": {"partition": "table", "ranks": [3]}}}))
    for scheme, told in (("alltoall", 1), ("alltoall:partition=placed,alltoall", 0)):
        said = subprocess.run([PROGRAM, "run", "--trace", trace, "--tensor", "encoder.weight", "--iterations", "0:1", "--cluster", CLUSTER,
                               "--scheme", scheme, "--placement", place], capture_output=True, text=True, env=ENVIRONMENT, timeout=tap.HANG)
        assert said.returncode == 0 and said.stderr.count("the placement is not used") == told, said.stderr


@test
def wrong_placements_are_told(folder):
    dice = random.Random(2)
    tables = [("user", 30, 4), ("item", 20, 8)]
    path = make_trace(folder / "t.safetensors", 4, tables, some_lookups(dice, 4, tables))
    whole = {"partition": "table", "ranks": [0]}
    wrong = [
        ({"user": whole, "item": whole, "itme": whole}, 'no table is called "itme" (did you mean "item"?)'),
        ({"user": whole}, 'table "item" of the trace has no place'),
        ({"user": whole, "item": {"partition": "table", "ranks": [4]}}, "there is no rank 4 among 4"),
        ({"user": whole, "item": {"partition": "row", "ranks": [1, 2, 1]}}, "rank 1 has a shard of this table already"),
        ({"user": whole, "item": {"partition": "table", "ranks": [1, 2]}}, "a whole table lives on one rank"),
        ({"user": whole, "item": {"partition": "table"}}, "a whole table lives on one rank"),
        ({"user": whole, "item": {"partition": "columns"}}, "column, row"),
        ({"user": whole, "item": {"ranks": [1]}}, "partition"),
        ({"user": whole, "item": {"partition": "row", "ranks": []}}, "expected a list of 1 to 4 ranks"),
        ({"user": whole, "item": 3}, "expected an object"),
        ({}, "expected an object with every table"),
    ]
    common = ("run", "--trace", path, "--cluster", CLUSTER, "--scheme", "alltoall:partition=placed")
    for tables_of, says in wrong:
        place = write_json(folder, {"ranks": 4, "tables": tables_of}, "p.json")
        refused(says, *common, "--placement", place)
    place = write_json(folder, {"ranks": 4, "tables": {"user": whole, "item": whole}}, "p.json")
    refused("one for 4 ranks, and 3 are asked for", *common, "--placement", place, "--ranks", "3")
    refused("no placement is given", *common)
    (folder / "twice.json").write_text('{"ranks": 4, "tables": {"user": {"partition": "row"}, "user": {"partition": "row"}}}')
    refused("user", *common, "--placement", folder / "twice.json")
    narrow = [("narrow", 3, 2)]
    path = make_trace(folder / "n.safetensors", 4, narrow, some_lookups(dice, 4, narrow))
    for partition, says in (("column", "4 shards of table \"narrow\", which has 2 columns"),
                            ("row", "4 shards of table \"narrow\", which has 3 rows")):
        place = write_json(folder, {"ranks": 4, "tables": {"narrow": {"partition": partition}}}, "p.json")
        refused(says, "run", "--trace", path, "--cluster", CLUSTER, "--scheme", "alltoall:partition=placed",
                            "--placement", place)
    mixed = [("a", 3, 2), ("b", 3, 2)]
    path = make_trace(folder / "m.safetensors", 2, mixed, some_lookups(dice, 2, mixed), dtypes={"b": "F16"})
    refused("of one type", "run", "--trace", path, "--cluster", CLUSTER, "--scheme", "alltoall:partition=table")
    uniform = "trace=" + json.dumps({"uniform": {"rows": 1024, "density": 0.25, "row_width": 64}})
    common = ("run", "--set", uniform, "--cluster", CLUSTER, "--ranks", "4", "--scheme")
    refused("only a trace has", *common, "alltoall:partition=placed", "--placement", folder / "p.json")
    refused("could find no room", *common, "alltoall", "--set", "capacity=1")
    path = make_trace(folder / "a.safetensors", 4, tables, some_lookups(dice, 4, tables))
    refused("leave --scheme out", "plan", "--place", "--trace", path, "--cluster", CLUSTER, "--scheme", "alltoall")
    refused("one number of ranks", "plan", "--place", "--trace", path, "--cluster", CLUSTER, "--ranks", "1,2")


sys.exit(tap.run())
# SPDX-License-Identifier: Apache-2.0
