import { createInterface } from 'node:readline/promises';
import { Failure } from '../output/failure.ts';

/** Asks before something that cannot be taken back. `--yes` answers it; where nobody can be asked, nothing is done without. */
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
