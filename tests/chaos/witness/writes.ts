import type { Change, Document, Filter } from '@switchyard/store';
import type { Note } from './notes.ts';

/** A write to the sessions or the turns. */
export interface Write {
  collection: 'sessions' | 'turns';
  change: Change<Document> | 'insert';
  filter?: Filter<Document>;
}

/** The name of a write; undefined for other writes. */
export function getPlace({ collection, change }: Write): string | undefined {
  if (change === 'insert') return collection === 'turns' ? 'accept' : 'enter';
  return collection === 'turns' ? placeOfTurn(change) : placeOfSession(change);
}

function placeOfTurn({ set = {}, push = {}, inc = {} }: Change<Document>): string | undefined {
  if ('finishedAt' in set) return 'commit';
  if ('checkpoints' in inc) {
    const step = (push as { steps?: { mark?: string } }).steps;
    if (step === undefined) return 'text';
    // Long texts have a document of their own; here is only the digest.
    return step.mark === 'said' ? 'intent' : 'result';
  }
  return 'attempts' in inc ? 'take' : undefined;
}

function placeOfSession({ set = {}, push, pull, inc = {}, unset = [] }: Change<Document>): string | undefined {
  if (push) return 'enter';
  if (pull) return 'settle';
  if ('epoch' in set) return 'empty';
  if (unset.includes('waitsFor') && 'fence' in inc && Number(set['leaseUntil']) > 0) return 'claim';
  if (Number(set['leaseUntil']) > 0) return 'renew';
  if (set['leaseUntil'] === 0) return 'fence' in inc ? 'release' : 'giveBack';
  return undefined;
}

/** The record of a write. */
export function getTold(write: Write, document: Document): (Pick<Note, 'what' | 'id'> & Partial<Note>) | undefined {
  const description = getPlace(write);
  if (description === undefined) return undefined;
  const { fence, state, turnId, key } = document as { fence: number; state?: string; turnId?: string; key?: string };
  const { set, inc } = write.change === 'insert' ? {} : write.change;
  const counted = set?.['lastSeq'];
  return {
    what: description,
    id: String(turnId ?? key),
    fence: inc?.['fence'] === undefined ? (getFence(write.filter) ?? fence) : fence,
    ...(state === undefined ? {} : { state }),
    ...(inc?.['messageCount'] === undefined ? {} : { counted: Number(counted) }),
  };
}

/** The lease that a write names, independent of the document. */
function getFence(filter: Filter<Document> = {}): number | undefined {
  const request = filter['fence'] as number | { lte?: number; lt?: number } | undefined;
  return typeof request === 'object' ? (request.lte ?? request.lt) : request;
}
