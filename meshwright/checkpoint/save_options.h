// What is asked for when state is saved, and what is told when it is restored.
#ifndef MESHWRIGHT_CHECKPOINT_SAVE_OPTIONS_H_
#define MESHWRIGHT_CHECKPOINT_SAVE_OPTIONS_H_

#include <cstdint>
#include <string>

namespace meshwright {

struct SaveOptions {
  std::string directory;     // DIR: the checkpoint is DIR/step_00000100.
  int64_t step = 0;          // How many steps were run.
  int64_t keep_last = 0;     // Older ones go, once this one is there; 0: none.
  std::string extra = "{}";  // A JSON object that goes along.
  bool in_background = false;  // Returns when the state is copied.
};

struct RestoredState {
  std::string folder;  // DIR/step_00000100
  int64_t step = 0;
  std::string extra = "{}";
};

}  // namespace meshwright

#endif  // MESHWRIGHT_CHECKPOINT_SAVE_OPTIONS_H_
