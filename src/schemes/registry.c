#include "schemes/registry.h"

#include "machine/library.h"

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

uint32_t ss_scheme_collective(const struct ss_scheme *scheme) {
  return scheme == &ss_scheme_allreduce   ? SS_ALLREDUCE
         : scheme == &ss_scheme_allgather ? SS_ALLGATHER
         : scheme == &ss_scheme_alltoall  ? SS_ALLTOALL
                                          : SS_COLLECTIVES;
}

uint64_t ss_scheme_call_bytes(const struct ss_setting *setting, uint32_t ranks, double sent) {
  const bool gathers = setting->scheme == &ss_scheme_allgather, /* others go there and back, or are two exchanges */
      once = gathers || (setting->scheme == &ss_scheme_alltoall && !ss_setting_says(setting, "exchange", "both"));
  const double bytes = sent / (ranks > 1 ? (once ? 1 : 2) * (ranks - 1.0) : 1);
  return bytes > 0 && bytes < 0x1p63 ? (uint64_t)bytes : 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
