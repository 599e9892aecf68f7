#!/usr/bin/env python3
"""How many lines of src the tests ran, by folder; with --files, the files of a folder too.

usage: tests/coverage.py BUILD [--files]

BUILD was compiled with -Db_coverage=true, and its tests ran. A line counts once, however many objects have it. A source
that no test program links is not seen at all, and said so.
"""
import collections
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]


def lines_of(build):
    """By source: how often each line ran."""
    found = collections.defaultdict(dict)
    objects = sorted(path.resolve() for path in build.rglob("*.gcno") if "fuzz" not in str(path))
    for start in range(0, len(objects), 50):
        done = subprocess.run(["gcov", "--json-format", "--stdout", *objects[start:start + 50]], cwd=build, check=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        for text in done.stdout.splitlines():
            for file in json.loads(text)["files"]:
                path = (build / file["file"]).resolve()
                if path.is_relative_to(ROOT / "src"):
                    lines = found[path.relative_to(ROOT)]
                    for line in file["lines"]:
                        lines[line["line_number"]] = max(lines.get(line["line_number"], 0), line["count"])
    return found


def row(name, lines):
    ran = sum(count > 0 for one in lines for count in one.values())
    total = sum(len(one) for one in lines)
    print(f"{name:40} {total:7} {ran:7} {100 * ran / total if total else 100:6.1f} %")


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    found = lines_of(build)
    folders = collections.defaultdict(list)
    for path in sorted(found):
        folders[str(path.parent)].append(path)
    print(f"{'folder':40} {'lines':>7} {'ran':>7} {'share':>8}")
    for folder, paths in folders.items():
        row(folder, [found[path] for path in paths])
        for path in paths if "--files" in sys.argv[2:] else []:
            row("  " + path.name, [found[path]])
    row("all", list(found.values()))
    unseen = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "src").rglob("*.c") if path.relative_to(ROOT) not in found)
    if unseen:
        print("not compiled in this build:", *unseen)
    return 0


if __name__ == "__main__":
    sys.exit(main())
# SPDX-License-Identifier: Apache-2.0
