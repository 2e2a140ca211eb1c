import assert from 'node:assert/strict';
import { startUpstream, type TestService } from '@switchyard/testkit';
import { startEmbedded } from '../../e2e/embedded.ts';
import { call } from '../../e2e/exchange.ts';
import { startObserved, waitForReport, waitUntil } from '../observed-sessions.ts';
import { LOCAL, localProvider, script, SCRIPTED, type FleetReport, type Incident } from './incident.ts';

const getCodes = ({ findings }: FleetReport): string[] => findings.map(({ code }) => code);
/** A turn of two steps. */
const LOOK = script({ text: 'let me see' }, { tool: { name: 'session_status', input: {} } }, { text: 'done' });

/** Sends one turn to each of some new sessions. */
async function sendTurns({ bus }: TestService, sessions: number, message: string, prefix: string): Promise<void> {
  const turns = Array.from({ length: sessions }, (_, n) => ({ message, sessionKey: { channelId: `${prefix}${n}` } }));
  for (const turn of turns) await bus.call('agent.execute', turn).catch(() => undefined);
}

/** Failures of several sessions or services. */
export const FLEET_INCIDENTS: readonly Incident<FleetReport>[] = [
  {
    name: 'a change of the configuration breaks all turns',
    verdict: 'fleet_high_degraded_rate',
    async stage() {
      await using product = await startEmbedded({ config: { agents: { default: SCRIPTED } } });
      const send = (channelId: string) =>
        call<{ finishReason: string }>(product, 'agent.execute', { message: LOOK, sessionKey: { channelId } });
      assert.equal((await send('before')).finishReason, 'stop');
      await call(product, 'agents.update', { agentId: 'default', budgets: { perExecution: 1 } });
      for (const n of [1, 2, 3]) await waitUntil(async () => (await send(`after${n}`)).finishReason !== 'stop', 'the change');
      const read = () => call<FleetReport>(product, 'obs.fleet.health', { sinceHours: 1 });
      await waitUntil(async () => (await read()).sessions.degraded >= 3, 'three degraded sessions');
      return await read();
    },
    check(report) {
      assert.ok(getCodes(report).includes('recent_change'), getCodes(report).join());
      assert.deepEqual(report.degradedByCause, { budget_exceeded: 3 });
      assert.match(report.suggestedNextSteps[0] ?? '', /recent change/);
      assert.ok(!getCodes(report).some((code) => code.startsWith('service_missing')), getCodes(report).join());
    },
  },
  {
    name: 'one session of five is cut short',
    verdict: 'fleet_acute_degradation',
    async stage() {
      await using app = await startObserved({ agent: { ...SCRIPTED, maxSteps: 1 } });
      await sendTurns(app, 4, script({ text: 'well' }), 'well');
      await sendTurns(app, 1, LOOK, 'bad');
      await waitForReport(app, 5);
      return await app.bus.call('obs.fleet.health', { sinceHours: 1 });
    },
    check({ degradedByCause, sessions }) {
      assert.deepEqual(degradedByCause, { max_steps: 1 });
      assert.deepEqual([sessions.total, sessions.degraded], [5, 1]);
    },
  },
  {
    name: 'a provider fails and the fallback model answers',
    verdict: null,
    async stage() {
      await using first = await startUpstream({ kind: 'status', status: 503 });
      await using second = await startUpstream({ kind: 'text', text: 'yes' });
      const { local } = localProvider(second.url).providers.entries;
      const entries = { local: localProvider(first.url).providers.entries.local, spare: local };
      const agent = { ...LOCAL, modelFailover: { fallbackModels: [{ provider: 'spare', modelId: 'm' }] } };
      await using app = await startObserved({ agent, settings: { providers: { entries } } });
      await sendTurns(app, 2, 'hello', 'spare');
      await waitForReport(app, 2);
      return await app.bus.call('obs.fleet.health', { sinceHours: 1 });
    },
    check(report) {
      assert.equal(report.sessions.degraded, 0);
      assert.ok(getCodes(report).includes('model_health'), getCodes(report).join());
    },
  },
  {
    name: 'a service has no replica and another one has an old version',
    verdict: null,
    async stage() {
      await using app = await startObserved({ agent: SCRIPTED });
      await sendTurns(app, 1, script({ text: 'well' }), 'well');
      await waitForReport(app, 1);
      return await app.bus.call('obs.fleet.health', { sinceHours: 1 });
    },
    check({ findings }) {
      const mixed = findings.find(({ code }) => code === 'mixed_versions');
      assert.match(mixed?.detail ?? '', /0\.0\.0/);
      assert.ok(findings.some(({ code }) => code.startsWith('service_missing:')));
    },
  },
];
