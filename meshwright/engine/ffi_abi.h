// The ABI of XLA's FFI (xla/ffi/api/c_api.h), as far as it is used here: fields
// have XLA's order and sizes, later ones are omitted.
//
// Plug-ins do not come with that header, and reject handlers of a newer version
// than their own. These structs have not changed since 0.1, except that FfiApi
// has grown: members after free_device_memory exist, at these offsets, only if
// struct_size covers them.
#ifndef MESHWRIGHT_ENGINE_FFI_ABI_H_
#define MESHWRIGHT_ENGINE_FFI_ABI_H_

#include <cstddef>
#include <cstdint>

namespace meshwright {

inline constexpr int kFfiMajor = 0;
inline constexpr int kFfiMinor = 1;

struct FfiError;

struct FfiExtension {
  size_t struct_size;
  int type;
  FfiExtension* next;
};

struct FfiVersion {
  size_t struct_size;
  FfiExtension* extensions;
  int major_version;
  int minor_version;
};

// The query that a plug-in makes of a handler at registration.
inline constexpr int kFfiMetadataType = 1;
struct FfiMetadata {
  size_t struct_size;
  FfiVersion api_version;
  uint32_t traits;
};
struct FfiMetadataExtension {
  FfiExtension base;
  FfiMetadata* metadata;
};

struct FfiErrorCreateArgs {
  size_t struct_size;
  FfiExtension* extensions;
  const char* message;
  int code;  // As absl::StatusCode.
};

// The completion of an asynchronous call.
struct FfiFuture;
struct FfiFutureCreateArgs {
  size_t struct_size;
  FfiExtension* extensions;
  FfiFuture* future;  // Out.
};
struct FfiFutureSetAvailableArgs {
  size_t struct_size;
  FfiExtension* extensions;
  FfiFuture* future;
};
struct FfiFutureSetErrorArgs {
  size_t struct_size;
  FfiExtension* extensions;
  FfiFuture* future;
  FfiError* error;  // Ownership passes to the plug-in.
};

struct FfiApi {
  size_t struct_size;
  FfiExtension* extensions;
  FfiVersion api_version;
  const void* internal_api;
  FfiError* (*create_error)(FfiErrorCreateArgs* args);
  void* get_error_message;
  void* destroy_error;
  void* register_handler;
  void* get_stream;
  void* register_type;
  void* get_from_context;
  void* set_state;
  void* get_state;
  void* allocate_device_memory;
  void* free_device_memory;
  void* schedule_on_thread_pool;
  void* thread_pool_size;
  FfiError* (*create_future)(FfiFutureCreateArgs* args);
  FfiError* (*set_available)(FfiFutureSetAvailableArgs* args);
  FfiError* (*set_error)(FfiFutureSetErrorArgs* args);
};

struct FfiBuffer {
  size_t struct_size;
  FfiExtension* extensions;
  int type;  // As ElementType.
  void* data;
  int64_t rank;
  int64_t* dimensions;
};

struct FfiBytes {
  const char* data;
  size_t size;
};

struct FfiScalar {
  int type;
  void* value;
};

// Arguments, or results.
inline constexpr int kFfiBufferType = 1;
struct FfiValues {
  size_t struct_size;
  FfiExtension* extensions;
  int64_t size;
  int* types;
  void** values;
};

inline constexpr int kFfiScalarAttribute = 3;
inline constexpr int kFfiStringAttribute = 4;
struct FfiAttributes {
  size_t struct_size;
  FfiExtension* extensions;
  int64_t size;
  int* types;
  FfiBytes** names;
  void** values;
};

inline constexpr int kFfiExecuteStage = 3;
struct FfiFrame {
  size_t struct_size;
  FfiExtension* extensions;
  const FfiApi* api;
  void* context;
  int stage;
  FfiValues operands;
  FfiValues results;
  FfiAttributes attributes;
  // Out; null: the call is complete when the handler returns.
  FfiFuture* future;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_ENGINE_FFI_ABI_H_
