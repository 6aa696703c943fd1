#include "meshwright/hlo/trip_count.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "meshwright/hlo/computation.h"
#include "meshwright/hlo/opcode_traits.h"
#include "nlohmann/json.hpp"

namespace meshwright {
namespace {

constexpr int kMaxDepth = 200;
constexpr int kMaxSteps = 5000;

// carried[element] + offset, or just the offset when there is no element.
struct Affine {
  std::optional<int64_t> element;
  int64_t offset = 0;
};

// An instruction within a chain of calls: `call` is the call whose callee
// contains the instruction, `caller` the frame of that call.
struct Frame {
  const Instruction* call = nullptr;
  const Frame* caller = nullptr;
};

struct Located {
  const Instruction* instruction = nullptr;
  const Frame* frame = nullptr;
};

// Reads scalar integers of one computation as Affine values of its parameter.
class Reader {
 public:
  // Parameters of the outermost computation are opaque unless it is a loop's
  // condition or body, where parameter 0 is the loop-carried value.
  explicit Reader(bool in_loop) : in_loop_(in_loop) {}

  // Element `element` of a tuple, or the value itself if it is no tuple.
  std::optional<Affine> ElementOf(const Instruction& value, int64_t element) {
    if (!value.shape.IsTuple()) {
      if (element != 0) return std::nullopt;
      return Read({&value, nullptr}, 0);
    }
    return ReadElement({&value, nullptr}, element, 0);
  }

  std::optional<Affine> Read(Located at, int depth) {
    if (!Step(depth)) return std::nullopt;
    const Instruction& instruction = *at.instruction;
    switch (instruction.opcode) {
      case Opcode::kConstant:
        return ReadConstant(instruction);
      case Opcode::kParameter:
        return ReadParameter(at, depth);
      case Opcode::kGetTupleElement:
        return ReadElement({instruction.operands[0], at.frame},
                           instruction.attributes->tuple_index, depth + 1);
      case Opcode::kCall:
        return InCallee(at,
                        [&](Located root) { return Read(root, depth + 1); });
      case Opcode::kAdd:
      case Opcode::kSubtract:
        return ReadSum(at, depth);
      default:
        if (!IsTransparent(instruction)) return std::nullopt;
        return Read({instruction.operands[0], at.frame}, depth + 1);
    }
  }

  // One side of the compare at the root of a condition, in its frame.
  std::optional<Affine> Side(Located compare, int operand) {
    return Read({compare.instruction->operands[operand], compare.frame}, 0);
  }

  Located FindCompare(Located at) {
    for (int depth = 0; depth < kMaxDepth; ++depth) {
      const Instruction& instruction = *at.instruction;
      if (instruction.opcode == Opcode::kCompare) return at;
      if (instruction.opcode == Opcode::kCall && instruction.called[0]) {
        at = {instruction.called[0]->root(), Enter(at)};
      } else if (IsTransparent(instruction)) {
        at = {instruction.operands[0], at.frame};
      } else {
        break;
      }
    }
    return {};
  }

 private:
  // Ops on one element that return their operand.
  static bool IsTransparent(const Instruction& instruction) {
    const Opcode opcode = instruction.opcode;
    return (KeepsElements(opcode) || opcode == Opcode::kBroadcast ||
            IsBarrier(opcode)) &&
           instruction.operands.size() == 1 &&
           instruction.operand_shape(0).IsArray() &&
           !IsFloating(instruction.operand_shape(0).element_type);
  }

  bool Step(int depth) { return depth < kMaxDepth && ++steps_ < kMaxSteps; }

  const Frame* Enter(Located call) {
    frames_.push_back(
        std::make_unique<Frame>(Frame{call.instruction, call.frame}));
    return frames_.back().get();
  }

  template <typename Function>
  std::optional<Affine> InCallee(Located call, Function function) {
    return function(Located{call.instruction->called[0]->root(), Enter(call)});
  }

  static std::optional<Affine> ReadConstant(const Instruction& constant) {
    const Literal* literal = constant.attributes->literal.get();
    if (literal == nullptr || literal->data.empty()) return std::nullopt;
    if (!IsInteger(constant.shape.element_type)) return std::nullopt;
    if (ElementCount(constant.shape) != 1) return std::nullopt;
    return Affine{std::nullopt, literal->ElementAsInteger(0)};
  }

  std::optional<Affine> ReadParameter(Located at, int depth) {
    const int64_t number = at.instruction->attributes->parameter_number;
    if (at.frame == nullptr) {
      // The loop-carried value itself, if it is no tuple.
      if (!in_loop_ || number != 0) return std::nullopt;
      return Affine{0, 0};
    }
    if (number < 0 || number >= std::ssize(at.frame->call->operands)) {
      return std::nullopt;
    }
    return Read({at.frame->call->operands[number], at.frame->caller},
                depth + 1);
  }

  std::optional<Affine> ReadElement(Located at, int64_t element, int depth) {
    if (!Step(depth)) return std::nullopt;
    const Instruction& tuple = *at.instruction;
    switch (tuple.opcode) {
      case Opcode::kTuple:
        if (element < 0 || element >= std::ssize(tuple.operands)) {
          return std::nullopt;
        }
        return Read({tuple.operands[element], at.frame}, depth + 1);
      case Opcode::kParameter:
        if (at.frame == nullptr) {
          if (!in_loop_ || tuple.attributes->parameter_number != 0) {
            return std::nullopt;
          }
          return Affine{element, 0};
        }
        return ReadElementOfArgument(at, element, depth);
      case Opcode::kCall:
        return InCallee(at, [&](Located root) {
          return ReadElement(root, element, depth + 1);
        });
      case Opcode::kCopy:
      case Opcode::kOptBarrier:
        if (tuple.operands.size() != 1) return std::nullopt;
        return ReadElement({tuple.operands[0], at.frame}, element, depth + 1);
      default:
        return std::nullopt;
    }
  }

  std::optional<Affine> ReadElementOfArgument(Located at, int64_t element,
                                              int depth) {
    const int64_t number = at.instruction->attributes->parameter_number;
    if (number < 0 || number >= std::ssize(at.frame->call->operands)) {
      return std::nullopt;
    }
    return ReadElement({at.frame->call->operands[number], at.frame->caller},
                       element, depth + 1);
  }

  std::optional<Affine> ReadSum(Located at, int depth) {
    const Instruction& sum = *at.instruction;
    const std::optional<Affine> a =
        Read({sum.operands[0], at.frame}, depth + 1);
    if (!a) return std::nullopt;
    const std::optional<Affine> b =
        Read({sum.operands[1], at.frame}, depth + 1);
    if (!b) return std::nullopt;
    Affine result;
    if (sum.opcode == Opcode::kSubtract) {
      if (b->element ||
          __builtin_sub_overflow(a->offset, b->offset, &result.offset)) {
        return std::nullopt;
      }
      result.element = a->element;
      return result;
    }
    if ((a->element && b->element) ||
        __builtin_add_overflow(a->offset, b->offset, &result.offset)) {
      return std::nullopt;
    }
    result.element = a->element ? a->element : b->element;
    return result;
  }

  const bool in_loop_;
  int steps_ = 0;
  std::vector<std::unique_ptr<Frame>> frames_;
};

std::optional<int64_t> RecordedTripCount(const std::string& backend_config) {
  if (backend_config.find("known_trip_count") == std::string::npos) {
    return std::nullopt;
  }
  const nlohmann::json config = nlohmann::json::parse(
      backend_config, nullptr, /*allow_exceptions=*/false);
  if (!config.is_object()) return std::nullopt;
  const auto known = config.find("known_trip_count");
  if (known == config.end() || !known->is_object()) return std::nullopt;
  const auto n = known->find("n");
  if (n == known->end()) return std::nullopt;
  int64_t count = -1;
  if (n->is_number_integer()) count = n->get<int64_t>();
  if (n->is_string() && !absl::SimpleAtoi(n->get<std::string>(), &count)) {
    return std::nullopt;
  }
  if (count < 0) return std::nullopt;
  return count;
}

std::string Mirrored(const std::string& direction) {
  if (direction == "LT") return "GT";
  if (direction == "LE") return "GE";
  if (direction == "GT") return "LT";
  if (direction == "GE") return "LE";
  return direction;
}

using Wide = __int128;

// Iterations of: for (i = init; i `direction` limit; i += step).
std::optional<Wide> Iterations(const std::string& direction, Wide init,
                               Wide limit, Wide step) {
  if (direction == "GT" || direction == "GE") {
    return Iterations(Mirrored(direction), -init, -limit, -step);
  }
  if (direction == "LE") return Iterations("LT", init, limit + 1, step);
  if (direction == "LT") {
    if (init >= limit) return 0;
    if (step <= 0) return std::nullopt;
    return (limit - init + step - 1) / step;
  }
  if (direction == "NE") {
    if (init == limit) return 0;
    if (step == 0 || (limit - init) % step != 0) return std::nullopt;
    const Wide count = (limit - init) / step;
    if (count < 0) return std::nullopt;
    return count;
  }
  return std::nullopt;
}

// Whether `value` fits into an integer of this type; otherwise it would wrap.
bool FitsWide(ElementType type, Wide value) {
  const int64_t bits = BitWidth(type);
  if (IsUnsignedInteger(type)) return value >= 0 && value < (Wide{1} << bits);
  const Wide half = Wide{1} << (bits - 1);
  return value >= -half && value < half;
}

// The initial value of a loop-carried element, and what each iteration adds.
struct Progress {
  int64_t init = 0;
  int64_t step = 0;
};

std::optional<Progress> ProgressOf(const Instruction& loop, int64_t element) {
  const std::optional<Affine> init =
      Reader(/*in_loop=*/false).ElementOf(*loop.operands[0], element);
  if (!init || init->element) return std::nullopt;
  const std::optional<Affine> next =
      Reader(/*in_loop=*/true).ElementOf(*loop.called[0]->root(), element);
  if (!next || next->element != element) return std::nullopt;
  return Progress{init->offset, next->offset};
}

std::optional<int64_t> TripCountByPattern(const Instruction& loop) {
  Reader reader(/*in_loop=*/true);
  const Located compare = reader.FindCompare({loop.called[1]->root(), nullptr});
  if (compare.instruction == nullptr) return std::nullopt;
  std::optional<Affine> lhs = reader.Side(compare, 0);
  std::optional<Affine> rhs = reader.Side(compare, 1);
  if (!lhs || !rhs) return std::nullopt;
  std::string direction = compare.instruction->attributes->comparison_direction;

  // A side that the loop does not change is a constant.
  Progress moving;
  for (std::optional<Affine>* side : {&lhs, &rhs}) {
    if (!(*side)->element) continue;
    const std::optional<Progress> progress =
        ProgressOf(loop, *(*side)->element);
    if (!progress) return std::nullopt;
    if (progress->step == 0) {
      if (__builtin_add_overflow((*side)->offset, progress->init,
                                 &(*side)->offset)) {
        return std::nullopt;
      }
      (*side)->element.reset();
    } else {
      moving = *progress;
    }
  }
  if (lhs->element && rhs->element) return std::nullopt;
  if (rhs->element) {
    std::swap(lhs, rhs);
    direction = Mirrored(direction);
  }
  const Wide init = Wide{lhs->offset} + moving.init;
  const std::optional<Wide> count =
      Iterations(direction, init, rhs->offset, moving.step);
  const ElementType type = compare.instruction->operand_shape(0).element_type;
  if (!count || !IsInteger(type) ||
      !FitsWide(type, init + *count * moving.step) ||
      !FitsWide(ElementType::kS64, *count)) {
    return std::nullopt;
  }
  return static_cast<int64_t>(*count);
}

}  // namespace

std::optional<int64_t> TripCount(const Instruction& loop) {
  if (std::optional<int64_t> recorded =
          RecordedTripCount(loop.attributes->backend_config)) {
    return recorded;
  }
  if (loop.called.size() != 2 || loop.operands.size() != 1) return std::nullopt;
  return TripCountByPattern(loop);
}

}  // namespace meshwright
