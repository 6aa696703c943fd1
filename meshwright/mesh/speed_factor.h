// The largest plausible ratio of the speeds of two devices or links; anything
// beyond is taken for a mistake in a cluster file.
#ifndef MESHWRIGHT_MESH_SPEED_FACTOR_H_
#define MESHWRIGHT_MESH_SPEED_FACTOR_H_

namespace meshwright {

inline constexpr double kMostTimes = 1e6;

inline bool IsFactor(double value) {
  return value >= 1 / kMostTimes && value <= kMostTimes;
}

}  // namespace meshwright

#endif  // MESHWRIGHT_MESH_SPEED_FACTOR_H_
