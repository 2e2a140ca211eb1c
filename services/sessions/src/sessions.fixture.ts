import {
  AGENTS_BUCKET,
  AgentConfig,
  secrets,
  subjects,
  TurnFrame,
  type ConfigurationPatch,
  type Principal,
  type Result,
} from '@switchyard/contracts';
import type { Bus, Handler, MemoryHub } from '@switchyard/bus';
import type { Host } from '@switchyard/service-kit';
import type { Logger } from '@switchyard/telemetry';
import { testService, type TestService } from '@switchyard/testkit';
import { defineSessions, type SessionsTiming } from './service.ts';

interface Options {
  as?: Principal;
  data?: string;
  settings?: ConfigurationPatch;
  /** Reply of the secrets service; by default no secret is set. */
  secret?: Handler<'secrets.resolve'>;
  /** Configurations of agents, including the default one. */
  agents?: Record<string, object>;
  suspended?: readonly string[];
  env?: Readonly<Record<string, string>>;
  timing?: SessionsTiming;
  hub?: MemoryHub;
  log?: Logger;
}

interface AgentState {
  suspended?: boolean;
  tenant?: string;
  config?: object;
}

/** Publishes an agent as the registry does on creation or change. */
export async function putAgent(
  bus: Bus,
  agentId: string,
  { suspended = false, tenant = 'default', config = {} }: AgentState,
): Promise<void> {
  const projection = { agentId, tenant, suspended, isDefault: agentId === 'default', config: AgentConfig.parse(config) };
  await (await bus.kv(AGENTS_BUCKET)).put(`${tenant}.${agentId}`, Buffer.from(JSON.stringify(projection)));
}

/** Removes an agent as the registry does. Resolves when all watchers have seen it. */
export async function removeAgent(bus: Bus, agentId: string): Promise<void> {
  await (await bus.kv(AGENTS_BUCKET)).remove(`default.${agentId}`);
  await bus.flush();
}

/** Starts the sessions service with a registry and a secrets service controlled by the test. */
export async function testSessions(options: Options = {}): Promise<TestService> {
  const { secret = () => ({ value: null }), agents = {}, suspended = [], timing, ...rest } = options;
  return testService(defineSessions(timing), {
    ...rest,
    async prepare(host: Host) {
      await (await host.connect('secrets')).serve(secrets, { 'secrets.resolve': secret }, { version: '0.0.0' });
      for (const [agentId, config] of Object.entries({ default: {}, ...agents })) {
        await putAgent(host.bus, agentId, { config, suspended: suspended.includes(agentId) });
      }
    },
  });
}

/** Subscribes to a turn. `until` resolves with all frames once one of a type has arrived. */
export function listen(bus: Bus, turnId: string): { frames: TurnFrame[]; until(type: TurnFrame['type']): Promise<TurnFrame[]> } {
  const frames: TurnFrame[] = [];
  const waiting = new Set<() => void>();
  bus.subscribe(subjects.turn(turnId), (message) => {
    frames.push(TurnFrame.parse(JSON.parse(Buffer.from(message.data).toString())));
    for (const look of waiting) look();
  });
  return {
    frames,
    until(type) {
      const { promise, resolve } = Promise.withResolvers<TurnFrame[]>();
      const look = (): void => {
        if (frames.some((frame) => frame.type === type)) resolve(frames);
      };
      waiting.add(look);
      look();
      return promise;
    },
  };
}

/** Resolves when a turn has ended, even if it ended before. */
export async function ended(bus: Bus, turnId: string): Promise<Result<'turns.resume'>> {
  const receivedMessage = listen(bus, turnId);
  const now = await bus.call('turns.resume', { turnId });
  if (now.state !== 'queued' && now.state !== 'running') return now;
  await Promise.race([receivedMessage.until('done'), receivedMessage.until('error')]);
  return bus.call('turns.resume', { turnId });
}

/** Returns a valid turn id that is readable in failures. */
export function getTurnId(name: string): string {
  return `turn_${name.padEnd(22, '0')}`;
}
