import type { CallResult } from '@switchyard/client';
import { getNumber } from '../../arguments/flags.ts';
import { oneLine, print, printAs, rows } from '../../output/output.ts';
import { dollars, reportCommand } from './report-command.ts';

type Report = CallResult<'obs.fleet.health'>;

export const fleet = reportCommand({
  name: 'fleet',
  about: 'Reports how all sessions ended, what failed most, and what changed before the first failure.',
  flags: [['hours', 'n', 'length of the window; default: 24']],
  examples: ['fleet', 'fleet --hours 1 -o json'],
  async run(call, { flags, output }) {
    const report = await call('obs.fleet.health', getNumber(flags, 'hours', 'sinceHours'));
    if (output === 'table') print(renderFleet(report));
    else printAs(output, report);
  },
});

/** Renders the report as `fleet` and `top` show it. */
export function renderFleet({ sessions, windowHours, cost, activity, topErrorKinds, findings, likelyRootCause }: Report): string {
  const ends = Object.entries(activity.exitReasons).map(([reason, count]) => `${reason} ${count}`);
  const head = rows([
    ['window', `${windowHours} h`],
    ['sessions', `${sessions.total}, ${sessions.degraded} ended badly (${(sessions.degradedRate * 100).toFixed(1)} %)`],
    ['turns', `${activity.turnTotal}${ends.length === 0 ? '' : `: ${ends.join(', ')}`}`],
    ['cost', `${dollars(cost.costUsd)}  ${cost.totalTokens} tokens`],
    ['errors', topErrorKinds.map(({ kind, count }) => `${kind} ${count}`).join(', ') || 'none'],
    ['cause', likelyRootCause === null ? 'none found' : `${likelyRootCause.code}: ${oneLine(likelyRootCause.detail)}`],
  ]);
  const found = findings.map(({ code, count, detail, hint }) => `  ${code}  ${count}  ${oneLine(detail)}. ${oneLine(hint)}\n`).join('');
  return `${head}${found && `\nFindings\n${found}`}`;
}
