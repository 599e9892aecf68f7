#!/usr/bin/python3
"""Completion for bash and zsh: what it offers, held against the program. Arguments: the program, the source tree. TAP."""
import json
import os
import pathlib
import shutil
import subprocess
import sys

import tap
from tap import test

PROGRAM, ROOT = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
ENVIRONMENT = {**os.environ, "SPARSYNC_DATA": str(ROOT), "TERM": "dumb"}


def bash(folder, *words):
    """What bash offers for the last of the words."""
    if not shutil.which("bash"):
        raise tap.Skip("needs bash")
    script = ('source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _sparsync; '
              'for word in "${COMPREPLY[@]}"; do echo "$word"; done')
    done = subprocess.run(["bash", "-c", script, "-", str(ROOT / "completion" / "sparsync.bash"), PROGRAM, *words],
                          capture_output=True, text=True, cwd=folder, env=ENVIRONMENT, timeout=tap.HANG)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout.split("\n")[:-1]


# Types lines into a real zsh, in a terminal of zsh's own making, asks for the list behind each and prints what it shows. A
# widget tells when the list is there.
ZSH = r"""
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'PS1=; PS2=; stty cols 200 rows 100; unsetopt zle_bracketed_paste; fpath=('$1' $fpath); autoload -Uz compinit; compinit -u -D'
zpty -w shell 'zstyle ":completion:*" list-grouped no; zstyle ":completion:*:default" list-prompt ""; setopt no_list_beep no_always_last_prompt; PATH='$2':$PATH; cd '$3'; LISTMAX=1000'
zpty -w shell 'shown() { zle list-choices; zle -R; print LIST''ED }; zle -N shown; bindkey "^X" shown; echo READY''NOW'
while zpty -r shell answer; do [[ $answer == *READYNOW* ]] && break; done
for line in "${@:4}"; do
  zpty -n -w shell "$line"$'\C-X'
  while zpty -r shell answer; do
    [[ $answer == *LISTED* ]] && break
    print -r -- "$answer"
  done
  print ANSWERED
  zpty -n -w shell $'\C-U'
done
zpty -d shell
"""


def zsh(folder, *lines):
    """The words that each line is answered with."""
    if not shutil.which("zsh"):
        raise tap.Skip("needs zsh")
    (folder / "bin").mkdir()
    (folder / "bin" / "sparsync").symlink_to(PROGRAM)
    done = subprocess.run(["zsh", "-f", "-c", ZSH, "-", str(ROOT / "completion"), str(folder / "bin"), str(folder), *lines],
                          capture_output=True, text=True, env=ENVIRONMENT, timeout=tap.HANG)
    answers = [set(answer.split()) for answer in done.stdout.replace("\r", "").split("ANSWERED\n")[:-1]]
    assert len(answers) == len(lines), done
    return answers


def commands():
    text = subprocess.run([PROGRAM, "--help"], capture_output=True, text=True, check=True).stdout
    return [line.split()[0] for line in text.split("\n") if line.startswith("  ")]


def names(things):
    text = subprocess.run([PROGRAM, "list", things, "--format", "json"], capture_output=True, text=True, check=True, env=ENVIRONMENT)
    return [item["name"] for item in json.loads(text.stdout)[things]]


@test
def bash_commands(folder):
    assert set(bash(folder, "")) == {*commands(), "--help", "--version"}
    assert bash(folder, "ch") == ["check"]
    assert set(bash(folder, "trace", "")) >= {"import", "synth", "merge", "stats", "info"}


@test
def bash_options_are_known_to_the_program(folder):
    verbs = [[name] for name in commands() if name not in ("trace", "calibrate", "export")]
    verbs += [[name, verb] for name in ("trace", "calibrate", "export") for verb in bash(folder, name, "") if verb != "--help"]
    for verb in verbs:
        offered = bash(folder, *verb, "-")
        assert "--help" in offered and len(offered) == len(set(offered)), (verb, offered)
        for option in offered:  # with one that nobody knows, so that nothing is done
            done = subprocess.run([PROGRAM, *verb, option, "--no-such"], capture_output=True, text=True, env=ENVIRONMENT, timeout=tap.HANG,
                                  stdin=subprocess.DEVNULL, cwd=folder)
            assert done.returncode == (0 if option == "--help" else 2) and f'unknown option "{option}"' not in done.stderr, (verb, option, done)
        done = subprocess.run([PROGRAM, *verb, "--no-such"], capture_output=True, text=True, env=ENVIRONMENT, timeout=tap.HANG, cwd=folder)
        assert 'unknown option "--no-such"' in done.stderr, (verb, done)
    run = set(bash(folder, "run", "--"))
    assert run >= {"--set", "--trace", "--cluster", "--scheme", "--ranks", "--bandwidth", "--latency", "--iterations", "--merge",
                   "--device", "--no-verify", "--format", "--per-rank", "--per-iteration", "--jobs", "--quiet", "--help"}, run
    assert set(bash(folder, "trace", "merge", "--")) == {"--tensor", "--source", "--quiet", "--memory", "--help"}


@test
def bash_names(folder):
    assert sorted(bash(folder, "run", "--scheme", "")) == sorted(names("schemes"))
    assert bash(folder, "run", "--scheme", "zen,allg") == ["zen,allgather"]
    assert bash(folder, "run", "--scheme", "=", "gto") == ["gtopk"]
    assert sorted(bash(folder, "plan", "--cluster", "")) == sorted(names("clusters"))
    assert sorted(bash(folder, "train", "--workload", "")) == sorted(names("workloads"))
    assert sorted(bash(folder, "train", "--system", "")) == sorted(names("systems"))
    assert sorted(bash(folder, "run", "")) == sorted(names("scenarios")) and bash(folder, "report", "dem") == ["demo"]
    assert set(bash(folder, "run", "--device", "")) == {*names("devices"), "none"}
    assert sorted(bash(folder, "cost", "sparc")) == sorted(n for n in names("schemes") if n.startswith("sparc"))
    assert set(bash(folder, "run", "--format", "")) == {"table", "json", "csv", "markdown"}
    assert set(bash(folder, "trace", "import", "--layout", "")) == {"stream", "sentence"}
    tools = bash(folder, "calibrate", "network", "--tool", "")
    assert {"all_reduce_perf", "osu_latency"} < set(tools)
    (folder / "empty.log").write_text("")
    for tool in tools:
        done = subprocess.run([PROGRAM, "calibrate", "network", "empty.log", "--tool", tool], capture_output=True, text=True, env=ENVIRONMENT, cwd=folder)
        assert "--tool" not in done.stderr, done
    assert set(bash(folder, "trace", "synth", "--dtype", "")) == {"F32", "F16", "BF16"}
    assert set(bash(folder, "list", "")) >= {"schemes", "costs", "clusters", "devices"}
    assert set(bash(folder, "claims", "z")) >= {"zen", "zen-fig8-gamma"}


@test
def bash_files(folder):
    (folder / "mine.safetensors").write_text("")
    (folder / "mine.json").write_text("")
    assert bash(folder, "run", "--trace", "mine.s") == ["mine.safetensors"]
    assert sorted(bash(folder, "run", "mi")) == ["mine.json", "mine.safetensors"]
    assert bash(folder, "run", "--cluster", "mine.j") == ["mine.json"]
    assert bash(folder, "run", "--bogus", "mine.j") == ["mine.json"]


@test
def zsh_offers_the_same(folder):
    (folder / "mine.safetensors").write_text("")
    (folder / "mine.json").write_text("")
    wanted = {"sparsync ": commands(), "sparsync trace ": ["import", "synth", "merge", "stats", "info"],
              "sparsync run --": ["--set", "--trace", "--scheme", "--per-iteration", "--help"],
              "sparsync run --scheme sparc": [n for n in names("schemes") if n.startswith("sparc")],
              "sparsync run --scheme zen,sparcml-": [n for n in names("schemes") if n.startswith("sparcml-")],
              "sparsync run --cluster=": names("clusters"), "sparsync train --workload ": names("workloads"),
              "sparsync train --system ": names("systems"), "sparsync report ": names("scenarios"), "sparsync list ": ["schemes", "costs", "clusters"],
              "sparsync run --trace mi": ["mine.safetensors", "mine.json"]}
    for (line, least), found in zip(wanted.items(), zsh(folder, *wanted)):
        assert found >= set(least), (line, found)


sys.exit(tap.run())
# SPDX-License-Identifier: Apache-2.0
