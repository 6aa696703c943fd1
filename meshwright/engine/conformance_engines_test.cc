#include "meshwright/engine/conformance_engines.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <utility>

#include "meshwright/base/check.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/engine/fake_engine.h"
#include "meshwright/engine/plugin.h"

namespace meshwright {
namespace {

const std::map<std::string, std::string>& MlirPrograms() {
  static const auto& programs = *new std::map<std::string, std::string>{
      {"add", R"(
func.func @main(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.add %a, %b : tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
})"},
      {"add_scalars", R"(
func.func @main(%a: tensor<i32>, %b: tensor<i32>) -> tensor<i32> {
  %0 = stablehlo.add %a, %b : tensor<i32>
  return %0 : tensor<i32>
})"},
      {"add_nothing", R"(
func.func @main(%a: tensor<0x3xf32>, %b: tensor<0x3xf32>) -> tensor<0x3xf32> {
  %0 = stablehlo.add %a, %b : tensor<0x3xf32>
  return %0 : tensor<0x3xf32>
})"},
      {"add_bf16", R"(
func.func @main(%a: tensor<3xbf16>, %b: tensor<3xbf16>) -> tensor<3xbf16> {
  %0 = stablehlo.add %a, %b : tensor<3xbf16>
  return %0 : tensor<3xbf16>
})"},
      {"accumulate", R"(
func.func @main(%a: tensor<4xf32> {tf.aliasing_output = 0 : i32},
                %b: tensor<4xf32>) -> (tensor<4xf32>, tensor<f32>) {
  %0 = stablehlo.add %a, %b : tensor<4xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add
       across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return %0, %1 : tensor<4xf32>, tensor<f32>
})"},
      {"transpose", R"(
func.func @main(%a: tensor<2x3xf32>) -> tensor<3x2xf32> {
  %0 = stablehlo.transpose %a, dims = [1, 0]
       : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
})"},
      {"matmul", R"(
func.func @main(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>)
    -> tensor<8x4xf32> {
  %0 = stablehlo.dot %a, %b
       : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
})"},
      {"sum_pairs", R"(
func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "stablehlo.all_reduce"(%a) ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %s = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %s : tensor<f32>
  }) {replica_groups =
        dense<[[0, 4], [1, 5], [2, 6], [3, 7]]> : tensor<4x2xi64>}
     : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
})"},
      // Channels make the group ids partition ids, of which there is one.
      {"fail", R"(
func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "stablehlo.all_to_all"(%a) {
         channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
         split_dimension = 0 : i64, concat_dimension = 0 : i64,
         split_count = 2 : i64,
         replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}
     : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
})"},
  };
  return programs;
}

absl::StatusOr<std::unique_ptr<Client>> CreateCpuClient(int devices) {
  MW_ASSIGN_OR_RETURN(const PluginFile file, FindPlugin("cpu"));
  MW_ASSIGN_OR_RETURN(const Plugin* plugin, Plugin::Load(file));
  return plugin->CreateClient({.cpu_devices = devices});
}

// Whatever plug-in the developer asks for, with the devices it has.
absl::StatusOr<std::unique_ptr<Client>> CreateNamedClient(
    const std::string& name) {
  MW_ASSIGN_OR_RETURN(const PluginFile file, FindPlugin(name));
  MW_ASSIGN_OR_RETURN(const Plugin* plugin, Plugin::Load(file));
  ClientOptions options;
  // Leaves memory for the second client that some tests open.
  if (file.name.starts_with("cuda")) options.values["preallocate"] = false;
  return plugin->CreateClient(options);
}

template <typename T>
std::vector<T> Read(absl::Span<const std::byte> bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::copy(bytes.begin(), bytes.end(),
            reinterpret_cast<std::byte*>(values.data()));
  return values;
}

template <typename T>
void Write(const std::vector<T>& values, absl::Span<std::byte> bytes) {
  MW_CHECK(values.size() * sizeof(T) == bytes.size());
  const auto source = AsBytes(values);
  std::copy(source.begin(), source.end(), bytes.begin());
}

template <typename T>
std::vector<T> Sum(std::vector<T> a, const std::vector<T>& b) {
  for (size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}

FakeFunction Adding(const BufferShape& shape, double flops) {
  const auto run = [shape](const FakeCall& call) {
    const auto& in = call.inputs[0];
    if (shape.type == ElementType::kS32) {
      Write(Sum(Read<int32_t>(in[0]), Read<int32_t>(in[1])),
            call.outputs[0][0]);
    } else if (shape.type == ElementType::kF32) {
      Write(Sum(Read<float>(in[0]), Read<float>(in[1])), call.outputs[0][0]);
    } else {
      // The suite's bf16 sums are 1 + 1 = 2 and 2 + 2 = 4: one more exponent.
      auto values = Read<uint16_t>(in[0]);
      for (uint16_t& value : values) value = uint16_t(value + 0x80);
      Write(values, call.outputs[0][0]);
    }
    return absl::OkStatus();
  };
  return {.signature = {.parameters = {shape, shape}, .outputs = {shape}},
          .run = run,
          .cost = {.flops = flops}};
}

absl::Status Accumulate(const FakeCall& call) {
  const auto sum =
      Sum(Read<float>(call.inputs[0][0]), Read<float>(call.inputs[0][1]));
  float total = 0;
  for (const float value : sum) total += value;
  Write(sum, call.outputs[0][0]);
  Write<float>({total}, call.outputs[0][1]);
  return absl::OkStatus();
}

absl::Status Transpose(const FakeCall& call) {
  const auto in = Read<float>(call.inputs[0][0]);
  std::vector<float> out(6);
  for (int i = 0; i < 6; ++i) out[i % 3 * 2 + i / 3] = in[i];
  Write(out, call.outputs[0][0]);
  return absl::OkStatus();
}

absl::Status Matmul(const FakeCall& call) {
  const auto a = Read<float>(call.inputs[0][0]);
  const auto b = Read<float>(call.inputs[0][1]);
  std::vector<float> out(32);
  for (int m = 0; m < 8; ++m) {
    for (int n = 0; n < 4; ++n) {
      for (int k = 0; k < 16; ++k)
        out[m * 4 + n] += a[m * 16 + k] * b[k * 4 + n];
    }
  }
  Write(out, call.outputs[0][0]);
  return absl::OkStatus();
}

absl::Status SumPairs(const FakeCall& call) {
  for (size_t d = 0; d < 8; ++d) {
    Write(Sum(Read<float>(call.inputs[d][0]),
              Read<float>(call.inputs[(d + 4) % 8][0])),
          call.outputs[d][0]);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Client>> CreateFakeClient(int devices) {
  const auto f32 = [](std::vector<int64_t> dimensions) {
    return BufferShape{ElementType::kF32, std::move(dimensions)};
  };
  auto client = std::make_unique<FakeClient>(FakeOptions{.devices = devices});
  client->Register("add", Adding(f32({2, 3}), 6));
  client->Register("add_scalars", Adding({ElementType::kS32, {}}, 1));
  client->Register("add_nothing", Adding(f32({0, 3}), 0));
  client->Register("add_bf16", Adding({ElementType::kBF16, {3}}, 3));
  client->Register("accumulate",
                   {.signature = {.parameters = {f32({4}), f32({4})},
                                  .outputs = {f32({4}), f32({})},
                                  .donations = {{0, 0}}},
                    .run = Accumulate});
  client->Register("transpose", {.signature = {.parameters = {f32({2, 3})},
                                               .outputs = {f32({3, 2})}},
                                 .run = Transpose});
  client->Register("matmul",
                   {.signature = {.parameters = {f32({8, 16}), f32({16, 4})},
                                  .outputs = {f32({8, 4})}},
                    .run = Matmul,
                    .cost = {.flops = 1024, .bytes_accessed = 896}});
  client->Register("sum_pairs", {.signature = {.parameters = {f32({2})},
                                               .outputs = {f32({2})}},
                                 .run = SumPairs});
  client->Register(
      "fail", {.signature = {.parameters = {f32({2})}, .outputs = {f32({2})}},
               .run = [](const FakeCall&) {
                 return absl::InternalError("on purpose");
               }});
  return client;
}

}  // namespace

std::vector<EngineUnderTest> EnginesUnderTest() {
  const auto mlir = [](const std::string& name) {
    return Program{"mlir",
                   "module @" + name + " {" + MlirPrograms().at(name) + "}"};
  };
  const auto fake = [](const std::string& name) {
    return Program{"fake", name};
  };
  std::vector<EngineUnderTest> engines = {{"Cpu", CreateCpuClient, mlir},
                                          {"Fake", CreateFakeClient, fake}};
  if (const char* name = std::getenv("MESHWRIGHT_TEST_PLUGIN")) {
    engines.push_back(
        {"Named", [name](int) { return CreateNamedClient(name); }, mlir});
  }
  return engines;
}

}  // namespace meshwright
