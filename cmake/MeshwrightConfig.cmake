# find_package(Meshwright) gives the target meshwright::api.
include(CMakeFindDependencyMacro)
find_dependency(absl)
find_dependency(Protobuf)
find_dependency(gRPC CONFIG)
find_dependency(OpenSSL)
find_dependency(Threads)
find_dependency(ZLIB)
include(${CMAKE_CURRENT_LIST_DIR}/MeshwrightTargets.cmake)
