#!/usr/bin/python3
"""The job script of docs/scenarios.md: what it asks Slurm for, what it runs, and that a Slurm which is started here can read
it. Arguments: the program, the source tree. Prints TAP."""
import getpass
import os
import re
import shutil
import socket
import subprocess
import sys

import mpi
import tap
from asking import PROGRAM, ROOT, call
from tap import test

BLOCK = re.compile(r"```sbatch\n(.*?)```\n", re.S)
VALUES = {"job-name": r"\w+", "nodes": r"[1-9]\d*", "ntasks-per-node": r"[1-9]\d*", "cpus-per-task": r"[1-9]\d*",
          "time": r"\d\d:[0-5]\d:[0-5]\d", "output": r"[\w.%-]+"}
# In place of srun: the command alone, in one process.
ALONE = '#!/bin/sh\nwhile [ "${1#--}" != "$1" ]; do shift; done\nexec "$@"\n'


def script():
    (only,) = BLOCK.findall((ROOT / "docs" / "scenarios.md").read_text())
    return only


@test
def what_it_asks_for(_folder):
    first, *lines = script().splitlines()
    asked = [line for line in lines if line.startswith("#")]
    assert first == "#!/bin/bash" and lines[: len(asked)] == asked, "behind the first command Slurm reads no more"
    options = dict(re.fullmatch(r"#SBATCH --([\w-]+)=(\S+)", line).groups() for line in asked)
    assert options.keys() == VALUES.keys(), options
    assert all(re.fullmatch(VALUES[name], value) for name, value in options.items()), options


@test
def what_it_runs(folder):
    srun, there = folder / "srun", folder / "sparsync"
    srun.write_text(ALONE)
    srun.chmod(0o755)
    there.symlink_to(PROGRAM)
    (folder / "job.sh").write_text(script())
    done = subprocess.run(["bash", "-eu", "job.sh"], cwd=folder, capture_output=True, text=True, timeout=tap.HANG,
                          env={**mpi.environment(ROOT), "PATH": f"{folder}:{os.environ['PATH']}"})
    assert done.returncode == 0, done.stderr
    assert (folder / "demo.csv").read_text() == call("run", "demo", "--jobs", "1", "--format", "csv")[0]


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def answer(script, environment):
    return subprocess.run(["sbatch", "--test-only"], input=script, env=environment, capture_output=True, text=True, timeout=tap.HANG).stderr


@test
def slurm_reads_it(folder):
    """A controller without a node: what it understands it cannot place, and what it does not it says."""
    controller = shutil.which("slurmctld", path=f"{os.environ['PATH']}:/usr/sbin")
    if not controller or not shutil.which("sbatch"):
        raise tap.Skip("slurmctld or sbatch is not installed")
    nodes = "".join(f"NodeName=n{i} NodeAddr=127.0.0.{i} CPUs=16 State=UNKNOWN\n" for i in range(1, 5))
    (folder / "slurm.conf").write_text(
        f"ClusterName=here\nSlurmctldHost={socket.gethostname()}(127.0.0.1)\nSlurmctldPort={free_port()}\n"
        f"SlurmUser={getpass.getuser()}\nAuthType=auth/none\nCredType=cred/none\nStateSaveLocation={folder}\n"
        f"SlurmctldPidFile={folder}/pid\n{nodes}PartitionName=all Nodes=ALL Default=YES State=UP\n")
    environment = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf")}
    with open(folder / "log", "w") as log, subprocess.Popen([controller, "-D", "-i"], env=environment, stdout=log, stderr=log) as running:
        try:
            tap.wait_for(lambda: running.poll() is not None or "connect failure" not in answer(script(), environment))
            if running.poll() is not None:
                raise tap.Skip("slurmctld does not start here")
            assert re.search("to start at|Requested node configuration is not available", answer(script(), environment))
            assert "Requested node" not in answer(script().replace("--nodes", "--knots"), environment)
            assert "Requested node" not in answer(script().replace("01:00:00", "an hour"), environment)
        finally:
            running.terminate()


if __name__ == "__main__":
    sys.exit(tap.run())
# SPDX-License-Identifier: Apache-2.0
