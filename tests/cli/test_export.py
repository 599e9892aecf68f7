#!/usr/bin/python3
"""sparsync export: schedules read back by their grammars, and held against what run says. Arguments: the program, the source
tree. TAP."""
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import goal
import tap
from asking import ENVIRONMENT, PROGRAM
from tap import test

try:
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
except ImportError:
    descriptor_pb2 = None

ALPHA, BETA = 10e-6, 1e-9
FLAT = {"name": "flat", "model": "alpha-beta", "latency": ALPHA, "bandwidth": 1 / BETA}
NODES = {**FLAT, "name": "nodes", "gpus_per_node": 2, "intra": {"latency": 2e-6, "bandwidth": 7e9}}
RANKS = (2, 3, 5, 8)
SHARED = tempfile.TemporaryDirectory()  # what several tests ask for, made once
WORDS = os.path.join(SHARED.name, "words.safetensors")
BAGS = pathlib.Path(SHARED.name) / "bags.safetensors"
NEARLY_EMPTY = os.path.join(SHARED.name, "few.safetensors")  # two ranks that look up one row each
ASTRASIM = os.environ.get("SPARSYNC_ASTRASIM")
LOGGOPSIM, TXT2BIN = os.environ.get("SPARSYNC_LOGGOPSIM"), os.environ.get("SPARSYNC_TXT2BIN")


def call(*arguments, status=0, **options):
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, timeout=tap.HANG, env=ENVIRONMENT, **options)
    assert done.returncode == status, (arguments, done.returncode, done.stderr)
    return done.stdout if status == 0 else done.stderr.decode()


def fails(*words, at, status=2):
    """The command is refused in words that are there, and leaves nothing behind."""
    before = sorted(os.listdir(at))
    said = call(*words, status=status, cwd=at)
    assert said.startswith("sparsync export") and said.count("\n") == 1 and sorted(os.listdir(at)) == before, said
    return said


def scenario(schemes, cluster=FLAT, **more):
    return {"trace": WORDS, "cluster": cluster, "schemes": schemes, "iterations": "0:1", **more}


def points(document):
    """Of run; where an option needs another, or a scheme other ranks, the document gets them."""
    path = tap.write_json(pathlib.Path(SHARED.name), document, "run.json")
    command = [PROGRAM, "run", str(path), "--format", "json", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=tap.HANG, env=ENVIRONMENT)
    if needs := re.search(r'needs "(\w+)": (\w+)', done.stderr):
        document["schemes"][0][needs[1]] = json.loads(needs[2])
        return points(document)
    if "takes a power of two" in done.stderr and document["ranks"] != [2, 8]:
        document["ranks"] = [2, 8]
        return points(document)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["points"]


def export(document, form="goal", output="-"):
    path = tap.write_json(pathlib.Path(SHARED.name), document, "export.json")
    return call("export", form, path, "-o", output, "--quiet").decode()


def settings():
    """All schemes of the registry as they are, and each with every word that an option of its own takes."""
    for scheme in json.loads(call("list", "schemes", "--format", "json"))["schemes"]:
        if scheme["name"] == "design":  # a family: its name says the options
            for words in ("p2p/incremental/parallel/balanced/coo", "ring/incremental/parallel/even/bitmap", "hierarchy/one-shot/central/coo"):
                yield scheme, {"name": f"design:{words}"}
            continue
        own = {"density": 0.05} if any(option.startswith("density:") for option in scheme["options"]) else {}
        yield scheme, {"name": scheme["name"], **own}
        for option in scheme["options"]:
            name, values = re.match(r"([\w-]+): ([^ ]+)", option).groups()
            for value in values.split("|")[1:]:
                if (name, value) == ("partition", "placed"):
                    continue  # needs a placement; one table placed whole is "table"
                if (name, value) == ("route", "node"):
                    continue  # of bags' sums by row, on full nodes
                if name == "protocol":
                    continue  # of clusters whose library is NCCL
                if (name, value) == ("algorithm", "switch"):
                    continue  # of clusters whose switches add
                yield scheme, {"name": scheme["name"], **own, name: {"true": True, "false": False}.get(value, value)}


def in_nodes(ranks):
    """Seconds of a message on NODES."""
    per_node = NODES["gpus_per_node"]
    nodes = -(-ranks // per_node)
    at = lambda endpoint: endpoint // per_node if endpoint < ranks else (endpoint - ranks) % nodes

    def duration(a, b, size):
        link = NODES["intra"] if at(a) == at(b) else NODES
        return link["latency"] + size / link["bandwidth"]
    return duration


def agrees(ranks, point, duration, slack=1e-12):
    messages = goal.matched(ranks)
    assert len(messages) == point["messages"] and goal.payload(messages) == point["bytes_total"], (len(messages), point)
    time = goal.play(ranks, duration)
    assert abs(time - point["time_s"]) <= slack + 1e-9 * point["time_s"], (time, point["time_s"])


def hold_all(documents):
    """Each of one scheme, at each of its rank counts, as run has it."""
    for document, duration in documents:
        for point in points(document):
            ranks = goal.read(export({**document, "ranks": point["ranks"]}))
            try:
                agrees(ranks, point, duration(point["ranks"]))
            except AssertionError as reason:
                raise AssertionError(f"{point['label']}, {point['ranks']} ranks: {reason}") from None


def of_the_registry():
    """A scenario for each setting."""
    for scheme, setting in settings():
        more = {} if scheme["lossless"] else {"trace": {"gradient": {"elements": 400}}}
        if "pooling" in setting:
            more = {"trace": str(BAGS)}
        yield scenario([setting], ranks=list(RANKS), **more)


def on_flat(a, b, size):
    return ALPHA + size * BETA


@test
def every_scheme_takes_the_time_that_run_says(folder):
    """The graph of operations alone gives the time of ordered ports, for all schemes and what their options choose from."""
    documents = list(of_the_registry())
    assert len(documents) > 40
    hold_all((document, lambda ranks: on_flat) for document in documents)


# In whose rounds every rank sends and receives one message, all of one size, and waits for both: where this is not so, LogGP and
# ordered ports are different models, for it lets a sender go on while the latency runs.
CHAINS = [({"name": "allreduce"}, RANKS), ({"name": "allgather"}, RANKS), ({"name": "allgather", "algorithm": "bruck"}, RANKS),
          ({"name": "allreduce", "algorithm": "rabenseifner"}, (2, 8)), ({"name": "allreduce", "algorithm": "tree"}, (2, 8)),
          ({"name": "allgather", "algorithm": "recursive-doubling"}, (2, 8)), ({"name": "sparcml-rd"}, (2, 8)), ({"name": "s2"}, RANKS),
          ({"name": "spardl", "density": 0.05}, RANKS)]


def loggopsim(document, folder):
    """The time in s that LogGOPSim says, with L = ALPHA, o = g = O = 0, G = 1 ns a byte; all messages eager."""
    export(document, output=folder / "s.goal")
    subprocess.run([TXT2BIN, "-i", folder / "s.goal", "-o", folder / "s.bin"], check=True, capture_output=True, timeout=tap.HANG)
    simulate = [LOGGOPSIM, "-f", folder / "s.bin", "-L", f"{ALPHA * 1e9:.0f}", "-o", "0", "-g", "0", "-G", "1", "-O", "0", "-S", str(2**31 - 1), "-b"]
    told = subprocess.run(simulate, check=True, capture_output=True, text=True, timeout=tap.HANG).stdout
    found = re.search(r"Maximum finishing time at host \d+: (\d+)", told)
    assert found and "contains" not in told, told
    return int(found[1]) * 1e-9


def named():
    if not LOGGOPSIM or not TXT2BIN:
        raise tap.Skip("SPARSYNC_LOGGOPSIM and SPARSYNC_TXT2BIN do not name LogGOPSim and its txt2bin")


@test
def loggopsim_takes_the_time_of_run_for_chains(folder):
    """But for one byte a round: it charges n - 1 of n."""
    named()
    even = {"uniform": {"rows": 480, "row_width": 4, "density": "1/2", "overlap": "full"}}
    for setting, ranks in CHAINS:
        valued = setting["name"] in ("s2", "spardl")
        for point in points(scenario([setting], ranks=list(ranks), trace={"gradient": {"elements": 400}} if valued else even)):
            document = scenario([setting], ranks=point["ranks"], trace={"gradient": {"elements": 400}} if valued else even)
            time = loggopsim(document, folder)
            print(f"# {setting}, {point['ranks']} ranks: LogGOPSim {time * 1e6:.3f} us, run {point['time_s'] * 1e6:.3f} us, {point['rounds']:.0f} rounds")
            assert 0 <= point["time_s"] - time + 1e-12 <= point["rounds"] * 1e-9 + 2e-12, (setting, point["ranks"], time, point["time_s"])


@test
def loggopsim_plays_every_scheme_to_its_end(folder):
    named()
    for document in of_the_registry():
        for point in points(document):
            assert loggopsim({**document, "ranks": point["ranks"]}, folder) > 0


@test
def hierarchies_on_nodes_take_the_time_that_run_says(folder):
    hold_all([(scenario([{"name": name}], NODES, ranks=[4, 6], hierarchy=hierarchy), in_nodes)
              for name, hierarchy in itertools.product(("allgather", "ps", "zen", "sparcml-rd"), ("shard", "leader"))])


@test
def kernels_are_calculations(folder):
    """Rounded to whole ns, of which no endpoint loses more than half a one; on a slow device the time shows what they wait for."""
    slow = {"name": "slow", "memory_bandwidth": "1GB/s", "efficiency": 1, "launch": "30us"}
    for name, device in itertools.product(("allgather", "allreduce", "zen", "sparcml-split", "ps"), ("quick", slow)):
        document = scenario([name], device=device, ranks=[5])
        [point] = points(document)
        ranks = goal.read(export(document))
        calculations = [o for operations in ranks for o in operations.values() if o.kind == "calc"]
        assert calculations and all(o.size > 0 for o in calculations)
        longest = max(sum(o.size for o in operations.values() if o.kind == "calc") for operations in ranks)
        assert abs(longest * 1e-9 - point["kernel_s"]) <= 1e-9, (longest, point["kernel_s"])
        agrees(ranks, point, on_flat, slack=len(calculations) * 1e-9)


@test
def iterations_follow_each_other(folder):
    """Bytes are those of all; a rank that is done early begins early, so the whole takes no longer than one after the other."""
    document = scenario(["alltoall"], ranks=[5])
    alone = [points({**document, "iterations": f"{i}:{i + 1}"})[0] for i in range(3)]
    ranks = goal.read(export({**document, "iterations": "0:3"}))
    messages = goal.matched(ranks)
    assert goal.payload(messages) == sum(point["bytes_total"] for point in alone) and len(messages) == sum(point["messages"] for point in alone)
    time = goal.play(ranks, on_flat)
    assert max(point["time_s"] for point in alone) < time <= sum(point["time_s"] for point in alone) * (1 + 1e-9)


@test
def a_wide_window_orders_no_messages_of_a_phase(folder):
    """Ports that have several messages under way: an exchange waits for nothing, what follows it for all of it."""
    cluster = {**FLAT, "model": "fair", "window": "all"}
    for name, ranks in (("alltoall", 8), ("ps", 5), ("omnireduce", 8), ("allgather", 5)):
        operations = goal.read(export(scenario([name], cluster, ranks=[ranks])))
        messages = goal.matched(operations)
        assert sum(messages.values()) > 0 and goal.play(operations, lambda a, b, size: ALPHA) > 0
        first = [o for o in operations[0].values() if o.kind == "send" and not o.requires]
        assert len(first) == (1 if name == "allgather" else first and len(first)) and (name != "alltoall" or len(first) == 7), (name, len(first))
        for label, o in operations[0].items():
            assert len(o.requires) <= 24 and (o.kind == "calc" or len(o.requires) <= 3), (name, label)


@test
def nothing_is_sent_as_one_byte(folder):
    """A rank without rows: its messages are there, counted in the head."""
    document = {"trace": {"uniform": {"rows": 8, "row_width": 4, "density": "100%"}}, "cluster": FLAT, "schemes": ["allgather"], "ranks": [3]}
    text = export(document)
    assert "carry nothing" not in text and " 1b " not in text
    assert re.search(r"^num_ranks 3$", text, re.M) and re.search(r"^// ranks 0 to 2; 6 messages in 2 rounds, \d+ B$", text, re.M), text[:300]
    text = export(scenario([{"name": "zen", "format": "coo"}], ranks=[2], trace=NEARLY_EMPTY))
    empty = int(re.search(r"^// (\d+) messages carry nothing: they stand here with 1 B$", text, re.M)[1])
    assert empty == len(re.findall(r"send 1b ", text)) > 0


@test
def servers_are_ranks_behind_the_ranks(folder):
    text = export(scenario([{"name": "ps", "servers": 2}], ranks=[3]))
    assert "num_ranks 5\n" in text and "// ranks 0 to 2; 2 servers from rank 3 on;" in text
    ranks = goal.read(text)
    assert {o.peer for operations in ranks[:3] for o in operations.values()} == {3, 4}


@test
def much_goes_through_the_disk(folder):
    """More than what is kept of an endpoint in memory: nothing gets lost or out of order."""
    document = scenario([{"name": "allreduce", "chunks": 64}], ranks=[8], iterations="0:3")
    text = export(document, output=folder / "f.goal")
    assert text == "" and os.listdir(folder) == ["f.goal"]
    text = (folder / "f.goal").read_text()
    assert len(text) / 8 > 1 << 17, len(text)
    ranks = goal.read(text)
    for operations in ranks:
        assert list(operations) == [f"l{i}" for i in range(len(operations))]
    assert goal.payload(goal.matched(ranks)) == 3 * points({**document, "iterations": "0:1"})[0]["bytes_total"]


# --- Chakra: MLCommons' schema (schema/protobuf/et_def.proto of https://github.com/mlcommons/chakra, Apache License 2.0), as far as
# readers of such traces ask for it -------------------------------------------------------------------------------------------------

SCHEMA = {
    "AttributeProto": {"name": (1, "string"), "doc_string": (2, "string"), "double_val": (3, "double"), "float_val": (5, "float"),
                       "int32_val": (7, "int32"), "int64_val": (9, "int64"), "uint32_val": (11, "uint32"), "uint64_val": (13, "uint64"),
                       "bool_val": (27, "bool"), "string_val": (29, "string"), "bytes_val": (31, "bytes")},
    "GlobalMetadata": {"version": (1, "string"), "attr": (2, "AttributeProto")},
    "IOInfo": {"values": (1, "string"), "shapes": (2, "string"), "types": (3, "string")},
    "Node": {"id": (1, "uint64"), "name": (2, "string"), "type": (3, "int32"), "ctrl_deps": (4, "uint64*"), "data_deps": (5, "uint64*"),
             "start_time_micros": (6, "uint64"), "duration_micros": (7, "uint64"), "inputs": (8, "IOInfo"), "outputs": (9, "IOInfo"),
             "attr": (10, "AttributeProto")}}
COMPUTES, SENDS, RECEIVES = 4, 5, 6  # NodeType


def messages_of_schema():
    if not descriptor_pb2:
        raise tap.Skip("needs Python's protobuf (Debian: python3-protobuf)")
    kinds = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="et_def.proto", package="ChakraProtoMsg", syntax="proto3")
    for message, fields in SCHEMA.items():
        described = file.message_type.add(name=message)
        if message == "AttributeProto":
            described.oneof_decl.add(name="value")
        for name, (number, kind) in fields.items():
            repeated = kind.endswith("*") or name == "attr"
            field = described.field.add(name=name, number=number, label=kinds.LABEL_REPEATED if repeated else kinds.LABEL_OPTIONAL)
            if kind in SCHEMA:
                field.type, field.type_name = kinds.TYPE_MESSAGE, f".ChakraProtoMsg.{kind}"
            else:
                field.type = getattr(kinds, f"TYPE_{kind.strip('*').upper()}")
            if name.endswith("_val"):
                field.oneof_index = 0
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    of = lambda name: pool.FindMessageTypeByName(f"ChakraProtoMsg.{name}")
    if hasattr(message_factory, "GetMessageClass"):
        return [message_factory.GetMessageClass(of(name)) for name in ("GlobalMetadata", "Node")]
    return [message_factory.MessageFactory(pool).GetPrototype(of(name)) for name in ("GlobalMetadata", "Node")]


def pieces(data):
    """Each behind its length, a varint."""
    at = 0
    while at < len(data):
        length = shift = 0
        while True:
            byte = data[at]
            at, length, shift = at + 1, length | (byte & 127) << shift, shift + 7
            if byte < 128:
                break
        assert length > 0 and at + length <= len(data)
        yield data[at:at + length]
        at += length


@test
def the_schema_is_mlcommons(folder):
    """Names, numbers and types are those of the file that SPARSYNC_CHAKRA_SCHEMA names, by protoc."""
    messages_of_schema()
    if not (path := os.environ.get("SPARSYNC_CHAKRA_SCHEMA")):
        raise tap.Skip("SPARSYNC_CHAKRA_SCHEMA does not name et_def.proto")
    subprocess.run(["protoc", "-I", os.path.dirname(path), "--descriptor_set_out", folder / "set", path], check=True, timeout=tap.HANG)
    [file] = descriptor_pb2.FileDescriptorSet.FromString((folder / "set").read_bytes()).file
    kinds = descriptor_pb2.FieldDescriptorProto.Type
    public = {message.name: {f.name: (f.number, kinds.Name(f.type)[5:].lower()) for f in message.field} for message in file.message_type}
    nodes = {value.name: value.number for enum in file.enum_type if enum.name == "NodeType" for value in enum.value}
    assert [nodes[name] for name in ("COMP_NODE", "COMM_SEND_NODE", "COMM_RECV_NODE")] == [COMPUTES, SENDS, RECEIVES]
    for message, fields in SCHEMA.items():
        for name, (number, kind) in fields.items():
            kind = "enum" if name == "type" else "message" if kind in SCHEMA else kind.strip("*")
            assert public[message][name] == (number, kind), (message, name, public[message][name])


def attributes(message):
    return {a.name: getattr(a, a.WhichOneof("value")) for a in message.attr}


def read_chakra(prefix, count):
    """What goal.read would make of it."""
    Metadata, Node = messages_of_schema()
    ranks = []
    for r in range(count):
        head, *nodes = pieces(pathlib.Path(f"{prefix}.{r}.et").read_bytes())
        head = Metadata.FromString(head)
        assert head.version == "0.0.4" and {"sparsync", "scheme", "tensor", "ranks", "server"} == attributes(head).keys()
        at = {}
        for node in map(Node.FromString, nodes):
            told, label = attributes(node), f"l{node.id}"
            # the types that Chakra's first feeder asks for by name
            kinds = {a.name: a.WhichOneof("value") for a in node.attr}
            assert kinds.items() <= {"is_cpu_op": "bool_val", "comm_size": "int64_val", "comm_src": "int32_val", "comm_dst": "int32_val",
                                     "comm_tag": "int32_val"}.items(), kinds
            assert label not in at and told["is_cpu_op"] is False and all(f"l{d}" in at for d in node.data_deps) and not node.ctrl_deps
            requires = [f"l{d}" for d in node.data_deps]
            if node.type == COMPUTES:
                at[label] = goal.Operation("calc", node.duration_micros, None, None, requires)
                continue
            assert node.type in (SENDS, RECEIVES) and told["comm_src" if node.type == SENDS else "comm_dst"] == r
            peer = told["comm_dst" if node.type == SENDS else "comm_src"]
            at[label] = goal.Operation("send" if node.type == SENDS else "recv", told["comm_size"], peer, told["comm_tag"], requires)
        ranks.append(at)
    assert not os.path.exists(f"{prefix}.{count}.et")
    return ranks


def chakra_is_there(folder):
    said = subprocess.run([PROGRAM, "export", "chakra"], capture_output=True, text=True, env=ENVIRONMENT, timeout=tap.HANG).stderr
    if "built without protobuf-c" in said:
        raise tap.Skip("this program was built without protobuf-c")


@test
def chakra_says_the_same_as_goal(folder):
    """Node by node, and so the bytes, the pairs and the time that run says."""
    chakra_is_there(folder)
    document = scenario([{"name": "ps", "servers": 2}], ranks=[5])
    documents = [document, scenario(["zen"], ranks=[8]), scenario(["sparcml-split"], ranks=[3]), scenario(["allgather"], ranks=[2])]
    for number, document in enumerate(documents):
        [point], prefix = points(document), folder / str(number)
        assert export(document, "chakra", prefix) == ""
        ranks = read_chakra(prefix, len(list(folder.glob(f"{number}.*.et"))))
        agrees(ranks, point, on_flat)
        assert ranks == goal.read(export(document))


@test
def chakra_has_kernels_in_microseconds(folder):
    """Whole ones, of which no endpoint loses more than half a one: also not of many that are shorter."""
    chakra_is_there(folder)
    short = {"name": "short", "memory_bandwidth": "1e9GB/s", "efficiency": 1, "launch": "0.3us"}
    for document in (scenario(["zen"], device="quick", ranks=[5]), scenario(["allreduce"], device=short, ranks=[5])):
        export(document, "chakra", folder / "k")
        whole, exact = read_chakra(folder / "k", 5), goal.read(export(document))
        for coarse, fine in zip(whole, exact):
            sums = [sum(o.size for o in operations.values() if o.kind == "calc") for operations in (coarse, fine)]
            assert coarse.keys() == fine.keys() and abs(sums[0] * 1000 - sums[1]) <= 501 and sums[1] > 0, sums


def astra_sim(document, endpoints, folder):
    """Seconds until the last rank is done, by ASTRA-sim's analytical network without congestion: ALPHA and BETA between any two
    (its GB is 2^30 B), kernels as long as the trace says."""
    for path in folder.glob("a.*.et"):
        path.unlink()
    export(document, "chakra", folder / "a")
    system = {"scheduling-policy": "LIFO", "endpoint-delay": 0, "active-chunks-per-dimension": 1, "preferred-dataset-splits": 1,
              **{f"{c}-implementation": ["ring"] for c in ("all-reduce", "all-gather", "reduce-scatter", "all-to-all")},
              "collective-optimization": "localBWAware", "local-mem-bw": 3350, "boost-mode": 0, "roofline-enabled": 0}
    tap.write_json(folder, system, "system.json")
    tap.write_json(folder, {"memory-type": "NO_MEMORY_EXPANSION"}, "memory.json")
    (folder / "network.yml").write_text(f"topology: [ FullyConnected ]\nnpus_count: [ {endpoints} ]\n"
                                        f"bandwidth: [ {1e9 / 2**30:.15f} ]\nlatency: [ {ALPHA * 1e9} ]\n")
    done = subprocess.run([ASTRASIM, f"--workload-configuration={folder}/a", f"--system-configuration={folder}/system.json",
                           f"--remote-memory-configuration={folder}/memory.json", f"--network-configuration={folder}/network.yml"],
                          capture_output=True, text=True, timeout=tap.HANG, cwd=folder)
    ends = [int(found) for found in re.findall(r"sys\[\d+\] finished, (\d+) cycles", done.stdout + done.stderr)]
    assert done.returncode == 0 and len(ends) == endpoints, (done.returncode, ends, done.stdout[-500:], done.stderr[-500:])
    return max(ends) * 1e-9


@test
def astra_sim_takes_the_time_of_run_for_chains(folder):
    """To a ns a round: it has whole ones."""
    if not ASTRASIM:
        raise tap.Skip("SPARSYNC_ASTRASIM does not name AstraSim_Analytical_Congestion_Unaware")
    chakra_is_there(folder)
    even = {"uniform": {"rows": 480, "row_width": 4, "density": "1/2", "overlap": "full"}}
    for setting, ranks in CHAINS:
        valued = setting["name"] in ("s2", "spardl")
        document = scenario([setting], ranks=[r for r in ranks if r > 2], trace={"gradient": {"elements": 400}} if valued else even)
        for point in points(document):
            time = astra_sim({**document, "ranks": point["ranks"]}, point["ranks"], folder)
            print(f"# {setting}, {point['ranks']} ranks: ASTRA-sim {time * 1e6:.3f} us, run {point['time_s'] * 1e6:.3f} us")
            assert abs(time - point["time_s"]) <= (point["rounds"] + 1) * 1e-9, (setting, point["ranks"], time, point["time_s"])


@test
def astra_sim_plays_every_scheme_to_its_end(folder):
    if not ASTRASIM:
        raise tap.Skip("SPARSYNC_ASTRASIM does not name AstraSim_Analytical_Congestion_Unaware")
    chakra_is_there(folder)
    for document in of_the_registry():
        for point in points({**document, "ranks": [5] if document["ranks"] == list(RANKS) else [8]}):
            export({**document, "ranks": point["ranks"]}, "chakra", folder / "count")
            endpoints = len(list(folder.glob("count.*.et")))
            assert astra_sim({**document, "ranks": point["ranks"]}, endpoints, folder) > 0
            for path in folder.glob("count.*.et"):
                path.unlink()


# --- refusals ----------------------------------------------------------------------------------------------------------------


@test
def refusals_say_what_to_do(folder):
    document = scenario(["ps", "allgather"], ranks=[2, 3], sweep={"cluster.bandwidth": ["1GB/s", "2GB/s", "3GB/s"]})
    several, one = tap.write_json(folder, document), tap.write_json(folder, scenario(["ps"], ranks=[2]), "one.json")
    said = fails("export", "goal", several, "-o", "x", at=folder)
    assert "choose one of 3 places of \"sweep\": cluster.bandwidth, 2 rank counts (--ranks), 2 schemes (--scheme)" in said, said
    narrowed = ["--ranks", "2", "--scheme", "ps"]
    assert "choose one of 3 places of" in fails("export", "goal", several, *narrowed, "-o", "x", at=folder)
    call("export", "goal", several, *narrowed, "--set", 'sweep={"cluster.bandwidth": ["2GB/s"]}', "-o", folder / "y", "--quiet")
    assert "-o FILE" in fails("export", "goal", one, at=folder)
    assert "nowhere" in fails("export", "goal", one, "-o", "nowhere/x", at=folder)
    assert "is a directory" in fails("export", "goal", one, "-o", ".", at=folder)
    assert "was read in this run" in fails("export", "goal", one, "-o", one, at=folder)
    assert "/dev/full" in fails("export", "goal", one, "-o", "/dev/full", at=folder, status=3)
    assert "goal or chakra" in fails("export", at=folder) and "goal or chakra" in fails("export", "dot", at=folder)
    chakra_is_there(folder)
    assert "PREFIX" in fails("export", "chakra", one, at=folder)
    (folder / "half.2.et").mkdir()  # all files or none
    assert "half.2.et" in fails("export", "chakra", one, "-o", "half", at=folder)
    assert [path.name for path in folder.glob("half.*")] == ["half.2.et"]
    assert "one file a rank" in fails("export", "chakra", one, "-o", "-", at=folder)
    (folder / "folder").mkdir()
    for path in ("folder", "folder/", ""):
        assert "add what the files' names begin with" in fails("export", "chakra", one, "-o", path, at=folder), path
    assert "nowhere" in fails("export", "chakra", one, "-o", "nowhere/x", at=folder)
    assert "--ranks" in fails("export", "chakra", one, "--ranks", "1048576", "-o", "x", at=folder)


# --- forms of one's own -----------------------------------------------------------------------------------------------

EVEN = {"name": "even", "latency": "5us", "bandwidth": "1GB/s"}


def judged(folder, form, status=0):
    """What `check` says of a form: its verdicts, or the error."""
    path = tap.write_json(folder, {"latency": "5us", "bandwidth": "1GB/s", **form}, "form.json")
    done = subprocess.run([PROGRAM, "check", str(path), "--format", "json", "--quiet"], capture_output=True, text=True, timeout=tap.HANG, env=ENVIRONMENT)
    assert done.returncode == status, (form, done.returncode, done.stdout, done.stderr)
    answer = json.loads(done.stdout)
    return answer["errors"][0]["error"] if answer["errors"] else answer["expectations"]


@test
def a_schedule_that_is_read_takes_what_run_says(folder):
    """GOAL holds all that the model needs, so its longest path is the simulated time; which is written here as the formula."""
    for scheme, ranks in itertools.product(("allgather", "allreduce", "alltoall", "sparcml-rd", "ps", "zen"), (2, 5, 8)):
        document = scenario([{"name": scheme, **({"colocated": True} if scheme == "ps" else {})}], EVEN, ranks=[ranks], device="none", certain=True)
        seconds = points(document)[0]["time_s"]
        (folder / "s.goal").write_bytes(call("export", "goal", tap.write_json(folder, document, "s.json"), "-o", "-"))
        empty = re.search(r"(\d+) messages carry nothing", (folder / "s.goal").read_text()[:400])
        form = {"formula": repr(seconds), "schedules": ["s.goal"]}
        if empty:  # they stand there with 1 B: a little longer
            found = judged(folder, {**form, "formula": repr(2 * seconds)}, 1)[0]["misses"][0]["found"]
            assert seconds <= found * (1 + 1e-9) and found < seconds + 1e-9 * int(empty[1]), (scheme, ranks, found, seconds)
        else:
            verdict, = judged(folder, form)
            assert verdict["ok"] and verdict["points"] == 1 and verdict["expectation"] == f"schedules to take {seconds!r}", (scheme, ranks, verdict)
            assert judged(folder, {**form, "formula": repr(seconds * (1 + 1e-8))}, 1)[0]["misses"][0]["ranks"] == ranks


@test
def rounds_are_held_against_a_formula(folder):
    """Recursive halving sends half of what is left; a star's port sends one after the other. By hand."""
    halving = {"ranks": 8, "rounds": [[[r, r ^ 2 ** k, f"M/{8 // 2 ** k}"] for r in range(8)] for k in (2, 1, 0)]}
    tap.write_json(folder, halving, "halving.json")
    form = {"formula": "3*alpha + (P-1)/P*M*beta", "M": "80kB", "schedules": ["halving.json", {"file": "halving.json", "M": 8}]}
    assert [v["ok"] for v in judged(folder, form)] == [True]
    assert judged(folder, {**form, "formula": "3*alpha + M*beta"}, 1)[0]["misses"][0]["at"] == {"M": 80000}
    done = subprocess.run([PROGRAM, "check", folder / "form.json"], capture_output=True, text=True, timeout=tap.HANG, env=ENVIRONMENT)
    table = done.stdout.split("\n")
    assert re.split(" {2,}", table[1]) == ["of", "ranks", "M", "takes", "formula", "off by"] and len(table) == 6, table
    star = {"ranks": 4, "rounds": [[[0, 1, 1000], [0, 2, "2kB"], [0, 3, "w"], [1, 2, 0]], [[3, 0, 0]]]}
    tap.write_json(folder, star, "star.json")
    # 1 has its message after 6 us, 2 after 13, 3 after 21; then 3 answers. The empty one waits for 2's port, till 13
    assert judged(folder, {"formula": "4*alpha + (3000 + w)*beta", "symbols": {"w": 3000}, "schedules": ["star.json"]})[0]["ok"]


@test
def measured_times_are_held_against_a_formula(folder):
    (folder / "t.csv").write_text("what,ranks,bytes,seconds\nmine,4,1MB,1.02ms\nmine,8,1MB,1e-3\nother,8,1MB,1\n")
    form = {"formula": "M*beta", "measured": {"file": "t.csv", "within": "3%", "where": {"what": "mine"}}}
    assert [(v["ok"], v["points"]) for v in judged(folder, form)] == [(True, 2)]
    form["measured"]["within"] = "1%"
    misses = judged(folder, form, 1)[0]["misses"]
    assert [(m["ranks"], m["found"], m["against"]) for m in misses] == [(4, 0.00102, 0.001)], misses
    form["measured"]["where"] = {"what": "nobody's"}
    assert judged(folder, form, 1)[0]["points"] == 0
    for measured, words in (({"file": "t.csv", "within": "3%", "where": {"who": "mine"}}, 'no column "who"'), ({"file": "no.csv", "within": 1}, "no.csv: cannot open: No such file"),
                            ({"file": "t.csv"}, "within")):
        assert words in judged(folder, {**form, "measured": measured}, 2)


PAIR = "num_ranks 2\nrank 0 {\na: send 8b to 1 tag 0\n}\nrank 1 {\nb: recv 8b from 0 tag 0\n}\n"


def first(text):
    """PAIR with more at the end of its first message's line."""
    return PAIR.replace("tag 0\n}\nr", f"tag 0{text}\n}}\nr")


BAD_GOAL = [("", "not JSON"), ("num_ranks 1", "ends before"), ("rank 0 {", "line 1: expected num_ranks"), (PAIR[:-2], "ends before all ranks"), (PAIR.replace("8b to 1", "8b to 2"), "line 3: no such peer"),
            (PAIR.replace("8b to 1", "8b to 0"), "no such peer"), (PAIR.replace("8b from", "9b from"), "has no other end of as many bytes"),
            (first("1"), "no other end"), (PAIR.replace("a: send", "a: a: send"), "line 3"), (PAIR + "rank 2 {\n}\n", "line 8"),
            (first("\na requires c"), "line 4: a label that no line before it has"), (first(" cpu 1"), "line 3"), (first("\na irequires a"), "line 4"),
            (first("\na: calc 1"), "was there before"), (first("\na requires a"), "wait for each other for ever"), ("num_ranks 4000000000\n", "line 1"),
            ("num_ranks 0\n", "line 1"), (PAIR.replace("8b", "1e300b"), "no such size"), (PAIR.replace("8b", "nanb"), "line 3"), ("num_ranks 1\n\0", "no text")]
BAD_ROUNDS = [({"ranks": 2}, "rounds"), ({"ranks": 0, "rounds": []}, "ranks"), ({"ranks": 2, "rounds": [[[0, 2, 1]]]}, "rounds[0][0][1]"), ({"ranks": 2, "rounds": [[[0, 0, 1]]]}, "to itself"),
              ({"ranks": 2, "rounds": [[[0, 1]]]}, "[from, to, bytes]"), ({"ranks": 2, "rounds": [[[0, 1, "M/"]]]}, "M/"), ({"ranks": 2, "rounds": [[[0, 1, "-M"]]]}, "no size"),
              ({"ranks": 2, "rounds": [[[0, 1, "zebra"]]]}, "zebra"), ({"ranks": 2, "rounds": [], "round": 1}, "round"), ({"ranks": 2, "rounds": [[[0, 1, -1]]]}, "rounds[0][0][2]")]


@test
def bad_schedules_are_told_in_a_line(folder):
    form = {"formula": "alpha + 8*beta", "M": 8, "schedules": ["p.goal"]}
    (folder / "p.goal").write_text(PAIR)
    assert judged(folder, form)[0]["ok"]
    (folder / "p.goal").write_text(PAIR.replace("a: ", "").replace("tag 0", "") + "// nothing more\n")
    assert judged(folder, form)[0]["ok"], "labels and tags may be left out"
    for text, words in BAD_GOAL:
        (folder / "p.goal").write_text(text)
        said = judged(folder, form, 2)
        assert words in said and "p.goal" in said and "\n" not in said, (text, said)
    crossed = "num_ranks 2\nrank 0 {\na: recv 1b from 1\nb: send 1b to 1\nb requires a\n}\nrank 1 {\na: recv 1b from 0\nb: send 1b to 0\nb requires a\n}\n"
    (folder / "p.goal").write_text(crossed)
    assert "2 of its 2 operations wait for each other" in judged(folder, form, 2)
    for rounds, words in BAD_ROUNDS:
        tap.write_json(folder, rounds, "p.goal")
        said = judged(folder, form, 2)
        assert words in said and "\n" not in said, (rounds, said)
    tap.write_json(folder, {"ranks": 2, "rounds": [[[0, 1, 8]]]}, "p.goal")
    for change, words in (({"formula": "P*zebra"}, "zebra"), ({"formula": "M*beta", "M": None}, "M"), ({"symbols": {"P": 2}}, "is a symbol already"), ({"schedules": []}, "schedules"), ({"latency": None}, "latency"),
                          ({"schedules": ["none.goal"]}, "none.goal")):
        said = judged(folder, {**form, **change}, 2)
        assert words in said and "\n" not in said, (change, said)
    del form["schedules"]
    assert "nothing to hold the formula against" in judged(folder, form, 2)


def make_bags():
    """3 iterations of 8 ranks with 4 bags each, of 0 to 4 rows."""
    offsets = [0]
    for i in range(3 * 8 * 4):
        offsets.append(offsets[-1] + 3 * i % 5)
    files = [BAGS.with_name("i.npy"), BAGS.with_name("o.npy")]
    files[0].write_bytes(tap.npy([7 * i % 600 for i in range(offsets[-1])]))
    files[1].write_bytes(tap.npy(offsets))
    call("trace", "import", "--from", "bags", *files, "--tables", "1", "--ranks", "8", "--batch", "4", "--row-width", "6", "-o", BAGS)


def main():
    make_bags()
    call("trace", "synth", "--rows", "600", "--ranks", "8", "--iterations", "3", "--tokens", "90", "--row-width", "6", "-o", WORDS)
    call("trace", "synth", "--rows", "600", "--ranks", "2", "--iterations", "1", "--tokens", "1", "--row-width", "6", "-o", NEARLY_EMPTY)
    return tap.run()


sys.exit(main())
# SPDX-License-Identifier: Apache-2.0
