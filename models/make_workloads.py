#!/usr/bin/env python3
"""Writes models/workloads/*.json from the layers of each network, and ZEN's scenarios; the same files every time. `--check` writes nothing and
exits 1 when a file differs. What ships are the JSON files: edit here, run, commit both.

Three rules make every number:

bytes       dtype times the shape, written as arithmetic in the module's notes ("4*(8192*512 + ...)").
forward_s   FLOPs over what the GPU reaches, plus kernel launches, plus the optimizer's memory traffic, written as arithmetic
            there too. A layer with n weights costs 2*n FLOPs a position forward, twice that backward.
lookups     what a paper prints: as counts, or as statistics ("like") from which the program solves for the law when it reads the
            workload, so that the file says what is known and no parameter is written down twice. EmbRace's on the RTX2080, whose
            statistics belong to a larger batch, are solved here.
"""
import functools
import json
import math
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
WIDE = 130

# --- GPUs: peak FP32 and memory bandwidth from NVIDIA's data sheets -----------------------------------------------------

GPUS = {
    "rtx3090": ("35.58e12", "936e9", "RTX 3090"),
    "rtx2080": ("10.07e12", "448e9", "RTX 2080"),
    "rtx2080ti": ("13.45e12", "616e9", "RTX 2080 Ti"),
    "v100": ("15.7e12", "900e9", "V100 SXM2"),
}

# Share of the peak. Recurrent layers: 330.1 GFLOP in ZEN's 114 ms on a V100 (§3.2), so 2.90 of 15.7 TFLOPS:
# 6*(19.40e6 weights*2560 words + 2560*8192*256 of the sampled softmax), batch 128 (§5.1) and 20 words (PyTorch_GBW_LM).
RECURRENT, MATRIX = 0.184, 0.4
LAUNCH = "10e-6"
OPTIMIZER = {"adam": 28, "adagrad": 20, "sgd": 20}  # bytes moved per weight: reads and writes of weight, gradient, state

RULE = ("{gpu}, {peak} FLOPS peak (data sheet), reached to 18.4% by recurrent layers (from ZEN's 114 ms, §3.2) and 40% by others "
        "(estimated); 10 us a kernel (estimated)")


def evaluate(text):
    """The value of the arithmetic at the beginning of a source."""
    return eval(text, {"__builtins__": {}}, {})  # noqa: S307 - our own text


def figure(value, digits=6):
    """Rounded to so many significant digits, as a whole number where it is one."""
    if value == 0:
        return 0
    rounded = float(f"{value:.{digits}g}")
    return int(rounded) if rounded == int(rounded) else rounded


class Workload:
    """Modules in forward order, and what is known about them."""

    def __init__(self, name, summary, gpu, optimizer, dtype_bytes=4, share=1, **source):
        self.name, self.summary, self.gpu, self.optimizer = name, summary, gpu, optimizer
        self.dtype_bytes, self.share = dtype_bytes, share
        self.tokens, self.iterations, self.notes, self.modules = None, None, [], []
        self.measured = None
        peak, memory, card = GPUS[gpu]
        rule = RULE.format(gpu=card, peak=peak)
        self.source = {"forward_s": f"estimated: {rule}", "backward_s": f"estimated: twice the forward pass; {rule}", **source}

    def embedding(self, name, rows, width, feed, source, positions, extra="0"):
        """A table. `feed` is ("counts"|"synth"|"tensor", value, source); `extra`: arithmetic, seconds beside the launch."""
        kind, value, feed_source = feed
        forward = f"{LAUNCH} + {extra}" if extra != "0" else LAUNCH
        backward = f"2*{LAUNCH} + {extra}" if extra != "0" else f"2*{LAUNCH}"
        rows_moved = f"{positions}*{width}*{self.dtype_bytes}"
        memory = GPUS[self.gpu][1]
        forward += f" + 2*{rows_moved}/{memory}"
        backward += f" + 2*{rows_moved}/{memory}"
        self.modules.append({
            "name": name, "kind": "embedding", "rows": rows, "row_width": width, kind: value,
            "forward_s": figure(evaluate(forward)), "backward_s": figure(evaluate(backward)),
            "source": {"rows": source, "row_width": source, kind: feed_source},
            "notes": {"forward_s": f"{forward}: launch, rows read and written",
                      "backward_s": f"{backward}: launches, rows read and written"},
        })

    def dense(self, name, shape, source, positions, after, efficiency=MATRIX, launches=3, weights=None, flops="0"):
        """Layers with weights. `shape`: arithmetic, elements; `weights`: those multiplied at each of `positions` (all, when
        None); `flops`: arithmetic, forward FLOPs beyond those (attention)."""
        elements = evaluate(shape)
        peak, memory, _ = GPUS[self.gpu]
        weights = shape if weights is None else weights
        work = f"2*({weights})*{positions}" + (f" + {flops}" if flops != "0" else "")
        forward = f"({work})/({efficiency}*{peak}) + {launches}*{LAUNCH}"
        backward = f"2*({work})/({efficiency}*{peak}) + 2*{launches}*{LAUNCH}"
        if elements:
            forward += f" + {OPTIMIZER[self.optimizer]}*({shape})/{memory}"
        module = {"name": name, "kind": "dense", "bytes": self.dtype_bytes * elements,
                  "forward_s": figure(evaluate(forward)), "backward_s": figure(evaluate(backward)), "after": after,
                  "notes": {"bytes": f"{self.dtype_bytes}*({shape}): {source}", "forward_s": forward, "backward_s": backward}}
        self.modules.append(module)
        return [name]

    def fit_compute(self, seconds, why):
        """Scales all times so that an iteration of one GPU takes what a paper prints."""
        total = sum(module["forward_s"] + module["backward_s"] for module in self.modules)
        for module in self.modules:
            for field in ("forward_s", "backward_s"):
                text = module["notes"][field].split(":")[0]
                text = f"({text})*{figure(seconds / total, 9)}"
                module[field] = figure(evaluate(text))
                module["notes"][field] = text
        for field in ("forward_s", "backward_s"):
            self.source[field] = f"estimated: {why}; shared out by FLOPs ({self.source[field].removeprefix('estimated: ')})"

    def bytes(self):
        return sum(m.get("bytes", m.get("rows", 0) * m.get("row_width", 0) * self.dtype_bytes) for m in self.modules)

    def document(self):
        result = {"name": self.name, "summary": self.summary}
        if self.tokens is not None:
            result["tokens"], self.source["tokens"] = self.tokens
        if self.iterations is not None:
            result["iterations"], self.source["iterations"] = self.iterations
        result["modules"] = self.modules
        result["source"] = self.source
        if self.notes:
            result["notes"] = self.notes
        return result


# --- lookups by Zipf's law ----------------------------------------------------------------------------------------------

@functools.cache
def ranges(rows):
    """Of 1..rows: how many numbers, and their middle; none wider than 2%, so that a table of any size is summed in an instant."""
    found, first = [], 1
    while first <= rows:
        last = min(rows, max(first, int(first * 1.02)))
        found.append((last - first + 1, (first + last) / 2))
        first = last + 1
    return found


class Zipf:
    """Popularity of rows: k^-s over `rows` (its mean over a range by the midpoint rule), `hot` of all lookups to the most popular
    `hot_rows` (padding)."""

    def __init__(self, rows, s, hot=0.0, hot_rows=1):
        self.groups = [(count, middle ** -s) for count, middle in ranges(rows)]
        share = (1 - hot) / sum(count * weight for count, weight in self.groups)
        self.groups = [(count, weight * share) for count, weight in self.groups]
        if hot:
            left, groups = hot_rows, []
            for count, p in self.groups:
                take = min(left, count)
                if take:
                    groups.append((take, p + hot / hot_rows))
                if count > take:
                    groups.append((count - take, p))
                left -= take
            self.groups = groups
        self.missed = [(count, math.log1p(-min(p, 1 - 1e-15))) for count, p in self.groups]

    def distinct(self, lookups):
        return -sum([count * math.expm1(lookups * missed) for count, missed in self.missed])

    def gamma(self, lookups, ranks):
        return self.distinct(lookups * ranks) / self.distinct(lookups)

    def prior(self, lookups, ranks):
        return sum(count * math.expm1(lookups * missed) * math.expm1(lookups * ranks * missed) for count, missed in self.missed)


def solve(function, low, high, target):
    """The argument at which a monotonic function has the target's value, by bisection; the nearer end when it never has."""
    rising = function(high) > function(low)
    for _ in range(40):
        middle = (low + high) / 2
        if (function(middle) < target) == rising:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def solve_padded(rows, lookups, coalesced, prior, ranks):
    """Exponent and padding's share that give so many distinct rows, and so many of them looked up again by `ranks` ranks."""
    def exponent(hot):
        return solve(lambda s: Zipf(rows, s, hot).distinct(lookups), 0.0, 2.0, coalesced)
    hot = solve(lambda h: Zipf(rows, exponent(h), h).prior(lookups, ranks), 0.0, 1 - coalesced / lookups - 1e-6, prior)
    return figure(exponent(hot), 4), figure(hot, 4)


# --- layers ---------------------------------------------------------------------------------------------------------------

def lstm(inputs, hidden, directions=1):
    """Elements of a layer as PyTorch has them: four gates, two biases."""
    one = f"4*{hidden}*{inputs} + 4*{hidden}*{hidden} + 2*4*{hidden}"
    return one if directions == 1 else f"{directions}*({one})"


def linear(inputs, outputs):
    return f"{inputs}*{outputs} + {outputs}"


def counts(lookups, coalesced, prior, source, overlap="random"):
    return "counts", {"lookups": lookups, "coalesced": coalesced, "prior": prior, "overlap": overlap}, source


def like(statistics, source, lookups=None, seed=1):
    """Lookups with these statistics; `lookups`: that many."""
    skewed = any(name.startswith("skewness") for name in statistics)
    return "synth", {**({"lookups": lookups} if lookups else {}), "like": statistics, **({} if skewed else {"ids": "popularity"}), "seed": seed}, source


FIRST_OF_8 = 4.8  # 60% of the non-zeros of all six models are in the first of eight parts, and more (ZEN C3)


# --- EmbRace (ICPP 2022) --------------------------------------------------------------------------------------------------

MIB = 1 << 20
# Table 3, MB of both tables together at the RTX3090's batch sizes: gradient as looked up, coalesced, prior.
TABLE3 = {"lm": (8.7, 6.9, 2.6), "gnmt-8": (26.0, 12.2, 5.8), "transformer": (35.2, 16.6, 8.9), "bert-base": (36.0, 5.5, 3.2)}
# Ranks whose next batch decides what is prior. Table 3 names none; estimated: the count at which Zipf's law with an exponent
# near 1 and little padding gives the printed prior rows of GNMT-8, Transformer and BERT (at 16, no exponent does).
GATHERED = 4


def table3_rows(model, row_bytes, tables):
    return [round(value * MIB / row_bytes / tables) for value in TABLE3[model]]


def embrace_feed(model, rows, row_bytes, tables, gpu, lookups_2080=None, batch=""):
    """Rows of one table: Table 3's on the RTX3090; on the RTX2080, where its batch is smaller, Zipf's law fitted to them."""
    lookups, coalesced, prior = table3_rows(model, row_bytes, tables)
    mb = "/".join(f"{value}" for value in TABLE3[model])
    share = "" if tables == 1 else f", {tables} tables alike (estimated)"
    printed = f"EmbRace Table 3: {mb} MB of rows of {row_bytes} bytes{share}; overlap between ranks estimated: random"
    if gpu == "rtx3090" or lookups_2080 is None or lookups_2080 == lookups:
        return counts(lookups, coalesced, prior, printed)
    s, hot = solve_padded(rows, lookups, coalesced, prior, GATHERED)
    law = Zipf(rows, s, hot)
    return counts(lookups_2080, round(law.distinct(lookups_2080)), round(law.prior(lookups_2080, GATHERED)),
                  f"estimated: {batch}; distinct and prior rows by Zipf's law, exponent {s}, {hot:.1%} padding, which gives "
                  f"Table 3's {coalesced} and {prior} of {lookups} (fitted, {GATHERED} ranks)")


def embrace_lm(gpu):
    w = Workload(f"embrace-lm-{gpu}", f"EmbRace's LM (LSTM 2048, projection 512, one billion words), batch 128 on {GPUS[gpu][2]}", gpu, "adam")
    lookups = table3_rows("lm", 2048, 2)[0]
    w.source["bytes"] = "layers of PyTorch_GBW_LM's network at width 512; sum as EmbRace Table 1"
    feed = embrace_feed("lm", 793471, 2048, 2, gpu)
    where = "EmbRace Table 1: 2*793471*512*4 = 3099.5 MiB"
    bus = "0"
    if gpu == "rtx2080":
        bus = f"{lookups}*512*4/8e9"
        w.notes.append("Its tables are in the CPU's memory (§5.3): rows and gradients cross PCIe at 8 GB/s (estimated, as the cluster's intra.bandwidth).")
    w.embedding("input-embedding", 793471, 512, feed, where, lookups, bus)
    w.dense("lstm", lstm(512, 2048), "LSTM 512 -> 2048 (shape as in PyTorch_GBW_LM lm/model.py, one layer)", lookups, ["input-embedding"],
            RECURRENT, 23, weights="4*2048*512 + 4*2048*2048")
    w.dense("projection", linear(2048, 512), "projection 2048 -> 512", lookups, ["lstm"])
    w.embedding("softmax-embedding", 793471, 512, feed, where, lookups, bus)
    w.dense("softmax", "793471", "bias of the sampled softmax; its rows are softmax-embedding's", lookups, ["projection", "softmax-embedding"],
            weights=f"{lookups}*512")
    w.tokens = (lookups, "estimated: the words looked up, without padding (Table 3)")
    w.notes += [
        "Sum 3186.585 MiB; EmbRace Table 1 prints 3186.5 (without the LSTM's biases it would be 3186.52).",
        "Batch 128 (§5.2.2); 4454 rows of both tables a rank and iteration are Table 3's, fewer than 20 words a sentence and 8192 sampled ones would be.",
    ]
    return w


def gnmt(w, hidden, layers, vocabulary, width, feeds, where, sentences, steps):
    """GNMT as in NVIDIA's and MLPerf's PyTorch code: a bidirectional first layer, attention after the decoder's first."""
    positions = sentences * steps
    w.embedding("encoder-embedding", vocabulary, width, feeds[0], where, positions)
    after = ["encoder-embedding"]
    for layer in range(1, layers + 1):
        inputs = width if layer == 1 else 2 * hidden if layer == 2 else hidden
        both = 2 if layer == 1 else 1
        after = w.dense(f"encoder-{layer}", lstm(inputs, hidden, both), f"LSTM {inputs} -> {hidden}{', both directions' if layer == 1 else ''}",
                        positions, after, RECURRENT, both * steps)
    w.embedding("decoder-embedding", vocabulary, width, feeds[1], where, positions)
    after = [*after, "decoder-embedding"]
    for layer in range(1, layers + 1):
        inputs = width if layer == 1 else 2 * hidden
        attention = f" + 2*{hidden}*{hidden} + 2*{hidden} + 1" if layer == 1 else ""
        after = w.dense(f"decoder-{layer}", lstm(inputs, hidden) + attention,
                        f"LSTM {inputs} -> {hidden}{', additive attention' if layer == 1 else ' (state and context)'}", positions, after, RECURRENT, steps,
                        flops=f"2*{sentences}*{steps}*{steps}*{hidden}*2" if layer == 1 else "0")
    w.dense("classifier", linear(hidden, vocabulary), f"{hidden} -> {vocabulary} words", positions, after)


def embrace_gnmt(gpu):
    sentences = {"rtx3090": 128, "rtx2080": 32}[gpu]
    w = Workload(f"embrace-gnmt-8-{gpu}", f"EmbRace's GNMT-8 (WMT-16 En-De), batch {sentences} on {GPUS[gpu][2]}", gpu, "adam")
    feed = embrace_feed("gnmt-8", 32320, 4096, 2, gpu, sentences * 26, f"{sentences} sentences of 26 words, as Table 3's 6656 lookups of 2*128 sentences")
    w.source["bytes"] = "layers of MLPerf's GNMT, four and four; sum as EmbRace Table 1"
    gnmt(w, 1024, 4, 32320, 1024, [feed, feed], "EmbRace Table 1: 2*32320*1024*4 = 252.5 MiB", sentences, 26)
    w.tokens = (round(0.8 * 2 * sentences * 26), "estimated: 80% of 2*26 positions a sentence are words")
    w.notes = ["Four encoder and four decoder layers: sum 739.16 MiB; EmbRace Table 1 prints 739.1.",
               "Table 3's 26.0 MB are 6656 rows of 4096 bytes: exactly 26 positions in each of 128 sentences and 2 languages."]
    return w


def embrace_transformer(gpu):
    limit = {"rtx3090": 5120, "rtx2080": 500}[gpu]
    w = Workload(f"embrace-transformer-{gpu}", f"EmbRace's Transformer (big, WMT-14 En-De), at most {limit} tokens a batch on {GPUS[gpu][2]}", gpu, "adam")
    w.source["bytes"] = "layers of the big Transformer (Vaswani et al. 2017); sum as EmbRace Table 1"
    full = table3_rows("transformer", 4096, 2)[0]
    positions = full if limit == 5120 else round(full * limit / 5120)
    feed = embrace_feed("transformer", 33712, 4096, 2, gpu, positions, f"{full} lookups of at most 5120 tokens, scaled to {limit}")
    where = "EmbRace Table 1: 2*33712*1024*4 = 263.4 MiB (33712: estimated, NVIDIA's joint vocabulary for this data; any from 33709 to 33721 gives the printed sum)"
    attention = "4*1024*1024"
    feed_forward = "1024*4096 + 4096 + 4096*1024 + 1024"
    words = 27
    scores = f"2*2*{positions}*{words}*1024"
    w.embedding("encoder-embedding", 33712, 1024, feed, where, positions)
    after = ["encoder-embedding"]
    for layer in range(1, 7):
        after = w.dense(f"encoder-{layer}", f"{attention} + {feed_forward} + 2*2*1024",
                        "self-attention without biases, feed-forward 4096, two layer norms", positions, after, MATRIX, 20, flops=scores)
    w.embedding("decoder-embedding", 33712, 1024, feed, where, positions)
    after = [*after, "decoder-embedding"]
    for layer in range(1, 7):
        after = w.dense(f"decoder-{layer}", f"2*{attention} + {feed_forward} + 3*2*1024",
                        "self-attention and attention without biases, feed-forward 4096, three layer norms", positions, after, MATRIX, 30,
                        flops=f"2*{scores}")
    w.dense("classifier", "1024*33712", "1024 -> 33712 words, no bias", positions, after)
    w.tokens = (round(0.9 * 2 * positions), "estimated: 90% of the positions looked up are words (batches by number of tokens)")
    w.notes = ["Sum 1067.53 MiB; EmbRace Table 1 prints 1067.5. The sum decides against biases in attention (0.28 MiB more).",
               f"Attention scores: sentences of {words} words (estimated)."]
    return w


def embrace_bert(gpu):
    questions = {"rtx3090": 32, "rtx2080": 4}[gpu]
    w = Workload(f"embrace-bert-base-{gpu}", f"EmbRace's BERT-base (SQuAD), batch {questions} on {GPUS[gpu][2]}", gpu, "adam")
    positions = questions * 384
    w.source["bytes"] = "layers of BERT-base (Devlin et al. 2018); sum as EmbRace Table 1"
    feed = embrace_feed("bert-base", 30522, 3072, 1, gpu, positions, f"{questions} questions of 384 positions, as Table 3's 12288 lookups of 32")
    w.embedding("word-embedding", 30522, 768, feed, "EmbRace Table 1: 30522*768*4 = 89.4 MiB", positions)
    after = w.dense("position-embedding", "512*768 + 2*768 + 2*768", "positions, segments, layer norm: looked up whole, so dense", positions,
                    ["word-embedding"], weights="2*768")
    for layer in range(1, 13):
        after = w.dense(f"layer-{layer}", "4*(768*768 + 768) + 768*3072 + 3072 + 3072*768 + 768 + 2*2*768", "BERT-base layer", positions, after, MATRIX, 25,
                        flops=f"2*2*{positions}*384*768")
    after = w.dense("pooler", linear(768, 768), "pooler", questions, after)
    w.dense("answer", linear(768, 2), "start and end of the answer", positions, after)
    w.tokens = (round(0.45 * positions), "estimated: 45% of 384 positions are words, the rest padding")
    w.notes = ["Sum 417.65 MiB (417.6475; EmbRace Table 1 prints 417.7).",
               "Table 3's 36.0 MB are 12288 rows of 3072 bytes: exactly 32 questions of 384 positions."]
    return w


# --- ZEN (OSDI 2025) ------------------------------------------------------------------------------------------------------

def zen_lstm():
    w = Workload("zen-lstm", "ZEN's LSTM (one billion words), batch 128 on a V100", "v100", "adagrad")
    w.source["bytes"] = "layers of PyTorch_GBW_LM's network; sum as ZEN Table 1"
    statistics = {"density": "1.13%", "skewness@8": FIRST_OF_8, "skewness@128": 70}
    where = "ZEN Table 1: 406M = 2*793471*256 (PyTorch_GBW_LM's vocabulary and width)"
    feed = "estimated: the simplest law with density 1.13% (Table 1), over 60% in the first of 8 parts (C3) and skewness over 70 of 128 (Fig. 3b), in both tables alike"
    w.embedding("input-embedding", 793471, 256, like(statistics, feed), where, 2560)
    w.dense("lstm", lstm(256, 2048), "LSTM 256 -> 2048 (PyTorch_GBW_LM, one layer)", 2560, ["input-embedding"], RECURRENT, 20,
            weights="4*2048*256 + 4*2048*2048")
    w.dense("projection", linear(2048, 256), "projection 2048 -> 256", 2560, ["lstm"], RECURRENT)
    w.embedding("softmax-embedding", 793471, 256, like(statistics, feed, seed=2), where, 2560)
    w.dense("softmax", "793471", "bias of the sampled softmax", 2560, ["projection", "softmax-embedding"], RECURRENT, weights="8192*256")
    w.tokens = (2560, "128 sentences (ZEN §5.1) of 20 words (estimated: PyTorch_GBW_LM)")
    w.iterations = (4, "estimated: enough for means, few enough for a laptop")
    w.fit_compute(0.114, "114 ms an iteration on one V100 (ZEN §3.2)")
    w.notes = ["Dense: 20.2M of Table 1's 20M. 8192 sampled and some 770 other target words would be 1.13% of one table: the printed density may be the softmax's alone."]
    return w


def zen_deepfm():
    w = Workload("zen-deepfm", "ZEN's DeepFM (Criteo), batch 1024 on a V100", "v100", "adam")
    w.source["bytes"] = "estimated: three layers of the width that gives ZEN Table 1's 68M"
    rows, width, units = 835938, 256, 3846
    lookups = 39 * 1024
    statistics = {"density": "2.8%", "gamma@8": 1.857, "skewness@8": FIRST_OF_8}
    where = "ZEN Table 1: 214M; width 256 estimated (26 fields of 1024 samples fill 2.8% of 214M only if rows are wide), rows follow"
    w.embedding("embedding", rows, width, like(statistics, "estimated: 1024 samples (§5.1) of 39 fields (Criteo), the simplest law with density 2.80% (Table 1), 5.2% after 8 GPUs "
                "(§5.3) and over 60% in the first of 8 parts (C3)", lookups),
                where, lookups)
    after = w.dense("hidden-1", linear(39 * 256, units), f"39 fields of 256 -> {units} (estimated: units solved for Table 1's 68M)", 1024, ["embedding"])
    after = w.dense("hidden-2", linear(units, units), f"{units} -> {units}", 1024, after)
    after = w.dense("hidden-3", linear(units, units), f"{units} -> {units}", 1024, after)
    w.dense("output", linear(units, 1), f"{units} -> 1", 1024, after)
    w.tokens = (1024, "samples (ZEN §5.1)")
    w.notes = ["What this law makes of 128 GPUs is far below what ZEN's 2.10 times AllReduce (§5.2, 856 MB at 25 Gbps) asks for: 2/2.10 = 2*5.2% + 1/32 + d "
               "gives d = 82% for 16 machines of 5.2% each, as if machines shared no rows while GPUs share most."]
    w.iterations = (4, "estimated: enough for means, few enough for a laptop")
    return w


def zen_nmt():
    w = Workload("zen-nmt", "ZEN's NMT (IWSLT 2014 De-En), batch 64 on a V100", "v100", "adam")
    w.source["bytes"] = "estimated: two and two LSTM layers and attention of the width that gives ZEN Table 1's 31M"
    rows, hidden, words = 54688, 930, 23
    # 36% below AllReduce on 128 GPUs: density + density of 128 = 0.64 (§2.4), so gamma(128) = (0.64 - 0.0247)/0.0247
    statistics = {"density": "2.47%", "gamma@128": 24.9, "skewness@8": FIRST_OF_8}
    where = "ZEN Table 1: 112M = 2*54688*1024 (width 1024 estimated, rows follow)"
    text = "estimated: the simplest law with density 2.47% (Table 1), gamma(128) = 24.9 (36% below AllReduce, §2.4) and over 60% in the first of 8 parts (C3)"
    positions = 64 * words
    w.embedding("encoder-embedding", rows, 1024, like(statistics, text), where, positions)
    after = w.dense("encoder-1", lstm(1024, hidden), f"LSTM 1024 -> {hidden} (estimated: width solved for Table 1's 31M)", positions, ["encoder-embedding"], RECURRENT, words)
    after = w.dense("encoder-2", lstm(hidden, hidden), f"LSTM {hidden} -> {hidden}", positions, after, RECURRENT, words)
    w.embedding("decoder-embedding", rows, 1024, like(statistics, text, seed=2), where, positions)
    after = w.dense("decoder-1", lstm(1024, hidden), f"LSTM 1024 -> {hidden}", positions, [*after, "decoder-embedding"], RECURRENT, words)
    after = w.dense("decoder-2", lstm(hidden, hidden), f"LSTM {hidden} -> {hidden}", positions, after, RECURRENT, words)
    w.dense("attention", f"3*{hidden}*{hidden}", "general attention (Luong)", positions, after)
    w.tokens = (2 * positions, f"64 sentences (ZEN §5.1) of {words} words in two languages (estimated)")
    w.iterations = (4, "estimated: enough for means, few enough for a laptop")
    w.notes = ["31M leave no room for an output layer of its own: decoder-embedding stands for it too."]
    return w


def zen_llm(name, summary, hidden, layers, block, block_source, head, head_source, last):
    """Tensor parallelism of 8 leaves each GPU an eighth of every matrix."""
    w = Workload(name, f"ZEN's {summary}, an eighth of it (tensor parallel 8), 1024 tokens on a V100", "v100", "adam",
                 share=8)
    w.source["bytes"] = "ZEN Table 2 and the model's published configuration, tensor parallel 8 (ZEN §5.1)"
    positions = 1024
    after = w.dense("word-embedding", head, head_source, positions, [], launches=1, weights="0")
    for layer in range(1, layers + 1):
        after = w.dense(f"block-{layer}", block, block_source, positions, after, MATRIX, 25, flops=f"2*2*{positions}*{positions}*{hidden}//8")
    after = w.dense("final-norm", last, "final norm, whole on every GPU", positions, after, launches=1)
    matrix = head.split(" + ")[0]
    w.dense("lm-head", "0", "its weights are word-embedding's", positions, after, launches=1, weights=matrix)
    w.tokens = (1024, "batch 1, 1024 tokens (ZEN §5.1), per group of 8 GPUs: here per rank")
    w.notes = ["A rank is one of 8 GPUs of a machine; 16 machines are 16 ranks, each with an eighth of the machine's network (ZEN §5.1).",
               "The embedding is tied to the output layer, so its gradient is dense. FP32 (ZEN §3.3); activations' traffic inside a machine is not counted."]
    return w


def zen_llama():
    return zen_llm("zen-llama3.2-3b", "Llama3.2-3B", 3072, 28,
                   "(2*3072*3072 + 2*3072*1024 + 3*3072*8192)//8 + 2*3072",
                   "hidden 3072, intermediate 8192 (ZEN Table 2), 8 key-value heads of 128 (Llama's model card); an eighth; two norms whole",
                   "128256*3072//8", "128256 words (Llama's model card), an eighth", "3072")


def zen_opt():
    return zen_llm("zen-opt-2.7b", "OPT-2.7B", 2560, 32,
                   "(4*2560*2560 + 2*2560*10240 + 3*2560 + 10240)//8 + 2560 + 2560 + 2*2*2560",
                   "hidden 2560, intermediate 10240 (ZEN Table 2); an eighth; output biases and two norms whole",
                   "50272*2560//8 + 2050*2560", "50272 words, an eighth; 2050 positions, whole (OPT's published configuration)", "2*2560")


def zen_gemma():
    return zen_llm("zen-gemma2-2b", "Gemma2-2B", 2304, 26,
                   "(2*2304*2048 + 2*2304*1024 + 3*2304*9216)//8 + 4*2304",
                   "hidden 2304, intermediate 9216 (ZEN Table 2), 8 heads and 4 key-value heads of 256 (Gemma 2's report); an eighth; four norms whole",
                   "256000*2304//8", "256000 words (Gemma 2's report), an eighth", "2304")


# --- S2 Reducer (ICASSP 2022) ---------------------------------------------------------------------------------------------

def s2_lstm():
    w = Workload("s2-lstm", "S2's LSTM (WikiText-2), batch 16 on an RTX 3090", "rtx3090", "sgd")
    w.source["bytes"] = "estimated: three layers of pytorch/examples' word_language_model; sum as S2 Table 1"
    rows, lookups = 28869, 16 * 35
    w.embedding("embedding", rows, 650, like({"density": "0.9%"}, "estimated: batch 16 (S2 appendix Table 2) of 35 words (pytorch/examples), the simplest "
                "law with Table 1's sparsity of 99.1%", lookups),
                "S2 Table 1: 75 MB = 28869*650*4 (estimated: WikiText-2's vocabulary, pytorch/examples' widest but one)", lookups)
    after = ["embedding"]
    for layer in range(1, 4):
        after = w.dense(f"lstm-{layer}", lstm(650, 650), "LSTM 650 -> 650; three of them and the decoder give Table 1's 115 MB (115.8)", lookups, after, RECURRENT, 35)
    w.dense("decoder", linear(650, rows), f"650 -> {rows} words", lookups, after)
    w.tokens = (lookups, "batch 16 (S2 appendix Table 2) of 35 words (estimated)")
    w.iterations = (2, "estimated: enough for means")
    return w


def s2_gnmt(layers):
    # The widths at which the dense part is Table 1's: 195 MB of 4 + 4 layers, 245 MB of 8 + 8.
    hidden = {4: 554, 8: 497}[layers]
    total, printed = 2 * layers, {4: 195, 8: 245}[layers]
    w = Workload(f"s2-gnmt-{total}", f"S2's GNMT-{total} (WMT-16), batch 64 on an RTX 3090", "rtx3090", "adam")
    lookups, coalesced, prior = table3_rows("gnmt-8", 4096, 2)
    statistics = {"density": "4.83%", "coalescing": figure(lookups / coalesced, 4), f"repeat@{GATHERED}": figure(prior / coalesced, 4)}
    text = (f"estimated: sparsity 95.17% (S2 Table 1) is EmbRace's 12.2 of 252.5 MB, so the simplest law with its lookups (26.0 MB) and prior rows "
            f"(5.8 MB, of {GATHERED} ranks) too (EmbRace Table 3)")
    feeds = [like(statistics, text, seed=seed) for seed in (1, 2)]
    gnmt(w, hidden, layers, 32320, 1024, feeds, "S2 Table 1: 265 MB = 2*32320*1024*4 (as EmbRace's)", 64, 26)
    w.source["bytes"] = f"estimated: layers of GNMT with the width ({hidden}) that gives S2 Table 1's {printed} MB; MLPerf's 1024 gives 510 MB for GNMT-8"
    w.tokens = (round(0.8 * 2 * 64 * 26), "estimated: 80% of 2*26 positions in 64 sentences (S2 appendix Table 2) are words")
    w.iterations = (2, "estimated: enough for means")
    w.notes = ["The printed sparsity belongs to twice the printed batch, if sentences are EmbRace's 26 positions: the rows follow the sparsity, the compute the batch."]
    return w


def s2_resnet50():
    w = Workload("s2-resnet-50", "S2's ResNet-50 (CIFAR-100), batch 128 on an RTX 3090", "rtx3090", "sgd")
    w.source["bytes"] = "layers of ResNet-50 with CIFAR's stem; sum as S2 Table 1"
    after = w.dense("stem", "3*64*9 + 2*64", "3x3, 64 channels, batch norm", 128, [], weights="3*64*9*32*32")
    channels = 64
    for stage, (blocks, width) in enumerate(zip((3, 4, 6, 3), (64, 128, 256, 512)), 1):
        side = 32 >> (stage - 1)
        for block in range(1, blocks + 1):
            out = 4 * width
            convolutions = f"{channels}*{width} + {width}*{width}*9 + {width}*{out}"
            if block == 1:
                convolutions += f" + {channels}*{out}"
            norms = f"2*({width} + {width} + {out}{f' + {out}' if block == 1 else ''})"
            after = w.dense(f"stage-{stage}-{block}", f"{convolutions} + {norms}", f"bottleneck {channels} -> {width} -> {out}{', shortcut' if block == 1 else ''}",
                            128, after, MATRIX, 10, weights=f"({convolutions})*{side}*{side}")
            channels = out
    w.dense("classifier", linear(2048, 100), "2048 -> 100 classes", 128, after, launches=1)
    w.tokens = (128, "images (S2 appendix Table 2)")
    w.notes = ["Sum 94.82 MB; S2 Table 1 prints 94.8. The first bottleneck of a stage is charged at the stage's output size."]
    return w


def s2_densenet():
    w = Workload("s2-densenet", "S2's DenseNet (CIFAR-100), batch 128 on an RTX 3090", "rtx3090", "sgd")
    w.source["bytes"] = "estimated: DenseNet of 40 layers and growth 12, whose sum is S2 Table 1's 4.04 (in MiB)"
    after = w.dense("stem", "3*16*9", "3x3, 16 channels", 128, [], weights="3*16*9*32*32", launches=1)
    channels = 16
    for block in range(1, 4):
        side = 32 >> (block - 1)
        for layer in range(1, 13):
            after = w.dense(f"block-{block}-{layer}", f"2*{channels} + {channels}*12*9", f"batch norm, 3x3 from {channels} channels, growth 12", 128, after, MATRIX, 3,
                            weights=f"{channels}*12*9*{side}*{side}")
            channels += 12
        if block < 3:
            after = w.dense(f"transition-{block}", f"2*{channels} + {channels}*{channels}", f"batch norm, 1x1, {channels} channels", 128, after, MATRIX, 4,
                            weights=f"{channels}*{channels}*{side}*{side}")
    after = w.dense("norm", f"2*{channels}", "batch norm", 128, after, launches=1)
    w.dense("classifier", linear(channels, 100), f"{channels} -> 100 classes", 128, after, launches=1)
    w.tokens = (128, "images (S2 appendix Table 2)")
    w.notes = ["40 layers, growth 12: estimated, the variant whose sum (4.044 MiB) S2 Table 1 prints as 4.04 MB, beside sizes in MB of 10^6."]
    return w


# --- SparDL (VLDB 2024) ---------------------------------------------------------------------------------------------------

VGG = {16: (64, 64, 0, 128, 128, 0, 256, 256, 256, 0, 512, 512, 512, 0, 512, 512, 512, 0),
       19: (64, 64, 0, 128, 128, 0, 256, 256, 256, 256, 0, 512, 512, 512, 512, 0, 512, 512, 512, 512, 0)}


def spardl_vgg(depth, classes, total):
    w = Workload(f"spardl-vgg-{depth}", f"SparDL's VGG-{depth} (CIFAR-{classes}), batch 16 on an RTX 2080 Ti", "rtx2080ti", "sgd")
    channels, side, number, after = 3, 32, 0, []
    w.source["bytes"] = f"layers of VGG-{depth} with batch norm for CIFAR; sum as SparDL Table 2"
    for out in VGG[depth]:
        if not out:
            side //= 2
            continue
        number += 1
        after = w.dense(f"conv-{number}", f"{channels}*{out}*9 + {out} + 2*{out}", f"3x3, {channels} -> {out}, batch norm", 16, after, MATRIX, 3,
                        weights=f"{channels}*{out}*9*{side}*{side}")
        channels = out
    w.dense("classifier", linear(512, classes), f"512 -> {classes} classes", 16, after, launches=1)
    w.tokens = (16, "images (SparDL §4.1)")
    w.notes = [f"Sum {total} weights, as SparDL Table 2 prints."]
    return w


def spardl_resnet20():
    w = Workload("spardl-resnet-20", "SparDL's ResNet-20 (CIFAR-10), batch 16 on an RTX 2080 Ti", "rtx2080ti", "sgd")
    w.source["bytes"] = "layers of ResNet-20 for CIFAR; sum as SparDL Table 2"
    after = w.dense("stem", "3*16*9 + 2*16", "3x3, 16 channels, batch norm", 16, [], weights="3*16*9*32*32")
    channels = 16
    for stage, out in enumerate((16, 32, 64), 1):
        side = 32 >> (stage - 1)
        for block in range(1, 4):
            convolutions = f"{channels}*{out}*9 + {out}*{out}*9"
            after = w.dense(f"stage-{stage}-{block}", f"{convolutions} + 2*2*{out}", f"two 3x3, {channels} -> {out}, batch norms; shortcut without weights", 16, after,
                            MATRIX, 7, weights=f"({convolutions})*{side}*{side}")
            channels = out
    w.dense("classifier", linear(64, 10), "64 -> 10 classes", 16, after, launches=1)
    w.tokens = (16, "images (SparDL §4.1)")
    w.notes = ["Sum 269722 weights, as SparDL Table 2 prints."]
    return w


def spardl_lstm():
    w = Workload("spardl-lstm-imdb", "SparDL's LSTM (IMDB), batch 1 on an RTX 2080 Ti", "rtx2080ti", "sgd")
    w.source["bytes"] = "estimated: a split of SparDL Table 2's 2561052 weights; SparDL selects from all of them together"
    words = 230
    split = "estimated split"
    after = w.dense("embedding", "25280*100", f"25280 words of 100, gradient taken dense as SparDL does ({split})", words, [], launches=1, weights="0")
    after = w.dense("lstm", lstm(100, 50), f"LSTM 100 -> 50 ({split})", words, after, RECURRENT, words)
    after = w.dense("hidden", linear(50, 50), f"50 -> 50 ({split})", 1, after)
    w.dense("output", linear(50, 2), f"50 -> 2 ({split})", 1, after)
    w.tokens = (words, "estimated: words of an average IMDB review; batch 1 (SparDL §4.1)")
    return w


def all_workloads():
    for gpu in ("rtx3090", "rtx2080"):
        for make in (embrace_lm, embrace_gnmt, embrace_transformer, embrace_bert):
            yield make(gpu)
    for make in (zen_lstm, zen_deepfm, zen_nmt, zen_llama, zen_opt, zen_gemma, s2_lstm):
        yield make()
    yield s2_gnmt(4)
    yield s2_gnmt(8)
    yield s2_resnet50()
    yield s2_densenet()
    yield spardl_vgg(16, 10, 14728266)
    yield spardl_vgg(19, 100, 20086692)
    yield spardl_resnet20()
    yield spardl_lstm()


# --- ZEN's figures: an index an element makes lists that fill a laptop, so a sixteenth of every row ------------------------

SAMPLE = 16
SHARES = {1: "all", 16: "a sixteenth", 128: "a 128th", 256: "a 256th"}


def sampled(workload, by):
    """The workload with one part in so many of every row and tensor; times stay."""
    document = workload.document()
    why = f"{SHARES[by]} of models/workloads/{workload.name}.json" + (f", at {SHARES[by]} of all bandwidths" if by > 1 else "")
    modules = []
    for module in document["modules"]:
        thin = {key: value for key, value in module.items() if key not in ("source", "notes")}
        if module["kind"] == "embedding":
            thin["row_width"] = module["row_width"] // by
        else:
            thin["bytes"] = 4 * round(module["bytes"] / 4 / by)
        modules.append(thin)
    return {"name": workload.name, "summary": workload.summary, "tokens": document["tokens"], "iterations": 1, "modules": modules,
            "source": {field: f"{'estimated: ' if field in ('forward_s', 'backward_s', 'synth') else ''}{why}"
                       for field in ("forward_s", "backward_s", "synth", "bytes", "rows", "row_width", "tokens", "iterations")}}


def zen_system(name, scheme, by, summary=None, baseline=True, **options):
    bucket = f"{128 / by:g}MB"
    source = {"sparse": "ZEN §2.4, §5.1", "bucket": "ZEN §4: 128 MB" + (f", {SHARES[by]}" if by > 1 else "")}
    result = {"name": name, "summary": summary or f"{name}, an index an element", "sparse": {"name": scheme, **options}, "dense": {"name": "allreduce"},
              "schedule": "fifo", "bucket": bucket, "source": source}
    if baseline:
        result["baseline"] = True
    return result


def zen_systems(by, hierarchy, which):
    """`which` of them at that share of all tensors."""
    element = {"hierarchy": hierarchy, "granularity": "element"}
    systems = [
        zen_system("zen", "zen", by, baseline=False, **element),
        zen_system("zen-coo", "zen", by, "zen, pulled as COO: Algorithm 1 alone (Fig. 17b)", baseline=False, **element, format="coo"),
        zen_system("sparcml", "sparcml-rd", by, **element),
        zen_system("omnireduce", "omnireduce", by, "omnireduce, blocks of 256 elements of the whole rows", hierarchy=hierarchy, block=256 // by)
        if hierarchy == "shard" else zen_system("omnireduce", "omnireduce", by, **element),
        zen_system("agsparse", "allgather", by, **element, separate=True),
        zen_system("allreduce", "allreduce", by, "ring all-reduce of everything"),
    ]
    return [system for system in systems if system["name"] in which]


def zen_place(by, gbits, cluster, latency):
    """Cluster and device at a share of all bandwidths."""
    if by == 1:
        return {"cluster": cluster, "device": "v100"}
    share, of = SHARES[by], SHARES[by].split()[1]
    return {
        "cluster": {"name": f"{cluster}-{of}", "latency": latency, "bandwidth": f"{gbits / by:g}Gbps", "gpus_per_node": 8, "nic": "per-node",
                    "intra": {"latency": "5us", "bandwidth": f"{130 / by:g}GB/s"},
                    "source": {"bandwidth": f"ZEN §5.1, {share} of {gbits} Gbit/s", "intra": f"estimated: as models/clusters/{cluster}.json, bandwidth {share}",
                               "latency": f"estimated: as models/clusters/{cluster}.json"}},
        "device": {"like": "v100", "slower": by}}


def zen_figure(number, gbits, cluster, latency):
    return {
        "name": f"zen-fig{number}",
        "summary": f"ZEN Fig. {number}: throughput with natural sparsity at {gbits} Gbit/s on 4, 8 and 16 machines of 8 V100",
        "notes": [
            "ZEN counts an index an element; lists of all elements would fill 24 GB, so every row and tensor is a sixteenth, and so is every bandwidth: the same times, but for OmniReduce's 4 bytes a block, which weigh 6% instead of 0.4%.",
        ],
        "workloads": [sampled(make(), SAMPLE) for make in (zen_lstm, zen_deepfm, zen_nmt)],
        "all_reduces": "ring",
        "systems": zen_systems(SAMPLE, "shard", ("zen", "sparcml", "omnireduce", "agsparse", "allreduce")),
        **zen_place(SAMPLE, gbits, cluster, latency),
        "ranks": [32, 64, 128], "iterations": 6,
    }


# The same twice more, for claims and figures that play it often: what sends an index an element at a 256th, OmniReduce's
# blocks and what is dense as they are.

def zen_thin_figure():
    by = 256
    return {
        "name": "zen-fig11-thin",
        "summary": "ZEN Fig. 11 and 17b, a 256th of every row and bandwidth: what sends an index an element, beside AllReduce",
        "notes": ["As zen-fig11, but fewer elements are dealt out to 16 machines, a little less evenly: ZEN takes 0.4 to 0.8% longer. zen-fig11-blocks has the others."],
        "workloads": [sampled(make(), by) for make in (zen_lstm, zen_deepfm, zen_nmt)],
        "all_reduces": "ring",
        "systems": zen_systems(by, "shard", ("zen", "zen-coo", "sparcml", "agsparse", "allreduce")),
        **zen_place(by, *SLOW), "ranks": [32, 64, 128], "iterations": 6,
    }


def zen_blocks_figure():
    return {
        "name": "zen-fig11-blocks",
        "summary": "ZEN Fig. 11, the systems whose payloads need no index an element, at full size",
        "workloads": [sampled(make(), 1) for make in (zen_lstm, zen_deepfm, zen_nmt)],
        "all_reduces": "ring",
        "systems": zen_systems(1, "shard", ("omnireduce", "allreduce")),
        **zen_place(1, *SLOW), "ranks": [32, 64, 128], "iterations": 6,
    }


# What the largest 5% of a bucket look like (ZEN prints three things): 60% of them in the first of eight parts (C3), more than
# 30% of 256-element blocks touched (§3.3), 5% in all. Runs of 22 elements give about 32% of blocks.
RUN = 22
SELECTED = {"density": "5%", "skewness@8": FIRST_OF_8}


def bucketed(workload, by):
    """The workload with its gradients in buckets of 128 MB, each a table of the runs that top-k keeps; one run in so many."""
    document, modules, fused, number = workload.document(), [], 0, 0

    def close():
        nonlocal fused, number
        number += 1
        rows = round(fused / 4 / RUN / by)
        modules.insert(0, {"name": f"bucket-{number}", "kind": "embedding", "rows": rows, "row_width": RUN,
                           "synth": {"like": SELECTED, "seed": number}})
        fused = 0

    for module in reversed(document["modules"]):
        modules.insert(0, {key: module[key] for key in ("name", "kind", "forward_s", "backward_s", "after")})
        fused += module["bytes"]
        if fused >= 128e6:
            close()
    if fused:
        close()
    why = f"models/workloads/{workload.name}.json"
    return {"name": workload.name, "summary": f"{workload.summary}; the top 5% of buckets of 128 MB", "tokens": document["tokens"], "iterations": 1,
            "modules": modules,
            "source": {"forward_s": f"estimated: as {why}", "backward_s": f"estimated: as {why}", "tokens": f"as {why}",
                       "rows": f"{why} in buckets of 128 MB (ZEN §4), runs of {RUN} elements, {SHARES[by]} of them",
                       "row_width": "estimated: the length of runs, with synth",
                       "synth": "estimated: runs by the simplest law with 5% (ZEN §5.1), 60% of them in the first of eight parts (ZEN C3); about 32% of "
                                "256-element blocks (ZEN §3.3: more than 30%); ranks draw independently",
                       "iterations": "estimated: every iteration alike"}}


TOP_NOTES = (
    "A rank is one of the 8 GPUs of a machine, with an eighth of its network (tensor parallel 8).",
    "A bucket is a table whose rows are runs of 22 elements, because top-k's entries cluster (ZEN C3, §3.3): zen-fig13-select and zen-fig14-select draw single entries instead, and there OmniReduce has nothing to leave out.",
)


def zen_top_place(by, gbits, cluster, latency):
    place = zen_place(by, gbits, cluster, latency)
    of = SHARES[by].split()[1]
    place["cluster"] = {"name": f"eighth-of-{gbits}g-{of}", "latency": latency, "bandwidth": f"{gbits / 8 / by:g}Gbps",
                        "source": {"bandwidth": f"ZEN §5.1: {gbits} Gbit/s a machine; an eighth of it a GPU; {SHARES[by]}, as of the runs",
                                   "latency": f"estimated: as models/clusters/{cluster}.json"}}
    return place


def zen_top_figure(number, gbits, cluster, latency):
    return {
        "name": f"zen-fig{number}",
        "summary": f"ZEN Fig. {number}: throughput of language models whose gradients are cut to 5%, at {gbits} Gbit/s on 4, 8 and 16 machines",
        "notes": [*TOP_NOTES, "A sixteenth of the runs at a sixteenth of all bandwidths: the same times in little memory."],
        "workloads": [bucketed(make(), SAMPLE) for make in (zen_llama, zen_opt, zen_gemma)],
        "all_reduces": "ring",
        "systems": zen_systems(SAMPLE, "none", ("zen", "sparcml", "omnireduce", "allreduce")),
        **zen_top_place(SAMPLE, gbits, cluster, latency), "ranks": [4, 8, 16], "iterations": 6,
    }


def zen_top_thin_figure():
    by = 128
    return {
        "name": "zen-fig13-thin",
        "summary": "ZEN Fig. 13 and 17b, a 128th of the runs and of every bandwidth",
        "notes": [*TOP_NOTES, "As zen-fig13, for claims and figures that play it often: fewer elements are dealt out, a little less evenly, and ZEN takes about 1% longer."],
        "workloads": [bucketed(make(), by) for make in (zen_llama, zen_opt, zen_gemma)],
        "all_reduces": "ring",
        "systems": zen_systems(by, "none", ("zen", "zen-coo", "sparcml", "omnireduce", "allreduce")),
        **zen_top_place(by, *SLOW), "ranks": [4, 8, 16], "iterations": 6,
    }


SLOW, FAST = (25, "p3.16xlarge-25g", "25us"), (100, "p3dn.24xlarge-100g", "15us")


# --- JSON as a person would lay it out ------------------------------------------------------------------------------------

def pretty(value, indent=0, room=WIDE):
    """JSON in which whatever fits stands on one line."""
    flat = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, (dict, list)) or not value or (indent and len(flat) + indent <= room):
        return flat
    pad = " " * (indent + 2)
    if isinstance(value, dict):
        lines = [f"{pad}{json.dumps(key)}: {pretty(item, indent + 2, room)}" for key, item in value.items()]
        return "{\n" + ",\n".join(lines) + "\n" + " " * indent + "}"
    return "[\n" + ",\n".join(pad + pretty(item, indent + 2, room) for item in value) + "\n" + " " * indent + "]"


def main():
    check, wrong = "--check" in sys.argv[1:], []

    def put(path, document):
        text = pretty(document) + "\n"
        assert not re.search(r"[^\x00-\x7f§]", text), path
        if not check:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            wrong.append(path.name)

    for document in (zen_figure(11, *SLOW), zen_figure(12, *FAST), zen_top_figure(13, *SLOW), zen_top_figure(14, *FAST), zen_thin_figure(),
                     zen_blocks_figure(), zen_top_thin_figure()):
        put(HERE.parent / "scenarios" / "training" / f"{document['name']}.json", document)
    for workload in all_workloads():
        put(HERE / "workloads" / f"{workload.name}.json", workload.document())
        if "--sums" in sys.argv[1:]:
            seconds = sum(m["forward_s"] + m["backward_s"] for m in workload.modules)
            print(f"{workload.name:28} {len(workload.modules):3} modules {workload.bytes() / 1e6:10.3f} MB {workload.bytes() / MIB:10.4f} MiB {seconds * 1e3:8.2f} ms")
    for name in wrong:
        print(f"{name} is not what make_workloads.py writes", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
# SPDX-License-Identifier: Apache-2.0
