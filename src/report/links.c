#include "report/links.h"

static const char *const kind_words[SS_LINK_KINDS] = {"egress",   "ingress", "NIC out",  "NIC in", "uplink",
                                                      "downlink", "bus",     "host out", "host in"};

const char *ss_bound_text(const struct ss_result *result, char text[SS_BOUND_TEXT_SIZE]) {
  const double startup = result->bound_startup > 0 ? result->bound_startup / result->time : 0;
  if (!result->bound_by[0] || !(result->time > 0)) return memcpy(text, "-", sizeof "-");
  const int used = snprintf(text, SS_BOUND_TEXT_SIZE, "%s %.0f%%", result->bound_by,
                            100 * (result->bound / result->time - startup));
  if (startup >= 0.005 && used < SS_BOUND_TEXT_SIZE)
    snprintf(text + used, SS_BOUND_TEXT_SIZE - (size_t)used, "+%.0f%%", 100 * startup);
  return text;
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
/* SPDX-License-Identifier: Apache-2.0 */
