import type { Handler } from '@switchyard/bus';
import { AGENTS_BUCKET, AgentConfig, contracts, type TokenStanding } from '@switchyard/contracts';
import type { Host } from '@switchyard/service-kit';
import { resolveSecrets } from '../services/secret-resolver.ts';
import { serveFiles } from './files-double.ts';
import { serveOutside } from './outside-double.ts';
import { serveTurns } from './turns-double.ts';

/** A message that a service queued for a chat. */
export type QueuedDelivery = Parameters<Handler<'deliver.send'>>[0];

interface AgentOptions {
  tenant?: string;
  suspended?: boolean;
  config?: object;
}

/** Publishes agents as the registry does on creation or change. */
async function publishAgents(host: Host, agents: Readonly<Record<string, AgentOptions>>): Promise<void> {
  const bucket = await host.bus.kv(AGENTS_BUCKET);
  for (const [agentId, { tenant = 'default', suspended = false, config = {} }] of Object.entries(agents)) {
    const projection = { agentId, tenant, suspended, isDefault: agentId === 'default', config: AgentConfig.parse(config) };
    await bucket.put(`${tenant}.${agentId}`, Buffer.from(JSON.stringify(projection)));
  }
}

interface SecretsOptions {
  values?: Readonly<Record<string, string>>;
  /** How the token of a stored principal stands; by default it is current. */
  standing?: () => TokenStanding;
}

/** Serves secrets and the standing of tokens. */
async function serveSecrets(host: Host, { values = {}, standing = () => ({ state: 'current' }) }: SecretsOptions = {}): Promise<void> {
  await (
    await host.connect('secrets')
  ).serve(
    contracts.secrets,
    {
      'secrets.resolve': resolveSecrets(values),
      'tokens.standing': ({ principals }) => ({ standings: principals.map(standing) }),
    },
    { version: '0.0.0' },
  );
}

/** Accepts deliveries, each key once, and returns them in order. */
async function serveDeliveries(host: Host): Promise<readonly QueuedDelivery[]> {
  const queued: QueuedDelivery[] = [];
  const ids = new Map<string, string>();
  await (
    await host.connect('channels')
  ).serve(
    contracts.channels,
    {
      'deliver.send': (message, { principal: { tenant } }) => {
        const key = `${tenant} ${message.idempotencyKey}`;
        const entryId = ids.get(key) ?? `delivery_${ids.size}`;
        if (!ids.has(key)) queued.push(message);
        ids.set(key, entryId);
        return { entryId };
      },
    },
    { version: '0.0.0' },
  );
  return queued;
}

/** Doubles of the services that a service under test calls, and of the outside. They answer as the contracts say. */
export const doubleOf = {
  turns: serveTurns,
  agents: publishAgents,
  secrets: serveSecrets,
  files: serveFiles,
  deliveries: serveDeliveries,
  outside: serveOutside,
};
