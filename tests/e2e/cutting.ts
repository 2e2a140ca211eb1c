import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** A proxy that cuts the first connection and forwards all others. */
export interface Cutting extends AsyncDisposable {
  url: string;
  /** Whether a connection was cut. */
  readonly cut: boolean;
}

/** Returns the number of response bytes to forward, or undefined to forward everything so far. */
export type CutAt = (answer: string) => number | undefined;

export async function startCutting(target: string, cutAt: CutAt): Promise<Cutting> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  let connections = 0;
  let cut = false;
  const listener = createServer((client) => {
    const server = connect({ host: hostname, port: Number(port) });
    const first = (connections += 1) === 1;
    let answer = '';
    for (const socket of [client, server]) sockets.add(socket.on('error', () => socket.destroy()));
    client.pipe(server);
    client.on('close', () => server.destroy());
    server.on('close', () => client.destroySoon());
    server.on('data', (data: Buffer) => {
      const before = answer.length;
      answer += data.toString('latin1');
      const max = first ? cutAt(answer) : undefined;
      if (max === undefined) {
        client.write(data);
        return;
      }
      cut = true;
      // The forwarded bytes arrive before the connection ends.
      client.write(data.subarray(0, Math.max(max - before, 0)), () => setImmediate(() => client.resetAndDestroy()));
    });
  });
  await once(listener.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `http://127.0.0.1:${(listener.address() as AddressInfo).port}`,
    get cut() {
      return cut;
    },
    async [Symbol.asyncDispose]() {
      listener.close();
      for (const socket of sockets) socket.destroy();
      await once(listener, 'close');
    },
  };
}
