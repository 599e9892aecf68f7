#include "schemes/registry.h"

#define SS_LIST_SCHEME(name) &ss_scheme_##name,
static const struct ss_scheme *const schemes[] = {SS_SCHEMES(SS_LIST_SCHEME) NULL};

const struct ss_scheme *const *ss_schemes(void) {
  return schemes;
}

const struct ss_scheme *ss_scheme_find(const char *name) {
  const size_t length = strcspn(name, ":");
  for (size_t i = 0; schemes[i]; i++)
    if (strlen(schemes[i]->name) == length && strncmp(schemes[i]->name, name, length) == 0 &&
        (!name[length] || schemes[i]->parse))
      return schemes[i];
  return NULL;
}
/* SPDX-License-Identifier: Apache-2.0 */
