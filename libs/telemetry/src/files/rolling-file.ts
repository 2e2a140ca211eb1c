import { once } from 'node:events';
import { fstatSync, mkdirSync, openSync, renameSync } from 'node:fs';
import { dirname } from 'node:path';
import { pino, type DestinationStream } from 'pino';
import { agedName } from './aged.ts';
import { sweep, type Keeping } from './sweep.ts';

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
export interface RollingFile extends DestinationStream {
  flush(done?: (error?: Error) => void): void;
  /** Resolves once what was left to tidy up is done. */
  settled(): Promise<void>;
}

/** Opens it here and now, and tidies up what earlier starts left. Only the user may read what stands there. */
export function openRollingFile({ file, maxBytes, compress, compressAged, say = complain, ...keeping }: RollingFileOptions): RollingFile {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  let { destination, written } = open(file);
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
      ({ destination } = open(file));
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
      written += Buffer.byteLength(line);
      destination.write(line);
    },
    flush: (done) => destination.flush(done),
    settled: () => tidying,
  };
}

function open(file: string) {
  const fd = openSync(file, 'a', 0o600);
  return { destination: pino.destination({ dest: fd, sync: false }), written: fstatSync(fd).size };
}

function complain(sentence: string): void {
  process.stderr.write(`${sentence}\n`);
}
