// Workers that are threads, with wires of every kind between them.
#ifndef MESHWRIGHT_WIRE_WIRES_FOR_TEST_H_
#define MESHWRIGHT_WIRE_WIRES_FOR_TEST_H_

#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "meshwright/wire/gloo_wire.h"
#include "meshwright/wire/memory_key_value_store.h"
#include "meshwright/wire/memory_wire.h"
#include "meshwright/wire/wire.h"

namespace meshwright {

enum class WireKind { kMemory, kTcp, kSharedMemory };

inline std::string NameOf(WireKind kind) {
  return kind == WireKind::kMemory ? "Memory"
         : kind == WireKind::kTcp  ? "Tcp"
                                   : "SharedMemory";
}

inline std::vector<std::string> WorkerNames(int count) {
  std::vector<std::string> names;
  for (int rank = 0; rank < count; ++rank) {
    names.push_back(absl::StrCat("worker ", rank));
  }
  return names;
}

// Runs `work` in `count` threads at the same time and waits for all.
inline void RunThreads(int count, const std::function<void(int)>& work) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back([&, i] { work(i); });
  for (std::thread& thread : threads) thread.join();
}

inline std::vector<std::unique_ptr<Wire>> MakeWires(
    WireKind kind, int count, absl::Duration timeout = absl::Seconds(20)) {
  if (kind == WireKind::kMemory) return MakeMemoryWires(count, timeout);
  MemoryKeyValueStore store;
  std::vector<std::unique_ptr<Wire>> wires(count);
  RunThreads(count, [&](int rank) {
    auto wire =
        ConnectGlooWire({.rank = rank,
                         .names = WorkerNames(count),
                         .store = &store,
                         .timeout = timeout,
                         .shared_memory = kind == WireKind::kSharedMemory});
    ASSERT_TRUE(wire.ok()) << wire.status();
    wires[rank] = *std::move(wire);
  });
  return wires;
}

// One thread for each wire.
inline void RunWorkers(const std::vector<std::unique_ptr<Wire>>& wires,
                       const std::function<void(Wire&)>& work) {
  RunThreads(static_cast<int>(wires.size()),
             [&](int rank) { work(*wires[rank]); });
}

inline std::vector<int> AllRanks(const Wire& wire) {
  std::vector<int> ranks;
  for (int rank = 0; rank < wire.size(); ++rank) ranks.push_back(rank);
  return ranks;
}

inline Group* GroupOfAll(Wire& wire) {
  auto group = wire.GroupOf(AllRanks(wire));
  EXPECT_TRUE(group.ok()) << group.status();
  return group.ok() ? *group : nullptr;
}

template <typename T>
absl::Span<std::byte> WritableBytes(std::vector<T>& values) {
  return {reinterpret_cast<std::byte*>(values.data()),
          values.size() * sizeof(T)};
}

template <typename T>
absl::Span<const std::byte> Bytes(const std::vector<T>& values) {
  return {reinterpret_cast<const std::byte*>(values.data()),
          values.size() * sizeof(T)};
}

// The message that arrives.
template <typename T>
absl::StatusOr<std::vector<T>> ValuesOf(Arrival& arrival) {
  const absl::Status status = arrival.Await();
  if (!status.ok()) return status;
  const absl::Span<const std::byte> bytes = arrival.bytes().bytes;
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

template <typename T>
absl::StatusOr<std::vector<T>> ReceiveValues(Wire& wire, int from,
                                             const MessageKey& key,
                                             size_t count) {
  return ValuesOf<T>(*wire.Receive(from, key, count * sizeof(T)));
}

}  // namespace meshwright

#endif  // MESHWRIGHT_WIRE_WIRES_FOR_TEST_H_
