/* What no command prints: overlaps of pairs, shares of parts, sizes of formats, and how long
 * hashing takes on this machine. */
#include "base/json.h"
#include "query/query_internal.h"
#include "tensor/hash.h"
#include "tensor/sets.h"
#include "tensor/wire.h"
#include "trace/measure/rank_sets.h"

#include <time.h>

enum { OVERLAPS, SHARES, FORMATS, HASHING };
static const char *const names[] = {"overlaps", "shares", "formats", "hashing", NULL};
enum { PAIRS_MAX = 200, PARTS_MAX = 1024, ROWS_MAX = 1 << 26 };

/* What a request says; a kind needs what is its own. */
struct measure {
  unsigned kind; /* by names[] */
  uint64_t bins, parts, elements, servers, row_width, repeats;
  struct ss_numbers densities, memories, probes;
};

/* --- of traces ---------------------------------------------------------------------------------------------- */

struct histogram {
  uint64_t *count; /* [bins] */
  uint64_t bins, all;
};

static void count_overlap(const struct ss_rank_sets *sets, uint32_t a, uint32_t b, struct histogram *h) {
  const uint64_t least = sets->size[a] < sets->size[b] ? sets->size[a] : sets->size[b];
  if (least == 0) return;
  const double ratio =
      (double)ss_rows_common(sets->list[a], sets->size[a], sets->list[b], sets->size[b]) / (double)least;
  uint64_t bin = (uint64_t)(ratio * (double)h->bins);
  if (bin >= h->bins) bin = h->bins - 1;
  h->count[bin]++;
  h->all++;
}

/* All pairs of ranks when they are few, else pairs drawn with a seed. */
static void count_overlaps(const struct ss_rank_sets *sets, uint64_t iteration, struct histogram *h) {
  const uint64_t P = sets->ranks, pairs = P * (P - 1) / 2;
  if (pairs <= PAIRS_MAX) {
    for (uint32_t a = 0; a < P; a++)
      for (uint32_t b = a + 1; b < P; b++) count_overlap(sets, a, b, h);
    return;
  }
  for (uint64_t i = 0; i < PAIRS_MAX; i++) {
    const uint64_t a = ss_below(ss_mix(iteration, 2 * i), P), b = ss_below(ss_mix(iteration, 2 * i + 1), P - 1);
    count_overlap(sets, (uint32_t)a, (uint32_t)(b < a ? b : b + 1), h);
  }
}

/* Of all ranks' rows, how many lie in each of even parts of the table. */
static void count_parts(const struct ss_rank_sets *sets, uint64_t rows, struct histogram *h) {
  for (uint32_t r = 0; r < sets->ranks; r++)
    for (uint64_t i = 0; i < sets->size[r]; i++) {
      /* part j is [floor(j rows/parts), floor((j+1) rows/parts)) */
      uint64_t part = sets->list[r][i] * h->bins / rows;
      while ((part + 1) * rows / h->bins <= sets->list[r][i]) part++;
      h->count[part]++;
      h->all++;
    }
}

static bool count_iterations(const struct ss_trace *trace, bool pairs, struct histogram *h) {
  struct ss_rank_sets sets;
  if (!ss_rank_sets_init(&sets, ss_trace_ranks(trace))) return false;
  bool ok = true;
  for (uint64_t t = 0; ok && t < ss_trace_iterations(trace); t++) {
    ok = ss_rank_sets_load(&sets, trace, 0, t);
    if (ok && pairs) count_overlaps(&sets, t, h);
    else if (ok) count_parts(&sets, ss_trace_tensor(trace, 0)->rows, h);
  }
  ss_rank_sets_free(&sets);
  return ok;
}

/* Of pairs of ranks {"overlap", "density"}: the middle of a bin, and how often pairs fall into it / its width (a
 * probability density). Of parts {"part", "share"}: counted from 1, and the share of all ranks' rows. */
static bool of_trace(struct ss_node node, const struct ss_request *request, const struct measure *m, cJSON *list,
                     struct ss_error *error) {
  const bool pairs = m->kind == OVERLAPS;
  const uint64_t bins = pairs ? m->bins : m->parts;
  SS_AUTO(ss_sources_close) struct ss_sources sources = {0};
  SS_AUTO_FREE uint64_t *count = ss_alloc_zero(bins, sizeof *count);
  struct histogram h = {.count = count, .bins = bins};
  const struct ss_trace *trace;
  if (!ss_request_trace(node, request, &sources, &trace, error)) return false;
  if (!count || !count_iterations(trace, pairs, &h)) return ss_fail_memory(error, "measuring a trace");
  for (uint64_t i = 0; h.all && i < bins; i++) {
    const double share = (double)count[i] / (double)h.all;
    cJSON_AddItemToArray(list, pairs ? ss_json_object(SS_N("overlap", ((double)i + 0.5) / (double)bins),
                                                      SS_N("density", share * (double)bins))
                                     : ss_json_object(SS_N("part", (double)i + 1), SS_N("share", share)));
  }
  return true;
}

/* --- rows at random ----------------------------------------------------------------------------------------- */

/* Each of `range` rows with the probability `density`; `run` rows at a time, as the elements of an embedding's row.
 */
static uint64_t draw_rows(uint64_t range, double density, uint64_t run, uint64_t seed, uint32_t *out) {
  uint64_t count = 0;
  for (uint64_t row = 0; row < range; row += run) {
    if (ss_unit(ss_mix(seed, row)) >= density) continue;
    for (uint64_t i = row; i < row + run && i < range; i++) out[count++] = (uint32_t)i;
  }
  return count;
}

/* What rows of each density are drawn for. */
struct drawing {
  const struct measure *of;
  uint64_t run; /* elements of a row */
  double density;
  uint64_t count;          /* rows drawn */
  uint32_t *rows, *placed; /* [elements] */
  uint64_t *offsets;       /* [servers + 1] */
  uint64_t *domain;        /* [servers] */
};

/* Calls `act` with rows of each density that the measure lists. */
static bool draw_each(struct drawing *d, bool (*act)(const struct drawing *d, cJSON *list, struct ss_error *error),
                      cJSON *list, struct ss_error *error) {
  const struct measure *m = d->of;
  SS_AUTO_FREE uint32_t *rows = d->rows = ss_alloc(m->elements, sizeof *rows);
  SS_AUTO_FREE uint32_t *placed = d->placed = ss_alloc_zero(m->elements, sizeof *placed);
  SS_AUTO_FREE uint64_t *offsets = d->offsets = ss_alloc(m->servers + 1, sizeof *offsets);
  if (!rows || !placed || !offsets) return ss_fail_memory(error, "drawing rows");
  for (size_t i = 0; i < m->densities.count; i++) {
    d->density = m->densities.value[i];
    d->count = draw_rows(m->elements, d->density, d->run, 1, rows);
    if (!act(d, list, error)) return false;
  }
  return true;
}

/* --- sizes of formats --------------------------------------------------------------------------------------- */

static void add_size(cJSON *list, const char *name, const struct drawing *s, uint64_t bytes) {
  cJSON_AddItemToArray(list, ss_json_object(SS_T("format", name), SS_N("density", s->density),
                                            SS_N("size", (double)bytes / (4 * (double)s->of->elements))));
}

/* All servers' parts together, each encoded as a server would. */
static bool add_sizes(const struct drawing *s, cJSON *list, struct ss_error *error) {
  static const struct {
    const char *name;
    enum ss_wire_format format;
  } formats[] = {{"COO", SS_WIRE_COO}, {"bitmap", SS_WIRE_BITMAP}, {"hash bitmap", SS_WIRE_HASH_BITMAP}};
  const struct ss_domains domains = {.parts = (uint32_t)s->of->servers, .size = s->domain};
  if (!ss_hash_partition(&(struct ss_hash_input){.rows = s->rows, .count = s->count}, 1, (uint32_t)s->of->servers,
                         &(struct ss_hash_output){.rows = s->placed, .offsets = s->offsets}, error))
    return false;
  for (size_t f = 0; s->run == 1 && f < 3; f++) {
    uint64_t bytes = 0;
    for (uint32_t p = 0; p < s->of->servers; p++) {
      const struct ss_wire wire = {.format = formats[f].format,
                                   .value_bytes = 4,
                                   .index_bytes = 4,
                                   .domains = formats[f].format == SS_WIRE_HASH_BITMAP ? &domains : NULL};
      const struct ss_chunk chunk = {.rows = s->placed + s->offsets[p],
                                     .count = s->offsets[p + 1] - s->offsets[p],
                                     .high = s->of->elements,
                                     .width = 1,
                                     .stride = 1,
                                     .part = p};
      bytes += ss_wire_bytes(&wire, &chunk);
    }
    add_size(list, formats[f].name, s, bytes);
  }
  const struct ss_wire blocks = {.format = SS_WIRE_BLOCK, .value_bytes = 4, .index_bytes = 4, .block = 256};
  const struct ss_chunk whole = {
      .rows = s->rows, .count = s->count, .high = s->of->elements, .width = 1, .stride = 1};
  add_size(list, s->run == 1 ? "blocks, scattered" : "blocks, whole rows", s, ss_wire_bytes(&blocks, &whole));
  return true;
}

/* {"format", "density", "size"}: bytes of an aggregate of random elements / those of the dense tensor. */
static bool formats(const struct measure *m, cJSON *list, struct ss_error *error) {
  struct drawing d = {.of = m, .run = m->row_width};
  SS_AUTO_FREE uint64_t *domain = d.domain = ss_alloc(m->servers, sizeof *domain);
  if (!domain) return ss_fail_memory(error, "sizing formats");
  return ss_hash_sizes(0, m->elements, 1, (uint32_t)m->servers, domain, error) &&
         draw_each(&d, add_sizes, list, error);
}

/* --- how long hashing takes here ---------------------------------------------------------------------------- */

static double seconds_of(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* {"memory", "probes", "density", "time_s", "fastest_s", "slowest_s", "busy", "serial"}: Algorithm 1 with parallel
 * memory of `memory` times the rows; serial memory has room for all, so that none of the settings fails. `busy`: the
 * share of the time in which the machine did something else. */
static bool time_hashing(const struct drawing *h, double memory, uint32_t probes, cJSON *list,
                         struct ss_error *error) {
  struct ss_hash_memory settings = ss_hash_memory_zen((uint32_t)h->of->servers, h->count);
  struct ss_hash_tally tally = {0};
  double sum = 0, least = HUGE_VAL, most = 0;
  settings.probes = probes;
  settings.parallel_slots = (uint64_t)(memory * (double)h->count) + h->of->servers;
  settings.serial_slots = h->of->servers * (h->count + 1);
  const double computed_before = seconds_of(CLOCK_THREAD_CPUTIME_ID);
  for (uint64_t i = 0; i < h->of->repeats; i++) {
    const double begin = seconds_of(CLOCK_MONOTONIC);
    if (!ss_hash_hierarchical(&settings, &(struct ss_hash_input){.rows = h->rows, .count = h->count},
                              &(struct ss_hash_output){.rows = h->placed, .offsets = h->offsets}, &tally, error))
      return false;
    const double taken = seconds_of(CLOCK_MONOTONIC) - begin;
    sum += taken, least = fmin(least, taken), most = fmax(most, taken);
  }
  const double computed = seconds_of(CLOCK_THREAD_CPUTIME_ID) - computed_before;
  cJSON_AddItemToArray(list, ss_json_object(SS_N("memory", memory), SS_N("probes", probes),
                                            SS_N("density", h->density), SS_N("time_s", sum / (double)h->of->repeats),
                                            SS_N("fastest_s", least), SS_N("slowest_s", most),
                                            SS_N("busy", sum > 0 ? fmax(0, 1 - computed / sum) : 0),
                                            SS_N("serial", h->count ? (double)tally.serial / (double)h->count : 0)));
  return true;
}

static bool time_settings(const struct drawing *h, cJSON *list, struct ss_error *error) {
  const struct ss_numbers *memories = &h->of->memories, *probes = &h->of->probes;
  for (size_t m = 0; m < memories->count; m++)
    for (size_t p = 0; p < probes->count; p++)
      if (!time_hashing(h, memories->value[m], (uint32_t)probes->value[p], list, error)) return false;
  return true;
}

/* --- what hashing loses ------------------------------------------------------------------------------------- */

/* Rows 0..nnz-1: which ones they are makes no difference to a hash. {"lost", "serial"}: the share of rows that is
 * lost, and the share that goes to serial memory. */
static bool play_hash(uint64_t nnz, const struct ss_hash_memory *memory, bool lossy, cJSON **out_tree,
                      struct ss_error *error) {
  SS_AUTO_FREE uint32_t *rows = ss_alloc(nnz, sizeof *rows), *placed = ss_alloc(nnz, sizeof *placed);
  SS_AUTO_FREE uint64_t *offsets = ss_alloc(memory->parts + 1, sizeof *offsets);
  struct ss_hash_tally tally = {0};
  if (!rows || !placed || !offsets) return ss_fail_memory(error, "hashing");
  for (uint64_t i = 0; i < nnz; i++) rows[i] = (uint32_t)i;
  const struct ss_hash_input in = {.rows = rows, .count = nnz};
  const struct ss_hash_output out = {.rows = placed, .offsets = offsets};
  if (!(lossy ? ss_hash_lossy(memory, &in, &out, error) : ss_hash_hierarchical(memory, &in, &out, &tally, error)))
    return false;
  *out_tree = ss_json_object(SS_N("lost", 1 - (double)offsets[memory->parts] / (double)nnz),
                             SS_N("serial", (double)tally.serial / (double)nnz));
  return true;
}

struct hash {
  uint64_t nnz, parts, probes;
  double per_row;
  enum { LOSSY, HIERARCHICAL } kernel;
};
static const char *const kernels[] = {"lossy", "hierarchical", NULL};
static const struct ss_field_spec hash_fields[] = {
    {"kernel", "ZEN's Algorithm 3, or 1", SS_IS_CHOICE(kernels), .required = true, SS_STORED(struct hash, kernel)},
    {"nnz", NULL, SS_IS_COUNT(1, ROWS_MAX), .required = true, SS_STORED(struct hash, nnz)},
    {"parts", NULL, SS_IS_COUNT(1, PARTS_MAX), .required = true, SS_STORED(struct hash, parts)},
    {"slots_per_row", NULL, SS_IS_ABOVE_0, .most = 1024, .required = true, SS_STORED(struct hash, per_row)},
    {"probes", "of Algorithm 1", SS_IS_COUNT(1, SS_HASH_PROBES), .usual = "1", SS_STORED(struct hash, probes)},
    {.name = NULL}};
const struct ss_object_spec ss_hash_fields = {
    .name = "hash", .says = "which shares of nnz rows are lost, or go to serial memory", .field = hash_fields};

bool ss_answer_hash(struct ss_node node, struct ss_request *request, struct ss_error *error) {
  struct hash h;
  if (!ss_object_read(&ss_hash_fields, node, &h, error)) return false;
  if (h.kernel == HIERARCHICAL && !ss_node_present(ss_node_get(node, "probes")))
    return ss_node_need(node, "probes", &node, error);
  const bool lossy = h.kernel == LOSSY;
  const uint64_t all_slots = (uint64_t)(h.per_row * (double)h.nnz);
  const struct ss_hash_memory memory = {.seed = 1,
                                        .parts = (uint32_t)h.parts,
                                        .probes = (uint32_t)h.probes,
                                        .parallel_slots = lossy ? all_slots / h.parts : all_slots,
                                        .serial_slots = h.nnz * h.parts};
  return play_hash(h.nnz, &memory, lossy, &request->answer, error);
}

/* ------------------------------------------------------------------------------------------------------------ */

static const struct ss_field_spec a_share = {NULL, NULL, SS_IS_RATIO, .most = 1},
                                  a_memory = {NULL, NULL, SS_IS_ABOVE_0, .most = 64},
                                  some_probes = {NULL, NULL, SS_IS_COUNT(1, SS_HASH_PROBES)};
#define PART(member) SS_STORED(struct measure, member)
static const struct ss_field_spec fields[] = {
    {"name", NULL, SS_IS_CHOICE(names), .required = true, PART(kind)},
    {"trace", "of overlaps and shares", SS_IS_EITHER(ss_lookups_forms)},
    {"bins", "of overlaps", SS_IS_COUNT(1, 1000), PART(bins)},
    {"parts", "of shares", SS_IS_COUNT(1, PARTS_MAX), PART(parts)},
    {"elements", "of formats and hashing", SS_IS_COUNT(1, ROWS_MAX), PART(elements)},
    {"servers", "of formats and hashing", SS_IS_COUNT(1, PARTS_MAX), PART(servers)},
    {"densities", "of formats and hashing", SS_IS_LIST(&a_share, 0, SS_NUMBERS_MAX), PART(densities)},
    {"row_width", "of formats", SS_IS_COUNT(1, ROWS_MAX), PART(row_width)},
    {"memories", "of hashing: times the rows", SS_IS_LIST(&a_memory, 0, SS_NUMBERS_MAX), PART(memories)},
    {"probes", "of hashing", SS_IS_LIST(&some_probes, 0, SS_NUMBERS_MAX), PART(probes)},
    {"repeats", "of hashing", SS_IS_COUNT(1, 100), PART(repeats)},
    {.name = NULL}};
const struct ss_object_spec ss_measure_fields = {
    .name = "measure", .says = "distributions that papers draw", .field = fields};

bool ss_answer_measure(struct ss_node measure, struct ss_request *request, struct ss_error *error) {
  static const char *const needed[][5] = {[OVERLAPS] = {"bins"},
                                          [SHARES] = {"parts"},
                                          [FORMATS] = {"elements", "servers", "row_width"},
                                          [HASHING] = {"elements", "servers", "repeats"}};
  struct measure m = {0};
  struct ss_node field;
  if (!ss_object_read(&ss_measure_fields, measure, &m, error)) return false;
  for (size_t i = 0; needed[m.kind][i]; i++)
    if (!ss_node_need(measure, needed[m.kind][i], &field, error)) return false;
  SS_AUTO_JSON cJSON *list = cJSON_CreateArray();
  if (!(m.kind <= SHARES    ? of_trace(measure, request, &m, list, error)
        : m.kind == FORMATS ? formats(&m, list, error)
                            : draw_each(&(struct drawing){.of = &m, .run = 1}, time_settings, list, error)))
    return false;
  if (!list || !list->child) return ss_node_fail(measure, error, "measures nothing");
  request->answer = list;
  list = NULL;
  return true;
}
/* SPDX-License-Identifier: Apache-2.0 */
