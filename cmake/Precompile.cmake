# Headers that are parsed once for all libraries, and once for all tests.
#
# Tests are not optimised: most of their time would be the compiler's.
set(MW_TEST_OPTIONS -O0)
if(NOT MW_PRECOMPILE)
  function(mw_precompile target)
  endfunction()
  function(mw_precompile_test target)
  endfunction()
  return()
endif()

# What ccache needs to tell what a precompiled header holds.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-fpch-preprocess)
else()
  add_compile_options("SHELL:-Xclang -fno-pch-timestamp")
endif()

function(mw_precompiled_headers name header)
  file(WRITE ${PROJECT_BINARY_DIR}/${name}.cc "")
  add_library(${name} OBJECT ${PROJECT_BINARY_DIR}/${name}.cc)
  target_link_libraries(${name} PRIVATE mw_options absl::flat_hash_map
                                        absl::statusor absl::strings ${ARGN})
  target_precompile_headers(${name} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/${header})
endfunction()

mw_precompiled_headers(mw_precompiled precompiled.h)
function(mw_precompile target)
  target_precompile_headers(${target} REUSE_FROM mw_precompiled)
endfunction()

if(MW_BUILD_TESTS)
  mw_precompiled_headers(mw_precompiled_tests precompiled_tests.h GTest::gmock GTest::gtest)
  target_compile_options(mw_precompiled_tests PRIVATE ${MW_TEST_OPTIONS})
endif()
function(mw_precompile_test target)
  target_precompile_headers(${target} REUSE_FROM mw_precompiled_tests)
endfunction()
