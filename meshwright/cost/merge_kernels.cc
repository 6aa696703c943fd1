#include "meshwright/cost/merge_kernels.h"

#include <algorithm>
#include <limits>

namespace meshwright {
namespace {

constexpr int32_t kNone = -1;
constexpr int32_t kNoUse = std::numeric_limits<int32_t>::max();
// Inputs and results of a kernel.
constexpr size_t kMaxArrays = 64;

struct Group {
  KernelGroup kernels;
  int64_t elements = 0;
  const Shape* reduced_to = nullptr;
  int32_t first_use = kNoUse;  // When another group first needs a result.
  size_t arrays = 0;
};

// The group that last read a value.
struct Reader {
  int32_t group = kNone;
  bool in_order = false;
};

class Grouper {
 public:
  Grouper(const Computation& computation, absl::Span<const Kernel> kernels,
          absl::Span<const KernelLoop> loops)
      : kernels_(kernels),
        loops_(loops),
        maker_(computation.size(), kNone),
        readers_(computation.size()) {}

  std::vector<KernelGroup> Run() {
    for (int32_t k = 0; k < std::ssize(kernels_); ++k) Place(k);
    std::sort(groups_.begin(), groups_.end(),
              [](const Group& a, const Group& b) {
                return a.kernels.runs_at < b.kernels.runs_at;
              });
    std::vector<KernelGroup> order;
    for (Group& group : groups_) order.push_back(std::move(group.kernels));
    return order;
  }

 private:
  void Place(int32_t k) {
    const Kernel& kernel = kernels_[k];
    FindSources(kernel);
    int32_t own = loops_[k].merges ? Choose(k) : kNone;
    if (own == kNone) {
      own = static_cast<int32_t>(groups_.size());
      groups_.push_back(
          {.kernels = {.runs_at = k}, .elements = loops_[k].elements});
    }
    Group& group = groups_[own];
    group.kernels.members.push_back(k);
    group.arrays += 1 + kernel.inputs.size();
    if (loops_[k].reduced_to != nullptr) {
      group.reduced_to = loops_[k].reduced_to;
    }
    for (const int32_t source : sources_) {
      if (source == own) continue;
      int32_t& first_use = groups_[source].first_use;
      first_use = std::min(first_use, group.kernels.runs_at);
    }
    maker_[kernel.root->id] = own;
    if (!loops_[k].merges) return;
    for (size_t i = 0; i < kernel.inputs.size(); ++i) {
      readers_[kernel.inputs[i]->id] = {own, loops_[k].in_order[i]};
    }
  }

  // Finds the groups whose results the kernel needs, through tuples and
  // reshapes.
  void FindSources(const Kernel& kernel) {
    sources_.clear();
    open_.assign(kernel.inputs.begin(), kernel.inputs.end());
    while (!open_.empty()) {
      const Instruction* at = open_.back();
      open_.pop_back();
      if (maker_[at->id] != kNone) {
        sources_.push_back(maker_[at->id]);
      } else if (IsFree(*at)) {
        open_.insert(open_.end(), at->operands.begin(), at->operands.end());
      }
    }
  }

  // The group that kernel k joins, if any.
  int32_t Choose(int32_t k) {
    const Kernel& kernel = kernels_[k];
    const KernelLoop& loop = loops_[k];
    for (size_t i = 0; i < kernel.inputs.size(); ++i) {
      const Instruction& input = *kernel.inputs[i];
      if (input.opcode == Opcode::kConstant ||
          ElementCount(input.shape) < loop.elements) {
        continue;
      }
      if (const int32_t maker = maker_[input.id];
          maker != kNone && loop.in_order[i] && Join(k, maker)) {
        return maker;
      }
      if (const Reader& reader = readers_[input.id];
          reader.group != kNone && reader.in_order == loop.in_order[i] &&
          Join(k, reader.group)) {
        return reader.group;
      }
    }
    return kNone;
  }

  bool Join(int32_t k, int32_t candidate) {
    Group& group = groups_[candidate];
    const KernelLoop& loop = loops_[k];
    if (!loops_[group.kernels.members[0]].merges ||
        group.elements != loop.elements ||
        group.arrays + kernels_[k].inputs.size() >= kMaxArrays) {
      return false;
    }
    // Reductions are merged only if they have the same shape.
    if (group.reduced_to != nullptr && loop.reduced_to != nullptr &&
        group.reduced_to->dimensions != loop.reduced_to->dimensions) {
      return false;
    }
    for (size_t i = 0; i < kernels_[k].inputs.size(); ++i) {
      const Instruction& input = *kernels_[k].inputs[i];
      if (maker_[input.id] == candidate &&
          (!loop.in_order[i] || ElementCount(input.shape) != loop.elements)) {
        return false;
      }
    }
    int32_t& runs_at = group.kernels.runs_at;
    const bool can_be_early =
        std::all_of(sources_.begin(), sources_.end(), [&](int32_t source) {
          return source == candidate ||
                 groups_[source].kernels.runs_at < runs_at;
        });
    if (can_be_early) return true;
    if (group.first_use != kNoUse) return false;
    runs_at = k;
    return true;
  }

  const absl::Span<const Kernel> kernels_;
  const absl::Span<const KernelLoop> loops_;
  std::vector<Group> groups_;
  std::vector<int32_t> maker_;    // By value: the group that computes it.
  std::vector<Reader> readers_;   // By value.
  std::vector<int32_t> sources_;  // Of the current kernel.
  std::vector<const Instruction*> open_;
};

}  // namespace

std::vector<KernelGroup> GroupKernels(const Computation& computation,
                                      absl::Span<const Kernel> kernels,
                                      absl::Span<const KernelLoop> loops) {
  return Grouper(computation, kernels, loops).Run();
}

}  // namespace meshwright
