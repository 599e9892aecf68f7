"""Trains a small recommender on several processes: three tables under EmbeddingBag(sparse=True), two dense layers. Clicks are
made up: what users chose follows a power law. The two lines of sparsync: the import, and the `Recorder`.

    torchrun --nproc-per-node 4 train_recommender_pytorch.py clicks
"""
import argparse

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from capture_pytorch import Recorder  # with the package installed: from sparsync.torch import Recorder

TABLES = {"user": (60000, 1), "item": (20000, 8), "shop": (1000, 2)}  # rows; of how many of them a bag is


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.tables = nn.ModuleDict({name: nn.EmbeddingBag(rows, width, mode="sum", sparse=True) for name, (rows, _) in TABLES.items()})
        self.hidden, self.score = nn.Linear(len(TABLES) * width, 256), nn.Linear(256, 1)

    def forward(self, ids):
        bags = torch.cat([self.tables[name](ids[name]) for name in TABLES], 1)
        return self.score(torch.relu(self.hidden(bags))).squeeze(1)


def clicks(dice, batch):
    ids = {name: (rows * torch.rand(batch, size, generator=dice) ** 3).long() for name, (rows, size) in TABLES.items()}
    return ids, (torch.rand(batch, generator=dice) < 0.3).float()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("prefix", help="of the files that are written")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--collectives", metavar="FILE", help="also measure the group's own collectives")
    arguments = parser.parse_args()

    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    torch.manual_seed(1)
    model = DistributedDataParallel(Model(arguments.width))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    Recorder(model, optimizer, prefix=arguments.prefix, iterations=25)
    dice, loss_of = torch.Generator().manual_seed(dist.get_rank()), nn.BCEWithLogitsLoss()
    for _ in range(60):
        ids, clicked = clicks(dice, arguments.batch)
        optimizer.zero_grad()
        loss_of(model(ids), clicked).backward()
        optimizer.step()
    if arguments.collectives:
        from sparsync.torch import measure_collectives
        measure_collectives(path=arguments.collectives)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
# SPDX-License-Identifier: Apache-2.0
