# mw_library(NAME hlo DEPS base absl::strings ...)
#
# One static library per folder: every *.cc of the current folder goes in, and
# every *_test.cc becomes part of one test binary, `<name>_test`, registered
# with CTest test by test. Files ending in _main.cc are left to the folder.
include(GoogleTest)

function(mw_library)
  cmake_parse_arguments(ARG "" "NAME" "DEPS;TEST_DEPS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS *.cc)
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER sources EXCLUDE REGEX "(_test|_main)\\.cc$")
  if(sources)
    add_library(mw_${ARG_NAME} STATIC ${sources})
    target_link_libraries(mw_${ARG_NAME} PUBLIC mw_options ${ARG_DEPS})
    set(under_test mw_${ARG_NAME})
  else()
    add_library(mw_${ARG_NAME} INTERFACE)
    target_link_libraries(mw_${ARG_NAME} INTERFACE mw_options ${ARG_DEPS})
    set(under_test mw_${ARG_NAME})
  endif()
  if(tests AND MW_BUILD_TESTS)
    add_executable(${ARG_NAME}_test ${tests})
    target_link_libraries(
      ${ARG_NAME}_test PRIVATE ${under_test} ${ARG_TEST_DEPS}
                               GTest::gmock GTest::gtest GTest::gtest_main)
    target_compile_definitions(
      ${ARG_NAME}_test PRIVATE MW_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
    gtest_discover_tests(
      ${ARG_NAME}_test
      DISCOVERY_MODE PRE_TEST
      PROPERTIES LABELS "fast" TIMEOUT 600)
  endif()
endfunction()
