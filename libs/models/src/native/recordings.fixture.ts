import { NATIVE_WIRES, type NativeAnswer, type NativeWire } from '@switchyard/testkit';
import type { Recording } from '../chat/recordings.ts';

const SPENT = { input: 9, output: 4 };
const WIDE = 'Grüße aus København: 日本語, 🌊🌊';

/** Splits bytes into pieces of a fixed size, regardless of characters, lines and events. */
function cut(text: string, bytes: number): Buffer[] {
  const all = Buffer.from(text);
  return Array.from({ length: Math.ceil(all.length / bytes) }, (_, at) => all.subarray(at * bytes, (at + 1) * bytes));
}

/** Finish reasons of each API. */
const ENDS = {
  anthropic: { length: 'max_tokens', filter: 'refusal' },
  google: { length: 'MAX_TOKENS', filter: 'SAFETY' },
} as const;

/** Recorded responses of a native API. */
export function nativeRecordings(wire: NativeWire): Recording[] {
  const { events } = NATIVE_WIRES[wire];
  const whole = (answer: NativeAnswer): string => events(answer).join('');
  const find = { id: 'toolu_a', name: 'find', input: ['{"q', '":"s', 'ea"}'] };
  const callId = wire === 'google' ? '*' : 'toolu_a';
  return [
    {
      name: 'text in pieces, what was read from a cache and written to it',
      writes: events({ says: [{ text: 'Hello' }, { text: ' there.' }], usage: { ...SPENT, cacheRead: 5, ...cacheWrite(wire) } }),
      read: {
        text: 'Hello there.',
        reason: 'stop',
        usage: { input: wire === 'google' ? 14 : 17, output: 4, cacheRead: 5, ...cacheWrite(wire) },
      },
    },
    {
      name: 'reasoning before the text',
      writes: events({ says: [{ thought: 'They greet me.', signature: 'c2ln' }, { text: 'Hello.' }] }),
      read: { text: 'Hello.', reasoning: 'They greet me.', reason: 'stop', usage: SPENT },
    },
    {
      name: 'one tool call, its arguments a few characters at a time where the wire can',
      writes: events({ says: [{ call: find }] }),
      read: { text: '', calls: [{ callId, name: 'find', text: '{"q":"sea"}' }], reason: 'tool-calls', usage: SPENT },
    },
    {
      name: 'several tool calls at once, after some text',
      writes: events({
        says: [{ text: 'Let me look. ' }, { call: find }, { call: { id: 'toolu_b', name: 'read', input: ['{"id":', '2}'] } }],
      }),
      read: {
        text: 'Let me look. ',
        calls: [
          { callId, name: 'find', text: '{"q":"sea"}' },
          { callId: wire === 'google' ? '*' : 'toolu_b', name: 'read', text: '{"id":2}' },
        ],
        reason: 'tool-calls',
        usage: SPENT,
      },
    },
    {
      name: 'lines that end in carriage returns, comments, keep-alives and a field that nobody knows',
      writes: [
        `: hello\n\n${wire === 'anthropic' ? 'event: ping\ndata: {"type":"ping"}\n\n' : ''}retry: 10\n${whole({ says: [{ text: 'Hello.' }] })}`
          .replaceAll('\r\n', '\n')
          .replaceAll('\n', '\r\n'),
      ],
      read: { text: 'Hello.', reason: 'stop', usage: SPENT },
    },
    {
      name: 'characters of several bytes, cut between reads',
      writes: cut(whole({ says: [{ text: WIDE }, { text: WIDE }] }), 7),
      read: { text: WIDE + WIDE, reason: 'stop', usage: SPENT },
    },
    {
      name: 'an answer that ended at its limit',
      writes: events({ says: [{ text: 'Hello' }], end: ENDS[wire].length }),
      read: { text: 'Hello', reason: 'length', usage: SPENT },
    },
    {
      name: 'an answer that a filter ended',
      writes: events({ says: [{ text: 'Hello' }], end: ENDS[wire].filter }),
      read: { text: 'Hello', reason: 'content-filter', usage: SPENT },
    },
    {
      name: 'an answer of nothing',
      writes: events({ says: [], usage: { input: 9, output: 0 } }),
      read: { text: '', reason: 'stop', usage: { input: 9, output: 0 } },
    },
    ...(wire === 'google' ? GOOGLE_ONLY : []),
  ];
}

/** Recordings of the Google API only. */
const GOOGLE_ONLY: readonly Recording[] = [
  {
    name: 'nobody counted, and a first event without candidates',
    writes: [
      'data: {"responseId":"r1"}\n\n',
      'data: {"candidates":[{"content":{"role":"model","parts":[{"text":"Hello."}]},"finishReason":"STOP"}]}\n\n',
    ],
    read: { text: 'Hello.', reason: 'stop' },
  },
];

/** Only Anthropic reports cache writes. */
function cacheWrite(wire: NativeWire): { cacheWrite?: number } {
  return wire === 'anthropic' ? { cacheWrite: 3 } : {};
}
