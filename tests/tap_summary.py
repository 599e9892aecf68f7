"""Sums the TAP results of meson's test logs.

usage: tap_summary.py TESTLOG.json...

Counts every subtest of every program and shows what failed ones said. A program that stops before its plan is through has failed the rest of it; one
that ends badly although its subtests passed (a leak found at exit, a time-out) has failed once more. The last line is
"N passed, N failed"; the status is 1 when anything failed, a log is missing or nothing ran.
"""
import json
import re
import sys

SUBTEST = re.compile(r"^(not )?ok\b[ \t]*\d*(.*)$")
PLAN = re.compile(r"^1\.\.(\d+)")
GOOD = {"OK", "EXPECTEDFAIL", "SKIP"}
MOST_LINES = 100


def count(text):
    """(passed, failed, skipped) of one program's output."""
    passed = failed = skipped = planned = 0
    for line in text.splitlines():
        if plan := PLAN.match(line):
            planned += int(plan[1])
            skipped += bool(re.search(r"#\s*skip", line, re.IGNORECASE))  # the whole program: what it needs is not there
        elif subtest := SUBTEST.match(line):
            if re.search(r"#\s*skip", subtest[2], re.IGNORECASE):
                skipped += 1
            elif subtest[1]:
                failed += 1
            else:
                passed += 1
    missing = max(0, planned - passed - failed - skipped)
    return passed, failed + missing, skipped


def ended_badly(run, skipped):
    """cmocka writes "not ok # SKIP", which meson takes for a failure: then the exit status decides."""
    if run["result"] == "FAIL" and skipped:
        return run["returncode"] != 0
    return run["result"] not in GOOD


def explain(run):
    """What a failed program said, without its passed subtests."""
    said = [line for line in (run.get("stdout") or "").splitlines() if not re.match(r"ok\b|1\.\.\d", line)]
    said += (run.get("stderr") or "").splitlines()
    for line in said[:MOST_LINES]:
        print(f"    {line}")
    if len(said) > MOST_LINES:
        print(f"    ... and {len(said) - MOST_LINES} lines more in the log")


def main(logs):
    passed = failed = skipped = 0
    for log in logs:
        try:
            with open(log, encoding="utf-8", errors="replace") as lines:
                runs = [json.loads(line) for line in lines if line.strip()]
        except OSError as problem:
            print(f"FAILED {log}: {problem.strerror}: no test ran")
            failed += 1
            continue
        if not runs:
            print(f"FAILED {log}: no test ran")
            failed += 1
        for run in runs:
            good, bad, left_out = count(run.get("stdout") or "")
            if bad == 0 and (ended_badly(run, left_out) or good + left_out == 0):
                bad = 1
            if bad:
                print(f"FAILED {log.split('/')[0]}: {run['name']}: {bad} of {good + bad}, {run['result']}")
                explain(run)
            passed, failed, skipped = passed + good, failed + bad, skipped + left_out
    if skipped:
        print(f"{skipped} skipped")
    print(f"{passed} passed, {failed} failed")
    return 0 if passed and not failed else 1


sys.exit(main(sys.argv[1:]))
# SPDX-License-Identifier: Apache-2.0
