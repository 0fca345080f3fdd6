# For builds against ROS from the Python package index alone: cmake -DCMAKE_PROJECT_INCLUDE=<this file>
#
# The wheels export targets `<package>__rosidl_generator_py` with the Python include directory of the machine that built
# them, and cmake refuses a target with an include directory that does not exist. This drops such directories once all
# packages have been found. Where ROS is installed nothing is wrong, and this file is not used.

cmake_minimum_required(VERSION 3.20)

function(drop_missing_include_directories)
  get_property(targets DIRECTORY PROPERTY IMPORTED_TARGETS)
  list(FILTER targets INCLUDE REGEX "__rosidl_generator_py$")
  foreach(target IN LISTS targets)
    get_target_property(directories ${target} INTERFACE_INCLUDE_DIRECTORIES)
    if(NOT directories)
      continue()
    endif()
    set(existing "")
    foreach(directory IN LISTS directories)
      if(directory MATCHES "^\\$<" OR EXISTS "${directory}")
        list(APPEND existing "${directory}")
      endif()
    endforeach()
    set_target_properties(${target} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${existing}")
  endforeach()
endfunction()

# This is read at the end of project(), before any package is found: wait for the end of the directory.
cmake_language(DEFER CALL drop_missing_include_directories)
