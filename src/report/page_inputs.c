#include "report/page_parts.h"

#include "base/json_text.h"
#include "report/html.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool is_estimate(const char *text) {
  for (; *text; text++)
    if (strncasecmp(text, "estimate", 8) == 0) return true;
  return false;
}

/* An object as "latency 5us, bandwidth 130GB/s". */
static void write_json(const cJSON *value, FILE *s) {
  for (const cJSON *v = cJSON_IsObject(value) ? value->child : NULL; v; v = v->next) {
    ss_html_between(v == value->child ? "" : ", ", v->string, " ", s);
    ss_html_json(v, s);
  }
  if (!cJSON_IsObject(value)) ss_html_json(value, s);
}

/* Values of the axis of that field; 0: there is none. */
static int swept_values(const struct ss_page *page, const char *kind, const char *field) {
  char path[200];
  snprintf(path, sizeof path, "%s.%.100s", kind, field);
  const size_t n = strlen(path);
  for (const cJSON *axis = page->sweep ? page->sweep->child : NULL; axis; axis = axis->next)
    if (strncmp(axis->string, path, n) == 0 && (axis->string[n] == '\0' || axis->string[n] == '.'))
      return cJSON_GetArraySize(axis);
  return 0;
}

static void write_field(const struct ss_page *page, const char *kind, const cJSON *field, const cJSON *source,
                        FILE *s) {
  const cJSON *own = cJSON_IsObject(source) ? ss_json_get(source, field->string) : source;
  ss_html_between("<tr><th scope=\"row\">", field->string, "</th><td>", s);
  const int swept = swept_values(page, kind, field->string);
  if (swept > 1) fputs("swept", s);
  else write_json(field, s);
  fputs("</td><td>", s);
  if (swept) {
    fputs(swept > 1 ? "the scenario's sweep</td></tr>\n" : "set for all places</td></tr>\n", s);
    return;
  }
  if (!cJSON_IsString(own)) {
    fputs("not stated", s);
  } else {
    if (is_estimate(own->valuestring)) fputs("<span class=\"estimated\">estimated</span>: ", s);
    const bool said = strncasecmp(own->valuestring, "estimated: ", 11) == 0;
    ss_html_text(own->valuestring + (said ? 11 : 0), s);
  }
  fputs("</td></tr>\n", s);
}

/* Words about the model are no inputs, and a network model of the one kind there is needs no source. */
static bool is_input(const char *key) {
  static const char *const words[] = {"name", "summary", "source", "notes", "model"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strcmp(words[i], key) == 0) return false;
  return true;
}

static void write_model(const struct ss_page *page, const cJSON *entry, FILE *s) {
  const char *kind = ss_json_word(entry, "kind");
  const cJSON *model = ss_json_get(entry, "model");
  const cJSON *source = ss_json_get(model, "source");
  const char *name = ss_json_word(model, "name");
  const char *summary = ss_json_word(model, "summary");
  fprintf(s, "<h3>%s ", strcmp(kind, "device") == 0 ? "Device" : "Cluster");
  ss_html_between("", name ? name : "inline", "</h3>\n", s);
  if (summary) ss_html_between("<p class=\"soft\">", summary, "</p>\n", s);
  ss_html_texts("texts inputs", (const char *const[]){"field", "value", "source", NULL}, s);
  for (const cJSON *f = model->child; f; f = f->next)
    if (is_input(f->string)) write_field(page, kind, f, source, s);
  ss_html_texts_end(s);
}

static bool same_trace(const struct ss_result *a, const struct ss_result *b) {
  return a->trace_hash == b->trace_hash && a->seed == b->seed && strcmp(a->trace, b->trace) == 0;
}

static void write_traces(const struct ss_results *results, FILE *s) {
  enum { NAMED = 100 };
  const struct ss_result *seen[NAMED];
  size_t count = 0;
  ss_html_texts("texts inputs", (const char *const[]){"trace", "hash of the file", "iterations", "seed", NULL}, s);
  for (size_t i = 0; i < results->count && count < NAMED; i++) {
    const struct ss_result *p = &results->result[i];
    size_t k = 0;
    while (k < count && !same_trace(seen[k], p)) k++;
    if (k < count) continue;
    seen[count++] = p;
    ss_html_between("<tr><th scope=\"row\">", p->trace, "", s);
    if (p->trace_hash) fprintf(s, "</th><td><code>xxh64:%016llx</code>", (unsigned long long)p->trace_hash);
    else fputs("</th><td>made from the scenario", s);
    fprintf(s, "</td><td>%llu</td><td>%llu</td></tr>\n", (unsigned long long)p->iterations,
            (unsigned long long)p->seed);
  }
  ss_html_texts_end(s);
}

static bool any_estimate(const cJSON *models) {
  char *text = models ? cJSON_PrintUnformatted(models) : NULL;
  const bool found = text && is_estimate(text);
  free(text);
  return found;
}

void ss_page_inputs(const struct ss_page *page, FILE *s) {
  fputs("<section id=\"inputs\">\n<h2>Inputs</h2>\n", s);
  if (any_estimate(page->models))
    fputs("<p>Some inputs are <span class=\"estimated\">estimated</span>, as marked: halve and double them before a "
          "margin is believed.</p>\n",
          s);
  for (const cJSON *m = page->models ? page->models->child : NULL; m; m = m->next) write_model(page, m, s);
  fputs("<h3>Traces</h3>\n", s);
  write_traces(page->results, s);
  fputs("</section>\n<section id=\"reproduce\">\n<h2>To make this page again</h2>\n<p>sparsync " SS_VERSION
        ", called as</p>\n<pre tabindex=\"0\"><code>",
        s);
  ss_html_lines(page->command, s);
  fputs("</code></pre>\n<p>or, without the files it named and its options, with the scenario that came of them:</p>\n"
        "<details><summary>The scenario, as JSON</summary>\n<pre tabindex=\"0\"><code>",
        s);
  ss_html_lines(page->scenario, s);
  fputs("</code></pre>\n</details>\n</section>\n", s);
}
