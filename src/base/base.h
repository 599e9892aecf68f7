/* What every file begins from: the C library, errors, memory, lists. It comes with a file's own header, or with
 * whatever else of the house the file includes; nobody lists it again. (What a GPU compiles, too, lists what it
 * needs.) */
#pragma once

#include "base/error.h"
#include "base/list.h"
#include "base/memory.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* SPDX-License-Identifier: Apache-2.0 */
