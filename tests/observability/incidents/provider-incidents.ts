import assert from 'node:assert/strict';
import { startUpstream } from '@switchyard/testkit';
import { explainTurn, startObserved, waitForReport } from '../observed-sessions.ts';
import { explainUpstream, LOCAL, localProvider, type TurnIncident } from './incident.ts';

const REJECTED_SCHEMA = "Invalid schema for function 'web_fetch': 'oneOf' is not permitted.";

/** Failures of a model provider. */
export const PROVIDER_INCIDENTS: readonly TurnIncident[] = [
  {
    name: 'the provider answers 503',
    verdict: 'provider_down',
    stage: () => explainUpstream({ kind: 'status', status: 503 }),
    check: ({ outcome }) => assert.deepEqual(outcome, { endReason: 'error', degraded: true, severity: 'failed' }),
  },
  {
    name: 'the provider cuts its response',
    verdict: 'provider_down',
    stage: () => explainUpstream({ kind: 'cut', text: 'half of it', afterTokens: 1 }),
  },
  {
    name: 'the circuit breaker of the only model is open',
    verdict: 'provider_down',
    async stage() {
      await using upstream = await startUpstream({ kind: 'status', status: 500 });
      const agent = { ...LOCAL, circuitBreaker: { failureThreshold: 1 } };
      await using app = await startObserved({ agent, settings: localProvider(upstream.url) });
      await explainTurn(app, 'opens the breaker');
      await app.bus.call('agent.execute', { message: 'meets it', sessionKey: { channelId: 'second' } }).catch(() => undefined);
      const report = await waitForReport(app, 2);
      assert.equal(upstream.requests.length, 1, 'the second turn makes no request');
      return report;
    },
    check: ({ likelyRootCause }) => assert.match(likelyRootCause?.detail ?? '', /CIRCUIT_OPEN/),
  },
  {
    name: 'the provider refuses the key',
    verdict: 'provider_auth',
    stage: () => explainUpstream({ kind: 'status', status: 401 }),
  },
  {
    name: 'the provider limits requests',
    verdict: 'provider_rate_limited',
    stage: () => explainUpstream({ kind: 'status', status: 429 }),
  },
  {
    name: 'the quota of the provider is used up',
    verdict: 'provider_rate_limited',
    stage: () => explainUpstream({ kind: 'status', status: 429, code: 'insufficient_quota' }),
    check: ({ likelyRootCause }) => assert.match(likelyRootCause?.detail ?? '', /PROVIDER_QUOTA/),
  },
  {
    name: 'the provider rejects the schema of a tool',
    verdict: 'tool_schema_unsupported',
    stage: () => explainUpstream({ kind: 'status', status: 400, message: REJECTED_SCHEMA }),
  },
  {
    name: 'the provider rejects the request for another reason',
    verdict: 'outcome_unresolved',
    stage: () => explainUpstream({ kind: 'status', status: 400, message: 'no' }),
  },
  {
    name: 'the answer reaches the output limit',
    verdict: 'output_starved',
    stage: () => explainUpstream({ kind: 'text', text: 'half', finish: 'length' }),
    check: ({ outcome }) => assert.deepEqual(outcome, { endReason: 'output_starved', degraded: true, severity: 'degraded' }),
  },
  {
    name: 'the prompt exceeds the context window',
    verdict: 'context_exhausted',
    stage: () => explainUpstream({ kind: 'text', text: 'never sent' }, 'x'.repeat(4 * 3_300)),
    check({ contextBudget }) {
      assert.deepEqual([contextBudget?.windowTokens, contextBudget?.verdict], [4_000, 'exhausted']);
      assert.ok((contextBudget?.assembledInputTokens ?? 0) > 3_000);
    },
  },
];
