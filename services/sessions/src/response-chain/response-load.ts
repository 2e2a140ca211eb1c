import type { KeyedTurnDocument } from '../model/keyed-turn-document.ts';
import { CONVERSATION_BYTES } from '../sessions/load-budget.ts';
import { countTextBytes } from '../storage/stored-bytes.ts';

/** Memory that one stored character takes while a response is loaded, parsed and sent. */
const BYTES_PER_CHAR = 4;

/** Memory of a response, with its conversation. A larger one counts as a whole conversation, so that a client loads one at a time. */
export function estimateLoadBytes(response: KeyedTurnDocument, talk: boolean): number {
  const chars = countTextBytes(response) + (talk ? (response.chain?.chars ?? 0) : 0);
  return Math.min(CONVERSATION_BYTES, BYTES_PER_CHAR * chars);
}
