import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Writes one file per set of values into a folder, which disposing removes. */
export function writeRenderings(rendered: ReadonlyMap<string, string>): Disposable & { folder: string; files: string[] } {
  const folder = mkdtempSync(join(tmpdir(), 'switchyard-charts-'));
  const files = [...rendered].map(([set, text]) => {
    const file = join(folder, `${set}.yaml`);
    writeFileSync(file, text);
    return file;
  });
  return { folder, files, [Symbol.dispose]: () => rmSync(folder, { recursive: true }) };
}
