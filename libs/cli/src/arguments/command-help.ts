import { rows } from '../output/output.ts';
import { self } from '../server/installation.ts';

interface HelpParts {
  flags?: readonly [string, string][];
  /** What stands after the command's own name, ready to paste. */
  examples: readonly string[];
}

/** The help of one command: how to write it, its own flags, examples to paste. */
export function commandHelp(usage: string, about: string, { flags = [], examples }: HelpParts): string {
  return [
    `Usage: ${self()} ${usage}`,
    '',
    about,
    '',
    ...(flags.length === 0 ? [] : [indented(flags)]),
    ...(examples.length === 0 ? [] : [...examples.map((example) => `  ${self()} ${example}`), '']),
    `Options of every command and the exit codes: ${self()} help`,
    '',
  ].join('\n');
}

export function indented(lines: readonly (readonly [string, string])[]): string {
  return rows(lines).replaceAll(/^(?=.)/gm, '  ');
}
