import { batchAnswer, type Fault } from './json-rpc-responses.ts';
import type { Answer } from '../http/payload.ts';
import type { Item, Request } from './envelope.ts';
import type { Cancel, OnAnswer, Origin } from './call-context.ts';

const CONCURRENT = 8;
/** What the answers of one batch may weigh together. */
const MAX_ANSWER_BYTES = 8 * 1024 * 1024;

const TOO_LARGE: Fault = {
  number: -32603,
  code: 'FAILED_PRECONDITION',
  reason: 'PAYLOAD_TOO_LARGE',
  message: 'The answers of this batch are too large together; this one was left out',
};
const NOT_RUN: Fault = { ...TOO_LARGE, message: 'The answers of this batch are too large together; this request was not run' };

export interface BatchOptions {
  from: Origin;
  run: (request: Request, from: Origin, onAnswer: OnAnswer) => Cancel;
  refuse: (fault: Fault, from: Origin, member: { id: string; method?: string }) => Answer;
  onAnswer: OnAnswer;
}

/** Runs the members eight at a time and answers them together, in their order. Notifications run too, and nobody waits for them. */
export function runBatch(items: readonly Item[], { from, run, refuse, onAnswer }: BatchOptions): Cancel {
  const answers: Answer[] = [];
  const cancels = new Set<Cancel>();
  const expected = items.filter((item) => item.fault !== undefined || item.id !== undefined).length;
  let answered = 0;
  let next = 0;
  let running = 0;
  let bytes = 0;
  let cancelled = false;
  let pumping = false;

  /** What is answered at once must not start the next from inside itself: a batch of pings would nest as deep as it is long. */
  function pump(): void {
    if (pumping) return;
    pumping = true;
    for (let item = items[next]; item && free(); item = items[next]) start(item, next++);
    pumping = false;
  }

  function free(): boolean {
    return running < CONCURRENT;
  }

  function start(item: Item, index: number): void {
    if (item.fault) settle(index, refuse(item.fault, from, item));
    else if (item.id === undefined) notify(item);
    else if (bytes > MAX_ANSWER_BYTES) settle(index, refuse(NOT_RUN, from, { id: item.id, method: item.method }));
    else if (!cancelled) ask(item, item.id, index);
  }

  function ask(request: Request, id: string, index: number): void {
    let cancel: Cancel | undefined;
    let done = false;
    running++;
    cancel = run(request, from, (answer = '') => {
      if (cancelled) return;
      done = true;
      running--;
      if (cancel) cancels.delete(cancel);
      bytes += answer.length;
      settle(index, bytes > MAX_ANSWER_BYTES ? refuse(TOO_LARGE, from, { id, method: request.method }) : answer);
      pump();
    });
    if (!done) cancels.add(cancel);
  }

  function notify(request: Request): void {
    running++;
    run(request, from, () => {
      running--;
      pump();
    });
  }

  function settle(index: number, answer: Answer): void {
    answers[index] = answer;
    if (++answered === expected && !cancelled) onAnswer(batchAnswer(Object.values(answers)));
  }

  if (expected === 0) onAnswer(undefined);
  pump();
  return () => {
    if (cancelled || answered === expected) return;
    cancelled = true;
    running -= cancels.size;
    for (const cancel of cancels) cancel();
    pump(); // notifications go on without their sender
  };
}
