import type { Where } from '../server/server-location.ts';
import type { Output } from '../output/output.ts';

/** Scripts rely on these. `start` ends with the code of the server instead. */
export const EXIT = { done: 0, refused: 1, wrongUsage: 2, interrupted: 130 } as const;

/** One command as it was typed. */
export interface Invocation {
  flags: Readonly<Record<string, string>>;
  /** What stands after the command's name. */
  words: readonly string[];
  output: Output;
  /** Where the server is and who asks; looked up when a command needs it. */
  where: () => Where;
  /** What may stand in place of the last of the words typed after the command's own name; `files` where the shell knows better. */
  suggest: (typed: readonly string[]) => Promise<readonly string[] | 'files'>;
}

export interface Command {
  /** Flags with a value, besides those that every command has. */
  flags: readonly string[];
  /** Flags without one; they arrive as `yes`. */
  switches?: readonly string[];
  help(invocation: Invocation): string | Promise<string>;
  /** Gives the exit code. What goes wrong is thrown, as a `Failure` where it is known how to put it. */
  run(invocation: Invocation): Promise<number>;
  /** What a shell may offer after these words of the command. */
  suggest?: (words: readonly string[]) => Offer | Promise<Offer>;
  /** What the value of a flag names, where a shell may offer it. */
  namesOf?: (flag: string) => Names | undefined;
}

/** Things that have names which only the server knows. */
export type Kind = 'agents' | 'sessions' | 'tokens' | 'providers' | 'versions' | 'settings';
/** What a word stands for: one of these words, something of the server, or a file. */
export type Names = readonly string[] | Kind | 'files';

export interface Offer {
  words?: readonly string[];
  names?: Names;
  /** Of the command's own flags; all of them when left out. */
  flags?: readonly string[];
}
