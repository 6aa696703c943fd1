#include "meshwright/profile/calibrate.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "meshwright/base/progress.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/cost/program_cost.h"
#include "meshwright/profile/loop_program.h"
#include "meshwright/profile/loop_timer.h"

namespace meshwright {
namespace {

constexpr MoveKind kKinds[] = {MoveKind::kAllReduce, MoveKind::kReduceScatter,
                               MoveKind::kAllGather, MoveKind::kAllToAll,
                               MoveKind::kPermute};
constexpr int64_t kFloatBytes = 4;
constexpr int64_t kColumns = 64;
constexpr int64_t kArguments = 64;
constexpr int64_t kArrays = 8;  // Arrays of one collective.
// A disturbance of one round may be over in the next.
constexpr int kRounds = 4;
// The least share of a measurement that is not loop overhead.
constexpr double kLeastShare = 0.1;
// A kernel that takes longer than its memory traffic by this factor is limited
// by arithmetic.
constexpr double kAboveMemory = 1.5;
// Channels of windows with gaps.
constexpr int64_t kGapChannels = 4;
// Layers of the program that stands for a step.
constexpr int64_t kLayers = 32;

// What to measure on a platform.
struct Sizes {
  std::vector<ElementType> types;
  std::vector<int64_t> squares;   // Sizes of square contractions.
  std::vector<int64_t> arrays;    // Elements of memory-bound kernels.
  std::vector<int64_t> messages;  // Elements of collectives.
  int64_t elements = 0;           // Elements of arithmetic kernels.
  int64_t channels = 0;           // Channels of a convolution.
  // Channels of convolutions that gather windows.
  std::vector<int64_t> windows;
};

// Arrays are too large to stay in a cache, since a step returns to an array
// after a long time. On a CPU, there are several for that reason.
Sizes SizesFor(bool cpu) {
  if (cpu) {
    return {.types = {ElementType::kF32, ElementType::kBF16},
            .squares = {8, 16, 32, 64, 128, 256, 512},
            .arrays = {1 << 14, 1 << 17, 1 << 20},
            .messages = {1 << 6, 1 << 14, 1 << 18},
            .elements = 1 << 16,
            .windows = {1, 4, 16, 32}};
  }
  return {.types = {ElementType::kF32, ElementType::kBF16, ElementType::kF16},
          .squares = {256, 512, 1024, 2048, 4096, 8192},
          .arrays = {1 << 19, 1 << 22, 1 << 25, 1 << 27},
          .messages = {1 << 8, 1 << 18, 1 << 23},
          .elements = 1 << 24,
          .channels = 256,
          .windows = {}};
}

// Compiles all programs, then measures them in turn until the time is over.
class Calibrator {
 public:
  Calibrator(Client& client, const Cluster& cluster,
             const CalibrateOptions& options)
      : client_(client),
        cluster_(cluster),
        options_(options),
        cpu_(client.platform_name() == "cpu"),
        sizes_(SizesFor(cpu_)),
        rates_(AssumedRates(cluster)) {
    timing_.devices = cluster.device_count();
    if (options.cpu_time && cluster.shared_host) {
      timing_.cpu_time_of_cores = std::min(cluster.cores, timing_.devices);
    }
    for (int64_t group = 2; group <= timing_.devices; group *= 2) {
      if (timing_.devices % group == 0) groups_.push_back(group);
    }
  }

  absl::StatusOr<Calibration> Run() {
    MW_RETURN_IF_ERROR(Compile());
    MW_RETURN_IF_ERROR(GoRound());
    // On an accelerator, a loop asks the host after every iteration.
    const double turn = timers_[0].seconds();
    for (size_t i = 0; i < timers_.size(); ++i) {
      const double seconds = timers_[i].seconds();
      samples_[i].seconds =
          i == 0 ? seconds
                 : std::max(kLeastShare * seconds,
                            seconds - turn / timers_[i].repeats());
    }
    TakeKernels();
    TakeMatmuls();
    TakeWindows();
    for (const MoveKind kind : kKinds) TakeCollective(kind);
    TakeArrays();
    TakeProgram();
    return Calibration{std::move(rates_), std::move(samples_)};
  }

 private:
  struct Plan {
    Sample sample;
    std::function<LoopProgram()> program;
  };

  std::vector<Plan> Plans() const {
    std::vector<Plan> plans;
    const auto add = [&](absl::string_view what, double size, auto program) {
      Plan& plan = plans.emplace_back();
      plan.sample.what = std::string(what);
      plan.sample.size = size;
      plan.program = program;
    };
    // First, because it is subtracted from the others.
    add("turn", 0, EmptyLoop);
    add("kernel", 0, SmallKernelLoop);
    for (const int64_t count : {int64_t{1}, kArguments}) {
      add("arguments", static_cast<double>(count),
          [count] { return ArgumentProgram(count); });
    }
    for (const int64_t elements : sizes_.arrays) {
      AddMemory(elements, plans);
    }
    for (const ElementType type : sizes_.types) {
      for (const int64_t size : sizes_.squares) {
        add(absl::StrCat("matmul ", Name(type)),
            2 * std::pow(static_cast<double>(size), 3),
            [type, size] { return MatmulLoop(type, size); });
      }
    }
    const int64_t elements = sizes_.elements;
    const double count = static_cast<double>(elements);
    add("arithmetic", kArithmeticFlops * count,
        [elements] { return ArithmeticLoop(elements); });
    if (!cpu_) {
      add("transpose", 2 * kFloatBytes * count,
          [elements] { return TransposeLoop(elements / kColumns, kColumns); });
    }
    add("tanh", count, [elements] { return TanhLoop(elements); });
    if (const int64_t channels = sizes_.channels; channels > 0) {
      add("convolution", ConvolutionFlops(channels),
          [channels] { return ConvolutionLoop(channels); });
    }
    for (const int64_t channels : sizes_.windows) {
      for (const int64_t dilation : {1, 2}) {
        if (dilation > 1 && channels != kGapChannels) continue;
        add(dilation > 1 ? "windows with gaps" : "windows",
            static_cast<double>(channels),
            [channels, dilation] { return WindowsLoop(channels, dilation); });
      }
    }
    if (!cpu_) add("layers", 0, [] { return LayersLoop(kLayers); });
    for (const MoveKind kind : kKinds) {
      for (const int64_t group : groups_) {
        for (const int64_t message : sizes_.messages) {
          const int64_t devices = timing_.devices;
          add(Name(kind), static_cast<double>(kFloatBytes * message),
              [kind, message, group, devices] {
                return CollectiveLoop(kind, message, group, devices);
              });
          plans.back().sample.group = group;
        }
      }
    }
    if (timing_.devices > 1) {
      add("arrays", static_cast<double>(kArrays),
          [elements = sizes_.messages[0], devices = timing_.devices] {
            return ArraysLoop(kArrays, elements, devices);
          });
      plans.back().sample.group = timing_.devices;
    }
    return plans;
  }

  // On an accelerator, one kernel again and again; on a CPU sums, also of
  // transposed arrays.
  void AddMemory(int64_t elements, std::vector<Plan>& plans) const {
    const double bytes = kFloatBytes * static_cast<double>(elements);
    const auto add = [&](absl::string_view what, double size, auto program) {
      Plan& plan = plans.emplace_back();
      plan.sample.what = std::string(what);
      plan.sample.size = size;
      plan.program = program;
    };
    if (!cpu_) {
      add("memory", 2 * bytes, [elements] { return MemoryLoop(elements); });
      return;
    }
    for (const bool transposed : {false, true}) {
      if (transposed && elements != sizes_.arrays[0]) continue;
      add(transposed ? "transpose" : "memory", 3 * bytes,
          [=, devices = timing_.devices] {
            return SumsLoop(elements / kColumns, kColumns, transposed, devices);
          });
    }
  }

  absl::Status Compile() {
    const std::vector<Plan> plans = Plans();
    Progress progress("compiling", std::ssize(plans));
    for (const Plan& plan : plans) {
      progress.Advance(plan.sample.what);
      MW_ASSIGN_OR_RETURN(LoopTimer timer,
                          LoopTimer::Create(plan.program(), client_, timing_));
      timers_.push_back(std::move(timer));
      samples_.push_back(plan.sample);
    }
    return absl::OkStatus();
  }

  absl::Status GoRound() {
    const double each =
        options_.seconds / static_cast<double>(kRounds * std::ssize(timers_));
    Progress progress("calibrating", kRounds * std::ssize(timers_));
    for (int round = 0; round < kRounds; ++round) {
      for (size_t i = 0; i < timers_.size(); ++i) {
        MW_RETURN_IF_ERROR(timers_[i].Measure(each));
        progress.Advance(samples_[i].what);
      }
    }
    return absl::OkStatus();
  }

  std::vector<const Sample*> Of(absl::string_view what) const {
    std::vector<const Sample*> found;
    for (const Sample& sample : samples_) {
      if (sample.what == what) found.push_back(&sample);
    }
    return found;
  }
  const Sample& One(absl::string_view what) const { return *Of(what)[0]; }

  double Rate(const Sample& sample) const {
    return sample.size / sample.seconds;
  }

  // On a CPU, without the time to start the kernel and the collective.
  double RateOnceStarted(const Sample& sample) const {
    if (!cpu_) return Rate(sample);
    const double other =
        rates_.op_seconds.value +
        (timing_.devices > 1 ? SmallestAllReduce() / kSums : 0);
    return sample.size /
           std::max(kLeastShare * sample.seconds, sample.seconds - other);
  }

  // Of all devices.
  double SmallestAllReduce() const {
    const std::vector<const Sample*> samples = Of(Name(MoveKind::kAllReduce));
    return samples[samples.size() - sizes_.messages.size()]->seconds;
  }

  void TakeKernels() {
    constexpr Origin kOrigin = Origin::kCalibrated;
    rates_.op_seconds = {One("kernel").seconds, kOrigin};
    double run_seconds[2] = {};  // With one argument, and with many.
    for (size_t i = 0, k = 0; i < samples_.size() && k < 2; ++i) {
      if (samples_[i].what != "arguments") continue;
      run_seconds[k++] = samples_[i].seconds = timers_[i].run_seconds();
    }
    // Each is an argument and a result.
    rates_.argument_seconds = {
        std::max(0.0, run_seconds[1] - run_seconds[0]) / (2 * (kArguments - 1)),
        kOrigin};
    rates_.memory = {.origin = kOrigin};
    for (const Sample* sample : Of("memory")) {
      rates_.memory.points.push_back({sample->size, RateOnceStarted(*sample)});
    }
    const Sample& transpose = One("transpose");
    rates_.strided_share = {std::min(1.0, RateOnceStarted(transpose) /
                                              rates_.memory.At(transpose.size)),
                            kOrigin};
    // Arithmetic that memory limits says nothing about arithmetic; the arrays
    // of this kernel are in a CPU's caches.
    const double count = static_cast<double>(sizes_.elements);
    const auto computes = [&](const Sample& sample, double arrays) {
      const double bytes = arrays * kFloatBytes * count;
      return sample.seconds > kAboveMemory * bytes / rates_.memory.At(bytes);
    };
    if (cpu_ || computes(One("arithmetic"), 4)) {
      rates_.vector_flops = {Rate(One("arithmetic")), kOrigin};
    }
    if (cpu_ || computes(One("tanh"), 2)) {
      rates_.transcendentals = {Rate(One("tanh")), kOrigin};
    }
  }

  void TakeMatmuls() {
    for (const ElementType type : sizes_.types) {
      Curve curve{.origin = Origin::kCalibrated};
      for (const Sample* sample : Of(absl::StrCat("matmul ", Name(type)))) {
        curve.points.push_back({sample->size, Rate(*sample)});
      }
      rates_.matmul[type] = std::move(curve);
    }
    if (sizes_.channels == 0) return;
    const Sample& convolution = One("convolution");
    rates_.convolution_share = {
        Rate(convolution) /
            rates_.Matmul(ElementType::kF32).At(convolution.size),
        Origin::kCalibrated};
  }

  // Measures the time that a convolution takes in addition to its contraction.
  void TakeWindows() {
    if (sizes_.windows.empty()) return;
    const Curve& matmul = rates_.Matmul(ElementType::kF32);
    const auto gathering = [&](const Sample& sample) {
      const auto channels = static_cast<int64_t>(sample.size);
      const double flops = WindowsFlops(channels);
      return std::max(kLeastShare * sample.seconds,
                      sample.seconds - rates_.op_seconds.value -
                          flops / matmul.At(flops)) /
             WindowsElements(channels);
    };
    rates_.window_elements = {.origin = Origin::kCalibrated};
    for (const Sample* sample : Of("windows")) {
      rates_.window_elements.points.push_back(
          {sample->size, gathering(*sample)});
    }
    rates_.window_gaps = {
        std::max(1.0, gathering(One("windows with gaps")) /
                          rates_.window_elements.At(kGapChannels)),
        Origin::kCalibrated};
  }

  // The smallest message determines the latency; larger ones, of equal size,
  // the rate.
  void TakeCollective(MoveKind kind) {
    if (groups_.empty()) return;
    LevelRates& level = rates_.levels[0];
    level.origin = Origin::kCalibrated;
    auto& known = level.kinds[KindIndex(kind)];
    known.clear();
    const size_t count = sizes_.messages.size();
    const std::vector<const Sample*> rows = Of(Name(kind));
    for (size_t first = 0; first < rows.size(); first += count) {
      const Sample& smallest = *rows[first];
      double logs = 0;
      for (size_t i = first + 1; i < first + count; ++i) {
        const double more = std::max(rows[i]->seconds - smallest.seconds,
                                     0.02 * rows[i]->seconds);
        logs += std::log(more / WireBytes(kind, smallest.group, rows[i]->size));
      }
      known.push_back({smallest.group, smallest.seconds,
                       std::exp(logs / static_cast<double>(count - 1))});
    }
  }

  void TakeArrays() {
    const std::vector<const Sample*> many = Of("arrays");
    if (many.empty()) return;
    const double one = SmallestAllReduce();
    // Each array but the first is computed by a kernel.
    const double made = (kArrays - 1) * rates_.op_seconds.value;
    rates_.further_array = {
        std::clamp(((many[0]->seconds - made) / one - 1) / (kArrays - 1), 0.0,
                   1.0),
        Origin::kCalibrated};
  }

  // On an accelerator, the host launches each kernel of a program.
  void TakeProgram() {
    if (cpu_) return;
    const ProgramEstimate plain = EstimateProgram(
        LayersLoop(kLayers).module, rates_, cluster_,
        *Mesh::Parse(absl::StrCat("devices=", timing_.devices)));
    rates_.op_seconds.value +=
        std::max(0.0, One("layers").seconds - plain.compute_seconds) /
        plain.kernels;
  }

  Client& client_;
  const Cluster& cluster_;
  const CalibrateOptions options_;
  const bool cpu_;
  const Sizes sizes_;
  LoopTimerOptions timing_;
  Rates rates_;
  std::vector<int64_t> groups_;
  std::vector<LoopTimer> timers_;
  std::vector<Sample> samples_;  // By timer.
};

}  // namespace

absl::StatusOr<Calibration> Calibrate(Client& client, const Cluster& cluster,
                                      const CalibrateOptions& options) {
  if (std::ssize(client.devices()) < cluster.device_count()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the cluster has ", cluster.device_count(), " devices, ",
        client.platform_name(), " here has ", client.devices().size()));
  }
  return Calibrator(client, cluster, options).Run();
}

std::string KindOf(const std::string& device_name) {
  const std::string name = absl::AsciiStrToLower(device_name);
  std::string best;  // "v100-32" is matched before "v100".
  for (const std::string& kind : KnownDeviceKinds()) {
    if (absl::StrContains(name, kind) && kind.size() > best.size()) best = kind;
  }
  return best;
}

}  // namespace meshwright
