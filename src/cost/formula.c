#include "cost/formula.h"

#include "schemes/setting.h"

#include <muParserDLL.h>
#include <pthread.h>

/* What the parser sees: the symbols, and those that follow from them. */
struct values {
  struct ss_symbols given;
  double L, Q, q, f, x, y, d, gamma, B_1, B_P;
};

static const struct {
  const char *name;
  size_t offset;
} variables[] = {
#define GIVEN(name)                                                                                                  \
  { #name, offsetof(struct values, given.name) }
#define DERIVED(name)                                                                                                \
  { #name, offsetof(struct values, name) }
    GIVEN(P),    GIVEN(alpha),   GIVEN(beta),        GIVEN(M),   GIVEN(R),       GIVEN(w),     GIVEN(v),
    GIVEN(nnz),  GIVEN(lookups), GIVEN(index_bytes), GIVEN(S),   GIVEN(s_1),     GIVEN(s_P),   GIVEN(k),
    GIVEN(D),    GIVEN(b),       GIVEN(c),           GIVEN(r),   DERIVED(L),     DERIVED(Q),   DERIVED(q),
    DERIVED(f),  DERIVED(x),     DERIVED(y),         DERIVED(d), DERIVED(gamma), DERIVED(B_1), DERIVED(B_P),
    GIVEN(rows), GIVEN(chunks),  GIVEN(call),
#undef GIVEN
#undef DERIVED
};

/* --- what a union of ranks holds -------------------------------------------------------------------------- */

static muFloat_t call_gamma(void *context, muFloat_t k) {
  const struct values *v = context;
  return v->given.gamma ? v->given.gamma(v->given.gamma_context, k) : (muFloat_t)NAN;
}

static muFloat_t call_blocks(void *context, muFloat_t k) {
  const struct values *v = context;
  return v->given.blocks ? v->given.blocks(v->given.blocks_context, k) : (muFloat_t)NAN;
}

/* Their sums over the steps of a scheme. Arguments beyond the ranks add nothing: sums over any argument end. */
typedef muFloat_t union_size(void *context, muFloat_t k);

static double least(double most, double P) {
  return most < P ? most : P; /* NaN: no steps */
}

enum steps { DOUBLING, RING, HALVING, FOLD };

/* Position 0 of recursive doubling stands for a folded pair, and so do the next q - 1. */
static double sum_steps(struct values *v, double P, enum steps steps, union_size *size) {
  const double end = least(steps == FOLD ? v->Q : v->given.P, P);
  double sum = 0, ranks = 1;
  while (ranks < end) {
    sum += size(v, steps == FOLD ? ranks + fmin(v->q, ranks) : ranks) / (steps == HALVING ? 2 * ranks : 1);
    ranks = steps == RING ? ranks + 1 : 2 * ranks;
  }
  return sum;
}

#define SUM(name, of, steps)                                                                                         \
  static muFloat_t call_##name(void *v, muFloat_t P) {                                                               \
    return sum_steps(v, P, steps, call_##of);                                                                        \
  }
SUM(gamma_sum, gamma, DOUBLING)
SUM(gamma_ring, gamma, RING)
SUM(gamma_halving, gamma, HALVING)
SUM(gamma_fold, gamma, FOLD)
SUM(blocks_sum, blocks, DOUBLING)
SUM(blocks_ring, blocks, RING)
SUM(blocks_halving, blocks, HALVING)
SUM(blocks_fold, blocks, FOLD)
#undef SUM

/* Blocks of folded ranks that recursive doubling carries besides one a position: sum over i < L of min(q, 2^i). */
static muFloat_t call_fold_sum(void *context, muFloat_t P) {
  const struct values *v = context;
  double sum = 0;
  for (int round = 0; exp2(round) < least(v->Q, P); round++) sum += fmin(v->q, exp2(round));
  return sum;
}

static muFloat_t call_pow2(muFloat_t n) {
  int exponent;
  return n >= 1 && frexp(n, &exponent) <= 0.5; /* not for NaN */
}
static muFloat_t call_ceil(muFloat_t x) {
  return ceil(x);
}
static muFloat_t call_floor(muFloat_t x) {
  return floor(x);
}

static void derive(struct values *v) {
  const struct ss_symbols *s = &v->given;
  v->L = floor(log2(s->P));
  v->Q = exp2(v->L);
  v->q = s->P - v->Q;
  v->f = v->q > 0;
  v->y = s->nnz * s->w * s->v;
  v->x = s->nnz * (s->w * s->v + s->index_bytes);
  v->d = s->R > 0 ? s->nnz / s->R : 0;
  v->gamma = call_gamma(v, s->P);
  v->B_1 = call_blocks(v, 1);
  v->B_P = call_blocks(v, s->P);
}

static const struct {
  const char *name;
  union_size *call;
} functions[] = {
    {"gamma", call_gamma},
    {"gamma_sum", call_gamma_sum},
    {"gamma_ring", call_gamma_ring},
    {"gamma_halving", call_gamma_halving},
    {"gamma_fold", call_gamma_fold},
    {"blocks", call_blocks},
    {"blocks_sum", call_blocks_sum},
    {"blocks_ring", call_blocks_ring},
    {"blocks_halving", call_blocks_halving},
    {"blocks_fold", call_blocks_fold},
    {"fold_sum", call_fold_sum},
};

/* The scheme's own options, but where a symbol has their name, or says the same as --teams and --block do. */
static void define_options(muParserHandle_t parser, const struct values *v) {
  for (size_t i = 0; v->given.options && v->given.options[i].name; i++) {
    const char *name = v->given.options[i].name;
    bool known = false;
    for (size_t k = 0; k < sizeof variables / sizeof *variables; k++)
      known = known || strcmp(variables[k].name, name) == 0;
    const double value = strcmp(name, "teams") == 0   ? v->given.D
                         : strcmp(name, "block") == 0 ? v->given.b
                                                      : v->given.option[i];
    if (!known) mupDefineConst(parser, name, value);
  }
}

/* `links_vary`: alpha and beta are looked up whenever the formula is evaluated. */
static void define(muParserHandle_t parser, struct values *v, bool links_vary) {
  for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
    double *value = (void *)((char *)v + variables[i].offset);
    const bool link = value == &v->given.alpha || value == &v->given.beta;
    if (links_vary && link) mupDefineVar(parser, variables[i].name, value);
    else mupDefineConst(parser, variables[i].name, *value); /* a formula cannot assign to it */
  }
  define_options(parser, v);
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
    mupDefineFunUserData1(parser, functions[i].name, functions[i].call, v, 0);
}

/* --- muParser ----------------------------------------------------------------------------------------------- */

/* muParser calls this instead of throwing; mupError then tells. */
static void note_error(muParserHandle_t parser) {
  (void)parser;
}

static void close_parser(muParserHandle_t *parser) {
  if (*parser) mupRelease(*parser);
}

/* NULL when memory is short. */
static muParserHandle_t open_parser(void) {
  muParserHandle_t parser = mupCreate(muBASETYPE_FLOAT);
  if (!parser) return NULL;
  mupSetErrorHandler(parser, note_error);
  mupDefineFun1(parser, "ceil", call_ceil, 1);
  mupDefineFun1(parser, "floor", call_floor, 1);
  mupDefineFun1(parser, "pow2", call_pow2, 1);
  return parser;
}

/* muParser's C interface hands every message out of one buffer. */
static void copy_message(muParserHandle_t parser, char *text, size_t size) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&lock);
  (void)snprintf(text, size, "%s", mupGetErrorMsg(parser));
  pthread_mutex_unlock(&lock);
}

/* What muParser objects to, once, and where; a word that stands for nothing by its name. */
static bool fail_parsing(muParserHandle_t parser, const char *formula, struct ss_error *error) {
  const int at = mupGetErrorPos(parser);
  const char *word = at >= 0 && (size_t)at < strlen(formula) ? formula + at : "";
  const int length = (int)strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
  char message[200];
  copy_message(parser, message, sizeof message);
  if (strncmp(message, "Unexpected token", 16) == 0 && length > 0)
    return ss_fail(error, SS_BAD_INPUT, "formula: unknown symbol \"%.*s\" (character %d) in \"%.600s\"",
                   length < 60 ? length : 60, word, at, formula);
  for (char *end = strstr(message, "position"); end && end > message; end--) /* " found at position 23." goes */
    if (strncmp(end, " found at position", 18) == 0 || strncmp(end, " at position", 12) == 0) *end = '\0';
  return ss_fail(error, SS_BAD_INPUT, "formula: %s (character %d) in \"%.600s\"", message, at, formula);
}

/* The value of the formula that the parser was given. */
static bool evaluate(muParserHandle_t parser, const char *formula, double *out, struct ss_error *error) {
  const double value = mupError(parser) ? NAN : mupEval(parser);
  if (mupError(parser)) return fail_parsing(parser, formula, error);
  if (!isfinite(value)) return ss_fail(error, SS_BAD_INPUT, "formula \"%.600s\" is not finite here", formula);
  *out = value;
  return true;
}

bool ss_formula_evaluate(const char *formula, const struct ss_symbols *symbols, double *out, struct ss_error *error) {
  struct values v = {.given = *symbols};
  SS_AUTO(close_parser) muParserHandle_t parser = open_parser();
  if (!parser) return ss_fail_memory(error, "reading a formula");
  derive(&v);
  define(parser, &v, false);
  mupSetExpr(parser, formula);
  return evaluate(parser, formula, out, error);
}

/* muParser parses, and lists what it does not know as variables, of which none is defined here. */
bool ss_formula_check(const char *formula, const struct ss_option *options, struct ss_error *error) {
  struct values v = {.given = {.options = options}};
  SS_AUTO(close_parser) muParserHandle_t parser = open_parser();
  if (!parser) return ss_fail_memory(error, "reading a formula");
  define(parser, &v, false);
  mupSetExpr(parser, formula);
  const int unknown = mupGetExprVarNum(parser);
  if (mupError(parser)) return fail_parsing(parser, formula, error);
  if (unknown == 0) return true;
  (void)mupEval(parser); /* parses again, and stops at the first of them */
  return fail_parsing(parser, formula, error);
}

bool ss_formula_take_apart(const char *formula, const struct ss_symbols *symbols, double *startups, double *bytes,
                           struct ss_error *error) {
  struct values v = {.given = *symbols};
  SS_AUTO(close_parser) muParserHandle_t parser = open_parser();
  if (!parser) return ss_fail_memory(error, "reading a formula");
  derive(&v);
  define(parser, &v, true);
  mupSetExpr(parser, formula);
  v.given.call = 0;
  v.given.alpha = 1, v.given.beta = 0;
  if (!evaluate(parser, formula, startups, error)) return false;
  v.given.alpha = 0, v.given.beta = 1;
  return evaluate(parser, formula, bytes, error);
}

bool ss_expression_evaluate(const char *expression, const struct ss_variable *variable, size_t count, double *out,
                            struct ss_error *error) {
  SS_AUTO(close_parser) muParserHandle_t parser = open_parser();
  if (!parser) return ss_fail_memory(error, "reading a formula");
  for (size_t i = count; i-- > 0;) mupDefineConst(parser, variable[i].name, variable[i].value);
  if (mupError(parser)) {
    char message[200];
    copy_message(parser, message, sizeof message);
    return ss_fail(error, SS_BAD_INPUT, "formula: %s, naming the values of \"%.600s\"", message, expression);
  }
  mupSetExpr(parser, expression);
  return evaluate(parser, expression, out, error);
}
/* SPDX-License-Identifier: Apache-2.0 */
