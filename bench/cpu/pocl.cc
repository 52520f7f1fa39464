#include "bench/cpu/pocl.h"

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <sys/mman.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

namespace bench {
namespace {

constexpr PoclKernel kKernels[] = {
    {"xor", "plain", 1, {kXorWords, 1}, {64, 1}},
    {"xor", "vectors", 1, {kXorWords / 1024, 1}, {16, 1}},
    {"philox", "plain", 1, {kPhiloxCounters, 1}, {64, 1}},
    {"philox", "vectors", 1, {kPhiloxCounters / 16, 1}, {64, 1}},
    {"sha256", "plain", 1, {kShaBlocks, 1}, {64, 1}},
    {"sha256", "vectors", 1, {kShaBlocks / 16, 1}, {64, 1}},
    {"mandelbrot", "plain", 2, {kMandelbrotSide, kMandelbrotSide}, {64, 1}},
    {"mandelbrot", "vectors", 2, {kMandelbrotSide / 64, kMandelbrotSide}, {16, 1}},
    {"dfa", "plain", 1, {kDfaRecords, 1}, {64, 1}},
    {"dfa", "streams", 1, {kDfaRecords / 8, 1}, {16, 1}},
    {"histogram", "plain", 1, {kHistogramWords, 1}, {256, 1}},
    {"histogram", "local", 1, {kHistogramWords / 256, 1}, {256, 1}},
    {"histogram", "private", 1, {kHistogramWords / 65536, 1}, {1, 1}},
    {"scan", "plain", 1, {256 * std::size_t{kScanBlocks}, 1}, {256, 1}},
    {"scan", "serial", 1, {kScanBlocks, 1}, {64, 1}},
    {"matmul", "plain", 2, {kMatmulSide, kMatmulSide}, {16, 16}},
    {"matmul", "vectors", 2, {kMatmulSide / 32, kMatmulSide / 8}, {1, 8}},
    {"life", "plain", 2, {kLifeColumns, kLifeRows}, {64, 4}},
    {"life", "vectors", 1, {kLifeRows, 1}, {16, 1}},
    {"crc32", "plain", 1, {kCrcBlocks, 1}, {64, 1}},
    {"crc32", "streams", 1, {kCrcBlocks / 4, 1}, {16, 1}},
};

// Frees with a function of OpenCL.
template <class Handle, cl_int (*release)(Handle)>
struct Owner {
  Handle handle = nullptr;

  Owner() = default;
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;
  ~Owner() {
    if (handle != nullptr) release(handle);
  }
};

std::string failure(const char* what, cl_int code) {
  return std::string(what) + " failed with error " + std::to_string(code);
}

std::string device_text(cl_device_id device, cl_device_info what) {
  char text[256] = "";
  clGetDeviceInfo(device, what, sizeof text - 1, text, nullptr);
  return text;
}

// Null: none.
cl_device_id find_cpu() {
  cl_uint count = 0;
  if (clGetPlatformIDs(0, nullptr, &count) != CL_SUCCESS || count == 0) return nullptr;
  std::vector<cl_platform_id> platforms(count);
  if (clGetPlatformIDs(count, platforms.data(), nullptr) != CL_SUCCESS) return nullptr;
  for (const cl_platform_id platform : platforms) {
    cl_device_id device = nullptr;
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_CPU, 1, &device, nullptr) == CL_SUCCESS) {
      return device;
    }
  }
  return nullptr;
}

// On large pages where the system has them, as the memory of the other peers.
constexpr std::size_t kPage = std::size_t{2} << 20;
struct Free {
  void operator()(void* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<u32, Free>;

Memory allocate(std::size_t words) {
  const std::size_t bytes = (words * 4 + kPage - 1) / kPage * kPage;
  Memory memory(static_cast<u32*>(std::aligned_alloc(kPage, bytes)));
  if (memory != nullptr) madvise(memory.get(), bytes, MADV_HUGEPAGE);
  return memory;
}

}  // namespace

struct Pocl::State {
  cl_device_id device = nullptr;
  std::string name;
  Owner<cl_context, clReleaseContext> context;
  Owner<cl_command_queue, clReleaseCommandQueue> queue;
  Owner<cl_program, clReleaseProgram> program;
};

struct PoclRun::State {
  // OpenCL works on this memory itself.
  struct Buffer {
    Memory memory;
    std::size_t size = 0;  // in bytes
    Owner<cl_mem, clReleaseMemObject> handle;
  };

  const PoclKernel& shape;
  cl_command_queue queue;
  std::vector<std::unique_ptr<Buffer>> buffers;
  Owner<cl_kernel, clReleaseKernel> kernel;

  // Calls work(words) while the output belongs to the host.
  template <class Work>
  bool with_output(cl_map_flags flags, const Work& work) {
    Buffer& output = *buffers.back();
    cl_int code = CL_SUCCESS;
    void* words = clEnqueueMapBuffer(queue, output.handle.handle, CL_TRUE, flags, 0, output.size, 0,
                                     nullptr, nullptr, &code);
    if (code != CL_SUCCESS) return false;
    work(static_cast<u32*>(words));
    code = clEnqueueUnmapMemObject(queue, output.handle.handle, words, 0, nullptr, nullptr);
    return code == CL_SUCCESS && clFinish(queue) == CL_SUCCESS;
  }
};

// --- Runs
PoclRun::PoclRun(std::unique_ptr<State> state) : state_(std::move(state)) {}
PoclRun::~PoclRun() = default;

double PoclRun::run() {
  const PoclKernel& shape = state_->shape;
  const std::size_t* local = shape.local[0] == 0 ? nullptr : shape.local;
  const auto begin = std::chrono::steady_clock::now();
  cl_int code = clEnqueueNDRangeKernel(state_->queue, state_->kernel.handle, shape.dimensions,
                                       nullptr, shape.global, local, 0, nullptr, nullptr);
  if (code == CL_SUCCESS) code = clFinish(state_->queue);
  const auto end = std::chrono::steady_clock::now();
  return code == CL_SUCCESS ? std::chrono::duration<double>(end - begin).count() : -1;
}

bool PoclRun::reset(const std::vector<u32>& words) {
  if (words.size() * 4 != state_->buffers.back()->size) return false;
  return state_->with_output(CL_MAP_WRITE_INVALIDATE_REGION, [&](u32* output) {
    std::memcpy(output, words.data(), words.size() * 4);
  });
}

std::vector<u32> PoclRun::output() {
  std::vector<u32> words;
  const std::size_t count = state_->buffers.back()->size / 4;
  state_->with_output(CL_MAP_READ,
                      [&](const u32* output) { words.assign(output, output + count); });
  return words;
}

// --- The device
Pocl::Pocl(std::unique_ptr<State> state) : state_(std::move(state)) {}
Pocl::~Pocl() = default;
const std::string& Pocl::device() const { return state_->name; }
std::span<const PoclKernel> Pocl::kernels() { return kKernels; }

std::unique_ptr<Pocl> Pocl::open(std::string& error) {
  auto state = std::make_unique<State>();
  state->device = find_cpu();
  if (state->device == nullptr) {
    error = "no OpenCL device of kind CPU (Debian: pocl-opencl-icd)";
    return nullptr;
  }
  state->name = device_text(state->device, CL_DEVICE_NAME) + ", " +
                device_text(state->device, CL_DRIVER_VERSION);

  const std::string path = VYRE_ROOT "/bench/cpu/kernels.cl";
  std::ifstream file(path);
  std::stringstream read;
  read << file.rdbuf();
  if (!file) {
    error = "cannot read " + path;
    return nullptr;
  }
  const std::string source = read.str();

  cl_int code = CL_SUCCESS;
  state->context.handle = clCreateContext(nullptr, 1, &state->device, nullptr, nullptr, &code);
  if (code != CL_SUCCESS) {
    error = failure("clCreateContext", code);
    return nullptr;
  }
  state->queue.handle = clCreateCommandQueue(state->context.handle, state->device, 0, &code);
  if (code != CL_SUCCESS) {
    error = failure("clCreateCommandQueue", code);
    return nullptr;
  }
  const char* text = source.c_str();
  state->program.handle =
      clCreateProgramWithSource(state->context.handle, 1, &text, nullptr, &code);
  if (code != CL_SUCCESS) {
    error = failure("clCreateProgramWithSource", code);
    return nullptr;
  }
  code =
      clBuildProgram(state->program.handle, 1, &state->device, "-cl-std=CL1.2", nullptr, nullptr);
  if (code != CL_SUCCESS) {
    std::size_t size = 0;
    clGetProgramBuildInfo(state->program.handle, state->device, CL_PROGRAM_BUILD_LOG, 0, nullptr,
                          &size);
    std::string log(size, '\0');
    clGetProgramBuildInfo(state->program.handle, state->device, CL_PROGRAM_BUILD_LOG, size,
                          log.data(), nullptr);
    error = failure("clBuildProgram", code) + ": " + log.c_str();
    return nullptr;
  }
  return std::unique_ptr<Pocl>(new Pocl(std::move(state)));
}

std::unique_ptr<PoclRun> Pocl::prepare(const PoclKernel& kernel,
                                       const std::vector<std::vector<u32>>& buffers,
                                       std::string& error) {
  auto state = std::make_unique<PoclRun::State>(kernel, state_->queue.handle);
  const std::string name = std::string(kernel.workload) + "_" + kernel.name;
  cl_int code = CL_SUCCESS;
  state->kernel.handle = clCreateKernel(state_->program.handle, name.c_str(), &code);
  if (code != CL_SUCCESS) {
    error = failure("clCreateKernel", code) + " for " + name;
    return nullptr;
  }
  for (const std::vector<u32>& words : buffers) {
    auto buffer = std::make_unique<PoclRun::State::Buffer>();
    buffer->size = words.size() * 4;
    buffer->memory = allocate(words.size());
    if (buffer->memory == nullptr) {
      error = "not enough memory";
      return nullptr;
    }
    std::memcpy(buffer->memory.get(), words.data(), buffer->size);
    buffer->handle.handle =
        clCreateBuffer(state_->context.handle, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR,
                       buffer->size, buffer->memory.get(), &code);
    if (code != CL_SUCCESS) {
      error = failure("clCreateBuffer", code);
      return nullptr;
    }
    const auto index = static_cast<cl_uint>(state->buffers.size());
    code = clSetKernelArg(state->kernel.handle, index, sizeof(cl_mem), &buffer->handle.handle);
    if (code != CL_SUCCESS) {
      error = failure("clSetKernelArg", code) + " for " + name;
      return nullptr;
    }
    state->buffers.push_back(std::move(buffer));
  }
  return std::unique_ptr<PoclRun>(new PoclRun(std::move(state)));
}

}  // namespace bench
