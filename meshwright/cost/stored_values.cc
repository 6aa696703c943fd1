#include "meshwright/cost/stored_values.h"

#include <algorithm>

#include "meshwright/cost/fusible.h"
#include "meshwright/hlo/opcode_traits.h"

namespace meshwright {
namespace {

// Compilers stop fusing when kernels grow large; so do we.
constexpr size_t kMaxReads = 32;
constexpr int32_t kMaxChain = 128;
// More kernels than this make no difference.
constexpr size_t kMaxKernels = 8;

// The rows over which a kernel with this value iterates.
struct Rows {
  int64_t count = 0;
  int64_t length = 0;  // 0: any.

  bool operator==(const Rows&) const = default;
};

// What a kernel that computes a value reads.
struct Source {
  const Instruction* value = nullptr;
  double bytes = 0;
};

// A kernel that may compute a value.
struct Place {
  int32_t root = 0;
  bool widened = false;  // After a broadcast.
};

struct Value {
  bool fuses = false;   // Computed as part of kernels.
  bool needed = false;  // An instruction that cannot fuse needs it in memory.
  bool stored = false;
  bool shared = false;
  int32_t chain = 0;       // Length of a chain of fused instructions.
  int32_t reductions = 0;  // Row reductions, one after the other.
  Rows rows;
  std::vector<Place> places;
  std::vector<Source> sources;
};

bool IsLeaf(const Instruction& instruction) {
  return IsGiven(instruction) ||
         (instruction.operands.empty() && IsFree(instruction));
}

// The value of which this is a reshape.
const Instruction& Behind(const Instruction& instruction) {
  const Instruction* at = &instruction;
  while (IsFree(*at) && !IsLeaf(*at)) at = at->operands[0];
  return *at;
}

// Whether every row gets its own element: all dimensions of the operand come
// first.
bool WidensRows(const Instruction& broadcast) {
  const auto& places = broadcast.attributes->dimensions;
  int64_t next = 0;
  for (const int64_t place : places) {
    for (; next < place; ++next) {
      if (broadcast.shape.dimensions[next] != 1) return false;
    }
    next = place + 1;
  }
  return true;
}

// Whether `user` iterates over the same rows as its operand.
bool KeepsRows(const Instruction& user, const Instruction& operand,
               const Rows& rows) {
  const int64_t elements = ElementCount(operand.shape);
  if (IsFree(user)) return true;
  if (user.opcode == Opcode::kReduce && ElementCount(user.shape) < elements) {
    return IsRowReduction(user) && ElementCount(user.shape) == rows.count &&
           elements == rows.count * rows.length;
  }
  if (user.opcode == Opcode::kBroadcast) {
    return elements == rows.count && WidensRows(user) &&
           ElementCount(user.shape) == rows.count * rows.length;
  }
  return !IsMovement(user.opcode) && elements == ElementCount(user.shape);
}

// Whether the instruction is approximated by a polynomial. Functions for which
// accelerators have units, such as exponentials, cost less than storing their
// result.
bool IsPolynomial(const Instruction& instruction) {
  return IsExpensive(instruction) && !HasShortCode(instruction.opcode);
}

class Chooser {
 public:
  Chooser(const Computation& computation,
          const std::vector<std::vector<Instruction*>>& users)
      : computation_(computation), users_(users), values_(computation.size()) {}

  std::vector<StoredValue> Run() {
    const auto& instructions = computation_.instructions();
    for (size_t i = instructions.size(); i-- > 0;) FindPlaces(*instructions[i]);
    for (const auto& instruction : instructions) Visit(*instruction);
    std::vector<StoredValue> stored(values_.size());
    for (size_t i = 0; i < values_.size(); ++i) {
      stored[i] = {values_[i].stored, values_[i].shared};
    }
    return stored;
  }

 private:
  // Whether `user` needs its operands complete in memory.
  bool NeedsWhole(const Instruction& user) const {
    if (user.opcode == Opcode::kTuple || user.opcode == Opcode::kOptBarrier) {
      return true;
    }
    if (IsFree(user)) return values_[user.id].needed;
    return user.opcode != Opcode::kReduce && !values_[user.id].fuses;
  }

  // Finds the kernels that would compute the value if nothing were stored
  // without need.
  void FindPlaces(const Instruction& instruction) {
    Value& value = values_[instruction.id];
    value.fuses = IsFusible(instruction) || IsRowReduction(instruction);
    value.needed = &instruction == computation_.root();
    const auto add = [&](Place place) {
      for (Place& known : value.places) {
        if (known.root != place.root) continue;
        known.widened = known.widened || place.widened;
        return;
      }
      if (value.places.size() < kMaxKernels) value.places.push_back(place);
    };
    for (const Instruction* user : users_[instruction.id]) {
      if (NeedsWhole(*user)) {
        value.needed = true;
        continue;
      }
      const bool widens = user->opcode == Opcode::kBroadcast && !IsFree(*user);
      if (IsFree(*user) ||
          (values_[user->id].fuses && !values_[user->id].needed)) {
        for (const Place& place : values_[user->id].places) {
          const bool kept = place.widened && user->opcode != Opcode::kReduce;
          add({place.root, widens || kept});
        }
      } else {
        add({user->id, widens});
      }
    }
  }

  bool IsRead(const Instruction& behind) const {
    return !values_[behind.id].fuses || values_[behind.id].shared;
  }

  void Visit(const Instruction& instruction) {
    const bool fuses = values_[instruction.id].fuses;
    if (!fuses && instruction.opcode != Opcode::kReduce) return;
    FitRows(instruction);
    if (!fuses) return;
    AddSources(instruction);
    Decide(instruction);
  }

  // A kernel iterates over rows of one kind; values with other rows are stored.
  void FitRows(const Instruction& instruction) {
    Value& value = values_[instruction.id];
    for (const Instruction* operand : instruction.operands) {
      const Instruction& behind = Behind(*operand);
      if (IsRead(behind)) continue;
      Value& from = values_[behind.id];
      if (from.rows.length == 0) continue;
      if (!KeepsRows(instruction, *operand, from.rows) ||
          (value.rows.length > 0 && value.rows != from.rows)) {
        from.stored = from.shared = true;
        continue;
      }
      value.rows = from.rows;
      value.reductions = std::max(value.reductions, from.reductions);
    }
    if (instruction.opcode != Opcode::kReduce) return;
    const int64_t count = ElementCount(instruction.shape);
    const int64_t elements = ElementCount(instruction.operand_shape(0));
    if (elements == count || !IsRowReduction(instruction)) return;
    value.rows = {count, elements / count};
    ++value.reductions;
  }

  void AddSources(const Instruction& instruction) {
    Value& value = values_[instruction.id];
    const auto add = [&](const Instruction& source, double bytes) {
      if (source.opcode == Opcode::kConstant || bytes == 0) return;
      const double all = static_cast<double>(ByteSize(source.shape));
      for (Source& known : value.sources) {
        if (known.value != &source) continue;
        known.bytes = std::min(all, known.bytes + bytes);
        return;
      }
      value.sources.push_back({&source, bytes});
    };
    value.chain = 1;
    for (const Instruction* operand : instruction.operands) {
      const Instruction& behind = Behind(*operand);
      const double touched = TouchedBytes(instruction, *operand);
      if (IsRead(behind)) {
        add(behind, touched);
        continue;
      }
      const Value& from = values_[behind.id];
      const double all = static_cast<double>(ByteSize(operand->shape));
      const double share = touched > 0 && all > 0 ? touched / all : 1;
      for (const Source& source : from.sources) {
        add(*source.value, std::min(1.0, share) * source.bytes);
      }
      value.chain = std::max(value.chain, from.chain + 1);
    }
  }

  void Decide(const Instruction& instruction) {
    Value& value = values_[instruction.id];
    value.stored = value.needed;
    double read = 0;
    for (const Source& source : value.sources) read += source.bytes;
    const double bytes = static_cast<double>(ByteSize(instruction.shape));
    // In a kernel that holds rows, arithmetic costs less than memory traffic.
    const bool expensive = IsPolynomial(instruction) && value.reductions == 0;
    if (value.sources.size() > kMaxReads || value.chain > kMaxChain) {
      value.shared = true;
    } else if (value.needed) {
      value.shared = expensive || read > bytes;
    } else if (value.places.size() > 1) {
      value.shared = PaysOnce(instruction, expensive, read, bytes);
    }
    value.stored = value.stored || value.shared;
  }

  // Whether it is cheaper that several kernels read the value than that each
  // computes it.
  bool PaysOnce(const Instruction& instruction, bool expensive, double read,
                double bytes) const {
    const Value& value = values_[instruction.id];
    const auto narrow =
        std::count_if(value.places.begin(), value.places.end(),
                      [](const Place& place) { return !place.widened; });
    if (expensive && narrow > 1) return true;
    // Consecutive row reductions take more than one pass over the row.
    if (IsRowReduction(instruction) && value.reductions > 1) return true;
    if (value.rows.length > 0 &&
        ElementCount(instruction.shape) == value.rows.count) {
      // Kernels that use it for each element of a row read the row anyway.
      return narrow > 0;
    }
    const double kernels = static_cast<double>(value.places.size());
    return kernels * read > read + (kernels + 1) * bytes;
  }

  const Computation& computation_;
  const std::vector<std::vector<Instruction*>>& users_;
  std::vector<Value> values_;
};

}  // namespace

std::vector<StoredValue> ChooseStored(
    const Computation& computation,
    const std::vector<std::vector<Instruction*>>& users) {
  return Chooser(computation, users).Run();
}

}  // namespace meshwright
