// Runs vyre's WGSL kernels on any WebGPU of JavaScript: of a browser, of Deno, of npm's `webgpu`.
//
//   const artifact = await (await fetch('kernel.json')).json();
//   const device = await openDevice();  // in node: openDevice(create([]))
//   const { out } = await dispatch(device, artifact, [64], { a, out: new Uint8Array(65536) });
//
// To keep buffers on the device between runs, use makeKernel(), upload(), run() and download().
// docs/backends/webgpu.md describes artifacts. What is wrong is thrown as an Error.

const STRETCH = 256; // bindings cover whole stretches of bytes
const SLOTS = 256; // dispatches that are submitted together
const PARAMETERS = 0, TABLES = 1, BUFFERS = 2; // bindings
const LIMITS = [
  'maxBufferSize', 'maxStorageBufferBindingSize', 'maxStorageBuffersPerShaderStage',
  'maxComputeWorkgroupStorageSize', 'maxComputeInvocationsPerWorkgroup',
  'maxComputeWorkgroupSizeX', 'maxComputeWorkgroupSizeY', 'maxComputeWorkgroupSizeZ',
  'maxComputeWorkgroupsPerDimension',
];

const whole = (bytes, of = STRETCH) => Math.max(Math.ceil(bytes / of), 1) * of;

const gpus = new WeakMap(); // of devices: in node, one that nobody holds takes its devices along

// A GPUDevice with all that the adapter allows.
export async function openDevice(gpu = globalThis.navigator?.gpu) {
  const adapter = await gpu?.requestAdapter({ powerPreference: 'high-performance' });
  if (!adapter) throw new Error('there is no WebGPU here, or no GPU that it can use');
  const requiredLimits = {};
  for (const name of LIMITS) requiredLimits[name] = adapter.limits[name];
  const device = await adapter.requestDevice({ requiredLimits });
  gpus.set(device, gpu);
  return device;
}

// What an action does with the device, or an Error with what the device has against it.
async function checked(device, what, action) {
  const filters = ['validation', 'out-of-memory', 'internal'];
  for (const filter of filters) device.pushErrorScope(filter);
  const done = await Promise.allSettled([(async () => action())()]);
  const errors = await Promise.all(filters.map(() => device.popErrorScope()));
  if (done[0].status === 'rejected') throw done[0].reason;
  const error = errors.find((one) => one !== null);
  if (error) throw new Error(`${what}: ${error.message}`);
  return done[0].value;
}

// Compiles an artifact.
export async function makeKernel(device, artifact) {
  if (!artifact?.buffers) throw new Error('this is no artifact; `vyre lower --to wgsl-json` makes them');
  const buffers = artifact.buffers.length + (artifact.tables.length > 0 ? 1 : 0);
  const most = device.limits.maxStorageBuffersPerShaderStage;
  if (buffers > most) {
    throw new Error(`${artifact.name} uses ${buffers} buffers; this device binds at most ${most}`);
  }
  const entries = [{ binding: PARAMETERS, buffer: { type: 'uniform', hasDynamicOffset: true } }];
  const add = (binding, type) => entries.push({ binding, buffer: { type } });
  if (artifact.tables.length > 0) add(TABLES, 'read-only-storage');
  artifact.buffers.forEach((buffer, i) => {
    add(BUFFERS + i, buffer.is_written ? 'storage' : 'read-only-storage');
  });
  for (const entry of entries) entry.visibility = 4; // GPUShaderStage.COMPUTE
  const kernel = { artifact };
  await checked(device, artifact.name, async () => {
    const module = device.createShaderModule({ code: artifact.text });
    const { messages } = await module.getCompilationInfo();
    const wrong = messages.filter((message) => message.type === 'error');
    if (wrong.length > 0) {
      const lines = wrong.map((at) => `${at.lineNum}:${at.linePos}: ${at.message}`);
      throw new Error(`${artifact.name} does not compile\n${lines.join('\n')}`);
    }
    kernel.group = device.createBindGroupLayout({ entries });
    kernel.pipeline = await device.createComputePipelineAsync({
      layout: device.createPipelineLayout({ bindGroupLayouts: [kernel.group] }),
      compute: { module, entryPoint: 'main' },
    });
  });
  if (artifact.tables.length > 0) {
    kernel.tables = await upload(device, new Uint8Array(new Uint32Array(artifact.tables).buffer));
  }
  return kernel;
}

// Bytes as a buffer on the device: { buffer, bytes }, where `bytes` is how many it has.
export async function upload(device, contents) {
  const limits = device.limits;
  const most = Math.min(limits.maxBufferSize, limits.maxStorageBufferBindingSize);
  const size = whole(contents.byteLength);
  if (size > most) throw new Error(`${size} bytes are more than a buffer of this device, ${most}`);
  return checked(device, 'a buffer', () => {
    // STORAGE, COPY_SRC and COPY_DST of GPUBufferUsage, which is not everywhere.
    const buffer = device.createBuffer({ size, usage: 0x80 | 4 | 8, mappedAtCreation: true });
    const bytes = new Uint8Array(contents.buffer, contents.byteOffset, contents.byteLength);
    new Uint8Array(buffer.getMappedRange()).set(bytes);
    buffer.unmap();
    return { buffer, bytes: contents.byteLength };
  });
}

// What a buffer holds, as a Uint8Array.
export async function download(device, { buffer, bytes }) {
  if (bytes === 0) return new Uint8Array();
  const size = whole(bytes, 4);
  const staging = device.createBuffer({ size, usage: 1 | 8 }); // MAP_READ and COPY_DST
  const encoder = device.createCommandEncoder();
  encoder.copyBufferToBuffer(buffer, 0, staging, 0, size);
  device.queue.submit([encoder.finish()]);
  await staging.mapAsync(1);
  const contents = new Uint8Array(staging.getMappedRange()).slice(0, bytes);
  staging.destroy();
  return contents;
}

// The words that every dispatch of a run gets, but for the first three.
function parametersOf(artifact, grid, buffers) {
  const words = [0, 0, 0, ...grid];
  for (const { axis, distance } of artifact.limits) {
    const invocations = Math.max(grid[axis], 1) * artifact.size[axis];
    words.push(Math.max(invocations - Math.max(distance, 1), 0));
  }
  for (const { name, stride } of artifact.buffers) {
    if (!buffers[name]) throw new Error(`${artifact.name} needs a buffer ${name}`);
    words.push(Math.ceil(buffers[name].bytes / stride));
  }
  return words;
}

// The parts of a grid that one dispatch takes: where each begins, and how large it is.
function* parts(grid, most) {
  for (let z = 0; z < grid[2]; z += most) {
    for (let y = 0; y < grid[1]; y += most) {
      for (let x = 0; x < grid[0]; x += most) {
        const first = [x, y, z];
        yield { first, count: first.map((at, axis) => Math.min(grid[axis] - at, most)) };
      }
    }
  }
}

// Runs a kernel on [x, y, z] workgroups with buffers on the device, by name, each of them once.
export async function run(device, kernel, [x, y = 1, z = 1], buffers) {
  const { artifact } = kernel;
  const words = parametersOf(artifact, [x, y, z], buffers);
  const slot = whole(4 * words.length);
  const blocks = [x, y, z].map((count, axis) => Math.ceil(count / artifact.groups[axis]));
  const all = [...parts(blocks, device.limits.maxComputeWorkgroupsPerDimension)];
  await checked(device, artifact.name, async () => {
    // UNIFORM and COPY_DST
    const parameters = device.createBuffer({ size: slot * SLOTS, usage: 0x40 | 8 });
    const entries = [{ binding: PARAMETERS, resource: { buffer: parameters, size: slot } }];
    const add = (binding, { buffer, bytes }) => {
      entries.push({ binding, resource: { buffer, size: whole(bytes) } });
    };
    if (kernel.tables) add(TABLES, kernel.tables);
    artifact.buffers.forEach(({ name }, i) => add(BUFFERS + i, buffers[name]));
    const group = device.createBindGroup({ layout: kernel.group, entries });
    for (let i = 0; i < all.length; i += SLOTS) {
      const some = all.slice(i, i + SLOTS);
      const slots = new Uint32Array(some.length * slot / 4);
      const encoder = device.createCommandEncoder();
      const pass = encoder.beginComputePass();
      pass.setPipeline(kernel.pipeline);
      some.forEach(({ first, count }, at) => {
        slots.set(first.concat(words.slice(3)), at * slot / 4);
        pass.setBindGroup(0, group, [at * slot]);
        pass.dispatchWorkgroups(...count);
      });
      pass.end();
      device.queue.writeBuffer(parameters, 0, slots);
      device.queue.submit([encoder.finish()]);
    }
    await device.queue.onSubmittedWorkDone();
    parameters.destroy();
  });
}

// Runs an artifact once on bytes, by the name of their buffer; gives what it may have written.
export async function dispatch(device, artifact, grid, contents) {
  const kernel = await makeKernel(device, artifact);
  const buffers = {}, outputs = {};
  for (const { name, stride } of artifact.buffers) {
    if (!contents[name]) continue;
    // Zeros up to whole elements, which a buffer of bytes may need.
    const bytes = new Uint8Array(Math.ceil(contents[name].length / stride) * stride);
    bytes.set(contents[name]);
    buffers[name] = await upload(device, bytes);
  }
  await run(device, kernel, grid, buffers);
  for (const { name, is_written: isWritten } of artifact.buffers) {
    if (isWritten) outputs[name] = await download(device, buffers[name]);
  }
  for (const { buffer } of Object.values(buffers)) buffer.destroy();
  kernel.tables?.buffer.destroy();
  return outputs;
}
