#include "meshwright/service/grpc_status.h"

#include <grpcpp/support/status.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "meshwright/service/limits.h"

namespace meshwright {
namespace {

constexpr char kOurs[] = "meshwright";

}  // namespace

grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  std::string message(status.message());
  if (message.size() > kMaxErrorBytes) {
    message = absl::StrCat(message.substr(0, kMaxErrorBytes), "...");
  }
  return {static_cast<grpc::StatusCode>(status.code()), message, kOurs};
}

bool IsOurs(const grpc::Status& status) {
  return status.error_details() == kOurs;
}

absl::Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  return {static_cast<absl::StatusCode>(status.error_code()),
          status.error_message()};
}

}  // namespace meshwright
