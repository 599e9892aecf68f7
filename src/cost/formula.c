#include "cost/formula.h"

#include <math.h>
#include <muParserDLL.h>
#include <stddef.h>
#include <string.h>

/* What the parser sees: the symbols, and those that follow from them. */
struct values {
  struct ss_symbols given;
  double L, Q, q, f, x, y, d, gamma;
};

static const struct {
  const char *name;
  size_t offset;
} variables[] = {
#define GIVEN(name)                                                                                                  \
  { #name, offsetof(struct values, given.name) }
#define DERIVED(name)                                                                                                \
  { #name, offsetof(struct values, name) }
    GIVEN(P),   GIVEN(alpha),   GIVEN(beta),        GIVEN(M),   GIVEN(R),   GIVEN(w),   GIVEN(v),
    GIVEN(nnz), GIVEN(lookups), GIVEN(index_bytes), GIVEN(S),   GIVEN(s_1), GIVEN(s_P), DERIVED(L),
    DERIVED(Q), DERIVED(q),     DERIVED(f),         DERIVED(x), DERIVED(y), DERIVED(d), DERIVED(gamma),
#undef GIVEN
#undef DERIVED
};

static muFloat_t call_gamma(void *context, muFloat_t k) {
  const struct values *v = context;
  return v->given.gamma ? v->given.gamma(v->given.gamma_context, k) : (muFloat_t)NAN;
}

/* ZEN Eq. 2's sum over the stages of recursive doubling: gamma(2^(i-1)), i = 1..log2 P. */
static muFloat_t call_gamma_sum(void *context, muFloat_t P) {
  double sum = 0;
  for (int stage = 0; exp2(stage) < P; stage++) sum += call_gamma(context, exp2(stage));
  return sum;
}

/* Blocks of folded ranks that recursive doubling carries besides one a position: sum over i < L of min(q, 2^i). */
static muFloat_t call_fold_sum(void *context, muFloat_t P) {
  const struct values *v = context;
  double sum = 0;
  for (int round = 0; exp2(round) < fmin(v->Q, P); round++) sum += fmin(v->q, exp2(round));
  return sum;
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
}

static void define(muParserHandle_t parser, struct values *v) {
  for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
    double value; /* constants: a formula cannot assign to them */
    memcpy(&value, (const char *)v + variables[i].offset, sizeof value);
    mupDefineConst(parser, variables[i].name, value);
  }
  mupDefineFun1(parser, "ceil", call_ceil, 1);
  mupDefineFun1(parser, "floor", call_floor, 1);
  mupDefineFunUserData1(parser, "gamma", call_gamma, v, 0);
  mupDefineFunUserData1(parser, "gamma_sum", call_gamma_sum, v, 0);
  mupDefineFunUserData1(parser, "fold_sum", call_fold_sum, v, 0);
}

/* muParser calls this instead of throwing; mupError then tells. */
static void note_error(muParserHandle_t parser) {
  (void)parser;
}

bool ss_formula_evaluate(const char *formula, const struct ss_symbols *symbols, double *out, struct ss_error *error) {
  struct values v = {.given = *symbols};
  muParserHandle_t parser = mupCreate(muBASETYPE_FLOAT);
  bool ok;
  if (!parser) return ss_fail_memory(error, "reading a formula");
  mupSetErrorHandler(parser, note_error);
  derive(&v);
  define(parser, &v);
  mupSetExpr(parser, formula);
  double value = mupError(parser) ? NAN : mupEval(parser);
  if (mupError(parser)) {
    ok = ss_fail(error, SS_BAD_INPUT, "formula: %.200s (character %d) in \"%.600s\"", mupGetErrorMsg(parser),
                 mupGetErrorPos(parser), formula);
  } else if (!isfinite(value)) {
    ok = ss_fail(error, SS_BAD_INPUT, "formula \"%.600s\" is not finite here", formula);
  } else {
    *out = value;
    ok = true;
  }
  mupRelease(parser);
  return ok;
}
