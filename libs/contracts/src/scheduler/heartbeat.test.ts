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
  const values: [value: object, accepted: boolean][] = [
    [{ model: 'openai/gpt-5-nano' }, true],
    [{ intervalMs: 0 }, true],
    [{ intervalMs: -1 }, false],
    [{ ackMaxChars: 0 }, false],
    [{ alertCooldownMs: 0 }, false],
    [{ alertThreshold: 1 }, true],
    [{ prompt: '' }, false],
    [{ staleMs: 1.5 }, false],
    [{ toolPolicy: { allow: ['memory_search'] } }, true],
    [{ toolPolicy: { alow: [] } }, false],
  ];
  for (const [value, accepted] of values) {
    assert.deepEqual(
      [accepts(params, { agentId: 'oslo', ...value }), accepts(section, value)],
      [accepted, accepted],
      JSON.stringify(value),
    );
  }
  assert.deepEqual(
    Object.keys(section.shape).filter((key) => !(key in params.shape)),
    ['target'],
  );
});

test('a heartbeat inherits the tool policy unless one is set', () => {
  assert.deepEqual(section.parse({}), {});
  assert.deepEqual(section.parse({ toolPolicy: {} }), { toolPolicy: { profile: 'full', allow: [], deny: [] } });
});
