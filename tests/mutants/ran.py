"""Which tests run which lines of src: each test goes once through a build that notes what it runs."""
import concurrent.futures
import contextlib
import hashlib
import itertools
import json
import os
import pathlib
import pickle
import re
import signal
import subprocess
import tempfile
import time

LONG = 120  # s; a test that takes longer while it is noted is ended, and taken to run what it ran till then
FEW = 10    # tests that a mutant goes to, whatever they take
NEAR = 14   # a line that runs nothing, as of a declaration, counts as run by tests that run one of so many before it
FLAGS = "-fsanitize-coverage=trace-pc"
NOT_OURS = {"simgrid", "instructions", "cli add_scheme", "cli release", "cli bad_input under valgrind"}  # long, and no line is theirs alone


def introspect(build, what):
    return json.loads(subprocess.run(["meson", "introspect", build, f"--{what}"], check=True, stdout=subprocess.PIPE).stdout)


def tests(build, root):
    """{name: (command, programs to be built, environment, folder)}; those of the command line, one for each of a file's functions."""
    files, found = {target["id"]: target["filename"] for target in introspect(build, "targets")}, {}
    for test in introspect(build, "tests"):
        if test["name"] in NOT_OURS:
            continue
        made = [os.path.relpath(file, build) for target in test["depends"] for file in files[target]]
        made = [name for name in made if not name.startswith("..")]
        text = pathlib.Path(test["cmd"][1]).read_text() if test["name"].startswith("cli ") else ""
        functions = [name.replace("_", " ") for name in re.findall(r"^@test\ndef (\w+)", text, re.MULTILINE)]
        rest = made, dict(os.environ, **test["env"]), test["workdir"] or build
        for function in functions or [""]:
            found[f"{test['name']}: {function}" if function else test["name"]] = test["cmd"] + ([function] if function else []), *rest
    found["check"] = [str(build / "sparsync"), "check"], ["sparsync"], dict(os.environ, SPARSYNC_DATA=str(root)), root
    return found


def end(program):
    """What it began and left, too."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(program.pid, signal.SIGKILL)
    program.wait()


class Ran:
    """`root`: the sources, which are built in `here`; `say` takes a line of what goes on."""

    def __init__(self, root, here, jobs, say):
        self.root, self.build, self.kept = root, here / "ran", here / "ran.pickle"
        self.seconds, self.by_line, self.length = {}, {}, {}
        self.build.mkdir(parents=True, exist_ok=True)
        recorder = here / "ran.o"
        subprocess.run(["cc", "-O2", "-fPIC", "-D_GNU_SOURCE", "-c", root / "tests" / "mutants" / "ran.c", "-o", recorder], check=True)
        if not (self.build / "build.ninja").exists():
            subprocess.run(["meson", "setup", self.build, root, "-Dcuda=disabled", "-Dbuildtype=debugoptimized", "-Db_lundef=false",
                            f"-Dc_args={FLAGS}", f"-Dc_link_args={recorder}"], check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["ninja", "-C", self.build, "--quiet"], check=True, stdout=subprocess.DEVNULL)
        src = hashlib.sha256(b"".join(path.read_bytes() for path in sorted((root / "src").rglob("*.[ch]"))))
        known = pickle.loads(self.kept.read_bytes()) if self.kept.exists() else {}
        wanted = tests(self.build, root)
        keys = {name: self.key(src.copy(), name, test) for name, test in wanted.items()}
        notes = {name: known[name] for name in wanted if known.get(name, ("",))[0] == keys[name]}
        missing = sorted(set(wanted) - set(notes))
        begun = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            for name, (seconds, lines) in zip(missing, pool.map(lambda name: self.note(wanted[name]), missing)):
                notes[name] = keys[name], seconds, lines
                if len(notes) % 50 == 0 or name == missing[-1]:
                    say(f"what {len(notes)} of {len(wanted)} tests run is noted ({(time.monotonic() - begun) / 60:.0f} min)")
                    self.kept.write_bytes(pickle.dumps(notes))
        for name, (_, seconds, lines) in notes.items():
            self.seconds[name] = seconds
            for path, numbers in lines.items():
                self.length.setdefault(path, {})[name] = len(numbers)
                for number in numbers:
                    self.by_line.setdefault((path, number), set()).add(name)

    def key(self, digest, name, test):
        """It changes with src and with the test's own file."""
        file = pathlib.Path(test[0][1]) if name.startswith("cli ") else self.root / "tests" / "unit" / f"{pathlib.Path(test[0][0]).name}.c"
        digest.update(name.encode() + (file.read_bytes() if file.exists() else b""))
        return digest.hexdigest()

    def note(self, test):
        """(seconds, {path: lines}); none where it fails."""
        command, _, environment, folder = test
        with tempfile.TemporaryDirectory() as noted:
            begun = time.monotonic()
            program = subprocess.Popen(command, cwd=folder, env=dict(environment, SPARSYNC_RAN=noted, SPARSYNC_DATA=str(self.root)),
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
            try:
                good = program.wait(LONG) == 0
            except subprocess.TimeoutExpired:
                good = True
            taken = time.monotonic() - begun
            end(program)
            lines = {}
            for file in pathlib.Path(noted).iterdir() if good else ():
                for path, number in self.lines(file):
                    lines.setdefault(path, set()).add(number)
        return taken, lines

    def lines(self, noted):
        """(path, line) of what that program ran."""
        at = [match.start() for match in re.finditer(b"\1", noted.read_bytes())]
        programs = [path for folder in ("", "tests", "src") if (path := self.build / folder / noted.name).is_file()]
        if not at or not programs:
            return
        told = subprocess.run(["addr2line", "-e", programs[0]], input="\n".join(hex(one - 1) for one in at), stdout=subprocess.PIPE, text=True, check=True)
        for where in told.stdout.splitlines():
            path, _, number = where.split(" (")[0].rpartition(":")
            path = "src/" + path.rpartition("/src/")[2]  # in whichever tree a compiler's cache had it compiled
            if number.isdigit() and (self.root / path).is_file():
                yield path, int(number)

    def tests_of(self, path, line, budget):
        """Names of those that run the line, first those that take little and run much of the file, till the budget's seconds are spent."""
        length = self.length.get(str(path), {})
        found = next((names for number in range(line, line - NEAR, -1) if (names := self.by_line.get((str(path), number)))), set(length))
        names = sorted(found, key=lambda name: ((self.seconds[name] + 0.3) / length[name] ** 0.7, name))
        spent = itertools.accumulate(self.seconds[name] for name in names)
        return [name for k, (name, after) in enumerate(zip(names, spent)) if k < FEW or after <= budget]
# SPDX-License-Identifier: Apache-2.0
