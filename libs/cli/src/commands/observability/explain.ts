import type { CallResult } from '@switchyard/client';
import { oneLine, print, printAs, rows } from '../../output/output.ts';
import { dollars, reportCommand } from './report-command.ts';
import { drawWaterfall } from './waterfall.ts';

type Report = CallResult<'obs.explain'>;

/** Turn ids, which are the trace ids of `obs.explain`. Anything else is a session key. */
export const TURN_ID = /^turn_[0-9A-Za-z]{22}$/;

export const explain = reportCommand({
  name: 'explain',
  takes: '<turn or session>',
  about:
    'Explains why the newest failed turn of a session failed, from recorded evidence: verdict, next steps, and a waterfall of its steps.',
  switches: [['full', 'all entries of the lists']],
  examples: ['explain default:alice:gateway', 'explain turn_4fT0mUq2Zs8KxY1bNcVdGh --full'],
  async run(call, { words: [subject = ''], flags, output }) {
    const named = TURN_ID.test(subject) ? { traceId: subject } : { sessionKey: subject };
    const report = await call('obs.explain', { ...named, depth: flags['full'] === undefined ? 'summary' : 'full' });
    if (output === 'table') print(render(report));
    else printAs(output, report);
  },
});

function render(report: Report): string {
  const { sessionKey, traceId, agentId, outcome, cost, timing, likelyRootCause, failures, waterfall = [], truncations } = report;
  if (report.coverage?.trajectory.found === false) return `${report.summary}\n`;
  const head = rows([
    ['session', sessionKey ?? '-'],
    ['turn', traceId ?? '-'],
    ['agent', agentId ?? '-'],
    ['outcome', `${outcome.endReason} (${outcome.severity})`],
    ['cause', likelyRootCause === null ? 'none found' : `${likelyRootCause.code}: ${oneLine(likelyRootCause.detail)}`],
    ['cost', `${dollars(cost.costUsd)}  ${cost.totalTokens} tokens  ${timing.turnCount} turns  ${timing.durationMs} ms`],
    ['summary', oneLine(report.summary)],
  ]);
  const next = report.suggestedNextSteps.map((step) => `  - ${oneLine(step)}\n`).join('');
  const failed = failures
    .map(({ toolName, errorKind, errorPreview }) => `  ${toolName}  ${errorKind}  ${oneLine(errorPreview)}\n`)
    .join('');
  const dropped = truncations.map(({ field, reason }) => `  ${field}: ${oneLine(reason)}\n`).join('');
  return [
    head,
    next && `\nNext steps\n${next}`,
    waterfall.length === 0 ? '' : `\nSteps\n${drawWaterfall(waterfall)}`,
    failed && `\nFailed tool calls, newest first\n${failed}`,
    dropped && `\nNot shown\n${dropped}`,
  ].join('');
}
