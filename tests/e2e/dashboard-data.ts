import { setTimeout as sleep } from 'node:timers/promises';
import { call } from './exchange.ts';
import type { Running, StartOptions } from './embedded.ts';

/** A product whose agent `scripted` waits for approval, and whose agents may start sub-agents. */
export const DATA_OPTIONS: StartOptions = {
  env: { SWITCHYARD_DEV_TOOLS: 'on' },
  config: {
    agents: {
      default: {},
      slow: { provider: 'dev', model: 'slow' },
      scripted: { model: 'dev/scripted', skills: { toolPolicy: { profile: 'full' } } },
    },
    approvals: { enabled: true },
  },
};

/** Calls that run at the same time. */
const CONCURRENCY = 16;
const POLL_MS = 100;

/** Creates `count` records of each kind that an operator or an agent creates; `prefix` makes their names unique. */
export async function createData(product: Running, prefix: string, count: number): Promise<void> {
  const names = Array.from({ length: count }, (_, n) => `${prefix}-${n}`);
  await forEach(names, async (name) => {
    const { sessionKey: parentKey } = await call<{ sessionKey: string }>(product, 'agent.execute', {
      message: `hello from ${name}`,
      sessionKey: { channelId: name },
    });
    await call(product, 'memory.store', { content: `${name} prefers tea.` });
    await call(product, 'skills.create', { name, content: `---\nname: ${name}\ndescription: Does ${name}.\n---\nDo it.\n` });
    await call(product, 'cron.add', { name, message: 'hello', schedule: { kind: 'cron', expr: '0 22 * * *' } });
    const { graphId } = await call<{ graphId: string }>(product, 'graph.define', { label: name, nodes: [{ node_id: 'a', task: 'hello' }] });
    await call(product, 'graph.save', { graphId, name });
    await call(product, 'tokens.create', { id: name, scopes: ['rpc'] });
    await call(product, 'session.spawn', { parentKey, task: `Compare ${name}.` });
    await call(product, 'agent.start', {
      agentId: 'scripted',
      sessionKey: { channelId: `${name}-approval` },
      message: JSON.stringify([{ tool: { name: 'dev_destroy', input: { name } } }, { text: 'done' }]),
    });
  });
  // Each change has the hash of the one before it as its base.
  for (const [n, name] of names.entries())
    await call(product, 'config.set', { section: 'gateway', key: 'maxBatchSize', value: 10 + (n % 40), message: name });
}

/** Waits until more than `count` tool calls wait for a decision. */
export async function waitForApprovals(product: Running, count: number): Promise<void> {
  const readTotal = async (): Promise<number> => (await call<{ total: number }>(product, 'admin.approval.pending')).total;
  while ((await readTotal()) <= count) await sleep(POLL_MS);
}

/** Runs the work for all items, some at a time. */
export async function forEach<T>(items: readonly T[], work: (item: T, index: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < items.length) {
      const index = next++;
      await work(items[index] as T, index);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
}
