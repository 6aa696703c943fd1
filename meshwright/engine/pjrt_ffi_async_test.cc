// FFI handlers that return before they are done, in programs of the CPU
// plug-in: many more devices than cores, whose calls wait for each other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "meshwright/engine/cpu_plugin_for_test.h"
#include "meshwright/engine/ffi.h"
#include "meshwright/engine/plugin.h"

namespace meshwright {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

constexpr int kDevices = 8;

// Devices meet here, and leave with the sum of what they brought.
class MeetingPlace {
 public:
  static MeetingPlace& Get() {
    static auto& place = *new MeetingPlace;
    return place;
  }

  // The eighth to come sends all away, each in a thread of its own.
  void Arrive(int64_t site, const FfiCall& call, FfiDone done) {
    const std::lock_guard lock(mutex_);
    std::vector<Guest>& guests = guests_[site];
    guests.push_back({call.operands()[0].As<float>(),
                      call.results()[0].As<float>(), std::move(done)});
    if (guests.size() < kDevices) return;
    float sum = 0;
    for (const Guest& guest : guests) sum += *guest.brings;
    for (Guest& guest : guests) {
      leaving_.emplace_back([sum, guest = std::move(guest)] {
        *guest.takes = sum;
        guest.done(absl::OkStatus());
      });
    }
    guests.clear();
  }

  // Once no program runs any more.
  void Clear() {
    guests_.clear();
    for (std::thread& thread : leaving_) thread.join();
    leaving_.clear();
  }

 private:
  struct Guest {
    const float* brings;
    float* takes;
    FfiDone done;
  };

  std::mutex mutex_;
  std::map<int64_t, std::vector<Guest>> guests_;
  std::vector<std::thread> leaving_;
};

void Meet(const FfiCall& call, FfiDone done) {
  const auto site = call.IntegerAttribute("site");
  if (!site.ok()) return done(site.status());
  if (*site == 13) {  // Maybe on one device only.
    const float x = *call.operands()[0].As<float>();
    return done(x == 5 || x == 36 ? absl::DataLossError("13 is unlucky")
                                  : absl::OkStatus());
  }
  if (*site == 14) {
    *call.results()[0].As<float>() = 14;
    return done(absl::OkStatus());
  }
  MeetingPlace::Get().Arrive(*site, call, std::move(done));
}

// "MEET(%y, %x, 3)" stands for y = meet(x) at site 3.
std::string Expand(absl::string_view body) {
  std::string text;
  while (true) {
    const size_t at = body.find("MEET(");
    absl::StrAppend(&text, body.substr(0, at));
    if (at == absl::string_view::npos) return text;
    const size_t end = body.find(')', at);
    const std::vector<std::string> words =
        absl::StrSplit(body.substr(at + 5, end - at - 5), ", ");
    absl::StrAppend(&text, words[0], " = stablehlo.custom_call @mw_test_meet(",
                    words[1],
                    ") {api_version = 4 : i32, has_side_effect = true, "
                    "backend_config = {site = ",
                    words[2], "}} : (tensor<f32>) -> tensor<f32>\n");
    body.remove_prefix(end + 1);
  }
}

class AsyncFfiTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(CpuPlugin().RegisterFfiHandler("mw_test_meet", "Host",
                                             &AsyncFfiHandlerOf<Meet>),
              absl::OkStatus());
    auto client = CpuPlugin().CreateClient({.cpu_devices = kDevices});
    ASSERT_TRUE(client.ok()) << client.status();
    client_ = *std::move(client);
  }
  void TearDown() override { MeetingPlace::Get().Clear(); }

  // Device d has x = d + 1. The result of each.
  absl::StatusOr<std::vector<float>> Run(absl::string_view body) {
    auto executable = client_->Compile(
        {"mlir", absl::StrCat("func.func @main(%x: tensor<f32>) -> "
                              "tensor<f32> {\n",
                              Expand(body), "}")},
        {.num_replicas = kDevices});
    if (!executable.ok()) return executable.status();
    std::vector<BufferPtr> inputs;
    std::vector<std::vector<Buffer*>> arguments;
    for (int device = 0; device < kDevices; ++device) {
      const std::vector<float> x = {static_cast<float>(device + 1)};
      auto buffer = client_->FromHost(
          {.bytes = AsBytes(x), .shape = {ElementType::kF32, {}}},
          *client_->devices()[device]);
      if (!buffer.ok()) return buffer.status();
      arguments.push_back({buffer->get()});
      inputs.push_back(*std::move(buffer));
    }
    const std::vector<absl::Span<Buffer* const>> spans(arguments.begin(),
                                                       arguments.end());
    auto execution = (*executable)->Execute(spans);
    if (!execution.ok()) return execution.status();
    if (const auto status = AwaitAll(execution->done); !status.ok()) {
      return status;
    }
    std::vector<float> results;
    for (const auto& outputs : execution->outputs) {
      std::vector<float> y(1);
      const auto status = outputs[0]->ReadToHost(AsWritableBytes(y));
      if (!status.ok()) return status;
      results.push_back(y[0]);
    }
    return results;
  }

  std::unique_ptr<Client> client_;
};

TEST_F(AsyncFfiTest, AllDevicesMayWaitAtOnce) {
  for (int i = 0; i < 20; ++i) {
    const auto y = Run(R"(
      MEET(%y, %x, 0)
      return %y : tensor<f32>)");
    ASSERT_TRUE(y.ok()) << y.status();
    EXPECT_THAT(*y, Each(36));
  }
}

TEST_F(AsyncFfiTest, OneCallMayWaitForAnother) {
  const auto y = Run(R"(
      MEET(%a, %x, 0)
      %b = stablehlo.multiply %x, %a : tensor<f32>
      MEET(%c, %b, 1)
      %d = stablehlo.add %a, %c : tensor<f32>
      return %d : tensor<f32>)");
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_THAT(*y, Each(36 + 36 * 36));
}

TEST_F(AsyncFfiTest, CallsMayBeIndependent) {
  const auto y = Run(R"(
      %n = stablehlo.negate %x : tensor<f32>
      MEET(%a, %x, 0)
      MEET(%b, %n, 1)
      %c = stablehlo.subtract %a, %b : tensor<f32>
      return %c : tensor<f32>)");
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_THAT(*y, Each(72));
}

TEST_F(AsyncFfiTest, CallsMayBeInLoops) {
  const auto y = Run(R"(
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %r:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<f32>
        cond {
          %n = stablehlo.constant dense<100> : tensor<i32>
          %p = stablehlo.compare LT, %i, %n
            : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %p : tensor<i1>
        } do {
          MEET(%m, %v, 0)
          %eighth = stablehlo.constant dense<0.125> : tensor<f32>
          %w = stablehlo.multiply %m, %eighth : tensor<f32>
          %one = stablehlo.constant dense<1> : tensor<i32>
          %j = stablehlo.add %i, %one : tensor<i32>
          stablehlo.return %j, %w : tensor<i32>, tensor<f32>
        }
      return %r#1 : tensor<f32>)");
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_THAT(*y, Each(4.5));
}

TEST_F(AsyncFfiTest, MayBeDoneAtOnce) {
  const auto y = Run(R"(
      MEET(%y, %x, 14)
      return %y : tensor<f32>)");
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_THAT(*y, Each(14));
}

// Their messages, that is; codes may become kInternal.
TEST_F(AsyncFfiTest, ErrorsAreTheProgramsErrors) {
  for (const char* brought : {"%x", "%a"}) {
    const absl::Status status = Run(absl::StrCat(R"(
        MEET(%a, %x, 0)
        MEET(%b, )",
                                                 brought, R"(, 13)
        %c = stablehlo.add %a, %b : tensor<f32>
        return %c : tensor<f32>)"))
                                    .status();
    EXPECT_THAT(std::string(status.message()), HasSubstr("13 is unlucky"));
  }
}

}  // namespace
}  // namespace meshwright
