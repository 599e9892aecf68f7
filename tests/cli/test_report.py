#!/usr/bin/python3
"""sparsync report: the page as HTML, its words and numbers against those of run and plan, hostile texts, without gnuplot, and in a
browser (chromium, if it is there). Arguments: the program, the source tree. Prints TAP."""
import base64
import hashlib
import html.parser
import json
import os
import re
import shutil
import subprocess
import sys

import tap
from asking import ENVIRONMENT, GNUPLOT, PROGRAM, ROOT, call, need_gnuplot
from tap import test

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
KJV = ROOT / "traces" / "bible-kjv-16.safetensors"
EIGHTH = ["--set", "trace.gradient.elements=8192", "--set", "expect=[]"]  # of llm-8x8's gradient
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}


def without_gnuplot(folder):
    """A PATH that has nothing."""
    (folder / "empty").mkdir(exist_ok=True)
    return {**ENVIRONMENT, "PATH": str(folder / "empty")}


class Page(html.parser.HTMLParser):
    """Balance, texts by element, and what a browser would load or run."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.text, self.open, self.tags, self.attributes, self.words, self.faults = text, [], [], [], {}, []
        self.tables, self.ids = [], []
        self.feed(text)
        self.close()
        if self.open:
            self.faults.append(f"never closed: {self.open}")

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attributes]
        self.ids += [value for name, value in attributes if name == "id"]
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")
            if tag == "th" and not any(name == "scope" for name, _ in attributes):
                self.faults.append("a th without scope")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attributes]
        self.ids += [value for name, value in attributes if name == "id"]

    def handle_endtag(self, tag):
        if not self.open or self.open[-1] != tag:
            self.faults.append(f"</{tag}> closes {self.open[-3:]} at {self.getpos()}")
        else:
            self.open.pop()

    def handle_data(self, data):
        for tag in set(self.open):
            self.words[tag] = self.words.get(tag, "") + data
        if "td" in self.open or ("th" in self.open and self.tables):
            self.tables[-1][-1][-1] += data

    def rows(self, *heads):
        """The tables whose first heads these are, as lists of dictionaries."""
        return [[dict(zip(t[0], row)) for row in t[1:]] for t in self.tables if t and tuple(t[0][:len(heads)]) == heads]


def page_of(*arguments, status=0, environment=ENVIRONMENT, folder, slides=False):
    path = folder / "page.html"
    _, told = call("report", *arguments, *([] if slides else ["--no-sliders"]), "--quiet", "-o", path, status=status, environment=environment)
    page = Page(path.read_text())
    check_sound(page)
    page.path, page.told = path, told
    return page


def check_scripts(page):
    """The numbers, and one script, which the page allows by its hash: no other one can run."""
    found = re.findall(r"<script([^>]*)>(.*?)</script>", page.text, re.S)
    assert page.tags.count("script") == page.text.lower().count("<script") == len(found) == 2, "not two scripts"
    assert [attributes for attributes, _ in found] == [' type="application/json" id="data"', ""]
    page.data = json.loads(found[0][1])
    assert not re.search("[<>&]", found[0][1])
    run = base64.b64encode(hashlib.sha256(found[1][1].encode()).digest()).decode()
    assert f"content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{run}'\"" in page.text


def check_sound(page):
    """What every page must be."""
    assert not page.faults, page.faults[:5]
    assert page.text.startswith("<!DOCTYPE html>\n<html lang=\"en\">"), page.text[:60]
    check_scripts(page)
    for tag in ("link", "iframe", "img", "object", "embed", "base", "form"):
        assert tag not in page.tags, f"<{tag}> on the page"
    for tag, name, value in page.attributes:
        assert not name.startswith("on"), f"{tag} has {name}"
        assert name not in ("src", "srcset", "poster", "data", "action", "formaction"), f"{tag} loads {value}"
        assert name not in ("href", "xlink:href") or value.startswith("#"), f"{tag} points to {value}"
        assert not re.search(r"url\(\s*['\"]?(?!#)", value), f"{tag} {name} loads {value}"
    style = "".join(re.findall(r"<style>(.*?)</style>", page.text, re.S))
    assert "url(" not in style and "@import" not in style and "@font-face" not in style
    assert "prefers-color-scheme:dark" in style and "@media print" in style and "max-width:40rem" in style
    assert "<?xml" not in page.text and page.text.count("<!DOCTYPE") == 1
    assert any(a == ("meta", "name", "viewport") for a in page.attributes)
    double = {name for name in page.ids if page.ids.count(name) > 1}
    assert not double, f"ids that stand twice: {sorted(double)[:5]}"
    for tag, name, value in page.attributes:
        targets = re.findall(r"url\(\s*['\"]?#([^'\")]+)", value) + ([value[1:]] if name in ("href", "xlink:href") else [])
        targets += value.split() if name == "aria-labelledby" else []
        for target in targets:
            assert target in page.ids, f"{tag} {name} points to #{target}, which is not there"
    assert page.tags.count("h1") == 1 and "h2" in page.tags and "h3" in page.tags and "main" in page.tags


# --- what it says -----------------------------------------------------------------------------------------------------


@test
def tables_are_those_of_run(folder):
    page = page_of("scenarios/demo.json", folder=folder)
    points = json.loads(call("run", "scenarios/demo.json", "--format", "json", "--quiet")[0])["points"]
    places = page.rows("scheme", "time (90%)")
    assert len(places) == 3 and all(len(rows) == 4 for rows in places)
    for point, row in zip(points, [row for rows in places for row in rows]):
        assert row["scheme"] == point["label"], (row, point["label"])
        assert abs(seconds(row["time (90%)"]) / point["time_s"] - 1) < 6e-3, (row, point["time_s"])
        assert row["exact"] == "yes"
    for point in points:
        for text in (point["formula"], point["paper"], point["erratum"]):
            assert text is None or text in page.words["section"], f"{text!r} is not on the page"
    assert {p["trace_hash"] for p in points} == set(re.findall(r"xxh64:[0-9a-f]{16}", page.words["td"]))


def answer_of(page):
    """What the box says, line by line, and the rows of the table below it."""
    words = re.findall(r"<p>(.*?)</p>", page.text.split('<div class="answer">')[1].split("</div>")[0], re.S)
    return [Page(f"<main>{w}</main>").words["main"] for w in words], [dict(zip(page.tables[0][0], row)) for row in page.tables[0][1:]]


@test
def the_answer_is_that_of_plan(folder):
    """The same sentences and the same table, for all shipped scenarios, where plan may take any of their schemes."""
    files = sorted(path.relative_to(ROOT) for path in (ROOT / "scenarios").glob("*.json"))
    assert len(files) >= 5, files
    for file in files:
        large = "gradient" in json.loads((ROOT / file).read_text())["trace"]  # an eighth of it has as many schemes and places
        question = [file, "--no-verify", *(EIGHTH if large else [])]
        text = call("plan", *question, "--lossy", "--model-parallel")[0]
        words, rows = answer_of(page_of(*question, folder=folder, environment=without_gnuplot(folder)))
        told, table = text.split("\n\n")[1:3]
        assert words == told.split("\n"), (file, words, told)
        assert [re.sub(" +", " ", " ".join(row.values())) for row in rows] == [re.sub(" +", " ", line) for line in table.split("\n")[2:]] \
            or any("at" in row for row in rows) and len(rows) == len(table.split("\n")) - 2, (file, rows, table)


@test
def the_fastest_is_marked(folder):
    page = page_of("scenarios/demo.json", "--set", 'schemes=["allreduce", "allgather", "ps"]', "--device", "none", folder=folder)
    marked = re.findall(r'<tr class="best"><th scope="row" class="left">([^<]*)', page.text)
    assert marked == ["allgather"] * 3, marked
    assert "kernels not counted" in page.words["dd"]


UNITS = {"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}


def seconds(text):
    number, unit = text.split()[:2]  # and the range
    return float(number) * UNITS[unit]


@test
def without_schemes_all_that_plan_tries_is_tried(folder):
    """Algorithms, formats and hierarchies: of the same question the page and plan have the same answer."""
    cluster = {"name": "nodes", "latency": "10us", "bandwidth": "10Gbps", "gpus_per_node": 4, "nic": "per-node",
               "intra": {"latency": "1us", "bandwidth": "50GB/s"}}
    (folder / "s.json").write_text(json.dumps({"trace": str(KJV), "cluster": cluster, "ranks": [4, 16], "iterations": "0:2",
                                               "sweep": {"cluster.latency": ["1us", "100us"]}}))
    for admitted in ([], ["--lossy", "--model-parallel"]):
        rows = json.loads(call("plan", folder / "s.json", *admitted, "--format", "json")[0])["plan"]
        page = page_of(folder / "s.json", *admitted, folder=folder, environment=without_gnuplot(folder))
        winners = answer_of(page)[1]
        assert [w["scheme"] for w in winners] == [row["label"] for row in rows], (winners, [row["label"] for row in rows])
        shown = page.rows("scheme", "time (90%)")
        assert {len(table) for table in shown} == {row["candidates"] for row in rows}
        assert any("shard" in row["scheme"] for table in shown for row in table)
        assert ("Not considered: lossy" in page.words["p"]) == (admitted == [])


@test
def a_sweep_over_hierarchies_names_the_best_of_all(folder):
    axes = sweep(("hierarchy", ["none", "shard", "leader"]), ("cluster.nic", ["per-rank", "per-node"]))
    question = ["scenarios/llm-8x8.json", *axes, "--scheme", "sparcml-rd,allgather", "--no-verify", *EIGHTH]
    rows = json.loads(call("plan", *question, "--format", "json")[0])["plan"]
    page = "\n".join(answer_of(page_of(*question, folder=folder, environment=without_gnuplot(folder)))[0])
    words = call("plan", *question)[0]
    assert page.count("Of all hierarchies") == words.count("Of all hierarchies") == 2
    for nic in ("per-rank", "per-node"):
        best = min((row for row in rows if row["at"]["cluster.nic"] == nic), key=lambda row: row["time_s"])
        place = best["at"]["hierarchy"]
        for text in (page, words):
            told = re.search(f"Of all hierarchies {best['label']} is the cheapest for tensor, ([^,]*), on [^<\n]*"
                             f"hierarchy = {place}, cluster.nic = {nic}", text)
            assert told and abs(seconds(told[1]) / best["time_s"] - 1) < 6e-3, (nic, text)
    # ranks are places of their own: each says what it says alone
    several, alone = (call("plan", *question, "--ranks", ranks)[0] for ranks in ("32,64", "32"))
    lines = [[line for line in text.splitlines() if line.startswith("Of all hierarchies")] for text in (several, alone, words)]
    assert len(lines[1]) == 2 and sorted(lines[0]) == sorted(lines[1] + lines[2]), lines
    # where no hierarchy varies nothing is said of them
    assert "Of all hierarchies" not in call("plan", "scenarios/llm-8x8.json", "--no-verify", "--scheme", "sparcml-rd", *EIGHTH)[0]


@test
def expectations_pass_and_fail(folder):
    page = page_of("scenarios/shared-nic.json", folder=folder)
    assert page.words["li"].count("holds: ") == 3 and "fails" not in page.words["li"]
    assert "time_s of allgather:rings=1 < alltoall at cluster.nic = per-node" in page.words["code"]
    document = json.loads((ROOT / "scenarios/shared-nic.json").read_text())
    document["expect"][0]["is"] = ">"
    (folder / "wrong.json").write_text(json.dumps(document))
    wrong = page_of(folder / "wrong.json", status=1, folder=folder)
    assert wrong.words["li"].count("holds: ") == 2 and wrong.words["li"].count("fails: ") == 1
    assert "found 0.002" in wrong.words["li"], "a failed expectation shows what was found"
    assert "1 of 3 expectations failed" in wrong.words["p"] and "expected time_s of allgather" in wrong.told


@test
def who_may_be_fastest_stands_in_table_and_figure(folder):
    """zen, leader takes nearly twice as long as the best, and may all the same be the fastest."""
    question = ["scenarios/llm-8x8.json", "--no-verify", "--set", "expect=[]", *sweep(("cluster.window", [1]), ("cluster.nic", ["per-node"]))]
    row, = json.loads(call("plan", *question, "--format", "json")[0])["plan"]
    assert row["rival"] and row["rival"] != row["next"] and row["rival_time_s"] > 1.5 * row["time_s"], "this shows nothing"
    page = page_of(*question, folder=folder)
    told, (shown,) = answer_of(page)
    assert any(f"{row['rival']}, " in line and "likely fastest" in line for line in told), told
    assert (shown["next"], shown["rival"]) == (row["next"], row["rival"]), shown
    assert shown["takes (90%)"].startswith(f"{row['next_time_s'] / row['time_s']:.2f}x "), shown
    assert row["rival"] in [label["name"] for label in page.data["labels"] if label["style"] > 0], page.data["labels"]


@test
def each_with_its_own_stands_in_the_figure(folder):
    """Of several tables the fastest may be no scheme, but each table's own: drawn with its range, it slides and hides as they do."""
    need_gnuplot()
    question = ["--trace", "traces/flights-16.safetensors", "--iterations", "0:2", "--cluster", "rtx3090-10gbe", "--ranks", "4", "--no-verify",
                "--scheme", "allreduce,allgather"]
    *parts, whole = json.loads(call("plan", *question, "--quiet", "--format", "json")[0])["plan"]
    assert whole["tensor"] == "*" and whole["label"] is None and {row["label"] for row in parts} == {"allreduce", "allgather"}, "this shows nothing"
    page = page_of(*question, folder=folder, slides=True)
    own, = [row for cell in page.data["cells"] for row in cell["rows"] if row.get("own")]
    assert page.data["cells"][-1]["rows"][-1] == own and page.text.count(">each with its own</text>") == 2, own  # wide and narrow
    for ours, planned in ((own["times"], whole["time_s"]), (own["low"], whole["time_low_s"]), (own["high"], whole["time_high_s"])):
        assert abs(ours / planned - 1) < 1e-8, (own, whole)
    if not CHROMIUM:
        return
    given, slid, less = ask(folder, page, """[own(), (slide(-1, 1), own()), (slide(0, 0), toggle('allgather'), own())]""")
    assert given == f"each with its own: {shown(whole['time_s'])} ({shown(whole['time_low_s'])} to {shown(whole['time_high_s'])}) \u2013 4 ranks on rtx3090-10gbe, all tensors together", given
    half, double = (page.data["factors"].index(f) for f in (0.5, 2))
    fastest = [min(row["times"][half][double] for row in cell["rows"]) for cell in page.data["cells"][:-1]]
    assert slid.startswith(f"each with its own: {shown(sum(fastest))} "), (slid, sum(fastest))
    one = page.data["factors"].index(1)
    dense = [row["times"][one][one] for cell in page.data["cells"][:-1] for row in cell["rows"] if row["label"] == "allreduce"]
    assert less.startswith(f"each with its own: {shown(sum(dense))} "), (less, sum(dense))


@test
def values_of_models_are_words(folder):
    """A calibrated device nests: no JSON, and no cell that runs over the page."""
    page = page_of("scenarios/demo.json", "--device", "cpu-2-cores", folder=folder)
    kernels, = [row["value"] for rows in page.rows("field", "value", "source") for row in rows if row["field"] == "kernels"]
    assert not re.search('[{}"]', kernels) and "dense_add (t0 3.79914e-06, per_byte 3.7961e-11, valid (49152, 2.01327e+08)" in kernels, kernels
    need_browser()
    wide = ask(folder, page, "$('table.texts').map(e => e.getBoundingClientRect().width)")
    assert max(wide) < 1280, wide


@test
def estimates_are_labelled(folder):
    page = page_of("scenarios/demo.json", "--device", "quick", folder=folder)
    assert "kernels as on quick (estimated; --device none leaves them out)" in page.words["dd"]
    sources = {}
    for name in ("p3.16xlarge-25g", "rtx3090-100g-ib", "rtx3090-10gbe"):
        sources[name] = json.loads((ROOT / f"models/clusters/{name}.json").read_text())["source"]
    sources["quick"] = json.loads((ROOT / "models/devices/quick.json").read_text())["source"]
    wanted = sum("estimated" in text for source in sources.values() for text in source.values())
    assert wanted >= 5
    shown = [row for rows in page.rows("field", "value", "source") for row in rows if "estimated" in row["source"]]
    assert len(shown) == wanted, f"{len(shown)} estimates are labelled, {wanted} are in the files"
    for name in sources:
        assert re.search(rf"(Cluster|Device) {re.escape(name)}", page.words["h3"]), f"{name} is not on the page"
    assert "Some inputs are estimated" in page.words["p"]
    swept = page_of("scenarios/shared-nic.json", folder=folder).rows("field", "value", "source")[0]
    assert [row["value"] for row in swept if row["field"] == "nic"] == ["swept"]
    given = page_of("scenarios/shared-nic.json", "--latency", "3us", "--set", "cluster.intra.latency=1us", "--set", "expect=[]", folder=folder)
    found = {row["field"]: row["source"] for row in given.rows("field", "value", "source")[0]}
    assert found["latency"] == found["intra"] == "given in place of the file's" and found["bandwidth"] == "ZEN §5.1", found


@test
def page_reproduces_itself(folder):
    """The scenario on the page, and the command, give the same numbers again."""
    arguments = ("scenarios/demo.json", "--bandwidth", "7Gbps", "--set", 'schemes=["allgather", {"name": "zen", "label": "it\'s"}]')
    page = page_of(*arguments, folder=folder)
    scenario = re.search(r"<summary>The scenario, as JSON</summary>\s*<pre[^>]*><code>(.*?)</code>", page.text, re.S)[1]
    (folder / "again.json").write_text(Page(f"<main>{scenario}</main>").words["main"])
    again = page_of(folder / "again.json", folder=folder)
    assert [c["rows"] for c in page.data["cells"]] == [c["rows"] for c in again.data["cells"]]
    assert page.rows("scheme", "time (90%)") == again.rows("scheme", "time (90%)") != [] and "more tables" not in page.text
    command = re.search(r"called as</p>\s*<pre[^>]*><code>(.*?)</code>", page.text, re.S)[1]
    words = Page(f"<main>{command}</main>").words["main"]
    (folder / "bin").mkdir()
    (folder / "bin" / "sparsync").symlink_to(PROGRAM)
    subprocess.run(["sh", "-c", words], check=True, cwd=ROOT, timeout=tap.HANG, env={**ENVIRONMENT, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"})
    assert page.path.read_text() == page.text, "the same command gives another page"
    version = call("--version")[0].splitlines()[0]
    assert f"{version}, called as" in page.words["p"]


# Four ranks; of 100 rows of 10 floats each has the same 10, which it sends as 440 B.
UNIFORM = {"uniform": {"rows": 100, "row_width": 10, "density": 0.1, "overlap": "full"}}
DIRECT, DOUBLING = ({"name": "allgather", "label": label, "algorithm": algorithm}
                    for label, algorithm in (("direct", "direct"), ("doubling", "recursive-doubling")))


def small_world(folder, latency, *schemes, **fields):
    cluster = {"name": "flat", "latency": latency, "bandwidth": "1GB/s", **fields.pop("cluster", {})}
    (folder / "small.json").write_text(json.dumps({"trace": UNIFORM, "ranks": 4, "cluster": cluster, "schemes": schemes, **fields}))
    return folder / "small.json"


@test
def each_place_says_why(folder):
    page = page_of("scenarios/demo.json", folder=folder)
    points = json.loads(call("run", "scenarios/demo.json", "--format", "json", "--quiet")[0])["points"]
    for point, row in zip(points, [row for rows in page.rows("scheme", "time (90%)") for row in rows]):
        startup = point["bound_startup_s"] / point["time_s"]
        told = f"{point['bound_by']} {100 * (point['bound_s'] / point['time_s'] - startup):.0f}%"
        assert row["bottleneck"] == told + (f"+{100 * startup:.0f}%" if startup >= 0.005 else ""), row
    tables = page.rows("scheme", "egress", "ingress", "NIC out", "NIC in")
    assert len(tables) == 3 and all(len(rows) == 4 for rows in tables)


@test
def what_is_warned_of_stands_on_the_page(folder):
    """Start-ups of 100 us follow one another: 3 of direct messages, 2 of doubling; with all at once direct ones have 1. Bytes take 1.32 us."""
    turn = "with window 1 doubling takes 201 us and direct 301 us, with window all 201 us and 101 us (as numbers are given)"
    page = page_of(small_world(folder, "100us", DOUBLING, DIRECT, cluster={"window": 1}), folder=folder)
    warning = f"4 ranks on flat, tensor tensor: the cheapest depends on the cluster's window: {turn}"
    assert warning in page.words["p"] and page.told == f"sparsync report: warning: {warning}\n", page.told
    for still in (small_world(folder, "0us", DOUBLING, DIRECT, cluster={"window": 1}), small_world(folder, "100us", DOUBLING, DIRECT), small_world(folder, "100us", DOUBLING, DIRECT, cluster={"model": "alpha-beta"})):
        page = page_of(still, folder=folder)
        assert "window: with" not in page.words["p"] and page.told == "", page.told


@test
def many_results_have_no_sliders(folder):
    """A network more for each of 24 would be large: the page says what would do."""
    latencies = [f"{i + 1}us" for i in range(1001)]
    page = page_of(small_world(folder, "1us", {"name": "allgather"}, sweep={"cluster.latency": latencies}), "--no-verify", "--certain", folder=folder,
                   slides=True, environment=without_gnuplot(folder))
    assert not isinstance(page.data["cells"][0]["rows"][0]["times"], list) and "at most 1000" in page.words["p"] and "at most 1000" in page.told
    assert "<p>801 more tables:" in page.text, "of 1001, 200 stand there"


# --- figures ----------------------------------------------------------------------------------------------------------


def sweep(*axes):
    return ["--set", "sweep=" + json.dumps(dict(axes))]


BANDWIDTH = ("cluster.bandwidth", ["1Gbps", "10Gbps", "100Gbps"])
SMALL = ["--trace", KJV, "--cluster", "rtx2080ti-1gbe", "--iterations", ":1", "--scheme", "allreduce,allgather,ps"]


@test
def figures_are_chosen_by_the_axes(folder):
    """Nothing is computed again: what differs between pictures is what their caption, panels and axes say."""
    need_gnuplot()
    cases = [([], "Time of one synchronisation", []),
             (["--ranks", "4..16"], "Time of one synchronisation", ["ranks"]),
             (sweep(BANDWIDTH), "Time of one synchronisation", ["bandwidth"]),
             (["--ranks", "4..16", *sweep(BANDWIDTH)], "Who is fastest", ["ranks", "bandwidth"]),
             (sweep(BANDWIDTH, ("cluster.nic", ["per-node", "per-rank"])), "Time of one synchronisation", ["bandwidth", "per-node"])]
    for arguments, caption, words in cases:
        page = page_of(*SMALL, *arguments, folder=folder)
        assert caption in page.words["figcaption"], (arguments, page.words["figcaption"])
        assert all(word in page.words["svg"] for word in words), (arguments, page.words["svg"])
        assert page.tags.count("svg") == 2 and "role" in {n for t, n, _ in page.attributes if t == "svg"}


@test
def traffic_by_rank(folder):
    need_gnuplot()
    page = page_of(*SMALL, "--ranks", "8", "--per-rank", folder=folder)
    assert page.tags.count("svg") == 4 and "Bytes of each rank" in page.words["figcaption"]
    assert "sent" in page.words["svg"] and "received" in page.words["svg"]


@test
def without_gnuplot_the_tables_stand_there(folder):
    page = page_of("scenarios/demo.json", environment=without_gnuplot(folder), folder=folder)
    assert "svg" not in page.tags and "gnuplot is not on the PATH" in page.words["p"]
    assert "no figures" in page.told and "gnuplot" in page.told
    assert page.rows("scheme", "time (90%)") == page_of("scenarios/demo.json", folder=folder).rows("scheme", "time (90%)")


# --- hostile texts ----------------------------------------------------------------------------------------------------

EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&amp;]]></style></svg><!--"  # a label has at most 95 bytes


@test
def hostile_texts_stay_texts(folder):
    source = json.loads((ROOT / "models/clusters/rtx2080ti-1gbe.json").read_text())
    shutil.copy(KJV, folder / f"{EVIL.replace('/', '')}.safetensors")
    cluster = {**source, "name": EVIL, "summary": EVIL, "source": {k: f"estimated: {EVIL}" for k in source["source"]}, "notes": EVIL}
    device = {**json.loads((ROOT / "models/devices/quick.json").read_text()), "name": EVIL, "summary": EVIL}
    document = {"name": EVIL, "summary": EVIL, "notes": EVIL, "trace": str(folder / f"{EVIL.replace('/', '')}.safetensors"), "ranks": 4,
                "iterations": "0:1", "cluster": cluster, "device": device,
                "schemes": [{"name": "allgather", "label": EVIL}, {"name": "allreduce", "label": f"2{EVIL}"}],
                "expect": [{"that": "time_s", "of": EVIL, "is": "<", "than": f"2{EVIL}", "notes": EVIL},
                           {"that": "time_s", "of": EVIL, "is": ">", "than": f"2{EVIL}"}],
                "sweep": {"cluster": [cluster, {**cluster, "name": f"2{EVIL}"}]}}
    (folder / "evil.json").write_text(json.dumps(document))
    plain = page_of("scenarios/demo.json", folder=folder)
    for environment in [without_gnuplot(folder)] + ([ENVIRONMENT] if GNUPLOT else []):
        page = page_of(folder / "evil.json", "--set", f"summary={EVIL}", "--per-rank", status=1, environment=environment, folder=folder)
        assert EVIL in page.words["h1"] and EVIL in page.words["title"] and EVIL in page.words["th"] and EVIL in page.words["code"]
        assert EVIL in page.words["li"] and EVIL in page.words["h3"] and EVIL in page.words["td"]
        assert set(page.tags) <= set(plain.tags) | {"a", "span", "li", "ul", "br", "circle", "polygon", "polyline", "rect", "text", "tspan"}, set(page.tags) - set(plain.tags)
        assert page.text.count("<style>") == 1 and page.text.count("</style>") == 1
        assert "alert(1)" in page.text and "<img" not in page.text.lower()
        assert "<!--" not in re.sub(r"<svg.*?</svg>", "", page.text, flags=re.S)


@test
def hostile_axes_and_controls(folder):
    document = {"name": "a\u001b[31mb\nc\u202e", "trace": {"uniform": {"rows": 4096, "row_width": 4, "density": "1/64", "overlap": "full"}},
                "ranks": 4, "cluster": "rtx2080ti-1gbe", "schemes": ["allgather", "allreduce"],
                "sweep": {"cluster.name": [EVIL, "two", "x" * 100]}}
    (folder / "axes.json").write_text(json.dumps(document))
    page = page_of(folder / "axes.json", folder=folder)
    assert "\u001b" not in page.text and EVIL in page.words["h3"]


@test
def output_is_asked_for(folder):
    text, _ = call("report", *SMALL, "--quiet", "-o", "-")
    check_sound(Page(text))
    assert Page(call("report", *SMALL, "--quiet")[0]).words["h1"] == Page(text).words["h1"]
    script = f"import pty, sys; sys.exit(pty.spawn([{PROGRAM!r}, 'report', 'scenarios/demo.json']) >> 8)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, env=ENVIRONMENT, timeout=tap.HANG, stdin=subprocess.DEVNULL)
    assert done.returncode == 2 and "say -o FILE.html" in done.stdout, (done.returncode, done.stdout[:200])
    (folder / "old.html").write_text("old")
    call("report", folder / "none.json", "-o", folder / "old.html", status=2)
    assert (folder / "old.html").read_text() == "old"
    call("report", "scenarios/demo.json", "--format", "json", "-o", folder / "x.html", status=2)
    call("report", "scenarios/demo.json", "scenarios/demo.json", "-o", folder / "x.html", status=2)
    assert not (folder / "x.html").exists()


# --- in a browser -----------------------------------------------------------------------------------------------------


def browse(folder, page, width, height, dark=False):
    """What the console got."""
    done = subprocess.run([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                           "--force-device-scale-factor=1", "--enable-logging=stderr", "--virtual-time-budget=2000",
                           f"--blink-settings=preferredColorScheme={0 if dark else 1}", f"--user-data-dir={folder / 'profile'}",
                           f"--window-size={width},{height}", "--dump-dom", page.as_uri()],
                          capture_output=True, text=True, timeout=tap.HANG, env={**os.environ, "HOME": str(folder)})
    return [line for line in done.stderr.split("\n") if "CONSOLE" in line]


MEASURE = """<script>
window.onload = () => {
  const box = e => { const r = e.getBoundingClientRect(); return [r.left, r.top, r.right, r.bottom].map(Math.round) };
  const shown = [...document.querySelectorAll('figure svg:not([aria-hidden])')].filter(e => e.getBoundingClientRect().width > 0);
  const seen = e => { const r = e.getBoundingClientRect(), ink = getComputedStyle(e); return r.width + r.height > 0 &&
    [ink.stroke, ink.fill].some(c => { const v = (c.match(/\\d+/g) || []).slice(0, 3); return Math.max(...v) - Math.min(...v) > 60 }) };
  console.log('measured ' + JSON.stringify({inner: innerWidth, scroll: document.documentElement.scrollWidth, svg: shown.map(box),
    figures: document.querySelectorAll('figure').length,
    coloured: shown.map(e => [...e.querySelectorAll('path, rect, circle, polygon, polyline, use')].filter(seen).length),
    controls: document.querySelectorAll('.play').length,
    outside: [...document.querySelectorAll('main *')].filter(e => !e.closest('.scroll, .picture, pre, svg') && e.getBoundingClientRect().right > innerWidth + 1)
      .map(e => e.tagName + ' ' + e.textContent.slice(0, 40)),
    wide: [...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth).length,
    ground: getComputedStyle(document.body).backgroundColor}) + ' end');
};
</script></body>"""


def measure(folder, page, width, dark=False, script=MEASURE, alone=False):
    """What a script in a copy of the page says of it, which the page itself would not let run; `alone`: without its own. Chromium's
    window has a least width: the copy stands in a frame of the width wanted."""
    text = re.sub("<meta http-equiv=[^>]*>", "", page.path.read_text())
    text = re.sub("<script>.*?</script>", "", text, flags=re.S) if alone else text
    (folder / "inner.html").write_text(text.replace("</body>", script))
    outer = folder / "outer.html"
    outer.write_text(f"""<!DOCTYPE html><html><body style="margin:0"><iframe src="inner.html" style="border:0;width:{width}px;height:3000px"></iframe>
</body></html>""")
    console = browse(folder, outer, max(width, 600), 3000, dark)
    found = [re.search(r'"measured (.*) end"', line) for line in console]
    others = [line for line, match in zip(console, found) if not match]
    assert not others, others[:3]
    assert len(found) == 1, f"nothing was measured: {console}"
    return json.loads(found[0][1])


def check_in_browser(folder, page, width, dark, alone):
    measured = measure(folder, page, width, dark, alone=alone)
    assert measured["inner"] == width, measured
    assert measured["scroll"] <= width, f"the page is {measured['scroll']} wide in {width}"
    assert not measured["outside"], f"in {width} these are cut: {measured['outside']}"
    ground = [int(v) for v in re.findall(r"\d+", measured["ground"])[:3]]
    assert max(ground) < 60 if dark else min(ground) > 200, f"dark {dark}: the ground is {ground}"
    assert len(measured["svg"]) >= measured["figures"] > 0, measured
    assert measured["svg"][0][3] < 3000, f"the first figure ends at {measured['svg'][0][3]}"
    assert all(box[2] <= width for box in measured["svg"]), f"a figure is cut in {width}: {measured['svg']}"
    assert all(n > 2 for n in measured["coloured"]), f"figures without marks in colour: {measured['coloured']}"
    assert measured["controls"] == (0 if alone else 1), measured
    return measured


def need_browser():
    if not CHROMIUM:
        raise tap.Skip("chromium is not installed (./dev setup browser)")


def browser_test(name, *arguments):
    def run(folder):
        need_gnuplot()
        need_browser()
        page = page_of(*arguments, folder=folder)
        for width, dark, alone in ((1280, False, False), (390, True, False), (390, False, True)):
            measured = check_in_browser(folder, page, width, dark, alone)
        assert measured["wide"] > 0, "no table had to scroll in 390 pixels: this test proves nothing"
    tap.TESTS.append((f"{name} in a browser: wide and light, narrow and dark, without its script", run))


browser_test("the demo", "scenarios/demo.json")
# Two of its eight nodes, too.
browser_test("llm-8x8", "scenarios/llm-8x8.json", "--ranks", "16", *EIGHTH)
browser_test("a map of winners", *SMALL, "--ranks", "4..16", *sweep(BANDWIDTH))

@test
def of_many_candidates_the_nearest_are_drawn(folder):
    """Ten of them, no colour twice, whose times can be told apart; the caption says of how many."""
    need_gnuplot()
    need_browser()
    page = page_of("--trace", KJV, "--cluster", "p3.16xlarge-25g", "--ranks", "16", "--model-parallel", "--iterations", "0:1", folder=folder)
    rows = page.rows("scheme", "time (90%)")[-1]
    of = re.search(r"of (\d+) schemes the 10 that are nearest to the fastest, the others stand in the tables", page.words["figcaption"])
    assert of and int(of[1]) == len(rows) > 40, (page.words["figcaption"], len(rows))
    legend, colours, marks = ask(folder, page, """[$('.legend .scheme').map(e => e.textContent), $('.legend .swatch').map(e => getComputedStyle(e).backgroundColor),
      $('.live-figure [data-label]').map(e => e.tagName)]""")
    times = {row["scheme"]: seconds(row["time (90%)"]) for row in rows}
    assert len(legend) == len(set(colours)) == 10 and min(times, key=times.get) in legend, (legend, colours)
    assert max(times[label] for label in legend) <= min(time for label, time in times.items() if label not in legend), (legend, times)
    assert "rect" in marks, marks
    # one ends ten times later than another: points on a logarithmic axis
    page = page_of("--trace", KJV, "--cluster", "p3.16xlarge-25g", "--ranks", "16", "--iterations", "0:1", "--scheme", "allgather,allreduce:algorithm=tree,zen", folder=folder)
    marks = ask(folder, page, "$('.live-figure [data-label]').map(e => [e.tagName, e.getAttribute('class'), e.getAttribute('d'), e.getAttribute('fill')])")
    shapes = {tuple(shape) for tag, kind, *shape in marks if kind == "mark"}
    assert not [tag for tag, *_ in marks if tag == "rect"] and len({fill for _, fill in shapes}) == 3 and len({d for d, _ in shapes}) >= 2, marks


# What a user does: each step is a word and an expression; answers are the times of all tables, as they stand.
STEPS = """<script>
window.onload = () => {
  const $ = (query, under = document) => [...under.querySelectorAll(query)];
  const rows = t => [...t.tBodies[0].rows].filter(r => !r.hidden).map(r => [r.cells[0].textContent, r.cells[1].textContent]);
  const tables = () => $('table.times').map(rows), best = () => $('table.times tr.best th').map(e => e.textContent);
  const send = (e, value, what) => { e.value = value; e.dispatchEvent(new Event(what)); };
  const slide = (latency, bandwidth) => {
    for (const [id, v] of [['latency', latency], ['bandwidth', bandwidth]]) send(document.getElementById('slide-' + id), v, 'input');
    return {tables: tables(), best: best(), words: $('.live').map(e => e.textContent), note: $('.note').some(e => !e.hidden && e.textContent.includes('slid'))};
  };
  const own = () => $('.live-figure .mark[data-label="each with its own"] title, .live-figure rect[data-label="each with its own"] title')[0].textContent;
  const sort = (n, times) => { for (let i = 0; i < times; i++) $('table.times')[0].tHead.rows[0].cells[n].querySelector('button').click(); return tables()[0]; };
  const filter = text => { send(document.getElementById('filter'), text, 'input'); return {tables: tables(), count: document.getElementById('rows').textContent}; };
  const toggle = label => { $('.scheme').find(e => e.textContent === label).querySelector('input').click();
    return {tables: tables(), links: $('table.links').map(rows), legend: $('.legend .scheme').map(e => e.textContent), marks: $('.live-figure [data-label]').filter(e => e.dataset.label === label).length, best: best()}; };
  const hover = () => { const svg = $('.live-figure svg')[0], mark = $('rect, .mark', svg)[0].getBoundingClientRect();
    svg.dispatchEvent(new PointerEvent('pointermove', {clientX: mark.x + mark.width / 2, clientY: mark.y + 1})); return $('.hover')[0].textContent; };
  console.log('measured ' + JSON.stringify(EXPRESSION) + ' end');
};
</script></body>"""


def ask(folder, page, expression, width=1280):
    return measure(folder, page, width, script=STEPS.replace("EXPRESSION", expression))


def shown(value):
    """As base/units.c writes a time."""
    unit = max((u for u in UNITS if value / UNITS[u] >= 0.9995), key=UNITS.get, default="ns")
    return f"{float(f'{value / UNITS[unit]:.3g}'):.10g} {unit}"


@test
def tables_sort_filter_and_hide(folder):
    need_browser()
    page = page_of("scenarios/demo.json", folder=folder)
    points = json.loads(call("run", "scenarios/demo.json", "--format", "json", "--quiet")[0])["points"]
    answers = ask(folder, page, """[sort(1, 1), sort(1, 1), sort(1, 1), sort(0, 1), sort(0, 2), filter('gbe ALL'), filter('nothing is so'), filter(''),
      toggle('allgather'), toggle('allgather'), hover()]""")
    up, down, given, names, _, filtered, none, unfiltered, less, again, told = answers
    here = {p["label"]: p["time_s"] for p in points[:4]}
    assert [label for label, _ in up] == sorted(here, key=here.get), up
    assert [label for label, _ in down] == sorted(here, key=here.get, reverse=True), down
    assert [label for label, _ in given] == list(here) and [label for label, _ in names] == sorted(here), (given, names)
    # a row is kept when its table's name and its own words have all that is asked for
    assert [[label for label, _ in rows] for rows in filtered["tables"]] == [[], [], ["allreduce", "allgather", "alltoall"]], filtered
    assert (filtered["count"], none["count"], unfiltered["count"]) == ("3 of 12 rows", "0 of 12 rows", "12 rows")
    for table in less["tables"] + less["links"]:
        assert [label for label, _ in table] == ["allreduce", "ps", "alltoall"], table
    assert less["legend"] == ["allreduce", "ps", "alltoall"] and len(again["legend"]) == 4, "the figure's own legend"
    assert less["marks"] == 0 and again["marks"] > 0 and [len(table) for table in again["tables"]] == [4, 4, 4], (less, again)
    first = page.rows("scheme", "time (90%)")[0][0]
    assert told == f"allreduce: {first['time (90%)']} \u2013 16 ranks on p3.16xlarge-25g, tensor embedding", told


@test
def places_keep_their_names_where_it_is_narrow(folder):
    """Below bars and dots names turn before they are cut, inside the picture."""
    need_browser()
    page = page_of("scenarios/demo.json", folder=folder)
    for width in (390, 1280):
        names, inside = ask(folder, page, """[$('.live-figure .place').map(e => e.firstChild.textContent), $('.live-figure .place').every(e => {
          const own = e.getBoundingClientRect(), all = e.closest('svg').getBoundingClientRect();
          return own.left >= all.left && own.right <= all.right && own.bottom <= all.bottom; })]""", width)
        assert names == ["p3.16xlarge-25g", "rtx3090-100g-ib", "rtx3090-10gbe"] and inside, (width, names, inside)


@test
def nothing_is_fastest_where_no_scheme_is_shown(folder):
    need_browser()
    _, *_, last, count = ask(folder, page_of("scenarios/demo.json", folder=folder, slides=True),
                             "[slide(0, 1), toggle('allreduce'), toggle('allgather'), toggle('ps'), toggle('alltoall'), filter('')]")
    assert last["tables"] == [[], [], []] and last["marks"] == 0 and last["best"] == [] and count["count"] == "0 of 12 rows", (last, count)


# of the sliders: logarithms to base 2 of what latency and bandwidth are multiplied with
POSITIONS = [(0, 0), (0, 1), (-2, 0), (2, -2), (0, 0.6), (-0.35, 0), (0.55, -1.3), (1.2, 1.7)]


@test
def sliders_tell_what_run_tells(folder):
    """At each position every time that is not marked is that of `run` with that latency and bandwidth, digit by digit."""
    need_browser()
    plain = ("--set", 'cluster.library={"name": "none"}')  # links alone, of which ranges leave a winner
    page = page_of("scenarios/demo.json", *plain, folder=folder, slides=True)
    answers = ask(folder, page, f"{json.dumps(POSITIONS)}.map(p => slide(...p)).concat([slide(0, 0)])")
    still = [[[row["scheme"], row["time (90%)"]] for row in rows] for rows in page.rows("scheme", "time (90%)")]
    assert answers[0]["tables"] == answers[-1]["tables"] == still and not answers[0]["note"] and not any(answers[0]["words"])
    assert answers[0]["best"] == ["allgather"] * 2, "of the second cell no winner can be told"
    marked = between = 0
    for cell, at in enumerate(page.data["cells"]):
        cluster = at["name"].split(" on ")[1].split(",")[0]
        places = {"cluster.latency": sorted({at["latency_s"] * 2 ** l for l, _ in POSITIONS}),
                  "cluster.bandwidth": sorted({at["bandwidth"] * 2 ** b for _, b in POSITIONS})}
        said = {path: [f"{value!r}{unit}" for value in places[path]] for path, unit in (("cluster.latency", "s"), ("cluster.bandwidth", "B/s"))}
        points = json.loads(call("run", "--trace", KJV, "--ranks", 16, "--cluster", cluster, "--scheme", "allreduce,allgather,ps,alltoall", "--certain",
                                 "--no-verify", *plain, "--set", "sweep=" + json.dumps(said), "--format", "json", "--quiet")[0])["points"]
        times = {(p["label"], p["at"]["cluster.latency"], p["at"]["cluster.bandwidth"]): p["time_s"] for p in points}
        for (l, b), answer in list(zip(POSITIONS, answers))[1:]:
            here = {label: times[label, at["latency_s"] * 2 ** l, at["bandwidth"] * 2 ** b] for label, _ in answer["tables"][cell]}
            for label, text in answer["tables"][cell]:
                played = l == int(l) and b == int(b)
                assert not played or not text.startswith("\u2248"), (cluster, label, text, "was played")
                between += not played
                marked += text.startswith("\u2248")
                if text.startswith("\u2248"):  # a guess, not a wild one
                    assert abs(seconds(text[2:]) / here[label] - 1) < 0.03, (cluster, label, l, b, text, here[label])
                else:
                    assert text == shown(here[label]), (cluster, label, l, b, text, here[label])
            fastest = min(here, key=here.get)
            assert answer["note"] and re.search(rf": {fastest} is fastest, ", answer["words"][cell]) or "\u2248" in str(answer["tables"][cell])
    assert 0.2 * between < marked < 0.8 * between, f"{marked} of {between} times between are marked"


@test
def hostile_texts_stay_texts_where_scripts_run(folder):
    need_gnuplot()
    need_browser()
    label = EVIL.replace("<!--", "</script>")
    schemes = [{"name": "allgather", "label": label}, "allreduce"]
    page = page_of(*SMALL[:-2], "--ranks", "4,8", "--set", f"schemes={json.dumps(schemes)}", "--set", f"name={EVIL}", folder=folder, slides=True)
    found = ask(folder, page, """{labels: $('.boxes .scheme').map(e => e.textContent), images: $('img').length, scripts: document.scripts.length,
      hidden: toggle($('.scheme')[0].textContent), slid: slide(1, 1).words, head: document.querySelector('h1').textContent}""", 390)
    assert found["labels"] == [label, "allreduce"] and found["head"] == EVIL and found["images"] == 0, found
    assert found["scripts"] == 3 and found["hidden"]["marks"] == 0, found  # the two, and the one that asks
    # and the page as it is, which lets its own script run
    dump = subprocess.run([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--virtual-time-budget=2000",
                           f"--user-data-dir={folder / 'profile'}", "--dump-dom", page.path.as_uri()],
                          capture_output=True, text=True, timeout=tap.HANG, env={**os.environ, "HOME": str(folder)}).stdout
    assert 'class="play"' in dump and "slide-latency" in dump


sys.exit(tap.run())
# SPDX-License-Identifier: Apache-2.0
