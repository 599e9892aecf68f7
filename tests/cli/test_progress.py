"""The progress bar of every command that may take long. The program that is run is hurried.c's, for which half a second passes
between any two looks at the clock, so that no test has to wait."""
import fcntl
import os
import pathlib
import pty
import re
import struct
import subprocess
import sys
import termios

import mpi
import tap
from tap import test

PROGRAM, ROOT = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
HURRIED = PROGRAM.parent / "tests" / "hurried"
ENVIRONMENT = {**os.environ, "SPARSYNC_DATA": str(ROOT), "OMP_NUM_THREADS": "2", "TERM": "xterm"}
UNIFORM = {"uniform": {"rows": 4096, "row_width": 4, "density": "1/64", "overlap": "random"}}
SCENARIO = {"trace": UNIFORM, "cluster": {"latency": "10us", "bandwidth": "1GB/s"}, "ranks": [2, 4, 8, 16], "iterations": 1, "schemes": ["allgather", "zen", "ps"]}


def shown(folder, *arguments, width=100, terminal=True, status=0, **environment):
    """What the command writes to standard error, which is a terminal or a pipe."""
    ours, theirs = pty.openpty() if terminal else os.pipe()
    if terminal:
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
    text = b""
    with subprocess.Popen([HURRIED, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=theirs, cwd=folder,
                          env={**ENVIRONMENT, **environment}) as process:
        os.close(theirs)
        while True:
            try:
                if not (more := os.read(ours, 65536)):
                    break
                text += more
            except OSError:  # the terminal is gone
                break
    os.close(ours)
    assert process.returncode == status, (arguments, process.returncode, text)
    return text.decode()


BAR = re.compile(r"\r\x1b\[K\[(#*)( *)\] (\d+) of (\d+) ([a-z]+), about (\d+) (s|min|h) left")


def check_bars(text, what):
    """Each is of `what`, grows, and is cleared in the end. Returns how many were drawn."""
    found = list(BAR.finditer(text))
    bars = [match.groups() for match in found]
    assert bars and all(bar[4] in what for bar in bars), (what, text[:400])
    for bar, after in zip(bars, bars[1:]):
        if bar[3:5] == after[3:5] and int(after[2]) >= int(bar[2]):
            assert len(after[0]) >= len(bar[0]), (bar, after)
        assert int(bar[2]) <= int(bar[3]), bar
    assert text[found[-1].end():].startswith("\r\x1b[K"), text[-200:]
    return len(bars)


def commands(folder):
    """What may take longer than two seconds, on something small, and what is counted."""
    scenario, small = tap.write_json(folder, SCENARIO), ROOT / "traces" / "lstm-bible-4.safetensors"
    trace = ROOT / "traces" / "bible-kjv-16.safetensors"
    log = folder / "all.csv"
    log.write_text("collective,nodes,bytes,seconds\n" + "".join(
        f"{name},{nodes},{2**k},{1e-5 * nodes * rounds + 2**k * 1e-9 * rounds}\n"
        for name, rounds in (("allreduce", 2), ("allgather", 1)) for nodes in (4, 8) for k in range(10, 24, 2)))
    claims = {"paper": "own", "title": "one", "inputs": {"a": {"run": SCENARIO}, "b": {"run": {**SCENARIO, "ranks": [32]}}}, "claims": []}
    for name in "ab":
        claims["claims"].append({"id": f"own-{name}", "claim": "x", "source": "x", "class": "A", "printed": "1", "expect": 1, "tolerance": "50%",
                                 "let": {"t": {"from": name, "of": "zen", "value": "time_s", "ranks": 16 if name == "a" else 32}},
                                 "ours": "t/t", "why": "x", "verdict": "reproduced"})
    many = {**claims, "inputs": {}, "claims": []}  # enough to be answered side by side
    for i in range(9):
        many["inputs"][f"q{i}"] = {"run": {**SCENARIO, "ranks": [4], "cluster": {"latency": f"{i + 1}us", "bandwidth": "1GB/s"}}}
        many["claims"].append({**claims["claims"][0], "id": f"many-{i}", "let": {"t": {"from": f"q{i}", "of": "zen", "value": "time_s"}}})
    figure = {"title": "f", "panels": [{"kind": "bars", "x": "label", "y": "time_s", "data": [{"run": {**SCENARIO, "ranks": [4]}}, {"run": {**SCENARIO, "ranks": [8]}}]}]}
    return {
        "run": (("run", scenario), ["points"]),
        "plan": (("plan", scenario), ["points"]),
        "report": (("report", scenario, "-o", folder / "r.html"), ["points"]),
        "check": (("check", scenario, "allgather-ring"), ["points"]),
        "crossover": (("crossover", "zen", "allreduce", "--over", "density", "--M", "1MB", "--ranks", "4", "--simulate"), ["places"]),
        "train": (("train", "--workload", "embrace-lm-rtx3090", "--system", "horovod-allgather,embrace", "--cluster", "rtx3090-100g-ib", "--ranks", "4",
                   "--iterations", "6"), ["simulations"]),
        "learn": (("learn", "--trace", trace, "--batch", "16", "--ranks", "2", "--steps", "5", "--vocab", "50", "--scheme", "allgather"), ["steps"]),
        "claims": (("claims", tap.write_json(folder, claims, "c.json")), ["claims"]),
        "claims side by side": (("claims", tap.write_json(folder, many, "m.json"), "--jobs", "2"), ["claims"]),
        "plot": (("plot", tap.write_json(folder, figure, "f.json"), "--data", folder / "f.csv"), ["panels"]),
        "trace stats": (("trace", "stats", small), ["iterations"]),
        "trace fit": (("trace", "fit", ROOT / "traces" / "flights-16.safetensors"), ["tensors"]),
        "export goal": (("export", "goal", scenario, "--ranks", "4", "--scheme", "zen", "--set", "iterations=8", "-o", folder / "x.goal"), ["iterations"]),
        "calibrate network": (("calibrate", "network", log, "--validate"), ["groups"]),
    }


@test
def commands_that_may_take_long_show_how_far_they_are(folder):
    for name, (arguments, what) in commands(folder).items():
        text = shown(folder, *arguments)
        assert check_bars(text, what), (name, text[:300])


@test
def no_bar_where_nobody_looks(folder):
    arguments = commands(folder)["run"][0]
    assert shown(folder, *arguments, terminal=False) == ""
    assert shown(folder, *arguments, "--quiet") == ""
    assert shown(folder, *arguments, TERM="dumb") == ""


@test
def a_bar_fits_its_terminal_and_has_no_colour(folder):
    arguments = commands(folder)["run"][0]
    for width in (20, 60, 200):
        lines = re.split(r"\r\x1b\[K", shown(folder, *arguments, width=width, NO_COLOR="1"))
        assert max(map(len, lines)) <= min(width - 1, 79) and len(lines) > 3 and "\x1b" not in "".join(lines), (width, lines)


@test
def under_mpirun_there_are_lines(folder):
    """Of rank 0 alone, ever further apart, as nobody can draw over what mpirun passes on."""
    if why := mpi.why_not(PROGRAM):
        raise tap.Skip(why)
    scenario = tap.write_json(folder, {**SCENARIO, "ranks": None, "iterations": 6, "schemes": ["allgather", "ps", "allreduce"]})
    for what, arguments in (("iterations", ("exec", scenario)), ("sizes", ("calibrate", "network", "--sizes", "1:64kB", "--repeats", "3", "-o", folder / "c.json"))):
        def told(*more):
            done = subprocess.run([*mpi.with_mpirun(2), HURRIED, *map(str, arguments), *more], capture_output=True, text=True, cwd=folder, check=False,
                                  env={**mpi.environment(ROOT), "TERM": "xterm"}, timeout=tap.HANG)
            assert done.returncode in (0, 2 if what == "sizes" else 0), done  # a busy machine may measure nothing that fits
            return re.findall(r"^sparsync: (\d+) of (\d+) ([a-z]+), about \d+ (?:s|min|h) left$", done.stderr, re.MULTILINE), done.stderr
        lines, text = told()
        steps = [int(step) for step, _, _ in lines]
        assert lines and "\r" not in text and steps == sorted(steps), (what, text)
        assert len(lines) < int(lines[0][1]) and all(line[2] == what for line in lines), (what, text)
        assert told("--quiet")[0] == [], what


sys.exit(tap.run())
# SPDX-License-Identifier: Apache-2.0
