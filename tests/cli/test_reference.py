#!/usr/bin/python3
"""docs/reference.md says what the program and models/costs say of the forms that papers print. Arguments: the program, the source tree. Prints TAP."""
import difflib
import json
import os
import pathlib
import subprocess
import sys

import tap

PROGRAM, ROOT = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
REFERENCE = (ROOT / "docs" / "reference.md").read_text()


def reference_is_up_to_date(folder):
    made = subprocess.run([sys.executable, str(ROOT / "docs" / "make_reference.py"), PROGRAM], capture_output=True, text=True,
                          check=True).stdout
    changed = list(difflib.unified_diff(REFERENCE.split("\n"), made.split("\n"), "docs/reference.md", "made now", n=0))[:20]
    assert not changed, "write it anew: docs/make_reference.py build/sparsync > docs/reference.md\n" + "\n".join(changed)


def reference_holds_what_papers_print(folder):
    """Independently of how the page is laid out: of each form that is printed, or is wrong, all is on it."""
    page = " ".join(REFERENCE.replace("\\|", "|").split())
    for path in sorted((ROOT / "models" / "costs").glob("*.json")):
        form = json.loads(path.read_text())
        assert f"\n## {form['scheme']}\n" in REFERENCE
        if not any(form.get(key) for key in ("paper", "paper_low", "erratum")):
            continue
        for key in ("exact", "exact_low", "exact_high", "paper", "paper_low", "paper_high", "printed_in", "assumes", "erratum"):
            assert not form.get(key) or " ".join(form[key].split()) in page, f"{path.name}: {key}"
        assert f"`{path.stem}`" in page


sys.exit(tap.run([reference_is_up_to_date, reference_holds_what_papers_print]))
# SPDX-License-Identifier: Apache-2.0
