"""A rank of ./dev trainlab: plays what a file of jobs lists, one after the other; rank 0 writes what came of them.

    worker.py JOBS.json RESULTS.json      (RANK, WORLD_SIZE, MASTER_ADDR and so on in the environment, as torchrun has them)
"""
import datetime
import itertools
import json
import os
import statistics
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from sparsync.torch import Recorder, measure_collectives

class Slept(torch.autograd.Function):
    """A pass that takes so many seconds, computes nothing, and has its parameters' gradients at hand."""

    @staticmethod
    def forward(ctx, x, seconds, gradient, weight):
        time.sleep(seconds[0])
        ctx.seconds, ctx.gradient = seconds[1], gradient
        return x.clone()

    @staticmethod
    def backward(ctx, back):
        time.sleep(ctx.seconds)
        return back, None, None, ctx.gradient()


class SleptLayer(torch.nn.Module):
    def __init__(self, width, height, seconds):
        super().__init__()
        self.weight, self.seconds = torch.nn.Parameter(torch.zeros(width * height)), seconds
        self.full = torch.randn(width * height)

    def forward(self, x):
        return Slept.apply(x, self.seconds, self.full.clone, self.weight)


class SleptTable(torch.nn.Embedding):  # DDP asks an Embedding whether its gradients are sparse
    def __init__(self, job, sparse):
        super().__init__(job["rows"], job["width"], sparse=sparse, _weight=torch.zeros(job["rows"], job["width"]))
        self.seconds = job["table_s"]

    def forward(self, ids):
        def gradient():
            values = torch.ones(len(ids), self.embedding_dim)
            if self.sparse:
                return torch.sparse_coo_tensor(ids[None], values, self.weight.shape, check_invariants=False)
            return torch.zeros_like(self.weight).index_add_(0, ids, values)

        return Slept.apply(torch.zeros(1, requires_grad=True), self.seconds, gradient, self.weight)


class Exchange(torch.autograd.Function):
    """EmbRace's: each rank has so many columns of every row; what was looked up comes, and gradients go, by all-to-all."""

    @staticmethod
    def forward(ctx, weight, ids, group):
        ranks = dist.get_world_size(group)
        every = ids.new_empty(ranks * len(ids))
        dist.all_gather_into_tensor(every, ids, group=group)
        ctx.every, ctx.group, ctx.shape = every, group, weight.shape
        mine = weight[every]
        got = torch.empty_like(mine)
        dist.all_to_all_single(got, mine, group=group)
        return got.view(ranks, len(ids), -1).transpose(0, 1).reshape(len(ids), -1)

    @staticmethod
    def backward(ctx, back):
        ranks = dist.get_world_size(ctx.group)
        parts = back.view(len(back), ranks, -1).transpose(0, 1).contiguous().view(len(ctx.every), -1)
        got = torch.empty_like(parts)
        dist.all_to_all_single(got, parts, group=ctx.group)
        return torch.sparse_coo_tensor(ctx.every[None], got, ctx.shape, check_invariants=False), None, None


class CutTable(torch.nn.Module):
    """Columns of a table, in a process group of their own."""

    def __init__(self, job):
        super().__init__()
        self.columns = torch.nn.Parameter(torch.zeros(job["rows"], job["width"] // dist.get_world_size()))
        self.group, self.seconds = dist.new_group(), job["table_s"] if job["slept"] else None

    def forward(self, ids):
        vectors = Exchange.apply(self.columns, ids, self.group)
        return Slept.apply(vectors, self.seconds, lambda: None, None) if self.seconds else vectors


def model_of(job):
    torch.manual_seed(0)
    sparse, slept = job["system"] in ("sparse", "groups"), job["slept"]
    table = (CutTable(job) if job["system"] == "hybrid" else SleptTable(job, sparse) if slept else
             torch.nn.Embedding(job["rows"], job["width"], sparse=sparse))
    layers = [SleptLayer(*size, job["layer_s"]) if slept else torch.nn.Linear(*size, bias=False) for size in job["layers"]]
    return torch.nn.Sequential(table, *layers)


def chosen(rest, flat, k):
    """The k largest of a gradient and what was left before; the others are what is left."""
    at = rest.add_(flat).abs().topk(k, sorted=False).indices
    values = rest[at]
    rest[at] = 0
    return values, at.to(torch.int32)


def keep_largest(state, bucket):
    """A communication hook: the largest entries of a bucket with what was left before, all-gathered; each rank sums."""
    flat, left = bucket.buffer(), state["left"]
    if bucket.index() not in left or left[bucket.index()].numel() != flat.numel():  # the first, or buckets were built anew
        left[bucket.index()] = torch.zeros_like(flat)
    k = max(1, int(state["density"] * flat.numel() + 0.5))
    values, at32 = chosen(left[bucket.index()], flat, k)
    every, places = values.new_empty(k * dist.get_world_size()), at32.new_empty(k * dist.get_world_size())
    works = [dist.all_gather_into_tensor(places, at32, async_op=True), dist.all_gather_into_tensor(every, values, async_op=True)]

    def summed(_):
        works[0].wait()
        return flat.zero_().index_add_(0, places.long(), every).div_(dist.get_world_size())

    return works[1].get_future().then(summed)


def wrap(model, job):
    """The model as the system trains it, and what is left to be waited for before the optimizer's step."""
    ignored, pending = {"groups": ["0.weight"], "hybrid": ["0.columns"]}.get(job["system"], []), []
    DistributedDataParallel._set_params_and_buffers_to_ignore_for_model(model, ignored)
    ddp = DistributedDataParallel(model, bucket_cap_mb=job["bucket_mb"])
    if job["system"] == "topk":
        ddp.register_comm_hook({"density": job["density"], "left": {}}, keep_largest)
    if job["system"] == "groups":
        group = dist.new_group()
        model[0].weight.register_post_accumulate_grad_hook(
            lambda weight: pending.append(dist.all_reduce(weight.grad, group=group, async_op=True)))
    return ddp, pending


def train(job, rank):
    model, pending = wrap(model_of(job), job)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    ids = [torch.tensor(each) for each in job["ids"][rank]]
    recorder = None
    if "capture" in job:
        recorder = Recorder(model, optimizer, prefix=job["capture"], iterations=job["steps"], warmup=job["warmup"])
    times, middles = [], []
    dist.barrier()
    for step in range(job["warmup"] + job["steps"]):
        begin = time.perf_counter()
        model(ids[step % len(ids)]).square().mean().backward()
        for work in pending:
            work.wait()
        pending.clear()
        middles.append(time.perf_counter() - begin)
        optimizer.step()
        optimizer.zero_grad()
        times.append(time.perf_counter() - begin)
    if recorder:
        recorder.close()
    return {"seconds": times[job["warmup"]:], "step": statistics.median(t - m for t, m in zip(times, middles))}


def collectives(job, rank):
    return {"left_out": measure_collectives(path=job["path"], seconds=job["seconds"]).left_out}


def timed(call, repeats=7):
    times = []
    for _ in range(repeats):
        dist.barrier()  # ranks compute at once
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def kernels(job, rank):
    """What PyTorch takes for what ranks do beside the wire: [kernel, elements, bytes as the program counts them, s]."""
    rows, width, told = job["rows"], job["width"], []
    for n in (64, 256, 1024):
        ids, values = torch.randint(rows, (n,)), torch.ones(n, width)
        lists = [torch.sparse_coo_tensor(torch.randperm(rows)[:n].sort().values[None], values, (rows, width)) for _ in range(4)]
        union = (lists[0] + lists[1] + lists[2] + lists[3]).coalesce()._nnz()
        raw = torch.sparse_coo_tensor(ids[None], values, (rows, width))
        told.append(["coalesce", n, (n + len(ids.unique())) * (4 + 4 * width), timed(raw.coalesce)])
        told.append(["merge_sum", 4 * n, (4 * n + union) * (8 + 4 * width),
                     timed(lambda: (lists[0] + lists[1] + lists[2] + lists[3]).coalesce())])
    # How long a selection takes depends on the values: half as long among the zeros of rows that nobody looked up.
    looked_up = [torch.zeros(rows, width).index_add_(0, ids, torch.ones(len(ids), width) if job["slept"] else
                                                     torch.randn(len(ids), width)).flatten() for ids in map(torch.tensor, job["ids"][rank])]
    for gradients in ([torch.randn(job["bucket_mb"] << 18) for _ in range(4)], looked_up):
        n, step, rest = gradients[0].numel(), itertools.count(), torch.zeros_like(gradients[0])
        k = max(1, int(job["density"] * n + 0.5))
        told.append(["top_k", k, 4 * n + 4 * k, timed(lambda: chosen(rest, gradients[next(step) % 4], k))])
    for n in (65536, 262144, 1048576):
        flat, rest = torch.randn(n), torch.randn(n)
        told.append(["dense_add", n, 12 * n, timed(lambda: flat.add_(rest))])
    return {"kernels": told}


def main():
    torch.set_num_threads(1)
    os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=60))
    rank, results = dist.get_rank(), []
    for job in json.load(open(sys.argv[1], encoding="utf-8")):
        softirq = [int(x) for x in open("/proc/stat", encoding="ascii").readline().split()[6:9]]
        cpu, begin = sum(os.times()[:2]), time.perf_counter()
        mine = {"train": train, "collectives": collectives, "kernels": kernels}[job["do"]](job, rank)
        mine["wall"], mine["cpu"] = time.perf_counter() - begin, sum(os.times()[:2]) - cpu
        after = [int(x) for x in open("/proc/stat", encoding="ascii").readline().split()[6:9]]
        mine["kernel"] = sum(b - a for a, b in zip(softirq, after)) / os.sysconf("SC_CLK_TCK")
        everyone = [None] * dist.get_world_size()
        dist.all_gather_object(everyone, mine)
        results.append(everyone)
        if rank == 0:
            with open(sys.argv[2], "w", encoding="utf-8") as file:
                json.dump(results, file)
            print(f"{job['name']} done", file=sys.stderr, flush=True)
    dist.barrier()
    os._exit(0)  # gloo's threads have waited for one another for ever at the end


main()
# SPDX-License-Identifier: Apache-2.0
