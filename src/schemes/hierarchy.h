/* Hierarchies: any scheme among nodes, with dense sums inside them (ZEN §4). */
#ifndef SS_SCHEMES_HIERARCHY_H
#define SS_SCHEMES_HIERARCHY_H

#include "schemes/run.h"

/* Groups in which the scheme runs at once: one of all ranks; one of the nodes' leaders; or, for shards, as many as a
 * node has ranks. */
uint32_t ss_hierarchy_groups(enum ss_hierarchy hierarchy, struct ss_layout layout);

/* shard: ring reduce-scatter inside every node; rank i of every node runs the scheme with those of the other nodes on
 * shard i; ring all-gather inside every node. leader: binomial reduce to the node's first rank, the scheme among
 * those, binomial broadcast. What moves inside a node takes dense bytes. */
bool ss_hierarchy_run(struct ss_run *run, uint32_t per_node, struct ss_error *error) SS_MUST_CHECK;

#endif
