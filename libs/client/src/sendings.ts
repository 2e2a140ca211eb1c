import { connectionLost, type RpcError } from './rpc-error.ts';
import { decodeAnswer, encode, type Answer, type ExchangeOptions, type Outgoing } from './transport.ts';

/** One message with calls, from being asked for until its last answer. */
interface Sending {
  text: string;
  ids: readonly number[];
  answers: Map<number, Answer>;
  repeatable: boolean;
  sent: boolean;
  resolve(answers: Answer[]): void;
  reject(error: unknown): void;
}

/** The messages of one client that still await answers, across connections. */
export interface Sendings {
  readonly size: number;
  add(calls: readonly Outgoing[], options: ExchangeOptions): Promise<Answer[]>;
  /** Hands over what has not been sent on this connection. */
  flush(send: (text: string) => void): void;
  settle(message: unknown): void;
  /** The connection is gone: what may be repeated waits for the next one, the rest fails. */
  lost(cause: unknown): void;
  failAll(error: RpcError): void;
}

export function createSendings(): Sendings {
  const sendings = new Set<Sending>();
  const byId = new Map<number, Sending>();

  function forget(sending: Sending) {
    sendings.delete(sending);
    for (const id of sending.ids) byId.delete(id);
  }

  function fail(sending: Sending, error: unknown) {
    forget(sending);
    sending.reject(error);
  }

  function complete(sending: Sending) {
    forget(sending);
    sending.resolve(sending.ids.map((id) => sending.answers.get(id)).filter((answer) => answer !== undefined));
  }

  /** An error without an id cannot name the message it refuses; refusals meet the newest. */
  function refused(answer: Answer) {
    const newest = [...sendings].findLast(({ sent }) => sent);
    if (newest && !answer.ok) fail(newest, answer.error);
  }

  return {
    get size() {
      return sendings.size;
    },

    async add(calls, { signal, repeatable }) {
      signal.throwIfAborted();
      const ids = calls.map(({ id }) => id);
      const { promise, resolve, reject } = Promise.withResolvers<Answer[]>();
      const sending: Sending = { text: encode(calls), ids, answers: new Map(), repeatable, sent: false, resolve, reject };
      sendings.add(sending);
      for (const id of ids) byId.set(id, sending);
      const stop = () => fail(sending, signal.reason);
      signal.addEventListener('abort', stop);
      return promise.finally(() => signal.removeEventListener('abort', stop));
    },

    flush(send) {
      for (const sending of sendings) {
        if (sending.sent) continue;
        sending.sent = true;
        send(sending.text);
      }
    },

    settle(message) {
      const decoded = decodeAnswer(message);
      if (!decoded) return;
      if (decoded.id === null) return refused(decoded.answer);
      const sending = typeof decoded.id === 'number' ? byId.get(decoded.id) : undefined;
      if (!sending) return;
      sending.answers.set(decoded.id as number, decoded.answer);
      if (sending.answers.size === sending.ids.length) complete(sending);
    },

    lost(cause) {
      for (const sending of sendings) {
        if (!sending.sent) continue;
        if (sending.repeatable) sending.sent = false;
        else fail(sending, connectionLost(cause));
      }
    },

    failAll(error) {
      for (const sending of sendings) fail(sending, error);
    },
  };
}
