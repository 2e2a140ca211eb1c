import assert from 'node:assert/strict';
import type { Bus } from '@switchyard/bus';
import type { Params, Result } from '@switchyard/contracts';

type Action = Params<'browser.act'>;
type Caller = Pick<Bus, 'call'>;

const MAX_LOOKS = 15;
const LOOK_INTERVAL_MS = 100;

/** What an element of a snapshot is searched by. The name is the whole one, or matches the expression. */
export interface Wanted {
  role?: string | RegExp;
  name?: string | RegExp;
  nth?: number;
}

export interface View {
  /** The snapshot without references. */
  readonly text: string;
  /** Lists the references of the elements, in the order of the page. */
  list(wanted?: Wanted): string[];
  find(wanted: Wanted): string | undefined;
  /** Returns the name, or the text, of an element. */
  getName(ref: string): string;
}

/** One task, seen and solved through the methods of the browser only. */
export interface TaskPage {
  /** The words of the task. */
  readonly query: string;
  look: (selector?: string) => Promise<View>;
  /** Performs an action that must succeed. */
  act: (action: Action) => Promise<void>;
  /** Performs an action; false if the page does not allow it. */
  tryAct: (action: Action) => Promise<boolean>;
  /** Takes snapshots until one has the element, and clicks it. */
  click: (wanted: Wanted) => Promise<void>;
  /** Replaces the content of a field. */
  enter: (wanted: Wanted, value: string) => Promise<void>;
  /** Whether the task has ended, well or badly. */
  isDone: () => Promise<boolean>;
}

/** Opens a task and starts it. */
export async function openTask(bus: Caller, address: string): Promise<TaskPage> {
  await bus.call('browser.navigate', { url: address });
  const begun = await countRewards(bus);

  async function look(selector?: string): Promise<View> {
    return createView(await bus.call('browser.snapshot', selector === undefined ? {} : { selector }));
  }

  async function tryAct(action: Action): Promise<boolean> {
    return (await bus.call('browser.act', action)).ok;
  }

  async function act(action: Action): Promise<void> {
    const { ok, error } = await bus.call('browser.act', action);
    assert.ok(ok, `${JSON.stringify(action)}: ${error}`);
  }

  async function wait(wanted: Wanted): Promise<string> {
    for (let looks = 1; ; looks++) {
      const view = await look();
      const ref = view.find(wanted);
      if (ref !== undefined) return ref;
      const { role = '', name = '' } = wanted;
      assert.ok(looks < MAX_LOOKS, `no ${role} ${name} in:\n${view.text}`);
      await act({ action: 'wait', timeMs: LOOK_INTERVAL_MS });
    }
  }

  await act({ action: 'click', selector: await wait({ name: 'START' }) });
  const query = (await look('#query')).text
    .split('\n')
    .map((line) => line.replace(/^ *- /, ''))
    .join(' ');
  return {
    query,
    look,
    act,
    tryAct,
    click: async (wanted) => act({ action: 'click', selector: await wait(wanted) }),
    enter: async (wanted, value) => act({ action: 'fill', selector: await wait(wanted), value }),
    isDone: async () => (await countRewards(bus)) > begun,
  };
}

/** Returns the reward of the last task, 1 for a solved one; the pages write it to the console. */
export async function readReward(bus: Caller): Promise<number | undefined> {
  return (await readRewards(bus)).at(-1);
}

async function countRewards(bus: Caller): Promise<number> {
  return (await readRewards(bus)).length;
}

async function readRewards(bus: Caller): Promise<number[]> {
  const { entries } = await bus.call('browser.console', {});
  return entries.flatMap(({ text }) => {
    const reward = /^reward: .* \(raw: (.*)\)$/.exec(text)?.[1];
    return reward === undefined ? [] : [Number(reward)];
  });
}

function createView({ snapshot, refs }: Result<'browser.snapshot'>): View {
  const elements = Object.entries(refs);
  const matches = (text: string, wanted: string | RegExp | undefined): boolean =>
    wanted === undefined || (typeof wanted === 'string' ? text === wanted : wanted.test(text));
  const list = ({ role, name }: Wanted = {}): string[] =>
    elements.filter(([, element]) => matches(element.role, role) && matches(element.name ?? '', name)).map(([ref]) => ref);
  return {
    text: snapshot.replaceAll(/ \[ref=e\d+\]/g, ''),
    list,
    find: (wanted) => list(wanted)[wanted.nth ?? 0],
    getName: (ref) => refs[ref]?.name ?? '',
  };
}
