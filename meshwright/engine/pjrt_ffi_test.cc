// FFI handlers in programs of the CPU plug-in.
#include "meshwright/engine/pjrt_ffi.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "meshwright/engine/cpu_plugin_for_test.h"
#include "meshwright/engine/ffi.h"
#include "meshwright/engine/plugin.h"

namespace meshwright {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// y = x + by, and how many elements and dimensions x has. Fails if by is 13.
absl::Status Add(const FfiCall& call) {
  const auto by = call.IntegerAttribute("by");
  if (!by.ok()) return by.status();
  const auto mode = call.StringAttribute("mode");
  if (!mode.ok()) return mode.status();
  if (*by == 13) {
    return absl::OutOfRangeError(absl::StrCat("13 with mode ", *mode));
  }
  const FfiArray& x = call.operands()[0];
  const FfiArray& y = call.results()[0];
  const FfiArray& sizes = call.results()[1];
  EXPECT_EQ(x.type, ElementType::kF32);
  EXPECT_EQ(sizes.type, ElementType::kS32);
  EXPECT_EQ(y.dimensions, x.dimensions);
  for (int64_t i = 0; i < x.element_count(); ++i) {
    y.As<float>()[i] = x.As<float>()[i] + static_cast<float>(*by);
  }
  sizes.As<int32_t>()[0] = static_cast<int32_t>(x.element_count());
  sizes.As<int32_t>()[1] = static_cast<int32_t>(x.dimensions.size());
  return absl::OkStatus();
}

Program AddProgram(const std::string& target, const std::string& attributes) {
  return {"mlir", absl::StrCat(R"(
      func.func @main(%x: tensor<2x3xf32>)
          -> (tensor<2x3xf32>, tensor<2xi32>) {
        %y:2 = stablehlo.custom_call @)",
                               target, R"((%x) {
            api_version = 4 : i32, backend_config = {)",
                               attributes, R"(}}
            : (tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2xi32>)
        return %y#0, %y#1 : tensor<2x3xf32>, tensor<2xi32>
      })")};
}

template <typename T>
absl::StatusOr<std::vector<T>> Read(const Buffer& buffer, size_t count) {
  std::vector<T> values(count);
  const absl::Status status = buffer.ReadToHost(
      {reinterpret_cast<std::byte*>(values.data()), count * sizeof(T)});
  if (!status.ok()) return status;
  return values;
}

class FfiTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(CpuPlugin().RegisterFfiHandler("mw_test_add", "Host",
                                             &FfiHandlerOf<Add>),
              absl::OkStatus());
    auto client = CpuPlugin().CreateClient({});
    ASSERT_TRUE(client.ok()) << client.status();
    client_ = *std::move(client);
  }

  // y, or what went wrong on the way.
  absl::StatusOr<std::vector<float>> Run(const std::string& attributes) {
    auto executable =
        client_->Compile(AddProgram("mw_test_add", attributes), {});
    if (!executable.ok()) return executable.status();
    constexpr std::array<float, 6> kValues = {1, 2, 3, 4, 5, 6};
    const auto x = client_->FromHost(
        {.bytes = {reinterpret_cast<const std::byte*>(kValues.data()), 24},
         .shape = {ElementType::kF32, {2, 3}}},
        *client_->devices()[0]);
    if (!x.ok()) return x.status();
    const std::vector<Buffer*> arguments = {x->get()};
    auto execution = (*executable)->Execute({{arguments}});
    if (!execution.ok()) return execution.status();
    const auto sizes = Read<int32_t>(*execution->outputs[0][1], 2);
    if (!sizes.ok()) return sizes.status();
    EXPECT_THAT(*sizes, ElementsAre(6, 2));
    return Read<float>(*execution->outputs[0][0], 6);
  }

  std::unique_ptr<Client> client_;
};

TEST_F(FfiTest, ProgramsCallHandlers) {
  const auto y = Run(R"(by = 1 : i64, mode = "plain")");
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_THAT(*y, ElementsAre(2, 3, 4, 5, 6, 7));
  const auto narrow = Run(R"(by = 2 : i32, mode = "plain")");
  ASSERT_TRUE(narrow.ok()) << narrow.status();
  EXPECT_EQ(narrow->at(5), 8);
}

TEST_F(FfiTest, TheirErrorsAreTheProgramsErrors) {
  const absl::Status status = Run(R"(by = 13, mode = "odd")").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("13 with mode odd"));
  EXPECT_THAT(std::string(Run(R"(mode = "odd")").status().message()),
              HasSubstr("no attribute by"));
  EXPECT_THAT(std::string(Run(R"(by = "x", mode = "")").status().message()),
              HasSubstr("attribute by has another type"));
  EXPECT_THAT(
      std::string(Run(R"(by = 1.0 : f32, mode = "")").status().message()),
      HasSubstr("attribute by is neither i32 nor i64"));
}

TEST_F(FfiTest, OthersAreUnknown) {
  const absl::Status status =
      client_->Compile(AddProgram("mw_test_none", ""), {}).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("mw_test_none"));
}

TEST(FfiExtensionTest, IsFoundByTypeAndSize) {
  struct Two {
    PJRT_Extension_Base base;
    void* first;
    void* second;
  };
  Two two = {{sizeof(Two), PJRT_Extension_Type_FFI, nullptr}, nullptr, nullptr};
  PJRT_Extension_Base other = {sizeof(other), PJRT_Extension_Type_Layouts,
                               &two.base};
  PJRT_Api table = NewPjrtArgs<PJRT_Api>();
  const PjrtApi api(&table);
  EXPECT_EQ(api.FindExtension<Two>(PJRT_Extension_Type_FFI), nullptr);
  table.extension_start = &other;
  EXPECT_EQ(api.FindExtension<Two>(PJRT_Extension_Type_FFI), &two);
  EXPECT_EQ(api.FindExtension<Two>(PJRT_Extension_Type_Layouts), nullptr);
  two.base.struct_size = offsetof(Two, second);
  EXPECT_EQ(api.FindExtension<Two>(PJRT_Extension_Type_FFI), nullptr);
}

TEST(FfiExtensionTest, PluginsWithoutItSaySo) {
  PJRT_Api table = NewPjrtArgs<PJRT_Api>();
  table.pjrt_api_version.minor_version = 40;
  EXPECT_EQ(
      RegisterFfiHandler(PjrtApi(&table), "mine", "Host", &FfiHandlerOf<Add>),
      absl::UnimplementedError(
          "the plug-in (PJRT 0.40) takes no FFI handlers"));
}

}  // namespace
}  // namespace meshwright
