"""Single mistakes that `sparsync check` or a unit test must notice.

Each is an exact replacement: OLD stands exactly once in FILE. A survivor is no test's fault only if EQUIVALENT says why
nobody can tell it from the original.
"""


class Mutant:
    def __init__(self, name, file, old, new, equivalent=None):
        self.name = name
        self.file = file
        self.old = old
        self.new = new
        self.equivalent = equivalent


MUTANTS = [
    # --- digits of the closed forms
    Mutant("ring all-reduce takes P steps", "models/costs/allreduce-ring.json",
           '"2*(P-1)*(alpha + M/P*beta)"', '"2*P*(alpha + M/P*beta)"'),
    Mutant("Rabenseifner folds once", "models/costs/allreduce-rabenseifner.json",
           "2*(Q-1)/Q + 2*f", "2*(Q-1)/Q + f"),
    Mutant("recursive doubling forgets folded blocks", "models/costs/allgather-recursive-doubling.json",
           "f + Q-1 + fold_sum(P) + f*(P-1)", "f + Q-1 + f*(P-1)"),
    Mutant("Bruck rounds down", "models/costs/allgather-bruck.json", "ceil(log2(P))*alpha", "floor(log2(P))*alpha"),
    Mutant("union pulled without gamma", "models/costs/ps-union.json", "(1+gamma)*x", "2*x"),
    Mutant("ids of 4 bytes", "models/costs/alltoall-lookups-ids.json", "8*lookups", "4*lookups"),
    Mutant("the wrong option stands in `when`", "models/costs/ps-rows.json", '"pull": "rows"', '"pull": "union"'),
    # --- formulas
    Mutant("fold_sum stops a step early", "src/cost/formula.c", "(double)step < fmin(v->Q, P)",
           "2 * (double)step < fmin(v->Q, P)"),
    Mutant("d counts elements", "src/cost/formula.c", "s->nnz / s->R", "s->nnz * s->w / s->R"),
    Mutant("gamma of the wrong rank", "src/cost/formula.c", "v->gamma = call_gamma(v, s->P)",
           "v->gamma = call_gamma(v, s->P - 1)"),
    Mutant("forms hold for exchanged sizes", "src/cost/cost.c",
           "if (all && setting->exchange_sizes && ", "if (false && "),
    Mutant("gamma over the first rank's rows", "src/cost/measure.c", "(double)all / out->nnz",
           "(double)all / (double)in->count[0]"),
    Mutant("skewness of a sum, not of the densest", "src/cost/measure.c",
           "if (size && (double)by_part[j] / (double)size > most) most = ", "if (size) most += "),
    # --- rounds: missing, wrong peer, wrong size, wrong dependence
    Mutant("ring all-gather lacks its last round", "src/sim/gather.c",
           ".run = run_ring};\n  x.size = g->groups.size;\n  for (x.step = 1; x.step < x.size;",
           ".run = run_ring};\n  x.size = g->groups.size;\n  for (x.step = 1; x.step + 1 < x.size;"),
    Mutant("direct all-gather: every round dependent", "src/sim/gather.c",
           ": play_pattern(play, g, &x, x.step == 1, error);", ": play_pattern(play, g, &x, true, error);"),
    Mutant("Bruck sends ahead", "src/sim/gather.c", "return (p + x->size - x->step) % x->size;",
           "return (p + x->step) % x->size;"),
    Mutant("Bruck sends whole powers of two", "src/sim/gather.c",
           "*count = x->step < x->size - x->step ? x->step : x->size - x->step;", "*count = x->step;"),
    Mutant("the folded rank gets all blocks back", "src/sim/gather.c",
           "*first = 2 * p + 1;\n  *count = x->size - 1;", "*first = 2 * p;\n  *count = x->size;"),
    Mutant("sizes announced in 4 bytes", "src/sim/gather.c", "8 * (uint64_t)blocks", "4 * (uint64_t)blocks"),
    Mutant("ring reduce-scatter: parts one off", "src/sim/dense.c",
           "uniform ? NULL : bytes + size - s, each", "uniform ? NULL : bytes + size - s - 1, each"),
    Mutant("halving keeps the partner's half", "src/sim/dense.c", "*mine = cut(sum, mine, p & ~(step - 1), step);",
           "*mine = cut(sum, mine, (p & ~(step - 1)) ^ step, step);"),
    Mutant("fold in: the sender keeps the sum", "src/sim/dense.c",
           "if (!ss_dense_take(play, i, &whole[2 * i], &whole[2 * i + 1], error)) return false;",
           "if (!ss_dense_take(play, i, &whole[2 * i], &whole[2 * i], error)) return false;"),
    Mutant("pairwise exchange goes backwards", "src/sim/exchange.c", "struct ends ends = {p, (p + s) % size};",
           "struct ends ends = {p, (p + size - s) % size};"),
    Mutant("pairwise exchange lacks its last round", "src/sim/exchange.c",
           "uint32_t size = groups->size;\n  for (uint32_t s = 1; s < size; s++) {",
           "uint32_t size = groups->size;\n  for (uint32_t s = 1; s + 1 < size; s++) {"),
    Mutant("every server begins with worker 0", "src/sim/exchange.c",
           "struct ends ends = {s, (s + t) % ranks};", "struct ends ends = {s, t};"),
    Mutant("the binomial tree is not turned to its root", "src/sim/tree.c",
           "uint32_t v = (p + size - root) % size;\n      if", "uint32_t v = p;\n      if"),
    Mutant("the scattered pieces do not reach the end", "src/sim/tree.c",
           "ss_share(whole->count, size, p + 1) - first", "whole->count / size"),
    # --- ports and links
    Mutant("the sender's port stays free", "src/net/alpha_beta.c",
           "egress[from] = ingress[to] = start + (alpha + (double)ss_message_bytes(m, i) * beta);",
           "ingress[to] = start + (alpha + (double)ss_message_bytes(m, i) * beta);"),
    Mutant("no rendezvous: the receiver need not be ready", "src/net/alpha_beta.c",
           "later(later(ready[from], ready[to]), later(egress[from], ingress[to]))",
           "later(ready[from], later(egress[from], ingress[to]))"),
    Mutant("messages inside a node take the NIC", "src/net/alpha_beta.c", "if (n->nic && !inside)", "if (n->nic)"),
    Mutant("the NIC's ingress stays free", "src/net/alpha_beta.c", "*out = *in = start + duration;",
           "*out = start + duration;"),
    Mutant("links inside nodes and between swapped", "src/net/alpha_beta.c", "inside ? &n->intra : &n->inter",
           "inside ? &n->inter : &n->intra"),
    Mutant("servers fill nodes one after the other", "src/net/alpha_beta.c", "(e - ranks) % n->nodes",
           "(e - ranks) / cluster->gpus_per_node % n->nodes"),
    Mutant("shifted bytes of the wrong sender", "src/net/alpha_beta.c",
           "play_run(n, ready, room, 0, m->shift, m->bytes ? m->bytes + room : NULL, each);",
           "play_run(n, ready, room, 0, m->shift, m->bytes, each);"),
    Mutant("a started node is no node", "src/net/cluster.c", "(ranks + cluster->gpus_per_node - 1) / ",
           "(ranks + cluster->gpus_per_node) / "),
    # --- the engine
    Mutant("independent rounds wait", "src/sim/engine.c", "if (round->dependent) {", "if (round->messages.count) {"),
    Mutant("a kernel does not wait for what arrives", "src/sim/engine.c",
           "later(later(e->ready[at], e->computed[at]), e->model->received(e->network, at))",
           "later(e->ready[at], e->computed[at])"),
    Mutant("a round does not wait for kernels", "src/sim/engine.c", "e->done[i] = later(e->done[i], e->computed[i]);",
           "(void)later;"),
    Mutant("servers' bytes count as ranks'", "src/sim/engine.c", "if (i >= e->ranks) {", "if (i > e->ranks) {"),
    Mutant("received bytes booked at the sender", "src/sim/engine.c", "e->received[ss_message_to(m, i)] += bytes;",
           "e->received[ss_message_from(m, i)] += bytes;"),
    # --- chunks, sums, wire
    Mutant("shares round to the nearest", "src/tensor/chunk.h", "(unsigned __int128)n * j / p",
           "((unsigned __int128)n * j + p / 2) / p"),
    Mutant("sums overwrite marks", "src/tensor/sum.c", "s->block.marks[at] += c->marks[e];",
           "s->block.marks[at] = c->marks[e];"),
    Mutant("a part's last row belongs to two", "src/tensor/chunk.c",
           "return lower_bound(chunk->rows + *first, chunk->count - *first, high);",
           "return lower_bound(chunk->rows + *first, chunk->count - *first, high + 1);"),
    Mutant("dense sums overwrite", "src/tensor/chunk.c", "marks[i] = a->marks[i] + b->marks[i];",
           "marks[i] = b->marks[i];"),
    Mutant("an index a row of slices", "src/tensor/wire.h", "wire->index_bytes * (wire->index_per_element ? c->width : 1)",
           "wire->index_bytes"),
    Mutant("occurrences not counted", "src/tensor/chunk.h", "ss_mix(((uint64_t)rank << 32) | occurrence, row)",
           "ss_mix(((uint64_t)rank << 32) | (occurrence & 0), row)",
           "proof integers of duplicates become equal on both sides of the comparison, in schemes and in the reference; "
           "the proof is weaker (one duplicate may stand for another) but every sum of it is still right"),
    # --- receipts: checks that only a fault brings out
    Mutant("receivers take any sender's block", "src/sim/receipts.c",
           "if (due->origin != got->origin || due->part != got->part || (due->dense", "if ((due->dense"),
    Mutant("a block may come twice", "src/sim/receipts.c", "if (*word & bit) ss_play_mismatch",
           "if (false) ss_play_mismatch"),
    Mutant("an absent block is no mismatch", "src/sim/receipts.c",
           'else ss_play_mismatch(play, "endpoint %u never received block %u", receiver, b);', "else continue;"),
    Mutant("payloads need not come", "src/sim/play.c", "if (payload->count == 1) return", "return"),
    Mutant("indices of separate gathers unchecked", "src/schemes/allgather.c",
           "memcmp(held->rows, sent->rows, sent->count * sizeof *sent->rows) != 0", "false"),
    # --- schemes
    Mutant("lookups travel without duplicates", "src/schemes/alltoall.c", ".count = input->lookups[r],",
           ".count = input->count[r],"),
    Mutant("a slice without columns carries indices", "src/schemes/alltoall.c", "if (slice.width == 0) slice.count = 0;",
           ""),
    Mutant("pull of rows brings the union", "src/schemes/ps.c", "if (ps->pull != ROWS || ps->dense) return true;",
           "return true;"),
    Mutant("the own part is summed twice", "src/schemes/ps.c",
           "for (uint32_t r = 0; play->payloads && r < ps->parts; r++) ss_receipts_add_run(play, &ps->pushed, r, r, 1);\n"
           "  return ss_pairwise",
           "return ss_pairwise"),
    Mutant("servers default to ranks", "src/schemes/ps.c", "return servers ? (uint32_t)servers : nodes;",
           "return servers ? (uint32_t)servers : ranks;"),
    Mutant("merged ranks overlap", "src/trace/input.c",
           "ss_trace_rows(o->trace, o->tensor, t, rank * o->merge + i, at);",
           "ss_trace_rows(o->trace, o->tensor, t, rank + i, at);"),
    # --- what users type
    Mutant("an expectation of less is met by more", "src/cli/expect.c", "case LESS: return left < right;",
           "case LESS: return left > right;"),
    Mutant("a Gbit is a GiB/s", "src/base/units.c", '{"bps", 1, 8}', '{"bps", 1, 1}'),
    Mutant("kB is KiB", "src/base/units.c", '{"k", 1e3, 1}', '{"k", 0x1p10, 1}'),
]
