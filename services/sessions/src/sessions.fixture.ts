import { AGENTS_BUCKET, AgentConfig, secrets, subjects, TurnFrame, type ConfigurationPatch, type Principal } from '@switchyard/contracts';
import type { Bus, Handler } from '@switchyard/bus';
import type { Host } from '@switchyard/service-kit';
import { testService, type TestService } from '@switchyard/testkit';
import { sessions } from './service.ts';

interface Options {
  as?: Principal;
  data?: string;
  settings?: ConfigurationPatch;
  /** What the secrets service answers; nothing is set unless said. */
  secret?: Handler<'secrets.resolve'>;
  /** Configurations of agents beside the default one, and of it. */
  agents?: Record<string, object>;
  suspended?: readonly string[];
}

/** The sessions service, with a registry and a secrets service beside it that say what the test wants. */
export async function testSessions(options: Options = {}): Promise<TestService> {
  const { secret = () => ({ value: null }), agents = {}, suspended = [], ...rest } = options;
  return testService(sessions, {
    ...rest,
    async prepare(host: Host) {
      await (await host.connect('secrets')).serve(secrets, { 'secrets.resolve': secret }, { version: '0.0.0' });
      const bucket = await host.bus.kv(AGENTS_BUCKET);
      for (const [agentId, config] of Object.entries({ default: {}, ...agents })) {
        const projection = {
          agentId,
          tenant: 'default',
          suspended: suspended.includes(agentId),
          isDefault: agentId === 'default',
          config: AgentConfig.parse(config),
        };
        await bucket.put(`default.${agentId}`, Buffer.from(JSON.stringify(projection)));
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

/** A turn id as doors mint them, readable in a failure. */
export function turnIdOf(name: string): string {
  return `turn_${name.padEnd(22, '0')}`;
}
