import { ServiceError, type Principal } from '@switchyard/contracts';
import type { Bus } from '@switchyard/bus';
import type { Collection, Documents, Store } from '@switchyard/store';
import type { Logger } from '@switchyard/telemetry';
import type { AgentDirectory } from '../agents/agent-directory.ts';
import { parseMessage } from '../commands/command-parser.ts';
import type { TurnDocument } from '../model/turn-document.ts';
import { textOf } from '../model/stored-text.ts';
import type { BodyDocument } from '../model/text-document.ts';
import { DAY_MS } from '../model/retention.ts';
import { allCapturedOf, type Captured } from './captured-turn.ts';
import { heardIn } from '../model/merged-messages.ts';
import { principalOf } from '../model/turn-principal.ts';

/*
 * What is to be remembered of a turn is noted in the write that ends it (`unremembered`), and the note goes once the memory service has
 * it. Whoever dies in between leaves the note, and a sweep tells what it stands for; told twice, it is kept once.
 */

/** Tells what is to be remembered of turns that are over. No turn waits for it. */
export interface Remembering {
  /** Of a turn that has ended just now, with its note. Returns at once; what fails here is told by a sweep. */
  tell(principal: Principal, turnId: string, captured: readonly Captured[]): void;
  /** Tells what was noted and nobody has told. */
  sweep(): Promise<void>;
}

export interface RememberingDeps {
  turns: Collection<TurnDocument>;
  bodies: Collection<BodyDocument>;
  agents: AgentDirectory;
  store: Pick<Store, 'now'>;
  bus: Bus;
  log: Logger;
}

/** A note that is older was left by a process that died, or could not be told then. */
const LATE_MS = 1_000;
/** On their way at once; what is beyond waits for a sweep. */
const MOST_AT_ONCE = 100;
const BATCH = 100;
/** So many are told at one sweep. */
const MOST_BATCHES = 50;

export function createRemembering(deps: RememberingDeps): Remembering {
  const { turns, store, bus, log } = deps;
  let underWay = 0;

  async function tell(principal: Principal, turnId: string, captured: readonly Captured[]): Promise<void> {
    await bus.as(principal).call('memory.capture', { captured: [...captured] });
    await forgetNote(turns.for(principal), turnId);
  }

  /** False when the memory service is away: the others are not told either. */
  async function tellNoted(tenant: string, turn: TurnDocument): Promise<boolean> {
    try {
      const captured = await capturedAgain(deps, tenant, turn);
      if (captured === 'unknown yet') return true;
      if (captured.length > 0) await tell(principalOf(turn, tenant), turn.turnId, captured);
      else await forgetNote(turns.for({ tenant }), turn.turnId);
      return true;
    } catch (err) {
      if (!(err instanceof ServiceError)) throw err;
      if (err.retryable && (turn.unremembered ?? 0) > store.now() - DAY_MS) return false;
      log.warn({ turnId: turn.turnId, err, errorKind: 'dependency', hint: 'the turn itself is whole' }, 'a turn is not remembered');
      await forgetNote(turns.for({ tenant }), turn.turnId);
      return true;
    }
  }

  return {
    tell(principal, turnId, captured) {
      if (underWay >= MOST_AT_ONCE) return;
      underWay += 1;
      void tell(principal, turnId, captured)
        .catch((err: unknown) => {
          log.info({ turnId, err, errorKind: 'dependency', hint: 'a sweep tells it again' }, 'a turn is not remembered yet');
        })
        .finally(() => (underWay -= 1));
    },

    async sweep() {
      const before = store.now() - LATE_MS;
      for (let n = 0, told = true; n < MOST_BATCHES && told; n += 1) {
        const noted = turns.system().find({ unremembered: { gt: 0, lte: before } }, { sort: [['unremembered', 'asc']], limit: BATCH });
        const { items } = await noted;
        const each = await Promise.all(items.map(({ tenant, ...turn }) => tellNoted(tenant, turn)));
        told = items.length === BATCH && each.every(Boolean);
      }
    },
  };
}

/** What was to be remembered, made of what is kept of the turn. Nothing where its agent is gone, or remembers such things no more. */
async function capturedAgain({ agents, bodies }: RememberingDeps, tenant: string, turn: TurnDocument): Promise<Captured[] | 'unknown yet'> {
  const { turnId, sessionKey, agentId, message, joined = [], answer, stepCount = 0 } = turn;
  const agent = agents.find(tenant, agentId);
  // Until the registry has spoken, nobody knows.
  if (!agent) return agents.all(tenant).length === 0 ? 'unknown yet' : [];
  if (!answer) return [];
  const mine = bodies.for({ tenant });
  const [said, answered] = await Promise.all([textOf(mine, turnId, message), textOf(mine, turnId, answer)]);
  const own = { agent, turnId, sessionKey, question: questionOf(said), answer: answered, steps: stepCount };
  return allCapturedOf(own, await heardIn(mine, turnId, joined));
}

/** What of a message is for the model. */
export function questionOf(said: string): string {
  return parseMessage(said)?.directed?.text ?? said;
}

async function forgetNote(turns: Documents<TurnDocument>, turnId: string): Promise<void> {
  await turns.update({ turnId, unremembered: { gt: 0 } }, { unset: ['unremembered'] });
}

/** Nothing of a conversation is remembered any more that nobody has told until now. */
export async function forgetNotes(turns: Documents<TurnDocument>, epoch: string): Promise<void> {
  while (await turns.update({ epoch, seq: { gt: 0 }, unremembered: { gt: 0 } }, { unset: ['unremembered'] }));
}
