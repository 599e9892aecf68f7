/* What `plan` chooses from where the scenario names no schemes. */
#ifndef SS_STUDY_CANDIDATES_H
#define SS_STUDY_CANDIDATES_H

#include <stdbool.h>

struct cJSON;

/* A list of schemes as a scenario has it, the caller's; NULL when memory is short. Every registered scheme but the
 * families, with each of its algorithms or formats; with `hierarchies` all of them again behind shards and leaders.
 * Simple ones first, so that they win ties. Whether one can run somewhere is not asked here. */
struct cJSON *ss_candidates(bool hierarchies);

#endif
