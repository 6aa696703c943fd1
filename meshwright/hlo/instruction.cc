#include "meshwright/hlo/instruction.h"

namespace meshwright {

template class Boxed<Attributes>;
template class Boxed<OpSharding>;

}  // namespace meshwright
