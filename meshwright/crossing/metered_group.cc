#include "meshwright/crossing/metered_group.h"

#include <utility>

#include "meshwright/base/stopwatch.h"

namespace meshwright {
namespace {

template <typename Call>
absl::Status Metered(CrossTrafficMeter& meter, int64_t bytes, Call call) {
  const Stopwatch time;
  absl::Status status = call();
  meter.Add(bytes, time.seconds());
  return status;
}

}  // namespace

absl::Status MeteredGroup::AllReduce(ReduceOp op, ElementType type,
                                     absl::Span<std::byte> data) {
  const int64_t bytes = std::ssize(data) * 2 * (size() - 1) / size();
  return Metered(meter_, bytes,
                 [&] { return group_.AllReduce(op, type, data, tag_); });
}

absl::Status MeteredGroup::ReduceScatter(ReduceOp op, ElementType type,
                                         absl::Span<const std::byte> in,
                                         absl::Span<std::byte> out) {
  return Metered(meter_, std::ssize(in) - std::ssize(out),
                 [&] { return group_.ReduceScatter(op, type, in, out, tag_); });
}

absl::Status MeteredGroup::AllGather(absl::Span<const std::byte> in,
                                     absl::Span<std::byte> out) {
  return Metered(meter_, std::ssize(out) - std::ssize(in),
                 [&] { return group_.AllGather(in, out, tag_); });
}

absl::Status MeteredGroup::Exchange(
    absl::Span<const Group::Outgoing> sends,
    absl::Span<const Group::Incoming> receives) {
  int64_t bytes = 0;
  for (const Group::Outgoing& send : sends) bytes += std::ssize(send.bytes);
  return Metered(meter_, bytes,
                 [&] { return group_.Exchange(sends, receives, tag_); });
}

}  // namespace meshwright
