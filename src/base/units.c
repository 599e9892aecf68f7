#include "base/units.h"

#include <locale.h>

/* A unit is `times / over` base units. Both are exact, so that "10us" is the double nearest to 1e-5, which 10 * 1e-6
 * is not. */
struct unit {
  const char *name;
  double times, over;
};

static const struct unit prefixes[] = {
    {"", 1, 1},     {"k", 1e3, 1},     {"K", 1e3, 1},     {"M", 1e6, 1},     {"G", 1e9, 1},     {"T", 1e12, 1},
    {"P", 1e15, 1}, {"Ki", 0x1p10, 1}, {"Mi", 0x1p20, 1}, {"Gi", 0x1p30, 1}, {"Ti", 0x1p40, 1}, {"Pi", 0x1p50, 1},
};
static const struct unit time_units[] = {
    /* smallest first, as scales are */
    {"ns", 1, 1e9}, {"us", 1, 1e6}, {"ms", 1, 1e3}, {"s", 1, 1}, {"min", 60, 1}, {"h", 3600, 1}, {NULL, 0, 0},
};
/* These take a prefix. "MBps" is not among them: nobody can tell whether its author knew bits from bytes. */
static const struct unit byte_units[] = {{"B", 1, 1}, {NULL, 0, 0}};
static const struct unit rate_units[] = {
    {"B/s", 1, 1}, {"bps", 1, 8}, {"bit/s", 1, 8}, {"b/s", 1, 8}, {NULL, 0, 0},
};
static const struct unit ratio_units[] = {{"%", 1, 100}, {NULL, 0, 0}};

/* Smallest first, in base units; what ss_units_format chooses from. */
static const struct unit byte_scale[] = {
    {"B", 1, 1}, {"kB", 1e3, 1}, {"MB", 1e6, 1}, {"GB", 1e9, 1}, {"TB", 1e12, 1}, {"PB", 1e15, 1}, {NULL, 0, 0},
};
static const struct unit rate_scale[] = {
    {"bit/s", 1, 8},     {"kbit/s", 1e3, 8},  {"Mbit/s", 1e6, 8}, {"Gbit/s", 1e9, 8},
    {"Tbit/s", 1e12, 8}, {"Pbit/s", 1e15, 8}, {NULL, 0, 0},
};

const char *ss_dimension_wanted(enum ss_dimension dimension) {
  switch (dimension) {
  case SS_NUMBER: return "a number (say 12 or 0.5)";
  case SS_RATIO: return "a ratio (say \"1.13%\", \"1/32\" or 0.5)";
  case SS_TIME: return "a time (say \"10us\" or \"1.5ms\")";
  case SS_BYTES: return "a size (say \"856MB\", \"128MiB\" or a number in B)";
  case SS_RATE: return "a rate (say \"25Gbps\" or \"3.1GB/s\")";
  }
  return "a quantity";
}

static const char *skip_digits(const char *at) {
  while (isdigit((unsigned char)*at)) at++;
  return at;
}

static const char *skip_spaces(const char *at) {
  while (*at == ' ') at++;
  return at;
}

/* The end of the decimal number at `at`, NULL when there is none. strtod alone would also take hex, "inf", "nan" and
 * leading blanks. */
static const char *number_end(const char *at) {
  if (*at == '-' || *at == '+') at++;
  const char *end = skip_digits(at);
  bool digits = end > at;
  if (*end == '.') {
    at = end + 1;
    end = skip_digits(at);
    digits = digits || end > at;
  }
  if (!digits) return NULL;
  if (*end != 'e' && *end != 'E') return end;
  const char *exponent = end + 1 + (end[1] == '-' || end[1] == '+');
  return isdigit((unsigned char)*exponent) ? skip_digits(exponent) : end;
}

/* Reads the number at *at and moves past it, with the point as decimal sign whatever the process's locale says. */
static bool take_number(const char **at, double *out) {
  const char *end = number_end(*at);
  if (end == NULL) return false;
  locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  if (c_locale == (locale_t)0) return false;
  char *stopped;
  *out = strtod_l(*at, &stopped, c_locale);
  freelocale(c_locale);
  if (stopped != end || !isfinite(*out)) return false;
  *at = end;
  return true;
}

static bool apply_prefix(const char *prefix, size_t length, double *value) {
  for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
    if (strlen(prefixes[i].name) != length || memcmp(prefixes[i].name, prefix, length) != 0) continue;
    *value *= prefixes[i].times;
    return true;
  }
  return false;
}

static bool apply_unit(const char *text, const struct unit *units, bool prefixed, double *value) {
  const size_t length = strlen(text);
  for (; units->name != NULL; units++) {
    const size_t base = strlen(units->name);
    if (base > length || strcmp(text + length - base, units->name) != 0) continue;
    if (!prefixed && base < length) continue;
    if (!apply_prefix(text, length - base, value)) continue;
    *value = *value * units->times / units->over;
    return true;
  }
  return false;
}

static bool apply_divisor(const char *text, double *value) {
  const char *at = skip_spaces(text);
  double divisor;
  if (!take_number(&at, &divisor) || *at != '\0') return false;
  *value /= divisor;
  return true;
}

static bool parse_quantity(const char *text, enum ss_dimension dimension, double *value) {
  const char *at = text;
  if (!take_number(&at, value)) return false;
  if (*at == '\0') return true;
  at = skip_spaces(at);
  switch (dimension) {
  case SS_NUMBER: return false;
  case SS_RATIO: return *at == '/' ? apply_divisor(at + 1, value) : apply_unit(at, ratio_units, false, value);
  case SS_TIME: return apply_unit(at, time_units, false, value);
  case SS_BYTES: return apply_unit(at, byte_units, true, value);
  case SS_RATE: return apply_unit(at, rate_units, true, value);
  }
  return false;
}

bool ss_units_parse(const char *text, enum ss_dimension dimension, double *out, struct ss_error *error) {
  double value;
  if (!parse_quantity(text, dimension, &value) || !isfinite(value))
    return ss_fail(error, SS_BAD_INPUT, "\"%.100s%s\" is not %s", text, strlen(text) > 100 ? "..." : "",
                   ss_dimension_wanted(dimension));
  *out = value;
  return true;
}

bool ss_units_said(const char *text, enum ss_dimension dimension, double *out, struct ss_error *error) {
  double plain;
  if (!ss_units_parse(text, dimension, out, error)) return false;
  const bool needed = dimension == SS_TIME || dimension == SS_RATE;
  if (!needed || !(fabs(*out) > 0) || !ss_units_parse(text, SS_NUMBER, &plain, NULL)) return true;
  return ss_fail(error, SS_BAD_INPUT, "\"%s\" has no unit: want %s", text, ss_dimension_wanted(dimension));
}

static bool parse_digits(const char *text, uint64_t *out) {
  uint64_t value = 0;
  if (*text == '\0') return false;
  for (; *text != '\0'; text++) {
    if (!isdigit((unsigned char)*text)) return false;
    if (__builtin_mul_overflow(value, UINT64_C(10), &value)) return false;
    if (__builtin_add_overflow(value, (uint64_t)(*text - '0'), &value)) return false;
  }
  *out = value;
  return true;
}

bool ss_count_parse(const char *text, const char *what, uint64_t low, uint64_t high, uint64_t *out,
                    struct ss_error *error) {
  uint64_t value;
  if (parse_digits(text, &value) && value >= low && value <= high) {
    *out = value;
    return true;
  }
  const char *dots = strlen(text) > 100 ? "..." : "";
  if (high == UINT64_MAX)
    return ss_fail(error, SS_BAD_INPUT, "%s: \"%.100s%s\" is not a whole number of at least %llu", what, text, dots,
                   (unsigned long long)low);
  return ss_fail(error, SS_BAD_INPUT, "%s: \"%.100s%s\" is not a whole number from %llu to %llu", what, text, dots,
                 (unsigned long long)low, (unsigned long long)high);
}

bool ss_seconds_check(double seconds, struct ss_error *error) {
  if (seconds >= 0 && seconds <= SS_SECONDS_MOST) return true;
  return ss_fail(error, SS_BAD_INPUT, "takes %g s: a size, rate or latency is out of all proportion", seconds);
}

/* Three significant digits; in full up to seven places, where "%.3g" alone would turn to exponents. */
static void format_digits(char *buffer, size_t size, double value) {
  snprintf(buffer, size, "%.3g", value);
  if (fabs(value) >= 999.5 && fabs(value) < 9.995e6) snprintf(buffer, size, "%.0f", strtod(buffer, NULL));
}

static const char *format_scaled(char *buffer, size_t size, const struct unit *scale, const char *zero,
                                 double value) {
  if (!(fabs(value) > 0)) {
    snprintf(buffer, size, "0 %s", zero);
    return buffer;
  }
  const struct unit *unit = scale;
  /* From 0.9995 on, three digits round to 1. */
  for (const struct unit *larger = scale + 1; larger->name != NULL; larger++)
    if (fabs(value) * larger->over / larger->times >= 0.9995) unit = larger;
  char digits[64];
  format_digits(digits, sizeof digits, value / unit->times * unit->over);
  snprintf(buffer, size, "%s %s", digits, unit->name);
  return buffer;
}

double ss_percent(double share) {
  return round(1000 * share) / 10;
}

const char *ss_units_format(char *buffer, size_t size, enum ss_dimension dimension, double value) {
  if (!isfinite(value)) {
    snprintf(buffer, size, "%s", isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
    return buffer;
  }
  switch (dimension) {
  case SS_TIME: return format_scaled(buffer, size, time_units, "s", value);
  case SS_BYTES: return format_scaled(buffer, size, byte_scale, "B", value);
  case SS_RATE: return format_scaled(buffer, size, rate_scale, "bit/s", value);
  case SS_RATIO:
  case SS_NUMBER: break;
  }
  char digits[64];
  format_digits(digits, sizeof digits, fabs(value) > 0 ? value * (dimension == SS_RATIO ? 100 : 1) : 0.0);
  snprintf(buffer, size, "%s%s", digits, dimension == SS_RATIO ? "%" : "");
  return buffer;
}
/* SPDX-License-Identifier: Apache-2.0 */
