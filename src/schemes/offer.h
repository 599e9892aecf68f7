/* Who offers a scheme to somebody who trains with PyTorch: a library that is installed and called. The training
 * script of a paper is none. */
#pragma once

#include "schemes/setting.h"

struct ss_offer {
  char by[32];   /* "": nobody */
  char how[160]; /* what is called, or set */
  char url[160]; /* where that is said */
};

/* A scheme's table ends without a choice and an offer; the first that fits holds. One by "" excludes. */
struct ss_offered {
  const char *option,
      *choice; /* settings whose option stands at that choice, of a flag "true" or "false"; NULL: all */
  enum ss_hierarchy hierarchy; /* and this alone */
  struct ss_offer offer;
};

/* NULL: nobody. */
const struct ss_offer *ss_setting_offer(const struct ss_setting *setting);
/* {"by", "how", "url"}, the caller's; NULL, or one by "": null. */
struct cJSON *ss_offer_json(const struct ss_offer *offer);
