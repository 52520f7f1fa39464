# What the CPU backend needs of LLVM, in a module that it finds beside the program or the library.
# Without LLVM's archives it loads the shared library of the system, which has everything and takes
# 9 ms more.
function(vyre_add_llvm)
  find_program(VYRE_LLVM_CONFIG llvm-config-19)
  if(VYRE_LLVM_CONFIG AND NOT CMAKE_CROSSCOMPILING)  # it tells of this machine's
    execute_process(
      COMMAND ${VYRE_LLVM_CONFIG} --link-static --libfiles x86 aarch64 passes core
      OUTPUT_VARIABLE archives ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
    separate_arguments(archives)
  endif()
  if(NOT archives)
    message(STATUS "LLVM 19's archives are not here (llvm-19-dev): compiling begins 9 ms later")
    return()
  endif()

  file(STRINGS ${PROJECT_SOURCE_DIR}/vyre/backends/cpu/llvm.def functions REGEX "^FUNCTION")
  list(TRANSFORM functions REPLACE "^FUNCTION\\([^,]+, ([A-Za-z0-9]+),.*" "LLVM\\1")
  list(JOIN functions "; " names)
  set(exports ${PROJECT_BINARY_DIR}/llvm.exports)
  file(CONFIGURE OUTPUT ${exports} CONTENT "{ global: ${names}; local: *; };\n")
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/llvm.cc CONTENT "// All of it is in the archives.\n")
  list(TRANSFORM functions PREPEND "LINKER:-u,")
  if(VYRE_STATIC_RUNTIME)
    set(kind -static-libstdc++ -static-libgcc)
  else()
    set(kind LINKER:-z,pack-relative-relocs)  # which old C libraries do not know
  endif()

  add_library(vyre_llvm MODULE ${PROJECT_BINARY_DIR}/llvm.cc)
  set_target_properties(vyre_llvm PROPERTIES PREFIX "" OUTPUT_NAME libvyre-llvm
                        LINK_DEPENDS ${exports})
  target_link_options(vyre_llvm PRIVATE ${functions} ${kind}
    LINKER:--version-script=${exports},--gc-sections,-Bsymbolic,-s)
  target_link_libraries(vyre_llvm PRIVATE -Wl,--start-group ${archives} -Wl,--end-group
    -l:libz.so.1 -l:libzstd.so.1)
  add_dependencies(vyre vyre_llvm)
  install(TARGETS vyre_llvm LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  # Tests and benchmarks are programs too.
  foreach(folder tests bench)
    file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/${folder})
    file(CREATE_LINK ../libvyre-llvm.so ${PROJECT_BINARY_DIR}/${folder}/libvyre-llvm.so SYMBOLIC)
  endforeach()
endfunction()
vyre_add_llvm()
