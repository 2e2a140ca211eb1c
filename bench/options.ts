import { parseArgs } from 'node:util';

export const USAGE = `node bench/main.ts [--quick] [--rows 1,5,13] [--starts 3] [--rounds 3] [--seconds 2] [--connections 10000] [--turns 2000] [--json] [--profile]`;

export interface Options {
  rows: ReadonlySet<number>;
  /** Number of fresh starts of all subjects. */
  starts: number;
  /** Rounds per start. */
  rounds: number;
  seconds: number;
  /** WebSockets of rows 12 and 21. */
  connections: number;
  /** Turns that row 18 stores and that row 17 queues. The claims are made for 100,000. */
  turns: number;
  json: boolean;
  profile: boolean;
}

const ALL_ROWS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 21];

/** Parses the command line. Throws a TypeError that names the invalid option. */
export function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: 'boolean', default: false },
      rows: { type: 'string', default: ALL_ROWS.join(',') },
      starts: { type: 'string' },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      connections: { type: 'string' },
      turns: { type: 'string' },
      json: { type: 'boolean', default: false },
      profile: { type: 'boolean', default: false },
    },
  });
  const { quick, json, profile } = values;
  const rows = values.rows.split(',').map(Number);
  const unknown = rows.filter((row) => !ALL_ROWS.includes(row));
  if (unknown.length > 0) throw new TypeError(`there are only the rows ${ALL_ROWS.join(', ')}`);
  return {
    rows: new Set(rows),
    starts: positive('starts', values.starts, quick ? 1 : 3),
    rounds: positive('rounds', values.rounds, quick ? 2 : 3),
    seconds: positive('seconds', values.seconds, quick ? 1 : 2),
    connections: positive('connections', values.connections, quick ? 1_000 : 10_000),
    turns: positive('turns', values.turns, quick ? 500 : 2_000),
    json,
    profile,
  };
}

function positive(name: string, text: string | undefined, otherwise: number): number {
  const value = text === undefined ? otherwise : Number(text);
  if (!(value > 0)) throw new TypeError(`--${name} must be a number above 0`);
  return value;
}
