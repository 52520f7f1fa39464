#include "vyre/backends/spirv/module.h"

namespace vyre {
namespace {

constexpr std::uint32_t kMagic = 0x07230203;
constexpr std::uint32_t kVersion = 0x00010300;  // 1.3
constexpr std::uint32_t kLogical = 0;           // addresses
constexpr std::uint32_t kGlsl450 = 1;           // memory model

}  // namespace

SpirvModule::SpirvModule() {
  require(SpirvCapability::Shader);
  put(Section::Model, SpirvOp::MemoryModel, kLogical, kGlsl450);
}

SpirvId SpirvModule::global(SpirvStorage storage, SpirvId type) {
  const SpirvId pointer = this->type(SpirvOp::TypePointer, storage, type);
  return make(Section::Globals, SpirvOp::Variable, pointer, storage);
}

SpirvId SpirvModule::extended() {
  if (extended_ == 0) {
    extended_ = fresh();
    put(Section::Imports, SpirvOp::ExtInstImport, extended_, std::string_view("GLSL.std.450"));
  }
  return extended_;
}

void SpirvModule::require(SpirvCapability capability) {
  if (capabilities_.insert(capability).second) {
    put(Section::Capabilities, SpirvOp::Capability, capability);
  }
}

void SpirvModule::name(SpirvId id, std::string_view name) {
  if (named_.insert(id).second) put(Section::Names, SpirvOp::Name, id, name);
}

// Bytes, lowest first, and at least one 0 at the end.
void SpirvModule::append(std::vector<std::uint32_t>& words, std::string_view text) {
  const std::size_t begin = words.size();
  words.resize(begin + text.size() / 4 + 1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    words[begin + i / 4] |= std::uint32_t{static_cast<unsigned char>(text[i])} << (i % 4 * 8);
  }
}

SpirvId SpirvModule::unique(SpirvOp op, SpirvId type, std::vector<std::uint32_t> operands) {
  std::vector<std::uint32_t> key{static_cast<std::uint32_t>(op), type};
  key.insert(key.end(), operands.begin(), operands.end());
  const auto [known, is_new] = unique_.try_emplace(std::move(key), bound_);
  if (is_new) {
    const SpirvId result = fresh();
    const std::span<const std::uint32_t> all(operands);
    if (type == 0) {
      put(Section::Globals, op, result, all);
    } else {
      put(Section::Globals, op, type, result, all);
    }
  }
  return known->second;
}

std::vector<std::uint32_t> SpirvModule::words() const {
  std::vector<std::uint32_t> words{kMagic, kVersion, 0, bound_, 0};
  for (const std::vector<std::uint32_t>& section : sections_) {
    words.insert(words.end(), section.begin(), section.end());
  }
  return words;
}

}  // namespace vyre
