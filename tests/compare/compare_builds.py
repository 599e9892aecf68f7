"""Two builds of sparsync, the same questions: where do the answers differ?

usage: compare_builds.py OLD OLD_DATA NEW NEW_DATA [--only WORD] [--jobs N]

OLD and NEW are programs, OLD_DATA and NEW_DATA their source trees (models, scenarios, traces). Every scenario, figure and
claim that both trees ship is asked of both; standard output and the exit status must be the same, byte by byte, but for
the tree's own path and the time of day. JSON to which the new build only adds members is counted by itself. Ends with
"N same, N same but for new members, N differ"; status 1 when some differ. Give OLD_DATA twice to ask both builds about the
same files.
"""
import argparse, concurrent.futures, difflib, json, os, pathlib, re, subprocess, sys


def questions(tree):
    """Command lines, by name; paths are relative to the tree."""
    tree = pathlib.Path(tree)
    names = lambda folder: sorted(p.stem for p in (tree / folder).glob("*.json"))
    for name in names("scenarios"):
        for form in ("table", "json", "csv"):
            yield ["run", f"scenarios/{name}.json", "--format", form]
        yield ["plan", f"scenarios/{name}.json", "--format", "json", "--model-parallel"]
        yield ["report", f"scenarios/{name}.json", "-o", "-"]
    for name in names("scenarios/training"):
        for form in ("table", "json"):
            yield ["train", f"scenarios/training/{name}.json", "--format", form]
    for name in names("scenarios/figures"):
        if name != "zen-fig16":  # times this machine
            yield ["plot", name, "--data", "-"]
    for paper in ("embrace", "zen", "spardl", "s2"):
        yield ["claims", paper, "--format", "json"]
    yield ["check", "--format", "json"]
    yield ["check"]
    yield ["cost", "--M", "856MB", "--density", "2.8%", "--row-width", "64", "--ranks", "4..64"]
    yield ["cost", "--M", "856MB", "--density", "2.8%", "--format", "json"]
    for over, more in (("ranks", []), ("density", []), ("bandwidth", []), ("ranks", ["--simulate", "--range", "2..32"])):
        size = ["--M", "85MB", "--row-width", "64"] + ([] if over == "density" else ["--density", "2.8%"])
        for form in ("table", "json", "csv"):
            yield ["crossover", "zen:format=coo", "allreduce", "--over", over, "--format", form] + size + more
    for trace in sorted((tree / "traces").glob("*.safetensors")):
        yield ["trace", "info", f"traces/{trace.name}"]
        yield ["trace", "stats", f"traces/{trace.name}", "--format", "csv"]
        yield ["trace", "fit", f"traces/{trace.name}", "--format", "json"]
    for things in ("schemes", "costs", "clusters", "devices", "workloads", "systems", "figures", "claims"):
        yield ["list", things, "--format", "json"]


def answer(program, tree, words):
    run = subprocess.run([program, *words], cwd=tree, capture_output=True, text=True, env={**os.environ, "SPARSYNC_DATA": str(tree), "OMP_NUM_THREADS": "1"})
    text = run.stdout.replace(str(tree), "TREE") + f"\nstatus {run.returncode}\n" + run.stderr.replace(str(tree), "TREE")
    return re.sub(r"\d{4}-\d\d-\d\d", "DATE", text)


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


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("trees", nargs=4, metavar="OLD OLD_DATA NEW NEW_DATA")
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    asked = parser.parse_args()
    old, old_tree, new, new_tree = (os.path.abspath(p) for p in asked.trees)
    words = [w for w in questions(old_tree) if asked.only in " ".join(w)]
    same, more, differ = 0, 0, 0
    with concurrent.futures.ThreadPoolExecutor(asked.jobs) as pool:
        pairs = pool.map(lambda w: (w, answer(old, old_tree, w), answer(new, new_tree, w)), words)
        for question, before, after in pairs:
            if before == after or only_adds(before, after):
                same, more = (same + 1, more) if before == after else (same, more + 1)
                continue
            differ += 1
            lines = list(difflib.unified_diff(before.splitlines(), after.splitlines(), "old", "new", lineterm="", n=0))
            print("sparsync", *question, f"-- {len(lines)} lines of difference")
            for line in lines[:8]:
                print("   ", line[:200], flush=True)
    print(f"{same} same, {more} same but for new members, {differ} differ")
    sys.exit(differ > 0)


if __name__ == "__main__":
    main()
