#!/usr/bin/python3
"""The shipped workloads and systems against the papers' tables: sums, shapes, times, sources. Arguments: the program, the
source tree. Prints TAP."""
import ast
import json
import operator
import subprocess
import sys

import tap
import traces
from asking import ROOT, ask
from tap import test

MIB = 1 << 20


def load(folder):
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted((ROOT / folder).glob("*.json"))}


WORKLOADS, SYSTEMS, SCENARIOS = load("models/workloads"), load("models/systems"), load("scenarios/training")

# --- arithmetic written in notes --------------------------------------------------------------------------------------

OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv}


def value(text):
    """Of numbers, + - * / // and parentheses, and of nothing else."""
    def of(node):
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            return OPERATORS[type(node.op)](of(node.left), of(node.right))
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            return node.value
        raise AssertionError(f"{text!r} is not arithmetic")
    return of(ast.parse(text.strip(), mode="eval").body)


def near(found, wanted, within, what):
    assert abs(found - wanted) <= within, f"{what}: {found}, not {wanted} within {within}"


def modules(kind=None):
    for name, workload in WORKLOADS.items():
        for module in workload["modules"]:
            if kind in (None, module["kind"]):
                yield f"{name}: {module['name']}", module, workload


def size(module):
    return module["bytes"] if module["kind"] == "dense" else 4 * module["rows"] * module["row_width"]


def embedding_bytes(name):
    return sum(size(m) for m in WORKLOADS[name]["modules"] if m["kind"] == "embedding")


def total_bytes(name):
    return sum(size(m) for m in WORKLOADS[name]["modules"])


def dense_bytes(name):
    return total_bytes(name) - embedding_bytes(name)


# --- all files ----------------------------------------------------------------------------------------------------------

@test
def all_that_the_papers_compare_are_there(folder):
    wanted = {f"embrace-{model}-{gpu}" for model in ("lm", "gnmt-8", "transformer", "bert-base") for gpu in ("rtx3090", "rtx2080")}
    wanted |= {f"zen-{model}" for model in ("lstm", "deepfm", "nmt", "llama3.2-3b", "opt-2.7b", "gemma2-2b")}
    wanted |= {f"s2-{model}" for model in ("lstm", "gnmt-8", "gnmt-16", "resnet-50", "densenet")}
    wanted |= {f"spardl-{model}" for model in ("vgg-16", "vgg-19", "resnet-20", "lstm-imdb")}
    assert not wanted - set(WORKLOADS), f"no workload {sorted(wanted - set(WORKLOADS))}"
    systems = """horovod-allreduce horovod-allgather byteps parallax omnireduce sparcml s2 zen spardl oktopk embrace
        embrace-hybrid-only embrace-horizontal""".split()
    assert not set(systems) - set(SYSTEMS), f"no system {sorted(set(systems) - set(SYSTEMS))}"


@test
def files_are_named_after_what_they_hold(folder):
    for files in (WORKLOADS, SYSTEMS, SCENARIOS):
        for name, document in files.items():
            assert document["name"] == name and document["summary"], name


@test
def workloads_are_what_the_script_writes(folder):
    done = subprocess.run([sys.executable, str(ROOT / "models" / "make_workloads.py"), "--check"], capture_output=True, text=True, timeout=tap.HANG)
    assert done.returncode == 0, done.stderr


@test
def after_names_modules_and_embeddings_have_none(folder):
    for what, module, workload in modules():
        names = [other["name"] for other in workload["modules"]]
        assert names.count(module["name"]) == 1, what
        before = set(names[:names.index(module["name"])])
        assert set(module.get("after", [])) <= before, f"{what}: after {module['after']}"
        assert module["kind"] == "dense" or "after" not in module, what


@test
def scenarios_name_what_ships(folder):
    assert SCENARIOS
    clusters, devices = load("models/clusters"), load("models/devices")
    for name, scenario in SCENARIOS.items():
        for workload in scenario["workloads"]:
            assert isinstance(workload, dict) or workload in WORKLOADS, f"{name}: {workload}"
        for system in scenario["systems"]:
            assert isinstance(system, dict) or system in SYSTEMS, f"{name}: {system}"
        assert isinstance(scenario["cluster"], dict) or scenario["cluster"] in clusters, name
        assert isinstance(scenario["device"], dict) or scenario["device"] in devices, name


@test
def clusters_say_their_library_window_and_device(folder):
    """Those of no machine say in their sources that none is named, and what the window then follows from."""
    for name, cluster in load("models/clusters").items():
        source = cluster["source"]
        library = cluster.get("library", {}).get("name")
        assert library not in (None, "none") or source["library"].startswith("none named: no machine's"), f"{name}: its library"
        assert "window" in cluster and (library or "window" in source), f"{name}: its window"
        assert ("device" in cluster and "device" in source) or ("memory" in cluster and "memory" in source), f"{name}: its device"


# --- sources --------------------------------------------------------------------------------------------------------------

PAPERS = ("EmbRace ", "ZEN ", "S2 ", "SparDL ", "samples (ZEN", "images (S", "batch ", "128 sentences (ZEN", "64 sentences (ZEN")


@test
def every_number_has_a_source(folder):
    for what, module, workload in modules():
        for field in ("bytes", "rows", "row_width", "synth", "counts", "tensor", "forward_s", "backward_s"):
            if field in module and module[field] != 0:
                text = module.get("source", {}).get(field) or workload["source"].get(field)
                assert text, f"{what}: {field} has no source"
                if field in ("forward_s", "backward_s"):
                    assert field not in module.get("source", {}), f"{what}: {field}: the rule stands once, at the workload"
                if field in ("forward_s", "backward_s", "synth"):
                    assert text.startswith("estimated: "), f"{what}: {field} is an estimate and does not say so"
    for name, workload in WORKLOADS.items():
        for field in ("tokens", "iterations"):
            if field in workload:
                text = workload["source"][field]
                assert text.startswith("estimated: ") or text.startswith(PAPERS) or "§" in text, f"{name}: {field}: {text}"
        assert workload["source"]["forward_s"].startswith("estimated: "), name


@test
def every_choice_of_a_system_has_a_source(folder):
    for name, system in SYSTEMS.items():
        for field in ("sparse", "dense", "schedule", "bucket", "partition", "select"):
            if field in system:
                text = system["source"].get(field, "")
                assert any(word in text for word in ("§", "estimated", "default", "torch/csrc")), f"{name}: {field} has no source"
        if system["schedule"] == "2d":
            assert system["sparse"].get("coalesce", True), f"{name}: 2d splits coalesced rows"
        elif "embrace" in name:
            assert system["sparse"]["coalesce"] is False, f"{name}: coalescing belongs to vertical scheduling"


# --- bytes ----------------------------------------------------------------------------------------------------------------

@test
def bytes_are_the_product_of_the_shape(folder):
    shapes = 0
    for what, module, workload in modules("dense"):
        text = module["notes"]["bytes"].split(":")[0]
        assert value(text) == module["bytes"], f"{what}: {text} is {value(text)}, not {module['bytes']}"
        assert module["bytes"] % 4 == 0, what
        shapes += 1
    assert shapes > 300, shapes


@test
def a_wrong_shape_would_show(folder):
    for text, number in (("4*(3*64*9 + 2*64)", 7424), ("(7)//2 + 1", 4), ("4*2", 8)):
        assert value(text) == number
    for text in ("__import__('os')", "a*2", "[1]", "2**64", "'4'"):
        try:
            value(text)
        except (AssertionError, SyntaxError):
            continue
        raise AssertionError(f"{text} was taken")


@test
def embrace_table_1(folder):
    # MB of 2^20 bytes; printed: model, tables, share. A unit of the last digit: EmbRace cuts 3186.59 and 739.16 down.
    printed = {"lm": (3186.5, 3099.5, 97.27), "gnmt-8": (739.1, 252.5, 34.16), "transformer": (1067.5, 263.4, 24.67), "bert-base": (417.7, 89.4, 21.42)}
    tables = {"lm": 2 * 793471 * 512, "gnmt-8": 2 * 32320 * 1024, "transformer": 2 * 33712 * 1024, "bert-base": 30522 * 768}
    for model, (whole, table, share) in printed.items():
        for gpu in ("rtx3090", "rtx2080"):
            name = f"embrace-{model}-{gpu}"
            assert embedding_bytes(name) == 4 * tables[model], name
            near(embedding_bytes(name) / MIB, table, 0.05, f"{name}: tables")
            near(total_bytes(name) / MIB, whole, 0.1, f"{name}: sum")
            near(100 * embedding_bytes(name) / total_bytes(name), share, 0.02, f"{name}: share")


@test
def embrace_dense_parts_by_hand(folder):
    # GNMT: LSTM of i inputs, h units: 4h(i+h)+8h. Encoder 2*(4*1024*2048+8192) + (4*1024*3072+8192) + 2*(4*1024*2048+8192);
    # decoder 8396800 + 3*12591104 + attention 2*1024^2+2*1024+1; classifier 1025*32320.
    lstm = 4 * 1024 * 2048 + 8192
    wide = 4 * 1024 * 3072 + 8192
    assert dense_bytes("embrace-gnmt-8-rtx3090") == 4 * (4 * lstm + wide + lstm + 3 * wide + 2 * 1024 ** 2 + 2049 + 1025 * 32320)
    # BERT-base: 109482240 weights, 23440896 of them words', and 1538 for the answer.
    assert dense_bytes("embrace-bert-base-rtx3090") == 4 * (109482240 - 23440896 + 1538)
    # Transformer: layers of 12587008 and 16785408 weights with norms, without biases in attention.
    assert dense_bytes("embrace-transformer-rtx3090") == 4 * (6 * (4 * 1024 ** 2 + 8 * 1024 ** 2 + 5120 + 4096)
                                                               + 6 * (16 * 1024 ** 2 + 5120 + 6144) + 33712 * 1024)
    assert dense_bytes("embrace-lm-rtx2080") == 4 * (8192 * (512 + 2048 + 2) + 2049 * 512 + 793471)


@test
def embrace_table_3(folder):
    # Rows of all tables at the RTX3090's batches, times their bytes, in MB of 2^20; rounded to rows, so within 0.01.
    printed = {"lm": (8.7, 6.9, 2.6), "gnmt-8": (26.0, 12.2, 5.8), "transformer": (35.2, 16.6, 8.9), "bert-base": (36.0, 5.5, 3.2)}
    for model, sizes in printed.items():
        found = [0, 0, 0]
        for module in WORKLOADS[f"embrace-{model}-rtx3090"]["modules"]:
            if module["kind"] == "embedding":
                for at, key in enumerate(("lookups", "coalesced", "prior")):
                    found[at] += module["counts"][key] * module["row_width"] * 4 / MIB
        for at in range(3):
            near(found[at], sizes[at], 0.01, f"{model}: column {at + 1}")
    # 26.0 MB = 6656 rows of 4 kB = 2 * 128 * 26; 36.0 MB = 12288 rows of 3 kB = 32 * 384.
    assert WORKLOADS["embrace-gnmt-8-rtx3090"]["modules"][0]["counts"]["lookups"] == 128 * 26
    assert WORKLOADS["embrace-bert-base-rtx3090"]["modules"][0]["counts"]["lookups"] == 32 * 384
    # The RTX2080's batches: 32, 4 (§5.2.2), less than a quarter of the rows at most, in order.
    for model, share in (("gnmt-8", 4), ("bert-base", 8), ("transformer", 5120 / 500), ("lm", 1)):
        pair = [WORKLOADS[f"embrace-{model}-{gpu}"]["modules"][0]["counts"] for gpu in ("rtx3090", "rtx2080")]
        near(pair[0]["lookups"] / pair[1]["lookups"], share, 0.02, f"{model}: batch")
        assert pair[1]["lookups"] >= pair[1]["coalesced"] >= pair[1]["prior"], model
        assert pair[1]["coalesced"] >= pair[0]["coalesced"] / share, f"{model}: fewer lookups repeat less"


@test
def zen_table_1(folder):
    # Millions of weights: MLP, embedding. 2*793471*256 = 406.3M; 835938*256 = 214.0M; 2*54688*1024 = 112.0M.
    for name, mlp, table in (("zen-lstm", 20, 406), ("zen-deepfm", 68, 214), ("zen-nmt", 31, 112)):
        near(embedding_bytes(name) / 4e6, table, 0.5, f"{name}: embedding")
        near(dense_bytes(name) / 4e6, mlp, 0.5, f"{name}: MLP")
    near(embedding_bytes("zen-lstm") / 1e9, 1.6, 0.05, "ZEN §3.2: 1.6 GB")
    near(embedding_bytes("zen-deepfm") / 1e6, 856, 0.5, "ZEN §3.3.1: 856 MB")


@test
def zen_language_models(folder):
    # Published sums, of which norms (and OPT's positions and some biases) are whole on each GPU and the rest an eighth.
    for name, weights, whole in (("zen-llama3.2-3b", 3212749824, 28 * 6144 + 3072),
                                 ("zen-opt-2.7b", 2651596800, 32 * (5120 + 10240) + 2050 * 2560 + 5120),
                                 ("zen-gemma2-2b", 2614341888, 26 * 9216 + 2304)):
        assert dense_bytes(name) == total_bytes(name) == 4 * ((weights - whole) // 8 + whole), f"{name}: {dense_bytes(name) / 4}"
        blocks = [m for m in WORKLOADS[name]["modules"] if m["name"].startswith("block-")]
        assert len(blocks) == {"zen-llama3.2-3b": 28, "zen-opt-2.7b": 32, "zen-gemma2-2b": 26}[name], "ZEN Table 2: layers"


@test
def zen_lstm_takes_114_ms(folder):
    near(sum(m["forward_s"] + m["backward_s"] for m in WORKLOADS["zen-lstm"]["modules"]), 0.114, 1e-6, "ZEN §3.2")


@test
def s2_table_1(folder):
    # MB of 10^6, cut down: 28869*650*4 = 75.06, 3*LSTM(650,650) + 651*28869 = 115.8; 2*32320*1024*4 = 264.8.
    for name, table, dense in (("s2-lstm", 75, 115), ("s2-gnmt-8", 265, 195), ("s2-gnmt-16", 265, 245)):
        near(embedding_bytes(name) / 1e6, table, 0.5, f"{name}: embedding")
        near(dense_bytes(name) / 1e6, dense, 1, f"{name}: dense")
    near(total_bytes("s2-resnet-50") / 1e6, 94.8, 0.05, "ResNet-50")
    assert total_bytes("s2-resnet-50") == 4 * 23705252
    near(total_bytes("s2-densenet") / MIB, 4.04, 0.005, "DenseNet, in MiB")
    assert total_bytes("s2-densenet") == 4 * (1019722 - 448 * 10 - 10 + 448 * 100 + 100)  # 40 layers, growth 12; 100 classes


@test
def spardl_table_2(folder):
    for name, weights in (("vgg-16", 14728266), ("vgg-19", 20086692), ("resnet-20", 269722), ("lstm-imdb", 2561052)):
        assert total_bytes(f"spardl-{name}") == 4 * weights, f"{name}: {total_bytes(f'spardl-{name}') / 4}"


# --- times and lookups ------------------------------------------------------------------------------------------------------

@test
def times_are_what_their_sources_calculate(folder):
    for what, module, workload in modules():
        for field in ("forward_s", "backward_s"):
            text = module["notes"][field].split(":")[0]
            near(module[field], value(text), 1e-5 * module[field], f"{what}: {field} = {text}")
        assert module["backward_s"] > 0 and module["forward_s"] > 0, what


@test
def peaks_are_the_data_sheets(folder):
    sheets = {"RTX 3090": (35.58e12, 936e9), "RTX 2080": (10.07e12, 448e9), "RTX 2080 Ti": (13.45e12, 616e9), "V100 SXM2": (15.7e12, 900e9)}
    for name, workload in WORKLOADS.items():
        card = next(card for card in sheets if f"{card}, " in workload["source"]["forward_s"])
        peak, memory = sheets[card]
        text = " ".join(m["notes"]["forward_s"] for m in workload["modules"])
        assert f"*{peak / 1e12:g}e12" in text, f"{name}: {card}"
        for other, (rate, bandwidth) in sheets.items():
            if other != card:
                assert f"*{rate / 1e12:g}e12" not in text and f"/{bandwidth / 1e9:g}e9" not in text, f"{name}: {card} by {other}'s sheet"


def drawn(folder, module, ranks):
    """The trace of the module's own law, and its statistics."""
    synth, trace = module["synth"], folder / "t.safetensors"
    options = [word for key in ("lookups", "ids", "seed") if key in synth for word in (f"--{key}", synth[key])]
    options += ["--like", ",".join(f"{name}={asked}" for name, asked in synth["like"].items())]
    ask("trace", "synth", "--rows", module["rows"], "--row-width", module["row_width"], "--ranks", ranks, "--iterations", "1", *options, "-o", trace)
    return trace, json.loads(ask("trace", "stats", trace, "--format", "json").stdout)["tensors"][0]


@test
def fitted_lookups_give_what_they_were_fitted_to(folder):
    # The program solves for expectations, to 2%, and draws: 2% more.
    for name, ranks, printed in (("zen-lstm", 128, {"density": 0.0113, "skewness@8": 4.8, "skewness@128": 70}),
                                 ("zen-deepfm", 8, {"density": 0.028, "gamma@8": 5.2 / 2.8, "skewness@8": 4.8}),
                                 ("zen-nmt", 128, {"density": 0.0247, "gamma@128": (0.64 - 0.0247) / 0.0247, "skewness@8": 4.8}),
                                 ("s2-lstm", 16, {"density": 0.009}), ("s2-gnmt-8", 16, {"density": 0.0483, "coalescing": 26.0 / 12.2}),
                                 ("s2-gnmt-16", 16, {"density": 0.0483, "coalescing": 26.0 / 12.2})):
        for module in WORKLOADS[name]["modules"]:
            if module["kind"] != "embedding":
                continue
            _, tensor = drawn(folder, module, ranks)
            found = {"density": tensor["density"], "coalescing": tensor["lookups"] / tensor["coalesced"], f"gamma@{ranks}": tensor["gamma"][-1],
                     **{f"skewness@{parts}": ratio for parts, ratio in tensor["skewness"].items()}}
            for statistic, wanted in printed.items():
                near(found[statistic], wanted, 0.04 * wanted, f"{name}: {statistic}")


@test
def selected_runs_cluster_as_zen_prints(folder):
    workload = SCENARIOS["zen-fig13"]["workloads"][0]
    bucket = next(m for m in workload["modules"] if m["kind"] == "embedding")
    trace, found = drawn(folder, bucket, 16)
    near(found["density"], 0.05, 0.001, "the top 5%")
    near(found["skewness"]["8"] / 8, 0.6, 0.01, "C3: more than 60% in the first of eight parts")
    tensor, segments = traces.lookups(trace)
    width = bucket["row_width"]
    blocks = [len({at // 256 for row in rows for at in (row * width, row * width + width - 1)}) for rows in segments[0]]
    touched = sum(blocks) / len(blocks) / (bucket["rows"] * width / 256)
    assert 0.30 < touched < 0.33, touched
    for name, model, by in (("zen-fig13", 0, 16), ("zen-fig14", 2, 16), ("zen-fig13-thin", 1, 128)):
        workload = SCENARIOS[name]["workloads"][model]
        kept = sum(4 * m["rows"] * m["row_width"] for m in workload["modules"] if m["kind"] == "embedding")
        near(by * kept, total_bytes(workload["name"]), 2e-4 * total_bytes(workload["name"]), f"{name}: {workload['name']}")


@test
def sampled_workloads_are_a_share(folder):
    for name, by in (("zen-fig11", 16), ("zen-fig12", 16), ("zen-fig11-thin", 256), ("zen-fig11-blocks", 1)):
        for workload in SCENARIOS[name]["workloads"]:
            whole = WORKLOADS[workload["name"]]
            near(by * sum(map(size, workload["modules"])), total_bytes(workload["name"]), by * 4 * len(whole["modules"]), f"{name}: {workload['name']}")
            for thin, module in zip(workload["modules"], whole["modules"]):
                assert all(thin.get(key) == module.get(key) for key in ("name", "after", "rows", "synth", "forward_s", "backward_s")), thin["name"]


# --- host paths (docs/workloads.md) -----------------------------------------------------------------------------------

BASELINES = ("horovod-allgather", "horovod-allreduce", "parallax", "byteps")


def baselines(folder, gpu, **host):
    """EmbRace's baselines, the fastest first, by model and ranks, where servers' messages go through the memory of machines."""
    scenario = SCENARIOS[f"embrace-fig7-{gpu}"]
    cluster = json.loads((ROOT / "models/clusters" / f"{scenario['cluster']}.json").read_text())
    systems = [{**SYSTEMS[name], "staging": "host" if host and name in ("parallax", "byteps") else "device"} for name in BASELINES]
    models = [f"embrace-{name}-{gpu}" for name in ("gnmt-8", "transformer")]
    file = tap.write_json(folder, {**scenario, "workloads": models, "systems": systems, "cluster": {**cluster, **({"host": host} if host else {})}}, "host.json")
    found = {}
    for point in json.loads(ask("train", file, "--certain", "--format", "json", "--quiet").stdout)["training"]:
        found.setdefault((point["workload"].split("-")[1], point["ranks"]), []).append((point["iteration_s"], point["system"]))
    return {at: [system for _, system in sorted(times)] for at, times in found.items()}


@test
def host_paths_bring_the_printed_order(folder):
    """EmbRace §5.3: on the RTX3090 AllGather is first on 4 and 8, AllReduce passes it on 16, BytePS and Parallax are behind
    AllReduce; on the RTX2080 AllGather is first on 4 and 8, and Parallax on 16
    (here with GNMT-8 alone)."""
    path = {"latency": "10us", "bandwidth": "10GB/s"}
    free, shared = baselines(folder, "rtx3090"), baselines(folder, "rtx3090", **path, shared=4)
    assert len(free) == len(shared) == 6
    for (model, ranks), order in shared.items():
        first = ["horovod-allreduce", "horovod-allgather"] if (model, ranks) == ("transformer", 16) else ["horovod-allgather", "horovod-allreduce"]
        assert order == [*first, "parallax", "byteps"], (model, ranks, order)
        assert (free[model, ranks][0] == "parallax") == (ranks > 4), (model, ranks, free[model, ranks])
    for (model, ranks), order in baselines(folder, "rtx2080", **path).items():
        assert order[0] == ("parallax" if (model, ranks) == ("gnmt", 16) else "horovod-allgather"), (model, ranks, order)
    assert all(order[0] != "parallax" for order in baselines(folder, "rtx2080", **path, shared=4).values()), "one path for four would have fitted both"


@test
def gloo_as_transport_of_parallax(folder):
    """S2 §4: Parallax \"can only use Gloo\": rings, as the scenario plays all-reduces anyway, and copies through host memory, which 10
    Gbit/s hide but for their ends: longer, by less than a hundredth."""
    scenario = SCENARIOS["s2-fig3"]
    cluster = json.loads((ROOT / "models/clusters" / f"{scenario['cluster']}.json").read_text())
    gloo = {**SYSTEMS["parallax"], "name": "gloo", "staging": "host", "dense": {"name": "allreduce", "algorithm": "ring"}}
    file = tap.write_json(folder, {**scenario, "systems": ["parallax", gloo], "iterations": 8,
                                   "cluster": {**cluster, "host": {"latency": "10us", "bandwidth": "10GB/s", "shared": 4}}}, "gloo.json")
    points = json.loads(ask("train", file, "--certain", "--format", "json", "--quiet").stdout)["training"]
    times = {(p["workload"], p["system"]): p["iteration_s"] for p in points}
    ratios = {w: times[w, "gloo"] / times[w, "parallax"] for w, system in times if system == "gloo"}
    assert len(ratios) == 3 and all(1 < ratio < 1.01 for ratio in ratios.values()), ratios


sys.exit(tap.run())
# SPDX-License-Identifier: Apache-2.0
