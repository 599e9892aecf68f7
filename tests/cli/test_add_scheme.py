#!/usr/bin/python3
"""Does what docs/add-a-scheme.md says, in a copy of the source tree, and asks the program built from it. Arguments: the
program, the source tree. Prints TAP."""
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


def the_page_adds_a_scheme(folder):
    if not shutil.which("meson") or not shutil.which("ninja"):
        raise tap.Skip("needs meson and ninja")
    for name in ("src", "models", "docs", "completion"):
        shutil.copytree(ROOT / name, folder / name)
    (folder / "tests").mkdir()
    (folder / "tests" / "meson.build").write_text("")
    for name in ("meson.build", "meson_options.txt"):
        shutil.copy(ROOT / name, folder)

    code = next(block for block in re.findall(r"```c\n(.*?)```", PAGE, re.S) if "registry.h" in block)
    (folder / "src" / "schemes" / "sparse_tree.c").write_text(code)
    (folder / "models" / "costs" / "sparse-tree.json").write_text(re.search(r"```json\n(.*?)```", PAGE, re.S).group(1))
    lines = dict(re.findall(r"\| `(src/schemes/[a-z.]+)` \| `(.*?)`", PAGE))
    assert len(lines) == 3, lines
    insert(folder / "src/schemes/registry.h", "extern const struct ss_scheme ss_scheme_omnireduce;", lines["src/schemes/registry.h"] + "\n")
    insert(folder / "src/schemes/registry.c", "    &ss_scheme_omnireduce,", f"    {lines['src/schemes/registry.c']}\n")
    insert(folder / "src/schemes/meson.build", "'omnireduce.c'", lines["src/schemes/meson.build"] + " ")

    def call(*command):
        done = subprocess.run([*map(str, command)], cwd=folder, capture_output=True, text=True, env={**os.environ, "SPARSYNC_DATA": str(folder)})
        assert done.returncode == 0, f"{command}: {done.stdout[-1500:]}{done.stderr[-1500:]}"
        return done.stdout

    call("meson", "setup", "out", "-Dmpi=disabled", "-Doptimization=0", "-Db_ndebug=false")
    call("ninja", "-C", "out", "-j2", "sparsync")
    checks = json.loads(call("out/sparsync", "check", "sparse-tree", "--format", "json"))["checks"]
    assert len(checks) == 80 and all(c["ok"] for c in checks)
    points = json.loads(call("out/sparsync", "run", "--trace", ROOT / "traces" / "lstm-bible-4.safetensors", "--cluster", "rtx2080ti-1gbe",
                             "--ranks", "3,4", "--scheme", "sparcml-rd,sparse-tree", "--format", "json"))["points"]
    at = {(p["ranks"], p["scheme"]): p for p in points if p["tensor"] == "encoder.weight"}
    assert all(p["exact"] for p in points) and len(at) == 4
    assert f"{at[4, 'sparse-tree']['time_s'] / at[4, 'sparcml-rd']['time_s']:.2f} times as long" in PAGE


sys.exit(tap.run([the_page_adds_a_scheme]))
