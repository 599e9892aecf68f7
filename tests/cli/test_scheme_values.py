#!/usr/bin/python3
"""The values in the header comments of schemes: each file of src/schemes with a scheme says how long it takes on a small input,
with the sum behind it; both are held against the program. Arguments: the program, the source tree. Prints TAP."""
import json
import math
import os
import pathlib
import re
import subprocess
import sys

import tap

PROGRAM, ROOT = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
CHECK = re.compile(r"Check: (\d+) rows of (\d+) floats, (\d+) on each of (\d+) ranks, none shared, 1 us and 1 ns a byte"
                   r"(?:, (\{.*?\}))?: ([-+*/(). 0-9]+) = ([0-9.]+) us")


def headers():
    """(file, name of the scheme, its header comment in one line)"""
    for path in sorted((ROOT / "src" / "schemes").glob("*.c")):
        text = path.read_text()
        for name in re.findall(r"^const struct ss_scheme ss_scheme_\w+ = \{\s+\.name = \"(.*?)\"", text, re.M):
            comment = re.match(r"/\*(.*?)\*/", text, re.S)
            yield path.name, name, re.sub(r"\s*\n \* ?", " ", comment.group(1)) if comment else ""


def points_of(folder, schemes, rows, width, own, ranks, per_node=1, **fields):
    scenario = {"trace": {"uniform": {"rows": rows, "row_width": width, "density": f"{own}/{rows}", "overlap": "none"}}, "ranks": ranks,
                "cluster": {"name": "c", "latency": "1us", "bandwidth": "1GB/s", "gpus_per_node": per_node}, "schemes": schemes, "iterations": 1, **fields}
    (folder / "s.json").write_text(json.dumps(scenario))
    done = subprocess.run([PROGRAM, "run", folder / "s.json", "--format", "json", "--quiet"], capture_output=True, text=True, timeout=tap.HANG,
                          env={**os.environ, "SPARSYNC_DATA": str(ROOT)}, cwd=folder)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["points"]


def headers_say_the_time(folder):
    wrong, found = [], 0
    for file, name, comment in headers():
        check = CHECK.search(comment)
        if not check:
            wrong.append(f"{file}: no \"Check: ... = ... us\" in the header comment of {name}")
            continue
        *numbers, options, reason, said = check.groups()
        time = points_of(folder, [{"name": name, **json.loads(options or "{}")}], *map(int, numbers))[0]["time_s"] * 1e6
        summed = eval(reason)  # digits and signs alone, by the pattern
        if not math.isclose(time, float(said), rel_tol=1e-9) or not math.isclose(summed, float(said), rel_tol=1e-9):
            wrong.append(f"{file}: {name} takes {time:.12g} us, said are {said}, and {reason} is {summed:.12g}")
        found += 1
    assert not wrong, "\n".join(wrong)
    done = subprocess.run([PROGRAM, "list", "schemes", "--format", "json"], capture_output=True, check=True)
    assert found == len(json.loads(done.stdout)["schemes"])


def counts_follow_where_it_runs(folder):
    """24 ranks, 4 a node."""
    for said, count in (("ranks", 24), ("ranks/3", 8), ("nodes", 6), ("nodes/2", 3), ("gpus_per_node", 4), ("gpus_per_node/4", 1)):
        said, given = (points_of(folder, [{"name": "ps", "servers": servers}], 576, 4, 24, 24, 4)[0] for servers in (said, count))
        assert said == given and said["options"]["servers"] == count, said


def proofs_change_no_number(folder):
    """Without proofs nothing but sizes is played, where it can be one for all messages of a round. Every choice of every scheme, but for
    those that want another beside them."""
    told = {"exact", "error_mean", "error_l2", "energy", "energy_lost", "gamma", "point_hash", "result_hash"}  # by values alone
    wanting = {("algorithm", "switch"), ("partition", "placed"), ("pooling", "sum"), ("pooling", "padded"), ("route", "node")}
    schemes = [{"name": "alltoall", "exchange": x, "partition": p} for x in ("lookups", "gradients") for p in ("row", "column")]
    schemes += [{"name": "ps", "colocated": True, "pull": p} for p in ("union", "rows", "broadcast-binomial", "broadcast-scatter")]
    for s in json.loads(subprocess.run([PROGRAM, "list", "schemes", "--format", "json"], capture_output=True, check=True).stdout)["schemes"]:
        choices = [(c[1], x) for option in s["options"] if (c := re.match(r"(\w+): ([-\w|]+) ", option)) and "|" in c[2] for x in c[2].split("|")]
        schemes += [{"name": s["name"]}] + [{"name": s["name"], k: {"true": True, "false": False}.get(x, x)} for k, x in choices
                                            if k != "protocol" and (k, x) not in wanting and not x.startswith("broadcast")]
    schemes = [{**s, "label": f"{i} {s['name']}"} for i, s in enumerate(schemes)]
    for a, b in zip(*(points_of(folder, schemes, 768, 8, 32, 8, 2, verify=verify) for verify in (True, False)), strict=True):
        off = {k: (a[k], v) for k, v in b.items() if v is not None and k not in told and v != a[k] and not (
            isinstance(v, float) and math.isclose(v, a[k], rel_tol=1e-12))}
        assert not off and a.keys() == b.keys() and b["peak_bytes"] > 0, (a["label"], off)
    assert len(schemes) > 50


def forms_hold_however_sizes_are_told(folder):
    """On inputs that are even all messages of these are as long as their forms say."""
    schemes = ["allreduce", "allgather", "ps", "alltoall", "sparcml-rd", "sparcml-split", "sparcml-dsar", "omnireduce", "topka", "gtopk", "s2"]
    for sizes in ("free", "exchanged"):
        for ragged in ("v", "padded", "broadcasts"):
            points = points_of(folder, schemes, 768, 8, 32, 8, sizes=sizes, ragged=ragged)
            off = {p["scheme"]: (p["formula_s"], p["time_s"]) for p in points if not p["formula_s"] or not math.isclose(p["formula_s"], p["time_s"], rel_tol=1e-9)}
            assert len(points) == len(schemes) and not off, (sizes, ragged, off)


sys.exit(tap.run([headers_say_the_time, counts_follow_where_it_runs, proofs_change_no_number, forms_hold_however_sizes_are_told]))
# SPDX-License-Identifier: Apache-2.0
