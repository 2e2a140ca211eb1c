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
  { write: 'enter', without: ['queue'], says: 'the queue does not contain it', seed: 8433 },
  { write: 'enter', without: ['depth'], says: 'the queue is not full, and empty if the turn becomes its head', seed: 153 },
  { write: 'enterWithLease', without: ['depth', 'leaseUntil'], says: 'the queue is empty and the lease free', seed: 16 },
  { write: 'claim', without: ['waitsFor', 'leaseUntil', 'runnableAt'], says: 'the lease is free', seed: 5 },
  {
    write: 'renew',
    without: ['fence', 'leaseUntil'],
    says: 'the lease is still held',
    covered: 'The holder gives up an expired lease by its own clock, counted from the renewal request.',
  },
  {
    write: 'settle',
    without: ['fence'],
    says: 'the lease is still held',
    covered: 'The queue no longer contains a turn dequeued by another replica, and a counted turn has a number above the last.',
  },
  { write: 'settle', without: ['lastSeq', 'epoch'], says: 'it was not counted before', seed: 486 },
  {
    write: 'settle',
    without: ['queue'],
    says: 'the queue contains it',
    covered: 'Only the lease holder dequeues, one turn at a time.',
  },
  { write: 'settle', without: ['depth'], says: 'no turn arrived meanwhile', seed: 24 },
  {
    write: 'giveBack',
    without: ['fence', 'depth'],
    says: 'the lease is still held, and no turn arrived meanwhile',
    covered:
      'A replica that hands over still holds the lease by its own clock. Only a very late write needs the guard, and no scenario has one.',
  },
  {
    write: 'settle',
    without: ['removedCount'],
    says: 'the next entry is as it was read',
    covered: 'A claim for the wrong agent passes the session on to the right one.',
  },
  { write: 'release', without: ['leaseUntil', 'fence'], says: 'the lease expired and was not renewed', seed: 11276 },
  { write: 'empty', without: ['depth', 'leaseUntil'], says: 'the queue is empty and the lease free', seed: 2723 },
  { write: 'empty', without: ['epoch', 'lastSeq'], says: 'the session is unchanged since the read', seed: 4126 },
  { write: 'take', without: ['state'], says: 'it has not ended', seed: 93 },
  {
    write: 'take',
    without: ['fence'],
    says: 'no later lease has taken it',
    covered: 'A late taker can neither dequeue nor renew and is stopped by its own clock; the later holder only starts once more.',
  },
  { write: 'checkpoint', without: ['state'], says: 'it has not ended', seed: 1533 },
  { write: 'checkpoint', without: ['fence'], says: 'no later lease has taken it', seed: 928 },
  {
    write: 'checkpoint',
    without: ['checkpoints'],
    says: 'the checkpoint was not written before',
    covered: 'A duplicated checkpoint affects only the prompt; `checkpoint-log.test.ts` covers it.',
  },
  { write: 'cancel', without: ['state'], says: 'it has not ended', seed: 2 },
  {
    write: 'withdraw',
    without: ['queue'],
    says: 'the queue contains it',
    covered:
      'Another removal is detected by `removedCount`. A concurrent dequeue needs the turn to be the head and a very late write, which no scenario has.',
  },
  {
    write: 'withdraw',
    without: ['fence', 'leaseUntil', 'depth', 'removedCount'],
    says: 'no runner has started it, and the session state is as it was read',
    covered: 'Rare in scenarios: `cancellation.test.ts` has one that fails without it.',
  },
  { write: 'commit', without: ['state'], says: 'it has not ended', seed: 211 },
  { write: 'commit', without: ['fence'], says: 'no later lease has taken it', seed: 2795 },
  { write: 'share', without: ['state'], says: 'it has not ended', waits: COLLECT, seed: 528 },
  {
    write: 'share',
    without: ['fence'],
    says: 'no later lease has taken it',
    waits: COLLECT,
    covered: 'A later lease holder finds the same end of the same turn, which does not change.',
  },
  { write: 'leave', without: ['queue'], says: 'the queue contains it', waits: COLLECT, seed: 93 },
  {
    write: 'leave',
    without: ['fence'],
    says: 'the lease is still held',
    waits: COLLECT,
    covered: 'Any replica may remove a finished turn. The guard “the queue contains it” makes it happen once.',
  },
  {
    write: 'claimCompaction',
    without: ['compactUntil'],
    says: 'no compaction is running',
    waits: COMPACTS,
    covered: 'Of two replicas that do, the first publishes nothing; only a model call is wasted.',
  },
  {
    write: 'claimCompaction',
    without: ['epoch'],
    says: 'it is still the same conversation',
    waits: COMPACTS,
    covered: 'The claim returns the session it applies to, and publishing checks that epoch.',
  },
  { write: 'publish', without: ['compactFence'], says: 'no later compaction lease exists', waits: COMPACTS, seed: 12834 },
  { write: 'publish', without: ['epoch'], says: 'it is still the same conversation', waits: COMPACTS, seed: 39 },
  { write: 'leaveOut', without: ['state', 'fence', 'attempts'], says: 'no runner has started it', waits: DROP_OLD, seed: 292 },
];

/** Returns a sabotage that removes the guard. */
export function without({ write, without: fields }: Guard): NonNullable<Watching['sabotage']> {
  return (options) => {
    if (!writes[write](options)) return options.filter;
    if (write === 'accept') return { unique: [] };
    return Object.fromEntries(Object.entries(options.filter).filter(([field]) => !fields.includes(field)));
  };
}
