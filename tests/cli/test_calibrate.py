#!/usr/bin/python3
"""`sparsync calibrate`: networks out of logs, kernels. The logs are of public formats, made from known alpha and beta
with noise and outliers; the fit must find them again. Arguments: the program, the source tree; with --write, anew
tests/cli/data/*.log. Prints TAP."""
import json
import pathlib
import random
import re
import subprocess
import sys

import mpi
import tap
from asking import ENVIRONMENT, PROGRAM, ROOT, ask
from tap import test

DATA = ROOT / "tests" / "cli" / "data"
NOISE = 0.03  # of every time: normal, relative
SIGMAS, ERROR_MAX = 3, 0.05  # a fit must lie within so many of its own standard errors, and these must be small


# --- logs -------------------------------------------------------------------------------------------------------------

# What makes the logs of tests/cli/data: (alpha, bandwidth, ranks, hosts). osu_allreduce adds and copies besides, at what the fit
# supposes of sums where a log cannot tell them from messages. reduce_scatter and osu_latency have two segments:
# below the break alpha and beta are others.
NCCL = {"all_reduce_perf": (12e-6, 11.5e9, 16, 2), "alltoall_perf": (9e-6, 22e9, 8, 8), "all_gather_perf": (6e-6, 180e9, 8, 1),
        "reduce_scatter_perf": (30e-6, 11e9, 16, 4)}
OSU = {"osu_latency": (9e-6, 3.0e9, 2), "osu_bw": (0.8e-6, 12e9, 2), "osu_allreduce": (3e-6, 5e9, 8), "osu_alltoall": (4e-6, 2e9, 12)}
# A message of 64 KiB takes 28 us by the one and 36 by the other, of 8 KiB 8.3 and 12: none takes longer than a longer one.
SMALL = {"reduce_scatter_perf": (6e-6, 3e9, 64 << 10), "osu_latency": (1.5e-6, 1.2e9, 8 << 10)}
SUM = 1e-10  # s a byte
SIZES = [8 << i for i in range(31)]
STEPS = {"all_reduce_perf": lambda P: 2 * (P - 1), "osu_allreduce": lambda P: 2 * (P - 1), "osu_latency": lambda P: 1,
         "osu_bw": lambda P: 1}


def seconds(tool, size, alpha, bandwidth, ranks):
    message = size / ranks if tool.endswith("_perf") or tool == "osu_allreduce" else size
    if tool in SMALL and message < SMALL[tool][2]:
        alpha, bandwidth, _ = SMALL[tool]
    return STEPS.get(tool, lambda P: P - 1)(ranks) * (alpha + message / bandwidth)


def memory(tool, size, ranks):
    """An all-reduce by a ring adds all but its own share, and copies the vector (2/3 of a sum's time)."""
    return SUM * size * ((ranks - 1) / ranks + 2 / 3) if tool == "osu_allreduce" else 0


def noisy(draw, time, outlier):
    return time * (1 + draw.gauss(0, NOISE)) * (draw.choice([3, 8, 0.6]) if outlier else 1)


def nccl_log(tool, seed, old=False, outliers=2, make=NCCL):
    draw, (alpha, bandwidth, ranks, hosts) = random.Random(seed), make[tool]
    far = draw.sample(range(len(SIZES)), outliers)
    lines = [] if old else ["# nccl-tests version 2.13.10 nccl-headers=22304 nccl-library=22304", f"# Collective test starting: {tool}"]
    lines += [f"# nThread 1 nGpus 1 minBytes {SIZES[0]} maxBytes {SIZES[-1]} step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 "
              "validation: 1 graph: 0", "#", "# Using devices"]
    for r in range(ranks):
        group = "" if old else " Group  0"
        lines.append(f"#  Rank {r:2d}{group} Pid {4000 + r:6d} on     node{r * hosts // ranks:02d} device {r % (ranks // hosts):2d} "
                     f"[0x{r % 8:02x}] NVIDIA H100 80GB HBM3")
    last = "error" if old else "#wrong"
    lines += ["#", "#" + " " * 62 + "out-of-place" + " " * 23 + "in-place          ",
              f"#       size         count      type   redop    root     time   algbw   busbw {last}     time   algbw   busbw {last}",
              "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)       "]
    factor = (2 if tool == "all_reduce_perf" else 1) * (ranks - 1) / ranks
    redop = "sum" if tool in ("all_reduce_perf", "reduce_scatter_perf") else "none"
    for i, size in enumerate(SIZES):
        row = f"{size:12d}  {size // 4:12d}  {'float':>8s}  {redop:>6s}  {-1:6d}"
        for place in range(2):
            time = noisy(draw, seconds(tool, size, alpha, bandwidth, ranks), i in far) * (1.3 if place else 1)
            wrong = "0e+00" if old else "N/A" if place and tool == "alltoall_perf" else "0"
            row += f"  {time * 1e6:7.2f}  {size / time / 1e9:6.2f}  {size / time / 1e9 * factor:6.2f}  {wrong:>5s}"
        lines.append(row)
    return "\n".join([*lines, "# Out of bounds values : 0 OK", "# Avg bus bandwidth    : 10.4 ", "#", ""])


def osu_log(tool, seed, new=False, outliers=2, make=OSU):
    title = {"osu_latency": "Latency Test", "osu_bw": "Bandwidth Test", "osu_allreduce": "Allreduce Latency Test",
             "osu_alltoall": "All-to-All Personalized Exchange Latency Test"}[tool]
    draw, (alpha, bandwidth, ranks) = random.Random(seed), make[tool]
    sizes = [1 << i for i in range(23)]
    far = draw.sample(range(len(sizes)), outliers)
    lines = ["", f"# OSU MPI{'-CUDA' if new else ''} {title} {'v7.4' if new else 'v5.6.3'}"]
    if new:
        lines.append("# Datatype: MPI_CHAR.")
    unit = "Bandwidth (MB/s)" if tool == "osu_bw" else "Avg Latency(us)" if new or tool != "osu_latency" else "Latency (us)"
    lines.append(f"# {'Size':<10s}{unit:>20s}")
    for i, size in enumerate(sizes):
        time = noisy(draw, seconds(tool, size, alpha, bandwidth, ranks) + memory(tool, size, ranks), i in far)
        lines.append(f"{size:<12d}{size / time / 1e6 if tool == 'osu_bw' else time * 1e6:>18.2f}")
    return "\n".join(lines) + "\n"


def shipped_logs():
    """Two of each kind: the one of an older version, the other of a newer one."""
    logs = {}
    for seed, tool in enumerate(NCCL):
        logs[f"{tool}.log"] = nccl_log(tool, seed)
        logs[f"{tool}-old.log"] = nccl_log(tool, 500 + seed, old=True)
    for seed, tool in enumerate(OSU):
        logs[f"{tool}.log"] = osu_log(tool, 200 + seed)
        logs[f"{tool}-new.log"] = osu_log(tool, 300 + seed, new=True)
    return logs


if "--write" in sys.argv:
    DATA.mkdir(exist_ok=True)
    for file, text in shipped_logs().items():
        (DATA / file).write_text(text)
    sys.exit(0)


# --- calls ------------------------------------------------------------------------------------------------------------


def calibrate(path, *options):
    return json.loads(ask("calibrate", "network", path, *options).stdout)


def near(cluster, alpha, bandwidth, what):
    fit, link = cluster["notes"]["fit"][-1], cluster.get("segments", [cluster])[-1]
    assert abs(link["bandwidth"] * fit["seconds_per_byte"] - 1) < 1e-12
    for key, truth in (("latency", alpha), ("seconds_per_byte", 1 / bandwidth)):
        if truth is not None:
            assert abs(fit[key] - truth) <= SIGMAS * fit[f"{key}_error"], f"{what}: {key} {fit[key]} +- {fit[key + '_error']}, not {truth}"
            assert fit[f"{key}_error"] <= ERROR_MAX * truth, f"{what}: {key} only known to +-{fit[key + '_error'] / truth}"


def refused(folder, text, says, *options):
    path = folder / "bad.log"
    if isinstance(text, bytes):
        path.write_bytes(text)
    else:
        path.write_text(text)
    done = ask("calibrate", "network", path, *options, status=2)
    assert done.stdout == "" and "bad.log" in done.stderr and says in done.stderr, f"said {done.stderr!r}, not {says!r}"


# --- logs that are good -----------------------------------------------------------------------------------------------


@test
def data_is_what_makes_it(folder):
    for file, text in shipped_logs().items():
        assert (DATA / file).read_text() == text, f"{file}: write it anew (test_calibrate.py PROGRAM ROOT --write)"


@test
def nccl_logs(folder):
    for tool, (alpha, bandwidth, ranks, hosts) in NCCL.items():
        for old in ("", "-old"):
            options = ["--tool", tool] if old else []
            cluster = calibrate(DATA / f"{tool}{old}.log", *options)
            near(cluster, alpha, bandwidth, tool + old)
            assert cluster["gpus_per_node"] == ranks // hosts and tool in cluster["source"]["latency"]
            fit = cluster["notes"]["fit"]
            assert len(fit) == (2 if tool in SMALL else 1), f"{tool}{old}: {len(fit)} segments, {cluster['notes']}"
            assert sum(f["outliers"] for f in fit) >= 1 and fit[-1]["valid"][1] == SIZES[-1] / ranks
            assert 0.3 * NOISE < fit[-1]["residual_median"] < 1.5 * NOISE


@test
def osu_logs(folder):
    for tool, (alpha, bandwidth, ranks) in OSU.items():
        for new in ("", "-new"):
            options = ["--ranks", ranks] if tool in ("osu_allreduce", "osu_alltoall") else []
            options += ["--latency", "2us"] if tool == "osu_bw" else []
            cluster = calibrate(DATA / f"{tool}{new}.log", *options)
            gap = tool == "osu_bw"  # messages overlap: what stands between them is no latency
            near(cluster, None if gap else alpha, bandwidth, tool + new)
            if gap:
                between = cluster["notes"]["stream"][0]
                assert abs(between["latency"] - alpha) <= SIGMAS * between["latency_error"], between
            assert tool != "osu_bw" or cluster["latency"] == 2e-6
            assert ("supposed" in cluster["notes"]) == (tool == "osu_allreduce")
            assert len(cluster["notes"]["fit"]) == (2 if tool in SMALL else 1), f"{tool}: {cluster['notes']}"


@test
def memory_is_told(folder):
    """Each piece that the cluster has, with its rates; a rate is 1/s a byte, shown with three digits."""
    for ranks in (8, 16):
        path = folder / "c.json"
        told = ask("calibrate", "network", DATA / "osu_allreduce.log", "--ranks", ranks, "-o", path).stderr
        pieces = json.loads(path.read_text())["notes"]["memory"]
        lines = re.findall(r"^memory, vectors (?:of up to .*|of any size above, or all): sums ([\d.]+) ([GM])bit/s", told, re.M)
        assert len(lines) == len(pieces) >= 1, told
        for (number, prefix), piece in zip(lines, pieces):
            assert abs(float(number) * {"G": 1e9, "M": 1e6}[prefix] / (8 / piece["sum_per_byte"]) - 1) < 6e-3, (told, piece)


@test
def both_segments_are_told(folder):
    for log in ("reduce_scatter_perf.log", "osu_latency.log"):
        small = calibrate(DATA / log)["notes"]["fit"][0]
        alpha, bandwidth, edge = SMALL[log.split(".")[0]]
        assert abs(small["latency"] - alpha) < SIGMAS * small["latency_error"] and small["valid"][1] <= edge, small
        assert abs(small["seconds_per_byte"] - 1 / bandwidth) < SIGMAS * small["seconds_per_byte_error"], small


@test
def many_draws(folder):
    """Not one lucky seed: the stated errors hold in at least 38 of 40 draws."""
    good = 0
    for seed in range(40):
        (folder / "x.log").write_text(nccl_log("all_reduce_perf", 1000 + seed, outliers=3))
        try:
            near(calibrate(folder / "x.log"), *NCCL["all_reduce_perf"][:2], f"seed {seed}")
            good += 1
        except AssertionError as reason:
            print(f"# {reason}")
    assert good >= 38, f"{good} of 40"


@test
def in_place_is_the_other_half(folder):
    alpha, bandwidth, _, _ = NCCL["all_reduce_perf"]
    near(calibrate(DATA / "all_reduce_perf.log", "--in-place"), 1.3 * alpha, bandwidth / 1.3, "in place")


@test
def one_size_range(folder):
    fit = calibrate(DATA / "osu_latency.log", "--sizes", "16KiB:")["notes"]["fit"]
    assert [f["valid"] for f in fit] == [[16384, 1 << 22]]


@test
def tool_from_bandwidths(folder):
    """Without its name, an all-reduce is known by busbw; which of three others it is must be said."""
    near(calibrate(DATA / "all_reduce_perf-old.log"), *NCCL["all_reduce_perf"][:2], "unnamed")
    assert "--tool" in ask("calibrate", "network", DATA / "all_gather_perf-old.log", status=2).stderr


@test
def a_tool_of_one_log(folder):
    """One log of several does not say what it is of; --tool of that log leaves the others as they are."""
    logs = [DATA / "all_gather_perf-old.log", DATA / "all_reduce_perf.log"]
    for name in (logs[0], logs[0].name):
        done = ask("calibrate", "network", logs[0], "--tool", f"{name}=all_gather_perf", "--leave-out", "nothing")
        near(json.loads(done.stdout), *NCCL["all_gather_perf"][:2], "its log")
    for tool, says in (("none.log=all_gather_perf", "none of the logs"), (f"{logs[0]}=all_gather", "can be read"), ("alltoall_perf", "")):
        done = ask("calibrate", "network", *logs[:1], "--tool", tool, "--leave-out", "nothing", status=0 if not says else 2)
        assert says in done.stderr, done.stderr
    own, table = logs[1], folder / "table.csv"  # it says itself what it is of; a table needs no program
    rows = [f"alltoall,pairwise,4,1,{4 << k},{3 * (5e-3 + (1 << k) / 1e8)!r}" for k in range(18, 26)]
    table.write_text("\n".join(["collective,algorithm,nodes,gpus_per_node,bytes,seconds", *rows]) + "\n")
    for path, tool, status, says in ((own, "foo", 2, "can be read"), (own, f"{own.name}=foo", 2, "can be read"), (own, f"{own.name}=", 2, "can be read"),
                                     (table, "foo", 2, "can be read"), (own, f"{own.name}=alltoall_perf", 2, "says that it is of all_reduce_perf"),
                                     (own, "osu_alltoall", 2, "says that it is of all_reduce_perf"), (own, "all_reduce_perf", 0, None),
                                     (own, f"{own}=all_reduce_perf", 0, None), (table, "alltoall_perf", 2, "--tool: is for logs")):
        done = ask("calibrate", "network", path, "--tool", tool, "--leave-out", "nothing", status=status)
        assert says in done.stderr if says else "--tool" not in done.stderr, (tool, done.stderr)
    ask("calibrate", "network", *logs, "--tool", "all_gather_perf", "--leave-out", "nothing")  # one of them does not say


@test
def what_counts_for_nothing_is_refused(folder):
    log, table = DATA / "all_reduce_perf.log", folder / "table.csv"
    rows = [f"alltoall,pairwise,4,1,{4 << k},{3 * (5e-3 + (1 << k) / 1e8)!r}" for k in range(18, 26)]
    table.write_text("\n".join(["collective,algorithm,nodes,gpus_per_node,bytes,seconds", *rows]) + "\n")
    for path, options, says in ((log, ["--where", "nodes=2"], "--where: is for rows of tables"), (log, ["--suppose", "alltoall=linear"], "no time is left open"),
                                (table, ["--suppose", "alltoall=linear"], "no time is left open"),
                                (log, ["--suppose", "allreduce=trees", "--suppose", "allreduce=ring"], "two algorithms of allreduce"),
                                (log, ["--nics", "9"], "9 cards, but a node has 8 GPUs"), (log, ["--ranges"], "--ranges: does nothing without --validate"),
                                (log, ["--device-output", "x", "--validate"], "do not go together"),
                                (log, ["--fit-on", "nodes=2"], "--fit-on: does nothing without --validate")):
        assert says in ask("calibrate", "network", path, *options, "--leave-out", "nothing", status=2).stderr, (options, says)


@test
def a_quantity_has_one_column(folder):
    path = folder / "table.csv"
    for heads, says in (("nodes,gpus_per_node,bytes,seconds,nodes", ('two columns are called "nodes"',)),
                        ("nodes,gpus_per_node,bytes,seconds,median_s", ('5 "seconds"', '6 "median_s"')),
                        ("nodes,per_node,bytes,median_s,tasks_per_node", ('3 "per_node"', '6 "tasks_per_node"')),
                        ("nodes,gpus_per_node,bytes,seconds,note", ())):
        rows = [f"alltoall,4,1,{4 << k},{3 * (5e-3 + (1 << k) / 1e8)!r},4" for k in range(18, 26)]
        path.write_text("\n".join([f"collective,{heads}", *rows]) + "\n")
        done = ask("calibrate", "network", path, "--leave-out", "nothing", status=2 if says else 0)
        assert all(x in done.stderr for x in says), done.stderr


@test
def clusters_are_named_after_what_was_measured(folder):
    for log, name in (("all_reduce_perf.log", "2x8-nvidia-h100-80gb-hbm3"), ("osu_latency.log", "2x1-measured")):
        assert calibrate(DATA / log, "--leave-out", "nothing")["name"] == name
    assert calibrate(DATA / "osu_latency.log", "--leave-out", "nothing", "--name", "My One")["name"] == "My One"


@test
def no_rate_no_cluster(folder):
    """What was measured inside a node is no rate between nodes, nor is one size, nor are times that do not grow, or only by chance."""
    (folder / "ok.csv").write_text("collective,nodes,gpus_per_node,bytes,seconds\n" +
                                   "".join(f"allgather,1,4,{1 << i},{1e-5 + (1 << i) * 1e-11}\n" for i in range(10, 20)))
    (folder / "bw.log").write_text("# OSU MPI Bandwidth Test v5.9\n# Size Bandwidth (MB/s)\n" + "".join(f"{1 << i} {1 << i}\n" for i in range(12)))
    dice = random.Random(2)  # noise alone: a part that is fitted may find bytes that take no time at all
    (folder / "noise.csv").write_text("collective,algorithm,bytes,seconds,nodes,gpus_per_node\n" + "".join(
        f"{c},{1 << k},{s * dice.lognormvariate(0, 0.7)!r},1,4\n" for c, s, top in (("allreduce,ring", 0.03, 15), ("allgather,ring", 0.016, 17),
                                                                                 ("alltoall,linear", 0.007, 21), ("sendrecv,", 0.003, 21))
        for k in range(10, top)))
    assert "times do not grow with sizes" in ask("calibrate", "network", folder / "noise.csv", status=2).stderr
    (folder / "one.log").write_text("# OSU MPI Latency Test v5.9\n# Size Latency (us)\n8 2.0\n")
    for log, says in (("bw.log", "do not grow"), ("one.log", "1 times of 1 sizes between nodes are too few")):
        done = ask("calibrate", "network", folder / "ok.csv", folder / log, "--latency", "2us", status=2)
        assert says in done.stderr and not done.stdout, done


@test
def sizes_noise_and_doubts_are_written(folder):
    """All-reduces end at 16 KiB; half of the calls are between half and twice the median; a start-up takes 5 ms; in some parts of the
    table no byte takes any time."""
    rows = [f"allreduce,ring,{1 << k},{6 * (5e-3 + (1 << k) / 4 / 1e9)}" for k in range(10, 15)]
    rows += [f"allgather,ring,{1 << k},{3 * (5e-3 + (1 << k) / 4 / 1e9)}" for k in range(10, 25)]
    rows += [f"alltoall,linear,{1 << k},{3 * 5e-3 * (1.3 if k % 2 else 0.8)}" for k in range(10, 15)]
    path = folder / "t.csv"
    path.write_text("collective,algorithm,bytes,seconds,nodes,p25_s,p75_s\n" +
                    "".join(f"{r},4,{float(r.split(',')[3]) / 2!r},{float(r.split(',')[3]) * 2!r}\n" for r in rows))
    done = ask("calibrate", "network", path)
    accuracy = json.loads(done.stdout)["accuracy"]
    assert accuracy["calls"] == {"allreduce": [1024, 16384], "allgather": [1024, 1 << 24], "alltoall": [1024, 16384]}
    assert accuracy["noise"]["half"] == 2 and abs(accuracy["noise"]["most"] - 2 ** (1.645 / 0.6745)) < 1e-3
    assert accuracy["doubtful"] and "no link's" in accuracy["doubtful"][0] and f"doubtful: {accuracy['doubtful'][0]}" in done.stderr
    assert all(accuracy["collective"][k] >= accuracy["measured"][k] for k in ("half", "most"))
    assert "sizes: allreduce of 1.02 kB to 16.4 kB, allgather of 1.02 kB to 16.8 MB" in done.stderr and "within a factor of 2 of" in done.stderr
    path.write_text(path.read_text().replace(",4,0.0", ",4,9.0", 1))
    assert "p25_s is above p75_s" in ask("calibrate", "network", path, status=2).stderr
    for wide in (8, 1000):  # 90% of a normal law lie within the power of its quartiles; a million is the most that is said
        path.write_text("collective,algorithm,bytes,seconds,nodes,p25_s,p75_s\n" +
                        "".join(f"{r},4,{float(r.split(',')[3]) / wide!r},{float(r.split(',')[3]) * wide!r}\n" for r in rows))
        noise = json.loads(ask("calibrate", "network", path).stdout)["accuracy"]["noise"]
        assert abs(noise["half"] / wide - 1) < 1e-3 and abs(noise["most"] / min(wide ** (1.645 / 0.6745), 1e6) - 1) < 1e-3, noise


@test
def noise_of_launchers(folder):
    """mpirun's tags, NCCL's debug output, carriage returns and an echoed command are no obstacle."""
    lines = (DATA / "alltoall_perf.log").read_text().split("\n")
    text = "+ mpirun -np 8 ./build/alltoall_perf -b 8\r\n" + "\r\n".join("[1,0]<stdout>:" + line for line in lines)
    text += "\nnode00:4000:4000 [0] NCCL INFO comm 0x55 rank 0 nranks 8\n"
    (folder / "x.log").write_text(text)
    near(calibrate(folder / "x.log"), *NCCL["alltoall_perf"][:2], "with noise")


@test
def cluster_runs(folder):
    ask("calibrate", "network", DATA / "all_reduce_perf.log", "-o", folder / "mine.json", "--name", "mine")
    done = ask("run", "--trace", ROOT / "traces" / "bible-kjv-16.safetensors", "--scheme", "allreduce", "--iterations", "1",
                "--cluster", folder / "mine.json", "--format", "json")
    assert json.loads(done.stdout)["points"][0]["cluster"].endswith("mine")


# --- under mpirun -----------------------------------------------------------------------------------------------------

def under_mpirun(ranks, *arguments):
    missing = mpi.why_not(PROGRAM)
    if missing:
        raise tap.Skip(missing)
    return subprocess.run([*mpi.with_mpirun(ranks), PROGRAM, "calibrate", "network", *map(str, arguments)], capture_output=True, text=True,
                          timeout=tap.HANG, env=mpi.environment(ROOT))


@test
def processes_of_mpirun(folder):
    """The times are this machine's; but the cluster is one, and fits were made of what was asked for."""
    for attempt in range(3):  # a busy machine may drown the bandwidth in noise, and is told so
        done = under_mpirun(3, "--sizes", "64:4MiB", "--repeats", "5", "-o", folder / "c.json")
        if done.returncode == 0:
            break
        assert "noise" in done.stderr or "do not grow" in done.stderr, done.stderr
    else:
        raise tap.Skip("too busy a machine to time messages")
    cluster = json.loads((folder / "c.json").read_text())
    link = cluster.get("segments", [cluster])[-1]
    assert link["latency"] >= 0 and link["bandwidth"] > 1e6 and cluster["gpus_per_node"] == 3
    for fit in (cluster["notes"]["fit"], cluster["notes"]["ping_pong"]):
        assert fit[0]["valid"][0] == 64 and fit[-1]["valid"][1] == 1 << 22 and sum(f["samples"] for f in fit) == 17
    ask("run", "--trace", ROOT / "traces" / "bible-kjv-16.safetensors", "--scheme", "allgather", "--iterations", "1", "--cluster",
         folder / "c.json")


@test
def processes_of_mpirun_by_another_clock(folder):
    """clock.c's, by which all is known: of repeats that take a second nine are enough, of which the fifth lies in the middle; the
    first message of each size does not count."""
    clock = pathlib.Path(PROGRAM).parent / "tests" / "clock.so"
    missing = mpi.why_not(PROGRAM) or (None if clock.exists() else "no tests/clock.so")
    if missing:
        raise tap.Skip(missing)
    for repeats, middle in ((21, 5), (5, 3), (1, 1)):
        done = subprocess.run([*mpi.with_mpirun(2), "env", f"LD_PRELOAD={clock}", PROGRAM, "calibrate", "network", "--sizes", "64:64KiB", "--repeats",
                               str(repeats)], capture_output=True, text=True, timeout=tap.HANG, env=mpi.environment(ROOT))
        assert done.returncode == 0, done.stderr
        notes = json.loads(done.stdout)["notes"]
        for part, fit in ((1, notes["fit"]), (2, notes["ping_pong"])):
            took = [f["latency"] / 0.107 * part for f in fit] + [f["seconds_per_byte"] / 150e-9 * part for f in fit]
            assert all(abs(t - 1 - middle / 100) < 1e-6 for t in took), (repeats, part, took)


@test
def one_process_is_too_few(folder):
    for arguments, says in (([1], "nobody"), ([2, "--ranks", "2"], "for logs"), ([2, "--sizes", "1:2GiB"], "1 GiB"),
                            ([2, "--sises", "1:"], "--sizes"), ([2, "--sizes", "1:2", "--repeats", "1"], "too few")):
        done = under_mpirun(*arguments)
        assert done.returncode == 2 and says in done.stderr and not done.stdout, done
        assert done.stderr.count("sparsync calibrate network:") == 1, f"several ranks spoke: {done.stderr}"


@test
def ranks_told_different_things(folder):
    """They would wait for each other for ever."""
    if missing := mpi.why_not(PROGRAM):
        raise tap.Skip(missing)
    script = folder / "as_rank"
    for more in ("--sizes 1:1MiB", "--repeats 7"):
        script.write_text(f'#!/bin/sh\nif [ "${{OMPI_COMM_WORLD_RANK:-${{PMI_RANK:-0}}}}" = 1 ]; then set -- "$@" {more}; fi\nexec "$@"\n')
        script.chmod(0o755)
        done = subprocess.run([*mpi.with_mpirun(2), str(script), PROGRAM, "calibrate", "network"], capture_output=True, text=True,
                              timeout=tap.HANG, env=mpi.environment(ROOT), check=False)
        assert done.returncode == 2 and "rank 1 of 2: this rank was given another" in done.stderr, (more, done)


@test
def options_of_logs_where_there_are_none(folder):
    if missing := mpi.why_not(PROGRAM):
        raise tap.Skip(missing)
    for option in (("--suppose", "allreduce=ring"), ("--where", "system=x"), ("--device-output", folder / "d.json"), ("--library", "nccl=2.21"), ("--messages", "1KiB"), ("--validate",)):
        done = subprocess.run([*mpi.with_mpirun(2), PROGRAM, "calibrate", "network", *map(str, option)], capture_output=True, text=True, timeout=tap.HANG, env=mpi.environment(ROOT))
        assert done.returncode == 2 and f"{option[0]} is for logs: here messages are timed" in done.stderr and not done.stdout, (option, done)


@test
def options_that_tables_make_void(folder):
    """What would count for nothing is refused."""
    times = folder / "t.csv"
    times.write_text("collective,algorithm,bytes,nodes,gpus_per_node,seconds\n" + "".join(
        f"allreduce,ring,{b},{n},2,{2 * (2 * n - 1) * 20e-6 + 2 * b / 1.2e9}\n" for b in (1024, 65536, 1 << 20, 1 << 24) for n in (2, 4, 8)))
    log = DATA / "all_reduce_perf.log"
    again, copy, returns = folder / ".." / folder.name / "t.csv", folder / "copy.csv", folder / "returns.log"
    copy.write_bytes(times.read_bytes())
    returns.write_bytes(log.read_bytes().replace(b"\n", b"\r"))
    for arguments, says in (([times, times], "is named twice"), ([times, again], "is named twice"),
                            ([times, copy], "copy.csv: holds the same times as"), ([log, log], "is named twice"), ([returns], "line 1: a carriage return within a line"), ([times, "--ranks", "16"], "--ranks"),
                            ([times, "--in-place"], "--in-place"),
                            ([times, "--gpus-per-node", "1"], "times are of 2 a node"), ([log, "--repeats", "3"], "--repeats")):
        assert says in ask("calibrate", "network", *arguments, status=2).stderr, arguments
    times.write_bytes(times.read_bytes().replace(b"\n", b"\r"))
    assert "carriage return alone" in ask("calibrate", "network", times, status=2).stderr


@test
def a_table_of_gloo_names_it(folder):
    """A cluster of what gloo took has gloo, over which alone some schemes are offered; of two libraries it has none."""
    times, line = folder / "t.csv", "all_reduce,ring,{},{},1,{},{}\n".format
    times.write_text("collective,algorithm,library,nodes,gpus_per_node,bytes,seconds\n" + "".join(
        line("gloo 2.15.0", n, b, 2 * (n - 1) * (20e-6 + b / n / 1.2e9)) for b in (1024, 65536, 1 << 20, 1 << 24) for n in (2, 4)))
    assert calibrate(times)["library"] == {"name": "gloo"}
    gloomy = folder / "gloomy.csv"
    gloomy.write_text(times.read_text().replace("gloo 2.15.0", "gloomy-mpi"))
    assert "library" not in calibrate(gloomy)
    with open(times, "a", encoding="utf-8") as file:
        file.write(line("Open MPI 4.1", 8, 1024, 14 * (20e-6 + 128 / 1.2e9)))
    assert "library" not in calibrate(times)


@test
def a_log_is_fitted_once(folder):
    """Under mpirun as without: one rank reads and writes, and it alone speaks."""
    log = DATA / "all_reduce_perf.log"
    alone = ask("calibrate", "network", log, "--name", "mine")
    done = under_mpirun(3, log, "--name", "mine")
    assert done.returncode == 0 and done.stdout == alone.stdout and done.stderr == alone.stderr, done
    done = under_mpirun(2, folder / "none.log")
    assert done.returncode == 2 and done.stderr.count("none.log") == 1, done


@test
def options_before_mpi(folder):
    """What is wrong with the command line is said by a process that no mpirun started without starting MPI: here it
    could not, for want of a folder to put its session into."""
    missing = mpi.why_not(PROGRAM)
    if missing:
        raise tap.Skip(missing)
    broken = {**ENVIRONMENT, "OMPI_MCA_orte_tmpdir_base": str(folder / "none"), "OMPI_MCA_ess": "none", "PMI_FD": "99"}
    for arguments, says in ((["--sises", "1:"], "--sizes"), (["--ranks", "1"], "--ranks"), ([], "nobody")):
        done = subprocess.run([PROGRAM, "calibrate", "network", *arguments], capture_output=True, text=True, timeout=tap.HANG, env=broken)
        assert done.returncode == 2 and says in done.stderr and done.stderr.count("\n") == 1, done


# --- kernels ----------------------------------------------------------------------------------------------------------

CHARGED = {"merge_sum": {"t0": 3e-3, "per_byte": 1e-6}, "dense_add": {"t0": 0.5, "per_byte": 1e-3}}


@test
def sums_are_charged_by_name(folder):
    """4 ranks, 64 rows of 4 floats, 8 rows each that nobody else has: an all-reduce adds 3 times a quarter of the tensor, 3
    bytes moved for each received; an all-gather sums 4 lists of 8 rows of 20 B into one of 32 rows, once."""
    (folder / "d.json").write_text(json.dumps({"name": "d", "kernels": CHARGED}))
    (folder / "s.json").write_text(json.dumps({
        "trace": {"uniform": {"rows": 64, "row_width": 4, "density": "1/8", "overlap": "none"}}, "ranks": 4, "iterations": 1,
        "cluster": {"latency": 0, "bandwidth": 1e9}, "device": "d.json", "schemes": ["allreduce", "allgather", {"name": "ps", "dense": True}]}))
    points = json.loads(ask("run", folder / "s.json", "--format", "json").stdout)["points"]
    kernels = {p["scheme"]: p["kernels"] for p in points}
    packed = 0.5 + 2 * 8 * 20 * 1e-3  # one list, read and written; not in the file, so as long as a dense add of so many bytes
    wanted = {("allreduce", "dense_add"): 3 * (0.5 + 3 * 256 * 1e-3), ("allgather", "merge_sum"): 3e-3 + (4 * 8 + 32) * 20 * 1e-6, ("allgather", "pack"): packed}
    for (scheme, kernel), seconds in wanted.items():
        assert abs(kernels[scheme][kernel]["s"] / seconds - 1) < 1e-9, f"{scheme}: {kernels[scheme][kernel]}, not {seconds}"
        assert kernels[scheme][kernel]["estimated"] == (kernel == "pack")
    for p in points:
        assert abs(p["kernel_s"] / sum(k["s"] for k in p["kernels"].values()) - 1) < 1e-9, p
    # S2's bitmap of 64 rows is of 8 B, or of as many bytes as rows; a rank reads 8 indices of 4 B, and those of all ranks
    (folder / "d.json").write_text(json.dumps({"name": "d", "kernels": {**CHARGED, "bitmap_encode": {"t0": 0, "per_byte": 1}, "bitmap_decode": {"t0": 0, "per_byte": 1}}}))
    for way, size in (("bits", 8), ("bytes", 64), ("gathered", 8)):
        one = {"trace": {"uniform": {"rows": 64, "density": "1/8", "overlap": "none"}}, "schemes": [{"name": "s2", "bitmap": way}]}
        (folder / "s2.json").write_text(json.dumps({**json.loads((folder / "s.json").read_text()), **one}))
        found = json.loads(ask("run", folder / "s2.json", "--format", "json").stdout)["points"][0]["kernels"]
        assert [found[f"bitmap_{k}"]["s"] for k in ("encode", "decode")] == [8 * 4 + size, 4 * 8 * 4 + size], (way, found)
    # of a dense add in pieces by its largest calls, an element's time among the 12 bytes that an add of it moves
    pieces = [{"up_to": 4096, "t0": 1, "per_byte": 1}, {"t0": 0.25, "per_byte": 1e-3, "per_element": 6e-3}]
    (folder / "d.json").write_text(json.dumps({"name": "d", "kernels": {**CHARGED, "dense_add": {"pieces": pieces}}}))
    kernels = {p["scheme"]: p["kernels"] for p in json.loads(ask("run", folder / "s.json", "--format", "json").stdout)["points"]}
    for scheme, kernel, seconds in (("allgather", "pack", 0.25 + 2 * 8 * 20 * 1.5e-3), ("allreduce", "dense_add", 3 * (1 + 3 * 256))):
        assert abs(kernels[scheme][kernel]["s"] / seconds - 1) < 1e-9, kernels[scheme]


@test
def algorithm_1_is_charged(folder):
    """20 rows a rank: 8 B each, and 8 B for each of 40 + 4 slots; a stable partition 8 B a row. A line takes the rows."""
    line = {"t0": "1ms", "per_element": "1us", "per_byte": "1ns"}
    spec = {"trace": {"uniform": {"rows": 80, "row_width": 4, "density": "1/4", "overlap": "none"}}, "ranks": 4, "iterations": 1,
            "cluster": {"latency": 0, "bandwidth": 1e9}, "schemes": ["zen", {"name": "zen", "hashing": "partition", "label": "partition"}]}
    for device, wanted in (({"name": "d", "kernels": {**CHARGED, "hierarchical_hashing": line}}, [1e-3 + 20e-6 + 512e-9, 0.5 + 160e-3]),
                           ({"name": "d", "memory_bandwidth": "1GB/s", "efficiency": 1, "launch": "1us"}, [1e-6 + 512e-9, 1e-6 + 160e-9])):
        (folder / "s.json").write_text(json.dumps({**spec, "device": device}))
        kernels = [p["kernels"] for p in json.loads(ask("run", folder / "s.json", "--format", "json").stdout)["points"]]
        assert "hash_partition" not in kernels[0] and "hierarchical_hashing" not in kernels[1], kernels
        for kernel, name, seconds in zip(kernels, ("hierarchical_hashing", "hash_partition"), wanted, strict=True):
            assert abs(kernel[name]["s"] / seconds - 1) < 1e-9, (name, kernel[name], seconds)
    (folder / "s.json").write_text(json.dumps({**spec, "schemes": [{"name": "zen", "hashing": "partition", "balance": "even"}]}))
    assert '"hashing" belongs to balance "hash"' in ask("run", folder / "s.json", status=2).stderr


@test
def kernels_are_timed(folder):
    """The times are this machine's, and nobody's to check; but a device comes out that `run` takes."""
    path = folder / "here.json"
    for attempt in range(3):  # a busy machine may drown a kernel's rate in noise, and is told so
        done = subprocess.run([PROGRAM, "calibrate", "kernels", "--device", "cpu", "--max", "1MiB", "--cache", "64KiB", "--repeats", "5",
                               "-o", path], capture_output=True, text=True, timeout=tap.HANG, env=ENVIRONMENT)
        assert done.returncode == 0 or "noise" in done.stderr or "grow" in done.stderr, done.stderr
        if done.returncode == 0:
            break
    else:
        raise tap.Skip("too busy a machine to time kernels")
    device = json.loads(path.read_text())
    assert len(device["kernels"]) == 15 and {"merge_sum", "dense_add", "hash_bitmap_decode"} <= set(device["kernels"]) and "cpu" in device["measured"]
    floors = {(f["kernel"], f["density"]): f for f in device["notes"]["floors"]}
    assert len(floors) == 15 * 3 and "times the floor" in done.stderr
    for (name, _), floor in floors.items():
        assert name in device["kernels"] and floor["rows"] == 262144, floor
        rate = device["notes"]["copied_bytes_per_second"]
        assert abs(floor["floor_s"] / (floor["floor_bytes"] / rate) - 1) < 1e-9 and abs(floor["ratio"] / (floor["seconds"] / floor["floor_s"]) - 1) < 1e-9
    assert floors["dense_add", 0.1]["floor_bytes"] == 12 * 262144 and floors["hash_partition", 0.5]["floor_bytes"] % 8 == 0
    listed = floors["hash_partition", 0.1]["floor_bytes"] // 8  # the same rows; ZEN's memory is 2n slots and a tenth of that
    assert abs(floors["hierarchical_hashing", 0.1]["floor_bytes"] - (40 * listed + 8 * 2.2 * listed)) <= 8
    for name, line in device["kernels"].items():
        for piece in line.get("pieces", [line]):
            assert piece["t0"] >= 0 and piece["per_byte"] + piece.get("per_element", 0) > 0, f"{name}: {line}"
        wide = name in ("merge_sum", "pack") or "encode" in name or name.endswith(("bitmap_decode", "block_decode"))
        assert line["samples"] == (24 if wide else 12), f"{name}: {line}"  # of wide rows, too
        assert 0 < line["valid"][0] < line["valid"][1] and name in done.stderr
        words = re.search(rf"^{name} +(.*); residuals", done.stderr, re.M)[1].split(", then ")
        for piece, said in zip(line.get("pieces", [line]), words):  # each piece as it is written, with three digits
            rate = re.search(r"bytes/\(([\d.]+) ([kMGT]?)bit/s\)", said)
            assert (rate is None) == (piece["per_byte"] == 0), (piece, said)
            if rate:
                assert abs(float(rate[1]) * {"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}[rate[2]] * piece["per_byte"] / 8 - 1) < 6e-3, (piece, said)
            each = re.search(r"elements\*([\d.e+-]+)ns", said)
            assert abs((float(each[1]) if each else 0) - 1e9 * piece.get("per_element", 0)) <= 6e-3 * 1e9 * piece.get("per_element", 0), (piece, said)
        assert len(words) == len(line.get("pieces", [line])), words
    ask("run", "--trace", ROOT / "traces" / "bible-kjv-16.safetensors", "--scheme", "allgather", "--iterations", "1", "--cluster",
         "rtx3090-1gbe", "--device", path)


@test
def gpus_that_are_not_there_are_told(folder):
    """Built without CUDA: usage; with it, but without a GPU: the machine. With a GPU it works, and takes too long to try here."""
    done = subprocess.run([PROGRAM, "calibrate", "kernels", "--device", "cuda", "--max", "64KiB", "-o", folder / "gpu.json"],
                          capture_output=True, text=True, timeout=tap.HANG, env={**ENVIRONMENT, "CUDA_VISIBLE_DEVICES": ""})
    assert done.returncode in (2, 3) and not done.stdout and not (folder / "gpu.json").exists(), done
    assert ("built without CUDA" if done.returncode == 2 else "cuda: looking for an NVIDIA GPU and its driver: ") in done.stderr, done.stderr


# --- logs that are not ------------------------------------------------------------------------------------------------


@test
def a_given_latency_is_not_fitted(folder):
    """Pairwise exchanges of 4 ranks, 3 messages of a quarter of the bytes one after the other, of 5 ms and 100 MB/s."""
    path = folder / "table.csv"
    for nodes in (1, 4):  # all in one, or one on each
        rows = [f"alltoall,pairwise,{nodes},{4 // nodes},{4 << k},{3 * (5e-3 + (1 << k) / 1e8)!r}" for k in range(18, 26)]
        path.write_text("\n".join(["collective,algorithm,nodes,gpus_per_node,bytes,seconds", *rows]) + "\n")
        for given in (5e-3, 2e-3):
            found = calibrate(path, "--latency", f"{given}s")
            assert found["latency"] == given == found["notes"]["fit"][0]["latency"], found
    near(calibrate(path, "--latency", "5ms"), 5e-3, 1e8, "what is so")
    assert calibrate(path, "--latency", "2ms")["bandwidth"] < 0.99e8, "what is not in the latency is in the bytes"


@test
def broken_logs(folder):
    good = nccl_log("all_reduce_perf", 0)
    row = next(x for x in good.split("\n") if x.lstrip().startswith("1024 "))
    refused(folder, "", "no results")
    refused(folder, "hello\nworld\n", "no results")
    refused(folder, good.split("# Out of")[0].split("    (B) ")[0], "no results")
    refused(folder, good.replace(row, row[:60]), "columns")
    refused(folder, good.replace(row, row.replace(row.split()[5], "fast")), "must be numbers")
    refused(folder, good.replace(row, row.replace(row.split()[5], "inf")), "must be numbers")
    refused(folder, good.replace(row, row.replace("      0  ", "     17  ", 1)), "wrong results")
    refused(folder, good.replace("#  Rank  3", "#  Rank  2"), "stands above already")
    refused(folder, good + good.replace("H100", "A100"), "two clusters")
    refused(folder, good.replace("#  Rank  3", "#  Rank 93"), "rank 3 is missing")
    refused(folder, "\n".join(x for x in good.split("\n") if "#  Rank " not in x or "#  Rank  0" in x), "bad.log: one rank sends nothing")
    refused(folder, good.replace("on     node01 device  7", "on     node02 device  7"), "equally many")
    refused(folder, good, "16 ranks, not 4", "--ranks", 4)
    refused(folder, "x" * 5000 + "\n" + good, "4095")
    refused(folder, good.encode() + b"\0\n", "NUL")
    refused(folder, good.replace("Collective test starting: all_reduce_perf", ""), "busbw", "--tool", "alltoall_perf")
    refused(folder, good, "too few", "--sizes", "1KiB:2KiB")
    refused(folder, good, "with sizes from 8 to 512 B the time a byte takes is lost in noise", "--sizes", "8:512")


@test
def broken_osu_logs(folder):
    good = osu_log("osu_alltoall", 0)
    refused(folder, good, "--ranks P")
    refused(folder, good.replace("All-to-All Personalized Exchange", "Alltoallv"), "osu_alltoall", "--ranks", 4)
    refused(folder, osu_log("osu_latency", 0).replace("Latency Test", "Multi-threaded Latency Test"), "osu_latency")
    refused(folder, osu_log("osu_bw", 0), "--latency")
    refused(folder, good.replace("\n1024 ", "\n1024 x"), "second column", "--ranks", 4)
    refused(folder, good.replace("\n1024 ", "\n1024\n1025 "), "second column", "--ranks", 4)
    falling = "".join(f"{size} {9000 / size}\n" for size in (100, 200, 300, 400, 500, 600, 700, 800))
    refused(folder, "# OSU MPI Latency Test v5.9\n# Size Latency (us)\n" + falling, "do not grow")


@test
def wrong_usage(folder):
    for arguments, says in (([], "say what"), (["netwrk"], "network"), (["network"], "log"), (["kernels"], "--device"),
                            (["kernels", "--device", "gpu"], "not cpu"), (["kernels", "--device", "cpu", "--max", "1"], "--max"), (["network", "a", "b"], "a: "), (["network", "x", "--window", "0"], "--window"), (["network", "x", "--figure", "f.svg"], "--validate"),
                            (["network", "x", "--nics", "3", "--gpus-per-node", "8"], "divide"), (["network", "x", "--suppose", "allreduce"], "x: "),
                            (["network", folder / "none"], "none"), (["network", "x", "--sizes", "4"], "range"),
                            (["network", "x", "--latency", "fast"], "--latency"), (["network", "x", "--ranks", "1"], "--ranks")):
        done = ask("calibrate", *arguments, status=2)
        assert says in done.stderr and not done.stdout, done.stderr


sys.exit(tap.run())
# SPDX-License-Identifier: Apache-2.0
