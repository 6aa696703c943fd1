#include "meshwright/engine/pjrt_ffi.h"

#include <cstddef>

#include "absl/strings/str_cat.h"

namespace meshwright {
namespace {

// PJRT_FFI_Register_Handler_Args and PJRT_FFI_Extension; pjrt_c_api.h has only
// the extension's number.
struct RegisterHandlerArgs {
  size_t struct_size;
  const char* target;
  size_t target_size;
  FfiHandler* handler;
  const char* platform;
  size_t platform_size;
  int traits;
};
struct FfiPluginExtension {
  PJRT_Extension_Base base;
  void* register_type;
  void* add_user_data;
  PJRT_Error* (*register_handler)(RegisterHandlerArgs* args);
};

}  // namespace

absl::Status RegisterFfiHandler(const PjrtApi& api, absl::string_view target,
                                absl::string_view platform,
                                FfiHandler* handler) {
  const auto* extension =
      api.FindExtension<FfiPluginExtension>(PJRT_Extension_Type_FFI);
  if (extension == nullptr || extension->register_handler == nullptr) {
    return absl::UnimplementedError(absl::StrCat(
        "the plug-in (PJRT ", api.version(), ") takes no FFI handlers"));
  }
  auto args = NewPjrtArgs<RegisterHandlerArgs>();
  args.target = target.data();
  args.target_size = target.size();
  args.handler = handler;
  args.platform = platform.data();
  args.platform_size = platform.size();
  return api.ToStatus(extension->register_handler(&args));
}

}  // namespace meshwright
