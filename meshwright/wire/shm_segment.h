// Shared memory in which a worker publishes data for others on its machine.
//
// It consists of channels. Each serves one call at a time, in rounds: in round
// r the worker fills buffer r % 2 and increments `rounds` to r + 1.
#ifndef MESHWRIGHT_WIRE_SHM_SEGMENT_H_
#define MESHWRIGHT_WIRE_SHM_SEGMENT_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace meshwright {

struct alignas(64) ShmChannel {
  // The id of the call it serves; the same on all members.
  std::atomic<uint64_t> call = 0;
  std::atomic<uint32_t> rounds = 0;
  // Members that have not yet reported that they are done with it.
  std::atomic<uint32_t> readers = 0;
  // Incremented when another member has done something; the futex to wait on.
  std::atomic<uint32_t> bell = 0;
  std::atomic<uint32_t> sleeping = 0;
};

// Notes to one other worker (shm_notes.h). Numbers count up for ever.
struct ShmRing {
  static constexpr uint32_t kNotes = 1 << 16;

  struct Note {
    uint64_t slot;
    uint64_t place;
  };
  alignas(64) std::atomic<uint32_t> sent;
  alignas(64) std::atomic<uint32_t> taken;
  Note notes[kNotes];
};

// Anonymous memory: freed when all processes have unmapped it.
class ShmSegment {
 public:
  static constexpr int kChannels = 256;
  static constexpr size_t kBufferBytes = 768 << 10;

  // An empty segment of this process.
  static absl::StatusOr<std::unique_ptr<ShmSegment>> Create();
  // Another process's segment on this machine, by its path().
  static absl::StatusOr<std::unique_ptr<ShmSegment>> Open(
      const std::string& path);
  ~ShmSegment();
  ShmSegment(const ShmSegment&) = delete;
  ShmSegment& operator=(const ShmSegment&) = delete;

  // A path for other processes: "/proc/4711/fd/9 81985529216486895", where the
  // number identifies the segment in case the path is reused.
  std::string path() const;

  ShmChannel& channel(int index) { return head_->channels[index]; }
  std::byte* buffer(int channel, uint32_t round);

  // Rings when there is a note for this segment's worker.
  struct Bell {
    alignas(64) std::atomic<uint32_t> rings;  // The futex to wait on.
    std::atomic<uint32_t> sleepers;
  };
  Bell& bell() { return head_->bell; }
  // To a worker below this rank.
  static constexpr int kRings = 256;
  ShmRing& ring(int to);

  // For messages (shm_messages.h): as much as half of the machine's memory, of
  // which only what is used is there.
  std::byte* messages();
  uint64_t message_bytes() const { return message_bytes_; }

  // Channels below this have been used.
  int used_channels() const { return head_->used.load(); }
  void set_used_channels(int used) { head_->used.store(used); }

 private:
  struct Head {
    uint64_t mark;
    std::atomic<int> used;
    Bell bell;
    ShmChannel channels[kChannels];
  };
  ShmSegment(int file, Head* head, uint64_t message_bytes)
      : file_(file), head_(head), message_bytes_(message_bytes) {}
  static absl::StatusOr<std::unique_ptr<ShmSegment>> Create(
      size_t message_bytes);
  static absl::StatusOr<std::unique_ptr<ShmSegment>> Map(int file);

  const int file_;
  Head* const head_;
  const uint64_t message_bytes_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_WIRE_SHM_SEGMENT_H_
