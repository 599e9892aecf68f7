"""Runs test functions, each with a temporary folder of its own, and prints what they did as TAP."""
import json
import pathlib
import sys
import tempfile

HANG = 1200  # seconds for one call, the one limit: guards against what never ends, at 20 times the longest, and measures nothing


class Skip(Exception):
    """What a test raises when this machine lacks what it needs."""


def write_json(folder, document, name="s.json"):
    """Its path."""
    (folder / name).write_text(json.dumps(document))
    return folder / name


def run(tests, missing=None):
    """The exit status: 1 when a test failed. Tests are functions, or pairs of a name and a function; `missing` says why
    none can run here."""
    failed = 0
    print(f"1..{len(tests)}")
    for number, test in enumerate(tests, 1):
        name, function = test if isinstance(test, tuple) else (test.__name__.replace("_", " "), test)
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
