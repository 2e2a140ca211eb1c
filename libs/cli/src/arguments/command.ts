import type { Where } from '../server/server-location.ts';
import type { Output } from '../output/output.ts';

/** Exit codes. Scripts rely on them. `start` exits with the code of the server instead. */
export const EXIT = { done: 0, refused: 1, wrongUsage: 2, interrupted: 130 } as const;

/** A parsed command line. */
export interface Invocation {
  flags: Readonly<Record<string, string>>;
  /** The words after the command name. */
  words: readonly string[];
  output: Output;
  /** Locates the server and the token. Evaluated when a command needs them. */
  where: () => Where;
  /** Shell completions for the last typed word; `files` if the shell should complete file names. */
  suggest: (typed: readonly string[]) => Promise<readonly string[] | 'files'>;
}

export interface Command {
  /** Flags with a value, in addition to the global flags. */
  flags: readonly string[];
  /** Flags without a value. They are passed to the command with the value `yes`. */
  switches?: readonly string[];
  help(invocation: Invocation): string | Promise<string>;
  /** Runs the command and returns the exit code. Throws a `Failure` for an error with a known remedy. */
  run(invocation: Invocation): Promise<number>;
  /** Shell completions after these words of the command. */
  suggest?: (words: readonly string[]) => Offer | Promise<Offer>;
  /** The kind of value that a flag takes, for shell completion. */
  getNames?: (flag: string) => Names | undefined;
}

/** Resources whose names are listed by the server. */
export type Kind = 'agents' | 'sessions' | 'tokens' | 'providers' | 'versions' | 'settings' | 'skills';
/** Possible values of a word: a fixed list, a resource of the server, or a file. */
export type Names = readonly string[] | Kind | 'files';

export interface Offer {
  words?: readonly string[];
  names?: Names;
  /** The command's own flags to offer; all of them if omitted. */
  flags?: readonly string[];
}
