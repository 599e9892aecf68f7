"""Placements of tables, and what they move, for the tests of placements and of pooling."""


def share(n, parts, k):
    return range(k * n // parts, (k + 1) * n // parts)


def owners(placed, rows, width):
    """Of each shard: its rank, its rows, how many columns."""
    ranks = placed["ranks"]
    for k, rank in enumerate(ranks):
        yield (rank, share(rows, len(ranks), k) if placed["partition"] == "row" else range(rows),
               len(share(width, len(ranks), k)) if placed["partition"] == "column" else width)


def some_placement(dice, ranks, tables):
    def of(rows, width):
        partition = dice.choice(("table", "row", "column"))
        most = min(ranks, {"table": 1, "row": rows, "column": width}[partition])
        return {"partition": partition, "ranks": dice.sample(range(ranks), dice.randrange(1, most + 1))}
    return {"ranks": ranks, "tables": {name: of(rows, width) for name, rows, width in tables}}


def agrees(point, sent, messages, words):
    """The point moved those bytes, sent[i][j] from rank i to rank j, in so many messages (None: any number)."""
    assert point["exact"] is True, (words, point)
    assert point["rank_bytes_sent"] == [sum(row) for row in sent], (words, point["rank_bytes_sent"], sent)
    assert point["rank_bytes_received"] == [sum(column) for column in zip(*sent)], (words, point["rank_bytes_received"], sent)
    assert messages in (None, point["messages"]), words
# SPDX-License-Identifier: Apache-2.0
