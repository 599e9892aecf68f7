#!/usr/bin/env python3
"""clang-tidy over what it has not passed yet.

usage: tests/tidy.py BUILD [--all] [--seconds N]

BUILD is a folder that was compiled with clang. BUILD/tidy-passed keeps, for each source that had no finding, a hash of all
that its findings depend on: its text, the project's headers that it includes, how it is compiled, .clang-tidy and the version
of clang-tidy. A source with that hash is not looked at again. Without such a record (a fresh clone) those sources are looked
at that differ from the 20th last commit, or include a header that does, and the rest are taken as passed; with --all every
source is. After N seconds no further source is begun; what is left out is said. Status 1 when there are findings.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
RECENT = "HEAD~20"


def said(*command, **more):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, **more).stdout


def headers_of(build):
    """By object file: the project's own files that it was compiled from, as ninja noted them."""
    found, current = {}, None
    for line in said("ninja", "-C", build, "-t", "deps").splitlines():
        if line and not line.startswith(" "):
            current = found.setdefault(line.split(":")[0], [])
        elif line:
            path = (build / line.strip()).resolve()
            if path.is_relative_to(ROOT) and not path.is_relative_to(build):
                current.append(path)
    return found


def sources_of(build):
    """By name: a hash of what the findings depend on, and the files that are read. The library, the program and the unit tests."""
    common, texts, deps, found = said("clang-tidy", "--version") + (ROOT / ".clang-tidy").read_text(), {}, headers_of(build), {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = (build / entry["file"]).resolve()
        if not path.is_relative_to(ROOT) or not re.match(r"(src|tests/unit)/.*\.c$", name := str(path.relative_to(ROOT))):
            continue
        read = sorted({path, *deps.get(entry["output"], [])})
        for one in read:
            texts.setdefault(one, one.read_bytes() if one.exists() else b"")
        whole = hashlib.sha256((common + entry["command"]).encode())
        for one in read:
            whole.update(hashlib.sha256(texts[one]).digest())
        found[name] = whole.hexdigest(), {str(one.relative_to(ROOT)) for one in read}
    return found


def chosen(sources, record, everything):
    """The names to look at, those that were edited themselves first, and in words what they are; the rest of a new record."""
    if everything:
        return sorted(sources), "all"
    if record:
        return sorted(name for name in sources if record.get(name) != sources[name][0]), "not passed yet as they are"
    known = subprocess.run(["git", "rev-parse", "--verify", "--quiet", RECENT], cwd=ROOT, stdout=subprocess.DEVNULL).returncode == 0
    if not known:
        return sorted(sources), f"all, since there is neither a record nor {RECENT}"
    edited = set(said("git", "diff", "--name-only", RECENT, cwd=ROOT).split())
    names = [name for _, name in sorted((name not in edited, name) for name in sources if edited & sources[name][1])]
    record.update((name, sources[name][0]) for name in sources.keys() - names)
    return names, f"changed since {RECENT}, or with a header that was; there is no record, and the rest is taken as passed (--all looks)"


def look(build, name):
    done = subprocess.run(["clang-tidy", "-p", build, "--quiet", name], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True)
    return done.returncode == 0, done.stdout


def findings(log):
    """Without the path by which the analyzer came to each."""
    shown = False
    for line in log.splitlines():
        shown = bool(re.search(r": (error|warning): ", line)) or shown and not re.search(r": note: |^\d+ warnings? generated", line)
        if shown:
            yield line


def main():
    ask = argparse.ArgumentParser()
    ask.add_argument("build", type=lambda text: pathlib.Path(text).resolve())
    ask.add_argument("--all", action="store_true")
    ask.add_argument("--seconds", type=float, default=float("inf"))
    asked = ask.parse_args()
    kept = asked.build / "tidy-passed"
    record = json.loads(kept.read_text()) if kept.exists() else {}
    sources = sources_of(asked.build)
    names, words = chosen(sources, record, asked.all)
    print(f"{len(names)} of {len(sources)} sources: {words}", flush=True)
    record = {name: passed for name, passed in record.items() if name in sources}
    begun, left, bad = time.monotonic(), [], 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool, open(asked.build / "tidy.log", "w") as whole:
        def one(name):
            return look(asked.build, name) if time.monotonic() - begun < asked.seconds else None
        for name, done in zip(names, pool.map(one, names)):
            if done is None:
                left.append(name)
                continue
            passed, log = done
            whole.write(log)
            bad += not passed
            if passed:
                record[name] = sources[name][0]
            else:
                record.pop(name, None)
                print(*findings(log), sep="\n", flush=True)
            kept.write_text(json.dumps(record, indent=0, sort_keys=True))
    if left:
        print(f"LEFT OUT after {asked.seconds:g} s: {len(left)} sources: {' '.join(left)}")
        print("./dev lint tidy looks at them without a limit")
    if bad:
        print(f"{bad} sources with findings; the analyzer's paths are in {asked.build.name}/tidy.log")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
# SPDX-License-Identifier: Apache-2.0
