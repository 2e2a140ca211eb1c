import { ServiceError } from '@switchyard/contracts';
import type { Agent, Dispatcher } from 'undici';
import { createGate, type Gate, type GateLimits } from './concurrency-limit.ts';

const LIMITS: GateLimits = { inside: 512, waiting: 2_048 };
const CONNECT_TIMEOUT_MS = 10_000;
/** Servers that keep a connection for less say so, and are heard. */
const KEEP_ALIVE_MS = 30_000;
const MAX_HEADER_BYTES = 64 * 1024;

/** The connections to upstreams, kept and counted by origin. */
export interface Origins {
  gate(origin: string): Gate;
  /** The gate of an origin where nobody is any more is forgotten. */
  left(origin: string, gate: Gate): void;
  dispatch(request: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void;
}

/** Loads the HTTP client: call it when it is first needed. */
export async function openOrigins(limits: GateLimits = LIMITS): Promise<Origins> {
  const { Agent: Connections } = await import('undici');
  const agent: Agent = new Connections({
    connections: limits.inside,
    pipelining: 1,
    connect: { timeout: CONNECT_TIMEOUT_MS },
    keepAliveTimeout: KEEP_ALIVE_MS,
    maxHeaderSize: MAX_HEADER_BYTES,
    // A connection for each call: what one upstream does to a shared one is nobody else's trouble.
    allowH2: false,
    // How long an upstream may be silent is watched over by whoever asks it.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  const gates = new Map<string, Gate>();
  return {
    gate(origin) {
      let gate = gates.get(origin);
      if (gate === undefined) gates.set(origin, (gate = createGate(limits, () => crowded(origin, limits))));
      return gate;
    },
    left(origin, gate) {
      gate.leave();
      if (gate.empty) gates.delete(origin);
    },
    dispatch: (request, handler) => void agent.dispatch(request, handler),
  };
}

function crowded(origin: string, { inside, waiting }: GateLimits): ServiceError {
  return new ServiceError('RESOURCE_EXHAUSTED', `${inside} calls to ${origin} run here and ${waiting} wait; try again in a moment`, {
    details: { reason: 'UPSTREAM_CROWDED' },
  });
}
