import type { Bus, Handler } from '@switchyard/bus';
import { contracts, type Result } from '@switchyard/contracts';
import type { Collection } from '@switchyard/store';
import { addAll } from '../billing/usage-sums.ts';
import type { DiagnosticDocument, RecordDocument } from '../documents/collections.ts';
import { COMPACTED } from '../ingest/read-diagnostic.ts';

/** Newest turns that the pipeline report shows. */
const MAX_SNAPSHOTS = 50;
/** Newest summaries that the report of summaries shows. */
const MAX_COMPACTIONS = 100;

export interface ContextDeps {
  bus: Pick<Bus, 'as'>;
  records: Collection<RecordDocument>;
  diagnostics: Collection<DiagnosticDocument>;
}

type Snapshot = Result<'obs.context.pipeline'>['snapshots'][number];

/** Returns the layers and budgets of the agent as sessions applies them, and what they did in the newest turns. */
export function obsContextPipeline({ bus, records }: ContextDeps): Handler<'obs.context.pipeline'> {
  return async ({ agentId }, { principal }) => {
    const named = agentId === undefined ? {} : { agentId };
    const [{ layers, budgets }, { items }] = await Promise.all([
      bus.as(principal).call('context.status', named),
      records
        .for(principal)
        .find({ ...named, event: 'turn_completed', model: { exists: true } }, { sort: [['at', 'desc']], limit: MAX_SNAPSHOTS }),
    ]);
    return { ...named, layers, budgets, snapshots: items.flatMap((record) => toSnapshot(record) ?? []) };
  };
}

/** Returns the number of stored summaries, and the newest of them as events. */
export function obsContextDag({ bus, diagnostics }: ContextDeps): Handler<'obs.context.dag'> {
  return async ({ agentId }, { principal }) => {
    const named = agentId === undefined ? {} : { agentId };
    const [{ nodeCounts, maxDepth }, { items }] = await Promise.all([
      bus.as(principal).call('context.status', named),
      diagnostics.for(principal).find({ eventType: COMPACTED, ...named }, { sort: [['at', 'desc']], limit: MAX_COMPACTIONS }),
    ]);
    const { payload } = contracts.sessions.events[COMPACTED];
    return { ...named, nodeCounts, maxDepth, compactions: items.map(({ data }) => payload.parse(data)) };
  };
}

/** The history contains no reasoning of earlier turns, so that no layer has to remove any. */
function toSnapshot({ agentId, sessionKey, at, evidence, sums }: RecordDocument): Snapshot | undefined {
  if (sessionKey === undefined || evidence === undefined) return undefined;
  const { layers = [], window, told } = evidence;
  const removedTokens = (...names: string[]): number =>
    layers.reduce((sum, { name, removedTokens: removed = 0 }) => (names.includes(name) ? sum + removed : sum), 0);
  const evictionCategories: Record<string, number> = {};
  for (const { removed = {} } of layers)
    for (const [reason, count] of Object.entries(removed)) evictionCategories[reason] = (evictionCategories[reason] ?? 0) + count;
  const { input, cacheRead, cacheWrite } = addAll(sums);
  return {
    agentId,
    sessionKey,
    tokensLoaded: window?.used ?? Math.ceil((told?.chars ?? 0) / CHARS_PER_TOKEN),
    tokensEvicted: removedTokens('result-eviction'),
    tokensMasked: removedTokens('result-masking', 'result-pruning'),
    tokensCompacted: removedTokens('summaries'),
    thinkingBlocksRemoved: 0,
    budgetUtilization: window === undefined || window.tokens === 0 ? 0 : window.used / window.tokens,
    evictionCategories,
    cacheHitTokens: cacheRead,
    cacheWriteTokens: cacheWrite,
    cacheMissTokens: Math.max(0, input - cacheRead - cacheWrite),
    durationMs: layers.reduce((sum, { ms }) => sum + ms, 0),
    layerCount: layers.length,
    layers: layers.map(({ name, ms, messagesIn, messagesOut }) => ({ name, durationMs: ms, messagesIn, messagesOut })),
    timestamp: at,
  };
}

/** Estimate of the prompt where the context window of the model is unknown. */
const CHARS_PER_TOKEN = 4;
