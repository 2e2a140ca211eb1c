import type { Handler } from '@switchyard/bus';
import type { Collection } from '@switchyard/store';
import type { TurnDocument } from '../model/turn-document.ts';

export function queueStatus({ turns }: { turns: Collection<TurnDocument> }): Handler<'queue.status'> {
  return async (_params, { principal }) => ({ waiting: await turns.system().count({ tenant: principal.tenant, state: 'queued' }) });
}
