import {
  bucketKey,
  OFFERED_TOOLS_BUCKET,
  tools as contract,
  type ConfigurationPatch,
  type OfferedTool,
  type ToolEffect,
} from '@switchyard/contracts';
import { testSessions } from '../sessions.fixture.ts';

export const PAGE_TOOL = 'mcp__web--page';
export const TRANSFER_TOOL = 'mcp__bank--transfer';

const offer = (name: string, effect: ToolEffect): OfferedTool => ({
  name,
  group: 'mcp',
  provider: name.slice('mcp__'.length, name.indexOf('--')),
  description: 'A tool of a server that this test plays.',
  parameters: { type: 'object' },
  readOnly: effect === 'read',
  effect,
  idempotent: false,
});

interface Options {
  /** Text of the page that the agent reads. */
  page: string;
  settings?: ConfigurationPatch;
  /** Configuration of the agent. */
  agent?: object;
}

/** Sessions whose agent `scripted` reads a page through an MCP server and may call a destructive tool of another one. */
export async function startWithPage({ page, settings = {}, agent = {} }: Options) {
  const app = await testSessions({
    agents: { scripted: { model: 'dev/scripted', ...agent }, counter: { model: 'dev/tools' } },
    env: { SWITCHYARD_DEV_TOOLS: 'on' },
    settings,
    timing: { pollMs: 20 },
  });
  const calls: string[] = [];
  const service = await app.host.connect('tools');
  await service.serve(
    contract,
    {
      'tools.use': ({ name }) => {
        calls.push(name);
        return { result: page, failed: false };
      },
    },
    { version: '0.0.0' },
  );
  const tools = [offer(PAGE_TOOL, 'read'), offer(TRANSFER_TOOL, 'destructive')];
  const offered = Buffer.from(JSON.stringify({ tenant: 'default', agentId: 'scripted', tools }));
  await (await service.kv(OFFERED_TOOLS_BUCKET)).put(bucketKey('default', 'scripted'), offered);
  await app.bus.flush();
  return {
    app,
    /** Names of the offered tools that were executed, in order. */
    calls,
    /** Returns how often a development tool was executed under a name. */
    async count(name: string): Promise<number> {
      const message = `dev_count ${JSON.stringify({ name })}`;
      const sessionKey = { userId: 'test', channelId: 'counter' };
      const { response } = await app.bus.call('agent.execute', { agentId: 'counter', message, sessionKey });
      return Number(/"executions":(\d+)/.exec(response)?.[1]);
    },
    [Symbol.asyncDispose]: () => app[Symbol.asyncDispose](),
  };
}

/** A script in which the model reads the page first and then makes further calls. */
export function readThen(...calls: { name: string; input: object }[]): string {
  return JSON.stringify([{ tool: { name: PAGE_TOOL, input: {} } }, ...calls.map((tool) => ({ tool })), { text: 'went on' }]);
}
