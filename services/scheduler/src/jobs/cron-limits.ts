import { AgentConfig, type Sections } from '@switchyard/contracts';
import type { Agent } from '@switchyard/service-kit';

export type CronLimits = Sections['scheduler']['cron'];
type AgentLimits = AgentConfig['scheduler']['cron'];

let defaults: AgentLimits | undefined;

/**
 * Returns the limits of the jobs of an agent. A setting of the agent that differs from its default wins over `scheduler.cron`, because the
 * configuration of an agent always has all settings.
 */
export function getCronLimits(agent: Pick<Agent, 'config'> | undefined, general: CronLimits): CronLimits {
  if (!agent) return general;
  const own = agent.config.scheduler.cron;
  const standard = (defaults ??= AgentConfig.parse({}).scheduler.cron);
  const changed = Object.entries(own).filter(([name, value]) => value !== standard[name as keyof AgentLimits]);
  return { ...general, ...Object.fromEntries(changed) };
}
