import type { Dice } from '@switchyard/testkit';
import type { RequestParams, Door, Use } from '../history.ts';
import type { Place } from '../plan.ts';

/** A turn that clients request repeatedly until its outcome is known. */
export type Question = Omit<RequestParams['turn'], 'door'> & { doors: readonly Door[] };

export interface Asking {
  random: Dice;
  /** Unique name of the question. */
  name: string;
  session: string;
  agent: string;
}

/** Idempotency keys belong to one method, so a question uses only APIs of the same method. */
const DOORS: readonly (readonly Door[])[] = [
  ['rpc', 'ws'],
  ['chat', 'sse'],
];

/** A short question, or a longer script with texts and tool calls. */
export function questionFor({ random, name, session, agent }: Asking): Question {
  const keyed = random.chance(0.85);
  const said = agent === 'default' ? echo(name) : script(random, name);
  return { session, agent, ...said, doors: random.of(DOORS), ...(keyed ? { key: `key-${name}` } : {}) };
}

function echo(name: string): Pick<Question, 'message' | 'says'> {
  const message = `${name} asks`;
  const said = `I am dev/echo, the development model. You said: ${message}`;
  return { message, says: { response: said, whole: said } };
}

/** Texts, tool calls and waits between the first and the last text. */
interface Middle {
  waits: readonly [before: number, after: number];
  tools: readonly object[];
}

function saying(name: string, { waits: [before, after], tools }: Middle): Pick<Question, 'message' | 'says'> {
  const [begins, ends] = [`${name} begins `, `${name} ends`];
  const message = JSON.stringify([{ text: begins }, { wait: before }, ...tools, { wait: after }, { text: ends }]);
  const fullText = begins + ends;
  return { message, says: { response: tools.length === 0 ? fullText : ends, whole: fullText } };
}

function calling({ tool, name }: Use, waitMs: number): object {
  return { tool: { name: tool, input: { name, waitMs } } };
}

function script(random: Dice, name: string): Pick<Question, 'message' | 'says' | 'uses'> {
  const wait = (): number => random.of([5, 20, 100, 400, 2_000]);
  const uses = Array.from({ length: random.below(3) }, (_, at): Use => ({
    tool: random.of(['dev_act', 'dev_look']),
    name: `${name}.${at}`,
  }));
  const counted = uses.map((use) => calling(use, random.of([0, 20, 300, 1_500])));
  const read = random.chance(0.3) ? [{ tool: { name: 'session_history', input: { channelId: name } } }] : [];
  const said = saying(name, { waits: [wait(), wait()], tools: [...counted, ...read] });
  return { ...said, ...(uses.length === 0 ? {} : { uses }) };
}

/** Minimum duration of a turn that reaches a point. Turns of any duration reach the other points. */
const LASTS_MS: Readonly<Partial<Record<Place, number>>> = {
  // With more requests than capacity, a turn waits and is then leased.
  claim: 600,
  // Once a second.
  text: 1_300,
  // The runner must die during the turn.
  take: 1_300,
};

/** A question whose turn reaches a point during a tool call. */
export function questionToward(place: Place, { random, name, session }: Omit<Asking, 'agent'>): Question {
  const use: Use = { tool: random.of(['dev_act', 'dev_look']), name: `${name}.0` };
  const said = saying(name, { waits: [LASTS_MS[place] ?? 5, 5], tools: [calling(use, 20)] });
  return { session, agent: place === 'claim' ? 'narrow' : 'scripted', ...said, uses: [use], doors: random.of(DOORS), key: `key-${name}` };
}
