/* What `calibrate training` inferred, as a file or an object: a scenario's "software" (docs/training.md). */
#pragma once

#include "base/fields.h"
#include "machine/accuracy.h"
#include "train/assumed.h"

struct ss_inferred_file {
  struct ss_doc *doc; /* of a file; NULL: none was read */
  struct ss_arena arena;
  struct ss_inferred inferred;
  const char *name; /* NULL: it has none */
  uint32_t numbers; /* that it was fitted to; 0: nobody says; inferred.within: half, and 90%, of these
                       are predicted within such factors, each left out */
  struct ss_spread
      within; /* half, and 90%, of these are predicted within such factors, each left out; 0: nobody says */
};

extern const struct ss_object_spec ss_inferred_fields;
/* A path, which may lie beside the file `base`, or the object; texts are the documents'. To be closed, also after a
 * failure. */
bool ss_inferred_read(struct ss_node node, const char *base, struct ss_inferred_file *out,
                      struct ss_error *error) SS_MUST_CHECK;
void ss_inferred_close(struct ss_inferred_file *file);
/* SPDX-License-Identifier: Apache-2.0 */
