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
import type { Bus, Handler } from '@switchyard/bus';
import type { Host } from '@switchyard/service-kit';
import type { Logger } from '@switchyard/telemetry';
import { testService, type TestService } from '@switchyard/testkit';
import { defineSessions, type SessionsTiming } from './service.ts';

interface Options {
  as?: Principal;
  data?: string;
  settings?: ConfigurationPatch;
  /** What the secrets service answers; nothing is set unless said. */
  secret?: Handler<'secrets.resolve'>;
  /** Configurations of agents beside the default one, and of it. */
  agents?: Record<string, object>;
  suspended?: readonly string[];
  env?: Readonly<Record<string, string>>;
  timing?: SessionsTiming;
  log?: Logger;
}

interface AgentState {
  suspended?: boolean;
  tenant?: string;
  config?: object;
}

/** What the registry does when an agent is created or changed. */
export async function putAgent(
  bus: Bus,
  agentId: string,
  { suspended = false, tenant = 'default', config = {} }: AgentState,
): Promise<void> {
  const projection = { agentId, tenant, suspended, isDefault: agentId === 'default', config: AgentConfig.parse(config) };
  await (await bus.kv(AGENTS_BUCKET)).put(`${tenant}.${agentId}`, Buffer.from(JSON.stringify(projection)));
}

/** What the registry does when an agent is deleted. Resolves when every watcher knows. */
export async function removeAgent(bus: Bus, agentId: string): Promise<void> {
  await (await bus.kv(AGENTS_BUCKET)).remove(`default.${agentId}`);
  await bus.flush();
}

/** The sessions service, with a registry and a secrets service beside it that say what the test wants. */
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

/** Listens to a turn; `until` resolves with all frames so far once one of a type came. */
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

/** Resolves when a turn has ended, whenever that was. */
export async function ended(bus: Bus, turnId: string): Promise<Result<'turns.resume'>> {
  const heard = listen(bus, turnId);
  const now = await bus.call('turns.resume', { turnId });
  if (now.state !== 'queued' && now.state !== 'running') return now;
  await Promise.race([heard.until('done'), heard.until('error')]);
  return bus.call('turns.resume', { turnId });
}

/** A turn id as routes mint them, readable in a failure. */
export function turnIdOf(name: string): string {
  return `turn_${name.padEnd(22, '0')}`;
}
