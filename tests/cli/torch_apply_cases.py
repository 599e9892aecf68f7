"""sparsync.torch.apply against `sparsync learn` and against DistributedDataParallel itself. Runs where PyTorch is;
test_torch_apply.py starts it. Argument: a folder with the curves of `learn`, curves.json. A case that fails ends it with an
assertion; those before are printed."""
import json
import math
import pathlib
import sys
import tempfile

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "examples"))
import sparsync  # noqa: E402
import sparsync.torch  # noqa: E402
from still_learns import LanguageModel, batch  # noqa: E402

RANKS = 4


# --- the model of learn, with its random numbers (docs/model.md, "Payloads"; src/learn/language_model.h) ---------------------


def mix(a, b):
    most = (1 << 64) - 1
    z = (b + (a + 1) * 0x9e3779b97f4a7c15) & most
    z = ((z ^ z >> 30) * 0xbf58476d1ce4e5b9) & most
    z = ((z ^ z >> 27) * 0x94d049bb133111eb) & most
    z ^= z >> 31
    z = ((z ^ z >> 33) * 0xff51afd7ed558ccd) & most
    return z ^ z >> 32


def unit(number):
    return (number >> 11) * 2.0**-53


def model_of(told, sparse):
    vocab, width = told["vocab"], told["width"]
    model = LanguageModel(vocab, width, told["samples"], told["context"], sparse=sparse, dtype=torch.float64)
    for i, table in enumerate((model.input, model.output)):
        key = mix(mix(told["seed"], 0), i)
        values = [(unit(mix(key, e)) - 0.5) / math.sqrt(width) for e in range(vocab * width)]
        table.weight.data = torch.tensor(values, dtype=torch.float64).view(vocab, width)
    return model


def drawn(told, step, rank):
    key = mix(mix(mix(told["seed"], 1), step), rank)
    ids = [int(math.exp(unit(mix(key, k)) * math.log(told["vocab"]))) for k in range(told["samples"])]
    return torch.tensor([min(i, told["vocab"] - 1) for i in ids])


def curve(told, scheme, sparse, **how):
    """The losses of as many steps, and how many bytes were sent in a step."""
    model = DistributedDataParallel(model_of(told, sparse))
    applied = sparsync.torch.apply(model, scheme, **how) if scheme else None
    rank, losses, sent = dist.get_rank(), [], 0
    optimizer = (torch.optim.Adagrad if told["optimizer"] == "adagrad" else torch.optim.SGD)(model.parameters(), lr=told["lr"])
    for step in range(told["steps"]):
        tokens = batch(step, rank)
        loss, words = model(tokens.where(tokens < told["vocab"], 1), drawn(told, step, rank))
        both = torch.tensor([loss.detach(), words], dtype=torch.float64)
        dist.all_reduce(both)
        optimizer.zero_grad()
        (loss * RANKS / both[1]).backward()
        optimizer.step()
        losses.append(float(both[0] / both[1]))
        sent += applied.sent_bytes if applied else 0
    return losses, sent / told["steps"]


def losses_are_those_of_learn(folder):
    """To 1e-9: gradients are the same but for the order in which doubles are added, and then rounded to the same units."""
    for document in json.loads((folder / "curves.json").read_text()):
        for number, known in enumerate(document["curves"]):
            scheme = {"name": known["scheme"], **known["options"]}
            ours, sent = curve(document, scheme, sparse=number % 2 == 0, select=document["select"] or 0)
            apart = max(abs(a - b) for a, b in zip(ours, known["loss"]))
            assert len(ours) == len(known["loss"]) and apart < 1e-9, f"{known['label']}, {document['optimizer']}: {apart:.3g} apart"
            assert known["scheme"] == "alltoall" or math.isclose(sent, known["bytes_sent_max"], rel_tol=1e-12), (known["label"], sent, known["bytes_sent_max"])


# --- other models ---------------------------------------------------------------------------------------------------------


class Mixed(nn.Module):
    """A table, sparse or not, dense layers, one that no input of a step may need, and single precision."""

    def __init__(self, sparse):
        super().__init__()
        self.table, self.one, self.norm, self.two = nn.EmbeddingBag(50, 8, sparse=sparse), nn.Linear(8, 30), nn.LayerNorm(30), nn.Linear(30, 3)

    def forward(self, ids):
        return self.two(torch.relu(self.norm(self.one(self.table(ids)))))


def parameters(sparse, scheme=None, steps=8, **how):
    """What they are after some steps, and what was applied. Rank 1 reads no ids below 25 at all."""
    torch.manual_seed(3)
    model = DistributedDataParallel(Mixed(sparse), bucket_cap_mb=0.002)
    applied = sparsync.torch.apply(model, scheme, **how) if scheme else None
    optimizer, dice = torch.optim.SGD(model.parameters(), lr=0.1), torch.Generator().manual_seed(dist.get_rank())
    for step in range(steps):
        ids = torch.randint(25, (16, 5), generator=dice) + 25 * (dist.get_rank() == 1)
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(ids), ids[:, 0] % 3).backward()
        optimizer.step()
    flat = torch.cat([p.detach().flatten() for p in model.parameters()])
    every = [torch.empty_like(flat) for _ in range(RANKS)]
    dist.all_gather(every, flat)
    assert all(torch.equal(flat, other) for other in every), f"{scheme}: ranks differ"
    return flat, applied


def exact_schemes_train_as_ddp_does(_):
    """To the rounding of single precision; also where only some parameters are given to a lossy scheme, or none."""
    for sparse in (False, True):
        plain, _ = parameters(sparse)
        for scheme, how in (("allreduce", {}), ("zen", {}), ("allgather", {"per": "bucket"}), ("spardl:density=0.01", {"exact": "*"}),
                            ("topka:density=1", {})):
            ours, applied = parameters(sparse, scheme, **how)
            assert applied.steps == 8 and torch.allclose(ours, plain, rtol=1e-5, atol=1e-6), (sparse, scheme, float((ours - plain).abs().max()))
        lossy, _ = parameters(sparse, "spardl:density=0.01", exact=["table.*", "two.bias"])
        assert not torch.allclose(lossy, plain, rtol=1e-5, atol=1e-6)


def tensors_are_parameters_or_buckets(_):
    """An all-gather of the largest tenth sends it to the others, 8 B an element: of each parameter, or of all that is in a bucket."""
    sizes = [p.numel() for p in Mixed(False).parameters()]
    tenth = [max(1, math.floor(0.1 * n + 0.5)) for n in sizes]
    _, each = parameters(False, "topka:density=0.1")
    assert 0.9 * sum(tenth) < each.sent_bytes / 8 / (RANKS - 1) <= sum(tenth), (each.sent_bytes, tenth)
    assert 0 < each.energy < 1
    model = DistributedDataParallel(Mixed(False))  # one bucket
    whole = sparsync.torch.apply(model, "topka:density=0.1", per="bucket")
    for step in range(3):
        model(torch.randint(50, (16, 5))).sum().backward()
        assert whole.sent_bytes == (step > 0) * 8 * (RANKS - 1) * math.floor(0.1 * sum(sizes) + 0.5), (step, whole.sent_bytes)


def fails(says, function, *arguments, **fields):
    try:
        function(*arguments, **fields)
    except Exception as reason:  # one that comes through a backward pass is torch's own kind
        assert says in str(reason) and "\n" not in says, f"{reason} does not say {says!r}"
        assert not isinstance(reason, sparsync.Error) or reason.__suppress_context__ or not reason.__context__, "a trace of its insides"
        return
    raise AssertionError(f"{says!r} was not said")


def what_cannot_be_is_refused(_):
    model = DistributedDataParallel(Mixed(True))
    fails("expected a DistributedDataParallel model, not Mixed", sparsync.torch.apply, Mixed(True))
    fails('did you mean "topka"?', sparsync.torch.apply, model, "topk")
    fails('apply: no scheme is called "nonsense" (there are: allreduce, ', sparsync.torch.apply, model, "nonsense")
    fails("is none of parameter, bucket", sparsync.torch.apply, model, per="layer")
    fails("no parameter is called 'three.*'", sparsync.torch.apply, model, exact=["three.*"])
    fails("a bucket is one tensor", sparsync.torch.apply, model, exact=["two.*"], per="bucket")
    fails("selects by itself", sparsync.torch.apply, model, select=0.1)
    fails("apply: two.bias: topka:k=10: k 10 is more than the 3 elements of a table; exact=['two.bias'] leaves", sparsync.torch.apply,
          model, "topka:k=10")
    sparsync.torch.apply(DistributedDataParallel(Mixed(True)), "topka:k=10", exact=["two.bias"])
    scheme = "zen" if dist.get_rank() == 2 else "allgather"
    fails("rank 2 asks for", sparsync.torch.apply, model, scheme)
    sparsync.torch.apply(model, "allgather")
    ids = torch.randint(50, (16, 5))
    fails("gradients are not finite", lambda: (model(ids) * float("inf")).sum().backward())


CASES = [losses_are_those_of_learn, exact_schemes_train_as_ddp_does, tensors_are_parameters_or_buckets, what_cannot_be_is_refused]


def run(rank, store, folder):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=RANKS)
    for case in CASES:
        case(pathlib.Path(folder))
        if rank == 0:
            print(case.__name__, flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        torch.multiprocessing.spawn(run, (f"{place}/store", sys.argv[1]), RANKS)
# SPDX-License-Identifier: Apache-2.0
