import { ServiceError } from '@switchyard/contracts';
import { type Heard, type TurnDocument, hasEnded } from '../../model/turn-document.ts';
import { parseMessage } from '../../commands/command-parser.ts';
import { readEntry } from '../../model/queue-entry.ts';
import type { QueueMode } from '../../queue/queue-policy.ts';
import { keep, textOf } from '../../model/stored-text.ts';
import { leftOutText } from '../../queue/dropped-messages.ts';
import type { Record } from './turn-recorder.ts';
import type { RunDeps, RunGiven } from './turn-run.ts';

/*
 * A running turn can merge the turns queued behind it and answer them together. Its document records the merge, and the merged turns end
 * as it ends (`merge-completion.ts`). Until then they keep their queue entries: the next runner continues with all of them, and after a
 * cancellation each of them runs on its own.
 */

/** Maximum number of merged messages, which are stored in the turn document. */
const MOST_HEARD = 50;
/** Maximum characters of a merged message stored inline. */
const INLINE_CHARS = 256;

type Given = Pick<RunGiven, 'hold' | 'turn' | 'agent'>;

/**
 * Returns the messages to add before a model step. `followup`: none. `collect`: what waits when the turn starts. `steer`: what waits
 * before each step. `steer+followup`: only what arrived while the turn ran; earlier messages get turns of their own. A debounced turn
 * merges what arrived during its window, in every mode.
 */
export function hearing(deps: RunDeps, given: Given, record: Pick<Record, 'join'>): (step: number) => Promise<readonly string[]> {
  const { hold, turn } = given;
  const heard = [...(turn.joined ?? [])];
  const before = hold.session.queue;
  return async (step) => {
    const gathered = step === 0 && turn.gathersUntil !== undefined ? deps.mostGathered(hold.key) : undefined;
    const how =
      gathered === undefined ? { mode: deps.modeOf(hold.key), most: MOST_HEARD } : ({ mode: 'collect', most: gathered - 1 } as const);
    const came = await lookBehind(deps, given, { ...how, step, heard, before });
    if (came.length === 0) return [];
    await record.join(came.map((one) => one.heard));
    heard.push(...came.map((one) => one.heard));
    return came.map(({ text }) => text);
  };
}

interface Came {
  heard: Heard;
  text: string;
}

interface Looking {
  mode: QueueMode;
  /** Maximum number of merged messages. */
  most: number;
  /** Number of steps made. */
  step: number;
  heard: readonly Heard[];
  /** The queue when this run started. */
  before: readonly string[];
}

/** A failed read merges nothing, because it must not end the turn. */
async function lookBehind(deps: RunDeps, given: Given, looking: Looking): Promise<Came[]> {
  try {
    const entries = await waitingNow(deps, given, looking);
    return entries.length === 0 ? [] : await whoMayJoin(deps, given, { entries, heard: looking.heard, most: looking.most });
  } catch (error) {
    if (error instanceof ServiceError) return [];
    throw error;
  }
}

/** Returns the entries behind the turn that the mode allows to merge and that are not merged yet. */
async function waitingNow({ sessions }: RunDeps, { hold }: Given, { mode, step, heard, before }: Looking): Promise<string[]> {
  if (mode === 'followup' || (step === 0 ? mode === 'steer+followup' : mode === 'collect')) return [];
  // The queue at the start of the run is already loaded.
  const session = step === 0 ? hold.session : await sessions.for(hold).get(hold.key);
  if (session?.fence !== hold.fence) return [];
  const known = new Set(heard.map(({ turnId }) => turnId));
  const entries = session.queue.slice(1).filter((entry) => !known.has(readEntry(entry).turnId));
  const waited = mode === 'steer+followup' ? entries.findIndex((entry) => before.includes(entry)) : -1;
  return waited === -1 ? entries : entries.slice(0, waited);
}

interface Entries {
  entries: readonly string[];
  heard: readonly Heard[];
  most: number;
}

/** Selects in queue order. Stops at the first turn that cannot be merged, so that no turn is overtaken. */
async function whoMayJoin(deps: RunDeps, { hold, turn, agent }: Given, { entries, heard, most }: Entries): Promise<Came[]> {
  const [turns, bodies] = [deps.turns.for(hold), deps.bodies.for(hold)];
  const came: Came[] = [];
  let room = agent.config.maxContextChars - turn.message.chars - heard.reduce((sum, { said }) => sum + said.chars, 0);
  for (const entry of entries) {
    const { turnId } = readEntry(entry);
    if (heard.length + came.length >= Math.min(most, MOST_HEARD)) break;
    const other = await turns.get(turnId);
    // A cancelled turn is about to be removed.
    if (!other || hasEnded(other)) continue;
    room -= other.message.chars;
    if (!mayJoin(turn, other) || room < 0) break;
    const own = await textOf(bodies, turnId, other.message);
    // Commands are executed and not sent to a model.
    if (parseMessage(own)) break;
    const said = [await leftOutText(turns, other), own];
    const text = said.filter((part) => part !== undefined).join('\n\n');
    came.push({ text, heard: { turnId, at: other.createdAt, said: await keep(bodies, turn.turnId, text, INLINE_CHARS) } });
  }
  return came;
}

/** Merges only turns with the same client, agent, model, limits and scopes, so that no message is processed with other permissions. */
function mayJoin(turn: TurnDocument, other: TurnDocument): boolean {
  const fresh = other.fence === 0 && other.attempts === 0;
  const rights = ({ scopes }: TurnDocument): string => scopes.toSorted().join(' ');
  return (
    fresh &&
    // Auto-continued turns are not merged.
    other.follows === undefined &&
    other.agentId === turn.agentId &&
    other.client === turn.client &&
    other.sessions === turn.sessions &&
    other.model === turn.model &&
    other.timeoutMs === turn.timeoutMs &&
    rights(other) === rights(turn)
  );
}
