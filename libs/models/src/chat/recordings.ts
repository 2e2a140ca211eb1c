import type { ModelPart, ModelUsage, ToolCall } from '../model/model.ts';

/** A recorded response of a provider and its expected result. */
export interface Recording {
  name: string;
  /** The content type, if it is not an event stream. */
  contentType?: string;
  /** The writes of the server, each in a separate tick. */
  writes: readonly (string | Buffer)[];
  read: {
    text: string;
    reasoning?: string;
    calls?: readonly Omit<ToolCall, 'input'>[];
    reason: Extract<ModelPart, { type: 'finish' }>['reason'];
    /** Absent if the provider reports no usage. */
    usage?: ModelUsage;
    costUsd?: number;
  };
  /** Why the reference client cannot read the recording. */
  excluded?: string;
}

const HEAD = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1_763_700_000, model: 'one' };

function chunk(delta: object, finish_reason: string | null = null, more: object = {}): string {
  return `data: ${JSON.stringify({ ...HEAD, choices: [{ index: 0, delta, finish_reason }], ...more })}\n\n`;
}

function counted(usage: object, choices: object[] = []): string {
  return `data: ${JSON.stringify({ ...HEAD, choices, usage })}\n\n`;
}

function called(index: number | undefined, id: string | undefined, fn: object): object {
  return {
    tool_calls: [{ ...(index === undefined ? {} : { index }), ...(id === undefined ? {} : { id, type: 'function' }), function: fn }],
  };
}

const DONE = 'data: [DONE]\n\n';
const USAGE = { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 };
const SPENT: ModelUsage = { input: 9, output: 4 };

/** Splits bytes into pieces of a fixed size, regardless of characters, lines and events. */
function cut(text: string, bytes: number): Buffer[] {
  const all = Buffer.from(text);
  return Array.from({ length: Math.ceil(all.length / bytes) }, (_, at) => all.subarray(at * bytes, (at + 1) * bytes));
}

const WIDE = 'Grüße aus København: 日本語, 🌊🌊';

export const recordings: readonly Recording[] = [
  {
    name: 'a role first, text in pieces, usage in a last chunk without choices',
    writes: [
      chunk({ role: 'assistant', content: '' }),
      chunk({ content: 'Hello' }),
      chunk({ content: ' there.' }),
      chunk({}, 'stop'),
      counted({ ...USAGE, prompt_tokens_details: { cached_tokens: 5, audio_tokens: 0 } }),
      DONE,
    ],
    read: { text: 'Hello there.', reason: 'stop', usage: { ...SPENT, cacheRead: 5 } },
  },
  {
    name: 'empty choices first, with the results of a filter',
    writes: [
      `data: ${JSON.stringify({ ...HEAD, choices: [], prompt_filter_results: [{ prompt_index: 0 }] })}\n\n`,
      chunk({ content: 'Hello.' }),
      chunk({}, 'stop'),
      DONE,
    ],
    read: { text: 'Hello.', reason: 'stop' },
  },
  {
    name: 'no usage and no end but that of the response',
    writes: [chunk({ content: 'Hello.' }), chunk({}, 'stop')],
    read: { text: 'Hello.', reason: 'stop' },
  },
  {
    name: 'one tool call in pieces, its arguments a few characters at a time',
    writes: [
      chunk({ role: 'assistant', content: null, ...called(0, 'call_a', { name: 'find', arguments: '' }) }),
      ...['{"q', '":"s', 'ea","', 'n":12345678901234567890}'].map((text) => chunk(called(0, undefined, { arguments: text }))),
      chunk({}, 'tool_calls'),
      counted(USAGE),
      DONE,
    ],
    read: {
      text: '',
      calls: [{ callId: 'call_a', name: 'find', text: '{"q":"sea","n":12345678901234567890}' }],
      reason: 'tool-calls',
      usage: SPENT,
    },
  },
  {
    name: 'several tool calls at once, their pieces in turn',
    writes: [
      chunk({ content: 'Let me look. ' }),
      chunk(called(0, 'call_a', { name: 'find', arguments: '' })),
      chunk(called(1, 'call_b', { name: 'read', arguments: '' })),
      chunk(called(0, undefined, { arguments: '{"q":1}' })),
      chunk(called(1, undefined, { arguments: '{"id"' })),
      chunk(called(1, undefined, { arguments: ':2}' })),
      chunk({}, 'tool_calls'),
      DONE,
    ],
    read: {
      text: 'Let me look. ',
      calls: [
        { callId: 'call_a', name: 'find', text: '{"q":1}' },
        { callId: 'call_b', name: 'read', text: '{"id":2}' },
      ],
      reason: 'tool-calls',
    },
  },
  {
    name: 'several tool calls that all say they are the first, and a stop',
    writes: [
      chunk(called(0, 'call_a', { name: 'find', arguments: '{"q":1}' })),
      chunk(called(0, 'call_b', { name: 'find', arguments: '{"q":2}' })),
      chunk({}, 'stop'),
      DONE,
    ],
    read: {
      text: '',
      calls: [
        { callId: 'call_a', name: 'find', text: '{"q":1}' },
        { callId: 'call_b', name: 'find', text: '{"q":2}' },
      ],
      reason: 'tool-calls',
    },
    excluded: 'it joins calls of one index',
  },
  {
    name: 'reasoning before the text, cached tokens by a name of its own',
    writes: [
      chunk({ role: 'assistant', content: null, reasoning_content: 'They greet ' }),
      chunk({ content: null, reasoning_content: 'me.' }),
      chunk({ content: 'Hello.', reasoning_content: null }),
      chunk({}, 'stop', { usage: { ...USAGE, prompt_cache_hit_tokens: 6, prompt_cache_miss_tokens: 3 } }),
      DONE,
    ],
    read: { text: 'Hello.', reasoning: 'They greet me.', reason: 'stop', usage: { ...SPENT, cacheRead: 6 } },
    excluded: 'it does not know the name of the cached tokens',
  },
  {
    name: 'comments while it works, reasoning by its other name, what it cost',
    writes: [
      ': PROCESSING\n\n',
      ': PROCESSING\n\n',
      chunk({ role: 'assistant', content: '', reasoning: 'Hm.' }),
      ': keep-alive\n\n',
      chunk({ content: 'Hello.', reasoning: null }),
      chunk({ content: '' }, 'stop'),
      counted({ ...USAGE, cost: 0.00042 }),
      DONE,
    ],
    read: { text: 'Hello.', reasoning: 'Hm.', reason: 'stop', usage: SPENT, costUsd: 0.00042 },
    excluded: 'it does not read what was paid',
  },
  {
    name: 'content in parts, thinking among them',
    writes: [
      chunk({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'Hm.' }] }] }),
      chunk({ content: [{ type: 'text', text: 'Hello.' }] }),
      chunk({}, 'stop'),
      DONE,
    ],
    read: { text: 'Hello.', reasoning: 'Hm.', reason: 'stop' },
    excluded: 'it refuses content in parts',
  },
  {
    name: 'lines that end in carriage returns, no space after the colon, other fields, a byte order mark',
    writes: [
      `\uFEFF${chunk({ content: 'Hello' }).replace('data: ', 'data:')}event: message\nid: 7\nretry: 10\n${chunk({ content: '.' })}${chunk({}, 'stop')}${DONE}`.replaceAll(
        '\n',
        '\r\n',
      ),
    ],
    read: { text: 'Hello.', reason: 'stop' },
  },
  {
    name: 'characters of several bytes, cut between reads',
    writes: cut(chunk({ content: WIDE }) + chunk({ content: WIDE }) + chunk({}, 'stop') + DONE, 7),
    read: { text: WIDE + WIDE, reason: 'stop' },
  },
  {
    name: 'an answer that ended at its limit',
    writes: [chunk({ content: 'Hello' }), chunk({}, 'length'), counted(USAGE), DONE],
    read: { text: 'Hello', reason: 'length', usage: SPENT },
  },
  {
    name: 'an answer of nothing',
    writes: [chunk({}, 'stop'), counted({ ...USAGE, completion_tokens: 0 }), DONE],
    read: { text: '', reason: 'stop', usage: { input: 9, output: 0 } },
  },
];

function completion(message: object, finish_reason: string, more: object = {}): string {
  return JSON.stringify({ ...HEAD, object: 'chat.completion', choices: [{ index: 0, message, finish_reason }], ...more });
}

/** Non-streaming responses. */
export const wholeRecordings: readonly Recording[] = [
  {
    name: 'text and usage, in pieces that cut its characters',
    contentType: 'application/json',
    writes: cut(completion({ role: 'assistant', content: WIDE, refusal: null }, 'stop', { usage: USAGE }), 11),
    read: { text: WIDE, reason: 'stop', usage: SPENT },
  },
  {
    name: 'several tool calls with arguments as they were written, and reasoning',
    contentType: 'application/json',
    writes: [
      completion(
        {
          role: 'assistant',
          content: null,
          reasoning_content: 'Hm.',
          tool_calls: [
            { id: 'call_a', type: 'function', function: { name: 'find', arguments: '{ "n": 1.50 }' } },
            { id: 'call_b', type: 'function', function: { name: 'find', arguments: '{}' } },
          ],
        },
        'tool_calls',
        { usage: { ...USAGE, cost: { total_cost: 0.5 } } },
      ),
    ],
    read: {
      text: '',
      reasoning: 'Hm.',
      calls: [
        { callId: 'call_a', name: 'find', text: '{ "n": 1.50 }' },
        { callId: 'call_b', name: 'find', text: '{}' },
      ],
      reason: 'tool-calls',
      usage: SPENT,
      costUsd: 0.5,
    },
  },
  {
    name: 'arguments as an object, and no id',
    contentType: 'application/json',
    writes: [completion({ content: '', tool_calls: [{ function: { name: 'find', arguments: { q: 1 } } }] }, 'stop')],
    read: { text: '', calls: [{ callId: '*', name: 'find', text: '{"q":1}' }], reason: 'tool-calls' },
  },
];
