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
 * One answer to several turns. A turn that runs may hear those that wait right behind it; from then on its document says so, and they
 * end when it ends, as it ends (`merge-completion.ts`). Until then they keep their place in the queue: whoever takes the turn over goes on
 * with all of them, and where it is cancelled each of them is a turn of its own again.
 */

/** More are never heard by one turn: what it has heard stands in its document. */
const MOST_HEARD = 50;
/** Characters of a message that stand there; of a longer one the digest does. */
const INLINE_CHARS = 256;

type Given = Pick<RunGiven, 'hold' | 'turn' | 'agent'>;

/**
 * What the model of a turn is to be told besides its message, asked before each of its steps. `followup`: nothing. `collect`: what waits
 * when it begins. `steer`: what waits before each step. `steer+followup`: of that, only what came while it ran; who came before is a
 * turn of its own. One that has waited for more to be said hears what came meanwhile, whatever the mode.
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
  /** So many others are heard at most. */
  most: number;
  /** How many steps there were. */
  step: number;
  heard: readonly Heard[];
  /** The queue when the turn began here. */
  before: readonly string[];
}

/** Who cannot be read now is not heard now: a turn does not end because others could not join it. */
async function lookBehind(deps: RunDeps, given: Given, looking: Looking): Promise<Came[]> {
  try {
    const entries = await waitingNow(deps, given, looking);
    return entries.length === 0 ? [] : await whoMayJoin(deps, given, { entries, heard: looking.heard, most: looking.most });
  } catch (error) {
    if (error instanceof ServiceError) return [];
    throw error;
  }
}

/** The entries behind the turn that its mode lets it hear, and that it has not heard yet. */
async function waitingNow({ sessions }: RunDeps, { hold }: Given, { mode, step, heard, before }: Looking): Promise<string[]> {
  if (mode === 'followup' || (step === 0 ? mode === 'steer+followup' : mode === 'collect')) return [];
  // What waited when it began is known.
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

/** In the order of the queue, and nobody is passed over: behind one that may not join the rest waits too. */
async function whoMayJoin(deps: RunDeps, { hold, turn, agent }: Given, { entries, heard, most }: Entries): Promise<Came[]> {
  const [turns, bodies] = [deps.turns.for(hold), deps.bodies.for(hold)];
  const came: Came[] = [];
  let room = agent.config.maxContextChars - turn.message.chars - heard.reduce((sum, { said }) => sum + said.chars, 0);
  for (const entry of entries) {
    const { turnId } = readEntry(entry);
    if (heard.length + came.length >= Math.min(most, MOST_HEARD)) break;
    const other = await turns.get(turnId);
    // It was cancelled, and leaves.
    if (!other || hasEnded(other)) continue;
    room -= other.message.chars;
    if (!mayJoin(turn, other) || room < 0) break;
    const own = await textOf(bodies, turnId, other.message);
    // A command is carried out, and not read by a model.
    if (parseMessage(own)) break;
    const said = [await leftOutText(turns, other), own];
    const text = said.filter((part) => part !== undefined).join('\n\n');
    came.push({ text, heard: { turnId, at: other.createdAt, said: await keep(bodies, turn.turnId, text, INLINE_CHARS) } });
  }
  return came;
}

/** Only what may do and see the same, by the same model, is answered together: nobody's message is acted on with the rights of somebody else. */
function mayJoin(turn: TurnDocument, other: TurnDocument): boolean {
  const fresh = other.fence === 0 && other.attempts === 0;
  const rights = ({ scopes }: TurnDocument): string => scopes.toSorted().join(' ');
  return (
    fresh &&
    // What nobody said is answered to nobody.
    other.follows === undefined &&
    other.agentId === turn.agentId &&
    other.client === turn.client &&
    other.sessions === turn.sessions &&
    other.model === turn.model &&
    other.timeoutMs === turn.timeoutMs &&
    rights(other) === rights(turn)
  );
}
