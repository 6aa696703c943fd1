#include "meshwright/hlo/host_calls.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/hlo/source_line.h"

namespace meshwright {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class HostCallsTest : public testing::Test {
 protected:
  HostCallsTest() : module_("step") {
    entry_ = module_.AddComputation("main");
    module_.set_entry(entry_);
  }

  Instruction* CustomCall(const char* name, const char* target) {
    Instruction* call =
        entry_->Add(Opcode::kCustomCall, Shape::Token(), {}, name);
    call->attributes.mutate().custom_call_target = target;
    return call;
  }

  Module module_;
  Computation* entry_ = nullptr;
};

TEST_F(HostCallsTest, CallbacksOfAllDevicesAreFound) {
  const Instruction* const cpu = CustomCall("a", "xla_ffi_python_cpu_callback");
  const Instruction* const gpu = CustomCall("b", "xla_python_gpu_callback");
  CustomCall("c", "Sharding");
  CustomCall("d", "lapack_spotrf_ffi");
  const Instruction* const feed =
      entry_->Add(Opcode::kInfeed, Shape::Token(), {}, "e");
  EXPECT_THAT(HostCalls(module_), ElementsAre(cpu, gpu, feed));
  EXPECT_THAT(HostCallCure(*cpu), HasSubstr("jax.debug.print"));
  EXPECT_THAT(HostCallCure(*feed), HasSubstr("parameter"));
  EXPECT_EQ(HostCallWords(module_, *feed),
            "e exchanges data with the host (infeed)");
}

TEST_F(HostCallsTest, SourceLinesOfOldMetadata) {
  Instruction* call = CustomCall("a", "xla_python_cpu_callback");
  call->metadata.op_name = "jit(step)/debug_callback";
  EXPECT_EQ(HostCallWords(module_, *call),
            "a (jit(step)/debug_callback) calls a Python function "
            "(xla_python_cpu_callback)");
  call->metadata.source_file = "train.py";
  call->metadata.source_line = 31;
  EXPECT_EQ(HostCallWords(module_, *call),
            "a (jit(step)/debug_callback, train.py:31) calls a Python function "
            "(xla_python_cpu_callback)");
}

TEST_F(HostCallsTest, SourceLinesOfStackFrames) {
  Instruction* call = CustomCall("a", "xla_python_cpu_callback");
  // OpMetadata.stack_frame_id (15) 1; HloModuleProto.stack_frame_index (17) of
  // one file "t.py", and one location in it: line 7.
  call->metadata.unknown_fields = "\x78\x01";
  module_.unknown_fields = std::string(
      "\x8a\x01\x10\x0a\x04t.py\x1a\x04\x08\x01\x18\x07\x22\x02\x08\x01", 19);
  EXPECT_EQ(SourceLine(module_, *call), "t.py:7");
  call->metadata.unknown_fields = "\x78\x02";  // There is no second frame.
  EXPECT_EQ(SourceLine(module_, *call), "");
  module_.unknown_fields = "\xff\xff";
  EXPECT_EQ(SourceLine(module_, *call), "");
}

}  // namespace
}  // namespace meshwright
