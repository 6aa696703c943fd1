// The most memory that a job takes on one of its devices.
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
    kAllocator,  // What a device had in use at most since the process began.
    kCompiler,   // What the largest of the compiled programs takes.
  };
  int64_t bytes = 0;
  Source source = Source::kCompiler;
};

// "allocator", "compiler".
absl::string_view Name(PeakMemory::Source source);

// Of devices that keep an account (XLA's CPU does not), the largest; devices
// whose ids are in `others`, used for something else too, do not count. If
// there are none, as the compiler says.
absl::StatusOr<PeakMemory> MeasurePeak(const Executor& executor,
                                       const std::set<int>& others = {});

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_PEAK_MEMORY_H_
