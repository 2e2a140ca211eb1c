import { setTimeout as sleep } from 'node:timers/promises';
import type { Running } from './embedded.ts';
import { sendRequest, call, type Answer } from './exchange.ts';

const POLL_MS = 50;

/** Starts a product with counted tools of the development models, and agents that use them. */
export const COUNTING = {
  env: { SWITCHYARD_DEV_TOOLS: 'on' },
  config: { agents: { default: {}, tools: { model: 'dev/tools' }, scripted: { model: 'dev/scripted' } } },
};

export interface Counted {
  executions: number;
  keys: { key: string; executions: number }[];
}

/** The number of executions of a tool name, read by a separate turn. */
export async function counted(product: Running, name: string): Promise<Counted> {
  const request = { agentId: 'tools', message: `dev_count {"name":"${name}"}`, sessionKey: { channelId: `count-${name}` } };
  const { response } = await call<{ response: string }>(product, 'agent.execute', request);
  return JSON.parse(response.slice(response.indexOf('{'))) as Counted;
}

/** A turn that calls one slow tool. Its key makes a retry the same turn. */
export function toolTurn(tool: string, name: string): Record<string, unknown> {
  const message = `${tool} {"name":"${name}","waitMs":4000}`;
  return { agentId: 'tools', message, sessionKey: { channelId: name }, idempotencyKey: name };
}

/** Retries until there is an answer, because the runner is killed and restarted. */
export async function getAnswer(product: Running, params: Record<string, unknown>): Promise<Answer> {
  for (;;) {
    const answer = await sendRequest(product, 'agent.execute', params).catch(() => undefined);
    if (answer?.result !== undefined) return answer;
    await sleep(POLL_MS);
  }
}

/** Resolves after the tool was executed and before it returns. */
export async function begun(product: Running, name: string): Promise<void> {
  while ((await counted(product, name)).executions === 0) await sleep(POLL_MS);
}

/** The model's view of the interrupted tool call, and the number of executions. */
export const AFTER_A_KILL = [
  { tool: 'dev_act', name: 'killed-act', reads: /dev_act failed: .*STEP_OUTCOME_UNKNOWN/, executions: 1 },
  { tool: 'dev_look', name: 'killed-look', reads: /dev_look answered: /, executions: 2 },
] as const;
