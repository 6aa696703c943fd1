#include "meshwright/engine/program_signature.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "proto/hlo.pb.h"

namespace meshwright {
namespace {

using ::testing::HasSubstr;

constexpr int kF32 = 11;
constexpr int kTuple = 13;

void SetShape(pb::ShapeProto& shape, std::vector<int64_t> dimensions) {
  shape.set_element_type(kF32);
  for (const int64_t size : dimensions) shape.add_dimensions(size);
}

pb::HloModuleProto StepModule() {
  pb::HloModuleProto module;
  module.set_name("step");
  module.set_entry_computation_id(7);
  module.add_computations()->set_name("main");
  auto& shape = *module.mutable_host_program_shape();
  SetShape(*shape.add_parameters(), {2});
  SetShape(*shape.add_parameters(), {2, 3});
  shape.mutable_result()->set_element_type(kTuple);
  SetShape(*shape.mutable_result()->add_tuple_shapes(), {});
  SetShape(*shape.mutable_result()->add_tuple_shapes(), {2});
  auto& alias = *module.mutable_input_output_alias()->add_entries();
  alias.add_output_shape_index(1);
  module.mutable_buffer_donor()->add_entries()->set_parameter_number(1);
  return module;
}

std::string Error(const pb::HloModuleProto& module) {
  const auto signature = ReadSignature({"hlo", module.SerializeAsString()});
  EXPECT_FALSE(signature.ok());
  return signature.status().ToString();
}

TEST(ReadSignatureTest, ReadsShapesAliasesAndDonors) {
  const std::string module = StepModule().SerializeAsString();
  pb::HloProto wrapped;  // Holds its module in field 1 as the config's does.
  wrapped.mutable_hlo_module()->ParseFromString(module);
  for (const Program& program :
       {Program{"hlo", module},
        Program{"hlo_with_config", wrapped.SerializeAsString()}}) {
    const auto signature = ReadSignature(program);
    ASSERT_TRUE(signature.ok()) << signature.status();
    EXPECT_EQ(
        *signature,
        (ProgramSignature{
            .parameters = {{ElementType::kF32, {2}},
                           {ElementType::kF32, {2, 3}}},
            .outputs = {{ElementType::kF32, {}}, {ElementType::kF32, {2}}},
            .donations = {{.parameter = 0, .output = 1},
                          {.parameter = 1, .output = -1}}}));
  }
}

TEST(ReadSignatureTest, AnArrayResultIsOneOutput) {
  pb::HloModuleProto module = StepModule();
  auto& result = *module.mutable_host_program_shape()->mutable_result();
  result.Clear();
  SetShape(result, {4});
  module.clear_input_output_alias();
  const auto signature = ReadSignature({"hlo", module.SerializeAsString()});
  ASSERT_TRUE(signature.ok()) << signature.status();
  EXPECT_EQ(signature->outputs.size(), 1u);
}

TEST(ReadSignatureTest, WhatCannotBePassedIsRefused) {
  pb::HloModuleProto nested = StepModule();
  nested.mutable_host_program_shape()
      ->mutable_result()
      ->mutable_tuple_shapes(0)
      ->set_element_type(kTuple);
  EXPECT_THAT(Error(nested), HasSubstr("output 0 of the program is not an"));

  pb::HloModuleProto tupled = StepModule();
  tupled.mutable_host_program_shape()->mutable_parameters(1)->set_element_type(
      kTuple);
  EXPECT_THAT(Error(tupled), HasSubstr("parameter 1 of the program is not an"));

  pb::HloModuleProto columns = StepModule();
  auto& layout = *columns.mutable_host_program_shape()
                      ->mutable_parameters(1)
                      ->mutable_layout();
  layout.add_minor_to_major(0);
  layout.add_minor_to_major(1);
  EXPECT_THAT(Error(columns), HasSubstr("parameter 1 of the program has layout "
                                        "{0,1}"));
}

TEST(ReadSignatureTest, AliasesOutOfRangeAreInvalid) {
  for (const int64_t parameter : {int64_t{-1}, int64_t{2}, int64_t{1} << 32}) {
    pb::HloModuleProto module = StepModule();
    module.mutable_input_output_alias()
        ->mutable_entries(0)
        ->set_parameter_number(parameter);
    EXPECT_THAT(Error(module), HasSubstr("INVALID_ARGUMENT"));
  }
  pb::HloModuleProto module = StepModule();
  module.mutable_input_output_alias()
      ->mutable_entries(0)
      ->set_output_shape_index(0, 2);
  EXPECT_THAT(Error(module), HasSubstr("INVALID_ARGUMENT"));
}

TEST(ReadSignatureTest, TruncatedBytesNeverCrash) {
  const std::string whole = StepModule().SerializeAsString();
  for (size_t size = 0; size < whole.size(); ++size) {
    ReadSignature({"hlo", whole.substr(0, size)}).status().IgnoreError();
    std::string flipped = whole;
    flipped[size] = static_cast<char>(flipped[size] ^ 0x55);
    ReadSignature({"hlo", flipped}).status().IgnoreError();
  }
  EXPECT_FALSE(ReadSignature({"hlo", ""}).ok());
  EXPECT_FALSE(ReadSignature({"hlo_with_config", ""}).ok());
  EXPECT_FALSE(ReadSignature({"mlir", "module {}"}).ok());
}

}  // namespace
}  // namespace meshwright
