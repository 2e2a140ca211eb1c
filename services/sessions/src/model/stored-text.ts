import { createHash } from 'node:crypto';
import { ServiceError } from '@switchyard/contracts';
import type { Collection, Documents } from '@switchyard/store';
import type { TurnDocument } from './turn-document.ts';
import type { BodyDocument, Said } from './text-document.ts';

/** Characters of a text that stand in the document of its turn; what is longer has a document of its own. */
const INLINE_CHARS = 8_192;
const AT_ONCE = 500;

/** Where the long texts of turns are kept: each under the digest of what it says, for its turn alone. */
export type Bodies = Documents<BodyDocument>;

/** What is to be written of a text: nothing, or a body before the document that names it. */
export async function keep(bodies: Bodies, turnId: string, text: string, inline = INLINE_CHARS): Promise<Said> {
  return keepAs(bodies, { turnId, text }, inline);
}

/** The same, of a text that goes by itself at `forgetAt`. */
export async function keepAs(bodies: Bodies, given: Omit<BodyDocument, 'id'>, inline = INLINE_CHARS): Promise<Said> {
  const { turnId } = given;
  const said = given.text.toWellFormed();
  const chars = said.length;
  if (chars <= inline) return { chars, text: said };
  const body = createHash('sha256').update(said).digest('base64url');
  try {
    await bodies.insert({ ...given, id: idOf(turnId, body), text: said });
  } catch (error) {
    // The same text was written for the same turn before.
    if (!(error instanceof ServiceError && error.code === 'ALREADY_EXISTS')) throw error;
  }
  return { chars, body };
}

/** A text under a document of its own, however short, and the id of that. */
export async function keepApart(bodies: Bodies, turnId: string, text: string): Promise<string> {
  const { body = '' } = await keep(bodies, turnId, text, -1);
  return idOf(turnId, body);
}

function idOf(turnId: string, body: string): string {
  return `${turnId}/${body}`;
}

/** Something a turn said, wherever it stands. */
export interface Quoted {
  turnId: string;
  said: Said;
}

/** The texts themselves, in the order that they were asked for. */
export async function texts(bodies: Bodies, quoted: readonly Quoted[]): Promise<string[]> {
  const ids = quoted.flatMap(({ turnId, said }) => (said.body === undefined ? [] : [idOf(turnId, said.body)]));
  const found = new Map<string, string>();
  for (let at = 0; at < ids.length; at += AT_ONCE) {
    const { items } = await bodies.find({ id: { in: ids.slice(at, at + AT_ONCE) } }, { limit: AT_ONCE });
    for (const { id, text } of items) found.set(id, text);
  }
  return quoted.map(({ turnId, said }) => said.text ?? found.get(idOf(turnId, said.body ?? '')) ?? lost(turnId));
}

/** One text. */
export async function textOf(bodies: Bodies, turnId: string, said: Said): Promise<string> {
  return (await texts(bodies, [{ turnId, said }]))[0] ?? '';
}

function lost(turnId: string): never {
  throw new ServiceError('DATA_LOSS', `A text of the turn ${turnId} is gone.`);
}

/** Whether a turn may have texts in documents of their own. */
export function hasBodies({ message, answer, steps }: TurnDocument): boolean {
  return message.body !== undefined || answer?.body !== undefined || steps.length > 0;
}

/** The bodies of a turn that nobody needs any more go with it. */
export async function forget(bodies: Collection<BodyDocument>, tenant: string, turnId: string, at: number): Promise<void> {
  const mine = bodies.for({ tenant });
  while (await mine.update({ turnId, forgetAt: null }, { set: { forgetAt: at } }));
}
