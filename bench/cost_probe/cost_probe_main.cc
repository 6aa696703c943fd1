// cost_probe MODULE --sharding FILE [flags]: what the cost model says about a
// partitioned step, and what the compiler and the clock say.
//
// Prints one JSON object: "predicted" (of a pipelined --plan, as it says), and
// with --serve, if there are no stages, also "memory" as the compiler counts
// it. Then, for every line "N" on stdin, runs N steps and prints a JSON array
// of [seconds, processor seconds] pairs.
#include <time.h>

#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "meshwright/api/device_client.h"
#include "meshwright/api/planned_runner.h"
#include "meshwright/base/file.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/cli/command_line.h"
#include "meshwright/cli/load_module.h"
#include "meshwright/cli/split_module.h"
#include "meshwright/cli/stage_module.h"
#include "meshwright/cost/op_time.h"
#include "meshwright/cost/program_cost.h"
#include "meshwright/mesh/cluster_file.h"
#include "meshwright/profile/database.h"
#include "meshwright/runtime/executor.h"
#include "meshwright/runtime/local_runner.h"

namespace meshwright {
namespace {

using Json = nlohmann::ordered_json;

CommandSpec Spec() {
  CommandSpec spec{
      .name = "cost_probe",
      .summary = "a step's predicted and real cost",
      .positional = {"MODULE"},
      .flags = {{"serve", "", "compile, and run steps on request"},
                {"kernels", "", "list the kernels of the cost model"},
                {"database", "PATH", "of measured rates (default: assumed)"},
                {"cluster", "SPEC",
                 "h200:2x8 (default: cpu and the mesh's "
                 "devices)"}}};
  for (FlagSpec& flag : SplitFlags()) spec.flags.push_back(std::move(flag));
  return spec;
}

double CpuSeconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) +
         1e-9 * static_cast<double>(time.tv_nsec);
}

Json ToJson(const ProgramEstimate& estimate, double cpu_seconds) {
  return {{"step_seconds", estimate.step_seconds},
          {"compute_seconds", estimate.compute_seconds},
          {"contraction_seconds", estimate.contraction_seconds},
          {"comm_seconds", estimate.comm_seconds},
          {"exposed_seconds", estimate.exposed_seconds},
          {"comm_bytes", estimate.comm_bytes},
          {"kernels", estimate.kernels},
          {"collectives", estimate.collectives},
          {"peak_bytes", estimate.peak_bytes()},
          {"temporary_bytes", estimate.memory.temporaries},
          {"estimated_in_cpu_seconds", cpu_seconds}};
}

Json KernelsJson(const Module& program, const Rates& rates, bool cpu) {
  const ModuleWork work(program);
  Json rows = Json::array();
  for (const auto& [computation, kernels] :
       KernelsOf(program, work, FusionStyleFor(cpu))) {
    for (const Kernel& kernel : kernels) {
      Json shapes = Json::array();
      for (const Instruction* input : kernel.inputs) {
        shapes.push_back(input->shape.ToString());
      }
      rows.push_back({{"computation", computation->name()},
                      {"name", kernel.root->name},
                      {"op", std::string(Name(kernel.root->opcode))},
                      {"shape", kernel.root->shape.ToString()},
                      {"operands", kernel.root->operands.size()},
                      {"inputs", shapes},
                      {"flops", kernel.work.flops},
                      {"trans", kernel.work.transcendentals},
                      {"bytes", kernel.work.bytes},
                      {"fused", kernel.fused.size()},
                      {"strided", kernel.strided},
                      {"scratch", kernel.scratch_bytes},
                      {"seconds", KernelSeconds(kernel, rates)}});
    }
  }
  return rows;
}

absl::Status Serve(Runner& runner) {
  int steps = 0;
  while (std::cin >> steps) {
    Json rows = Json::array();
    for (int step = 0; step < steps; ++step) {
      const double before = CpuSeconds();
      MW_ASSIGN_OR_RETURN(const StepResult result, runner.Step());
      rows.push_back({result.seconds, CpuSeconds() - before});
    }
    absl::PrintF("%s\n", rows.dump());
    std::fflush(stdout);
  }
  return absl::OkStatus();
}

absl::Status ServeStages(const Module& module, const StagedModule& staged,
                         const CommandLine& line) {
  MW_ASSIGN_OR_RETURN(const std::string plan, ReadFile(line.Text("plan", "")));
  const Json predicted = Json::parse(plan).at("predicted");
  MW_ASSIGN_OR_RETURN(
      const auto client,
      MakeClient("cpu", static_cast<int>(staged.device_count())));
  MW_ASSIGN_OR_RETURN(const auto runner,
                      MakeRunner(module, staged, client.get()));
  MW_RETURN_IF_ERROR(runner->FillSynthetic(0));
  absl::PrintF("%s\n", Json({{"predicted", predicted}}).dump());
  std::fflush(stdout);
  return Serve(*runner);
}

absl::Status Main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  MW_ASSIGN_OR_RETURN(const CommandLine line,
                      CommandLine::Parse(words, Spec()));
  MW_ASSIGN_OR_RETURN(const Module module, LoadStep(line.positional(0)));
  if (line.Has("serve") && line.Has("plan")) {
    MW_ASSIGN_OR_RETURN(const auto staged, StageModule(module, line));
    if (staged.has_value()) return ServeStages(module, *staged, line);
  }
  MW_ASSIGN_OR_RETURN(const Partitioned split,
                      SplitModule(module, AnalyzeRoles(module), line));
  const Machine machine{.cores = std::thread::hardware_concurrency(),
                        .memory_bytes = int64_t{1} << 34};
  MW_ASSIGN_OR_RETURN(
      const Cluster cluster,
      ParseClusterSpec(
          line.Text("cluster", absl::StrCat("cpu:", split.mesh.device_count())),
          machine));
  MW_ASSIGN_OR_RETURN(const Rates rates,
                      LoadRates(line.Text("database", ""), cluster));
  const double before = CpuSeconds();
  const ProgramEstimate estimate =
      EstimateProgram(split.module, rates, cluster, split.mesh);
  Json json = {{"predicted", ToJson(estimate, CpuSeconds() - before)},
               {"instructions", split.module.instruction_count()}};
  if (line.Has("kernels")) {
    json["kernels"] = KernelsJson(split.module, rates, cluster.IsCpu());
  }
  if (!line.Has("serve")) {
    absl::PrintF("%s\n", json.dump());
    return absl::OkStatus();
  }
  MW_ASSIGN_OR_RETURN(
      const auto client,
      MakeClient("cpu", static_cast<int>(split.mesh.device_count())));
  MW_ASSIGN_OR_RETURN(const auto runner,
                      MakeLocalRunner(module,
                                      {.program = split.module,
                                       .mesh = split.mesh,
                                       .parameters = split.parameters,
                                       .outputs = split.outputs},
                                      client.get()));
  MW_ASSIGN_OR_RETURN(const ProgramMemory memory,
                      runner->executor()->executables()[0]->Memory());
  json["memory"] = {{"peak_bytes", memory.total_bytes()},
                    {"temporary_bytes", memory.temporary_bytes}};
  MW_RETURN_IF_ERROR(runner->FillSynthetic(0));
  absl::PrintF("%s\n", json.dump());
  std::fflush(stdout);
  return Serve(*runner);
}

}  // namespace
}  // namespace meshwright

int main(int argc, char** argv) {
  const absl::Status status = meshwright::Main(argc, argv);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
