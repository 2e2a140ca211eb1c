import { createInterface } from 'node:readline/promises';
import { Failure } from '../output/failure.ts';

/** Asks before an irreversible action. `--yes` skips the question; without a terminal `--yes` is required. */
export async function confirm(question: string, flags: Readonly<Record<string, string>>, next: string): Promise<void> {
  if (flags['yes'] !== undefined) return;
  if (!process.stdin.isTTY || !process.stderr.isTTY)
    throw new Failure(`${question} Confirm with --yes, because the input is not a terminal.`, next);
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await terminal.question(`${question} [y/N] `);
    if (!/^y(es)?$/i.test(answer.trim())) throw new Failure('Cancelled. Nothing was changed.', next);
  } finally {
    terminal.close();
  }
}
