#!/usr/bin/python3
"""Does what docs/add-a-scheme.md says, in a copy of the source tree: one file, one line, one JSON; then asks the program built
from it, and its tests. Arguments: the program, the source tree. Prints TAP."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import tap

ROOT = pathlib.Path(sys.argv[2]).resolve()
PAGE = (ROOT / "docs" / "add-a-scheme.md").read_text()


def insert(path, before, line):
    text = path.read_text()
    assert text.count(before) == 1, f"{path.name} has {text.count(before)} of {before!r}"
    path.write_text(text.replace(before, line + before))


def add_scheme(folder):
    """All that the page adds."""
    code = next(block for block in re.findall(r"```c\n(.*?)```", PAGE, re.S) if "ss_scheme ss_scheme_" in block)
    (folder / "src" / "schemes" / "sparse_tree.c").write_text(code)
    (folder / "models" / "costs" / "sparse-tree.json").write_text(re.search(r"```json\n(.*?)```", PAGE, re.S).group(1))
    line = re.search(r"```\n(  X\(\w+\) *\\\n)```", PAGE).group(1)
    insert(folder / "src" / "schemes" / "registry.h", "  X(zen) ", line)


TWO_LEVEL = {"scheme": "two-level", "where": "teams > 0", "paper": None, "printed_in": None, "erratum": None,
             "exact": "(P/teams - 1)*(alpha + x*beta) + (teams - 1)*(alpha + gamma(P/teams)*x*beta)",
             "assumes": "the same nnz on every rank; any k ranks hold gamma(k)*nnz rows together",
             "grid": {"P": [4, 8, 16], "d": ["1/64"], "M": ["256kB", "1MB"], "row_width": 4, "alpha": ["1us", "50us"],
                      "beta": ["1/12500000000", "1/125000000"], "overlap": ["full", "none"], "options": [{"teams": 2}, {"teams": 4}]}}


def add_own(folder):
    """Another, with an option of its own: it is a symbol of the form, follows ranks, and plan tries it."""
    shutil.copy(ROOT / "tests" / "cli" / "data" / "two_level.c", folder / "src" / "schemes")
    (folder / "models" / "costs" / "two-level.json").write_text(json.dumps(TWO_LEVEL))
    insert(folder / "src" / "schemes" / "registry.h", "  X(spardl) ", "  X(two_level) \\\n")


def own_options_are_options(program, call):
    checks = json.loads(call(program, "check", "two-level", "--format", "json"))["checks"]
    assert len(checks) == 96 and all(c["ok"] for c in checks)
    nodes = {"name": "nodes", "latency": "20us", "bandwidth": "1GB/s", "gpus_per_node": 4, "nic": "per-node",
             "intra": {"latency": "2us", "bandwidth": "20GB/s"}}

    def asked(command, cluster, *arguments):
        return json.loads(call(program, command, "--trace", ROOT / "traces" / "bible-kjv-16.safetensors", "--device", "none", "--certain",
                               "--iterations", "0:2", "--set", f"cluster={json.dumps(cluster)}", "--set", "sizes=free", *arguments, "--format", "json"))

    flat = {"name": "flat", "latency": "100us", "bandwidth": "1GB/s"}
    best, = asked("plan", flat, "--ranks", 16)["plan"]
    times = {p["options"]["teams"]: p["time_s"] for n in (2, 4, 8) for p in asked("run", flat, "--ranks", 16, "--scheme", f"two-level:teams={n}")["points"]}
    candidates = best["candidates"]
    named = asked("plan", flat, "--ranks", 16, "--set", "schemes=" + json.dumps(["two-level", *({"name": "two-level", "teams": n, "label": f"two-level teams={n}"} for n in (2, 4, 8, 16))]))
    assert named["plan"][0]["label"] == "two-level teams=4" and min(times, key=times.get) == 4 and candidates >= 20, (named["plan"][0], times)
    slow = asked("plan", {**flat, "latency": "3ms"}, "--ranks", 16)["plan"][0]["candidates"]
    without = asked("plan", flat, "--ranks", 3)["plan"][0]["candidates"]
    assert candidates == slow == without + 4, "teams of 2, 4, 8 and 16 are tried where they divide the ranks"
    # counts follow ranks and nodes
    points = asked("run", nodes, "--ranks", "8,16", "--set", 'schemes=[{"name": "two-level", "teams": "ranks/4"}, {"name": "two-level", "teams": "nodes", "label": "n"}, {"name": "two-level", "label": "d"}]')["points"]
    told = {(p["ranks"], p["label"]): (p["options"].get("teams"), p["time_s"]) for p in points}
    assert all(p["exact"] for p in points)
    for ranks in (8, 16):
        assert told[ranks, "two-level"][0] == told[ranks, "n"][0] == ranks // 4, told
        assert told[ranks, "two-level"][1] == told[ranks, "n"][1] == told[ranks, "d"][1], "a run sees its nodes"


def take_what_is_built(out):
    """What does not depend on what was added need not be compiled again: ninja compares times and commands, and both are the same."""
    built = pathlib.Path(sys.argv[1]).resolve().parent
    if not (built / ".ninja_deps").exists():
        return
    for name in (".ninja_deps", ".ninja_log"):
        shutil.copy2(built / name, out)
    for part in ("src/*.p", "sparsync.p", "tests/test_schemes.p"):
        for objects in built.glob(part):
            shutil.copytree(objects, out / objects.relative_to(built), dirs_exist_ok=True)


def the_page_adds_a_scheme(folder):
    if not shutil.which("meson") or not shutil.which("ninja"):
        raise tap.Skip("needs meson and ninja")
    for name in ("src", "models", "docs", "completion", "tests"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("meson.build", "meson_options.txt", "README.md", "CHANGELOG.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    for name in ("traces", "scenarios", "plots", "examples"):
        (folder / name).symlink_to(ROOT / name)
    add_scheme(folder)
    add_own(folder)

    def call(*command, **variables):
        done = subprocess.run([*map(str, command)], cwd=folder, capture_output=True, text=True, timeout=tap.HANG,
                              env={**os.environ, "SPARSYNC_DATA": str(folder), **variables})
        assert done.returncode == 0, f"{command}: {done.stdout[-1500:]}{done.stderr[-1500:]}"
        return done.stdout

    # No other options for the C compiler than those of ./dev build: then nearly all of it is compiled.
    call("meson", "setup", "out", "-Dcuda=disabled")
    take_what_is_built(folder / "out")
    call("ninja", "-C", "out", "-j2", "sparsync", "tests/test_schemes")
    checks = json.loads(call("out/sparsync", "check", "sparse-tree", "--format", "json"))["checks"]
    assert len(checks) == 80 and all(c["ok"] for c in checks)
    points = json.loads(call("out/sparsync", "run", "--trace", ROOT / "traces" / "lstm-bible-4.safetensors", "--cluster", "rtx2080ti-1gbe", "--device", "none", "--set", "sizes=free",
                             "--ranks", "3,4", "--scheme", "sparcml-rd,sparse-tree", "--format", "json"))["points"]
    at = {(p["ranks"], p["scheme"]): p for p in points if p["tensor"] == "encoder.weight"}
    assert all(p["exact"] for p in points) and len(at) == 4
    assert f"{at[4, 'sparse-tree']['time_s'] / at[4, 'sparcml-rd']['time_s']:.2f} times as long" in PAGE
    own_options_are_options("out/sparsync", call)
    # Of tests that run without it, too, only what asks the registry.
    for scheme in ("sparse-tree", "two-level"):
        call("out/tests/test_schemes", SPARSYNC_TEST_SCHEME=scheme)
    for test, *names in (("schemas", "no schema lists schemes", "commands print what they say"),
                         ("plan", "nobody names schemes"), ("completion", "bash names"), ("scheme_values",)):
        call(sys.executable, f"tests/cli/test_{test}.py", "out/sparsync", ".", *names)


sys.exit(tap.run([the_page_adds_a_scheme]))
# SPDX-License-Identifier: Apache-2.0
