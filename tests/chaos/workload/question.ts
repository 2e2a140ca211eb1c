import type { Dice } from '@switchyard/testkit';
import type { Asked, Door, Use } from '../history.ts';

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

function script(random: Dice, name: string): Pick<Question, 'message' | 'says' | 'uses'> {
  const [begins, ends] = [`${name} begins `, `${name} ends`];
  const wait = (): { wait: number } => ({ wait: random.of([5, 20, 100, 400, 2_000]) });
  const uses = Array.from({ length: random.below(3) }, (_, at): Use => ({
    tool: random.of(['dev_act', 'dev_look']),
    name: `${name}.${at}`,
  }));
  const counted = uses.map((use) => ({ tool: { name: use.tool, input: { name: use.name, waitMs: random.of([0, 20, 300, 1_500]) } } }));
  const read = random.chance(0.3) ? [{ tool: { name: 'session_history', input: { channelId: name } } }] : [];
  const tools = [...counted, ...read];
  const message = JSON.stringify([{ text: begins }, wait(), ...tools, wait(), { text: ends }]);
  const whole = begins + ends;
  return { message, says: { response: tools.length === 0 ? whole : ends, whole }, ...(uses.length === 0 ? {} : { uses }) };
}
