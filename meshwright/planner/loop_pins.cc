#include "meshwright/planner/loop_pins.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace meshwright {
namespace {

// "dot.17" for "dot.17.2"; the name itself if it does not end in a number.
absl::string_view WithoutNumber(absl::string_view name) {
  const size_t dot = name.rfind('.');
  if (dot == absl::string_view::npos || dot + 1 == name.size()) return name;
  const absl::string_view number = name.substr(dot + 1);
  return std::all_of(number.begin(), number.end(), absl::ascii_isdigit)
             ? name.substr(0, dot)
             : name;
}

// The names of instructions that this one may be a copy of: "dot.17.again.2" of
// "dot.17". Copies have numbers appended: within a part, within the loop, and
// among several rematerialised copies.
constexpr int kNumbers = 3;
std::vector<absl::string_view> NamesOf(absl::string_view name) {
  std::vector<absl::string_view> names = {name};
  int numbers = 0;
  while (true) {
    const absl::string_view shorter = WithoutNumber(name);
    if (shorter == name) {
      if (!absl::ConsumeSuffix(&name, ".again")) break;
    } else {
      if (++numbers > kNumbers) break;
      name = shorter;
    }
    names.push_back(name);
  }
  return names;
}

// The same sharding for a micro-batch's part; nullopt if the shape is not such
// a part.
std::optional<Annotation> OfPart(const Annotation& pin, const Shape& part,
                                 int64_t micro_batches) {
  Annotation result = pin;
  if (part.rank() != std::ssize(pin.sharding.dims)) return std::nullopt;
  for (size_t i = 0; i < result.sharding.dims.size(); ++i) {
    DimSharding& dim = result.sharding.dims[i];
    const int64_t whole = GlobalSize(dim);
    if (part.dimensions[i] == whole) continue;
    if (part.dimensions[i] * micro_batches != whole || dim.size() != 1) {
      return std::nullopt;
    }
    dim[0].size = part.dimensions[i];
  }
  return result;
}

}  // namespace

Annotations PinsInLoop(const Annotations& pins, const Module& looped,
                       int64_t micro_batches) {
  Annotations result = pins;
  result.instructions.clear();
  result.sharding_groups.clear();
  absl::flat_hash_map<absl::string_view, const Instruction*> by_name;
  for (const auto& [instruction, pin] : pins.instructions) {
    by_name.emplace(instruction->name, instruction);
  }
  if (by_name.empty()) return result;
  const auto offer = [&](absl::string_view name, const Instruction& to) {
    const auto found = by_name.find(name);
    if (found == by_name.end()) return;
    const Instruction& from = *found->second;
    if (from.opcode != to.opcode ||
        from.metadata.op_name != to.metadata.op_name) {
      return;
    }
    std::optional<Annotation> pin =
        OfPart(pins.instructions.at(&from), to.shape, micro_batches);
    if (pin.has_value()) result.instructions.try_emplace(&to, *std::move(pin));
  };
  for (const auto& computation : looped.computations()) {
    for (const auto& instruction : computation->instructions()) {
      if (!instruction->shape.IsArray()) continue;
      for (const absl::string_view name : NamesOf(instruction->name)) {
        offer(name, *instruction);
      }
    }
  }
  return result;
}

}  // namespace meshwright
