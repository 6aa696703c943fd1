// Test support: a call of cuDNN's attention.
#ifndef MESHWRIGHT_RULES_ATTENTION_FOR_TEST_H_
#define MESHWRIGHT_RULES_ATTENTION_FOR_TEST_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

// A module of one call: f32[2,sequence,4,64] operands, causal, with the
// log-sum-exp among its results.
class AttentionForTest {
 public:
  explicit AttentionForTest(int64_t sequence, double dropout = 0) {
    const auto array = [](std::vector<int64_t> dimensions) {
      return Shape::Array(ElementType::kF32, std::move(dimensions));
    };
    Computation* entry = module.AddComputation("main");
    std::vector<Instruction*> operands;
    for (const char* name : {"q", "k", "v"}) {
      operands.push_back(
          entry->AddParameter(array({2, sequence, 4, 64}), name));
    }
    call = entry->Add(
        Opcode::kCustomCall,
        Shape::Tuple({array({2, 4, sequence, 64}), array({2, 4, sequence}),
                      Shape::Array(ElementType::kU8, {0})}),
        operands, "attention");
    Attributes& attributes = call->attributes.mutate();
    attributes.custom_call_target =
        dropout > 0 ? "__cudnn$fmhaSoftmaxDropout" : "__cudnn$fmhaSoftmax";
    attributes.backend_config = absl::StrCat(
        R"({"cudnn_fmha_backend_config":{"fmha_scale":0.5,"dropout_rate":)",
        dropout,
        R"(,"seed":42,"mask_type":"CAUSAL","bmm1_dot_dimension_numbers":)",
        R"({"lhs_batch_dimensions":["0","2"]},"sliding_window_length":0}})");
    entry->set_root(call);
    module.set_entry(entry);
    module.Finish();
  }

  Module module{"step"};
  Instruction* call = nullptr;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_RULES_ATTENTION_FOR_TEST_H_
