import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

const PROBE_MS = 250;
const PROBE_PATIENCE_MS = 2_000;

/** A TCP load balancer in front of the gateways. It forwards whole connections to gateways that are ready. */
export interface Balancer extends AsyncDisposable {
  readonly port: number;
  /** Refuses new connections. Existing ones continue. */
  close(): void;
}

interface Target {
  url: string;
  ready: boolean;
  connections: number;
}

export interface BalancerOptions {
  host: string;
  /** 0 chooses a free port. */
  port: number;
  /** Addresses of the gateways. */
  targets: readonly string[];
  probeMs?: number;
}

/** Opens the port at once. Until a gateway is ready, connections go to any of them. */
export async function openBalancer({ host, port, targets: urls, probeMs = PROBE_MS }: BalancerOptions): Promise<Balancer> {
  const targets = urls.map((url): Target => ({ url, ready: false, connections: 0 }));
  const open = new Set<Socket>();
  // A client may close its sending side and still read the response.
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (client) => {
    open.add(client);
    client.once('close', () => open.delete(client));
    client.on('error', () => client.destroy());
    void relay(client, inOrder(targets));
  });
  await once(server.listen(port, host), 'listening');

  const probing = setInterval(() => targets.forEach((target) => void look(target)), probeMs).unref();
  await Promise.all(targets.map(look));
  return {
    port: (server.address() as AddressInfo).port,
    close: () => void server.close(),
    async [Symbol.asyncDispose]() {
      clearInterval(probing);
      server.close();
      for (const client of open) client.destroy();
    },
  };
}

/** Ready gateways first, then by number of connections. */
function inOrder(targets: readonly Target[]): Target[] {
  return targets.toSorted((a, b) => Number(b.ready) - Number(a.ready) || a.connections - b.connections);
}

async function relay(client: Socket, order: readonly Target[]): Promise<void> {
  for (const target of order) {
    const upstream = await reach(target);
    if (upstream === undefined) continue;
    if (client.destroyed) return void upstream.destroy();
    return join(client, upstream);
  }
  client.resetAndDestroy();
}

async function reach(target: Target): Promise<Socket | undefined> {
  const { hostname, port } = new URL(target.url);
  target.connections++; // counts while connecting, so that simultaneous connections are spread
  const socket = connect({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port), allowHalfOpen: true, noDelay: true });
  socket.once('close', () => target.connections--);
  try {
    await once(socket, 'connect');
    return socket;
  } catch {
    target.ready = false; // until the next probe
    return undefined;
  }
}

function join(client: Socket, upstream: Socket): void {
  client.setNoDelay(true);
  upstream.on('error', () => client.resetAndDestroy());
  client.on('close', () => upstream.destroy());
  upstream.on('close', () => client.destroySoon());
  client.pipe(upstream);
  upstream.pipe(client);
}

async function look(target: Target): Promise<void> {
  try {
    const response = await fetch(`${target.url}/readyz`, { signal: AbortSignal.timeout(PROBE_PATIENCE_MS) });
    await response.arrayBuffer();
    target.ready = response.ok;
  } catch {
    target.ready = false;
  }
}
