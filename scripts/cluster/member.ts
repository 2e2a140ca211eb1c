import { SERVER_FLAGS } from '@switchyard/contracts';

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

/** How a program of this repository is run. */
export function nodeCommand(program: string): string[] {
  return [process.execPath, ...SERVER_FLAGS, program];
}
