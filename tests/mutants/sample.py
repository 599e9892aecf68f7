#!/usr/bin/env python3
"""A random sample of mistakes in src, planted one by one: which share of them do tests notice?

usage: tests/mutants/sample.py [--sample N] [--seed S] [--minutes M] [--tests unit|room|all] [--tree FOLDER] [WORD...]

What mistakes there are is for universalmutator to say (./dev mutants installs it), not for us: a file of src is drawn by its
length, then one of its mutants, with WORDs of the files alone that have one in their name. What does not build (without a
warning) is drawn again, and so is what makes no other object code: nobody could tell it from the original. A mutant goes to the unit tests
that include the file's header, to those of its room, to `sparsync check` and to the room's tests of the command line, until
one fails; --tests says where that ends. The same seed draws the same mutants of the same tree. Survivors are printed with
both lines: whether somebody could tell them apart is for a reader to judge.
"""
import argparse
import contextlib
import io
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
import run  # noqa: E402

ROOT = run.ROOT
sys.path.append(str(ROOT / "build-mutator"))
run.TIMEOUT = 300  # s; what takes longer than any test, for want of an end, is caught
RULES = ["universal.rules", "c_like.rules", "c.rules"]
CLI = {"base": "bad_input commands", "tensor": "scheme_values second", "trace": "trace_cli import pooling extrapolate trace_fit",
       "kernels": "commands", "machine": "placed collective jitter ranges bad_input second", "sim": "collective second placed",
       "schemes": "scheme_values second plan", "cost": "crossover commands", "calibration": "calibrate validate", "exec": "exec",
       "share": "share", "train": "train captured share", "learn": "learn", "study": "sweep commands ranges plan placement extrapolate",
       "query": "commands bad_input claims", "export": "export", "figures": "plot", "claims": "claims", "library": "library python",
       "report": "report commands plan", "cli": "commands bad_input progress"}


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


def unit_tests(path):
    """Those that include the file's header, and those that include another of its room."""
    header, room = f'"{path.relative_to("src").with_suffix(".h")}"', f'"{path.parts[1]}/'
    texts = {name: (ROOT / "tests" / "unit" / f"{name}.c").read_text() for name in run.TESTS}
    own = [name for name in texts if header in texts[name]]
    return own, [name for name in texts if room in texts[name] and name not in own]


def stages(tree, path, how):
    """What to build, and what to run then."""
    own, room = unit_tests(path)
    named = CLI.get(path.parts[1], "commands").split()
    cli = lambda names: [(f"cli {name}", [sys.executable, str(tree / "tests" / "cli" / f"test_{name}.py"), str(tree / "build" / "sparsync"), str(tree)])
                         for name in names]
    yield [f"tests/{name}" for name in own], run.tests(tree, own)
    yield [f"tests/{name}" for name in room], run.tests(tree, room)
    if how == "unit":
        return
    if path.parts[1] not in ("cli", "export", "share", "exec", "learn"):
        yield ["sparsync"], list(run.checks(tree))
    yield ["sparsync", "src/libsparsync.so"] if "python" in named else ["sparsync"], cli(named)
    if how == "all":
        others = [name for name in run.TESTS if name not in own + room]
        yield [f"tests/{name}" for name in others], run.tests(tree, others)
        yield ["all"], cli(p.stem[len("test_"):] for p in sorted((ROOT / "tests" / "cli").glob("test_*.py")) if p.stem[len("test_"):] not in named)


def object_of(tree, path):
    name = "_".join(path.relative_to("src").parts)
    found = sorted((tree / "build" / "src").glob(f"*.p/{name}.o"))
    return found[0] if found else None


def code_of(object_file):
    """Its bytes without what debuggers read."""
    with tempfile.NamedTemporaryFile() as plain:
        subprocess.run(["objcopy", "--strip-debug", object_file, plain.name], check=True)
        return pathlib.Path(plain.name).read_bytes()


def plant(tree, path, line, text):
    file = tree / path
    lines = file.read_text().splitlines(keepends=True)
    before = lines[line - 1]
    lines[line - 1] = text
    file.write_text("".join(lines))
    return before


def try_one(tree, path, line, text, how, known):
    """(verdict, what turned red, the line as it was)"""
    file, object_file = tree / path, object_of(tree, path)
    original, code = file.read_text(), code_of(object_file) if object_file else b""
    before = plant(tree, path, line, text)
    try:
        if not object_file or run.build(tree, [str(object_file.relative_to(tree / "build"))]).returncode != 0:
            return "does not build", "", before
        if code_of(object_file) == code:
            return "is the same", "", before
        for targets, programs in stages(tree, path, how):
            if programs and run.build(tree, targets).returncode != 0:
                return "does not build", "", before
            for name, command in programs:
                if not known.get(name, True) or not run.fails(tree, name, command):
                    continue
                if name in known:
                    return "caught", name, before
                file.write_text(original)  # does it pass without the mutant?
                run.build(tree, targets)
                known[name] = not run.fails(tree, name, command)
                if known[name]:
                    return "caught", name, before
                print(f"red without any mutant, and left out: {name}", flush=True)
                plant(tree, path, line, text)
                run.build(tree, targets)
        return "survived", "", before
    finally:
        file.write_text(original)
        if object_file:
            run.build(tree, [str(object_file.relative_to(tree / "build"))])


def prepare(tree):
    if not (tree / "build").exists():
        run.copy_tree(tree)
        subprocess.run(["meson", "setup", tree / "build", tree, "-Dcuda=disabled", "-Dbuildtype=debugoptimized"], check=True,
                       stdout=subprocess.DEVNULL)
    made = run.build(tree, ["sparsync"])
    if made.returncode != 0:
        sys.exit(made.stdout.decode())


def main():
    parser = argparse.ArgumentParser(description="draws mistakes, plants them, says what share of them turns tests red")
    parser.add_argument("--sample", type=int, default=300, metavar="N", help="how many that build and differ (300)")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="of the draw (1)")
    parser.add_argument("--minutes", type=float, default=None, metavar="M", help="begin none after so many")
    parser.add_argument("--tests", choices=["unit", "room", "all"], default="room",
                        help="the room's unit tests alone; `sparsync check` and its tests of the command line, too (room); then all others")
    parser.add_argument("--tree", type=pathlib.Path, help="a folder for the copy, which stays")
    parser.add_argument("words", nargs="*")
    args = parser.parse_args()
    paths = sources(args.words)
    if not paths:
        sys.exit(f"no file of src has {' or '.join(args.words)} in its name")
    with contextlib.ExitStack() as stack:
        tree = args.tree.resolve() if args.tree else pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sparsync-sample-")))
        begun = time.monotonic()
        tree.mkdir(exist_ok=True)
        prepare(tree)
        count = {"caught": 0, "survived": 0, "does not build": 0, "is the same": 0}
        survivors, known = [], {}
        for path, line, text in draw(paths, args.seed):
            spent = (time.monotonic() - begun) / 60
            if count["caught"] + count["survived"] == args.sample or (args.minutes and spent > args.minutes):
                break
            verdict, red, before = try_one(tree, path, line, text, args.tests, known)
            count[verdict] += 1
            if verdict in ("caught", "survived"):
                shown = re.sub(r"\s+", " ", text).strip()
                print(f"{verdict:9} {path}:{line}: {shown[:100]} {red} ({(time.monotonic() - begun) / 60:.1f} min)", flush=True)
            if verdict == "survived":
                survivors.append(f"{path}:{line}\n- {before.rstrip()}\n+ {text.rstrip()}")
        tried = count["caught"] + count["survived"]
        print("\n".join(["", *survivors, ""]))
        print(f"seed {args.seed}: {count['caught']} of {tried} caught, in {(time.monotonic() - begun) / 60:.0f} min; {count['does not build']} did not "
              f"build, {count['is the same']} made the same object code")


if __name__ == "__main__":
    main()
# SPDX-License-Identifier: Apache-2.0
