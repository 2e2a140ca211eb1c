import { DEFAULT_DEADLINE_MS, isUnread, MAX, TURN_DEADLINE_MS } from '@switchyard/contracts';
import { describeDefault, describeType } from '../describe-schema.ts';
import { listSettings } from '../list-settings.ts';
import { cell, code, described, table } from './markdown.ts';

/** Settings that bound how much or how long, by how they are called. */
const BOUND = /(max|limit|depth|timeout|deadline|ttl|retries|window|perHour|perDay|budget|bytes|ms$|days$|hours$)/i;

const TEXTS: Readonly<Record<keyof typeof MAX, string>> = {
  id: 'characters of an id that a caller chose: a token, a session, a job',
  name: 'characters of a name, a title, a label, a word of an open list',
  line: 'characters of a reason, a summary, a sentence of an error',
  path: 'characters of a path',
  value: 'characters of what one setting, header, variable or secret holds',
  url: 'characters of an address',
  text: 'characters of what somebody says: a message, a prompt, a document',
  payload: 'bytes of what only an answer carries: the largest message of the bus',
  words: 'words out of a short closed list',
  few: 'entries of a list that a person wrote by hand',
  many: 'entries of a page, or of a list that a program wrote',
  messages: 'messages of a conversation that is sent whole',
  all: 'entries of a list that only an answer carries',
};

/** Every bound there is: those that are set, and those that are the same for all. */
export function limitsPage(): string {
  const set = listSettings().filter(({ path, group }) => !group && BOUND.test(path.slice(path.indexOf('.') + 1)) && !isUnread(path));
  return `# Limits

Written by \`make lock\` from the declarations; do not edit it.

Whoever exceeds a rate is told when to come back: \`Retry-After\`, \`retry-after-ms\`, \`RateLimit\` and \`RateLimit-Policy\`, and on \`/v1\` \`x-ratelimit-*\` with every answer. Over JSON-RPC it is -32000 with \`retryAfterMs\`. Rates are counted over all gateways together. What one client may hold open, and what is not to be set, stands in [the page of the gateway](../../services/gateway/README.md#what-one-client-may-cost).

## That can be set

Those that are in force. [All settings](settings.md) says of each how it is changed.

${table(
  ['Setting', 'Type', 'Default', 'Meaning'],
  set.map(({ path, schema }) => [code(path), describeType(schema), cell(describeDefault(schema)), cell(described(schema))]),
)}

## Of what is sent and answered

The same for every method and route. What is larger is refused, with the name of the field; a few large fields of answers travel beside the bus.

${table(
  ['Bound', 'Of'],
  (Object.keys(MAX) as (keyof typeof MAX)[]).map((name) => [MAX[name].toLocaleString('en'), TEXTS[name]]),
)}

## Of time

A call waits ${DEFAULT_DEADLINE_MS / 1_000} s, one that runs a turn ${TURN_DEADLINE_MS / 1_000} s; [each method](methods/README.md) says its own.
`;
}
