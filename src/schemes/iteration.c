#include "schemes/iteration.h"

struct ss_input_options ss_iteration_options(const struct ss_setting *setting, const struct ss_selection *selection,
                                             uint32_t ranks, bool verify, bool device) {
  struct ss_input_options options = ss_setting_input_options(setting, ranks, verify, device);
  if (selection->selects) options.element = options.values = options.lists = true;
  return options;
}

bool ss_iteration_select(const struct ss_setting *setting, struct ss_selector *selector, struct ss_input *input,
                         struct ss_arena *arena, struct ss_error *error) {
  return !selector->selection.selects ||
         ss_selector_apply(selector, ss_setting_by_elements(setting), input, arena, error);
}

bool ss_iteration_shape(const struct ss_setting *setting, const struct ss_selection *selection,
                        const struct ss_origin *origin, struct ss_input *out, struct ss_error *error) {
  const bool element = ss_setting_by_elements(setting);
  if (!ss_input_shape(origin, element || selection->selects, out, error)) return false;
  ss_selection_shape(selection, element, out);
  return true;
}
