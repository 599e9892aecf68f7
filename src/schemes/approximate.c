#include "schemes/approximate.h"

/* One sample: what the engine made of the rounds that were played. */
struct sample {
  struct ss_outcome outcome;
  struct ss_tally *tally;    /* [networks] */
  uint64_t *sent, *received; /* [ranks]; NULL: not asked */
  double played;             /* share of the messages */
};

struct samples {
  const struct ss_setting *setting;
  const struct ss_world *world;
  const struct ss_input *input;
  struct ss_arena arena, play; /* of what follows; of one play */
  struct ss_state before;
  struct sample at[2]; /* odd and even ones */
  uint32_t networks;
  double *estimate, *former; /* [networks] s */
};

/* The first sample; how many estimates are to be compared at the least; and how many times as far from the truth as
 * from each other two of them may be. */
enum { FIRST_ROUNDS = 16, ESTIMATES = 3, SURE = 3 };
/* Estimates that agree by chance are no better than that. */
static const double least_error = 0.005;

static bool open_samples(struct samples *x, const struct ss_outcome *out, struct ss_error *error) {
  x->networks = x->world->clusters ? x->world->cluster_count : 1;
  bool ok = ss_take_zero(&x->arena, x->estimate, x->networks) && ss_take_zero(&x->arena, x->former, x->networks);
  for (int i = 0; ok && i < 2; i++) {
    ok = ss_take(&x->arena, x->at[i].tally, x->networks);
    if (ok && out->rank_sent)
      ok = ss_take(&x->arena, x->at[i].sent, x->input->ranks) &&
           ss_take(&x->arena, x->at[i].received, x->input->ranks);
  }
  return (ok || ss_fail_memory(error, "sampling rounds")) &&
         (!x->world->state || ss_state_save(x->world->state, &x->before, error));
}

static void close_samples(struct samples *x) {
  ss_arena_free(&x->arena);
  ss_arena_free(&x->play);
  ss_state_free(&x->before);
}

static bool play(struct samples *x, double share, struct sample *s, struct ss_error *error) {
  struct ss_world world = *x->world;
  uint64_t all;
  world.share = share;
  world.verify = false;
  s->outcome = (struct ss_outcome){.tallies = s->tally, .rank_sent = s->sent, .rank_received = s->received};
  ss_arena_reset(&x->play);
  if (!ss_simulate(x->setting, &world, x->input, &x->play, &s->outcome, error)) return false;
  if (!ss_add_u64(s->tally->messages, s->outcome.left_out, &all) || all == 0) all = 1;
  s->played = 1 - (double)s->outcome.left_out / (double)all;
  return true;
}

/* --- the whole ---------------------------------------------------------------------------------------------- */

/* What grows with the messages goes on as it did from the one sample to the other. */
struct line {
  double beyond; /* how many such steps are missing */
};

static double real(struct line line, double low, double high) {
  return high + (high - low) * line.beyond;
}

static uint64_t whole(struct line line, uint64_t low, uint64_t high) {
  const double value = real(line, (double)low, (double)high);
  return value > 0 ? (uint64_t)(value + 0.5) : 0;
}

static void extend_tally(struct line line, const struct ss_tally *low, struct ss_tally *t) {
  t->kernel = real(line, low->kernel, t->kernel);
  t->messages = whole(line, low->messages, t->messages);
  t->rounds = whole(line, low->rounds, t->rounds);
  t->bytes = whole(line, low->bytes, t->bytes);
  t->sent_max = whole(line, low->sent_max, t->sent_max);
  t->received_max = whole(line, low->received_max, t->received_max);
  t->server_max = whole(line, low->server_max, t->server_max);
  t->bound = real(line, low->bound, t->bound);
  for (int k = 0; k < SS_LINK_KINDS; k++) {
    struct ss_link_usage *u = &t->usage[k];
    const struct ss_link_usage *v = &low->usage[k];
    u->bytes_max = real(line, v->bytes_max, u->bytes_max);
    u->bytes_mean = real(line, v->bytes_mean, u->bytes_mean);
    u->busy_max = real(line, v->busy_max, u->busy_max);
    u->busy_mean = real(line, v->busy_mean, u->busy_mean);
  }
}

static struct line line_of(const struct sample *low, const struct sample *high) {
  return (struct line){(1 - high->played) / (high->played - low->played)};
}

/* The outcome of the larger sample becomes that of the whole. */
static void extend(struct samples *x, const struct sample *low, struct sample *high, struct ss_outcome *out) {
  const struct line line = high->outcome.left_out > 0 ? line_of(low, high) : (struct line){0};
  struct ss_tally *const tallies = out->tallies;
  uint64_t *const sent = out->rank_sent, *const received = out->rank_received;
  for (uint32_t i = 0; i < x->networks; i++) {
    if (line.beyond > 0) extend_tally(line, &low->tally[i], &high->tally[i]);
    high->tally[i].time = x->estimate[i];
    if (tallies) tallies[i] = high->tally[i];
  }
  *out = high->outcome;
  out->tally = high->tally[0];
  out->tallies = tallies;
  out->rank_sent = sent;
  out->rank_received = received;
  out->peak = whole(line, low->outcome.peak, out->peak);
  out->server_peak = whole(line, low->outcome.server_peak, out->server_peak);
  out->besides = whole(line, low->outcome.besides, out->besides);
  for (int k = 0; k < SS_KERNELS; k++) {
    struct ss_kernel_total *w = &out->work[k];
    const struct ss_kernel_total *v = &low->outcome.work[k];
    *w = (struct ss_kernel_total){whole(line, v->calls, w->calls), whole(line, v->elements, w->elements),
                                  whole(line, v->bytes, w->bytes), real(line, v->seconds, w->seconds)};
  }
  for (uint32_t r = 0; sent && r < x->input->ranks; r++) {
    sent[r] = whole(line, low->sent[r], high->sent[r]);
    received[r] = whole(line, low->received[r], high->received[r]);
  }
}

/* The time of the whole on every network; returns the largest difference to the estimates before, as a share. */
static double estimate(struct samples *x, const struct sample *low, const struct sample *high) {
  double most = 0;
  for (uint32_t i = 0; i < x->networks; i++) {
    const double time = high->outcome.left_out > 0 ? real(line_of(low, high), low->tally[i].time, high->tally[i].time)
                                                   : high->tally[i].time;
    x->former[i] = x->estimate[i];
    x->estimate[i] = time;
    if (time > 0) most = fmax(most, fabs(time - x->former[i]) / time);
  }
  return most;
}

bool ss_sampling_check(const struct ss_setting *setting, struct ss_error *error) {
  if (ss_scheme_lossless(setting->scheme)) return true;
  return ss_fail(
      error, SS_BAD_INPUT,
      "%s keeps what each rank selects for the next iteration, and no sample of rounds has that: leave "
      "\"approximate\" out, or name schemes that send exact sums (allgather, alltoall, ps, zen, omnireduce, "
      "sparcml-split, ...)",
      setting->label);
}

bool ss_simulate_sampled(const struct ss_setting *setting, const struct ss_world *world, const struct ss_input *input,
                         struct ss_sampling *sampling, struct ss_outcome *out, struct ss_error *error) {
  struct samples x = {.setting = setting, .world = world, .input = input};

  bool ok = open_samples(&x, out, error), done = false;
  double apart = INFINITY;
  for (uint32_t n = 0; ok && !done; n++) {
    const double share = ldexp(FIRST_ROUNDS, (int)n) / input->ranks;
    struct sample *high = &x.at[n % 2], *low = &x.at[(n + 1) % 2];
    if (n > 0 && world->state) ss_state_rewind(world->state, &x.before);
    if (!(ok = play(&x, share < 1 ? share : 0, high, error))) break;
    const bool all = high->outcome.left_out == 0;
    if (n == 0 && !all) continue;
    const double before = apart;
    apart = estimate(&x, low, high);
    sampling->error = all ? 0 : fmax(least_error, SURE * fmax(apart, before / 2));
    sampling->share = high->played;
    done = all || (n >= ESTIMATES && sampling->error < sampling->wish);
    if (done) extend(&x, low, high, out);
  }
  close_samples(&x);
  return ok;
}
/* SPDX-License-Identifier: Apache-2.0 */
