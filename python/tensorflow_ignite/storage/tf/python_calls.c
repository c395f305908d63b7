#define _GNU_SOURCE
#include "python_calls.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

// Versions of these calls that every glibc has: with the versions of 2.34, the extension loads on no older system.
#if defined(__GLIBC__) && defined(__x86_64__)
__asm__(".symver dlopen, dlopen@GLIBC_2.2.5");
__asm__(".symver dlsym, dlsym@GLIBC_2.2.5");
#elif defined(__GLIBC__) && defined(__aarch64__)
__asm__(".symver dlopen, dlopen@GLIBC_2.17");
__asm__(".symver dlsym, dlsym@GLIBC_2.17");
#endif

static atomic_int inside;
static atomic_bool closed;
static pthread_mutex_t leaving_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t leaving = PTHREAD_COND_INITIALIZER;

static PyObject *filesystem_calls;
static abi_set_status tensorflow_set_status;

/* Guarded by the GIL. */
static int deferrals;
static bool was_enabled;
static time_t deferred_since;
enum { LONG_DEFERRAL_SECONDS = 2 };

static time_t seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return now.tv_sec;
}

void defer_collection(void) {
  if (deferrals++ == 0) {
    was_enabled = PyGC_Disable() == 1;
    deferred_since = seconds_now();
  }
}

void resume_collection(void) {
  if (--deferrals == 0) {
    if (was_enabled) PyGC_Enable();
  } else if (was_enabled && seconds_now() - deferred_since > LONG_DEFERRAL_SECONDS) {
    deferred_since = seconds_now();
    PyObject *begun = PyObject_CallMethod(filesystem_calls, "collect", NULL);
    if (begun == NULL) PyErr_Clear(); /* no thread can be started, because Python is ending */
    Py_XDECREF(begun);
  }
}

/* A forked child has one thread, which is Python's and is in no call. */
static void forget_threads(void) {
  atomic_store(&inside, 0);
  pthread_mutex_t fresh_lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t fresh = PTHREAD_COND_INITIALIZER;
  if (deferrals > 0 && was_enabled) PyGC_Enable();
  deferrals = 0;
  leaving_lock = fresh_lock;
  leaving = fresh;
}

bool python_enter(abi_status *status) {
  atomic_fetch_add(&inside, 1);
  if (!atomic_load(&closed)) {
    if (status != NULL) set_status(status, ABI_OK, "");
    return true;
  }
  python_leave();
  set_status(status, ABI_UNAVAILABLE,
             "ignite:// is no longer served: this Python interpreter is ending. Files are served until the functions "
             "of atexit are called. Close writers and join threads before the program ends.");
  return false;
}

void python_leave(void) {
  if (atomic_fetch_sub(&inside, 1) == 1 && atomic_load(&closed)) {
    pthread_mutex_lock(&leaving_lock);
    pthread_cond_broadcast(&leaving);
    pthread_mutex_unlock(&leaving_lock);
  }
}

void keep_thread(void *unused) {
  (void)unused;
  /* If the thread ended, its stack would be unwound through functions of TensorFlow that are noexcept: abort(). */
  while (true) pause();
}

bool python_close(double seconds) {
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
    /* Only a library that is loaded already; the handle stays open, because TensorFlow stays loaded. */
    void *library = dlopen(libraries[number], RTLD_LAZY | RTLD_NOLOAD);
    if (library != NULL) found = dlsym(library, "TF_SetStatus");
  }
  memcpy(&tensorflow_set_status, &found, sizeof found);
  return found != NULL;
}

void set_filesystem_calls(PyObject *object) {
  if (filesystem_calls == NULL) pthread_atfork(NULL, NULL, forget_threads);
  Py_INCREF(object);
  Py_XDECREF(filesystem_calls);
  filesystem_calls = object;
}

/* Turns the exception that is set into a status. */
static void set_status_from_exception(abi_status *status) {
  PyObject *type = NULL, *error = NULL, *traceback = NULL;
  PyErr_Fetch(&type, &error, &traceback);
  PyErr_NormalizeException(&type, &error, &traceback);
  if (traceback != NULL) PyException_SetTraceback(error, traceback);
  PyObject *description = PyObject_CallMethod(filesystem_calls, "explain", "O", error);
  int code = 0;
  const char *text = NULL;
  if (description != NULL && PyArg_ParseTuple(description, "iy", &code, &text)) {
    set_status(status, code, text);
  } else {
    PyErr_Clear();
    set_status(status, ABI_INTERNAL, "an error of ignite:// has no description; this is a fault in tensorflow-ignite");
  }
  /* The frames of the traceback refer to memory of TensorFlow, which an error that is kept must not keep. */
  if (error != NULL) PyException_SetTraceback(error, Py_None);
  Py_XDECREF(description);
  Py_XDECREF(traceback);
  Py_XDECREF(error);
  Py_XDECREF(type);
}

PyObject *call_python(abi_status *status, const char *method, PyObject *arguments) {
  PyObject *answer = NULL;
  if (arguments != NULL) {
    PyObject *function = PyObject_GetAttrString(filesystem_calls, method);
    if (function != NULL) {
      answer = PyObject_CallObject(function, arguments);
      Py_DECREF(function);
    }
    Py_DECREF(arguments);
  }
  if (answer == NULL) set_status_from_exception(status);
  return answer;
}

bool call_python_void(abi_status *status, const char *method, PyObject *arguments) {
  PyObject *answer = call_python(status, method, arguments);
  Py_XDECREF(answer);
  return answer != NULL;
}

int64_t call_python_int64(abi_status *status, const char *method, PyObject *arguments) {
  PyObject *answer = call_python(status, method, arguments);
  if (answer == NULL) return -1;
  int64_t number = PyLong_AsLongLong(answer);
  Py_DECREF(answer);
  if (number == -1 && PyErr_Occurred()) set_status_from_exception(status);
  return number;
}

PyObject *text_of(const char *path) {
  return PyUnicode_DecodeUTF8(path, (Py_ssize_t)strlen(path), "surrogateescape");
}

PyObject *call_python_with_memory(abi_status *status, const char *method, PyObject *object, PyObject *between,
                                  char *memory, size_t count, int flags) {
  PyObject *view = PyMemoryView_FromMemory(memory, (Py_ssize_t)count, flags);
  if (view == NULL) {
    Py_XDECREF(between);
    set_status_from_exception(status);
    return NULL;
  }
  PyObject *arguments = between == NULL ? Py_BuildValue("(OO)", object, view)
                                        : Py_BuildValue("(ONO)", object, between, view);
  PyObject *answer = call_python(status, method, arguments);
  /* The memory is TensorFlow's: the view must not be used after the call. */
  PyObject *released = PyObject_CallMethod(view, "release", NULL);
  Py_DECREF(view);
  if (released == NULL && answer != NULL) {
    Py_DECREF(answer);
    set_status_from_exception(status);
    return NULL;
  }
  if (released == NULL) PyErr_Clear(); /* the first error is more useful */
  Py_XDECREF(released);
  return answer;
}
