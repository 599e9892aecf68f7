#include "base/units.h"

#include <locale.h>

/* A unit is `times` * 10^tens base units. Both are exact, and powers of ten are counted beside the number's own, so
 * that "10us" and "2.8%" are the doubles nearest to 1e-5 and 0.028, which 10 * 1e-6 and 2.8 / 100 are not. */
struct unit {
  const char *name;
  int tens;
  double times;
};

static const struct unit prefixes[] = {
    {"", 0, 1},   {"k", 3, 1},       {"K", 3, 1},       {"M", 6, 1},       {"G", 9, 1},       {"T", 12, 1},
    {"P", 15, 1}, {"Ki", 0, 0x1p10}, {"Mi", 0, 0x1p20}, {"Gi", 0, 0x1p30}, {"Ti", 0, 0x1p40}, {"Pi", 0, 0x1p50},
};
static const struct unit time_units[] = {
    /* smallest first, as scales are */
    {"ns", -9, 1}, {"us", -6, 1}, {"ms", -3, 1}, {"s", 0, 1}, {"min", 0, 60}, {"h", 0, 3600}, {NULL, 0, 0},
};
/* As people copy it: the micro sign, and the letter mu. */
static const struct unit micro_units[] = {{"\u00b5s", -6, 1}, {"\u03bcs", -6, 1}, {NULL, 0, 0}};
/* These take a prefix. "MBps" is not among them: nobody can tell whether its author knew bits from bytes. */
static const struct unit byte_units[] = {{"B", 0, 1}, {NULL, 0, 0}};
static const struct unit rate_units[] = {
    {"B/s", 0, 1}, {"bps", 0, 0.125}, {"bit/s", 0, 0.125}, {"b/s", 0, 0.125}, {NULL, 0, 0},
};
static const struct unit ratio_units[] = {{"%", -2, 1}, {NULL, 0, 0}};

/* Smallest first, in base units; what ss_units_format chooses from. */
static const struct unit byte_scale[] = {
    {"B", 0, 1}, {"kB", 3, 1}, {"MB", 6, 1}, {"GB", 9, 1}, {"TB", 12, 1}, {"PB", 15, 1}, {NULL, 0, 0},
};
static const struct unit rate_scale[] = {
    {"bit/s", 0, 0.125},   {"kbit/s", 3, 0.125},  {"Mbit/s", 6, 0.125}, {"Gbit/s", 9, 0.125},
    {"Tbit/s", 12, 0.125}, {"Pbit/s", 15, 0.125}, {NULL, 0, 0},
};

const char *ss_dimension_wanted(enum ss_dimension dimension) {
  switch (dimension) {
  case SS_NUMBER: return "a number (say 12 or 0.5)";
  case SS_RATIO: return "a ratio (say \"1.13%\", \"1/32\" or 0.5)";
  case SS_TIME: return "a time (say \"10us\" or \"1.5ms\")";
  case SS_BYTES: return "a size (say \"856MB\" or \"128MiB\")";
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

/* Reads the number at *at, times 10^tens, and moves past it, with the point as decimal sign whatever the process's
 * locale says. Where powers are to be added the number has at most 300 characters, and an exponent of at most 9
 * digits. */
static bool take_number(const char **at, int tens, double *out) {
  const char *end = number_end(*at);
  if (end == NULL) return false;
  char shifted[340];
  const char *text = *at;
  const size_t length = (size_t)(end - text), digits = strcspn(text, "eE") < length ? strcspn(text, "eE") : length;
  if (tens != 0) {
    if (length > 300 || length - digits > 11) return false;
    const long own = digits < length ? strtol(text + digits + 1, NULL, 10) : 0;
    snprintf(shifted, sizeof shifted, "%.*se%ld", (int)digits, text, own + tens);
    text = shifted;
  }
  locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  if (c_locale == (locale_t)0) return false;
  *out = strtod_l(text, NULL, c_locale);
  freelocale(c_locale);
  *at = end;
  return isfinite(*out);
}

static const struct unit *prefix_of(const char *prefix, size_t length) {
  for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
    if (strlen(prefixes[i].name) == length && memcmp(prefixes[i].name, prefix, length) == 0) return &prefixes[i];
  return NULL;
}

/* The number at `number` in the unit that `text` names. */
static bool take_in_unit(const char *number, const char *text, const struct unit *units, bool prefixed,
                         double *value) {
  const size_t length = strlen(text);
  for (; units->name != NULL; units++) {
    const size_t base = strlen(units->name);
    if (base > length || strcmp(text + length - base, units->name) != 0) continue;
    const struct unit *prefix = prefix_of(text, length - base);
    if (!prefix || (!prefixed && base < length)) continue;
    if (!take_number(&number, units->tens + prefix->tens, value)) return false;
    *value *= units->times * prefix->times;
    return true;
  }
  return false;
}

static bool apply_divisor(const char *text, double *value) {
  const char *at = skip_spaces(text);
  double divisor;
  if (!take_number(&at, 0, &divisor) || *at != '\0') return false;
  *value /= divisor;
  return true;
}

static bool parse_quantity(const char *text, enum ss_dimension dimension, double *value) {
  const char *at = text;
  if (!take_number(&at, 0, value)) return false;
  if (*at == '\0') return true;
  at = skip_spaces(at);
  switch (dimension) {
  case SS_NUMBER: return false;
  case SS_RATIO: return *at == '/' ? apply_divisor(at + 1, value) : take_in_unit(text, at, ratio_units, false, value);
  case SS_TIME:
    return take_in_unit(text, at, time_units, false, value) || take_in_unit(text, at, micro_units, false, value);
  case SS_BYTES: return take_in_unit(text, at, byte_units, true, value);
  case SS_RATE: return take_in_unit(text, at, rate_units, true, value);
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
  const bool needed = dimension == SS_TIME || dimension == SS_RATE || dimension == SS_BYTES;
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

static double in_unit(const struct unit *unit, double value) {
  return (unit->tens < 0 ? value * pow(10, -unit->tens) : value / pow(10, unit->tens)) / unit->times;
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
    if (in_unit(larger, fabs(value)) >= 0.9995) unit = larger;
  char digits[64];
  format_digits(digits, sizeof digits, in_unit(unit, value));
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
