import { ServiceError } from '@switchyard/contracts';
import type { Failover, ModelRef, Models } from '@switchyard/models';
import { mintId } from '@switchyard/security';
import type { Clock } from '@switchyard/service-kit';
import type { Collection, OutboxEvent, Store } from '@switchyard/store';
import type { Agent } from '../../agents/agent-directory.ts';
import { askWithin, type Bounds } from '../../budgets/budgeted-model-call.ts';
import type { UsageRecorder } from '@switchyard/service-kit';
import { BUDGET_EXCEEDED, type Budgets } from '../../budgets/budgets.ts';
import type { Root, SessionDocument } from '../../model/session-document.ts';
import type { SummaryDocument } from '../../model/summary-document.ts';
import type { TurnDocument } from '../../model/turn-document.ts';
import { loadTexts } from '../../model/stored-text.ts';
import type { BodyDocument } from '../../model/text-document.ts';
import { accessModels } from '../../agents/model-access.ts';
import { countChars, countMessages, listMessages } from '../../model/turn-messages.ts';
import { claimCompaction, publishRoots, releaseCompaction, type Claim } from './compaction-store.ts';
import { CLAIM_MS, keepClaim } from './compaction-lease.ts';
import { isWeak } from '../../context-window/model-capability.ts';
import { recentChars } from './compaction-limits.ts';
import { CHARS_PER_TOKEN, getModelWindow } from '../../context-window/context-window.ts';
import { isDistilled, type Distilling } from './summary-distillation.ts';
import type { Spending } from './summary-spending.ts';
import { inChunks, getTarget } from './summarize-in-chunks.ts';
import { MAX_ANCHORS, getMaxExchanges } from './history-limits.ts';
import type { StorageQuota } from '../../storage/storage-quota.ts';
import { excerpt, summarise, type Source, type Summary } from './summarizer.ts';
import type { Summarisers } from './summarizer-selection.ts';
import { sizeOfLine } from './summary-prompt.ts';
import { getAnchors, coveredTo, firstOfAll, folded, looseChars, nextFold, type Fold, type Loose, type Recent } from './summary-tree.ts';

export interface MakingDeps {
  sessions: Collection<SessionDocument>;
  turns: Collection<TurnDocument>;
  bodies: Collection<BodyDocument>;
  summaries: Collection<SummaryDocument>;
  models: Models;
  failover?: Failover;
  store: Pick<Store, 'now'>;
  storage?: Pick<StorageQuota, 'add'>;
  clock: Clock;
  spending: Spending;
  summarisers: Summarisers;
  /** Undefined disables budget accounting. */
  budgets?: Budgets;
  /** Undefined disables the recording of usage. */
  usage?: UsageRecorder;
  /** Undefined disables the capture of summaries as memories. */
  distilling?: Distilling;
}

export interface SummaryTask {
  tenant: string;
  agent: Agent;
  /** The summarizer model and its room. */
  model: ModelRef;
  /** Maximum silence of the model. */
  timeoutMs: number;
  room: number;
  signal: AbortSignal;
  /** Set on an explicit request, which also summarizes few messages. */
  forced: boolean;
  instructions: string | undefined;
}

const PAGE = 200;

/**
 * Creates the next summary of a conversation and adds it to the tree. The summary is stored first, so a crash in between leaves the
 * tree unchanged. Returns the updated session; null if there is nothing to summarize, another replica holds the lease, or the
 * conversation has ended.
 */
export async function makeOne(deps: MakingDeps, seen: SessionDocument, making: SummaryTask): Promise<SessionDocument | null> {
  const { store } = deps;
  const [sessions, summaries] = [deps.sessions.for(making), deps.summaries.for(making)];
  if (!(await getFold(deps, seen, making))) return null;
  const now = store.now();
  const claim = await claimCompaction(sessions, seen, { now, until: now + CLAIM_MS });
  if (!claim) return null;
  using kept = keepClaim(deps, sessions, claim);
  try {
    const found = await getFold(deps, claim.session, making);
    if (!found) return await releaseClaim(deps, making, claim);
    const { source, ...origin } = await getSource(deps, found, making);
    const signal = AbortSignal.any([making.signal, kept.signal]);
    const { text, ...cost } = await write(deps, source, { ...making, signal });
    const made = hung(claim, found.fold, { text, ...origin, now: store.now() });
    const { roots } = made;
    const noted = deps.distilling !== undefined && isDistilled(making.agent, made.document);
    const document = noted ? { ...made.document, undistilled: store.now() } : made.document;
    await summaries.insert(document);
    const chars = document.text.length;
    const event = compactedEvent(document, { agentId: making.agent.agentId, startedAt: now, now: store.now() });
    const published = await publishRoots(sessions, claim, { roots, chars, cost, event });
    if (published) deps.storage?.add({ tenant: making.tenant, client: published.createdBy }, chars);
    if (!published) await summaries.remove({ id: document.id });
    else if (noted) deps.distilling?.tell(making.tenant, published, document);
    return published;
  } catch (error) {
    await releaseCompaction(sessions, claim).catch(() => undefined);
    throw error;
  }
}

/** One summary enters the tree with each write, so that the event counts one. */
function compactedEvent(
  { sessionKey, depth }: SummaryDocument,
  { agentId, startedAt, now }: { agentId: string; startedAt: number; now: number },
): OutboxEvent {
  return {
    name: 'context:dag_compacted',
    payload: {
      agentId,
      sessionKey,
      leafSummariesCreated: depth === 0 ? 1 : 0,
      condensedSummariesCreated: depth === 0 ? 0 : 1,
      maxDepthReached: depth,
      totalSummariesCreated: 1,
      durationMs: Math.max(0, now - startedAt),
      timestamp: now,
    },
  };
}

async function releaseClaim(deps: MakingDeps, making: SummaryTask, claim: Claim): Promise<null> {
  await releaseCompaction(deps.sessions.for(making), claim);
  return null;
}

interface SummarySource {
  fold: Fold;
  /** The input turns, for a summary of turns. */
  turns: readonly TurnDocument[];
}

/** Reads the oldest turns only, because the newest turns are never summarized. */
async function getFold(deps: MakingDeps, session: SessionDocument, making: SummaryTask): Promise<SummarySource | undefined> {
  const { tenant, agent, room, forced } = making;
  const { freshTailTurns, leafMinFanout, leafChunkTokens, condensedMinFanout, condensedMinFanoutHard, incrementalMaxDepth } =
    agent.config.contextEngine;
  const { epoch, lastSeq, roots = [] } = session;
  const limits = {
    freshTurns: 0,
    leastMessages: forced ? 1 : leafMinFanout,
    chunkChars: Math.min(leafChunkTokens * CHARS_PER_TOKEN, Math.floor(room / 2)),
    fanout: forced ? Math.min(condensedMinFanout, condensedMinFanoutHard) : condensedMinFanout,
    depth: forced || incrementalMaxDepth < 0 ? Infinity : incrementalMaxDepth,
  };
  const summaries = firstOfAll(roots, limits);
  if (summaries) return { fold: summaries, turns: [] };
  const seq = { gt: coveredTo(roots), lte: lastSeq - freshTailTurns };
  const { items } = await deps.turns.for({ tenant }).find({ epoch, seq }, { sort: [['seq', 'asc']], limit: PAGE });
  const loose = items.map((turn) => ({ seq: turn.seq ?? 0, messages: countMessages(turn), chars: countChars(turn) }));
  // A forced compaction keeps no anchor turns, so that the result is as short as possible.
  const anchors = roots.length === 0 && !forced ? getAnchors(loose, anchoring(agent, room)) : 0;
  const recent = forced ? undefined : await getRecent(deps, session, { ...making, anchored: loose.slice(0, anchors) });
  const fold = nextFold(roots, loose.slice(anchors), { ...limits, recent });
  return fold && { fold, turns: items.slice(anchors, anchors + (fold.turns?.length ?? 0)) };
}

/** Selects the recent turns that stay verbatim, by length. Anchor turns are excluded. */
async function getRecent(
  { turns }: MakingDeps,
  session: SessionDocument,
  { tenant, agent, room, anchored }: SummaryTask & { anchored: readonly Loose[] },
): Promise<Recent> {
  const { epoch, lastSeq, roots: [root] = [] } = session;
  const before = root
    ? (await turns.for({ tenant }).find({ epoch, seq: { lt: root.from } }, { sort: [['seq', 'asc']], limit: MAX_ANCHORS })).items.map(
        countChars,
      )
    : anchored.map(({ chars }) => chars);
  const loose = before.reduce((remaining, chars) => remaining - chars, looseChars(session));
  return { loose, chars: recentChars(room, agent), lastSummarizable: lastSeq - getMaxExchanges(agent, session) };
}

/** Maximum share of the room for anchor turns, which stay verbatim. */
const ANCHOR_SHARE = 0.1;

function anchoring({ config }: Agent, room: number): { turns: number; chars: number } {
  const { version, compactionPrefixAnchorTurns } = config.contextEngine;
  return { turns: version === 'pipeline' ? compactionPrefixAnchorTurns : 0, chars: room * ANCHOR_SHARE };
}

/** Where the text of a summary comes from. */
interface SummaryOrigin {
  /** Part of it may be the output of tools. */
  taint: boolean;
  /** It covers a tainted turn. */
  isOutside: boolean;
}

async function getSource(
  deps: MakingDeps,
  { fold, turns }: SummarySource,
  making: SummaryTask,
): Promise<{ source: Source } & SummaryOrigin> {
  const { agent, instructions, room } = making;
  const { leafTargetTokens, condensedTargetTokens } = agent.config.contextEngine;
  if (fold.roots) {
    const parts = await getSummaries(deps, making.tenant, fold.roots);
    const lines = parts.map(({ text }) => ({ role: 'summary', text }));
    const targetTokens = getTarget(condensedTargetTokens, lines);
    const source = { lines, targetTokens, instructions, room };
    return { source, taint: parts.some(({ taint }) => taint), isOutside: parts.some(({ outside }) => outside === true) };
  }
  const all = turns.flatMap(listMessages);
  const texts = await loadTexts(deps.bodies.for(making), all);
  const lines = all.map(({ role }, at) => ({ role, text: texts[at] ?? '' }));
  // Tool results are untrusted.
  const targetTokens = getTarget(leafTargetTokens, lines);
  const source = { lines, targetTokens, instructions, room };
  const isOutside = turns.some(({ tainted }) => tainted === true);
  return { source, taint: isOutside || turns.some(({ steps }) => steps.length > 0), isOutside };
}

/** Returns the summary documents in the order of the roots. */
export async function getSummaries(
  { summaries }: Pick<MakingDeps, 'summaries'>,
  tenant: string,
  roots: readonly Pick<Root, 'id'>[],
): Promise<SummaryDocument[]> {
  if (roots.length === 0) return [];
  const { items } = await summaries.for({ tenant }).find({ id: { in: roots.map(({ id }) => id) } }, { limit: roots.length });
  const byId = new Map(items.map((one) => [one.id, one]));
  return roots.flatMap(({ id }) => byId.get(id) ?? []);
}

/** Returns all summaries of a conversation from the top level down. */
export async function wholeTree(
  deps: Pick<MakingDeps, 'summaries'>,
  tenant: string,
  { roots = [] }: Pick<SessionDocument, 'roots'>,
): Promise<SummaryDocument[]> {
  const all: SummaryDocument[] = [];
  for (let level: readonly { id: string }[] = roots; level.length > 0;) {
    const summaries = await getSummaries(deps, tenant, level);
    all.push(...summaries);
    level = summaries.flatMap(({ children }) => children.map((id) => ({ id })));
  }
  return all;
}

/** No model is called when the budget of the tenant or the agent is exhausted, or while all summarizers fail. */
async function write(deps: MakingDeps, source: Source, making: SummaryTask): Promise<Summary> {
  const { spending, summarisers, models } = deps;
  const { tenant, agent } = making;
  const { summarizerSpend, compaction } = agent.config.contextEngine;
  const { maxTokensPerTenantPerHour: perHour, maxTokensPerTenantPerDay: perDay } = summarizerSpend;
  const excerpted = { text: excerpt(source), input: 0, output: 0, costUsd: 0 };
  if (!spending.may(tenant, { perHour, perDay })) return excerpted;
  const stronger = compaction.strongerSummarizerModel === '' ? undefined : await models.find(compaction.strongerSummarizerModel);
  const weak = compaction.preferEvictionByCapability && isWeak((await getModelWindow(models, making.model))?.capability);
  // Omissions of a weak model are worse than a truncated excerpt.
  if (weak && !stronger) return excerpted;
  try {
    const summary = await summarisers.ask(weak && stronger ? { ...making, model: stronger } : making, (model) =>
      inChunks({ config: agent.config.session.compaction, ask: (part) => askOne(deps, part, { ...making, model, stronger }) }, source),
    );
    if (summary === undefined) return excerpted;
    spending.add(tenant, summary.input + summary.output);
    return summary;
  } catch (error) {
    if (error instanceof ServiceError && error.details.reason === BUDGET_EXCEEDED) return excerpted;
    throw error;
  }
}

function askOne(deps: MakingDeps, source: Source, making: SummaryTask & { stronger: ModelRef | undefined }): Promise<Summary> {
  const { clock, budgets } = deps;
  const { tenant, agent, model, stronger, timeoutMs, signal } = making;
  const messages = source.lines.map(({ text }) => ({ role: 'user' as const, text }));
  const call = { model, messages, maxOutputTokens: source.targetTokens };
  const record: Bounds['record'] = (outcome, usage) =>
    deps.usage?.record({ tenant, purpose: 'summary', agentId: agent.agentId, model, outcome, usage });
  const bounds = { budget: budgets?.of({ tenant }, agent), call, clock, ms: 2 * timeoutMs, late: tookTooLong(), signal, record };
  const models = accessModels(deps, { tenant }, agent);
  return askWithin(bounds, (within) => summarise({ models, model, stronger, timeoutMs, signal: within }, source));
}

function tookTooLong(): ServiceError {
  return new ServiceError('DEADLINE_EXCEEDED', 'The summary model did not answer in time.', { details: { reason: 'SUMMARY_TIMEOUT' } });
}

interface Hanging extends SummaryOrigin {
  text: string;
  now: number;
}

function hung({ session }: Claim, fold: Fold, { text, taint, isOutside, now }: Hanging): { document: SummaryDocument; roots: Root[] } {
  const { key: sessionKey, agentId, epoch, roots: before = [] } = session;
  const id = mintId('sum');
  const { root, roots } = folded(before, fold, { id, size: sizeOfLine({ id, text, taint }) });
  const children = (fold.roots ?? []).map(({ id }) => id);
  const origin = { taint, ...(isOutside && { outside: true as const }) };
  return { document: { ...root, epoch, sessionKey, agentId, children, text, ...origin, createdAt: now }, roots };
}
