import { wrongUsage } from '../output/failure.ts';
import { self } from '../server/installation.ts';

type Flags = Readonly<Record<string, string>>;

/** Reads a numeric flag into a parameter of the given name. Returns an empty object if the flag is absent. */
export function getNumber<N extends string>(flags: Flags, flag: string, name: N): Partial<Record<N, number>> {
  const text = flags[flag];
  if (text === undefined) return {};
  if (!/^[0-9]{1,9}$/.test(text)) throw wrongUsage(`--${flag} must be a whole number, not ${text}.`, `${self()} help`);
  return { [name]: Number(text) } as Partial<Record<N, number>>;
}

/** Reads a text flag into a parameter of the given name. */
export function getText<N extends string>(flags: Flags, flag: string, name: N): Partial<Record<N, string>> {
  const text = flags[flag];
  return text === undefined ? {} : ({ [name]: text } as Partial<Record<N, string>>);
}

/** Reads a flag that takes one of a few words into a parameter of the given name. */
export function getChoice<N extends string, T extends string>(flags: Flags, flag: string, { name, of }: { name: N; of: readonly T[] }) {
  const text = flags[flag];
  if (text === undefined) return {} as Partial<Record<N, T>>;
  const found = of.find((one) => one === text);
  if (found === undefined) throw wrongUsage(`--${flag} is ${of.join(', ')}, not ${text}.`, `${self()} help`);
  return { [name]: found } as Partial<Record<N, T>>;
}

/** Splits a comma-separated list. */
export function getList(text: string): string[] {
  return text
    .split(',')
    .map((one) => one.trim())
    .filter(Boolean);
}

const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Parses a future instant into epoch milliseconds: a date, or a time from now such as `30d`, `12h` or `15m`. */
export function getInstant(text: string, flag: string, now = Date.now()): number {
  const [, count, unit = ''] = /^([1-9][0-9]{0,6})([mhd])$/.exec(text) ?? [];
  const at = count === undefined ? getDate(text) : now + Number(count) * (UNITS[unit] ?? 0);
  if (Number.isNaN(at))
    throw wrongUsage(`--${flag} must be a date such as 2030-01-31, or a time from now such as 30d, 12h or 15m.`, `${self()} help`);
  if (at <= now) throw wrongUsage(`--${flag} is in the past: ${new Date(at).toISOString()}.`, `${self()} help`);
  return at;
}

/** Parses an ISO 8601 date. A date without a time is the start of that day in UTC. */
function getDate(text: string): number {
  return /^\d{4}-\d{2}-\d{2}(T\S+)?$/.test(text) ? Date.parse(text) : NaN;
}
