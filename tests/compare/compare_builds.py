"""Two builds of sparsync, the same questions: where do the answers differ?

usage: compare_builds.py OLD OLD_DATA NEW NEW_DATA [--only WORD] [--jobs N]
       compare_builds.py record OLD OLD_DATA ANSWERS.json [--only WORD] [--jobs N]
       compare_builds.py against ANSWERS.json NEW NEW_DATA [--only WORD] [--jobs N]

OLD and NEW are programs, OLD_DATA and NEW_DATA their source trees (models, scenarios, traces). Every scenario, figure and
claim that the old tree ships is asked of both; standard output and the exit status must be the same, byte by byte, but for
the tree's own path, the version, the time of day and identities (point_hash,
result_hash). JSON to which the new build only adds members is counted by itself.
Ends with "N same, N same but for new members, N differ"; status 1 when some differ. Give OLD_DATA twice to ask both builds
about the same files. `record` keeps the old answers, `against` compares a build with what was kept.
"""
import argparse, concurrent.futures, difflib, json, os, pathlib, re, subprocess, sys


def questions(tree):
    """Command lines, by name; paths are relative to the tree."""
    tree = pathlib.Path(tree)
    names = lambda folder: sorted(p.stem for p in (tree / folder).glob("*.json"))
    for name in names("scenarios"):
        for form in ("table", "json", "csv"):
            yield ["run", f"scenarios/{name}.json", "--format", form]
        yield ["run", f"scenarios/{name}.json", "--wide"]
        yield ["check", f"scenarios/{name}.json"]
        yield ["plan", f"scenarios/{name}.json", "--format", "json", "--model-parallel"]
        yield ["plan", f"scenarios/{name}.json"]
        yield ["report", f"scenarios/{name}.json", "-o", "-"]
    for form in ("goal", "chakra"):
        for scheme in ("zen", "allgather", "ps"):
            yield ["export", form, "scenarios/demo.json", "--scheme", scheme, "--cluster", "rtx3090-10gbe", "--ranks", "4", "-o", "-"]
    for name in names("scenarios/training"):
        for form in ("table", "json"):
            yield ["train", f"scenarios/training/{name}.json", "--format", form]
    for name in names("scenarios/figures"):
        if name != "zen-fig16":  # times this machine
            yield ["plot", name, "--data", "-"]
    for paper in ("embrace", "zen", "spardl", "s2"):
        yield ["claims", paper, "--format", "json"]
    yield ["claims"]
    yield ["check", "--format", "json"]
    yield ["check"]
    yield ["cost", "--M", "856MB", "--density", "2.8%", "--row-width", "64", "--ranks", "4..64"]
    yield ["cost", "--M", "856MB", "--density", "2.8%", "--format", "json"]
    for over, more in (("ranks", []), ("density", []), ("bandwidth", []), ("ranks", ["--simulate", "--range", "2..32"])):
        size = ["--M", "85MB", "--row-width", "64"] + ([] if over == "density" else ["--density", "2.8%"])
        for form in ("table", "json", "csv"):
            yield ["crossover", "zen:format=coo", "allreduce", "--over", over, "--format", form] + size + more
    for collective in ("allreduce", "allgather", "alltoall"):
        yield ["collective", collective, "--cluster", "p3.16xlarge-25g", "--ranks", "16", "--sizes", "1KiB:256MiB"]
    for trace in sorted((tree / "traces").glob("*.safetensors")):
        yield ["trace", "info", f"traces/{trace.name}"]
        yield ["trace", "stats", f"traces/{trace.name}", "--format", "csv"]
        yield ["trace", "fit", f"traces/{trace.name}", "--format", "json"]
    for things in ("schemes", "costs", "clusters", "devices", "workloads", "systems", "figures", "claims"):
        yield ["list", things, "--format", "json"]


def answer(program, tree, words):
    run = subprocess.run([program, *words], cwd=tree, capture_output=True, text=True, errors="replace",
                         env={**os.environ, "SPARSYNC_DATA": str(tree), "OMP_NUM_THREADS": "1"})
    text = run.stdout.replace(str(tree), "TREE") + f"\nstatus {run.returncode}\n" + run.stderr.replace(str(tree), "TREE")
    text = re.sub(r"(sparsync\W{1,5})\d+\.\d+\.\d+", r"\1VERSION", text)
    return re.sub(r"\d{4}-\d\d-\d\d", "DATE", text)


def unhashed(text):
    """Identities of points and results are of how a build reads a scenario, not of what comes of it."""
    return re.sub(r"xxh128:[0-9a-f]{32}", "HASH", text)


def less(new, old):
    """The new document without the members that the old one lacks."""
    if isinstance(new, dict) and isinstance(old, dict):
        return {key: less(value, old[key]) for key, value in new.items() if key in old}
    if isinstance(new, list) and isinstance(old, list) and len(new) == len(old):
        return [less(*pair) for pair in zip(new, old)]
    return new


def only_adds(before, after):
    """Whether both are JSON, with equal standard errors and status, and the new one has all that the old one has."""
    (before, status), (after, status_after) = (text.split("\nstatus ", 1) for text in (before, after))
    try:
        old, new = json.loads(before), json.loads(after)
    except ValueError:
        return False
    return status == status_after and json.dumps(less(new, old)) == json.dumps(old)


def asked_of(program, tree, questions, jobs):
    """(question, answer) in the questions' order."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(lambda words: (words, answer(program, tree, words)), questions)


def compare(old, new):
    """Prints where the answers differ; old and new: (question, answer) in one order."""
    same, more, differ = 0, 0, 0
    for (question, before), (_, after) in zip(old, new):
        before, after = unhashed(before), unhashed(after)
        if before == after or only_adds(before, after):
            same, more = (same + 1, more) if before == after else (same, more + 1)
            continue
        differ += 1
        lines = list(difflib.unified_diff(before.splitlines(), after.splitlines(), "old", "new", lineterm="", n=0))
        print("sparsync", *question, f"-- {len(lines)} lines of difference")
        for line in lines[:8]:
            print("   ", line[:200], flush=True)
    print(f"{same} same, {more} same but for new members, {differ} differ")
    return differ > 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("words", nargs=4, metavar="OLD OLD_DATA NEW NEW_DATA")
    parser.add_argument("--only", default="", help="questions whose command line has the word")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    asked = parser.parse_args()
    first, *paths = asked.words
    chosen = lambda questions: [w for w in questions if asked.only in " ".join(w)]
    if first == "record":
        program, tree = (os.path.abspath(p) for p in paths[:2])
        kept = list(asked_of(program, tree, chosen(questions(tree)), asked.jobs))
        pathlib.Path(paths[2]).write_text(json.dumps(kept))
        return print(f"{len(kept)} answers kept")
    if first == "against":
        kept = json.loads(pathlib.Path(paths[0]).read_text())
        kept = [(w, before) for w, before in kept if asked.only in " ".join(w)]
        program, tree = (os.path.abspath(p) for p in paths[1:])
        sys.exit(compare(kept, asked_of(program, tree, [w for w, _ in kept], asked.jobs)))
    old, old_tree, new, new_tree = (os.path.abspath(p) for p in asked.words)
    words = chosen(questions(old_tree))
    sys.exit(compare(asked_of(old, old_tree, words, asked.jobs), asked_of(new, new_tree, words, asked.jobs)))


if __name__ == "__main__":
    main()
# SPDX-License-Identifier: Apache-2.0
