import type { ModelRequest, Wishes } from '../model/model.ts';
import { retentionOf, type Retention } from './cache-retention.ts';

export interface ChatMessage {
  role: string;
  content: unknown;
  [member: string]: unknown;
}

type Asked = Pick<ModelRequest, 'wishes' | 'model' | 'messages'>;

/** A conversation of so many messages is worth more than one mark. */
const LONG_ENOUGH = 4;

/**
 * The messages with marks up to which the upstream keeps what it read, and tools with it, which it reads first. One mark ends the part
 * that is always the same. In several zones what the user said last and before that is marked too: the next call finds the one, and
 * this one finds the other.
 */
export function withCacheMarks(messages: ChatMessage[], asked: Asked): ChatMessage[] {
  const marks = marksOf(messages, asked);
  return marks === undefined ? messages : messages.map((message, at) => (marks.at.has(at) ? withMark(message, marks.mark) : message));
}

/** A mark, and the messages that it stands at. */
export interface Marks {
  mark: { type: string; ttl?: string };
  at: ReadonlySet<number>;
}

/** The same for messages of any form; undefined where nothing is to be kept. */
export function marksOf(messages: readonly { role: string }[], asked: Asked): Marks | undefined {
  const retention = lasting(asked);
  if (retention === 'none') return undefined;
  const mark = { type: 'ephemeral', ...(retention === 'long' ? { ttl: '1h' } : {}) };
  return { mark, at: new Set(placesOf(messages, asked.wishes ?? {})) };
}

/** To keep something for long costs more to begin with. What was asked once may never be asked again. */
function lasting(asked: Asked): Retention {
  const retention = retentionOf(asked);
  const first = !asked.messages.some(({ role }) => role === 'assistant');
  return retention === 'long' && first && asked.wishes?.adaptiveCacheRetention === true ? 'short' : retention;
}

function placesOf(messages: readonly { role: string }[], { cacheBreakpointStrategy, advancedCacheOptimization }: Wishes): number[] {
  const constant = messages[0]?.role === 'system' ? [0] : [];
  const several = cacheBreakpointStrategy === 'multi-zone' || (cacheBreakpointStrategy === 'auto' && messages.length >= LONG_ENOUGH);
  if (!several) return constant;
  const [before, last] = messages.flatMap(({ role }, at) => (role === 'user' ? [at] : [])).slice(-2);
  // With one message of the user alone there is none before it.
  const recent = last ?? before;
  const promoted = advancedCacheOptimization?.enableRecentZonePromotion !== false && recent !== undefined ? [recent] : [];
  return [...constant, ...(last === undefined || before === undefined ? [] : [before]), ...promoted];
}

/** An empty text cannot be marked. */
function withMark(message: ChatMessage, mark: object): ChatMessage {
  const { content: text } = message;
  if (typeof text !== 'string' || text === '') return message;
  return { ...message, content: [{ type: 'text', text, cache_control: mark }] };
}
