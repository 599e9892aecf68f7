/* The data folder: models/, plots/, scenarios/ and traces/, found at $SPARSYNC_DATA, else beside the installed
 * program that runs (../share/sparsync), or above the library that it has loaded, else in the source tree of a build
 * that is not installed. */
#pragma once

#include "base/json.h"

/* ROOT into `root`, and in words why that one. */
bool ss_data_root(char *root, size_t size, const char **why, struct ss_error *error) SS_MUST_CHECK;

/* "ROOT/models/KIND/NAME.json" into `path`; of the kind "figures", "ROOT/scenarios/figures/NAME.json", of
 * "scenarios", "ROOT/scenarios/NAME.json". A `name` that has a '/' or ends in ".json" is a path already. An unknown
 * name is an error that suggests the nearest and lists what there is. */
bool ss_data_find(const char *kind, const char *name, char *path, size_t size, struct ss_error *error) SS_MUST_CHECK;

/* The scenario's file, as it stands if something is there (or it is "-"), else in ROOT, else by its name in
 * ROOT/scenarios; a path to nothing stays as it is. */
bool ss_data_scenario(const char *name, char *path, size_t size, struct ss_error *error) SS_MUST_CHECK;

/* A path as a scenario means it: from here, or else from the folder of the file `base` (NULL: none), the one
 * above, or ROOT. */
void ss_data_locate(const char *name, const char *base, char *path, size_t size);
/* The model of that kind, by its name or by a path that is located with `base`. The document is the caller's. */
bool ss_data_open(const char *kind, const char *name, const char *base, struct ss_doc **out,
                  struct ss_error *error) SS_MUST_CHECK;
/* The same of a name that stands in a document. */
bool ss_data_open_node(const char *kind, struct ss_node name, const char *base, struct ss_doc **out,
                       struct ss_error *error) SS_MUST_CHECK;

/* "ROOT/RELATIVE", absolute, into `path`; a file that is not there is an error. */
bool ss_data_file(const char *relative, char *path, size_t size, struct ss_error *error) SS_MUST_CHECK;

/* The names of a kind, ascending, as a NULL-terminated array that one free() gives back. An
 * absent folder is empty. */
bool ss_data_list(const char *kind, char ***names, size_t *count, struct ss_error *error) SS_MUST_CHECK;

/* "ROOT/RELATIVE" into `path`, there or not: "scenarios/claims", "traces". */
bool ss_data_path(const char *relative, char *path, size_t size, struct ss_error *error) SS_MUST_CHECK;
/* The names (without ".json") in ROOT/RELATIVE, as ss_data_list has them. */
bool ss_data_list_in(const char *relative, char ***names, size_t *count, struct ss_error *error) SS_MUST_CHECK;
/* SPDX-License-Identifier: Apache-2.0 */
