# Debian's packages of Abseil and gRPC name the shared libraries; the static ones
# lie beside them. Points every target at its archive.
get_property(targets DIRECTORY PROPERTY IMPORTED_TARGETS)
list(FILTER targets INCLUDE REGEX "^(absl|gRPC)::")
foreach(target ${targets})
  get_target_property(configurations ${target} IMPORTED_CONFIGURATIONS)
  foreach(configuration ${configurations})
    set(property IMPORTED_LOCATION_${configuration})
    get_target_property(library ${target} ${property})
    if(library)
      string(REGEX REPLACE "\\.so[.0-9]*$" ".a" archive ${library})
      if(EXISTS ${archive})
        set_target_properties(${target} PROPERTIES ${property} ${archive})
      endif()
    endif()
  endforeach()
endforeach()

# pkg-config names it -lre2, and -pthread for compiling, which precompiled headers
# do not have.
find_library(RE2_LIBRARY NAMES libre2.a re2 REQUIRED)
set_target_properties(re2::re2 PROPERTIES INTERFACE_LINK_LIBRARIES ${RE2_LIBRARY}
                                          INTERFACE_COMPILE_OPTIONS "")
