#include "meshwright/engine/xnn_products.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "meshwright/base/element_type.h"
#include "meshwright/engine/cpu_plugin_for_test.h"
#include "meshwright/engine/xnn_fusions.h"
#include "proto/hlo.pb.h"

namespace meshwright {
namespace {

using Dimensions = std::vector<int64_t>;

// A product of two arrays: sizes, batch and contracted dimensions of each.
struct ProductCase {
  std::string name;
  Dimensions lhs, rhs;
  Dimensions lhs_batch, rhs_batch;
  Dimensions lhs_contracted, rhs_contracted;
};

int64_t Count(const Dimensions& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1},
                         std::multiplies<>());
}

pb::ShapeProto Shape(const Dimensions& sizes) {
  pb::ShapeProto shape;
  shape.set_element_type(static_cast<int32_t>(ElementType::kF32));
  for (const int64_t size : sizes) {
    shape.add_dimensions(size);
    shape.add_is_dynamic_dimension(false);
  }
  for (int64_t i = std::ssize(sizes) - 1; i >= 0; --i) {
    shape.mutable_layout()->add_minor_to_major(i);
  }
  return shape;
}

Dimensions Result(const ProductCase& test) {
  Dimensions result;
  for (const int64_t i : test.lhs_batch) result.push_back(test.lhs[i]);
  const auto add_free = [&](const Dimensions& sizes, const Dimensions& batch,
                            const Dimensions& contracted) {
    for (int64_t i = 0; i < std::ssize(sizes); ++i) {
      if (std::ranges::count(batch, i) + std::ranges::count(contracted, i) == 0)
        result.push_back(sizes[i]);
    }
  };
  add_free(test.lhs, test.lhs_batch, test.lhs_contracted);
  add_free(test.rhs, test.rhs_batch, test.rhs_contracted);
  return result;
}

pb::HloModuleProto ModuleOf(const ProductCase& test) {
  pb::HloModuleProto module;
  module.set_name("product");
  module.set_entry_computation_name("main");
  module.set_entry_computation_id(4);
  pb::ProgramShapeProto& signature = *module.mutable_host_program_shape();
  pb::HloComputationProto& main = *module.add_computations();
  main.set_name("main");
  main.set_id(4);
  main.set_root_id(3);
  for (const Dimensions& sizes : {test.lhs, test.rhs, Result(test)}) {
    const int64_t id = main.instructions_size() + 1;
    pb::HloInstructionProto& op = *main.add_instructions();
    op.set_name("op." + std::to_string(id));
    op.set_id(id);
    *op.mutable_shape() = Shape(sizes);
    if (id == 3) break;
    op.set_opcode("parameter");
    op.set_parameter_number(id - 1);
    *signature.add_parameters() = op.shape();
    signature.add_parameter_names("p" + std::to_string(id));
  }
  pb::HloInstructionProto& dot = *main.mutable_instructions(2);
  dot.set_opcode("dot");
  dot.add_operand_ids(1);
  dot.add_operand_ids(2);
  const auto assign = [](const Dimensions& from, auto* to) {
    to->Assign(from.begin(), from.end());
  };
  pb::DotDimensionNumbers& numbers = *dot.mutable_dot_dimension_numbers();
  assign(test.lhs_batch, numbers.mutable_lhs_batch_dimensions());
  assign(test.rhs_batch, numbers.mutable_rhs_batch_dimensions());
  assign(test.lhs_contracted, numbers.mutable_lhs_contracting_dimensions());
  assign(test.rhs_contracted, numbers.mutable_rhs_contracting_dimensions());
  *signature.mutable_result() = dot.shape();
  *main.mutable_program_shape() = signature;
  return module;
}

std::vector<float> Values(int64_t count, float step) {
  std::vector<float> values(count);
  for (int64_t i = 0; i < count; ++i) {
    values[i] = std::sin(step * static_cast<float>(i));
  }
  return values;
}

// The product, computed by XNNPACK or by XLA's own code.
std::vector<float> Computed(const ProductCase& test, bool by_xnnpack) {
  const auto client = *CpuPlugin().CreateClient({});
  CompileOptions options;
  if (!by_xnnpack) {
    options.xla_overrides[kXnnFusionType] =
        std::string("LIBRARY_FUSION_TYPE_INVALID");
  }
  const auto executable =
      client->Compile({"hlo", ModuleOf(test).SerializeAsString()}, options);
  EXPECT_TRUE(executable.ok()) << executable.status();
  if (!executable.ok()) return {};
  const std::string optimized = (*executable)->OptimizedProgram()->code;
  EXPECT_EQ(optimized.find("__xnn_fusion") != std::string::npos, by_xnnpack);
  std::vector<BufferPtr> arguments;
  std::vector<Buffer*> pointers;
  for (const Dimensions& sizes : {test.lhs, test.rhs}) {
    const auto values = Values(Count(sizes), arguments.empty() ? 0.7F : 0.3F);
    arguments.push_back(*client->FromHost(
        {.bytes = AsBytes(values), .shape = {ElementType::kF32, sizes}},
        *client->devices()[0]));
    pointers.push_back(arguments.back().get());
  }
  const auto execution = (*executable)->ExecuteSingle(pointers, {});
  EXPECT_TRUE(execution.ok()) << execution.status();
  std::vector<float> result(Count(Result(test)));
  EXPECT_TRUE(
      execution->outputs[0][0]->ReadToHost(AsWritableBytes(result)).ok());
  return result;
}

class XnnProductsTest : public testing::TestWithParam<ProductCase> {};

TEST_P(XnnProductsTest, EqualsXlas) {
  const std::vector<float> by_xla = Computed(GetParam(), false);
  const std::vector<float> by_xnnpack = Computed(GetParam(), true);
  EXPECT_THAT(by_xnnpack,
              testing::Pointwise(testing::FloatNear(1e-4F), by_xla));
}

// Of attention: queries and keys are [batch, position, head, feature].
INSTANTIATE_TEST_SUITE_P(
    Table, XnnProductsTest,
    testing::ValuesIn<ProductCase>({
        {"Scores", {2, 64, 3, 32}, {2, 48, 3, 32}, {0, 2}, {0, 2}, {3}, {3}},
        {"MixedValues",
         {2, 48, 3, 32},
         {2, 3, 64, 48},
         {0, 2},
         {0, 1},
         {1},
         {3}},
        {"GradientOfKeys",
         {2, 3, 64, 48},
         {2, 64, 3, 32},
         {0, 1},
         {0, 2},
         {2},
         {1}},
        {"GradientOfQueries",
         {2, 3, 64, 48},
         {2, 48, 3, 32},
         {0, 1},
         {0, 2},
         {3},
         {1}},
        {"ColumnsOfTheLarger", {6, 32, 8}, {6, 32, 192}, {0}, {0}, {1}, {1}},
        {"SeveralDimensionsEach",
         {4, 4, 8, 3, 16},
         {16, 4, 8, 5, 30},
         {0},
         {1},
         {4, 2},
         {0, 2}},
        {"BatchesInTheMiddle", {32, 6, 64}, {48, 64, 6}, {1}, {2}, {2}, {1}},
    }),
    [](const auto& test) { return test.param.name; });

TEST(XnnProductsOfTest, OthersStay) {
  const auto changed = [](const ProductCase& test) {
    return WithXnnProducts(ModuleOf(test).SerializeAsString()).has_value();
  };
  const ProductCase large = {"", {8, 64, 64}, {8, 64, 64}, {0}, {0}, {2}, {1}};
  EXPECT_TRUE(changed(large));
  // No batch, a batch of one, too small, and one row each.
  EXPECT_FALSE(changed({"", {512, 64}, {64, 512}, {}, {}, {1}, {0}}));
  EXPECT_FALSE(changed({"", {1, 512, 64}, {1, 64, 512}, {0}, {0}, {2}, {1}}));
  EXPECT_FALSE(changed({"", {64, 128}, {64, 128, 64}, {0}, {0}, {1}, {1}}));
  EXPECT_FALSE(changed({"", {8, 4, 4}, {8, 4, 4}, {0}, {0}, {2}, {1}}));
  pb::HloModuleProto halves = ModuleOf(large);
  for (auto& op : *halves.mutable_computations(0)->mutable_instructions()) {
    op.mutable_shape()->set_element_type(
        static_cast<int32_t>(ElementType::kBF16));
  }
  EXPECT_EQ(WithXnnProducts(halves.SerializeAsString()), std::nullopt);
  EXPECT_EQ(WithXnnProducts("no module, a dot"), std::nullopt);
}

// XLA may lay out what a fusion computes as its users read it; XNNPACK refuses
// that when the program runs.
TEST(XnnProductsOfTest, OthersThanRowMajorOnesMustNotRun) {
  const ProductCase test = {"", {8, 64, 64}, {8, 64, 64}, {0}, {0}, {2}, {1}};
  pb::HloModuleProto module;
  ASSERT_TRUE(module.ParseFromString(
      *WithXnnProducts(ModuleOf(test).SerializeAsString())));
  const auto is_unsafe = [&] {
    return HasUnsafeXnnFusion({"hlo", module.SerializeAsString()}).value();
  };
  EXPECT_FALSE(is_unsafe());
  auto& dot = *module.mutable_computations(0)->mutable_instructions(2);
  ASSERT_EQ(dot.opcode(), "dot");
  dot.mutable_shape()->mutable_layout()->mutable_minor_to_major()->SwapElements(
      0, 1);
  EXPECT_TRUE(is_unsafe());
}

}  // namespace
}  // namespace meshwright
