// Test support: the CPU plug-in.
#ifndef MESHWRIGHT_ENGINE_CPU_PLUGIN_FOR_TEST_H_
#define MESHWRIGHT_ENGINE_CPU_PLUGIN_FOR_TEST_H_

#include <gtest/gtest.h>

#include "meshwright/engine/plugin.h"

namespace meshwright {

inline const Plugin& CpuPlugin() {
  const auto file = FindPlugin("cpu");
  EXPECT_TRUE(file.ok()) << file.status();
  const auto plugin = Plugin::Load(*file);
  EXPECT_TRUE(plugin.ok()) << plugin.status();
  return **plugin;
}

}  // namespace meshwright

#endif  // MESHWRIGHT_ENGINE_CPU_PLUGIN_FOR_TEST_H_
