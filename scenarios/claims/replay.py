#!/usr/bin/python3
"""Computes all claims anew and writes down what came: the verdicts into scenarios/claims/*.json, all of it into docs/claims.csv.
Argument: the program. Prints each verdict that changed, and how many claims of each paper have which, for docs/claims.md. Run it
from the source tree, and look at the difference before keeping it."""
import collections
import csv
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = ROOT / "docs" / "claims.csv"


def pin(path, found):
    """Replaces verdicts, each the first behind its claim's id, and nothing else."""
    text = path.read_text()
    for name, verdict in found.items():
        begin = text.find(f'"id": "{name}"')
        if begin < 0:
            continue
        old = re.compile(r'"verdict": "([^"]+)"').search(text, begin)
        if old[1] == verdict:
            continue
        print(f"{name}: {old[1]} -> {verdict}")
        text = text[: old.start(1)] + verdict + text[old.end(1) :]
    path.write_text(text)


done = subprocess.run([sys.argv[1], "claims", "--format", "csv", "-o", TABLE], env={**os.environ, "SPARSYNC_DATA": str(ROOT)}, check=False)
if done.returncode not in (0, 1):
    sys.exit(done.returncode)
with TABLE.open() as stream:
    rows = list(csv.DictReader(stream))
for file in sorted((ROOT / "scenarios" / "claims").glob("*.json")):
    pin(file, {row["id"]: row["verdict"] for row in rows})
for (verdict, paper), count in sorted(collections.Counter((row["verdict"], row["paper"].split("-")[0]) for row in rows).items()):
    print(f"{verdict}, {paper}: {count}")
