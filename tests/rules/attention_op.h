// Test support: a call of cuDNN's attention on its own.
#ifndef MESHWRIGHT_TESTS_RULES_ATTENTION_OP_H_
#define MESHWRIGHT_TESTS_RULES_ATTENTION_OP_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "meshwright/hlo/module.h"
#include "tests/rules/one_op.h"

namespace meshwright {

struct AttentionSizes {
  int64_t batch = 4, queries = 8, keys = 8, heads = 4, key_heads = 4, size = 3;
};

struct AttentionCall {
  AttentionSizes sizes = {};
  bool heads_first = false;
  std::string mask = "NO_MASK";
  int64_t window = 0;
  std::string bias = {};  // Its shape.
  bool lengths = false;
};

inline std::string AttentionConfigFor(const AttentionCall& call,
                                      bool backward) {
  const AttentionSizes& s = call.sizes;
  return absl::StrCat(
      R"({"operation_queue_id":"0","cudnn_fmha_backend_config":{)",
      R"("fmha_scale":0.5,"intermediate_tensor_shape":{"dimensions":[")",
      s.batch, "\",\"", s.heads, "\",\"", s.queries, "\",\"", s.keys,
      R"("]},"mask_type":")", call.mask, R"(",")",
      backward ? "bmm2_grad_gemm2" : "bmm1",
      R"(_dot_dimension_numbers":{"lhs_batch_dimensions":["0",")",
      call.heads_first ? 1 : 2, R"("]},"sliding_window_length":)", call.window,
      "}}");
}

inline std::string Shape4(const AttentionCall& call, int64_t sequence,
                          int64_t heads, bool is_result = false) {
  const AttentionSizes& s = call.sizes;
  const bool first = call.heads_first || is_result;
  return absl::StrCat("f32[", s.batch, ",", first ? heads : sequence, ",",
                      first ? sequence : heads, ",", s.size, "]");
}

inline OneOp Attention(const AttentionCall& call, bool backward) {
  const AttentionSizes& s = call.sizes;
  const std::string query = Shape4(call, s.queries, s.heads);
  const std::string key = Shape4(call, s.keys, s.key_heads);
  const std::string sum =
      absl::StrCat("f32[", s.batch, ",", s.heads, ",", s.queries, "]");
  const std::string out = Shape4(call, s.queries, s.heads, true);
  const std::string key_out = Shape4(call, s.keys, s.key_heads, true);
  OneOp op{.opcode = Opcode::kCustomCall,
           .operands = {query, key, key},
           .exact = false};
  std::string target = call.bias.empty() ? "__cudnn$fmhaSoftmax"
                                         : "__cudnn$fmhaScaleBiasSoftmax";
  if (backward) {
    target += "Backward";
    op.operands.insert(op.operands.end(), {sum, query});
    op.draws[3] = Reals(1, 3);
  }
  if (!call.bias.empty()) op.operands.push_back(call.bias);
  if (backward) op.operands.push_back(query);
  for (int32_t i = 0; i < std::ssize(op.operands); ++i) {
    op.draws.try_emplace(i, Reals(-1, 1));
  }
  if (call.lengths) {
    for (int32_t i = 0; i < 2; ++i) {
      op.draws[static_cast<int32_t>(op.operands.size())] = Integers(1, s.keys);
      op.operands.push_back(absl::StrCat("s32[", s.batch, "]"));
    }
  }
  op.result = backward ? absl::StrCat("(", out, ", ", key_out, ", ", key_out,
                                      call.bias.empty() ? "" : ", ", call.bias,
                                      ", u8[0])")
                       : absl::StrCat("(", out, ", ", sum, ", u8[0])");
  op.set = [=](Attributes& attributes) {
    attributes.custom_call_target = target;
    attributes.backend_config = AttentionConfigFor(call, backward);
  };
  return op;
}

inline OneOp WithDropout(OneOp op, bool backward) {
  op.set = [set = op.set, backward](Attributes& attributes) {
    set(attributes);
    attributes.custom_call_target =
        absl::StrCat("__cudnn$fmhaSoftmaxDropout", backward ? "Backward" : "");
    attributes.backend_config.insert(attributes.backend_config.size() - 2,
                                     R"(,"dropout_rate":0.1,"seed":42)");
  };
  return op;
}

// The seeds of all calls of a program, in order.
inline std::vector<std::string> SeedsIn(const Module& module) {
  std::vector<std::string> seeds;
  for (const auto& computation : module.computations()) {
    for (const auto& instruction : computation->instructions()) {
      if (instruction->opcode != Opcode::kCustomCall) continue;
      const std::string& config = instruction->attributes->backend_config;
      seeds.push_back(config.substr(config.find("\"seed\"")));
    }
  }
  return seeds;
}

}  // namespace meshwright

#endif  // MESHWRIGHT_TESTS_RULES_ATTENTION_OP_H_
