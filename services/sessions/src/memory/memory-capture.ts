import { ServiceError, type Principal } from '@switchyard/contracts';
import type { Bus } from '@switchyard/bus';
import type { Collection, Documents, Store } from '@switchyard/store';
import type { Logger } from '@switchyard/telemetry';
import type { AgentDirectory } from '../agents/agent-directory.ts';
import { parseMessage } from '../commands/command-parser.ts';
import type { TurnDocument } from '../model/turn-document.ts';
import { loadText } from '../model/stored-text.ts';
import type { BodyDocument } from '../model/text-document.ts';
import { DAY_MS } from '../model/retention.ts';
import { captureAll, type CapturedTurn } from './captured-turn.ts';
import { loadMergedMessages } from '../model/merged-messages.ts';
import { restorePrincipal } from '../model/turn-principal.ts';

/*
 * The write that ends a turn sets `memoryPendingSince` if the memory service has to be notified; the field is removed afterwards. After a
 * crash a sweep sends the pending captures. Duplicates are stored once.
 */

/** Sends captures of finished turns to the memory service. Turns never wait for it. */
export interface MemoryCapture {
  /** Sends the captures of a turn that has just ended. Returns immediately; failures are left to a sweep. */
  publish(principal: Principal, turnId: string, captured: readonly CapturedTurn[]): void;
  /** Sends all pending captures. */
  sweep(): Promise<void>;
}

export interface MemoryCaptureDeps {
  turns: Collection<TurnDocument>;
  bodies: Collection<BodyDocument>;
  agents: AgentDirectory;
  store: Pick<Store, 'now'>;
  bus: Bus;
  log: Logger;
}

/** Age after which a pending turn is swept. Its process died or could not send it. */
const SWEEP_DELAY_MS = 1_000;
/** Maximum concurrent sends. The others are left to a sweep. */
const MAX_IN_FLIGHT = 100;
const BATCH = 100;
/** Maximum batches per sweep. */
const MAX_BATCHES = 50;

export function createMemoryCapture(deps: MemoryCaptureDeps): MemoryCapture {
  const { turns, store, bus, log } = deps;
  let inFlight = 0;

  async function notify(principal: Principal, turnId: string, captured: readonly CapturedTurn[]): Promise<void> {
    await bus.as(principal).call('memory.capture', { captured: [...captured] });
    await clearPending(turns.for(principal), turnId);
  }

  /** Returns false if the memory service is unavailable, which ends the sweep. */
  async function publishPending(tenant: string, turn: TurnDocument): Promise<boolean> {
    try {
      const captured = await rebuildCaptured(deps, tenant, turn);
      if (captured === 'unknown yet') return true;
      if (captured.length > 0) await notify(restorePrincipal(turn, tenant), turn.turnId, captured);
      else await clearPending(turns.for({ tenant }), turn.turnId);
      return true;
    } catch (err) {
      if (!(err instanceof ServiceError)) throw err;
      if (err.retryable && (turn.memoryPendingSince ?? 0) > store.now() - DAY_MS) return false;
      log.warn(
        { turnId: turn.turnId, err, errorKind: 'dependency', hint: 'the turn itself is complete' },
        'the memory service rejected the captures of a turn',
      );
      await clearPending(turns.for({ tenant }), turn.turnId);
      return true;
    }
  }

  return {
    publish(principal, turnId, captured) {
      if (inFlight >= MAX_IN_FLIGHT) return;
      inFlight += 1;
      void notify(principal, turnId, captured)
        .catch((err: unknown) => {
          log.info({ turnId, err, errorKind: 'dependency', hint: 'a sweep retries' }, 'failed to send captures to the memory service');
        })
        .finally(() => (inFlight -= 1));
    },

    async sweep() {
      const before = store.now() - SWEEP_DELAY_MS;
      for (let n = 0, sent = true; n < MAX_BATCHES && sent; n += 1) {
        const noted = turns
          .system()
          .find({ memoryPendingSince: { gt: 0, lte: before } }, { sort: [['memoryPendingSince', 'asc']], limit: BATCH });
        const { items } = await noted;
        const each = await Promise.all(items.map(({ tenant, ...turn }) => publishPending(tenant, turn)));
        sent = items.length === BATCH && each.every(Boolean);
      }
    },
  };
}

/** Rebuilds the captures from the stored turn. Empty if the agent is deleted or no longer captures them. */
async function rebuildCaptured(
  { agents, bodies }: MemoryCaptureDeps,
  tenant: string,
  turn: TurnDocument,
): Promise<CapturedTurn[] | 'unknown yet'> {
  const { turnId, sessionKey, agentId, message, merged = [], answer, stepCount = 0 } = turn;
  const agent = agents.find(tenant, agentId);
  // No agents are known until the registry has published them.
  if (!agent) return agents.all(tenant).length === 0 ? 'unknown yet' : [];
  if (!answer) return [];
  const mine = bodies.for({ tenant });
  const [messageText, answerText] = await Promise.all([loadText(mine, turnId, message), loadText(mine, turnId, answer)]);
  const own = { agent, turnId, sessionKey, question: getModelQuestion(messageText), answer: answerText, steps: stepCount };
  return captureAll(own, await loadMergedMessages(mine, turnId, merged));
}

/** Returns the part of a message that is sent to the model. */
export function getModelQuestion(content: string): string {
  return parseMessage(content)?.directed?.text ?? content;
}

async function clearPending(turns: Documents<TurnDocument>, turnId: string): Promise<void> {
  await turns.update({ turnId, memoryPendingSince: { gt: 0 } }, { unset: ['memoryPendingSince'] });
}

/** Drops all pending captures of an epoch. */
export async function clearPendingOfEpoch(turns: Documents<TurnDocument>, epoch: string): Promise<void> {
  while (await turns.update({ epoch, seq: { gt: 0 }, memoryPendingSince: { gt: 0 } }, { unset: ['memoryPendingSince'] }));
}
