"""Asking the program, as tests of placements and of pooling do. Arguments: the program, the source tree."""
import json
import os
import pathlib
import subprocess
import sys

import tap

PROGRAM, ROOT = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
ENVIRONMENT = {**os.environ, "SPARSYNC_DATA": str(ROOT)}


def call(*arguments, status=0):
    """What it printed; of a failure, why."""
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=tap.HANG, cwd=ROOT,
                          env=ENVIRONMENT)
    assert done.returncode == status, f"status {done.returncode}, not {status}: {arguments} {done.stderr[:500]!r}"
    return done.stdout if status == 0 else done.stderr


def points(*arguments):
    return json.loads(call("run", *arguments, "--format", "json", "--per-rank", "--quiet"))["points"]


def refused(says, *arguments):
    error = call(*arguments, status=2)
    assert says in error, f"{error!r} does not say {says!r}"
