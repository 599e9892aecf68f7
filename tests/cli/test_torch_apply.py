#!/usr/bin/python3
"""sparsync.torch.apply, and the example that uses it. Arguments: the program, the source tree. Prints TAP. Runs where a Python has
torch and safetensors: this one, or that of $SPARSYNC_TORCH_PYTHON."""
import json
import os
import pathlib
import re
import subprocess
import sys

import tap
from asking import GNUPLOT, PROGRAM, ROOT, ask
from tap import python_with_torch

TRACE = ROOT / "traces" / "bible-kjv-16.safetensors"
LIBRARY = pathlib.Path(PROGRAM).parent / "src" / "libsparsync.so"


def python(*arguments):
    done = subprocess.run([python_with_torch(), *map(str, arguments)], capture_output=True, text=True, timeout=tap.HANG,
                          env={**os.environ, "SPARSYNC_LIBRARY": str(LIBRARY), "SPARSYNC_DATA": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1",
                               "PYTHONPATH": str(ROOT / "src" / "python"), "PATH": f"{pathlib.Path(PROGRAM).parent}:{os.environ['PATH']}"})
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def trainings_end_as_learn_says_and_ddp_does(folder):
    python_with_torch()
    (folder / "curves.json").write_text(json.dumps([json.loads(ask(
        "learn", "--trace", TRACE, "--ranks", 4, "--batch", 16, "--vocab", 300, "--width", 8, "--samples", 16, "--steps", 8, "--format", "json",
        *options).stdout) for options in (
            ("--scheme", "allreduce,zen,alltoall,topka,gtopk,spardl:density=0.05,spardl:residuals=local,oktopk", "--optimizer", "sgd", "--lr", 4),
            ("--scheme", "allgather,spardl:residuals=partial,topkdsa", "--scheme", '{"name": "s2", "lambda": 0.3}', "--optimizer", "adagrad"),
            ("--scheme", "allreduce,s2", "--select", "5%", "--optimizer", "sgd", "--lr", 4))]))
    cases = python(ROOT / "tests" / "cli" / "torch_apply_cases.py", folder).split()
    assert cases[0] == "losses_are_those_of_learn" and len(cases) == 4, cases


def example_draws_losses_over_predicted_time(folder):
    """Steps take what `train` says; the exact schemes have one curve."""
    python_with_torch()
    if not GNUPLOT:
        raise tap.Skip("gnuplot is not installed")
    out = python(ROOT / "examples" / "still_learns.py", folder / "still.svg", 20)
    rows = re.findall(r"^(.*): (\S+) ms a step, loss from (\S+) to (\S+)$", out, re.M)
    assert [row[0] for row in rows] == ["all-reduce, dense", "ZEN, exact", "SparDL, 1%"], out
    assert float(rows[0][1]) > float(rows[1][1]) and rows[0][2:] == rows[1][2:] != rows[2][2:], rows
    assert "<svg" in (folder / "still.svg").read_text()[:400] and len((ROOT / "examples" / "still_learns.py").read_text().splitlines()) < 125


sys.exit(tap.run([trainings_end_as_learn_says_and_ddp_does, example_draws_losses_over_predicted_time]))
# SPDX-License-Identifier: Apache-2.0
