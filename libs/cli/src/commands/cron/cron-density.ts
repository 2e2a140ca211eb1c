import type { CallResult } from '@switchyard/client';
import type { CommandContext } from '../../arguments/command-group.ts';
import { getText } from '../../arguments/flags.ts';
import { print, printAs, remark, table } from '../../output/output.ts';
import { minute } from '../../output/times.ts';
import { self } from '../../server/installation.ts';

type Job = CallResult<'cron.list'>['jobs'][number];

const HOUR_MS = 3_600_000;
const BAR_CHARS = 40;
/** Parts of a block, from an eighth to the whole. */
const BLOCKS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'] as const;
const FULL_BLOCK = '█';
/** Names of jobs in one line. */
const MAX_NAMES = 3;

/** Draws how many fires each of the next 24 hours has, and which jobs cause them. */
export async function drawDensity({ call, flags, output }: CommandContext): Promise<void> {
  const answer = await call('cron.list', { density: true, ...getText(flags, 'agent', 'agentId') });
  if (output !== 'table') return printAs(output, answer);
  const { jobs, hoursFromMs = 0 } = answer;
  if (jobs.length === 0) return remark(`No jobs. Add one: ${self()} cron add --help`);
  const counted = jobs.filter(({ firesPerHour }) => firesPerHour !== undefined);
  const hours = Array.from({ length: 24 }, (_, hour) => describeHour(counted, hour));
  const max = Math.max(...hours.map(({ fires }) => fires));
  if (max === 0) return remark('No job fires within 24 hours.');
  const lines = hours.map(({ fires, names }, hour) => [minute(hoursFromMs + hour * HOUR_MS), String(fires), drawBar(fires / max), names]);
  print(table(['HOUR (UTC)', 'FIRES', 'DENSITY', 'JOBS'], lines));
  if (counted.length < jobs.length) remark(`The fires of ${jobs.length - counted.length} jobs are not counted. Select an agent: --agent`);
}

function describeHour(jobs: readonly Job[], hour: number): { fires: number; names: string } {
  const active = jobs
    .map(({ name, firesPerHour }) => ({ name, fires: firesPerHour?.[hour] ?? 0 }))
    .filter(({ fires }) => fires > 0)
    .toSorted((one, other) => other.fires - one.fires);
  const more = active.length > MAX_NAMES ? ` and ${active.length - MAX_NAMES} more` : '';
  const named = active.slice(0, MAX_NAMES).map(({ name }) => name);
  return { fires: active.reduce((sum, { fires }) => sum + fires, 0), names: `${named.join(', ')}${more}` };
}

/** Draws a share of the longest bar. A share above zero has at least an eighth of a block. */
function drawBar(share: number): string {
  const eighths = Math.ceil(share * BAR_CHARS * 8);
  return FULL_BLOCK.repeat(Math.floor(eighths / 8)) + (BLOCKS[eighths % 8] ?? '');
}
