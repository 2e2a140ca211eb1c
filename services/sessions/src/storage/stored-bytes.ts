import type { KeyedTurnDocument } from '../model/keyed-turn-document.ts';
import type { ResponseSegmentDocument } from '../model/response-segment-document.ts';
import type { SessionDocument } from '../model/session-document.ts';

/** Bytes of a stored document besides its texts. */
const DOCUMENT_BYTES = 1_024;
/** Bytes of a message besides its text. Two messages share the document of their turn. */
const MESSAGE_BYTES = DOCUMENT_BYTES / 2;

/** Bytes of a transcript with its tool results and summaries. A character counts as one byte. */
export function countSessionBytes({
  chars = 0,
  extraChars = 0,
  messageCount,
}: Pick<SessionDocument, 'chars' | 'extraChars' | 'messageCount'>): number {
  return chars + extraChars + MESSAGE_BYTES * messageCount;
}

/** Bytes of a response, or of another turn with an idempotency key, with its texts. */
export function countResponseBytes(response: KeyedTurnDocument): number {
  return DOCUMENT_BYTES + countTextBytes(response);
}

/** Bytes of these texts. */
export function countTextBytes({ request, answer, text, pieces }: Partial<KeyedTurnDocument>): number {
  return [request, answer, text, pieces].reduce((sum, stored) => sum + (stored?.chars ?? 0), 0);
}

export function countSegmentBytes({ content }: Pick<ResponseSegmentDocument, 'content'>): number {
  return DOCUMENT_BYTES + content.chars;
}
