// The binary interface of XLA's FFI (xla/ffi/api/c_api.h), as far as it is used
// here: fields have XLA's order and sizes, later ones are left out.
//
// No plug-in comes with that header, and plug-ins refuse handlers of a newer
// version than their own. These structs have been the same since 0.1.
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

// What a plug-in asks of a handler when it is registered.
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

struct FfiApi {
  size_t struct_size;
  FfiExtension* extensions;
  FfiVersion api_version;
  const void* internal_api;
  FfiError* (*create_error)(FfiErrorCreateArgs* args);
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
};

}  // namespace meshwright

#endif  // MESHWRIGHT_ENGINE_FFI_ABI_H_
