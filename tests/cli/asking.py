"""Asking the program. Arguments: the program, the source tree."""
import json
import os
import pathlib
import shutil
import subprocess
import sys

import tap

try:
    import jsonschema
except ImportError:
    jsonschema = None

PROGRAM, ROOT = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
ENVIRONMENT = {**os.environ, "SPARSYNC_DATA": str(ROOT)}
GNUPLOT = shutil.which("gnuplot")


def ask(*arguments, status=0, cwd=ROOT, environment=ENVIRONMENT, before=(), **options):
    """The process when it is over; with `status` None, however it ended. `before`: words before the program's name; options of
    subprocess.run."""
    done = subprocess.run([*before, PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=tap.HANG, cwd=cwd,
                          env=environment, **options)
    assert status is None or done.returncode == status, f"status {done.returncode}, not {status}: {arguments} {done.stderr[:800]!r}"
    return done


def call(*arguments, **options):
    """What it printed, and what it said beside."""
    done = ask(*arguments, **options)
    return done.stdout, done.stderr


def told(*arguments, status=0):
    """What it printed; of a failure, why."""
    done = ask(*arguments, status=status)
    return done.stdout if status == 0 else done.stderr


def points(*arguments):
    return json.loads(told("run", *arguments, "--format", "json", "--per-rank", "--quiet"))["points"]


def need_gnuplot():
    if not GNUPLOT:
        raise tap.Skip("gnuplot is not installed")


def fits(name, document):
    """That schema of docs/schemas, where python3-jsonschema is installed."""
    if jsonschema:
        schema = json.loads((ROOT / "docs" / "schemas" / f"{name}.schema.json").read_text())
        kind = jsonschema.validators.validator_for(schema)
        kind.check_schema(schema)
        kind(schema).validate(document)


def refused(says, *arguments):
    error = told(*arguments, status=2)
    assert says in error, f"{error!r} does not say {says!r}"
# SPDX-License-Identifier: Apache-2.0
