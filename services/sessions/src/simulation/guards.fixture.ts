import type { Watching, Write } from '@switchyard/testkit';
import type { Waits } from './scenario.fixture.ts';

/** Recognizes a write of the protocol by its change. */
const writes = {
  accept: ({ filter }: Write) => filter['unique'] !== undefined,
  enter: ({ collection, change }: Write) => collection === 'sessions' && change.push !== undefined,
  enterWithLease: (write: Write) => writes.enter(write) && has(write, 'inc', 'fence'),
  claim: ({ collection, change }: Write) =>
    collection === 'sessions' &&
    (change.unset ?? []).includes('waitsFor') &&
    change.inc !== undefined &&
    !change.pull &&
    change.set?.['leaseUntil'] !== 0,
  renew: ({ collection, change }: Write) =>
    collection === 'sessions' && Object.keys(change).join() === 'set' && Number(change.set?.['leaseUntil']) > 0,
  settle: (write: Write) => write.collection === 'sessions' && write.change.pull !== undefined && !has(write, 'inc', 'removedCount'),
  withdraw: (write: Write) =>
    write.collection === 'sessions' && has(write, 'inc', 'removedCount') && write.filter['leaseUntil'] !== undefined,
  leave: (write: Write) => write.collection === 'sessions' && has(write, 'inc', 'removedCount') && write.filter['leaseUntil'] === undefined,
  giveBack: ({ collection, change }: Write) => collection === 'sessions' && change.set?.['leaseUntil'] === 0 && !change.inc && !change.pull,
  release: (write: Write) => write.collection === 'sessions' && write.change.set?.['leaseUntil'] === 0 && has(write, 'inc', 'fence'),
  empty: ({ collection, filter, change }: Write) =>
    collection === 'sessions' &&
    (change.set?.['epoch'] !== undefined || (Object.keys(change).length === 0 && filter['epoch'] !== undefined)),
  take: (write: Write) => write.collection === 'turns' && has(write, 'inc', 'attempts') && !has(write, 'inc', 'checkpoints'),
  checkpoint: (write: Write) => write.collection === 'turns' && has(write, 'inc', 'checkpoints'),
  commit: ({ collection, filter, change }: Write) =>
    collection === 'turns' &&
    change.set?.['finishedAt'] !== undefined &&
    change.set['mergedInto'] === undefined &&
    filter['fence'] !== undefined &&
    filter['fence'] !== 0,
  leaveOut: ({ collection, filter, change }: Write) =>
    collection === 'turns' && change.set?.['finishedAt'] !== undefined && filter['fence'] === 0,
  share: ({ collection, change }: Write) => collection === 'turns' && change.set?.['mergedInto'] !== undefined,
  claimCompaction: (write: Write) => write.collection === 'sessions' && has(write, 'inc', 'compactFence'),
  publish: ({ collection, change }: Write) =>
    collection === 'sessions' && change.set?.['roots'] !== undefined && change.set['epoch'] === undefined,
  cancel: ({ collection, filter, change }: Write) =>
    collection === 'turns' && change.set?.['finishedAt'] !== undefined && filter['fence'] === undefined,
};

function has({ change }: Write, kind: 'inc', field: string): boolean {
  return change[kind]?.[field] !== undefined;
}

/** A guard of a write, and the filter fields that form it. */
export interface Guard {
  write: keyof typeof writes;
  without: readonly string[];
  says: string;
  /** Queue mode of the scenarios that need the guard. */
  waits?: Waits;
  /** First seed to try for a scenario that fails without the guard. */
  seed?: number;
  /** The guard that covers this one, if no failing scenario was found. */
  covered?: string;
}

const DROP_OLD: Waits = { mode: 'followup', policy: 'drop-old' };
const COMPACTS: Waits = { mode: 'followup', policy: 'drop-new', resets: true, compacts: true };
const COLLECT: Waits = { mode: 'collect', policy: 'drop-new' };

export const guards: readonly Guard[] = [
  { write: 'accept', without: ['unique'], says: 'an idempotency key is unique', seed: 379 },
  { write: 'enter', without: ['queue'], says: 'the queue does not hold it', seed: 8433 },
  { write: 'enter', without: ['depth'], says: 'the queue is not full, and empty where the turn is to be the first', seed: 153 },
  { write: 'enterWithLease', without: ['depth', 'leaseUntil'], says: 'the queue is empty and the lease free', seed: 16 },
  { write: 'claim', without: ['waitsFor', 'leaseUntil', 'runnableAt'], says: 'the lease is free', seed: 5 },
  {
    write: 'renew',
    without: ['fence', 'leaseUntil'],
    says: 'the lease is mine',
    covered: 'A lease that ran out is given up by its holder’s own clock, counted from when the renewal was asked for.',
  },
  {
    write: 'settle',
    without: ['fence'],
    says: 'the lease is mine',
    covered: 'The queue no longer holds what somebody else settled, and what is counted has a number above the last.',
  },
  { write: 'settle', without: ['lastSeq', 'epoch'], says: 'it was not counted before', seed: 486 },
  {
    write: 'settle',
    without: ['queue'],
    says: 'the queue holds it',
    covered: 'Only the holder of the lease settles, one turn after the other.',
  },
  { write: 'settle', without: ['depth'], says: 'nothing came meanwhile', seed: 24 },
  {
    write: 'giveBack',
    without: ['fence', 'depth'],
    says: 'the lease is mine, and nothing came meanwhile',
    covered:
      'Whoever hands over holds the lease by its own clock; a write so late that it does not is the guard’s alone, and no story has one.',
  },
  {
    write: 'settle',
    without: ['removedCount'],
    says: 'who is next in the queue is as it was read',
    covered: 'Whoever claims a session that waits for the wrong agent gives it to the right one.',
  },
  { write: 'release', without: ['leaseUntil', 'fence'], says: 'the lease ran out and was not renewed', seed: 11276 },
  { write: 'empty', without: ['depth', 'leaseUntil'], says: 'the queue is empty and the lease free', seed: 2723 },
  { write: 'empty', without: ['epoch', 'lastSeq'], says: 'it is as it was read', seed: 4126 },
  { write: 'take', without: ['state'], says: 'it has not ended', seed: 93 },
  {
    write: 'take',
    without: ['fence'],
    says: 'nobody with a later lease has it',
    covered: 'Who takes so late can neither settle nor renew, and its own clock stops it; the later holder only begins once more.',
  },
  { write: 'checkpoint', without: ['state'], says: 'it has not ended', seed: 1533 },
  { write: 'checkpoint', without: ['fence'], says: 'nobody with a later lease has it', seed: 928 },
  {
    write: 'checkpoint',
    without: ['checkpoints'],
    says: 'it was not written before',
    covered: 'A mark that stands there twice is seen by the model alone; `journal.test.ts` shows it.',
  },
  { write: 'cancel', without: ['state'], says: 'it has not ended', seed: 2 },
  {
    write: 'withdraw',
    without: ['queue'],
    says: 'the queue holds it',
    covered:
      'Another withdrawal is told by `withdrawn`; and to be settled meanwhile it must have been the first, by a write so late that no story has one.',
  },
  {
    write: 'withdraw',
    without: ['fence', 'leaseUntil', 'depth', 'removedCount'],
    says: 'nobody has begun on it, and what the session waits for is as it was read',
    covered: 'Seldom in a story: `cancel.test.ts` here has one that fails without it.',
  },
  { write: 'commit', without: ['state'], says: 'it has not ended', seed: 211 },
  { write: 'commit', without: ['fence'], says: 'nobody with a later lease has it', seed: 2795 },
  { write: 'share', without: ['state'], says: 'it has not ended', waits: COLLECT, seed: 528 },
  {
    write: 'share',
    without: ['fence'],
    says: 'nobody with a later lease has it',
    waits: COLLECT,
    covered: 'Whoever has a later lease finds the same end of the same turn, which does not change any more.',
  },
  { write: 'leave', without: ['queue'], says: 'the queue holds it', waits: COLLECT, seed: 93 },
  {
    write: 'leave',
    without: ['fence'],
    says: 'the lease is mine',
    waits: COLLECT,
    covered: 'What has ended may leave whoever takes it out; that it is taken out once is for “the queue holds it”.',
  },
  {
    write: 'claimCompaction',
    without: ['compactUntil'],
    says: 'nobody makes a summary of it',
    waits: COMPACTS,
    covered: 'Of two who do, the one who came first hangs nothing into the tree; only a model was asked for nothing.',
  },
  {
    write: 'claimCompaction',
    without: ['epoch'],
    says: 'it is still the same conversation',
    waits: COMPACTS,
    covered: 'What is claimed is read from what the claim gives, and the epoch of that is asked for when it is hung.',
  },
  { write: 'publish', without: ['compactFence'], says: 'nobody with a later claim makes one', waits: COMPACTS, seed: 12834 },
  { write: 'publish', without: ['epoch'], says: 'it is still the same conversation', waits: COMPACTS, seed: 39 },
  { write: 'leaveOut', without: ['state', 'fence', 'attempts'], says: 'nobody has begun it', waits: DROP_OLD, seed: 292 },
];

/** Returns a sabotage that removes the guard. */
export function without({ write, without: fields }: Guard): NonNullable<Watching['sabotage']> {
  return (given) => {
    if (!writes[write](given)) return given.filter;
    if (write === 'accept') return { unique: [] };
    return Object.fromEntries(Object.entries(given.filter).filter(([field]) => !fields.includes(field)));
  };
}
