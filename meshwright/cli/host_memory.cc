#include "meshwright/cli/host_memory.h"

#include <unistd.h>

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "meshwright/base/units.h"

namespace meshwright {

absl::Status CheckParametersFit(const Module& module) {
  int64_t needed = 0;
  for (const Instruction* parameter : module.entry()->Parameters()) {
    if (__builtin_add_overflow(needed, ByteSize(parameter->shape), &needed)) {
      needed = INT64_MAX;
      break;
    }
  }
  return CheckFits(needed, "the parameters take");
}

absl::Status CheckFits(int64_t bytes, absl::string_view what) {
  const int64_t memory =
      int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGE_SIZE);
  if (bytes <= memory) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat(what, " ", FormatBytes(bytes), ", this machine has ",
                   FormatBytes(memory)));
}

}  // namespace meshwright
