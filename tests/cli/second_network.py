"""A second network: the model `fair` written from docs/model.md alone, slow, with every rate computed from scratch at every event.

`play(cluster, ranks, rounds)` takes the rounds of second_model.py, (dependent, [(from, to, bytes)]), and gives the time. A cluster is
the object of a cluster file with numbers for quantities."""
import math


def classes(about, exchange=False):
    """(latency, bandwidth) of a message of n bytes between nodes, and inside one; and the largest bandwidth of either."""
    def of(link):
        segments = link.get("segments") or [{"latency": link["latency"], "bandwidth": link["bandwidth"]}]

        def take(size):
            for one in segments:
                if size <= one.get("up_to", math.inf):
                    return one["latency"], one["bandwidth"]
            raise AssertionError("no last segment")
        return take, max(one["bandwidth"] for one in segments)
    return of(about), of(about.get("intra") or about)


class Fair:
    def __init__(self, about, ranks):
        self.about, self.ranks = about, ranks
        self.per_node = about.get("gpus_per_node", 1)
        self.nodes = -(-ranks // self.per_node)
        self.nics = about.get("nics", 1 if about.get("nic") == "per-node" else self.per_node)
        self.window = math.inf if about.get("window") == "all" else about.get("window", 1)
        (self.inter, self.rate), (self.intra, self.intra_rate) = classes(about)
        self.capacity = {}

    def home(self, endpoint):
        kind, number = endpoint
        return number // self.per_node if kind == "rank" else number % self.nodes

    def nic(self, endpoint):
        kind, number = endpoint
        return number % self.per_node * self.nics // self.per_node if kind == "rank" else number // self.nodes % self.nics

    def route(self, source, target, size):
        """Latency, own cap, links of a message."""
        a, b, links = self.home(source), self.home(target), []
        if a == b:
            latency, cap = self.intra(size)
            if self.about.get("intra", {}).get("shared"):
                links.append((("bus", a), self.intra_rate))
            if self.window > 1:
                links += [(("port out inside", source), self.intra_rate), (("port in inside", target), self.intra_rate)]
        else:
            latency, cap = self.inter(size)
            if self.nics < self.per_node:
                links += [(("nic out", a, self.nic(source)), self.rate), (("nic in", b, self.nic(target)), self.rate)]
            if self.window > 1:
                links += [(("port out", source), self.rate), (("port in", target), self.rate)]
            for level, fabric in enumerate(self.about.get("fabric", [])):
                k = fabric["nodes"]
                if a // k == b // k:
                    continue
                uplink = fabric["bandwidth"] if "bandwidth" in fabric else k * self.nics * self.rate / fabric["oversubscription"]
                latency += fabric.get("latency", 0)
                cap = min(cap, uplink)
                links += [(("up", level, a // k), uplink), (("down", level, b // k), uplink)]
        self.capacity.update(links)
        return latency, cap, [name for name, _ in links]


def shares(flows, capacity):
    """Max-min fair rates by progressive filling: {flow: (cap, links)} -> {flow: rate}."""
    rates, left, users = {}, {}, {}
    for flow, (_, links) in flows.items():
        for link in links:
            left[link] = capacity[link]
            users.setdefault(link, set()).add(flow)
    while len(rates) < len(flows):
        open_flows = [f for f in flows if f not in rates]
        level = min([flows[f][0] for f in open_flows] +
                    [left[link] / len(users[link]) for link in users if users[link]])
        full = {link for link in users if users[link] and left[link] / len(users[link]) <= level * (1 + 1e-14)}
        for flow in open_flows:
            cap, links = flows[flow]
            if cap <= level * (1 + 1e-14) or full.intersection(links):
                rates[flow] = min(cap, level)
        for flow in open_flows:
            if flow in rates:
                for link in flows[flow][1]:
                    users[link].discard(flow)
                    left[link] -= rates[flow]
    return rates


def play(about, ranks, rounds):
    fair = Fair(about, ranks)
    listed, barrier, completed, queue = {}, {}, {}, {}
    messages = []
    for dependent, round_ in rounds:
        if dependent:
            barrier = dict(listed)
        for source, target, size in round_:
            m = len(messages)
            messages.append((source, target, size, barrier.get(source, 0), barrier.get(target, 0), fair.route(source, target, size)))
            for port, endpoint in (("out", source), ("in", target)):
                listed[endpoint] = listed.get(endpoint, 0) + 1
                queue.setdefault((port, endpoint), []).append(m)
    under_way = {port: 0 for port in queue}
    head = {port: 0 for port in queue}
    now, waiting, flowing, remaining = 0.0, {}, {}, {}
    ports = lambda m: (("out", messages[m][0]), ("in", messages[m][1]))

    def startable(m):
        source, target, _, need_source, need_target, _ = messages[m]
        return (all(queue[p][head[p]:head[p] + 1] == [m] and under_way[p] < fair.window for p in ports(m)) and
                completed.get(source, 0) >= need_source and completed.get(target, 0) >= need_target)

    def start_all(candidates):
        while candidates:
            port = candidates.pop()
            if head[port] >= len(queue[port]) or not startable(queue[port][head[port]]):
                continue
            m = queue[port][head[port]]
            waiting[m] = now + messages[m][5][0]
            for p in ports(m):
                head[p] += 1
                under_way[p] += 1
                candidates.add(p)

    def end(m):
        for p in ports(m):
            under_way[p] -= 1
            completed[p[1]] = completed.get(p[1], 0) + 1

    start_all(set(queue))
    while waiting or flowing:
        rates = shares(flowing, fair.capacity)
        ends = {m: now + remaining[m] / rates[m] for m in flowing}
        moment = min(list(waiting.values()) + list(ends.values()))
        near = moment * (1 + 1e-13)
        for m in flowing:
            remaining[m] -= rates[m] * (moment - now)
        now = moment
        over = [m for m in flowing if ends[m] <= near]
        for m in over:
            del flowing[m]
        for m in [m for m, t in waiting.items() if t <= near]:
            del waiting[m]
            if messages[m][2] == 0:
                over.append(m)
            else:
                flowing[m], remaining[m] = messages[m][5][1:], messages[m][2]
        for m in over:
            end(m)
        touched = {p for m in over for e in messages[m][:2] for p in (("out", e), ("in", e)) if p in queue}
        start_all(touched | {p for m in over for p in ports(m)})
    assert all(head[p] == len(queue[p]) for p in queue), "a message never started"
    return now
