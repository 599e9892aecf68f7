#!/usr/bin/python3
"""Every field of every document, changed one at a time: the answer knows it, and so does the key by which answers are kept.
What may be said is taken from the schemas, which are written from the program's tables; documents that say all of it stand
below. Arguments: the program, the source tree. Prints TAP.

Of each field that is changed: either the call is refused, or its answer is another one; then points that answered otherwise
have another point_hash (what --resume and shared points go by), and a sweep over both values has the answers that each has
alone (what points of one run share)."""
import copy
import json
import re
import sys

import tap
from asking import ROOT, call
from tap import test, write_json

UNITS = re.compile(r"^([0-9.]+) ?(%|[a-zA-Z/]+)$")
# Words of people: they decide nothing.
WORDS = {"name", "summary", "source", "notes", "offered", "baseline"}
LINK = {"latency": "3us", "bandwidth": "2GB/s"}
SEGMENTS = [{"up_to": "300B", "latency": "2us", "bandwidth": "1GB/s"}, {"latency": "4us", "bandwidth": "3GB/s"}]
CLUSTER = {"name": "c", "latency": "5us", "bandwidth": "1GB/s", "gpus_per_node": 2}
CLUSTERS = {
    "levels": {**CLUSTER, "summary": "s", "source": "made", "notes": "n", "model": "fair", "nics": 1, "intra": {**LINK, "shared": True}, "exchange": LINK,
               "window": 2, "fabric": [{"nodes": 2, "oversubscription": 3, "latency": "2us"}, {"nodes": 4, "bandwidth": "1GB/s"}]},
    "pieces": {"name": "c", "segments": SEGMENTS, "gpus_per_node": 2, "nic": "per-node", "intra": {"segments": SEGMENTS},
               "exchange": {"segments": SEGMENTS}, "window": {"chain": 2, "exchange": "all"}},
    "uneven": {**CLUSTER, "jitter": {"per": "pair", "bandwidth": [[0, 0.5], [1, 1]], "latency": [[0, 1], [1, 2]], "draws": 3, "seed": 2}},
    "hosts": {**CLUSTER, "library": {"name": "mpich", "call": "4us"}, "memory": {"pieces": [
        {"up_to": "24MiB", "sum_per_byte": "0.3ns", "page_per_byte": "0.1ns"}, {"sum_per_byte": "0.2ns", "page_per_byte": "0.05ns"}]}},
    "one memory": {**CLUSTER, "library": {"name": "openmpi"}, "memory": {"sum_per_byte": "0.3ns", "page_per_byte": "0.2ns"}},
}
DEVICE = {"name": "d", "summary": "s", "source": "made", "notes": "n", "memory_bandwidth": "90GB/s", "efficiency": 0.5, "launch": "2us",
          "kernels": {"merge_sum": {"t0": "3us", "per_element": "2ns", "per_byte": "1ns", "source": "made"}}}
TRACE = {"synth": {"rows": 3000, "ranks": 32, "iterations": 3, "lookups": 60, "zipf": 1.1, "seed": 3, "row_width": 4}}
TRACES = [TRACE, {"synth": {**TRACE["synth"], "hot": 0.3, "hot_rows": 20, "ids": "popularity", "distinct": 2}},
          {"uniform": {"rows": 3072, "row_width": 4, "density": "1/4", "overlap": "full"}},
          {"gradient": {"elements": 4000, "iterations": 3, "seed": 2}}]
SCENARIO = {"name": "s", "trace": TRACE, "ranks": [16], "iterations": 2, "schemes": ["allgather", "allreduce", {"name": "ps", "servers": 2, "label": "p"},
            {"name": "zen", "format": "coo", "label": "z"}, {"name": "allgather", "hierarchy": "leader", "label": "h"}]}


def leaves(document, path=()):
    """(path, value) of all that is not an object or a list."""
    for key, value in document.items() if isinstance(document, dict) else enumerate(document):
        if isinstance(value, (dict, list)):
            yield from leaves(value, (*path, key))
        else:
            yield (*path, key), value


def at(document, path):
    for key in path:
        document = document[key]
    return document


def changed(document, path, value):
    out = copy.deepcopy(document)
    at(out, path[:-1])[path[-1]] = value
    return out


def schema_at(schema, path):
    """Of what stands there: its alternatives, each resolved."""
    ways, defs = [schema], schema.get("$defs", {})

    def resolved(ways):
        for way in ways:
            if "$ref" in way:
                yield from resolved([{**defs[way["$ref"].split("/")[-1]]}])
            elif "anyOf" in way and "properties" not in way:
                yield from resolved(way["anyOf"])
            else:
                yield way

    for key in path:
        ways = [inner for way in resolved(ways) for inner in ([way["items"]] if isinstance(key, int) and "items" in way else
                [way["properties"][key]] if key in way.get("properties", ()) else
                [way["additionalProperties"]] if isinstance(way.get("additionalProperties"), dict) and not isinstance(key, int) else [])]
    return list(resolved(ways))


def others(ways, value):
    """What else may stand there."""
    for way in ways:
        yield from (choice for choice in way.get("enum", ()) if choice != value)
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield from (value + 1, value * 2, value - 1, value // 2)
    elif isinstance(value, float):
        yield from (value * 1.25, value * 0.8)
    elif isinstance(value, str) and (found := UNITS.match(value)):
        yield from (f"{float(found[1]) * factor:g}{found[2]}" for factor in (1.25, 0.5, 4))
    elif isinstance(value, str) and not any(way.get("enum") for way in ways):
        yield value + "x"


def points(document, folder, name="changed.json"):
    """Its points, or None where it is refused."""
    try:
        return json.loads(call("run", write_json(folder, document, name), "--format", "json", "--quiet")[0])["points"]
    except AssertionError:
        return None


def names(point):
    return point["label"], point["ranks"], point["tensor"]


def answer_of(point, beside=("wins", "next_ratio_low", "next_ratio_high")):
    """What was computed: no names of what it was computed of, and not how it stands beside others, which no key is of."""
    return {key: value for key, value in point.items()
            if key not in ("point_hash", "result_hash", "at", "cluster", "device", "trace", "label", "offered", *beside)}


def swept(document, field, values, folder):
    """The points of each value, of one run of all."""
    found = points({**document, "sweep": {field: values}}, folder, "swept.json")
    return found and [[p for p in found if json.dumps(p["at"][field], sort_keys=True) == json.dumps(value, sort_keys=True)] for value in values]


def hold_one(document, path, other, plain, folder):
    """None: refused; False: the answer is that of the document as it was. Else keys and sweeps tell both apart."""
    new = changed(document, path, other)
    found = points(new, folder)
    if found is None or [answer_of(p) for p in found] == [answer_of(p) for p in plain]:
        return found and False
    for before in plain:
        after = next((p for p in found if names(p) == names(before)), before)
        assert answer_of(after) == answer_of(before) or after["point_hash"] is None or after["point_hash"] != before["point_hash"], \
            f"{path} is {other}: another answer of {names(before)} by the same key"
    for alone, together in zip((plain, found), swept(document, path[0], [document[path[0]], new[path[0]]], folder) or ()):
        assert not together or [answer_of(p) for p in alone] == [answer_of(p) for p in together], f"{path} is {other}: another answer in a sweep"
    return True


def hold(document, folder, only="", silent=()):
    """Changes each leaf of the document, or of one field. `silent`: where one value of some may do nothing."""
    schema = json.loads((ROOT / "docs" / "schemas" / "scenario.schema.json").read_text())
    plain, told = points(document, folder), []
    assert plain, call("run", folder / "changed.json", "--format", "json")
    for path, value in leaves(document):
        if only and path[0] != only:
            continue
        word, answers = path[-1] in WORDS and path[-2:] != ("library", "name"), []
        for other in others(schema_at(schema, path), value):
            answers += [hold_one(document, path, other, plain, folder)] if other != value else []
            if answers and answers[-1]:
                break
        assert not word or True not in answers, f"{path}: a word that decides"
        assert word or path in silent or False not in answers or True in answers, f"{path}: {value!r} and others answer alike"
        told += [path] * (True in answers)
    return told


def clusters(name):
    def function(folder):
        more = {"device": DEVICE}
        if "memory" in CLUSTERS[name]:  # counts sums in its place; pages come anew in buffers of 32 MiB
            more = {"trace": {"synth": {**TRACE["synth"], "row_width": 3000}}, "schemes": [{"name": "allreduce", "algorithm": "rabenseifner"}, "allgather"]}
        first = [("cluster", "memory", "pieces", 0, key) for key in ("up_to", "sum_per_byte", "page_per_byte")]  # collective plays it: docs/model.md
        told = hold({**SCENARIO, "cluster": CLUSTERS[name], **more}, folder, "cluster", first)
        assert len(told) >= len(list(leaves(CLUSTERS[name]))) // 2, told
    function.__name__ = f"fields_of_clusters_{name.replace(' ', '_')}"
    return function


for each in CLUSTERS:
    test(clusters(each))


@test
def fields_of_devices(folder):
    hold({**SCENARIO, "cluster": CLUSTER, "device": DEVICE}, folder, "device")


@test
def fields_of_traces(folder):
    for trace in TRACES:
        document = {**SCENARIO, "trace": trace, "cluster": CLUSTER, "device": DEVICE}
        del document["iterations"]
        hold(document, folder, "trace", [("trace", "synth", "ranks")])  # the first are the same of more


@test
def fields_of_selections(folder):
    for select in ({"topk": 0.3, "residual": True}, {"k": 40}, {"blocks": 0.3, "block": 8}):
        hold({**SCENARIO, "schemes": ["allgather"], "select": select, "trace": TRACES[-1], "cluster": CLUSTER, "device": DEVICE}, folder, "select")


@test
def fields_of_scenarios(folder):
    said = {"index_bytes": 8, "granularity": "row", "sizes": "free", "ragged": "v", "hierarchy": "none", "verify": True, "certain": False, "merge": 1}
    hold({**SCENARIO, **said, "cluster": CLUSTER, "device": DEVICE}, folder, silent=[("trace", "synth", "ranks"), ("trace", "synth", "iterations")])


# --- trainings, which have no keys: what stands side by side shares what is alike ---------------------------------------

SYSTEM = {"name": "y", "summary": "s", "source": {"bucket": "made"}, "sparse": {"name": "allgather", "algorithm": "ring"}, "dense": "allreduce",
          "schedule": "fifo", "bucket": "20kB", "interference": 0.2, "channels": [["dense"], ["gradient"]],
          "software": {"call": "3us", "copy": "2GB/s", "cycle": "40us", "step": "7us", "step_per_byte": 1e-10}}
SELECTING = {"name": "y", "sparse": "allgather", "dense": "allgather", "schedule": "fifo", "bucket": "20kB", "select": {"topk": 0.3, "residual": True}}
WORKLOAD = {"name": "w", "summary": "s", "source": {"modules": "made"}, "iterations": 4, "dtype": "F32", "optimizer_states": 2, "modules": [
    {"name": "e", "kind": "embedding", "rows": 2000, "row_width": 8, "forward_s": "10us", "backward_s": "20us", "optimizer_s": "5us",
     "synth": {"lookups": 90, "zipf": 1.1, "seed": 2, "hot": 0.2, "hot_rows": 30, "ids": "shuffled"}},
    {"name": "b", "kind": "dense", "bytes": "30kB", "forward_s": "30us", "backward_s": "60us", "optimizer_s": "5us", "after": ["e"]},
    {"name": "c", "kind": "dense", "bytes": "40kB", "forward_s": "30us", "backward_s": "60us", "optimizer_s": "5us", "after": ["b"]}]}


def trainings(folder, workloads, systems):
    """Their answers, or None where they are refused."""
    document = {"workloads": workloads, "systems": systems, "cluster": CLUSTER, "device": DEVICE, "ranks": [4], "certain": True}
    try:
        found = json.loads(call("train", write_json(folder, document, "train.json"), "--format", "json", "--quiet")[0])["training"]
    except AssertionError:
        return None
    decided = ("workload", "system", "source", "wins", "speedup", "speedup_low", "speedup_high", "baseline", "offered")
    return [{key: value for key, value in answer.items() if key not in decided} for answer in found]


def hold_trainings(folder, kind, documents, silent=()):
    schema = json.loads((ROOT / "docs" / "schemas" / f"{kind}.schema.json").read_text())
    pair = lambda *listed: (listed, [SYSTEM]) if kind == "workload" else ([WORKLOAD], listed)
    for document in documents:
        plain = trainings(folder, *pair(document))
        assert plain, call("train", folder / "train.json")
        for path, value in leaves(document):
            answers = []
            for other in others(schema_at(schema, path), value):
                new = changed(document, path, other)
                found = other != value and trainings(folder, *pair(new))
                if found:
                    answers.append(found != plain)
                    both = trainings(folder, *pair(document, {**new, "name": "other"}))
                    assert path == ("name",) or both == [*plain, *found], f"{path} is {other}: another answer beside {value!r}"
                if True in answers:
                    break
            word = path[-1] in WORDS or "source" in path
            assert word or path in silent or False not in answers or True in answers, f"{path}: {value!r} and others answer alike"


@test
def fields_of_systems(folder):
    hold_trainings(folder, "system", [SYSTEM, SELECTING], [("channels", 0, 0)])  # what no channel names is on the first


@test
def fields_of_workloads(folder):
    hold_trainings(folder, "workload", [WORKLOAD], [("modules", 0, "synth", "ids")])  # of an all-gather


if __name__ == "__main__":
    sys.exit(tap.run())
# SPDX-License-Identifier: Apache-2.0
