# The Vulkan device needs Vulkan's headers, and nothing to link with. Without them vyre is built all
# the same, and says why nothing runs on such devices.
include(CheckIncludeFileCXX)
check_include_file_cxx(vulkan/vulkan_core.h VYRE_VULKAN)
if(VYRE_VULKAN)
  list(FILTER VYRE_SOURCES EXCLUDE REGEX "/backends/spirv/no_device\\.cc$")
else()
  message(STATUS "Vulkan's headers are not here (libvulkan-dev): no Vulkan devices")
  list(FILTER VYRE_SOURCES EXCLUDE REGEX
       "/backends/spirv/(batch|device|gpu|memory|queue|staging|vulkan)\\.cc$")
endif()
