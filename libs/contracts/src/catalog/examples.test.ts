import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { unserved } from './unserved-methods.ts';
import type { EventSpec, MethodSpec } from '../definition/define.ts';
import { notifications } from './notifications.ts';
import { callables, contracts, publicMethods } from './contracts.ts';
import { parseParams } from '../definition/validation.ts';

/** These schemas accept keys that depend on another key, such as the action or the type of a channel. */
const OPEN: ReadonlySet<string> = new Set(['discord.action', 'slack.action', 'telegram.action', 'whatsapp.action']);

const methods = [...publicMethods.values()].map(({ name, spec }) => [name as string, spec as MethodSpec] as const);
const events = Object.values(contracts).flatMap(({ events }) => Object.entries<EventSpec>(events));

describe('methods', () => {
  for (const [name, spec] of methods) {
    test(`${name}: its examples parse`, () => {
      assert.ok(spec.examples.length > 0, 'there is no example');
      for (const { params, result } of spec.examples) {
        parseParams(spec.params, params);
        assert.deepEqual(parseParams(spec.result, result), result, 'the result holds what is not declared');
      }
    });

    test(`${name}: an example survives JSON`, () => {
      assert.deepEqual(JSON.parse(JSON.stringify(spec.examples)), spec.examples);
    });
  }

  for (const [name, spec] of methods.filter(([name]) => !OPEN.has(name))) {
    test(`${name}: an unknown name is refused`, () => {
      const params = Object(spec.examples[0]?.params);
      for (const stranger of ['nobodyKnowsThis', '__proto__']) {
        const text = JSON.stringify({ ...params, [stranger]: 1 });
        assert.throws(() => parseParams(spec.params, withName(text, stranger)), new RegExp(`${stranger}: expected no such parameter`));
      }
    });
  }

  for (const [name, spec] of methods) {
    test(`${name}: is told in one sentence`, () => {
      assert.match(spec.summary, /^[A-Z0-9][^\n]*\.$/);
    });
  }
});

/** JSON.stringify leaves `__proto__` out when it comes from a literal; a client does not. */
function withName(text: string, name: string): unknown {
  const params: unknown = JSON.parse(text);
  assert.ok(params !== null && typeof params === 'object');
  Object.defineProperty(params, name, { value: 1, enumerable: true });
  return params;
}

describe('operations', () => {
  for (const callable of callables.values()) {
    if (callable.kind !== 'operation') continue;
    test(`${callable.name}: declares a scope and rejects unknown params`, () => {
      assert.ok(callable.callers.length > 0);
      assert.throws(() => parseParams(callable.spec.params, { nobodyKnowsThis: 1 }), /nobodyKnowsThis: expected no such parameter/);
    });
  }
});

describe('events', () => {
  test('there are the fifty of the interface, and the others say that they go beyond it', () => {
    const promised = events.filter(([, spec]) => !spec.beyond).map(([name]) => name);
    assert.deepEqual(promised.sort(), EVENT_NAMES);
  });

  for (const [name, spec] of events) {
    test(`${name}: its example parses and survives JSON`, () => {
      assert.deepEqual(spec.payload.parse(spec.example), JSON.parse(JSON.stringify(spec.example)));
    });
  }
});

describe('notifications', () => {
  for (const [name, spec] of Object.entries(notifications)) {
    test(`${name}: its example parses`, () => {
      assert.deepEqual(spec.params.parse(spec.example), spec.example);
    });
  }
});

test('every unserved method is declared', () => {
  assert.deepEqual(
    [...unserved].filter((name) => !publicMethods.has(name)),
    [],
  );
});

const EVENT_NAMES = [
  'agent:hot_added',
  'agent:hot_removed',
  'approval:requested',
  'approval:resolved',
  'audit:event',
  'channel:deregistered',
  'channel:registered',
  'config:patched',
  'diagnostic:billing_snapshot',
  'diagnostic:channel_health',
  'graph:completed',
  'graph:node_updated',
  'graph:started',
  'message:received',
  'message:sent',
  'message:streaming',
  'model:auth_cooldown',
  'model:catalog_loaded',
  'model:fallback_attempt',
  'model:fallback_exhausted',
  'observability:metrics',
  'observability:reset',
  'observability:token_usage',
  'provider:degraded',
  'provider:recovered',
  'scheduler:heartbeat_alert',
  'scheduler:heartbeat_check',
  'scheduler:heartbeat_delivered',
  'scheduler:job_completed',
  'scheduler:job_started',
  'secret:accessed',
  'secret:modified',
  'security:injection_detected',
  'security:injection_rate_exceeded',
  'security:memory_tainted',
  'security:warn',
  'session:created',
  'session:expired',
  'session:sub_agent_archived',
  'session:sub_agent_completed',
  'session:sub_agent_lifecycle_ended',
  'session:sub_agent_spawn_queued',
  'session:sub_agent_spawn_rejected',
  'session:sub_agent_spawn_started',
  'session:sub_agent_spawned',
  'skill:executed',
  'skill:loaded',
  'skill:registry_reset',
  'skill:rejected',
  'system:error',
];
