import type { Result } from '@switchyard/contracts';
import { toUsd } from '../billing/pico.ts';
import { addAll } from '../billing/usage-sums.ts';
import type { RecordDocument } from '../documents/collections.ts';
import { readToolHistory, toErrorKind, type ToolStats } from '../explain/session-evidence.ts';
import { getOutcome, type Outcome } from '../explain/turn-outcome.ts';

type Report = Result<'obs.fleet.health'>;

const MINUTE_MS = 60_000;
const TOP_KINDS = 3;

/** The state of the fleet, added up turn by turn, oldest first. */
export interface FleetTally {
  add(record: RecordDocument): void;
  build(): FleetFacts;
}

/** Facts of the report that depend on records alone. */
export type FleetFacts = Pick<
  Report,
  'sessions' | 'degradedByCause' | 'topErrorKinds' | 'breakerTripTotal' | 'toolStats' | 'cost' | 'activity'
> & {
  rows: number;
  /** Start of the first minute in which turns ended badly. */
  firstBadMinute: number | undefined;
  /** Failed turns by the reason of their failure. */
  failureReasons: Map<string, number>;
};

export function createFleetTally(): FleetTally {
  const lastOutcomes = new Map<string, Outcome>();
  const [agents, channels] = [new Set<string>(), new Set<string>()];
  const exitReasons = new Map<string, number>();
  const errorKinds = new Map<string, number>();
  const failureReasons = new Map<string, number>();
  const stats: ToolStats = {};
  const sum = addAll([]);
  let [rows, turns, breakerTripTotal] = [0, 0, 0];
  let firstBadMinute: number | undefined;

  function addTools(record: RecordDocument): void {
    const history = readToolHistory([record]);
    breakerTripTotal += history.breaker.length;
    for (const { errorKind } of history.failures) increase(errorKinds, errorKind);
    for (const [tool, { ok, failed, topErrorKind }] of Object.entries(history.stats)) {
      const total = (stats[tool] ??= { ok: 0, failed: 0 });
      total.ok += ok;
      total.failed += failed;
      if (topErrorKind !== undefined) total.topErrorKind ??= topErrorKind;
    }
  }

  return {
    add(record) {
      rows += 1;
      for (const one of record.sums) {
        sum.input += one.input;
        sum.output += one.output;
        sum.costPico = String(BigInt(sum.costPico) + BigInt(one.costPico));
      }
      agents.add(record.agentId);
      if (record.channelId !== undefined) channels.add(record.channelId);
      if (record.sessionKey === undefined) return;
      turns += 1;
      const outcome = getOutcome(record);
      lastOutcomes.set(record.sessionKey, outcome);
      increase(exitReasons, outcome.endReason);
      if (record.failureCode !== undefined && outcome.degraded) {
        increase(errorKinds, outcome.endReason === 'timeout' ? 'timeout' : toErrorKind(record.failureCode));
        increase(failureReasons, record.failureReason ?? record.failureCode);
      }
      if (outcome.degraded) firstBadMinute ??= Math.floor(record.at / MINUTE_MS) * MINUTE_MS;
      addTools(record);
    },
    build() {
      const degraded = [...lastOutcomes.values()].filter((outcome) => outcome.degraded);
      const causes = new Map<string, number>();
      for (const { endReason } of degraded) increase(causes, endReason === 'error' ? 'unknown' : endReason);
      const tokenTotal = sum.input + sum.output;
      const total = lastOutcomes.size;
      return {
        rows,
        sessions: { total, degraded: degraded.length, degradedRate: total === 0 ? 0 : degraded.length / total },
        degradedByCause: Object.fromEntries(sortCounts(causes)),
        topErrorKinds: sortCounts(errorKinds)
          .slice(0, TOP_KINDS)
          .map(([kind, count]) => ({ kind, count })),
        breakerTripTotal,
        toolStats: stats,
        cost: { costUsd: toUsd(BigInt(sum.costPico)), totalTokens: tokenTotal },
        activity: {
          activeAgents: [...agents].toSorted(),
          activeChannels: [...channels].toSorted(),
          exitReasons: Object.fromEntries(sortCounts(exitReasons)),
          turnTotal: turns,
          tokenTotal,
        },
        firstBadMinute,
        failureReasons,
      };
    },
  };
}

function increase(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

/** Highest count first; ties by name. */
export function sortCounts(counts: ReadonlyMap<string, number>): [string, number][] {
  return [...counts].toSorted(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
}
