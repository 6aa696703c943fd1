#include "meshwright/engine/pjrt_key_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

namespace meshwright {
namespace {

using ::testing::HasSubstr;

// What a plug-in makes of an error that it is told.
struct KeyValueError {
  PJRT_Error_Code code;
  std::string message;
};

PJRT_Error* MakeError(PJRT_Error_Code code, const char* message, size_t size) {
  return reinterpret_cast<PJRT_Error*>(
      new KeyValueError{code, std::string(message, size)});
}

absl::Status Take(PJRT_Error* error) {
  if (error == nullptr) return absl::OkStatus();
  const std::unique_ptr<KeyValueError> mine(
      reinterpret_cast<KeyValueError*>(error));
  return {static_cast<absl::StatusCode>(mine->code), mine->message};
}

// A team of one, as a plug-in sees it.
class PjrtKeyValuesTest : public testing::Test {
 protected:
  PjrtKeyValuesTest() { key_values_.AddTo(create_); }

  // Of Get and TryGet.
  template <typename Args>
  absl::StatusOr<std::string> Ask(PJRT_Error* (*callback)(Args*),
                                  void* user_arg, Args args,
                                  const std::string& key) {
    PJRT_CallbackError make_error = MakeError;
    args.key = key.data();
    args.key_size = key.size();
    args.callback_error = &make_error;
    args.user_arg = user_arg;
    const absl::Status status = Take(callback(&args));
    if (!status.ok()) return status;
    std::string value(args.value, args.value_size);
    args.value_deleter_callback(args.value);
    return value;
  }
  absl::StatusOr<std::string> Get(const std::string& key, int timeout_ms) {
    PJRT_KeyValueGetCallback_Args args = {};
    args.timeout_in_ms = timeout_ms;
    return Ask(create_.kv_get_callback, create_.kv_get_user_arg, args, key);
  }
  absl::StatusOr<std::string> TryGet(const std::string& key) {
    return Ask(create_.kv_try_get_callback, create_.kv_try_get_user_arg,
               PJRT_KeyValueTryGetCallback_Args{}, key);
  }
  absl::Status Put(const std::string& key, const std::string& value) {
    PJRT_CallbackError make_error = MakeError;
    PJRT_KeyValuePutCallback_Args args = {};
    args.key = key.data();
    args.key_size = key.size();
    args.value = value.data();
    args.value_size = value.size();
    args.callback_error = &make_error;
    args.user_arg = create_.kv_put_user_arg;
    return Take(create_.kv_put_callback(&args));
  }

  std::map<std::string, std::string> values_;
  absl::Duration timeout_;  // Of the last that was asked.
  PjrtKeyValues key_values_{
      {.get = [this](const std::string& key,
                     absl::Duration timeout) -> absl::StatusOr<std::string> {
         timeout_ = timeout;
         if (values_.contains(key)) return values_.at(key);
         return absl::DeadlineExceededError("nobody set " + key);
       },
       .set =
           [this](const std::string& key, std::string value) {
             if (key == "full") return absl::ResourceExhaustedError("no room");
             values_[key] = std::move(value);
             return absl::OkStatus();
           }}};
  PJRT_Client_Create_Args create_ = {};
};

TEST_F(PjrtKeyValuesTest, WhatWasPutIsGotByteForByte) {
  const std::string bytes("a\0b\xff", 4);
  ASSERT_TRUE(Put("local_topology/cuda/0", bytes).ok());
  EXPECT_EQ(*Get("local_topology/cuda/0", 1500), bytes);
  EXPECT_EQ(timeout_, absl::Milliseconds(1500));
  EXPECT_EQ(*TryGet("local_topology/cuda/0"), bytes);
  ASSERT_TRUE(Put("empty", "").ok());
  EXPECT_EQ(*Get("empty", 1), "");
}

TEST_F(PjrtKeyValuesTest, WhatNobodySetIsLateOrNotFound) {
  const absl::Status late = Get("global_topology/cuda", 20).status();
  EXPECT_EQ(late.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(late.message()), HasSubstr("global_topology/cuda"));
  const absl::Status missing = TryGet("global_topology/cuda").status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(timeout_, absl::ZeroDuration());
}

TEST_F(PjrtKeyValuesTest, ErrorsOfTheStoreReachThePlugin) {
  const absl::Status status = Put("full", "x");
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(std::string(status.message()), "no room");
}

}  // namespace
}  // namespace meshwright
