import type { Handler } from '@switchyard/bus';
import type { Collection } from '@switchyard/store';
import { readAll } from '../billing/read-billing.ts';
import type { DiagnosticDocument, RecordDocument } from '../documents/collections.ts';
import { findFleetCause, listFindings } from '../fleet/fleet-findings.ts';
import { readFleetState, type FleetStateDeps } from '../fleet/fleet-state.ts';
import { createFleetTally } from '../fleet/session-tally.ts';

const HOUR_MS = 3_600_000;
/** Rows that one report reads. A longer window is reported as truncated. */
const MAX_ROWS = 200_000;
const MAX_DIAGNOSTICS = 10_000;

export interface FleetDeps extends FleetStateDeps {
  records: Collection<RecordDocument>;
  diagnostics: Collection<DiagnosticDocument>;
  retentionDays: () => number;
  now: () => number;
}

/** Reports the outcome of all sessions in a window. The clock is read once. */
export function obsFleetHealth({ records, diagnostics, retentionDays, now, ...fleet }: FleetDeps): Handler<'obs.fleet.health'> {
  return async ({ sinceHours }, { principal }) => {
    const until = now();
    const since = Math.max(0, until - sinceHours * HOUR_MS);
    const window = { at: { gte: since, lte: until } };
    const tally = createFleetTally();
    const truncations: { field: string; reason: string }[] = [];
    let rows = 0;
    for await (const record of readAll(records.for(principal), { ...window, synthetic: null }, 'at')) {
      if (rows >= MAX_ROWS) {
        truncations.push({ field: 'sessions', reason: `only the first ${MAX_ROWS} turns of the window were read` });
        break;
      }
      rows += 1;
      tally.add(record);
    }
    const events: DiagnosticDocument[] = [];
    for await (const event of readAll(diagnostics.for(principal), window, 'at')) if (events.push(event) >= MAX_DIAGNOSTICS) break;
    const { rows: read, firstBadMinute, failureReasons, ...facts } = tally.build();
    const sources = {
      facts: { ...facts, rows: read, firstBadMinute, failureReasons },
      diagnostics: events,
      state: await readFleetState(fleet, principal),
    };
    const findings = listFindings(sources);
    const likelyRootCause = findFleetCause(sources.facts, findings);
    const days = Math.ceil(sinceHours / 24);
    return {
      schemaVersion: 1,
      windowHours: sinceHours,
      ...facts,
      findings,
      likelyRootCause,
      suggestedNextSteps: likelyRootCause?.suggestedNextSteps ?? [],
      truncations,
      coverage: {
        sessionSummary: { found: read > 0, rows: read },
        sessionIndex: { daysRead: Math.min(days, retentionDays()), daysMissing: Math.max(0, days - retentionDays()) },
        billing: { present: facts.cost.totalTokens > 0 || facts.cost.costUsd > 0 },
      },
    };
  };
}
