// Many clients with one token each, which reconnect like libs/client. The parent process controls them by messages.
import type { Socket } from 'node:net';
import { isMessage } from '../fan-out/message.ts';
import { clientFrame, openRawSocket } from '../raw-socket.ts';
import { buildCall } from '../rows.ts';

export type Order =
  /** Connects one client per token to `url`; a disconnected client reconnects to `returnTo`. */
  | { tokens: string[]; url: string; returnTo: string }
  /** Reports when all disconnected clients have reconnected, or after the timeout. */
  | { withinMs: number }
  /** Reports the number of clients with exactly one message since the last report. */
  | { isReceived: true };

/** Response to an order. */
export type OrderReply = { done: unknown } | { failed: string };

export interface Returned {
  /** Time from the disconnect to the first response of a call, per reconnected client. */
  ms: number[];
  /** Connection attempts. */
  attempts: number;
}

const AT_ONCE = 32;
const FIRST_MS = 250;
const CAP_MS = 10_000;
/** Offset of the first letter after `{"jsonrpc":"2.0","`, which is "r" for a result. */
const RESULT_AT = 18;
const LETTER_R = 0x72;

const CALL = clientFrame(buildCall('gateway.status'));

let returnTo = '';
let attempts = 0;
let returned = 0;
const back = Promise.withResolvers<void>();

/** Same backoff as libs/client: exponential with jitter between half and the full delay. */
function backoff(attempt: number): number {
  return Math.min(CAP_MS, FIRST_MS * 2 ** attempt) * (0.5 + Math.random() / 2);
}

class Client {
  readonly #headers: Record<string, string>;
  #answered: (() => void) | undefined;
  receivedCount = 0;
  backMs = 0;

  constructor(token: string) {
    this.#headers = { authorization: `Bearer ${token}` };
  }

  /** A client counts as connected when it has the response of a service. */
  async connect(url: string): Promise<void> {
    const socket = await openRawSocket(url, this.#headers, (bytes, at) => this.#onFrame(bytes, at));
    await this.#call(socket);
    socket.removeAllListeners('close').removeAllListeners('error');
    socket.on('error', () => socket.destroy()).on('close', () => void this.#comeBack());
  }

  #call(socket: Socket): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      this.#answered = resolve;
      socket.setTimeout(CAP_MS, () => socket.destroy()).once('close', () => reject(new Error('closed before the answer')));
      socket.write(CALL);
    }).finally(() => socket.setTimeout(0));
  }

  #onFrame(bytes: Buffer, at: number): void {
    if (bytes[at + RESULT_AT] === LETTER_R) this.#answered?.();
    else if (isMessage(bytes, at)) this.receivedCount++;
  }

  async #comeBack(): Promise<void> {
    const lostAt = performance.now();
    for (let attempt = 0; ; attempt++) {
      await new Promise((resolve) => void setTimeout(resolve, backoff(attempt)));
      attempts++;
      try {
        await this.connect(returnTo);
        break;
      } catch {
        // The next attempt follows later.
      }
    }
    this.backMs = performance.now() - lostAt;
    if (++returned === clients.length) back.resolve();
  }
}

const clients: Client[] = [];

async function connectClients(tokens: readonly string[], url: string): Promise<void> {
  const left = tokens.values();
  const opening = Array.from({ length: AT_ONCE }, async () => {
    for (const token of left) {
      const client = new Client(token);
      await client.connect(url);
      clients.push(client);
    }
  });
  await Promise.all(opening);
}

async function execute(order: Order): Promise<unknown> {
  if ('tokens' in order) {
    ({ returnTo } = order);
    return connectClients(order.tokens, order.url);
  }
  if ('isReceived' in order) {
    const once = clients.filter(({ receivedCount }) => receivedCount === 1).length;
    for (const client of clients) client.receivedCount = 0;
    return once;
  }
  const late = new Promise<void>((resolve) => void setTimeout(resolve, order.withinMs));
  await Promise.race([back.promise, late]);
  const ms = clients.map(({ backMs }) => backMs).filter((one) => one > 0);
  return { ms, attempts } satisfies Returned;
}

process.on('message', (order) => {
  execute(order as Order).then(
    (done) => process.send?.({ done } satisfies OrderReply),
    (error: unknown) => process.send?.({ failed: String(error) } satisfies OrderReply),
  );
});
process.on('disconnect', () => process.exit());
process.send?.('ready');
