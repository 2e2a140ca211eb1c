import { connect, type Socket } from 'node:net';
import { WebSocket } from 'ws';
import type { LoadPlan } from './load-plan.ts';
import { inSessions } from './load-sessions.ts';

/** `firstAt` is when the first byte of the body came, where that was before the answer was whole. */
export type OnAnswer = (slot: number, good: boolean, firstAt?: number) => void;

export interface Client {
  /** Sends the one request; `slot` is the connection it belongs to. */
  ask(slot: number): void;
  close(): Promise<void>;
}

export function openClient(plan: LoadPlan, onAnswer: OnAnswer): Promise<Client> {
  return plan.kind === 'http' ? Promise.resolve(openHttp(plan, onAnswer)) : openSockets(plan, onAnswer);
}

/** Where `"result"` begins in an answer with the members in their usual order. */
const RESULT_AT = Buffer.from('{"jsonrpc":"2.0","').length;
const LETTER_M = 0x6d;
const LETTER_R = 0x72;

function isResult(answer: Uint8Array): boolean {
  return answer[RESULT_AT] === LETTER_R;
}

/** A heartbeat answers nothing. What a baseline echoes has its method further back. */
function isNotification(message: Uint8Array): boolean {
  return message[RESULT_AT] === LETTER_M;
}

const OK_AT = '{"type":"res",'.length;
/** How far into an answer `ok` stands: behind a short id. */
const OK_WITHIN = 32;

function isOk(answer: Buffer): boolean {
  return answer.subarray(OK_AT, OK_AT + OK_WITHIN).includes('"ok":true');
}

/** What OpenClaw says unasked begins so. */
const EVENT = '{"type":"event",';

function isEvent(message: Buffer): boolean {
  return message.toString('latin1', 0, EVENT.length) === EVENT;
}

/** What the client costs, the measured server cannot have on this machine: so it knows one request, and of an answer what it must. */
function openHttp({ url, path, headers, body, connections, expect }: LoadPlan, onAnswer: OnAnswer): Client {
  const { host, hostname, port } = new URL(url);
  const open = (): Socket => connect({ host: hostname, port: Number(port), noDelay: true });
  const asking = Array.from({ length: connections }, (_, slot) => {
    const request = inSessions([path, body], slot, ([path = '', body = '']) => requestOf({ host, path, headers, body }));
    return keepAsking({ open, request, good: GOOD[expect] }, (good, firstAt) => onAnswer(slot, good, firstAt));
  });
  return {
    ask: (slot) => asking[slot]?.ask(),
    async close() {
      for (const { end } of asking) end();
    },
  };
}

function requestOf({ host, path, headers, body }: Pick<LoadPlan, 'path' | 'headers' | 'body'> & { host: string }): Buffer {
  const fields = { host, 'content-type': 'application/json', ...headers, 'content-length': Buffer.byteLength(body) };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}`);
  return Buffer.from([`POST ${path} HTTP/1.1`, ...lines, '', body].join('\r\n'));
}

type IsGood = (body: Buffer) => boolean;

/** What an answer is told by, at no more cost than must be. */
const GOOD: Readonly<Record<LoadPlan['expect'], IsGood>> = {
  result: isResult,
  completion: (body) => body.includes('"chat.completion"'),
  chunks: (body) => body.includes('"finish_reason":"stop"') && body.includes('data: [DONE]', -64),
  ok: isOk,
  anything: () => true,
};

interface Asking {
  open: () => Socket;
  /** The bytes of the next one. */
  request: () => Buffer;
  good: IsGood;
}

/** One connection after another, each until the server says that it was the last answer there. */
function keepAsking(
  { open, request, good: isGood }: Asking,
  onRead: (good: boolean, firstAt?: number) => void,
): { ask(): void; end(): void } {
  let socket = use(open());
  let asked = false;

  function answered(good: boolean, firstAt?: number): void {
    asked = false;
    onRead(good, firstAt);
  }

  function use(opened: Socket): Socket {
    const next = (good: boolean, firstAt?: number): void => {
      opened.removeAllListeners('close').destroy();
      socket = use(open());
      if (asked) answered(good, firstAt); // one that was idle may be closed at any time
    };
    const read = answerReader(isGood, (good, isLast, firstAt) => (isLast ? next(good, firstAt) : answered(good, firstAt)));
    return opened
      .on('data', read)
      .on('error', () => opened.destroy())
      .on('close', () => next(false));
  }

  return {
    ask() {
      asked = true;
      socket.write(request());
    },
    end: () => void socket.removeAllListeners('close').destroy(),
  };
}

const HEAD_END = '\r\n\r\n';
const OK = 'HTTP/1.1 200 ';
const LENGTH = /\r\ncontent-length: (\d+)/i;
const LAST = /\r\nconnection: close/i;

const CHUNKED = /\r\ntransfer-encoding: chunked/i;
const LAST_CHUNK = Buffer.from('0\r\n\r\n');

/** Takes the bytes of a connection. An answer says how long it is, or that a last chunk ends it. */
function answerReader(isGood: IsGood, onRead: (good: boolean, isLast: boolean, firstAt?: number) => void): (chunk: Buffer) => void {
  let came: Buffer[] = [];
  let firstAt: number | undefined;
  return (chunk) => {
    came.push(chunk);
    const answer = came.length === 1 ? chunk : Buffer.concat(came);
    const headLength = answer.indexOf(HEAD_END);
    if (headLength === -1) return;
    const head = answer.toString('latin1', 0, headLength);
    const from = headLength + HEAD_END.length;
    if (answer.length > from) firstAt ??= performance.now();
    const chunked = CHUNKED.test(head);
    if (chunked ? !endsWith(answer, LAST_CHUNK) : answer.length < from + Number(LENGTH.exec(head)?.[1])) return;
    const good = head.startsWith(OK) && isGood(answer.subarray(from));
    const at = firstAt;
    came = [];
    firstAt = undefined;
    onRead(good, LAST.test(head), at);
  };
}

function endsWith(bytes: Buffer, end: Buffer): boolean {
  return bytes.length >= end.length && bytes.compare(end, 0, end.length, bytes.length - end.length) === 0;
}

async function openSockets(plan: LoadPlan, onAnswer: OnAnswer): Promise<Client> {
  const { url, path, headers, body, connections, expect, greeting } = plan;
  const [isGood, isAside] = [GOOD[expect], expect === 'ok' ? isEvent : isNotification];
  const messages = Array.from({ length: connections }, (_, slot) => inSessions([body], slot, ([text = '']) => Buffer.from(text)));
  const opening = Array.from({ length: connections }, async (_, slot) => {
    const socket = await openSocket(url + path, headers);
    if (greeting !== undefined) await greet(socket, greeting, isAside);
    socket.on('message', (data) => {
      if (!isAside(data as Buffer)) onAnswer(slot, isGood(data as Buffer));
    });
    return socket;
  });
  const sockets = await Promise.all(opening);
  return {
    ask: (slot) => sockets[slot]?.send(messages[slot]?.() as Buffer, { binary: false }),
    async close() {
      await Promise.all(sockets.map((socket) => closeSocket(socket)));
    },
  };
}

function greet(socket: WebSocket, greeting: string, isAside: (message: Buffer) => boolean): Promise<void> {
  socket.send(greeting);
  return new Promise((resolve, reject) => {
    socket.once('close', () => reject(new Error('closed at the greeting')));
    socket.on('message', function answered(data) {
      if (isAside(data as Buffer)) return;
      socket.off('message', answered);
      if (isOk(data as Buffer)) resolve();
      else reject(new Error((data as Buffer).toString('utf8', 0, 200)));
    });
  });
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
