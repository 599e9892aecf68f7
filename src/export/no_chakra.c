/* In place of chakra.c where there is no protobuf-c. */
#include "export/format.h"

const struct ss_export_format *const ss_format_chakra = NULL;
/* SPDX-License-Identifier: Apache-2.0 */
