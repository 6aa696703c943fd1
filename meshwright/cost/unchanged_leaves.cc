#include "meshwright/cost/unchanged_leaves.h"

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>

namespace meshwright {
namespace {

constexpr int32_t kMade = -1;  // By the body.

}  // namespace

const std::vector<bool>& UnchangedLeaves::Of(const Instruction& loop) {
  const Computation* body = loop.called[0];
  if (const auto known = by_body_.find(body); known != by_body_.end()) {
    return known->second;
  }
  std::vector<bool> unchanged = Find(*body);
  return by_body_[body] = std::move(unchanged);
}

std::vector<bool> UnchangedLeaves::Find(const Computation& body) {
  // By instruction and leaf: the leaf of the parameter that it is.
  std::vector<std::vector<int32_t>> sources(body.size());
  for (const auto& instruction : body.instructions()) {
    std::vector<int32_t>& own = sources[instruction->id];
    own.assign(Leaves(instruction->shape).size(), kMade);
    const auto of_operand = [&](size_t i) -> const std::vector<int32_t>& {
      return sources[instruction->operands[i]->id];
    };
    switch (instruction->opcode) {
      case Opcode::kParameter:
        std::iota(own.begin(), own.end(), 0);
        break;
      case Opcode::kTuple: {
        size_t next = 0;
        for (size_t i = 0; i < instruction->operands.size(); ++i) {
          for (const int32_t source : of_operand(i)) own[next++] = source;
        }
        break;
      }
      case Opcode::kGetTupleElement: {
        const std::vector<Shape>& parts =
            instruction->operand_shape(0).tuple_shapes;
        size_t first = 0;
        for (int64_t i = 0; i < instruction->attributes->tuple_index; ++i) {
          first += Leaves(parts[i]).size();
        }
        for (size_t i = 0; i < own.size(); ++i) {
          own[i] = of_operand(0)[first + i];
        }
        break;
      }
      case Opcode::kWhile: {
        const std::vector<bool>& inner = Of(*instruction);
        for (size_t i = 0; i < own.size(); ++i) {
          if (inner[i]) own[i] = of_operand(0)[i];
        }
        break;
      }
      default:
        break;
    }
  }
  const std::vector<int32_t>& result = sources[body.root()->id];
  std::vector<bool> unchanged;
  for (size_t i = 0; i < result.size(); ++i) {
    unchanged.push_back(result[i] == static_cast<int32_t>(i));
  }
  return unchanged;
}

}  // namespace meshwright
