import { once } from 'node:events';
import { fstatSync, mkdirSync, openSync, renameSync } from 'node:fs';
import { dirname } from 'node:path';
import { pino, type DestinationStream } from 'pino';
import { agedName } from './rotated-file-name.ts';
import { sweep, type RetentionOptions } from './retention.ts';

export interface RollingFileOptions extends RetentionOptions {
  /** The live file. Rotated copies are in the same directory. */
  file: string;
  /** Size at which the file is rotated. */
  maxBytes: number;
  /** `compress` compresses copies on rotation; `compressAged` also compresses copies of earlier runs at the start. */
  compress: boolean;
  compressAged: boolean;
  /** Receives a sentence for the operator when writing, rotation or retention fails. */
  say?: (sentence: string) => void;
}

/** A log file with rotation. Writers never wait for the disk. */
export interface RollingFile extends DestinationStream, Disposable {
  /** Calls `done` when all earlier lines are written, or cannot be written because the disk fails. */
  flush(done?: (error?: Error) => void): void;
  /** Resolves when the pending retention runs are finished. */
  settled(): Promise<void>;
  /** Stops writing and drops pending lines. Not needed before a process exits. */
  [Symbol.dispose](): void;
}

/** Opens the file synchronously with mode 0600 and applies retention to copies of earlier runs. */
export function openRollingFile({ file, maxBytes, compress, compressAged, say = complain, ...keeping }: RollingFileOptions): RollingFile {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const underWay = countBytes((error) => say(`${file} cannot be written: ${String(error)}`));
  let { destination, written } = open(file, underWay);
  let tidying = Promise.resolve();
  const finishing = new Set<string>();

  function tidy(compressed: boolean, after: Promise<unknown> = Promise.resolve()): void {
    tidying = Promise.all([tidying, after])
      .then(() => sweep(file, { ...keeping, compress: compressed, inUse: (path) => finishing.has(path) }))
      .catch((error: unknown) => say(`old copies of ${file} stay as they are: ${String(error)}`));
  }

  function roll(): void {
    written = 0;
    try {
      const aged = agedName(file, new Date());
      renameSync(file, aged);
      const before = destination;
      ({ destination } = open(file, underWay));
      finishing.add(aged);
      const closed = once(before, 'close').then(() => finishing.delete(aged)); // by then all pending writes are in the copy
      before.end();
      tidy(compress, closed);
    } catch (error) {
      say(`${file} is written on, though it is full: ${String(error)}`);
    }
  }

  tidy(compress || compressAged);
  return {
    write(line) {
      if (written >= maxBytes) roll();
      const bytes = Buffer.byteLength(line);
      written += bytes;
      underWay.began(bytes);
      destination.write(line);
    },
    flush: (done) => underWay.whenDone(() => done?.()),
    settled: () => tidying,
    [Symbol.dispose]: () => destination.destroy(),
  };
}

/** Counts bytes that are not on disk yet, because the pino destination reports completion earlier. */
interface UnderWay {
  began(bytes: number): void;
  ended(bytes: number): void;
  /** Failed writes are retried with the next write. */
  failed(error: unknown): void;
  whenDone(then: () => void): void;
}

/** Calls `onFailure` for the first of consecutive failures. */
function countBytes(onFailure: (error: unknown) => void): UnderWay {
  let bytes = 0;
  let failing = false;
  let waiting: (() => void)[] = [];
  function release(): void {
    const now = waiting;
    waiting = [];
    for (const then of now) then();
  }
  return {
    began: (more) => void (bytes += more),
    ended(some) {
      bytes -= some;
      failing = false;
      if (bytes <= 0) release();
    },
    failed(error) {
      if (!failing) onFailure(error);
      failing = true;
      release();
    },
    whenDone(then) {
      if (bytes > 0 && !failing) waiting.push(then);
      else process.nextTick(then);
    },
  };
}

/** Maximum buffered bytes while the disk fails; further lines are dropped. */
const MAX_HELD = 8_388_608;

function open(file: string, underWay: UnderWay) {
  const fd = openSync(file, 'a', 0o600);
  const destination = pino.destination({ dest: fd, sync: false, maxLength: MAX_HELD });
  destination.on('write', (bytes: number) => underWay.ended(bytes));
  destination.on('drop', (line: string) => underWay.ended(Buffer.byteLength(line)));
  destination.on('error', (error: unknown) => underWay.failed(error));
  return { destination, written: fstatSync(fd).size };
}

function complain(sentence: string): void {
  process.stderr.write(`${sentence}\n`);
}
