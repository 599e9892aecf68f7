/* The one list of schemes. */
#include "schemes/registry.h"

#include <string.h>

static const struct ss_scheme *const schemes[] = {
    &ss_scheme_allreduce, &ss_scheme_allgather, &ss_scheme_ps, &ss_scheme_alltoall, NULL,
};

const struct ss_scheme *const *ss_schemes(void) {
  return schemes;
}

const struct ss_scheme *ss_scheme_find(const char *name) {
  for (size_t i = 0; schemes[i]; i++)
    if (strcmp(schemes[i]->name, name) == 0) return schemes[i];
  return NULL;
}
