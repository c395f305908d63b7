#define _GNU_SOURCE
#include "writing.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* TensorFlow's record writer sends the smallest pieces: four for a record, some of 4 bytes. */
enum { GATHERED = 128 * 1024 };

typedef struct writing {
  PyObject *writer;
  int64_t position;
  size_t used;
  pid_t process;
  bool open;
  struct writing *before, *after;
  char gathered[GATHERED];
} writing;

/* All files that have begun and were not cleaned up; guarded by the GIL. */
static writing *first;

void *writing_begin(PyObject *writer, int64_t position, abi_status *status) {
  writing *file = malloc(sizeof *file);
  if (file == NULL) {
    Py_DECREF(writer);
    set_status(status, ABI_RESOURCE_EXHAUSTED, "no memory is left for a file to be written");
    return NULL;
  }
  file->writer = writer;
  file->position = position;
  file->used = 0;
  file->process = getpid();
  file->open = true;
  file->before = NULL;
  file->after = first;
  if (first != NULL) first->before = file;
  first = file;
  return file;
}

/* After a fork a file belongs to the process that began it. */
static bool is_ours(writing *file, abi_status *status) {
  if (file->process == getpid()) return true;
  set_status(status, ABI_FAILED_PRECONDITION,
             "an ignite:// file was opened for writing by the process that this one is a fork of. A file is written by "
             "the process that opened it. Open another one here.");
  return false;
}

static bool is_open(writing *file, abi_status *status) {
  if (file->open) return true;
  set_status(status, ABI_FAILED_PRECONDITION,
             "an ignite:// file is closed. It can be written until it is closed. Open it again, to append.");
  return false;
}

/* With the GIL. */
static bool send(writing *file, const char *data, size_t count, abi_status *status) {
  if (count == 0) return true;
  PyObject *answer = call_python_with_memory(status, "write", file->writer, NULL, (char *)data, count, PyBUF_READ);
  Py_XDECREF(answer);
  return answer != NULL;
}

/* With the GIL. Gathered bytes are sent once; if that fails, the writer is broken, and every later call fails. */
static bool send_gathered(writing *file, abi_status *status) {
  size_t count = file->used;
  file->used = 0;
  return send(file, file->gathered, count, status);
}

static void append(const abi_handle *handle, const char *data, size_t count, abi_status *status) {
  writing *file = handle->own;
  if (!python_enter(status)) return;
  if (is_ours(file, status) && is_open(file, status)) {
    if (count <= GATHERED - file->used) {
      memcpy(file->gathered + file->used, data, count);
      file->used += count;
      file->position += (int64_t)count;
    } else {
      BEGIN_PYTHON(status) {
        if (send_gathered(file, status)) {
          if (count < GATHERED) {
            memcpy(file->gathered, data, count);
            file->used = count;
            file->position += (int64_t)count;
          } else if (send(file, data, count, status)) {
            file->position += (int64_t)count;
          }
        }
      }
      END_PYTHON
    }
  }
  python_leave();
}

static int64_t tell(const abi_handle *handle, abi_status *status) {
  set_status(status, ABI_OK, "");
  return ((writing *)handle->own)->position;
}

static void publish(const abi_handle *handle, abi_status *status) {
  writing *file = handle->own;
  BEGIN_PYTHON(status) {
    if (is_ours(file, status) && is_open(file, status) && send_gathered(file, status)) {
      call_python_void(status, "publish", Py_BuildValue("(O)", file->writer));
    }
  }
  END_PYTHON
}

/* With the GIL. Repeated, it does nothing: writers of checkpoints close twice. */
static void end(writing *file, const char *method, abi_status *status) {
  if (!file->open || !is_ours(file, status)) return;
  file->open = false;
  /* If the rest cannot be written, the writer is broken: closing it publishes nothing, and raises the first error. */
  send_gathered(file, NULL);
  call_python_void(status, method, Py_BuildValue("(O)", file->writer));
}

static void close_file(const abi_handle *handle, abi_status *status) {
  writing *file = handle->own;
  BEGIN_PYTHON(status) {
    end(file, "close_writer", status);
  }
  END_PYTHON
}

/* As with files of the operating system, bytes that were written and never closed are kept. */
static void cleanup(abi_handle *handle) {
  writing *file = handle->own;
  if (file == NULL) return;
  BEGIN_PYTHON(NULL) {
    if (file->process == getpid()) end(file, "close_quietly", NULL);
    if (file->before != NULL) file->before->after = file->after;
    if (file->after != NULL) file->after->before = file->before;
    if (first == file) first = file->after;
    Py_DECREF(file->writer);
    free(file);
  }
  END_PYTHON
  handle->own = NULL;
}

void writing_end_all(void) {
  for (writing *file = first; file != NULL; file = file->after) {
    if (file->process == getpid()) end(file, "close_quietly", NULL);
  }
}

const abi_writing writing_calls = {
    .cleanup = cleanup, .append = append, .tell = tell, .flush = publish, .sync = publish, .close = close_file};
