import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** A proxy that can drop the responses of a server. */
export interface Proxy extends AsyncDisposable {
  readonly port: number;
  /** Drops responses for a while, then breaks the connections that lost one. */
  loseReplies(ms: number): Promise<void>;
}

interface Pair {
  client: Socket;
  server: Socket;
  /** A response was dropped; no later one may arrive on this connection. */
  lost: boolean;
}

export async function openProxy(target: { host: string; port: number }): Promise<Proxy> {
  const pairs = new Set<Pair>();
  let losing = 0;
  const listener = createServer({ allowHalfOpen: true }, (client) => {
    const server = connect({ ...target, allowHalfOpen: true, noDelay: true });
    client.setNoDelay(true);
    const pair: Pair = { client, server, lost: false };
    pairs.add(pair);
    client.pipe(server);
    server.on('data', (data: Buffer) => {
      if (losing > 0) pair.lost = true;
      if (!pair.lost && !client.write(data)) server.pause();
    });
    client.on('drain', () => server.resume());
    server.on('end', () => client.end());
    const drop = (): void => {
      pairs.delete(pair);
      client.resetAndDestroy();
      server.resetAndDestroy();
    };
    client.on('error', drop).on('close', drop);
    server.on('error', drop).on('close', () => client.destroySoon());
  });
  await once(listener.listen(0, '127.0.0.1'), 'listening');
  const breakLost = (): void => {
    for (const { client, lost } of pairs) if (lost) client.resetAndDestroy();
  };

  return {
    port: (listener.address() as AddressInfo).port,
    async loseReplies(ms) {
      losing += 1;
      await new Promise((resolve) => void setTimeout(resolve, ms));
      losing -= 1;
      if (losing === 0) breakLost();
    },
    async [Symbol.asyncDispose]() {
      listener.close();
      for (const { client, server } of pairs) {
        client.destroy();
        server.destroy();
      }
    },
  };
}
