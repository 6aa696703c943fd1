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
#include "meshwright/profile/loop_program.h"
#include "meshwright/profile/loop_timer.h"

namespace meshwright {
namespace {

constexpr MoveKind kKinds[] = {MoveKind::kAllReduce, MoveKind::kReduceScatter,
                               MoveKind::kAllGather, MoveKind::kAllToAll,
                               MoveKind::kPermute};
constexpr int64_t kFloatBytes = 4;
constexpr int64_t kColumns = 64;

// What there is to measure on a platform.
struct Sizes {
  std::vector<ElementType> types;
  std::vector<int64_t> squares;   // Of contractions.
  std::vector<int64_t> arrays;    // Elements of memory-bound kernels.
  std::vector<int64_t> messages;  // Elements of collectives.
  int64_t elements = 0;           // Of arithmetic.
  int64_t channels = 0;           // Of convolutions.
};

Sizes SizesFor(bool cpu) {
  if (cpu) {
    return {.types = {ElementType::kF32, ElementType::kBF16},
            .squares = {8, 16, 32, 64, 128, 256, 512},
            .arrays = {1 << 10, 1 << 13, 1 << 16, 1 << 19, 1 << 22},
            .messages = {1 << 6, 1 << 14, 1 << 18},
            .elements = 1 << 14,
            .channels = 16};
  }
  return {.types = {ElementType::kF32, ElementType::kBF16, ElementType::kF16},
          .squares = {256, 512, 1024, 2048, 4096, 8192},
          .arrays = {1 << 16, 1 << 19, 1 << 22, 1 << 25, 1 << 27},
          .messages = {1 << 8, 1 << 18, 1 << 23},
          .elements = 1 << 24,
          .channels = 256};
}

class Calibrator {
 public:
  Calibrator(Client& client, const Cluster& cluster,
             const CalibrateOptions& options)
      : client_(client),
        devices_(cluster.device_count()),
        sizes_(SizesFor(client.platform_name() == "cpu")),
        rates_(AssumedRates(cluster)) {
    if (options.cpu_time && cluster.shared_host) {
      cores_ = std::min(cluster.cores, devices_);
    }
    for (int64_t group = 2; group <= devices_; group *= 2) {
      if (devices_ % group == 0) groups_.push_back(group);
    }
    const size_t loops = sizes_.types.size() * sizes_.squares.size() +
                         sizes_.arrays.size() + 6 +
                         5 * groups_.size() * sizes_.messages.size();
    loops_ = static_cast<int64_t>(loops);
    seconds_each_ = options.seconds / static_cast<double>(loops);
  }

  absl::StatusOr<Calibration> Run() {
    Progress progress("calibrating", loops_);
    progress_ = &progress;
    MW_RETURN_IF_ERROR(SmallKernels());
    MW_RETURN_IF_ERROR(Arguments());
    MW_RETURN_IF_ERROR(Memory());
    MW_RETURN_IF_ERROR(Matmuls());
    MW_RETURN_IF_ERROR(Arithmetic());
    for (const MoveKind kind : kKinds) {
      for (const int64_t group : groups_) {
        MW_RETURN_IF_ERROR(Collective(kind, group));
      }
    }
    if (!groups_.empty()) rates_.levels[0].origin = Origin::kCalibrated;
    return Calibration{std::move(rates_), std::move(samples_)};
  }

 private:
  LoopTimerOptions Timing() const {
    return {.devices = devices_,
            .seconds = seconds_each_,
            .cpu_time_of_cores = cores_};
  }

  absl::StatusOr<double> Time(const LoopProgram& loop, Sample sample) {
    MW_ASSIGN_OR_RETURN(sample.seconds, TimeLoop(loop, client_,
                                                 {.devices = devices_,
                                                  .seconds = seconds_each_}));
    progress_->Advance(sample.what);
    samples_.push_back(sample);
    return sample.seconds;
  }

  absl::Status SmallKernels() {
    MW_ASSIGN_OR_RETURN(const double seconds,
                        Time(SmallKernelLoop(), {.what = "small kernel"}));
    rates_.op_seconds = {seconds, Origin::kCalibrated};
    return absl::OkStatus();
  }

  absl::Status Arguments() {
    constexpr int64_t kCount = 64;
    MW_ASSIGN_OR_RETURN(const double one,
                        TimeRun(ArgumentProgram(1), client_, Timing()));
    Sample sample{.what = "arguments", .size = kCount};
    MW_ASSIGN_OR_RETURN(sample.seconds,
                        TimeRun(ArgumentProgram(kCount), client_, Timing()));
    samples_.push_back(sample);
    progress_->Advance(sample.what);
    // Each goes in and comes out.
    rates_.argument_seconds = {
        std::max(0.0, sample.seconds - one) / (2 * (kCount - 1)),
        Origin::kCalibrated};
    return absl::OkStatus();
  }

  // A loop has a kernel or two that count its turns.
  double WithoutStart(double seconds) const {
    return std::max(seconds - 2 * rates_.op_seconds.value, 0.1 * seconds);
  }

  absl::Status Memory() {
    rates_.memory = {.origin = Origin::kCalibrated};
    for (const int64_t elements : sizes_.arrays) {
      const double bytes = 2.0 * kFloatBytes * static_cast<double>(elements);
      MW_ASSIGN_OR_RETURN(
          const double seconds,
          Time(MemoryLoop(elements), {.what = "memory", .size = bytes}));
      rates_.memory.points.push_back({bytes, bytes / WithoutStart(seconds)});
    }
    return absl::OkStatus();
  }

  absl::Status Matmuls() {
    for (const ElementType type : sizes_.types) {
      Curve curve{.origin = Origin::kCalibrated};
      for (const int64_t size : sizes_.squares) {
        const double flops = 2 * std::pow(static_cast<double>(size), 3);
        MW_ASSIGN_OR_RETURN(
            const double seconds,
            Time(MatmulLoop(type, size),
                 {.what = absl::StrCat("matmul ", Name(type)), .size = flops}));
        const double work =
            std::max(seconds - rates_.op_seconds.value, 0.1 * seconds);
        curve.points.push_back({flops, flops / work});
      }
      rates_.matmul[type] = std::move(curve);
    }
    return absl::OkStatus();
  }

  absl::Status Arithmetic() {
    const double elements = static_cast<double>(sizes_.elements);
    const double flops = kArithmeticFlops * elements;
    MW_ASSIGN_OR_RETURN(double seconds,
                        Time(ArithmeticLoop(sizes_.elements),
                             {.what = "arithmetic", .size = flops}));
    rates_.vector_flops = {flops / WithoutStart(seconds), Origin::kCalibrated};
    const double bytes = 2 * kFloatBytes * elements;
    MW_ASSIGN_OR_RETURN(
        seconds, Time(TransposeLoop(sizes_.elements / kColumns, kColumns),
                      {.what = "transpose", .size = bytes}));
    rates_.strided_share = {
        std::min(1.0, bytes / WithoutStart(seconds) / rates_.memory.At(bytes)),
        Origin::kCalibrated};
    MW_ASSIGN_OR_RETURN(seconds, Time(TanhLoop(sizes_.elements),
                                      {.what = "tanh", .size = elements}));
    rates_.transcendentals = {elements / WithoutStart(seconds),
                              Origin::kCalibrated};
    const double channels = static_cast<double>(sizes_.channels);
    const double multiplied = 2 * 9 * 8 * 16 * 16 * channels * channels;
    MW_ASSIGN_OR_RETURN(seconds,
                        Time(ConvolutionLoop(sizes_.channels),
                             {.what = "convolution", .size = multiplied}));
    const double rate = multiplied / WithoutStart(seconds);
    rates_.convolution_share = {
        rate / rates_.Matmul(ElementType::kF32).At(multiplied),
        Origin::kCalibrated};
    return absl::OkStatus();
  }

  absl::Status Collective(MoveKind kind, int64_t group) {
    std::vector<Sample> rows;
    for (const int64_t elements : sizes_.messages) {
      const double bytes = static_cast<double>(kFloatBytes * elements);
      Sample sample{
          .what = std::string(Name(kind)), .size = bytes, .group = group};
      MW_ASSIGN_OR_RETURN(
          sample.seconds,
          Time(CollectiveLoop(kind, elements, group, devices_), sample));
      rows.push_back(sample);
    }
    // The smallest tells the latency; larger ones, alike, the rate.
    const double latency = WithoutStart(rows[0].seconds);
    double logs = 0;
    for (size_t i = 1; i < rows.size(); ++i) {
      const double more =
          std::max(rows[i].seconds - rows[0].seconds, 0.02 * rows[i].seconds);
      logs += std::log(more / WireBytes(kind, group, rows[i].size));
    }
    const double per_byte =
        std::exp(logs / static_cast<double>(rows.size() - 1));
    auto& known = rates_.levels[0].kinds[KindIndex(kind)];
    if (group == groups_[0]) known.clear();
    known.push_back({group, latency, per_byte});
    return absl::OkStatus();
  }

  Client& client_;
  const int64_t devices_;
  const Sizes sizes_;
  Rates rates_;
  std::vector<int64_t> groups_;
  int64_t loops_ = 0;
  int64_t cores_ = 0;
  double seconds_each_ = 0;
  std::vector<Sample> samples_;
  Progress* progress_ = nullptr;
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
  std::string best;  // "v100-32" before "v100".
  for (const std::string& kind : KnownDeviceKinds()) {
    if (absl::StrContains(name, kind) && kind.size() > best.size()) best = kind;
  }
  return best;
}

}  // namespace meshwright
