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
import math
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
import weakref

import torch
import torch.distributed as dist
from torch import nn

if int(torch.__version__.split(".", maxsplit=1)[0]) < 2:
    raise ImportError(f"sparsync's recorder needs PyTorch 2.0 or later, not {torch.__version__}")

DTYPES = {torch.float16: "F16", torch.bfloat16: "BF16"}  # all else is recorded as F32
FILES = {torch.int32: "I32", torch.int64: "I64", torch.float32: "F32", **DTYPES}
WRAPPERS = ("module", "_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module")
LOOKUPS = (nn.Embedding, nn.EmbeddingBag)
PATIENCE = 120  # s that a rank waits for others to end their recording
WAITING = 64 << 20  # bytes


def plain(name):
    """Without what DistributedDataParallel, compile and others put before a parameter's own name."""
    return ".".join(part for part in name.split(".") if part not in WRAPPERS)


def distributed():
    return dist.is_available() and dist.is_initialized()


def last_failure():
    """The exception by which the program ends, which is told already; in a notebook the last one that was."""
    return getattr(sys, "last_value", None)


def size_of(tensors):
    return sum(t.numel() * t.element_size() for t in tensors)


def to_host(tensor, dtype):
    """A copy in the machine's memory; of what is on a GPU it is there once the GPU has come so far."""
    if not tensor.is_cuda:
        return tensor.to(dtype, copy=True)
    return torch.empty(tensor.shape, dtype=dtype, pin_memory=True).copy_(tensor, non_blocking=True)


class Capture:
    """Rows that embeddings look up in training mode, in order, with duplicates and padding, and which of them make a bag; and
    of `gradients`, parameters or patterns ("lstm.*"), the given share of entries, the largest in magnitude, with values: of
    this process's own gradient, summed over the step's backward passes, before any all-reduce. Records wait in memory up to
    64 MiB, then in temporary files."""

    def __init__(self, model, prefix, iterations=50, gradients=None, source=f"PyTorch {torch.__version__}", without=()):
        rank = dist.get_rank() if distributed() else int(os.environ.get("RANK", 0))
        self.path, self.limit, self.source = f"{prefix}-rank{rank:04}.safetensors", iterations, source
        self.steps, self.tokens, self.tensors, self.offsets, self.spool, self.hooks = 0, [], [], {}, {}, []
        self.tables, self.seen, self.wanted, self.sums, self.pads, self.bags = {}, {}, {}, {}, set(), {}
        self.waiting, self.bytes, self.weighted, self.training, self.held = collections.deque(), 0, set(), None, False
        self.gpu, self.failure = any(p.is_cuda for p in model.parameters()), last_failure()
        modules = list(model.named_modules())
        tied = {id(p) for _, m in modules if not isinstance(m, LOOKUPS) for p in m.parameters(recurse=False)}
        for name, module in modules:
            if isinstance(module, LOOKUPS) and module.weight.requires_grad and id(module.weight) not in without:
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
        ids, starts = inputs[0] if inputs else named["input"], None  # or (bags, lookups in each), or where each bag starts
        if isinstance(module, nn.EmbeddingBag):
            given = dict(zip(("input", "offsets", "per_sample_weights"), inputs)) | named
            if given.get("per_sample_weights") is not None:
                self.weighted.add(name)
            if ids.dim() == 2:
                starts = ids.shape
            else:
                starts = to_host(given["offsets"][:-1] if module.include_last_offset else given["offsets"], torch.int64)
        elif name in self.bags:  # each of its lookups is a vector of its own
            starts = ids.numel(), 1
        rows = to_host(ids.detach(), self.spool[f"{name}.rows"][1])
        pad = -1 if module.padding_idx is None else module.padding_idx
        self.seen.setdefault(name, []).append((rows, starts, pad))
        self.bytes += 8 * rows.numel()

    def _backward(self, name, grad):
        self.sums[name] = self.sums.get(name, 0) + grad.detach().to_dense()

    def _largest(self, name, share):
        if name not in self.sums:
            return torch.empty(0, dtype=torch.long), torch.empty(0)
        flat = self.sums[name].flatten()
        rows = flat.float().abs().topk(min(max(1, int(share * flat.numel() + 0.5)), flat.numel())).indices.sort().values
        self.bytes += 12 * rows.numel()
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
        if self.bytes > WAITING:
            self._write()
        if self.steps == self.limit and not self.held:
            self.close()

    def _write(self, wait=False):
        """Iterations that have come from the GPU go to the files; nothing here waits for it, unless asked."""
        self.bytes = 0
        while self.waiting and (wait or not self.waiting[0][0] or self.waiting[0][0].query()):
            reached, seen, largest, tokens = self.waiting.popleft()
            if reached:
                reached.synchronize()
            for name in dict.fromkeys(self.tables.values()):
                calls = seen.get(name, [])
                if name in self.bags:
                    self._bag(name, calls)
                self._segment(name, rows=torch.cat([torch.empty(0, dtype=torch.int32), *(ids.flatten() for ids, _, _ in calls)]))
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
            if isinstance(starts, tuple):
                starts = torch.arange(starts[0]) * starts[1]
            self._put(f"{name}.bag_offsets", starts + first)
            first, count = first + ids.numel(), count + starts.numel()
        self.bags[name].append(self.bags[name][-1] + count)

    def _segment(self, name, **parts):
        for part, data in parts.items():
            self._put(f"{name}.{part}", data)
        self.offsets[name].append(self.offsets[name][-1] + parts["rows"].numel())

    def drop(self):
        """Ends recording and writes nothing; whether there was anything to end."""
        hooks, self.hooks = self.hooks, []
        for hook in hooks:
            hook.remove()
        return bool(hooks)

    def close(self):
        """Writes the file, whole or not at all."""
        if not self.drop():
            return
        if self.steps == 0:
            if last_failure() is self.failure and not self.held:
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
            begin, end, size = end, end + file.tell(), torch.empty(0, dtype=kind).element_size()
            header[entry] = {"dtype": FILES[kind], "shape": [(end - begin) // size], "data_offsets": [begin, end]}
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
    """Instants on the stream of the computation: a GPU's events, which are read when they are over, or seconds by the clock; and
    where ranks of one thread share cores, `share` to a core, those of its CPU time, and in which it waited for one."""

    def __init__(self, device, share):
        self.gpu, self.share, self.waits = device.type == "cuda", share, None
        if not self.gpu and share > 1 and torch.get_num_threads() == 1 and os.path.exists("/proc/thread-self/schedstat"):
            self.waits = open("/proc/thread-self/schedstat", "rb", buffering=0)

    def now(self):
        if not self.gpu:
            waited = int(os.pread(self.waits.fileno(), 64, 0).split()[1]) * 1e-9 if self.waits else 0.0
            return time.perf_counter(), time.process_time() if self.waits else 0.0, waited
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def between(self, begin, end):
        if not self.gpu:
            return end[0] - begin[0]
        end.synchronize()
        return begin.elapsed_time(end) * 1e-3

    def worked(self, begin, end):
        return 0.0 if self.gpu else end[1] - begin[1]

    def computed(self, begin, end):
        """What a stretch takes when all ranks compute, and each has its share of a core: how long it waited for one in truth
        depends on what others did just then."""
        if not self.waits:
            return self.between(begin, end)
        return end[0] - begin[0] - (end[2] - begin[2]) + (self.share - 1) * (end[1] - begin[1])


def middle(numbers):
    return float(statistics.median(numbers)) if numbers else 0.0  # that of whole numbers is one, unless they are even in number


def spread(numbers):
    """How far off their median may be: one standard error, out of the median deviation."""
    deviation = middle([abs(x - middle(numbers)) for x in numbers])
    return 1.858 * deviation / max(len(numbers), 1) ** 0.5


def number(x):
    return float(f"{x:.6g}")


RECORDED = weakref.WeakSet()  # models under a Recorder


def wrapped(model):
    """The DistributedDataParallel that the model is, or has; or None."""
    found = [m for m in model.modules() if isinstance(m, nn.parallel.DistributedDataParallel)]
    if len(found) > 1:
        raise ValueError(f"Recorder: the model has {len(found)} DistributedDataParallel in it; one can be recorded")
    return found[0] if found else None


def refuse_others(model, world, ddp):
    """What cannot be recorded, in one line."""
    for name, module in model.named_modules():
        kinds = {f"{kind.__module__.split('.', maxsplit=1)[0]}.{kind.__name__}" for kind in type(module).__mro__}
        why = None
        if kinds & {"torch.FullyShardedDataParallel", "torch.FSDPModule"}:
            why = "is fully sharded (FSDP): only DistributedDataParallel can be recorded"
        elif any(kind.startswith("torchrec.") for kind in kinds):
            why = f"is TorchRec's {type(module).__name__}: only nn.Embedding and nn.EmbeddingBag can be recorded"
        elif "torch.OptimizedModule" in kinds or getattr(module, "_compiled_call_impl", None):
            why = "is compiled, and would not call what records: record it without torch.compile"
        elif module in RECORDED:
            why = "has a Recorder already: close() that one first"
        if why:
            raise ValueError(f'Recorder: "{name or "the model"}" {why}')
    if world > 1 and not ddp:
        raise ValueError(f"Recorder: {world} ranks, but no DistributedDataParallel: wrap the model before it is recorded")


def compare_models(specs):
    """Of each rank [name, shape, dtype, what else its module says of it] of each parameter that trains: all must be alike."""
    def told(rank, place):
        if place >= len(specs[rank]):
            return "none more"
        name, shape, dtype, more = specs[rank][place]
        return f"{name} ({' x '.join(map(str, shape))} {dtype}{more})"

    for rank, spec in enumerate(specs):
        for place in range(max(len(spec), len(specs[0]))):
            if spec[place:place + 1] != specs[0][place:place + 1]:
                raise ValueError(f"Recorder: parameter {place} of rank {rank}'s model is {told(rank, place)}, "
                                 f"of rank 0's {told(0, place)}: ranks train different models")


class Part:
    """What the workload calls a module: parameters that one module owns and one bucket sends."""

    def __init__(self, name, parameters, table):
        self.name, self.parameters, self.table, self.bytes = name, parameters, table, size_of(parameters)


class Iteration:
    """What is noted of one. Marks are pairs of what and when: "forward", "backward" and "end" begin and end passes, a number
    is a part whose forward pass begins or whose gradient is ready, "last" is the gradient that is ready last."""

    def __init__(self, step, timed, silent):
        self.step, self.timed, self.quiet = step, timed, timed and silent
        self.marks, self.updates, self.copies, self.sums, self.reduced = [], [], [], [], []
        self.passes = self.sent = 0  # backward passes, and those that send their gradients, of a timed iteration
        self.began = self.end = None

    def passed(self):
        """Backward passes of any: as many as end a forward pass or have the gradient that is ready last."""
        marks = [what for what, _ in self.marks]
        return max(marks.count("backward"), marks.count("last"), self.passes > 0)


class Recorder:
    """Records a training: what Capture does; of `quiet` of its iterations how long each module computes while nothing is sent
    (gradients are then summed behind the backward pass, bucket by bucket as ever: the training goes on as it would); of all
    others how long they take. `gradients`: as Capture's. `group`: the processes, by default DistributedDataParallel's.
    A training of fewer than `warmup` + `iterations` steps calls close() itself, on all ranks behind the same step.
    `tokens`: of this process in the step under way, padding excluded, if the caller knows; else as Capture counts."""

    tokens = None

    def __init__(self, model, optimizer, group=None, prefix="run", iterations=50, warmup=5, quiet=5, gradients=None,
                 source=f"PyTorch {torch.__version__}"):
        self.optimizers = list(optimizer) if isinstance(optimizer, (list, tuple)) else [optimizer]
        if not hasattr(torch.Tensor, "register_post_accumulate_grad_hook"):
            raise ImportError(f"Recorder needs PyTorch 2.1 or later, not {torch.__version__} (Capture: 2.0)")
        if not (iterations > quiet > 0 and warmup >= 3):
            raise ValueError(f"Recorder: iterations={iterations}, quiet={quiet}, warmup={warmup}: expected more iterations than quiet "
                             "ones, 1 quiet one or more, and a warmup of 3 or more")
        if not all(isinstance(one, torch.optim.Optimizer) for one in self.optimizers):
            raise ValueError("Recorder: expected a torch.optim.Optimizer, or a list of them")
        self.ddp, self.prefix, self.warmup = wrapped(model), prefix, warmup
        self.model = self.ddp or model
        self.group = group or (self.ddp.process_group if self.ddp else None)
        self.world, self.rank = (dist.get_world_size(self.group), dist.get_rank(self.group)) if distributed() else (1, 0)
        refuse_others(model, self.world, self.ddp)
        self.backend = dist.get_backend(self.group) if distributed() else "none"
        ignored = self.ddp.parameters_to_ignore if self.ddp else ()
        self.named = {plain(name): p for name, p in self.model.named_parameters()
                      if p.requires_grad and name.removeprefix("module.") not in ignored}
        self._check_parameters()
        self.sparse = {id(m.weight) for m in self.model.modules() if isinstance(m, LOOKUPS) and m.sparse}
        self._agree([iterations, warmup, quiet])
        self.unknown, self.parts, self.hooks, self.depth = [], None, [], 0
        self.silent, self.clock = self._can_be_silent(), Clock(next(iter(self.named.values())).device, self.most / self.cores)
        without = self._dense_tables()
        if not gradients and not any(isinstance(m, LOOKUPS) and m.weight.requires_grad for m in self.model.modules()):
            least = min(self.named, key=lambda name: self.named[name].numel())
            gradients = {least: 1}  # a trace has a tensor
            self.unknown.append(f"rows: no embedding trains; of gradients that of {least} alone was recorded, as no others were named")
        self.capture = Capture(self.model, prefix, iterations, gradients, source, without)
        self.capture.held = True  # until close() here
        self.limit, self.kept, self.done, self.before = iterations, [], False, 0
        # One of the warm-up, too: what is done for the first time takes longer.
        self.timed = {-1} | {int((i + 0.5) * iterations / quiet) for i in range(quiet)}
        self.always = [self.model.register_forward_pre_hook(self._forward_begins),
                       self.model.register_forward_hook(self._forward_ends, always_call=True)]
        for one in self.optimizers:
            one.register_step_pre_hook(self._update_begins)
            one.register_step_post_hook(self._update_ends)
        atexit.register(self._left)
        RECORDED.add(self.model)
        self._begin(-warmup)

    def _check_parameters(self):
        if not self.named:
            raise ValueError("Recorder: the model has no parameter that is trained")
        (first, like), *_ = self.named.items()
        for name, p in self.named.items():
            if p.dtype != like.dtype:
                raise ValueError(f"Recorder: {first} is {like.dtype}, {name} {p.dtype}: a capture's parameters have one type; keep them "
                                 "all in torch.float32, and compute in less by torch.autocast")
        given = {id(p) for one in self.optimizers for group in one.param_groups for p in group["params"]}
        left = [name for name, p in self.named.items() if id(p) not in given]
        if left and not self.rank:
            warnings.warn(f"Recorder: {left[0]}{f' and {len(left) - 1} more are' if left[1:] else ' is'} in no optimizer that it was "
                          "given: give it a list of all that step")

    def _gather(self, what):
        everyone = [what] * self.world
        if self.world > 1:
            dist.all_gather_object(everyone, what, self.group)
        return everyone

    def _agree(self, options):
        modes = {id(m.weight): f", {m.mode}" for m in self.model.modules() if isinstance(m, nn.EmbeddingBag)}
        spec = [[name, list(p.shape), str(p.dtype).removeprefix("torch."), (", sparse" if id(p) in self.sparse else "") + modes.get(id(p), "")]
                for name, p in self.named.items()]
        everyone = self._gather((uuid.uuid4().hex, socket.gethostname(), options, spec))
        self.run, self.hosts = everyone[0][0], [host for _, host, _, _ in everyone]
        for rank, (_, _, theirs, _) in enumerate(everyone):
            if theirs != everyone[0][2]:
                raise ValueError(f"Recorder: rank {rank} asks for iterations, warmup, quiet {theirs}, "
                                 f"rank 0 for {everyone[0][2]}")
        compare_models([spec for _, _, _, spec in everyone])
        self.cores, self.most = os.cpu_count() or 1, max(collections.Counter(self.hosts).values())  # ranks of a machine

    def _can_be_silent(self):
        """Whether gradients may be summed behind the backward pass, to the same result."""
        if not self.ddp:
            return False
        for there, reason in ((self.ddp._comm_hooks, "a communication hook is registered (predicted as all-reduces of the buckets)"),
                              (self.ddp.find_unused_parameters, "find_unused_parameters is set"),
                              (self.ddp.static_graph, "the graph is declared static"),
                              (self.ddp.mixed_precision, "mixed_precision is set"),
                              (getattr(self.ddp, "_delay_all_reduce_params", ()), "some all-reduces are delayed"),
                              (getattr(self.ddp, "_use_python_reducer", False), "compiled code sends gradients")):
            if there:
                self.unknown.append(f"times of modules without communication: {reason}, so every iteration had it")
                return False
        return True

    def _dense_tables(self):
        """A system has one scheme for all tables: beside sparse gradients, dense ones are those of dense modules."""
        if not self.sparse:
            return set()
        dense = {id(m.weight) for m in self.model.modules() if isinstance(m, LOOKUPS) and m.weight.requires_grad} - self.sparse
        for name, p in self.named.items():
            if id(p) in dense:
                self.unknown.append(f"rows of {name}: beside tables with sparse gradients its dense one is a dense module's")
        return dense

    def _left(self):
        if self.done or (last_failure() is not self.capture.failure and not self.capture.steps):
            return
        if not self.capture.steps and self.now.step == -self.warmup:
            if not self.rank:
                warnings.warn("Recorder: the optimizer that it was given never took a step: is it the one that trains? Nothing is written")
        else:
            warnings.warn(f"Recorder: the training ended after {self.now.step + self.warmup} of {self.limit + self.warmup} "
                          f"steps without close(): {'rows alone are' if self.capture.steps else 'nothing is'} written")
            self.capture.close()

    # --- an iteration ---

    def _begin(self, step):
        self.now = Iteration(step, step in self.timed, self.silent)
        self.inside, self.suppressed, self.sends, self.backward = False, False, False, False
        if self.now.timed:
            if self.parts is None:
                self._divide()
            for part, module in self.owners:
                self.hooks.append(module.register_forward_pre_hook(functools.partial(self._module_begins, part)))
            for part, entry in enumerate(self.parts):
                for p in entry.parameters:
                    self.hooks.append(p.register_post_accumulate_grad_hook(functools.partial(self._gradient_ready, part)))
        self.now.began = self.clock.now()

    def _mark(self, what):
        self.now.marks.append((what, self.clock.now()))

    def _forward_begins(self, module, inputs):
        self.inside = torch.is_grad_enabled() and module.training
        if not self.inside:
            return
        self._mark("forward")
        self.sends = self.ddp is not None and self.ddp.require_backward_grad_sync
        if self.now.quiet:
            self.wanted = self.ddp.require_backward_grad_sync, self.ddp.require_forward_param_sync
            self.ddp.require_backward_grad_sync = False

    def _module_begins(self, part, module, inputs):
        if self.inside:  # not when a checkpoint runs it again
            self._mark(part)

    def _forward_ends(self, module, inputs, output):
        if not self.inside:
            return
        self.inside, self.backward = False, False
        self._mark("backward")
        if self.now.quiet:
            self.ddp.require_backward_grad_sync, self.ddp.require_forward_param_sync = self.wanted
            self.suppressed = self.suppressed or self.wanted[0]

    def _gradient_ready(self, part, parameter):
        self._mark(part)
        if not self.backward:
            self.backward = True
            torch.autograd.Variable._execution_engine.queue_callback(self._backward_ends)

    def _last_ready(self, parameter):
        self._mark("last")

    def _backward_ends(self):
        self._mark("end")
        self.now.passes += 1
        self.now.sent += self.sends
        if self.suppressed:
            self.suppressed, begin = False, self.clock.now()
            with torch.no_grad():
                for bucket in self.buckets:
                    self._reduce(bucket)
            self.now.reduced.append((begin, self.clock.now()))

    def _reduce(self, bucket):
        """What DistributedDataParallel would have made of it: the mean over ranks, in the same order of additions."""
        first, share = bucket[0], 1 / self.world
        if id(first) in self.sparse:
            like = {"dtype": first.dtype, "device": first.device}
            grad = torch.sparse_coo_tensor(size=first.shape, **like) if first.grad is None else first.grad * share
            self._sum(grad)
            first.grad = grad
            return
        flat = torch.empty(sum(p.numel() for p in bucket), dtype=first.dtype, device=first.device)
        views = [view.view_as(p) for view, p in zip(flat.split([p.numel() for p in bucket]), bucket)]
        begin = self.clock.now()
        for view, p in zip(views, bucket):
            if p.grad is None:
                view.zero_()
            else:
                torch.mul(p.grad, share, out=view)
        filled, summed = self._sum(flat)
        for view, p in zip(views, bucket):
            p.grad = view.clone() if p.grad is None else p.grad.copy_(view)
        self.now.copies.append((begin, filled, summed, self.clock.now()))

    def _sum(self, tensor):
        begin = self.clock.now()
        dist.all_reduce(tensor, group=self.group)
        self.now.sums.append((begin, self.clock.now()))
        return self.now.sums[-1]

    def _update_begins(self, optimizer, inputs, named):
        self.depth += 1  # a class whose step() calls another's is heard twice
        if not self.done and self.depth == 1:
            self.now.updates.append(self.clock.now())

    def _update_ends(self, optimizer, inputs, named):
        self.depth -= 1
        if self.done or self.depth:
            return
        self.now.updates.append(self.clock.now())
        if optimizer is self.optimizers[-1]:
            self._end()

    def _end(self):
        it, self.now.end = self.now, self.now.updates[-1]
        for hook in self.hooks:
            hook.remove()
        self.hooks = []
        before, self.before = self.before, it.passed()
        if it.sent > 1 and before > 1:  # not where a step was skipped
            self._refuse(f"{it.sent} backward passes of a step send their gradients each, and the prediction knows one round a step: "
                         "run all but the last under no_sync()")
        if it.step >= -1 and not self.before:
            self._refuse("the optimizer took a step without a backward pass of the model since the step before: give it the "
                         "optimizers that step once an iteration")
        if it.step >= 0:
            self.kept.append(it)
            self.capture.step(self.tokens)
        else:
            self.capture.seen, self.capture.sums = {}, {}
            if it.timed:
                self._learn(it)
        self.tokens = None
        if it.step + 1 == self.limit:
            self.close()
        else:
            self._begin(it.step + 1)

    def _refuse(self, why):
        """What shows while the training runs: nothing is written."""
        self._stop()
        self.capture.drop()
        raise ValueError(f"Recorder: {why}")

    def _divide(self):
        """Parameters into buckets, which are settled by now, and parts."""
        self.buckets = [list(self.named.values())]
        if self.ddp:
            self.buckets = [bucket.parameters() for bucket in self.ddp.reducer._get_zeros_like_grad_buckets()]
        bucket_of = {id(p): b for b, bucket in enumerate(self.buckets) for p in bucket}
        self.parts, self.owners, part_of = [], [], {}
        for name, module in self.model.named_modules():
            own, mine = {key: p for key, p in module.named_parameters(recurse=False) if id(p) in bucket_of}, {}
            for key, p in own.items():
                if id(p) not in part_of:
                    mine.setdefault(bucket_of[id(p)], {})[key] = p
            label = plain(name) or type(module).__name__
            for members in mine.values():
                part_of |= dict.fromkeys(map(id, members.values()), len(self.parts))
                table = self.capture.tables.get(id(module.weight)) if isinstance(module, LOOKUPS) else None
                whole = label if len(mine) == 1 else f"{label}.{'+'.join(members)}"
                self.parts.append(Part(whole, list(members.values()), table))
            if own:
                self.owners.append((part_of[id(next(iter(own.values())))], module))

    def _learn(self, it):
        """From the timed iteration of the warm-up: the order of parts, and which gradient is ready last."""
        inside, order, ready = False, [], []
        for what, _ in it.marks:
            inside = what == "forward" or (inside and what != "backward")
            if not isinstance(what, str):
                (order if inside else ready).append(what)
        order = list(dict.fromkeys(order))
        for part in range(len(self.parts)):  # what is never called by itself follows what was defined before it
            if part not in order:
                order.insert(order.index(part - 1) + 1 if part else 0, part)
        self.order = order
        if ready:
            self.always.append(self.parts[ready[-1]].parameters[-1].register_post_accumulate_grad_hook(self._last_ready))
        if list(dict.fromkeys(ready[::-1])) != [part for part in order if part in ready]:
            self.unknown.append("the true order of backward passes: gradients were ready in another order than the reverse of "
                                "forward passes, which the prediction takes")

    # --- what it amounts to ---

    def _times(self, it):
        """Of a timed iteration, in s over all its passes: each part's forward and backward pass; and of its last backward
        pass until the first bucket was ready, and all gradients."""
        forward, backward, took = [0.0] * len(self.parts), [0.0] * len(self.parts), self.clock.computed
        early, first, whole = set(map(id, self.buckets[0])), 0.0, 0.0
        early = {i for i, part in enumerate(self.parts) if id(part.parameters[0]) in early}
        within, current, at, ready = False, None, it.began, {}
        for what, t in it.marks:
            if what == "forward":
                within, current, at, ready = True, None, t, {}
            elif what == "backward":
                forward[self.order[0] if current is None else current] += took(at, t)
                within, at = False, t
            elif what == "end":
                begin = at
                for part, then in ready.items():
                    backward[part] += took(at, then)
                    at = then
                if ready:
                    first = took(begin, ([then for part, then in ready.items() if part in early] or [at])[-1])
                    whole = took(begin, at)
                    backward[part] += took(at, t)
                at, ready = t, {}
            elif within:
                if current is not None:
                    forward[current] += took(at, t)
                    at = t
                current = what
            elif what != "last":
                ready.pop(what, None)  # of several parameters the last one counts
                ready[what] = t
        return forward, backward, first, whole

    def _busy(self, it):
        """How long the last backward pass of an iteration with communication took until all gradients were ready."""
        begin = last = None
        for what, t in it.marks:
            begin, last = (t, last) if what == "backward" else (begin, (begin, t))
        return [self.clock.between(*last)] if last and last[0] is not None else []

    def _unsent(self, it, measure):
        """Of an iteration, but for its sums."""
        ends = [it.began, *(t for span in it.reduced for t in span), it.end]
        return sum(map(measure, ends[::2], ends[1::2]))

    def _mine(self):
        """What this rank measured, in s."""
        between, took = self.clock.between, self.clock.computed
        timed, others = [it for it in self.kept if it.timed], [it for it in self.kept if not it.timed]
        times, copies = [self._times(it) for it in timed], self.ddp and not self.ddp.gradient_as_bucket_view
        passes = max((it.passes for it in timed), default=0)
        each = max(passes, 1)
        busy = [t for it in others for t in self._busy(it)]
        updates = [sum(took(a, b) for a, b in zip(it.updates[::2], it.updates[1::2])) for it in self.kept]
        return {"steps": self.capture.steps, "passes": passes, "timed": len(timed), "passed": [it.passed() for it in self.kept],
                "forward": [middle([t[0][i] for t in times]) / each for i in range(len(self.parts or ()))],
                "backward": [middle([t[1][i] for t in times]) / each for i in range(len(self.parts or ()))],
                "compute": middle([sum(t[0]) + sum(t[1]) for t in times]), "optimizer": middle(updates),
                "quiet": middle([self._unsent(it, took) for it in timed]),
                "worked": middle([self._unsent(it, self.clock.worked) for it in timed]),
                "first": middle([t[2] for t in times]), "quiet_backward": middle([t[3] for t in times]),
                "busy_backward": middle(busy), "noise": math.hypot(spread(busy), spread([t[3] for t in times])),
                "iterations": [between(it.began, it.end) for it in others],
                "fill": middle([sum(took(c[0], c[1]) for c in it.copies) for it in timed]) if copies else 0.0,
                "empty": middle([sum(took(c[2], c[3]) for c in it.copies) for it in timed]) if copies else 0.0,
                "sending": middle([sum(self.clock.worked(a, b) for a, b in it.sums) for it in timed]),
                "sums": [[between(a, b) for a, b in it.sums] for it in timed], "weighted": sorted(self.capture.weighted)}

    def _meet(self):
        """All end behind the same step, or nobody goes on: a rank that trains on would wait for this one for ever."""
        store, where = dist.distributed_c10d._get_default_store(), f"sparsync/{self.run}/"
        store.set(f"{where}{self.rank}", str(self.capture.steps))
        keys = [f"{where}{rank}" for rank in range(self.world)]
        try:
            store.wait(keys, datetime.timedelta(seconds=PATIENCE))
        except RuntimeError:
            self.capture.held = False
            late = next((rank for rank, key in enumerate(keys) if not store.check([key])), "another")
            raise ValueError(f"Recorder: rank {self.rank} ended recording after {self.capture.steps} iterations, and rank {late} has "
                             f"not {PATIENCE} s later: close() belongs behind the same step on all ranks") from None

    def _stop(self):
        self.done = True
        RECORDED.discard(self.model)
        for hook in self.always + self.hooks:
            hook.remove()

    def close(self):
        """Ends recording, on all ranks behind the same step. Writes the files, and joins them where rank 0 sees them all."""
        if self.done:
            return
        self._stop()
        if self.world > 1:
            self._meet()
        everyone = self._gather(self._mine())
        for rank, other in enumerate(everyone):
            for key, what in (("steps", "iterations"), ("passes", "backward passes an iteration")):
                if other[key] != everyone[0][key]:
                    self.capture.held = False
                    raise ValueError(f"Recorder: rank {rank} recorded {other[key]} {what}, rank 0 {everyone[0][key]}")
        if everyone[0]["timed"]:
            self.capture.training = json.dumps(self._training(everyone))
        else:
            warnings.warn(f"Recorder: closed after {self.capture.steps} iterations, before one was timed: rows alone are written")
        self.capture.close()
        self._join()

    def _training(self, everyone):
        over = {key: middle([m[key] for m in everyone]) for key, value in everyone[0].items() if isinstance(value, float)}
        nodes, local = collections.Counter(self.hosts), os.environ.get("LOCAL_WORLD_SIZE")
        even, over["accumulation"] = len(set(nodes.values())) == 1, max(everyone[0]["passes"], 1)
        how = (f"measured: medians over {everyone[0]['timed']} iterations{' without communication' if self.silent else ''}, "
               f"then over {self.world} ranks; {datetime.date.today()}")
        self.unknown.append("software.call: what a call takes beside the wire is in the times that measure_collectives takes")
        if self.ddp and any(b.numel() for b in self.ddp.modules_buffers) and self.ddp.broadcast_buffers:
            self.unknown.append(f"what {size_of(self.ddp.modules_buffers)} bytes of buffers take: rank 0 broadcasts them before each "
                                "forward pass, and the first module's forward time has that in it")
        self.unknown += [f"the weights of the lookups of {name}: bags are recorded without" for name in everyone[0]["weighted"]]
        passed = sorted(collections.Counter(everyone[0]["passed"]).items())
        if len(passed) > 1:
            self.unknown.append(f"what a step takes: {', '.join(f'{steps} had {n}' for n, steps in passed)} backward passes, and the "
                                f"prediction is of steps with {over['accumulation']} and one round of messages")
        # who comes last waits for nobody
        alone = [[min(each) for each in zip(*ranks)] for ranks in zip(*(m["sums"] for m in everyone))]
        buckets = [middle(each) for each in zip(*alone)]
        over["sending"] *= self.clock.share / sum(buckets, 1e-9)  # the share of the cores
        over["busy"] = min(1.0, over["worked"] * self.clock.share / max(over["quiet"], 1e-9))
        if self.most > self.cores and not self.clock.gpu and not self.clock.waits:
            self.unknown.append(f"what waiting for a core takes: {self.most} ranks of {torch.get_num_threads()} threads shared "
                                f"{self.cores} cores")
        training = {
            "run": self.run, "world": self.world, "gpus_per_node": int(local) if local else nodes[self.hosts[0]] if even else None,
            "backend": self.backend, "device": torch.cuda.get_device_name() if self.clock.gpu else "cpu",
            "versions": {"torch": torch.__version__, "python": sys.version.split()[0]}, "accumulation": over["accumulation"],
            "shared_cores": {"ranks": self.most, "cores": self.cores, "busy": number(over["busy"])} if self.clock.waits else None,
            "workload": self._workload(everyone, over, how), "system": self._system(over, how),
            "measured": {"iteration_s": [number(statistics.fmean(each)) for each in zip(*(m["iterations"] for m in everyone))],
                         "steps": len(everyone[0]["iterations"]), "warmup": self.warmup, "quiet_iteration_s": number(over["quiet"]),
                         "quiet_steps": everyone[0]["timed"], "compute_s": number(over["compute"]),
                         "optimizer_s": number(over["optimizer"]), "rank_compute_s": [number(m["compute"]) for m in everyone],
                         "backward_s": number(over["busy_backward"]), "quiet_backward_s": number(over["quiet_backward"]),
                         "fill_s": number(over["fill"]), "empty_s": number(over["empty"]),
                         "bucket_s": [number(t) for t in buckets]},
            "unknown": self.unknown}
        return {key: value for key, value in training.items() if value is not None}

    def _workload(self, everyone, over, how):
        modules, chain, tables, whole = [], [], [], sum(part.bytes for part in self.parts)
        dense = sum(part.bytes for part in self.parts if not self._is_sparse(part))
        for i in self.order:
            part = self.parts[i]
            filling = 0.0 if self._is_sparse(part) else over["fill"] / over["accumulation"] * part.bytes / dense
            times = {"forward_s": number(middle([m["forward"][i] for m in everyone])),
                     "backward_s": number(middle([m["backward"][i] for m in everyone]) + filling)}
            module = {"name": part.name} | times | {"optimizer_s": number(over["optimizer"] * part.bytes / whole)}
            if part.table:
                rows, width = part.parameters[0].shape
                modules.append(module | {"kind": "embedding", "rows": rows, "row_width": width, "tensor": part.table})
                tables.append(part.name)
            else:
                modules.append(module | {"kind": "dense", "bytes": part.bytes} | ({"after": chain + tables} if chain + tables else {}))
                chain, tables = [part.name], []
        kinds = collections.Counter()
        for p in self.named.values():
            kinds[DTYPES.get(p.dtype, "F32")] += p.numel()
        states = [t for one in self.optimizers for state in one.state.values() for t in state.values()
                  if isinstance(t, torch.Tensor) and t.numel() > 1]
        return {"name": os.path.basename(self.prefix), "dtype": kinds.most_common(1)[0][0], "modules": modules,
                "optimizer_states": number(size_of(states) / whole),
                "source": {"forward_s": how, "optimizer_s": f"{how}; shared out among modules by bytes",
                           "backward_s": f"{how}; with the filling of buckets, {over['fill']:.3g} s an iteration in all, which "
                                         "DistributedDataParallel does in backward passes",
                           "after": "not known: taken for a chain, in the order in which modules ran"}}

    def _is_sparse(self, part):
        return id(part.parameters[0]) in self.sparse

    def _system(self, over, how):
        gloo = {"algorithm": "ring"} if self.backend == "gloo" else {}
        dense = {"name": "allreduce"} | gloo
        source = {"dense": f"DistributedDataParallel sums each bucket by all_reduce{'; gloo, allreduce.cc: a ring' if gloo else ''}",
                  "sparse": "gradients of tables are dense (sparse=False)"}
        system = {"name": "as-captured", "summary": f"DistributedDataParallel over {self.backend}, as it ran",
                  "sparse": dense, "dense": dense, "schedule": "fifo", "baseline": True}
        if self.sparse:
            system["sparse"] = {"name": "allgather", "separate": True, "index_bytes": 8, "sizes": "exchanged"} | gloo
            source["sparse"] = ("PyTorch's ProcessGroupGloo, AsyncSparseAllreduceWork: coalesces; gathers sizes, 64-bit indices, "
                                "values, one after the other; each rank sums")
        if self.sparse and gloo:
            system["channels"] = [["dense"], ["gradient", "lookups", "prior", "delayed"]]
            source["channels"] = "ProcessGroupGloo works at two collectives at once"
        system["bucket"], source["bucket"] = "25MiB", "nothing was sent; DistributedDataParallel's default"
        if self.ddp:
            names = {id(p): part.name for part in self.parts for p in part.parameters}
            system["bucket"] = [list(dict.fromkeys(names[id(p)] for p in bucket)) for bucket in self.buckets]
            source["bucket"] = "DistributedDataParallel's own, in its order"
            system["offered"] = {"by": "DDP", "how": "as it runs", "url": "https://docs.pytorch.org/docs/stable/notes/ddp.html"}
        if self.silent or not self.ddp:
            rest = max(0.0, over["quiet"] - over["compute"] - over["optimizer"])
            system["software"] = {"step": number(rest + over["empty"])}
            source["step"] = (f"{how}: an iteration without its modules and optimizer; with the emptying of buckets, "
                              f"{over['empty']:.3g} s, for which nothing computes")
        self._interference(over, how, system, source)
        return system | {"source": source}

    def _interference(self, over, how, system, source):
        """More time than without communication, over the time that computing goes on while something is sent; where ranks share
        cores, what sending leaves of these."""
        quiet, busy, window = over["quiet_backward"], over["busy_backward"], over["quiet_backward"] - over["first"]
        if not self.silent:
            return
        if self.clock.waits:
            share = min(over["sending"], 0.95)  # where sending takes all, there is hardly anything beside it
            source["interference"] = (f"{how}: sums of buckets took {share:.2g} of the CPU time of all cores, and computing the "
                                      f"rest, {over['busy']:.2g} of its time")
            system["interference"] = number(over["busy"] * share / (1 - share))
            return
        if window < 0.1 * quiet:
            self.unknown.append("interference: the first bucket is ready so late that hardly anything is computed while it is sent")
            return
        more, noise = busy - quiet - over["fill"], over["noise"]
        source["interference"] = (f"{how}: backward passes took {busy:.4g} s with communication, {over['fill']:.3g} s of it to fill "
                                  f"buckets, and {quiet:.4g} s without, of which {window:.4g} s behind the first bucket")
        if more < 2 * noise:
            source["interference"] += f"; that is within the spread of such times ({noise:.2g} s)"
        system["interference"] = number(more / window if more >= 2 * noise else 0.0)

    def _join(self):
        files = [f"{self.prefix}-rank{rank:04}.safetensors" for rank in range(self.world)]
        self._gather(None)  # all have written theirs
        if self.rank:
            return
        out, program = f"{self.prefix}.safetensors", shutil.which("sparsync")
        command, seen = ["trace", "merge", *files, "-o", out], all(map(os.path.exists, files))
        if program and seen and subprocess.run([program, *command], check=False, stdout=subprocess.DEVNULL).returncode == 0:
            print(f"sparsync: {self.capture.steps} iterations of {self.world} ranks are in {out}", flush=True)
        else:
            print(f"sparsync: {self.capture.steps} iterations are recorded; join them: sparsync {' '.join(command)}", flush=True)
# SPDX-License-Identifier: Apache-2.0
