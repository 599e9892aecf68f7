#!/usr/bin/env python3
"""Plants each mistake of mutants.py in a copy of the tree and says what turns red.

usage: tests/mutants/run.py [--fit] [--all] [--keep] [--trust] [WORD...]

With WORDs, only mutants whose name or file has one of them. A mutant goes to the one test that the list names for it, and
nothing else is built. With --all, or where none is named, the fast unit tests go first, then the slow ones, then
`sparsync check`, on the closed forms and on scenarios/, each when those before it see nothing, or with --all; a mutant of
a closed form goes to `sparsync check` at once. What does not build is not counted as caught. Status 1 when
a mutant survives that is not argued equivalent, when an "equivalent" one is caught, or when a replacement no longer fits
its file. --fit only says which replacements do not fit, and builds nothing.
"""
import argparse
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
from mutants import MUTANTS  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
SLOW = ["test_" + name for name in ("cuda_loop", "schemes", "gradient", "kernels", "trace_stats", "faults")]
FAST = [name for name in sorted(path.stem for path in (ROOT / "tests" / "unit").glob("test_*.c")) if name not in SLOW]
TESTS = FAST + SLOW
TARGETS = ["sparsync", *("tests/" + test for test in TESTS)]
TIMEOUT = 900  # seconds, for one program: a mutant may well never end
PATIENCE = 20  # times what it takes without a mutant, where that is known, and a minute
taken = {}     # seconds, by program


def copy_tree(to):
    names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, check=True,
                           stdout=subprocess.PIPE).stdout.decode().split("\0")
    for name in filter(None, names):
        source = ROOT / name
        if source.is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, to / name)


def build(tree, targets, *options):
    folder = os.path.realpath(tree / "build")
    real = [os.path.relpath(os.path.realpath(os.path.join(folder, target)), folder) for target in targets]  # of a library's links
    return subprocess.run(["ninja", "-C", folder, *options, *real], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def fails(tree, name, command):
    env = dict(os.environ, SPARSYNC_DATA=str(tree))
    limit = 60 + PATIENCE * taken[name] if name in taken else TIMEOUT
    begun = time.monotonic()
    try:
        failed = subprocess.run(command, cwd=tree, env=env, timeout=limit, stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL).returncode != 0
    except subprocess.TimeoutExpired:
        return True
    if not failed:
        taken.setdefault(name, time.monotonic() - begun)
    return failed


def checks(tree):
    sparsync = str(tree / "build" / "sparsync")
    yield "check", [sparsync, "check"]
    scenarios = [str(p) for p in sorted((tree / "scenarios").glob("*.json")) if '"expect"' in p.read_text()]
    if scenarios:
        yield "check scenarios", [sparsync, "check", *scenarios]


def tests(tree, names):
    return [(test, [str(tree / "build" / "tests" / test)]) for test in names]


def stages(tree, mutant, everything):
    if mutant.cli:
        script = tree / "tests" / "cli" / f"test_{mutant.cli}.py"
        return [[(f"cli {mutant.cli}", [sys.executable, str(script), str(tree / "build" / "sparsync"), str(tree)])]]
    found = [tests(tree, FAST), tests(tree, SLOW), list(checks(tree))]
    if mutant.by_check:
        return found[-1:]
    return [tests(tree, [f"test_{mutant.unit}"])] if mutant.unit and not everything else found


def targets(mutant, everything):
    """What has to be built for the stages."""
    if mutant.cli == "python":
        return ["sparsync", "src/libsparsync.so"]
    if mutant.cli or mutant.by_check:
        return ["sparsync"]
    return [f"tests/test_{mutant.unit}"] if mutant.unit and not everything else TARGETS


def programs_of(tree, mutants, everything):
    """All that is run for them, each once."""
    by_name = {}
    for mutant in mutants:
        for stage in stages(tree, mutant, everything):
            by_name.update(dict(stage))
    return list(by_name.items())


def red(tree, programs):
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = list(programs)
        return [name for (name, _), bad in zip(found, pool.map(lambda p: fails(tree, *p), found)) if bad]


def times(tree, mutant):
    """That the text to replace stands in its file."""
    path = tree / mutant.file
    return path.read_text().count(mutant.old) if path.exists() else 0


def fit(mutants):
    wrong = [mutant for mutant in mutants if times(ROOT, mutant) != 1]
    for mutant in wrong:
        print(f"{mutant.file}: the text of the mutant \"{mutant.name}\" stands {times(ROOT, mutant)} times in it, not once")
    return 1 if wrong else 0


def try_mutant(tree, mutant, everything):
    """(verdict, what turned red)"""
    if times(tree, mutant) != 1:
        return "does not fit", [f"the text stands {times(tree, mutant)} times in the file"]
    path = tree / mutant.file
    text = path.read_text()
    path.write_text(text.replace(mutant.old, mutant.new))
    try:
        if build(tree, targets(mutant, everything)).returncode != 0:
            return "does not build", []
        caught = []
        for stage in stages(tree, mutant, everything):
            if everything or not caught:
                caught += red(tree, stage)
        return ("caught" if caught else "survived"), caught
    finally:
        path.write_text(text)


def main():
    parser = argparse.ArgumentParser(description="plants mistakes, says what turns red")
    parser.add_argument("--all", action="store_true", help="check also what a unit test has seen")
    parser.add_argument("--keep", action="store_true", help="leave the copy of the tree")
    parser.add_argument("--trust", action="store_true", help="do not run the tests without a mutant first")
    parser.add_argument("--fit", action="store_true", help="only see that each replacement fits its file")
    parser.add_argument("words", nargs="*")
    args = parser.parse_args()
    chosen = [m for m in MUTANTS if not args.words or any(w in m.name or w in m.file for w in args.words)]
    if args.fit:
        return fit(chosen)
    tree = pathlib.Path(tempfile.mkdtemp(prefix="sparsync-mutants-"))
    try:
        copy_tree(tree)
        subprocess.run(["meson", "setup", tree / "build", tree, "-Dcuda=disabled", "-Doptimization=1", "-Dwerror=false"],
                       check=True, stdout=subprocess.DEVNULL)
        made = build(tree, sorted({target for mutant in chosen for target in targets(mutant, args.all)}))
        if made.returncode != 0:
            sys.exit(made.stdout.decode())
        before = [] if args.trust else red(tree, programs_of(tree, chosen, args.all))
        if before:
            sys.exit(f"red without any mutant: {', '.join(before)}")
        results, wrong = [], 0
        for mutant in chosen:
            verdict, caught = try_mutant(tree, mutant, args.all)
            results.append((mutant, verdict, caught))
            expected = "survived" if mutant.equivalent else "caught"
            wrong += verdict != expected
            print(f"{verdict:14} {mutant.name} [{mutant.file}] {', '.join(caught)}"
                  f"{' (argued equivalent)' if mutant.equivalent else ''}", flush=True)
        print(f"{sum(v == 'caught' for _, v, _ in results)} of {len(results)} caught, {wrong} not as expected")
        return 1 if wrong else 0
    finally:
        if args.keep:
            print(tree)
        else:
            shutil.rmtree(tree)


if __name__ == "__main__":
    sys.exit(main())
# SPDX-License-Identifier: Apache-2.0
