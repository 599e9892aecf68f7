/* What an iteration of a scheme starts from: what ranks have of a tensor, less what a selection leaves out. */
#ifndef SS_SCHEMES_ITERATION_H
#define SS_SCHEMES_ITERATION_H

#include "schemes/select.h"
#include "schemes/simulate.h"

/* What is to be made of the tensor: as ss_setting_input_options; but what is selected is selected by elements and by
 * their values. */
struct ss_input_options ss_iteration_options(const struct ss_setting *setting, const struct ss_selection *selection,
                                             uint32_t ranks, bool verify, bool device);
/* Replaces the input, made with those options, by what the selector selects of it for the scheme. */
bool ss_iteration_select(const struct ss_setting *setting, struct ss_selector *selector, struct ss_input *input,
                         struct ss_arena *arena, struct ss_error *error) SS_MUST_CHECK;
/* Rows, widths and bytes of the tensor as the scheme sees it, without content. */
bool ss_iteration_shape(const struct ss_setting *setting, const struct ss_selection *selection,
                        const struct ss_origin *origin, struct ss_input *out, struct ss_error *error) SS_MUST_CHECK;

#endif
