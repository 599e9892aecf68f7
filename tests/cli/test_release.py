#!/usr/bin/python3
"""What a release consists of besides the program: who may cite, package, and run it, and what stays of its formats. Arguments: the
program, the source tree. Prints TAP."""
import json
import pathlib
import re
import subprocess
import sys

import tap
from asking import PROGRAM, ROOT
from tap import test

VERSION = re.search(r"version: '([\d.]+)'", (ROOT / "meson.build").read_text()).group(1)


def yaml():
    try:
        import yaml
    except ImportError:
        raise tap.Skip("there is no python3-yaml") from None
    return yaml


@test
def the_version_is_one(_):
    """Of the program, the citation, the Debian package."""
    assert subprocess.run([PROGRAM, "--version"], capture_output=True, text=True).stdout.startswith(f"sparsync {VERSION}\n")
    assert re.match(rf"sparsync \({re.escape(VERSION)}-\d+\) ", (ROOT / "debian" / "changelog").read_text())
    assert f"\nversion: {VERSION}\n" in (ROOT / "CITATION.cff").read_text()


@test
def the_citation_can_be_read(_):
    """The keys that Citation File Format 1.2.0 asks for, and no others."""
    cite = yaml().safe_load((ROOT / "CITATION.cff").read_text())
    assert {"cff-version", "message", "title", "authors"} <= cite.keys() <= {"cff-version", "message", "title", "authors", "type", "version", "license",
                                                                          "abstract", "keywords"}
    assert cite["cff-version"] == "1.2.0" and cite["license"] == "Apache-2.0" and all(a.keys() <= {"name"} for a in cite["authors"])


@test
def ci_files_are_what_they_say(folder):
    """The two of docs/ci.md are YAML of the services' shapes, and call commands and options that there are."""
    page = (ROOT / "docs" / "ci.md").read_text()
    github, gitlab = (yaml().safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", page, re.S))
    steps = github["jobs"]["costs"]["steps"]
    assert github[True] == ["push", "pull_request"] and all(("uses" in s) != ("run" in s) for s in steps)  # "on" is true in YAML 1.1
    assert {"image", "before_script", "script", "artifacts"} == gitlab["costs"].keys() and gitlab["costs"]["artifacts"]["reports"]["junit"] == "expectations.xml"
    lines = [line for s in steps for line in s.get("run", "").splitlines()] + gitlab["costs"]["before_script"] + gitlab["costs"]["script"]
    called = [line.removeprefix("build/sparsync ").split("|")[0].split() for line in lines if line.startswith("build/sparsync")]
    assert len(called) == 6, called
    for words in called:
        text = subprocess.run([PROGRAM, words[0], "--help"], capture_output=True, text=True, check=True).stdout
        for option in (w for w in words if w.startswith("-")):
            assert f"{option} " in text, (words, option)
    for line in lines:
        for group in re.findall(r"\./dev setup (\w+)", line):
            assert f"  [{group}]=" in (ROOT / "dev").read_text(), group


@test
def containers_have_what_the_program_links(_):
    """Its libraries' Debian packages are in the last stage; the first is built by ./dev, which knows what that takes."""
    text = (ROOT / "Containerfile").read_text()
    last = text.split("\nFROM ")[-1]
    assert "./dev setup build mpi chakra" in text and 'ENTRYPOINT ["sparsync"]' in last
    wanted = {"libgsl", "libcjson", "libmuparser", "libxxhash", "libgomp", "libprotobuf-c", "libmpi"}
    linked = {re.match(r"lib[a-z-]*", name).group(0) for name in re.findall(r"^\s+(lib\S+)", subprocess.run(
        ["ldd", PROGRAM], capture_output=True, text=True, check=True).stdout, re.M)}
    for library in wanted & linked:
        assert {"libmpi": "libopenmpi"}.get(library, library) in last, library


@test
def every_file_has_a_licence(_):
    """By REUSE.toml; and once sources name it themselves (./dev spdx), all do."""
    text = (ROOT / "REUSE.toml").read_text()
    assert 'path = "**"' in text and 'Identifier = "Apache-2.0"' in text
    assert (ROOT / "LICENSES" / "Apache-2.0.txt").read_text() == (ROOT / "LICENSE").read_text() and "Apache License" in (ROOT / "LICENSE").read_text()
    sources = [path for folder in ("src", "tests", "examples", "plots", "traces", "docs") for path in (ROOT / folder).rglob("*")
               if path.suffix in (".c", ".h", ".cu", ".cpp", ".py", ".gp", ".awk", ".js") and path.is_file() and not path.is_symlink() and "corpus" not in path.parts]
    said = [path for path in sources if "SPDX-License-" + "Identifier: Apache-2.0" in path.read_text()]
    assert len(sources) > 300 and len(said) in (0, len(sources)), f"./dev spdx was not run: {sorted(set(sources) - set(said))[:3]}"


@test
def what_stays_stays(_):
    """docs/results.md promises that no field goes and none changes its kind: those of the release are in a list."""
    kept = json.loads((ROOT / "tests" / "cli" / "data" / "fields.json").read_text())
    assert len(kept["run"]) > 60 and len(kept) >= 8, {name: len(fields) for name, fields in kept.items()}
    for name, fields in kept.items():
        now = fields_of(json.loads((ROOT / "docs" / "schemas" / f"{name}.schema.json").read_text()))
        for path, kind in fields.items():
            assert path in now, f"{name}: {path} is gone"
            assert set(kind) <= set(now[path]), f"{name}: {path} was {kind} and is {now[path]}"


def fields_of(schema):
    """{"points[].time_s": ["number"]} of a schema, its references followed once each."""
    found = {}

    def walk(node, path, seen):
        while "$ref" in node:
            if node["$ref"] in seen:
                return
            seen = {*seen, node["$ref"]}
            target = schema
            for part in node["$ref"].removeprefix("#/").split("/"):
                target = target[part]
            node = {**target, **{k: v for k, v in node.items() if k != "$ref"}}
        for one in [*node.get("allOf", []), *node.get("anyOf", []), *node.get("oneOf", [])]:
            walk(one, path, seen)
        kinds = node.get("type", [])
        if path:
            found.setdefault(path, [])
            found[path] = sorted({*found[path], *([kinds] if isinstance(kinds, str) else kinds)})
        for name, inner in node.get("properties", {}).items():
            walk(inner, f"{path}.{name}".lstrip("."), seen)
        if isinstance(node.get("items"), dict):
            walk(node["items"], path + "[]", seen)

    walk(schema, "", set())
    return found


if sys.argv[3:4] == ["--update"]:  # at a release: what is there now is promised, too
    here = pathlib.Path("tests/cli/data/fields.json")
    names = ("run", "plan", "train", "cost", "crossover", "check", "claims", "trace-stats", "collective", "list", "exec", "learn")
    lines = [f'"{n}": ' + json.dumps(fields_of(json.loads((ROOT / "docs" / "schemas" / f"{n}.schema.json").read_text()))) for n in names]
    here.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    sys.exit()
sys.exit(tap.run())
# SPDX-License-Identifier: Apache-2.0
