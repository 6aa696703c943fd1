#include "meshwright/microbatch/batch_dimensions.h"

#include <algorithm>
#include <map>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "meshwright/annotations/recorded_names.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/hlo/opcode_traits.h"
#include "meshwright/microbatch/time_split.h"
#include "meshwright/partition/candidates.h"

namespace meshwright {
namespace {

const std::string* Find(const FrontendAttributes& attributes,
                        const char* name) {
  const auto found = attributes.find(name);
  return found == attributes.end() ? nullptr : &found->second;
}

// The recorded batch dimension, or null.
const std::string* Recorded(const FlatGraph& graph, OpId parameter) {
  return Find(graph.ops[parameter].instruction->frontend_attributes,
              kBatchAttribute);
}

// By leaf: whether it is new in every step.
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

using BatchDims = std::vector<std::optional<int64_t>>;

// If less than this part of the work stays unsplit, no other dimension is
// tried; and the part that another dimension must split in addition.
constexpr double kLittle = 0.001;
// The part of all work that it must split.
constexpr double kMost = 0.5;

// Contractions and what leads to them; not the optimizer update, which might
// follow any dimension of the data.
std::vector<bool> CountedOps(const FlatGraph& graph, const SharedRules& rules) {
  std::vector<bool> counted(graph.ops.size(), false);
  std::vector<OpId> stack;
  for (size_t id = 0; id < graph.ops.size(); ++id) {
    const Rule& rule = rules[id];
    for (size_t i = 0; graph.ops[id].live && i < rule.factors.size(); ++i) {
      if (!IsContracted(rule, static_cast<int32_t>(i))) continue;
      stack.push_back(static_cast<OpId>(id));
      break;
    }
  }
  while (!stack.empty()) {
    const OpId id = stack.back();
    stack.pop_back();
    if (counted[id]) continue;
    counted[id] = true;
    for (const ValueId operand : graph.ops[id].operands) {
      stack.push_back(graph.values[operand].producer);
    }
  }
  return counted;
}

// The size of an op's work: multiply-adds, or elements of its largest tensor.
double PointsOf(const FlatGraph& graph, const FlatOp& op, const Rule& rule) {
  const Opcode opcode = op.instruction->opcode;
  double points = 1;
  if (IsContraction(opcode)) {
    for (int32_t i = 0; i < std::ssize(rule.factors); ++i) {
      // A row is multiplied with one group's matrix.
      if (opcode == Opcode::kRaggedDot && !Has(rule.operands[0], i) &&
          !(Has(rule.operands[1], i) && Has(rule.results[0], i))) {
        continue;
      }
      points *= static_cast<double>(rule.factors[i].size);
    }
    return op.repeats * points;
  }
  const auto count = [&](ValueId value) {
    points = std::max(
        points, static_cast<double>(ElementCount(*graph.values[value].shape)));
  };
  for (const ValueId operand : op.operands) count(operand);
  for (int32_t i = 0; i < op.result_count; ++i) count(op.first_result + i);
  return op.repeats * points;
}

// How much of a step's work is split together with the given parameters, in
// multiply-adds or elements. With the batch that is nearly everything; with
// weights that come as data, only what they are multiplied with.
struct Work {
  double split = 0;
  double soon = 0;  // Of that, the part that does not wait for the whole batch.
  double all = 0;
};

// The ops that need something from all parts.
std::vector<bool> LateOps(const FlatGraph& graph, const TimeSplit& split) {
  std::vector<bool> late(graph.ops.size(), false);
  // Repeated because of loops' back edges.
  for (bool changes = true; changes;) {
    changes = false;
    for (OpId id{0}; id < static_cast<OpId>(graph.ops.size()); ++id) {
      const FlatOp& op = graph.ops[id];
      for (size_t i = 0; op.live && !late[id] && i < op.operands.size(); ++i) {
        if (split.Completes(graph, id, i) ||
            late[graph.values[op.operands[i]].producer]) {
          late[id] = true;
          changes = true;
        }
      }
    }
  }
  return late;
}

Work WorkOf(const FlatGraph& graph, int64_t parts, const BatchDims& dims) {
  const TimeSplit split =
      SplitOverTime(graph, parts, dims, /*estimates=*/false);
  const std::vector<bool> counted = CountedOps(graph, split.assignment.rules);
  const std::vector<bool> late = LateOps(graph, split);
  Work work;
  for (size_t id = 0; id < graph.ops.size(); ++id) {
    if (!counted[id] || graph.ops[id].kind != OpKind::kCompute) continue;
    const double points =
        PointsOf(graph, graph.ops[id], split.assignment.rules[id]);
    work.all += points;
    const auto& axes = split.assignment.strategies[id].factor_axes;
    if (!std::ranges::all_of(axes, [](const auto& of) { return of.empty(); })) {
      work.split += points;
      if (!late[id]) work.soon += points;
    }
  }
  return work;
}

int64_t SmallestDivisor(int64_t size) {
  for (int64_t divisor = 2; divisor * divisor <= size; ++divisor) {
    if (size % divisor == 0) return divisor;
  }
  return size;
}

// Finds the batch dimension of the leaves that are `open`, which are arrays
// with dimensions.
class BatchSearch {
 public:
  BatchSearch(const FlatGraph& graph, const std::vector<bool>& open)
      : graph_(graph), open_(open) {}

  // By leaf: its batch dimension. Data is mostly batch-major; if that leaves
  // much of the work unsplit, the batch may be dimension 1 (time-major, or
  // views of each example, whose number differs where the batch does not). The
  // chosen dimension must also split more work that does not wait for the whole
  // batch: what weights share (their hidden size) splits much, too, but sums
  // over it are needed early.
  BatchDims Find() const {
    const std::map<int64_t, int64_t> firsts = SizesOf(0);
    const std::map<int64_t, int64_t> seconds = SizesOf(1);
    const bool has_choice = firsts.size() > 1 || !seconds.empty();
    BatchDims best(open_.size());
    Work most{.split = -1};
    int64_t most_bytes = 0;
    for (const auto& [size, bytes] : firsts) {
      const BatchDims dims = DimsOf(size, {0});
      Work work;
      if (has_choice && size > 1) {
        work = WorkOf(graph_, SmallestDivisor(size), dims);
      }
      if (work.split > most.split ||
          (work.split == most.split && bytes > most_bytes)) {
        best = dims;
        most = work;
        most_bytes = bytes;
      }
    }
    if (most.all - most.split <= kLittle * most.all) return best;
    if (firsts.size() > 1 && most.split <= kLittle * most.all) {
      for (const auto& [size, bytes] : seconds) {
        if (AreViewsOf(size)) return DimsOf(size, {1, 0});
      }
    }
    double enough = (1 + kLittle) * most.soon;
    for (const auto& [size, bytes] : seconds) {
      const BatchDims dims = DimsOf(size, {1, 0});
      const Work work = WorkOf(graph_, SmallestDivisor(size), dims);
      if (work.soon <= enough || work.split < kMost * work.all) continue;
      best = dims;
      enough = work.soon;
    }
    return best;
  }

 private:
  const std::vector<int64_t>& DimensionsOf(size_t leaf) const {
    return ShapeOf(leaf).dimensions;
  }
  const Shape& ShapeOf(size_t leaf) const {
    return *graph_.values[graph_.ops[graph_.parameters[leaf]].first_result]
                .shape;
  }

  // Whether all data are several views of so many examples, [2, B, ...] and
  // [4, B, ...], or something of each, [B].
  bool AreViewsOf(int64_t examples) const {
    for (size_t i = 0; i < open_.size(); ++i) {
      if (!open_[i]) continue;
      const std::vector<int64_t>& dimensions = DimensionsOf(i);
      if (dimensions[dimensions.size() > 1 ? 1 : 0] != examples) return false;
    }
    return true;
  }

  // By size of this dimension: the bytes of the leaves.
  std::map<int64_t, int64_t> SizesOf(size_t dimension) const {
    std::map<int64_t, int64_t> sizes;
    for (size_t i = 0; i < open_.size(); ++i) {
      if (!open_[i] || DimensionsOf(i).size() <= dimension) continue;
      const int64_t size = DimensionsOf(i)[dimension];
      if (dimension == 0 || size > 1) sizes[size] += ByteSize(ShapeOf(i));
    }
    return sizes;
  }

  // By leaf: the first of the dimensions with this size.
  BatchDims DimsOf(int64_t size, const std::vector<size_t>& dimensions) const {
    BatchDims dims(open_.size());
    for (size_t i = 0; i < open_.size(); ++i) {
      if (!open_[i]) continue;
      for (const size_t dimension : dimensions) {
        if (dimension < DimensionsOf(i).size() &&
            DimensionsOf(i)[dimension] == size && !dims[i].has_value()) {
          dims[i] = static_cast<int64_t>(dimension);
        }
      }
    }
    return dims;
  }

  const FlatGraph& graph_;
  const std::vector<bool>& open_;
};

absl::Status CheckDimension(const FlatOp& op, const Shape& shape,
                            int64_t dimension, int64_t count) {
  if (dimension < 0 || dimension >= shape.rank()) {
    return absl::InvalidArgumentError(
        absl::StrCat("parameter ", RecordedName(*op.instruction), " ",
                     shape.ToString(), " has no dimension ", dimension));
  }
  if (shape.dimensions[dimension] % count != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("parameter ", RecordedName(*op.instruction), " ",
                     shape.ToString(), ": dimension ", dimension,
                     " does not divide into ", count, " micro-batches"));
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
  BatchDims found(graph.parameters.size());
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
        return absl::InvalidArgumentError(
            absl::StrCat("parameter ", RecordedName(*op.instruction),
                         ": mw.batch is no number: ", *recorded));
      }
      found[i] = dimension;
      MW_RETURN_IF_ERROR(CheckDimension(op, shape, dimension, options.count));
    }
    open[i] = !is_recorded && data[i] && shape.IsArray() && shape.rank() > 0;
  }
  const BatchDims guessed = BatchSearch(graph, open).Find();
  bool any = false;
  for (size_t i = 0; i < found.size(); ++i) {
    if (open[i] && guessed[i].has_value()) {
      const FlatOp& op = graph.ops[graph.parameters[i]];
      found[i] = guessed[i];
      MW_RETURN_IF_ERROR(CheckDimension(
          op, *graph.values[op.first_result].shape, *found[i], options.count));
    }
    any = any || found[i].has_value();
  }
  if (!any) {
    return absl::InvalidArgumentError(
        "no parameter holds a batch that could be divided");
  }
  return found;
}

}  // namespace meshwright
