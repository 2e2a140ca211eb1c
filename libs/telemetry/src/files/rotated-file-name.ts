import { existsSync } from 'node:fs';

const STAMP = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{3})Z(-\d+)?(\.gz)?$/;

/** A full file is called after the time when it was full; no two are called the same. */
export function agedName(file: string, at: Date): string {
  const stamp = at.toISOString().replaceAll(/[-:.]/g, '');
  for (let nth = 0; ; nth++) {
    const name = `${file}.${stamp}${nth === 0 ? '' : `-${nth}`}`;
    if (!existsSync(name) && !existsSync(`${name}.gz`)) return name;
  }
}

/** When the file was full that is called so (epoch ms); undefined for what is none of this file. */
export function agedAt(base: string, name: string): number | undefined {
  if (!name.startsWith(`${base}.`)) return undefined;
  const match = STAMP.exec(name.slice(base.length + 1));
  if (match === null) return undefined;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, ms = 0] = match.slice(1, 8).map(Number);
  return Date.UTC(year, month - 1, day, hour, minute, second, ms);
}
