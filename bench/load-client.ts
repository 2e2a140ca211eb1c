import { connect, type Socket } from 'node:net';
import { WebSocket } from 'ws';
import type { LoadPlan } from './load-plan.ts';
import { createSessionRequests } from './load-sessions.ts';

/** `firstAt` is the time of the first byte of the body, set when it arrived before the rest. */
export type OnAnswer = (slot: number, good: boolean, firstAt?: number) => void;

export interface Client {
  /** Sends the one request; `slot` is the connection it belongs to. */
  ask(slot: number): void;
  close(): Promise<void>;
}

export function openClient(plan: LoadPlan, onAnswer: OnAnswer): Promise<Client> {
  return plan.kind === 'http' ? Promise.resolve(openHttp(plan, onAnswer)) : openSockets(plan, onAnswer);
}

/** Offset of `"result"` in a response with its members in the usual order. */
const RESULT_AT = Buffer.from('{"jsonrpc":"2.0","').length;
const LETTER_M = 0x6d;
const LETTER_R = 0x72;

function isResult(answer: Uint8Array): boolean {
  return answer[RESULT_AT] === LETTER_R;
}

/** A heartbeat is a notification and no response. An echoed request has its method at a higher offset. */
function isNotification(message: Uint8Array): boolean {
  return message[RESULT_AT] === LETTER_M;
}

const OK_AT = '{"type":"res",'.length;
/** `ok` follows a short id within this number of bytes. */
const OK_WITHIN = 32;

function isOk(answer: Buffer): boolean {
  return answer.subarray(OK_AT, OK_AT + OK_WITHIN).includes('"ok":true');
}

/** Start of the events that OpenClaw sends without a request. */
const EVENT = '{"type":"event",';

function isEvent(message: Buffer): boolean {
  return message.toString('latin1', 0, EVENT.length) === EVENT;
}

/** A minimal HTTP client that sends one fixed request: it shares the processor with the measured server, so its own cost must be low. */
function openHttp({ url, path, headers, body, connections, expect }: LoadPlan, onAnswer: OnAnswer): Client {
  const { host, hostname, port } = new URL(url);
  const open = (): Socket => connect({ host: hostname, port: Number(port), noDelay: true });
  const asking = Array.from({ length: connections }, (_, slot) => {
    const request = createSessionRequests([path, body], slot, ([path = '', body = '']) => formatRequest({ host, path, headers, body }));
    return openConnection({ open, request, good: CHECKS[expect] }, (good, firstAt) => onAnswer(slot, good, firstAt));
  });
  return {
    ask: (slot) => asking[slot]?.ask(),
    async close() {
      for (const { end } of asking) end();
    },
  };
}

function formatRequest({ host, path, headers, body }: Pick<LoadPlan, 'path' | 'headers' | 'body'> & { host: string }): Buffer {
  const fields = { host, 'content-type': 'application/json', ...headers, 'content-length': Buffer.byteLength(body) };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}`);
  return Buffer.from([`POST ${path} HTTP/1.1`, ...lines, '', body].join('\r\n'));
}

type IsGood = (body: Buffer) => boolean;

/** Cheap checks that a response is the expected one. */
const CHECKS: Readonly<Record<LoadPlan['expect'], IsGood>> = {
  result: isResult,
  completion: (body) => body.includes('"chat.completion"'),
  chunks: (body) => body.includes('"finish_reason":"stop"') && body.includes('data: [DONE]', -64),
  ok: isOk,
  anything: () => true,
};

interface ConnectionOptions {
  open: () => Socket;
  /** Returns the bytes of the next request. */
  request: () => Buffer;
  good: IsGood;
}

/** Keeps one connection open, and replaces it when the server answers with "connection: close" or closes it. */
function openConnection(
  { open, request, good: isGood }: ConnectionOptions,
  onRead: (good: boolean, firstAt?: number) => void,
): { ask(): void; end(): void } {
  let socket = use(open());
  let isRequested = false;

  function answered(good: boolean, firstAt?: number): void {
    isRequested = false;
    onRead(good, firstAt);
  }

  function use(opened: Socket): Socket {
    const next = (good: boolean, firstAt?: number): void => {
      opened.removeAllListeners('close').destroy();
      socket = use(open());
      if (isRequested) answered(good, firstAt); // The server may close an idle connection at any time.
    };
    const read = answerReader(isGood, (good, isLast, firstAt) => (isLast ? next(good, firstAt) : answered(good, firstAt)));
    return opened
      .on('data', read)
      .on('error', () => opened.destroy())
      .on('close', () => next(false));
  }

  return {
    ask() {
      isRequested = true;
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

/** Reads the responses of a connection: each has a Content-Length or ends with the last chunk. */
function answerReader(isGood: IsGood, onRead: (good: boolean, isLast: boolean, firstAt?: number) => void): (chunk: Buffer) => void {
  let chunks: Buffer[] = [];
  let firstAt: number | undefined;
  return (chunk) => {
    chunks.push(chunk);
    const answer = chunks.length === 1 ? chunk : Buffer.concat(chunks);
    const headLength = answer.indexOf(HEAD_END);
    if (headLength === -1) return;
    const head = answer.toString('latin1', 0, headLength);
    const from = headLength + HEAD_END.length;
    if (answer.length > from) firstAt ??= performance.now();
    const chunked = CHUNKED.test(head);
    if (chunked ? !endsWith(answer, LAST_CHUNK) : answer.length < from + Number(LENGTH.exec(head)?.[1])) return;
    const good = head.startsWith(OK) && isGood(answer.subarray(from));
    const at = firstAt;
    chunks = [];
    firstAt = undefined;
    onRead(good, LAST.test(head), at);
  };
}

function endsWith(bytes: Buffer, end: Buffer): boolean {
  return bytes.length >= end.length && bytes.compare(end, 0, end.length, bytes.length - end.length) === 0;
}

async function openSockets(plan: LoadPlan, onAnswer: OnAnswer): Promise<Client> {
  const { url, path, headers, body, connections, expect, greeting } = plan;
  const [isGood, isAside] = [CHECKS[expect], expect === 'ok' ? isEvent : isNotification];
  const messages = Array.from({ length: connections }, (_, slot) =>
    createSessionRequests([body], slot, ([text = '']) => Buffer.from(text)),
  );
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

/** Opens a WebSocket; `url` begins with http. */
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
