import type { CallResult } from '@switchyard/client';
import { confirm } from '../../arguments/confirmation.ts';
import { group, type CommandContext } from '../../arguments/command-group.ts';
import { wrongUsage } from '../../output/failure.ts';
import { print, printAs, table } from '../../output/output.ts';
import { self } from '../../server/installation.ts';

const TABLES = ['token_usage', 'delivery', 'diagnostics', 'channels'] as const;
type Table = (typeof TABLES)[number];
type Counts = Record<Table, number>;

export const observations = group({
  name: 'observations',
  about: 'Counts and deletes what observability stores of this tenant: usage, deliveries, diagnostic events and activity of channels.',
  otherwise: 'count',
  verbs: {
    count: { about: 'counts the stored observations', flags: [], run: countObservations },
    reset: { takes: '[table]', about: `deletes one of ${TABLES.join(', ')}, or all`, flags: ['yes'], run: resetObservations },
  },
  flags: { yes: { about: 'reset: skips the confirmation' } },
  examples: ['observations', 'observations reset diagnostics', 'observations reset --yes'],
});

async function countObservations({ call, output }: CommandContext): Promise<void> {
  const counts = await readCounts(call);
  if (output !== 'table') return printAs(output, counts);
  print(
    table(
      ['TABLE', 'COUNT'],
      Object.entries(counts).map(([name, count]) => [name, String(count)]),
    ),
  );
}

/** Shows the counts in the question, because deleted observations cannot be restored. */
async function resetObservations({ call, flags, output }: CommandContext, name?: string): Promise<void> {
  const named = TABLES.find((one) => one === name);
  if (name !== undefined && named === undefined)
    throw wrongUsage(`${name} is not one of ${TABLES.join(', ')}.`, `${self()} observations --help`);
  const counts = await readCounts(call);
  const shown = named === undefined ? TABLES : [named];
  const contents = shown.map((one) => `${counts[one]} ${DESCRIPTIONS[one]}`).join(', ');
  await confirm(`This permanently deletes ${contents}.`, flags, `${self()} cost --csv`);
  const answer = named === undefined ? await call('obs.reset', {}) : await call('obs.reset.table', { table: named });
  if (output !== 'table') return printAs(output, answer);
  print(`${countRows(answer)} rows deleted\n`);
}

const DESCRIPTIONS: Readonly<Record<Table, string>> = {
  token_usage: 'billed model calls',
  delivery: 'deliveries',
  diagnostics: 'diagnostic events',
  channels: 'channels',
};

async function readCounts(call: CommandContext['call']): Promise<Counts> {
  const [usage, delivery, diagnostics, channels] = await Promise.all([
    call('obs.billing.total', {}),
    call('obs.delivery.stats', {}),
    call('obs.diagnostics', { limit: 1 }),
    call('obs.channels.all', {}),
  ]);
  return {
    token_usage: usage.callCount,
    delivery: delivery.total,
    diagnostics: Object.values(diagnostics.counts).reduce((sum, count) => sum + count, 0),
    channels: channels.channels.length,
  };
}

function countRows({ rowsDeleted }: CallResult<'obs.reset'> | CallResult<'obs.reset.table'>): number {
  return typeof rowsDeleted === 'number' ? rowsDeleted : Object.values(rowsDeleted).reduce((sum, rows) => sum + rows, 0);
}
