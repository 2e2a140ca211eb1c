import type { TurnEvidence } from '@switchyard/contracts';
import type { ModelMessage, ModelRef, Models } from '@switchyard/models';
import type { Collection, Documents } from '@switchyard/store';
import type { Agent } from '../agents/agent-directory.ts';
import type { SummaryDocument } from '../model/summary-document.ts';
import type { TurnDocument } from '../model/turn-document.ts';
import { marked, MARK_CHARS } from '../screening/prompt-canary.ts';
import { loadTexts, type Bodies } from '../model/stored-text.ts';
import type { Exchange, Recall, SessionRef } from './exchange-cache.ts';
import type { StartLayer } from './context-layers.ts';
import { createMessageTruncator } from './oversized-message.ts';
import type { Beginnings } from './history-prefix-cache.ts';
import { countWithin, recentChars } from './compaction/compaction-limits.ts';
import { getMaxExchanges } from './compaction/history-limits.ts';
import { computeHistoryChars, applyCap, getModelWindow, type ModelWindow } from '../context-window/context-window.ts';
import { HEAD_CHARS, renderSummaries } from './compaction/summary-prompt.ts';
import { coveredTo, fit } from './compaction/summary-tree.ts';

export interface Recent {
  messages: ModelMessage[];
  /** True if the prompt does not contain all earlier messages verbatim. */
  earlier: boolean;
  window: ModelWindow | undefined;
  /** A turn or a summary in the prompt may repeat text from outside. */
  isTainted: boolean;
  promptMessage: Omit<NonNullable<TurnEvidence['told']>, 'tools'>;
}

export interface RecentDeps {
  turns: Documents<TurnDocument>;
  bodies: Bodies;
  summaries: Collection<SummaryDocument>;
  models: Models;
  recall: Recall;
  beginnings: Beginnings;
  startLayer?: StartLayer | undefined;
}

interface RecentHistoryOptions {
  turn: TurnDocument;
  hold: SessionRef;
  agent: Agent;
  model: ModelRef;
  /** The current message. */
  text: string;
}

const DEFAULT_ROLLING_TURNS = 3;

/** Returns how many earlier turns the order of a turn lets into its prompt; Infinity without a limit. */
function getHistoryTurns({ order }: TurnDocument): number {
  const { mode = 'accumulate', turns = DEFAULT_ROLLING_TURNS } = order?.history ?? {};
  return { fresh: 0, rolling: turns, accumulate: Infinity }[mode];
}

/**
 * Returns the history for a prompt, oldest first: the first turns if anchors are configured, summaries, and the newest exchanges,
 * within the room of the model.
 */
export async function recent(deps: RecentDeps, { turn, hold, agent, model, text }: RecentHistoryOptions): Promise<Recent> {
  const { turns, bodies, recall, beginnings } = deps;
  const recordHistory = deps.startLayer?.('history-window');
  const { lastSeq, messageCount } = hold.session;
  const maxTurns = getHistoryTurns(turn);
  const bounded = maxTurns < Infinity;
  // Summaries and anchors are older than the turns of a bounded history.
  const roots = bounded ? [] : (hold.session.roots ?? []);
  const { freshTailTurns } = agent.config.contextEngine;
  const [last, described, first] = await Promise.all([
    maxTurns === 0 ? [] : recall.last(turns, hold, Math.min(maxTurns, getMaxExchanges(agent, hold.session))),
    getModelWindow(deps.models, model),
    bounded ? [] : beginnings.anchors(turns, hold),
  ]);
  const window = applyCap(described, agent);
  const truncator = createMessageTruncator(agent.config);
  const exchanges = roots.length === 0 ? last : last.slice(0, lastSeq - coveredTo(roots));
  const head = roots.length === 0 ? 0 : HEAD_CHARS + MARK_CHARS;
  const anchorChars = first.reduce((sum, exchange) => sum + truncator.getChars(exchange), 0);
  const room = computeHistoryChars(window, agent);
  const remaining = room - Math.max(text.length, turn.message.chars) - (turn.context?.chars ?? 0) - head;
  const { getChars } = truncator;
  const freshTurns =
    roots.length === 0 ? freshTailTurns : Math.max(freshTailTurns, countWithin(exchanges.map(getChars), recentChars(room, agent)));
  const fitting = fit({ summaries: roots, exchanges, getChars, anchorChars, freshTurns, room: remaining });
  const anchored = fitting.anchored ? first : [];
  const anchors = spokenIn(anchored);
  const summarised = roots.slice(roots.length - fitting.summaries);
  const kept = exchanges.slice(0, fitting.exchanges);
  const keptItems = spokenIn(kept.toReversed());
  const recordSummaries = summarised.length === 0 ? undefined : deps.startLayer?.('summaries');
  const summaries = await beginnings.summaries(deps.summaries, hold.tenant, summarised);
  const all = [...anchors, ...keptItems];
  const foldedMessages = summarised.reduce((sum, { messages: covered }) => sum + covered, 0);
  const foldedChars = summarised.reduce((sum, { chars, size }) => sum + Math.max(0, chars - size), 0);
  recordSummaries?.({ messagesIn: foldedMessages, messagesOut: summaries.length, removedChars: foldedChars });
  const isTainted = [...anchored, ...kept].some((exchange) => exchange.isTainted) || summaries.some(({ outside }) => outside === true);
  const texts = await loadTexts(bodies, all);
  const words = all.map(({ role, ...one }, at): ModelMessage => ({ role, text: truncator.render(one, texts[at] ?? '') }));
  const earlier: ModelMessage[] = summaries.length === 0 ? [] : [{ role: 'user', text: renderSummaries(summaries, marked(hold.session)) }];
  const folded = summaries.reduce((sum, one) => sum + one.messages, 0);
  const whole = fitting.exchanges;
  const promptParts = {
    messages: all.length,
    chars: words.reduce((sum, one) => sum + (one.role === 'tool' ? 0 : one.text.length), 0),
    ...(whole === 0 ? {} : { turns: { from: lastSeq - whole + 1, to: lastSeq } }),
    summaries: summaries.length,
    ...(summaries.length === 0 ? {} : { summaryIds: summaries.map(({ id }) => id) }),
    depth: summaries.reduce((deepest, { depth }) => Math.max(deepest, depth), 0),
    folded,
    leftOut: Math.max(0, messageCount - folded - all.length),
  };
  recordHistory?.({ messagesIn: messageCount, messagesOut: all.length });
  const messages = [...words.slice(0, anchors.length), ...earlier, ...words.slice(anchors.length)];
  const hasEarlier = maxTurns > 0 && (messageCount > all.length || truncator.hasTruncated);
  return { messages, earlier: hasEarlier, promptMessage: promptParts, window, isTainted };
}

/** Returns the messages with their index within the turn. */
function spokenIn(exchanges: readonly Exchange[]) {
  return exchanges.flatMap(({ messages: spoken }) => spoken.map((one, n) => ({ ...one, n })));
}
