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
    for name in ("meson.build", "meson_options.txt"):
        shutil.copy(ROOT / name, folder)
    for name in ("traces", "scenarios", "plots"):
        (folder / name).symlink_to(ROOT / name)
    add_scheme(folder)

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
    # Of tests that run without it, too, only what asks the registry.
    call("out/tests/test_schemes", SPARSYNC_TEST_SCHEME="sparse-tree")
    for test, *names in (("schemas", "no schema lists schemes", "commands print what they say"),
                         ("plan", "nobody names schemes"), ("completion", "bash names"), ("scheme_values",)):
        call(sys.executable, f"tests/cli/test_{test}.py", "out/sparsync", ".", *names)


sys.exit(tap.run([the_page_adds_a_scheme]))
