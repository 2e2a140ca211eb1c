import { read, utils, type CellObject, type WorkSheet } from '@e965/xlsx';
import type { Extracted } from '../protocol/extracted.ts';
import type { ParseRequest } from '../protocol/protocol.ts';
import { formatTable } from '../text/html-to-markdown.ts';
import { readZip } from '../text/zip.ts';

const MAX_COLUMNS = 256;
const MAX_CELLS = 200_000;

/** Each sheet as a table under its name. Only cells with content are visited, so that one cell in the last row costs one cell. */
export async function parseSheets(bytes: Uint8Array, { maxPages, maxChars }: ParseRequest): Promise<Extracted> {
  await readZip(bytes); // the limits of archives hold before the library inflates it
  const book = read(bytes, { type: 'array', dense: true, cellFormula: false, cellHTML: false, cellStyles: false, bookVBA: false });
  const names = book.SheetNames;
  const parts: string[] = [];
  let chars = 0;
  for (const name of names.slice(0, maxPages)) {
    if (chars > maxChars) break;
    const sheet = book.Sheets[name];
    const table = sheet === undefined ? '' : formatTable(readRows(sheet));
    const part = `## ${name}\n\n${table}`.trim();
    chars += part.length;
    parts.push(part);
  }
  return { text: parts.join('\n\n'), pageCount: names.length, truncated: names.length > maxPages };
}

function readRows(sheet: WorkSheet): string[][] {
  const rows = (sheet['!data'] ?? []) as (CellObject | undefined)[][];
  const found: string[][] = [];
  let cells = 0;
  // forEach skips the holes of a sparse array.
  rows.forEach((row) => {
    if (cells > MAX_CELLS) return;
    const line: string[] = [];
    row.forEach((cell, column) => {
      if (cell === undefined || column >= MAX_COLUMNS) return;
      line[column] = formatCell(cell);
      cells += 1;
    });
    if (line.length > 0) found.push(Array.from(line, (text) => text ?? ''));
  });
  return trimColumns(found);
}

function formatCell(cell: CellObject): string {
  const text = cell.w ?? (cell.v === undefined ? '' : utils.format_cell(cell));
  return text.replaceAll(/\s+/g, ' ').trim();
}

/** Removes empty columns before the first one. */
function trimColumns(rows: string[][]): string[][] {
  const first = Math.min(...rows.map((row) => row.findIndex((text) => text !== '')).filter((at) => at >= 0));
  return Number.isFinite(first) ? rows.map((row) => row.slice(first)) : rows;
}
