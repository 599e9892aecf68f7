/* Who is fastest and how sure that is, in words: the same in run, plan, train and report. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

struct cJSON;
struct ss_decision;

/* Of a record with what ss_decision_add_times and ss_decision_add_draws give it, and the "label" of the best: null,
 * as that of the next, is each tensor with its own.
 *
 * "NAME is fastest in 97 of 100 draws, 2.05 ms (1.5 ms to 2.9 ms); NEXT takes 1.2 to 1.5 times as long", or "NAME,
 * 2.05 ms (...), and RIVAL, 0.9 to 1.4 times as long, cannot be told apart: ...", from 66 of 100 draws on "NAME is
 * likely fastest, in 92 of 100 draws, 2.05 ms (...); RIVAL, 0.9 to 1.4 times as long, is in 5: ..."; where nothing is
 * drawn "NAME is fastest, 2.05 ms; NEXT takes 1.33 times as long". Of plan's rows that another window turns: "under
 * the cluster's window NAME is fastest, ...; under window all OTHER is, 1.8 ms, and NAME takes 2 ms". */
void ss_decision_print(const struct cJSON *record, FILE *stream);
/* The same of a decision itself. */
void ss_decision_tell(const struct ss_decision *decision, FILE *stream);
/* What stands behind "lossless" or "lossy": nothing, or ": it applies 16.6% of the energy of what ranks had";
 * `energy` is the share of that which was applied, NaN: not known. */
void ss_energy_print(bool lossless, double energy, FILE *stream);
/* A share of draws, of 100: at least so many, so that what is said to be 95 decides, and 100 are all. */
int ss_of_100(double share);
/* Its time, "2.05 ms (1.5 ms to 2.9 ms)". */
void ss_decision_print_time(const struct cJSON *record, FILE *stream);
/* What a PyTorch user calls, out of "offered", in a line for each "label" of the records, once: "In PyTorch:
 * allgather is DDP's: Embedding(...)."; where nobody offers it, with the nearest offer of their "scheme", or else the
 * fastest that is offered. */
void ss_offers_print(const struct cJSON *records, FILE *stream);
/* What is called so, as tables name it. */
const char *ss_decision_name(const struct cJSON *record, const char *field);
/* What is called so ("label", "next", "rival"), as a sentence names it first: "NAME (lossy)". What who takes it has
 * to know is in members of the name ("next_lossless"), of the label in "lossless" and "model_parallel". */
void ss_decision_print_name(const struct cJSON *record, const char *field, FILE *stream);
/* SPDX-License-Identifier: Apache-2.0 */
