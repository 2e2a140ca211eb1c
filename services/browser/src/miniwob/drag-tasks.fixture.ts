import type { TaskPage } from './task-page.fixture.ts';
import { extract } from './words.fixture.ts';

const getItem = (at: number): string => `#sortable > li:nth-child(${at + 1})`;

async function readItems({ look }: TaskPage): Promise<string[]> {
  return [...(await look('#sortable')).text.matchAll(/^ *- (?:listitem: )?(-?[\w.]+)$/gm)].map(([, text = '']) => text);
}

async function sortNumbers(page: TaskPage): Promise<void> {
  for (let at = 0; at < 4; at++) {
    const numbers = (await readItems(page)).map(Number);
    const least = numbers.indexOf(Math.min(...numbers.slice(at)));
    if (least !== at) await page.act({ action: 'drag', selector: getItem(least), endSelector: getItem(at) });
  }
  await page.click({ role: 'button', name: 'Submit' });
}

async function moveItem(page: TaskPage): Promise<void> {
  const [, name = '', where = ''] = /Drag (\S+) (.*)/.exec(page.query) ?? [];
  const items = await readItems(page);
  const from = items.indexOf(name);
  const positions: Record<string, number> = { top: 0, bottom: items.length - 1, down: from + 1, up: from - 1 };
  const word = /top|bottom|down|up/.exec(where)?.[0];
  const to = word === undefined ? Number(extract(where, /(\d+)/)) - 1 : (positions[word] ?? 0);
  await page.act({ action: 'drag', selector: getItem(from), endSelector: getItem(to) });
}

export const DRAG_TASKS: Readonly<Record<string, (page: TaskPage) => Promise<void>>> = {
  'drag-items': moveItem,
  'drag-sort-numbers': sortNumbers,
};
