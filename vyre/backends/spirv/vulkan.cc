#include "vyre/backends/spirv/vulkan.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <mutex>
#include <utility>

namespace vyre::vulkan {
namespace {

constexpr const char* kLayer = "VK_LAYER_KHRONOS_validation";

struct Complaints {
  std::mutex mutex;
  std::string text;
};
Complaints& complaints() {
  static Complaints& all = *new Complaints;
  return all;
}

VKAPI_ATTR VkBool32 VKAPI_CALL complain(VkDebugUtilsMessageSeverityFlagBitsEXT,
                                        VkDebugUtilsMessageTypeFlagsEXT,
                                        const VkDebugUtilsMessengerCallbackDataEXT* data, void*) {
  constexpr std::size_t kMost = 10'000;
  const std::lock_guard lock(complaints().mutex);
  std::string& text = complaints().text;
  if (text.size() < kMost) text += (text.empty() ? "" : "\n") + std::string(data->pMessage);
  return VK_FALSE;
}

bool has_layer(const Api& api) {
  std::uint32_t count = 0;
  if (api.EnumerateInstanceLayerProperties(&count, nullptr) != VK_SUCCESS) return false;
  std::vector<VkLayerProperties> layers(count);
  if (api.EnumerateInstanceLayerProperties(&count, layers.data()) < VK_SUCCESS) return false;
  return std::ranges::any_of(layers, [](const VkLayerProperties& layer) {
    return std::strcmp(layer.layerName, kLayer) == 0;
  });
}

VkResult make_instance(Api& api, std::uint32_t version) {
  auto application = made<VkApplicationInfo>(VK_STRUCTURE_TYPE_APPLICATION_INFO);
  application.apiVersion = std::min(version, VK_API_VERSION_1_2);
  auto create = made<VkInstanceCreateInfo>(VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO);
  create.pApplicationInfo = &application;
  const VkValidationFeatureEnableEXT order =
      VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT;
  auto features = made<VkValidationFeaturesEXT>(VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT);
  features.enabledValidationFeatureCount = 1;
  features.pEnabledValidationFeatures = &order;
  const char* extensions[] = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME,
                              VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME};
  if (api.validates) {
    create.pNext = &features;
    create.enabledLayerCount = 1;
    create.ppEnabledLayerNames = &kLayer;
    create.enabledExtensionCount = std::size(extensions);
    create.ppEnabledExtensionNames = extensions;
  }
  return api.CreateInstance(&create, nullptr, &api.instance);
}

// Lets the layer call complain() from now on.
bool listen(const Api& api, PFN_vkGetInstanceProcAddr find) {
  const auto make = reinterpret_cast<PFN_vkCreateDebugUtilsMessengerEXT>(
      find(api.instance, "vkCreateDebugUtilsMessengerEXT"));
  auto create = made<VkDebugUtilsMessengerCreateInfoEXT>(
      VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT);
  create.messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
  create.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT;
  create.pfnUserCallback = complain;
  VkDebugUtilsMessengerEXT messenger = VK_NULL_HANDLE;
  return make != nullptr && make(api.instance, &create, nullptr, &messenger) == VK_SUCCESS;
}

// Of its kind: how far from the front.
constexpr int kLastRank = 4;
int rank_of(VkPhysicalDeviceType type) {
  switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU: return 0;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU: return 1;
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU: return 2;
    default: return type == VK_PHYSICAL_DEVICE_TYPE_CPU ? kLastRank : 3;
  }
}

VkResult find_gpus(Api& api) {
  std::uint32_t count = 0;
  VkResult status = api.EnumeratePhysicalDevices(api.instance, &count, nullptr);
  std::vector<VkPhysicalDevice> all(count);
  if (status == VK_SUCCESS) {
    status = api.EnumeratePhysicalDevices(api.instance, &count, all.data());
  }
  if (status < VK_SUCCESS) return status;
  for (int rank = 0; rank <= kLastRank; ++rank) {
    for (VkPhysicalDevice gpu : all) {
      auto properties =
          made<VkPhysicalDeviceProperties2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2);
      api.GetPhysicalDeviceProperties2(gpu, &properties);
      if (rank_of(properties.properties.deviceType) != rank) continue;
      if (properties.properties.apiVersion < VK_API_VERSION_1_1) continue;
      std::uint32_t families = 0;
      api.GetPhysicalDeviceQueueFamilyProperties(gpu, &families, nullptr);
      if (compute_family(api, gpu) < families) api.gpus.push_back(gpu);
    }
  }
  return VK_SUCCESS;
}

constexpr const char* kDrivers =
    " (install the driver of the GPU; in software, on Debian: apt install mesa-vulkan-drivers)";

// Gives why it cannot be used; empty: it can. It stays loaded for as long as the process lives.
std::string load(Api& api) {
  void* library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return std::string(
        "there is no libvulkan.so.1 (install the Vulkan loader and a driver; on "
        "Debian: apt install libvulkan1 mesa-vulkan-drivers)");
  }
  const auto find =
      reinterpret_cast<PFN_vkGetInstanceProcAddr>(dlsym(library, "vkGetInstanceProcAddr"));
  if (find == nullptr) {
    return "the libvulkan.so.1 that is installed has no vkGetInstanceProcAddr (install the Vulkan "
           "loader; on Debian: apt install libvulkan1)";
  }
  const char* missing = nullptr;
#define FIRST(name)                                                                \
  api.name = reinterpret_cast<decltype(api.name)>(find(api.instance, "vk" #name)); \
  if (api.name == nullptr && missing == nullptr) missing = "vk" #name;
#include "vyre/backends/spirv/vulkan.def"
  std::uint32_t version = VK_API_VERSION_1_0;
  if (missing == nullptr) api.EnumerateInstanceVersion(&version);
  if (version < VK_API_VERSION_1_1) {
    return "the Vulkan loader is for Vulkan 1.0, and 1.1 is needed (install a newer libvulkan1)";
  }
  const char* wanted = std::getenv("VYRE_VULKAN_VALIDATE");
  api.validates = wanted != nullptr && std::strcmp(wanted, "1") == 0;
  if (api.validates && !has_layer(api)) {
    return "VYRE_VULKAN_VALIDATE is 1, and the validation layer is not installed (on Debian: apt "
           "install vulkan-validationlayers)";
  }
  VkResult status = make_instance(api, version);
  if (status == VK_ERROR_INCOMPATIBLE_DRIVER) {
    return std::string("there is no Vulkan driver") + kDrivers;
  }
  if (status != VK_SUCCESS) {
    return "Vulkan does not start: " + describe(status) + " (`vulkaninfo` tells more)";
  }
#define FUNCTION(name)                                                             \
  api.name = reinterpret_cast<decltype(api.name)>(find(api.instance, "vk" #name)); \
  if (api.name == nullptr && missing == nullptr) missing = "vk" #name;
#include "vyre/backends/spirv/vulkan.def"
  if (missing != nullptr || (api.validates && !listen(api, find))) {
    return "the libvulkan.so.1 that is installed lacks functions (install a newer libvulkan1)";
  }
  status = find_gpus(api);
  if (status != VK_SUCCESS) {
    return "the Vulkan drivers do not start: " + describe(status) + " (`vulkaninfo` tells more)";
  }
  if (!api.gpus.empty()) return {};
  return std::string("no Vulkan driver has a device of version 1.1 that runs compute shaders") +
         kDrivers;
}

}  // namespace

std::uint32_t compute_family(const Api& api, VkPhysicalDevice gpu) {
  std::uint32_t count = 0;
  api.GetPhysicalDeviceQueueFamilyProperties(gpu, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  api.GetPhysicalDeviceQueueFamilyProperties(gpu, &count, families.data());
  const auto found = std::ranges::find_if(families, [](const VkQueueFamilyProperties& family) {
    return (family.queueFlags & VK_QUEUE_COMPUTE_BIT) != 0;
  });
  return static_cast<std::uint32_t>(found - families.begin());
}

std::string describe(VkResult status) {
#define STATUS(name) \
  case name: return #name;
  switch (status) {
    STATUS(VK_ERROR_OUT_OF_HOST_MEMORY)
    STATUS(VK_ERROR_OUT_OF_DEVICE_MEMORY)
    STATUS(VK_ERROR_INITIALIZATION_FAILED)
    STATUS(VK_ERROR_DEVICE_LOST)
    STATUS(VK_ERROR_MEMORY_MAP_FAILED)
    STATUS(VK_ERROR_LAYER_NOT_PRESENT)
    STATUS(VK_ERROR_EXTENSION_NOT_PRESENT)
    STATUS(VK_ERROR_TOO_MANY_OBJECTS)
    STATUS(VK_ERROR_INVALID_SHADER_NV)
    STATUS(VK_ERROR_UNKNOWN)
    default: return "error " + std::to_string(status);
  }
#undef STATUS
}

std::string take_complaint() {
  const std::lock_guard lock(complaints().mutex);
  return std::exchange(complaints().text, {});
}

const Api* load_vulkan(std::string& reason) {
  static Api& api = *new Api;
  static const std::string& problem = *new std::string(load(api));
  reason = problem;
  return problem.empty() ? &api : nullptr;
}

}  // namespace vyre::vulkan
