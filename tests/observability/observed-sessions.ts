import { registry, secrets, type ConfigurationPatch, type Result } from '@switchyard/contracts';
import { startService, type AnyService } from '@switchyard/service-kit';
import { principal, resolveSecrets, testService, type TestService } from '@switchyard/testkit';
import { defineObservability } from '../../services/observability/src/service.ts';
import { defineSessions, type SessionsTiming } from '../../services/sessions/src/service.ts';
import { putAgent } from '../../services/sessions/src/sessions.fixture.ts';

export type Report = Result<'obs.explain'>;

const INGEST_MS = 20;
const PATIENCE_MS = 30_000;

export interface ObservedOptions {
  agent: object;
  settings?: ConfigurationPatch;
  timing?: SessionsTiming;
  env?: Readonly<Record<string, string>>;
  data?: string;
  /** Provider keys by the names of their secrets. */
  secrets?: Readonly<Record<string, string>>;
  /** Other services to start on the same bus. */
  services?: readonly AnyService[];
}

/** Starts sessions and observability on one bus, with one agent. */
export async function startObserved({
  agent,
  settings,
  timing,
  env,
  data,
  secrets: keys = {},
  services = [],
}: ObservedOptions): Promise<TestService> {
  const stack = new AsyncDisposableStack();
  const app = stack.use(
    await testService(defineSessions({ pollMs: 20, sweepMs: 100, ...timing }), {
      as: principal({ scopes: ['*'] }),
      env: { SWITCHYARD_DEV_TOOLS: 'on', ...env },
      ...(settings === undefined ? {} : { settings }),
      ...(data === undefined ? {} : { data }),
      async prepare(host) {
        await (await host.connect('secrets')).serve(secrets, { 'secrets.resolve': resolveSecrets(keys) }, { version: '0.0.0' });
        await (await host.connect('registry')).serve(registry, { 'models.prices': () => ({ prices: [] }) }, { version: '0.0.0' });
        await putAgent(host.bus, 'default', { config: agent });
        for (const service of [defineObservability({ ingestMs: INGEST_MS }), ...services]) stack.use(await startService(service, host));
      },
    }),
  );
  return { ...app, bus: app.bus, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

/** Resolves when a condition holds that no event announces. */
export async function waitUntil(condition: () => Promise<boolean>, what: string): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`waited too long for ${what}`);
    await new Promise((resolve) => void setTimeout(resolve, INGEST_MS));
  }
}

/** Sends a message and waits for the report of its session, whether the turn fails or not. */
export async function explainTurn(app: TestService, message: string): Promise<Report> {
  await app.bus.call('agent.execute', { message }).catch(() => undefined);
  return waitForReport(app, 1);
}

/** Resolves to the report of the only session once this many turns are ingested. */
export async function waitForReport(app: TestService, turns: number): Promise<Report> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const { rows } = await app.bus.call('obs.trace.search', { where: 'state!=queued' });
    const traces = rows.filter(({ event }) => event === 'turn_completed');
    if (traces.length >= turns) return app.bus.call('obs.explain', { traceId: String(traces[0]?.['traceId']), depth: 'full' });
    if (performance.now() > deadline) throw new Error('the turn was not ingested');
    await new Promise((resolve) => void setTimeout(resolve, INGEST_MS));
  }
}
