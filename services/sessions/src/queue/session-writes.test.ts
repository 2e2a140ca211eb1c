import type { Collection } from '@switchyard/store';
import { formatEntry, formatWaitsFor, parseEntry } from '../model/queue-entry.ts';
import { sessionCollection, type SessionDocument } from '../model/session-document.ts';
import { testGuards, type GuardedWrite } from '../storage/guarded-writes.fixture.ts';
import { removeMerged } from './queue-removal.ts';
import { claimSession, dequeue, endDebounce, expireLease, releaseLease, renewLease, wakeHead } from './session-queue.ts';

const NOW = 1_000_000;
const LEASE_MS = 10_000;
const FENCE = 5;
const tenant = 'default';
const key = 'default:test:gateway';
const [head, next, late] = ['turn_a', 'turn_b', 'turn_c'].map((turnId) =>
  formatEntry({ turnId, agentId: 'default', client: 'test', createdAt: NOW }),
) as [string, string, string];

/** A session whose lease is held, with one turn. */
const held: SessionDocument = {
  key,
  agentId: 'default',
  userId: 'test',
  channelId: 'gateway',
  kind: 'dm',
  createdBy: 'test',
  metadata: {},
  epoch: 'e',
  queue: [head],
  depth: 1,
  owner: 'one',
  leaseUntil: NOW + LEASE_MS / 2,
  fence: FENCE,
  messageCount: 0,
  inputTokens: 0,
  outputTokens: 0,
  costUsd: 0,
  lastSteps: 0,
  lastSeq: 1,
  createdAt: NOW,
  updatedAt: NOW,
};
const followed: SessionDocument = { ...held, queue: [head, next], depth: 2 };
const empty: SessionDocument = { ...held, queue: [], depth: 0 };
const waitsFor = formatWaitsFor(tenant, parseEntry(head));
const waiting: SessionDocument = { ...held, leaseUntil: 0, waitsFor, runnableAt: NOW };

/** Another lease, a turn that arrived, and a turn that was removed since the read. */
const fence = { fence: FENCE + 1 };
const arrived = { queue: [head, late], depth: 2 };
const removedCount = { removedCount: 1 };
const isRemoved = { queue: [late] };

const request = { owner: 'two', now: NOW, leaseMs: LEASE_MS };
const totals = { seq: 2, epoch: 'e', messages: 2, chars: 4, extraChars: 0, steps: 1, input: 1, output: 1, costUsd: 0 };
const ended = { tenant, entry: head, totals: undefined, keepLease: false, now: NOW + 1 };
const gone = { epoch: 'e', sessionKey: key, at: NOW };

const writes: GuardedWrite<SessionDocument>[] = [
  {
    name: 'claim',
    document: waiting,
    write: (sessions) => claimSession({ system: () => sessions } as unknown as Collection<SessionDocument>, waitsFor, request),
    violations: { waitsFor: { waitsFor: 'other' }, leaseUntil: { leaseUntil: NOW + 1 }, runnableAt: { runnableAt: NOW + LEASE_MS } },
  },
  {
    name: 'end of the debounce window',
    document: { ...waiting, runnableAt: NOW + LEASE_MS },
    write: (sessions) => endDebounce(sessions, key, NOW),
    violations: { leaseUntil: { leaseUntil: NOW + LEASE_MS }, runnableAt: { runnableAt: NOW - 1 } },
  },
  {
    name: 'renewal',
    document: held,
    write: (sessions) => renewLease(sessions, { key, fence: FENCE }, request),
    violations: { fence, leaseUntil: { leaseUntil: 0 } },
  },
  {
    name: 'renewal that arrives after a later one',
    document: held,
    write: (sessions) => renewLease(sessions, { key, fence: FENCE }, request),
    violations: { fence, leaseUntil: { leaseUntil: NOW + 2 * LEASE_MS } },
  },
  {
    name: 'dequeue of the only turn',
    document: held,
    write: (sessions) => dequeue(sessions, { ...ended, session: held }),
    violations: { fence, queue: isRemoved, depth: arrived },
  },
  {
    name: 'dequeue of a counted turn',
    document: held,
    write: (sessions) => dequeue(sessions, { ...ended, session: held, totals }),
    violations: { fence, queue: isRemoved, depth: arrived, epoch: { epoch: 'later' }, lastSeq: { lastSeq: 2 } },
  },
  {
    name: 'dequeue before another turn',
    document: followed,
    write: (sessions) => dequeue(sessions, { ...ended, session: followed, totals }),
    violations: {
      fence,
      queue: { queue: [next, late] },
      depth: { depth: 1 },
      removedCount,
      epoch: { epoch: 'later' },
      lastSeq: { lastSeq: 2 },
    },
  },
  {
    name: 'dequeue of a reset',
    document: held,
    write: (sessions) => dequeue(sessions, { ...ended, session: held, effect: { set: { epoch: 'new' }, emit: [], gone } }),
    violations: { fence, queue: isRemoved, depth: arrived, epoch: { epoch: 'later' } },
  },
  {
    name: 'release of an empty session',
    document: empty,
    write: (sessions) => releaseLease(sessions, { tenant, session: empty, begun: false }),
    violations: { fence, depth: arrived },
  },
  {
    name: 'release before a turn',
    document: followed,
    write: (sessions) => releaseLease(sessions, { tenant, session: followed, begun: true }),
    violations: { fence, depth: { depth: 1 }, removedCount },
  },
  {
    name: 'release of a parked turn',
    document: held,
    write: (sessions) => releaseLease(sessions, { tenant, session: held, begun: true, parkUntil: NOW }),
    violations: { fence, depth: { depth: 0 }, removedCount },
  },
  {
    name: 'wake of a parked turn',
    document: waiting,
    write: (sessions) => wakeHead(sessions, waiting, NOW + 1),
    violations: { fence, leaseUntil: { leaseUntil: NOW }, queue: isRemoved },
  },
  {
    name: 'return of an expired lease',
    document: held,
    write: (sessions) => expireLease(sessions, { tenant, session: held }),
    violations: { fence, leaseUntil: { leaseUntil: NOW + LEASE_MS }, depth: arrived, removedCount },
  },
  {
    name: 'removal of a merged turn',
    document: followed,
    write: (sessions) => removeMerged(sessions, { key, fence: FENCE }, next),
    violations: { fence, queue: arrived },
  },
];

testGuards(async (store) => (await store.open({ sessions: sessionCollection })).sessions, 'key', writes);
