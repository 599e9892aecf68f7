#!/usr/bin/python3
"""Writes docs/reference.md: the schemes as the program lists them, the closed forms as models/costs has them.

    docs/make_reference.py build/sparsync > docs/reference.md
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEAD = """# Reference: what papers print of costs, and what is exact

Written by `docs/make_reference.py` from `sparsync list schemes` and `models/costs/*.json`; a test holds it against both.
[model.md](model.md#schemes) defines the schemes, their options and the [symbols](model.md#symbols), and tells
[how forms are evaluated](model.md#closed-forms).

Here are the forms that a paper prints, or that have an erratum. `sparsync list costs` names all COUNT; `sparsync cost SCHEME
--format json` has the formula of each and what it assumes.

*Exact*, in seconds, is what the schedule gives under the assumptions, on one flat class of links, or the bounds between
which it lies: `sparsync check` plays them to 1e-9. *As printed* is the paper's own. Below a table stand the assumptions and
errata of its forms, by their numbers. A form holds for the options that its name has and for what stands beside it.
"""

OFFERED = """## What is offered to PyTorch

Here *offered* means: a library that is installed and called. `--offered` of `run`, `plan` and `train` leaves the rest out. A
scheme's options that are not named do not matter; behind a `hierarchy` nothing is offered but what is named so. Not offered
are also the algorithms of an all-gather other than a ring (gloo has no other; NCCL and MPI choose by themselves), and
`alltoall` of tokens or of bags without their empty ones. What runs over gloo alone is not offered on clusters of another
`library`.
"""


def wrapped(text, indent=""):
    """Lines of at most 125 letters, of which none begins like an item of a list."""
    lines = textwrap.wrap(text, 125, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return re.sub(r"\n *([-+*]) ", rf" \1\n{indent}", "\n".join(lines))


def cell(text):
    return text.replace("|", "\\|")


def code(text):
    return f"`{cell(text)}`"


def row(*cells):
    return "| " + " | ".join(cells) + " |"


def formula(form, kind):
    if form.get(kind):
        return code(form[kind])
    low, high = form.get(f"{kind}_low"), form.get(f"{kind}_high")
    return f"from {code(low)} to {code(high)}" if low and high else ""


def printed(form):
    """As the paper has it, and where."""
    return " in ".join(filter(None, (formula(form, "paper"), cell(form["printed_in"] or ""))))


def holds_for(name, form):
    """What the form's name does not say already."""
    words = [f"{key} {' or '.join(map(str, v)) if isinstance(v, list) else json.dumps(v).strip(chr(34))}"
             for key, v in form.get("when", {}).items()
             if key == "granularity" or not (key in name if v is True else str(v) in name)]
    return ", ".join(words + ([code(form["where"])] if form.get("where") else []))


def ranges(numbers):
    """[1, 2, 3, 5] as "1 to 3, 5"."""
    runs = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(low) if low == high else f"{low}{', ' if high == low + 1 else ' to '}{high}" for low, high in runs)


def notes(forms, key):
    """Each text once, behind the numbers of the forms that share it; without them where all do."""
    shared = {}
    for number, (_, form) in enumerate(forms, 1):
        if form.get(key):
            shared.setdefault(form[key], []).append(number)
    return [wrapped(f"- {text}" if len(numbers) == len(forms) else f"- {ranges(numbers)}: {text}", "  ")
            for text, numbers in shared.items()]


def closed_forms(forms):
    if not forms:
        return ["No paper prints its cost."]
    lines = [row("", "form", "holds for", "exact", "as printed"), "|---" * 5 + "|"]
    for number, (name, form) in enumerate(forms, 1):
        lines.append(row(str(number), code(name), holds_for(name, form), formula(form, "exact"), printed(form)))
    for title, key in (("Assumed:", "assumes"), ("Errata and notes:", "erratum")):
        found = notes(forms, key)
        lines += ["", title, "", *found] if found else []
    return lines


def offers(schemes, systems):
    """Who offers what to PyTorch, and what nobody does."""
    def named(name, options):
        return code(":".join(filter(None, (name, ",".join(f"{key}={value}" for key, value in options.items())))))

    lists = [("scheme", scheme["name"], offer) for scheme in schemes for offer in scheme["offered"]]
    lists += [("system", system["name"], system["offered"]) for system in systems if system["offered"]]
    groups = {}
    for kind, name, offer in lists:
        groups.setdefault((offer["by"], offer["how"], offer["url"]), []).append((kind, named(name, offer.get("options", {}))))
    rows = []
    for (by, how, url), things in sorted(groups.items(), key=lambda g: g[0][0].lower()):
        cells = (", ".join(name for kind, name in things if kind == wanted) for wanted in ("scheme", "system"))
        rows.append(row(f"[{by}]({url})", cell(how), *cells))
    nobody = (", ".join(code(x["name"]) for x in some if not x["offered"]) for some in (schemes, systems))
    return [row("offered by", "how", "schemes", "systems"), "|---|---|---|---|", *rows, row("nobody", "code of your own", *nobody)]


def main(program):
    def listed(things):
        done = subprocess.run([program, "list", things, "--format", "json"], capture_output=True, check=True,
                              env={**os.environ, "SPARSYNC_DATA": str(ROOT)})
        return json.loads(done.stdout)[things]
    schemes = listed("schemes")
    forms = [(path.stem, json.loads(path.read_text())) for path in sorted((ROOT / "models" / "costs").glob("*.json"))]
    shown = [(name, form) for name, form in forms if any(form.get(key) for key in ("paper", "paper_low", "erratum"))]
    lines = [HEAD.replace("COUNT", str(len(forms))).rstrip()]
    for scheme in schemes:
        own = [(name, form) for name, form in shown if form["scheme"] == scheme["name"]]
        lines += ["", f"## {scheme['name']}", "", wrapped(f"{scheme['summary']} ({scheme['source']})."), "",
                  *closed_forms(own)]
    lines += ["", OFFERED, *offers(schemes, listed("systems"))]
    print("\n".join(lines))


if __name__ == "__main__":
    main(sys.argv[1])
# SPDX-License-Identifier: Apache-2.0
