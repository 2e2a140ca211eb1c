import type { IncomingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import type { PlainRoute, PlainWire } from '../wire.ts';
import { PlainReply, type ReplyGround } from './plain-reply.ts';
import { readHead } from './read-head.ts';

const HEAD_END = Buffer.from('\r\n\r\n');
/** A longer head is read by Node, which has a bound of its own: every connection keeps one. */
const MOST_HEAD_BYTES = 2_048;

/** The head of the last request. Clients repeat it to the byte, and then nothing of it is read again. */
interface KnownHead {
  bytes: Buffer;
  length: number;
  route: PlainRoute;
  request: { headers: IncomingHttpHeaders; socket: Socket };
}

export interface ConnectionOptions {
  socket: Socket;
  routes: readonly PlainRoute[];
  /** Each answer is the last one of its connection. */
  draining: AbortSignal;
  /** So many requests are served; the last answer says that it is the last. */
  mostRequests: number;
  /** How long a connection without a request is kept. */
  keepAliveMs: number;
  onRequest: (socket: Socket, reply: PlainReply) => void;
  /** What was read is Node's from now on, and all that comes after it. */
  handOver(bytes: Buffer): void;
}

/**
 * A connection while every request on it is one that is read at a glance: its head and its body came in one piece, alone, and say in
 * the plainest way that they are a `POST` to one of the routes. With the first one that is not, the connection is Node's for good.
 */
export class Connection implements ReplyGround {
  readonly socket: Socket;
  /** Since when it waits for its next request, by `performance.now()`. */
  idleSince = performance.now();
  readonly #options: ConnectionOptions;
  #known: KnownHead | undefined;
  #reply: PlainReply | undefined;
  /** What came while an answer was under way. */
  #held: Buffer | undefined;
  #served = 0;

  constructor(options: ConnectionOptions) {
    this.socket = options.socket;
    this.#options = options;
  }

  /** Whether a request came on it. */
  get asked(): boolean {
    return this.#served > 0;
  }

  /** Whether a request is not answered yet. */
  get busy(): boolean {
    return this.#reply !== undefined && !this.#reply.writableFinished;
  }

  read(bytes: Buffer): void {
    if (this.#isHeldUp()) return this.#hold(bytes);
    const head = this.#headOf(bytes);
    if (head === undefined || bytes.length !== head.bytes.length + head.length) return this.#options.handOver(bytes);
    const body = bytes.subarray(head.bytes.length);
    if (!head.route.takes(head.request, body)) return this.#options.handOver(bytes);
    this.#served += 1;
    const response = (this.#reply = new PlainReply(this));
    this.#options.onRequest(this.socket, response);
    const wire: PlainWire = { request: head.request, response, body };
    head.route.serve(wire);
  }

  get keepAliveMs(): number {
    return this.#options.keepAliveMs;
  }

  isLast(): boolean {
    return this.#options.draining.aborted || this.#served >= this.#options.mostRequests;
  }

  replied(last: boolean): void {
    this.idleSince = performance.now();
    if (last) this.socket.destroySoon();
    else if (this.#held !== undefined) process.nextTick(() => this.goOn());
  }

  /** What came meanwhile is read once nothing stands before it. */
  goOn(): void {
    const held = this.#held;
    if (held === undefined || this.socket.destroyed || this.#isHeldUp()) return;
    this.#held = undefined;
    this.socket.resume();
    this.read(held);
  }

  closed(): void {
    this.#reply?.closed();
  }

  /** An answer is under way, or one is not taken: nobody is served faster than he reads. */
  #isHeldUp(): boolean {
    return (this.#reply !== undefined && !this.#reply.ended) || this.socket.writableNeedDrain;
  }

  /** Not more than one piece, since the socket is read no further. */
  #hold(bytes: Buffer): void {
    this.#held = this.#held === undefined ? bytes : Buffer.concat([this.#held, bytes]);
    this.socket.pause();
  }

  #headOf(bytes: Buffer): KnownHead | undefined {
    const known = this.#known;
    if (known !== undefined && startsWith(bytes, known.bytes)) return known;
    const route = this.#options.routes.find(({ line }) => startsWith(bytes, line));
    const end = route === undefined ? -1 : bytes.subarray(0, MOST_HEAD_BYTES).indexOf(HEAD_END, route.line.length - 2);
    if (route === undefined || end < 0) return undefined;
    const head = readHead(bytes.toString('latin1', route.line.length, end + 2));
    if (head === undefined) return undefined;
    const { headers, length } = head;
    // Copied, so that it does not keep the body beside it.
    const own = Buffer.from(bytes.subarray(0, end + HEAD_END.length));
    return (this.#known = { bytes: own, length, route, request: { headers, socket: this.socket } });
  }
}

function startsWith(bytes: Buffer, start: Buffer): boolean {
  return bytes.length >= start.length && bytes.compare(start, 0, start.length, 0, start.length) === 0;
}
