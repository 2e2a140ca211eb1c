import { connectionLost, type RpcError } from './rpc-error.ts';
import { decodeAnswer, encode, type Answer, type ExchangeOptions, type Outgoing } from './transport.ts';

/** A sent or queued message with one or more calls that wait for answers. */
interface PendingMessage {
  text: string;
  ids: readonly number[];
  answers: Map<number, Answer>;
  repeatable: boolean;
  sent: boolean;
  resolve(answers: Answer[]): void;
  reject(error: unknown): void;
}

/** The messages of one client that wait for answers, across connections. */
export interface PendingMessages {
  readonly size: number;
  add(calls: readonly Outgoing[], options: ExchangeOptions): Promise<Answer[]>;
  /** Sends the messages that were not sent on this connection. */
  flush(send: (text: string) => void): void;
  settle(received: unknown): void;
  /** Handles a broken connection: repeatable messages are queued for the next one, the others fail. */
  handleDisconnect(cause: unknown): void;
  failAll(error: RpcError): void;
}

export function createPendingMessages(): PendingMessages {
  const pending = new Set<PendingMessage>();
  const byId = new Map<number, PendingMessage>();

  function remove(message: PendingMessage) {
    pending.delete(message);
    for (const id of message.ids) byId.delete(id);
  }

  function fail(message: PendingMessage, error: unknown) {
    remove(message);
    message.reject(error);
  }

  function complete(message: PendingMessage) {
    remove(message);
    message.resolve(message.ids.map((id) => message.answers.get(id)).filter((answer) => answer !== undefined));
  }

  /** Assigns an error without an id to the message that was sent last. */
  function failNewest(answer: Answer) {
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
      if (decoded.id === null) return failNewest(decoded.answer);
      const message = typeof decoded.id === 'number' ? byId.get(decoded.id) : undefined;
      if (!message) return;
      message.answers.set(decoded.id as number, decoded.answer);
      if (message.answers.size === message.ids.length) complete(message);
    },

    handleDisconnect(cause) {
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
