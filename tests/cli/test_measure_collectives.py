#!/usr/bin/python3
"""sparsync.torch.measure_collectives, and the cluster that comes of it. Arguments: the program, the source tree. Prints TAP. Runs
where a Python has torch and safetensors: this one, or that of $SPARSYNC_TORCH_PYTHON."""
import csv
import json
import os
import pathlib
import subprocess
import sys

import tap
from asking import PROGRAM, ROOT, ask
from tap import python_with_torch, test


@test
def two_ranks_measure_what_calibrate_reads(folder):
    python = python_with_torch()
    ranks = [subprocess.Popen([python, str(ROOT / "tests/cli/collectives_cases.py"), str(folder), str(rank)], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env={**os.environ, "SPARSYNC_DATA": str(ROOT), "PYTHONPATH": str(ROOT / "src/python"), "OMP_NUM_THREADS": "1",
                                   "SPARSYNC_LIBRARY": str(pathlib.Path(PROGRAM).parent / "src/libsparsync.so"), "GROUP_RANK": str(rank),
                                   "PYTHONDONTWRITEBYTECODE": "1", "GLOO_SOCKET_IFNAME": "lo"}) for rank in range(2)]
    told = [rank.communicate(timeout=tap.HANG) for rank in ranks]
    assert all(rank.returncode == 0 for rank in ranks), "\n".join(error[-2000:] for _, error in told)
    # gloo's own code: allreduce.cc and allgather.cc are rings, alltoall.cc posts all at once, broadcast.cc is a binomial tree
    assert json.loads(told[0][0]) == [["all_reduce", "ring", 2, 1], ["all_gather", "ring", 2, 1], ["all_to_all", "linear", 2, 1],
                                      ["broadcast", "binomial", 2, 1], ["sendrecv", "", 2, 1]]
    with open(folder / "times.csv", newline="") as file:  # a busy machine's times may tell no bandwidth: others stand in their place
        rows = list(csv.DictReader(file))
    with open(folder / "made.csv", "w", newline="") as file:
        table = csv.DictWriter(file, list(rows[0]))
        table.writeheader()
        for row in rows:
            time = 2e-4 + int(row["bytes"]) * 1e-9
            table.writerow(row | {"seconds": time, "p25_s": time / 1.1, "p75_s": time * 1.1})
    cluster = json.loads(ask("calibrate", "network", folder / "made.csv").stdout)
    assert cluster["accuracy"]["noise"]["half"] == 1.1
    assert cluster["gpus_per_node"] == 1 and set(cluster["accuracy"]["collectives"]) == {
        "allreduce", "allgather", "alltoall", "broadcast", "sendrecv"}, cluster


sys.exit(tap.run())
# SPDX-License-Identifier: Apache-2.0
