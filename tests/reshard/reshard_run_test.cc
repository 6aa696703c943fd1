// Reshards run on virtual devices: every device must end up with its part.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/mesh/sharding_text.h"
#include "meshwright/reshard/reshard_emit.h"
#include "tests/rules/device_run.h"
#include "tests/rules/host_values.h"

namespace meshwright {
namespace {

using Random = std::mt19937_64;

struct Reshard {
  Literal whole;
  Sharding from;
  Sharding to;
};

int64_t Below(Random& random, int64_t bound) {
  return static_cast<int64_t>(random() % static_cast<uint64_t>(bound));
}

// Small sizes: plain, with small factors, primes.
int64_t DrawSize(Random& random) {
  static constexpr int64_t kSizes[] = {1,  2,  3,  4,  5,  6,  7,  8,
                                       12, 13, 16, 20, 24, 30, 36, 48};
  return kSizes[Below(random, 16)];
}

// Digits of a dimension with axes on them, if that works out.
DimSharding DrawStrided(int64_t size, const Mesh& mesh,
                        std::vector<AxisId>& axes, Random& random) {
  std::vector<Part> parts = {{size, {}}};
  for (int64_t divisor = 2; divisor <= 6; ++divisor) {
    const int64_t left = parts.back().size;
    if (left % divisor != 0 || left == divisor || Below(random, 2) == 0) {
      continue;
    }
    parts.back().size = divisor;
    parts.push_back({left / divisor, {}});
  }
  for (Part& part : parts) {
    while (!axes.empty() && Below(random, 2) == 0 &&
           part.size % (mesh.Size(part.axes) * mesh.Size(axes.back())) == 0) {
      part.axes.push_back(axes.back());
      axes.pop_back();
    }
  }
  return Normalised(parts, mesh);
}

Sharding DrawSharding(const std::vector<int64_t>& dimensions, const Mesh& mesh,
                      Reduction reduction, Random& random) {
  Sharding sharding;
  const AxisList all = mesh.AllSubAxes();
  std::vector<AxisId> axes(all.begin(), all.end());
  std::shuffle(axes.begin(), axes.end(), random);
  while (Below(random, 4) == 0 && !axes.empty()) axes.pop_back();
  while (Below(random, 4) == 0 && !axes.empty()) {
    sharding.pending.push_back(axes.back());
    axes.pop_back();
  }
  std::sort(sharding.pending.begin(), sharding.pending.end());
  if (sharding.IsPending()) sharding.reduction = reduction;
  for (const int64_t size : dimensions) {
    if (Below(random, 3) == 0) {
      sharding.dims.push_back(DrawStrided(size, mesh, axes, random));
      continue;
    }
    const bool uneven = Below(random, 3) == 0;
    Part part{size, {}};
    while (!axes.empty() && Below(random, 3) != 0) {
      const int64_t tiles = mesh.Size(part.axes) * mesh.Size(axes.back());
      if (!uneven && size % tiles != 0) break;
      part.axes.push_back(axes.back());
      axes.pop_back();
    }
    sharding.dims.push_back({part});
  }
  return sharding;
}

Reshard DrawReshard(const Mesh& mesh, Random& random) {
  static constexpr ElementType kTypes[] = {ElementType::kF32, ElementType::kF32,
                                           ElementType::kS32, ElementType::kF64,
                                           ElementType::kBF16};
  ElementType type = kTypes[Below(random, 5)];
  std::vector<int64_t> dimensions(Below(random, 4));
  int64_t count = 1;
  for (int64_t& size : dimensions) {
    size = DrawSize(random);
    while (count * size > 4096) size = (size + 1) / 2;
    count *= size;
  }
  const auto draw_reduction = [&] {
    return Below(random, 2) == 0 ? Reduction::kSum
                                 : static_cast<Reduction>(Below(random, 6));
  };
  Reduction first = draw_reduction();
  Reduction second = Below(random, 4) == 0 ? draw_reduction() : first;
  const auto is_logical = [](Reduction reduction) {
    return reduction == Reduction::kAnd || reduction == Reduction::kOr;
  };
  if (is_logical(first) || is_logical(second)) {
    type = ElementType::kPred;
    if (!is_logical(first)) first = second;
    if (!is_logical(second)) second = first;
  }
  Reshard reshard;
  reshard.whole = Zeros(Shape::Array(type, dimensions));
  for (int64_t i = 0; i < count; ++i) {
    SetElement(reshard.whole, i,
               type == ElementType::kPred
                   ? static_cast<double>(Below(random, 2))
                   : static_cast<double>(Below(random, 100) + 1));
  }
  reshard.from = DrawSharding(dimensions, mesh, first, random);
  reshard.to = DrawSharding(dimensions, mesh, second, random);
  return reshard;
}

// What each device holds before.
std::vector<std::vector<Literal>> Arguments(
    const std::vector<Reshard>& reshards, const Mesh& mesh) {
  std::vector<std::vector<Literal>> arguments(mesh.device_count());
  for (int64_t device = 0; device < mesh.device_count(); ++device) {
    uint64_t seed = 0;
    for (const Reshard& reshard : reshards) {
      arguments[device].push_back(
          ShardOf(reshard.whole, reshard.from, mesh, device, ++seed));
    }
  }
  return arguments;
}

// Runs all reshards in one program; what is pending at the end is combined.
void Check(const std::vector<Reshard>& reshards, const Mesh& mesh,
           const Prices& prices) {
  LocalProgram program("reshards", mesh);
  Computation* entry = program.module.AddComputation("entry");
  LocalBuilder builder(&program, entry);
  Resharder resharder(&mesh, prices);
  std::vector<Instruction*> parameters;
  for (const Reshard& reshard : reshards) {
    parameters.push_back(
        entry->AddParameter(Shape::Array(reshard.whole.shape.element_type,
                                         LocalDimensions(reshard.from, mesh)),
                            program.UniqueName("parameter")));
  }
  std::vector<Instruction*> outputs;
  std::vector<std::string> names;
  for (size_t i = 0; i < reshards.size(); ++i) {
    const auto& [whole, from, to] = reshards[i];
    const ElementType type = whole.shape.element_type;
    names.push_back(
        absl::StrCat("mesh ", mesh.ToString(), ", ", whole.shape.ToString(),
                     " from ", ToString(from, mesh), " to ", ToString(to, mesh),
                     " by ", ToString(resharder.Path(type, from, to), mesh)));
    Instruction* value =
        EmitReshard(parameters[i], from, to, resharder, builder);
    outputs.push_back(builder.AllReduce(value, to.reduction, to.pending));
    double price = 0;
    for (const ReshardStep& step : resharder.Path(type, from, to)) {
      price += step.price;
    }
    EXPECT_NEAR(resharder.Price(type, from, to), price, 1e-9 * price)
        << names.back();
    EXPECT_LE(price, resharder.PlainPrice(type, from, to) * (1 + 1e-9))
        << names.back();
  }
  entry->set_root(builder.Tuple(std::move(outputs)));
  program.module.set_entry(entry);
  program.module.Finish();
  const auto got = RunOnDevices(program.module, Arguments(reshards, mesh));
  ASSERT_TRUE(got.ok()) << got.status();
  for (size_t i = 0; i < reshards.size(); ++i) {
    for (int64_t device = 0; device < mesh.device_count(); ++device) {
      const absl::Status status =
          CompareShard((*got)[device][i], reshards[i].whole, reshards[i].to,
                       mesh, device, /*tolerance=*/0);
      ASSERT_TRUE(status.ok()) << status << "\n" << names[i];
    }
  }
}

struct MeshCase {
  const char* name;
  const char* mesh;
  std::vector<int64_t> device_ids;
};

class ReshardRunTest : public testing::TestWithParam<MeshCase> {
 protected:
  Mesh MakeMesh() const {
    const Mesh plain = Mesh::Parse(GetParam().mesh).value();
    return Mesh::Create(plain.axes(), GetParam().device_ids).value();
  }
};

TEST_P(ReshardRunTest, EveryDeviceGetsItsPart) {
  // Bytes count, and collectives do: other ways come out.
  const Prices kPrices[] = {
      {.collective = {1e-9, 1e-9}, .per_local_byte = 1e-13},
      {.collective = {1e-6, 1e-9}, .per_local_byte = 1e-10}};
  const Mesh mesh = MakeMesh();
  Random random(20);
  for (const Prices& prices : kPrices) {
    std::vector<Reshard> reshards;
    while (reshards.size() < 30) {
      Reshard reshard = DrawReshard(mesh, random);
      if (reshard.from != reshard.to) reshards.push_back(std::move(reshard));
    }
    Check(reshards, mesh, prices);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Meshes, ReshardRunTest,
    testing::ValuesIn<MeshCase>({
        {"Two", "2", {}},
        {"TwoByTwo", "a=2,b=2", {}},
        {"Cube", "a=2,b=2,c=2", {}},
        {"ThreeByTwo", "x=3,y=2", {}},
        {"FourByTwo", "x=4,y=2", {}},
        {"OutOfOrder", "x=4,y=2", {3, 1, 7, 0, 2, 6, 4, 5}},
    }),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace meshwright
