// The Vulkan loader, loaded when it is first needed, with the instance of this process. Its
// interface keeps its names without their prefix.
//
// With VYRE_VULKAN_VALIDATE=1 in the environment the validation layer checks every call, and
// take_complaint() has what it found.
#pragma once

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>

#include <string>
#include <vector>

namespace vyre::vulkan {

struct Api {
#define FIRST(name) PFN_vk##name name = nullptr;
#define FUNCTION(name) PFN_vk##name name = nullptr;
#include "vyre/backends/spirv/vulkan.def"
  VkInstance instance = nullptr;
  bool validates = false;
  // Those that can run programs: GPUs of their own first, software last.
  std::vector<VkPhysicalDevice> gpus;
};

// A structure of the interface with nothing in it but its tag.
template <class Structure>
Structure made(VkStructureType type) {
  Structure made{};
  made.sType = type;
  return made;
}

// Null when it cannot be loaded or sees no device; then `reason` says why and what helps.
const Api* load_vulkan(std::string& reason);

// The first queue family that runs compute shaders; as many as there are families: none does.
std::uint32_t compute_family(const Api& api, VkPhysicalDevice gpu);

// "VK_ERROR_DEVICE_LOST".
std::string describe(VkResult status);

// What the validation layer found since it was last asked; mostly empty.
std::string take_complaint();

}  // namespace vyre::vulkan
