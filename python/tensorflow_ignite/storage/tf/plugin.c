/* TensorFlow's interface for file systems; Python answers each of its calls.
 *
 * This library is an extension module of Python and a plugin of TensorFlow. Python imports it and binds the object that
 * answers; then TensorFlow loads the same library, and finds TF_InitPlugin.
 */
#include <stdlib.h>
#include <string.h>

#include "python_calls.h"
#include "writing.h"

#define PATH_ALIGNMENT 64

/* -- random access files ------------------------------------------------------------------------------------------ */

static void reading_cleanup(abi_handle *file) {
  if (file->own == NULL) return;
  BEGIN_PYTHON(NULL) {
    call_python_void(NULL, "close_reader", Py_BuildValue("(O)", (PyObject *)file->own));
    Py_DECREF((PyObject *)file->own);
  }
  END_PYTHON
  file->own = NULL;
}

/* With the GIL. -1: it failed. */
static int64_t read_into(PyObject *reader, uint64_t offset, size_t count, char *buffer, abi_status *status) {
  PyObject *answer = call_python_with_memory(status, "read_into", reader, PyLong_FromUnsignedLongLong(offset), buffer,
                                             count, PyBUF_WRITE);
  if (answer == NULL) return -1;
  int64_t had = PyLong_AsLongLong(answer);
  Py_DECREF(answer);
  return had;
}

static int64_t reading_read(const abi_handle *file, uint64_t offset, size_t count, char *buffer, abi_status *status) {
  int64_t had = -1;
  BEGIN_PYTHON(status) {
    had = count == 0 ? 0 : read_into(file->own, offset, count, buffer, status);
    if (had >= 0 && (size_t)had < count) set_status(status, ABI_OUT_OF_RANGE, "the file ends before");
  }
  END_PYTHON
  return had;
}

/* -- regions of memory: the whole file, read once ----------------------------------------------------------------- */

typedef struct region {
  char *data;
  uint64_t length;
} region;

static void region_cleanup(abi_handle *handle) {
  region *own = handle->own;
  if (own == NULL) return;
  free(own->data);
  free(own);
  handle->own = NULL;
}

static const void *region_data(const abi_handle *handle) { return ((region *)handle->own)->data; }

static uint64_t region_length(const abi_handle *handle) { return ((region *)handle->own)->length; }

/* With the GIL. */
static region *read_region(PyObject *reader, abi_status *status) {
  int64_t length = call_python_int64(status, "bytes_of", Py_BuildValue("(O)", reader));
  if (length < 0) return NULL;
  if (length == 0) {
    set_status(status, ABI_INVALID_ARGUMENT, "a file without a byte has no region of memory");
    return NULL;
  }
  region *made = calloc(1, sizeof *made);
  void *data = NULL;
  if (made == NULL || posix_memalign(&data, PATH_ALIGNMENT, (size_t)length) != 0) {
    free(made);
    set_status(status, ABI_RESOURCE_EXHAUSTED, "no memory is left for the file");
    return NULL;
  }
  made->data = data;
  made->length = (uint64_t)length;
  int64_t had = read_into(reader, 0, (size_t)length, data, status);
  if (had == length) return made;
  if (had >= 0) set_status(status, ABI_DATA_LOSS, "a file ended before its end");
  free(data);
  free(made);
  return NULL;
}

static void open_region(const abi_handle *system, const char *path, abi_handle *opened, abi_status *status) {
  (void)system;
  BEGIN_PYTHON(status) {
    PyObject *reader = call_python(status, "open_reader", Py_BuildValue("(N)", text_of(path)));
    if (reader != NULL) {
      opened->own = read_region(reader, status);
      call_python_void(NULL, "close_reader", Py_BuildValue("(N)", reader));
    }
  }
  END_PYTHON
}

/* -- the file system ---------------------------------------------------------------------------------------------- */

static void init(abi_handle *system, abi_status *status) {
  system->own = NULL;
  set_status(status, ABI_OK, "");
}

static void cleanup(abi_handle *system) { (void)system; }

static void open_reader(const abi_handle *system, const char *path, abi_handle *opened, abi_status *status) {
  (void)system;
  BEGIN_PYTHON(status) { opened->own = call_python(status, "open_reader", Py_BuildValue("(N)", text_of(path))); }
  END_PYTHON
}

static void open_writer(const char *path, const char *mode, abi_handle *opened, abi_status *status) {
  BEGIN_PYTHON(status) {
    PyObject *writer = call_python(status, "open_writer", Py_BuildValue("(Ns)", text_of(path), mode));
    if (writer != NULL) {
      int64_t position = call_python_int64(status, "position_of", Py_BuildValue("(O)", writer));
      if (position >= 0) {
        opened->own = writing_begin(writer, position, status);
      } else {
        Py_DECREF(writer);
      }
    }
  }
  END_PYTHON
}

static void open_to_replace(const abi_handle *system, const char *path, abi_handle *opened, abi_status *status) {
  (void)system;
  open_writer(path, "w", opened, status);
}

static void open_to_append(const abi_handle *system, const char *path, abi_handle *opened, abi_status *status) {
  (void)system;
  open_writer(path, "a", opened, status);
}

static void on_path(const char *method, const char *path, abi_status *status) {
  BEGIN_PYTHON(status) { call_python_void(status, method, Py_BuildValue("(N)", text_of(path))); }
  END_PYTHON
}

static void on_two_paths(const char *method, const char *source, const char *target, abi_status *status) {
  BEGIN_PYTHON(status) { call_python_void(status, method, Py_BuildValue("(NN)", text_of(source), text_of(target))); }
  END_PYTHON
}

#define ON_PATH(name)                                                                    \
  static void name(const abi_handle *system, const char *path, abi_status *status) {     \
    (void)system;                                                                        \
    on_path(#name, path, status);                                                        \
  }
#define ON_TWO_PATHS(name)                                                                                         \
  static void name(const abi_handle *system, const char *source, const char *target, abi_status *status) {         \
    (void)system;                                                                                                  \
    on_two_paths(#name, source, target, status);                                                                   \
  }

ON_PATH(make_directory)
ON_PATH(make_directories)
ON_PATH(remove_file)
ON_PATH(remove_directory)
ON_PATH(must_exist)
ON_TWO_PATHS(rename_path)
ON_TWO_PATHS(copy_file)

static void remove_tree(const abi_handle *system, const char *path, uint64_t *undeleted_files,
                        uint64_t *undeleted_dirs, abi_status *status) {
  (void)system;
  *undeleted_files = 0;
  *undeleted_dirs = 1;
  BEGIN_PYTHON(status) {
    if (call_python_void(status, "remove_tree", Py_BuildValue("(N)", text_of(path)))) *undeleted_dirs = 0;
  }
  END_PYTHON
}

static void get_statistics(const abi_handle *system, const char *path, abi_statistics *statistics,
                           abi_status *status) {
  (void)system;
  BEGIN_PYTHON(status) {
    PyObject *answer = call_python(status, "statistics_of", Py_BuildValue("(N)", text_of(path)));
    long long length = 0, modified = 0;
    int is_directory = 0;
    if (answer != NULL) {
      if (PyArg_ParseTuple(answer, "LLp", &length, &modified, &is_directory)) {
        statistics->length = length;
        statistics->mtime_nsec = modified;
        statistics->is_directory = is_directory != 0;
      } else {
        PyErr_Clear();
        set_status(status, ABI_INTERNAL, "statistics of a file could not be read");
      }
      Py_DECREF(answer);
    }
  }
  END_PYTHON
}

/* With the GIL. NULL: no memory is left, or the object is not of type bytes. */
static char *copy_of(PyObject *bytes) {
  char *data = NULL;
  Py_ssize_t count = 0;
  if (PyBytes_AsStringAndSize(bytes, &data, &count) < 0) {
    PyErr_Clear();
    return NULL;
  }
  char *copy = malloc((size_t)count + 1);
  return copy == NULL ? NULL : memcpy(copy, data, (size_t)count + 1);
}

static int get_names(const char *method, const char *path, char ***names, abi_status *status) {
  int had = -1;
  BEGIN_PYTHON(status) {
    PyObject *answer = call_python(status, method, Py_BuildValue("(N)", text_of(path)));
    if (answer != NULL) {
      Py_ssize_t count = PyList_Size(answer);
      char **copies = calloc((size_t)count + 1, sizeof *copies);
      bool whole = copies != NULL;
      for (Py_ssize_t number = 0; whole && number < count; number++) {
        copies[number] = copy_of(PyList_GetItem(answer, number));
        whole = copies[number] != NULL;
      }
      if (whole) {
        *names = copies;
        had = (int)count;
      } else {
        for (Py_ssize_t number = 0; copies != NULL && number < count; number++) free(copies[number]);
        free(copies);
        set_status(status, ABI_RESOURCE_EXHAUSTED, "no memory is left for the names of a directory");
      }
      Py_DECREF(answer);
    }
  }
  END_PYTHON
  return had;
}

static int get_children(const abi_handle *system, const char *path, char ***names, abi_status *status) {
  (void)system;
  return get_names("names_in", path, names, status);
}

static int get_matching_paths(const abi_handle *system, const char *pattern, char ***paths, abi_status *status) {
  (void)system;
  return get_names("matching", pattern, paths, status);
}

static char *translate_name(const abi_handle *system, const char *uri) {
  (void)system;
  char *translated = NULL;
  BEGIN_PYTHON(NULL) {
    PyObject *answer = call_python(NULL, "translate", Py_BuildValue("(N)", text_of(uri)));
    if (answer != NULL) {
      translated = copy_of(answer);
      Py_DECREF(answer);
    }
  }
  END_PYTHON
  /* This call cannot fail; the call that uses the name reports its error. */
  return translated != NULL ? translated : strdup(uri);
}

static const abi_reading reading_calls = {.cleanup = reading_cleanup, .read = reading_read};
static const abi_region region_calls = {.cleanup = region_cleanup, .data = region_data, .length = region_length};
/* TensorFlow implements the functions that are left out with these. */
static const abi_filesystem filesystem_calls = {
    .init = init,
    .cleanup = cleanup,
    .new_random_access_file = open_reader,
    .new_writable_file = open_to_replace,
    .new_appendable_file = open_to_append,
    .new_read_only_memory_region_from_file = open_region,
    .create_dir = make_directory,
    .recursively_create_dir = make_directories,
    .delete_file = remove_file,
    .delete_dir = remove_directory,
    .delete_recursively = remove_tree,
    .rename_file = rename_path,
    .copy_file = copy_file,
    .path_exists = must_exist,
    .stat = get_statistics,
    .translate_name = translate_name,
    .get_children = get_children,
    .get_matching_paths = get_matching_paths,
};

/* -- as a plugin of TensorFlow ------------------------------------------------------------------------------------ */

static void *copied(const void *table, size_t size) {
  void *copy = malloc(size);
  return copy == NULL ? NULL : memcpy(copy, table, size);
}

__attribute__((visibility("default"))) void TF_InitPlugin(abi_plugin *plugin) {
  /* TensorFlow frees all of it. */
  abi_scheme *scheme = calloc(1, sizeof *scheme);
  plugin->plugin_memory_allocate = malloc;
  plugin->plugin_memory_free = free;
  plugin->num_schemes = scheme == NULL ? 0 : 1;
  plugin->ops = scheme;
  if (scheme == NULL) return;
  scheme->scheme = strdup("ignite");
  scheme->filesystem_ops_abi = ABI_VERSION;
  scheme->filesystem_ops_api = ABI_API_VERSION;
  scheme->filesystem_ops_size = sizeof(abi_filesystem);
  scheme->filesystem_ops = copied(&filesystem_calls, sizeof filesystem_calls);
  scheme->random_access_file_ops_abi = ABI_VERSION;
  scheme->random_access_file_ops_api = ABI_API_VERSION;
  scheme->random_access_file_ops_size = sizeof(abi_reading);
  scheme->random_access_file_ops = copied(&reading_calls, sizeof reading_calls);
  scheme->writable_file_ops_abi = ABI_VERSION;
  scheme->writable_file_ops_api = ABI_API_VERSION;
  scheme->writable_file_ops_size = sizeof(abi_writing);
  scheme->writable_file_ops = copied(&writing_calls, sizeof writing_calls);
  scheme->read_only_memory_region_ops_abi = ABI_VERSION;
  scheme->read_only_memory_region_ops_api = ABI_API_VERSION;
  scheme->read_only_memory_region_ops_size = sizeof(abi_region);
  scheme->read_only_memory_region_ops = copied(&region_calls, sizeof region_calls);
}

/* -- as a module of Python ---------------------------------------------------------------------------------------- */

static PyObject *bind(PyObject *module, PyObject *object) {
  (void)module;
  if (!find_set_status()) {
    PyErr_SetString(PyExc_ImportError, "TensorFlow has no TF_SetStatus in this process");
    return NULL;
  }
  set_filesystem_calls(object);
  Py_RETURN_NONE;
}

static PyObject *end(PyObject *module, PyObject *arguments) {
  (void)module;
  double seconds = 0;
  if (!PyArg_ParseTuple(arguments, "d", &seconds)) return NULL;
  bool empty = false;
  Py_BEGIN_ALLOW_THREADS;
  empty = python_close(seconds);
  Py_END_ALLOW_THREADS;
  return PyBool_FromLong(empty);
}

static PyObject *end_writers(PyObject *module, PyObject *unused) {
  (void)module;
  (void)unused;
  writing_end_all();
  Py_RETURN_NONE;
}

static PyObject *py_defer_collection(PyObject *module, PyObject *unused) {
  (void)module;
  (void)unused;
  defer_collection();
  Py_RETURN_NONE;
}

static PyObject *py_resume_collection(PyObject *module, PyObject *unused) {
  (void)module;
  (void)unused;
  resume_collection();
  Py_RETURN_NONE;
}

static int raise_now(void *error) {
  PyErr_SetObject((PyObject *)Py_TYPE((PyObject *)error), error);
  Py_DECREF((PyObject *)error);
  return -1;
}

static PyObject *raise_later(PyObject *module, PyObject *error) {
  (void)module;
  Py_INCREF(error);
  if (Py_AddPendingCall(raise_now, error) != 0) Py_DECREF(error);
  Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"bind", bind, METH_O, "Sets the object that answers TensorFlow's calls."},
    {"end", end, METH_VARARGS, "Refuses new calls; returns whether all calls have ended within the given seconds."},
    {"end_writers", end_writers, METH_NOARGS, "Closes every file that is open for writing, after end()."},
    {"defer_collection", py_defer_collection, METH_NOARGS,
     "Defers garbage collection until resume_collection() was called as often."},
    {"resume_collection", py_resume_collection, METH_NOARGS, "Ends one defer_collection()."},
    {"raise_later", raise_later, METH_O, "Raises an exception in the main thread, as soon as it runs Python again."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "_plugin",
    .m_doc = "TensorFlow's interface for file systems, answered in Python.",
    .m_size = -1,
    .m_methods = methods,
};

PyMODINIT_FUNC PyInit__plugin(void) { return PyModule_Create(&definition); }
