#include "meshwright/engine/pjrt_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace meshwright {
namespace {

using ::testing::HasSubstr;

// A plug-in's error is whatever it likes; here it counts its releases.
struct TestError {
  PJRT_Error_Code code;
  std::string message;
  int destroyed = 0;
};

TestError* Cast(const PJRT_Error* error) {
  return reinterpret_cast<TestError*>(const_cast<PJRT_Error*>(error));
}

PJRT_Api TestTable() {
  PJRT_Api table = NewPjrtArgs<PJRT_Api>();
  table.struct_size = sizeof(table);
  table.pjrt_api_version.major_version = 0;
  table.pjrt_api_version.minor_version = 42;
  table.PJRT_Error_Destroy = [](PJRT_Error_Destroy_Args* args) {
    if (args->error != nullptr) ++Cast(args->error)->destroyed;
  };
  table.PJRT_Error_Message = [](PJRT_Error_Message_Args* args) {
    args->message = Cast(args->error)->message.data();
    args->message_size = Cast(args->error)->message.size();
  };
  table.PJRT_Error_GetCode = [](PJRT_Error_GetCode_Args* args) -> PJRT_Error* {
    args->code = Cast(args->error)->code;
    return nullptr;
  };
  table.PJRT_Event_Await = [](PJRT_Event_Await_Args* args) -> PJRT_Error* {
    return reinterpret_cast<PJRT_Error*>(args->event);
  };
  return table;
}

TEST(PjrtApiTest, ErrorsBecomeStatusAndAreFreedOnce) {
  const PJRT_Api table = TestTable();
  const PjrtApi api(&table);
  TestError error{PJRT_Error_Code_RESOURCE_EXHAUSTED, "no room"};
  auto args = NewPjrtArgs<PJRT_Event_Await_Args>();
  args.event = reinterpret_cast<PJRT_Event*>(&error);
  const absl::Status status = api.Call(MW_PJRT(PJRT_Event_Await), args);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(std::string(status.message()), "no room");
  EXPECT_EQ(error.destroyed, 1);
  args.event = nullptr;
  EXPECT_TRUE(api.Call(MW_PJRT(PJRT_Event_Await), args).ok());
}

TEST(PjrtApiTest, AnErrorThatClaimsToBeOkIsStillAnError) {
  const PJRT_Api table = TestTable();
  TestError error{PJRT_Error_Code_OK, "odd"};
  const absl::Status status =
      PjrtApi(&table).ToStatus(reinterpret_cast<PJRT_Error*>(&error));
  EXPECT_EQ(status.code(), absl::StatusCode::kUnknown);
  EXPECT_EQ(error.destroyed, 1);
}

TEST(PjrtApiTest, FunctionsPastTheEndOfTheTableAreNotRead) {
  PJRT_Api table = TestTable();
  table.PJRT_Client_DmaMap = [](PJRT_Client_DmaMap_Args*) -> PJRT_Error* {
    ADD_FAILURE() << "was called";
    return nullptr;
  };
  table.struct_size = offsetof(PJRT_Api, PJRT_Client_DmaMap);
  auto args = NewPjrtArgs<PJRT_Client_DmaMap_Args>();
  const absl::Status status =
      PjrtApi(&table).Call(MW_PJRT(PJRT_Client_DmaMap), args);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("(PJRT 0.42) has no PJRT_Client_DmaMap"));
}

TEST(PjrtApiTest, PluginsMayKnowMoreFieldsThanWe) {
  struct LaterArgs {
    PJRT_Event_Await_Args known;
    const void* added_later;
  };
  PJRT_Api table = TestTable();
  table.PJRT_Event_Await = [](PJRT_Event_Await_Args* args) -> PJRT_Error* {
    EXPECT_GE(args->struct_size, sizeof(LaterArgs));
    EXPECT_EQ(reinterpret_cast<LaterArgs*>(args)->added_later, nullptr);
    return nullptr;
  };
  auto args = NewPjrtArgs<PJRT_Event_Await_Args>();
  EXPECT_TRUE(PjrtApi(&table).Call(MW_PJRT(PJRT_Event_Await), args).ok());
}

TEST(PjrtApiTest, FunctionsLeftNullAreUnimplemented) {
  const PJRT_Api table = TestTable();
  auto args = NewPjrtArgs<PJRT_Client_Create_Args>();
  EXPECT_EQ(PjrtApi(&table).Call(MW_PJRT(PJRT_Client_Create), args).code(),
            absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace meshwright
