// Runs independent work in parallel on the cores of this machine.
#ifndef MESHWRIGHT_BASE_SIDE_BY_SIDE_H_
#define MESHWRIGHT_BASE_SIDE_BY_SIDE_H_

#include <functional>

namespace meshwright {

// Calls work(0), ..., work(count - 1), each once, concurrently and in any
// order; returns when all are done.
void SideBySide(int count, const std::function<void(int)>& work);

}  // namespace meshwright

#endif  // MESHWRIGHT_BASE_SIDE_BY_SIDE_H_
