import { setTimeout as sleep } from 'node:timers/promises';
import type { Running } from './embedded.ts';
import { ask, call, type Answer } from './exchange.ts';

const POLL_MS = 50;

/** A product whose development models have tools that can be counted, and agents that use them. */
export const COUNTING = {
  env: { SWITCHYARD_DEV_TOOLS: 'on' },
  config: { agents: { default: {}, tools: { model: 'dev/tools' }, scripted: { model: 'dev/scripted' } } },
};

export interface Counted {
  executions: number;
  keys: { key: string; executions: number }[];
}

/** How often the tools of a name were executed, as a turn of its own is told. */
export async function counted(product: Running, name: string): Promise<Counted> {
  const asked = { agentId: 'tools', message: `dev_count {"name":"${name}"}`, sessionKey: { channelId: `count-${name}` } };
  const { response } = await call<{ response: string }>(product, 'agent.execute', asked);
  return JSON.parse(response.slice(response.indexOf('{'))) as Counted;
}

/** A turn that calls one tool, which takes a while. Asked again it is the same turn. */
export function toolTurn(tool: string, name: string): Record<string, unknown> {
  const message = `${tool} {"name":"${name}","waitMs":4000}`;
  return { agentId: 'tools', message, sessionKey: { channelId: name }, idempotencyKey: name };
}

/** Asks until there is an answer: whoever would give it is killed and comes back. */
export async function answerOf(product: Running, params: Record<string, unknown>): Promise<Answer> {
  for (;;) {
    const answer = await ask(product, 'agent.execute', params).catch(() => undefined);
    if (answer?.result !== undefined) return answer;
    await sleep(POLL_MS);
  }
}

/** Resolves once the tool has been executed, and before it has answered. */
export async function begun(product: Running, name: string): Promise<void> {
  while ((await counted(product, name)).executions === 0) await sleep(POLL_MS);
}

/** What the model reads of the tool that was under way, and how often that was executed. */
export const AFTER_A_KILL = [
  { tool: 'dev_act', name: 'killed-act', reads: /dev_act failed: .*STEP_OUTCOME_UNKNOWN/, executions: 1 },
  { tool: 'dev_look', name: 'killed-look', reads: /dev_look answered: /, executions: 2 },
] as const;
