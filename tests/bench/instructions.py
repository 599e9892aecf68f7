"""Counts the instructions of the hottest kernels under callgrind and holds them against instructions.json.

usage: instructions.py BENCH_ENGINE BUILDTYPE [--update]

instructions.json: for each kernel the arguments of bench_engine and the count that was recorded, with the compiler and
meson's build type that it was recorded with. Prints TAP; more than 10% above the record fails, as does a kernel without
one. A record of another compiler or build type is no measure: the kernel is skipped then. --update records what is
counted now.
"""
import json
import os
import re
import subprocess
import sys

RECORD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "instructions.json")
ALLOWED = 1.10


def compiler():
    return subprocess.run(["cc", "-dumpfullversion"], stdout=subprocess.PIPE, check=True,
                          text=True).stdout.strip()


def count(program, arguments):
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program, *arguments]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False, text=True,
                          env={**os.environ, "OMP_NUM_THREADS": "1"})
    collected = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or not collected:
        print(*(f"# {line}" for line in done.stderr.splitlines()), sep="\n")
        return None
    return int(collected[1])


def verdict(kernel, record, now, here):
    was = record.get("instructions")
    if now is None:
        return False, "the program failed"
    if was is None:
        return False, "nothing recorded: tests/bench/instructions.py build/tests/bench_engine release --update"
    with_what = record.get("compiler"), record.get("buildtype")
    if with_what != here:
        return True, "# SKIP recorded with {}, {}; this is {}, {}".format(*with_what, *here)
    return now <= was * ALLOWED, f"{now} instructions, {100 * (now / was - 1):+.1f}% of the record"


def main():
    arguments = sys.argv[1:]
    update = "--update" in arguments
    program, buildtype = (argument for argument in arguments if argument != "--update")
    here = f"gcc {compiler()}", buildtype
    with open(RECORD, encoding="utf-8") as file:
        records = json.load(file)
    print(f"1..{len(records)}")
    failed = 0
    for number, (kernel, record) in enumerate(records.items(), 1):
        now = count(program, record["arguments"])
        if update and now is not None:
            record.update(instructions=now, compiler=here[0], buildtype=buildtype)
        good, why = verdict(kernel, record, now, here)
        failed += not good
        print(f"{'ok' if good else 'not ok'} {number} - {kernel}{' ' if why.startswith('#') else ': '}{why}")
    if update:
        with open(RECORD, "w", encoding="utf-8") as file:
            json.dump(records, file, indent=2)
            file.write("\n")
    return 1 if failed else 0


sys.exit(main())
# SPDX-License-Identifier: Apache-2.0
