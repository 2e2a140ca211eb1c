import { AGENTS_BUCKET, AgentConfig, bucketKey, type ConfigurationPatch, type Principal } from '@switchyard/contracts';
import type { Bus } from '@switchyard/bus';
import type { Host } from '@switchyard/service-kit';
import { principal, testService, type TestService } from '@switchyard/testkit';
import { tools } from './service.ts';

interface ToolsOptions {
  as?: Principal;
  data?: string;
  env?: Readonly<Record<string, string>>;
  settings?: ConfigurationPatch;
  /** Agents beside `default`, with their configuration. */
  agents?: Readonly<Record<string, object>>;
}

/** Starts the tools service with agents that the test publishes. */
export function testTools({ agents = {}, ...options }: ToolsOptions = {}): Promise<TestService> {
  return testService(tools, {
    as: principal({ scopes: ['*'] }),
    ...options,
    async prepare(host: Host) {
      for (const [agentId, config] of Object.entries({ default: {}, ...agents })) await putAgent(host.bus, agentId, config);
    },
  });
}

/** Publishes an agent as the registry does. */
export async function putAgent(bus: Bus, agentId: string, config: object = {}, tenant = 'default'): Promise<void> {
  const projection = { agentId, tenant, suspended: false, isDefault: agentId === 'default', config: AgentConfig.parse(config) };
  await (await bus.kv(AGENTS_BUCKET)).put(bucketKey(tenant, agentId), Buffer.from(JSON.stringify(projection)));
}

/** Returns the text of a SKILL.md. */
export function skillText(
  name: string,
  { body = 'Read the commits since the last tag.', ...fields }: Record<string, unknown> & { body?: string } = {},
): string {
  const head = { name, description: `Does ${name}.`, ...fields };
  const lines = Object.entries(head).map(([key, value]) => `${key}: ${JSON.stringify(value)}`);
  return `---\n${lines.join('\n')}\n---\n${body}\n`;
}
