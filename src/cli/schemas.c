#include "cli/schemas.h"

#include "claims/claims.h"
#include "cost/forms.h"
#include "figures/figure.h"
#include "machine/cluster.h"
#include "machine/device.h"
#include "query/cache.h"
#include "study/scenario_fields.h"
#include "trace/placement.h"
#include "train/system.h"
#include "train/workloads.h"

const struct ss_schema ss_schemas[] = {
    {"claims-file", &ss_claims_fields},      {"cluster", &ss_cluster_fields},   {"cost-model", &ss_cost_fields},
    {"device", &ss_device_fields},           {"figure", &ss_figure_fields},     {"placement", &ss_placement_fields},
    {"request", &ss_request_fields},         {"scenario", &ss_scenario_fields}, {"system", &ss_system_fields},
    {"train-scenario", &ss_training_fields}, {"workload", &ss_workload_fields}, {NULL, NULL}};
