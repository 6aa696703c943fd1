// What strategies are searched for: on which mesh, and in which pieces the step
// runs there. A candidate is a setting with strategies; two candidates of the
// same setting differ in these alone.
//
//   Setting{.mesh = *Mesh::Parse("data=4,model=2"),  // 8 devices of a rank
//           .micro_batches = 8,
//           .recompute = Recompute::kFull,
//           .stages = {.count = 4, .ranks = 4}}      // on 32 devices
#ifndef MESHWRIGHT_PLANNER_SETTING_H_
#define MESHWRIGHT_PLANNER_SETTING_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "meshwright/mesh/mesh.h"
#include "meshwright/planner/step_variant.h"
#include "meshwright/schedule/schedule_kind.h"
#include "meshwright/search/expert.h"

namespace meshwright {

// How a pipeline divides the step and the devices.
//
//   {.count = 3, .ranks = 3, .doubled = 1}  // of 32 devices: 16, 8 and 8
struct StageSetting {
  int32_t count = 1;  // Stages: as many as ranks, or a multiple.
  int32_t ranks = 1;
  // The first so many ranks have twice as many devices as the others.
  int32_t doubled = 0;
  // Whether the setting's mesh is that of these.
  bool is_doubled = false;

  // Into how many parts, equal per device, the step is divided.
  int32_t parts() const { return ranks + doubled; }
  // How many meshes as large as the setting's the step is divided among.
  double meshes() const { return parts() / (is_doubled ? 2.0 : 1.0); }

  bool operator==(const StageSetting&) const = default;
};

struct Setting {
  Mesh mesh;  // Of a rank; without stages of all devices.
  int64_t micro_batches = 1;
  Recompute recompute = Recompute::kNone;
  StageSetting stages;
  std::optional<ScheduleKind> schedule;  // Null: the fastest.
  Expert expert = Expert::kAuto;
  bool joint_reductions = false;  // As in MeshTask.

  // The same for other strategies.
  Setting With(Expert other) const {
    Setting setting = *this;
    setting.expert = other;
    return setting;
  }

  bool operator==(const Setting&) const = default;

  template <typename H>
  friend H AbslHashValue(H h, const Setting& setting) {
    for (const MeshAxis& axis : setting.mesh.axes()) {
      h = H::combine(std::move(h), axis.name, axis.size);
    }
    const StageSetting& split = setting.stages;
    return H::combine(std::move(h), setting.mesh.device_ids(),
                      setting.micro_batches, setting.recompute, split.count,
                      split.ranks, split.doubled, split.is_doubled,
                      setting.schedule, setting.expert,
                      setting.joint_reductions);
  }
};

// Of a step variant without stages.
inline Setting SettingOf(const StepVariant& variant, const Mesh& mesh,
                         Expert expert) {
  return {.mesh = mesh,
          .micro_batches = variant.count,
          .recompute = variant.recompute,
          .expert = expert};
}

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_SETTING_H_
