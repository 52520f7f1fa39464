#include "vyre/backends/variants.h"

#include <algorithm>
#include <cstring>

namespace vyre {
namespace {

constexpr std::size_t kMaxVariants = 8;

// What the host knows of every dispatch. bytes_of(i) are those of a buffer.
template <class BytesOf>
DispatchFacts sizes_of(const Program& program, const Grid& grid, BytesOf bytes_of) {
  DispatchFacts facts;
  std::ranges::copy(grid.axes, facts.grid.begin());
  facts.uniforms.resize(program.buffers.size());
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    facts.lengths.push_back(length_of(program.buffers[i], bytes_of(i)));
  }
  return facts;
}

bool is_uniform(const BufferDecl& buffer) { return buffer.access == BufferAccess::Uniform; }

}  // namespace

std::uint32_t length_of(const BufferDecl& buffer, std::uint64_t bytes) {
  if (buffer.access == BufferAccess::Workgroup) return buffer.count;
  const std::uint64_t each = stride(buffer.element);
  return static_cast<std::uint32_t>((bytes + each - 1) / each);
}

DispatchFacts facts_of(const Program& program, const Grid& grid,
                       std::span<const std::span<const std::byte>> contents) {
  DispatchFacts facts = sizes_of(program, grid, [&](std::size_t i) { return contents[i].size(); });
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    if (!is_uniform(program.buffers[i])) continue;
    std::vector<std::uint32_t>& words = facts.uniforms[i];
    words.resize((contents[i].size() + 3) / 4);
    if (!words.empty()) std::memcpy(words.data(), contents[i].data(), contents[i].size());
  }
  return facts;
}

DispatchFacts facts_of(const Program& program, const Launch& launch, bool is_now,
                       const std::set<const DeviceMemory*>& written) {
  DispatchFacts facts =
      sizes_of(program, launch.grid, [&](std::size_t i) { return launch.buffers[i].bytes; });
  for (std::size_t i = 0; is_now && i < program.buffers.size(); ++i) {
    if (!is_uniform(program.buffers[i])) continue;
    const DeviceMemory& memory = *launch.buffers[i].memory;
    const std::vector<std::uint32_t>* words = memory.known.words();
    if (words == nullptr || written.contains(&memory)) continue;
    facts.uniforms[i] = *words;
    facts.uniforms[i].resize(std::min(words->size(), launch.buffers[i].bytes / 4));
  }
  return facts;
}

Variants::Variants(Linked source, Program optimised, Target target, Lowered general)
    : source_(std::move(source)), program_(std::move(optimised)), target_(std::move(target)) {
  variants_.push_back(std::move(general));
}

const Lowered& Variants::choose(const DispatchFacts& facts) {
  const std::lock_guard lock(mutex_);
  const Lowered& general = variants_.front();
  if (general.checked() == 0) return general;
  const Lowered* best = &general;
  for (const Lowered& variant : variants_) {
    if (variant.fits(facts) && variant.checked() < best->checked()) best = &variant;
  }
  if (best != &general || variants_.size() + no_better_ >= kMaxVariants) return *best;
  Lowered special = lower(program_, target_, facts, &source_);
  if (special.checked() >= general.checked()) {
    ++no_better_;
    return general;
  }
  return variants_.emplace_back(std::move(special));
}

}  // namespace vyre
