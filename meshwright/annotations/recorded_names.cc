#include "meshwright/annotations/recorded_names.h"

#include <algorithm>

#include "nlohmann/json.hpp"

namespace meshwright {

std::string RecordedName(const Instruction& parameter) {
  const auto name = parameter.frontend_attributes.find("mw.name");
  return name == parameter.frontend_attributes.end() ? parameter.name
                                                     : name->second;
}

std::vector<std::string> RecordedOutputs(const Module& module) {
  const auto outputs = module.frontend_attributes.find("mw.outputs");
  if (outputs == module.frontend_attributes.end()) return {};
  const nlohmann::json names = nlohmann::json::parse(
      outputs->second, nullptr, /*allow_exceptions=*/false);
  const bool is_list =
      names.is_array() && std::ranges::all_of(names, [](const auto& name) {
        return name.is_string();
      });
  if (!is_list) return {};
  return names.get<std::vector<std::string>>();
}

}  // namespace meshwright
