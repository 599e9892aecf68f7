"""GOAL text as LogGOPSim's txt2bin takes it, read by nothing but its grammar; and what it means under two models of time. Of use to
tests alone, and to those who hold exports against the simulators themselves."""
import collections
import re

Operation = collections.namedtuple("Operation", "kind size peer tag requires")
# One line each, in the words of the grammar: labels are letters, digits and '_', numbers are unsigned.
MESSAGE = re.compile(r"(\w+): (send|recv) (\d+)b (to|from) (\d+) tag (\d+)")
CALCULATION = re.compile(r"(\w+): calc (\d+)")
REQUIRES = re.compile(r"(\w+) requires (\w+)")


def read(text):
    """What each rank does: a list of {label: Operation}. Labels must stand before they are required."""
    ranks, at, expected = [], None, None
    for line in text.split("\n"):
        line = line.split("//")[0].strip()
        if not line:
            continue
        if at is None and (found := re.fullmatch(r"num_ranks (\d+)", line)):
            assert expected is None, line
            expected = int(found[1])
        elif at is None:
            found = re.fullmatch(r"rank (\d+) \{", line)
            assert found and int(found[1]) == len(ranks), line
            at = {}
        elif line == "}":
            ranks.append(at)
            at = None
        elif found := MESSAGE.fullmatch(line):
            assert found[1][0].isalpha() and found[1] not in at and (found[2] == "send") == (found[4] == "to"), line
            at[found[1]] = Operation(found[2], int(found[3]), int(found[5]), int(found[6]), [])
        elif found := CALCULATION.fullmatch(line):
            assert found[1][0].isalpha() and found[1] not in at, line
            at[found[1]] = Operation("calc", int(found[2]), None, None, [])
        else:
            found = REQUIRES.fullmatch(line)
            assert found and found[1] in at and found[2] in at, line
            at[found[1]].requires.append(found[2])
    assert at is None and len(ranks) == expected, (len(ranks), expected)
    return ranks


def matched(ranks):
    """{(from, to, tag): bytes}: every send has its one receive, of as many bytes."""
    sent, received = {}, {}
    for r, operations in enumerate(ranks):
        for o in operations.values():
            if o.kind != "calc":
                key = (r, o.peer, o.tag) if o.kind == "send" else (o.peer, r, o.tag)
                ends = sent if o.kind == "send" else received
                assert key not in ends and o.peer != r and 0 <= o.peer < len(ranks) and 0 <= o.tag < 2**31, (r, o)
                ends[key] = o.size
    assert sent == received, "sends and receives are not pairs"
    return sent


def payload(messages):
    """B: one byte stands for none."""
    return sum(size for size in messages.values() if size > 1)


def play(ranks, duration, tick=1e-9):
    """The time at which all is done, when a message holds both its ends from the moment at which all is done that either
    requires, for duration(from, to, bytes) seconds: nothing but the graph. Fails where an operation never begins."""
    users, lacking, ready, ends = collections.defaultdict(list), {}, collections.defaultdict(float), {}
    one = lambda r, label, o: ("calc", r, label) if o.kind == "calc" else (r, o.peer, o.tag) if o.kind == "send" else (o.peer, r, o.tag)
    for r, operations in enumerate(ranks):
        name = {label: one(r, label, o) for label, o in operations.items()}
        for label, o in operations.items():
            lacking[name[label]] = lacking.get(name[label], 0) + len(o.requires)
            ends[name[label]] = o.size
            for other in o.requires:
                users[name[other]].append(name[label])
    free = [name for name, count in lacking.items() if count == 0]
    done, last = 0, 0.0
    while free:
        name = free.pop()
        size = ends[name]
        end = ready[name] + (size * tick if name[0] == "calc" else duration(name[0], name[1], size if size > 1 else 0))
        done, last = done + 1, max(last, end)
        for user in users[name]:
            ready[user] = max(ready[user], end)
            lacking[user] -= 1
            if lacking[user] == 0:
                free.append(user)
    assert done == len(ends), f"{len(ends) - done} of {len(ends)} operations never begin"
    return last
# SPDX-License-Identifier: Apache-2.0
