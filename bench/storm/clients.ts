// Many clients, each with a token of its own, who come back when they are cut off, as libs/client does. Told by messages what to do.
import type { Socket } from 'node:net';
import { isMessage } from '../fan-out/message.ts';
import { clientFrame, openRawSocket } from '../raw-socket.ts';
import { callOf } from '../rows.ts';

export type Order =
  /** A client for each token, connected to `url`; who is cut off comes to `returnTo`. */
  | { tokens: string[]; url: string; returnTo: string }
  /** To say so when everybody who was cut off is back, or the time is over. */
  | { withinMs: number }
  /** To say how many heard exactly one message since they were asked last. */
  | { heard: true };

/** What an order leads to. */
export type Told = { done: unknown } | { failed: string };

export interface Returned {
  /** From the cut to the first answer to a call, for each client who is back. */
  ms: number[];
  /** Connections that were tried. */
  attempts: number;
}

const AT_ONCE = 32;
const FIRST_MS = 250;
const CAP_MS = 10_000;
/** The first letter behind `{"jsonrpc":"2.0","` of an answer that is a result. */
const RESULT_AT = 18;
const LETTER_R = 0x72;

const CALL = clientFrame(callOf('gateway.status'));

let returnTo = '';
let attempts = 0;
let returned = 0;
const back = Promise.withResolvers<void>();

/** As every client of ours waits: doubled, and between half and all of it, so that many do not come at once. */
function backoff(attempt: number): number {
  return Math.min(CAP_MS, FIRST_MS * 2 ** attempt) * (0.5 + Math.random() / 2);
}

class Client {
  readonly #headers: Record<string, string>;
  #answered: (() => void) | undefined;
  heard = 0;
  backMs = 0;

  constructor(token: string) {
    this.#headers = { authorization: `Bearer ${token}` };
  }

  /** Connected is who was let in and has an answer from a service. */
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
    else if (isMessage(bytes, at)) this.heard++;
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
        // It is tried again, later.
      }
    }
    this.backMs = performance.now() - lostAt;
    if (++returned === clients.length) back.resolve();
  }
}

const clients: Client[] = [];

async function hold(tokens: readonly string[], url: string): Promise<void> {
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

async function obey(order: Order): Promise<unknown> {
  if ('tokens' in order) {
    ({ returnTo } = order);
    return hold(order.tokens, order.url);
  }
  if ('heard' in order) {
    const once = clients.filter(({ heard }) => heard === 1).length;
    for (const client of clients) client.heard = 0;
    return once;
  }
  const late = new Promise<void>((resolve) => void setTimeout(resolve, order.withinMs));
  await Promise.race([back.promise, late]);
  const ms = clients.map(({ backMs }) => backMs).filter((one) => one > 0);
  return { ms, attempts } satisfies Returned;
}

process.on('message', (order) => {
  obey(order as Order).then(
    (done) => process.send?.({ done } satisfies Told),
    (error: unknown) => process.send?.({ failed: String(error) } satisfies Told),
  );
});
process.on('disconnect', () => process.exit());
process.send?.('ready');
