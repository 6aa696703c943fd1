// How many reshard prices a second: `reshard_speed [mesh]`.
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "meshwright/base/stopwatch.h"
#include "meshwright/partition/reshard.h"

namespace meshwright {
namespace {

using Random = std::mt19937_64;

// Whole axes and pieces of them on the dimensions of a tensor, as strategies
// of a model have them.
Sharding Draw(const Mesh& mesh, const std::vector<int64_t>& dimensions,
              Random& random) {
  Sharding sharding = Sharding::Replicated(dimensions);
  for (int32_t axis = 0; axis < static_cast<int32_t>(mesh.axes().size());
       ++axis) {
    AxisList left = mesh.SubAxes(axis);
    // Mostly the whole axis, else its two parts go their own ways.
    const size_t cut = random() % 4 == 0 ? random() % left.size() : 0;
    for (const AxisList& piece : {AxisList(left.begin(), left.begin() + cut),
                                  AxisList(left.begin() + cut, left.end())}) {
      const size_t place = random() % (dimensions.size() + 2);
      if (place < dimensions.size()) {
        Part& part = sharding.dims[place][0];
        AxisList axes = part.axes;
        axes.Append(piece);
        if (part.size % mesh.Size(axes) == 0) part.axes = axes;
      } else if (place == dimensions.size() && random() % 2 == 0) {
        sharding.pending.Append(piece);
      }
    }
  }
  std::sort(sharding.pending.begin(), sharding.pending.end());
  return sharding;
}

int Run(const std::string& text) {
  const Mesh mesh = Mesh::Parse(text).value();
  const std::vector<std::vector<int64_t>> shapes = {
      {4096, 4096},   {512, 1024, 4096},  {512, 64, 1024, 64},
      {4096, 16384},  {50304, 4096},      {4096},
      {524288, 4096}, {512, 1024, 64, 64}};
  Random random(1);
  std::vector<std::pair<Sharding, Sharding>> pairs;
  for (const std::vector<int64_t>& shape : shapes) {
    for (int i = 0; i < 4000; ++i) {
      pairs.emplace_back(Draw(mesh, shape, random), Draw(mesh, shape, random));
    }
  }
  Resharder resharder(&mesh, Prices());
  double sum = 0;
  const auto pass = [&](const char* what) {
    const Stopwatch watch;
    for (const auto& [from, to] : pairs) {
      sum += resharder.Price(ElementType::kBF16, from, to);
    }
    const double seconds = watch.seconds();
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
  const Stopwatch watch;
  for (const auto& [from, to] : numbers) {
    sum += resharder.Price(ElementType::kBF16, from, to);
  }
  std::cout << "known, by number: "
            << static_cast<double>(pairs.size()) / watch.seconds() / 1e6
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
