#include "toy.h"

void toy_workload(const struct toy *toy, struct ss_workload *w, struct ss_module module[MODULES]) {
  *w = (struct ss_workload){.name = "toy", .dtype = SS_F32, .tokens = NAN, .module = module, .modules = toy->modules};
  for (uint32_t i = 0; i < toy->modules; i++) {
    const struct toy_module *m = &toy->module[i];
    module[i] = (struct ss_module){.name = m->name ? m->name : "module",
                                   .embedding = m->embedding,
                                   .bytes = m->bytes ? m->bytes : 4,
                                   .forward = m->forward,
                                   .backward = m->backward,
                                   .after = m->after,
                                   .afters = m->afters,
                                   .rows = 1,
                                   .row_width = 1};
  }
}

/* Sizes over three decades; tasks last startup + size. */
static double draw_size(struct dice *dice) {
  return pow(10, -2 + 3 * dice_unit(dice));
}

static bool draw_embedding(struct dice *dice, enum family family, uint32_t i, uint32_t n) {
  if (family == EMBEDDINGS_FIRST) return i < 1 + n / 4;
  return family == SPARSE_HEAVY ? !dice_one_in(dice, 3) : dice_one_in(dice, 3);
}

static void draw_module(struct dice *dice, struct toy *toy, uint32_t i, bool embedding, double weight) {
  struct toy_module *m = &toy->module[i];
  m->embedding = embedding;
  m->forward = draw_size(dice) * (embedding ? 0.1 : 1);
  m->backward = (1 + dice_unit(dice)) * m->forward;
  m->bytes = 4 * (uint64_t)(1 + 250000 * draw_size(dice));
  if (embedding) {
    const double size = weight * draw_size(dice), share = dice_unit(dice);
    m->gradient = toy->startup + size;
    m->prior = toy->startup + share * size;
    m->delayed = toy->startup + (1 - share) * size;
    m->lookups = toy->startup + size * dice_unit(dice);
    return;
  }
  for (uint32_t k = 0; k < i; k++)
    if (m->afters < MODULES &&
        (k + 1 == i || toy->module[k].embedding ? dice_below(dice, 4) > 0 : dice_one_in(dice, 4)))
      m->after[m->afters++] = k;
}

struct toy draw_toy(enum family family, uint32_t seed) {
  struct dice dice = {.seed = seed * 3 + family};
  struct toy toy = {.modules = dice_between(&dice, 2, 12), .startup = 0.1 * dice_unit(&dice), .per_byte = 1e-6};
  toy.split = 0.2 * dice_unit(&dice);
  if (dice_one_in(&dice, 2)) toy.bucket = 4 * (uint64_t)(1 + 500000 * draw_size(&dice));
  for (uint32_t i = 0; i < toy.modules; i++)
    draw_module(&dice, &toy, i, draw_embedding(&dice, family, i, toy.modules), family == SPARSE_HEAVY ? 4 : 1);
  return toy;
}
/* SPDX-License-Identifier: Apache-2.0 */
