#include "meshwright/profile/loop_timer.h"

#include <time.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "meshwright/base/status_macros.h"
#include "meshwright/base/stopwatch.h"
#include "meshwright/hlo/write_module.h"

namespace meshwright {
namespace {

// Long enough to tell from the noise of a clock and of starting, short enough
// to fit between two interruptions.
constexpr double kRunSeconds = 8e-3;
constexpr int32_t kMaxTurns = 1 << 20;
constexpr int kMinRuns = 3;

double CpuSeconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) +
         1e-9 * static_cast<double>(time.tv_nsec);
}

class LoopRunner {
 public:
  static absl::StatusOr<LoopRunner> Create(const LoopProgram& loop,
                                           Client& client,
                                           const LoopTimerOptions& timing) {
    LoopRunner runner(client, timing.cpu_time_of_cores);
    const int64_t devices = timing.devices;
    CompileOptions options;
    options.num_replicas = static_cast<int>(devices);
    for (int64_t i = 0; i < devices; ++i) {
      options.device_ids.push_back(client.devices()[i]->id());
    }
    MW_ASSIGN_OR_RETURN(std::string code, WriteModule(loop.module));
    MW_ASSIGN_OR_RETURN(
        runner.executable_,
        client.Compile({.format = "hlo", .code = std::move(code)}, options));
    runner.arrays_.resize(devices);
    for (const Shape& shape : loop.arguments) {
      const BufferShape array{shape.element_type, shape.dimensions};
      const std::vector<std::byte> zeros(array.host_bytes());
      for (int64_t i = 0; i < devices; ++i) {
        MW_ASSIGN_OR_RETURN(runner.arrays_[i].emplace_back(),
                            client.FromHost({.bytes = zeros, .shape = array},
                                            *client.devices()[i]));
      }
    }
    return runner;
  }

  // Of one run.
  absl::StatusOr<double> Seconds(int32_t turns) {
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
    MW_ASSIGN_OR_RETURN(const Execution run, executable_->Execute(spans));
    MW_RETURN_IF_ERROR(AwaitAll(run.done));
    if (cores_ == 0) return watch.seconds();
    return (CpuSeconds() - cpu) / static_cast<double>(cores_);
  }

 private:
  LoopRunner(Client& client, int64_t cores) : client_(&client), cores_(cores) {}

  Client* client_;
  int64_t cores_;  // Of LoopTimerOptions::cpu_time_of_cores.
  std::unique_ptr<Executable> executable_;
  std::vector<std::vector<BufferPtr>> arrays_;  // By device.
};

}  // namespace

absl::StatusOr<double> TimeRun(const LoopProgram& loop, Client& client,
                               const LoopTimerOptions& options) {
  MW_ASSIGN_OR_RETURN(LoopRunner runner,
                      LoopRunner::Create(loop, client, options));
  const Stopwatch spent;
  MW_ASSIGN_OR_RETURN(double best, runner.Seconds(1));
  for (int run = 1; run < kMinRuns || spent.seconds() < options.seconds;
       ++run) {
    MW_ASSIGN_OR_RETURN(const double again, runner.Seconds(1));
    best = std::min(best, again);
  }
  return best;
}

absl::StatusOr<double> TimeLoop(const LoopProgram& loop, Client& client,
                                const LoopTimerOptions& options) {
  MW_ASSIGN_OR_RETURN(LoopRunner runner,
                      LoopRunner::Create(loop, client, options));
  const Stopwatch spent;
  MW_ASSIGN_OR_RETURN(double once, runner.Seconds(1));  // Warms up.
  MW_ASSIGN_OR_RETURN(once, runner.Seconds(1));
  int32_t turns = 4;
  double many = 0;
  while (true) {
    MW_ASSIGN_OR_RETURN(many, runner.Seconds(turns));
    if (many - once > kRunSeconds || turns >= kMaxTurns ||
        spent.seconds() > options.seconds) {
      break;
    }
    // Towards the goal, but not too far at once: the first figures are rough.
    const double factor = kRunSeconds / std::max(many - once, 1e-9);
    turns =
        static_cast<int32_t>(turns * std::clamp(1.2 * factor, 1.5, 8.0)) + 1;
  }
  for (int run = 1; run < kMinRuns || spent.seconds() < options.seconds;
       ++run) {
    MW_ASSIGN_OR_RETURN(const double again, runner.Seconds(1));
    MW_ASSIGN_OR_RETURN(const double longer, runner.Seconds(turns));
    once = std::min(once, again);
    many = std::min(many, longer);
  }
  // Where starting took most of the time, or noise did, the difference may be
  // anything; what a turn takes is then between nothing and all of it.
  const double turns_apart = turns - 1;
  const double least = 0.2 * many / turns;
  return std::max((many - once) / turns_apart, least) / loop.repeats;
}

}  // namespace meshwright
