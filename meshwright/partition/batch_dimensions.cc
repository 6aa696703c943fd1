#include "meshwright/partition/batch_dimensions.h"

#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"

namespace meshwright {
namespace {

const std::string* Find(const FrontendAttributes& attributes,
                        const char* name) {
  const auto found = attributes.find(name);
  return found == attributes.end() ? nullptr : &found->second;
}

std::string NameOf(const FlatOp& op) {
  const std::string* name =
      Find(op.instruction->frontend_attributes, "mw.name");
  return name == nullptr ? op.instruction->name : *name;
}

// By leaf: whether it is given anew every step.
std::vector<bool> DataLeaves(const Module& module, const FlatGraph& graph) {
  bool any_role = false;
  for (const Instruction* parameter : module.entry()->Parameters()) {
    any_role =
        any_role || Find(parameter->frontend_attributes, "mw.role") != nullptr;
  }
  std::vector<bool> data;
  for (const OpId op : graph.parameters) {
    const std::string* role =
        Find(graph.ops[op].instruction->frontend_attributes, "mw.role");
    data.push_back(!any_role || (role != nullptr && *role == "data"));
  }
  if (any_role) return data;
  const ParameterLeaves leaves(module);
  for (const Alias& alias : module.aliases) {
    data[leaves.Of(alias.parameter_number, alias.parameter_index)] = false;
  }
  return data;
}

absl::Status CheckDimension(const FlatOp& op, const Shape& shape,
                            int64_t dimension, int64_t count) {
  if (dimension < 0 || dimension >= shape.rank()) {
    return absl::InvalidArgumentError(
        absl::StrCat("parameter ", NameOf(op), " ", shape.ToString(),
                     " has no dimension ", dimension));
  }
  if (shape.dimensions[dimension] % count != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "parameter ", NameOf(op), " ", shape.ToString(), ": dimension ",
        dimension, " does not divide into ", count, " micro-batches"));
  }
  return absl::OkStatus();
}

}  // namespace

ParameterLeaves::ParameterLeaves(const Module& module) {
  size_t next = 0;
  for (const Instruction* parameter : module.entry()->Parameters()) {
    shapes_.push_back(&parameter->shape);
    first_.push_back(next);
    next += Leaves(parameter->shape).size();
  }
}

size_t ParameterLeaves::Of(int64_t parameter,
                           const std::vector<int64_t>& index) const {
  size_t leaf = first_[parameter];
  const Shape* at = shapes_[parameter];
  for (const int64_t step : index) {
    for (int64_t i = 0; i < step; ++i) {
      leaf += Leaves(at->tuple_shapes[i]).size();
    }
    at = &at->tuple_shapes[step];
  }
  return leaf;
}

absl::StatusOr<std::vector<std::optional<int64_t>>> BatchDimensions(
    const Module& module, const FlatGraph& graph,
    const MicroBatchOptions& options) {
  if (options.batch_dims.size() > graph.parameters.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        options.batch_dims.size(), " batch dimensions are given for ",
        graph.parameters.size(), " parameters"));
  }
  std::vector<std::optional<int64_t>> found(graph.parameters.size());
  const std::vector<bool> data = DataLeaves(module, graph);
  std::map<int64_t, int64_t> bytes;  // By size of dimension 0.
  std::vector<bool> open(found.size());
  for (size_t i = 0; i < found.size(); ++i) {
    const FlatOp& op = graph.ops[graph.parameters[i]];
    const Shape& shape = *graph.values[op.first_result].shape;
    if (i < options.batch_dims.size() && options.batch_dims[i].has_value()) {
      if (*options.batch_dims[i] == kNoBatch) continue;
      found[i] = options.batch_dims[i];
      MW_RETURN_IF_ERROR(CheckDimension(op, shape, *found[i], options.count));
      continue;
    }
    open[i] = data[i] && shape.IsArray() && shape.rank() > 0;
    if (open[i]) bytes[shape.dimensions[0]] += ByteSize(shape);
  }
  int64_t batch = 0;
  for (const auto& [size, total] : bytes) {
    if (batch == 0 || total > bytes[batch]) batch = size;
  }
  bool any = false;
  for (size_t i = 0; i < found.size(); ++i) {
    const FlatOp& op = graph.ops[graph.parameters[i]];
    const Shape& shape = *graph.values[op.first_result].shape;
    if (open[i] && shape.dimensions[0] == batch) {
      found[i] = 0;
      MW_RETURN_IF_ERROR(CheckDimension(op, shape, 0, options.count));
    }
    any = any || found[i].has_value();
  }
  if (!any) {
    return absl::InvalidArgumentError(
        "no parameter holds a batch to cut into micro-batches");
  }
  return found;
}

}  // namespace meshwright
