import type { TaskPage } from './task-page.fixture.ts';
import { extract, getPlainText, getPosition, getQuoted } from './words.fixture.ts';

const SUBMIT = { role: 'button', name: 'Submit' } as const;
const FIELD = { role: 'textbox' } as const;
const MONTHS = 'January February March April May June July August September October November December'.split(' ');
/** Steps of a slider that one key changes by much. */
const MANY_STEPS = 12;

async function chooseDate({ query, click, look, act }: TaskPage): Promise<void> {
  const [month, day, year] = extract(query, /Select (.*?) as the date/).split('/');
  const title = new RegExp(`${MONTHS[Number(month) - 1]}\\s+${year}`);
  await click(FIELD);
  for (;;) {
    const view = await look();
    if (title.test(view.text)) break;
    await act({ action: 'click', selector: view.find({ name: 'Prev' }) });
  }
  await click({ role: 'link', name: String(Number(day)) });
  await click(SUBMIT);
}

async function selectOptions({ query, look, act, click }: TaskPage): Promise<void> {
  const names = extract(query, /Select (.*?) from the/);
  const list = (await look()).find({ role: /combobox|listbox/ });
  await act({ action: 'select', selector: list, values: query.includes('scroll list') ? names.split(', ') : [names] });
  await click(SUBMIT);
}

/** Moves a slider with the keys until the page shows the number. */
async function moveSlider({ act, look }: TaskPage, slider: string, output: string, expected: number): Promise<void> {
  for (;;) {
    const value = Number(getPlainText((await look(output)).text));
    if (value === expected) return;
    const isFar = Math.abs(expected - value) > MANY_STEPS;
    const text = isFar ? (expected > value ? 'PageUp' : 'PageDown') : expected > value ? 'ArrowRight' : 'ArrowLeft';
    await act({ action: 'press', selector: `${slider} .ui-slider-handle`, text });
  }
}

async function useSlider(page: TaskPage): Promise<void> {
  await moveSlider(page, '#slider', '#val', Number(extract(page.query, /Select (-?\d+) with/)));
  await page.click(SUBMIT);
}

async function useSliders(page: TaskPage): Promise<void> {
  const numbers = JSON.parse(extract(page.query, /(\[.*\])/)) as number[];
  for (const [at, expected] of numbers.entries()) await moveSlider(page, `#slider-${at + 1}`, `#val-${at + 1}`, expected);
  await page.click(SUBMIT);
}

async function moveAndCheck(page: TaskPage): Promise<void> {
  await moveSlider(page, '#slider', '#val', Number(extract(page.query, /Select (-?\d+) with/)));
  await page.click({ role: 'checkbox', nth: getPosition(page.query) });
  await page.click(SUBMIT);
}

async function checkAndEnter({ query, click, enter }: TaskPage): Promise<void> {
  await click({ role: 'radio', nth: getPosition(extract(query, /the (.*) radio/)) });
  await enter({ ...FIELD, nth: getPosition(extract(query, /into the (.*) textbox/)) }, getQuoted(query));
  await click(SUBMIT);
}

async function chooseInStyledList({ query, click, act }: TaskPage): Promise<void> {
  await act({ action: 'click', selector: '#area .selectric' });
  await click({ name: extract(query, /Choose (.*) from/) });
  await click({ role: 'button', name: getQuoted(query) });
}

async function useSpinner({ query, act, click }: TaskPage): Promise<void> {
  const number = Number(extract(query, /Select (-?\d+) with/));
  const selector = number > 0 ? '.ui-spinner-up' : '.ui-spinner-down';
  for (let step = 0; step < Math.abs(number); step++) await act({ action: 'click', selector });
  await click(SUBMIT);
}

async function completeWord({ query, look, act, click }: TaskPage): Promise<void> {
  const start = getQuoted(query);
  const end = /ends with "\s*(.*?)\s*"/.exec(query)?.[1] ?? '';
  await act({ action: 'type', selector: (await look()).find(FIELD), text: start, slowly: true });
  const escaped = [start, end].map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  await click({ name: new RegExp(`^(?=.{${start.length + 1}})${escaped[0]}.*${escaped[1]}$`), role: /option|menuitem|generic|listitem/ });
  await click(SUBMIT);
}

/** Fills a search form, whose fields come in any order. */
async function searchMovie({ query, look, enter, act }: TaskPage): Promise<void> {
  const [, genre = '', name = '', year = ''] = /for (.*?) movies directed by (.*?) from year (.*?)\.?$/.exec(query) ?? [];
  const values: Record<string, string> = { genre, director: name, year, date: year };
  const { text } = await look('#area');
  const order = [...text.toLowerCase().matchAll(/genre|director|year|date/g)].map(([word]) => word);
  for (const [nth, word] of [...new Set(order)].entries()) await enter({ ...FIELD, nth }, (values[word] ?? '').trim());
  const view = await look('#area');
  await act({
    action: 'click',
    selector: view
      .list()
      .filter((ref) => !view.list(FIELD).includes(ref))
      .at(-1),
  });
}

async function scrollText({ query, act, click }: TaskPage): Promise<void> {
  await act({ action: 'scroll', selector: '#text-area', direction: query.includes('bottom') ? 'down' : 'up', amount: 5_000 });
  await click(SUBMIT);
}

async function signAgreement({ query, act, enter, click }: TaskPage): Promise<void> {
  if (query.includes('Scroll')) {
    await act({ action: 'scroll', selector: '#text-area', amount: 20_000 });
    await enter({ ...FIELD, nth: 1 }, getQuoted(query));
  }
  await click({ role: 'button', name: query.includes('Agree"') || query.includes('Agree "') ? 'Agree' : 'Cancel' });
}

async function markNumbers({ look, click }: TaskPage): Promise<void> {
  const { text } = await look('#numbers');
  const numbers = [...text.matchAll(/^ *- (-?\d+)$/gm)].map(([, number]) => Number(number));
  for (const [nth, number] of numbers.entries()) await click({ role: 'button', name: number % 2 === 0 ? 'Even' : 'Odd', nth });
  await click(SUBMIT);
}

async function generateNumber({ query, look, click }: TaskPage): Promise<void> {
  const limit = Number(/than (\d+)/.exec(query)?.[1]);
  const isRight = (number: number): boolean => {
    if (query.includes('less')) return number < limit;
    if (query.includes('greater')) return number > limit;
    return number % 2 === (query.includes('odd') ? 1 : 0);
  };
  do await click({ role: 'button', name: 'Generate' });
  while (!isRight(Number(getPlainText((await look('#display-number')).text))));
  await click(SUBMIT);
}

export const FORM_TASKS: Readonly<Record<string, (page: TaskPage) => Promise<void>>> = {
  'choose-date': chooseDate,
  'choose-date-easy': chooseDate,
  'choose-date-medium': chooseDate,
  'choose-date-nodelay': chooseDate,
  'choose-list': selectOptions,
  'click-scroll-list': selectOptions,
  'use-slider': useSlider,
  'use-slider-2': useSliders,
  'form-sequence': moveAndCheck,
  'form-sequence-2': checkAndEnter,
  'form-sequence-3': chooseInStyledList,
  'use-spinner': useSpinner,
  'use-autocomplete': completeWord,
  'use-autocomplete-nodelay': completeWord,
  'multi-layouts': searchMovie,
  'multi-orderings': searchMovie,
  'scroll-text-2': scrollText,
  'sign-agreement': signAgreement,
  'odd-or-even': markNumbers,
  'generate-number': generateNumber,
};
