#include "meshwright/analysis/roles.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace meshwright {
namespace {

// Empty if there is no such attribute.
std::string Recorded(const FrontendAttributes& attributes, const char* key) {
  const auto it = attributes.find(key);
  return it == attributes.end() ? std::string() : it->second;
}

// The array at `path` in a shape, or null.
const Shape* LeafAt(const Shape& shape, const std::vector<int64_t>& path) {
  const Shape* here = &shape;
  for (int64_t step : path) {
    if (step < 0 || step >= std::ssize(here->tuple_shapes)) return nullptr;
    here = &here->tuple_shapes[step];
  }
  return here->IsTuple() ? nullptr : here;
}

// Appends "#2", "#3" and so on to names that are taken.
class UniqueNames {
 public:
  std::string Take(std::string name) {
    std::string candidate = name;
    while (!taken_.insert(candidate).second) {
      int64_t& copies = copies_[name];
      copies = copies == 0 ? 2 : copies + 1;
      candidate = absl::StrCat(name, "#", copies);
    }
    return candidate;
  }

 private:
  absl::flat_hash_set<std::string> taken_;
  absl::flat_hash_map<std::string, int64_t> copies_;
};

class RoleAnalysis {
 public:
  explicit RoleAnalysis(const Module& module)
      : module_(module),
        parameters_(module.entry()->Parameters()),
        leaves_(Leaves(module.entry()->root()->shape)) {}

  ModuleRoles Run() {
    roles_.parameters.resize(parameters_.size());
    roles_.outputs.resize(leaves_.size());
    NameParameters();
    ReadOutputNames();
    ReadAliases();
    PairState();
    NameOutputs();
    FindLoss();
    return std::move(roles_);
  }

 private:
  void Warn(std::string text) { roles_.warnings.push_back(std::move(text)); }

  std::string DescribeParameter(int64_t number) const {
    return absl::StrCat("parameter ", number, " (",
                        roles_.parameters[number].name, ")");
  }

  void NameParameters() {
    // Some frontends give every parameter the same op_name, which is no name
    // then.
    absl::flat_hash_map<absl::string_view, int> op_names;
    for (const Instruction* parameter : parameters_) {
      if (parameter) ++op_names[parameter->metadata.op_name];
    }
    UniqueNames names;
    for (size_t number = 0; number < parameters_.size(); ++number) {
      roles_.parameters[number].name =
          names.Take(ParameterName(number, op_names));
    }
  }

  std::string ParameterName(
      size_t number,
      const absl::flat_hash_map<absl::string_view, int>& op_names) const {
    const Instruction* parameter = parameters_[number];
    if (parameter == nullptr) return absl::StrCat("parameter.", number);
    std::string recorded = Recorded(parameter->frontend_attributes, "mw.name");
    if (!recorded.empty()) return recorded;
    const std::string& op_name = parameter->metadata.op_name;
    if (!op_name.empty() && op_names.at(op_name) == 1) return op_name;
    if (module_.entry_layout) {
      const auto& layout_names = module_.entry_layout->parameter_names;
      if (number < layout_names.size() && !layout_names[number].empty()) {
        return layout_names[number];
      }
    }
    return parameter->name;
  }

  void ReadOutputNames() {
    const std::string text =
        Recorded(module_.frontend_attributes, "mw.outputs");
    if (text.empty()) return;
    const nlohmann::json names =
        nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (!names.is_array()) return Warn("mw.outputs is not a JSON array");
    if (names.size() != leaves_.size()) {
      return Warn(absl::StrCat("mw.outputs names ", names.size(),
                               " outputs, the module has ", leaves_.size()));
    }
    for (const nlohmann::json& name : names) {
      if (!name.is_string()) return Warn("mw.outputs holds more than strings");
    }
    output_names_ = names.get<std::vector<std::string>>();
  }

  // Fills aliased_: parameter -> output.
  void ReadAliases() {
    absl::flat_hash_map<const Shape*, int64_t> index_of;
    for (size_t i = 0; i < leaves_.size(); ++i) index_of.emplace(leaves_[i], i);
    for (const Alias& alias : module_.aliases) {
      const int64_t number = alias.parameter_number;
      const Shape* leaf =
          LeafAt(module_.entry()->root()->shape, alias.output_index);
      if (number < 0 || number >= std::ssize(parameters_) || leaf == nullptr ||
          !alias.parameter_index.empty()) {
        Warn(absl::StrCat("the alias of parameter ", number,
                          " names a part of a tuple, or nothing"));
        continue;
      }
      aliased_.emplace(number, index_of.at(leaf));
    }
  }

  ParameterRole RoleOf(int64_t number) {
    const Instruction* parameter = parameters_[number];
    const ParameterRole by_alias = aliased_.contains(number)
                                       ? ParameterRole::kState
                                       : ParameterRole::kData;
    if (parameter == nullptr) return by_alias;
    const std::string role =
        Recorded(parameter->frontend_attributes, "mw.role");
    if (role == "state") return ParameterRole::kState;
    if (role == "data") return ParameterRole::kData;
    if (role == "constant") return ParameterRole::kConstant;
    if (!role.empty()) {
      Warn(absl::StrCat(DescribeParameter(number), ": mw.role is \"", role,
                        "\", expected state, data or constant"));
    }
    return by_alias;
  }

  // The output that is the next value of a state parameter: by alias, else by
  // name.
  std::optional<int64_t> NextValue(
      int64_t number,
      const absl::flat_hash_map<absl::string_view, int64_t>& by_name) const {
    if (const auto it = aliased_.find(number); it != aliased_.end()) {
      return it->second;
    }
    const auto it = by_name.find(roles_.parameters[number].name);
    if (it == by_name.end()) return std::nullopt;
    return it->second;
  }

  void PairState() {
    absl::flat_hash_map<absl::string_view, int64_t> by_name;
    for (size_t i = 0; i < output_names_.size(); ++i) {
      by_name.emplace(output_names_[i], i);
    }
    absl::flat_hash_set<int64_t> used;
    for (int64_t number = 0; number < std::ssize(parameters_); ++number) {
      ParameterRole& role = roles_.parameters[number].role;
      role = RoleOf(number);
      if (role != ParameterRole::kState) continue;
      const std::optional<int64_t> output = NextValue(number, by_name);
      if (output && parameters_[number] != nullptr &&
          Compatible(parameters_[number]->shape, *leaves_[*output]) &&
          used.insert(*output).second) {
        roles_.state_pairs.push_back({number, *output});
        roles_.outputs[*output].role = OutputRole::kState;
        continue;
      }
      Warn(absl::StrCat(DescribeParameter(number),
                        ": is state, but no output is its next value"));
      role = ParameterRole::kConstant;
    }
  }

  void NameOutputs() {
    const bool recorded = !output_names_.empty();
    if (!recorded) {
      for (size_t i = 0; i < leaves_.size(); ++i) {
        output_names_.push_back(module_.entry()->root()->shape.IsTuple()
                                    ? absl::StrCat("out/", i)
                                    : "out");
      }
      for (const StatePair& pair : roles_.state_pairs) {
        output_names_[pair.output] = roles_.parameters[pair.parameter].name;
      }
    }
    UniqueNames names;
    for (size_t i = 0; i < leaves_.size(); ++i) {
      roles_.outputs[i].name = names.Take(output_names_[i]);
    }
  }

  bool MayBeLoss(int64_t output) const {
    const Shape& shape = *leaves_[output];
    return roles_.outputs[output].role != OutputRole::kState &&
           shape.IsArray() && IsFloating(shape.element_type) &&
           ElementCount(shape) == 1;
  }

  void FindLoss() {
    roles_.loss = RecordedLoss();
    for (int64_t i = 0; i < std::ssize(leaves_) && !roles_.loss; ++i) {
      if (leaves_[i]->IsScalar() && MayBeLoss(i)) roles_.loss = i;
    }
    if (roles_.loss) roles_.outputs[*roles_.loss].role = OutputRole::kLoss;
  }

  std::optional<int64_t> RecordedLoss() {
    const std::string text = Recorded(module_.frontend_attributes, "mw.loss");
    if (text.empty()) return std::nullopt;
    int64_t output = 0;
    if (!absl::SimpleAtoi(text, &output) || output < 0 ||
        output >= std::ssize(leaves_)) {
      Warn(absl::StrCat("mw.loss is \"", text, "\", the module has ",
                        leaves_.size(), " outputs"));
      return std::nullopt;
    }
    if (!MayBeLoss(output)) {
      Warn(absl::StrCat("mw.loss names output ", output,
                        ", which is no floating scalar besides the state"));
      return std::nullopt;
    }
    return output;
  }

  const Module& module_;
  const std::vector<Instruction*> parameters_;
  const std::vector<const Shape*> leaves_;
  std::vector<std::string> output_names_;
  absl::flat_hash_map<int64_t, int64_t> aliased_;
  ModuleRoles roles_;
};

}  // namespace

absl::string_view Name(ParameterRole role) {
  switch (role) {
    case ParameterRole::kState:
      return "state";
    case ParameterRole::kData:
      return "data";
    case ParameterRole::kConstant:
      return "constant";
  }
  return "";
}

absl::string_view Name(OutputRole role) {
  switch (role) {
    case OutputRole::kState:
      return "state";
    case OutputRole::kLoss:
      return "loss";
    case OutputRole::kMetric:
      return "metric";
  }
  return "";
}

ModuleRoles AnalyzeRoles(const Module& module) {
  return RoleAnalysis(module).Run();
}

}  // namespace meshwright
