/* Functions of which a GPU runs the same source: `SS_DEVICE static inline ...`. */
#pragma once

#ifdef __CUDACC__
#define SS_DEVICE __host__ __device__
#else
#define SS_DEVICE
#endif
/* SPDX-License-Identifier: Apache-2.0 */
