#include "cost/forms.h"
#include "machine/cluster.h"
#include "machine/device.h"
#include "study/scenario_fields.h"
#include "trace/placement.h"
#include "train/system.h"
#include "train/workloads.h"

const struct ss_schema ss_study_schemas[] = {
    {"cluster", &ss_cluster_fields},     {"cost-model", &ss_cost_fields},
    {"device", &ss_device_fields},       {"library", &ss_beliefs_fields},
    {"placement", &ss_placement_fields}, {"scenario", &ss_scenario_fields},
    {"system", &ss_system_fields},       {"train-scenario", &ss_training_fields},
    {"workload", &ss_workload_fields},   {NULL, NULL}};
