import type { Ctx, Handler } from '@switchyard/bus';
import type { EventPayload, Input, Principal } from '@switchyard/contracts';
import type { Collection } from '@switchyard/store';
import type { DiagnosticDocument, HourDocument, PositionDocument, RecordDocument } from '../documents/collections.ts';
import { RESET_POSITION } from '../ingest/recover-usage.ts';

export interface ResetDeps {
  records: Collection<RecordDocument>;
  hours: Collection<HourDocument>;
  diagnostics: Collection<DiagnosticDocument>;
  positions: Collection<PositionDocument>;
  now: () => number;
}

type Table = Input<'obs.reset.table'>['table'];
type RowsDeleted = EventPayload<'observability:reset'>['rowsDeleted'];

const NOTHING: RowsDeleted = { tokenUsage: 0, delivery: 0, diagnostics: 0, channels: 0 };

/** Deletes all observations of the caller's tenant. Events that are ingested meanwhile stay. */
export function obsReset(deps: ResetDeps): Handler<'obs.reset'> {
  return async (_params, ctx) => {
    const [tokenUsage, diagnostics] = [await deleteUsage(deps, ctx.principal), await deps.diagnostics.for(ctx.principal).remove({})];
    const rowsDeleted = { ...NOTHING, tokenUsage, diagnostics };
    publish(deps, ctx, { table: 'all', rowsDeleted });
    return { reset: true, rowsDeleted };
  };
}

export function obsResetTable(deps: ResetDeps): Handler<'obs.reset.table'> {
  return async ({ table }, ctx) => {
    const rowsDeleted = await deleteTable(deps, ctx.principal, table);
    const sum = Object.values(rowsDeleted).reduce((total, rows) => total + rows, 0);
    publish(deps, ctx, { table, rowsDeleted });
    return { reset: true, table, rowsDeleted: sum };
  };
}

/** The tables of channels and deliveries are empty until there are channels. */
async function deleteTable(deps: ResetDeps, caller: Principal, table: Table): Promise<RowsDeleted> {
  if (table === 'token_usage') return { ...NOTHING, tokenUsage: await deleteUsage(deps, caller) };
  if (table === 'diagnostics') return { ...NOTHING, diagnostics: await deps.diagnostics.for(caller).remove({}) };
  return NOTHING;
}

/** Deletes the rows, then their rollups, so that an hour that is folded meanwhile is deleted as well. */
async function deleteUsage({ records, hours, positions, now }: ResetDeps, caller: Principal): Promise<number> {
  const reset = { name: RESET_POSITION, log: '', seq: 0, at: now() };
  const documents = positions.for(caller);
  // Usage before this instant is not recovered after the event log was lost.
  if (!(await documents.update({ name: RESET_POSITION }, { set: { at: reset.at } }))) await documents.insert(reset);
  const rows = await records.for(caller).remove({});
  await hours.for(caller).remove({});
  return rows;
}

function publish(
  { now }: ResetDeps,
  ctx: Ctx,
  { table, rowsDeleted }: Pick<EventPayload<'observability:reset'>, 'table' | 'rowsDeleted'>,
): void {
  ctx.emit('observability:reset', { admin: ctx.principal.client, table, rowsDeleted, timestamp: now() });
}
