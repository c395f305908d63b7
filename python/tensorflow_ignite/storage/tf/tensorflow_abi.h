/* The part of TensorFlow's C interface for file systems that this extension fills in: layouts and numbers alone, so that
 * it can be built where TensorFlow is not installed. An integration test compares all of it with TensorFlow's headers.
 *
 * The layouts are fixed by TensorFlow's promise of a stable ABI; the tables may grow at their ends, which is why each
 * travels with its size. Members that are never filled in are declared as pointers without a type.
 */
#ifndef TENSORFLOW_IGNITE_TENSORFLOW_ABI_H_
#define TENSORFLOW_IGNITE_TENSORFLOW_ABI_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct abi_status abi_status;

enum abi_code {
  ABI_OK = 0,
  ABI_CANCELLED = 1,
  ABI_UNKNOWN = 2,
  ABI_INVALID_ARGUMENT = 3,
  ABI_DEADLINE_EXCEEDED = 4,
  ABI_NOT_FOUND = 5,
  ABI_ALREADY_EXISTS = 6,
  ABI_PERMISSION_DENIED = 7,
  ABI_RESOURCE_EXHAUSTED = 8,
  ABI_FAILED_PRECONDITION = 9,
  ABI_ABORTED = 10,
  ABI_OUT_OF_RANGE = 11,
  ABI_UNIMPLEMENTED = 12,
  ABI_INTERNAL = 13,
  ABI_UNAVAILABLE = 14,
  ABI_DATA_LOSS = 15,
};

typedef void (*abi_set_status)(abi_status *status, int code, const char *text);

/* A file, a region of memory or a file system: one pointer that is ours. */
typedef struct abi_handle {
  void *own;
} abi_handle;

typedef struct abi_statistics {
  int64_t length;
  int64_t mtime_nsec;
  bool is_directory;
} abi_statistics;

typedef struct abi_reading {
  void (*cleanup)(abi_handle *file);
  int64_t (*read)(const abi_handle *file, uint64_t offset, size_t count, char *buffer, abi_status *status);
} abi_reading;

typedef struct abi_writing {
  void (*cleanup)(abi_handle *file);
  void (*append)(const abi_handle *file, const char *data, size_t count, abi_status *status);
  int64_t (*tell)(const abi_handle *file, abi_status *status);
  void (*flush)(const abi_handle *file, abi_status *status);
  void (*sync)(const abi_handle *file, abi_status *status);
  void (*close)(const abi_handle *file, abi_status *status);
} abi_writing;

typedef struct abi_region {
  void (*cleanup)(abi_handle *region);
  const void *(*data)(const abi_handle *region);
  uint64_t (*length)(const abi_handle *region);
} abi_region;

typedef void abi_on_path(const abi_handle *system, const char *path, abi_status *status);
typedef void abi_on_two_paths(const abi_handle *system, const char *source, const char *target, abi_status *status);
typedef void abi_open(const abi_handle *system, const char *path, abi_handle *opened, abi_status *status);
typedef int abi_names(const abi_handle *system, const char *path, char ***names, abi_status *status);

typedef struct abi_filesystem {
  void (*init)(abi_handle *system, abi_status *status);
  void (*cleanup)(abi_handle *system);
  abi_open *new_random_access_file;
  abi_open *new_writable_file;
  abi_open *new_appendable_file;
  abi_open *new_read_only_memory_region_from_file;
  abi_on_path *create_dir;
  abi_on_path *recursively_create_dir;
  abi_on_path *delete_file;
  abi_on_path *delete_dir;
  void (*delete_recursively)(const abi_handle *system, const char *path, uint64_t *undeleted_files,
                             uint64_t *undeleted_dirs, abi_status *status);
  abi_on_two_paths *rename_file;
  abi_on_two_paths *copy_file;
  abi_on_path *path_exists;
  void *paths_exist;
  void (*stat)(const abi_handle *system, const char *path, abi_statistics *statistics, abi_status *status);
  void *is_directory;
  void *get_file_size;
  char *(*translate_name)(const abi_handle *system, const char *uri);
  abi_names *get_children;
  abi_names *get_matching_paths;
  void *flush_caches;
  void *start_transaction;
  void *end_transaction;
  void *add_to_transaction;
  void *get_transaction_for_path;
  void *get_or_start_transaction_for_path;
  void *decode_transaction_token;
  void *get_filesystem_configuration;
  void *set_filesystem_configuration;
  void *get_filesystem_configuration_option;
  void *set_filesystem_configuration_option;
  void *get_filesystem_configuration_keys;
} abi_filesystem;

/* Of every table below; TensorFlow has never had another. */
#define ABI_VERSION 0
#define ABI_API_VERSION 0

typedef struct abi_scheme {
  char *scheme;
  int filesystem_ops_abi;
  int filesystem_ops_api;
  size_t filesystem_ops_size;
  abi_filesystem *filesystem_ops;
  int random_access_file_ops_abi;
  int random_access_file_ops_api;
  size_t random_access_file_ops_size;
  abi_reading *random_access_file_ops;
  int writable_file_ops_abi;
  int writable_file_ops_api;
  size_t writable_file_ops_size;
  abi_writing *writable_file_ops;
  int read_only_memory_region_ops_abi;
  int read_only_memory_region_ops_api;
  size_t read_only_memory_region_ops_size;
  abi_region *read_only_memory_region_ops;
} abi_scheme;

typedef struct abi_plugin {
  size_t num_schemes;
  abi_scheme *ops;
  void *(*plugin_memory_allocate)(size_t size);
  void (*plugin_memory_free)(void *memory);
} abi_plugin;

#endif
