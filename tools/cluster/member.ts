/** One process there should be. */
export interface Member {
  service: string;
  /** Names it in the log, in discovery and in `run.json`. */
  replica: string;
  command: readonly string[];
  /** Its whole environment. */
  env: Readonly<Record<string, string>>;
  /** It ends when its input does, and so with the launcher, however that ends. */
  readsInput?: boolean;
  /** What has to be done each time it was started again. */
  restarted?: () => Promise<void>;
  /** Where it listens, by what for. */
  ports: Readonly<Record<string, number>>;
}

/** Half of Node's young generation, as `make start` has it. */
const NODE_FLAGS = ['--max-semi-space-size=16', '--disable-warning=ExperimentalWarning'];

/** How a program of this repository is run. */
export function nodeCommand(program: string): string[] {
  return [process.execPath, ...NODE_FLAGS, program];
}
