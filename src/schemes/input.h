#include "trace/input.h"
