#include "meshwright/engine/pjrt_api.h"

namespace meshwright {

absl::Status PjrtApi::ToStatus(PJRT_Error* error) const {
  if (error == nullptr) return absl::OkStatus();
  auto message = NewPjrtArgs<PJRT_Error_Message_Args>();
  message.error = error;
  table_->PJRT_Error_Message(&message);

  auto code = NewPjrtArgs<PJRT_Error_GetCode_Args>();
  code.error = error;
  PJRT_Error* nested = table_->PJRT_Error_GetCode(&code);
  absl::Status status(nested == nullptr && code.code != PJRT_Error_Code_OK
                          ? static_cast<absl::StatusCode>(code.code)
                          : absl::StatusCode::kUnknown,
                      {message.message, message.message_size});
  for (PJRT_Error* each : {nested, error}) {
    auto destroy = NewPjrtArgs<PJRT_Error_Destroy_Args>();
    destroy.error = each;
    table_->PJRT_Error_Destroy(&destroy);
  }
  return status;
}

std::string PjrtApi::version() const {
  return absl::StrCat(table_->pjrt_api_version.major_version, ".",
                      table_->pjrt_api_version.minor_version);
}

// Destructors cannot report errors; a handle that cannot be destroyed is
// leaked.
void PjrtDelete::operator()(PJRT_Buffer* buffer) const {
  auto args = NewPjrtArgs<PJRT_Buffer_Destroy_Args>();
  args.buffer = buffer;
  api->Call(MW_PJRT(PJRT_Buffer_Destroy), args).IgnoreError();
}

void PjrtDelete::operator()(PJRT_Client* client) const {
  auto args = NewPjrtArgs<PJRT_Client_Destroy_Args>();
  args.client = client;
  api->Call(MW_PJRT(PJRT_Client_Destroy), args).IgnoreError();
}

void PjrtDelete::operator()(PJRT_Event* event) const {
  auto args = NewPjrtArgs<PJRT_Event_Destroy_Args>();
  args.event = event;
  api->Call(MW_PJRT(PJRT_Event_Destroy), args).IgnoreError();
}

void PjrtDelete::operator()(PJRT_Executable* executable) const {
  auto args = NewPjrtArgs<PJRT_Executable_Destroy_Args>();
  args.executable = executable;
  api->Call(MW_PJRT(PJRT_Executable_Destroy), args).IgnoreError();
}

void PjrtDelete::operator()(PJRT_LoadedExecutable* executable) const {
  auto args = NewPjrtArgs<PJRT_LoadedExecutable_Destroy_Args>();
  args.executable = executable;
  api->Call(MW_PJRT(PJRT_LoadedExecutable_Destroy), args).IgnoreError();
}

}  // namespace meshwright
