"""Captured trainings (docs/traces.md, "Captures"), made by hand."""
import json

import traces

RUN = "0123456789abcdef" * 2
CLUSTER = {"name": "links", "latency": "50us", "bandwidth": "5Gbps"}


def workload(rows=500, width=16, tensor="emb"):
    return {"name": "mine", "modules": [
        {"name": "emb", "kind": "embedding", "rows": rows, "row_width": width, "tensor": tensor, "forward_s": 0.0005, "backward_s": 0.001},
        {"name": "fc1", "kind": "dense", "bytes": 400000, "forward_s": 0.002, "backward_s": 0.004, "after": ["emb"]},
        {"name": "fc2", "kind": "dense", "bytes": 40000, "forward_s": 0.001, "backward_s": 0.002, "after": ["fc1"]}]}


def system(**fields):
    return {"name": "as-captured", "sparse": {"name": "allgather", "index_bytes": 8}, "dense": "allreduce", "schedule": "fifo", "bucket": "25MiB",
            "interference": 0.1, "software": {"call": "50us", "copy": "2GB/s", "step": "1ms", "step_per_byte": 1e-10}, **fields}


def training(world=4, **fields):
    times = [0.010 + 0.001 * (i % 5) for i in range(21)]
    return {"run": RUN, "world": world, "gpus_per_node": 1, "backend": "gloo", "device": "cpu", "versions": {"torch": "2.15.0"},
            "workload": workload(), "system": system(),
            "measured": {"iteration_s": times, "steps": len(times), "warmup": 3, "quiet_iteration_s": 0.0115, "spread": 0.1},
            "unknown": ["how long the optimizer takes"], **fields}


def lookups(dice, ranks, iterations=4, rows=500):
    """Ragged, some empty."""
    return [[dice.randrange(rows) for _ in range(dice.choice([0, 1, 7, 60]))] for _ in range(ranks * iterations)]


def save(path, segments, ranks, said, rows=500, width=16):
    """A trace of the tensor "emb", with `said` (JSON, or a text as it stands; None: nothing) of its training."""
    one = traces.tensor("emb", rows, width)
    traces.write(path, [(one, segments)], ranks)
    if said is not None:
        metadata, entries = traces.load(path)
        text = said if isinstance(said, str) else json.dumps(said)
        about = traces.about([one], ranks, metadata["iterations"]) | {"training": text}
        traces.save(path, about, {name: ("I64" if name.endswith("offsets") else "I32", numbers) for name, numbers in entries.items()})
    return path
# SPDX-License-Identifier: Apache-2.0
