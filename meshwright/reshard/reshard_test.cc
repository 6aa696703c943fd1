#include "meshwright/reshard/reshard.h"

#include <gtest/gtest.h>

#include <bit>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "meshwright/mesh/sharding_text.h"

namespace meshwright {
namespace {

// Bytes decide, the number of collectives only between equals.
const Prices kBytes = {.collective = {1e-9, 1e-9}, .per_local_byte = 1e-14};

struct PathCase {
  std::string name;
  std::string mesh;
  std::vector<int64_t> dimensions;
  std::string from;
  std::string to;
  std::string path;
};

class ReshardPathTest : public testing::TestWithParam<PathCase> {};

TEST_P(ReshardPathTest, IsTheCheapest) {
  const PathCase& test = GetParam();
  const Mesh mesh = Mesh::Parse(test.mesh).value();
  const auto from = ParseSharding(test.from, test.dimensions, mesh);
  const auto to = ParseSharding(test.to, test.dimensions, mesh);
  ASSERT_TRUE(from.ok()) << from.status();
  ASSERT_TRUE(to.ok()) << to.status();
  Resharder resharder(&mesh, kBytes);
  const auto& path = resharder.Path(ElementType::kF32, *from, *to);
  EXPECT_EQ(ToString(path, mesh), test.path);
  double price = 0;
  for (const ReshardStep& step : path) price += step.price;
  EXPECT_DOUBLE_EQ(resharder.Price(ElementType::kF32, *from, *to), price);
  EXPECT_LE(price,
            (1 + 1e-9) * resharder.PlainPrice(ElementType::kF32, *from, *to));
}

INSTANTIATE_TEST_SUITE_P(
    Cases, ReshardPathTest,
    testing::ValuesIn<PathCase>({
        {"Nothing", "d=8", {64, 64}, "[d, -]", "[d, -]", ""},
        {"Slice", "d=8", {64, 64}, "[-, -]", "[d, -]", "slice d to 0"},
        {"Gather", "d=8", {64, 64}, "[d, -]", "[-, -]", "all-gather d from 0"},
        {"OtherDimension",
         "d=8",
         {64, 64},
         "[d, -]",
         "[-, d]",
         "all-to-all d from 0 to 1"},
        {"OtherOrder",
         "x=4,y=2",
         {64, 64},
         "[(x,y), -]",
         "[(y,x), -]",
         "collective-permute"},
        {"ExchangeUnequalAxes",
         "x=4,y=2",
         {64, 64},
         "[x, y]",
         "[y, x]",
         "all-to-all x:(2)2 from 0 to 1, collective-permute"},
        {"RotateAxes",
         "a=2,b=2,c=2",
         {64, 64, 64},
         "[a, b, c]",
         "[c, a, b]",
         "collective-permute"},
        {"MoveAndDrop",
         "a=2,b=2,c=2",
         {64, 64},
         "[(a,b,c), -]",
         "[c, a]",
         // 2.375 times the bytes of a shard on the wire; with a permute 2.5.
         "all-to-all (a,b,c) from 0 to 1, all-to-all c from 1 to 0, all-gather "
         "b from 1"},
        {"SliceBeforeGather",
         "a=2,b=2,c=2",
         {64, 64, 64},
         "[a, -, -]",
         "[-, b, c]",
         "slice b to 1, slice c to 2, all-gather a from 0"},
        {"DropMajorAxis",
         "a=2,b=2",
         {64, 64},
         "[(a,b), -]",
         "[b, -]",
         "collective-permute, all-gather a from 0"},
        {"JoinDimensions",
         "x=4,y=2",
         {64, 64, 64},
         "[x, y, -]",
         "[-, (y,x), -]",
         "all-to-all x from 0 to 1"},
        {"TwoAllToAlls",
         "a=2,b=2,c=2",
         {64, 64, 64},
         "[(a,b), c, -]",
         "[-, (c,a), b]",
         "all-to-all b from 0 to 2, all-to-all a from 0 to 1"},
        {"ReverseWhileMoving",
         "x=4,y=2",
         {64, 64},
         "[(x,y), -]",
         "[-, (y,x)]",
         "all-to-all (y,x) from 0 to 1"},
        {"AllReduce", "d=8", {64, 64}, "[-, -] +{d}", "[-, -]", "all-reduce d"},
        {"ReduceScatter",
         "d=8",
         {64, 64},
         "[-, -] +{d}",
         "[-, d]",
         "reduce-scatter d to 1"},
        {"SliceBeforeAllReduce",
         "x=4,y=2",
         {64, 64},
         "[-, -] +{x}",
         "[y, -]",
         "slice y to 0, all-reduce x"},
        {"ScatterBeforeAllReduce",
         "x=4,y=2",
         {64, 64},
         "[-, -] +{x,y}",
         "[x, -]",
         "reduce-scatter x to 0, all-reduce y"},
        {"StaysPending",
         "x=4,y=2",
         {64, 64},
         "[-, -] +{x,y}",
         "[x, -] +{y}",
         "reduce-scatter x to 0"},
        {"MaximumsToo",
         "d=8",
         {64, 64},
         "[-, -] max{d}",
         "[d, -]",
         "reduce-scatter d to 0"},
        {"BecomesPending",
         "x=4,y=2",
         {64, 64},
         "[-, -]",
         "[y, -] +{x}",
         "slice y to 0, make-pending x"},
        {"SplitBecomesPending",
         "d=8",
         {64, 64},
         "[d, -]",
         "[-, -] +{d}",
         "make-pending d from 0"},
        {"OtherReduction",
         "x=4,y=2",
         {64, 64},
         "[-, -] +{x}",
         "[-, -] max{x}",
         "all-reduce x, make-pending x"},
        {"StridedFromContiguous",
         "d=8",
         {64},
         "[d]",
         "[8:- 8:d]",
         "all-to-all d from 0 to 1"},
        {"StridedPartStays",
         "x=4,y=2",
         {64},
         "[8:x 8:y]",
         "[8:x 8:-]",
         "all-gather y from 1"},
        {"StridesThatDoNotMeet",
         "d=8",
         {768},
         "[d]",
         "[3:- 256:d]",
         "all-gather d from 0, slice d to 1"},
        {"RestInAnotherDimension",
         "d=8",
         {768, 64},
         "[d, -]",
         "[3:- 256:d, -]",
         "all-to-all d from 0 to 1, all-to-all d from 2 to 1"},
        {"UnevenGather",
         "d=8",
         {60},
         "[d]",
         "[-]",
         "all-gather d from 0, resize from 0 to 0"},
        {"UnevenSlice",
         "d=8",
         {60},
         "[-]",
         "[d]",
         "resize from 0 to 0, slice d to 0"},
        {"UnevenReduceScatter",
         "d=8",
         {60},
         "[-] +{d}",
         "[d]",
         "resize from 0 to 0, reduce-scatter d to 0"},
        {"UnevenAllToAll",
         "d=8",
         {60, 60},
         "[d, -]",
         "[-, d]",
         "resize from 1 to 1, all-to-all d from 0 to 1, resize from 0 to 0"},
        {"UnevenPermute",
         "x=4,y=2",
         {60},
         "[(x,y)]",
         "[(y,x)]",
         "collective-permute"},
        {"OneAxisOfLarge",
         "data=8,model=64",
         {4096, 4096},
         "[data, model]",
         "[model, data]",
         "all-to-all model:(8)8 from 1 to 0, collective-permute"},
    }),
    [](const auto& test) { return test.param.name; });

TEST(ResharderTest, AnswersDoNotDependOnTheOrderOfQuestions) {
  const Mesh mesh = Mesh::Parse("a=2,b=2,c=2").value();
  const std::vector<int64_t> dimensions = {32, 24};
  const auto sharding = [&](const char* text) {
    return ParseSharding(text, dimensions, mesh).value();
  };
  const std::vector<Sharding> all = {
      sharding("[-, -]"),        sharding("[(a,b), c]"),
      sharding("[c, (b,a)]"),    sharding("[a, -] +{b}"),
      sharding("[-, c] +{a,b}"), sharding("[4:- 8:b, a]"),
  };
  Resharder forward(&mesh, Prices());
  Resharder backward(&mesh, Prices());
  const size_t count = all.size() * all.size();
  std::vector<double> prices(count);
  for (size_t i = 0; i < count; ++i) {
    prices[i] = forward.Price(ElementType::kBF16, all[i / all.size()],
                              all[i % all.size()]);
  }
  for (size_t i = count; i-- > 0;) {
    const Sharding& from = all[i / all.size()];
    const Sharding& to = all[i % all.size()];
    EXPECT_EQ(backward.Price(ElementType::kBF16, from, to), prices[i]);
    EXPECT_EQ(ToString(backward.Path(ElementType::kBF16, from, to), mesh),
              ToString(forward.Path(ElementType::kBF16, from, to), mesh));
  }
}

TEST(ResharderTest, SmallTensorsTakeFewCollectives) {
  const Mesh mesh = Mesh::Parse("a=2,b=2,c=2").value();
  const Sharding from = ParseSharding("[(a,b,c), -]", {8, 8}, mesh).value();
  const Sharding to = ParseSharding("[c, a]", {8, 8}, mesh).value();
  Resharder resharder(&mesh, Prices());
  EXPECT_EQ(ToString(resharder.Path(ElementType::kF32, from, to), mesh),
            "all-gather (a,b,c) from 0, slice a to 1, slice c to 0");
}

// What is gathered from a dimension is gathered in the order in which it lay.
TEST(ResharderTest, AxesAreGatheredInTheirOrder) {
  const auto ends_with = [](const AxisList& all, const AxisList& part) {
    return all.size() >= part.size() &&
           std::equal(part.begin(), part.end(), all.end() - part.size());
  };
  const Mesh mesh = Mesh::Parse("a=2,b=2,c=2").value();
  const std::vector<int64_t> dimensions = {3, 3, 8, 3};
  const char* const dims[] = {"-", "a", "b", "c", "(c,b)", "(b,a)", "(a,b,c)"};
  std::vector<Sharding> all;
  for (const char* first : dims) {
    for (const char* second : dims) {
      for (const char* last : dims) {
        const absl::StatusOr<Sharding> sharding = ParseSharding(
            absl::StrCat("[", first, ", -, ", second, ", ", last, "]"),
            dimensions, mesh);
        if (sharding.ok()) all.push_back(*sharding);
      }
    }
  }
  ASSERT_GT(all.size(), 40);
  for (const Prices& prices : {Prices(), kBytes}) {
    Resharder resharder(&mesh, prices);
    for (const Sharding& from : all) {
      for (const Sharding& to : all) {
        Sharding before = from;
        const auto& path = resharder.Path(ElementType::kF32, from, to);
        for (const ReshardStep& step : path) {
          if (step.kind == MoveKind::kAllGather) {
            ASSERT_TRUE(ends_with(AxesOf(before.dims[step.from]), step.axes))
                << ToString(from, mesh) << " to " << ToString(to, mesh) << ": "
                << ToString(path, mesh);
          }
          before = step.after;
        }
      }
    }
  }
}

TEST(ResharderTest, TensorsWithoutElementsAreFree) {
  const Mesh mesh = Mesh::Parse("d=8").value();
  const Sharding from = ParseSharding("[d, -]", {0, 8}, mesh).value();
  const Sharding to = ParseSharding("[-, d]", {0, 8}, mesh).value();
  Resharder resharder(&mesh, Prices());
  EXPECT_EQ(resharder.Price(ElementType::kF32, from, to), 0);
  EXPECT_TRUE(resharder.Path(ElementType::kF32, from, to).empty());
}

// What a path costs is what its steps cost along the axes that they name.
TEST(Resharder, StepsArePricedByTheirAxes) {
  const Mesh mesh = Mesh::Parse("x=4,y=2").value();
  // Along x a byte is expensive.
  const uint32_t expensive = mesh.SubAxes(0).Bits();
  std::vector<Prices::ByKind> table(size_t{1} << mesh.sub_axes().size());
  for (uint32_t axes = 0; axes < table.size(); ++axes) {
    table[axes].fill({1e-9, (axes & expensive) != 0 ? 1e-6 : 1e-9});
  }
  Prices prices = kBytes;
  prices.SetByAxes(std::move(table));
  Resharder resharder(&mesh, prices);
  const char* const forms[] = {
      "[-, -]", "[x, -]",     "[y, -]",     "[-, x]",     "[-, y]",    "[x, y]",
      "[y, x]", "[(x,y), -]", "[(y,x), -]", "[-, (x,y)]", "[-, (y,x)]"};
  for (const char* a : forms) {
    for (const char* b : forms) {
      const Sharding from = ParseSharding(a, {64, 64}, mesh).value();
      const Sharding to = ParseSharding(b, {64, 64}, mesh).value();
      for (const ReshardStep& step :
           resharder.Path(ElementType::kF32, from, to)) {
        if (step.axes.empty() || step.wire_bytes == 0) continue;
        const bool is_expensive = (step.axes.Bits() & expensive) != 0;
        EXPECT_EQ(step.price > 1e-7 * step.wire_bytes, is_expensive)
            << a << " to " << b;
      }
    }
  }
}

// Prices of `mesh`, equal between as many devices wherever they are.
Prices PricesBySize(const Mesh& mesh) {
  Prices prices;
  std::vector<Prices::ByKind> table(size_t{1} << mesh.sub_axes().size());
  for (uint32_t bits = 0; bits < table.size(); ++bits) {
    table[bits].fill({1e-6 * (1 + std::popcount(bits)), 1 / 300e9});
  }
  prices.SetByAxes(std::move(table));
  return prices;
}

struct SameProblemCase {
  std::string name;
  std::vector<int64_t> dimensions;
  std::string from;
  std::string to;
  size_t problems;  // Beside [(a,b), c] to [c, a] of f32[64,64].
};

class SameProblemTest : public testing::TestWithParam<SameProblemCase> {};

TEST_P(SameProblemTest, IsSolvedOnce) {
  const SameProblemCase& test = GetParam();
  const Mesh mesh = Mesh::Parse("a=2,b=2,c=2").value();
  const Prices prices = PricesBySize(mesh);
  Resharder resharder(&mesh, prices);
  const std::vector<int64_t> square = {64, 64};
  resharder.Price(ElementType::kF32,
                  ParseSharding("[(a,b), c]", square, mesh).value(),
                  ParseSharding("[c, a]", square, mesh).value());
  ASSERT_EQ(resharder.problem_count(), 1u);
  const Sharding from = ParseSharding(test.from, test.dimensions, mesh).value();
  const Sharding to = ParseSharding(test.to, test.dimensions, mesh).value();
  const double price = resharder.Price(ElementType::kF32, from, to);
  EXPECT_EQ(resharder.problem_count(), 1 + test.problems);
  // As if nothing else had been asked.
  EXPECT_EQ(price, Resharder(&mesh, prices).Price(ElementType::kF32, from, to));
}

INSTANTIATE_TEST_SUITE_P(
    Cases, SameProblemTest,
    testing::ValuesIn<SameProblemCase>(
        {{"OtherSizes", {128, 32}, "[(a,b), c]", "[c, a]", 0},
         {"AxesAtTheSamePrices", {64, 64}, "[(b,c), a]", "[a, b]", 0},
         {"ADimensionMore", {3, 64, 64}, "[-, (a,b), c]", "[-, c, a]", 0},
         {"RoomForFewerAxes", {4, 64}, "[(a,b), c]", "[c, a]", 1},
         {"OtherAxisThatStays", {64, 64}, "[(a,b), c]", "[c, b]", 1}}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace meshwright
