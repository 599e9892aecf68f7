#include "base/json.h"
#include "schemes/scheme.h"

static bool stands_at(const struct ss_setting *setting, const char *option, const char *choice) {
  const uint64_t *flag = ss_setting_find(setting, option);
  if (strcmp(choice, "true") == 0 || strcmp(choice, "false") == 0) return flag && (*flag > 0) == (*choice == 't');
  return ss_setting_says(setting, option, choice);
}

const struct ss_offer *ss_offer_over(const struct ss_offer *offer, const struct ss_library *library) {
  const bool other = offer->over && library && library->kind && library->kind != offer->over;
  return offer->by[0] && !other ? offer : NULL;
}

const struct ss_offer *ss_setting_offer(const struct ss_setting *setting, const struct ss_library *library) {
  for (const struct ss_offered *o = setting->scheme->offered; o && (o->option || o->offer.by[0]); o++)
    if (o->hierarchy == setting->hierarchy && (!o->option || stands_at(setting, o->option, o->choice)))
      return ss_offer_over(&o->offer, library);
  return NULL;
}

cJSON *ss_offer_json(const struct ss_offer *offer, const struct ss_library *library) {
  if (!offer) return cJSON_CreateNull();
  cJSON *o = ss_json_object(SS_T("by", offer->by), SS_T("how", offer->how), SS_T("url", offer->url));
  if (offer->over && !(library && library->kind)) ss_json_add(o, SS_T("over", ss_library_names[offer->over]));
  return o;
}
/* SPDX-License-Identifier: Apache-2.0 */
