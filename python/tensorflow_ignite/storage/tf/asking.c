#define _GNU_SOURCE
#include "asking.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static atomic_int inside;
static atomic_bool closed;
static pthread_mutex_t leaving_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t leaving = PTHREAD_COND_INITIALIZER;

static PyObject *answers;
static abi_set_status tensorflow_set_status;

/* Guarded by the GIL. */
static int holders;
static bool was_enabled;
static time_t held_since;
enum { HELD_TOO_LONG_SECONDS = 2 };

static time_t seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return now.tv_sec;
}

void hold_collection(void) {
  if (holders++ == 0) {
    was_enabled = PyGC_Disable() == 1;
    held_since = seconds_now();
  }
}

void let_collection(void) {
  if (--holders == 0) {
    if (was_enabled) PyGC_Enable();
  } else if (was_enabled && seconds_now() - held_since > HELD_TOO_LONG_SECONDS) {
    held_since = seconds_now();
    PyObject *begun = PyObject_CallMethod(answers, "collect", NULL);
    if (begun == NULL) PyErr_Clear(); /* no thread can be started: Python is about to end */
    Py_XDECREF(begun);
  }
}

/* In a child nobody is inside but the thread that forked, and that one is Python's. */
static void forget_threads(void) {
  atomic_store(&inside, 0);
  pthread_mutex_t fresh_lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t fresh = PTHREAD_COND_INITIALIZER;
  if (holders > 0 && was_enabled) PyGC_Enable();
  holders = 0;
  leaving_lock = fresh_lock;
  leaving = fresh;
}

bool asking_enter(abi_status *status) {
  atomic_fetch_add(&inside, 1);
  if (!atomic_load(&closed)) {
    if (status != NULL) set_status(status, ABI_OK, "");
    return true;
  }
  asking_leave();
  set_status(status, ABI_UNAVAILABLE,
             "ignite:// is no longer served: this Python interpreter is ending. Files are served until the functions "
             "of atexit are called. Close writers and join threads before the program ends.");
  return false;
}

void asking_leave(void) {
  if (atomic_fetch_sub(&inside, 1) == 1 && atomic_load(&closed)) {
    pthread_mutex_lock(&leaving_lock);
    pthread_cond_broadcast(&leaving);
    pthread_mutex_unlock(&leaving_lock);
  }
}

void asking_stay(void *unused) {
  (void)unused;
  /* Were it to end, its stack would be unwound through TensorFlow's functions that allow that of nobody: abort(). */
  while (true) pause();
}

bool asking_close(double seconds) {
  struct timespec deadline;
  clock_gettime(CLOCK_REALTIME, &deadline);
  long nanoseconds = deadline.tv_nsec + (long)((seconds - (long)seconds) * 1e9);
  deadline.tv_sec += (long)seconds + nanoseconds / 1000000000L;
  deadline.tv_nsec = nanoseconds % 1000000000L;
  atomic_store(&closed, true);
  pthread_mutex_lock(&leaving_lock);
  while (atomic_load(&inside) > 0 && pthread_cond_timedwait(&leaving, &leaving_lock, &deadline) == 0) continue;
  bool empty = atomic_load(&inside) == 0;
  pthread_mutex_unlock(&leaving_lock);
  return empty;
}

void set_status(abi_status *status, int code, const char *text) {
  if (status != NULL) tensorflow_set_status(status, code, text);
}

bool find_set_status(void) {
  static const char *const libraries[] = {"libtensorflow_framework.so.2", "libtensorflow_cc.so.2", NULL};
  void *found = dlsym(RTLD_DEFAULT, "TF_SetStatus");
  for (int number = 0; found == NULL && libraries[number] != NULL; number++) {
    /* Only what is loaded already: the handle stays open, as TensorFlow does. */
    void *library = dlopen(libraries[number], RTLD_LAZY | RTLD_NOLOAD);
    if (library != NULL) found = dlsym(library, "TF_SetStatus");
  }
  memcpy(&tensorflow_set_status, &found, sizeof found);
  return found != NULL;
}

void set_answers(PyObject *object) {
  if (answers == NULL) pthread_atfork(NULL, NULL, forget_threads);
  Py_INCREF(object);
  Py_XDECREF(answers);
  answers = object;
}

/* Turns the exception that is set into a status. */
static void tell(abi_status *status) {
  PyObject *type = NULL, *error = NULL, *traceback = NULL;
  PyErr_Fetch(&type, &error, &traceback);
  PyErr_NormalizeException(&type, &error, &traceback);
  if (traceback != NULL) PyException_SetTraceback(error, traceback);
  PyObject *told = PyObject_CallMethod(answers, "explain", "O", error);
  int code = 0;
  const char *text = NULL;
  if (told != NULL && PyArg_ParseTuple(told, "iy", &code, &text)) {
    set_status(status, code, text);
  } else {
    PyErr_Clear();
    set_status(status, ABI_INTERNAL, "an error of ignite:// could not be told; this is a fault in tensorflow-ignite");
  }
  /* Whoever keeps the error must not keep, through the frames that it went through, memory that was lent to them. */
  if (error != NULL) PyException_SetTraceback(error, Py_None);
  Py_XDECREF(told);
  Py_XDECREF(traceback);
  Py_XDECREF(error);
  Py_XDECREF(type);
}

PyObject *ask(abi_status *status, const char *method, PyObject *arguments) {
  PyObject *answer = NULL;
  if (arguments != NULL) {
    PyObject *function = PyObject_GetAttrString(answers, method);
    if (function != NULL) {
      answer = PyObject_CallObject(function, arguments);
      Py_DECREF(function);
    }
    Py_DECREF(arguments);
  }
  if (answer == NULL) tell(status);
  return answer;
}

bool ask_nothing(abi_status *status, const char *method, PyObject *arguments) {
  PyObject *answer = ask(status, method, arguments);
  Py_XDECREF(answer);
  return answer != NULL;
}

int64_t ask_number(abi_status *status, const char *method, PyObject *arguments) {
  PyObject *answer = ask(status, method, arguments);
  if (answer == NULL) return -1;
  int64_t number = PyLong_AsLongLong(answer);
  Py_DECREF(answer);
  if (number == -1 && PyErr_Occurred()) tell(status);
  return number;
}

PyObject *text_of(const char *path) {
  return PyUnicode_DecodeUTF8(path, (Py_ssize_t)strlen(path), "surrogateescape");
}

PyObject *ask_with_memory(abi_status *status, const char *method, PyObject *object, PyObject *between, char *memory,
                          size_t count, int flags) {
  PyObject *view = PyMemoryView_FromMemory(memory, (Py_ssize_t)count, flags);
  if (view == NULL) {
    Py_XDECREF(between);
    tell(status);
    return NULL;
  }
  PyObject *arguments = between == NULL ? Py_BuildValue("(OO)", object, view)
                                        : Py_BuildValue("(ONO)", object, between, view);
  PyObject *answer = ask(status, method, arguments);
  /* The memory is TensorFlow's: from here on nobody may reach it through the view. */
  PyObject *released = PyObject_CallMethod(view, "release", NULL);
  Py_DECREF(view);
  if (released == NULL && answer != NULL) {
    Py_DECREF(answer);
    tell(status);
    return NULL;
  }
  if (released == NULL) PyErr_Clear(); /* what went wrong before says more */
  Py_XDECREF(released);
  return answer;
}
