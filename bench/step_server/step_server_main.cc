// step_server MODULE [flags]: steps on request.
//
// Compiles the module, split over devices when there is a sharding file, then
// for every line "N" on stdin runs N steps and prints a JSON array of
// [seconds, loss] pairs. A benchmark that drives a peer in the same way can so
// alternate between the two, step by step.
#include <cstdio>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "meshwright/api/load_step.h"
#include "meshwright/api/planned_runner.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/cli/command_line.h"
#include "meshwright/cli/split_module.h"
#include "meshwright/cli/stage_module.h"
#include "meshwright/engine/plugin.h"
#include "meshwright/runtime/local_runner.h"
#include "meshwright/service/local_workers.h"
#include "meshwright/state/tensor_file.h"

namespace meshwright {
namespace {

CommandSpec Spec() {
  CommandSpec spec{
      .name = "step_server",
      .summary = "runs steps on request",
      .positional = {"MODULE"},
      .flags = {
          {"platform", "NAME", "cpu (default) or another plug-in"},
          {"inputs", "FILE", "tensors by parameter name; may be repeated"},
          {"option", "NAME=VALUE",
           "a number or true/false: of the compiler where the name begins with "
           "xla_, of the plug-in's client otherwise; may be repeated"}}};
  spec.flags.push_back({"workers", "W", "worker processes (default: none)"});
  spec.flags.push_back({"program", "FILE", "the meshwright that workers run"});
  for (FlagSpec& flag : SplitFlags()) spec.flags.push_back(std::move(flag));
  for (FlagSpec& flag : StageFlags()) spec.flags.push_back(std::move(flag));
  return spec;
}

OptionValue ParseOption(const std::string& text) {
  int64_t integer = 0;
  double number = 0;
  if (text == "true" || text == "false") return text == "true";
  if (absl::SimpleAtoi(text, &integer)) return integer;
  if (absl::SimpleAtod(text, &number)) return number;
  return text;
}

struct Options {
  ClientOptions client;
  OptionMap xla_overrides;
};

Options ReadOptions(const CommandLine& line) {
  Options options;
  for (const std::string& text : line.All("option")) {
    const size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    OptionMap& map = absl::StartsWith(name, "xla_") ? options.xla_overrides
                                                    : options.client.values;
    map[name] = equals == std::string::npos
                    ? OptionValue(true)
                    : ParseOption(text.substr(equals + 1));
  }
  return options;
}

absl::StatusOr<std::unique_ptr<Client>> MakeClient(
    const std::string& platform, const ClientOptions& options) {
  MW_ASSIGN_OR_RETURN(const PluginFile file, FindPlugin(platform));
  MW_ASSIGN_OR_RETURN(const Plugin* plugin, Plugin::Load(file));
  return plugin->CreateClient(options);
}

absl::StatusOr<std::unique_ptr<JobRunner>> OnDevices(
    const Module& module, const std::optional<Partitioned>& split,
    Client* client, const OptionMap& xla_overrides) {
  if (!split.has_value()) {
    return MakeLocalRunner(module, client, xla_overrides);
  }
  return MakeLocalRunner(module,
                         {.program = split->module,
                          .mesh = split->mesh,
                          .parameters = split->parameters,
                          .outputs = split->outputs},
                         client, xla_overrides);
}

absl::Status Serve(Runner* runner) {
  int steps = 0;
  while (std::cin >> steps) {
    std::string text = "[";
    MW_ASSIGN_OR_RETURN(const std::vector<StepResult> results,
                        runner->Steps(steps));
    for (const StepResult& result : results) {
      absl::StrAppendFormat(&text, "%s[%.9f, %.9g]",
                            text.size() > 1 ? ", " : "", result.seconds,
                            result.loss.value_or(0));
    }
    absl::PrintF("%s]\n", text);
    std::fflush(stdout);
  }
  return absl::OkStatus();
}

absl::Status Main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  MW_ASSIGN_OR_RETURN(const CommandLine line,
                      CommandLine::Parse(words, Spec()));
  MW_ASSIGN_OR_RETURN(const Module module, LoadStep(line.positional(0)));
  Options options = ReadOptions(line);
  MW_ASSIGN_OR_RETURN(const std::optional<StagedModule> staged,
                      StageModule(module, line));
  std::optional<Partitioned> split;
  if (!staged.has_value() && (line.Has("sharding") || line.Has("plan"))) {
    MW_ASSIGN_OR_RETURN(split, SplitModule(module, AnalyzeRoles(module), line));
  }
  const int64_t devices = staged.has_value()  ? staged->device_count()
                          : split.has_value() ? split->mesh.device_count()
                                              : 1;
  MW_ASSIGN_OR_RETURN(const int64_t count,
                      line.Integer("workers", 0, {1, 1024}));
  std::unique_ptr<LocalWorkers> workers;
  std::unique_ptr<Client> client;
  std::unique_ptr<Runner> runner;
  if (count > 0) {
    MW_ASSIGN_OR_RETURN(
        workers, LocalWorkers::Start({.count = static_cast<int>(count),
                                      .devices = (devices + count - 1) / count,
                                      .platform = line.Text("platform", "cpu"),
                                      .program = line.Text("program", "")}));
  } else {
    options.client.cpu_devices = static_cast<int>(devices);
    MW_ASSIGN_OR_RETURN(
        client, MakeClient(line.Text("platform", "cpu"), options.client));
  }
  if (count == 0 && !staged.has_value()) {
    MW_ASSIGN_OR_RETURN(
        runner, OnDevices(module, split, client.get(), options.xla_overrides));
  } else {
    const Where where =
        count > 0 ? Where(&workers->coordinator()) : Where(client.get());
    if (staged.has_value()) {
      MW_ASSIGN_OR_RETURN(runner, MakeRunner(module, *staged, where));
    } else if (split.has_value()) {
      MW_ASSIGN_OR_RETURN(runner, MakeRunner(module, *split, where));
    } else {
      MW_ASSIGN_OR_RETURN(runner, MakeRunner(module, where));
    }
  }
  MW_RETURN_IF_ERROR(runner->FillSynthetic(0));
  for (const std::string& path : line.All("inputs")) {
    MW_ASSIGN_OR_RETURN(std::vector<Tensor> tensors, ReadTensorFile(path));
    MW_RETURN_IF_ERROR(runner->Set(std::move(tensors)));
  }
  absl::PrintF("ready\n");
  std::fflush(stdout);
  return Serve(runner.get());
}

}  // namespace
}  // namespace meshwright

int main(int argc, char** argv) {
  const absl::Status status = meshwright::Main(argc, argv);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
