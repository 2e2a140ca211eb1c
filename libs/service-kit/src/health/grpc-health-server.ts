import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import type { sendUnaryData, ServerUnaryCall, ServerWritableStream, ServiceDefinition } from '@grpc/grpc-js';
import type { HealthRegistry } from './health-registry.ts';
import { listen, type ProbeAddress } from './probe-listener.ts';
import type { ProbeServer } from './metrics-server.ts';

/** Values of `ServingStatus` in the protocol. */
const [SERVING, NOT_SERVING, SERVICE_UNKNOWN] = [1, 2, 3] as const;
type Status = 1 | 2 | 3;

const PROTOS = fileURLToPath(new URL('../../../../proto', import.meta.url));
const PROTO = 'grpc/health/v1/health.proto';
const SERVICE = 'grpc.health.v1.Health';

/** Service name for liveness probes: SERVING while the process runs. */
const LIVENESS = 'liveness';
const MAX_CONNECTIONS = 32;
const MAX_WATCHES = 16;
const LARGEST_REQUEST = 1_024;
/** Poll interval for dependencies without notifications while a client watches. */
const POLL_INTERVAL_MS = 1_000;

type Check = ServerUnaryCall<{ service: string }, { status: Status }>;
type Watch = ServerWritableStream<{ service: string }, { status: Status }>;

/**
 * Serves the gRPC health protocol. The service `""` is the process: NOT_SERVING while it drains or a dependency is unavailable. Each
 * dependency is a service of its own (`bus`, `store`, `sessions`); `liveness` is SERVING as long as the process runs. The gRPC modules
 * are imported on first use, because they load slowly.
 */
export async function openHealthServer(health: HealthRegistry, address: ProbeAddress): Promise<ProbeServer> {
  const [grpc, { load }] = await Promise.all([import('@grpc/grpc-js'), import('@grpc/proto-loader')]);
  const definitions = await load(PROTO, { includeDirs: [PROTOS], enums: Number, defaults: true });
  const server = new grpc.Server({
    'grpc.max_concurrent_streams': MAX_WATCHES,
    'grpc.max_receive_message_length': LARGEST_REQUEST,
    'grpc.keepalive_time_ms': 30_000,
    'grpc.keepalive_timeout_ms': 10_000,
  });
  const watches = createWatches(health);
  server.addService(definitions[SERVICE] as unknown as ServiceDefinition, {
    Check({ request: { service } }: Check, answer: sendUnaryData<{ status: Status }>) {
      const status = getStatus(health, service);
      if (status === SERVICE_UNKNOWN) answer({ code: grpc.status.NOT_FOUND, details: `${service} is not a dependency of this process` });
      else answer(null, { status });
    },
    Watch: (call: Watch) => watches.add(call),
  });

  // Our own listener, because the gRPC server cannot limit the number of connections.
  const injector = server.createConnectionInjector(grpc.ServerCredentials.createInsecure());
  const listener = createServer((socket) => injector.injectConnection(socket));
  listener.maxConnections = MAX_CONNECTIONS;
  const port = await listen(listener, address);
  listener.unref();
  return {
    port,
    async [Symbol.asyncDispose]() {
      watches.end();
      const closed = new Promise((resolve) => listener.close(resolve));
      injector.destroy();
      server.forceShutdown();
      await closed;
    },
  };
}

function getStatus(health: HealthRegistry, service: string): Status {
  const { ready, status, dependencies } = health.readiness();
  if (service === '') return ready ? SERVING : NOT_SERVING;
  if (service === LIVENESS) return SERVING;
  const dependency = Object.hasOwn(dependencies, service) ? dependencies[service] : undefined;
  if (dependency === undefined) return SERVICE_UNKNOWN;
  return dependency.ready && status !== 'draining' ? SERVING : NOT_SERVING;
}

/** Sends the current status to each watch at once, and then each change. */
function createWatches(health: HealthRegistry): { add(call: Watch): void; end(): void } {
  const sentStatuses = new Map<Watch, Status>();
  const unfollow = health.follow(tell);
  let timer: NodeJS.Timeout | undefined;

  function tell(): void {
    for (const call of sentStatuses.keys()) {
      const status = getStatus(health, call.request.service);
      // Compared after statusOf, which may itself find a change and notify this watch.
      if (status === sentStatuses.get(call)) continue;
      sentStatuses.set(call, status);
      call.write({ status });
    }
  }

  function remove(call: Watch): void {
    sentStatuses.delete(call);
    if (sentStatuses.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  }

  return {
    add(call) {
      const status = getStatus(health, call.request.service);
      sentStatuses.set(call, status);
      call.write({ status });
      call.on('cancelled', () => remove(call));
      call.on('error', () => remove(call));
      timer ??= setInterval(tell, POLL_INTERVAL_MS).unref();
    },
    end() {
      unfollow();
      for (const call of sentStatuses.keys()) call.end();
      sentStatuses.clear();
      clearInterval(timer);
    },
  };
}
