import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { EMBEDDED_FLAGS } from '@switchyard/contracts';
import type { CommandContext } from '../../arguments/command-group.ts';
import { Failure } from '../../output/failure.ts';
import { print, printAs } from '../../output/output.ts';
import { ROOT, self } from '../../server/installation.ts';
import { SHORT } from './config-views.ts';

const PROGRAM = join(ROOT, 'services/registry/src/offline/main.ts');

/** Restores a version in the store of a server that is not running. */
export async function goBackOffline({ where, output }: CommandContext, version: string | undefined): Promise<void> {
  if (!existsSync(PROGRAM))
    throw new Failure(
      'This installation contains only the client. Run the command where the server is installed.',
      `${self()} config --help`,
    );
  const env = { ...process.env, SWITCHYARD_DATA: where().data };
  const words = [...EMBEDDED_FLAGS, PROGRAM, ...(version === undefined ? [] : [version])];
  const { stdout } = await promisify(execFile)(process.execPath, words, { env }).catch((error: unknown) => error as { stdout: string });
  const answer = JSON.parse(stdout) as { sha: string; newSha: string } | { error: string };
  if ('error' in answer) throw new Failure(answer.error, `${self()} status`);
  if (output !== 'table') return printAs(output, answer);
  print(`Version ${answer.newSha.slice(0, SHORT)} restores version ${answer.sha.slice(0, SHORT)}. The next start uses it.\n`);
}
