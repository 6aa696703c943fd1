// A step as devices run it: the programs of its stages, how its arrays lie, in
// which order things happen, and on whose devices.
//
// A step without stages is a job of one stage with one program, which runs once
// per step. Jobs hold no modules: programs are written for each worker
// (write_programs.h) and go with the job as bytes.
#ifndef MESHWRIGHT_RUNTIME_JOB_H_
#define MESHWRIGHT_RUNTIME_JOB_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "meshwright/hlo/module.h"
#include "meshwright/mesh/mesh.h"
#include "meshwright/mesh/sharding.h"
#include "meshwright/pipeline/stage_layout.h"
#include "meshwright/pipeline/stage_programs.h"
#include "meshwright/schedule/timetable.h"

namespace meshwright {

// A device of a worker, both counted from 0.
struct DeviceAt {
  int32_t worker = 0;
  int32_t device = 0;

  bool operator==(const DeviceAt&) const = default;
};

struct Job {
  StagedStep step;      // Modules are empty.
  StagedLayout layout;  // Without programs.
  Timetable timetable;
  // By stage, by device of its mesh. Stages of one rank share devices.
  std::vector<std::vector<DeviceAt>> devices;

  struct Parameter {
    std::string name;
    Shape shape;
    bool is_state = false;
  };
  std::vector<Parameter> parameters;  // Of the step.
  std::optional<int64_t> loss;        // The output that is.
  char padding = 0;  // Fills the bytes of uneven shards that hold no element.

  int workers() const;
  // Whether a stage has devices of several.
  bool SpansWorkers() const;
  int64_t device_count() const;  // Of all ranks.
  // The stage where output `index` is.
  int32_t StageOfOutput(int64_t index) const;
  // How output `index` lies there.
  const Sharding& ShardingOfOutput(int64_t index) const;
  // The dimension of which micro-batches get parts.
  std::optional<int64_t> CutOf(int64_t parameter) const;
};

// A job and the modules of its programs, which outlive it.
struct JobSource {
  Job job;
  std::vector<const Module*> modules;  // By program; for one device.
};

// A step as each device of a mesh runs it: a program for as many replicas as
// there are devices, replica i on device i of the mesh.
struct ShardedStep {
  const Module& program;  // For one device; collectives between replicas.
  Mesh mesh;
  // How the whole step's parameters and outputs lie on the mesh, by number.
  std::vector<Sharding> parameters;
  std::vector<Sharding> outputs;
  char padding = 0;
};

// Names, roles and shapes are those of `module`, the whole step, which has
// passed Verify. kInvalidArgument when the program does not fit the shardings,
// or state does not come out split as it goes in.
absl::StatusOr<JobSource> MakeJob(const Module& module,
                                  const ShardedStep& step);
// The whole step on one device. kInvalidArgument if it is not for one.
absl::StatusOr<JobSource> MakeJob(const Module& module);
// kInvalidArgument when the timetable does not fit the step.
absl::StatusOr<JobSource> MakeJob(const Module& module, const StagedStep& step,
                                  const StagedLayout& layout,
                                  Timetable timetable);

// kInvalidArgument when it does not fit.
absl::Status CheckTimetable(const Timetable& timetable, const StagedStep& step);

// kInvalidArgument when what the job says of itself does not fit together: for
// jobs that come from elsewhere.
absl::Status CheckJob(const Job& job);

// Gives every rank its devices, one rank after another, worker after worker;
// `devices` says how many each worker has. kInvalidArgument if they are too
// few.
absl::Status PlaceJob(absl::Span<const int64_t> devices, Job& job);

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_JOB_H_
