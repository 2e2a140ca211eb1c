import { Pool, type Dispatcher } from 'undici';
import { WebSocket } from 'ws';
import type { LoadPlan } from './load-plan.ts';

export type OnAnswer = (slot: number, good: boolean) => void;

export interface Client {
  /** Sends the one request; `slot` is the connection it belongs to. */
  ask(slot: number): void;
  close(): Promise<void>;
}

export function openClient(plan: LoadPlan, onAnswer: OnAnswer): Promise<Client> {
  return plan.kind === 'http' ? Promise.resolve(createHttpClient(plan, onAnswer)) : openSockets(plan, onAnswer);
}

/** Where `"result"` begins in an answer with the members in their usual order. */
const RESULT_AT = Buffer.from('{"jsonrpc":"2.0","').length;
const LETTER_M = 0x6d;
const LETTER_R = 0x72;

function isResult(answer: Uint8Array): boolean {
  return answer[RESULT_AT] === LETTER_R;
}

/** A heartbeat answers nothing. What a stick echoes has its method further back. */
function isNotification(message: Uint8Array): boolean {
  return message[RESULT_AT] === LETTER_M;
}

/** Below `fetch` and `request`: what the client costs, the measured server cannot have on this machine. */
function createHttpClient({ url, path, headers, body, connections }: LoadPlan, onAnswer: OnAnswer): Client {
  const pool = new Pool(url, { connections, pipelining: 1 });
  const options: Dispatcher.DispatchOptions = { path, method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body };
  return {
    ask(slot) {
      let status = 0;
      let good = false;
      let first = true;
      pool.dispatch(options, {
        onRequestStart: () => undefined,
        onResponseStart: (_controller, statusCode) => void (status = statusCode),
        onResponseData(_controller, chunk) {
          if (first) good = isResult(chunk);
          first = false;
        },
        onResponseEnd: () => onAnswer(slot, good && status === 200),
        onResponseError: () => onAnswer(slot, false),
      });
    },
    close: () => pool.close(),
  };
}

async function openSockets({ url, path, headers, body, connections, expectResult }: LoadPlan, onAnswer: OnAnswer): Promise<Client> {
  const message = Buffer.from(body);
  const opening = Array.from({ length: connections }, async (_, slot) => {
    const socket = await openSocket(url + path, headers);
    socket.on('message', (data) => {
      if (!isNotification(data as Buffer)) onAnswer(slot, !expectResult || isResult(data as Buffer));
    });
    return socket;
  });
  const sockets = await Promise.all(opening);
  return {
    ask: (slot) => sockets[slot]?.send(message, { binary: false }),
    async close() {
      await Promise.all(sockets.map((socket) => closeSocket(socket)));
    },
  };
}

/** A WebSocket that is open; `url` begins with http. */
export function openSocket(url: string, headers: Record<string, string>): Promise<WebSocket> {
  const socket = new WebSocket(url.replace(/^http/, 'ws'), { headers, perMessageDeflate: false });
  return new Promise((resolve, reject) => {
    socket.once('open', () => resolve(socket)).once('error', reject);
  });
}

function closeSocket(socket: WebSocket): Promise<void> {
  return new Promise((resolve) => {
    socket.once('close', () => resolve()).terminate();
  });
}
