#!/usr/bin/python3
"""`sparsync run` and `train` under mpirun: the processes share the work, and rank 0 writes what one process alone would
write, byte for byte. Ranks are killed and stopped. Arguments: the program, the source tree. Prints TAP."""
import functools
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

import mpi
import tap
from tap import test, write_json

PROGRAM, ROOT = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
BIBLE, WORDNET = (str(ROOT / "traces" / f"{name}.safetensors") for name in ("bible-kjv-16", "wordnet-64"))
ENVIRONMENT = mpi.environment(ROOT)
# mpirun waits for a second, and not for none, before it ends ranks by a signal, and again before it kills them.
SLOWLY = {**ENVIRONMENT, "OMPI_MCA_odls_base_sigkill_timeout": "1"}


def call(ranks, *arguments, status=0, cwd=ROOT):
    """On so many ranks (0: without mpirun): stdout, stderr. Only rank 0 has anything to say."""
    command = [*(mpi.with_mpirun(ranks) if ranks else []), PROGRAM, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=tap.HANG, cwd=cwd, env=ENVIRONMENT, check=False)
    assert done.returncode == status, f"status {done.returncode}, not {status}: {arguments} {done.stdout[:300]!r} {done.stderr[:900]!r}"
    said = [": warning: " in line for line in done.stderr.splitlines() if "sparsync" in line]
    assert sum(said) <= 1 and len(said) - sum(said) <= 1, f"several ranks spoke: {done.stderr}"
    return done.stdout, done.stderr


def small(**fields):
    return {"name": "small", "trace": BIBLE, "cluster": "p3.16xlarge-25g", "ranks": [2, 8, 16], "iterations": "0:2",
            "schemes": ["allreduce", "allgather", "ps", "zen"],
            "sweep": {"cluster.bandwidth": ["10Gbps", "25Gbps"], "index_bytes": [4, 8]}, **fields}


def large(**fields):
    """60 points, of some that take longer and some that do not."""
    synth = {"synth": {"rows": 5000, "row_width": 16, "ranks": 32, "iterations": 2, "tokens": 1000, "seed": 3}}
    return {"name": "large", "trace": synth, "cluster": "rtx3090-1gbe", "ranks": [2, 4, 8, 16, 32],
            "schemes": ["allreduce", "allgather", "ps", "sparcml-rd", "omnireduce", "zen"],
            "sweep": {"cluster.gpus_per_node": [1, 2]}, **fields}


# --- the same output --------------------------------------------------------------------------------------------------


@test
def the_same_bytes(folder):
    scenario, out = write_json(folder, small()), folder / "out"
    for form, ranks, more in (("json", 4, ["--per-rank", "--per-iteration"]), ("csv", 3, []), ("table", 2, ["--jobs", "2"])):
        alone = call(0, "run", scenario, "--format", form, *more)[0]
        assert call(ranks, "run", scenario, "--format", form, *more)[0] == alone, f"{form} on {ranks} ranks"
        call(2, "run", scenario, "--format", form, "-o", out, *more)
        assert out.read_text() == alone and sorted(os.listdir(folder)) == ["out", "s.json"], form


@test
def values_residuals_and_several_traces(folder):
    gradient = {"gradient": {"elements": 900, "iterations": 3}}
    valued = write_json(folder, small(trace=gradient, ranks=[4, 8], iterations=3, cluster="rtx3090-1gbe", sweep={"cluster.latency": ["1us", "9us"]},
                                 schemes=["topka", "oktopk", {"name": "spardl", "teams": 2}, "s2", "topkdsa"]), "v.json")
    swept = write_json(folder, small(sweep={"trace": [BIBLE, WORDNET], "cluster.bandwidth": ["1Gbps", "9Gbps"]}, ranks=[1, 3]), "t.json")
    for scenario in (valued, swept):
        alone = call(0, "run", scenario, "--format", "json", "--per-iteration")[0]
        assert call(4, "run", scenario, "--format", "json", "--per-iteration")[0] == alone, scenario


@test
def more_ranks_than_points(folder):
    one = write_json(folder, small(ranks=[2], schemes=["allgather"], sweep={"cluster.bandwidth": ["1Gbps", "2Gbps"]}))
    assert call(4, "run", one, "--format", "csv")[0] == call(0, "run", one, "--format", "csv")[0]


@test
def training(_folder):
    wanted = ["train", "--workload", "embrace-lm-rtx3090", "--system", "horovod-allgather,embrace", "--cluster", "rtx3090-100g-ib",
              "--ranks", "4,8", "--iterations", "12"]
    for form, ranks in (("json", 4), ("csv", 3), ("table", 2)):
        words = [*wanted, "--format", form, *(["--sensitivity"] if form != "csv" else [])]
        assert call(ranks, *words)[0] == call(0, *words)[0], (form, ranks)


@test
def resume_baseline_and_expect(folder):
    scenario, out, stored = write_json(folder, small()), folder / "out.json", folder / "b.json"
    alone = call(0, "run", scenario, "--format", "json")[0]
    call(2, "run", scenario, "--ranks", "2,8", "--format", "json", "-o", out)
    err = call(4, "run", scenario, "--format", "json", "-o", out, "--resume")[1]
    assert "32 points were known" in err and out.read_text() == alone, err
    call(2, "run", scenario, "--save-baseline", stored)
    assert json.loads(stored.read_text())["points"] == json.loads(alone)["points"]
    assert "48 points the same" in call(2, "run", scenario, "--baseline", stored)[0]
    assert "16 are missing" in call(2, "run", scenario, "--ranks", "2,8", "--baseline", stored, status=1)[1]
    for sign, status in (("<", 0), (">", 1)):
        expect = [{"that": "time_s", "of": "zen", "is": sign, "than": "allreduce", "at": {"ranks": 16}}]
        expecting = write_json(folder, small(expect=expect), "e.json")
        (_, one), (_, many) = (call(n, "run", expecting, "-o", folder / "e.txt", status=status) for n in (0, 3))
        assert one in many, (one, many)


# --- what is wrong is said once -----------------------------------------------------------------------------------------


def refused(ranks, *arguments, says, status=2):
    out, err = call(ranks, *arguments, status=status)
    assert says in err and "points" not in out, f"{arguments}: {err!r} does not say {says!r}"


@test
def wrong_input_is_said_once(folder):
    scenario = write_json(folder, small())
    refused(4, "run", scenario, "--formt", "json", says="--format")
    refused(2, "run", folder / "none.json", says="none.json")
    refused(2, "run", scenario, "--resume", says="-o FILE")
    refused(2, "run", scenario, "--baseline", folder / "none.json", says="none.json")
    refused(2, "run", scenario, "--scheme", "zenn", says="zen")
    refused(2, "run", scenario, "--patience", "0", says="--patience")
    refused(2, "run", scenario, "-o", folder / "no" / "where", says="where")
    refused(2, "train", "--workload", "nothing", says="nothing")
    refused(2, "train", "--sistem", "embrace", says="--system")
    refused(2, "run", scenario, "--format", "json", "-o", "/dev/full", says="/dev/full", status=3)


@test
def help_is_printed_once(_folder):
    for command in ("run", "train"):
        assert call(2, command, "--help")[0] == call(0, command, "--help")[0]


def as_rank_1(folder, others, *arguments):
    """Rank 1 runs what the shell's lines `others` make of it."""
    script = folder / "as_rank"
    script.write_text(f'#!/bin/sh\nif [ "${{OMPI_COMM_WORLD_RANK:-${{PMI_RANK:-0}}}}" = 1 ]; then\n{others}\nfi\nexec "$@"\n')
    script.chmod(0o755)
    return subprocess.run([*mpi.with_mpirun(3), str(script), PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=tap.HANG,
                          env=ENVIRONMENT, cwd=folder, check=False)


@test
def ranks_that_disagree(folder):
    shutil.copy(BIBLE, folder / "t.safetensors")
    (folder / "other").mkdir()
    data = bytearray((folder / "t.safetensors").read_bytes())
    data[-4] ^= 1  # another row
    (folder / "other" / "t.safetensors").write_bytes(data)
    run = ["run", "--trace", "t.safetensors", "--scheme", "allgather,ps", "--cluster", "p3.16xlarge-25g", "--iterations", ":1"]
    for others in ("cd other", 'set -- $(echo "$@" | sed s/:1/1:2/)', 'set -- "$@" --per-rank', 'set -- $(echo "$@" | sed s/allgather,ps/ps/)', 'set -- "$@" --latency 9us'):
        done = as_rank_1(folder, others, *run)
        assert done.returncode == 2 and "time_s" not in done.stdout, (others, done)
        assert "rank 1 of 3: this rank was given another scenario" in done.stderr, (others, done.stderr)
    done = as_rank_1(folder, 'set -- "$@" --bogus', *run)
    assert done.returncode == 2 and "rank 1 of 3" in done.stderr and "--bogus" in done.stderr, done


@test
def the_mpirun_of_another_mpi(folder):
    """Where both are installed, the wrong one is noticed; else nothing is to be seen."""
    other = shutil.which("mpirun.mpich" if mpi.is_open_mpi() else "mpirun.openmpi")
    if not other:
        raise tap.Skip("one MPI is installed")
    more = [] if mpi.is_open_mpi() else ["--allow-run-as-root", "--oversubscribe"]
    done = subprocess.run([other, *more, "-n", "2", PROGRAM, "run", str(write_json(folder, small(ranks=[2])))], capture_output=True, text=True,
                          timeout=tap.HANG, env=ENVIRONMENT, check=False)
    assert done.returncode == 3 and done.stderr.count("another MPI") == 1 and "zen" not in done.stdout, done


@test
def openmp_that_may_start_no_threads(folder):
    done = subprocess.run([*mpi.with_mpirun(2), PROGRAM, "run", str(write_json(folder, small()))], capture_output=True, text=True, timeout=tap.HANG,
                          env={**ENVIRONMENT, "OMP_THREAD_LIMIT": "1"}, check=False)
    assert done.returncode == 2 and "OMP_THREAD_LIMIT" in done.stderr, done


@functools.cache
def large_alone():
    """What one process writes of it."""
    with tempfile.TemporaryDirectory() as folder:
        return call(0, "run", write_json(pathlib.Path(folder), large()), "--format", "json")[0]


# --- ranks that die -----------------------------------------------------------------------------------------------------


KEPT, MANY = 3, 1200


class Running:
    """A run under mpirun that holds when it has kept three points of 60: `process`, and `rank`, the process of each rank. Rank 0 has
    stopped itself, and hands out nothing before the test lets it: `go_on`."""

    def __init__(self, folder, ranks, *arguments, more=(), environment=ENVIRONMENT):
        self.out, self.journal = folder / "out.json", folder / "out.json.partial"
        mpirun, *rest = mpi.with_mpirun(ranks)
        command = [mpirun, *more, *rest, PROGRAM, "run", *arguments, "--jobs", "1", "--format", "json", "-o", self.out]
        self.process = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        env={**environment, "SPARSYNC_HOLD": str(KEPT)})
        tap.wait_for(lambda: len(self.ranks()) == ranks)
        self.rank = self.ranks()
        tap.wait_for(lambda: tap.state(self.rank[0]) in "TZX")
        assert tap.state(self.rank[0]) == "T" and self.lines() == KEPT, (self.lines(), self.process.poll())

    def ranks(self):
        found = {}
        for child in mpi.children(self.process.pid, PROGRAM):
            for word in pathlib.Path(f"/proc/{child}/environ").read_text().split("\0"):
                if word.startswith(("OMPI_COMM_WORLD_RANK=", "PMI_RANK=")):
                    found[int(word.split("=")[1])] = child
        return found

    def go_on(self):
        os.kill(self.rank[0], signal.SIGCONT)

    def lines(self):
        try:
            return self.journal.read_text().count("\n")
        except FileNotFoundError:
            return 0

    def end(self):
        try:
            out, err = self.process.communicate(timeout=tap.HANG)
        finally:
            for child in self.rank.values():
                if mpi.alive(child):
                    os.kill(child, signal.SIGKILL)
        return self.process.returncode, out, err


def goes_on(scenario, running):
    kept = running.lines()
    assert KEPT <= kept < 60 and not running.out.exists(), kept
    err = call(2, "run", scenario, "--format", "json", "-o", running.out, "--resume")[1]
    assert f"{kept} points were known" in err and running.out.read_text() == large_alone() and not running.journal.exists(), err
    running.out.unlink()


@test
def a_rank_that_is_killed(folder):
    """mpirun ends all; what is done is kept, and what is missing is said where mpirun lets one speak."""
    scenario = write_json(folder, large())
    for rank in (2, 0):
        running = Running(folder, 4, scenario, environment=SLOWLY if rank else ENVIRONMENT)
        os.kill(running.rank[rank], signal.SIGKILL)
        if rank:  # as mpirun does, but at once: so rank 0 has time to speak
            os.kill(running.rank[0], signal.SIGTERM)
            running.go_on()
        status, _, err = running.end()
        assert status != 0
        if mpi.is_open_mpi() and rank != 0:  # MPICH's kills at once
            kept = running.lines()
            assert f"{60 - kept} of 60 points are missing: " in err and " ranks at " in err, err
            assert f"({kept} finished points are kept in {running.journal}: --resume goes on from there)" in err, err
        goes_on(scenario, running)


@test
def a_run_that_is_interrupted(folder):
    scenario = write_json(folder, large())
    running = Running(folder, 2, scenario)
    running.process.send_signal(signal.SIGTERM)
    assert running.end()[0] != 0
    goes_on(scenario, running)


@test
def a_rank_that_is_silent(folder):
    """Its points are redone by others; in the end it is ended, too."""
    scenario = write_json(folder, large())
    running = Running(folder, 3, scenario, "--patience", "1s")
    os.kill(running.rank[1], signal.SIGSTOP)
    running.go_on()
    status, _, err = running.end()
    assert status == 0 and "rank 1 of 3 has been silent for 1 s" in err and "without 1 of 3 ranks" in err, (status, err)
    assert running.out.read_text() == large_alone() and not running.journal.exists()


@test
def a_rank_that_is_only_slow(folder):
    """What it had is redone, but it goes on with other points."""
    scenario = write_json(folder, large())
    running = Running(folder, 2, scenario, "--patience", "1s")
    os.kill(running.rank[1], signal.SIGSTOP)
    running.go_on()
    said = running.process.stderr.readline()
    os.kill(running.rank[1], signal.SIGCONT)
    status, _, err = running.end()
    assert "rank 1 of 2 has been silent for 1 s" in said and status == 0 and running.out.read_text() == large_alone(), (status, said, err)


@test
def a_result_that_comes_late_counts_once(folder):
    """Rank 1 stops before it sends its first result, and goes on while rank 0, which has computed that, too, still has others. Of all points
    each is kept once when rank 0 holds at the last, and some are of rank 1."""
    scenario = write_json(folder, large(sweep={"cluster.gpus_per_node": [1, 2], "trace.synth.seed": list(range(MANY // 60))}))
    wrong, journal = pathlib.Path(PROGRAM).parent / "tests" / "wrong.so", folder / "out.json.partial"
    with subprocess.Popen([*mpi.with_mpirun(2), "env", f"LD_PRELOAD={wrong}", "SPARSYNC_WRONG=1 1 stop", PROGRAM, "run", scenario, "--patience", "1s", "--jobs",
                           "1", "--certain", "--no-verify", "--format", "json", "-o", folder / "out.json"], stderr=subprocess.PIPE, text=True,
                          env={**ENVIRONMENT, "SPARSYNC_HOLD": str(MANY)}) as run:
        late, = tap.wait_for(lambda: [child for child in mpi.children(run.pid, PROGRAM) if tap.state(child) == "T"])
        said = run.stderr.readline()
        os.kill(late, signal.SIGCONT)
        held, = tap.wait_for(lambda: [child for child in mpi.children(run.pid, PROGRAM) if child != late and tap.state(child) == "T"])
        kept = journal.read_text().splitlines()
        os.kill(held, signal.SIGCONT)
        err = run.communicate(timeout=tap.HANG)[1]
    assert "rank 1 of 2 has been silent for 1 s" in said and run.returncode == 0 and "without" not in err, (said, err)
    assert len(kept) == MANY == len(set(kept)), (len(kept), len(set(kept)))
    assert len(json.loads((folder / "out.json").read_text())["points"]) == MANY


@test
def a_killed_rank_that_mpirun_survives(folder):
    if not mpi.is_open_mpi():
        raise tap.Skip("MPICH's mpirun survives none")
    scenario = write_json(folder, large())
    running = Running(folder, 3, scenario, "--patience", "1s", more=["--enable-recovery"])
    os.kill(running.rank[2], signal.SIGKILL)
    running.go_on()
    _, _, err = running.end()
    assert "rank 2 of 3 has been silent" in err, err
    assert running.out.read_text() == large_alone()


mpi.on_one_core()
sys.exit(tap.run(tap.TESTS, mpi.why_not(PROGRAM)))
# SPDX-License-Identifier: Apache-2.0
