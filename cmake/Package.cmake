# `cmake --install`: the library, its one header with what that includes, and a
# CMake package, with which others `find_package(Meshwright)` and link
# meshwright::api; and the CLI.
include(CMakePackageConfigHelpers)
get_property(libraries GLOBAL PROPERTY MW_LIBRARIES)
set(package lib/cmake/Meshwright)
set_target_properties(mw_api PROPERTIES EXPORT_NAME api)
install(
  TARGETS ${libraries} mw_options mw_hlo_proto mw_compile_options_proto mw_worker_proto
          mw_service_proto
  EXPORT MeshwrightTargets
  ARCHIVE DESTINATION lib)
install(TARGETS meshwright RUNTIME DESTINATION bin)
foreach(header meshwright plan_options shared_value tensor)
  install(FILES meshwright/api/${header}.h DESTINATION include/meshwright/api)
endforeach()
install(EXPORT MeshwrightTargets NAMESPACE meshwright:: DESTINATION ${package})
write_basic_package_version_file(MeshwrightConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES cmake/MeshwrightConfig.cmake
              ${PROJECT_BINARY_DIR}/MeshwrightConfigVersion.cmake
        DESTINATION ${package})
