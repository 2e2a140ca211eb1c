import type { Dice } from '@switchyard/testkit';
import type { Asked, Door } from '../history.ts';

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
  const { message, says } = agent === 'default' ? echo(name) : script(random, name);
  return { session, agent, message, says, doors: random.of(DOORS), ...(keyed ? { key: `key-${name}` } : {}) };
}

function echo(name: string): Pick<Question, 'message' | 'says'> {
  const message = `${name} asks`;
  const said = `I am dev/echo, the development model. You said: ${message}`;
  return { message, says: { response: said, whole: said } };
}

function script(random: Dice, name: string): Pick<Question, 'message' | 'says'> {
  const [begins, ends] = [`${name} begins `, `${name} ends`];
  const wait = (): { wait: number } => ({ wait: random.of([5, 20, 100, 400, 2_000]) });
  const tools = Array.from({ length: random.below(3) }, () => ({ tool: { name: 'session_history', input: { channelId: name } } }));
  const message = JSON.stringify([{ text: begins }, wait(), ...tools, wait(), { text: ends }]);
  const whole = begins + ends;
  return { message, says: { response: tools.length === 0 ? whole : ends, whole } };
}
