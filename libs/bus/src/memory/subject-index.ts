/** Whether a subject falls under a pattern: `*` is one token, a last `>` is one or more. */
export function subjectMatcher(pattern: string): (subject: string) => boolean {
  if (!isWildcard(pattern)) return (subject) => subject === pattern;
  const wanted = pattern.split('.');
  const open = wanted.at(-1) === '>';
  if (open) wanted.pop();
  if (!wanted.includes('*')) return startsWith(prefixOf(wanted));
  if (!open && wanted.indexOf('*') === wanted.length - 1) return endsInOneToken(prefixOf(wanted.slice(0, -1)));
  return (subject) => {
    const tokens = subject.split('.');
    if (open ? tokens.length <= wanted.length : tokens.length !== wanted.length) return false;
    return wanted.every((token, at) => token === '*' || token === tokens[at]);
  };
}

function prefixOf(tokens: readonly string[]): string {
  return tokens.map((token) => `${token}.`).join('');
}

/** `a.b.>`, without taking the subject apart. */
function startsWith(prefix: string): (subject: string) => boolean {
  return (subject) => subject.length > prefix.length && subject.startsWith(prefix);
}

/** `a.b.*`, the form of every inbox. */
function endsInOneToken(prefix: string): (subject: string) => boolean {
  return (subject) => subject.length > prefix.length && subject.startsWith(prefix) && !subject.includes('.', prefix.length);
}

export function isWildcard(pattern: string): boolean {
  return pattern.split('.').some((token) => token === '*' || token === '>');
}

/** Those who listen to one subject or pattern: each plain listener hears all, a queue group takes turns. */
interface Topic<L> {
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

/** Exact subjects are found in one look-up; only patterns are tried one by one. */
export function createSubjectIndex<L>(): SubjectIndex<L> {
  const exact = new Map<string, Topic<L>>();
  const patterns = new Map<string, Topic<L>>();
  const indexOf = (subject: string) => (isWildcard(subject) ? patterns : exact);

  return {
    add(subject, listener, queue) {
      const index = indexOf(subject);
      let topic = index.get(subject);
      if (topic === undefined) index.set(subject, (topic = { matches: subjectMatcher(subject), plain: [], groups: new Map() }));
      if (queue === undefined) topic.plain.push(listener);
      else join(topic, queue, listener);
    },
    remove(subject, listener, queue) {
      const index = indexOf(subject);
      const topic = index.get(subject);
      if (topic === undefined) return;
      leave(topic, listener, queue);
      if (topic.plain.length === 0 && topic.groups.size === 0) index.delete(subject);
    },
    route(subject, to) {
      const topic = exact.get(subject);
      let heard = topic !== undefined && hand(topic, to);
      for (const pattern of patterns.values()) if (pattern.matches(subject)) heard = hand(pattern, to) || heard;
      return heard;
    },
  };
}

function join<L>(topic: Topic<L>, queue: string, listener: L): void {
  const group = topic.groups.get(queue);
  if (group === undefined) topic.groups.set(queue, { members: [listener], next: 0 });
  else group.members.push(listener);
}

function leave<L>(topic: Topic<L>, listener: L, queue: string | undefined): void {
  const group = queue === undefined ? undefined : topic.groups.get(queue);
  const among = group?.members ?? topic.plain;
  const at = among.indexOf(listener);
  if (at !== -1) among.splice(at, 1);
  if (queue !== undefined && group?.members.length === 0) topic.groups.delete(queue);
}

function hand<L>(topic: Topic<L>, to: (listener: L) => void): boolean {
  for (const listener of topic.plain) to(listener);
  for (const group of topic.groups.values()) {
    const turn = group.next++ % group.members.length;
    to(group.members[turn] as L);
  }
  return topic.plain.length > 0 || topic.groups.size > 0;
}
