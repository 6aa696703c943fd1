#include "meshwright/runtime/write_programs.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/crossing/cross_process.h"
#include "meshwright/expand/expand.h"
#include "meshwright/hlo/inline_calls.h"
#include "meshwright/hlo/kernel_calls.h"
#include "meshwright/runtime/collective_options.h"

namespace meshwright {
namespace {

absl::StatusOr<std::string> WriteProgram(absl::string_view platform,
                                         const Module& program) {
  if (!HasKernels(program)) return WriteModuleFor(platform, program);
  Module copy = InlineCalls(program);
  KernelsToCalls(copy);
  copy.Finish();
  return WriteModuleFor(platform, copy);
}

ProcessPlace PlaceOf(const std::vector<DeviceAt>& devices, int worker) {
  ProcessPlace place{.process = worker};
  for (const DeviceAt& at : devices) place.process_of.push_back(at.worker);
  return place;
}

bool SpansProcesses(const ProcessPlace& place) {
  return std::ranges::any_of(place.process_of, [&](int process) {
    return process != place.process_of[0];
  });
}

absl::StatusOr<std::string> WriteFor(absl::string_view platform,
                                     const Module& program,
                                     const ProcessPlace& place, int64_t calls,
                                     uint32_t first_tag) {
  if (!SpansProcesses(place) || CollectivesCrossProcesses(platform)) {
    return WriteProgram(platform, program);
  }
  MW_ASSIGN_OR_RETURN(const uint32_t tags, CrossTagCount(program, place));
  // The calls read and write host memory.
  if (tags > 0 && platform != "cpu") {
    return absl::UnimplementedError(absl::StrCat(
        "collectives between workers are for cpu and cuda, not for ", platform,
        "; give one worker all devices, or each stage its own"));
  }
  MW_ASSIGN_OR_RETURN(const Module own,
                      LowerForProcess(program, place, calls, first_tag));
  return WriteProgram(platform, own);
}

}  // namespace

absl::StatusOr<std::vector<std::string>> WritePrograms(
    const JobSource& source, int worker, int64_t calls,
    absl::string_view platform) {
  const Job& job = source.job;
  std::vector<std::string> programs;
  uint32_t first_tag = 0;
  for (size_t i = 0; i < source.modules.size(); ++i) {
    const std::vector<DeviceAt>& devices =
        job.devices[job.step.programs[i].stage];
    const ProcessPlace place = PlaceOf(devices, worker);
    std::string& code = programs.emplace_back();
    if (std::ranges::count(place.process_of, worker) > 0) {
      absl::StatusOr<std::string> written =
          WriteFor(platform, *source.modules[i], place, calls, first_tag);
      if (!written.ok()) {
        return ErrorOf(job, ProgramId(i), written.status());
      }
      code = *std::move(written);
    }
    if (SpansProcesses(place)) {
      MW_ASSIGN_OR_RETURN(const uint32_t tags,
                          CrossTagCount(*source.modules[i], place));
      first_tag += tags;
    }
  }
  return programs;
}

}  // namespace meshwright
