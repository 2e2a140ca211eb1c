import type { Handler } from '@switchyard/bus';
import { ServiceError } from '@switchyard/contracts';
import type { Collection } from '@switchyard/store';
import { loadText } from '../model/stored-text.ts';
import type { BodyDocument } from '../model/text-document.ts';
import type { TurnDocument } from '../model/turn-document.ts';
import { getModelQuestion } from '../memory/memory-capture.ts';

export interface TurnsExchangeDeps {
  turns: Collection<TurnDocument>;
  bodies: Collection<BodyDocument>;
}

/** Returns the exchange of a turn that is done, whichever client sent it. */
export function turnsExchange({ turns, bodies }: TurnsExchangeDeps): Handler<'turns.exchange'> {
  return async ({ turnId }, { principal: { tenant } }) => {
    const turn = await turns.for({ tenant }).get(turnId);
    if (turn?.state !== 'done' || !turn.answer) throw new ServiceError('NOT_FOUND', `The turn ${turnId} has no answer.`);
    const own = bodies.for({ tenant });
    const [message, response] = await Promise.all([loadText(own, turnId, turn.message), loadText(own, turnId, turn.answer)]);
    // Each turn adds a message and an answer to its session.
    return { message: getModelQuestion(message), response, messageIndex: Math.max(2 * (turn.seq ?? 1) - 1, 0) };
  };
}
