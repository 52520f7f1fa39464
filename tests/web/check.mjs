// Compares what artifacts give with what they should, on whichever WebGPU this is.
//
// A case is { name, artifact, grid, inputs, expected }: the contents of buffers by their name, in
// base64; or with `refused` in the place of `expected`, words of the error that it has to end in.
// With `most`, the device says that it takes no more workgroups than that on an axis.
import { dispatch, makeKernel, openDevice, run, upload, download } from '../../web/vyre-webgpu.mjs';

const bytesOf = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

function differences(name, found, expected) {
  const wanted = Object.entries(expected).map(([key, text]) => [key, bytesOf(text)]);
  const names = Object.keys(found).sort().join();
  const all = names === Object.keys(expected).sort().join() ? [] : [`${name} gives ${names}`];
  for (const [buffer, bytes] of wanted) {
    const given = found[buffer] ?? new Uint8Array();
    const at = bytes.findIndex((byte, i) => byte !== given[i]);
    if (given.length !== bytes.length) {
      all.push(`${name}: ${buffer} has ${given.length} bytes, and not ${bytes.length}`);
    } else if (at >= 0) {
      all.push(`${name}: byte ${at} of ${buffer} is ${given[at]}, and not ${bytes[at]}`);
    }
  }
  return all;
}

function setLimits(device, limits) {
  Object.defineProperty(device, 'limits', { configurable: true, value: limits });
}

// Runs a case once from bytes, and twice on buffers that stay on the device.
async function differencesOf(device, { name, artifact, grid, inputs, expected, refused, most }) {
  const contents = {};
  for (const [buffer, text] of Object.entries(inputs)) contents[buffer] = bytesOf(text);
  const kept = device.limits;
  if (most) {
    const limits = {};
    for (const limit in kept) limits[limit] = kept[limit];
    setLimits(device, { ...limits, maxComputeWorkgroupsPerDimension: most });
  }
  try {
    const found = await dispatch(device, artifact, grid, contents);
    if (refused) return [`${name} runs, and has to be refused`];
    const kernel = await makeKernel(device, artifact);
    const resident = {};
    const again = {};
    for (let time = 0; time < 2; time++) {
      for (const key of Object.keys(contents)) {
        const stride = artifact.buffers.find(({ name: own }) => own === key)?.stride ?? 1;
        const elements = new Uint8Array(Math.ceil(contents[key].length / stride) * stride);
        elements.set(contents[key]);
        resident[key] = await upload(device, elements);
      }
      await run(device, kernel, grid, resident);
    }
    for (const key of Object.keys(found)) again[key] = await download(device, resident[key]);
    const twice = differences(`${name} again`, again, expected);
    return [...differences(name, found, expected), ...twice];
  } catch (error) {
    if (refused && String(error).includes(refused)) return [];
    return [`${name}: ${error.stack ?? error}`];
  } finally {
    setLimits(device, kept);
  }
}

// What is wrong, as lines; nothing where all cases agree. Throws where there is no device.
export async function check(gpu, cases) {
  const device = await openDevice(gpu);
  const all = [];
  for (const one of cases) all.push(...await differencesOf(device, one));
  device.destroy();
  return all;
}

// The last words of a script: what agrees, or what does not.
export function report(where, count, lines) {
  for (const line of lines) console.log(line);
  if (lines.length === 0) console.log(`${count} cases agree in ${where}`);
  return lines.length === 0 ? 0 : 1;
}

// The status of a script that finds no device.
export const SKIPPED = 77;
