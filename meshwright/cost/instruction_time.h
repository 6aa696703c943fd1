// How long the instructions of a program take that several devices share.
#ifndef MESHWRIGHT_COST_INSTRUCTION_TIME_H_
#define MESHWRIGHT_COST_INSTRUCTION_TIME_H_

#include <cstdint>
#include <vector>

#include "meshwright/cost/rates.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

// By instruction id of the entry computation: the seconds of its kernel, were
// its work shared evenly by `devices`; what is fused into another's has none. A
// loop's are those of all its iterations. Nothing is communicated.
std::vector<double> InstructionSeconds(const Module& module, const Rates& rates,
                                       bool is_cpu, int64_t devices);

}  // namespace meshwright

#endif  // MESHWRIGHT_COST_INSTRUCTION_TIME_H_
