#include "meshwright/cost/launches.h"

#include "meshwright/hlo/opcode_traits.h"

namespace meshwright {
namespace {

// Fewer kernels are started by themselves.
constexpr size_t kSmallestGraph = 5;

enum class Launch { kInGraph, kAlone, kLibrary, kNone };

Launch LaunchOf(const Instruction& root) {
  switch (root.opcode) {
    case Opcode::kConvolution:
    case Opcode::kFft:
    case Opcode::kCholesky:
    case Opcode::kTriangularSolve:
      return Launch::kLibrary;
    case Opcode::kWhile:
    case Opcode::kCall:
    case Opcode::kConditional:
      return Launch::kNone;
    default:
      return IsCollective(root.opcode) ? Launch::kAlone : Launch::kInGraph;
  }
}

double SecondsAlone(Launch launch, const Rates& rates) {
  switch (launch) {
    case Launch::kInGraph:
    case Launch::kAlone:
      return rates.launch_seconds.value;
    case Launch::kLibrary:
      return rates.library_seconds.value;
    case Launch::kNone:
      return 0;
  }
  return 0;
}

}  // namespace

std::vector<double> LaunchSeconds(const std::vector<Kernel>& kernels,
                                  const Rates& rates) {
  std::vector<double> seconds(kernels.size(), 0);
  for (size_t begin = 0; begin < kernels.size();) {
    size_t end = begin;
    while (end < kernels.size() &&
           LaunchOf(*kernels[end].root) == Launch::kInGraph) {
      ++end;
    }
    if (end - begin >= kSmallestGraph) {
      seconds[begin] = rates.graph_seconds.value;
    } else {
      if (end == begin) ++end;
      for (size_t i = begin; i < end; ++i) {
        seconds[i] = SecondsAlone(LaunchOf(*kernels[i].root), rates);
      }
    }
    begin = end;
  }
  return seconds;
}

}  // namespace meshwright
