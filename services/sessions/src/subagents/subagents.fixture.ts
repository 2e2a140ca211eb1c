import assert from 'node:assert/strict';
import { ServiceError, type ConfigurationPatch, type EventPayload } from '@switchyard/contracts';
import type { TestService } from '@switchyard/testkit';
import { testSessions } from '../sessions.fixture.ts';
import type { RunTiming } from './run-deps.ts';

const toolPolicy = { profile: 'full' };
const AGENTS = {
  scripted: { model: 'dev/scripted', skills: { toolPolicy } },
  tools: { model: 'dev/tools', skills: { toolPolicy } },
  modelled: { provider: 'local', model: 'm' },
};
const env = { SWITCHYARD_DEV_TOOLS: 'on' };

export const script = (...steps: object[]): string => JSON.stringify(steps);
export const answer = (text: string): string => script({ text });
export const FOREVER = script({ wait: 60_000 }, { text: 'never' });
export const PARENT = 'agent:scripted:default:test:parent';

type AgentToAgent = NonNullable<NonNullable<ConfigurationPatch['security']>['agentToAgent']>;

interface Options {
  subagentContext?: AgentToAgent['subagentContext'];
  agentToAgent?: AgentToAgent;
  settings?: ConfigurationPatch;
  timing?: Partial<RunTiming>;
}

/** Starts the service with a session of the agent `scripted` that can request runs. */
export async function startRuns({
  subagentContext = {},
  agentToAgent = {},
  settings = {},
  timing = {},
}: Options = {}): Promise<TestService> {
  const app = await testSessions({
    agents: AGENTS,
    env,
    settings: {
      ...settings,
      daemon: { shutdownTimeoutMs: 100 },
      security: { agentToAgent: { subAgentToolGroups: ['full'], ...agentToAgent, subagentContext } },
    },
    timing: { pollMs: 20, runs: { turnPollMs: 50, queuePollMs: 20, batchMs: 100, ...timing } },
  });
  // The development models are not offered beside a configured provider.
  if (!settings.providers) await app.bus.call('session.send', { key: PARENT, message: answer('hello') });
  return app;
}

export const spawn = (app: TestService, task: string, parentKey = PARENT) => app.bus.call('session.spawn', { parentKey, task });
export const getStatus = (app: TestService, runId: string) => app.bus.call('session.run_status', { run_id: runId });

export const failsWith =
  (code: string, details: object = {}) =>
  (error: unknown) => {
    assert.ok(error instanceof ServiceError, String(error));
    assert.equal(error.code, code, error.message);
    assert.deepEqual({ ...error.details, ...details }, error.details);
    return true;
  };

type Name = Parameters<TestService['nextEvent']>[0];

/** Resolves with the events of a name once there are so many. */
export function collect<N extends Name>(app: TestService, name: N, count: number): Promise<EventPayload<N>[]> {
  const { promise, resolve } = Promise.withResolvers<EventPayload<N>[]>();
  const found: EventPayload<N>[] = [];
  app.bus.on(name, ({ payload }) => {
    found.push(payload);
    if (found.length === count) resolve(found);
  });
  return promise;
}

/** Resolves when the turn of a run has made its session. */
export async function waitForSession(app: TestService, key: string): Promise<void> {
  for (;;) {
    const { sessions } = await app.bus.call('session.list', {});
    if (sessions.some(({ sessionKey }) => sessionKey === key)) return;
    await app.bus.flush();
  }
}
