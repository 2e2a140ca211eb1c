import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** As BSON has it: a 32-bit number of that name. */
const FIELD = Buffer.from('\u0010maxWireVersion\u0000');
const LENGTH_BYTES = 4;
/** What greets a client is shorter. */
const MOST_GREETING = 4_096;

/** A TCP relay before one server, on a port of 127.0.0.1. */
export interface WireRelay {
  readonly port: number;
  stop(): Promise<void>;
}

/**
 * Passes on everything as it is, but that a server which speaks less than `version` of the protocol says that it speaks it. That holds
 * for as long as nobody asks it for what came since.
 */
export async function startWireRelay(target: () => number, version: number): Promise<WireRelay> {
  const open = new Set<Socket>();
  const relay = createServer((client) => {
    const server = connect(target(), '127.0.0.1');
    for (const socket of [client, server]) open.add(socket.setNoDelay(true));
    const end = (): void => {
      for (const socket of [client, server]) {
        socket.destroy();
        open.delete(socket);
      }
    };
    for (const socket of [client, server]) socket.on('error', end).on('close', end);
    client.pipe(server);
    const read = messages((message) => void client.write(lifted(message, version)));
    server.on('data', read);
  }).listen(0, '127.0.0.1');
  await once(relay, 'listening');
  return {
    port: (relay.address() as AddressInfo).port,
    async stop() {
      relay.close();
      for (const socket of open) socket.destroy();
      await once(relay, 'close');
    },
  };
}

/** Cuts what comes into whole messages. Each begins with its length. */
function messages(onMessage: (message: Buffer) => void): (bytes: Buffer) => void {
  let held: Buffer = Buffer.alloc(0);
  return (bytes) => {
    held = held.length === 0 ? bytes : Buffer.concat([held, bytes]);
    while (held.length >= LENGTH_BYTES) {
      const length = held.readInt32LE(0);
      if (held.length < length) return;
      onMessage(held.subarray(0, length));
      held = held.subarray(length);
    }
  };
}

function lifted(message: Buffer, version: number): Buffer {
  const at = message.length > MOST_GREETING ? -1 : message.indexOf(FIELD);
  if (at === -1) return message;
  const value = at + FIELD.length;
  message.writeInt32LE(Math.max(version, message.readInt32LE(value)), value);
  return message;
}
