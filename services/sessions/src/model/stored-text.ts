import { createHash } from 'node:crypto';
import { ServiceError } from '@switchyard/contracts';
import type { Collection, Documents } from '@switchyard/store';
import type { TurnDocument } from './turn-document.ts';
import type { BodyDocument, StoredText } from './text-document.ts';

/** Maximum characters stored inline in the turn document. Longer texts get a document of their own. */
const MAX_INLINE_CHARS = 8_192;
const READ_BATCH_SIZE = 500;

/** Collection of long texts. The id of a text is its turn and its digest. */
export type Bodies = Documents<BodyDocument>;

/** Stores a text: inline, or in a document that is written before the document that refers to it. */
export async function storeText(bodies: Bodies, turnId: string, text: string, inline = MAX_INLINE_CHARS): Promise<StoredText> {
  return storeExpiringText(bodies, { turnId, text }, inline);
}

/** Stores a text that expires at `forgetAt`. */
export async function storeExpiringText(bodies: Bodies, options: Omit<BodyDocument, 'id'>, inline = MAX_INLINE_CHARS): Promise<StoredText> {
  const { turnId } = options;
  const content = options.text.toWellFormed();
  const chars = content.length;
  if (chars <= inline) return { chars, text: content };
  const body = createHash('sha256').update(content).digest('base64url');
  try {
    await bodies.insert({ ...options, id: bodyId(turnId, body), text: content });
  } catch (error) {
    // The same text was already stored for this turn.
    if (!(error instanceof ServiceError && error.code === 'ALREADY_EXISTS')) throw error;
  }
  return { chars, body };
}

/** Stores a text in a document of its own, whatever its length, and returns the id. */
export async function storeSeparately(bodies: Bodies, turnId: string, text: string): Promise<string> {
  const { body = '' } = await storeText(bodies, turnId, text, -1);
  return bodyId(turnId, body);
}

function bodyId(turnId: string, body: string): string {
  return `${turnId}/${body}`;
}

/** Reference to a text of a turn. */
export interface TextReference {
  turnId: string;
  content: StoredText;
}

/** Loads texts in the order of the references. */
export async function loadTexts(bodies: Bodies, quoted: readonly TextReference[]): Promise<string[]> {
  const ids = quoted.flatMap(({ turnId, content }) => (content.body === undefined ? [] : [bodyId(turnId, content.body)]));
  const found = new Map<string, string>();
  for (let at = 0; at < ids.length; at += READ_BATCH_SIZE) {
    const { items } = await bodies.find({ id: { in: ids.slice(at, at + READ_BATCH_SIZE) } }, { limit: READ_BATCH_SIZE });
    for (const { id, text } of items) found.set(id, text);
  }
  return quoted.map(({ turnId, content }) => content.text ?? found.get(bodyId(turnId, content.body ?? '')) ?? textMissing(turnId));
}

/** Loads one text. */
export async function loadText(bodies: Bodies, turnId: string, content: StoredText): Promise<string> {
  return (await loadTexts(bodies, [{ turnId, content }]))[0] ?? '';
}

function textMissing(turnId: string): never {
  throw new ServiceError('DATA_LOSS', `A stored text of turn ${turnId} is missing.`);
}

/** Returns whether a turn may have texts in documents of their own. */
export function hasBodies({ message, context, answer, steps }: TurnDocument): boolean {
  return message.body !== undefined || context?.body !== undefined || answer?.body !== undefined || steps.length > 0;
}

/** Marks the texts of a turn for expiry. */
export async function expireTexts(bodies: Collection<BodyDocument>, tenant: string, turnId: string, at: number): Promise<void> {
  const mine = bodies.for({ tenant });
  while (await mine.update({ turnId, forgetAt: null }, { set: { forgetAt: at } }));
}
