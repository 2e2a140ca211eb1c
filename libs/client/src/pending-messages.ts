import { connectionLost, type RpcError } from './rpc-error.ts';
import { decodeAnswer, encode, type Answer, type ExchangeOptions, type Outgoing } from './transport.ts';

/** One message with calls, from the call of the caller to its last answer. */
interface PendingMessage {
  text: string;
  ids: readonly number[];
  answers: Map<number, Answer>;
  repeatable: boolean;
  sent: boolean;
  resolve(answers: Answer[]): void;
  reject(error: unknown): void;
}

/** The messages of one client that still await answers, across connections. */
export interface PendingMessages {
  readonly size: number;
  add(calls: readonly Outgoing[], options: ExchangeOptions): Promise<Answer[]>;
  /** Hands over what has not been sent on this connection. */
  flush(send: (text: string) => void): void;
  settle(received: unknown): void;
  /** The connection is gone: what may be repeated waits for the next one, the rest fails. */
  lost(cause: unknown): void;
  failAll(error: RpcError): void;
}

export function createPendingMessages(): PendingMessages {
  const pending = new Set<PendingMessage>();
  const byId = new Map<number, PendingMessage>();

  function forget(message: PendingMessage) {
    pending.delete(message);
    for (const id of message.ids) byId.delete(id);
  }

  function fail(message: PendingMessage, error: unknown) {
    forget(message);
    message.reject(error);
  }

  function complete(message: PendingMessage) {
    forget(message);
    message.resolve(message.ids.map((id) => message.answers.get(id)).filter((answer) => answer !== undefined));
  }

  /** An error without an id cannot name the message it refuses, so it is taken for the one that was sent last. */
  function refused(answer: Answer) {
    const newest = [...pending].findLast(({ sent }) => sent);
    if (newest && !answer.ok) fail(newest, answer.error);
  }

  return {
    get size() {
      return pending.size;
    },

    async add(calls, { signal, repeatable }) {
      signal.throwIfAborted();
      const ids = calls.map(({ id }) => id);
      const { promise, resolve, reject } = Promise.withResolvers<Answer[]>();
      const message: PendingMessage = { text: encode(calls), ids, answers: new Map(), repeatable, sent: false, resolve, reject };
      pending.add(message);
      for (const id of ids) byId.set(id, message);
      const stop = () => fail(message, signal.reason);
      signal.addEventListener('abort', stop);
      return promise.finally(() => signal.removeEventListener('abort', stop));
    },

    flush(send) {
      for (const message of pending) {
        if (message.sent) continue;
        message.sent = true;
        send(message.text);
      }
    },

    settle(received) {
      const decoded = decodeAnswer(received);
      if (!decoded) return;
      if (decoded.id === null) return refused(decoded.answer);
      const message = typeof decoded.id === 'number' ? byId.get(decoded.id) : undefined;
      if (!message) return;
      message.answers.set(decoded.id as number, decoded.answer);
      if (message.answers.size === message.ids.length) complete(message);
    },

    lost(cause) {
      for (const message of pending) {
        if (!message.sent) continue;
        if (message.repeatable) message.sent = false;
        else fail(message, connectionLost(cause));
      }
    },

    failAll(error) {
      for (const message of pending) fail(message, error);
    },
  };
}
