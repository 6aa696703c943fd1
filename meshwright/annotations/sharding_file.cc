#include "meshwright/annotations/sharding_file.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "meshwright/annotations/name_pattern.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/bad.h"
#include "meshwright/base/json_fault.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/mesh/sharding_text.h"
#include "nlohmann/json.hpp"

namespace meshwright {
namespace {

// Preserves the order of keys, that is of axes and of patterns.
using Json = nlohmann::ordered_json;

constexpr size_t kNamesShown = 3;

struct NamedArray {
  std::string name;
  std::vector<int64_t> dimensions;
};

absl::StatusOr<Mesh> ParseMesh(const Json& json) {
  if (json.is_string()) return Mesh::Parse(json.get<std::string>());
  if (!json.is_object()) {
    return Bad("\"mesh\" must be an object such as {\"data\": 4}");
  }
  std::vector<MeshAxis> axes;
  for (const auto& [name, size] : json.items()) {
    if (!size.is_number_integer()) {
      return Bad("the size of mesh axis \"", name, "\" must be an integer");
    }
    axes.push_back({name, size.get<int64_t>()});
  }
  return Mesh::Create(std::move(axes));
}

absl::StatusOr<Mesh> ChooseMesh(const Json& file,
                                const std::optional<Mesh>& given) {
  const auto found = file.find("mesh");
  if (found == file.end()) {
    if (given.has_value()) return *given;
    return Bad("no mesh; add for instance \"mesh\": {\"data\": 4}");
  }
  MW_ASSIGN_OR_RETURN(Mesh mesh, ParseMesh(*found));
  if (given.has_value() && !(mesh == *given)) {
    return Bad("is for the mesh ", mesh.ToString(), ", not ",
               given->ToString());
  }
  return mesh;
}

}  // namespace

std::vector<bool> TakeFree(std::string& text, size_t rank) {
  std::vector<bool> free(rank, false);
  size_t dim = 0;
  int depth = 0;
  for (char& c : text) {
    if (c == '(') ++depth;
    if (c == ')') --depth;
    if (c == ',' && depth == 0) ++dim;
    if (c == '?' && dim < rank) {
      free[dim] = true;
      c = '-';
    }
  }
  return free;
}

namespace {

// A string, a list of strings, or null.
absl::StatusOr<AxisList> ParseDimAxes(const Json& json, const Mesh& mesh) {
  AxisList axes;
  if (json.is_null()) return axes;
  const Json list = json.is_array() ? json : Json::array({json});
  for (const Json& piece : list) {
    if (!piece.is_string()) {
      return Bad("expected an axis or a list of axes, got ", json.dump());
    }
    MW_ASSIGN_OR_RETURN(const AxisList next,
                        ParseAxes(piece.get<std::string>(), mesh));
    if (!Disjoint(axes, next)) {
      return Bad("mesh axis ", AxesToString(next, mesh), " is used twice");
    }
    axes.Append(next);
  }
  return axes;
}

absl::StatusOr<Annotation> ParseList(const Json& json, const NamedArray& tensor,
                                     const Mesh& mesh) {
  if (json.size() != tensor.dimensions.size()) {
    return Bad("the sharding has ", json.size(), " dimensions, the tensor has ",
               tensor.dimensions.size());
  }
  Annotation result = {Sharding::Replicated(tensor.dimensions),
                       std::vector<bool>(json.size(), false)};
  for (size_t i = 0; i < json.size(); ++i) {
    if (json[i] == "?") {
      result.free[i] = true;
      continue;
    }
    MW_ASSIGN_OR_RETURN(result.sharding.dims[i][0].axes,
                        ParseDimAxes(json[i], mesh));
  }
  return result;
}

absl::StatusOr<Annotation> ParseAnnotation(const Json& json,
                                           const NamedArray& tensor,
                                           const Mesh& mesh) {
  if (json.is_array()) return ParseList(json, tensor, mesh);
  if (!json.is_string()) {
    return Bad("expected a sharding such as \"[data, -]\", got ", json.dump());
  }
  std::string text = json.get<std::string>();
  std::vector<bool> free = TakeFree(text, tensor.dimensions.size());
  MW_ASSIGN_OR_RETURN(Sharding sharding,
                      ParseSharding(text, tensor.dimensions, mesh));
  return Annotation{std::move(sharding), std::move(free)};
}

// The entry of a section that applies to a tensor; null if there is none.
const Json* FindEntry(const Json& section, const std::string& name) {
  if (const auto exact = section.find(name); exact != section.end()) {
    return &*exact;
  }
  for (auto it = section.begin(); it != section.end(); ++it) {
    if (IsPattern(it.key()) && Matches(it.key(), name)) return &it.value();
  }
  return nullptr;
}

// Checks that every key matches a tensor.
absl::Status CheckKeys(const Json& section, absl::string_view what,
                       const std::vector<NamedArray>& tensors) {
  std::vector<std::string> names;
  for (const NamedArray& tensor : tensors) names.push_back(tensor.name);
  for (const auto& [key, value] : section.items()) {
    const bool matches =
        std::any_of(names.begin(), names.end(), [&](const std::string& name) {
          return key == name || (IsPattern(key) && Matches(key, name));
        });
    if (matches) continue;
    const std::vector<std::string> nearest =
        NearestNames(key, names, kNamesShown);
    return Bad("no ", what, " is called \"", key, "\"",
               nearest.empty() ? "" : "; near it are ",
               absl::StrJoin(nearest, ", "));
  }
  return absl::OkStatus();
}

class Reader {
 public:
  Reader(const Json& file, const Mesh& mesh, bool allow_uneven)
      : file_(file), mesh_(mesh), allow_uneven_(allow_uneven) {}

  // The annotations of a section, by tensor.
  absl::StatusOr<std::vector<std::optional<Annotation>>> ReadSection(
      const char* key, absl::string_view what, bool may_pend,
      const std::vector<NamedArray>& tensors) const {
    std::vector<std::optional<Annotation>> result(tensors.size());
    const auto section = file_.find(key);
    if (section == file_.end()) return result;
    if (!section->is_object()) return Bad("\"", key, "\" must be an object");
    MW_RETURN_IF_ERROR(CheckKeys(*section, what, tensors));
    for (size_t i = 0; i < tensors.size(); ++i) {
      const Json* entry = FindEntry(*section, tensors[i].name);
      if (entry == nullptr || entry->is_null()) continue;
      absl::StatusOr<Annotation> annotation =
          ParseAnnotation(*entry, tensors[i], mesh_);
      absl::Status status = annotation.status();
      if (status.ok()) status = Check(*annotation, tensors[i], may_pend);
      if (!status.ok()) {
        return Annotate(status, absl::StrCat(what, " ", tensors[i].name));
      }
      const std::vector<bool>& free = annotation->free;
      const bool all_free = !free.empty() && std::find(free.begin(), free.end(),
                                                       false) == free.end();
      if (!all_free) result[i] = *std::move(annotation);
    }
    return result;
  }

 private:
  absl::Status Check(const Annotation& annotation, const NamedArray& tensor,
                     bool may_pend) const {
    if (annotation.sharding.IsPending() && !may_pend) {
      return Bad("must not have a pending reduction");
    }
    return CheckSharding(annotation.sharding, tensor.dimensions, mesh_,
                         allow_uneven_);
  }

  const Json& file_;
  const Mesh& mesh_;
  bool allow_uneven_;
};

std::vector<NamedArray> ListTensors(const std::vector<std::string>& names,
                                    const std::vector<const Shape*>& leaves) {
  std::vector<NamedArray> tensors;
  for (size_t i = 0; i < leaves.size(); ++i) {
    tensors.push_back(
        {i < names.size() ? names[i] : absl::StrCat(i), leaves[i]->dimensions});
  }
  return tensors;
}

std::vector<const Shape*> ParameterLeaves(const Module& module) {
  std::vector<const Shape*> leaves;
  for (const Instruction* parameter : module.entry()->Parameters()) {
    for (const Shape* leaf : Leaves(parameter->shape)) leaves.push_back(leaf);
  }
  return leaves;
}

std::vector<const Instruction*> ArrayInstructions(const Module& module) {
  std::vector<const Instruction*> result;
  for (const auto& computation : module.computations()) {
    for (const auto& instruction : computation->instructions()) {
      if (instruction->shape.IsArray()) result.push_back(instruction.get());
    }
  }
  return result;
}

absl::Status CheckSections(const Json& file) {
  if (!file.is_object()) return Bad("is not a JSON object");
  for (const auto& [key, value] : file.items()) {
    if (key != "mesh" && key != "parameters" && key != "outputs" &&
        key != "instructions") {
      return Bad("unknown key \"", key,
                 "\"; there are mesh, parameters, outputs and instructions");
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ShardingFile> ParseShardingFile(
    absl::string_view text, const Module& module, const TensorNames& names,
    const ShardingFileOptions& options) {
  const Json file = Json::parse(text.begin(), text.end(), nullptr,
                                /*allow_exceptions=*/false);
  if (file.is_discarded()) return Bad(NotJson(text));
  MW_RETURN_IF_ERROR(CheckSections(file));
  MW_ASSIGN_OR_RETURN(Mesh mesh, ChooseMesh(file, options.mesh));
  const Reader reader(file, mesh, options.allow_uneven);
  Annotations annotations;
  MW_ASSIGN_OR_RETURN(
      annotations.parameters,
      reader.ReadSection(
          "parameters", "parameter", /*may_pend=*/false,
          ListTensors(names.parameters, ParameterLeaves(module))));
  MW_ASSIGN_OR_RETURN(
      annotations.outputs,
      reader.ReadSection(
          "outputs", "output", /*may_pend=*/false,
          ListTensors(names.outputs, Leaves(module.entry()->root()->shape))));
  const std::vector<const Instruction*> instructions =
      ArrayInstructions(module);
  std::vector<NamedArray> tensors;
  for (const Instruction* instruction : instructions) {
    tensors.push_back({instruction->name, instruction->shape.dimensions});
  }
  MW_ASSIGN_OR_RETURN(auto found,
                      reader.ReadSection("instructions", "instruction",
                                         /*may_pend=*/true, tensors));
  for (size_t i = 0; i < found.size(); ++i) {
    if (found[i].has_value()) {
      annotations.instructions.emplace(instructions[i], *std::move(found[i]));
    }
  }
  return ShardingFile{std::move(mesh), std::move(annotations)};
}

}  // namespace meshwright
