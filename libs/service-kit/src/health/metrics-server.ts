import type { IncomingMessage, ServerResponse } from 'node:http';
import { isIP } from 'node:net';
import { collect, exposition, EXPOSITION_TYPE } from '@switchyard/telemetry';
import type { HealthRegistry } from './health-registry.ts';
import { http } from './http.ts';
import { listen, type ProbeAddress } from './probe-listener.ts';

/** Monitoring clients need one connection each. */
const MAX_CONNECTIONS = 32;
const REQUEST_MS = 5_000;

/** A server for monitoring clients. */
export interface ProbeServer extends AsyncDisposable {
  readonly port: number;
}

/** Serves `/metrics` for Prometheus, `/livez` (the process runs) and `/readyz`. All are read-only and contain no secrets. */
export async function openMetricsServer(health: Pick<HealthRegistry, 'readiness'>, address: ProbeAddress): Promise<ProbeServer> {
  const server = http.createServer(
    { requestTimeout: REQUEST_MS, headersTimeout: REQUEST_MS, connectionsCheckingInterval: REQUEST_MS / 2, maxHeaderSize: 8_192 },
    (request, response) => answer(request, response, { health, local: isLoopback(address.host) }),
  );
  server.maxConnections = MAX_CONNECTIONS;
  const port = await listen(server, address);
  server.unref();
  return {
    port,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

interface Given {
  health: Pick<HealthRegistry, 'readiness'>;
  local: boolean;
}

function answer(request: IncomingMessage, response: ServerResponse, { health, local }: Given): void {
  const path = request.url?.split('?', 1)[0];
  if (local && !isNamedHere(request.headers.host)) return send(response, 403, { body: 'host not allowed\n' });
  if (request.method !== 'GET' && request.method !== 'HEAD') return send(response, 405, { body: 'GET only\n' });
  switch (path) {
    case '/metrics':
      return send(response, 200, { type: EXPOSITION_TYPE, body: exposition(collect()) });
    case '/livez':
      return send(response, 200, { type: JSON_TYPE, body: '{"status":"ok"}' });
    case '/readyz': {
      const readiness = health.readiness();
      return send(response, readiness.ready ? 200 : 503, { type: JSON_TYPE, body: JSON.stringify(readiness) });
    }
    default:
      return send(response, 404, { body: 'not found; available: /metrics, /livez, /readyz\n' });
  }
}

const JSON_TYPE = 'application/json; charset=utf-8';

function send(
  response: ServerResponse,
  status: number,
  { type = 'text/plain; charset=utf-8', body }: { type?: string; body: string },
): void {
  response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' }).end(body);
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host.startsWith('127.');
}

/** Protects a loopback server against DNS rebinding: only `localhost` and IP addresses are accepted as host. */
function isNamedHere(host: string | undefined): boolean {
  const name = URL.parse(`http://${host ?? ''}`)?.hostname ?? '';
  return name === 'localhost' || isIP(name.replace(/^\[|\]$/g, '')) > 0;
}
