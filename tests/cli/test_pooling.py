#!/usr/bin/python3
"""Bags: what alltoall sends of them under any placement is held against a count of vectors, pair by pair, from the bags
alone; and traces keep them. Arguments: the program, the source tree. Prints TAP."""
import json
import math
import random
import sys

import tap
import traces
from asking import told, points, refused
from placements import agrees, owners, share, some_placement
from tap import test, write_json

CLUSTER = "rtx3090-100g-ib"


# --- traces -----------------------------------------------------------------------------------------------------------


def make_trace(path, ranks, tables, bags, iterations=1, without=(), change=None):
    """`tables`: (name, rows, width); bags[name][t][r] lists bags of rows; `without`: tables that do not say which make one."""
    entries = {}
    for name, _, _ in tables:
        offsets, rows, first, bag_offsets = [0], [], [0], [0]
        for t in range(iterations):
            for r in range(ranks):
                for bag in bags[name][t][r]:
                    rows += bag
                    bag_offsets.append(len(rows))
                offsets.append(len(rows))
                first.append(len(bag_offsets) - 1)
        for key, kind, values in (("offsets", "I64", offsets), ("bags", "I64", first), ("bag_offsets", "I64", bag_offsets), ("rows", "I32", rows)):
            if name in without and key.startswith("bag"):
                continue
            if change:
                kind, values = change(f"{name}.{key}", kind, values)
            if kind is not None:
                entries[f"{name}.{key}"] = kind, values
    return traces.save(path, traces.about([traces.tensor(*table) for table in tables], ranks, iterations), entries)


def read_bags(path):
    """{name: [bags of each segment]}, and how many ranks."""
    about, entries = traces.load(path)

    def bags(name):
        return traces.parts(traces.parts(entries[f"{name}.rows"], entries[f"{name}.bag_offsets"]), entries[f"{name}.bags"])
    return {tensor["name"]: bags(tensor["name"]) for tensor in about["tensors"]}, about["ranks"]


def some_bags(dice, ranks, tables, iterations=1):
    """Empty ones, ranks without any, rows twice in a bag."""
    def of(rows):
        return [[dice.randrange(rows) for _ in range(dice.choice((0, 0, 1, 3, 9)))] for _ in range(dice.choice((0, dice.randrange(12))))]
    return {name: [[of(rows) for _ in range(ranks)] for _ in range(iterations)] for name, rows, _ in tables}


def some_tables(dice):
    return [(f"t{k}", dice.randrange(1, 40), dice.randrange(1, 20)) for k in range(dice.randrange(1, 5))]


# --- the count --------------------------------------------------------------------------------------------------------


def alike(ranks, tables, partition):
    """The placement that a partition of all tables means."""
    homes = [[k * ranks // len(tables)] if partition == "table" else list(range(ranks)) for k in range(len(tables))]
    return {"ranks": ranks, "tables": {name: {"partition": partition, "ranks": home} for (name, _, _), home in zip(tables, homes)}}


def vectors(bags, mine, padded):
    """How many an owner of those rows has for a rank: of each bag one, if it has one of the rows."""
    return sum(1 for bag in bags if padded or any(row in mine for row in bag))


def count(ranks, tables, bags, placement, t=0, exchange="both", ids=False, padded=False):
    """bytes[i][j] from rank i to rank j."""
    sent = [[0] * ranks for _ in range(ranks)]
    for name, rows, width in tables:
        for owner, mine, columns in owners(placement["tables"][name], rows, width):
            for r in range(ranks):
                if r == owner or columns == 0:
                    continue
                vector = 4 * columns * vectors(bags[name][t][r], mine, padded)
                sent[owner][r] += vector * (exchange != "gradients")
                sent[r][owner] += vector * (exchange != "lookups")
                if ids:
                    sent[r][owner] += 8 * (sum(row in mine for bag in bags[name][t][r] for row in bag) + len(bags[name][t][r]))
    return sent


# --- exchanges --------------------------------------------------------------------------------------------------------


def by_hand(folder):
    """Ranks 0 and 1, a table of 4 rows of 2 floats; rank 0 has bags {0, 3}, {} and {2}, rank 1 has {1, 1, 3}."""
    bags = {"a": [[[[0, 3], [], [2]], [[1, 1, 3]]]]}
    return make_trace(folder / "hand.safetensors", 2, [("a", 4, 2)], bags), bags


@test
def a_small_one_by_hand(folder):
    path, _ = by_hand(folder)

    def sent(options):
        point, = points("--trace", path, "--cluster", CLUSTER, "--scheme", f"alltoall:sizes=free,{options}")
        assert point["exact"] is True
        return point["rank_bytes_sent"]
    # whole, on rank 0: it sends rank 1 the one vector of its bag, 8 bytes; rank 1 sends one gradient back
    assert sent("partition=table,pooling=sum") == [8, 8]
    # unpooled: three lookups of 8 bytes; two distinct rows of 12
    assert sent("partition=table") == [24, 24]
    # rows: rank 1 has rows 2 and 3, which two of rank 0's bags have; rank 0 has row 1, of rank 1's bag. Back the same.
    assert sent("partition=row,pooling=sum,exchange=lookups") == [8, 16]
    assert sent("partition=row,pooling=sum,exchange=gradients") == [16, 8]
    # of columns each has one: rank 0 sends 4 bytes for rank 1's bag and gets 8 for its two that have rows
    assert sent("partition=column,pooling=sum,exchange=lookups") == [4, 8]
    # padded: rank 0's empty bag travels too
    assert sent("partition=row,pooling=padded,exchange=lookups") == [8, 24]
    # ids of 8 bytes and as much for each bag: rank 1 looks up three rows in one bag
    assert sent("partition=table,pooling=sum,exchange=lookups,gather_ids=true") == [8, 32]


@test
def vectors_are_those_of_a_count(folder):
    dice = random.Random(5)
    for case in range(16):
        ranks, tables = dice.randrange(2, 7), some_tables(dice)
        bags = some_bags(dice, ranks, tables, 2)
        path, placement = make_trace(folder / "t.safetensors", ranks, tables, bags, 2), some_placement(dice, ranks, tables)
        schemes = [{"name": "alltoall", "label": f"{partition} {pooling} {exchange} {ids}", "partition": partition, "pooling": pooling,
                    "exchange": exchange, "gather_ids": ids}
                   for partition in ("table", "placed") for pooling in ("sum", "padded")
                   for exchange, ids in (("both", True), ("both", False), ("lookups", True), ("gradients", False))]
        found = points(write_json(folder, {"name": "s", "trace": str(path), "cluster": CLUSTER, "iterations": "1:2", "schemes": schemes,
                                           "placement": placement}))
        for scheme, point in zip(schemes, found, strict=True):
            where = placement if scheme["partition"] == "placed" else alike(ranks, tables, "table")
            agrees(point, count(ranks, tables, bags, where, 1, scheme["exchange"], scheme["gather_ids"], scheme["pooling"] == "padded"), None,
                   (case, scheme["label"]))


@test
def each_table_alone_by_columns_and_by_rows(folder):
    dice = random.Random(6)
    for case in range(8):
        ranks, tables = dice.randrange(2, 7), some_tables(dice)
        bags = some_bags(dice, ranks, tables)
        path = make_trace(folder / "t.safetensors", ranks, tables, bags)
        schemes = [{"name": "alltoall", "label": f"{partition} {exchange}", "partition": partition, "pooling": "sum", "exchange": exchange}
                   for partition in ("column", "row") for exchange in ("both", "lookups", "gradients")]
        found = points(write_json(folder, {"name": "s", "trace": str(path), "cluster": CLUSTER, "schemes": schemes}))
        for point in found:
            table = [t for t in tables if t[0] == point["tensor"]]
            if table:
                partition, exchange = point["label"].split()
                agrees(point, count(ranks, table, bags, alike(ranks, table, partition), exchange=exchange), None, (case, point["label"]))


def count_by_nodes(ranks, each, rows, width, bags, forward, backward):
    """A table by rows, `each` ranks a node: vectors of rank r cross to the rank at its position of each node that has a row of the bag,
    and go on to those of it who do; forward the same the other way round."""
    sent = [[0] * ranks for _ in range(ranks)]
    for r in range(ranks):
        for node in range(ranks // each):
            relay, mine = node * each + r % each, share(rows, ranks // each, node)
            hops = [(r, relay, mine)] + [(relay, node * each + j, share(rows, ranks, node * each + j)) for j in range(each)]
            for a, b, those in hops:
                if a != b:
                    size = 4 * width * vectors(bags[r], those, False)
                    sent[a][b] += backward * size
                    sent[b][a] += forward * size
    return sent


@test
def a_vector_crosses_to_a_node_once(folder):
    dice, crossed = random.Random(11), []
    for case in range(8):
        nodes, each = dice.choice(((1, 3), (2, 2), (3, 2), (2, 4)))
        ranks, tables = nodes * each, some_tables(dice)[:1]
        bags = some_bags(dice, ranks, tables)
        path = make_trace(folder / "t.safetensors", ranks, tables, bags)
        schemes = [{"name": "alltoall", "label": f"{route} {exchange}", "partition": "row", "pooling": "sum", "exchange": exchange, "route": route}
                   for route in ("node", "direct") for exchange in ("both", "lookups", "gradients", "tokens")]
        found = points(write_json(folder, {"name": "s", "trace": str(path), "schemes": schemes, "sizes": "free",
                                           "cluster": {"name": "n", "latency": "1us", "bandwidth": "1GB/s", "gpus_per_node": each}}))
        for point in found:
            route, exchange = point["label"].split()
            if route == "node":
                name, rows, width = tables[0]
                sent = count_by_nodes(ranks, each, rows, width, bags[name][0], exchange != "gradients", exchange != "lookups")
            else:
                sent = count(ranks, tables, bags, alike(ranks, tables, "row"), exchange=exchange if exchange != "tokens" else "both")
            agrees(point, sent, None, (case, point["label"]))
            crossed.append((route, sum(n for a, row in enumerate(sent) for b, n in enumerate(row) if a // each != b // each)))
    by = {route: sum(n for which, n in crossed if which == route) for route in ("node", "direct")}
    assert by["node"] < by["direct"], by


@test
def tokens_are_bags_of_their_experts(folder):
    """Each 4 lookups of a synthetic trace are of different rows, and make a bag; the last of 10 has two."""
    path = folder / "moe.safetensors"
    told("trace", "synth", "--rows", 8, "--row-width", 4, "--ranks", 4, "--iterations", 2, "--lookups", 10, "--distinct", 4, "-o", path)
    segments = read_bags(path)[0]["embedding"]
    assert [[len(bag) for bag in one] for one in segments] == [[4, 4, 2]] * 8 and all(len(set(bag)) == len(bag) for one in segments for bag in one)
    fewer = ("run", "--trace", path, "--cluster", "h100-8x8-400g", "--scheme")
    refused("full nodes", *fewer, "alltoall:partition=row,pooling=sum,route=node", "--set", "cluster.gpus_per_node=3")
    refused("full nodes", *fewer, "alltoall:partition=row,pooling=sum,route=node", "--set", "cluster.gpus_per_node=1")
    for options in ("pooling=sum", "partition=row", "pooling=padded,partition=row"):
        refused('route \"node\" sends a bag', *fewer, f"alltoall:route=node,{options}")


@test
def bags_of_one_lookup_are_rows(folder):
    """Forward alltoall sends the same; backward there are no indices, and duplicates travel."""
    dice = random.Random(7)
    tables = [("a", 30, 6), ("b", 9, 4)]
    bags = {name: [[[[dice.randrange(rows)] for _ in range(20)] for _ in range(4)]] for name, rows, _ in tables}
    path = make_trace(folder / "t.safetensors", 4, tables, bags)
    common = ("--trace", path, "--cluster", CLUSTER, "--scheme")
    for partition in ("table", "row", "column"):
        one, other = ([point["rank_bytes_sent"] for point in points(*common, f"alltoall:partition={partition},exchange=lookups,pooling={p}")
                       if point["tensor"] in bags or partition == "table"]
                      for p in ("none", "sum"))
        assert one == other, (partition, one, other)


@test
def groups_of_replicas_pool_inside(folder):
    """Two ranks of four send each other what they would alone; the rings of replicas then add up half of the table each, twice half of it."""
    tables = [("a", 32, 8)]
    path = make_trace(folder / "t.safetensors", 4, tables, some_bags(random.Random(9), 4, tables))
    common, free = ("--trace", path, "--cluster", CLUSTER), "sizes=free,pooling=sum,partition"
    for partition in ("row", "column"):
        alone, = points(*common, "--ranks", 2, "--scheme", f"alltoall:{free}={partition}")
        both, = points(*common, "--scheme", f"replicas:group=2,{free}={partition}")
        assert both["rank_bytes_sent"][:2] == [sent + 2 * 32 * 8 * 4 // 4 for sent in alone["rank_bytes_sent"]] and both["exact"] is True, partition


@test
def ranks_that_are_merged_have_the_bags_of_both(folder):
    dice = random.Random(8)
    tables = [("a", 30, 6), ("b", 9, 4)]
    bags = some_bags(dice, 8, tables)
    path = make_trace(folder / "t.safetensors", 8, tables, bags)
    joined = {name: [[part[2 * r] + part[2 * r + 1] for r in range(4)] for part in bags[name]] for name, _, _ in tables}
    point, = points("--trace", path, "--cluster", CLUSTER, "--set", "merge=2", "--scheme", "alltoall:partition=table,pooling=sum")
    agrees(point, count(4, tables, joined, alike(4, tables, "table")), None, "merged")


@test
def owners_coalesce_what_bags_bring(folder):
    """With kernels counted, bytes are the same, and owners sort what they get: it takes longer."""
    path, _ = by_hand(folder)
    common = ("--trace", path, "--cluster", CLUSTER, "--scheme", "alltoall:partition=row,pooling=sum")
    (bare,), (timed,) = points(*common, "--device", "none"), points(*common, "--device", "quick")
    assert timed["rank_bytes_sent"] == bare["rank_bytes_sent"] and timed["exact"] is True
    assert timed["time_s"] > bare["time_s"], (timed["time_s"], bare["time_s"])


# --- plans ------------------------------------------------------------------------------------------------------------


@test
def plan_places_by_what_bags_move(folder):
    """One table with large bags, three with bags of one: pooled, all weigh alike."""
    dice = random.Random(9)
    tables = [(f"t{k}", 50, 8) for k in range(4)]
    bags = {name: [[[[dice.randrange(rows) for _ in range(30 if k == 0 else 1)] for _ in range(20)] for _ in range(4)]]
            for k, (name, rows, _) in enumerate(tables)}
    path = make_trace(folder / "t.safetensors", 4, tables, bags)
    common = ("plan", "--place", "--trace", path, "--cluster", CLUSTER, "--format", "json", "--quiet")
    for pooling in ("sum", "padded"):
        plan = json.loads(told(*common, "--scheme", f"alltoall:pooling={pooling}"))
        by_name = {row["placement"]: row for row in plan["plan"]}
        assert math.isclose(by_name["greedy"]["served_imbalance"], 1), by_name["greedy"]
        placement = {"ranks": 4, "tables": plan["tables"]}
        point, = points("--trace", path, "--cluster", CLUSTER, "--placement", write_json(folder, placement, "p.json"),
                        "--scheme", f"alltoall:partition=placed,pooling={pooling}")
        assert point["time_s"] == by_name[plan["chosen"]]["time_s"]
        agrees(point, count(4, tables, bags, placement), None, pooling)
    unpooled = {row["placement"]: row for row in json.loads(told(*common))["plan"]}
    assert unpooled["greedy"]["served_imbalance"] > 2, unpooled["greedy"]
    refused("say alltoall:pooling=sum", *common, "--scheme", "alltoall:exchange=lookups")


# --- traces -----------------------------------------------------------------------------------------------------------


@test
def merging_and_saving_keep_bags(folder):
    dice = random.Random(10)
    tables = [("a", 30, 2), ("b", 9, 4)]
    bags = some_bags(dice, 5, tables, 3)
    slices = [range(0, 2), range(2, 5)]
    for k, ranks in enumerate(slices):
        make_trace(folder / f"{k}.safetensors", len(ranks), tables, {name: [part[ranks.start:ranks.stop] for part in bags[name]] for name in bags}, 3)
    told("trace", "merge", folder / "0.safetensors", folder / "1.safetensors", "-o", folder / "all.safetensors")
    found, ranks = read_bags(folder / "all.safetensors")
    assert ranks == 5 and found == {name: [segment for part in bags[name] for segment in part] for name in bags}
    told("trace", "merge", folder / "all.safetensors", "--tensor", "b", "-o", folder / "b.safetensors")
    assert read_bags(folder / "b.safetensors")[0] == {"b": found["b"]}
    make_trace(folder / "1.safetensors", 3, tables, {name: [part[2:] for part in bags[name]] for name in bags}, 3, without=["b"])
    refused("bags is false; in", "trace", "merge", folder / "0.safetensors", folder / "1.safetensors", "-o", folder / "all.safetensors")


@test
def info_and_stats_count_bags(folder):
    path, bags = by_hand(folder)
    tensor, = json.loads(told("trace", "info", path, "--format", "json"))["tensors"]
    assert (tensor["bags"], tensor["lookups"], tensor["pooling"]) == (4, 6, 1.5), tensor
    assert "lookups/bag" in told("trace", "info", path)
    tensor, = json.loads(told("trace", "stats", path, "--ranks", "1", "--format", "json"))["tensors"]
    assert (tensor["bags"], tensor["pooling"]) == (3, 1), tensor
    assert "lookups/bag" in told("trace", "stats", path)
    make_trace(path, 2, [("a", 4, 2)], bags, without=["a"])
    for command in ("info", "stats"):
        tensor, = json.loads(told("trace", command, path, "--format", "json"))["tensors"]
        assert (tensor["bags"], tensor["pooling"]) == (None, None), tensor
        assert "lookups/bag" not in told("trace", command, path)


@test
def wrong_bags_are_told(folder):
    bags = {"a": [[[[0, 3], [], [2]], [[1, 1, 3]]]]}

    def wrong(says, entry, values=None, kind="I64"):
        def change(name, usual, good):
            return (kind, good if values is None else values) if name == f"a.{entry}" else (usual, good)
        path = make_trace(folder / "w.safetensors", 2, [("a", 4, 2)], bags, change=change)
        refused(says, "trace", "info", path)
    wrong("needs a.bag_offsets beside it", "bag_offsets", kind=None)
    wrong("needs a.bags beside it", "bags", kind=None)
    wrong("offsets are I64", "bags", kind="I32")
    wrong("offsets are I64", "bag_offsets", kind="I32")
    wrong("1 iterations of 2 ranks need 3", "bags", [0, 4])
    wrong("is empty", "bag_offsets", [])
    for values in ([1, 3, 4], [0, 5, 4], [0, -1, 4], [0, 3, 3], [0, 3, 5], [0, 3, 2**62]):
        wrong("a.bags[", "bags", values)
    for values in ([1, 2, 2, 3, 6], [0, 2, 1, 3, 6], [0, 2, 2, 3, 5], [0, 2, 2, 3, 7], [0, 2, -1, 3, 6], [0, 2, 2**62, 3, 6]):
        wrong("a.bag_offsets[", "bag_offsets", values)
    wrong("a.bag_offsets[3] is 4: not where a rank's lookups begin", "bag_offsets", [0, 2, 2, 4, 6])


@test
def pooling_without_bags_is_refused(folder):
    path, bags = by_hand(folder)
    two = [("a", 4, 2), ("b", 4, 2)]
    half = make_trace(folder / "half.safetensors", 2, two, {"a": bags["a"], "b": bags["a"]}, without=["b"])
    common = ("--cluster", CLUSTER, "--scheme")
    for partition in ("table", "column"):
        refused("half.safetensors: b does not say which lookups make one", "run", "--trace", half, *common, f"alltoall:pooling=sum,partition={partition}")
    assert points("--trace", half, "--tensor", "a", *common, "alltoall:pooling=sum")[0]["exact"] is True
    uniform = "trace=" + json.dumps({"uniform": {"rows": 64, "density": 0.25, "row_width": 4}})
    refused("does not say which lookups make one", "run", "--set", uniform, "--ranks", 4, *common, "alltoall:pooling=sum")
    refused('leave the scenario\'s "capacity" out', "run", "--trace", path, "--set", "capacity=1", *common, "alltoall:pooling=sum")
    refused("pooled into one vector", "run", "--trace", path, *common, "alltoall:pooling=sum,coalesce=false")
    refused("pooling", "cost", "alltoall:pooling=sum", "--M", "1MB", "--density", "1%")


sys.exit(tap.run())
# SPDX-License-Identifier: Apache-2.0
