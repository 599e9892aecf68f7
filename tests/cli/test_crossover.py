#!/usr/bin/python3
"""`sparsync crossover` against crossings by hand and by brute force. Arguments: the program, the source tree. Prints TAP."""
import csv
import functools
import io
import json
import math
import sys

import tap
from asking import ask
from hashes import mix, xxh64
from tap import test

ALPHA, RATE, MIB = 25e-6, 25e9 / 8, 2 ** 20
call = functools.partial(ask, "crossover")


def find(*arguments):
    return json.loads(call(*arguments, "--format", "json").stdout)


def only(document, wanted, relative=1e-9):
    """The one crossing, which is at `wanted`."""
    assert len(document["crossings"]) == 1, document["crossings"]
    crossing = document["crossings"][0]
    assert abs(crossing["at"] / wanted - 1) < relative, f"{crossing['at']}, not {wanted}"
    assert not crossing["jump"]
    return crossing


def link(latency=ALPHA, rate=RATE):
    return ["--latency", f"{latency!r}s", "--bandwidth", f"{rate!r}B/s"]


def flat(folder):
    """A cluster of one rank a node, on which simulation and closed forms agree."""
    path = folder / "flat.json"
    path.write_text(json.dumps({"name": "flat", "model": "alpha-beta", "latency": ALPHA, "bandwidth": RATE, "gpus_per_node": 1,
                                "source": "made for this test"}))
    return ["--cluster", path]


@test
def answers_say_what_they_suppose(folder):
    arguments = ["allgather", "allreduce", "--over", "density", "--M", "1MB", "--ranks", "4", *link()]
    for overlap, words in (("random", "drawn at random"), ("full", "the same on all ranks"), ("none", "different on all ranks"),
                           ("1,1.5", "shared as --gamma lists")):
        out = call(*arguments, "--gamma", overlap).stdout
        name = "list" if "," in overlap else overlap
        assert f"overlap {name}, links of p3.16xlarge-25g" in out.split("\n")[0] and f"Rows are {words}" in out and "run --trace" in out, out
        assert find(*arguments, "--gamma", overlap)["overlap"] == name
    over = call("allgather", "allreduce", "--over", "bandwidth", "--M", "1MB", "--density", "1%", "--ranks", "4").stdout.split("\n")[0]
    assert over.endswith("links of p3.16xlarge-25g, 25 us"), over


# --- by hand ----------------------------------------------------------------------------------------------------------


@test
def alltoall_against_allgather_as_embrace_has_it(folder):
    """EmbRace 4.1.2: AlltoAll below AllGather if and only if d*M*beta*(1 - 2/P) > alpha, without indices."""
    size, density, ranks = 252.5 * MIB, 0.001, 16
    common = ["alltoall", "allgather", "--index-bytes", 0, "--row-width", 1024]

    def check(document, wanted):
        crossing = only(document, wanted)
        below, above = document["winner_below"], document["winner_above"]
        assert (crossing["winner_below"], crossing["winner_above"]) == (below, above)
        assert abs(crossing["a_s"] / crossing["b_s"] - 1) < 1e-9
        return below, above

    share = 1 - 2 / ranks
    mass = ["--M", f"{size}B", "--ranks", ranks]
    assert check(find(*common, "--over", "density", *mass, *link()), ALPHA * RATE / size / share) == ("allgather", "alltoall")
    found = find(*common, "--over", "M", "--density", density, "--ranks", ranks, *link())
    assert check(found, ALPHA * RATE / density / share) == ("allgather", "alltoall")
    found = find(*common, "--over", "latency", "--density", density, *mass, "--bandwidth", f"{RATE}B/s", "--range", "1us..1s")
    assert check(found, density * size / RATE * share) == ("alltoall", "allgather")
    found = find(*common, "--over", "bandwidth", "--density", density, *mass, "--latency", f"{ALPHA}s")
    assert check(found, density * size / ALPHA * share) == ("alltoall", "allgather")
    # at P = 2 never, and by the share 2/P more than that
    found = find(*common, "--over", "density", "--M", f"{size}B", "--ranks", 2, *link())
    assert found["crossings"] == [] and found["winner_below"] == found["winner_above"] == "allgather"
    # over ranks: d*M*beta*(1 - 2/P) > alpha from P = 2/(1 - alpha/(d*M*beta)) on
    small = 1.5 * ALPHA * RATE / size
    found = find(*common, "--over", "ranks", "--density", repr(small), "--M", f"{size}B", *link(), "--range", "2..50")
    crossing, = found["crossings"]
    assert crossing["at"] == 7 and crossing["before"] == 6, "d*M*beta = 1.5 alpha: 1 - 2/P > 2/3, P > 6"
    assert crossing["winner_above"] == "alltoall"


def factor(spread, of, draw):
    """docs/ranges.md, "Ranges"."""
    u, half, most = 2 * ((mix(mix(1, of), draw) >> 11) * 2.0**-53) - 1, *map(math.log, spread)
    x = abs(u)
    return math.exp(math.copysign(half * x / 0.5 if x < 0.5 else half + (most - half) * (x - 0.5) / 0.4, u))


@test
def crossings_lie_where_draws_have_them(folder):
    """Over bandwidth and over latency, in each draw by hand: 2(P-1) starts and 2(P-1)/P x bytes against P-1 starts and (P-1) x bytes; the model is each one's own."""
    path, P, x = folder / "u.json", 16, 0.001 * 252.5 * MIB
    starts, bytes_ = (2 * (P - 1), P - 1), (2 * (P - 1) / P * x, (P - 1) * x)
    labels, common = ("alltoall", "allgather"), ["alltoall", "allgather", "--index-bytes", 0, "--row-width", 1024, "--density", 0.001, "--M", f"{252.5 * MIB}B",
                                                 "--ranks", P, "--cluster", path]
    for source, latency, byte in (({"latency": "estimated"}, (1.33, 2), None), ({"latency": "estimated", "bandwidth": "a sheet"}, (1.33, 2), (1.14, 1.5)),
                                  ({}, None, None)):
        path.write_text(json.dumps({"name": "u", "latency": ALPHA, "bandwidth": RATE, "source": source}))
        model = [[factor((1.03, 1.1), mix(xxh64(label.encode()), 9), d) for d in range(1000)] for label in labels]
        wide = {"bandwidth": [], "latency": []}
        for d in range(1000):
            a, b = model[0][d], model[1][d]
            alpha, rate = ALPHA * (factor(latency, 0, d) if latency else 1), RATE / (factor(byte, 1, d) if byte else 1)
            fewer, more = b * bytes_[1] - a * bytes_[0], a * starts[0] - b * starts[1]  # bytes that alltoall spares, starts that it has more
            wide["bandwidth"].append(fewer / (more * alpha))
            wide["latency"].append(fewer / (more * rate))
        for over, at in wide.items():
            low, high = sorted(at)[50], sorted(at)[949]
            found = find(*common, "--over", over, *(("--range", "1us..1s") if over == "latency" else ("--range", "10Mbps..10Tbps")))
            crossing = only(found, (bytes_[1] - bytes_[0]) / (starts[0] - starts[1]) / (ALPHA if over == "bandwidth" else RATE))
            assert abs(crossing["at_low"] / low - 1) < 1e-3 and abs(crossing["at_high"] / high - 1) < 1e-3, (over, crossing, low, high)
            sure = find(*common, "--over", over, "--certain", *(("--range", "1us..1s") if over == "latency" else ("--range", "10Mbps..10Tbps")))
            assert sure == {**found, "crossings": [{k: v for k, v in crossing.items() if not k.startswith("at_")}],
                            "ranges": [{k: v for k, v in r.items() if k not in ("ratio_low", "ratio_high")} for r in found["ranges"]]}
            for r, end, x in zip(found["ranges"], ("from", "to"), (found["range"]["low"], found["range"]["high"])):  # farthest apart at the ends
                alpha, rate = (ALPHA, x) if over == "bandwidth" else (x, RATE)
                times = [[model[i][d] * (starts[i] * alpha * (factor(latency, 0, d) if latency and over == "bandwidth" else 1)
                                         + bytes_[i] / rate * (factor(byte, 1, d) if byte and over == "latency" else 1)) for d in range(1000)] for i in (0, 1)]
                cheaper = labels.index(r["winner"])
                apart = sorted(dear / cheap for dear, cheap in zip(times[1 - cheaper], times[cheaper]))
                assert r[end] == x and abs(r["ratio_high"] / apart[949] - 1) < 1e-9 and r["ratio_low"] < 1 < apart[50] < r["ratio_high"], (r, apart[50], apart[949])
    given, words = (call(*common, "--over", "bandwidth", "--latency", f"{ALPHA}s", *more).stdout for more in ((), ("--range", "10Mbps..10Tbps")))
    assert "In 90 of 100 draws of what is not certain it lies from " in words and "In 90 of 100" in given, words


@test
def a_crossing_may_leave_the_range(folder):
    """And what wins everywhere wins in most draws, or in all; of simulations as of forms."""
    said = ["alltoall", "allgather", "--index-bytes", 0, "--row-width", 1024, "--density", 0.001, "--M", f"{252.5 * MIB}B", "--ranks", 16, "--over", "bandwidth", "--latency", f"{ALPHA}s"]
    at = find(*said)["crossings"][0]["at"]
    for end, word, low, high in (("low", "below", at / 1.01, at * 1e3), ("high", "above", at / 1e3, at * 1.01)):
        given = ["--range", f"{low}B/s..{high}B/s"]
        near, = find(*said, *given)["crossings"]
        assert near[f"at_{end}"] == (low if end == "low" else high) and low <= near["at_low"] < near["at"] < near["at_high"] <= high, near
        assert f"(or {word})" in call(*said, *given).stdout
    for low, wins in ((1.05, (0.5, 1)), (10, (1, 1))):
        alone = find(*said, "--range", f"{at * low}B/s..{at * 1e3}B/s")
        assert alone["crossings"] == [] and wins[0] <= alone["wins"] <= wins[1] and (low > 2 or alone["wins"] < 1), alone["wins"]
        assert "wins" not in find(*said, "--certain", "--range", f"{at * low}B/s..{at * 1e3}B/s")
    path = folder / "u.json"
    path.write_text(json.dumps({"name": "u", "latency": ALPHA, "bandwidth": RATE, "source": {"latency": "estimated", "bandwidth": "a sheet"}}))
    said = ["allgather", "allreduce", "--over", "density", "--M", "64MiB", "--ranks", 16, "--cluster", path]
    (forms,), (played,) = find(*said)["crossings"], find(*said, "--simulate")["crossings"]
    for key in ("at", "at_low", "at_high"):
        assert abs(played[key] / forms[key] - 1) < 2e-3, f"{key}: {played}, {forms}"
    assert forms["at_low"] < 0.97 * forms["at"], forms
    assert "at_low" not in find(*said, "--simulate", "--certain")["crossings"][0]
    assert find(*said, "--range", f"{2 * forms['at']}..0.5", "--simulate", "--probes", 3)["wins"] == 1


def ring(ranks, size):
    return 2 * (ranks - 1) * (ALPHA + size / ranks / RATE)


def rabenseifner(ranks, size):
    power = 2 ** int(math.log2(ranks))
    fold = ranks > power
    return (2 * math.log2(power) + 3 * fold) * ALPHA + (2 * (power - 1) / power + 2 * fold) * size / RATE


@test
def every_change_over_rank_counts(folder):
    size = 1e6
    wanted, last = [], None
    for ranks in range(2, 71):
        a, b = ring(ranks, size), rabenseifner(ranks, size)
        winner = last if math.isclose(a, b, rel_tol=1e-12) else "allreduce-ring" if a < b else "allreduce-rabenseifner"
        if last and winner != last:
            wanted.append((ranks - 1, ranks, last, winner))
        last = winner
    assert len(wanted) > 6
    document = find("allreduce-ring", "allreduce-rabenseifner", "--over", "ranks", "--M", f"{size}B", "--density", 1, *link(), "--range", "2..70")
    found = [(c["before"], c["at"], c["winner_below"], c["winner_above"]) for c in document["crossings"]]
    assert found == wanted, f"{found}, not {wanted}"
    same = find("allreduce", "allreduce:algorithm=rabenseifner", "--over", "ranks", "--M", f"{size}B", "--density", 1, *link(), "--range", "2..70")
    assert [c["at"] for c in same["crossings"]] == [at for _, at, _, _ in wanted]
    assert same["b"] == "allreduce:algorithm=rabenseifner"


@test
def one_always_wins_and_by_how_much(folder):
    size, ranks = 1e8, 16
    document = find("allreduce", "allreduce:algorithm=tree", "--over", "latency", "--M", f"{size}B", "--density", 1, "--ranks", ranks,
                    "--bandwidth", f"{RATE}B/s", "--range", "1us..100us")

    def ratio(alpha):
        return 2 * math.log2(ranks) * (alpha + size / RATE) / (2 * (ranks - 1) * (alpha + size / ranks / RATE))

    assert document["crossings"] == [] and document["winner_below"] == document["winner_above"] == "allreduce"
    # the tree's fewer start-ups count the more the dearer they are
    for name, alpha in (("max", 1e-6), ("min", 1e-4)):
        assert abs(document["ratio"][name] / ratio(alpha) - 1) < 1e-9 and document["ratio"][f"{name}_at"] == alpha
    part, = document["ranges"]
    assert abs(part["ratio_max"] / ratio(1e-6) - 1) < 1e-9 and abs(part["ratio_min"] / ratio(1e-4) - 1) < 1e-9
    words = call("allreduce", "allreduce:algorithm=tree", "--over", "latency", "--M", f"{size}B", "--density", 1, "--ranks", ranks,
                 "--bandwidth", f"{RATE}B/s", "--range", "1us..100us").stdout
    assert "allreduce is cheaper everywhere in the range, as links are given: allreduce:algorithm=tree takes" in words
    turned = find("allreduce:algorithm=tree", "allreduce", "--over", "latency", "--M", f"{size}B", "--density", 1, "--ranks", ranks,
                  "--bandwidth", f"{RATE}B/s", "--range", "1us..100us")
    assert abs(turned["ratio"]["min"] * document["ratio"]["max"] - 1) < 1e-12


@test
def zen_against_the_ring_where_overlap_is_random(folder):
    """The formulas of the table in docs/model.md, solved by bisection here."""
    ranks, width, size = 16, 64, 856e6
    rows = size / (4 * width)

    def difference(density):
        x, gamma = density * rows * (4 * width + 4), (1 - (1 - density) ** ranks) / density
        return 2 * (ranks - 1) * ALPHA + (ranks - 1) / ranks * (1 + gamma) * x / RATE - ring(ranks, size)

    low, high = 1e-4, 1.0
    assert difference(low) < 0 < difference(high)
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if difference(middle) < 0 else (low, middle)
    only(find("zen:format=coo", "allreduce", "--over", "density", "--M", f"{size}B", "--row-width", width, *link()), low)
    only(find("zen-coo", "allreduce", "--over", "density", "--M", f"{size}B", "--row-width", width, *link()), low)
    only(find('{"name": "zen", "format": "coo"}', "allreduce", "--over", "density", "--M", f"{size}B", "--row-width", width, *link()), low)


@test
def costs_that_are_the_same(folder):
    common = ["--M", "10MB", "--density", "1%"]
    for a, b in (("zen", "zen:balance=hash"), ("allgather", "allgather-direct")):
        document = find(a, b, "--over", "latency", *common)
        assert document["crossings"] == [] and document["winner_below"] is None and document["winner_above"] is None
        assert [p["winner"] for p in document["ranges"]] == [None] and document["ratio"]["min"] == document["ratio"]["max"] == 1
        assert "Both cost the same everywhere" in call(a, b, "--over", "latency", *common).stdout


@test
def the_same_up_to_a_point(folder):
    """SparCML sends a part dense when that is smaller: from gamma*x = M on, 1 - (1 - d)^P = w*v/(w*v + 4)."""
    ranks, row = 8, 4 * 4
    wanted = 1 - (1 - row / (row + 4)) ** (1 / ranks)
    document = find("sparcml-dsar", "sparcml-split", "--over", "density", "--M", "64MB", "--row-width", 4, "--ranks", ranks)
    crossing = only(document, wanted, 1e-6)
    assert crossing["winner_below"] is None and crossing["winner_above"] == "sparcml-dsar"
    assert document["winner_below"] is None and document["winner_above"] == "sparcml-dsar"


@test
def where_a_cost_jumps(folder):
    for name, algorithm, form in (("steps", "ring", "1 + 9*floor(M/1000000)"), ("level", "tree", "4 + 0*M")):
        (folder / f"{name}.json").write_text(json.dumps({"scheme": "allreduce", "when": {"algorithm": algorithm}, "exact": form}))
    document = find("steps", "level", "--over", "M", "--range", "1kB..1.9MB", "--density", 1, "--file", folder / "steps.json",
                    "--file", folder / "level.json")
    crossing, = document["crossings"]
    assert crossing["jump"] and abs(crossing["at"] / 1e6 - 1) < 1e-9, crossing
    assert "jumps" in call("steps", "level", "--over", "M", "--range", "1kB..1.9MB", "--density", 1, "--file", folder / "steps.json",
                           "--file", folder / "level.json").stdout


@test
def places_without_a_form_are_left_out(folder):
    common = ["gtopk", "allreduce", "--over", "ranks", "--range", "2..20", "--M", "10MB", "--density", "5%"]
    document = find(*common)
    assert [g["at"] for g in document["skipped"]] == [p for p in range(2, 21) if p not in (2, 4, 8, 16)]
    assert document["probes"] == 4 and "gtopk" in document["skipped"][0]["why"]
    words = call(*common).stdout
    assert "Left out: 15 places, such as ranks 3: gtopk" in words and "gtopk (lossy) is cheaper wherever in the range they can be compared, as" in words, words
    said = call("gtopk", "allreduce", "--over", "density", "--ranks", 12, "--M", "10MB", status=2).stderr
    assert said.startswith("sparsync crossover: nowhere in the range: gtopk"), said


@test
def printed_forms_and_bounds(folder):
    size, ranks = 252.5 * MIB, 16
    paper = find("alltoall", "allgather", "--form", "paper", "--over", "density", "--M", f"{size}B", "--row-width", 1024, "--ranks", ranks, *link())
    only(paper, ALPHA * RATE / size / (1 - 2 / ranks))  # printed without indices, whatever --index-bytes says
    assert "only bounds" in call("topkdsa", "allreduce", "--over", "density", "--M", f"{size}B", status=2).stderr
    low, high = (find("topkdsa", "allreduce", "--form", form, "--over", "density", "--M", f"{size}B", *link()) for form in ("low", "high"))
    # both end where 8 bytes an entry and the dense second half make up for the ring's start-ups
    wanted = 0.5 * (1 + (ranks - 1 - math.log2(ranks)) * ALPHA * RATE * ranks / (ranks - 1) / size)
    only(low, wanted)
    only(high, wanted)
    assert low["ratio"]["max"] > high["ratio"]["max"]
    given = find("topkdsa:k=1000", "allreduce", "--form", "low", "--over", "M", "--density", 1, *link(1e-8), "--range", "1kB..1MB")
    only(given, 8 * 1000 - (ranks - 1 - math.log2(ranks)) * 1e-8 * RATE * ranks / (ranks - 1))


@test
def forms_on_nodes_are_what_is_played(folder):
    """Doubling against the ring on two nodes of four ranks, which share a card: two rounds of 1 and 2 blocks stay inside,
    in the third each rank sends 4 and the card carries 16. Of the ring one message a step leaves each node."""
    size, ranks, near = 2 ** 23, 8, 8 * RATE
    path = folder / "nodes.json"
    path.write_text(json.dumps({"name": "nodes", "model": "fair", "latency": ALPHA, "bandwidth": RATE, "gpus_per_node": 4, "nic": "per-node",
                                "intra": {"latency": ALPHA, "bandwidth": near}, "source": "made for this test"}))
    common = ["allgather:algorithm=recursive-doubling", "allreduce", "--index-bytes", 0, "--row-width", 64, "--gamma", "full",
              "--cluster", path, "--over", "density", "--M", f"{size}B", "--ranks", ranks]
    nodes, wanted = find(*common, "--form", "nodes"), (11 * ALPHA + 1.75 * size / RATE) / (size * (16 / RATE + 3 / near))
    assert nodes["form"] == "nodes" and nodes["skipped"] == []
    only(nodes, wanted)
    only(find(*common, "--simulate"), wanted, 1e-3)
    only(find(*common), (11 * ALPHA + 1.75 * size / RATE) / (size * 7 / RATE))
    assert "on the cluster's nodes and cards" in call(*common, "--form", "nodes").stdout
    for scheme, why in (("sparcml-rd", "only a bound is known on these nodes"), ("gtopk", "not known on these nodes"),
                        ("topkdsa", "there is no exact form")):
        said = call(scheme, *common[1:], "--form", "nodes", status=2).stderr
        assert f"{scheme}: {why} (--simulate plays it)" in said, said


# --- by simulation ----------------------------------------------------------------------------------------------------


@test
def simulation_agrees_with_the_closed_form(folder):
    size, density, ranks = 2 ** 23, 1 / 64, 8
    common = ["alltoall", "allgather", "--index-bytes", 0, "--row-width", 64, "--gamma", "full", *flat(folder)]
    wanted = density * size / RATE * (1 - 2 / ranks)
    found = find(*common, "--over", "latency", "--density", density, "--M", f"{size}B", "--ranks", ranks, "--simulate")
    assert found["method"] == "simulation" and found["rounded"] == []
    only(found, wanted, 1e-3)
    found = find(*common, "--over", "bandwidth", "--density", density, "--M", f"{size}B", "--ranks", ranks, "--simulate", "--range", "1Gbps..1Tbps")
    only(found, density * size / ALPHA * (1 - 2 / ranks), 1e-3)
    small = 1.5 * ALPHA * RATE / density
    found = find(*common, "--over", "ranks", "--density", density, "--M", f"{small!r}B", "--simulate", "--range", "2..40")
    crossing, = found["crossings"]
    assert crossing["at"] == 7 and crossing["before"] == 6, crossing


@test
def sizes_that_do_not_divide_are_told(folder):
    common = ["zen:balance=even,format=coo", "allreduce", "--row-width", 3, "--index-bytes", 16, "--gamma", "none", "--simulate", *flat(folder)]
    document = find(*common, "--over", "density", "--range", "0.1%..16%", "--M", "999999B", "--ranks", 6)
    assert document["rounded"] and document["crossings"]
    for r in document["rounded"]:
        assert r["rows"] % 6 == 0 and round(r["rows"] * r["density"]) % 6 == 0
        assert abs(r["rows"] - r["rows_wanted"]) <= 3 and abs(r["rows"] * (r["density"] - r["density_wanted"])) <= 6
    exact = find(*common[:-3], *flat(folder), "--over", "density", "--range", "0.1%..16%", "--M", "999999B", "--ranks", 6)
    assert abs(document["crossings"][0]["at"] / exact["crossings"][0]["at"] - 1) < 0.01
    assert "were rounded" in call(*common, "--over", "density", "--range", "0.1%..16%", "--M", "999999B", "--ranks", 6).stdout


@test
def densities_that_cannot_be_without_overlap_are_left_out(folder):
    document = find("zen:balance=even,format=coo", "allreduce", "--gamma", "none", "--simulate", *flat(folder), "--over", "density",
                    "--range", "1%..100%", "--M", "4MB", "--ranks", 8)
    assert document["skipped"] and all(g["at"] > 0.12 for g in document["skipped"])


# --- what it prints, and what it refuses ------------------------------------------------------------------------------


@test
def words_and_csv(folder):
    common = ["alltoall", "allgather", "--index-bytes", 0, "--row-width", 1024, "--over", "density", "--M", "252.5MiB", *link()]
    assert "allgather is cheaper below density 0.03372%, alltoall (needs model parallelism) above" in call(*common).stdout
    rows = list(csv.DictReader(io.StringIO(call(*common, "--format", "csv").stdout)))
    assert [r["winner"] for r in rows] == ["allgather", "alltoall"] and rows[0]["to"] == rows[1]["from"]
    out = folder / "out.json"
    assert call(*common, "--format", "json", "-o", out).stdout == ""
    assert json.loads(out.read_text())["over"] == "density"
    said = call("allreduce", "sparcml-rd", "--over", "ranks", "--M", "856MB", "--density", "2.8%", "--row-width", 64).stdout
    assert "allreduce is cheaper from" in said and "sparcml-rd up to" in said


@test
def wrong_inputs(folder):
    good = ["zen", "allreduce", "--M", "1MB", "--density", "1%"]
    for arguments, says in (
            (["zen", "--over", "M"], "name two schemes"), (good, "say --over"), ([*good, "--over", "time"], "\"time\" is not"),
            ([*good, "--over", "M"], "--M: varies: say --range"), ([*good, "--over", "density"], "--density: varies"),
            ([*good, "--over", "ranks", "--ranks", "4"], "--ranks: varies"),
            (["zen", "allreduce", "--over", "ranks", "--M", "1MB"], "say --density"),
            (["zen", "allreduce", "--over", "ranks", "--density", "1%"], "say --M"),
            (["zen", "allreduce", "--over", "ranks", "--density", "2", "--M", "1MB"], "--density: 2 is above 1"),
            ([*good, "--over", "latency", "--range", "5us"], "not LOW..HIGH"),
            ([*good, "--over", "latency", "--range", "5us..2us"], "not from low to high"),
            ([*good, "--over", "latency", "--range", "0..2us"], "not above zero"),
            ([*good, "--over", "ranks", "--range", "2..1e9"], "--range"),
            (["zen", "allreduce", "--M", "1MB", "--over", "density", "--range", "1%..200%"], "above 1"),
            (["zenn", *good[1:], "--over", "latency"], "did you mean \"zen\""),
            (["zen:fromat=coo", *good[1:], "--over", "latency"], "format"),
            (["zen:format=cooo", *good[1:], "--over", "latency"], "coo"),
            (["zen:,", *good[1:], "--over", "latency"], "no scheme"),
            (["zen:a=1,b", *good[1:], "--over", "latency"], "not an option with its value"),
            (["{", *good[1:], "--over", "latency"], "{"),
            ([*good, "--over", "latency", "--form", "best"], "--form: \"best\" is not one of exact"),
            ([*good, "--over", "latency", "--simulate", "--form", "paper"], "--form: says which closed form counts: not of simulations"),
            ([*good, "--over", "latency", "--simulate", "--teams", "2"], "--teams: is of closed forms"),
            ([*good, "--over", "latency", "--simulate", "--gamma", "1,2"], "not a list"),
            ([*good, "--over", "latency", "--simulate", "--value-bytes", "8"], "4 bytes or 2"),
            ([*good, "--over", "latency", "--probes", "1"], "--probes"), ([*good, "--over", "latency", "--cluster", "none"], "none")):
        done = call(*arguments, status=2)
        assert says in done.stderr and done.stderr.count("\n") == 1 and not done.stdout, f"{arguments}: {done.stderr!r}"


@test
def what_no_form_depends_on_is_told(folder):
    """Of each field of the tensor and of the forms, where the numbers of the answer say so."""
    values = {"row-width": (2, 8), "value-bytes": (2, 8), "index-bytes": (2, 8), "lookups": ("20%", "40%"), "servers": (2, 4), "k": (30, 900), "teams": (2, 4),
              "block": (32, 512), "gamma": ("full", "none")}
    tensor, told, untold = ["--M", "1MB", "--density", "2%", "--ranks", 8], set(), set()

    def numbers(done):
        document = json.loads(done.stdout)
        lists = [document["points"]] if "points" in document else [document["crossings"], document["ranges"]]
        return [{key: value for key, value in row.items() if key != "gamma"} for rows in lists for row in rows]

    for words in (["cost", "allreduce"], ["cost", "zen", "ps"], ["cost", "spardl", "topka"], ["cost", "alltoall"], ["crossover", "allreduce", "zen", "--over", "bandwidth"]):
        for field, pair in values.items():
            first, second = (ask(*words, *tensor, "--certain", f"--{field}", value, "--format", "json", status=None) for value in pair)
            if first.returncode or second.returncode:
                continue
            idle = f"--{field} does nothing: no form that is asked for depends on it" in first.stderr
            assert idle == (numbers(first) == numbers(second)) and first.stderr.count("\n") == idle, (words, field, first.stderr)
            (told if idle else untold).add(field)
    assert told == untold == set(values), (told, untold)
    assert "--form does nothing" in call("allreduce", "zen", "--over", "latency", "--M", "1MB", "--density", "1%", "--form", "low", "--certain").stderr
    assert not call("allreduce", "zen", "--over", "latency", "--M", "1MB", "--density", "1%", "--form", "paper", "--certain").stderr


@test
def one_node_is_told_where_nodes_count(folder):
    """Forms of one class of links take those between nodes, wherever ranks live."""
    on = ["allreduce", "zen:format=coo", "--over", "density", "--M", "8MB", "--ranks", 8, "--certain"]
    told = {form: ["of p3.16xlarge-25g: the network between nodes is not used" in call(*on, "--bandwidth", rate, "--form", form).stderr for rate in ("1GB/s", "9GB/s")]
            for form in ("exact", "paper", "nodes")}
    at = {form: [find(*on, "--bandwidth", rate, "--form", form)["crossings"][0]["a_s"] for rate in ("1GB/s", "9GB/s")] for form in told}
    for form, (slow, fast) in at.items():
        assert told[form] == [slow == fast] * 2, (form, told, at)


sys.exit(tap.run())
# SPDX-License-Identifier: Apache-2.0
