"""A second implementation of docs/training.md's timelines: slow, and in another shape than src/train.

It takes a workload and a system as JSON, how long each task lasts (from the program's own output: schemes are checked
elsewhere), and plays instant by instant: whatever can happen now happens, until nothing can; then the channel chooses;
then the clock moves to the next end. Nothing here was translated from the program."""
import math
import statistics

from hashes import mix

INFINITY = math.inf


def jitter(seed, sigma, iteration, rank):
    if sigma == 0:
        return 1.0
    u = ((mix(mix(seed, iteration), rank) >> 11) + 0.5) / 2**53
    return math.exp(sigma * statistics.NormalDist().inv_cdf(u) - sigma * sigma / 2)


def forward_order(modules, tables_first):
    """Topological, ties by list place; or the tables first."""
    left = list(modules)
    order = [m for m in left if tables_first and m["kind"] == "embedding"]
    left = [m for m in left if m not in order]
    while left:
        done = {m["name"] for m in order}
        ready = next(m for m in left if all(name in done for name in m.get("after", [])))
        order.append(ready)
        left.remove(ready)
    return [m["name"] for m in order]


class Task:
    def __init__(self, kind, modules, part=0, parts=1):
        self.kind, self.modules, self.part, self.parts = kind, modules, part, parts
        self.needs = None  # modules whose gradients must be there first; None: its own

    def key(self):
        return self.kind, tuple(self.modules), self.part


def sends_dense(scheme):
    scheme = scheme if isinstance(scheme, dict) else {"name": scheme}
    return scheme["name"] == "allreduce" or bool(scheme.get("dense"))


def has_two_exchanges(scheme):
    return (scheme["name"] if isinstance(scheme, dict) else scheme) in ("alltoall", "replicas")


def size(module, element):
    if module["kind"] == "embedding":
        return module["rows"] * module["row_width"] * element
    return module.get("bytes", 0)


def list_tasks(workload, system, ranks):
    """The gradient tasks of an iteration, and the lookup exchanges."""
    element = {"F32": 4, "F16": 2, "BF16": 2}[workload.get("dtype", "F32")]
    backward = list(reversed(workload["modules"]))
    dense_tables = sends_dense(system["sparse"])
    if ranks == 1:
        return [], []
    gradients, fused, named, closed = [], {}, set(), set()
    lists = system["bucket"] if isinstance(system.get("bucket"), list) else []
    for names in lists:
        named |= set(names)
        gradients.append(Task("gradient", [m["name"] for m in backward if m["name"] in names]))
        gradients[-1].needs = set(named)
    for m in backward:
        table = m["kind"] == "embedding"
        bytes_ = size(m, element)
        if bytes_ == 0 or m["name"] in named:
            continue
        if table and not dense_tables:
            kinds = ["prior", "delayed"] if system["schedule"] == "2d" else ["gradient"]
            gradients += [Task(kind, [m["name"]]) for kind in kinds]
        elif system.get("bucket") and not lists:
            group = "one" if not table or system["sparse"] == system["dense"] else "tables"
            held = fused.setdefault(group, [[], 0])
            held[0].append(m["name"])
            held[1] += bytes_
            if held[1] >= (system["bucket"] if group in closed else system.get("first_bucket", system["bucket"])):
                gradients.append(Task("gradient", fused.pop(group)[0]))
                closed.add(group)
        else:
            partition = system.get("partition", 0)
            parts = min(math.ceil(bytes_ / partition), bytes_ // element) if partition else 1
            gradients += [Task("gradient", [m["name"]], j, parts) for j in range(parts)]
    gradients += [Task("gradient", held[0]) for held in fused.values()]
    tables = [m["name"] for m in workload["modules"] if m["kind"] == "embedding"]
    lookups = [Task("lookups", [name]) for name in tables] if has_two_exchanges(system["sparse"]) else []
    return gradients, lookups


def part_of(total, part, parts):
    return (part + 1) * total // parts - part * total // parts


def play(workload, system, ranks, durations, splits, iterations, compute=1.0, sigma=0.0, seed=1, micro_batches=1):
    """`durations`: {task key: [seconds by iteration modulo length]}; `splits`: [seconds]. Returns ends of iterations, and
    intervals: of computing by rank, and of the channel."""
    modules = {m["name"]: m for m in workload["modules"]}
    names = [m["name"] for m in workload["modules"]]
    schedule = system["schedule"]
    order = forward_order(workload["modules"], schedule in ("horizontal", "2d"))
    place = {name: i for i, name in enumerate(order)}
    gradients, lookups = list_tasks(workload, system, ranks)
    consumers = {t.modules[0]: [n for n in names if t.modules[0] in modules[n].get("after", [])] for t in lookups}
    two_d = schedule == "2d" and ranks > 1 and any(m["kind"] == "embedding" for m in modules.values())
    streams = ranks if sigma else 1

    program = []  # of every rank, every iteration: (what, module)
    program += [("backward", n) for n in reversed(names)]
    program += [("split", None)] if two_d else []
    program += [("forward", n) for n in order]
    program += ([("further backward", n) for n in reversed(names)] + [("further forward", n) for n in order]) * (micro_batches - 1)

    software, element = system.get("software", {}), {"F32": 4, "F16": 2, "BF16": 2}[workload.get("dtype", "F32")]
    cycle, slower = software.get("cycle", 0), 1 + system.get("interference", 0)
    ticks, playing = 0, False  # ticks: multiples of the cycle up to now

    def copy_of(task):
        """Seconds in which a dense task is filled, or emptied."""
        if "copy" not in software or task.kind != "gradient":
            return 0.0
        if modules[task.modules[0]]["kind"] == "embedding" and not sends_dense(system["sparse"]):
            return 0.0
        elements = sum(size(modules[name], element) // element for name in task.modules)
        return part_of(elements, task.part, task.parts) * element / software["copy"]

    def step_of(what, name):
        """What comes before a forward pass."""
        if what != "forward":
            return 0.0
        taken = compute * float(modules[name].get("optimizer_s", 0))
        return taken + software.get("step", 0) / len(names) + software.get("step_per_byte", 0) * modules[name].get("bytes", 0)

    finished = {}  # (task key, iteration) -> time
    waiting = []  # [task, iteration, number, moved]
    made_by = {}  # (task key, iteration) -> ranks
    counter = 0
    position = [[0, 0, None, -INFINITY, 0.0] for _ in range(streams)]  # iteration, place, end of what runs, since, own seconds
    ends = [0.0] * iterations
    through = [0] * iterations
    on_channel = None
    computing, carried = [[] for _ in range(streams)], []
    now = 0.0

    def seconds(task, iteration):
        series = durations[task.key()]
        return series[iteration % len(series)]

    def gate(what, name, t):
        """Is everything there that the operation of iteration t waits for?"""
        if what == "backward":
            first = name == names[-1]
            return not first or t == 0 or all((x.key(), t) in finished for x in lookups if not consumers[x.modules[0]])
        if what not in ("backward", "forward"):
            return True
        if schedule == "fifo" and not all((x.key(), t) in finished for x in gradients):
            return False
        mine = [x for x in gradients if name in x.modules and x.kind != "delayed"]
        fed = [x for x in lookups if name in consumers[x.modules[0]]]
        return all((x.key(), t) in finished for x in mine) and all((x.key(), t + 1) in finished for x in fed)

    def makes(what, name):
        if what == "backward":
            there = set(names[names.index(name):])
            return [x for x in gradients if x.kind == "gradient"
                    and (x.modules[-1] == name if x.needs is None else name in x.needs and x.needs <= there)]
        if what == "split":
            return [x for x in gradients if x.kind != "gradient"]
        if what != "forward":
            return []
        return [x for x in lookups if x.modules[0] == name]

    def make(task, iteration):
        nonlocal counter
        count = made_by.get((task.key(), iteration), 0) + 1
        made_by[task.key(), iteration] = count
        if count == streams:
            waiting.append([task, iteration, counter, False])
            counter += 1
            if task.kind == "prior":
                for entry in waiting:
                    if entry[0].kind == "delayed" and entry[0].modules == task.modules and entry[1] == iteration - 1:
                        entry[3] = True

    def rank_of(entry):
        """Where a waiting task stands in the queue, as the table of schedules says it."""
        task, _, number, moved = entry
        if schedule == "fifo":
            return (number,)
        if task.kind == "lookups":
            used = [place[n] for n in consumers[task.modules[0]]]
            at = min(used) if used else len(order)
            return (0, at, number) if schedule == "priority" else (0, at, 0, number)
        at = place[task.modules[0]]
        if schedule == "priority":
            return (0, at, number)
        if task.kind == "delayed":
            return (0, at, 0.5, number) if moved else (1, at, 0, number)
        return (0, at, 1, number)

    while True:
        changed = True
        while changed:
            changed = False
            if on_channel and on_channel[2] == now:  # it is filled, or played, or emptied
                task, iteration, _, rest = on_channel
                changed = True
                if rest:  # a play starts, or ends
                    playing = len(rest) == 2
                    for state in position:
                        if state[2] is not None and slower > 1:
                            state[2] = now + (state[2] - now) * (slower if playing else 1 / slower)
                    on_channel[2:] = [now + rest[0], rest[1:]]
                else:
                    finished[task.key(), iteration] = now
                    on_channel = None
            for rank, state in enumerate(position):
                if state[2] == now:
                    what, name = program[state[1]]
                    state[2] = None
                    changed = True
                    if what != "split":
                        computing[rank].append((state[3], now, state[0], state[4], step_of(what, name)))
                    for task in makes(what, name):
                        make(task, state[0] + (what == "forward"))
                    state[1] += 1
                    if state[1] == len(program):
                        through[state[0]] += 1
                        if through[state[0]] == streams:
                            ends[state[0]] = now
                        state[0], state[1] = state[0] + 1, 0
                if state[2] is None and state[0] < iterations and gate(*program[state[1]], state[0]):
                    what, name = program[state[1]]
                    factor, step = jitter(seed, sigma, state[0], rank), step_of(what, name)
                    if what == "split":
                        lasts = splits[state[0] % len(splits)]
                    else:
                        lasts = factor * (compute * float(modules[name].get(what.split()[-1] + "_s", 0)))
                    state[2:] = [now + (lasts + step) * (slower if playing else 1), now, lasts]
                    changed = True
        while cycle and ticks * cycle < now:
            ticks += 1
        if on_channel is None and waiting and (not cycle or ticks * cycle == now):
            chosen = min(waiting, key=rank_of)
            waiting.remove(chosen)
            before, alone, copy = software.get("call", 0) + copy_of(chosen[0]), seconds(chosen[0], chosen[1]), copy_of(chosen[0])
            on_channel = [chosen[0], chosen[1], now + before, [alone, copy]]
            carried.append((now, now + before + alone + copy))
            continue
        coming = [s[2] for s in position if s[2] is not None] + ([on_channel[2]] if on_channel else [])
        coming += [ticks * cycle] if waiting and not on_channel and cycle else []
        if not coming or all(s[0] == iterations for s in position):
            break
        now = min(coming)
    assert all(s[0] == iterations for s in position), "the timeline stands still"
    return ends, computing, carried


def overlap(intervals, others):
    return sum(max(0.0, min(b, d) - max(a, c)) for a, b, *_ in intervals for c, d, *_ in others)


def summarise(ends, computing, carried, warmup):
    """iteration, stall, channel-busy time and its hidden share, over the iterations behind the warm-up."""
    low, high, n = ends[warmup - 1], ends[-1], len(ends) - warmup
    mean = (high - low) / n
    own = sum(own for rank in computing for _, _, t, own, _ in rank if t >= warmup) / len(computing) / n
    step = sum(step for rank in computing for _, _, t, _, step in rank if t >= warmup) / len(computing) / n
    clipped = [(max(a, low), min(b, high)) for a, b in carried if b > low and a < high]
    busy = sum(b - a for a, b in clipped)
    hidden = sum(overlap(rank, clipped) for rank in computing) / len(computing)
    return {"iteration_s": mean, "stall_s": mean - own, "step_s": step, "communication_s": busy / n, "hidden": hidden / busy if busy else None}
# SPDX-License-Identifier: Apache-2.0
