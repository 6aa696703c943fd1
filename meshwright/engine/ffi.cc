#include "meshwright/engine/ffi.h"

#include <future>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/base/check.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/engine/ffi_abi.h"

namespace meshwright {
namespace {

std::vector<FfiArray> ArraysOf(const FfiValues& values) {
  std::vector<FfiArray> arrays;
  for (int64_t i = 0; i < values.size; ++i) {
    FfiArray& array = arrays.emplace_back();
    if (values.types[i] != kFfiBufferType) continue;
    const auto& buffer = *static_cast<const FfiBuffer*>(values.values[i]);
    array.type = ElementTypeFromNumber(buffer.type).value_or(array.type);
    array.data = buffer.data;
    array.dimensions = {buffer.dimensions, static_cast<size_t>(buffer.rank)};
  }
  return arrays;
}

absl::StatusOr<const void*> FindAttribute(const FfiAttributes& attributes,
                                          absl::string_view name, int type) {
  for (int64_t i = 0; i < attributes.size; ++i) {
    const FfiBytes& own = *attributes.names[i];
    if (absl::string_view(own.data, own.size) != name) continue;
    if (attributes.types[i] == type) return attributes.values[i];
    return absl::InvalidArgumentError(
        absl::StrCat("attribute ", name, " has another type"));
  }
  return absl::InvalidArgumentError(absl::StrCat("no attribute ", name));
}

// True if the plug-in asked only for the metadata.
bool TellMetadata(const FfiFrame& frame) {
  for (FfiExtension* extension = frame.extensions; extension != nullptr;
       extension = extension->next) {
    if (extension->type != kFfiMetadataType) continue;
    FfiMetadata& metadata =
        *reinterpret_cast<FfiMetadataExtension*>(extension)->metadata;
    metadata.api_version = {sizeof(FfiVersion), nullptr, kFfiMajor, kFfiMinor};
    metadata.traits = 0;
    return true;
  }
  return false;
}

FfiError* ErrorOf(const FfiApi& api, const absl::Status& status) {
  if (status.ok()) return nullptr;
  const std::string message(status.message());
  FfiErrorCreateArgs args{sizeof(args), nullptr, message.c_str(),
                          static_cast<int>(status.code())};
  return api.create_error(&args);
}

// The plug-in may run the next part of the program before this returns.
void Complete(const FfiApi& api, FfiFuture* future,
              const absl::Status& status) {
  FfiError* refused = nullptr;
  if (status.ok()) {
    FfiFutureSetAvailableArgs args{sizeof(args), nullptr, future};
    refused = api.set_available(&args);
  } else {
    FfiFutureSetErrorArgs args{sizeof(args), nullptr, future,
                               ErrorOf(api, status)};
    refused = api.set_error(&args);
  }
  MW_CHECK(refused == nullptr) << "the plug-in does not know its own future";
}

// For plug-ins without futures: waits, as if it were synchronous.
FfiError* RunAndWait(AsyncFfiFunction function, const FfiFrame& frame) {
  std::promise<absl::Status> promise;
  function(FfiCall(frame),
           [&](absl::Status status) { promise.set_value(std::move(status)); });
  return ErrorOf(*frame.api, promise.get_future().get());
}

}  // namespace

int64_t FfiArray::element_count() const {
  int64_t count = 1;
  for (const int64_t size : dimensions) count *= size;
  return count;
}

FfiCall::FfiCall(const FfiFrame& frame)
    : frame_(frame),
      operands_(ArraysOf(frame.operands)),
      results_(ArraysOf(frame.results)) {}

absl::StatusOr<absl::string_view> FfiCall::StringAttribute(
    absl::string_view name) const {
  MW_ASSIGN_OR_RETURN(const void* value, FindAttribute(frame_.attributes, name,
                                                       kFfiStringAttribute));
  const auto& bytes = *static_cast<const FfiBytes*>(value);
  return absl::string_view(bytes.data, bytes.size);
}

absl::StatusOr<int64_t> FfiCall::IntegerAttribute(
    absl::string_view name) const {
  MW_ASSIGN_OR_RETURN(const void* value, FindAttribute(frame_.attributes, name,
                                                       kFfiScalarAttribute));
  const auto& scalar = *static_cast<const FfiScalar*>(value);
  if (scalar.type == static_cast<int>(ElementType::kS64)) {
    return *static_cast<const int64_t*>(scalar.value);
  }
  if (scalar.type == static_cast<int>(ElementType::kS32)) {
    return *static_cast<const int32_t*>(scalar.value);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("attribute ", name, " is neither i32 nor i64"));
}

namespace internal {

FfiError* RunFfi(FfiFunction function, FfiFrame* frame) {
  if (TellMetadata(*frame) || frame->stage != kFfiExecuteStage) return nullptr;
  return ErrorOf(*frame->api, function(FfiCall(*frame)));
}

FfiError* RunAsyncFfi(AsyncFfiFunction function, FfiFrame* frame) {
  if (TellMetadata(*frame) || frame->stage != kFfiExecuteStage) return nullptr;
  const FfiApi& api = *frame->api;
  if (api.struct_size < sizeof(FfiApi)) return RunAndWait(function, *frame);
  FfiFutureCreateArgs args{sizeof(args), nullptr, nullptr};
  if (FfiError* error = api.create_future(&args)) return error;
  frame->future = args.future;
  function(FfiCall(*frame), [&api, future = args.future](absl::Status status) {
    Complete(api, future, status);
  });
  return nullptr;
}

}  // namespace internal

}  // namespace meshwright
