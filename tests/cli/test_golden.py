#!/usr/bin/python3
"""The layout of results: `golden/NAME.json` is a scenario, `golden/NAME.result.json` what `sparsync run` made of it; what was
recorded is there still. What the numbers should be, second_model.py says. Arguments: the program, the source tree; a
third, "--write", records anew. Prints TAP."""
import json
import math
import os
import pathlib
import subprocess
import sys

import tap

PROGRAM, ROOT = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
GOLDEN = ROOT / "tests" / "cli" / "golden"
UNTOLD = ("formula", "placed", "paper", "erratum", "push_", "pull_", "bound_", "links", "point_hash", "result_hash")  # prose, and numbers of models/costs
NAMES = ("flat", "nodes")


def run(name):
    done = subprocess.run([PROGRAM, "run", GOLDEN / f"{name}.json", "--format", "json", "--quiet"], capture_output=True,
                          env={**os.environ, "SPARSYNC_DATA": str(ROOT)}, cwd=ROOT, timeout=tap.HANG)
    assert done.returncode == 0, f"status {done.returncode}: {done.stderr.decode()}"
    return json.loads(done.stdout)


def record(name):
    """A point a line, without what is untold."""
    document = run(name)
    points = [{key: value for key, value in point.items() if not key.startswith(UNTOLD)} for point in document["points"]]
    lines = ",\n".join(json.dumps(point) for point in points)
    (GOLDEN / f"{name}.result.json").write_text(f'{{"scenario": {json.dumps(document["scenario"])}, "points": [\n{lines}\n]}}\n')


def same(golden, found, path):
    """What was recorded is there still; fields may be added."""
    if isinstance(golden, dict):
        for key in golden:
            assert key in found, f"{path}.{key} is gone"
            same(golden[key], found[key], f"{path}.{key}")
    elif isinstance(golden, list):
        assert len(golden) == len(found), f"{path}: {len(found)}, not {len(golden)} entries"
        for i, (a, b) in enumerate(zip(golden, found)):
            same(a, b, f"{path}[{i}]")
    elif isinstance(golden, float) and isinstance(found, (int, float)) and not isinstance(found, bool):
        assert math.isclose(golden, found, rel_tol=1e-12), f"{path}: {found!r}, recorded {golden!r}"
    else:
        assert type(golden) is type(found) and golden == found, f"{path}: {found!r}, recorded {golden!r}"


def as_recorded(name):
    def check(folder):
        same(json.loads((GOLDEN / f"{name}.result.json").read_text()), run(name), "result")
    return f"{name}: as recorded", check


if sys.argv[3:] == ["--write"]:
    for name in NAMES:
        record(name)
    sys.exit(0)
sys.exit(tap.run([as_recorded(name) for name in NAMES]))
