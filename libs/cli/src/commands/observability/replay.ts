import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CallParams, CallResult, Client } from '@switchyard/client';
import { Failure, wrongUsage } from '../../output/failure.ts';
import { oneLine, print, printAs, remark, table } from '../../output/output.ts';
import { self } from '../../server/installation.ts';
import { reportCommand } from './report-command.ts';

type Difference = CallResult<'obs.replay'>['difference'];
type Recording = NonNullable<CallParams<'obs.replay'>['recording']>;

/** The result of one file. */
interface Replayed {
  file: string;
  difference: Difference;
}

export const replay = reportCommand({
  name: 'replay',
  takes: '<dir>',
  about:
    'Replays all recorded turns of a folder with their recorded model answers and tool results, and fails if one differs. --record adds a turn to the folder.',
  flags: [['record', 'turn', 'turn id to record into the folder']],
  examples: ['replay turns --record turn_4fT0mUq2Zs8KxY1bNcVdGh', 'replay turns'],
  async run(call, { words: [dir = ''], flags, output }) {
    const turn = flags['record'];
    if (turn !== undefined) return record(call, dir, turn);
    const results: Replayed[] = [];
    for (const file of listRecordings(dir)) {
      const { difference } = await call('obs.replay', { recording: readRecording(join(dir, file)) });
      results.push({ file, difference });
    }
    if (output === 'table') print(table(['FILE', 'RESULT'], results.map(toLine)));
    else printAs(output, { results });
    const differing = results.filter(({ difference }) => difference !== null).length;
    if (differing > 0) throw new Failure(`${differing} of ${results.length} recorded turns differ.`, `${self()} replay --help`);
  },
});

async function record(call: Client['call'], dir: string, traceId: string): Promise<void> {
  const { recording, difference } = await call('obs.replay', { traceId });
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const file = join(dir, `${recording?.turnId ?? traceId}.json`);
  writeFileSync(file, `${JSON.stringify(recording, undefined, 2)}\n`, { mode: 0o600 });
  remark(`${file} contains texts of the conversation. Secrets are redacted by their form only.`);
  if (difference !== null) remark(`Its replay already differs: ${describe(difference)}`);
}

function listRecordings(dir: string): string[] {
  const names = readNames(dir).filter((name) => name.endsWith('.json'));
  if (names.length === 0) throw wrongUsage(`${dir} contains no recorded turn.`, `${self()} replay --help`);
  return names.toSorted();
}

function readNames(dir: string): string[] {
  try {
    return readdirSync(dir);
  } catch {
    throw wrongUsage(`${dir} is no folder that can be read.`, `${self()} replay --help`);
  }
}

/** The server validates the content. */
function readRecording(file: string): Recording {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Recording;
  } catch {
    throw wrongUsage(`${file} is no JSON.`, `${self()} replay --help`);
  }
}

function toLine({ file, difference }: Replayed): string[] {
  return [file, difference === null ? 'equal' : describe(difference)];
}

function describe({ step, field, expected, received }: NonNullable<Difference>): string {
  return oneLine(`step ${step}, ${field}: expected ${expected}, got ${received}`);
}
