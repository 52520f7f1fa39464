// Feeds the decoder any bytes, and the same bytes under a header that is right, so that what the
// digest guards is reached as well. What decodes must have been the one encoding of its module.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "vyre/wire/format.h"
#include "vyre/wire/wire.h"

namespace {

void check(const std::string& bytes) {
  const vyre::Result<vyre::Module> module = vyre::decode(bytes, "fuzz");
  if (!module) return;
  const vyre::Result<std::string> again = vyre::encode(*module);
  if (!again || *again != bytes) std::abort();
}

// Magic, version, length and digest; the number of items stays.
void seal(std::string& bytes) {
  const std::uint64_t checksum =
      vyre::wire_checksum(std::string_view(bytes).substr(vyre::kWireHeaderBytes));
  vyre::kWireMagic.copy(bytes.data(), vyre::kWireMagic.size());
  vyre::store_word(bytes.data() + 8, vyre::kWireVersion);
  vyre::store_word(bytes.data() + 16, static_cast<std::uint32_t>(bytes.size()));
  vyre::store_word(bytes.data() + 20, 0);
  vyre::store_word(bytes.data() + 24, static_cast<std::uint32_t>(checksum));
  vyre::store_word(bytes.data() + 28, static_cast<std::uint32_t>(checksum >> 32));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  check(bytes);
  if (size >= vyre::kWireHeaderBytes) {
    seal(bytes);
    check(bytes);
  }
  return 0;
}
