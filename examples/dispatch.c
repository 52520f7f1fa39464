// vyre from C: runs a program on an array, runs it twice on an array that stays on the device in
// between, and prints what vyre has to say about a program that is wrong.
#include <stdio.h>
#include <string.h>

#include "vyre/vyre_c.h"

static const char* const squares =
    "program squares workgroup(64) {\n"
    "  read_write data: u32[]\n"
    "\n"
    "  let i = invocation_id.x\n"
    "  data[i] = data[i] * data[i]\n"
    "}\n";

static const char* const broken =
    "program broken workgroup(64) {\n"
    "  read data: u32[]\n"
    "\n"
    "  let i = invocation_id.x\n"
    "  data[i] = data[i] * data[j]\n"
    "}\n";

static void print_numbers(const uint32_t* numbers, size_t count) {
  for (size_t i = 0; i < count; ++i) printf("%lu ", (unsigned long)numbers[i]);
  printf("\n");
}

static vyre_status run_once(const vyre_program* program, vyre_diagnostics** why) {
  uint32_t numbers[5] = {1, 2, 3, 4, 5};
  const vyre_host_buffer data = {
      .name = "data", .contents = numbers, .size = sizeof numbers, .result = numbers};
  const uint32_t grid[3] = {1, 1, 1};
  const vyre_status status = vyre_dispatch(program, NULL, grid, &data, 1, NULL, NULL, why);
  if (status == VYRE_OK) print_numbers(numbers, 5);
  return status;
}

static vyre_status run_twice(const vyre_program* program, vyre_diagnostics** why) {
  uint32_t numbers[5] = {1, 2, 3, 4, 5};
  vyre_device* device = NULL;
  vyre_pipeline* pipeline = NULL;
  vyre_buffer* buffer = NULL;
  vyre_status status = vyre_device_open("interp", 0, &device, why);
  if (status == VYRE_OK) status = vyre_pipeline_make(device, program, 0, 0, &pipeline, why);
  if (status == VYRE_OK) status = vyre_buffer_make(device, numbers, sizeof numbers, &buffer, why);
  if (status == VYRE_OK) {
    const vyre_binding data = {"data", buffer};
    const vyre_launch launch = {pipeline, {1, 1, 1}, &data, 1};
    const vyre_launch launches[2] = {launch, launch};
    status = vyre_run(device, launches, 2, NULL, NULL, why);
  }
  if (status == VYRE_OK) status = vyre_buffer_read(buffer, 0, numbers, sizeof numbers, why);
  if (status == VYRE_OK) print_numbers(numbers, 5);
  vyre_buffer_free(buffer);
  vyre_pipeline_free(pipeline);
  vyre_device_free(device);
  return status;
}

static void try_program(const char* text, const char* file) {
  vyre_diagnostics* why = NULL;
  vyre_module* module = NULL;
  vyre_status status = vyre_load(text, strlen(text), file, &module, &why);
  if (status == VYRE_OK) status = run_once(vyre_module_program(module, 0), &why);
  if (status == VYRE_OK) status = run_twice(vyre_module_program(module, 0), &why);
  if (status != VYRE_OK) printf("%s", vyre_diagnostics_text(why));
  vyre_diagnostics_free(why);
  vyre_module_free(module);
}

int main(void) {
  try_program(squares, "squares.vyre");
  try_program(broken, "broken.vyre");
  return 0;
}
