// A job: a step in the form in which devices run it, with the programs of its
// stages, the shardings of its arrays, the order of actions, and the devices.
//
// A non-pipelined step is a job of one stage with one program, which runs once
// per step. Jobs contain no modules: programs are written for each worker
// (write_programs.h) and sent with the job as bytes.
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

// A device of a worker; both numbered from 0.
struct DeviceAt {
  int32_t worker = 0;
  int32_t device = 0;

  bool operator==(const DeviceAt&) const = default;
};

struct Job {
  StagedStep step;      // Its modules are empty.
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
  std::optional<int64_t> loss;  // The index of the loss among the outputs.
  char padding = 0;  // The byte that fills the padding of uneven shards.

  int workers() const;
  // Whether some stage has devices of several workers.
  bool SpansWorkers() const;
  int64_t device_count() const;  // Of all ranks.
  // The stage that holds output `index`.
  StageId StageOfOutput(int64_t index) const;
  // The sharding of output `index` there.
  const Sharding& ShardingOfOutput(int64_t index) const;
  // The dimension that is divided among micro-batches.
  std::optional<int64_t> BatchDimOf(int64_t parameter) const;
};

// A job and the modules of its programs, which must outlive it.
struct JobSource {
  Job job;
  std::vector<const Module*> modules;  // By program; per-device modules.
};

// A partitioned step: a program for as many replicas as there are devices,
// replica i on device i of the mesh.
struct ShardedStep {
  const Module& program;  // For one device, with collectives between replicas.
  Mesh mesh;
  // The shardings of the whole step's parameters and outputs, by number.
  std::vector<Sharding> parameters;
  std::vector<Sharding> outputs;
  char padding = 0;
};

// Names, roles and shapes are those of `module`, the whole step, which has
// passed Verify. kInvalidArgument if the program does not fit the shardings, or
// the next value of some state has another sharding than the state.
absl::StatusOr<JobSource> MakeJob(const Module& module,
                                  const ShardedStep& step);
// The whole step on one device. kInvalidArgument if it is not for one.
absl::StatusOr<JobSource> MakeJob(const Module& module);
// kInvalidArgument if the timetable does not fit the step.
absl::StatusOr<JobSource> MakeJob(const Module& module, const StagedStep& step,
                                  const StagedLayout& layout,
                                  Timetable timetable);

// kInvalidArgument if it does not fit.
absl::Status CheckTimetable(const Timetable& timetable, const StagedStep& step);

// kInvalidArgument if the job is inconsistent. For jobs that were received.
absl::Status CheckJob(const Job& job);

// Assigns devices to ranks, in order of ranks and of workers; `devices`: how
// many each worker has. kInvalidArgument if there are too few.
absl::Status PlaceJob(absl::Span<const int64_t> devices, Job& job);

// What went wrong with a program; names the program if the job has several.
absl::Status ErrorOf(const Job& job, ProgramId program,
                     const absl::Status& error);

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_JOB_H_
