import { createReadStream, readdirSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { putBlob } from '@switchyard/blob';
import { principal, type TestService } from '@switchyard/testkit';
import { testMedia } from './media.fixture.ts';

/** Measurements of a service that received all files of a folder. */
export interface HostileReport {
  calls: { file: string; method: string; code?: string; message?: string; busyMs: number }[];
  /** CPU time that the main thread used between two samples. Time in which other processes ran does not count. */
  p99Ms: number;
  maxMs: number;
  /** The highest growth of the resident memory. */
  grownMiB: number;
}

/** Interval of the measurements of CPU time and memory. */
const SAMPLE_INTERVAL_MS = 5;
const MIB = 1_048_576;
/** Bytes of a file that are sent in a request, so that the memory of the caller is no part of the measurement. */
const MAX_SENT_BYTES = MIB;

type Call = (app: TestService, address: string, file: string) => Promise<unknown>;

const CALLS: Readonly<Record<string, Call>> = {
  'media.extract_document': (app, address) => app.bus.call('media.extract_document', { attachment_url: address }),
  'media.transcribe': (app, address) => app.bus.call('media.transcribe', { attachment_url: address }),
  'media.describe_video': (app, address) => app.bus.call('media.describe_video', { attachment_url: address }),
  'audio.transcribe': async (app, _, file) =>
    app.bus.call('audio.transcribe', { audio: (await readHead(file, MAX_SENT_BYTES)).toString('base64') }),
  'image.analyze': (app, address) => app.bus.call('image.analyze', { source: address, source_type: 'attachment' }),
};

async function readHead(path: string, maxBytes: number): Promise<Buffer> {
  await using file = await open(path);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(maxBytes), 0, maxBytes, 0);
  return buffer.subarray(0, bytesRead);
}

/** Measures how many milliseconds of CPU time this thread uses between two samples. The returned function ends it. */
function sampleBusyTime(): () => number[] {
  const samples: number[] = [];
  let last = process.threadCpuUsage();
  const sample = (): void => {
    const { user, system } = process.threadCpuUsage(last);
    last = process.threadCpuUsage();
    samples.push((user + system) / 1_000);
  };
  const timer = setInterval(sample, SAMPLE_INTERVAL_MS);
  return () => {
    clearInterval(timer);
    sample();
    return samples;
  };
}

/** Calls each method with each file of a folder. No other service runs in this process. */
async function callAll(folder: string): Promise<HostileReport> {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  await using app = await testMedia({ settings: { media: { documentExtraction: { timeoutMs: 10_000 } } } });
  const blobs = (await app.host.blobs()).for(principal());
  const store = async (file: string): Promise<string> => {
    const { id } = await putBlob(blobs, () => createReadStream(join(folder, file)), { contentType: 'application/octet-stream' });
    return `/media/${id}.ogg`;
  };
  const files = readdirSync(folder).toSorted();
  // Each method loads its libraries once.
  const first = await store(files[0] ?? '');
  for (const call of Object.values(CALLS)) await call(app, first, join(folder, files[0] ?? '')).catch(() => undefined);
  collectGarbage();

  const calls: HostileReport['calls'] = [];
  const before = process.memoryUsage.rss();
  let highest = before;
  const memoryTimer = setInterval(() => (highest = Math.max(highest, process.memoryUsage.rss())), SAMPLE_INTERVAL_MS);
  const all: number[] = [];
  for (const file of files) {
    const address = await store(file);
    for (const [method, call] of Object.entries(CALLS)) {
      // Garbage of earlier calls would count as growth.
      collectGarbage();
      const stopSampling = sampleBusyTime();
      const error = await call(app, address, join(folder, file)).then(
        () => undefined,
        (reason: { code?: string; message: string }) => reason,
      );
      const busy = stopSampling();
      all.push(...busy);
      calls.push({ file, method, ...(error && { code: error.code ?? 'no code', message: error.message }), busyMs: Math.max(...busy) });
    }
  }
  clearInterval(memoryTimer);
  const sorted = all.toSorted((a, b) => a - b);
  const percentile = (share: number): number => sorted[Math.ceil(sorted.length * share) - 1] ?? 0;
  return { calls, p99Ms: percentile(0.99), maxMs: percentile(1), grownMiB: (highest - before) / MIB };
}

const [folder] = process.argv.slice(2);
if (import.meta.main && folder !== undefined) process.stdout.write(`${JSON.stringify(await callAll(folder))}\n`);
