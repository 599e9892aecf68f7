/* Functions of which a GPU runs the same source: `SS_DEVICE static inline ...`. */
#ifndef SS_BASE_BOTH_H
#define SS_BASE_BOTH_H

#ifdef __CUDACC__
#define SS_DEVICE __host__ __device__
#else
#define SS_DEVICE
#endif

#endif
