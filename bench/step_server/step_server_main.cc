// step_server MODULE PLATFORM [INPUTS...] [NAME=VALUE...]: steps on request.
//
// Compiles the module, then for every line "N" on stdin runs N steps and prints
// a JSON array of [seconds, loss] pairs. A benchmark that drives a peer in the
// same way can so alternate between the two, step by step. NAME=VALUE are
// options, numbers or true/false: of the compiler where the name begins with
// xla_, of the plug-in's client otherwise.
#include <cstdio>
#include <iostream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "meshwright/base/file.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/engine/plugin.h"
#include "meshwright/hlo/read_module.h"
#include "meshwright/hlo/verify.h"
#include "meshwright/runtime/step_runner.h"
#include "meshwright/state/tensor_file.h"

namespace meshwright {
namespace {

OptionValue ParseOption(const std::string& text) {
  int64_t integer = 0;
  double number = 0;
  if (text == "true" || text == "false") return text == "true";
  if (absl::SimpleAtoi(text, &integer)) return integer;
  if (absl::SimpleAtod(text, &number)) return number;
  return text;
}

absl::Status Serve(StepRunner* runner) {
  int steps = 0;
  while (std::cin >> steps) {
    std::string line = "[";
    for (int step = 0; step < steps; ++step) {
      MW_ASSIGN_OR_RETURN(const StepResult result, runner->Step());
      absl::StrAppendFormat(&line, "%s[%.9f, %.9g]", step > 0 ? ", " : "",
                            result.seconds, result.loss.value_or(0));
    }
    absl::PrintF("%s]\n", line);
    std::fflush(stdout);
  }
  return absl::OkStatus();
}

absl::Status Main(int argc, char** argv) {
  if (argc < 3) {
    return absl::InvalidArgumentError(
        "usage: step_server MODULE PLATFORM [INPUTS...] [NAME=VALUE...]");
  }
  MW_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(argv[1]));
  MW_ASSIGN_OR_RETURN(const Module module, ReadModule(bytes));
  MW_RETURN_IF_ERROR(Verify(module));
  ClientOptions options;
  OptionMap xla_overrides;
  std::vector<std::string> inputs;
  for (int i = 3; i < argc; ++i) {
    const std::string word = argv[i];
    const size_t equals = word.find('=');
    if (equals == std::string::npos) {
      inputs.push_back(word);
    } else {
      const std::string name = word.substr(0, equals);
      OptionMap& map =
          absl::StartsWith(name, "xla_") ? xla_overrides : options.values;
      map[name] = ParseOption(word.substr(equals + 1));
    }
  }
  MW_ASSIGN_OR_RETURN(const PluginFile file, FindPlugin(argv[2]));
  MW_ASSIGN_OR_RETURN(const Plugin* plugin, Plugin::Load(file));
  MW_ASSIGN_OR_RETURN(const auto client, plugin->CreateClient(options));
  MW_ASSIGN_OR_RETURN(const auto runner,
                      StepRunner::Create(module, client.get(), xla_overrides));
  MW_RETURN_IF_ERROR(runner->FillSynthetic(0));
  for (const std::string& path : inputs) {
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
