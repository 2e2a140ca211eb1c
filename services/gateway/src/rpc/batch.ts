import { encodeBatch, type Fault } from './json-rpc-responses.ts';
import type { Payload } from '../http/payload.ts';
import type { Item, RpcRequest } from './envelope.ts';
import type { Cancel, OnResponse, CallOrigin } from './call-context.ts';

const MAX_CONCURRENT_CALLS = 8;
/** Total size of the responses of one batch. */
const MAX_BATCH_RESPONSE_BYTES = 8 * 1024 * 1024;

const TOO_LARGE: Fault = {
  number: -32603,
  code: 'FAILED_PRECONDITION',
  reason: 'PAYLOAD_TOO_LARGE',
  message: 'The responses of this batch are too large together; this one was omitted',
};
const NOT_RUN: Fault = { ...TOO_LARGE, message: 'The responses of this batch are too large together; this request was not run' };

export interface BatchOptions {
  from: CallOrigin;
  run: (request: RpcRequest, from: CallOrigin, onResponse: OnResponse) => Cancel;
  refuse: (fault: Fault, from: CallOrigin, member: { id: string; method?: string }) => Payload;
  onResponse: OnResponse;
}

/** Runs the members eight at a time and returns their responses in order. The batch does not wait for notifications. */
export function runBatch(items: readonly Item[], { from, run, refuse, onResponse }: BatchOptions): Cancel {
  const answers: Payload[] = [];
  const cancels = new Set<Cancel>();
  const expected = items.filter((item) => item.fault !== undefined || item.id !== undefined).length;
  let answered = 0;
  let next = 0;
  let running = 0;
  let bytes = 0;
  let cancelled = false;
  let isPumping = false;

  /** Loops instead of recursing, because a batch of synchronous calls would nest as deeply as it is long. */
  function pump(): void {
    if (isPumping) return;
    isPumping = true;
    for (let item = items[next]; item && hasCapacity(); item = items[next]) start(item, next++);
    isPumping = false;
  }

  function hasCapacity(): boolean {
    return running < MAX_CONCURRENT_CALLS;
  }

  function start(item: Item, index: number): void {
    if (item.fault) complete(index, refuse(item.fault, from, item));
    else if (item.id === undefined) notify(item);
    else if (bytes > MAX_BATCH_RESPONSE_BYTES) complete(index, refuse(NOT_RUN, from, { id: item.id, method: item.method }));
    else if (!cancelled) call(item, item.id, index);
  }

  function call(request: RpcRequest, id: string, index: number): void {
    let cancel: Cancel | undefined;
    let done = false;
    running++;
    cancel = run(request, from, (answer = '') => {
      if (cancelled) return;
      done = true;
      running--;
      if (cancel) cancels.delete(cancel);
      bytes += answer.length;
      complete(index, bytes > MAX_BATCH_RESPONSE_BYTES ? refuse(TOO_LARGE, from, { id, method: request.method }) : answer);
      pump();
    });
    if (!done) cancels.add(cancel);
  }

  function notify(request: RpcRequest): void {
    running++;
    run(request, from, () => {
      running--;
      pump();
    });
  }

  function complete(index: number, answer: Payload): void {
    answers[index] = answer;
    if (++answered === expected && !cancelled) onResponse(encodeBatch(Object.values(answers)));
  }

  if (expected === 0) onResponse(undefined);
  pump();
  return () => {
    if (cancelled || answered === expected) return;
    cancelled = true;
    running -= cancels.size;
    for (const cancel of cancels) cancel();
    pump(); // notifications continue after the client has disconnected
  };
}
