"""What the recorder says of trainings, against what these trainings know of themselves. Runs where PyTorch is; test_capture.py
starts it. Arguments: the folder of the hook, a folder to write to, and for a rank of several its number. Seconds are those of
a clock that only sleeping modules move, so that nothing depends on how long anything really takes."""
import contextlib
import json
import os
import subprocess
import sys
import types
import warnings

import torch
import torch.distributed as dist
from safetensors import safe_open
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
from torch.nn.parallel import DistributedDataParallel

sys.path.insert(0, sys.argv[1])
import capture_pytorch  # noqa: E402
from capture_pytorch import Recorder  # noqa: E402

OUT, RANK, WORLD = sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 0, 2
QUICK = {"iterations": 6, "warmup": 3, "quiet": 2}


class Watch:
    """A clock, and whoever sleeps by it."""
    now = 0.0

    @classmethod
    def perf_counter(cls):
        return cls.now

    @staticmethod
    def process_time():
        return 0.0


class Sleep(torch.autograd.Function):
    @staticmethod
    def forward(context, x, forward, backward):
        context.backward = backward
        Watch.now += forward
        return x.clone()

    @staticmethod
    def backward(context, grad):
        Watch.now += context.backward() if callable(context.backward) else context.backward
        return grad, None, None


class Sleeping(torch.optim.SGD):
    def step(self, closure=None):
        Watch.now += 0.03
        super().step(closure)
        Watch.now += 0.04


class Model(nn.Module):
    """A table of bags, two layers. It keeps what it was given, and sleeps; `busy` is how much longer backward passes take when
    they send."""

    def __init__(self, sparse=False, busy=1.0):
        super().__init__()
        self.bag, self.words = nn.EmbeddingBag(50, 8, mode="sum", sparse=sparse), nn.Embedding(40, 8, padding_idx=3, sparse=sparse)
        self.b, self.a = nn.Linear(8, 4), nn.Linear(8, 8)  # not the order in which they run
        self.given, self.busy, self.ddp, self.weights = [], busy, None, False

    def forward(self, bags, offsets, words):
        if self.training and torch.is_grad_enabled():
            self.given.append((bags.flatten().tolist(), range(0, bags.numel(), bags.shape[1]) if offsets is None else offsets.tolist(),
                               words.flatten().tolist()))
        sends = self.ddp is not None and self.ddp.require_backward_grad_sync
        weights = torch.ones(bags.shape) if self.weights else None
        x = self.bag(bags, offsets, weights) + self.words(words).mean(1)
        x = Sleep.apply(x, 0.1, 0.2 * (self.busy if sends else 1))
        x = Sleep.apply(self.a(x), 0.3, 0.4 * (self.busy if sends else 1))
        return Sleep.apply(self.b(x), 0.5, 0.6)


def inputs(step):
    torch.manual_seed(100 * step + RANK)
    if step % 2:
        return torch.randint(50, (4, 3)), None, torch.randint(40, (4, 5))
    return torch.randint(50, (9,)), torch.tensor([0, 2, 2, 7]), torch.randint(40, (4, 5))


def train(steps, model, optimizer, accumulate=1, clip=0.05, sends=False):
    for step in range(steps):
        optimizer.zero_grad()
        for micro in range(accumulate):
            last = sends or micro == accumulate - 1
            with contextlib.nullcontext() if last or not hasattr(model, "no_sync") else model.no_sync():
                Watch.now += 0.05
                model(*inputs(step * accumulate + micro)).square().mean().backward()
        if clip:
            nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()


def parallel(sparse=False, busy=1.0, **options):
    torch.manual_seed(1)
    model = Model(sparse, busy)
    ddp = DistributedDataParallel(model, **options)
    model.ddp = ddp
    return model, ddp, Sleeping(ddp.parameters(), lr=0.5)


def read(name, rank=RANK):
    with safe_open(os.path.join(OUT, f"{name}-rank{rank:04}.safetensors"), "pt") as file:
        data, about = {key: file.get_tensor(key).tolist() for key in file.keys()}, file.metadata()
    return data, about, json.loads(about["training"]) if "training" in about else None


def close(a, b):
    assert abs(a - b) < 1e-5 * max(1, abs(b)), (a, b)


def modules(training):
    return {m["name"]: m for m in training["workload"]["modules"]}


def refused(says, make):
    try:
        make()
    except ValueError as error:
        assert says in str(error) and "\n" not in str(error), error
        return
    raise AssertionError(f"was not refused: {says}")


# --- two ranks ----------------------------------------------------------------------------------------------


def rows_and_bags():
    """What was looked up in the recorded steps, and only then; several backward passes a step."""
    for sparse, accumulate in ((False, 1), (True, 2)):
        model, ddp, optimizer = parallel(sparse)
        model.weights = accumulate == 2
        name = f"rows{accumulate}"
        Recorder(ddp, optimizer, prefix=os.path.join(OUT, name), **QUICK)
        train(11, ddp, optimizer, accumulate)
        data, about, training = read(name)
        steps = [model.given[i * accumulate:(i + 1) * accumulate] for i in range(3, 9)]
        bags, words, offsets, before = [], [], [0], 0
        for step in steps:
            bags.append([i for given, _, _ in step for i in given])
            words.append([i for _, _, given in step for i in given])
            for given, starts, _ in step:
                offsets[-1:] = [before + start for start in starts] + [before + len(given)]
                before += len(given)
        for entry, lists in (("bag.weight", bags), ("words.weight", words)):
            bounds = data[f"{entry}.offsets"]
            assert [data[f"{entry}.rows"][a:b] for a, b in zip(bounds, bounds[1:])] == lists
        assert data["bag.weight.bag_offsets"] == offsets and data["bag.weight.bags"] == list(range(0, 25 * accumulate, 4 * accumulate))
        assert "words.weight.bags" not in data and about["iterations"] == "6" and training["accumulation"] == accumulate
        with open(os.path.join(OUT, f"plain{RANK}"), "w", encoding="ascii") as any_file:
            assert os.stat(os.path.join(OUT, f"{name}-rank{RANK:04}.safetensors")).st_mode == os.fstat(any_file.fileno()).st_mode
        assert json.loads(about["tokens"]) == [sum(i != 3 for i in step) if i == "words" else len(step) for i, step in (("bag", b) for b in bags)]
        assert any("weights of the lookups of bag.weight" in text for text in training["unknown"]) == model.weights
        scheme = training["system"]["sparse"]
        assert scheme["name"] == ("allgather" if sparse else "allreduce") and scheme.get("index_bytes") == (8 if sparse else None)
        assert scheme["algorithm"] == "ring" and ("channels" in training["system"]) == sparse


def times():
    """Each module has the sleep behind it; what is left is the step's."""
    for accumulate in (1, 2):
        _, ddp, optimizer = parallel(busy=1.25, bucket_cap_mb=1e-5)  # a bucket a parameter: b's go first
        Recorder(ddp, optimizer, prefix=os.path.join(OUT, "times"), **QUICK)
        train(9, ddp, optimizer, accumulate)
        training = read("times")[2]
        parts, measured, system = modules(training), training["measured"], training["system"]
        forward, backward = (sum(m[f"{way}_s"] for m in parts.values()) for way in ("forward", "backward"))
        close(forward, 0.9)
        close(backward, 1.2)
        close(sum(m["forward_s"] for name, m in parts.items() if name.startswith(("bag", "words"))), 0.1)
        for name, times in (("a", (0.3, 0.4)), ("b", (0.5, 0.6))):
            close(sum(m["forward_s"] for key, m in parts.items() if key.startswith(f"{name}.")), times[0])
            close(sum(m["backward_s"] for key, m in parts.items() if key.startswith(f"{name}.")), times[1])
        close(sum(m["optimizer_s"] for m in parts.values()), 0.07)
        assert [name.split(".")[0] for name in parts] == ["bag", "words", "a", "a", "b", "b"]
        assert [len(m.get("after", ())) for m in parts.values()] == [0, 0, 2, 1, 1, 1]
        close(measured["quiet_iteration_s"], 2.15 * accumulate + 0.07)  # the sum over ranks, a second each, is not in it
        assert len(measured["iteration_s"]) == measured["steps"] == 4 and measured["quiet_steps"] == 2
        for each in measured["iteration_s"]:
            close(each, 2.15 * accumulate + 0.07 + 0.25 * 0.6)
        close(system["software"]["step"], 0.05 * accumulate)
        close(system["interference"], 0.25)
        close(measured["backward_s"], 1.35)
        close(measured["rank_compute_s"][RANK], 2.1 * accumulate)
        assert measured["bucket_s"] == [1.0] * 6  # so long an all_reduce takes here


def buckets():
    """Those that the reducer itself logs, in its order; a module that two buckets share is two."""
    for cap in (25, 2e-4, 1e-5):
        model, ddp, optimizer = parallel(sparse=cap == 2e-4, bucket_cap_mb=cap)
        Recorder(ddp, optimizer, prefix=os.path.join(OUT, "buckets"), **QUICK)
        train(9, ddp, optimizer)
        training = read("buckets")[2]
        logged = ddp._get_ddp_logging_data()["rebuilt_per_bucket_param_indices"].split(",")
        names = [name for name, _ in model.named_parameters()]
        logged = [[names[int(i)] for i in bucket.split()] for bucket in logged]
        assert len(logged) == {25: 1, 2e-4: 3, 1e-5: 6}[cap], logged
        size, owns = {name: p.numel() * 4 for name, p in model.named_parameters()}, modules(training)
        assert sorted(name for bucket in training["system"]["bucket"] for name in bucket) == sorted(owns)
        for told, bucket in zip(training["system"]["bucket"], logged):
            assert all(any(name == part or name == f"{part}.{name.rsplit('.', 1)[1]}" for part in told) for name in bucket), (told, bucket)
            bytes_of = [m.get("bytes") or m["rows"] * m["row_width"] * 4 for m in map(owns.get, told)]
            assert sum(bytes_of) == sum(map(size.get, bucket))


def exactness():
    """A training that is recorded ends where it would have ended; ranks agree."""
    for sparse, accumulate, options in ((False, 1, {}), (True, 1, {}), (False, 2, {"gradient_as_bucket_view": True}), (True, 2, {})):
        ends = []
        for recorded in (False, True):
            _, ddp, optimizer = parallel(sparse, **options)
            if recorded:
                Recorder(ddp, optimizer, prefix=os.path.join(OUT, "exact"), **QUICK)
            train(10, ddp, optimizer, accumulate, 0.05 if accumulate == 2 else None)
            ends.append(torch.cat([p.detach().flatten() for p in ddp.parameters()]))
        assert (ends[0] - ends[1]).abs().max() < 1e-6 and not torch.equal(ends[0], torch.cat([p.flatten() for p in Model().parameters()]))
        both = [torch.empty_like(ends[1]) for _ in range(WORLD)]
        dist.all_gather(both, ends[1])
        assert torch.equal(*both)


def mixed():
    """Tables with dense gradients beside sparse ones; an iteration that cannot go without communication; two optimizers."""
    for says, options in (("find_unused_parameters", {"find_unused_parameters": True}), ("declared static", {"static_graph": True}),
                          ("communication hook", {})):
        _, ddp, optimizer = parallel(**options)
        if not options:
            ddp.register_comm_hook(None, allreduce_hook)
        Recorder(ddp, optimizer, prefix=os.path.join(OUT, "unused"), iterations=6, warmup=3, quiet=1)
        train(9, ddp, optimizer)
        training = read("unused")[2]
        assert any(says in text for text in training["unknown"]) and "interference" not in training["system"]
        assert training["measured"]["bucket_s"] == []
    torch.manual_seed(1)
    model = Model(sparse=True)
    model.words.sparse = False
    ddp = DistributedDataParallel(model)
    optimizers = [torch.optim.SGD([model.bag.weight], lr=0.1), torch.optim.Adam([p for p in model.parameters() if p is not model.bag.weight])]
    Recorder(ddp, optimizers, prefix=os.path.join(OUT, "mixed"), **QUICK)
    for step in range(9):
        ddp(*inputs(step)).square().mean().backward()
        for one in optimizers:
            one.step()
            one.zero_grad()
    data, about, training = read("mixed")
    parts = modules(training)
    assert parts["bag"]["kind"] == "embedding" and parts["words"] == parts["words"] | {"kind": "dense", "bytes": 40 * 8 * 4}
    assert [t["name"] for t in json.loads(about["tensors"])] == ["bag.weight"] and any("words.weight" in text for text in training["unknown"])
    close(training["workload"]["optimizer_states"], 2 * (1 - 50 * 8 / sum(p.numel() for p in model.parameters())))


def each_pass_sends():
    """Accumulated without no_sync(), with and without iterations that send nothing."""
    for options in ({}, {"static_graph": True}):
        _, ddp, optimizer = parallel(**options)
        Recorder(ddp, optimizer, prefix=os.path.join(OUT, "sends"), **QUICK)
        refused("3 backward passes of a step send their gradients each", lambda: train(9, ddp, optimizer, 3, sends=True))  # noqa: B023
        train(1, ddp, optimizer)  # goes on without it
    _, ddp, optimizer = parallel()
    recorder = Recorder(ddp, optimizer, prefix=os.path.join(OUT, "skipped"), **QUICK)
    assert len(warned(recorder._left)) == (RANK == 0)  # of all ranks one says that no step was taken yet
    for n in (1, 1, 2) * 3:  # a step is skipped, also the last of the warm-up
        train(1, ddp, optimizer, n, sends=True)
    assert any("4 had 1, 2 had 2 backward passes" in text for text in read("skipped")[2]["unknown"])
    assert not os.path.exists(os.path.join(OUT, f"sends-rank{RANK:04}.safetensors"))


def two_ranks_that_differ():
    torch.manual_seed(1)
    models = [nn.Sequential(nn.Embedding(9, 4), nn.Linear(4, 4)), nn.Sequential(nn.Embedding(9, 4), nn.Linear(4, 5))]
    for name, make in (("parameter 1 of rank 1's model is 1.weight (5 x 4 float32), of rank 0's 1.weight (4 x 4 float32)", lambda: models[RANK]),
                       ("parameter 0 of rank 1's model is 0.weight (9 x 4 float32, mean), of rank 0's 0.weight (9 x 4 float32, sum)",
                        lambda: nn.Sequential(nn.EmbeddingBag(9, 4, mode="mean" if RANK else "sum"))),
                       ("parameter 2 of rank 1's model is none more", lambda: nn.Sequential(models[0][0], nn.Linear(4, 4, bias=not RANK)))):
        ddp = DistributedDataParallel(make(), init_sync=False)
        refused(name, lambda: Recorder(ddp, torch.optim.SGD(ddp.parameters(), lr=0.1)))  # noqa: B023
    refused("wrap the model before", lambda: Recorder(models[0], torch.optim.SGD(models[0].parameters(), lr=0.1)))
    _, ddp, optimizer = parallel()
    refused("rank 1 asks for iterations, warmup, quiet [9, 3, 2], rank 0 for [8, 3, 2]",
            lambda: Recorder(ddp, optimizer, iterations=8 + RANK, warmup=3, quiet=2))
    recorder = Recorder(ddp, optimizer, prefix=os.path.join(OUT, "differ"), **QUICK)
    train(8, ddp, optimizer, 1 + RANK)
    refused("rank 1 recorded 2 backward passes an iteration, rank 0 1", recorder.close)


# --- one process --------------------------------------------------------------------------------------------


def alone():
    """Without DistributedDataParallel: nothing is sent, every iteration is quiet."""
    torch.manual_seed(1)
    model = Model()
    optimizer = Sleeping(model.parameters(), lr=0.1)
    Recorder(model, optimizer, prefix=os.path.join(OUT, "alone"), **QUICK)
    train(9, model, optimizer)
    training = read("alone")[2]
    assert training["world"] == 1 and training["system"]["bucket"] == "25MiB" and training["backend"] == "none"
    close(training["system"]["software"]["step"], 0.05)
    close(training["measured"]["quiet_iteration_s"], 2.22)
    layers = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 2))  # no table at all
    optimizer = Sleeping(layers.parameters(), lr=0.1)
    Recorder(layers, optimizer, prefix=os.path.join(OUT, "layers"), **QUICK)
    for _ in range(9):
        layers(torch.ones(4, 8)).sum().backward()
        optimizer.step()
    data, about, training = read("layers")
    assert [t["name"] for t in json.loads(about["tensors"])] == ["1.bias.grad"] and data["1.bias.grad.values"][:2] == [4, 4]
    assert [m["kind"] for m in training["workload"]["modules"]] == ["dense", "dense"] and "no embedding" in training["unknown"][0]


def odd_steps():
    """Iterations without a backward pass, in the warm-up or behind it; with one pass in some and two in others."""
    model = Model()
    optimizer = Sleeping(model.parameters(), lr=0.1)
    for warmup in (3, 4):  # behind the odd ones, or the even ones, comes what is timed
        Recorder(model, optimizer, prefix=os.path.join(OUT, "twice"), iterations=6, warmup=warmup, quiet=2)
        refused("took a step without a backward pass", lambda: [train(1, model, optimizer, n, None) for n in (1, 0) * 5])
    for counts, says in (((1, 1, 2), "4 had 1, 2 had 2 backward passes"), ((1, 1, 1), None)):
        Recorder(model, optimizer, prefix=os.path.join(OUT, "changes"), **QUICK)
        for n in counts * 3:
            train(1, model, optimizer, n, None)
        told = [text for text in read("changes")[2]["unknown"] if text.startswith("what a step takes")]
        assert len(told) == (says is not None) and all(says in text for text in told), told


def warned(make):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        make()
    return [str(w.message) for w in said]


ENDS = """import sys, torch
sys.path.insert(0, sys.argv[1])
from capture_pytorch import Capture, Recorder
model = torch.nn.Embedding(5, 2)
recorder = Recorder(model, torch.optim.SGD(model.parameters(), lr=0.1), prefix=sys.argv[2])
if sys.argv[3] == "capture":
    recorder.done, recorder = True, Capture(model, sys.argv[2])
if sys.argv[4] == "fails":
    raise IndexError("of the user's own")
"""


def ends_before_a_step():
    """One warning, or none where an exception says why."""
    for what, says in (("recorder", "never took a step"), ("capture", "step() was never called")):
        for how in ("fails", "runs"):
            done = subprocess.run([sys.executable, "-c", ENDS, sys.argv[1], os.path.join(OUT, "never"), what, how], stderr=subprocess.PIPE,
                                  text=True)
            said = [line for line in done.stderr.splitlines() if "UserWarning: " in line]
            assert len(said) == (how == "runs") and all(says in line for line in said), done.stderr
            assert ("of the user's own" in done.stderr) == (how == "fails"), done.stderr


def refusals():
    class Sharded(nn.Module):
        pass

    model = Model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for module, kind, says in (("torch.distributed.fsdp", "FullyShardedDataParallel", "FSDP"),
                               ("torchrec.modules.embedding_modules", "EmbeddingBagCollection", "TorchRec's EmbeddingBagCollection")):
        odd = type(kind, (Sharded,), {"__module__": module})()
        odd.inner = model
        refused(says, lambda: Recorder(odd, optimizer))  # noqa: B023
    refused("without torch.compile", lambda: Recorder(nn.Sequential(torch.compile(model)), optimizer))
    refused("torch.optim.Optimizer", lambda: Recorder(model, model))
    recorded = Model()
    first = Recorder(recorded, torch.optim.SGD(recorded.parameters(), lr=0.1), prefix=os.path.join(OUT, "first"))
    refused('"the model" has a Recorder already', lambda: Recorder(recorded, optimizer))
    assert warned(first._left) == ["Recorder: the optimizer that it was given never took a step: is it the one that trains? "
                                   "Nothing is written"]  # what the end of the program calls
    first.done = True
    for options in ({"iterations": 5, "quiet": 5}, {"quiet": 0}, {"warmup": 2}):
        refused("expected more iterations", lambda: Recorder(model, optimizer, **options))  # noqa: B023
    refused("iterations=10, quiet=5, warmup=2: expected", lambda: Recorder(model, optimizer, iterations=10, warmup=2))
    half = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1).bfloat16())
    refused("0.weight is torch.float32, 1.weight torch.bfloat16", lambda: Recorder(half, torch.optim.SGD(half.parameters(), lr=0.1)))
    for given, says in (([model.bag.weight, model.words.weight, *model.a.parameters()], ["b.weight and 1 more are"]),
                        ([p for p in model.parameters() if p is not model.b.bias], ["b.bias is"]), (model.parameters(), [])):
        said = warned(lambda: setattr(Recorder(model, torch.optim.SGD(given, lr=0.1)), "done", True))  # noqa: B023
        assert len(said) == len(says) and all(f"{name} in no optimizer" in text for name, text in zip(says, said)), said
        capture_pytorch.RECORDED.discard(model)


def ends_early():
    """Closed before an iteration was timed, or never: rows alone, and a warning."""
    for name, closes, says in (("early", True, "before one was timed"), ("left", False, "without close()")):
        model = Model()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        recorder = Recorder(model, optimizer, prefix=os.path.join(OUT, name), **QUICK)
        train(4, model, optimizer)
        said = warned(recorder.close if closes else recorder._left)
        assert says in said[0], said
        _, about, training = read(name)
        assert about["iterations"] == "1" and training is None


def shared_cores():
    """With two ranks to a core computing takes twice its CPU time, whatever it waited for a core; sleeping what it takes."""
    clock = capture_pytorch.Clock(torch.device("cpu"), 2.0)
    assert (clock.waits is None) == (not os.path.exists("/proc/thread-self/schedstat"))
    if clock.waits:
        begin, end = (10.0, 1.0, 4.0), (17.0, 3.5, 5.0)  # by the clock, CPU time, waited
        assert clock.between(begin, end) == 7 and clock.worked(begin, end) == 2.5 and clock.computed(begin, end) == 7 - 1 + 2.5
        real, _, waited = clock.now()
        assert real == Watch.now and waited >= 0
    alone = capture_pytorch.Clock(torch.device("cpu"), 1.0)
    assert alone.waits is None and alone.computed((1.0, 0.0, 0.0), (3.0, 0.0, 0.0)) == 2


def main():
    torch.set_num_threads(1)
    capture_pytorch.time = Watch
    torch.optim.SGD([nn.Parameter(torch.zeros(1))]).step()  # from now on its step() is heard beside Sleeping's
    if len(sys.argv) == 3:
        for case in (shared_cores, alone, odd_steps, ends_before_a_step, refusals, ends_early):
            case()
        port = str(20000 + os.getpid() % 9999)
        ranks = [subprocess.Popen([sys.executable, __file__, *sys.argv[1:], str(rank)], env={**os.environ, "MASTER_ADDR": "127.0.0.1",
                                  "MASTER_PORT": port, "RANK": str(rank), "WORLD_SIZE": str(WORLD), "LOCAL_WORLD_SIZE": str(WORLD)})
                 for rank in range(WORLD)]
        assert [rank.wait() for rank in ranks] == [0] * WORLD
        print("all cases hold")
        return
    dist.init_process_group("gloo")
    reduce = dist.all_reduce

    def all_reduce(*arguments, **options):
        Watch.now += 1
        return reduce(*arguments, **options)

    capture_pytorch.dist = types.SimpleNamespace(**{**vars(dist), "all_reduce": all_reduce})
    for case in (rows_and_bags, times, buckets, exactness, mixed, each_pass_sends, two_ranks_that_differ):
        case()
    dist.barrier()
    sys.stdout.flush()
    os._exit(0)  # gloo's threads, torn down while a rank still has others, may end a process by std::terminate


if __name__ == "__main__":
    main()
# SPDX-License-Identifier: Apache-2.0
