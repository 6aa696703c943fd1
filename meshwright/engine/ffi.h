// Custom-call handlers: functions that compiled programs call through XLA's
// typed FFI.
//
//   absl::Status AddOne(const FfiCall& call) {
//     const FfiArray& x = call.operands()[0];
//     const FfiArray& y = call.results()[0];
//     for (int64_t i = 0; i < x.element_count(); ++i) {
//       y.As<float>()[i] = x.As<float>()[i] + 1;
//     }
//     return absl::OkStatus();
//   }
//   plugin->RegisterFfiHandler("add_one", "Host", &FfiHandlerOf<AddOne>);
//
// Programs call them by custom calls of target "add_one" with api_version 4
// (API_VERSION_TYPED_FFI), whose backend_config contains the attributes as an
// MLIR dictionary: {axis = 1 : i64, mode = "sum"}.
#ifndef MESHWRIGHT_ENGINE_FFI_H_
#define MESHWRIGHT_ENGINE_FFI_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "meshwright/base/element_type.h"

namespace meshwright {

// XLA_FFI_CallFrame, XLA_FFI_Error and XLA_FFI_Handler. Handlers made with
// XLA's own headers may be cast to this type.
struct FfiFrame;
struct FfiError;
using FfiHandler = FfiError*(FfiFrame*);

// An array in the program's memory: on the host, or on the device.
struct FfiArray {
  ElementType type = ElementType::kInvalid;
  absl::Span<const int64_t> dimensions;
  void* data = nullptr;

  int64_t element_count() const;
  template <typename T>
  T* As() const {
    return static_cast<T*>(data);
  }
};

// A call in progress.
class FfiCall {
 public:
  // `frame` must outlive the call.
  explicit FfiCall(const FfiFrame& frame);

  const std::vector<FfiArray>& operands() const { return operands_; }
  const std::vector<FfiArray>& results() const { return results_; }

  // kInvalidArgument if there is none, or it has another type.
  absl::StatusOr<absl::string_view> StringAttribute(
      absl::string_view name) const;
  absl::StatusOr<int64_t> IntegerAttribute(absl::string_view name) const;

 private:
  const FfiFrame& frame_;
  std::vector<FfiArray> operands_;
  std::vector<FfiArray> results_;
};

// Computes the results, or returns an error, which fails the program. Devices
// call it concurrently.
using FfiFunction = absl::Status (*)(const FfiCall& call);

// Starts computing the results and returns; calls `done` exactly once, from any
// thread, before or after returning. The data of operands and results stay
// valid until then; `call` itself, dimensions and attributes only until the
// function returns. Functions that wait for others must be written like this:
// the plug-in has no more threads than cores, and they serve all devices.
//
// `done` is not cheap: the plug-in continues the device's program inside of it,
// until that has to wait for something else. Devices that may wait for each
// other there must be completed on different threads. A status other than OK
// fails the program; its message is kept, its code may become kInternal.
using FfiDone = std::function<void(absl::Status)>;
using AsyncFfiFunction = void (*)(const FfiCall& call, FfiDone done);

namespace internal {
FfiError* RunFfi(FfiFunction function, FfiFrame* frame);
FfiError* RunAsyncFfi(AsyncFfiFunction function, FfiFrame* frame);
}  // namespace internal

template <FfiFunction function>
FfiError* FfiHandlerOf(FfiFrame* frame) {
  return internal::RunFfi(function, frame);
}

// With plug-ins that do not support futures it blocks until `done`.
template <AsyncFfiFunction function>
FfiError* AsyncFfiHandlerOf(FfiFrame* frame) {
  return internal::RunAsyncFfi(function, frame);
}

}  // namespace meshwright

#endif  // MESHWRIGHT_ENGINE_FFI_H_
