// How many reshard prices a second: `reshard_speed [mesh]`.
#include <algorithm>
#include <ctime>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "meshwright/reshard/reshard.h"

namespace meshwright {
namespace {

using Random = std::mt19937_64;

// Seconds of this process's own.
double Since(std::clock_t start) {
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

// Axes on dimensions as strategies have them: mostly whole, sometimes as two
// pieces, each on its own.
Sharding Draw(const Mesh& mesh, const std::vector<int64_t>& dimensions,
              Random& random) {
  Sharding sharding = Sharding::Replicated(dimensions);
  for (int32_t axis = 0; axis < static_cast<int32_t>(mesh.axes().size());
       ++axis) {
    const AxisList all = mesh.SubAxes(axis);
    const size_t cut = random() % 8 == 0 ? all.size() / 3 : 0;
    for (const AxisList& piece : {AxisList(all.begin(), all.begin() + cut),
                                  AxisList(all.begin() + cut, all.end())}) {
      const size_t place = random() % (dimensions.size() + 2);
      if (place < dimensions.size()) {
        Part& part = sharding.dims[place][0];
        AxisList axes = part.axes;
        axes.Append(piece);
        if (part.size % mesh.Size(axes) == 0) part.axes = axes;
      } else if (place == dimensions.size() && random() % 4 == 0) {
        sharding.pending.Append(piece);
      }
    }
  }
  std::sort(sharding.pending.begin(), sharding.pending.end());
  return sharding;
}

int Run(const std::string& text) {
  const Mesh mesh = Mesh::Parse(text).value();
  Random random(1);
  std::vector<std::pair<Sharding, Sharding>> pairs;
  for (int shape = 0; shape < 300; ++shape) {
    std::vector<int64_t> dimensions(1 + random() % 4);
    for (int64_t& size : dimensions) {
      // Mostly powers of two and small multiples of them, as models have.
      size = static_cast<int64_t>(1 + random() % 3)
             << (random() % 4 == 0 ? random() % 6 : 6 + random() % 6);
    }
    for (int i = 0; i < 300; ++i) {
      pairs.emplace_back(Draw(mesh, dimensions, random),
                         Draw(mesh, dimensions, random));
    }
  }
  Resharder resharder(&mesh, Prices());
  double sum = 0;
  const auto pass = [&](const char* what) {
    const std::clock_t start = std::clock();
    for (const auto& [from, to] : pairs) {
      sum += resharder.Price(ElementType::kBF16, from, to);
    }
    const double seconds = Since(start);
    std::cout << what << ": "
              << static_cast<double>(pairs.size()) / seconds / 1e6
              << " million prices a second\n";
  };
  pass("new");
  pass("known");
  std::vector<std::pair<int32_t, int32_t>> numbers;
  for (const auto& [from, to] : pairs) {
    numbers.emplace_back(resharder.Number(from), resharder.Number(to));
  }
  const std::clock_t start = std::clock();
  for (const auto& [from, to] : numbers) {
    sum += resharder.Price(ElementType::kBF16, from, to);
  }
  std::cout << "known, by number: "
            << static_cast<double>(pairs.size()) / Since(start) / 1e6
            << " million prices a second\n";
  std::cout << resharder.problem_count() << " problems, " << pairs.size()
            << " pairs, " << sum << " s in all\n";
  return 0;
}

}  // namespace
}  // namespace meshwright

int main(int argc, char** argv) {
  return meshwright::Run(argc > 1 ? argv[1] : "data=8,model=64");
}
