import type { ModelRequest, ModelPreferences } from '../model/model.ts';
import { getRetention, type Retention } from './cache-retention.ts';

export interface ChatMessage {
  role: string;
  content: unknown;
  [member: string]: unknown;
}

type CacheMarkRequest = Pick<ModelRequest, 'preferences' | 'model' | 'messages'>;

/** Number of messages from which several cache marks are set. */
const MULTI_ZONE_MIN_MESSAGES = 4;

/**
 * Sets cache marks. The provider caches the prompt up to each mark, including tools. One mark ends the constant part. With several zones
 * the last two user messages are marked too: this call reads the cache of the earlier one, and the next call that of the later one.
 */
export function withCacheMarks(messages: ChatMessage[], request: CacheMarkRequest): ChatMessage[] {
  const marks = selectCacheMarks(messages, request);
  return marks === undefined ? messages : messages.map((message, at) => (marks.at.has(at) ? withMark(message, marks.mark) : message));
}

/** A cache mark and the positions of the marked messages. */
export interface CacheMarks {
  mark: { type: string; ttl?: string };
  at: ReadonlySet<number>;
}

/** Selects the positions of cache marks; undefined if caching is off. */
export function selectCacheMarks(messages: readonly { role: string }[], request: CacheMarkRequest): CacheMarks | undefined {
  const retention = resolveRetention(request);
  if (retention === 'none') return undefined;
  const mark = { type: 'ephemeral', ...(retention === 'long' ? { ttl: '1h' } : {}) };
  return { mark, at: new Set(selectPositions(messages, request.preferences ?? {})) };
}

/** Resolves the retention. Long retention costs more on write, so adaptive agents use it from the second call on. */
function resolveRetention(request: CacheMarkRequest): Retention {
  const retention = getRetention(request);
  const first = !request.messages.some(({ role }) => role === 'assistant');
  return retention === 'long' && first && request.preferences?.adaptiveCacheRetention === true ? 'short' : retention;
}

function selectPositions(
  messages: readonly { role: string }[],
  { cacheBreakpointStrategy, advancedCacheOptimization }: ModelPreferences,
): number[] {
  const constant = messages[0]?.role === 'system' ? [0] : [];
  const several =
    cacheBreakpointStrategy === 'multi-zone' || (cacheBreakpointStrategy === 'auto' && messages.length >= MULTI_ZONE_MIN_MESSAGES);
  if (!several) return constant;
  const [before, last] = messages.flatMap(({ role }, at) => (role === 'user' ? [at] : [])).slice(-2);
  // With a single user message there is no earlier one.
  const recent = last ?? before;
  const promoted = advancedCacheOptimization?.enableRecentZonePromotion !== false && recent !== undefined ? [recent] : [];
  return [...constant, ...(last === undefined || before === undefined ? [] : [before]), ...promoted];
}

/** Adds a cache mark to a message. Empty text cannot be marked. */
function withMark(message: ChatMessage, mark: object): ChatMessage {
  const { content: text } = message;
  if (typeof text !== 'string' || text === '') return message;
  return { ...message, content: [{ type: 'text', text, cache_control: mark }] };
}
