import { join, resolve } from 'node:path';
import type { Sections } from '@switchyard/contracts';
import { openRollingFile, type RollingFile } from '@switchyard/telemetry';

type LogSettings = Pick<Sections, 'daemon' | 'observability'>;

const DATA_DIR = '{dataDir}';
const BYTES = { k: 2 ** 10, m: 2 ** 20, g: 2 ** 30 };

/** Resolves the path of the log file. Relative paths are below the data directory. */
export function resolveLogFile({ daemon }: LogSettings, data: string): string {
  const { filePath } = daemon.logging;
  return filePath.startsWith(DATA_DIR) ? resolve(join(data, filePath.slice(DATA_DIR.length))) : resolve(data, filePath);
}

/** Opens the rolling log file. If two settings limit the same value, the smaller one applies. */
export function openLogFile(settings: LogSettings, data: string): RollingFile {
  const { maxSize, maxFiles, compress } = settings.daemon.logging;
  const rotation = settings.observability.logRotation;
  return openRollingFile({
    file: resolveLogFile(settings, data),
    maxBytes: Math.min(parseSize(maxSize), rotation.maxSizeBytes),
    maxFiles: Math.min(maxFiles, rotation.maxFiles),
    maxAgeDays: rotation.maxAgeDays,
    compress,
    compressAged: rotation.compressAged,
  });
}

/** Parses sizes such as `10m` (10 MiB). */
function parseSize(size: string): number {
  const unit = size.at(-1)?.toLowerCase();
  return Number.parseInt(size, 10) * (unit === 'k' || unit === 'm' || unit === 'g' ? BYTES[unit] : 1);
}
