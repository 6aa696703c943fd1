// Initial solutions of a search, and warm starts for the next one: another part
// of MeshProblem.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "meshwright/search/mesh_problem.h"

namespace meshwright {
std::vector<AxisPlaces> MeshProblem::PlacesOf(
    absl::Span<const int32_t> chosen) const {
  std::vector<AxisPlaces> axis_places;
  for (GroupId g{0}; g < model_.groups.count(); ++g) {
    axis_places.push_back(AxisPlacesOf(options_[g][chosen[g]].strategy, mesh_));
  }
  return axis_places;
}

SharedForms MeshProblem::SharedOf(absl::Span<const int32_t> chosen) const {
  SharedForms shared;
  for (const auto& [node, copy] : copies_) {
    if (chosen[node] < static_cast<int32_t>(copy.forms.size() / 2)) continue;
    shared[copy.value] = pool_[copy.forms[chosen[node]]];
  }
  return shared;
}

int32_t MeshProblem::AsMade(const Copy& copy,
                            absl::Span<const int32_t> chosen) const {
  const auto form = std::ranges::find(copy.forms, ResultOf(copy.value, chosen));
  return static_cast<int32_t>(form - copy.forms.begin());
}

std::vector<int32_t> MeshProblem::WarmStart(
    const std::vector<AxisPlaces>& axis_places,
    const SharedForms& shared) const {
  if (static_cast<int32_t>(axis_places.size()) != model_.groups.count()) {
    return {};
  }
  std::vector<int32_t> chosen(problem_.nodes.size(), 0);
  for (GroupId g{0}; g < model_.groups.count(); ++g) {
    size_t most = 0;
    for (size_t i = 0; i < options_[g].size(); ++i) {
      const AxisPlaces places = AxisPlacesOf(options_[g][i].strategy, mesh_);
      size_t same = 1;
      // Axes that the other mesh does not have are placed like its last one.
      for (size_t a = 0; a < places.size(); ++a) {
        const size_t like = std::min(a, axis_places[g].size() - 1);
        if (places[a] == axis_places[g][like]) ++same;
      }
      if (same > most) {
        most = same;
        chosen[g] = static_cast<int32_t>(i);
      }
    }
  }
  // Values are shared in the form in which they are produced, unless told
  // otherwise.
  for (const auto& [node, copy] : copies_) {
    if (const auto moved = shared.find(copy.value); moved != shared.end()) {
      const size_t count = copy.forms.size() / 2;
      size_t form = count;
      while (form < 2 * count && pool_[copy.forms[form]] != moved->second) {
        ++form;
      }
      if (form < 2 * count) {
        chosen[node] = static_cast<int32_t>(form);
        continue;
      }
    }
    chosen[node] = AsMade(copy, chosen);
  }
  return chosen;
}

}  // namespace meshwright
