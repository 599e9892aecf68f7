#include "machine/accuracy.h"

const char *const ss_accuracy_names[] = {"measured", "collective", "kind", "doubling", "sizes", NULL};
const char *const ss_message_kind_names[] = {"chain", "exchange", "inside", NULL};

static bool read_spread(struct ss_node node, void *spread, struct ss_error *error);

static const struct ss_field_spec spread_fields[] = {
    {"half", "half of the errors are within this factor", SS_IS_ABOVE_0, .required = true,
     SS_STORED(struct ss_spread, half)},
    {"most", "90% are within this one", SS_IS_ABOVE_0, .required = true, SS_STORED(struct ss_spread, most)},
    {"times", "that were judged", SS_IS_COUNT(0, UINT32_MAX)},
    {"groups", "that were left out, one after the other, and share their errors", SS_IS_COUNT(0, UINT32_MAX)},
    {.name = NULL}};
static const struct ss_object_spec spread_spec = {
    .name = "spread", .says = "how far off times are, as factors", .field = spread_fields};

static bool read_spread(struct ss_node node, void *spread, struct ss_error *error) {
  struct ss_spread *out = spread;
  if (!ss_object_read(&spread_spec, node, out, error)) return false;
  if (!(out->half >= 1 && out->half <= out->most && out->most <= 1e6))
    return ss_node_fail(node, error, "expected factors, 1 <= \"half\" <= \"most\" <= 1e6, found %g and %g", out->half,
                        out->most);
  return true;
}

/* --- what was measured -------------------------------------------------------------------------------------- */

static bool read_set(struct ss_node list, const char *const *names, uint32_t *bits, struct ss_error *error) {
  size_t choice;
  *bits = 0;
  if (!ss_node_is_array(list)) return ss_node_fail(list, error, "expected a list of names");
  for (struct ss_node n = ss_node_first(list); ss_node_present(n); n = ss_node_next(n)) {
    if (!ss_node_choice(n, names, &choice, error)) return false;
    *bits |= UINT32_C(1) << choice;
  }
  return true;
}

static bool read_collectives(struct ss_node list, void *bits, struct ss_error *error) {
  return read_set(list, ss_collective_names, bits, error);
}

static bool read_kinds(struct ss_node list, void *kinds, struct ss_error *error) {
  uint32_t bits;
  if (!read_set(list, ss_message_kind_names, &bits, error)) return false;
  for (int kind = 0; kind < SS_MESSAGE_KINDS; kind++) ((bool *)kinds)[kind] = bits >> kind & 1;
  return true;
}

static bool fail_span(struct ss_node list, struct ss_error *error) {
  return ss_node_fail(list, error, "expected a list of two, the least and the most that were measured");
}

static bool read_nodes(struct ss_node list, void *accuracy, struct ss_error *error) {
  struct ss_accuracy *out = accuracy;
  uint64_t span[2] = {0, 0};
  if (!ss_node_is_array(list) || ss_node_size(list) != 2) return fail_span(list, error);
  const struct ss_node least = ss_node_first(list);
  if (!ss_node_count(least, 1, 1 << 20, &span[0], error) ||
      !ss_node_count(ss_node_next(least), 1, 1 << 20, &span[1], error))
    return false;
  out->nodes_min = (uint32_t)span[0];
  out->nodes_max = (uint32_t)span[1];
  return span[0] <= span[1] || fail_span(list, error);
}

static bool read_span(struct ss_node list, void *out, struct ss_error *error) {
  double span[2] = {0, 0};
  if (!ss_node_is_array(list) || ss_node_size(list) != 2) return fail_span(list, error);
  const struct ss_node least = ss_node_first(list);
  if (!ss_node_positive(least, SS_BYTES, &span[0], error) ||
      !ss_node_positive(ss_node_next(least), SS_BYTES, &span[1], error))
    return false;
  if (!(span[0] >= 1 && span[0] <= span[1] && span[1] < 0x1p53)) return fail_span(list, error);
  *(struct ss_size_span *)out = (struct ss_size_span){(uint64_t)span[0], (uint64_t)span[1]};
  return true;
}

static bool read_doubts(struct ss_node list, void *accuracy, struct ss_error *error) {
  struct ss_accuracy *out = accuracy;
  const struct ss_node first = ss_node_first(list);
  const char *text;
  if (!ss_node_is_array(list)) return ss_node_fail(list, error, "expected a list of reasons");
  if (!ss_node_present(first)) return true;
  if (!ss_node_text(first, &text, error)) return false;
  size_t used = 0; /* whole characters */
  for (size_t more; text[used] && (more = ss_utf8_size(text + used, 4)) > 0 && used + more < sizeof out->doubt;)
    used += more;
  memcpy(out->doubt, text, used);
  out->doubt[used] = '\0';
  return true;
}

/* --- the whole ---------------------------------------------------------------------------------------------- */

static const struct ss_field_spec a_kind = {NULL, NULL, SS_IS_CHOICE(ss_message_kind_names)},
                                  a_count = {NULL, NULL, SS_IS_COUNT(1, 1 << 20)},
                                  a_size = {NULL, NULL, .kind = SS_SPEC_POSITIVE, .dimension = SS_BYTES};

#define CALLS(collective)                                                                                            \
  SS_IS_LIST(&a_size, 2, 2), .read = read_span, .offset = (collective) * sizeof(struct ss_size_span),                \
                             .size = sizeof(struct ss_size_span)
static const struct ss_field_spec calls_fields[] = {{"allreduce", NULL, CALLS(SS_ALLREDUCE)},
                                                    {"allgather", NULL, CALLS(SS_ALLGATHER)},
                                                    {"reduce_scatter", NULL, CALLS(SS_REDUCE_SCATTER)},
                                                    {"alltoall", NULL, CALLS(SS_ALLTOALL)},
                                                    {"broadcast", NULL, CALLS(SS_BROADCAST)},
                                                    {"reduce", NULL, CALLS(SS_REDUCE)},
                                                    {"sendrecv", NULL, CALLS(SS_SENDRECV)},
                                                    {"ping_pong", NULL, CALLS(SS_PING_PONG)},
                                                    {.name = NULL}};
static const struct ss_object_spec calls_spec = {.field = calls_fields};

#define SPREAD(class) SS_IS_OBJECT(&spread_spec), .read = read_spread, SS_STORED(struct ss_accuracy, of[class])
static const struct ss_field_spec accuracy_fields[] = {
    {"collectives", "that were measured (\"allreduce\", ...)", SS_IS_LIST(&ss_name_field, 0, 0),
     .read = read_collectives, SS_STORED(struct ss_accuracy, collectives)},
    {"kinds", "of messages that these are made of", SS_IS_LIST(&a_kind, 0, 0), .read = read_kinds,
     SS_STORED(struct ss_accuracy, kind)},
    {"nodes", "the least and the most that were measured", SS_IS_LIST(&a_count, 2, 2), .read = read_nodes},
    {"bytes", "of a call, the least and the most that were measured", SS_IS_LIST(&a_size, 2, 2), .read = read_span,
     SS_STORED(struct ss_accuracy, bytes)},
    {"calls", "the same of each collective, where sizes differ", SS_IS_OBJECT(&calls_spec),
     SS_STORED(struct ss_accuracy, calls)},
    {"measured", "a collective that was measured", SPREAD(SS_AS_MEASURED)},
    {"collective", "one that was not, of a kind of messages that was", SPREAD(SS_NEW_COLLECTIVE)},
    {"kind", "of a kind of messages that was not", SPREAD(SS_NEW_KIND)},
    {"doubling",
     "in addition, for each doubling of nodes between what is asked and the nearest number that was measured",
     SPREAD(SS_NODES_DOUBLED)},
    {"sizes", "in addition, for each doubling of bytes beyond those that were measured", SPREAD(SS_SIZE_DOUBLED)},
    {"noise", "of one call about the median of those like it, another time", SS_IS_OBJECT(&spread_spec),
     .read = read_spread, SS_STORED(struct ss_accuracy, noise)},
    {"doubtful", "why the fit hardly can be true; answers repeat the first reason", SS_IS_LIST(&ss_name_field, 0, 0),
     .read = read_doubts},
    {"pooled", "the errors are those of other machines: its own were not judged", SS_IS_FLAG, .usual = "false",
     SS_STORED(struct ss_accuracy, pooled)},
    {.name = NULL}};
const struct ss_object_spec ss_accuracy_fields = {
    .name = "accuracy",
    .says = "how far off times may be, by what is asked; no answer depends on it but its range",
    .field = accuracy_fields};

bool ss_accuracy_read(struct ss_node node, struct ss_accuracy *out, struct ss_error *error) {
  memset(out, 0, sizeof *out); /* what hashes it sees no rubbish between members */
  out->known = ss_node_present(node);
  return !out->known || ss_object_read(&ss_accuracy_fields, node, out, error);
}

/* --- what it means ------------------------------------------------------------------------------------------- */

/* Doublings from `value` to what lies between the least and the most. */
static double beyond(double value, double least, double most) {
  if (!(most > 0 && value > 0)) return 0;
  return value > most ? log2(value / most) : value < least ? log2(least / value) : 0;
}

const struct ss_size_span *ss_accuracy_sizes(const struct ss_accuracy *a, uint32_t collective) {
  const bool own = collective < SS_COLLECTIVES && a->calls.of[collective].most > 0;
  return own ? &a->calls.of[collective] : &a->bytes;
}

static double sizes_beyond(const struct ss_accuracy *a, uint32_t collective, uint64_t bytes) {
  const struct ss_size_span *span = ss_accuracy_sizes(a, collective);
  return beyond((double)bytes, (double)span->least, (double)span->most);
}

enum ss_accuracy_class ss_accuracy_class_of(const struct ss_accuracy *a, const struct ss_accuracy_question *q,
                                            double *nodes_doubled, double *size_doubled) {
  if (nodes_doubled)
    *nodes_doubled = q->kind == SS_INSIDE ? 0 : beyond((double)q->nodes, (double)a->nodes_min, (double)a->nodes_max);
  if (size_doubled) *size_doubled = sizes_beyond(a, q->collective, q->bytes);
  if (!a->kind[q->kind]) return SS_NEW_KIND;
  return q->collective < SS_COLLECTIVES && a->collectives >> q->collective & 1 ? SS_AS_MEASURED : SS_NEW_COLLECTIVE;
}

static double together(double base, double nodes, double nodes_doubled, double sizes, double size_doubled) {
  if (base < 1) return 0;
  const double n = nodes > 1 ? nodes_doubled * log(nodes) : 0, s = sizes > 1 ? size_doubled * log(sizes) : 0;
  return fmin(exp(sqrt(log(base) * log(base) + n * n + s * s)), 1e6); /* as far as a file may say */
}

struct ss_spread ss_accuracy_spread(const struct ss_accuracy *a, const struct ss_accuracy_question *q) {
  double nodes, size;
  const struct ss_spread *of = &a->of[ss_accuracy_class_of(a, q, &nodes, &size)], *n = &a->of[SS_NODES_DOUBLED],
                         *s = &a->of[SS_SIZE_DOUBLED];
  return (struct ss_spread){together(of->half, n->half, nodes, s->half, size),
                            together(of->most, n->most, nodes, s->most, size)};
}

struct ss_spread ss_accuracy_beyond(const struct ss_accuracy *a, uint32_t collective, uint64_t bytes) {
  const double size = sizes_beyond(a, collective, bytes);
  const struct ss_spread *s = &a->of[SS_SIZE_DOUBLED];
  return (struct ss_spread){together(1, 1, 0, s->half, size), together(1, 1, 0, s->most, size)};
}

bool ss_accuracy_same(const struct ss_accuracy *a, const struct ss_accuracy *b) {
  bool same = a->known == b->known && memcmp(&a->bytes, &b->bytes, sizeof a->bytes) == 0 &&
              memcmp(&a->calls, &b->calls, sizeof a->calls) == 0 && a->noise.half == b->noise.half &&
              a->noise.most == b->noise.most && strcmp(a->doubt, b->doubt) == 0 && a->nodes_min == b->nodes_min &&
              a->nodes_max == b->nodes_max && a->collectives == b->collectives;
  for (int i = 0; i < SS_ACCURACY_CLASSES; i++)
    same = same && a->of[i].half == b->of[i].half && a->of[i].most == b->of[i].most;
  for (int i = 0; i < SS_MESSAGE_KINDS; i++) same = same && a->kind[i] == b->kind[i];
  return same;
}
/* SPDX-License-Identifier: Apache-2.0 */
