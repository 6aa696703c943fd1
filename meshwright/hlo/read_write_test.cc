// Reading and writing: round trips, and files that are not modules.
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/hlo/compression.h"
#include "meshwright/hlo/module.h"
#include "meshwright/hlo/read_module.h"
#include "meshwright/hlo/write_module.h"
#include "proto/hlo.pb.h"

namespace meshwright {
namespace {

using testing::HasSubstr;

std::string ReadTestFile(const std::string& name) {
  std::ifstream file(std::string(MW_SOURCE_DIR) + "/testdata/" + name,
                     std::ios::binary);
  EXPECT_TRUE(file.good()) << name;
  std::stringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

// f32[2] parameter -> add(p, p), a module with the fewest fields XLA takes.
pb::HloModuleProto SmallProto() {
  pb::HloModuleProto module;
  module.set_name("small");
  module.set_entry_computation_id(7);
  pb::HloComputationProto* entry = module.add_computations();
  entry->set_name("main");
  entry->set_id(7);
  entry->set_root_id(2);
  pb::HloInstructionProto* parameter = entry->add_instructions();
  parameter->set_name("x");
  parameter->set_opcode("parameter");
  parameter->set_id(1);
  pb::HloInstructionProto* sum = entry->add_instructions();
  sum->set_name("sum");
  sum->set_opcode("add");
  sum->set_id(2);
  sum->add_operand_ids(1);
  sum->add_operand_ids(1);
  for (pb::HloInstructionProto* instruction : {parameter, sum}) {
    instruction->mutable_shape()->set_element_type(11);
    instruction->mutable_shape()->add_dimensions(2);
  }
  *module.mutable_host_program_shape()->add_parameters() = parameter->shape();
  *module.mutable_host_program_shape()->mutable_result() = sum->shape();
  module.mutable_host_program_shape()->add_parameter_names("x");
  return module;
}

TEST(ReadModuleTest, ReadsWhatXlaNeedsAtLeast) {
  const auto module = ReadModule(SmallProto().SerializeAsString());
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ(module->name(), "small");
  ASSERT_EQ(module->entry()->size(), 2);
  const Instruction* root = module->entry()->root();
  EXPECT_EQ(root->opcode, Opcode::kAdd);
  EXPECT_EQ(root->operands[0], root->operands[1]);
  EXPECT_EQ(root->shape.ToString(), "f32[2]");
}

TEST(ReadModuleTest, ReadsTheWrapperOfXlaDumps) {
  pb::HloProto wrapper;
  *wrapper.mutable_hlo_module() = SmallProto();
  const auto module = ReadModule(wrapper.SerializeAsString());
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ(module->name(), "small");
}

TEST(ReadModuleTest, TakesIdsWithTheComputationInTheHighHalf) {
  pb::HloModuleProto proto = SmallProto();
  pb::HloComputationProto* entry = proto.mutable_computations(0);
  const int64_t high = int64_t{7} << 32;
  entry->set_root_id(high | 2);
  entry->mutable_instructions(0)->set_id(high | 1);
  entry->mutable_instructions(1)->set_id(high | 2);
  entry->mutable_instructions(1)->set_operand_ids(0, high | 1);
  EXPECT_TRUE(ReadModule(proto.SerializeAsString()).ok());
}

TEST(ReadModuleTest, ExpandsIotaReplicaGroupsOfBothGenerations) {
  for (const bool newer : {false, true}) {
    pb::HloModuleProto proto = SmallProto();
    auto* sum = proto.mutable_computations(0)->mutable_instructions(1);
    auto* iota = newer ? sum->mutable_iota_collective_device_list()
                       : sum->mutable_collective_device_list()
                             ->mutable_iota_replica_group_list();
    iota->set_num_replica_groups(2);
    iota->set_num_devices_per_group(2);
    iota->add_iota_reshape_dims(2);
    iota->add_iota_reshape_dims(2);
    iota->add_iota_transpose_perm(1);
    iota->add_iota_transpose_perm(0);
    const auto module = ReadModule(proto.SerializeAsString());
    ASSERT_TRUE(module.ok()) << module.status();
    const std::vector<std::vector<int64_t>> want = {{0, 2}, {1, 3}};
    EXPECT_EQ(module->entry()->root()->attributes->replica_groups, want);
  }
}

TEST(ReadModuleTest, ExpandsReplicaGroupsOfMeshAxes) {
  pb::HloModuleProto proto = SmallProto();
  auto* list = proto.mutable_computations(0)
                   ->mutable_instructions(1)
                   ->mutable_mesh_axes_replica_group_list();
  list->mutable_mesh()->add_axes()->set_size(2);
  list->mutable_mesh()->add_axes()->set_size(4);
  list->add_axes();
  pb::MeshAxisRef* minor = list->add_axes();
  minor->set_mesh_axis_index(1);
  minor->mutable_sub_axis()->set_pre_size(2);
  minor->mutable_sub_axis()->set_size(2);
  const auto module = ReadModule(proto.SerializeAsString());
  ASSERT_TRUE(module.ok()) << module.status();
  const std::vector<std::vector<int64_t>> want = {{0, 1, 4, 5}, {2, 3, 6, 7}};
  EXPECT_EQ(module->entry()->root()->attributes->replica_groups, want);
}

struct BadCase {
  std::string name;
  void (*damage)(pb::HloModuleProto*);
  std::string message;
};

class BadModuleTest : public testing::TestWithParam<BadCase> {};

TEST_P(BadModuleTest, IsRefusedWithTheCulprit) {
  pb::HloModuleProto proto = SmallProto();
  GetParam().damage(&proto);
  const auto module = ReadModule(proto.SerializeAsString());
  ASSERT_FALSE(module.ok());
  EXPECT_EQ(module.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(module.status().message()),
              HasSubstr(GetParam().message));
}

pb::HloInstructionProto* Sum(pb::HloModuleProto* module) {
  return module->mutable_computations(0)->mutable_instructions(1);
}

INSTANTIATE_TEST_SUITE_P(
    Table, BadModuleTest,
    testing::ValuesIn<BadCase>({
        {"DanglingOperand",
         [](pb::HloModuleProto* m) { Sum(m)->set_operand_ids(0, 99); },
         "instruction \"sum\": operand id 99"},
        {"CyclicOperand",
         [](pb::HloModuleProto* m) { Sum(m)->set_operand_ids(1, 2); },
         "operand id 2 is not an earlier"},
        {"MissingComputation",
         [](pb::HloModuleProto* m) { Sum(m)->add_called_computation_ids(5); },
         "called computation id 5"},
        {"RecursiveComputation",
         [](pb::HloModuleProto* m) { Sum(m)->add_called_computation_ids(7); },
         "called computation id 7"},
        {"MissingEntry",
         [](pb::HloModuleProto* m) { m->set_entry_computation_id(3); },
         "entry computation id 3"},
        {"MissingRoot",
         [](pb::HloModuleProto* m) {
           m->mutable_computations(0)->set_root_id(44);
         },
         "root id 44"},
        {"SameIdTwice", [](pb::HloModuleProto* m) { Sum(m)->set_id(1); },
         "instruction id 1 is used twice"},
        {"UnknownElementType",
         [](pb::HloModuleProto* m) {
           Sum(m)->mutable_shape()->set_element_type(999);
         },
         "unknown element type 999"},
        {"IotaGroupsOfUnboundedSize",
         [](pb::HloModuleProto* m) {
           auto* iota = Sum(m)->mutable_iota_collective_device_list();
           iota->set_num_replica_groups(1);
           iota->set_num_devices_per_group(int64_t{1} << 40);
           iota->add_iota_reshape_dims(int64_t{1} << 40);
         },
         "instruction \"sum\""},
        {"LiteralTooShort",
         [](pb::HloModuleProto* m) {
           auto* literal = Sum(m)->mutable_literal();
           literal->mutable_shape()->set_element_type(11);
           literal->mutable_shape()->add_dimensions(int64_t{1} << 40);
         },
         "has 0 elements, needs"},
    }),
    [](const auto& test) { return test.param.name; });

TEST(ReadModuleTest, SaysWhatOtherKindsOfFilesAre) {
  const auto message = [](const std::string& bytes) {
    const auto module = ReadModule(bytes);
    EXPECT_FALSE(module.ok()) << bytes;
    return std::string(module.status().message());
  };
  EXPECT_THAT(message(""), HasSubstr("empty"));
  EXPECT_THAT(message("HloModule jit_f"), HasSubstr("line 1, column 16"));
  EXPECT_THAT(message("module @jit_f {"), HasSubstr("MLIR text"));
  EXPECT_THAT(message("ML\xefR..."), HasSubstr("MLIR bytecode"));
  EXPECT_THAT(message("hello world"), HasSubstr("not a serialized"));
  EXPECT_THAT(message("\x1f\x8b garbage"), HasSubstr("damaged gzip"));
  EXPECT_THAT(message("\x28\xb5\x2f\xfd garbage"), HasSubstr("damaged zstd"));
}

TEST(CompressionTest, RoundTripsAndRefusesTruncation) {
  const std::string bytes = SmallProto().SerializeAsString();
  for (const auto kind : {Compression::kGzip, Compression::kZstd}) {
    const std::string packed = Compress(bytes, kind);
    EXPECT_EQ(DetectCompression(packed), kind);
    EXPECT_TRUE(ReadModule(packed).ok());
    EXPECT_EQ(Decompress(packed).value(), bytes);
    for (size_t size = 4; size < packed.size(); size += 7) {
      EXPECT_FALSE(Decompress(packed.substr(0, size)).ok()) << size;
    }
  }
}

TEST(CompressionTest, RefusesResultsAboveTheLimit) {
  const std::string zeros(1 << 20, '\0');
  for (const auto kind : {Compression::kGzip, Compression::kZstd}) {
    const auto result = Decompress(Compress(zeros, kind), 1000);
    ASSERT_FALSE(result.ok());
    EXPECT_THAT(std::string(result.status().message()),
                HasSubstr("more than 1000 bytes"));
  }
}

// Gives ids in the writer's way, so that messages can be compared.
void Renumber(pb::HloModuleProto* module) {
  std::map<int64_t, int64_t> computation_ids;
  int64_t next = 1;
  for (auto& computation : *module->mutable_computations()) {
    std::map<int64_t, int64_t> ids;
    for (auto& instruction : *computation.mutable_instructions()) {
      ids[instruction.id()] = next;
      instruction.set_id(next++);
    }
    for (auto& instruction : *computation.mutable_instructions()) {
      for (int64_t& id : *instruction.mutable_operand_ids()) id = ids[id];
      for (int64_t& id : *instruction.mutable_control_predecessor_ids()) {
        id = ids[id];
      }
      for (int64_t& id : *instruction.mutable_called_computation_ids()) {
        id = computation_ids[id];
      }
    }
    computation.set_root_id(ids[computation.root_id()]);
    computation_ids[computation.id()] = next;
    computation.set_id(next++);
  }
  module->set_entry_computation_id(
      computation_ids[module->entry_computation_id()]);
}

// What is present but empty means the same as what is absent.
void DropDefaults(pb::HloModuleProto* module) {
  for (auto& computation : *module->mutable_computations()) {
    for (auto& instruction : *computation.mutable_instructions()) {
      if (instruction.metadata().ByteSizeLong() == 0) {
        instruction.clear_metadata();
      }
      if (instruction.frontend_attributes().ByteSizeLong() == 0) {
        instruction.clear_frontend_attributes();
      }
    }
  }
  if (module->frontend_attributes().ByteSizeLong() == 0) {
    module->clear_frontend_attributes();
  }
  // Zeros that are written out, as our Python package does.
  for (auto& entry : *module->mutable_input_output_alias()->mutable_entries()) {
    if (entry.parameter_number() == 0) entry.clear_parameter_number();
  }
}

// The bytes with maps in order.
std::string Canonical(const google::protobuf::MessageLite& message) {
  std::string bytes;
  google::protobuf::io::StringOutputStream string_stream(&bytes);
  google::protobuf::io::CodedOutputStream stream(&string_stream);
  stream.SetSerializationDeterministic(true);
  message.SerializeToCodedStream(&stream);
  stream.Trim();
  return bytes;
}

class RoundTripTest : public testing::TestWithParam<std::string> {};

TEST_P(RoundTripTest, LosesNothing) {
  std::string bytes = ReadTestFile(GetParam());
  const auto module = ReadModule(bytes);
  ASSERT_TRUE(module.ok()) << module.status();
  const auto written = WriteModule(*module);
  ASSERT_TRUE(written.ok()) << written.status();
  bytes = Decompress(bytes).value();
  pb::HloModuleProto want;
  pb::HloModuleProto got;
  ASSERT_TRUE(want.ParseFromString(bytes));
  ASSERT_TRUE(got.ParseFromString(*written));
  Renumber(&want);
  DropDefaults(&want);
  ASSERT_EQ(want.computations_size(), got.computations_size());
  for (int c = 0; c < want.computations_size(); ++c) {
    const auto& a = want.computations(c);
    const auto& b = got.computations(c);
    ASSERT_EQ(a.instructions_size(), b.instructions_size());
    for (int i = 0; i < a.instructions_size(); ++i) {
      ASSERT_TRUE(Canonical(a.instructions(i)) == Canonical(b.instructions(i)))
          << a.instructions(i).name();
    }
    EXPECT_TRUE(Canonical(a) == Canonical(b)) << a.name();
  }
  want.clear_computations();
  got.clear_computations();
  EXPECT_TRUE(Canonical(want) == Canonical(got));
}

INSTANTIATE_TEST_SUITE_P(Testdata, RoundTripTest,
                         testing::Values("gpt_tiny.hlo.pb.zst",
                                         "gpt_scan_tiny.hlo.pb.zst",
                                         "gpt_tiny_jax0435.hlo.pb.zst"),
                         [](const auto& test) {
                           return test.param.substr(0, test.param.find('.'));
                         });

TEST(WriteModuleTest, KeepsUnknownFieldsOfEveryMessage) {
  pb::HloModuleProto proto = SmallProto();
  const std::string unknown = "\xca\x3e\x02hi";  // Field 1001, bytes "hi".
  *proto.mutable_unknown_fields() = unknown;
  auto* computation = proto.mutable_computations(0);
  *computation->mutable_unknown_fields() = unknown;
  auto* sum = Sum(&proto);
  *sum->mutable_unknown_fields() = unknown;
  *sum->mutable_shape()->mutable_unknown_fields() = unknown;
  *sum->mutable_shape()->mutable_layout()->mutable_unknown_fields() = unknown;
  *sum->mutable_dot_dimension_numbers()->mutable_unknown_fields() = unknown;
  *sum->mutable_metadata()->mutable_unknown_fields() = unknown;
  *sum->mutable_sharding()->mutable_unknown_fields() = unknown;
  *sum->mutable_window()->add_dimensions()->mutable_unknown_fields() = unknown;
  const auto module = ReadModule(proto.SerializeAsString());
  ASSERT_TRUE(module.ok()) << module.status();
  const std::string written = WriteModule(*module).value();
  int count = 0;
  for (size_t at = written.find(unknown); at != std::string::npos;
       at = written.find(unknown, at + 1)) {
    ++count;
  }
  // The sum's shape is written again as the computation's result.
  EXPECT_EQ(count, 9 + 2);
}

}  // namespace
}  // namespace meshwright
