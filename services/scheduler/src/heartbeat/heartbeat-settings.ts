import type { Agent } from '@switchyard/service-kit';
import type { AgentConfig, Sections } from '@switchyard/contracts';

type OwnSettings = AgentConfig['scheduler']['heartbeat'];
type GeneralSettings = Sections['scheduler']['heartbeat'];

/** The settings of an agent's heartbeat, with the defaults of `scheduler.heartbeat`. */
export type HeartbeatSettings = Omit<OwnSettings, keyof GeneralSettings> & GeneralSettings;

/** Returns the settings that apply to an agent. Its own settings win. */
export function getHeartbeatSettings({ config }: Pick<Agent, 'config'>, general: GeneralSettings): HeartbeatSettings {
  const own = Object.entries(config.scheduler.heartbeat).filter(([, value]) => value !== undefined);
  return { ...general, ...Object.fromEntries(own) };
}

/** Returns the interval of the scheduled beats; 0 if the agent has none. */
export function getIntervalMs(agent: Pick<Agent, 'config' | 'suspended'>, general: GeneralSettings): number {
  const { enabled, intervalMs } = getHeartbeatSettings(agent, general);
  return enabled && !agent.suspended ? intervalMs : 0;
}
