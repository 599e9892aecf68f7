/* Each group is a coroutine: its player takes a round by leaving it for the conductor and handing over control, and
 * gets control back when the rounds of all groups have been played. One thread, no shared state but the play. */
#include "sim/groups.h"

#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define FIBERS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FIBERS 1
#endif
#endif
#ifdef FIBERS
#include <sanitizer/common_interface_defs.h>
#define LEAVING(fiber, stack, size) __sanitizer_start_switch_fiber(fiber, stack, size)
#define ARRIVED(fiber, stack, size) __sanitizer_finish_switch_fiber(fiber, stack, size)
#else /* nobody has to be told of a switch from stack to stack */
#define LEAVING(fiber, stack, size) ((void)(fiber), (void)(stack), (void)(size))
#define ARRIVED(fiber, stack, size) ((void)(fiber), (void)(stack), (void)(size))
#endif

/* Bytes of a coroutine's stack, a whole number of pages; only what is touched becomes memory. */
enum { STACK = 1 << 18 };

struct conductor;

struct numbers {
  uint64_t *number, count;
  enum ss_pool how;
};

struct member {
  struct ss_player player; /* first: the player of the group's play is the member it stands in */
  struct conductor *conductor;
  const struct ss_group *group;
  struct ss_play play;
  struct ss_error error;
  struct ss_round *round; /* what it wants played; NULL: it is through */
  struct numbers *pooled; /* what it wants pooled, before anything else; NULL: nothing */
  bool played;            /* how that ended */
  bool ok;                /* how its body ended */
  uint32_t number;
  ucontext_t context;
  unsigned char *stack;
  void *fiber; /* the sanitizer's */
};

struct conductor {
  struct ss_play *play;
  uint32_t count;
  struct member *member;
  unsigned char *stacks; /* of all members, each above a guard page */
  size_t stacks_size, guard;
  ss_group_body *body;
  void *context;
  ucontext_t here;
  struct member *next; /* who gets control */
  const void *stack;   /* the conductor's own, for the sanitizer */
  size_t stack_size;
  void *fiber;
};

/* --- control -------------------------------------------------------------------------------------------- */

static void switch_to(struct conductor *c, struct member *m) {
  c->next = m;
  LEAVING(&c->fiber, m->stack, STACK);
  swapcontext(&c->here, &m->context);
  ARRIVED(c->fiber, NULL, NULL);
}

/* Gives control until the member wants a round played, or is through. */
static void enter(struct conductor *c, struct member *m) {
  struct ss_player *player = c->play->player;
  switch_to(c, m);
  while (m->pooled) {
    const struct numbers *n = m->pooled;
    m->played = player->pool(player, n->number, n->count, n->how, &m->error);
    m->pooled = NULL;
    switch_to(c, m);
  }
}

static void leave(struct member *m, bool for_good) {
  LEAVING(for_good ? NULL : &m->fiber, m->conductor->stack, m->conductor->stack_size);
  swapcontext(&m->context, &m->conductor->here);
  ARRIVED(m->fiber, &m->conductor->stack, &m->conductor->stack_size);
}

/* makecontext passes ints: the conductor's address comes in two halves. */
static void begin(unsigned high, unsigned low) {
  struct conductor *c = (struct conductor *)(((uintptr_t)high << 32) | low); // NOLINT(performance-no-int-to-ptr)
  struct member *m = c->next;
  ARRIVED(NULL, &c->stack, &c->stack_size);
  m->ok = c->body(c->context, m->number, &m->play, &m->error) && ss_play_kernels(&m->play, &m->error);
  m->round = NULL;
  leave(m, true);
}

static bool hand_over(struct ss_player *player, struct ss_round *round, struct ss_error *error) {
  struct member *m = (struct member *)player;
  m->round = round;
  leave(m, false);
  if (!m->played && error) *error = m->error;
  return m->played;
}

/* On the conductor's stack, which is as large as others take it to be. */
// NOLINTNEXTLINE(readability-non-const-parameter): the player fills it in
static bool pool(struct ss_player *player, uint64_t *number, uint64_t count, enum ss_pool how,
                 struct ss_error *error) {
  struct member *m = (struct member *)player;
  struct numbers numbers = {number, count, how};
  m->pooled = &numbers;
  leave(m, false);
  if (!m->played && error) *error = m->error;
  return m->played;
}

/* --- endpoints ------------------------------------------------------------------------------------------ */

static uint32_t outside(const struct ss_group *g, uint32_t endpoint) {
  return endpoint < g->ranks ? g->rank[endpoint] : g->server[endpoint - g->ranks];
}

static bool resident(const struct ss_player *player, uint32_t endpoint) {
  const struct member *m = (const struct member *)player;
  return ss_play_resident(m->conductor->play, outside(m->group, endpoint));
}

/* --- rounds --------------------------------------------------------------------------------------------- */

/* The rounds that are wanted now, dependent or not, as one. */
struct merged {
  struct ss_arena arena; /* of what follows */
  struct ss_messages messages;
  struct ss_round round;
  uint32_t *from, *to;
  uint64_t *bytes;
  struct ss_payload *payloads;
  struct ss_computation *kernels;
  uint32_t *settled;  /* the endpoints of groups that have a dependent round */
  uint32_t capacity;  /* of messages */
  uint32_t endpoints; /* of all groups, each counted where it takes part: of kernels */
};

static bool wanted(const struct member *m, bool dependent) {
  return m->round && m->round->dependent == dependent;
}

static void put_round(struct merged *all, const struct member *m) {
  const struct ss_round *round = m->round;
  uint32_t n = all->round.messages.count;
  assert(n + round->messages.count <= all->capacity && all->round.after_count + round->after_count <= all->endpoints);
  for (uint32_t i = 0; i < round->messages.count; i++, n++) {
    all->from[n] = outside(m->group, ss_message_from(&round->messages, i));
    all->to[n] = outside(m->group, ss_message_to(&round->messages, i));
    all->bytes[n] = ss_message_bytes(&round->messages, i);
    all->payloads[n] = (struct ss_payload){0};
    if (!round->payloads) continue;
    all->payloads[n] = round->payloads[i];
    if (round->wire) all->payloads[n].wire = round->wire;
  }
  all->round.messages.count = n;
  all->round.exchange = all->round.exchange || round->exchange;
  for (uint32_t i = 0; i < round->after_count; i++)
    all->kernels[all->round.after_count++] =
        (struct ss_computation){outside(m->group, round->after[i].endpoint), round->after[i].seconds};
}

/* Room for the largest rounds of all members at once. */
static bool open_merged(struct merged *all, const struct conductor *c) {
  for (uint32_t k = 0; k < c->count; k++) {
    all->capacity += c->member[k].play.capacity;
    all->endpoints += c->member[k].group->ranks + c->member[k].group->servers;
  }
  return ss_take(&all->arena, all->from, all->capacity) && ss_take(&all->arena, all->to, all->capacity) &&
         ss_take(&all->arena, all->bytes, all->capacity) && ss_take(&all->arena, all->payloads, all->capacity) &&
         ss_take(&all->arena, all->kernels, all->endpoints) && ss_take(&all->arena, all->settled, all->endpoints);
}

/* False: nobody wants such a round. */
static bool gather_rounds(struct conductor *c, struct merged *all, bool dependent) {
  const uint32_t everybody = c->play->ranks + c->play->servers;
  bool any = false;
  all->round = (struct ss_round){.messages = {.from = all->from, .to = all->to, .bytes = all->bytes},
                                 .dependent = dependent,
                                 .settled = all->settled,
                                 .after = all->kernels};
  for (uint32_t k = 0; k < c->count; k++) {
    const struct member *m = &c->member[k];
    if (!wanted(m, dependent)) continue;
    any = true;
    put_round(all, m);
    const uint32_t endpoints = m->group->ranks + m->group->servers;
    if (endpoints == everybody) all->round.settled = NULL;
    for (uint32_t e = 0; dependent && all->round.settled && e < endpoints; e++)
      all->settled[all->round.settled_count++] = outside(m->group, e);
    if (m->round->payloads) all->round.payloads = all->payloads;
  }
  return any;
}

/* Is that what another group sent in this round? Groups number their endpoints alike, so nobody else would notice.
 * It is not handed out: it lives only as long as its group lets it. */
static bool astray(const struct conductor *c, const struct member *m, bool dependent, const struct ss_chunk *chunks) {
  for (uint32_t k = 0; k < c->count; k++) {
    const struct member *other = &c->member[k];
    if (other == m || !wanted(other, dependent) || !other->round->payloads) continue;
    for (uint32_t i = 0; i < other->round->messages.count; i++)
      if (other->round->payloads[i].chunks == chunks && other->round->payloads[i].count > 0) return true;
  }
  return false;
}

static void watch(struct conductor *c, struct merged *all, bool dependent) {
  uint32_t n = 0;
  for (uint32_t k = 0; k < c->count; k++) {
    struct member *m = &c->member[k];
    if (!wanted(m, dependent)) continue;
    for (uint32_t i = 0; i < m->round->messages.count; i++, n++) {
      if (!m->round->payloads || all->payloads[n].chunks == m->round->payloads[i].chunks) continue;
      if (all->payloads[n].count == 0 || !astray(c, m, dependent, all->payloads[n].chunks)) continue;
      ss_play_mismatch(&m->play, "endpoint %u received what another group sent", all->to[n]);
      all->payloads[n].count = 0;
    }
  }
}

/* Hands out what came, and control. */
static void resume(struct conductor *c, const struct merged *all, bool dependent, bool played,
                   const struct ss_error *error) {
  uint32_t n = 0;
  for (uint32_t k = 0; k < c->count; k++) {
    struct member *m = &c->member[k];
    if (!wanted(m, dependent)) continue;
    for (uint32_t i = 0; i < m->round->messages.count; i++, n++)
      if (m->round->payloads) m->round->payloads[i] = all->payloads[n];
    m->played = played;
    if (!played) m->error = *error;
  }
}

/* Dependent rounds first: those that wait for more go first, as in a single group. False: nobody wants any. */
static bool play_rounds(struct conductor *c, struct merged *all) {
  struct ss_error error = {.status = SS_OK};
  bool more = false;
  for (int dependent = 1; dependent >= 0; dependent--) {
    if (!gather_rounds(c, all, dependent != 0)) continue;
    more = true;
    bool played = c->play->player->play(c->play->player, &all->round, &error);
    watch(c, all, dependent != 0);
    resume(c, all, dependent != 0, played, &error);
  }
  for (uint32_t k = 0; k < c->count; k++)
    if (c->member[k].round) enter(c, &c->member[k]);
  return more;
}

/* --- life ----------------------------------------------------------------------------------------------- */

/* The mapping that a thread used last waits for its next groups: to map and guard stacks anew and to touch them for
 * the first time takes longer than most plays. Not under a sanitizer, which remembers what stood on a stack. */
#ifdef FIBERS
enum { KEPT = 0 };
#else
enum { KEPT = 64 }; /* stacks at most: what was touched of them stays memory */
#endif
static _Thread_local unsigned char *kept;
static _Thread_local size_t kept_size;
static pthread_key_t thread_end;
static pthread_once_t thread_end_once = PTHREAD_ONCE_INIT;

static void unmap_kept(void *stacks) {
  (void)munmap(stacks, kept_size);
}

static void make_thread_end(void) {
  (void)pthread_key_create(&thread_end, unmap_kept);
}

static bool take_kept(struct conductor *c, size_t size) {
  if (!kept) return false;
  (void)pthread_setspecific(thread_end, NULL);
  if (kept_size >= size) {
    c->stacks = kept;
    c->stacks_size = kept_size;
  } else {
    (void)munmap(kept, kept_size);
  }
  kept = NULL;
  return c->stacks != NULL;
}

static void close_stacks(struct conductor *c) {
  if (!c->stacks) return;
  (void)pthread_once(&thread_end_once, make_thread_end);
  if (!kept && c->stacks_size <= KEPT * (c->guard + STACK) && pthread_setspecific(thread_end, c->stacks) == 0) {
    kept = c->stacks;
    kept_size = c->stacks_size;
  } else {
    (void)munmap(c->stacks, c->stacks_size);
  }
}

/* One mapping for all stacks. A stack grows down into its guard page, which nobody may touch: an overflow ends the
 * program instead of changing another stack. The kernel grants some 30,000 guards; stacks beyond go without. */
static bool open_stacks(struct conductor *c) {
  size_t size;
  c->guard = (size_t)sysconf(_SC_PAGESIZE);
  if (__builtin_mul_overflow(c->count, c->guard + STACK, &size)) return false;
  if (take_kept(c, size)) return true;
  void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  c->stacks = memory;
  c->stacks_size = size;
  for (uint32_t k = 0; k < c->count; k++)
    if (mprotect(c->stacks + k * (c->guard + STACK), c->guard, PROT_NONE) != 0) break;
  return true;
}

/* What the group's endpoints hold is held by those of the outermost play. */
static bool find_outside(const struct ss_play *play, struct member *m) {
  const uint32_t endpoints = m->group->ranks + m->group->servers;
  uint32_t *number;
  if (!play->holding) return true;
  if (!ss_take(&m->play.own, number, endpoints)) return false;
  for (uint32_t e = 0; e < endpoints; e++) {
    const uint32_t there = outside(m->group, e);
    number[e] = play->outside ? play->outside[there] : there;
  }
  m->play.holding = play->holding;
  m->play.outside = number;
  return true;
}

static bool open_member(struct conductor *c, uint32_t k, const struct ss_group *group, struct ss_error *error) {
  struct member *m = &c->member[k];
  const uintptr_t address = (uintptr_t)c;
  *m = (struct member){.player = {.play = hand_over,
                                  .resident = c->play->player->resident ? resident : NULL,
                                  .pool = c->play->player->pool ? pool : NULL},
                       .conductor = c,
                       .group = group,
                       .number = k};
  m->stack = c->stacks + k * (c->guard + STACK) + c->guard;
  if (getcontext(&m->context) != 0) return ss_fail_memory(error, "playing groups at once");
  if (!ss_play_open(&m->play, &m->player, group->ranks, group->servers, error)) return false;
  m->play.payloads = c->play->payloads;
  m->play.exchange_sizes = c->play->exchange_sizes;
  m->play.ragged = c->play->ragged;
  m->play.call = c->play->call;
  m->play.watchful = c->play->watchful;
  m->play.device = c->play->device;
  m->play.counts = c->play->counts;
  m->play.arena = c->play->arena;
  m->play.listed = c->play->listed;
  if (!find_outside(c->play, m)) return ss_fail_memory(error, "playing groups at once");
  m->context.uc_stack.ss_sp = m->stack;
  m->context.uc_stack.ss_size = STACK;
  makecontext(&m->context, (void (*)(void))begin, 2, (unsigned)(address >> 32), (unsigned)address);
  return true;
}

/* What the group computed was computed by the endpoints outside. */
static void add_work(struct conductor *c, const struct member *m) {
  for (uint32_t e = 0; m->play.stream && ss_play_notes(c->play) && e < m->group->ranks + m->group->servers; e++)
    for (int k = 0; k < SS_KERNELS; k++)
      ss_kernel_total_add(&c->play->stream[outside(m->group, e)].work[k], &m->play.stream[e].work[k]);
}

static void close_member(struct conductor *c, struct member *m) {
  add_work(c, m);
  if (m->play.stream) ss_play_drop_buffers(&m->play);
  c->play->mismatches += m->play.mismatches;
  if (m->play.mismatch[0] && !c->play->mismatch[0])
    memcpy(c->play->mismatch, m->play.mismatch, sizeof m->play.mismatch);
  ss_play_close(&m->play);
}

/* Runs all members from their beginnings to their ends; the first error in the order of groups. */
static bool conduct(struct conductor *c, struct ss_error *error) {
  struct merged all = {0};
  bool good = open_merged(&all, c) || ss_fail_memory(error, "playing groups at once");
  for (uint32_t k = 0; good && k < c->count; k++) enter(c, &c->member[k]);
  while (good && play_rounds(c, &all)) continue;
  ss_arena_free(&all.arena);
  for (uint32_t k = 0; good && k < c->count; k++) {
    good = c->member[k].ok;
    if (!good && error) *error = c->member[k].error;
  }
  return good;
}

bool ss_groups_play(struct ss_play *play, uint32_t count, const struct ss_group *groups, ss_group_body *body,
                    void *context, struct ss_error *error) {
  struct conductor c = {.play = play, .count = count, .body = body, .context = context};
  uint32_t open = 0;
  if (count == 0) return true;
  if (!ss_play_kernels(play, error)) return false;
  c.member = ss_alloc_zero(count, sizeof *c.member);
  bool good = (c.member && open_stacks(&c)) || ss_fail_memory(error, "playing groups at once");
  while (good && open < count) good = open_member(&c, open, &groups[open], error), open++;
  good = good && conduct(&c, error);
  for (uint32_t k = 0; k < open; k++) close_member(&c, &c.member[k]);
  free(c.member);
  close_stacks(&c);
  return good;
}
/* SPDX-License-Identifier: Apache-2.0 */
