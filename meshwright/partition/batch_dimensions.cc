#include "meshwright/partition/batch_dimensions.h"

#include <algorithm>
#include <map>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/partition/time_split.h"

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

// What the step says of the batch's dimension.
const std::string* Recorded(const FlatGraph& graph, OpId parameter) {
  return Find(graph.ops[parameter].instruction->frontend_attributes,
              kBatchAttribute);
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

// How much of a step's work is split along with the parameters given: the
// points that its ops compute. With a batch nearly all is; with weights that
// come as data just what they are multiplied with.
double SplitWork(const FlatGraph& graph, int64_t parts,
                 const std::vector<std::optional<int64_t>>& cuts) {
  const TimeSplit split =
      SplitOverTime(graph, parts, cuts, /*estimates=*/false);
  double work = 0;
  for (size_t id = 0; id < graph.ops.size(); ++id) {
    const auto& axes = split.assignment.strategies[id].factor_axes;
    if (!graph.ops[id].live || graph.ops[id].kind != OpKind::kCompute ||
        std::ranges::all_of(axes, [](const auto& of) { return of.empty(); })) {
      continue;
    }
    double points = graph.ops[id].repeats;
    for (const Factor& factor : split.assignment.rules[id].factors) {
      points *= static_cast<double>(factor.size);
    }
    work += points;
  }
  return work;
}

int64_t SmallestDivisor(int64_t size) {
  for (int64_t divisor = 2; divisor * divisor <= size; ++divisor) {
    if (size % divisor == 0) return divisor;
  }
  return size;
}

// The size of the batch, of those that dimension 0 of `open` leaves has; 0 if
// there are none.
int64_t BatchOf(const FlatGraph& graph, const std::vector<bool>& open) {
  std::map<int64_t, int64_t> bytes;  // By size of dimension 0.
  const auto shape_of = [&](size_t leaf) -> const Shape& {
    return *graph.values[graph.ops[graph.parameters[leaf]].first_result].shape;
  };
  for (size_t i = 0; i < open.size(); ++i) {
    if (open[i]) bytes[shape_of(i).dimensions[0]] += ByteSize(shape_of(i));
  }
  int64_t batch = 0;
  double most = -1;
  for (const auto& [size, total] : bytes) {
    double work = 0;
    if (bytes.size() > 1 && size > 1) {
      std::vector<std::optional<int64_t>> cuts(open.size());
      for (size_t i = 0; i < open.size(); ++i) {
        if (open[i] && shape_of(i).dimensions[0] == size) cuts[i] = 0;
      }
      work = SplitWork(graph, SmallestDivisor(size), cuts);
    }
    if (work > most || (work == most && total > bytes[batch])) {
      batch = size;
      most = work;
    }
  }
  return batch;
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
  std::vector<bool> open(found.size());
  const bool is_recorded = std::ranges::any_of(graph.parameters, [&](OpId op) {
    return Recorded(graph, op) != nullptr;
  });
  for (size_t i = 0; i < found.size(); ++i) {
    const FlatOp& op = graph.ops[graph.parameters[i]];
    const Shape& shape = *graph.values[op.first_result].shape;
    if (i < options.batch_dims.size() && options.batch_dims[i].has_value()) {
      if (*options.batch_dims[i] == kNoBatch) continue;
      found[i] = options.batch_dims[i];
      MW_RETURN_IF_ERROR(CheckDimension(op, shape, *found[i], options.count));
      continue;
    }
    if (const std::string* recorded = Recorded(graph, graph.parameters[i]);
        recorded != nullptr) {
      int64_t dimension = -1;
      if (!absl::SimpleAtoi(*recorded, &dimension)) {
        return absl::InvalidArgumentError(absl::StrCat(
            "parameter ", NameOf(op), ": mw.batch is no number: ", *recorded));
      }
      found[i] = dimension;
      MW_RETURN_IF_ERROR(CheckDimension(op, shape, dimension, options.count));
    }
    open[i] = !is_recorded && data[i] && shape.IsArray() && shape.rank() > 0;
  }
  const int64_t batch = BatchOf(graph, open);
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
