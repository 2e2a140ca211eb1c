import type { Result } from '@switchyard/contracts';
import type { DiagnosticDocument } from '../documents/collections.ts';
import type { FleetState } from './fleet-state.ts';
import { findReplicaFaults, listNames } from './replica-findings.ts';
import type { FleetFacts } from './session-tally.ts';
import { sortCounts } from './session-tally.ts';

type Report = Result<'obs.fleet.health'>;
type Finding = Report['findings'][number];
type RootCause = NonNullable<Report['likelyRootCause']>;

const MAX_FINDINGS = 8;
/** Share of degraded sessions that counts as a spike. */
const HIGH_DEGRADED_RATE = 0.5;
/** Changes this long before the first bad minute may have caused it. */
const CHANGE_WINDOW_MS = 30 * 60_000;

export interface FindingSources {
  facts: FleetFacts;
  /** Diagnostic events of the window, oldest first. */
  diagnostics: readonly DiagnosticDocument[];
  state: FleetState;
}

/** Returns the most frequent findings. */
export function listFindings(sources: FindingSources): Finding[] {
  const findings = [
    ...findSignals(sources),
    ...findChanges(sources),
    ...findStarts(sources),
    ...findReplicaFaults(sources.state),
    ...findFailureReasons(sources),
    ...findDegradation(sources),
  ];
  return findings.toSorted((a, b) => b.count - a.count || (a.code < b.code ? -1 : 1)).slice(0, MAX_FINDINGS);
}

function findSignals({ diagnostics }: FindingSources): Finding[] {
  const signals = new Map<string, number>();
  for (const { category, data } of diagnostics) {
    if (category === 'health_signal') add(signals, `health_signal:${readSource(data)}`);
    else if (category === 'model_health' || category === 'config_posture') add(signals, category);
  }
  const hint = 'Read obs.diagnostics with this category.';
  return sortCounts(signals).map(([code, count]) => ({ code, detail: `${count} events in the window`, count, hint }));
}

/** The service that reported an error. */
function readSource({ source }: Record<string, unknown>): string {
  return typeof source === 'string' ? source.slice(0, 64) : 'unknown';
}

/** Changes of the configuration and of agents shortly before turns began to end badly. */
function findChanges({ facts: { firstBadMinute }, diagnostics }: FindingSources): Finding[] {
  if (firstBadMinute === undefined) return [];
  const changes = diagnostics.filter(({ category, at }) => category === 'change' && isShortlyBefore(at, firstBadMinute));
  const last = changes.at(-1);
  if (last === undefined) return [];
  const [bad, changed] = [new Date(firstBadMinute).toISOString(), new Date(last.at).toISOString()];
  const detail = `turns end badly since ${bad}; the last change before was ${last.eventType} at ${changed}`;
  return [{ code: 'recent_change', detail, count: changes.length, hint: 'Compare the versions with config.history, or roll back.' }];
}

/** Replicas that started shortly before turns began to end badly: a restart or a deployment. */
function findStarts({ facts: { firstBadMinute }, state: { replicas = [] } }: FindingSources): Finding[] {
  if (firstBadMinute === undefined) return [];
  const started = replicas.filter(({ startedAt }) => isShortlyBefore(startedAt, firstBadMinute));
  if (started.length === 0) return [];
  const names = listNames([...new Set(started.map(({ service, version }) => `${service} ${version}`))]);
  const detail = `turns end badly since ${new Date(firstBadMinute).toISOString()}; shortly before, ${names} started`;
  return [{ code: 'recent_start', detail, count: started.length, hint: 'If it was a deployment, compare the versions, or roll back.' }];
}

function isShortlyBefore(at: number, minute: number): boolean {
  return at <= minute + 60_000 && at >= minute - CHANGE_WINDOW_MS;
}

function findFailureReasons({ facts: { failureReasons } }: FindingSources): Finding[] {
  const hint = 'Ask obs.explain for one of these sessions; obs.trace.search finds them with where=reason=….';
  return sortCounts(failureReasons).map(([reason, count]) => ({
    code: `turn_failed:${reason}`,
    detail: `${count} turns failed`,
    count,
    hint,
  }));
}

function findDegradation({ facts: { sessions } }: FindingSources): Finding[] {
  if (sessions.total === 0 || sessions.degradedRate < HIGH_DEGRADED_RATE) return [];
  const detail = `${sessions.degraded} of ${sessions.total} sessions ended badly`;
  return [{ code: 'fleet_high_degraded_rate', detail, count: sessions.degraded, hint: 'Look at degradedByCause and recent changes.' }];
}

/** A spike outranks a session with a named cause, which outranks the configuration, which outranks recurring signals. */
export function findFleetCause({ sessions, degradedByCause }: FleetFacts, findings: readonly Finding[]): RootCause | null {
  const change = findings.find(({ code }) => code === 'recent_change');
  const also = change === undefined ? [] : [`Check the recent change: ${change.detail}.`];
  const spike = findings.find(({ code }) => code === 'fleet_high_degraded_rate');
  if (spike) return { code: spike.code, detail: spike.detail, suggestedNextSteps: [...also, spike.hint] };
  const [cause] = Object.entries(degradedByCause).filter(([name]) => name !== 'unknown');
  if (cause) {
    const [name, count] = cause;
    const detail = `${count} of ${sessions.total} sessions ended with ${name}`;
    return {
      code: 'fleet_acute_degradation',
      detail,
      suggestedNextSteps: [...also, `Ask obs.explain for one of the sessions that ended with ${name}.`],
    };
  }
  const posture = findings.find(({ code }) => code.startsWith('config_posture'));
  if (posture) return { code: 'fleet_config_posture', detail: posture.detail, suggestedNextSteps: [posture.hint] };
  const signal = findings.find(({ code }) => code.startsWith('health_signal:'));
  return signal ? { code: 'fleet_recurring_health_signal', detail: signal.detail, suggestedNextSteps: [signal.hint] } : null;
}

function add(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
