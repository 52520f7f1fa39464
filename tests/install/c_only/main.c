// A project of somebody else in C: runs the program on standard input, and prints what it leaves in
// `out`, the digest of that, and what ran it.
#include <stdio.h>

#include "vyre/vyre_c.h"

int main(void) {
  char text[4096];
  const size_t size = fread(text, 1, sizeof text, stdin);
  uint32_t numbers[4] = {0, 0, 0, 0};
  const vyre_host_buffer out = {"out", numbers, sizeof numbers, numbers};
  const uint32_t grid[3] = {1, 1, 1};
  char digest[65];
  vyre_module* module = NULL;
  vyre_outputs* outputs = NULL;
  vyre_diagnostics* why = NULL;
  vyre_status status = vyre_load(text, size, "stdin", &module, &why);
  if (status == VYRE_OK) {
    status =
        vyre_dispatch(vyre_module_program(module, 0), NULL, grid, &out, 1, NULL, &outputs, &why);
  }
  if (status == VYRE_OK) status = vyre_outputs_digest(outputs, digest);
  if (status == VYRE_OK) {
    for (size_t i = 0; i < 4; ++i) printf("%lu ", (unsigned long)numbers[i]);
    printf("%s\n", digest);
    fprintf(stderr, "%s %s\n", vyre_outputs_backend(outputs), vyre_outputs_note(outputs));
  }
  fputs(vyre_diagnostics_text(why), stderr);
  vyre_diagnostics_free(why);
  vyre_outputs_free(outputs);
  vyre_module_free(module);
  return status == VYRE_OK ? 0 : 1;
}
