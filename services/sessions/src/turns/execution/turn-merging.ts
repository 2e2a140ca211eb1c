import { ServiceError } from '@switchyard/contracts';
import { type MergedMessage, type TurnDocument, hasEnded } from '../../model/turn-document.ts';
import { parseMessage } from '../../commands/command-parser.ts';
import { parseEntry } from '../../model/queue-entry.ts';
import type { QueueMode } from '../../queue/queue-policy.ts';
import { storeText, loadText } from '../../model/stored-text.ts';
import { renderDroppedMessages } from '../../queue/dropped-messages.ts';
import type { TurnRecorder } from './turn-recorder.ts';
import type { TurnRunDeps, TurnRun } from './turn-run.ts';

/*
 * A running turn can merge the turns queued behind it and answer them together. Its document records the merge, and the merged turns end
 * as it ends (`merge-completion.ts`). Until then they keep their queue entries: the next runner continues with all of them, and after a
 * cancellation each of them runs on its own.
 */

/** Maximum number of merged messages, which are stored in the turn document. */
const MAX_MERGED = 50;
/** Maximum characters of a merged message stored inline. */
const MAX_INLINE_CHARS = 256;

type MergeOptions = Pick<TurnRun, 'lease' | 'turn' | 'agent'>;

/**
 * Returns the messages to add before a model step. `followup`: none. `collect`: what waits when the turn starts. `steer`: what waits
 * before each step. `steer+followup`: only what arrived while the turn ran; earlier messages get turns of their own. A debounced turn
 * merges what arrived during its window, in every mode.
 */
export function createMerger(
  deps: TurnRunDeps,
  options: MergeOptions,
  record: Pick<TurnRecorder, 'recordMerged'>,
): (step: number) => Promise<readonly string[]> {
  const { lease, turn } = options;
  const merged = [...(turn.merged ?? [])];
  const before = lease.session.queue;
  return async (step) => {
    const gathered = step === 0 && turn.debounceUntil !== undefined ? deps.getMaxDebounced(lease.key) : undefined;
    const how =
      gathered === undefined ? { mode: deps.getQueueMode(lease.key), max: MAX_MERGED } : ({ mode: 'collect', max: gathered - 1 } as const);
    const candidates = await findMergeable(deps, options, { ...how, step, merged, before });
    if (candidates.length === 0) return [];
    await record.recordMerged(candidates.map((one) => one.message));
    merged.push(...candidates.map((one) => one.message));
    return candidates.map(({ text }) => text);
  };
}

interface MergeCandidate {
  message: MergedMessage;
  text: string;
}

interface MergeScan {
  mode: QueueMode;
  /** Maximum number of merged messages. */
  max: number;
  /** Number of steps made. */
  step: number;
  merged: readonly MergedMessage[];
  /** The queue when this run started. */
  before: readonly string[];
}

/** A failed read merges nothing, because it must not end the turn. */
async function findMergeable(deps: TurnRunDeps, options: MergeOptions, scan: MergeScan): Promise<MergeCandidate[]> {
  try {
    const entries = await listWaiting(deps, options, scan);
    return entries.length === 0 ? [] : await selectMergeable(deps, options, { entries, merged: scan.merged, max: scan.max });
  } catch (error) {
    if (error instanceof ServiceError) return [];
    throw error;
  }
}

/** Returns the entries behind the turn that the mode allows to merge and that are not merged yet. */
async function listWaiting(
  { sessions }: TurnRunDeps,
  { lease }: MergeOptions,
  { mode, step, merged, before }: MergeScan,
): Promise<string[]> {
  if (mode === 'followup' || (step === 0 ? mode === 'steer+followup' : mode === 'collect')) return [];
  // The queue at the start of the run is already loaded.
  const session = step === 0 ? lease.session : await sessions.for(lease).get(lease.key);
  if (session?.fence !== lease.fence) return [];
  const known = new Set(merged.map(({ turnId }) => turnId));
  const entries = session.queue.slice(1).filter((entry) => !known.has(parseEntry(entry).turnId));
  const waited = mode === 'steer+followup' ? entries.findIndex((entry) => before.includes(entry)) : -1;
  return waited === -1 ? entries : entries.slice(0, waited);
}

interface MergeEntries {
  entries: readonly string[];
  merged: readonly MergedMessage[];
  max: number;
}

/** Selects in queue order. Stops at the first turn that cannot be merged, so that no turn is overtaken. */
async function selectMergeable(
  deps: TurnRunDeps,
  { lease, turn, agent }: MergeOptions,
  { entries, merged, max }: MergeEntries,
): Promise<MergeCandidate[]> {
  const [turns, bodies] = [deps.turns.for(lease), deps.bodies.for(lease)];
  const candidates: MergeCandidate[] = [];
  let room = agent.config.maxContextChars - turn.message.chars - merged.reduce((sum, { content }) => sum + content.chars, 0);
  for (const entry of entries) {
    const { turnId } = parseEntry(entry);
    if (merged.length + candidates.length >= Math.min(max, MAX_MERGED)) break;
    const other = await turns.get(turnId);
    // A cancelled turn is about to be removed.
    if (!other || hasEnded(other)) continue;
    room -= other.message.chars;
    if (!isMergeable(turn, other) || room < 0) break;
    const own = await loadText(bodies, turnId, other.message);
    // Commands are executed and not sent to a model.
    if (parseMessage(own)) break;
    const reply = [await renderDroppedMessages(turns, other), own];
    const text = reply.filter((part) => part !== undefined).join('\n\n');
    candidates.push({
      text,
      message: { turnId, at: other.createdAt, content: await storeText(bodies, turn.turnId, text, MAX_INLINE_CHARS) },
    });
  }
  return candidates;
}

/** Merges only turns with the same client, agent, model, limits, tools and scopes, so that no message is processed with other permissions. */
function isMergeable(turn: TurnDocument, other: TurnDocument): boolean {
  const fresh = other.fence === 0 && other.attempts === 0;
  const rights = ({ scopes, tools }: TurnDocument): string => `${scopes.toSorted().join(' ')} ${JSON.stringify(tools ?? null)}`;
  return (
    fresh &&
    // Auto-continued turns are not merged.
    other.continuationOf === undefined &&
    other.agentId === turn.agentId &&
    other.client === turn.client &&
    other.sessions === turn.sessions &&
    other.model === turn.model &&
    other.timeoutMs === turn.timeoutMs &&
    rights(other) === rights(turn)
  );
}
