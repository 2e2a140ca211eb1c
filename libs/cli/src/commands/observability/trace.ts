import { getNumber, getText } from '../../arguments/flags.ts';
import { print, printAs, remark, table } from '../../output/output.ts';
import { reportCommand } from './report-command.ts';

export const trace = reportCommand({
  name: 'trace',
  about: 'Searches recorded turns, newest first; without --since those of the last two days.',
  flags: [
    ['since', 'period', 'window such as 30m, 2h or 7d'],
    ['where', 'conditions', 'error, or conditions such as agent=a, model=m, cost>0.1; all must match'],
    ['chat', 'id', 'channel or chat id'],
    ['turn', 'id', 'turn id'],
    ['limit', 'n', 'maximum number of turns; default: 200'],
  ],
  switches: [['synthetic', 'includes turns of tests and benchmarks']],
  examples: ['trace --where error', 'trace --since 7d --where "agent=default, cost>0.1"'],
  async run(call, { flags, output }) {
    const { rows } = await call('obs.trace.search', {
      ...getText(flags, 'since', 'since'),
      ...getText(flags, 'where', 'where'),
      ...getText(flags, 'chat', 'chatId'),
      ...getText(flags, 'turn', 'traceId'),
      ...getNumber(flags, 'limit', 'limit'),
      ...(flags['synthetic'] === undefined ? {} : { includeSynthetic: true }),
    });
    if (output !== 'table') return printAs(output, { rows });
    if (rows.length === 0) return remark('No turn matches.');
    print(table(['TIME (UTC)', 'TURN', 'AGENT', 'STATE', 'SECONDS', 'ERROR', 'SESSION'], rows.map(toLine)));
  },
});

function toLine(row: Record<string, unknown>): string[] {
  const { ts, traceId, agentId, state, durationMs, lastError, sessionKey } = row;
  const seconds = typeof durationMs === 'number' ? (durationMs / 1_000).toFixed(1) : '';
  return [text(ts).slice(0, 19), text(traceId), text(agentId), text(state), seconds, text(lastError), text(sessionKey)];
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '-';
}
