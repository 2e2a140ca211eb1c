import type { TurnContext } from '@switchyard/contracts';
import { loadCheckpoints } from '../model/checkpoint-log.ts';
import { loadText, type Bodies } from '../model/stored-text.ts';
import type { TurnDocument } from '../model/turn-document.ts';
import { isForeign } from './untrusted-message.ts';

/** Returns whether the answer of an ended turn may repeat text from outside: of its history, message, material, or tool results. */
export async function isTaintedTurn(bodies: Bodies, turn: TurnDocument): Promise<boolean> {
  const { turnId, sessionKey, context, steps, tainted } = turn;
  if (tainted === true || isForeign(sessionKey)) return true;
  if (context) {
    const items = JSON.parse(await loadText(bodies, turnId, context)) as TurnContext[];
    if (items.some(({ untrusted = true }) => untrusted)) return true;
  }
  const marks = await loadCheckpoints(bodies, turnId, steps);
  return marks.some((mark) => mark.mark === 'result' && mark.untrusted === true);
}
