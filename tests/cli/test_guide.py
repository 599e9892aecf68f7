#!/usr/bin/python3
"""Runs docs/guide.md: every sh block in one folder, one after the other; a text block behind one is what it prints, to the
line, or until its last line "...". A block behind <!-- needs: THING --> runs where the thing is there: a command
("crossover", "trace fit"), an option ("run --baseline"), torch, mpi. Arguments: the program, the source tree; with --update
the guide's outputs are written anew. Prints TAP."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import mpi
import tap

PROGRAM, ROOT = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
GUIDE = ROOT / "docs" / "guide.md"
BLOCK = re.compile(r"(?:<!-- needs: (?P<needs>.*?) -->\n)?```sh\n(?P<commands>.*?)```\n(?:\n```text\n(?P<output>.*?)```\n)?", re.S)


def lacking(needs):
    """Why a block cannot run here; None when it can."""
    if needs == "torch":
        try:
            tap.python_with_torch()
            return None
        except tap.Skip as reason:
            return str(reason)
    if needs == "mpi":
        with_mpi = subprocess.run(["ldd", PROGRAM], capture_output=True, text=True).stdout
        return None if shutil.which("mpirun") and "libmpi" in with_mpi else "built without MPI"
    *command, last = needs.split()
    text = subprocess.run([PROGRAM, *command, "--help"], capture_output=True, text=True).stdout
    found = f"{last} " in text if last.startswith("-") else re.search(rf"^  {re.escape(last)} ", text, re.M)
    return None if found else f"no {needs} in this program"


def prepare(folder):
    """What a reader has: the source tree, with the program on the PATH."""
    for name in ("models", "scenarios", "traces", "plots", "docs"):
        if (ROOT / name).exists():
            shutil.copytree(ROOT / name, folder / name)
    (folder / "build").mkdir()
    (folder / "build" / "sparsync").symlink_to(PROGRAM)


def run(block, folder):
    path = os.environ["PATH"]
    if block["needs"] == "torch":
        path = f"{pathlib.Path(tap.python_with_torch()).parent}:{path}"
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", block["commands"]], cwd=folder, capture_output=True, text=True, timeout=tap.HANG,
                          stdin=subprocess.DEVNULL,
                          env={**mpi.environment(ROOT), "PATH": f"{folder / 'build'}:{path}", "SPARSYNC_DATA": str(folder),
                               "PYTHONDONTWRITEBYTECODE": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                               "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none"})
    # head closes the pipe on its writer
    assert done.returncode in (0, 141), f"status {done.returncode}: {block['commands']}\n{done.stderr[-1500:]}"
    return done.stdout


def shown(output, printed):
    """The output as the guide shows it, cut where the guide cuts."""
    lines = output.split("\n")
    return "\n".join(printed.split("\n")[:len(lines) - 2] + lines[-2:]) if lines[-2:] == ["...", ""] else printed


def blocks():
    return list(BLOCK.finditer(GUIDE.read_text()))


def test_of(block):
    def test(_):
        reason = lacking(block["needs"]) if block["needs"] else None
        if reason:
            raise tap.Skip(reason)
        printed = run(block, HOME)
        if block["output"] is not None:
            wanted = shown(block["output"], printed)
            assert block["output"] == wanted, f"{block['commands']}prints\n{wanted}\nand not\n{block['output']}"
    return block["commands"].strip().split("\n")[0][:90].replace("#", ""), test


def every_block_is_run(_):
    text = GUIDE.read_text()
    assert len(re.findall(r"^```sh$", text, re.M)) == len(blocks()) > 10
    assert len(re.findall(r"^```text$", text, re.M)) == sum(b["output"] is not None for b in blocks())
    listed = subprocess.run([PROGRAM, "--help"], capture_output=True, text=True).stdout
    for link in re.findall(r"\]\(([^)#]+)", text):
        exists = (GUIDE.parent / link).exists()
        assert exists or link == "ci.md" and "--baseline" not in listed, f"no {link}"


def update():
    text, place = GUIDE.read_text(), 0
    for block in blocks():
        if block["needs"] and lacking(block["needs"]):
            continue
        printed = run(block, HOME)
        if block["output"] is not None:
            at = text.index(block[0], place)
            fresh = block[0].replace(f"```text\n{block['output']}", f"```text\n{shown(block['output'], printed)}")
            text = text[:at] + fresh + text[at + len(block[0]):]
            place = at + len(fresh)
    GUIDE.write_text(text)


mpi.on_one_core()
with tempfile.TemporaryDirectory() as home:
    HOME = pathlib.Path(home)
    prepare(HOME)
    if "--update" in sys.argv:
        update()
    else:
        sys.exit(tap.run([every_block_is_run, *map(test_of, blocks())]))
# SPDX-License-Identifier: Apache-2.0
