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
  origin: CallOrigin;
  run: (request: RpcRequest, origin: CallOrigin, onResponse: OnResponse) => Cancel;
  refuse: (fault: Fault, origin: CallOrigin, member: { id: string; method?: string }) => Payload;
  onResponse: OnResponse;
}

/** Runs the members eight at a time and returns their responses in order. The batch does not wait for notifications. */
export function runBatch(items: readonly Item[], { origin, run, refuse, onResponse }: BatchOptions): Cancel {
  const answers: Payload[] = [];
  const cancels = new Set<Cancel>();
  const expected = items.filter((item) => item.fault !== undefined || item.id !== undefined).length;
  let completedCount = 0;
  let next = 0;
  let runningCount = 0;
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
    return runningCount < MAX_CONCURRENT_CALLS;
  }

  function start(item: Item, index: number): void {
    if (item.fault) complete(index, refuse(item.fault, origin, item));
    else if (item.id === undefined) notify(item);
    else if (bytes > MAX_BATCH_RESPONSE_BYTES) complete(index, refuse(NOT_RUN, origin, { id: item.id, method: item.method }));
    else if (!cancelled) call(item, item.id, index);
  }

  function call(request: RpcRequest, id: string, index: number): void {
    let cancel: Cancel | undefined;
    let isDone = false;
    runningCount++;
    cancel = run(request, origin, (answer = '') => {
      if (cancelled) return;
      isDone = true;
      runningCount--;
      if (cancel) cancels.delete(cancel);
      bytes += answer.length;
      complete(index, bytes > MAX_BATCH_RESPONSE_BYTES ? refuse(TOO_LARGE, origin, { id, method: request.method }) : answer);
      pump();
    });
    if (!isDone) cancels.add(cancel);
  }

  function notify(request: RpcRequest): void {
    runningCount++;
    run(request, origin, () => {
      runningCount--;
      pump();
    });
  }

  function complete(index: number, answer: Payload): void {
    answers[index] = answer;
    if (++completedCount === expected && !cancelled) onResponse(encodeBatch(Object.values(answers)));
  }

  if (expected === 0) onResponse(undefined);
  pump();
  return () => {
    if (cancelled || completedCount === expected) return;
    cancelled = true;
    runningCount -= cancels.size;
    for (const cancel of cancels) cancel();
    pump(); // notifications continue after the client has disconnected
  };
}
