import { busUnreachable } from '../wire/errors.ts';
import type { Mux } from '../wire/reply-mux.ts';
import type { Message, Outgoing } from '../wire/transport.ts';
import type { NatsLink } from './nats-connection.ts';

const ANSWER_MS = 5_000;

export interface NatsAsker {
  link: NatsLink;
  /** Answers come to an inbox of their own, because the client's `js.publish` writes and times each message alone. */
  acks: Mux;
}

/** Publishes a request and collects its answers until `isLast` is true for one. */
export function ask({ acks, link }: NatsAsker, request: Outgoing, isLast: (answer: Message) => boolean): Promise<Message[]> {
  return new Promise((resolve, reject) => {
    const answers: Message[] = [];
    const id = acks.open(
      {
        onMessage(answer) {
          answers.push(answer);
          if (isLast(answer) && acks.done(id)) resolve(answers);
        },
        onDeadline: () => reject(busUnreachable()),
        onLost: reject,
      },
      ANSWER_MS,
    );
    try {
      if (link.publish({ ...request, reply: acks.address(id), expires: performance.now() + ANSWER_MS })) return;
      acks.close(id);
      reject(busUnreachable());
    } catch (error) {
      acks.close(id);
      reject(error);
    }
  });
}
