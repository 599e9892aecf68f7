"""Answers: lists of dicts, which pandas and notebooks show as tables."""
import html
import math

from ._library import Error

SHOWN = 60  # rows of a table in a notebook

# What the command's tables say; the rest is there with all=True.
SHORT = {
    "run": ("label", "ranks", "cluster", "tensor", "time_s", "time_low_s", "time_high_s", "dense_s", "bytes_sent_max",
            "bytes_received_max", "bound_by"),
    "plan": ("tensor", "ranks", "cluster", "label", "time_s", "time_low_s", "time_high_s", "next", "next_ratio_low",
             "next_ratio_high", "rival", "lossless"),
    "train": ("workload", "system", "ranks", "iteration_s", "iteration_low_s", "iteration_high_s", "stall_s", "hidden", "speedup",
              "tokens_per_s"),
    "stats": ("name", "rows", "row_width", "density", "overlap", "lookups", "coalesced", "lookups_bytes", "coalesced_bytes", "prior_bytes"),
    "place": ("placement", "time_s", "time_low_s", "time_high_s", "wins", "bytes_sent_max", "bytes_imbalance", "held_imbalance",
              "served_imbalance", "bound_by"),
    "fit": ("tensor", "ranks", *(f"extrapolated.{what}.{end}" for what in ("gamma", "density") for end in ("value", "low", "high"))),
    "list": ("name", "source", "summary"),
    "cost": ("scheme", "form", "ranks", "cluster", "density", "gamma", "formula_s", "formula_low_s", "formula_high_s", "placed_s"),
}


def _flat(value, name=""):
    """Members of objects by their paths; lists of objects, which no cell can hold, are left to the rows."""
    if isinstance(value, dict):
        return {path: one for key, inner in value.items() for path, one in _flat(inner, f"{name}.{key}" if name else key).items()}
    if isinstance(value, list) and any(isinstance(one, dict) for one in value):
        return {}
    return {name: math.nan if value is None else value}


def _empty(value):
    return isinstance(value, float) and math.isnan(value)


class Rows(list):
    """An answer: a list of dicts, one a row. `document`: all of it, as the command prints with --format json."""

    def __init__(self, rows, document, kind=""):
        super().__init__(rows)
        self.document, self.kind = document, kind

    def _told(self, row):
        """Of all tensors together nobody may be named: each has its own then, as the command says."""
        own = {name: "each with its own" for name, time in (("label", "time_s"), ("next", "next_time_s"))
               if self.kind == "plan" and row[name] is None and row[time] is not None}
        return {**row, **own}

    def columns(self, all=False):
        """Names and values: what the command's table has, with swept fields, or all."""
        flat = [_flat(self._told(row)) for row in self]
        names = list(dict.fromkeys(name for row in flat for name in row))
        short = SHORT.get(self.kind)
        if not all:
            names = [n for n in names if any(not _empty(row.get(n, math.nan)) and not isinstance(row.get(n), list) for row in flat)]
            swept = [n for n in names if n.startswith("at.") and n[3:] not in (short or ())]
            names = swept + [n for n in short if n in names] if short else [n for n in names if n not in swept]
        return {name: [row.get(name, math.nan) for row in flat] for name in names}

    def to_frame(self, all=False):
        """A pandas DataFrame of what the command's table has; `all`: of every field, objects flattened to columns like
        "at.cluster.bandwidth". What is null is NaN."""
        try:
            import pandas
        except ImportError:
            raise Error("frames need pandas: pip install pandas (without it columns() has the same as lists)", "machine") from None
        return pandas.DataFrame(self.columns(all), index=range(len(self)))

    def plot(self, path=None, **options):
        """As sparsync.plot draws them: kind="bars", x="ranks", y="time_s", where={"ranks": 16}, ..."""
        from ._command import plot

        return plot(self, path, **options)

    def __repr__(self):
        """Short rows in columns; `[*rows]` are the dicts."""
        rows = [*self.columns().items()]
        lines = [[name, *(_cut(_shown(name, value)) or "-" for value in column[:SHOWN])] for name, column in rows]
        wide = [max(map(len, column)) for column in lines]
        left = [any(isinstance(value, str) for value in column) for _, column in rows]
        text = ["  ".join(cell.ljust(n) if l else cell.rjust(n) for cell, n, l in zip(line, wide, left)).rstrip() for line in zip(*lines)]
        return "\n".join(text + [f"{len(self)} rows, {SHOWN} shown"] * (len(self) > SHOWN)) or "[]"

    def _repr_html_(self):
        columns = self.columns()
        head = "".join(f"<th>{html.escape(name)}</th>" for name in columns)
        body = "".join("<tr>" + "".join(f"<td>{html.escape(_shown(name, column[i]))}</td>" for name, column in columns.items()) + "</tr>"
                       for i in range(min(len(self), SHOWN)))
        more = f"<p>{len(self)} rows, {SHOWN} shown</p>" if len(self) > SHOWN else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _cut(text, most=40):
    text = " ".join(text.split())
    return text if len(text) <= most else text[:most - 3] + "..."


def _scaled(value, units, step=1000.0):
    place = 0
    while place + 1 < len(units) and abs(value) >= step:
        value, place = value / step, place + 1
    return f"{value:.3g} {units[place]}"


def _shown(name, value):
    """Times and sizes in the unit that fits them."""
    if _empty(value):
        return ""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    if name.endswith("bandwidth"):
        return _scaled(8 * value, ("bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"))
    if name.endswith("bytes_per_s"):
        return _scaled(value, ("B/s", "kB/s", "MB/s", "GB/s", "TB/s"))
    if name.endswith(("_s", "latency")) and not name.endswith("per_s"):
        return "0 s" if value == 0 else _scaled(value * 1e9, ("ns", "µs", "ms", "s"))
    if "bytes" in name and not name.endswith(("per_s", "_imbalance")):
        return _scaled(float(value), ("B", "kB", "MB", "GB", "TB"))
    if isinstance(value, float):
        return f"{value:.0f}" if 1e4 <= abs(value) < 1e15 else f"{value:.4g}"
    return str(value)
# SPDX-License-Identifier: Apache-2.0
