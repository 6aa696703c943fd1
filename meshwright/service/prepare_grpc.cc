#include "meshwright/service/prepare_grpc.h"

#include <google/protobuf/stubs/logging.h>
#include <grpc/grpc.h>
#include <grpc/support/log.h>

#include <cstdlib>

namespace meshwright {

void PrepareGrpc() {
  static const bool once = [] {
    if (std::getenv("GRPC_VERBOSITY") == nullptr) {
      gpr_set_log_function([](gpr_log_func_args*) {});
      google::protobuf::SetLogHandler(nullptr);
    }
    grpc_init();
    return true;
  }();
  (void)once;
}

}  // namespace meshwright
