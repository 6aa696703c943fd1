// How many times as fast or as slow one device or link may be as another: what
// is beyond is a mistake in a cluster file.
#ifndef MESHWRIGHT_MESH_SPEED_FACTOR_H_
#define MESHWRIGHT_MESH_SPEED_FACTOR_H_

namespace meshwright {

inline constexpr double kMostTimes = 1e6;

inline bool IsFactor(double value) {
  return value >= 1 / kMostTimes && value <= kMostTimes;
}

}  // namespace meshwright

#endif  // MESHWRIGHT_MESH_SPEED_FACTOR_H_
