import type { Client } from '@switchyard/client';
import { commandHelp } from '../../arguments/command-help.ts';
import { EXIT, type Command, type Invocation } from '../../arguments/command.ts';
import { wrongUsage } from '../../output/failure.ts';
import { connect } from '../../server/server-location.ts';
import { self } from '../../server/installation.ts';

export interface ReportCommand {
  name: string;
  /** The positional argument, if the command requires one. */
  takes?: string;
  about: string;
  /** Flags with a value: name, placeholder and text. */
  flags?: readonly (readonly [name: string, value: string, about: string])[];
  /** Flags without a value. */
  switches?: readonly (readonly [name: string, about: string])[];
  examples: readonly string[];
  /** Resolves to an exit code, or to nothing if the command is done. */
  run: (call: Client['call'], invocation: Invocation) => Promise<number | void>;
}

/** Creates a command that reads one report. */
export function reportCommand({ name, takes, about, flags = [], switches = [], examples, run }: ReportCommand): Command {
  const usage = [name, takes, ...[...flags, ...switches].map(([flag]) => `[--${flag}]`)].filter((part) => part !== undefined).join(' ');
  const lines = [
    ...flags.map(([flag, value, text]): [string, string] => [`--${flag} <${value}>`, text]),
    ...switches.map(([flag, text]): [string, string] => [`--${flag}`, text]),
  ];
  return {
    flags: flags.map(([flag]) => flag),
    switches: switches.map(([flag]) => flag),
    help: () => commandHelp(usage, about, { flags: lines, examples }),
    async run(invocation) {
      const expected = takes === undefined ? 0 : 1;
      if (invocation.words.length !== expected) throw wrongUsage(`${name} takes ${takes ?? 'no argument'}.`, `${self()} ${name} --help`);
      const client = await connect(invocation.where());
      try {
        return (await run(client.call.bind(client), invocation)) ?? EXIT.done;
      } finally {
        client.close();
      }
    },
  };
}

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Parses a period such as 30m, 24h or 7d into milliseconds. */
export function parsePeriod(text: string, flag: string): number {
  const [, count, unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  if (count === undefined) throw wrongUsage(`--${flag} must be a period such as 30m, 24h or 7d, not ${text}.`, `${self()} help`);
  return Number(count) * (UNITS[unit] ?? 0);
}

export function dollars(usd: number): string {
  return `$${usd.toFixed(usd !== 0 && Math.abs(usd) < 0.01 ? 6 : 2)}`;
}
