#include "report/links.h"

#include "report/table.h"

static const char *const kind_words[SS_LINK_KINDS] = {"egress", "ingress",  "NIC out", "NIC in",
                                                      "uplink", "downlink", "bus"};

static double share(const struct ss_result *p) {
  return p->time > 0 ? 100 * p->bound / p->time : 0;
}

const char *ss_bound_text(const struct ss_result *p, char text[SS_BOUND_TEXT_SIZE]) {
  if (p->bound_by[0] && p->time > 0) snprintf(text, SS_BOUND_TEXT_SIZE, "%s %.0f%%", p->bound_by, share(p));
  else snprintf(text, SS_BOUND_TEXT_SIZE, "-");
  return text;
}

const char *ss_busiest_text(const struct ss_result *p, char text[SS_BOUND_TEXT_SIZE]) {
  size_t most = SS_LINK_KINDS;
  /* of a port and a shared link that are as busy, the latter tells more */
  for (size_t k = SS_LINK_KINDS; k-- > 0;)
    if (p->usage[k].links > 0 && (most == SS_LINK_KINDS || p->usage[k].busy_max > p->usage[most].busy_max)) most = k;
  if (most < SS_LINK_KINDS)
    snprintf(text, SS_BOUND_TEXT_SIZE, "%s %.0f%%", kind_words[most], 100 * p->usage[most].busy_max);
  else snprintf(text, SS_BOUND_TEXT_SIZE, "-");
  return text;
}

void ss_links_words(const struct ss_result *p, FILE *s) {
  char time[32];
  if (!p->bound_by[0] || !(p->time > 0)) return;
  fprintf(s, "Its bottleneck is the %s: what that has to carry takes %s, %.0f%% of the time.", p->bound_by,
          ss_units_format(time, sizeof time, SS_TIME, p->bound), share(p));
  const char *between = " Share of the time in which bytes flow, on the busiest link of a kind / in the mean: ";
  for (size_t k = 0; k < SS_LINK_KINDS; k++) {
    const struct ss_link_usage *u = &p->usage[k];
    if (u->links == 0) continue;
    fprintf(s, "%s%s %.0f%% / %.0f%%", between, kind_words[k], 100 * u->busy_max, 100 * u->busy_mean);
    between = ", ";
  }
  if (between[0] == ',') fputc('.', s);
}

static bool has(const struct ss_result *points, size_t n, size_t kind) {
  for (size_t i = 0; i < n; i++)
    if (points[i].usage[kind].links > 0) return true;
  return false;
}

struct ss_table *ss_links_table(const struct ss_result *points, size_t n, bool *any) {
  const char *heads[SS_LINK_KINDS + 1] = {"<scheme"};
  size_t columns = 1;
  for (size_t k = 0; k < SS_LINK_KINDS; k++)
    if (has(points, n, k)) heads[columns++] = kind_words[k];
  *any = columns > 1;
  struct ss_table *table = *any ? ss_table_new(columns, heads) : NULL;
  if (!table) return NULL;
  for (size_t i = 0; i < n; i++) {
    ss_table_cell(table, "%s", points[i].setting.label);
    for (size_t k = 0; k < SS_LINK_KINDS; k++) {
      const struct ss_link_usage *u = &points[i].usage[k];
      if (!has(points, n, k)) continue;
      if (u->links == 0) ss_table_cell(table, "-");
      else ss_table_cell(table, "%.0f%% / %.0f%%", 100 * u->busy_max, 100 * u->busy_mean);
    }
  }
  return table;
}

struct ss_table *ss_links_rows(const struct ss_result *points, size_t n) {
  struct ss_table *table = ss_table_of("<scheme", "<links", "count", "busiest", "mean", "carries most", "mean");
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < SS_LINK_KINDS; k++) {
      const struct ss_link_usage *u = &points[i].usage[k];
      if (u->links == 0) continue;
      ss_table_texts(table, points[i].setting.label, kind_words[k]);
      ss_table_cell(table, "%u", (unsigned)u->links);
      ss_table_cell(table, "%.1f%%", 100 * u->busy_max);
      ss_table_cell(table, "%.1f%%", 100 * u->busy_mean);
      ss_table_quantity(table, SS_BYTES, u->bytes_max);
      ss_table_quantity(table, SS_BYTES, u->bytes_mean);
    }
  return table;
}
