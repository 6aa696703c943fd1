#include "meshwright/profile/loop_timer.h"

#include <time.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/base/stopwatch.h"
#include "meshwright/hlo/write_module.h"
#include "meshwright/state/synthetic.h"

namespace meshwright {
namespace {

// Long enough to distinguish from the noise of the clock and of starting, short
// enough to fit between two interruptions.
constexpr double kRunSeconds = 4e-3;
constexpr int32_t kFirstTurns = 4;
constexpr int32_t kMaxTurns = 1 << 20;

double CpuSeconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) +
         1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace

absl::StatusOr<LoopTimer> LoopTimer::Create(const LoopProgram& loop,
                                            Client& client,
                                            const LoopTimerOptions& options) {
  LoopTimer timer(client, options, loop.repeats);
  CompileOptions compile;
  compile.num_replicas = static_cast<int>(options.devices);
  for (int64_t i = 0; i < options.devices; ++i) {
    compile.device_ids.push_back(client.devices()[i]->id());
  }
  MW_ASSIGN_OR_RETURN(std::string code, WriteModule(loop.module));
  MW_ASSIGN_OR_RETURN(
      timer.executable_,
      client.Compile({.format = "hlo", .code = std::move(code)}, compile));
  timer.arrays_.resize(options.devices);
  for (const Shape& shape : loop.arguments) {
    const BufferShape array{shape.element_type, shape.dimensions};
    std::vector<std::byte> values(array.host_bytes());
    if (loop.scale > 0) {
      const Tensor numbers = MakeSynthetic(
          shape, absl::StrCat("argument ", timer.arrays_[0].size()),
          /*seed=*/1, {.scale = loop.scale});
      std::memcpy(values.data(), numbers.data.data(), values.size());
    }
    for (int64_t i = 0; i < options.devices; ++i) {
      MW_ASSIGN_OR_RETURN(timer.arrays_[i].emplace_back(),
                          client.FromHost({.bytes = values, .shape = array},
                                          *client.devices()[i]));
    }
  }
  MW_RETURN_IF_ERROR(timer.Run(1).status());
  MW_ASSIGN_OR_RETURN(timer.once_, timer.Run(1));
  return timer;
}

absl::StatusOr<double> LoopTimer::Run(int32_t turns) {
  std::vector<std::byte> bytes(sizeof(turns));
  std::memcpy(bytes.data(), &turns, sizeof(turns));
  std::vector<BufferPtr> counts;
  std::vector<std::vector<Buffer*>> arguments(arrays_.size());
  for (size_t i = 0; i < arrays_.size(); ++i) {
    MW_ASSIGN_OR_RETURN(
        counts.emplace_back(),
        client_->FromHost({.bytes = bytes, .shape = {ElementType::kS32, {}}},
                          *client_->devices()[i]));
    arguments[i].push_back(counts.back().get());
    for (const BufferPtr& array : arrays_[i]) {
      arguments[i].push_back(array.get());
    }
  }
  const std::vector<absl::Span<Buffer* const>> spans(arguments.begin(),
                                                     arguments.end());
  const Stopwatch watch;
  const double cpu = CpuSeconds();
  {
    MW_ASSIGN_OR_RETURN(const Execution run, executable_->Execute(spans));
    MW_RETURN_IF_ERROR(AwaitAll(run.done));
  }  // Releasing the results takes time, too.
  if (options_.cpu_time_of_cores == 0) return watch.seconds();
  return (CpuSeconds() - cpu) / static_cast<double>(options_.cpu_time_of_cores);
}

absl::Status LoopTimer::Measure(double seconds) {
  const Stopwatch spent;
  while (turns_ == 0 || many_ - once_ < kRunSeconds) {
    // Towards the goal, but not too far at once, since the first figures are
    // rough.
    const double factor =
        turns_ == 0 ? 0 : 1.2 * kRunSeconds / std::max(many_ - once_, 1e-9);
    const int32_t turns =
        turns_ == 0
            ? kFirstTurns
            : static_cast<int32_t>(turns_ * std::clamp(factor, 1.5, 8.0));
    if (turns > kMaxTurns || (turns_ != 0 && spent.seconds() > seconds)) break;
    turns_ = turns;
    MW_ASSIGN_OR_RETURN(many_, Run(turns_));
  }
  do {
    MW_ASSIGN_OR_RETURN(const double once, Run(1));
    MW_ASSIGN_OR_RETURN(const double many, Run(turns_));
    once_ = std::min(once_, once);
    many_ = std::min(many_, many);
  } while (spent.seconds() < seconds);
  return absl::OkStatus();
}

double LoopTimer::seconds() const {
  // If starting took most of the time, or there was noise, the difference may
  // be anything; an iteration takes at most the whole time divided by their
  // number.
  const double least = 0.2 * many_ / turns_;
  return std::max((many_ - once_) / (turns_ - 1), least) / repeats_;
}

}  // namespace meshwright
