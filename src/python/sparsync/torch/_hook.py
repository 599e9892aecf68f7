"""A training in PyTorch with the result of a scheme that its library does not have: whether the own model still learns."""
import fnmatch

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from .. import Error, Sync

PER = ("parameter", "bucket")


def apply(model, scheme="topka", *, select=0, per="parameter", exact=(), gpus_per_node=1):
    """Gives the training of a DistributedDataParallel `model` what ranks would end with if `scheme` ("spardl:density=0.01", or a
    dict, docs/scenarios.md) synchronised its gradients: means over ranks, as DDP's are. Call it on every rank, before the first
    backward pass. Gradients go to all ranks and are added up on the CPU: it is slow; `sparsync.train` says what the scheme takes.

    `select`: the share of its elements that each rank sends, the rest waits, of schemes that do not select by themselves.
    `per`: what is one tensor to the scheme: each "parameter" (of embeddings rows, of others elements), or all of a "bucket" of
    DDP; buckets are made anew after the first step, which ends with the exact mean.
    `exact`: names of parameters ("norm.*") that end with the exact mean.

    Returns what is known of it, the same on all ranks: `steps`; of the last step `sent_bytes` (of each tensor those of the rank that
    sends most of it, values of 4 B) and `energy` (of the sum over ranks; the mean over tensors that are not exact)."""
    if not isinstance(model, DistributedDataParallel):
        raise Error(f"apply: expected a DistributedDataParallel model, not {type(model).__name__}: other wrappers have no hook that "
                    "a scheme's result could come from")
    if model._comm_hooks:
        raise Error("apply: the model has a communication hook: DistributedDataParallel takes one")
    if per not in PER:
        raise Error(f"per: {per!r} is none of {', '.join(PER)}")
    exact = [exact] if isinstance(exact, str) else sorted(exact)
    if exact and per == "bucket":
        raise Error('exact: a bucket is one tensor: say per="parameter"')
    applied = Applied(model, {"scheme": scheme, "select": select, "gpus_per_node": gpus_per_node}, per, exact)
    model.register_comm_hook(applied, _hook)
    return applied


class Applied:
    """What a scheme did so far."""

    def __init__(self, model, how, per, exact):
        self.steps, self.sent_bytes, self.energy = 0, 0, 1.0
        self._how, self._per, self._syncs, self._done = how, per, {}, []
        self._group = model.process_group
        self._ranks = dist.get_world_size(self._group)
        self._gloo = dist.get_backend(self._group) == "gloo"
        if not self._gloo:
            self._group = dist.new_group(dist.get_process_group_ranks(self._group), backend="gloo")
        self._agree((how, per, exact))
        named = {name: p for name, p in model.module.named_parameters() if p.requires_grad}
        for pattern in exact:
            if not fnmatch.filter(named, pattern):
                raise Error(f"exact: no parameter is called {pattern!r}")
        self._names = {id(p): name for name, p in named.items()}
        self._exact = {id(p) for name, p in named.items() if any(fnmatch.fnmatchcase(name, pattern) for pattern in exact)}
        self._tables = {id(m.weight) for m in model.module.modules() if isinstance(m, (nn.Embedding, nn.EmbeddingBag))}
        sizes = [p.numel() for p in named.values()]
        try:  # what cannot be is refused now
            Sync(rows=max(sizes) if per == "parameter" else sum(sizes), ranks=self._ranks, **how)
        except Error as reason:
            raise Error("apply: " + str(reason).removeprefix("scheme: [0]: "), reason.status) from None
        if per == "parameter":
            self._refuse_small({name: p for name, p in named.items() if p.numel() and id(p) not in self._exact})

    def _refuse_small(self, named):
        """Names the parameters that have too few elements for the scheme."""
        small, why = [], None
        rows_of = {name: len(p) if id(p) in self._tables else p.numel() for name, p in named.items()}
        for name, rows in sorted(rows_of.items(), key=lambda item: item[1]):
            p = named[name]
            try:
                Sync(rows=rows, row_width=p.numel() // rows, ranks=self._ranks, **self._how)
                break
            except Error as reason:
                small, why = [*small, name], why or reason
        if small:
            text = str(why).removeprefix("scheme: [0]: ")
            raise Error(f"apply: {small[0]}: {text}; exact={small} leaves such parameters to the exact mean", why.status)

    def _agree(self, asked):
        every = [None] * self._ranks
        dist.all_gather_object(every, repr(asked), self._group)
        for rank, theirs in enumerate(every):
            if theirs != every[0]:
                raise Error(f"rank {rank} asks for {theirs}, rank 0 for {every[0]}: all ranks have to ask for the same")

    def _gathered(self, mine):
        every = [torch.empty_like(mine) for _ in range(self._ranks)]
        dist.all_gather(every, mine, self._group)
        return every

    def _synced(self, key, rows, width, gradients):
        """Elements that the scheme's result lists, and their means over ranks."""
        if key not in self._syncs:
            if self._per == "bucket" and self.steps > 1:
                raise Error('DDP made its buckets anew in the middle of a training: say per="parameter"')
            self._syncs[key] = Sync(rows=rows, row_width=width, ranks=self._ranks, **self._how)
        try:
            synced = self._syncs[key].step(gradients)
        except Error as reason:
            where = ", ".join(self._names.get(one, "?") for one in key)
            raise Error(f"{where}: {reason}", reason.status) from None
        self._done.append(synced)
        if not synced.elements:
            return torch.zeros(0, dtype=torch.long), torch.zeros(0, dtype=torch.float64)
        elements = torch.frombuffer(synced.elements, dtype=torch.int32).long() & 0xffffffff
        return elements, torch.frombuffer(synced.values, dtype=torch.float64) / self._ranks

    def _tensors(self, bucket):
        """What the scheme takes as one tensor: its key (none: the exact mean), where its elements lie, and its rows."""
        whole, parameters = bucket.buffer(), bucket.parameters()
        if self._per == "bucket":
            yield tuple(map(id, parameters)) if self.steps else None, slice(0, whole.numel()), whole.numel()
            return
        for p, g in zip(parameters, bucket.gradients()):
            first, rows = g.storage_offset() - whole.storage_offset(), len(p) if id(p) in self._tables else g.numel()
            yield None if id(p) in self._exact else (id(p),), slice(first, first + g.numel()), rows

    def _dense(self, bucket):
        whole = bucket.buffer()
        wide = whole.dtype if whole.dtype in (torch.float32, torch.float64) else torch.float32
        every, out = self._gathered(whole.to("cpu", wide)), torch.zeros(whole.numel(), dtype=torch.float64)
        for key, span, rows in self._tensors(bucket):
            parts = [one[span] for one in every]
            if key is None:
                out[span] = torch.stack(parts).double().mean(0)
            elif rows:
                elements, values = self._synced(key, rows, len(parts[0]) // rows, parts)
                out[span][elements] = values
        return out.to(whole.device, whole.dtype)

    def _sparse(self, bucket):
        """Of a table with sparse=True, which has a bucket of its own."""
        (parameter,), mine = bucket.parameters(), bucket.buffer().coalesce()
        if not self._gloo or mine.sparse_dim() != 1:
            raise Error(f"{self._names[id(parameter)]}: sparse gradients are taken of embeddings on gloo alone: say sparse=False")
        counts = [int(n) for n in self._gathered(torch.tensor([mine._nnz()]))]
        ids, values = torch.zeros(max(counts), dtype=torch.long), torch.zeros(max(counts), *mine.shape[1:], dtype=mine.dtype)
        ids[:mine._nnz()], values[:mine._nnz()] = mine.indices()[0], mine.values()
        every = [(i[:n], v[:n]) for i, v, n in zip(self._gathered(ids), self._gathered(values), counts)]
        if id(parameter) in self._exact:
            listed, values = (torch.cat(parts) for parts in zip(*every))
            mean = torch.sparse_coo_tensor(listed[None], values / self._ranks, mine.shape, check_invariants=False)
            return mean.coalesce().to(mine.device)
        width = mine.shape[1:].numel()
        elements, values = self._synced((id(parameter),), mine.shape[0], width, every)
        listed, place = torch.unique(elements // width, return_inverse=True)
        rows = torch.zeros(len(listed), width, dtype=torch.float64)
        rows[place, elements % width] = values
        return torch.sparse_coo_tensor(listed[None], rows.to(mine.dtype).view(-1, *mine.shape[1:]), mine.shape,
                                       is_coalesced=True, check_invariants=False).to(mine.device)

    def _end(self):
        self.steps += 1
        self.sent_bytes = sum(one.sent_bytes for one in self._done)
        self.energy = sum(one.energy for one in self._done) / len(self._done) if self._done else 1.0
        self._done = []


def _hook(applied, bucket):
    mine = bucket.buffer()
    result = applied._sparse(bucket) if mine.is_sparse else applied._dense(bucket)
    if bucket.is_last():
        applied._end()
    future = torch.futures.Future(devices=[mine.device] if mine.is_cuda else [])
    future.set_result(result)
    return future
# SPDX-License-Identifier: Apache-2.0
