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
HEAD = """# Reference: schemes and their closed forms

Written by `docs/make_reference.py` from `sparsync list schemes` and `models/costs/*.json`; a test holds it against both.
[model.md](model.md#schemes) defines the schemes, their options and the [symbols](model.md#symbols), and tells
[how forms are evaluated](model.md#closed-forms). `sparsync list schemes` has a word on each option.

*Exact* is what the schedule gives under the assumptions, on one flat class of links, or the bounds between which it lies:
`sparsync check` plays them to 1e-9. *As printed* is the paper's own.
Where a paper is wrong or loose, the errata below the table say so.
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


def holds_for(form):
    words = [f"{key} {' or '.join(map(str, v)) if isinstance(v, list) else json.dumps(v).strip(chr(34))}"
             for key, v in form.get("when", {}).items()]
    return ", ".join(words + ([code(form["where"])] if form.get("where") else [])) or "always"


def notes(forms, key):
    """Each text once, behind the names of the forms that share it."""
    shared = {}
    for name, form in forms:
        if form.get(key):
            shared.setdefault(form[key], []).append(code(name))
    return [wrapped(f"- {', '.join(names)}: {text}", "  ") for text, names in shared.items()]


def options(scheme):
    if not scheme["options"]:
        return "No options."
    said = []
    for text in scheme["options"]:
        name, values = re.fullmatch(r"(\S+): (.*?) \(.*\)", text).groups()
        said.append(f"{code(name)} ({', '.join(map(code, values.split('|'))) if '|' in values else values})")
    return wrapped(f"Options, their defaults first: {'; '.join(said)}.")


def closed_forms(forms):
    if not forms:
        return ["No closed form."]
    lines = [row("form", "holds for", "exact, in seconds", "as printed"), row(*["---"] * 4)]
    for name, form in forms:
        lines.append(row(code(name), holds_for(form), formula(form, "exact"), printed(form)))
    for title, key in (("Assumed:", "assumes"), ("Errata, and what to know of the printed form:", "erratum")):
        found = notes(forms, key)
        lines += ["", title, "", *found] if found else []
    return lines


def main(program):
    listed = subprocess.run([program, "list", "schemes", "--format", "json"], capture_output=True, check=True,
                            env={**os.environ, "SPARSYNC_DATA": str(ROOT)})
    schemes = json.loads(listed.stdout)["schemes"]
    forms = [(path.stem, json.loads(path.read_text())) for path in sorted((ROOT / "models" / "costs").glob("*.json"))]
    lines = [HEAD, wrapped(", ".join(f"[`{scheme['name']}`](#{scheme['name']})" for scheme in schemes) + ".")]
    for scheme in schemes:
        own = [(name, form) for name, form in forms if form["scheme"] == scheme["name"]]
        ends = "the exact sum" if scheme["lossless"] else "a part of the sum, or an estimate of it"
        ends += ", each rank of its slice of the table" if scheme["model_parallel"] else ""
        lines += ["", f"## {scheme['name']}", "", wrapped(f"{scheme['summary']} ({scheme['source']}). Ends with {ends}."), "",
                  options(scheme), "", *closed_forms(own)]
    print("\n".join(lines))


if __name__ == "__main__":
    main(sys.argv[1])
