"""Records what a PyTorch training looks up, computes and sends, for sparsync. Needs torch alone; without the package, keep
this file (traces/capture_pytorch.py is the same one) beside your script.

    from sparsync.torch import Recorder                     # or: from capture_pytorch import Recorder
    recorder = Recorder(model, optimizer, prefix="run")     # model: DistributedDataParallel; optimizer: one, or a list

in every process, before the loop; nothing else changes. After 5 + 50 optimizer steps each process writes
run-rankNNNN.safetensors, and rank 0 joins them to run.safetensors, which `sparsync train --capture` reads. docs/traces.md
says what is in it.

Where rows alone are wanted, of any model, with or without DistributedDataParallel (PyTorch >= 2.0):

    capture = Capture(model, "run", iterations=50, gradients={"decoder.weight": 0.01})
    for batch in batches:
        loss_of(model, batch).backward()    # as often as you accumulate
        optimizer.step()
        capture.step()                      # an iteration is done
    capture.close()                         # writes run-rank0000.safetensors, one file a process, if that was not done"""
import atexit
import collections
import ctypes
import datetime
import fnmatch
import functools
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
import warnings

import torch
import torch.distributed as dist
from torch import nn

if int(torch.__version__.split(".", maxsplit=1)[0]) < 2:
    raise ImportError(f"sparsync's recorder needs PyTorch 2.0 or later, not {torch.__version__}")

DTYPES = {torch.float16: "F16", torch.bfloat16: "BF16"}  # all else is recorded as F32
FILES = {torch.int32: "I32", torch.int64: "I64", torch.float32: "F32", **DTYPES}
WRAPPERS = ("module", "_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module")
LOOKUPS = (nn.Embedding, nn.EmbeddingBag)


def plain(name):
    """Without what DistributedDataParallel, compile and others put before a parameter's own name."""
    return ".".join(part for part in name.split(".") if part not in WRAPPERS)


def distributed():
    return dist.is_available() and dist.is_initialized()


def to_host(tensor, dtype):
    """A copy in the machine's memory; of what is on a GPU it is there once the GPU has come so far."""
    if not tensor.is_cuda:
        return tensor.to(dtype, copy=True)
    return torch.empty(tensor.shape, dtype=dtype, pin_memory=True).copy_(tensor, non_blocking=True)


class Capture:
    """Rows that embeddings look up in training mode, in order, with duplicates and padding, and which of them make a bag; and
    of `gradients`, parameters or patterns ("lstm.*"), the given share of entries, the largest in magnitude, with values: of
    this process's own gradient, summed over the step's backward passes, before any all-reduce. Records wait in temporary
    files, not in memory."""

    def __init__(self, model, prefix, iterations=50, gradients=None, source=f"PyTorch {torch.__version__}"):
        rank = dist.get_rank() if distributed() else int(os.environ.get("RANK", 0))
        self.path, self.limit, self.source = f"{prefix}-rank{rank:04}.safetensors", iterations, source
        self.steps, self.tokens, self.tensors, self.offsets, self.spool, self.hooks = 0, [], [], {}, {}, []
        self.tables, self.seen, self.wanted, self.sums, self.pads, self.bags = {}, {}, {}, {}, set(), {}
        self.waiting, self.training, self.weighted = collections.deque(), None, set()
        self.gpu = any(p.is_cuda for p in model.parameters())
        modules = list(model.named_modules())
        tied = {id(p) for _, m in modules if not isinstance(m, LOOKUPS) for p in m.parameters(recurse=False)}
        for name, module in modules:
            if isinstance(module, LOOKUPS) and module.weight.requires_grad:
                self._table(plain(f"{name}.weight".lstrip(".")), module, id(module.weight) in tied)
        parameters = {plain(name): p for name, p in model.named_parameters() if p.requires_grad}
        for pattern, share in (gradients or {}).items():
            found = fnmatch.filter(parameters, plain(pattern))
            if not found or not 0 < share <= 1:
                raise ValueError(f'gradients: "{pattern}": {share}: want a share of up to 1 of one of {list(parameters)}')
            self.wanted |= dict.fromkeys(found, share)  # the last pattern that fits counts
        for name in self.wanted:
            self._add(f"{name}.grad", parameters[name].numel(), 1, parameters[name].dtype, values=True)
            self.hooks.append(parameters[name].register_hook(functools.partial(self._backward, name)))
        if not self.hooks:
            raise ValueError("nothing to capture: no embedding of the model trains, and no gradients are named")
        self.dense = [{"name": name, "bytes": p.numel() * p.element_size()} for name, p in parameters.items()
                      if name not in self.wanted and name not in self.offsets]
        atexit.register(self.close)

    def _table(self, name, module, tied):
        if tied:
            warnings.warn(f"{name} is shared with a layer that is no embedding: its gradient is dense; not captured")
            return
        name = self.tables.setdefault(id(module.weight), name)  # embeddings that share a table are one tensor
        if name not in self.offsets:
            self._add(name, module.num_embeddings, module.embedding_dim, module.weight.dtype)
        if isinstance(module, nn.EmbeddingBag) and name not in self.bags:
            self.bags[name] = [0]
            self._file(f"{name}.bag_offsets", torch.int64)
        self.pads |= set() if module.padding_idx is None else {module.padding_idx}
        self.hooks.append(module.register_forward_hook(functools.partial(self._forward, name), with_kwargs=True))

    def _file(self, entry, kind):
        self.spool[entry] = tempfile.TemporaryFile(dir=os.path.dirname(os.path.abspath(self.path))), kind

    def _add(self, name, rows, width, dtype, values=False):
        if rows >= 1 << 32:
            raise ValueError(f"{name} has {rows} rows; a tensor of a trace has at most {(1 << 32) - 1}")
        self.tensors.append({"name": name, "rows": rows, "row_width": width, "dtype": DTYPES.get(dtype, "F32")})
        self.offsets[name] = [0]
        self._file(f"{name}.rows", torch.int32 if rows <= 1 << 31 else torch.int64)
        if values:
            self._file(f"{name}.values", dtype if dtype in DTYPES else torch.float32)

    def _forward(self, name, module, inputs, named, output):
        if not (module.training and torch.is_grad_enabled()):
            return
        given = dict(zip(("input", "offsets", "per_sample_weights"), inputs)) | named
        ids, starts = given["input"], None
        if isinstance(module, nn.EmbeddingBag):
            if given.get("per_sample_weights") is not None:
                self.weighted.add(name)
            if ids.dim() == 2:
                starts = torch.arange(0, ids.numel(), ids.shape[1]) if ids.numel() else torch.zeros(ids.shape[0], dtype=torch.long)
            else:
                starts = to_host(given["offsets"][:-1] if module.include_last_offset else given["offsets"], torch.int64)
        elif name in self.bags:  # each of its lookups is a vector of its own
            starts = torch.arange(ids.numel())
        pad = -1 if module.padding_idx is None else module.padding_idx
        self.seen.setdefault(name, []).append((to_host(ids.detach().flatten(), self.spool[f"{name}.rows"][1]), starts, pad))

    def _backward(self, name, grad):
        self.sums[name] = self.sums.get(name, 0) + grad.detach().to_dense()

    def _largest(self, name, share):
        if name not in self.sums:
            return torch.empty(0, dtype=torch.long), torch.empty(0)
        flat = self.sums[name].flatten()
        rows = flat.float().abs().topk(min(max(1, int(share * flat.numel() + 0.5)), flat.numel())).indices.sort().values
        return to_host(rows, torch.int64), to_host(flat[rows], self.spool[f"{name}.grad.values"][1])

    def step(self, tokens=None):
        """An iteration is done. `tokens`: of this process, padding excluded; else what the first table looked up."""
        if not self.hooks:
            return
        largest = {name: self._largest(name, share) for name, share in self.wanted.items()}
        reached = torch.cuda.Event() if self.gpu else None
        if reached:
            reached.record()
        self.waiting.append((reached, self.seen, largest, tokens))
        self.seen, self.sums, self.steps = {}, {}, self.steps + 1
        self._write()
        if self.steps == self.limit and self.training is None:
            self.close()

    def _write(self, wait=False):
        """Iterations that have come from the GPU go to the files; nothing here waits for it, unless asked."""
        while self.waiting and (wait or not self.waiting[0][0] or self.waiting[0][0].query()):
            reached, seen, largest, tokens = self.waiting.popleft()
            if reached:
                reached.synchronize()
            for name in dict.fromkeys(self.tables.values()):
                calls = seen.get(name, [])
                if name in self.bags:
                    self._bag(name, calls)
                self._segment(name, rows=torch.cat([torch.empty(0, dtype=torch.int32), *(ids for ids, _, _ in calls)]))
                tokens = sum(int((ids != pad).sum()) for ids, _, pad in calls) if tokens is None else tokens
            for name, (rows, values) in largest.items():
                kept = values != 0 if torch.isfinite(values).all() else torch.zeros(0).bool()  # a loss scaler skips such steps
                self._segment(f"{name}.grad", rows=rows[:len(kept)][kept], values=values[:len(kept)][kept])
            self.tokens.append(int(tokens or 0))

    def _put(self, entry, data):
        file, kind = self.spool[entry]
        data = data.to(kind).contiguous()
        file.write(ctypes.string_at(data.data_ptr(), data.numel() * data.element_size()))  # .numpy() needs NumPy

    def _bag(self, name, calls):
        first, count = self.offsets[name][-1], 0
        for ids, starts, _ in calls:
            self._put(f"{name}.bag_offsets", starts + first)
            first, count = first + ids.numel(), count + starts.numel()
        self.bags[name].append(self.bags[name][-1] + count)

    def _segment(self, name, **parts):
        for part, data in parts.items():
            self._put(f"{name}.{part}", data)
        self.offsets[name].append(self.offsets[name][-1] + parts["rows"].numel())

    def _unhook(self):
        hooks, self.hooks = self.hooks, []
        for hook in hooks:
            hook.remove()
        return hooks

    def close(self):
        """Writes the file, whole or not at all."""
        if not self._unhook():
            return
        if self.steps == 0:
            warnings.warn(f"step() was never called: {self.path} is not written")
            return
        self._write(wait=True)
        about = {"sparsync.version": "1", "iterations": str(self.steps), "ranks": "1", "source": self.source,
                 "tensors": json.dumps(self.tensors), "dense": json.dumps(self.dense), "tokens": json.dumps(self.tokens)}
        about |= {"pad_id": str(*self.pads)} if len(self.pads) == 1 else {}  # a trace names one: none where tables differ
        about |= {"gpus_per_node": os.environ["LOCAL_WORLD_SIZE"]} if os.environ.get("LOCAL_WORLD_SIZE") else {}
        about |= {"training": self.training} if self.training else {}
        for name in self.bags:
            self._put(f"{name}.bag_offsets", torch.tensor([self.offsets[name][-1]]))
        lists = {f"{name}.offsets": offsets for name, offsets in self.offsets.items()}
        for entry, numbers in (lists | {f"{name}.bags": bags for name, bags in self.bags.items()}).items():
            self._file(entry, torch.int64)
            self._put(entry, torch.tensor(numbers))
        self._save(about)

    def _save(self, about):
        """The format of safetensors, by hand: a length, a header in JSON, the data."""
        header, end = {"__metadata__": about}, 0
        for entry, (file, kind) in self.spool.items():
            begin, end = end, end + file.tell()
            header[entry] = {"dtype": FILES[kind], "shape": [(end - begin) // torch.empty(0, dtype=kind).element_size()], "data_offsets": [begin, end]}
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        with open(self.path + ".part", "wb") as out:
            out.write(len(text).to_bytes(8, "little") + text)
            for file, _ in self.spool.values():
                file.seek(0)
                shutil.copyfileobj(file, out)
                file.close()
        os.replace(self.path + ".part", self.path)


# --- what a training computes and sends -----------------------------------------------------------------------------


class Clock:
    """Instants on the stream of the computation: events of a GPU, which are read once they are over, or seconds."""

    def __init__(self, device):
        self.gpu = device.type == "cuda"

    def now(self):
        if not self.gpu:
            return time.perf_counter()
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def between(self, begin, end):
        if not self.gpu:
            return end - begin
        end.synchronize()
        return begin.elapsed_time(end) * 1e-3


def middle(numbers):
    return statistics.median(numbers) if numbers else 0.0


def number(x):
    return float(f"{x:.6g}")


def wrapped(model):
    """The DistributedDataParallel that the model is, or has; or None."""
    found = [m for m in model.modules() if isinstance(m, nn.parallel.DistributedDataParallel)]
    if len(found) > 1:
        raise ValueError(f"Recorder: the model has {len(found)} DistributedDataParallel in it; one can be recorded")
    return found[0] if found else None


def refuse_others(model, world, ddp):
    for name, module in model.named_modules():
        kinds = {f"{kind.__module__.split('.', maxsplit=1)[0]}.{kind.__name__}" for kind in type(module).__mro__}
        if kinds & {"torch.FullyShardedDataParallel", "torch.FSDPModule"}:
            raise ValueError(f'Recorder: "{name}" is fully sharded (FSDP): only DistributedDataParallel can be recorded')
        if any(kind.startswith("torchrec.") for kind in kinds):
            raise ValueError(f'Recorder: "{name}" is TorchRec\'s {type(module).__name__}, which is not supported: only '
                             "nn.Embedding and nn.EmbeddingBag are")
    if world > 1 and not ddp:
        raise ValueError(f"Recorder: {world} ranks, but no DistributedDataParallel: wrap the model before it is recorded")


def compare_models(specs):
    """`specs`: of each rank, [name, shape, dtype, sparse] of each parameter that trains."""
    for rank, spec in enumerate(specs):
        for ours, first in zip(spec, specs[0]):
            if ours != first:
                raise ValueError(f"Recorder: rank {rank}'s model has {describe(ours)} where rank 0's has {describe(first)}")
        if len(spec) != len(specs[0]):
            longer, has = (rank, spec) if len(spec) > len(specs[0]) else (0, specs[0])
            more = has[min(len(spec), len(specs[0]))]
            raise ValueError(f"Recorder: rank {longer}'s model has {describe(more)} and rank {rank + 0 if longer == 0 else 0}'s not")


def describe(parameter):
    name, shape, dtype, sparse = parameter
    return f"{name} ({' x '.join(map(str, shape))} {dtype}{', sparse' if sparse else ''})"


class Part:
    """What the workload calls a module: parameters that one module owns and one bucket sends."""

    def __init__(self, name, parameters, table=None):
        self.name, self.parameters, self.table = name, parameters, table
        self.bytes = sum(p.numel() * p.element_size() for p in parameters)


class Recorder:
    """Records a training: what Capture does, and of `quiet` of its iterations how long each module computes while nothing is
    sent (gradients are then summed at once behind the backward pass, so that training goes on as ever); of all others how
    long an iteration takes. `gradients`: as Capture's. `group`: the processes, DistributedDataParallel's own by default.
    A training shorter than `warmup` + `iterations` steps calls close() itself, on all ranks."""

    def __init__(self, model, optimizer, group=None, prefix="run", iterations=50, warmup=5, quiet=5, gradients=None, source=None):
        if not hasattr(torch.Tensor, "register_post_accumulate_grad_hook"):
            raise ImportError(f"Recorder needs PyTorch 2.1 or later, not {torch.__version__} (Capture: 2.0)")
        if iterations < 2 or warmup < 3 or not 0 < quiet < iterations:
            raise ValueError("Recorder: wants at least 2 iterations, 3 of warm-up, and fewer quiet ones than iterations")
        self.ddp = wrapped(model)
        self.group = group or (self.ddp.process_group if self.ddp else None)
        self.world, self.rank = (dist.get_world_size(self.group), dist.get_rank(self.group)) if distributed() else (1, 0)
        refuse_others(model, self.world, self.ddp)
        self.model, self.prefix, self.warmup, self.source = self.ddp or model, prefix, warmup, source
        self.named = {plain(name): p for name, p in self.model.named_parameters() if p.requires_grad and self._sent(name)}
        self.sparse = {id(m.weight) for m in self.model.modules() if isinstance(m, LOOKUPS) and m.sparse}
        self._agree()
        self.capture = Capture(self.model, prefix, iterations, gradients, source or f"PyTorch {torch.__version__}")
        self.capture.training = ""  # it waits for close() here
        self.clock = Clock(next(iter(self.named.values())).device)
        self.optimizers = list(optimizer) if isinstance(optimizer, (list, tuple)) else [optimizer]
        self.limit, self.step, self.kept = iterations, -warmup, []
        spaced = {int((i + 0.5) * iterations / quiet) for i in range(quiet)}
        self.timed = {-1} | spaced  # one of the warm-up, too: what is done for the first time takes longer
        self.unknown, self.parts, self.order = [], None, None
        self.silent = self._can_be_silent()
        self.model.register_forward_pre_hook(self._forward_begins)
        self.model.register_forward_hook(self._forward_ends)
        for one in self.optimizers:
            one.register_step_pre_hook(self._optimizer_begins)
            one.register_step_post_hook(self._optimizer_ends)
        self.hooks, self.last = [], None
        self._begin()

    def _sent(self, name):
        return not self.ddp or name.removeprefix("module.") not in self.ddp.parameters_to_ignore

    def _gather(self, what):
        if self.world == 1:
            return [what]
        everyone = [None] * self.world
        dist.all_gather_object(everyone, what, self.group)
        return everyone

    def _agree(self):
        spec = [[name, list(p.shape), str(p.dtype).removeprefix("torch."), id(p) in self.sparse] for name, p in self.named.items()]
        everyone = self._gather((uuid.uuid4().hex, socket.gethostname(), spec))
        self.run, self.hosts = everyone[0][0], [host for _, host, _ in everyone]
        compare_models([spec for _, _, spec in everyone])

    def _can_be_silent(self):
        """Whether gradients may be summed behind the backward pass, to the same result."""
        ddp = self.ddp
        if not ddp:
            return False
        for reason, there in (("a communication hook is registered", bool(ddp._comm_hooks)), ("find_unused_parameters is set", ddp.find_unused_parameters),
                              ("the graph is declared static", ddp.static_graph), ("mixed_precision is set", ddp.mixed_precision is not None),
                              ("gradients are sent by compiled code", ddp._use_python_reducer)):
            if there:
                self.unknown.append(f"{reason}: no iteration could go without communication, so times of modules have its interference in them")
                return False
        return True

    # --- an iteration ---

    def _begin(self):
        self.marks, self.passes, self.spent, self.suppressed = [], 0, [], False
        self.inside = False
        self.is_timed = self.step in self.timed
        self.is_quiet = self.is_timed and self.silent
        if self.is_timed:
            self._listen()
        self.began = self.clock.now()

    def _listen(self):
        """Hooks that mark when modules begin and gradients are ready."""
        if self.parts is None:
            self._divide()
        for part, module in self.owners:
            self.hooks.append(module.register_forward_pre_hook(functools.partial(self._module_begins, part)))
        for part, entry in enumerate(self.parts):
            for p in entry.parameters:
                self.hooks.append(p.register_post_accumulate_grad_hook(functools.partial(self._gradient_ready, part)))

    def _forward_begins(self, module, inputs):
        self.inside = torch.is_grad_enabled() and module.training
        if not self.inside:
            return
        self.marks.append(("forward", self.clock.now()))
        if self.is_quiet:
            self.wanted = self.ddp.require_backward_grad_sync, self.ddp.require_forward_param_sync
            self.ddp.require_backward_grad_sync = False

    def _module_begins(self, part, module, inputs):
        if self.inside:
            self.marks.append((part, self.clock.now()))

    def _forward_ends(self, module, inputs, output):
        if not self.inside:
            return
        self.inside, self.backward = False, False
        self.marks.append(("backward", self.clock.now()))
        if self.is_quiet:
            self.ddp.require_backward_grad_sync, self.ddp.require_forward_param_sync = self.wanted
            self.suppressed = self.suppressed or self.wanted[0]

    def _gradient_ready(self, part, parameter):
        self.marks.append((part, self.clock.now()))
        if not self.backward:
            self.backward = True
            torch.autograd.Variable._execution_engine.queue_callback(self._backward_ends)

    def _backward_ends(self):
        self.marks.append(("end", self.clock.now()))
        self.passes += 1
        if self.suppressed:
            self.suppressed = False
            begin = self.clock.now()
            self._reduce()
            self.spent.append((begin, self.clock.now()))

    def _reduce(self):
        """What DistributedDataParallel would have done, bucket by bucket: the mean over ranks."""
        share, self.copies = 1 / self.world, []
        with torch.no_grad():
            for bucket in self.buckets:
                if id(bucket[0]) in self.sparse:
                    p = bucket[0]
                    grad = torch.sparse_coo_tensor(size=p.shape, dtype=p.dtype, device=p.device) if p.grad is None else p.grad * share
                    dist.all_reduce(grad, group=self.group)
                    p.grad = grad
                    continue
                flat = torch.empty(sum(p.numel() for p in bucket), dtype=bucket[0].dtype, device=bucket[0].device)
                views = [view.view_as(p) for view, p in zip(flat.split([p.numel() for p in bucket]), bucket)]
                begin = self.clock.now()
                for view, p in zip(views, bucket):
                    view.zero_() if p.grad is None else torch.mul(p.grad, share, out=view)
                full = self.clock.now()
                dist.all_reduce(flat, group=self.group)
                summed = self.clock.now()
                for view, p in zip(views, bucket):
                    p.grad = view.clone() if p.grad is None else p.grad.copy_(view)
                self.copies.append((flat.numel() * flat.element_size(), begin, full, summed, self.clock.now()))

    def _optimizer_begins(self, optimizer, inputs, named):
        if optimizer is self.optimizers[0]:
            self.updates = []
        self.updates.append(self.clock.now())

    def _optimizer_ends(self, optimizer, inputs, named):
        self.updates.append(self.clock.now())
        if optimizer is self.optimizers[-1]:
            self._end()

    def _last_ready(self, parameter):
        if not self.is_timed:
            self.marks.append(("last", self.clock.now()))

    def _end(self):
        end = self.clock.now()
        for hook in self.hooks:
            hook.remove()
        self.hooks = []
        if self.is_timed or self.step >= 0:
            self.kept.append({"quiet": self.is_quiet, "timed": self.is_timed, "real": self.step >= 0, "began": self.began, "end": end, "passes": self.passes,
                              "marks": self.marks, "updates": self.updates, "spent": self.spent, "copies": self.copies if self.is_quiet else []})
        if self.is_timed and self.last is None:
            self._learn()
        if self.step < 0:
            self.capture.seen, self.capture.sums = {}, {}
        else:
            self.capture.step(self.tokens)
        self.tokens, self.step = None, self.step + 1
        if self.step == self.limit:
            self.close()
        else:
            self._begin()

    tokens = None  # of this process in this step, padding excluded, if the caller says so; else what the first table looked up

    def _divide(self):
        """Parameters into buckets and parts."""
        if self.ddp:
            self.buckets = [bucket.parameters() for bucket in self.ddp.reducer._get_zeros_like_grad_buckets()]
        else:
            self.buckets = [list(self.named.values())]
        where = {id(p): b for b, bucket in enumerate(self.buckets) for p in bucket}
        self.parts, self.owners, owner, several = [], [], {}, bool(self.sparse)
        for name, module in self.model.named_modules():
            own = {part: p for part, p in module.named_parameters(recurse=False) if p.requires_grad and id(p) in where}
            new = {}
            for part, p in own.items():
                if id(p) not in owner:
                    new.setdefault(where[id(p)], {})[part] = p
            for bucket, members in new.items():
                label = plain(name) or type(self.model).__name__
                label = label if len(new) == 1 else f"{label}.{'+'.join(members)}"
                table = self.capture.tables.get(id(module.weight)) if isinstance(module, LOOKUPS) else None
                if table and several and id(module.weight) not in self.sparse:
                    self.unknown.append(f"{table} has dense gradients beside tables with sparse ones: it is taken for a dense module, its rows are left out")
                    table = None
                owner |= {id(p): len(self.parts) for p in members.values()}
                self.parts.append(Part(label, list(members.values()), table))
            if own:
                self.owners.append((owner[id(next(iter(own.values())))], module))

    def _learn(self):
        """From the iteration that was timed in the warm-up: the order of modules, and which gradient is ready last."""
        order = list(dict.fromkeys(what for what, _ in self._forward_marks(self.kept[0]["marks"])))
        for part in range(len(self.parts)):  # what is never called by itself follows what was defined before it
            if part not in order:
                order.insert(order.index(part - 1) + 1 if part else 0, part)
        self.order = order
        ready = [what for what, _ in self.kept[0]["marks"] if what not in ("forward", "backward", "end")]
        self.last = self.parts[ready[-1]].parameters[-1] if ready else None
        if self.last is not None:
            self.last.register_post_accumulate_grad_hook(self._last_ready)

    @staticmethod
    def _forward_marks(marks):
        inside = False
        for mark in marks:
            inside = mark[0] == "forward" or (inside and mark[0] != "backward")
            if inside and mark[0] != "forward":
                yield mark

    # --- what it amounts to ---

    def _seconds(self, kept):
        """The marks of an iteration, in s from its beginning."""
        return [(what, self.clock.between(kept["began"], t)) for what, t in kept["marks"]]

    def _module_times(self, kept):
        """Of a timed iteration, over all its passes: each part's forward and backward pass; and of the last backward pass the
        instants at which the first bucket, and all gradients, were ready."""
        forward, backward, first, whole = [0.0] * len(self.parts), [0.0] * len(self.parts), 0.0, 0.0
        ready, within, current, at = {}, False, None, 0.0
        early = {id(p) for p in self.buckets[0]}
        early = {i for i, part in enumerate(self.parts) if id(part.parameters[0]) in early}
        for what, t in self._seconds(kept):
            if what == "forward":
                within, current, at, ready = True, None, t, {}
            elif what == "backward":
                forward[self.order[0] if current is None else current] += t - at
                within, at = False, t
            elif what == "end":
                begin = at
                for part, t_ready in sorted(ready.items(), key=lambda pair: pair[1]):
                    backward[part] += t_ready - at
                    at = t_ready
                first, whole = max((ready[p] for p in early if p in ready), default=at) - begin, at - begin
                if ready:
                    backward[max(ready, key=ready.get)] += t - at
                at, ready = t, {}
            elif within:
                if current is not None:
                    forward[current] += t - at
                    at = t
                current = what
            else:
                ready[what] = t
        return forward, backward, first, whole

    def _mine(self):
        """What this rank measured."""
        real = [kept for kept in self.kept if kept["real"]]
        timed, plain_ones = [k for k in real if k["timed"]], [k for k in real if not k["timed"]]
        between, times = self.clock.between, [self._module_times(k) for k in real if k["timed"]]
        passes = max((k["passes"] for k in timed), default=1) or 1
        updates = [sum(between(a, b) for a, b in zip(k["updates"][::2], k["updates"][1::2])) for k in real]
        busy = []
        for k in plain_ones:
            marks = self._seconds(k)
            last = [t for what, t in marks if what == "last"]
            begins = [t for what, t in marks if what == "backward" and last and t < last[-1]]
            busy += [last[-1] - begins[-1]] if begins else []
        copies = [c for k in timed for c in k["copies"]]
        return {
            "steps": self.capture.steps, "passes": passes, "order": self.order,
            "forward": [middle([t[0][i] for t in times]) / passes for i in range(len(self.parts))],
            "backward": [middle([t[1][i] for t in times]) / passes for i in range(len(self.parts))],
            "compute": [sum(t[0]) + sum(t[1]) for t in times], "first": middle([t[2] for t in times]), "quiet_backward": [t[3] for t in times],
            "busy_backward": busy, "optimizer": middle(updates), "iteration": [between(k["began"], k["end"]) for k in plain_ones],
            "timed_iteration": [between(k["began"], k["end"]) - sum(between(a, b) for a, b in k["spent"]) for k in timed],
            "copied": sum(c[0] for c in copies), "fill": sum(between(c[1], c[2]) for c in copies), "empty": sum(between(c[3], c[4]) for c in copies),
            "device": torch.cuda.get_device_name() if self.clock.gpu else "cpu", "weighted": sorted(self.capture.weighted)}

    def close(self):
        """Ends recording: on all ranks in the same step. Writes the files, and joins them where rank 0 sees them all."""
        if self.capture.training != "":
            return
        self.capture.training = None
        mine = self._mine()
        everyone = self._gather(mine)
        for rank, other in enumerate(everyone):
            for what in ("steps", "passes"):
                if other[what] != everyone[0][what]:
                    raise ValueError(f"Recorder: rank {rank} recorded {other[what]} {'steps' if what == 'steps' else 'backward passes a step'}, "
                                     f"rank 0 {everyone[0][what]}: nothing is written")
        self.capture.training = json.dumps(self._training(everyone))
        self.capture.close()
        self._join()

    def _training(self, everyone):
        over = lambda key: middle([middle(m[key]) if isinstance(m[key], list) else m[key] for m in everyone])  # noqa: E731
        steps, iterations = sum(1 for k in self.kept if k["real"] and k["timed"]), [m["iteration"] for m in everyone]
        local = os.environ.get("LOCAL_WORLD_SIZE")
        nodes = collections.Counter(self.hosts)
        a_node = int(local) if local else nodes[self.hosts[0]] if len(set(nodes.values())) == 1 else None
        optimizer = middle([m["optimizer"] for m in everyone])
        how = f"measured: medians of {steps} iterations{' without communication' if self.silent else ''} on {self.world} ranks, {datetime.date.today()}"
        compute = over("compute")
        step = max(0.0, over("timed_iteration") - compute - optimizer) if self.silent or self.world == 1 else 0.0
        training = {
            "run": self.run, "world": self.world, "gpus_per_node": a_node, "backend": dist.get_backend(self.group) if distributed() else "none",
            "device": everyone[0]["device"], "versions": {"torch": torch.__version__, "python": sys.version.split()[0]} |
            ({"cuda": torch.version.cuda} if self.clock.gpu else {}),
            "accumulation": everyone[0]["passes"], "workload": self._workload(everyone, optimizer, how), "system": self._system(everyone, step, how),
            "measured": {"iteration_s": [number(statistics.fmean(each)) for each in zip(*iterations)], "steps": len(iterations[0]), "warmup": self.warmup,
                         "quiet_iteration_s": number(over("timed_iteration")), "quiet_steps": steps, "compute_s": number(compute), "optimizer_s": number(optimizer),
                         "rank_compute_s": [number(middle(m["compute"])) for m in everyone],
                         "backward_s": number(over("busy_backward")), "quiet_backward_s": number(over("quiet_backward"))},
            "unknown": self.unknown + ["system.software.call: what a collective costs beside the wire is in the times that measure_collectives takes"]}
        return {key: value for key, value in training.items() if value is not None}

    def _workload(self, everyone, optimizer, how):
        modules, before, tables, whole = [], None, [], sum(part.bytes for part in self.parts) or 1
        for i in everyone[0]["order"]:
            part = self.parts[i]
            module = {"name": part.name, "kind": "embedding" if part.table else "dense"}
            if part.table:
                rows, width = part.parameters[0].shape
                module |= {"rows": rows, "row_width": width, "tensor": part.table}
            else:
                module |= {"bytes": part.bytes}
            module |= {"forward_s": number(middle([m["forward"][i] for m in everyone])), "backward_s": number(middle([m["backward"][i] for m in everyone])),
                       "optimizer_s": number(optimizer * part.bytes / whole)}
            if part.table:
                tables.append(part.name)
            else:
                module |= {"after": ([before] if before else []) + tables} if before or tables else {}
                before, tables = part.name, []
            modules.append(module)
        kinds = collections.Counter()
        for p in self.named.values():
            kinds[DTYPES.get(p.dtype, "F32")] += p.numel() * p.element_size()
        state = sum(t.numel() * t.element_size() for one in self.optimizers for s in one.state.values() for t in s.values()
                    if isinstance(t, torch.Tensor) and t.numel() > 1)
        return {"name": os.path.basename(self.prefix), "dtype": kinds.most_common(1)[0][0], "optimizer_states": number(state / whole), "modules": modules,
                "source": {"forward_s": how, "backward_s": how, "optimizer_s": f"{how}; shared out among modules by bytes",
                           "after": "taken for a chain in the order in which modules ran"}}

    def _system(self, everyone, step, how):
        over = lambda key: middle([middle(m[key]) if isinstance(m[key], list) else m[key] for m in everyone])  # noqa: E731
        backend = dist.get_backend(self.group) if distributed() else "none"
        gloo = "ProcessGroupGloo.cpp, AsyncSparseAllreduceWork: coalesced; sizes, then 64-bit indices, then values gathered; summed by each"
        sparse = {"name": "allgather", "separate": True, "index_bytes": 8, "sizes": "exchanged"} if self.sparse else {"name": "allreduce"}
        system = {"name": "as-captured", "summary": f"DistributedDataParallel over {backend}, as it was captured", "sparse": sparse, "dense": {"name": "allreduce"},
                  "schedule": "fifo", "software": {"step": number(step)}, "baseline": True,
                  "source": {"sparse": gloo if self.sparse else "tables have dense gradients (sparse=False)", "dense": "DistributedDataParallel's all-reduce",
                             "step": f"{how}: iterations less modules and optimizer"}}
        if self.ddp:
            names = {id(p): part.name for part in self.parts for p in part.parameters}
            system["bucket"] = [list(dict.fromkeys(names[id(p)] for p in bucket)) for bucket in self.buckets]
            system["source"]["bucket"] = "DistributedDataParallel's own, in its order"
        else:
            system["bucket"] = "25MiB"
            system["source"]["bucket"] = "nothing was sent; DistributedDataParallel's default"
        quiet, busy, first = over("quiet_backward"), over("busy_backward"), over("first")
        copied = sum(m["copied"] for m in everyone)
        fill, empty = sum(m["fill"] for m in everyone), sum(m["empty"] for m in everyone)
        in_place = not self.ddp or self.ddp.gradient_as_bucket_view
        if copied and not in_place:
            system["software"]["copy"] = number(2 * copied / (fill + empty))
            system["source"]["copy"] = f"{how}: buckets filled and emptied"
        if self.silent and quiet > first:
            filling = 0.0 if in_place else fill / len(everyone) / max(1, sum(1 for k in self.kept if k["real"] and k["timed"]))
            system["interference"] = number(max(0.0, (busy - quiet - filling) / (quiet - first)))
            system["source"]["interference"] = f"{how}: backward passes {busy:.6g} s with communication and {quiet:.6g} s without, buckets filled in {filling:.6g} s, the first ready after {first:.6g} s"
        return system

    def _join(self):
        files = [f"{self.prefix}-rank{rank:04}.safetensors" for rank in range(self.world)]
        self._gather(None)  # everybody has written
        if self.rank:
            return
        program, out = shutil.which("sparsync"), f"{self.prefix}.safetensors"
        command = ["trace", "merge", *files, "-o", out]
        if program and all(map(os.path.exists, files)) and subprocess.run([program, *command], check=False).returncode == 0:
            print(f"sparsync: recorded {self.capture.steps} iterations of {self.world} ranks in {out}; next: sparsync train --capture {out}", flush=True)
        else:
            print(f"sparsync: recorded {self.capture.steps} iterations; join them: sparsync {' '.join(command)}", flush=True)
