import { LRUCache } from 'lru-cache';

/** Creates a matcher for a subject pattern. `*` matches one token, a trailing `>` one or more. */
export function createSubjectMatcher(pattern: string): (subject: string) => boolean {
  if (!isWildcard(pattern)) return (subject) => subject === pattern;
  const requestedItems = pattern.split('.');
  const open = requestedItems.at(-1) === '>';
  if (open) requestedItems.pop();
  if (!requestedItems.includes('*')) return matchPrefix(joinPrefix(requestedItems));
  if (!open && requestedItems.indexOf('*') === requestedItems.length - 1) return matchOneToken(joinPrefix(requestedItems.slice(0, -1)));
  // Most subjects are rejected by their beginning or their end, without splitting.
  const beginning = joinPrefix(requestedItems.slice(0, requestedItems.indexOf('*')));
  const end = open || requestedItems.at(-1) === '*' ? '' : `.${requestedItems.at(-1)}`;
  return (subject) => {
    if (!subject.startsWith(beginning) || !subject.endsWith(end)) return false;
    const tokens = subject.split('.');
    if (open ? tokens.length <= requestedItems.length : tokens.length !== requestedItems.length) return false;
    return requestedItems.every((token, at) => token === '*' || token === tokens[at]);
  };
}

function joinPrefix(tokens: readonly string[]): string {
  return tokens.map((token) => `${token}.`).join('');
}

/** Matches `a.b.>` without splitting the subject. */
function matchPrefix(prefix: string): (subject: string) => boolean {
  return (subject) => subject.length > prefix.length && subject.startsWith(prefix);
}

/** Matches `a.b.*`, the form of every inbox, without splitting the subject. */
function matchOneToken(prefix: string): (subject: string) => boolean {
  return (subject) => subject.length > prefix.length && subject.startsWith(prefix) && !subject.includes('.', prefix.length);
}

export function isWildcard(pattern: string): boolean {
  return pattern.split('.').some((token) => token === '*' || token === '>');
}

/** Subscribers of one subject or pattern. Each plain subscriber gets all messages; a queue group distributes them. */
interface Topic<L> {
  tokens: readonly string[];
  matches: (subject: string) => boolean;
  plain: L[];
  groups: Map<string, { members: L[]; next: number }>;
}

export interface SubjectIndex<L> {
  add(subject: string, listener: L, queue: string | undefined): void;
  remove(subject: string, listener: L, queue: string | undefined): void;
  /** Calls `to` for each subscriber of a subject. Returns false if there is none. */
  route(subject: string, to: (listener: L) => void): boolean;
}

/** Subjects have few distinct prefixes: one per kind and service or connection. */
const MAX_CACHED_PREFIXES = 1_024;

/** Exact subjects are found by one lookup. Patterns are tried only if their prefix can match. */
export function createSubjectIndex<L>(): SubjectIndex<L> {
  const exact = new Map<string, Topic<L>>();
  const patterns = new Map<string, Topic<L>>();
  /** Patterns that can match, by subject prefix. */
  const patternCache = new LRUCache<string, readonly Topic<L>[]>({ max: MAX_CACHED_PREFIXES });
  const indexOf = (subject: string) => (isWildcard(subject) ? patterns : exact);

  function findPatterns(subject: string): readonly Topic<L>[] {
    const beginning = getPrefix(subject);
    let found = patternCache.get(beginning);
    if (found === undefined) {
      const tokens = beginning.split('.');
      found = [...patterns.values()].filter((pattern) => mayMatchPrefix(pattern.tokens, tokens));
      patternCache.set(beginning, found);
    }
    return found;
  }

  return {
    add(subject, listener, queue) {
      const index = indexOf(subject);
      let topic = index.get(subject);
      if (topic === undefined) {
        topic = { tokens: subject.split('.'), matches: createSubjectMatcher(subject), plain: [], groups: new Map() };
        index.set(subject, topic);
        if (index === patterns) patternCache.clear();
      }
      if (queue === undefined) topic.plain.push(listener);
      else addToGroup(topic, queue, listener);
    },
    remove(subject, listener, queue) {
      const index = indexOf(subject);
      const topic = index.get(subject);
      if (topic === undefined) return;
      removeListener(topic, listener, queue);
      if (topic.plain.length > 0 || topic.groups.size > 0) return;
      index.delete(subject);
      if (index === patterns) patternCache.clear();
    },
    route(subject, to) {
      const topic = exact.get(subject);
      let delivered = topic !== undefined && deliver(topic, to);
      for (const pattern of findPatterns(subject)) if (pattern.matches(subject)) delivered = deliver(pattern, to) || delivered;
      return delivered;
    },
  };
}

/** Returns the first two tokens. */
function getPrefix(subject: string): string {
  const end = subject.indexOf('.', subject.indexOf('.') + 1);
  return end === -1 ? subject : subject.slice(0, end);
}

/** Whether a pattern can match a subject with this prefix. */
function mayMatchPrefix(pattern: readonly string[], tokens: readonly string[]): boolean {
  for (const [at, token] of tokens.entries()) {
    const requested = pattern[at];
    if (requested === '>') return true;
    if (requested !== '*' && requested !== token) return false;
  }
  return true;
}

function addToGroup<L>(topic: Topic<L>, queue: string, listener: L): void {
  const group = topic.groups.get(queue);
  if (group === undefined) topic.groups.set(queue, { members: [listener], next: 0 });
  else group.members.push(listener);
}

function removeListener<L>(topic: Topic<L>, listener: L, queue: string | undefined): void {
  const group = queue === undefined ? undefined : topic.groups.get(queue);
  const among = group?.members ?? topic.plain;
  const at = among.indexOf(listener);
  if (at !== -1) among.splice(at, 1);
  if (queue !== undefined && group?.members.length === 0) topic.groups.delete(queue);
}

function deliver<L>(topic: Topic<L>, to: (listener: L) => void): boolean {
  for (const listener of topic.plain) to(listener);
  for (const group of topic.groups.values()) {
    const turn = group.next++ % group.members.length;
    to(group.members[turn] as L);
  }
  return topic.plain.length > 0 || topic.groups.size > 0;
}
