#include "schemes/schemes.h"
