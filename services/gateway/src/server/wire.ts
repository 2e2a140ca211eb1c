import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Writable } from 'node:stream';

/** What is looked at of a request, whoever read it. */
export type RequestHead = Pick<IncomingMessage, 'headers' | 'socket'>;

/** Where an answer goes. */
export interface Outlet {
  readonly statusCode: number;
  readonly destroyed: boolean;
  readonly writableFinished: boolean;
  writeHead(status: number, headers: string[]): this;
  end(body?: string | Buffer, encoding?: BufferEncoding): unknown;
  on(event: 'close', left: () => void): unknown;
  setTimeout(ms: number): unknown;
}

/** What comes in and what goes out. */
export type Wire = NodeWire | PlainWire;

/** As Node reads it. */
export interface NodeWire {
  request: IncomingMessage;
  response: ServerResponse;
  /** It is still to be read. */
  body?: undefined;
}

/** A request that was read at a glance, and where its answer goes. */
export interface PlainWire {
  request: RequestHead;
  response: PlainOutlet;
  body: Buffer;
}

export interface PlainOutlet extends Outlet {
  /** For a body in pieces, whose length the head has said. */
  stream(): Writable;
}

/** A route whose requests may be read at a glance. */
export interface PlainRoute {
  /** What they begin with, such as `POST /rpc HTTP/1.1` and the end of the line. */
  line: Buffer;
  /** Whether one can be answered that was read so: none that cannot has been looked at when Node reads it. */
  takes(request: RequestHead, body: Buffer): boolean;
  /** Answers one. Never throws. */
  serve(wire: PlainWire): void;
}
