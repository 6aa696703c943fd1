#include "meshwright/remat/loop_kept.h"

#include "meshwright/remat/rematerializable.h"
#include "meshwright/solve/min_cut.h"

namespace meshwright {
namespace {

using Kind = LoopElement::Kind;

// A min cut of the body between what an iteration starts from and what the
// reverse scan reads. Searched backward, from the readers, so that of equal
// cuts the one nearest to them is found.
class Chooser {
 public:
  Chooser(const Instruction& loop, const LoopResiduals& residuals, bool light,
          const ModuleWork& work)
      : body_(*loop.called[0]),
        residuals_(residuals),
        light_(light),
        work_(work),
        stays_(body_.size(), false),
        before_(body_.size(), -1),
        after_(body_.size(), -1) {}

  LoopKept Run() {
    LoopKept kept;
    kept.is_kept.assign(body_.size(), false);
    std::vector<bool> needed(body_.size(), false);
    for (const Residual& residual : residuals_.residuals) {
      const int32_t update = residual.update()->id;
      if (!residual.is_only_read_back) {
        stays_[update] = true;
      } else if (!residual.readers.empty()) {
        needed[update] = true;
        kept.bytes_before += ByteSize(residual.update()->shape);
      }
    }
    Build(needed);
    for (const Residual& residual : residuals_.residuals) {
      const int32_t update = residual.update()->id;
      if (needed[update]) cut_.AddEdge(cut_.source(), after_[update], kNever);
    }
    const std::vector<bool> is_of_reader = cut_.Solve();
    for (int32_t id = 0; id < body_.size(); ++id) {
      if (before_[id] < 0 || !is_of_reader[after_[id]]) continue;
      kept.is_kept[id] = !is_of_reader[before_[id]];
      if (kept.is_kept[id]) kept.bytes += Cost(*body_.instruction(id));
    }
    return kept;
  }

 private:
  static constexpr int64_t kNever = MinCut::kNever;

  // Whatever is needed needs its operands, unless it is kept.
  void Build(std::vector<bool>& needed) {
    const Instruction* const all = body_.Parameters()[0];
    for (int32_t id = body_.size(); id-- > 0;) {
      const Instruction& value = *body_.instruction(id);
      if (!needed[id]) continue;
      MakeNode(id);
      cut_.AddEdge(after_[id], before_[id], Cost(value));
      if (value.opcode == Opcode::kGetTupleElement &&
          value.operands[0] == all) {
        if (!IsFree(
                residuals_.counted.elements[value.attributes->tuple_index])) {
          cut_.AddEdge(before_[id], cut_.sink(), kNever);
        }
        continue;
      }
      if (!IsRematerializableWhole(value) ||
          (light_ && IsExpensiveToRematerialize(value, work_))) {
        cut_.AddEdge(before_[id], cut_.sink(), kNever);
        continue;
      }
      for (const Instruction* operand : value.operands) {
        needed[operand->id] = true;
        MakeNode(operand->id);
        cut_.AddEdge(before_[id], after_[operand->id], kNever);
      }
    }
  }

  void MakeNode(int32_t id) {
    if (before_[id] >= 0) return;
    before_[id] = cut_.AddNode();
    after_[id] = cut_.AddNode();
  }

  int64_t Cost(const Instruction& value) const {
    if (stays_[value.id]) return 0;
    if (!value.shape.IsArray()) return kNever;
    // The stacked array itself is not what one iteration saves.
    const bool is_element = value.opcode == Opcode::kGetTupleElement &&
                            value.operands[0] == body_.Parameters()[0];
    if (is_element &&
        residuals_.counted.elements[value.attributes->tuple_index].kind ==
            Kind::kStacked) {
      return kNever;
    }
    return ByteSize(value.shape);
  }

  bool IsFree(const LoopElement& element) const {
    switch (element.kind) {
      case Kind::kKnown:
        return ValueOfSlot(residuals_, element).has_value();
      case Kind::kStacked:
        return !element.is_written;
      case Kind::kInvariant:
        return true;
      case Kind::kCarried:
        return false;
    }
    return false;
  }

  const Computation& body_;
  const LoopResiduals& residuals_;
  const bool light_;
  const ModuleWork& work_;
  MinCut cut_;
  std::vector<bool> stays_;  // By id: stacked in any case.
  std::vector<int32_t> before_;
  std::vector<int32_t> after_;
};

}  // namespace

std::optional<OfSlot> ValueOfSlot(const LoopResiduals& residuals,
                                  const LoopElement& element) {
  const std::vector<int64_t>& values = element.values;
  const int64_t step = values[1] - values[0];
  for (int64_t t = 0; t < residuals.counted.count; ++t) {
    if (values[t] != values[0] + t * step) return std::nullopt;
  }
  const int64_t factor = step * residuals.step;
  return OfSlot{factor, values[0] - factor * residuals.first};
}

LoopKept ChooseKept(const Instruction& loop, const LoopResiduals& residuals,
                    bool light, const ModuleWork& work) {
  return Chooser(loop, residuals, light, work).Run();
}

}  // namespace meshwright
