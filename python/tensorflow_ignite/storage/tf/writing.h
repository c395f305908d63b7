/* Writable files: small pieces are gathered here, so that they cost neither the GIL nor a call of Python. */
#ifndef TENSORFLOW_IGNITE_WRITING_H_
#define TENSORFLOW_IGNITE_WRITING_H_

#include "asking.h"

/* With the GIL. Begins a file around a writer, which is taken over; NULL: it failed, the status tells why. */
void *writing_begin(PyObject *writer, int64_t position, abi_status *status);

/* With the GIL, when nobody is let in any more: closes what this process has begun and not closed. */
void writing_end_all(void);

extern const abi_writing writing_calls;

#endif
