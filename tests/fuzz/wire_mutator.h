// Mutates serialized protobufs so that they stay well-formed.
//
// The bytes are read as a tree of fields (a length-delimited field counts as a
// message when its bytes read as one), one node is changed, and the tree is
// written again with right lengths. What comes out parses, and is wrong deeper.
#ifndef MESHWRIGHT_TESTS_FUZZ_WIRE_MUTATOR_H_
#define MESHWRIGHT_TESTS_FUZZ_WIRE_MUTATOR_H_

#include <random>
#include <string>

namespace meshwright {

// Changes one field somewhere: its number, its value, its presence or its
// place. Deterministic for a given generator state.
std::string MutateWire(const std::string& bytes, std::mt19937_64* random);

// Changes bytes without regard to their meaning.
std::string MutateBytes(const std::string& bytes, std::mt19937_64* random);

}  // namespace meshwright

#endif  // MESHWRIGHT_TESTS_FUZZ_WIRE_MUTATOR_H_
