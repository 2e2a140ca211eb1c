import { SERVER_FLAGS } from '@switchyard/contracts';

/** A process that the cluster runs. */
export interface Member {
  service: string;
  /** The name in logs, in discovery and in `run.json`. */
  replica: string;
  command: readonly string[];
  /** The complete environment. */
  env: Readonly<Record<string, string>>;
  /** Whether it ends when its standard input closes, and so with the launcher. */
  readsInput?: boolean;
  /** Runs after each restart. */
  restarted?: () => Promise<void>;
  /** Its ports, by purpose. */
  ports: Readonly<Record<string, number>>;
}

/** The command that runs a program of this repository. */
export function nodeCommand(program: string): string[] {
  return [process.execPath, ...SERVER_FLAGS, program];
}
