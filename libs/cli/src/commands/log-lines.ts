import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { paint } from '../output/output.ts';
import { isObject, parseJson } from '../output/json-values.ts';
import { formatSetting } from '../output/settings-table.ts';

/** Numeric log levels by name. */
const LEVELS = { trace: 10, debug: 20, info: 30, audit: 35, warn: 40, error: 50, fatal: 60 } as const;
/** Maximum bytes read from the end of a file for the newest lines. */
const MAX_BYTES = 16_777_216;
const POLL_INTERVAL_MS = 250;

export interface LogLine {
  text: string;
  time: number;
  level: number;
  fields: Record<string, unknown>;
}

export interface LogFilter {
  module: string | undefined;
  level: string;
  request: string | undefined;
}

/** The read position of each file. */
type Ends = ReadonlyMap<string, number>;

/** Reads the newest matching lines of all files, sorted by time. Missing files are skipped. */
export function readLast(files: readonly string[], requested: LogFilter, max: number): { found: LogLine[]; ends: Ends } {
  const ends = new Map<string, number>();
  const matches: LogLine[] = [];
  for (const file of files) {
    const size = getSize(file);
    const { lines, end } = readFrom(file, Math.max(0, size - MAX_BYTES));
    ends.set(file, end);
    matches.push(...lines.filter((line) => isWanted(line, requested)).slice(-Math.max(1, max)));
  }
  matches.sort((a, b) => a.time - b.time);
  return { found: max === 0 ? [] : matches.slice(-max), ends };
}

/** Prints new matching lines until the process ends. A truncated file is read from its beginning. */
export async function followFiles(from: Ends, wanted: LogFilter, notify: (line: LogLine) => void): Promise<void> {
  const ends = new Map(from);
  for (;;) {
    const found: LogLine[] = [];
    for (const [file, end] of ends) {
      const { lines, end: next } = readFrom(file, getSize(file) < end ? 0 : end);
      ends.set(file, next);
      found.push(...lines.filter((line) => isWanted(line, wanted)));
    }
    for (const line of found.toSorted((a, b) => a.time - b.time)) notify(line);
    await wait(POLL_INTERVAL_MS);
  }
}

function getSize(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

/** Reads complete lines. An incomplete last line is read later. */
function readFrom(file: string, from: number): { lines: LogLine[]; end: number } {
  const length = getSize(file) - from;
  if (length <= 0) return { lines: [], end: from };
  const bytes = Buffer.alloc(length);
  const handle = openSync(file, 'r');
  try {
    const read = bytes.subarray(0, readSync(handle, bytes, 0, length, from));
    const whole = read.lastIndexOf(10) + 1;
    return { lines: read.subarray(0, whole).toString().split('\n').flatMap(parseLine), end: from + whole };
  } finally {
    closeSync(handle);
  }
}

function parseLine(text: string): LogLine[] {
  const fields = parseJson(text);
  if (!isObject(fields)) return [];
  const { time, level } = fields;
  return typeof time === 'number' && typeof level === 'number' ? [{ text, time, level, fields }] : [];
}

function isWanted({ level, fields }: LogLine, wanted: LogFilter): boolean {
  if (level < (LEVELS[wanted.level as keyof typeof LEVELS] ?? 0)) return false;
  if (wanted.module !== undefined && fields['module'] !== wanted.module) return false;
  return wanted.request === undefined || fields['requestId'] === wanted.request;
}

const SAID_FIRST = new Set(['time', 'level', 'module', 'msg']);

/** Renders a line for people: time, level, module, message, and other fields. */
export function describeLine({ time, level, fields }: LogLine): string {
  const name = Object.entries(LEVELS).find(([, number]) => number === level)?.[0] ?? String(level);
  const rest = Object.entries(fields).flatMap(([key, value]) => (SAID_FIRST.has(key) ? [] : [`${key}=${formatSetting(value)}`]));
  const texts = [getText(fields['module']).padEnd(9), getText(fields['msg']), paint('dim', rest.join(' '), process.stdout)];
  const style = level >= 50 ? 'red' : level >= 40 ? 'yellow' : 'dim';
  return `${new Date(time).toISOString().slice(11, 23)} ${paint(style, name.padEnd(5), process.stdout)} ${texts.join('  ').trimEnd()}`;
}

function getText(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
