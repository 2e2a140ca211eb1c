import { tempDir } from '@switchyard/testkit';
import { SESSION, type LoadPlan } from '../load-plan.ts';
import { startBroker, startCluster, startEmbedded } from '../product.ts';
import { startNode, startUpstream, type Route, type Subject } from '../subject.ts';
import { startRestate } from './restate.ts';

/** Subjects that run turns: the product with as many slots as clients or with its default of four, and the baselines. */
export type TurnSubject = 'embedded-32' | 'embedded-128' | 'embedded-shipped' | 'embedded-upstream' | 'nats-32' | 'restate' | 'bare-store';

const LISTENING = /listening on (http:\S+)/;
const MESSAGE = 'tell me about the sea';

/** Settings for the given number of slots. */
export function slots(count: number): Record<string, string> {
  return {
    SWITCHYARD_AGENTS__DEFAULT__CONCURRENCY__MAX_CONCURRENT_RUNS: String(count),
    SWITCHYARD_QUEUE__MAX_CONCURRENT_SESSIONS: String(count),
  };
}

const STARTS: Readonly<Record<TurnSubject, (stack: AsyncDisposableStack) => Promise<Subject>>> = {
  'embedded-32': (stack) => startEmbedded(stack, { env: slots(32) }),
  'embedded-128': (stack) => startEmbedded(stack, { env: slots(128) }),
  'embedded-shipped': (stack) => startEmbedded(stack),
  'embedded-upstream': async (stack) => startEmbedded(stack, { env: slots(32), upstream: await startUpstream(stack) }),
  'nats-32': async (stack) => startCluster(await startBroker(stack), stack, { env: slots(32) }),
  restate: startRestate,
  'bare-store': startBareStore,
};

export function startTurnSubject(name: TurnSubject, stack: AsyncDisposableStack): Promise<Subject> {
  return STARTS[name](stack);
}

async function startBareStore(stack: AsyncDisposableStack): Promise<Subject> {
  const data = stack.use(await tempDir()).path;
  const edge = stack.use(await startNode('bench/turns/bare-store.ts', { env: { DATA: data }, ready: LISTENING }));
  return { name: 'bare-store', url: edge.ready[1] ?? '', headers: {}, edge, pids: [edge.pid] };
}

/** The request for a turn. Each connection uses its own sequence of sessions. */
export function turnRoute({ name, url, headers }: Subject): Route {
  const common: Pick<LoadPlan, 'kind' | 'url' | 'headers'> = { kind: 'http', url, headers };
  if (name === 'restate') {
    return { ...common, path: `/session/${SESSION}/turn`, body: JSON.stringify({ message: MESSAGE }), expect: 'anything' };
  }
  const params = { message: MESSAGE, sessionKey: { channelId: SESSION } };
  return { ...common, path: '/rpc', body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'agent.execute', params }), expect: 'result' };
}
