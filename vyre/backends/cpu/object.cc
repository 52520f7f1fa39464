#include "vyre/backends/cpu/object.h"

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <optional>
#include <vector>

namespace vyre {
namespace {

__extension__ typedef unsigned __int128 Wide;

Wide divide(Wide a, Wide b) { return a / b; }
Wide remainder(Wide a, Wide b) { return a % b; }

// What code may call.
const void* outside(std::string_view name) {
  if (name == "memset") return reinterpret_cast<const void*>(&std::memset);
  if (name == "memcpy") return reinterpret_cast<const void*>(&std::memcpy);
  if (name == "memmove") return reinterpret_cast<const void*>(&std::memmove);
  if (name == "__udivti3") return reinterpret_cast<const void*>(&divide);
  if (name == "__umodti3") return reinterpret_cast<const void*>(&remainder);
  return nullptr;
}

constexpr std::uint64_t kStub = 16;  // bytes: a jump to an address that follows it
constexpr std::uint64_t kMaxBytes = std::uint64_t{256} << 20;

// What differs from machine to machine: a jump to the address after it, how many bytes a relocation
// of some kind changes, and the change itself, which says what is wrong or null. What it is given
// counts from `base`.
#if defined(__x86_64__)
constexpr std::uint16_t kMachine = EM_X86_64;
constexpr unsigned char kJump[] = {0xff, 0x25, 0, 0, 0, 0};

std::uint64_t width_of(std::uint64_t kind) {
  return kind == R_X86_64_64 || kind == R_X86_64_PC64 ? 8 : 4;
}

const char* relocate(std::byte* base, std::uint64_t place, std::uint64_t symbol,
                     std::uint64_t kind) {
  std::uint64_t value = symbol - place;
  if (kind == R_X86_64_64) {
    value = reinterpret_cast<std::uint64_t>(base) + symbol;
  } else if (kind != R_X86_64_PC32 && kind != R_X86_64_PLT32 && kind != R_X86_64_PC64) {
    return "it has a relocation of an unknown kind";
  }
  std::memcpy(base + place, &value, width_of(kind));
  return nullptr;
}
#elif defined(__aarch64__)
constexpr std::uint16_t kMachine = EM_AARCH64;
constexpr unsigned char kJump[] = {0x50, 0x00, 0x00, 0x58,   // ldr x16, .+8
                                   0x00, 0x02, 0x1f, 0xd6};  // br x16

std::uint64_t width_of(std::uint64_t) { return 4; }  // one instruction

const char* relocate(std::byte* base, std::uint64_t place, std::uint64_t symbol,
                     std::uint64_t kind) {
  std::uint32_t code = 0;
  std::memcpy(&code, base + place, sizeof code);
  const auto put = [&](std::uint32_t mask, std::uint64_t bits) {
    code = (code & ~mask) | (static_cast<std::uint32_t>(bits) & mask);
    std::memcpy(base + place, &code, sizeof code);
    return nullptr;
  };
  // The low 12 bits of an address, in the units of what is loaded or stored there.
  const auto put_low = [&](int shift) -> const char* {
    const std::uint64_t low = symbol & 0xfff;
    if ((low >> shift << shift) != low) return "what it loads is not aligned";
    return put(0xfff << 10, low >> shift << 10);
  };
  switch (kind) {
    case R_AARCH64_CALL26:
    case R_AARCH64_JUMP26: {
      constexpr std::uint64_t kReach = std::uint64_t{1} << 27;
      const std::uint64_t distance = symbol - place;
      if (distance + kReach >= 2 * kReach) return "it is too large";
      return put(0x3ffffff, distance >> 2);
    }
    case R_AARCH64_ADR_PREL_PG_HI21: {
      const std::uint64_t pages = (symbol >> 12) - (place >> 12);
      return put(3u << 29 | 0x7ffff << 5, (pages & 3) << 29 | (pages >> 2 & 0x7ffff) << 5);
    }
    case R_AARCH64_ADD_ABS_LO12_NC:
    case R_AARCH64_LDST8_ABS_LO12_NC: return put_low(0);
    case R_AARCH64_LDST16_ABS_LO12_NC: return put_low(1);
    case R_AARCH64_LDST32_ABS_LO12_NC: return put_low(2);
    case R_AARCH64_LDST64_ABS_LO12_NC: return put_low(3);
    case R_AARCH64_LDST128_ABS_LO12_NC: return put_low(4);
  }
  return "it has a relocation of an unknown kind";
}
#else
constexpr std::uint16_t kMachine = EM_NONE;  // nothing can be loaded
constexpr unsigned char kJump[] = {0};
std::uint64_t width_of(std::uint64_t) { return 8; }
const char* relocate(std::byte*, std::uint64_t, std::uint64_t, std::uint64_t) {
  return "code for this machine cannot be loaded";
}
#endif

// Reads an object file, one step after the other. Each gives what is wrong; null: nothing.
class Loader {
 public:
  explicit Loader(std::string_view bytes) : bytes_(bytes) {}

  const char* place_sections();
  const char* place_symbols();
  const char* copy_sections(std::byte* base) const;
  const char* relocate_all(std::byte* base) const;
  std::uint64_t size() const { return size_ + stubs_.size() * kStub; }
  std::uint64_t entry() const { return entry_; }

 private:
  struct Section {
    Elf64_Shdr header;
    std::uint64_t place = 0;

    bool is_loaded() const { return (header.sh_flags & SHF_ALLOC) != 0 && header.sh_size != 0; }
  };
  using Symbol = std::optional<std::uint64_t>;  // its place, where it is known

  // What is inside of the file.
  std::optional<std::string_view> part(std::uint64_t at, std::uint64_t size) const {
    if (at > bytes_.size() || bytes_.size() - at < size) return std::nullopt;
    return bytes_.substr(at, size);
  }
  template <class T>
  std::optional<T> read(std::uint64_t at) const {
    const auto found = part(at, sizeof(T));
    if (!found) return std::nullopt;
    T value;
    std::memcpy(&value, found->data(), sizeof(T));
    return value;
  }
  Symbol placed(const Elf64_Sym& symbol, std::string_view name);
  const char* relocate_one(std::byte* base, const Section& target, const Elf64_Rela& entry) const;

  const std::string_view bytes_;
  std::vector<Section> sections_;
  std::vector<Symbol> symbols_;
  std::vector<const void*> stubs_;  // to functions from outside, after the sections
  std::uint64_t size_ = kStub;      // of the sections; nothing begins at the very beginning
  std::uint64_t entry_ = 0;         // of the kernel; 0: there is none
};

const char* Loader::place_sections() {
  const auto header = read<Elf64_Ehdr>(0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_type != ET_REL ||
      header->e_shentsize != sizeof(Elf64_Shdr)) {
    return "it is not an object file";
  }
  if (kMachine == EM_NONE) return "code for this machine cannot be loaded";
  if (header->e_machine != kMachine) return "it is for another machine";
  for (std::uint64_t i = 0; i < header->e_shnum; ++i) {
    const auto section = read<Elf64_Shdr>(header->e_shoff + i * sizeof(Elf64_Shdr));
    if (!section) return "a section is not there";
    Section& placed = sections_.emplace_back(*section);
    if (!placed.is_loaded()) continue;
    const std::uint64_t align = section->sh_addralign == 0 ? 1 : section->sh_addralign;
    if ((align & (align - 1)) != 0 || align > 4096 || section->sh_size > kMaxBytes) {
      return "a section has a strange size";
    }
    placed.place = (size_ + align - 1) / align * align;
    size_ = placed.place + section->sh_size;
    if (size_ > kMaxBytes) return "it is too large";
  }
  size_ = (size_ + kStub - 1) / kStub * kStub;
  return nullptr;
}

const char* Loader::place_symbols() {
  for (const Section& section : sections_) {
    const Elf64_Shdr& table = section.header;
    if (table.sh_type != SHT_SYMTAB) continue;
    if (!symbols_.empty() || table.sh_link >= sections_.size()) return "its symbols are odd";
    const Elf64_Shdr& names = sections_[table.sh_link].header;
    for (std::uint64_t at = 0; at + sizeof(Elf64_Sym) <= table.sh_size; at += sizeof(Elf64_Sym)) {
      const auto symbol = read<Elf64_Sym>(table.sh_offset + at);
      const auto all = part(names.sh_offset, names.sh_size);
      if (!symbol || !all || symbol->st_name > all->size()) return "a symbol is not there";
      const std::string_view name = all->substr(symbol->st_name);
      symbols_.push_back(placed(*symbol, name.substr(0, name.find('\0'))));
    }
  }
  return entry_ == 0 ? "it has no kernel" : nullptr;
}

Loader::Symbol Loader::placed(const Elf64_Sym& symbol, std::string_view name) {
  if (symbol.st_shndx == SHN_UNDEF) {
    const void* address = outside(name);
    if (address == nullptr) return std::nullopt;
    stubs_.push_back(address);
    return size() - kStub;
  }
  if (symbol.st_shndx >= sections_.size()) return std::nullopt;
  const Section& home = sections_[symbol.st_shndx];
  if (!home.is_loaded() || symbol.st_value > home.header.sh_size) return std::nullopt;
  const std::uint64_t place = home.place + symbol.st_value;
  const bool is_code = (home.header.sh_flags & SHF_EXECINSTR) != 0;
  if (name == "vyre_kernel" && is_code && symbol.st_value < home.header.sh_size) entry_ = place;
  return place;
}

const char* Loader::copy_sections(std::byte* base) const {
  for (const Section& section : sections_) {
    if (!section.is_loaded() || section.header.sh_type == SHT_NOBITS) continue;
    const auto contents = part(section.header.sh_offset, section.header.sh_size);
    if (!contents) return "a section is not there";
    std::memcpy(base + section.place, contents->data(), contents->size());
  }
  for (std::size_t i = 0; i < stubs_.size(); ++i) {
    std::byte* stub = base + size_ + i * kStub;
    std::memcpy(stub, kJump, sizeof kJump);
    std::memcpy(stub + sizeof kJump, &stubs_[i], sizeof(void*));
  }
  return nullptr;
}

const char* Loader::relocate_all(std::byte* base) const {
  for (const Section& section : sections_) {
    const Elf64_Shdr& list = section.header;
    if (list.sh_type == SHT_REL) return "its relocations are odd";
    if (list.sh_type != SHT_RELA || list.sh_info >= sections_.size()) continue;
    const Section& target = sections_[list.sh_info];
    if (!target.is_loaded()) continue;
    for (std::uint64_t at = 0; at + sizeof(Elf64_Rela) <= list.sh_size; at += sizeof(Elf64_Rela)) {
      const auto entry = read<Elf64_Rela>(list.sh_offset + at);
      if (!entry) return "a relocation is not there";
      if (const char* wrong = relocate_one(base, target, *entry)) return wrong;
    }
  }
  return nullptr;
}

const char* Loader::relocate_one(std::byte* base, const Section& target,
                                 const Elf64_Rela& entry) const {
  const std::uint64_t index = ELF64_R_SYM(entry.r_info);
  const std::uint64_t kind = ELF64_R_TYPE(entry.r_info);
  if (index >= symbols_.size() || !symbols_[index]) return "it calls what is not there";
  const std::uint64_t size = target.header.sh_size;
  if (entry.r_offset > size || size - entry.r_offset < width_of(kind)) {
    return "a relocation is outside of its section";
  }
  const std::uint64_t symbol = *symbols_[index] + static_cast<std::uint64_t>(entry.r_addend);
  return relocate(base, target.place + entry.r_offset, symbol, kind);
}

}  // namespace

std::shared_ptr<const LoadedCode> load_object(std::string_view bytes, std::string& reason) {
  const auto fail = [&](const char* why) {
    reason = why;
    return nullptr;
  };
  Loader loader(bytes);
  if (const char* wrong = loader.place_sections()) return fail(wrong);
  if (const char* wrong = loader.place_symbols()) return fail(wrong);
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const std::size_t size = (loader.size() + page - 1) / page * page;
  auto code = std::make_shared<LoadedCode>();
  code->memory = map_memory(size, PROT_READ | PROT_WRITE);
  if (code->memory == nullptr) return fail("there is no memory for it");
  auto* base = static_cast<std::byte*>(code->memory.get());
  if (const char* wrong = loader.copy_sections(base)) return fail(wrong);
  if (const char* wrong = loader.relocate_all(base)) return fail(wrong);
  auto* text = reinterpret_cast<char*>(base);
  __builtin___clear_cache(text, text + size);  // of instructions, which not all CPUs watch
  if (mprotect(base, size, PROT_READ | PROT_EXEC) != 0) {
    return fail("this system does not let memory be executed");
  }
  code->kernel = reinterpret_cast<CpuKernel>(base + loader.entry());
  return code;
}

}  // namespace vyre
