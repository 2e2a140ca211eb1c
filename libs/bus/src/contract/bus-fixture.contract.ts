import { callables, contracts, type Callable, type Chunk, type Params, type Principal, type Result } from '@switchyard/contracts';
import { silentLogger } from '@switchyard/telemetry';
import type { Bus, Ctx, Handlers, Reply } from '../client/bus.ts';
import { createBus, type BusOptions } from '../create-bus.ts';
import type { CallHead } from '../wire/headers.ts';
import { encodePrincipal } from '../wire/principal-header.ts';
import type { Network } from './transport.contract.ts';
import type { Transport } from '../wire/transport.ts';

export type ResolveHandler = NonNullable<Handlers<typeof contracts.secrets>['secrets.resolve']>;
export type RunHandler = NonNullable<Handlers<typeof contracts.sessions>['turns.run']>;

export const version = '1.0.0';
/** Recipient of secrets in tests without encryption. */
export const to: Params<'secrets.resolve'>['to'] = { service: 'sessions', key: 'A'.repeat(43), nonce: 'n'.repeat(22) };
export const alice: Principal = { tenant: 'acme', client: 'tok_alice', scopes: ['rpc'], agent: 'oslo', session: 'acme:zoë\n:gateway' };
export const turn: Params<'turns.run'> = { turnId: `turn_${'a'.repeat(22)}`, model: 'dev/echo', message: 'hi' };
export const result: Result<'turns.run'> = { response: 'bye', tokensUsed: { input: 1, output: 1, total: 2 }, finishReason: 'stop' };
export const delta = (n: number, text = String(n)): Chunk<'turns.run'> => ({ n, type: 'delta', text });
/** Details of failures with an unknown outcome: of an idempotent method, and of another one. */
export const REPEATABLE = { mayHaveRun: true, retryable: true };
export const FINAL = { mayHaveRun: true, retryable: false };
export const callable = (name: string): Callable => callables.get(name) as Callable;

/** Blocks the event loop, as a garbage collection or a starved processor does. */
export function blockEventLoop(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

export type Join = (options?: Partial<BusOptions>) => Promise<Bus>;

/** Buses and services for contract tests. */
export interface BusFixture {
  readonly name: string;
  /** Provides a bus for each participant, or a bare connection. All are drained at the end. */
  withBuses(run: (join: Join, raw: () => Promise<Transport>) => Promise<void>): Promise<void>;
  /** Serves `secrets.resolve` and provides a caller. */
  withSecrets(resolve: ResolveHandler, run: (caller: Bus) => Promise<void>, options?: Partial<BusOptions>): Promise<void>;
  /** Serves `turns.run` and provides a reader. */
  withTurns(run: RunHandler, read: (reader: Bus) => Promise<void>, streams?: BusOptions['streams']): Promise<void>;
}

export function createBusFixture(name: string, network: () => Network): BusFixture {
  const withBuses: BusFixture['withBuses'] = async (run) => {
    const buses: Bus[] = [];
    const transports: Transport[] = [];
    const raw = async () => {
      const transport = await network().connect();
      transports.push(transport);
      return transport;
    };
    const join: Join = async (options = {}) => {
      const bus = createBus(await network().connect(), { log: silentLogger(), checkResults: true, ...options });
      buses.push(bus);
      return bus;
    };
    try {
      await run(join, raw);
    } finally {
      await Promise.all(buses.map((bus) => bus.drain()));
      await Promise.all(transports.map((transport) => transport.drain()));
    }
  };

  return {
    name,
    withBuses,
    withSecrets: (resolve, run, options = {}) =>
      withBuses(async (join) => {
        const owner = await join({ service: 'secrets', ...options });
        await owner.serve(contracts.secrets, { 'secrets.resolve': resolve }, { version });
        await run(await join({ service: 'sessions' }));
      }),
    withTurns: (run, read, streams = {}) =>
      withBuses(async (join) => {
        const owner = await join({ service: 'sessions', streams });
        await owner.serve(contracts.sessions, { 'turns.run': run }, { version });
        await read(await join({ service: 'gateway', streams }));
      }),
  };
}

export function forward(bus: Bus, method: string, params: string, head: Partial<CallHead> = {}): Promise<Reply> {
  return new Promise((resolve) => {
    bus.forward(
      callable(method),
      Buffer.from(params),
      { principal: encodePrincipal(alice), requestId: 'req_f', timeoutMs: 5_000, ...head },
      resolve,
    );
  });
}

export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** A handler that runs until its signal aborts. */
export function untilAborted(onStopped: (reason: unknown) => void, onStarted: (ctx: Ctx) => unknown = () => undefined) {
  return async (_params: unknown, ctx: Ctx): Promise<never> => {
    onStarted(ctx);
    await aborted(ctx.signal);
    onStopped(ctx.signal.reason);
    throw new Error('stopped half-way');
  };
}

/** A streaming handler that yields until its signal aborts. */
export function endless(onStopped: (reason: unknown) => void, everyMs = 0): RunHandler {
  return async function* (_params, { signal }) {
    for (let n = 0; !signal.aborted; n++) {
      yield delta(n);
      if (everyMs > 0) await new Promise((resolve) => setTimeout(resolve, everyMs));
    }
    onStopped(signal.reason);
    return result;
  };
}

/** Resolves at the first message on a subject. */
export function heard(transport: Transport, subject: string): Promise<void> {
  return new Promise((resolve) => {
    transport.subscribe(subject, () => resolve());
  });
}

/** Collects the tenant and agent of one kind of event. */
export function collect(bus: Bus, queue?: string) {
  const seen: [string, string][] = [];
  let wake = () => undefined as void;
  bus.on(
    'agent:hot_removed',
    ({ tenant, payload }) => {
      seen.push([tenant, payload.agentId]);
      wake();
    },
    queue === undefined ? {} : { queue },
  );
  return {
    seen,
    async until(count: number) {
      while (seen.length < count) {
        const { promise, resolve } = Promise.withResolvers<void>();
        wake = resolve;
        await promise;
      }
    },
  };
}
