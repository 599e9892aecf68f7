#include "base/json.h"
#include "schemes/scheme.h"

static bool stands_at(const struct ss_setting *setting, const char *option, const char *choice) {
  const uint64_t *flag = ss_setting_find(setting, option);
  if (strcmp(choice, "true") == 0 || strcmp(choice, "false") == 0) return flag && (*flag > 0) == (*choice == 't');
  return ss_setting_says(setting, option, choice);
}

const struct ss_offer *ss_setting_offer(const struct ss_setting *setting) {
  for (const struct ss_offered *o = setting->scheme->offered; o && (o->option || o->offer.by[0]); o++)
    if (o->hierarchy == setting->hierarchy && (!o->option || stands_at(setting, o->option, o->choice)))
      return o->offer.by[0] ? &o->offer : NULL;
  return NULL;
}

cJSON *ss_offer_json(const struct ss_offer *offer) {
  if (!offer || !offer->by[0]) return cJSON_CreateNull();
  return ss_json_object(SS_T("by", offer->by), SS_T("how", offer->how), SS_T("url", offer->url));
}
/* SPDX-License-Identifier: Apache-2.0 */
