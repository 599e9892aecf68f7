#include "study/scenario_fields.h"

#include "cost/forms.h"
#include "schemes/select.h"
#include "study/captured.h"
#include "study/results.h"
#include "study/software.h"
#include "study/sources.h"
#include "trace/placement.h"
#include "train/system.h"
#include "train/workloads.h"

static const struct ss_field_spec a_rank_count = {NULL, NULL, SS_IS_COUNT(1, SS_RANKS_MAX)};
const struct ss_field_spec ss_ranks_forms[] = {
    {NULL, NULL, SS_IS_COUNT(1, SS_RANKS_MAX)},
    {NULL, NULL, SS_IS_LIST(&a_rank_count, 1, 0)},
    {NULL, NULL, SS_IS_TEXT, .pattern = "^[0-9]+(\\.\\.[0-9]+)?(,[0-9]+(\\.\\.[0-9]+)?)*$"},
    {.name = NULL}};

const struct ss_field_spec ss_iterations_forms[] = {
    {NULL, NULL, SS_IS_COUNT(1, 0)}, {NULL, NULL, SS_IS_TEXT, .pattern = "^[0-9]*:?[0-9]*$"}, {.name = NULL}};
const struct ss_field_spec ss_scheme_field = {NULL, NULL, SS_IS_EITHER(ss_setting_forms)};

/* --- expectations ------------------------------------------------------------------------------------------- */

static const char *result_name(size_t number) {
  return number < SS_RESULT_FIELDS ? ss_result_fields[number].name : NULL;
}

const char *const ss_relations[] = {"<", "<=", ">", ">=", "=", NULL};
static const struct ss_field_spec than_forms[] = {
    {NULL, NULL, SS_IS_TEXT}, {NULL, NULL, SS_IS_NUMBER}, {.name = NULL}};
static const struct ss_field_spec any_value = {NULL, NULL, .kind = SS_SPEC_ANY};
static const struct ss_object_spec at_spec = {.others = &any_value};
#define PART(member) SS_STORED(struct ss_expectation, member)
static const struct ss_field_spec expect_fields[] = {
    {"that", "a field of the result", .kind = SS_SPEC_CHOICE, .choice = result_name, .required = true, PART(that)},
    {"of", "a label", SS_IS_NAME, .required = true, PART(of)},
    {"is", NULL, SS_IS_CHOICE(ss_relations), .required = true, PART(is)},
    {"than", "a label, or a number", SS_IS_EITHER(than_forms), .required = true, PART(than)},
    {"at", "where: ranks, paths of the sweep and other fields of a result, with their values; of a list, any of them",
     SS_IS_OBJECT(&at_spec), PART(at)},
    {"tensor", "all tensors together by default", SS_IS_TEXT, PART(tensor)},
    {"within", "\"=\" needs it: a share of the right side", SS_IS_RATIO, PART(within)},
    {"draws", "of time_s: in which share of the draws it is to hold, 0.95 say; else times are judged as they are",
     SS_IS_SHARE, .most = 1, PART(draws)},
    SS_SPEC_NOTES,
    {.name = NULL}};
const struct ss_object_spec ss_expectation_fields = {
    .name = "expectation",
    .field = expect_fields,
    .rules =
        "{'allOf': [{'if': {'properties': {'is': {'const': '='}}, 'required': ['is']}, 'then': {'required': "
        "['within']}}, {'if': {'required': ['draws']}, 'then': {'properties': {'that': {'const': 'time_s'}}}}]}"};
static const struct ss_field_spec an_expectation = {NULL, NULL, SS_IS_OBJECT(&ss_expectation_fields)};

/* --- the whole ---------------------------------------------------------------------------------------------- */

static const struct ss_field_spec values = {NULL, NULL, SS_IS_LIST(&any_value, 1, 0)};
static const struct ss_object_spec sweep_spec = {.others = &values,
                                                 .rules = "{'minProperties': 1, 'maxProperties': 8}"};
static const struct ss_field_spec placement_forms[] = {
    {NULL, NULL, SS_IS_NAME}, {NULL, NULL, SS_IS_OBJECT(&ss_placement_fields)}, {.name = NULL}};

#define SAID(member) SS_STORED(struct ss_scenario, member)
static const struct ss_field_spec fields[] = {
    {"name", NULL, SS_IS_TEXT, SAID(name)},
    SS_SPEC_SUMMARY,
    {"trace", "a file, or what to make", SS_IS_EITHER(ss_trace_forms)},
    {"capture", "a captured training: its trace, with all ranks that ran", SS_IS_NAME},
    {"cluster", "a name in models/clusters, a path, or an object", SS_IS_EITHER(ss_cluster_forms)},
    {"ranks", "rank counts: 16, [4, 8] or \"4..64\" (doubling); all of the trace's by default",
     SS_IS_EITHER(ss_ranks_forms)},
    {"device", "a name in models/devices, a path, an object, or \"none\"", SS_IS_EITHER(ss_device_forms)},
    SS_SETTING_FIELDS,
    {"verify", "prove that every result is the sum (true)", SS_IS_FLAG, SAID(verify)},
    {"certain",
     "numbers of machines are taken as they are: nothing is drawn; extrapolated ranks keep their range (false)",
     SS_IS_FLAG, SAID(certain)},
    {"offered", "only schemes that somebody offers to PyTorch (false)", SS_IS_FLAG, SAID(offered)},
    {"schemes", "those to be compared (all that can run)", SS_IS_LIST(&ss_scheme_field, 1, 1024)},
    {"iterations", "\"first:end\", or how many (all)", SS_IS_EITHER(ss_iterations_forms)},
    {"sweep", "a path and its values; the first is outermost", SS_IS_OBJECT(&sweep_spec)},
    {"expect", "what check holds results against", SS_IS_LIST(&an_expectation, 0, 0)},
    {"merge", "ranks to be made one (1)", SS_IS_COUNT(1, SS_RANKS_MAX), SAID(merge)},
    SS_SPEC_NOTES,
    {"extrapolate", "beyond the trace's ranks, play later iterations as further ranks (false)", SS_IS_FLAG,
     SAID(extrapolate)},
    {"select", NULL, SS_IS_OBJECT(&ss_selection_fields)},
    {"tensors", "those of the trace that are played (all)", SS_IS_EITHER(ss_texts_forms)},
    {"placement", "where tables live, of alltoall with partition placed: a path or an object",
     SS_IS_EITHER(placement_forms)},
    {"capacity", "a rank looks up a row at most ceil(capacity * lookups / rows) times; what is beyond is dropped",
     SS_IS_SHARE, .most = 1e6, SAID(capacity)},
    {.name = NULL}};
const struct ss_object_spec ss_scenario_fields = {.name = "scenario",
                                                  .title = "A scenario: the input of sparsync run, check and exec",
                                                  .says = "docs/scenarios.md. Every field can also come from --set; "
                                                          "\"trace\" and \"cluster\" must come from somewhere.",
                                                  .field = fields};

const struct ss_schema ss_study_schemas[] = {
    {"capture", &ss_captured_fields},        {"cluster", &ss_cluster_fields},   {"cost-model", &ss_cost_fields},
    {"device", &ss_device_fields},           {"library", &ss_beliefs_fields},   {"placement", &ss_placement_fields},
    {"scenario", &ss_scenario_fields},       {"software", &ss_inferred_fields}, {"system", &ss_system_fields},
    {"train-scenario", &ss_training_fields}, {"workload", &ss_workload_fields}, {NULL, NULL}};
/* SPDX-License-Identifier: Apache-2.0 */
