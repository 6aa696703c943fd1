// The peak memory of a job on one of its devices.
#ifndef MESHWRIGHT_RUNTIME_PEAK_MEMORY_H_
#define MESHWRIGHT_RUNTIME_PEAK_MEMORY_H_

#include <cstdint>
#include <set>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "meshwright/runtime/executor.h"

namespace meshwright {

struct PeakMemory {
  enum class Source {
    kAllocator,  // The most that a device had in use since the process began.
    kCompiler,   // What the largest of the compiled programs takes.
  };
  int64_t bytes = 0;
  Source source = Source::kCompiler;
};

// What the largest of the compiled programs takes on a device; 0: unknown.
int64_t PeakOfPrograms(const Executor& executor);

// "allocator", "compiler".
absl::string_view Name(PeakMemory::Source source);

// The maximum over devices that keep statistics (XLA's CPU devices do not),
// except those with ids in `others`, which are used for something else, too.
// Without such devices, the compiler's figure.
absl::StatusOr<PeakMemory> MeasurePeak(const Executor& executor,
                                       const std::set<int>& others = {});

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_PEAK_MEMORY_H_
