/* How a call of TensorFlow becomes a call of Python: from any thread, at any time, also when Python is about to end. */
#ifndef TENSORFLOW_IGNITE_ASKING_H_
#define TENSORFLOW_IGNITE_ASKING_H_

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <pthread.h>

#include "tensorflow_abi.h"

/* Python's headers keep these two from those who ask for its stable ABI of before 3.11; the numbers are older. */
#ifndef PyBUF_READ
#define PyBUF_READ 0x100
#define PyBUF_WRITE 0x200
#endif

/* Every call of TensorFlow stands between ASKING and ASKED; the rest of it only in between:
 *
 *   ASKING(status) { … with the GIL … } ASKED
 *
 * Nothing is done when Python is no longer there; the status says so. No return, break or goto leaves it.
 */
#define ASKING(status)                              \
  if (asking_enter(status)) {                       \
    pthread_cleanup_push(asking_stay, NULL);        \
    PyGILState_STATE asking_gil = PyGILState_Ensure(); \
    hold_collection();
#define ASKED                                       \
    let_collection();                               \
    PyGILState_Release(asking_gil);                 \
    pthread_cleanup_pop(0);                         \
    asking_leave();                                 \
  }

/* Without the GIL. False: Python has ended or is ending; the status, if any, says so. */
bool asking_enter(abi_status *status);
void asking_leave(void);
/* Keeps for ever a thread that Python ends since it asked for the GIL of an interpreter that is ending. */
void asking_stay(void *unused);

/* With the GIL, in pairs. Between them Python's cyclic garbage is not collected, in no thread.
 *
 * TensorFlow calls us under locks of its own: that of its resources while it makes a summary writer. A collection that
 * came upon a tensor of a resource, in this thread or in one that this one waits for, would wait for that lock for ever.
 * When somebody holds it for long, a thread collects that nobody waits for. */
void hold_collection(void);
void let_collection(void);

/* Without the GIL. Lets nobody in any more; whether everybody has left within so many seconds. */
bool asking_close(double seconds);

void set_status(abi_status *status, int code, const char *text);
/* Finds TensorFlow's own function; false: TensorFlow is not in this process. */
bool find_set_status(void);

/* With the GIL. What answers all questions, for good; an error is told by its method `explain`. */
void set_answers(PyObject *object);

/* With the GIL. Calls a method; takes the arguments over, which may be NULL when an exception is set. NULL: it failed, the
 * status tells why, and no exception is set any more. */
PyObject *ask(abi_status *status, const char *method, PyObject *arguments);
/* Whether it went well. */
bool ask_nothing(abi_status *status, const char *method, PyObject *arguments);
/* -1: it failed. */
int64_t ask_number(abi_status *status, const char *method, PyObject *arguments);

/* With the GIL. A path as TensorFlow gives it; what is not UTF-8 in it is kept. */
PyObject *text_of(const char *path);

/* With the GIL. Lends memory to one call that has `object` as its first argument and the view as its last; nobody may
 * keep it. The arguments between, a tuple, are taken over and may be NULL for none. */
PyObject *ask_with_memory(abi_status *status, const char *method, PyObject *object, PyObject *between, char *memory,
                          size_t count, int flags);

#endif
