import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** A TCP proxy that cuts connections. */
export interface CuttingProxy extends AsyncDisposable {
  readonly port: number;
  /** Bytes that were forwarded in both directions. */
  bytes(): number;
  /** Cuts each of the next connections after the given number of bytes in both directions. Later connections are not cut. */
  cutAfter(...bytes: readonly number[]): void;
}

export async function startCuttingProxy(targetPort: number): Promise<CuttingProxy> {
  const sockets = new Set<Socket>();
  let limits: number[] = [];
  let total = 0;
  const server = createServer((client) => {
    const limit = limits.shift() ?? Infinity;
    const upstream = connect(targetPort, '127.0.0.1');
    let forwarded = 0;
    const cut = (): void => {
      client.destroy();
      upstream.destroy();
    };
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on('error', cut).on('close', cut);
      from.on('data', (data: Buffer) => {
        forwarded += data.length;
        total += data.length;
        if (forwarded > limit) return cut();
        if (!to.write(data)) from.pause();
      });
      to.on('drain', () => from.resume());
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    bytes: () => total,
    cutAfter: (...bytes) => (limits = [...bytes]),
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
