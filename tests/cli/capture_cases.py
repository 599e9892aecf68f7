"""What the capture hook records, against records kept by hand. Runs where PyTorch is; test_capture.py starts it.
Arguments: the folder of the hook, a folder to write to. Every case that fails ends it with an assertion."""
import json
import os
import sys
import warnings

import torch
from safetensors import safe_open
from torch import nn

sys.path.insert(0, sys.argv[1])
import capture_pytorch  # noqa: E402
from capture_pytorch import Capture  # noqa: E402

OUT = sys.argv[2]


class Two(nn.Module):
    """Two tables; `words` is read twice in a forward pass, `more` shares its table, `bag` only in some steps."""

    def __init__(self, dtype=torch.float32):
        super().__init__()
        self.words = nn.Embedding(40, 8, padding_idx=3)
        self.more = nn.Embedding(40, 8, padding_idx=3)
        self.more.weight = self.words.weight
        self.bag = nn.EmbeddingBag(30, 8, mode="sum")
        self.frozen = nn.Embedding(5, 8)
        self.frozen.weight.requires_grad_(False)
        self.out = nn.Linear(8, 16)
        self.to(dtype)

    def forward(self, a, b, c, bag=None):
        x = self.words(a).mean(1) + self.words(input=b).mean(1) + self.more(c).mean(1) + self.frozen(a[:, 0] % 5)
        return self.out(x if bag is None else x + self.bag(bag))


def read(name, rank=0):
    with safe_open(os.path.join(OUT, f"{name}-rank{rank:04}.safetensors"), "pt") as file:
        return {key: file.get_tensor(key) for key in file.keys()}, file.metadata()


def segments(data, name):
    offsets = data[f"{name}.offsets"].tolist()
    return [data[f"{name}.rows"][a:b].tolist() for a, b in zip(offsets, offsets[1:])]


def ids(high, count=2):
    return torch.randint(high, (count, 5))


def embeddings():
    """Several tables, shared ones, one read twice, accumulation, evaluation, a step without the bag, one without any."""
    model, wrote = nn.Sequential(), []
    model.add_module("module", Two())  # as DistributedDataParallel names it
    capture = Capture(model, os.path.join(OUT, "two"), iterations=5)
    for step in range(5):
        words, bags, tokens = [], [], 0
        for micro in range(0 if step == 3 else 2):
            a, b, c, bag = ids(40), ids(40), ids(40), ids(30) if step != 1 else None
            before = None if model.module.words.weight.grad is None else model.module.words.weight.grad.clone()
            model.module(a, b, c, bag).square().sum().backward()
            grown = model.module.words.weight.grad - (0 if before is None else before)
            rows = set(grown.abs().sum(1).nonzero().flatten().tolist())
            seen = [*a.flatten().tolist(), *b.flatten().tolist(), *c.flatten().tolist()]
            assert rows == set(seen) - {3}, "gradient rows are not those looked up"
            words += seen
            bags += bag.flatten().tolist() if bag is not None else []
        tokens = sum(i != 3 for i in words)
        model.eval()
        model.module(ids(40), ids(40), ids(40), ids(30))
        model.train()
        with torch.no_grad():
            model.module(ids(40), ids(40), ids(40))
        capture.step()
        wrote.append((words, bags, tokens))
    model.module(ids(40), ids(40), ids(40))
    capture.step()  # it has stopped: no harm
    data, about = read("two")
    assert segments(data, "words.weight") == [w for w, _, _ in wrote]
    assert segments(data, "bag.weight") == [b for _, b, _ in wrote]
    assert json.loads(about["tokens"]) == [t for _, _, t in wrote]
    assert [t["name"] for t in json.loads(about["tensors"])] == ["words.weight", "bag.weight"]
    assert about["iterations"] == "5" and about["ranks"] == "1" and about["pad_id"] == "3"
    assert json.loads(about["dense"]) == [{"name": "out.weight", "bytes": 512}, {"name": "out.bias", "bytes": 64}]


def computes(dtype):
    """On CPUs PyTorch 2.0 multiplies no F16."""
    try:
        nn.Linear(1, 1).to(dtype)(torch.zeros(1, 1, dtype=dtype)).sum().backward()
    except RuntimeError:
        return False
    return True


def gradients(dtype, kind):
    """The largest entries of what the step's backward passes add up to, with values; ties and zeros apart."""
    torch.manual_seed(2)
    model = Two(dtype)
    capture = Capture(model, os.path.join(OUT, kind), 3, {"out.*": 0.1, "out.weight": 0.05})
    wanted = []
    for step in range(3):
        model.zero_grad()
        for _ in range(0 if step == 1 else 2):
            model(ids(40), ids(40), ids(40)).square().sum().backward()
        capture.step()
        grad = model.out.weight.grad
        wanted.append({} if grad is None else dict(enumerate(grad.flatten().tolist())))
    data, about = read(kind)
    assert next(t for t in json.loads(about["tensors"]) if t["name"] == "out.weight.grad")["dtype"] == kind
    assert data["out.weight.grad.values"].dtype == dtype and json.loads(about["dense"]) == []
    got, first = segments(data, "out.weight.grad"), 0
    for rows, full in zip(got, wanted):
        values = data["out.weight.grad.values"][first:first + len(rows)].tolist()
        first += len(rows)
        # two backward passes add up in the gradient's own precision, in both
        assert rows == sorted(rows) and values == [full[row] for row in rows]
        assert len(rows) == (6 if full else 0), len(rows)  # 5% of 128, rounded
        assert sorted(map(abs, values)) == sorted(map(abs, full.values()))[len(full) - len(rows):]
    assert [len(s) for s in segments(data, "out.bias.grad")] == [2, 0, 2]  # 10% of 16


def not_finite():
    model = Two()
    capture = Capture(model, os.path.join(OUT, "inf"), 2, {"out.weight": 1})
    for scale in (float("inf"), 1.0):
        (model(ids(40), ids(40), ids(40)).sum() * scale).backward()
        capture.step()
    assert list(map(len, segments(read("inf")[0], "out.weight.grad"))) == [0, 128]


def ends():
    """What is left open is written; what was never stepped is not, and says so."""
    model = Two()
    capture = Capture(model, os.path.join(OUT, "early"), iterations=100, source="mine")
    model(ids(40), ids(40), ids(40))
    capture.step(tokens=77)
    capture.close()
    capture.close()
    about = read("early")[1]
    assert (about["iterations"], about["tokens"], about["source"]) == ("1", "[77]", "mine")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        Capture(model, os.path.join(OUT, "never")).close()
        assert "never called" in str(said[0].message) and not os.path.exists(os.path.join(OUT, "never-rank0000.safetensors"))


def refusals():
    tied = nn.ModuleDict({"emb": nn.Embedding(6, 4), "out": nn.Linear(4, 6)})
    tied["out"].weight = tied["emb"].weight
    for model, options, says in ((Two(), {"gradients": {"nobody": 0.1}}, "nobody"), (Two(), {"gradients": {"out.*": 0}}, "share"),
                                 (nn.Linear(2, 2), {}, "nothing to capture"), (tied, {}, "nothing to capture")):
        try:
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                Capture(model, os.path.join(OUT, "bad"), **options)
        except ValueError as error:
            assert says in str(error), error
            assert model is not tied or "dense" in str(said[0].message)
        else:
            raise AssertionError(f"took {options}")


def large():
    """A table beyond 2^31 rows keeps 64-bit ids; beyond 2^32 there is no such trace. Nothing that large is made."""
    class Wide(nn.Embedding):
        def __init__(self, rows):
            super().__init__(4, 2)
            self.num_embeddings = rows

        def forward(self, input):
            return super().forward(input % 4)

    model = Wide((1 << 32) - 1)
    capture = Capture(nn.ModuleDict({"wide": model}), os.path.join(OUT, "wide"), 1)
    model(torch.tensor([(1 << 32) - 2, 1 << 31])).sum().backward()
    capture.step()
    assert segments(read("wide")[0], "wide.weight") == [[(1 << 32) - 2, 1 << 31]]
    try:
        Capture(nn.ModuleDict({"wide": Wide(1 << 32)}), os.path.join(OUT, "wider"))
    except ValueError as error:
        assert "4294967296 rows" in str(error)
    else:
        raise AssertionError("took 2^32 rows")


def parts():
    """Two processes of one run, of which each misses what the other has: for `trace merge`."""
    torch.manual_seed(4)
    for rank in range(2):
        os.environ.update(RANK=str(rank), LOCAL_WORLD_SIZE="2")
        model = Two(torch.bfloat16)
        capture = Capture(model, os.path.join(OUT, "part"), 3, {"out.weight": 0.05})
        for step in range(3):
            if (step + rank) % 2:
                model(ids(40), ids(40), ids(40), ids(30) if rank else None).square().sum().backward()
            capture.step()


embeddings()
capture_pytorch.WAITING = 300  # from here on what waits goes to files every few steps
embeddings()
for each, name in ((torch.float32, "F32"), (torch.float16, "F16"), (torch.bfloat16, "BF16")):
    if computes(each):
        gradients(each, name)
not_finite()
ends()
refusals()
large()
parts()
print("all cases hold")
# SPDX-License-Identifier: Apache-2.0
