import { SERVICES, isBuilt, type Result } from '@switchyard/contracts';
import type { FleetState } from './fleet-state.ts';

type Finding = Result<'obs.fleet.health'>['findings'][number];

/** Services and replicas that a finding names. */
const MAX_NAMES = 5;

/** Returns the present faults of the replicas. */
export function findReplicaFaults({ replicas, configurations, waitingTurns }: FleetState): Finding[] {
  return [
    ...findPresenceFaults(replicas),
    ...findRevisionFaults(configurations),
    ...(waitingTurns === undefined || waitingTurns === 0
      ? []
      : [
          {
            code: 'queued_turns',
            detail: `${waitingTurns} turns wait to be run`,
            count: waitingTurns,
            hint: 'If the number grows, add replicas of sessions or raise concurrency limits.',
          },
        ]),
  ];
}

function findPresenceFaults(replicas: FleetState['replicas']): Finding[] {
  if (replicas === undefined)
    return [{ code: 'bus_unreachable', detail: 'the bus did not list replicas', count: 1, hint: 'Run switchyard doctor.' }];
  const present = new Set(replicas.map(({ service }) => service));
  const missing = SERVICES.filter((service) => isBuilt(service) && !present.has(service));
  const versions = [...new Set(replicas.map(({ version }) => version))].toSorted();
  return [
    ...missing.map((service) => ({
      code: `service_missing:${service}`,
      detail: `no replica of ${service} answers`,
      count: 1,
      hint: `Start ${service}, or read its log.`,
    })),
    ...(versions.length > 1
      ? [{ code: 'mixed_versions', detail: `replicas run ${versions.join(', ')}`, count: versions.length, hint: 'Finish the rollout.' }]
      : []),
  ];
}

/** Replicas that have not applied the newest version of the configuration, and those that refused one. */
function findRevisionFaults(configurations: FleetState['configurations']): Finding[] {
  const newest = Math.max(0, ...configurations.map(({ revision = 0 }) => revision));
  const behind = configurations.filter(({ revision }) => revision !== undefined && revision < newest);
  const refusing = configurations.filter(({ refused }) => refused !== undefined);
  return [
    ...(behind.length === 0
      ? []
      : [
          {
            code: 'revision_lag',
            detail: `${listNames(behind.map(({ replica }) => replica))} have not applied revision ${newest} of the configuration`,
            count: behind.length,
            hint: 'Read the logs of these replicas; restart them if they stay behind.',
          },
        ]),
    ...(refusing.length === 0
      ? []
      : [
          {
            code: 'revision_refused',
            detail: `${listNames(refusing.map(({ replica }) => replica))} refuse a version of the configuration`,
            count: refusing.length,
            hint: 'Read their reasons with config.history, and correct the configuration.',
          },
        ]),
  ];
}

/** Lists the first names, and the number of the others. */
export function listNames(names: readonly string[]): string {
  const shown = names.toSorted().slice(0, MAX_NAMES).join(', ');
  return names.length > MAX_NAMES ? `${shown} and ${names.length - MAX_NAMES} more` : shown;
}
