#!/usr/bin/env python3
"""A random sample of mistakes in src, planted one by one: which share of them do tests notice?

usage: tests/mutants/sample.py [--sample N] [--seed S] [--minutes M] [--budget S] [--jobs J] [WORD...]

What mistakes there are is for universalmutator to say (./dev mutants installs it), not for us: a file of src is drawn by its
length, then one of its mutants, with WORDs of the files alone that have one in their name. What does not build (without a
warning) is drawn again, and so is what makes no other object code: nobody could tell it from the original. A mutant goes to
the unit tests, functions of the tests of the command line and `sparsync check` that run its line, as a build that notes what
it runs (ran.c) has told: first those that are cheap and run much of the file, until one fails, or does not end, or the budget
is spent. The same seed draws the same mutants of the same tree. Survivors are printed: whether somebody could tell them from
the original is judged by reading.

Trees with their builds, and what each test runs, stay in build-mutator: of a tree that is there, only what differs from the
sources is copied and built; what tests run is noted anew where src differs, or the test's file.
"""
import argparse
import concurrent.futures
import contextlib
import filecmp
import hashlib
import io
import pathlib
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
import ran  # noqa: E402
import run  # noqa: E402

ROOT = run.ROOT
HERE = ROOT / "build-mutator"
sys.path.append(str(HERE))
UNKNOWN = 300  # s of processor time; a process that takes longer, for want of an end, is caught
WAIT, PATIENCE = 20, 5  # of a test that is known to take t it is WAIT + PATIENCE * t
ASLEEP = 10  # times as long as that a test may take in all, on a machine that has other work, before it is caught
BUDGET = 120  # s of tests for a mutant
RULES = ["universal.rules", "c_like.rules", "c.rules"]


def sources(words):
    found = sorted(path.relative_to(ROOT) for path in (ROOT / "src").rglob("*.c"))
    return [path for path in found if not words or any(word in str(path) for word in words)]


def mutants_of(path):
    """(line, text) of all mutants of the file."""
    try:
        from universalmutator import mutator
    except ImportError:
        sys.exit("universalmutator is missing: ./dev mutants installs it")
    with contextlib.redirect_stdout(io.StringIO()):
        found = mutator.mutants_regexp((ROOT / path).read_text().splitlines(keepends=True), ruleFiles=RULES, ignorePatterns=[r"^\s*\*", r"^\s*//"],
                                       ignoreStringOnly=True)
    return [(line, text) for line, text, *_ in found]


def draw(paths, seed):
    """Mutants without end, none of them twice."""
    chance, known, lengths = random.Random(seed), {}, [len((ROOT / path).read_text().splitlines()) for path in paths]
    drawn = set()
    while True:
        path = chance.choices(paths, lengths)[0]
        if path not in known:
            known[path] = mutants_of(path)
        if known[path]:
            line, text = chance.choice(known[path])
            if (path, line, text) not in drawn:
                drawn.add((path, line, text))
                yield path, line, text


class Tree:
    """A copy of the sources with its build, which stays from run to run. What differs from them is copied, the rest is left."""

    def __init__(self, folder, seconds):
        self.folder, self.build, self.seconds, self.green = folder, folder / "build", seconds, {}
        folder.mkdir(parents=True, exist_ok=True)
        listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, check=True, stdout=subprocess.PIPE)
        names = {name for name in listed.stdout.decode().split("\0") if name and (ROOT / name).is_file()}
        there = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file() and self.build not in path.parents}
        for name in there - names:
            (folder / name).unlink()
        for name in names:
            if name not in there or not filecmp.cmp(ROOT / name, folder / name, shallow=False):
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(ROOT / name, folder / name)
                shutil.copymode(ROOT / name, folder / name)
        options = ["--reconfigure"] if (self.build / "build.ninja").exists() else ["-Dcuda=disabled", "-Dbuildtype=debugoptimized"]
        if len(options) > 1 or there != names:
            subprocess.run(["meson", "setup", self.build, folder, *options], check=True, stdout=subprocess.DEVNULL)
        self.tests = ran.tests(self.build, folder)
        programs = [target for _, targets, *_ in self.tests.values() for target in targets]
        made = run.build(folder, sorted({"sparsync", *programs}))
        if made.returncode != 0:
            sys.exit(made.stdout.decode())
        self.clean = {target: self.code(self.build / target) for target in {"sparsync", *programs}}

    def code(self, file):
        """A hash of its bytes without what debuggers read."""
        with tempfile.NamedTemporaryFile() as plain:
            subprocess.run(["objcopy", "--strip-debug", file, plain.name], check=True)
            return hashlib.sha256(pathlib.Path(plain.name).read_bytes()).digest()

    def make(self, targets):
        return run.build(self.folder, targets, "-j1").returncode == 0

    def fails(self, name):
        command, _, environment, folder = self.tests[name]
        known, begun = self.seconds.get(name), time.monotonic()
        limit = WAIT + PATIENCE * known if known else UNKNOWN
        with subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              start_new_session=True) as program:
            resource.prlimit(program.pid, resource.RLIMIT_CPU, (int(limit), int(limit) + 5))
            try:
                failed = program.wait(ASLEEP * limit) != 0
            except subprocess.TimeoutExpired:
                failed = True
            ran.end(program)
        if not failed:
            self.seconds[name] = min(time.monotonic() - begun, known or UNKNOWN)
        return failed

    def reds(self, file, original, planted, names):
        """The first test that fails with the mutant and passes without, or ""."""
        for name in names:
            targets = self.tests[name][1]
            if not self.green.get(name, True):
                continue
            if not self.make(targets):
                return None
            if all(self.code(self.build / target) == self.clean[target] for target in targets) or not self.fails(name):
                continue
            if name not in self.green:
                file.write_text(original)
                self.green[name] = self.make(targets) and not self.fails(name)
                file.write_text(planted)
            if self.green[name]:
                return name
            print(f"red without any mutant, and left out: {name}", flush=True)
        return ""

    def try_one(self, path, line, text, names):
        """(verdict, what turned red, the line as it was)"""
        file = self.folder / path
        name = "_".join(path.relative_to("src").parts)
        objects = sorted((self.build / "src").glob(f"*.p/{name}.o"))
        if not objects:
            return "does not build", "", ""
        original, target = file.read_text(), str(objects[0].relative_to(self.build))
        self.make([target])
        code = self.code(objects[0])
        lines = original.splitlines(keepends=True)
        before, lines[line - 1] = lines[line - 1], text
        planted = "".join(lines)
        try:
            file.write_text(planted)
            if not self.make([target]):
                return "does not build", "", before
            if self.code(objects[0]) == code:
                return "is the same", "", before
            red = self.reds(file, original, planted, names)
            return ("does not build" if red is None else "caught" if red else "survived"), red, before
        finally:
            file.write_text(original)


def main():
    parser = argparse.ArgumentParser(description="draws mistakes, plants them, says what share of them turns tests red")
    parser.add_argument("--sample", type=int, default=300, metavar="N", help="how many that build and differ (300)")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="of the draw (1)")
    parser.add_argument("--minutes", type=float, default=None, metavar="M", help="begin none after so many")
    parser.add_argument("--budget", type=float, default=BUDGET, metavar="S",
                        help=f"a mutant's, in seconds that its tests take without one; {ran.FEW} are run in any case ({BUDGET})")
    parser.add_argument("--jobs", type=int, default=1, metavar="J", help="so many at once, each in a tree of its own (1)")
    parser.add_argument("words", nargs="*")
    args = parser.parse_args()
    paths = sources(args.words)
    if not paths:
        sys.exit(f"no file of src has {' or '.join(args.words)} in its name")
    notes = ran.Ran(ROOT, HERE, args.jobs, lambda line: print(line, flush=True))
    begun, lock = time.monotonic(), threading.Lock()
    minutes = lambda: (time.monotonic() - begun) / 60
    trees = [Tree(HERE / f"tree-{k}", notes.seconds) for k in range(args.jobs)]
    mutants, running, survivors = draw(paths, args.seed), [0], []
    count = {"caught": 0, "survived": 0, "does not build": 0, "is the same": 0}

    def work(tree):
        while True:
            with lock:
                # One that turns out not to count is drawn again, so these are the same N, however many are at work.
                if count["caught"] + count["survived"] + running[0] >= args.sample or (args.minutes and minutes() > args.minutes):
                    return
                path, line, text = next(mutants)
                running[0] += 1
            started = time.monotonic()
            verdict, red, before = tree.try_one(path, line, text, notes.tests_of(path, line, args.budget))
            with lock:
                running[0] -= 1
                count[verdict] += 1
                if verdict in ("caught", "survived"):
                    shown = re.sub(r"\s+", " ", text).strip()
                    print(f"{verdict:9} {path}:{line}: {shown[:100]} [{red}] {time.monotonic() - started:.0f} s ({minutes():.1f} min)", flush=True)
                if verdict == "survived":
                    survivors.append(f"{path}:{line}\n- {before.rstrip()}\n+ {text.rstrip()}")

    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for done in [pool.submit(work, tree) for tree in trees]:
            done.result()
    print("\n".join(["", *survivors, ""]))
    print(f"seed {args.seed}: {count['caught']} of {count['caught'] + count['survived']} caught, in {minutes():.0f} min; "
          f"{count['does not build']} did not build, {count['is the same']} made the same object code")


if __name__ == "__main__":
    main()
# SPDX-License-Identifier: Apache-2.0
