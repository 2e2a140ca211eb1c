import { existsSync } from 'node:fs';

const STAMP = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{3})Z(-\d+)?(\.gz)?$/;

/** Returns an unused file name with the time of the rotation. */
export function agedName(file: string, at: Date): string {
  const stamp = at.toISOString().replaceAll(/[-:.]/g, '');
  for (let nth = 0; ; nth++) {
    const name = `${file}.${stamp}${nth === 0 ? '' : `-${nth}`}`;
    if (!existsSync(name) && !existsSync(`${name}.gz`)) return name;
  }
}

/** Returns the rotation time (epoch ms) of a copy; undefined for other files. */
export function agedAt(base: string, name: string): number | undefined {
  if (!name.startsWith(`${base}.`)) return undefined;
  const match = STAMP.exec(name.slice(base.length + 1));
  if (match === null) return undefined;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, ms = 0] = match.slice(1, 8).map(Number);
  return Date.UTC(year, month - 1, day, hour, minute, second, ms);
}
