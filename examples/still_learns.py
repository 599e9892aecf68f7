"""Does a model still learn, and how fast? Four processes train a small language model on the King James Bible, once under each
scheme (sparsync.torch.apply); each loss is drawn over the time that the scheme's training would take on a cluster
(sparsync.train: passes take what they do here, half of it backward, and both tables look up the words that are read).
Needs torch, safetensors and gnuplot.   python still_learns.py [PICTURE.svg [STEPS]]"""
import argparse
import json
import math
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import time

import torch
import torch.distributed as dist
from safetensors.torch import load_file
from torch import nn

import sparsync
import sparsync.torch

torch.set_num_threads(1)  # processes share the cores
torch.sparse.check_sparse_tensor_invariants.disable()
SCHEMES = {"all-reduce, dense": {"name": "allreduce"}, "ZEN, exact": {"name": "zen"}, "SparDL, 1%": {"name": "spardl", "density": 0.01}}
CLUSTER, RANKS, VOCAB, WIDTH, SAMPLES = "rtx2080ti-1gbe", 4, 12546, 32, 64
TRACE = pathlib.Path(__file__).resolve().parent.parent / "traces" / "bible-kjv-16.safetensors"  # 16 verses a rank and step


class LanguageModel(nn.Module):
    """That of `sparsync learn`: the mean of the words before predicts a word among itself and sampled ones (docs/learning.md)."""

    def __init__(self, vocab, width, samples, context=4, **kind):
        super().__init__()
        self.input, self.output = (nn.Embedding(vocab, width, padding_idx=0, **kind) for _ in range(2))
        for table in (self.input, self.output):
            nn.init.uniform_(table.weight, -0.5 / width**0.5, 0.5 / width**0.5)
        ids = torch.arange(1, vocab).double()
        expected = torch.log(samples * torch.log1p(1 / ids) / math.log(vocab))  # how often each is drawn
        self.register_buffer("expected", nn.functional.pad(expected, (1, 0)).to(self.input.weight.dtype))
        self.context = context

    def forward(self, tokens, drawn):
        """The summed loss of all words that have another before them, and how many these are; 0 is padding."""
        near = nn.functional.pad(tokens, (self.context, 0)).unfold(1, self.context, 1)[:, :-1]  # the words before each
        known = near != 0
        wanted = (tokens != 0) & known.any(2)
        words, near, known = tokens[wanted], near[wanted], known[wanted]
        mean = (self.input(near) * known[..., None]).sum(1) / known.sum(1, keepdim=True)
        own = (mean * self.output(words)).sum(1) - self.expected[words]
        others = (mean @ self.output(drawn).T - self.expected[drawn]).masked_fill(drawn == words[:, None], -math.inf)
        return (torch.logsumexp(torch.cat([own[:, None], others], 1), 1) - own).sum(), len(words)


def batch(step, rank, trace=load_file(TRACE)):
    first, end = trace["embedding.offsets"][step % 50 * 16 + rank:][:2]
    return trace["embedding.rows"][first:end].long().view(16, -1)


def train(rank, store, steps):
    """Writes the losses of each scheme's training."""
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=RANKS)
    curves = {}
    for label, scheme in SCHEMES.items():
        torch.manual_seed(1)
        model = nn.parallel.DistributedDataParallel(LanguageModel(VOCAB, WIDTH, SAMPLES, sparse=True))
        sparsync.torch.apply(model, scheme)
        optimizer, dice = torch.optim.Adagrad(model.parameters(), lr=0.1), torch.Generator().manual_seed(rank)
        curves[label] = []
        for step in range(steps):
            drawn = (VOCAB ** torch.rand(SAMPLES, generator=dice)).long().clamp_(1, VOCAB - 1)
            loss, words = model(batch(step, rank), drawn)
            told = torch.tensor([loss.detach(), words])
            dist.all_reduce(told)
            optimizer.zero_grad()
            (loss * RANKS / told[1]).backward()
            optimizer.step()
            curves[label].append(float(told[0] / told[1]))
    if rank == 0:
        pathlib.Path(f"{store}.json").write_text(json.dumps(curves))
    dist.destroy_process_group()


def compute():
    """What a rank's own forward and backward passes take on this machine, s: a median."""
    model, took = LanguageModel(VOCAB, WIDTH, SAMPLES, sparse=True), []
    for step in range(20):
        model.zero_grad()
        began = time.perf_counter()
        model(batch(step, 0), torch.randint(1, VOCAB, (SAMPLES,)))[0].backward()
        took.append(time.perf_counter() - began)
    return statistics.median(took)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("picture", nargs="?", default="still_learns.svg", help=".svg, .pdf or .png (%(default)s)")
    parser.add_argument("steps", nargs="?", type=int, default=300, help="of training (%(default)s)")
    arguments = parser.parse_args()
    if not shutil.which("sparsync") or arguments.steps < 10:
        parser.error("wants the program sparsync on the PATH, which draws, and 10 steps at least")
    each = dict.fromkeys(("forward_s", "backward_s"), compute() / 4)
    part = {"kind": "embedding", "rows": VOCAB, "row_width": WIDTH, "tensor": "embedding", **each}
    workload, points = {"name": "bible", "modules": [{"name": name, **part} for name in ("input", "output")]}, []
    systems = [{"name": label, "sparse": scheme, "dense": "allreduce", "schedule": "fifo"} for label, scheme in SCHEMES.items()]
    took = {row["system"]: row["iteration_s"] for row in sparsync.train(
        workload=workload, systems=systems, trace=TRACE, cluster=CLUSTER, ranks=RANKS, progress=False)}
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(train, (f"{folder}/ranks", arguments.steps), RANKS)
        for label, loss in json.loads(pathlib.Path(folder, "ranks.json").read_text()).items():
            points += [{"label": label, "time_s": t * took[label], "loss": statistics.mean(loss[t - 10:t])}  # of the last ten steps
                       for t in range(10, len(loss) + 1, 5)]
            print(f"{label}: {1e3 * took[label]:.3g} ms a step, loss from {loss[0]:.3f} to {points[-1]['loss']:.3f}")
        results = pathlib.Path(folder, "results.json")
        results.write_text(json.dumps({"points": points}))
        subprocess.run(["sparsync", "plot", results, "--kind", "lines", "--x", "time_s", "--y", "loss", "--log", "x", "-o", arguments.picture],
                       check=True)


if __name__ == "__main__":
    main()
# SPDX-License-Identifier: Apache-2.0
