# Columns of a Parquet, Arrow or Feather file as CSV on standard output: python3 -c THIS FILE [COLUMNS]
# Run by `sparsync trace import`. COLUMNS are names, or numbers and ranges from 1, with commas between; without: all.
import os
import sys

sys.path = [folder for folder in sys.path if folder]  # nothing is imported from where one happens to be
try:
    import pyarrow
    import pyarrow.csv
    import pyarrow.parquet
except ImportError as reason:
    sys.exit(f"Parquet and Arrow files are read by Python's pyarrow, which {sys.executable} has not ({reason}): {sys.executable} -m pip "
             "install pyarrow, or SPARSYNC_PYTHON=/path/to/a/python that has it")


def number(text):
    return int(text) if text.isdigit() else None


def chosen(words, names):
    for word in words:
        low, _, high = word.partition("-")
        if word in names:
            yield word
        elif number(low) and number(high or low) and number(low) <= number(high or low) <= len(names):
            yield from names[number(low) - 1:number(high or low)]
        else:
            raise ValueError(f"--columns: {word!r} is neither a name nor a number from 1 to {len(names)} (it has {', '.join(names)})")


def plain(type):
    """As CSV takes it."""
    if pyarrow.types.is_dictionary(type):
        return plain(type.value_type)
    if pyarrow.types.is_nested(type):
        raise ValueError("holds lists or structs: one value a record makes a table (bags are imported with --from bags)")
    simple = (pyarrow.types.is_integer, pyarrow.types.is_string, pyarrow.types.is_large_string, pyarrow.types.is_boolean)
    return type if any(is_so(type) for is_so in simple) else pyarrow.string()


def main(path, columns=""):
    if path.lower().endswith(".parquet"):
        file = pyarrow.parquet.ParquetFile(path)
        schema, read = file.schema_arrow, lambda names: file.iter_batches(columns=names)
    else:
        source = pyarrow.memory_map(path)
        try:
            file = pyarrow.ipc.open_file(source)
            batches = (file.get_batch(i) for i in range(file.num_record_batches))
        except pyarrow.ArrowInvalid:
            source.seek(0)
            batches = file = pyarrow.ipc.open_stream(source)
        schema, read = file.schema, lambda names: (batch.select(names) for batch in batches)
    names = list(chosen(columns.split(","), schema.names)) if columns else schema.names
    fields = []
    for name in names:
        try:
            fields.append(pyarrow.field(name, plain(schema.field(name).type)))
        except ValueError as reason:
            raise ValueError(f"column {name}: {reason}") from None
    out = pyarrow.schema(fields)
    options = pyarrow.csv.WriteOptions(quoting_style="needed")
    with pyarrow.csv.CSVWriter(sys.stdout.buffer, out, write_options=options) as writer:
        for batch in read(names):
            writer.write_table(pyarrow.Table.from_batches([batch]).select(names).cast(out))


try:
    main(*sys.argv[1:])
except BrokenPipeError:  # enough was read
    os._exit(0)
except (OSError, ValueError, pyarrow.ArrowException) as reason:
    sys.exit(" ".join(str(reason).split()))
# SPDX-License-Identifier: Apache-2.0
