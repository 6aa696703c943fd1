// Test support: the backward pass of cuDNN's attention as a step.
#ifndef MESHWRIGHT_COST_ATTENTION_STEP_FOR_TEST_H_
#define MESHWRIGHT_COST_ATTENTION_STEP_FOR_TEST_H_

#include <vector>

#include "meshwright/cost/module_for_test.h"

namespace meshwright {

// A step of one call of cuDNN's attention, backward: bf16, [batch, sequence,
// heads, 64], with `shared` query heads for each key
// head.
struct AttentionStepForTest {
  AttentionStepForTest(int64_t batch, int64_t sequence, int64_t heads,
                       int64_t shared) {
    BodyForTest body(module.AddComputation("main"));
    const auto array = [&](int64_t of) {
      return Shape::Array(ElementType::kBF16, {batch, sequence, of, 64});
    };
    const auto first = [&](int64_t of) {
      return Shape::Array(ElementType::kBF16, {batch, of, sequence, 64});
    };
    const int64_t keys = heads / shared;
    std::vector<Instruction*> operands;
    for (const int64_t of : {heads, keys, keys}) {
      operands.push_back(body.Parameter(array(of)));
    }
    operands.push_back(body.Parameter(
        Shape::Array(ElementType::kF32, {batch, heads, sequence})));
    for (int i = 0; i < 2; ++i)
      operands.push_back(body.Parameter(array(heads)));
    call = body.Add(Opcode::kCustomCall,
                    Shape::Tuple({first(heads), first(keys), first(keys),
                                  Shape::Array(ElementType::kU8, {0})}),
                    operands);
    Attributes& attributes = call->attributes.mutate();
    attributes.custom_call_target = "__cudnn$fmhaSoftmaxBackward";
    attributes.backend_config =
        R"({"cudnn_fmha_backend_config":{"fmha_scale":0.5,"dropout_rate":0,)"
        R"("seed":42,"mask_type":"CAUSAL","bmm2_grad_gemm2_dot_dimension_)"
        R"(numbers":{"lhs_batch_dimensions":["0","2"]},)"
        R"("sliding_window_length":0}})";
    module.set_entry(body.computation());
    module.Finish();
  }

  Module module{"step"};
  Instruction* call = nullptr;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_COST_ATTENTION_STEP_FOR_TEST_H_
