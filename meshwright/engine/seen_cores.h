// How many cores XLA's CPU compiler takes a process to have.
//
// It divides a loop that is limited by memory (softmax, norms, an optimizer's
// update) into as many parts as the square root of these cores, rounded up, but
// no more than the client has threads; no option changes that. It counts them by
// sched_getaffinity in the thread that compiles. This library defines that
// function for the whole program, also for the plug-ins that it loads, and
// within a SeenCores it has another answer. See docs/design/0002.
//
//   {
//     const SeenCores seen(64);
//     ...  // Compiled here, such loops have 8 parts.
//   }
#ifndef MESHWRIGHT_ENGINE_SEEN_CORES_H_
#define MESHWRIGHT_ENGINE_SEEN_CORES_H_

#include <cstdint>

#include "meshwright/engine/client.h"

namespace meshwright {

// Those on which this thread may run.
int64_t CoreCount();

// What programs of a client should be compiled with, so that such loops have a
// part for each core that one of its devices has to itself; 0: with those that
// there are, as its compiler does not count them.
int64_t CoresToCompileFor(const Client& client);

// While it lives, this thread (no other) is told of `cores` cores; 0: of those
// that there are.
class SeenCores {
 public:
  explicit SeenCores(int64_t cores);
  ~SeenCores();
  SeenCores(const SeenCores&) = delete;
  SeenCores& operator=(const SeenCores&) = delete;

 private:
  const int64_t before_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_ENGINE_SEEN_CORES_H_
