/* A law of lookups from what is known of a tensor. Who has no trace knows perhaps its density, and how it grows over
 * ranks; here these are targets, and the parameters of trace/make/synth.h are solved for them.
 *
 *   density         distinct rows of a rank in an iteration / rows of the table
 *   gamma@K         distinct rows of K ranks together / those of one
 *   skewness@P      densest of P even row ranges / density
 *   coalescing      lookups of a rank / its distinct rows
 *   repeat@K        share of a rank's distinct rows that any of K ranks looks up in the next iteration
 *
 * Row i, of probability p_i, is among n lookups with 1 - (1 - p_i)^n, and among those of K ranks, which share c of
 * them, with 1 - (1 - p_i)^(n (c + K (1 - c))). All five are sums of these over the table; the scattering of rows and
 * the chance that another range is the densest enter the skewness (docs/traces.md, "Laws from statistics"). The
 * simplest law that has them all counts: the families in turn free more parameters. */
#pragma once

#include "trace/make/synth.h"

enum ss_statistic { SS_LIKE_DENSITY, SS_LIKE_GAMMA, SS_LIKE_SKEWNESS, SS_LIKE_COALESCING, SS_LIKE_REPEAT };
enum { SS_LIKE_MOST = 16 };

struct ss_like {
  size_t count;
  struct {
    enum ss_statistic of;
    uint32_t at; /* ranks or ranges; 0: it has none */
    double asked, reached;
  } statistic[SS_LIKE_MOST];
};

/* "density=1.13%,gamma@16=5.2". Unknown names, values out of range and what is said twice are SS_BAD_INPUT errors. */
bool ss_like_parse(const char *text, struct ss_like *out, struct ss_error *error) SS_MUST_CHECK;
/* The same of an object: {"density": "1.13%", "gamma@16": 5.2}. */
bool ss_like_read(struct ss_node node, struct ss_like *out, struct ss_error *error) SS_MUST_CHECK;
/* "gamma@16"; returns `buffer`. */
const char *ss_like_name(const struct ss_like *like, size_t index, char *buffer, size_t size);

/* Solves for lookups, zipf, hot, hot_rows, hot_zipf, shared, and where skewness is asked ids and scatter; fills
 * `reached`, what the law leads one to expect. Lookups are held where `hold_lookups` says so or neither density nor
 * coalescing is asked. No statistic is more than 2% off: else it is an SS_BAD_INPUT error that names it and what is
 * reachable.
 */
bool ss_like_fit(struct ss_like *like, bool hold_lookups, struct ss_synth *synth,
                 struct ss_error *error) SS_MUST_CHECK;

/* Of a document's "synth" that has a member "like": reads and fits it. What it solves for must not stand beside it.
 * Without that member nothing is done. */
bool ss_like_apply(struct ss_node synth, struct ss_synth *out, struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
