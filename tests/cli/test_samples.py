#!/usr/bin/python3
"""`--approximate`: samples of rounds against the whole, what results say of them, and what is refused. Arguments: the
program, the source tree. Prints TAP."""
import csv
import io
import json
import sys

import tap
from asking import PROGRAM, ROOT, call, refused
from tap import test, write_json

sys.path.insert(0, f"{ROOT}/tests/compare")
from compare_samples import judge  # noqa: E402

NODES = {"name": "c", "latency": "5us", "bandwidth": "25Gbps", "gpus_per_node": 8, "nic": "per-node", "intra": {"latency": "2us", "bandwidth": "100GB/s"}}
RACKS = {**NODES, "fabric": [{"nodes": 4, "oversubscription": 2}]}
MANY = {"rows": 20000, "row_width": 64, "ranks": 512, "iterations": 1, "lookups": 256, "seed": 5}


def scenario(scheme, cluster=None, **fields):
    return {"name": "s", "trace": {"synth": MANY}, "cluster": cluster or NODES, "ranks": 512, "certain": True, "device": "none", "verify": False,
            "schemes": [scheme], **fields}


def said(folder, document, *arguments):
    return json.loads(call("run", write_json(folder, document, "s.json"), *arguments, "--format", "json", "--quiet")[0])["points"][0]


@test
def the_truth_lies_within_what_is_told(folder):
    for scheme, cluster in [("alltoall", NODES), ("zen", NODES), ("allgather", RACKS)]:
        told, off = judge(PROGRAM, scenario(scheme, cluster), "20%")
        assert 0 < told < 0.2 and off <= told, (scheme, told, off)


@test
def what_is_counted_is_that_of_all(folder):
    whole, sampled = (said(folder, scenario("alltoall", trace={"synth": {**MANY, "seed": 6}}), *more) for more in ([], ["--approximate", "10%"]))
    assert whole["messages"] == sampled["messages"] == 2 * 512 * 511
    assert whole["rounds"] == sampled["rounds"]
    for field in ("bytes_total", "bytes_sent_max", "bytes_received_max"):
        assert abs(sampled[field] / whole[field] - 1) < 0.02, (field, whole[field], sampled[field])
    assert abs(sampled["links"]["nic-out"]["bytes_mean"] / whole["links"]["nic-out"]["bytes_mean"] - 1) < 0.05


@test
def results_say_that_they_are_approximate(folder):
    path = write_json(folder, scenario("alltoall", verify=True), "s.json")
    point = json.loads(call("run", path, "--approximate", "10%", "--format", "json", "--quiet")[0])["points"][0]
    assert 0 < point["approximate_error"] < 0.1 and point["exact"] is None
    row = next(csv.DictReader(io.StringIO(call("run", path, "--approximate", "10%", "--format", "csv", "--quiet")[0])))
    assert float(row["approximate_error"]) == point["approximate_error"]
    for wide in ([], ["--wide"]):
        table = call("run", path, "--approximate", "10%", "--quiet", *wide)[0]
        assert "within" in table and "samples of what ranks send were played" in table and "proven" not in table, table
    assert "approximate_error" not in call("run", path, "--format", "csv", "--quiet", "--no-verify")[0]


@test
def few_ranks_are_all_played(folder):
    few = scenario("alltoall", ranks=16)
    path = write_json(folder, few, "s.json")
    out, said_besides = call("run", path, "--approximate", "1%", "--format", "json", "--quiet")[:2]
    whole, point = said(folder, few), json.loads(out)["points"][0]
    assert point["approximate_error"] == 0 and point["time_s"] == whole["time_s"]
    assert "all was played" in said_besides, said_besides


@test
def what_no_sample_stands_for_is_refused(folder):
    document = {**scenario("topka"), "trace": {"gradient": {"elements": 4096, "iterations": 1}}}
    refused("topka keeps what each rank selects", "run", write_json(folder, document, "s.json"), "--approximate", "1%")
    refused("approximate", "run", write_json(folder, scenario("alltoall"), "s.json"), "--approximate", "60%")


if __name__ == "__main__":
    sys.exit(tap.run())
# SPDX-License-Identifier: Apache-2.0
