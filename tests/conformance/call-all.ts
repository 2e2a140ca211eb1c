import assert from 'node:assert/strict';
import type { Running } from '../e2e/embedded.ts';
import { many, openExchange, type Answer, type Transport } from '../e2e/exchange.ts';

const AT_ONCE = 50;

export interface Calling {
  method: string;
  params: unknown;
}

export interface Caller {
  product: Running;
  token?: string;
  transport?: Transport;
}

/** Calls all methods in batches. Returns the answers in the order of the calls. */
export async function callAll({ product, token, transport = 'http' }: Caller, calls: readonly Calling[]): Promise<Answer[]> {
  await using client = await openExchange(transport, product, token);
  const answers: Answer[] = [];
  for (let from = 0; from < calls.length; from += AT_ONCE) {
    const batch = calls.slice(from, from + AT_ONCE).map(({ method, params }, at) => ({ jsonrpc: '2.0', id: from + at, method, params }));
    answers.push(...many(await client.say(JSON.stringify(batch))));
  }
  assert.deepEqual(
    answers.map(({ id }) => id),
    [...calls.keys()],
  );
  return answers;
}
