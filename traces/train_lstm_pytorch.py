"""Trains a small LSTM language model on several processes and captures what it would synchronise.

    bible -f 'Genesis1:1-Revelation22:21' | cut -d' ' -f2- > kjv.txt      # Debian: bible-kjv, bible-kjv-text
    torchrun --nproc-per-node 4 train_lstm_pytorch.py kjv.txt lstm-bible
    sparsync trace merge lstm-bible-rank*.safetensors -o lstm-bible-4.safetensors

A line is a sentence. Words, their numbers, and what each process reads are those of `sparsync trace import --layout sentence`
(docs/traces.md), so the lookups can be held against it.
"""
import argparse
import collections
import re

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from capture_pytorch import Capture

PAD, END = 0, 1  # END: the row of unknown words, of which this text has none, ends a sentence; it is never looked up


def sentences_of(path):
    """The text as lists of row ids, and the number of rows."""
    with open(path, "rb") as text:
        lines = [re.findall(rb"[a-z\x80-\xff]+", line.lower()) for line in text]
    counts = collections.Counter(word for line in lines for word in line)
    ids = {word: row for row, (word, _) in enumerate(counts.most_common(), 2)}  # ties: in order of first occurrence
    return [[ids[word] for word in line] for line in lines if line], len(ids) + 2


class Model(nn.Module):
    def __init__(self, rows, width):
        super().__init__()
        self.encoder = nn.Embedding(rows, width, padding_idx=PAD)
        self.lstm = nn.LSTM(width, width, batch_first=True)
        self.decoder = nn.Linear(width, rows)

    def forward(self, words):
        return self.decoder(self.lstm(self.encoder(words))[0])


def batches_of(sentences, batch):
    """Words read, and the word after each, padded to the longest sentence."""
    for first in range(0, len(sentences) - batch + 1, batch):
        lines = sentences[first:first + batch]
        longest = max(map(len, lines))
        yield (torch.tensor([line + [PAD] * (longest - len(line)) for line in lines]),
               torch.tensor([line[1:] + [END] + [PAD] * (longest - len(line)) for line in lines]))


class Check:
    """An independent witness: rows of the embedding's own gradient, before the all-reduce, against the words read."""

    def __init__(self, weight):
        self.gradient = None
        weight.register_hook(self.keep)

    def keep(self, gradient):
        self.gradient = gradient

    def step(self, words):
        touched = set(self.gradient.abs().sum(1).nonzero().flatten().tolist())
        assert touched == set(words.flatten().tolist()) - {PAD}, "gradient rows and rows looked up differ"
        return len(touched)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("text")
    parser.add_argument("prefix", help="writes PREFIX-rank0000.safetensors and so on")
    parser.add_argument("--iterations", type=int, default=50, help="to capture")
    parser.add_argument("--warmup", type=int, default=50, help="steps before that")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--share", type=float, default=0.01, help="of the entries of the recurrent layer's gradient")
    arguments = parser.parse_args()

    dist.init_process_group("gloo")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(1)
    sentences, rows = sentences_of(arguments.text)
    share = sentences[rank * len(sentences) // ranks:(rank + 1) * len(sentences) // ranks]
    model = DistributedDataParallel(Model(rows, arguments.width))
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    loss_of = nn.CrossEntropyLoss(ignore_index=PAD)
    check, capture = Check(model.module.encoder.weight), None

    for step, (words, following) in enumerate(batches_of(share, arguments.batch)):
        if step == arguments.warmup:
            capture = Capture(model, arguments.prefix, arguments.iterations, {"lstm.weight_hh_l0": arguments.share},
                              source=f"LSTM language model, sentences of {arguments.text}, iterations from {step} on")
        optimizer.zero_grad()
        loss = loss_of(model(words).flatten(0, 1), following.flatten())
        loss.backward()
        optimizer.step()
        touched = check.step(words)
        if rank == 0 and step % 10 == 0:
            print(f"step {step}: loss {loss.item():.3f}, {touched} rows of {rows} have a gradient", flush=True)
        if capture:
            capture.step()
        if step + 1 == arguments.warmup + arguments.iterations:
            break
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
# SPDX-License-Identifier: Apache-2.0
