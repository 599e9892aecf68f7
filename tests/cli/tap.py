"""Runs test functions, each with a temporary folder of its own, and prints what they did as TAP."""
import ctypes
import functools
import json
import math
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import time

HANG = 1200  # seconds for one call, the one limit: guards against what never ends, at 20 times the longest, and measures nothing


TESTS = []


def test(function):
    """A decorator: the function is one of the file's tests."""
    TESTS.append(function)
    return function


class Skip(Exception):
    """What a test raises when this machine lacks what it needs."""


@functools.cache
def python_with_torch():
    """Its path: $SPARSYNC_TORCH_PYTHON, this one, or the path's."""
    for python in filter(None, (os.environ.get("SPARSYNC_TORCH_PYTHON"), sys.executable, shutil.which("python3"))):
        if subprocess.run([python, "-c", "import torch, safetensors.torch"], capture_output=True).returncode == 0:
            return python
    raise Skip("no Python with the packages torch and safetensors (name one in SPARSYNC_TORCH_PYTHON)")


def npy(numbers):
    """Of whole numbers, as numpy writes them."""
    head = f"{{'descr': '<i8', 'fortran_order': False, 'shape': ({len(numbers)},), }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + struct.pack(f"<{len(numbers)}q", *numbers)


def write_json(folder, document, name="s.json"):
    """Its path."""
    (folder / name).write_text(json.dumps(document))
    return folder / name


def near(found, wanted, what="", within=1e-9):
    assert found is not None and math.isclose(found, wanted, rel_tol=within, abs_tol=1e-300), f"{what}: {found!r}, not {wanted!r}"


def give_up_privileges():
    """Programs that this process runs from here on may read and write what modes allow and no more, as root too."""
    for capability in (1, 2) if os.geteuid() == 0 else ():  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        if ctypes.CDLL(None, use_errno=True).prctl(24, capability, 0, 0, 0) != 0:  # PR_CAPBSET_DROP
            raise OSError(ctypes.get_errno(), "cannot give up a capability")


def wait_for(condition):
    """What the condition returns once that is true; an error when it never is."""
    deadline = time.monotonic() + HANG
    while not (found := condition()):
        assert time.monotonic() < deadline, "waited for too long"
        time.sleep(0.01)
    return found


def state(process):
    """A letter of proc(5): T is stopped, Z is over; X when there is no such process."""
    try:
        return pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return "X"


def run(tests=None, missing=None):
    """The exit status: 1 when a test failed. Tests are functions, or pairs of a name and a function, else those marked so; `missing` says why
    none can run here. Arguments behind the program and the source tree name the tests to run; none: all."""
    failed, tests = 0, [one if isinstance(one, tuple) else (one.__name__.replace("_", " "), one) for one in tests or TESTS]
    if wanted := sys.argv[3:]:
        assert set(wanted) <= {name for name, _ in tests}, f"no test is called {' or '.join(set(wanted) - {name for name, _ in tests})}"
        tests = [(name, function) for name, function in tests if name in wanted]
    print(f"1..{len(tests)}")
    for number, (name, function) in enumerate(tests, 1):
        with tempfile.TemporaryDirectory() as folder:
            try:
                if missing:
                    raise Skip(missing)
                function(pathlib.Path(folder))
                print(f"ok {number} - {name}")
            except Skip as reason:
                print(f"ok {number} - {name} # SKIP {reason}")
            except Exception as reason:  # a test that breaks has failed; the others still run
                failed += 1
                print(f"not ok {number} - {name}")
                print("\n".join(f"# {line}" for line in f"{type(reason).__name__}: {reason}".split("\n")))
        sys.stdout.flush()
    return failed > 0
# SPDX-License-Identifier: Apache-2.0
