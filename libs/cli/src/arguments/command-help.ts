import { rows } from '../output/output.ts';
import { self } from '../server/installation.ts';

interface HelpParts {
  flags?: readonly [string, string][];
  /** Command lines without the program name. */
  examples: readonly string[];
}

/** Renders the help of one command: usage, flags and examples. */
export function commandHelp(usage: string, about: string, { flags = [], examples }: HelpParts): string {
  return [
    `Usage: ${self()} ${usage}`,
    '',
    about,
    '',
    ...(flags.length === 0 ? [] : [indented(flags)]),
    ...(examples.length === 0 ? [] : [...examples.map((example) => `  ${self()} ${example}`), '']),
    `Common options and exit codes: ${self()} help`,
    '',
  ].join('\n');
}

export function indented(lines: readonly (readonly [string, string])[]): string {
  return rows(lines).replaceAll(/^(?=.)/gm, '  ');
}
