#include "vyre/backends/variants.h"

#include <algorithm>
#include <cstring>

namespace vyre {
namespace {

constexpr std::size_t kMaxVariants = 8;

}  // namespace

DispatchFacts facts_of(const Program& program, const Grid& grid,
                       std::span<const std::span<const std::byte>> contents) {
  DispatchFacts facts;
  for (std::size_t axis = 0; axis < 3; ++axis) facts.grid[axis] = grid[axis];
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    const BufferDecl& buffer = program.buffers[i];
    const bool workgroup = buffer.access == BufferAccess::Workgroup;
    const std::uint64_t each = stride(buffer.element);
    const std::uint64_t length = (contents[i].size() + each - 1) / each;
    facts.lengths.push_back(workgroup ? buffer.count : static_cast<std::uint32_t>(length));
    std::vector<std::uint32_t>& words = facts.uniforms.emplace_back();
    if (buffer.access != BufferAccess::Uniform) continue;
    words.resize((contents[i].size() + 3) / 4);
    if (!words.empty()) std::memcpy(words.data(), contents[i].data(), contents[i].size());
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
