#include "meshwright/cost/kernels.h"

#include <algorithm>

namespace meshwright {
namespace {

// Compilers stop fusing when kernels grow; so do we.
constexpr int32_t kMaxInputs = 32;
constexpr int32_t kMaxFused = 128;

bool MovesOnlyOnes(const Instruction& transpose) {
  int64_t last = -1;
  for (const int64_t dimension : transpose.attributes->dimensions) {
    if (transpose.operand_shape(0).dimensions[dimension] == 1) continue;
    if (dimension < last) return false;
    last = dimension;
  }
  return true;
}

bool IsConstantLike(const Instruction& instruction) {
  const Instruction* at = &instruction;
  while ((at->opcode == Opcode::kBroadcast || at->opcode == Opcode::kReshape ||
          at->opcode == Opcode::kConvert) &&
         !at->operands.empty()) {
    at = at->operands[0];
  }
  return at->opcode == Opcode::kConstant;
}

int64_t TrueRank(const Shape& shape) {
  return std::count_if(shape.dimensions.begin(), shape.dimensions.end(),
                       [](int64_t size) { return size > 1; });
}

// Computing it again reads no more than reading it would.
bool CheapToRepeat(const Instruction& instruction) {
  int large = 0;
  int64_t bytes = 0;
  for (const Instruction* operand : instruction.operands) {
    if (IsConstantLike(*operand)) continue;
    bytes += ByteSize(operand->shape);
    large += TrueRank(operand->shape) >= TrueRank(instruction.shape);
  }
  return large <= 1 || bytes <= ByteSize(instruction.shape);
}

// Puts elements elsewhere, or makes them from their place.
bool IsMovement(Opcode opcode) {
  switch (opcode) {
    case Opcode::kBroadcast:
    case Opcode::kConcatenate:
    case Opcode::kDynamicSlice:
    case Opcode::kDynamicUpdateSlice:
    case Opcode::kGather:
    case Opcode::kIota:
    case Opcode::kPad:
    case Opcode::kReverse:
    case Opcode::kSlice:
    case Opcode::kTranspose:
      return true;
    default:
      return false;
  }
}

bool KeepsPlaces(const Instruction& instruction) {
  return !IsMovement(instruction.opcode);
}

// Whether loops over the elements no longer run along memory: compilers then
// compute an index for each element.
bool Reorders(const Instruction& instruction) {
  switch (instruction.opcode) {
    case Opcode::kConcatenate:
    case Opcode::kGather:
    case Opcode::kPad:
    case Opcode::kReverse:
    case Opcode::kScatter:
    case Opcode::kTranspose:
      return !IsFree(instruction);
    case Opcode::kReshape:
      return TrueRank(instruction.shape) !=
             TrueRank(instruction.operand_shape(0));
    default:
      return false;
  }
}

bool Repeats(const Instruction& user) {
  return user.opcode == Opcode::kBroadcast || user.opcode == Opcode::kGather ||
         user.opcode == Opcode::kPad;
}

// Whether an array with dimensions in the order of `wanted` is another one in
// memory.
bool Differs(const Shape& shape, const std::vector<int64_t>& wanted) {
  int64_t last = -1;
  for (const int64_t dimension : wanted) {
    if (shape.dimensions[dimension] == 1) continue;
    if (dimension < last) return true;
    last = dimension;
  }
  return false;
}

// Bytes of operands and result that are not as the kernel wants them: batch or
// outer positions first, channels last.
int64_t TransposedBytes(const Instruction& convolution) {
  const auto& numbers = convolution.attributes->convolution;
  if (!numbers || convolution.operands.size() != 2) return 0;
  const auto order = [](std::vector<int64_t> first,
                        const std::vector<int64_t>& spatial,
                        std::vector<int64_t> last) {
    first.insert(first.end(), spatial.begin(), spatial.end());
    first.insert(first.end(), last.begin(), last.end());
    return first;
  };
  int64_t bytes = 0;
  const auto add = [&](const Shape& shape, const std::vector<int64_t>& wanted) {
    if (Differs(shape, wanted)) bytes += ByteSize(shape);
  };
  add(convolution.operand_shape(0),
      order({numbers->input_batch}, numbers->input_spatial,
            {numbers->input_feature}));
  add(convolution.operand_shape(1),
      order({}, numbers->kernel_spatial,
            {numbers->kernel_input_feature, numbers->kernel_output_feature}));
  add(convolution.shape, order({numbers->output_batch}, numbers->output_spatial,
                               {numbers->output_feature}));
  return bytes;
}

class Fuser {
 public:
  Fuser(const Computation& computation, const ModuleWork& work,
        const FusionStyle& style)
      : computation_(computation),
        work_(work),
        style_(style),
        users_(Users(computation)),
        facts_(computation.size()),
        seen_(computation.size(), -1) {}

  std::vector<Kernel> Run() {
    Decide();
    LimitSizes();
    std::vector<Kernel> kernels;
    for (const auto& instruction : computation_.instructions()) {
      if (IsFree(*instruction)) continue;
      const Facts& facts = facts_[instruction->id];
      if (IsFusible(*instruction) && !facts.stored) continue;
      kernels.push_back(Gather(*instruction));
    }
    return kernels;
  }

 private:
  struct Facts {
    bool needed = false;  // Something that cannot fuse needs it whole.
    bool stored = false;  // It is a kernel's root.
    bool shared = false;  // Those that could compute it again read it instead.
    int32_t inputs = 0;   // At most, of a fused one.
    int32_t fused = 0;
  };

  // Whether `user` takes its operands whole.
  bool NeedsWhole(const Instruction& user) const {
    if (user.opcode == Opcode::kTuple || user.opcode == Opcode::kOptBarrier) {
      return true;
    }
    if (IsFree(user)) return facts_[user.id].needed;
    if (user.opcode == Opcode::kReduce) return !style_.reduce_reads_fused;
    return !IsFusible(user);
  }

  void Decide() {
    const auto& instructions = computation_.instructions();
    for (size_t i = instructions.size(); i-- > 0;) {
      const Instruction& instruction = *instructions[i];
      Facts& facts = facts_[instruction.id];
      facts.needed = &instruction == computation_.root();
      int fusing = 0;
      bool repeated = false;
      for (const Instruction* user : users_[instruction.id]) {
        if (NeedsWhole(*user)) {
          facts.needed = true;
        } else {
          ++fusing;
          repeated = repeated || RepeatsThrough(*user);
        }
      }
      if (!IsFusible(instruction)) continue;
      const bool expensive = IsExpensive(instruction);
      const bool once = expensive && (fusing > 1 || repeated);
      facts.stored = facts.needed || once;
      facts.shared =
          once || (facts.needed && (expensive || !CheapToRepeat(instruction)));
    }
  }

  // Through reshapes.
  bool RepeatsThrough(const Instruction& user) const {
    if (Repeats(user)) return true;
    if (!IsFree(user)) return false;
    return std::any_of(users_[user.id].begin(), users_[user.id].end(),
                       [](const Instruction* next) { return Repeats(*next); });
  }

  bool IsInput(const Instruction& instruction) const {
    switch (instruction.opcode) {
      case Opcode::kParameter:
      case Opcode::kConstant:
      case Opcode::kGetTupleElement:
      case Opcode::kOptBarrier:
        return true;
      default:
        break;
    }
    if (IsFree(instruction)) return false;
    return !IsFusible(instruction) || facts_[instruction.id].shared;
  }

  void LimitSizes() {
    for (const auto& instruction : computation_.instructions()) {
      Facts& facts = facts_[instruction->id];
      if (IsInput(*instruction)) {
        facts.inputs = 1;
        continue;
      }
      for (const Instruction* operand : instruction->operands) {
        const Facts& from = facts_[operand->id];
        facts.inputs += from.shared ? 1 : from.inputs;
        facts.fused += from.shared ? 0 : from.fused;
      }
      if (IsFusible(*instruction)) ++facts.fused;
      if (IsFusible(*instruction) &&
          (facts.inputs > kMaxInputs || facts.fused > kMaxFused)) {
        facts.stored = facts.shared = true;
      }
    }
  }

  // How many bytes of `operand` its user touches.
  static double Touched(const Instruction& user, const Instruction& operand) {
    switch (user.opcode) {
      case Opcode::kSlice:
      case Opcode::kDynamicSlice:
        return static_cast<double>(ByteSize(user.shape));
      case Opcode::kGather:
        if (user.operands[0] != &operand) break;
        return static_cast<double>(ByteSize(user.shape));
      case Opcode::kDynamicUpdateSlice:
        if (user.operands[0] == &operand) return 0;
        break;
      default:
        break;
    }
    return static_cast<double>(ByteSize(operand.shape));
  }

  Kernel Gather(const Instruction& root) {
    Kernel kernel{.root = &root, .strided = Reorders(root)};
    const Work own = work_.Of(root);
    const bool opens = IsFusible(root) || root.opcode == Opcode::kReduce;
    if (!opens) {
      // Control flow is priced by its body, elsewhere.
      if (root.called.empty() || root.opcode == Opcode::kFusion ||
          root.opcode == Opcode::kScatter || root.opcode == Opcode::kSort ||
          root.opcode == Opcode::kMap || root.opcode == Opcode::kReduceWindow ||
          root.opcode == Opcode::kSelectAndScatter) {
        kernel.work = own;
      }
      if (root.opcode == Opcode::kConvolution &&
          style_.transposes_for_convolution) {
        kernel.scratch_bytes = TransposedBytes(root);
      }
      for (size_t i = 0; i < root.operands.size(); ++i) {
        AddInput(root, static_cast<int32_t>(i), kernel);
      }
      return kernel;
    }
    stamp_ = root.id;
    kernel.work = own;
    kernel.work.bytes =
        root.opcode == Opcode::kDynamicUpdateSlice
            ? static_cast<double>(ByteSize(root.operands[1]->shape))
            : static_cast<double>(ByteSize(root.shape));
    Walk(root, KeepsPlaces(root), kernel);
    return kernel;
  }

  // An input of something that takes it whole: the value behind reshapes.
  void AddInput(const Instruction& root, int32_t index, Kernel& kernel) {
    const Instruction* operand = root.operands[index];
    for (const Instruction* input : kernel.inputs) {
      if (input == operand) return;
    }
    kernel.inputs.push_back(operand);
    kernel.reads.push_back({&root, index});
  }

  void Walk(const Instruction& user, bool elementwise, Kernel& kernel) {
    for (size_t i = 0; i < user.operands.size(); ++i) {
      const Instruction* operand = user.operands[i];
      const bool whole =
          user.opcode == Opcode::kReduce && !style_.reduce_reads_fused;
      if (whole || IsInput(*operand)) {
        Read(user, static_cast<int32_t>(i), elementwise, kernel);
        continue;
      }
      if (seen_[operand->id] == stamp_) continue;
      seen_[operand->id] = stamp_;
      kernel.strided = kernel.strided || Reorders(*operand);
      if (!IsFree(*operand)) {
        kernel.fused.push_back(operand);
        const Work work = work_.Of(*operand);
        kernel.work.flops += work.flops;
        kernel.work.transcendentals += work.transcendentals;
      }
      Walk(*operand, elementwise && KeepsPlaces(*operand), kernel);
    }
  }

  // Counts a first reading.
  void Read(const Instruction& user, int32_t index, bool elementwise,
            Kernel& kernel) {
    const Instruction& operand = *user.operands[index];
    const bool first = seen_[operand.id] != stamp_;
    seen_[operand.id] = stamp_;
    if (!first) return;
    const bool update = user.opcode == Opcode::kDynamicUpdateSlice &&
                        user.operands[0] == &operand && &user == kernel.root;
    const double size = static_cast<double>(ByteSize(operand.shape));
    if ((elementwise || update) &&
        ByteSize(operand.shape) == ByteSize(kernel.root->shape)) {
      kernel.in_place.push_back(static_cast<int32_t>(kernel.inputs.size()));
    }
    kernel.inputs.push_back(&operand);
    const double touched =
        operand.opcode == Opcode::kConstant ? 0 : Touched(user, operand);
    kernel.work.bytes += touched;
    kernel.reads.push_back({&user, index, size > 0 ? touched / size : 0});
  }

  const Computation& computation_;
  const ModuleWork& work_;
  const FusionStyle style_;
  const std::vector<std::vector<Instruction*>> users_;
  std::vector<Facts> facts_;
  std::vector<int32_t> seen_;  // The root whose kernel last met it.
  int32_t stamp_ = -1;
};

}  // namespace

FusionStyle FusionStyleFor(bool cpu) {
  return {.reduce_reads_fused = !cpu,
          .transposes_for_convolution = cpu,
          .all_reduce_in_place = !cpu};
}

bool IsFree(const Instruction& instruction) {
  switch (instruction.opcode) {
    case Opcode::kParameter:
    case Opcode::kConstant:
    case Opcode::kTuple:
    case Opcode::kGetTupleElement:
    case Opcode::kBitcast:
    case Opcode::kReshape:
    case Opcode::kAfterAll:
    case Opcode::kOptBarrier:
    case Opcode::kDomain:
    case Opcode::kAddDependency:
      return true;
    case Opcode::kTranspose:
      return MovesOnlyOnes(instruction);
    case Opcode::kBroadcast:
      return !instruction.operands.empty() &&
             ElementCount(instruction.shape) ==
                 ElementCount(instruction.operand_shape(0)) &&
             instruction.operands[0]->opcode != Opcode::kConstant;
    default:
      return false;
  }
}

bool IsFusible(const Instruction& instruction) {
  if (IsFree(instruction) || !instruction.shape.IsArray()) return false;
  switch (instruction.opcode) {
    case Opcode::kCopy:
    case Opcode::kBitcastConvert:
    case Opcode::kMap:
    case Opcode::kPartitionId:
    case Opcode::kReplicaId:
      return true;
    default:
      return IsMovement(instruction.opcode) ||
             IsElementwise(instruction.opcode) || IsExpensive(instruction);
  }
}

bool IsExpensive(const Instruction& instruction) {
  switch (instruction.opcode) {
    case Opcode::kDivide:
    case Opcode::kRemainder:
      return !IsConstantLike(*instruction.operands[1]);
    case Opcode::kAtan2:
    case Opcode::kAcos:
    case Opcode::kAcosh:
    case Opcode::kAsin:
    case Opcode::kAsinh:
    case Opcode::kAtanh:
    case Opcode::kCbrt:
    case Opcode::kCosh:
    case Opcode::kCosine:
    case Opcode::kErf:
    case Opcode::kExponential:
    case Opcode::kExponentialMinusOne:
    case Opcode::kLog:
    case Opcode::kLogPlusOne:
    case Opcode::kLogistic:
    case Opcode::kPower:
    case Opcode::kRsqrt:
    case Opcode::kSine:
    case Opcode::kSinh:
    case Opcode::kSqrt:
    case Opcode::kTan:
    case Opcode::kTanh:
      return instruction.shape.IsArray();
    default:
      return false;
  }
}

std::vector<Kernel> KernelsOf(const Computation& computation,
                              const ModuleWork& work,
                              const FusionStyle& style) {
  return Fuser(computation, work, style).Run();
}

}  // namespace meshwright
