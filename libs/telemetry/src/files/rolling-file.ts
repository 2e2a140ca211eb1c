import { once } from 'node:events';
import { fstatSync, mkdirSync, openSync, renameSync } from 'node:fs';
import { dirname } from 'node:path';
import { pino, type DestinationStream } from 'pino';
import { agedName } from './rotated-file-name.ts';
import { sweep, type Keeping } from './retention.ts';

export interface RollingFileOptions extends Keeping {
  /** Where lines are written now; what was written before stands beside it. */
  file: string;
  /** From here on it is begun anew. */
  maxBytes: number;
  /** Whether what was written before is compressed at once; what an earlier start left is so with `compressAged`. */
  compress: boolean;
  compressAged: boolean;
  /** A sentence for whoever looks after the files, when they cannot be kept as they should be. */
  say?: (sentence: string) => void;
}

/** Lines of a log in a file that does not grow without end. Nobody who writes waits for the disk. */
export interface RollingFile extends DestinationStream, Disposable {
  /** Says so once everything that was written before is in a file, or cannot be: a disk that is full holds up nobody. */
  flush(done?: (error?: Error) => void): void;
  /** Resolves once what was left to tidy up is done. */
  settled(): Promise<void>;
  /** Writes nothing more, what is on its way included. A process that ends needs none of it. */
  [Symbol.dispose](): void;
}

/** Opens it here and now, and tidies up what earlier starts left. Only the user may read what stands there. */
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
      const closed = once(before, 'close').then(() => finishing.delete(aged)); // what was still on its way is in it by then
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

/** Bytes that are on their way to the disk: what pino writes to says that it is done before they are there. */
interface UnderWay {
  began(bytes: number): void;
  ended(bytes: number): void;
  /** What could not be written is tried again with what comes next. */
  failed(error: unknown): void;
  whenDone(then: () => void): void;
}

/** `onFailure` is told the first of several failures in a row. */
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

/** Of what cannot be written no more is held; the rest is lost. */
const MOST_HELD = 8_388_608;

function open(file: string, underWay: UnderWay) {
  const fd = openSync(file, 'a', 0o600);
  const destination = pino.destination({ dest: fd, sync: false, maxLength: MOST_HELD });
  destination.on('write', (bytes: number) => underWay.ended(bytes));
  destination.on('drop', (line: string) => underWay.ended(Buffer.byteLength(line)));
  destination.on('error', (error: unknown) => underWay.failed(error));
  return { destination, written: fstatSync(fd).size };
}

function complain(sentence: string): void {
  process.stderr.write(`${sentence}\n`);
}
