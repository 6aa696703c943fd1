// Options of saving state, and the result of restoring it.
#ifndef MESHWRIGHT_CHECKPOINT_SAVE_OPTIONS_H_
#define MESHWRIGHT_CHECKPOINT_SAVE_OPTIONS_H_

#include <cstdint>
#include <string>

namespace meshwright {

struct SaveOptions {
  std::string directory;  // DIR: the checkpoint is DIR/step_00000100.
  int64_t step = 0;       // Steps run so far.
  // Older checkpoints are removed once this one is complete; 0: none.
  int64_t keep_last = 0;
  std::string extra = "{}";    // A JSON object to be saved as well.
  bool in_background = false;  // Return as soon as the state is copied.
};

struct RestoredState {
  std::string folder;  // DIR/step_00000100
  int64_t step = 0;
  std::string extra = "{}";
};

}  // namespace meshwright

#endif  // MESHWRIGHT_CHECKPOINT_SAVE_OPTIONS_H_
