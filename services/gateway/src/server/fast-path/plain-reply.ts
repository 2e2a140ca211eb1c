import type { Socket } from 'node:net';
import { Writable } from 'node:stream';
import { http } from '@switchyard/service-kit';
import type { PlainOutlet } from '../wire.ts';
import { httpDate } from './http-date.ts';

const VALUE = /^[\t\x20-\x7e]*$/;
const ENDS = 'connection: close\r\n\r\n';
const NOTHING = Buffer.alloc(0);

/** Made anew only when it changes. */
let said = { keepAliveMs: -1, text: '' };

function stays(keepAliveMs: number): string {
  if (said.keepAliveMs !== keepAliveMs) {
    const seconds = Math.floor(keepAliveMs / 1_000);
    said = { keepAliveMs, text: `connection: keep-alive\r\nkeep-alive: timeout=${seconds}\r\n\r\n` };
  }
  return said.text;
}

/** What a reply needs of its connection. */
export interface ReplyGround {
  readonly socket: Socket;
  /** How long a connection is kept for its next request. */
  readonly keepAliveMs: number;
  /** Whether the connection ends with this answer. */
  isLast(): boolean;
  /** All of the answer was handed to the kernel or waits for it; `last`, where it said that nothing follows. */
  replied(last: boolean): void;
}

/** The answer to one request on the fast path, once: what of `ServerResponse` an exchange uses. A class, because one is made for every call. */
export class PlainReply implements PlainOutlet {
  statusCode = 200;
  /** Nothing more is written. */
  ended = false;
  readonly #ground: ReplyGround;
  #head = '';
  #left: (() => void) | undefined;
  #stalls = false;
  #last = false;

  constructor(ground: ReplyGround) {
    this.#ground = ground;
  }

  get destroyed(): boolean {
    return this.#ground.socket.destroyed;
  }

  get writableFinished(): boolean {
    return this.ended && this.#ground.socket.writableLength === 0;
  }

  /** Names and values in turn; the length of the body among them, unless the status has none. */
  writeHead(status: number, headers: readonly string[]): this {
    let head = `HTTP/1.1 ${status} ${http.STATUS_CODES[status] ?? 'Unknown'}\r\n`;
    for (let at = 1; at < headers.length; at += 2) {
      const value = headers[at] as string;
      if (!VALUE.test(value)) throw new TypeError(`The header ${headers[at - 1]} has a character that no header may have.`);
      head += `${headers[at - 1]}: ${value}\r\n`;
    }
    this.statusCode = status;
    this.#last = this.#ground.isLast();
    this.#head = `${head}date: ${httpDate()}\r\n${this.#last ? ENDS : stays(this.#ground.keepAliveMs)}`;
    return this;
  }

  end(body: string | Buffer = '', encoding: BufferEncoding = 'utf8'): void {
    const { socket } = this.#ground;
    const written = this.#stalls ? (): void => void socket.setTimeout(0) : undefined;
    if (typeof body !== 'string') this.#writeBoth(body, written);
    else if (encoding === 'latin1') socket.write(this.#head + body, 'latin1', written);
    else this.#writeBoth(body === '' ? NOTHING : Buffer.from(body, encoding), written);
    this.#end();
  }

  /** For a body in pieces, whose length the head has said. What breaks off is a broken connection. */
  stream(): Writable {
    const { socket } = this.#ground;
    socket.write(this.#head, 'latin1');
    return new Writable({
      write: (piece: Buffer, _encoding, done) => void socket.write(piece, done),
      final: (done) => {
        if (this.#stalls) socket.setTimeout(0);
        this.#end();
        done();
      },
      destroy: (error, done) => {
        if (!this.ended) socket.destroy();
        done(error);
      },
    });
  }

  /** Breaks the connection when nothing has moved for so long. */
  setTimeout(ms: number): void {
    this.#stalls = true;
    this.#ground.socket.setTimeout(ms);
  }

  /** Calls back if the client leaves before all of the answer is on its way. */
  on(_event: 'close', left: () => void): void {
    this.#left = left;
  }

  /** The connection is gone. */
  closed(): void {
    if (!this.writableFinished) this.#left?.();
  }

  #writeBoth(body: Buffer, written?: () => void): void {
    const { socket } = this.#ground;
    socket.cork();
    socket.write(this.#head, 'latin1');
    socket.write(body, written);
    socket.uncork();
  }

  #end(): void {
    this.ended = true;
    this.#ground.replied(this.#last);
  }
}
