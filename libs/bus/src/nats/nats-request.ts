import { busUnreachableError } from '../wire/errors.ts';
import type { Mux } from '../wire/reply-mux.ts';
import type { Message, Outgoing } from '../wire/transport.ts';
import type { BusConnection } from './nats-connection.ts';

const RESPONSE_TIMEOUT_MS = 5_000;

export interface NatsRequester {
  link: BusConnection;
  /** A separate mux, because the client's `js.publish` writes and times each message alone. */
  acks: Mux;
}

/** Publishes a request and collects its answers until `isLast` is true for one. */
export function requestMany({ acks, link }: NatsRequester, request: Outgoing, isLast: (answer: Message) => boolean): Promise<Message[]> {
  return new Promise((resolve, reject) => {
    const answers: Message[] = [];
    const id = acks.open(
      {
        onMessage(answer) {
          answers.push(answer);
          if (isLast(answer) && acks.complete(id)) resolve(answers);
        },
        onDeadline: () => reject(busUnreachableError()),
        onLost: reject,
      },
      RESPONSE_TIMEOUT_MS,
    );
    try {
      if (link.publish({ ...request, reply: acks.formatReplySubject(id), expires: performance.now() + RESPONSE_TIMEOUT_MS })) return;
      acks.close(id);
      reject(busUnreachableError());
    } catch (error) {
      acks.close(id);
      reject(error);
    }
  });
}
