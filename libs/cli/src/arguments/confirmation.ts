import { createInterface } from 'node:readline/promises';
import { Failure } from '../output/failure.ts';

/** Asks before an irreversible action. `--yes` skips the question; without a terminal `--yes` is required. */
export async function confirm(question: string, flags: Readonly<Record<string, string>>, next: string): Promise<void> {
  if (flags['yes'] !== undefined) return;
  if (!process.stdin.isTTY || !process.stderr.isTTY) throw new Failure(`${question} Nobody is there to be asked: say --yes.`, next);
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await terminal.question(`${question} [y/N] `);
    if (!/^y(es)?$/i.test(answer.trim())) throw new Failure('Nothing was done.', next);
  } finally {
    terminal.close();
  }
}
