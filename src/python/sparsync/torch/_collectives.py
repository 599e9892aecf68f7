"""Times the collectives of a process group, as the table that `sparsync calibrate network` reads."""
import collections
import csv
import os
import socket
import statistics
import time
import typing
import warnings

import torch
import torch.distributed as dist

# What ProcessGroupGloo plays: gloo's allreduce.cc (a ring, of segments), allgather.cc (a ring), alltoall.cc (all sends
# and receives posted at once), broadcast.cc (a binomial tree). NCCL chooses by its tuner, which the fit knows.
GLOO = {"all_reduce": "ring", "all_gather": "ring", "all_to_all": "linear", "broadcast": "binomial", "sendrecv": ""}
NONE_OF_ITS_OWN = {"gloo": {"reduce_scatter": "gloo has none: PyTorch (2.15, too) all-reduces and keeps a part"}}
COLUMNS = ("collective", "algorithm", "library", "nodes", "gpus_per_node", "bytes", "seconds", "p25_s", "p75_s", "samples")
REPEATS, LEAST = 21, 5  # timed calls of a size, and how many there are at least
SIZES = tuple(1 << k for k in range(10, 27))  # 1 KiB to 64 MiB


class Collectives(typing.NamedTuple):
    """`rows`: a dict for each collective and size, keys as in the CSV. `left_out`: sentences that name what was not timed."""

    rows: list
    left_out: list


def _calls(group, ranks, device):
    """Each collective as a function of a vector's bytes that makes a function to time. Bytes are those of nccl-tests."""
    me, members = dist.get_rank(group), dist.get_process_group_ranks(group)

    def vector(size):
        return torch.zeros(max(1, size // 4), device=device)

    def all_reduce(size):
        data = vector(size)
        return lambda: dist.all_reduce(data, group=group)

    def all_gather(size):
        part = vector(size // ranks)
        data = part.new_zeros(ranks * part.numel())
        return lambda: dist.all_gather_into_tensor(data, part, group=group)

    def reduce_scatter(size):
        part = vector(size // ranks)
        data = part.new_zeros(ranks * part.numel())
        return lambda: dist.reduce_scatter_tensor(part, data, group=group)

    def all_to_all(size):
        data = vector(size // ranks).repeat(ranks)
        got = torch.empty_like(data)
        return lambda: dist.all_to_all_single(got, data, group=group)

    def broadcast(size):
        data = vector(size)
        return lambda: dist.broadcast(data, members[0], group=group)

    def sendrecv(size):
        data, got = vector(size), vector(size)

        def call():
            works = [dist.irecv(got, members[(me - 1) % ranks], group=group),
                     dist.isend(data, members[(me + 1) % ranks], group=group)]
            for work in works:
                work.wait()

        return call

    return {f.__name__: f for f in (all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, sendrecv)}


def nodes_of(names):
    """How many nodes, and ranks on each, where `names` says on which node each rank is."""
    counts = collections.Counter(names)
    if len(set(counts.values())) != 1 or names != [name for name in counts for _ in range(counts[name])]:
        raise ValueError("measure_collectives: expected as many ranks on each node, one node's after the other's; found nodes of "
                         f"{', '.join(map(str, counts.values()))} ranks, on nodes {[list(counts).index(name) for name in names]}")
    return len(counts), len(names) // len(counts)


def _timed(call, count, group, device, longest):
    """What each of `count` calls took on the rank on which it took longest; the same list on all ranks."""
    cuda = device.type == "cuda"
    times = torch.zeros(count, dtype=torch.float64)
    for i in range(count):
        dist.barrier(group=group)
        if cuda:
            torch.cuda.synchronize(device)
        begin = time.perf_counter()
        call()
        if cuda:
            torch.cuda.synchronize(device)
        times[i] = time.perf_counter() - begin
    return longest(times)


def _guess(rows, size):
    """What a call of the size takes, by a line through the two sizes below it (of one: in proportion); no more than a larger one."""
    below = sorted(s for s in rows if s < size)[-2:]
    if not below:
        return 0.0
    last = rows[below[-1]]["seconds"]
    slope = max(0.0, (last - rows[below[0]]["seconds"]) / (below[-1] - below[0])) if len(below) > 1 else last / below[0]
    return min([last + slope * (size - below[-1])] + [rows[s]["seconds"] for s in rows if s > size])


def _time_sizes(name, make, sizes, seconds, group, device, longest):
    """Every fourth size first, and then those between: where calls are slow, the time is not all spent on small ones."""
    rows, left = {}, seconds
    for some in (sizes[::4], sizes):
        todo = [size for size in some if size not in rows]
        for place, size in enumerate(todo):
            if rows and 2 * _guess(rows, size) > left:
                break
            call = make(size)
            tries = [_timed(call, 1, group, device, longest)[0] for _ in range(2)]  # the first connects, and touches memory
            each, left = min(tries), left - sum(tries)
            if rows and LEAST * each > left:
                break
            count = max(LEAST, min(REPEATS, int(left / (len(todo) - place + 1) / max(each, 1e-6))))
            times = _timed(call, count, group, device, longest)
            quarters = statistics.quantiles(times, n=4)
            rows[size] = {"collective": name, "bytes": size, "seconds": statistics.median(times), "p25_s": quarters[0],
                          "p75_s": quarters[2], "samples": count}
            left -= sum(times)
    return [rows[size] for size in sorted(rows)]


def measure_collectives(group=None, sizes=SIZES, path=None, seconds=12.0):
    """Times what the ranks of `group` (default: all) send each other; every rank calls it, and gets the same Collectives.

    all_reduce, all_gather, reduce_scatter, all_to_all, broadcast and sendrecv (each rank to the next), over rising
    `sizes` in bytes (of the vector, as nccl-tests counts them: of all_gather what each rank ends with), as long as
    `seconds` for all of them together allow. A call's time is that of the rank on which it took longest; of a size
    the median counts, of 5 to 21 calls. Rank 0 writes `path`, a CSV that `sparsync calibrate network` reads.
    """
    backend, ranks = dist.get_backend(group), dist.get_world_size(group)
    if ranks < 2:
        raise ValueError("measure_collectives: a group of one rank sends nothing")
    device = torch.device("cuda", torch.cuda.current_device()) if backend == "nccl" else torch.device("cpu")
    sizes = sorted({max(4 * ranks, size // (4 * ranks) * 4 * ranks) for size in sizes})

    def longest(times):
        times = times.to(device)
        dist.all_reduce(times, dist.ReduceOp.MAX, group=group)
        return times.tolist()

    calls = _calls(group, ranks, device)
    missing = NONE_OF_ITS_OWN.get(backend, {})
    left_out = [f"{name}: {why}" for name, why in missing.items()]
    names = [None] * ranks  # a host's, and under torchrun its agent's
    dist.all_gather_object(names, (socket.gethostname(), os.environ.get("GROUP_RANK")), group=group)
    nodes, per_node = nodes_of(names)
    version = ".".join(map(str, torch.cuda.nccl.version())) if backend == "nccl" else torch.__version__
    shared = {"library": f"{backend} {version}", "nodes": nodes, "gpus_per_node": per_node}
    rows, cut = [], []
    for name in (name for name in calls if name not in missing):
        algorithm = GLOO[name] if backend == "gloo" else ""
        timed = _time_sizes(name, calls[name], sizes, seconds / (len(calls) - len(missing)), group, device, longest)
        rows += [{**shared, "algorithm": algorithm, **row} for row in timed]
        if timed[-1]["bytes"] < sizes[-1]:
            (cut if 4 * timed[-1]["bytes"] < sizes[-1] else left_out).append(f"{name}: sizes above {timed[-1]['bytes']} B would take longer than its share of {seconds:g} s")
    if cut and dist.get_rank(group) == 0:
        warnings.warn(f"measure_collectives: {'; '.join(cut)}. Times of larger ones are then guessed: seconds=... measures longer")
    if path and dist.get_rank(group) == 0:
        with open(path, "w", newline="") as file:
            table = csv.DictWriter(file, COLUMNS)
            table.writeheader()
            table.writerows(rows)
    return Collectives(rows, left_out + cut)
# SPDX-License-Identifier: Apache-2.0
