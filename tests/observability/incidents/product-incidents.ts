import assert from 'node:assert/strict';
import { startUpstream, tempDir } from '@switchyard/testkit';
import { startEmbedded, type Running } from '../../e2e/embedded.ts';
import { call } from '../../e2e/exchange.ts';
import { waitUntil, type Report } from '../observed-sessions.ts';
import { localProvider, LOCAL, script, SCRIPTED, type TurnIncident } from './incident.ts';

/** Resolves to the report of a session of the product once its turn is ingested. */
async function explainSession(product: Running, channelId: string): Promise<Report> {
  const sessionKey = `default:${product.client}:${channelId}`;
  const explain = () => call<Report>(product, 'obs.explain', { sessionKey, depth: 'full' });
  await waitUntil(async () => (await explain()).coverage?.trajectory?.found === true, 'the report');
  return explain();
}

/** Failures that need all services and real processes. */
export const PRODUCT_INCIDENTS: readonly TurnIncident[] = [
  {
    name: 'kill -9 ends the process in a step',
    verdict: 'runner_lost',
    async stage() {
      await using data = await tempDir();
      await using upstream = await startUpstream({ kind: 'stall' }, { kind: 'text', text: 'after the kill' });
      const config = { ...localProvider(upstream.url), agents: { default: LOCAL } };
      const sessionKey = { channelId: 'killed' };
      {
        await using product = await startEmbedded({ data: data.path, config });
        const turn = call(product, 'agent.execute', { message: 'hello', sessionKey }).catch(() => undefined);
        await upstream.firstRequest;
        await product.process.end('SIGKILL');
        await turn;
      }
      await using product = await startEmbedded({ data: data.path, config });
      return await explainSession(product, sessionKey.channelId);
    },
    check: ({ likelyRootCause, outcome }) => {
      assert.match(likelyRootCause?.detail ?? '', /2 runs/);
      assert.equal(outcome.endReason, 'completed', 'another run of the turn answers');
    },
  },
  {
    name: 'the memory search finds nothing for a turn that ends badly',
    verdict: 'recall_miss',
    async stage() {
      const agent = { ...SCRIPTED, maxSteps: 1, rag: { enabled: true } };
      await using product = await startEmbedded({ config: { agents: { default: agent } } });
      const message = script({ tool: { name: 'session_status', input: {} } }, { text: 'never said' });
      await call(product, 'agent.execute', { message, sessionKey: { channelId: 'forgotten' } });
      return await explainSession(product, 'forgotten');
    },
    check: ({ outcome }) => assert.equal(outcome.endReason, 'max_steps'),
  },
];
