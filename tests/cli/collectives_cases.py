"""A rank of two that measure collectives over gloo; test_measure_collectives.py starts both. Arguments: a folder, the rank."""
import csv
import json
import pathlib
import sys

import torch
import torch.distributed as dist
from sparsync.torch import _collectives, measure_collectives

FOLDER, RANK = pathlib.Path(sys.argv[1]), int(sys.argv[2])
SIZES = [1000, 4096, 65536, 1 << 19]
SENT = {"all_reduce": 0, "all_gather_into_tensor": 0, "all_to_all_single": 1, "broadcast": 0, "isend": 0}  # which argument


def spied(name, place, seen):
    real = getattr(dist, name)

    def call(*arguments, **named):
        tensor = arguments[place]
        if tensor.dtype == torch.float32:  # times are doubles
            seen.setdefault(name, set()).add(tensor.numel() * tensor.element_size())
        return real(*arguments, **named)

    return call


dist.init_process_group("gloo", init_method=f"file://{FOLDER}/store", rank=RANK, world_size=2)
seen = {}
for name, place in SENT.items():
    setattr(dist, name, spied(name, place, seen))
whole = measure_collectives(sizes=SIZES, path=FOLDER / "times.csv", seconds=60)
everyone = [None, None]
dist.all_gather_object(everyone, whole.rows)
assert everyone[0] == everyone[1], "ranks say the same"
sizes = {row["bytes"] for row in whole.rows}
assert sizes == {1000, 4096, 65536, 1 << 19}, sizes
assert seen == {name: sizes for name in SENT}, f"what is sent has as many bytes as the table says: {seen}"
assert whole.left_out == ["reduce_scatter: gloo has none: PyTorch (2.15, too) all-reduces and keeps a part"], whole.left_out

told = measure_collectives(sizes=SIZES, seconds=0)
assert {row["bytes"] for row in told.rows} == {1000} and len(told.rows) == 5, "without time one size of each"
assert sum("sizes above 1000 B" in line for line in told.left_out) == 5, told.left_out

spent = []


def made_up(call, count, *_):
    spent.append(count * call())
    return [call()] * count


real, _collectives._timed = _collectives._timed, made_up
rows = _collectives._time_sizes("made_up", lambda size: lambda: 0.03 + size * 1e-8, _collectives.SIZES, 2.4, None, None, None)
_collectives._timed = real
reached = [row["bytes"] for row in rows]
assert reached == sorted(reached) and {1 << 10, 1 << 14, 1 << 18, 1 << 22} <= set(reached), f"30 ms a call leave time for large ones: {reached}"
assert all(abs(row["seconds"] - 0.03 - row["bytes"] * 1e-8) < 1e-12 and row["samples"] >= 5 for row in rows) and sum(spent) < 2 * 2.4, spent

alone = dist.new_group([0])
if RANK == 0:
    with open(FOLDER / "times.csv", newline="") as file:
        table = list(csv.DictReader(file))
    assert [{key: str(value) for key, value in row.items()} for row in whole.rows] == [
        {key: row[key] for key in whole.rows[0]} for row in table], "the file has the rows"
    for row in whole.rows:
        assert 5 <= row["samples"] <= 21 and 0 < row["p25_s"] <= row["seconds"] <= row["p75_s"], row
    try:
        measure_collectives(alone)
        raise AssertionError("one rank measured itself")
    except ValueError as reason:
        assert "a group of one rank sends nothing" in str(reason)
    assert _collectives.nodes_of(["a", "a", "b", "b"]) == (2, 2) and _collectives.nodes_of(["a"] * 3) == (1, 3)
    for names in (["a", "a", "b"], ["a", "b", "a", "b"]):
        try:
            _collectives.nodes_of(names)
            raise AssertionError(f"{names} passed")
        except ValueError as reason:
            assert "as many ranks on each node, one node's after the other's" in str(reason)
    print(json.dumps([[row["collective"], row["algorithm"], row["nodes"], row["gpus_per_node"]] for row in whole.rows[::4]]))
dist.barrier()
dist.destroy_process_group()
# SPDX-License-Identifier: Apache-2.0
