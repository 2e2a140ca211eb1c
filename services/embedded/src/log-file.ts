import { join, resolve } from 'node:path';
import type { Sections } from '@switchyard/contracts';
import { openRollingFile, type RollingFile } from '@switchyard/telemetry';

type Logged = Pick<Sections, 'daemon' | 'observability'>;

const DATA_DIR = '{dataDir}';
const BYTES = { k: 2 ** 10, m: 2 ** 20, g: 2 ** 30 };

/** Where the log is written; what is no whole path is below the data directory. */
export function logFileOf({ daemon }: Logged, data: string): string {
  const { filePath } = daemon.logging;
  return filePath.startsWith(DATA_DIR) ? resolve(join(data, filePath.slice(DATA_DIR.length))) : resolve(data, filePath);
}

/** Rolled and tidied as the settings of the file and those of all such files say: the smaller of both counts. */
export function openLogFile(settings: Logged, data: string): RollingFile {
  const { maxSize, maxFiles, compress } = settings.daemon.logging;
  const all = settings.observability.logRotation;
  return openRollingFile({
    file: logFileOf(settings, data),
    maxBytes: Math.min(bytesOf(maxSize), all.maxSizeBytes),
    maxFiles: Math.min(maxFiles, all.maxFiles),
    maxAgeDays: all.maxAgeDays,
    compress,
    compressAged: all.compressAged,
  });
}

/** `10m` is ten times 2^20. */
function bytesOf(size: string): number {
  const unit = size.at(-1)?.toLowerCase();
  return Number.parseInt(size, 10) * (unit === 'k' || unit === 'm' || unit === 'g' ? BYTES[unit] : 1);
}
