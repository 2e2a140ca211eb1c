import type { Dice } from '@switchyard/testkit';
import type { Asked, Door, Use } from '../history.ts';
import type { Place } from '../plan.ts';

/** A turn as its clients ask for it, again and again until they know. */
export type Question = Omit<Asked['turn'], 'door'> & { doors: readonly Door[] };

export interface Asking {
  random: Dice;
  /** Names the question, unlike any other. */
  name: string;
  session: string;
  agent: string;
}

/** What one method was asked under a key, another is not told: a question keeps to the doors that lead to the same. */
const DOORS: readonly (readonly Door[])[] = [
  ['rpc', 'ws'],
  ['chat', 'sse'],
];

/** A short question, or a script that takes a while, says something, uses tools and says more. */
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

/** What is said, done and waited for between the first words and the last. */
interface Middle {
  waits: readonly [before: number, after: number];
  tools: readonly object[];
}

function saying(name: string, { waits: [before, after], tools }: Middle): Pick<Question, 'message' | 'says'> {
  const [begins, ends] = [`${name} begins `, `${name} ends`];
  const message = JSON.stringify([{ text: begins }, { wait: before }, ...tools, { wait: after }, { text: ends }]);
  const whole = begins + ends;
  return { message, says: { response: tools.length === 0 ? whole : ends, whole } };
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

/** How long a turn has to last to come to a place; it comes to all others however short it is. */
const LASTS_MS: Readonly<Partial<Record<Place, number>>> = {
  // Where two have room and more are asked for than they can do, one waits and is claimed.
  claim: 600,
  // Once a second.
  text: 1_300,
  // Its runner has to die meanwhile.
  take: 1_300,
};

/** A question whose turn comes to a place, with a tool under way in it. */
export function questionToward(place: Place, { random, name, session }: Omit<Asking, 'agent'>): Question {
  const use: Use = { tool: random.of(['dev_act', 'dev_look']), name: `${name}.0` };
  const said = saying(name, { waits: [LASTS_MS[place] ?? 5, 5], tools: [calling(use, 20)] });
  return { session, agent: place === 'claim' ? 'narrow' : 'scripted', ...said, uses: [use], doors: random.of(DOORS), key: `key-${name}` };
}
