import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** Stands between a client and a server, and cuts their connection. */
export interface CuttingProxy extends AsyncDisposable {
  readonly port: number;
  /** How many bytes went through, in both directions. */
  bytes(): number;
  /** Each of the next connections is cut after so many bytes in both directions; then none is. */
  cutAfter(...bytes: readonly number[]): void;
}

export async function cuttingProxy(target: number): Promise<CuttingProxy> {
  const sockets = new Set<Socket>();
  let cuts: number[] = [];
  let through = 0;
  const server = createServer((client) => {
    const most = cuts.shift() ?? Infinity;
    const upstream = connect(target, '127.0.0.1');
    let carried = 0;
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
        carried += data.length;
        through += data.length;
        if (carried > most) return cut();
        if (!to.write(data)) from.pause();
      });
      to.on('drain', () => from.resume());
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    bytes: () => through,
    cutAfter: (...bytes) => (cuts = [...bytes]),
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
