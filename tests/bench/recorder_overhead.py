#!/usr/bin/env python3
"""What recording costs a training: seconds a step of two gloo ranks on this machine, without and with a recorder, in turns.
Needs PyTorch (./dev setup torch). Prints both, of a language model and of a recommender; iterations that go without
communication are apart, as what they lose is overlap.

    build-torch/bin/python tests/bench/recorder_overhead.py [ROUNDS]"""
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "traces"))
from capture_pytorch import Recorder  # noqa: E402

WORLD, STEPS, WARMUP, QUIET = 2, 30, 5, 5


class Language(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.lstm, self.out = nn.Embedding(12546, 128), nn.LSTM(128, 128, 2, batch_first=True), nn.Linear(128, 2000)

    def forward(self):
        return self.out(self.lstm(self.words(torch.randint(12546, (16, 24))))[0])


class Recommender(nn.Module):
    def __init__(self):
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(5000, 16, mode="sum") for _ in range(26))
        self.layers = nn.Sequential(*(layer for _ in range(4) for layer in (nn.Linear(416, 416), nn.ReLU())), nn.Linear(416, 1))

    def forward(self):
        return self.layers(torch.cat([table(torch.randint(5000, (512, 4))) for table in self.tables], 1))


def steps_of(model, optimizer, count):
    times = []
    for _ in range(count):
        begin = time.perf_counter()
        optimizer.zero_grad()
        model().square().mean().backward()
        optimizer.step()
        times.append(time.perf_counter() - begin)
    return times


def rank(number, rounds, folder):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=number, world_size=WORLD)
    for kind in (Language, Recommender):
        model = DistributedDataParallel(kind())
        optimizer, without, recorded, quiet = torch.optim.SGD(model.parameters(), lr=0.01), [], [], []
        steps_of(model, optimizer, 10)
        for _ in range(rounds):
            without += steps_of(model, optimizer, STEPS)
            recorder = Recorder(model, optimizer, prefix=f"{folder}/{kind.__name__}", iterations=STEPS, warmup=WARMUP, quiet=QUIET)
            times = steps_of(model, optimizer, WARMUP + STEPS)[WARMUP:]
            quiet += [t for i, t in enumerate(times) if i in recorder.timed]
            # the last step also writes the file
            recorded += [t for i, t in enumerate(times[:-1]) if i not in recorder.timed]
        if number == 0:
            base = statistics.median(without)
            print(f"{kind.__name__}: {base * 1e3:.2f} ms a step; recorded {statistics.median(recorded) / base - 1:+.1%}; "
                  f"without communication {statistics.median(quiet) / base - 1:+.1%}", flush=True)
    dist.destroy_process_group()


def main():
    if "RANK_OF_OVERHEAD" in os.environ:
        rank(int(os.environ["RANK_OF_OVERHEAD"]), int(sys.argv[1]), sys.argv[2])
        return
    rounds = sys.argv[1] if len(sys.argv) > 1 else "10"
    with tempfile.TemporaryDirectory() as folder:
        address = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(20000 + os.getpid() % 9999), "OMP_NUM_THREADS": "1"}
        ranks = [subprocess.Popen([sys.executable, __file__, rounds, folder], env={**os.environ, **address, "RANK_OF_OVERHEAD": str(n)})
                 for n in range(WORLD)]
        sys.exit(max(process.wait() for process in ranks))


if __name__ == "__main__":
    main()
# SPDX-License-Identifier: Apache-2.0
