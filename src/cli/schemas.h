/* The documents that there are schemas of (docs/schemas): what the program reads, and what it writes. */
#ifndef SS_CLI_SCHEMAS_H
#define SS_CLI_SCHEMAS_H

#include "base/fields.h"

struct ss_schema {
  const char *name; /* docs/schemas/NAME.schema.json; NULL ends the list */
  const struct ss_object_spec *spec;
};
extern const struct ss_schema ss_schemas[];

#endif
