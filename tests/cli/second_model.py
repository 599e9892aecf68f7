"""A second model of the schemes: written from docs/model.md and the papers alone, slow, and sharing
nothing with the program but the trace file and the generator's definition. Rows and elements are keys of dicts, payloads are
dicts too, and a scheme is a function that returns the rounds it plays and what every rank ends with.

Times are those of ordered ports; where ranks share a card, tests/unit/fair_reference.c and tests/peer judge them."""
import collections
import functools
import itertools
import math
import statistics
import struct
from fractions import Fraction

import traces
from hashes import mix, xxh64

M64 = 2**64 - 1
UNIT = 2.0**20


# --- the trace --------------------------------------------------------------------------------------------------------


class Trace:
    """`lookups[t][r]`: the row ids that rank r looks up in iteration t, duplicates kept."""

    def __init__(self, path):
        tensor, self.lookups = traces.lookups(path)
        self.name, self.rows, self.width = tensor["name"], tensor["rows"], tensor["row_width"]
        self.bytes = {"F32": 4, "F16": 2, "BF16": 2}[tensor["dtype"]]


def share(n, parts, j):
    return j * n // parts


def shares(n, parts):
    return [share(n, parts, j + 1) - share(n, parts, j) for j in range(parts)]


# --- time: ordered ports. Where ranks share a card, tests/unit/fair_reference.c and tests/peer judge the times ---------


class Cluster:
    def __init__(self, alpha, rate, per_node=1, nic=False, intra=None, fair=False, cards=1):
        self.fair, self.cards = fair, cards
        self.link, self.per_node, self.nic, self.intra = (alpha, rate), per_node, nic, intra or (alpha, rate)

    def nodes(self, ranks):
        return -(-ranks // self.per_node)

    def rings(self, ranks):
        """Who has which position in each of the rings side by side: as many as a node has cards."""
        g, count = self.per_node, self.cards if self.nodes(ranks) > 1 else 1
        return [[first + (k - (-(i + 1) * g // count) + g) % size for first in range(0, ranks, g)
                 for size in [min(g, ranks - first)] for k in range(size)] for i in range(count)]


def play(cluster, ranks, rounds):
    """rounds: (dependent, [(from, to, bytes)]); endpoints are ("rank", r) and ("server", s). Returns the time, None where it
    is shared out fairly, and what each endpoint sent and received. An endpoint's n-th message of a round is of ring n: it
    has a port of its own and its share of what is inside nodes, but begins no sooner than those before it at either end."""
    nodes = cluster.nodes(ranks)
    number = lambda messages: [sum(one[0] == message[0] for one in messages[:i]) for i, message in enumerate(messages)]
    rings = [number(messages) for _, messages in rounds]
    most = 1 + max(itertools.chain([0], *rings))
    free, begun, done, ready = {}, {}, {}, {}
    sent, received = {}, {}
    for (dependent, messages), ring in zip(rounds, rings):
        if dependent:
            ready = dict(done)
        for (source, target, size), lane in zip(messages, ring):
            home = [number // cluster.per_node if kind == "rank" else number % nodes for kind, number in (source, target)]
            inside = home[0] == home[1]
            alpha, rate = (cluster.intra[0], cluster.intra[1] / most) if inside else cluster.link
            ports = [("out", source, lane), ("in", target, lane)]
            before = [begun.get(port[:2], 0.0) for port in ports]
            if cluster.nic and not inside:
                ports += [("nic out", home[0]), ("nic in", home[1])]
            start = max([ready.get(source, 0.0), ready.get(target, 0.0)] + before + [free.get(port, 0.0) for port in ports])
            begun.update({port[:2]: start for port in ports[:2]})
            end = start + alpha + size / rate
            for port in ports:
                free[port] = end
            for endpoint in (source, target):
                done[endpoint] = max(done.get(endpoint, 0.0), end)
            sent[source] = sent.get(source, 0) + size
            received[target] = received.get(target, 0) + size
    return None if cluster.fair else max(done.values(), default=0.0), sent, received


# --- building blocks: lists of rounds -----------------------------------------------------------------------------------


def rank(r):
    return "rank", r


def ring_gather(size):
    """Step s: r sends block r-s+1 to r+1."""
    p = len(size)
    return [(True, [(rank(r), rank((r + 1) % p), size[(r - s + 1) % p]) for r in range(p)]) for s in range(1, p)]


def ring_reduce_scatter(size):
    """Step s: r sends part r-s to r+1."""
    p = len(size)
    return [(True, [(rank(r), rank((r + 1) % p), size[(r - s) % p]) for r in range(p)]) for s in range(1, p)]


def pairwise(p, size):
    """Round s: r sends to r+s; size(from, to)."""
    return [(s == 1, [(rank(r), rank((r + s) % p), size(r, (r + s) % p)) for r in range(p)]) for s in range(1, p)]


def bruck(size):
    p, t, rounds = len(size), 0, []
    while 2**t < p:
        blocks = min(2**t, p - 2**t)
        rounds.append((True, [(rank(r), rank((r - 2**t) % p), sum(size[(r + i) % p] for i in range(blocks)))
                              for r in range(p)]))
        t += 1
    return rounds


class Fold:
    """Powers of two on any P: ranks 0..2q-1 pair up, the odd one goes on."""

    def __init__(self, p):
        self.levels = p.bit_length() - 1
        self.positions = 2**self.levels
        self.pairs = p - self.positions
        self.ranks = [2 * i + 1 for i in range(self.pairs)] + list(range(2 * self.pairs, p))

    def inwards(self, size):
        return [(True, [(rank(2 * i), rank(2 * i + 1), size(2 * i)) for i in range(self.pairs)])] if self.pairs else []

    def outwards(self, size):
        return [(True, [(rank(2 * i + 1), rank(2 * i), size(2 * i)) for i in range(self.pairs)])] if self.pairs else []


def doubling_gather(size):
    fold = Fold(len(size))
    held = [size[r] + (size[r - 1] if i < fold.pairs else 0) for i, r in enumerate(fold.ranks)]
    rounds = fold.inwards(lambda even: size[even])
    for t in range(fold.levels):
        rounds.append((True, [(rank(r), rank(fold.ranks[i ^ 2**t]), held[i]) for i, r in enumerate(fold.ranks)]))
        held = [held[i] + held[i ^ 2**t] for i in range(fold.positions)]
    return rounds + fold.outwards(lambda even: sum(size) - size[even])


def rabenseifner(rows, row_bytes, p):
    """Halves of what is held, between r and r xor 2^t, t rising, then the same steps backwards, over Q even parts; of folded pairs
    the even rank sums the low half, and sends the odd one the sum. Messages of a step come in the order of the parts that their
    senders end up with."""
    fold = Fold(p)
    turns = sorted(range(fold.positions), key=lambda i: f"{i:032b}"[::-1])
    part = [n * row_bytes for n in shares(rows, fold.positions)]
    low, high = [0] * fold.positions, [fold.positions] * fold.positions
    half = sum(part[:fold.positions // 2])
    swaps = [m for i in range(fold.pairs) for m in ((rank(2 * i), rank(2 * i + 1), rows * row_bytes - half), (rank(2 * i + 1), rank(2 * i), half))]
    rounds = ([(True, swaps)] if fold.pairs else []) + fold.inwards(lambda even: half)
    for t in range(fold.levels):
        bit = 1 << t
        messages = []
        for i in turns:
            middle = (low[i] + high[i]) // 2
            away = (low[i], middle) if i & bit else (middle, high[i])
            messages.append((rank(fold.ranks[i]), rank(fold.ranks[i ^ bit]), sum(part[slice(*away)])))
        for i in range(fold.positions):
            middle = (low[i] + high[i]) // 2
            low[i], high[i] = (middle, high[i]) if i & bit else (low[i], middle)
        rounds.append((True, messages))
    for t in reversed(range(fold.levels)):
        rounds.append((True, [(rank(fold.ranks[i]), rank(fold.ranks[i ^ 2**t]), sum(part[low[i]:high[i]])) for i in turns]))
        partner = [(low[i ^ 2**t], high[i ^ 2**t]) for i in range(fold.positions)]
        low, high = ([min(low[i], partner[i][0]) for i in range(fold.positions)],
                     [max(high[i], partner[i][1]) for i in range(fold.positions)])
    return rounds + fold.outwards(lambda even: rows * row_bytes)


def binomial(size, p):
    """Reduce: in step t, r with r mod 2^(t+1) = 2^t sends to r-2^t; broadcast is its reverse."""
    steps = [[(rank(r), rank(r - 2**t), size) for r in range(p) if r % 2**(t + 1) == 2**t]
             for t in range((p - 1).bit_length())]
    return ([(True, step) for step in steps] +
            [(True, sorted((target, source, size) for source, target, size in step)) for step in reversed(steps)])


def servers(p, s, inward, size):
    """Round t: server j and worker (j+t) mod P; size(worker, server)."""
    rounds = []
    for t in range(p):
        pairs = [((j + t) % p, j) for j in range(s)]
        rounds.append((t == 0, [(rank(r), ("server", j), size(r, j)) if inward else (("server", j), rank(r), size(r, j))
                                for r, j in pairs]))
    return rounds


def mean(values):
    return sum(values) / len(values)


def largest(amounts, kind):
    return max((amount for (of, _), amount in amounts.items() if of == kind), default=0)


# --- hashing and synthetic gradients ------------------------------------------------------------------------------------


@functools.lru_cache(None)
def hash64(i, seed):
    return xxh64(struct.pack("<Q", i), seed)


def mulhi(x, n):
    return x * n >> 64


NORMAL = statistics.NormalDist().inv_cdf


def laplace(u):
    return math.log(2 * u) / math.sqrt(2) if u < 0.5 else -math.log(2 * (1 - u)) / math.sqrt(2)


class Gradient:
    """A dense synthetic gradient. `units(t, r)`: element -> multiples of 2^-20."""
    width, bytes, ranks = 1, 4, 10**6
    drawn = {}  # by all that makes them: many tests draw the same

    def __init__(self, elements, seed=1, rho=0.5, scale=1, sigma=1, layers=8, distribution="normal", iterations=4):
        self.rows, self.seed, self.rho, self.scale, self.iterations = elements, seed, rho, scale, iterations
        self.inverse = {"normal": NORMAL, "laplace": laplace}[distribution]
        self.a = [0.0] * elements
        for layer in range(layers):
            height = math.exp(sigma * NORMAL(self.uniform(mix(mix(seed, 0), layer))))
            for i in range(share(elements, layers, layer), share(elements, layers, layer + 1)):
                self.a[i] = height
        self.made = self.drawn.setdefault((elements, seed, rho, scale, sigma, layers, distribution), {})

    @staticmethod
    def uniform(x):
        return ((x >> 11) + 0.5) * 2.0**-53

    def units(self, t, r):
        if (t, r) not in self.made:
            common, own = mix(mix(self.seed, 1), t), mix(mix(mix(self.seed, 2), t), r)
            values = {}
            for i in range(self.rows):
                s = self.inverse(self.uniform(mix(common, i)))
                n = self.inverse(self.uniform(mix(own, i)))
                g = self.scale * self.a[i] * (self.rho * s + math.sqrt(1 - self.rho**2) * n)
                values[i] = round(min(max(g, -1024.0), 1024.0) * UNIT)
            self.made[t, r] = values
        return self.made[t, r]

    def row_ids(self, t, r):
        return sorted(i for i, value in self.units(t, r).items() if value)

    lookups = None


class Rows:
    """A trace file, with values or without. Values are multiplied by the power of two that puts the largest magnitude of the
    tensor in [2^9, 2^10), rounded half-even to units, duplicates of a row then added."""

    def __init__(self, path):
        self.trace = Trace(path)
        self.rows, self.width, self.bytes, self.lookups = self.trace.rows, self.trace.width, self.trace.bytes, self.trace.lookups
        self.ranks, self.iterations = len(self.lookups[0]), len(self.lookups)
        self.values = None
        flat = traces.load(path)[1].get(f"{self.trace.name}.values")
        if flat is not None:
            largest = max((abs(x) for x in flat), default=0.0)
            power = 10 - math.frexp(largest)[1] if largest else 0
            self.values = [round(math.ldexp(x, power) * UNIT) for x in flat]
            self.first = {}
            at = 0
            for t, iteration in enumerate(self.lookups):
                for r, ids in enumerate(iteration):
                    self.first[t, r] = at
                    at += len(ids)

    def row_ids(self, t, r):
        return sorted(set(self.lookups[t][r]))

    def units(self, t, r):
        if self.values is None:
            return None
        values, w = {}, self.width
        for number, row in enumerate(self.lookups[t][r], self.first[t, r]):
            for column in range(w):
                e = row * w + column
                values[e] = values.get(e, 0) + self.values[number * w + column]
        return values


# --- chunks ---------------------------------------------------------------------------------------------------------------


def add(*chunks):
    """Sum; an index whose values cancel stays."""
    total = dict(chunks[0]) if chunks else {}
    get = total.get
    for chunk in chunks[1:]:
        total.update({i: get(i, 0) + value for i, value in chunk.items()})
    return total


def within(chunk, low, high):
    return {i: value for i, value in chunk.items() if low <= i < high}


def top(chunk, k):
    """Larger magnitude first, ties to the lower index, zeros never."""
    size = {i: -abs(value) for i, value in chunk.items() if value}
    order = sorted(sorted(size), key=size.__getitem__)
    return {i: chunk[i] for i in order[:k]}


def less(chunk, taken):
    return {i: value for i, value in chunk.items() if i not in taken}


def subset_count(options, n):
    """k = max(1, floor(density·n + 0.5)) or `k`."""
    return options["k"] if options.get("k") else max(1, math.floor(ratio(options.get("density", 0.01)) * n + 0.5))


def ratio(value):
    if isinstance(value, str):
        if value.endswith("%"):
            return float(value[:-1]) / 100
        if "/" in value:
            above, below = value.split("/")
            return float(above) / float(below)
        return float(value)
    return value


class Memory:
    """What endpoints hold (docs/model.md, "Memory"), and the most of it."""

    def __init__(self):
        self.now, self.peak, self.lists = collections.defaultdict(int), {}, {}

    def hold(self, who, size):
        self.now[who] += size
        self.peak[who] = max(self.peak.get(who, 0), self.now[who])

    def renew(self, who, key, size):
        """A list in place of the one of that key, which is there until then."""
        self.hold(who, size)
        self.now[who] -= self.lists.get((who, key), 0)
        self.lists[who, key] = size

    def take(self, rounds):
        """Holds all that comes, and returns it."""
        came = {}
        for _, messages in rounds:
            for _, to, size in messages:
                came[to] = came.get(to, 0) + size
        for who, size in came.items():
            self.hold(who, size)
        return came

    def drop(self, came):
        for who, size in came.items():
            self.now[who] -= size

    def add_in_place(self, *rings):
        """A buffer for each ring's longest message, as long as its rounds take."""
        buffers = []
        for rounds in rings:
            longest = {}
            for _, messages in rounds:
                for _, to, size in messages:
                    longest[to] = max(longest.get(to, 0), size)
            buffers.append((True, [(None, to, size) for to, size in longest.items()]))
        self.drop(self.take(buffers))


class Problem:
    """One synchronisation: `data[r]` of each of p members, rows [low, high) of w elements of v bytes."""

    def __init__(self, data, low, high, w, v, index_bytes, exchanged, state, iteration, nodes):
        self.p, self.data, self.low, self.high, self.w, self.v = len(data), data, low, high, w, v
        self.index_bytes, self.exchanged, self.state, self.iteration, self.nodes = index_bytes, exchanged, state, iteration, nodes
        self.memory, self.pushed = Memory(), {}

    @functools.cached_property
    def total(self):
        return add(*self.data)

    @functools.cached_property
    def rings(self):
        return [range(self.p)]

    def side_by_side(self, make):
        """make(i, n, ranks): the rounds of ring i of n, whose positions have these ranks."""
        return together([placed(make(i, len(self.rings), ranks), ranks) for i, ranks in enumerate(self.rings)])

    def even(self, parts, j):
        n = self.high - self.low
        return self.low + share(n, parts, j), self.low + share(n, parts, j + 1)

    def coo(self, chunk):
        return len(chunk) * (self.w * self.v + self.index_bytes)

    def dense(self, low, high):
        return (high - low) * self.w * self.v

    def listed(self, chunk, low=None, high=None):
        return min(self.coo(chunk), self.dense(self.low if low is None else low, self.high if high is None else high))

    def choose(self, chosen):
        """Ranks list what they select."""
        for r, chunk in enumerate(chosen):
            self.memory.hold(rank(r), self.listed(chunk))
        return chosen

    def owner_sums(self, who, chunk, low=None, high=None):
        """The list of the sum, of several, and what was pushed goes."""
        if self.p == 1:
            return
        self.memory.hold(who, self.listed(chunk, low, high))
        self.memory.now[who] -= self.pushed.pop(who, 0)

    def maps(self, chunk, positions):
        return -(-positions // 8) + len(chunk) * self.w * self.v

    def blocks(self, chunk, low, high, b):
        """Blocks of b elements from the start of the range on, the last one short; 4 bytes each beside their elements."""
        n = (high - low) * self.w
        touched = {((i - low) * self.w + column) // b for i in chunk for column in range(self.w)}
        return sum((min((j + 1) * b, n) - j * b) * self.v + 4 for j in touched)

    def announce(self):
        return announce(self.p) if self.exchanged else []

    def gather(self, size, block, counted=True, ranks=None):
        longest = max(size) if self.exchanged.ragged == "padded" else None
        took = [longest or one for one in size]
        for r, own in zip(ranks or range(self.p), took):
            self.memory.hold(rank(r), sum(took) - own)
        return gather(self.exchanged, size, block, counted)

    def exchange(self, size, counted=True):
        """Pairwise: a count of 8 bytes between each pair before; or, padded, every rank's longest message is told."""
        p = self.p
        if self.exchanged.ragged == "padded":
            longest = max((size(r, to) for r in range(p) for to in range(p) if r != to), default=0)
            before, pushes = self.announce() if counted else [], pairwise(p, lambda r, to: longest)
        else:
            before, pushes = pairwise(p, lambda r, to: 8) if counted and self.exchanged else [], pairwise(p, size)
        self.pushed = self.memory.take(pushes)
        return before + pushes

    def sends(self, messages):
        """A dependent round: a count of 8 bytes over each of its pairs before."""
        return [(True, [(a, b, 8) for a, b, _ in messages])] * bool(self.exchanged) + [(True, messages)]

    def fan(self, s, inward, size):
        """To or from servers: a count of 8 bytes for each message before."""
        came = self.memory.take(servers(self.p, s, inward, size))
        self.pushed = came if inward else {}
        return (servers(self.p, s, inward, lambda r, j: 8) if self.exchanged else []) + servers(self.p, s, inward, size)


class Sizes:
    """Whether sizes are exchanged, and how messages of unlike lengths travel."""

    def __init__(self, exchanged, ragged="v"):
        self.exchanged, self.ragged = exchanged, ragged

    def __bool__(self):
        return self.exchanged


def announce(p):
    """Sizes: a Bruck all-gather of 8 bytes a rank."""
    return bruck([8] * p)


def direct(size):
    return pairwise(len(size), lambda r, to: size[r])


PIECE = 2**19


def broadcasts(size):
    """One a rank along the ring: piece k of block b makes its hop s from b+s-1 to b+s in step k+s."""
    p, steps = len(size), {}
    for b, whole in enumerate(size):
        for k in range(max(1, -(-whole // PIECE))):
            for s in range(1, p):
                message = rank((b + s - 1) % p), rank((b + s) % p), min(PIECE, whole - k * PIECE)
                steps.setdefault(k + s, {}).setdefault(s, []).append(message)
    return [(first, sorted(hops[s])) for _, hops in sorted(steps.items())
            for first, s in zip(itertools.chain([True], itertools.repeat(False)), sorted(hops))]


def gather(sizes, size, block, counted=True):
    """Blocks of those sizes by that all-gather; or padded to the longest; or by broadcasts, but for the direct one."""
    rounds = announce(len(size)) if counted and sizes else []
    if sizes.ragged == "padded":
        size = [max(size)] * len(size)
    return rounds + (broadcasts if sizes.ragged == "broadcasts" and block != direct else block)(size)


def together(groups):
    """Rounds of groups that run at once: group after group in each round."""
    rounds = []
    for step in itertools.zip_longest(*groups):
        step = [one for one in step if one is not None]
        rounds.append((step[0][0], [message for _, messages in step for message in messages]))
    return rounds


def placed(rounds, ranks, first_server=0):
    """Positions become ranks, servers of a group servers of the cluster."""
    def place(endpoint):
        kind, number = endpoint
        return (kind, ranks[number]) if kind == "rank" else (kind, first_server + number)
    return [(dependent, [(place(a), place(b), size) for a, b, size in messages]) for dependent, messages in rounds]


class Parts:
    """Who owns a row: even ranges, hashed rows, or ranges between given boundaries. `span(j)`: the range that a chunk of part
    j covers; `positions(j)`: |I_j| of the hash bitmap."""

    def __init__(self, problem, kind, seed=1, boundaries=None):
        self.problem, self.kind, self.seed = problem, kind, seed
        p = problem.p
        self.cuts = boundaries or [problem.low] + [problem.even(p, j)[1] for j in range(p)]

    def cut(self, chunk, j):
        if self.kind == "hash":
            return {i: value for i, value in chunk.items() if mulhi(hash64(i, self.seed), self.problem.p) == j}
        return within(chunk, self.cuts[j], self.cuts[j + 1])

    def span(self, j):
        return (self.problem.low, self.problem.high) if self.kind == "hash" else (self.cuts[j], self.cuts[j + 1])

    def positions(self, j):
        if self.kind == "hash":
            return sum(mulhi(hash64(i, self.seed), self.problem.p) == j for i in range(self.problem.low, self.problem.high))
        return self.cuts[j + 1] - self.cuts[j]

    def encoder(self, form, b=256):
        problem = self.problem
        lengths = [self.positions(j) for j in range(problem.p)] if form in ("hash-bitmap", "smallest") else None

        def size(chunk, j):
            low, high = self.span(j)
            if form == "coo":
                return problem.coo(chunk)
            if form == "bitmap":
                return problem.maps(chunk, high - low)
            if form == "hash-bitmap":
                return problem.maps(chunk, lengths[j])
            if form == "smallest":
                return min(problem.listed(chunk, low, high), problem.maps(chunk, lengths[j]))
            return problem.blocks(chunk, low, high, b)
        return size


# --- lossless schemes: (problem, options) -> rounds, result of each member ----------------------------------------------


def push_pull(problem, parts, push, pull, block=direct):
    """Part j of each to j pairwise, sum, and the sums to all by that all-gather."""
    p, data = problem.p, problem.data
    cut = [[parts.cut(data[r], j) for j in range(p)] for r in range(p)]
    summed = [add(*(cut[r][j] for r in range(p))) for j in range(p)]
    size = [pull(summed[j], j) for j in range(p)]
    rounds = problem.exchange(lambda r, to: push(cut[r][to], to))
    for j in range(p):
        problem.owner_sums(rank(j), summed[j], *parts.span(j))
    return rounds + problem.gather(size, block), [add(*summed)] * p


def running_doubling(problem, size):
    """Recursive doubling of the running sum on any P: fold, exchange with p xor 2^t, fold back."""
    fold, held, memory = Fold(problem.p), [dict(chunk) for chunk in problem.data], problem.memory
    rounds = []

    def add_up(new, came):
        for r, chunk in new.items():
            held[r] = chunk
            memory.renew(rank(r), "sum", problem.listed(chunk))
        memory.drop(came)
    if fold.pairs:
        rounds += problem.sends(fold.inwards(lambda even: size(held[even]))[0][1])
        came = memory.take(rounds[-1:])
        add_up({2 * i + 1: add(held[2 * i], held[2 * i + 1]) for i in range(fold.pairs)}, came)
    for t in range(fold.levels):
        rounds += problem.sends([(rank(r), rank(fold.ranks[i ^ 2**t]), size(held[r])) for i, r in enumerate(fold.ranks)])
        came = memory.take(rounds[-1:])
        add_up({r: add(held[r], held[fold.ranks[i ^ 2**t]]) for i, r in enumerate(fold.ranks)}, came)
    if fold.pairs:
        rounds += problem.sends(fold.outwards(lambda even: size(held[even + 1]))[0][1])
        memory.take(rounds[-1:])
        for i in range(fold.pairs):
            held[2 * i] = held[2 * i + 1]
    return rounds, held


def sparcml_rd(problem, options):
    """sparcml-rd."""
    return running_doubling(problem, problem.coo)


def sparcml_split(problem, options):
    """sparcml-split: even ranges pairwise, Bruck all-gather of the sums."""
    return push_pull(problem, Parts(problem, "even"), lambda chunk, j: problem.coo(chunk), lambda chunk, j: problem.coo(chunk),
                     bruck)


def sparcml_dsar(problem, options):
    """sparcml-dsar: the same, a part dense where that is smaller."""
    parts = Parts(problem, "even")
    return push_pull(problem, parts, lambda chunk, j: problem.coo(chunk),
                     lambda chunk, j: min(problem.coo(chunk), problem.dense(*parts.span(j))), bruck)


def omnireduce(problem, options):
    """omnireduce: non-zero blocks of even ranges to aggregators, the union's to all."""
    b, a = options.get("block", 256), options.get("aggregators", 0)
    if not a:
        encode = Parts(problem, "even").encoder("block", b)
        return push_pull(problem, Parts(problem, "even"), encode, encode)
    p, span = problem.p, [problem.even(a, j) for j in range(a)]
    pushed = [[problem.blocks(within(chunk, *span[j]), *span[j], b) for j in range(a)] for chunk in problem.data]
    pulled = [problem.blocks(within(problem.total, *span[j]), *span[j], b) for j in range(a)]
    if options.get("stream"):
        return streamed(problem, a, options["stream"], b), [problem.total] * p
    rounds = problem.fan(a, True, lambda r, j: pushed[r][j])
    for j in range(a):
        problem.owner_sums(("server", j), within(problem.total, *span[j]), *span[j])
    return rounds + problem.fan(a, False, lambda r, j: pulled[j]), [problem.total] * p


def streamed(problem, a, pieces, b):
    """Piece k of every range is pushed; then, while the next is, its sums come back: none of their rounds waits anew."""
    p, rounds, before = problem.p, [], []
    for k in range(pieces + 1):
        span = [problem.even(a * pieces, j * pieces + k) for j in range(a)]
        if k < pieces:
            pushed = [[problem.blocks(within(chunk, *span[j]), *span[j], b) for j in range(a)] for chunk in problem.data]
            rounds += problem.fan(a, True, lambda r, j: pushed[r][j])
            came = problem.pushed
        if before:
            back = problem.fan(a, False, lambda r, j: before[j])
            rounds += back if k == pieces else [(False, messages) for _, messages in back]
        if k < pieces:
            problem.pushed = came
            for j in range(a):
                problem.owner_sums(("server", j), within(problem.total, *span[j]), *span[j])
            before = [problem.blocks(within(problem.total, *span[j]), *span[j], b) for j in range(a)]
    return rounds


def zen(problem, options):
    """zen: Balanced Parallelism and its variants."""
    form, balance = options.get("format", "hash-bitmap"), options.get("balance", "hash")
    boundaries = None
    if balance == "sorted":
        refresh = options.get("refresh", 1000)
        if problem.state.setdefault("age", 0) % refresh == 0:
            union, p = sorted(problem.total), problem.p
            problem.state["cuts"] = ([problem.low] + [union[j * len(union) // p] for j in range(1, p)] + [problem.high]
                                     if union else None)
        problem.state["age"] += 1
        boundaries = problem.state["cuts"]
    parts = Parts(problem, "hash" if balance == "hash" else "ranges", options.get("seed", 1), boundaries)
    push, pull = (parts.encoder(one, options.get("block", 256)) for one in ("block" if form == "block" else "coo", form))
    if options.get("plan") == "auto":
        watch(problem, sum(pull(parts.cut(problem.total, j), j) for j in range(problem.p)))
    return push_pull(problem, parts, push, pull)


def watch(problem, pulled):
    """zen, `plan: auto`: what Eq. 1 moves, its sums as they are pulled, and what Eq. 2 does, with gamma(1) = 1."""
    p, data = problem.p, problem.data
    nnz = mean([problem.coo(one) for one in data])
    doubling = sum(problem.coo(set().union(*data[:2**i])) for i in range(1, (p - 1).bit_length()))
    problem.state["moved"] = [a + b for a, b in zip(problem.state.get("moved", (0, 0)),
                                                     ((p - 1) / p * (nnz + pulled), nnz + doubling if p > 1 else 0))]


def design(problem, options):
    """ZEN's design space: design:C/A/P/B/F."""
    point = options["name"].removeprefix("design:").split("/")
    pattern, aggregation, partition, form = point[0], point[1], point[2], point[-1]
    p, b = problem.p, options.get("block", 256)
    once = aggregation == "one-shot"
    if partition == "central":
        return central(problem, pattern, once, lambda chunk: {
            "coo": lambda: problem.coo(chunk), "bitmap": lambda: problem.maps(chunk, problem.high - problem.low),
            "block": lambda: problem.blocks(chunk, problem.low, problem.high, b)}[form]())
    parts = Parts(problem, "hash" if point[3] == "balanced" else "even")
    push, pull = parts.encoder("block" if form == "block" else "coo", b), parts.encoder(form, b)
    if pattern == "p2p":
        return push_pull(problem, parts, push, pull)
    # bags[r][j]: the tensors of part j that r holds, one (the running sum) if aggregation is incremental
    bags = [[[parts.cut(problem.data[r], j)] for j in range(p)] for r in range(p)]
    weigh = lambda bag, j: sum(push(chunk, j) for chunk in bag)
    merge = (lambda a, c: a + c) if once else (lambda a, c: [add(*a, *c)])
    rounds = []
    if pattern == "ring":
        for s in range(1, p):
            moved = [((r - s) % p, bags[r][(r - s) % p]) for r in range(p)]
            rounds += problem.sends([(rank(r), rank((r + 1) % p), weigh(bag, j)) for r, (j, bag) in enumerate(moved)])
            came = problem.memory.take(rounds[-1:])
            for r, (j, bag) in enumerate(moved):
                bags[(r + 1) % p][j] = merge(bag, bags[(r + 1) % p][j])
            passed(problem, [(r, (r + 1) % p, {j: bag}) for r, (j, bag) in enumerate(moved)], bags, parts, weigh, came, once)
    else:
        rounds += halving(problem, bags, weigh, merge, parts, once)
    summed = [add(*bags[j][j]) for j in range(p)]
    for r in range(p):
        if len(bags[r][r]) > 1:
            problem.memory.renew(rank(r), r, problem.listed(summed[r], *parts.span(r)))
    return rounds + problem.gather([pull(summed[r], r) for r in range(p)], direct), [add(*summed)] * p


def passed(problem, sent, bags, parts, weigh, came, once):
    """After a round of bags, as (from, to, {part: bag}): what came is in a bag, or a list of its sum; what went is gone."""
    memory = problem.memory
    for _, to, bag_of in sent:
        for j, bag in bag_of.items():
            memory.lists[rank(to), j] = memory.lists.get((rank(to), j), 0) + weigh(bag, j)
            if not once:
                memory.renew(rank(to), j, problem.listed(bags[to][j][0], *parts.span(j)))
    for r, _, bag_of in sent:
        for j in bag_of:
            memory.now[rank(r)] -= memory.lists.pop((rank(r), j), 0)


def halving(problem, bags, weigh, merge, parts, once):
    """Sparse recursive halving of P parts on any P: the odd rank of a folded pair stands for both its parts."""
    p = problem.p
    fold, rounds = Fold(p), []
    owns = [[2 * i, 2 * i + 1] if i < fold.pairs else [r] for i, r in enumerate(fold.ranks)]
    if fold.pairs:
        rounds += problem.sends(fold.inwards(lambda even: sum(weigh(bags[even][j], j) for j in range(p)))[0][1])
        came, sent = problem.memory.take(rounds[-1:]), [(2 * i, 2 * i + 1, dict(enumerate(bags[2 * i]))) for i in range(fold.pairs)]
        for i in range(fold.pairs):
            bags[2 * i + 1] = [merge(bags[2 * i][j], bags[2 * i + 1][j]) for j in range(p)]
        passed(problem, sent, bags, parts, weigh, came, once)
    for t in range(fold.levels):
        bit, sent = fold.positions >> t + 1, []
        for i, r in enumerate(fold.ranks):
            low = (i ^ bit) // bit * bit
            away = [j for position in range(low, low + bit) for j in owns[position]]
            sent.append((r, fold.ranks[i ^ bit], {j: bags[r][j] for j in away}))
        rounds += problem.sends([(rank(r), rank(to), sum(weigh(bag, j) for j, bag in bag_of.items())) for r, to, bag_of in sent])
        came = problem.memory.take(rounds[-1:])
        for r, to, bag_of in sent:
            for j, bag in bag_of.items():
                bags[to][j] = merge(bag, bags[to][j])
        passed(problem, sent, bags, parts, weigh, came, once)
    if fold.pairs:
        for i in range(fold.pairs):
            folded, even = bags[2 * i + 1][2 * i], 2 * i
            bags[even][even] = [add(*folded)]
            if len(folded) > 1:
                problem.memory.renew(rank(even + 1), even, problem.listed(bags[even][even][0], *parts.span(even)))
        rounds += problem.sends(fold.outwards(lambda even: weigh(bags[even][even], even))[0][1])
        problem.memory.take(rounds[-1:])
    return rounds


def central(problem, pattern, once, size):
    """Every rank receives everything."""
    p, data = problem.p, problem.data
    own = [size(chunk) for chunk in data]
    if pattern == "p2p":
        return problem.gather(own, direct), [problem.total] * p
    if pattern == "hierarchy":
        if once:
            return problem.gather(own, doubling_gather), [problem.total] * p
        return running_doubling(problem, size)
    if once:
        return problem.gather(own, ring_gather), [problem.total] * p
    rounds, carried = [], list(data)
    for s in range(1, p):
        rounds += problem.sends([(rank(r), rank((r + 1) % p), size(carried[r])) for r in range(p)])
        came = problem.memory.take(rounds[-1:])
        carried = [add(data[r], carried[(r - 1) % p]) for r in range(p)]
        for r in range(p):
            problem.memory.renew(rank(r), "sum", problem.listed(carried[r]))
        problem.memory.drop(came)
    return rounds, carried


class StepOf:
    """A problem as allreduce, allgather and ps see it."""

    def __init__(self, problem):
        self.p, self.rows, self.width, self.value = problem.p, problem.high - problem.low, problem.w, problem.v
        self.ids = [sorted(i - problem.low for i in chunk) for chunk in problem.data]
        self.nnz = [len(ids) for ids in self.ids]
        self.union = sorted(i - problem.low for i in problem.total)
        self.row_bytes = self.width * self.value

    def within(self, ids, parts, j):
        low, high = share(self.rows, parts, j), share(self.rows, parts, j + 1)
        return sum(low <= i < high for i in ids)

    def dense_parts(self, parts):
        return [n * self.row_bytes for n in shares(self.rows, parts)]


def allreduce_rounds(problem, step, options):
    if options.get("algorithm") == "tree":
        rounds = binomial(step.rows * step.row_bytes, step.p)
        problem.memory.add_in_place(rounds[:len(rounds) // 2])
        return rounds
    if options.get("algorithm") == "rabenseifner":
        rounds, fold = rabenseifner(step.rows, step.row_bytes, step.p), Fold(step.p)
        folds = bool(fold.pairs)
        problem.memory.add_in_place(rounds[:folds] + rounds[2 * folds:2 * folds + fold.levels])
        return rounds
    def ring(i, n, ranks):
        part = step.dense_parts(n * step.p)[i * step.p:(i + 1) * step.p]
        return ring_reduce_scatter(part) + ring_gather(part)
    n = len(problem.rings)
    problem.memory.add_in_place(*(placed(ring(i, n, ranks)[:step.p - 1], ranks) for i, ranks in enumerate(problem.rings)))
    return problem.side_by_side(ring)


def allgather_rounds(problem, step, options, entries, ranks):
    block = {"ring": ring_gather, "bruck": bruck, "recursive-doubling": doubling_gather, "direct": direct}[options.get("algorithm", "ring")]
    if options.get("separate"):
        return (problem.gather([4 * n for n in entries], block, ranks=ranks) +
                problem.gather([step.row_bytes * n for n in entries], block, ranks=ranks))
    return problem.gather([(step.row_bytes + 4) * n for n in entries], block, ranks=ranks)


def ps_rounds(problem, step, options):
    p, entry = step.p, step.row_bytes + 4
    s = p if options.get("colocated") else options.get("servers", problem.nodes)
    if options.get("dense"):
        part, memory = step.dense_parts(s), problem.memory
        memory.drop(memory.take(servers(p, s, True, lambda r, j: part[j])))
        return servers(p, s, True, lambda r, j: part[j]) + servers(p, s, False, lambda r, j: part[j])
    pushed = [[step.within(ids, s, j) * entry for j in range(s)] for ids in step.ids]
    summed = [step.within(step.union, s, j) * entry for j in range(s)]
    rows = options.get("pull") == "rows"
    colocated = options.get("colocated")
    rounds = problem.exchange(lambda r, to: pushed[r][to]) if colocated else problem.fan(s, True, lambda r, j: pushed[r][j])
    for j in range(s):
        who = rank(j) if colocated else ("server", j)
        if rows:
            problem.memory.now[who] -= problem.pushed[who]
        else:
            problem.owner_sums(who, within(problem.total, *problem.even(s, j)), *problem.even(s, j))
    if colocated:
        return rounds + problem.gather(summed, direct)
    return rounds + problem.fan(s, False, lambda r, j: pushed[r][j] if rows else summed[j])


def first_three(problem, options):
    """allreduce, allgather, ps (indices of 4 bytes)."""
    step, name = StepOf(problem), options["name"]
    assert problem.index_bytes == 4
    if name == "allreduce":
        return allreduce_rounds(problem, step, options), [problem.total] * problem.p
    if name == "allgather":
        def ring(i, n, ranks):
            entries = [share(step.nnz[r], n, i + 1) - share(step.nnz[r], n, i) for r in ranks]
            return allgather_rounds(problem, step, options, entries, ranks)
        if options.get("algorithm", "ring") != "ring":
            return ring(0, 1, range(problem.p)), [problem.total] * problem.p
        return problem.side_by_side(ring), [problem.total] * problem.p
    return ps_rounds(problem, step, options), [problem.total] * problem.p


LOSSLESS = {"allreduce": first_three, "allgather": first_three, "ps": first_three, "sparcml-rd": sparcml_rd,
            "sparcml-split": sparcml_split, "sparcml-dsar": sparcml_dsar, "omnireduce": omnireduce, "zen": zen, "design": design}


def binomial_in_nodes(sizes, per_node, p):
    """Binomial reduce inside each node, all nodes at once; its reverse is the broadcast."""
    nodes = [range(first, min(first + per_node, p)) for first in range(0, p, per_node)]
    steps = []
    for t in range((min(per_node, p) - 1).bit_length()):
        steps.append([(rank(node[i]), rank(node[i - 2**t]), sizes) for node in nodes for i in range(len(node))
                      if i % 2**(t + 1) == 2**t])
    return steps


def lossless(make, data, rows, scheme, cluster, states):
    """Any lossless scheme, under a hierarchy or none. make(data, low, high, state, nodes) is a problem. Returns rounds, and
    memory."""
    p, g = len(data), cluster.per_node
    function = LOSSLESS[scheme["name"].split(":")[0]]
    state = lambda key: states.setdefault(key, {})
    total = add(*data)
    hierarchy = scheme.get("hierarchy", "none") if g > 1 else "none"
    dense = scheme["name"] == "allreduce" or scheme.get("dense")
    problem = make(data, 0, rows, state(0), cluster.nodes(p))
    memory = problem.memory
    for r in range(p):
        memory.hold(rank(r), problem.dense(0, rows) if dense or hierarchy in ("shard", "leader") else problem.coo(data[r]))

    def among(members, inner, first_server):
        """What those that play among nodes hold: the lists of what they start from (which owners have), and more."""
        for k, r in enumerate(members):
            own, peak = 0 if dense or hierarchy == "sparse-shard" else inner.listed(inner.data[k]), inner.memory.peak.get(rank(k), 0)
            memory.hold(rank(r), own + peak)
            memory.now[rank(r)] -= peak - inner.memory.now[rank(k)]
        for (kind, j), peak in inner.memory.peak.items():
            if kind == "server":
                memory.hold(("server", first_server + j), peak)

    if p == 1:
        return [], memory
    if hierarchy == "none":
        problem.rings = cluster.rings(p)
        rounds, results = function(problem, scheme)
        assert all(result == total for result in results), f"{scheme}: not the sum"
        return rounds, memory
    if hierarchy == "leader":
        nodes = [range(first, min(first + g, p)) for first in range(0, p, g)]
        whole = make(data, 0, rows, {}, 1).dense(0, rows)
        steps = binomial_in_nodes(whole, g, p)
        rounds = [(True, step) for step in steps]
        memory.add_in_place(rounds)
        summed = [add(*(data[r] for r in node)) for node in nodes]
        if len(nodes) > 1:
            problem = make(summed, 0, rows, state(0), len(nodes))
            inner, results = function(problem, scheme)
            among([node[0] for node in nodes], problem, 0)
            assert all(result == total for result in results), f"{scheme}: not the sum"
            rounds += placed(inner, [node[0] for node in nodes])
        return rounds + [(True, sorted((b, a, size) for a, b, size in step)) for step in reversed(steps)], memory
    g = min(g, p)
    assert p % g == 0
    nodes = p // g
    part = [n * make(data, 0, 1, {}, 1).dense(0, 1) for n in shares(rows, g)]
    inside = lambda block: together([placed(block(part), range(node * g, node * g + g)) for node in range(nodes)])
    lists = lambda play: together([placed(play(make(data[node * g:node * g + g], 0, rows, {}, 1), node * g), range(node * g, node * g + g))
                                   for node in range(nodes)])

    def push(node, first):
        """What each has of the others' shards, who add it up."""
        rounds = node.exchange(lambda r, to: node.coo(within(node.data[r], *node.even(g, to))))
        for j in range(g):
            came = node.pushed.get(rank(j), 0)
            memory.hold(rank(first + j), came)
            memory.hold(rank(first + j), node.listed(within(node.total, *node.even(g, j)), *node.even(g, j)))
            memory.now[rank(first + j)] -= came
        return rounds

    def pull(node, first):
        rounds = node.gather([node.coo(within(total, *node.even(g, j))) for j in range(g)], direct)
        for j in range(g):
            memory.hold(rank(first + j), node.memory.now[rank(j)])
        return rounds
    rounds = lists(push) if hierarchy == "sparse-shard" else inside(ring_reduce_scatter)
    if hierarchy == "shard":
        memory.add_in_place(rounds)
    groups = []
    for i in range(g):
        low, high = share(rows, g, i), share(rows, g, i + 1)
        shards = [within(add(*data[node * g:node * g + g]), low, high) for node in range(nodes)]
        if nodes > 1:
            problem = make(shards, low, high, state(i), nodes)
            inner, results = function(problem, scheme)
            assert all(result == within(total, low, high) for result in results), f"{scheme}: not the sum"
            s = scheme.get("servers") or scheme.get("aggregators") or nodes
            groups.append(placed(inner, [node * g + i for node in range(nodes)], i * s))
            among([node * g + i for node in range(nodes)], problem, i * s)
    return rounds + together(groups) + (lists(pull) if hierarchy == "sparse-shard" else inside(ring_gather)), memory


# --- schemes of values: (problem, options) -> rounds, result, residuals -----------------------------------------------------
# problem.data[r] is gradient + old residual, dense, of element -> units.


def topka(problem, options):
    """topka: recursive-doubling all-gather of local top-k."""
    k = subset_count(options, problem.high)
    chosen = problem.choose([top(chunk, k) for chunk in problem.data])
    rounds = problem.gather([problem.coo(chunk) for chunk in chosen], doubling_gather) if problem.p > 1 else []
    return rounds, add(*chosen), [less(chunk, taken) for chunk, taken in zip(problem.data, chosen)]


def inner_of(problem, chosen):
    return Problem(chosen, 0, problem.high, 1, problem.v, problem.index_bytes, problem.exchanged, {}, 0, 1)


def folded(problem, chosen, play):
    """Pairs beyond a power of two sum what they chose at the odd rank, which plays on; the even one gets the result: play(core) -> rounds,
    result."""
    fold, memory = Fold(problem.p), problem.memory
    rounds = problem.sends(fold.inwards(lambda even: problem.coo(chosen[even]))[0][1])
    came, held = memory.take(rounds[-1:]), list(chosen)
    for i in range(fold.pairs):
        held[2 * i + 1] = add(chosen[2 * i], chosen[2 * i + 1])
        memory.renew(rank(2 * i + 1), "sum", problem.listed(held[2 * i + 1]))
    memory.drop(came)
    core = inner_of(problem, [held[r] for r in fold.ranks])
    inner, result = play(core)
    for p, r in enumerate(fold.ranks):
        peak = core.memory.peak.get(rank(p), 0)
        memory.hold(rank(r), peak)
        memory.now[rank(r)] -= peak - core.memory.now[rank(p)]
    rounds += placed(inner, fold.ranks)
    rounds += problem.sends(fold.outwards(lambda even: problem.coo({i: v for i, v in result.items() if v}))[0][1])
    memory.take(rounds[-1:])
    return rounds, result


def folds(problem, options):
    return bool(options.get("folds")) and problem.p & problem.p - 1 != 0


def topkdsa(problem, options):
    """topkdsa: sparcml-dsar of local top-k."""
    k = subset_count(options, problem.high)
    chosen = problem.choose([top(chunk, k) for chunk in problem.data])
    if folds(problem, options):
        rounds, _ = folded(problem, chosen, lambda core: (sparcml_dsar(core, {})[0], core.total))
    else:
        inner = inner_of(problem, chosen)
        inner.memory = problem.memory
        rounds = sparcml_dsar(inner, {})[0] if problem.p > 1 else []
    return rounds, add(*chosen), [less(chunk, taken) for chunk, taken in zip(problem.data, chosen)]


def cleared(problem, chosen, result):
    """Residuals cleared only at own selected ∩ final."""
    return [{i: value for i, value in chunk.items() if not (i in taken and i in result)}
            for chunk, taken in zip(problem.data, chosen)]


def gtopk(problem, options):
    """gtopk: binomial tree, the receiver sums and re-selects k; broadcast."""
    p, k = problem.p, subset_count(options, problem.high)
    assert p & p - 1 == 0
    chosen = problem.choose([top(chunk, k) for chunk in problem.data])
    held, rounds, memory = list(chosen), [], problem.memory
    levels = (p - 1).bit_length()
    for t in range(levels):
        senders = [r for r in range(p) if r % 2**(t + 1) == 2**t]
        rounds += problem.sends([(rank(r), rank(r - 2**t), problem.coo(held[r])) for r in senders])
        came = memory.take(rounds[-1:])
        for r in senders:
            to, total = r - 2**t, add(held[r - 2**t], held[r])
            held[to] = top(total, k)
            memory.hold(rank(to), problem.listed(total))
            memory.renew(rank(to), "selected", problem.listed(held[to]))
            memory.now[rank(to)] -= problem.listed(total)
        memory.drop(came)
    rounds += problem.announce() if p > 1 else []
    for t in reversed(range(levels)):
        rounds.append((True, [(rank(r - 2**t), rank(r), problem.coo(held[0])) for r in range(p) if r % 2**(t + 1) == 2**t]))
        memory.take(rounds[-1:])
    return rounds, held[0], cleared(problem, chosen, held[0])


def split_units(units, g, team, lowest):
    """Of a sum that g ranks drop, each keeps floor(units/g), the lowest team the rest."""
    return units - (g - 1) * (units // g) if team == lowest else units // g


def spardl(problem, options):
    """SparDL (docs/model.md)."""
    p, n, k = problem.p, problem.high, subset_count(options, problem.high)
    d = options.get("teams", 1)
    assert p % d == 0
    q = p // d
    span = [(share(n, q, b), share(n, q, b + 1)) for b in range(q)]
    quota = shares(k, q)
    after_sum = options.get("timing", "before-send") == "after-sum"
    xi = [{} for _ in range(p)]
    held = [{b: within(problem.data[r], *span[b]) for b in range(q)} for r in range(p)]

    memory = problem.memory
    listed = lambda r, b: memory.renew(rank(r), b, problem.listed(held[r][b], *span[b]))

    def drop(r, chunk, taken, b):
        memory.hold(rank(r), problem.listed(less(chunk, taken), *span[b]))
        for i, value in less(chunk, taken).items():
            xi[r][i] = xi[r].get(i, 0) + value

    def select(r, b, count):
        taken = top(held[r][b], count)
        drop(r, held[r][b], taken, b)
        held[r][b] = taken
        listed(r, b)

    teams = [range(t * q, t * q + q) for t in range(d)]
    positions = [range(w, p, q) for w in range(q)]
    rounds = []
    if after_sum:
        for r in range(p):
            for b in range(q):
                select(r, b, quota[b])
    levels = (q - 1).bit_length()
    for i in range(1, levels + 1):
        reach = 2**(levels - i)
        count = q - reach if i == 1 else reach
        messages = []
        for team in teams:
            for w in range(q):
                bag = [(w + reach + j) % q for j in range(count)]
                if not after_sum:
                    for b in bag:
                        select(team[w], b, quota[b])
                messages.append((team[w], team[(w + reach) % q], {b: held[team[w]].pop(b) for b in bag}))
        rounds += problem.sends([(rank(a), rank(to), sum(problem.coo(chunk) for chunk in bag.values())) for a, to, bag in messages])
        came = memory.take(rounds[-1:])
        for _, to, bag in messages:
            for b, chunk in bag.items():
                held[to][b] = add(held[to][b], chunk)
                listed(to, b)
                if after_sum:
                    select(to, b, quota[b])
        memory.drop(came)
        for a, _, bag in messages:
            for b in bag:
                memory.now[rank(a)] -= memory.lists.pop((rank(a), b), 0)
    if not after_sum:
        for r in range(p):
            select(r, r % q, quota[r % q])
    assert all(list(held[r]) == [r % q] for r in range(p))
    if d > 1:
        rounds += spar_all_gather(problem, options, k, d, q, quota, held, drop, xi, positions, listed, span)
    if q > 1:
        rounds += together([placed(problem.gather([problem.coo(held[r][r % q]) for r in team], bruck, ranks=team), team) for team in teams])
    for w in range(q):
        assert all(held[r][w] == held[w][w] for r in positions[w])
    result = add(*(held[w][w] for w in range(q)))
    mode = options.get("residuals", "global")
    residuals = []
    for r in range(p):
        copy = problem.data[r]
        if mode == "local":
            own = set().union(*(top(within(copy, *span[b]), quota[b]) for b in range(q)))
            residuals.append(less(copy, own))
        else:
            residuals.append({**less(copy, result), **({i: xi[r][i] for i in result if i in xi[r]} if mode == "global" else {})})
    return rounds, result, residuals


def spar_all_gather(problem, options, k, d, q, quota, held, drop, xi, positions, listed, span):
    """Spar-All-Gather and Algorithm 2."""
    p, kind = problem.p, options.get("sag", "auto")
    if kind == "auto":
        kind = "bruck" if d & d - 1 else "recursive"
    rounds = []

    def settle(groups, w, total, g):
        """Members of a group hold the same sum: select, and share what is dropped."""
        taken = top(total, quota[w])
        for group in groups:
            held[group * q + w][w] = total
            listed(group * q + w, w)
            # a share of what is dropped is as long as all of it
            problem.memory.hold(rank(group * q + w), problem.listed(less(total, taken), *span[w]))
            for i, value in less(total, taken).items():
                part = split_units(value, g, group, groups[0])
                xi[group * q + w][i] = xi[group * q + w].get(i, 0) + part
            held[group * q + w][w] = taken
            listed(group * q + w, w)

    if kind == "recursive":
        assert d & d - 1 == 0
        for t in range(d.bit_length() - 1):
            rounds += problem.sends([(rank(r), rank((x ^ 2**t) * q + w), problem.coo(held[r][w]))
                                     for w, group in enumerate(positions) for x, r in enumerate(group)])
            came = problem.memory.take(rounds[-1:])
            for w in range(q):
                for first in range(0, d, 2**(t + 1)):
                    a, b = held[first * q + w][w], held[(first + 2**t) * q + w][w]
                    settle(range(first, first + 2**(t + 1)), w, add(a, b), 2**(t + 1))
            problem.memory.drop(came)
        return rounds
    sizes = []
    for w in range(q):
        control = problem.state.setdefault(w, {"h": Fraction(k, p), "step": Fraction(k * (d - 1), 100 * p), "flag": False})
        for r in positions[w]:
            taken = top(held[r][w], math.floor(control["h"]))
            drop(r, held[r][w], taken, w)
            held[r][w] = taken
            listed(r, w)
        sizes.append([problem.coo(held[r][w]) for r in positions[w]])
        rounds.append(problem.gather(sizes[w], bruck, ranks=positions[w]))
        total = add(*(held[r][w] for r in positions[w]))
        settle(range(d), w, total, d)
        longest = max(sizes[w]) if problem.exchanged.ragged == "padded" else None
        for r, own in zip(positions[w], sizes[w]):
            problem.memory.now[rank(r)] -= longest * (d - 1) if longest else sum(sizes[w]) - own
        adapt(control, len(total), quota[w], k, p, d)
    return together([placed(one, positions[w]) for w, one in enumerate(rounds)])


def adapt(control, distinct, limit, k, p, d):
    """Algorithm 2 as docs/model.md mends it."""
    if (distinct > limit) != (control["step"] > 0):
        if control["flag"]:
            control["step"], control["flag"] = 2 * control["step"], False
        else:
            control["flag"] = True
    else:
        control["step"] = -control["step"] / 2 if abs(control["step"]) >= 1 else -control["step"]
        control["flag"] = False
    bound = Fraction(k * (d - 1), p)
    control["step"] = min(max(control["step"], -bound), bound)
    control["h"] = min(max(control["h"] + control["step"], Fraction(k, p)), Fraction(d * k, p))


def oktopk(problem, options):
    """Ok-Topk (docs/model.md)."""
    p, n, k = problem.p, problem.high, subset_count(options, problem.high)
    state, reused = problem.state, options.get("thresholds", "exact") == "reused"
    age = state.setdefault("age", 0)
    state["age"] += 1
    fresh = age % 32 == 0
    passing = lambda chunk, threshold: {i: value for i, value in chunk.items() if value and abs(value) >= threshold}
    smallest = lambda chunk: min((abs(value) for value in chunk.values()), default=0)
    chosen = []
    for r in range(p):
        if not reused or fresh:
            chosen.append(top(problem.data[r], k))
            state["local", r] = float(smallest(chosen[r]))
            continue
        threshold = state["local", r]
        for _ in range(5):
            if 3 * len(passing(problem.data[r], threshold)) <= 4 * k:
                break
            threshold *= 1.03
        chosen.append(passing(problem.data[r], threshold))
        if 4 * len(chosen[r]) > 5 * k:
            threshold *= 1.012
        elif 3 * len(chosen[r]) < 2 * k:
            threshold /= 1.012
        state["local", r] = threshold
    problem.choose(chosen)
    how = lambda core: oktopk_sum(core, state, k, age % 64 == 0, fresh, reused)
    if folds(problem, options):
        rounds, result = folded(problem, chosen, how)
    else:
        inner = inner_of(problem, chosen)
        inner.memory = problem.memory
        rounds, result = how(inner)
    return rounds, result, cleared(problem, chosen, result)


def oktopk_sum(problem, state, k, cuts_anew, fresh, reused):
    """The sums of what ranks chose, of folded pairs together, cut by a threshold."""
    p, n, chosen = problem.p, problem.high, problem.data
    passing = lambda chunk, threshold: {i: value for i, value in chunk.items() if value and abs(value) >= threshold}
    smallest = lambda chunk: min((abs(value) for value in chunk.values()), default=0)
    rounds = []
    if cuts_anew:
        cuts = []
        for j in range(1, p):
            own = [sorted(chunk)[j * len(chunk) // p] if chunk else j * n // p for chunk in chosen]
            cuts.append(sum(own) // p)
        state["cuts"] = [0] + cuts + [n]
        if p > 1:
            part = [8 * m for m in shares(p - 1, p)]
            rounds += ring_reduce_scatter(part) + ring_gather(part)
    cuts = state["cuts"]
    sent = [[within(chunk, cuts[j], cuts[j + 1]) for j in range(p)] for chunk in chosen]
    reduced = [add(*(sent[r][j] for r in range(p))) for j in range(p)]
    if p > 1:
        rounds += problem.exchange(lambda r, to: problem.coo(sent[r][to]))
    for j in range(p):
        problem.owner_sums(rank(j), reduced[j], cuts[j], cuts[j + 1])
    if not reused or fresh:
        result = top(add(*reduced), k)
        state["global"] = float(smallest(result))
    else:
        result = passing(add(*reduced), state["global"])
        if 3 * len(result) > 4 * k:
            state["global"] *= 1.008
        elif 3 * len(result) < 2 * k:
            state["global"] /= 1.008
    for j in range(p):
        if not fresh:
            problem.memory.hold(rank(j), problem.listed({i: 0 for i in reduced[j] if i in result}, cuts[j], cuts[j + 1]))
    if p > 1 and fresh:
        rounds += problem.gather([problem.coo(chunk) for chunk in reduced], bruck)
    elif p > 1:
        count = [sum(i in result for i in chunk) for chunk in reduced]
        rounds += bruck([8] * p)
        entry = problem.v + problem.index_bytes
        if max(count) > 4 * sum(count) / p:
            begin = [sum(count[:r]) for r in range(p + 1)]
            run = [share(sum(count), p, j) for j in range(p + 1)]
            overlap = lambda r, to: max(0, min(begin[r + 1], run[to + 1]) - max(begin[r], run[to]))
            rounds += problem.exchange(lambda r, to: overlap(r, to) * entry, counted=False)
            kept = sorted(i for i in result)
            for j in range(p):
                problem.owner_sums(rank(j), {i: 0 for i in kept[run[j]:run[j + 1]]})
            count = shares(sum(count), p)
        rounds += problem.gather([entry * m for m in count], bruck, counted=False)
    return rounds, result


VALUES = {"topka": topka, "topkdsa": topkdsa, "gtopk": gtopk, "spardl": spardl, "oktopk": oktopk}


def s2(problem, options, values, elements, trace_iteration):
    """S2 (docs/model.md). `values[r]`: element -> units. Returns rounds, the decoded elements and their true values."""
    p, r, w, rows = problem.p, options.get("hashes", 1), problem.w, problem.high - problem.low
    listed = lambda chunk: min(len(chunk) * (problem.v + problem.index_bytes), problem.dense(0, rows))
    gradients, feeds_back = values, options.get("residuals") == "sketch"
    data = problem.data
    if feeds_back:
        values = [add(one, kept) for one, kept in zip(values, problem.state.get("kept", [{}] * p))]
        data = [sorted({e // w for e in one}) for one in values]
    m = mean([len(chunk) * w for chunk in data]) if not feeds_back else mean([len(one) for one in values])
    before = problem.state.get("m", m)
    problem.state["m"] = m
    c = options.get("buckets") or max(1, math.ceil(ratio(options.get("lambda", 0.5)) * before / r))
    s = options.get("seed", 1) + 2 * r * trace_iteration
    bucket = lambda e, j: mulhi(hash64(e, (s + 2 * j) & M64), c)
    sign = lambda e, j: -1 if hash64(e, (s + 2 * j + 1) & M64) & 1 else 1
    sketch = [[0] * c for _ in range(r)]
    truth = add(*values)
    for e, value in truth.items():
        for j in range(r):
            sketch[j][bucket(e, j)] += sign(e, j) * value
    decoded = {}
    for row in problem.total if not feeds_back else sorted(set().union(*data)):
        for e in range(row * w, row * w + w):
            if e < elements:
                decoded[e] = statistics.median(sign(e, j) * sketch[j][bucket(e, j)] for j in range(r))
    bits, way, rounds = -(-rows // 8), options.get("bitmap", "bits"), []
    sketches, bitmaps = [a * problem.v for a in shares(r * c, p)], shares(rows if way == "bytes" else bits, p)
    for one in range(p):
        problem.memory.hold(rank(one), listed(gradients[one]) + (listed(values[one]) if feeds_back else 0) + sum(sketches) + sum(bitmaps))
    for part in {"bits": [[a + b for a, b in zip(sketches, bitmaps)]], "bytes": [sketches, bitmaps], "gathered": [sketches]}[way]:
        pushed = ring_reduce_scatter(part) if p > 1 else []
        problem.memory.add_in_place(pushed)
        rounds += pushed + (ring_gather(part) if p > 1 else [])
    if way == "gathered":
        rounds += ring_gather([bits] * p)
        for one in range(p):
            problem.memory.hold(rank(one), bits * (p - 1))
    if feeds_back:
        problem.state["kept"] = []
        for value in values:
            own = [0] * c
            for e, v in value.items():
                own[bucket(e, 0)] += sign(e, 0) * v
            rest = {e: value.get(e, 0) - sign(e, 0) * own[bucket(e, 0)] for e in decoded}
            problem.state["kept"].append({e: v for e, v in rest.items() if v})
    return rounds, decoded, {e: truth.get(e, 0) for e in decoded}


# --- a point -----------------------------------------------------------------------------------------------------------------


def square(chunk):
    return sum(value * value for value in chunk.values())


@functools.cache
def scrambled(r, i):
    return mix(r + 77, i) | 1


class Selection:
    """Selection: what each rank keeps of gradient + residual, and the tensor that it makes."""

    def __init__(self, select, n):
        self.select, self.n, self.keep = select, n, select.get("residual", True)
        self.blocks = "blocks" in select
        self.b = select.get("block", 256) if self.blocks else 1
        self.rows = -(-n // self.b)
        if self.blocks:
            self.k = max(1, math.floor(ratio(select["blocks"]) * self.rows + 0.5))
        else:
            self.k = select["k"] if "k" in select else max(1, math.floor(ratio(select["topk"]) * n + 0.5))

    def velocities(self, gradients, old):
        """DGC's u, which is added up in place of the gradient g: m u + g."""
        m = self.select.get("momentum", 0)
        return [add(g, {i: round(m * v) for i, v in u.items()}) for g, u in zip(gradients, old)]

    def rows_of(self, chunk, r=0, t=0):
        k, share = self.k, ratio(self.select.get("topk", 1))
        if t < self.select.get("warm_up", 0):
            k = max(1, math.floor(share ** ((t + 1) / (self.select["warm_up"] + 1)) * self.n + 0.5))
        if "sample" in self.select:
            stride = max(1, min(math.floor(1 / ratio(self.select["sample"]) + 0.5), self.n))
            start = mix(mix(1, r), t) % stride
            wanted = max(1, math.ceil(k / self.n * (self.n // stride)))
            sampled = top({i: v for i, v in chunk.items() if i % stride == start}, wanted)
            least = min((abs(chunk[i]) for i in sampled), default=1) if len(sampled) == wanted else 1
            chunk = {i: v for i, v in chunk.items() if abs(v) >= least}
        if not self.blocks:
            return sorted(top(chunk, k))
        norm = {}
        for i, value in chunk.items():
            norm[i // self.b] = norm.get(i // self.b, 0) + value * value
        return sorted(top(norm, self.k))


def expected(source, cluster, scheme, ranks, iterations, scenario):
    """The fields of a point of `sparsync run`."""
    scheme = {"name": scheme} if isinstance(scheme, str) else scheme
    option = lambda key, default: scheme.get(key, scenario.get(key, default))
    scheme = {**scheme, "hierarchy": option("hierarchy", "none")}
    index_bytes, exchanged = option("index_bytes", 4), Sizes(option("sizes", "free") == "exchanged", option("ragged", "v"))
    states, residuals, played = {}, [{} for _ in range(ranks)], []
    velocity = [{} for _ in range(ranks)]
    n = source.rows * source.width
    select = Selection(scenario["select"], n) if "select" in scenario else None
    for number, t in enumerate(iterations):
        if number == 5 and scheme["name"] == "zen" and scheme.get("plan") == "auto":
            balanced, doubling = states.get(0, {}).get("moved", (0, 0))  # of one rank nothing was played
            scheme = {**scheme, "name": "sparcml-rd"} if doubling < balanced else {**scheme, "plan": "zen"}
        acc = None
        if source.units(t, 0) is not None:
            fresh = [source.units(t, r) for r in range(ranks)]
            if select:
                fresh = velocity = select.velocities(fresh, velocity)
            acc = [add(fresh[r], residuals[r]) for r in range(ranks)]
        energy, error, beside = 1.0, (None, None), 0
        if scheme["name"] in VALUES:
            problem = Problem(acc, 0, n, 1, source.bytes, index_bytes, exchanged, states, t, 1)
            memory = problem.memory
            for r in range(ranks):
                memory.hold(rank(r), problem.listed(source.units(t, r)) + problem.listed(acc[r]))
            rounds, result, new = VALUES[scheme["name"]](problem, scheme)
            check_conservation(scheme, acc, result, new)
            whole = square(problem.total)
            residuals, energy = new, square(result) / whole if whole else 1.0
        else:
            rows, w = (select.rows, select.b) if select else (source.rows, source.width)
            values = acc
            ids = [select.rows_of(acc[r], r, number) if select else source.row_ids(t, r) for r in range(ranks)]
            if select:
                b = select.b
                beside = n * source.bytes * (1 + select.keep + ("momentum" in select.select))
                sets = [set(one) for one in ids]
                values = [{i: v for i, v in acc[r].items() if i // b in sets[r]} for r in range(ranks)]
                velocity = [{i: v for i, v in one.items() if i // b not in sets[r]} for r, one in enumerate(velocity)]
                if select.keep:
                    residuals = [{i: v for i, v in acc[r].items() if i // b not in sets[r]} for r in range(ranks)]
                whole = square(add(*acc))
                energy = square(add(*values)) / whole if whole else 1.0
            if option("granularity", "row") == "element":
                ids = [[i * w + column for i in one for column in range(w)] for one in ids]
                rows, w = rows * w, 1
            data = [{i: scrambled(r, i) for i in one} for r, one in enumerate(ids)]
            make = lambda data, low, high, state, nodes: Problem(data, low, high, w, source.bytes, index_bytes, exchanged,
                                                                 state, t, nodes)
            if scheme["name"] == "s2":
                problem = make(data, 0, rows, states, 1)
                memory = problem.memory
                acc = [add(one, kept) for one, kept in zip(acc, states.get("kept", [{}] * ranks))]  # errors that are fed back
                rounds, decoded, truth = s2(problem, scheme, values, n, t)
                off = {e: decoded[e] - truth[e] for e in decoded}
                whole = square(truth)
                error = (math.sqrt(square(off) / whole) if whole else 0.0,
                         sum(off.values()) / sum(map(abs, truth.values())) if whole else 0.0)
                energy = square(decoded) / square(add(*acc)) if square(add(*acc)) else 1.0
            else:
                (rounds, memory), error = lossless(make, data, rows, scheme, cluster, states), (0.0, 0.0)
        time, sent, received = play(cluster, ranks, rounds)
        played.append({
            "time_s": time, "messages": sum(len(messages) for _, messages in rounds),
            "bytes_total": sum(sent.values()), "bytes_sent_max": largest(sent, "rank"),
            "bytes_received_max": largest(received, "rank"),
            "server_bytes_max": max(largest(sent, "server"), largest(received, "server")),
            "peak_bytes": beside + largest(memory.peak, "rank"), "server_peak_bytes": largest(memory.peak, "server"),
            "energy": energy, "error_l2": error[0], "error_mean": error[1]})
    of_all = lambda key: max if "peak" in key else mean
    return {key: None if played[0][key] is None else of_all(key)([one[key] for one in played]) for key in played[0]}


def check_conservation(scheme, acc, result, residuals):
    """docs/model.md's invariant, bitwise, wherever it is promised."""
    if scheme["name"] in ("topka", "topkdsa") or scheme["name"] == "spardl" and scheme.get("residuals", "global") == "global":
        before, after = add(*acc), add(result, *residuals)
        wrong = [i for i in before.keys() | after.keys() if before.get(i, 0) != after.get(i, 0)]
        assert not wrong, f"{scheme}: mass lost at {wrong[:3]}"
# SPDX-License-Identifier: Apache-2.0
