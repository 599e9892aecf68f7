"""Speed and memory beside references measured in the same run; called by ./dev bench.

usage: bench.py --build FOLDER --scratch FOLDER [--simgrid PROGRAM] [--check] [--scale] [--only PART]

One table: our figure, the limit stated for it, a reference figure from the same run, the ratio, the limit stated for
the ratio where there is one, and ok or MISS. With --check the status is 1 when anything is beyond twice its limit.
--scale measures the largest runs instead: 128 ranks x 2.8 M of 112 M elements, each scheme alone, with proof; and
16,384 ranks beside fewer. That takes a quarter of an hour, 8 GB of memory, and 1.6 GB of disk in the scratch folder.
"""
import argparse
import json
import math
import os
import shutil
import struct
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
LATENCY, BANDWIDTH = 25e-6, 3.125e9  # of the cluster "bench" in the scenarios here
SHIPPED = "traces/bible-kjv-16.safetensors"

# Kernels of bench_kernels: the most that it may take (s), and how often the memory traffic it cannot do without: a
# third more than on the idle machine that the goals were set on, a guard against getting slower and no goal.
# Shared cards, nodes of 8 ranks with one: the most ns of processor time that a message may take, and the most memory.
FAIR = {
    "fair-ragged-64": ("ragged exchange, 64 ranks", None, None),
    "fair-ragged-256": ("ragged exchange, 256 ranks", None, None),
    "fair-ring-4096": ("ring all-reduce, 4,096 ranks", 100, 50e6),
    "fair-equal-1024": ("equal exchange, 1,024 ranks", 100, None),
    "fair-listed-1024": ("equal exchange, 1,024 ranks, sizes listed", None, None),
    "fair-ragged-1024": ("ragged exchange, 1,024 ranks", 800, 200e6),
}
# The same with a whole run, on nodes of 8 ranks with one card: how often it plays its messages (the all-reduce is the
# dense baseline, too), the most s of processor time at so many ranks, memory a rank, how often the floor, and the most
# that the power may be by which time grows with the ranks: messages grow by 2.
VERY_MANY = {
    "zen": (1, {4096: 12}, 90e3, 65, 2.2),
    "alltoall": (1, {}, 50e3, 40, 2.2),
    "allreduce": (2, {}, 40e3, 60, 2.2),
}
CARDS = {"name": "cards", "latency": "25us", "bandwidth": "25Gbps", "gpus_per_node": 8, "nic": "per-node",
         "intra": {"latency": "3us", "bandwidth": "100GB/s"}}

KERNELS = {
    "topk of floats, 1%": (0.015, 9.5),
    "hash partition, 16 parts": (11e6 / 690e6, 13),
    "hierarchical hashing, 16 parts": (11e6 / 100e6, 75),
    "sketch, one hash, rows of 1": (10e6 / 250e6, 19),
}
LOSSLESS = ("allreduce", "allgather", "ps", "alltoall", "sparcml-rd", "sparcml-split", "sparcml-dsar", "omnireduce",
            "zen", "design")
LARGE = "zen", "allgather", "sparcml-rd", "omnireduce"
# Rows looked up evenly by one part of the ranks' tokens, and all rows by the rest: gamma(128) = 24.8, 2.81 M a rank.
SCATTERED = ("--rows", "112000000", "--ranks", "128", "--iterations", "1", "--tokens", "3070000", "--zipf", "0",
             "--hot", "74.9%", "--hot-rows", "10000000", "--row-width", "1")

ABOUT_SIMGRID = """\
SimGrid and sparsync simulate the same schedule here: in round s rank r sends to (r+s) mod P, one message out and one
in at a time, both ends ready before it starts. Where no link carries two flows at once a message takes latency plus
bytes over bandwidth in both, so the two must agree to rounding, for equal sizes and for ragged ones; a difference
above 1e-9 is a fault in one of them and a MISS above. Where flows share cards, buses and oversubscribed switches, both
divide links max-min fairly; tests/peer holds every scheme against SimGrid there. SimGrid models more than we do: routes
through hosts and switches of any shape, TCP's windows, slow start and headers (all switched off here), and actors that
compute, block and choose. Posted all at once, as a cluster's "window": "all" has it, the exchange pays one latency instead
of P-1."""


class Table:
    def __init__(self):
        self.rows = []
        self.missed = self.far = 0

    def add(self, item, value, limit, unit, reference="", other=None, ratio_limit=None, ratio=None, soft=False):
        """`limit` and `ratio_limit` may be None: printed, not judged. `soft`: only the ratio fails a --check."""
        if ratio is None and other:
            ratio = value / other
        judged = [(value, limit), (ratio, ratio_limit)]
        beyond = max((x / most for x, most in judged if most is not None), default=0)
        self.missed += beyond > 1
        self.far += (ratio / ratio_limit if soft else beyond) > 2
        self.rows.append((
            item, show(value, unit), show(limit, unit), reference, show(other, unit), show(ratio, "x"),
            show(ratio_limit, "x"), "" if not beyond else "ok" if beyond <= 1 else "MISS"))

    def print(self):
        head = ("item", "ours", "limit", "reference", "its figure", "ratio", "limit", "")
        widths = [max(len(row[i]) for row in self.rows + [head]) for i in range(len(head))]
        for row in [head] + self.rows:
            cells = [cell.ljust(w) if i in (0, 3, 7) else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths))]
            print("  ".join(cells).rstrip())


def show(value, unit):
    if value is None:
        return ""
    if unit == "MB":
        return f"{value / 1e6:.1f} MB" if value < 1e8 else f"{value / 1e6:.0f} MB"
    if unit == "s":
        return f"{value * 1e3:.3g} ms" if value < 0.1 else f"{value:.3g} s"
    return f"{value:.3g} {unit}".strip()


class Bench:
    def __init__(self, options):
        self.program = os.path.join(options.build, "sparsync")
        self.tools = os.path.join(options.build, "tests", "bench_tools")
        self.engine_program = os.path.join(options.build, "tests", "bench_engine")
        self.dump_program = os.path.join(options.build, "tests", "dump_rounds")
        self.kernels_program = os.path.join(options.build, "tests", "bench_kernels")
        self.simgrid = options.simgrid
        self.simgrid_rounds = options.simgrid_rounds
        self.out = os.path.join(options.scratch, "out")
        self.scratch = options.scratch
        self.table = Table()
        self.plain_ns = None

    def tool(self, *arguments):
        return json.loads(output([self.tools, *map(str, arguments)]))

    def measure(self, times, *arguments):
        return self.measure_program(times, self.program, *arguments)

    def measure_program(self, times, *command):
        return self.tool("measure", times, self.out, *command)

    def run_scenario(self, name, times):
        return self.measure(times, "run", os.path.join(HERE, name), "--format", "json", "--quiet")

    def points(self):
        with open(self.out, encoding="utf-8") as result:
            return json.load(result)["points"]

    def engine(self):
        if not os.path.exists(self.engine_program):
            print(f"left out: {self.engine_program} is not built")
            return
        points = list(map(json.loads, output([self.engine_program]).splitlines()))
        for item, most in ("engine-shift", 3), ("engine-list", None):  # the limit in ns is stated for uniform sizes
            curve = [point for point in points if point["item"] == item]
            for point in curve:
                self.table.add(f"{item}, {point['ranks']} ranks, a message", point["ns_per_message"], most, "ns",
                               "plain array loop", point["plain_ns_per_message"], 3)
            times = [point["ns_per_message"] for point in curve]
            self.table.add(f"{item}, slowest over fastest of these", max(times), None, "ns", "fastest", min(times), 2)
        self.plain_ns = next(point["plain_ns_per_message"] for point in reversed(points)
                             if point["item"] == "engine-shift")

    def shared_cards(self):
        """The model `fair`, each item in a process of its own: its memory is its own."""
        times = {}
        for name, (what, most, memory) in FAIR.items():
            ours = self.measure_program(1, self.engine_program, "--fair", name)
            with open(self.out, encoding="utf-8") as file:
                times[name] = json.load(file)["ns_per_message"]
            self.table.add(f"{what} on shared cards, a message", times[name], most, "ns", "64 ranks, ragged",
                           times["fair-ragged-64"])
            self.table.add("  its memory", ours["peak_bytes"], memory, "MB")
        if self.simgrid_rounds:
            points = [self.shared_cards_against_simgrid(ranks, times[f"fair-ragged-{ranks}"]) for ranks in (64, 256)]
            self.growth("SimGrid: time grows with the ranks to the power of", points, None)

    def very_many_ranks(self, sizes=(1024, 4096)):
        """Ragged rows; beside each the floor: the same messages, whose state is touched and for which nothing is worked out."""
        for scheme, (plays, most, memory, floors, power) in VERY_MANY.items():
            points = []
            for ranks in sizes:
                ours = self.measure(1, "run", os.path.join(HERE, "very-many-ranks.json"), "--certain", "--jobs", "1", "--quiet",
                                    "--format", "json", "--scheme", scheme, "--ranks", str(ranks), "--set", f"trace.synth.ranks={ranks}")
                floor = json.loads(output([self.engine_program, "--floor", str(ranks)]))
                messages = plays * self.points()[0]["messages"]
                points.append((ranks, ours["processor_s"], messages))
                self.table.add(f"{scheme} on shared cards, {ranks:,} ranks, processor time", ours["processor_s"], most.get(ranks), "s",
                               f"{messages / 1e6:.3g} M messages x 2 x {floor['bytes_per_event']} B",
                               messages * floor["ns_per_message"] * 1e-9, floors)
                self.table.add("  its memory", ours["peak_bytes"], memory * ranks, "MB")
            self.growth(f"{scheme}: time grows with the ranks to the power of", points, power)

    def very_many_ranks_to_16384(self):
        self.very_many_ranks((1024, 4096, 16384))

    def growth(self, item, points, most):
        """Of (ranks, seconds, messages): fitted in the logarithm, beside how messages grow."""
        self.table.add(item, slope([(ranks, s) for ranks, s, _ in points]), most, "", "messages do",
                       slope([(ranks, messages) for ranks, _, messages in points]))

    def shared_cards_against_simgrid(self, ranks, ns):
        """The same messages through SimGrid's actors and its max-min solver."""
        cluster = os.path.join(self.scratch, "cards.json")
        with open(cluster, "w", encoding="utf-8") as file:
            json.dump(CARDS, file)
        with subprocess.Popen([self.dump_program, f"exchange:{ranks}", cluster, "-"], stdout=subprocess.PIPE) as dump:
            theirs = json.loads(subprocess.run([self.simgrid_rounds], stdin=dump.stdout, stdout=subprocess.PIPE, check=True).stdout)
        ours = self.measure_program(1, self.engine_program, "--fair", f"fair-ragged-{ranks}")
        self.table.add(f"ragged exchange, {ranks} ranks on shared cards", ns * 1e-9 * ranks * (ranks - 1), None, "s",
                       theirs["peer"], theirs["cpu_s"], 1 / 50)
        self.table.add("  its memory", ours["peak_bytes"], None, "MB", theirs["peer"], theirs["peak_bytes"], 1 / 5)
        self.table.add("  difference from SimGrid", theirs["off"], 1e-6, "")
        return ranks, theirs["cpu_s"], ranks * (ranks - 1)

    def whole_runs(self):
        plain = (lambda messages: messages * self.plain_ns * 1e-9) if self.plain_ns else lambda _: None
        for name, what, messages, most in (
                ("alltoall-1024.json", "alltoall, 1,024 ranks, no proof", 2 * 1024 * 1023, 0.03),
                ("allreduce-16384.json", "ring allreduce, 16,384 ranks, no proof", 2 * 16384 * 16383, 3)):
            ours = self.run_scenario(name, 5)
            self.table.add(what, ours["wall_s"], most, "s", "plain array loop", plain(messages))
            self.table.add("  its memory", ours["peak_bytes"], 30e6, "MB")

    def proof(self):
        ours = self.run_scenario("proof-1024.json", 2)
        inexact = [point["label"] for point in self.points() if point["exact"] is not True]
        if inexact:
            sys.exit(f"bench: not proven exact: {', '.join(inexact)}")
        reference = self.tool("sum", 1024, 5000, 1000000)["wall_s"]
        self.table.add("alltoall + allgather with proof, 1,024 ranks", ours["wall_s"], 3, "s", "one dense sum",
                       reference)
        self.table.add("  its memory", ours["peak_bytes"], 1e9, "MB")

    def stats(self):
        ranks, nnz, rows = 128, 2700000, 112000000
        trace = os.path.join(self.scratch, "elements.safetensors")
        if shutil.disk_usage(self.scratch).free < 2 * ranks * nnz * 4:
            print("left out: trace stats: not enough room on the disk for a trace of 1.4 GB")
            return
        try:
            size = self.tool("elements", trace, ranks, nnz, rows)["bytes"]
            reference = self.tool("mark", trace, rows)["wall_s"]
            ours = self.measure(2, "trace", "stats", trace, "--format", "json")
        finally:
            if os.path.exists(trace):
                os.remove(trace)
        self.table.add("trace stats, 128 ranks x 2.7 M of 112 M", ours["wall_s"], 3, "s", "one pass into a bitset",
                       reference)
        self.table.add("  its memory", ours["peak_bytes"], None, "MB", "the file", size, 2)

    def importing(self):
        """A twentieth of what it is to do in 60 s and 500 MB: 10 M records of 26 categories."""
        table, trace = (os.path.join(self.scratch, name) for name in ("criteo.tsv", "criteo.safetensors"))
        records = 500000
        try:
            self.tool("criteo", table, records)
            reference = self.tool("bytes", table)
            for name, more in ("by hashing", ("--hash-rows", "1000000")), ("by frequency", ()):
                ours = self.measure(2, "trace", "import", table, "--from", "criteo", "--ranks", "16", "--batch", "2048", *more, "-o", trace)
                self.table.add(f"trace import {name}, 0.5 M records of Criteo's form", ours["wall_s"], 3, "s", "counting its line ends",
                               reference["wall_s"])
                self.table.add("  its memory", ours["peak_bytes"], 150e6, "MB", "the file", reference["bytes"])
        finally:
            for path in (table, trace):
                if os.path.exists(path):
                    os.remove(path)

    def kernels(self):
        for line in output([self.kernels_program]).splitlines():
            kernel = json.loads(line)
            most, ratio = KERNELS.get(kernel["item"], (None, None))
            self.table.add(f"{kernel['item']}, {kernel['items'] / 1e6:.3g} M", kernel["seconds"], most, "s",
                           "its memory traffic", kernel["floor_seconds"], ratio, soft=most is not None)

    def one_scheme(self, item, scheme, most, peak, reference, *arguments):
        ours = self.measure(1, "run", *arguments, "--scheme", scheme, "--jobs", "1", "--format", "json", "--quiet")
        inexact = [point["label"] for point in self.points() if point["exact"] is not True]
        if inexact:
            sys.exit(f"bench: {item}: not proven exact: {', '.join(inexact)}")
        self.table.add(item, ours["wall_s"], most, "s", "one dense sum", reference)
        self.table.add("  its memory", ours["peak_bytes"], peak, "MB")
        self.table.add("  its processor time, all threads", ours["processor_s"], None, "s")

    def lossless(self):
        reference = self.tool("sum", 1024, 5000, 1000000)["wall_s"]
        for scheme in LOSSLESS:
            self.one_scheme(f"{scheme} with proof, 1,024 ranks x 5,000 of 1 M", scheme, 4, 2e9, reference,
                            os.path.join(HERE, "lossless-1024.json"))

    def rows_as_elements(self):
        reference = self.tool("sum", 128, 5408 * 512, 219000 * 512)["wall_s"]
        for scheme in LARGE:
            self.one_scheme(f"{scheme}, 128 ranks x 5,475 rows x 512 of 219,000", scheme, 25, 8e9, reference,
                            os.path.join(HERE, "elements-128.json"))

    def scattered_elements(self):
        trace = os.path.join(self.scratch, "scattered.safetensors")
        if shutil.disk_usage(self.scratch).free < 4e9:
            print("left out: scattered elements: not enough room on the disk for a trace of 1.6 GB")
            return
        try:
            output([self.program, "trace", "synth", *SCATTERED, "-o", trace])
            reference = self.tool("sum", 128, 2808000, 112000000)["wall_s"]
            for scheme in LARGE:
                self.one_scheme(f"{scheme}, 128 ranks x 2.81 M of 112 M", scheme, 25, 8e9, reference,
                                os.path.join(HERE, "scattered-128.json"), "--trace", trace)
        finally:
            if os.path.exists(trace):
                os.remove(trace)

    def start_up(self):
        ours = self.measure(20, "--version")
        reference = self.tool("measure", 20, self.out, "true")
        self.table.add("start-up, sparsync --version", ours["wall_s"], 0.01, "s", "start-up of true",
                       reference["wall_s"])

    def shipped(self):
        ours = self.run_scenario("shipped-trace.json", 3)
        offsets, _ = read_offsets(SHIPPED)
        lookups = offsets[50 * 16] - offsets[0]
        reference = self.tool("sum", 50 * 16, max(1, lookups // (50 * 16)), 100000)["wall_s"]
        self.table.add("four schemes, shipped trace, 16 ranks, 50 iterations", ours["wall_s"], 1, "s",
                       "one dense sum", reference)

    def training(self):
        """Twelve systems at five rank counts, 50 modules, a trace of 50 iterations cycled to 1,000."""
        trace, path = os.path.join(self.scratch, "training.safetensors"), os.path.join(self.scratch, "training.json")
        self.measure(1, "trace", "synth", "-o", trace, "--iterations", "50", "--ranks", "64", "--tokens", "2048",
                     "--rows", "50000", "--row-width", "512")
        scenario = training_scenario(trace)
        channels = [["dense"], ["gradient", "lookups", "prior", "delayed"]]
        two, ours = (self.train(path, scenario, fields) for fields in ({"channels": channels}, {}))
        short = self.measure(1, "train", path, "--format", "json", "--quiet", "--jobs", "2", "--iterations", "100")
        self.table.add("train, 12 systems x 5 rank counts, 50 modules, 1,000 iterations", ours["wall_s"], 20, "s",
                       "100 iterations", short["wall_s"], ratio_limit=10)
        self.table.add("the same, rows in a second channel", two["wall_s"], 60, "s", "one channel", ours["wall_s"])
        os.remove(trace)

    def train(self, path, scenario, fields):
        with open(path, "w") as file:
            json.dump({**scenario, "systems": [{**system, **fields} for system in scenario["systems"]]}, file)
        ours = self.measure(1, "train", path, "--format", "json", "--quiet", "--jobs", "2")
        with open(self.out) as file:
            found = json.load(file)["training"]
        if len(found) != 60 or any(point["iterations"] != 1000 for point in found):
            sys.exit("bench: training is not 60 points of 1,000 iterations")
        return ours

    def sweep(self):
        """Five bandwidths share their payloads: they may cost little more than one."""
        ours = self.measure(1, "run", os.path.join(HERE, "sweep-2000.json"), "--format", "json", "--quiet", "--jobs", "2")
        found = self.points()
        if len(found) != 2000 or any(point["exact"] is not True for point in found):
            sys.exit("bench: the sweep is not 2,000 proven points")
        one = self.measure(1, "run", os.path.join(HERE, "sweep-2000.json"), "--format", "json", "--quiet", "--jobs", "2",
                           "--set", 'sweep["cluster.bandwidth"]=["25Gbps"]')
        self.table.add("2,000 points of a sweep, two threads", ours["wall_s"], 60, "s")
        self.table.add("  its processor time", ours["processor_s"], None, "s", "with one bandwidth of five",
                       one["processor_s"], 2)
        self.table.add("  its memory", ours["peak_bytes"], None, "MB")
        fair = self.measure(1, "run", os.path.join(HERE, "sweep-2000.json"), "--format", "json", "--quiet", "--jobs", "2",
                            "--set", 'cluster.model="fair"')
        if len(self.points()) != 2000:
            sys.exit("bench: the sweep over shared cards is not 2,000 points")
        self.table.add("2,000 points of a sweep over shared cards, two threads", fair["wall_s"], 60, "s", "ordered ports",
                       ours["wall_s"])
        self.table.add("  its processor time", fair["processor_s"], None, "s", "ordered ports", ours["processor_s"])

    def replay(self, ranks, *sizes):
        return json.loads(output([self.simgrid, "--ranks", str(ranks), "--latency", repr(LATENCY), "--bandwidth",
                                  repr(BANDWIDTH), *map(str, sizes)]))

    def against_simgrid(self):
        """Times and memory into the table; returns lines about what both say."""
        size = 65536 // 64 * (1024 // 256) * 4  # lookups x slice x bytes of exchange-256.json
        ours = self.run_scenario("exchange-256.json", 5)
        simulated = self.points()[0]["time_s"]
        theirs = self.replay(256, "--bytes", size)
        at_once = self.replay(256, "--bytes", size, "--at-once")
        self.table.add("one exchange, 256 ranks", ours["wall_s"], None, "s", theirs["peer"], theirs["wall_s"])
        self.table.add("  its memory", ours["peak_bytes"], None, "MB", theirs["peer"], theirs["peak_bytes"])
        lines = [
            f"One exchange among 256 ranks, {size} bytes a message, {LATENCY * 1e6:g} us, {BANDWIDTH * 8e-9:g} Gbit/s:",
            *self.compare(simulated, theirs, 255 * (LATENCY + size / BANDWIDTH)),
            f"  {theirs['peer']}, all at once   {at_once['simulated_s']:.12g} s, "
            f"{at_once['wall_s']:.3g} s and {at_once['peak_bytes'] / 1e6:.0f} MB to simulate"]

        sizes, sizes_file = lookup_bytes(SHIPPED, 16), os.path.join(self.scratch, "sizes")
        with open(sizes_file, "w", encoding="utf-8") as out:
            out.writelines(f"{size}\n" for size in sizes)
        self.run_scenario("exchange-trace.json", 1)
        lines += [
            f"One exchange of the first iteration of {SHIPPED}, {min(sizes)} to {max(sizes)} bytes a message:",
            *self.compare(self.points()[0]["time_s"], self.replay(16, "--bytes-of", sizes_file))]
        return lines

    def compare(self, simulated, theirs, formula=None):
        relative = abs(simulated / theirs["simulated_s"] - 1)
        self.table.add(f"difference from SimGrid, {theirs['ranks']} ranks", relative, 1e-9, "")
        yield f"  sparsync                  {simulated:.12g} s"
        yield f"  {theirs['peer']}              {theirs['simulated_s']:.12g} s, relative difference {relative:.1e}"
        if formula is not None:
            yield f"  (P-1)(alpha + B*beta)     {formula:.12g} s"


def slope(points):
    """The power by which y grows with x: least squares in the logarithms."""
    x, y = ([math.log(point[i]) for point in points] for i in (0, 1))
    middle, height = sum(x) / len(x), sum(y) / len(y)
    return sum((a - middle) * (b - height) for a, b in zip(x, y)) / sum((a - middle) ** 2 for a in x)


def output(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False, text=True)
    if done.returncode != 0:
        sys.exit(f"bench: {' '.join(command)} ended with status {done.returncode}")
    return done.stdout


def read_offsets(path):
    """(offsets, tensor) of the first tensor of a trace."""
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        tensor = json.loads(header["__metadata__"]["tensors"])[0]
        entry = header[tensor["name"] + ".offsets"]
        begin, end = entry["data_offsets"]
        file.seek(8 + length + begin)
        return struct.unpack(f"<{(end - begin) // 8}q", file.read(end - begin)), tensor


def training_scenario(trace):
    def table(name):
        return {"name": name, "kind": "embedding", "rows": 50000, "row_width": 512, "tensor": "embedding",
                "forward_s": "0.2ms", "backward_s": "0.4ms"}

    modules = [table("encoder table"), table("decoder table")]
    for i in range(48):
        after = [f"block {i - 1}"] if i else ["encoder table"]
        modules.append({"name": f"block {i}", "kind": "dense", "bytes": 4 * (500000 + 20000 * (i % 7)), "forward_s": "1ms",
                        "backward_s": "2ms", "after": after + (["decoder table"] if i == 24 else [])})
    systems = [("fifo", "allreduce", {"bucket": "64MiB"}), ("fifo", {"name": "allgather", "coalesce": False}, {}),
               ("fifo", {"name": "ps", "pull": "rows", "coalesce": False}, {}), ("fifo", "omnireduce", {}),
               ("fifo", "sparcml-split", {}), ("fifo", "zen", {}), ("fifo", "s2", {}), ("fifo", "spardl", {}),
               ("fifo", {"name": "alltoall", "coalesce": False}, {}), ("horizontal", "alltoall", {}), ("2d", "alltoall", {}),
               ("priority", {"name": "ps", "dense": True}, {"partition": "4MB"})]
    return {"workload": {"name": "fifty", "modules": modules}, "trace": trace, "cluster": "rtx3090-100g-ib",
            "ranks": [4, 8, 16, 32, 64], "iterations": 1000,
            "systems": [{"name": f"{i}", "sparse": sparse, "dense": "allreduce", "schedule": schedule, **more}
                        for i, (schedule, sparse, more) in enumerate(systems)]}


def lookup_bytes(path, ranks):
    """Bytes of a lookups message of each rank in iteration 0: its lookups x its receiver's slice of the columns."""
    offsets, tensor = read_offsets(path)
    if tensor["row_width"] % ranks:
        sys.exit(f"bench: {path}: {ranks} ranks do not divide rows of {tensor['row_width']}")
    element = 4 if tensor["dtype"] == "F32" else 2
    return [(offsets[r + 1] - offsets[r]) * (tensor["row_width"] // ranks) * element for r in range(ranks)]


def main():
    parser = argparse.ArgumentParser(prog="./dev bench", usage="./dev bench [--check] [--scale] [--only PART]")
    parser.add_argument("--build", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--scratch", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--simgrid", help=argparse.SUPPRESS)
    parser.add_argument("--simgrid-rounds", help=argparse.SUPPRESS)
    parser.add_argument("--only", metavar="PART", help="one of the parts that are named as it measures")
    parser.add_argument("--check", action="store_true", help="fail beyond twice the stated limits")
    parser.add_argument("--scale", action="store_true",
                        help="instead, the largest runs: 128 ranks x 2.8 M of 112 M elements, each scheme alone and "
                             "proven, and up to 16,384 ranks on shared cards; a quarter of an hour, 8 GB of "
                             "memory, 1.6 GB of disk")
    options = parser.parse_args()

    bench, notes = Bench(options), []
    parts = [bench.kernels, bench.engine, bench.shared_cards, bench.very_many_ranks, bench.whole_runs, bench.proof, bench.lossless, bench.stats, bench.importing, bench.start_up,
             bench.shipped, bench.sweep, bench.training]
    largest = [bench.rows_as_elements, bench.scattered_elements, bench.very_many_ranks_to_16384]
    if options.only:
        parts = [part for part in parts + largest if part.__name__ == options.only.replace(" ", "_")]
        if not parts:
            parser.error(f'there is no part "{options.only}"')
    elif options.scale:
        parts = largest
    for part in parts:
        print(f"measuring: {part.__name__.replace('_', ' ')}", file=sys.stderr)
        part()
    if options.simgrid and not options.scale and not options.only:
        print("measuring: against SimGrid", file=sys.stderr)
        notes = bench.against_simgrid()

    print()
    bench.table.print()
    if notes:
        print("", *notes, "", ABOUT_SIMGRID, sep="\n")
    print()
    print(f"{bench.table.missed} beyond the stated limit, {bench.table.far} beyond twice that")
    return 1 if options.check and bench.table.far else 0


sys.exit(main())
# SPDX-License-Identifier: Apache-2.0
