#!/usr/bin/python3
"""Computes all claims anew and writes down what came: the verdicts into scenarios/claims/*.json, all of it into docs/claims.csv,
and how many there are into docs/claims.md. Argument: the program. Prints each verdict that changed. Run it from the source tree, and
look at the difference before keeping it."""
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
    rows = [{**row, "pinned": row["verdict"]} for row in csv.DictReader(stream)]  # as it is from here on
with TABLE.open("w", newline="") as stream:
    table = csv.DictWriter(stream, rows[0].keys(), lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
for file in sorted((ROOT / "scenarios" / "claims").glob("*.json")):
    pin(file, {row["id"]: row["verdict"] for row in rows})
counted = collections.Counter((row["verdict"], row["paper"]) for row in rows)
page = (ROOT / "docs" / "claims.md").read_text()
for verdict in re.findall(r"^\| \*\*(.+?)\*\* \|", page, re.MULTILINE):
    counts = [counted[verdict, paper] for paper in ("embrace", "s2", "spardl", "zen")]
    line = f"| **{verdict}** | {' | '.join(map(str, counts))} | {sum(counts)} |"
    page = re.sub(rf"^\| \*\*{verdict}\*\* \|.*$", line, page, flags=re.MULTILINE)
page = re.sub(r"print \d+ numbers", f"print {len(rows)} numbers", page)
(ROOT / "docs" / "claims.md").write_text(page)
# SPDX-License-Identifier: Apache-2.0
