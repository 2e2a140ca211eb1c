import type { Agent } from '@switchyard/service-kit';
import type { AgentConfig, Sections } from '@switchyard/contracts';

type OwnSettings = AgentConfig['scheduler']['heartbeat'];
type GeneralSettings = Sections['scheduler']['heartbeat'];

/** The settings of an agent's heartbeat, with the defaults of `scheduler.heartbeat`. */
export type HeartbeatSettings = Omit<OwnSettings, keyof GeneralSettings> & GeneralSettings;

/** Returns the settings that apply to an agent. Its own settings win. */
export function getHeartbeatSettings({ config }: Pick<Agent, 'config'>, general: GeneralSettings): HeartbeatSettings {
  const own = config.scheduler.heartbeat;
  return {
    ...own,
    enabled: own.enabled ?? general.enabled,
    intervalMs: own.intervalMs ?? general.intervalMs,
    showOk: own.showOk ?? general.showOk,
    showAlerts: own.showAlerts ?? general.showAlerts,
    alertThreshold: own.alertThreshold ?? general.alertThreshold,
    alertCooldownMs: own.alertCooldownMs ?? general.alertCooldownMs,
    staleMs: own.staleMs ?? general.staleMs,
  };
}

/** Returns the interval of the scheduled beats; 0 if the agent has none. */
export function getIntervalMs(agent: Pick<Agent, 'config' | 'suspended'>, general: GeneralSettings): number {
  const { enabled, intervalMs } = getHeartbeatSettings(agent, general);
  return enabled && !agent.suspended ? intervalMs : 0;
}
