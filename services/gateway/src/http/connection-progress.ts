import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** How long a connection without progress keeps its place when a new connection needs one. */
const EVICTABLE_AFTER_MS = 5_000;

/** One HTTP connection: its last request, and whether its client still sends and reads. */
export class ConnectionProgress {
  /** The socket of requests: the TLS socket of a TLS listener. */
  #socket: Socket | undefined;
  #request: IncomingMessage | undefined;
  #response: ServerResponse | undefined;
  #requestedAt = 0;
  /** When the client was last seen to read, while it has something to read. */
  #unreadSince: number | undefined;
  #readBytes = 0;
  #timeoutMs = 0;

  onRequest(request: IncomingMessage, response: ServerResponse, now: number): void {
    this.#socket = request.socket;
    this.#request = request;
    this.#response = response;
    this.#requestedAt = now;
  }

  /** Whether no request has arrived so far. */
  get unused(): boolean {
    return this.#response === undefined;
  }

  /**
   * Starts the socket timeout while the client has bytes to read, and stops it when all are read. Node destroys a socket that makes no
   * progress for `stallMs`. The timeout is not set otherwise, because a client may wait longer than that for its response.
   */
  check(stallMs: number, now: number): void {
    const socket = this.#socket;
    if (socket === undefined) return;
    if (socket.writableLength === 0) {
      if (this.#unreadSince !== undefined && socket.timeout === this.#timeoutMs) socket.setTimeout(0);
      this.#unreadSince = undefined;
      return;
    }
    const readBytes = socket.bytesWritten - socket.writableLength;
    if (this.#unreadSince === undefined || readBytes !== this.#readBytes) this.#unreadSince = now;
    this.#readBytes = readBytes;
    if (socket.timeout === stallMs) return;
    socket.setTimeout(stallMs);
    this.#timeoutMs = stallMs;
  }

  /** Whether a new connection may take the place of this one: it is idle, or its client has neither sent nor read for some seconds. */
  isEvictable(now: number): boolean {
    const response = this.#response;
    if (response === undefined || response.writableFinished || response.destroyed) return true;
    const unread = this.#unreadSince !== undefined && now - this.#unreadSince >= EVICTABLE_AFTER_MS;
    return unread || (this.#request?.complete === false && now - this.#requestedAt >= EVICTABLE_AFTER_MS);
  }
}
