#include "report/decision.h"

#include "base/json.h"
#include "base/units.h"
#include "schemes/registry.h"
#include "schemes/setting.h"
#include "study/ranges.h"

const char *ss_decision_name(const struct cJSON *record, const char *field) {
  const char *label = ss_json_word(record, field);
  return label ? label : "each with its own";
}

void ss_decision_print_name(const struct cJSON *record, const char *field, FILE *stream) {
  char lossless[40], cut[40];
  const bool own = strcmp(field, "label") == 0;
  snprintf(lossless, sizeof lossless, "%s%slossless", own ? "" : field, own ? "" : "_");
  snprintf(cut, sizeof cut, "%s%smodel_parallel", own ? "" : field, own ? "" : "_");
  fprintf(stream, "%s%s", ss_decision_name(record, field),
          ss_needs_words(cJSON_IsFalse(ss_json_get(record, lossless)), cJSON_IsTrue(ss_json_get(record, cut))));
}

static void print_time(double time, double low, double high, FILE *stream) {
  fputs(ss_shown(SS_TIME, time), stream);
  if (low < high) fprintf(stream, " (%s to %s)", ss_shown(SS_TIME, low), ss_shown(SS_TIME, high));
}

void ss_decision_print_time(const struct cJSON *record, FILE *stream) {
  print_time(ss_json_number(record, "time_s"), ss_json_number(record, "time_low_s"),
             ss_json_number(record, "time_high_s"), stream);
}

int ss_of_100(double share) {
  return (int)floor(100 * share + 1e-9);
}

static int of_100(const struct cJSON *record, const char *share) {
  return ss_of_100(ss_json_number(record, share));
}

/* "zen is", or of those that take as long "zen, allgather and 2 others alike are"; the ties are of the record. */
static void print_best(const struct cJSON *record, bool verb, FILE *stream) {
  enum { NAMED = 2 };
  const cJSON *ties = ss_json_get(record, "ties"), *tie = ties ? ties->child : NULL;
  const int n = cJSON_GetArraySize(ties);
  ss_decision_print_name(record, "label", stream);
  for (int i = 0; tie && i < NAMED; i++, tie = tie->next) {
    fputs(i + 1 == n ? " and " : ", ", stream);
    ss_decision_print_name(tie, "label", stream);
  }
  if (n > NAMED) fprintf(stream, " and %d other%s", n - NAMED, n > NAMED + 1 ? "s" : "");
  if (n > 0) fputs(" alike", stream);
  if (verb) fputs(n > 0 ? " are" : " is", stream);
}

/* By the numbers as they are given one takes least, and another one does so in more of the draws. */
static void print_overtaken(const struct cJSON *record, FILE *stream) {
  const bool likely = ss_json_number(record, "rival_wins") >= SS_LIKELY, tied = ss_json_get(record, "ties");
  print_best(record, false, stream);
  fprintf(stream, " take%s least by numbers as given, ", tied ? "" : "s");
  ss_decision_print_time(record, stream);
  fputs("; but ", stream);
  ss_decision_print_name(record, "rival", stream);
  fprintf(stream, ", %.2f to %.2f times as long, is %sfastest in %d of 100 draws, more than the %d of %s",
          ss_json_number(record, "rival_ratio_low"), ss_json_number(record, "rival_ratio_high"),
          likely ? "likely " : "", of_100(record, "rival_wins"), of_100(record, "wins"),
          ss_decision_name(record, "label"));
}

static void print_near(const struct cJSON *record, FILE *stream) {
  const bool likely = ss_json_number(record, "wins") >= SS_LIKELY;
  print_best(record, likely, stream);
  if (likely) fprintf(stream, " likely fastest, in %d of 100 draws", of_100(record, "wins"));
  fputs(", ", stream);
  ss_decision_print_time(record, stream);
  fputs(likely ? "; " : ", and ", stream);
  ss_decision_print_name(record, "rival", stream);
  fprintf(stream, ", %.2f to %.2f times as long, ", ss_json_number(record, "rival_ratio_low"),
          ss_json_number(record, "rival_ratio_high"));
  if (likely) fprintf(stream, "is in %d", of_100(record, "rival_wins"));
  else
    fprintf(stream, "cannot be told apart: they are fastest in %d and %d of 100 draws", of_100(record, "wins"),
            of_100(record, "rival_wins"));
}

/* Who takes what two leave of the draws, where that is not little: up to two by name, and how many more. */
static void print_others(const struct cJSON *record, FILE *stream) {
  enum { NAMED = 2, LITTLE = 5 };
  const int n = cJSON_GetArraySize(ss_json_get(record, "others"));
  int left = 100 - of_100(record, "wins") - of_100(record, "rival_wins");
  if (n == 0 || left < LITTLE) return;
  const cJSON *o = ss_json_get(record, "others")->child;
  fprintf(stream, "; of the other %d", left);
  int named = 0;
  for (; o && named < NAMED && (named + 1 == n || of_100(o, "wins") > 0); named++, o = o->next) {
    const int takes = named + 1 == n ? left : of_100(o, "wins"); /* the last has what rounding leaves */
    fputs(named ? ", " : " ", stream);
    ss_decision_print_name(o, "label", stream);
    fprintf(stream, " takes %d", takes);
    left -= takes;
  }
  if (n > named) fprintf(stream, "%s %d other%s %d", named ? "," : "", n - named, n > named + 1 ? "s" : "", left);
}

static void print_contest(const struct cJSON *record, FILE *stream) {
  const char *measure = ss_json_word(record, "measure");
  if (ss_json_number(record, "rival_wins") > ss_json_number(record, "wins")) print_overtaken(record, stream);
  else print_near(record, stream);
  print_others(record, stream);
  if (measure) fprintf(stream, "; measuring %s would tell most", measure);
  else fputs("; only a run of both would tell, no number of the machine", stream);
}

static void print_next(const struct cJSON *record, FILE *stream) {
  const double time = ss_json_number(record, "time_s"), next = ss_json_number(record, "next_time_s"),
               low = ss_json_number(record, "next_ratio_low"), high = ss_json_number(record, "next_ratio_high");
  char text[32];
  fputs("; ", stream);
  ss_decision_print_name(record, "next", stream);
  if (time == 0 && next > 0) fprintf(stream, " takes %s", ss_units_format(text, sizeof text, SS_TIME, next));
  else if (isfinite(low)) fprintf(stream, " takes %.2f to %.2f times as long", low, high);
  else if (next < 1.005 * time) fputs(" is nearly as fast", stream);
  else fprintf(stream, " takes %.2f times as long", next / time);
}

/* Another window of the cluster is no draw: where it turns the choice, nothing is sure without it. */
static void print_turn(const struct cJSON *record, FILE *stream) {
  char time[2][32];
  ss_units_format(time[0], sizeof time[0], SS_TIME, ss_json_number(record, "other_best_s"));
  ss_units_format(time[1], sizeof time[1], SS_TIME, ss_json_number(record, "other_time_s"));
  fprintf(stream, "; under window %s ", ss_json_word(record, "other_window"));
  ss_decision_print_name(record, "other_best", stream);
  fprintf(stream, " is, %s, and %s takes %s (as numbers are given)", time[0], ss_decision_name(record, "label"),
          time[1]);
}

static void print_who(const struct cJSON *record, FILE *stream) {
  const bool drawn = isfinite(ss_json_number(record, "wins")) && ss_json_number(record, "time_s") > 0,
             alone = isnan(ss_json_number(record, "next_time_s"));
  if (drawn && ss_json_word(record, "rival")) {
    print_contest(record, stream);
    return;
  }
  print_best(record, !alone, stream);
  if (alone) fputs(" takes ", stream);
  else if (drawn) fprintf(stream, " fastest in %d of 100 draws, ", of_100(record, "wins"));
  else fputs(" fastest, ", stream);
  ss_decision_print_time(record, stream);
  if (!alone && !ss_json_get(record, "ties")) print_next(record, stream);
}

void ss_decision_print(const struct cJSON *record, FILE *stream) {
  const bool turns = ss_json_word(record, "other_best") != NULL;
  if (turns) fputs("under the cluster's window ", stream);
  print_who(record, stream);
  if (turns) print_turn(record, stream);
}

void ss_decision_tell(const struct ss_decision *decision, FILE *stream) {
  SS_AUTO_JSON cJSON *record = ss_candidate_json(decision->best);
  ss_decision_add_times(record, decision);
  ss_decision_add_draws(record, decision);
  ss_decision_print(record, stream);
}

void ss_energy_print(bool lossless, double energy, FILE *stream) {
  char applied[32] = "more than 99.9%";
  if (energy < 0.9995) snprintf(applied, sizeof applied, "%.1f%%", 100 * energy);
  if (lossless && energy < 1)
    fprintf(stream, " for what the scenario selects, %s of the energy of what ranks had", applied);
  else if (!lossless && energy <= 1) fprintf(stream, ": it applies %s of the energy of what ranks had", applied);
  else if (!lossless && energy > 1)
    fprintf(stream, ": what it applies has %.2f times the energy of what ranks had, the rest is noise", energy);
}

/* The scheme's offer that others come nearest to, one over any library before one over its own alone; NULL: none. */
static const struct ss_offered *nearest_offer(const struct ss_scheme *scheme) {
  const struct ss_offered *nearest = NULL;
  for (const struct ss_offered *o = scheme ? scheme->offered : NULL; o && (o->option || o->offer.by[0]); o++)
    if (o->offer.by[0] && (!nearest || (nearest->offer.over && !o->offer.over))) nearest = o;
  return nearest;
}

/* "TorchRec's NAME: how it is called", of any scheme or of a record's own. */
static void print_nearest(const struct ss_scheme *scheme, const cJSON *record, FILE *stream) {
  const struct ss_offered *o = nearest_offer(scheme);
  const char *over = o && o->offer.over ? ss_library_names[o->offer.over] : ss_json_word(record, "offered_best_over");
  if (o) {
    fprintf(stream, " Nearest is %s's %s", o->offer.by, scheme->name);
    if (o->option) fprintf(stream, ":%s=%s", o->option, o->choice);
    if (o->hierarchy) fprintf(stream, "%chierarchy=%s", o->option ? ',' : ':', ss_hierarchies[o->hierarchy]);
    fprintf(stream, ": %s", o->offer.how);
  } else if (ss_json_word(record, "offered_best")) {
    fputs(" Of the candidates that are offered ", stream);
    ss_decision_print_name(record, "offered_best", stream);
    fputs(" takes least as numbers are given, ", stream);
    print_time(ss_json_number(record, "offered_best_s"), ss_json_number(record, "offered_best_low_s"),
               ss_json_number(record, "offered_best_high_s"), stream);
    fprintf(stream, ": %s's %s", ss_json_word(record, "offered_best_by"), ss_json_word(record, "offered_best_how"));
  } else {
    return;
  }
  if (over) fprintf(stream, "; over %s alone", over);
  fputc('.', stream);
  if (!o && ss_json_word(record, "scheme")) fputs(" (sparsync plan --offered tries all that is.)", stream);
}

static void print_offer(const char *name, const cJSON *offered, FILE *stream) {
  const char *over = ss_json_word(offered, "over");
  fprintf(stream, "In PyTorch: %s is %s's: %s", name, ss_json_word(offered, "by"), ss_json_word(offered, "how"));
  if (over) fprintf(stream, "; over %s alone, and this cluster names no library", over);
  fputc('.', stream);
}

static bool said_before(const cJSON *record, const char *label) {
  for (const cJSON *r = record->prev; r->next; r = r->prev) {
    const char *other = ss_json_word(r, "label");
    if (other && strcmp(other, label) == 0) return true;
  }
  return false;
}

void ss_offers_print(const cJSON *records, FILE *stream) {
  for (const cJSON *r = records->child; r; r = r->next) {
    const char *label = ss_json_word(r, "label");
    if (!label || said_before(r, label)) continue;
    const cJSON *offered = ss_json_get(r, "offered");
    const char *scheme = ss_json_word(r, "scheme");
    if (ss_json_word(offered, "by")) {
      print_offer(label, offered, stream);
    } else {
      fprintf(stream,
              "In PyTorch: nobody offers %s: it takes code of your own, say a comm hook (sparsync.torch.apply).",
              label);
      print_nearest(scheme ? ss_scheme_find(scheme) : NULL, r, stream);
    }
    fputc('\n', stream);
  }
}
/* SPDX-License-Identifier: Apache-2.0 */
