#include "base/json.h"
#include "report/columns.h"
#include "report/decision.h"
#include "report/links.h"
#include "report/results_table.h"
#include "report/tables.h"
#include "study/placing.h"

static void print_answer(const struct ss_placing *p, FILE *stream) {
  (void)fprintf(stream, "%" PRIu32 " tables on %" PRIu32 " rank%s of %s: ", p->tables, p->ranks,
                p->ranks == 1 ? "" : "s", p->candidate[p->best].result->cluster);
  ss_decision_tell(&p->decision, stream);
  (void)fputs(".\n", stream);
  if (isfinite(p->whole_served_bound))
    (void)fprintf(
        stream,
        "Whole tables cannot serve more evenly than %.2f, nor lie more evenly than %.2f (largest rank / mean).\n",
        p->whole_served_bound, p->whole_held_bound);
  (void)fputc('\n', stream);
}

static bool print_candidates(const struct ss_placing *p, FILE *stream, struct ss_error *error) {
  const struct ss_column columns[] = {{"<placement", "name", NULL},
                                      {isnan(p->drawn->wins) ? "time" : "time (90%)", "time", NULL},
                                      {"?fastest in", "won", NULL},
                                      {"sent/rank", "bytes_sent_max", "B"},
                                      {"recv/rank", "bytes_received_max", "B"},
                                      {"moved: max/mean", "bytes_imbalance", "%.2f"},
                                      {"served: max/mean", "served_imbalance", "%.2f"},
                                      {"held: max/mean", "held_imbalance", "%.2f"},
                                      {"<bottleneck", "bottleneck", NULL}};
  cJSON *records = ss_placing_rows(p), *r = records ? records->child : NULL;
  for (size_t c = 0; r; c++, r = r->next) {
    char name[64], bound[SS_BOUND_TEXT_SIZE];
    snprintf(name, sizeof name, "%s%s", p->candidate[c].name, c == p->best ? " *" : "");
    ss_json_add(r, SS_T("name", name), SS_T("bottleneck", ss_bound_text(p->candidate[c].result, bound)));
    ss_time_add(r, "time", p->drawn[c].of.time, p->drawn[c].range.low, p->drawn[c].range.high);
    if (isnan(p->drawn[c].wins)) continue;
    snprintf(name, sizeof name, "%d of 100", ss_of_100(p->drawn[c].wins));
    ss_json_add_text(r, "won", name);
  }
  return ss_records_print(columns, records, false, stream, error);
}

enum { RANKS_TOLD = 8 };

static void rank_cell(struct ss_table *table, const struct ss_shards *shards, uint32_t ranks) {
  char text[16 * RANKS_TOLD + 8] = "";
  size_t used = 0;
  for (uint32_t i = 0; i < shards->count && i < RANKS_TOLD; i++)
    used += (size_t)snprintf(text + used, sizeof text - used, "%s%" PRIu32, i ? " " : "", shards->rank[i]);
  if (shards->count > RANKS_TOLD) (void)snprintf(text + used, sizeof text - used, " ...");
  ss_table_cell(table, "%s", shards->count == ranks && ranks > 1 ? "all" : text);
}

static bool print_best(const struct ss_placing *p, FILE *stream, struct ss_error *error) {
  const struct ss_placement *best = &p->candidate[p->best].placement;
  struct ss_table *table = ss_table_of("<table", "rows", "columns", p->pooled ? "bags" : "lookups", "traffic", "size",
                                       "<partition", "<ranks");
  for (uint32_t k = 0; k < p->tables; k++) {
    const struct ss_table_load *t = &p->table[k];
    ss_table_cell(table, "%s", t->name);
    ss_table_cell(table, "%" PRIu64, t->rows);
    ss_table_cell(table, "%" PRIu32, t->width);
    ss_table_number(table, "%.0f", p->pooled ? t->bags : t->lookups);
    ss_table_quantity(table, SS_BYTES, t->bytes);
    ss_table_quantity(table, SS_BYTES, t->held);
    ss_table_cell(table, "%s", ss_sharding_names[best->shards[k].cut]);
    rank_cell(table, &best->shards[k], p->ranks);
  }
  return ss_table_print_free(table, false, stream, error);
}

bool ss_placing_table(const struct ss_placing *p, FILE *stream, struct ss_error *error) {
  print_answer(p, stream);
  if (!print_candidates(p, stream, error)) return false;
  (void)fputc('\n', stream);
  return print_best(p, stream, error);
}
/* SPDX-License-Identifier: Apache-2.0 */
