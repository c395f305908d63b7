/* Writable files. Small pieces are gathered here, so that they need neither the GIL nor a call of Python. */
#ifndef TENSORFLOW_IGNITE_WRITING_H_
#define TENSORFLOW_IGNITE_WRITING_H_

#include "python_calls.h"

/* With the GIL. Begins a file, which owns the writer from now on. NULL: it failed, and the status has the reason. */
void *writing_begin(PyObject *writer, int64_t position, abi_status *status);

/* With the GIL, after python_close(): closes all files that this process has begun and not closed. */
void writing_end_all(void);

extern const abi_writing writing_calls;

#endif
