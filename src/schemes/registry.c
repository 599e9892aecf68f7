/* The one list of schemes. */
#include "schemes/registry.h"

#include <string.h>

static const struct ss_scheme *const schemes[] = {
    &ss_scheme_allreduce,
    &ss_scheme_allgather,
    &ss_scheme_ps,
    &ss_scheme_alltoall,
    &ss_scheme_sparcml_rd,
    &ss_scheme_sparcml_split,
    &ss_scheme_sparcml_dsar,
    &ss_scheme_omnireduce,
    &ss_scheme_zen,
    &ss_scheme_topka,
    &ss_scheme_topkdsa,
    &ss_scheme_gtopk,
    &ss_scheme_oktopk,
    &ss_scheme_s2,
    &ss_scheme_spardl,
    &ss_scheme_design,
    NULL,
};

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
