#include "meshwright/runtime/peak_memory.h"

#include <algorithm>

#include "meshwright/base/status_macros.h"

namespace meshwright {

absl::string_view Name(PeakMemory::Source source) {
  return source == PeakMemory::Source::kAllocator ? "allocator" : "compiler";
}

int64_t PeakOfPrograms(const Executor& executor) {
  int64_t most = 0;
  for (const auto& executable : executor.executables()) {
    if (executable == nullptr) continue;
    const absl::StatusOr<ProgramMemory> memory = executable->Memory();
    if (memory.ok()) most = std::max(most, memory->total_bytes());
  }
  return most;
}

absl::StatusOr<PeakMemory> MeasurePeak(const Executor& executor,
                                       const std::set<int>& others) {
  PeakMemory compiled{.source = PeakMemory::Source::kCompiler};
  PeakMemory allocated{.source = PeakMemory::Source::kAllocator};
  for (const auto& executable : executor.executables()) {
    if (executable == nullptr) continue;
    MW_ASSIGN_OR_RETURN(const ProgramMemory memory, executable->Memory());
    compiled.bytes = std::max(compiled.bytes, memory.total_bytes());
    for (const Device* device : executable->devices()) {
      if (others.contains(device->id())) continue;
      const absl::StatusOr<DeviceMemory> account = device->Memory();
      if (!account.ok()) continue;
      allocated.bytes =
          std::max(allocated.bytes, account->peak_bytes_in_use.value_or(0));
    }
  }
  return allocated.bytes > 0 ? allocated : compiled;
}

}  // namespace meshwright
