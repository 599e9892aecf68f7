#!/usr/bin/python3
"""libsparsync as it is installed: what it exports and needs, and the programs of examples/ built against it by pkg-config.
Arguments: the program, the source tree. Prints TAP."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import tap

PROGRAM, ROOT = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
BUILD = PROGRAM.parent
LIBRARY = BUILD / "src" / "libsparsync.so"
HEADER = (ROOT / "src" / "library" / "sparsync.h").read_text()
PUBLIC = set(re.findall(r"^SS_PUBLIC [^(]*?(ss_\w+)\(", HEADER, re.M))


def call(*command, environment=None, cwd=None):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=tap.HANG, cwd=cwd,
                          env=environment)
    assert done.returncode == 0, f"{command}: status {done.returncode}: {done.stderr[-2000:]}"
    return done.stdout


def needs(*tools):
    for tool in tools:
        if not shutil.which(tool):
            raise tap.Skip(f"there is no {tool}")


def library_exports_its_header_and_nothing_else(_):
    needs("nm")
    exported = dict(line.split()[-1].split("@@") for line in call("nm", "-D", "--defined-only", LIBRARY).splitlines()
                    if " A " not in line)
    assert set(exported) == PUBLIC, f"exported, or declared, alone: {sorted(set(exported) ^ PUBLIC)}"
    assert set(exported.values()) == {"SPARSYNC_0", "SPARSYNC_1", "SPARSYNC_2"}, exported


def library_needs_no_mpi_gpu_or_drawing(_):
    needs("readelf")
    needed = re.findall(r"NEEDED.*\[(.*?)\]", call("readelf", "-d", LIBRARY))
    assert needed and not [name for name in needed if re.search("mpi|cuda|gnuplot", name)], needed
    if "__gcov_exit" in call("nm", LIBRARY):
        raise tap.Skip("what counts coverage calls exit itself")
    undefined = [line.split()[-1] for line in call("nm", "-D", "--undefined-only", LIBRARY).splitlines()]
    ends = {"exit", "_exit", "quick_exit", "setenv", "putenv", "chdir", "setlocale", "printf", "puts"}
    assert not ends & {name.split("@")[0] for name in undefined}, ends & {name.split("@")[0] for name in undefined}


def header_is_c11_and_cplusplus(folder):
    needs("cc", "c++")
    source = folder / "only.c"
    source.write_text(f'#include "{ROOT}/src/library/sparsync.h"\nint main(void) {{ return ss_version() == 0; }}\n')
    call("cc", "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", source)
    call("c++", "-x", "c++", "-std=c++11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", source)


def installed(folder):
    """The variables with which a program finds what was installed below the folder."""
    needs("meson", "pkg-config", "cc")
    call("meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", folder)
    [description] = folder.rglob("sparsync.pc")
    environment = {name: value for name, value in os.environ.items() if name != "SPARSYNC_DATA"}
    return {**environment, "PKG_CONFIG_PATH": str(description.parent), "PKG_CONFIG_SYSROOT_DIR": str(folder),
            "LD_LIBRARY_PATH": str(description.parent.parent)}


def built(name, folder, environment):
    flags = call("pkg-config", "--cflags", "--libs", "sparsync", environment=environment).split()
    call("cc", "-std=c11", "-Wall", "-Wextra", "-Werror", ROOT / "examples" / f"{name}.c", *flags, "-o", folder / name,
         environment=environment)
    return call(folder / name, environment=environment, cwd=folder)


def same(a, b):
    return abs(a - b) <= 1e-3 * abs(b)


def command_json(*arguments):
    return json.loads(call(PROGRAM, *arguments, "--format", "json", environment={**os.environ, "SPARSYNC_DATA": str(ROOT)}))


def examples_say_what_the_command_says(folder):
    environment = installed(folder / "root")
    rows = [line.split() for line in built("run", folder, environment).splitlines()]
    points = command_json("run", "demo")["points"]
    assert [(row[0], row[1]) for row in rows] == [(point["cluster"], point["label"]) for point in points], rows
    assert all(same(float(row[3]), 1e3 * point["time_s"]) for row, point in zip(rows, points)), rows

    rows = re.findall(r"^(\S+): from (\S+)% to (\S+)%: (\S+)$", built("crossover", folder, environment), re.M)
    expected = [(bandwidth, part["from"], part["to"], part["winner"]) for bandwidth in ("25Gbps", "100Gbps")
                for part in command_json("crossover", "allgather", "allreduce", "--over", "density", "--M", "856MB",
                                         "--row-width", "64", "--ranks", "16", "--bandwidth", bandwidth)["ranges"]]
    assert [(row[0], row[3]) for row in rows] == [(part[0], part[3]) for part in expected], rows
    assert all(same(float(row[k]), 100 * part[k]) for row, part in zip(rows, expected) for k in (1, 2)), rows

    rows = {row.split()[0]: row.split() for row in built("trace", folder, environment).splitlines()}
    assert set(rows) == {"allreduce", "allgather", "sparcml-rd", "zen"}, rows
    # every rank gets what the three others have: a count of 8 B, then rows of 64 elements of 4 B with an index of 4 B
    distinct = [len({i if i < 100 else (r + 1) * i * i % 100000 for i in range(300)}) for r in range(4)]
    assert float(rows["allgather"][3]) == 3 * (sum(distinct) * (64 * 4 + 4) + 4 * 8), (rows["allgather"], distinct)


TESTS = [library_exports_its_header_and_nothing_else, library_needs_no_mpi_gpu_or_drawing, header_is_c11_and_cplusplus,
         examples_say_what_the_command_says]
sys.exit(tap.run(TESTS))
# SPDX-License-Identifier: Apache-2.0
