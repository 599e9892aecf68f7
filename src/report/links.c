#include "report/links.h"

#include "base/json_text.h"

#include <cjson/cJSON.h>

static const char *const kind_words[SS_LINK_KINDS] = {"egress",   "ingress", "NIC out",  "NIC in", "uplink",
                                                      "downlink", "bus",     "host out", "host in"};

static double share(const struct ss_result *p) {
  return p->time > 0 ? 100 * p->bound / p->time : 0;
}

const char *ss_bound_text(const struct ss_result *result, char text[SS_BOUND_TEXT_SIZE]) {
  if (result->bound_by[0] && result->time > 0)
    snprintf(text, SS_BOUND_TEXT_SIZE, "%s %.0f%%", result->bound_by, share(result));
  else snprintf(text, SS_BOUND_TEXT_SIZE, "-");
  return text;
}

const char *ss_busiest_text(const struct ss_result *result, char text[SS_BOUND_TEXT_SIZE]) {
  size_t most = SS_LINK_KINDS;
  /* of a port and a shared link that are as busy, the latter tells more */
  for (size_t k = SS_LINK_KINDS; k-- > 0;)
    if (result->usage[k].links > 0 &&
        (most == SS_LINK_KINDS || result->usage[k].busy_max > result->usage[most].busy_max))
      most = k;
  if (most < SS_LINK_KINDS)
    snprintf(text, SS_BOUND_TEXT_SIZE, "%s %.0f%%", kind_words[most], 100 * result->usage[most].busy_max);
  else snprintf(text, SS_BOUND_TEXT_SIZE, "-");
  return text;
}

void ss_links_words(const struct ss_result *result, FILE *s) {
  char time[32];
  if (!result->bound_by[0] || !(result->time > 0)) return;
  fprintf(s, "Its bottleneck is the %s: what that has to carry takes %s, %.0f%% of the time.", result->bound_by,
          ss_units_format(time, sizeof time, SS_TIME, result->bound), share(result));
  const char *between = " Share of the time in which bytes flow, on the busiest link of a kind / in the mean: ";
  for (size_t k = 0; k < SS_LINK_KINDS; k++) {
    const struct ss_link_usage *u = &result->usage[k];
    if (u->links == 0) continue;
    fprintf(s, "%s%s %.0f%% / %.0f%%", between, kind_words[k], 100 * u->busy_max, 100 * u->busy_mean);
    between = ", ";
  }
  if (between[0] == ',') fputc('.', s);
}

void ss_links_add_words(cJSON *links) {
  char text[64];
  for (size_t k = 0; k < SS_LINK_KINDS; k++) {
    cJSON *kind = ss_json_get(links, ss_link_kind_names[k]);
    if (!kind) continue;
    snprintf(text, sizeof text, "%.0f%% / %.0f%%", 100 * ss_json_get(kind, "busy_max")->valuedouble,
             100 * ss_json_get(kind, "busy_mean")->valuedouble);
    ss_json_add(kind, SS_T("busy", text), SS_T("kind", kind_words[k]));
  }
}
