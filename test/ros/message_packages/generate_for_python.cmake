# Generate the interfaces of a package (msg/*.msg, srv/*.srv) as quickly as a test needs it: generate_for_python(<dependency>...)

macro(generate_for_python)
  # Python needs no introspection, a third of the time to compile; but what is linked to names its libraries.
  set(introspection rosidl_typesupport_introspection_c rosidl_typesupport_introspection_cpp)
  foreach(package ${introspection})
    set(CMAKE_DISABLE_FIND_PACKAGE_${package} ON)
  endforeach()
  set(STATIC_ROSIDL_TYPESUPPORT_C rosidl_typesupport_fastrtps_c)
  set(STATIC_ROSIDL_TYPESUPPORT_CPP rosidl_typesupport_fastrtps_cpp)
  foreach(package ament_cmake rosidl_default_generators ${ARGN})
    find_package(${package} REQUIRED)
  endforeach()

  file(GLOB interfaces RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} msg/*.msg srv/*.srv)
  rosidl_generate_interfaces(${PROJECT_NAME} ${interfaces} DEPENDENCIES ${ARGN})

  foreach(package ${introspection})
    set(CMAKE_DISABLE_FIND_PACKAGE_${package} OFF)
    find_package(${package} REQUIRED)
  endforeach()
  # Headers are most of the time that these take to compile: all files of each in one, where their names allow it.
  foreach(support fastrtps_c fastrtps_cpp c)
    set_target_properties(${PROJECT_NAME}__rosidl_typesupport_${support}
      PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
  endforeach()
endmacro()
