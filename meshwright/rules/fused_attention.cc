#include "meshwright/rules/fused_attention.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "meshwright/rules/dropout_seeds.h"
#include "nlohmann/json.hpp"

namespace meshwright {
namespace {

using Json = nlohmann::ordered_json;
using Tensor = AttentionPart;

constexpr absl::string_view kPrefix = "__cudnn$fmha";
constexpr char kConfig[] = "cudnn_fmha_backend_config";

struct Variant {
  bool bias = false;
  bool dropout = false;
  bool backward = false;
  bool is_f8 = false;
};

std::optional<Variant> ParseName(absl::string_view target) {
  Variant name;
  if (!absl::ConsumePrefix(&target, kPrefix)) return std::nullopt;
  name.bias = absl::ConsumePrefix(&target, "ScaleBias");
  if (!absl::ConsumePrefix(&target, "Softmax")) return std::nullopt;
  name.dropout = absl::ConsumePrefix(&target, "Dropout");
  name.backward = absl::ConsumePrefix(&target, "Backward");
  name.is_f8 = absl::ConsumePrefix(&target, "F8");
  if (!target.empty()) return std::nullopt;
  return name;
}

// Numbers may be written as such, or in quotes.
int64_t Integer(const Json& value) {
  if (value.is_number_integer()) return value.get<int64_t>();
  int64_t number = 0;
  if (value.is_string()) {
    static_cast<void>(absl::SimpleAtoi(value.get<std::string>(), &number));
  }
  return number;
}

// The parts in order, as far as the counts tell them apart.
void ListParts(const Variant& name, bool has_lengths, size_t results,
               FusedAttention& attention) {
  std::vector<Tensor>& in = attention.operands;
  std::vector<Tensor>& out = attention.results;
  in = {Tensor::kQuery, Tensor::kKey, Tensor::kValue};
  if (name.backward && name.is_f8) {
    in.insert(in.end(), {Tensor::kOutput, Tensor::kOutput, Tensor::kLogSumExp});
    in.insert(in.end(), 12, Tensor::kScale);
    out = {Tensor::kQuery, Tensor::kKey, Tensor::kValue};
    out.insert(out.end(), 4, Tensor::kAbsoluteMax);
  } else if (name.is_f8) {
    in.insert(in.end(), 6, Tensor::kScale);
    out = {Tensor::kOutput, Tensor::kAbsoluteMax, Tensor::kAbsoluteMax};
    if (results == 5) out.push_back(Tensor::kLogSumExp);
  } else if (name.backward) {
    in.insert(in.end(), {Tensor::kLogSumExp, Tensor::kOutput});
    if (name.bias) in.push_back(Tensor::kBias);
    in.push_back(Tensor::kOutput);
    out = {Tensor::kQuery, Tensor::kKey, Tensor::kValue};
    if (results == 5) out.push_back(Tensor::kBias);
  } else {
    if (name.bias) in.push_back(Tensor::kBias);
    out = {Tensor::kOutput};
    if (results == 3) out.push_back(Tensor::kLogSumExp);
  }
  if (has_lengths) in.insert(in.end(), 2, Tensor::kLengths);
  if (attention.segments > 1) in.insert(in.end(), 2, Tensor::kOffsets);
  out.push_back(Tensor::kWorkspace);
}

bool ReadSizes(const Instruction& instruction, FusedAttention& attention) {
  for (int32_t i = 0; i < 3; ++i) {
    const Shape& shape = instruction.operand_shape(i);
    if (!shape.IsArray() || shape.rank() != 4) return false;
  }
  const auto size = [&](int32_t operand, int64_t dimension) {
    return instruction.operand_shape(operand).dimensions[dimension];
  };
  const int64_t heads = attention.heads_first ? 1 : 2;
  const int64_t sequence = attention.heads_first ? 2 : 1;
  attention.batch = size(0, 0);
  attention.queries = size(0, sequence);
  attention.query_heads = size(0, heads);
  attention.keys = size(1, sequence);
  attention.key_heads = size(1, heads);
  attention.size = size(0, 3);
  attention.value_size = size(2, 3);
  return size(1, 0) == attention.batch && size(2, 0) == attention.batch &&
         size(2, sequence) == attention.keys &&
         size(2, heads) == attention.key_heads &&
         size(1, 3) == attention.size && attention.key_heads > 0 &&
         attention.query_heads % attention.key_heads == 0;
}

std::vector<int64_t> Expected(const FusedAttention& attention, Tensor part,
                              bool is_result) {
  const FusedAttention& a = attention;
  const auto four = [&](int64_t heads, int64_t sequence, int64_t size) {
    return is_result || a.heads_first
               ? std::vector<int64_t>{a.batch, heads, sequence, size}
               : std::vector<int64_t>{a.batch, sequence, heads, size};
  };
  switch (part) {
    case Tensor::kQuery:
      return four(a.query_heads, a.queries, a.size);
    case Tensor::kKey:
      return four(a.key_heads, a.keys, a.size);
    case Tensor::kValue:
      return four(a.key_heads, a.keys, a.value_size);
    case Tensor::kOutput:
      return four(a.query_heads, a.queries, a.value_size);
    case Tensor::kLogSumExp:
      return {a.batch * a.segments, a.query_heads, a.queries};
    case Tensor::kLengths:
      if (a.segments == 1) return {a.batch};
      return {a.batch, a.segments};
    case Tensor::kOffsets:
      return {a.batch, a.segments + 1};
    case Tensor::kScale:
    case Tensor::kAbsoluteMax:
      return {1, 1, 1, 1};
    case Tensor::kBias:
    case Tensor::kWorkspace:
      break;
  }
  return {};
}

bool Fits(const FusedAttention& attention, Tensor part, const Shape& shape,
          bool is_result) {
  if (!shape.IsArray()) return false;
  if (part == Tensor::kWorkspace) return shape.rank() == 1;
  if (part != Tensor::kBias) {
    return shape.dimensions == Expected(attention, part, is_result);
  }
  return shape.rank() == 4 &&
         (shape.dimensions[0] == 1 || shape.dimensions[0] == attention.batch) &&
         (shape.dimensions[1] == 1 ||
          shape.dimensions[1] == attention.query_heads) &&
         shape.dimensions[2] == attention.queries &&
         shape.dimensions[3] == attention.keys;
}

bool AllFit(const Instruction& instruction, const FusedAttention& attention) {
  const std::vector<const Shape*> results = Leaves(instruction.shape);
  if (attention.operands.size() != instruction.operands.size() ||
      attention.results.size() != results.size()) {
    return false;
  }
  for (size_t i = 0; i < attention.operands.size(); ++i) {
    if (!Fits(attention, attention.operands[i], instruction.operand_shape(i),
              /*is_result=*/false)) {
      return false;
    }
  }
  for (size_t i = 0; i < results.size(); ++i) {
    if (!Fits(attention, attention.results[i], *results[i],
              /*is_result=*/true)) {
      return false;
    }
  }
  return true;
}

// The key whose product has queries on its left.
const char* QueryProduct(bool backward) {
  return backward ? "bmm2_grad_gemm2_dot_dimension_numbers"
                  : "bmm1_dot_dimension_numbers";
}

// The area below the diagonal of a matrix, which begins at its first element.
double AreaBelowDiagonal(double rows, double columns) {
  if (rows <= 0) return 0;
  const double square = std::min(rows, columns);
  return square * square / 2 + (rows - square) * columns;
}

// The share of all pairs of a query and a key that is not masked. With a window
// w, query i attends to keys after i - w: below w diagonals, nothing.
double AttendedShare(const FusedAttention& attention) {
  if (attention.window <= 0) return attention.causal ? 0.5 : 1;
  const auto rows = static_cast<double>(attention.queries);
  const auto columns = static_cast<double>(attention.keys);
  if (rows <= 0 || columns <= 0) return 1;
  const double near =
      attention.causal ? AreaBelowDiagonal(rows, columns) : rows * columns;
  const double far =
      AreaBelowDiagonal(rows - static_cast<double>(attention.window), columns);
  return (near - far) / (rows * columns);
}

bool HasDropout(const Instruction& instruction) {
  const std::optional<FusedAttention> attention =
      ReadFusedAttention(instruction);
  return attention.has_value() && attention->dropout > 0;
}

}  // namespace

double FusedAttention::Flops() const {
  const double scores =
      static_cast<double>(batch) * static_cast<double>(query_heads) *
      static_cast<double>(queries) * static_cast<double>(keys);
  const auto inner = static_cast<double>(size);
  const auto outer = static_cast<double>(value_size);
  const double sizes = backward ? 3 * inner + 2 * outer : inner + outer;
  return 2 * scores * sizes * AttendedShare(*this);
}

int32_t FusedAttention::OperandOf(AttentionPart part) const {
  const auto found = std::ranges::find(operands, part);
  return found == operands.end()
             ? -1
             : static_cast<int32_t>(found - operands.begin());
}

bool IsFusedAttention(const Instruction& instruction) {
  return instruction.opcode == Opcode::kCustomCall &&
         absl::StartsWith(instruction.attributes->custom_call_target, kPrefix);
}

std::optional<FusedAttention> ReadFusedAttention(
    const Instruction& instruction) {
  if (!IsFusedAttention(instruction)) return std::nullopt;
  const std::optional<Variant> name =
      ParseName(instruction.attributes->custom_call_target);
  const Json json = Json::parse(instruction.attributes->backend_config, nullptr,
                                /*allow_exceptions=*/false);
  if (!name.has_value() || !json.is_object() || !json.contains(kConfig) ||
      instruction.operands.size() < 3) {
    return std::nullopt;
  }
  const Json& config = json[kConfig];
  if (!config.is_object()) return std::nullopt;
  FusedAttention attention;
  attention.backward = name->backward;
  attention.is_f8 = name->is_f8;
  const auto number = [&](const char* key, double otherwise) {
    return config.contains(key) && config[key].is_number()
               ? config[key].get<double>()
               : otherwise;
  };
  attention.scale = number("fmha_scale", 1);
  attention.dropout = name->dropout ? number("dropout_rate", 0) : 0;
  if (config.contains("seed")) attention.seed = Integer(config["seed"]);
  attention.window = static_cast<int64_t>(number("sliding_window_length", 0));
  attention.segments = std::max<int64_t>(
      1, static_cast<int64_t>(number("max_seg_per_batch", 1)));
  const std::string mask =
      config.contains("mask_type") && config["mask_type"].is_string()
          ? config["mask_type"].get<std::string>()
          : "NO_MASK";
  attention.causal = mask == "CAUSAL" || mask == "PADDING_CAUSAL";
  const bool padded = absl::StartsWith(mask, "PADDING");
  if (!attention.causal && !padded && mask != "NO_MASK") return std::nullopt;
  if (config.contains("is_paged_attention") &&
      config["is_paged_attention"] == true) {
    return std::nullopt;
  }
  const Json* product = config.contains(QueryProduct(name->backward))
                            ? &config[QueryProduct(name->backward)]
                            : nullptr;
  if (product == nullptr || !product->contains("lhs_batch_dimensions") ||
      (*product)["lhs_batch_dimensions"].size() != 2) {
    return std::nullopt;
  }
  attention.heads_first = Integer((*product)["lhs_batch_dimensions"][1]) == 1;
  ListParts(*name, padded || attention.segments > 1,
            Leaves(instruction.shape).size(), attention);
  if (!ReadSizes(instruction, attention) || !AllFit(instruction, attention)) {
    return std::nullopt;
  }
  return attention;
}

std::string AttentionConfig(const Instruction& instruction, int64_t batch,
                            int64_t heads, int64_t queries, int64_t keys,
                            bool causal) {
  Json json = Json::parse(instruction.attributes->backend_config);
  Json& config = json[kConfig];
  config["intermediate_tensor_shape"]["dimensions"] = {
      absl::StrCat(batch), absl::StrCat(heads), absl::StrCat(queries),
      absl::StrCat(keys)};
  std::string mask = config["mask_type"].get<std::string>();
  if (!causal && mask == "CAUSAL") config["mask_type"] = "NO_MASK";
  if (!causal && mask == "PADDING_CAUSAL") config["mask_type"] = "PADDING";
  return json.dump();
}

std::string ConfigWithSeed(const std::string& config, int64_t seed) {
  Json json = Json::parse(config);
  json[kConfig]["seed"] = seed;
  return json.dump();
}

std::string DropoutNote(const Module& module, int64_t devices,
                        int64_t micro_batches) {
  if (devices <= 1 && micro_batches <= 1) return "";
  for (const auto& computation : module.computations()) {
    for (const auto& instruction : computation->instructions()) {
      if (!HasDropout(*instruction)) continue;
      std::string note =
          "dropout in attention: where it is split, other elements are "
          "dropped than on one device, as many";
      const bool shares_seeds = devices > kMaxSeeds;
      if (!shares_seeds && micro_batches <= 1) note += " and as random";
      if (shares_seeds) {
        absl::StrAppend(&note, "; of more than ", kMaxSeeds, " shards, those ",
                        kMaxSeeds, " apart drop the same");
      }
      if (micro_batches > 1) note += "; all micro-batches drop the same";
      return note;
    }
  }
  return "";
}

bool SwitchOffDropout(Module& module) {
  bool any = false;
  for (const auto& computation : module.computations()) {
    for (const auto& instruction : computation->instructions()) {
      if (!HasDropout(*instruction)) continue;
      std::string& config = instruction->attributes.mutate().backend_config;
      Json json = Json::parse(config);
      json[kConfig]["dropout_rate"] = 0.0;
      config = json.dump();
      any = true;
    }
  }
  return any;
}

}  // namespace meshwright
