#include "meshwright/engine/executable.h"

namespace meshwright {

absl::StatusOr<Execution> Executable::ExecuteSingle(
    absl::Span<Buffer* const> arguments, const ExecuteOptions& options) {
  return Execute({&arguments, 1}, options);
}

}  // namespace meshwright
