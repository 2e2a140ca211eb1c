import assert from 'node:assert/strict';
import type { Result } from '@switchyard/contracts';
import { startUpstream, type UpstreamBehaviour } from '@switchyard/testkit';
import { explainTurn, startObserved, type ObservedOptions, type Report } from '../observed-sessions.ts';

export type FleetReport = Result<'obs.fleet.health'>;

/** A failure that is really caused, and the root cause that must be reported. */
export interface Incident<R> {
  name: string;
  /** Code of the expected root cause; null if there is none. */
  verdict: string | null;
  /** Causes the failure and returns the report. */
  stage(): Promise<R>;
  check?(report: R): void;
}

export type TurnIncident = Incident<Report>;

/** An agent without retries, whose provider is a double of the test. */
export const LOCAL = { provider: 'local', model: 'm', sdkRetry: { enabled: false, maxRetries: 0 } };
/** An agent whose model does what its message says. */
export const SCRIPTED = { model: 'dev/scripted' };

export const script = (...steps: object[]): string => JSON.stringify(steps);

export function localProvider(url: string) {
  const local = { type: 'openai-compatible' as const, baseUrl: url, maxRetries: 0, models: [{ id: 'm', contextWindow: 4_000 }] };
  return { providers: { entries: { local } } };
}

/** Explains a turn whose provider behaves like this. */
export async function explainUpstream(behaviour: UpstreamBehaviour, message = 'hello'): Promise<Report> {
  await using upstream = await startUpstream(behaviour);
  await using app = await startObserved({ agent: LOCAL, settings: localProvider(upstream.url) });
  return await explainTurn(app, message);
}

/** Explains a turn of an agent with a scripted model. */
export async function explainScript(steps: readonly object[], options: Partial<ObservedOptions> = {}): Promise<Report> {
  await using app = await startObserved({ agent: SCRIPTED, ...options });
  return await explainTurn(app, script(...steps));
}

/** Fails unless the report has the verdict of the incident, with its next steps in both places. */
export function assertVerdict<R extends Report | FleetReport>({ verdict, check }: Incident<R>, report: R): void {
  const { likelyRootCause, suggestedNextSteps } = report;
  assert.equal(likelyRootCause?.code ?? null, verdict, JSON.stringify(report));
  assert.deepEqual(suggestedNextSteps, likelyRootCause?.suggestedNextSteps ?? []);
  check?.(report);
}
