"""What tests under mpirun have in common."""
import functools
import os
import pathlib
import shutil
import subprocess

import tap

MPIRUN = os.environ.get("SPARSYNC_MPIRUN") or shutil.which("mpirun")


def environment(root):
    """More ranks than cores: let those that wait give way. When one ends badly mpirun need not wait for the rest. Open
    MPI itself leaks, and warns where it may not peek."""
    return {
        **os.environ,
        "OMPI_MCA_mpi_yield_when_idle": "1",
        "OMPI_MCA_odls_base_sigkill_timeout": "0",
        "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
        "OMP_NUM_THREADS": "1",
        "SPARSYNC_DATA": os.environ.get("SPARSYNC_DATA", str(root)),
        "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0",
    }


def on_one_core():
    """Keeps this process, and what it starts, on one core. Ranks of one thread that wait ask again and again, giving way in
    between: here to those that have work, which they would leave alone on another core, and busy that one for nothing."""
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[os.getpid() % len(cores)]})


@functools.cache
def is_open_mpi():
    version = subprocess.run([MPIRUN, "--version"], capture_output=True, text=True, timeout=tap.HANG, check=False).stdout
    return "Open MPI" in version or "OpenRTE" in version


def with_mpirun(ranks):
    """Not bound to cores, which would take two ranks from the core of on_one_core() to one each, where they wait busily."""
    more = ["--allow-run-as-root", "--oversubscribe", "--bind-to", "none"] if is_open_mpi() else []
    return [MPIRUN, *more, "-n", str(ranks)]


def children(process, program):
    """The processes below that one which run the program, in the order of their ids."""
    found, parents = [], {process}
    for entry in sorted(pathlib.Path("/proc").iterdir(), key=lambda e: int(e.name) if e.name.isdigit() else 0):
        try:
            parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            if parent in parents:
                parents.add(int(entry.name))
                if os.readlink(entry / "exe") == os.path.realpath(program):
                    found.append(int(entry.name))
        except (OSError, ValueError):
            continue
    return found


def seconds(process):
    """Processor time that it has used."""
    fields = pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def alive(process):
    return tap.state(process) not in "ZX"


def why_not(program):
    """Why nothing can be tested here; None: it can."""
    if not MPIRUN:
        return "no mpirun"
    done = subprocess.run([program, "exec"], capture_output=True, text=True, timeout=tap.HANG, check=False,
                          env=environment(pathlib.Path(__file__).parents[2]))
    if done.returncode == 3 and "without MPI" in done.stderr:
        return "built without MPI"
    return None
# SPDX-License-Identifier: Apache-2.0
