// The names that the Python front end recorded: frontend attributes mw.name of
// parameters, and mw.outputs of the module, a JSON array by leaf.
#ifndef MESHWRIGHT_ANNOTATIONS_RECORDED_NAMES_H_
#define MESHWRIGHT_ANNOTATIONS_RECORDED_NAMES_H_

#include <string>
#include <vector>

#include "meshwright/hlo/module.h"

namespace meshwright {

// The instruction's own name if none was recorded.
std::string RecordedName(const Instruction& parameter);

// Empty if none were recorded, or the attribute is not a list of names.
std::vector<std::string> RecordedOutputs(const Module& module);

}  // namespace meshwright

#endif  // MESHWRIGHT_ANNOTATIONS_RECORDED_NAMES_H_
