import { execFile } from 'node:child_process';

const MAX_OUTPUT_BYTES = 1_048_576;

/** Runs a program and returns its output; undefined if it is not installed. Throws if it fails. */
export type RunCommand = (program: string, args: readonly string[], signal: AbortSignal) => Promise<string | undefined>;

/** Creates a function that runs programs of the search path, without the environment of this process and without a shell. */
export function createRunCommand(searchPath: string | undefined): RunCommand {
  const env = { ...(searchPath === undefined ? {} : { PATH: searchPath }), LC_ALL: 'C', GIT_OPTIONAL_LOCKS: '0', GIT_TERMINAL_PROMPT: '0' };
  return (program, args, signal) =>
    new Promise((resolve, reject) => {
      const options = { env, signal, killSignal: 'SIGKILL', maxBuffer: MAX_OUTPUT_BYTES, windowsHide: true } as const;
      execFile(program, [...args], options, (error, stdout) => {
        if (!error) resolve(stdout);
        else if (error.code === 'ENOENT') resolve(undefined);
        else reject(error);
      });
    });
}
