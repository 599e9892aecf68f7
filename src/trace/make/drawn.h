/* Synthetic lookups that were drawn already, for whoever draws the same again, or more of it. A longer or wider trace
 * begins like a shorter or narrower one (trace/make/synth.h), so what is kept is one beginning for each rank and
 * iteration of a law. Any thread may use it; what a trace holds does not depend on it. */
#pragma once

#include "trace/make/synth.h"

struct ss_drawn;

/* Keeps at most so many bytes; no law takes more than a quarter of them. NULL when memory is short. */
struct ss_drawn *ss_drawn_new(uint64_t bytes);
/* NULL is nothing. */
void ss_drawn_free(struct ss_drawn *drawn);
/* How many lookups were taken from it instead of being drawn. */
uint64_t ss_drawn_spared(const struct ss_drawn *drawn);

/* --- for trace/make/synth.c alone --------------------------------------------------------------------------- */

/* What was drawn by one law. */
struct ss_drawn_law;

/* The law's, which is the caller's alone until it is closed. NULL: nothing is kept of it (also where `drawn` is
 * NULL), as of a histogram of reuse. */
struct ss_drawn_law *ss_drawn_open(struct ss_drawn *drawn, const struct ss_synth *synth);
/* Copies the beginning of what the rank looks up in the iteration; returns how many lookups are known, `count` at the
 * most. With NULL none are. */
uint64_t ss_drawn_take(struct ss_drawn_law *law, uint64_t iteration, uint32_t rank, uint32_t *rows, uint64_t count);
/* Keeps them, if they are more than are known. Ranks and iterations of an open law may be put side by side. */
void ss_drawn_put(struct ss_drawn_law *law, uint64_t iteration, uint32_t rank, const uint32_t *rows, uint64_t count);
/* `spared`: lookups that were taken from it. */
void ss_drawn_close(struct ss_drawn_law *law, uint64_t spared);
/* SPDX-License-Identifier: Apache-2.0 */
