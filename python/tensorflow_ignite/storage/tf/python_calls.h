/* Turns calls of TensorFlow into calls of Python: from any thread, at any time, also while Python is ending. */
#ifndef TENSORFLOW_IGNITE_PYTHON_CALLS_H_
#define TENSORFLOW_IGNITE_PYTHON_CALLS_H_

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <pthread.h>

#include "tensorflow_abi.h"

/* Python's headers define these two only for the stable ABI of 3.11 and later; the numbers are older. */
#ifndef PyBUF_READ
#define PyBUF_READ 0x100
#define PyBUF_WRITE 0x200
#endif

/* The body of every call of TensorFlow is between BEGIN_PYTHON and END_PYTHON:
 *
 *   BEGIN_PYTHON(status) { … with the GIL … } END_PYTHON
 *
 * After the end of Python the body is skipped, and the status says so. The body must not use return, break or goto.
 */
#define BEGIN_PYTHON(status)                              \
  if (python_enter(status)) {                       \
    pthread_cleanup_push(keep_thread, NULL);        \
    PyGILState_STATE gil_state = PyGILState_Ensure(); \
    defer_collection();
#define END_PYTHON                                       \
    resume_collection();                               \
    PyGILState_Release(gil_state);                 \
    pthread_cleanup_pop(0);                         \
    python_leave();                                 \
  }

/* Without the GIL. False: Python has ended or is ending; the status, if any, has the reason. */
bool python_enter(abi_status *status);
void python_leave(void);
/* Blocks a thread forever. Python ends a thread that requests the GIL of an interpreter that is ending. */
void keep_thread(void *unused);

/* With the GIL, in pairs. Between them no thread collects Python's cyclic garbage.
 *
 * TensorFlow makes calls while it holds its own locks: for example, the lock of its resources while it makes a summary
 * writer. The destructor of a resource's tensor waits for this lock. So a collection in this thread, or in a thread
 * for which this one waits, could wait forever. If a deferral lasts long, a thread for which no call waits collects. */
void defer_collection(void);
void resume_collection(void);

/* Without the GIL. Refuses new calls; returns whether all calls have ended within the given seconds. */
bool python_close(double seconds);

void set_status(abi_status *status, int code, const char *text);
/* Finds TensorFlow's own function; false: TensorFlow is not in this process. */
bool find_set_status(void);

/* With the GIL. Sets the object whose methods answer all calls; its method `explain` describes an error. */
void set_filesystem_calls(PyObject *object);

/* With the GIL. Calls a method, and releases the arguments, which may be NULL when an exception is set. NULL: the call
 * failed, the status has the reason, and no exception is set any more. */
PyObject *call_python(abi_status *status, const char *method, PyObject *arguments);
/* Returns whether the call succeeded. */
bool call_python_void(abi_status *status, const char *method, PyObject *arguments);
/* -1: the call failed. */
int64_t call_python_int64(abi_status *status, const char *method, PyObject *arguments);

/* With the GIL. Decodes a path of TensorFlow; bytes that are not UTF-8 are kept as surrogates. */
PyObject *text_of(const char *path);

/* With the GIL. Calls a method with `object` as its first argument, and a view of the memory as its last, which the
 * method must not keep. `between` is one more argument, or NULL; it is released. */
PyObject *call_python_with_memory(abi_status *status, const char *method, PyObject *object, PyObject *between,
                                  char *memory, size_t count, int flags);

#endif
