#include "meshwright/engine/pjrt_key_values.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"

namespace meshwright {
namespace {

template <typename Args>
PJRT_Error* ToPjrt(const Args& args, const absl::Status& status) {
  const std::string message(status.message());
  return (*args.callback_error)(static_cast<PJRT_Error_Code>(status.code()),
                                message.data(), message.size());
}

// The plug-in copies the value, then frees it.
template <typename Args>
PJRT_Error* Answer(Args& args, const absl::StatusOr<std::string>& value) {
  if (!value.ok()) return ToPjrt(args, value.status());
  args.value = new char[value->size()];
  std::copy(value->begin(), value->end(), args.value);
  args.value_size = value->size();
  args.value_deleter_callback = [](char* bytes) { delete[] bytes; };
  return nullptr;
}

}  // namespace

void PjrtKeyValues::AddTo(PJRT_Client_Create_Args& args) {
  args.kv_get_callback = &Get;
  args.kv_get_user_arg = this;
  args.kv_try_get_callback = &TryGet;
  args.kv_try_get_user_arg = this;
  args.kv_put_callback = &Put;
  args.kv_put_user_arg = this;
}

PJRT_Error* PjrtKeyValues::Get(PJRT_KeyValueGetCallback_Args* args) {
  const auto* self = static_cast<const PjrtKeyValues*>(args->user_arg);
  return Answer(*args,
                self->team_.get({args->key, args->key_size},
                                absl::Milliseconds(args->timeout_in_ms)));
}

PJRT_Error* PjrtKeyValues::TryGet(PJRT_KeyValueTryGetCallback_Args* args) {
  const auto* self = static_cast<const PjrtKeyValues*>(args->user_arg);
  const std::string key(args->key, args->key_size);
  const absl::StatusOr<std::string> value =
      self->team_.get(key, absl::ZeroDuration());
  if (absl::IsDeadlineExceeded(value.status())) {
    return ToPjrt(*args,
                  absl::NotFoundError(absl::StrCat("nobody has set ", key)));
  }
  return Answer(*args, value);
}

PJRT_Error* PjrtKeyValues::Put(PJRT_KeyValuePutCallback_Args* args) {
  const auto* self = static_cast<const PjrtKeyValues*>(args->user_arg);
  const absl::Status status = self->team_.set({args->key, args->key_size},
                                              {args->value, args->value_size});
  return status.ok() ? nullptr : ToPjrt(*args, status);
}

}  // namespace meshwright
