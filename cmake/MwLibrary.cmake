# mw_library(NAME hlo DEPS base absl::strings ...)
#
# One static library per folder: every *.cc of the current folder goes in, and
# every *_test.cc becomes part of one test binary, `<name>_test`, registered
# with CTest test by test. Files ending in _main.cc are left to the folder.
# TEST_LABEL is that of mw_test.
include(GoogleTest)

# mw_unity(target)
#
# Compiles the files of a target several at a time, as one unit: headers are
# then parsed, and templates made, once for all of them.
function(mw_unity target)
  if(MW_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON
                                               UNITY_BUILD_BATCH_SIZE 8)
  endif()
endfunction()

function(mw_library)
  cmake_parse_arguments(ARG "" "NAME;TEST_LABEL" "DEPS;TEST_DEPS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS *.cc)
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER sources EXCLUDE REGEX "(_test|_main)\\.cc$")
  if(sources)
    add_library(mw_${ARG_NAME} STATIC ${sources})
    target_link_libraries(mw_${ARG_NAME} PUBLIC mw_options ${ARG_DEPS})
    mw_precompile(mw_${ARG_NAME})
    mw_unity(mw_${ARG_NAME})
    set_property(GLOBAL APPEND PROPERTY MW_LIBRARIES mw_${ARG_NAME})
    set(under_test mw_${ARG_NAME})
  else()
    add_library(mw_${ARG_NAME} INTERFACE)
    target_link_libraries(mw_${ARG_NAME} INTERFACE mw_options ${ARG_DEPS})
    set(under_test mw_${ARG_NAME})
  endif()
  if(tests AND MW_BUILD_TESTS)
    mw_test(NAME ${ARG_NAME}_test LABEL ${ARG_TEST_LABEL} SOURCES ${tests}
            DEPS ${under_test} ${ARG_TEST_DEPS})
  endif()
endfunction()

# mw_test(NAME hlo_test SOURCES a_test.cc ... DEPS mw_hlo ... [LABEL long]
#         [TIMEOUT seconds])
#
# A test binary, registered with CTest test by test, and for `./mw test`, which
# runs many of its tests in one process. Its label is `fast` unless it says
# `long`: it plans many steps, or compiles and runs programs.
function(mw_test)
  cmake_parse_arguments(ARG "" "NAME;LABEL;TIMEOUT" "SOURCES;DEPS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 600)
  endif()
  if(NOT ARG_LABEL)
    set(ARG_LABEL fast)
  endif()
  add_executable(${ARG_NAME} ${ARG_SOURCES})
  target_link_libraries(${ARG_NAME} PRIVATE ${ARG_DEPS} mw_allocator GTest::gmock
                                            GTest::gtest GTest::gtest_main)
  target_compile_definitions(${ARG_NAME}
                             PRIVATE MW_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_compile_options(${ARG_NAME} PRIVATE ${MW_TEST_OPTIONS})
  mw_precompile_test(${ARG_NAME})
  mw_unity(${ARG_NAME})
  gtest_discover_tests(
    ${ARG_NAME}
    DISCOVERY_MODE PRE_TEST
    PROPERTIES LABELS ${ARG_LABEL} TIMEOUT ${ARG_TIMEOUT})
  set_property(GLOBAL APPEND_STRING PROPERTY MW_TEST_PROGRAMS
                                             "${ARG_LABEL} $<TARGET_FILE:${ARG_NAME}>\n")
endfunction()

# mw_list_tests()
#
# Writes test_programs.txt: the label and the path of every test binary.
function(mw_list_tests)
  get_property(programs GLOBAL PROPERTY MW_TEST_PROGRAMS)
  file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/test_programs.txt CONTENT "${programs}")
endfunction()
