import { LRUCache } from 'lru-cache';

/** Whether a subject falls under a pattern: `*` is one token, a last `>` is one or more. */
export function createSubjectMatcher(pattern: string): (subject: string) => boolean {
  if (!isWildcard(pattern)) return (subject) => subject === pattern;
  const wanted = pattern.split('.');
  const open = wanted.at(-1) === '>';
  if (open) wanted.pop();
  if (!wanted.includes('*')) return matchPrefix(joinPrefix(wanted));
  if (!open && wanted.indexOf('*') === wanted.length - 1) return matchOneToken(joinPrefix(wanted.slice(0, -1)));
  const beginning = joinPrefix(wanted.slice(0, wanted.indexOf('*')));
  return (subject) => {
    if (!subject.startsWith(beginning)) return false; // most are told apart without being taken apart
    const tokens = subject.split('.');
    if (open ? tokens.length <= wanted.length : tokens.length !== wanted.length) return false;
    return wanted.every((token, at) => token === '*' || token === tokens[at]);
  };
}

function joinPrefix(tokens: readonly string[]): string {
  return tokens.map((token) => `${token}.`).join('');
}

/** `a.b.>`, without taking the subject apart. */
function matchPrefix(prefix: string): (subject: string) => boolean {
  return (subject) => subject.length > prefix.length && subject.startsWith(prefix);
}

/** `a.b.*`, the form of every inbox. */
function matchOneToken(prefix: string): (subject: string) => boolean {
  return (subject) => subject.length > prefix.length && subject.startsWith(prefix) && !subject.includes('.', prefix.length);
}

export function isWildcard(pattern: string): boolean {
  return pattern.split('.').some((token) => token === '*' || token === '>');
}

/** Those who listen to one subject or pattern: each plain listener hears all, a queue group takes turns. */
interface Topic<L> {
  tokens: readonly string[];
  matches: (subject: string) => boolean;
  plain: L[];
  groups: Map<string, { members: L[]; next: number }>;
}

export interface SubjectIndex<L> {
  add(subject: string, listener: L, queue: string | undefined): void;
  remove(subject: string, listener: L, queue: string | undefined): void;
  /** Hands over everybody who gets a message on this subject; false if nobody does. */
  route(subject: string, to: (listener: L) => void): boolean;
}

/** Subjects begin in a few ways, by kind and by service or connection: this is far more than there are. */
const MAX_CACHED_PREFIXES = 1_024;

/** Exact subjects are found in one look-up; of the patterns those are tried that begin as the subject does. */
export function createSubjectIndex<L>(): SubjectIndex<L> {
  const exact = new Map<string, Topic<L>>();
  const patterns = new Map<string, Topic<L>>();
  /** The patterns that may match, by how subjects begin. */
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
      let heard = topic !== undefined && deliver(topic, to);
      for (const pattern of findPatterns(subject)) if (pattern.matches(subject)) heard = deliver(pattern, to) || heard;
      return heard;
    },
  };
}

/** The first two tokens, or all where there are no more. */
function getPrefix(subject: string): string {
  const end = subject.indexOf('.', subject.indexOf('.') + 1);
  return end === -1 ? subject : subject.slice(0, end);
}

/** Whether what begins with these tokens may fall under a pattern. */
function mayMatchPrefix(pattern: readonly string[], tokens: readonly string[]): boolean {
  for (const [at, token] of tokens.entries()) {
    const wanted = pattern[at];
    if (wanted === '>') return true;
    if (wanted !== '*' && wanted !== token) return false;
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
