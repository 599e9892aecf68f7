/* What training simulates, shared by all processes of mpirun: the results are rank 0's. */
#ifndef SS_STUDY_TRAINING_SHARED_H
#define SS_STUDY_TRAINING_SHARED_H

#include "study/study.h"
#include "train/training.h"

/* Collective; like ss_communicator_share. The options have processes; their watcher is told of each
 * simulation. */
bool ss_train_share(struct ss_training *training, const struct ss_run_options *options,
                    struct ss_error *error) SS_MUST_CHECK;

#endif
