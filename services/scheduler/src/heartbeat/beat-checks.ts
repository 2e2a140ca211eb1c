import type { OutboxEvent } from '@switchyard/store';
import type { RunSystemChecks } from '../checks/run-checks.ts';
import type { MonitoringSettings } from '../checks/system-check.ts';
import type { BeatDocument } from './beat-document.ts';

const MAX_ALERTS = 50;
const ALERT_CHARS = 1_024;

/** Results of the system checks of one beat. */
export interface BeatChecks {
  /** Alerts that the turn of the beat reads. */
  alerts: string[];
  /** Whether the last beat did not have one of the alerts. */
  hasNews: boolean;
  set: Pick<BeatDocument, 'alertKeys'>;
  emit: OutboxEvent[];
}

export interface BeatCheckDeps {
  runChecks: RunSystemChecks;
  monitoring: () => MonitoringSettings;
  /** The tenant of the installation. Other tenants learn nothing about the machine. */
  ownTenant: () => string;
  now: () => number;
}

/** Runs the system checks in the tick of a beat. */
export async function checkSystem(deps: BeatCheckDeps, tenant: string, { alertKeys: known = [] }: BeatDocument): Promise<BeatChecks> {
  const result = tenant === deps.ownTenant() ? await deps.runChecks(deps.monitoring()) : undefined;
  if (!result) return { alerts: [], hasNews: false, set: { alertKeys: undefined }, emit: [] };
  const alerts = result.alerts.slice(0, MAX_ALERTS);
  const alertKeys = alerts.map(({ key }) => key);
  const payload = { checksRun: result.checksRun, alertsRaised: result.alerts.length, timestamp: deps.now() };
  return {
    alerts: alerts.map(({ text }) => text.slice(0, ALERT_CHARS)),
    hasNews: alertKeys.some((key) => !known.includes(key)),
    set: { alertKeys: alertKeys.length === 0 ? undefined : alertKeys },
    emit: [{ name: 'scheduler:heartbeat_check', payload }],
  };
}
