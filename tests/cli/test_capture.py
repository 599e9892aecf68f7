#!/usr/bin/python3
"""The PyTorch hook, the trace made with it, and `trace merge` of what it writes. Arguments: the program, the source tree.
Prints TAP. The hook itself runs where a Python has torch and safetensors: this one, or that of $SPARSYNC_TORCH_PYTHON."""
import itertools
import json
import os
import pathlib
import py_compile
import re
import shutil
import struct
import subprocess
import sys

import tap
from tap import python_with_torch, test

PROGRAM, ROOT = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
LSTM, HOOK = ROOT / "traces" / "lstm-bible-4.safetensors", ROOT / "traces" / "capture_pytorch.py"
TABLE, GRADIENT = "encoder.weight", "lstm.weight_hh_l0.grad"


def call(*arguments, status=0, **options):
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, timeout=tap.HANG,
                          env={**os.environ, "SPARSYNC_DATA": str(ROOT)}, **options)
    assert done.returncode == status, f"status {done.returncode}, not {status}: {arguments} {done.stderr!r}"
    return done.stdout, done.stderr


def load(path):
    """Metadata and entries of a trace, read without anybody's library."""
    raw = pathlib.Path(path).read_bytes()
    size = struct.unpack_from("<Q", raw)[0]
    header, data, out = json.loads(raw[8:8 + size]), raw[8 + size:], {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            letter = {"I64": "q", "I32": "i", "U32": "I", "F32": "f", "F16": "e", "BF16": "H"}[entry["dtype"]]
            out[name] = struct.unpack(f"<{entry['shape'][0]}{letter}", data[begin:end])
    return header["__metadata__"], out


def segments(entries, tensor, part="rows"):
    offsets = entries[f"{tensor}.offsets"]
    return [entries[f"{tensor}.{part}"][a:b] for a, b in zip(offsets, offsets[1:])]


def bible():
    if not shutil.which("bible"):
        raise tap.Skip("needs the package bible-kjv")
    lines = subprocess.run(["bible", "-f", "Genesis1:1-Revelation22:21"], capture_output=True, check=True).stdout
    return b"".join(line.split(b" ", 1)[1] + b"\n" for line in lines.splitlines())


# --- what comes along ---------------------------------------------------------------------------------------


@test
def hook_is_the_recorder_and_compiles(folder):
    assert HOOK.resolve() == ROOT / "src" / "python" / "sparsync" / "torch" / "_recorder.py", "one file, not two"
    for script in (HOOK, HOOK.with_name("train_lstm_pytorch.py")):
        py_compile.compile(str(script), cfile=str(folder / "out.pyc"), doraise=True)


@test
def shipped_trace_is_as_told(folder):
    assert LSTM.stat().st_size < 4 << 20
    about, entries = load(LSTM)
    info = json.loads(call("trace", "info", LSTM, "--format", "json")[0])
    assert (info["ranks"], info["iterations"], info["pad_id"], info["gpus_per_node"]) == (4, 50, 0, 4)
    words, gradients = segments(entries, TABLE), segments(entries, GRADIENT)
    assert info["tokens"] == sum(row != 0 for rows in words for row in rows) == sum(json.loads(about["tokens"]))
    stats = {t["name"]: t for t in json.loads(call("trace", "stats", LSTM, "--format", "json")[0])["tensors"]}
    readme = (ROOT / "traces" / "README.md").read_text()
    for name, lists in ((TABLE, words), (GRADIENT, gradients)):
        distinct = sum(len(set(rows)) for rows in lists) / 200
        assert abs(stats[name]["coalesced"] / distinct - 1) < 1e-12
        assert f"{distinct:.1f}" in readme and f"{stats[name]['gamma'][3]:.2f}" in readme, f"README.md on {name}"
    # 1% of 65,536 entries, rounded; indices ascend; values are there, finite, and not zero
    values = segments(entries, GRADIENT, "values")
    assert all(len(rows) == 655 and list(rows) == sorted(set(rows)) for rows in gradients)
    assert all(v != 0 and abs(v) < 1e3 for part in values for v in part)
    assert len({part for part in values}) == 200, "ranks and iterations differ"


@test
def shipped_trace_runs_exactly(folder):
    points = json.loads(call("run", "--trace", LSTM, "--cluster", "rtx2080ti-1gbe", "--ranks", "2,4", "--iterations", ":10",
                             "--format", "json")[0])["points"]
    assert {p["tensor"] for p in points} == {TABLE, GRADIENT, "*"} and {p["ranks"] for p in points} == {2, 4}
    assert len({p["scheme"] for p in points}) >= 9 and all(p["lossless"] and p["exact"] for p in points)


@test
def lookups_are_those_of_the_text(folder):
    """The captured ids against what `trace import` makes of the same text: two programs, the same words."""
    call("trace", "import", "-", "--layout", "sentence", "--ranks", "4", "--batch", "16", "--iterations", "100", "-o",
         folder / "text.safetensors", input=bible())
    read, captured = segments(load(folder / "text.safetensors")[1], "embedding"), segments(load(LSTM)[1], TABLE)
    assert read[200:] == captured


@test
def values_of_some_tensors(folder):
    call("trace", "merge", LSTM, "--tensor", GRADIENT, "-o", folder / "g.safetensors")
    about, entries = load(folder / "g.safetensors")
    whole = load(LSTM)[1]
    assert [t["name"] for t in json.loads(about["tensors"])] == [GRADIENT] and len(entries) == 3
    assert all(entries[name] == whole[name] for name in entries)
    points = json.loads(call("run", "--trace", folder / "g.safetensors", "--cluster", "rtx2080ti-1gbe", "--iterations", ":10",
                             "--scheme", "topka,gtopk,spardl", "--format", "json")[0])["points"]
    # k is 1% of the elements too, so each rank sends its whole record: nothing is lost on the way
    assert abs(points[0]["energy"] - 1) < 1e-12 and 0 < points[1]["energy"] < 1 and 0 < points[2]["energy"] < 1
    refusal = call("trace", "merge", LSTM, "--tensor", "lstm", "-o", folder / "none", status=2)[1]
    assert b'has no tensor "lstm"' in refusal and not (folder / "none").exists()


@test
def what_is_missing_is_told(folder):
    """PyTorch that is too old."""
    (folder / "torch").mkdir()
    for module, text in (("__init__", "__version__ = '1.13.1'"), ("distributed", ""), ("nn", "")):
        (folder / "torch" / f"{module}.py").write_text(f"{text}\n")
    done = subprocess.run([sys.executable, "-c", "import capture_pytorch"], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": f"{folder}:{HOOK.parent}", "PYTHONDONTWRITEBYTECODE": "1"})
    assert done.returncode == 1 and "ImportError: sparsync's recorder needs PyTorch 2.0 or later, not 1.13.1" in done.stderr, done.stderr


# --- with PyTorch -------------------------------------------------------------------------------------------


@test
def records_what_was_looked_up(folder):
    done = subprocess.run([python_with_torch(), str(ROOT / "tests" / "cli" / "capture_cases.py"), str(HOOK.parent), str(folder)],
                          capture_output=True, text=True, timeout=tap.HANG, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
    assert done.returncode == 0, done.stderr
    for path in folder.glob("*.safetensors"):
        call("trace", "info", path)
    parts = [folder / f"part-rank000{rank}.safetensors" for rank in (0, 1)]
    call("trace", "merge", *parts, "-o", folder / "merged")
    about, merged = load(folder / "merged")
    each = [load(part)[1] for part in parts]
    for name in (t["name"] for t in json.loads(about["tensors"])):
        wanted = [rows for pair in zip(*(segments(part, name) for part in each)) for rows in pair]
        assert segments(merged, name) == wanted
        assert any(not rows for rows in wanted) and any(wanted), "no segment is empty: the case tests nothing"
    assert merged["out.weight.grad.values"] == tuple(itertools.chain(
        *(v for pair in zip(*(segments(part, "out.weight.grad", "values") for part in each)) for v in pair)))
    points = json.loads(call("run", "--trace", folder / "merged", "--cluster", "rtx3090-1gbe", "--format", "json")[0])["points"]
    assert all(p["exact"] for p in points)


@test
def records_trainings(folder):
    """Module times, buckets and so on of trainings that know their own; the program reads what was recorded of them."""
    done = subprocess.run([python_with_torch(), str(ROOT / "tests" / "cli" / "recorder_cases.py"), str(HOOK.parent), str(folder)],
                          capture_output=True, text=True, timeout=tap.HANG,
                          env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "SPARSYNC_DATA": str(ROOT),
                               "PATH": f"{os.path.dirname(PROGRAM)}:{os.environ['PATH']}"})
    assert done.returncode == 0, done.stderr
    assert f"6 iterations of 2 ranks are in {folder}/times.safetensors" in done.stdout, done.stdout
    for path in folder.glob("*.safetensors"):
        call("trace", "info", path)
    # A pass has 0.9 s and 1.2 s, and 0.05 s before it, an iteration one or two of them and 0.07 s of the optimizer. Links take
    # next to nothing, so that the 0.15 s by which sending lengthened two backward passes are not predicted.
    for name, measured, predicted in (("times", 4.52, 4.37), ("unused", 2.22, 2.17), ("alone", 2.22, 2.22), ("rows2", 4.37, 4.37),
                                      ("layers", 0.07, 0.07)):
        told = json.loads(call("train", "--capture", folder / f"{name}.safetensors", "--cluster", "rtx3090-100g-ib", "--certain",
                               "--format", "json")[0])["capture"]
        assert abs(told["measured_s"] - measured) < 1e-4 and abs(told["predicted_s"] - predicted) < 2e-3, (name, told)
    points = json.loads(call("run", "--trace", folder / "rows2.safetensors", "--cluster", "rtx3090-1gbe", "--scheme",
                             "alltoall:partition=row,pooling=sum", "--tensor", "bag.weight", "--format", "json")[0])["points"]
    assert points and all(p["exact"] for p in points), "bags are there to be pooled"


CLOSES = """import sys, torch, torch.distributed as dist
sys.path.insert(0, sys.argv[1])
import capture_pytorch
from torch import nn

capture_pytorch.PATIENCE = 2
dist.init_process_group("gloo")
torch.set_num_threads(1)
model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Embedding(50, 4, sparse=True), nn.Linear(4, 1)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
recorder = capture_pytorch.Recorder(model, optimizer, prefix="run", iterations=30)
for step in range(20):
    if step == (12 if dist.get_rank() == 1 else 19):
        recorder.close()
    optimizer.zero_grad()
    model(torch.randint(50, (8,))).sum().backward()
    optimizer.step()
"""


@test
def a_rank_that_ends_before_others_says_so(folder):
    """The others are in a collective of the training, which waits for it: without a word both would wait for ever."""
    (folder / "closes.py").write_text(CLOSES)
    done = subprocess.run([python_with_torch(), "-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port",
                           str(30000 + os.getpid() % 9999), "closes.py", str(HOOK.parent)], capture_output=True, text=True,
                          timeout=tap.HANG, cwd=folder, env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"})
    assert done.returncode and "rank 1 ended recording after 7 iterations, and rank 0 has not" in done.stderr, done.stderr[-2000:]


@test
def trains_on_four_processes(folder):
    python, text = python_with_torch(), (ROOT / "docs" / "model.md").read_bytes() * 3
    (folder / "text").write_bytes(text)
    options = ["--warmup", "1", "--iterations", "2", "--batch", "8", "--width", "16"]
    done = subprocess.run([python, "-m", "torch.distributed.run", "--nproc-per-node", "4", "--master-port", str(20000 + os.getpid() % 9999),
                           str(HOOK.with_name("train_lstm_pytorch.py")), "text", "small", *options],
                          capture_output=True, text=True, timeout=tap.HANG, cwd=folder,
                          env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"})
    assert done.returncode == 0 and re.search(r"step 0: loss \d", done.stdout), done.stderr[-2000:]
    call("trace", "merge", *sorted(folder.glob("small-rank*")), "-o", folder / "small")
    call("trace", "import", folder / "text", "--layout", "sentence", "--ranks", "4", "--batch", "8", "--iterations", "3", "-o",
         folder / "read")
    assert segments(load(folder / "small")[1], TABLE) == segments(load(folder / "read")[1], "embedding")[4:]


sys.exit(tap.run())
# SPDX-License-Identifier: Apache-2.0
