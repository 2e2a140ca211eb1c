import { read, utils, type CellObject, type WorkSheet } from '@e965/xlsx';
import type { Extracted } from '../protocol/extracted.ts';
import type { ParseRequest } from '../protocol/protocol.ts';
import { formatTable } from '../text/html-to-markdown.ts';
import { readZip } from '../text/zip.ts';
import { parseParts, readCharts, readDiagrams, readParagraphs, section } from './office-parts.ts';

const MAX_COLUMNS = 256;
const MAX_CELLS = 200_000;
const MAX_COMMENTS = 1_000;

/** Each sheet as a table under its name. Only cells with content are visited, so that one cell in the last row costs one cell. */
export async function parseSheets(bytes: Uint8Array, { maxPages, maxChars }: ParseRequest): Promise<Extracted> {
  const files = await readZip(bytes); // the limits of archives hold before the library inflates it
  const book = read(bytes, { type: 'array', dense: true, cellFormula: false, cellHTML: false, cellStyles: false, bookVBA: false });
  const names = book.SheetNames;
  const parts: string[] = [];
  let chars = 0;
  for (const name of names.slice(0, maxPages)) {
    if (chars > maxChars) break;
    const sheet = book.Sheets[name];
    const table = sheet === undefined ? '' : formatTable(readRows(sheet));
    const part = [`## ${name}`, table, ...section('Comments', sheet === undefined ? [] : readComments(sheet))].join('\n\n').trim();
    chars += part.length;
    parts.push(part);
  }
  const shapes = parseParts(files, /\/drawings\/drawing\d*\.xml$/).flatMap(readParagraphs);
  parts.push(...section('Shapes', shapes), ...section('Diagrams', readDiagrams(files)), ...section('Charts', readCharts(files)));
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

/** Comments of cells, with their authors. */
function readComments(sheet: WorkSheet): string[] {
  const rows = (sheet['!data'] ?? []) as (CellObject | undefined)[][];
  const comments: string[] = [];
  rows.forEach((row) => {
    row.forEach((cell) => {
      for (const { a: author, t: text } of cell?.c ?? []) {
        if (comments.length >= MAX_COMMENTS) return;
        const line = (text ?? '').replaceAll(/\s+/g, ' ').trim();
        comments.push(author === undefined || line.startsWith(author) ? line : `${author}: ${line}`);
      }
    });
  });
  return comments;
}

/** The text of a cell as a viewer shows it, with the target of its link. Long whole numbers keep their digits. */
function formatCell(cell: CellObject): string {
  const shown = cell.w ?? (cell.v === undefined ? '' : utils.format_cell(cell));
  const isRounded = typeof cell.v === 'number' && Number.isSafeInteger(cell.v) && /E\+\d+$/.test(shown);
  const text = (isRounded ? String(cell.v) : shown).replaceAll(/\s+/g, ' ').trim();
  const url = cell.l?.Target ?? '';
  return /^(?:https?|mailto):/.test(url) && url !== text ? `[${text}](${url})` : text;
}

/** Removes empty columns before the first one. */
function trimColumns(rows: string[][]): string[][] {
  const first = Math.min(...rows.map((row) => row.findIndex((text) => text !== '')).filter((at) => at >= 0));
  return Number.isFinite(first) ? rows.map((row) => row.slice(first)) : rows;
}
