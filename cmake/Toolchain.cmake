# Optimization, compiler cache, linker, warnings, sanitizers and third-party packages.
# An index out of bounds ends the program where it happens, also at users.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG -D_GLIBCXX_ASSERTIONS")
find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
endif()
find_program(MOLD mold)
if(MOLD)
  add_link_options(-fuse-ld=mold)
endif()

# Static third-party libraries: the binaries then need nothing but libc.
set(CMAKE_FIND_LIBRARY_SUFFIXES .a .so)
set(protobuf_MODULE_COMPATIBLE ON)
set(Protobuf_USE_STATIC_LIBS ON)
find_package(Protobuf REQUIRED)
find_package(absl REQUIRED)
find_package(gRPC CONFIG REQUIRED)
include(StaticArchives)
find_package(OpenSSL REQUIRED)
find_package(ZLIB REQUIRED)
find_package(Threads REQUIRED)
find_library(ZSTD_LIBRARY NAMES libzstd.a zstd REQUIRED)
find_path(ZSTD_INCLUDE zstd.h REQUIRED)
find_library(SQLITE_LIBRARY NAMES libsqlite3.a sqlite3 REQUIRED)
find_path(SQLITE_INCLUDE sqlite3.h REQUIRED)
# Planning makes and drops many small vectors; sanitizers have their own.
if(NOT MW_SANITIZE)
  find_library(JEMALLOC_LIBRARY NAMES libjemalloc_pic.a REQUIRED)
endif()
if(MW_BUILD_TESTS)
  find_package(GTest REQUIRED)
endif()

add_library(mw_options INTERFACE)
target_include_directories(
  mw_options INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                       $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}>
                       $<INSTALL_INTERFACE:include>)
# -Wmissing-field-initializers: leaving fields out is what designated
# initialisers are for.
set(MW_WARNINGS -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion
                -Wno-missing-field-initializers)
if(MW_WERROR)
  list(APPEND MW_WARNINGS -Werror)
endif()
target_compile_options(mw_options INTERFACE $<BUILD_INTERFACE:${MW_WARNINGS}>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 reports std::string operations that are fine (GCC PR105651), and more
  # of them once it forgets, after a precompiled header, that std::string is a
  # system header's (GCC PR105329).
  add_compile_options(-Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread
                      -Wno-array-bounds)
else()
  # Clang takes libstdc++'s own use of std::get_temporary_buffer for ours.
  add_compile_options(-Wno-deprecated-declarations)
endif()
if(MW_SANITIZE)
  add_compile_options(-fsanitize=${MW_SANITIZE} -fno-sanitize-recover=all
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${MW_SANITIZE})
endif()
# libstdc++ and libgcc stay shared libraries: Gloo and plug-ins bring them along,
# and a program with a part of them of its own crashes in cuDNN's convolutions.
