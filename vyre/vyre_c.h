// The C interface of vyre (C99), for programs in C and for languages that call C.
//
//   vyre_diagnostics* why = NULL;
//   vyre_module* module = NULL;
//   if (vyre_load(text, strlen(text), "xor.vyre", &module, &why) != VYRE_OK) {
//     fputs(vyre_diagnostics_text(why), stderr);
//   }
//
// Status. A function that can fail returns a vyre_status and gives its results through pointers.
// VYRE_ERROR means that the input is wrong or cannot run here; if the caller passes the address of
// a vyre_diagnostics* as `why` (it may be NULL), the reasons are put there. VYRE_MISUSE means that
// the call itself is wrong: NULL where something is needed, an index that is too large. It has no
// diagnostics. After either, nothing has happened, and handles that would have been results are
// NULL. Functions without a status give 0, NULL or "" when they are passed NULL. No pointer that is
// NULL makes any function crash; one to something freed or never made cannot be noticed.
//
// Ownership. A handle that a function gives through a pointer belongs to the caller, who frees it
// with the function named after it; freeing NULL does nothing. Handles may be freed in any order:
// what was made on a device keeps it, and a sequence keeps its pipelines and buffers. A program
// belongs to its module and lives as long as that.
// Strings and data inside the structs that functions fill in live as long as the handle from which
// they come. What is passed in is copied or only looked at during the call; it stays the caller's.
//
// Threads. Different handles may be used on different threads at once, and one handle by several
// threads in functions that take it as const. A device and all that was made on it are one handle
// in this sense: what belongs to it is used by one thread at a time.
//
// Text is UTF-8 and ends with a zero byte. No exception leaves a function; if the host runs out of
// memory for vyre's own tables, the process ends.
#ifndef VYRE_VYRE_C_H
#define VYRE_VYRE_C_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// The version of this interface, and of the shared library: libvyre.so.1. It grows when a function
// or struct changes or goes; additions that leave existing callers as they are do not change it.
#define VYRE_C_VERSION 1

typedef enum {
  VYRE_OK = 0,
  VYRE_ERROR = 1,   // the diagnostics say why
  VYRE_MISUSE = 2,  // an argument is not as described here
} vyre_status;

typedef struct vyre_diagnostics vyre_diagnostics;
typedef struct vyre_module vyre_module;
typedef struct vyre_program vyre_program;
typedef struct vyre_backends vyre_backends;
typedef struct vyre_device vyre_device;
typedef struct vyre_outputs vyre_outputs;
typedef struct vyre_pipeline vyre_pipeline;
typedef struct vyre_buffer vyre_buffer;
typedef struct vyre_sequence vyre_sequence;

// These functions are what libvyre.so exports.
#pragma GCC visibility push(default)

uint32_t vyre_c_version(void);   // VYRE_C_VERSION of the library
const char* vyre_version(void);  // of vyre, such as "0.1.0"

// --- Diagnostics --------------------------------------------------------------------------------

// One thing that is wrong.
typedef struct {
  const char* code;     // "V010"; `vyre explain V010` says more
  const char* problem;  // what is wrong
  const char* fix;      // what to do about it
  const char* file;     // as given to vyre_load() or vyre_load_files(), or ""
  uint32_t line;        // from 1; 0 where there is no place in a text
  uint32_t column;      // from 1, in characters
  const char* path;     // the place in a program that has no text: "program p: body[3]", or ""
  const char* text;     // all of it for people, in several lines, with the line of the source
} vyre_diagnostic;

size_t vyre_diagnostics_count(const vyre_diagnostics* diagnostics);
vyre_status vyre_diagnostics_get(const vyre_diagnostics* diagnostics, size_t index,
                                 vyre_diagnostic* diagnostic);
// The texts of all of them, one after the other; as JSON, what `vyre --json` prints. They live as
// long as the diagnostics.
const char* vyre_diagnostics_text(const vyre_diagnostics* diagnostics);
const char* vyre_diagnostics_json(const vyre_diagnostics* diagnostics);
void vyre_diagnostics_free(vyre_diagnostics* diagnostics);

// --- Modules and programs -----------------------------------------------------------------------

// Reads a text or wire file from memory, which it tells apart by itself, and validates it: there is
// no module that is not valid. `file` is the name for diagnostics; NULL means none.
vyre_status vyre_load(const void* data, size_t size, const char* file, vyre_module** module,
                      vyre_diagnostics** why);
// A text of several files, of which the first one is loaded: it, and the files that it uses, may
// use the others by their names. A path in `use` is relative to the name of the file that says it,
// as in a file system: "lib/a.vyre" uses "lib/b.vyre" as "b.vyre". vyre_load() knows one file only;
// there `use` is an error (P012). vyre reads no files: what a path may lead to is the caller's
// decision.
typedef struct {
  const char* name;
  const void* data;
  size_t size;
} vyre_file;
vyre_status vyre_load_files(const vyre_file* files, size_t count, vyre_module** module,
                            vyre_diagnostics** why);
// Only whether vyre_load() would succeed.
vyre_status vyre_validate(const void* data, size_t size, const char* file, vyre_diagnostics** why);
void vyre_module_free(vyre_module* module);

// The module in canonical text, and in the wire format: of several files the first one, with the
// ops that it needs from others. The caller frees what `text` and `bytes` get with vyre_free().
vyre_status vyre_module_print(const vyre_module* module, char** text);
vyre_status vyre_module_encode(const vyre_module* module, void** bytes, size_t* size,
                               vyre_diagnostics** why);
void vyre_free(void* memory);

// The programs of a module in the order of the file, those of files that it uses last; NULL if
// there is none with that number or name.
size_t vyre_module_program_count(const vyre_module* module);
const vyre_program* vyre_module_program(const vyre_module* module, size_t index);
const vyre_program* vyre_module_find_program(const vyre_module* module, const char* name);

const char* vyre_program_name(const vyre_program* program);
vyre_status vyre_program_workgroup_size(const vyre_program* program, uint32_t size[3]);

typedef enum {
  VYRE_READ = 1,
  VYRE_READ_WRITE = 2,
  VYRE_UNIFORM = 3,
  VYRE_WORKGROUP = 4,  // not bound by the host
} vyre_access;

// A buffer as a program declares it.
typedef struct {
  const char* name;
  vyre_access access;
  const char* element;  // its type as in a program: "u32", "u8", "vec4u32", "bytes"
  uint32_t stride;      // bytes of an element; 4 for `bytes`, which is a sequence of words
  uint32_t count;       // elements that it has at least; 0 means that any number will do
  uint32_t binding;     // 0 for workgroup memory, which has none
} vyre_buffer_decl;

// The buffers of a program in the order of their declarations.
size_t vyre_program_buffer_count(const vyre_program* program);
vyre_status vyre_program_buffer(const vyre_program* program, size_t index,
                                vyre_buffer_decl* buffer);

// --- Devices ------------------------------------------------------------------------------------

// All backends that vyre knows, with those that cannot run here.
typedef struct {
  const char* name;     // "interp"
  const char* alias;    // another name for it, or ""
  const char* summary;  // what it is, in a few words
  int available;        // whether vyre_device_open() succeeds
  uint32_t devices;     // how many it has here
  const char* device;   // the name of the first one, or ""
  const char* reason;   // why it is not available, or ""
} vyre_backend;

vyre_status vyre_backends_list(vyre_backends** backends);
size_t vyre_backends_count(const vyre_backends* backends);
vyre_status vyre_backends_get(const vyre_backends* backends, size_t index, vyre_backend* backend);
void vyre_backends_free(vyre_backends* backends);

// Opens a device of a backend, by the backend's name or alias and the device's number, from 0. B003
// lists the backends that can run. NULL and 0 mean the fastest one for all programs: `cpu`, or the
// interpreter with a note that says why.
vyre_status vyre_device_open(const char* backend, uint32_t index, vyre_device** device,
                             vyre_diagnostics** why);
void vyre_device_free(vyre_device* device);

typedef struct {
  const char* backend;
  const char* name;
  uint64_t max_invocations;  // in a workgroup
  uint32_t max_workgroup_size[3];
  uint64_t max_workgroup_bytes;
  uint64_t max_buffer_bytes;
  const char* note;  // why the interpreter runs instead of a faster backend, or ""
} vyre_device_info;

vyre_status vyre_device_get_info(const vyre_device* device, vyre_device_info* info);

// --- Running from host memory -------------------------------------------------------------------

// How to run. All zero, like NULL, is the default.
typedef struct {
  const char* schedule;  // "sequential", "reverse", "round-robin", "random:SEED" or "mixed:SEED"
  uint64_t max_steps;    // the run fails after this many; 0: any number
  uint32_t threads;      // at most; 0: as many as there are cores
  // Called on the caller's thread now and then with the fraction of the work that is done. When it
  // returns other than 0, the run fails with R005. It must not use the device that is running.
  int (*progress)(double done, void* context);
  void* context;  // passed to it
} vyre_run_options;

// The contents of a buffer before a run, and where they go after it: `result` is memory of the same
// size, `contents` itself if you like, or NULL. Only a read_write buffer has a result. The results
// of one run must not overlap. After a failure they are as they were.
typedef struct {
  const char* name;
  const void* contents;
  size_t size;  // in bytes
  void* result;
} vyre_host_buffer;

// Runs a program once on a grid of workgroups. `device` may be NULL, for the default one. Every
// buffer but workgroup memory is given once; the memory of a read_write buffer must not overlap
// with that of another. `outputs` may be NULL; otherwise it gets all read_write buffers, a `bytes`
// buffer padded to whole words.
vyre_status vyre_dispatch(const vyre_program* program, vyre_device* device, const uint32_t grid[3],
                          const vyre_host_buffer* buffers, size_t buffer_count,
                          const vyre_run_options* options, vyre_outputs** outputs,
                          vyre_diagnostics** why);

typedef struct {
  const char* name;
  const char* element;
  const void* contents;
  size_t size;  // in bytes
} vyre_output;

// In the order of their bindings.
size_t vyre_outputs_count(const vyre_outputs* outputs);
vyre_status vyre_outputs_get(const vyre_outputs* outputs, size_t index, vyre_output* output);
// By name; D001 where there is none.
vyre_status vyre_outputs_find(const vyre_outputs* outputs, const char* name, vyre_output* output,
                              vyre_diagnostics** why);
// BLAKE2b-256 of all of them, in order, as 64 hexadecimal digits and a zero byte: the digest that
// `vyre run` prints, the same on every machine and backend.
vyre_status vyre_outputs_digest(const vyre_outputs* outputs, char digest[65]);
double vyre_outputs_seconds(const vyre_outputs* outputs);       // that the run took
const char* vyre_outputs_backend(const vyre_outputs* outputs);  // that ran it
const char* vyre_outputs_note(const vyre_outputs* outputs);     // as in vyre_device_info
void vyre_outputs_free(vyre_outputs* outputs);

// Runs a program as vyre_dispatch() would, on the interpreter and in many orders, or only in the
// one that the options name. `races` gets what races (R001) or depends on the order (R002), and
// NULL where nothing does. The status says whether the check could be done.
vyre_status vyre_find_races(const vyre_program* program, const uint32_t grid[3],
                            const vyre_host_buffer* buffers, size_t buffer_count,
                            const vyre_run_options* options, vyre_diagnostics** races,
                            vyre_diagnostics** why);

// --- Programs and buffers that stay on a device -------------------------------------------------

// Loads a program on a device. `convention` is the version of the convention that the buffers of
// the program must fit, 1 or 2, or 0 for none; `lookup_binding` is that of version 2.
vyre_status vyre_pipeline_make(vyre_device* device, const vyre_program* program,
                               uint32_t convention, uint32_t lookup_binding,
                               vyre_pipeline** pipeline, vyre_diagnostics** why);
void vyre_pipeline_free(vyre_pipeline* pipeline);

// Makes a buffer on a device, with a copy of `contents`, or zeros where that is NULL.
vyre_status vyre_buffer_make(vyre_device* device, const void* contents, size_t size,
                             vyre_buffer** buffer, vyre_diagnostics** why);
size_t vyre_buffer_size(const vyre_buffer* buffer);
// `offset` and `size` count bytes. A part that is not inside the buffer is D002.
vyre_status vyre_buffer_write(vyre_buffer* buffer, size_t offset, const void* contents, size_t size,
                              vyre_diagnostics** why);
vyre_status vyre_buffer_read(const vyre_buffer* buffer, size_t offset, void* into, size_t size,
                             vyre_diagnostics** why);
void vyre_buffer_free(vyre_buffer* buffer);

typedef struct {
  const char* name;  // of the program's buffer
  vyre_buffer* buffer;
} vyre_binding;

typedef struct {
  const vyre_pipeline* pipeline;
  uint32_t grid[3];
  const vyre_binding* bindings;
  size_t binding_count;
} vyre_launch;

// Runs launches in order, each after the end of the one before. All of them are checked before the
// first one starts; buffers of a run that fails later (an R code) are left half done. `seconds` is
// NULL or has room for what each launch takes.
vyre_status vyre_run(vyre_device* device, const vyre_launch* launches, size_t launch_count,
                     const vyre_run_options* options, double* seconds, vyre_diagnostics** why);

// Launches that are checked once, to run again and again; on a GPU that takes the host far less
// time than vyre_run(). `seconds` is NULL or gets what all of them take together.
vyre_status vyre_sequence_record(vyre_device* device, const vyre_launch* launches,
                                 size_t launch_count, vyre_sequence** sequence,
                                 vyre_diagnostics** why);
vyre_status vyre_sequence_run(vyre_sequence* sequence, const vyre_run_options* options,
                              double* seconds, vyre_diagnostics** why);
void vyre_sequence_free(vyre_sequence* sequence);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
