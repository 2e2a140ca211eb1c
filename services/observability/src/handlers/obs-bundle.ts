import type { Bus, Handler } from '@switchyard/bus';
import { ServiceError, type Principal, type TurnRecording } from '@switchyard/contracts';
import type { Collection } from '@switchyard/store';
import { buildBundle } from '../bundle/build-bundle.ts';
import type { DiagnosticDocument } from '../documents/collections.ts';
import { explainSession } from '../explain/explain-session.ts';
import type { SearchDeps } from '../trace/search-records.ts';
import { readSessionRecords } from './obs-explain.ts';

/** Newest diagnostic events of a session. */
const MAX_EVENTS = 1_000;

export interface BundleDeps extends SearchDeps {
  bus: Pick<Bus, 'as'>;
  diagnostics: Collection<DiagnosticDocument>;
}

export function obsBundle(deps: BundleDeps): Handler<'obs.bundle'> {
  return async ({ sessionKey, traceId }, { principal }) => {
    const { records, session, unreadTurns } = await readSessionRecords(deps, principal, { sessionKey, traceId });
    const report = explainSession(records, { sessionKey: session ?? null, traceId: traceId ?? null, unreadTurns });
    const explained = traceId ?? report.traceId ?? records.at(-1)?.traceId;
    const { items, cursor } =
      session === undefined
        ? { items: [], cursor: undefined }
        : await deps.diagnostics.for(principal).find({ sessionKey: session }, { sort: [['at', 'desc']], limit: MAX_EVENTS });
    const recording = explained === undefined ? undefined : await readRecording(deps, principal, explained);
    const truncations = [
      ...(cursor === undefined ? [] : [{ field: 'events.jsonl', reason: `only the newest ${MAX_EVENTS} diagnostic events are included` }]),
      ...(unreadTurns === 0 ? [] : [{ field: 'events.jsonl', reason: `${unreadTurns} older turns are not included` }]),
      ...(recording ? [] : [{ field: 'session-branch.jsonl', reason: 'the texts of the turn are not kept any more' }]),
    ];
    return buildBundle({ report, records, diagnostics: items.toReversed(), recording, truncations, now: deps.now() });
  };
}

/** A turn may be deleted earlier than its evidence. */
async function readRecording({ bus }: BundleDeps, principal: Principal, turnId: string): Promise<TurnRecording | undefined> {
  try {
    return (await bus.as(principal).call('turns.record', { turnId })).recording;
  } catch (error) {
    if (error instanceof ServiceError && (error.code === 'NOT_FOUND' || error.code === 'INVALID_ARGUMENT')) return undefined;
    throw error;
  }
}
