import type { Where } from './context.ts';
import type { Output } from './output.ts';

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
}

export interface Command {
  /** Flags besides those that every command has. */
  flags: readonly string[];
  help(invocation: Invocation): string | Promise<string>;
  /** Gives the exit code. What goes wrong is thrown, as a `Failure` where it is known how to put it. */
  run(invocation: Invocation): Promise<number>;
}
