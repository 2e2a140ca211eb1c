import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SERVICES, isBuilt, type Replica } from '@switchyard/contracts';
import type { ReplicaState } from '@switchyard/service-kit';
import { listFindings, type FindingSources } from './fleet-findings.ts';
import { createFleetTally } from './session-tally.ts';

const NOW = Date.UTC(2026, 10, 28, 12);
const MINUTE_MS = 60_000;

/** A fleet in which every service has one replica that started long ago. */
function createFleet({ startedAt = NOW - 86_400_000, service }: { startedAt?: number; service?: string } = {}): Replica[] {
  return SERVICES.filter((name) => isBuilt(name)).map((name) => ({
    service: name,
    replica: `${name}-1`,
    version: '0.1.0',
    startedAt: name === service ? startedAt : NOW - 86_400_000,
    pid: 1,
    host: 'here',
  }));
}

function createSources({
  replicas = createFleet(),
  configurations = [],
  waitingTurns = 0,
  firstBadMinute,
}: SourceFields = {}): FindingSources {
  return {
    facts: { ...createFleetTally().build(), firstBadMinute },
    diagnostics: [],
    state: { replicas, configurations, waitingTurns },
  };
}

interface SourceFields extends Partial<FindingSources['state']> {
  firstBadMinute?: number | undefined;
}

function createState(replica: string, fields: Partial<ReplicaState>): ReplicaState {
  return { replica, revision: 7, refused: undefined, process: undefined, ready: true, ...fields };
}

const describe = (sources: FindingSources): string[] =>
  listFindings(sources).map(({ code, count, detail }) => `${code} ${count}: ${detail}`);

test('finds nothing in a fleet without faults', () => {
  const configurations = [createState('sessions.a', {}), createState('gateway.b', {}), createState('media.c', { revision: undefined })];
  assert.deepEqual(describe(createSources({ configurations })), []);
});

test('finds replicas that have not applied the newest configuration or refuse it', () => {
  const refused = { revision: 7, reason: 'no such model' };
  const configurations = [
    createState('sessions.a', {}),
    createState('gateway.b', { revision: 6, refused }),
    createState('media.c', { revision: 5 }),
  ];
  assert.deepEqual(describe(createSources({ configurations })), [
    'revision_lag 2: gateway.b, media.c have not applied revision 7 of the configuration',
    'revision_refused 1: gateway.b refuse a version of the configuration',
  ]);
});

test('finds turns that wait, but not while sessions does not answer', () => {
  assert.deepEqual(describe(createSources({ waitingTurns: 40 })), ['queued_turns 40: 40 turns wait to be run']);
  assert.deepEqual(describe(createSources({ waitingTurns: undefined })), []);
});

test('finds replicas that started shortly before turns ended badly', () => {
  const started = (startedAt: number): string[] =>
    describe(createSources({ replicas: createFleet({ service: 'sessions', startedAt }), firstBadMinute: NOW }));
  const finding = 'recent_start 1: turns end badly since 2026-11-28T12:00:00.000Z; shortly before, sessions 0.1.0 started';
  assert.deepEqual(started(NOW - 5 * MINUTE_MS), [finding]);
  assert.deepEqual(started(NOW - 60 * MINUTE_MS), [], 'long before');
  assert.deepEqual(started(NOW + 5 * MINUTE_MS), [], 'afterwards');
});
