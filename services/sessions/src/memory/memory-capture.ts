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
 * The write that ends a turn sets `unremembered` if the memory service has to be notified; the field is removed afterwards. After a crash
 * a sweep sends the pending captures. Duplicates are stored once.
 */

/** Sends captures of finished turns to the memory service. Turns never wait for it. */
export interface Remembering {
  /** Sends the captures of a turn that has just ended. Returns immediately; failures are left to a sweep. */
  tell(principal: Principal, turnId: string, captured: readonly Captured[]): void;
  /** Sends all pending captures. */
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

/** Age after which a pending turn is swept. Its process died or could not send it. */
const LATE_MS = 1_000;
/** Maximum concurrent sends. The others are left to a sweep. */
const MOST_AT_ONCE = 100;
const BATCH = 100;
/** Maximum batches per sweep. */
const MOST_BATCHES = 50;

export function createRemembering(deps: RememberingDeps): Remembering {
  const { turns, store, bus, log } = deps;
  let underWay = 0;

  async function tell(principal: Principal, turnId: string, captured: readonly Captured[]): Promise<void> {
    await bus.as(principal).call('memory.capture', { captured: [...captured] });
    await forgetNote(turns.for(principal), turnId);
  }

  /** Returns false if the memory service is unavailable, which ends the sweep. */
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

/** Rebuilds the captures from the stored turn. Empty if the agent is deleted or no longer captures them. */
async function capturedAgain({ agents, bodies }: RememberingDeps, tenant: string, turn: TurnDocument): Promise<Captured[] | 'unknown yet'> {
  const { turnId, sessionKey, agentId, message, joined = [], answer, stepCount = 0 } = turn;
  const agent = agents.find(tenant, agentId);
  // No agents are known until the registry has published them.
  if (!agent) return agents.all(tenant).length === 0 ? 'unknown yet' : [];
  if (!answer) return [];
  const mine = bodies.for({ tenant });
  const [said, answered] = await Promise.all([textOf(mine, turnId, message), textOf(mine, turnId, answer)]);
  const own = { agent, turnId, sessionKey, question: questionOf(said), answer: answered, steps: stepCount };
  return allCapturedOf(own, await heardIn(mine, turnId, joined));
}

/** Returns the part of a message that is sent to the model. */
export function questionOf(said: string): string {
  return parseMessage(said)?.directed?.text ?? said;
}

async function forgetNote(turns: Documents<TurnDocument>, turnId: string): Promise<void> {
  await turns.update({ turnId, unremembered: { gt: 0 } }, { unset: ['unremembered'] });
}

/** Drops all pending captures of an epoch. */
export async function forgetNotes(turns: Documents<TurnDocument>, epoch: string): Promise<void> {
  while (await turns.update({ epoch, seq: { gt: 0 }, unremembered: { gt: 0 } }, { unset: ['unremembered'] }));
}
