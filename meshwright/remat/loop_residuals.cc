#include "meshwright/remat/loop_residuals.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/hlo/trip_count.h"
#include "meshwright/remat/loop_tuple.h"

namespace meshwright {
namespace {

using Kind = LoopElement::Kind;

class Finder {
 public:
  Finder(const Computation& around, Instruction& loop)
      : around_(around), loop_(loop), users_(Users(around)) {}

  LoopResiduals Run(std::string& why) {
    LoopResiduals found;
    if (!IsReadByLoop()) return found;
    const std::optional<CountedLoop> counted = Analysis(loop_);
    if (!counted.has_value()) {
      why = WhyNotCounted(loop_);
      return found;
    }
    found.counted = *counted;
    for (size_t e = 0; e < counted->elements.size(); ++e) AddResidual(e, found);
    if (!found.HasReaders()) why = why_;
    return found;
  }

 private:
  // A loop whose tuple can be changed, and what it does with it.
  const std::optional<CountedLoop>& Analysis(const Instruction& loop) {
    const auto [known, is_new] = analyses_.try_emplace(loop.id);
    if (is_new && CanChange(loop)) known->second = AnalyzeLoop(loop);
    return known->second;
  }

  bool CanChange(const Instruction& loop) const {
    const auto is_plain = [](const Instruction& tuple) {
      return !tuple.sharding.has_value();
    };
    const Instruction& start = *loop.operands[0];
    const Computation& condition = *loop.called[1];
    const Instruction& tested = *condition.Parameters()[0];
    return &loop != around_.root() && start.opcode == Opcode::kTuple &&
           is_plain(loop) && is_plain(start) && is_plain(tested) &&
           is_plain(*loop.called[0]->root()) &&
           is_plain(*loop.called[0]->Parameters()[0]) &&
           IsTakenApart(loop, users_) &&
           IsTakenApart(tested, Users(condition)) &&
           condition.root() != &tested;
  }

  static bool IsTakenApart(
      const Instruction& tuple,
      const std::vector<std::vector<Instruction*>>& users) {
    return std::ranges::all_of(users[tuple.id], [&](const Instruction* user) {
      return IsElementOf(*user, &tuple);
    });
  }

  std::string WhyNotCounted(const Instruction& loop) const {
    const std::optional<int64_t> count = TripCount(loop);
    if (!count.has_value()) {
      return absl::StrCat("it is not known how often loop '", loop.name,
                          "' runs");
    }
    if (*count < 2) return absl::StrCat("loop '", loop.name, "' runs once");
    return absl::StrCat("what loop '", loop.name,
                        "' carries is no plain tuple of arrays");
  }

  // Whether another loop reads what this one writes slot by slot.
  bool IsReadByLoop() const {
    const Instruction& root = *loop_.called[0]->root();
    if (root.opcode != Opcode::kTuple) return false;
    for (const Instruction* element : users_[loop_.id]) {
      if (element->opcode != Opcode::kGetTupleElement) continue;
      const Instruction& next =
          *root.operands[element->attributes->tuple_index];
      if (next.opcode == Opcode::kDynamicUpdateSlice &&
          std::ranges::any_of(users_[element->id],
                              [&](const Instruction* user) {
                                return LoopOf(*user) != nullptr;
                              })) {
        return true;
      }
    }
    return false;
  }

  // The loop whose only operand is this tuple, or null.
  Instruction* LoopOf(const Instruction& start) const {
    const std::vector<Instruction*>& users = users_[start.id];
    if (start.opcode != Opcode::kTuple || users.size() != 1 ||
        &start == around_.root() || users[0]->opcode != Opcode::kWhile) {
      return nullptr;
    }
    return users[0];
  }

  void AddResidual(size_t e, LoopResiduals& found) {
    const LoopElement& element = found.counted.elements[e];
    if (element.kind != Kind::kStacked || !element.is_written ||
        !WalksLike(element, found)) {
      return;
    }
    Residual residual;
    residual.element = static_cast<int64_t>(e);
    residual.write = loop_.called[0]->root()->operands[e];
    residual.dimension = element.dimension;
    residual.is_only_read_back = !IsUsed(*loop_.called[1], residual.element);
    for (const Instruction* after : users_[loop_.id]) {
      if (after->attributes->tuple_index != residual.element) continue;
      if (after == around_.root()) residual.is_only_read_back = false;
      for (const Instruction* user : users_[after->id]) {
        AddReaders(*after, *user, element, residual);
      }
    }
    found.residuals.push_back(std::move(residual));
  }

  // The first one determines the order.
  static bool WalksLike(const LoopElement& element, LoopResiduals& found) {
    if (element.width != 1 ||
        element.SlotsOf(0, found.counted.count).begin != 0) {
      return false;
    }
    if (found.residuals.empty()) {
      found.first = element.first;
      found.step = element.step;
    }
    return element.first == found.first && element.step == found.step;
  }

  // Whether a condition uses an element.
  static bool IsUsed(const Computation& condition, int64_t element) {
    const Instruction& all = *condition.Parameters()[0];
    const auto users = Users(condition);
    return std::ranges::any_of(users[all.id], [&](const Instruction* read) {
      return read->attributes->tuple_index == element &&
             (!users[read->id].empty() || read == condition.root());
    });
  }

  void AddReaders(const Instruction& after, const Instruction& user,
                  const LoopElement& written, Residual& residual) {
    Instruction* const reader = LoopOf(user);
    if (reader == nullptr) {
      residual.is_only_read_back = false;
      return;
    }
    const std::optional<CountedLoop>& analysis = Analysis(*reader);
    for (size_t b = 0; b < user.operands.size(); ++b) {
      if (user.operands[b] != &after) continue;
      if (analysis.has_value() && IsReverseScan(*analysis, b, written) &&
          !IsUsedAfter(*reader, b)) {
        residual.readers.push_back({reader, static_cast<int64_t>(b)});
        continue;
      }
      residual.is_only_read_back = false;
      why_ = analysis.has_value()
                 ? absl::StrCat("loop '", reader->name,
                                "' is no reverse scan over what loop '",
                                loop_.name, "' saves")
                 : WhyNotCounted(*reader);
    }
  }

  bool IsReverseScan(const CountedLoop& reader, size_t b,
                     const LoopElement& written) {
    const LoopElement& read = reader.elements[b];
    const int64_t count = Analysis(loop_)->count;
    return reader.count == count && read.kind == Kind::kStacked &&
           !read.is_written && read.dimension == written.dimension &&
           read.width == written.width && read.step == -written.step &&
           read.first == written.first + (count - 1) * written.step;
  }

  bool IsUsedAfter(const Instruction& reader, size_t b) const {
    return std::ranges::any_of(
               users_[reader.id],
               [&](const Instruction* after) {
                 return after->attributes->tuple_index ==
                            static_cast<int64_t>(b) &&
                        (!users_[after->id].empty() || after == around_.root());
               }) ||
           IsUsed(*reader.called[1], static_cast<int64_t>(b));
  }

  const Computation& around_;
  Instruction& loop_;
  const std::vector<std::vector<Instruction*>> users_;
  std::map<int32_t, std::optional<CountedLoop>> analyses_;
  std::string why_;
};

}  // namespace

bool LoopResiduals::HasReaders() const {
  return std::ranges::any_of(residuals, [](const Residual& residual) {
    return !residual.readers.empty() && residual.is_only_read_back;
  });
}

LoopResiduals FindResiduals(const Computation& around, Instruction& loop,
                            std::string& why) {
  return Finder(around, loop).Run(why);
}

std::vector<Instruction*> ReadsOf(const Residual::Reader& reader) {
  const Computation& body = *reader.loop->called[0];
  const Instruction* const all = body.Parameters()[0];
  std::vector<Instruction*> reads;
  for (const auto& instruction : body.instructions()) {
    if (instruction->opcode != Opcode::kDynamicSlice) continue;
    const Instruction& array = *instruction->operands[0];
    if (IsElementOf(array, all) &&
        array.attributes->tuple_index == reader.element) {
      reads.push_back(instruction.get());
    }
  }
  return reads;
}

}  // namespace meshwright
