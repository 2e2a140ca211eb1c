import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { z } from 'zod';
import { AgentConfig } from '../config/agents.ts';
import { heartbeatMethods } from './heartbeat.ts';

const { params } = heartbeatMethods['heartbeat.update'];
const section = AgentConfig.shape.scheduler.unwrap().shape.heartbeat.unwrap();

function accepts(schema: z.ZodType, value: object): boolean {
  return schema.safeParse(value).success;
}

test('heartbeat.update and its section take the same values within the same bounds', () => {
  const values = [
    { model: 'openai/gpt-5-nano' },
    { intervalMs: 0 },
    { intervalMs: -1 },
    { ackMaxChars: 0 },
    { alertCooldownMs: 0 },
    { alertThreshold: 1 },
    { prompt: '' },
    { staleMs: 1.5 },
    { toolPolicy: { allow: ['memory_search'] } },
    { toolPolicy: { alow: [] } },
  ];
  for (const value of values) assert.equal(accepts(params, { agentId: 'oslo', ...value }), accepts(section, value), JSON.stringify(value));
  assert.deepEqual(
    Object.keys(section.shape).filter((key) => !(key in params.shape)),
    ['target'],
  );
});

test('a heartbeat has no tool policy of its own unless one is set', () => {
  assert.deepEqual(section.parse({}), {});
  assert.deepEqual(section.parse({ toolPolicy: {} }), { toolPolicy: { profile: 'full', allow: [], deny: [] } });
});
