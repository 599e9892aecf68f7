"""Records what training looks up in its embeddings, for sparsync. Keep this file beside your script (PyTorch >= 2.0):

    from capture_pytorch import Capture
    capture = Capture(model, "run", iterations=50, gradients={"decoder.weight": 0.01})    # before or after DDP(model)
    for batch in batches:
        loss_of(model, batch).backward()    # as often as you accumulate
        optimizer.step()
        capture.step()                      # an iteration is done
    capture.close()                         # writes run-rank0000.safetensors, one file a process, if that was not done

Recorded are the ids that embeddings look up in training mode, in order, with duplicates and padding; and of `gradients`,
parameters or patterns ("lstm.*"), the given share of entries, the largest in magnitude, with values: of this process's own
gradient, summed over the step's backward passes, before any all-reduce. Records wait in temporary files, not in memory."""
import atexit, fnmatch, functools, json, mmap, os, tempfile, warnings
import torch
try:
    from safetensors.torch import save_file
except ImportError as missing:
    raise ImportError('capture_pytorch needs the package "safetensors": pip install safetensors') from missing
if int(torch.__version__.split(".")[0]) < 2: raise ImportError(f"capture_pytorch needs PyTorch 2.0 or later, not {torch.__version__}")
DTYPES = {torch.float16: "F16", torch.bfloat16: "BF16"}  # all else is recorded as F32
WRAPPERS = ("module", "_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module")

def plain(name):  # without what DistributedDataParallel, compile and others put before a parameter's own name
    return ".".join(part for part in name.split(".") if part not in WRAPPERS)

class Capture:
    def __init__(self, model, prefix, iterations=50, gradients=None, source=f"PyTorch {torch.__version__}"):
        several = torch.distributed.is_available() and torch.distributed.is_initialized()
        rank = torch.distributed.get_rank() if several else int(os.environ.get("RANK", 0))
        self.path, self.limit, self.source = f"{prefix}-rank{rank:04}.safetensors", iterations, source
        self.steps, self.tokens, self.tensors, self.offsets, self.spool, self.hooks = 0, [], [], {}, {}, []
        self.tables, self.seen, self.wanted, self.sums, self.pads = {}, {}, {}, {}, set()
        modules, lookups = list(model.named_modules()), (torch.nn.Embedding, torch.nn.EmbeddingBag)
        tied = {id(p) for _, m in modules if not isinstance(m, lookups) for p in m.parameters(recurse=False)}
        for name, module in modules:
            if not isinstance(module, lookups) or not module.weight.requires_grad:
                continue
            name = plain(f"{name}.weight".lstrip("."))
            if id(module.weight) in tied:
                warnings.warn(f"{name} is shared with a layer that is no embedding: its gradient is dense; not captured")
                continue
            name = self.tables.setdefault(id(module.weight), name)  # embeddings that share a table are one tensor
            if name not in self.offsets:
                self._add(name, module.num_embeddings, module.embedding_dim, module.weight.dtype)
            self.pads |= set() if module.padding_idx is None else {module.padding_idx}
            self.hooks.append(module.register_forward_hook(functools.partial(self._forward, name), with_kwargs=True))
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

    def _add(self, name, rows, width, dtype, values=False):
        if rows >= 1 << 32:
            raise ValueError(f"{name} has {rows} rows; a tensor of a trace has at most {(1 << 32) - 1}")
        self.tensors.append({"name": name, "rows": rows, "row_width": width, "dtype": DTYPES.get(dtype, "F32")})
        self.offsets[name], folder = [0], os.path.dirname(os.path.abspath(self.path))
        self.spool[f"{name}.rows"] = tempfile.TemporaryFile(dir=folder), torch.int32 if rows <= 1 << 31 else torch.int64
        if values:
            self.spool[f"{name}.values"] = tempfile.TemporaryFile(dir=folder), dtype if dtype in DTYPES else torch.float32

    def _forward(self, name, module, inputs, named, output):
        if module.training and torch.is_grad_enabled():
            ids = (inputs[0] if inputs else named["input"]).detach().flatten().clone()
            self.seen.setdefault(name, []).append((ids, -1 if module.padding_idx is None else module.padding_idx))

    def _backward(self, name, grad):
        self.sums[name] = self.sums.get(name, 0) + grad.detach().to_dense()

    def _segment(self, name, **parts):  # appends the iteration's rows, and values
        for part, data in parts.items():
            file, kind = self.spool[f"{name}.{part}"]
            file.write(data.cpu().to(kind).contiguous().view(torch.uint8).numpy().tobytes())
        self.offsets[name].append(self.offsets[name][-1] + parts["rows"].numel())

    def step(self, tokens=None):  # tokens: of this process, padding excluded; else what the first table looked up
        if not self.hooks:
            return
        for name in dict.fromkeys(self.tables.values()):
            seen = [(ids.cpu().long(), pad) for ids, pad in self.seen.get(name, [])]
            self._segment(name, rows=torch.cat([torch.empty(0).long(), *(ids for ids, _ in seen)]))
            tokens = sum(int((ids != pad).sum()) for ids, pad in seen) if tokens is None else tokens
        for name, share in self.wanted.items():
            flat = self.sums[name].flatten() if name in self.sums else torch.empty(0)
            rows = flat.float().abs().topk(min(max(1, int(share * flat.numel() + 0.5)), flat.numel())).indices.sort().values
            rows = rows[flat[rows] != 0] if torch.isfinite(flat[rows]).all() else rows[:0]  # a loss scaler skips such steps
            self._segment(f"{name}.grad", rows=rows, values=flat[rows])
        self.seen, self.sums, self.steps = {}, {}, self.steps + 1
        self.tokens.append(int(tokens or 0))
        if self.steps == self.limit:
            self.close()

    def close(self):  # writes the file, whole or not at all
        hooks, self.hooks = self.hooks, []
        for hook in hooks:
            hook.remove()
        if not hooks or self.steps == 0:
            return warnings.warn(f"step() was never called: {self.path} is not written") if hooks else None
        data = {f"{name}.offsets": torch.tensor(offsets) for name, offsets in self.offsets.items()}
        for entry, (file, kind) in self.spool.items():
            file.flush()
            held = mmap.mmap(file.fileno(), 0) if file.tell() else None
            data[entry] = torch.frombuffer(held, dtype=kind) if held else torch.empty(0, dtype=kind)
        about = {"sparsync.version": "1", "iterations": str(self.steps), "ranks": "1", "source": self.source,
                 "tensors": json.dumps(self.tensors), "dense": json.dumps(self.dense), "tokens": json.dumps(self.tokens)}
        about |= {"pad_id": str(*self.pads)} if len(self.pads) == 1 else {}  # a trace names one: none where tables differ
        about |= {"gpus_per_node": os.environ["LOCAL_WORLD_SIZE"]} if os.environ.get("LOCAL_WORLD_SIZE") else {}
        save_file(data, self.path + ".part", about)
        os.replace(self.path + ".part", self.path)
