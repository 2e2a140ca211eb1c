import { globSync, readFileSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Bytes of the scripts of the built dashboard after gzip. */
export interface ScriptSizes {
  /** All scripts that the first page loads before it can render. */
  first: number;
  /** Scripts that are loaded later, by file. */
  later: ReadonlyMap<string, number>;
}

export function readScriptSizes(): ScriptSizes {
  const dist = fileURLToPath(new URL('../../dist/', import.meta.url));
  const page = readFileSync(`${dist}index.html`, 'utf8');
  let first = 0;
  const later = new Map<string, number>();
  for (const file of globSync('assets/*.js', { cwd: dist })) {
    const { size } = statSync(`${dist}${file}.gz`);
    if (page.includes(file)) first += size;
    else later.set(file, size);
  }
  return { first, later };
}
